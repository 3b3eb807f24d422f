// equal: the most fair or the most accurate that a budget of updates allows, and what lies between.
//
// An update is worth sending to a receiver when what it believes has gone too far off the newest
// motion. Each receiver has its own threshold for that; all of them adapt while the game runs:
//
//     threshold of r  =  exp( scale - pull * (suffered by r / mean suffered - 1) + offset of r )
//
// `scale` is common and keeps the number of updates at the budget, 1/every of base's: it follows
// the credit left (at once) and its average (slowly). `pull` follows fairness_percent: at 0 all
// receivers have the same threshold, which spends every update where it avoids the most error; the
// higher, the more those who suffered more than the mean are served first. How much one receiver's
// error adds to the standard deviation is in proportion to its distance from the mean, so each
// setting setting is close to a best trade. At 100 each receiver also learns an offset, which takes
// out what a proportional rule leaves.
//
// A budget may be more than fairness can use: once the worst off gets every update, more for the
// others would only part them further. At 100 what is left is then not spent.
//
// A receiver is looked at when an update is exported, LOOK_AHEAD on; if it is not worth it yet, the
// time when the two motions will have parted that far is computed, and it is sent then. Far
// receivers are looked at a little further ahead, since what they get is older when it comes.
//
// Suffered is the acknowledged error plus an estimate that costs no integral: if nothing is under
// way, the distance now times half the time since the last arrival; otherwise the mean so far.
// So a decision takes constant time, and a trigger one decision per receiver.
// docs/decisions/0010-ledger-and-policies.md has the measurements behind every number here.
#include "placed.h"
#include "policy.h"
#include "private.h"

#include "base/maths.h"

#define LOOK_AHEAD_NS FL_MS(300)
#define DELAY_SHARE 0.2    // of the delay, added to both looks
#define CREDIT_STEP 3.0    // updates per receiver that change thresholds by a factor of e
#define CREDIT_MAX 10.0    // updates per receiver that are saved up at most
#define SCALE_TRIGGERS 200 // over which the scale learns what the credit tells
#define PULL_SECONDS 6.0   // the pull never reacts to less than this much of mean suffering,
#define PULL_FIRST 2.0     // but at first, when all suffering is young, to this much
#define PULL_EARLY 5.0     // until it is so strong
#define OFFSET_SECONDS 60.0
#define OFFSET_FIRST 5.0 // so quick at first, and then slower with a third of the time
#define FIRST_SECONDS 0.04
#define PULL_LOG_MAX 2.0
#define OFFSET_LOG_MAX 4.0
#define SERVED_TRIGGERS 50.0 // over which it is averaged how many updates the worst off gets
#define SERVED_FULLY 0.97
#define SEARCH_STEP_NS FL_MS(50) // where motions are not straight
#define SEARCH_STEPS 20

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double clamp(double x, double limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

// ---------------------------------------------------------------- what a receiver suffered

// In distance: the mean error since the entity began. What is pending counts as the mean so far.
static double suffered(const FlPair *pair, const FlEqual *equal, double distance, FlTime now)
{
    double all = fl_span_seconds(fl_span(now, equal->epoch));
    double known = fl_span_seconds(fl_span(pair->horizon, equal->epoch));
    double counted = known - 1e-9 * (double)pair->pending_ns;
    double error = pair->error + (double)pair->baseline;
    if ((pair->flags & FL__STARTED) == 0 || !(counted > 0.0) || known > all) {
        return all > 0.0 ? error / all : 0.0;
    }
    if (pair->waiting != 0) {
        return error / counted;
    }
    return (error * known / counted + 0.5 * distance * (all - known)) / all;
}

// ---------------------------------------------------------------- thresholds

/// What is the same for all receivers of an entity at one trigger.
typedef struct Trigger {
    FlTime now;
    double learning; ///< Share of a preference that becomes an offset.
    double pull;
    double common; ///< Threshold of one who suffered as much as the mean.
} Trigger;

// How strongly one who suffered more than the mean is preferred, by fairness_percent and by how
// long the game has run: a small share of a short time is nothing yet.
static double pull_of(const FlEntity *e, FlTime now)
{
    double elapsed = fl_span_seconds(fl_span(now, e->equal.epoch));
    double most = smaller(elapsed / PULL_FIRST, PULL_EARLY);
    most = elapsed / PULL_SECONDS > most ? elapsed / PULL_SECONDS : most;
    double share = e->send.fairness_percent / 100.0;
    return e->send.fairness_percent == 100 ? most : smaller(most, share / (1.0 - share));
}

// Updates per receiver that may be sent beyond what was; a debt, if negative.
static double spare(const FlEntity *e)
{
    return e->credit / e->watcher_count;
}

// About e^x between -6 and 6, rising, and a quarter of the time: thresholds need no more.
static double fast_exp(double x)
{
    double y = 1.0 + x / 64.0;
    y *= y;
    y *= y;
    y *= y;
    y *= y;
    y *= y;
    return y * y;
}

static double threshold(const FlEntity *e, FlPair *pair, const Trigger *trigger)
{
    double relative = e->equal.mean > 0.0 ? (double)pair->own.suffered / e->equal.mean - 1.0 : 0.0;
    double preference = clamp(-trigger->pull * relative, PULL_LOG_MAX);
    if (e->send.fairness_percent == 100) {
        double offset = (double)pair->owed.offset + preference * trigger->learning;
        offset = clamp(offset, OFFSET_LOG_MAX);
        pair->owed.offset = (float)offset;
        preference += offset;
    }
    return trigger->common * fast_exp(preference);
}

// ---------------------------------------------------------------- when two motions have parted

static bool is_straight(const FlMotion *m)
{
    return (m->model == FL_MODEL_LINEAR || m->model == FL_MODEL_STILL) &&
           m->horizon_ns == FL_FOREVER;
}

// After which time the points, `gap` apart and drifting, are `distance` apart; they are closer now.
static FlTime straight_parting(FlVec3 gap, FlVec3 drift, double distance)
{
    double a = fl_vec3_dot(drift, drift);
    double b = fl_vec3_dot(gap, drift);
    double c = fl_vec3_dot(gap, gap) - distance * distance;
    if (!(a > 0.0)) {
        return FL_FOREVER;
    }
    double root = sqrt(b * b - a * c); // c < 0, so this is more than |b|
    return fl_span_from_seconds(b > 0.0 ? -c / (b + root) : (root - b) / a);
}

static FlTime parting(const FlMotion *a, const FlMotion *b, FlTime from, double distance)
{
    FlVec3 gap = fl_vec3_sub(fl_motion_position(a, from), fl_motion_position(b, from));
    if (!(fl_vec3_length(gap) < distance)) {
        return 0;
    }
    if (is_straight(a) && is_straight(b)) {
        FlVec3 drift = fl_vec3_sub(a->velocity, b->velocity);
        return straight_parting(gap, drift, distance);
    }
    for (int32_t i = 1; i <= SEARCH_STEPS; i++) {
        FlTime at = fl_time_add(from, i * SEARCH_STEP_NS);
        if (fl_vec3_distance(fl_motion_position(a, at), fl_motion_position(b, at)) > distance) {
            return i * SEARCH_STEP_NS;
        }
    }
    return FL_FOREVER;
}

// ---------------------------------------------------------------- one receiver

// A first guess, before any experience: what the thing moves in a moment.
static void set_scale(FlEqual *equal, const FlMotion *motion)
{
    double moved = FIRST_SECONDS * fl_vec3_length(motion->velocity);
    if (!equal->scaled && moved > 0.0) {
        equal->scaled = true;
        equal->scale = fl__log(moved);
    }
}

static bool is_capped(const FlEntity *e, const FlPair *pair)
{
    if (e->send.share_cap >= 1.0) {
        return false;
    }
    double even = 1.0 / e->watcher_count;
    double cap = e->send.share_cap > even ? e->send.share_cap : even;
    return pair->sent > cap * e->equal.sent + 2.0;
}

// True: send now. Otherwise the policy is asked again when the motions will have parted.
static bool is_worth_it(FlLedger *ledger, int32_t entity, int32_t receiver, const Trigger *trigger)
{
    FlTime now = trigger->now;
    FlEntity *e = fl__entity(ledger, entity);
    FlPair *pair = fl__pair(ledger, entity, receiver);
    const FlMotion *newest = &fl__piece(e, e->newest)->motion;
    FlTime when = FL_FOREVER;
    bool worth = !fl__believes(ledger, entity, pair);
    if (!worth && pair->newest_sent != e->newest) {
        FlMotion seen = fl__belief(ledger, entity, pair);
        FlTime lead = (FlTime)(DELAY_SHARE * (double)fl__delay(ledger, receiver));
        FlTime from = fl_time_add(now, lead);
        FlTime ahead = fl_time_add(from, LOOK_AHEAD_NS);
        double distance =
            fl_vec3_distance(fl_motion_position(newest, ahead), fl_motion_position(&seen, ahead));
        pair->own.suffered = (float)suffered(pair, &e->equal, distance, now);
        double limit = threshold(e, pair, trigger);
        worth = distance > limit;
        FlTime span = worth ? 0 : parting(newest, &seen, from, limit);
        worth = span <= 0;
        when = fl_time_add(now, span);
    }
    bool send = worth && !is_capped(e, pair);
    fl__ask_at(ledger, entity, receiver, send || worth ? FL_FOREVER : when);
    return send;
}

// ---------------------------------------------------------------- what the ledger calls

static void pay_in(FlEntity *e)
{
    // Credit that finds no use expires, or a long rest would end in a flood; debts do not.
    bool useless = e->send.fairness_percent == 100 && e->equal.served > SERVED_FULLY;
    double most = useless ? 0.0 : CREDIT_MAX * e->watcher_count;
    e->credit = smaller(e->credit + (double)e->watcher_count / e->send.every, most);
    e->equal.scale -= spare(e) / (CREDIT_STEP * SCALE_TRIGGERS);
}

void fl__equal_trigger(FlLedger *ledger, int32_t entity, FlTime now)
{
    FlEntity *e = fl__entity(ledger, entity);
    if (e->watcher_count == 0) {
        return;
    }
    pay_in(e);
    set_scale(&e->equal, &fl__piece(e, e->newest)->motion);
    double third = fl_span_seconds(fl_span(now, e->equal.epoch)) / 3.0;
    double slow = smaller(third > OFFSET_FIRST ? third : OFFSET_FIRST, OFFSET_SECONDS);
    double log_common = clamp(e->equal.scale - spare(e) / CREDIT_STEP, 300.0);
    Trigger trigger = {
        .now = now,
        .learning = smaller(fl_span_seconds(fl_span(now, e->equal.previous)), 1.0) / slow,
        .pull = pull_of(e, now),
        .common = fl__exp(log_common),
    };
    e->equal.previous = now;
    double sum = 0.0;
    double most = -1.0;
    bool served = false;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        bool sends = is_worth_it(ledger, entity, r, &trigger);
        if (sends) {
            fl__mark(ledger, entity, r);
        }
        double suffers = (double)fl__pair(ledger, entity, r)->own.suffered;
        served = suffers > most ? sends : served;
        most = suffers > most ? suffers : most;
        sum += suffers;
    }
    e->equal.mean = sum / e->watcher_count;
    e->equal.served += ((served ? 1.0 : 0.0) - e->equal.served) / SERVED_TRIGGERS;
}

void fl__equal_wake(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    (void)now;
    if (!is_capped(fl__entity(ledger, entity), fl__pair(ledger, entity, receiver))) {
        fl__mark(ledger, entity, receiver);
    }
}

void fl__equal_sent(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    (void)now;
    FlEntity *e = fl__entity(ledger, entity);
    e->credit -= 1.0;
    e->equal.sent += 1.0;
    fl__ask_at(ledger, entity, receiver, FL_FOREVER);
}

// The first update of a life is part of the budget; that of a newcomer comes on top.
void fl__equal_join(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    (void)now;
    FlEntity *e = fl__entity(ledger, entity);
    FlPair *pair = fl__pair(ledger, entity, receiver);
    bool newcomer = pair->sent == 0;
    e->credit += newcomer ? 1.0 : 1.0 / e->send.every;
    if (newcomer) {
        pair->own.suffered = (float)e->equal.mean;
    }
}
