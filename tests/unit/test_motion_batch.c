// Many motions at once: the same bits as one by one, for every count, alignment and model.
#include "support.h"

#define MODELS 4
static const FlModel all_models[MODELS] = {FL_MODEL_STILL, FL_MODEL_LINEAR, FL_MODEL_QUADRATIC,
                                           FL_MODEL_CIRCULAR};

#define FIELDS 11 // since, position, velocity, acceleration, turn rate

typedef struct Batch {
    int32_t count;
    FlTime epoch;
    double *memory;
    double *field[FIELDS];
    double *out[3];
    FlMotionArrays arrays;
} Batch;

// Room for `count` motions; the outputs start `shift` doubles after a cache line.
static Batch batch_make(int32_t count, int32_t shift, FlTime epoch)
{
    Batch b = {.count = count, .epoch = epoch};
    size_t row = ((size_t)count + 24) / 8 * 8;
    b.memory = malloc((row * (FIELDS + 3) + 16) * sizeof(double));
    assert_non_null(b.memory);
    size_t past = (uintptr_t)b.memory / sizeof(double) % 8;
    double *aligned = b.memory + (8 - past) % 8;
    for (size_t i = 0; i < FIELDS; i++) {
        b.field[i] = aligned + row * i;
    }
    for (size_t i = 0; i < 3; i++) {
        b.out[i] = aligned + row * (FIELDS + i) + shift;
        b.out[i][count] = 4711.0; // what comes after must stay
    }
    FlMotionArrays arrays = {
        .epoch = epoch,
        .since_ns = b.field[0],
        .position = {b.field[1], b.field[2], b.field[3]},
        .velocity = {b.field[4], b.field[5], b.field[6]},
        .acceleration = {b.field[7], b.field[8], b.field[9]},
        .turn_rate = b.field[10],
    };
    b.arrays = arrays;
    return b;
}

static void batch_set(Batch *b, int32_t i, const FlState *s)
{
    double value[FIELDS] = {(double)(s->time - b->epoch),
                            s->position.x,
                            s->position.y,
                            s->position.z,
                            s->velocity.x,
                            s->velocity.y,
                            s->velocity.z,
                            s->acceleration.x,
                            s->acceleration.y,
                            s->acceleration.z,
                            s->turn_rate};
    for (size_t k = 0; k < FIELDS; k++) {
        b->field[k][i] = value[k];
    }
}

static FlState batch_state(const Batch *b, int32_t i)
{
    FlState s = {
        .time = b->epoch + (FlTime)b->field[0][i],
        .position = {b->field[1][i], b->field[2][i], b->field[3][i]},
        .velocity = {b->field[4][i], b->field[5][i], b->field[6][i]},
        .acceleration = {b->field[7][i], b->field[8][i], b->field[9][i]},
        .turn_rate = b->field[10][i],
    };
    return s;
}

static void check_batch(Batch *b, FlModel model, FlTime time)
{
    fl_motion_positions(model, b->count, &b->arrays, time, b->out[0], b->out[1], b->out[2]);
    for (int32_t i = 0; i < b->count; i++) {
        FlState s = batch_state(b, i);
        FlMotion m = fl_motion_make(model, &s);
        FlVec3 one = fl_motion_position(&m, time);
        FlVec3 many = fl_vec3(b->out[0][i], b->out[1][i], b->out[2][i]);
        if (!same_vec3(one, many)) {
            print_error(
                "%s %d of %d, %lld ns on, turn %a:\n one  (%a, %a, %a)\n many (%a, %a, %a)\n",
                fl_model_name(model), i, b->count, (long long)(time - s.time), s.turn_rate, one.x,
                one.y, one.z, many.x, many.y, many.z);
            fail();
        }
    }
    for (int32_t k = 0; k < 3; k++) {
        check_same(b->out[k][b->count], 4711.0);
    }
}

static FlState random_member(FlRandom *r, FlTime epoch)
{
    FlState s = random_state(r, 1000.0, 50.0);
    s.time = epoch + random_time(r, -FL_SEC(100), FL_SEC(100));
    return s;
}

static void every_count_from_none_to_a_hundred_gives_the_same_bits(void **state)
{
    (void)state;
    FlRandom r = random_stream(180);
    for (int32_t count = 0; count <= 100; count++) {
        for (int32_t shift = 0; shift < 3; shift++) {
            FlTime epoch = random_time(&r, -FL_SEC(1000000), FL_SEC(1000000));
            Batch b = batch_make(count, shift, epoch);
            for (int32_t i = 0; i < count; i++) {
                FlState s = random_member(&r, epoch);
                batch_set(&b, i, &s);
            }
            for (int32_t m = 0; m < MODELS; m++) {
                check_batch(&b, all_models[m], epoch + random_time(&r, -FL_SEC(100), FL_SEC(100)));
            }
            free(b.memory);
        }
    }
}

// Beyond what fits a cache other ways of storing are taken, if the outputs begin on a line.
static void hundreds_of_thousands_give_the_same_bits(void **state)
{
    (void)state;
    FlRandom r = random_stream(181);
    const int32_t counts[] = {199999, 200000, 200007};
    for (int32_t k = 0; k < 6; k++) {
        Batch b = batch_make(counts[k / 2], k % 2, 0);
        FlState s = random_member(&r, 0);
        for (int32_t i = 0; i < b.count; i++) { // cheaper than a fresh one each
            s.time = FL_MS(i % 1000);
            s.position.x = i;
            s.velocity.y = 0.001 * i;
            s.turn_rate = 1e-4 * i;
            batch_set(&b, i, &s);
        }
        for (int32_t m = 0; m < MODELS; m++) {
            if (k < 2 || all_models[m] == FL_MODEL_LINEAR) {
                check_batch(&b, all_models[m], FL_SEC(3) + k);
            }
        }
        free(b.memory);
    }
}

static void turns_of_every_size_give_the_same_bits(void **state)
{
    (void)state;
    FlRandom r = random_stream(182);
    const double edges[] = {0.0,      -0.0, 1e-150, 0.9e-150,
                            1.1e-150, 1e6,  2e6,    4.9406564584124654e-324};
    for (int32_t round = 0; round < CASES(400); round++) {
        Batch b = batch_make(37, 0, 0);
        // Every second batch has turns too many for the vector kernel, some of them or all.
        double most = round % 2 == 0 ? 5.0 : 15.0;
        for (int32_t i = 0; i < b.count; i++) {
            FlState s = random_member(&r, 0);
            s.turn_rate = random_chance(&r, 4) ? edges[fl_random_below(&r, 8)] * random_sign(&r)
                                               : random_scale(&r, -320.0, most);
            s.time = random_chance(&r, 4) ? 0 : s.time;
            batch_set(&b, i, &s);
        }
        check_batch(&b, FL_MODEL_CIRCULAR, FL_SEC(1));
        check_batch(&b, FL_MODEL_CIRCULAR, random_time(&r, -FL_SEC(1000), FL_SEC(1000)));
        free(b.memory);
    }
}

static void one_that_is_not_finite_spoils_only_itself(void **state)
{
    (void)state;
    FlRandom r = random_stream(183);
    const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e308, -1e308};
    for (int32_t round = 0; round < CASES(400); round++) {
        Batch b = batch_make(19, round % 2, 0);
        for (int32_t i = 0; i < b.count; i++) {
            FlState s = random_member(&r, 0);
            batch_set(&b, i, &s);
        }
        int32_t victim = (int32_t)fl_random_below(&r, 19);
        b.field[1 + fl_random_below(&r, 10)][victim] = odd[round % 5];
        for (int32_t m = 0; m < MODELS; m++) {
            check_batch(&b, all_models[m], random_time(&r, -FL_SEC(10), FL_SEC(10)));
            for (int32_t i = 0; i < b.count; i++) {
                FlVec3 p = fl_vec3(b.out[0][i], b.out[1][i], b.out[2][i]);
                assert_true(i == victim || fl_vec3_finite(p));
            }
        }
        free(b.memory);
    }
}

static void arrays_that_a_model_does_not_use_may_be_null(void **state)
{
    (void)state;
    const double since[3] = {0.0, 1e9, -1e9}, p[3] = {1.0, 2.0, 3.0}, v[3] = {1.0, -1.0, 0.5};
    double x[3], y[3], z[3];
    FlMotionArrays still = {.position = {p, p, p}};
    fl_motion_positions(FL_MODEL_STILL, 3, &still, FL_SEC(1), x, y, z);
    assert_true(x[0] == 1.0 && y[1] == 2.0 && z[2] == 3.0);
    FlMotionArrays linear = {.since_ns = since, .position = {p, p, p}, .velocity = {v, v, v}};
    fl_motion_positions(FL_MODEL_LINEAR, 3, &linear, FL_SEC(1), x, y, z);
    assert_true(x[0] == 2.0 && y[1] == 2.0 && z[2] == 4.0);
    FlMotionArrays quadratic = linear;
    quadratic.acceleration = linear.velocity;
    fl_motion_positions(FL_MODEL_QUADRATIC, 3, &quadratic, FL_SEC(1), x, y, z);
    assert_true(x[0] == 2.5);
    FlMotionArrays circular = linear;
    const double straight[3] = {0.0, 0.0, 0.0};
    circular.turn_rate = straight;
    fl_motion_positions(FL_MODEL_CIRCULAR, 3, &circular, FL_SEC(1), x, y, z);
    assert_true(x[0] == 2.0 && y[1] == 2.0 && z[2] == 4.0);
}

// A world in which nothing is there yet has no arrays either.
static void none_at_all_touches_nothing(void **state)
{
    (void)state;
    FlMotionArrays nothing = {0};
    double x = 1.0, y = 2.0, z = 3.0;
    fl_motion_positions(FL_MODEL_STILL, 0, &nothing, 5, &x, &y, &z);
    fl_motion_positions(FL_MODEL_LINEAR, 0, &nothing, 5, &x, &y, &z);
    fl_motion_positions(FL_MODEL_QUADRATIC, 0, &nothing, 5, &x, &y, &z);
    fl_motion_positions(FL_MODEL_CIRCULAR, 0, &nothing, 5, &x, &y, &z);
    assert_true(x == 1.0 && y == 2.0 && z == 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_from_none_to_a_hundred_gives_the_same_bits),
        cmocka_unit_test(hundreds_of_thousands_give_the_same_bits),
        cmocka_unit_test(turns_of_every_size_give_the_same_bits),
        cmocka_unit_test(one_that_is_not_finite_spoils_only_itself),
        cmocka_unit_test(arrays_that_a_model_does_not_use_may_be_null),
        cmocka_unit_test(none_at_all_touches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
