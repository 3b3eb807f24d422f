// The bit reader and writer against their definition, one bit at a time.
//
// The first half of the input is a program: each byte is the width of a field to read from the
// second half, or above 64 one of the other things that a reader does. What was read is written
// again and must give the same bytes.
#include "fuzz.h"

#include "fairlead/wire.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))
#define BYTES_MAX 1024

static uint64_t bits_at(const uint8_t *bytes, int32_t at, int32_t width)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < width; i++) {
        value |= (uint64_t)(bytes[(at + i) / 8] >> ((at + i) & 7) & 1u) << i;
    }
    return value;
}

static void read_and_write(FlReader *reader, FlWriter *writer, int32_t width)
{
    int32_t at = reader->bit_count;
    bool possible = !reader->failed && at + width <= reader->size_bits;
    uint64_t value = fl_reader_take(reader, width);
    CHECK(reader->failed == !possible);
    CHECK(value == (possible ? bits_at(reader->bytes, at, width) : 0));
    CHECK(reader->bit_count == (possible ? at + width : at));
    if (possible) {
        fl_writer_put(writer, value, width);
    }
}

static void do_something_else(FlReader *reader, FlWriter *writer, uint8_t what)
{
    if (what % 2 == 0) {
        fl_reader_align(reader);
        if (!reader->failed) {
            fl_writer_align(writer);
        }
    } else if ((reader->bit_count & 7) == 0) {
        const uint8_t *bytes = fl_reader_bytes(reader, what % 16);
        CHECK((bytes == NULL) == reader->failed);
        if (bytes != NULL) {
            fl_writer_bytes(writer, bytes, what % 16);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > BYTES_MAX) {
        return 0;
    }
    int32_t steps = (int32_t)(size / 2);
    int32_t count = (int32_t)size - steps;
    uint8_t written[BYTES_MAX];
    FlReader reader;
    FlWriter writer;
    fl_reader_init(&reader, data + steps, count);
    fl_writer_init(&writer, written, count);
    for (int32_t i = 0; i < steps; i++) {
        if (data[i] <= 64) {
            read_and_write(&reader, &writer, data[i]);
        } else {
            do_something_else(&reader, &writer, data[i]);
        }
    }
    CHECK(!writer.failed);
    int32_t whole = writer.bit_count / 8;
    CHECK(memcmp(written, reader.bytes, (size_t)whole) == 0);
    int32_t rest = writer.bit_count & 7;
    CHECK(bits_at(written, whole * 8, rest) == bits_at(reader.bytes, whole * 8, rest));
    return 0;
}
