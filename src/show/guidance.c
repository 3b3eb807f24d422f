// GUIDANCE: where an entity will probably be.                     spec/WIRE.md section 7.11
//
//   bits  field      unit            valid
//   E     entity     -               below the capacity; as many bits as capacity - 1 needs
//   2     life       -               low bits of the life's number; a change is a cut
//   16    time       0.25 ms         of the prediction, low bits; unwrapped by the stamp
//   8     ahead      16 ms           how much later it will be there
//   P     position   precision       x, y, z, each 0..last
//   2     points     -               how many points follow
//   per point:
//   P     point      precision       x, y, z, each 0..last
//   1     aimed      -               whether it faces an entity
//   aimed:
//   E     target     -               that entity; below the capacity
//   Y     yaw        2 pi / 2^Y rad  from the direction to the target if aimed, else from +x
//   6     pitch      pi / 64 rad     value - 32
//   4     actions 0  -               low bits of a running count
//   4     actions 1  -               likewise
//   0..7  padding    -               zero, to a whole byte
//
// As with updates, rounding, encoding and decoding go through one struct of fields, so an owner
// knows what its receivers decode. Invariant: bytes that decode encode to the same bytes.
#include "private.h"

#include "motion/motion.h"
#include "wire/wire.h"

#define LIFE_WIDTH 2
#define TIME_WIDTH 16
#define AHEAD_WIDTH 8
#define PITCH_WIDTH 6
#define POINTS_WIDTH 2
#define ACTION_WIDTH 4
#define AHEAD_STEP_NS FL_MS(16)
#define PITCH_ZERO 32
#define PITCH_LAST 63

_Static_assert(((1 << AHEAD_WIDTH) - 1) * AHEAD_STEP_NS == FL_GUIDANCE_AHEAD_MAX_NS,
               "what show.h says of how far ahead");
_Static_assert((1 << POINTS_WIDTH) - 1 == FL_GUIDANCE_POINTS, "what show.h says of points");

typedef struct Fields {
    FlTime time;
    uint32_t ahead;
    uint32_t position[1 + FL_GUIDANCE_POINTS][3]; ///< Its end, and points.
    uint32_t yaw;
    uint32_t pitch;
} Fields;

// Place 0 is the end, the others are its points.
static const FlVec3 *place(const FlGuidance *guidance, int32_t i)
{
    return i == 0 ? &guidance->position : &guidance->points[i - 1];
}

static bool places_of(const FlWorld *world, const FlGuidance *guidance, Fields *fields)
{
    bool fits = guidance->point_count >= 0 && guidance->point_count <= FL_GUIDANCE_POINTS;
    for (int32_t p = 0; fits && p <= guidance->point_count; p++) {
        const FlVec3 *at = place(guidance, p);
        const double axis[3] = {at->x, at->y, at->z};
        for (int32_t i = 0; i < 3 && fits; i++) {
            fits = fl__quantise(&world->quantiser[FL_QUANTISER_POSITION + i], axis[i],
                                &fields->position[p][i]);
        }
    }
    return fits;
}

static bool pitch_index(double pitch, uint32_t *index)
{
    double steps = floor(pitch * (64.0 / FL_PI) + 0.5) + PITCH_ZERO;
    bool fits = steps >= 0.0 && steps <= PITCH_LAST + 1;
    *index = !fits ? 0 : steps > PITCH_LAST ? PITCH_LAST : (uint32_t)steps; // straight up: nearest
    return fits;
}

static bool fields_of(const FlWorld *world, const FlGuidance *guidance, Fields *fields)
{
    uint32_t capacity = (uint32_t)world->def.entity_capacity;
    bool fits = guidance->entity < capacity && guidance->target < capacity &&
                (guidance->aimed || guidance->target == 0) && isfinite(guidance->yaw) &&
                guidance->ahead_ns >= 0 && guidance->ahead_ns <= FL_GUIDANCE_AHEAD_MAX_NS &&
                guidance->time % FL_UPDATE_STEP_NS == 0 &&
                guidance->actions[0] < 1 << ACTION_WIDTH &&
                guidance->actions[1] < 1 << ACTION_WIDTH;
    if (!fits || !places_of(world, guidance, fields) ||
        !pitch_index(guidance->pitch, &fields->pitch)) {
        return false;
    }
    fields->time = guidance->time;
    fields->ahead = (uint32_t)((guidance->ahead_ns + AHEAD_STEP_NS / 2) / AHEAD_STEP_NS);
    fields->yaw = fl_circle_index(guidance->yaw, world->yaw_width);
    return true;
}

static void set_from_fields(const FlWorld *world, const Fields *fields, FlGuidance *guidance)
{
    for (int32_t p = 0; p <= guidance->point_count; p++) {
        FlVec3 *at = p == 0 ? &guidance->position : &guidance->points[p - 1];
        double *axis[3] = {&at->x, &at->y, &at->z};
        for (int32_t i = 0; i < 3; i++) {
            *axis[i] = fl__dequantise(&world->quantiser[FL_QUANTISER_POSITION + i],
                                      fields->position[p][i]);
        }
    }
    guidance->time = fields->time;
    guidance->ahead_ns = fields->ahead * AHEAD_STEP_NS;
    guidance->yaw = fl_circle_angle(fields->yaw, world->yaw_width);
    guidance->pitch = ((double)fields->pitch - PITCH_ZERO) * (FL_PI / 64.0);
}

FlResult fl__guidance_round(const FlWorld *world, const FlGuidance *guidance, FlGuidance *rounded)
{
    Fields fields = {0};
    if (!fields_of(world, guidance, &fields)) {
        FlGuidance empty = {0};
        *rounded = empty;
        return FL_BAD_VALUE;
    }
    *rounded = *guidance;
    set_from_fields(world, &fields, rounded);
    return FL_OK;
}

static int32_t position_width(const FlWorld *world)
{
    int32_t width = 0;
    for (int32_t i = 0; i < 3; i++) {
        width += world->quantiser[FL_QUANTISER_POSITION + i].width;
    }
    return width;
}

int32_t fl__guidance_bytes(const FlWorld *world, const FlGuidance *guidance)
{
    int32_t bits = (guidance->aimed ? 2 : 1) * world->entity_width + LIFE_WIDTH + TIME_WIDTH +
                   AHEAD_WIDTH + (1 + guidance->point_count) * position_width(world) +
                   POINTS_WIDTH + 1 + world->yaw_width + PITCH_WIDTH +
                   FL_GUIDANCE_ACTIONS * ACTION_WIDTH;
    return (bits + 7) / 8;
}

static void put_place(FlWriter *writer, const FlWorld *world, const uint32_t place[3])
{
    for (int32_t i = 0; i < 3; i++) {
        fl_writer_put(writer, place[i], world->quantiser[FL_QUANTISER_POSITION + i].width);
    }
}

bool fl__guidance_encode(FlWriter *writer, const FlWorld *world, const FlGuidance *guidance)
{
    Fields fields = {0};
    if (!fields_of(world, guidance, &fields)) {
        return false;
    }
    fl_writer_put(writer, guidance->entity, world->entity_width);
    fl_writer_put(writer, guidance->life & 3u, LIFE_WIDTH);
    fl_writer_put(writer, (uint64_t)(fields.time / FL_UPDATE_STEP_NS) & 0xffffu, TIME_WIDTH);
    fl_writer_put(writer, fields.ahead, AHEAD_WIDTH);
    put_place(writer, world, fields.position[0]);
    fl_writer_put(writer, (uint64_t)guidance->point_count, POINTS_WIDTH);
    for (int32_t p = 1; p <= guidance->point_count; p++) {
        put_place(writer, world, fields.position[p]);
    }
    fl_writer_put(writer, guidance->aimed, 1);
    fl_writer_put(writer, guidance->target, guidance->aimed ? world->entity_width : 0);
    fl_writer_put(writer, fields.yaw, world->yaw_width);
    fl_writer_put(writer, fields.pitch, PITCH_WIDTH);
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        fl_writer_put(writer, guidance->actions[i], ACTION_WIDTH);
    }
    fl_writer_align(writer);
    return !writer->failed;
}

static void take_place(FlReader *reader, const FlWorld *world, uint32_t place[3])
{
    for (int32_t i = 0; i < 3; i++) {
        const FlQuantiser *quantiser = &world->quantiser[FL_QUANTISER_POSITION + i];
        place[i] = (uint32_t)fl_reader_take(reader, quantiser->width);
        if (place[i] > quantiser->last) {
            fl__reader_fail(reader);
        }
    }
}

static void take(FlReader *reader, const FlWorld *world, FlTime stamp, FlGuidance *guidance,
                 Fields *fields)
{
    guidance->entity = (uint32_t)fl_reader_take(reader, world->entity_width);
    guidance->life = (uint32_t)fl_reader_take(reader, LIFE_WIDTH);
    uint16_t time = (uint16_t)fl_reader_take(reader, TIME_WIDTH);
    fields->ahead = (uint32_t)fl_reader_take(reader, AHEAD_WIDTH);
    take_place(reader, world, fields->position[0]);
    guidance->point_count = (int32_t)fl_reader_take(reader, POINTS_WIDTH);
    for (int32_t p = 1; p <= guidance->point_count; p++) {
        take_place(reader, world, fields->position[p]);
    }
    guidance->aimed = fl_reader_take(reader, 1) != 0;
    guidance->target = (uint32_t)fl_reader_take(reader, guidance->aimed ? world->entity_width : 0);
    fields->yaw = (uint32_t)fl_reader_take(reader, world->yaw_width);
    fields->pitch = (uint32_t)fl_reader_take(reader, PITCH_WIDTH);
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        guidance->actions[i] = (uint8_t)fl_reader_take(reader, ACTION_WIDTH);
    }
    fl_reader_align(reader);
    uint32_t capacity = (uint32_t)world->def.entity_capacity;
    if (fl__update_time_find(time, stamp, &fields->time) != FL_OK || guidance->entity >= capacity ||
        guidance->target >= capacity) {
        fl__reader_fail(reader);
    }
}

bool fl__guidance_decode(FlReader *reader, const FlWorld *world, FlTime stamp, FlGuidance *guidance)
{
    FlGuidance empty = {0};
    *guidance = empty;
    Fields fields = {0};
    take(reader, world, stamp, guidance, &fields);
    if (reader->failed) {
        *guidance = empty;
        return false;
    }
    set_from_fields(world, &fields, guidance);
    return true;
}
