// fairlead/session.h: what stands behind fairlead.h: your own transport and clock, what others see,
// attention, guidance and crowds.
//
// A session does no I/O: datagrams go in by fl_session_receive and come out of fl_session_next; the
// time comes with every call. fl_session_host, _join and _pump are a thin module above this.
//
//     while (fl_session_running(session)) {
//         while (yours_receives(&datagram)) {
//             fl_session_receive(session, datagram.from, datagram.bytes, datagram.count, arrival);
//         }
//         fl_entity_set(session, tank, &state);
//         while (fl_session_next(session, now, &out) == FL_OK) {
//             yours_sends(&out);
//         }
//         yours_waits(fl_session_deadline(session, now));
//     }
#ifndef FAIRLEAD_SESSION_H
#define FAIRLEAD_SESSION_H

#include "fairlead/fairlead.h"

// ---------------------------------------------------------------- your own transport and clock

/// Reserves everything the session will ever use but its connections, which are made as peers join;
/// and of a crowd, which is made with the welcome, the seals of its light connections as they come.
/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (fl_session_def_problem says what, or the token is for
/// another world); FL_SYSTEM (libsodium does not start).
FL_API FL_NODISCARD FlResult fl_session_create(const FlSessionDef *def, FlTime now,
                                               FlSession **session);

/// A datagram came in. Whatever it is, it is taken or counted.
FL_API void fl_session_receive(FlSession *session, FlAddress from, const void *bytes, int32_t count,
                               FlTime arrival);

/// The next datagram to send now; call it until there is none. Time-outs are noticed here. Errors:
/// FL_NOT_FOUND (none).
FL_API FL_NODISCARD FlResult fl_session_next(FlSession *session, FlTime now, FlOutgoing *out);

/// When fl_session_next must be called again at the latest, if nothing else happens before. Of a
/// session that has ended: now, and then every 100 ms, so that a loop that waits for it sees that.
FL_API FlTime fl_session_deadline(FlSession *session, FlTime now);

/// Says goodbye: fl_session_next has the datagrams, and the session has ended at once. A host that
/// leaves a mesh hands the session on.
FL_API void fl_session_leave(FlSession *session, FlTime now);

/// Host of a sealed session: an invite as text. Whoever holds it can join, `uses` times until
/// `expire_s` (Unix time). `address` is where the guest reaches us.
/// Errors: FL_NOT_FOUND (not sealed, or not a host), FL_FULL, FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_session_invite_at(FlSession *session, FlTime now, FlAddress address,
                                                  uint32_t uses, uint64_t expire_s,
                                                  char text[FL_INVITE_TEXT]);

/// Datagrams that the seal dropped, by its reasons. 0 in a session that is not sealed.
FL_API uint64_t fl_session_seal_drops(const FlSession *session, FlSealDrop drop);

// ---------------------------------------------------------------- choices while it runs

/// Who talks to whom; FL_TOPOLOGY_STAR until the host has said so.
FL_API FlTopology fl_session_topology(const FlSession *session);

/// Places others' updates by another clock from now on; what is shown already stays as it is.
FL_API void fl_session_time_mode(FlSession *session, FlTimeMode mode);

/// When actions are played, as agreed with the others. Errors: FL_NOT_FOUND (no actions in this
/// session).
FL_API FL_NODISCARD FlResult fl_session_lags(const FlSession *session, FlTime now,
                                             FlLagsStatus *status);

/// Another policy for an entity of ours, or for anybody's whom a host relays it for, from now on;
/// what was counted stays. Only for those we distribute it to. Errors: FL_STALE_ID; FL_BAD_VALUE
/// (not ours and not the host, or settings out of range); FL_NOT_FOUND (the host relays it to
/// everybody); FL_WOULD_BLOCK (whose it is is being found out).
FL_API FL_NODISCARD FlResult fl_entity_policy(FlSession *session, FlTime now, FlEntityId id,
                                              const FlSend *send);

/// Changes Δ of another peer's entity that is shown by FL_HOLD_ADAPTIVE, beginning at a session
/// time: as fl_show_delta, for what FlDeltaControl says. Errors: FL_STALE_ID; FL_BAD_VALUE (ours,
/// or shown another way); FL_OUT_OF_ORDER (before the last change).
FL_API FL_NODISCARD FlResult fl_entity_delta(FlSession *session, FlEntityId id,
                                             const FlDeltaChange *change);

// ---------------------------------------------------------------- what others see

/// What is known here of one peer's view of an entity: exactly where we distribute it, from the
/// host's reports (once a second) where that does. Errors: FL_STALE_ID; FL_NOT_FOUND (not known).
FL_API FL_NODISCARD FlResult fl_entity_view(const FlSession *session, FlTime now, FlEntityId id,
                                            FlPeerId peer, FlLedgerView *view);

/// Accumulated error over all receivers of an entity: accuracy and fairness.
typedef struct FlEntityReport {
    int32_t receiver_count;
    double mean; ///< Distance times seconds.
    double sd;   ///< Population standard deviation: how unequal it is.
} FlEntityReport;

/// Errors: FL_STALE_ID; FL_NOT_FOUND (no receivers known).
FL_API FL_NODISCARD FlResult fl_entity_report(const FlSession *session, FlTime now, FlEntityId id,
                                              FlEntityReport *report);

/// Where a peer saw an entity at a session time, as far as it is remembered, if we distribute it to
/// that peer. Errors: FL_STALE_ID; FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_entity_seen(const FlSession *session, FlEntityId id, FlPeerId peer,
                                            FlTime time, FlPose *pose);

// ---------------------------------------------------------------- attention
//
// Policies `focus` and `focus+equal` serve those first who look: module `send` has the formulas
// (FlAttention), the game says who looks at what.

/// How much we look at another's entity, from 0 to 1; 0 until said. Sent to whoever distributes it
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
FL_API FL_NODISCARD FlResult fl_entity_interest(const FlSession *session, FlEntityId id,
                                                FlPeerId peer, double *attention,
                                                FlSendClass *send_class);

// Guided replicas (module `show` says what they are): with a policy that knows best effort,
// receivers at best effort get guidance in place of updates, those in focus beside them until their
// replica is near. A host that relays an entity decides so for those it relays to. In a crowd it
// goes beside updates, by the same carriers: what is watched is shown by updates, all else by
// guidance, with FlCrowdDef.guide_capacity entities at once; all others are NEAR. fl_entity_seen
// and errors take guidance for the update in whose place it went, which is approximate.

/// How far ahead guidance of an entity of ours should look: the time between guidances to one
/// receiver, on average. 0: stale.
FL_API FlTime fl_entity_guide_ahead(const FlSession *session, FlEntityId id);

/// What a guided entity of ours will do, once a frame, after fl_entity_set: where it will be
/// `ahead_ns` after `now`, how it will face, running counts of its actions. `entity`, `life` and
/// `time` are filled in. Receivers get updates while the last one is older than 200 ms. Errors:
/// FL_STALE_ID; FL_BAD_VALUE (not ours, not guided, or out of range: updates are sent
/// then); FL_WOULD_BLOCK (session time is not known yet); FL_FULL (a crowd's `guide_capacity`).
FL_API FL_NODISCARD FlResult fl_entity_guide(FlSession *session, FlTime now, FlEntityId id,
                                             const FlGuidance *guidance);

/// The game's replica of another peer's entity.
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
    uint8_t replayed[FL_GUIDANCE_ACTIONS]; ///< Actions to be played now, each.
} FlGuideView;

/// Where another's entity is to be shown, once a frame; how near the replica is, is reported to its
/// owner. An entity without guidance is NEAR, always. Errors: FL_STALE_ID; FL_BAD_VALUE (ours);
/// FL_NOT_FOUND (nothing known of it yet).
FL_API FL_NODISCARD FlResult fl_entity_guide_view(FlSession *session, FlTime now, FlEntityId id,
                                                  const FlReplica *replica, FlGuideView *view);

/// What the focus policies decided last.
FL_API FlFocusFrame fl_session_frame(const FlSession *session);

// ---------------------------------------------------------------- crowds

/// Where all others' entities are at `now`, by number (FlWorldDef.entity_capacity of them); those
/// of which nothing is known stay as they are. In a crowd by their newest updates, straight on:
/// much faster than asking one by one. Returns how many are known.
FL_API int32_t fl_entity_positions(FlSession *session, FlTime now, FlVec3 *positions);

/// A client's figures in a crowd. Errors: FL_NOT_FOUND (no crowd, or not in yet).
FL_API FL_NODISCARD FlResult fl_session_crowd_stats(const FlSession *session, FlCrowdStats *stats);

#endif
