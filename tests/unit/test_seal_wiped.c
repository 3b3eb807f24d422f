// Secrets on the stack: what a call leaves behind where its locals were. Every call runs on a stack
// of our own, which is looked through afterwards.
#define _XOPEN_SOURCE 700
#include "test_seal_support.h"

#include <ucontext.h>

enum { STACK_BYTES = 1 << 20, SECRETS = 8 };

static uint8_t stack[STACK_BYTES];
static ucontext_t caller;
static ucontext_t callee;

// What must not be found: keys that the calls below use or draw.
static uint8_t secret[SECRETS][FL_SEAL_KEY_BYTES];
static int32_t secret_count;

static void is_secret(const uint8_t key[FL_SEAL_KEY_BYTES])
{
    assert_true(secret_count < SECRETS);
    memcpy(secret[secret_count++], key, FL_SEAL_KEY_BYTES);
}

// Compilers do not know who wrote there: all is read again.
static bool is_left(const uint8_t key[FL_SEAL_KEY_BYTES])
{
    const volatile uint8_t *at = stack;
    for (int32_t i = 0; i + FL_SEAL_KEY_BYTES <= STACK_BYTES; i++) {
        int32_t same = 0;
        while (same < FL_SEAL_KEY_BYTES && at[i + same] == key[same]) {
            same++;
        }
        if (same == FL_SEAL_KEY_BYTES) {
            return true;
        }
    }
    return false;
}

static void run(void (*call)(void))
{
    memset(stack, 0, sizeof stack);
    assert_int_equal(getcontext(&callee), 0);
    callee.uc_stack.ss_sp = stack;
    callee.uc_stack.ss_size = sizeof stack;
    callee.uc_link = &caller;
    makecontext(&callee, call, 0);
    assert_int_equal(swapcontext(&caller, &callee), 0);
}

static void nothing_is_left(void)
{
    for (int32_t i = 0; i < secret_count; i++) {
        if (is_left(secret[i])) {
            fail_msg("secret %d is left on the stack", (int)i);
        }
    }
}

// ---------------------------------------------------------------- the calls

static FlRandom stream;
static uint8_t token[FL_SEAL_TOKEN_BYTES];
static FlSealInvite invite;
static char text[FL_SEAL_INVITE_TEXT];
static FlSealServer *server;
static FlSealClient *client;
static uint8_t request[FL_SEAL_REQUEST_BYTES];
static FlSealPairDef pair_def;
static FlSealPair *pair;
static uint8_t hello[256];
static int32_t hello_count;

static void make_token(void)
{
    static FlSealTokenDef def;
    def = token_def(7);
    FlSealRandom random = fl__seal_random_seeded(&stream);
    (void)fl_seal_token_make(&def, server_key, &random, token);
}

static void connect_client(void)
{
    (void)fl_seal_client_connect(client, 0, UNIX_NOW, token);
    FlSealed out;
    if (fl_seal_client_next(client, 0, &out) == FL_OK && out.count == FL_SEAL_REQUEST_BYTES) {
        memcpy(request, out.bytes, sizeof request);
    }
}

static void take_request(void)
{
    FlSealPeer peer;
    FlSealPayload payload;
    (void)fl_seal_server_receive(server, 0, address_v4(9, 9), request, sizeof request, &peer,
                                 &payload);
}

static void write_invite(void)
{
    fl__seal_invite_text(&invite, text);
}

static void read_invite(void)
{
    (void)fl_seal_invite_parse(text, &invite);
}

static void use_invite(void)
{
    static const uint8_t user[FL_SEAL_USER_BYTES];
    FlSealRandom random = fl__seal_random_seeded(&stream);
    (void)fl_seal_invite_token(&invite, 1, UNIX_NOW, 5, user, &random, token);
}

static void make_pair(void)
{
    (void)fl__seal_pair_create(&pair_def, 0, &pair);
    FlSealed out;
    (void)fl__seal_pair_next(pair, 0, &out);
}

static void meet_peer(void)
{
    FlSealPayload payload;
    (void)fl__seal_pair_receive(pair, 0, address_v4(8, 8), hello, hello_count, &payload);
}

// ---------------------------------------------------------------- the tests

// The net has to catch something: a careless copy is found. It lies deep enough that returning does
// not write over it.
static void *(*volatile copy_fn)(void *, const void *, size_t) = memcpy; // not left out

static void copy_carelessly(void)
{
    uint8_t copy[4096];
    (void)copy_fn(copy + 1024, server_key, FL_SEAL_KEY_BYTES);
}

static void a_copy_that_stays_is_found(void **state)
{
    (void)state;
    run(copy_carelessly);
    assert_true(is_left(server_key));
}

static void tokens_leave_no_keys(void **state)
{
    (void)state;
    secret_count = 0;
    run(make_token);
    FlSealToken read;
    assert_int_equal(fl__seal_token_read(token, &read), FL_OK);
    is_secret(read.to_server_key);
    is_secret(read.to_client_key);
    nothing_is_left();

    FlSealClientDef client_def = fl_seal_client_def_default();
    assert_int_equal(fl_seal_client_create(&client_def, &client), FL_OK);
    run(connect_client);
    nothing_is_left();

    FlSealServerDef def = fl_seal_server_def_default();
    def.protocol_id = PROTOCOL;
    def.unix_s = UNIX_NOW;
    memcpy(def.private_key, server_key, sizeof server_key);
    def.address[def.address_count++] = SERVER_ADDRESS;
    assert_int_equal(fl_seal_server_create(&def, 0, &server), FL_OK);
    run(take_request);
    assert_int_equal(fl__seal_server_stats(server).pending, 1);
    nothing_is_left();
    // Nor in the datagram, where it was opened.
    for (int32_t i = 0; i + FL_SEAL_KEY_BYTES <= FL_SEAL_REQUEST_BYTES; i++) {
        assert_memory_not_equal(request + i, secret[0], FL_SEAL_KEY_BYTES);
    }
    fl_seal_server_destroy(server);
    fl_seal_client_destroy(client);
}

static void invites_leave_no_keys(void **state)
{
    (void)state;
    secret_count = 0;
    invite = (FlSealInvite){.protocol_id = PROTOCOL,
                            .invite_id = UINT64_C(1) << 63 | 5,
                            .expire_s = UNIX_NOW + 100,
                            .uses = 1,
                            .address = SERVER_ADDRESS};
    memcpy(invite.key, server_key, sizeof server_key);
    is_secret(server_key);
    run(write_invite);
    nothing_is_left();
    run(read_invite);
    nothing_is_left();
    run(use_invite);
    nothing_is_left();
}

static void pairs_leave_no_keys(void **state)
{
    (void)state;
    secret_count = 0;
    FlSealIntroduction other = {.protocol_id = PROTOCOL,
                                .own_id = 2,
                                .peer_id = 1,
                                .expire_s = UNIX_NOW + 9,
                                .timeout_s = 5,
                                .candidate_count = 1,
                                .candidate = {SERVER_ADDRESS}};
    pair_def = fl__seal_pair_def_default();
    pair_def.introduction = other;
    pair_def.introduction.own_id = 1;
    pair_def.introduction.peer_id = 2;
    pair_def.unix_s = UNIX_NOW;
    pair_def.random = fl__seal_random_seeded(&stream);
    fl__seal_introduce(&pair_def.random, &pair_def.introduction, &other);
    is_secret(other.key);
    FlRandom ahead = stream; // the X25519 secret will be this
    FlSealRandom foreseen = fl__seal_random_seeded(&ahead);
    uint8_t drawn[FL_SEAL_KEY_BYTES];
    fl_seal_key(&foreseen, drawn);
    is_secret(drawn);
    run(make_pair);
    assert_non_null(pair);
    nothing_is_left();

    FlSealPairDef other_def = pair_def;
    other_def.introduction = other;
    FlSealPair *peer;
    assert_int_equal(fl__seal_pair_create(&other_def, 0, &peer), FL_OK);
    FlSealed out;
    assert_int_equal(fl__seal_pair_next(peer, 0, &out), FL_OK);
    hello_count = out.count;
    memcpy(hello, out.bytes, (size_t)out.count);
    run(meet_peer);
    nothing_is_left();
    fl__seal_pair_destroy(peer);
    fl__seal_pair_destroy(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_that_stays_is_found),
        cmocka_unit_test(tokens_leave_no_keys),
        cmocka_unit_test(invites_leave_no_keys),
        cmocka_unit_test(pairs_leave_no_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
