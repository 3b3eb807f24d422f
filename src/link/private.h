// Private to module `link`: the parts of a link, each with its own file.
//
//   arrivals.c  what came in, reported to the peer until it confirms
//   sent.c      what went out, and what became of it
//   stream.c    reliable data: fragments, windows, repetition
//   budget.c    how many bytes may go
//   send.c      making packets: putting the parts together, and when
//   receive.c   taking packets
//   alive.c     the clock, and the end
//   link.c      memory, statistics
#ifndef FAIRLEAD_LINK_PRIVATE_H
#define FAIRLEAD_LINK_PRIVATE_H

#include "fairlead/link.h"

#include "base/private.h"
#include "link/link.h"

#include "stream.h"

#define NEVER INT64_MIN

// ---------------------------------------------------------------- arrivals.c

#define IN_WINDOW 1024 // sequences remembered, to recognise duplicates; a power of two
#define REPORTS_PER_PACKET 31
#define CHECKPOINTS 4

// Part of the wire format, since sequences travel by their low 16 bits: no report is about a packet
// that is this much older than the newest, and no peer sends on after this many that were not
// reported.
#define SEQUENCE_SPAN 16384

#define SEQUENCE_AT_MOST (INT64_MAX / 2) // leaves room for sums

typedef struct Report {
    int64_t sequence;
    FlTime arrived;    // link clock, in whole steps
    FlTime carried_at; // NEVER: in no packet yet
    uint16_t tries;
    bool confirmed; // the peer knows, or does not want to know any more
    bool owed;      // its packet asked for an answer
    bool insist;    // and brought something, so that the answer is repeated until it is confirmed
    bool refused;   // its reliable data found no room
} Report;

typedef struct Checkpoint {
    FlTime time;
    int64_t newest; // the newest sequence by then
} Checkpoint;

typedef struct Arrivals {
    uint64_t seen[IN_WINDOW / 64]; // bit: sequence % IN_WINDOW arrived
    int64_t
        oldest; // has_gaps: the lowest sequence taken; none before it is known to have been sent
    int64_t newest;  // -1 before the first
    int64_t horizon; // everything up to here that did not arrive is given up
    Checkpoint checkpoint[CHECKPOINTS];
    int32_t checkpoint_next;
    int32_t fresh_count; // reports not carried yet that are owed
    Report *reports;     // ring, by serial
    int32_t capacity;
    bool has_gaps; // the carrier numbers packets: its own count too, and it starts where it likes
    int64_t first_serial; // the oldest not confirmed
    int64_t next_serial;
    int64_t fresh;         // all before it were carried, or need not be
    int64_t reordered;     // the last serial whose sequence was not the newest; -1: none
    FlTime carried_oldest; // no report that waits for its confirmation was carried before this
    FlTime settle_due;     // the horizon stays where it is until then
    FlTime ack_due;
    double loss;
} Arrivals;

/// The reports that one packet carries: serial first + i for each bit i.
typedef struct Carried {
    int64_t first;
    uint64_t mask;
    bool repeats; // some insist for the second time: an answer is wanted
} Carried;

void fl__arrivals_init(Arrivals *a, Report *storage, int32_t capacity);

/// Why the packet cannot be taken, or NONE.
FlLinkDrop fl__arrivals_check(const Arrivals *a, int64_t sequence);

/// No room for another report until the peer confirms some.
bool fl__arrivals_full(const Arrivals *a);

/// Takes note of a packet: `report` is what the peer gets.
void fl__arrivals_note(Arrivals *a, const FlLinkDef *def, const Report *report);

/// A packet of the carrier's own came in: its number is none of ours, and not lost.
void fl__arrivals_skip(Arrivals *a, int64_t sequence);

/// Writes the reports that are due at `now` (link clock), if any, from a whole byte to a whole
/// byte; with `all`, those that are not confirmed, too.
bool fl__arrivals_encode(Arrivals *a, FlWriter *w, FlTime now, FlTime repeat_ns, bool all,
                         Carried *carried);
void fl__arrivals_carried(Arrivals *a, const Carried *carried, FlTime now);
void fl__arrivals_confirmed(Arrivals *a, const Carried *carried);

/// The peer wants no more reports about packets before `oldest`.
void fl__arrivals_forget(Arrivals *a, int64_t oldest);

/// When a packet must go for the reports' sake alone. The wait grows with every try, up to
/// `latest_ns`.
FlTime fl__arrivals_due(const Arrivals *a, FlTime repeat_ns, FlTime latest_ns);

/// At or before that: quick, without looking at the reports.
FlTime fl__arrivals_due_earliest(const Arrivals *a, FlTime repeat_ns, FlTime latest_ns);

/// Moves the horizon with time.
void fl__arrivals_settle(Arrivals *a, const FlLinkDef *def, FlTime now);

/// The peer's reports about our packets, decoded and checked but not applied.
typedef struct ArrivalsMessage {
    int32_t count;
    int64_t settled;
    int64_t sequence[REPORTS_PER_PACKET];
    int64_t arrived_steps[REPORTS_PER_PACKET];
    bool refused[REPORTS_PER_PACKET];
} ArrivalsMessage;

/// `next_sequence` is the one that we have not sent yet, `stamp_steps` when the message was sent,
/// on the peer's link clock.
FlLinkDrop fl__arrivals_decode(FlReader *r, int64_t next_sequence, int64_t stamp_steps,
                               ArrivalsMessage *m);

// ---------------------------------------------------------------- sent.c

typedef struct Sent {
    int64_t sequence;
    int64_t serial;
    uint64_t tag;
    FlTime sent;
    Carried carried;
    int32_t bytes;
    uint8_t fragment_count; // which ones: fl__outbox_refs
    bool undecided;
} Sent; // 64 bytes: every packet touches another one

#define TRIP_CLASSES 128

typedef struct RoundTrips {
    FlTime min_ns, average_ns, deviation_ns;
    uint16_t histogram[TRIP_CLASSES];
    uint16_t total;
    bool known;
} RoundTrips;

/// A packet's two numbers: see sent.c.
typedef struct SentKey {
    int64_t sequence, serial;
} SentKey;

typedef struct Outbox {
    Sent *ring;
    SentKey *keys;      // of the packets that wait, in order; twice as many as the ring
    FragmentRef *refs;  // FRAGMENTS_PER_PACKET for each of the ring
    FlFateEvent *fates; // decided, not polled yet; twice as many as the ring
    int32_t capacity;
    int32_t undecided_count;
    int32_t key_first, key_end;
    int64_t next; // the sequence of the next packet, and its serial
    int64_t next_serial;
    int64_t undecided; // the oldest undecided sequence; `next` if there is none
    int64_t reported;  // the newest that the peer reported; before: the one before the first
    int64_t fate_first, fate_next;
    uint64_t delivered, lost, unknown;
    double loss;
} Outbox;

void fl__trips_add(RoundTrips *trips, FlTime trip);
FlTime fl__trips_percentile(const RoundTrips *trips, double share);

/// The packet of that sequence, or NULL if its fate is decided.
Sent *fl__outbox_find(const Outbox *o, int64_t sequence);

/// Is there room for one more fate?
bool fl__outbox_has_room(const Outbox *o);

/// Is so much under way that the next packet's fate could not be awaited, or soon so?
bool fl__outbox_crowded(const Outbox *o);

/// The fragments that a packet of the ring carries: `fragment_count` of them.
FragmentRef *fl__outbox_refs(const Outbox *o, const Sent *sent);

/// The oldest fate not polled yet. False: there is none.
bool fl__outbox_next_fate(Outbox *o, FlFateEvent *event);

/// How many packets were sent from the oldest undecided one on.
int64_t fl__outbox_span(const Outbox *o);

/// The next packet's sequence is at least this.
void fl__outbox_skip_to(Outbox *o, int64_t sequence);

/// Puts packet `next` under way, with these figures; what it carries the caller fills in. If its
/// place is still taken, its fate is unknown at once, and there is nothing to fill in: NULL.
Sent *fl__outbox_add(Outbox *o, uint64_t tag, FlTime now, int32_t bytes);
void fl__outbox_decide(Outbox *o, Sent *sent, FlPacketFate fate, FlTime arrived_remote);

/// Everything undecided below `settled` is lost.
void fl__outbox_settle(Outbox *o, int64_t settled);
void fl__outbox_abandon(Outbox *o);

// ---------------------------------------------------------------- budget.c

/// Adapts a budget's rate to what the path bears.
typedef struct Adaptation {
    FlTime next;
    double loss_floor; // loss that slowing down does not cure
    uint64_t delivered_before, lost_before;
    uint32_t slowed, sped_up;
} Adaptation;

void fl__budget_adapt(FlBudget *budget, Adaptation *a, const FlLinkDef *def, const Outbox *o,
                      const FlClockDelays *delays, FlTime now);

// ---------------------------------------------------------------- packets: send.c, receive.c

#define FLAG_ARRIVALS 1u
#define FLAG_RELIABLE 2u
#define FLAG_ANSWER 4u
#define FLAG_CROWDED 8u
#define FLAGS_KNOWN 15u

/// A packet between fl_link_begin and fl_link_finish.
typedef struct Building {
    bool open;
    Carried carried;
    Fragments fragments;
    int32_t flags_at;   // byte
    int32_t payload_at; // byte
} Building;

/// All that sending takes, and what else a link has no room for; it heads the block of buffers.
typedef struct Sending {
    Outbox outbox;
    Stream stream[STREAM_COUNT];
    RoundTrips trips;
    FlBudget budget;
    Adaptation adaptation;
    Building building;
    FlTime said_at;
    FlTime asked_at; // the first packet since the last answer that wanted one; FL_FOREVER: none
    FlTime delivered_after; // the newest sending time of a packet known to be delivered
    uint64_t packets, bytes, packets_in, bytes_in;
    uint64_t refused; // packets whose reliable data found no room here
    FlTime epoch;     // of the link clock, on the caller's; all other times are on the link clock
    FlTime received_at;
    FlTime peer_stamp;    // the newest stamp received, on the peer's link clock,
    FlTime peer_stamp_at; // and when
} Sending;

struct FlLink {
    FlLinkDef def;
    FlTime now; // on the link clock
    Sending *out;
    Arrivals arrivals;
    FlClock clock;
    uint32_t drops[FL_LINK_DROPS];
    bool alive;
};

// ---------------------------------------------------------------- link.c

#define SET_BACK_NS FL_SEC(2) // further back than any hiccup: the caller's clock was set

/// The link clock at the caller's `now`, which never goes back.
FlTime fl__link_tell_time(FlLink *link, FlTime now);

// ---------------------------------------------------------------- send.c

/// Nothing was answered for longer than answers take, on the link clock; and then, when something
/// may go again.
bool fl__link_silent(const FlLink *link);
FlTime fl__link_probe_due(const FlLink *link);

#endif
