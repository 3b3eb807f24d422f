// Bits in and out of bytes, and numbers on circles.
#include "support.h"

#include "fairlead/wire.h"

#include "wire/wire.h"

#define ROOM 64

typedef struct Field {
    uint64_t value;
    int32_t width;
} Field;

static Field random_field(FlRandom *r)
{
    Field field = {.width = (int32_t)fl_random_below(r, 65)};
    field.value = field.width == 0 ? 0 : fl_random_next(r) >> (64 - field.width);
    return field;
}

// The definition, one bit at a time: lowest first, from bit 0 of byte 0 on.
static void set_bits(uint8_t *bytes, int32_t at, Field field)
{
    for (int32_t i = 0; i < field.width; i++) {
        uint8_t bit = (uint8_t)((field.value >> i & 1u) << ((at + i) & 7));
        bytes[(at + i) / 8] = (uint8_t)(bytes[(at + i) / 8] | bit);
    }
}

static void fields_lie_one_after_another_lowest_bit_first(void **state)
{
    (void)state;
    FlRandom r = random_stream(1);
    for (int32_t n = 0; n < CASES(100000); n++) {
        uint8_t got[ROOM], want[ROOM];
        memset(got, 0xa5, sizeof got); // what was there does not matter
        memset(want, 0, sizeof want);
        Field field[20];
        FlWriter writer;
        fl_writer_init(&writer, got, ROOM);
        int32_t count = 0;
        int32_t at = 0;
        while (count < 20) {
            Field next = random_field(&r);
            if (at + next.width > ROOM * 8) {
                break;
            }
            fl_writer_put(&writer, next.value, next.width);
            set_bits(want, at, next);
            at += next.width;
            field[count++] = next;
        }
        assert_false(writer.failed);
        assert_int_equal(writer.bit_count, at);
        int32_t size = fl_writer_size(&writer);
        assert_int_equal(size, (at + 7) / 8);
        assert_memory_equal(got, want, (size_t)size);
        for (int32_t i = size; i < ROOM; i++) {
            assert_int_equal(got[i], 0xa5); // nothing behind the last byte is touched
        }
        uint8_t *exact = malloc((size_t)size + 1); // a sanitizer sees the first byte too many
        assert_non_null(exact);
        memcpy(exact, got, (size_t)size);
        FlReader reader;
        fl_reader_init(&reader, exact, size);
        for (int32_t i = 0; i < count; i++) {
            assert_true(fl_reader_take(&reader, field[i].width) == field[i].value);
        }
        assert_false(reader.failed);
        free(exact);
    }
}

static void a_full_writer_fails_for_good_and_keeps_what_it_has(void **state)
{
    (void)state;
    uint8_t bytes[3] = {0, 0, 0xee};
    FlWriter writer;
    fl_writer_init(&writer, bytes, 2);
    fl_writer_put(&writer, 0x3fff, 14);
    fl_writer_put(&writer, 1, 3);
    assert_true(writer.failed);
    fl_writer_put(&writer, 1, 1); // would fit
    fl_writer_align(&writer);
    assert_true(writer.failed);
    assert_int_equal(writer.bit_count, 14);
    assert_int_equal(bytes[0], 0xff);
    assert_int_equal(bytes[1], 0x3f);
    assert_int_equal(bytes[2], 0xee);
}

static void a_value_wider_than_its_field_fails(void **state)
{
    (void)state;
    uint8_t bytes[16];
    for (int32_t width = 0; width < 64; width++) {
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        fl_writer_put(&writer, (uint64_t)1 << width, width);
        assert_true(writer.failed);
        assert_int_equal(writer.bit_count, 0);
    }
}

static void reading_past_the_end_fails_for_good_and_gives_zeros(void **state)
{
    (void)state;
    const uint8_t bytes[2] = {0xff, 0xff};
    for (int32_t width = 17; width <= 64; width++) {
        FlReader reader;
        fl_reader_init(&reader, bytes, 2);
        assert_true(fl_reader_take(&reader, width) == 0);
        assert_true(reader.failed);
        assert_true(fl_reader_take(&reader, 1) == 0);
        assert_null(fl_reader_bytes(&reader, 1));
    }
}

static void padding_is_zero_or_refused(void **state)
{
    (void)state;
    for (int32_t used = 0; used < 8; used++) {
        for (int32_t stray = used; stray < 8; stray++) {
            uint8_t bytes[2] = {0, 0x42};
            FlWriter writer;
            fl_writer_init(&writer, bytes, 2);
            fl_writer_put(&writer, ((uint64_t)1 << used) - 1, used);
            fl_writer_align(&writer);
            assert_int_equal(writer.bit_count, used == 0 ? 0 : 8);
            FlReader reader;
            fl_reader_init(&reader, bytes, 2);
            assert_true(fl_reader_take(&reader, used) == ((uint64_t)1 << used) - 1);
            fl_reader_align(&reader);
            assert_false(reader.failed);
            assert_int_equal(reader.bit_count, used == 0 ? 0 : 8);

            bytes[0] = (uint8_t)(bytes[0] | 1u << stray);
            fl_reader_init(&reader, bytes, 2);
            (void)fl_reader_take(&reader, used);
            fl_reader_align(&reader);
            assert_int_equal(reader.failed, used != 0);
        }
    }
}

static void whole_bytes_pass_through(void **state)
{
    (void)state;
    uint8_t bytes[8];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl_writer_put(&writer, 0x12, 8);
    fl_writer_bytes(&writer, "abc", 3);
    fl_writer_bytes(&writer, NULL, 0);
    fl_writer_bytes(&writer, "efghi", 5); // one too many
    assert_true(writer.failed);
    assert_int_equal(fl_writer_size(&writer), 4);
    FlReader reader;
    fl_reader_init(&reader, bytes, 4);
    assert_true(fl_reader_take(&reader, 8) == 0x12);
    assert_int_equal(fl_reader_left(&reader), 3);
    const uint8_t *three = fl_reader_bytes(&reader, 3);
    assert_non_null(three);
    assert_memory_equal(three, "abc", 3);
    assert_int_equal(fl_reader_left(&reader), 0);
    assert_null(fl_reader_bytes(&reader, 1));
    assert_true(reader.failed);
}

static void a_message_is_whole_when_all_of_it_was_read(void **state)
{
    (void)state;
    const uint8_t bytes[5] = {1, 0, 2, 'a', 'b'};
    FlReader reader;
    fl_reader_init(&reader, bytes, sizeof bytes);
    assert_true(fl__reader_bool(&reader));
    assert_false(fl__reader_bool(&reader));
    assert_false(reader.failed || fl__reader_whole(&reader));
    assert_false(fl__reader_bool(&reader)); // 2 is neither
    assert_true(reader.failed);
    fl_reader_init(&reader, bytes + 3, 2);
    char copy[3] = "--";
    fl__reader_copy(&reader, NULL, 0);
    fl__reader_copy(&reader, copy, 2);
    assert_string_equal(copy, "ab");
    assert_true(fl__reader_whole(&reader));
    fl__reader_copy(&reader, copy, 1); // there is none
    assert_string_equal(copy, "ab");
    assert_false(fl__reader_whole(&reader));
}

static void sequences_are_ordered_on_their_circle(void **state)
{
    (void)state;
    assert_true(fl__seq_newer(1, 0));
    assert_true(fl__seq_newer(0, 65535));
    assert_false(fl__seq_newer(5, 5));
    assert_true(fl__seq_newer(0x7fff, 0));
    assert_false(fl__seq_newer(0x8000, 0)); // half way round: neither is newer
    assert_false(fl__seq_newer(0, 0x8000));
    assert_false(fl__seq_newer(0, 1));
}

static void unwrapping_finds_the_nearest_number(void **state)
{
    (void)state;
    FlRandom r = random_stream(2);
    for (int32_t n = 0; n < CASES(100000); n++) {
        int32_t width = 1 + (int32_t)fl_random_below(&r, 62);
        int64_t around = (int64_t)1 << width;
        int64_t near = (int64_t)(fl_random_next(&r) >> 2) - ((int64_t)1 << 61);
        int64_t offset = (int64_t)fl_random_below(&r, (uint64_t)around) - around / 2 + 1;
        uint64_t low = (uint64_t)(near + offset) & ((uint64_t)around - 1);
        assert_true(fl__unwrap(near, low, width) == near + offset);
    }
    assert_true(fl__unwrap(100, 100 + 0x8000, 16) == 100 + 0x8000); // half way: the later one
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_lie_one_after_another_lowest_bit_first),
        cmocka_unit_test(a_full_writer_fails_for_good_and_keeps_what_it_has),
        cmocka_unit_test(a_value_wider_than_its_field_fails),
        cmocka_unit_test(reading_past_the_end_fails_for_good_and_gives_zeros),
        cmocka_unit_test(padding_is_zero_or_refused),
        cmocka_unit_test(whole_bytes_pass_through),
        cmocka_unit_test(a_message_is_whole_when_all_of_it_was_read),
        cmocka_unit_test(sequences_are_ordered_on_their_circle),
        cmocka_unit_test(unwrapping_finds_the_nearest_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
