// Small pieces of JSON.
#include "app/demo_json.h"

static json_t *whole(double x, double scale)
{
    return json_integer((json_int_t)(x * scale + (x < 0.0 ? -0.5 : 0.5)));
}

json_t *demo_json_length(double length)
{
    return whole(length, 100.0);
}

void demo_json_thing(json_t *list, const DemoThing *thing)
{
    int32_t state = !thing->there ? 0 : thing->alive ? 2 : 1;
    json_array_append_new(list, whole(thing->x, 100.0));
    json_array_append_new(list, whole(thing->y, 100.0));
    json_array_append_new(list, whole(thing->yaw, 1000.0));
    json_array_append_new(list, json_integer(state));
}

void demo_json_choice(json_t *list, const char *name, const char *help)
{
    json_array_append_new(list, json_pack("{s:s,s:s}", "name", name, "help", help));
}

bool demo_json_number(const json_t *object, const char *key, double low, double high, double *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        return false;
    }
    double number = json_number_value(value);
    *out = number < low ? low : number > high ? high : number;
    return true;
}
