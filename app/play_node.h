// One node of a networked game of tanks: a session on a socket, the tanks that are its own, and
// what it sees of the others. `serve`, `join`, `bots` and `watch` run one or many of them.
//
//     datagrams ──▶ session ──▶ notices, events, poses ──▶ look ──▶ bots and keys decide
//         ▲                                                              │
//         └── events, states, blobs ◀── judge ◀── step, tick by tick ◀───┘
//
// How the game travels. A tank is an entity of kind PLAY_KIND_TANK, and its id is the entity's
// number: the host gives every member an equal share of the 256 numbers, so ids are unique without
// asking. Its blob is a TanksStatus; every spawn is a cut, so the entity's life and the tank's are
// the same number. A shot is told to all, unordered; every node lets it fly. The victim's node
// alone judges a hit, by the victim's true poses (also those of a moment ago: shots arrive late);
// it tells all of the kill, in order, and the killer's node counts it.
//
// Whatever a peer says is checked and counted (PlayChecks), never asserted on.
#ifndef APP_PLAY_NODE_H
#define APP_PLAY_NODE_H

#include "fairlead/fairlead.h"
#include "tanks/tanks.h"

#define PLAY_KIND_TANK 1
#define PLAY_OWN_MAX 32  ///< Tanks of one node.
#define PLAY_HISTORY 128 ///< Ticks of own poses that are remembered: two seconds.
#define PLAY_SHOTS 1024  ///< Known to fly at once.
#define PLAY_OUTBOX 128  ///< Events that wait for the session's queue.

// ---------------------------------------------------------------- what must hold

/// X(name, meaning). All of them stay 0, or something is broken.
#define PLAY_FAULT_TABLE(X)                                                                        \
    X(time_backwards, "session time went back")                                                    \
    X(outside_arena, "a tank was shown further outside than its speed explains")                   \
    X(old_life, "a tank's blob went back to an earlier life")                                      \
    X(killed_twice, "one life was told to have ended twice")                                       \
    X(end_untold, "a life ended, and nobody told of it")                                           \
    X(end_unseen, "a life was told to have ended, and went on")                                    \
    X(bad_event, "an event that nobody encodes")                                                   \
    X(bad_status, "a blob that nobody encodes")                                                    \
    X(kill_lost, "a kill that could not be told")                                                  \
    X(set_refused, "a state of ours that the session refused")

/// What a node found wrong, by kind; and figures that are no faults.
typedef struct PlayChecks {
#define PLAY_FAULT_ROW(name, meaning) uint64_t name;
    PLAY_FAULT_TABLE(PLAY_FAULT_ROW)
#undef PLAY_FAULT_ROW
    uint64_t deaths_applied; ///< Of own tanks,
    uint64_t kills_told;     ///< and told to everybody: the same, but for what waits in the outbox.
    uint64_t kills_heard;
    uint64_t shots_told, shots_heard;
    uint64_t shots_dropped; ///< Told or heard with no room for them.
    uint64_t
        events_rejected; ///< Not the sender's to tell, or too old: the peer's mistake, or late.
    uint64_t looks;      ///< At other tanks that are alive.
    uint64_t ticks, ticks_skipped;
    double outside_worst; ///< Units beyond the wall at which a tank was shown; 0: never.
} PlayChecks;

/// Faults altogether.
uint64_t play_checks_faults(const PlayChecks *checks);

/// Adds `more` to `sum`.
void play_checks_add(PlayChecks *sum, const PlayChecks *more);

// ---------------------------------------------------------------- tanks

typedef struct PlayPast {
    int64_t tick; ///< 0: nothing here (no tank moves before tick 1).
    TanksSeen seen;
} PlayPast;

/// A tank of our own.
typedef struct PlayOwn {
    FlEntityId entity; ///< {0} until it is there.
    TanksTank tank;
    TanksBot bot;
    bool keys;   ///< The player drives it.
    FlTime born; ///< Session time.
    PlayPast past[PLAY_HISTORY];
} PlayOwn;

/// Somebody else's tank, by its id.
typedef struct PlayOther {
    FlEntityId entity; ///< What all the rest is about.
    TanksStatus status;
    bool known;          ///< A blob has come.
    uint32_t first_life; ///< The first blob's: of later lives we must hear how they end.
    uint32_t ended;      ///< The newest life that we were told has ended.
    uint32_t ends_heard; ///< Of lives after first_life.
    FlTime odd_since;    ///< Blob and kills disagree since then (session time); FL_FOREVER: no.
} PlayOther;

typedef struct PlayMessage {
    uint8_t bytes[TANKS_EVENT_BYTES_MAX];
    int32_t count;
    TanksEventKind kind;
} PlayMessage;

// ---------------------------------------------------------------- the node

typedef struct PlayNodeDef {
    FlSessionDef session; ///< What seal_server and token point to is read at creation.
    FlNet *net;           ///< The node's own from now on, also if creation fails.
    FlSend policy;
    int32_t tank_count; ///< Own tanks; 0 to PLAY_OWN_MAX.
    bool keys;          ///< The first one is the player's; the others are bots'.
    uint64_t seed;      ///< Of the bots.
    int32_t frame_hz;   ///< The game goes on so often, with as many ticks as are due.
} PlayNodeDef;

typedef struct PlayNode {
    TanksWorld world;
    FlSession *session;
    FlNet *net;
    FlSend policy;
    uint64_t seed;
    FlTime created;
    FlTime join_timeout;
    FlTime frame_ns, next_frame;
    bool joined; ///< It has been running.
    bool left;

    int64_t tick; ///< Own tanks are there; -1: the time is not known yet.
    int32_t own_count;
    PlayOwn own[PLAY_OWN_MAX];
    TanksInput input; ///< The player's, as the keys are now.

    TanksSeen seen[TANKS_CAPACITY]; ///< By id, as looked at last.
    PlayOther others[TANKS_CAPACITY];
    int32_t tank_count; ///< Ids in use are below this.
    TanksShot shots[PLAY_SHOTS];
    int64_t judged[PLAY_SHOTS]; ///< Up to this tick, by the slot of the shot.
    int32_t shot_count;

    PlayMessage outbox[PLAY_OUTBOX];
    int32_t outbox_first, outbox_count;

    PlayChecks checks;
    FlTime time_last; ///< Session time when last looked at.
    int32_t peers_peak;
    uint64_t peers_joined, peers_left, host_changes;
} PlayNode;

/// Makes the node; it starts to join at the first step. NULL after an error.
/// Errors: as fl_session_create.
FL_NODISCARD FlResult play_node_create(const PlayNodeDef *def, PlayNode **out);

/// NULL is ignored. Says nothing to anybody: leave first.
void play_node_destroy(PlayNode *node);

/// Everything that is due: datagrams in, the game, datagrams out.
void play_node_step(PlayNode *node);

/// When to step again, if nothing comes in before.
FlTime play_node_deadline(PlayNode *node, FlTime now);

/// Says goodbye. Once is enough.
void play_node_leave(PlayNode *node);

/// 0 while it joins or runs; otherwise the exit status: EXIT_BAD_INPUT if the host refused us,
/// EXIT_FAILED if it never answered or is gone. fl_session_trouble says why.
int play_node_status(const PlayNode *node);

/// What to draw: the player's tank, or a spectator's view. Everybody's seen tanks, close together:
/// `dense` has room for TANKS_CAPACITY.
TanksView play_node_view(const PlayNode *node, TanksSeen *dense, TanksTank *own);

// ---------------------------------------------------------------- play_game.c: the node's game

/// All ticks up to `now`: own tanks are made, driven, judged, told of.
void play_game_step(PlayNode *node, FlTime now);

/// Events that came in, and those that wait to go out.
void play_game_hear(PlayNode *node);
void play_game_tell(PlayNode *node);

// ---------------------------------------------------------------- play_look.c: what it sees

/// Where everybody else is now, checked.
void play_look(PlayNode *node, FlTime now);

/// A peer told that a life of a tank has ended.
void play_look_kill(PlayNode *node, const TanksEvent *kill);

/// The host changed: events under way through it are lost, so ends need not have been told.
void play_look_forgive(PlayNode *node);

#endif
