// Rounds among honest peers with one who is not, or who sees it differently.
//
// Real FlLags objects over ways of a fixed delay. What a liar says is written here, by hand, as it
// would be by somebody who may put anything into a message.
#include "support.h"

#include "agree/private.h"

enum { MOST = 4, ON_THE_WAY = 4096 };

typedef struct Letter {
    FlTime at;
    int32_t to, from, count;
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
} Letter;

typedef struct Table {
    FlTime now, delay;
    FlLagsDef def;
    FlTime clock[MOST]; // how far each one's is ahead
    FlLags *peer[MOST]; // NULL: not there, or a liar
    uint64_t ready_said[MOST], unreadable;
    uint32_t first, next; // letters, on a ring: the delay is the same for all
    Letter way[ON_THE_WAY];
} Table;

static Table *table_begin(void)
{
    Table *table = (Table *)calloc(1, sizeof *table);
    assert_non_null(table);
    table->now = FL_SEC(1);
    table->delay = FL_MS(20);
    table->def = fl__lags_def_default();
    return table;
}

static void table_end(Table *table)
{
    for (int32_t i = 0; i < MOST; i++) {
        fl__lags_destroy(table->peer[i]);
    }
    free(table);
}

static FlTime local(const Table *table, int32_t who)
{
    return table->now + table->clock[who];
}

/// Everybody who is honest learns who is there.
static void member(Table *table, int32_t who, bool present)
{
    for (int32_t i = 0; i < MOST; i++) {
        if (table->peer[i] != NULL) {
            fl__lags_member(table->peer[i], who, present, local(table, i));
        }
    }
}

static void sit_down(Table *table, int32_t who)
{
    table->def.self = who;
    assert_int_equal(fl__lags_create(&table->def, local(table, who), &table->peer[who]), FL_OK);
    for (int32_t i = 0; i < MOST; i++) {
        if (i != who && table->peer[i] != NULL) {
            fl__lags_member(table->peer[i], who, true, local(table, i));
            fl__lags_member(table->peer[who], i, true, local(table, who));
        }
    }
}

static void send(Table *table, int32_t from, const FlLagsMessage *message)
{
    FlReader reader;
    Fl__LagsBody said;
    fl_reader_init(&reader, message->bytes, message->count);
    table->unreadable += fl__lags_read(&reader, from, &said) ? 0 : 1;
    table->ready_said[from] += said.kind == FL__LAGS_READY ? 1 : 0;
    for (int32_t i = 0; i < MOST; i++) {
        if (i == from || table->peer[i] == NULL) {
            continue;
        }
        assert_true(table->next - table->first < ON_THE_WAY);
        Letter *letter = &table->way[table->next++ % ON_THE_WAY];
        letter->at = table->now + table->delay;
        letter->to = i;
        letter->from = from;
        letter->count = message->count;
        memcpy(letter->bytes, message->bytes, (size_t)message->count);
    }
}

static void run(Table *table, FlTime span)
{
    for (FlTime until = table->now + span; table->now < until; table->now += FL_MS(5)) {
        while (table->first != table->next &&
               table->way[table->first % ON_THE_WAY].at <= table->now) {
            const Letter *letter = &table->way[table->first++ % ON_THE_WAY];
            if (table->peer[letter->to] != NULL) {
                fl__lags_receive(table->peer[letter->to], letter->from, letter->bytes,
                                 letter->count, local(table, letter->to));
            }
        }
        for (int32_t i = 0; i < MOST; i++) {
            FlLagsMessage message;
            while (table->peer[i] != NULL &&
                   fl__lags_next(table->peer[i], local(table, i), &message) == FL_OK) {
                send(table, i, &message);
            }
        }
    }
}

/// A liar says something to one peer, which arrives at once.
static void say(Table *table, int32_t from, int32_t to, const Fl__LagsBody *said)
{
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__lags_write(&writer, from, said);
    fl__lags_receive(table->peer[to], from, bytes, fl_writer_size(&writer), local(table, to));
}

static void say_round(Table *table, int32_t from, int32_t to, uint32_t round)
{
    Fl__LagsBody said = {.kind = FL__LAGS_READY, .round = round};
    say(table, from, to, &said);
}

static FlLagsStatus status_of(const Table *table, int32_t who)
{
    return fl__lags_status(table->peer[who], local(table, who));
}

/// Everybody who is there plays by the same round, of just those, and everybody can read everybody.
static void check_together(const Table *table)
{
    uint64_t members = 0;
    int32_t first = -1;
    for (int32_t i = 0; i < MOST; i++) {
        members |= table->peer[i] != NULL ? UINT64_C(1) << i : 0;
        first = first < 0 && table->peer[i] != NULL ? i : first;
    }
    for (int32_t i = first; i < MOST; i++) {
        if (table->peer[i] != NULL) {
            FlLagsStatus status = status_of(table, i);
            assert_true(status.sends && status.plays);
            assert_int_equal(status.members, members);
            assert_int_equal(status.round, status_of(table, first).round);
        }
    }
    assert_int_equal(table->unreadable, 0);
}

// ---------------------------------------------------------------- numbers

static void a_number_far_ahead_is_not_the_end_of_all_rounds(void **state)
{
    (void)state;
    const uint32_t far[] = {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX / 2 + 1, 1000000};
    for (int32_t k = 0; k < 4; k++) {
        Table *table = table_begin();
        sit_down(table, 0);
        sit_down(table, 1);
        member(table, 2, true);
        say_round(table, 2, 0, far[k]);
        if (k != 3) { // or to one of them only
            say_round(table, 2, 1, far[k]);
        }
        member(table, 2, false);
        run(table, FL_SEC(60));
        check_together(table);
        assert_true(status_of(table, 0).count[FL_LAGS_SETTLED] >= 4);
        assert_int_equal(status_of(table, 0).count[FL_LAGS_MALFORMED], 0);
        table_end(table);
    }
}

static void a_newcomer_who_is_told_a_wrong_number_finds_the_others(void **state)
{
    (void)state;
    for (int32_t k = 0; k < 6; k++) {
        Table *table = table_begin();
        int32_t newcomer = k % 3;
        for (int32_t i = 0; i < 3; i++) {
            if (i != newcomer) {
                sit_down(table, i);
                table->peer[i]->round_newest = k < 3 ? 0 : 3000000000u; // they play since long
            }
        }
        run(table, FL_SEC(5));
        check_together(table);
        sit_down(table, newcomer);
        say_round(table, newcomer == 1 ? 2 : 1, newcomer, 1000000); // once, and to nobody else
        run(table, FL_SEC(20));
        check_together(table);
        table_end(table);
    }
}

static void whatever_numbers_a_liar_tells_to_whom_the_others_agree_when_it_is_gone(void **state)
{
    (void)state;
    FlRandom r = random_stream(841);
    for (int32_t k = 0; k < CASES(40); k++) {
        Table *table = table_begin();
        int32_t liar = (int32_t)fl_random_below(&r, MOST);
        for (int32_t i = 0; i < MOST; i++) {
            if (i != liar) {
                sit_down(table, i);
            }
        }
        if (k % 2 == 0) {
            run(table, FL_SEC(4));
        }
        member(table, liar, true);
        for (int32_t word = 0; word < 12; word++) {
            int32_t to = (int32_t)fl_random_below(&r, MOST);
            uint32_t round = 1 + (uint32_t)fl_random_below(&r, UINT32_MAX);
            round = word < 3 ? 1 + (UINT32_MAX / 3) * (uint32_t)word : round; // round the circle
            if (to != liar) {
                say_round(table, liar, to, round);
            }
            run(table, random_time(&r, 0, FL_MS(300)));
        }
        member(table, liar, false);
        run(table, FL_SEC(15));
        check_together(table);
        table_end(table);
    }
}

// ---------------------------------------------------------------- refusing

static void who_refused_a_round_is_not_ready_for_it(void **state)
{
    (void)state;
    Table *table = table_begin();
    table->delay = FL_MS(150);
    table->def.limit_ns = FL_MS(100);
    sit_down(table, 0);
    table->def.limit_ns = FL_SEC(2); // another limit: it takes what 0 refuses
    sit_down(table, 1);
    run(table, FL_SEC(30));
    assert_true(status_of(table, 0).count[FL_LAGS_REFUSED] > 3);
    assert_true(status_of(table, 1).count[FL_LAGS_SOLVED] > 3);
    assert_int_equal(table->ready_said[0], 0);
    assert_int_equal(status_of(table, 1).count[FL_LAGS_SETTLED], 0);
    assert_false(status_of(table, 1).plays);
    table_end(table);
}

static void who_is_asked_before_it_has_measured_says_nothing_yet(void **state)
{
    (void)state;
    Table *table = table_begin();
    sit_down(table, 0);
    sit_down(table, 1);
    Fl__LagsBody said = {.kind = FL__LAGS_READY, .round = 7, .asks = true};
    say(table, 1, 0, &said);
    run(table, FL_SEC(4));
    check_together(table);
    table_end(table);
}

// ---------------------------------------------------------------- values

static void an_a_beyond_all_clocks_is_refused_and_forgotten(void **state)
{
    (void)state;
    for (int32_t sign = -1; sign <= 1; sign += 2) {
        Table *table = table_begin();
        sit_down(table, 0);
        sit_down(table, 1);
        member(table, 2, true);
        bool said = false;
        for (int32_t k = 0; k < 1400; k++) { // 7 s
            run(table, FL_MS(5));
            Fl__LagsBody probe = {.kind = FL__LAGS_PROBE, .stamp = table->now - FL_MS(20)};
            say(table, 2, 0, &probe);
            say(table, 2, 1, &probe);
            if (!said && k > 500) {
                said = true;
                Fl__LagsBody far = {.kind = FL__LAGS_VECTOR};
                Fl__LagsVector vector = {.round = table->peer[0]->round_newest,
                                         .plays = FL__LAGS_TOGETHER,
                                         .members = 7,
                                         .a = sign * (INT64_C(1) << 61),
                                         .v = {FL_MS(60), FL_MS(60), 0}};
                far.vector = vector;
                for (int32_t i = 0; i < 2; i++) {
                    say(table, 2, i, &far);
                    say_round(table, 2, i, vector.round);
                }
            }
        }
        assert_true(status_of(table, 0).count[FL_LAGS_REFUSED] > 0);
        member(table, 2, false);
        run(table, FL_SEC(10));
        check_together(table);
        assert_int_equal(status_of(table, 0).count[FL_LAGS_MALFORMED], 0);
        table_end(table);
    }
}

static void what_can_be_measured_can_be_told(void **state)
{
    (void)state;
    Table *table = table_begin();
    table->def.margin_ns = FL_SEC(10);
    sit_down(table, 0);
    member(table, 1, true);
    for (FlTime below = 0; below < FL_SEC(30); below += FL_SEC(1)) {
        Fl__LagsBody probe = {.kind = FL__LAGS_PROBE};
        probe.stamp = table->now - (INT64_C(1) << 60) + below;
        say(table, 1, 0, &probe);
        run(table, FL_SEC(1));
    }
    assert_true(status_of(table, 0).count[FL_LAGS_BEGUN] > 0);
    assert_int_equal(table->unreadable, 0);
    table_end(table);
}

// ---------------------------------------------------------------- coming and going

static void leave(Table *table, int32_t who)
{
    fl__lags_destroy(table->peer[who]);
    table->peer[who] = NULL;
    member(table, who, false);
}

static void a_round_begins_when_somebody_goes(void **state)
{
    (void)state;
    for (int32_t who = 0; who < 3; who++) {
        Table *table = table_begin();
        table->def.again_ns = FL_FOREVER; // for no other reason
        for (int32_t i = 0; i < 3; i++) {
            sit_down(table, i);
        }
        run(table, FL_SEC(6));
        check_together(table);
        int32_t stays = (who + 1) % 3;
        uint64_t solved = status_of(table, stays).count[FL_LAGS_SOLVED];
        leave(table, who);
        run(table, FL_SEC(3));
        check_together(table);
        assert_int_equal(status_of(table, stays).count[FL_LAGS_SOLVED], solved + 1);
        run(table, FL_SEC(30)); // once
        assert_int_equal(status_of(table, stays).count[FL_LAGS_SOLVED], solved + 1);
        leave(table, (who + 2) % 3);
        run(table, FL_SEC(3));
        assert_int_equal(status_of(table, stays).longest_ns, 0); // nobody to wait for
        table_end(table);
    }
}

/// Stamps and play time of one peer, watched.
typedef struct Watch {
    FlTime stamp, play;
    int32_t back;
} Watch;

static void watch(Watch *w, const Table *table, int32_t who, bool stamps)
{
    FlTime stamp;
    FlTime play = fl__lags_play_time(table->peer[who], local(table, who));
    w->back += play < w->play ? 1 : 0;
    w->play = play;
    if (stamps && fl__lags_stamp(table->peer[who], local(table, who), &stamp) == FL_OK) {
        w->back += stamp <= w->stamp ? 1 : 0;
        w->stamp = stamp;
    }
}

static void play_time_goes_back_for_nobody_but_a_lone_one_who_is_told_so(void **state)
{
    (void)state;
    FlRandom r = random_stream(842);
    for (int32_t k = 0; k < CASES(20); k++) {
        Table *table = table_begin();
        Watch watches[MOST];
        int32_t lone = 1 + k % 2; // how many are, when they meet
        for (int32_t i = 0; i < 3; i++) {
            watches[i] = (Watch){INT64_MIN, INT64_MIN, 0};
            table->clock[i] = random_time(&r, FL_SEC(0), FL_SEC(2000));
            table->def.self = i;
            assert_int_equal(fl__lags_create(&table->def, local(table, i), &table->peer[i]), FL_OK);
        }
        for (int32_t step = 0; step < 600; step++) {
            for (int32_t i = lone; step == 100 && i < 3; i++) { // those at the end, first
                for (int32_t j = lone; j < 3; j++) {
                    fl__lags_member(table->peer[i], j, true, local(table, i));
                }
            }
            for (int32_t i = 0; step == 300 && i < 3; i++) {
                member(table, i, true);
            }
            if (step == 500) {
                leave(table, 2); // and play time goes on
            }
            for (int32_t i = 0; i < 3; i++) {
                if (table->peer[i] != NULL) {
                    watch(&watches[i], table, i, step % 50 == 0); // between them, probes
                }
            }
            run(table, FL_MS(20));
        }
        check_together(table);
        for (int32_t i = 0; i < 2; i++) {
            bool anew = status_of(table, i).count[FL_LAGS_ANEW] > 0;
            assert_int_equal(watches[i].back > 0, anew);
        }
        table_end(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_far_ahead_is_not_the_end_of_all_rounds),
        cmocka_unit_test(a_newcomer_who_is_told_a_wrong_number_finds_the_others),
        cmocka_unit_test(whatever_numbers_a_liar_tells_to_whom_the_others_agree_when_it_is_gone),
        cmocka_unit_test(who_refused_a_round_is_not_ready_for_it),
        cmocka_unit_test(who_is_asked_before_it_has_measured_says_nothing_yet),
        cmocka_unit_test(an_a_beyond_all_clocks_is_refused_and_forgotten),
        cmocka_unit_test(what_can_be_measured_can_be_told),
        cmocka_unit_test(a_round_begins_when_somebody_goes),
        cmocka_unit_test(play_time_goes_back_for_nobody_but_a_lone_one_who_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
