// The owner's side: proposing, committing what was really sent, and choosing the model.
#include "support.h"

#include "motion/motion.h"

static FlExporterDef def_of(FlModel model)
{
    FlExporterDef def = fl_exporter_def_default();
    def.model = model;
    def.trigger.angle = (double)INFINITY;
    return def;
}

static FlState at(FlTime time, double x, double velocity)
{
    FlState state = {.time = time, .position = {x, 0.0, 0.0}, .velocity = {velocity, 0.0, 0.0}};
    return state;
}

// ---------------------------------------------------------------- proposing and committing

static void first_state_is_proposed_until_something_is_committed(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_LINEAR);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    for (int32_t i = 0; i < 3; i++) {
        FlState real = at(FL_MS(i), i, 2.0);
        FlMotion motion;
        assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_FIRST);
        assert_true(motion.time == real.time && motion.model == FL_MODEL_LINEAR);
        assert_true(same_vec3(motion.position, real.position));
        assert_true(same_vec3(motion.velocity, real.velocity));
    }
}

static void truth_is_compared_with_what_was_sent_not_with_what_was_proposed(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_LINEAR);
    def.trigger.distance = 0.1;
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    FlState real = at(0, 0.0, 1.0);
    FlMotion motion;
    assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_FIRST);
    motion.position.x = 0.06; // rounded for the wire, coarsely
    motion.velocity.x = 1.1;
    fl_exporter_commit(&exporter, &motion);
    // Sent: 0.06 + 1.1 t. Real: t. They are 0.1 apart at t = 0.4.
    real = at(FL_MS(390), 0.39, 1.0);
    FlMotion last;
    assert_int_equal(fl_exporter_feed(&exporter, &real, &last), FL_TRIGGER_NONE);
    assert_true(last.time == 0 && last.position.x == 0.06 && last.velocity.x == 1.1);
    real = at(FL_MS(410), 0.41, 1.0);
    assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_DISTANCE);
    assert_true(motion.time == FL_MS(410) && motion.position.x == 0.41);
}

// Whatever the rounding, what receivers show right after an update was due is never further from
// the truth than the threshold plus one frame's change.
static void exported_path_stays_within_the_threshold_of_the_truth(void **state)
{
    (void)state;
    FlRandom r = random_stream(130);
    const FlModel models[] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                              FL_MODEL_CIRCULAR, FL_MODEL_AUTO};
    for (int32_t i = 0; i < CASES(100); i++) {
        FlExporterDef def = def_of(models[i % 5]);
        FlExporter exporter;
        fl_exporter_init(&exporter, &def);
        FlSampler sampler = {0};
        FlVec3 position = fl_vec3(0.0, 0.0, 0.0), velocity = fl_vec3(0.0, 0.0, 0.0);
        for (int32_t frame = 0; frame < 500; frame++) {
            velocity = fl_vec3_add(velocity, random_vec3(&r, 0.5));
            position = fl_vec3_add_scaled(position, velocity, 0.016);
            FlState real = {.time = FL_MS(16) * frame, .position = position};
            assert_int_equal(fl_sampler_add(&sampler, &real, false), FL_OK);
            FlMotion motion;
            FlTrigger trigger = fl_exporter_feed(&exporter, &real, &motion);
            if (trigger != FL_TRIGGER_NONE) {
                motion.position.x = round(motion.position.x * 100.0) / 100.0;
                motion.velocity.x = round(motion.velocity.x * 10.0) / 10.0;
                fl_exporter_commit(&exporter, &motion);
            }
            double off = fl_vec3_distance(fl_motion_position(&motion, real.time), position);
            assert_true(off <= 0.1); // rounding to 5 mm is within it
        }
    }
}

static void a_cut_makes_the_next_state_a_first_one(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_AUTO);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    FlState real = at(0, 0.0, 0.0);
    FlMotion motion;
    assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_FIRST);
    fl_exporter_commit(&exporter, &motion);
    real.time = 1;
    assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_NONE);
    fl_exporter_cut(&exporter);
    real.time = 2;
    assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_FIRST);
    assert_true(motion.time == 2);
}

static void refused_states_change_nothing(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_AUTO);
    FlExporter exporter, before;
    memset(&exporter, 0, sizeof exporter);
    fl_exporter_init(&exporter, &def);
    FlMotion motion;
    for (int32_t i = 0; i < 50; i++) {
        FlState real = at(FL_MS(20) * i, sin(0.3 * i), 1.0);
        if (fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
        }
    }
    // A last frame just as predicted: taken, and newer than what was said.
    FlState calm = at(FL_MS(990), 0.0, 1.0);
    calm.position = fl_motion_position(&exporter.exported, calm.time);
    assert_int_equal(fl_exporter_feed(&exporter, &calm, &motion), FL_TRIGGER_NONE);
    memcpy(&before, &exporter, sizeof before);
    FlState bad[6];
    for (int32_t i = 0; i < 6; i++) {
        bad[i] = at(FL_SEC(2), 100.0, 0.0);
    }
    bad[0].time = FL_MS(990) - 1;
    bad[1].position.z = (double)NAN;
    bad[2].velocity.x = (double)INFINITY;
    bad[3].acceleration.y = -(double)INFINITY;
    bad[4].turn_rate = (double)NAN;
    bad[5].facing = fl_facing_yaw((double)NAN, 0.0);
    for (int32_t i = 0; i < 6; i++) {
        FlMotion last;
        assert_int_equal(fl_exporter_feed(&exporter, &bad[i], &last), FL_TRIGGER_REFUSED);
        assert_memory_equal(&exporter, &before, sizeof exporter);
        assert_true(last.time == before.exported.time);
    }
    FlState good = at(FL_MS(990), 100.0, 0.0); // the same time again is no step back
    assert_int_equal(fl_exporter_feed(&exporter, &good, &motion), FL_TRIGGER_DISTANCE);
}

static void every_proposal_has_the_horizon_and_the_model_of_the_definition(void **state)
{
    (void)state;
    const FlModel models[] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                              FL_MODEL_CIRCULAR};
    for (int32_t i = 0; i < 4; i++) {
        FlExporterDef def = def_of(models[i]);
        def.horizon_ns = FL_MS(750);
        FlExporter exporter;
        fl_exporter_init(&exporter, &def);
        FlState real = at(0, 1.0, 2.0);
        FlMotion motion;
        assert_int_equal(fl_exporter_feed(&exporter, &real, &motion), FL_TRIGGER_FIRST);
        assert_true(motion.model == models[i] && motion.horizon_ns == FL_MS(750));
    }
    FlExporterDef def = fl_exporter_def_default();
    assert_true(def.model == FL_MODEL_AUTO && def.horizon_ns == FL_FOREVER);
}

static void what_rests_is_said_to_be_still_by_the_automatic_choice(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_AUTO);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    for (int32_t i = 0; i < 20; i++) {
        FlState real = at(FL_SEC(i), 5.0, 0.0);
        FlMotion motion;
        assert_true(fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE);
        assert_true(motion.model == FL_MODEL_STILL);
        fl_exporter_commit(&exporter, &motion);
    }
}

// ---------------------------------------------------------------- synthetic drives

typedef enum Kind {
    STRAIGHTS,    // constant velocity, changed at once
    CURVES,       // constant speed, the turn rate changed at once
    ACCELERATION, // the acceleration changed at once
    MIXED,        // a kart: speeds up and brakes on straights, curves at constant speed
} Kind;

#define FRAME_NS FL_MS(16)

typedef struct Drive {
    Kind kind;
    FlRandom random, noise_random; // apart, so that noise does not change the way
    FlMotion now;                  // of this stretch
    FlTime until;
    FlTime time;
    FlSampler sampler;
    double noise; // of the velocity, m/s
} Drive;

static FlMotion next_stretch(Drive *d, const FlState *here)
{
    FlRandom *r = &d->random;
    FlState s = *here;
    double speed = fl_vec3_length(s.velocity);
    bool curve = random_chance(r, 2);
    switch (d->kind) {
    case STRAIGHTS:
        s.velocity = random_vec3(r, 20.0);
        s.velocity.z = 0.0;
        return fl_motion_make(FL_MODEL_LINEAR, &s);
    case CURVES:
        s.turn_rate = fl_random_between(r, -2.0, 2.0);
        return fl_motion_make(FL_MODEL_CIRCULAR, &s);
    case ACCELERATION:
        // To a velocity within bounds, or it would drive away for good.
        s.acceleration = fl_vec3_scale(fl_vec3_sub(random_vec3(r, 15.0), s.velocity),
                                       1e9 / (double)(d->until - d->time));
        return fl_motion_make(FL_MODEL_QUADRATIC, &s);
    case MIXED:
    default:
        if (curve) {
            double sign = random_sign(r);
            s.turn_rate = sign * fl_random_between(r, 0.8, 2.5);
            return fl_motion_make(FL_MODEL_CIRCULAR, &s);
        }
        double along = (speed > 15.0 ? -1.0 : 1.0) * fl_random_between(r, 3.0, 8.0);
        s.acceleration = fl_vec3_scale(s.velocity, along / speed);
        return fl_motion_make(FL_MODEL_QUADRATIC, &s);
    }
}

static Drive drive_start(Kind kind, uint64_t stream, double noise)
{
    FlState start = {.velocity = {12.0, 3.0, 0.0}};
    Drive d = {.kind = kind, .random = random_stream(stream), .noise = noise};
    d.noise_random = random_stream(stream + 1000);
    d.now = fl_motion_make(FL_MODEL_LINEAR, &start);
    return d;
}

static FlState drive_next(Drive *d)
{
    FlState s = {
        .time = d->time,
        .position = fl_motion_position(&d->now, d->time),
        .velocity = fl__motion_velocity(&d->now, d->time),
    };
    if (d->time >= d->until) {
        double least = d->kind == MIXED ? 0.8 : 0.4;
        d->until = d->time + fl_span_from_seconds(fl_random_between(&d->random, least, 2.5));
        d->now = next_stretch(d, &s);
        s.velocity = d->now.velocity;
    }
    if (d->noise > 0.0) {
        FlVec3 noise = random_vec3(&d->noise_random, d->noise);
        s.velocity = fl_vec3_add(s.velocity, fl_vec3(noise.x, noise.y, 0.0));
    }
    assert_int_equal(fl_sampler_add(&d->sampler, &s, true), FL_OK);
    d->time += FRAME_NS;
    return s;
}

typedef struct Outcome {
    int32_t updates;
    int32_t switches; // of the model from one update to the next
    int32_t by_model[FL_MODEL_AUTO];
    Hash picks;
} Outcome;

static Outcome export_drive(FlModel model, Kind kind, uint64_t stream, double noise, int32_t frames)
{
    FlExporterDef def = def_of(model);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    Drive drive = drive_start(kind, stream, noise);
    Outcome outcome = {.picks = hash_start()};
    FlModel before = FL_MODEL_AUTO;
    for (int32_t i = 0; i < frames; i++) {
        FlState real = drive_next(&drive);
        FlMotion motion;
        if (fl_exporter_feed(&exporter, &real, &motion) == FL_TRIGGER_NONE) {
            continue;
        }
        fl_exporter_commit(&exporter, &motion);
        outcome.updates++;
        outcome.switches += before != FL_MODEL_AUTO && motion.model != before ? 1 : 0;
        outcome.by_model[motion.model]++;
        before = motion.model;
        hash_bits(&outcome.picks, (uint64_t)motion.model);
        hash_bits(&outcome.picks, (uint64_t)motion.time);
    }
    return outcome;
}

#define TEN_MINUTES ((int32_t)(FL_SEC(600) / FRAME_NS))

static int32_t best_single(Kind kind, uint64_t stream, const char *name, int32_t chosen)
{
    int32_t linear = export_drive(FL_MODEL_LINEAR, kind, stream, 0.0, TEN_MINUTES).updates;
    int32_t circular = export_drive(FL_MODEL_CIRCULAR, kind, stream, 0.0, TEN_MINUTES).updates;
    int32_t quadratic = export_drive(FL_MODEL_QUADRATIC, kind, stream, 0.0, TEN_MINUTES).updates;
    print_message("             %s: linear %d, circular %d, quadratic %d, auto %d\n", name, linear,
                  circular, quadratic, chosen);
    int32_t best = linear < circular ? linear : circular;
    return best < quadratic ? best : quadratic;
}

static void automatic_choice_is_near_the_best_single_model(void **state)
{
    (void)state;
    const char *const names[] = {"straights", "curves", "acceleration"};
    for (Kind kind = STRAIGHTS; kind <= ACCELERATION; kind++) {
        for (uint64_t stream = 140; stream < 143; stream++) {
            int32_t chosen = export_drive(FL_MODEL_AUTO, kind, stream, 0.0, TEN_MINUTES).updates;
            int32_t best = best_single(kind, stream, names[kind], chosen);
            assert_true(chosen <= best + best / 20);
        }
    }
}

static void automatic_choice_beats_every_single_model_on_mixed_motion(void **state)
{
    (void)state;
    for (uint64_t stream = 150; stream < 155; stream++) {
        int32_t chosen = export_drive(FL_MODEL_AUTO, MIXED, stream, 0.0, TEN_MINUTES).updates;
        assert_true(chosen < best_single(MIXED, stream, "mixed", chosen));
    }
}

// Nothing here misses the threshold within the second that an update lasts at most, so no model
// saves an update; one is off by nothing, the others by three quarters of the threshold.
static void of_models_that_all_hold_the_one_least_off_is_chosen(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_AUTO);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    for (FlTime t = 0; t < FL_SEC(10); t += FL_MS(16)) {
        double s = fl_span_seconds(t);
        FlState real = at(t, 5.0 * s + 0.5 * 0.15 * s * s, 5.0 + 0.15 * s);
        real.acceleration.x = 0.15;
        FlMotion motion;
        if (fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
            assert_true(t < FL_SEC(5) || motion.model == FL_MODEL_QUADRATIC);
        }
    }
}

static void automatic_choice_does_not_flap(void **state)
{
    (void)state;
    // On motion of one kind it settles; noise must not stir it up again.
    for (Kind kind = STRAIGHTS; kind <= ACCELERATION; kind++) {
        for (int32_t level = 0; level < 3; level++) {
            double noise = level * 0.05;
            Outcome o = export_drive(FL_MODEL_AUTO, kind, 160, noise, TEN_MINUTES);
            print_message("             kind %d, noise %.2f m/s: %d updates, %d switches\n",
                          (int)kind, noise, o.updates, o.switches);
            assert_true(o.switches <= o.updates / 20);
        }
    }
}

static void automatic_choice_is_the_same_every_time(void **state)
{
    (void)state;
    for (Kind kind = STRAIGHTS; kind <= MIXED; kind++) {
        Outcome a = export_drive(FL_MODEL_AUTO, kind, 170, 0.02, 5000);
        Outcome b = export_drive(FL_MODEL_AUTO, kind, 170, 0.02, 5000);
        assert_true(a.picks.value == b.picks.value && a.updates == b.updates);
    }
}

static void automatic_choice_never_picks_what_only_others_make(void **state)
{
    (void)state;
    Outcome o = export_drive(FL_MODEL_AUTO, MIXED, 171, 0.05, TEN_MINUTES);
    assert_int_equal(o.by_model[FL_MODEL_CUBIC], 0);
    assert_int_equal(o.by_model[FL_MODEL_STILL], 0); // it never stood
    assert_true(o.by_model[FL_MODEL_CIRCULAR] > 0 && o.by_model[FL_MODEL_QUADRATIC] > 0);
}

static void what_was_learnt_survives_a_cut(void **state)
{
    (void)state;
    FlExporterDef def = def_of(FL_MODEL_AUTO);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    Drive drive = drive_start(ACCELERATION, 172, 0.0);
    for (int32_t i = 0; i < 20000; i++) {
        FlState real = drive_next(&drive);
        FlMotion motion;
        if (fl_exporter_feed(&exporter, &real, &motion) != FL_TRIGGER_NONE) {
            fl_exporter_commit(&exporter, &motion);
        }
    }
    double weight = exporter.chooser.all.weight;
    assert_true(weight > 1.0);
    fl_exporter_cut(&exporter);
    check_near(exporter.chooser.all.weight, weight, 0.0);
    for (int32_t i = 0; i < FL_CHOOSER_TRIALS; i++) {
        assert_false(exporter.chooser.trial[i].running);
    }
}

static void golden_hash_of_picks_is_the_same_in_every_build(void **state)
{
    (void)state;
    Hash hash = hash_start();
    for (Kind kind = STRAIGHTS; kind <= MIXED; kind++) {
        Outcome o = export_drive(FL_MODEL_AUTO, kind, 173, 0.02, 20000);
        hash_bits(&hash, o.picks.value);
        hash_bits(&hash, (uint64_t)o.updates);
    }
    check_hash(hash, UINT64_C(0x082d8d02ea1e34cc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_state_is_proposed_until_something_is_committed),
        cmocka_unit_test(truth_is_compared_with_what_was_sent_not_with_what_was_proposed),
        cmocka_unit_test(exported_path_stays_within_the_threshold_of_the_truth),
        cmocka_unit_test(a_cut_makes_the_next_state_a_first_one),
        cmocka_unit_test(refused_states_change_nothing),
        cmocka_unit_test(every_proposal_has_the_horizon_and_the_model_of_the_definition),
        cmocka_unit_test(what_rests_is_said_to_be_still_by_the_automatic_choice),
        cmocka_unit_test(automatic_choice_is_near_the_best_single_model),
        cmocka_unit_test(automatic_choice_beats_every_single_model_on_mixed_motion),
        cmocka_unit_test(of_models_that_all_hold_the_one_least_off_is_chosen),
        cmocka_unit_test(automatic_choice_does_not_flap),
        cmocka_unit_test(automatic_choice_is_the_same_every_time),
        cmocka_unit_test(automatic_choice_never_picks_what_only_others_make),
        cmocka_unit_test(what_was_learnt_survives_a_cut),
        cmocka_unit_test(golden_hash_of_picks_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
