// arena/arena.h: a small complete deathmatch, made to be played over a network.
//
// A *game* (map, rules, number of players) is made once and never changes. Everything that does
// change is one flat ArenaState without pointers: saving it is an assignment. There are two ways to
// play:
//
//   whole       one process steps everybody:  arena_step
//   own player  every peer steps its own player among the others as it sees them:  arena_step_one,
//               with arena_player_show for the others and arena_player_state for telling them
//
// An ArenaState is therefore also a *view*, in which others are where they are shown. Bots, shots
// and the text picture take either, and act on what they are given, right or wrong.
//
// What players do to each other and to things is a *deed*: damage, score, pickup, door, flag. The
// actor's peer makes it, the owner of its target applies or refuses it (arena_deed_apply), the
// actor learns what became of it (arena_deed_learn). Nothing else crosses from one peer to another,
// but where players are, their status and missiles. Players pass through each other: no two
// peers could agree on such a collision in time.
//
//     arena_step_one(game, &view, me, input, &deeds);            // the actor
//     arena_deed_apply(game, &truth, &deed, &more);              // where the target is owned
//     arena_deed_learn(game, &view, &deed, applied, &answer);    // the actor again
//
// Units: those of Quake, so that recordings fit: a player is a box of 30 x 30 x 56, runs 320 units
// a second, falls with 800 u/s^2 and jumps with 270 u/s. x and y in the ground plane, z up, 0 on
// the floor. A player's position is 24 above its feet. Angles in radians counter-clockwise from +x,
// pitch positive downwards. A tick is 50 ms: the frame in which decisions are made and told.
// Motion within a tick is integrated exactly and swept, so nothing needs a smaller step.
//
// The same seed gives the same bits with every compiler. Threads: a game may be read by many
// threads; a state belongs to one.
#ifndef ARENA_ARENA_H
#define ARENA_ARENA_H

#include "fairlead/motion.h"

#define ARENA_PLAYER_CAPACITY 128
#define ARENA_ITEM_CAPACITY 32
#define ARENA_DOOR_CAPACITY 4
#define ARENA_MISSILE_CAPACITY 128
#define ARENA_TEAM_COUNT 2

#define ARENA_TICK_HZ 20
#define ARENA_RUN_SPEED 320.0   ///< u/s on the ground
#define ARENA_SPEED_BOUND 820.0 ///< No player is ever faster, whatever pushes it.
#define ARENA_HALF_WIDTH 15.0   ///< of a player's box, x and y
#define ARENA_FEET 24.0         ///< from a player's position down to its feet
#define ARENA_HEAD 32.0         ///< and up to the top of its head
#define ARENA_EYE 26.0          ///< and up to its eyes
#define ARENA_HEALTH_MAX 200    ///< of health and of armour

// ---------------------------------------------------------------- maps

/// X(name, word, half its extent)
#define ARENA_MAP_TABLE(X)                                                                         \
    X(YARD, "yard", 1280)   /* open: low crates and a few pillars; nearly everybody is visible */  \
    X(KEEP, "keep", 1280)   /* walls, rooms, two doors, two flag bases */                          \
    X(PLAIN, "plain", 4096) /* a floor and nothing else: for players driven by recordings */

typedef enum ArenaMap {
#define ARENA_MAP_ROW(name, word, half) ARENA_MAP_##name,
    ARENA_MAP_TABLE(ARENA_MAP_ROW)
#undef ARENA_MAP_ROW
        ARENA_MAP_COUNT
} ArenaMap;

const char *arena_map_name(ArenaMap map);

/// Finds a map by its word. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult arena_map_find(const char *name, ArenaMap *map);

// ---------------------------------------------------------------- weapons and items

/// X(name, word, damage, ticks between shots, range, spread in rad)
/// A rocket's damage is that of a hit; others near get less of it.
#define ARENA_WEAPON_TABLE(X)                                                                      \
    X(MELEE, "melee", 50, 8, 60.0, 0.0)                                                            \
    X(GUN, "gun", 4, 2, 4000.0, 0.03)                                                              \
    X(SNIPER, "sniper", 100, 30, 8000.0, 0.0)                                                      \
    X(ROCKET, "rocket", 100, 16, 4000.0, 0.0)

typedef enum ArenaWeapon {
#define ARENA_WEAPON_ROW(name, word, damage, ticks, range, spread) ARENA_WEAPON_##name,
    ARENA_WEAPON_TABLE(ARENA_WEAPON_ROW)
#undef ARENA_WEAPON_ROW
        ARENA_WEAPON_COUNT
} ArenaWeapon;

const char *arena_weapon_name(ArenaWeapon weapon);

#define ARENA_MISSILE_SPEED 900.0 ///< u/s
#define ARENA_SPLASH 120.0        ///< A missile's end hurts whoever is nearer than this.

/// X(name, word, how much of it, at most so much, ticks until it is back)
#define ARENA_ITEM_TABLE(X)                                                                        \
    X(HEALTH, "health", 25, 100, 400)                                                              \
    X(MEDKIT, "medkit", 100, 200, 700)                                                             \
    X(ARMOUR, "armour", 50, 150, 500)                                                              \
    X(BULLETS, "bullets", 50, 200, 400)                                                            \
    X(SNIPER, "sniper", 10, 20, 120)                                                               \
    X(ROCKET, "rocket", 10, 25, 120)

typedef enum ArenaItemKind {
#define ARENA_ITEM_ROW(name, word, amount, most, ticks) ARENA_ITEM_##name,
    ARENA_ITEM_TABLE(ARENA_ITEM_ROW)
#undef ARENA_ITEM_ROW
        ARENA_ITEM_KIND_COUNT
} ArenaItemKind;

const char *arena_item_name(ArenaItemKind kind);

// ---------------------------------------------------------------- the game

/// Who decides whether a missile meets somebody. Shots that need no time are the shooter's.
typedef enum ArenaJudge {
    ARENA_JUDGE_SHOOTER, ///< By where the shooter sees the others.
    ARENA_JUDGE_TARGET,  ///< By where the target really is, against the missile as it sees it.
} ArenaJudge;

typedef struct ArenaDef {
    ArenaMap map;
    int32_t player_count;  ///< 2 … ARENA_PLAYER_CAPACITY
    bool flags;            ///< Capture the flag: two teams, by odd and even numbers. Keep only.
    ArenaJudge judge;      ///< Of missiles.
    int32_t respawn_ticks; ///< From death to the next life; 1 … 1000.
    uint64_t seed;         ///< Who appears where.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by arena_def_default(); leave alone.
} ArenaDef;

/// Sixteen players in the yard, everybody for himself, shooters judge, back after 2 s.
ArenaDef arena_def_default(void);

typedef struct ArenaGame ArenaGame;

/// Makes a game; the caller destroys it. Allocates once, here (about 2.6 MB: ways between all
/// places of the map). Errors: FL_BAD_VALUE (a setting out of its range), FL_NO_MEMORY.
FL_NODISCARD FlResult arena_create(const ArenaDef *def, ArenaGame **game);
void arena_destroy(ArenaGame *game);

const ArenaDef *arena_def(const ArenaGame *game);

/// The map is from minus this to this on both axes.
double arena_half_extent(const ArenaGame *game);

int32_t arena_item_count(const ArenaGame *game);
int32_t arena_door_count(const ArenaGame *game);
ArenaItemKind arena_item_kind(const ArenaGame *game, int32_t item);
FlVec3 arena_item_position(const ArenaGame *game, int32_t item);

/// A solid block from the floor up to `top`, for whoever draws the map.
typedef struct ArenaBox {
    double low_x, low_y, high_x, high_y;
    double top;
} ArenaBox;

int32_t arena_box_count(const ArenaGame *game);
ArenaBox arena_box(const ArenaGame *game, int32_t box);

FlVec3 arena_door_position(const ArenaGame *game, int32_t door);
FlVec3 arena_base_position(const ArenaGame *game, int32_t team);

/// The wire's world for this game: extent, 1/8 unit, speeds, `entity_capacity` entities. Map and
/// rules are hashed into its application version, so that peers with others never meet.
FlWorldDef arena_wire_world(const ArenaGame *game, int32_t entity_capacity);

/// The same of a game that is not made yet.
FlWorldDef arena_def_world(const ArenaDef *def, int32_t entity_capacity);

// ---------------------------------------------------------------- inputs

#define ARENA_BUTTON_FIRE 1u
#define ARENA_BUTTON_USE 2u ///< Opens doors from further away.

/// What a player does in one tick. {0} stands still and looks along +x.
typedef struct ArenaInput {
    int8_t forward;  ///< -127 … 127, along yaw
    int8_t right;    ///< -127 … 127
    int8_t up;       ///< above 0: jump
    uint8_t buttons; ///< ARENA_BUTTON_…
    int16_t yaw;     ///< 2 pi / 65536; arena_angle_steps makes them
    int16_t pitch;   ///< the same; positive looks down, held within a quarter turn
    uint8_t weapon;  ///< An ArenaWeapon; one that the player has not changes nothing.
} ArenaInput;

int16_t arena_angle_steps(double angle);
double arena_angle(int16_t steps);

#define ARENA_INPUT_BYTES 8

/// Packs an input. Values out of range are held at their ends.
///
///   bits   field     valid
///   8      forward   value + 127, 0 … 254
///   8      right     value + 127, 0 … 254
///   8      up        value + 127, 0 … 254
///   16     yaw       two's complement
///   16     pitch     two's complement, -16384 … 16384
///   2      buttons   -
///   2      weapon    -
///   4      padding   zero
void arena_input_encode(ArenaInput input, uint8_t bytes[ARENA_INPUT_BYTES]);

/// False, and {0}, for bytes that arena_input_encode never writes.
FL_NODISCARD bool arena_input_decode(const uint8_t bytes[ARENA_INPUT_BYTES], ArenaInput *input);

// ---------------------------------------------------------------- state

/// One player. Ordered so that there is no padding.
typedef struct ArenaPlayer {
    double x, y, z;
    double vx, vy, vz;
    double yaw, pitch;
    int32_t alive;      ///< 1 or 0. The dead lie where they fell.
    int32_t grounded;   ///< 1: stands on something.
    int32_t health;     ///< 0 … ARENA_HEALTH_MAX
    int32_t armour;     ///< the same; takes two thirds of what hits
    int32_t weapon;     ///< An ArenaWeapon.
    uint32_t owned;     ///< Bit w: has weapon w.
    int32_t team;       ///< 0 or 1; only flags make anything of it.
    int32_t carries;    ///< The flag (team number) that it carries; -1: none.
    int32_t ready_at;   ///< Tick from which the weapon fires.
    int32_t respawn_at; ///< Dead: tick of the next life.
    int32_t asked;      ///< What its last request was for, so that it is not made every tick.
    int32_t asked_until;
    int32_t score; ///< kills, minus deaths by its own hand, plus 5 for each flag brought home
    uint32_t kills, deaths;
    uint32_t shots;    ///< Fired, in all lives: an action counter that replicas replay.
    uint32_t jumps;    ///< The same.
    uint32_t life;     ///< Raised with every spawn: a new one is a cut.
    uint32_t captures; ///< Flags brought home.
    int32_t ammo[ARENA_WEAPON_COUNT];
    uint32_t unused; ///< Zero.
} ArenaPlayer;

/// An item lies there from tick back_at on. `taken` counts, and names the one that a pickup is for.
typedef struct ArenaItem {
    int32_t back_at;
    uint32_t taken;
} ArenaItem;

/// A door is open before tick open_until.
typedef struct ArenaDoor {
    int32_t open_until;
    uint32_t uses;
} ArenaDoor;

typedef enum ArenaFlagPlace {
    ARENA_FLAG_HOME,
    ARENA_FLAG_CARRIED,
    ARENA_FLAG_LYING, ///< Somebody dropped it; it goes home by itself at back_at.
} ArenaFlagPlace;

typedef struct ArenaFlag {
    double x, y, z;  ///< Where it lies.
    int32_t place;   ///< An ArenaFlagPlace.
    int32_t carrier; ///< -1: nobody.
    int32_t back_at;
    uint32_t moves; ///< Counts every change, and names the one that a request is for.
    uint32_t captures;
    uint32_t unused; ///< Zero.
} ArenaFlag;

/// A missile in flight; where it is follows from this. Also what is told to others of it.
typedef struct ArenaMissile {
    double x, y, z;     ///< Where it started, in eighths of a unit.
    double reach;       ///< How far it gets until a wall stops it.
    int32_t owner;      ///< Who fired it.
    int32_t born;       ///< The tick at which it was at its start.
    uint32_t number;    ///< Its owner's count of shots.
    int16_t yaw, pitch; ///< as in an input
} ArenaMissile;

/// The whole game, or one peer's view of it. Copy it freely; what is beyond a count is zero.
typedef struct ArenaState {
    int32_t tick; ///< Steps made; the game's time is tick / ARENA_TICK_HZ.
    int32_t player_count;
    int32_t missile_count;
    uint32_t missiles_lost; ///< There was no room for so many of them.
    ArenaItem item[ARENA_ITEM_CAPACITY];
    ArenaDoor door[ARENA_DOOR_CAPACITY];
    ArenaFlag flag[ARENA_TEAM_COUNT];
    ArenaPlayer player[ARENA_PLAYER_CAPACITY];
    ArenaMissile missile[ARENA_MISSILE_CAPACITY];
} ArenaState;

/// The time of a tick since the start.
static inline FlTime arena_tick_time(int32_t tick)
{
    return tick * FL_SEC(1) / ARENA_TICK_HZ;
}

static inline bool arena_item_there(const ArenaState *state, int32_t item)
{
    return state->tick >= state->item[item].back_at;
}

static inline bool arena_door_open(const ArenaState *state, int32_t door)
{
    return state->tick < state->door[door].open_until;
}

/// Everybody alive at a place to start from, all items there, doors shut, flags at home.
void arena_start(const ArenaGame *game, ArenaState *state);

/// 64 bits that differ for states that differ, alike on every machine.
uint64_t arena_hash(const ArenaState *state);

/// Could arena_step have made this state in this game? For states that come from a peer: what this
/// accepts can be stepped, shown and drawn without harm.
bool arena_state_valid(const ArenaGame *game, const ArenaState *state);

// ---------------------------------------------------------------- deeds

typedef enum ArenaDeedKind {
    ARENA_DEED_NONE,
    ARENA_DEED_DAMAGE,  ///< actor hurts player `target` in its life `which`
    ARENA_DEED_SCORE,   ///< player `actor` died by player `target`, who gets `amount`
    ARENA_DEED_PICKUP,  ///< actor takes item `target`, its `which`-th time
    ARENA_DEED_DOOR,    ///< actor opens door `target`
    ARENA_DEED_TAKE,    ///< actor takes the flag `target`; `which` counts the flag's moves
    ARENA_DEED_DROP,    ///< actor died and leaves the flag `target` at (x, y, z)
    ARENA_DEED_BACK,    ///< actor sends its own lying flag home
    ARENA_DEED_CAPTURE, ///< actor brings the other team's flag `target` home
    ARENA_DEED_COUNT
} ArenaDeedKind;

/// Something one player does to another or to a thing. Places and pushes are whole units, so that
/// it travels unchanged.
typedef struct ArenaDeed {
    ArenaDeedKind kind;
    int32_t actor;
    int32_t target;
    uint32_t which;
    int32_t weapon;  ///< Damage and score: an ArenaWeapon.
    int32_t amount;  ///< Damage: points, 1 … 127. Score: 1 or -1.
    int32_t x, y, z; ///< Damage: push in u/s, -1000 … 1000. Drop: where. Else 0.
} ArenaDeed;

#define ARENA_DEEDS_CAPACITY 512

/// Deeds in the order in which they were done. Start with {0}, or set count to 0.
typedef struct ArenaDeeds {
    int32_t count;
    uint32_t lost; ///< There was no room for so many.
    ArenaDeed deed[ARENA_DEEDS_CAPACITY];
} ArenaDeeds;

typedef enum ArenaVerdict {
    ARENA_REFUSED, ///< The target is not as the actor saw it, or such a deed cannot be.
    ARENA_APPLIED,
} ArenaVerdict;

/// The owner of the target decides. `state` holds the truth about the target and changes if it is
/// applied. Whatever follows from it (a death's score and dropped flag) is added to `more`, to be
/// sent to the owners of *its* targets. Any deed that arena_deed_decode lets pass is safe; whether
/// the sender owns the actor is for the caller to say, and that nothing is applied twice too
/// (damage and score are not idempotent, all others are).
ArenaVerdict arena_deed_apply(const ArenaGame *game, ArenaState *state, const ArenaDeed *deed,
                              ArenaDeeds *more);

/// What the owner answers with: the target's new state.
typedef struct ArenaAnswer {
    int32_t first;   ///< player: health; item: back_at; door: open_until; flag: place
    int32_t second;  ///< player: armour; flag: carrier
    uint32_t third;  ///< player: life; item: taken; door: uses; flag: moves
    int32_t x, y, z; ///< flag: where it lies, whole units
    int32_t back_at; ///< flag
} ArenaAnswer;

ArenaAnswer arena_deed_answer(const ArenaState *state, const ArenaDeed *deed);

/// A view gets a deed's target as the answer tells it: for everybody who hears of it and owns
/// neither actor nor target. A player's health is shown only if the view still shows that life.
void arena_deed_show(const ArenaGame *game, ArenaState *view, const ArenaDeed *deed,
                     const ArenaAnswer *answer);

/// The actor hears. Its own player gets what an applied deed brings (an item's good, a flag, a
/// capture's score); then as arena_deed_show, unless `answer` is NULL (the target is owned here).
void arena_deed_learn(const ArenaGame *game, ArenaState *view, const ArenaDeed *deed,
                      ArenaVerdict verdict, const ArenaAnswer *answer);

/// Deeds that need an owner of a thing, not of a player.
static inline bool arena_deed_at_thing(ArenaDeedKind kind)
{
    return kind >= ARENA_DEED_PICKUP && kind < ARENA_DEED_COUNT;
}

// ---------------------------------------------------------------- steps

/// One tick of everything; inputs[i] drives player i. Deeds are applied at the end of the tick, the
/// first player's first, and who is first changes every tick. `done` (may be NULL) gets all deeds
/// that were applied, as far as there is room.
void arena_step(const ArenaGame *game, ArenaState *state, const ArenaInput *inputs,
                ArenaDeeds *done);

/// One tick of one player in a view: it shoots at what it sees, then moves, and its deeds are added
/// to `deeds` for others to apply. Missiles that are its peer's to judge are judged. A missile that
/// it launches is the last in the view (tell the others). Counts the tick. The others stay where
/// the view has them.
void arena_step_one(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input,
                    ArenaDeeds *deeds);

/// One tick of a replica: it moves and jumps as the input says and touches nothing else: no shot,
/// no item, no door, no death. For guided replicas; does not count the tick.
void arena_step_replica(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input);

/// Time passes in a view without a player of its own (a referee's, a spectator's).
void arena_step_idle(const ArenaGame *game, ArenaState *view);

/// Where a player will be if its input stays as it is, `seconds` later (0 … 10). Doors stay as they
/// are in the view.
FlPose arena_predict(const ArenaGame *game, const ArenaState *view, int32_t player,
                     ArenaInput input, double seconds);

/// Moves a shown player from where it is towards `to`, and no further than walls allow. A player
/// that is already in a wall is not held by it.
void arena_step_shown(const ArenaGame *game, ArenaState *view, int32_t player, FlVec3 to);

/// Where players may begin a life: of all such places the one nearest to a point, on a map without
/// any that point.
FlVec3 arena_spawn_near(const ArenaGame *game, FlVec3 point);

/// Is somebody who stands there inside a block, by more than `depth` on every side? Doors count as
/// open.
bool arena_is_inside(const ArenaGame *game, FlVec3 position, double depth);

// ---------------------------------------------------------------- shots

typedef struct ArenaTrace {
    FlVec3 end;     ///< Where it stopped.
    double length;  ///< The way to there.
    int32_t player; ///< Whom it met; -1: a wall or nobody.
} ArenaTrace;

/// A straight line through a view from `from` along the unit vector `along`, at most `length`,
/// until it meets a wall, a shut door or a living player other than `except`.
ArenaTrace arena_shot_trace(const ArenaGame *game, const ArenaState *view, int32_t except,
                            FlVec3 from, FlVec3 along, double length);

/// True if nothing but air and players is between two points. `view` NULL: doors count as open.
bool arena_sees(const ArenaGame *game, const ArenaState *view, FlVec3 from, FlVec3 to);

/// Could this damage have been done from `actor` to a target shown at `target` (both positions of
/// players)? Within the weapon's reach, and some part of the target not behind a wall; doors count
/// as open. A missile may come from anywhere within its flight. For owners who know where the actor
/// saw the target; generous, so that an honest shot is never refused. True for deeds of other
/// kinds.
bool arena_deed_plausible(const ArenaGame *game, const ArenaDeed *deed, FlVec3 actor,
                          FlVec3 target);

/// Does the line of such a shot, which its push has the direction of, meet the target's box there,
/// or pass within `margin` of it? And is it plausible? True for what is no shot.
bool arena_deed_meets(const ArenaGame *game, const ArenaDeed *deed, FlVec3 actor, FlVec3 target,
                      double margin);

/// Whom a player seems to aim at: the living one for whom its view has to turn least, at most 45
/// degrees; -1: nobody. *angle (may be NULL) is that turn.
int32_t arena_player_aims_at(const ArenaState *view, int32_t player, double *angle);

/// The same for the one that it has aimed at best of late: `angles` (by player, at first all pi)
/// are the turns, averaged over a quarter of a second. Once a tick.
int32_t arena_player_follows(const ArenaState *view, int32_t player, double *angles);

FlVec3 arena_player_eye(const ArenaPlayer *player);

/// The unit vector of a direction.
FlVec3 arena_direction(double yaw, double pitch);

/// Where a missile is at the view's tick.
FlVec3 arena_missile_position(const ArenaState *view, const ArenaMissile *missile);

/// Another peer's missile, as told. False, and nothing happens, if it is already there, too old, or
/// there is no room.
bool arena_missile_show(const ArenaGame *game, ArenaState *view, const ArenaMissile *missile);

/// It hit somebody elsewhere: it flies no more. False if it is not there.
bool arena_missile_remove(ArenaState *view, int32_t owner, uint32_t number);

// ---------------------------------------------------------------- to and from what is shown

/// What travels as an entity's state blob: newest wins.
typedef struct ArenaStatus {
    uint16_t life; ///< These four wrap around.
    uint16_t shots;
    uint16_t jumps;
    uint16_t deaths;
    int16_t score;   ///< Held at the ends.
    uint8_t health;  ///< 0: dead.
    uint8_t armour;  ///< 0 … ARENA_HEALTH_MAX both
    uint8_t weapon;  ///< An ArenaWeapon.
    uint8_t carries; ///< The flag it carries; ARENA_TEAM_COUNT: none.
} ArenaStatus;

#define ARENA_STATUS_BYTES 13

ArenaStatus arena_player_status(const ArenaPlayer *player);

/// A player as motion knows it, for triggers and updates; `time` is the caller's for this tick.
FlState arena_player_state(const ArenaPlayer *player, FlTime time);

/// Puts a player of a view where it is shown, as what its status says. False, and nothing changes,
/// for a pose that is not finite. Further out than 16384 it is held there.
bool arena_player_show(const ArenaGame *game, ArenaState *view, int32_t player, const FlPose *pose,
                       const ArenaStatus *status);

/// One row of a recording.
typedef struct ArenaRow {
    FlVec3 position, velocity;
    double yaw, pitch;
    int32_t health;   ///< 0 or less: dead
    int32_t weapon;   ///< As recorded: 1 melee, 5 rocket, 7 sniper, others count as the gun.
    uint32_t buttons; ///< 1: fires, as often as the weapon can
    uint32_t life;
} ArenaRow;

/// Puts a player where a recording has it. Heights are taken as they are; the map is not asked.
/// False, and nothing changes, for a row that is not finite.
bool arena_player_put(ArenaState *state, int32_t player, const ArenaRow *row);

// ---------------------------------------------------------------- messages
//
// Whole bytes, bit by bit lowest first (fairlead/wire.h). One value, one encoding. Decoders answer
// false, and give an empty value, for whatever no encoder writes.

#define ARENA_DEED_BYTES 14    ///< Of every deed.
#define ARENA_ANSWER_BYTES 23  ///< Of every answer.
#define ARENA_MISSILE_BYTES 19 ///< Of every missile.

/// False if there is no room, or it is no status.
FL_NODISCARD bool arena_status_encode(FlWriter *writer, const ArenaStatus *status);
FL_NODISCARD bool arena_status_decode(FlReader *reader, ArenaStatus *status);

/// False if there is no room, or it is no deed.
FL_NODISCARD bool arena_deed_encode(FlWriter *writer, const ArenaDeed *deed);

/// What it lets pass names players, items, doors and flags that may exist; the game says whether
/// they do.
FL_NODISCARD bool arena_deed_decode(FlReader *reader, ArenaDeed *deed);

FL_NODISCARD bool arena_answer_encode(FlWriter *writer, const ArenaAnswer *answer);
FL_NODISCARD bool arena_answer_decode(FlReader *reader, ArenaAnswer *answer);

/// Without its reach, which the receiver works out.
FL_NODISCARD bool arena_missile_encode(FlWriter *writer, const ArenaMissile *missile);
FL_NODISCARD bool arena_missile_decode(FlReader *reader, ArenaMissile *missile);

// ---------------------------------------------------------------- finding the way

/// Where to go, how to face on the way.
typedef struct ArenaWalk {
    FlVec3 to;
    double yaw, pitch;
    double seconds; ///< Arrive then, not before; 0: as soon as possible.
} ArenaWalk;

/// What a player does to get there: around walls, over crates, through doors, without turning its
/// face away. Holds its place once there (within 4 units). Bots walk by it, and replicas are guided
/// by it. A place inside a wall or outside is approached as far as it goes.
ArenaInput arena_walk_to(const ArenaGame *game, const ArenaState *view, int32_t player,
                         const ArenaWalk *walk);

// ---------------------------------------------------------------- bots

#define ARENA_CHARACTER_COUNT 32
#define ARENA_SKILL_MIN 1
#define ARENA_SKILL_MAX 5

const char *arena_character_name(int32_t character);

/// A player without keys. It knows its view, wants something for a while and thinks a few times a
/// second. A value without pointers; no padding.
typedef struct ArenaBot {
    FlRandom random;
    FlVec3 goal;            ///< Where it is going.
    double aim_yaw_error;   ///< rad by which its hand is off, wandering
    double aim_pitch_error; ///< the same
    double yaw, pitch;      ///< Where it looks.
    int32_t character;      ///< 0 … ARENA_CHARACTER_COUNT - 1: what it likes
    int32_t skill;          ///< ARENA_SKILL_MIN … ARENA_SKILL_MAX: how well it does it
    int32_t enemy;          ///< -1: none
    int32_t enemy_since;    ///< Tick since which it has seen it.
    int32_t enemy_seen;     ///< Tick at which it last did.
    int32_t item;           ///< That it goes for; -1: none.
    int32_t think_at;       ///< tick
    int32_t goal_until;     ///< tick
    int32_t strafe;         ///< -1, 0, 1
    int32_t strafe_until;   ///< tick
    int32_t weapon;         ///< That it wants in its hands.
    int32_t stuck;          ///< Ticks in which it came nowhere.
    int32_t visible;        ///< 1: it sees its enemy now.
    uint32_t life;          ///< A new one forgets everything but the seed.
} ArenaBot;

/// Bots with the same seed and other numbers play differently. Skill and character out of range are
/// held at their ends.
void arena_bot_init(ArenaBot *bot, uint64_t seed, int32_t player, int32_t character, int32_t skill);

/// What it does in this tick; call it once a tick. It aims at where its view shows its enemy.
ArenaInput arena_bot_decide(const ArenaGame *game, ArenaBot *bot, const ArenaState *view,
                            int32_t player);

// ---------------------------------------------------------------- a player's keys

/// What is held down.
typedef struct ArenaKeys {
    double drive; ///< -1 (backwards), 0 or 1.
    double turn;  ///< -1 (right), 0 or 1 (left).
    bool fire;
} ArenaKeys;

/// A player with four keys and a trigger: it looks up and down by itself, at whom it aims at, and
/// takes the strongest weapon that it has something for.
ArenaInput arena_keys_input(const ArenaGame *game, const ArenaState *view, int32_t player,
                            ArenaKeys keys);

// ---------------------------------------------------------------- a picture in text

/// Draws map, players (A, B, … then a, b, …; the dead as '+'), items and standings as lines of text
/// ending in newlines and a zero byte: the picture `columns` wide and `rows` high (at least 16 ×
/// 4), then one line per player. Returns the length, or 0 with an empty text if `capacity` is below
/// ARENA_DRAW_BYTES.
#define ARENA_DRAW_BYTES(columns, rows, players)                                                   \
    ((size_t)(rows) * ((size_t)(columns) + 1) + (size_t)(players)*64 + 1)

size_t arena_draw(const ArenaGame *game, const ArenaState *view, int32_t columns, int32_t rows,
                  char *text, size_t capacity);

#endif
