// Private to module `connection`.
//
//   table.c       the table: by address, what is known of each, whose turn it is
//   connection.c  opening and closing them, and packets that come
//   time.c        session time; and when, in it, something arrived at the other end
//   sealed.c      sealing and opening (sealed_none.c: no libsodium)
//   upload.c      how much may go out in all
#ifndef FAIRLEAD_CONNECTION_PRIVATE_H
#define FAIRLEAD_CONNECTION_PRIVATE_H

#include "clock/clock.h"
#include "connection/connection.h"

/// From `from` (the receiver's link clock) on, session time there is the link clock plus `offset`.
typedef struct ClockOffset {
    FlTime from;
    FlTime offset;
    uint32_t serial;
} ClockOffset;

#define CLOCK_OFFSETS 4

/// What one end reports to the other about when things arrived, in session time. A receiver places
/// by this, not by its smoothly bent clock, so that the distributor knows to the bit what it
/// placed.
typedef struct ClockOffsets {
    ClockOffset entry[CLOCK_OFFSETS]; // by serial
    uint32_t count;                   // serials so far
    uint32_t sent;                    // serials below this are known to be known
} ClockOffsets;

typedef struct Connection {
    bool used;
    bool received;       // something came over it: the other end is there
    bool direct;         // to an introduced peer, not between host and client
    bool silent;         // direct: it does not answer any more
    bool unproven;       // host, not sealed: nothing has come over it, so nothing goes out
    bool waiting;        // host: its member is not let in yet; nothing but the link's goes
    bool may_lead;       // its member may lead, for all it knows: no fault if it speaks as a host
    bool short_of_bytes; // something waits for the upload, or for the link's budget
    int32_t fault_count; // what its member may not send,
    FlTime fault_since;  // since then
    int32_t member;
    FlAddress address;
    FlLink *link;
    uint16_t conversation;      // not sealed: the link's number
    FlSealPeer seal_peer;       // sealed, at the host
    FlSealPair *pair;           // sealed, introduced
    FlTime offset;              // session time minus the link clock of the end that leads
    ClockOffsets own_offsets;   // how arrivals here are placed, for the other end to know
    ClockOffsets their_offsets; // how the other end places them
} Connection;

#define UPLOAD_SLOTS 127

/// What has gone out, over all connections.
typedef struct Upload {
    FlBudget budget;
    FlTime slot;                // the newest, by number
    FlTime last[UPLOAD_SLOTS];  // when the last bytes of a slot went
    int32_t sent[UPLOAD_SLOTS]; // bytes, by slot
    double held;                // tokens that the window has no room for yet
    int32_t in_window;          // bytes of all slots
    int32_t update_count;       // in the packet being built
    double header_bytes;        // of packets, per update in them; learnt
} Upload;

typedef struct Sealed Sealed; // sealed.c's own

struct Connections {
    Connection *all;
    FlTime *wake;     // [connection]: when it wants to be looked at
    int32_t next;     // where the round goes on, counted from
    int32_t turn;     // the one that a round begins with: it found no bytes in the last
    Fl__Addresses at; // by address
    Upload upload;
    Sealed *sealed;      // NULL: anybody may join
    bool has_pairs;      // sealed: there are or were introduced peers
    int32_t short_count; // connections that are short of bytes

    FlSessionClock clock;
    int32_t followed;    // whose other end's clock it follows; FL__NONE: none
    FlTime epoch;        // what `clock` counts from: 0 at the host, a client's joining
    FlTime clock_at;     // the last `now` given to `clock`, less the epoch
    FlTime clock_now;    // the same with it,
    uint32_t clock_came; // and how many datagrams had come
    uint32_t came;       // datagrams of any kind
    FlTime came_at;      // when the last one came, on the caller's clock
    uint8_t packet[FL_SEAL_PACKET_BYTES];  // what is being built: a payload at FL_SEAL_HEAD_BYTES
    uint8_t opening[FL_SEAL_PACKET_BYTES]; // a sealed datagram being opened
};

static inline Connection *fl__connection(const FlSession *session, int32_t index)
{
    return &session->connections->all[index];
}

/// One has come, gone or moved.
void fl__addresses_changed(FlSession *session);

/// What links share; NULL: nothing.
FlBudget *fl__upload_budget(FlSession *session);
void fl__upload_start(FlSession *session, FlTime now);

/// The connection that the next round begins with.
int32_t fl__upload_turn(const FlSession *session);

#endif
