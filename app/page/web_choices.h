// What a page offers to choose from, and what of it was refused.
#ifndef APP_WEB_CHOICES_H
#define APP_WEB_CHOICES_H

#include <jansson.h>
#include <stdbool.h>

/// Appends {"name", "help"} to a list of choices.
void web_choices_add(json_t *list, const char *name, const char *help);

/// The policies that pages offer. A new reference.
json_t *web_choices_policies(void);

/// Keeps a name that somebody asked for and that is not `known`, for the page to say so; forgets it
/// when a known one is asked for. `asked` may be NULL: it is as it was.
void web_choices_refuse(json_t **refused, const json_t *asked, bool known);

#endif
