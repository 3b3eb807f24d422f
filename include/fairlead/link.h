// fairlead/link.h: one conversation between two peers, over any transport that carries datagrams.
//
// A link numbers and stamps packets, learns of every packet whether and *when* it arrived, carries
// reliable messages, and says how many bytes may go now. It knows no addresses, does no
// cryptography and reads no clock: bytes and times go in, bytes and events come out.
//
//     game ── fl_link_send ──▶ reliable ─┐
//     motion ── (payload) ──────────────▶ fl_link_begin / fl_link_finish ──▶ bytes to the peer
//     fates, messages ◀── fl_link_take_fate, fl_link_take ◀── fl_link_receive ◀── bytes from the
//     peer
//
// What rides in a packet besides headers, arrival reports and reliable data is the caller's
// *payload*: the link neither queues nor drops nor repeats it, and afterwards tells the packet's
// fate under the tag that the caller gave it.
//
// Threads: links share nothing but a common FlBudget, if they are given one; one thread at a time
// per link.
#ifndef FAIRLEAD_LINK_H
#define FAIRLEAD_LINK_H

#include "fairlead/base.h"
#include "fairlead/clock.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- byte budget

/// A token bucket: bytes that may be sent now. Unused bytes carry over, up to `burst_bytes`.
typedef struct FlBudget {
    double rate_bytes_s;
    double burst_bytes;
    double tokens;
    FlTime filled_at;
} FlBudget;

// ---------------------------------------------------------------- definition

/// The largest packet a link makes: fits any path with an MTU of 1280 (IPv6's minimum) below UDP
/// and a seal.
#define FL_LINK_PACKET_BYTES 1200

/// The least that a carrier must take: reliable data in fragments, and a payload beside it.
#define FL_LINK_PACKET_LEAST 512

/// Stamps and arrivals on the wire count in steps of a quarter of a millisecond.
#define FL_LINK_STEP_NS FL_US(250)

/// The largest reliable ordered message.
#define FL_LINK_MESSAGE_BYTES (1 << 20)

/// The largest reliable unordered message: one fragment.
#define FL_LINK_FRAGMENT_BYTES 256

/// Fragments under way at once, per kind of delivery. Part of the wire format: both ends must
/// agree.
#define FL_LINK_WINDOW 64

typedef struct FlLinkDef {
    uint16_t conversation;  ///< Tells this conversation's packets from an earlier one's. With
                            ///< `external_sequence`: unused.
    bool external_sequence; ///< The carrier numbers and authenticates packets (a seal): leave both
                            ///< out of the packet.
    FlTime ack_delay_ns;    ///< A report of an arrival waits this long for a packet to ride on; at
                            ///< most 10 s.
    FlTime keep_alive_ns;   ///< Say something at least this often (sooner if there is no answer).
                            ///< FL_FOREVER: never for its own sake. One end is enough.
    int32_t eager_count;    ///< The first so many packets go at least every 100 ms, so that the two
                            ///< clocks get to know each other soon.
    int32_t packet_bytes;   ///< No packet of ours is longer, where the carrier takes no more;
                            ///< FL_LINK_PACKET_LEAST to FL_LINK_PACKET_BYTES.
    FlTime timeout_ns;      ///< A peer silent for this long is gone; at most 30 minutes.
    FlTime reorder_ns;   ///< A packet overtaken by one this much earlier is given up as lost. So is
                         ///< one overtaken by 1024 others.
    bool repeat_reports; ///< Every packet repeats the reports that are not confirmed, 31 at most:
                         ///< whoever gets it knows of all arrivals before it was sent.
    int32_t overhead_bytes; ///< Headers below us, counted in all budgets: 28 for UDP on IPv4, 48 on
                            ///< IPv6.
    double rate_bytes_s;    ///< Where the byte budget starts,
    double rate_min_bytes_s; ///< how far congestion may push it down,
    double rate_max_bytes_s; ///< and how far it may grow again.
    int32_t sent_capacity;   ///< Packets whose fate can be awaited at once, and reports that can
                           ///< await confirmation. A power of two, 16 to 4096; alike at both ends,
                           ///< and above the packets sent in a round trip plus `reorder_ns`.
    int32_t
        send_bytes; ///< Reliable ordered bytes waiting or under way. At least one message's worth.
    int32_t receive_bytes; ///< Reliable ordered bytes received and not taken yet; bounds the
                           ///< message size.
    FlBudget *common;      ///< A budget shared with other links, or NULL. Must outlive the link.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_link_def_default(); leave alone.
} FlLinkDef;

/// Right for a player's home connection: 25 ms ack delay, 10 s time-out, 16 KiB of reliable
/// buffers, 8 to 128 KiB/s.
FL_API FlLinkDef fl_link_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_link_def_problem(const FlLinkDef *def, FlError *error);

typedef struct FlLink FlLink;

/// Reserves everything the link will ever use; later calls allocate nothing.
/// Errors: FL_NO_MEMORY, FL_BAD_VALUE (a setting out of its range).
FL_API FL_NODISCARD FlResult fl_link_create(const FlLinkDef *def, FlTime now, FlLink **link);
FL_API void fl_link_destroy(FlLink *link);

// ---------------------------------------------------------------- reliable messages

typedef enum FlDelivery {
    FL_DELIVERY_ORDERED,   ///< Arrives once, in the order sent. Up to FL_LINK_MESSAGE_BYTES.
    FL_DELIVERY_UNORDERED, ///< Arrives once, as soon as it can. Up to FL_LINK_FRAGMENT_BYTES.
    FL_DELIVERY_QUICKEST,  ///< Unordered, and rides in every packet until it is acknowledged.
    // Events of a session only, not a link's messages:
    FL_DELIVERY_UNRELIABLE, ///< Sent once, or not at all.
    FL_DELIVERY_NEWEST, ///< The same; what is older than one that came on its channel is dropped.
} FlDelivery;

/// Queues a message. It must fit the peer's receive_bytes too, or the peer ends the conversation.
/// Errors: FL_WOULD_BLOCK (the queue is full: try again next tick), FL_BAD_VALUE (empty, or larger
/// than the delivery allows or the buffers hold), FL_STALE_ID (the peer is gone).
FL_API FL_NODISCARD FlResult fl_link_send(FlLink *link, FlDelivery delivery, const void *bytes,
                                          int32_t count);

/// The next message that arrived: copied into `buffer`, its size in *count. Take all every tick:
/// once FL_LINK_WINDOW fragments wait here, what else comes is refused and sent again later. What
/// arrived can be taken even when the peer is gone.
/// Errors: FL_NOT_FOUND (none), FL_FULL (buffer too small; *count says how much it takes, the
/// message stays).
FL_API FL_NODISCARD FlResult fl_link_take(FlLink *link, void *buffer, int32_t capacity,
                                          int32_t *count);

// ---------------------------------------------------------------- packets

/// X(name, word, meaning)
#define FL_LINK_DROP_TABLE(X)                                                                      \
    X(NONE, "none", "taken")                                                                       \
    X(SHORT, "short", "ended before it should")                                                    \
    X(MALFORMED, "malformed", "says something that no sender says")                                \
    X(CONVERSATION, "conversation", "belongs to another conversation")                             \
    X(DUPLICATE, "duplicate", "was here before")                                                   \
    X(LATE, "late", "comes after it was given up")                                                 \
    X(UNSENT, "unsent", "acknowledges what was never sent")                                        \
    X(WINDOW, "window", "a fragment outside the window")                                           \
    X(CROWDED, "crowded", "no room to report it: too many reports are not confirmed")              \
    X(GONE, "gone", "the link has timed out or was closed")                                        \
    X(LARGE, "large", "longer than a packet may be")

/// Why an incoming packet was dropped.
typedef enum FlLinkDrop {
#define FL_LINK_DROP_ROW(name, word, meaning) FL_LINK_DROP_##name,
    FL_LINK_DROP_TABLE(FL_LINK_DROP_ROW)
#undef FL_LINK_DROP_ROW
        FL_LINK_DROPS
} FlLinkDrop;

/// What a packet brought for the caller.
typedef struct FlLinkPacket {
    const uint8_t *payload; ///< In place, in the bytes given to fl_link_receive.
    int32_t payload_bytes;
    FlTime stamp;   ///< When it was sent, on the peer's link clock, in FL_LINK_STEP_NS steps.
    FlTime arrived; ///< When it arrived, on our link clock, in the same steps: exactly as it is
                    ///< reported.
} FlLinkPacket;

/// Takes a packet that arrived at `arrival` (on the caller's clock; it may lie a little before the
/// last `now`). `sequence` is the carrier's number for it, read only with `external_sequence`. A
/// dropped packet changes nothing but a counter, except a crowded one: what it reports counts.
FL_API FlLinkDrop fl_link_receive(FlLink *link, FlTime arrival, uint64_t sequence,
                                  const void *bytes, int32_t count, FlLinkPacket *packet);

/// With `external_sequence`: the next packet's number is at least `sequence`. Call it before
/// fl_link_begin with the lowest number that the carrier has left (fl_seal_client_sequence and its
/// like): a carrier's own packets take numbers too, and its series may begin in the millions. What
/// is skipped is no packet: it has no fate and is not lost. The first packet may have any number up
/// to 2^62; once the next one is 16 384 or more above the last that was reported, the conversation
/// ends (numbers travel back by their low 16 bits).
FL_API void fl_link_number_from(FlLink *link, uint64_t sequence);

/// Starts a packet into `buffer` (FL_LINK_PACKET_BYTES long): headers, reports and reliable data
/// are written; the caller may put its payload after them, up to the writer's room, and must call
/// fl_link_finish. A caller with nothing to add need only do so when fl_link_deadline has come.
/// Errors: FL_STALE_ID (the peer is gone), FL_WOULD_BLOCK (twice sent_capacity fates wait to be
/// polled).
FL_API FL_NODISCARD FlResult fl_link_begin(FlLink *link, FlTime now, uint8_t *buffer,
                                           FlWriter *writer);

/// Ends the packet: gives its size, and its sequence number for the carrier. `tag` comes back with
/// the packet's fate.
FL_API int32_t fl_link_finish(FlLink *link, FlTime now, FlWriter *writer, uint64_t tag,
                              uint64_t *sequence);

/// How many bytes of payload may go in a packet now, by budget: what reliable data leaves of it,
/// and at least half; 0 while a silent peer is not to be tried again yet.
/// Between fl_link_begin and fl_link_finish: in the packet begun.
FL_API int32_t fl_link_payload_budget(FlLink *link, FlTime now);

/// When something must be done: an ack, reliable data, a keep-alive or the time-out. FL_FOREVER
/// when gone.
FL_API FlTime fl_link_deadline(FlLink *link, FlTime now);

/// Notices time-outs. Call it when the deadline has come, and before polling fates.
FL_API void fl_link_update(FlLink *link, FlTime now);

// ---------------------------------------------------------------- fates

typedef enum FlPacketFate {
    FL_FATE_DELIVERED, ///< It arrived, and we know when.
    FL_FATE_LOST,      ///< It did not arrive and will not be accepted any more: certain.
    FL_FATE_UNKNOWN,   ///< The conversation ended, or too much was under way, before we learnt it.
} FlPacketFate;

typedef struct FlFateEvent {
    uint64_t tag;
    FlPacketFate fate;
    FlTime sent;           ///< On our clock.
    FlTime arrived_remote; ///< Delivered: on the peer's link clock, in 0.25 ms steps, exactly as
                           ///< the peer reported it.
    int32_t bytes;
} FlFateEvent;

/// The next packet whose fate is decided, each exactly once. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_link_take_fate(FlLink *link, FlFateEvent *event);

// ---------------------------------------------------------------- clocks and statistics

typedef struct FlLinkStats {
    FlTime rtt_min_ns, rtt_average_ns,
        rtt_p95_ns;       ///< Without the time acks rested at the peer. 0 until known.
    FlTime jitter_ns;     ///< Mean absolute deviation of the round trip.
    FlClockDelays delays; ///< One-way delays; how sure they are, `uncertainty_ns` says.
    FlTime
        uncertainty_ns; ///< Of one-way delays and the peer's clock (bound). FL_FOREVER until known.
    double loss_out, loss_in;                              ///< Shares of recent packets lost.
    uint64_t packets_out, packets_in, bytes_out, bytes_in; ///< Headers below us counted.
    uint64_t delivered, lost, unknown;
    uint64_t refused;  ///< Packets taken whose reliable data found no room, so that it comes again:
                       ///< messages are not taken fast enough here.
    FlTime waiting_ns; ///< For so long the peer has not accepted half of what a queue holds,
                       ///< or all that was queued. 0: nothing waits. Set by fl_link_update.
    double rate_bytes_s;      ///< The budget as it is now.
    uint32_t slowed, sped_up; ///< How often it was adapted down and up.
    uint32_t drops[FL_LINK_DROPS];
} FlLinkStats;

/// Round trip, loss, rates and counters.
FL_API void fl_link_stats(const FlLink *link, FlTime now, FlLinkStats *stats);

#endif
