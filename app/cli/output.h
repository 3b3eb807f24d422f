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

/// Before the work that the file is for: can it be written? Nothing is changed. Answers
/// OPTIONS_GO_ON, or EXIT_BAD_INPUT with one line about `option` ("--svg").
int output_check(const char *who, const char *option, const char *path);

/// The same for a folder, which is made if it is not there; *made says so.
int output_folder(const char *who, const char *option, const char *path, bool *made);

/// False: the error has been printed as `who`.
bool output_open(Output *output, const char *who, const char *path);

/// Finishes the file. False: the error has been printed, and nothing is left behind.
bool output_close(Output *output, const char *who);

#endif
