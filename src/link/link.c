// Packets: numbering, stamping, and putting the parts of a link together.
//
// PACKET: one datagram.                                          spec/WIRE.md section 4.1
//
//   bits  field         unit      valid
//   16    conversation  -         agreed on when joining; absent where the carrier numbers packets
//   16    sequence      -         low bits of the packet's number, from 0; absent likewise
//   24    stamp         0.25 ms   when it was sent, on the sender's link clock, low bits
//   1     arrivals      -         ARRIVALS follows
//   1     reliable      -         FRAGMENTs follow (after ARRIVALS, from a whole byte on)
//   1     answer        -         the receiver should report this packet without waiting for
//   traffic 5     zero          - then  ARRIVALS, zero bits to a whole byte, FRAGMENTs, and the
//   caller's payload to the end
//
// Receiving decodes and checks the whole packet before anything changes: a bad packet leaves no
// trace but a counter.
#include "private.h"

#include <string.h>

#define LINK_COOKIE 0x4c494e4bu
#define FLAG_ARRIVALS 1u
#define FLAG_RELIABLE 2u
#define FLAG_ANSWER 4u

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

static bool def_is_good(const FlLinkDef *def)
{
    bool times = def->ack_delay_ns >= 0 && def->keep_alive_ns > 0 && def->timeout_ns > 0 &&
                 def->reorder_ns > 0;
    bool rates = def->rate_min_bytes_s > 0.0 && def->rate_bytes_s >= def->rate_min_bytes_s &&
                 def->rate_max_bytes_s >= def->rate_bytes_s && isfinite(def->rate_max_bytes_s);
    bool sizes = is_power_of_two(def->sent_capacity) && def->sent_capacity >= 16 &&
                 def->sent_capacity <= 4096 && def->send_bytes >= FL_LINK_FRAGMENT_BYTES &&
                 def->receive_bytes >= FL_LINK_FRAGMENT_BYTES && def->overhead_bytes >= 0 &&
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

// The link clock at the caller's `now`; a caller's clock that goes back stands still here.
static FlTime tell_time(FlLink *link, FlTime now)
{
    FlTime clock = fl_link_clock(link, now);
    link->now = clock > link->now ? clock : link->now;
    return link->now;
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

static Repeat repeat_of(const FlLink *link)
{
    Repeat repeat = {
        .timeout_ns = answer_timeout(link),
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
    ArrivalsMessage arrivals;
    FragmentMessage fragments[FRAGMENTS_PER_PACKET];
    int32_t fragment_count;
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
    bool unknown_flags = (*flags & ~(FLAG_ARRIVALS | FLAG_RELIABLE | FLAG_ANSWER)) != 0;
    return unknown_flags || in->stamp < 0 ? FL_LINK_DROP_MALFORMED : FL_LINK_DROP_NONE;
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
        if (drop == FL_LINK_DROP_NONE) {
            drop = fl__stream_check(&link->out->stream[m->stream], m);
        }
        if (drop != FL_LINK_DROP_NONE) {
            return drop;
        }
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
    if (drop == FL_LINK_DROP_NONE && (flags & FLAG_ARRIVALS) != 0) {
        drop = fl__arrivals_decode(r, link->out->outbox.next, &in->arrivals);
        fl_reader_align(r);
        drop = drop == FL_LINK_DROP_NONE && r->failed ? FL_LINK_DROP_MALFORMED : drop;
        in->has_arrivals = drop == FL_LINK_DROP_NONE;
    }
    if (drop == FL_LINK_DROP_NONE && (flags & FLAG_RELIABLE) != 0) {
        drop = decode_fragments(link, r, in);
    }
    if (drop == FL_LINK_DROP_NONE && fl__arrivals_full(&link->arrivals)) {
        drop = FL_LINK_DROP_CROWDED;
    }
    return drop;
}

// The peer says that our packet `sequence` arrived.
static void apply_report(FlLink *link, int64_t sequence, FlTime arrived_remote,
                         FlTime carrier_stamp, FlTime now)
{
    if (sequence < link->out->outbox.undecided ||
        !fl__outbox_at(&link->out->outbox, sequence)->undecided) {
        return; // told before
    }
    Sent *sent = fl__outbox_at(&link->out->outbox, sequence);
    FlTime rested = carrier_stamp - arrived_remote;
    fl__trips_add(&link->out->trips, now - sent->sent - rested);
    (void)fl_clock_acked(&link->clock, sent->sent,
                         arrived_remote); // unbelievable ones are counted there
    fl__arrivals_confirmed(&link->arrivals, &sent->carried);
    for (int32_t i = 0; i < sent->fragments.count; i++) {
        FragmentRef ref = sent->fragments.refs[i];
        fl__stream_acked(&link->out->stream[ref.stream], ref.serial);
    }
    link->out->delivered_after =
        sent->sent > link->out->delivered_after ? sent->sent : link->out->delivered_after;
    fl__outbox_decide(&link->out->outbox, sequence, FL_FATE_DELIVERED, arrived_remote);
}

static void apply_arrivals(FlLink *link, const Incoming *in, FlTime now)
{
    const ArrivalsMessage *m = &in->arrivals;
    int64_t stamp_steps = in->stamp / FL_LINK_STEP_NS;
    int64_t newest = fl_unwrap(stamp_steps, (uint64_t)m->arrived_steps[0] & 0xffffffu, 24);
    for (int32_t i = 0; i < m->count; i++) {
        int64_t steps = newest + (m->arrived_steps[i] - m->arrived_steps[0]);
        apply_report(link, m->sequence[i], steps * FL_LINK_STEP_NS, in->stamp, now);
    }
    fl__outbox_settle(&link->out->outbox, m->settled);
}

static void apply(FlLink *link, const Incoming *in, FlTime arrived)
{
    (void)fl_clock_heard(&link->clock, in->stamp, arrived);
    if (link->peer_stamp == NEVER || in->stamp > link->peer_stamp) {
        link->peer_stamp = in->stamp;
        link->peer_stamp_at = arrived;
    }
    link->heard_at = arrived > link->heard_at ? arrived : link->heard_at;
    fl__arrivals_note(&link->arrivals, &link->def, in->sequence, floor_to_step(arrived),
                      in->answer);
    fl__arrivals_settle(&link->arrivals, &link->def, arrived);
    if (in->has_arrivals) {
        apply_arrivals(link, in, arrived);
    }
    for (int32_t i = 0; i < in->fragment_count; i++) {
        fl__stream_accept(&link->out->stream[in->fragments[i].stream], &in->fragments[i]);
    }
}

FlLinkDrop fl_link_receive(FlLink *link, FlTime arrival, uint64_t sequence, const void *bytes,
                           int32_t count, FlLinkPacket *packet)
{
    FlLinkPacket empty = {0};
    *packet = empty;
    FlTime arrived = tell_time(link, arrival);
    Incoming in;
    memset(&in, 0, sizeof in);
    FlLinkDrop drop = FL_LINK_DROP_NONE;
    FlReader reader = {0};
    if (!link->alive) {
        drop = FL_LINK_DROP_GONE;
    } else if (count < 0 || count > FL_LINK_PACKET_BYTES) {
        drop = FL_LINK_DROP_LARGE;
    } else {
        fl_reader_init(&reader, bytes, count);
        drop = decode(link, &reader, sequence, arrived, &in);
    }
    link->drops[drop]++;
    if (drop == FL_LINK_DROP_CROWDED && in.has_arrivals) {
        apply_arrivals(link, &in, arrived); // the peer's reports are what makes room again
    }
    if (drop != FL_LINK_DROP_NONE) {
        return drop;
    }
    apply(link, &in, arrived);
    link->packets_in++;
    link->bytes_in += (uint64_t)(count + link->def.overhead_bytes);
    packet->payload_bytes = fl_reader_left(&reader);
    packet->payload = fl_reader_bytes(&reader, packet->payload_bytes);
    packet->stamp = in.stamp;
    packet->arrived = floor_to_step(arrived);
    if (fl__stream_broken(&link->out->stream[STREAM_ORDERED])) {
        link->drops[FL_LINK_DROP_MALFORMED]++;
        fl_link_close(link); // there is no way back into a stream whose lengths are nonsense
    }
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
    if (link->alive && fl__stream_broken(&link->out->stream[STREAM_ORDERED])) {
        link->drops[FL_LINK_DROP_MALFORMED]++;
        fl_link_close(link);
    }
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
    if (!link->def.numbered_below) {
        fl_writer_put(w, link->def.conversation, 16);
        fl_writer_put(w, (uint64_t)link->out->outbox.next & 0xffffu, 16);
    }
    fl_writer_put(w, (uint64_t)(now / FL_LINK_STEP_NS) & 0xffffffu, 24);
    link->out->building.flags_at = fl_writer_size(w);
    fl_writer_put(w, 0, 8);
}

static void write_reliable(FlLink *link, FlWriter *w, FlTime now, const Repeat *repeat)
{
    Fragments *fragments = &link->out->building.fragments;
    // Unordered first: the quickest ride in every packet.
    for (int32_t i = STREAM_COUNT - 1; i >= 0; i--) {
        double budget = available(link, now) - link->def.overhead_bytes - fl_writer_size(w);
        int32_t room = FL_LINK_PACKET_BYTES - fl_writer_size(w);
        room = budget < room ? (int32_t)budget : room;
        fl__stream_encode(&link->out->stream[i], (uint8_t)i, w, room, now, repeat, fragments);
    }
    if (fragments->count > 0) {
        w->bytes[fragments->last_at] &= 0xfeu; // no more after the last
        w->bytes[link->out->building.flags_at] |= FLAG_RELIABLE;
    }
}

FlResult fl_link_begin(FlLink *link, FlTime now, uint8_t *buffer, FlWriter *writer)
{
    FlTime clock = tell_time(link, now);
    fl_writer_init(writer, buffer, FL_LINK_PACKET_BYTES);
    if (!link->alive) {
        return FL_STALE_ID;
    }
    FL_ASSERT(!link->out->building.open);
    if (!fl__outbox_reserve(&link->out->outbox)) {
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

static bool wants_answer(const FlLink *link, const FlWriter *w, FlTime now)
{
    const Building *b = &link->out->building;
    bool payload = fl_writer_size(w) > b->payload_at;
    bool keep_alive = fl_span(now, link->out->said_at) >= link->def.keep_alive_ns;
    return payload || b->fragments.count > 0 || b->carried.repeats || keep_alive;
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
        .tag = tag,
        .sent = clock,
        .carried = b->carried,
        .fragments = b->fragments,
        .bytes = size + link->def.overhead_bytes,
        .undecided = true,
    };
    *fl__outbox_at(&link->out->outbox, link->out->outbox.next++) = sent;
    fl__arrivals_carried(&link->arrivals, &b->carried, clock);
    for (int32_t i = 0; i < b->fragments.count; i++) {
        fl__stream_sent(&link->out->stream[b->fragments.refs[i].stream],
                        b->fragments.refs[i].serial, clock);
    }
    spend(link, clock, sent.bytes);
    link->out->packets++;
    link->out->bytes += (uint64_t)sent.bytes;
    b->open = false;
    return size;
}

int32_t fl_link_payload_budget(FlLink *link, FlTime now)
{
    FlTime clock = tell_time(link, now);
    double bytes = available(link, clock) - link->def.overhead_bytes - 8;
    double most = FL_LINK_PACKET_BYTES - 8;
    return bytes <= 0.0 ? 0 : (int32_t)(bytes < most ? bytes : most);
}

// ---------------------------------------------------------------- deadlines

// When reliable data may go: it is due, and the budget has a fragment's worth.
static FlTime reliable_due(FlLink *link, FlTime now)
{
    Repeat repeat = repeat_of(link);
    FlTime ordered = fl__stream_due(&link->out->stream[STREAM_ORDERED], &repeat);
    FlTime unordered = fl__stream_due(&link->out->stream[STREAM_UNORDERED], &repeat);
    FlTime due = ordered < unordered ? ordered : unordered;
    if (due == FL_FOREVER) {
        return due;
    }
    double bytes = link->def.overhead_bytes + 64 + FL_LINK_FRAGMENT_BYTES;
    FlTime affordable = fl_budget_when(&link->out->budget, now, bytes);
    if (link->def.common != NULL) {
        FlTime common = fl_budget_when(link->def.common, now + link->epoch, bytes) - link->epoch;
        affordable = common > affordable ? common : affordable;
    }
    return due > affordable ? due : affordable;
}

static FlTime send_due(FlLink *link, FlTime now)
{
    FlTime due = fl__arrivals_due(&link->arrivals, report_timeout(link));
    FlTime reliable = reliable_due(link, now);
    due = reliable < due ? reliable : due;
    FlTime keep_alive = fl_time_add(link->out->said_at, link->def.keep_alive_ns);
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
    FlClockDelays delays = fl_clock_delays(&link->clock);
    fl__budget_adapt(&link->out->budget, &link->out->adaptation, &link->def, &link->out->outbox,
                     &delays, clock);
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
    };
    memcpy(fresh.drops, link->drops, sizeof fresh.drops);
    *stats = fresh;
}
