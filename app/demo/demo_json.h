// What demos write into their frames, and read from commands, alike.
#ifndef APP_DEMO_JSON_H
#define APP_DEMO_JSON_H

#include <jansson.h>

#include "app/demo/demo_looks.h"

/// Appends four whole numbers: x and y in cm, yaw in mrad, and 0 not there, 1 dead, 2 alive. Whole
/// numbers are short, and enough to draw.
void demo_json_thing(json_t *list, const DemoThing *thing);

/// All shots of a row, x and y of each in cm. A new reference.
json_t *demo_json_shots(const DemoRow *row);

/// A length in cm.
json_t *demo_json_length(double length);

/// Appends {"name", "help"} to a list of choices.
void demo_json_choice(json_t *list, const char *name, const char *help);

/// The policies that pages offer. A new reference.
json_t *demo_json_policies(void);

/// Keeps a name that somebody asked for and that is not `known`, for the page to say so; forgets it
/// when a known one is asked for. `asked` may be NULL: it is as it was.
void demo_json_refuse(json_t **refused, const json_t *asked, bool known);

/// A number of an object, held within its bounds. False, and nothing changes, if there is none.
bool demo_json_number(const json_t *object, const char *key, double low, double high, double *out);

#endif
