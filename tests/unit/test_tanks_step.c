// A tank's tick from the bytes of an input: any bytes do what a tank can do, and nothing more; and
// the same function plays in a timeline and at a server.
#include "support.h"

#include "fairlead/timeline.h"
#include "tanks/tanks.h"

static TanksWorld world;

static int set_up(void **state)
{
    (void)state;
    TanksRules rules = tanks_rules_default();
    return tanks_world_init(&rules, &world) == FL_OK ? 0 : -1;
}

static void inputs_travel_as_three_bytes(void **state)
{
    (void)state;
    for (int32_t drive = -1; drive <= 1; drive++) {
        for (int32_t turn = -1; turn <= 1; turn++) {
            TanksInput input = {drive, turn, drive == turn};
            uint8_t bytes[TANKS_INPUT_BYTES];
            tanks_input_encode(input, bytes);
            TanksInput read = tanks_input_decode(bytes);
            assert_true(read.drive == input.drive && read.turn == input.turn &&
                        read.fire == input.fire);
        }
    }
    TanksInput wild = {1e300, -(double)INFINITY, true};
    uint8_t bytes[TANKS_INPUT_BYTES];
    tanks_input_encode(wild, bytes);
    assert_true(tanks_input_decode(bytes).drive == 1.0 && tanks_input_decode(bytes).turn == -1.0);
    wild.drive = (double)NAN;
    tanks_input_encode(wild, bytes);
    assert_true(tanks_input_decode(bytes).drive == 0.0);
}

static void no_bytes_make_a_tank_faster_than_a_tank(void **state)
{
    (void)state;
    FlRandom random = {.seed = 5};
    TanksStepper stepper = {.world = &world};
    TanksTank tank;
    tanks_tank_init(&tank, 3, 0);
    int64_t shot_at = -1000;
    for (int64_t tick = 0; tick < 60000; tick++) {
        uint8_t bytes[TANKS_INPUT_BYTES];
        for (int32_t i = 0; i < TANKS_INPUT_BYTES; i++) {
            bytes[i] = (uint8_t)fl_random_below(&random, 256);
        }
        FlTimelineInputs inputs = {.of = {bytes}};
        TanksTank before = tank;
        tanks_step(&stepper, &tank, tick, &inputs);
        double dx = tank.x - before.x;
        double dy = tank.y - before.y;
        assert_true(tick == 0 ||
                    sqrt(dx * dx + dy * dy) <= world.rules.top_speed * world.tick_s * (1.0 + 1e-9));
        assert_true(tanks_world_fits(&world, tank.x, tank.y, tank.yaw));
        assert_true(tank.tick == tick + 1);
        if (stepper.fired_count > 0) {
            assert_true((tick - shot_at) * FL_SEC(1) / 60 >= world.rules.reload_ns);
            shot_at = tick;
            stepper.fired_count = 0;
        }
    }
    assert_true(shot_at > 0);
}

// What a timeline of one player settles is what a server computes, to the bit.
static void a_timeline_plays_the_same_tank(void **state)
{
    (void)state;
    TanksStepper stepper = {.world = &world};
    TanksStepper other = {.world = &world};
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = 1;
    def.input_bytes = TANKS_INPUT_BYTES;
    def.state_bytes = sizeof(TanksTank);
    def.game.step_fn = tanks_step;
    def.game.ctx = &stepper;
    FlTimeline *timeline;
    assert_int_equal(fl_timeline_create(&def, &timeline), FL_OK);
    TanksTank tank;
    tanks_tank_init(&tank, 7, 0);
    fl_timeline_begin(timeline, 0, &tank);
    assert_int_equal(fl_timeline_enter(timeline, 0, 0), FL_OK);
    FlRandom random = {.seed = 6};
    for (int64_t tick = 0; tick < 3000; tick++) {
        uint8_t bytes[TANKS_INPUT_BYTES] = {(uint8_t)fl_random_below(&random, 256),
                                            (uint8_t)fl_random_below(&random, 256), 1};
        FlTimelineInputs inputs = {.of = {bytes}};
        tanks_step(&other, &tank, tick, &inputs);
        assert_int_equal(fl_timeline_input(timeline, 0, tick, bytes), FL_OK);
        fl_timeline_advance(timeline, tick + 1);
        int64_t settled;
        assert_memory_equal(fl_timeline_settled(timeline, &settled), &tank, sizeof tank);
        assert_int_equal(settled, tick + 1);
    }
    fl_timeline_destroy(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_travel_as_three_bytes),
        cmocka_unit_test(no_bytes_make_a_tank_faster_than_a_tank),
        cmocka_unit_test(a_timeline_plays_the_same_tank),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
