// A group agrees on one Δ: 2 to 16 peers that send each other updates and proposals over ways that
// delay, jitter, lose and reorder, each at its own frames. Everybody must change to the same Δ at
// the same time, and Δ must be what the worst way needs.
#include "fairlead/show.h"

#include "unit/support.h"

#define PEERS 16
#define FLYING 8192
#define CHANGES 256

typedef struct Parcel {
    FlTime due;
    FlTime generated; // of an update; a message has its bytes instead
    int32_t from, to;
    bool is_message;
    uint8_t bytes[FL_DELTA_BYTES];
} Parcel;

typedef struct Peer {
    FlDeltaControl control;
    FlShow show;
    FlTime frame_at;
    FlTime update_at;
    FlDeltaChange changes[CHANGES];
    int32_t change_count;
    int64_t heard, late;
} Peer;

typedef struct Group {
    FlRandom random;
    int32_t count;
    int32_t loss_ppm;
    FlTime delay[PEERS][PEERS];
    FlTime jitter;
    FlTime extra; // on every way into the last peer
    FlTime now;
    Peer peer[PEERS];
    Parcel flying[FLYING];
    int32_t flying_count;
} Group;

static void group_init(Group *g, uint64_t seed, int32_t count, int32_t loss_ppm)
{
    memset(g, 0, sizeof *g);
    g->random = random_stream(seed);
    g->count = count;
    g->loss_ppm = loss_ppm;
    g->jitter = random_time(&g->random, FL_MS(1), FL_MS(40));
    g->now = FL_SEC(1000);
    FlDeltaDef def = fl_delta_def_default();
    FlShowDef shown = fl_show_def_default();
    shown.hold = FL_HOLD_ADAPTIVE;
    shown.delta_ns = def.initial_ns;
    for (int32_t i = 0; i < count; i++) {
        Peer *peer = &g->peer[i];
        fl_delta_control_init(&peer->control, &def);
        fl_show_init(&peer->show, &shown);
        peer->frame_at = g->now + random_time(&g->random, 0, FL_MS(16));
        peer->update_at = g->now + random_time(&g->random, 0, FL_MS(100));
        for (int32_t k = 0; k < count; k++) {
            g->delay[i][k] = random_time(&g->random, FL_MS(2), FL_MS(70));
        }
    }
}

static void post(Group *g, const Parcel *parcel)
{
    bool lost = (int32_t)fl_random_below(&g->random, 1000000) < g->loss_ppm;
    bool twice = random_chance(&g->random, 30);
    FlTime wait = random_time(&g->random, 0, g->jitter);
    for (int32_t i = 0; i < (twice ? 2 : 1) && !lost; i++) {
        assert_true(g->flying_count < FLYING);
        Parcel *copy = &g->flying[g->flying_count++];
        *copy = *parcel;
        copy->due = g->now + g->delay[parcel->from][parcel->to] + wait + i * FL_MS(7);
        copy->due += parcel->to == g->count - 1 ? g->extra : 0;
    }
}

static void to_all(Group *g, Parcel *parcel)
{
    for (int32_t to = 0; to < g->count; to++) {
        parcel->to = to;
        if (to != parcel->from) {
            post(g, parcel);
        }
    }
}

static void deliver(Group *g, const Parcel *parcel)
{
    Peer *peer = &g->peer[parcel->to];
    if (parcel->is_message) {
        assert_true(fl_delta_control_receive(&peer->control, parcel->bytes, sizeof parcel->bytes,
                                             parcel->due));
        return;
    }
    fl_delta_control_arrived(&peer->control, parcel->from, parcel->generated, parcel->due);
    peer->heard++;
    peer->late += fl_show_time(&peer->show, parcel->due) > parcel->generated ? 1 : 0;
}

static void deliver_due(Group *g)
{
    for (int32_t i = 0; i < g->flying_count;) {
        if (g->flying[i].due <= g->now) {
            Parcel parcel = g->flying[i];
            g->flying[i] = g->flying[--g->flying_count];
            deliver(g, &parcel);
        } else {
            i++;
        }
    }
}

static void frame(Group *g, int32_t number)
{
    Peer *peer = &g->peer[number];
    FlDeltaChange change;
    if (fl_delta_control_update(&peer->control, g->now, &change)) {
        assert_true(change.from > g->now);
        FlTime before = fl_show_time(&peer->show, g->now);
        assert_true(fl_show_delta(&peer->show, change.delta_ns, change.from));
        assert_int_equal(fl_show_time(&peer->show, g->now), before);
        int32_t n = peer->change_count;
        bool again = n > 0 && peer->changes[n - 1].from == change.from;
        n -= again ? 1 : 0;
        assert_true(n < CHANGES);
        peer->changes[n] = change;
        peer->change_count = n + 1;
    }
    Parcel parcel = {.from = number, .is_message = true};
    if (fl_delta_control_next(&peer->control, g->now, parcel.bytes)) {
        to_all(g, &parcel);
    }
    peer->frame_at = g->now + random_time(&g->random, FL_MS(10), FL_MS(30));
}

static bool all_show_the_same(const Group *g)
{
    for (int32_t i = 1; i < g->count; i++) {
        if (fl_show_time(&g->peer[i].show, g->now) != fl_show_time(&g->peer[0].show, g->now)) {
            return false;
        }
    }
    return true;
}

// Runs; how many milliseconds the group was of different minds.
static int32_t run(Group *g, FlTime span)
{
    int32_t apart = 0;
    for (FlTime end = g->now + span; g->now < end; g->now += FL_MS(1)) {
        deliver_due(g);
        for (int32_t i = 0; i < g->count; i++) {
            Peer *peer = &g->peer[i];
            if (g->now >= peer->update_at) {
                Parcel parcel = {.from = i, .generated = g->now};
                to_all(g, &parcel);
                peer->update_at += FL_MS(100);
            }
            if (g->now >= peer->frame_at) {
                frame(g, i);
            }
        }
        apart += all_show_the_same(g) ? 0 : 1;
    }
    return apart;
}

static FlTime shared_delta(const Group *g)
{
    return g->now - fl_show_time(&g->peer[0].show, g->now);
}

static void everybody_changes_to_the_same_delta_at_the_same_time(void **state)
{
    (void)state;
    static Group group;
    int32_t agreed = 0;
    for (int32_t i = 0; i < CASES(40); i++) {
        int32_t count = 2 + i % (PEERS - 1);
        group_init(&group, 7400 + (uint64_t)i, count, i % 5 * 50000); // up to 20 % lost
        assert_int_equal(run(&group, FL_SEC(20)), 0);
        for (int32_t k = 1; k < count; k++) {
            assert_int_equal(group.peer[k].change_count, group.peer[0].change_count);
            assert_memory_equal(group.peer[k].changes, group.peer[0].changes,
                                sizeof group.peer[0].changes);
        }
        agreed += group.peer[0].change_count;
    }
    print_message("             %d changes, each the same at everybody\n", agreed);
    assert_true(agreed >= CASES(40) * 3);
}

static void delta_is_what_the_worst_way_needs_and_follows_it(void **state)
{
    (void)state;
    static Group group;
    for (int32_t i = 0; i < CASES(12); i++) {
        int32_t count = 2 + i;
        group_init(&group, 7500 + (uint64_t)i, count, 50000);
        FlTime worst = 0;
        for (int32_t k = 0; k < count * count; k++) {
            FlTime delay = group.delay[k / count][k % count];
            worst = k / count != k % count && delay > worst ? delay : worst;
        }
        (void)run(&group, FL_SEC(15));
        FlTime calm = shared_delta(&group);
        assert_true(calm >= worst + group.jitter * 3 / 4);
        assert_true(calm <= worst + group.jitter + FL_MS(12)); // copies come 7 ms later
        group.extra = FL_MS(30);                               // one way in gets longer
        (void)run(&group, FL_SEC(6));
        FlTime loaded = shared_delta(&group);
        for (int32_t k = 0; k < count; k++) {
            group.peer[k].heard = group.peer[k].late = 0;
        }
        (void)run(&group, FL_SEC(4));
        for (int32_t k = 0; k < count; k++) {
            assert_true(group.peer[k].late * 100 <= group.peer[k].heard * 15);
        }
        group.extra = 0;
        (void)run(&group, FL_SEC(15));
        print_message("             %2d peers: worst way %3lld ms + %2lld jitter, delta %3lld, "
                      "loaded %3lld, again %3lld\n",
                      count, (long long)(worst / FL_MS(1)), (long long)(group.jitter / FL_MS(1)),
                      (long long)(calm / FL_MS(1)), (long long)(loaded / FL_MS(1)),
                      (long long)(shared_delta(&group) / FL_MS(1)));
        assert_true(loaded >= calm);
        assert_true(shared_delta(&group) <= worst + group.jitter + FL_MS(12));
    }
}

static void even_where_half_of_everything_is_lost_minds_meet_again(void **state)
{
    (void)state;
    static Group group;
    int32_t apart = 0;
    int32_t all = 0;
    for (int32_t i = 0; i < CASES(20); i++) {
        group_init(&group, 7600 + (uint64_t)i, 2 + i % 6, 500000);
        apart += run(&group, FL_SEC(30));
        all += 30000;
        group.loss_ppm = 0;
        (void)run(&group, FL_SEC(15));
        assert_true(all_show_the_same(&group));
    }
    print_message("             apart for %.2f %% of the time\n", 100.0 * apart / all);
    assert_true(apart * 100 < all * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_changes_to_the_same_delta_at_the_same_time),
        cmocka_unit_test(delta_is_what_the_worst_way_needs_and_follows_it),
        cmocka_unit_test(even_where_half_of_everything_is_lost_minds_meet_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
