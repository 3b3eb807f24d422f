// A common Δ for a group, without a leader.
//
// Why the largest proposal: Δ must be long enough for the worst way into anybody. Why not simply
// send it: everybody must change at the same session time, or the same thing is shown at different
// times, which is what Δ is there to prevent. So session time is cut into periods, and each period
// k goes through three stages:
//
//     period k       each peer proposes, and sends the largest proposal it knows
//     period k + 1   … goes on sending it (the field `older`)
//     period k + 2   the result is scheduled; what still arrives is still counted
//     period k + 3   Δ begins to change to it, at the first nanosecond
//
// A maximum needs no order, no names and no acknowledgements: receiving it twice, or over
// another peer, changes nothing. A proposal is lost only if every message of two
// periods from everybody who knows it is lost. Then one peer differs for one period: the next one
// starts afresh.
//
// A peer that lies can only raise Δ, up to high_ns.
//
// Layout: `largest` is indexed by period - (current - 2). Samples are a ring.
#include "private.h"

#include "wire/wire.h"

#define DELTA_COOKIE 0x44454c31u
#define PERIOD_BITS 16

_Static_assert(sizeof(FlDeltaControl) <= FL_DELTA_CONTROL_BYTES_MAX,
               "what show.h says of its size");

enum { CLOSED = 0, BEFORE = 1, CURRENT = 2, AHEAD = 3 };

FlDeltaDef fl_delta_def_default(void)
{
    FlDeltaDef def = {
        .initial_ns = FL_MS(100),
        .low_ns = FL_MS(20),
        .high_ns = FL_MS(150),
        .period_ns = FL_MS(500),
        .interval_ns = FL_MS(100),
        .memory_ns = FL_SEC(4),
        .late_allowed_ppm = 50000,
        .margin_ns = FL_MS(2),
        .fall_ns = FL_MS(5),
        .cookie = DELTA_COOKIE,
    };
    return def;
}

// In whole steps, rounded up.
static int32_t steps_of(FlTime span)
{
    return (int32_t)((span + FL_DELTA_STEP_NS - 1) / FL_DELTA_STEP_NS);
}

FlResult fl_delta_def_problem(const FlDeltaDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlDeltaDef, "fl_delta_def_default", DELTA_COOKIE),
        FL__WHOLE(FlDeltaDef, low_ns, 0, FL_SHOW_DELTA_MAX_NS),
        FL__WHOLE(FlDeltaDef, high_ns, 0, FL_SHOW_DELTA_MAX_NS),
        FL__WHOLE(FlDeltaDef, period_ns, 1, FL_FOREVER),
        FL__WHOLE(FlDeltaDef, interval_ns, 1, FL_FOREVER),
        FL__WHOLE(FlDeltaDef, memory_ns, 1, FL_FOREVER),
        FL__WHOLE(FlDeltaDef, late_allowed_ppm, 0, 1000000),
        FL__WHOLE(FlDeltaDef, margin_ns, 0, FL_SHOW_DELTA_MAX_NS),
        FL__WHOLE(FlDeltaDef, fall_ns, 0, FL_FOREVER),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    (void)fl__def_wrong(error, def->low_ns > def->high_ns, "low_ns is above high_ns.");
    return fl__def_wrong(error, def->initial_ns < def->low_ns || def->initial_ns > def->high_ns,
                         "initial_ns must be from low_ns to high_ns.");
}

void fl_delta_control_init(FlDeltaControl *control, const FlDeltaDef *def)
{
    FlError error;
    FlResult sound = fl_delta_def_problem(def, &error);
    FL_ASSERT(sound == FL_OK);
    (void)sound;
    FlDeltaControl fresh = {
        .def = *def,
        .proposal = steps_of(def->initial_ns),
        .scheduled = steps_of(def->initial_ns),
    };
    *control = fresh;
}

// ---------------------------------------------------------------- measuring

void fl_delta_control_arrived(FlDeltaControl *control, int32_t source, FlTime generated,
                              FlTime arrival)
{
    FL_ASSERT(source >= 0 && source < FL_DELTA_SOURCES);
    FlDeltaSample sample = {
        .arrival = arrival,
        .lateness_ns = fl_span(arrival, generated),
        .source = source,
    };
    control->samples[control->sample_next] = sample;
    control->sample_next = (control->sample_next + 1) % FL_DELTA_SAMPLES;
    if (control->sample_count < FL_DELTA_SAMPLES) {
        control->sample_count++;
    }
}

// How many of a source's recent updates took longer than `span`; *all of how many.
static int32_t count_longer(const FlDeltaControl *control, int32_t source, FlTime now, FlTime span,
                            int32_t *all)
{
    int32_t longer = 0;
    *all = 0;
    for (int32_t i = 0; i < control->sample_count; i++) {
        const FlDeltaSample *sample = &control->samples[i];
        if (sample->source == source && fl_span(now, sample->arrival) <= control->def.memory_ns) {
            *all += 1;
            longer += sample->lateness_ns > span ? 1 : 0;
        }
    }
    return longer;
}

// The smallest Δ, in steps from `low` to `high`, by which no more than the allowed share of this
// source's updates are late. A search by halves, so that nothing need be sorted.
static int32_t enough_for(const FlDeltaControl *control, int32_t source, FlTime now, int32_t low,
                          int32_t high)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        FlTime span = middle * FL_DELTA_STEP_NS - control->def.margin_ns;
        int32_t all;
        int64_t longer = count_longer(control, source, now, span, &all);
        if (longer * 1000000 <= (int64_t)all * control->def.late_allowed_ppm) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// The own proposal for a new period: up at once, down slowly.
static int32_t propose(const FlDeltaControl *control, FlTime now)
{
    int32_t needed = steps_of(control->def.low_ns);
    int32_t high = (int32_t)(control->def.high_ns / FL_DELTA_STEP_NS);
    for (int32_t source = 0; source < FL_DELTA_SOURCES; source++) {
        needed = enough_for(control, source, now, needed, high);
    }
    int32_t lowest = control->proposal - (int32_t)(control->def.fall_ns / FL_DELTA_STEP_NS);
    return needed > lowest ? needed : lowest;
}

// ---------------------------------------------------------------- agreeing

static int64_t period_of(const FlDeltaControl *control, FlTime now)
{
    FlTime length = control->def.period_ns;
    return now / length - (now % length < 0 ? 1 : 0);
}

// Goes on to the period of `now`.
static void turn_over(FlDeltaControl *control, FlTime now)
{
    int64_t period = period_of(control, now);
    if (control->started && period <= control->period) {
        return;
    }
    int64_t passed = control->started ? period - control->period : FL_DELTA_PERIODS;
    for (int64_t i = 0; i < FL_DELTA_PERIODS; i++) {
        int64_t from = i + passed;
        control->largest[i] = from < FL_DELTA_PERIODS ? control->largest[from] : -1;
    }
    control->period = period;
    control->started = true;
    control->proposal = propose(control, now);
    if (control->proposal > control->largest[CURRENT]) {
        control->largest[CURRENT] = control->proposal;
    }
}

static void take(FlDeltaControl *control, int64_t period, int32_t steps)
{
    int64_t i = period - (control->period - CURRENT);
    int32_t high = (int32_t)(control->def.high_ns / FL_DELTA_STEP_NS);
    if (i < 0 || i >= FL_DELTA_PERIODS) {
        control->stale++;
        return;
    }
    steps = steps < high ? steps : high;
    control->largest[i] = steps > control->largest[i] ? steps : control->largest[i];
}

bool fl_delta_control_receive(FlDeltaControl *control, const void *bytes, int32_t count, FlTime now)
{
    FlReader reader;
    FlDeltaMsg msg;
    fl_reader_init(&reader, bytes, count);
    if (!fl__delta_decode(&reader, &msg) || !fl__reader_whole(&reader)) {
        return false;
    }
    turn_over(control, now);
    int64_t period = fl__unwrap(control->period, msg.period, PERIOD_BITS);
    take(control, period, msg.newer);
    // What closed long ago is repeated in good faith: only what comes too late to count is stale.
    if (msg.older != FL_DELTA_UNKNOWN && period > control->period - CURRENT) {
        take(control, period - 1, msg.older);
    }
    return true;
}

bool fl_delta_control_update(FlDeltaControl *control, FlTime now, FlDeltaChange *change)
{
    turn_over(control, now);
    FlDeltaChange none = {0};
    *change = none;
    int32_t agreed = control->largest[CLOSED];
    if (agreed < 0 || agreed == control->scheduled) {
        return false;
    }
    control->scheduled = agreed;
    change->delta_ns = agreed * FL_DELTA_STEP_NS;
    change->from = (control->period + 1) * control->def.period_ns;
    return true;
}

bool fl_delta_control_next(FlDeltaControl *control, FlTime now, uint8_t bytes[FL_DELTA_BYTES])
{
    turn_over(control, now);
    if (now < control->speak_at) {
        return false;
    }
    FlTime next = fl_time_add(control->speak_at, control->def.interval_ns);
    bool behind = next <= now; // at the start, or after a pause; frames alone must not thin it out
    control->speak_at = behind ? fl_time_add(now, control->def.interval_ns) : next;
    int32_t older = control->largest[BEFORE];
    FlDeltaMsg msg = {
        .period = (uint16_t)((uint64_t)control->period & 0xffffu),
        .newer = (uint16_t)control->largest[CURRENT],
        .older = older < 0 ? FL_DELTA_UNKNOWN : (uint16_t)older,
    };
    FlWriter writer;
    fl_writer_init(&writer, bytes, FL_DELTA_BYTES);
    fl__delta_encode(&writer, &msg);
    return true;
}

FlTime fl__delta_control_deadline(const FlDeltaControl *control)
{
    FlTime next_period = (control->period + 1) * control->def.period_ns;
    return fl_time_min(control->speak_at, next_period);
}
