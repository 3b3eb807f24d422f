// What tanks tell each other besides where they are.
//
// EVENT: a reliable message each. Shot 22 bytes, hit and kill 25.
//
//   bits  field    unit            valid
//   8     kind     -               1 shot, 2 hit, 3 kill
//   8     tank     -               who fired
//   32    shot     -               which of its shots
//   63    time     ns              session time
//   1     padding  -               zero
//   24    x        1/1024 unit     2^23 is 0
//   24    y        1/1024 unit     2^23 is 0
//   then, of a shot:
//   16    yaw      2 pi / 65536    -
//   or, of a hit or kill:
//   8     victim   -               not `tank`
//   32    life     -               the victim's
//
// Invariant: a shot is born rounded (tanks_tank_fire), so its shooter flies the same shot as
// everybody who reads of it.
#include "private.h"

#include <string.h>

#define STEPS 1024.0   // in a unit
#define ZERO 8388608.0 // 2^23
#define PLACE_MAX 8000.0
#define PLACE_WIDTH 24
#define YAW_WIDTH 16
#define TIME_WIDTH 63
#define TANK_WIDTH 8

_Static_assert(TANKS_CAPACITY <= 1 << TANK_WIDTH, "a tank's number must fit its field");

// ---------------------------------------------------------------- event

static bool place_fits(double place)
{
    return place >= -PLACE_MAX && place <= PLACE_MAX; // false for NaN
}

static uint64_t place_index(double place)
{
    return (uint64_t)(floor(place * STEPS + 0.5) + ZERO);
}

static double place_of(uint64_t index)
{
    return ((double)index - ZERO) / STEPS;
}

TanksEvent tanks_event_make(TanksEventKind kind, const TanksEvent *shot, int32_t victim,
                            const TanksSeen *seen, FlTime time)
{
    FL_ASSERT(kind == TANKS_EVENT_HIT || kind == TANKS_EVENT_KILL);
    TanksEvent event = {
        .kind = kind,
        .tank = shot->tank,
        .shot = shot->shot,
        .time = time,
        .x = seen->x,
        .y = seen->y,
        .victim = victim,
        .life = seen->life,
    };
    tanks_event_round(&event);
    return event;
}

void tanks_event_round(TanksEvent *event)
{
    if (place_fits(event->x) && place_fits(event->y)) {
        event->x = place_of(place_index(event->x));
        event->y = place_of(place_index(event->y));
    }
    if (event->kind == TANKS_EVENT_SHOT && isfinite(event->yaw)) {
        event->yaw = fl_circle_angle(fl_circle_index(event->yaw, YAW_WIDTH), YAW_WIDTH);
    }
}

static bool tank_fits(int32_t tank)
{
    return tank >= 0 && tank < TANKS_CAPACITY;
}

static bool event_fits(const TanksEvent *event)
{
    if (!tank_fits(event->tank) || event->time < 0 || !place_fits(event->x) ||
        !place_fits(event->y)) {
        return false;
    }
    switch (event->kind) {
    case TANKS_EVENT_SHOT:
        return isfinite(event->yaw);
    case TANKS_EVENT_HIT:
    case TANKS_EVENT_KILL:
        return tank_fits(event->victim) && event->victim != event->tank;
    case TANKS_EVENT_NONE:
    default:
        return false;
    }
}

bool tanks_event_encode(FlWriter *writer, const TanksEvent *event)
{
    if (!event_fits(event)) {
        return false;
    }
    fl_writer_put(writer, (uint64_t)event->kind, 8);
    fl_writer_put(writer, (uint64_t)event->tank, TANK_WIDTH);
    fl_writer_put(writer, event->shot, 32);
    fl_writer_put(writer, (uint64_t)event->time, TIME_WIDTH);
    fl_writer_put(writer, 0, 1);
    fl_writer_put(writer, place_index(event->x), PLACE_WIDTH);
    fl_writer_put(writer, place_index(event->y), PLACE_WIDTH);
    if (event->kind == TANKS_EVENT_SHOT) {
        fl_writer_put(writer, fl_circle_index(event->yaw, YAW_WIDTH), YAW_WIDTH);
    } else {
        fl_writer_put(writer, (uint64_t)event->victim, TANK_WIDTH);
        fl_writer_put(writer, event->life, 32);
    }
    return !writer->failed;
}

bool tanks_event_decode(FlReader *reader, TanksEvent *event)
{
    memset(event, 0, sizeof *event);
    TanksEvent got = {0};
    got.kind = (TanksEventKind)fl_reader_take(reader, 8);
    got.tank = (int32_t)fl_reader_take(reader, TANK_WIDTH);
    got.shot = (uint32_t)fl_reader_take(reader, 32);
    got.time = (FlTime)fl_reader_take(reader, TIME_WIDTH);
    bool padded = fl_reader_take(reader, 1) == 0;
    got.x = place_of(fl_reader_take(reader, PLACE_WIDTH));
    got.y = place_of(fl_reader_take(reader, PLACE_WIDTH));
    if (got.kind == TANKS_EVENT_SHOT) {
        got.yaw = fl_circle_angle((uint32_t)fl_reader_take(reader, YAW_WIDTH), YAW_WIDTH);
    } else if (got.kind == TANKS_EVENT_HIT || got.kind == TANKS_EVENT_KILL) {
        got.victim = (int32_t)fl_reader_take(reader, TANK_WIDTH);
        got.life = (uint32_t)fl_reader_take(reader, 32);
    }
    if (reader->failed || !padded || !event_fits(&got)) {
        reader->failed = true; // what follows cannot be trusted either
        return false;
    }
    *event = got;
    return true;
}
