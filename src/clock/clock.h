// Module `clock`, for the modules above it.
#ifndef FAIRLEAD_CLOCK_CLOCK_INNER_H
#define FAIRLEAD_CLOCK_CLOCK_INNER_H

#include "fairlead/clock.h"

/// True once there are samples of both directions, so that the calls below mean something.
bool fl__clock_known(const FlClock *clock);

/// Delays as of the newest samples. Unknown: known is false and all are zero.
FlClockDelays fl__clock_delays(const FlClock *clock);

/// One of the counters; they survive re-acquisition.
uint32_t fl__clock_count(const FlClock *clock, FlClockCount which);

/// "late", for reports.
const char *fl__clock_count_name(FlClockCount which);

/// Session time runs at most this much faster or slower than the local clock.
#define FL_SESSION_CLOCK_SLEW_LIMIT 0.02

/// A local clock that moves further than this between two updates was set, or the machine slept.
#define FL_SESSION_CLOCK_GAP_NS FL_SEC(2)

typedef enum FlSessionClockState {
    FL_SESSION_CLOCK_UNSET,        ///< Not started: there is no session time yet.
    FL_SESSION_CLOCK_CATCHING_UP,  ///< Runs, but is being slewed, or nothing comes from the
                                   ///< reference.
    FL_SESSION_CLOCK_SYNCHRONISED, ///< Is the reference, or as near to it as its deviation.
} FlSessionClockState;

/// The session's time as one peer has it. The fields are private.
typedef struct FlSessionClock {
    FlTime local; // Session time is a line through (local, session), ...
    FlTime session;
    double rate;      // ... running this much faster than the local clock from there on
    double rate_back; // and this much before.

    FlTime offset;         // Session time minus the reference's clock.
    FlTime error_ns;       // As of the last update.
    FlTime waiting_since;  // Since when a reference has been in sight that may not be ready.
    FlTime gap_at;         // The last break in the local clock, ...
    uint32_t gap_received; // ... and what had been received of the reference then.
    uint32_t gap_count;
    uint32_t leap_count;
    uint32_t acquisition; // Which acquisition of the reference's clock is being followed.
    uint8_t role;
    bool started;
    bool waiting;
    bool gap_open;
    bool leap_allowed;
    bool synchronised;
} FlSessionClock;

/// Not started, following no reference.
void fl__session_clock_init(FlSessionClock *clock);

/// This peer is the reference from now on. If session time already runs it goes on without a step,
/// at the local clock's rate; otherwise it starts at `first`. Tell the others
/// fl__session_clock_offset().
void fl__session_clock_lead(FlSessionClock *clock, FlTime now, FlTime first);

/// From now on session time is the reference's clock plus `offset`, as that reference tells it.
/// Session time takes no step: a difference to the reference before is slewed away.
void fl__session_clock_follow(FlSessionClock *clock, FlTime offset);

/// The same without that message: the offset that makes `reference` (known) agree with session time
/// as it runs here. Errors add up over such handovers, so prefer the message.
void fl__session_clock_adopt(FlSessionClock *clock, const FlClock *reference, FlTime now);

/// Session time minus the reference's clock: for the reference to tell, after
/// fl__session_clock_lead and whenever it changes (only when the local clock was set).
FlTime fl__session_clock_offset(const FlSessionClock *clock);

/// Brings session time to `now`. Call it once a step, after the step's packets. `reference` is the
/// clock of the peer being followed; NULL when leading or when there is no reference. After a break
/// in the local clock, or when the reference had to be acquired anew, session time may leap
/// forwards once; it never goes back.
void fl__session_clock_update(FlSessionClock *clock, const FlClock *reference, FlTime now);

FlSessionClockState fl__session_clock_state(const FlSessionClock *clock);

/// How far session time here may be from the reference's, 99.9 % of the time: what is still to be
/// slewed plus the reference's deviation. 0 when leading, FL_FOREVER without a reference.
FlTime fl__session_clock_error(const FlSessionClock *clock);

/// Session time at `local`, which may lie ahead by at most FL_SESSION_CLOCK_GAP_NS (further ahead
/// it stands still) and should not lie before the update before the last. Not started: 0.
FlTime fl__session_clock_at(const FlSessionClock *clock, FlTime local);

/// The local time at which session time is `session`, as it runs now; FL_FOREVER stays FL_FOREVER.
/// Not started: FL_FOREVER.
FlTime fl__session_clock_local_at(const FlSessionClock *clock, FlTime session);

/// Stamp and arrival in session time (or any one clock); `delay_ns` is the smoothed one-way delay
/// of the link.
FlTime fl__time_place(FlTimeMode mode, FlTime stamp, FlTime arrival, FlTime delay_ns);

/// What our clock shows when the peer's shows `remote`. Unknown: `remote` itself.
FlTime fl__clock_local_at(const FlClock *clock, FlTime remote);

#endif
