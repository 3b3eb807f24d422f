// Which point of a motion is shown: from owners' own times to play time, and back.
//
// A peer's *offset* is what leads from its own time to play time: B, and the difference between its
// clock and the time by which it stamps motions. It is kept as ramps, each from a time on. All
// peers are sent the same ramps and use whole nanoseconds, so at one play time all show the same
// point, whatever their clocks and session times say.
//
// B may step, since an action is over when it is played. A motion would stand still and then jump;
// so its offset goes to the new B at `slew_ppm`. That makes nothing late that was not: while B
// rises A falls no faster, and not before everything stamped since B began to rise has arrived
// (lags_round.c). So A and offset together fall below neither what they were nor what they will be.
// Only over a way that the old lags did not know (a newcomer's, or one that got longer) updates
// come late until the offset is there; they are then shown from their arrival on.
//
// A ramp that is sent when it begins is needed a lag later: like an action it has arrived by then.
//
// Invariant: our own ramps are one continuous function, but for the first and a leap of our time.
#include "private.h"

#define TOLERANCE FL_US(250) // an offset may be off by this: by drift, or as session time wanders
#define EVERY FL_SEC(1)      // and is corrected so often at most
#define LEAP FL_SEC(1)       // further than this is no correction
#define SENT_AGAIN FL_SEC(1) // for newcomers
#define RAMP_LONGEST FL_SEC(86400)

// ---------------------------------------------------------------- one offset

static FlTime play_of(const Fl__LagsOffset *offset, FlTime time)
{
    return fl_time_add(time, fl__lags_ramp_at(&offset->ramp, time, offset->slew_ppm));
}

/// The last time whose play time has come.
static FlTime time_of(const Fl__LagsOffset *offset, FlTime play)
{
    const Fl__LagsRamp *ramp = &offset->ramp;
    FlTime straight = fl_span(play, ramp->to);
    FlTime before = fl_span(play, ramp->from);
    FlTime since = fl_span(before, ramp->at);
    if (ramp->from == ramp->to || since > RAMP_LONGEST) {
        return straight;
    }
    if (since <= 0) {
        return before;
    }
    bool rises = ramp->to > ramp->from;
    FlTime rate = MILLION + (rises ? offset->slew_ppm : -offset->slew_ppm);
    FlTime bent = ramp->at + since / rate * MILLION + since % rate * MILLION / rate;
    FlTime time = (bent > straight) == rises ? bent : straight;
    while (play_of(offset, time) > play) { // a nanosecond or two of rounding
        time--;
    }
    while (play_of(offset, time + 1) <= play) {
        time++;
    }
    return time;
}

/// How fast play time runs with its time.
static double slope_of(const Fl__LagsOffset *offset, FlTime time)
{
    const Fl__LagsRamp *ramp = &offset->ramp;
    FlTime is = fl__lags_ramp_at(ramp, time, offset->slew_ppm);
    double slew = offset->slew_ppm / 1e6;
    if (is == ramp->to || time <= ramp->at) {
        return 1.0;
    }
    return ramp->to > is ? 1.0 + slew : 1.0 - slew;
}

// ---------------------------------------------------------------- all of a peer's

static const Fl__LagsOffset *newest_of(const Fl__LagsMotions *motions)
{
    return motions->count > 0 ? &motions->offsets[motions->count - 1] : NULL;
}

static const Fl__LagsOffset *offset_at_play(const Fl__LagsMotions *motions, FlTime play)
{
    int32_t i = motions->count - 1;
    while (i > 0 &&
           fl_time_add(motions->offsets[i].ramp.at, motions->offsets[i].ramp.from) > play) {
        i--;
    }
    return &motions->offsets[i];
}

static void put(Fl__LagsMotions *motions, const Fl__LagsOffset *offset)
{
    int32_t place = motions->count;
    while (place > 0 && motions->offsets[place - 1].ramp.at > offset->ramp.at) {
        place--;
    }
    if (place > 0 && motions->offsets[place - 1].ramp.at == offset->ramp.at) {
        motions->offsets[place - 1] = *offset; // the same again
        return;
    }
    bool full = motions->count == FL__LAGS_OFFSETS;
    if (full && place == 0) {
        return; // older than all
    }
    if (full) {
        for (int32_t i = 1; i < place; i++) {
            motions->offsets[i - 1] = motions->offsets[i];
        }
        motions->offsets[place - 1] = *offset;
        return;
    }
    for (int32_t i = motions->count; i > place; i--) {
        motions->offsets[i] = motions->offsets[i - 1];
    }
    motions->offsets[place] = *offset;
    motions->count++;
}

void fl__lags_forget_motions(FlLags *lags, int32_t peer)
{
    lags->peers[peer].motions.count = 0;
    lags->peers[peer].motions.version = ++lags->version;
    lags->offset_due = true; // one that comes does not know it
}

bool fl__lags_shown(const FlLags *lags, int32_t peer, FlTime now, FlLagsShown *shown)
{
    FL_ASSERT(peer >= 0 && peer < FL_LAGS_PEERS);
    FlLagsShown none = {0};
    *shown = none;
    const Fl__LagsMotions *motions = &lags->peers[peer].motions;
    shown->version = motions->version;
    if (!lags->plays || motions->count == 0) {
        return false;
    }
    FlTime a = fl__lags_ramp_at(&lags->a, now, lags->def.slew_ppm);
    FlTime play = fl_span(now, a);
    const Fl__LagsOffset *offset = offset_at_play(motions, play);
    shown->time = time_of(offset, play);
    double falls = a > lags->a.to && now >= lags->a.at ? lags->def.slew_ppm / 1e6 : 0.0;
    shown->rate = (1.0 + falls) / slope_of(offset, shown->time);
    return true;
}

// ---------------------------------------------------------------- theirs

void fl__lags_take_offset(FlLags *lags, int32_t from, const Fl__LagsOffset *offset, FlTime arrival)
{
    Fl__LagsMotions *motions = &lags->peers[from].motions;
    FlLagsShown before, after;
    bool was = fl__lags_shown(lags, from, arrival, &before);
    put(motions, offset);
    bool is = fl__lags_shown(lags, from, arrival, &after);
    if (was != is || before.time != after.time) { // the first; or it came late
        motions->version = ++lags->version;
    }
    lags->shows = true;
}

// ---------------------------------------------------------------- ours

void fl__lags_show_motions(FlLags *lags)
{
    lags->shows = true;
}

void fl__lags_own_time(FlLags *lags, FlTime now, FlTime time, FlTime wait_ns)
{
    if (!lags->shows || !lags->sends) {
        return;
    }
    Fl__LagsMotions *motions = &lags->peers[lags->def.self].motions;
    const Fl__LagsOffset *newest = newest_of(motions);
    FlTime b = fl_time_add(lags->b.to, wait_ns);
    FlTime goal = fl_time_add(fl_span(now, time), b);
    FlTime is = newest != NULL ? fl__lags_ramp_at(&newest->ramp, time, newest->slew_ppm) : goal;
    bool leaps = newest == NULL || time < newest->ramp.at || fl_span(goal, is) > LEAP ||
                 fl_span(is, goal) > LEAP;
    FlTime off = newest != NULL ? fl_span(goal, newest->ramp.to) : 0;
    bool off_far = off > TOLERANCE || off < -TOLERANCE;
    bool due = newest != NULL && (b != lags->offset_b || fl_span(time, newest->ramp.at) >= EVERY);
    if (!leaps && !(off_far && due)) {
        return;
    }
    motions->count = leaps ? 0 : motions->count;
    motions->version = leaps ? ++lags->version : motions->version;
    Fl__LagsOffset next = {{leaps ? goal : is, goal, time}, lags->def.slew_ppm};
    put(motions, &next);
    lags->offset_b = b;
    lags->offset_due = true;
}

FlTime fl__lags_offset_due(const FlLags *lags)
{
    bool ours = lags->shows && lags->peers[lags->def.self].motions.count > 0;
    return !ours ? FL_FOREVER : lags->offset_due ? INT64_MIN : lags->offset_next;
}

void fl__lags_send_offset(FlLags *lags, FlTime now, Fl__LagsOffset *offset)
{
    *offset = *newest_of(&lags->peers[lags->def.self].motions);
    lags->offset_due = false;
    lags->offset_next = fl_time_add(now, SENT_AGAIN);
}
