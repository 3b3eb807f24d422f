// Lines of a plain or gzipped file, from one buffer and without a copy per line.
//
// The buffer holds bytes [start, end); what remains of a line when it runs out is moved to the
// front and the rest is read behind it. zlib passes plain files through unchanged, so there is one
// way for both.
#include "lab/trace/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BUFFER_BYTES (4 * LINE_CAPACITY)

struct Lines {
    gzFile file;
    size_t start;
    size_t end;
    bool finished; ///< Nothing more comes from the file.
    const char *problem;
    char buffer[BUFFER_BYTES + 1]; ///< One more, to terminate a last line without an end.
};

Lines *lines_open(const char *path)
{
    Lines *lines = malloc(sizeof *lines);
    if (lines == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    lines->start = 0;
    lines->end = 0;
    lines->finished = false;
    lines->problem = NULL;
    errno = 0;
    lines->file = strcmp(path, "-") == 0 ? gzdopen(0, "rb") : gzopen(path, "rb");
    if (lines->file == NULL) {
        int why = errno != 0 ? errno : ENOMEM; // zlib leaves errno alone when memory ran out
        free(lines);
        errno = why;
        return NULL;
    }
    gzbuffer(lines->file, BUFFER_BYTES);
    return lines;
}

void lines_close(Lines *lines)
{
    if (lines != NULL) {
        gzclose_r(lines->file);
        free(lines);
    }
}

const char *lines_problem(const Lines *lines)
{
    return lines->problem;
}

static const char *problem_of(gzFile file)
{
    int code = Z_OK;
    gzerror(file, &code);
    switch (code) {
    case Z_OK:
        return NULL;
    case Z_ERRNO:
        return strerror(errno);
    case Z_BUF_ERROR:
        return "the compressed data ends early (truncated file?)";
    case Z_MEM_ERROR:
        return "out of memory";
    default:
        return "the compressed data is damaged";
    }
}

/// Moves the unread rest to the front and reads more behind it.
static void refill(Lines *lines)
{
    memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
    errno = 0;
    int got =
        gzread(lines->file, lines->buffer + lines->end, (unsigned)(BUFFER_BYTES - lines->end));
    if (got > 0) {
        lines->end += (size_t)got;
        return;
    }
    lines->finished = true;
    lines->problem = problem_of(lines->file);
    if (got < 0 && lines->problem == NULL) {
        lines->problem = "reading failed";
    }
}

/// Hands out the `length` bytes at `start` as a line and steps over them and `skip` more.
static LineResult take(Lines *lines, size_t length, size_t skip, char **text, size_t *length_out)
{
    *text = lines->buffer + lines->start;
    lines->start += length + skip;
    if (length > 0 && (*text)[length - 1] == '\r') {
        length--;
    }
    if (length > LINE_CAPACITY) {
        return LINE_TOO_LONG;
    }
    (*text)[length] = '\0';
    *length_out = length;
    return LINE_OK;
}

LineResult lines_next(Lines *lines, char **text, size_t *length)
{
    *text = lines->buffer + lines->start;
    *length = 0;
    for (;;) {
        size_t held = lines->end - lines->start;
        char *end = memchr(lines->buffer + lines->start, '\n', held);
        if (end != NULL) {
            return take(lines, (size_t)(end - lines->buffer) - lines->start, 1, text, length);
        }
        if (held > LINE_CAPACITY + 1) { // one more: a carriage return does not count
            return LINE_TOO_LONG;
        }
        if (lines->finished) {
            if (lines->problem != NULL) {
                return LINE_FAILED;
            }
            return held == 0 ? LINE_END : take(lines, held, 0, text, length);
        }
        refill(lines);
    }
}
