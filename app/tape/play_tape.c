// The tape: one switch between the world and its recording.
#include "app/tape/play_tape_entry.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

typedef struct KindInfo {
    const char *words;
    int32_t least;
} KindInfo;

static const KindInfo kinds[KINDS] = {{"nothing", 0},
#define KIND_INFO(name, words, bytes) {words, bytes},
                                      KIND_TABLE(KIND_INFO)
#undef KIND_INFO
};

// ---------------------------------------------------------------- numbers

void tape_number_put(uint8_t *bytes, uint64_t value, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

uint64_t tape_number_get(const uint8_t *bytes, int32_t count)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < count; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

void tape_address_put(uint8_t *bytes, FlAddress address)
{
    memcpy(bytes, address.ip, 16);
    tape_number_put(bytes + 16, address.scope, 4);
    tape_number_put(bytes + 20, address.port, 2);
    bytes[22] = address.family;
}

bool tape_address_get(const uint8_t *bytes, FlAddress *address)
{
    *address = (FlAddress){0};
    memcpy(address->ip, bytes, 16);
    address->scope = (uint32_t)tape_number_get(bytes + 16, 4);
    address->port = (uint16_t)tape_number_get(bytes + 20, 2);
    address->family = bytes[22];
    return bytes[22] <= FL_FAMILY_IPV6;
}

// ---------------------------------------------------------------- writing entries

bool tape_records(const PlayTape *tape)
{
    return tape != NULL && !tape->replaying;
}

bool play_tape_replays(const PlayTape *tape)
{
    return tape != NULL && tape->replaying;
}

void tape_tell_broken(PlayTape *tape)
{
    if (!tape->hushed && !tape->told && tape->file.writer.error != 0) {
        tape->told = true;
        command_fail(EXIT_FAILED, tape->who, "cannot write %s any more, the recording ends: %s",
                     tape->path, strerror(tape->file.writer.error));
    }
}

void tape_add(PlayTape *tape, Kind kind, const void *bytes, int32_t count)
{
    if (tape_records(tape)) {
        TapeEntry entry = {(uint8_t)kind, count, bytes};
        tape_writer_add(&tape->file.writer, entry);
        tape->report.entries++;
    }
}

int play_tape_record(const char *who, const char *path, int argc, char **argv, PlayTape **tape)
{
    *tape = NULL;
    if (path == NULL) {
        return OPTIONS_GO_ON;
    }
    if (argc > PLAY_TAPE_ARGS) {
        return command_fail(EXIT_BAD_INPUT, who, "--record: more than %d arguments",
                            PLAY_TAPE_ARGS);
    }
    PlayTape *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    made->who = who;
    made->path = path;
    if (!tape_writer_open(&made->file.writer, path)) {
        int why = made->file.writer.error;
        free(made);
        return command_fail(EXIT_BAD_INPUT, who, "--record: cannot write %s: %s", path,
                            strerror(why));
    }
    tape_add(made, KIND_VERSION, FL_VERSION, (int32_t)strlen(FL_VERSION));
    for (int i = 0; i < argc; i++) {
        size_t length = strlen(argv[i]);
        tape_add(made, KIND_ARGUMENT, argv[i],
                 (int32_t)(length < TAPE_ENTRY_BYTES ? length : TAPE_ENTRY_BYTES));
    }
    *tape = made;
    return OPTIONS_GO_ON;
}

void play_tape_hush(PlayTape *tape, bool hushed)
{
    if (tape != NULL) {
        tape->hushed = hushed;
    }
}

int play_tape_finish(PlayTape *tape, int status)
{
    if (!tape_records(tape)) {
        return status;
    }
    // A command that came to nothing does not take an older recording with it.
    TapeWriter *writer = &tape->file.writer;
    bool dropped = !tape->began && writer->older && !writer->headed;
    if (dropped) {
        tape_writer_drop(writer);
    }
    bool written = dropped || tape_writer_close(writer);
    tape->hushed = false;
    tape_tell_broken(tape);
    free(tape);
    return written || status != 0 ? status : EXIT_FAILED;
}

// ---------------------------------------------------------------- reading entries

static double seconds_of(const PlayTape *tape)
{
    return fl_span_seconds(fl_span(tape->now, tape->first));
}

__attribute__((format(printf, 2, 3))) void tape_differ(PlayTape *tape, const char *format, ...)
{
    if (tape->over) {
        return;
    }
    tape->over = true;
    tape->report.same = false;
    char what[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(tape->report.difference, sizeof tape->report.difference, "entry %lld, at %.3f s: %s",
             (long long)tape->report.entries, seconds_of(tape), what);
}

static const char *words_of(int32_t kind)
{
    return kind < (int32_t)KINDS ? kinds[kind].words : "something unknown";
}

// The next entry if it is of this kind. What comes only sometimes is asked for like this.
bool tape_offered(PlayTape *tape, Kind kind, TapeEntry *entry)
{
    return !tape->over && tape_reader_peek(&tape->file.reader, entry) && entry->kind == kind &&
           entry->count >= kinds[kind].least;
}

void tape_advance(PlayTape *tape, const TapeEntry *entry)
{
    tape_reader_skip(&tape->file.reader, entry);
    tape->report.entries++;
}

// The next entry, which must be of this kind. False: the replay is over.
bool tape_take(PlayTape *tape, Kind kind, TapeEntry *entry)
{
    if (tape->over) {
        return false;
    }
    if (!tape_reader_peek(&tape->file.reader, entry)) {
        tape->over = true; // the recording ends: no difference
        return false;
    }
    if (entry->kind != kind || entry->count < kinds[kind].least) {
        tape_differ(tape, "recorded was %s, now it is %s", words_of(entry->kind),
                    words_of((int32_t)kind));
        return false;
    }
    tape_advance(tape, entry);
    return true;
}

static char *text_of(const TapeEntry *entry)
{
    char *text = malloc((size_t)entry->count + 1);
    if (text != NULL) {
        memcpy(text, entry->bytes, (size_t)entry->count);
        text[entry->count] = '\0';
    }
    return text;
}

// Whatever stands there, people and JSON get letters.
void tape_text(char *out, size_t size, const TapeEntry *entry)
{
    size_t count = (size_t)entry->count < size - 1 ? (size_t)entry->count : size - 1;
    for (size_t i = 0; i < count; i++) {
        bool plain = entry->bytes[i] >= ' ' && entry->bytes[i] <= '~';
        out[i] = plain ? (char)entry->bytes[i] : '?';
    }
    out[count] = '\0';
}

// Time goes on by what the entry says. False: no clock said that.
bool tape_go_on(PlayTape *tape, const TapeEntry *entry)
{
    uint64_t step = entry->count <= 8 ? tape_number_get(entry->bytes, entry->count) : UINT64_MAX;
    if (step > (uint64_t)(TIME_MOST - tape->now)) {
        return false;
    }
    tape->now += (FlTime)step;
    tape->first = tape->first == 0 ? tape->now : tape->first;
    return true;
}

// All of the file once: how far it is good, and what it says about itself.
static bool scan(PlayTape *tape, PlayTapeInfo *info)
{
    TapeReader *reader = &tape->file.reader;
    TapeEntry entry;
    bool good = true;
    while (good && tape_reader_peek(reader, &entry)) {
        if (entry.kind == KIND_VERSION) {
            tape_text(info->version, sizeof info->version, &entry);
        } else if (entry.kind == KIND_ARGUMENT && info->argc < PLAY_TAPE_ARGS) {
            info->argv[info->argc] = tape->arguments[info->argc] = text_of(&entry);
            good = info->argv[info->argc++] != NULL;
        } else if (entry.kind == KIND_BEGIN) {
            info->began = true;
            tape_text(info->game, sizeof info->game, &entry);
        } else if (entry.kind == KIND_TIME) {
            (void)tape_go_on(tape, &entry);
        }
        info->ended = entry.kind == KIND_END;
        tape_reader_skip(reader, &entry);
    }
    info->fault = reader->fault;
    info->good_bytes = reader->good_bytes;
    info->length = fl_span(tape->now, tape->first);
    tape_reader_close(reader);
    return good;
}

// The first entries were for us, the others are for the commands.
static void skip_head(PlayTape *tape)
{
    TapeEntry entry;
    while (tape_offered(tape, KIND_VERSION, &entry) || tape_offered(tape, KIND_ARGUMENT, &entry)) {
        tape_advance(tape, &entry);
    }
}

void play_tape_open(const char *path, PlayTape **out, PlayTapeInfo *info)
{
    *out = NULL;
    *info = (PlayTapeInfo){.fault = TAPE_MISSING, .error = ENOMEM};
    PlayTape *tape = calloc(1, sizeof *tape);
    if (tape == NULL) {
        return;
    }
    tape->replaying = true;
    tape->report.same = true;
    TapeReader *reader = &tape->file.reader;
    info->fault = tape_reader_open(reader, path);
    info->error = reader->error;
    info->format = reader->format;
    if (info->fault == TAPE_FINE) {
        bool scanned = scan(tape, info);
        tape->now = tape->first = 0;
        if (scanned && tape_reader_open(reader, path) == TAPE_FINE) {
            skip_head(tape);
            *out = tape;
            return;
        }
        info->fault = TAPE_MISSING;
        info->error = reader->error != 0 ? reader->error : ENOMEM;
    }
    info->argc = 0;
    play_tape_close(tape);
}

void play_tape_close(PlayTape *tape)
{
    if (tape != NULL) {
        tape_reader_close(&tape->file.reader);
        for (int32_t i = 0; i < PLAY_TAPE_ARGS; i++) {
            free(tape->arguments[i]);
        }
        free(tape);
    }
}

void play_tape_watch(PlayTape *tape, const PlayWitness *witness)
{
    tape->witness = *witness;
}

PlayWitness play_tape_witness(const PlayTape *tape)
{
    PlayWitness nobody = {0};
    return tape != NULL ? tape->witness : nobody;
}

PlayTapeReport play_tape_report(const PlayTape *tape)
{
    PlayTapeReport report = tape->report;
    report.length = fl_span(tape->now, tape->first);
    return report;
}

bool play_tape_over(const PlayTape *tape)
{
    return play_tape_replays(tape) && tape->over;
}
