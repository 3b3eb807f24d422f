// Files the program writes: whole or not at all.
#ifndef APP_OUTPUT_H
#define APP_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/// A file being written. It appears under its name only when output_close has succeeded; something
/// that is no plain file (a terminal, a pipe, /dev/full) is written to directly.
typedef struct Output {
    FILE *stream;
    const char *path; ///< Borrowed.
    char *temporary;  ///< NULL if written directly.
} Output;

/// False: the error has been printed as `who`.
bool output_open(Output *output, const char *who, const char *path);

/// Finishes the file. False: the error has been printed, and nothing is left behind.
bool output_close(Output *output, const char *who);

#endif
