// lab/actors/source: where entities really are.
#include "support.h"

#include "lab/actors/bots.h"
#include "lab/actors/source.h"

/// The velocity is the rate of change of the position, at every frame and between.
static void check_velocity(const Source *source, FlTime until, double allowed)
{
    const FlTime step = FL_MS(1);
    for (FlTime t = step; t < until; t += FL_MS(37)) {
        Truth before;
        Truth here;
        Truth after;
        assert_true(source->truth_fn(source->ctx, t - step, &before));
        assert_true(source->truth_fn(source->ctx, t, &here));
        assert_true(source->truth_fn(source->ctx, t + step, &after));
        assert_int_equal(here.state.time, t);
        if (before.life == after.life) {
            FlVec3 rate = fl_vec3_scale(fl_vec3_sub(after.state.position, before.state.position),
                                        1.0 / 0.002);
            check_vec3_near(rate, here.state.velocity, allowed);
        }
    }
}

static void lines_are_straight_and_end_in_a_cut(void **state)
{
    (void)state;
    const Straight straight = {25.0, 390.0, 7};
    Source source = source_straight(&straight, FL_SEC(100));
    check_velocity(&source, FL_SEC(90), 1e-6);
    Truth a;
    Truth b;
    assert_true(source.truth_fn(source.ctx, FL_SEC(31), &a));
    assert_true(source.truth_fn(source.ctx, FL_SEC(32), &b));
    assert_int_equal(a.life, 0);
    assert_int_equal(b.life, 1);
    for (FlTime t = 0; t < FL_SEC(100); t += FL_MS(100)) {
        assert_true(source.truth_fn(source.ctx, t, &a));
        assert_true(fl_vec3_length(a.state.position) < 391.0);
        check_near(fl_vec3_length(a.state.velocity), 25.0, 1e-9);
    }
    assert_false(source.truth_fn(source.ctx, -1, &a));
}

static void a_circle_goes_round_both_ways(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        const Circle circle = {25.0, i == 0 ? 0.785 : -0.785, fl_vec3(10.0, -20.0, 3.0), 1.0};
        Source source = source_circle(&circle, FL_SEC(60));
        check_velocity(&source, FL_SEC(50), 1e-4);
        Truth truth;
        assert_true(source.truth_fn(source.ctx, FL_SEC(11), &truth));
        check_near(fl_vec3_distance(truth.state.position, circle.centre), 25.0 / 0.785, 1e-9);
        // the motion that its state makes is the circle itself
        FlMotion motion = fl_motion_make(FL_MODEL_CIRCULAR, &truth.state);
        assert_true(source.truth_fn(source.ctx, FL_SEC(14), &truth));
        check_vec3_near(fl_motion_position(&motion, FL_SEC(14)), truth.state.position, 1e-9);
    }
}

static void frames_are_even_and_none_is_left_out(void **state)
{
    (void)state;
    const Circle circle = {25.0, 0.785, fl_vec3(0.0, 0.0, 0.0), 0.0};
    Source source = source_circle(&circle, FL_SEC(60));
    FlTime t = source.frame_fn(source.ctx, 0);
    for (int64_t frame = 0; frame < 1000; frame++) {
        assert_int_equal(t, frame * FL_SEC(1) / SOURCE_FRAME_HZ);
        assert_int_equal(source.frame_fn(source.ctx, t), t);
        t = source.frame_fn(source.ctx, t + 1);
    }
}

/// Three frames of a life, one pause, two frames of the next.
static void make_recording(Recording *recording)
{
    static const FlTime times[] = {0, FL_MS(10), FL_MS(30), FL_MS(100), FL_MS(110)};
    for (int32_t i = 0; i < 5; i++) {
        FlState state = {.time = times[i], .position = fl_vec3((double)i, 0.0, 0.0)};
        state.velocity = fl_vec3((double)i, 0.0, 0.0);
        assert_int_equal(recording_add(recording, &state, i < 3 ? 4 : 5), FL_OK);
    }
}

static void a_recording_is_there_at_its_frames_and_straight_between(void **state)
{
    (void)state;
    Recording recording = {0};
    make_recording(&recording);
    Source source = source_recording(&recording);
    Truth truth;
    assert_int_equal(source.length, FL_MS(110));
    assert_true(source.truth_fn(source.ctx, FL_MS(15), &truth));
    check_near(truth.state.position.x, 1.25, 1e-12);
    assert_int_equal(truth.life, 4);
    assert_true(source.truth_fn(source.ctx, FL_MS(30), &truth));
    check_near(truth.state.position.x, 2.0, 1e-12);
    assert_false(source.truth_fn(source.ctx, FL_MS(31), &truth)); // between two lives
    assert_false(source.truth_fn(source.ctx, FL_MS(99), &truth));
    assert_true(source.truth_fn(source.ctx, FL_MS(100), &truth));
    assert_int_equal(truth.life, 5);
    assert_false(source.truth_fn(source.ctx, FL_MS(111), &truth));
    assert_int_equal(source.frame_fn(source.ctx, FL_MS(31)), FL_MS(100));
    assert_int_equal(source.frame_fn(source.ctx, FL_MS(111)), FL_FOREVER);
    check_same(recording.top_speed, 4.0);
    FlState late = {.time = FL_MS(110)};
    assert_int_equal(recording_add(&recording, &late, 5), FL_OUT_OF_ORDER);
    recording_free(&recording);
}

static void a_trace_gives_its_long_lives_one_after_another(void **state)
{
    (void)state;
    Trace trace;
    TraceError error;
    assert_true(trace_load("data/tanks/match01_80s.csv.gz", &trace, &error));
    const FlTime life_min = FL_SEC(10);
    int32_t lives = 0;
    for (int32_t t = 0; t < trace.track_count; t++) {
        const TraceTrack *track = &trace.tracks[t];
        lives += track->id == 4 && trace_track_span(&trace, track) >= life_min ? 1 : 0;
    }
    Recording recording;
    assert_int_equal(recording_from_trace(&trace, 4, life_min, FL_SEC(3), &recording), FL_OK);
    assert_true(lives > 0 && recording.count > 0);
    assert_int_equal(recording.frames[0].state.time, 0);
    assert_int_equal(recording.frames[recording.count - 1].life, lives - 1);
    for (int32_t i = 1; i < recording.count; i++) {
        const Frame *a = &recording.frames[i - 1];
        const Frame *b = &recording.frames[i];
        FlTime gap = b->state.time - a->state.time;
        assert_true(a->life == b->life ? gap > 0 : gap == FL_SEC(3));
    }
    recording_free(&recording);
    assert_int_equal(recording_from_trace(&trace, 4, FL_SEC(1000), 0, &recording), FL_OK);
    assert_int_equal(recording.count, 0);
    trace_free(&trace);
}

static void bots_move_and_the_same_seed_moves_them_alike(void **state)
{
    (void)state;
    Recording a;
    Recording b;
    Recording c;
    assert_int_equal(bots_record(3, FL_SEC(20), &a), FL_OK);
    assert_int_equal(bots_record(3, FL_SEC(20), &b), FL_OK);
    assert_int_equal(bots_record(4, FL_SEC(20), &c), FL_OK);
    assert_int_equal(a.count, b.count);
    assert_int_equal(a.frames[0].state.time, 0);
    double way = 0.0;
    bool other = a.count != c.count;
    for (int32_t i = 0; i < a.count; i++) {
        assert_true(same_vec3(a.frames[i].state.position, b.frames[i].state.position));
        other = other || !same_vec3(a.frames[i].state.position, c.frames[i].state.position);
        way += fl_vec3_length(a.frames[i].state.velocity) / 60.0;
    }
    assert_true(other);
    assert_true(way > 50.0);
    recording_free(&a);
    recording_free(&b);
    recording_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_straight_and_end_in_a_cut),
        cmocka_unit_test(a_circle_goes_round_both_ways),
        cmocka_unit_test(frames_are_even_and_none_is_left_out),
        cmocka_unit_test(a_recording_is_there_at_its_frames_and_straight_between),
        cmocka_unit_test(a_trace_gives_its_long_lives_one_after_another),
        cmocka_unit_test(bots_move_and_the_same_seed_moves_them_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
