// Traces in memory: tracks by entity and life, samples in order, states ready for an exporter.
#define _POSIX_C_SOURCE 200809L // mkstemp
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/trace/trace.h"
#include "lab/trace/trace_info.h"

/// Loads a trace from its text. Answers whether it was read.
static bool load(const char *text, Trace *trace, TraceError *error)
{
    char path[] = "/tmp/fairlead_test_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    bool ok = trace_load(path, trace, error);
    unlink(path);
    return ok;
}

static Trace loaded(const char *text)
{
    Trace trace;
    TraceError error;
    if (!load(text, &trace, &error)) {
        fail_msg("%s", error.text);
    }
    return trace;
}

static void assert_track(const Trace *trace, int32_t t, int64_t id, int64_t life, int32_t count)
{
    assert_int_equal(trace->tracks[t].id, id);
    assert_int_equal(trace->tracks[t].life, life);
    assert_int_equal(trace->tracks[t].count, count);
}

static void tracks_go_by_id_then_time_and_a_new_life_is_a_cut(void **state)
{
    (void)state;
    Trace trace = loaded("life,z,y,x,id,t\n"
                         "5,0,0,1,9,0\n"
                         "1,0,0,2,-3,0\n"
                         "5,0,0,3,9,0.5\n"
                         "2,0,0,4,-3,0.5\n"
                         "2,0,0,5,-3,1\n"
                         "1,0,0,6,-3,2\n"); // an old life again: still a cut
    assert_int_equal(trace.track_count, 4);
    assert_int_equal(trace.entity_count, 2);
    assert_track(&trace, 0, -3, 1, 1);
    assert_track(&trace, 1, -3, 2, 2);
    assert_track(&trace, 2, -3, 1, 1);
    assert_track(&trace, 3, 9, 5, 2);
    const double x[] = {2, 4, 5, 6, 1, 3};
    for (int32_t i = 0; i < 6; i++) {
        assert_true(trace.column[TRACE_X][i] == x[i]);
    }
    assert_int_equal(trace.time[5], FL_MS(500));
    assert_int_equal(trace_track_span(&trace, &trace.tracks[1]), FL_MS(500));
    assert_int_equal(trace.end, FL_SEC(2));
    assert_true(trace.has_life);
    trace_free(&trace);
    trace_free(&trace); // an empty one is fine
}

static void only_known_columns_are_kept(void **state)
{
    (void)state;
    Trace trace = loaded("t,weapon,id,x,y,z,yaw,vx,vy,speed\n0,7,1,0,0,0,1.5,1,1,9\n");
    assert_non_null(trace.column[TRACE_YAW]);
    assert_null(trace.column[TRACE_VX]); // without vz there is no velocity
    assert_false(trace_has_velocity(&trace));
    assert_string_equal(trace.ignored, "weapon,vx,vy,speed");
    assert_false(trace.has_life);
    trace_free(&trace);
}

static void many_entities_are_told_apart(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    char *text = malloc(COUNT * 64);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "t,id,x,y,z\n");
    for (int64_t i = 0; i < 2 * COUNT; i++) {
        long long id = (long long)((i % COUNT) * 0x100000001);
        at += (size_t)sprintf(text + at, "%d,%lld,%lld,0,0\n", i < COUNT ? 0 : 1, id, (long long)i);
    }
    Trace trace = loaded(text);
    assert_int_equal(trace.entity_count, COUNT);
    assert_int_equal(trace.track_count, COUNT);
    for (int32_t t = 0; t < COUNT; t++) {
        assert_track(&trace, t, t * 0x100000001, 0, 2);
        assert_true(trace.column[TRACE_X][trace.tracks[t].first + 1] == t + COUNT);
    }
    trace_free(&trace);
    free(text);
}

static void states_take_columns_or_derive(void **state)
{
    (void)state;
    Trace trace = loaded("t,id,x,y,z\n0,1,0,0,0\n0.5,1,1,2,0\n");
    FlSampler sampler = {0};
    FlState first = trace_state(&trace, 0, &sampler);
    FlState second = trace_state(&trace, 1, &sampler);
    assert_true(first.velocity.x == 0.0 && first.facing.kind == FL_FACING_NONE);
    assert_true(second.velocity.x == 2.0 && second.velocity.y == 4.0);
    trace_free(&trace);
    trace = loaded("t,id,x,y,z,vx,vy,vz,yaw,yaw_rate\n0,1,0,0,0,3,4,5,0.5,0.25\n");
    sampler = (FlSampler){0};
    first = trace_state(&trace, 0, &sampler);
    assert_true(first.velocity.z == 5.0 && first.turn_rate == 0.25);
    assert_true(first.facing.kind == FL_FACING_YAW && first.facing.yaw == 0.5);
    assert_true(first.facing.yaw_rate == 0.25);
    trace_free(&trace);
}

static void errors_name_the_place_and_leave_nothing(void **state)
{
    (void)state;
    Trace trace;
    TraceError error;
    assert_false(load("t,id,x,y,z\n0,1,0,0,0\n1,1,0,oops,0\n", &trace, &error));
    assert_non_null(strstr(error.text, ":3:7: column 'y' is not a number: 'oops'"));
    assert_null(trace.tracks);
    assert_int_equal(trace.sample_count, 0);
    assert_false(trace_load("/nowhere/at/all.csv", &trace, &error));
    assert_string_equal(error.text, "/nowhere/at/all.csv: No such file or directory");
}

static void figures_are_those_of_the_samples(void **state)
{
    (void)state;
    Trace trace = loaded("t,id,x,y,z\n0,1,0,0,0\n1,1,3,4,0\n1,2,0,0,0\n4,1,3,4,0\n");
    TraceInfo info;
    assert_int_equal(trace_info(&trace, &info), FL_OK);
    assert_true(info.length_s == 4.0 && info.life_s == 4.0 && info.rate_hz == 0.5);
    assert_true(info.gap_min_s == 1.0 && info.gap_median_s == 1.0 && info.gap_max_s == 3.0);
    assert_true(info.speed_mean == 2.5 && info.speed_max == 5.0 && info.speed_p95 == 5.0);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tracks_go_by_id_then_time_and_a_new_life_is_a_cut),
        cmocka_unit_test(only_known_columns_are_kept),
        cmocka_unit_test(many_entities_are_told_apart),
        cmocka_unit_test(states_take_columns_or_derive),
        cmocka_unit_test(errors_name_the_place_and_leave_nothing),
        cmocka_unit_test(figures_are_those_of_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
