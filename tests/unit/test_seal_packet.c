// Packets: sealing and opening against the standard by hand, every truncation, every flipped bit,
// and the replay window at both ends of 64 bits.
#include "test_seal_support.h"

#include "test_seal_hand.h"

#include "seal/private.h"

#include <time.h>

#define ALL_KINDS 0x7ffu

static const uint64_t numbers[] = {0,
                                   1,
                                   255,
                                   256,
                                   1000,
                                   65535,
                                   65536,
                                   UINT64_C(0xffffff),
                                   UINT64_C(0x1000000),
                                   UINT64_C(0xffffffff),
                                   UINT64_C(0x100000000),
                                   UINT64_C(0x0102030405060708),
                                   UINT64_C(1) << 63,
                                   UINT64_MAX};

#define NUMBER_COUNT (int32_t)(sizeof numbers / sizeof numbers[0])

typedef struct Buffer {
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
} Buffer;

static int32_t seal_payload(Buffer *buffer, uint64_t sequence, int32_t count, uint8_t **start)
{
    for (int32_t i = 0; i < count; i++) {
        buffer->bytes[FL_SEAL_HEAD_BYTES + i] = (uint8_t)(i + 1);
    }
    return fl__packet_seal(PROTOCOL, server_key, KIND_PAYLOAD, sequence,
                           buffer->bytes + FL_SEAL_HEAD_BYTES, count, start);
}

static void a_payload_is_the_standards_to_the_byte(void **state)
{
    (void)state;
    const int32_t sizes[] = {1, 2, 63, 64, 65, 1199, 1200};
    for (int32_t n = 0; n < NUMBER_COUNT; n++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            Buffer buffer;
            uint8_t *start;
            int32_t size = seal_payload(&buffer, numbers[n], sizes[s], &start);
            uint8_t plain[FL_SEAL_PAYLOAD_BYTES];
            for (int32_t i = 0; i < sizes[s]; i++) {
                plain[i] = (uint8_t)(i + 1);
            }
            uint8_t hand[FL_SEAL_PACKET_BYTES];
            int32_t hand_size =
                hand_packet(PROTOCOL, server_key, 5, numbers[n], plain, sizes[s], hand);
            assert_int_equal(size, hand_size);
            assert_memory_equal(start, hand, (size_t)size);
            Packet packet;
            assert_int_equal(fl__packet_parse(hand, size, ALL_KINDS, &packet), FL_SEAL_DROP_NONE);
            assert_true(packet.sequence == numbers[n]);
            assert_int_equal(packet.body_bytes, sizes[s]);
            assert_true(fl__packet_open(PROTOCOL, server_key, &packet));
            assert_memory_equal(packet.body, plain, (size_t)sizes[s]);
        }
    }
}

// The worked example of the standard's text: 1000 is E8 03, and two bytes long.
static void a_thousand_takes_two_bytes(void **state)
{
    (void)state;
    Buffer buffer;
    uint8_t *start;
    int32_t size = seal_payload(&buffer, 1000, 10, &start);
    assert_int_equal(size, 1 + 2 + 10 + 16);
    assert_int_equal(start[0], 0x25);
    assert_int_equal(start[1], 0xe8);
    assert_int_equal(start[2], 0x03);
}

static void a_nonce_is_four_zeros_and_the_number_lowest_byte_first(void **state)
{
    (void)state;
    uint8_t nonce[12];
    const uint8_t want[12] = {0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    fl__nonce(UINT64_C(0x0102030405060708), nonce);
    assert_memory_equal(nonce, want, sizeof want);
}

static void no_flipped_bit_is_taken(void **state)
{
    (void)state;
    int32_t taken = 0;
    for (int32_t n = 0; n < NUMBER_COUNT; n++) {
        Buffer buffer;
        uint8_t *start;
        int32_t size = seal_payload(&buffer, numbers[n], 20, &start);
        for (int32_t bit = 0; bit < size * 8; bit++) {
            uint8_t changed[64];
            memcpy(changed, start, (size_t)size);
            changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
            Packet packet;
            FlSealDrop drop = fl__packet_parse(changed, size, ALL_KINDS, &packet);
            taken += drop == FL_SEAL_DROP_NONE && fl__packet_open(PROTOCOL, server_key, &packet);
        }
    }
    assert_int_equal(taken, 0);
}

// So that it can be tried with another key.
static void what_does_not_open_stays_as_it_was(void **state)
{
    (void)state;
    const int32_t sizes[] = {1, 64, 1200};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        Buffer buffer;
        uint8_t *start;
        int32_t size = seal_payload(&buffer, 1000, sizes[s], &start);
        uint8_t before[FL_SEAL_PACKET_BYTES];
        memcpy(before, start, (size_t)size);
        Packet packet;
        assert_int_equal(fl__packet_parse(start, size, ALL_KINDS, &packet), FL_SEAL_DROP_NONE);
        Replay replay = {0};
        uint8_t other_key[FL_SEAL_KEY_BYTES];
        memcpy(other_key, server_key, sizeof other_key);
        other_key[0] ^= 1;
        assert_int_equal(fl__packet_take(PROTOCOL, other_key, &replay, &packet),
                         FL_SEAL_DROP_TAMPERED);
        assert_memory_equal(start, before, (size_t)size);
        assert_int_equal(fl__packet_take(PROTOCOL, server_key, &replay, &packet),
                         FL_SEAL_DROP_NONE);
        for (int32_t i = 0; i < sizes[s]; i++) {
            assert_int_equal(packet.body[i], (uint8_t)(i + 1));
        }
    }
}

static void no_truncation_and_no_appendix_is_taken(void **state)
{
    (void)state;
    Buffer buffer;
    uint8_t *start;
    int32_t size = seal_payload(&buffer, 70000, 1000, &start);
    uint8_t longer[FL_SEAL_PACKET_BYTES + 300] = {0};
    for (int32_t count = 0; count < FL_SEAL_PACKET_BYTES + 300; count++) {
        if (count == size) {
            continue;
        }
        memset(longer, 0, sizeof longer);
        memcpy(longer, start, (size_t)(count < size ? count : size));
        Packet packet;
        FlSealDrop drop = fl__packet_parse(longer, count, ALL_KINDS, &packet);
        if (count < 18 || count < 1 + 3 + 16 + 1) {
            assert_int_equal(drop, FL_SEAL_DROP_SHORT);
        } else if (count > 1 + 3 + 16 + 1200) {
            assert_int_equal(drop, FL_SEAL_DROP_LARGE);
        } else {
            assert_int_equal(drop, FL_SEAL_DROP_NONE);
            assert_false(fl__packet_open(PROTOCOL, server_key, &packet));
        }
    }
}

static void each_kind_has_its_size(void **state)
{
    (void)state;
    const int32_t sizes[KINDS] = {-1, 0, 308, 308, 8, -1, 0, 16, 8, 8, 48};
    for (int32_t kind = 1; kind < KINDS; kind++) {
        if (kind == KIND_PAYLOAD) {
            continue;
        }
        for (int32_t body = 0; body < 400; body++) {
            uint8_t bytes[512] = {(uint8_t)(1 << 4 | kind)};
            bool has_hint = kind == KIND_MOVE || kind == KIND_ANSWER || kind == KIND_HELLO;
            int32_t hint = has_hint ? 4 : 0;
            Packet packet;
            FlSealDrop drop = fl__packet_parse(bytes, 1 + 1 + hint + body + 16, ALL_KINDS, &packet);
            FlSealDrop want = body < sizes[kind]   ? FL_SEAL_DROP_SHORT
                              : body > sizes[kind] ? FL_SEAL_DROP_LARGE
                                                   : FL_SEAL_DROP_NONE;
            assert_int_equal(drop, want);
        }
    }
}

static void a_prefix_says_a_known_kind_and_one_to_eight_bytes(void **state)
{
    (void)state;
    for (int32_t prefix = 0; prefix < 256; prefix++) {
        uint8_t bytes[400] = {(uint8_t)prefix};
        Packet packet;
        const uint32_t standard = 0x7e;
        FlSealDrop drop = fl__packet_parse(bytes, 400, standard, &packet);
        int32_t kind = prefix & 15;
        int32_t length = prefix >> 4;
        if (kind == 0 || kind >= 7) {
            assert_int_equal(drop, FL_SEAL_DROP_KIND);
        } else if (length < 1 || length > 8) {
            assert_int_equal(drop, FL_SEAL_DROP_SEQUENCE);
        }
    }
}

static void another_key_or_protocol_opens_nothing(void **state)
{
    (void)state;
    Buffer buffer;
    uint8_t *start;
    int32_t size = seal_payload(&buffer, 9, 64, &start);
    Buffer copy = buffer;
    Packet packet;
    assert_int_equal(fl__packet_parse(start, size, ALL_KINDS, &packet), FL_SEAL_DROP_NONE);
    assert_false(fl__packet_open(PROTOCOL + 1, server_key, &packet));
    uint8_t key[FL_SEAL_KEY_BYTES] = {9};
    buffer = copy;
    assert_false(fl__packet_open(PROTOCOL, key, &packet));
    buffer = copy;
    assert_true(fl__packet_open(PROTOCOL, server_key, &packet));
}

// ---------------------------------------------------------------- replay

// The window by its definition: a list of all that was taken.
typedef struct Slow {
    uint64_t taken[8192];
    int32_t count;
    uint64_t newest;
} Slow;

static bool slow_check(const Slow *slow, uint64_t sequence)
{
    for (int32_t i = 0; i < slow->count; i++) {
        if (slow->taken[i] == sequence) {
            return false;
        }
    }
    return slow->count == 0 || sequence > slow->newest ||
           slow->newest - sequence < FL_SEAL_REPLAY_WINDOW;
}

static void slow_note(Slow *slow, uint64_t sequence)
{
    slow->newest = slow->count == 0 || sequence > slow->newest ? sequence : slow->newest;
    slow->taken[slow->count++] = sequence;
}

static void replays_against_definition(uint64_t base, uint64_t spread, uint64_t seed)
{
    FlRandom random = {.seed = seed};
    Slow *slow = calloc(1, sizeof *slow);
    assert_non_null(slow);
    Replay replay;
    memset(&replay, 0, sizeof replay);
    uint64_t at = base;
    for (int32_t i = 0; i < 8000; i++) {
        uint64_t step = fl_random_below(&random, 50) == 0 ? fl_random_below(&random, 3000)
                                                          : fl_random_below(&random, 3);
        at = at > UINT64_MAX - step ? UINT64_MAX : at + step;
        uint64_t back = fl_random_below(&random, spread);
        uint64_t sequence = at >= back ? at - back : 0;
        bool good = fl__replay_check(&replay, sequence);
        assert_int_equal(good, slow_check(slow, sequence));
        if (good) {
            fl__replay_note(&replay, sequence);
            slow_note(slow, sequence);
        }
    }
    free(slow);
}

static void the_window_takes_each_number_once(void **state)
{
    (void)state;
    replays_against_definition(0, 10, 1);
    replays_against_definition(0, 1200, 2);
    replays_against_definition(0, 5000, 3);
    replays_against_definition(1000, 1100, 4);
    replays_against_definition(UINT64_MAX - 5000, 1100, 5); // ends at the last number there is
    replays_against_definition(UINT64_MAX - 1, 1100, 6);
    replays_against_definition((UINT64_C(1) << 63) - 2000, 1100, 7);
}

static void the_window_is_1024_numbers(void **state)
{
    (void)state;
    Replay replay;
    memset(&replay, 0, sizeof replay);
    fl__replay_note(&replay, 5000);
    assert_true(fl__replay_check(&replay, 5000 - 1023));
    assert_false(fl__replay_check(&replay, 5000 - 1024));
    assert_false(fl__replay_check(&replay, 5000));
    assert_true(fl__replay_check(&replay, UINT64_MAX));
    fl__replay_note(&replay, UINT64_MAX);
    assert_false(fl__replay_check(&replay, UINT64_MAX));
    assert_true(fl__replay_check(&replay, UINT64_MAX - 1023));
    assert_false(fl__replay_check(&replay, UINT64_MAX - 1024));
    assert_false(fl__replay_check(&replay, 0)); // no wrapping round
}

static void the_window_moves_only_for_genuine_packets(void **state)
{
    (void)state;
    Replay replay;
    memset(&replay, 0, sizeof replay);
    Buffer buffer;
    uint8_t *start;
    int32_t size = seal_payload(&buffer, 100, 30, &start);
    uint8_t forged[64];
    memcpy(forged, start, (size_t)size);
    forged[1] = 200; // claims a later number
    Packet packet;
    assert_int_equal(fl__packet_parse(forged, size, ALL_KINDS, &packet), FL_SEAL_DROP_NONE);
    assert_int_equal(fl__packet_take(PROTOCOL, server_key, &replay, &packet),
                     FL_SEAL_DROP_TAMPERED);
    assert_false(replay.any);
    uint8_t again[64];
    memcpy(again, start, (size_t)size);
    assert_int_equal(fl__packet_parse(start, size, ALL_KINDS, &packet), FL_SEAL_DROP_NONE);
    assert_int_equal(fl__packet_take(PROTOCOL, server_key, &replay, &packet), FL_SEAL_DROP_NONE);
    assert_true(replay.newest == 100);
    assert_int_equal(fl__packet_parse(again, size, ALL_KINDS, &packet), FL_SEAL_DROP_NONE);
    assert_int_equal(fl__packet_take(PROTOCOL, server_key, &replay, &packet), FL_SEAL_DROP_REPLAY);
}

// ---------------------------------------------------------------- numbers and challenges

static void a_number_is_never_given_twice(void **state)
{
    (void)state;
    uint64_t next = 5;
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, 4), FL_OUT_OF_ORDER);
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, 5), FL_OK);
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, 5), FL_OUT_OF_ORDER);
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, 90), FL_OK);
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, UINT64_MAX), FL_FULL);
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, UINT64_MAX - 1), FL_OK);
    assert_true(next == UINT64_MAX);
    assert_int_equal(fl__sequence_take(&next, LAST_SEQUENCE, UINT64_MAX), FL_FULL);
}

static void a_challenge_is_the_standards_to_the_byte(void **state)
{
    (void)state;
    Challenge challenge = {.client_id = UINT64_C(0xf0e0d0c0b0a09080)};
    memset(challenge.user_data, 0x5a, sizeof challenge.user_data);
    uint8_t ours[CHALLENGE_BYTES];
    uint8_t hand[CHALLENGE_BYTES];
    fl__challenge_seal(&challenge, 513, server_key, ours);
    hand_challenge(challenge.client_id, challenge.user_data, 513, server_key, hand);
    assert_memory_equal(ours, hand, sizeof ours);
    Challenge read;
    assert_true(fl__challenge_open(ours, 513, server_key, &read));
    assert_memory_equal(&read, &challenge, sizeof read);
    assert_false(fl__challenge_open(ours, 512, server_key, &read));
    for (int32_t bit = 0; bit < CHALLENGE_BYTES * 8; bit++) {
        ours[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(fl__challenge_open(ours, 513, server_key, &read));
        ours[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

// ---------------------------------------------------------------- what it costs

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Told, not tested: it depends on the machine. The least of many rounds.
static void sealing_and_opening_cost_this_much(void **state)
{
    (void)state;
    assert_true(fl__sodium_ready()); // else libsodium takes its slowest way
    const int32_t sizes[] = {64, 1200};
    for (int32_t s = 0; s < 2; s++) {
        double seal_best = 1.0;
        double open_best = 1.0;
        static Buffer buffers[256];
        for (int32_t round = 0; round < 50; round++) {
            uint8_t *start[256];
            int32_t size = 0;
            double begin = now_s();
            for (int32_t i = 0; i < 256; i++) {
                size = fl__packet_seal(PROTOCOL, server_key, KIND_PAYLOAD, 5000 + (uint64_t)i,
                                       buffers[i].bytes + FL_SEAL_HEAD_BYTES, sizes[s], &start[i]);
            }
            double middle = now_s();
            Replay replay;
            memset(&replay, 0, sizeof replay);
            int32_t taken = 0;
            for (int32_t i = 0; i < 256; i++) {
                Packet packet;
                (void)fl__packet_parse(start[i], size, ALL_KINDS, &packet);
                taken +=
                    fl__packet_take(PROTOCOL, server_key, &replay, &packet) == FL_SEAL_DROP_NONE;
            }
            double end = now_s();
            assert_int_equal(taken, 256);
            seal_best = middle - begin < seal_best ? middle - begin : seal_best;
            open_best = end - middle < open_best ? end - middle : open_best;
        }
        print_message("%4d bytes: sealing %4.0f ns, opening %4.0f ns\n", sizes[s],
                      seal_best / 256 * 1e9, open_best / 256 * 1e9);
    }
}

static void every_word_has_a_meaning(void **state)
{
    (void)state;
    for (int32_t i = 0; i < FL_SEAL_DROPS; i++) {
        assert_string_not_equal(fl__seal_drop_name((FlSealDrop)i), "unknown");
    }
    assert_string_equal(fl__seal_drop_name(FL_SEAL_DROPS), "unknown");
    for (int32_t i = -6; i <= 3; i++) {
        assert_string_not_equal(fl__seal_state_name((FlSealState)i), "UNKNOWN");
        assert_string_not_equal(fl__seal_state_text((FlSealState)i), "no such state");
    }
    assert_string_equal(fl__seal_state_name((FlSealState)4), "UNKNOWN");
    assert_string_equal(fl__seal_state_text((FlSealState)-7), "no such state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_is_the_standards_to_the_byte),
        cmocka_unit_test(a_thousand_takes_two_bytes),
        cmocka_unit_test(a_nonce_is_four_zeros_and_the_number_lowest_byte_first),
        cmocka_unit_test(no_flipped_bit_is_taken),
        cmocka_unit_test(what_does_not_open_stays_as_it_was),
        cmocka_unit_test(no_truncation_and_no_appendix_is_taken),
        cmocka_unit_test(each_kind_has_its_size),
        cmocka_unit_test(a_prefix_says_a_known_kind_and_one_to_eight_bytes),
        cmocka_unit_test(another_key_or_protocol_opens_nothing),
        cmocka_unit_test(the_window_takes_each_number_once),
        cmocka_unit_test(the_window_is_1024_numbers),
        cmocka_unit_test(the_window_moves_only_for_genuine_packets),
        cmocka_unit_test(a_number_is_never_given_twice),
        cmocka_unit_test(a_challenge_is_the_standards_to_the_byte),
        cmocka_unit_test(sealing_and_opening_cost_this_much),
        cmocka_unit_test(every_word_has_a_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
