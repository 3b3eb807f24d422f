// What came in, reported to the peer until it confirms.
//
// Every packet taken makes a *report* (sequence, arrival time). Reports ride on outgoing packets;
// one is done with only when a packet that carried it is itself reported to have arrived, or when
// the peer says that it does not wait for it any more. So the peer learns every arrival, whatever
// is lost.
//
// Who asks for an answer gets one within the ack delay. An answer that is not confirmed is repeated
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

#include "wire/wire.h"

void fl__arrivals_init(Arrivals *a, Report *storage, int32_t capacity)
{
    a->reports = storage;
    a->capacity = capacity;
    a->newest = -1;
    a->horizon = -1;
    a->ack_due = FL_FOREVER;
    a->carried_oldest = FL_FOREVER;
    a->settle_due = NEVER;
    a->reordered = -1;
    for (int32_t i = 0; i < CHECKPOINTS; i++) {
        a->checkpoint[i].time = NEVER;
        a->checkpoint[i].newest = -1;
    }
}

static Report *report_at(const Arrivals *a, int64_t serial)
{
    return &a->reports[serial & (a->capacity - 1)]; // a power of two
}

static int32_t seen_bit(int64_t sequence)
{
    return (int32_t)((uint32_t)sequence % IN_WINDOW);
}

FlLinkDrop fl__arrivals_check(const Arrivals *a, int64_t sequence)
{
    if (sequence < 0 || sequence > SEQUENCE_AT_MOST) {
        return FL_LINK_DROP_MALFORMED;
    }
    if (sequence <= a->newest - IN_WINDOW) {
        return FL_LINK_DROP_LATE;
    }
    if (sequence <= a->newest && fl__bit_get(a->seen, seen_bit(sequence))) {
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

// Moves the horizon up, counting what is given up on the way. With gaps one cannot tell a number
// that was skipped from a packet that was lost: all count as lost that lie between two packets
// taken, but in a leap beyond the window (so much is hardly ever lost within a time-out); none does
// that lies before the first.
static void give_up_through(Arrivals *a, int64_t horizon)
{
    if (horizon - a->horizon > 2 * IN_WINDOW) {
        a->horizon = horizon;
        a->loss = a->has_gaps ? a->loss : 1.0; // to nine digits
    }
    while (a->horizon < horizon) {
        a->horizon++;
        bool lost = a->horizon > a->newest || !fl__bit_get(a->seen, seen_bit(a->horizon));
        if (a->horizon >= a->oldest) {
            a->loss += ((lost ? 1.0 : 0.0) - a->loss) / 64.0;
        }
    }
}

// A new checkpoint now and then, so that one is always about as old as wanted.
static void set_checkpoint(Arrivals *a, FlTime now, FlTime spacing)
{
    int32_t last = (a->checkpoint_next + CHECKPOINTS - 1) % CHECKPOINTS;
    bool due =
        a->checkpoint[last].time == NEVER || fl_span(now, a->checkpoint[last].time) >= spacing;
    if (due && a->newest > a->checkpoint[last].newest) {
        Checkpoint fresh = {now, a->newest};
        a->checkpoint[a->checkpoint_next] = fresh;
        a->checkpoint_next = (a->checkpoint_next + 1) % CHECKPOINTS;
    }
}

void fl__arrivals_settle(Arrivals *a, const FlLinkDef *def, FlTime now)
{
    if (now < a->settle_due) {
        return;
    }
    for (int32_t i = 0; i < CHECKPOINTS; i++) {
        const Checkpoint *c = &a->checkpoint[i];
        if (c->time != NEVER && fl_span(now, c->time) >= def->reorder_ns) {
            give_up_through(a, c->newest);
        }
    }
    FlTime spacing = def->reorder_ns / (CHECKPOINTS - 1) + 1;
    set_checkpoint(a, now, spacing);
    // Before this nothing can change.
    int32_t last = (a->checkpoint_next + CHECKPOINTS - 1) % CHECKPOINTS;
    FlTime due = a->checkpoint[last].time;
    due = due == NEVER ? NEVER : fl_time_add(due, spacing);
    for (int32_t i = 0; i < CHECKPOINTS; i++) {
        const Checkpoint *c = &a->checkpoint[i];
        if (c->time != NEVER && c->newest > a->horizon) {
            FlTime ripe = fl_time_add(c->time, def->reorder_ns);
            due = fl_time_min(ripe, due);
        }
    }
    a->settle_due = due;
}

static void advance_newest(Arrivals *a, int64_t sequence)
{
    if (sequence <= a->newest) {
        return;
    }
    give_up_through(a, sequence - IN_WINDOW);
    int64_t from = sequence - a->newest > IN_WINDOW ? sequence - IN_WINDOW : a->newest;
    for (int64_t s = from + 1; s <= sequence; s++) {
        fl__bit_clear(a->seen, seen_bit(s));
    }
    a->newest = sequence;
}

static void note_number(Arrivals *a, int64_t sequence)
{
    if (a->has_gaps && (a->newest < 0 || sequence < a->oldest)) {
        a->oldest = sequence;
    }
    if (sequence == a->newest + 1 && sequence - a->horizon <= IN_WINDOW) {
        a->newest = sequence; // the usual: one after another, and nothing falls out of the window
    } else {
        advance_newest(a, sequence);
    }
    fl__bit_set(a->seen, seen_bit(sequence));
}

void fl__arrivals_skip(Arrivals *a, int64_t sequence)
{
    if (fl__arrivals_check(a, sequence) == FL_LINK_DROP_NONE) {
        note_number(a, sequence);
    }
}

#define PROMPT_COUNT 16 // this many reports do not wait for the ack delay

void fl__arrivals_note(Arrivals *a, const FlLinkDef *def, const Report *report)
{
    if (report->sequence < a->newest) {
        a->reordered = a->next_serial;
    }
    note_number(a, report->sequence);
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
        a->ack_due = fl_time_min(due, a->ack_due);
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

/// A report chosen for a packet.
typedef struct Chosen {
    int64_t serial;
    int64_t sequence;
    int64_t steps; // of its arrival
} Chosen;

static bool follows(const Chosen *before, const Chosen *next)
{
    int64_t back = before->sequence - next->sequence;
    return back >= 1 && back <= 257 && zigzag(before->steps - next->steps) < 65536;
}

// ARRIVALS starts at a whole byte and is most of what a link writes, so its bits are gathered here
// and handed to the writer as bytes.
#define FIRST_BITS (16 + 16 + 5 + 1 + 24)
#define NEXT_BITS_AT_MOST (1 + 8 + 1 + 16)
#define ARRIVALS_BYTES ((FIRST_BITS + REPORTS_PER_PACKET * (NEXT_BITS_AT_MOST + 1)) / 8 + 8)

typedef struct Gather {
    uint64_t bits;
    int32_t count; // below 32
    int32_t size;
    uint8_t bytes[ARRIVALS_BYTES];
} Gather;

// At most 32 bits.
static void gather(Gather *g, uint64_t value, int32_t width)
{
    g->bits |= value << g->count;
    g->count += width;
    if (g->count >= 32) {
        uint8_t *to = g->bytes + g->size;
        to[0] = (uint8_t)g->bits;
        to[1] = (uint8_t)(g->bits >> 8);
        to[2] = (uint8_t)(g->bits >> 16);
        to[3] = (uint8_t)(g->bits >> 24);
        g->size += 4;
        g->bits >>= 32;
        g->count -= 32;
    }
}

static void gather_end(Gather *g, FlWriter *w)
{
    for (; g->count > 0; g->count -= 8) {
        g->bytes[g->size++] = (uint8_t)g->bits;
        g->bits >>= 8;
    }
    fl_writer_bytes(w, g->bytes, g->size);
}

static void write_first(Gather *g, const Chosen *first, int64_t settled, int32_t count,
                        bool refusals)
{
    gather(g, ((uint64_t)first->sequence & 0xffffu) | ((uint64_t)settled & 0xffffu) << 16, 32);
    gather(g,
           (uint64_t)count | (refusals ? 1u : 0u) << 5 | ((uint64_t)first->steps & 0xffffffu) << 6,
           5 + 1 + 24);
}

static void write_next(Gather *g, const Chosen *before, const Chosen *next)
{
    int64_t back = before->sequence - next->sequence;
    uint64_t gap = back > 1 ? 1 | (uint64_t)(back - 2) << 1 : 0;
    int32_t gap_width = back > 1 ? 9 : 1;
    uint64_t change = zigzag(before->steps - next->steps);
    uint64_t coded = (change >= 256 ? 1u : 0u) | change << 1;
    gather(g, gap | coded << gap_width, gap_width + (change >= 256 ? 17 : 9));
}

static bool is_due(const Report *report, FlTime now, FlTime repeat_ns)
{
    if (report->confirmed) {
        return false;
    }
    return report->carried_at == NEVER || fl_span(now, report->carried_at) >= repeat_ns;
}

// The first report that is due. Those from `fresh` on were never reported; the others need not be
// looked at before the oldest of them may be due again.
static int64_t first_due(Arrivals *a, FlTime now, FlTime repeat_ns)
{
    int64_t fresh = a->fresh > a->first_serial ? a->fresh : a->first_serial;
    if (fl_span(now, a->carried_oldest) < repeat_ns) {
        return fresh;
    }
    FlTime oldest = FL_FOREVER;
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        const Report *report = report_at(a, s);
        if (is_due(report, now, repeat_ns)) {
            return s;
        }
        bool waits = !report->confirmed && report->carried_at < oldest;
        oldest = waits ? report->carried_at : oldest;
    }
    a->carried_oldest = oldest;
    return a->next_serial;
}

// The due reports, by falling sequence. The oldest is always among them, so none waits for ever;
// one too far from its neighbours, in sequence or in time, waits for another packet.
static bool add_chosen(Chosen *chosen, int32_t *count, const Chosen *fresh)
{
    int32_t at = *count;
    while (at > 0 && chosen[at - 1].sequence < fresh->sequence) {
        at--;
    }
    if ((at > 0 && !follows(&chosen[at - 1], fresh)) ||
        (at < *count && !follows(fresh, &chosen[at]))) {
        return false;
    }
    for (int32_t i = (*count)++; i > at; i--) {
        chosen[i] = chosen[i - 1];
    }
    chosen[at] = *fresh;
    return true;
}

static int32_t choose(Arrivals *a, FlTime now, FlTime repeat_ns, Chosen chosen[REPORTS_PER_PACKET])
{
    int32_t count = 0;
    int64_t end = a->next_serial;
    for (int64_t s = first_due(a, now, repeat_ns); s < end && count < REPORTS_PER_PACKET; s++) {
        const Report *report = report_at(a, s);
        if (!is_due(report, now, repeat_ns)) {
            continue;
        }
        if (count == 0 && end > s + 64) {
            end = s + 64; // the mask of a packet's reports spans 64 serials
        }
        Chosen fresh = {s, report->sequence, steps_of(report->arrived)};
        (void)add_chosen(chosen, &count, &fresh);
    }
    return count;
}

// And those that went before and are not confirmed, the newest first, as far as a mask spans and a
// packet has room: who reads it then knows of every arrival until now, whatever was lost. They ride
// along: nothing is counted or asked for on their account.
static int32_t choose_again(const Arrivals *a, Chosen chosen[REPORTS_PER_PACKET], int32_t count,
                            uint64_t *again)
{
    int64_t low = a->next_serial;
    uint64_t taken = 0; // bit i: serial next_serial - 1 - i
    for (int32_t i = 0; i < count; i++) {
        int64_t back = a->next_serial - 1 - chosen[i].serial;
        taken |= back < 64 ? (uint64_t)1 << back : 0;
        low = chosen[i].serial < low ? chosen[i].serial : low;
    }
    bool spans = count == 0 || a->next_serial - low <= 64;
    for (int64_t back = 0; spans && back < 64 && count < REPORTS_PER_PACKET; back++) {
        int64_t serial = a->next_serial - 1 - back;
        if (serial < a->first_serial) {
            break;
        }
        const Report *report = report_at(a, serial);
        Chosen old = {serial, report->sequence, steps_of(report->arrived)};
        if ((taken >> back & 1u) == 0 && !report->confirmed && add_chosen(chosen, &count, &old)) {
            *again |= (uint64_t)1 << back;
        }
    }
    return count;
}

static int64_t settled_below(const Arrivals *a)
{
    int64_t settled = a->horizon + 1;
    if (a->first_serial < a->next_serial && a->first_serial > a->reordered) {
        int64_t first = report_at(a, a->first_serial)->sequence; // they rise
        return first < settled ? first : settled;
    }
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        const Report *report = report_at(a, s);
        if (!report->confirmed && report->sequence < settled) {
            settled = report->sequence;
        }
    }
    return settled;
}

// Which reports a packet carries, and whether one of them insists; not those that only ride along.
// True: some were refused.
static bool note_carried(const Arrivals *a, const Chosen *chosen, int32_t count, uint64_t again,
                         Carried *carried)
{
    bool refusals = false;
    bool full = fl__arrivals_full(a);
    carried->first = chosen[0].serial;
    for (int32_t i = 1; i < count; i++) {
        carried->first = chosen[i].serial < carried->first ? chosen[i].serial : carried->first;
    }
    for (int32_t i = 0; i < count; i++) {
        const Report *report = report_at(a, chosen[i].serial);
        refusals = refusals || report->refused;
        carried->mask |= (uint64_t)1 << (chosen[i].serial - carried->first);
        int64_t back = a->next_serial - 1 - chosen[i].serial;
        bool rides = back < 64 && (again >> back & 1u) != 0;
        bool repeats = !rides && report->carried_at != NEVER && (report->insist || full);
        carried->repeats = carried->repeats || repeats;
    }
    return refusals;
}

bool fl__arrivals_encode(Arrivals *a, FlWriter *w, FlTime now, FlTime repeat_ns, bool all,
                         Carried *carried)
{
    Chosen chosen[REPORTS_PER_PACKET];
    uint64_t again = 0;
    int32_t count = choose(a, now, repeat_ns, chosen);
    count = all ? choose_again(a, chosen, count, &again) : count;
    Carried none = {0};
    *carried = none;
    if (count == 0) {
        return false;
    }
    bool refusals = note_carried(a, chosen, count, again, carried);
    Gather g;
    g.bits = 0;
    g.count = g.size = 0;
    write_first(&g, &chosen[0], settled_below(a), count, refusals);
    for (int32_t i = 0; i < count; i++) {
        if (i > 0) {
            write_next(&g, &chosen[i - 1], &chosen[i]);
        }
        if (refusals) {
            gather(&g, report_at(a, chosen[i].serial)->refused ? 1 : 0, 1);
        }
    }
    gather_end(&g, w);
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
    if (carried->mask != 0) {
        a->carried_oldest = fl_time_min(now, a->carried_oldest);
    }
    a->fresh = a->fresh > a->first_serial ? a->fresh : a->first_serial;
    while (a->fresh < a->next_serial &&
           (report_at(a, a->fresh)->carried_at != NEVER || report_at(a, a->fresh)->confirmed)) {
        a->fresh++;
    }
    if (a->fresh_count == 0) {
        a->ack_due = FL_FOREVER;
    }
}

// A confirmation rides on what the peer sends anyway: one that sends this rarely is not pressed.
#define SLOW_TRAFFIC_NS FL_MS(150)

// How long an answer sent `tries` times waits to be sent again.
static FlTime wait_of(const Arrivals *a, int32_t tries, FlTime repeat_ns, FlTime latest_ns)
{
    FlTime wait = (repeat_ns + SLOW_TRAFFIC_NS) * (tries < 8 ? tries : 8);
    return fl__arrivals_full(a) ? repeat_ns : fl_time_min(wait, latest_ns);
}

FlTime fl__arrivals_due_earliest(const Arrivals *a, FlTime repeat_ns, FlTime latest_ns)
{
    FlTime again = fl_time_add(a->carried_oldest, wait_of(a, 1, repeat_ns, latest_ns));
    return fl_time_min(again, a->ack_due);
}

FlTime fl__arrivals_due(const Arrivals *a, FlTime repeat_ns, FlTime latest_ns)
{
    FlTime due = a->ack_due;
    bool full = fl__arrivals_full(a); // then nothing can be taken until some are confirmed
    for (int64_t s = a->first_serial; s < a->next_serial; s++) {
        const Report *report = report_at(a, s);
        if ((report->insist || full) && !report->confirmed && report->carried_at != NEVER) {
            FlTime wait = wait_of(a, report->tries, repeat_ns, latest_ns);
            FlTime again = fl_time_add(report->carried_at, wait);
            due = fl_time_min(again, due);
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

// The next 57 bits or more, or what there is of them, zeros after that.
static uint64_t look_ahead(const FlReader *r)
{
    const uint8_t *byte = r->bytes + r->bit_count / 8;
    int32_t left = (r->size_bits - r->bit_count + 7) / 8;
    uint64_t word = 0;
    if (left >= 8) { // written so that compilers make it one load
        word = (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 |
               (uint64_t)byte[3] << 24 | (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40 |
               (uint64_t)byte[6] << 48 | (uint64_t)byte[7] << 56;
    } else {
        for (int32_t i = 0; i < left; i++) {
            word |= (uint64_t)byte[i] << (8 * i);
        }
    }
    return word >> (r->bit_count % 8);
}

// Takes what was looked at. False: there is not so much.
static bool take(FlReader *r, int32_t width)
{
    if (width > r->size_bits - r->bit_count) {
        r->failed = true;
    }
    if (!r->failed) {
        r->bit_count += width;
    }
    return !r->failed;
}

// Report i of the message, after i - 1: its fields are looked at together, then taken at once.
static FlLinkDrop decode_next(FlReader *r, int32_t i, ArrivalsMessage *m)
{
    uint64_t bits = look_ahead(r);
    bool gap = (bits & 1u) != 0;
    int64_t back = gap ? 2 + (int64_t)(bits >> 1 & 0xffu) : 1;
    int32_t gap_width = gap ? 9 : 1;
    bits >>= gap_width;
    bool wide = (bits & 1u) != 0;
    uint64_t change = bits >> 1 & (wide ? 0xffffu : 0xffu);
    if (!take(r, gap_width + (wide ? 17 : 9))) {
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
        m->refused[i] = refusals && fl_reader_take(r, 1) != 0;
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
    FL_ASSERT(r->bit_count % 8 == 0);
    uint64_t bits = look_ahead(r);
    uint64_t newest = bits & 0xffffu;
    uint64_t settled = bits >> 16 & 0xffffu;
    m->count = (int32_t)(bits >> 32 & 31u);
    bool refusals = (bits >> 37 & 1u) != 0;
    uint64_t arrived = bits >> 38 & 0xffffffu;
    if (!take(r, FIRST_BITS)) {
        return FL_LINK_DROP_SHORT;
    }
    m->sequence[0] = fl__unwrap(next_sequence, newest, 16);
    m->arrived_steps[0] = not_after(stamp_steps, arrived, 24);
    if (m->count == 0) {
        return FL_LINK_DROP_MALFORMED;
    }
    FlLinkDrop drop = decode_reports(r, refusals, stamp_steps, m);
    if (drop != FL_LINK_DROP_NONE) {
        return drop;
    }
    m->settled = fl__unwrap(m->sequence[0], settled, 16);
    if (m->settled < 0 || m->settled > m->sequence[m->count - 1]) {
        return FL_LINK_DROP_MALFORMED;
    }
    return m->sequence[0] >= next_sequence ? FL_LINK_DROP_UNSENT : FL_LINK_DROP_NONE;
}
