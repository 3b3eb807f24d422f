// fairlead/session.h: the game's side of it all.
//
// A session is one host and those who joined it: its *peers*. Everybody owns *entities*; the owner
// hands in the truth, everybody else reads where they are. A session owns no algorithm: it carries
// entities' updates through the rooms (motion, send, link, seal, clock, show) and back. It does no
// I/O: datagrams go in by fl_session_receive and come out of fl_session_next; the time is told.
//
//     while (fl_session_state(session) != FL_SESSION_ENDED) {
//         fl_run_receive(net, session); // or your own transport, and fl_session_receive
//         FlTime now = fl_net_now();
//         fl_entity_set(session, tank, &state); // the truth; Fairlead decides who must hear of it
//         fl_run_send(net, session, now);       // or fl_session_next, and your own transport
//         fl_entity_pose(session, other, now, &pose); // where the other one is
//         fl_net_wait(net, fl_session_deadline(session, now));
//     }
//     puts(fl_session_trouble(session)); // why it ended
//
// Who talks to whom is the host's choice (FlTopology): everything through the host, which then
// decides who gets which update when; or introduced peers talk directly, and the host helps those
// who cannot reach each other.
//
// Sealed sessions (FlSessionDef.seal_server, .token) let in only whom a connect token or an invite
// admits, and nobody else reads or forges a packet: room `seal`. Without them anybody who can reach
// the port can join: for the lab, and for carriers that have a protection of their own.
//
// Threads: sessions share nothing; one thread at a time per session.
#ifndef FAIRLEAD_SESSION_H
#define FAIRLEAD_SESSION_H

#include "fairlead/agree.h"
#include "fairlead/base.h"
#include "fairlead/call.h"
#include "fairlead/clock.h"
#include "fairlead/crowd.h"
#include "fairlead/group.h"
#include "fairlead/link.h"
#include "fairlead/motion.h"
#include "fairlead/seal.h"
#include "fairlead/send.h"
#include "fairlead/show.h"
#include "fairlead/timeline.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- names

/// Names one peer of a session. Pass by value; {0} names nobody. Stays safe after the peer left.
typedef struct FlPeerId {
    uint32_t index1; ///< Its number in the session plus one.
    uint32_t generation;
} FlPeerId;

/// Names one entity of a session. Pass by value; {0} names none. Stays safe after the entity is
/// gone.
typedef struct FlEntityId {
    uint32_t index1; ///< Slot plus one.
    uint32_t generation;
} FlEntityId;

// ---------------------------------------------------------------- making one

typedef enum FlRole {
    FL_ROLE_HOST,   ///< Lets others join; its clock is the session's.
    FL_ROLE_CLIENT, ///< Joins a host.
} FlRole;

typedef struct FlSessionDef {
    FlRole role;
    FlTopology topology; ///< Host: who talks to whom. Clients are told.
    FlAddress host;      ///< Client: whom to join (a sealed one: the token says it).
    FlWorldDef world;    ///< The same at all peers, or they do not understand each other.
    FlLinkDef link;      ///< For every link of this session.

    const FlSealServerDef *seal_server; ///< Host: whom to let in; NULL: anybody. Read at creation;
                                        ///< protocol and slots follow from this definition.
    const uint8_t *token; ///< Client: a connect token (FL_SEAL_TOKEN_BYTES); NULL: a host that lets
                          ///< anybody in. Read at creation.
    uint64_t unix_s;      ///< Unix time at creation; sealed sessions need it.
    FlSealRandom random;  ///< Where keys come from; {0}: libsodium.

    int32_t peer_capacity;   ///< Peers besides the host; the same at all.
    int32_t line_capacity;   ///< Client: peers that it talks to directly, the host included. 1 is
                             ///< enough for FL_TOPOLOGY_STAR. Host: all, always.
    int32_t entity_capacity; ///< Entities known here at once, own and others'.
    int32_t item_capacity;   ///< Per line: updates, states and inputs under way whose arrival is
                             ///< awaited; with more under way, updates and states wait. A power of
                             ///< two.
    int32_t path_capacity;   ///< Per entity: updates remembered, for what receivers saw when.
    int32_t input_bytes;     ///< Of one player's input for one tick; 0: no inputs.
    int32_t input_ticks;     ///< Ticks of it that are remembered, and may be under way. A power of
                             ///< two, at most 4096. A limit, too: whoever is so many ticks behind
                             ///< is sent away (FL_LEFT_BEHIND), so make it longer than a pause that
                             ///< a player may take; default 1024: 17 s at 60 ticks a second.
    FlCallsDef calls;        ///< How many calls may be open at once, and for how long.
    int32_t action_capacity; ///< Actions that wait to be played at once, shared out evenly among
                             ///< all who are there; 0: no actions. At most 63 peers besides the
                             ///< host then.
    FlLagsDef lags;          ///< When actions are played; the same at all. `self` is filled in.
    FlTime gather_ns;        ///< An update waits this long for others to share its packet.
    double upload_bytes_s; ///< What may go out in all, over all lines and with all headers, in any
                           ///< second; at least 1000. 0: as much as each link's budget allows.
    int32_t update_least_bytes; ///< A datagram with updates counts there as so much at least, to
                                ///< measure with what longer ones would do; at most 256. 0: as is.
    FlFocusDef focus;           ///< How policies `focus` and `focus+equal` spend it.
    FlCrowdDef crowd;           ///< Crowds: how. Who is who and what may go out is filled in.
    FlTime guide_from_ns;   ///< Receivers at best effort are guided once they are told less often
                            ///< than this; more often, updates serve them better. 0: always.
    FlTimeMode time_mode;   ///< By which clock others' updates are placed here.
    FlShowDef show;         ///< How others' entities are shown here; see fl_entity_show.
    FlTime join_every_ns;   ///< Client: ask this often until the host answers,
    FlTime join_timeout_ns; ///< and give up after hearing nothing from it for so long.
    uint64_t seed; ///< For nonces and conversation numbers: random, and new for every session.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_session_def_default(); leave alone.
} FlSessionDef;

/// Right for a small action game: 16 players, 64 entities known at once, joining for 5 s, through
/// the host, nobody kept out.
FL_API FlSessionDef fl_session_def_default(void);

typedef struct FlSession FlSession;

/// Reserves everything the session will ever use but its links, which are made as peers join; and
/// of a crowd, which is made with the welcome, the seals of its lanes as they come.
/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (world, link, token or settings out of range;
/// fl_world_def_problem says what of the world); FL_SYSTEM (libsodium does not start).
FL_API FL_NODISCARD FlResult fl_session_create(const FlSessionDef *def, FlTime now,
                                               FlSession **session);
FL_API void fl_session_destroy(FlSession *session);

/// Bytes of memory: of the session itself, and for one more line (a peer talked to directly, its
/// link included), entity, and (entity, line) pair.
typedef struct FlSessionMemory {
    size_t all, line, entity, pair;
} FlSessionMemory;

FL_API FlSessionMemory fl_session_memory(const FlSessionDef *def);

/// Says goodbye: fl_session_next has the datagrams, and the session has ended at once. A host that
/// leaves a mesh hands the session on.
FL_API void fl_session_leave(FlSession *session, FlTime now);

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

/// No datagram of a session is longer.
#define FL_SESSION_DATAGRAM_BYTES FL_SEAL_PACKET_BYTES

/// The next datagram to send now; call it until it answers FL_NOT_FOUND. Time-outs are noticed
/// here.
FL_API FL_NODISCARD FlResult fl_session_next(FlSession *session, FlTime now, FlOutgoing *out);

/// When fl_session_next must be called again at the latest, if nothing else happens before. Of a
/// session that has ended: now, and then every 100 ms, so that a loop that waits for it sees that.
FL_API FlTime fl_session_deadline(FlSession *session, FlTime now);

typedef enum FlSessionState {
    FL_SESSION_JOINING, ///< Client: not in yet.
    FL_SESSION_RUNNING, ///< In: we have our number (fl_peer_self), and session time is known.
    FL_SESSION_ENDED,   ///< Left, or a client without answer, refused, or whose host is gone.
                        ///< fl_session_trouble says why.
} FlSessionState;

FL_API FlSessionState fl_session_state(const FlSession *session);

/// Who talks to whom; FL_TOPOLOGY_STAR until we are told.
FL_API FlTopology fl_session_topology(const FlSession *session);

/// Why a session ended, with what to look at: several lines for people. "" while nothing is wrong.
FL_API const char *fl_session_trouble(const FlSession *session);

/// Session time at `now`; the same at all peers, to within fl_session_time_error. 0 until it runs.
FL_API FlTime fl_session_time(const FlSession *session, FlTime now);

/// The caller's time at which session time is `time`, as it runs now. FL_FOREVER until it runs.
FL_API FlTime fl_session_when(const FlSession *session, FlTime time);

/// 99.9 % bound on how far session time here is from the host's (symmetric paths). FL_FOREVER until
/// known.
FL_API FlTime fl_session_time_error(const FlSession *session);

/// Places others' updates by another clock from now on; what is shown already stays as it is.
FL_API void fl_session_time_mode(FlSession *session, FlTimeMode mode);

// ---------------------------------------------------------------- admission

/// Host of a sealed session: an invite as text, for playing without a backend. Whoever holds it can
/// join, `uses` times until `expire_s` (Unix time). `address` is where the guest reaches us.
/// Errors: FL_NOT_FOUND (not sealed, or not a host), FL_FULL, FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_session_invite(FlSession *session, FlTime now, FlAddress address,
                                               uint32_t uses, uint64_t expire_s,
                                               char text[FL_SEAL_INVITE_TEXT]);

// ---------------------------------------------------------------- peers

/// The others, the host included: pass {0} for the first, the last answer for the next; {0} after
/// the last. A host's clients, a client's host and fellow clients.
FL_API FlPeerId fl_peer_next(const FlSession *session, FlPeerId after);

/// How many others there are.
FL_API int32_t fl_peer_count(const FlSession *session);

/// Ourselves; {0} until we are in.
FL_API FlPeerId fl_peer_self(const FlSession *session);

/// The host, also when it is us; {0} until we are in, and between a host that is gone and the next.
FL_API FlPeerId fl_peer_host(const FlSession *session);

/// The peer of a number, which is the same at all peers; {0} if there is none.
FL_API FlPeerId fl_peer_of_number(const FlSession *session, int32_t number);

typedef struct FlPeerStatus {
    int32_t number;     ///< The same at all peers; 0 is the one who opened the session.
    uint64_t client_id; ///< Sealed: whom the token was for. 0 else.
    bool direct;        ///< There is a link to it, and it answers; otherwise it is reached
                        ///< through the host (in a mesh its events only).
    bool missed;        ///< It should be reached directly, and is not (FL_NOTICE_PEER_INDIRECT).
    bool met;           ///< It has been reached directly at some time.
    FlAddress address;  ///< With a link: where it is.
    uint32_t contradictions; ///< Its reports of arrivals that cannot be true: not believed.
} FlPeerStatus;

/// Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_peer_status(const FlSession *session, FlPeerId peer,
                                            FlPeerStatus *status);

/// Statistics of the link to a peer. Errors: FL_STALE_ID; FL_NOT_FOUND (no link to it).
FL_API FL_NODISCARD FlResult fl_peer_stats(const FlSession *session, FlPeerId peer, FlTime now,
                                           FlLinkStats *stats);

/// Host: sends a peer away. Errors: FL_STALE_ID; FL_BAD_VALUE (not the host).
FL_API FL_NODISCARD FlResult fl_peer_remove(FlSession *session, FlPeerId peer, FlTime now);

// ---------------------------------------------------------------- what happened

typedef enum FlNoticeKind {
    FL_NOTICE_PEER_JOINED,
    FL_NOTICE_PEER_LEFT,     ///< `left` says how.
    FL_NOTICE_HOST_CHANGED,  ///< The host is gone, and `peer` has taken over.
    FL_NOTICE_ENTITY_NEW,    ///< Somebody's entity was heard of for the first time.
    FL_NOTICE_ENTITY_GONE,   ///< The id is stale already.
    FL_NOTICE_ENTITY_STATE,  ///< Somebody's entity has a new state blob.
    FL_NOTICE_ENTITY_OURS,   ///< It was given to us (or came back): hand in its truth from now on.
    FL_NOTICE_ENTITY_THEIRS, ///< It changed its owner to `peer`.
    FL_NOTICE_PEER_INDIRECT, ///< `peer` is not reached directly, though it should be: in a hybrid
                             ///< through the host now; in a mesh its things stand still here, and
                             ///< ours there. It is tried again and again.
    FL_NOTICE_PEER_DIRECT,   ///< `peer` is, after such a notice.
} FlNoticeKind;

typedef struct FlNotice {
    FlNoticeKind kind;
    FlPeerId peer; ///< Who, or the entity's owner.
    FlLeft left;
    FlEntityId entity;
} FlNotice;

/// The next thing that happened, in order. Errors: FL_NOT_FOUND. However rarely it is called, the
/// game learns who is there and who owns what: until it looks, a newer state of an entity is told
/// by the same notice, a newer owner or host in place of an older one, and an entity that came and
/// went is not told of at all. Peers' comings and goings are all told; only if more than four a
/// number wait, one who came and went meanwhile is left out (and counted: notices_lost).
FL_API FL_NODISCARD FlResult fl_session_poll(FlSession *session, FlNotice *notice);

// ---------------------------------------------------------------- entities

typedef struct FlEntityDef {
    FlModel model; ///< As FlExporterDef.
    FlTriggerDef trigger;
    FlSend send;     ///< The policy of whoever distributes it: the owner, or the host for it.
    uint8_t kind;    ///< The game's own: what sort of thing it is.
    bool listed;     ///< Seen by nobody until fl_entity_scope says so; otherwise by everybody.
    bool guided;     ///< Receivers at best effort get guidance (fl_entity_guide), if there is any.
    bool stays;      ///< When its owner is gone the host takes it over; otherwise it goes, too.
    uint32_t cookie; ///< Set by fl_entity_def_default(); leave alone.
} FlEntityDef;

/// Right for an action game in metres: automatic model, 0.1 m, 0.05 rad, once a second, base, seen
/// by everybody.
FL_API FlEntityDef fl_entity_def_default(void);

/// A new entity of ours.
/// Errors: FL_FULL (entities of this peer, or known here, are used up), FL_WOULD_BLOCK (not joined
/// yet), FL_STALE_ID (the session has ended).
FL_API FL_NODISCARD FlResult fl_entity_create(FlSession *session, const FlEntityDef *def,
                                              FlEntityId *id);

/// Takes an entity of ours away, everywhere. Errors: FL_STALE_ID; FL_BAD_VALUE (not ours).
FL_API FL_NODISCARD FlResult fl_entity_destroy(FlSession *session, FlEntityId id, FlTime now);

/// The truth about an entity of ours; `state->time` is on the caller's clock. Call it every frame.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (not finite, not ours, or going back in time); FL_WOULD_BLOCK
/// (session time is not known yet).
FL_API FL_NODISCARD FlResult fl_entity_set(FlSession *session, FlEntityId id, const FlState *state);

/// Another policy for an entity of ours, from now on; what was counted stays. Only for those we
/// distribute it to: a host that passes it on keeps the policy of its creation. Errors:
/// FL_STALE_ID; FL_BAD_VALUE (not ours, or settings out of range); FL_NOT_FOUND (the host passes it
/// on to everybody).
FL_API FL_NODISCARD FlResult fl_entity_policy(FlSession *session, FlEntityId id, const FlSend *send,
                                              FlTime now);

/// A respawn or teleport of an entity of ours: nothing is predicted across it. Errors: FL_STALE_ID,
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_entity_cut(FlSession *session, FlEntityId id);

/// Where an entity is at `now` (caller's clock): ours as last exported, others' as shown here.
/// Errors: FL_STALE_ID; FL_NOT_FOUND (nothing known of it yet).
FL_API FL_NODISCARD FlResult fl_entity_pose(FlSession *session, FlEntityId id, FlTime now,
                                            FlPose *pose);

/// Shows somebody else's entity another way from now on: as if it had just been heard of. Errors:
/// FL_STALE_ID; FL_BAD_VALUE (ours, or no such way).
FL_API FL_NODISCARD FlResult fl_entity_show(FlSession *session, FlEntityId id,
                                            const FlShowDef *def);

/// Changes Δ of somebody else's entity that is shown by FL_HOLD_ADAPTIVE, beginning at a session
/// time: as fl_show_delta, for what FlDeltaControl says. Errors: FL_STALE_ID; FL_BAD_VALUE (ours,
/// or shown another way); FL_OUT_OF_ORDER (before the last change).
FL_API FL_NODISCARD FlResult fl_entity_delta(FlSession *session, FlEntityId id,
                                             const FlDeltaChange *change);

#define FL_ENTITY_STATE_BYTES 255

/// The state blob of an entity of ours (health, weapon, team): the newest reaches everybody who
/// sees the entity, late joiners too. Errors: FL_STALE_ID; FL_BAD_VALUE (not ours, too long).
FL_API FL_NODISCARD FlResult fl_entity_state_set(FlSession *session, FlEntityId id,
                                                 const void *bytes, int32_t count);

/// The newest state blob known here: in place, valid until the next call on the session.
/// Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_entity_state(const FlSession *session, FlEntityId id,
                                             const uint8_t **bytes, int32_t *count);

/// Gives an entity of ours to a peer. It is ours no more at once; the new owner is notified, goes
/// on from what it knows of it, and nobody sees it stop or double. If the peer leaves before it has
/// it, it comes back to us (FL_NOTICE_ENTITY_OURS).
/// Errors: FL_STALE_ID (entity or peer), FL_BAD_VALUE (not ours, or to ourselves), FL_WOULD_BLOCK
/// (try again next tick).
FL_API FL_NODISCARD FlResult fl_entity_give(FlSession *session, FlEntityId id, FlPeerId to,
                                            FlTime now);

/// Whether a peer may see an entity of ours that is `listed`. Errors: as fl_entity_give.
FL_API FL_NODISCARD FlResult fl_entity_scope(FlSession *session, FlEntityId id, FlPeerId peer,
                                             bool sees, FlTime now);

/// The entities known here, ours included: pass {0} for the first, the last answer for the next.
/// {0} after the last.
FL_API FlEntityId fl_entity_next(const FlSession *session, FlEntityId after);

typedef struct FlEntityStatus {
    uint32_t number; ///< By which all peers know it.
    FlPeerId owner;  ///< {0}: not known yet.
    bool ours;
    uint8_t kind;
    uint16_t epoch;  ///< Changes with every owner.
    uint32_t life;   ///< Changes with every cut.
    FlTime newest;   ///< Session time of its newest update here; FL_FOREVER before the first.
    FlTime heard;    ///< Others': session time of the update that came in last, newest or not,
    FlTime heard_at; ///< and of its arrival. FL_FOREVER before the first.
} FlEntityStatus;

/// Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_entity_status(const FlSession *session, FlEntityId id,
                                              FlEntityStatus *status);

FL_API bool fl_entity_is_ours(const FlSession *session, FlEntityId id);

/// The entity of a number; {0} if there is none.
FL_API FlEntityId fl_entity_of_number(const FlSession *session, uint32_t number);

// ---------------------------------------------------------------- what others see

/// What is known here of one peer's view of an entity: exactly where we distribute it, from the
/// host's reports (once a second) where that does. Errors: FL_STALE_ID; FL_NOT_FOUND (not known).
FL_API FL_NODISCARD FlResult fl_entity_view(const FlSession *session, FlEntityId id, FlPeerId peer,
                                            FlTime now, FlLedgerView *view);

/// Accumulated error over all receivers of an entity: accuracy and fairness.
typedef struct FlEntityReport {
    int32_t receiver_count;
    double mean; ///< Distance times seconds.
    double sd;   ///< Population standard deviation: how unequal it is.
} FlEntityReport;

/// Errors: FL_STALE_ID; FL_NOT_FOUND (no receivers known).
FL_API FL_NODISCARD FlResult fl_entity_report(const FlSession *session, FlEntityId id, FlTime now,
                                              FlEntityReport *report);

/// Where a peer saw an entity at a session time, as far as it is remembered, if we distribute it to
/// that peer. Errors: FL_STALE_ID; FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_entity_seen(const FlSession *session, FlEntityId id, FlPeerId peer,
                                            FlTime time, FlPose *pose);

// ---------------------------------------------------------------- attention
//
// Policies `focus` and `focus+equal` serve those first who look: room `send` has the formulas
// (FlAttention), the game says who looks at what.

/// How much we look at somebody's entity, from 0 to 1; 0 until said. Told to whoever distributes it
/// to us when it has changed enough, in packets that go anyway: call it as often as you like.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (ours, or no such number).
FL_API FL_NODISCARD FlResult fl_entity_attention(FlSession *session, FlEntityId id, double value);

/// How much a peer looks at an entity that we distribute to it: for a host that computes it for
/// everybody. The last word counts, this or the peer's own. Errors: FL_STALE_ID; FL_NOT_FOUND (no
/// link to the peer).
FL_API FL_NODISCARD FlResult fl_peer_attention(FlSession *session, FlPeerId peer, FlEntityId id,
                                               double value);

/// How much a peer looks at an entity, as far as it is known here, and how it is served. Errors: as
/// fl_peer_attention.
FL_API FL_NODISCARD FlResult fl_entity_looks(const FlSession *session, FlEntityId id, FlPeerId peer,
                                             double *attention, FlSendClass *send_class);

// Guided replicas (room `show` says what they are): with a policy that knows best effort, receivers
// at best effort get guidance in place of updates, those in focus beside them until their replica
// is near. Where a host passes updates on, nobody is guided. fl_entity_seen and errors take
// guidance for the update in whose place it went, which is approximate.

/// How far ahead guidance of an entity of ours should look: the time between guidances to one
/// receiver, on average. 0: stale.
FL_API FlTime fl_entity_guide_ahead(const FlSession *session, FlEntityId id);

/// What a guided entity of ours will do, once a frame, after fl_entity_set: where it will be
/// `ahead_ns` after `now`, how it will face, running counts of its actions. `entity`, `life` and
/// `time` are filled in. Receivers get updates while the last one is older than 200 ms. Errors:
/// FL_STALE_ID; FL_BAD_VALUE (not ours, not guided, or as fl_guidance_round: updates are sent
/// then); FL_WOULD_BLOCK (session time is not known yet).
FL_API FL_NODISCARD FlResult fl_entity_guide(FlSession *session, FlEntityId id,
                                             const FlGuidance *guidance, FlTime now);

/// The game's replica of somebody's entity.
typedef struct FlReplica {
    double diameter; ///< Of the thing; above 0.
    bool known;      ///< It stands somewhere:
    FlVec3 position; ///< here.
} FlReplica;

/// How a replica is to be moved until the next frame.
typedef struct FlGuideView {
    FlGuideMode mode; ///< NEAR: put it at `pose`. Else: walk it to `goal`.
    bool cut;         ///< A life began: put it at its goal (NEAR: at `pose`) at once.
    uint32_t life;    ///< Of the two, what `mode` goes by; low bits.
    FlGuideGoal goal; ///< `target` is an entity's number.
    FlPose pose;      ///< As fl_entity_pose.
    uint8_t blanks[FL_GUIDANCE_ACTIONS]; ///< Actions to be played now, each.
} FlGuideView;

/// Where somebody's entity is to be shown, once a frame; how near the replica is, is told to its
/// owner. An entity that nobody guides is NEAR, always. Errors: FL_STALE_ID; FL_BAD_VALUE (ours);
/// FL_NOT_FOUND (nothing known of it yet).
FL_API FL_NODISCARD FlResult fl_entity_guide_view(FlSession *session, FlEntityId id,
                                                  const FlReplica *replica, FlTime now,
                                                  FlGuideView *view);

/// What the focus policies decided last.
FL_API FlFocusFrame fl_session_frame(const FlSession *session);

// ---------------------------------------------------------------- events

/// The longest event, ordered; unordered and quickest ones are up to FL_EVENT_SHORT_BYTES.
#define FL_EVENT_BYTES 1024
#define FL_EVENT_SHORT_BYTES 192

/// Types from here on are the session's own.
#define FL_EVENT_TYPES 0xff00

/// A reliable typed message. From one source, ordered ones arrive in order.
typedef struct FlEvent {
    FlPeerId from;  ///< Set on arrival. {0}: it has left meanwhile.
    int32_t number; ///< Set on arrival: the sender's number, also when it has left.
    uint16_t type;  ///< The game's own, below FL_EVENT_TYPES.
    FlDelivery delivery;
    const uint8_t *bytes; ///< On arrival: in the session, valid until the next call on it.
    int32_t count;        ///< 0 is fine.
} FlEvent;

/// To one peer; {0}: to all others.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (too long); FL_WOULD_BLOCK (a queue is full: try again next
/// tick; nobody got it).
FL_API FL_NODISCARD FlResult fl_event_send(FlSession *session, FlPeerId to, const FlEvent *event);

/// To some, at most 64 of them.
FL_API FL_NODISCARD FlResult fl_event_send_some(FlSession *session, const FlPeerId *to,
                                                int32_t to_count, const FlEvent *event);

/// The next event that arrived. Take all every tick. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_event_take(FlSession *session, FlEvent *event);

// ---------------------------------------------------------------- actions
//
// What players do to things that all share, played everywhere in the same order and with the same
// time between, without a common clock: room `agree` (FlLags, FlOrder) says how. An action is
// played at nobody's at once, its own player's neither; how soon is the network's to say
// (fl_lags_status).

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
/// half of our share of `action_capacity` waits to be played: nobody got it, try again next tick).
FL_API FL_NODISCARD FlResult fl_action_send(FlSession *session, uint16_t type, const void *bytes,
                                            int32_t count, FlTime now);

/// The next action to be played at `now`. Take all every tick: what somebody sends beyond its share
/// of `action_capacity` is lost here, and counted. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_action_take(FlSession *session, FlTime now, FlAction *action);

/// When the next one is due, on the caller's clock; FL_FOREVER: none is here.
FL_API FlTime fl_action_deadline(const FlSession *session);

/// The session's lags, to read; NULL: no actions in this session.
FL_API const FlLags *fl_session_lags(const FlSession *session);

// ---------------------------------------------------------------- inputs

/// Our input for a tick, `input_bytes` of it: sent again with each newer one until it has arrived.
/// Ticks go up one by one from the first given, at the pace of the game: a host that passes them on
/// sends away whoever gets `input_ticks` ahead of others that do keep up (FL_LEFT_TOO_FAST).
/// After a pause (a stopped process, a long load) hand in the ticks that were missed one after the
/// other, nobody's were lost meanwhile: what came is here, and what others did not get goes out as
/// long as it is within `input_ticks`. Errors: FL_OUT_OF_ORDER
/// (not the next tick); FL_WOULD_BLOCK (`input_ticks` are under way: somebody does not keep up, or
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
/// of another length, or it has fewer players than the session members); FL_NO_MEMORY (for a copy
/// of its state).
FL_API FL_NODISCARD FlResult fl_session_timeline(FlSession *session, FlTimeline *timeline,
                                                 bool begun);

/// Feeds the timeline with all inputs that are here, and plays up to state `present`. Call it every
/// frame. Errors: FL_NOT_FOUND (no timeline); FL_WOULD_BLOCK (no state yet).
FL_API FL_NODISCARD FlResult fl_session_advance(FlSession *session, int64_t present);

/// Host: a peer gets the settled state, and plays from a tick on. Choose one so far ahead that the
/// word of it reaches everybody before: two seconds. If a large state takes its time, it is as much
/// later. Whoever plays hands in inputs from its first tick on (fl_timeline_first).
/// Errors: FL_STALE_ID; FL_BAD_VALUE (not the host, or no timeline); FL_WOULD_BLOCK (try again next
/// tick); as fl_timeline_enter.
FL_API FL_NODISCARD FlResult fl_session_player(FlSession *session, FlPeerId peer, int64_t tick);

// ---------------------------------------------------------------- calls
//
// Changing what somebody else owns: "I hit it", "I take it". A call goes to the owner, whose game
// decides it, once; the caller learns applied, refused or unknown, and the new state with it. What
// calls change belongs into the entity's state blob; that, and only that, outlives its owner
// (FlEntityDef.stays). fairlead/call.h has the kinds and their arguments; docs/guide/calls.md.

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
    bool predicted;
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

/// Calls on an entity, somebody's or our own. `*serial` comes back as the result's id.
/// Errors: FL_STALE_ID; FL_BAD_VALUE (too long); FL_WOULD_BLOCK (too many are open, take results;
/// or session time is not known yet).
FL_API FL_NODISCARD FlResult fl_call_send(FlSession *session, FlEntityId id, const FlCallDef *call,
                                          FlTime now, uint32_t *serial);

/// The next call to decide. Take all every tick, and answer each before the next. Errors:
/// FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_call_take(FlSession *session, FlCall *call);

/// Decides a call. Applied: change the entity's state first (fl_entity_state_set), or give the new
/// one here; NULL: as it is. The answer brings it, unless the caller predicted it.
/// Errors: FL_STALE_ID (the entity is gone, not ours any more, or the call was answered before: do
/// not apply it); FL_BAD_VALUE (too long a state).
FL_API FL_NODISCARD FlResult fl_call_answer(FlSession *session, const FlCall *call, bool applied,
                                            const void *state, int32_t state_count, FlTime now);

/// The next call of ours whose fate is known. An unknown one whose owner is gone comes when there
/// is a new owner, with its state. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_call_done(FlSession *session, FlTime now, FlCallDone *done);

/// Counters and latencies.
FL_API FlCallStats fl_call_stats(const FlSession *session);

/// From now on calls of kind FL_CALL_DAMAGE that cannot be true are refused, where we show the
/// target to the shooter: as its owner, or as the host that passes it on (without arguments, so
/// that its owner refuses it). NULL: only those without sound arguments are. What `rules` points to
/// must live on; the rules themselves are copied.
FL_API void fl_call_hit_rules(FlSession *session, const FlHitRules *rules);

/// Whether a peer can have hit an entity that we show it. Errors: FL_STALE_ID; FL_NOT_FOUND (we do
/// not show it that entity).
FL_API FL_NODISCARD FlResult fl_call_verify_hit(FlSession *session, FlEntityId target,
                                                FlPeerId shooter, const FlHitCall *hit,
                                                const FlHitRules *rules, FlTime now,
                                                FlHitVerdict *verdict);

// ---------------------------------------------------------------- crowds

/// A client's crowd (FL_TOPOLOGY_CROWD): tell it our avatar, whom we look at, and ask it where the
/// others are, all in session time. Members are by number (FlPeerStatus.number). NULL in any other
/// session, and until we are in. Its host keeps the list and introduces; it does not play, and the
/// session ends with it.
FL_API FlCrowd *fl_session_crowd(FlSession *session);

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
    X(ACTIONS_SENT, "actions_sent", "own actions sent")                                            \
    X(ACTIONS_TAKEN, "actions_taken", "actions played, own ones included")                         \
    X(ACTIONS_LATE, "actions_late", "actions played after something later")                        \
    X(ACTIONS_LOST, "actions_lost", "actions dropped: too far ahead, or above a sender's share")   \
    X(PARTED, "parted",                                                                            \
      "times that a peer could not, or no longer, be reached directly where it should be")         \
    X(EARLY, "early", "words of, or to, one that hosts now, before we knew: told again")           \
    X(STRANGER, "stranger", "datagrams dropped: from nobody we know")                              \
    X(SEALED_BADLY, "sealed_badly", "datagrams dropped by the seal, whatever the reason")          \
    X(MALFORMED, "malformed", "payloads and messages dropped: no sender writes that")              \
    X(FOREIGN, "foreign", "updates dropped: the entity is not the sender's")                       \
    X(OLD_EPOCH, "old_epoch", "updates and states dropped: of an owner before this one")           \
    X(NO_ROOM, "no_room", "updates dropped: too many entities known")                              \
    X(UNTRACKED, "untracked", "updates whose arrival is not awaited: item_capacity is too small")  \
    X(NOTICES_LOST, "notices_lost", "notices left out: fl_session_poll is called too rarely")      \
    X(STALLED, "stalled", "peers sent away: they did not take their messages, or did not answer")  \
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

FL_API uint64_t fl_session_count(const FlSession *session, FlSessionCount which);
FL_API const char *fl_session_count_name(FlSessionCount which);

/// Datagrams that the seal dropped, by its reasons. 0 in a session that is not sealed.
FL_API uint64_t fl_session_seal_drops(const FlSession *session, FlSealDrop drop);

#endif
