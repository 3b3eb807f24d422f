// Packets: numbering, stamping, and putting the parts of a link together.
//
// PACKET: one datagram.                                          spec/WIRE.md section 5
//
//   bits  field         unit      valid
//   16    conversation  -         agreed on when joining; absent where the carrier numbers packets
//   16    sequence      -         low bits of the packet's number, from 0; absent likewise
//   24    stamp         0.25 ms   when it was sent, on the sender's link clock, floored, low bits
//   1     arrivals      -         ARRIVALS follows
//   1     reliable      -         FRAGMENTs follow
//   1     answer        -         the receiver should report this packet even without traffic
//   1     crowded       -         `oldest` follows
//   4     zero          -
//   0/16  oldest        -         with crowded; low bits, not after sequence: what became of all
//                                 packets before it is decided, reports on them are not wanted
//   then  ARRIVALS, zero bits to a whole byte, FRAGMENTs, and the caller's payload to the end
//
// Receiving decodes and checks the whole packet before anything changes: a bad packet leaves no
// trace but a counter.
#include "private.h"

#include <string.h>

#define LINK_COOKIE 0x4c494e4bu
#define FLAG_ARRIVALS 1u
#define FLAG_RELIABLE 2u
#define FLAG_ANSWER 4u
#define FLAG_CROWDED 8u
#define FLAGS_KNOWN 15u
#define HEAD_BYTES 8

const char *fl_link_drop_name(FlLinkDrop drop)
{
    switch (drop) {
#define ROW(name, word, meaning)                                                                   \
    case FL_LINK_DROP_##name:                                                                      \
        return word;
        FL_LINK_DROP_TABLE(ROW)
#undef ROW
    case FL_LINK_DROPS:
        break;
    }
    return "unknown";
}

// ---------------------------------------------------------------- making and ending

FlLinkDef fl_link_def_default(void)
{
    FlLinkDef def = {
        .ack_delay_ns = FL_MS(25),
        .keep_alive_ns = FL_MS(1500),
        .timeout_ns = FL_SEC(10),
        .reorder_ns = FL_SEC(1),
        .overhead_bytes = 28,
        .rate_bytes_s = 64.0 * 1024,
        .rate_min_bytes_s = 8.0 * 1024,
        .rate_max_bytes_s = 128.0 * 1024,
        .sent_capacity = 256,
        .send_bytes = 16 * 1024,
        .receive_bytes = 16 * 1024,
        .cookie = LINK_COOKIE,
    };
    return def;
}

static bool is_power_of_two(int32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

// Stamps travel by low bits that come round after 70 minutes: nobody may be silent for half of
// that.
#define TIMEOUT_AT_MOST FL_SEC(1800)
#define ACK_DELAY_AT_MOST FL_SEC(10)

static bool def_is_good(const FlLinkDef *def)
{
    bool times = def->eager_count >= 0 && def->ack_delay_ns >= 0 &&
                 def->ack_delay_ns <= ACK_DELAY_AT_MOST && def->keep_alive_ns > 0 &&
                 def->timeout_ns > 0 && def->timeout_ns <= TIMEOUT_AT_MOST && def->reorder_ns > 0;
    bool rates = def->rate_min_bytes_s > 0.0 && def->rate_bytes_s >= def->rate_min_bytes_s &&
                 def->rate_max_bytes_s >= def->rate_bytes_s && isfinite(def->rate_max_bytes_s);
    bool sizes = is_power_of_two(def->sent_capacity) && def->sent_capacity >= 16 &&
                 def->sent_capacity <= 4096 && def->send_bytes >= FL_LINK_FRAGMENT_BYTES &&
                 def->receive_bytes >= FL_LINK_FRAGMENT_BYTES && def->overhead_bytes >= 0 &&
                 def->overhead_bytes <= FL_LINK_PACKET_BYTES &&
                 def->send_bytes <= 2 * FL_LINK_MESSAGE_BYTES &&
                 def->receive_bytes <= 2 * FL_LINK_MESSAGE_BYTES;
    return times && rates && sizes;
}

// The buffers of a link, one after another in a single block.
typedef struct Layout {
    size_t sending, reports, ring, fates, slots_out, slots_in, ring_out, ring_in, total;
} Layout;

static size_t place(size_t *at, size_t size)
{
    size_t here = *at;
    *at += (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    return here;
}

static Layout layout_of(const FlLinkDef *def)
{
    size_t at = 0;
    size_t n = (size_t)def->sent_capacity;
    Layout l;
    l.sending = place(&at, sizeof(Sending));
    l.reports = place(&at, n * sizeof(Report));
    l.ring = place(&at, n * sizeof(Sent));
    l.fates = place(&at, 2 * n * sizeof(FlFateEvent));
    l.slots_out = place(&at, STREAM_COUNT * FL_LINK_WINDOW * sizeof(OutSlot));
    l.slots_in = place(&at, STREAM_COUNT * FL_LINK_WINDOW * sizeof(InSlot));
    l.ring_out = place(&at, (size_t)def->send_bytes);
    l.ring_in = place(&at, (size_t)def->receive_bytes);
    l.total = at;
    return l;
}

void fl_link_memory(const FlLinkDef *def, size_t *link_bytes, size_t *buffer_bytes)
{
    *link_bytes = sizeof(FlLink);
    *buffer_bytes = layout_of(def).total;
}

static void streams_init(FlLink *link, uint8_t *block, const Layout *l)
{
    OutSlot *out = (OutSlot *)(void *)(block + l->slots_out);
    InSlot *in = (InSlot *)(void *)(block + l->slots_in);
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        link->out->stream[i].out = out + (size_t)i * FL_LINK_WINDOW;
        link->out->stream[i].in = in + (size_t)i * FL_LINK_WINDOW;
    }
    Stream *ordered = &link->out->stream[STREAM_ORDERED];
    ordered->ordered = true;
    ordered->out_ring.bytes = block + l->ring_out;
    ordered->out_ring.capacity = link->def.send_bytes;
    ordered->in_ring.bytes = block + l->ring_in;
    ordered->in_ring.capacity = link->def.receive_bytes;
}

static void link_init(FlLink *link, const FlLinkDef *def, FlTime now, uint8_t *block)
{
    Layout l = layout_of(def);
    link->def = *def;
    link->epoch = now;
    link->alive = true;
    link->out = (Sending *)(void *)(block + l.sending);
    link->out->delivered_after = NEVER;
    link->peer_stamp = NEVER;
    fl__arrivals_init(&link->arrivals, (Report *)(void *)(block + l.reports), def->sent_capacity);
    link->out->outbox.ring = (Sent *)(void *)(block + l.ring);
    link->out->outbox.fates = (FlFateEvent *)(void *)(block + l.fates);
    link->out->outbox.capacity = def->sent_capacity;
    link->out->outbox.reported = -1;
    streams_init(link, block, &l);
    fl_budget_init(&link->out->budget, def->rate_bytes_s, 4.0 * FL_LINK_PACKET_BYTES, 0);
    FlClockDef clock = fl_clock_def_default();
    fl_clock_init(&link->clock, &clock);
}

FlResult fl_link_create(const FlLinkDef *def, FlTime now, FlLink **link)
{
    *link = NULL;
    FL_ASSERT(def->cookie == LINK_COOKIE);
    if (!def_is_good(def)) {
        return FL_BAD_VALUE;
    }
    FlLink *fresh = (FlLink *)fl_alloc(&def->alloc, sizeof *fresh, _Alignof(FlLink));
    if (fresh == NULL) {
        return FL_NO_MEMORY;
    }
    size_t bytes = layout_of(def).total;
    uint8_t *block = (uint8_t *)fl_alloc(&def->alloc, bytes, _Alignof(max_align_t));
    if (block == NULL) {
        fl_free(&def->alloc, fresh, sizeof *fresh);
        return FL_NO_MEMORY;
    }
    link_init(fresh, def, now, block);
    *link = fresh;
    return FL_OK;
}

void fl_link_destroy(FlLink *link)
{
    if (link == NULL) {
        return;
    }
    FlAlloc alloc = link->def.alloc;
    fl_free(&alloc, link->out, layout_of(&link->def).total);
    fl_free(&alloc, link, sizeof *link);
}

void fl_link_close(FlLink *link)
{
    if (link->alive) {
        link->alive = false;
        fl__outbox_abandon(&link->out->outbox);
    }
}

bool fl_link_alive(const FlLink *link)
{
    return link->alive;
}

// ---------------------------------------------------------------- time

FlTime fl_link_clock(const FlLink *link, FlTime now)
{
    return fl_span(now, link->epoch);
}

#define SET_BACK_NS FL_SEC(2) // further back than any hiccup: the caller's clock was set

// The link clock at the caller's `now`. A caller's clock that goes back a little stands still here;
// one that was set back goes on from where it was, or the link would sleep until it had caught up.
static FlTime tell_time(FlLink *link, FlTime now)
{
    FlTime clock = fl_link_clock(link, now);
    if (fl_span(link->now, clock) > SET_BACK_NS) {
        link->epoch = fl_span(now, link->now);
        clock = link->now;
    }
    link->now = clock > link->now ? clock : link->now;
    return link->now;
}

// When a packet arrived, on the link clock. That is often a little before the last `now`: then it
// is what counts.
static FlTime tell_arrival(FlLink *link, FlTime arrival)
{
    FlTime clock = fl_link_clock(link, arrival);
    link->now = clock > link->now ? clock : link->now;
    FlTime earliest = link->now > SET_BACK_NS ? link->now - SET_BACK_NS : 0;
    return clock > earliest ? clock : earliest;
}

static FlTime floor_to_step(FlTime t)
{
    FlTime rest = t % FL_LINK_STEP_NS;
    return t - (rest < 0 ? rest + FL_LINK_STEP_NS : rest);
}

#define TIMEOUT_UNKNOWN FL_MS(250)
#define TIMEOUT_AT_LEAST FL_MS(20)

// How long to wait for an answer before saying something again.
static FlTime answer_timeout(const FlLink *link)
{
    if (!link->out->trips.known) {
        return TIMEOUT_UNKNOWN;
    }
    FlTime wait =
        link->out->trips.average_ns + 4 * link->out->trips.deviation_ns + link->def.ack_delay_ns;
    return wait > TIMEOUT_AT_LEAST ? wait : TIMEOUT_AT_LEAST;
}

// How long a report waits for its confirmation before it is told again: half as long where much
// gets lost.
static FlTime report_timeout(const FlLink *link)
{
    bool lossy = link->out->outbox.loss > 0.05 || link->arrivals.loss > 0.05;
    return lossy ? answer_timeout(link) / 2 : answer_timeout(link);
}

// Nothing waits so long to be repeated that a time-out comes before a few tries.
static FlTime patience(const FlLink *link, FlTime wait)
{
    return wait > link->def.timeout_ns / 8 ? wait : link->def.timeout_ns / 8;
}

// Reliable data. A peer that says nothing at all is asked ever more rarely.
static Repeat repeat_of(const FlLink *link)
{
    FlTime wait = answer_timeout(link);
    FlTime silence = fl_span(link->now, link->heard_at) / 2;
    wait = silence > wait ? silence : wait;
    Repeat repeat = {
        .timeout_ns = wait,
        .patience_ns = patience(link, wait),
        .margin_ns = 2 * link->out->trips.deviation_ns + FL_MS(2),
        .delivered_after = link->out->delivered_after,
    };
    return repeat;
}

// ---------------------------------------------------------------- receiving

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

// Stamps are unwrapped against the newest one heard, carried on by our own clock.
static FlTime stamp_unwrap(const FlLink *link, uint64_t low, FlTime arrived)
{
    FlTime expected = 0;
    if (link->peer_stamp != NEVER) {
        expected = link->peer_stamp + fl_span(arrived, link->peer_stamp_at);
    }
    int64_t near = expected / FL_LINK_STEP_NS;
    int64_t steps = link->peer_stamp == NEVER ? (int64_t)low : fl_unwrap(near, low, 24);
    return steps * FL_LINK_STEP_NS;
}

static FlLinkDrop decode_head(const FlLink *link, FlReader *r, uint64_t sequence, FlTime arrived,
                              Incoming *in, uint8_t *flags)
{
    in->sequence = (int64_t)sequence;
    if (!link->def.numbered_below) {
        uint64_t conversation = fl_reader_take(r, 16);
        uint64_t low = fl_reader_take(r, 16);
        if (!r->failed && conversation != link->def.conversation) {
            return FL_LINK_DROP_CONVERSATION;
        }
        in->sequence = fl_unwrap(link->arrivals.newest, low, 16);
    }
    uint64_t stamp = fl_reader_take(r, 24);
    *flags = (uint8_t)fl_reader_take(r, 8);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    in->stamp = stamp_unwrap(link, stamp, arrived);
    in->answer = (*flags & FLAG_ANSWER) != 0;
    return (*flags & ~FLAGS_KNOWN) != 0 || in->stamp < 0 ? FL_LINK_DROP_MALFORMED
                                                         : FL_LINK_DROP_NONE;
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
    Sent *sent = fl__outbox_find(&out->outbox, sequence);
    if (sent == NULL) {
        return; // told before
    }
    FlTime trip = now - sent->sent - (in->stamp - arrived_remote);
    if (trip >= -FL_LINK_STEP_NS) { // below: a clock was set meanwhile
        fl__trips_add(&out->trips, trip);
    }
    (void)fl_clock_acked(&link->clock, sent->sent,
                         arrived_remote); // unbelievable ones are counted there
    fl__arrivals_confirmed(&link->arrivals, &sent->carried);
    for (int32_t i = 0; i < sent->fragments.count; i++) {
        FragmentRef ref = sent->fragments.refs[i];
        if (refused) {
            fl__stream_refused(&out->stream[ref.stream], ref.serial);
        } else {
            fl__stream_acked(&out->stream[ref.stream], ref.serial);
        }
    }
    out->delivered_after = sent->sent > out->delivered_after ? sent->sent : out->delivered_after;
    fl__outbox_decide(&out->outbox, sent, FL_FATE_DELIVERED, arrived_remote);
}

// What the packet says about ours. It counts even where the packet itself finds no room, since it
// is what makes room.
static void apply_arrivals(FlLink *link, const Incoming *in, FlTime now)
{
    link->heard_at = now > link->heard_at ? now : link->heard_at;
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

static void hear_stamp(FlLink *link, const Incoming *in, FlTime arrived)
{
    (void)fl_clock_heard(&link->clock, in->stamp, arrived);
    if (link->peer_stamp == NEVER || in->stamp > link->peer_stamp) {
        link->peer_stamp = in->stamp;
        link->peer_stamp_at = arrived;
    }
}

// There is no way back into a stream whose lengths are nonsense.
static void close_if_broken(FlLink *link)
{
    if (link->alive && fl__stream_broken(&link->out->stream[STREAM_ORDERED])) {
        link->drops[FL_LINK_DROP_MALFORMED]++;
        fl_link_close(link);
    }
}

FlLinkDrop fl_link_receive(FlLink *link, FlTime arrival, uint64_t sequence, const void *bytes,
                           int32_t count, FlLinkPacket *packet)
{
    FlLinkPacket empty = {0};
    *packet = empty;
    FlTime arrived = tell_arrival(link, arrival);
    Incoming in;
    memset(&in, 0, sizeof in);
    FlLinkDrop drop = FL_LINK_DROP_NONE;
    if (!link->alive || fl_span(arrived, link->heard_at) >= link->def.timeout_ns) {
        drop = FL_LINK_DROP_GONE;
    } else if (count < 0 || count > FL_LINK_PACKET_BYTES) {
        drop = FL_LINK_DROP_LARGE;
    } else {
        FlReader reader;
        fl_reader_init(&reader, bytes, count);
        drop = decode(link, &reader, sequence, arrived, &in);
    }
    if (drop == FL_LINK_DROP_NONE) {
        hear_stamp(link, &in, arrived); // the clock wants a packet before the reports in it
        apply_arrivals(link, &in, arrived);
        drop = fl__arrivals_full(&link->arrivals) ? FL_LINK_DROP_CROWDED : FL_LINK_DROP_NONE;
    }
    link->drops[drop]++;
    if (drop != FL_LINK_DROP_NONE) {
        return drop;
    }
    link->packets_in++;
    link->bytes_in += (uint64_t)(count + link->def.overhead_bytes);
    packet->payload_bytes = count - in.payload_at;
    packet->payload = (const uint8_t *)bytes + in.payload_at;
    packet->stamp = in.stamp;
    packet->arrived = floor_to_step(arrived);
    apply(link, &in, arrived, packet->payload_bytes > 0);
    close_if_broken(link);
    return FL_LINK_DROP_NONE;
}

// ---------------------------------------------------------------- sending

FlResult fl_link_send(FlLink *link, FlDelivery delivery, const void *bytes, int32_t count)
{
    if (!link->alive) {
        return FL_STALE_ID;
    }
    bool ordered = delivery == FL_DELIVERY_ORDERED;
    Stream *stream = &link->out->stream[ordered ? STREAM_ORDERED : STREAM_UNORDERED];
    return fl__stream_send(stream, bytes, count, delivery == FL_DELIVERY_QUICKEST);
}

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

// Bytes that a packet may take now, headers below included.
static double available(FlLink *link, FlTime now)
{
    double own = fl_budget_available(&link->out->budget, now);
    if (link->def.common == NULL) {
        return own;
    }
    double common = fl_budget_available(link->def.common, now + link->epoch);
    return common < own ? common : own;
}

static void spend(FlLink *link, FlTime now, double bytes)
{
    fl_budget_spend(&link->out->budget, now, bytes);
    if (link->def.common != NULL) {
        fl_budget_spend(link->def.common, now + link->epoch, bytes);
    }
}

static void write_head(const FlLink *link, FlWriter *w, FlTime now)
{
    const Outbox *o = &link->out->outbox;
    bool crowded = o->next - o->undecided > o->capacity / 2;
    if (!link->def.numbered_below) {
        fl_writer_put(w, link->def.conversation, 16);
        fl_writer_put(w, (uint64_t)o->next & 0xffffu, 16);
    }
    fl_writer_put(w, (uint64_t)(now / FL_LINK_STEP_NS) & 0xffffffu, 24);
    link->out->building.flags_at = fl_writer_size(w);
    fl_writer_put(w, crowded ? FLAG_CROWDED : 0, 8);
    if (crowded) {
        fl_writer_put(w, (uint64_t)o->undecided & 0xffffu, 16);
    }
}

static void write_reliable(FlLink *link, FlWriter *w, FlTime now, const Repeat *repeat)
{
    Fragments *fragments = &link->out->building.fragments;
    // Unordered first: the quickest ride in every packet.
    for (int32_t i = STREAM_COUNT - 1; i >= 0; i--) {
        double budget = available(link, now) - link->def.overhead_bytes - fl_writer_size(w);
        fl__stream_encode(&link->out->stream[i], (uint8_t)i, w, budget, now, repeat, fragments);
    }
    if (fragments->count > 0) {
        w->bytes[fragments->last_at] &= 0xfeu; // no more after the last
        w->bytes[link->out->building.flags_at] |= FLAG_RELIABLE;
    }
}

// Sequences travel by their low 16 bits. A peer that reports none of so many packets may well have
// lost count of them, and could never be told so.
static void close_if_unheard(FlLink *link)
{
    if (link->out->outbox.next - link->out->outbox.reported >= SEQUENCE_SPAN) {
        fl_link_close(link);
    }
}

FlResult fl_link_begin(FlLink *link, FlTime now, uint8_t *buffer, FlWriter *writer)
{
    FlTime clock = tell_time(link, now);
    fl_writer_init(writer, buffer, FL_LINK_PACKET_BYTES);
    close_if_unheard(link);
    if (!link->alive) {
        return FL_STALE_ID;
    }
    FL_ASSERT(!link->out->building.open);
    if (!fl__outbox_has_room(&link->out->outbox)) {
        return FL_WOULD_BLOCK;
    }
    Building fresh = {.open = true};
    link->out->building = fresh;
    Repeat repeat = repeat_of(link);
    write_head(link, writer, clock);
    fl__arrivals_settle(&link->arrivals, &link->def, clock);
    if (fl__arrivals_encode(&link->arrivals, writer, clock, report_timeout(link),
                            &link->out->building.carried)) {
        buffer[link->out->building.flags_at] |= FLAG_ARRIVALS;
        fl_writer_align(writer);
    }
    write_reliable(link, writer, clock, &repeat);
    link->out->building.payload_at = fl_writer_size(writer);
    return FL_OK;
}

// When to say something for its own sake. What was not answered is said again sooner, and in
// earnest when half the time-out is over: where half of all packets are lost, one question in a
// while would not keep a link alive.
//
// At first the two clocks know nothing of each other: who wants it talks often until they do.
#define EAGER_EVERY FL_MS(100)

static FlTime keep_alive_due(const FlLink *link)
{
    FlTime wait = link->def.keep_alive_ns;
    if (link->out->packets < (uint64_t)link->def.eager_count) {
        wait = wait < EAGER_EVERY ? wait : EAGER_EVERY;
    }
    if (wait != FL_FOREVER && link->heard_at < link->out->said_at) {
        FlTime again = answer_timeout(link) / 2 * 3; // answers may come late, too
        FlTime urgent = link->def.timeout_ns / 40;
        bool late = fl_span(link->now, link->heard_at) > link->def.timeout_ns / 2;
        again = late && urgent < again ? urgent : again;
        wait = again < wait ? again : wait;
    }
    return fl_time_add(link->out->said_at, wait);
}

static bool wants_answer(const FlLink *link, const FlWriter *w, FlTime now)
{
    const Building *b = &link->out->building;
    bool payload = fl_writer_size(w) > b->payload_at;
    return payload || b->fragments.count > 0 || b->carried.repeats || now >= keep_alive_due(link);
}

int32_t fl_link_finish(FlLink *link, FlTime now, FlWriter *writer, uint64_t tag, uint64_t *sequence)
{
    Building *b = &link->out->building;
    FL_ASSERT(b->open && !writer->failed);
    FlTime clock = tell_time(link, now);
    fl_writer_align(writer);
    int32_t size = fl_writer_size(writer);
    if (wants_answer(link, writer, clock)) {
        writer->bytes[b->flags_at] |= FLAG_ANSWER;
        link->out->said_at = clock;
    }
    *sequence = (uint64_t)link->out->outbox.next;
    Sent sent = {
        .sequence = link->out->outbox.next,
        .tag = tag,
        .sent = clock,
        .carried = b->carried,
        .fragments = b->fragments,
        .bytes = size + link->def.overhead_bytes,
    };
    fl__outbox_add(&link->out->outbox, &sent);
    fl__arrivals_carried(&link->arrivals, &b->carried, clock);
    for (int32_t i = 0; i < b->fragments.count; i++) {
        fl__stream_sent(&link->out->stream[b->fragments.refs[i].stream],
                        b->fragments.refs[i].serial, clock);
    }
    spend(link, clock, sent.bytes);
    link->out->packets++;
    link->out->bytes += (uint64_t)sent.bytes;
    b->open = false;
    if (!link->alive) { // closed since fl_link_begin: nobody will tell what becomes of it
        fl__outbox_abandon(&link->out->outbox);
    }
    return size;
}

// Reliable bytes that a packet made at `now` (or, if later, when they are due) would carry.
static int32_t reliable_bytes(const FlLink *link, FlTime now, const Repeat *repeat)
{
    int32_t bytes = 0;
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        bytes += fl__stream_due_bytes(&link->out->stream[i], repeat, now);
    }
    return bytes;
}

int32_t fl_link_payload_budget(FlLink *link, FlTime now)
{
    FlTime clock = tell_time(link, now);
    const Building *b = &link->out->building;
    double other = b->payload_at;
    if (!b->open) {
        Repeat repeat = repeat_of(link);
        other = HEAD_BYTES + reliable_bytes(link, clock, &repeat);
    }
    double bytes = available(link, clock) - link->def.overhead_bytes - other;
    double most = FL_LINK_PACKET_BYTES - other;
    bytes = bytes < most ? bytes : most;
    return bytes <= 0.0 ? 0 : (int32_t)bytes;
}

// ---------------------------------------------------------------- deadlines

// When reliable data may go: it is due, and the budget has its worth, so that it goes in packets as
// full as can be. With too much under way already only a packet now and then goes for its sake.
static FlTime reliable_due(FlLink *link, FlTime now)
{
    Repeat repeat = repeat_of(link);
    FlTime ordered = fl__stream_due(&link->out->stream[STREAM_ORDERED], &repeat);
    FlTime unordered = fl__stream_due(&link->out->stream[STREAM_UNORDERED], &repeat);
    FlTime due = ordered < unordered ? ordered : unordered;
    if (due == FL_FOREVER) {
        return due;
    }
    if (fl__outbox_crowded(&link->out->outbox)) {
        FlTime again = fl_time_add(link->out->said_at, repeat.timeout_ns);
        due = again > due ? again : due;
    }
    double bytes = HEAD_BYTES + reliable_bytes(link, due > now ? due : now, &repeat);
    bytes =
        link->def.overhead_bytes + (bytes < FL_LINK_PACKET_BYTES ? bytes : FL_LINK_PACKET_BYTES);
    FlTime affordable = fl_budget_when(&link->out->budget, now, bytes);
    if (link->def.common != NULL) {
        FlTime common = fl_budget_when(link->def.common, now + link->epoch, bytes);
        common = common == FL_FOREVER ? common : common - link->epoch;
        affordable = common > affordable ? common : affordable;
    }
    return due > affordable ? due : affordable;
}

static FlTime send_due(FlLink *link, FlTime now)
{
    FlTime repeat_ns = report_timeout(link);
    FlTime due = fl__arrivals_due(&link->arrivals, repeat_ns, patience(link, repeat_ns));
    FlTime reliable = reliable_due(link, now);
    due = reliable < due ? reliable : due;
    FlTime keep_alive = keep_alive_due(link);
    return keep_alive < due ? keep_alive : due;
}

bool fl_link_wants_to_send(FlLink *link, FlTime now)
{
    FlTime clock = tell_time(link, now);
    return link->alive && send_due(link, clock) <= clock;
}

FlTime fl_link_deadline(FlLink *link, FlTime now)
{
    if (!link->alive) {
        return FL_FOREVER;
    }
    FlTime clock = tell_time(link, now);
    FlTime due = send_due(link, clock);
    FlTime gone = fl_time_add(link->heard_at, link->def.timeout_ns);
    due = gone < due ? gone : due;
    return due == FL_FOREVER ? due : fl_time_add(link->epoch, due > clock ? due : clock);
}

void fl_link_update(FlLink *link, FlTime now)
{
    FlTime clock = tell_time(link, now);
    if (!link->alive) {
        return;
    }
    if (clock >= link->out->adaptation.next) {
        FlClockDelays delays = fl_clock_delays(&link->clock);
        fl__budget_adapt(&link->out->budget, &link->out->adaptation, &link->def, &link->out->outbox,
                         &delays, clock);
    }
    if (fl_span(clock, link->heard_at) >= link->def.timeout_ns) {
        fl_link_close(link);
    }
}

// ---------------------------------------------------------------- telling

FlResult fl_link_poll_fate(FlLink *link, FlFateEvent *event)
{
    Outbox *o = &link->out->outbox;
    FlFateEvent none = {0};
    *event = none;
    if (o->fate_first == o->fate_next) {
        return FL_NOT_FOUND;
    }
    *event = o->fates[o->fate_first++ % (2 * o->capacity)];
    event->sent = fl_time_add(link->epoch, event->sent);
    return FL_OK;
}

const FlClock *fl_link_peer_clock(const FlLink *link)
{
    return &link->clock;
}

void fl_link_stats(const FlLink *link, FlTime now, FlLinkStats *stats)
{
    FlClockReading reading = fl_clock_read(&link->clock, fl_link_clock(link, now));
    FlLinkStats fresh = {
        .rtt_min_ns = link->out->trips.min_ns,
        .rtt_average_ns = link->out->trips.average_ns,
        .rtt_p95_ns = fl__trips_percentile(&link->out->trips, 0.95),
        .jitter_ns = link->out->trips.deviation_ns,
        .delays = fl_clock_delays(&link->clock),
        .uncertainty_ns = reading.known ? reading.bound_ns : FL_FOREVER,
        .loss_out = link->out->outbox.loss,
        .loss_in = link->arrivals.loss,
        .packets_out = link->out->packets,
        .packets_in = link->packets_in,
        .bytes_out = link->out->bytes,
        .bytes_in = link->bytes_in,
        .delivered = link->out->outbox.delivered,
        .lost = link->out->outbox.lost,
        .unknown = link->out->outbox.unknown,
        .rate_bytes_s = link->out->budget.rate_bytes_s,
        .slowed = link->out->adaptation.slowed,
        .sped_up = link->out->adaptation.sped_up,
        .refused = link->out->refused,
    };
    memcpy(fresh.drops, link->drops, sizeof fresh.drops);
    *stats = fresh;
}
