// Private to room `session`.
//
//   join.c      getting in: JOIN, WELCOME, REFUSE
//   entity.c    the table of entities; triggers in, poses out
//   payload.c   updates in and out of packets
//   session.c   peers, time, and the loop over them
#ifndef FAIRLEAD_SESSION_PRIVATE_H
#define FAIRLEAD_SESSION_PRIVATE_H

#include "fairlead/session.h"

#define FL__PEER_NONE (-1)

typedef struct Peer {
    bool used;
    FlAddress address;
    uint64_t nonce; // the client's, by which a repeated JOIN is known
    uint16_t conversation;
    FlLink *link;
    uint32_t first_entity; // the numbers that are this peer's to give
    uint32_t entity_count;
    int32_t entity_next; // where the next packet goes on looking for due updates
    bool welcome_due;    // host: say WELCOME (again)
} Peer;

typedef struct Entity {
    uint32_t generation; // odd while live
    uint32_t number;
    int32_t owner; // peer index, or FL__PEER_NONE: ours
    FlEntityDef def;
    uint32_t life;
    // ours
    FlExporter exporter;
    uint8_t packed[FL_UPDATE_BYTES_MAX]; // the newest update, as it travels
    int32_t packed_bytes;                // 0: none yet
    // others'
    FlShow show;
} Entity;

/// An answer to somebody who is not let in.
typedef struct Refusal {
    bool due;
    FlAddress to;
    uint64_t nonce;
    uint8_t reason;
} Refusal;

struct FlSession {
    FlSessionDef def;
    FlWorld world;
    FlRandom random;
    FlSessionState state;
    FlSessionClock clock;
    FlTime epoch;   // what `clock` counts from: 0 at the host, a client's joining
    FlTime told_at; // the last `now` that `clock` was told, less the epoch
    Peer *peers;
    int32_t peer_next; // where fl_session_next goes on
    Entity *entities;
    bool *due;          // [entity * peer_capacity + peer]: the newest update is owed to that peer
    int32_t *by_number; // entity slot of a wire number, -1: none; world's entity capacity long
    uint32_t own_first, own_count; // entity numbers that are ours to give
    uint32_t own_next;
    FlTime join_next, join_until;
    uint32_t heard_count; // datagrams of any kind
    uint64_t nonce;
    Refusal refusal;
    const char *trouble; // lives for ever; NULL while there is none
    uint64_t count[FL_SESSION_COUNTS];
    uint8_t packet[FL_LINK_PACKET_BYTES];
};

// ---------------------------------------------------------------- session.c

/// The clock that fl_session_clock works on here: the caller's at the host, at a client the link's
/// (also when the link is gone).
FlTime fl__session_local(const FlSession *session, FlTime now);

/// `why` is text that lives for ever.
void fl__session_end(FlSession *session, const char *why);

/// Opens the conversation with a peer. False: no memory.
bool fl__peer_open(FlSession *session, Peer *peer, FlTime now);
void fl__peer_drop(FlSession *session, int32_t index);

/// Whoever comes late gets everything there is.
void fl__peer_owe_all(FlSession *session, const Peer *peer, FlTime now);

// ---------------------------------------------------------------- join.c

/// True if the datagram belongs to joining, taken or counted.
bool fl__join_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                      FlTime arrival);

/// The next datagram of joining: a client's JOIN, a host's WELCOME or REFUSE. False if there is
/// none.
bool fl__join_next(FlSession *session, FlTime now, FlOutgoing *out);

/// When fl__join_next will have something to do.
FlTime fl__join_deadline(const FlSession *session, FlTime now);

// ---------------------------------------------------------------- entity.c

Entity *fl__entity_find(const FlSession *session, FlEntityId id);

/// Live, and ours.
bool fl__entity_is_ours(const Entity *entity);

/// The slot of a remote entity by its number, made if it is new. NULL: no room.
Entity *fl__entity_remote(FlSession *session, int32_t peer, uint32_t number);
void fl__entity_remove(FlSession *session, Entity *entity);

/// Tells an old motion of ours anew, to everybody: what travels of a time goes back 15 s only.
/// `now` is session time.
void fl__entity_refresh(FlSession *session, Entity *entity, FlTime now);
bool *fl__entity_due(const FlSession *session, const Entity *entity, int32_t peer);

// ---------------------------------------------------------------- payload.c

void fl__payload_read(FlSession *session, int32_t peer, const FlLinkPacket *packet, FlTime arrival);

/// Bytes that a payload with the next due update takes; 0: none is due.
int32_t fl__payload_needs(const FlSession *session, int32_t peer);

/// Writes as many due updates as fit into `room` bytes.
void fl__payload_write(FlSession *session, int32_t peer, FlWriter *writer, int32_t room,
                       FlTime now);

#endif
