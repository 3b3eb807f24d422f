// The arena's messages: round trips, every truncation, and bytes that nobody wrote.
#include "unit/test_arena_support.h"

// What the four messages have in common, so that one set of tests does for all.
typedef union Any {
    ArenaStatus status;
    ArenaDeed deed;
    ArenaAnswer answer;
    ArenaMissile missile;
} Any;

typedef struct Kind {
    int32_t bytes;
    bool (*encode)(FlWriter *writer, const Any *any);
    bool (*decode)(FlReader *reader, Any *any);
} Kind;

static bool status_put(FlWriter *writer, const Any *any)
{
    return arena_status_encode(writer, &any->status);
}

static bool status_take(FlReader *reader, Any *any)
{
    return arena_status_decode(reader, &any->status);
}

static bool deed_put(FlWriter *writer, const Any *any)
{
    return arena_deed_encode(writer, &any->deed);
}

static bool deed_take(FlReader *reader, Any *any)
{
    return arena_deed_decode(reader, &any->deed);
}

static bool answer_put(FlWriter *writer, const Any *any)
{
    return arena_answer_encode(writer, &any->answer);
}

static bool answer_take(FlReader *reader, Any *any)
{
    return arena_answer_decode(reader, &any->answer);
}

static bool missile_put(FlWriter *writer, const Any *any)
{
    return arena_missile_encode(writer, &any->missile);
}

static bool missile_take(FlReader *reader, Any *any)
{
    return arena_missile_decode(reader, &any->missile);
}

static const Kind KINDS[] = {
    {ARENA_STATUS_BYTES, status_put, status_take},
    {ARENA_DEED_BYTES, deed_put, deed_take},
    {ARENA_ANSWER_BYTES, answer_put, answer_take},
    {ARENA_MISSILE_BYTES, missile_put, missile_take},
};

#define KIND_COUNT ((int32_t)(sizeof KINDS / sizeof KINDS[0]))

// Random bytes, mostly zero in some rounds so that narrow fields get valid values too.
static void random_bytes(FlRandom *r, uint8_t *bytes, int32_t count)
{
    uint64_t sparse = fl_random_below(r, 4);
    for (int32_t i = 0; i < count; i++) {
        uint64_t bits = fl_random_next(r);
        bytes[i] = (uint8_t)(sparse < 3 && (bits >> 8) % 4 < sparse ? 0 : bits & 0xff);
    }
}

static void whatever_decodes_encodes_to_the_same_bytes(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 7};
    for (int32_t k = 0; k < KIND_COUNT; k++) {
        int32_t decoded = 0;
        for (int32_t n = 0; n < CASES(100000); n++) {
            uint8_t bytes[32], again[32] = {0};
            random_bytes(&r, bytes, KINDS[k].bytes);
            FlReader reader;
            fl_reader_init(&reader, bytes, KINDS[k].bytes);
            Any any, zero;
            memset(&any, 0xff, sizeof any);
            memset(&zero, 0, sizeof zero);
            if (!KINDS[k].decode(&reader, &any)) {
                size_t size = k == 0   ? sizeof any.status
                              : k == 1 ? sizeof any.deed
                              : k == 2 ? sizeof any.answer
                                       : sizeof any.missile;
                assert_memory_equal(&any, &zero, size);
                continue;
            }
            decoded++;
            assert_int_equal(fl_reader_left(&reader), 0);
            FlWriter writer;
            fl_writer_init(&writer, again, KINDS[k].bytes);
            assert_true(KINDS[k].encode(&writer, &any));
            assert_int_equal(fl_writer_size(&writer), KINDS[k].bytes);
            assert_memory_equal(bytes, again, (size_t)KINDS[k].bytes);
            for (int32_t size = 0; size < KINDS[k].bytes; size++) {
                fl_reader_init(&reader, bytes, size);
                assert_false(KINDS[k].decode(&reader, &any));
            }
        }
        assert_true(decoded > CASES(100000) / 1000);
    }
}

static void no_room_is_told(void **ignored)
{
    (void)ignored;
    Any deed = {.deed = {.kind = ARENA_DEED_DOOR}};
    Any zero;
    memset(&zero, 0, sizeof zero);
    for (int32_t k = 0; k < KIND_COUNT; k++) {
        for (int32_t size = 0; size <= KINDS[k].bytes; size++) {
            uint8_t bytes[32];
            FlWriter writer;
            fl_writer_init(&writer, bytes, size);
            assert_int_equal(KINDS[k].encode(&writer, k == 1 ? &deed : &zero),
                             size == KINDS[k].bytes);
        }
    }
}

static bool encodes(ArenaDeed deed)
{
    uint8_t bytes[ARENA_DEED_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, ARENA_DEED_BYTES);
    return arena_deed_encode(&writer, &deed);
}

static void what_is_no_deed_is_not_written(void **ignored)
{
    (void)ignored;
    ArenaDeed good = {
        ARENA_DEED_DAMAGE, ARENA_PLAYER_CAPACITY - 1, 0, 7, ARENA_WEAPON_ROCKET, 100, -400, 400, 3};
    assert_true(encodes(good));
    ArenaDeed bad = good;
    bad.amount = 0;
    assert_false(encodes(bad));
    bad = good;
    bad.x = 1001;
    assert_false(encodes(bad));
    bad = good;
    bad.actor = ARENA_PLAYER_CAPACITY;
    assert_false(encodes(bad));
    bad = good;
    bad.kind = ARENA_DEED_PICKUP; // which has neither weapon nor amount
    assert_false(encodes(bad));
    bad = (ArenaDeed){.kind = ARENA_DEED_COUNT};
    assert_false(encodes(bad));
}

static void input_survives_packing_and_nothing_else_decodes(void **ignored)
{
    (void)ignored;
    FlRandom r = {.seed = 8};
    int32_t decoded = 0;
    for (int32_t n = 0; n < CASES(100000); n++) {
        ArenaInput input = arena_random_input(&r), got;
        uint8_t bytes[ARENA_INPUT_BYTES], again[ARENA_INPUT_BYTES];
        arena_input_encode(input, bytes);
        assert_true(arena_input_decode(bytes, &got));
        bool same = input.forward == got.forward && input.right == got.right &&
                    input.up == got.up && input.yaw == got.yaw && input.pitch == got.pitch &&
                    input.buttons == got.buttons && input.weapon == got.weapon;
        assert_true(same);
        random_bytes(&r, bytes, ARENA_INPUT_BYTES);
        if (arena_input_decode(bytes, &got)) {
            decoded++;
            arena_input_encode(got, again);
            assert_memory_equal(bytes, again, sizeof bytes);
        }
    }
    assert_true(decoded > 0);
}

static void angles_survive_their_steps(void **ignored)
{
    (void)ignored;
    for (int32_t steps = INT16_MIN; steps <= INT16_MAX; steps++) {
        assert_int_equal(arena_angle_steps(arena_angle((int16_t)steps)), steps);
    }
    assert_int_equal(arena_angle_steps(FL_PI), INT16_MIN);
    assert_int_equal(arena_angle_steps((double)NAN), 0);
    assert_int_equal(arena_angle_steps((double)INFINITY), 0);
}

static void status_tells_what_a_player_is(void **ignored)
{
    (void)ignored;
    ArenaPlayer p = {.life = 0x12345, .score = -70000, .health = 55, .armour = 7, .carries = -1};
    p.weapon = ARENA_WEAPON_SNIPER;
    ArenaStatus status = arena_player_status(&p);
    assert_int_equal(status.life, 0x2345);
    assert_int_equal(status.score, INT16_MIN);
    assert_int_equal(status.carries, ARENA_TEAM_COUNT);
    uint8_t bytes[ARENA_STATUS_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, ARENA_STATUS_BYTES);
    assert_true(arena_status_encode(&writer, &status));
    FlReader reader;
    fl_reader_init(&reader, bytes, ARENA_STATUS_BYTES);
    ArenaStatus got;
    assert_true(arena_status_decode(&reader, &got));
    assert_memory_equal(&status, &got, sizeof got);
    bytes[ARENA_STATUS_BYTES - 1] |= 3u << 2; // there is no fourth flag
    fl_reader_init(&reader, bytes, ARENA_STATUS_BYTES);
    assert_false(arena_status_decode(&reader, &got));
    bytes[ARENA_STATUS_BYTES - 1] = 0;
    bytes[10] = ARENA_HEALTH_MAX + 1; // nobody is so well
    fl_reader_init(&reader, bytes, ARENA_STATUS_BYTES);
    assert_false(arena_status_decode(&reader, &got));
    status.health = ARENA_HEALTH_MAX + 1;
    fl_writer_init(&writer, bytes, ARENA_STATUS_BYTES);
    assert_false(arena_status_encode(&writer, &status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_decodes_encodes_to_the_same_bytes),
        cmocka_unit_test(no_room_is_told),
        cmocka_unit_test(what_is_no_deed_is_not_written),
        cmocka_unit_test(input_survives_packing_and_nothing_else_decodes),
        cmocka_unit_test(angles_survive_their_steps),
        cmocka_unit_test(status_tells_what_a_player_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
