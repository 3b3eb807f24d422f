// lab/experiments/crowd/crowd_motion: a few recorded players as a crowd.
#include "support.h"

#include "lab/experiments/crowd/crowd_motion.h"

#define RECORDING "data/arena/ffa16_20s.csv.gz"
#define PLAYERS 1000

static CrowdMotion loaded(uint64_t seed)
{
    CrowdMotion motion;
    LabError error;
    assert_int_equal(crowd_motion_load(RECORDING, 60.0, seed, &motion, &error), LAB_OK);
    return motion;
}

static void the_first_players_move_as_recorded(void **state)
{
    (void)state;
    CrowdMotion motion = loaded(1);
    FlRandom r = random_stream(1);
    for (int32_t i = 0; i < CASES(2000); i++) {
        int32_t player = (int32_t)fl_random_below(&r, (uint64_t)motion.match.players);
        int32_t tick = (int32_t)fl_random_below(&r, (uint64_t)motion.match.ticks);
        CrowdTruth truth = crowd_motion_at(&motion, player, tick * FL_MS(50));
        const ArenaRow *row = &motion.match.rows[tick * motion.match.players + player];
        assert_true(fl_vec3_distance(truth.position, row->position) < 1e-9);
        check_near(fl_angle_wrap(truth.yaw - row->yaw), 0.0, 1e-9);
    }
    crowd_motion_free(&motion);
}

static void a_copy_is_turned_or_mirrored_and_keeps_its_pace(void **state)
{
    (void)state;
    CrowdMotion motion = loaded(2);
    FlRandom r = random_stream(2);
    for (int32_t i = 0; i < CASES(2000); i++) {
        int32_t player = (int32_t)fl_random_below(&r, PLAYERS);
        FlTime time = random_time(&r, 0, FL_SEC(100));
        CrowdTruth now = crowd_motion_at(&motion, player, time);
        CrowdTruth then = crowd_motion_at(&motion, player, time + FL_MS(10));
        if (now.life == then.life) { // nobody jumps within a life
            assert_true(fl_vec3_distance(now.position, then.position) < 0.02 * 2200.0);
        }
        double speed = fl_vec3_length(now.velocity);
        FlVec3 ahead = fl_vec3_add_scaled(now.position, now.velocity, 0.01);
        if (now.life == then.life && speed > 200.0 && fabs(now.velocity.z) < 1.0) {
            double off = fl_vec3_distance(ahead, then.position);
            assert_true(off < 2.5 * 0.01 * speed); // turned with the map, not against it
        }
    }
    crowd_motion_free(&motion);
}

/// On average what is told and what is done point the same way, for every way of turning.
static void velocities_are_turned_like_places(void **state)
{
    (void)state;
    CrowdMotion motion = loaded(2);
    for (int32_t copy = 0; copy < 8; copy++) {
        double along = 0.0;
        double all = 0.0;
        for (int32_t who = 0; who < motion.match.players; who++) {
            int32_t player = copy * motion.match.players + who;
            for (FlTime time = 0; time < FL_SEC(15); time += FL_MS(50)) {
                CrowdTruth now = crowd_motion_at(&motion, player, time);
                CrowdTruth then = crowd_motion_at(&motion, player, time + FL_MS(25));
                FlVec3 step = fl_vec3_sub(then.position, now.position);
                if (now.life == then.life) {
                    along += fl_vec3_dot(step, now.velocity);
                    all += fl_vec3_length(step) * fl_vec3_length(now.velocity);
                }
            }
        }
        assert_true(along > 0.9 * all);
    }
    crowd_motion_free(&motion);
}

static void everything_fits_into_its_world(void **state)
{
    (void)state;
    for (int32_t ground = 0; ground < 2; ground++) {
        CrowdMotion motion = loaded(3);
        motion.one_ground = ground == 1;
        FlWorldDef def = crowd_motion_world(&motion, PLAYERS);
        FlWorld world;
        assert_int_equal(fl_world_init(&def, &world), FL_OK);
        FlRandom r = random_stream(3);
        for (int32_t i = 0; i < CASES(5000); i++) {
            int32_t player = (int32_t)fl_random_below(&r, PLAYERS);
            FlTime time = random_time(&r, 0, FL_SEC(100));
            CrowdTruth truth = crowd_motion_at(&motion, player, time);
            FlMotion told = {.model = FL_MODEL_LINEAR,
                             .time = FL_SEC(100),
                             .position = truth.position,
                             .velocity = truth.velocity,
                             .facing = fl_facing_yaw(truth.yaw, 0.0),
                             .horizon_ns = FL_FOREVER};
            bool wide;
            assert_int_equal(fl_update_round(&world, &told, &told, &wide), FL_OK);
            assert_false(wide);
            assert_true(fl_vec3_distance(told.position, truth.position) < 5.0);
        }
        crowd_motion_free(&motion);
    }
}

/// As many are near as in the recording, however many there are.
static void a_crowd_is_as_dense_as_the_recording(void **state)
{
    (void)state;
    CrowdMotion motion = loaded(4);
    int32_t last = PLAYERS / motion.match.players * motion.match.players;
    CrowdTruth one = crowd_motion_at(&motion, last - 1, FL_SEC(5));
    int32_t near = 0;
    for (int32_t i = 0; i < last; i++) {
        CrowdTruth other = crowd_motion_at(&motion, i, FL_SEC(5));
        near += fl_vec3_distance(one.position, other.position) < motion.half ? 1 : 0;
    }
    assert_true(near <= 4 * motion.match.players);
    motion.one_ground = true;
    one = crowd_motion_at(&motion, last - 1, FL_SEC(5));
    near = 0;
    for (int32_t i = 0; i < last; i++) {
        CrowdTruth other = crowd_motion_at(&motion, i, FL_SEC(5));
        near += fl_vec3_distance(one.position, other.position) < motion.half ? 1 : 0;
    }
    assert_true(near > 8 * motion.match.players);
    crowd_motion_free(&motion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_players_move_as_recorded),
        cmocka_unit_test(a_copy_is_turned_or_mirrored_and_keeps_its_pace),
        cmocka_unit_test(velocities_are_turned_like_places),
        cmocka_unit_test(everything_fits_into_its_world),
        cmocka_unit_test(a_crowd_is_as_dense_as_the_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
