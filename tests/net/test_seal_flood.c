// Strangers at a sealed server's real socket: floods from made-up addresses, requests in the name
// of victims, captured and changed packets, while players talk. tools/attack measures the same at
// length; here it is short, and nothing depends on how fast the machine is.
//
// A socket bound to every address may name any of 127/8 as its source, without privilege, and hears
// the answers to all of them.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fairlead/net.h"
#include "fairlead/seal.h"
#include "seal/seal.h"

#define PLAYERS 4
#define SLOTS 8
#define PROTOCOL UINT64_C(0xf100d)
#define DATAGRAM 2048

static const uint8_t server_key[FL_SEAL_KEY_BYTES] = {3, 1, 4, 1, 5, 9, 2, 6};

typedef struct Player {
    FlNet *net;
    FlSealClient *client;
    uint64_t sent, back;
    uint8_t last[FL_SEAL_PACKET_BYTES]; // what it said last, sealed
    int32_t last_bytes;
} Player;

typedef struct World {
    FlNet *net;
    FlSealServer *server;
    uint64_t payloads;
    Player players[PLAYERS];
    int attacker;
} World;

// ---------------------------------------------------------------- sockets

static FlNet *loopback_open(void)
{
    FlNetDef def = fl_net_def_default();
    def.bind = (FlAddress){.ip = {127, 0, 0, 1}, .family = FL_FAMILY_IPV4};
    FlNet *net = NULL;
    assert_int_equal(fl_net_create(&def, &net), FL_OK);
    return net;
}

static void put(FlNet *net, const FlSealed *sealed)
{
    FlDatagram datagram = {sealed->to, sealed->bytes, sealed->count, 0};
    int32_t done = 0;
    assert_int_equal(fl_net_send_batch(net, &datagram, 1, &done), FL_OK);
}

static int attacker_open(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in any = {.sin_family = AF_INET};
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    return fd;
}

/// From 127.x.y.z, the lower 24 bits of `source`; 0: from the socket's own address.
static void spoof(const World *w, int fd, uint32_t source, const void *bytes, int32_t count)
{
    uint8_t copy[DATAGRAM];
    memcpy(copy, bytes, (size_t)count);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(fl_net_address(w->net).port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct iovec part = {copy, (size_t)count};
    struct msghdr head = {
        .msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in_pktinfo))] = {0};
    if (source != 0) {
        head.msg_control = control;
        head.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&head);
        c->cmsg_level = IPPROTO_IP;
        c->cmsg_type = IP_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof(struct in_pktinfo));
        struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(127u << 24 | source)};
        memcpy(CMSG_DATA(c), &info, sizeof info);
    }
    assert_int_equal(sendmsg(fd, &head, 0), count);
}

static uint64_t heard_bytes(int fd)
{
    uint64_t bytes = 0;
    uint8_t datagram[DATAGRAM];
    ssize_t count;
    while ((count = recv(fd, datagram, sizeof datagram, MSG_DONTWAIT)) >= 0) {
        bytes += (uint64_t)count;
    }
    return bytes;
}

// ---------------------------------------------------------------- the world

static FlSealTokenDef token_def(const World *w, uint64_t client_id)
{
    uint64_t now = (uint64_t)time(NULL);
    FlSealTokenDef def = {.protocol_id = PROTOCOL,
                          .client_id = client_id,
                          .create_s = now,
                          .expire_s = now + 300,
                          .timeout_s = 60,
                          .address_count = 1,
                          .address = {fl_net_address(w->net)}};
    return def;
}

static void echo(World *w, FlSealPeer peer, const FlSealPayload *payload, FlTime now)
{
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    memcpy(buffer + FL_SEAL_HEAD_BYTES, payload->bytes, (size_t)payload->count);
    FlSealed out[2];
    int32_t count = 0;
    uint64_t sequence = fl_seal_server_sequence(w->server, peer);
    assert_int_equal(
        fl_seal_server_seal(w->server, peer, now, sequence, buffer, payload->count, out, &count),
        FL_OK);
    for (int32_t i = 0; i < count; i++) {
        put(w->net, &out[i]);
    }
}

static void server_step(World *w)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count;
    while ((count = fl_net_receive_batch(w->net, got, FL_NET_BATCH)) > 0) {
        for (int32_t i = 0; i < count; i++) {
            uint8_t bytes[DATAGRAM];
            memcpy(bytes, got[i].data, (size_t)got[i].bytes);
            FlSealPeer peer;
            FlSealPayload payload;
            (void)fl_seal_server_receive(w->server, fl_net_now(), got[i].address, bytes,
                                         got[i].bytes, &peer, &payload);
            if (payload.bytes != NULL) {
                w->payloads++;
                echo(w, peer, &payload, fl_net_now());
            }
        }
    }
    FlSealEvent event;
    while (fl_seal_server_take_event(w->server, &event) == FL_OK) {
    }
    FlSealed out;
    while (fl_seal_server_next(w->server, fl_net_now(), &out) == FL_OK) {
        put(w->net, &out);
    }
}

static void player_step(Player *player)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count;
    while ((count = fl_net_receive_batch(player->net, got, FL_NET_BATCH)) > 0) {
        for (int32_t i = 0; i < count; i++) {
            uint8_t bytes[DATAGRAM];
            memcpy(bytes, got[i].data, (size_t)got[i].bytes);
            FlSealPayload payload;
            (void)fl_seal_client_receive(player->client, fl_net_now(), got[i].address, bytes,
                                         got[i].bytes, &payload);
            player->back += payload.bytes != NULL;
        }
    }
    FlSealed out;
    while (fl_seal_client_next(player->client, fl_net_now(), &out) == FL_OK) {
        put(player->net, &out);
    }
}

static void players_say(World *w)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        Player *player = &w->players[i];
        uint8_t buffer[FL_SEAL_PACKET_BYTES];
        memset(buffer, 0x42, sizeof buffer);
        FlSealed out;
        uint64_t sequence = fl_seal_client_sequence(player->client);
        assert_int_equal(
            fl_seal_client_seal(player->client, fl_net_now(), sequence, buffer, 30, &out), FL_OK);
        memcpy(player->last, out.bytes, (size_t)out.count);
        player->last_bytes = out.count;
        put(player->net, &out);
        player->sent++;
    }
}

static void step(World *w)
{
    server_step(w);
    for (int32_t i = 0; i < PLAYERS; i++) {
        player_step(&w->players[i]);
    }
}

static int32_t players_in(const World *w)
{
    int32_t count = 0;
    for (int32_t i = 0; i < PLAYERS; i++) {
        count += fl_seal_client_status(w->players[i].client).state == FL_SEAL_CONNECTED;
    }
    return count;
}

/// Everything that was on its way has arrived: loopback delivers before sendmsg returns.
static void come_home(World *w)
{
    for (int32_t i = 0; i < 4; i++) {
        step(w);
    }
}

static void world_open(World *w)
{
    memset(w, 0, sizeof *w);
    w->net = loopback_open();
    w->attacker = attacker_open();
    FlSealServerDef def = fl_seal_server_def_default();
    def.protocol_id = PROTOCOL;
    memcpy(def.private_key, server_key, sizeof server_key);
    def.address[0] = fl_net_address(w->net);
    def.address_count = 1;
    def.unix_s = (uint64_t)time(NULL);
    def.slot_capacity = SLOTS;
    assert_int_equal(fl_seal_server_create(&def, fl_net_now(), &w->server), FL_OK);
    for (int32_t i = 0; i < PLAYERS; i++) {
        Player *player = &w->players[i];
        FlSealClientDef client = fl_seal_client_def_default();
        FlSealTokenDef token = token_def(w, (uint64_t)i + 1);
        uint8_t bytes[FL_SEAL_TOKEN_BYTES];
        player->net = loopback_open();
        assert_int_equal(fl_seal_token_make(&token, server_key, NULL, bytes), FL_OK);
        assert_int_equal(fl_seal_client_create(&client, &player->client), FL_OK);
        assert_int_equal(
            fl_seal_client_connect(player->client, fl_net_now(), token.create_s, bytes), FL_OK);
    }
    for (int32_t i = 0; i < 2000 && players_in(w) < PLAYERS; i++) {
        (void)fl_net_wait(&w->net, 1, fl_net_now() + FL_MS(5), NULL);
        step(w);
    }
    assert_int_equal(players_in(w), PLAYERS);
    come_home(w); // responses that were said twice
}

static void world_close(World *w)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        fl_seal_client_destroy(w->players[i].client);
        fl_net_destroy(w->players[i].net);
    }
    fl_seal_server_destroy(w->server);
    fl_net_destroy(w->net);
    close(w->attacker);
}

static uint64_t kernel_dropped(const World *w)
{
    uint64_t count = fl_net_stats(w->net).kernel_dropped_count;
    for (int32_t i = 0; i < PLAYERS; i++) {
        count += fl_net_stats(w->players[i].net).kernel_dropped_count;
    }
    return count;
}

/// All players are in, and what they said came back but for what a full buffer dropped.
static void players_noticed_nothing(World *w)
{
    come_home(w);
    uint64_t sent = 0;
    uint64_t back = 0;
    for (int32_t i = 0; i < PLAYERS; i++) {
        sent += w->players[i].sent;
        back += w->players[i].back;
    }
    assert_int_equal(players_in(w), PLAYERS);
    assert_true(back <= sent);
    assert_true(sent - back <= kernel_dropped(w));
    assert_int_equal(fl__seal_server_stats(w->server).connected, PLAYERS);
}

// ---------------------------------------------------------------- floods

// Right in all that is in clear.
static int32_t request_of_garbage(uint8_t *bytes, FlRandom *random)
{
    uint64_t protocol = PROTOCOL;
    uint64_t expire = (uint64_t)time(NULL) + 60;
    memset(bytes, 0x5a, FL_SEAL_REQUEST_BYTES);
    bytes[0] = 0;
    memcpy(bytes + 1, "NETCODE 1.02", 13);
    memcpy(bytes + 14, &protocol, 8);
    memcpy(bytes + 22, &expire, 8);
    uint64_t noise = fl_random_next(random);
    memcpy(bytes + 30, &noise, 8);
    memcpy(bytes + 1070, &noise, 8);
    return FL_SEAL_REQUEST_BYTES;
}

static int32_t packet_of_garbage(uint8_t *bytes, FlRandom *random)
{
    for (int32_t i = 0; i < 104; i += 8) {
        uint64_t noise = fl_random_next(random);
        memcpy(bytes + i, &noise, 8);
    }
    bytes[0] = 0x45;
    return 100;
}

#define BURSTS 200
#define BURST 50

static void flood(World *w, bool requests)
{
    FlRandom random = {.seed = 5};
    for (int32_t burst = 0; burst < BURSTS; burst++) {
        for (int32_t i = 0; i < BURST; i++) {
            uint8_t bytes[DATAGRAM];
            int32_t count =
                requests ? request_of_garbage(bytes, &random) : packet_of_garbage(bytes, &random);
            uint32_t low = (uint32_t)fl_random_below(&random, 1u << 23);
            spoof(w, w->attacker, 1u << 23 | low, bytes, count);
        }
        if (burst % 5 == 0) {
            players_say(w);
        }
        step(w);
    }
}

static void a_flood_of_spoofed_requests_takes_nothing_and_gets_nothing(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    flood(&w, true);
    players_noticed_nothing(&w);
    FlSealServerStats stats = fl__seal_server_stats(w.server);
    uint64_t counted = stats.drops[FL_SEAL_DROP_KEY] + stats.drops[FL_SEAL_DROP_RATE];
    assert_true(counted + kernel_dropped(&w) >= BURSTS * BURST);
    assert_true(counted <= BURSTS * BURST);
    assert_int_equal(stats.pending, 0);
    assert_int_equal(stats.accepted, PLAYERS);
    assert_int_equal(heard_bytes(w.attacker), 0);
    world_close(&w);
}

static void a_flood_of_garbage_is_strangers_and_in_a_players_name_tampered(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    flood(&w, false);
    FlRandom random = {.seed = 6};
    for (int32_t i = 0; i < 1000; i++) {
        uint8_t bytes[DATAGRAM];
        int32_t count = packet_of_garbage(bytes, &random);
        memset(bytes + 1, 0xff, 4); // a number that was not there yet
        spoof(&w, fl_net_descriptor(w.players[i % PLAYERS].net), 0, bytes, count);
        if (i % 50 == 0) {
            players_say(&w);
            step(&w);
        }
    }
    players_noticed_nothing(&w);
    FlSealServerStats stats = fl__seal_server_stats(w.server);
    uint64_t lost = kernel_dropped(&w);
    assert_true(stats.drops[FL_SEAL_DROP_STRANGER] + lost >= BURSTS * BURST);
    assert_true(stats.drops[FL_SEAL_DROP_TAMPERED] + lost >= 1000);
    assert_int_equal(heard_bytes(w.attacker), 0);
    world_close(&w);
}

// ---------------------------------------------------------------- single packets

static void request_write(const FlSealTokenDef *def, const uint8_t *key, uint8_t *request)
{
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlSealClientDef client_def = fl_seal_client_def_default();
    FlSealClient *client = NULL;
    FlSealed out;
    assert_int_equal(fl_seal_token_make(def, key, NULL, token), FL_OK);
    assert_int_equal(fl_seal_client_create(&client_def, &client), FL_OK);
    assert_int_equal(fl_seal_client_connect(client, 0, def->create_s, token), FL_OK);
    assert_int_equal(fl_seal_client_next(client, 0, &out), FL_OK);
    assert_int_equal(out.count, FL_SEAL_REQUEST_BYTES);
    memcpy(request, out.bytes, FL_SEAL_REQUEST_BYTES);
    fl_seal_client_destroy(client);
}

static void victims_of_genuine_requests_get_less_than_was_sent_and_no_slot(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    uint64_t in = 0;
    for (uint32_t i = 0; i < 32; i++) { // more than there are slots
        uint8_t request[FL_SEAL_REQUEST_BYTES];
        FlSealTokenDef def = token_def(&w, 100 + i);
        request_write(&def, server_key, request);
        for (int32_t twice = 0; twice < 2; twice++) {
            spoof(&w, w.attacker, 0x100000 + i, request, FL_SEAL_REQUEST_BYTES);
            in += FL_SEAL_REQUEST_BYTES;
            players_say(&w);
            step(&w);
        }
    }
    players_noticed_nothing(&w); // counts slots, too
    uint64_t out = heard_bytes(w.attacker);
    assert_true(out > 0);
    assert_true(out <= in);
    assert_int_equal(fl__seal_server_stats(w.server).accepted, PLAYERS);
    world_close(&w);
}

/// How often one reason was counted for what `send` sends.
static uint64_t counted(World *w, FlSealDrop reason, void (*send)(World *w))
{
    come_home(w);
    uint64_t before = fl__seal_server_stats(w->server).drops[reason];
    send(w);
    players_noticed_nothing(w);
    return fl__seal_server_stats(w->server).drops[reason] - before;
}

static void again(World *w)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        Player *player = &w->players[i];
        spoof(w, fl_net_descriptor(player->net), 0, player->last, player->last_bytes);
    }
}

static void from_elsewhere(World *w)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        spoof(w, w->attacker, 0x123456, w->players[i].last, w->players[i].last_bytes);
    }
}

static void too_long(World *w)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        uint8_t bytes[1500] = {0};
        memcpy(bytes, w->players[i].last, (size_t)w->players[i].last_bytes);
        spoof(w, fl_net_descriptor(w->players[i].net), 0, bytes, sizeof bytes);
    }
}

static void too_short(World *w)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        spoof(w, fl_net_descriptor(w->players[i].net), 0, w->players[i].last, 17);
    }
}

static void captured_cut_and_lengthened_packets_are_counted_apart(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    players_say(&w);
    come_home(&w);
    uint64_t payloads = w.payloads;
    assert_int_equal(counted(&w, FL_SEAL_DROP_REPLAY, again), PLAYERS);
    assert_int_equal(counted(&w, FL_SEAL_DROP_STRANGER, from_elsewhere), PLAYERS);
    assert_int_equal(counted(&w, FL_SEAL_DROP_LARGE, too_long), PLAYERS);
    assert_int_equal(counted(&w, FL_SEAL_DROP_SHORT, too_short), PLAYERS);
    assert_int_equal(w.payloads, payloads);
    assert_int_equal(heard_bytes(w.attacker), 0);
    world_close(&w);
}

static void no_changed_bit_of_a_packet_that_comes_first_is_taken(void **state)
{
    (void)state;
    World w;
    world_open(&w);
    Player *player = &w.players[0];
    uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
    FlSealed out; // sealed but held back: the changed ones overtake it
    uint64_t sequence = fl_seal_client_sequence(player->client);
    assert_int_equal(fl_seal_client_seal(player->client, fl_net_now(), sequence, buffer, 30, &out),
                     FL_OK);
    uint8_t held[FL_SEAL_PACKET_BYTES];
    memcpy(held, out.bytes, (size_t)out.count);
    for (int32_t bit = 0; bit < 8 * out.count; bit++) {
        uint8_t changed[FL_SEAL_PACKET_BYTES];
        memcpy(changed, held, (size_t)out.count);
        changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        spoof(&w, fl_net_descriptor(player->net), 0, changed, out.count);
        if (bit % 32 == 0) {
            step(&w);
        }
    }
    come_home(&w);
    assert_int_equal(w.payloads, 0);
    spoof(&w, fl_net_descriptor(player->net), 0, held, out.count); // and itself still is
    player->sent++;
    players_noticed_nothing(&w);
    assert_true(w.payloads + kernel_dropped(&w) >= 1);
    world_close(&w);
}

typedef enum Wrong { PROTOCOL_ID, KEY, ADDRESS, EXPIRY, LIFE, VERSION, CLIENT } Wrong;

static void wrong_request(const World *w, Wrong wrong, uint8_t *request)
{
    uint8_t key[FL_SEAL_KEY_BYTES];
    memcpy(key, server_key, sizeof key);
    FlSealTokenDef def = token_def(w, wrong == CLIENT ? 1 : 500);
    def.protocol_id += wrong == PROTOCOL_ID;
    key[7] ^= wrong == KEY;
    def.address[0].ip[3] ^= wrong == ADDRESS;
    def.create_s -= wrong == EXPIRY ? 1000 : 0;
    def.expire_s = wrong == EXPIRY ? def.create_s + 1 : def.expire_s;
    def.expire_s += wrong == LIFE ? 100000 : 0;
    def.expire_s -= wrong == CLIENT ? 100 : 0;
    request_write(&def, key, request);
    request[4] ^= wrong == VERSION;
}

static void every_thing_wrong_with_a_request_has_its_counter_and_no_answer(void **state)
{
    (void)state;
    static const FlSealDrop reasons[] = {
        FL_SEAL_DROP_PROTOCOL, FL_SEAL_DROP_KEY,     FL_SEAL_DROP_ADDRESS, FL_SEAL_DROP_EXPIRED,
        FL_SEAL_DROP_LIFE,     FL_SEAL_DROP_VERSION, FL_SEAL_DROP_CLIENT};
    World w;
    world_open(&w);
    for (Wrong wrong = PROTOCOL_ID; wrong <= CLIENT; wrong++) {
        uint8_t request[FL_SEAL_REQUEST_BYTES];
        wrong_request(&w, wrong, request);
        FlSealServerStats before = fl__seal_server_stats(w.server);
        spoof(&w, w.attacker, 0x200000, request, sizeof request);
        players_say(&w);
        players_noticed_nothing(&w);
        FlSealServerStats after = fl__seal_server_stats(w.server);
        for (int32_t d = 1; d < FL_SEAL_DROPS; d++) {
            uint64_t want = (FlSealDrop)d == reasons[wrong];
            assert_int_equal(after.drops[d] - before.drops[d], want);
        }
    }
    assert_int_equal(heard_bytes(w.attacker), 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_spoofed_requests_takes_nothing_and_gets_nothing),
        cmocka_unit_test(a_flood_of_garbage_is_strangers_and_in_a_players_name_tampered),
        cmocka_unit_test(victims_of_genuine_requests_get_less_than_was_sent_and_no_slot),
        cmocka_unit_test(captured_cut_and_lengthened_packets_are_counted_apart),
        cmocka_unit_test(no_changed_bit_of_a_packet_that_comes_first_is_taken),
        cmocka_unit_test(every_thing_wrong_with_a_request_has_its_counter_and_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
