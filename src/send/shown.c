// The placed path of a pair: the updates it showed last, and the error up to the last arrival; and
// whether a receiver's report of an arrival can be true.
//
// At any time a receiver shows the newest of the updates that have arrived: an update overtaken by
// a newer one never shows. So the placed path is a staircase: starts and serials both rise. Only
// its last few steps are kept; a report that comes out of order changes a stretch of it, whose
// error is taken out and put back.
//
// The error is counted up to the start of the newest exported piece: a relay hears of updates some
// time after they were made, so from there on the exported path may still change. What lies between
// there and the horizon is pending; it is counted with the next arrival, or whenever it is read.
//
// Why not wait until no report can come any more: with a second of delay that is dozens of updates
// per pair. Reports that are later than the steps kept are rare, counted, and taken as if they had
// arrived where memory begins.
//
// A step is 64 bits: 48 of the time (39 hours either way; the horizon tells the rest) and 16 of the
// serial (the newest sent tells the rest).
//
// A report is checked against what we know ourselves: nothing arrives before it was sent, nor after
// the report of it came, both within the bound on the receiver's clock; and an update has one fate.
// A report that fails has no effect at all. A receiver that delays all its traffic looks like a far
// one and passes: FlSend.share_cap bounds what that can win.
//
// Invariant: the step that holds where counting ended is remembered.
#include "placed.h"
#include "private.h"

#define PENDING_MAX_NS FL_SEC(4) // what 32 bits hold

// The error of the steps in [from, to]; *known becomes false if a piece of them is forgotten.
static inline double steps_error(const FlEntity *e, const FlSteps *steps, FlTime from, FlTime to,
                                 bool *known)
{
    double sum = 0.0;
    for (int32_t i = steps->pair->shown_count - 1; i >= 0 && to > from; i--) {
        FlTime start = fl__step_from(steps, i);
        if (start >= to) {
            continue;
        }
        double error;
        if (!fl__path_error(e, fl__step_serial(steps, i), start, fl__time_max(start, from), to,
                            &error)) {
            *known = false;
        }
        sum += error;
        to = start;
    }
    return sum;
}

double fl__shown_error(const FlLedger *ledger, int32_t entity, int32_t pair, FlTime from)
{
    bool known = true;
    FlSteps steps = fl__steps(ledger, pair);
    return steps_error(fl__entity(ledger, entity), &steps, from, steps.pair->horizon, &known);
}

double fl__cumulative(const FlLedger *ledger, int32_t entity, int32_t pair)
{
    const FlPair *p = &ledger->pairs[pair];
    double pending =
        p->pending_ns > 0 ? fl__shown_error(ledger, entity, pair, fl__counted(p)) : 0.0;
    return p->error + pending;
}

// Moves the horizon, and counts on up to `to`.
static inline void extend(FlLedger *ledger, FlEntity *e, const FlSteps *steps, FlTime horizon,
                          FlTime to)
{
    FlPair *p = steps->pair;
    FlTime from = fl__counted(p);
    p->horizon = horizon;
    if (to <= from) {
        p->pending_ns = (uint32_t)(horizon - from);
        return;
    }
    bool known = true;
    p->error += steps_error(e, steps, from, to, &known);
    p->pending_ns = (uint32_t)(horizon - to);
    ledger->counts.forgotten += !known;
    e->counted = fl__time_max(to, e->counted);
}

static FlShown pack(uint32_t serial, FlTime from)
{
    return (uint64_t)from << 16 | (serial & 0xffffu);
}

// Takes an update that showed, or should have, into what is counted already.
static void count_error(FlLedger *ledger, const FlEntity *e, FlPair *p, uint32_t serial,
                        FlTime since, FlTime from, FlTime to, double sign)
{
    FlTime counted = fl__counted(p);
    to = fl_time_min(to, counted);
    if (from >= to) {
        return;
    }
    double error;
    bool known = fl__path_error(e, serial, since, from, to, &error);
    if (!known) {
        ledger->counts.forgotten++;
        return;
    }
    p->error = fl__max(p->error + sign * error, 0.0); // what is taken back may round to below 0
}

static void forget_first(const FlSteps *steps)
{
    FlPair *p = steps->pair;
    p->shown_first = (uint8_t)((p->shown_first + 1) & (steps->capacity - 1));
    p->shown_count--;
    p->flags |= FL__TRIMMED;
}

static void push(const FlSteps *steps, FlShown step)
{
    FlPair *p = steps->pair;
    if (p->shown_count == steps->capacity) {
        forget_first(steps);
    }
    *fl__step(steps, p->shown_count) = step;
    p->shown_count++;
}

// Puts a step at place i in front of which `i` remain, in place of those from i up to `next`.
static void splice(const FlSteps *steps, int32_t i, int32_t next, FlShown step)
{
    FlPair *p = steps->pair;
    if (i == next && p->shown_count == steps->capacity) {
        if (i == 0) {
            p->flags |= FL__TRIMMED;
            return; // the new step itself is the oldest
        }
        forget_first(steps);
        i--;
        next--;
    }
    if (i == next) {
        for (int32_t k = p->shown_count; k > i; k--) {
            *fl__step(steps, k) = *fl__step(steps, k - 1);
        }
        p->shown_count++;
    } else {
        for (int32_t k = next; k < p->shown_count; k++) {
            *fl__step(steps, i + 1 + k - next) = *fl__step(steps, k);
        }
        p->shown_count = (uint8_t)(p->shown_count - (next - i - 1));
    }
    *fl__step(steps, i) = step;
}

FL__APART
static void count_up_to(FlLedger *ledger, FlEntity *e, const FlSteps *steps, FlTime memory)
{
    extend(ledger, e, steps, steps->pair->horizon, memory);
}

// A full ring will lose its oldest step: nothing may be left to count under it.
static inline void make_room(FlLedger *ledger, FlEntity *e, const FlSteps *steps)
{
    FlPair *p = steps->pair;
    if (p->shown_count == steps->capacity) {
        FlTime memory = fl__step_from(steps, 1);
        if (memory > fl__counted(p)) {
            count_up_to(ledger, e, steps, memory);
        }
    }
}

// An arrival before the horizon: the stretch in which it should have shown is counted anew.
FL__APART
static bool insert(FlLedger *ledger, FlEntity *e, const FlSteps *steps, uint32_t serial,
                   FlTime from)
{
    FlPair *p = steps->pair;
    make_room(ledger, e, steps);
    FlTime memory = fl__step_from(steps, 0);
    bool exact = !(from < memory && (p->flags & FL__TRIMMED) != 0);
    if (!exact) {
        from = memory;
    }
    int32_t i = 0; // steps that start by then
    while (i < p->shown_count && fl__step_from(steps, i) <= from) {
        i++;
    }
    if (i > 0 && !fl__serial_newer(serial, fl__step_serial(steps, i - 1))) {
        return exact; // overtaken
    }
    if (i == 0 && fl__counted(p) == memory && p->horizon - from <= PENDING_MAX_NS) {
        p->pending_ns = (uint32_t)(p->horizon - from); // a new beginning, and nothing counted yet
    }
    int32_t next = i; // the first step that is newer than this
    FlTime at = from;
    uint32_t before = i > 0 ? fl__step_serial(steps, i - 1) : serial;
    FlTime since = i > 0 ? fl__step_from(steps, i - 1) : from;
    for (;;) {
        bool last = next == p->shown_count;
        FlTime until = last ? p->horizon : fl__step_from(steps, next);
        if (before != serial) {
            count_error(ledger, e, p, before, since, at, until, -1.0);
        }
        at = until;
        if (last || fl__serial_newer(fl__step_serial(steps, next), serial)) {
            break;
        }
        before = fl__step_serial(steps, next);
        since = until;
        next++;
    }
    count_error(ledger, e, p, serial, from, from, at, 1.0);
    splice(steps, i, next, pack(serial, from));
    return exact;
}

// Takes an acknowledged arrival into the placed path and the error. False: it came too late to be
// counted exactly.
static bool add(FlLedger *ledger, FlEntity *e, const FlSteps *steps, uint32_t serial, FlTime from)
{
    FlPair *p = steps->pair;
    if ((p->flags & FL__STARTED) == 0) {
        p->flags |= FL__STARTED;
        p->horizon = from;
        push(steps, pack(serial, from));
        return true;
    }
    if (from < p->horizon) {
        return insert(ledger, e, steps, serial, from);
    }
    make_room(ledger, e, steps);
    uint32_t last = fl__step_serial(steps, p->shown_count - 1);
    FlTime sure = fl__leap(e, e->newest)->from;
    FlTime counted = fl__counted(p);
    if (from - counted > PENDING_MAX_NS) { // so long ago it is sure enough
        sure = sure > from - PENDING_MAX_NS ? sure : from - PENDING_MAX_NS;
    }
    extend(ledger, e, steps, from, fl_time_min(sure, from));
    if (fl__serial_newer(serial, last)) {
        push(steps, pack(serial, from));
    }
    return true;
}

// As TCP averages round trips: an eighth of each new delay, a quarter of each new deviation; once
// for each update that came.
static void learn_delay(FlReceiver *r, FlTime delay, int32_t count)
{
    double sample = delay > 0 ? (double)delay : 0.0;
    if (r->delay < 0.0 && count > 0) {
        r->delay = sample;
        r->deviation = 0.5 * sample;
        count--;
    }
    double mean = r->delay;
    double deviation = r->deviation;
    for (; count > 0; count--) {
        // At least a picosecond: with a steady delay it would end in subnormal numbers, which cost
        // 50 ns.
        deviation = fl__max(deviation + (fabs(sample - mean) - deviation) / 4.0, 1e-3);
        mean += (sample - mean) / 8.0;
    }
    r->delay = mean;
    r->deviation = deviation;
}

// An update that was waited for has arrived. False: it came too late to be counted exactly.
static inline bool arrive(FlLedger *ledger, FlEntity *e, int32_t number, uint32_t serial,
                          FlTime sent, FlTime arrived)
{
    FlSteps steps = fl__steps(ledger, number);
    FlPair *pair = steps.pair;
    pair->waiting &= ~((uint64_t)1 << (pair->newest_sent - serial));
    pair->arrived++;
    if (fl__keeps_history(ledger)) {
        fl__history_arrived(ledger, number, serial, sent, arrived);
    }
    FlTime made = fl__leap(e, serial)->from;
    e->counting = true;
    bool exact = add(ledger, e, &steps, serial, fl__time_max(arrived, made)); // as fl_piece_placed
    e->counting = false;
    return exact;
}

void fl__ledger_arrivals(FlLedger *ledger, int32_t receiver, const FlDue *due, int32_t count,
                         FlTime sent, FlTime arrived, FlTime now)
{
    FlReceiver *r = &ledger->receivers[receiver];
    bool good = fl_span(sent, arrived) <= r->clock_error && fl_span(arrived, now) <= r->clock_error;
    int32_t waited = 0;
    for (int32_t i = 0; i < count; i++) {
        FlEntity *e = fl__entity(ledger, due[i].entity);
        if (fl__waiting_pair(ledger, e, receiver, due[i]) == NULL) {
            continue;
        }
        waited++;
        if (good) {
            int32_t number = fl__pair_number(ledger, due[i].entity, receiver);
            r->late += !arrive(ledger, e, number, due[i].serial, sent, arrived);
        }
    }
    if (good) {
        learn_delay(r, fl_span(arrived, sent), waited);
    }
    *(good ? &r->reports : &r->contradictions) += (uint32_t)waited;
}

void fl_ledger_arrived(FlLedger *ledger, int32_t receiver, FlDue due, FlTime sent, FlTime arrived,
                       FlTime now)
{
    fl__ledger_arrivals(ledger, receiver, &due, 1, sent, arrived, now);
}

bool fl__ledger_counted(const FlLedger *ledger, int32_t entity, int32_t receiver, double *error)
{
    bool watches = fl__ledger_watches(ledger, entity, receiver);
    *error = watches ? fl__pair(ledger, entity, receiver)->error : 0.0;
    return watches;
}
