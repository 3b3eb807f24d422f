// Making a crowd: settings, memory, and crowds in which nobody carries anything.
#include "crowd_support.h"

static FlCrowdDef small_def(void)
{
    FlCrowdDef def = fl__crowd_def_default();
    def.entity_capacity = 4096;
    def.self = 3;
    def.member_capacity = 20;
    return def;
}

static FlResult create(const FlCrowdDef *def, FlCrowd **crowd)
{
    FlWorld world = crowd_world();
    return fl__crowd_create(def, &world, 0, crowd);
}

static void settings_out_of_range_are_refused(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 22; i++) {
        FlCrowdDef def = small_def();
        const int32_t numbers[] = {1, 4097, 0, 20, 0, 65, 0, 65537, 0, 21};
        int32_t *fields[] = {&def.member_capacity,
                             &def.member_capacity,
                             &def.self,
                             &def.self,
                             &def.light_capacity,
                             &def.light_capacity,
                             &def.stream_capacity,
                             &def.stream_capacity,
                             &def.focus_count,
                             &def.focus_count};
        const FlTime times[] = {FL_MS(1) - 1, FL_MS(49), FL_SEC(10) + 1, 0, -1};
        FlTime *time_fields[] = {&def.frame_ns, &def.batch_ns, &def.batch_ns, &def.silence_ns,
                                 &def.extra_ns};
        const double uploads[] = {-1.0, 1e12, (double)NAN, (double)INFINITY};
        if (i < 10) {
            *fields[i] = numbers[i];
        } else if (i < 15) {
            *time_fields[i - 10] = times[i - 10];
        } else if (i < 19) {
            def.upload_bytes_s = uploads[i - 15];
        } else {
            def.first = i == 19 ? -1 : def.first;
            def.overhead_bytes = i == 20 ? -1 : i == 21 ? 1001 : def.overhead_bytes;
        }
        FlCrowd *crowd;
        assert_int_equal(create(&def, &crowd), FL_BAD_VALUE);
        assert_null(crowd);
    }
    FlCrowd *crowd;
    FlCrowdDef def = small_def();
    def.shared = false;
    def.light_capacity = 65; // nobody carries, so there may be more
    assert_int_equal(create(&def, &crowd), FL_OK);
    fl__crowd_destroy(crowd);
}

static void a_world_must_have_a_number_for_everybody(void **state)
{
    (void)state;
    FlWorldDef small = fl_world_def_default();
    small.entity_capacity = 19;
    FlWorld world;
    assert_int_equal(fl_world_init(&small, &world), FL_OK);
    FlCrowdDef def = small_def();
    FlCrowd *crowd;
    assert_int_equal(fl__crowd_create(&def, &world, 0, &crowd), FL_BAD_VALUE);
}

typedef struct Budget {
    size_t bytes;
    int32_t live, calls, fail_at;
} Budget;

static void *budget_alloc(void *ctx, size_t size, size_t align)
{
    Budget *budget = (Budget *)ctx;
    (void)align;
    if (++budget->calls == budget->fail_at) {
        return NULL;
    }
    budget->bytes += size;
    budget->live++;
    return malloc(size);
}

static void budget_free(void *ctx, void *ptr, size_t size)
{
    Budget *budget = (Budget *)ctx;
    budget->bytes -= size;
    budget->live--;
    free(ptr);
}

static void memory_is_what_was_said_and_all_of_it_comes_back(void **state)
{
    (void)state;
    for (int32_t shared = 0; shared < 2; shared++) {
        Budget budget = {0};
        FlCrowdDef def = small_def();
        FlAlloc alloc = {budget_alloc, budget_free, &budget};
        def.alloc = alloc;
        def.shared = shared == 1;
        FlCrowd *crowd;
        assert_int_equal(create(&def, &crowd), FL_OK);
        assert_int_equal(budget.bytes, fl__crowd_memory(&def));
        fl__crowd_destroy(crowd);
        assert_true(budget.bytes == 0 && budget.live == 0);
        int32_t calls = budget.calls;
        assert_true(calls > 5);
        for (int32_t n = 1; n <= calls; n++) {
            budget.calls = 0;
            budget.fail_at = n;
            assert_int_equal(create(&def, &crowd), FL_NO_MEMORY);
            assert_null(crowd);
            assert_true(budget.bytes == 0 && budget.live == 0);
        }
    }
    fl__crowd_destroy(NULL);
}

static void an_avatar_that_is_nowhere_is_refused(void **state)
{
    (void)state;
    FlCrowd *crowd = crowd_make(1, 7, 0);
    FlState nowhere = crowd_state(1, FL_SEC(1));
    nowhere.position.y = (double)NAN;
    assert_int_equal(crowd_set(crowd, &nowhere), FL_BAD_VALUE);
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- without carriers

static void exchange(FlCrowd **crowds, int32_t count, FlTime now)
{
    for (int32_t a = 1; a <= count; a++) {
        FlState state = crowd_state(a, now);
        assert_int_equal(crowd_set(crowds[a], &state), FL_OK);
        int32_t other;
        while (fl__crowd_next_to_open(crowds[a], now, &other)) {
            assert_int_equal(fl__crowd_light_open(crowds[a], other, now), FL_OK);
            assert_int_equal(fl__crowd_light_open(crowds[other], a, now), FL_OK);
        }
        uint8_t bytes[FL_CROWD_PACKET_BYTES];
        int32_t size;
        while (fl__crowd_next(crowds[a], now, bytes, sizeof bytes, &size, &other)) {
            fl__crowd_receive(crowds[other], a, bytes, size, now);
        }
    }
}

static void where_nothing_is_shared_everybody_tells_everybody(void **state)
{
    (void)state;
    enum { COUNT = 19 };
    FlCrowd *crowds[COUNT + 1];
    for (int32_t m = 1; m <= COUNT; m++) {
        FlCrowdDef def = small_def();
        def.self = m;
        def.shared = false;
        assert_int_equal(create(&def, &crowds[m]), FL_OK);
        for (int32_t other = 1; other <= COUNT; other++) {
            crowd_member(crowds[m], other, true);
        }
        fl__crowd_plan(crowds[m], 3); // means nothing here
    }
    for (FlTime now = FL_SEC(1); now < FL_SEC(4); now += FL_MS(50)) {
        exchange(crowds, COUNT, now);
    }
    for (int32_t m = 1; m <= COUNT; m++) {
        FlVec3 positions[20];
        assert_int_equal(fl__crowd_positions(crowds[m], FL_SEC(4), positions), COUNT - 1);
        FlCrowdStats stats = fl__crowd_stats(crowds[m]);
        assert_int_equal(stats.lights, COUNT - 1);
        assert_int_equal(stats.batch_updates, stats.batches); // our own only
        FlTime stamp;
        assert_int_equal(fl__crowd_carried(crowds[m], m % COUNT + 1, (m + 1) % COUNT + 1, &stamp),
                         FL_NOT_FOUND);
    }
    for (int32_t m = 1; m <= COUNT; m++) {
        fl__crowd_destroy(crowds[m]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_out_of_range_are_refused),
        cmocka_unit_test(a_world_must_have_a_number_for_everybody),
        cmocka_unit_test(memory_is_what_was_said_and_all_of_it_comes_back),
        cmocka_unit_test(an_avatar_that_is_nowhere_is_refused),
        cmocka_unit_test(where_nothing_is_shared_everybody_tells_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
