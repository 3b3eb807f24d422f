// Blocks and entries. Every length is checked before it is believed.
#define _POSIX_C_SOURCE 200809L // open, fdopen, fchmod
#include "app/tape/play_tape_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "fairlead/base.h"

#define HEAD_BYTES 12
#define BLOCK_HEAD_BYTES 8
#define ENTRY_HEAD_BYTES 3

static const uint8_t magic[8] = {'F', 'L', 'T', 'A', 'P', 'E', '\r', '\n'};

static void put_u32(uint8_t *bytes, uint32_t value)
{
    for (int32_t i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t get_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

// ---------------------------------------------------------------- writing

static bool put_bytes(TapeWriter *writer, const uint8_t *bytes, size_t count)
{
    errno = 0;
    if (writer->stream != NULL && fwrite(bytes, 1, count, writer->stream) != count) {
        writer->error = errno != 0 ? errno : EIO;
        (void)fclose(writer->stream);
        writer->stream = NULL;
    }
    return writer->stream != NULL;
}

bool tape_writer_open(TapeWriter *writer, const char *path)
{
    *writer = (TapeWriter){0};
    int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    struct stat status;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        (void)fchmod(descriptor, S_IRUSR | S_IWUSR); // the file may have been there before
        writer->older = status.st_size > 0;
    }
    writer->stream = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (writer->stream == NULL) {
        writer->error = errno;
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        return false;
    }
    return true;
}

static bool put_head(TapeWriter *writer)
{
    if (writer->headed || writer->stream == NULL) {
        return writer->stream != NULL;
    }
    if (writer->older && ftruncate(fileno(writer->stream), 0) != 0) {
        writer->error = errno;
        (void)fclose(writer->stream);
        writer->stream = NULL;
        return false;
    }
    uint8_t head[HEAD_BYTES];
    memcpy(head, magic, sizeof magic);
    put_u32(head + sizeof magic, TAPE_FORMAT);
    writer->headed = true;
    return put_bytes(writer, head, sizeof head);
}

static void end_block(TapeWriter *writer)
{
    if (writer->used == 0) {
        return;
    }
    writer->checksum = (uint32_t)crc32((uLong)writer->checksum, writer->block, (uInt)writer->used);
    uint8_t head[BLOCK_HEAD_BYTES];
    put_u32(head, (uint32_t)writer->used);
    put_u32(head + 4, writer->checksum);
    if (put_head(writer) && put_bytes(writer, head, sizeof head)) {
        (void)put_bytes(writer, writer->block, (size_t)writer->used);
    }
    writer->used = 0;
}

void tape_writer_add(TapeWriter *writer, TapeEntry entry)
{
    FL_ASSERT(entry.count >= 0 && entry.count <= TAPE_ENTRY_BYTES);
    if (writer->used + ENTRY_HEAD_BYTES + entry.count > TAPE_BLOCK_BYTES) {
        end_block(writer);
    }
    uint8_t *at = &writer->block[writer->used];
    at[0] = entry.kind;
    at[1] = (uint8_t)(entry.count & 255);
    at[2] = (uint8_t)(entry.count >> 8);
    if (entry.count > 0) {
        memcpy(at + ENTRY_HEAD_BYTES, entry.bytes, (size_t)entry.count);
    }
    writer->used += ENTRY_HEAD_BYTES + entry.count;
}

bool tape_writer_flush(TapeWriter *writer)
{
    end_block(writer);
    errno = 0;
    if (writer->stream != NULL && fflush(writer->stream) != 0) {
        writer->error = errno != 0 ? errno : EIO;
        (void)fclose(writer->stream);
        writer->stream = NULL;
    }
    return writer->stream != NULL;
}

bool tape_writer_close(TapeWriter *writer)
{
    bool good = tape_writer_flush(writer);
    errno = 0;
    if (good && fclose(writer->stream) != 0) {
        writer->error = errno != 0 ? errno : EIO;
        good = false;
    }
    writer->stream = NULL;
    return good;
}

void tape_writer_drop(TapeWriter *writer)
{
    if (writer->stream != NULL) {
        (void)fclose(writer->stream);
        writer->stream = NULL;
    }
}

// ---------------------------------------------------------------- reading

static TapeFault read_head(TapeReader *reader)
{
    uint8_t head[HEAD_BYTES];
    errno = 0;
    size_t count = fread(head, 1, sizeof head, reader->stream);
    if (ferror(reader->stream)) {
        reader->error = errno != 0 ? errno : EIO;
        return TAPE_MISSING;
    }
    if (count == 0) {
        return TAPE_EMPTY;
    }
    if (memcmp(head, magic, count < sizeof magic ? count : sizeof magic) != 0) {
        return TAPE_FOREIGN;
    }
    if (count < sizeof head) {
        return TAPE_SHORT;
    }
    reader->format = get_u32(head + sizeof magic);
    return reader->format == TAPE_FORMAT ? TAPE_FINE : TAPE_VERSION;
}

TapeFault tape_reader_open(TapeReader *reader, const char *path)
{
    *reader = (TapeReader){.good_bytes = HEAD_BYTES};
    reader->stream = fopen(path, "rb");
    if (reader->stream == NULL) {
        reader->error = errno;
        return TAPE_MISSING;
    }
    TapeFault fault = read_head(reader);
    if (fault != TAPE_FINE) {
        tape_reader_close(reader);
    }
    return fault;
}

void tape_reader_close(TapeReader *reader)
{
    if (reader->stream != NULL) {
        (void)fclose(reader->stream);
        reader->stream = NULL;
    }
}

// Are these whole entries, one after another?
static bool is_orderly(const uint8_t *block, int32_t count)
{
    int32_t at = 0;
    while (at + ENTRY_HEAD_BYTES <= count) {
        int32_t length = block[at + 1] | block[at + 2] << 8;
        if (length > TAPE_ENTRY_BYTES) {
            return false;
        }
        at += ENTRY_HEAD_BYTES + length;
    }
    return at == count;
}

static TapeFault read_block(TapeReader *reader)
{
    uint8_t head[BLOCK_HEAD_BYTES];
    size_t count = fread(head, 1, sizeof head, reader->stream);
    if (count < sizeof head) {
        return count == 0 && !ferror(reader->stream) ? TAPE_FINE : TAPE_SHORT;
    }
    uint32_t length = get_u32(head);
    if (length == 0 || length > TAPE_BLOCK_BYTES) {
        return TAPE_DAMAGED;
    }
    if (fread(reader->block, 1, length, reader->stream) < length) {
        return TAPE_SHORT;
    }
    uint32_t checksum = (uint32_t)crc32((uLong)reader->checksum, reader->block, (uInt)length);
    if (checksum != get_u32(head + 4) || !is_orderly(reader->block, (int32_t)length)) {
        return TAPE_DAMAGED;
    }
    reader->checksum = checksum;
    reader->good_bytes += (int64_t)BLOCK_HEAD_BYTES + (int64_t)length;
    reader->count = (int32_t)length;
    return TAPE_FINE;
}

bool tape_reader_peek(TapeReader *reader, TapeEntry *entry)
{
    *entry = (TapeEntry){0};
    if (reader->used == reader->count) {
        reader->used = 0;
        reader->count = 0;
        reader->fault = reader->fault == TAPE_FINE ? read_block(reader) : reader->fault;
        if (reader->count == 0) {
            return false;
        }
    }
    const uint8_t *at = &reader->block[reader->used];
    entry->kind = at[0];
    entry->count = at[1] | at[2] << 8;
    entry->bytes = at + ENTRY_HEAD_BYTES;
    return true;
}

void tape_reader_skip(TapeReader *reader, const TapeEntry *entry)
{
    reader->used += ENTRY_HEAD_BYTES + entry->count;
    FL_ASSERT(reader->used <= reader->count);
}
