// Attacks, with numbers: what strangers can make the server do, and what its players notice.
#include "test_seal_world.h"

#include "seal/private.h"

#include <time.h>

#define PLAYERS 32

static double cpu_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static FlAddress spoofed(FlRandom *random)
{
    uint64_t draw = fl_random_next(random);
    FlAddress address = {.family = FL_FAMILY_IPV4, .port = (uint16_t)(draw >> 32 | 1)};
    memcpy(address.ip, &draw, 4);
    address.ip[0] = 11; // nobody's here
    return address;
}

static FlSealDrop throw_at(World *w, FlAddress from, const uint8_t *bytes, int32_t count)
{
    uint8_t copy[FL_SEAL_PACKET_BYTES];
    memcpy(copy, bytes, (size_t)count);
    FlSealPeer peer;
    FlSealPayload payload;
    return fl_seal_server_receive(w->server, w->now, from, copy, count, &peer, &payload);
}

static void world_with_players(World *w, FlSealServerDef *def)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = FL_MS(40);
    way.jitter_ns = FL_MS(5);
    way.loss_ppm = 10000;
    world_init(w, def, &way, 3);
    for (int32_t i = 0; i < PLAYERS; i++) {
        world_add(w, 0, false);
    }
    world_run(w, FL_SEC(3));
    assert_int_equal(world_connected(w), PLAYERS);
}

typedef struct Noticed {
    uint64_t heard_up, heard_down;
    FlTime worst_gap;
    int32_t connected;
} Noticed;

static Noticed what_players_notice(const World *w)
{
    Noticed n = {.heard_up = w->server_heard, .connected = 0};
    for (int32_t i = 0; i < PLAYERS; i++) {
        n.heard_down += w->clients[i].heard;
        n.worst_gap = w->clients[i].worst_gap > n.worst_gap ? w->clients[i].worst_gap : n.worst_gap;
        n.connected += client_state(w->clients[i].client) == FL_SEAL_CONNECTED;
    }
    return n;
}

typedef enum Flood { FLOOD_NONE, FLOOD_REQUESTS, FLOOD_PACKETS, FLOOD_PLAYERS } Flood;

// One request, right in all that is in clear, garbage inside; or a sealed packet of garbage.
static int32_t ammunition(Flood flood, FlRandom *random, uint8_t *bytes)
{
    if (flood == FLOOD_REQUESTS) {
        bytes[0] = 0;
        memcpy(bytes + 1, "NETCODE 1.02", 13);
        uint64_t protocol = PROTOCOL;
        uint64_t expire = UNIX_NOW + 60;
        memcpy(bytes + 14, &protocol, 8);
        memcpy(bytes + 22, &expire, 8);
        uint64_t noise = fl_random_next(random);
        memcpy(bytes + 30, &noise, 8);
        memcpy(bytes + 1070, &noise, 8);
        return FL_SEAL_REQUEST_BYTES;
    }
    bytes[0] = 0x45;
    uint64_t noise = fl_random_next(random);
    memcpy(bytes + 1, &noise, 8);
    return 100;
}

static double flood_for_a_second(World *w, Flood flood, int32_t per_ms, FlRandom *random)
{
    static uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    double spent = 0.0;
    FlTime until = w->now + FL_SEC(1);
    while (w->now < until) {
        world_run(w, w->now + FL_MS(1));
        double begin = cpu_s();
        for (int32_t i = 0; i < per_ms && flood != FLOOD_NONE; i++) {
            int32_t count = ammunition(flood, random, bytes);
            FlAddress from = flood == FLOOD_PLAYERS
                                 ? client_address((int32_t)fl_random_below(random, PLAYERS))
                                 : spoofed(random);
            assert_int_not_equal(throw_at(w, from, bytes, count), FL_SEAL_DROP_NONE);
        }
        spent += cpu_s() - begin;
    }
    return spent;
}

static Noticed flooded(Flood flood, const char *name)
{
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    World w;
    world_with_players(&w, &def);
    FlSealServerStats before = fl__seal_server_stats(w.server);
    FlRandom random = {.seed = 99};
    int32_t newcomer = world_add(&w, w.now, false);
    double spent = 0.0;
    for (int32_t s = 0; s < 3; s++) {
        spent += flood_for_a_second(&w, flood, 100, &random); // 10^5 a second
    }
    FlSealServerStats after = fl__seal_server_stats(w.server);
    assert_int_equal(w.to_nobody, 0); // not a byte to the spoofed addresses
    Noticed n = what_players_notice(&w);
    uint64_t tried = after.requests_decrypted - before.requests_decrypted;
    FlTime came = w.clients[newcomer].connected_at;
    print_message("%-9s 3 x 10^5: %.2f us each, %5llu deciphered as requests, newcomer in after "
                  "%d ms, worst gap %d ms, %llu heard\n",
                  name, spent / 3e5 * 1e6, (unsigned long long)tried,
                  came < 0 ? -1 : (int)((came - w.clients[newcomer].start_at) / FL_MS(1)),
                  (int)(n.worst_gap / FL_MS(1)), (unsigned long long)(n.heard_up + n.heard_down));
    if (flood == FLOOD_REQUESTS) {
        assert_true(tried <= 3 * 2000 + 200 + 50);
        assert_true(after.drops[FL_SEAL_DROP_RATE] >= 290000);
    }
    world_end(&w);
    return n;
}

static void floods_of_100000_a_second_disturb_no_player(void **state)
{
    (void)state;
    Noticed calm = flooded(FLOOD_NONE, "calm");
    const Flood floods[] = {FLOOD_REQUESTS, FLOOD_PACKETS, FLOOD_PLAYERS};
    const char *names[] = {"requests", "packets", "players'"};
    for (int32_t i = 0; i < 3; i++) {
        Noticed n = flooded(floods[i], names[i]);
        assert_int_equal(n.connected, PLAYERS);
        assert_int_equal(n.heard_down, calm.heard_down); // to the packet
        assert_int_equal(n.worst_gap, calm.worst_gap);
    }
}

// A newcomer competes with the flood for the strangers' ration: 2000 of 100 000 requests are looked
// at, and it asks ten times a second. Averaged over many, it is in after some seconds; once its
// first request got through, it is known and has a ration of its own.
static void newcomers_get_in_during_a_flood_if_they_keep_asking(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = FL_MS(40);
    World w;
    world_init(&w, &def, &way, 3);
    for (int32_t i = 0; i < 16; i++) {
        world_add(&w, FL_MS(7) * i, true); // standard: they try for their time-out of 5 s
    }
    FlRandom random = {.seed = 98};
    for (int32_t s = 0; s < 5; s++) {
        (void)flood_for_a_second(&w, FLOOD_REQUESTS, 100, &random);
    }
    int32_t in = world_connected(&w);
    print_message("of 16 newcomers, %d were in within 5 s of a flood of 10^5 requests a second\n",
                  in);
    assert_in_range(in, 4, 16); // by chance: 1 - 0.98^50 = 64 %
    world_end(&w);
}

static void captured_requests_and_wrong_keys_take_no_slot(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    def.strangers_s = 1e6;
    def.known_s = 1e6;
    def.burst = 1e6;
    World w;
    FlImpairSettings way = fl_impair_def_default().settings;
    world_init(&w, &def, &way, 4);
    // One genuine token, its request seen by somebody who sends it on from 10 000 addresses.
    FlSealTokenDef token = token_def(1);
    FlSealClient *client = client_make(&w.stream, false);
    client_start(client, 0, &token, &w.stream);
    FlSealed out;
    assert_int_equal(fl_seal_client_next(client, 0, &out), FL_OK);
    FlRandom random = {.seed = 97};
    assert_int_equal(throw_at(&w, spoofed(&random), out.bytes, out.count), FL_SEAL_DROP_NONE);
    for (int32_t i = 0; i < 10000; i++) {
        assert_int_equal(throw_at(&w, spoofed(&random), out.bytes, out.count), FL_SEAL_DROP_REUSED);
    }
    FlSealServerStats stats = fl__seal_server_stats(w.server);
    assert_int_equal(stats.connected, 0);
    assert_int_equal(stats.pending, 1);
    fl_seal_client_destroy(client);
    world_end(&w);
}

// Somebody with 1000 genuine tokens who sends requests in the name of 1000 victims. They get one
// challenge for each request, a third of its size, and hold no slot.
static void victims_of_spoofed_requests_get_less_than_was_sent(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    def.slot_capacity = PLAYERS + 1; // room for one more, so that both answers occur
    World w;
    world_with_players(&w, &def);
    FlRandom random = {.seed = 96};
    uint64_t sent = 0;
    FlSealed out;
    for (int32_t i = 0; i < 1000; i++) {
        FlSealTokenDef token = token_def(5000 + (uint64_t)i);
        token.expire_s += (uint64_t)(w.now / FL_SEC(1));
        FlSealClient *client = client_make(&w.stream, false);
        client_start(client, w.now, &token, &w.stream);
        FlAddress victim = spoofed(&random);
        for (int32_t k = 0; k < 3; k++) {
            assert_int_equal(fl_seal_client_next(client, w.now, &out), FL_OK);
            (void)throw_at(&w, victim, out.bytes, out.count);
            sent += (uint64_t)out.count;
            world_run(&w, w.now + FL_MS(100));
        }
        fl_seal_client_destroy(client);
        if (i == 500) { // from now on it is full
            world_add(&w, w.now, false);
            world_run(&w, w.now + FL_SEC(1));
        }
    }
    FlSealServerStats stats = fl__seal_server_stats(w.server);
    print_message("1000 tokens in the name of victims: %llu bytes in, %llu out (%.2f), "
                  "%llu challenges, %llu denials, %d slots lost, %d handshakes at the end\n",
                  (unsigned long long)sent, (unsigned long long)w.bytes_to_nobody,
                  (double)w.bytes_to_nobody / (double)sent, (unsigned long long)stats.challenges,
                  (unsigned long long)stats.denials, stats.connected - PLAYERS - 1, stats.pending);
    assert_int_equal(stats.connected, PLAYERS + 1);
    assert_true(w.bytes_to_nobody * 3 < sent);
    assert_true(stats.denials > 0);
    assert_int_equal(world_connected(&w), PLAYERS + 1);
    world_end(&w);
}

/// A token as no library makes it, but anybody with a key can: its handshake is over at once.
static void without_time_out(uint8_t *token, const FlSealInvite *invite)
{
    TokenSeal seal = {.protocol_id = invite->protocol_id};
    PrivateToken private;
    seal.expire_s = fl__load_u64(token + 29);
    memcpy(seal.nonce, token + 37, NONCE_BYTES);
    assert_true(fl__private_open(token + 61, &seal, invite->key));
    assert_true(fl__private_read(token + 61, &private));
    private.timeout_s = 0;
    fl__private_write(&private, token + 61);
    fl__private_seal(token + 61, &seal, invite->key);
}

/// Requests of a holder who mints tokens without end, each in the name of another address.
static uint64_t invite_flood(World *w, const FlSealInvite *invite, int32_t timeout_s,
                             uint32_t count)
{
    FlRandom random = {.seed = 95};
    FlSealRandom bytes = fl__seal_random_seeded(&w->stream);
    const uint8_t user[FL_SEAL_USER_BYTES] = {0};
    FlSealClient *client = client_make(&w->stream, false);
    uint64_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t token[FL_SEAL_TOKEN_BYTES];
        FlSealed out;
        int32_t said_s = timeout_s > 0 ? timeout_s : 1;
        assert_int_equal(fl_seal_invite_token(invite, i, UNIX_NOW, said_s, user, &bytes, token),
                         FL_OK);
        if (timeout_s == 0) {
            without_time_out(token, invite);
        }
        assert_int_equal(fl_seal_client_connect(client, w->now, UNIX_NOW, token), FL_OK);
        assert_int_equal(fl_seal_client_next(client, w->now, &out), FL_OK);
        FlSealDrop drop = throw_at(w, spoofed(&random), out.bytes, out.count);
        taken += drop == FL_SEAL_DROP_NONE;
        world_run(w, w->now + FL_MS(1));
    }
    fl_seal_client_destroy(client);
    return taken;
}

// An invite's holder mints tokens at will, and says himself how long they wait. He may keep busy as
// many handshakes as his invite has uses, or half of them all, and not a player of the backend's.
static void holders_of_an_invite_crowd_nobody_out(void **state)
{
    (void)state;
    static const struct {
        uint32_t uses;
        int32_t timeout_s;
        bool full;          // no slot is free
        uint64_t low, high; // requests taken
    } cases[] = {
        {4, 3600, false, 4, 4},
        {100000, 3600, false, 128, 128}, // of 256 handshakes
        {4, 0, false, 4, 24},
        {4, 5, true, 0, 0},
    };
    for (int32_t i = 0; i < 4; i++) {
        FlRandom stream = {.seed = 1};
        FlSealServerDef def = server_def(&stream, false);
        def.slot_capacity = cases[i].full ? 1 : 64;
        World w;
        FlImpairSettings way = fl_impair_def_default().settings;
        world_init(&w, &def, &way, 4);
        if (cases[i].full) {
            world_add(&w, 0, false);
            world_run(&w, FL_SEC(1));
        }
        FlSealInvite invite;
        assert_int_equal(fl__seal_server_invite(w.server, w.now, SERVER_ADDRESS, cases[i].uses,
                                                UNIX_NOW + 3600, &invite),
                         FL_OK);
        // More than tokens are remembered, in five seconds.
        uint64_t taken = invite_flood(&w, &invite, cases[i].timeout_s, 5000);
        FlSealServerStats stats = fl__seal_server_stats(w.server);
        print_message("an invite of %u uses, 5000 tokens of it: %d handshakes busy, %llu tokens "
                      "forgotten\n",
                      cases[i].uses, stats.pending, (unsigned long long)stats.tokens_forgotten);
        assert_in_range(taken, cases[i].low, cases[i].high);
        assert_in_range(stats.pending, 0, cases[i].low);
        assert_int_equal(stats.tokens_forgotten, 0);
        if (!cases[i].full) {
            world_add(&w, w.now, false);
            world_run(&w, w.now + FL_SEC(1));
        }
        assert_int_equal(world_connected(&w), 1);
        world_end(&w);
    }
}

// One handshake at a time for an invite of one use: not another token from there, nor from
// elsewhere, until it has ended.
static void an_invites_share_of_handshakes_comes_back(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    World w;
    FlImpairSettings way = fl_impair_def_default().settings;
    world_init(&w, &def, &way, 4);
    FlSealInvite invite;
    assert_int_equal(
        fl__seal_server_invite(w.server, w.now, SERVER_ADDRESS, 1, UNIX_NOW + 3600, &invite),
        FL_OK);
    FlSealRandom bytes = fl__seal_random_seeded(&w.stream);
    const uint8_t user[FL_SEAL_USER_BYTES] = {0};
    FlSealClient *client = client_make(&w.stream, false);
    const uint8_t from[] = {1, 1, 2, 1, 2};  // the last octet of its address,
    const int64_t at_s[] = {0, 0, 0, 6, 17}; // when,
    const int32_t timeout_s[] = {5, 5, 5, -1,
                                 5}; // with what time-out: none ends after ten seconds,
    const FlSealDrop want[] = {FL_SEAL_DROP_NONE, FL_SEAL_DROP_CROWDED, FL_SEAL_DROP_CROWDED,
                               FL_SEAL_DROP_NONE, FL_SEAL_DROP_NONE}; // and what becomes of it
    for (int32_t i = 0; i < 5; i++) {
        world_run(&w, FL_SEC(at_s[i]));
        uint8_t token[FL_SEAL_TOKEN_BYTES];
        FlSealed out;
        assert_int_equal(
            fl_seal_invite_token(&invite, (uint32_t)i, UNIX_NOW, timeout_s[i], user, &bytes, token),
            FL_OK);
        assert_int_equal(fl_seal_client_connect(client, w.now, UNIX_NOW, token), FL_OK);
        assert_int_equal(fl_seal_client_next(client, w.now, &out), FL_OK);
        FlAddress place = address_v4(from[i], 99);
        assert_int_equal(throw_at(&w, place, out.bytes, out.count), want[i]);
        bool again = want[i] == FL_SEAL_DROP_NONE; // the same request once more costs nothing
        assert_int_equal(throw_at(&w, place, out.bytes, out.count),
                         again ? FL_SEAL_DROP_NONE : FL_SEAL_DROP_CROWDED);
    }
    fl_seal_client_destroy(client);
    world_end(&w);
}

// Everything that one client ever sent, once more, from its own address and from elsewhere: during
// the connection, after it, and against the next one.
static void recorded_packets_do_nothing(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, false);
    FlImpairSettings way = fl_impair_def_default().settings;
    World w;
    world_init(&w, &def, &way, 4);
    FlSealClient *client = client_make(&w.stream, false);
    FlSealTokenDef token = token_def(1);
    client_start(client, 0, &token, &w.stream);
    static uint8_t record[600][FL_SEAL_REQUEST_BYTES];
    static int32_t size[600];
    int32_t count = 0;
    FlAddress at = address_v4(9, 9);
    FlSealed out;
    for (FlTime now = 0; now < FL_SEC(20); now += FL_MS(50)) {
        w.now = now;
        while (fl_seal_client_next(client, now, &out) == FL_OK) {
            memcpy(record[count], out.bytes, (size_t)out.count);
            size[count++] = out.count;
            (void)throw_at(&w, at, out.bytes, out.count);
        }
        to_client(w.server, client, now, at);
        if (client_state(client) == FL_SEAL_CONNECTED) {
            uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
            uint64_t n = fl_seal_client_sequence(client);
            assert_int_equal(fl_seal_client_seal(client, now, n, buffer, 30, &out), FL_OK);
            memcpy(record[count], out.bytes, (size_t)out.count);
            size[count++] = out.count;
            (void)throw_at(&w, at, out.bytes, out.count);
        }
    }
    assert_true(count > 400);
    uint64_t taken = 0;
    for (int32_t round = 0; round < 4; round++) {
        for (int32_t i = 0; i < count; i++) {
            FlAddress from = round == 1 ? address_v4(10, 1) : at;
            taken += throw_at(&w, from, record[i], size[i]) == FL_SEAL_DROP_NONE;
        }
        if (round == 1) {
            fl_seal_server_disconnect(w.server, w.now, fl__seal_server_at(w.server, at));
        }
        if (round == 2) { // the same client once more, with another token, from the same address
            client_start(client, w.now, &token, &w.stream);
            exchange(client, w.server, w.now, at);
            assert_int_equal(client_state(client), FL_SEAL_CONNECTED);
        }
    }
    print_message("%d recorded packets, four times: %llu taken\n", count,
                  (unsigned long long)taken);
    assert_int_equal(taken, 0);
    fl_seal_client_destroy(client);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floods_of_100000_a_second_disturb_no_player),
        cmocka_unit_test(newcomers_get_in_during_a_flood_if_they_keep_asking),
        cmocka_unit_test(captured_requests_and_wrong_keys_take_no_slot),
        cmocka_unit_test(victims_of_spoofed_requests_get_less_than_was_sent),
        cmocka_unit_test(holders_of_an_invite_crowd_nobody_out),
        cmocka_unit_test(an_invites_share_of_handshakes_comes_back),
        cmocka_unit_test(recorded_packets_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
