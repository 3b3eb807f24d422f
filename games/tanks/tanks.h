// tanks/tanks.h: a small complete game, made to be played over a network.
//
// Tanks drive about an arena with buildings and shoot at each other. It is the sample program of
// this library, the lab's game and the tests' game: rules, bots, messages and a terminal view,
// without I/O, clock, globals or hidden memory. The same seed gives the same bytes with every
// compiler.
//
// How it is cut for a network. Every node runs its *own* tanks exactly (TanksTank) and knows the
// others only as it is shown them (TanksSeen: poses, as Fairlead places them). So nothing here
// needs everybody's truth:
//
//     input = tanks_bot_decide(&bot, &view);          // or a player's keys; decides by what is
//     seen if (tanks_tank_fire(&world, &tank, input, &event)) {
//         tanks_event_encode(&writer, &event);        // tell the others; all see the same shot
//     }
//     tanks_tank_step(&world, &tank, input);          // one tick
//     state = tanks_tank_state(&world, &tank);        // for fl_entity_set
//     victim = tanks_shot_first_hit(&world, &shot, from, to, before, after, count, &when);
//
// Who decides a hit is the caller's choice: the victim's node (true pose of the victim, `before`
// and `after` of its own tank), the shooter's node (poses as it sees them) or a server. TanksGame
// plays a whole game in one process, with perfect sight or through a view that the caller supplies.
//
// Units: arena units, seconds, radians counter-clockwise from +x; ticks are whole numbers, a tick's
// time is tick * 1 s / tick_hz. The arena is flat and centred on (0, 0).
//
// Peers' mistakes: whatever a decoder lets pass is safe to hand to every function here.
// Threads: nothing is shared; calls on different objects may run at once.
#ifndef TANKS_TANKS_H
#define TANKS_TANKS_H

#include "fairlead/fairlead.h"
#include "fairlead/motion.h"
#include "fairlead/timeline.h"

// ---------------------------------------------------------------- rules

#define TANKS_CAPACITY 256     ///< Tanks are numbered 0 to at most this minus 1.
#define TANKS_BUILDINGS_MAX 64 ///< In a world.

/// What all nodes of a game must agree on. tanks_wire_world makes sure that they do.
typedef struct TanksRules {
    double half_extent;     ///< The arena is from -this to this on both axes; 50 to 4000.
    int32_t building_count; ///< Asked for; fewer if they do not fit. 0 to TANKS_BUILDINGS_MAX.
    uint64_t map_seed;      ///< Where the buildings stand, and where tanks appear.
    double tank_length;     ///< 1 to 20, both.
    double tank_width;
    double top_speed;         ///< u/s forwards; above 0, at most 100.
    double reverse_speed;     ///< u/s backwards; 0 to top_speed.
    double top_turn_rate;     ///< rad/s; above 0, at most 10.
    double acceleration;      ///< u/s^2; INFINITY: speed changes at once.
    double turn_acceleration; ///< rad/s^2; INFINITY: turning starts and stops at once.
    double shot_speed;        ///< u/s over the ground; above top_speed, at most 1000.
    double shot_range;        ///< A shot ends after this way; above 0, at most 10000.
    double shot_radius;       ///< A shot is this thick; 0 to 5.
    FlTime reload_ns;         ///< Between two shots of a tank; above 0.
    FlTime respawn_ns;        ///< From a tank's end until it appears again; at least 0.
    int32_t tick_hz;          ///< Steps a second; 20 to 1000.
    uint32_t cookie;          ///< Set by tanks_rules_default(); leave alone.
} TanksRules;

/// BZFlag's measures: 800 x 800, tank 2.8 x 6, 25 u/s (12.5 backwards), 0.785 rad/s, both at once,
/// shots 100 u/s over 350 units; 20 buildings, 60 ticks a second, 5 s until a respawn.
TanksRules tanks_rules_default(void);

/// The same with inertia: 20 u/s^2 and 2 rad/s^2.
TanksRules tanks_rules_inertia(void);

/// What is wrong with rules, as a sentence; NULL if nothing is.
const char *tanks_rules_problem(const TanksRules *rules);

// ---------------------------------------------------------------- world

/// A building: an axis-aligned box.
typedef struct TanksBox {
    double low_x, low_y, high_x, high_y;
} TanksBox;

/// The rules and the map that follows from them. Never changes during a game. A value: copy it.
typedef struct TanksWorld {
    TanksRules rules;
    int32_t building_count;
    TanksBox building[TANKS_BUILDINGS_MAX];
    double tick_s;     ///< A tick in seconds.
    double tank_reach; ///< From a tank's centre to its corners.
} TanksWorld;

/// Errors: FL_BAD_VALUE, and an empty world, if tanks_rules_problem has something to say.
FL_NODISCARD FlResult tanks_world_init(const TanksRules *rules, TanksWorld *world);

/// When a tick is.
FlTime tanks_tick_time(const TanksWorld *world, int64_t tick);

/// The last tick at or before `time`: how a node finds the tick that session time has reached.
int64_t tanks_tick_at(const TanksWorld *world, FlTime time);

/// True if a tank there touches no building and no wall.
bool tanks_world_fits(const TanksWorld *world, double x, double y, double yaw);

/// How far a point gets from (x, y) along the unit vector (dx, dy): to the first building or wall,
/// at most `length`. 0 from inside a building or outside the arena.
double tanks_world_ray(const TanksWorld *world, double x, double y, double dx, double dy,
                       double length);

/// The wire's world for these rules: extent, 1 cm, speeds, `entity_capacity` entities; flat. The
/// rules are hashed into its application version, so that nodes with other rules never meet.
FlWorldDef tanks_wire_world(const TanksWorld *world, int32_t entity_capacity);

// ---------------------------------------------------------------- tanks

/// What a driver wants during one tick. Values outside are held at the ends; NaN counts as 0.
typedef struct TanksInput {
    double drive; ///< -1 (backwards) to 1.
    double turn;  ///< -1 (right) to 1 (left).
    bool fire;
} TanksInput;

/// A tank of one's own, exactly. Read it freely; the functions below write it.
typedef struct TanksTank {
    int32_t id;   ///< 0 to TANKS_CAPACITY - 1, the same at all nodes.
    int64_t tick; ///< What is said below is true at this tick.
    double x, y;
    double yaw;       ///< in (-pi, pi]
    double speed;     ///< along yaw, negative backwards
    double turn_rate; ///< of yaw
    double vx, vy;    ///< What it really does: along yaw, or along a wall it slides on.
    double push;      ///< Change of speed during the last tick, u/s^2.
    bool sliding;     ///< Held up by something: velocity does not turn with yaw.
    bool alive;
    uint32_t life;      ///< Raised with every spawn: a new one is a cut (fl_entity_cut).
    int64_t ready_at;   ///< The tick from which it can fire.
    int64_t respawn_at; ///< Dead: the tick from which tanks_tank_spawn may be called.
    uint32_t shots;     ///< Fired so far, in all lives.
    uint32_t kills;
    uint32_t deaths;
    double driven; ///< Way covered in all lives.
} TanksTank;

/// A tank that is not there yet: dead, and free to spawn at `tick`.
void tanks_tank_init(TanksTank *tank, int32_t id, int64_t tick);

/// Puts a dead tank somewhere free, and raises its life. Where depends on the map's seed, the id
/// and the life alone.
void tanks_tank_spawn(const TanksWorld *world, TanksTank *tank);

/// One tick. What would drive into something slides along it, or stops. A dead tank only gets
/// older. Tanks pass through each other: no two nodes could agree on such a collision in time.
void tanks_tank_step(const TanksWorld *world, TanksTank *tank, TanksInput input);

/// A shot, a hit or a kill, told to others.
typedef struct TanksEvent TanksEvent;

/// Fires, if the input asks for it and the tank is alive and loaded. True: *event is the shot to
/// tell everybody, from this tick on, already rounded as it travels. Call it before the step.
bool tanks_tank_fire(const TanksWorld *world, TanksTank *tank, TanksInput input, TanksEvent *event);

/// The end of a life: it stands still and may spawn again later. A dead tank stays as it is.
void tanks_tank_kill(const TanksWorld *world, TanksTank *tank);

/// The truth for fl_entity_set, its time that of the tick.
FlState tanks_tank_state(const TanksWorld *world, const TanksTank *tank);

// ---------------------------------------------------------------- what a node sees

/// A tank as it is shown here: the own one exactly, others as placed. {0} is not there.
typedef struct TanksSeen {
    double x, y;
    double vx, vy;
    double yaw;
    uint32_t life;
    uint32_t kills, deaths;
    bool alive; ///< And shown here.
} TanksSeen;

TanksSeen tanks_tank_seen(const TanksTank *tank);

/// What travels as an entity's fields: newest wins.
typedef struct TanksStatus {
    uint32_t life;
    uint32_t shots;
    uint16_t kills; ///< These two stop at 65535.
    uint16_t deaths;
    bool alive;
} TanksStatus;

TanksStatus tanks_tank_status(const TanksTank *tank);

#define TANKS_KIND 1 ///< Of tanks' entities: what a status has are its fields.

enum {
    TANKS_FIELD_LIFE,
    TANKS_FIELD_DEATHS,
    TANKS_FIELD_ALIVE,
    TANKS_FIELD_SHOTS,
    TANKS_FIELD_KILLS,
    TANKS_FIELD_COUNT,
};

extern const FlFieldDef tanks_fields[TANKS_FIELD_COUNT];

/// Once for a session, at every node. Errors: as fl_kind_define.
FL_NODISCARD FlResult tanks_kind_define(FlSession *session);

/// The status of an own tank; what has not changed is not sent. Errors: as fl_field_set_int.
FL_NODISCARD FlResult tanks_status_set(FlSession *session, FlEntityId id,
                                       const TanksStatus *status);

/// Anybody's, as it is known here. False: nothing has come yet.
FL_NODISCARD bool tanks_status_get(const FlSession *session, FlEntityId id, TanksStatus *status);

/// Another node's tank, from where Fairlead shows it and what its status says.
TanksSeen tanks_seen_make(const FlPose *pose, const TanksStatus *status);

// ---------------------------------------------------------------- events

typedef enum TanksEventKind {
    TANKS_EVENT_NONE,
    TANKS_EVENT_SHOT, ///< `tank` fired: everybody lets it fly.
    TANKS_EVENT_HIT,  ///< A node judged that `tank`'s shot met `victim`: to the victim's owner.
    TANKS_EVENT_KILL, ///< The victim's owner says so: to everybody; the killer's owner scores.
} TanksEventKind;

struct TanksEvent {
    TanksEventKind kind;
    int32_t tank;   ///< Who fired.
    uint32_t shot;  ///< Which of its shots, counted from 1.
    FlTime time;    ///< When: session time, 0 or later.
    double x, y;    ///< The muzzle, or where the hit was.
    double yaw;     ///< Shot: its direction.
    int32_t victim; ///< Hit and kill.
    uint32_t life;  ///< Hit and kill: the victim's life that it ends, so that it ends no other.
};

/// A hit or kill of a tank by a shot.
TanksEvent tanks_event_make(TanksEventKind kind, const TanksEvent *shot, int32_t victim,
                            const TanksSeen *seen, FlTime time);

// ---------------------------------------------------------------- where a server decides

#define TANKS_INPUT_BYTES 3
#define TANKS_FIRED_MAX 64

/// What a driver wants, as it travels. Any bytes are an input.
void tanks_input_encode(TanksInput input, uint8_t bytes[TANKS_INPUT_BYTES]);
TanksInput tanks_input_decode(const uint8_t bytes[TANKS_INPUT_BYTES]);

/// What tanks_step needs besides state and input, and the shots that were fired, until the caller
/// sets `fired_count` to 0. Beyond TANKS_FIRED_MAX they are not noted.
typedef struct TanksStepper {
    const TanksWorld *world;
    TanksEvent fired[TANKS_FIRED_MAX];
    int32_t fired_count;
} TanksStepper;

/// A tick of one tank from its input: it appears if it may, fires, and drives. Of one signature
/// with a timeline's step: `ctx` is a TanksStepper, `state` a TanksTank (tanks_tank_init makes one
/// without stray bytes), inputs->of[0] its input.
void tanks_step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs);

/// Where a state has its tank: FlPredictDef.pose_fn.
void tanks_step_pose(void *ctx, const void *state, FlPose *pose);

// ---------------------------------------------------------------- shots

/// A shot in flight; everything but the event follows from it and the world.
typedef struct TanksShot {
    TanksEvent event;
    double dx, dy; ///< Unit vector.
    FlTime ends;   ///< It is stopped by a building or the wall, or has gone its range.
} TanksShot;

/// The shot that an event (of kind shot) tells of. The same at all nodes.
void tanks_shot_start(const TanksWorld *world, const TanksEvent *event, TanksShot *shot);

/// Where it is. True while it flies.
bool tanks_shot_position(const TanksWorld *world, const TanksShot *shot, FlTime time, double *x,
                         double *y);

/// Does the shot meet a tank that goes from `before` to `after` during [from, to]? Both are taken
/// as straight: keep the interval short (a tick, at most 50 ms). Never across a cut or with a dead
/// tank. *when is the moment, set only if true.
bool tanks_shot_hits(const TanksWorld *world, const TanksShot *shot, FlTime from, FlTime to,
                     const TanksSeen *before, const TanksSeen *after, FlTime *when);

/// Whom the shot meets first of `count` tanks (ties: the lower number), or -1. Its shooter is safe.
int32_t tanks_shot_first_hit(const TanksWorld *world, const TanksShot *shot, FlTime from, FlTime to,
                             const TanksSeen *before, const TanksSeen *after, int32_t count,
                             FlTime *when);

// ---------------------------------------------------------------- messages
//
// Whole bytes, bit by bit lowest first (fairlead/wire.h). One value, one encoding: what decodes
// encodes to the same bytes. Decoders answer false for whatever no encoder writes.

#define TANKS_EVENT_BYTES_MAX 25 ///< No event takes more.

/// Rounds places to 1/1024 of a unit and directions to 2 pi / 65536, as it travels.
void tanks_event_round(TanksEvent *event);

/// Writes it, rounded as above. False if there is no room, or it is no event: tanks out of range,
/// places beyond 8000 units or not finite, a negative time.
FL_NODISCARD bool tanks_event_encode(FlWriter *writer, const TanksEvent *event);

/// False, and an empty event, if the bytes are none. Whether the tanks exist, who may tell of them
/// and whether the time is near is for the caller to say.
FL_NODISCARD bool tanks_event_decode(FlReader *reader, TanksEvent *event);

// ---------------------------------------------------------------- views and bots

/// What one node can know at one tick. Everything is borrowed.
typedef struct TanksView {
    const TanksWorld *world;
    int64_t tick;
    const TanksTank *own;   ///< NULL for a spectator.
    const TanksSeen *tanks; ///< By id, the own one among them.
    int32_t tank_count;
    const TanksShot *shots; ///< That are known here to fly.
    int32_t shot_count;
} TanksView;

typedef enum TanksBotMode {
    TANKS_BOT_HUNT,  ///< Towards the enemy, shooting.
    TANKS_BOT_ROAM,  ///< To some place.
    TANKS_BOT_BACK,  ///< Backwards, facing the enemy.
    TANKS_BOT_STAND, ///< Still, facing the enemy.
} TanksBotMode;

/// A driver without keys: it knows its view, wants something for a while, and thinks a few times a
/// second. A value without pointers.
typedef struct TanksBot {
    FlRandom random;
    TanksBotMode mode;
    int64_t mode_until; ///< ticks, all of them
    int64_t think_at;
    int64_t dodge_until;
    int64_t past_at;
    double past_x, past_y; ///< Where it was then: has it come along?
    double goal_x, goal_y; ///< Roaming.
    double heading;        ///< It turns towards this.
    double drive;
    double aim_error; ///< rad, by which its hand is off this time.
    int32_t target;   ///< -1: none.
    uint32_t life;    ///< A new one forgets everything but the seed.
    bool aiming;      ///< Fires as soon as it faces its heading.
} TanksBot;

/// Bots with the same seed and different ids play differently, with other seeds again.
void tanks_bot_init(TanksBot *bot, uint64_t seed, int32_t id);

/// What it does in this tick; call it once per tick. It aims at where its view shows the target.
TanksInput tanks_bot_decide(TanksBot *bot, const TanksView *view);

// ---------------------------------------------------------------- a whole game in one process

typedef struct TanksGame TanksGame;

/// What the player of tank `viewer`, alive or not, is shown at the game's tick. `tanks` holds the
/// truth on entry; overwrite the others with what is to be seen instead. Called for every viewer in
/// order of ids, once per tick, after tanks have moved and before shots are judged.
typedef void (*TanksSeeFn)(void *ctx, const TanksGame *game, int32_t viewer, TanksSeen *tanks);

typedef enum TanksJudge {
    TANKS_JUDGE_TRUTH,   ///< Shots meet tanks where these are (the victim's node decides).
    TANKS_JUDGE_SHOOTER, ///< Shots meet tanks where the shooter sees them.
} TanksJudge;

typedef struct TanksGameDef {
    TanksRules rules;
    int32_t tank_count; ///< 1 to TANKS_CAPACITY.
    uint64_t seed;      ///< Of the bots.
    TanksJudge judge;
    TanksSeeFn see_fn; ///< NULL: everybody sees the truth.
    void *see_ctx;
    FlAlloc alloc;
    uint32_t cookie; ///< Set by tanks_game_def_default(); leave alone.
} TanksGameDef;

/// 16 bots that see each other perfectly.
TanksGameDef tanks_game_def_default(void);

/// Reserves everything the game will ever use. Errors: FL_NO_MEMORY; FL_BAD_VALUE (rules or count).
FL_NODISCARD FlResult tanks_game_create(const TanksGameDef *def, TanksGame **game);
void tanks_game_destroy(TanksGame *game);

/// One tick: bots decide by what they see, fire, move; shots fly and hit; the dead come back.
void tanks_game_step(TanksGame *game);

/// From now on `input` drives this tank, every tick; NULL gives it back to its bot.
void tanks_game_drive(TanksGame *game, int32_t tank, const TanksInput *input);

const TanksWorld *tanks_game_world(const TanksGame *game);
int64_t tanks_game_tick(const TanksGame *game);

/// All of them, by id. Valid as long as the game.
const TanksTank *tanks_game_tanks(const TanksGame *game, int32_t *count);

/// Those in flight. Valid until the next step.
const TanksShot *tanks_game_shots(const TanksGame *game, int32_t *count);

/// What happened in the last step, in order. Valid until the next.
const TanksEvent *tanks_game_events(const TanksGame *game, int32_t *count);

/// The game as a tank sees it (its true tank, everybody else's truth), or as a spectator does (-1).
/// Valid until the next step.
TanksView tanks_game_view(const TanksGame *game, int32_t tank);

/// Every bit of what will matter later: equal games have equal hashes.
uint64_t tanks_game_hash(const TanksGame *game);

// ---------------------------------------------------------------- terminal view

typedef struct TanksDrawDef {
    int32_t columns; ///< 20 to 400.
    int32_t rows;    ///< 4 to 200; the first is the score line.
    double span;     ///< Units from edge to edge around the own tank; 0: the whole arena.
    bool colours;    ///< ANSI escapes: buildings red, the own tank green, shots yellow.
} TanksDrawDef;

/// An 80 x 24 terminal, the whole arena, in colours.
TanksDrawDef tanks_draw_def_default(void);

/// Bytes that a picture may take, its final zero included.
size_t tanks_draw_bytes(const TanksDrawDef *def);

/// Draws the view as text: `rows` lines of `columns` characters, each ended by a newline, then a
/// zero. The first line is the score; buildings are '#', shots '*', the own tank an arrow (> ^ <
/// v), others letters (A is tank 0, Z 25, then again), outside '.'. Returns the bytes before the
/// zero; 0 and an empty text if `size` is less than tanks_draw_bytes says. Pure: no terminal is
/// touched.
size_t tanks_draw(const TanksView *view, const TanksDrawDef *def, char *text, size_t size);

#endif
