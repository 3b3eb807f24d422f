// lab/experiments/accuracy: the experiment against what is known without it.
#include "../unit/support.h"

#include "lab/actors/duel.h"
#include "lab/experiments/accuracy/accuracy.h"
#include "lab/trace/reckon.h"

enum { DELAYS = 3, MODES = 3 };

static LabRun one_run(uint64_t seed)
{
    LabRun run = {.seed = seed, .runs = 1};
    return run;
}

static void play(const AccuracyPlay *def, AccuracyFigures *figures)
{
    LabError error;
    if (accuracy_play(def, figures, NULL, NULL, &error) != LAB_OK) {
        print_error("%s\n", error.text);
        fail();
    }
}

/// Straight and circular motion has no surprises: errors follow from speed, delay and turn rate.
static void formulas_give_the_errors_of_the_textbook(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        LabRun run = one_run(3);
        LabError error;
        Material material;
        AccuracyFigures f[DELAYS * MODES];
        assert_int_equal(i == 0 ? material_straight(&run, FL_SEC(60), &material, &error)
                                : material_circle(&run, FL_SEC(60), &material, &error),
                         LAB_OK);
        AccuracyPlay def = accuracy_play_default(&material, 0, 3);
        play(&def, f);
        for (int32_t d = 0; d < DELAYS; d++) {
            double s = fl_span_seconds(def.delay[d]);
            double radius = TANK_SPEED / TANK_TURN_RATE;
            double late = i == 0 ? TANK_SPEED * s : 2.0 * radius * sin(TANK_TURN_RATE * s / 2.0);
            const AccuracyFigures *of = &f[d * MODES];
            check_near(of[0].mean, late, 0.03);
            check_near(of[1].mean, 0.0, 0.03);
            check_near(of[2].mean, 0.0, 0.03);
            check_near(of[1].session_residual, 0.0, 1e-9);
            assert_true(of[1].clock_worst_ms < 1.0);
            assert_true(of[1].samples > 5000);
        }
        material_free(&material);
    }
}

/// With a relay between, the ways add up.
static void a_relay_adds_its_way(void **state)
{
    (void)state;
    LabRun run = one_run(4);
    LabError error;
    Material material;
    assert_int_equal(material_straight(&run, FL_SEC(40), &material, &error), LAB_OK);
    for (int32_t m = 0; m < MODES; m++) {
        AccuracyFigures f[DELAYS];
        AccuracyPlay def = accuracy_play_default(&material, 0, 4);
        def.mode[0] = def.mode[m];
        def.mode_count = 1;
        def.relay = FL_MS(50);
        def.host_mode = def.mode[0] == FL_TIME_ONE_WAY ? FL_TIME_ONE_WAY : FL_TIME_GLOBAL;
        play(&def, f);
        for (int32_t d = 0; d < DELAYS; d++) {
            double late = TANK_SPEED * (fl_span_seconds(def.delay[d]) + 0.05);
            check_near(f[d].mean, def.mode[0] == FL_TIME_LOCAL ? late : 0.0, 0.05);
        }
    }
    material_free(&material);
}

/// Errors of one entity's long lives, looked at as the experiment does.
typedef struct Errors {
    double sum, max;
    int64_t count;
} Errors;

static void add_errors(const Reckoning *reckoning, const Trace *trace, const TraceTrack *track,
                       const Source *source, FlTime begin, Errors *errors)
{
    FlTime span = trace_track_span(trace, track);
    FlTime start = trace->time[track->first];
    for (FlTime t = 0; t <= span; t += FL_MS(10)) {
        Truth truth;
        const FlPiece *piece = fl_path_at(&reckoning->placed, start + t);
        if (piece != NULL && source->truth_fn(source->ctx, begin + t, &truth)) {
            FlVec3 placed = fl_motion_position(&piece->motion, start + t);
            double error = fl_vec3_distance(placed, truth.state.position);
            errors->sum += error;
            errors->max = fmax(errors->max, error);
            errors->count++;
        }
    }
}

/// The trace played straight to the library's exporter and placement rule (lab/trace/reckon).
static Errors reckoned(const Trace *trace, const MaterialRun *run, FlTime delay,
                       const FlExporterDef *def)
{
    Errors errors = {0};
    Reckoning reckoning = {0};
    FlTime begin = 0;
    for (int32_t t = 0; t < trace->track_count; t++) {
        const TraceTrack *track = &trace->tracks[t];
        if (track->id == run->entity && trace_track_span(trace, track) >= FL_SEC(30)) {
            assert_int_equal(reckoning_export(&reckoning, trace, track, def), FL_OK);
            reckoning_place(&reckoning, delay);
            add_errors(&reckoning, trace, track, &run->source, begin, &errors);
            begin += trace_track_span(trace, track) + FL_SEC(3);
        }
    }
    reckoning_free(&reckoning);
    return errors;
}

/// Another way to the same figures, without sessions, packets, rounding or clocks.
static void sessions_see_what_reckoning_says(void **state)
{
    (void)state;
    LabError error;
    TraceError problem;
    Trace trace;
    Material material;
    Worst worst = {0};
    const char *path = "data/tanks/match01_80s.csv.gz";
    assert_true(trace_load(path, &trace, &problem));
    assert_int_equal(material_trace(path, FL_SEC(30), &material, &error), LAB_OK);
    FlExporterDef exporter = fl_exporter_def_default();
    exporter.model = FL_MODEL_CIRCULAR;
    exporter.trigger = accuracy_play_default(&material, 0, 1).trigger;
    for (int32_t r = 0; r < material.run_count; r++) {
        AccuracyFigures f[DELAYS];
        AccuracyPlay def = accuracy_play_default(&material, r, 1);
        def.mode[0] = FL_TIME_GLOBAL;
        def.mode_count = 1;
        play(&def, f);
        for (int32_t d = 0; d < DELAYS; d++) {
            Errors wanted = reckoned(&trace, &material.runs[r], def.delay[d], &exporter);
            double mean = wanted.sum / (double)wanted.count;
            worst_note(&worst, fabs(f[d].mean / mean - 1.0), r * DELAYS + d);
            check_near(f[d].max, wanted.max, 0.1 + 0.02 * wanted.max);
            check_near((double)f[d].samples, (double)wanted.count, 0.002 * (double)wanted.count);
        }
    }
    // What is near the threshold triggers a frame sooner or later when rounded.
    check_worst(&worst, 0.02, "relative difference of means");
    material_free(&material);
    trace_free(&trace);
}

/// Whether sealed or not, the same is shown.
static void sealing_changes_nothing_that_is_seen(void **state)
{
    (void)state;
    LabRun run = one_run(5);
    LabError error;
    Material material;
    assert_int_equal(material_bots(&run, FL_SEC(40), &material, &error), LAB_OK);
    AccuracyFigures f[2][DELAYS * MODES];
    for (int32_t i = 0; i < 2; i++) {
        AccuracyPlay def = accuracy_play_default(&material, 0, 5);
        def.sealed = i == 1;
        play(&def, f[i]);
    }
    for (int32_t c = 0; c < DELAYS * MODES; c++) {
        check_near(f[0][c].mean, f[1][c].mean, 0.02);
        assert_int_equal(f[0][c].samples, f[1][c].samples);
    }
    material_free(&material);
}

static void bots_hit_each_other_through_sessions(void **state)
{
    (void)state;
    DuelResult result[2];
    for (int32_t i = 0; i < 2; i++) {
        DuelDef def = {.seed = 2, .delay = FL_MS(50), .mode = FL_TIME_GLOBAL, .length = FL_SEC(60)};
        LabError error;
        assert_int_equal(duel_play(&def, &result[i], &error), LAB_OK);
    }
    assert_true(result[0].shots > 50);
    assert_true(result[0].hits > 5);
    assert_true(result[0].hits < result[0].shots);
    assert_int_equal(result[0].shots, result[1].shots);
    assert_int_equal(result[0].hits, result[1].hits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_give_the_errors_of_the_textbook),
        cmocka_unit_test(a_relay_adds_its_way),
        cmocka_unit_test(sessions_see_what_reckoning_says),
        cmocka_unit_test(sealing_changes_nothing_that_is_seen),
        cmocka_unit_test(bots_hit_each_other_through_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
