// Recording and replaying what people played.
//
// Everything that enters a process of `serve`, `join`, `bots` or `watch` from outside goes through
// a tape: the time, random bytes, addresses, datagrams, what woke the loop, keys and signals.
//
//     no tape (NULL)    the value passes
//     recording         the value passes, and is written
//     replaying         the value that was written comes back, in the same order
//
// Nothing else tells one run from another, so a replayed one does the same again, without a socket
// and as fast as it can. To prove it each datagram that goes out is hashed (whom to, and its bytes)
// and the hash written; a replay compares. The first difference, be it another hash or another
// kind of thing than was wanted, ends the replay.
//
// A recording holds the session's keys and the invite: it is as secret as they are.
#ifndef APP_PLAY_TAPE_H
#define APP_PLAY_TAPE_H

#include <jansson.h>

#include "app/tape/play_tape_file.h"
#include "fairlead/fairlead.h"

typedef struct PlayNode PlayNode;
typedef struct PlayTape PlayTape;

/// Who looks on while a session is replayed. Only `ended` must be there.
typedef struct PlayWitness {
    void *ctx;
    /// An own thing was made.
    void (*made)(void *ctx, const PlayNode *node, int32_t own, const FlEntityDef *def);
    /// Its truth was handed in.
    void (*moved)(void *ctx, const PlayNode *node, int32_t own, const FlState *state);
    /// A node has done everything that was due.
    void (*stepped)(void *ctx, const PlayNode *node, FlTime now);
    /// It is over; before the goodbyes. `summary` is the caller's no more.
    void (*ended)(void *ctx, PlayNode *const *nodes, int32_t count, FlTime now, json_t *summary);
} PlayWitness;

// ---------------------------------------------------------------- recording

/// Begins to record the command `argv`. Answers OPTIONS_GO_ON, or the exit status: the reason has
/// been printed. A `path` of NULL: *tape is NULL, and nothing is recorded.
int play_tape_record(const char *who, const char *path, int argc, char **argv, PlayTape **tape);

/// While somebody looks at a picture, words about a full disk must wait.
void play_tape_hush(PlayTape *tape, bool hushed);

/// Ends a recording: `status`, or EXIT_FAILED if it was 0 and not everything could be written. A
/// tape that is replayed stays: it is not ours.
int play_tape_finish(PlayTape *tape, int status);

// ---------------------------------------------------------------- replaying

#define PLAY_TAPE_ARGS 64

/// What a recording says about itself.
typedef struct PlayTapeInfo {
    TapeFault fault; ///< Of the file: TAPE_FINE, _SHORT or _DAMAGED; others: it is not open.
    uint32_t format;
    int error;          ///< TAPE_MISSING: errno.
    bool began;         ///< The game was opened,
    bool ended;         ///< and came to its end.
    int64_t good_bytes; ///< Up to here it can be read.
    FlTime length;
    char version[32]; ///< Of the program that recorded it.
    char game[32];
    int argc;
    char *argv[PLAY_TAPE_ARGS + 1]; ///< The tape's; NULL after the last.
} PlayTapeInfo;

/// Reads all of a recording once, and makes it ready to be replayed. `out` is NULL if the fault is
/// none of TAPE_FINE, _SHORT, _DAMAGED, or there is no memory (TAPE_MISSING with ENOMEM).
void play_tape_open(const char *path, PlayTape **out, PlayTapeInfo *info);

/// NULL is ignored. What `info` points to goes with it.
void play_tape_close(PlayTape *tape);

void play_tape_watch(PlayTape *tape, const PlayWitness *witness);

typedef struct PlayTapeReport {
    int64_t entries, rounds;
    int64_t datagrams_in, datagrams_out;
    int64_t bytes_in, bytes_out;
    uint64_t hash;        ///< Of all datagrams out.
    FlTime length;        ///< As far as it was replayed.
    bool same;            ///< No difference so far.
    char difference[200]; ///< The first one; "" if there is none.
} PlayTapeReport;

PlayTapeReport play_tape_report(const PlayTape *tape);

// ---------------------------------------------------------------- for the commands

bool play_tape_replays(const PlayTape *tape);

/// Replaying, and nothing more is to be had: stop.
bool play_tape_over(const PlayTape *tape);

/// Whoever looks on; all its functions are NULL if there is nobody.
PlayWitness play_tape_witness(const PlayTape *tape);

/// The system's clock, and Unix time.
FlTime play_tape_now(PlayTape *tape);
uint64_t play_tape_unix_s(PlayTape *tape);

/// Random bytes for keys, nonces and seeds.
FlSealRandom play_tape_random(PlayTape *tape);

/// Secret bytes that came from a file.
void play_tape_secret(PlayTape *tape, uint8_t *bytes, int32_t count);

/// What the system answered; replaying, what it answered then.
FlResult play_tape_result(PlayTape *tape, FlResult result);
FlAddress play_tape_address(PlayTape *tape, FlAddress address);

/// Setup is done, and this is played.
void play_tape_begin(PlayTape *tape, const char *game);

/// Which nodes have something to receive.
void play_tape_ready(PlayTape *tape, bool *ready, int32_t count);

/// Keys that were pressed: `count` of them are in `keys`. The answer is how many there are then.
int32_t play_tape_keys(PlayTape *tape, char *keys, int32_t count, int32_t capacity);

/// What somebody asked for at the page, likewise.
int32_t play_tape_page(PlayTape *tape, char *words, int32_t count, int32_t capacity);

/// News of another process, of kind `which` (one byte) and of a fixed size: true if `news` is what
/// came, now or then. `came`: there are some now; of no meaning to a replay.
bool play_tape_news(PlayTape *tape, uint8_t which, bool came, void *news, int32_t bytes);

/// A signal asked us to stop.
bool play_tape_stopped(PlayTape *tape, bool stopped);

/// The last goodbye was said; `why` it is over.
void play_tape_end(PlayTape *tape, const char *why);

#endif
