// Choices as JSON.
#include "app/page/web_choices.h"

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

void web_choices_add(json_t *list, const char *name, const char *help)
{
    json_array_append_new(list, json_pack("{s:s,s:s}", "name", name, "help", help));
}

json_t *web_choices_policies(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        web_choices_add(list, policies[i].name, policies[i].help);
    }
    return list;
}

void web_choices_refuse(json_t **refused, const json_t *asked, bool known)
{
    if (asked != NULL) {
        json_decref(*refused);
        *refused = known ? NULL : json_deep_copy(asked);
    }
}
