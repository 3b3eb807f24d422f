// Tanks for people and machines: the picture, and what is told at the end.
#include "app/play/play_tanks.h"

#include <stdio.h>

#include "app/play/play_maps.h"

#define AROUND 200.0 // units across, around the player's tank

// What to draw: the player's tank, or a spectator's view. Everybody's seen tanks, close together.
static TanksView view_of(const PlayNode *node, TanksSeen *dense, TanksTank *own)
{
    const PlayTanks *match = play_tanks_of(node);
    TanksView view = {.world = &match->world,
                      .tick = node->tick,
                      .tanks = dense,
                      .shots = match->shots,
                      .shot_count = match->shot_count};
    bool drives = node->own_count > 0 && node->own[0].keys && play_own_there(node, 0);
    for (int32_t i = 0; i < match->tank_count; i++) {
        bool ours = drives && i == match->own[0].tank.id;
        if (ours) {
            *own = match->own[0].tank;
            own->id = view.tank_count; // its place among the letters
            view.own = own;
        }
        if (ours || match->seen[i].life != 0) {
            dense[view.tank_count++] = match->seen[i];
        }
    }
    if (view.tick < 0 || view.own == NULL) {
        view.tick = tanks_tick_at(&match->world, node->time_last);
    }
    return view;
}

bool play_tanks_draw(const PlayNode *node, PlayPicture *picture)
{
    TanksSeen dense[TANKS_CAPACITY];
    TanksTank own;
    TanksView view = view_of(node, dense, &own);
    TanksDrawDef def = tanks_draw_def_default();
    def.columns = picture->columns;
    def.rows = picture->rows;
    def.span = view.own != NULL ? AROUND : 0.0;
    return play_picture_reserve(picture, tanks_draw_bytes(&def)) &&
           tanks_draw(&view, &def, picture->text, picture->size) > 0;
}

int32_t play_tanks_seen(const PlayNode *node)
{
    const PlayTanks *match = play_tanks_of(node);
    int32_t count = 0;
    for (int32_t i = 0; i < match->tank_count; i++) {
        count += match->seen[i].life != 0 ? 1 : 0;
    }
    return count;
}

// ---------------------------------------------------------------- for the page

json_t *play_tanks_map(const PlayNode *node)
{
    return play_map_tanks(&play_tanks_of(node)->world);
}

int32_t play_tanks_state(const PlayNode *node, uint32_t number)
{
    const PlayTanks *match = play_tanks_of(node);
    bool known = number < TANKS_CAPACITY && match->seen[number].life != 0;
    return !known ? 0 : match->seen[number].alive ? 2 : 1;
}

json_t *play_tanks_dots(const PlayNode *node, FlTime now)
{
    const PlayTanks *match = play_tanks_of(node);
    FlTime time = fl_session_time(node->session, now);
    json_t *list = json_array();
    for (int32_t i = 0; i < match->shot_count; i++) {
        double x, y;
        if (tanks_shot_position(&match->world, &match->shots[i], time, &x, &y)) {
            json_array_append_new(list, json_integer((json_int_t)(100.0 * x)));
            json_array_append_new(list, json_integer((json_int_t)(100.0 * y)));
        }
    }
    return list;
}

// ---------------------------------------------------------------- at the end

int32_t play_tanks_waiting(const PlayNode *node)
{
    const PlayTanks *match = play_tanks_of(node);
    int32_t count = 0;
    for (int32_t m = 0; m < match->outbox_count; m++) {
        const PlayMessage *message = &match->outbox[(match->outbox_first + m) % PLAY_OUTBOX];
        count += message->kind == TANKS_EVENT_KILL ? 1 : 0;
    }
    return count;
}

json_t *play_tanks_json(const PlayNode *node, int32_t own)
{
    const TanksTank *tank = &play_tanks_of(node)->own[own].tank;
    return json_pack("{s:i,s:I,s:I,s:I,s:I,s:f}", "id", tank->id, "lives", (json_int_t)tank->life,
                     "shots", (json_int_t)tank->shots, "kills", (json_int_t)tank->kills, "deaths",
                     (json_int_t)tank->deaths, "driven", tank->driven);
}

void play_tanks_sum_json(PlayNode *const *nodes, int32_t count, json_t *object)
{
    int32_t waiting = 0;
    for (int32_t i = 0; i < count; i++) {
        waiting += play_tanks_waiting(nodes[i]);
    }
    json_object_set_new(object, "kills_waiting", json_integer(waiting));
}

void play_tanks_sum_line(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                         size_t size)
{
    (void)nodes;
    (void)count;
    snprintf(out, size, "%llu shots, %llu of our tanks' lives ended, %llu of others' were told",
             (unsigned long long)sum->count[PLAY_SHOTS_TOLD],
             (unsigned long long)sum->count[PLAY_DEATHS_APPLIED],
             (unsigned long long)sum->count[PLAY_KILLS_HEARD]);
}
