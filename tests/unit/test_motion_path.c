// Paths: the ring against a plain list, and the integral across pieces against adding up by hand.
#include "support.h"

#include "motion/motion.h"

static FlMotion random_motion(FlRandom *r)
{
    const FlModel models[] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                              FL_MODEL_CIRCULAR};
    FlState state = random_state(r, 50.0, 10.0);
    state.time = random_time(r, -FL_SEC(1), FL_SEC(1));
    return fl_motion_make(models[fl_random_below(r, 5)], &state);
}

static uint32_t random_life(FlRandom *r, uint64_t lives)
{
    return (uint32_t)fl_random_below(r, lives);
}

static FlPiece piece_at(FlTime from, uint32_t life, FlMotion motion)
{
    FlPiece piece = {.from = from, .life = life, .motion = motion};
    return piece;
}

static FlMotion still_at(double x)
{
    FlState state = {.position = {x, 0.0, 0.0}};
    return fl_motion_make(FL_MODEL_STILL, &state);
}

static bool same_piece(const FlPiece *a, const FlPiece *b)
{
    return a->from == b->from && a->life == b->life && a->motion.model == b->motion.model &&
           a->motion.time == b->motion.time && same_vec3(a->motion.position, b->motion.position) &&
           same_vec3(a->motion.velocity, b->motion.velocity);
}

// ---------------------------------------------------------------- the ring against a list

#define LIST_CAPACITY 64

typedef struct List {
    FlPiece piece[LIST_CAPACITY];
    int32_t count, capacity;
} List;

static void list_drop(List *list)
{
    list->count--;
    memmove(list->piece, list->piece + 1, (size_t)list->count * sizeof list->piece[0]);
}

static FlResult list_add(List *list, const FlPiece *piece)
{
    FlPiece *last = list->count > 0 ? &list->piece[list->count - 1] : NULL;
    if (last != NULL && piece->from < last->from) {
        return FL_OUT_OF_ORDER;
    }
    if (last != NULL && piece->from == last->from) {
        *last = *piece;
        return FL_OK;
    }
    if (list->count == list->capacity) {
        list_drop(list);
    }
    list->piece[list->count++] = *piece;
    return FL_OK;
}

static const FlPiece *list_at(const List *list, FlTime time)
{
    const FlPiece *found = NULL;
    for (int32_t i = 0; i < list->count; i++) {
        found = list->piece[i].from <= time ? &list->piece[i] : found;
    }
    return found != NULL && found->life == FL_LIFE_NONE ? NULL : found;
}

static void list_trim(List *list, FlTime time)
{
    while (list->count > 1 && list->piece[1].from <= time) {
        list_drop(list);
    }
}

static void check_same_answers(const FlPath *path, const List *list, FlRandom *r, FlTime newest)
{
    assert_int_equal(path->count, list->count);
    for (int32_t k = 0; k < 10; k++) {
        FlTime time = random_time(r, -FL_SEC(1), newest + FL_SEC(1));
        if (list->count > 0 && random_chance(r, 2)) { // at an edge
            time = list->piece[fl_random_below(r, (uint64_t)list->count)].from -
                   (FlTime)fl_random_below(r, 2);
        }
        const FlPiece *got = fl_path_at(path, time);
        const FlPiece *want = list_at(list, time);
        assert_true((got == NULL) == (want == NULL));
        assert_true(got == NULL || same_piece(got, want));
    }
}

static void one_step(FlPath *path, List *list, FlRandom *r, FlTime *newest)
{
    switch (fl_random_below(r, 8)) {
    case 0: { // out of order
        FlTime earlier = *newest - random_time(r, 1, FL_SEC(1));
        FlPiece late = piece_at(earlier, 1, random_motion(r));
        assert_int_equal(fl_path_add(path, &late), list_add(list, &late));
        return;
    }
    case 1: { // the same start: replaces
        uint32_t life = random_life(r, 3);
        FlPiece same = piece_at(*newest, life, random_motion(r));
        assert_int_equal(fl_path_add(path, &same), list_add(list, &same));
        return;
    }
    case 2: { // the end
        *newest += random_time(r, 0, FL_SEC(1));
        FlPiece end = {.from = *newest, .life = FL_LIFE_NONE};
        assert_int_equal(fl__path_end(path, *newest), list_add(list, &end));
        return;
    }
    case 3: {
        FlTime time = random_time(r, *newest - FL_SEC(5), *newest + FL_SEC(1));
        if (list->count > 0 && random_chance(r, 2)) { // exactly at a start
            time = list->piece[fl_random_below(r, (uint64_t)list->count)].from;
        }
        fl__path_trim(path, time);
        list_trim(list, time);
        return;
    }
    default: {
        *newest += random_time(r, 1, FL_SEC(1));
        uint32_t life = random_life(r, 3);
        FlPiece next = piece_at(*newest, life, random_motion(r));
        assert_int_equal(fl_path_add(path, &next), list_add(list, &next));
    }
    }
}

static void a_path_answers_like_a_plain_list_whatever_is_done_to_it(void **state)
{
    (void)state;
    FlRandom r = random_stream(100);
    for (int32_t round = 0; round < CASES(2000); round++) {
        FlPiece storage[9];
        FlPath path;
        List list = {.capacity = 1 + round % 9};
        fl_path_init(&path, storage, list.capacity);
        FlTime newest = 0;
        for (int32_t step = 0; step < 40; step++) {
            one_step(&path, &list, &r, &newest);
            check_same_answers(&path, &list, &r, newest);
        }
    }
}

static void an_empty_path_is_nowhere(void **state)
{
    (void)state;
    FlPiece storage[2];
    FlPath path;
    fl_path_init(&path, storage, 2);
    assert_null(fl_path_at(&path, 0));
    assert_null(fl_path_at(&path, INT64_MAX));
    fl__path_trim(&path, 100);
    check_same(fl_path_distance_integral(&path, &path, INT64_MIN, INT64_MAX), 0.0);
    assert_int_equal(fl__path_end(&path, 5), FL_OK);
    assert_null(fl_path_at(&path, 5));
}

static void a_piece_that_is_not_finite_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    FlPiece storage[3];
    FlPath path;
    fl_path_init(&path, storage, 3);
    FlPiece good = piece_at(0, 1, still_at(1.0)), bad = piece_at(10, 1, still_at((double)NAN));
    assert_int_equal(fl_path_add(&path, &good), FL_OK);
    FlPath before = path;
    assert_int_equal(fl_path_add(&path, &bad), FL_BAD_VALUE);
    bad.motion = still_at((double)INFINITY);
    assert_int_equal(fl_path_add(&path, &bad), FL_BAD_VALUE);
    bad.from = 0;
    assert_int_equal(fl_path_add(&path, &bad), FL_BAD_VALUE);
    FlPiece early = piece_at(-1, 1, still_at(2.0));
    assert_int_equal(fl_path_add(&path, &early), FL_OUT_OF_ORDER);
    assert_int_equal(fl__path_end(&path, -1), FL_OUT_OF_ORDER);
    assert_memory_equal(&path, &before, sizeof path);
    assert_true(same_piece(fl_path_at(&path, 100), &good));
}

static void an_update_shows_from_its_arrival_and_never_before_its_stamp(void **state)
{
    (void)state;
    FlMotion update = still_at(1.0);
    update.time = FL_MS(100);
    FlPiece late = fl_piece_placed(&update, 7, FL_MS(150));
    assert_true(late.from == FL_MS(150) && late.life == 7 && late.motion.time == FL_MS(100));
    FlPiece early = fl_piece_placed(&update, 7, FL_MS(50));
    assert_true(early.from == FL_MS(100));
    assert_true(same_vec3(early.motion.position, update.position));
}

// ---------------------------------------------------------------- the integral across pieces

static void fill_randomly(FlPath *path, FlRandom *r, int32_t pieces)
{
    FlTime time = random_time(r, 0, FL_SEC(2));
    for (int32_t i = 0; i < pieces; i++) {
        if (random_chance(r, 6)) {
            assert_int_equal(fl__path_end(path, time), FL_OK);
        } else {
            uint32_t life = random_life(r, 2);
            FlPiece piece = piece_at(time, life, random_motion(r));
            assert_int_equal(fl_path_add(path, &piece), FL_OK);
        }
        // Often at whole tenths, so that pieces of both start at once.
        time += random_chance(r, 2) ? FL_MS(100) : random_time(r, 1, FL_SEC(1));
    }
}

#define EDGES_AT_MOST 64

// By hand: every start of a piece is an edge; between two edges both hold one motion, or none.
static double by_hand(const FlPath *a, const FlPath *b, FlTime from, FlTime to)
{
    FlTime edge[EDGES_AT_MOST] = {from, to};
    int32_t count = 2;
    const FlPath *both[2] = {a, b};
    for (int32_t k = 0; k < 2; k++) {
        for (int32_t i = 0; i < both[k]->count; i++) {
            FlTime start = both[k]->pieces[(both[k]->first + i) % both[k]->capacity].from;
            if (start > from && start < to) {
                edge[count++] = start;
            }
        }
    }
    double sum = 0.0;
    for (FlTime now = from; now < to;) {
        FlTime next = to;
        for (int32_t i = 0; i < count; i++) {
            next = edge[i] > now && edge[i] < next ? edge[i] : next;
        }
        const FlPiece *pa = fl_path_at(a, now), *pb = fl_path_at(b, now);
        if (pa != NULL && pb != NULL && pa->life == pb->life) {
            sum += fl__distance_integral(&pa->motion, &pb->motion, now, next);
        }
        now = next;
    }
    return sum;
}

static void integral_across_paths_is_that_of_their_pieces(void **state)
{
    (void)state;
    FlRandom r = random_stream(101);
    for (int32_t i = 0; i < CASES(5000); i++) {
        FlPiece storage_a[12], storage_b[12];
        FlPath a, b;
        fl_path_init(&a, storage_a, 1 + (int32_t)fl_random_below(&r, 12));
        fl_path_init(&b, storage_b, 1 + (int32_t)fl_random_below(&r, 12));
        fill_randomly(&a, &r, (int32_t)fl_random_below(&r, 20));
        fill_randomly(&b, &r, (int32_t)fl_random_below(&r, 20));
        FlTime from = random_time(&r, -FL_SEC(1), FL_SEC(6));
        FlTime to = from + random_time(&r, 0, FL_SEC(12));
        double got = fl_path_distance_integral(&a, &b, from, to);
        double want = by_hand(&a, &b, from, to);
        check_near(got, want, 1e-12 * want);
        check_near(fl_path_distance_integral(&b, &a, from, to), got, 1e-9 * got);
        check_same(fl_path_distance_integral(&a, &a, from, to), 0.0);
        // In two parts the same: nothing is counted twice or left out.
        FlTime cut = random_time(&r, from, to);
        double parts = fl_path_distance_integral(&a, &b, from, cut) +
                       fl_path_distance_integral(&a, &b, cut, to);
        check_near(parts, got, 1e-6 * got); // pieces that touch are cut elsewhere
    }
}

static void nothing_is_counted_across_a_cut(void **state)
{
    (void)state;
    FlPiece storage_a[4], storage_b[4];
    FlPath a, b;
    fl_path_init(&a, storage_a, 4);
    fl_path_init(&b, storage_b, 4);
    // The owner dies at 1 s, 3 m from where the receiver shows it, and is back at 2 s, 100 m away.
    FlPiece first_a = piece_at(0, 1, still_at(0.0)),
            second_a = piece_at(FL_SEC(2), 2, still_at(100.0));
    FlPiece first_b = piece_at(0, 1, still_at(3.0)),
            second_b = piece_at(FL_SEC(4), 2, still_at(101.0));
    assert_int_equal(fl_path_add(&a, &first_a), FL_OK);
    assert_int_equal(fl__path_end(&a, FL_SEC(1)), FL_OK);
    assert_int_equal(fl_path_add(&a, &second_a), FL_OK);
    assert_int_equal(fl_path_add(&b, &first_b), FL_OK);
    assert_int_equal(fl_path_add(&b, &second_b), FL_OK);
    check_near(fl_path_distance_integral(&a, &b, 0, FL_SEC(1)), 3.0, 1e-15);
    check_same(fl_path_distance_integral(&a, &b, FL_SEC(1), FL_SEC(4)), 0.0);
    check_near(fl_path_distance_integral(&a, &b, FL_SEC(4), FL_SEC(6)), 2.0, 1e-15);
    check_near(fl_path_distance_integral(&a, &b, -FL_SEC(9), FL_SEC(6)), 5.0, 1e-15);
    check_same(fl_path_distance_integral(&a, &b, FL_SEC(6), 0), 0.0);
    check_same(fl_path_distance_integral(&a, &b, 0, 0), 0.0);
}

static void what_the_ring_forgot_is_not_counted(void **state)
{
    (void)state;
    FlPiece storage_a[2], storage_b[1];
    FlPath a, b;
    fl_path_init(&a, storage_a, 2);
    fl_path_init(&b, storage_b, 1);
    FlPiece there = piece_at(0, 1, still_at(1.0));
    assert_int_equal(fl_path_add(&b, &there), FL_OK);
    for (int32_t i = 0; i < 5; i++) {
        FlPiece piece = piece_at(FL_SEC(i), 1, still_at(0.0));
        assert_int_equal(fl_path_add(&a, &piece), FL_OK);
    }
    // Only those of 3 and 4 s are left.
    assert_null(fl_path_at(&a, FL_SEC(3) - 1));
    check_near(fl_path_distance_integral(&a, &b, 0, FL_SEC(10)), 7.0, 1e-14);
}

static void a_receivers_view_is_off_by_speed_times_delay_after_a_change(void **state)
{
    (void)state;
    // The owner drives at 5 m/s and stops at 2 s; the receiver hears of it 100 ms later: until then
    // it shows a tank that drives on, at the end 0.5 m too far. On average half of that, for 0.1 s.
    FlState go = {.velocity = {5.0, 0.0, 0.0}};
    FlState stop = {.time = FL_SEC(2), .position = {10.0, 0.0, 0.0}};
    FlMotion drive = fl_motion_make(FL_MODEL_LINEAR, &go);
    FlMotion rest = fl_motion_make(FL_MODEL_STILL, &stop);
    FlPiece exported[2] = {piece_at(0, 1, drive), piece_at(FL_SEC(2), 1, rest)};
    FlPiece placed[2] = {fl_piece_placed(&drive, 1, FL_MS(100)),
                         fl_piece_placed(&rest, 1, FL_MS(2100))};
    FlPiece storage_a[2], storage_b[2];
    FlPath a, b;
    fl_path_init(&a, storage_a, 2);
    fl_path_init(&b, storage_b, 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(fl_path_add(&a, &exported[i]), FL_OK);
        assert_int_equal(fl_path_add(&b, &placed[i]), FL_OK);
    }
    check_near(fl_path_distance_integral(&a, &b, FL_MS(100), FL_SEC(10)), 0.025, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_answers_like_a_plain_list_whatever_is_done_to_it),
        cmocka_unit_test(an_empty_path_is_nowhere),
        cmocka_unit_test(a_piece_that_is_not_finite_is_refused_and_changes_nothing),
        cmocka_unit_test(an_update_shows_from_its_arrival_and_never_before_its_stamp),
        cmocka_unit_test(integral_across_paths_is_that_of_their_pieces),
        cmocka_unit_test(nothing_is_counted_across_a_cut),
        cmocka_unit_test(what_the_ring_forgot_is_not_counted),
        cmocka_unit_test(a_receivers_view_is_off_by_speed_times_delay_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
