// The client: a server by hand (no line of ours on its side) lets it in; every event is played in
// every state and compared with the table of transitions; every reason for a drop is reached.
#include "test_seal_support.h"

#include "test_seal_hand.h"

#include "seal/private.h"

typedef struct World {
    FlRandom stream;
    FlSealClient *client;
    FlSealToken token;
    uint8_t token_bytes[FL_SEAL_TOKEN_BYTES];
    FlSealTokenDef def;
    uint64_t down_next; // the hand server's sequence numbers
    uint64_t global_next;
    FlTime now;
} World;

static void world_init(World *w, bool standard, int32_t servers)
{
    memset(w, 0, sizeof *w);
    w->stream.seed = 11;
    w->global_next = UINT64_C(1) << 63;
    w->client = client_make(&w->stream, standard);
    w->def = token_def(42);
    w->def.address_count = servers;
    for (int32_t i = 0; i < servers; i++) {
        w->def.address[i] = address_v4((uint8_t)(i + 1), 40000);
    }
    token_make(&w->def, &w->stream, w->token_bytes);
    assert_int_equal(fl__seal_token_read(w->token_bytes, &w->token), FL_OK);
}

static void world_end(World *w)
{
    fl_seal_client_destroy(w->client);
}

static FlAddress server_of(const World *w)
{
    return w->def.address[fl_seal_client_status(w->client).server];
}

static FlSealDrop give(World *w, FlAddress from, const uint8_t *bytes, int32_t count)
{
    uint8_t *copy = malloc(count > 0 ? (size_t)count : 1);
    assert_non_null(copy);
    if (count > 0) {
        memcpy(copy, bytes, (size_t)count);
    }
    FlSealPayload payload;
    FlSealDrop drop = fl_seal_client_receive(w->client, w->now, from, copy, count, &payload);
    free(copy);
    return drop;
}

static FlSealDrop say(World *w, int32_t kind, const void *body, int32_t count)
{
    bool global = kind == 1 || kind == 2;
    uint64_t sequence = global ? w->global_next++ : w->down_next++;
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
    int32_t size =
        hand_packet(PROTOCOL, w->token.to_client_key, kind, sequence, body, count, bytes);
    return give(w, server_of(w), bytes, size);
}

static const uint8_t challenge_body[308] = {17, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3};
static const uint8_t slot_body[8] = {3, 0, 0, 0, 64, 0, 0, 0};

static HandOpened hear(World *w)
{
    FlSealed out;
    assert_int_equal(fl_seal_client_next(w->client, w->now, &out), FL_OK);
    assert_true(fl_address_equal(out.to, server_of(w)));
    if (out.bytes[0] == 0) {
        HandOpened request = {.kind = 0, .count = out.count};
        return request;
    }
    return hand_open(PROTOCOL, w->token.to_server_key, out.bytes, out.count);
}

// Lets time-outs be noticed; what is said is of no interest.
static void step(World *w)
{
    FlSealed out;
    FlResult result = fl_seal_client_next(w->client, w->now, &out);
    assert_true(result == FL_OK || result == FL_NOT_FOUND);
}

static void quiet(World *w)
{
    FlSealed out;
    assert_int_equal(fl_seal_client_next(w->client, w->now, &out), FL_NOT_FOUND);
}

static void start(World *w)
{
    assert_int_equal(fl_seal_client_connect(w->client, w->now, UNIX_NOW, w->token_bytes), FL_OK);
}

// ---------------------------------------------------------------- by hand

static void a_server_by_hand_lets_the_client_in(void **state)
{
    (void)state;
    World w;
    world_init(&w, true, 1);
    start(&w);
    assert_int_equal(client_state(w.client), 1);
    HandOpened heard = hear(&w);
    assert_int_equal(heard.count, FL_SEAL_REQUEST_BYTES);
    quiet(&w);
    w.now = FL_MS(100);
    assert_int_equal(fl_seal_client_deadline(w.client), w.now); // ten times a second
    assert_int_equal(hear(&w).kind, 0);

    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(client_state(w.client), 2);
    heard = hear(&w);
    assert_true(heard.genuine && heard.kind == 3 && heard.sequence == 0);
    assert_memory_equal(heard.body, challenge_body, 308);
    quiet(&w);
    w.now += FL_MS(100);
    heard = hear(&w);
    assert_true(heard.genuine && heard.kind == 3 && heard.sequence == 1);

    assert_int_equal(say(&w, 5, "too early", 9), FL_SEAL_DROP_STATE);
    assert_int_equal(say(&w, 4, slot_body, 8), FL_SEAL_DROP_NONE);
    assert_int_equal(client_state(w.client), 3);
    assert_int_equal(fl_seal_client_status(w.client).index, 3);
    assert_int_equal(fl_seal_client_status(w.client).slot_count, 64);
    heard = hear(&w); // at once, so that the server knows
    assert_true(heard.genuine && heard.kind == 4 && heard.sequence == 2);
    quiet(&w);

    uint8_t buffer[FL_SEAL_PACKET_BYTES];
    memset(buffer, 0x77, sizeof buffer);
    FlSealed out;
    uint64_t number = fl_seal_client_sequence(w.client);
    assert_int_equal(fl_seal_client_seal(w.client, w.now, number, buffer, 50, &out), FL_OK);
    heard = hand_open(PROTOCOL, w.token.to_server_key, out.bytes, out.count);
    assert_true(heard.genuine && heard.kind == 5 && heard.sequence == 3 && heard.count == 50);
    assert_int_equal(fl_seal_client_seal(w.client, w.now, number, buffer, 50, &out),
                     FL_OUT_OF_ORDER);

    uint8_t bytes[64];
    int32_t size = hand_packet(PROTOCOL, w.token.to_client_key, 5, 900, "state", 5, bytes);
    FlSealPayload payload;
    assert_int_equal(fl_seal_client_receive(w.client, w.now, server_of(&w), bytes, size, &payload),
                     FL_SEAL_DROP_NONE);
    assert_memory_equal(payload.bytes, "state", 5);
    assert_int_equal(payload.sequence, 900);

    fl_seal_client_disconnect(w.client, w.now);
    assert_int_equal(client_state(w.client), 0);
    for (uint64_t i = 0; i < 10; i++) {
        heard = hear(&w);
        assert_true(heard.genuine && heard.kind == 6 && heard.sequence == 4 + i);
    }
    quiet(&w);
    assert_int_equal(fl_seal_client_deadline(w.client), FL_FOREVER);
    world_end(&w);
}

// ---------------------------------------------------------------- the table

static void reach_state(World *w, FlSealState state)
{
    if (state == FL_SEAL_DISCONNECTED) {
        return;
    }
    if (state == FL_SEAL_INVALID_TOKEN) {
        uint8_t bad[FL_SEAL_TOKEN_BYTES] = {0};
        assert_int_equal(fl_seal_client_connect(w->client, w->now, UNIX_NOW, bad), FL_BAD_VALUE);
        return;
    }
    start(w);
    bool failed = state < FL_SEAL_DISCONNECTED;
    int32_t last = failed ? w->def.address_count - 1 : 0;
    while (fl_seal_client_status(w->client).server < last) {
        assert_int_equal(say(w, 1, NULL, 0), FL_SEAL_DROP_NONE); // on to the last server
    }
    if (state == FL_SEAL_RESPONDING || state == FL_SEAL_CONNECTED || state == FL_SEAL_TIMED_OUT ||
        state == FL_SEAL_RESPONSE_TIMED_OUT) {
        assert_int_equal(say(w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    }
    if (state == FL_SEAL_CONNECTED || state == FL_SEAL_TIMED_OUT) {
        assert_int_equal(say(w, 4, slot_body, 8), FL_SEAL_DROP_NONE);
    }
    if (state == FL_SEAL_DENIED) {
        assert_int_equal(say(w, 1, NULL, 0), FL_SEAL_DROP_NONE);
    }
    if (state == FL_SEAL_TOKEN_EXPIRED) {
        w->now += FL_SEC(60);
        step(w);
    }
    if (state == FL_SEAL_TIMED_OUT || state == FL_SEAL_RESPONSE_TIMED_OUT ||
        state == FL_SEAL_REQUEST_TIMED_OUT) {
        w->now += FL_SEC(5);
        step(w);
    }
}

static void play(World *w, const char *event)
{
    if (strcmp(event, "CONNECT") == 0) {
        start(w);
    } else if (strcmp(event, "BAD_TOKEN") == 0) {
        uint8_t bad[FL_SEAL_TOKEN_BYTES] = {0};
        assert_int_equal(fl_seal_client_connect(w->client, w->now, UNIX_NOW, bad), FL_BAD_VALUE);
    } else if (strcmp(event, "LEAVE") == 0) {
        fl_seal_client_disconnect(w->client, w->now);
    } else if (strcmp(event, "CHALLENGE") == 0) {
        (void)say(w, 2, challenge_body, 308);
    } else if (strcmp(event, "DENIED") == 0) {
        (void)say(w, 1, NULL, 0);
    } else if (strcmp(event, "KEEP_ALIVE") == 0) {
        (void)say(w, 4, slot_body, 8);
    } else if (strcmp(event, "GOODBYE") == 0) {
        (void)say(w, 6, NULL, 0);
    } else if (strcmp(event, "SILENCE") == 0) {
        w->now += FL_SEC(5);
        step(w);
    } else if (strcmp(event, "EXPIRY") == 0) {
        // The token's whole life passes. While connected that is silence too, so speak meanwhile.
        for (int32_t i = 0; i < 30; i++) {
            w->now += FL_SEC(2);
            if (client_state(w->client) == FL_SEAL_CONNECTED) {
                assert_int_equal(say(w, 5, "x", 1), FL_SEAL_DROP_NONE);
            }
        }
        step(w);
    } else {
        fail_msg("no such event: %s", event);
    }
}

static const char *const events[] = {"CONNECT",    "BAD_TOKEN", "LEAVE",   "CHALLENGE", "DENIED",
                                     "KEEP_ALIVE", "GOODBYE",   "SILENCE", "EXPIRY"};

static void every_event_in_every_state_does_what_the_table_says(void **state)
{
    (void)state;
    int32_t row_count;
    const FlSealTransition *rows = fl__seal_transitions(&row_count);
    int32_t used = 0;
    for (int32_t servers = 1; servers <= 2; servers++) {
        for (int32_t from = -6; from <= 3; from++) {
            for (size_t e = 0; e < sizeof events / sizeof events[0]; e++) {
                FlSealState want = (FlSealState)from;
                for (int32_t i = 0; i < row_count; i++) {
                    if ((int32_t)rows[i].from == from && strcmp(rows[i].event, events[e]) == 0) {
                        want = servers == 2 ? rows[i].next_server : rows[i].last_server;
                        used++;
                    }
                }
                World w;
                world_init(&w, true, servers);
                reach_state(&w, (FlSealState)from);
                assert_int_equal(client_state(w.client), from);
                play(&w, events[e]);
                if (client_state(w.client) != want) {
                    print_error("%s in %s with %d servers: %s, not %s\n", events[e],
                                fl__seal_state_name((FlSealState)from), servers,
                                fl__seal_state_name(client_state(w.client)),
                                fl__seal_state_name(want));
                    fail();
                }
                world_end(&w);
            }
        }
    }
    assert_int_equal(used, 2 * row_count); // no row says something about nothing
}

// The table in spec/WIRE.md, section 9.4, has the same rows: | from | event | next | last |
static void the_specification_has_the_same_table(void **state)
{
    (void)state;
    FILE *file = fopen("spec/WIRE.md", "r");
    assert_non_null(file);
    int32_t row_count;
    const FlSealTransition *rows = fl__seal_transitions(&row_count);
    int32_t found = 0;
    int32_t said = 0;
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        char from[32], event[32], next[32], last[32];
        if (sscanf(line, "| `%31[A-Z_]` | `%31[A-Z_]` | `%31[A-Z_]` | `%31[A-Z_]` |", from, event,
                   next, last) != 4) {
            continue;
        }
        said++;
        for (int32_t i = 0; i < row_count; i++) {
            found += strcmp(fl__seal_state_name(rows[i].from), from) == 0 &&
                     strcmp(rows[i].event, event) == 0 &&
                     strcmp(fl__seal_state_name(rows[i].next_server), next) == 0 &&
                     strcmp(fl__seal_state_name(rows[i].last_server), last) == 0;
        }
    }
    fclose(file);
    assert_int_equal(said, row_count);
    assert_int_equal(found, row_count);
}

// ---------------------------------------------------------------- times

static void each_server_gets_the_time_out_and_all_together_the_tokens_life(void **state)
{
    (void)state;
    World w;
    world_init(&w, true, 32);
    start(&w);
    FlTime last_change = 0;
    int32_t server = 0;
    while (client_state(w.client) > 0) {
        w.now = fl_seal_client_deadline(w.client);
        FlSealed out;
        while (fl_seal_client_next(w.client, w.now, &out) == FL_OK) {
        }
        if (fl_seal_client_status(w.client).server != server) {
            server = fl_seal_client_status(w.client).server;
            assert_int_equal(w.now - last_change, FL_SEC(5));
            last_change = w.now;
        }
    }
    assert_int_equal(client_state(w.client), FL_SEAL_TOKEN_EXPIRED);
    assert_int_equal(w.now, FL_SEC(60));
    assert_int_equal(server, 11); // the twelfth had no time left
    world_end(&w);
}

static void a_negative_time_out_never_comes(void **state)
{
    (void)state;
    World w;
    world_init(&w, true, 1);
    w.def.timeout_s = -1;
    token_make(&w.def, &w.stream, w.token_bytes);
    assert_int_equal(fl__seal_token_read(w.token_bytes, &w.token), FL_OK);
    start(&w);
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(say(&w, 4, slot_body, 8), FL_SEAL_DROP_NONE);
    w.now = FL_SEC(1000000);
    step(&w);
    assert_int_equal(client_state(w.client), FL_SEAL_CONNECTED);
    world_end(&w);
}

static void numbers_never_repeat_with_the_same_keys(void **state)
{
    (void)state;
    World w;
    world_init(&w, true, 2);
    start(&w);
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(hear(&w).sequence, 0);
    assert_int_equal(say(&w, 1, NULL, 0), FL_SEAL_DROP_NONE); // denied: the next server
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(hear(&w).sequence, 1);
    start(&w); // the same token once more
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(hear(&w).sequence, 2);
    world_end(&w);

    // A client started anew with a saved token: the token's age moves its numbers on.
    world_init(&w, false, 1);
    assert_int_equal(fl_seal_client_connect(w.client, 0, UNIX_NOW + 7, w.token_bytes), FL_OK);
    assert_int_equal(fl_seal_client_sequence(w.client), 7 * 1024);
    world_end(&w);
}

// ---------------------------------------------------------------- every reason

static void packets_are_refused_for_each_reason_apart(void **state)
{
    (void)state;
    World w;
    world_init(&w, true, 1);
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
    const uint8_t *key = w.token.to_client_key;
    int32_t size = hand_packet(PROTOCOL, key, 2, w.global_next, challenge_body, 308, bytes);
    assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size), FL_SEAL_DROP_STATE); // not asked yet
    start(&w);
    assert_int_equal(give(&w, address_v4(9, 9), bytes, size), FL_SEAL_DROP_STRANGER);
    for (int32_t count = 0; count < size; count++) {
        assert_int_equal(give(&w, SERVER_ADDRESS, bytes, count), FL_SEAL_DROP_SHORT);
    }
    assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size + 1), FL_SEAL_DROP_LARGE);
    for (int32_t bit = 9 * 8; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size), FL_SEAL_DROP_TAMPERED);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (int32_t kind = 0; kind < 16; kind++) {
        bool taken = kind == 1 || kind == 2 || (kind >= 4 && kind <= 6);
        bytes[0] = (uint8_t)(8 << 4 | kind);
        if (!taken) {
            assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size), FL_SEAL_DROP_KIND);
        }
    }
    bytes[0] = 9 << 4 | 5;
    assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size), FL_SEAL_DROP_SEQUENCE);
    assert_int_equal(client_state(w.client), FL_SEAL_REQUESTING);
    assert_int_equal(say(&w, 6, NULL, 0), FL_SEAL_DROP_STATE); // a goodbye before the welcome
    assert_int_equal(say(&w, 4, slot_body, 8), FL_SEAL_DROP_STATE);
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_STATE); // said twice
    size = hand_packet(PROTOCOL, key, 4, 50, slot_body, 8, bytes);
    assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size), FL_SEAL_DROP_NONE);
    assert_int_equal(give(&w, SERVER_ADDRESS, bytes, size), FL_SEAL_DROP_REPLAY);
    assert_int_equal(client_state(w.client), FL_SEAL_CONNECTED);

    FlSealClientStatus status = fl_seal_client_status(w.client);
    assert_int_equal(status.drops[FL_SEAL_DROP_REPLAY], 1);
    assert_int_equal(status.drops[FL_SEAL_DROP_STRANGER], 1);
    assert_int_equal(status.drops[FL_SEAL_DROP_SEQUENCE], 1);
    assert_int_equal(status.drops[FL_SEAL_DROP_LARGE], 1);
    assert_int_equal(status.drops[FL_SEAL_DROP_KIND], 11);
    assert_int_equal(status.drops[FL_SEAL_DROP_STATE], 4);
    assert_int_equal(status.drops[FL_SEAL_DROP_SHORT], 1 + 8 + 308 + 16);
    assert_int_equal(status.drops[FL_SEAL_DROP_TAMPERED], (308 + 16) * 8);
    assert_int_equal(status.drops[FL_SEAL_DROP_NONE], 2);
    world_end(&w);
}

static void a_payload_needs_a_connection_a_size_and_a_new_number(void **state)
{
    (void)state;
    World w;
    world_init(&w, true, 1);
    uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
    FlSealed out;
    FlSealClient *c = w.client;
    assert_int_equal(fl_seal_client_seal(c, 0, 0, buffer, 1, &out), FL_STALE_ID);
    start(&w);
    assert_int_equal(say(&w, 2, challenge_body, 308), FL_SEAL_DROP_NONE);
    assert_int_equal(say(&w, 4, slot_body, 8), FL_SEAL_DROP_NONE);
    assert_int_equal(fl_seal_client_seal(c, 0, 0, buffer, 0, &out), FL_BAD_VALUE);
    assert_int_equal(fl_seal_client_seal(c, 0, 0, buffer, 1201, &out), FL_BAD_VALUE);
    assert_int_equal(fl_seal_client_seal(c, 0, UINT64_MAX, buffer, 1, &out), FL_FULL);
    assert_int_equal(fl_seal_client_seal(c, 0, UINT64_MAX - 1, buffer, 1200, &out), FL_OK);
    assert_int_equal(out.count, FL_SEAL_PACKET_BYTES);
    quiet(&w);
    w.now = FL_SEC(1);
    quiet(&w); // the numbers have run out: silent rather than repeating one
    world_end(&w);
}

static void definitions_are_checked(void **state)
{
    (void)state;
    FlSealClient *client;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        FlSealClientDef def = fl_seal_client_def_default();                                        \
        def.change;                                                                                \
        assert_int_equal(fl_seal_client_create(&def, &client), FL_BAD_VALUE);                      \
        assert_null(client);                                                                       \
    } while (0)
    REFUSED(ask_ns = 0);
    REFUSED(keep_alive_ns = 0);
    REFUSED(rebind_ns = -1);
    REFUSED(disconnect_count = -1);
    REFUSED(disconnect_count = 101);
#undef REFUSED
    fl_seal_client_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_by_hand_lets_the_client_in),
        cmocka_unit_test(every_event_in_every_state_does_what_the_table_says),
        cmocka_unit_test(the_specification_has_the_same_table),
        cmocka_unit_test(each_server_gets_the_time_out_and_all_together_the_tokens_life),
        cmocka_unit_test(a_negative_time_out_never_comes),
        cmocka_unit_test(numbers_never_repeat_with_the_same_keys),
        cmocka_unit_test(packets_are_refused_for_each_reason_apart),
        cmocka_unit_test(a_payload_needs_a_connection_a_size_and_a_new_number),
        cmocka_unit_test(definitions_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
