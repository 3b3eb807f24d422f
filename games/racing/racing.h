// racing/racing.h: a small racing game for experiments, the same to the bit on every machine.
//
// A *game* (course, rules, number of cars) is made once and never changes. Everything that does
// change is one flat RacingState without pointers: saving and loading it is an assignment, and
// inputs alone decide what happens next. So it can be played in two ways:
//
//   whole      every peer steps all cars from all inputs:  racing_step; rollback is an assignment
//   own car    every peer steps its own car among the others as it sees them:  racing_step_one,
//              with racing_car_show for the others and racing_car_state for telling them
//
// Both use the same physics: racing_step is racing_step_one for each car, all starting from the
// same moment. A RacingState therefore also serves as a *view*, in which the other cars are where
// they are shown; bots and the text picture take either.
//
// Units: metres, seconds, radians counter-clockwise; x and y in the ground plane, z is 0. A tick is
// 1/60 s. Progress is the distance along the course's centre line since the first crossing of the
// line, unwrapped over laps (negative on the grid); lateral is the distance to the left of it.
//
// Threads: a game may be read by many threads; a state belongs to one.
#ifndef RACING_RACING_H
#define RACING_RACING_H

#include "fairlead/motion.h"

#define RACING_CAR_CAPACITY 16
#define RACING_TICK_HZ 60

/// No car is ever faster than this multiple of RacingDef.top_speed_m_s; slipstream and contacts
/// can lift it above 1. For FlWorldDef and for telling a jump from driving.
#define RACING_SPEED_BOUND 1.3

// ---------------------------------------------------------------- courses

/// X(name, word, length in m, half its width in m)
#define RACING_COURSE_TABLE(X)                                                                     \
    X(RING, "ring", 220, 5.0)       /* short and round: always a bend */                           \
    X(BEAN, "bean", 400, 6.0)       /* two straights, one bend the other way */                    \
    X(SERPENT, "serpent", 600, 6.0) /* a long straight, then bends both ways */

typedef enum RacingCourse {
#define RACING_COURSE_ROW(name, word, length, half_width) RACING_COURSE_##name,
    RACING_COURSE_TABLE(RACING_COURSE_ROW)
#undef RACING_COURSE_ROW
        RACING_COURSE_COUNT
} RacingCourse;

const char *racing_course_name(RacingCourse course);

/// Finds a course by its word. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult racing_course_find(const char *name, RacingCourse *course);

// ---------------------------------------------------------------- the game

typedef struct RacingDef {
    RacingCourse course;
    int32_t car_count;      ///< 2 … RACING_CAR_CAPACITY
    int32_t lap_count;      ///< A car has finished after so many laps; 0: never.
    int32_t time_limit;     ///< Ticks after which the race is over for everybody; 0: none.
    double car_length_m;    ///< 0.5 … 3
    double top_speed_m_s;   ///< Alone on a straight; 10 … 60.
    double start_speed_m_s; ///< Rolling start; 0 … top_speed_m_s.
    uint64_t seed;          ///< Who starts where on the grid.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by racing_def_default(); leave alone.
} RacingDef;

/// Two karts of 1.6 m and 34 m/s for 30 s on the bean, as in the racing experiments.
RacingDef racing_def_default(void);

typedef struct RacingGame RacingGame;

/// Makes a game; the caller destroys it. Allocates once, here.
/// Errors: FL_BAD_VALUE (a setting out of its range), FL_NO_MEMORY.
FL_NODISCARD FlResult racing_create(const RacingDef *def, RacingGame **game);
void racing_destroy(RacingGame *game);

const RacingDef *racing_def(const RacingGame *game);
double racing_length_m(const RacingGame *game);
double racing_half_width_m(const RacingGame *game);

// ---------------------------------------------------------------- inputs

/// What a driver does in one tick. {0} lets the car roll.
typedef struct RacingInput {
    int8_t throttle; ///< -15 … 15; negative is the reverse gear (and a weak brake before that)
    int8_t steer;    ///< -63 … 63; positive is left
    int8_t brake;    ///< 0 … 15
} RacingInput;

/// An input packed: two bytes, the lower first.
///
///   bits   field      valid
///   0-4    throttle   value + 15, 0 … 30
///   5-11   steer      value + 63, 0 … 126
///   12-15  brake      0 … 15
#define RACING_INPUT_BYTES 2

/// Packs an input; fields out of range are held at their ends.
void racing_input_encode(RacingInput input, uint8_t bytes[RACING_INPUT_BYTES]);

/// False, and {0}, for bytes that racing_input_encode never writes.
FL_NODISCARD bool racing_input_decode(const uint8_t bytes[RACING_INPUT_BYTES], RacingInput *input);

// ---------------------------------------------------------------- state

/// One car. Ordered so that there is no padding.
typedef struct RacingCar {
    double x, y;
    double vx, vy;
    double ax, ay; ///< How the velocity changed in the last tick, per second.
    double yaw;    ///< Where it points, in (-pi, pi]; in a slide that is not where it goes.
    double yaw_rate;
    double progress;       ///< m along the course, unwrapped
    double lateral;        ///< m to the left of its centre line
    FlTime finish_ns;      ///< Race time of crossing the finish, interpolated; -1: not yet.
    int32_t contact_count; ///< Contacts with other cars, each counted once when it begins.
    int32_t border_count;  ///< The same with the borders.
    uint32_t touching;     ///< Bit i: car i is touched; bit RACING_CAR_CAPACITY: a border is.
    uint32_t unused;       ///< Zero.
} RacingCar;

/// The whole race, or one peer's view of it. Copy it freely; cars from car_count on are zero.
typedef struct RacingState {
    int32_t tick; ///< Steps made; the race time is tick / RACING_TICK_HZ.
    int32_t car_count;
    uint32_t over;   ///< 1 once everybody has finished or the time is up; cars drive on.
    uint32_t unused; ///< Zero.
    uint8_t order[RACING_CAR_CAPACITY]; ///< The result, winner first, once it is over.
    RacingCar car[RACING_CAR_CAPACITY];
} RacingState;

/// The time of a tick since the start.
static inline FlTime racing_tick_time(int32_t tick)
{
    return tick * FL_SEC(1) / RACING_TICK_HZ;
}

/// The grid: rows of two behind the line, all at the starting speed.
void racing_start(const RacingGame *game, RacingState *state);

/// One tick of everything; inputs[i] drives car i. Car order does not matter: cars of a state in
/// another order step to the same states in that order.
void racing_step(const RacingGame *game, RacingState *state, const RacingInput *inputs);

/// One tick of one car; the others stay where the view has them. Also counts the tick.
void racing_step_one(const RacingGame *game, RacingState *view, int32_t car, RacingInput input);

/// 64 bits that differ for states that differ, alike on every machine. Compare peers with it.
uint64_t racing_hash(const RacingState *state);

/// Could racing_step have made this state in this game? For states that come from a peer: what this
/// accepts can be stepped, shown and drawn without harm.
bool racing_state_valid(const RacingGame *game, const RacingState *state);

/// Who is where: car numbers, leader first. Finished cars by their time, then the others by
/// progress; ties to the smaller number. The result stays once the race is over.
void racing_standings(const RacingState *state, uint8_t order[RACING_CAR_CAPACITY]);

/// The lap that a car is in: 1 from the first crossing of the line on, 0 before it.
int32_t racing_lap(const RacingGame *game, const RacingCar *car);

/// Contacts between cars so far, each pair's once. Of a whole state, not of a view.
int32_t racing_contact_count(const RacingState *state);

// ---------------------------------------------------------------- places on the course

typedef struct RacingPlace {
    double progress;
    double lateral;
} RacingPlace;

/// Where on the course a position is, near progress `near`: the first place, going from there,
/// where the centre line is nearest. Unwrapped, and continuous as the position moves as long as it
/// stays nearer to the centre line than the bend's radius (17 m or more everywhere). Meant for
/// following a car: pass the last answer. A position that is not finite gives {near, 0}.
RacingPlace racing_project(const RacingGame *game, FlVec3 position, double near);

/// The same without knowing anything: progress in [0, length) of the nearest centre line.
RacingPlace racing_locate(const RacingGame *game, FlVec3 position);

/// The other way: the position at a place, and where the course goes there (may be NULL).
FlVec3 racing_position(const RacingGame *game, RacingPlace place, double *yaw);

// ---------------------------------------------------------------- to and from what is shown

/// A car as motion knows it, for triggers and updates; `time` is the caller's for this tick.
FlState racing_car_state(const RacingCar *car, FlTime time);

/// Puts a car of a view where it is shown; progress follows from its last. `cut` for a first pose
/// or after a jump: then its progress is the nearest place of the whole course, in the lap that
/// makes the smallest change. A shown car may be off the course; further than 10 km out it is held
/// there. Its contacts and its finish are its owner's to tell. False, and nothing changes, for a
/// pose that is not finite.
bool racing_car_show(const RacingGame *game, RacingState *view, int32_t car, const FlPose *pose,
                     bool cut);

/// The same for a car that may freeze and jump: while it moves, its lap is the one nearest to
/// `told`, its owner's progress to a quarter of a lap. While it stands it keeps its own, however
/// far its owner has gone on.
bool racing_car_follow(const RacingGame *game, RacingState *view, int32_t car, const FlPose *pose,
                       double told);

// ---------------------------------------------------------------- bots

/// What a bot does at the wheel of `car`, going by what it sees. A pure function: no memory, the
/// same answer for the same seed and view, so it may be asked again after a rollback. Bots of one
/// seed are of equal skill on average; how that makes them overtake: docs/guide/racing.md.
RacingInput racing_bot_drive(const RacingGame *game, uint64_t seed, const RacingState *view,
                             int32_t car);

// ---------------------------------------------------------------- a picture in text

/// Draws course, cars (A, B, …) and standings as lines of text ending in newlines and a zero byte:
/// the picture `columns` wide and `rows` high (at least 16 × 4), then one line per car. Returns the
/// length, or 0 with an empty text if `capacity` is below RACING_DRAW_BYTES.
#define RACING_DRAW_BYTES(columns, rows, cars)                                                     \
    ((size_t)(rows) * ((size_t)(columns) + 1) + (size_t)(cars)*64 + 1)

size_t racing_draw(const RacingGame *game, const RacingState *view, int32_t columns, int32_t rows,
                   char *text, size_t capacity);

#endif
