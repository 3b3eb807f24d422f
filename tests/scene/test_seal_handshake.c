// Whole handshakes in virtual time: over loss, duplication and disorder; standard and ours in every
// combination; the same bytes everywhere; without allocating; with memory failing at every call.
#include "test_seal_world.h"

static FlImpairSettings bad_network(int32_t loss_ppm)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = FL_MS(60);
    way.jitter_ns = FL_MS(25);
    way.loss_ppm = loss_ppm;
    way.duplicate_ppm = 50000;
    return way;
}

static void everybody_gets_in_over(int32_t loss_ppm, bool standard_server, uint64_t seed,
                                   FlTime limit)
{
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, standard_server);
    FlImpairSettings way = bad_network(loss_ppm);
    World w;
    world_init(&w, &def, &way, seed);
    for (int32_t i = 0; i < 32; i++) {
        world_add(&w, FL_MS(10) * i, i % 2 == 0);
    }
    world_run(&w, limit);
    assert_int_equal(world_connected(&w), 32);
    assert_int_equal(fl__seal_server_stats(w.server).connected, 32);
    FlTime worst = 0;
    FlTime total = 0;
    for (int32_t i = 0; i < 32; i++) {
        FlTime took = w.clients[i].connected_at - w.clients[i].start_at;
        worst = took > worst ? took : worst;
        total += took;
        assert_true(w.clients[i].heard > 0);
    }
    print_message("loss %2d %%, %s server: in after %3d ms on average, %4d ms at worst\n",
                  loss_ppm / 10000, standard_server ? "standard" : "our     ",
                  (int)(total / 32 / FL_MS(1)), (int)(worst / FL_MS(1)));
    // Nothing genuine was taken for a forgery; duplicates were told by their numbers.
    FlSealServerStats stats = fl__seal_server_stats(w.server);
    assert_int_equal(stats.drops[FL_SEAL_DROP_TAMPERED], 0);
    assert_int_equal(stats.drops[FL_SEAL_DROP_KEY], 0);
    assert_true(stats.drops[FL_SEAL_DROP_REPLAY] > 0);
    world_end(&w);
}

static void everybody_gets_in_over_bad_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        for (int32_t standard = 0; standard < 2; standard++) {
            everybody_gets_in_over(0, standard != 0, seed, FL_SEC(3));
            everybody_gets_in_over(100000, standard != 0, seed, FL_SEC(5));
            everybody_gets_in_over(300000, standard != 0, seed, FL_SEC(8));
        }
    }
}

static void every_payload_arrives_once_and_only_what_was_sent(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    FlImpairSettings way = bad_network(0); // duplicated and reordered, none lost
    World w;
    world_init(&w, &def, &way, 5);
    for (int32_t i = 0; i < 8; i++) {
        world_add(&w, 0, false);
    }
    world_run(&w, FL_SEC(10));
    w.quiet = true;
    uint64_t sent = 0;
    for (int32_t i = 0; i < 8; i++) {
        sent += w.clients[i].sent;
    }
    world_run(&w, FL_SEC(11));
    assert_true(sent > 8 * 190);
    assert_int_equal(w.server_heard, sent); // each once, in spite of 5 % duplicates
    assert_int_equal(world_connected(&w), 8);
    world_end(&w);
}

static void a_client_that_leaves_is_gone_at_once_and_one_that_dies_after_its_time(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    FlImpairSettings way = bad_network(300000);
    World w;
    world_init(&w, &def, &way, 6);
    world_add(&w, 0, false);
    world_add(&w, 0, false);
    world_run(&w, FL_SEC(5));
    assert_int_equal(fl__seal_server_stats(w.server).connected, 2);
    fl_seal_client_disconnect(w.clients[0].client, w.now); // ten goodbyes at 30 % loss
    world_run(&w, FL_SEC(6));
    assert_int_equal(fl__seal_server_stats(w.server).connected, 1);
    FlImpairSettings dead = way;
    dead.loss_ppm = 1000000;
    assert_int_equal(fl__impair_set(w.clients[1].up, w.now, &dead), FL_OK);
    world_run(&w, FL_SEC(10));
    assert_int_equal(fl__seal_server_stats(w.server).connected, 1);
    world_run(&w, FL_SEC(12));
    assert_int_equal(fl__seal_server_stats(w.server).connected, 0);
    world_end(&w);
}

static void a_player_who_changes_networks_plays_on(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    FlImpairSettings way = bad_network(100000);
    World w;
    world_init(&w, &def, &way, 7);
    world_add(&w, 0, false);
    world_run(&w, FL_SEC(5));
    uint64_t before = w.server_heard;
    for (int32_t i = 0; i < 5; i++) {
        w.clients[0].at.port++; // its router gave it another port; nobody told it
        w.clients[0].received_at = 0;
        world_run(&w, FL_SEC(10) + FL_SEC(5) * i);
    }
    assert_int_equal(fl__seal_server_stats(w.server).moved, 5);
    assert_int_equal(client_state(w.clients[0].client), FL_SEAL_CONNECTED);
    assert_true(w.server_heard > before + 5 * 30);
    world_end(&w);
}

static void a_session_is_the_same_bytes_everywhere(void **state)
{
    (void)state;
    uint64_t hash = 0;
    for (int32_t standard = 0; standard < 2; standard++) {
        FlRandom stream = {.seed = 1};
        FlSealServerDef def = server_def(&stream, standard != 0);
        FlImpairSettings way = bad_network(100000);
        World w;
        world_init(&w, &def, &way, 20240229);
        for (int32_t i = 0; i < 8; i++) {
            world_add(&w, FL_MS(100) * i, standard != 0);
        }
        world_run(&w, FL_SEC(5));
        hash = hash_bytes(hash, &w.trace, sizeof w.trace);
        world_end(&w);
    }
    check_golden(hash, UINT64_C(0xcee92e3c6a4d8be4));
}

// ---------------------------------------------------------------- memory

typedef struct Counting {
    int32_t calls;
    int32_t fail_at; // this call fails; 0: none
    int32_t live;
} Counting;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
    Counting *c = ctx;
    (void)align;
    if (++c->calls == c->fail_at) {
        return NULL;
    }
    c->live++;
    return malloc(size);
}

static void counting_free(void *ctx, void *ptr, size_t size)
{
    Counting *c = ctx;
    (void)size;
    c->live--;
    free(ptr);
}

static void nothing_is_allocated_after_creation(void **state)
{
    (void)state;
    Counting counting = {0};
    FlAlloc alloc = {counting_alloc, counting_free, &counting};
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    def.alloc = alloc;
    FlImpairSettings way = bad_network(100000);
    World w;
    world_init(&w, &def, &way, 8);
    for (int32_t i = 0; i < 8; i++) {
        int32_t at = world_add(&w, 0, false);
        fl_seal_client_destroy(w.clients[at].client);
        FlSealClientDef client = fl_seal_client_def_default();
        client.alloc = alloc;
        client.random = fl__seal_random_seeded(&w.stream);
        assert_int_equal(fl_seal_client_create(&client, &w.clients[at].client), FL_OK);
    }
    assert_int_equal(counting.calls, 9); // one each
    world_run(&w, FL_SEC(20));
    assert_int_equal(world_connected(&w), 8);
    assert_int_equal(counting.calls, 9);
    world_end(&w);
    assert_int_equal(counting.live, 0);
}

static void failing_memory_is_an_answer(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    Counting counting = {.fail_at = 1};
    FlAlloc alloc = {counting_alloc, counting_free, &counting};
    FlSealServerDef server = server_def(&stream, false);
    server.alloc = alloc;
    FlSealServer *made = NULL;
    assert_int_equal(fl_seal_server_create(&server, 0, &made), FL_NO_MEMORY);
    assert_null(made);
    counting.calls = 0;
    FlSealClientDef client = fl_seal_client_def_default();
    client.alloc = alloc;
    FlSealClient *one = NULL;
    assert_int_equal(fl_seal_client_create(&client, &one), FL_NO_MEMORY);
    assert_null(one);
    assert_int_equal(counting.live, 0); // there is no second allocation in either that could fail
}

static void memory_is_as_told(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    FlSealMemory memory = fl__seal_server_memory(&def);
    print_message("server for %d: %zu bytes; a slot %zu, a handshake %zu, a token %zu\n",
                  def.slot_capacity, memory.all, memory.slot, memory.pending, memory.token);
    FlSealServerDef more = def;
    more.slot_capacity *= 2;
    size_t grown = fl__seal_server_memory(&more).all - memory.all;
    assert_true(grown <= memory.slot * 64 + 256 && grown + 256 >= memory.slot * 64);
    more = def;
    more.pending_capacity *= 2;
    grown = fl__seal_server_memory(&more).all - memory.all;
    assert_true(grown <= memory.pending * 256 + 256 && grown + 256 >= memory.pending * 256);
    assert_true(memory.slot < 1536);
    assert_true(memory.pending < 640);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_in_over_bad_networks),
        cmocka_unit_test(every_payload_arrives_once_and_only_what_was_sent),
        cmocka_unit_test(a_client_that_leaves_is_gone_at_once_and_one_that_dies_after_its_time),
        cmocka_unit_test(a_player_who_changes_networks_plays_on),
        cmocka_unit_test(a_session_is_the_same_bytes_everywhere),
        cmocka_unit_test(nothing_is_allocated_after_creation),
        cmocka_unit_test(failing_memory_is_an_answer),
        cmocka_unit_test(memory_is_as_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
