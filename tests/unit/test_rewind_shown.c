// SHOWN: what is written is read, and nothing else is.
#include "support.h"

#include "rewind/private.h"
#include "show/show.h"

static FlWorld world_of(void)
{
    FlWorldDef def = fl_world_def_default();
    FlWorld world;
    assert_int_equal(fl_world_init(&def, &world), FL_OK);
    return world;
}

static ShownMessage sample(void)
{
    ShownMessage m = {.one = true, .number = 7};
    m.settings.known = true;
    m.settings.from = FL_SEC(12) + 345;
    assert_int_equal(fl__show_parse("adaptive/interpolated/smooth", &m.settings.def), FL_OK);
    m.settings.def.speed_limit = (double)INFINITY;
    m.settings.change_count = 2;
    m.settings.changes[0] = (FlDeltaChange){FL_MS(80), FL_SEC(13)};
    m.settings.changes[1] = (FlDeltaChange){FL_MS(120), FL_SEC(14)};
    return m;
}

static int32_t written(const ShownMessage *m, uint8_t *bytes)
{
    FlWriter w;
    fl_writer_init(&w, bytes, 256);
    fl__shown_write(&w, m);
    assert_false(w.failed);
    return fl_writer_size(&w);
}

// Reads what stands behind the kind.
static bool reads(const uint8_t *bytes, int32_t count, ShownMessage *m)
{
    FlWorld world = world_of();
    FlReader r;
    fl_reader_init(&r, bytes + 1, count - 1);
    return fl__shown_read(&r, &world, m) && fl_reader_left(&r) == 0;
}

static void what_is_written_is_read_and_no_part_of_it(void **state)
{
    (void)state;
    uint8_t bytes[256];
    ShownMessage m = sample();
    int32_t count = written(&m, bytes);
    assert_int_equal(count, 76 + 2 * 16);
    ShownMessage got;
    assert_true(reads(bytes, count, &got));
    uint8_t again[256];
    assert_int_equal(written(&got, again), count);
    assert_memory_equal(bytes, again, (size_t)count);
    for (int32_t cut = 1; cut < count; cut++) {
        assert_false(reads(bytes, cut, &got));
    }
}

static void what_no_sender_writes_is_refused(void **state)
{
    (void)state;
    ShownMessage bad[16];
    for (int32_t i = 0; i < 16; i++) {
        bad[i] = sample();
    }
    bad[0].one = false; // with a number
    bad[1].number = UINT16_MAX;
    bad[2].settings.def.delta_ns = FL_SEC(3);
    bad[3].settings.def.delta_ns = -1;
    bad[4].settings.def.warp = (double)NAN;
    bad[5].settings.def.step_count = 0;
    bad[6].settings.def.smooth_ns = 0;
    bad[7].settings.def.speed_limit = -1.0;
    bad[8].settings.def.catch_up = 0.0;
    bad[9].settings.def.snap_distance = (double)NAN;
    bad[10].settings.changes[1].from = FL_SEC(13); // not rising
    bad[11].settings.changes[0].delta_ns = FL_SEC(3);
    bad[12].settings.def.hold = FL_HOLD_RECKONED; // with changes
    bad[13].settings.def.placement = FL_PLACEMENT_COUNT;
    bad[14].settings.def.convergence = FL_CONVERGENCE_COUNT;
    bad[15].settings.from = INT64_MIN;
    for (int32_t i = 0; i < 16; i++) {
        uint8_t bytes[256];
        ShownMessage got;
        int32_t count = written(&bad[i], bytes);
        if (reads(bytes, count, &got)) {
            fail_msg("message %d was read", (int)i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_and_no_part_of_it),
        cmocka_unit_test(what_no_sender_writes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
