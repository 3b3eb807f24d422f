// One direction of a network: does a packet's fate follow the definitions in docs/guide/impair.md?
#include "impair/impair.h"
#include "impair_support.h"

// ---------------------------------------------------------------- loss

static double loss_share(FlImpairDef def, int32_t count, FlTime step)
{
    FlImpair *impair = make(&def);
    int32_t lost = 0;
    for (int32_t i = 0; i < count; i++) {
        lost += fl_impair_send(impair, step * i, 10).copy_count == 0;
    }
    fl_impair_destroy(impair);
    return (double)lost / count;
}

static void random_loss_has_its_rate(void **state)
{
    (void)state;
    const int32_t rates[] = {0, 1000, 25000, 300000, 500000, 999999, 1000000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        FlImpairDef def = fl_impair_def_default();
        def.settings.loss_ppm = rates[i];
        double p = rates[i] * 1e-6;
        double error = sqrt(p * (1.0 - p) / SAMPLES);
        assert_true(fabs(loss_share(def, SAMPLES, FL_US(300)) - p) <= 5.0 * error);
    }
}

static void bursts_follow_gilbert_and_elliott(void **state)
{
    (void)state;
    Burst burst;
    fl__burst_setup(&burst, 11, 2, FL_MS(90), FL_MS(10));
    const int32_t slots = 2000000;
    int32_t bad_count = 0;
    int32_t begin_count = 0;
    int32_t end_count = 0;
    int32_t longer_than_20 = 0;
    int32_t run = 0;
    for (int32_t i = 0; i < slots; i++) {
        bool bad = fl__burst_at(&burst, (uint64_t)i);
        bad_count += bad;
        begin_count += bad && run == 0;
        if (!bad && run > 0) {
            end_count++;
            longer_than_20 += run > 20;
        }
        run = bad ? run + 1 : 0;
    }
    double p = 1.0 / 90.0;
    double r = 1.0 / 10.0;
    double share = p / (p + r);
    double memory = 1.0 - p - r;
    double worth = slots * (1.0 - memory) / (1.0 + memory);
    assert_true(fabs((double)bad_count / slots - share) <
                5.0 * sqrt(share * (1.0 - share) / worth));
    // Bursts end with probability r a slot, good times with p: geometric lengths.
    assert_true(fabs((double)end_count / bad_count - r) < 5.0 * sqrt(r * (1.0 - r) / bad_count));
    double good_count = slots - bad_count;
    assert_true(fabs(begin_count / good_count - p) < 5.0 * sqrt(p * (1.0 - p) / good_count));
    double tail = pow(1.0 - r, 20);
    assert_true(fabs((double)longer_than_20 / end_count - tail) < 5.0 * sqrt(tail / end_count));
}

static void burst_loss_comes_on_top_of_random_loss(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.loss_ppm = 100000;
    def.settings.burst_gap_ns = FL_MS(30);
    def.settings.burst_length_ns = FL_MS(10);
    def.settings.burst_loss_ppm = 800000;
    double share = loss_share(def, SAMPLES, FL_MS(50)); // far apart: nearly independent
    double should = 0.75 * 0.1 + 0.25 * (1.0 - 0.9 * 0.2);
    assert_true(fabs(share - should) < 5.0 * sqrt(should * (1.0 - should) / SAMPLES));
}

static void duplication_has_its_rate_and_its_own_delay(void **state)
{
    (void)state;
    FlImpairDef def = jittery(FL_SHAPE_NORMAL);
    def.settings.duplicate_ppm = 100000;
    FlImpair *impair = make(&def);
    int32_t twice = 0;
    int32_t same = 0;
    for (int32_t i = 0; i < SAMPLES; i++) {
        FlFate fate = fl_impair_send(impair, FL_US(500) * i, 10);
        assert_in_range(fate.copy_count, 1, 2);
        twice += fate.copy_count == 2;
        same += fate.copy_count == 2 && fate.deliver_at[0] == fate.deliver_at[1];
    }
    assert_true(fabs((double)twice / SAMPLES - 0.1) < 5.0 * sqrt(0.09 / SAMPLES));
    assert_int_equal(same, 0);
    FlImpairStats stats = fl__impair_stats(impair);
    assert_int_equal(stats.duplicated_count, twice);
    assert_int_equal(stats.delivered_count, SAMPLES);
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- order and rate

static void keep_order_never_overtakes(void **state)
{
    (void)state;
    for (int32_t keep = 0; keep < 2; keep++) {
        FlImpairDef def = jittery(FL_SHAPE_NORMAL);
        def.settings.keep_order = keep != 0;
        def.settings.duplicate_ppm = 50000;
        FlImpair *impair = make(&def);
        FlTime last = 0;
        int32_t earlier = 0;
        for (int32_t i = 0; i < 10000; i++) {
            FlFate fate = fl_impair_send(impair, FL_MS(i), 10);
            for (int32_t c = 0; c < fate.copy_count; c++) {
                earlier += fate.deliver_at[c] < last;
                last = fate.deliver_at[c] > last ? fate.deliver_at[c] : last;
            }
        }
        FlImpairStats stats = fl__impair_stats(impair);
        assert_int_equal(stats.overtaken_count, earlier);
        assert_int_equal(earlier > 0, keep == 0);
        assert_int_equal(stats.held_count > 0, keep == 1);
        fl_impair_destroy(impair);
    }
}

static void bottleneck_delays_by_the_bytes_before(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.rate_bytes_s = 1000; // a byte a millisecond
    def.settings.queue_ns = FL_SEC(10);
    def.settings.delay_ns = FL_MS(40);
    def.settings.packet_extra_bytes = 28;
    FlImpair *impair = make(&def);
    assert_int_equal(fl_impair_send(impair, 0, 72).deliver_at[0], FL_MS(140));
    assert_int_equal(fl_impair_send(impair, 0, 22).deliver_at[0], FL_MS(190));
    assert_int_equal(fl_impair_send(impair, FL_MS(100), 22).deliver_at[0], FL_MS(240));
    assert_int_equal(fl_impair_send(impair, FL_MS(900), 22).deliver_at[0], FL_MS(990));
    fl_impair_destroy(impair);
}

static void bottleneck_carries_its_rate_and_drops_the_rest(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.rate_bytes_s = 123457;
    def.settings.queue_ns = FL_MS(200);
    FlImpair *impair = make(&def);
    FlTime longest = 0;
    const int32_t count = 100000; // 10 s at about 2.5 times the rate
    for (int32_t i = 0; i < count; i++) {
        FlTime now = FL_US(100) * i;
        FlFate fate = fl_impair_send(impair, now, 3);
        if (fate.copy_count > 0 && fate.deliver_at[0] - now > longest) {
            longest = fate.deliver_at[0] - now;
        }
    }
    FlImpairStats stats = fl__impair_stats(impair);
    double carried = (double)stats.delivered_count * 31.0;
    assert_true(fabs(carried - 123457.0 * 10.2) < 100.0); // the rate for 10 s and the queue's 0.2 s
    assert_int_equal(stats.queue_full_count, (uint64_t)count - stats.delivered_count);
    FlTime one = FL_SEC(31) / 123457;
    assert_true(longest > FL_MS(200) && longest <= FL_MS(200) + one + 1);
    fl_impair_destroy(impair);
}

static void a_new_rate_keeps_the_bytes_that_wait(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    def.settings.rate_bytes_s = 1000;
    def.settings.queue_ns = FL_SEC(10);
    def.settings.packet_extra_bytes = 0;
    FlImpair *impair = make(&def);
    assert_int_equal(fl_impair_send(impair, 0, 1000).deliver_at[0], FL_SEC(1));
    FlImpairSettings faster = def.settings;
    faster.rate_bytes_s = 10000;
    assert_int_equal(fl__impair_set(impair, FL_MS(500), &faster), FL_OK);
    assert_int_equal(fl_impair_send(impair, FL_MS(500), 500).deliver_at[0], FL_MS(600));
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- common random numbers

static FlImpairDef everything(uint32_t link)
{
    FlImpairDef def = jittery(FL_SHAPE_PARETO_NORMAL);
    def.link = link;
    def.seed = 42;
    def.settings.loss_ppm = 100000;
    def.settings.duplicate_ppm = 100000;
    def.settings.burst_gap_ns = FL_MS(300);
    return def;
}

static bool same_fate(FlFate a, FlFate b)
{
    return a.outcome == b.outcome && a.copy_count == b.copy_count &&
           a.deliver_at[0] == b.deliver_at[0] && a.deliver_at[1] == b.deliver_at[1];
}

static void more_packets_elsewhere_change_no_fate(void **state)
{
    (void)state;
    for (int32_t correlated = 0; correlated < 2; correlated++) {
        FlImpairDef def = everything(1);
        def.settings.correlation_ppm = correlated * 800000;
        FlImpair *sparse = make(&def);
        FlImpair *dense = make(&def);
        for (int32_t i = 0; i < 20000; i++) {
            FlTime now = FL_MS(10) * i + FL_US(i % 1000);
            FlFate expected = fl_impair_send(sparse, now, 50);
            if (i % 3 != 0) { // earlier slots get traffic that the other policy does not send
                (void)fl_impair_send(dense, FL_MS(10) * i - FL_MS(3), 1200);
                (void)fl_impair_send(dense, FL_MS(10) * i - FL_MS(1), 1200);
            }
            assert_true(same_fate(expected, fl_impair_send(dense, now, 700)));
            (void)fl_impair_send(dense, now, 3); // a second one in the slot changes only itself
        }
        fl_impair_destroy(sparse);
        fl_impair_destroy(dense);
    }
}

static void fate_hangs_on_the_index_in_the_slot(void **state)
{
    (void)state;
    FlImpairDef def = everything(1);
    FlImpair *a = make(&def);
    FlImpair *b = make(&def);
    int32_t differ = 0;
    for (int32_t i = 0; i < 1000; i++) {
        FlFate first = fl_impair_send(a, FL_MS(i), 50);
        FlFate second = fl_impair_send(a, FL_MS(i) + 10, 50);
        // Same slot and index, other moment in the slot: the same luck, so the same delay.
        FlFate also_first = fl_impair_send(b, FL_MS(i) + 300000, 50);
        assert_int_equal(first.outcome, also_first.outcome);
        for (int32_t c = 0; c < first.copy_count; c++) {
            assert_int_equal(first.deliver_at[c] + 300000, also_first.deliver_at[c]);
        }
        differ += !same_fate(first, second);
    }
    assert_true(differ > 800);
    fl_impair_destroy(a);
    fl_impair_destroy(b);
}

static void links_and_seeds_are_independent(void **state)
{
    (void)state;
    FlImpairDef one = jittery(FL_SHAPE_NORMAL);
    FlImpairDef other_link = one;
    other_link.link = fl_impair_link(0, 1);
    FlImpairDef other_seed = one;
    other_seed.seed = 2;
    const FlImpairDef *others[] = {&other_link, &other_seed};
    double *x = samples(&one, FL_MS(1), SAMPLES);
    for (int32_t i = 0; i < 2; i++) {
        double *y = samples(others[i], FL_MS(1), SAMPLES);
        double together = 0.0;
        for (int32_t k = 0; k < SAMPLES; k++) {
            together += x[k] * y[k];
        }
        assert_true(fabs(together / SAMPLES) < 5.0 / sqrt(SAMPLES));
        free(y);
    }
    free(x);
}

static void switching_one_fault_off_leaves_the_others_alone(void **state)
{
    (void)state;
    FlImpairDef all = everything(4);
    FlImpairDef no_loss = all;
    no_loss.settings.loss_ppm = 0;
    no_loss.settings.burst_gap_ns = 0;
    FlImpairDef no_jitter = all;
    no_jitter.settings.jitter_ns = 0;
    FlImpair *a = make(&all);
    FlImpair *b = make(&no_loss);
    FlImpair *c = make(&no_jitter);
    for (int32_t i = 0; i < 20000; i++) {
        FlFate fate = fl_impair_send(a, FL_MS(2) * i, 50);
        FlFate delivered = fl_impair_send(b, FL_MS(2) * i, 50);
        assert_true(fate.copy_count == 0 || same_fate(fate, delivered));
        FlFate steady = fl_impair_send(c, FL_MS(2) * i, 50);
        assert_int_equal(fate.outcome, steady.outcome);
        assert_int_equal(fate.copy_count, steady.copy_count);
    }
    fl_impair_destroy(a);
    fl_impair_destroy(b);
    fl_impair_destroy(c);
}

static void luck_by_count_follows_the_number_not_the_time(void **state)
{
    (void)state;
    FlImpairDef def = everything(9);
    def.settings.burst_gap_ns = 0; // a process in time, with or without luck by count
    def.luck_by_count = true;
    FlImpair *a = make(&def);
    FlImpair *b = make(&def);
    for (int32_t i = 0; i < 5000; i++) {
        FlTime later = FL_US(1713) * i;
        FlFate x = fl_impair_send(a, FL_MS(1) * i, 50);
        FlFate y = fl_impair_send(b, later, 50);
        assert_int_equal(x.outcome, y.outcome);
        assert_int_equal(x.copy_count, y.copy_count);
        assert_true(x.copy_count == 0 || x.deliver_at[0] - FL_MS(1) * i == y.deliver_at[0] - later);
    }
    fl_impair_destroy(a);
    fl_impair_destroy(b);
}

// ---------------------------------------------------------------- determinism

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
}

// The same on every machine and with every compiler: a changed hash is a changed network.
static void fates_have_their_golden_hash(void **state)
{
    (void)state;
    uint64_t hash = 1;
    for (int32_t shape = FL_SHAPE_CONSTANT; shape <= FL_SHAPE_PARETO_NORMAL; shape++) {
        for (int32_t correlated = 0; correlated < 2; correlated++) {
            FlImpairDef def = everything(77);
            def.settings.shape = (FlImpairShape)shape;
            def.settings.correlation_ppm = correlated * 900000;
            def.settings.rate_bytes_s = 50000;
            FlImpair *impair = make(&def);
            for (int32_t i = 0; i < 5000; i++) {
                FlFate fate = fl_impair_send(impair, FL_US(1234) * i - FL_SEC(1), i % 200);
                hash = mix(hash, (uint64_t)fate.outcome);
                hash = mix(hash, (uint64_t)fate.deliver_at[0]);
                hash = mix(hash, (uint64_t)fate.deliver_at[1]);
            }
            fl_impair_destroy(impair);
        }
    }
    assert_int_equal(hash, UINT64_C(0x38677aedcd6f5f52));
}

static void time_that_runs_back_counts_as_the_newest(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    FlImpair *impair = make(&def);
    assert_int_equal(fl_impair_send(impair, FL_SEC(5), 10).deliver_at[0], FL_SEC(5));
    assert_int_equal(fl_impair_send(impair, FL_SEC(3), 10).deliver_at[0], FL_SEC(5));
    fl_impair_destroy(impair);
}

static void extreme_times_do_no_harm(void **state)
{
    (void)state;
    FlImpairDef def = everything(0);
    def.settings.rate_bytes_s = 1000;
    def.settings.correlation_ppm = 500000;
    const FlTime times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - FL_SEC(1), INT64_MAX};
    FlImpair *impair = make(&def);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        FlFate fate = fl_impair_send(impair, times[i], 65535);
        assert_true(fate.copy_count == 0 || fate.deliver_at[0] >= times[i]);
    }
    fl_impair_destroy(impair);
}

// ---------------------------------------------------------------- settings

static void bad_settings_are_refused_with_a_reason(void **state)
{
    (void)state;
    const struct {
        const char *word;
        const char *value;
    } bad[] = {
        {"delay", "-1"},
        {"delay", "3600001"},
        {"delay", ""},
        {"delay", "."},
        {"delay", "1e3"},
        {"delay", "1.0000001"},
        {"delay", "nan"},
        {"delay", "1.2.3"},
        {"jitter", "600001"},
        {"loss", "100.01"},
        {"loss", "5%"},
        {"duplicate", "101"},
        {"correlation", "1"},
        {"correlation", "1.5"},
        {"correlation-lag", "0"},
        {"queue", "600001"},
        {"burst-loss", "200"},
        {"burst-gap", "0.5"},
        {"burst-length", "0"},
        {"rate", "0.0001"},
        {"rate", "999999999999"},
        {"extra", "1001"},
        {"keep-order", "yes"},
        {"distribution", "cauchy"},
        {"distribution", "Normal"},
        {"loss", "9999999999999"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FlImpairSettings settings = fl_impair_def_default().settings;
        FlImpairSettings before = settings;
        FlImpairError error = {0, ""};
        assert_int_equal(fl__impair_settings_set(&settings, bad[i].word, bad[i].value, &error),
                         FL_BAD_VALUE);
        assert_true(strlen(error.text) > 5);
        assert_memory_equal(&settings, &before, sizeof before);
        assert_int_equal(fl__impair_settings_set(&settings, bad[i].word, bad[i].value, NULL),
                         FL_BAD_VALUE);
    }
    FlImpairSettings settings = fl_impair_def_default().settings;
    FlImpairError error;
    assert_int_equal(fl__impair_settings_set(&settings, "delai\x1b[2J", "1", &error), FL_NOT_FOUND);
    assert_string_equal(error.text, "there is no setting 'delai?[2J'");
}

static void settings_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    FlImpairDef def = fl_impair_def_default();
    FlImpair *impair = NULL;
    def.settings.correlation_ppm = 999999;
    assert_int_equal(fl_impair_create(&def, &impair), FL_BAD_VALUE);
    assert_null(impair);
    def = fl_impair_def_default();
    def.settings.burst_gap_ns = FL_SEC(1000);
    def.settings.burst_length_ns = FL_SEC(1000);
    assert_int_equal(fl__impair_settings_check(&def.settings, NULL), FL_BAD_VALUE);
    def.settings.burst_gap_ns = FL_US(1500);
    def.settings.burst_length_ns = FL_US(1500);
    assert_int_equal(fl__impair_settings_check(&def.settings, NULL), FL_BAD_VALUE);
    def.settings.burst_length_ns = FL_US(3000);
    assert_int_equal(fl__impair_settings_check(&def.settings, NULL), FL_OK);
}

static void words_set_what_they_say(void **state)
{
    (void)state;
    FlImpairSettings s = fl_impair_def_default().settings;
    const char *const words[][2] = {
        {"delay", "200"},       {"jitter", "0.000001"},    {"distribution", "paretonormal"},
        {"correlation", ".25"}, {"keep-order", "on"},      {"loss", "2.5"},
        {"burst-gap", "1500"},  {"burst-length", "7."},    {"burst-loss", "50"},
        {"duplicate", "0.01"},  {"rate", "512"},           {"queue", "80"},
        {"extra", "48"},        {"correlation-lag", "16"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(fl__impair_settings_set(&s, words[i][0], words[i][1], NULL), FL_OK);
    }
    assert_int_equal(s.delay_ns, FL_MS(200));
    assert_int_equal(s.jitter_ns, 1);
    assert_int_equal(s.shape, FL_SHAPE_PARETO_NORMAL);
    assert_int_equal(s.correlation_ppm, 250000);
    assert_int_equal(s.correlation_lag_ns, FL_MS(16));
    assert_true(s.keep_order);
    assert_int_equal(s.loss_ppm, 25000);
    assert_int_equal(s.burst_gap_ns, FL_MS(1500));
    assert_int_equal(s.burst_length_ns, FL_MS(7));
    assert_int_equal(s.burst_loss_ppm, 500000);
    assert_int_equal(s.duplicate_ppm, 100);
    assert_int_equal(s.rate_bytes_s, 64000);
    assert_int_equal(s.queue_ns, FL_MS(80));
    assert_int_equal(s.packet_extra_bytes, 48);
}

// ---------------------------------------------------------------- memory

static int32_t alive;
static int32_t made;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
    (void)align;
    int32_t *fail_at = ctx;
    if (fail_at != NULL && made == *fail_at) {
        return NULL;
    }
    alive++;
    made++;
    return malloc(size);
}

static void counting_free(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    (void)size;
    alive--;
    free(ptr);
}

static void sending_allocates_nothing_and_failure_leaks_nothing(void **state)
{
    (void)state;
    int32_t fail_at = 0;
    FlImpairDef def = everything(0);
    def.alloc = (FlAlloc){counting_alloc, counting_free, &fail_at};
    FlImpair *impair = NULL;
    assert_int_equal(fl_impair_create(&def, &impair), FL_NO_MEMORY);
    assert_null(impair);
    def.alloc.ctx = NULL;
    impair = make(&def);
    int32_t before = made;
    for (int32_t i = 0; i < 1000; i++) {
        (void)fl_impair_send(impair, FL_MS(i), 10);
    }
    assert_int_equal(made, before);
    fl_impair_destroy(impair);
    fl_impair_destroy(NULL);
    assert_int_equal(alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_loss_has_its_rate),
        cmocka_unit_test(bursts_follow_gilbert_and_elliott),
        cmocka_unit_test(burst_loss_comes_on_top_of_random_loss),
        cmocka_unit_test(duplication_has_its_rate_and_its_own_delay),
        cmocka_unit_test(keep_order_never_overtakes),
        cmocka_unit_test(bottleneck_delays_by_the_bytes_before),
        cmocka_unit_test(bottleneck_carries_its_rate_and_drops_the_rest),
        cmocka_unit_test(a_new_rate_keeps_the_bytes_that_wait),
        cmocka_unit_test(more_packets_elsewhere_change_no_fate),
        cmocka_unit_test(fate_hangs_on_the_index_in_the_slot),
        cmocka_unit_test(links_and_seeds_are_independent),
        cmocka_unit_test(switching_one_fault_off_leaves_the_others_alone),
        cmocka_unit_test(luck_by_count_follows_the_number_not_the_time),
        cmocka_unit_test(fates_have_their_golden_hash),
        cmocka_unit_test(time_that_runs_back_counts_as_the_newest),
        cmocka_unit_test(extreme_times_do_no_harm),
        cmocka_unit_test(bad_settings_are_refused_with_a_reason),
        cmocka_unit_test(settings_that_do_not_fit_together_are_refused),
        cmocka_unit_test(words_set_what_they_say),
        cmocka_unit_test(sending_allocates_nothing_and_failure_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
