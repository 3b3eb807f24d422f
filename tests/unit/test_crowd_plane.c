// Planes: what is claimed of them, by looking at every seat, or at very many.
#include "support.h"

#include "crowd/engine.h"

static bool prime(int32_t n)
{
    int32_t divisors = 0;
    for (int32_t i = 1; i <= n; i++) {
        divisors += n % i == 0 ? 1 : 0;
    }
    return divisors == 2;
}

static int32_t next_prime(int32_t n)
{
    do {
        n++;
    } while (!prime(n));
    return n;
}

// A few seats of every sort: (1, a, b), (0, 1, a), (0, 0, 1), and others by chance.
static int32_t some_seat(FlRandom *r, int32_t order, int32_t i)
{
    int32_t seats = order * order + order + 1;
    const int32_t edges[] = {0, 1, order, order * order - 1, order * order, seats - 2, seats - 1};
    return i < 7 ? edges[i] : (int32_t)fl_random_below(r, (uint64_t)seats);
}

// What it is for is in test_crowd_plan.c: there are fewer neighbours.
static void an_order_is_the_largest_prime_whose_seats_are_filled_or_the_next_one(void **state)
{
    (void)state;
    int32_t next_ones = 0;
    for (int32_t players = -3; players <= 5000; players++) {
        int32_t filled = 0;
        for (int32_t q = 2; q <= FL_PLANE_ORDER_MAX; q = next_prime(q)) {
            filled = q * q + q + 1 <= players ? q : filled;
        }
        int32_t order = fl__plane_order_for(players);
        int32_t next = next_prime(filled);
        assert_true(order == filled || order == next);
        if (order != filled) { // nearly filled, and not a large one
            assert_true(10 * players >= 9 * fl__plane_seats(order) && order <= 23);
            next_ones++;
        }
    }
    assert_true(next_ones > 0 && fl__plane_order_for(6) == 0);
    assert_int_equal(fl__plane_seats(0), 0);
    assert_int_equal(fl__plane_seats(2), 7);
    assert_int_equal(fl__plane_seats(31), 993);
    assert_int_equal(fl__plane_seats(FL_PLANE_ORDER_MAX), 3783);
}

static void neighbours_are_mutual(void **state)
{
    (void)state;
    FlRandom r = {.seed = 1};
    for (int32_t q = 2; q <= FL_PLANE_ORDER_MAX; q = next_prime(q)) {
        int32_t seats = fl__plane_seats(q);
        for (int32_t i = 0; i < 40; i++) {
            int32_t a = some_seat(&r, q, i);
            for (int32_t b = 0; b < seats; b++) {
                assert_true(fl__plane_linked(q, a, b) == fl__plane_linked(q, b, a));
            }
        }
    }
}

// Of every seat for small orders, of some for large ones.
static void neighbours_listed_are_exactly_those_that_are_linked(void **state)
{
    (void)state;
    FlRandom r = {.seed = 2};
    for (int32_t q = 2; q <= FL_PLANE_ORDER_MAX; q = next_prime(q)) {
        int32_t seats = fl__plane_seats(q);
        bool all = q <= 13;
        for (int32_t i = 0; i < (all ? seats : 60); i++) {
            int32_t seat = all ? i : some_seat(&r, q, i);
            static bool private_scope[3783];
            memset(private_scope, 0, sizeof private_scope);
            for (int32_t k = 0; k <= q; k++) {
                int32_t next = fl__plane_neighbour(q, seat, k);
                assert_in_range(next, 0, seats - 1);
                assert_false(private_scope[next]); // each once
                private_scope[next] = true;
            }
            for (int32_t b = 0; b < seats; b++) {
                assert_true(private_scope[b] == fl__plane_linked(q, seat, b));
            }
        }
    }
}

// As many as the theory of polarities says: the curve x^2 + y^2 + z^2 = 0 has order + 1 points.
static void order_plus_one_seats_are_neighbours_of_themselves(void **state)
{
    (void)state;
    for (int32_t q = 2; q <= FL_PLANE_ORDER_MAX; q = next_prime(q)) {
        int32_t count = 0;
        for (int32_t a = 0; a < fl__plane_seats(q); a++) {
            count += fl__plane_linked(q, a, a) ? 1 : 0;
        }
        assert_int_equal(count, q + 1);
    }
}

static void check_common(int32_t q, int32_t a, int32_t b)
{
    int32_t common = fl__plane_common(q, a, b);
    int32_t count = 0;
    for (int32_t k = 0; k <= q; k++) {
        int32_t next = fl__plane_neighbour(q, a, k);
        if (fl__plane_linked(q, next, b)) {
            assert_int_equal(next, common);
            count++;
        }
    }
    assert_int_equal(count, 1);
    assert_int_equal(fl__plane_common(q, b, a), common);
}

static void two_seats_have_one_neighbour_in_common_and_it_is_found(void **state)
{
    (void)state;
    FlRandom r = {.seed = 3};
    for (int32_t q = 2; q <= FL_PLANE_ORDER_MAX; q = next_prime(q)) {
        int32_t seats = fl__plane_seats(q);
        for (int32_t a = 0; a < seats && q <= 11; a++) {
            for (int32_t b = 0; b < seats; b++) {
                if (a != b) {
                    check_common(q, a, b);
                }
            }
        }
        for (int32_t i = 0; i < 3000 && q > 11; i++) {
            int32_t a = some_seat(&r, q, i % 50);
            int32_t b = some_seat(&r, q, i / 50 % 50);
            if (a != b) {
                check_common(q, a, b);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_is_the_largest_prime_whose_seats_are_filled_or_the_next_one),
        cmocka_unit_test(neighbours_are_mutual),
        cmocka_unit_test(neighbours_listed_are_exactly_those_that_are_linked),
        cmocka_unit_test(order_plus_one_seats_are_neighbours_of_themselves),
        cmocka_unit_test(two_seats_have_one_neighbour_in_common_and_it_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
