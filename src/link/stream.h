// Private to module `link`: reliable data.
#ifndef FAIRLEAD_LINK_STREAM_PRIVATE_H
#define FAIRLEAD_LINK_STREAM_PRIVATE_H

#include "fairlead/link.h"

#include "base/private.h"
#include "link/link.h"

// ---------------------------------------------------------------- stream.c

#define FRAGMENTS_PER_PACKET 16
#define PAYLOAD_RESERVE 128 // bytes that reliable data leaves to payload in every packet

typedef struct FragmentRef {
    uint16_t serial;
    uint8_t stream;
} FragmentRef;

typedef struct OutSlot {
    FlTime sent_at; // NEVER: not yet
    uint16_t length;
    uint8_t tries;
    bool acked;
    bool quickest;
    bool refused; // the peer had no room for it: it waits its time out
    uint8_t priority;
    uint8_t after;    // fragments back: it is not taken before that one; 0: at once
    uint32_t channel; // whose order it keeps; 0: none's
    uint8_t bytes[FL_LINK_FRAGMENT_BYTES];
} OutSlot;

typedef struct InSlot {
    uint16_t length;
    bool present;
    bool taken;    // unordered only: by the user; still present until the window has moved past it
    uint8_t after; // as OutSlot's
    uint8_t bytes[FL_LINK_FRAGMENT_BYTES];
} InSlot;

typedef struct Stream {
    OutSlot *out; // FL_LINK_WINDOW of them, by serial
    InSlot *in;
    int64_t out_first, out_next;
    int64_t in_next;
    int32_t in_offset;  // ordered only: bytes of fragment in_next that are in the ring already
    int32_t in_waiting; // unordered only: present, and not taken yet
    int64_t ranked;     // unordered only: the last serial with a priority, plus one
    int32_t packet_end; // where fragments end in a packet
    bool ordered;
    Fl__Ring out_ring, in_ring; // ordered only: messages with their lengths
    // how fast the peer takes what is queued; bytes if ordered, messages if not
    int64_t queued, accepted; // in all; accepted: without a gap
    int64_t mark;             // accepted is to get here: half a queue on, or all that is queued,
    FlTime mark_at;           // since
} Stream;

enum { STREAM_ORDERED, STREAM_UNORDERED, STREAM_COUNT };

/// How reliable data is repeated.
typedef struct Repeat {
    FlTime timeout_ns;      // after this, send again; later every further time,
    FlTime latest_ns;       // but at least this often
    FlTime margin_ns;       // a fragment overtaken by this much is taken for lost
    FlTime delivered_after; // the newest sending time known to have been delivered
} Repeat;

/// Time goes on; and for how long the peer has not accepted half a queue's worth, or all there was.
void fl__stream_update(Stream *s, FlTime now);
FlTime fl__stream_waiting(const Stream *s, FlTime now);

FlResult fl__stream_send(Stream *s, const void *bytes, int32_t count, bool quickest);

/// Unordered only: a message that keeps the order of a channel, 1 or more, and of no other.
FlResult fl__stream_send_channel(Stream *s, const void *bytes, int32_t count, uint32_t channel,
                                 uint8_t priority);

FlResult fl__stream_take(Stream *s, void *buffer, int32_t capacity, int32_t *count);

/// True if the message at the head of the ordered stream can never be taken: the conversation is
/// broken.
bool fl__stream_broken(const Stream *s);

/// Has it anything to send, now or later?
bool fl__stream_idle(const Stream *s);

/// When the next fragment is due; FL_FOREVER if none is.
FlTime fl__stream_due(const Stream *s, const Repeat *repeat);

/// Bytes that due fragments would take in a packet at `now`, at most what one takes of them.
int32_t fl__stream_due_bytes(const Stream *s, const Repeat *repeat, FlTime now);

/// The fragments that one packet carries.
typedef struct Fragments {
    FragmentRef refs[FRAGMENTS_PER_PACKET];
    int32_t count;
    int32_t last_at; // the byte at which the last one starts
} Fragments;

/// Writes the stream's due fragments while there is room (PAYLOAD_RESERVE is left) and, but for the
/// quickest, while `budget_bytes` is above zero; the last one may overdraw it.
void fl__stream_encode(Stream *s, uint8_t stream, FlWriter *w, double budget_bytes, FlTime now,
                       const Repeat *repeat, Fragments *fragments);
void fl__stream_sent(Stream *s, uint16_t serial, FlTime now);

/// The packet that carried it arrived, and it was taken; or there was no room for it.
void fl__stream_acked(Stream *s, uint16_t serial);
void fl__stream_refused(Stream *s, uint16_t serial);

/// A fragment that came in, checked but not applied.
typedef struct FragmentMessage {
    uint8_t stream;
    uint8_t after;
    uint16_t serial;
    int32_t length;
    const uint8_t *bytes;
} FragmentMessage;

FlLinkDrop fl__fragment_decode(FlReader *r, FragmentMessage *m, bool *more);

/// Could a sender say this? And is there room?
FlLinkDrop fl__stream_check(const Stream *s, const FragmentMessage *m, bool *room);
void fl__stream_accept(Stream *s, const FragmentMessage *m);

#endif
