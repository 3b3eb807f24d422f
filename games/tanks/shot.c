// Shots: fired once, then the same at every node.
//
// A shot flies straight at one speed, and buildings do not move: so the event that tells of it says
// where it is at any time and where it ends. Nothing more is ever sent about it, except that it
// hit.
//
// Hits are found between two poses of a tank, not at one: in the tank's own frame the shot's way is
// (nearly) a straight line, and the tank a box around zero. A tick's turn of 0.013 rad bends it by
// a hair of the shot's thickness.
#include "private.h"

#include <string.h>

void tanks_shot_start(const TanksWorld *world, const TanksEvent *event, TanksShot *shot)
{
    memset(shot, 0, sizeof *shot);
    shot->event = *event;
    fl_sincos(event->yaw, &shot->dy, &shot->dx);
    double reach =
        tanks_world_ray(world, event->x, event->y, shot->dx, shot->dy, world->rules.shot_range);
    FlTime flight = fl_span_from_seconds(reach / world->rules.shot_speed);
    shot->ends = fl_time_add(event->time, flight);
}

static void place_at(const TanksWorld *world, const TanksShot *shot, FlTime time, double *x,
                     double *y)
{
    double way = world->rules.shot_speed * fl_span_seconds(fl_span(time, shot->event.time));
    *x = shot->event.x + shot->dx * way;
    *y = shot->event.y + shot->dy * way;
}

bool tanks_shot_position(const TanksWorld *world, const TanksShot *shot, FlTime time, double *x,
                         double *y)
{
    FlTime since = shot->event.time;
    FlTime held = time < since ? since : time > shot->ends ? shot->ends : time;
    place_at(world, shot, held, x, y);
    return time >= since && time < shot->ends;
}

typedef struct Offset {
    double x, y;
} Offset;

// From the tank to the shot at `time`, the tank as far between its poses as time is.
static Offset offset_at(const TanksWorld *world, const TanksShot *shot, FlTime time,
                        const TanksSeen *before, const TanksSeen *after, double part)
{
    Offset offset;
    place_at(world, shot, time, &offset.x, &offset.y);
    offset.x -= before->x + (after->x - before->x) * part;
    offset.y -= before->y + (after->y - before->y) * part;
    return offset;
}

// Squared distance from zero to the line piece a–b.
static double nearest_squared(Offset a, Offset b)
{
    double x = b.x - a.x;
    double y = b.y - a.y;
    double length = x * x + y * y;
    double part = length > 0.0 ? number_clamp(-(a.x * x + a.y * y) / length, 0.0, 1.0) : 0.0;
    double near_x = a.x + x * part;
    double near_y = a.y + y * part;
    return near_x * near_x + near_y * near_y;
}

static Offset into_frame(Offset offset, double yaw)
{
    double s, c;
    fl_sincos(yaw, &s, &c);
    Offset turned = {offset.x * c + offset.y * s, offset.y * c - offset.x * s};
    return turned;
}

// Where the piece a–b enters the box around zero, as a part of its length; above 1 if it does not.
static double enters_box(Offset a, Offset b, double half_length, double half_width)
{
    double x = b.x - a.x;
    double y = b.y - a.y;
    double length = sqrt(x * x + y * y);
    TanksBox box = {-half_length, -half_width, half_length, half_width};
    if (!(length > 0.0)) {
        return fabs(a.x) <= half_length && fabs(a.y) <= half_width ? 0.0 : 2.0;
    }
    double way = tanks__ray_box(&box, 0.0, a.x, a.y, x / length, y / length);
    return way < 0.0 ? 0.0 : way / length;
}

bool tanks_shot_hits(const TanksWorld *world, const TanksShot *shot, FlTime from, FlTime to,
                     const TanksSeen *before, const TanksSeen *after, FlTime *when)
{
    FlTime first = from > shot->event.time ? from : shot->event.time;
    FlTime last = to < shot->ends ? to : shot->ends;
    if (!before->alive || !after->alive || before->life != after->life || last <= first) {
        return false;
    }
    double span = fl_span_seconds(fl_span(to, from));
    double first_part = fl_span_seconds(fl_span(first, from)) / span;
    double last_part = fl_span_seconds(fl_span(last, from)) / span;
    Offset a = offset_at(world, shot, first, before, after, first_part);
    Offset b = offset_at(world, shot, last, before, after, last_part);
    double reach = world->tank_reach + world->rules.shot_radius * 1.5; // past the grown corners
    if (!(nearest_squared(a, b) <= reach * reach)) {                   // most end here; so does NaN
        return false;
    }
    double turn = fl_angle_wrap(after->yaw - before->yaw);
    double half_length = world->rules.tank_length / 2.0 + world->rules.shot_radius;
    double half_width = world->rules.tank_width / 2.0 + world->rules.shot_radius;
    double part =
        enters_box(into_frame(a, before->yaw + turn * first_part),
                   into_frame(b, before->yaw + turn * last_part), half_length, half_width);
    if (!(part <= 1.0)) {
        return false;
    }
    *when = first + (FlTime)(part * (double)(last - first));
    return true;
}

int32_t tanks_shot_first_hit(const TanksWorld *world, const TanksShot *shot, FlTime from, FlTime to,
                             const TanksSeen *before, const TanksSeen *after, int32_t count,
                             FlTime *when)
{
    int32_t victim = -1;
    FlTime earliest = FL_FOREVER;
    for (int32_t i = 0; i < count; i++) {
        FlTime moment;
        if (i != shot->event.tank &&
            tanks_shot_hits(world, shot, from, to, &before[i], &after[i], &moment) &&
            moment < earliest) {
            victim = i;
            earliest = moment;
        }
    }
    if (victim >= 0) {
        *when = earliest;
    }
    return victim;
}
