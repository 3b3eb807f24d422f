// Reads trace files: checks everything, and says exactly where something is wrong.
//
// A field is found first (trimmed, unquoted) and then read as what its column holds. Fields of
// unknown columns are stepped over, but counted. Lines come terminated, so that no scan can run off
// their end.
#include "lab/trace/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/trace/fields.h"
#include "lab/trace/lines.h"
#include "lab/trace/number.h"
#include "lab/trace/trace_build.h"

#define FIELD_CAPACITY 1024
#define PATH_SHOWN 600 ///< Of a longer path, an error shows the end.
#define TEXT_SHOWN 40  ///< Of a longer field, an error shows the start.

/// What a field of each row is; below ROLE_TIME a TraceColumn.
enum { ROLE_TIME = TRACE_COLUMN_COUNT, ROLE_ID, ROLE_LIFE, ROLE_COUNT, ROLE_IGNORED = ROLE_COUNT };

static const char *const role_names[ROLE_COUNT] = {
    [TRACE_X] = "x",
    [TRACE_Y] = "y",
    [TRACE_Z] = "z",
    [TRACE_VX] = "vx",
    [TRACE_VY] = "vy",
    [TRACE_VZ] = "vz",
    [TRACE_YAW] = "yaw",
    [TRACE_YAW_RATE] = "yaw_rate",
    [TRACE_PROGRESS] = "progress",
    [ROLE_TIME] = "t",
    [ROLE_ID] = "id",
    [ROLE_LIFE] = "life",
};

typedef struct Reader {
    const char *path;
    TraceError *error;
    Lines *lines;
    int64_t line;      ///< The current line's number, from 1.
    const char *text;  ///< The current line.
    const char *end;   ///< Its terminator.
    int64_t first_gap; ///< Number of the first of the blank lines just read; 0: none.
    FlTime last;
    bool started; ///< A row was read, and `last` is its time.
    int32_t field_count;
    int32_t roles[FIELD_CAPACITY];
    bool has[ROLE_COUNT];
    TraceBuild build;
} Reader;

/// A row's values as they are read.
typedef struct Row {
    FlTime time;
    int64_t id;
    int64_t life;
    double values[TRACE_COLUMN_COUNT];
} Row;

// ---------------------------------------------------------------- errors

/// Nothing from a file may break the line or play with the terminal.
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            *text = '?';
        }
    }
}

static const char *path_shown(const char *path)
{
    size_t length = strlen(path);
    return length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
}

/// Tells what is wrong with the whole file. Answers false, to be returned.
static bool fail_file(const Reader *reader, const char *what)
{
    snprintf(reader->error->text, sizeof reader->error->text, "%s: %s", path_shown(reader->path),
             what);
    make_printable(reader->error->text);
    return false;
}

/// Tells what is wrong at a character of the current line. Answers false, to be returned.
__attribute__((format(printf, 3, 4))) static bool fail_at(const Reader *reader, const char *at,
                                                          const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(reader->error->text, sizeof reader->error->text, "%s:%lld:%lld: %s",
             path_shown(reader->path), (long long)reader->line, (long long)(at - reader->text) + 1,
             what);
    make_printable(reader->error->text);
    return false;
}

static bool fail_field(const Reader *reader, const Field *field, int32_t role, const char *what)
{
    int shown =
        field->end - field->text > TEXT_SHOWN ? TEXT_SHOWN : (int)(field->end - field->text);
    if (shown == 0) {
        what = "is empty";
    }
    return fail_at(reader, field->begin, "column '%s' %s%s%.*s%s", role_names[role], what,
                   shown > 0 ? ": '" : "", shown, field->text, shown > 0 ? "'" : "");
}

// ---------------------------------------------------------------- fields

static bool find_field(const Reader *reader, const char *at, Field *field)
{
    return field_find(at, field) ||
           fail_at(reader, field->begin, "a quote that does not end its field");
}

static bool read_field(const Reader *reader, const Field *field, int32_t role, Row *row)
{
    if (role == ROLE_ID || role == ROLE_LIFE) {
        int64_t *value = role == ROLE_ID ? &row->id : &row->life;
        return integer_read(field->text, field->end, value) ||
               fail_field(reader, field, role, "is not a 64-bit integer");
    }
    Decimal decimal;
    if (decimal_scan(field->text, &decimal) != field->end || field->text == field->end) {
        return fail_field(reader, field, role, "is not a number");
    }
    if (role == ROLE_TIME) {
        return decimal_nanoseconds(&decimal, field->text, &row->time) ||
               fail_field(reader, field, role, "is out of range (4e9 s)");
    }
    row->values[role] = decimal_value(&decimal, field->text);
    return isfinite(row->values[role]) || fail_field(reader, field, role, "is out of range");
}

// ---------------------------------------------------------------- header

static int32_t role_of(const Field *field)
{
    size_t length = (size_t)(field->end - field->text);
    for (int32_t role = 0; role < ROLE_COUNT; role++) {
        if (strlen(role_names[role]) == length &&
            memcmp(role_names[role], field->text, length) == 0) {
            return role;
        }
    }
    return ROLE_IGNORED;
}

/// All of x, y, z, t, id must be there; of the velocity, all or it does not count.
static bool check_columns(Reader *reader)
{
    static const int32_t required[] = {ROLE_TIME, ROLE_ID, TRACE_X, TRACE_Y, TRACE_Z};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (!reader->has[required[i]]) {
            return fail_at(reader, reader->end, "column '%s' is missing from the header",
                           role_names[required[i]]);
        }
    }
    if (reader->has[TRACE_VX] && reader->has[TRACE_VY] && reader->has[TRACE_VZ]) {
        return true;
    }
    for (int32_t f = 0; f < reader->field_count; f++) {
        int32_t role = reader->roles[f];
        if (role == TRACE_VX || role == TRACE_VY || role == TRACE_VZ) {
            reader->has[role] = false;
            reader->roles[f] = ROLE_IGNORED;
        }
    }
    return true;
}

/// Joins the names of the columns that are not used.
static bool list_ignored(const Reader *reader, const char *header, Trace *trace)
{
    trace->ignored = malloc((size_t)(reader->end - header) + 1);
    if (trace->ignored == NULL) {
        return fail_file(reader, "out of memory");
    }
    char *out = trace->ignored;
    const char *at = header;
    for (int32_t f = 0; f < reader->field_count; f++) {
        Field field;
        if (!find_field(reader, at, &field)) {
            return false;
        }
        at = field.next + 1;
        if (reader->roles[f] == ROLE_IGNORED) {
            size_t length = (size_t)(field.end - field.text);
            if (out != trace->ignored) {
                *out++ = ',';
            }
            memcpy(out, field.text, length);
            out += length;
        }
    }
    *out = '\0';
    return true;
}

static bool read_header(Reader *reader, Trace *trace)
{
    const char *header = reader->text;
    if (strncmp(header, "\xef\xbb\xbf", 3) == 0) {
        header += 3; // a byte order mark, which spreadsheets write
    }
    Field field = {.next = header - 1};
    do {
        if (!find_field(reader, field.next + 1, &field)) {
            return false;
        }
        int32_t role = role_of(&field);
        if (reader->field_count == FIELD_CAPACITY) {
            return fail_at(reader, field.begin, "more than %d columns", FIELD_CAPACITY);
        }
        if (role != ROLE_IGNORED && reader->has[role]) {
            return fail_at(reader, field.begin, "column '%s' is there twice", role_names[role]);
        }
        if (role != ROLE_IGNORED) {
            reader->has[role] = true;
        }
        reader->roles[reader->field_count++] = role;
    } while (*field.next == ',');
    if (field.next != reader->end) {
        return fail_at(reader, field.next, "a zero byte: this is not a text file");
    }
    if (!check_columns(reader) || !list_ignored(reader, header, trace)) {
        return false;
    }
    memcpy(reader->build.has, reader->has, sizeof reader->build.has);
    trace->has_life = reader->has[ROLE_LIFE];
    return true;
}

// ---------------------------------------------------------------- rows

/// Called where a row has ended after field `f`, or has not ended though it should have.
static bool check_row_end(const Reader *reader, const Field *field, int32_t f)
{
    if (*field->next == ',' && f + 1 == reader->field_count) {
        return fail_at(reader, field->next + 1, "too many fields: the header has %d",
                       reader->field_count);
    }
    if (*field->next == '\0' && field->next != reader->end) {
        return fail_at(reader, field->next, "a zero byte: this is not a text file");
    }
    if (*field->next == '\0' && f + 1 < reader->field_count) {
        int32_t role = reader->roles[f + 1];
        return fail_at(reader, reader->end, "too few fields: %d, the header has %d (%s is missing)",
                       f + 1, reader->field_count,
                       role == ROLE_IGNORED ? "a column not used" : role_names[role]);
    }
    return true;
}

static bool add_row(Reader *reader, const Row *row, const char *time_at, const char *id_at)
{
    if (reader->started && row->time < reader->last) {
        return fail_at(reader, time_at, "column 't' goes back: rows must be ordered by time");
    }
    reader->started = true;
    reader->last = row->time;
    switch (trace_build_add(&reader->build, row->time, row->id, row->life, row->values)) {
    case BUILD_OK:
        return true;
    case BUILD_DUPLICATE:
        return fail_at(reader, id_at, "column 'id' repeats %lld at the same time",
                       (long long)row->id);
    case BUILD_TOO_MANY:
        return fail_at(reader, reader->text, "more than %d rows", INT32_MAX);
    case BUILD_NO_MEMORY:
    default:
        return fail_at(reader, reader->text, "out of memory");
    }
}

static bool read_row(Reader *reader)
{
    Row row = {0};
    const char *time_at = reader->text;
    const char *id_at = reader->text;
    const char *at = reader->text;
    for (int32_t f = 0; f < reader->field_count; f++) {
        int32_t role = reader->roles[f];
        Field field;
        if (!find_field(reader, at, &field) ||
            (role != ROLE_IGNORED && !read_field(reader, &field, role, &row)) ||
            !check_row_end(reader, &field, f)) {
            return false;
        }
        time_at = role == ROLE_TIME ? field.begin : time_at;
        id_at = role == ROLE_ID ? field.begin : id_at;
        at = field.next + 1;
    }
    return add_row(reader, &row, time_at, id_at);
}

// ---------------------------------------------------------------- file

/// Makes the next line current. LINE_FAILED and LINE_TOO_LONG have been told.
static LineResult next_line(Reader *reader)
{
    char *text = NULL;
    size_t length = 0;
    LineResult result = lines_next(reader->lines, &text, &length);
    reader->line++;
    reader->text = text;
    reader->end = text + length;
    if (result == LINE_FAILED && reader->line == 1 && errno == EISDIR) {
        fail_file(reader, lines_problem(reader->lines));
    } else if (result == LINE_FAILED) {
        fail_at(reader, text, "%s", lines_problem(reader->lines));
    } else if (result == LINE_TOO_LONG) {
        fail_at(reader, text + LINE_CAPACITY, "line is longer than %d characters", LINE_CAPACITY);
    }
    return result;
}

/// A blank line is forgiven at the end of the file only.
static bool take_line(Reader *reader, Trace *trace)
{
    if (reader->text == reader->end) {
        reader->first_gap = reader->first_gap == 0 ? reader->line : reader->first_gap;
        return true;
    }
    if (reader->first_gap != 0) {
        reader->line = reader->first_gap;
        return fail_at(reader, reader->text, "blank line");
    }
    return reader->line == 1 ? read_header(reader, trace) : read_row(reader);
}

static bool read_file(Reader *reader, Trace *trace)
{
    LineResult result = next_line(reader);
    for (; result == LINE_OK; result = next_line(reader)) {
        if (!take_line(reader, trace)) {
            return false;
        }
    }
    if (result != LINE_END) {
        return false;
    }
    if (reader->field_count == 0) {
        reader->line = 1;
        return fail_at(reader, reader->text, "the file is empty: a header line is needed");
    }
    if (!reader->started) {
        reader->line = 2;
        return fail_at(reader, reader->text, "no rows after the header");
    }
    return trace_build_finish(&reader->build, trace) || fail_file(reader, "out of memory");
}

bool trace_load(const char *path, Trace *trace, TraceError *error)
{
    *trace = (Trace){0};
    error->text[0] = '\0';
    Reader refused = {.path = path, .error = error};
    Reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return fail_file(&refused, "out of memory");
    }
    reader->path = path;
    reader->error = error;
    reader->lines = lines_open(path);
    bool ok = reader->lines != NULL ? read_file(reader, trace) : fail_file(reader, strerror(errno));
    lines_close(reader->lines);
    trace_build_free(&reader->build);
    free(reader);
    if (!ok) {
        trace_free(trace);
    }
    return ok;
}

void trace_free(Trace *trace)
{
    free(trace->tracks);
    free(trace->time);
    free(trace->ignored);
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT; c++) {
        free(trace->column[c]);
    }
    *trace = (Trace){0};
}

const char *trace_column_name(TraceColumn column)
{
    FL_ASSERT(column >= 0 && column < TRACE_COLUMN_COUNT);
    return role_names[column];
}

bool trace_has_velocity(const Trace *trace)
{
    return trace->column[TRACE_VX] != NULL;
}
