// Who may not come in is told why, by plain hosts and sealed ones; nobody else learns from it, is
// flooded with it, or can end a session with it. Two sessions and a pump, in virtual time.
#include "fairlead/fairlead.h"
#include "fairlead/session.h"
#include "session_keys.h"

#include <string.h>

#define UNIX_S 1700000000u
#define STEP FL_MS(10)
#define REFUSAL_BYTES 12
#define HOST 4600
#define CLIENT 5000

/// A host, and a client that comes from one address.
typedef struct Door {
    FlSession *host, *client;
    FlSealServerDef seal;
    FlRandom stream;
    FlTime now;
    FlAddress from;                             // the client's
    FlAddress second_host;                      // where a datagram to it is lost
    uint8_t request[FL_SESSION_DATAGRAM_BYTES]; // the client's last
    int32_t request_bytes;
    int32_t refusals, refusal_bytes; // that the host sent
    bool silent;                     // what the host says is lost
} Door;

static FlAddress at(uint16_t port)
{
    FlAddress address = {.ip = {10, 0, 0, 1}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

static FlSealRandom random_of(Door *door)
{
    return fl__seal_random_seeded(&door->stream);
}

static FlSessionDef session_def(Door *door, FlRole role)
{
    FlSessionDef def = fl_session_def_default();
    def.role = role;
    def.host = at(HOST);
    def.peer_capacity = 4;
    def.seed = fl_random_next(&door->stream);
    def.unix_s = UNIX_S + (uint64_t)(door->now / FL_SEC(1));
    def.random = random_of(door);
    return def;
}

static void open_host(Door *door, bool sealed)
{
    FlSessionDef def = session_def(door, FL_ROLE_HOST);
    door->seal = keys_server(&door->stream, at(HOST));
    def.seal_server = sealed ? &door->seal : NULL;
    fl_session_close(door->host);
    assert_int_equal(fl_session_create(&def, door->now, &door->host), FL_OK);
}

static void open_door(Door *door, bool sealed)
{
    memset(door, 0, sizeof *door);
    door->stream.seed = 7;
    door->from = at(CLIENT);
    open_host(door, sealed);
}

static void close_door(Door *door)
{
    fl_session_close(door->client);
    fl_session_close(door->host);
}

/// A client with this token, or without one.
static void come(Door *door, const uint8_t *token)
{
    FlSessionDef def = session_def(door, FL_ROLE_CLIENT);
    def.token = token;
    fl_session_close(door->client);
    assert_int_equal(fl_session_create(&def, door->now, &door->client), FL_OK);
}

static void write_token(Door *door, uint64_t client_id, uint64_t create_s, int32_t timeout_s,
                        const uint8_t *key, uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    FlWorldDef world = fl_world_def_default();
    FlSealTokenDef def = {
        .protocol_id = protocol_of(&world),
        .client_id = client_id,
        .create_s = create_s,
        .expire_s = create_s + 60,
        .timeout_s = timeout_s,
        .address_count = door->second_host.port != 0 ? 2 : 1,
        .address = {door->second_host.port != 0 ? door->second_host : at(HOST), at(HOST)}};
    FlSealRandom random = random_of(door);
    assert_int_equal(fl_seal_token_make(&def, key, &random, token), FL_OK);
}

static void invited(Door *door, const char *text, uint32_t number)
{
    FlSealInvite invite;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    static const uint8_t nothing[FL_SEAL_USER_BYTES];
    FlSealRandom random = random_of(door);
    assert_int_equal(fl_seal_invite_parse(text, &invite), FL_OK);
    assert_int_equal(fl_seal_invite_token(&invite, number, UNIX_S, 10, nothing, &random, token),
                     FL_OK);
    come(door, token);
}

// ---------------------------------------------------------------- the pump

static bool is_refusal(const FlOutgoing *out)
{
    return out->count == REFUSAL_BYTES && memcmp(out->bytes, "\0\0\3", 3) == 0;
}

static void pump_host(Door *door)
{
    FlOutgoing out;
    while (fl_session_next(door->host, door->now, &out) == FL_OK) {
        door->refusals += is_refusal(&out) ? 1 : 0;
        door->refusal_bytes += is_refusal(&out) ? out.count : 0;
        if (door->client != NULL && fl_address_equal(out.to, door->from) && !door->silent) {
            fl_session_receive(door->client, at(HOST), out.bytes, out.count, door->now);
        }
    }
}

static void pump(Door *door)
{
    FlOutgoing out;
    while (door->client != NULL && fl_session_next(door->client, door->now, &out) == FL_OK) {
        memcpy(door->request, out.bytes, (size_t)out.count);
        door->request_bytes = out.count;
        if (fl_address_equal(out.to, at(HOST))) {
            fl_session_receive(door->host, door->from, out.bytes, out.count, door->now);
        }
    }
    pump_host(door);
    door->now += STEP;
}

/// Until the client is in or out, or so much time has passed.
static FlSessionState settle(Door *door, FlTime longest)
{
    FlTime end = door->now + longest;
    while (door->now < end && fl_session_state(door->client) == FL_SESSION_JOINING) {
        pump(door);
    }
    return fl_session_state(door->client);
}

static void expect_refused(Door *door, FlTime within, const char *words)
{
    assert_int_equal(settle(door, within), FL_SESSION_ENDED);
    const char *trouble = fl_session_end_text(door->client);
    if (strstr(trouble, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, trouble);
    }
    assert_true(door->refusals > 0);
}

// ---------------------------------------------------------------- each cause in its own words

static void a_plain_client_at_a_sealed_host_is_told_that_it_is_by_invite_only(void **state)
{
    (void)state;
    Door door;
    open_door(&door, true);
    come(&door, NULL);
    expect_refused(&door, FL_MS(100), "by invite only");
    assert_true(REFUSAL_BYTES < door.request_bytes);
    assert_int_equal(fl_session_count(door.host, FL_SESSION_REFUSED), 1);
    assert_int_equal(fl_peer_count(door.host), 0);
    close_door(&door);
}

static void a_sealed_client_at_a_plain_host_is_told_that_it_is_open(void **state)
{
    (void)state;
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    open_door(&door, false);
    write_token(&door, 1, UNIX_S, 10, door.seal.private_key, token);
    come(&door, token);
    expect_refused(&door, FL_SEC(2), "This host is open");
    assert_int_equal(fl_peer_count(door.host), 0);
    close_door(&door);
}

static void a_used_up_invite_says_so(void **state)
{
    (void)state;
    Door door;
    char text[FL_SEAL_INVITE_TEXT];
    open_door(&door, true);
    assert_int_equal(fl_session_invite_at(door.host, door.now, at(HOST), 2, UNIX_S + 3600, text),
                     FL_OK);
    for (uint32_t i = 1; i <= 2; i++) {
        door.from = at((uint16_t)(CLIENT + i));
        invited(&door, text, i);
        assert_int_equal(settle(&door, FL_SEC(2)), FL_SESSION_RUNNING);
    }
    door.from = at(CLIENT + 3);
    invited(&door, text, 3);
    expect_refused(&door, FL_SEC(2), "used up");
    close_door(&door);
}

// Its process ended without a word, and it is there again at once.
static void whoever_crashed_comes_back_with_its_invite(void **state)
{
    (void)state;
    Door door;
    char text[FL_SEAL_INVITE_TEXT];
    open_door(&door, true);
    assert_int_equal(fl_session_invite_at(door.host, door.now, at(HOST), 1, UNIX_S + 3600, text),
                     FL_OK);
    for (uint32_t i = 1; i <= 3; i++) {
        char other[FL_SEAL_INVITE_TEXT]; // of players who do not come: theirs stay open
        assert_int_equal(
            fl_session_invite_at(door.host, door.now, at(HOST), 1, UNIX_S + 3600, other), FL_OK);
        door.from = at((uint16_t)(CLIENT + i));
        invited(&door, text, i);
        assert_int_equal(settle(&door, FL_SEC(6)), FL_SESSION_RUNNING);
        assert_int_equal(fl_peer_count(door.host), 1);
    }
    close_door(&door);
}

static void whoever_was_kicked_does_not(void **state)
{
    (void)state;
    Door door;
    char text[FL_SEAL_INVITE_TEXT];
    open_door(&door, true);
    assert_int_equal(fl_session_invite_at(door.host, door.now, at(HOST), 1, UNIX_S + 3600, text),
                     FL_OK);
    invited(&door, text, 1);
    assert_int_equal(settle(&door, FL_SEC(2)), FL_SESSION_RUNNING);
    FlPeerId peer = {0};
    assert_true(fl_peer_next(door.host, &peer));
    assert_int_equal(fl_peer_kick(door.host, door.now, peer, "out"), FL_OK);
    pump_host(&door);
    invited(&door, text, 1);
    expect_refused(&door, FL_SEC(4), "was sent away");
    close_door(&door);
}

static void an_invite_of_a_host_that_was_started_again_is_unknown(void **state)
{
    (void)state;
    Door door;
    char text[FL_SEAL_INVITE_TEXT];
    open_door(&door, true);
    assert_int_equal(fl_session_invite_at(door.host, door.now, at(HOST), 9, UNIX_S + 3600, text),
                     FL_OK);
    open_host(&door, true);
    invited(&door, text, 1);
    expect_refused(&door, FL_SEC(2), "Unknown invite");
    close_door(&door);
}

static void an_expired_token_says_so(void **state)
{
    (void)state;
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    open_door(&door, true);
    write_token(&door, 1, UNIX_S - 60, 10, door.seal.private_key, token);
    come(&door, token);
    expect_refused(&door, FL_SEC(2), "expired by the host's clock");
    close_door(&door);
}

static void a_token_that_is_in_use_says_so(void **state)
{
    (void)state;
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    open_door(&door, true);
    write_token(&door, 1, UNIX_S, 10, door.seal.private_key, token);
    come(&door, token);
    assert_int_equal(settle(&door, FL_SEC(2)), FL_SESSION_RUNNING);
    door.from = at(CLIENT + 1);
    come(&door, token);
    expect_refused(&door, FL_SEC(7), "Already in use");
    close_door(&door);
}

// ---------------------------------------------------------------- what a refusal cannot do

/// A refusal as somebody would write it who knows these 8 bytes.
static void forge(Door *door, FlAddress from, const uint8_t *echo, uint8_t reason)
{
    uint8_t bytes[REFUSAL_BYTES] = {0, 0, 3};
    memcpy(bytes + 3, echo, 8);
    bytes[REFUSAL_BYTES - 1] = reason;
    fl_session_receive(door->client, from, bytes, sizeof bytes, door->now);
}

static void who_did_not_see_the_request_cannot_refuse_it(void **state)
{
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    bool sealed = *state != NULL;
    open_door(&door, sealed);
    write_token(&door, 1, UNIX_S, 10, door.seal.private_key, token);
    door.silent = true;
    come(&door, sealed ? token : NULL);
    pump(&door);
    for (uint8_t reason = 0; reason < 12; reason++) {
        forge(&door, at(HOST), (const uint8_t *)"whatever", reason);
        forge(&door, at(HOST + 1), door.request + (sealed ? 46 : 11), reason);
    }
    assert_true(fl_session_count(door.client, FL_SESSION_BAD_JOIN) +
                    fl_session_count(door.client, FL_SESSION_SEALED_BADLY) ==
                24);
    (void)settle(&door, FL_MS(1500));
    door.silent = false;
    assert_int_equal(settle(&door, FL_SEC(2)), FL_SESSION_RUNNING);
    close_door(&door);
}

// Who sees requests and can send in the host's name still cannot end an attempt that the host
// answers, nor a session.
static void an_observer_cannot_keep_a_sealed_client_out(void **state)
{
    (void)state;
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    open_door(&door, true);
    write_token(&door, 1, UNIX_S, 10, door.seal.private_key, token);
    door.silent = true;
    come(&door, token);
    pump(&door);
    uint8_t echo[8];
    memcpy(echo, door.request + 46, sizeof echo);
    forge(&door, at(HOST), echo, 5);
    assert_int_equal(settle(&door, FL_MS(700)), FL_SESSION_JOINING);
    door.silent = false;
    pump(&door);
    pump(&door);
    pump(&door);
    forge(&door, at(HOST), echo, 5);
    assert_int_equal(settle(&door, FL_SEC(2)), FL_SESSION_RUNNING);
    forge(&door, at(HOST), echo, 5);
    FlTime end = door.now + FL_SEC(3);
    while (door.now < end) {
        pump(&door);
    }
    assert_int_equal(fl_session_state(door.client), FL_SESSION_RUNNING);
    assert_int_equal(fl_session_count(door.client, FL_SESSION_SEALED_BADLY),
                     0); // late, and no fault
    close_door(&door);
}

static void a_refusal_after_the_answer_means_nothing(void **state)
{
    (void)state;
    Door door;
    open_door(&door, false);
    come(&door, NULL);
    pump(&door); // JOIN and ACCEPT
    uint8_t echo[8];
    memcpy(echo, door.request + 11, sizeof echo);
    assert_int_equal(fl_session_state(door.client), FL_SESSION_JOINING);
    forge(&door, at(HOST), echo, 1);
    assert_int_equal(settle(&door, FL_SEC(2)), FL_SESSION_RUNNING);
    close_door(&door);
}

static void a_refusal_by_one_server_leaves_the_token_s_next(void **state)
{
    (void)state;
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    open_door(&door, true);
    door.second_host = at(HOST + 1);
    write_token(&door, 1, UNIX_S, 2, door.seal.private_key, token);
    come(&door, token);
    pump(&door);
    forge(&door, door.second_host, door.request + 46, 5);
    assert_int_equal(settle(&door, FL_SEC(6)), FL_SESSION_RUNNING);
    close_door(&door);
}

// 12 bytes for 19 or 1078, and no more than a ration of them however many ask.
static void strangers_get_few_and_short_answers(void **state)
{
    (void)state;
    Door door;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    open_door(&door, true);
    uint8_t other_key[FL_SEAL_KEY_BYTES] = {1};
    uint8_t join[19] = {0, 0, 1};
    write_token(&door, 1, UNIX_S, 10, other_key, token);
    come(&door, token);
    pump(&door);
    int64_t bytes_in = 0;
    int32_t refusals = door.refusals;
    for (int32_t i = 0; i < 10000; i++) {
        FlAddress from = at((uint16_t)(10000 + i));
        bool plain = i % 2 == 0;
        fl_session_receive(door.host, from, plain ? join : door.request, plain ? 19 : 1078,
                           door.now);
        bytes_in += plain ? 19 : 1078;
        if (i % 100 == 0) {
            pump_host(&door);
            door.now += FL_MS(10);
        }
    }
    pump_host(&door);
    refusals = door.refusals - refusals;
    assert_in_range(refusals, 10, 60); // of one second
    assert_true(door.refusal_bytes < bytes_in / 1000);
    assert_int_equal(fl_peer_count(door.host), 0);
    close_door(&door);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_client_at_a_sealed_host_is_told_that_it_is_by_invite_only),
        cmocka_unit_test(a_sealed_client_at_a_plain_host_is_told_that_it_is_open),
        cmocka_unit_test(a_used_up_invite_says_so),
        cmocka_unit_test(whoever_crashed_comes_back_with_its_invite),
        cmocka_unit_test(whoever_was_kicked_does_not),
        cmocka_unit_test(an_invite_of_a_host_that_was_started_again_is_unknown),
        cmocka_unit_test(an_expired_token_says_so),
        cmocka_unit_test(a_token_that_is_in_use_says_so),
        cmocka_unit_test(who_did_not_see_the_request_cannot_refuse_it),
        {"sealed_who_did_not_see_the_request_cannot_refuse_it",
         who_did_not_see_the_request_cannot_refuse_it, NULL, NULL, (void *)"sealed"},
        cmocka_unit_test(an_observer_cannot_keep_a_sealed_client_out),
        cmocka_unit_test(a_refusal_after_the_answer_means_nothing),
        cmocka_unit_test(a_refusal_by_one_server_leaves_the_token_s_next),
        cmocka_unit_test(strangers_get_few_and_short_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
