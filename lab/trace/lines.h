// A text file, plain or gzipped, line by line.
#ifndef LAB_LINES_H
#define LAB_LINES_H

#include <stdbool.h>
#include <stddef.h>

/// The longest line that is read, without its end.
#define LINE_CAPACITY 65536

typedef enum LineResult {
    LINE_OK,
    LINE_END,      ///< The file ended.
    LINE_TOO_LONG, ///< More than LINE_CAPACITY characters.
    LINE_FAILED,   ///< The file cannot be read on; lines_problem says why.
} LineResult;

typedef struct Lines Lines;

/// Opens a file; "-" is standard input. NULL if it cannot be opened (errno says why).
Lines *lines_open(const char *path);

/// The next line, terminated, without its end ("\n" or "\r\n"); the last may lack one. Valid until
/// the next call; the caller may write to it.
LineResult lines_next(Lines *lines, char **text, size_t *length);

/// Why LINE_FAILED.
const char *lines_problem(const Lines *lines);

void lines_close(Lines *lines);

#endif
