// The file of a recorded session: entries, in blocks that are whole or not at all.
//
//     8 bytes   "FLTAPE\r\n"
//     u32       format (TAPE_FORMAT)
//     blocks:   u32 length, u32 checksum, then `length` bytes of whole entries
//     entry:    u8 kind, u16 length, then `length` bytes
//
// All numbers are little-endian. A checksum is the CRC-32 of the block's bytes, begun with the
// checksum of the block before: a block that was changed, moved or left out is found, and what
// stands before it is good. A program that is killed loses the block that it was filling.
//
// What the entries mean is play_tape.h's business.
#ifndef APP_PLAY_TAPE_FILE_H
#define APP_PLAY_TAPE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TAPE_FORMAT 1
#define TAPE_BLOCK_BYTES 65536
#define TAPE_ENTRY_BYTES 4096 ///< The longest entry.

typedef struct TapeEntry {
    uint8_t kind;
    int32_t count;
    const uint8_t *bytes; ///< Reading: valid until the next entry is read.
} TapeEntry;

// ---------------------------------------------------------------- writing

typedef struct TapeWriter {
    FILE *stream; ///< NULL: closed, or broken.
    bool older;   ///< Another recording stands there, and nothing of ours as yet.
    bool headed;  ///< The file's head is written, and what stood there is gone.
    uint32_t checksum;
    int32_t used;
    int error; ///< errno of what went wrong; 0: nothing.
    uint8_t block[TAPE_BLOCK_BYTES];
} TapeWriter;

/// Makes the file, for its owner's eyes only: it will hold keys. What stands there stays until the
/// first block is written. False: `error` says why.
bool tape_writer_open(TapeWriter *writer, const char *path);

/// Adds an entry. After an error nothing happens.
void tape_writer_add(TapeWriter *writer, TapeEntry entry);

/// Hands everything to the system. False: it could not, now or before.
bool tape_writer_flush(TapeWriter *writer);

/// Flushes and closes. False: not everything was written.
bool tape_writer_close(TapeWriter *writer);

/// Closes, and leaves what stood there before, if it still does.
void tape_writer_drop(TapeWriter *writer);

// ---------------------------------------------------------------- reading

/// How a recording begins or ends.
typedef enum TapeFault {
    TAPE_FINE,
    TAPE_MISSING, ///< It cannot be read: `error` says why.
    TAPE_EMPTY,   ///< No byte in it.
    TAPE_FOREIGN, ///< Not a recording.
    TAPE_VERSION, ///< Of another format.
    TAPE_SHORT,   ///< It ends within a block.
    TAPE_DAMAGED, ///< A block is not what was written.
} TapeFault;

typedef struct TapeReader {
    FILE *stream;
    uint32_t format;
    uint32_t checksum;
    int64_t good_bytes; ///< Up to the end of the block that is being read.
    TapeFault fault;    ///< Why there are no more blocks; TAPE_FINE: the file is over.
    int error;
    int32_t used, count; ///< Of the block.
    uint8_t block[TAPE_BLOCK_BYTES];
} TapeReader;

/// Opens a recording, or begins it again. Anything but TAPE_FINE: it is not open.
TapeFault tape_reader_open(TapeReader *reader, const char *path);
void tape_reader_close(TapeReader *reader);

/// The next entry without taking it. False: there is none; reader->fault says why.
bool tape_reader_peek(TapeReader *reader, TapeEntry *entry);

/// Takes the entry that was peeked at.
void tape_reader_skip(TapeReader *reader, const TapeEntry *entry);

#endif
