// Actions in one order, whatever order they come in.
#include "support.h"

#include "fairlead/agree.h"

#include "agree/agree.h"

enum { ACTIONS = 200 };

static FlOrder *order_of(int32_t capacity)
{
    FlOrderDef def = fl__order_def_default();
    def.capacity = capacity;
    def.action_bytes = 4;
    FlOrder *order;
    assert_int_equal(fl__order_create(&def, &order), FL_OK);
    return order;
}

static int by_key(const void *one, const void *other)
{
    const FlOrdered *a = (const FlOrdered *)one;
    const FlOrdered *b = (const FlOrdered *)other;
    if (a->play != b->play) {
        return a->play < b->play ? -1 : 1;
    }
    if (a->writer != b->writer) {
        return a->writer < b->writer ? -1 : 1;
    }
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/// Some writers' actions, many at equal play times, in their order.
static void make_actions(FlRandom *r, FlOrdered *actions)
{
    FlTime newest[4] = {0};
    for (int32_t i = 0; i < ACTIONS; i++) {
        FlOrdered action = {.writer = (int32_t)fl_random_below(r, 4), .sequence = (uint32_t)i};
        newest[action.writer] += (FlTime)fl_random_below(r, 4);
        action.play = newest[action.writer] - 50;
        action.count = 4;
        actions[i] = action;
    }
    qsort(actions, ACTIONS, sizeof *actions, by_key);
}

static void shuffle(FlRandom *r, FlOrdered *actions)
{
    for (int32_t i = ACTIONS - 1; i > 0; i--) {
        int32_t j = (int32_t)fl_random_below(r, (uint64_t)i + 1);
        FlOrdered action = actions[i];
        actions[i] = actions[j];
        actions[j] = action;
    }
}

static void put(FlOrder *order, const FlOrdered *action)
{
    FlOrdered copy = *action;
    uint8_t bytes[4] = {(uint8_t)action->sequence, 1, 2, (uint8_t)action->writer};
    copy.bytes = bytes;
    assert_int_equal(fl__order_put(order, &copy), FL_OK);
}

static void they_come_out_by_play_time_then_writer_however_they_went_in(void **state)
{
    (void)state;
    FlRandom r = random_stream(821);
    for (int32_t k = 0; k < CASES(100); k++) {
        FlOrdered sorted[ACTIONS];
        FlOrdered mixed[ACTIONS];
        make_actions(&r, sorted);
        memcpy(mixed, sorted, sizeof mixed);
        shuffle(&r, mixed);
        FlOrder *order = order_of(ACTIONS);
        for (int32_t i = 0; i < ACTIONS; i++) {
            put(order, &mixed[i]);
        }
        FlOrdered out;
        for (int32_t i = 0; i < ACTIONS; i++) {
            assert_int_equal(fl__order_next(order), sorted[i].play);
            assert_int_equal(fl__order_take(order, sorted[i].play - 1, &out), FL_NOT_FOUND);
            assert_int_equal(fl__order_take(order, sorted[i].play, &out), FL_OK);
            assert_true(out.writer == sorted[i].writer && out.sequence == sorted[i].sequence);
            assert_false(out.late);
            assert_int_equal(out.bytes[0], (uint8_t)out.sequence);
            assert_int_equal(out.bytes[3], out.writer);
        }
        assert_int_equal(fl__order_take(order, FL_FOREVER, &out), FL_NOT_FOUND);
        fl__order_destroy(order);
    }
}

static void what_comes_after_something_later_was_given_out_is_given_out_as_late(void **state)
{
    (void)state;
    FlRandom r = random_stream(822);
    uint64_t late = 0;
    for (int32_t k = 0; k < CASES(100); k++) {
        FlOrdered actions[ACTIONS];
        make_actions(&r, actions);
        shuffle(&r, actions);
        FlOrder *order = order_of(ACTIONS);
        FlOrdered last = {.play = INT64_MIN};
        int32_t given = 0;
        for (int32_t i = 0; i < ACTIONS; i++) {
            FlOrdered out;
            put(order, &actions[i]);
            FlTime now = random_time(&r, -60, 160);
            while (fl__order_take(order, now, &out) == FL_OK) {
                assert_int_equal(out.late, by_key(&out, &last) < 0);
                last = out.late ? last : out;
                given++;
            }
        }
        FlOrdered out;
        while (fl__order_take(order, FL_FOREVER, &out) == FL_OK) {
            given++;
        }
        assert_int_equal(given, ACTIONS); // nothing is lost
        late += fl__order_stats(order).late;
        fl__order_destroy(order);
    }
    assert_true(late > 0);
}

static void an_action_that_was_here_before_is_dropped_and_counted(void **state)
{
    (void)state;
    FlRandom r = random_stream(823);
    FlOrder *order = order_of(1000);
    bool seen[1000] = {false};
    uint64_t again = 0;
    uint32_t base = UINT32_MAX - 500; // numbers are on a circle
    FlOrdered out;
    int32_t newest = 0;
    for (int32_t k = 0; k < CASES(20000); k++) {
        newest = newest < 999 && k % 20 == 0 ? newest + 1 : newest;
        int32_t back = (int32_t)fl_random_below(&r, 256);
        int32_t number = newest - back;
        if (number < 0) {
            continue;
        }
        FlOrdered action = {.play = k, .writer = 2, .sequence = base + (uint32_t)number};
        again += seen[number] ? 1 : 0;
        seen[number] = true;
        assert_int_equal(fl__order_put(order, &action), FL_OK);
        assert_int_equal(fl__order_stats(order).duplicates, again);
        while (fl__order_take(order, FL_FOREVER, &out) == FL_OK) {
        }
    }
    FlOrdered old = {.writer = 2, .sequence = base + (uint32_t)newest - 600};
    assert_int_equal(fl__order_put(order, &old), FL_OK);
    assert_int_equal(fl__order_stats(order).duplicates, again + 1); // too old to tell
    fl__order_writer(order, 2);
    assert_int_equal(fl__order_put(order, &old), FL_OK);
    assert_int_equal(fl__order_stats(order).duplicates, again + 1); // somebody else's
    fl__order_destroy(order);
}

static void a_full_order_refuses_and_forgets_nothing(void **state)
{
    (void)state;
    FlOrder *order = order_of(3);
    FlOrdered action = {.writer = 1};
    for (uint32_t i = 0; i < 5; i++) {
        action.sequence = i;
        action.play = 10 - (FlTime)i;
        assert_int_equal(fl__order_put(order, &action), i < 3 ? FL_OK : FL_FULL);
        assert_int_equal(fl__order_room(order), i < 3 ? 2 - (int32_t)i : 0);
    }
    assert_int_equal(fl__order_stats(order).full, 2);
    FlOrdered out;
    assert_int_equal(fl__order_take(order, 100, &out), FL_OK);
    assert_int_equal(fl__order_put(order, &action), FL_OK); // a refused one may come again
    action.count = 5;
    assert_int_equal(fl__order_put(order, &action), FL_BAD_VALUE);
    fl__order_destroy(order);
}

static void before_anything_is_played_nothing_is_given_out(void **state)
{
    (void)state;
    FlOrder *order = order_of(3);
    FlOrdered action = {.writer = 1, .play = INT64_MIN};
    FlOrdered out;
    assert_int_equal(fl__order_put(order, &action), FL_OK);
    assert_int_equal(fl__order_take(order, INT64_MIN, &out), FL_NOT_FOUND); // as lags say it
    assert_int_equal(fl__order_take(order, INT64_MIN + 1, &out), FL_OK);
    fl__order_destroy(order);
}

/// By what is dropped on the way: one writer's earliest, and whatever is too far ahead.
static void what_is_dropped_is_gone_and_the_rest_keeps_its_order(void **state)
{
    (void)state;
    FlRandom r = random_stream(824);
    for (int32_t k = 0; k < CASES(200); k++) {
        FlOrdered sorted[ACTIONS];
        FlOrdered mixed[ACTIONS];
        make_actions(&r, sorted);
        memcpy(mixed, sorted, sizeof mixed);
        shuffle(&r, mixed);
        FlOrder *order = order_of(ACTIONS);
        int32_t waiting[4] = {0};
        for (int32_t i = 0; i < ACTIONS; i++) {
            put(order, &mixed[i]);
            waiting[mixed[i].writer]++;
        }
        int32_t writer = (int32_t)fl_random_below(&r, 4);
        int32_t drops = (int32_t)fl_random_below(&r, 30);
        FlTime last = random_time(&r, -60, 160);
        for (int32_t i = 0; i < drops; i++) {
            assert_int_equal(fl__order_waiting(order, writer), waiting[writer] - i);
            assert_true(fl__order_drop(order, writer));
        }
        int32_t trimmed = fl__order_trim(order, last);
        int32_t skipped = 0;
        int32_t beyond = 0;
        FlOrdered out;
        for (int32_t i = 0; i < ACTIONS; i++) {
            bool skip = sorted[i].writer == writer && skipped < drops;
            skipped += skip ? 1 : 0;
            beyond += !skip && sorted[i].play > last ? 1 : 0;
            if (!skip && sorted[i].play <= last) {
                assert_int_equal(fl__order_take(order, FL_FOREVER, &out), FL_OK);
                assert_true(out.writer == sorted[i].writer && out.sequence == sorted[i].sequence);
                assert_int_equal(out.bytes[0], (uint8_t)out.sequence);
                assert_false(out.late);
            }
        }
        assert_int_equal(trimmed, beyond);
        assert_int_equal(fl__order_take(order, FL_FOREVER, &out), FL_NOT_FOUND);
        assert_int_equal(fl__order_waiting(order, writer), 0);
        assert_false(fl__order_drop(order, writer));
        assert_int_equal(fl__order_room(order), ACTIONS);
        fl__order_destroy(order);
    }
}

/// Memory that runs out after so many requests.
typedef struct Scarce {
    int32_t left, live;
} Scarce;

static void *scarce_alloc(void *ctx, size_t size, size_t align)
{
    Scarce *scarce = (Scarce *)ctx;
    (void)align;
    if (scarce->left-- <= 0) {
        return NULL;
    }
    scarce->live++;
    return calloc(1, size);
}

static void scarce_free(void *ctx, void *ptr, size_t size)
{
    Scarce *scarce = (Scarce *)ctx;
    (void)size;
    scarce->live--;
    free(ptr);
}

static void without_memory_nothing_is_made_and_later_nothing_is_needed(void **state)
{
    (void)state;
    FlResult result = FL_NO_MEMORY;
    for (int32_t n = 0; result != FL_OK; n++) {
        Scarce scarce = {.left = n};
        FlOrderDef def = fl__order_def_default();
        FlAlloc alloc = {scarce_alloc, scarce_free, &scarce};
        def.alloc = alloc;
        FlOrder *order;
        result = fl__order_create(&def, &order);
        FlLagsDef lags_def = fl__lags_def_default();
        lags_def.alloc = alloc;
        FlLags *lags = NULL;
        result = result == FL_OK ? fl__lags_create(&lags_def, 0, &lags) : result;
        if (result == FL_OK) {
            FlOrdered action = {.sequence = 1};
            int32_t live = scarce.live;
            assert_int_equal(fl__order_put(order, &action), FL_OK);
            fl__lags_member(lags, 5, true, 0);
            assert_int_equal(scarce.left, 0);
            assert_int_equal(scarce.live, live);
        }
        fl__lags_destroy(lags);
        fl__order_destroy(order);
        assert_int_equal(scarce.live, 0);
        assert_true(n < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_out_by_play_time_then_writer_however_they_went_in),
        cmocka_unit_test(what_comes_after_something_later_was_given_out_is_given_out_as_late),
        cmocka_unit_test(an_action_that_was_here_before_is_dropped_and_counted),
        cmocka_unit_test(a_full_order_refuses_and_forgets_nothing),
        cmocka_unit_test(before_anything_is_played_nothing_is_given_out),
        cmocka_unit_test(what_is_dropped_is_gone_and_the_rest_keeps_its_order),
        cmocka_unit_test(without_memory_nothing_is_made_and_later_nothing_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
