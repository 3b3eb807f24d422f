// Changes over time, read from text. The grammar, one line at a time; '#' starts a comment:
//
//     line    = "at" seconds [ "pair" number ] [ "up" | "down" ] setting { setting }
//     setting = word value                                       (words.c)
//
// Lines are ordered by time. The text is a user's file: whatever it holds, the answer is a line
// number and a reason.
#include "private.h"

#include <string.h>

// One line, read from the left.
typedef struct Line {
    const char *next;
    const char *end;
} Line;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

// The next word, empty at the end of the line.
static Words next_word(Line *line)
{
    while (line->next < line->end && is_space(*line->next)) {
        line->next++;
    }
    const char *start = line->next;
    while (line->next < line->end && !is_space(*line->next)) {
        line->next++;
    }
    return (Words){start, (size_t)(line->next - start)};
}

static Words peek_word(const Line *line)
{
    Line copy = *line;
    return next_word(&copy);
}

// Takes the line that starts at *rest off the text, without its end and its comment.
static Line next_line(const char **rest, const char *end)
{
    const char *start = *rest;
    const char *stop = memchr(start, '\n', (size_t)(end - start));
    if (stop == NULL) {
        stop = end;
    }
    *rest = stop < end ? stop + 1 : end;
    const char *comment = memchr(start, '#', (size_t)(stop - start));
    return (Line){start, comment != NULL ? comment : stop};
}

static bool read_time(Line *line, FlTime *at, FlImpairError *error)
{
    Words first = next_word(line);
    if (!fl__words_equal(first, "at")) {
        (void)fl__impair_wrong_about(error, "a line starts with 'at SECONDS', not '", first, "'");
        return false;
    }
    Words seconds = next_word(line);
    int64_t millionths;
    if (!fl__words_number(seconds, &millionths) || millionths > INT64_C(1000000000) * 1000000) {
        (void)fl__impair_wrong_about(error, "'at' needs seconds such as 12.5, not '", seconds, "'");
        return false;
    }
    *at = millionths * 1000;
    return true;
}

static bool read_pair(Line *line, int32_t *pair, FlImpairError *error)
{
    *pair = -1;
    if (!fl__words_equal(peek_word(line), "pair")) {
        return true;
    }
    (void)next_word(line);
    Words number = next_word(line);
    int64_t millionths;
    if (!fl__words_number(number, &millionths) || millionths % 1000000 != 0 ||
        millionths / 1000000 > INT32_MAX) {
        (void)fl__impair_wrong_about(error, "'pair' needs a whole number, not '", number, "'");
        return false;
    }
    *pair = (int32_t)(millionths / 1000000);
    return true;
}

static uint8_t read_directions(Line *line)
{
    Words word = peek_word(line);
    bool up = fl__words_equal(word, "up");
    bool down = fl__words_equal(word, "down");
    if (up || down) {
        (void)next_word(line);
    }
    return up ? FL_DIRECTION_UP : down ? FL_DIRECTION_DOWN : FL_DIRECTION_BOTH;
}

static bool read_setting(Line *line, FlImpairChange *change, FlImpairError *error)
{
    Words word = next_word(line);
    int32_t setting = fl__setting_find(word);
    if (setting < 0) {
        (void)fl__impair_wrong_about(error, "there is no setting '", word, "'");
        return false;
    }
    Words value = next_word(line);
    if (value.bytes == 0) {
        (void)fl__impair_wrong_about(error, "'", word, "' needs a value");
        return false;
    }
    change->word = (uint8_t)setting;
    return fl__setting_read(setting, value, &change->value, error);
}

// Where changes go.
typedef struct Output {
    FlImpairChange *changes;
    int32_t count;
    int32_t capacity;
} Output;

static FlResult read_line(Line line, int32_t number, Output *output, FlImpairError *error)
{
    FlImpairChange change = {.line = number};
    if (!read_time(&line, &change.at, error) || !read_pair(&line, &change.pair, error)) {
        return FL_BAD_VALUE;
    }
    if (output->count > 0 && change.at < output->changes[output->count - 1].at) {
        return fl__impair_wrong(error,
                                "lines are ordered by time, and this one is earlier than the last");
    }
    change.directions = read_directions(&line);
    do {
        if (!read_setting(&line, &change, error)) {
            return FL_BAD_VALUE;
        }
        if (output->count == output->capacity) {
            (void)fl__impair_wrong(error, "more changes than there is room for");
            return FL_FULL;
        }
        output->changes[output->count++] = change;
    } while (peek_word(&line).bytes > 0);
    return FL_OK;
}

FlResult fl__impair_schedule_parse(const char *text, size_t text_bytes, FlImpairChange *out,
                                   int32_t capacity, int32_t *count_out, FlImpairError *error)
{
    FL_ASSERT(capacity >= 0);
    *count_out = 0;
    if (text_bytes == 0) {
        return FL_OK;
    }
    Output output = {out, 0, capacity};
    const char *rest = text;
    const char *end = text + text_bytes;
    for (int32_t number = 1; rest < end; number++) {
        Line line = next_line(&rest, end);
        if (peek_word(&line).bytes == 0) {
            continue;
        }
        FlResult result = read_line(line, number, &output, error);
        if (result != FL_OK) {
            if (error != NULL) {
                error->line = number;
            }
            return result;
        }
    }
    *count_out = output.count;
    return FL_OK;
}

static bool concerns(const FlImpairChange *change, int32_t pair, FlDirection direction)
{
    return (change->pair == -1 || change->pair == pair) && (change->directions & direction) != 0;
}

FlResult fl__impair_schedule_apply(const FlImpairChange *changes, int32_t count, FlTime from,
                                   FlTime to, int32_t pair, FlDirection direction,
                                   FlImpairSettings *settings, FlImpairError *error)
{
    bool touched = false;
    for (int32_t i = 0; i < count && changes[i].at <= to; i++) {
        if (changes[i].at > from && concerns(&changes[i], pair, direction)) {
            fl__setting_store(changes[i].word, changes[i].value, settings);
            touched = true;
        }
        // Settings of one moment belong together, however many lines they take.
        bool moment_ends = i + 1 == count || changes[i + 1].at != changes[i].at;
        if (!moment_ends || !touched) {
            continue;
        }
        touched = false;
        if (fl__impair_settings_check(settings, error) != FL_OK) {
            if (error != NULL) {
                error->line = changes[i].line;
            }
            return FL_BAD_VALUE;
        }
    }
    return FL_OK;
}

FlTime fl__impair_schedule_next(const FlImpairChange *changes, int32_t count, FlTime after)
{
    for (int32_t i = 0; i < count; i++) {
        if (changes[i].at > after) {
            return changes[i].at;
        }
    }
    return FL_FOREVER;
}
