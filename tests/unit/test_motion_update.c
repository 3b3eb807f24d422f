// Updates: what is rounded how, how long they are, and that both ends predict alike.
#include "update_support.h"

// ---------------------------------------------------------------- the same from another time

static void check_same_trajectory(const FlMotion *a, const FlMotion *b, FlTime time)
{
    // Double rounding grows with what is added up on the way.
    double s = fabs(fl_span_seconds(time - a->time)) + fabs(fl_span_seconds(time - b->time));
    double reach = fl_vec3_length(a->position) + fl_vec3_length(a->velocity) * s +
                   fl_vec3_length(a->acceleration) * s * s + fl_vec3_length(a->jerk) * s * s * s;
    double speed = fl_vec3_length(a->velocity) + fl_vec3_length(a->acceleration) * s +
                   fl_vec3_length(a->jerk) * s * s;
    check_vec3_near(fl_motion_position(b, time), fl_motion_position(a, time), 1e-13 * reach);
    check_vec3_near(fl__motion_velocity(b, time), fl__motion_velocity(a, time), 1e-13 * speed);
    FlFacing facing_a = fl__motion_facing(a, time);
    FlFacing facing_b = fl__motion_facing(b, time);
    assert_int_equal(facing_a.kind, facing_b.kind);
    check_near(fl__facing_angle(&facing_a, &facing_b), 0.0, 1e-12 * (1.0 + 10.0 * s));
}

static void rebasing_keeps_the_trajectory_of_every_form(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (int32_t n = 0; n < CASES(30000); n++) {
        FlMotion motion = random_motion_in(&r, &world, n % FORMS);
        if (random_chance(&r, 2)) {
            motion.horizon_ns = random_span(&r, 6.0, 10.0);
        }
        FlTime time = motion.time + random_time(&r, -FL_SEC(2), FL_SEC(12));
        FlMotion moved = fl__motion_rebase(&motion, time);
        assert_true(moved.time == time);
        FlTime from = time > motion.time ? time : motion.time;
        check_same_trajectory(&motion, &moved, from);
        for (int32_t i = 0; i < 4; i++) {
            check_same_trajectory(&motion, &moved, from + random_span(&r, 6.0, 10.3));
        }
    }
}

static void rebasing_to_its_own_time_changes_nothing(void **state)
{
    (void)state;
    FlRandom r = random_stream(2);
    for (int32_t n = 0; n < CASES(3000); n++) {
        FlMotion motion = random_motion_anywhere(&r, n % FORMS);
        FlMotion moved = fl__motion_rebase(&motion, motion.time);
        assert_true(same_motion(&motion, &moved));
    }
}

static void rebasing_past_an_end_leaves_what_holds_there(void **state)
{
    (void)state;
    FlState a = {.velocity = {1.0, 0.0, 0.0}, .facing = fl_facing_yaw(0.5, 2.0)};
    FlState b = {.time = FL_SEC(2), .position = {2.0, 2.0, 0.0}, .velocity = {0.0, 3.0, 0.0}};
    FlMotion cubic = fl__motion_cubic(&a, &b);
    FlMotion moved = fl__motion_rebase(&cubic, FL_SEC(1));
    assert_int_equal(moved.model, FL_MODEL_CUBIC);
    assert_true(moved.curve_ns == FL_SEC(1));
    moved = fl__motion_rebase(&cubic, FL_SEC(3));
    assert_int_equal(moved.model, FL_MODEL_LINEAR);
    assert_true(moved.curve_ns == 0 && same_vec3(moved.jerk, fl_vec3(0.0, 0.0, 0.0)));
    check_vec3_near(moved.position, fl_vec3(2.0, 5.0, 0.0), 1e-14);
    check_near(moved.facing.yaw_rate, 2.0, 0.0);

    FlMotion linear = fl_motion_make(FL_MODEL_LINEAR, &a);
    linear.horizon_ns = FL_SEC(2);
    moved = fl__motion_rebase(&linear, FL_MS(500));
    assert_true(moved.horizon_ns == FL_MS(1500));
    moved = fl__motion_rebase(&linear, -FL_SEC(1));
    assert_true(moved.horizon_ns == FL_SEC(3));
    moved = fl__motion_rebase(&linear, FL_SEC(7));
    assert_int_equal(moved.model, FL_MODEL_STILL);
    assert_true(moved.horizon_ns == FL_FOREVER);
    check_vec3_near(moved.position, fl_vec3(2.0, 0.0, 0.0), 1e-15);
    check_near(moved.facing.yaw, 4.5, 1e-15);
    check_same(moved.facing.yaw_rate, 0.0);
}

// ---------------------------------------------------------------- there and back

// Everything that must hold of any motion that can be told.
static void check_round_trip(FlRandom *r, const FlWorld *world, const FlMotion *motion, bool *wide)
{
    FlMotion sent = rounded(world, motion, wide);
    assert_true(sent.time % FL_UPDATE_STEP_NS == 0 && sent.horizon_ns == FL_FOREVER);
    assert_true(motion->time - sent.time >= 0 && motion->time - sent.time < FL_UPDATE_STEP_NS);
    bool wide_again;
    FlMotion again = rounded(world, &sent, &wide_again);
    assert_true(same_motion(&sent, &again) && wide_again == *wide);
    again = *motion; // in place
    assert_int_equal(fl_update_round(world, &again, &again, &wide_again), FL_OK);
    assert_true(same_motion(&sent, &again));

    FlUpdate update = {.motion = *motion, .life = (uint32_t)fl_random_next(r)};
    update.entity = (uint32_t)fl_random_below(r, (uint64_t)world->def.entity_capacity);
    Packed raw = packed(world, &update);
    update.motion = sent;
    Packed p = packed(world, &update);
    assert_int_equal(p.size, raw.size);
    assert_memory_equal(p.bytes, raw.bytes, (size_t)p.size);
    assert_int_equal(
        p.size, fl__update_bytes(world, sent.model, sent.facing.kind, *wide, sent.fade.level != 0));

    FlUpdate got;
    int32_t used;
    FlTime stamp = sent.time + random_time(r, -FL_SEC(1), FL_SEC(15));
    assert_int_equal(unpacked(world, p.bytes, p.size, stamp, &got, &used), FL_UPDATE_OK);
    assert_int_equal(used, p.size);
    assert_int_equal(got.entity, update.entity);
    assert_int_equal(got.life, update.life & 3u);
    assert_true(same_motion(&got.motion, &sent));
}

static void what_lies_in_the_world_travels_narrow_and_exactly_as_rounded(void **state)
{
    (void)state;
    FlRandom r = random_stream(3);
    for (int32_t n = 0; n < CASES(60000); n++) {
        FlWorld world = random_world(&r);
        FlMotion motion = random_motion_in(&r, &world, n % FORMS);
        bool wide;
        check_round_trip(&r, &world, &motion, &wide);
        assert_false(wide);
    }
}

static void what_lies_outside_travels_wide_and_exactly(void **state)
{
    (void)state;
    FlRandom r = random_stream(4);
    int32_t wide_count = 0;
    for (int32_t n = 0; n < CASES(60000); n++) {
        FlWorld world = random_world(&r);
        FlMotion motion = random_motion_anywhere(&r, n % FORMS);
        bool wide;
        check_round_trip(&r, &world, &motion, &wide);
        wide_count += wide;
    }
    assert_true(wide_count > CASES(60000) / 2);
}

static void owner_and_receiver_predict_the_same_bits(void **state)
{
    (void)state;
    FlRandom r = random_stream(5);
    for (int32_t n = 0; n < CASES(15000); n++) {
        FlWorld world = random_world(&r);
        FlMotion motion = random_motion_anywhere(&r, n % FORMS);
        bool wide;
        FlUpdate update = {.motion = rounded(&world, &motion, &wide)};
        Packed p = packed(&world, &update);
        FlUpdate got;
        int32_t used;
        assert_int_equal(unpacked(&world, p.bytes, p.size, motion.time, &got, &used), FL_UPDATE_OK);
        FlTime later = motion.time + random_span(&r, 3.0, 11.0);
        assert_true(same_vec3(fl_motion_position(&update.motion, later),
                              fl_motion_position(&got.motion, later)));
        FlFacing facing_a = fl__motion_facing(&update.motion, later);
        FlFacing facing_b = fl__motion_facing(&got.motion, later);
        assert_true(same_facing(&facing_a, &facing_b));
    }
}

// ---------------------------------------------------------------- how far off

static double far_off(FlVec3 a, FlVec3 b)
{
    return fmax(fmax(fabs(a.x - b.x), fabs(a.y - b.y)), fabs(a.z - b.z));
}

static void each_field_is_off_by_half_its_step_at_most(void **state)
{
    (void)state;
    FlRandom r = random_stream(6);
    Worst position = {0}, velocity = {0}, acceleration = {0}, turn = {0}, yaw = {0}, rate = {0};
    Worst rotation = {0}, spin = {0}, end = {0}, end_velocity = {0};
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (int32_t n = 0; n < CASES(60000); n++) {
        FlMotion motion = random_motion_in(&r, &world, n % FORMS);
        motion.time += random_time(&r, 0, FL_UPDATE_STEP_NS - 1);
        bool wide;
        FlMotion sent = rounded(&world, &motion, &wide);
        if (wide) { // left the world by re-basing
            continue;
        }
        FlMotion told = fl__motion_rebase(&motion, sent.time);
        worst_note(&position, far_off(sent.position, told.position), n);
        worst_note(&velocity, far_off(sent.velocity, told.velocity), n);
        worst_note(&turn, fabs(sent.turn_rate - told.turn_rate), n);
        if (sent.model == FL_MODEL_QUADRATIC) {
            worst_note(&acceleration, far_off(sent.acceleration, told.acceleration), n);
        }
        if (sent.model == FL_MODEL_CUBIC) {
            FlTime last = sent.time + sent.curve_ns;
            worst_note(
                &end, far_off(fl_motion_position(&sent, last), fl_motion_position(&told, last)), n);
            worst_note(&end_velocity,
                       far_off(fl__motion_velocity(&sent, last), fl__motion_velocity(&told, last)),
                       n);
        }
        double angle = fl__facing_angle(&sent.facing, &told.facing);
        worst_note(sent.facing.kind == FL_FACING_YAW ? &yaw : &rotation, angle, n);
        worst_note(&rate, fabs(sent.facing.yaw_rate - told.facing.yaw_rate), n);
        worst_note(&spin, far_off(sent.facing.spin, told.facing.spin), n);
    }
    check_worst(&position, 0.5001 * def.precision, "position");
    check_worst(&velocity, 0.5001 * def.precision, "velocity");
    check_worst(&acceleration, 1.0001 * def.precision, "acceleration");
    check_worst(&turn, 1.0001 * def.precision / def.top_speed, "turn rate");
    check_worst(&end, 0.5001 * def.precision, "a cubic's end");
    check_worst(&end_velocity, 0.5001 * def.precision, "a cubic's end velocity");
    check_worst(&yaw, 0.5001 * def.angle_precision, "yaw");
    check_worst(&rate, 0.5001 * def.angle_precision, "yaw rate");
    check_worst(&rotation, def.angle_precision, "rotation");
    check_worst(&spin, 0.5001 * def.angle_precision, "spin");
}

static void the_time_is_floored_and_the_motion_goes_back_with_it(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    const struct {
        FlTime time, floored;
    } row[] = {{0, 0},
               {FL_US(249), 0},
               {FL_US(250), FL_US(250)},
               {FL_US(250) - 1, 0},
               {-1, -FL_US(250)},
               {-FL_US(250), -FL_US(250)},
               {FL_SEC(3600) + 1, FL_SEC(3600)}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        FlState state_then = {.time = row[i].time, .velocity = {100.0, -100.0, 0.0}};
        FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state_then);
        bool wide;
        FlMotion sent = rounded(&world, &motion, &wide);
        assert_true(sent.time == row[i].floored);
        double back = 100.0 * fl_span_seconds(row[i].time - row[i].floored); // up to 2.5 cm
        check_near(sent.position.x, -back, 0.0051);
        check_near(sent.position.y, back, 0.0051);
    }
}

static void what_a_model_does_not_use_is_dropped(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlState given = {.position = {1.0, 2.0, 3.0}, .facing = fl_facing_yaw(1.0, 0.5)};
    FlMotion clean = fl_motion_make(FL_MODEL_STILL, &given);
    FlMotion messy = clean;
    messy.velocity = messy.acceleration = messy.jerk = fl_vec3(9.0, (double)NAN, -1e300);
    messy.turn_rate = (double)INFINITY;
    messy.curve_ns = 77;
    messy.facing.spin = fl_vec3((double)NAN, 1.0, 2.0);
    bool wide;
    FlMotion a = rounded(&world, &clean, &wide);
    FlMotion b = rounded(&world, &messy, &wide);
    assert_true(same_motion(&a, &b) && !wide);
}

static void a_motion_whose_horizon_is_past_travels_as_still(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlState given = {.time = 777, .velocity = {5.0, 0.0, 0.0}, .facing = fl_facing_none()};
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &given);
    bool wide;
    motion.horizon_ns = 0;
    assert_int_equal(rounded(&world, &motion, &wide).model, FL_MODEL_STILL);
    motion.horizon_ns = FL_SEC(1);
    assert_int_equal(rounded(&world, &motion, &wide).model, FL_MODEL_LINEAR);
}

static void a_horizon_that_is_not_past_does_not_matter(void **state)
{
    (void)state;
    FlRandom r = random_stream(16);
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    for (int32_t n = 0; n < CASES(3000); n++) {
        FlMotion motion = random_motion_in(&r, &world, n % FORMS);
        bool wide;
        FlMotion for_ever = rounded(&world, &motion, &wide);
        motion.horizon_ns = random_span(&r, 0.0, 9.0); // within a cubic's curve, too
        FlMotion sent = rounded(&world, &motion, &wide);
        assert_true(same_motion(&sent, &for_ever));
    }
}

static void minus_zero_travels_as_zero(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlRandom r = random_stream(17);
    for (int32_t form = 0; form < FORMS; form++) {
        FlVec3 none = fl_vec3(-0.0, -0.0, -0.0);
        FlMotion motion = random_motion_in(&r, &world, form);
        motion.position = fl_vec3(1e9, -0.0, -0.0); // wide, so that it would not be rounded away
        motion.velocity = motion.acceleration = motion.jerk = motion.facing.spin = none;
        motion.turn_rate = motion.facing.yaw_rate = -0.0;
        bool wide;
        check_round_trip(&r, &world, &motion, &wide);
        assert_true(wide);
        FlMotion sent = rounded(&world, &motion, &wide);
        check_same(sent.position.z, 0.0);
        check_same(sent.velocity.x, 0.0);
        check_same(sent.turn_rate, 0.0);
        check_same(sent.facing.yaw_rate, 0.0);
    }
}

static void a_cubic_lasts_a_whole_number_of_steps_at_least_one(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    const struct {
        FlTime curve, told;
        bool wide;
    } row[] = {{1, FL_US(250), false},
               {FL_US(374), FL_US(250), false},
               {FL_US(375), FL_US(500), false},
               {FL_US(250) * 65535 + FL_US(124), FL_US(250) * 65535, false},
               {FL_US(250) * 65535 + FL_US(125), FL_US(250) * 65535 + FL_US(125), true},
               {INT64_MAX, INT64_MAX, true}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        FlState from = {.velocity = {0.0, 0.0, 0.0}, .facing = fl_facing_none()};
        FlState to = {.time = row[i].curve, .facing = fl_facing_none()};
        FlMotion motion = fl__motion_cubic(&from, &to);
        bool wide;
        FlMotion sent = rounded(&world, &motion, &wide);
        assert_int_equal(sent.model, FL_MODEL_CUBIC);
        assert_true(sent.curve_ns == row[i].told);
        assert_int_equal(wide, row[i].wide);
    }
    FlMotion over = {.model = FL_MODEL_CUBIC, .horizon_ns = FL_FOREVER, .facing = fl_facing_none()};
    bool wide;
    assert_int_equal(rounded(&world, &over, &wide).model, FL_MODEL_LINEAR); // no curve at all
}

// ---------------------------------------------------------------- sizes

static int32_t bytes_of(double low, double high, double flat, double speed, int32_t capacity)
{
    FlWorldDef def = fl_world_def_default();
    def.low = fl_vec3(low, low, flat == 0.0 ? low : 0.0);
    def.high = fl_vec3(high, high, flat == 0.0 ? high : 0.0);
    def.top_speed = speed;
    def.entity_capacity = capacity;
    FlWorld world = world_of(&def);
    FlState given = {.position = {low, high, def.low.z}, .velocity = {speed, -speed, 0.0}};
    FlUpdate update = {.entity = (uint32_t)capacity - 1,
                       .motion = fl_motion_make(FL_MODEL_LINEAR, &given)};
    return packed(&world, &update).size;
}

static void sizes_are_as_promised(void **state)
{
    (void)state;
    assert_int_equal(bytes_of(-2000.0, 2000.0, 0.0, 40.0, 1024), 16);
    assert_int_equal(bytes_of(-2000.0, 2000.0, 0.0, 320.0, 65536), 18);
    assert_int_equal(bytes_of(0.0, 1000.0, 1.0, 40.0, 1024), 12);
    assert_int_equal(bytes_of(-500.0, 500.0, 0.0, 160.0, 1024), 16); // the default world
}

static void no_update_is_longer_than_the_longest(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    def.entity_capacity = 65536;
    def.angle_precision = 1e-5;
    FlWorld world = world_of(&def);
    assert_int_equal(fl__update_bytes(&world, FL_MODEL_CUBIC, FL_FACING_FREE, true, false),
                     FL_UPDATE_BYTES_MAX);
    FlRandom r = random_stream(7);
    for (int32_t n = 0; n < CASES(20000); n++) {
        world = random_world(&r);
        for (int32_t form = 0; form < FORMS; form++) {
            assert_true(fl__update_bytes(&world, model_of(form), kind_of(form), false, true) <=
                        FL_UPDATE_BYTES_MAX);
            assert_true(fl__update_bytes(&world, model_of(form), kind_of(form), true, true) <=
                        FL_UPDATE_BYTES_MAX);
        }
    }
}

// ---------------------------------------------------------------- narrow or wide

static void any_single_value_outside_makes_it_wide(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    def.low.z = def.high.z = 0.0; // on a missing axis, anything but nothing is outside
    FlWorld world = world_of(&def);
    FlState plain = {.facing = fl_facing_free(fl__quat_identity(), fl_vec3(0.0, 0.0, 0.0))};
    const struct {
        FlModel model;
        size_t offset;
        double inside, outside;
    } row[] = {
#define AT(field) offsetof(FlMotion, field)
        {FL_MODEL_STILL, AT(position.x), 500.004, 500.006},
        {FL_MODEL_LINEAR, AT(position.y), -500.004, -500.006},
        {FL_MODEL_LINEAR, AT(position.z), 0.0049, 0.0051},
        {FL_MODEL_LINEAR, AT(velocity.x), 160.0, 160.006},
        {FL_MODEL_QUADRATIC, AT(velocity.z), 0.0, -1.0},
        {FL_MODEL_QUADRATIC, AT(acceleration.y), -100.0, -100.02},
        {FL_MODEL_QUADRATIC, AT(acceleration.z), 0.009, 0.011},
        {FL_MODEL_CIRCULAR, AT(turn_rate), 10.0, 10.0001},
        {FL_MODEL_CUBIC, AT(acceleration.x), 0.0, 4000.0}, // ends outside
        {FL_MODEL_STILL, AT(facing.spin.x), 10.0, 10.006},
        {FL_MODEL_CIRCULAR, AT(facing.spin.z), -10.0, -1e9},
#undef AT
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        FlModel model = row[i].model;
        FlMotion motion = fl_motion_make(model == FL_MODEL_CUBIC ? FL_MODEL_LINEAR : model, &plain);
        motion.model = model;
        motion.curve_ns = model == FL_MODEL_CUBIC ? FL_SEC(1) : 0;
        double *value = (double *)(void *)((char *)&motion + row[i].offset);
        bool wide;
        *value = row[i].inside;
        FlMotion narrow = rounded(&world, &motion, &wide);
        assert_false(wide);
        *value = row[i].outside;
        FlMotion exact = rounded(&world, &motion, &wide);
        assert_true(wide);
        assert_true(same_motion(&exact, &motion));
        assert_false(same_motion(&exact, &narrow));
    }
}

static void an_orientation_always_fits(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlState far_yaw = {.facing = fl_facing_yaw(1e9, 0.0)};
    FlQuat tiny = {0.0, 1e-9, 0.0, 0.0};
    FlState odd = {.facing = fl_facing_free(tiny, fl_vec3(0.0, 0.0, 0.0))};
    FlMotion a = fl_motion_make(FL_MODEL_STILL, &far_yaw);
    FlMotion b = fl_motion_make(FL_MODEL_STILL, &odd);
    bool wide;
    FlMotion sent = rounded(&world, &a, &wide);
    assert_false(wide);
    check_near(fl_angle_wrap(sent.facing.yaw - 1e9), 0.0, 0.01);
    sent = rounded(&world, &b, &wide);
    assert_false(wide);
    check_near(sent.facing.rotation.x, 1.0, 0.0);
}

// ---------------------------------------------------------------- time

static void a_time_is_found_again_within_its_window_only(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlRandom r = random_stream(13);
    const FlTime step = FL_UPDATE_STEP_NS;
    for (int32_t n = 0; n < CASES(20000); n++) {
        FlTime stamp = random_time(&r, -FL_SEC(100000), FL_SEC(100000));
        FlTime base = (stamp / step - (stamp % step < 0)) * step;
        const FlTime offset[] = {0,
                                 -step,
                                 FL_SEC(1),
                                 FL_SEC(1) + step,
                                 FL_MS(-15384),
                                 FL_MS(-15384) + step,
                                 random_time(&r, -80000, 80000) * step};
        for (size_t i = 0; i < sizeof offset / sizeof offset[0]; i++) {
            FlState given = {.time = base + offset[i]};
            FlUpdate update = {.motion = fl_motion_make(FL_MODEL_STILL, &given)};
            Packed p = packed(&world, &update);
            FlUpdate got;
            int32_t used;
            assert_int_equal(unpacked(&world, p.bytes, p.size, stamp, &got, &used), FL_UPDATE_OK);
            bool inside = offset[i] <= FL_SEC(1) && offset[i] > FL_MS(-15384);
            assert_int_equal(fl__update_time_fits(given.time, stamp), inside);
            assert_int_equal(got.motion.time == given.time, inside);
            assert_true((got.motion.time - given.time) % (65536 * step) == 0);
        }
    }
}

static void a_stamp_at_the_end_of_times_is_refused_not_overflown(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    FlState given = {.time = 0};
    FlUpdate update = {.motion = fl_motion_make(FL_MODEL_STILL, &given)};
    Packed p = packed(&world, &update);
    const FlTime ends[] = {INT64_MIN, INT64_MIN + FL_SEC(1), INT64_MAX, INT64_MAX - FL_SEC(1)};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        FlUpdate got;
        int32_t used;
        assert_int_equal(unpacked(&world, p.bytes, p.size, ends[i], &got, &used),
                         FL_UPDATE_BAD_TIME);
        (void)fl__update_time_fits(INT64_MIN, ends[i]);
        (void)fl__update_time_fits(INT64_MAX, ends[i]);
    }
}

// ---------------------------------------------------------------- together

static void updates_share_a_packet_until_one_is_bad(void **state)
{
    (void)state;
    FlRandom r = random_stream(14);
    FlWorldDef def = fl_world_def_default();
    FlWorld world = world_of(&def);
    uint8_t bytes[1200];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    FlMotion sent[FORMS];
    for (int32_t form = 0; form < FORMS; form++) {
        FlMotion motion = random_motion_in(&r, &world, form);
        motion.time = FL_SEC(5);
        bool wide;
        sent[form] = rounded(&world, &motion, &wide);
        FlUpdate update = {.entity = (uint32_t)form, .motion = sent[form]};
        assert_true(fl_update_encode(&writer, &world, &update));
    }
    fl_writer_put(&writer, 255, 8); // wide, and no form
    fl_writer_put(&writer, 0, 64);
    FlReader reader;
    fl_reader_init(&reader, bytes, fl_writer_size(&writer));
    FlUpdate got;
    for (int32_t form = 0; form < FORMS; form++) {
        assert_int_equal(fl_update_decode(&reader, &world, FL_SEC(6), &got), FL_UPDATE_OK);
        assert_int_equal(got.entity, form);
        assert_true(same_motion(&got.motion, &sent[form]));
    }
    assert_int_equal(fl_update_decode(&reader, &world, FL_SEC(6), &got), FL_UPDATE_BAD_FORM);
    assert_int_equal(fl_update_decode(&reader, &world, FL_SEC(6), &got), FL_UPDATE_TRUNCATED);
}

static void all_compilers_write_the_same_bytes(void **state)
{
    (void)state;
    FlRandom r = random_stream(15);
    Hash hash = hash_start();
    for (int32_t n = 0; n < 3000; n++) {
        FlWorldDef def = fl_world_def_default();
        def.precision = 1e-4 * (double)(1 + n % 300);
        def.angle_precision = 1e-4 * (double)(1 + n % 77);
        def.entity_capacity = 1 + n * 7;
        def.low.z = n % 3 == 0 ? def.high.z : def.low.z;
        FlWorld world = world_of(&def);
        FlUpdate update = {.motion = random_motion_in(&r, &world, n % FORMS)};
        update.motion.time += n;
        Packed p = packed(&world, &update);
        for (int32_t i = 0; i < p.size; i++) {
            hash_bits(&hash, p.bytes[i]);
        }
        hash_bits(&hash, world.protocol_id);
    }
    check_hash(hash, UINT64_C(0xa333174a494e17f3)); // protocol ids include the wire version
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rebasing_keeps_the_trajectory_of_every_form),
        cmocka_unit_test(rebasing_to_its_own_time_changes_nothing),
        cmocka_unit_test(rebasing_past_an_end_leaves_what_holds_there),
        cmocka_unit_test(what_lies_in_the_world_travels_narrow_and_exactly_as_rounded),
        cmocka_unit_test(what_lies_outside_travels_wide_and_exactly),
        cmocka_unit_test(owner_and_receiver_predict_the_same_bits),
        cmocka_unit_test(each_field_is_off_by_half_its_step_at_most),
        cmocka_unit_test(the_time_is_floored_and_the_motion_goes_back_with_it),
        cmocka_unit_test(what_a_model_does_not_use_is_dropped),
        cmocka_unit_test(a_motion_whose_horizon_is_past_travels_as_still),
        cmocka_unit_test(a_horizon_that_is_not_past_does_not_matter),
        cmocka_unit_test(minus_zero_travels_as_zero),
        cmocka_unit_test(a_cubic_lasts_a_whole_number_of_steps_at_least_one),
        cmocka_unit_test(sizes_are_as_promised),
        cmocka_unit_test(no_update_is_longer_than_the_longest),
        cmocka_unit_test(any_single_value_outside_makes_it_wide),
        cmocka_unit_test(an_orientation_always_fits),
        cmocka_unit_test(a_time_is_found_again_within_its_window_only),
        cmocka_unit_test(a_stamp_at_the_end_of_times_is_refused_not_overflown),
        cmocka_unit_test(updates_share_a_packet_until_one_is_bad),
        cmocka_unit_test(all_compilers_write_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
