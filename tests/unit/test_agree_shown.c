// Which point of a motion is shown where: the same everywhere at one play time.
//
// Real FlLags over ways that differ by direction, with clocks that drift. The time by which each
// peer stamps its motions is wrong by tens of milliseconds and wanders, as session time is over
// ways that are not symmetric. What should be shown is worked out here from true time.
#include "support.h"

#include "agree/private.h"

enum { MOST = 5, ON_THE_WAY = 8192, UPDATE_EVERY = 20 };

#define STEP FL_MS(1)
#define SLEW 0.1

typedef struct Letter {
    FlTime at; // 0: free
    int32_t to, from, count;
    FlTime stamp; // of an update, if `count` is 0
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
} Letter;

typedef struct Shown {
    bool known;
    FlTime time;
    uint32_t version;
} Shown;

typedef struct Table {
    FlTime now;
    FlTime delay[MOST][MOST]; // [from][to]
    FlTime clock[MOST], wrong[MOST];
    int64_t drift_ppm[MOST], wander_ppm[MOST];
    FlLags *peer[MOST]; // NULL: not there
    Shown shown[MOST][MOST];
    int32_t late[MOST][MOST]; // [from][to]
    int32_t compared, expected, stepped;
    FlTime apart, off; // the most
    double slowest, fastest;
    Letter way[ON_THE_WAY];
} Table;

static FlTime local(const Table *table, int32_t who, FlTime time)
{
    return time + table->clock[who] + time / 1000000 * table->drift_ppm[who];
}

/// By which it stamps its motions: off by up to 80 ms, and wandering.
static FlTime own_time(const Table *table, int32_t who, FlTime time)
{
    FlTime turn = time % FL_SEC(8) < FL_SEC(4) ? time % FL_SEC(4) : FL_SEC(4) - time % FL_SEC(4);
    return time + table->wrong[who] + turn / 1000000 * table->wander_ppm[who];
}

static Letter *letter_for(Table *table, int32_t from, int32_t to)
{
    for (int32_t i = 0; i < ON_THE_WAY; i++) {
        if (table->way[i].at == 0) {
            table->way[i].at = table->now + table->delay[from][to];
            table->way[i].from = from;
            table->way[i].to = to;
            table->way[i].count = 0;
            return &table->way[i];
        }
    }
    fail_msg("too much is on the way");
    return NULL;
}

static void sit_down(Table *table, int32_t who)
{
    FlLagsDef def = fl__lags_def_default();
    def.self = who;
    def.window_ns = FL_SEC(2);
    def.again_ns = FL_SEC(5);
    assert_int_equal(fl__lags_create(&def, local(table, who, table->now), &table->peer[who]),
                     FL_OK);
    for (int32_t i = 0; i < MOST; i++) {
        if (i != who && table->peer[i] != NULL) {
            fl__lags_member(table->peer[i], who, true, local(table, i, table->now));
            fl__lags_member(table->peer[who], i, true, local(table, who, table->now));
        }
    }
}

static void leave(Table *table, int32_t who)
{
    fl__lags_destroy(table->peer[who]);
    table->peer[who] = NULL;
    for (int32_t i = 0; i < MOST; i++) {
        table->shown[who][i].known = table->shown[i][who].known = false;
        if (table->peer[i] != NULL) {
            fl__lags_member(table->peer[i], who, false, local(table, i, table->now));
        }
    }
    for (int32_t i = 0; i < ON_THE_WAY; i++) {
        if (table->way[i].to == who || table->way[i].from == who) {
            table->way[i].at = 0;
        }
    }
}

static void deliver(Table *table)
{
    for (int32_t i = 0; i < ON_THE_WAY; i++) {
        Letter *letter = &table->way[i];
        if (letter->at == 0 || letter->at > table->now) {
            continue;
        }
        FlLags *to = table->peer[letter->to];
        FlTime here = local(table, letter->to, table->now);
        letter->at = 0;
        if (letter->count > 0) {
            fl__lags_receive(to, letter->from, letter->bytes, letter->count, here);
            continue;
        }
        FlLagsShown shown;
        if (fl__lags_shown(to, letter->from, here, &shown) && shown.time > letter->stamp) {
            table->late[letter->from][letter->to]++;
        }
    }
}

static void speak(Table *table, int32_t who, bool updates)
{
    FlLags *lags = table->peer[who];
    FlTime here = local(table, who, table->now);
    FlTime own = own_time(table, who, table->now);
    FlLagsMessage message;
    fl__lags_show_motions(lags);
    fl__lags_own_time(lags, here, own, 0);
    while (fl__lags_next(lags, here, &message) == FL_OK) {
        for (int32_t i = 0; i < MOST; i++) {
            if (i != who && table->peer[i] != NULL) {
                Letter *letter = letter_for(table, who, i);
                letter->count = message.count;
                memcpy(letter->bytes, message.bytes, (size_t)message.count);
            }
        }
    }
    for (int32_t i = 0; i < MOST && updates; i++) {
        if (i != who && table->peer[i] != NULL) {
            letter_for(table, who, i)->stamp = own;
        }
    }
}

/// The picture neither stops nor jumps.
static void watch(Table *table, int32_t who, int32_t owner)
{
    Shown *before = &table->shown[who][owner];
    FlLagsShown now;
    bool known = fl__lags_shown(table->peer[who], owner, local(table, who, table->now), &now);
    if (known && before->known && before->version == now.version) {
        double rate = (double)(now.time - before->time) / (double)STEP;
        table->slowest = rate < table->slowest ? rate : table->slowest;
        table->fastest = rate > table->fastest ? rate : table->fastest;
    }
    table->stepped += known && before->known && before->version != now.version ? 1 : 0;
    Shown next = {known, now.time, now.version};
    *before = next;
}

static bool rests(const FlLags *lags, FlTime here)
{
    return lags->plays && here >= lags->a.at &&
           fl__lags_ramp_at(&lags->a, here, lags->def.slew_ppm) == lags->a.to;
}

/// What `who` shows now, another one shows at the same play time.
static void compare(Table *table, int32_t who, int32_t other)
{
    const FlLags *a = table->peer[who];
    const FlLags *b = table->peer[other];
    FlTime here = local(table, who, table->now);
    FlTime there = local(table, other, table->now);
    if (!rests(a, here) || !rests(b, there)) {
        return;
    }
    FlTime play = fl__lags_play_time(a, here);
    FlTime when = fl__lags_when(b, play);
    if (when > there || when < b->a.at) {
        return; // it is not that far yet; or was on the move then
    }
    for (int32_t owner = 0; owner < MOST; owner++) {
        FlLagsShown one, same;
        if (fl__lags_shown(a, owner, here, &one) && fl__lags_shown(b, owner, when, &same)) {
            FlTime apart = one.time > same.time ? one.time - same.time : same.time - one.time;
            table->apart = apart > table->apart ? apart : table->apart;
            table->compared++;
        }
    }
}

/// What is shown is what its owner did when lags say, by true time.
static void expect(Table *table, int32_t who, int32_t owner)
{
    const FlLags *lags = table->peer[who];
    const FlLags *theirs = table->peer[owner];
    FlLagsShown shown;
    FlTime here = local(table, who, table->now);
    if (!rests(lags, here) || theirs == NULL || !theirs->sends ||
        table->now - FL_SEC(2) < (theirs->b.at - table->clock[owner]) ||
        !fl__lags_shown(lags, owner, here, &shown)) {
        return;
    }
    FlTime stamp = fl__lags_play_time(lags, here) - theirs->b.to; // on its clock
    FlTime time = stamp - table->clock[owner];
    time -= time / 1000000 * table->drift_ppm[owner];
    FlTime off = shown.time - own_time(table, owner, time);
    off = off < 0 ? -off : off;
    table->off = off > table->off ? off : table->off;
    table->expected++;
}

static void run(Table *table, FlTime until)
{
    for (; table->now < until; table->now += STEP) {
        deliver(table);
        bool updates = table->now / STEP % UPDATE_EVERY == 0;
        for (int32_t i = 0; i < MOST; i++) {
            for (int32_t j = 0; j < MOST && table->peer[i] != NULL; j++) {
                watch(table, i, j);
                expect(table, i, j);
                if (j != i && table->peer[j] != NULL) {
                    compare(table, i, j);
                }
            }
        }
        for (int32_t i = 0; i < MOST; i++) {
            if (table->peer[i] != NULL) {
                speak(table, i, updates);
            }
        }
    }
}

static Table *table_begin(FlRandom *r)
{
    Table *table = (Table *)calloc(1, sizeof *table);
    assert_non_null(table);
    table->now = FL_SEC(1);
    table->slowest = table->fastest = 1.0;
    for (int32_t i = 0; i < MOST; i++) {
        table->clock[i] = random_time(r, -FL_SEC(5000), FL_SEC(5000));
        table->wrong[i] = random_time(r, -FL_MS(80), FL_MS(80));
        table->drift_ppm[i] = (int64_t)fl_random_below(r, 101) - 50;
        table->wander_ppm[i] = (int64_t)fl_random_below(r, 401) - 200;
        for (int32_t j = 0; j < MOST; j++) {
            bool far = i == MOST - 1 || j == MOST - 1;
            table->delay[i][j] =
                far ? random_time(r, FL_MS(150), FL_MS(300)) : random_time(r, FL_MS(5), FL_MS(120));
        }
    }
    return table;
}

static void table_end(Table *table)
{
    for (int32_t i = 0; i < MOST; i++) {
        fl__lags_destroy(table->peer[i]);
    }
    free(table);
}

static int32_t late_between(const Table *table, int32_t count)
{
    int32_t late = 0;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < count; j++) {
            late += table->late[i][j];
        }
    }
    return late;
}

static void at_one_play_time_all_show_the_same_points(void **state)
{
    (void)state;
    FlRandom r = random_stream(850);
    for (int32_t k = 0; k < CASES(4); k++) {
        Table *table = table_begin(&r);
        for (int32_t i = 0; i < MOST - 1; i++) {
            sit_down(table, i);
        }
        run(table, FL_SEC(9));
        assert_int_equal(late_between(table, MOST), 0); // nothing is shown before it has come
        assert_true(table->compared > 10000 && table->expected > 10000);
        sit_down(table, MOST - 1); // further away than all others: their B rise
        run(table, FL_SEC(15));
        assert_int_equal(late_between(table, MOST - 1), 0);
        memset(table->late, 0, sizeof table->late);
        run(table, FL_SEC(19));
        assert_int_equal(late_between(table, MOST), 0); // by now the newcomer, too
        leave(table, MOST - 1);
        run(table, FL_SEC(28));
        assert_int_equal(late_between(table, MOST), 0);
        assert_true(table->apart <= 2); // ns
        // The tolerance, and what drift and wandering (250 ppm) make of it in a second and a bit.
        assert_true(table->off <= FL_US(250 + 250 + 50));
        // Play time runs faster by the slew, the offset's ramp changes as much either way.
        assert_true(table->slowest >= 1.0 / (1.0 + SLEW) - 0.001);
        assert_true(table->fastest <= (1.0 + SLEW) / (1.0 - SLEW) + 0.001);
        assert_int_equal(table->stepped, 0); // no offset came late
        table_end(table);
    }
}

static void a_way_that_gets_longer_is_made_up_for(void **state)
{
    (void)state;
    FlRandom r = random_stream(851);
    Table *table = table_begin(&r);
    for (int32_t i = 0; i < 3; i++) {
        sit_down(table, i);
    }
    run(table, FL_SEC(7));
    table->delay[0][1] += FL_MS(60);
    run(table, FL_SEC(14));
    assert_true(table->late[0][1] > 0);
    int32_t late = late_between(table, MOST) - table->late[0][1];
    assert_int_equal(late, 0);
    assert_true(table->apart <= FL_MS(6)); // an offset as late as the rest, at most a tenth of that
    table->apart = 0;
    memset(table->late, 0, sizeof table->late);
    run(table, FL_SEC(20));
    assert_int_equal(late_between(table, MOST), 0);
    assert_true(table->apart <= 2);
    table_end(table);
}

// ---------------------------------------------------------------- messages

static Fl__LagsOffset offset_of(FlTime at, FlTime from, FlTime to)
{
    Fl__LagsOffset offset = {{from, to, at}, 100000};
    return offset;
}

static FlLags *two_peers(void)
{
    FlLagsDef def = fl__lags_def_default();
    FlLags *lags;
    assert_int_equal(fl__lags_create(&def, 0, &lags), FL_OK);
    fl__lags_member(lags, 1, true, 0);
    lags->plays = true; // with A = 0: play time is our own
    return lags;
}

static FlTime shown_at(const FlLags *lags, FlTime now)
{
    FlLagsShown shown;
    assert_true(fl__lags_shown(lags, 1, now, &shown));
    return shown.time;
}

static void an_offset_that_comes_late_counts_from_then_on_and_is_noted(void **state)
{
    (void)state;
    FlLags *lags = two_peers();
    FlLagsShown shown;
    assert_false(fl__lags_shown(lags, 1, FL_SEC(1), &shown));
    Fl__LagsOffset first = offset_of(FL_SEC(1), FL_MS(100), FL_MS(100));
    Fl__LagsOffset second = offset_of(FL_SEC(2), FL_MS(100), FL_MS(150));
    Fl__LagsOffset third = offset_of(FL_SEC(3), FL_MS(150), FL_MS(120));
    fl__lags_take_offset(lags, 1, &first, FL_SEC(1));
    assert_true(shown_at(lags, FL_MS(2050)) == FL_MS(1950));
    assert_true(fl__lags_shown(lags, 1, FL_MS(2050), &shown));
    uint32_t version = shown.version;
    fl__lags_take_offset(lags, 1, &second, FL_MS(2050)); // in time: it is of what comes
    assert_true(fl__lags_shown(lags, 1, FL_MS(2100), &shown));
    assert_int_equal(shown.version, version);
    assert_true(shown.time == FL_SEC(2));
    assert_true(shown_at(lags, FL_MS(2100) + FL_MS(110)) == FL_MS(2100)); // 10 % slower
    assert_true(shown_at(lags, FL_MS(2900)) == FL_MS(2750));
    fl__lags_take_offset(lags, 1, &second, FL_MS(2900)); // again
    assert_true(fl__lags_shown(lags, 1, FL_MS(2900), &shown));
    assert_int_equal(shown.version, version);
    fl__lags_take_offset(lags, 1, &third, FL_MS(3400)); // late
    assert_true(fl__lags_shown(lags, 1, FL_MS(3400), &shown));
    assert_int_not_equal(shown.version, version);
    assert_true(shown.time > FL_MS(3250));
    assert_true(shown_at(lags, FL_SEC(4)) == FL_MS(3880));
    fl__lags_member(lags, 1, false, FL_SEC(4));
    assert_false(fl__lags_shown(lags, 1, FL_SEC(4), &shown));
    fl__lags_destroy(lags);
}

static void whatever_offsets_a_peer_sends_time_is_found(void **state)
{
    (void)state;
    FlRandom r = random_stream(852);
    for (int32_t k = 0; k < CASES(4000); k++) {
        FlLags *lags = two_peers();
        FlTime far = INT64_C(1) << (20 + fl_random_below(&r, 41));
        for (int32_t i = 0; i < 12; i++) {
            FlTime at = random_time(&r, -far, far);
            FlTime from = random_time(&r, -far, far);
            Fl__LagsBody said = {.kind = FL__LAGS_OFFSET};
            FlTime way = far < INT64_C(1) << 31 ? far : INT64_C(1) << 31;
            said.offset = offset_of(at, from, from + random_time(&r, -way, way));
            said.offset.slew_ppm = 1000 + (int32_t)fl_random_below(&r, 499001);
            uint8_t bytes[64];
            FlWriter writer;
            FlReader reader;
            Fl__LagsBody back;
            fl_writer_init(&writer, bytes, sizeof bytes);
            fl__lags_write(&writer, 1, &said);
            fl_reader_init(&reader, bytes, fl_writer_size(&writer));
            assert_true(fl__lags_read(&reader, 1, &back));
            assert_memory_equal(&back.offset.ramp, &said.offset.ramp, sizeof back.offset.ramp);
            fl__lags_receive(lags, 1, bytes, fl_writer_size(&writer), FL_SEC(i));
            FlLagsShown shown;
            assert_true(fl__lags_shown(lags, 1, random_time(&r, -far, far), &shown));
            assert_true(shown.rate > 0.0 && shown.rate < 3.1);
        }
        fl__lags_destroy(lags);
    }
}

static void what_no_peer_sends_is_refused(void **state)
{
    (void)state;
    const struct {
        Fl__LagsOffset offset;
    } bad[] = {
        {{{0, 0, 0}, 999}},
        {{{0, 0, 0}, 500001}},
        {{{(INT64_C(1) << 61) + 1, 0, 0}, 1000}},
        {{{0, -(INT64_C(1) << 61) - 1, 0}, 1000}},
        {{{0, 0, INT64_MIN}, 1000}},
        {{{0, (INT64_C(1) << 31) + 1, 0}, 1000}},
    };
    FlLags *lags = two_peers();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Fl__LagsBody said = {.kind = FL__LAGS_OFFSET, .offset = bad[i].offset};
        uint8_t bytes[64];
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        fl__lags_write(&writer, 1, &said);
        fl__lags_receive(lags, 1, bytes, fl_writer_size(&writer), 0);
        assert_int_equal(lags->count[FL_LAGS_MALFORMED], i + 1);
    }
    fl__lags_destroy(lags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_one_play_time_all_show_the_same_points),
        cmocka_unit_test(a_way_that_gets_longer_is_made_up_for),
        cmocka_unit_test(an_offset_that_comes_late_counts_from_then_on_and_is_noted),
        cmocka_unit_test(whatever_offsets_a_peer_sends_time_is_found),
        cmocka_unit_test(what_no_peer_sends_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
