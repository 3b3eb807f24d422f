// The placed path of a pair: the updates it showed last, and the error up to the last arrival.
//
// At any time a receiver shows the newest of the updates that have arrived: an update overtaken by
// a newer one never shows. So the placed path is a staircase: starts and serials both rise. Only
// its last few steps are kept; a report that comes out of order changes a stretch of it, whose
// error is taken out and put back.
//
// The error is counted up to the start of the newest exported piece: a relay hears of updates some
// time after they were made, so from there on the exported path may still change. What lies between
// there and the horizon is pending; it is counted with the next arrival, or whenever somebody asks.
//
// Why not wait until no report can come any more: with a second of delay that is dozens of updates
// per pair. Reports that are later than the steps kept are rare, counted, and taken as if they had
// arrived where memory begins.
//
// A step is 64 bits: 48 of the time (39 hours either way; the horizon tells the rest) and 16 of the
// serial (the newest sent tells the rest).
//
// Invariant: the step that holds where counting ended is remembered.
#include "private.h"

#define PENDING_MAX_NS FL_SEC(4) // what 32 bits hold

FlShown *fl__shown(const FlLedger *ledger, int32_t pair)
{
    return &ledger->shown[(size_t)pair * (size_t)ledger->def.shown_capacity];
}

static FlShown *step_number(const FlLedger *ledger, int32_t pair, int32_t i)
{
    int32_t at = ledger->pairs[pair].shown_first + i;
    return &fl__shown(ledger, pair)[at & (ledger->def.shown_capacity - 1)];
}

FlTime fl__shown_from(const FlLedger *ledger, int32_t pair, int32_t i)
{
    // Nothing is later than the horizon.
    uint64_t horizon = (uint64_t)ledger->pairs[pair].horizon;
    uint64_t back = (horizon << 16) - (*step_number(ledger, pair, i) & ~(uint64_t)0xffff);
    return (FlTime)(horizon - (back >> 16));
}

uint32_t fl__shown_serial(const FlLedger *ledger, int32_t pair, int32_t i)
{
    uint32_t newest = ledger->pairs[pair].newest_sent;
    uint32_t back = (newest - (uint32_t)*step_number(ledger, pair, i)) & 0xffffu;
    return newest - back;
}

// The error of the steps in [from, to]; *known is false if a piece of them is forgotten.
static double steps_error(const FlLedger *ledger, int32_t entity, int32_t pair, FlTime from,
                          FlTime to, bool *known)
{
    double sum = 0.0;
    *known = true;
    for (int32_t i = ledger->pairs[pair].shown_count - 1; i >= 0 && to > from; i--) {
        FlTime start = fl__shown_from(ledger, pair, i);
        if (start >= to) {
            continue;
        }
        double error;
        *known &= fl__path_error(ledger, entity, fl__shown_serial(ledger, pair, i),
                                 start > from ? start : from, to, &error);
        sum += error;
        to = start;
    }
    return sum;
}

double fl__shown_error(const FlLedger *ledger, int32_t entity, int32_t pair, FlTime from)
{
    bool known;
    return steps_error(ledger, entity, pair, from, ledger->pairs[pair].horizon, &known);
}

double fl__cumulative(const FlLedger *ledger, int32_t entity, int32_t pair)
{
    const FlPair *p = &ledger->pairs[pair];
    double pending =
        p->pending_ns > 0 ? fl__shown_error(ledger, entity, pair, fl__counted(p)) : 0.0;
    return p->error + pending;
}

// Moves the horizon, and counts on up to `to`.
static void extend(FlLedger *ledger, int32_t entity, int32_t pair, FlTime horizon, FlTime to)
{
    FlPair *p = &ledger->pairs[pair];
    FlTime from = fl__counted(p);
    p->horizon = horizon;
    if (to <= from) {
        p->pending_ns = (uint32_t)(horizon - from);
        return;
    }
    bool known;
    ledger->counting = true;
    p->error += steps_error(ledger, entity, pair, from, to, &known);
    ledger->counting = false;
    p->pending_ns = (uint32_t)(horizon - to);
    ledger->counts.forgotten += !known;
    FlEntity *e = fl__entity(ledger, entity);
    e->counted = to > e->counted ? to : e->counted;
}

static FlShown pack(uint32_t serial, FlTime from)
{
    return (uint64_t)from << 16 | (serial & 0xffffu);
}

// Takes an update that showed, or should have, into what is counted already.
static void count_error(FlLedger *ledger, int32_t entity, int32_t pair, uint32_t serial,
                        FlTime from, FlTime to, double sign)
{
    FlTime counted = fl__counted(&ledger->pairs[pair]);
    to = to < counted ? to : counted;
    double error;
    ledger->counting = true;
    bool known = fl__path_error(ledger, entity, serial, from, to, &error);
    ledger->counting = false;
    if (!known) {
        ledger->counts.forgotten++;
        return;
    }
    ledger->pairs[pair].error += sign * error;
}

static void push(FlLedger *ledger, int32_t pair, FlShown step)
{
    FlPair *p = &ledger->pairs[pair];
    if (p->shown_count == ledger->def.shown_capacity) {
        p->shown_first = (uint8_t)((p->shown_first + 1) & (ledger->def.shown_capacity - 1));
        p->shown_count--;
        p->flags |= FL__TRIMMED;
    }
    *step_number(ledger, pair, p->shown_count) = step;
    p->shown_count++;
}

// Puts a step at place i in front of which `i` remain, in place of those from i up to `next`.
static void splice(FlLedger *ledger, int32_t pair, int32_t i, int32_t next, FlShown step)
{
    FlPair *p = &ledger->pairs[pair];
    if (i == next && p->shown_count == ledger->def.shown_capacity) {
        p->flags |= FL__TRIMMED;
        if (i == 0) {
            return; // the new step itself is the oldest
        }
        p->shown_first = (uint8_t)((p->shown_first + 1) & (ledger->def.shown_capacity - 1));
        p->shown_count--;
        i--;
        next--;
    }
    if (i == next) {
        for (int32_t k = p->shown_count; k > i; k--) {
            *step_number(ledger, pair, k) = *step_number(ledger, pair, k - 1);
        }
        p->shown_count++;
    } else {
        for (int32_t k = next; k < p->shown_count; k++) {
            *step_number(ledger, pair, i + 1 + k - next) = *step_number(ledger, pair, k);
        }
        p->shown_count = (uint8_t)(p->shown_count - (next - i - 1));
    }
    *step_number(ledger, pair, i) = step;
}

// A full ring will lose its oldest step: nothing may be left to count under it.
static void make_room(FlLedger *ledger, int32_t entity, int32_t pair)
{
    if (ledger->pairs[pair].shown_count == ledger->def.shown_capacity) {
        FlTime memory = fl__shown_from(ledger, pair, 1);
        extend(ledger, entity, pair, ledger->pairs[pair].horizon, memory);
    }
}

// An arrival before the horizon: the stretch in which it should have shown is counted anew.
static bool insert(FlLedger *ledger, int32_t entity, int32_t pair, uint32_t serial, FlTime from)
{
    FlPair *p = &ledger->pairs[pair];
    make_room(ledger, entity, pair);
    FlTime memory = fl__shown_from(ledger, pair, 0);
    bool exact = !(from < memory && (p->flags & FL__TRIMMED) != 0);
    if (!exact) {
        from = memory;
    }
    int32_t i = 0; // steps that start by then
    while (i < p->shown_count && fl__shown_from(ledger, pair, i) <= from) {
        i++;
    }
    if (i > 0 && !fl__after(serial, fl__shown_serial(ledger, pair, i - 1))) {
        return exact; // overtaken
    }
    if (i == 0 && fl__counted(p) == memory && p->horizon - from <= PENDING_MAX_NS) {
        p->pending_ns = (uint32_t)(p->horizon - from); // a new beginning, and nothing counted yet
    }
    int32_t next = i; // the first step that is newer than this
    FlTime at = from;
    uint32_t before = i > 0 ? fl__shown_serial(ledger, pair, i - 1) : serial;
    for (;;) {
        bool last = next == p->shown_count;
        FlTime until = last ? p->horizon : fl__shown_from(ledger, pair, next);
        if (before != serial) {
            count_error(ledger, entity, pair, before, at, until, -1.0);
        }
        at = until;
        if (last || fl__after(fl__shown_serial(ledger, pair, next), serial)) {
            break;
        }
        before = fl__shown_serial(ledger, pair, next);
        next++;
    }
    count_error(ledger, entity, pair, serial, from, at, 1.0);
    splice(ledger, pair, i, next, pack(serial, from));
    return exact;
}

bool fl__shown_add(FlLedger *ledger, int32_t entity, int32_t pair, uint32_t serial, FlTime from)
{
    FlPair *p = &ledger->pairs[pair];
    if ((p->flags & FL__STARTED) == 0) {
        p->flags |= FL__STARTED;
        p->horizon = from;
        push(ledger, pair, pack(serial, from));
        return true;
    }
    if (from < p->horizon) {
        return insert(ledger, entity, pair, serial, from);
    }
    make_room(ledger, entity, pair);
    uint32_t last = fl__shown_serial(ledger, pair, p->shown_count - 1);
    FlTime sure = fl__leap(ledger, entity, fl__entity(ledger, entity)->newest)->from;
    FlTime counted = fl__counted(p);
    if (from - counted > PENDING_MAX_NS) { // so long ago it is sure enough
        sure = sure > from - PENDING_MAX_NS ? sure : from - PENDING_MAX_NS;
    }
    extend(ledger, entity, pair, from, sure < from ? sure : from);
    if (fl__after(serial, last)) {
        push(ledger, pair, pack(serial, from));
    }
    return true;
}

bool fl_ledger_counted(const FlLedger *ledger, int32_t entity, int32_t receiver, double *error)
{
    bool watches = fl_ledger_watches(ledger, entity, receiver);
    *error = watches ? fl__pair(ledger, entity, receiver)->error : 0.0;
    return watches;
}
