// fairlead/fairlead.h: the game's API, in the order in which a game needs it.
//
// Your game says where its things are; Fairlead decides which player gets which update and when,
// shows everybody else's things where they are now, and keeps all views consistent.
//
// A *session* is one host and those who joined it, its *peers*. Every peer owns *entities*: it
// hands in their state, all others read their pose. A whole game:
//
//     FlSessionDef def = fl_session_def_default(); // 16 players, sealed, a UDP socket of its own
//     FlError error;                               // a code and a sentence
//     FlSession *session = guest ? fl_session_join(&def, invite, &error)
//                                : fl_session_host(&def, &error);
//     FlEntityId tank = fl_entity_create(session, NULL); // valid at once
//     while (fl_session_running(session)) {
//         FlTime now = fl_session_pump(session, FL_MS(10)); // sends, waits, receives
//         FlState state = drive(now);
//         fl_entity_set(session, tank, &state);
//         FlPose pose;
//         for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
//             if (fl_entity_pose(session, id, &pose)) {
//                 draw(&pose);
//             }
//         }
//     }
//     puts(fl_session_end_text(session)); // why it ended
//     fl_session_close(session);
//
// Which of event, state, fields, input, action, call and timeline to use: docs/guide/which.md.
// The way of one update:
//
//   game - state -> motion - trigger -> send - to whom, when -> packet -> link -> seal -> net ==>
//   net -> seal -> link -> packet -> show - pose -> game
//
// Rules that hold for every function here:
//
//   - The session comes first; where the time is needed it comes second, on the caller's clock:
//     what fl_session_pump returned last. Ids go by value, {0} is none, and an old one is safe.
//   - `take` takes the oldest from a queue, `next` iterates, `get` and `set` read and write.
//   - A pointer that a function gives out is valid until the next call on that session.
//   - Text and bytes that you pass in are copied.
//   - Functions that can fail answer an FlResult, which means the same everywhere:
//
//       FL_OK           done
//       FL_BAD_VALUE    a mistake in the call: correct it
//       FL_STALE_ID     the peer, entity or session is over: drop the id
//       FL_NOT_FOUND    nothing is there (now): the end of a queue, nothing known yet
//       FL_WOULD_BLOCK  not now: we are not in yet, or a queue is full; try again next frame
//       FL_FULL         a capacity of the definition is used up
//       FL_REPLAYING    a timeline plays: do it outside of its step
//
//     fl_result_text has a sentence for each.
//   - While joining (fl_session_state: FL_SESSION_JOINING) entities may be created, set, given a
//     state blob and destroyed: it all takes effect when we are in. Reading works, and finds
//     nothing. Events, calls, inputs and actions answer FL_WOULD_BLOCK.
//   - After the end (fl_session_running is false) reading still works; what changes something
//     answers FL_STALE_ID.
//
// Types that several modules share, in short (fairlead/base.h, motion.h, link.h, call.h):
//
//   FlTime      nanoseconds; FL_MS(10), FL_SEC(1); fl_span_seconds(b - a) is a double
//   FlVec3      {x, y, z}; fl_vec3_distance(a, b) and the like; metres, +z is up
//   FlState     {.time, .position, .velocity, .acceleration, .turn_rate, .facing}: where a thing of
//               ours truly is. What is left out is zero; .facing = fl_facing_yaw(yaw, yaw_rate)
//   FlPose      {.position, .velocity, .yaw, .rotation}: where a thing is shown
//   FlDelivery  FL_DELIVERY_ORDERED, FL_DELIVERY_UNORDERED, FL_DELIVERY_QUICKEST
//   FlCallDef   {.kind, .bytes, .count}: a call; kinds of your own count from FL_CALL_OWN up
//
// Where a server decides: fairlead/predict.h (players send inputs, and are predicted) and
// fairlead/rewind.h (shots judged by the shooter's screen); docs/guide/authority.md. Behind this
// door: fairlead/session.h (your own transport and clock, what others see, attention, guidance,
// crowds) and fairlead/<module>.h for those who use one module beside their own netcode.
//
// Threads: sessions share nothing; one thread at a time per session.
#ifndef FAIRLEAD_FAIRLEAD_H
#define FAIRLEAD_FAIRLEAD_H

#include "fairlead/fields.h"
#include "fairlead/tuning.h"

// ---------------------------------------------------------------- version

/// The library's version. While it starts with 0, every minor version may change the API and the
/// ABI: the shared library's soname has both numbers. From 1.0 on only a major one will.
#define FL_VERSION_MAJOR 0
#define FL_VERSION_MINOR 1
#define FL_VERSION_PATCH 0

/// Peers understand each other if these are equal; it is part of every join.
#define FL_VERSION_WIRE 4

/// The version of the library that runs: major * 10000 + minor * 100 + patch.
FL_API int32_t fl_version(void);

// ---------------------------------------------------------------- ids

/// Names one peer of a session.
typedef struct FlPeerId {
    uint32_t index1; ///< Its number in the session plus one.
    uint32_t generation;
} FlPeerId;

/// Names one entity of a session.
typedef struct FlEntityId {
    uint32_t index1; ///< Slot plus one.
    uint32_t generation;
} FlEntityId;

// ---------------------------------------------------------------- definition

/// Who talks to whom.
typedef enum FlTopology {
    FL_TOPOLOGY_STAR, ///< Everybody with the host, which relays.
    FL_TOPOLOGY_MESH, ///< Introduced peers directly; those who cannot reach each other do not meet.
    FL_TOPOLOGY_HYBRID, ///< Directly where it works, through the host where it does not.
    FL_TOPOLOGY_CROWD,  ///< Many players over few light connections (module `crowd`); the host
                        ///< introduces only.
} FlTopology;

typedef enum FlRole {
    FL_ROLE_HOST,   ///< Lets others join; its clock is the session's.
    FL_ROLE_CLIENT, ///< Joins a host.
} FlRole;

/// A datagram to go out.
typedef struct FlOutgoing {
    FlAddress to;
    const uint8_t *bytes;
    int32_t count;
} FlOutgoing;

/// A datagram that came in.
typedef struct FlIncoming {
    FlAddress from;
    const uint8_t *bytes; ///< Valid until the transport's next call.
    int32_t count;
    FlTime arrival; ///< On the transport's clock; as early as it is known.
} FlIncoming;

/// No datagram of a session is longer.
#define FL_SESSION_DATAGRAM_BYTES 1225

/// Carries datagrams in place of our UDP socket: over Steam, WebRTC, ENet
/// (docs/guide/transport.md). Unreliable and unordered is best. Where others are known by ids of 64
/// bits, put them into FlAddress.ip and set a family.
typedef struct FlTransport {
    void (*send_fn)(void *ctx, const FlOutgoing *datagram);
    bool (*receive_fn)(void *ctx, FlIncoming *datagram); ///< False: none waits.
    FlTime (*wait_fn)(void *ctx, FlTime until); ///< Waits until then or until a datagram may wait,
                                                ///< whichever is first; a past time: not at all.
                                                ///< Returns the time, of a clock that never runs
                                                ///< back.
    void *ctx;
    FlAddress self; ///< Where others reach us: written into invites.
} FlTransport;

/// Names have at most so many bytes of UTF-8, the closing zero included.
#define FL_NAME_BYTES 32

/// What a player may say about itself besides its name, in bytes.
#define FL_ABOUT_BYTES 192

typedef struct FlSessionDef {
    // What is played, the same at all peers.
    FlWorldDef world;
    int32_t peer_capacity;   ///< Peers besides the host; 1 to 4096, below world.entity_capacity.
    int32_t entity_capacity; ///< Entities known here at once, own and others'.
    int32_t member_entities; ///< Of these, so many at most of each member but the host. Everybody
                             ///< who is there can always have an even share.
    int32_t input_bytes;     ///< Of one player's input for one tick, at most 64; 0: no inputs.
    bool inputs_to_host;     ///< Inputs go to the host only, which relays none.
    int32_t input_ticks;     ///< Ticks of it that are remembered, and may be under way. A power of
                             ///< two, at most 4096. A limit, too: whoever is so many ticks behind
                             ///< is sent away (FL_LEFT_BEHIND), so make it longer than a pause that
                             ///< a player may take; default 1024: 17 s at 60 ticks a second.
    int32_t action_capacity; ///< Actions that wait to be played at once, shared out evenly among
                             ///< all who are there; 0: no actions. At most 63 peers besides the
                             ///< host then.

    FlTime rewind_ns; ///< How far back fl_rewind_to goes (fairlead/rewind.h), the same at all
                      ///< peers; FL_REWIND_MOST_NS at most. 1 s suits a shooter: it takes 6 KB of a
                      ///< judge for each entity and receiver. 0: nothing is kept for it.

    // Ourselves.
    const char *name;     ///< All see it (FlPeerStatus.name). NULL: none. At most FL_NAME_BYTES.
    const void *about_me; ///< The game's own bytes, for the host's eyes (skin, rank, a ticket):
    int32_t about_bytes;  ///< so many, at most FL_ABOUT_BYTES.

    // The network.
    FlTopology topology;          ///< Who talks to whom: the host's word counts. A client reserves
                                  ///< connections by its own: say the same at all peers.
    const char *address;          ///< Where our socket listens: "0.0.0.0:4000". NULL: any port.
    const FlTransport *transport; ///< In place of a socket; copied. NULL: a UDP socket.
    bool plain; ///< Nothing is sealed, and whoever reaches the port can join: for the lab, and for
                ///< transports that have a protection of their own.
    bool approve; ///< Host: newcomers wait until fl_peer_admit (FL_NOTICE_PEER_ASKS), a minute at
                  ///< most.
    double upload_bytes_s;  ///< What may go out in all, over all connections and with all headers,
                            ///< in any second; at least 1000. 0: as congestion allows.
    FlTime timeout_ns;      ///< A peer from whom nothing came for so long is gone; at most 30 min.
    FlTime join_timeout_ns; ///< A client gives up when nothing came from the host for so long.
    void (*log_fn)(void *ctx, const char *text); ///< What happens, a sentence each: who came, who
    void *log_ctx; ///< left, who was refused and why, the end. Never once per packet. NULL: off.
    FlAlloc alloc;

    // For fl_session_create, your own transport and clock; fl_session_host and _join fill it in.
    FlRole role;
    FlAddress host;                     ///< Client: whom to join (sealed: the token says it).
    const FlSealServerDef *seal_server; ///< Host: its keys; NULL: anybody may join.
    const uint8_t *token; ///< Client: a connect token (FL_SEAL_TOKEN_BYTES); NULL: an open host.
    uint64_t unix_s;      ///< Unix time at creation; sealed sessions need it.
    FlSealRandom random;  ///< Where keys come from; {0}: libsodium.
    uint64_t seed; ///< For nonces and conversation numbers: random, and new for every session.

    FlSessionTuning tuning; ///< For experiments; the defaults are right for games.
    uint32_t cookie;        ///< Set by fl_session_def_default(); leave alone.
} FlSessionDef;

/// Right for a small action game: 16 players, 64 entities known at once, sealed, through the host.
FL_API FlSessionDef fl_session_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_session_def_problem(const FlSessionDef *def, FlError *error);

// ---------------------------------------------------------------- host, join, pump, close

typedef struct FlSession FlSession;

/// Opens a session to others, with fresh keys unless `plain` or `seal_server` is set. NULL: `error`
/// says why (a field of the definition, a port in use, no memory).
FL_API FL_NODISCARD FlSession *fl_session_host(const FlSessionDef *def, FlError *error);

/// Joins by an invite's text; with `plain`: by an address as text ("example.org:4000"); with
/// `token` or a `transport` and `host` set: NULL. It is joining when this returns. NULL: `error`
/// says why.
FL_API FL_NODISCARD FlSession *fl_session_join(const FlSessionDef *def, const char *invite,
                                               FlError *error);

/// Bytes of an invite as text, with its closing zero.
#define FL_INVITE_TEXT 160

/// Host: a line of text that lets one player in within a day; after a crash or a break it may come
/// back with the same one, unless it was kicked. `address` is where the guest reaches
/// us ("example.org:4000"); NULL: this machine's own. Errors: FL_NOT_FOUND (plain, or not the
/// host); FL_NO_ADDRESS (unknown name); FL_FULL (4096 invites are open).
FL_API FL_NODISCARD FlResult fl_session_invite(FlSession *session, const char *address,
                                               char text[FL_INVITE_TEXT]);

/// Sends what is due, waits, receives, advances. Returns the time on our clock, after `wait` or as
/// soon as there is something to take: a notice, event, call or answer. 0: does not wait.
FL_API FlTime fl_session_pump(FlSession *session, FlTime wait);

/// False once it has ended.
FL_API bool fl_session_running(const FlSession *session);

typedef enum FlSessionState {
    FL_SESSION_JOINING, ///< Client: not in yet.
    FL_SESSION_RUNNING, ///< In: we have our number (fl_peer_self), and session time is known.
    FL_SESSION_ENDED,   ///< fl_session_end says why.
} FlSessionState;

/// Whether we are in.
FL_API FlSessionState fl_session_state(const FlSession *session);

/// Why a session ended. X(name)
#define FL_END_TABLE(X)                                                                            \
    X(NOT)           /* it has not */                                                              \
    X(LEFT)          /* we have left */                                                            \
    X(NO_ANSWER)     /* the host did not answer */                                                 \
    X(FULL)          /* the host has no free slot */                                               \
    X(OTHER_WORLD)   /* its world definition or version differs; the sentence says which */        \
    X(INVITE_NEEDED) /* by invite only */                                                          \
    X(NOT_SEALED)    /* an invite or token for a host that is plain */                             \
    X(INVITE_UNKNOWN)                                                                              \
    X(INVITE_USED_UP)                                                                              \
    X(INVITE_EXPIRED)                                                                              \
    X(INVITE_IN_USE)                                                                               \
    X(WRONG_ADDRESS) /* the token names other addresses than the host's */                         \
    X(HOST_LEFT)                                                                                   \
    X(TIMED_OUT) /* nothing came from the host for `timeout_ns` */                                 \
    X(KICKED)    /* with the host's text */                                                        \
    X(SENT_AWAY) /* by the host's rules: FlLeft has them */                                        \
    X(NO_MEMORY) /* or a capacity is smaller than the host's */

typedef enum FlEnd {
#define FL_END_ROW(name) FL_END_##name,
    FL_END_TABLE(FL_END_ROW)
#undef FL_END_ROW
} FlEnd;

/// Why it ended; FL_END_NOT while it has not.
FL_API FlEnd fl_session_end(const FlSession *session);

/// The same as a sentence or more, for people, with what to do about it. "" while it has not ended.
FL_API const char *fl_session_end_text(const FlSession *session);

/// Leaves, sends the goodbyes, and frees everything. A host that leaves a mesh hands it on. NULL is
/// ignored. A session with its own transport and clock (fl_session_create) is only freed: call
/// fl_session_leave first, and send what it has.
FL_API void fl_session_close(FlSession *session);

/// Session time at `now`; the same at all peers, to within fl_session_time_error. 0 until it runs.
FL_API FlTime fl_session_time(const FlSession *session, FlTime now);

/// The caller's time at which session time is `time`, as it runs now. FL_FOREVER until it runs.
FL_API FlTime fl_session_local_time(const FlSession *session, FlTime time);

/// 99.9 % bound on how far session time here is from the host's (symmetric paths). FL_FOREVER until
/// known.
FL_API FlTime fl_session_time_error(const FlSession *session);

// ---------------------------------------------------------------- peers

/// The others, the host included: start with {0}. False after the last; *peer is {0} then.
FL_API bool fl_peer_next(const FlSession *session, FlPeerId *peer);

/// How many others there are.
FL_API int32_t fl_peer_count(const FlSession *session);

/// Ourselves; {0} until we are in.
FL_API FlPeerId fl_peer_self(const FlSession *session);

/// The host, also when it is us; {0} until we are in, and between a host that is gone and the next.
FL_API FlPeerId fl_peer_host(const FlSession *session);

/// The peer of a number, which is the same at all peers; {0} if there is none.
FL_API FlPeerId fl_peer_of_number(const FlSession *session, int32_t number);

typedef struct FlPeerStatus {
    int32_t number;           ///< The same at all peers; 0 is the one who opened the session.
    uint64_t client_id;       ///< Sealed: whom the token was for. 0 else.
    char name[FL_NAME_BYTES]; ///< As it calls itself; "": it has none. UTF-8 without control
                              ///< characters, whatever the peer sent.
    int32_t about_bytes;      ///< At the host: what the peer says about itself.
    uint8_t about_me[FL_ABOUT_BYTES];
    uint64_t invite_id;       ///< Sealed, at the host: which invite it came with; 0: none.
    const uint8_t *user_data; ///< Sealed, at the host: FL_SEAL_USER_BYTES of its token, until it
                              ///< leaves. NULL else.
    bool waits;               ///< For fl_peer_admit; it is no peer yet.
    bool direct;       ///< There is a connection to it, and it answers; otherwise it is reached
                       ///< through the host (in a mesh its events only).
    bool missed;       ///< It should be reached directly, and is not (FL_NOTICE_PEER_INDIRECT).
    bool met;          ///< It has been reached directly at some time.
    FlAddress address; ///< With a connection: where it is.
    uint32_t contradictions; ///< Its reports of arrivals that cannot be true: not believed.
} FlPeerStatus;

/// Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_peer_status(const FlSession *session, FlPeerId peer,
                                            FlPeerStatus *status);

/// Round trip, loss and rates of the connection to a peer. Errors: FL_STALE_ID; FL_NOT_FOUND (no
/// connection to it).
FL_API FL_NODISCARD FlResult fl_peer_stats(const FlSession *session, FlTime now, FlPeerId peer,
                                           FlLinkStats *stats);

/// Sealed, introduced: a value that only we and that peer know, the same at both ends. Games whose
/// players have identities sign it and compare: then no host can sit in the middle. It changes when
/// the two are introduced again and after a change of host.
/// Errors: FL_STALE_ID; FL_NOT_FOUND (no pair, or no keys yet).
FL_API FL_NODISCARD FlResult fl_peer_binding(const FlSession *session, FlPeerId peer,
                                             uint8_t binding[FL_SEAL_BINDING_BYTES]);

#define FL_AWAY_TEXT 120 ///< Bytes of a text to whom a host sends away, its closing zero included.

/// Host: sends a peer away with a text that it reads in fl_session_end_text (cut to FL_AWAY_TEXT).
/// Errors: FL_STALE_ID; FL_BAD_VALUE (not the host, or ourselves).
FL_API FL_NODISCARD FlResult fl_peer_kick(FlSession *session, FlTime now, FlPeerId peer,
                                          const char *text);

/// Host: lets in whoever waits for it, or refuses it with a text. fl_peer_status says who it is.
/// Errors: FL_STALE_ID (it does not wait, or is gone).
FL_API FL_NODISCARD FlResult fl_peer_admit(FlSession *session, FlTime now, FlPeerId peer,
                                           bool allow, const char *text);

/// Whom a host does not let in. Whoever has one of these, of those that are set:
typedef struct FlBan {
    uint64_t client_id;
    uint64_t invite_id;
    FlAddress address;       ///< At any port.
    FlTime until;            ///< Caller's clock; FL_FOREVER: no end.
    char text[FL_AWAY_TEXT]; ///< Whoever is banned reads it.
} FlBan;

/// Host: sends away whom it applies to, and refuses them until its end. The same again replaces
/// what was there; with an end that is over it lifts it. A host that takes over knows of none.
/// Errors: FL_BAD_VALUE (not the host, or nothing is set); FL_FULL (64 are in force).
FL_API FL_NODISCARD FlResult fl_session_ban(FlSession *session, FlTime now, const FlBan *ban);

/// Host: takes an invite back (FlPeerStatus.invite_id). Whoever came in with it stays. Errors:
/// FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_session_revoke(FlSession *session, uint64_t invite_id);

/// How a peer left. All but the first and the last are the host's doing, which tells the peer.
/// X(name, words)
#define FL_LEFT_TABLE(X)                                                                           \
    X(GOODBYE, "said goodbye")                                                                     \
    X(TIMED_OUT, "nothing came from it for longer than the time-out")                              \
    X(REMOVED, "sent away by the host's game")                                                     \
    X(BEHIND, "too far behind with inputs: more than `input_ticks` of them did not arrive")        \
    X(TOO_FAST, "sent inputs faster than the others can take them")                                \
    X(UNANSWERED,                                                                                  \
      "others waited for its inputs, its part of a round of lags, or what it has of a leaver")     \
    X(STALLED,                                                                                     \
      "did not take its messages, and held up others': call fl_event_take until it is empty")      \
    X(HOSTILE, "sent what no member may send, again and again")                                    \
    X(ENDED, "is out of reach: our own session has ended")

typedef enum FlLeft {
#define FL_LEFT_ROW(name, words) FL_LEFT_##name,
    FL_LEFT_TABLE(FL_LEFT_ROW)
#undef FL_LEFT_ROW
        FL_LEFT_COUNT
} FlLeft;

/// In words, for people; lives for ever.
FL_API const char *fl_left_text(FlLeft left);

// ---------------------------------------------------------------- what happened

typedef enum FlNoticeKind {
    FL_NOTICE_PEER_JOINED,
    FL_NOTICE_PEER_LEFT,     ///< `left` says how.
    FL_NOTICE_HOST_CHANGED,  ///< The host is gone, and `peer` has taken over.
    FL_NOTICE_ENTITY_NEW,    ///< Another peer's entity is known here from now on.
    FL_NOTICE_ENTITY_GONE,   ///< The id is stale already. Also of ours, if the host refused it (too
                             ///< many, or not ours to make) or destroyed it: `peer` is the host.
    FL_NOTICE_ENTITY_STATE,  ///< Another peer's entity has a new state blob, or new fields.
    FL_NOTICE_ENTITY_OURS,   ///< It was given to us (or came back): hand in its state from now on.
    FL_NOTICE_ENTITY_THEIRS, ///< It changed its owner to `peer`.
    FL_NOTICE_PEER_INDIRECT, ///< `peer` is not reached directly, though it should be: in a hybrid
                             ///< through the host now; in a mesh its things stand still here, and
                             ///< ours there. It is tried again and again.
    FL_NOTICE_PEER_DIRECT,   ///< `peer` is, after such a notice.
    FL_NOTICE_PEER_ASKS,     ///< `peer` wants to come in, and waits: fl_peer_admit.
} FlNoticeKind;

typedef struct FlNotice {
    FlNoticeKind kind;
    FlPeerId peer;  ///< Who, or the entity's owner. Stale after PEER_LEFT.
    int32_t number; ///< The peer's number, also when it has left; -1: no peer.
    FlLeft left;    ///< PEER_LEFT: how; fl_left_text has a sentence.
    FlEntityId entity;
} FlNotice;

/// The next thing that happened, in order, from the time when all is known: who is there, then
/// what is there. Errors: FL_NOT_FOUND. However rarely it is called, the
/// game learns who is there and who owns what: until it looks, a newer state of an entity shares
/// one notice with the older, a newer owner or host replaces an older one, and an entity that came
/// and went is left out. Peers' comings and goings are all there; only if more than four a number
/// wait, one who came and went meanwhile is left out (and counted: notices_lost).
FL_API FL_NODISCARD FlResult fl_notice_take(FlSession *session, FlNotice *notice);

// ---------------------------------------------------------------- entities

typedef struct FlEntityDef {
    FlModel model; ///< As FlExporterDef.
    FlTriggerDef trigger;
    FlSend send;        ///< The policy of whoever distributes it: the owner, or the host for it.
    uint8_t kind;       ///< The game's own: what sort of thing it is.
    bool private_scope; ///< Seen by no peer until fl_entity_scope says so; otherwise by all.
    bool guided; ///< Receivers at best effort get guidance (fl_entity_guide), if there is any.
    bool survives_owner; ///< When its owner is gone the host takes it over; otherwise it goes, too.
    uint32_t cookie;     ///< Set by fl_entity_def_default(); leave alone.
} FlEntityDef;

/// Right for an action game in metres: automatic model, 0.1 m, 0.05 rad, once a second, base, seen
/// by everybody.
FL_API FlEntityDef fl_entity_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_entity_def_problem(const FlEntityDef *def, FlError *error);

/// A new entity of ours; NULL: the defaults. Its id is valid at once; others learn of it when we
/// are in. {0}: `entity_capacity` is used up here, the session has ended, a timeline is playing, or
/// the definition is wrong (fl_entity_def_problem says how, and so does log_fn).
/// If our share of the world's entities turns out to be used up, FL_NOTICE_ENTITY_GONE follows.
FL_API FlEntityId fl_entity_create(FlSession *session, const FlEntityDef *def);

/// Host: from now on entities of this kind (FlEntityDef.kind) are made by hosts only, or by all. It
/// may be given to others. Call it at all peers, if one of them may host one day.
FL_API void fl_session_host_kind(FlSession *session, uint8_t kind, bool only_hosts);

/// Removes an entity of ours, everywhere; a host, anybody's. Errors: FL_STALE_ID; FL_BAD_VALUE (not
/// ours).
FL_API FlResult fl_entity_destroy(FlSession *session, FlEntityId id);

/// Where an entity of ours truly is; `state->time` is on our own clock (fl_session_pump's). Call it
/// every frame: Fairlead decides who gets an update. Hand in its velocity as well: others predict
/// from it, and see what moves with velocity 0 lag behind and jump (log_fn says so). Errors:
/// FL_STALE_ID; FL_BAD_VALUE (not finite, not ours, or going back in time).
FL_API FlResult fl_entity_set(FlSession *session, FlEntityId id, const FlState *state);

/// A respawn or teleport of an entity of ours: nothing is predicted across it. Errors: FL_STALE_ID,
/// FL_BAD_VALUE.
FL_API FlResult fl_entity_cut(FlSession *session, FlEntityId id);

/// Where an entity is at the time of the last pump: ours as last sent, others' as shown here.
/// False: stale, or nothing is known of it yet.
FL_API bool fl_entity_pose(FlSession *session, FlEntityId id, FlPose *pose);

/// The same at another time of our own clock; ask for times that do not go back.
FL_API bool fl_entity_pose_at(FlSession *session, FlTime now, FlEntityId id, FlPose *pose);

/// The newest update of an entity as it came, raw: nothing is held back or smoothed. Ours: as last
/// sent. fl_motion_pose says where it is at any session time. Errors: FL_STALE_ID; FL_NOT_FOUND
/// (none yet).
FL_API FL_NODISCARD FlResult fl_entity_newest(const FlSession *session, FlEntityId id,
                                              FlMotion *motion);

/// The entities known here, ours included: start with {0}. False after the last; *id is {0} then.
FL_API bool fl_entity_next(const FlSession *session, FlEntityId *id);

/// Whether it is ours: we hand in its state. False of a stale id, too.
FL_API bool fl_entity_is_ours(const FlSession *session, FlEntityId id);

typedef struct FlEntityStatus {
    uint32_t number; ///< By which all peers know it; UINT32_MAX until we are in.
    FlPeerId owner;  ///< {0}: not known yet.
    bool ours;
    uint8_t kind;
    uint16_t epoch;     ///< Changes with every owner.
    uint32_t life;      ///< Changes with every cut, as of the newest update: the pose follows when
                        ///< its time has come, a little later.
    FlTime newest;      ///< Session time of its newest update here; FL_FOREVER before the first.
    FlTime received;    ///< Others': session time of the update that came in last, newest or not,
    FlTime received_at; ///< and of its arrival. FL_FOREVER before the first.
    FlPeerId via;       ///< Crowds: who sent us the newest: its owner, or who carried it. {0} else.
    int32_t hops;       ///< Crowds: players between its owner and us, on the way of the newest.
    bool watched;       ///< Crowds: we watch it (fl_entity_attention), and it comes.
} FlEntityStatus;

/// Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_entity_status(const FlSession *session, FlEntityId id,
                                              FlEntityStatus *status);

/// The entity of a number; {0} if there is none.
FL_API FlEntityId fl_entity_of_number(const FlSession *session, uint32_t number);

#define FL_ENTITY_STATE_BYTES 255

/// The state blob of an entity of ours (health, weapon, team): the newest reaches everybody who
/// sees the entity, late joiners too. Errors: FL_STALE_ID; FL_BAD_VALUE (not ours, too long).
FL_API FL_NODISCARD FlResult fl_entity_state_set(FlSession *session, FlEntityId id,
                                                 const void *bytes, int32_t count);

/// The newest state blob known here, in place. Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_entity_state_get(const FlSession *session, FlEntityId id,
                                                 const uint8_t **bytes, int32_t *count);

/// Defines the fields of entities of a kind (FlEntityDef.kind), once for a session, at every peer
/// alike, before or after joining. Such entities have fields in place of a state blob.
/// Errors: (with a sentence) FL_BAD_VALUE (what is wrong, or defined before); FL_NO_MEMORY.
FL_API FL_NODISCARD FlResult fl_kind_define(FlSession *session, uint8_t kind, const FlKindDef *def,
                                            FlError *error);

/// Whether all peers define kinds alike; `error` says which differs, and where: the latest of them.
/// Fields of that kind do not go between the two. Errors: FL_BAD_VALUE (one differs).
FL_API FL_NODISCARD FlResult fl_kind_problem(const FlSession *session, FlError *error);

/// A field of an entity of ours, by its index: FL_FIELD_INT and _BITS; _REAL and _ANGLE; _BYTES.
/// What is set reaches everybody who sees the entity, or its private groups: the newest, late
/// joiners too. Allocates nothing. Errors: FL_STALE_ID; FL_BAD_VALUE (not ours, no such field, of
/// another type, or out of its range).
FL_API FlResult fl_field_set_int(FlSession *session, FlEntityId id, int32_t field, int64_t value);
FL_API FlResult fl_field_set_real(FlSession *session, FlEntityId id, int32_t field, double value);
FL_API FlResult fl_field_set_bytes(FlSession *session, FlEntityId id, int32_t field,
                                   const void *bytes, int32_t count);

/// A field as it is known here: as its owner reads it, too. Before it is set: 0, or what is nearest
/// to it. Errors: FL_STALE_ID; FL_NOT_FOUND (an entity without fields, or not announced yet);
/// FL_BAD_VALUE (no such field).
FL_API FlResult fl_field_get(const FlSession *session, FlEntityId id, int32_t field,
                             FlValue *value);

/// Values of all fields of a kind as bytes, for the arguments of a call (FlCallDef.bytes) or an
/// event: such a kind need not be any entity's. Reading says which kind it is; bytes among the
/// values are valid until the next call on the session. Errors: FL_NOT_FOUND (the kind is not
/// defined, or reading: another version of it); FL_BAD_VALUE (a value out of range, too few bytes;
/// reading: no sender writes that).
FL_API FL_NODISCARD FlResult fl_record_write(const FlSession *session, uint8_t kind,
                                             const FlValue *values, void *bytes, int32_t capacity,
                                             int32_t *count);
FL_API FL_NODISCARD FlResult fl_record_read(const FlSession *session, const void *bytes,
                                            int32_t count, uint8_t *kind,
                                            FlValue values[FL_FIELDS]);

/// Whether a peer sees the private groups of an entity of ours (FlKindDef.private_groups). Errors:
/// as fl_entity_give. A new owner begins with an empty list.
FL_API FL_NODISCARD FlResult fl_field_scope(FlSession *session, FlEntityId id, FlPeerId peer,
                                            bool sees);

/// Gives an entity of ours to a peer; a host gives anybody's, to itself as well. It is ours no more
/// at once; the new owner is notified, goes on from what it knows of it, and no viewer sees it stop
/// or double. If the peer leaves before it has it, it comes back to us (FL_NOTICE_ENTITY_OURS).
/// Errors: FL_STALE_ID (entity or peer), FL_BAD_VALUE (not ours, or to ourselves), FL_WOULD_BLOCK.
FL_API FL_NODISCARD FlResult fl_entity_give(FlSession *session, FlTime now, FlEntityId id,
                                            FlPeerId to);

/// Whether a peer may see an entity of ours of private scope. Errors: as fl_entity_give.
FL_API FL_NODISCARD FlResult fl_entity_scope(FlSession *session, FlTime now, FlEntityId id,
                                             FlPeerId peer, bool sees);

/// How important an entity is to a viewer, from 0 to 1; 1 until said. Where bytes are short,
/// updates go by the error that the viewer is expected to have, times this; what waits rises, and
/// what has waited for a second goes first. 0: out of scope, the viewer gets nothing of it
/// (what it knows stays there; private scope hides it). For whoever distributes it to that viewer:
/// the host, or in a mesh or hybrid its owner. Fill it in as often as you like. Errors:
/// FL_STALE_ID; FL_BAD_VALUE (no such number, or ourselves); FL_NOT_FOUND (we do not send it to
/// that peer, or a crowd).
FL_API FL_NODISCARD FlResult fl_entity_priority(FlSession *session, FlEntityId id, FlPeerId viewer,
                                                double priority);

/// Shows another peer's entity another way from now on: as if its first update had just come.
/// FlSessionDef.tuning.show is how all are shown to begin with: where each most probably is now;
/// one that was kicked or turned sharply glides there, at up to 5 m/s more than its own speed. Set
/// `speed_limit` to 1.05 times its top speed, and it never looks faster than that;
/// `convergence` to FL_CONVERGENCE_AT_ONCE, and it is there with the next frame.
/// With `hold` FL_HOLD_LAGS, ours can be shown as well: as everybody else sees it.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (ours, or no such way: FL_HOLD_LAGS needs `action_capacity`,
/// and FL_TIME_GLOBAL).
FL_API FL_NODISCARD FlResult fl_entity_show(FlSession *session, FlEntityId id,
                                            const FlShowDef *def);

// ---------------------------------------------------------------- events

/// The longest event, ordered on channel 0; all others are up to FL_EVENT_SHORT_BYTES.
#define FL_EVENT_BYTES 1024
#define FL_EVENT_SHORT_BYTES 192

#define FL_EVENT_CHANNELS 16

/// A typed message. From one source, ordered ones of one channel arrive in order, and wait for none
/// of another channel: chat that was lost does not hold up shots. Unreliable ones
/// (FL_DELIVERY_UNRELIABLE, _NEWEST) are sent once if there are bytes for them within a quarter of
/// a second: the more important first, and what waits gets more important.
typedef struct FlEvent {
    FlPeerId from;  ///< Set on arrival. {0}: it has left meanwhile.
    int32_t number; ///< Set on arrival: the sender's number, also when it has left.
    uint16_t type;  ///< The game's own.
    FlDelivery delivery;
    uint8_t channel;      ///< Of ordered and unreliable ones, 0 to 15: an order of its own.
    uint8_t priority;     ///< Of unreliable ones, and ordered ones of channels 1 to 15: higher goes
                          ///< first where bytes are short.
    const uint8_t *bytes; ///< On arrival: in the session, valid until the next call on it.
    int32_t count;        ///< 0 is fine.
} FlEvent;

/// To one peer; {0}: to all others.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (too long); FL_WOULD_BLOCK (a queue is full: try again next
/// tick; no peer got it).
FL_API FL_NODISCARD FlResult fl_event_send(FlSession *session, FlPeerId to, const FlEvent *event);

/// To some, at most 64 of them. Errors: as fl_event_send.
FL_API FL_NODISCARD FlResult fl_event_send_some(FlSession *session, const FlPeerId *to,
                                                int32_t to_count, const FlEvent *event);

/// To all who own an entity that is shown here within a distance of a place. Errors: as
/// fl_event_send; none if no peer is there.
FL_API FL_NODISCARD FlResult fl_event_send_near(FlSession *session, FlVec3 place, double distance,
                                                const FlEvent *event);

/// The next event that arrived. Take all every tick. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_event_take(FlSession *session, FlEvent *event);

// ---------------------------------------------------------------- actions
//
// What players do to things that all share, played everywhere in the same order and with the same
// time between, without a common clock: module `agree` (FlLags, FlOrder) says how. An action is
// played at once by no peer, not even its own player; how soon is the network's to say
// (fl_session_lags).

typedef struct FlAction {
    FlPeerId from;  ///< Ourselves, too. {0}: it has left meanwhile.
    int32_t number; ///< Its number, whoever has it now.
    uint16_t type;  ///< The game's own.
    bool late;      ///< Something later was played before: whoever keeps a timeline repairs it.
    FlTime play;    ///< Its play time: the same number everywhere. The order is by it.
    FlTime at;      ///< When it is to be played, on the caller's clock.
    const uint8_t *bytes; ///< In the session, valid until the next call on it.
    int32_t count;
} FlAction;

/// We do something: up to FL_ACTION_BYTES, to all, ourselves included.
/// Errors: FL_BAD_VALUE (too long, or no actions in this session); FL_STALE_ID (it has ended);
/// FL_WOULD_BLOCK (lags are not known yet, a second or two after joining; or a queue is full, or
/// half of our share of `action_capacity` waits to be played: no peer got it, try again next tick).
FL_API FL_NODISCARD FlResult fl_action_send(FlSession *session, FlTime now, uint16_t type,
                                            const void *bytes, int32_t count);

/// The next action to be played at `now`. Take all every tick: what a peer sends beyond its share
/// of `action_capacity` is lost here, and counted. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_action_take(FlSession *session, FlTime now, FlAction *action);

// ---------------------------------------------------------------- inputs

/// Our input for a tick, `input_bytes` of it: sent again with each newer one until it has arrived.
/// Ticks go up one by one from the first given, at the pace of the game: a host that passes them on
/// sends away whoever gets `input_ticks` ahead of others that do keep up (FL_LEFT_TOO_FAST).
/// After a pause (a stopped process, a long load) hand in the ticks that were missed one after the
/// other, none were lost meanwhile: what came is here, and what others did not get goes out as
/// long as it is within `input_ticks`. With `inputs_to_host` ticks may be left out instead, and
/// nothing blocks: a server plays on without them. Errors: FL_OUT_OF_ORDER
/// (not the next tick); FL_WOULD_BLOCK (`input_ticks` are under way: a peer does not keep up, or
/// we are not in yet); FL_BAD_VALUE (no inputs in this session).
FL_API FL_NODISCARD FlResult fl_input_set(FlSession *session, int64_t tick, const void *bytes);

/// A peer's (or our own) input for a tick, in place. Errors: FL_STALE_ID; FL_NOT_FOUND (not here
/// yet, or forgotten).
FL_API FL_NODISCARD FlResult fl_input_get(const FlSession *session, FlPeerId peer, int64_t tick,
                                          const uint8_t **bytes);

/// The newest tick up to which all of a peer's inputs are here; -1: none.
FL_API int64_t fl_input_newest(const FlSession *session, FlPeerId peer);

// ---------------------------------------------------------------- timelines
//
// Players of a timeline are members of the session, by number. The session feeds it with
// everybody's inputs, sees to it that players come and go at the same tick everywhere, and compares
// settled states with the host's. While a timeline plays, calls that change something in the
// session answer FL_REPLAYING: what happens in a step may happen again, or turn out not to have
// happened.

/// Attaches the game's timeline; NULL: none any more. It stays the game's, and must outlive this.
/// `begun`: all present here have begun it with the same state and players; otherwise the host
/// gives us a state when it lets us play (fl_session_player). Errors: FL_BAD_VALUE (its inputs are
/// of another length or go to the host only, or it has fewer players than the session members);
/// FL_NO_MEMORY (for a copy of its state).
FL_API FL_NODISCARD FlResult fl_session_timeline(FlSession *session, FlTimeline *timeline,
                                                 bool begun);

/// Feeds the timeline with all inputs that are here, and plays up to state `present`. Call it every
/// frame. Errors: FL_NOT_FOUND (no timeline); FL_WOULD_BLOCK (no state yet).
FL_API FL_NODISCARD FlResult fl_session_advance(FlSession *session, int64_t present);

/// Host: a peer gets the settled state, and plays from a tick on. Choose one so far ahead that the
/// word of it reaches everybody before: two seconds. If a large state takes its time, it is as much
/// later. Whoever plays hands in inputs from its first tick on.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (not the host, or no timeline); FL_WOULD_BLOCK (try again next
/// tick); as fl_timeline_enter.
FL_API FL_NODISCARD FlResult fl_session_player(FlSession *session, FlPeerId peer, int64_t tick);

// ---------------------------------------------------------------- calls
//
// Changing what another peer owns: "I hit it", "I take it". A call goes to the owner, whose game
// decides it, once; the caller learns applied, refused or unknown, and the new state with it. What
// calls change belongs into the entity's state blob; that, and only that, outlives its owner
// (FlEntityDef.survives_owner). fairlead/call.h has the kinds and their arguments;
// docs/guide/calls.md.

/// A call on an entity of ours, to be decided.
typedef struct FlCall {
    FlEntityId entity;
    FlPeerId from; ///< {0}: it has left meanwhile.
    uint16_t kind; ///< FlCallKind, or the game's own.
    int32_t count;
    uint8_t bytes[FL_CALL_BYTES];
    FlTime until; ///< Session time at which it ends.
    FlCallKey key;
    uint16_t number, version, hash; ///< The session's: leave alone.
    bool predicted, direct;
} FlCall;

/// What became of a call of ours.
typedef struct FlCallDone {
    uint32_t id;
    FlEntityId entity; ///< {0}: it is there no more.
    uint16_t kind;
    FlCallVerdict verdict;
    FlCallWhy why;
    FlTime latency_ns; ///< From the call to knowing.
} FlCallDone;

/// Calls on an entity, another peer's or our own. `*serial` comes back as the result's id.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (too long); FL_WOULD_BLOCK (too many are open, take results;
/// or session time is not known yet).
FL_API FL_NODISCARD FlResult fl_call_send(FlSession *session, FlTime now, FlEntityId id,
                                          const FlCallDef *call, uint32_t *serial);

/// The next call to decide. Take all every tick, and answer each before the next. Errors:
/// FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_call_take(FlSession *session, FlCall *call);

/// Decides a call. Applied: change the entity's state first (fl_entity_state_set), or give the new
/// one here; NULL: as it is. The answer brings it, unless the caller predicted it. Refused: `state`
/// is not looked at.
/// Errors: FL_STALE_ID (the entity is gone, not ours any more, or the call was answered before: do
/// not apply it); FL_BAD_VALUE (too long a state).
FL_API FL_NODISCARD FlResult fl_call_answer(FlSession *session, FlTime now, const FlCall *call,
                                            bool applied, const void *state, int32_t state_count);

/// The next call of ours whose fate is known. An unknown one whose owner is gone comes when there
/// is a new owner, with its state. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_call_take_done(FlSession *session, FlTime now, FlCallDone *done);

/// From now on calls of kind FL_CALL_DAMAGE that cannot be true are refused, where we show the
/// target to the shooter: as its owner, or as the host that passes it on (without arguments, so
/// that its owner refuses it). NULL: only those without sound arguments are. What `rules` points to
/// must live on; the rules themselves are copied.
FL_API void fl_call_hit_rules(FlSession *session, const FlHitRules *rules);

// ---------------------------------------------------------------- counters

/// X(name, word, meaning)
#define FL_SESSION_COUNT_TABLE(X)                                                                  \
    X(UPDATES_SENT, "updates_sent", "updates put into packets, once per receiver")                 \
    X(UPDATES_TAKEN, "updates_taken", "updates received and shown")                                \
    X(UPDATES_OVERTAKEN, "updates_overtaken", "updates received again, or after a newer one")      \
    X(UPDATES_WIDE, "updates_wide", "own updates with a value outside the world")                  \
    X(UPDATES_RELAYED, "updates_relayed", "others' updates put into packets, once per receiver")   \
    X(UPDATES_HELD_BACK, "updates_held_back",                                                      \
      "updates that there were no bytes for, once per receiver: the upload is too small")          \
    X(BYTES_COUNTED, "bytes_counted",                                                              \
      "bytes sent with all headers, as upload_bytes_s counts them")                                \
    X(STATES_SENT, "states_sent", "state blobs put into packets")                                  \
    X(STATES_TAKEN, "states_taken", "state blobs received and kept")                               \
    X(FIELDS_SENT, "fields_sent", "groups of fields put into packets, those sent together once")   \
    X(FIELDS_TAKEN, "fields_taken", "groups of fields received with another value, likewise")      \
    X(KINDS_DIFFER, "kinds_differ", "kinds of entities that a peer defines differently")           \
    X(INPUTS_TAKEN, "inputs_taken", "inputs received for the first time")                          \
    X(ATTENTION_TAKEN, "attention_taken", "values of attention received and kept")                 \
    X(ATTENTION_STRAY, "attention_stray",                                                          \
      "values of attention dropped: no such entity to look at")                                    \
    X(GUIDANCE_SENT, "guidance_sent", "guidance put into packets, once per receiver")              \
    X(GUIDANCE_TAKEN, "guidance_taken", "guidance received and kept")                              \
    X(GUIDANCE_OVERTAKEN, "guidance_overtaken", "guidance received again, or after newer")         \
    X(EVENTS_SENT, "events_sent", "own events sent")                                               \
    X(EVENTS_TAKEN, "events_taken", "events received")                                             \
    X(EVENTS_RELAYED, "events_relayed", "events passed on, once per receiver")                     \
    X(EVENTS_DROPPED, "events_dropped",                                                            \
      "unreliable events not sent, once per receiver, or not taken")                               \
    X(ACTIONS_SENT, "actions_sent", "own actions sent")                                            \
    X(ACTIONS_TAKEN, "actions_taken", "actions played, own ones included")                         \
    X(ACTIONS_LATE, "actions_late", "actions played after something later")                        \
    X(ACTIONS_LOST, "actions_lost", "actions dropped: too far ahead, or above a sender's share")   \
    X(PARTED, "parted",                                                                            \
      "times that a peer could not, or no longer, be reached directly where it should be")         \
    X(EARLY, "early", "words of, or to, one that hosts now, before we knew: sent again")           \
    X(STRANGER, "stranger", "datagrams dropped: from no peer of ours")                             \
    X(SEALED_BADLY, "sealed_badly", "datagrams dropped by the seal, whatever the reason")          \
    X(MALFORMED, "malformed", "payloads and messages dropped: no sender writes that")              \
    X(FOREIGN, "foreign", "updates dropped: the entity is not the sender's")                       \
    X(OLD_EPOCH, "old_epoch", "updates and states dropped: of an owner before this one")           \
    X(NO_ROOM, "no_room", "updates dropped: too many entities known")                              \
    X(UNTRACKED, "untracked", "updates whose arrival is not awaited: item_capacity is too small")  \
    X(NOTICES_LOST, "notices_lost", "notices left out: fl_notice_take is called too rarely")       \
    X(STALLED, "stalled", "peers sent away: they did not take their messages, or did not answer")  \
    X(HOSTILE, "hostile", "peers sent away: what they sent was malformed or not theirs to send")   \
    X(BEHIND, "behind", "peers sent away: input_ticks behind with inputs, or ahead of all others") \
    X(JOINS_SENT, "joins_sent", "join requests sent")                                              \
    X(BAD_JOIN, "bad_join", "join datagrams dropped: malformed or not for us")                     \
    X(REFUSED, "refused", "join requests refused: full, or not for who asked")                     \
    X(OUT_OF_MEMORY, "out_of_memory", "peers not let in: no memory for a link")                    \
    X(REPLAY_WRITES, "replay_writes", "calls refused: a timeline was playing")                     \
    X(UNTIMELY, "untimely", "words on who plays that came after their tick was settled")

typedef enum FlSessionCount {
#define FL_SESSION_COUNT_ROW(name, word, meaning) FL_SESSION_##name,
    FL_SESSION_COUNT_TABLE(FL_SESSION_COUNT_ROW)
#undef FL_SESSION_COUNT_ROW
        FL_SESSION_COUNTS
} FlSessionCount;

/// One of these counters.
FL_API uint64_t fl_session_count(const FlSession *session, FlSessionCount which);

#endif
