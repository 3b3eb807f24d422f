// What enters a process but for datagrams: times, random bytes, the system's answers, keys.
#include <string.h>
#include <time.h>

#include "app/tape/play_tape_entry.h"

#include "fairlead/net.h"

#define FLUSH_EVERY FL_SEC(1)

// ---------------------------------------------------------------- times

static FlTime replay_now(PlayTape *tape)
{
    TapeEntry entry;
    if (tape_take(tape, KIND_TIME, &entry) && !tape_go_on(tape, &entry)) {
        tape_differ(tape, "no clock says that time");
    }
    return tape->now;
}

// As few bytes as hold the step since the last time.
static void write_now(PlayTape *tape, FlTime now)
{
    uint64_t step = (uint64_t)fl_span(now, tape->now);
    uint8_t bytes[8];
    tape_number_put(bytes, step, 8);
    int32_t count = 8;
    while (count > 0 && bytes[count - 1] == 0) {
        count--;
    }
    tape_add(tape, KIND_TIME, bytes, count);
    tape->now = now;
    if (fl_span(now, tape->flushed) >= FLUSH_EVERY) {
        tape->flushed = now;
        (void)tape_writer_flush(&tape->file.writer);
        tape_tell_broken(tape);
    }
}

FlTime play_tape_now(PlayTape *tape)
{
    if (play_tape_replays(tape)) {
        return replay_now(tape);
    }
    FlTime now = fl_net_now();
    if (tape_records(tape)) {
        write_now(tape, now);
    }
    return now;
}

uint64_t play_tape_unix_s(PlayTape *tape)
{
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        return tape_take(tape, KIND_UNIX, &entry) ? tape_number_get(entry.bytes, 8) : 0;
    }
    uint64_t unix_s = (uint64_t)time(NULL);
    uint8_t bytes[8];
    tape_number_put(bytes, unix_s, 8);
    tape_add(tape, KIND_UNIX, bytes, 8);
    return unix_s;
}

// ---------------------------------------------------------------- random bytes

static void draw(uint8_t *bytes, size_t count)
{
    FlSealRandom system = {0};
    while (count > 0) {
        uint8_t key[FL_SEAL_KEY_BYTES];
        size_t part = count < sizeof key ? count : sizeof key;
        fl_seal_key(&system, key);
        memcpy(bytes, key, part);
        bytes += part;
        count -= part;
    }
}

void play_tape_secret(PlayTape *tape, uint8_t *bytes, int32_t count)
{
    TapeEntry entry;
    if (!play_tape_replays(tape)) {
        tape_add(tape, KIND_RANDOM, bytes, count);
    } else if (tape_take(tape, KIND_RANDOM, &entry) && entry.count == count) {
        memcpy(bytes, entry.bytes, (size_t)count);
    } else {
        tape_differ(tape, "another number of random bytes");
        memset(bytes, 0, (size_t)count);
    }
}

static void fill(void *ctx, void *out, size_t count)
{
    PlayTape *tape = ctx;
    uint8_t *bytes = out;
    while (count > 0) {
        int32_t part = count < TAPE_ENTRY_BYTES ? (int32_t)count : TAPE_ENTRY_BYTES;
        if (!tape->replaying) {
            draw(bytes, (size_t)part);
        }
        play_tape_secret(tape, bytes, part);
        bytes += part;
        count -= (size_t)part;
    }
}

FlSealRandom play_tape_random(PlayTape *tape)
{
    FlSealRandom random = {tape != NULL ? fill : NULL, tape};
    return random;
}

// ---------------------------------------------------------------- what the system says

FlResult play_tape_result(PlayTape *tape, FlResult result)
{
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        bool there = tape_take(tape, KIND_RESULT, &entry);
        return there ? (FlResult)(int32_t)tape_number_get(entry.bytes, 4) : FL_SYSTEM;
    }
    uint8_t bytes[4];
    tape_number_put(bytes, (uint32_t)(int32_t)result, 4);
    tape_add(tape, KIND_RESULT, bytes, 4);
    return result;
}

FlAddress play_tape_address(PlayTape *tape, FlAddress address)
{
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        address = (FlAddress){0};
        if (tape_take(tape, KIND_ADDRESS, &entry) && !tape_address_get(entry.bytes, &address)) {
            tape_differ(tape, "no address is like that");
            address = (FlAddress){0};
        }
        return address;
    }
    uint8_t bytes[ADDRESS_BYTES];
    tape_address_put(bytes, address);
    tape_add(tape, KIND_ADDRESS, bytes, ADDRESS_BYTES);
    return address;
}

void play_tape_begin(PlayTape *tape, const char *game)
{
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        (void)tape_take(tape, KIND_BEGIN, &entry);
    }
    if (tape_records(tape)) {
        tape->began = true;
    }
    tape_add(tape, KIND_BEGIN, game, (int32_t)strlen(game));
}

void play_tape_ready(PlayTape *tape, bool *ready, int32_t count)
{
    uint8_t bits[FL_NET_WAIT_CAPACITY / 8] = {0};
    int32_t size = (count + 7) / 8;
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        tape->report.rounds++;
        if (tape_take(tape, KIND_READY, &entry) && entry.count == size) {
            memcpy(bits, entry.bytes, (size_t)size);
        } else {
            tape_differ(tape, "another number of nodes");
        }
        for (int32_t i = 0; i < count; i++) {
            ready[i] = (bits[i / 8] >> (i % 8) & 1) != 0;
        }
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        bits[i / 8] = (uint8_t)(bits[i / 8] | (ready[i] ? 1 << (i % 8) : 0));
    }
    tape_add(tape, KIND_READY, bits, size);
}

// What comes only sometimes: nothing is written if nothing came.
static int32_t take_some(PlayTape *tape, Kind kind, char *bytes, int32_t count, int32_t capacity)
{
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        if (!tape_offered(tape, kind, &entry) || entry.count > capacity) {
            return 0;
        }
        memcpy(bytes, entry.bytes, (size_t)entry.count);
        count = entry.count;
        tape_advance(tape, &entry);
    } else if (count > 0) {
        tape_add(tape, kind, bytes, count);
    }
    return count;
}

int32_t play_tape_keys(PlayTape *tape, char *keys, int32_t count, int32_t capacity)
{
    return take_some(tape, KIND_KEYS, keys, count, capacity);
}

int32_t play_tape_page(PlayTape *tape, char *words, int32_t count, int32_t capacity)
{
    return take_some(tape, KIND_PAGE, words, count, capacity);
}

bool play_tape_news(PlayTape *tape, uint8_t which, bool came, void *news, int32_t bytes)
{
    uint8_t noted[TAPE_ENTRY_BYTES];
    TapeEntry entry;
    FL_ASSERT(bytes < TAPE_ENTRY_BYTES);
    if (play_tape_replays(tape)) {
        if (!tape_offered(tape, KIND_NEWS, &entry) || entry.bytes[0] != which ||
            entry.count != bytes + 1) {
            return false;
        }
        memcpy(news, entry.bytes + 1, (size_t)bytes);
        tape_advance(tape, &entry);
        return true;
    }
    if (came && tape_records(tape)) {
        noted[0] = which;
        memcpy(noted + 1, news, (size_t)bytes);
        tape_add(tape, KIND_NEWS, noted, bytes + 1);
    }
    return came;
}

bool play_tape_stopped(PlayTape *tape, bool stopped)
{
    TapeEntry entry;
    if (play_tape_replays(tape)) {
        stopped = tape_offered(tape, KIND_STOP, &entry);
        if (stopped) {
            tape_advance(tape, &entry);
        }
    } else if (stopped) {
        tape_add(tape, KIND_STOP, NULL, 0);
    }
    return stopped;
}

void play_tape_end(PlayTape *tape, const char *why)
{
    TapeEntry entry;
    char then[64];
    if (play_tape_replays(tape)) {
        if (tape_take(tape, KIND_END, &entry)) {
            tape_text(then, sizeof then, &entry);
            if (strcmp(then, why) != 0) {
                tape_differ(tape, "it ended with '%s', now with '%s'", then, why);
            }
            tape->over = true;
        }
    }
    tape_add(tape, KIND_END, why, (int32_t)strlen(why));
}
