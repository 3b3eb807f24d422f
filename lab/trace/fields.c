// Fields of CSV: text up to a comma, or between quotes.
#include "lab/trace/fields.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/// The quoted field whose opening quote is at field->text.
static bool find_quoted(Field *field)
{
    const char *at = field->text + 1;
    while (*at != '\0' && (*at != '"' || at[1] == '"')) {
        at += *at == '"' ? 2 : 1;
    }
    if (*at == '\0') {
        return false;
    }
    field->text++;
    field->end = at++;
    while (is_blank(*at)) {
        at++;
    }
    field->next = at;
    return *at == ',' || *at == '\0';
}

bool field_find(const char *at, Field *field)
{
    *field = (Field){.begin = at};
    while (is_blank(*at)) {
        at++;
    }
    field->text = at;
    if (*at == '"') {
        return find_quoted(field);
    }
    while (*at != ',' && *at != '\0') {
        at++;
    }
    field->next = at;
    while (at > field->text && is_blank(at[-1])) {
        at--;
    }
    field->end = at;
    return true;
}
