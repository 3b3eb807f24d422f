// One line of CSV, field by field.
#ifndef LAB_FIELDS_H
#define LAB_FIELDS_H

#include <stdbool.h>

/// A field's text without surrounding blanks and quotes, and the comma or terminator behind it.
typedef struct Field {
    const char *begin; ///< Where the field starts, for messages.
    const char *text;
    const char *end;
    const char *next;
} Field;

/// Finds the field that starts at `at`, in a terminated line. Quotes inside a quoted field are
/// doubled, and stay so. False: a quote is not closed, or something follows it.
bool field_find(const char *at, Field *field);

#endif
