// Sealed connections by the standard alone, over real sockets: ours with ours, and ours with
// others.
//
// Without arguments this is a test of our client against our server. With them it is one of the two
// as a program, for tests/program/test_seal_interop.py, whose other end was written from
// spec/WIRE.md:
//
//   net_seal_interop server KEY PROTOCOL SLOTS [HOST]   hexadecimal, hexadecimal, decimal
//   net_seal_interop client leave|stay HOST             the token, hexadecimal, on standard input
//
// The server says "at ADDRESS", answers every payload with its bytes in reverse, throws out who
// says "kick", and ends with its counters when its standard input ends. The client says one line
// whenever its state changes; connected, it sends payloads of many sizes until each has come back,
// and then leaves or stays.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fairlead/net.h"
#include "fairlead/seal.h"

#include "seal/seal.h"
#include "seal/server.h"

static const int32_t sizes[] = {1, 2, 3, 17, 64, 255, 256, 600, 1199, 1200};
#define SIZES (int32_t)(sizeof sizes / sizeof sizes[0])

typedef struct Side {
    FlNet *net;
    FlSealServer *server; // one of the two
    FlSealClient *client;
    FlSealState state;
    int32_t back_count; // payloads that came back, each as it should
    int32_t wrong_count;
    FlTime ask_at; // the client sends the next size again then
} Side;

static void must(FlResult result, const char *what)
{
    if (result != FL_OK) {
        fprintf(stderr, "net_seal_interop: %s: %s\n", what, fl_result_text(result));
        exit(2);
    }
}

static uint64_t unix_now(void)
{
    return (uint64_t)time(NULL);
}

static FlNet *socket_open(const char *host)
{
    FlNetDef def = fl_net_def_default();
    char text[FL_ADDRESS_TEXT_BYTES];
    snprintf(text, sizeof text, strchr(host, ':') != NULL ? "[%s]:0" : "%s:0", host);
    must(fl_address_parse(text, &def.bind), host);
    FlNet *net = NULL;
    must(fl_net_create(&def, &net), "socket");
    return net;
}

static void put(Side *side, const FlSealed *sealed)
{
    FlDatagram datagram = {sealed->to, sealed->bytes, sealed->count, 0};
    int32_t done = 0;
    // A full buffer loses a datagram, as networks do.
    (void)!(fl_net_send_batch(side->net, &datagram, 1, &done) == FL_OK);
}

// ---------------------------------------------------------------- server

static Side server_open(const uint8_t *key, uint64_t protocol, int32_t slots, const char *host)
{
    Side side = {.net = socket_open(host)};
    FlSealServerDef def = fl__seal_server_def_standard();
    def.protocol_id = protocol;
    memcpy(def.private_key, key, sizeof def.private_key);
    def.address[0] = fl_net_address(side.net);
    def.address_count = 1;
    def.unix_s = unix_now();
    def.slot_capacity = slots;
    must(fl_seal_server_create(&def, fl_net_now(), &side.server), "server");
    return side;
}

static void answer(Side *side, FlSealPeer peer, const FlSealPayload *payload, FlTime now)
{
    if (payload->count == 4 && memcmp(payload->bytes, "kick", 4) == 0) {
        fl_seal_server_disconnect(side->server, now, peer);
        return;
    }
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    for (int32_t i = 0; i < payload->count; i++) {
        buffer[FL_SEAL_HEAD_BYTES + i] = payload->bytes[payload->count - 1 - i];
    }
    FlSealed out[2];
    int32_t out_count = 0;
    uint64_t sequence = fl_seal_server_sequence(side->server, peer);
    must(fl_seal_server_seal(side->server, peer, now, sequence, buffer, payload->count, out,
                             &out_count),
         "seal");
    for (int32_t i = 0; i < out_count; i++) {
        put(side, &out[i]);
    }
}

static void server_step(Side *side)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(side->net, got, FL_NET_BATCH);
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < count; i++) {
        uint8_t bytes[2048];
        memcpy(bytes, got[i].data, (size_t)got[i].bytes);
        FlSealPeer peer;
        FlSealPayload payload;
        (void)fl_seal_server_receive(side->server, now, got[i].address, bytes, got[i].bytes, &peer,
                                     &payload);
        if (payload.bytes != NULL) {
            answer(side, peer, &payload, now);
        }
    }
    FlSealEvent event;
    while (fl_seal_server_take_event(side->server, &event) == FL_OK) {
    }
    FlSealed out;
    while (fl_seal_server_next(side->server, now, &out) == FL_OK) {
        put(side, &out);
    }
}

// ---------------------------------------------------------------- client

static Side client_open(const uint8_t *token, const char *host)
{
    Side side = {.net = socket_open(host), .state = FL_SEAL_DISCONNECTED};
    FlSealClientDef def = fl__seal_client_def_standard();
    must(fl_seal_client_create(&def, &side.client), "client");
    must(fl_seal_client_connect(side.client, fl_net_now(), unix_now(), token), "token");
    return side;
}

static uint8_t byte_of(int32_t size, int32_t at)
{
    return (uint8_t)(size * 31 + at * 7);
}

/// The size that has not come back yet; again when it is late, since networks lose.
static void client_ask(Side *side, FlTime now)
{
    if (side->back_count >= SIZES || now < side->ask_at) {
        return;
    }
    int32_t size = sizes[side->back_count];
    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    for (int32_t i = 0; i < size; i++) {
        buffer[FL_SEAL_HEAD_BYTES + i] = byte_of(size, i);
    }
    FlSealed out;
    uint64_t sequence = fl_seal_client_sequence(side->client);
    must(fl_seal_client_seal(side->client, now, sequence, buffer, size, &out), "seal");
    put(side, &out);
    side->ask_at = now + FL_MS(200);
}

static void client_heard(Side *side, const FlSealPayload *payload)
{
    if (side->back_count == SIZES || payload->count != sizes[side->back_count]) {
        side->wrong_count += side->back_count == 0 || payload->count != sizes[side->back_count - 1];
        return; // a second answer to the size before is no mistake
    }
    bool right = true;
    for (int32_t i = 0; i < payload->count; i++) {
        right = right && payload->bytes[i] == byte_of(payload->count, payload->count - 1 - i);
    }
    side->wrong_count += !right;
    side->back_count += right;
    side->ask_at = 0;
}

static void client_step(Side *side)
{
    FlDatagram got[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(side->net, got, FL_NET_BATCH);
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < count; i++) {
        uint8_t bytes[2048];
        memcpy(bytes, got[i].data, (size_t)got[i].bytes);
        FlSealPayload payload;
        (void)fl_seal_client_receive(side->client, now, got[i].address, bytes, got[i].bytes,
                                     &payload);
        if (payload.bytes != NULL) {
            client_heard(side, &payload);
        }
    }
    side->state = fl_seal_client_status(side->client).state;
    if (side->state == FL_SEAL_CONNECTED) {
        client_ask(side, now);
    }
    FlSealed out;
    while (fl_seal_client_next(side->client, now, &out) == FL_OK) {
        put(side, &out);
    }
    side->state = fl_seal_client_status(side->client).state;
}

static void side_close(Side *side)
{
    fl_seal_server_destroy(side->server);
    fl_seal_client_destroy(side->client);
    fl_net_destroy(side->net);
}

// ---------------------------------------------------------------- as programs

static bool hex_read(const char *text, uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char pair[3] = {text[2 * i], text[2 * i] != 0 ? text[2 * i + 1] : '\0', 0};
        char *end = NULL;
        out[i] = (uint8_t)strtoul(pair, &end, 16);
        if (end != pair + 2) {
            return false;
        }
    }
    return true;
}

/// Waits for a datagram, a moment, or the end of standard input (then: true).
static bool input_ended(Side *side)
{
    struct pollfd fds[2] = {{.fd = fl_net_descriptor(side->net), .events = POLLIN},
                            {.fd = STDIN_FILENO, .events = POLLIN}};
    char byte;
    return poll(fds, 2, 20) > 0 && fds[1].revents != 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static int server_main(char **argv, int argc)
{
    uint8_t key[FL_SEAL_KEY_BYTES];
    if (!hex_read(argv[0], key, sizeof key)) {
        fprintf(stderr, "net_seal_interop: a key is 64 hexadecimal digits\n");
        return 2;
    }
    Side side = server_open(key, strtoull(argv[1], NULL, 16), (int32_t)strtol(argv[2], NULL, 10),
                            argc > 3 ? argv[3] : "127.0.0.1");
    char text[FL_ADDRESS_TEXT_BYTES];
    printf("at %s\n", fl_address_format(fl_net_address(side.net), text));
    fflush(stdout);
    while (!input_ended(&side)) {
        server_step(&side);
    }
    while (fl_net_wait(&side.net, 1, fl_net_now(), NULL)) { // what was sent before the end counts
        server_step(&side);
    }
    FlSealServerStats stats = fl__seal_server_stats(side.server);
    printf("connected %d accepted %" PRIu64 " challenges %" PRIu64 " denials %" PRIu64,
           stats.connected, stats.accepted, stats.challenges, stats.denials);
    for (int32_t i = 1; i < FL_SEAL_DROPS; i++) {
        if (stats.drops[i] != 0) {
            printf(" %s %" PRIu64, fl__seal_drop_name((FlSealDrop)i), stats.drops[i]);
        }
    }
    printf("\n");
    side_close(&side);
    return 0;
}

static void client_say(const Side *side, FlSealState *said)
{
    if (side->state != *said) {
        FlSealClientStatus status = fl_seal_client_status(side->client);
        printf("%s server %d slot %u of %u back %d wrong %d\n", fl__seal_state_name(side->state),
               status.server, status.index, status.slot_count, side->back_count, side->wrong_count);
        fflush(stdout);
        *said = side->state;
    }
}

static int client_main(char **argv)
{
    static char text[2 * FL_SEAL_TOKEN_BYTES + 2];
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    if (fgets(text, sizeof text, stdin) == NULL || !hex_read(text, token, sizeof token)) {
        fprintf(stderr, "net_seal_interop: a token is 4096 hexadecimal digits\n");
        return 2;
    }
    Side side = client_open(token, argv[1]);
    FlSealState said = FL_SEAL_DISCONNECTED;
    do {
        (void)fl_net_wait(&side.net, 1, fl_net_now() + FL_MS(20), NULL);
        client_step(&side);
        client_say(&side, &said);
        if (side.back_count == SIZES && strcmp(argv[0], "leave") == 0) {
            fl_seal_client_disconnect(side.client, fl_net_now());
            client_step(&side);
            client_say(&side, &said);
        }
    } while (side.state > 0);
    side_close(&side);
    return 0;
}

// ---------------------------------------------------------------- as a test

static void our_ends_connect_talk_and_part_by_the_standard_alone(void **state)
{
    (void)state;
    const uint8_t key[FL_SEAL_KEY_BYTES] = {9, 8, 7};
    Side server = server_open(key, 77, 2, "127.0.0.1");
    FlSealTokenDef def = {.protocol_id = 77,
                          .client_id = 5,
                          .create_s = unix_now(),
                          .expire_s = unix_now() + 60,
                          .timeout_s = 30,
                          .address_count = 1,
                          .address = {fl_net_address(server.net)}};
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    assert_int_equal(fl_seal_token_make(&def, key, NULL, token), FL_OK);
    Side client = client_open(token, "127.0.0.1");
    for (int32_t i = 0; i < 1000 && client.back_count < SIZES; i++) {
        FlNet *const nets[] = {server.net, client.net};
        bool ready[2];
        (void)fl_net_wait(nets, 2, fl_net_now() + FL_MS(20), ready);
        server_step(&server);
        client_step(&client);
    }
    assert_int_equal(client.back_count, SIZES);
    assert_int_equal(client.wrong_count, 0);
    fl_seal_client_disconnect(client.client, fl_net_now());
    client_step(&client);
    for (int32_t i = 0; i < 100 && fl__seal_server_stats(server.server).connected > 0; i++) {
        (void)fl_net_wait(&server.net, 1, fl_net_now() + FL_MS(20), NULL);
        server_step(&server);
    }
    assert_int_equal(fl__seal_server_stats(server.server).connected, 0);
    side_close(&client);
    side_close(&server);
}

int main(int argc, char **argv)
{
    if (argc >= 5 && strcmp(argv[1], "server") == 0) {
        return server_main(argv + 2, argc - 2);
    }
    if (argc == 4 && strcmp(argv[1], "client") == 0) {
        return client_main(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_ends_connect_talk_and_part_by_the_standard_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
