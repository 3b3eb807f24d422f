// Module `connection`: how to reach one member. Address, seal, link, session time over it, share of
// the upload. Connections are named by index.
#ifndef FAIRLEAD_CONNECTION_H
#define FAIRLEAD_CONNECTION_H

#include "kernel/kernel.h"
#include "seal/seal.h"

// ---------------------------------------------------------------- connection.c

FlResult fl__connections_create(FlSession *session, FlTime now);
void fl__connections_destroy(FlSession *session);

/// How many there can be; what each takes.
int32_t fl__connections_most(const FlSessionDef *def);

/// A crowd's members are connected to the host, and to so many who may take over from it.
#define FL__SUCCESSORS 2

/// It has connections for all members, so it can host them.
bool fl__may_lead(const FlSessionDef *def);
size_t fl__connection_bytes(const FlSessionDef *def);

/// What a connection is made of.
typedef struct ConnectionDef {
    int32_t member;
    FlAddress address;
    bool direct;           // to an introduced peer, not between host and client
    bool unproven;         // nothing has come over it, so nothing goes out
    uint16_t conversation; // not sealed: the link's number
    FlSealPeer seal_peer;  // sealed, at the host
    FlSealPair *pair;      // sealed, introduced; the connection's from now on
} ConnectionDef;

/// False: no memory; counted. The pair is gone then.
bool fl__connection_open(FlSession *session, int32_t index, const ConnectionDef *def, FlTime now);
void fl__connection_close(FlSession *session, int32_t index);

int32_t fl__connection_at(const FlSession *session, FlAddress address); // FL__NONE: none
int32_t fl__connection_free(const FlSession *session);

/// Not sealed: the one whose other end may have moved to this address, by what came from there;
/// else FL__NONE.
int32_t fl__connection_moving(const FlSession *session, FlAddress from, const uint8_t *bytes,
                              int32_t count, FlTime arrival);
void fl__connection_moved(FlSession *session, int32_t index, FlAddress address);

bool fl__connection_used(const FlSession *session, int32_t index);
bool fl__connection_received(const FlSession *session, int32_t index); // something came over it
bool fl__connection_direct(const FlSession *session, int32_t index);
bool fl__connection_silent(const FlSession *session, int32_t index);  // direct: does not answer
bool fl__connection_reaches(const FlSession *session, int32_t index); // the other end is there
bool fl__connection_unproven(const FlSession *session, int32_t index);
bool fl__connection_waiting(const FlSession *session, int32_t index); // nothing but the link's goes
bool fl__connection_paired(const FlSession *session, int32_t index);  // sealed, and introduced
bool fl__connection_short(const FlSession *session, int32_t index);   // of bytes to send with
bool fl__connections_short(const FlSession *session);                 // one of them
int32_t fl__connection_member(const FlSession *session, int32_t index);
uint16_t fl__connection_conversation(const FlSession *session, int32_t index);
FlAddress fl__connection_address(const FlSession *session, int32_t index);
FlLink *fl__connection_link(const FlSession *session, int32_t index);

/// From a host: neither we nor an introduced peer lead over it.
bool fl__connection_from_host(const FlSession *session, int32_t index);

void fl__connection_set_member(FlSession *session, int32_t index, int32_t member);
void fl__connection_set_received(FlSession *session, int32_t index);
void fl__connection_set_silent(FlSession *session, int32_t index, bool silent);
void fl__connection_set_waiting(FlSession *session, int32_t index, bool waiting);
void fl__connection_set_short(FlSession *session, int32_t index, bool is_short);

/// Its member may lead for all it knows: no fault if it speaks as a host.
void fl__connection_set_may_lead(FlSession *session, int32_t index, bool may_lead);

/// It leads to an introduced peer, or to a host or client, from now on.
void fl__connection_set_direct(FlSession *session, int32_t index, bool direct, FlTime now);

/// Takes a packet from it. False: it is dropped and counted.
bool fl__connection_receive(FlSession *session, int32_t index, FlAddress from, uint64_t sequence,
                            const uint8_t *bytes, int32_t count, FlTime arrival,
                            FlLinkPacket *packet);

/// Counts what its member may not send: a fault, unless it is `early`: its sender may lead, for all
/// it knows.
void fl__connection_foreign(FlSession *session, int32_t index);
void fl__connection_malformed(FlSession *session, int32_t index);
void fl__connection_refused(FlSession *session, int32_t index, bool early);

/// It has sent so many faults within a short time that no honest member does.
bool fl__connection_hostile(const FlSession *session, int32_t index);

/// Looked at at the next chance; when it wants to be looked at.
void fl__connection_wake(FlSession *session, int32_t index);
void fl__connection_wake_at(FlSession *session, int32_t index, FlTime time);
FlTime fl__connection_due(const FlSession *session, int32_t index);
FlTime fl__connections_due(const FlSession *session); // the earliest

/// Whose turn it is in this round; FL__NONE: the round is over. It stays its turn until it is
/// passed on.
int32_t fl__connection_turn(FlSession *session, FlTime now);
void fl__connection_pass(FlSession *session);
bool fl__connections_begin(const FlSession *session); // a round begins

/// Where packets are built: a payload at FL_SEAL_HEAD_BYTES. FL_SEAL_PACKET_BYTES.
uint8_t *fl__packet_bytes(const FlSession *session);

void fl__datagram_came(FlSession *session, FlTime arrival);
FlTime fl__datagram_came_at(const FlSession *session); // the last one, on the caller's clock
uint32_t fl__datagrams_came(const FlSession *session);

// ---------------------------------------------------------------- time.c

/// When a packet came over a connection, in session time.
typedef struct PacketTimes {
    FlTime arrived; // as the sender will know it
    FlTime near;    // what updates' times are unwrapped against
    FlTime sent;    // by the sender's session time; INT64_MIN: not known
} PacketTimes;

bool fl__time_known(const FlSession *session); // session time runs
void fl__time_update(FlSession *session, FlTime now);
FlTime fl__time_latest(const FlSession *session); // session time when it was last updated
FlTime fl__time_next(const FlSession *session);   // when it wants to be updated, caller's clock

/// A client counts from here.
void fl__time_begin(FlSession *session, FlTime now);

/// Follows the clock of a connection's other end, by its WELCOME: first, and again.
void fl__time_welcomed(FlSession *session, int32_t index, FlTime offset);
void fl__time_corrected(FlSession *session, int32_t index, FlTime offset);
FlTime fl__time_offset(const FlSession *session, int32_t index); // for the WELCOME

/// The host has changed: we lead, or follow the other end. Session time goes on without a step.
void fl__time_lead(FlSession *session);
void fl__time_follow(FlSession *session, int32_t index, FlTime now);

PacketTimes fl__packet_times(FlSession *session, int32_t index, const FlLinkPacket *packet,
                             FlTime arrival);

/// The same moment, at the sender: a packet sent at `sent` arrived at `arrived_remote` (the peer's
/// link clock).
FlTime fl__arrival_time(const FlSession *session, int32_t index, FlTime sent,
                        FlTime arrived_remote);

/// Session time at which our packet of caller's time `sent` is stamped.
FlTime fl__stamp_of(const FlSession *session, int32_t index, FlTime sent);

/// The other end's session time when it sent the newest packet that came; INT64_MIN: not known.
FlTime fl__packet_newest_sent(const FlSession *session, int32_t index);

/// A packet came, whatever it brought: our clock offset stays near session time.
void fl__clock_offset_keep(FlSession *session, int32_t index, const FlLinkPacket *packet,
                           FlTime arrival);

/// An introduced peer waits for our first clock offset: makes it, if the time is known. True: it
/// still waits.
bool fl__clock_offset_awaited(FlSession *session, int32_t index, FlTime now);

/// The WELCOME says how arrivals here are placed.
void fl__clock_offset_welcomes(FlSession *session, int32_t index);
bool fl__clock_offset_received(const FlSession *session,
                               int32_t index); // how the other end places them
bool fl__clock_offset_sent(const FlSession *session,
                           int32_t index); // one of ours has arrived there
bool fl__clock_offset_first(const FlSession *session, int32_t index); // ours is still to arrive

/// CLOCK_OFFSET: how I place what arrives here. Bytes of what is not known to have arrived (0:
/// nothing); writing it returns a serial to know its arrival by. Reading: false if no sender writes
/// that.
int32_t fl__clock_offset_bytes(const FlSession *session, int32_t index);
uint32_t fl__clock_offset_write(FlSession *session, int32_t index, FlWriter *w);
bool fl__clock_offset_skip(FlReader *r);

/// True: the first that has arrived, there or here.
bool fl__clock_offset_arrived(FlSession *session, int32_t index, uint32_t serial);
bool fl__clock_offset_take(FlSession *session, int32_t index, FlReader *r);

/// A time that is sound in a message.
bool fl__offset_is_sound(FlTime offset);

// ---------------------------------------------------------------- upload.c

/// Bytes that may go now, besides headers; below 0: nothing may. INFINITY without a limit.
double fl__upload_left(FlSession *session, FlTime now);

/// Of that, what the last second leaves, whatever the flow.
double fl__upload_window(FlSession *session, FlTime now);

/// Whether a datagram that is all headers may go: what is kept back for them has room.
bool fl__upload_fits(FlSession *session, FlTime now, int32_t datagram_bytes);

/// A datagram goes out. The link has counted `counted_bytes` of it against the budget.
void fl__upload_sent(FlSession *session, FlTime now, int32_t datagram_bytes, int32_t counted_bytes);

/// So many updates are in the packet being built. It was made: what was in it besides payload is
/// shared by its updates: so many bytes each, as learnt.
void fl__upload_updates(FlSession *session, int32_t count);
void fl__upload_learn(FlSession *session, int32_t packet_bytes, int32_t payload_bytes);
double fl__upload_header_bytes(const FlSession *session);

/// What a packet takes besides what it carries, about.
double fl__upload_packet_bytes(const FlSession *session);

#endif
