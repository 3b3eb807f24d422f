// Small pieces of JSON.
#include "app/demo/demo_json.h"

/// Offered by name; the page takes whatever fl_send_parse does.
static const struct {
    const char *name, *help;
} policies[] = {
    {"base", "every update to everybody, at once"},
    {"base/3", "every third update to everybody"},
    {"schedule1", "held back until errors are equal; the rest is dropped"},
    {"schedule1-thesis", "the same, as if nothing took time"},
    {"schedule2", "held back until errors are equal; the rest is sent late"},
    {"probabilistic", "a third of the updates, by chance, to whom is worst off"},
    {"probabilistic-2005", "the same, a fixed number of receivers each time"},
    {"probabilistic-fixed", "a third of the updates, by chance, the same for all"},
    {"deterministic", "a third of the updates, by a timetable"},
    {"deterministic-0,1,0", "the same, by the error of the update in use"},
    {"equal-0", "a third of the updates, most accurate"},
    {"equal-50", "a third of the updates, between accurate and fair"},
    {"equal-80", "a third of the updates, rather fair"},
    {"equal-100", "a third of the updates, most fair"},
};

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

void demo_json_choice(json_t *list, const char *name, const char *help)
{
    json_array_append_new(list, json_pack("{s:s,s:s}", "name", name, "help", help));
}

json_t *demo_json_policies(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        demo_json_choice(list, policies[i].name, policies[i].help);
    }
    return list;
}

void demo_json_refuse(json_t **refused, const json_t *asked, bool known)
{
    if (asked != NULL) {
        json_decref(*refused);
        *refused = known ? NULL : json_deep_copy(asked);
    }
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
