// A Δ that changes: shown time, the message, and one peer's part in agreeing on it.
#include "fairlead/show.h"

#include "show/show.h"

#include "lab/figures/jumps.h"
#include "support.h"

static FlShowDef adaptive(FlTime delta, double warp)
{
    FlShowDef def = fl_show_def_default();
    def.hold = FL_HOLD_ADAPTIVE;
    def.delta_ns = delta;
    def.warp = warp;
    return def;
}

// ---------------------------------------------------------------- shown time

static void a_change_begins_when_agreed_and_ends_at_the_new_delta(void **state)
{
    (void)state;
    FlShow show;
    FlShowDef def = adaptive(FL_MS(100), 0.1);
    fl_show_init(&show, &def);
    assert_true(fl_show_delta(&show, FL_MS(60), FL_SEC(10)));
    assert_int_equal(fl_show_time(&show, FL_SEC(9)), FL_SEC(9) - FL_MS(100));
    assert_int_equal(fl_show_time(&show, FL_SEC(10)), FL_SEC(10) - FL_MS(100));
    FlTime done = FL_SEC(10) + FL_MS(500); // 40 ms / 0.1 + 100 ms
    assert_true(fl_show_time(&show, done - FL_MS(20)) < done - FL_MS(20) - FL_MS(60));
    assert_int_equal(fl_show_time(&show, done), done - FL_MS(60));
    assert_int_equal(fl_show_time(&show, FL_SEC(99)), FL_SEC(99) - FL_MS(60));
    assert_false(fl_show_delta(&show, FL_MS(10), FL_SEC(10) - 1)); // before the last
    assert_true(fl_show_delta(&show, FL_MS(100), FL_SEC(10)));     // instead of the last
    assert_int_equal(fl_show_time(&show, FL_MS(10100)), FL_SEC(10));
    assert_int_equal(show.change_count, 1);
}

static void shown_time_never_goes_back_nor_runs_faster_than_the_warp(void **state)
{
    (void)state;
    FlRandom random = random_stream(7300);
    Worst fast = {0};
    for (int32_t i = 0; i < CASES(2000); i++) {
        FlShow show;
        double warp = fl_random_between(&random, 0.01, 0.5);
        FlShowDef def = adaptive(random_time(&random, 0, FL_MS(500)), warp);
        fl_show_init(&show, &def);
        FlTime now = FL_SEC(100);
        FlTime shown = fl_show_time(&show, now);
        for (int32_t k = 0; k < 400; k++) {
            bool crowd = show.change_count > 2 && show.changes[show.change_count - 3].from > now;
            if (random_chance(&random, 20) && !crowd) { // also while another is under way
                FlTime delta = random_time(&random, 0, FL_MS(500));
                FlTime from = now + random_time(&random, 0, FL_MS(300));
                (void)fl_show_delta(&show, delta, from);
                assert_int_equal(fl_show_time(&show, now), shown);
            }
            FlTime step = random_chance(&random, 4) ? random_time(&random, 0, 3) : FL_MS(10);
            FlTime next = fl_show_time(&show, now + step);
            assert_true(next >= shown);
            if (step == FL_MS(10)) {
                double rate = (double)(next - shown) / (double)step;
                worst_note(&fast, fabs(rate - 1.0) - warp, i);
            }
            now += step;
            shown = next;
        }
    }
    check_worst(&fast, 1e-6, "rate beyond the warp"); // nanoseconds are whole
}

static void those_told_at_different_times_show_the_same_time(void **state)
{
    (void)state;
    FlRandom random = random_stream(7301);
    FlShow early;
    FlShow late;
    FlShowDef def = adaptive(FL_MS(100), 0.08);
    fl_show_init(&early, &def);
    fl_show_init(&late, &def);
    FlTime from = FL_SEC(1);
    for (int32_t k = 0; k < 100; k++) {
        FlTime delta = FL_MS(random_time(&random, 20, 150));
        assert_true(fl_show_delta(&early, delta, from));
        for (int32_t i = 0; i < 20; i++) { // the later one hears of it at the last moment
            FlTime when = from - random_time(&random, 0, FL_MS(400));
            assert_int_equal(fl_show_time(&early, when), fl_show_time(&late, when));
        }
        assert_true(fl_show_delta(&late, delta, from));
        from += random_time(&random, FL_MS(400), FL_MS(1500));
    }
}

static void a_change_that_replaces_another_is_as_if_that_had_never_been(void **state)
{
    (void)state;
    FlShow straight;
    FlShow wavering;
    FlShowDef def = adaptive(FL_MS(100), 0.08);
    fl_show_init(&straight, &def);
    fl_show_init(&wavering, &def);
    assert_true(fl_show_delta(&straight, FL_MS(150), FL_MS(1000)));
    assert_true(fl_show_delta(&wavering, FL_MS(150), FL_MS(1000)));
    assert_true(fl_show_delta(&wavering, FL_MS(20), FL_MS(1300))); // the first is still under way
    assert_true(fl_show_delta(&wavering, FL_MS(60), FL_MS(1300)));
    assert_true(fl_show_delta(&straight, FL_MS(60), FL_MS(1300)));
    for (FlTime now = FL_MS(900); now < FL_SEC(4); now += FL_MS(1)) {
        assert_int_equal(fl_show_time(&straight, now), fl_show_time(&wavering, now));
    }
}

static void a_change_of_delta_makes_no_jump_on_screen(void **state)
{
    (void)state;
    FlRandom random = random_stream(7302);
    for (int32_t i = 0; i < CASES(50); i++) {
        FlShow show;
        Jumps jumps;
        FlShowDef def = adaptive(FL_MS(100), 0.08);
        fl_show_init(&show, &def);
        jumps_init(&jumps, 20.0);
        for (int32_t frame = 0; frame < 1200; frame++) {
            FlTime now = frame * FL_SEC(1) / 60;
            FlState truth = {.time = now, .velocity = {20.0, 0.0, 0.0}};
            truth.position.x = 20.0 * fl_span_seconds(now);
            assert_true(fl_show_own(&show, FL_MODEL_LINEAR, &truth, 0));
            if (random_chance(&random, 30)) {
                FlTime delta = FL_MS(random_time(&random, 20, 150));
                (void)fl_show_delta(&show, delta, now + FL_MS(100));
            }
            FlPose pose;
            if (fl_show_pose(&show, now, &pose) == FL_OK) {
                assert_false(jumps_see(&jumps, now, pose.position, 0));
                assert_true(fabs(pose.velocity.x - 20.0) <= 1.6 + 1e-9);
            }
        }
        assert_true(jumps.step_count > 1100);
    }
}

// ---------------------------------------------------------------- the message

static void a_message_survives_the_wire_and_nothing_else_is_read(void **state)
{
    (void)state;
    FlRandom random = random_stream(7303);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlDeltaMsg msg;
        msg.period = (uint16_t)fl_random_below(&random, 65536);
        msg.newer = (uint16_t)fl_random_below(&random, 2001);
        msg.older = (uint16_t)fl_random_below(&random, 2001);
        msg.older = random_chance(&random, 4) ? FL_DELTA_UNKNOWN : msg.older;
        uint8_t bytes[FL_DELTA_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__delta_encode(&w, &msg);
        assert_false(w.failed);
        assert_int_equal(fl_writer_size(&w), FL_DELTA_BYTES);
        for (int32_t size = 0; size <= FL_DELTA_BYTES; size++) {
            FlReader r;
            FlDeltaMsg back;
            fl_reader_init(&r, bytes, size);
            assert_int_equal(fl__delta_decode(&r, &back), size == FL_DELTA_BYTES);
            FlDeltaMsg want = {0};
            want = size == FL_DELTA_BYTES ? msg : want;
            assert_memory_equal(&back, &want, sizeof back);
        }
    }
}

static void what_no_encoder_writes_no_decoder_reads(void **state)
{
    (void)state;
    FlRandom random = random_stream(7304);
    int32_t read = 0;
    for (int32_t i = 0; i < CASES(50000); i++) {
        uint8_t bytes[FL_DELTA_BYTES];
        uint64_t bits = fl_random_next(&random);
        memcpy(bytes, &bits, sizeof bytes);
        FlReader r;
        FlDeltaMsg msg;
        fl_reader_init(&r, bytes, sizeof bytes);
        bool fits = (bits >> 16 & 2047) <= 2000 && (bits >> 38 & 3) == 0;
        uint64_t older = bits >> 27 & 2047;
        fits = fits && (older <= 2000 || older == FL_DELTA_UNKNOWN);
        assert_int_equal(fl__delta_decode(&r, &msg), fits);
        if (fits) {
            read++;
            uint8_t again[FL_DELTA_BYTES];
            FlWriter w;
            fl_writer_init(&w, again, sizeof again);
            fl__delta_encode(&w, &msg);
            assert_memory_equal(bytes, again, sizeof again);
        }
    }
    assert_true(read > 0);
}

// ---------------------------------------------------------------- one peer

static void receive(FlDeltaControl *control, const FlDeltaMsg *msg, FlTime now)
{
    uint8_t bytes[FL_DELTA_BYTES + 1] = {0};
    FlWriter w;
    fl_writer_init(&w, bytes, FL_DELTA_BYTES);
    fl__delta_encode(&w, msg);
    assert_false(fl_delta_control_receive(control, bytes, FL_DELTA_BYTES - 1, now));
    assert_false(fl_delta_control_receive(control, bytes, FL_DELTA_BYTES + 1, now));
    assert_true(fl_delta_control_receive(control, bytes, FL_DELTA_BYTES, now));
}

static FlDeltaDef plain_def(void)
{
    FlDeltaDef def = fl_delta_def_default();
    def.low_ns = 0;
    def.high_ns = FL_MS(400);
    def.fall_ns = FL_SEC(1);
    return def;
}

static int compare_times(const void *a, const void *b)
{
    const FlTime *x = (const FlTime *)a;
    const FlTime *y = (const FlTime *)b;
    return *x < *y ? -1 : *x > *y;
}

static void a_proposal_lets_as_few_be_late_as_allowed_from_every_source(void **state)
{
    (void)state;
    FlRandom random = random_stream(7305);
    for (int32_t i = 0; i < CASES(2000); i++) {
        FlDeltaControl control;
        FlDeltaDef def = plain_def();
        def.late_allowed_ppm = (int32_t)fl_random_below(&random, 300000);
        fl_delta_control_init(&control, &def);
        FlTime want = 0;
        int32_t sources = 1 + (int32_t)fl_random_below(&random, 2);
        for (int32_t source = 0; source < sources; source++) {
            FlTime took[50];
            int32_t count = 1 + (int32_t)fl_random_below(&random, 50);
            FlTime spread = random_time(&random, 1, FL_MS(200));
            for (int32_t k = 0; k < count; k++) {
                took[k] = random_time(&random, 0, spread);
                FlTime arrival = FL_SEC(9) + k;
                fl_delta_control_arrived(&control, source, arrival - took[k], arrival);
                FlTime old = FL_SEC(4) - k; // forgotten by now
                fl_delta_control_arrived(&control, source, old - FL_MS(300), old);
            }
            qsort(took, (size_t)count, sizeof took[0], compare_times);
            int32_t late = (int32_t)((int64_t)count * def.late_allowed_ppm / 1000000);
            want = took[count - 1 - late] > want ? took[count - 1 - late] : want;
        }
        FlDeltaChange change;
        (void)fl_delta_control_update(&control, FL_SEC(9) + FL_MS(100), &change);
        FlTime steps = (want + def.margin_ns + FL_DELTA_STEP_NS - 1) / FL_DELTA_STEP_NS;
        assert_int_equal(control.proposal, steps);
    }
}

static void what_is_agreed_holds_from_the_third_period_on(void **state)
{
    (void)state;
    FlDeltaControl control;
    FlDeltaChange change;
    uint8_t bytes[FL_DELTA_BYTES];
    FlDeltaDef def = plain_def();
    fl_delta_control_init(&control, &def);
    FlTime start = FL_SEC(50); // period 100
    assert_false(fl_delta_control_update(&control, start, &change));
    FlDeltaMsg first = {100, 70, FL_DELTA_UNKNOWN};
    receive(&control, &first, start + FL_MS(10));
    FlDeltaMsg more = {101, 30, 90}; // from a peer a little ahead
    receive(&control, &more, start + FL_MS(499));
    assert_true(fl_delta_control_next(&control, start + FL_MS(500), bytes));
    FlDeltaMsg msg;
    FlReader r;
    fl_reader_init(&r, bytes, sizeof bytes);
    assert_true(fl__delta_decode(&r, &msg));
    assert_int_equal(msg.period, 101);
    assert_int_equal(msg.newer, 30);
    assert_int_equal(msg.older, 90);
    assert_false(fl_delta_control_next(&control, start + FL_MS(510), bytes));
    assert_false(fl_delta_control_update(&control, start + FL_MS(999), &change));
    assert_true(fl_delta_control_update(&control, start + FL_MS(1001), &change));
    assert_int_equal(change.delta_ns, FL_MS(90));
    assert_int_equal(change.from, start + FL_MS(1500));
    FlDeltaMsg straggler = {101, 0, 95}; // still in time, and scheduled instead
    receive(&control, &straggler, start + FL_MS(1400));
    assert_true(fl_delta_control_update(&control, start + FL_MS(1401), &change));
    assert_int_equal(change.delta_ns, FL_MS(95));
    assert_int_equal(change.from, start + FL_MS(1500));
    assert_int_equal(control.stale, 0);
    receive(&control, &first, start + FL_MS(1501)); // too late
    assert_int_equal(control.stale, 1);
}

static void a_liar_raises_delta_to_the_limit_and_no_further(void **state)
{
    (void)state;
    FlDeltaControl control;
    FlDeltaChange change;
    FlDeltaDef def = plain_def();
    fl_delta_control_init(&control, &def);
    FlRandom random = random_stream(7306);
    FlTime now = 0;
    for (int32_t i = 0; i < CASES(20000); i++) {
        now += random_time(&random, 0, FL_MS(200));
        FlDeltaMsg msg;
        msg.period = (uint16_t)fl_random_below(&random, 65536);
        msg.period = random_chance(&random, 2) ? (uint16_t)control.period : msg.period;
        msg.newer = (uint16_t)fl_random_below(&random, 2001);
        msg.older = (uint16_t)fl_random_below(&random, 2001);
        receive(&control, &msg, now);
        if (fl_delta_control_update(&control, now, &change)) {
            assert_true(change.delta_ns >= def.low_ns && change.delta_ns <= def.high_ns);
            assert_true(change.from > now);
        }
        assert_true(fl__delta_control_deadline(&control) <= now + def.period_ns);
    }
    assert_true(control.stale > 0);
}

static void proposals_rise_at_once_and_fall_slowly(void **state)
{
    (void)state;
    FlDeltaControl control;
    FlDeltaChange change;
    FlDeltaDef def = fl_delta_def_default();
    fl_delta_control_init(&control, &def);
    FlTime now = 0;
    int32_t last = control.proposal;
    for (int32_t i = 0; i < 200; i++) {
        now += FL_MS(100);
        FlTime took = i < 100 ? FL_MS(30) : FL_MS(120);
        fl_delta_control_arrived(&control, 3, now - took, now);
        (void)fl_delta_control_update(&control, now, &change);
        assert_true(control.proposal >= last - 5);
        last = control.proposal;
        assert_true(i < 105 || last == 122);
        assert_true(i < 80 || i >= 100 || last == 32);
    }
}

// ---------------------------------------------------------------- jumps

static void a_jump_is_a_step_that_top_speed_does_not_allow(void **state)
{
    (void)state;
    Jumps jumps;
    jumps_init(&jumps, 10.0);
    assert_false(jumps_see(&jumps, 0, fl_vec3(5.0, 0.0, 0.0), 0));
    assert_false(jumps_see(&jumps, FL_MS(100), fl_vec3(5.0, 1.0999, 0.0), 0));
    assert_true(jumps_see(&jumps, FL_MS(200), fl_vec3(5.0, 2.2001, 0.0), 0));
    assert_false(jumps_see(&jumps, FL_MS(200), fl_vec3(9.0, 9.0, 0.0), 0)); // no time passed
    assert_false(jumps_see(&jumps, FL_MS(250), fl_vec3((double)NAN, 0.0, 0.0), 0));
    assert_false(jumps_see(&jumps, FL_MS(300), fl_vec3(99.0, 0.0, 0.0), 1)); // a cut
    assert_false(jumps_see(&jumps, FL_MS(400), fl_vec3(99.0, 0.0, 1.0), 1));
    assert_int_equal(jumps.step_count, 3);
    assert_int_equal(jumps.jump_count, 1);
    check_near(jumps.longest, 1.1002, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_begins_when_agreed_and_ends_at_the_new_delta),
        cmocka_unit_test(shown_time_never_goes_back_nor_runs_faster_than_the_warp),
        cmocka_unit_test(those_told_at_different_times_show_the_same_time),
        cmocka_unit_test(a_change_that_replaces_another_is_as_if_that_had_never_been),
        cmocka_unit_test(a_change_of_delta_makes_no_jump_on_screen),
        cmocka_unit_test(a_message_survives_the_wire_and_nothing_else_is_read),
        cmocka_unit_test(what_no_encoder_writes_no_decoder_reads),
        cmocka_unit_test(a_proposal_lets_as_few_be_late_as_allowed_from_every_source),
        cmocka_unit_test(what_is_agreed_holds_from_the_third_period_on),
        cmocka_unit_test(a_liar_raises_delta_to_the_limit_and_no_further),
        cmocka_unit_test(proposals_rise_at_once_and_fall_slowly),
        cmocka_unit_test(a_jump_is_a_step_that_top_speed_does_not_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
