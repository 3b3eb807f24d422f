// Text that grows: lines of a series, words of a report.
#ifndef LAB_TEXT_H
#define LAB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/// `{0}` is empty and ready. Once memory ran out it stays failed and takes nothing more.
typedef struct Text {
    char *bytes; ///< Terminated; NULL while empty.
    size_t count;
    size_t capacity;
    bool failed;
} Text;

/// As printf.
__attribute__((format(printf, 2, 3))) void text_add(Text *text, const char *format, ...);

/// Adds it with what XML and HTML need escaped; control characters but new lines become question
/// marks.
void text_add_escaped(Text *text, const char *words);

/// What is there; "" when nothing is.
const char *text_of(const Text *text);

void text_free(Text *text);

#endif
