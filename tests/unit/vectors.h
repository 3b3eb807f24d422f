// How the files of vectors are written: as text. See test_vectors.c.
#ifndef FAIRLEAD_TESTS_VECTORS_H
#define FAIRLEAD_TESTS_VECTORS_H

#include "support.h"

#include <stdio.h>

#define TEXT_MAX (1 << 20)

typedef struct Text {
    char *at;
    size_t left;
} Text;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void
say(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < text->left);
    text->at += length;
    text->left -= (size_t)length;
}

// In as few digits as tell it exactly.
static inline void say_real(Text *text, double x)
{
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, x);
        if (strtod(digits, NULL) == x) {
            break;
        }
    }
    say(text, "%s", digits);
}

static inline void say_named(Text *text, const char *name, double x)
{
    say(text, ", \"%s\": ", name);
    say_real(text, x);
}

static inline void say_reals(Text *text, const char *name, const double *x, int32_t count)
{
    say(text, ", \"%s\": ", name);
    for (int32_t i = 0; i < count; i++) {
        say(text, "%s", i == 0 ? "[" : ", ");
        say_real(text, x[i]);
    }
    say(text, "]");
}

static inline void say_vec3(Text *text, const char *name, FlVec3 v)
{
    const double x[3] = {v.x, v.y, v.z};
    say_reals(text, name, x, 3);
}

static inline void say_hex(Text *text, const char *name, const uint8_t *bytes, int32_t count)
{
    say(text, "\"%s\": \"", name);
    for (int32_t i = 0; i < count; i++) {
        say(text, "%02x", bytes[i]);
    }
    say(text, "\"");
}

/// Each makes the whole text of spec/vectors/<name>.json.
void vectors_crowd(Text *text);
void vectors_fields(Text *text);
void vectors_link(Text *text);
void vectors_message(Text *text);
void vectors_own(Text *text);
void vectors_seal(Text *text);
void vectors_update(Text *text);

#endif
