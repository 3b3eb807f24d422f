// Tanks over a session: what the files of this game share. See play_tanks.c.
#ifndef APP_PLAY_TANKS_H
#define APP_PLAY_TANKS_H

#include "app/play/play_node.h"
#include "tanks/tanks.h"

#define PLAY_HISTORY 128 ///< Ticks of own poses that are remembered: two seconds.
#define PLAY_SHOTS 1024  ///< Known to fly at once.
#define PLAY_OUTBOX 128  ///< Events that wait for the session's queue.

/// X(NAME, word, fault, meaning)
#define PLAY_TANKS_TABLE(X)                                                                        \
    X(OUTSIDE_ARENA, "outside_arena", true, "shown further outside than its speed explains")       \
    X(OLD_LIFE, "old_life", true, "a tank's status went back to an earlier life")                  \
    X(KILLED_TWICE, "killed_twice", true, "one life was told to have ended twice")                 \
    X(END_UNTOLD, "end_untold", true, "a life ended, and nobody told of it")                       \
    X(END_UNSEEN, "end_unseen", true, "a life was told to have ended, and went on")                \
    X(KILL_LOST, "kill_lost", true, "a kill that could not be told")                               \
    X(DEATHS_APPLIED, "deaths_applied", false, "of own tanks,")                                    \
    X(KILLS_TOLD, "kills_told", false, "the same, but for what waits in the outbox")               \
    X(KILLS_HEARD, "kills_heard", false, "of others' tanks")                                       \
    X(SHOTS_TOLD, "shots_told", false, "own")                                                      \
    X(SHOTS_HEARD, "shots_heard", false, "others'")                                                \
    X(SHOTS_DROPPED, "shots_dropped", false, "told or heard with no room for them")

enum {
    PLAY_TANKS_BEFORE = PLAY_COUNT_COMMON - 1,
#define PLAY_TANKS_ROW(name, word, fault, meaning) PLAY_##name,
    PLAY_TANKS_TABLE(PLAY_TANKS_ROW)
#undef PLAY_TANKS_ROW
        PLAY_TANKS_END
};

typedef struct PlayPast {
    int64_t tick; ///< 0: nothing here (no tank moves before tick 1).
    TanksSeen seen;
} PlayPast;

/// A tank of our own.
typedef struct PlayTank {
    TanksTank tank;
    TanksBot bot;
    bool driven; ///< By a player who sends inputs, `player` (play_tanks_served.c).
    FlPeerId player;
    uint32_t told; ///< Driven: the life that others know of.
    PlayPast past[PLAY_HISTORY];
} PlayTank;

/// Somebody else's tank, by its id.
typedef struct PlayOther {
    FlEntityId entity; ///< What all the rest is about.
    TanksStatus status;
    bool known;          ///< A status has come.
    uint32_t first_life; ///< The first status's: of later lives we must hear how they end.
    uint32_t ended;      ///< The newest life that we were told has ended.
    uint32_t ends_heard; ///< Of lives after first_life.
    FlTime odd_since;    ///< Blob and kills disagree since then (session time); FL_FOREVER: no.
} PlayOther;

typedef struct PlayMessage {
    uint8_t bytes[TANKS_EVENT_BYTES_MAX];
    int32_t count;
    TanksEventKind kind;
} PlayMessage;

/// A node's match.
typedef struct PlayTanks {
    TanksWorld world;
    PlayTank own[PLAY_OWN_MAX];
    TanksSeen seen[TANKS_CAPACITY]; ///< By id, as looked at last.
    PlayOther others[TANKS_CAPACITY];
    int32_t tank_count; ///< Ids in use are below this.
    TanksShot shots[PLAY_SHOTS];
    int64_t judged[PLAY_SHOTS]; ///< Up to this tick, by the slot of the shot.
    int32_t shot_count;
    PlayMessage outbox[PLAY_OUTBOX];
    int32_t outbox_first, outbox_count;
} PlayTanks;

static inline PlayTanks *play_tanks_of(const PlayNode *node)
{
    return node->match;
}

// ---------------------------------------------------------------- play_tanks.c

FlResult play_tanks_open(PlayNode *node, const PlayRules *rules);
FlResult play_tanks_ready(PlayNode *node);
void play_tanks_close(PlayNode *node);
bool play_tanks_make(PlayNode *node, int32_t own);
void play_tanks_tick(PlayNode *node);
void play_tanks_skip(PlayNode *node);
void play_tanks_hear(PlayNode *node, const FlEvent *event);
void play_tanks_tell(PlayNode *node);
uint64_t play_tanks_differs(const PlayNode *node);
extern const PlayCount play_tanks_counts[];

/// What a tank of ours wants: by keys or its bot.
TanksInput play_tanks_decide(PlayNode *node, int32_t own);

/// A shot that is known here from now on, once; and the same, which others are to know.
void play_tanks_add_shot(PlayNode *node, const TanksEvent *event);
void play_tanks_fired(PlayNode *node, const TanksEvent *shot);

/// Judges shots up to the present tick, and forgets those that are over.
void play_tanks_fly(PlayNode *node);

// ---------------------------------------------------------------- play_tanks_look.c: what is seen

/// Where everybody else is now, checked.
void play_tanks_look(PlayNode *node, FlTime now);

/// A peer told that a life of a tank has ended.
void play_tanks_kill(PlayNode *node, const TanksEvent *kill);

/// Ends need not have been told.
void play_tanks_forgive(PlayNode *node);

// ---------------------------------------------------------------- play_tanks_report.c: for people

bool play_tanks_draw(const PlayNode *node, PlayPicture *picture);
int32_t play_tanks_seen(const PlayNode *node);
json_t *play_tanks_map(const PlayNode *node);
int32_t play_tanks_state(const PlayNode *node, uint32_t number);
json_t *play_tanks_dots(const PlayNode *node, FlTime now);
int32_t play_tanks_waiting(const PlayNode *node); ///< Kills in the outbox.
json_t *play_tanks_json(const PlayNode *node, int32_t own);
void play_tanks_sum_json(PlayNode *const *nodes, int32_t count, json_t *object);
void play_tanks_sum_line(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                         size_t size);

#endif
