// Maps as JSON.
#include "app/play/play_maps.h"

#define COURSE_STEP_M 3.0

static json_t *centimetres(double length)
{
    return json_integer((json_int_t)(100.0 * length + (length < 0.0 ? -0.5 : 0.5)));
}

json_t *play_map_tanks(const TanksWorld *world)
{
    json_t *boxes = json_array();
    for (int32_t i = 0; i < world->building_count; i++) {
        const TanksBox *b = &world->building[i];
        json_array_append_new(boxes,
                              json_pack("[f,f,f,f]", b->low_x, b->low_y, b->high_x, b->high_y));
    }
    return json_pack("{s:f,s:f,s:f,s:o}", "half", world->rules.half_extent, "length",
                     world->rules.tank_length, "width", world->rules.tank_width, "boxes", boxes);
}

json_t *play_map_racing(const RacingGame *game)
{
    json_t *line = json_array();
    int32_t count = (int32_t)(racing_length_m(game) / COURSE_STEP_M);
    for (int32_t i = 0; i < count; i++) {
        RacingPlace place = {.progress = i * COURSE_STEP_M};
        FlVec3 position = racing_position(game, place, NULL);
        json_array_append_new(line, centimetres(position.x));
        json_array_append_new(line, centimetres(position.y));
    }
    return json_pack("{s:o,s:f,s:f}", "line", line, "half_width", racing_half_width_m(game), "car",
                     racing_def(game)->car_length_m);
}

json_t *play_map_arena(const ArenaGame *game)
{
    json_t *boxes = json_array();
    json_t *items = json_array();
    for (int32_t i = 0; i < arena_box_count(game); i++) {
        ArenaBox b = arena_box(game, i);
        json_array_append_new(
            boxes, json_pack("[f,f,f,f,f]", b.low_x, b.low_y, b.high_x, b.high_y, b.top));
    }
    for (int32_t i = 0; i < arena_item_count(game); i++) {
        FlVec3 at = arena_item_position(game, i);
        json_array_append_new(
            items, json_pack("[f,f,s]", at.x, at.y, arena_item_name(arena_item_kind(game, i))));
    }
    double size = 2.0 * ARENA_HALF_WIDTH;
    return json_pack("{s:f,s:f,s:f,s:o,s:o}", "half", arena_half_extent(game), "length", size,
                     "width", size, "boxes", boxes, "items", items);
}
