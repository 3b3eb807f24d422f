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
#define MEASURE_LIMIT ((INT64_C(1) << 60) - MARGIN_LIMIT) // with a margin it can still be sent

// ---------------------------------------------------------------- making one

FlLagsDef fl__lags_def_default(void)
{
    FlLagsDef def = {
        .choice = FL_LAGS_FREE,
        .slew_ppm = 100000,
        .probe_ns = FL_MS(200),
        .provision_ns = FL_SEC(1),
        .window_ns = FL_SEC(10),
        .margin_ns = FL_MS(2),
        .again_ns = FL_SEC(10),
        .retry_ns = FL_SEC(2),
        .limit_ns = FL_SEC(2),
        .cookie = LAGS_COOKIE,
    };
    return def;
}

FlResult fl__lags_def_problem(const FlLagsDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlLagsDef, "fl_session_def_default", LAGS_COOKIE),
        FL__WHOLE(FlLagsDef, self, 0, FL_LAGS_PEERS - 1),
        FL__WHOLE(FlLagsDef, choice, 0, FL_LAGS_CHOICES - 1),
        FL__WHOLE(FlLagsDef, slew_ppm, FL__SLEW_LEAST, FL__SLEW_MOST),
        FL__WHOLE(FlLagsDef, probe_ns, 1, FL_FOREVER),
        FL__WHOLE(FlLagsDef, provision_ns, 0, FL_FOREVER),
        FL__WHOLE(FlLagsDef, window_ns, FL_MS(1), FL_FOREVER),
        FL__WHOLE(FlLagsDef, margin_ns, 0, MARGIN_LIMIT),
        FL__WHOLE(FlLagsDef, again_ns, 1, FL_FOREVER),
        FL__WHOLE(FlLagsDef, retry_ns, 1, FL_FOREVER),
        FL__WHOLE(FlLagsDef, limit_ns, 1, FL_FOREVER),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

void fl__lags_restart(FlLags *lags, int32_t self, FlTime now)
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
    lags->offset_next = now;
}

FlResult fl__lags_create(const FlLagsDef *def, FlTime now, FlLags **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == LAGS_COOKIE);
    FlError error;
    if (fl__lags_def_problem(def, &error) != FL_OK) {
        return FL_BAD_VALUE;
    }
    FlLags *lags = (FlLags *)fl_alloc(&def->alloc, sizeof *lags, _Alignof(FlLags));
    if (lags == NULL) {
        return FL_NO_MEMORY;
    }
    lags->def = *def;
    fl__lags_restart(lags, def->self, now);
    *out = lags;
    return FL_OK;
}

size_t fl__lags_memory(void)
{
    return sizeof(FlLags);
}

void fl__lags_destroy(FlLags *lags)
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

void fl__lags_member(FlLags *lags, int32_t peer, bool present, FlTime now)
{
    FL_ASSERT(peer >= 0 && peer < FL_LAGS_PEERS);
    if (peer == lags->def.self) {
        return;
    }
    Fl__LagsPeer fresh = {.since = now};
    // The peer that leaves may have been the one whose delay made all lags long.
    lags->need = lags->need || (!present && fl__lags_has(lags->members, peer));
    lags->peers[peer] = fresh;
    fl__lags_forget_motions(lags, peer);
    memset(&lags->vectors[peer], 0, sizeof lags->vectors[peer]);
    lags->solved_members &= ~(UINT64_C(1) << peer); // a round is due, even if it is back already
    if (present) {
        lags->members |= UINT64_C(1) << peer;
    } else {
        lags->members &= ~(UINT64_C(1) << peer);
    }
    lags->together = lags->together && !is_alone(lags);
}

// ---------------------------------------------------------------- measuring

void fl__lags_measure(FlLags *lags, int32_t peer, FlTime took, FlTime arrival)
{
    Fl__LagsWindow *window = &lags->peers[peer].window;
    int64_t bucket = fl__lags_bucket(lags, arrival);
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

/// Notes if something came closer to its time than it should. `slack`: how long before it. What was
/// stamped before its sender was READY adds nothing to what the last round knew.
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

void fl__lags_arrived(FlLags *lags, int32_t from, FlTime stamp, FlTime play, FlTime arrival)
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
// newcomer's first, or a lie) do not show which is newer: that of the peer with the lower number
// counts. So whatever was sent to which peer, they converge on the number of the lowest of them.
#define ROUNDS_NEAR 1024

/// Whether a round is no newer than the one that is kept; 0: none is.
static bool is_old(uint32_t round, uint32_t kept)
{
    return kept != 0 && kept - round <= ROUNDS_NEAR;
}

/// False: the round does not count here.
static bool accept_round(FlLags *lags, int32_t from, uint32_t round)
{
    if (is_old(round, lags->round_newest)) {
        return true;
    }
    bool near = lags->round_newest == 0 || round - lags->round_newest <= ROUNDS_NEAR;
    bool counts = near || from < lags->def.self;
    lags->round_newest = counts ? round : lags->round_newest;
    return counts;
}

static void take_vector(FlLags *lags, int32_t from, const Fl__LagsVector *vector)
{
    if (!is_old(vector->round, lags->vectors[from].round) &&
        accept_round(lags, from, vector->round)) {
        lags->vectors[from] = *vector;
    }
    lags->asked = lags->asked || (vector->asks && vector->round == lags->round_newest);
}

static void take_ready(FlLags *lags, int32_t from, const Fl__LagsBody *body)
{
    Fl__LagsPeer *peer = &lags->peers[from];
    if (!is_old(body->round, peer->ready_round) && accept_round(lags, from, body->round)) {
        peer->ready_round = body->round;
        peer->ready_stamp = body->stamp;
    }
    lags->asked = lags->asked || (body->asks && body->round == lags->round_newest);
}

void fl__lags_receive(FlLags *lags, int32_t from, const void *bytes, int32_t count, FlTime arrival)
{
    if (from < 0 || from >= FL_LAGS_PEERS || from == lags->def.self ||
        !fl__lags_has(lags->members, from)) {
        lags->count[FL_LAGS_STRANGER]++;
        return;
    }
    FlReader reader;
    Fl__LagsBody body;
    fl_reader_init(&reader, bytes, count);
    if (!fl__lags_read(&reader, from, &body)) {
        lags->count[FL_LAGS_MALFORMED]++;
        return;
    }
    if (body.kind == FL__LAGS_PROBE) {
        take_probe(lags, from, body.stamp, arrival);
    } else if (body.kind == FL__LAGS_VECTOR) {
        take_vector(lags, from, &body.vector);
    } else if (body.kind == FL__LAGS_OFFSET) {
        fl__lags_take_offset(lags, from, &body.offset, arrival);
    } else {
        take_ready(lags, from, &body);
    }
    fl__lags_update(lags, arrival);
}

static FlResult write(FlLags *lags, const Fl__LagsBody *body, FlLagsMessage *message)
{
    FlWriter writer;
    fl_writer_init(&writer, lags->message, FL_LAGS_MESSAGE_BYTES);
    fl__lags_write(&writer, lags->def.self, body);
    FL_ASSERT(!writer.failed);
    message->bytes = lags->message;
    message->count = fl_writer_size(&writer);
    return FL_OK;
}

FlResult fl__lags_next(FlLags *lags, FlTime now, FlLagsMessage *message)
{
    FlLagsMessage none = {0};
    *message = none;
    fl__lags_update(lags, now);
    bool asks = lags->repeats && lags->round_settled != lags->vectors[lags->def.self].round;
    const Fl__LagsPeer *self = &lags->peers[lags->def.self];
    Fl__LagsBody body = {.stamp = now, .round = self->ready_round, .asks = asks};
    bool alone = is_alone(lags);
    lags->vector_due = lags->vector_due && !alone;
    lags->ready_due = lags->ready_due && !alone;
    if (lags->vector_due) {
        lags->vector_due = false;
        body.kind = FL__LAGS_VECTOR;
        body.vector = lags->vectors[lags->def.self];
        body.vector.asks = asks;
    } else if (lags->ready_due) {
        lags->ready_due = false;
        body.kind = FL__LAGS_READY;
        body.stamp = self->ready_stamp;
    } else if (fl__lags_offset_due(lags) <= now && !alone) {
        body.kind = FL__LAGS_OFFSET;
        fl__lags_send_offset(lags, now, &body.offset);
    } else if (lags->probe_next <= now && !alone) {
        FlTime next = fl_time_add(lags->probe_next, lags->def.probe_ns);
        lags->probe_next = next > now ? next : fl_time_add(now, lags->def.probe_ns);
        body.kind = FL__LAGS_PROBE;
    } else {
        return FL_NOT_FOUND;
    }
    return write(lags, &body, message);
}

FlTime fl__lags_deadline(const FlLags *lags, FlTime now)
{
    FlTime deadline = fl__lags_begin_due(lags);
    deadline = !is_alone(lags) && lags->probe_next < deadline ? lags->probe_next : deadline;
    deadline = is_alone(lags) ? deadline : fl_time_min(fl__lags_offset_due(lags), deadline);
    deadline = fl_time_min(lags->again_at, deadline);
    deadline = fl_time_min(lags->fall_at, deadline);
    bool due = lags->vector_due || lags->ready_due;
    return due || deadline < now ? now : deadline;
}

// ---------------------------------------------------------------- in force

FlResult fl__lags_stamp(FlLags *lags, FlTime now, FlTime *play)
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

FlTime fl__lags_play_time(const FlLags *lags, FlTime now)
{
    return lags->plays ? fl_span(now, fl__lags_ramp_at(&lags->a, now, lags->def.slew_ppm))
                       : INT64_MIN;
}

// On a ramp play time runs at another rate until it runs on as ever: the later of the two times if
// it runs faster (A falls), the earlier if slower.
FlTime fl__lags_when(const FlLags *lags, FlTime play)
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
    while (fl__lags_play_time(lags, when) < play) { // a nanosecond or two of rounding
        when++;
    }
    return when;
}

FlTime fl__lags_offset(const FlLags *lags, int32_t writer)
{
    FL_ASSERT(writer >= 0 && writer < FL_LAGS_PEERS);
    if (!lags->plays || !fl__lags_has(lags->solved_members, writer)) {
        return FL_FOREVER;
    }
    return lags->a.to + (writer == lags->def.self ? lags->b.to : lags->solved_b[writer]);
}

FlLagsStatus fl__lags_status(const FlLags *lags, FlTime now)
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

const char *fl__lags_count_name(FlLagsCount which)
{
    static const char *const names[] = {
#define ROW(name, word, meaning) word,
        FL_LAGS_COUNT_TABLE(ROW)
#undef ROW
    };
    return which < FL_LAGS_COUNTS ? names[which] : "unknown";
}
