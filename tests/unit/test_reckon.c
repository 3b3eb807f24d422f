// Dead reckoning on traces small enough to be worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "lab/trace/reckon.h"

#define SAMPLES 11

/// A trace of one entity, ten samples a second, in memory that lives with the test.
typedef struct Fixture {
    Trace trace;
    TraceTrack tracks[2];
    FlTime time[SAMPLES];
    double x[SAMPLES];
    double zero[SAMPLES];
} Fixture;

/// Stands at 0 until sample 5, then walks at 1 unit/s.
static void prepare(Fixture *fixture)
{
    *fixture = (Fixture){.tracks = {{.id = 1, .count = SAMPLES}}};
    for (int32_t i = 0; i < SAMPLES; i++) {
        fixture->time[i] = FL_MS(100 * i);
        fixture->x[i] = i <= 5 ? 0.0 : 0.1 * (i - 5);
    }
    Trace *trace = &fixture->trace;
    *trace = (Trace){.sample_count = SAMPLES, .track_count = 1, .entity_count = 1};
    trace->tracks = fixture->tracks;
    trace->time = fixture->time;
    trace->column[TRACE_X] = fixture->x;
    trace->column[TRACE_Y] = trace->column[TRACE_Z] = fixture->zero;
}

static ReckonDef make_def(const FlTime *delays, int32_t delay_count, double distance,
                          FlTime silence)
{
    ReckonDef def = {fl_exporter_def_default(), delays, delay_count, NULL, NULL, false};
    def.exporter.model = FL_MODEL_LINEAR;
    def.exporter.trigger = (FlTriggerDef){distance, HUGE_VAL, silence};
    return def;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12)) {
        fail_msg("%.17g, should be %.17g", got, want);
    }
}

static void the_owner_speaks_when_the_distance_is_exceeded(void **state)
{
    (void)state;
    Fixture fixture;
    prepare(&fixture);
    const FlTime delays[] = {0, FL_MS(200)};
    ReckonDef def = make_def(delays, 2, 0.15, FL_FOREVER);
    ReckonResult result;
    assert_int_equal(reckon_run(&fixture.trace, &def, &result), FL_OK);
    // Told at 0 (standing) and at 0.7 (0.2 away, walking at 1 unit/s).
    assert_int_equal(result.update_count[0], 2);
    assert_int_equal(result.update_total, 2);
    assert_int_equal(result.span_total_ns, FL_SEC(1));
    // Without delay what is placed is what was told; it was wrong by 0.1 at 0.6 only.
    assert_int_equal(result.views[0].samples, 11);
    assert_near(result.views[0].export_error, 0.0);
    assert_near(result.views[0].mean_error, 0.1 / 11.0);
    assert_near(result.views[0].max_error, 0.1);
    // 0.2 s late: seen standing from 0.7 to 0.9, while told to be at 0.2 ... 0.4.
    assert_int_equal(result.views[1].samples, 9);
    assert_near(result.views[1].export_error, 0.06);
    assert_near(result.views[1].mean_error, (0.1 + 0.2 + 0.3) / 9.0);
    assert_near(result.views[1].max_error, 0.3);
    reckon_free(&result);
}

static void nothing_is_counted_across_a_cut(void **state)
{
    (void)state;
    Fixture fixture;
    prepare(&fixture);
    for (int32_t i = 6; i < SAMPLES; i++) {
        fixture.x[i] = 1000.0; // it respawned somewhere else
    }
    fixture.tracks[0].count = 6;
    fixture.tracks[1] = (TraceTrack){.id = 1, .life = 1, .first = 6, .count = 5};
    fixture.trace.track_count = 2;
    const FlTime delay = FL_MS(100);
    ReckonDef def = make_def(&delay, 1, 0.1, FL_FOREVER);
    ReckonResult result;
    assert_int_equal(reckon_run(&fixture.trace, &def, &result), FL_OK);
    for (int32_t t = 0; t < 2; t++) {
        assert_int_equal(result.update_count[t], 1);
        assert_int_equal(result.views[t].samples, 5 - t);
        assert_near(result.views[t].export_error, 0.0);
        assert_near(result.views[t].max_error, 0.0);
    }
    assert_int_equal(result.span_total_ns, FL_MS(900));
    reckon_free(&result);
}

static void silence_ends_at_the_very_nanosecond(void **state)
{
    (void)state;
    Fixture fixture;
    prepare(&fixture);
    const FlTime delay = 0;
    ReckonDef def = make_def(&delay, 1, HUGE_VAL, FL_MS(500));
    ReckonResult result;
    assert_int_equal(reckon_run(&fixture.trace, &def, &result), FL_OK);
    assert_int_equal(result.update_count[0], 3);
    reckon_free(&result);
    def = make_def(&delay, 1, HUGE_VAL, FL_MS(500) + 1);
    assert_int_equal(reckon_run(&fixture.trace, &def, &result), FL_OK);
    assert_int_equal(result.update_count[0], 2);
    reckon_free(&result);
}

static void what_never_arrives_is_not_counted(void **state)
{
    (void)state;
    Fixture fixture;
    prepare(&fixture);
    const FlTime delays[] = {FL_SEC(1), FL_SEC(1) + 1};
    ReckonDef def = make_def(delays, 2, 0.1, FL_FOREVER);
    ReckonResult result;
    assert_int_equal(reckon_run(&fixture.trace, &def, &result), FL_OK);
    assert_int_equal(result.views[0].samples, 1); // the first update arrives with the last sample
    assert_near(result.views[0].max_error, 0.5);
    assert_near(result.views[0].export_error, 0.0);
    assert_int_equal(result.views[1].samples, 0);
    reckon_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_speaks_when_the_distance_is_exceeded),
        cmocka_unit_test(nothing_is_counted_across_a_cut),
        cmocka_unit_test(silence_ends_at_the_very_nanosecond),
        cmocka_unit_test(what_never_arrives_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
