// JSON for machines, the same way in every command.
#ifndef APP_JSON_OUTPUT_H
#define APP_JSON_OUTPUT_H

#include <jansson.h>

/// A number, or null if it is not finite (JSON has no other word for that).
json_t *json_number(double value);

/// The document as text, every number with as few digits as name it; free() it. `flags` are
/// jansson's, such as JSON_INDENT(1). NULL: out of memory.
char *json_text(const json_t *document, size_t flags);

/// Prints the document on standard output and gives it back. NULL is fine: it means that memory ran
/// out while it was made. Answers the exit status; an error has been printed as `who`.
int json_print(json_t *document, const char *who);

#endif
