// The quality experiment: its schemes send and show what their names say, and cost what they send.
#include "../unit/support.h"

#include "lab/experiments/quality/quality.h"

static const QualityScheme *scheme_named(const char *name)
{
    for (int32_t i = 0; i < quality_scheme_count; i++) {
        if (strcmp(quality_schemes[i].name, name) == 0) {
            return &quality_schemes[i];
        }
    }
    fail_msg("no scheme %s", name);
    return NULL;
}

static Material bots(void)
{
    LabRun run = {.seed = 4, .runs = 2};
    LabError error;
    Material material;
    assert_int_equal(material_bots(&run, FL_SEC(8), &material, &error), LAB_OK);
    return material;
}

static QualityFigures played(const Material *material, const char *name, double step)
{
    QualityPlay play = {.material = material,
                        .scheme = scheme_named(name),
                        .step = step,
                        .seed = 1,
                        .sealed = true,
                        .delay = {FL_MS(200)},
                        .delay_count = 1,
                        .length = FL_SEC(8)};
    QualityFigures figures[QUALITY_DELAYS];
    LabError error;
    assert_int_equal(quality_play(&play, figures, &error), LAB_OK);
    return figures[0];
}

static void a_snapshot_shown_on_arrival_is_right_for_its_time_and_late_for_now(void **state)
{
    (void)state;
    Material material = bots();
    QualityFigures arrival = played(&material, "snapshots, on arrival", 20.0);
    QualityFigures behind = played(&material, "snapshots, 100 ms behind", 20.0);
    QualityFigures on = played(&material, "snapshots, extrapolated", 20.0);
    assert_true(fabs(arrival.updates_s - 20.0) < 1.5);
    assert_true(arrival.shown_mean < 0.1 * arrival.mean);
    assert_true(behind.shown_mean < 0.1 * behind.mean);
    assert_true(behind.mean > arrival.mean); // 100 ms later still
    assert_true(on.mean < 0.5 * arrival.mean);
    assert_true(behind.jumps_min < arrival.jumps_min);
    material_free(&material);
}

static void differences_take_fewer_bytes_and_show_the_same(void **state)
{
    (void)state;
    Material material = bots();
    QualityFigures full = played(&material, "snapshots, extrapolated", 20.0);
    QualityFigures delta = played(&material, "delta snapshots, extrapolated", 20.0);
    assert_true(delta.mean == full.mean);
    assert_true(delta.bytes_s < full.bytes_s);
    assert_true(quality_delta_bytes(&material, 20.0, FL_MS(100), FL_SEC(8)) <
                quality_delta_bytes(&material, 20.0, FL_SEC(2), FL_SEC(8)));
    material_free(&material);
}

static void ours_is_less_wrong_for_fewer_bytes(void **state)
{
    (void)state;
    Material material = bots();
    QualityFigures on = played(&material, "snapshots, extrapolated", 20.0);
    QualityFigures axis = played(&material, "per-axis threshold", 0.25);
    QualityFigures ours = played(&material, QUALITY_OURS, 0.25);
    assert_true(ours.bytes_s < on.bytes_s && ours.mean < on.mean);
    assert_true(ours.bytes_s < 1.1 * axis.bytes_s && ours.mean < axis.mean);
    material_free(&material);
}

static void a_filter_keeps_one_frame_a_period(void **state)
{
    (void)state;
    Material material = bots();
    QualityFilter filter;
    const Source *all = &material.runs[0].source;
    assert_int_equal(quality_filter_make(&filter, all, QUALITY_RATE, 10.0, FL_SEC(4)), FL_OK);
    assert_in_range(filter.count, 20, 42); // fewer than 40 while it is dead
    for (int32_t i = 1; i < filter.count; i++) {
        assert_true(filter.frames[i] / FL_MS(100) > filter.frames[i - 1] / FL_MS(100));
    }
    Source source = quality_filter_source(&filter);
    assert_int_equal(source.frame_fn(source.ctx, 0), filter.frames[0]);
    assert_int_equal(source.frame_fn(source.ctx, filter.frames[3] + 1), filter.frames[4]);
    assert_int_equal(source.frame_fn(source.ctx, FL_SEC(5)), FL_FOREVER);
    quality_filter_free(&filter);
    material_free(&material);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_shown_on_arrival_is_right_for_its_time_and_late_for_now),
        cmocka_unit_test(differences_take_fewer_bytes_and_show_the_same),
        cmocka_unit_test(ours_is_less_wrong_for_fewer_bytes),
        cmocka_unit_test(a_filter_keeps_one_frame_a_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
