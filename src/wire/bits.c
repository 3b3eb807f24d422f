// Bits in and out of bytes, lowest first, with failures that stick.
#include "fairlead/wire.h"

#include "base/private.h"
#include "wire/wire.h"

#include <string.h>

void fl_writer_init(FlWriter *writer, void *bytes, int32_t capacity_bytes)
{
    FL_ASSERT(capacity_bytes >= 0 && capacity_bytes < INT32_MAX / 8);
    FlWriter fresh = {.bytes = (uint8_t *)bytes, .capacity_bits = capacity_bytes * 8};
    *writer = fresh;
}

// At most this many bits, begun anywhere in a byte, fit into 64.
#define WORD_WIDTH 56

// At most WORD_WIDTH bits, which fit and for which there is room.
static void put_word(FlWriter *writer, uint64_t value, int32_t width)
{
    int32_t used = writer->bit_count & 7;
    uint8_t *byte = writer->bytes + (writer->bit_count >> 3);
    uint64_t word = value << used;
    if (used != 0) {
        word |= *byte;
    }
    writer->bit_count += width;
    if (used + width == 32) { // whole words are common, and stored at once
        fl__store_u32(byte, (uint32_t)word);
        return;
    }
    // Only bytes that are begun: what lies behind them is not ours yet.
    const uint8_t *end = byte + ((used + width + 7) >> 3);
    while (byte != end) {
        *byte++ = (uint8_t)word;
        word >>= 8;
    }
}

void fl_writer_put(FlWriter *writer, uint64_t value, int32_t width)
{
    FL_ASSERT(width >= 0 && width <= 64);
    bool fits = width == 64 || value >> width == 0;
    if (writer->failed || !fits || width > writer->capacity_bits - writer->bit_count) {
        writer->failed = true;
        return;
    }
    if (width > WORD_WIDTH) {
        put_word(writer, value & UINT32_MAX, 32);
        value >>= 32;
        width -= 32;
    }
    put_word(writer, value, width);
}

void fl_writer_align(FlWriter *writer)
{
    fl_writer_put(writer, 0, -writer->bit_count & 7);
}

void fl_writer_bytes(FlWriter *writer, const void *bytes, int32_t count)
{
    FL_ASSERT(count >= 0 && (writer->bit_count & 7) == 0);
    if (count > (writer->capacity_bits - writer->bit_count) >> 3) {
        writer->failed = true;
    }
    if (writer->failed || count == 0) {
        return;
    }
    uint8_t *to = writer->bytes + (writer->bit_count >> 3);
    writer->bit_count += count * 8;
    memcpy(to, bytes, (size_t)count);
}

void fl_reader_init(FlReader *reader, const void *bytes, int32_t size_bytes)
{
    FL_ASSERT(size_bytes >= 0 && size_bytes < INT32_MAX / 8);
    FlReader fresh = {.bytes = (const uint8_t *)bytes, .size_bits = size_bytes * 8};
    *reader = fresh;
}

// At most WORD_WIDTH bits, which are there.
static uint64_t take_word(FlReader *reader, int32_t width)
{
    int32_t used = reader->bit_count & 7;
    int32_t first = reader->bit_count >> 3;
    const uint8_t *byte = reader->bytes + first;
    uint64_t word = 0;
    if (reader->size_bits / 8 - first >= 8) {
        word = fl__load_u64(byte);
    } else {
        for (int32_t done = 0; done < used + width; done += 8) {
            word |= (uint64_t)*byte++ << done;
        }
    }
    reader->bit_count += width;
    return word >> used & (((uint64_t)1 << width) - 1);
}

uint64_t fl_reader_take(FlReader *reader, int32_t width)
{
    FL_ASSERT(width >= 0 && width <= 64);
    if (width > reader->size_bits - reader->bit_count) {
        reader->failed = true;
    }
    if (reader->failed || width == 0) {
        return 0;
    }
    if (width <= WORD_WIDTH) {
        return take_word(reader, width);
    }
    uint64_t low = take_word(reader, 32);
    return low | take_word(reader, width - 32) << 32;
}

void fl_reader_align(FlReader *reader)
{
    if (fl_reader_take(reader, -reader->bit_count & 7) != 0) {
        reader->failed = true;
    }
}

const uint8_t *fl_reader_bytes(FlReader *reader, int32_t count)
{
    FL_ASSERT((reader->bit_count & 7) == 0 || reader->failed);
    if (count < 0 || count > fl_reader_left(reader)) {
        reader->failed = true;
    }
    if (reader->failed) {
        return NULL;
    }
    const uint8_t *bytes = reader->bytes + reader->bit_count / 8;
    reader->bit_count += count * 8;
    return bytes;
}

bool fl__reader_bool(FlReader *reader)
{
    uint64_t value = fl_reader_take(reader, 8);
    if (value > 1) {
        reader->failed = true;
    }
    return value == 1;
}

void fl__reader_copy(FlReader *reader, void *bytes, int32_t count)
{
    const uint8_t *from = fl_reader_bytes(reader, count);
    if (from != NULL && count > 0) {
        memcpy(bytes, from, (size_t)count);
    }
}

int64_t fl__unwrap(int64_t near, uint64_t low, int32_t width)
{
    FL_ASSERT(width >= 1 && width <= 62);
    uint64_t mask = ((uint64_t)1 << width) - 1;
    uint64_t ahead = (low - (uint64_t)near) & mask;
    uint64_t half = (uint64_t)1 << (width - 1);
    return ahead <= half ? near + (int64_t)ahead : near - (int64_t)(mask + 1 - ahead);
}
