// Session time: one line, bent at every update so that it runs towards the reference.
//
//      session
//         |                          _/   bent again: rate is the reference's drift plus a part of
//         |                    __ .-'     what is missing, 2 % at most
//         |             __.--''
//         |      __.--''         between updates a straight line: exact, invertible, monotonic
//         +-------------------------- local
//
// Why it never steps: what was shown at a session time stays shown, and a time that went back would
// show it twice. The one exception is a break in the local clock itself (it was set, or the machine
// slept): then what passed is unknown. Session time goes on from where it stood, and once
// packets of the reference arrive again it leaps to where the others are, if that is ahead.
#include "clock/private.h"

#include <string.h>

enum { ROLE_NONE, ROLE_LEAD, ROLE_FOLLOW };

// What is missing is made good in about this time, slowly enough not to follow every sample.
#define CATCH_UP_S 2.0
// What slewing makes good in 5 s is slewed even when a leap is allowed.
#define LEAP_LEAST_NS FL_MS(100)
// A reference is good enough to start from when it is this sure, has this many samples of both
// directions, or has been in sight this long. A bad start takes 50 times its error to slew away.
#define READY_DEVIATION_NS FL_MS(5)
#define READY_SAMPLES 16
#define READY_WAIT_NS FL_SEC(2)
// A reference silent for this long is out of sight.
#define SILENCE_NS FL_SEC(5)

#define NO_ACQUISITION UINT32_MAX

void fl__session_clock_init(FlSessionClock *clock)
{
    memset(clock, 0, sizeof *clock);
    clock->acquisition = NO_ACQUISITION;
    clock->error_ns = FL_FOREVER;
}

// ---------------------------------------------------------------- the line

FlTime fl__session_clock_at(const FlSessionClock *clock, FlTime local)
{
    if (!clock->started) {
        return 0;
    }
    FlTime passed = fl_span(local, clock->local);
    double rate = passed < 0 ? clock->rate_back : clock->rate;
    if (passed > FL_SESSION_CLOCK_GAP_NS) {
        passed = FL_SESSION_CLOCK_GAP_NS; // As the next update will see it.
    }
    FlTime bend = fl_span_from_seconds(fl_span_seconds(passed) * rate);
    return fl_time_add(clock->session, fl_time_add(passed, bend));
}

FlTime fl__session_clock_local_at(const FlSessionClock *clock, FlTime session)
{
    if (!clock->started || session == FL_FOREVER) {
        return FL_FOREVER;
    }
    FlTime passed = fl_span(session, clock->session);
    double rate = passed < 0 ? clock->rate_back : clock->rate;
    FlTime bend = fl_span_from_seconds(fl_span_seconds(passed) * (rate / (1.0 + rate)));
    return fl_time_add(clock->local, fl_span(passed, bend));
}

static void start(FlSessionClock *clock, FlTime now, FlTime session)
{
    clock->started = true;
    clock->local = now;
    clock->session = session;
    clock->rate = 0.0;
    clock->rate_back = 0.0;
    clock->leap_allowed = false;
}

static void advance(FlSessionClock *clock, const FlClock *reference, FlTime now)
{
    FlTime passed = fl_span(now, clock->local);
    if (passed > 0) {
        clock->session = fl__session_clock_at(clock, now);
        clock->rate_back = clock->rate;
    }
    clock->local = now;
    if (passed < 0 || passed > FL_SESSION_CLOCK_GAP_NS) {
        clock->gap_at = now;
        clock->gap_received = reference != NULL ? reference->count[FL_CLOCK_RECEIVED] : 0;
        clock->gap_open = true;
        clock->leap_allowed = true;
        clock->gap_count++;
    }
}

// ---------------------------------------------------------------- the reference

/// After a break in the local clock the reference's estimate may be wrong by all of it, until a
/// packet from each direction since then has been found to fit, or it was acquired anew.
static bool trusted(FlSessionClock *clock, const FlClock *reference)
{
    if (!clock->gap_open) {
        return true;
    }
    bool received = reference->count[FL_CLOCK_RECEIVED] != clock->gap_received;
    clock->gap_open = !(received && reference->acked_sent >= clock->gap_at);
    return !clock->gap_open;
}

static void note_acquisition(FlSessionClock *clock, const FlClock *reference)
{
    uint32_t acquisition =
        reference->count[FL_CLOCK_REACQUIRED] + reference->count[FL_CLOCK_STEPPED];
    if (clock->acquisition != NO_ACQUISITION && clock->acquisition != acquisition) {
        clock->leap_allowed = true;
        clock->waiting = false;
    }
    clock->acquisition = acquisition;
}

static bool ready(FlSessionClock *clock, const FlClock *reference, const FlClockReading *reading,
                  FlTime now)
{
    if (!clock->waiting) {
        clock->waiting = true;
        clock->waiting_since = now;
    }
    return reading->deviation_ns <= READY_DEVIATION_NS ||
           (reference->sample_count[FL_CLOCK_IN] >= READY_SAMPLES &&
            reference->sample_count[FL_CLOCK_OUT] >= READY_SAMPLES) ||
           fl_span(now, clock->waiting_since) >= READY_WAIT_NS;
}

static double slew(FlTime behind, double drift)
{
    double rate = drift + fl_span_seconds(behind) / CATCH_UP_S;
    return fl__max(-FL_SESSION_CLOCK_SLEW_LIMIT, fl__min(FL_SESSION_CLOCK_SLEW_LIMIT, rate));
}

/// As near as the reference is known. Once synchronised it takes twice that to be so no longer: the
/// estimate jumps a little with every fit, and session time does not follow every jump.
static FlTime tolerance(const FlClockReading *reading, bool was_synchronised)
{
    FlTime near = fl_time_add(reading->deviation_ns, FL_MS(1));
    return was_synchronised ? fl_time_add(near, near) : near;
}

static void follow_reference(FlSessionClock *clock, const FlClock *reference, FlTime now,
                             bool was_synchronised)
{
    FlClockReading reading = fl_clock_read(reference, now);
    bool good = ready(clock, reference, &reading, now);
    FlTime target = fl_time_add(reading.remote, clock->offset);
    if (!clock->started) {
        if (good) {
            start(clock, now, target);
        }
    } else if (clock->leap_allowed && good) {
        clock->leap_allowed = false;
        if (fl_span(target, clock->session) > LEAP_LEAST_NS) {
            clock->session = target;
            clock->leap_count++;
        }
    }
    FlTime behind = fl_span(target, clock->session);
    FlTime apart = behind < 0 ? fl_span(0, behind) : behind;
    clock->rate = slew(behind, reading.drift_ppm * 1e-6);
    clock->error_ns = fl_time_add(apart, reading.deviation_ns);
    bool near = apart <= tolerance(&reading, was_synchronised);
    bool audible = fl_span(now, reference->now) <= SILENCE_NS;
    clock->synchronised = clock->started && good && near && audible;
}

void fl__session_clock_update(FlSessionClock *clock, const FlClock *reference, FlTime now)
{
    if (clock->started) {
        advance(clock, reference, now);
    }
    if (clock->role == ROLE_LEAD) {
        clock->gap_open = false;
        clock->leap_allowed = false;
        return;
    }
    bool was_synchronised = clock->synchronised;
    clock->synchronised = false;
    clock->error_ns = FL_FOREVER;
    if (clock->role == ROLE_NONE || reference == NULL || !fl__clock_known(reference)) {
        return; // Goes on at the rate it has.
    }
    note_acquisition(clock, reference);
    if (trusted(clock, reference)) {
        follow_reference(clock, reference, now, was_synchronised);
    }
}

// ---------------------------------------------------------------- who is followed

void fl__session_clock_lead(FlSessionClock *clock, FlTime now, FlTime first)
{
    if (clock->started) {
        advance(clock, NULL, now);
    } else {
        start(clock, now, first);
    }
    clock->role = ROLE_LEAD;
    clock->rate = 0.0;
    clock->gap_open = false;
    clock->leap_allowed = false;
    clock->synchronised = true;
    clock->error_ns = 0;
}

void fl__session_clock_follow(FlSessionClock *clock, FlTime offset)
{
    clock->role = ROLE_FOLLOW;
    clock->offset = offset;
    clock->synchronised = false;
    clock->error_ns = FL_FOREVER;
    clock->acquisition = NO_ACQUISITION;
    clock->waiting = false;
}

void fl__session_clock_adopt(FlSessionClock *clock, const FlClock *reference, FlTime now)
{
    FL_ASSERT(clock->started && fl__clock_known(reference));
    FlTime session = fl__session_clock_at(clock, now);
    fl__session_clock_follow(clock, fl_span(session, fl_clock_remote_at(reference, now)));
}

FlTime fl__session_clock_offset(const FlSessionClock *clock)
{
    return clock->role == ROLE_LEAD ? fl_span(clock->session, clock->local) : clock->offset;
}

FlSessionClockState fl__session_clock_state(const FlSessionClock *clock)
{
    if (!clock->started) {
        return FL_SESSION_CLOCK_UNSET;
    }
    return clock->synchronised ? FL_SESSION_CLOCK_SYNCHRONISED : FL_SESSION_CLOCK_CATCHING_UP;
}

FlTime fl__session_clock_error(const FlSessionClock *clock)
{
    return clock->error_ns;
}

// ---------------------------------------------------------------- which time an update is shown at

FlTime fl__time_place(FlTimeMode mode, FlTime stamp, FlTime arrival, FlTime delay_ns)
{
    switch (mode) {
    case FL_TIME_LOCAL:
        return arrival;
    case FL_TIME_ONE_WAY:
        return fl_span(arrival, delay_ns);
    case FL_TIME_GLOBAL:
        break;
    }
    return stamp;
}
