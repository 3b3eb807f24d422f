// Decimal numbers as they stand in text: read quickly and correctly rounded, whatever the locale of
// the program; written with as few digits as name them.
#ifndef LAB_NUMBER_H
#define LAB_NUMBER_H

#include "fairlead/base.h"

/// A number as written: (negative ? -1 : 1) * digits * 10^exponent, if `exact`.
typedef struct Decimal {
    uint64_t digits;
    int32_t exponent;
    bool negative;
    bool exact; ///< False: more digits than fit, or a monstrous exponent; the text itself must be
                ///< asked.
} Decimal;

/// Reads `[+-]digits[.digits][e[+-]digits]` (digits needed on one side of the point) at `text`,
/// which must be terminated somewhere. Answers where the number ends, or NULL if there is none. No
/// nan, inf, hex or spaces.
const char *decimal_scan(const char *text, Decimal *decimal);

/// The nearest double. `text` is what was scanned. Overflows to infinity.
double decimal_value(const Decimal *decimal, const char *text);

/// Seconds as nanoseconds, rounded to the nearest (a half away from zero). False: beyond +-126
/// years, the range in which any two times can be subtracted.
bool decimal_nanoseconds(const Decimal *decimal, const char *text, FlTime *time);

/// Reads `[+-]digits` up to `end`. False if it is anything else or does not fit.
bool integer_read(const char *text, const char *end, int64_t *value);

/// Reads exactly one finite number filling the whole string, for command lines.
bool number_read(const char *text, double *value);

#define NUMBER_TEXT_BYTES 32

/// With the fewest digits that read back as the same number (among 15 to 17, zeros at the end left
/// out): 0.09, not 0.089999999999999997.
void number_text(double value, char text[NUMBER_TEXT_BYTES]);

#endif
