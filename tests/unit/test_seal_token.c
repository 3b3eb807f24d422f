// Connect tokens: every byte as the standard has it, every limit, every flipped bit.
#include "test_seal_support.h"

#include "test_seal_hand.h"

#include "seal/private.h"

static FlSealTokenDef many_addresses(int32_t count)
{
    FlSealTokenDef def = token_def(77);
    def.address_count = count;
    for (int32_t i = 0; i < count && i < FL_SEAL_ADDRESSES; i++) {
        uint16_t port = (uint16_t)(1000 + i);
        def.address[i] = i % 2 == 0 ? address_v4((uint8_t)i, port) : address_v6((uint8_t)i, port);
    }
    return def;
}

static void a_token_reads_as_it_was_made(void **state)
{
    (void)state;
    for (int32_t count = 1; count <= FL_SEAL_ADDRESSES; count++) {
        FlRandom stream = {.seed = 1, .stream = (uint64_t)count};
        FlSealTokenDef def = many_addresses(count);
        uint8_t bytes[FL_SEAL_TOKEN_BYTES];
        token_make(&def, &stream, bytes);
        FlSealToken token;
        assert_int_equal(fl__seal_token_read(bytes, &token), FL_OK);
        assert_int_equal(token.protocol_id, def.protocol_id);
        assert_int_equal(token.create_s, def.create_s);
        assert_int_equal(token.expire_s, def.expire_s);
        assert_int_equal(token.timeout_s, def.timeout_s);
        assert_int_equal(token.address_count, count);
        assert_memory_equal(token.address, def.address, sizeof(FlAddress) * (size_t)count);
        assert_memory_not_equal(token.to_server_key, token.to_client_key, FL_SEAL_KEY_BYTES);

        PrivateToken inner;
        uint8_t sealed[PRIVATE_BYTES];
        TokenSeal seal = {.protocol_id = PROTOCOL, .expire_s = def.expire_s};
        memcpy(seal.nonce, bytes + 37, NONCE_BYTES);
        memcpy(sealed, bytes + 61, PRIVATE_BYTES);
        assert_true(fl__private_open(sealed, &seal, server_key));
        assert_true(fl__private_read(sealed, &inner));
        assert_int_equal(inner.client_id, 77);
        assert_int_equal(inner.address_count, count);
        assert_memory_equal(inner.address, def.address, sizeof(FlAddress) * (size_t)count);
        assert_memory_equal(inner.user_data, def.user_data, FL_SEAL_USER_BYTES);
        assert_memory_equal(inner.to_server_key, token.to_server_key, FL_SEAL_KEY_BYTES);
        assert_memory_equal(inner.to_client_key, token.to_client_key, FL_SEAL_KEY_BYTES);
    }
}

// The nonce and keys that our code drew, put through the standard by hand, give the same bytes.
static void a_token_is_the_standards_to_the_byte(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 2};
    FlSealTokenDef def = token_def(UINT64_C(0x8877665544332211));
    def.timeout_s = -1;
    uint8_t ours[FL_SEAL_TOKEN_BYTES];
    token_make(&def, &stream, ours);
    FlSealToken token;
    assert_int_equal(fl__seal_token_read(ours, &token), FL_OK);

    HandToken hand = {.protocol = PROTOCOL,
                      .create = def.create_s,
                      .expire = def.expire_s,
                      .client = def.client_id,
                      .timeout = -1,
                      .ip = {192, 0, 2, 1},
                      .port = 40000};
    memcpy(hand.nonce, ours + 37, 24);
    memcpy(hand.up, token.to_server_key, 32);
    memcpy(hand.down, token.to_client_key, 32);
    memcpy(hand.user, def.user_data, 256);
    uint8_t theirs[FL_SEAL_TOKEN_BYTES];
    hand_token(&hand, server_key, theirs);
    assert_memory_equal(ours, theirs, FL_SEAL_TOKEN_BYTES);

    uint8_t request[FL_SEAL_REQUEST_BYTES];
    uint8_t by_hand[FL_SEAL_REQUEST_BYTES];
    fl__request_write(ours, request);
    assert_int_equal(hand_request(&hand, server_key, by_hand), FL_SEAL_REQUEST_BYTES);
    assert_memory_equal(request, by_hand, FL_SEAL_REQUEST_BYTES);
}

static void an_ipv6_group_is_a_little_endian_number(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 3};
    FlSealTokenDef def = token_def(1);
    def.address[0] = address_v6(0x42, 0x1234);
    uint8_t bytes[FL_SEAL_TOKEN_BYTES];
    token_make(&def, &stream, bytes);
    const uint8_t want[19] = {2, 0x01, 0x20, 0xb8, 0x0d, 0,    0, 0,    0,   0,
                              0, 0,    0,    0,    0,    0x42, 0, 0x34, 0x12};
    assert_memory_equal(bytes + 61 + 1024 + 8, want, sizeof want);
}

static void the_private_part_survives_no_flipped_bit(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 4};
    FlSealTokenDef def = token_def(5);
    uint8_t bytes[FL_SEAL_TOKEN_BYTES];
    token_make(&def, &stream, bytes);
    TokenSeal seal = {.protocol_id = PROTOCOL, .expire_s = def.expire_s};
    memcpy(seal.nonce, bytes + 37, NONCE_BYTES);
    uint8_t sealed[PRIVATE_BYTES];
    for (int32_t bit = 0; bit < PRIVATE_BYTES * 8; bit++) {
        memcpy(sealed, bytes + 61, PRIVATE_BYTES);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(fl__private_open(sealed, &seal, server_key));
    }
    for (int32_t bit = 0; bit < (int32_t)sizeof seal * 8; bit++) {
        TokenSeal changed = seal;
        ((uint8_t *)&changed)[bit / 8] ^= (uint8_t)(1 << bit % 8);
        memcpy(sealed, bytes + 61, PRIVATE_BYTES);
        assert_false(fl__private_open(sealed, &changed, server_key));
    }
    uint8_t key[FL_SEAL_KEY_BYTES];
    for (int32_t bit = 0; bit < FL_SEAL_KEY_BYTES * 8; bit++) {
        memcpy(key, server_key, sizeof key);
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
        memcpy(sealed, bytes + 61, PRIVATE_BYTES);
        assert_false(fl__private_open(sealed, &seal, key));
    }
    memcpy(sealed, bytes + 61, PRIVATE_BYTES);
    assert_true(fl__private_open(sealed, &seal, server_key));
}

static void refuses_to_make(FlSealTokenDef def)
{
    uint8_t bytes[FL_SEAL_TOKEN_BYTES];
    uint8_t empty[FL_SEAL_TOKEN_BYTES] = {0};
    assert_int_equal(fl_seal_token_make(&def, server_key, NULL, bytes), FL_BAD_VALUE);
    assert_memory_equal(bytes, empty, sizeof bytes);
}

static void limits_hold_when_a_token_is_made(void **state)
{
    (void)state;
    refuses_to_make(many_addresses(0));
    refuses_to_make(many_addresses(33));
    refuses_to_make(many_addresses(-1));
    FlSealTokenDef def = token_def(1);
    def.expire_s = def.create_s;
    refuses_to_make(def);
    def = token_def(1);
    def.timeout_s = 0;
    refuses_to_make(def);
    def = token_def(1);
    def.address[0].family = FL_FAMILY_NONE;
    refuses_to_make(def);
    def = token_def(1);
    def.address[0].port = 0;
    refuses_to_make(def);
    def = token_def(1);
    def.address[0] = address_v6(1, 2);
    def.address[0].scope = 3;
    refuses_to_make(def);
}

static void refuses_to_read(const uint8_t *good, int32_t at, uint8_t value)
{
    uint8_t bytes[FL_SEAL_TOKEN_BYTES];
    memcpy(bytes, good, sizeof bytes);
    bytes[at] = value;
    FlSealToken token;
    FlSealToken empty;
    memset(&empty, 0, sizeof empty);
    assert_int_equal(fl__seal_token_read(bytes, &token), FL_BAD_VALUE);
    assert_memory_equal(&token, &empty, sizeof token);
}

static void limits_hold_when_a_token_is_read(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 5};
    FlSealTokenDef def = token_def(5);
    uint8_t good[FL_SEAL_TOKEN_BYTES];
    token_make(&def, &stream, good);
    for (int32_t i = 0; i < VERSION_BYTES; i++) {
        refuses_to_read(good, i, good[i] ^ 1);
    }
    refuses_to_read(good, 28, 0x7f);        // created after it expires
    refuses_to_read(good, 1089, 0);         // no addresses
    refuses_to_read(good, 1089, 33);        // too many
    refuses_to_read(good, 1092, 1);         // far too many
    refuses_to_read(good, 1093, 0);         // an address of no type
    refuses_to_read(good, 1093, 3);         // of an unknown type
    refuses_to_read(good, 2047, 1);         // padding
    refuses_to_read(good, 1100 + 64, 0x80); // right behind the keys
    FlSealToken token;
    assert_int_equal(fl__seal_token_read(good, &token), FL_OK);
}

static void bad_private_parts_are_refused_although_genuine(void **state)
{
    (void)state;
    PrivateToken token = {.client_id = 1, .timeout_s = 1, .address_count = 1};
    token.address[0] = SERVER_ADDRESS;
    uint8_t bytes[PRIVATE_BYTES];
    PrivateToken read;
    fl__private_write(&token, bytes);
    assert_true(fl__private_read(bytes, &read));
    const struct {
        int32_t at;
        uint8_t value;
    } wrong[] = {{12, 0}, {12, 33}, {15, 1}, {16, 0}, {16, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fl__private_write(&token, bytes);
        bytes[wrong[i].at] = wrong[i].value;
        assert_false(fl__private_read(bytes, &read));
    }
}

static void tokens_are_the_same_bytes_everywhere(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 20240229};
    uint64_t hash = 0;
    for (int32_t count = 1; count <= FL_SEAL_ADDRESSES; count++) {
        FlSealTokenDef def = many_addresses(count);
        uint8_t bytes[FL_SEAL_TOKEN_BYTES];
        token_make(&def, &stream, bytes);
        hash = hash_bytes(hash, bytes, sizeof bytes);
    }
    check_golden(hash, UINT64_C(0x3f7f83e8bed1ad0c));
}

static void without_a_hook_bytes_are_libsodiums(void **state)
{
    (void)state;
    uint8_t one[FL_SEAL_KEY_BYTES] = {0};
    uint8_t other[FL_SEAL_KEY_BYTES] = {0};
    FlSealRandom none = {NULL, NULL};
    fl_seal_key(&none, one);
    fl_seal_key(NULL, other);
    assert_memory_not_equal(one, other, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_reads_as_it_was_made),
        cmocka_unit_test(a_token_is_the_standards_to_the_byte),
        cmocka_unit_test(an_ipv6_group_is_a_little_endian_number),
        cmocka_unit_test(the_private_part_survives_no_flipped_bit),
        cmocka_unit_test(limits_hold_when_a_token_is_made),
        cmocka_unit_test(limits_hold_when_a_token_is_read),
        cmocka_unit_test(bad_private_parts_are_refused_although_genuine),
        cmocka_unit_test(tokens_are_the_same_bytes_everywhere),
        cmocka_unit_test(without_a_hook_bytes_are_libsodiums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
