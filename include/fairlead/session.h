// fairlead/session.h: the game's side of it all.
//
// A session is one host and those who joined it. It owns no algorithm: it carries entities' updates
// through the rooms (motion, send, link, clock, show) and back. It does no I/O: datagrams go in by
// fl_session_receive and come out of fl_session_next; the time is always told.
//
//     while (playing) {
//         fl_run_receive(net, session); // or your own transport, and fl_session_receive
//         FlTime now = fl_net_now();
//         fl_entity_set(session, tank, &state); // the truth; Fairlead decides who must hear of it
//         fl_run_send(net, session, now);       // or fl_session_next, and your own transport
//         fl_entity_pose(session, other, now, &pose); // where the other one is
//         fl_net_wait(net, fl_session_deadline(session, now));
//     }
//
// Not encrypted yet: anybody who can reach the port can join, and who can read the wire can talk
// for others.
//
// Threads: sessions share nothing; one thread at a time per session.
#ifndef FAIRLEAD_SESSION_H
#define FAIRLEAD_SESSION_H

#include "fairlead/base.h"
#include "fairlead/clock.h"
#include "fairlead/link.h"
#include "fairlead/motion.h"
#include "fairlead/send.h"
#include "fairlead/show.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- making one

typedef enum FlRole {
    FL_ROLE_HOST,   ///< Lets others join; its clock is the session's.
    FL_ROLE_CLIENT, ///< Joins a host.
} FlRole;

typedef struct FlSessionDef {
    FlRole role;
    FlAddress host;          ///< Client: whom to join.
    FlWorldDef world;        ///< The same at all peers, or they do not understand each other.
    FlLinkDef link;          ///< For every link of this session.
    int32_t peer_capacity;   ///< Host: players that can join. Client: 1.
    int32_t entity_capacity; ///< Entities known here at once, own and others'.
    FlTimeMode time_mode;    ///< By which clock others' updates are placed here.
    FlTime join_every_ns;    ///< Client: ask this often until the host answers,
    FlTime join_timeout_ns;  ///< and give up after this.
    uint64_t seed; ///< For nonces and conversation numbers: random, and new for every session.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_session_def_default(); leave alone.
} FlSessionDef;

/// Right for a small action game: 16 players, 64 entities known at once, joining for 5 s.
FL_API FlSessionDef fl_session_def_default(void);

typedef struct FlSession FlSession;

/// Reserves everything the session will ever use but its links, which are made as peers join.
/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (world, link or settings out of range; fl_world_def_problem
/// says what of the world).
FL_API FL_NODISCARD FlResult fl_session_create(const FlSessionDef *def, FlTime now,
                                               FlSession **session);
FL_API void fl_session_destroy(FlSession *session);

// ---------------------------------------------------------------- datagrams and time

/// A datagram came in. Whatever it is, it is taken or counted.
FL_API void fl_session_receive(FlSession *session, FlAddress from, const void *bytes, int32_t count,
                               FlTime arrival);

/// A datagram to go out.
typedef struct FlOutgoing {
    FlAddress to;
    const uint8_t *bytes; ///< Valid until the next call on the session.
    int32_t count;
} FlOutgoing;

/// The next datagram to send now; call it until it answers FL_NOT_FOUND. Time-outs are noticed
/// here.
FL_API FL_NODISCARD FlResult fl_session_next(FlSession *session, FlTime now, FlOutgoing *out);

/// When fl_session_next must be called again at the latest, if nothing else happens before.
FL_API FlTime fl_session_deadline(FlSession *session, FlTime now);

typedef enum FlSessionState {
    FL_SESSION_JOINING, ///< Client: not answered yet.
    FL_SESSION_RUNNING,
    FL_SESSION_ENDED, ///< Client: no answer, refused, or the host is gone. fl_session_trouble says
                      ///< why.
} FlSessionState;

FL_API FlSessionState fl_session_state(const FlSession *session);

/// Why a session ended, with what to look at: several lines for people. "" while nothing is wrong.
FL_API const char *fl_session_trouble(const FlSession *session);

/// Session time at `now`; the same at all peers, to within fl_session_time_error. 0 until it runs.
FL_API FlTime fl_session_time(const FlSession *session, FlTime now);

/// 99.9 % bound on how far session time here is from the host's (symmetric paths). FL_FOREVER until
/// known.
FL_API FlTime fl_session_time_error(const FlSession *session);

// ---------------------------------------------------------------- entities

/// Names one entity of a session. Pass by value; {0} names none. Stays safe after the entity is
/// gone.
typedef struct FlEntityId {
    uint32_t index1; ///< Slot plus one.
    uint32_t generation;
} FlEntityId;

typedef struct FlEntityDef {
    FlModel model; ///< As FlExporterDef.
    FlTriggerDef trigger;
    FlSend send;
    uint32_t cookie; ///< Set by fl_entity_def_default(); leave alone.
} FlEntityDef;

/// Right for an action game in metres: automatic model, 0.1 m, 0.05 rad, once a second, base,
/// global time.
FL_API FlEntityDef fl_entity_def_default(void);

/// A new entity of ours. Others hear of it with its first state.
/// Errors: FL_FULL (entities of this peer, or known here, are used up), FL_WOULD_BLOCK (not joined
/// yet), FL_STALE_ID (the session has ended).
FL_API FL_NODISCARD FlResult fl_entity_create(FlSession *session, const FlEntityDef *def,
                                              FlEntityId *id);

/// The truth about an entity of ours; `state->time` is on the caller's clock. Call it every frame.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (not finite, not ours, or going back in time); FL_WOULD_BLOCK
/// (session time is not known yet).
FL_API FL_NODISCARD FlResult fl_entity_set(FlSession *session, FlEntityId id, const FlState *state);

/// A respawn or teleport of an entity of ours: nothing is predicted across it. Errors: FL_STALE_ID,
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_entity_cut(FlSession *session, FlEntityId id);

/// Where an entity is at `now` (caller's clock): ours as last exported, others' as placed here.
/// Errors: FL_STALE_ID; FL_NOT_FOUND (nothing known of it yet).
FL_API FL_NODISCARD FlResult fl_entity_pose(const FlSession *session, FlEntityId id, FlTime now,
                                            FlPose *pose);

/// The entities known here, ours included: pass {0} for the first, the last answer for the next.
/// {0} after the last.
FL_API FlEntityId fl_entity_next(const FlSession *session, FlEntityId after);

FL_API bool fl_entity_is_ours(const FlSession *session, FlEntityId id);

/// The number by which all peers know an entity. 0 and FL_STALE_ID if it is gone.
FL_API FL_NODISCARD FlResult fl_entity_number(const FlSession *session, FlEntityId id,
                                              uint32_t *number);

// ---------------------------------------------------------------- peers

/// How many peers there are now: those who joined us, or the host.
FL_API int32_t fl_session_peer_count(const FlSession *session);

/// Statistics of the i-th peer's link, 0 <= i < fl_session_peer_count.
FL_API FL_NODISCARD FlResult fl_session_peer_stats(const FlSession *session, int32_t peer,
                                                   FlTime now, FlLinkStats *stats);

/// A reliable message to the i-th peer. Errors: as fl_link_send; FL_NOT_FOUND (no such peer).
FL_API FL_NODISCARD FlResult fl_session_send(FlSession *session, int32_t peer, FlDelivery delivery,
                                             const void *bytes, int32_t count);

/// The next message from any peer. Errors: FL_NOT_FOUND, FL_FULL (buffer too small; *count says how
/// much it takes).
FL_API FL_NODISCARD FlResult fl_session_take(FlSession *session, void *buffer, int32_t capacity,
                                             int32_t *count, int32_t *peer);

// ---------------------------------------------------------------- counters

/// X(name, word, meaning)
#define FL_SESSION_COUNT_TABLE(X)                                                                  \
    X(UPDATES_SENT, "updates_sent", "updates put into packets, once per receiver")                 \
    X(UPDATES_TAKEN, "updates_taken", "updates received and shown")                                \
    X(UPDATES_OVERTAKEN, "updates_overtaken", "updates received again, or after a newer one")      \
    X(UPDATES_WIDE, "updates_wide", "own updates with a value outside the world")                  \
    X(STRANGER, "stranger", "datagrams dropped: from nobody we know")                              \
    X(MALFORMED, "malformed", "payloads dropped: no sender writes that")                           \
    X(FOREIGN, "foreign", "updates dropped: the entity is not the sender's")                       \
    X(NO_ROOM, "no_room", "updates dropped: too many entities known")                              \
    X(JOINS_SENT, "joins_sent", "join requests sent")                                              \
    X(BAD_JOIN, "bad_join", "join datagrams dropped: malformed or not for us")                     \
    X(REFUSED, "refused", "join requests refused: full, or another world")                         \
    X(OUT_OF_MEMORY, "out_of_memory", "join requests not answered: no memory for a link")

typedef enum FlSessionCount {
#define FL_SESSION_COUNT_ROW(name, word, meaning) FL_SESSION_##name,
    FL_SESSION_COUNT_TABLE(FL_SESSION_COUNT_ROW)
#undef FL_SESSION_COUNT_ROW
        FL_SESSION_COUNTS
} FlSessionCount;

FL_API uint64_t fl_session_count(const FlSession *session, FlSessionCount which);
FL_API const char *fl_session_count_name(FlSessionCount which);

#endif
