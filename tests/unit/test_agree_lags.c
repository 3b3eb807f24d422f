// Lags from vectors, and the messages about them.
//
// Vectors here are made as clocks and networks make them: v_p[i] = delay(i to p) + clock_p -
// clock_i. The paper's algorithm as it is printed lives in this file only, to show what is wrong
// with it.
#include "support.h"

#include "agree/private.h"

enum { PEERS_MOST = 12 };

typedef struct Net {
    int32_t count;
    FlTime delay[FL_LAGS_PEERS][FL_LAGS_PEERS]; // [from][to]
    FlTime clock[FL_LAGS_PEERS];
    FlTime v[FL_LAGS_PEERS * FL_LAGS_PEERS];
} Net;

static void measure(Net *net)
{
    for (int32_t p = 0; p < net->count; p++) {
        for (int32_t i = 0; i < net->count; i++) {
            net->v[p * net->count + i] =
                p == i ? 0 : net->delay[i][p] + net->clock[p] - net->clock[i];
        }
    }
}

static Net random_net(FlRandom *r, int32_t least, int32_t most, FlTime clocks)
{
    Net net = {0};
    net.count = least + (int32_t)fl_random_below(r, (uint64_t)most - (uint64_t)least + 1);
    for (int32_t p = 0; p < net.count; p++) {
        net.clock[p] = random_time(r, -clocks, clocks);
        for (int32_t i = 0; i < net.count; i++) {
            net.delay[p][i] = random_time(r, FL_MS(5), FL_MS(195));
        }
    }
    measure(&net);
    return net;
}

typedef struct Lags {
    FlTime a[FL_LAGS_PEERS], b[FL_LAGS_PEERS];
    int32_t reference;
} Lags;

static Lags solve(FlLagsChoice choice, const Net *net)
{
    Lags lags;
    assert_int_equal(fl__lags_solve(choice, net->count, net->v, lags.a, lags.b, &lags.reference),
                     FL_OK);
    return lags;
}

static FlTime sum_of(const Net *net, const Lags *lags)
{
    FlTime sum = 0;
    for (int32_t i = 0; i < net->count; i++) {
        sum += lags->a[i] + lags->b[i];
    }
    return sum;
}

static FlTime longest_of(const Net *net, const Lags *lags)
{
    FlTime longest = 0;
    for (int32_t i = 0; i < net->count; i++) {
        FlTime own = lags->a[i] + lags->b[i];
        longest = own > longest ? own : longest;
    }
    return longest;
}

// ---------------------------------------------------------------- what every choice does

static void nothing_is_played_before_it_has_arrived_and_no_lag_is_longer_than_needed(void **state)
{
    (void)state;
    FlRandom r = random_stream(801);
    for (int32_t k = 0; k < CASES(3000); k++) {
        FlTime clocks = k % 3 == 0 ? 0 : k % 3 == 1 ? FL_SEC(600) : FL_SEC(INT64_C(300000000));
        Net net = random_net(&r, 1, k % 50 == 0 ? FL_LAGS_PEERS : PEERS_MOST, clocks);
        for (int32_t choice = 0; choice < FL_LAGS_CHOICES; choice++) {
            Lags lags = solve((FlLagsChoice)choice, &net);
            for (int32_t i = 0; i < net.count; i++) {
                bool tight = false;
                for (int32_t p = 0; p < net.count; p++) {
                    FlTime spare = lags.a[p] + lags.b[i] - net.v[p * net.count + i];
                    assert_true(spare >= 0);
                    tight = tight || spare == 0;
                }
                assert_true(tight);
            }
        }
    }
}

static void clocks_cancel(void **state)
{
    (void)state;
    FlRandom r = random_stream(802);
    for (int32_t k = 0; k < CASES(1000); k++) {
        Net net = random_net(&r, 2, PEERS_MOST, 0);
        Net other = net;
        for (int32_t p = 0; p < net.count; p++) {
            other.clock[p] = random_time(&r, -FL_SEC(100000), FL_SEC(100000));
        }
        measure(&other);
        for (int32_t choice = FL_LAGS_BEST_REFERENCE; choice < FL_LAGS_CHOICES; choice++) {
            Lags one = solve((FlLagsChoice)choice, &net);
            Lags two = solve((FlLagsChoice)choice, &other);
            for (int32_t p = 0; p < net.count; p++) {
                for (int32_t i = 0; i < net.count; i++) {
                    FlTime clocks = other.clock[p] - other.clock[i];
                    assert_int_equal(one.a[p] + one.b[i], two.a[p] + two.b[i] - clocks);
                }
            }
        }
    }
}

// ---------------------------------------------------------------- references

static FlTime published_b(const Net *net, int32_t i, int32_t reference)
{
    FlTime largest = INT64_MIN;
    for (int32_t j = 0; j < net->count; j++) {
        FlTime d = net->v[j * net->count + i] - net->v[j * net->count + reference];
        largest = d > largest ? d : largest;
    }
    return largest;
}

static bool is_reference(const Net *net, int32_t reference)
{
    for (int32_t i = 0; i < net->count; i++) {
        FlTime k = published_b(net, i, reference);
        if (i != reference && !(k > 0 || (k == 0 && i > reference))) {
            return false;
        }
    }
    return true;
}

static void the_reference_is_the_highest_that_the_published_rule_allows(void **state)
{
    (void)state;
    FlRandom r = random_stream(803);
    int32_t highest = 0;
    for (int32_t k = 0; k < CASES(5000); k++) {
        Net net = random_net(&r, 2, PEERS_MOST, k % 2 == 0 ? FL_MS(100) : FL_SEC(600));
        if (k % 5 == 0) { // ties everywhere
            memset(net.delay, 0, sizeof net.delay);
            memset(net.clock, 0, sizeof net.clock);
            measure(&net);
        }
        Lags lags = solve(FL_LAGS_REFERENCE, &net);
        assert_true(is_reference(&net, lags.reference));
        for (int32_t other = lags.reference + 1; other < net.count; other++) {
            assert_false(is_reference(&net, other));
        }
        for (int32_t i = 0; i < net.count; i++) {
            assert_int_equal(lags.a[i], net.v[i * net.count + lags.reference]);
            assert_int_equal(lags.b[i], published_b(&net, i, lags.reference));
        }
        highest += lags.reference == net.count - 1 ? 1 : 0;
    }
    assert_true(highest > 0); // and it is not always the same
}

static void the_best_reference_makes_the_longest_wait_shortest(void **state)
{
    (void)state;
    FlRandom r = random_stream(804);
    for (int32_t k = 0; k < CASES(1000); k++) {
        Net net = random_net(&r, 2, PEERS_MOST, FL_SEC(600));
        Lags best = solve(FL_LAGS_BEST_REFERENCE, &net);
        for (int32_t reference = 0; reference < net.count; reference++) {
            Lags over = {.reference = reference};
            for (int32_t i = 0; i < net.count; i++) {
                over.a[i] = net.v[i * net.count + reference];
                over.b[i] = published_b(&net, i, reference);
            }
            assert_true(longest_of(&net, &best) <= longest_of(&net, &over));
        }
    }
}

// ---------------------------------------------------------------- free

/// The largest sum of v over all ways of giving everybody another partner: no lags sum to less.
static FlTime largest_assignment(const Net *net, int32_t p, uint32_t taken)
{
    FlTime largest = p == net->count ? 0 : INT64_MIN;
    for (int32_t i = 0; i < net->count && p < net->count; i++) {
        if ((taken >> i & 1u) == 0) {
            FlTime sum =
                net->v[p * net->count + i] + largest_assignment(net, p + 1, taken | 1u << i);
            largest = sum > largest ? sum : largest;
        }
    }
    return largest;
}

static void free_lags_have_the_smallest_mean_there_is(void **state)
{
    (void)state;
    FlRandom r = random_stream(805);
    for (int32_t k = 0; k < CASES(500); k++) {
        Net net = random_net(&r, 1, 6, FL_SEC(600));
        Lags lags = solve(FL_LAGS_FREE, &net);
        assert_int_equal(sum_of(&net, &lags), largest_assignment(&net, 0, 0));
        assert_int_equal(lags.a[0], 0);
    }
}

static void free_lags_change_little_when_vectors_change_little(void **state)
{
    (void)state;
    FlRandom r = random_stream(806);
    Worst worst = {0};
    for (int32_t k = 0; k < CASES(1000); k++) {
        Net net = random_net(&r, 2, PEERS_MOST, FL_SEC(600));
        Net near = net;
        for (int32_t p = 0; p < net.count; p++) {
            for (int32_t i = 0; i < net.count; i++) {
                near.delay[p][i] += random_time(&r, -FL_US(10), FL_US(10));
            }
        }
        measure(&near);
        Lags one = solve(FL_LAGS_FREE, &net);
        Lags two = solve(FL_LAGS_FREE, &near);
        for (int32_t p = 0; p < net.count; p++) {
            double moved = fl_span_seconds(two.a[p] - one.a[p]) / 10e-6;
            worst_note(&worst, fabs(moved) / net.count, k);
        }
    }
    check_worst(&worst, 2.0, "moves of A, in changes of a delay times peers");
}

static void impossible_vectors_are_refused(void **state)
{
    (void)state;
    FlTime a[3];
    FlTime b[3];
    int32_t reference;
    FlTime v[9] = {0, FL_MS(5), FL_MS(5), FL_MS(5), 0, FL_MS(5), FL_MS(5), FL_MS(5), 0};
    assert_int_equal(fl__lags_solve(FL_LAGS_FREE, 3, v, a, b, &reference), FL_OK);
    v[5] = FL_SEC(3600); // of the three clocks one fits two others only
    assert_int_equal(fl__lags_solve(FL_LAGS_FREE, 3, v, a, b, &reference), FL_BAD_VALUE);
    v[5] = INT64_MIN;
    assert_int_equal(fl__lags_solve(FL_LAGS_FREE, 3, v, a, b, &reference), FL_BAD_VALUE);
    v[5] = INT64_MAX;
    assert_int_equal(fl__lags_solve(FL_LAGS_REFERENCE, 3, v, a, b, &reference), FL_BAD_VALUE);
}

// ---------------------------------------------------------------- as it is printed

/// Figures 5 and 6 as they stand: from a stamp of i to its playing at p, p's clock.
static FlTime printed_offset(const Net *net, int32_t reference, int32_t p, int32_t i)
{
    FlTime largest = INT64_MIN;
    for (int32_t j = 0; j < net->count; j++) {
        FlTime d = net->v[j * net->count + reference] - net->v[j * net->count + i];
        largest = d > largest ? d : largest;
    }
    FlTime of_i = net->v[p * net->count + i];
    FlTime adjust = largest - (net->v[p * net->count + reference] - of_i);
    return of_i + adjust;
}

/// Do all peers find the same time between any two sources?
static bool is_simultaneous(const Net *net,
                            FlTime (*offset)(const Net *, int32_t, int32_t, int32_t),
                            int32_t reference)
{
    for (int32_t p = 1; p < net->count; p++) {
        for (int32_t i = 1; i < net->count; i++) {
            FlTime here = offset(net, reference, p, i) - offset(net, reference, p, 0);
            FlTime there = offset(net, reference, 0, i) - offset(net, reference, 0, 0);
            if (here != there) {
                return false;
            }
        }
    }
    return true;
}

static FlTime corrected_offset(const Net *net, int32_t reference, int32_t p, int32_t i)
{
    return net->v[p * net->count + reference] + published_b(net, i, reference);
}

static void as_printed_the_algorithm_is_simultaneous_for_nobody(void **state)
{
    (void)state;
    FlRandom r = random_stream(807);
    int32_t printed = 0;
    int32_t corrected = 0;
    int32_t nets = CASES(2000);
    for (int32_t k = 0; k < nets; k++) {
        Net net = random_net(&r, 3, PEERS_MOST, FL_SEC(600));
        int32_t reference = (int32_t)fl_random_below(&r, (uint64_t)net.count);
        printed += is_simultaneous(&net, printed_offset, reference) ? 1 : 0;
        corrected += is_simultaneous(&net, corrected_offset, reference) ? 1 : 0;
    }
    assert_int_equal(printed, 0);
    assert_int_equal(corrected, nets);
}

static void a_vector_that_starts_from_zero_inflates_the_lags(void **state)
{
    (void)state;
    FlRandom r = random_stream(808);
    for (int32_t k = 0; k < CASES(300); k++) {
        Net net = random_net(&r, 3, PEERS_MOST, FL_SEC(600));
        Lags right = solve(FL_LAGS_BEST_REFERENCE, &net);
        for (int32_t i = 0; i < net.count * net.count; i++) {
            net.v[i] = net.v[i] > 0 ? net.v[i] : 0; // figure 4: the largest of 0 and the samples
        }
        FlTime shortest = INT64_MAX;
        for (int32_t reference = 0; reference < net.count; reference++) {
            FlTime longest = 0;
            for (int32_t i = 0; i < net.count; i++) {
                FlTime own = corrected_offset(&net, reference, i, i);
                longest = own > longest ? own : longest;
            }
            shortest = longest < shortest ? longest : shortest;
        }
        // Clocks are minutes apart, delays fractions of a second.
        assert_true(shortest > 10 * longest_of(&net, &right));
    }
}

// ---------------------------------------------------------------- messages

static Fl__LagsBody random_said(FlRandom *r, int32_t from)
{
    Fl__LagsBody said = {.kind = (Fl__LagsKind)(1 + fl_random_below(r, 3))};
    if (said.kind != FL__LAGS_VECTOR) {
        said.stamp = (FlTime)fl_random_next(r);
        said.round = said.kind == FL__LAGS_READY ? 1 + (uint32_t)fl_random_below(r, 1000) : 0;
        return said;
    }
    Fl__LagsVector *vector = &said.vector;
    vector->round = 1 + (uint32_t)fl_random_below(r, UINT32_MAX);
    uint64_t some = fl_random_next(r);
    vector->members = (some & fl_random_next(r)) | UINT64_C(1) << from;
    vector->plays = (Fl__LagsPlays)fl_random_below(r, 3);
    vector->a = vector->plays != FL__LAGS_NOT ? (FlTime)fl_random_next(r) / 4 : 0;
    for (int32_t i = 0; i < FL_LAGS_PEERS; i++) {
        if (i != from && fl__lags_has(vector->members, i)) {
            vector->v[i] = (FlTime)fl_random_next(r) / 8;
        }
    }
    return said;
}

static bool same_said(const Fl__LagsBody *a, const Fl__LagsBody *b)
{
    return a->kind == b->kind && a->stamp == b->stamp && a->round == b->round &&
           a->vector.round == b->vector.round && a->vector.plays == b->vector.plays &&
           a->vector.members == b->vector.members && a->vector.a == b->vector.a &&
           memcmp(a->vector.v, b->vector.v, sizeof a->vector.v) == 0;
}

static void messages_come_back_as_they_went_and_never_in_part(void **state)
{
    (void)state;
    FlRandom r = random_stream(809);
    for (int32_t k = 0; k < CASES(500); k++) {
        int32_t from = (int32_t)fl_random_below(&r, FL_LAGS_PEERS);
        Fl__LagsBody said = random_said(&r, from);
        uint8_t bytes[FL_LAGS_MESSAGE_BYTES + 1] = {0};
        FlWriter writer;
        fl_writer_init(&writer, bytes, FL_LAGS_MESSAGE_BYTES);
        fl__lags_write(&writer, from, &said);
        assert_false(writer.failed);
        int32_t size = fl_writer_size(&writer);
        Fl__LagsBody read;
        FlReader reader;
        for (int32_t part = 0; part <= size + 1; part++) {
            fl_reader_init(&reader, bytes, part);
            assert_int_equal(fl__lags_read(&reader, from, &read), part == size);
            if (part == size) {
                assert_true(same_said(&said, &read));
            }
        }
    }
}

static void actions_come_back_as_they_went_and_never_in_part(void **state)
{
    (void)state;
    FlRandom r = random_stream(810);
    for (int32_t k = 0; k < CASES(200); k++) {
        uint8_t own[FL_ACTION_BYTES];
        for (size_t i = 0; i < sizeof own; i++) {
            own[i] = (uint8_t)fl_random_next(&r);
        }
        FlOrdered action = {.bytes = own};
        action.play = (FlTime)fl_random_next(&r);
        action.stamp = (FlTime)fl_random_next(&r);
        action.sequence = (uint32_t)fl_random_next(&r);
        action.type = (uint16_t)fl_random_next(&r);
        action.count = (int32_t)fl_random_below(&r, FL_ACTION_BYTES + 1);
        uint8_t bytes[FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES + 1] = {0};
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        fl__action_write(&writer, &action);
        int32_t size = fl_writer_size(&writer);
        assert_int_equal(size, FL_ACTION_HEAD_BYTES + action.count);
        FlOrdered read;
        FlReader reader;
        fl_reader_init(&reader, bytes, size);
        assert_true(fl__action_read(&reader, &read));
        assert_true(read.play == action.play && read.stamp == action.stamp &&
                    read.sequence == action.sequence && read.type == action.type &&
                    read.count == action.count);
        assert_memory_equal(read.bytes, own, (size_t)read.count);
        for (int32_t part = 0; part < FL_ACTION_HEAD_BYTES; part++) {
            fl_reader_init(&reader, bytes, part);
            assert_false(fl__action_read(&reader, &read));
        }
        fl_reader_init(&reader, bytes, FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES + 1);
        assert_false(fl__action_read(&reader, &read));
    }
}

// ---------------------------------------------------------------- one object

static void names_and_definitions_are_checked(void **state)
{
    (void)state;
    FlLagsChoice choice;
    for (int32_t i = 0; i < FL_LAGS_CHOICES; i++) {
        assert_int_equal(fl__lags_choice_find(fl__lags_choice_name((FlLagsChoice)i), &choice),
                         FL_OK);
        assert_int_equal(choice, i);
    }
    assert_int_equal(fl__lags_choice_find("fastest", &choice), FL_NOT_FOUND);
    FlLagsDef def = fl__lags_def_default();
    FlLags *lags;
    def.self = FL_LAGS_PEERS;
    assert_int_equal(fl__lags_create(&def, 0, &lags), FL_BAD_VALUE);
    assert_null(lags);
    def.self = 0;
    def.slew_ppm = 1000000; // play time would stand still
    assert_int_equal(fl__lags_create(&def, 0, &lags), FL_BAD_VALUE);
}

static void who_is_alone_plays_at_once(void **state)
{
    (void)state;
    FlLagsDef def = fl__lags_def_default();
    FlLags *lags;
    FlLagsMessage message;
    FlTime play;
    assert_int_equal(fl__lags_create(&def, FL_SEC(77), &lags), FL_OK);
    assert_int_equal(fl__lags_next(lags, FL_SEC(77), &message), FL_NOT_FOUND);
    assert_int_equal(fl__lags_stamp(lags, FL_SEC(78), &play), FL_OK);
    assert_int_equal(fl__lags_when(lags, play), FL_SEC(78));
    assert_int_equal(fl__lags_play_time(lags, FL_SEC(78)), play);
    assert_int_equal(fl__lags_offset(lags, 0), 0);
    assert_int_equal(fl__lags_offset(lags, 1), FL_FOREVER);
    fl__lags_destroy(lags);
}

static void nonsense_is_counted_and_changes_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(811);
    FlLagsDef def = fl__lags_def_default();
    FlLags *lags;
    assert_int_equal(fl__lags_create(&def, 0, &lags), FL_OK);
    fl__lags_member(lags, 3, true, 0);
    for (int32_t k = 0; k < CASES(2000); k++) {
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)fl_random_next(&r);
        }
        bytes[0] = (uint8_t)fl_random_below(&r, 5);
        int32_t size = (int32_t)fl_random_below(&r, sizeof bytes);
        size = size == 9 || size == 14 ? 15 : size; // a probe and a READY are what they say
        fl__lags_receive(lags, 3, bytes, size, FL_SEC(1));
        fl__lags_receive(lags, 4, bytes, size, FL_SEC(1));
    }
    FlLagsStatus status = fl__lags_status(lags, FL_SEC(1));
    assert_int_equal(status.count[FL_LAGS_STRANGER], CASES(2000));
    assert_true(status.count[FL_LAGS_MALFORMED] > (uint64_t)CASES(2000) * 9 / 10);
    assert_false(status.plays);
    fl__lags_destroy(lags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_played_before_it_has_arrived_and_no_lag_is_longer_than_needed),
        cmocka_unit_test(clocks_cancel),
        cmocka_unit_test(the_reference_is_the_highest_that_the_published_rule_allows),
        cmocka_unit_test(the_best_reference_makes_the_longest_wait_shortest),
        cmocka_unit_test(free_lags_have_the_smallest_mean_there_is),
        cmocka_unit_test(free_lags_change_little_when_vectors_change_little),
        cmocka_unit_test(impossible_vectors_are_refused),
        cmocka_unit_test(as_printed_the_algorithm_is_simultaneous_for_nobody),
        cmocka_unit_test(a_vector_that_starts_from_zero_inflates_the_lags),
        cmocka_unit_test(messages_come_back_as_they_went_and_never_in_part),
        cmocka_unit_test(actions_come_back_as_they_went_and_never_in_part),
        cmocka_unit_test(names_and_definitions_are_checked),
        cmocka_unit_test(who_is_alone_plays_at_once),
        cmocka_unit_test(nonsense_is_counted_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
