// Module `member`: who is here, how it got in, and who leads. Members are named by number.
#ifndef FAIRLEAD_MEMBER_H
#define FAIRLEAD_MEMBER_H

#include "connection/sealed.h"
#include "packet/packet.h"

/// What an introduction is for.
typedef enum MeetFor {
    MEET_DIRECTLY,  ///< A connection; in a crowd a light one.
    MEET_NEW_KEYS,  ///< The connection goes on, if there is one.
    MEET_SUCCESSOR, ///< In a crowd: a connection; the member named may take over from the host.
    MEET_FOLLOWER,  ///< In a crowd: a connection; we may take over.
    MEET_FORS,
} MeetFor;

/// Two members should talk directly: with keys, or with a conversation number where there are none.
typedef struct MeetMessage {
    uint16_t member;
    uint32_t incarnation;
    MeetFor purpose;
    uint16_t conversation; ///< 1 to 65535; 0: with keys.
    FlAddress address;     ///< Where it is, as the host sees it.
    int32_t key_bytes;     ///< 0: without keys.
    uint8_t keys[SEALED_KEY_BYTES];
} MeetMessage;

/// Whether the sender reaches a member directly.
typedef struct ReachMessage {
    uint16_t member;
    uint32_t incarnation;
    bool direct;
} ReachMessage;

extern const Feature fl__feature_member, fl__feature_succession, fl__feature_mesh,
    fl__feature_clock, fl__feature_entered;

FlResult fl__members_create(FlSession *session, FlTime now);
void fl__members_destroy(FlSession *session);
size_t fl__members_bytes(const FlSessionDef *def);
size_t fl__members_connection_bytes(const FlSessionDef *def);

// ---------------------------------------------------------------- member.c

bool fl__member_present(const FlSession *session, int32_t number);
uint32_t fl__member_incarnation(const FlSession *session, int32_t number);
int32_t fl__member_connection(const FlSession *session, int32_t number); // or FL__NONE
FlPeerId fl__peer_id(const FlSession *session, int32_t number);

/// The member's number, or FL__NONE for an id that is stale.
int32_t fl__member_of(const FlSession *session, FlPeerId peer);

/// The connection that leads to a member: its own, else the host's; also for an owner that is not
/// known (FL__NONE). FL__NONE: none does.
int32_t fl__route(const FlSession *session, int32_t number);

/// What is known of how a member is reached. False: the id is stale.
bool fl__member_status(const FlSession *session, FlPeerId peer, FlPeerStatus *status);

/// Welcomed, with our number and the time: only then can a game do everything.
void fl__member_look_whether_in(FlSession *session);

// ---------------------------------------------------------------- announce.c

/// Queues a reliable message for the host. Errors: as fl_link_send.
FlResult fl__host_send(FlSession *session, const FlWriter *writer);

// ---------------------------------------------------------------- goodbye.c

/// The connection died or was left: its member is gone, or (introduced) goes through the host.
void fl__connection_lost(FlSession *session, int32_t index, FlLeft left, FlTime now);

/// The last words go before anything else does.
bool fl__goodbye_next(FlSession *session, FlOutgoing *out);
bool fl__goodbyes_wait(const FlSession *session);

// ---------------------------------------------------------------- join.c, join_sealed.c, refuse.c

/// True if the datagram belongs to joining, taken or counted.
bool fl__join_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                      FlTime arrival);

/// The next datagram of joining or leaving. False if there is none.
bool fl__join_next(FlSession *session, FlTime now, FlOutgoing *out);

/// When fl__join_next will have something to do.
FlTime fl__join_deadline(const FlSession *session, FlTime now);

/// A sealed datagram, opened.
Opened fl__join_open(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                     FlTime arrival);
bool fl__join_sealed_next(FlSession *session, FlTime now, FlOutgoing *out);

/// Plain host: refuses a request for a sealed connection. False: it is none.
bool fl__refuse_sealed(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime now);

/// A payload came over a connection. True: it was the host's last word, taken or counted.
bool fl__away_receive(FlSession *session, int32_t index, const uint8_t *bytes, int32_t count,
                      FlTime now);

/// A packet came over a connection: its other end is there.
void fl__member_came(FlSession *session, int32_t index, FlTime now);

// ---------------------------------------------------------------- messages.c

/// A member asks to be introduced to another.
void fl__want_message_write(FlWriter *w, uint16_t member);

// ---------------------------------------------------------------- mesh.c

/// An owner is reached by a member without us.
bool fl__member_without_us(const FlSession *session, int32_t owner, int32_t member);

/// CHANGE_REACH: for whom that has changed, of an owner; a set of members.
const uint64_t *fl__reach_changed(const FlSession *session, int32_t owner);

/// Host of a crowd: a member may take over.
bool fl__member_leads(const FlSession *session, int32_t member);

/// Host of a crowd that plays: introduces a member to us.
void fl__introduce_to_us(FlSession *session, int32_t member);

/// Reports to the host whom we reach directly.
void fl__reach_announce(FlSession *session);

// ---------------------------------------------------------------- succession.c

/// Host: its member has answered us as the host.
void fl__succession_followed(FlSession *session, int32_t connection);

#endif
