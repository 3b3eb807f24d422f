// Rounds: all peers send what they measured, and agree on lags.
//
//   begin    a peer takes its vector as it is, under the next number, and sends it; the others
//            answer with theirs. All may begin at once: it is the same round.
//   solve    every peer that has the vectors of all members, all with the same members, computes
//            the lags.
//   READY    it has taken what rises. While it waits for the others nothing of its own falls. A
//            peer that refuses a round never sends READY, so the round settles nowhere.
//   settle   all are READY: what falls may fall. Stamps (B) at once; playing (A) once everything
//            that was stamped before the others were READY has arrived, which their READY shows.
//
// Why this is safe: let C be the lags of the last round that settled and D those of a later one.
// Until all are READY for D every peer is at C or above; from its READY on every peer is at D or
// above. So for every sender and receiver of an action at least one of C and D held for both.
//
// Lags may be shifted against each other, A + c and B - c. The shift with which no A rises is
// taken: then play time never has to slow down, and READY never has to wait. Every peer sent its A
// with its vector, so all find the same shift; and having sent it, no peer lowers it by an older
// round.
//
// Invariant: while a vector of ours is out (vectors[self].round is not round_solved) neither
// ramp's target falls.
#include "private.h"

#define SENDINGS 8                   // of our part, before a round counts as stuck
#define LAG_LIMIT (INT64_C(1) << 60) // no clocks are further apart; and it can be sent

static bool is_other(const FlLags *lags, int32_t peer)
{
    return peer != lags->def.self && fl__lags_has(lags->members, peer);
}

static uint32_t own_round(const FlLags *lags)
{
    return lags->vectors[lags->def.self].round;
}

// ---------------------------------------------------------------- beginning

/// When every peer has been measured for long enough. FL_FOREVER: nothing of one was received yet.
static FlTime measured_at(const FlLags *lags)
{
    FlTime at = INT64_MIN;
    for (int32_t i = 0; i < FL_LAGS_PEERS && lags->members >> i != 0; i++) {
        if (!is_other(lags, i)) {
            continue;
        }
        FlTime since = fl_time_add(lags->peers[i].since, lags->def.provision_ns);
        since = lags->peers[i].window.count > 0 ? since : FL_FOREVER;
        at = fl__time_max(since, at);
    }
    return at;
}

static bool is_under_way(const FlLags *lags)
{
    return own_round(lags) != lags->round_solved &&
           lags->vectors[lags->def.self].members == lags->members;
}

/// When we would like to send a vector.
static FlTime wanted_at(const FlLags *lags)
{
    FlTime stuck = fl_time_add(lags->begun_at, lags->def.retry_ns);
    bool answer = lags->round_newest != own_round(lags);
    bool sent = lags->vectors[lags->def.self].members == lags->members;
    if (answer || (!sent && lags->solved_members != lags->members)) {
        return INT64_MIN;
    }
    // In progress, refused, or not all are READY. One round at a time: a newer one would take slow
    // peers away from this one.
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
    return fl__time_max(want, can);
}

/// Takes our vector as it is now, under the newest number or a new one, to be sent.
static void send_vector(FlLags *lags, FlTime now)
{
    Fl__LagsVector *vector = &lags->vectors[lags->def.self];
    bool answers = lags->round_newest != vector->round;
    lags->count[FL_LAGS_STUCK] += !answers && is_under_way(lags) ? 1 : 0;
    lags->count[FL_LAGS_BEGUN] += answers ? 0 : 1;
    lags->round_newest += answers ? 0 : lags->round_newest == UINT32_MAX ? 2 : 1; // 0 is none
    vector->round = lags->round_newest;
    vector->members = lags->members;
    // A peer that stamps will play before this round is over, and then others depend on it.
    vector->plays = !lags->sends     ? FL__LAGS_NOT
                    : lags->together ? FL__LAGS_TOGETHER
                                     : FL__LAGS_ALONE;
    vector->a = lags->fall_at != FL_FOREVER ? lags->solved_a : lags->a.to;
    for (int32_t i = 0; i < FL_LAGS_PEERS; i++) {
        vector->v[i] = is_other(lags, i) ? fl__lags_longest(lags, i, now) + lags->def.margin_ns : 0;
    }
    lags->begun_at = now;
    lags->again_at = fl_time_add(now, lags->def.retry_ns / SENDINGS);
    lags->need = false;
    lags->asked = false;
    lags->repeats = false;
    lags->vector_due = true;
}

/// Sends our part of the round again, if it is not over here, or a peer asks.
static void send_again(FlLags *lags, FlTime now)
{
    bool over = lags->round_settled == own_round(lags);
    bool ready = lags->peers[lags->def.self].ready_round == own_round(lags);
    lags->again_at = fl_time_add(now, lags->def.retry_ns / SENDINGS);
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
        if (vector->round != own_round(lags) || vector->members != lags->members) {
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

/// Of all equal lags those with which no A rises. A peer that has played alone so far follows those
/// that play together, or the first of the lone ones.
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
    Fl__LagsRamp next = {fl__time_max(b, is), fl__time_max(b, lags->b.to), now};
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
        lags->solved_longest = fl__time_max(own, lags->solved_longest);
        lags->solved_b[round->peer[i]] = round->b[i];
        lags->solved_a = round->peer[i] == lags->def.self ? round->a[i] : lags->solved_a;
    }
    lags->solved_mean = sum / round->count;
    lags->solved_reference = round->reference >= 0 ? round->peer[round->reference] : -1;
    Fl__LagsPeer *self = &lags->peers[lags->def.self];
    FlTime b = lags->solved_b[lags->def.self];
    if (lags->vectors[lags->def.self].plays != FL__LAGS_TOGETHER) {
        // No peer depends on what was before; but one that played alone and keeps its play time
        // goes on from the last stamp.
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

/// A peer that sends an A beyond all clocks would shift all others' to there, for ever.
///
/// While lags move, too, no peer waits longer than the limit: B rises before A falls. Ours may
/// still be falling from further up; a peer that lies could push B up again and again.
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
    if (own_round(lags) == lags->round_solved || !gather(lags, &round)) {
        return;
    }
    FlResult result =
        fl__lags_solve(lags->def.choice, round.count, round.v, round.a, round.b, &round.reference);
    lags->round_solved = own_round(lags);
    lags->solved_at = now;
    shift(lags, &round);
    if (result == FL_OK && is_acceptable(lags, &round, now)) {
        take_lags(lags, &round, now);
    } else {
        lags->round_settled = lags->round_solved; // refused: what is in force stays
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
    if (lags->round_settled == lags->round_solved || own_round(lags) != lags->round_solved) {
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
            arrived = fl__time_max(here, arrived);
        }
    }
    FlTime most = fl_time_add(now, lags->def.limit_ns); // whatever stamp a peer may have sent
    lags->round_settled = lags->round_solved;
    lags->fall_at = fl_time_min(arrived, most);
    lags->sends = true;
    lower(lags, &lags->b, lags->solved_b[lags->def.self], now);
    lags->count[FL_LAGS_SETTLED]++;
}

void fl__lags_update(FlLags *lags, FlTime now)
{
    if (fl__lags_begin_due(lags) <= now) {
        send_vector(lags, now);
    }
    try_solve(lags, now);
    try_settle(lags, now);
    bool asked = lags->asked && own_round(lags) != 0; // else there is nothing to send again
    if (lags->again_at <= now || (asked && lags->again_at == FL_FOREVER)) {
        send_again(lags, now);
    }
    if (lags->fall_at <= now) {
        lags->fall_at = FL_FOREVER;
        lower(lags, &lags->a, lags->solved_a, now);
        lags->plays = true;
    }
}

// ---------------------------------------------------------------- who is waited for

bool fl__lags_waits_for(const FlLags *lags, int32_t peer, bool same, uint32_t *part)
{
    const Fl__LagsPeer *one = &lags->peers[peer];
    const Fl__LagsVector *vector = &lags->vectors[peer];
    bool alike = vector->members == lags->members || vector->round == 0;
    *part = vector->round + one->ready_round + (one->window.count > 0 ? 1u : 0u);
    *part = same && !alike ? 0 : *part;
    if (!is_other(lags, peer)) {
        return false;
    }
    if (own_round(lags) != lags->round_solved) {
        return vector->round != own_round(lags) || vector->members != lags->members;
    }
    return one->window.count == 0 ||
           (lags->round_settled != lags->round_solved && one->ready_round != lags->round_solved);
}
