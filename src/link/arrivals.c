// What came in, and telling the peer about it until it surely knows.
//
// Every packet taken makes a *report* (sequence, arrival time). Reports ride on outgoing packets;
// one is done with only when a packet that carried it is itself reported to have arrived, or when
// the peer says that it does not wait for it any more. So the peer learns every arrival, whatever
// is lost.
//
// Who asks for an answer gets one within the ack delay. An answer that nobody confirms is repeated
// unasked only if it is about a packet that brought something (payload or reliable data): were
// answers to mere questions repeated too, two silent peers would talk for ever.
//
// A packet that has not come is given up when a later one arrived at least `reorder_ns` ago, or
// when it falls out of the window; after that it is refused. `settled` is the first sequence about
// which something is still open: below it every packet is either reported and confirmed, or given
// up. A peer that reads it knows for certain what was lost.
//
// Invariant: settled <= sequence of every report that is not confirmed.
#include "private.h"

#include <string.h>

void fl__arrivals_init(Arrivals *a, Report *storage, int32_t capacity)
{
    a->reports = storage;
    a->capacity = capacity;
    a->newest = -1;
    a->horizon = -1;
    a->ack_due = FL_FOREVER;
    for (int32_t i = 0; i < CHECKPOINTS; i++) {
        a->checkpoint[i].time = NEVER;
        a->checkpoint[i].newest = -1;
    }
}

static Report *report_at(const Arrivals *a, int64_t serial)
{
    return &a->reports[serial & (a->capacity - 1)]; // a power of two
}

static bool is_seen(const Arrivals *a, int64_t sequence)
{
    uint32_t slot = (uint32_t)sequence % IN_WINDOW;
    return (a->seen[slot / 64] >> (slot % 64) & 1u) != 0;
}

static void set_seen(Arrivals *a, int64_t sequence, bool seen)
{
    uint32_t slot = (uint32_t)sequence % IN_WINDOW;
    uint64_t bit = (uint64_t)1 << (slot % 64);
    a->seen[slot / 64] = seen ? a->seen[slot / 64] | bit : a->seen[slot / 64] & ~bit;
}

#define SEQUENCE_AT_MOST (INT64_MAX / 2) // leaves room for sums

FlLinkDrop fl__arrivals_check(const Arrivals *a, int64_t sequence)
{
    if (sequence < 0 || sequence > SEQUENCE_AT_MOST) {
        return FL_LINK_DROP_MALFORMED;
    }
    if (sequence <= a->newest - IN_WINDOW) {
        return FL_LINK_DROP_LATE;
    }
    if (sequence <= a->newest && is_seen(a, sequence)) {
        return FL_LINK_DROP_DUPLICATE;
    }
    if (sequence <= a->horizon) {
        return FL_LINK_DROP_LATE;
    }
    return FL_LINK_DROP_NONE;
}

bool fl__arrivals_full(const Arrivals *a)
{
    return a->next_serial - a->first_serial >= a->capacity;
}

// Moves the horizon up, counting what is given up on the way.
static void give_up_through(Arrivals *a, int64_t horizon)
{
    if (horizon - a->horizon > 2 * IN_WINDOW) { // a leap: a carrier's numbers may skip a billion
        a->horizon = horizon;
        a->loss = 1.0; // to nine digits
    }
    while (a->horizon < horizon) {
        a->horizon++;
        bool lost = a->horizon > a->newest || !is_seen(a, a->horizon);
        a->loss += ((lost ? 1.0 : 0.0) - a->loss) / 64.0;
    }
}

void fl__arrivals_settle(Arrivals *a, const FlLinkDef *def, FlTime now)
{
    for (int32_t i = 0; i < CHECKPOINTS; i++) {
        const Checkpoint *c = &a->checkpoint[i];
        if (c->time != NEVER && fl_span(now, c->time) >= def->reorder_ns) {
            give_up_through(a, c->newest);
        }
    }
    // A new checkpoint now and then, so that one is always about as old as wanted.
    int32_t last = (a->checkpoint_next + CHECKPOINTS - 1) % CHECKPOINTS;
    FlTime spacing = def->reorder_ns / (CHECKPOINTS - 1) + 1;
    bool due =
        a->checkpoint[last].time == NEVER || fl_span(now, a->checkpoint[last].time) >= spacing;
    if (due && a->newest > a->checkpoint[last].newest) {
        Checkpoint fresh = {now, a->newest};
        a->checkpoint[a->checkpoint_next] = fresh;
        a->checkpoint_next = (a->checkpoint_next + 1) % CHECKPOINTS;
    }
}

static void advance_newest(Arrivals *a, int64_t sequence)
{
    if (sequence <= a->newest) {
        return;
    }
    give_up_through(a, sequence - IN_WINDOW);
    int64_t from = sequence - a->newest > IN_WINDOW ? sequence - IN_WINDOW : a->newest;
    for (int64_t s = from + 1; s <= sequence; s++) {
        set_seen(a, s, false);
    }
    a->newest = sequence;
}

#define PROMPT_COUNT 16 // this many reports do not wait for the ack delay

void fl__arrivals_note(Arrivals *a, const FlLinkDef *def, const Report *report)
{
    advance_newest(a, report->sequence);
    set_seen(a, report->sequence, true);
    bool waiting = a->first_serial < a->next_serial;
    if (waiting && report_at(a, a->first_serial)->sequence < a->newest - SEQUENCE_SPAN) {
        fl__arrivals_forget(a, a->newest - SEQUENCE_SPAN); // its sender has given up on it
    }
    Report fresh = *report;
    fresh.carried_at = NEVER;
    *report_at(a, a->next_serial++) = fresh;
    if (report->owed) {
        a->fresh_count++;
        bool prompt = a->fresh_count >= PROMPT_COUNT;
        FlTime due = report->arrived + (prompt ? 0 : def->ack_delay_ns);
        a->ack_due = due < a->ack_due ? due : a->ack_due;
    }
}

// ---------------------------------------------------------------- done with

static void confirm(Arrivals *a, Report *report)
{
    if (!report->confirmed && report->owed && report->carried_at == NEVER) {
        a->fresh_count--;
        a->ack_due = a->fresh_count == 0 ? FL_FOREVER : a->ack_due;
    }
    report->confirmed = true;
}

static void move_on(Arrivals *a)
{
    while (a->first_serial < a->next_serial && report_at(a, a->first_serial)->confirmed) {
        a->first_serial++;
    }
}

void fl__arrivals_confirmed(Arrivals *a, const Carried *carried)
{
    int64_t serial = carried->first;
    for (uint64_t left = carried->mask; left != 0; left >>= 1, serial++) {
        if ((left & 1u) != 0 && serial >= a->first_serial) {
            confirm(a, report_at(a, serial));
        }
    }
    move_on(a);
}

void fl__arrivals_forget(Arrivals *a, int64_t oldest)
{
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        if (report_at(a, s)->sequence < oldest) {
            confirm(a, report_at(a, s));
        }
    }
    move_on(a);
}

// ---------------------------------------------------------------- ARRIVALS on the wire
//
// ARRIVALS: when packets of yours came in.                       spec/WIRE.md section 6.1
//
//   bits  field      unit      valid
//   16    newest     -         low bits of the newest sequence reported; a packet that was sent
//   16    settled    -         low bits; all before it not reported until now are lost; at most
//                              the oldest sequence reported here
//   5     count      -         1..31 reports: the newest, then others by falling sequence
//   1     refusals   -         1: each report says `refused`; at least one of them 1
//   24    arrived    0.25 ms   of the newest, on the writer's link clock, floored, low bits; the
//                              last such time not after the packet's stamp
//   0..1  refused    -         with refusals; 1: its reliable data found no room, send it again
//   per further report:
//   1     gap        -         0: the sequence before the last one's; 1: further back, and then
//   0..8  back       -         with gap; 2 + back below the last one's
//   1     long       -         0: change has 8 bits; 1: it has 16, and needs them
//   8/16  change     0.25 ms   arrival of the last one minus this one's, zigzag: 0, -1, 1, -2, ...
//   0..1  refused    -         as above
//
// No arrival is before 0 or after the packet's stamp.

static uint64_t zigzag(int64_t value)
{
    return value < 0 ? (uint64_t)(-(value + 1)) * 2 + 1 : (uint64_t)value * 2;
}

static int64_t zigzag_back(uint64_t code)
{
    return (code & 1u) != 0 ? -(int64_t)(code / 2) - 1 : (int64_t)(code / 2);
}

static int64_t steps_of(FlTime arrived)
{
    return arrived / FL_LINK_STEP_NS;
}

static bool follows(const Report *before, const Report *next)
{
    int64_t back = before->sequence - next->sequence;
    return back >= 1 && back <= 257 &&
           zigzag(steps_of(before->arrived) - steps_of(next->arrived)) < 65536;
}

static void write_first(FlWriter *w, const Report *report, int64_t settled, int32_t count,
                        bool refusals)
{
    fl_writer_put(w, (uint64_t)report->sequence & 0xffffu, 16);
    fl_writer_put(w, (uint64_t)settled & 0xffffu, 16);
    fl_writer_put(w, (uint64_t)count, 5);
    fl_writer_put(w, refusals ? 1 : 0, 1);
    fl_writer_put(w, (uint64_t)steps_of(report->arrived) & 0xffffffu, 24);
}

static void write_next(FlWriter *w, const Report *before, const Report *next)
{
    int64_t back = before->sequence - next->sequence;
    fl_writer_put(w, back > 1 ? 1 : 0, 1);
    if (back > 1) {
        fl_writer_put(w, (uint64_t)(back - 2), 8);
    }
    uint64_t change = zigzag(steps_of(before->arrived) - steps_of(next->arrived));
    fl_writer_put(w, change >= 256 ? 1 : 0, 1);
    fl_writer_put(w, change, change >= 256 ? 16 : 8);
}

static bool is_due(const Report *report, FlTime now, FlTime repeat_ns)
{
    if (report->confirmed) {
        return false;
    }
    return report->carried_at == NEVER || fl_span(now, report->carried_at) >= repeat_ns;
}

// The due reports' serials, by falling sequence. The oldest is always among them, so none waits for
// ever; one too far from its neighbours, in sequence or in time, waits for another packet.
static int32_t choose(const Arrivals *a, FlTime now, FlTime repeat_ns,
                      int64_t serials[REPORTS_PER_PACKET])
{
    int32_t count = 0;
    int64_t end = a->next_serial;
    for (int64_t s = a->first_serial; s < end && count < REPORTS_PER_PACKET; s++) {
        const Report *report = report_at(a, s);
        if (!is_due(report, now, repeat_ns)) {
            continue;
        }
        if (count == 0 && end > s + 64) {
            end = s + 64; // the mask of a packet's reports spans 64 serials
        }
        int32_t at = count;
        while (at > 0 && report_at(a, serials[at - 1])->sequence < report->sequence) {
            at--;
        }
        if ((at == 0 || follows(report_at(a, serials[at - 1]), report)) &&
            (at == count || follows(report, report_at(a, serials[at])))) {
            memmove(&serials[at + 1], &serials[at], (size_t)(count - at) * sizeof serials[0]);
            serials[at] = s;
            count++;
        }
    }
    return count;
}

static int64_t settled_below(const Arrivals *a)
{
    int64_t settled = a->horizon + 1;
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        const Report *report = report_at(a, s);
        if (!report->confirmed && report->sequence < settled) {
            settled = report->sequence;
        }
    }
    return settled;
}

bool fl__arrivals_encode(Arrivals *a, FlWriter *w, FlTime now, FlTime repeat_ns, Carried *carried)
{
    int64_t serials[REPORTS_PER_PACKET];
    int32_t count = choose(a, now, repeat_ns, serials);
    Carried none = {0};
    *carried = none;
    if (count == 0) {
        return false;
    }
    bool refusals = false;
    bool full = fl__arrivals_full(a);
    carried->first = serials[0];
    for (int32_t i = 0; i < count; i++) {
        carried->first = serials[i] < carried->first ? serials[i] : carried->first;
        refusals = refusals || report_at(a, serials[i])->refused;
    }
    write_first(w, report_at(a, serials[0]), settled_below(a), count, refusals);
    for (int32_t i = 0; i < count; i++) {
        const Report *report = report_at(a, serials[i]);
        if (i > 0) {
            write_next(w, report_at(a, serials[i - 1]), report);
        }
        fl_writer_put(w, report->refused ? 1 : 0, refusals ? 1 : 0);
        carried->mask |= (uint64_t)1 << (serials[i] - carried->first);
        bool repeats = report->carried_at != NEVER && (report->insist || full);
        carried->repeats = carried->repeats || repeats;
    }
    return true;
}

void fl__arrivals_carried(Arrivals *a, const Carried *carried, FlTime now)
{
    int64_t serial = carried->first;
    for (uint64_t left = carried->mask; left != 0; left >>= 1, serial++) {
        if ((left & 1u) == 0 || serial < a->first_serial) {
            continue; // or confirmed since it was written
        }
        Report *report = report_at(a, serial);
        if (report->carried_at == NEVER && report->owed && !report->confirmed) {
            a->fresh_count--;
        }
        report->carried_at = now;
        report->tries = report->tries < 100 ? (uint16_t)(report->tries + 1) : 100;
    }
    if (a->fresh_count == 0) {
        a->ack_due = FL_FOREVER;
    }
}

// A confirmation rides on what the peer sends anyway: one that sends this rarely is not pressed.
#define SLOW_TRAFFIC_NS FL_MS(150)

FlTime fl__arrivals_due(const Arrivals *a, FlTime repeat_ns, FlTime patience_ns)
{
    FlTime due = a->ack_due;
    bool full = fl__arrivals_full(a); // then nothing can be taken until some are confirmed
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        const Report *report = report_at(a, s);
        if ((report->insist || full) && !report->confirmed && report->carried_at != NEVER) {
            FlTime wait = (repeat_ns + SLOW_TRAFFIC_NS) * (report->tries < 8 ? report->tries : 8);
            wait = full ? repeat_ns : (wait < patience_ns ? wait : patience_ns);
            FlTime again = fl_time_add(report->carried_at, wait);
            due = again < due ? again : due;
        }
    }
    return due;
}

// The last number not after `limit` with these low bits.
static int64_t not_after(int64_t limit, uint64_t low, int32_t width)
{
    uint64_t mask = ((uint64_t)1 << width) - 1;
    return limit - (int64_t)(((uint64_t)limit - low) & mask);
}

// Report i of the message, after i - 1.
static FlLinkDrop decode_next(FlReader *r, int32_t i, ArrivalsMessage *m)
{
    bool gap = fl_reader_take(r, 1) != 0;
    int64_t back = gap ? 2 + (int64_t)fl_reader_take(r, 8) : 1;
    bool wide = fl_reader_take(r, 1) != 0;
    uint64_t change = fl_reader_take(r, wide ? 16 : 8);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    m->sequence[i] = m->sequence[i - 1] - back;
    m->arrived_steps[i] = m->arrived_steps[i - 1] - zigzag_back(change);
    return wide && change < 256 ? FL_LINK_DROP_MALFORMED : FL_LINK_DROP_NONE;
}

// The reports: all but what the newest's head says.
static FlLinkDrop decode_reports(FlReader *r, bool refusals, int64_t stamp_steps,
                                 ArrivalsMessage *m)
{
    bool any_refused = false;
    for (int32_t i = 0; i < m->count; i++) {
        FlLinkDrop drop = i == 0 ? FL_LINK_DROP_NONE : decode_next(r, i, m);
        if (drop != FL_LINK_DROP_NONE) {
            return drop;
        }
        m->refused[i] = fl_reader_take(r, refusals ? 1 : 0) != 0;
        any_refused = any_refused || m->refused[i];
        if (m->arrived_steps[i] < 0 || m->arrived_steps[i] > stamp_steps) {
            return FL_LINK_DROP_MALFORMED;
        }
    }
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    return refusals && !any_refused ? FL_LINK_DROP_MALFORMED : FL_LINK_DROP_NONE;
}

FlLinkDrop fl__arrivals_decode(FlReader *r, int64_t next_sequence, int64_t stamp_steps,
                               ArrivalsMessage *m)
{
    uint64_t newest = fl_reader_take(r, 16);
    uint64_t settled = fl_reader_take(r, 16);
    m->count = (int32_t)fl_reader_take(r, 5);
    bool refusals = fl_reader_take(r, 1) != 0;
    uint64_t arrived = fl_reader_take(r, 24);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    m->sequence[0] = fl_unwrap(next_sequence, newest, 16);
    m->arrived_steps[0] = not_after(stamp_steps, arrived, 24);
    if (m->count == 0) {
        return FL_LINK_DROP_MALFORMED;
    }
    FlLinkDrop drop = decode_reports(r, refusals, stamp_steps, m);
    if (drop != FL_LINK_DROP_NONE) {
        return drop;
    }
    m->settled = fl_unwrap(m->sequence[0], settled, 16);
    if (m->settled < 0 || m->settled > m->sequence[m->count - 1]) {
        return FL_LINK_DROP_MALFORMED;
    }
    return m->sequence[0] >= next_sequence ? FL_LINK_DROP_UNSENT : FL_LINK_DROP_NONE;
}
