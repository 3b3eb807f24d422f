// Chance: the published generator, streams that nobody can shift, and fair distributions.
//
// Statistical bounds are five standard errors for a fixed seed: a right program passes always.
#include "base/private.h"
#include "support.h"

// ---------------------------------------------------------------- Philox, written down again
//
// From the paper's text (Salmon et al. 2011, section 3.4), as an independent reference: the known
// answers prove the reference, the reference proves fl_random_at for arguments all over the place.
// (Two of the three known answers use a counter whose top bit fl_random_at cannot reach.)

typedef struct Words {
    uint32_t w[4];
} Words;

static Words philox_round(Words c, uint32_t k0, uint32_t k1)
{
    uint64_t a = UINT64_C(0xD2511F53) * c.w[0];
    uint64_t b = UINT64_C(0xCD9E8D57) * c.w[2];
    Words next = {{
        (uint32_t)(b >> 32) ^ c.w[1] ^ k0,
        (uint32_t)b,
        (uint32_t)(a >> 32) ^ c.w[3] ^ k1,
        (uint32_t)a,
    }};
    return next;
}

static Words philox_reference(Words counter, uint32_t k0, uint32_t k1)
{
    for (uint32_t round = 0; round < 10; round++) {
        counter = philox_round(counter, k0 + round * 0x9E3779B9u, k1 + round * 0xBB67AE85u);
    }
    return counter;
}

static void check_words(Words got, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
    assert_int_equal(got.w[0], w0);
    assert_int_equal(got.w[1], w1);
    assert_int_equal(got.w[2], w2);
    assert_int_equal(got.w[3], w3);
}

static void reference_gives_the_published_answers(void **state)
{
    (void)state;
    const uint32_t ones = UINT32_MAX;
    Words zero = {{0, 0, 0, 0}}, full = {{ones, ones, ones, ones}};
    Words pi = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
    check_words(philox_reference(zero, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    check_words(philox_reference(full, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
    check_words(philox_reference(pi, 0xa4093822, 0x299f31d0), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
                0x24126ea1);
}

static uint64_t expected_draw(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t counter = index / 2;
    Words c = {
        {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}};
    Words out = philox_reference(c, (uint32_t)seed, (uint32_t)(seed >> 32));
    size_t half = index % 2 == 0 ? 0 : 2;
    return (uint64_t)out.w[half] | (uint64_t)out.w[half + 1] << 32;
}

static void draws_are_philox_4x32_10(void **state)
{
    (void)state;
    assert_true(fl_random_at(0, 0, 0) == UINT64_C(0xe169c58d6627e8d5));
    assert_true(fl_random_at(0, 0, 1) == UINT64_C(0x9b00dbd8bc57ac4c));
    uint64_t mix = 1;
    for (int32_t i = 0; i < CASES(100000); i++) {
        uint64_t word[3];
        for (size_t j = 0; j < 3; j++) {
            mix = mix * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            word[j] = mix >> (mix >> 59); // small and large ones
        }
        assert_true(fl_random_at(word[0], word[1], word[2]) ==
                    expected_draw(word[0], word[1], word[2]));
    }
    assert_true(fl_random_at(UINT64_MAX, UINT64_MAX, UINT64_MAX) ==
                expected_draw(UINT64_MAX, UINT64_MAX, UINT64_MAX));
}

static void a_draw_depends_on_nothing_that_was_drawn_before(void **state)
{
    (void)state;
    FlRandom plain = {.seed = 7, .stream = 3};
    uint64_t first[64];
    for (size_t i = 0; i < 64; i++) {
        first[i] = fl_random_next(&plain);
        assert_int_equal(plain.index, i + 1);
    }
    // Another stream draws in between, this one jumps about: the n-th draw stays what it was.
    FlRandom jumping = {.seed = 7, .stream = 3}, other = {.seed = 7, .stream = 4};
    for (size_t i = 0; i < 1000; i++) {
        size_t n = (size_t)fl_random_below(&other, 64);
        jumping.index = n;
        assert_true(fl_random_next(&jumping) == first[n]);
        assert_true(fl_random_at(7, 3, n) == first[n]);
    }
}

static void seeds_streams_and_indices_do_not_share_draws(void **state)
{
    (void)state;
    uint64_t seen[3 * 64];
    size_t count = 0;
    for (uint64_t i = 0; i < 64; i++) {
        seen[count++] = fl_random_at(1, 2, i);
        seen[count++] = fl_random_at(1, 3, i);
        seen[count++] = fl_random_at(2, 2, i);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(seen[i] != seen[j]);
        }
    }
}

static void every_bit_is_set_half_of_the_time(void **state)
{
    (void)state;
    FlRandom r = random_stream(20);
    int32_t count = CASES(200000);
    int32_t set[64] = {0}, equal_to_previous[64] = {0};
    uint64_t before = fl_random_next(&r);
    for (int32_t i = 0; i < count; i++) {
        uint64_t draw = fl_random_next(&r);
        for (int32_t b = 0; b < 64; b++) {
            set[b] += (int32_t)(draw >> b & 1u);
            equal_to_previous[b] += (int32_t)(~(draw ^ before) >> b & 1u);
        }
        before = draw;
    }
    double allowed = 5.0 * 0.5 * sqrt((double)count);
    for (int32_t b = 0; b < 64; b++) {
        check_near(set[b], 0.5 * count, allowed);
        check_near(equal_to_previous[b], 0.5 * count, allowed);
    }
}

static void unit_draws_are_uniform_below_one(void **state)
{
    (void)state;
    FlRandom r = random_stream(21);
    int32_t count = CASES(1000000);
    int32_t bin[100] = {0};
    double sum = 0.0, squares = 0.0;
    for (int32_t i = 0; i < count; i++) {
        double u = fl__random_unit(&r);
        assert_true(u >= 0.0 && u < 1.0);
        bin[(int32_t)(u * 100.0)]++;
        sum += u;
        squares += u * u;
    }
    double n = count;
    check_near(sum / n, 0.5, 5.0 * sqrt(1.0 / 12.0 / n));
    check_near(squares / n, 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0 / n));
    double chi = 0.0;
    for (int32_t i = 0; i < 100; i++) {
        double apart = bin[i] - n / 100.0;
        chi += apart * apart / (n / 100.0);
    }
    check_near(chi, 99.0, 5.0 * sqrt(2.0 * 99.0));
}

static void unit_draw_is_the_top_53_bits(void **state)
{
    (void)state;
    FlRandom a = random_stream(22), b = a;
    for (int32_t i = 0; i < 10000; i++) {
        uint64_t bits = fl_random_next(&a);
        check_same(fl__random_unit(&b), ldexp((double)(bits >> 11), -53));
    }
}

static void draws_between_two_numbers_never_reach_the_upper(void **state)
{
    (void)state;
    FlRandom r = random_stream(23);
    for (int32_t i = 0; i < CASES(200000); i++) {
        double low = random_scale(&r, -10.0, 10.0);
        // From one last place apart to far apart.
        double high = low + fabs(low) * pow(2.0, fl_random_between(&r, -52.0, 4.0));
        if (!(high > low)) {
            continue;
        }
        double x = fl_random_between(&r, low, high);
        if (!(x >= low && x < high)) {
            print_error("between(%a, %a) gave %a\n", low, high, x);
            fail();
        }
    }
}

static void draws_below_a_bound_are_unbiased(void **state)
{
    (void)state;
    FlRandom r = random_stream(24);
    const uint64_t bounds[] = {2, 3, 7, 10, 100};
    for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
        uint64_t bound = bounds[k];
        int32_t count = CASES(200000);
        int32_t seen[100] = {0};
        for (int32_t i = 0; i < count; i++) {
            uint64_t draw = fl_random_below(&r, bound);
            assert_true(draw < bound);
            seen[draw]++;
        }
        double p = 1.0 / (double)bound;
        for (uint64_t v = 0; v < bound; v++) {
            check_near(seen[v], count * p, 5.0 * sqrt(count * p * (1.0 - p)));
        }
    }
}

// With a bound of two thirds of 2^64 the plain remainder would give the lower half of the values
// twice as often as the upper: the bias that is invisible with small bounds.
static void draws_below_a_huge_bound_are_unbiased_too(void **state)
{
    (void)state;
    FlRandom r = random_stream(25);
    const uint64_t bound = UINT64_C(12297829382473034411);
    int32_t count = CASES(200000);
    int32_t lower = 0;
    for (int32_t i = 0; i < count; i++) {
        uint64_t draw = fl_random_below(&r, bound);
        assert_true(draw < bound);
        lower += draw < bound / 2 ? 1 : 0;
    }
    check_near(lower, 0.5 * count, 5.0 * 0.5 * sqrt((double)count));
    for (int32_t i = 0; i < 1000; i++) {
        assert_true(fl_random_below(&r, UINT64_MAX) < UINT64_MAX);
    }
}

static void draws_below_nothing_and_one_are_zero(void **state)
{
    (void)state;
    FlRandom r = random_stream(26);
    for (int32_t i = 0; i < 100; i++) {
        assert_int_equal(fl_random_below(&r, 0), 0);
        assert_int_equal(fl_random_below(&r, 1), 0);
    }
}

static void normal_draws_have_the_moments_of_the_bell(void **state)
{
    (void)state;
    FlRandom r = random_stream(27);
    int32_t count = CASES(1000000);
    double n = count, m1 = 0.0, m2 = 0.0, m3 = 0.0, m4 = 0.0, together = 0.0, before = 0.0;
    int32_t beyond[4] = {0};
    for (int32_t i = 0; i < count; i++) {
        double x = fl_random_normal(&r);
        assert_true(isfinite(x) && fabs(x) < 9.0);
        m1 += x;
        m2 += x * x;
        m3 += x * x * x;
        m4 += x * x * x * x;
        together += x * before;
        before = x;
        for (int32_t k = 0; k < 4; k++) {
            beyond[k] += fabs(x) > k ? 1 : 0;
        }
    }
    assert_int_equal(r.index, (uint64_t)count * 2); // two draws each, as documented
    check_near(m1 / n, 0.0, 5.0 / sqrt(n));
    check_near(m2 / n, 1.0, 5.0 * sqrt(2.0 / n));
    check_near(m3 / n, 0.0, 5.0 * sqrt(15.0 / n));
    check_near(m4 / n, 3.0, 5.0 * sqrt(96.0 / n));
    check_near(together / n, 0.0, 5.0 / sqrt(n));
    const double share[4] = {1.0, 0.31731050786291415, 0.04550026389635842, 0.0026997960632601866};
    for (int32_t k = 1; k < 4; k++) {
        check_near(beyond[k], n * share[k], 5.0 * sqrt(n * share[k]));
    }
}

static void golden_hash_of_chance_is_the_same_in_every_build(void **state)
{
    (void)state;
    FlRandom r = random_stream(28);
    Hash hash = hash_start();
    for (int32_t i = 0; i < 20000; i++) {
        hash_bits(&hash, fl_random_next(&r));
        hash_double(&hash, fl__random_unit(&r));
        hash_double(&hash, fl_random_between(&r, -1.0, 3.0));
        hash_bits(&hash, fl_random_below(&r, UINT64_C(1) << 63 | 1));
        hash_double(&hash, fl_random_normal(&r));
    }
    check_hash(hash, UINT64_C(0xf00bd2fa348e3371));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_gives_the_published_answers),
        cmocka_unit_test(draws_are_philox_4x32_10),
        cmocka_unit_test(a_draw_depends_on_nothing_that_was_drawn_before),
        cmocka_unit_test(seeds_streams_and_indices_do_not_share_draws),
        cmocka_unit_test(every_bit_is_set_half_of_the_time),
        cmocka_unit_test(unit_draws_are_uniform_below_one),
        cmocka_unit_test(unit_draw_is_the_top_53_bits),
        cmocka_unit_test(draws_between_two_numbers_never_reach_the_upper),
        cmocka_unit_test(draws_below_a_bound_are_unbiased),
        cmocka_unit_test(draws_below_a_huge_bound_are_unbiased_too),
        cmocka_unit_test(draws_below_nothing_and_one_are_zero),
        cmocka_unit_test(normal_draws_have_the_moments_of_the_bell),
        cmocka_unit_test(golden_hash_of_chance_is_the_same_in_every_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
