// Attention against a twin with libm's functions, straight from the formula; and who is remembered.
#include "fairlead/send.h"

#include "send/look.h"
#include "send/private.h"
#include "unit/support.h"

enum { CROWD = 60, FRAMES = 30 };

typedef struct Twin {
    FlVec3 position[CROWD], forward[CROWD];
    FlAttentionWeights weights[CROWD];
    double angle[CROWD][CROWD]; // negative: none yet
    FlTime dealt[CROWD][CROWD]; // FL_FOREVER: never
    double metre, reach, constant_s;
} Twin;

static double twin_angle(const Twin *t, int32_t i, int32_t j)
{
    FlVec3 way = fl_vec3_sub(t->position[j], t->position[i]);
    FlVec3 f = t->forward[i];
    // better than acos near 0
    double across = fl_vec3_length(fl__vec3_cross(way, f));
    return atan2(across, fl_vec3_dot(way, f));
}

static double twin_value(Twin *t, int32_t i, int32_t j, double seconds, FlTime now)
{
    double d = fl_vec3_distance(t->position[i], t->position[j]);
    double a = twin_angle(t, i, j);
    double before = t->angle[i][j] < 0.0 ? a : t->angle[i][j];
    t->angle[i][j] = before + (1.0 - exp(-seconds / t->constant_s)) * (a - before);
    double aimed = 1.0 - t->angle[i][j] / (FL_PI / 4.0);
    double power = 1.5 * fmax(1.0, log(d / t->metre));
    double aim = aimed > 0.0 ? pow(aimed, power) : 0.0;
    double near = d < t->reach ? pow(1.0 - d / t->reach, 1.5) : 0.0;
    double age = t->dealt[i][j] == FL_FOREVER ? 1e9 : fl_span_seconds(now - t->dealt[i][j]);
    double recent = age <= 3.0 ? exp(-age) : 0.0;
    const FlAttentionWeights *w = &t->weights[i];
    return w->proximity * near + w->aim * aim + w->interaction * recent;
}

static void twin_move(Twin *t, FlRandom *random, int32_t i, double size)
{
    double x = fl_random_between(random, -size, size);
    double y = fl_random_between(random, -size, size);
    double z = fl_random_between(random, -0.1 * size, 0.1 * size);
    t->position[i] = fl_vec3(x, y, z);
}

// Half of all look straight at somebody, or nearly.
static void twin_turn(Twin *t, FlRandom *random, int32_t i)
{
    double x = fl_random_between(random, -1.0, 1.0);
    double y = fl_random_between(random, -1.0, 1.0);
    double z = fl_random_between(random, -0.5, 0.5);
    t->forward[i] = fl_vec3(x, y, z);
    int32_t target = (int32_t)fl_random_below(random, CROWD);
    if (target != i && fl_random_below(random, 2) == 0) {
        double off = fl_random_between(random, 0.0, 1.0);
        off = 0.2 * off * off;
        FlVec3 way = fl_vec3_sub(t->position[target], t->position[i]);
        way = fl_vec3_scale(way, 1.0 / fl_vec3_length(way));
        t->forward[i] = fl_vec3_add_scaled(way, t->forward[i], off);
    }
}

static FlAttention *open_crowd(const Twin *t, bool everybody)
{
    FlAttentionDef def = fl_attention_def_default();
    def.player_capacity = CROWD;
    def.everybody = everybody;
    def.metre = t->metre;
    def.reach = t->reach;
    def.aim_average_ns = fl_span_from_seconds(t->constant_s);
    FlAttention *attention;
    assert_int_equal(fl_attention_create(&def, &attention), FL_OK);
    return attention;
}

static void twin_open(Twin *t, FlRandom *random, double metre)
{
    t->metre = metre;
    t->reach = 60.0 * metre;
    t->constant_s = 0.2;
    for (int32_t i = 0; i < CROWD; i++) {
        twin_move(t, random, i, 80.0 * metre);
        t->weights[i] = fl__attention_weights((FlStance)(i % 3));
        for (int32_t j = 0; j < CROWD; j++) {
            t->angle[i][j] = -1.0;
            t->dealt[i][j] = FL_FOREVER;
        }
    }
}

static void twin_deal(Twin *t, FlRandom *random, FlAttention *attention, FlTime now)
{
    for (int32_t k = 0; k < 3; k++) {
        int32_t i = (int32_t)fl_random_below(random, CROWD);
        int32_t j = (int32_t)fl_random_below(random, CROWD);
        fl_attention_interact(attention, i, j, now);
        if (i != j) {
            t->dealt[i][j] = now;
            t->dealt[j][i] = now;
        }
    }
}

static double worst_of(uint64_t seed, double metre)
{
    static Twin twin;
    FlRandom random = {.seed = seed};
    twin_open(&twin, &random, metre);
    FlAttention *attention = open_crowd(&twin, true);
    double worst = 0.0;
    FlTime now = 0;
    for (int32_t frame = 0; frame < FRAMES; frame++) {
        double seconds = frame == 0 ? 0.0 : fl_random_between(&random, 0.01, 0.3);
        now += fl_span_from_seconds(seconds);
        for (int32_t i = 0; i < CROWD; i++) {
            if (fl_random_below(&random, 4) == 0) {
                twin_move(&twin, &random, i, 80.0 * metre);
            }
        }
        for (int32_t i = 0; i < CROWD; i++) {
            twin_turn(&twin, &random, i);
            fl_attention_place(attention, i, twin.position[i], twin.forward[i]);
            fl_attention_stance(attention, i, (FlStance)(i % 3));
        }
        twin_deal(&twin, &random, attention, now);
        fl_attention_look(attention, FL_ATTENTION_ALL, now);
        for (int32_t i = 0; i < CROWD; i++) {
            const float *value = fl_attention_of(attention, i);
            assert_true(value[i] == 0.0f);
            for (int32_t j = 0; j < CROWD; j++) {
                double want = i != j ? twin_value(&twin, i, j, seconds, now) : 0.0;
                double off = fabs(want - (double)value[j]);
                worst = off > worst ? off : worst;
            }
        }
    }
    fl_attention_destroy(attention);
    return worst;
}

static void values_are_exact_to_a_thousandth(void **state)
{
    (void)state;
    double worst = 0.0;
    for (uint64_t seed = 1; seed <= (uint64_t)CASES(20); seed++) {
        double metric = worst_of(seed, 1.0);
        double quake = worst_of(seed + 1000, 32.0);
        worst = metric > worst ? metric : worst;
        worst = quake > worst ? quake : worst;
    }
    print_message("             worst %.1e of 1e-3 allowed\n", worst);
    assert_true(worst < 1e-3);
}

static void one_observer_gets_what_a_server_computes_for_it(void **state)
{
    (void)state;
    static Twin twin;
    FlRandom random = {.seed = 5};
    twin_open(&twin, &random, 1.0);
    FlAttention *all = open_crowd(&twin, true);
    FlAttention *one = open_crowd(&twin, false);
    FlTime now = 0;
    for (int32_t frame = 0; frame < FRAMES; frame++, now += FL_MS(50)) {
        for (int32_t i = 0; i < CROWD; i++) {
            twin_turn(&twin, &random, i);
            fl_attention_place(all, i, twin.position[i], twin.forward[i]);
            fl_attention_place(one, i, twin.position[i], twin.forward[i]);
        }
        fl_attention_interact(all, 7, frame, now);
        fl_attention_interact(one, 7, frame, now);
        fl_attention_look(all, FL_ATTENTION_ALL, now);
        fl_attention_look(one, 7, now);
        assert_memory_equal(fl_attention_of(all, 7), fl_attention_of(one, 7),
                            CROWD * sizeof(float));
    }
    fl_attention_destroy(all);
    fl_attention_destroy(one);
}

static void who_is_gone_is_not_looked_at_and_leaves_no_past(void **state)
{
    (void)state;
    FlAttentionDef def = fl_attention_def_default();
    def.everybody = true;
    def.player_capacity = 3;
    FlAttention *attention;
    assert_int_equal(fl_attention_create(&def, &attention), FL_OK);
    FlVec3 ahead = fl_vec3(1.0, 0.0, 0.0);
    fl_attention_place(attention, 0, fl_vec3(0.0, 0.0, 0.0), ahead);
    fl_attention_place(attention, 1, fl_vec3(10.0, 0.0, 0.0), ahead);
    fl_attention_interact(attention, 0, 1, 0);
    fl_attention_look(attention, FL_ATTENTION_ALL, 0);
    double full = 0.9 * sqrt(0.9) / 3.5 + 1.0 / 3.5 + 1.5 / 3.5;
    assert_true(fabs((double)fl_attention_of(attention, 0)[1] - full) < 1e-3);
    assert_true(fl_attention_of(attention, 0)[2] == 0.0f); // never there
    fl_attention_remove(attention, 1);
    fl_attention_look(attention, FL_ATTENTION_ALL, FL_MS(50));
    assert_true(fl_attention_of(attention, 0)[1] == 0.0f);
    // Another player in its place, behind our back: no angle is averaged with the old one's.
    fl_attention_place(attention, 1, fl_vec3(-10.0, 0.0, 0.0), ahead);
    fl_attention_look(attention, FL_ATTENTION_ALL, FL_MS(100));
    double near = 0.9 * sqrt(0.9) / 3.5;
    assert_true(fabs((double)fl_attention_of(attention, 0)[1] - near) < 1e-3);
    fl_attention_destroy(attention);
}

static double flag_metric(void *ctx, int32_t observer, int32_t player)
{
    return observer != *(int32_t *)ctx && player == *(int32_t *)ctx ? 0.5 : 0.0;
}

static void a_game_adds_a_metric_of_its_own(void **state)
{
    (void)state;
    int32_t carrier = 2;
    FlAttentionDef def = fl_attention_def_default();
    def.everybody = true;
    def.player_capacity = 4;
    def.metric_fn = flag_metric;
    def.metric_ctx = &carrier;
    FlAttention *attention;
    assert_int_equal(fl_attention_create(&def, &attention), FL_OK);
    for (int32_t i = 0; i < 3; i++) {
        fl_attention_place(attention, i, fl_vec3(1000.0 * i, 0.0, 0.0), fl_vec3(0.0, 1.0, 0.0));
    }
    fl_attention_look(attention, FL_ATTENTION_ALL, 0);
    assert_true(fl_attention_of(attention, 0)[2] == 0.5f);
    assert_true(fl_attention_of(attention, 0)[1] == 0.0f);
    assert_true(fl_attention_of(attention, 2)[2] == 0.0f);
    fl_attention_destroy(attention);
}

static void nonsense_changes_nothing(void **state)
{
    (void)state;
    FlAttentionDef def = fl_attention_def_default();
    def.player_capacity = 2;
    FlAttention *attention;
    assert_int_equal(fl_attention_create(&def, &attention), FL_OK);
    FlVec3 ahead = fl_vec3(2.0, 0.0, 0.0);
    fl_attention_look(attention, 0, 0); // nobody there yet
    fl_attention_place(attention, 0, fl_vec3(0.0, 0.0, 0.0), ahead);
    fl_attention_place(attention, 1, fl_vec3(0.0, 0.0, 0.0), ahead); // on the same spot
    fl_attention_look(attention, 0, 0);
    float before = fl_attention_of(attention, 0)[1];
    assert_true(before > 0.28f && before < 1.0f);
    fl_attention_place(attention, 1, fl_vec3((double)NAN, 0.0, 0.0), ahead);
    fl_attention_place(attention, 1, fl_vec3(0.0, 0.0, 0.0), fl_vec3(0.0, 0.0, 0.0));
    fl_attention_place(attention, 1, fl_vec3(0.0, (double)INFINITY, 0.0), ahead);
    fl_attention_interact(attention, 0, 0, 0);
    fl_attention_look(attention, 0, 0);
    assert_true(fl_attention_of(attention, 0)[1] == before);
    fl_attention_destroy(attention);
    def.reach = 0.0;
    assert_int_equal(fl_attention_create(&def, &attention), FL_BAD_VALUE);
    assert_null(attention);
}

static void interest_in_somebody_fades_and_the_oldest_partner_makes_room(void **state)
{
    (void)state;
    FlAttentionDef def = fl_attention_def_default();
    def.player_capacity = 40;
    FlAttention *attention;
    assert_int_equal(fl_attention_create(&def, &attention), FL_OK);
    for (int32_t i = 0; i < 40; i++) { // nobody near, nobody aimed at
        fl_attention_place(attention, i, fl_vec3(-1000.0 * i, 0.0, 0.0), fl_vec3(1.0, 0.0, 0.0));
    }
    for (int32_t i = 1; i <= 20; i++) {
        fl_attention_interact(attention, 0, i, FL_MS(i));
    }
    fl_attention_look(attention, 0, FL_MS(20));
    const float *value = fl_attention_of(attention, 0);
    assert_true(value[4] == 0.0f && value[5] > 0.4f && value[20] > value[5]);
    fl_attention_look(attention, 0, FL_MS(2020));
    double faded = 1.5 / 3.5 * exp(-2.0);
    assert_true(fabs((double)fl_attention_of(attention, 0)[20] - faded) < 1e-6);
    fl_attention_look(attention, 0, FL_MS(3021));
    assert_true(fl_attention_of(attention, 0)[20] == 0.0f);
    fl_attention_destroy(attention);
}

static void the_wanted_have_the_upper_half_to_themselves_and_stay(void **state)
{
    (void)state;
    FlAttentionDef def = fl_attention_def_default();
    def.player_capacity = 8;
    FlAttention *attention;
    assert_int_equal(fl_attention_create(&def, &attention), FL_OK);
    for (int32_t i = 0; i < 6; i++) { // each further off, all behind it
        fl_attention_place(attention, i, fl_vec3(-15.0 * i, 0.0, 0.0), fl_vec3(1.0, 0.0, 0.0));
    }
    fl_attention_look(attention, 0, FL_MS(50));
    float told[8] = {0};
    fl_attention_choose(attention, 0, 3, told);
    const float *value = fl_attention_of(attention, 0);
    for (int32_t i = 1; i <= 5; i++) {
        assert_true(value[i] > 0.0f && told[i] == 0.5f * value[i] + (i <= 3 ? 0.5f : 0.0f));
    }
    assert_true(told[0] == 0.0f && told[6] == 0.0f);
    // A little nearer than the third: not enough to take its place. Much nearer: it is.
    fl_attention_place(attention, 4, fl_vec3(-44.0, 0.0, 0.0), fl_vec3(1.0, 0.0, 0.0));
    fl_attention_look(attention, 0, FL_MS(100));
    fl_attention_choose(attention, 0, 3, told);
    assert_true(value[4] > value[3] && told[3] >= 0.5f && told[4] < 0.5f);
    fl_attention_place(attention, 4, fl_vec3(-5.0, 0.0, 0.0), fl_vec3(1.0, 0.0, 0.0));
    fl_attention_look(attention, 0, FL_MS(150));
    fl_attention_choose(attention, 0, 3, told);
    assert_true(told[3] < 0.5f && told[4] >= 0.5f);
    fl_attention_choose(attention, 0, 20, told); // no more than are looked at
    assert_true(told[5] >= 0.5f && told[6] == 0.0f);
    fl_attention_destroy(attention);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_exact_to_a_thousandth),
        cmocka_unit_test(one_observer_gets_what_a_server_computes_for_it),
        cmocka_unit_test(who_is_gone_is_not_looked_at_and_leaves_no_past),
        cmocka_unit_test(a_game_adds_a_metric_of_its_own),
        cmocka_unit_test(nonsense_changes_nothing),
        cmocka_unit_test(interest_in_somebody_fades_and_the_oldest_partner_makes_room),
        cmocka_unit_test(the_wanted_have_the_upper_half_to_themselves_and_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
