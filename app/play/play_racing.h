// Racing over a session: what the files of this game share. See play_racing.c.
#ifndef APP_PLAY_RACING_H
#define APP_PLAY_RACING_H

#include "app/play/play_node.h"
#include "lab/figures/jumps.h"
#include "racing/racing.h"

#define PLAY_KIND_CAR 2
#define PLAY_KIND_RACE 3
#define PLAY_PLACES RACING_CAR_CAPACITY ///< On the grid.
#define PLAY_PARKED (-1e6)              ///< Progress of a car that is not there is below this.

/// X(NAME, word, fault, meaning)
#define PLAY_RACING_TABLE(X)                                                                       \
    X(OFF_ROAD, "off_road", true, "shown further off the road than its speed explains")            \
    X(WRONG_LAP, "wrong_lap", true, "progress as shown is not what its owner tells")               \
    X(STATUS_BACK, "status_back", true, "a car's round, contacts or finish went back")             \
    X(RACE_BACK, "race_back", true, "the race went back to an earlier round")                      \
    X(TOO_FAST, "too_fast", true, "a finish that no car can reach")                                \
    X(JUMPS, "jumps", false, "steps of others' cars that no car can make")                         \
    X(TOLD, "told", false, "updates of own cars")                                                  \
    X(DELTA_CHANGES, "delta_changes", false, "of the group's delay")

enum {
    PLAY_RACING_BEFORE = PLAY_COUNT_COMMON - 1,
#define PLAY_RACING_ROW(name, word, fault, meaning) PLAY_##name,
    PLAY_RACING_TABLE(PLAY_RACING_ROW)
#undef PLAY_RACING_ROW
};

// ---------------------------------------------------------------- what travels

typedef enum PlayPhase {
    PLAY_GATHERING, ///< Cars stand on the grid; more may come.
    PLAY_RUNNING,   ///< From `start` on.
    PLAY_FINISHED,  ///< The result is out; another round follows.
    PLAY_CLOSED,    ///< That was the last one.
    PLAY_PHASES,
} PlayPhase;

/// The race as its host tells it: the blob of an entity of kind PLAY_KIND_RACE.
typedef struct PlayRace {
    uint32_t round; ///< From 1 on; 0: nothing is known.
    PlayPhase phase;
    RacingCourse course;
    FlShowScheme show;
    int32_t laps, cars;
    int32_t races;               ///< Rounds; 0: without end.
    uint64_t seed;               ///< Of the grid.
    int64_t start;               ///< The tick at which it begins.
    int32_t number[PLAY_PLACES]; ///< The entity that has this place; -1: nobody.
} PlayRace;

/// A car as its owner tells it, besides where it is: its entity's blob.
typedef struct PlayCarStatus {
    uint32_t round;    ///< In which it is on the road.
    int32_t half_laps; ///< Halves of the course behind it, rounded down.
    FlTime finish_ns;  ///< As RacingCar, in whole microseconds.
    int32_t contacts, borders;
} PlayCarStatus;

#define PLAY_RACE_BYTES 58
#define PLAY_CAR_BYTES 14

void play_race_write(FlWriter *writer, const PlayRace *race);
void play_car_write(FlWriter *writer, const PlayCarStatus *status);

/// False, and nothing, for bytes that are never written.
FL_NODISCARD bool play_race_read(const uint8_t *bytes, int32_t count, PlayRace *race);
FL_NODISCARD bool play_car_read(const uint8_t *bytes, int32_t count, PlayCarStatus *status);

// ---------------------------------------------------------------- a node's match

/// A car of our own.
typedef struct PlayCar {
    int32_t number; ///< Of its entity.
    int32_t place;  ///< -1: none yet.
    uint32_t round; ///< It was put on this round's grid; 0: on none.
    uint32_t life;
    RacingCar car;
    FlTime told;  ///< Session time.
    FlShow own;   ///< As its driver sees it.
    FlShow guess; ///< As those see it who get everything at once.
} PlayCar;

/// Somebody else's car, by its place.
typedef struct PlayRival {
    FlEntityId entity;    ///< What all the rest is about.
    PlayCarStatus status; ///< Of round 0: none has come.
    bool shown;           ///< It is somewhere.
    uint32_t cuts;
    Jumps jumps;
    FlTime received_at;
    FlTime odd_since; ///< Progress as shown and as told differ since then; FL_FOREVER: they do not.
} PlayRival;

typedef struct PlayRacing {
    PlayRace race;
    RacingGame *game; ///< NULL until the race is known.
    FlShowDef show;
    RacingState view; ///< As players here see it: others as shown, own cars too.
    PlayCar own[PLAY_PLACES];
    PlayRival rivals[PLAY_PLACES];
    PlayCarStatus told[PLAY_PLACES]; ///< In this round, also of who has left since; round 0: no.
    FlDeltaControl control;          ///< With an adaptive delay.
    bool adaptive;

    PlayRace plan;       ///< Host: what it was told to hold; round 0.
    FlEntityId director; ///< Host: its entity.
    int64_t since;       ///< Host: the tick at which places or phase changed last.
} PlayRacing;

/// The word of a scheme.
const char *play_racing_scheme(FlShowScheme scheme);

static inline PlayRacing *play_racing_of(const PlayNode *node)
{
    return node->match;
}

/// Own car at a place; -1: somebody else's, or nobody's.
int32_t play_racing_own_at(const PlayNode *node, int32_t place);

/// What an own car tells.
PlayCarStatus play_racing_own_status(const PlayRacing *match, const PlayCar *own);

/// What is known of the car at a place in this round; who left keeps its finish. False: nothing.
bool play_racing_status(const PlayNode *node, int32_t place, PlayCarStatus *status);

/// Who has finished, in order; then who has not, by progress. Places, at most PLAY_PLACES.
int32_t play_racing_order(const PlayNode *node, int32_t order[PLAY_PLACES]);

// ---------------------------------------------------------------- play_racing_race.c: the host's

/// The host's part: places on the grid, start, result, next round. At every frame.
void play_race_direct(PlayNode *node, int64_t tick);

/// Everybody else's part: what the host says. At every frame.
void play_race_follow(PlayNode *node);

/// Takes the race as it is now: makes the course of a new round.
void play_race_adopt(PlayNode *node, const PlayRace *race);

// ---------------------------------------------------------------- play_racing_look.c: what is seen

/// Others' blobs, checked, and the pictures of their cars, once a frame.
void play_racing_look(PlayNode *node, FlTime now);

/// Puts everybody into the view as seen at a session time.
void play_racing_show(PlayNode *node, FlTime time);

/// Messages about the group's delay.
void play_racing_hear(PlayNode *node, const FlEvent *event);
void play_racing_tell(PlayNode *node);

// ---------------------------------------------------------------- play_racing_report.c: for people

bool play_racing_draw(const PlayNode *node, PlayPicture *picture);
int32_t play_racing_seen(const PlayNode *node);
json_t *play_racing_map(const PlayNode *node);
json_t *play_racing_json(const PlayNode *node, int32_t own);
void play_racing_node_json(const PlayNode *node, json_t *object);
void play_racing_sum_json(PlayNode *const *nodes, int32_t count, json_t *object);
void play_racing_sum_line(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                          size_t size);

#endif
