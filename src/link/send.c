// Making packets: numbering, stamping, and putting the parts of a link together; and when.
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
// Invariant: between fl_link_begin and fl_link_finish nothing is taken for sent; what the packet
// says is noted when it is finished.
#include "private.h"

#include <string.h>

#define HEAD_BYTES 8

// ---------------------------------------------------------------- how long to wait

#define TIMEOUT_UNKNOWN FL_MS(250)
#define TIMEOUT_AT_LEAST FL_MS(20)

FlTime fl__link_answer_timeout(const FlLink *link)
{
    if (!link->out->trips.known) {
        return TIMEOUT_UNKNOWN;
    }
    FlTime wait =
        link->out->trips.average_ns + 4 * link->out->trips.deviation_ns + link->def.ack_delay_ns;
    return fl__time_max(wait, TIMEOUT_AT_LEAST);
}

// How long a report waits for its confirmation before it is sent again: half as long where much
// gets lost.
static FlTime report_timeout(const FlLink *link)
{
    bool lossy = link->out->outbox.loss > 0.05 || link->arrivals.loss > 0.05;
    return lossy ? fl__link_answer_timeout(link) / 2 : fl__link_answer_timeout(link);
}

// Nothing waits so long to be repeated that a time-out comes before a few tries.
static FlTime repeat_limit(const FlLink *link, FlTime wait)
{
    return wait > link->def.timeout_ns / 8 ? wait : link->def.timeout_ns / 8;
}

// Reliable data. A peer that says nothing at all is asked ever more rarely.
static Repeat repeat_of(const FlLink *link)
{
    FlTime wait = fl__link_answer_timeout(link);
    FlTime silence = fl_span(link->now, link->out->received_at) / 2;
    wait = fl__time_max(silence, wait);
    Repeat repeat = {
        .timeout_ns = wait,
        .latest_ns = repeat_limit(link, wait),
        .margin_ns = 2 * link->out->trips.deviation_ns + FL_MS(2),
        .delivered_after = link->out->delivered_after,
    };
    return repeat;
}

#define SILENT_AFTER FL_SEC(1) // at least
#define BACK_OFF_AT_MOST FL_SEC(2)

bool fl__link_silent(const FlLink *link)
{
    if (link->out->asked_at == FL_FOREVER) {
        return false;
    }
    FlTime usual = 4 * fl__link_answer_timeout(link);
    return fl_span(link->now, link->out->asked_at) > fl__time_max(usual, SILENT_AFTER);
}

// A peer that does not answer may be gone, and every packet to it in vain. What became of packets
// is not reported any more either: what they carried would be due again at once, and flood the way.
static FlTime back_off(const FlLink *link)
{
    FlTime wait = fl__link_silent(link) ? fl_span(link->now, link->out->asked_at) / 4 : 0;
    return fl_time_min(wait, BACK_OFF_AT_MOST);
}

// ---------------------------------------------------------------- sending

FlResult fl_link_send(FlLink *link, FlDelivery delivery, const void *bytes, int32_t count)
{
    if (!link->alive) {
        return FL_STALE_ID;
    }
    if (delivery > FL_DELIVERY_QUICKEST) {
        return FL_BAD_VALUE;
    }
    bool ordered = delivery == FL_DELIVERY_ORDERED;
    Stream *stream = &link->out->stream[ordered ? STREAM_ORDERED : STREAM_UNORDERED];
    return fl__stream_send(stream, bytes, count, delivery == FL_DELIVERY_QUICKEST);
}

FlResult fl__link_send_channel(FlLink *link, uint32_t channel, uint8_t priority, const void *bytes,
                               int32_t count)
{
    Stream *stream = &link->out->stream[STREAM_UNORDERED];
    return link->alive ? fl__stream_send_channel(stream, bytes, count, channel, priority)
                       : FL_STALE_ID;
}

// Bytes that a packet may take now, headers below included.
static double available(FlLink *link, FlTime now)
{
    double own = fl__budget_available(&link->out->budget, now);
    if (link->def.common == NULL) {
        return own;
    }
    double common = fl__budget_available(link->def.common, now + link->out->epoch);
    return common < own ? common : own;
}

static void spend(FlLink *link, FlTime now, double bytes)
{
    fl__budget_spend(&link->out->budget, now, bytes);
    if (link->def.common != NULL) {
        fl__budget_spend(link->def.common, now + link->out->epoch, bytes);
    }
}

static void write_head(const FlLink *link, FlWriter *w, FlTime now)
{
    const Outbox *o = &link->out->outbox;
    bool crowded = fl__outbox_span(o) > o->capacity / 2;
    if (!link->def.external_sequence) {
        fl_writer_put(w, link->def.conversation | ((uint64_t)o->next & 0xffffu) << 16, 32);
    }
    link->out->building.flags_at = fl_writer_size(w) + 3;
    uint64_t stamp = (uint64_t)(now / FL_LINK_STEP_NS) & 0xffffffu;
    fl_writer_put(w, stamp | (uint64_t)(crowded ? FLAG_CROWDED : 0) << 24, 32);
    if (crowded) {
        fl_writer_put(w, (uint64_t)o->undecided & 0xffffu, 16);
    }
}

static bool has_reliable(const FlLink *link)
{
    return !fl__stream_idle(&link->out->stream[STREAM_ORDERED]) ||
           !fl__stream_idle(&link->out->stream[STREAM_UNORDERED]);
}

static void write_reliable(FlLink *link, FlWriter *w, FlTime now)
{
    Repeat repeat = repeat_of(link);
    Fragments *fragments = &link->out->building.fragments;
    // Unordered first: the quickest ride in every packet.
    for (int32_t i = STREAM_COUNT - 1; i >= 0; i--) {
        double budget = available(link, now) - link->def.overhead_bytes - fl_writer_size(w);
        fl__stream_encode(&link->out->stream[i], (uint8_t)i, w, budget, now, &repeat, fragments);
    }
    if (fragments->count > 0) {
        w->bytes[fragments->last_at] &= 0xfeu; // no more after the last
        w->bytes[link->out->building.flags_at] |= FLAG_RELIABLE;
    }
}

// Sequences travel by their low 16 bits. A peer that reports none of so many packets may well have
// lost count of them, and could not be corrected.
static void close_if_silent(FlLink *link)
{
    if (link->out->outbox.next - link->out->outbox.reported >= SEQUENCE_SPAN) {
        fl__link_close(link);
    }
}

void fl_link_number_from(FlLink *link, uint64_t sequence)
{
    FL_ASSERT(link->def.external_sequence && !link->out->building.open);
    FL_ASSERT(sequence <= (uint64_t)SEQUENCE_AT_MOST);
    fl__outbox_skip_to(&link->out->outbox, (int64_t)sequence);
}

FlResult fl_link_begin(FlLink *link, FlTime now, uint8_t *buffer, FlWriter *writer)
{
    FlTime clock = fl__link_tell_time(link, now);
    fl_writer_init(writer, buffer, link->def.packet_bytes);
    close_if_silent(link);
    if (!link->alive) {
        return FL_STALE_ID;
    }
    FL_ASSERT(!link->out->building.open);
    if (!fl__outbox_has_room(&link->out->outbox)) {
        return FL_WOULD_BLOCK;
    }
    link->out->building.open = true;
    link->out->building.fragments.count = 0;
    write_head(link, writer, clock);
    fl__arrivals_settle(&link->arrivals, &link->def, clock);
    if (fl__arrivals_encode(&link->arrivals, writer, clock, report_timeout(link),
                            link->def.repeat_reports, &link->out->building.carried)) {
        buffer[link->out->building.flags_at] |= FLAG_ARRIVALS;
    }
    if (has_reliable(link)) {
        write_reliable(link, writer, clock);
    }
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
        wait = fl_time_min(wait, EAGER_EVERY);
    }
    if (link->out->received_at < link->out->said_at || fl__link_silent(link)) {
        FlTime again = fl__link_answer_timeout(link) / 2 * 3; // answers may come late, too
        FlTime urgent = link->def.timeout_ns / 40;
        FlTime rarely = back_off(link);
        rarely = fl_time_min(rarely, urgent);
        again = fl__time_max(rarely, again);
        bool late = fl_span(link->now, link->out->received_at) > link->def.timeout_ns / 2;
        again = late && urgent < again ? urgent : again;
        wait = fl_time_min(again, wait);
    }
    return fl_time_add(link->out->said_at, wait);
}

FlTime fl__link_probe_due(const FlLink *link)
{
    return keep_alive_due(link);
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
    FlTime clock = fl__link_tell_time(link, now);
    fl_writer_align(writer);
    int32_t size = fl_writer_size(writer);
    if (wants_answer(link, writer, clock)) {
        writer->bytes[b->flags_at] |= FLAG_ANSWER;
        link->out->said_at = clock;
        link->out->asked_at = fl_time_min(clock, link->out->asked_at);
    }
    *sequence = (uint64_t)link->out->outbox.next;
    int32_t bytes = size + link->def.overhead_bytes;
    Sent *sent = fl__outbox_add(&link->out->outbox, tag, clock, bytes);
    if (sent != NULL) {
        sent->carried = b->carried;
        sent->fragment_count = (uint8_t)b->fragments.count;
        memcpy(fl__outbox_refs(&link->out->outbox, sent), b->fragments.refs,
               (size_t)b->fragments.count * sizeof b->fragments.refs[0]);
    }
    fl__arrivals_carried(&link->arrivals, &b->carried, clock);
    for (int32_t i = 0; i < b->fragments.count; i++) {
        fl__stream_sent(&link->out->stream[b->fragments.refs[i].stream],
                        b->fragments.refs[i].serial, clock);
    }
    spend(link, clock, bytes);
    link->out->packets++;
    link->out->bytes += (uint64_t)bytes;
    b->open = false;
    if (!link->alive) { // closed since fl_link_begin: its fate will not be known
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
    int32_t most = link->def.packet_bytes - PAYLOAD_RESERVE - HEAD_BYTES;
    return bytes < most ? bytes : most;
}

// What reliable data leaves, but at least half of what there is: a long message must not silence
// motion. Together they may overdraw; then both wait.
int32_t fl_link_payload_budget(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_tell_time(link, now);
    const Building *b = &link->out->building;
    if (!b->open && fl__link_silent(link) && clock < keep_alive_due(link)) {
        return 0;
    }
    double other = b->open ? b->payload_at : HEAD_BYTES;
    if (!b->open && has_reliable(link)) {
        Repeat repeat = repeat_of(link);
        other = HEAD_BYTES + reliable_bytes(link, clock, &repeat);
    }
    double all = available(link, clock);
    double bytes = (all - other > all / 2.0 ? all - other : all / 2.0) - link->def.overhead_bytes;
    double most = link->def.packet_bytes - other;
    bytes = bytes < most ? bytes : most;
    return bytes <= 0.0 ? 0 : (int32_t)bytes;
}

// ---------------------------------------------------------------- deadlines

// When reliable data may go: it is due, and the budget has its worth, so that it goes in packets as
// full as can be. With too much under way already only a packet now and then goes for its sake.
static FlTime reliable_due(FlLink *link, FlTime now)
{
    if (!has_reliable(link)) {
        return FL_FOREVER;
    }
    Repeat repeat = repeat_of(link);
    FlTime ordered = fl__stream_due(&link->out->stream[STREAM_ORDERED], &repeat);
    FlTime unordered = fl__stream_due(&link->out->stream[STREAM_UNORDERED], &repeat);
    FlTime due = fl_time_min(ordered, unordered);
    if (due == FL_FOREVER) {
        return due;
    }
    if (fl__outbox_crowded(&link->out->outbox)) {
        FlTime again = fl_time_add(link->out->said_at, repeat.timeout_ns);
        due = fl__time_max(again, due);
    }
    if (fl__link_silent(link)) {
        FlTime probe = keep_alive_due(link);
        due = fl__time_max(probe, due);
    }
    double bytes = link->def.overhead_bytes + HEAD_BYTES +
                   reliable_bytes(link, fl__time_max(due, now), &repeat);
    FlTime affordable = fl__budget_when(&link->out->budget, now, bytes);
    if (link->def.common != NULL) {
        FlTime common = fl__budget_when(link->def.common, now + link->out->epoch, bytes);
        common = common == FL_FOREVER ? common : common - link->out->epoch;
        affordable = fl__time_max(common, affordable);
    }
    return fl__time_max(due, affordable);
}

// All that is due but reports.
static FlTime rest_due(FlLink *link, FlTime now)
{
    FlTime reliable = reliable_due(link, now);
    FlTime keep_alive = keep_alive_due(link);
    return fl_time_min(keep_alive, reliable);
}

bool fl__link_wants_to_send(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_tell_time(link, now);
    if (!link->alive) {
        return false;
    }
    FlTime repeat_ns = report_timeout(link);
    FlTime latest_ns = repeat_limit(link, repeat_ns);
    if (fl__arrivals_due_earliest(&link->arrivals, repeat_ns, latest_ns) <= clock &&
        fl__arrivals_due(&link->arrivals, repeat_ns, latest_ns) <= clock) {
        return true;
    }
    return rest_due(link, clock) <= clock;
}

FlTime fl_link_deadline(FlLink *link, FlTime now)
{
    if (!link->alive) {
        return FL_FOREVER;
    }
    FlTime clock = fl__link_tell_time(link, now);
    FlTime repeat_ns = report_timeout(link);
    FlTime due = fl__arrivals_due(&link->arrivals, repeat_ns, repeat_limit(link, repeat_ns));
    FlTime rest = rest_due(link, clock);
    due = fl_time_min(rest, due);
    FlTime gone = fl_time_add(link->out->received_at, link->def.timeout_ns);
    due = fl_time_min(gone, due);
    return due == FL_FOREVER ? due : fl_time_add(link->out->epoch, fl__time_max(due, clock));
}
