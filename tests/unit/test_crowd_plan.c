// Who sits where and who carries what to whom: whoever is there, and whatever the plane, any two
// are neighbours or have one who carries between them; everybody works out the same.
#include "support.h"

#include "crowd/private.h"

enum { FIRST = 1 };

static FlWorld any_world(void)
{
    FlWorldDef def = fl_world_def_default();
    def.entity_capacity = 4096;
    FlWorld world;
    assert_int_equal(fl_world_init(&def, &world), FL_OK);
    return world;
}

static FlCrowd *make(int32_t self, int32_t capacity)
{
    FlCrowdDef def = fl__crowd_def_default();
    def.entity_capacity = 4096;
    def.self = self;
    def.first = FIRST;
    def.member_capacity = capacity;
    def.stream_capacity = 1;
    def.focus_count = 1;
    FlWorld world = any_world();
    FlCrowd *crowd;
    assert_int_equal(fl__crowd_create(&def, &world, 0, &crowd), FL_OK);
    return crowd;
}

static void tell(FlCrowd *crowd, const bool *present, int32_t order)
{
    for (int32_t m = FIRST; m < crowd->def.member_capacity; m++) {
        fl__crowd_member(crowd, m, present[m]);
    }
    fl__crowd_plan(crowd, order);
    crowd->plan.again = 0;
    fl__crowd_replan(crowd, FL_SEC(1));
}

// How the host numbers them: some in a row, then some have gone.
static int32_t draw(FlRandom *r, bool *present, int32_t capacity, int32_t gone_percent)
{
    int32_t count = 0;
    for (int32_t m = FIRST; m < capacity; m++) {
        present[m] = fl_random_below(r, 100) >= (uint64_t)gone_percent;
        count += present[m] ? 1 : 0;
    }
    return count;
}

static int32_t some_order(FlRandom *r, int32_t capacity)
{
    const int32_t primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};
    int32_t count = 0;
    while (count < 11 && fl__plane_seats(primes[count]) <= capacity) {
        count++;
    }
    return count > 0 ? primes[fl_random_below(r, (uint64_t)count)] : 0;
}

// ---------------------------------------------------------------- every two

static void check_pair(const FlCrowd *crowd, int32_t a, int32_t b)
{
    bool linked = fl__crowd_linked(crowd, a, b);
    assert_true(linked == fl__crowd_linked(crowd, b, a));
    if (linked) {
        return;
    }
    int32_t carrier = fl__crowd_carrier(crowd, a, b);
    assert_in_range(carrier, FIRST, crowd->def.member_capacity - 1);
    assert_int_equal(fl__crowd_carrier(crowd, b, a), carrier);
    assert_true(crowd->present[carrier] && carrier != a && carrier != b);
    assert_true(fl__crowd_linked(crowd, carrier, a));
    assert_true(fl__crowd_linked(crowd, carrier, b));
}

static void any_two_are_neighbours_or_one_carries_between_them(void **state)
{
    (void)state;
    FlRandom r = {.seed = 4};
    for (int32_t i = 0; i < CASES(150); i++) {
        int32_t capacity = FIRST + 7 + (int32_t)fl_random_below(&r, 150);
        int32_t order = some_order(&r, capacity);
        int32_t gone = (int32_t)fl_random_below(&r, 95);
        bool present[512] = {false};
        (void)draw(&r, present, capacity, gone);
        present[FIRST] = true;
        FlCrowd *crowd = make(FIRST, capacity);
        tell(crowd, present, order);
        assert_int_equal(crowd->plan.order, order);
        for (int32_t a = FIRST; a < capacity; a++) {
            for (int32_t b = FIRST; b < a; b++) {
                if (present[a] && present[b]) {
                    check_pair(crowd, a, b);
                }
            }
        }
        fl__crowd_destroy(crowd);
    }
}

static void a_thousand_have_at_most_sixty_four_neighbours(void **state)
{
    (void)state;
    FlRandom r = {.seed = 5};
    int32_t most = 0;
    for (int32_t i = 0; i < CASES(12); i++) {
        const int32_t capacity = FIRST + 1000;
        static bool present[1001];
        int32_t count = draw(&r, present, capacity, i % 6);
        FlCrowd *crowd = make(FIRST, capacity);
        present[FIRST] = true;
        tell(crowd, present, i < 6 ? 31 : fl__plane_order_for(count)); // not told yet, or told
        for (int32_t a = FIRST; a < capacity; a++) {
            int32_t neighbours = 0;
            for (int32_t b = FIRST; b < capacity && present[a]; b++) {
                if (b != a && present[b]) {
                    neighbours += fl__crowd_linked(crowd, a, b) ? 1 : 0;
                    if (a % 37 == 0) {
                        check_pair(crowd, a, b);
                    }
                }
            }
            most = neighbours > most ? neighbours : most;
        }
        fl__crowd_destroy(crowd);
    }
    print_message("             at most %d neighbours\n", most);
    assert_in_range(most, 33, 64);
}

static double mean_neighbours(int32_t players, int32_t order)
{
    int32_t capacity = FIRST + players;
    static bool present[1500];
    for (int32_t m = 0; m < capacity; m++) {
        present[m] = m >= FIRST;
    }
    FlCrowd *crowd = make(FIRST, capacity);
    tell(crowd, present, order);
    int32_t pairs = 0;
    for (int32_t a = FIRST; a < capacity; a++) {
        for (int32_t b = FIRST; b < capacity; b++) {
            pairs += a != b && fl__crowd_linked(crowd, a, b) ? 1 : 0;
        }
    }
    fl__crowd_destroy(crowd);
    return (double)pairs / players;
}

static void a_plane_that_is_nearly_filled_has_fewer_neighbours_than_a_shared_one(void **state)
{
    (void)state;
    static const struct {
        int32_t players, shared;
    } crowds[] = {{12, 2}, {29, 3}, {54, 5}, {125, 7}, {180, 11}, {300, 13}, {375, 17}, {540, 19}};
    for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++) {
        int32_t players = crowds[i].players;
        double shared = mean_neighbours(players, crowds[i].shared);
        double chosen = mean_neighbours(players, fl__plane_order_for(players));
        print_message("             %d players: %.1f neighbours, %.1f if they shared seats\n",
                      players, chosen, shared);
        assert_true(fl__plane_order_for(players) > crowds[i].shared && chosen < shared);
    }
}

// Where seats are shared, and where some of many are gone, at whatever size.
static void neighbours_are_spread_evenly(void **state)
{
    (void)state;
    static const struct {
        int32_t players, gone_percent, most;
    } crowds[] = {{132, 0, 24},  {132, 10, 24}, {870, 5, 46},  {992, 0, 40},
                  {992, 10, 54}, {1055, 0, 40}, {1406, 0, 54}, {1406, 5, 54}};
    FlRandom r = {.seed = 12};
    for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++) {
        int32_t capacity = FIRST + crowds[i].players;
        static bool present[1500];
        (void)draw(&r, present, capacity, crowds[i].gone_percent);
        present[FIRST] = true;
        FlCrowd *crowd = make(FIRST, capacity);
        tell(crowd, present, fl__plane_order_for(crowds[i].players));
        int32_t most = 0;
        for (int32_t a = FIRST; a < capacity; a++) {
            int32_t neighbours = 0;
            for (int32_t b = FIRST; b < capacity && present[a]; b++) {
                bool near = b != a && present[b] && fl__crowd_linked(crowd, a, b);
                neighbours += near ? 1 : 0;
            }
            most = neighbours > most ? neighbours : most;
        }
        print_message("             %d players, %d percent gone: %d neighbours at most\n",
                      crowds[i].players, crowds[i].gone_percent, most);
        assert_true(most <= crowds[i].most);
        fl__crowd_destroy(crowd);
    }
}

// ---------------------------------------------------------------- everybody

typedef struct Everybody {
    FlCrowd *crowd[160];
    bool present[160];
    int32_t capacity;
} Everybody;

static void open_lights(Everybody *all, int32_t self)
{
    FlCrowd *crowd = all->crowd[self];
    for (int32_t i = 0; i < crowd->neighbour_count; i++) {
        FlResult result = fl__crowd_light_open(crowd, crowd->neighbours[i], FL_SEC(1));
        assert_int_equal(result, FL_OK);
    }
    crowd->plan.again = 0;
    fl__crowd_replan(crowd, FL_SEC(1));
}

static void begin(Everybody *all, FlRandom *r, int32_t order, int32_t gone)
{
    (void)draw(r, all->present, all->capacity, gone);
    for (int32_t m = FIRST; m < all->capacity; m++) {
        all->crowd[m] = all->present[m] ? make(m, all->capacity) : NULL;
        if (all->present[m]) {
            tell(all->crowd[m], all->present, order);
            open_lights(all, m);
        }
    }
}

static void end(Everybody *all)
{
    for (int32_t m = FIRST; m < all->capacity; m++) {
        fl__crowd_destroy(all->crowd[m]);
    }
}

// By what it does, not by what it was asked.
static bool carries(const Everybody *all, int32_t carrier, int32_t from, int32_t to)
{
    const FlCrowd *crowd = all->crowd[carrier];
    int32_t from_light = crowd->light_of[from];
    int32_t to_light = crowd->light_of[to];
    return from_light >= 0 && to_light >= 0 &&
           (crowd->lights[to_light].carries >> from_light & 1u) != 0;
}

static int32_t carriers(const Everybody *all, int32_t from, int32_t to)
{
    int32_t count = 0;
    for (int32_t c = FIRST; c < all->capacity; c++) {
        count += all->present[c] && c != from && c != to && carries(all, c, from, to) ? 1 : 0;
    }
    return count;
}

static void everybody_comes_to_the_same_answer(void **state)
{
    (void)state;
    FlRandom r = {.seed = 6};
    for (int32_t i = 0; i < CASES(25); i++) {
        Everybody all = {.capacity = FIRST + 8 + (int32_t)fl_random_below(&r, 90)};
        int32_t natural = fl__plane_order_for(all.capacity - FIRST);
        int32_t below = natural > 2 ? fl__plane_order_for(fl__plane_seats(natural) - 1) : natural;
        int32_t gone = (int32_t)fl_random_below(&r, 30);
        begin(&all, &r, i % 3 == 0 ? below : natural, gone);
        for (int32_t a = FIRST; a < all.capacity; a++) {
            for (int32_t b = FIRST; b < all.capacity; b++) {
                if (a == b || !all.present[a] || !all.present[b]) {
                    continue;
                }
                bool linked = all.crowd[a]->is_neighbour[b];
                assert_true(linked == all.crowd[b]->is_neighbour[a]);
                assert_int_equal(carriers(&all, a, b), linked ? 0 : 1);
            }
        }
        end(&all);
    }
}

static void who_shares_a_seat_shares_the_work(void **state)
{
    (void)state;
    FlRandom r = {.seed = 7};
    Everybody all = {.capacity = FIRST + 132}; // more than two at each of 57 seats
    begin(&all, &r, 7, 0);
    int32_t work[160] = {0};
    for (int32_t c = FIRST; c < all.capacity; c++) {
        for (int32_t i = 0; i < all.crowd[c]->def.light_capacity; i++) {
            work[c] += __builtin_popcountll(all.crowd[c]->lights[i].carries);
        }
    }
    for (int32_t seat = 0; seat < 57; seat++) {
        int32_t sum = 0;
        int32_t count = 0;
        for (int32_t m = FIRST + seat; m < all.capacity; m += 57) {
            sum += work[m];
            count++;
        }
        for (int32_t m = FIRST + seat; m < all.capacity; m += 57) {
            assert_true(work[m] * count >= sum * 6 / 10 && work[m] * count <= sum * 14 / 10);
        }
    }
    end(&all);
}

// ---------------------------------------------------------------- orders

static void an_order_that_is_none_changes_nothing(void **state)
{
    (void)state;
    FlCrowd *crowd = make(FIRST, FIRST + 60);
    fl__crowd_plan(crowd, 5);
    const int32_t bad[] = {-1, 1, 4, 6, 9, 11, 61, 62, 67, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fl__crowd_plan(crowd, bad[i]); // no prime, or more seats than numbers
        assert_int_equal(crowd->plan.order, 5);
    }
    fl__crowd_plan(crowd, 0);
    assert_int_equal(crowd->plan.order, 0);
    fl__crowd_destroy(crowd);
}

static void fewer_than_seven_are_all_neighbours(void **state)
{
    (void)state;
    FlCrowd *crowd = make(FIRST, FIRST + 60);
    for (int32_t m = FIRST + 1; m < FIRST + 6; m++) {
        fl__crowd_member(crowd, m, true);
    }
    fl__crowd_replan(crowd, FL_SEC(1));
    assert_int_equal(crowd->neighbour_count, 5);
    fl__crowd_member(crowd, FIRST + 6, true); // seven: the plane is to be told
    fl__crowd_replan(crowd, FL_SEC(2));
    assert_int_equal(crowd->neighbour_count, 0);
    fl__crowd_plan(crowd, 2);
    fl__crowd_replan(crowd, FL_SEC(3));
    assert_in_range(crowd->neighbour_count, 2, 3);
    fl__crowd_destroy(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_are_neighbours_or_one_carries_between_them),
        cmocka_unit_test(a_thousand_have_at_most_sixty_four_neighbours),
        cmocka_unit_test(a_plane_that_is_nearly_filled_has_fewer_neighbours_than_a_shared_one),
        cmocka_unit_test(neighbours_are_spread_evenly),
        cmocka_unit_test(everybody_comes_to_the_same_answer),
        cmocka_unit_test(who_shares_a_seat_shares_the_work),
        cmocka_unit_test(an_order_that_is_none_changes_nothing),
        cmocka_unit_test(fewer_than_seven_are_all_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
