// Light connections: whom we want to meet and how often we say so, when a light connection is over,
// and that who comes anew is nobody we know.
#include "crowd_support.h"

enum { PLAYERS = 13 };

static int32_t wanted(FlCrowd *crowd, FlTime now, bool *whom)
{
    int32_t count = 0;
    int32_t member;
    while (fl__crowd_next_to_open(crowd, now, &member)) {
        assert_in_range(member, 2, PLAYERS);
        if (whom != NULL) {
            whom[member] = true;
        }
        count++;
    }
    return count;
}

static void send_all(FlCrowd *crowd, FlTime now)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    int32_t to;
    while (fl__crowd_next(crowd, now, bytes, sizeof bytes, &count, &to)) {
    }
}

static void hear(FlCrowd *crowd, int32_t from, uint16_t number, FlTime now)
{
    Craft craft;
    craft_begin(&craft, number);
    craft_heartbeat(&craft, now, 0, 0, 0);
    craft_give(&craft, crowd, from, now);
}

static void neighbours_are_asked_for_every_two_seconds_until_they_are_met(void **state)
{
    (void)state;
    FlTime now = FL_SEC(10);
    FlCrowd *crowd = crowd_make(1, PLAYERS, now);
    bool whom[PLAYERS + 1] = {false};
    int32_t count = wanted(crowd, now, whom);
    assert_int_equal(count,
                     crowd->neighbour_count); // we have the lowest number: all are ours to ask
    for (int32_t m = 2; m <= PLAYERS; m++) {
        assert_true(whom[m] == fl__crowd_linked(crowd, 1, m));
    }
    int32_t parted;
    for (int32_t i = 1; i < 20; i++) {
        assert_false(fl__crowd_next_to_close(crowd, now + FL_MS(100) * i, &parted));
        assert_int_equal(wanted(crowd, now + FL_MS(100) * i, NULL), 0);
    }
    now += FL_MS(2300); // light connections are looked after now and then
    assert_false(fl__crowd_next_to_close(crowd, now, &parted));
    assert_int_equal(wanted(crowd, now, NULL), count);
    assert_int_equal(fl__crowd_light_open(crowd, crowd->neighbours[0], now), FL_OK);
    now += FL_MS(2300);
    assert_false(fl__crowd_next_to_close(crowd, now, &parted));
    assert_int_equal(wanted(crowd, now, NULL), count - 1);
    fl__crowd_destroy(crowd);
}

// Of two neighbours one asks.
static void of_two_neighbours_the_lower_number_asks(void **state)
{
    (void)state;
    int32_t asked[PLAYERS + 1][PLAYERS + 1] = {{0}};
    for (int32_t m = 1; m <= PLAYERS; m++) {
        FlCrowd *crowd = crowd_make(m, PLAYERS, 0);
        int32_t other;
        while (fl__crowd_next_to_open(crowd, 0, &other)) {
            assert_true(other > m);
            asked[m][other]++;
        }
        for (int32_t i = 0; i < crowd->neighbour_count; i++) {
            int32_t near = crowd->neighbours[i];
            assert_int_equal(near > m ? asked[m][near] : asked[near][m], 1);
        }
        fl__crowd_destroy(crowd);
    }
}

static void who_is_looked_at_is_asked_for(void **state)
{
    (void)state;
    FlTime now = FL_SEC(10);
    FlCrowd *crowd = crowd_make(PLAYERS, PLAYERS, now); // asks no neighbour
    assert_int_equal(wanted(crowd, now, NULL), 0);
    int32_t far = 2;
    while (fl__crowd_linked(crowd, PLAYERS, far)) {
        far++;
    }
    fl__crowd_look(crowd, (uint32_t)far, 1.0);
    send_all(crowd, now);
    bool whom[PLAYERS + 1] = {false};
    assert_int_equal(wanted(crowd, now, whom), 1);
    assert_true(whom[far]);
    fl__crowd_look(crowd, (uint32_t)far, 0.0);
    send_all(crowd, now + FL_MS(200));
    assert_int_equal(wanted(crowd, now + FL_SEC(4), NULL), 0);
    fl__crowd_destroy(crowd);
}

// Runs until it is over; how long that took.
static FlTime lasts(FlCrowd *crowd, int32_t member, FlTime now, FlTime speaks)
{
    int32_t parted = 0;
    FlTime began = now;
    uint16_t number = 1;
    while (!fl__crowd_next_to_close(crowd, now, &parted) && now < began + FL_SEC(30)) {
        if (now < began + speaks) {
            hear(crowd, member, number++, now);
        }
        send_all(crowd, now);
        now += FL_MS(50);
    }
    assert_true(parted == 0 || parted == member);
    return now - began;
}

static void a_light_that_nothing_comes_over_is_over(void **state)
{
    (void)state;
    for (int32_t kind = 0; kind < 4; kind++) {
        FlTime now = FL_SEC(10);
        FlCrowd *crowd = crowd_make(1, PLAYERS, now);
        (void)wanted(crowd, now, NULL);
        int32_t near = crowd->neighbours[0];
        int32_t far = 2;
        while (fl__crowd_linked(crowd, 1, far)) {
            far++;
        }
        int32_t member = kind == 3 ? far : near;
        assert_int_equal(fl__crowd_light_open(crowd, member, now), FL_OK);
        FlTime speaks = kind == 0 ? 0 : kind == 1 ? FL_SEC(2) : FL_SEC(40);
        FlTime lasted = lasts(crowd, member, now, speaks);
        switch (kind) {
        case 0: // never heard
            assert_in_range(lasted, FL_SEC(3), FL_MS(3600));
            break;
        case 1: // silent
            assert_in_range(lasted, FL_SEC(8), FL_SEC(14));
            break;
        case 2: // a neighbour stays
            assert_in_range(lasted, FL_SEC(30), FL_SEC(31));
            break;
        default: // nobody needs it
            assert_in_range(lasted, FL_SEC(18), FL_SEC(22));
            break;
        }
        fl__crowd_destroy(crowd);
    }
}

static void there_are_no_more_lights_than_agreed(void **state)
{
    (void)state;
    FlCrowdDef def = fl__crowd_def_default();
    def.entity_capacity = 4096;
    def.self = 1;
    def.member_capacity = PLAYERS + 1;
    def.light_capacity = 3;
    FlWorld world = crowd_world();
    FlCrowd *crowd;
    assert_int_equal(fl__crowd_create(&def, &world, 0, &crowd), FL_OK);
    for (int32_t m = 2; m <= PLAYERS; m++) {
        crowd_member(crowd, m, true);
        FlResult result = fl__crowd_light_open(crowd, m, 0);
        assert_int_equal(result, m <= 4 ? FL_OK : FL_FULL);
    }
    assert_int_equal(fl__crowd_light_open(crowd, 3, FL_SEC(1)), FL_OK); // introduced anew
    assert_int_equal(fl__crowd_stats(crowd).lights, 3);
    fl__crowd_light_close(crowd, 2);
    fl__crowd_light_close(crowd, 2); // twice does no harm
    assert_int_equal(fl__crowd_light_open(crowd, 9, FL_SEC(1)), FL_OK);
    assert_int_equal(fl__crowd_stats(crowd).lights, 3);
    fl__crowd_destroy(crowd);
}

static void who_comes_anew_is_nobody_we_know(void **state)
{
    (void)state;
    FlTime now = FL_SEC(10);
    FlCrowd *crowd = crowd_make(1, PLAYERS, now);
    assert_int_equal(fl__crowd_light_open(crowd, 2, now), FL_OK);
    FlState there = crowd_state(2, now);
    Craft craft;
    craft_begin(&craft, 1);
    craft_batch(&craft, 2, &there);
    craft_give(&craft, crowd, 2, now);
    fl__crowd_look(crowd, 2, 1.0);
    send_all(crowd, now);
    FlCrowdView view;
    assert_int_equal(fl__crowd_view(crowd, 2, true, &view), FL_OK);
    assert_int_equal(fl__crowd_stats(crowd).sources, 1);
    crowd_member(crowd, 2, false);
    assert_int_equal(fl__crowd_view(crowd, 2, true, &view), FL_NOT_FOUND);
    int32_t parted;
    assert_true(fl__crowd_next_to_close(crowd, now, &parted) && parted == 2);
    crowd_member(crowd, 2, true);
    assert_int_equal(fl__crowd_view(crowd, 2, true, &view), FL_NOT_FOUND);
    send_all(crowd, now + FL_SEC(1));
    assert_int_equal(fl__crowd_stats(crowd).sources, 0); // nor does anybody look at it
    fl__crowd_destroy(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_asked_for_every_two_seconds_until_they_are_met),
        cmocka_unit_test(of_two_neighbours_the_lower_number_asks),
        cmocka_unit_test(who_is_looked_at_is_asked_for),
        cmocka_unit_test(a_light_that_nothing_comes_over_is_over),
        cmocka_unit_test(there_are_no_more_lights_than_agreed),
        cmocka_unit_test(who_comes_anew_is_nobody_we_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
