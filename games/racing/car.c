// One car, one tick: wheels, others, borders.
//
// The car is a point with a heading. Wheels turn the heading; tyres pull the velocity after it, but
// no harder than their grip, so a car steered too hard slides, and one that slides can hardly
// accelerate. Air resistance sets the top speed and is less in another car's wake.
//
// Others are met as they stood before the tick. A car works out its own half of a contact: of two
// equal discs each gets half the impulse, and as a difference is exactly the negative of its
// reverse, both halves cancel to the bit. What several others do is summed in integers
// (1/2^32 m and m/s), whose sum does not depend on the order. Both together make racing_step
// independent of who is called car 0.
#include "private.h"

#define RESTITUTION 0.3
#define LET_GO 1.15    // a contact ends at this multiple of the distance at which it began
#define STEER_LAG 0.25 // share of the way to the wanted yaw rate in a tick
#define WAKE_M 22.0    // how far behind a car its wake is felt
#define WAKE_HALF_WIDTH_M 1.8
#define WAKE_RELIEF 0.32 // share of the air resistance that it takes away, at most
#define ROLLING_M_S2 0.4
#define REVERSE_M_S2 5.0
#define REVERSE_M_S 5.0
#define APART_SHARE 0.25 // of an overlap, undone in a tick
#define APART_M 0.04     // but no more than this, so that a push is no jump
#define FIXED_ONE 4294967296.0
#define FIXED_BOUND 1000.0 // m and m/s; a view may hold anything

// What the others do to a car in a tick.
typedef struct Push {
    int64_t vx, vy, x, y; // in 1 / FIXED_ONE
    double wake;          // 0 … 1
    uint32_t touching;
} Push;

static int64_t fixed(double value)
{
    double held = value > -FIXED_BOUND ? value : -FIXED_BOUND; // so also of what is no number
    return (int64_t)((held < FIXED_BOUND ? held : FIXED_BOUND) * FIXED_ONE);
}

// Two discs overlap: half of the impulse and of the way apart are this car's.
static void bump(const RacingGame *game, const RacingCar *me, const RacingCar *other, double dx,
                 double dy, double distance, Push *push)
{
    if (!(distance > 0.0)) {
        return; // on the very same spot there is no direction in which to part
    }
    double nx = dx / distance, ny = dy / distance; // from me to the other
    double closing = (me->vx - other->vx) * nx + (me->vy - other->vy) * ny;
    double change = closing > 0.0 ? 0.5 * (1.0 + RESTITUTION) * closing : 0.0;
    double apart = APART_SHARE * (2.0 * game->car_radius_m - distance);
    apart = apart < APART_M ? apart : APART_M;
    push->vx -= fixed(change * nx);
    push->vy -= fixed(change * ny);
    push->x -= fixed(apart * nx);
    push->y -= fixed(apart * ny);
}

static Push meet_others(const RacingGame *game, const RacingState *before, int32_t self,
                        double forward_x, double forward_y)
{
    const RacingCar *me = &before->car[self];
    double reach = 2.0 * game->car_radius_m;
    Push push = {0};
    for (int32_t i = 0; i < before->car_count; i++) {
        const RacingCar *other = &before->car[i];
        double dx = other->x - me->x, dy = other->y - me->y;
        double square = dx * dx + dy * dy;
        if (i == self || !(square < WAKE_M * WAKE_M)) {
            continue;
        }
        double ahead = dx * forward_x + dy * forward_y;
        double aside = fabs(dy * forward_x - dx * forward_y);
        if (ahead > 0.0 && aside < WAKE_HALF_WIDTH_M) {
            double wake = (1.0 - ahead / WAKE_M) * (1.0 - aside / WAKE_HALF_WIDTH_M);
            push.wake = wake > push.wake ? wake : push.wake;
        }
        bool touched = (me->touching >> i & 1) != 0;
        if (square < reach * reach) {
            bump(game, me, other, dx, dy, sqrt(square), &push);
            push.touching |= UINT32_C(1) << i;
        } else if (touched && square < LET_GO * LET_GO * reach * reach) {
            push.touching |= UINT32_C(1) << i; // a rattle is one contact
        }
    }
    return push;
}

// Turns the wheels; the heading follows with some lag.
static void steer(RacingCar *car, double forward_m_s, int8_t wheel)
{
    double wanted = racing__steer_most(forward_m_s) * wheel / RACING_STEER_FULL * forward_m_s;
    car->yaw_rate += STEER_LAG * (wanted - car->yaw_rate);
    car->yaw = fl_angle_wrap(car->yaw + car->yaw_rate * RACING_TICK_SECONDS);
}

// Speed along the heading after a tick, with `grip` (0 … 1) left for it.
static double push_along(const RacingGame *game, double speed, RacingInput input, double grip,
                         double wake)
{
    double air = game->drag_per_m * speed * fabs(speed) * (1.0 - WAKE_RELIEF * wake);
    double engine = RACING_ENGINE_M_S2 * input.throttle / RACING_THROTTLE_FULL * grip;
    if (input.throttle < 0) {
        engine = speed > -REVERSE_M_S ? REVERSE_M_S2 * input.throttle / RACING_THROTTLE_FULL : 0.0;
    }
    speed += (engine - air) * RACING_TICK_SECONDS;
    // Brakes and bearings stop a car; they do not turn it round.
    double hold = RACING_BRAKE_M_S2 * input.brake / RACING_BRAKE_FULL * grip + ROLLING_M_S2;
    double loss = hold * RACING_TICK_SECONDS;
    return speed > loss ? speed - loss : speed < -loss ? speed + loss : 0.0;
}

// Wheels and air: changes heading and velocity.
static void drive(const RacingGame *game, RacingCar *car, RacingInput input, double forward_m_s,
                  double wake)
{
    steer(car, forward_m_s, input.steer);
    double fx, fy;
    fl_sincos(car->yaw, &fy, &fx);
    double along = car->vx * fx + car->vy * fy;
    double aside = car->vy * fx - car->vx * fy;
    double most = RACING_GRIP_M_S2 * RACING_TICK_SECONDS;
    double pull = number_clamp(-aside, -most, most);
    double used = pull / most;
    along = push_along(game, along, input, sqrt(1.0 - 0.75 * used * used), wake);
    aside += pull;
    car->vx = along * fx - aside * fy;
    car->vy = along * fy + aside * fx;
}

static void limit_speed(const RacingGame *game, RacingCar *car)
{
    double most = game->def.top_speed_m_s * RACING_SPEED_BOUND;
    double square = car->vx * car->vx + car->vy * car->vy;
    if (square > most * most) {
        double scale = most / sqrt(square);
        car->vx *= scale;
        car->vy *= scale;
    }
}

// Held on the course: put back on the border, thrown back a little, slowed by rubbing along it.
static bool meet_border(const RacingGame *game, RacingCar *car)
{
    double most = game->half_width_m - game->car_radius_m;
    if (fabs(car->lateral) <= most) {
        return false;
    }
    double side = car->lateral > 0.0 ? 1.0 : -1.0;
    double yaw, tx, ty;
    car->lateral = side * most;
    FlVec3 at = racing_position(game, (RacingPlace){car->progress, car->lateral}, &yaw);
    fl_sincos(yaw, &ty, &tx);
    car->x = at.x;
    car->y = at.y;
    double along = car->vx * tx + car->vy * ty;
    double out = side * (car->vy * tx - car->vx * ty);
    if (out > 0.0) {
        double rub = 0.3 * out;
        along = along > rub ? along - rub : along < -rub ? along + rub : 0.0;
        out = -RESTITUTION * out;
    }
    car->vx = along * tx - side * out * ty;
    car->vy = along * ty + side * out * tx;
    return true;
}

static int32_t bits_count(uint32_t bits)
{
    int32_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

static void note_touching(RacingCar *car, uint32_t touching)
{
    uint32_t begun = touching & ~car->touching;
    car->contact_count += bits_count(begun & ~RACING_TOUCHING_BORDER);
    car->border_count += (begun & RACING_TOUCHING_BORDER) != 0;
    car->touching = touching;
}

// The moment within the tick at which the finish was crossed, as if the car had moved evenly.
static void note_finish(const RacingGame *game, RacingCar *car, int32_t tick, double progress)
{
    double goal = game->def.lap_count * game->length_m;
    if (game->def.lap_count == 0 || car->finish_ns >= 0 || car->progress < goal) {
        return;
    }
    double way = car->progress - progress;
    double share = way > 0.0 ? number_clamp((goal - progress) / way, 0.0, 1.0) : 1.0;
    car->finish_ns = (FlTime)((tick + share) * 1e9 / RACING_TICK_HZ);
}

void racing__car_step(const RacingGame *game, const RacingState *before, int32_t self,
                      RacingInput input, RacingCar *car)
{
    const RacingCar was = before->car[self];
    *car = was;
    double fx, fy;
    fl_sincos(car->yaw, &fy, &fx);
    Push push = meet_others(game, before, self, fx, fy);
    drive(game, car, input, car->vx * fx + car->vy * fy, push.wake);
    car->vx += (double)push.vx / FIXED_ONE;
    car->vy += (double)push.vy / FIXED_ONE;
    limit_speed(game, car);
    car->x += car->vx * RACING_TICK_SECONDS + (double)push.x / FIXED_ONE;
    car->y += car->vy * RACING_TICK_SECONDS + (double)push.y / FIXED_ONE;
    RacingPlace place = racing_project(game, fl_vec3(car->x, car->y, 0.0), was.progress);
    car->progress = place.progress;
    car->lateral = place.lateral;
    if (meet_border(game, car)) {
        push.touching |= RACING_TOUCHING_BORDER;
    }
    car->ax = (car->vx - was.vx) * RACING_TICK_HZ;
    car->ay = (car->vy - was.vy) * RACING_TICK_HZ;
    note_touching(car, push.touching);
    note_finish(game, car, before->tick, was.progress);
}
