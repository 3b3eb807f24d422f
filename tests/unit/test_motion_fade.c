// Beyond what is known: how motions fade, what receivers foresee, and how owners learn it.
#include "support.h"

#include "motion/private.h"

static FlState state_of(FlRandom *r)
{
    return (FlState){
        .time = FL_SEC(3),
        .position = {fl_random_between(r, -50.0, 50.0), fl_random_between(r, -50.0, 50.0), 5.0},
        .velocity = {fl_random_between(r, -9.0, 9.0), fl_random_between(r, -9.0, 9.0),
                     fl_random_between(r, -3.0, 3.0)},
        .acceleration = {fl_random_between(r, -4.0, 4.0), fl_random_between(r, -4.0, 4.0), -2.0},
        .turn_rate = fl_random_between(r, -2.0, 2.0),
        .facing = fl_facing_yaw(1.0, 0.5),
    };
}

static FlMotion fading(FlRandom *r, FlModel model)
{
    FlState state = state_of(r);
    FlMotion motion = fl_motion_make(model, &state);
    motion.fade = (FlFade){(uint8_t)fl_random_below(r, FL_FADE_TRUSTS),
                           (uint8_t)(1 + fl_random_below(r, FL_FADE_CODES - 1)),
                           (uint8_t)fl_random_below(r, FL_FADE_CODES),
                           (uint8_t)fl_random_below(r, FL_FADE_CODES)};
    return motion;
}

static const FlModel models[] = {FL_MODEL_LINEAR, FL_MODEL_QUADRATIC, FL_MODEL_CIRCULAR};

static void a_faded_thing_goes_on_at_half_then_a_quarter_then_stops(void **state)
{
    (void)state;
    FlState at = {.velocity = {10.0, 0.0, 4.0}, .facing = fl_facing_none()};
    FlMotion m = fl_motion_make(FL_MODEL_LINEAR, &at);
    m.horizon_ns = FL_SEC(1);
    m.fade = (FlFade){.level = 7, .vertical = FL_FADE_NEVER}; // 200 ms
    const double want[][2] = {{1000, 10.0}, {1200, 12.0}, {1400, 13.0}, {1600, 14.0},
                              {1800, 14.5}, {2000, 15.0}, {5000, 15.0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        FlVec3 p = fl_motion_position(&m, FL_MS((FlTime)want[i][0]));
        assert_true(fabs(p.x - want[i][1]) < 1e-12);
        assert_true(fabs(p.z - 4e-3 * want[i][0]) < 1e-12); // which never fades
    }
    assert_true(fl__motion_velocity(&m, FL_MS(1300)).x == 5.0);
    assert_true(fl__motion_velocity(&m, FL_MS(1700)).x == 2.5);
    assert_true(fl__motion_velocity(&m, FL_MS(2100)).x == 0.0);
}

static void it_is_continuous_and_its_velocity_is_its_slope(void **state)
{
    (void)state;
    FlRandom r = {.seed = 1};
    for (int32_t n = 0; n < 300; n++) {
        FlMotion m = fading(&r, models[n % 3]);
        m.horizon_ns = FL_MS((FlTime)fl_random_below(&r, 500));
        for (FlTime t = m.time; t < m.time + FL_SEC(4); t += FL_MS(7)) {
            FlVec3 here = fl_motion_position(&m, t);
            FlVec3 next = fl_motion_position(&m, t + FL_US(10));
            FlVec3 v = fl__motion_velocity(&m, t + FL_US(5));
            FlVec3 step = fl_vec3_scale(fl_vec3_sub(next, here), 1e5);
            assert_true(fl_vec3_distance(step, v) < 1e-3 ||
                        fl_vec3_distance(step, fl__motion_velocity(&m, t)) < 20.0); // at a break
            assert_true(fl_vec3_distance(here, next) < 1e-3);
        }
    }
}

// By many small steps: good to about 1e-6.
static double summed(const FlMotion *a, const FlMotion *b, FlTime from, FlTime to)
{
    double sum = 0.0;
    const int32_t steps = 40000;
    for (int32_t i = 0; i < steps; i++) {
        FlTime t = from + (to - from) / steps * i + (to - from) / steps / 2;
        sum += fl_vec3_distance(fl_motion_position(a, t), fl_motion_position(b, t));
    }
    return sum / steps * fl_span_seconds(to - from);
}

static void the_integral_follows_what_fades(void **state)
{
    (void)state;
    FlRandom r = {.seed = 2};
    for (int32_t n = 0; n < 45; n++) {
        FlMotion a = fading(&r, models[n % 3]);
        FlMotion b = fading(&r, models[n / 3 % 3]);
        a.horizon_ns = n % 5 == 0 ? FL_FOREVER : FL_MS((FlTime)fl_random_below(&r, 900));
        b.horizon_ns = FL_MS((FlTime)fl_random_below(&r, 900));
        double want = summed(&a, &b, a.time, a.time + FL_SEC(4));
        double got = fl__distance_integral(&a, &b, a.time, a.time + FL_SEC(4));
        assert_true(fabs(got - want) < 1e-5 * want);
    }
}

static void straight_pieces_keep_the_closed_form(void **state)
{
    (void)state;
    FlRandom r = {.seed = 3};
    for (int32_t n = 0; n < 200; n++) {
        FlMotion a = fading(&r, FL_MODEL_LINEAR);
        FlMotion b = fading(&r, FL_MODEL_LINEAR);
        b.horizon_ns = FL_MS(100);
        FlTime t = fl__fade_ns(b.fade.level) < FL_SEC(3) ? fl__fade_ns(b.fade.level) : FL_MS(300);
        b.fade.vertical = b.fade.level;
        FlTime from = b.time + FL_MS(100) + t + 1; // at half its speed
        FlTime to = b.time + FL_MS(100) + 3 * t;
        bool never = b.fade.level == FL_FADE_NEVER;
        FlVec3 gap = fl_vec3_sub(fl_motion_position(&a, from), fl_motion_position(&b, from));
        FlVec3 slow = fl_vec3_scale(b.velocity, never ? 1.0 : 0.5);
        FlVec3 drift = fl_vec3_scale(fl_vec3_sub(a.velocity, slow), fl_span_seconds(to - from));
        double want = fl__distance_integral_straight(gap, drift, fl_span_seconds(to - from));
        double got = fl__distance_integral(&a, &b, from, to);
        assert_true(fabs(got - want) <= 1e-9 * want);
    }
}

static void up_to_its_times_an_update_shows_as_it_is(void **state)
{
    (void)state;
    FlRandom r = {.seed = 4};
    for (int32_t n = 0; n < 100; n++) {
        FlMotion m = fading(&r, models[n % 3]);
        m.fade = (FlFade){1, 9, 9, 9}; // 400 ms
        FlPiece piece = fl_piece_placed(&m, 1, m.time + FL_MS(400));
        assert_int_equal(piece.motion.horizon_ns, FL_MS(1500));
        piece.motion.horizon_ns = m.horizon_ns;
        assert_memory_equal(&piece.motion.position, &m.position, sizeof m.position);
        assert_memory_equal(&piece.motion.velocity, &m.velocity, sizeof m.velocity);
        assert_int_equal(piece.motion.time, m.time);
    }
}

// What fl__foresee promises, in another way: where the update had it a delay ago, and from there
// on by its fade.
static FlVec3 foreseen(const FlMotion *m, FlTime delay, FlTime time)
{
    FlTime ago = time - delay;
    FlState then = {.time = ago,
                    .position = fl_motion_position(m, ago),
                    .velocity = fl__motion_velocity(m, ago),
                    .acceleration = m->acceleration,
                    .turn_rate = m->turn_rate,
                    .facing = fl_facing_none()};
    FlMotion from = fl_motion_make(m->model, &then);
    from.horizon_ns = 0;
    from.fade = m->fade;
    return fl_motion_position(&from, time);
}

static void silence_says_that_it_held_until_a_delay_ago(void **state)
{
    (void)state;
    FlRandom r = {.seed = 5};
    for (int32_t n = 0; n < 600; n++) {
        FlMotion m = fading(&r, models[n % 3]);
        m.fade.trust = 3;
        FlTime delay = FL_MS(20) + (FlTime)fl_random_below(&r, 900000000u);
        FlPiece piece = fl_piece_placed(&m, 1, m.time + delay);
        for (FlTime t = piece.from; t < piece.from + FL_SEC(2); t += FL_MS(130)) {
            FlVec3 want = foreseen(&m, delay, t);
            FlVec3 got = fl_motion_position(&piece.motion, t);
            assert_true(fl_vec3_distance(want, got) < 1e-9);
        }
    }
}

static void what_is_paced_fades_by_its_age(void **state)
{
    (void)state;
    FlRandom r = {.seed = 6};
    for (int32_t n = 0; n < 100; n++) {
        FlMotion m = fading(&r, models[n % 3]);
        m.fade.trust = 0;
        FlPiece early = fl_piece_placed(&m, 1, m.time + FL_MS(10));
        FlPiece late = fl_piece_placed(&m, 1, m.time + FL_MS(900));
        FlTime t = m.time + FL_MS(1200);
        FlVec3 a = fl_motion_position(&early.motion, t);
        FlVec3 b = fl_motion_position(&late.motion, t);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void numbers_beyond_any_world_are_shown_as_they_are(void **state)
{
    (void)state;
    FlState at = {
        .position = {1e308, 0.0, 0.0}, .velocity = {1e308, 0, 0}, .facing = fl_facing_none()};
    FlMotion m = fl_motion_make(FL_MODEL_LINEAR, &at);
    m.fade = (FlFade){1, 7, 7, 0};
    FlPiece piece = fl_piece_placed(&m, 1, FL_SEC(5));
    assert_true(fl__motion_finite(&piece.motion));
}

static void fading_travels(void **state)
{
    (void)state;
    FlRandom r = {.seed = 7};
    FlWorldDef def = fl_world_def_default();
    FlWorld world;
    assert_int_equal(fl_world_init(&def, &world), FL_OK);
    for (int32_t n = 0; n < 300; n++) {
        FlMotion m = fading(&r, models[n % 3]);
        FlMotion rounded;
        bool wide;
        assert_int_equal(fl_update_round(&world, &m, &rounded, &wide), FL_OK);
        uint8_t bytes[FL_UPDATE_BYTES_MAX];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        FlUpdate update = {3, 1, rounded};
        assert_true(fl_update_encode(&w, &world, &update));
        FlReader reader;
        fl_reader_init(&reader, bytes, fl_writer_size(&w));
        FlUpdate got;
        assert_int_equal(fl_update_decode(&reader, &world, m.time, &got), FL_UPDATE_OK);
        FlFade want = m.fade;
        want.curve = m.model == FL_MODEL_LINEAR ? 0 : want.curve;
        assert_memory_equal(&got.motion.fade, &want, sizeof want);
        assert_memory_equal(&rounded.fade, &want, sizeof want);
    }
    FlMotion far = fading(&r, FL_MODEL_LINEAR);
    far.position.x = 1e6;
    bool wide;
    assert_int_equal(fl_update_round(&world, &far, &far, &wide), FL_OK);
    assert_true(wide && far.fade.level == 0);
}

// ---------------------------------------------------------------- learning

// Runs at 300 units a second, and somewhere else every 0.3 s: what it did says little for long.
static FlState zigzag(int32_t frame, FlVec3 *position, FlRandom *r, double *heading)
{
    if (frame % 15 == 0) {
        *heading = fl_random_between(r, -FL_PI, FL_PI);
    }
    FlVec3 v = {300.0 * cos(*heading), 300.0 * sin(*heading), 0.0};
    *position = fl_vec3_add_scaled(*position, v, 0.02);
    return (FlState){.time = FL_MS(20) * frame,
                     .position = *position,
                     .velocity = v,
                     .facing = fl_facing_none()};
}

static FlExporter auto_exporter(bool paced, FlExperience *experience)
{
    FlExporterDef def = fl_exporter_def_default();
    def.trigger.distance = 5.0;
    def.paced = paced;
    def.experience = experience;
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    return exporter;
}

static void what_wanders_is_expected_to_fade_within_seconds(void **state)
{
    (void)state;
    FlExperience experience = {0};
    FlExporter exporter = auto_exporter(false, &experience);
    FlRandom r = {.seed = 8};
    FlVec3 position = {0};
    double heading = 0.0;
    FlMotion motion;
    for (int32_t frame = 0; frame < 500; frame++) { // 10 s
        FlState real = zigzag(frame, &position, &r, &heading);
        FlTrigger trigger = fl_exporter_feed(&exporter, &real, &motion);
        if (trigger != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
        }
    }
    assert_int_equal(exporter.exported.fade.trust, 1);
    assert_in_range(fl__fade_ns(exporter.exported.fade.level), FL_MS(50), FL_MS(280));
}

static void what_goes_straight_on_never_fades(void **state)
{
    (void)state;
    FlExperience experience = {0};
    FlExporter exporter = auto_exporter(false, &experience);
    FlMotion motion;
    for (int32_t frame = 0; frame < 1000; frame++) {
        FlState real = {.time = FL_MS(20) * frame,
                        .position = {0.5 * frame, 0.0, 0.0},
                        .velocity = {25.0, 0.0, 0.0},
                        .facing = fl_facing_none()};
        if (fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
            assert_int_equal(motion.fade.level, 0); // and costs no bit
        }
    }
}

// Straight lines mislead about it, arcs do not: what is learnt of one says nothing of the other.
static FlState circling(FlTime time)
{
    double speed = 60.0;
    double turn_rate = 2.0;
    double angle = turn_rate * fl_span_seconds(time);
    double radius = speed / turn_rate;
    return (FlState){.time = time,
                     .position = {radius * sin(angle), -radius * cos(angle), 0.0},
                     .velocity = {speed * cos(angle), speed * sin(angle), 0.0},
                     .turn_rate = turn_rate,
                     .facing = fl_facing_none()};
}

static void what_circles_goes_on_circling_at_full_speed(void **state)
{
    (void)state;
    FlExperience experience = {0};
    FlExporter exporter = auto_exporter(true, &experience);
    FlMotion motion;
    FlState real = {0};
    for (int32_t frame = 0; frame < 500; frame++) { // 10 s
        real = circling(FL_MS(20) * frame);
        if (fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
        }
    }
    FlPiece piece = fl_piece_placed(&exporter.exported, 0, exporter.exported.time);
    FlTime then = exporter.exported.time + FL_MS(1500);
    FlVec3 shown = fl_motion_position(&piece.motion, then);
    assert_true(fl_vec3_distance(shown, circling(then).position) < 1.0); // of 60 across
}

static void explicit_models_do_not_fade(void **state)
{
    (void)state;
    FlExporterDef def = fl_exporter_def_default();
    def.model = FL_MODEL_LINEAR;
    FlExperience experience = {0};
    def.experience = &experience;
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    FlRandom r = {.seed = 9};
    FlVec3 position = {0};
    double heading = 0.0;
    for (int32_t frame = 0; frame < 500; frame++) {
        FlState real = zigzag(frame, &position, &r, &heading);
        FlMotion motion;
        if (fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
        }
        assert_int_equal(motion.fade.level, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_faded_thing_goes_on_at_half_then_a_quarter_then_stops),
        cmocka_unit_test(it_is_continuous_and_its_velocity_is_its_slope),
        cmocka_unit_test(the_integral_follows_what_fades),
        cmocka_unit_test(straight_pieces_keep_the_closed_form),
        cmocka_unit_test(up_to_its_times_an_update_shows_as_it_is),
        cmocka_unit_test(silence_says_that_it_held_until_a_delay_ago),
        cmocka_unit_test(what_is_paced_fades_by_its_age),
        cmocka_unit_test(numbers_beyond_any_world_are_shown_as_they_are),
        cmocka_unit_test(fading_travels),
        cmocka_unit_test(what_wanders_is_expected_to_fade_within_seconds),
        cmocka_unit_test(what_goes_straight_on_never_fades),
        cmocka_unit_test(what_circles_goes_on_circling_at_full_speed),
        cmocka_unit_test(explicit_models_do_not_fade),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
