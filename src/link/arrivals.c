// What came in, and telling the peer about it until it surely knows.
//
// Every packet taken makes a *report* (sequence, arrival time). Reports ride on outgoing packets;
// one is done with only when a packet that carried it is itself reported to have arrived. So the
// peer learns every arrival, whatever is lost.
//
// A packet that has not come is given up when a later one arrived at least `reorder_ns` ago, or
// when it falls out of the window; after that it is refused. `settled` is the first sequence about
// which something is still open: below it every packet is either reported and confirmed, or given
// up. A peer that reads it knows for certain what was lost.
//
// Invariant: settled <= sequence of every report that is not confirmed.
#include "private.h"

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
    return &a->reports[serial % a->capacity];
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

FlLinkDrop fl__arrivals_check(const Arrivals *a, int64_t sequence)
{
    if (sequence < 0) {
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
    while (a->horizon < horizon) {
        a->horizon++;
        bool lost = !is_seen(a, a->horizon);
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

void fl__arrivals_note(Arrivals *a, const FlLinkDef *def, int64_t sequence, FlTime arrived,
                       bool owed)
{
    advance_newest(a, sequence);
    set_seen(a, sequence, true);
    Report report = {.sequence = sequence, .arrived = arrived, .carried_at = NEVER, .owed = owed};
    *report_at(a, a->next_serial++) = report;
    if (owed) {
        a->fresh_count++;
        FlTime due = a->fresh_count >= PROMPT_COUNT ? arrived : arrived + def->ack_delay_ns;
        a->ack_due = due < a->ack_due ? due : a->ack_due;
    }
}

// ---------------------------------------------------------------- ARRIVALS on the wire
//
// ARRIVALS: when packets of yours came in.                       spec/WIRE.md section 4.2
//
//   bits  field      unit      valid
//   16    newest     -         low bits of the sequence of the newest packet reported
//   16    settled    -         low bits; all before it that were never reported are lost; at most
//   newest 5     count      -         1..31 reports 24    arrived    0.25 ms   of the newest, on
//   the sender's link clock, low bits per further report, in falling order of sequence: 1     gap
//   -         0: the sequence before the last one's; 1: further back, and then 8     back       -
//   2 + back below the last one 1     long       -         0: 8 bits follow, 1: 16 bits; 16 only
//   where 8 do not do 8/16  change     0.25 ms   arrival of the last one minus this one's, zigzag
//   (0, -1, 1, -2, ...)

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

static void write_first(FlWriter *w, const Report *report, int64_t settled, int32_t count)
{
    fl_writer_put(w, (uint64_t)report->sequence & 0xffffu, 16);
    fl_writer_put(w, (uint64_t)settled & 0xffffu, 16);
    fl_writer_put(w, (uint64_t)count, 5);
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

// The due reports' serials, by falling sequence; those that do not follow the one before wait for
// another packet.
static int32_t choose(const Arrivals *a, FlTime now, FlTime repeat_ns,
                      int64_t serials[REPORTS_PER_PACKET])
{
    int32_t count = 0;
    for (int64_t s = a->first_serial; s < a->next_serial && count < REPORTS_PER_PACKET; s++) {
        if (count > 0 && s - serials[0] >= 64) {
            break; // the mask of a packet's reports spans 64 serials
        }
        if (!is_due(report_at(a, s), now, repeat_ns)) {
            continue;
        }
        serials[count++] = s;
    }
    for (int32_t i = 1; i < count; i++) {
        int64_t s = serials[i];
        int32_t k = i;
        for (; k > 0 && report_at(a, serials[k - 1])->sequence < report_at(a, s)->sequence; k--) {
            serials[k] = serials[k - 1];
        }
        serials[k] = s;
    }
    int32_t kept = count > 0 ? 1 : 0;
    for (int32_t i = 1; i < count; i++) {
        if (follows(report_at(a, serials[kept - 1]), report_at(a, serials[i]))) {
            serials[kept++] = serials[i];
        }
    }
    return kept;
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
    int64_t settled = settled_below(a);
    const Report *first = report_at(a, serials[0]);
    write_first(w, first, settled < first->sequence ? settled : first->sequence, count);
    carried->first = serials[0];
    for (int32_t i = 0; i < count; i++) {
        carried->first = serials[i] < carried->first ? serials[i] : carried->first;
    }
    for (int32_t i = 0; i < count; i++) {
        const Report *report = report_at(a, serials[i]);
        if (i > 0) {
            write_next(w, report_at(a, serials[i - 1]), report);
        }
        carried->mask |= (uint64_t)1 << (serials[i] - carried->first);
        carried->repeats = carried->repeats || (report->carried_at != NEVER && report->owed);
    }
    return true;
}

void fl__arrivals_carried(Arrivals *a, const Carried *carried, FlTime now)
{
    for (int32_t i = 0; i < 64; i++) {
        if ((carried->mask >> i & 1u) == 0) {
            continue;
        }
        Report *report = report_at(a, carried->first + i);
        if (report->carried_at == NEVER && report->owed) {
            a->fresh_count--;
        }
        report->carried_at = now;
        report->tries = report->tries < 100 ? (uint16_t)(report->tries + 1) : 100;
    }
    if (a->fresh_count == 0) {
        a->ack_due = FL_FOREVER;
    }
}

void fl__arrivals_confirmed(Arrivals *a, const Carried *carried)
{
    for (int32_t i = 0; i < 64; i++) {
        int64_t serial = carried->first + i;
        bool told = (carried->mask >> i & 1u) != 0;
        if (told && serial >= a->first_serial && serial < a->next_serial) {
            report_at(a, serial)->confirmed = true;
        }
    }
    while (a->first_serial < a->next_serial && report_at(a, a->first_serial)->confirmed) {
        a->first_serial++;
    }
}

FlTime fl__arrivals_due(const Arrivals *a, FlTime repeat_ns)
{
    FlTime due = a->ack_due;
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        const Report *report = report_at(a, s);
        if (report->owed && !report->confirmed && report->carried_at != NEVER) {
            int32_t patience = report->tries < 8 ? report->tries : 8;
            FlTime again = fl_time_add(report->carried_at, repeat_ns * patience);
            due = again < due ? again : due;
        }
    }
    return due;
}

FlLinkDrop fl__arrivals_decode(FlReader *r, int64_t next_sequence, ArrivalsMessage *m)
{
    uint64_t newest = fl_reader_take(r, 16);
    uint64_t settled = fl_reader_take(r, 16);
    m->count = (int32_t)fl_reader_take(r, 5);
    m->arrived_steps[0] = (int64_t)fl_reader_take(r, 24);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    m->sequence[0] = fl_unwrap(next_sequence, newest, 16);
    m->settled = fl_unwrap(m->sequence[0], settled, 16);
    if (m->count == 0 || m->settled > m->sequence[0] || m->settled < 0) {
        return FL_LINK_DROP_MALFORMED;
    }
    if (m->sequence[0] >= next_sequence) {
        return FL_LINK_DROP_UNSENT;
    }
    for (int32_t i = 1; i < m->count; i++) {
        bool gap = fl_reader_take(r, 1) != 0;
        int64_t back = gap ? 2 + (int64_t)fl_reader_take(r, 8) : 1;
        bool wide = fl_reader_take(r, 1) != 0;
        uint64_t change = fl_reader_take(r, wide ? 16 : 8);
        if (r->failed) {
            return FL_LINK_DROP_SHORT;
        }
        m->sequence[i] = m->sequence[i - 1] - back;
        m->arrived_steps[i] = m->arrived_steps[i - 1] - zigzag_back(change);
        if (m->sequence[i] < 0 || (wide && change < 256)) {
            return FL_LINK_DROP_MALFORMED;
        }
    }
    return FL_LINK_DROP_NONE;
}
