// One peer's lags: measuring, stamping, playing. Rounds are in lags_round.c.
//
// Measurements: per peer the longest (arrival on our clock minus stamp on its clock) of a sliding
// window, kept as eight partial maxima. It starts from the first measurement and not from 0, since
// clocks may differ by anything, in either direction.
//
// In force are two numbers: our A (when we play) and our B (how we stamp). Each is a ramp, so that
// play time and stamps run on without a jump while a lag changes. Nothing else of a round is needed
// to play: an action carries its play time.
#include "private.h"

#include <string.h>

#define LAGS_COOKIE 0x4c414753u
#define MARGIN_LIMIT FL_SEC(10)
#define MEASURE_LIMIT ((INT64_C(1) << 60) - MARGIN_LIMIT) // with a margin it can still be told
#define MILLION 1000000

// ---------------------------------------------------------------- making one

FlLagsDef fl_lags_def_default(void)
{
    FlLagsDef def = {
        .choice = FL_LAGS_FREE,
        .slew_ppm = 100000,
        .probe_ns = FL_MS(200),
        .provision_ns = FL_SEC(1),
        .window_ns = FL_SEC(10),
        .margin_ns = FL_MS(2),
        .again_ns = FL_SEC(10),
        .patience_ns = FL_SEC(2),
        .limit_ns = FL_SEC(2),
        .cookie = LAGS_COOKIE,
    };
    return def;
}

static bool def_is_good(const FlLagsDef *def)
{
    bool numbers = def->self >= 0 && def->self < FL_LAGS_PEERS && def->choice < FL_LAGS_CHOICES &&
                   def->slew_ppm >= 1000 && def->slew_ppm <= 500000;
    bool times = def->probe_ns > 0 && def->provision_ns >= 0 && def->window_ns >= FL_MS(1) &&
                 def->margin_ns >= 0 && def->margin_ns <= MARGIN_LIMIT && def->again_ns > 0 &&
                 def->patience_ns > 0 && def->limit_ns > 0;
    return numbers && times;
}

void fl_lags_restart(FlLags *lags, int32_t self, FlTime now)
{
    FL_ASSERT(self >= 0 && self < FL_LAGS_PEERS);
    FlLagsDef def = lags->def;
    memset(lags, 0, sizeof *lags);
    lags->def = def;
    lags->def.self = self;
    lags->members = UINT64_C(1) << self;
    lags->begun_at = now;
    lags->solved_at = FL_FOREVER;
    lags->solved_reference = -1;
    lags->fall_at = FL_FOREVER;
    lags->again_at = FL_FOREVER;
    lags->probe_next = now;
    lags->stamped = INT64_MIN;
}

FlResult fl_lags_create(const FlLagsDef *def, FlTime now, FlLags **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == LAGS_COOKIE);
    if (!def_is_good(def)) {
        return FL_BAD_VALUE;
    }
    FlLags *lags = (FlLags *)fl_alloc(&def->alloc, sizeof *lags, _Alignof(FlLags));
    if (lags == NULL) {
        return FL_NO_MEMORY;
    }
    lags->def = *def;
    fl_lags_restart(lags, def->self, now);
    *out = lags;
    return FL_OK;
}

size_t fl_lags_memory(void)
{
    return sizeof(FlLags);
}

void fl_lags_destroy(FlLags *lags)
{
    if (lags != NULL) {
        FlAlloc alloc = lags->def.alloc;
        fl_free(&alloc, lags, sizeof *lags);
    }
}

static bool is_alone(const FlLags *lags)
{
    return (lags->members & (lags->members - 1)) == 0;
}

void fl_lags_member(FlLags *lags, int32_t peer, bool present, FlTime now)
{
    FL_ASSERT(peer >= 0 && peer < FL_LAGS_PEERS);
    if (peer == lags->def.self) {
        return;
    }
    Fl__LagsPeer fresh = {.since = now};
    // Who goes may have been the one whose way made all lags long.
    lags->need = lags->need || (!present && fl__lags_has(lags->members, peer));
    lags->peers[peer] = fresh;
    memset(&lags->vectors[peer], 0, sizeof lags->vectors[peer]);
    lags->solved_members &= ~(UINT64_C(1) << peer); // a round is due, also if it is back already
    if (present) {
        lags->members |= UINT64_C(1) << peer;
    } else {
        lags->members &= ~(UINT64_C(1) << peer);
    }
    lags->together = lags->together && !is_alone(lags);
}

// ---------------------------------------------------------------- measuring

static int64_t bucket_of(const FlLags *lags, FlTime time)
{
    FlTime eighth = lags->def.window_ns / FL__LAGS_BUCKETS;
    return time >= 0 ? time / eighth : -((eighth - 1 - time) / eighth);
}

void fl__lags_measure(FlLags *lags, int32_t peer, FlTime took, FlTime arrival)
{
    Fl__LagsWindow *window = &lags->peers[peer].window;
    int64_t bucket = bucket_of(lags, arrival);
    if (window->count == 0) {
        for (int32_t slot = 0; slot < FL__LAGS_BUCKETS; slot++) {
            window->bucket[slot] = INT64_MIN;
        }
        window->newest = bucket;
    }
    bucket = bucket < window->newest ? window->newest : bucket;
    int32_t slot = (int32_t)((uint64_t)bucket % FL__LAGS_BUCKETS);
    if (window->bucket[slot] != bucket || took > window->longest[slot]) {
        window->longest[slot] = took;
    }
    window->bucket[slot] = bucket;
    window->newest = bucket;
    window->count++;
}

// What is older than the window counts as long as there is nothing newer.
FlTime fl__lags_longest(const FlLags *lags, int32_t peer, FlTime now)
{
    const Fl__LagsWindow *window = &lags->peers[peer].window;
    FL_ASSERT(window->count > 0);
    int64_t oldest = bucket_of(lags, now) - FL__LAGS_BUCKETS + 1;
    oldest = oldest > window->newest ? window->newest : oldest;
    FlTime longest = INT64_MIN;
    for (int32_t slot = 0; slot < FL__LAGS_BUCKETS; slot++) {
        if (window->bucket[slot] >= oldest && window->longest[slot] > longest) {
            longest = window->longest[slot];
        }
    }
    return longest;
}

/// Did something come nearer to its time than it should? `slack`: how long before it. What was
/// stamped before its sender was READY tells nothing that the last round did not know.
static void note_slack(FlLags *lags, int32_t from, FlTime stamp, FlTime slack)
{
    const Fl__LagsPeer *peer = &lags->peers[from];
    bool counts = peer->ready_round == lags->round_solved && stamp >= peer->ready_stamp;
    if (counts && (slack < 0 || slack < lags->def.margin_ns / 2)) {
        lags->count[FL_LAGS_NEAR]++;
        lags->need = true;
    }
}

/// False: no two clocks differ by that much.
static bool take_measurement(FlLags *lags, int32_t from, FlTime stamp, FlTime arrival)
{
    FlTime took = fl_span(arrival, stamp);
    if (took > MEASURE_LIMIT || took < -MEASURE_LIMIT) {
        lags->count[FL_LAGS_MALFORMED]++;
        return false;
    }
    fl__lags_measure(lags, from, took, arrival);
    return true;
}

static void take_probe(FlLags *lags, int32_t from, FlTime stamp, FlTime arrival)
{
    if (!take_measurement(lags, from, stamp, arrival)) {
        return;
    }
    lags->count[FL_LAGS_PROBES]++;
    if (lags->plays && fl__lags_has(lags->solved_members, from)) {
        FlTime a = fl__lags_ramp_at(&lags->a, arrival, lags->def.slew_ppm);
        note_slack(lags, from, stamp, a + lags->solved_b[from] - (arrival - stamp));
    }
}

void fl_lags_arrived(FlLags *lags, int32_t from, FlTime stamp, FlTime play, FlTime arrival)
{
    if (from < 0 || from >= FL_LAGS_PEERS || from == lags->def.self ||
        !fl__lags_has(lags->members, from)) {
        lags->count[FL_LAGS_STRANGER]++;
        return;
    }
    if (take_measurement(lags, from, stamp, arrival) && lags->plays) {
        FlTime a = fl__lags_ramp_at(&lags->a, arrival, lags->def.slew_ppm);
        FlTime slack = fl_span(fl_time_add(play, a), arrival);
        lags->count[FL_LAGS_LATE] += slack < 0 ? 1 : 0;
        note_slack(lags, from, stamp, slack);
    }
}

// ---------------------------------------------------------------- messages

// Rounds go up by one each, on a circle. Near numbers: the newer one counts. Numbers far apart (a
// newcomer's first, or a lie) tell nothing about which is newer: that of the peer with the lower
// number counts. So whatever was said to whom, the others come together at the number of the lowest
// of them.
#define ROUNDS_NEAR 1024

/// `kept`: 0 is none.
static bool is_old(uint32_t round, uint32_t kept)
{
    return kept != 0 && kept - round <= ROUNDS_NEAR;
}

/// False: its round is none of ours.
static bool hear_round(FlLags *lags, int32_t from, uint32_t round)
{
    if (is_old(round, lags->round_heard)) {
        return true;
    }
    bool near = lags->round_heard == 0 || round - lags->round_heard <= ROUNDS_NEAR;
    bool counts = near || from < lags->def.self;
    lags->round_heard = counts ? round : lags->round_heard;
    return counts;
}

static void take_vector(FlLags *lags, int32_t from, const Fl__LagsVector *vector)
{
    if (!is_old(vector->round, lags->vectors[from].round) &&
        hear_round(lags, from, vector->round)) {
        lags->vectors[from] = *vector;
    }
    lags->asked = lags->asked || (vector->asks && vector->round == lags->round_heard);
}

static void take_ready(FlLags *lags, int32_t from, const Fl__LagsSaid *said)
{
    Fl__LagsPeer *peer = &lags->peers[from];
    if (!is_old(said->round, peer->ready_round) && hear_round(lags, from, said->round)) {
        peer->ready_round = said->round;
        peer->ready_stamp = said->stamp;
    }
    lags->asked = lags->asked || (said->asks && said->round == lags->round_heard);
}

void fl_lags_receive(FlLags *lags, int32_t from, const void *bytes, int32_t count, FlTime arrival)
{
    if (from < 0 || from >= FL_LAGS_PEERS || from == lags->def.self ||
        !fl__lags_has(lags->members, from)) {
        lags->count[FL_LAGS_STRANGER]++;
        return;
    }
    FlReader reader;
    Fl__LagsSaid said;
    fl_reader_init(&reader, bytes, count);
    if (!fl__lags_read(&reader, from, &said)) {
        lags->count[FL_LAGS_MALFORMED]++;
        return;
    }
    if (said.kind == FL__LAGS_PROBE) {
        take_probe(lags, from, said.stamp, arrival);
    } else if (said.kind == FL__LAGS_VECTOR) {
        take_vector(lags, from, &said.vector);
    } else {
        take_ready(lags, from, &said);
    }
    fl__lags_update(lags, arrival);
}

static FlResult write(FlLags *lags, const Fl__LagsSaid *said, FlLagsMessage *message)
{
    FlWriter writer;
    fl_writer_init(&writer, lags->message, FL_LAGS_MESSAGE_BYTES);
    fl__lags_write(&writer, lags->def.self, said);
    FL_ASSERT(!writer.failed);
    message->bytes = lags->message;
    message->count = fl_writer_size(&writer);
    return FL_OK;
}

FlResult fl_lags_next(FlLags *lags, FlTime now, FlLagsMessage *message)
{
    FlLagsMessage none = {0};
    *message = none;
    fl__lags_update(lags, now);
    bool asks = lags->repeats && lags->round_settled != lags->vectors[lags->def.self].round;
    const Fl__LagsPeer *self = &lags->peers[lags->def.self];
    Fl__LagsSaid said = {.stamp = now, .round = self->ready_round, .asks = asks};
    bool alone = is_alone(lags);
    lags->vector_due = lags->vector_due && !alone;
    lags->ready_due = lags->ready_due && !alone;
    if (lags->vector_due) {
        lags->vector_due = false;
        said.kind = FL__LAGS_VECTOR;
        said.vector = lags->vectors[lags->def.self];
        said.vector.asks = asks;
    } else if (lags->ready_due) {
        lags->ready_due = false;
        said.kind = FL__LAGS_READY;
        said.stamp = self->ready_stamp;
    } else if (lags->probe_next <= now && !alone) {
        FlTime next = fl_time_add(lags->probe_next, lags->def.probe_ns);
        lags->probe_next = next > now ? next : fl_time_add(now, lags->def.probe_ns);
        said.kind = FL__LAGS_PROBE;
    } else {
        return FL_NOT_FOUND;
    }
    return write(lags, &said, message);
}

FlTime fl_lags_deadline(const FlLags *lags, FlTime now)
{
    FlTime deadline = fl__lags_begin_due(lags);
    deadline = !is_alone(lags) && lags->probe_next < deadline ? lags->probe_next : deadline;
    deadline = lags->again_at < deadline ? lags->again_at : deadline;
    deadline = lags->fall_at < deadline ? lags->fall_at : deadline;
    bool due = lags->vector_due || lags->ready_due;
    return due || deadline < now ? now : deadline;
}

// ---------------------------------------------------------------- in force

FlTime fl__lags_ramp_at(const Fl__LagsRamp *ramp, FlTime now, int32_t slew_ppm)
{
    FlTime gone = fl_span(now, ramp->at);
    gone = gone < 0 ? 0 : gone > FL_SEC(86400) ? FL_SEC(86400) : gone;
    FlTime moved = gone / MILLION * slew_ppm + gone % MILLION * slew_ppm / MILLION;
    FlTime way = fl_span(ramp->to, ramp->from);
    if (way > moved) {
        return ramp->from + moved;
    }
    return -way > moved ? ramp->from - moved : ramp->to;
}

FlResult fl_lags_stamp(FlLags *lags, FlTime now, FlTime *play)
{
    *play = 0;
    fl__lags_update(lags, now);
    if (!lags->sends) {
        return FL_WOULD_BLOCK;
    }
    *play = fl_time_add(now, fl__lags_ramp_at(&lags->b, now, lags->def.slew_ppm));
    *play = *play > lags->stamped ? *play : lags->stamped + 1;
    lags->stamped = *play;
    lags->probe_next = fl_time_add(now, lags->def.probe_ns); // others measure it as well as a probe
    return FL_OK;
}

FlTime fl_lags_play_time(const FlLags *lags, FlTime now)
{
    return lags->plays ? fl_span(now, fl__lags_ramp_at(&lags->a, now, lags->def.slew_ppm))
                       : INT64_MIN;
}

// On a ramp play time runs at another rate until it runs on as ever: the later of the two moments
// if it runs faster (A falls), the earlier if slower.
FlTime fl_lags_when(const FlLags *lags, FlTime play)
{
    if (!lags->plays) {
        return FL_FOREVER;
    }
    const Fl__LagsRamp *ramp = &lags->a;
    FlTime straight = fl_time_add(play, ramp->to);
    FlTime ahead = fl_span(fl_time_add(play, ramp->from), ramp->at);
    if (ramp->from == ramp->to || ahead <= 0 || ahead > FL_SEC(86400)) {
        return straight;
    }
    bool falls = ramp->from > ramp->to;
    FlTime rate = MILLION + (falls ? lags->def.slew_ppm : -lags->def.slew_ppm);
    FlTime bent = ramp->at + ahead / rate * MILLION + ahead % rate * MILLION / rate;
    FlTime when = (bent > straight) == falls ? bent : straight;
    while (fl_lags_play_time(lags, when) < play) { // a nanosecond or two of rounding
        when++;
    }
    return when;
}

FlTime fl_lags_offset(const FlLags *lags, int32_t writer)
{
    FL_ASSERT(writer >= 0 && writer < FL_LAGS_PEERS);
    if (!lags->plays || !fl__lags_has(lags->solved_members, writer)) {
        return FL_FOREVER;
    }
    return lags->a.to + (writer == lags->def.self ? lags->b.to : lags->solved_b[writer]);
}

FlLagsStatus fl_lags_status(const FlLags *lags, FlTime now)
{
    FlLagsStatus status = {
        .sends = lags->sends,
        .plays = lags->plays,
        .round = lags->round_solved,
        .members = lags->solved_members,
        .reference = lags->solved_reference,
        .a = fl__lags_ramp_at(&lags->a, now, lags->def.slew_ppm),
        .b = fl__lags_ramp_at(&lags->b, now, lags->def.slew_ppm),
        .mean_ns = lags->solved_mean,
        .longest_ns = lags->solved_longest,
        .solved_at = lags->solved_at,
    };
    status.moving = status.a != lags->solved_a || status.b != lags->solved_b[lags->def.self];
    memcpy(status.count, lags->count, sizeof status.count);
    return status;
}

const char *fl_lags_count_name(FlLagsCount which)
{
    static const char *const names[] = {
#define ROW(name, word, meaning) word,
        FL_LAGS_COUNT_TABLE(ROW)
#undef ROW
    };
    return which < FL_LAGS_COUNTS ? names[which] : "unknown";
}
