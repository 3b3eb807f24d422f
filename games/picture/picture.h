// picture/picture.h: what the games' text pictures share.
//
// A picture is a grid of characters over a piece of ground. Terminal cells are about twice as high
// as wide, so a column is half as many units as a row. Text is put together by hand: no locale, no
// stdio. The caller has seen to it that there is room.
#ifndef PICTURE_PICTURE_H
#define PICTURE_PICTURE_H

#include "fairlead/base.h"

#define PICTURE_COLUMNS_MIN 16
#define PICTURE_ROWS_MIN 4

typedef struct Picture {
    char *cells; ///< rows * (columns + 1), newlines in place
    int32_t columns, rows;
    double left, top; ///< The corner of the first cell, in the game's units.
    double row_units; ///< Height of a row; half of it is a column.
} Picture;

/// A mark at a place, if the picture shows it.
static inline void picture_put(const Picture *p, double x, double y, char mark)
{
    double column = floor((x - p->left) / (0.5 * p->row_units));
    double row = floor((p->top - y) / p->row_units);
    if (column >= 0.0 && column < p->columns && row >= 0.0 && row < p->rows) {
        p->cells[(int32_t)row * (p->columns + 1) + (int32_t)column] = mark;
    }
}

/// Writes text and returns the end of it.
static inline char *picture_text(char *at, const char *text)
{
    while (*text != '\0') {
        *at++ = *text++;
    }
    return at;
}

/// Writes a number in at least `width` places, blanks first, and returns the end of it.
static inline char *picture_number(char *at, int64_t value, int32_t width)
{
    char digits[24];
    int32_t count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0) {
        digits[count++] = '-';
    }
    for (; width > count; width--) {
        *at++ = ' ';
    }
    while (count > 0) {
        *at++ = digits[--count];
    }
    return at;
}

#endif
