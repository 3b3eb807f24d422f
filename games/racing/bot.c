// Drivers: what a bot does, going by what it sees.
//
// A bot is a pure function of its seed and a view. It remembers nothing; its moods are looked up in
// a random stream by the tick, so they are the same however often and in whatever order a rollback
// asks. Every tick it answers three questions: how fast (pace), where on the road (light
// connection), and with which pedals and wheel (hands).
//
// Why bots race closely: real pairs of near-equal skill swap the lead about every three seconds.
// Left alone, equal bots drift apart like any two random walks. Three things bring them together
// and past each other: the wake (physics), a mood that differs from second to second, and racing
// spirit: who is behind pushes, who gains keeps pushing, who leads comfortably eases off. Pushing
// on while gaining is what carries a bot past its rival instead of settling beside it: the gap is
// an oscillator whose damping is negative while slow and whose push has a ceiling.
#include "private.h"

// How fast. The first three make pairs swap the lead 10 to 11 times in 30 s (tests/scene).
#define SPIRIT_PER_M 0.028 // change of pace for a metre's lead
#define RESOLVE_S_M 0.042  // and for a metre per second gained
#define SPIRIT_MOST 0.15   // no more than this share of the pace
#define RIVAL_M 8.0        // rivals much farther than this hardly matter
#define MOOD_SHARE 0.025   // how much pace changes by mood
#define MOOD_TICKS 120     // from one mood to the next
#define CRUISE 0.9         // of the top speed, on a straight and in no hurry
#define FOLLOW_M 6.0       // nearer than this behind somebody: keep a gap
#define FOLLOW_PER_S 4.0   // m/s faster than the one ahead for a metre of room

// Where on the road.
#define LIGHT_TICKS 240 // from one favourite light connection to the next
#define LOOK_M 12.0     // how far ahead somebody is in the way

// Hands.
#define STEER_GAIN 5.0  // curvature times speed for a radian off
#define HAND_S 0.04     // how long the wheels take to answer
#define TURN_M_S 5.0    // turning round: no faster than this
#define TURN_ROOM_M 2.5 // and no nearer to the border

// A number in [-1, 1] that wanders smoothly: straight between one draw per period.
static double wander(uint64_t seed, uint64_t stream, int32_t tick, int32_t period)
{
    uint64_t index = (uint64_t)(tick / period);
    FlRandom random = {.seed = seed, .stream = stream, .index = index};
    double a = fl_random_between(&random, -1.0, 1.0);
    double b = fl_random_between(&random, -1.0, 1.0);
    return a + (b - a) * (tick % period) / period;
}

static double speed_along(const RacingGame *game, const RacingCar *car)
{
    const RacingStation *here = racing__station(game, racing__station_before(game, car->progress));
    return car->vx * here->tx + car->vy * here->ty;
}

// Distance ahead along the course, the short way round: lapped cars are on the road too.
static double gap_ahead(const RacingGame *game, const RacingCar *me, const RacingCar *other)
{
    double gap = other->progress - me->progress;
    return gap - floor(gap / game->length_m + 0.5) * game->length_m;
}

// ---------------------------------------------------------------- how fast

// Lead over the others and how fast it grows, near rivals counting most.
static void rivalry(const RacingGame *game, const RacingState *view, int32_t self, double *lead_m,
                    double *gain_m_s)
{
    const RacingCar *me = &view->car[self];
    double my_speed = speed_along(game, me);
    double weights = 0.0, lead = 0.0, gain = 0.0;
    for (int32_t i = 0; i < view->car_count; i++) {
        if (i == self) {
            continue;
        }
        double ahead = me->progress - view->car[i].progress;
        double weight = 1.0 / (1.0 + ahead * ahead / (RIVAL_M * RIVAL_M));
        lead += weight * ahead;
        gain += weight * (my_speed - speed_along(game, &view->car[i]));
        weights += weight;
    }
    *lead_m = lead / weights;
    *gain_m_s = gain / weights;
}

static double pace(const RacingGame *game, uint64_t seed, const RacingState *view, int32_t self)
{
    double lead, gain;
    rivalry(game, view, self, &lead, &gain);
    double spirit =
        number_clamp(RESOLVE_S_M * gain - SPIRIT_PER_M * lead, -SPIRIT_MOST, SPIRIT_MOST);
    double mood = wander(seed, 2 * (uint64_t)self, view->tick, MOOD_TICKS);
    return 1.0 + spirit + MOOD_SHARE * mood;
}

static double wanted_speed(const RacingGame *game, const RacingCar *me, double pace_share)
{
    // A little ahead: engine and brakes need time to bring about what is wanted.
    int64_t number = racing__station_before(game, me->progress + 2.0);
    double bend = racing__station(game, number)->speed_m_s;
    double straight = CRUISE * game->def.top_speed_m_s;
    return pace_share * (bend < straight ? bend : straight);
}

// Behind somebody in the same light connection: no faster than leaves a gap.
static double follow(const RacingGame *game, const RacingState *view, int32_t self, double speed)
{
    const RacingCar *me = &view->car[self];
    for (int32_t i = 0; i < view->car_count; i++) {
        const RacingCar *other = &view->car[i];
        double gap = gap_ahead(game, me, other);
        bool behind = gap > 0.0 && fabs(me->lateral - other->lateral) < 2.0 * game->car_radius_m;
        if (i != self && behind && gap < FOLLOW_M) {
            double room = gap - 2.0 * game->car_radius_m - 0.4;
            double most = speed_along(game, other) + FOLLOW_PER_S * room;
            speed = speed < most ? speed : most;
        }
    }
    return speed;
}

// ---------------------------------------------------------------- where on the road

// To the inside of a bend, a little about from time to time, so that there is room for others.
static double favourite_light(const RacingGame *game, uint64_t seed, const RacingState *view,
                              int32_t self, double most)
{
    const RacingCar *me = &view->car[self];
    int64_t number = racing__station_before(game, me->progress + 12.0);
    double inside = number_clamp(racing__station(game, number)->curvature * 40.0, -1.0, 1.0);
    double whim = wander(seed, 2 * (uint64_t)self + 1, view->tick, LIGHT_TICKS);
    return most * (0.35 * inside + 0.45 * whim);
}

// Is another car where a bot wants to be, or on the way there?
static bool blocks(const RacingGame *game, const RacingCar *me, const RacingCar *other, double gap,
                   double wanted, double clear)
{
    bool there = fabs(wanted - other->lateral) < clear;
    bool beside = gap < 1.5 * game->def.car_length_m;
    bool across = (wanted - other->lateral) * (me->lateral - other->lateral) < 0.0;
    return there || (beside && across);
}

// Past whoever is in the way, on the side where there is more room; beside somebody: keep clear.
static double light(const RacingGame *game, uint64_t seed, const RacingState *view, int32_t self)
{
    const RacingCar *me = &view->car[self];
    double most = game->half_width_m - 2.2 * game->car_radius_m;
    double clear = 2.0 * game->car_radius_m + 0.6;
    double wanted = favourite_light(game, seed, view, self, most);
    double nearest = LOOK_M;
    for (int32_t i = 0; i < view->car_count; i++) {
        const RacingCar *other = &view->car[i];
        double gap = gap_ahead(game, me, other);
        bool near = gap > -0.75 * game->def.car_length_m && gap < nearest;
        if (i == self || !near || !blocks(game, me, other, gap, wanted, clear)) {
            continue;
        }
        double aside = me->lateral - other->lateral;
        bool left = fabs(aside) > 0.3 ? aside > 0.0 : other->lateral < 0.0;
        if (fabs(other->lateral + (left ? clear : -clear)) > most && gap > game->def.car_length_m) {
            left = !left;
        }
        wanted = other->lateral + (left ? clear : -clear);
        nearest = gap;
    }
    return number_clamp(wanted, -most, most);
}

// ---------------------------------------------------------------- hands

static int8_t level(double share, int32_t full)
{
    return (int8_t)floor(number_clamp(share, -1.0, 1.0) * full + 0.5);
}

static double steer_to(const RacingGame *game, const RacingCar *me, double light_m, double speed)
{
    int64_t number = racing__station_before(game, me->progress + HAND_S * speed);
    const RacingStation *ahead = racing__station(game, number);
    double course_yaw = fl_atan2(ahead->ty, ahead->tx);
    double toward = number_clamp((light_m - me->lateral) / (3.0 + 0.35 * speed), -0.35, 0.35);
    double error = fl_angle_wrap(course_yaw + toward - me->yaw);
    double bend = ahead->curvature / (1.0 - ahead->curvature * me->lateral);
    return (bend + STEER_GAIN * error / (speed + 3.0)) / racing__steer_most(speed);
}

// How a car stands on the road.
typedef struct Stance {
    double speed;                   // along its nose
    double along, across;           // its nose against the course: cosine and sine
    double room_ahead, room_behind; // to the border before its nose and to the other
} Stance;

static Stance stance_of(const RacingGame *game, const RacingCar *me)
{
    const RacingStation *here = racing__station(game, racing__station_before(game, me->progress));
    double fx, fy;
    fl_sincos(me->yaw, &fy, &fx);
    Stance s = {.speed = me->vx * fx + me->vy * fy,
                .along = fx * here->tx + fy * here->ty,
                .across = fy * here->tx - fx * here->ty};
    double aside = s.across > 0.0 ? me->lateral : -me->lateral;
    s.room_ahead = game->half_width_m - aside;
    s.room_behind = game->half_width_m + aside;
    return s;
}

// Against the course, or nose to the border, or just backing away from it.
static bool is_astray(const Stance *s)
{
    bool crosswise = s->speed < TURN_M_S && fabs(s->across) > 0.4;
    return s->along < 0.3 || (crosswise && (s->speed < -0.3 || s->room_ahead < 1.5));
}

// Turns in several moves, forwards to one border, backwards to the other, the nose always swinging
// the same way.
static RacingInput turn_round(const Stance *s, double steer)
{
    bool back = s->speed < -0.3 ? s->room_behind > TURN_ROOM_M : s->room_ahead < TURN_ROOM_M;
    RacingInput input = {
        .throttle = level(back ? -1.0 : 0.5, RACING_THROTTLE_FULL),
        .steer = level(s->speed < 0.0 ? -steer : steer, RACING_STEER_FULL),
        .brake = level(s->speed > TURN_M_S ? 1.0 : 0.0, RACING_BRAKE_FULL),
    };
    return input;
}

RacingInput racing_bot_drive(const RacingGame *game, uint64_t seed, const RacingState *view,
                             int32_t car)
{
    FL_ASSERT(car >= 0 && car < view->car_count);
    const RacingCar *me = &view->car[car];
    Stance stance = stance_of(game, me);
    double steer = steer_to(game, me, light(game, seed, view, car), fabs(stance.speed));
    if (is_astray(&stance)) {
        return turn_round(&stance, steer);
    }
    double wanted = wanted_speed(game, me, pace(game, seed, view, car));
    double missing = follow(game, view, car, wanted) - stance.speed;
    double push = missing > 0.0 ? 0.25 + 0.5 * missing : 0.25 + 0.25 * missing;
    RacingInput input = {
        .throttle = level(push > 0.0 ? push : 0.0, RACING_THROTTLE_FULL),
        .steer = level(steer, RACING_STEER_FULL),
        .brake = level(missing < -1.0 ? -0.2 * missing : 0.0, RACING_BRAKE_FULL),
    };
    return input;
}
