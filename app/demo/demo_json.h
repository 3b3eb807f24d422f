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

/// A number of an object, held within its bounds. False, and nothing changes, if there is none.
bool demo_json_number(const json_t *object, const char *key, double low, double high, double *out);

/// The same for a span in ms, from 0, and for a share in percent.
void demo_json_ms(const json_t *object, const char *key, double high_ms, FlTime *out);
void demo_json_percent(const json_t *object, const char *key, double high, int32_t *ppm);

#endif
