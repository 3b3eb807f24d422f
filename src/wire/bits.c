// Bits in and out of bytes, lowest first, with failures that stick.
#include "fairlead/wire.h"

#include <string.h>

void fl_writer_init(FlWriter *writer, void *bytes, int32_t capacity_bytes)
{
    FL_ASSERT(capacity_bytes >= 0 && capacity_bytes < INT32_MAX / 8);
    FlWriter fresh = {.bytes = (uint8_t *)bytes, .capacity_bits = capacity_bytes * 8};
    *writer = fresh;
}

void fl_writer_put(FlWriter *writer, uint64_t value, int32_t width)
{
    FL_ASSERT(width >= 0 && width <= 64);
    bool fits = width == 64 || value >> width == 0;
    if (!fits || width > writer->capacity_bits - writer->bit_count) {
        writer->failed = true;
    }
    if (writer->failed) {
        return;
    }
    while (width > 0) {
        int32_t used = writer->bit_count & 7;
        int32_t now = 8 - used < width ? 8 - used : width;
        uint8_t *byte = &writer->bytes[writer->bit_count >> 3];
        uint8_t kept = used == 0 ? 0 : *byte;
        uint64_t part = value & ((1u << now) - 1u);
        *byte = (uint8_t)(kept | part << used);
        value >>= now;
        writer->bit_count += now;
        width -= now;
    }
}

void fl_writer_align(FlWriter *writer)
{
    fl_writer_put(writer, 0, -writer->bit_count & 7);
}

void fl_writer_bytes(FlWriter *writer, const void *bytes, int32_t count)
{
    FL_ASSERT(count >= 0 && (writer->bit_count & 7) == 0);
    if (count > (writer->capacity_bits - writer->bit_count) / 8) {
        writer->failed = true;
    }
    if (writer->failed || count == 0) {
        return;
    }
    memcpy(writer->bytes + writer->bit_count / 8, bytes, (size_t)count);
    writer->bit_count += count * 8;
}

void fl_reader_init(FlReader *reader, const void *bytes, int32_t size_bytes)
{
    FL_ASSERT(size_bytes >= 0 && size_bytes < INT32_MAX / 8);
    FlReader fresh = {.bytes = (const uint8_t *)bytes, .size_bits = size_bytes * 8};
    *reader = fresh;
}

uint64_t fl_reader_take(FlReader *reader, int32_t width)
{
    FL_ASSERT(width >= 0 && width <= 64);
    if (width > reader->size_bits - reader->bit_count) {
        reader->failed = true;
    }
    if (reader->failed) {
        return 0;
    }
    uint64_t value = 0;
    int32_t taken = 0;
    while (taken < width) {
        int32_t used = reader->bit_count & 7;
        int32_t now = 8 - used < width - taken ? 8 - used : width - taken;
        uint64_t part = reader->bytes[reader->bit_count >> 3] >> used & ((1u << now) - 1u);
        value |= part << taken;
        taken += now;
        reader->bit_count += now;
    }
    return value;
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

int64_t fl_unwrap(int64_t near, uint64_t low, int32_t width)
{
    FL_ASSERT(width >= 1 && width <= 62);
    uint64_t mask = ((uint64_t)1 << width) - 1;
    uint64_t ahead = (low - (uint64_t)near) & mask;
    uint64_t half = (uint64_t)1 << (width - 1);
    return ahead <= half ? near + (int64_t)ahead : near - (int64_t)(mask + 1 - ahead);
}
