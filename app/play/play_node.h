// One node of a networked game: a session on a socket, the things that are its own (tanks, cars),
// and what it sees of the others. `serve`, `join`, `bots` and `watch` run one or many of them.
//
//     datagrams ──▶ session ──▶ notices, events, poses ──▶ look ──▶ bots and keys decide
//         ▲                                                              │
//         └────── events, states, blobs ◀────── step, tick by tick ◀─────┘
//
// What is inside these steps is the game's: play_game.h.
#ifndef APP_PLAY_NODE_H
#define APP_PLAY_NODE_H

#include "app/play/play_game.h"
#include "app/tape/play_port.h"

#define PLAY_OWN_MAX 32       ///< Things of one node.
#define PLAY_MEMBERS_MAX 4097 ///< As many as any session has.

/// A thing of our own.
typedef struct PlayOwn {
    FlEntityId entity; ///< {0} until it is there.
    char name[8];      ///< By which people know it.
    bool keys;         ///< The player drives it.
    FlTime born;       ///< Session time.
} PlayOwn;

typedef struct PlayNodeDef {
    const PlayGame *game;
    const PlayRules *rules; ///< NULL: a guest. Read at creation.
    const PlayNode *kin;  ///< Of the same game, and lives longer: what never changes may be shared.
                          ///< NULL: there is none.
    FlSessionDef session; ///< What seal_server and token point to is read at creation.
    PlayPort port;        ///< Its socket is the node's from now on, also if creation fails.
    FlSend policy;
    int32_t own_count; ///< 0 to PLAY_OWN_MAX.
    bool keys;         ///< The first one is the player's; the others are bots'.
    uint64_t seed;     ///< Of the bots.
    int32_t frame_hz;  ///< The game goes on so often, with as many ticks as are due.
} PlayNodeDef;

struct PlayNode {
    const PlayGame *game;
    const PlayNode *kin;
    void *match; ///< The game's.
    FlSession *session;
    PlayPort port;
    FlSend policy;
    uint64_t seed;
    FlTime created;
    FlTime now; ///< Of the last step.
    FlTime join_timeout;
    FlAddress host; ///< Whom it joins; of no meaning to a host.
    FlTime frame_ns, next_frame;
    bool joined; ///< It has been running.
    bool left;

    int64_t tick; ///< Own things are there; -1: the time is not known yet.
    int32_t own_count;
    PlayOwn own[PLAY_OWN_MAX];
    PlayKeys keys; ///< The player's, as they are now.

    PlayChecks checks;
    FlTime time_last; ///< Session time when last looked at.
    int32_t peers_peak;
    uint64_t peers_joined, peers_left, host_changes;
    bool never_reached[PLAY_MEMBERS_MAX]; ///< By number: should be reached directly, and never was.
    int32_t never_met; ///< Those who are there, and those who left with a goodbye.
};

/// Makes the node; it starts to join at the first step. NULL after an error.
/// Errors: as fl_session_create.
FL_NODISCARD FlResult play_node_create(const PlayNodeDef *def, PlayNode **out);

/// NULL is ignored. Says nothing to anybody: leave first.
void play_node_destroy(PlayNode *node);

/// Everything that is due: datagrams in, the game, datagrams out.
void play_node_step(PlayNode *node);

/// Another policy for all own things, those to come included.
void play_node_policy(PlayNode *node, const FlSend *policy);

/// When to step again, if nothing comes in before.
FlTime play_node_deadline(PlayNode *node, FlTime now);

/// Says goodbye. Once is enough.
void play_node_leave(PlayNode *node);

/// 0 while it joins or runs; otherwise the exit status: EXIT_BAD_INPUT if the host refused us,
/// EXIT_FAILED if it never answered or is gone. fl_session_end_text says why.
int play_node_status(const PlayNode *node);

// ---------------------------------------------------------------- for games

/// Adds one to a count (PLAY_…, or the game's) unless `good`.
static inline void play_expect(PlayNode *node, int32_t count, bool good)
{
    node->checks.count[count] += good ? 0 : 1;
}

/// Adds one to a count.
static inline void play_tally(PlayNode *node, int32_t count)
{
    node->checks.count[count]++;
}

/// Session time of a tick; and the last tick at or before a session time.
FlTime play_tick_time(const PlayNode *node, int64_t tick);
int64_t play_tick_at(const PlayNode *node, FlTime time);

/// The entity of an own thing, with the node's policy and the game's `def`; its number is the
/// answer, -1: not yet.
int32_t play_own_make(PlayNode *node, int32_t own, FlEntityDef def);

/// Hands in the truth about an own thing at node->tick.
void play_own_set(PlayNode *node, int32_t own, FlState state);

/// The blob of an entity of ours, as it was written.
void play_blob_set(PlayNode *node, FlEntityId id, const FlWriter *writer);

static inline bool play_own_there(const PlayNode *node, int32_t own)
{
    return node->own[own].entity.index1 != 0;
}

static inline bool play_same_entity(FlEntityId a, FlEntityId b)
{
    return a.index1 == b.index1 && a.generation == b.generation;
}

#endif
