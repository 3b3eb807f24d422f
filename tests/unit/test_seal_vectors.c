// spec/vectors/seal.json: tokens, requests and packets with their meaning, for programs in any
// language. Keys and nonces come from a seed, so the file can be made anew to the byte: --write.
#include "test_seal_support.h"

#include "seal/private.h"

#define PATH "spec/vectors/seal.json"

typedef struct Text {
    char bytes[1 << 17];
    size_t count;
} Text;

static Text text;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof text.bytes - text.count;
    int written = vsnprintf(text.bytes + text.count, room, format, arguments);
    va_end(arguments);
    assert_true(written >= 0 && (size_t)written < room);
    text.count += (size_t)written;
}

static void put_hex(const char *name, const uint8_t *bytes, int32_t count, const char *after)
{
    put("\"%s\": \"", name);
    for (int32_t i = 0; i < count; i++) {
        put("%02x", bytes[i]);
    }
    put("\"%s", after);
}

static void put_addresses(const FlSealTokenDef *def)
{
    put("\"addresses\": [");
    for (int32_t i = 0; i < def->address_count; i++) {
        FlAddress a = def->address[i];
        put("%s{", i > 0 ? ", " : "");
        put_hex("ip", a.ip, a.family == FL_FAMILY_IPV4 ? 4 : 16, ", ");
        put("\"port\": %u}", a.port);
    }
    put("], ");
}

static void put_token(FlRandom *stream, int32_t addresses, int32_t timeout_s, bool last)
{
    FlSealTokenDef def = token_def(UINT64_C(0xfedcba9876543210));
    def.timeout_s = timeout_s;
    def.address_count = addresses;
    for (int32_t i = 0; i < addresses; i++) {
        uint16_t port = (uint16_t)(40000 + i);
        def.address[i] = i % 2 == 0 ? address_v4((uint8_t)i, port) : address_v6((uint8_t)i, port);
    }
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    uint8_t request[FL_SEAL_REQUEST_BYTES];
    token_make(&def, stream, token);
    fl__request_write(token, request);
    FlSealToken read;
    assert_int_equal(fl_seal_token_read(token, &read), FL_OK);
    put("  {\"protocol\": \"%016llx\", \"client\": \"%016llx\", \"create\": %llu, \"expire\": "
        "%llu, "
        "\"timeout\": %d, ",
        (unsigned long long)def.protocol_id, (unsigned long long)def.client_id,
        (unsigned long long)def.create_s, (unsigned long long)def.expire_s, def.timeout_s);
    put_addresses(&def);
    put_hex("private_key", server_key, FL_SEAL_KEY_BYTES, ", ");
    put_hex("nonce", token + 37, NONCE_BYTES, ", ");
    put_hex("to_server", read.to_server_key, FL_SEAL_KEY_BYTES, ", ");
    put_hex("to_client", read.to_client_key, FL_SEAL_KEY_BYTES, ", ");
    put_hex("user", def.user_data, FL_SEAL_USER_BYTES, ",\n   ");
    put_hex("token", token, sizeof token, ",\n   ");
    put_hex("request", request, sizeof request, last ? "}\n" : "},\n");
}

static void put_packet(Kind kind, uint64_t sequence, const void *body, int32_t count, bool last)
{
    uint8_t buffer[CONTROL_BYTES];
    const uint8_t *start;
    int32_t size =
        fl__packet_control(PROTOCOL, server_key, kind, sequence, 3, body, count, buffer, &start);
    put("  {\"kind\": %d, \"sequence\": \"%016llx\", ", (int)kind, (unsigned long long)sequence);
    put_hex("body", body, count, ", ");
    put_hex("packet", start, size, last ? "}\n" : "},\n");
}

static void write_text(void)
{
    FlRandom stream = {.seed = 1};
    static const uint8_t body[308] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    text.count = 0;
    put("{\"standard\": \"NETCODE 1.02\",\n \"tokens\": [\n");
    put_token(&stream, 1, 5, false);
    put_token(&stream, 2, -1, false);
    put_token(&stream, 32, 3600, true);
    put(" ],\n");
    put(" \"protocol\": \"%016llx\",\n ", (unsigned long long)PROTOCOL);
    put_hex("key", server_key, FL_SEAL_KEY_BYTES, ",\n \"packets\": [\n");
    put_packet(KIND_DENIED, UINT64_C(1) << 63, body, 0, false);
    put_packet(KIND_CHALLENGE, UINT64_C(0x8102030405060708), body, 308, false);
    put_packet(KIND_RESPONSE, 0, body, 308, false);
    put_packet(KIND_KEEP_ALIVE, 1000, body, 8, false);
    put_packet(KIND_PAYLOAD, 255, body, 1, false);
    put_packet(KIND_PAYLOAD, 256, body, 100, false);
    put_packet(KIND_PAYLOAD, 65536, body, 100, false);
    put_packet(KIND_DISCONNECT, UINT64_C(0xfffffffffffffffe), body, 0, false);
    put_packet(KIND_MOVE, 70000, body, 16, false);
    put_packet(KIND_PATH, 70001, body, 8, false);
    put_packet(KIND_ANSWER, 70002, body, 8, true);
    put(" ]}\n");
}

static void the_file_says_what_the_library_writes(void **state)
{
    (void)state;
    static char stored[sizeof text.bytes];
    write_text();
    FILE *file = fopen(PATH, "rb");
    assert_non_null(file);
    size_t count = fread(stored, 1, sizeof stored, file);
    fclose(file);
    assert_int_equal(count, text.count);
    assert_memory_equal(stored, text.bytes, count);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0) {
        write_text();
        FILE *file = fopen(PATH, "wb");
        bool good = file != NULL && fwrite(text.bytes, 1, text.count, file) == text.count;
        return file != NULL && fclose(file) == 0 && good ? 0 : 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_says_what_the_library_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
