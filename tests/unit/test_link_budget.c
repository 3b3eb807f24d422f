// How many bytes may go: src/link/budget.c.
#include "support.h"

#include "link/private.h"

// ---------------------------------------------------------------- the bucket

static void unused_bytes_carry_over_up_to_the_burst(void **state)
{
    (void)state;
    FlBudget b;
    fl__budget_init(&b, 1000.0, 500.0, FL_SEC(10));
    check_same(fl__budget_available(&b, FL_SEC(10)), 500.0);
    fl__budget_spend(&b, FL_SEC(10), 400.0);
    check_same(fl__budget_available(&b, FL_SEC(10)), 100.0);
    check_near(fl__budget_available(&b, FL_SEC(10) + FL_MS(250)), 350.0, 1e-9);
    check_near(fl__budget_available(&b, FL_SEC(10) + FL_MS(300)), 400.0, 1e-9);
    check_same(fl__budget_available(&b, FL_SEC(100)), 500.0);
}

static void what_was_spent_beyond_is_waited_for(void **state)
{
    (void)state;
    FlBudget b;
    fl__budget_init(&b, 1000.0, 500.0, 0);
    fl__budget_spend(&b, 0, 1500.0);
    check_same(fl__budget_available(&b, 0), 0.0);
    check_same(fl__budget_available(&b, FL_MS(999)), 0.0); // never negative
    check_near(fl__budget_available(&b, FL_MS(1100)), 100.0, 1e-9);
}

static void when_is_the_moment_from_which_it_is_available(void **state)
{
    (void)state;
    FlRandom random = random_stream(401);
    for (int32_t n = 0; n < CASES(20000); n++) {
        double rate = pow(10.0, fl_random_between(&random, 1.0, 7.0));
        double burst = pow(10.0, fl_random_between(&random, 1.0, 5.0));
        FlTime now = random_time(&random, -FL_SEC(1000000), FL_SEC(1000000));
        FlBudget b;
        fl__budget_init(&b, rate, burst, now);
        fl__budget_spend(&b, now, fl_random_between(&random, 0.0, 3.0 * burst));
        double bytes = fl_random_between(&random, 0.0, 1.5 * burst);
        FlTime when = fl__budget_when(&b, now, bytes);
        double wanted = bytes < burst ? bytes : burst; // more there never is
        assert_true(when >= now);
        FlBudget at = b;
        assert_true(fl__budget_available(&at, when) >= wanted - 1e-6 * burst);
        if (when - now > 10) {
            FlBudget before = b;
            double then = fl__budget_available(&before, when - 10);
            assert_true(then < wanted + 1e-6 * burst);
        }
    }
}

static void a_budget_without_a_rate_waits_for_ever(void **state)
{
    (void)state;
    FlBudget b;
    fl__budget_init(&b, 0.0, 100.0, 0);
    assert_int_equal(fl__budget_when(&b, 5, 100.0), 5);
    fl__budget_spend(&b, 5, 1.0);
    assert_int_equal(fl__budget_when(&b, 5, 100.0), FL_FOREVER);
}

static void a_clock_that_goes_back_gives_nothing_and_takes_nothing(void **state)
{
    (void)state;
    FlBudget b;
    fl__budget_init(&b, 1000.0, 500.0, FL_SEC(100));
    fl__budget_spend(&b, FL_SEC(100), 500.0);
    // A hiccup: time stands still until it has caught up.
    check_same(fl__budget_available(&b, FL_SEC(100) - FL_MS(100)), 0.0);
    check_near(fl__budget_available(&b, FL_SEC(100) + FL_MS(100)), 100.0, 1e-9);
    // Set back by a minute: it goes on from there.
    check_near(fl__budget_available(&b, FL_SEC(40)), 100.0, 1e-9);
    check_near(fl__budget_available(&b, FL_SEC(40) + FL_MS(100)), 200.0, 1e-9);
}

static void the_mean_of_what_goes_is_the_rate(void **state)
{
    (void)state;
    FlRandom random = random_stream(402);
    FlBudget b;
    fl__budget_init(&b, 10000.0, 4800.0, 0);
    FlTime now = 0;
    double sent = 0.0;
    while (now < FL_SEC(600)) {
        double size = fl_random_between(&random, 40.0, 1228.0);
        now = fl__budget_when(&b, now, size);
        fl__budget_spend(&b, now, size);
        sent += size;
    }
    check_near(sent / 600.0, 10000.0, 20.0);
}

// ---------------------------------------------------------------- adaptation

typedef struct Case {
    FlBudget budget;
    Adaptation adaptation;
    FlLinkDef def;
    Outbox outbox;
    FlClockDelays delays;
    FlTime now;
} Case;

static void case_init(Case *c)
{
    memset(c, 0, sizeof *c);
    c->def = fl_link_def_default();
    fl__budget_init(&c->budget, c->def.rate_bytes_s, 4800.0, 0);
    c->delays.known = true;
    c->delays.out.minimum_ns = FL_MS(40);
    c->delays.out.average_ns = FL_MS(42);
    c->delays.out.deviation_ns = FL_MS(1);
    c->delays.trip.average_ns = FL_MS(80);
}

/// A second with so many packets delivered and lost.
static double second(Case *c, uint64_t delivered, uint64_t lost)
{
    c->outbox.delivered += delivered;
    c->outbox.lost += lost;
    for (int32_t i = 0; i < 50; i++) {
        c->now += FL_MS(20);
        fl__budget_adapt(&c->budget, &c->adaptation, &c->def, &c->outbox, &c->delays, c->now);
    }
    return c->budget.rate_bytes_s;
}

static void a_queue_brings_the_rate_down_to_the_minimum_and_its_end_up_again(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    c.delays.out.average_ns = FL_MS(40 + 120);
    double last = c.budget.rate_bytes_s;
    for (int32_t i = 0; i < 10; i++) {
        double rate = second(&c, 100, 0);
        assert_true(rate < last || rate == c.def.rate_min_bytes_s);
        last = rate;
    }
    check_same(last, c.def.rate_min_bytes_s);
    uint32_t slowed = c.adaptation.slowed;
    (void)second(&c, 100, 0);
    assert_int_equal(c.adaptation.slowed, slowed); // it was not, any more
    c.delays.out.average_ns = FL_MS(42);
    for (int32_t i = 0; i < 30; i++) {
        double rate = second(&c, 100, 0);
        assert_true(rate > last || rate == c.def.rate_max_bytes_s);
        last = rate;
    }
    check_same(last, c.def.rate_max_bytes_s);
    assert_true(c.adaptation.sped_up > 30);
}

static void jitter_is_no_queue(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    c.delays.out.average_ns = FL_MS(40 + 300);
    c.delays.out.deviation_ns = FL_MS(120); // the minimum is a rare case of such a path
    (void)second(&c, 100, 0);
    assert_int_equal(c.adaptation.slowed, 0);
    c.delays.out.average_ns = FL_MS(40 + 45); // shorter than anybody minds
    c.delays.out.deviation_ns = FL_MS(1);
    (void)second(&c, 100, 0);
    assert_int_equal(c.adaptation.slowed, 0);
    c.delays.known = false;
    c.delays.out.average_ns = FL_SEC(3);
    (void)second(&c, 100, 0);
    assert_int_equal(c.adaptation.slowed, 0);
}

static void sudden_loss_slows_down_and_lasting_loss_becomes_the_path(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int32_t i = 0; i < 20; i++) {
        (void)second(&c, 100, 0);
    }
    assert_int_equal(c.adaptation.slowed, 0);
    (void)second(&c, 50, 50);
    assert_true(c.adaptation.slowed > 0);
    double lowest = c.budget.rate_bytes_s;
    for (int32_t i = 0; i < 60; i++) {
        double rate = second(&c, 50, 50);
        lowest = rate < lowest ? rate : lowest;
    }
    assert_true(lowest > c.def.rate_min_bytes_s);
    check_same(c.budget.rate_bytes_s, c.def.rate_max_bytes_s);
}

static void a_few_packets_prove_nothing(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int32_t i = 0; i < 10; i++) {
        (void)second(&c, 0, 2);
    }
    assert_int_equal(c.adaptation.slowed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_bytes_carry_over_up_to_the_burst),
        cmocka_unit_test(what_was_spent_beyond_is_waited_for),
        cmocka_unit_test(when_is_the_moment_from_which_it_is_available),
        cmocka_unit_test(a_budget_without_a_rate_waits_for_ever),
        cmocka_unit_test(a_clock_that_goes_back_gives_nothing_and_takes_nothing),
        cmocka_unit_test(the_mean_of_what_goes_is_the_rate),
        cmocka_unit_test(a_queue_brings_the_rate_down_to_the_minimum_and_its_end_up_again),
        cmocka_unit_test(jitter_is_no_queue),
        cmocka_unit_test(sudden_loss_slows_down_and_lasting_loss_becomes_the_path),
        cmocka_unit_test(a_few_packets_prove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
