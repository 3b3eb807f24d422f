// Rounds: all peers tell what they measured, and agree on lags.
//
//   begin    somebody snapshots its vector under the next number and tells it; the others answer
//            with theirs. All may begin at once: it is the same round.
//   solve    whoever has the vectors of all members, all with the same members, computes the lags.
//   READY    it has taken what rises. While it waits for the others nothing of its own falls. Who
//            refuses a round never says it, so the round settles nowhere.
//   settle   all are READY: what falls may fall. Stamps (B) at once; playing (A) once everything
//            that was stamped before the others were READY has arrived, which their READY says.
//
// Why this is safe: let C be the lags of the last round that settled and D those of a later one.
// Until all are READY for D everybody is at C or above; from its READY on everybody is at D or
// above. So whoever plays what whoever stamped, at least one of C and D held for both.
//
// Lags may be shifted against each other, A + c and B - c. The shift with which nobody's A rises is
// taken: then play time never has to slow down, and READY never has to wait. Everybody told its A
// with its vector, so all find the same shift; and having told it, nobody lowers it by an older
// round.
//
// Invariant: with a vector of ours under way (vectors[self].round is not round_solved) neither
// ramp's target falls.
#include "private.h"

#define TELLINGS 8                   // of one's part, before a round counts as stuck
#define LAG_LIMIT (INT64_C(1) << 60) // no clocks are further apart; and it can be told

static bool is_other(const FlLags *lags, int32_t peer)
{
    return peer != lags->def.self && fl__lags_has(lags->members, peer);
}

static uint32_t round_told(const FlLags *lags)
{
    return lags->vectors[lags->def.self].round;
}

// ---------------------------------------------------------------- beginning

/// When everybody has been measured for long enough. FL_FOREVER: somebody was not heard yet.
static FlTime measured_at(const FlLags *lags)
{
    FlTime at = INT64_MIN;
    for (int32_t i = 0; i < FL_LAGS_PEERS && lags->members >> i != 0; i++) {
        if (!is_other(lags, i)) {
            continue;
        }
        FlTime since = fl_time_add(lags->peers[i].since, lags->def.provision_ns);
        since = lags->peers[i].window.count > 0 ? since : FL_FOREVER;
        at = since > at ? since : at;
    }
    return at;
}

static bool is_under_way(const FlLags *lags)
{
    return round_told(lags) != lags->round_solved &&
           lags->vectors[lags->def.self].members == lags->members;
}

/// When we would like to tell a vector.
static FlTime wanted_at(const FlLags *lags)
{
    FlTime stuck = fl_time_add(lags->begun_at, lags->def.patience_ns);
    bool answer = lags->round_heard != round_told(lags);
    bool told = lags->vectors[lags->def.self].members == lags->members;
    if (answer || (!told && lags->solved_members != lags->members)) {
        return INT64_MIN;
    }
    // Under way, refused, or not all are READY. One round at a time: a newer one would take those
    // who are slow away from this one.
    if (is_under_way(lags) || lags->solved_members != lags->members ||
        lags->round_settled != lags->round_solved) {
        return stuck;
    }
    return lags->need ? fl_time_add(lags->begun_at, lags->def.probe_ns)
                      : fl_time_add(lags->solved_at, lags->def.again_ns);
}

FlTime fl__lags_begin_due(const FlLags *lags)
{
    FlTime want = wanted_at(lags);
    FlTime can = measured_at(lags);
    return want > can ? want : can;
}

/// Our vector as it is now, under the newest number or a new one.
static void tell_vector(FlLags *lags, FlTime now)
{
    Fl__LagsVector *vector = &lags->vectors[lags->def.self];
    bool answers = lags->round_heard != vector->round;
    lags->count[FL_LAGS_STUCK] += !answers && is_under_way(lags) ? 1 : 0;
    lags->count[FL_LAGS_BEGUN] += answers ? 0 : 1;
    lags->round_heard += answers ? 0 : lags->round_heard == UINT32_MAX ? 2 : 1; // 0 is none
    vector->round = lags->round_heard;
    vector->members = lags->members;
    // Who stamps will play before this round is over, and then somebody depends on it.
    vector->plays = !lags->sends     ? FL__LAGS_NOT
                    : lags->together ? FL__LAGS_TOGETHER
                                     : FL__LAGS_ALONE;
    vector->a = lags->fall_at != FL_FOREVER ? lags->solved_a : lags->a.to;
    for (int32_t i = 0; i < FL_LAGS_PEERS; i++) {
        vector->v[i] = is_other(lags, i) ? fl__lags_longest(lags, i, now) + lags->def.margin_ns : 0;
    }
    lags->begun_at = now;
    lags->again_at = fl_time_add(now, lags->def.patience_ns / TELLINGS);
    lags->need = false;
    lags->asked = false;
    lags->repeats = false;
    lags->vector_due = true;
}

/// Our part of the round once more, if it is not over here, or somebody asks.
static void tell_again(FlLags *lags, FlTime now)
{
    bool over = lags->round_settled == round_told(lags);
    bool ready = lags->peers[lags->def.self].ready_round == round_told(lags);
    lags->again_at = fl_time_add(now, lags->def.patience_ns / TELLINGS);
    if (!over || lags->asked) {
        lags->vector_due = true;
        lags->ready_due = lags->ready_due || ready;
        lags->repeats = true;
        lags->asked = false;
    } else {
        lags->again_at = FL_FOREVER;
    }
}

// ---------------------------------------------------------------- solving

/// The members of a round in rising order, and their vectors.
typedef struct Round {
    int32_t count;
    int32_t peer[FL_LAGS_PEERS];
    FlTime v[FL_LAGS_PEERS * FL_LAGS_PEERS];
    FlTime a[FL_LAGS_PEERS], b[FL_LAGS_PEERS];
    int32_t reference; // a place in `peer`
} Round;

static bool gather(const FlLags *lags, Round *round)
{
    round->count = 0;
    for (int32_t i = 0; i < FL_LAGS_PEERS && lags->members >> i != 0; i++) {
        const Fl__LagsVector *vector = &lags->vectors[i];
        if (!fl__lags_has(lags->members, i)) {
            continue;
        }
        if (vector->round != round_told(lags) || vector->members != lags->members) {
            return false;
        }
        round->peer[round->count++] = i;
    }
    for (int32_t p = 0; p < round->count; p++) {
        for (int32_t i = 0; i < round->count; i++) {
            round->v[p * round->count + i] =
                p == i ? 0 : lags->vectors[round->peer[p]].v[round->peer[i]];
        }
    }
    return true;
}

/// Of all equal lags those with which nobody's A rises. Who has played alone so far follows those
/// who play together, or the first of the lone ones.
static void shift(const FlLags *lags, Round *round)
{
    FlTime least = INT64_MAX;
    FlTime lone = INT64_MAX;
    for (int32_t p = 0; p < round->count; p++) {
        const Fl__LagsVector *vector = &lags->vectors[round->peer[p]];
        FlTime room = fl_span(vector->a, round->a[p]);
        least = vector->plays == FL__LAGS_TOGETHER && room < least ? room : least;
        lone = vector->plays == FL__LAGS_ALONE && lone == INT64_MAX ? room : lone;
    }
    least = least == INT64_MAX ? lone : least;
    for (int32_t p = 0; p < round->count && least != INT64_MAX; p++) {
        round->a[p] = fl_time_add(round->a[p], least);
        round->b[p] = fl_span(round->b[p], least);
    }
}

/// B rises at once: a stamp may well step forwards.
static void raise_b(FlLags *lags, FlTime b, FlTime now)
{
    FlTime is = fl__lags_ramp_at(&lags->b, now, lags->def.slew_ppm);
    Fl__LagsRamp next = {b > is ? b : is, b > lags->b.to ? b : lags->b.to, now};
    lags->b = next;
}

static void take_lags(FlLags *lags, const Round *round, FlTime now)
{
    FlTime sum = 0;
    FL_ASSERT(round->count > 0);
    lags->solved_longest = 0;
    for (int32_t i = 0; i < round->count; i++) {
        FlTime own = round->a[i] + round->b[i];
        sum += own;
        lags->solved_longest = own > lags->solved_longest ? own : lags->solved_longest;
        lags->solved_b[round->peer[i]] = round->b[i];
        lags->solved_a = round->peer[i] == lags->def.self ? round->a[i] : lags->solved_a;
    }
    lags->solved_mean = sum / round->count;
    lags->solved_reference = round->reference >= 0 ? round->peer[round->reference] : -1;
    Fl__LagsPeer *self = &lags->peers[lags->def.self];
    FlTime b = lags->solved_b[lags->def.self];
    if (lags->vectors[lags->def.self].plays != FL__LAGS_TOGETHER) {
        // Nobody depends on what was before; but who played alone and keeps its play time goes on
        // from the last stamp.
        bool back = lags->plays && lags->solved_a > lags->a.to;
        Fl__LagsRamp fresh_a = {lags->solved_a, lags->solved_a, now};
        Fl__LagsRamp fresh_b = {b, b, now};
        lags->a = fresh_a;
        lags->b = fresh_b;
        lags->stamped = back ? INT64_MIN : lags->stamped;
        lags->count[FL_LAGS_ANEW] += back ? 1 : 0;
    } else {
        FL_ASSERT(lags->solved_a <= lags->a.to); // see shift
        raise_b(lags, b, now);
    }
    lags->solved_members = lags->members;
    lags->together = round->count > 1;
    self->ready_round = lags->round_solved;
    self->ready_stamp = now;
    lags->fall_at = FL_FOREVER;
    lags->repeats = false;
    lags->ready_due = true;
    lags->count[FL_LAGS_SOLVED]++;
}

/// Somebody who tells an A beyond all clocks would shift all others' to there, for ever.
///
/// Also on the way there nobody waits longer than the limit: B rises before A falls. Ours may still
/// be falling from further up; somebody who tells wrong things could push B up again and again.
static bool is_acceptable(const FlLags *lags, const Round *round, FlTime now)
{
    for (int32_t i = 0; i < round->count; i++) {
        const Fl__LagsVector *vector = &lags->vectors[round->peer[i]];
        FlTime a = vector->plays == FL__LAGS_TOGETHER ? vector->a : round->a[i];
        if (vector->plays == FL__LAGS_TOGETHER && round->peer[i] == lags->def.self) {
            a = fl__lags_ramp_at(&lags->a, now, lags->def.slew_ppm);
        }
        bool sound = round->a[i] >= -LAG_LIMIT && round->a[i] <= LAG_LIMIT &&
                     round->b[i] >= -LAG_LIMIT && round->b[i] <= LAG_LIMIT;
        if (!sound || fl_time_add(a, round->b[i]) > lags->def.limit_ns) {
            return false;
        }
    }
    return true;
}

static void try_solve(FlLags *lags, FlTime now)
{
    Round round = {0};
    if (round_told(lags) == lags->round_solved || !gather(lags, &round)) {
        return;
    }
    FlResult result =
        fl_lags_solve(lags->def.choice, round.count, round.v, round.a, round.b, &round.reference);
    lags->round_solved = round_told(lags);
    lags->solved_at = now;
    shift(lags, &round);
    if (result == FL_OK && is_acceptable(lags, &round, now)) {
        take_lags(lags, &round, now);
    } else {
        lags->round_settled = lags->round_solved; // by nobody: what is in force stays
        lags->count[FL_LAGS_REFUSED]++;
    }
}

// ---------------------------------------------------------------- settling

static void lower(const FlLags *lags, Fl__LagsRamp *ramp, FlTime value, FlTime now)
{
    Fl__LagsRamp next = {fl__lags_ramp_at(ramp, now, lags->def.slew_ppm), value, now};
    *ramp = next;
}

static void try_settle(FlLags *lags, FlTime now)
{
    if (lags->round_settled == lags->round_solved || round_told(lags) != lags->round_solved) {
        return;
    }
    FlTime arrived = now;
    for (int32_t i = 0; i < FL_LAGS_PEERS; i++) {
        if (!fl__lags_has(lags->solved_members, i)) {
            continue;
        }
        const Fl__LagsPeer *peer = &lags->peers[i];
        if (peer->ready_round != lags->round_solved) {
            return;
        }
        if (i != lags->def.self && peer->window.count > 0) {
            FlTime here = fl_time_add(peer->ready_stamp, fl__lags_longest(lags, i, now));
            arrived = here > arrived ? here : arrived;
        }
    }
    FlTime most = fl_time_add(now, lags->def.limit_ns); // whatever stamp somebody may have sent
    lags->round_settled = lags->round_solved;
    lags->fall_at = arrived < most ? arrived : most;
    lags->sends = true;
    lower(lags, &lags->b, lags->solved_b[lags->def.self], now);
    lags->count[FL_LAGS_SETTLED]++;
}

void fl__lags_update(FlLags *lags, FlTime now)
{
    if (fl__lags_begin_due(lags) <= now) {
        tell_vector(lags, now);
    }
    try_solve(lags, now);
    try_settle(lags, now);
    bool asked = lags->asked && round_told(lags) != 0; // else there is nothing to tell again
    if (lags->again_at <= now || (asked && lags->again_at == FL_FOREVER)) {
        tell_again(lags, now);
    }
    if (lags->fall_at <= now) {
        lags->fall_at = FL_FOREVER;
        lower(lags, &lags->a, lags->solved_a, now);
        lags->plays = true;
    }
}
