// What tests of vectors share: text that is made, kept in a file, and compared with it.
//
// A file of vectors is made by `unit_<name> --write` and compared by the test itself: a change of
// any byte or meaning shows as a difference to the file, and then FL_WIRE_VERSION must rise.
#ifndef FAIRLEAD_TESTS_VECTOR_SUPPORT_H
#define FAIRLEAD_TESTS_VECTOR_SUPPORT_H

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

/// Makes the whole text of a file.
typedef void VectorsFn(Text *text);

static inline void vectors_compare(const char *path, VectorsFn *make)
{
    static char made[TEXT_MAX];
    static char kept[TEXT_MAX];
    Text text = {made, sizeof made};
    make(&text);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(kept, 1, sizeof kept - 1, file);
    fclose(file);
    kept[size] = '\0';
    if (strcmp(made, kept) != 0) {
        print_error("%s differs: raise FL_WIRE_VERSION and run this with --write\n", path);
        fail();
    }
}

/// A program's exit code.
static inline int vectors_write(const char *path, VectorsFn *make)
{
    static char made[TEXT_MAX];
    Text text = {made, sizeof made};
    make(&text);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fputs(made, file) < 0 || fclose(file) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

#endif
