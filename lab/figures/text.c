// Text that grows, by doubling.
#include "lab/figures/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool reserve(Text *text, size_t more)
{
    size_t wanted = text->count + more + 1;
    if (wanted <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity < 256 ? 256 : text->capacity * 2;
    capacity = capacity < wanted ? wanted : capacity;
    char *bytes = (char *)realloc(text->bytes, capacity);
    if (bytes == NULL) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void text_add(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0 && !text->failed && reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->count, (size_t)length + 1, format, again);
        text->count += (size_t)length;
    }
    va_end(again);
}

void text_add_escaped(Text *text, const char *words)
{
    for (; *words != '\0'; words++) {
        switch (*words) {
        case '&':
            text_add(text, "&amp;");
            break;
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        default: // bytes above ASCII go as they are
            text_add(text, "%c", (unsigned char)*words < ' ' && *words != '\n' ? '?' : *words);
        }
    }
}

const char *text_of(const Text *text)
{
    return text->bytes != NULL ? text->bytes : "";
}

void text_free(Text *text)
{
    free(text->bytes);
    *text = (Text){0};
}
