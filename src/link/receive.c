// Taking packets. The layout of one stands in send.c, where they are made.
//
// A packet is decoded and checked whole before anything changes: a bad one leaves no trace but a
// counter.
#include "private.h"

#include "wire/wire.h"

// ---------------------------------------------------------------- decoding

// When a packet arrived, on the link clock. That is often a little before the last `now`: then it
// is what counts.
static FlTime tell_arrival(FlLink *link, FlTime arrival)
{
    FlTime clock = fl__link_clock(link, arrival);
    link->now = fl__time_max(clock, link->now);
    FlTime earliest = link->now > SET_BACK_NS ? link->now - SET_BACK_NS : 0;
    return fl__time_max(clock, earliest);
}

static FlTime floor_to_step(FlTime t)
{
    FlTime rest = t % FL_LINK_STEP_NS;
    return t - (rest < 0 ? rest + FL_LINK_STEP_NS : rest);
}

typedef struct Incoming {
    int64_t sequence;
    FlTime stamp;
    bool answer;
    bool has_arrivals;
    bool refused;   // there is no room for all of its reliable data
    int64_t oldest; // the peer wants no reports on what is before it
    ArrivalsMessage arrivals;
    FragmentMessage fragments[FRAGMENTS_PER_PACKET];
    int32_t fragment_count;
    int32_t payload_at; // byte
} Incoming;

// Stamps are unwrapped against the newest one received, carried on by our own clock.
static FlTime stamp_unwrap(const FlLink *link, uint64_t low, FlTime arrived)
{
    FlTime expected = 0;
    if (link->out->peer_stamp != NEVER) {
        expected = link->out->peer_stamp + fl_span(arrived, link->out->peer_stamp_at);
    }
    int64_t near = expected / FL_LINK_STEP_NS;
    int64_t steps = link->out->peer_stamp == NEVER ? (int64_t)low : fl__unwrap(near, low, 24);
    return steps * FL_LINK_STEP_NS;
}

#define STAMP_AT_MOST (INT64_MAX / 2) // 146 years: sums do not overflow

static FlLinkDrop decode_head(const FlLink *link, FlReader *r, uint64_t sequence, FlTime arrived,
                              Incoming *in, uint8_t *flags)
{
    in->sequence = (int64_t)sequence;
    if (!link->def.external_sequence) {
        uint64_t both = fl_reader_take(r, 32);
        if (!r->failed && (both & 0xffffu) != link->def.conversation) {
            return FL_LINK_DROP_CONVERSATION;
        }
        in->sequence = fl__unwrap(link->arrivals.newest, both >> 16, 16);
    }
    uint64_t head = fl_reader_take(r, 32);
    uint64_t stamp = head & 0xffffffu;
    *flags = (uint8_t)(head >> 24);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    in->stamp = stamp_unwrap(link, stamp, arrived);
    in->answer = (*flags & FLAG_ANSWER) != 0;
    bool possible = (*flags & ~FLAGS_KNOWN) == 0 && in->stamp >= 0 && in->stamp <= STAMP_AT_MOST;
    return possible ? FL_LINK_DROP_NONE : FL_LINK_DROP_MALFORMED;
}

static FlLinkDrop decode_oldest(FlReader *r, Incoming *in)
{
    uint64_t low = fl_reader_take(r, 16);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    in->oldest = in->sequence - (int64_t)(((uint64_t)in->sequence - low) & 0xffffu);
    return in->oldest < 0 ? FL_LINK_DROP_MALFORMED : FL_LINK_DROP_NONE;
}

static FlLinkDrop decode_fragments(const FlLink *link, FlReader *r, Incoming *in)
{
    bool more = true;
    while (more) {
        if (in->fragment_count == FRAGMENTS_PER_PACKET) {
            return FL_LINK_DROP_MALFORMED;
        }
        FragmentMessage *m = &in->fragments[in->fragment_count++];
        FlLinkDrop drop = fl__fragment_decode(r, m, &more);
        bool room = true;
        if (drop == FL_LINK_DROP_NONE) {
            drop = fl__stream_check(&link->out->stream[m->stream], m, &room);
        }
        if (drop != FL_LINK_DROP_NONE) {
            return drop;
        }
        in->refused = in->refused || !room;
    }
    return FL_LINK_DROP_NONE;
}

static FlLinkDrop decode(const FlLink *link, FlReader *r, uint64_t sequence, FlTime arrived,
                         Incoming *in)
{
    uint8_t flags;
    FlLinkDrop drop = decode_head(link, r, sequence, arrived, in, &flags);
    if (drop != FL_LINK_DROP_NONE) {
        return drop;
    }
    drop = fl__arrivals_check(&link->arrivals, in->sequence);
    if (drop == FL_LINK_DROP_NONE && (flags & FLAG_CROWDED) != 0) {
        drop = decode_oldest(r, in);
    }
    if (drop == FL_LINK_DROP_NONE && (flags & FLAG_ARRIVALS) != 0) {
        drop = fl__arrivals_decode(r, link->out->outbox.next, in->stamp / FL_LINK_STEP_NS,
                                   &in->arrivals);
        fl_reader_align(r);
        drop = drop == FL_LINK_DROP_NONE && r->failed ? FL_LINK_DROP_MALFORMED : drop;
        in->has_arrivals = true;
    }
    if (drop == FL_LINK_DROP_NONE && (flags & FLAG_RELIABLE) != 0) {
        drop = decode_fragments(link, r, in);
    }
    in->payload_at = r->bit_count / 8;
    return drop;
}

// The peer says that our packet `sequence` arrived.
static void apply_report(FlLink *link, int64_t sequence, FlTime arrived_remote, bool refused,
                         const Incoming *in, FlTime now)
{
    Sending *out = link->out;
    out->outbox.reported = sequence > out->outbox.reported ? sequence : out->outbox.reported;
    out->asked_at = FL_FOREVER;
    Sent *sent = fl__outbox_find(&out->outbox, sequence);
    if (sent == NULL) {
        return; // known already
    }
    FlTime trip = now - sent->sent - (in->stamp - arrived_remote);
    if (trip >= -FL_LINK_STEP_NS) { // below: a clock was set meanwhile
        fl__trips_add(&out->trips, trip);
    }
    (void)fl_clock_acked(&link->clock, sent->sent,
                         arrived_remote); // unbelievable ones are counted there
    fl__arrivals_confirmed(&link->arrivals, &sent->carried);
    const FragmentRef *refs = fl__outbox_refs(&out->outbox, sent);
    for (int32_t i = 0; i < sent->fragment_count; i++) {
        if (refused) {
            fl__stream_refused(&out->stream[refs[i].stream], refs[i].serial);
        } else {
            fl__stream_acked(&out->stream[refs[i].stream], refs[i].serial);
        }
    }
    out->delivered_after = fl__time_max(sent->sent, out->delivered_after);
    fl__outbox_decide(&out->outbox, sent, FL_FATE_DELIVERED, arrived_remote);
}

// What the packet says about ours. It counts even where the packet itself finds no room, since it
// is what makes room.
static void apply_arrivals(FlLink *link, const Incoming *in, FlTime now)
{
    link->out->received_at = fl__time_max(now, link->out->received_at);
    if (in->oldest > 0) {
        fl__arrivals_forget(&link->arrivals, in->oldest);
    }
    if (!in->has_arrivals) {
        return;
    }
    const ArrivalsMessage *m = &in->arrivals;
    for (int32_t i = m->count - 1; i >= 0; i--) { // the oldest first: the clock wants it so
        apply_report(link, m->sequence[i], m->arrived_steps[i] * FL_LINK_STEP_NS, m->refused[i], in,
                     now);
    }
    fl__outbox_settle(&link->out->outbox, m->settled);
}

static void apply(FlLink *link, const Incoming *in, FlTime arrived, bool has_payload)
{
    Report report = {
        .sequence = in->sequence,
        .arrived = floor_to_step(arrived),
        .owed = in->answer,
        .insist = in->answer && (has_payload || in->fragment_count > 0),
        .refused = in->refused,
    };
    fl__arrivals_note(&link->arrivals, &link->def, &report);
    fl__arrivals_settle(&link->arrivals, &link->def, link->now);
    for (int32_t i = 0; i < in->fragment_count; i++) {
        fl__stream_accept(&link->out->stream[in->fragments[i].stream], &in->fragments[i]);
    }
    link->out->refused += in->refused ? 1 : 0;
}

FlTime fl__link_peer_stamp(const FlLink *link)
{
    return link->out->peer_stamp;
}

static void receive_stamp(FlLink *link, const Incoming *in, FlTime arrived)
{
    (void)fl_clock_received(&link->clock, in->stamp, arrived);
    if (link->out->peer_stamp == NEVER || in->stamp > link->out->peer_stamp) {
        link->out->peer_stamp = in->stamp;
        link->out->peer_stamp_at = arrived;
    }
}

// There is no way back into a stream whose lengths are nonsense.
static void close_if_broken(FlLink *link)
{
    if (link->alive && fl__stream_broken(&link->out->stream[STREAM_ORDERED])) {
        link->drops[FL_LINK_DROP_MALFORMED]++;
        fl__link_close(link);
    }
}

FlLinkDrop fl_link_receive(FlLink *link, FlTime arrival, uint64_t sequence, const void *bytes,
                           int32_t count, FlLinkPacket *packet)
{
    FlLinkPacket empty = {0};
    *packet = empty;
    FlTime arrived = tell_arrival(link, arrival);
    Incoming in;
    in.answer = in.has_arrivals = in.refused = false; // lists have counts
    in.oldest = 0;
    in.fragment_count = 0;
    FlLinkDrop drop = FL_LINK_DROP_NONE;
    if (!link->alive || fl_span(arrived, link->out->received_at) >= link->def.timeout_ns) {
        drop = FL_LINK_DROP_GONE;
    } else if (count < 0 || count > FL_LINK_PACKET_BYTES) {
        drop = FL_LINK_DROP_LARGE;
    } else {
        FlReader reader;
        fl_reader_init(&reader, bytes, count);
        drop = decode(link, &reader, sequence, arrived, &in);
    }
    if (drop == FL_LINK_DROP_NONE) {
        receive_stamp(link, &in, arrived); // the clock wants a packet before the reports in it
        apply_arrivals(link, &in, arrived);
        drop = fl__arrivals_full(&link->arrivals) ? FL_LINK_DROP_CROWDED : FL_LINK_DROP_NONE;
    }
    link->drops[drop]++;
    if (drop != FL_LINK_DROP_NONE) {
        return drop;
    }
    link->out->packets_in++;
    link->out->bytes_in += (uint64_t)(count + link->def.overhead_bytes);
    packet->payload_bytes = count - in.payload_at;
    packet->payload = (const uint8_t *)bytes + in.payload_at;
    packet->stamp = in.stamp;
    packet->arrived = floor_to_step(arrived);
    apply(link, &in, arrived, packet->payload_bytes > 0);
    if (in.fragment_count > 0) {
        close_if_broken(link);
    }
    return FL_LINK_DROP_NONE;
}

// ---------------------------------------------------------------- what came in

FlResult fl_link_take(FlLink *link, void *buffer, int32_t capacity, int32_t *count)
{
    FlResult result =
        fl__stream_take(&link->out->stream[STREAM_UNORDERED], buffer, capacity, count);
    if (result != FL_NOT_FOUND) {
        return result;
    }
    result = fl__stream_take(&link->out->stream[STREAM_ORDERED], buffer, capacity, count);
    close_if_broken(link);
    return result;
}

void fl__link_number_received(FlLink *link, uint64_t sequence)
{
    FL_ASSERT(link->def.external_sequence);
    if (link->alive) {
        fl__arrivals_skip(&link->arrivals, (int64_t)sequence);
    }
}
