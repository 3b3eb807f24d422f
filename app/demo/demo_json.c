// Small pieces of JSON.
#include "app/demo/demo_json.h"

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

json_t *demo_json_shots(const DemoRow *row)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < row->shot_count; i++) {
        json_array_append_new(list, demo_json_length((double)row->shot[i][0]));
        json_array_append_new(list, demo_json_length((double)row->shot[i][1]));
    }
    return list;
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

void demo_json_ms(const json_t *object, const char *key, double high_ms, FlTime *out)
{
    double number;
    if (demo_json_number(object, key, 0.0, high_ms, &number)) {
        *out = (FlTime)(number * 1e6);
    }
}

void demo_json_percent(const json_t *object, const char *key, double high, int32_t *ppm)
{
    double number;
    if (demo_json_number(object, key, 0.0, high, &number)) {
        *ppm = (int32_t)(number * 1e4);
    }
}
