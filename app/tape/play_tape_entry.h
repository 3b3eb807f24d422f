// Inside the tape: its entries. For play_tape*.c and play_port.c only.
#ifndef APP_PLAY_TAPE_ENTRY_H
#define APP_PLAY_TAPE_ENTRY_H

#include "app/tape/play_tape.h"

#define TIME_MOST (INT64_MAX / 4) ///< No sum of times of a recording overflows.
#define ADDRESS_BYTES 23

/// X(NAME, words, bytes): kinds of entries, and how long the shortest is.
#define KIND_TABLE(X)                                                                              \
    X(VERSION, "the program's version", 0)                                                         \
    X(ARGUMENT, "an argument", 0)                                                                  \
    X(TIME, "the time", 0)                                                                         \
    X(UNIX, "Unix time", 8)                                                                        \
    X(RANDOM, "random bytes", 0)                                                                   \
    X(RESULT, "the system's answer", 4)                                                            \
    X(ADDRESS, "an address", ADDRESS_BYTES)                                                        \
    X(BEGIN, "the beginning", 0)                                                                   \
    X(READY, "who was woken", 0)                                                                   \
    X(IN, "a datagram in", ADDRESS_BYTES + 9)                                                      \
    X(OUT, "a datagram out", 9)                                                                    \
    X(KEYS, "keys", 0)                                                                             \
    X(STOP, "a signal", 0)                                                                         \
    X(END, "the end", 0)                                                                           \
    X(PAGE, "what a page asked for", 0)                                                            \
    X(NEWS, "another process's news", 1)

typedef enum Kind {
    KIND_NONE,
#define KIND_ROW(name, words, bytes) KIND_##name,
    KIND_TABLE(KIND_ROW)
#undef KIND_ROW
        KINDS
} Kind;

struct PlayTape {
    bool replaying;
    bool over;   // replaying: nothing more is to be had
    bool hushed; // recording: words wait
    bool told;   // recording: that it broke has been said
    bool began;  // recording: there is a game
    const char *who, *path;
    FlTime first, now, flushed;
    int32_t ports;
    PlayWitness witness;
    PlayTapeReport report;
    char *arguments[PLAY_TAPE_ARGS];
    union {
        TapeWriter writer;
        TapeReader reader;
    } file;
};

// ---------------------------------------------------------------- numbers

void tape_number_put(uint8_t *bytes, uint64_t value, int32_t count);
uint64_t tape_number_get(const uint8_t *bytes, int32_t count);
void tape_address_put(uint8_t *bytes, FlAddress address);
bool tape_address_get(const uint8_t *bytes, FlAddress *address); ///< False: there are none such.

// ---------------------------------------------------------------- entries

bool tape_records(const PlayTape *tape);

/// Recording: writes an entry.
void tape_add(PlayTape *tape, Kind kind, const void *bytes, int32_t count);

/// Recording: says once that the file cannot be written any more, if so.
void tape_tell_broken(PlayTape *tape);

/// Replaying: the next entry if it is of this kind. What comes only sometimes is asked for like
/// this, and taken by tape_advance.
bool tape_offered(PlayTape *tape, Kind kind, TapeEntry *entry);
void tape_advance(PlayTape *tape, const TapeEntry *entry);

/// Replaying: the next entry, which must be of this kind. False: the replay is over.
bool tape_take(PlayTape *tape, Kind kind, TapeEntry *entry);

/// Replaying: time goes on by what the entry says. False: no clock said that.
bool tape_go_on(PlayTape *tape, const TapeEntry *entry);

/// Replaying: the first difference ends it.
__attribute__((format(printf, 2, 3))) void tape_differ(PlayTape *tape, const char *format, ...);

void tape_text(char *out, size_t size, const TapeEntry *entry);

#endif
