// Decimal numbers, read quickly and rounded correctly.
//
// Up to 2^53 an integer is exact in a double, and so are the powers of ten up to 10^22. One
// multiplication or division of two exact values rounds once, so its result is the nearest double
// (Clinger, 1990). Traces hardly ever hold anything else; what is longer goes to strtod, which is
// right too but ten times slower.
#include "lab/trace/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_DIGITS (1ull << 53)
#define EXACT_POWER 22
#define EXPONENT_LIMIT 100000
#define NS_LIMIT 4000000000000000000ull

static const double power_of_ten[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *scan_digits(const char *text, Decimal *decimal)
{
    for (; is_digit(*text); text++) {
        if (decimal->digits > (UINT64_MAX - 9) / 10) {
            decimal->exact = false;
            continue;
        }
        decimal->digits = decimal->digits * 10 + (uint64_t)(*text - '0');
    }
    return text;
}

/// `text` stands behind the e. NULL if no digits follow.
static const char *scan_exponent(const char *text, Decimal *decimal)
{
    bool negative = *text == '-';
    if (*text == '-' || *text == '+') {
        text++;
    }
    if (!is_digit(*text)) {
        return NULL;
    }
    int32_t exponent = 0;
    for (; is_digit(*text); text++) {
        if (exponent > EXPONENT_LIMIT) {
            decimal->exact = false;
            continue;
        }
        exponent = exponent * 10 + (*text - '0');
    }
    decimal->exponent += negative ? -exponent : exponent;
    return text;
}

const char *decimal_scan(const char *text, Decimal *decimal)
{
    *decimal = (Decimal){.negative = *text == '-', .exact = true};
    if (*text == '-' || *text == '+') {
        text++;
    }
    const char *whole = text;
    text = scan_digits(text, decimal);
    bool any = text > whole;
    if (*text == '.') {
        const char *fraction = text + 1;
        text = scan_digits(fraction, decimal);
        any = any || text > fraction;
        if (text - fraction > EXPONENT_LIMIT) {
            decimal->exact = false;
        } else {
            decimal->exponent = -(int32_t)(text - fraction);
        }
    }
    if (!any) {
        return NULL;
    }
    return *text == 'e' || *text == 'E' ? scan_exponent(text + 1, decimal) : text;
}

double decimal_value(const Decimal *decimal, const char *text)
{
    if (!decimal->exact || decimal->digits > EXACT_DIGITS || decimal->exponent > EXACT_POWER ||
        decimal->exponent < -EXACT_POWER) {
        return strtod(text, NULL);
    }
    double value = (double)decimal->digits;
    value = decimal->exponent < 0 ? value / power_of_ten[-decimal->exponent]
                                  : value * power_of_ten[decimal->exponent];
    return decimal->negative ? -value : value;
}

/// digits * 10^exponent, rounded to the nearest integer; anything above NS_LIMIT if it is too
/// large.
static uint64_t scaled(uint64_t digits, int32_t exponent)
{
    for (; exponent > 0 && digits != 0 && digits <= NS_LIMIT; exponent--) {
        digits = digits > NS_LIMIT / 10 ? UINT64_MAX : digits * 10;
    }
    if (exponent >= 0) {
        return digits;
    }
    if (exponent < -20) {
        return 0;
    }
    for (; exponent < -1; exponent++) {
        digits /= 10;
    }
    return digits / 10 + (uint64_t)(digits % 10 >= 5);
}

bool decimal_nanoseconds(const Decimal *decimal, const char *text, FlTime *time)
{
    *time = 0;
    uint64_t magnitude = 0;
    if (decimal->exact) {
        magnitude = scaled(decimal->digits, decimal->exponent + 9);
    } else {
        double seconds = fabs(strtod(text, NULL));
        magnitude = seconds > 4e9 ? UINT64_MAX : (uint64_t)fl_span_from_seconds(seconds);
    }
    if (magnitude > NS_LIMIT) {
        return false;
    }
    *time = decimal->negative ? -(FlTime)magnitude : (FlTime)magnitude;
    return true;
}

bool integer_read(const char *text, const char *end, int64_t *value)
{
    *value = 0;
    bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+')) {
        text++;
    }
    if (text == end) {
        return false;
    }
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t digits = 0;
    for (; text < end; text++) {
        uint64_t digit = (uint64_t)(unsigned char)*text - '0';
        if (digit > 9 || digits > (limit - digit) / 10) {
            return false;
        }
        digits = digits * 10 + digit;
    }
    *value = negative ? (int64_t)(0 - digits) : (int64_t)digits;
    return true;
}

bool number_read(const char *text, double *value)
{
    Decimal decimal;
    const char *end = decimal_scan(text, &decimal);
    if (end == NULL || *end != '\0') {
        return false;
    }
    *value = decimal_value(&decimal, text);
    return isfinite(*value);
}

/// "1e+05" to "1e5".
static void shorten_exponent(char *text)
{
    char *to = strchr(text, 'e');
    if (to == NULL) {
        return;
    }
    to++;
    const char *from = to;
    to += *from == '-' ? 1 : 0;
    from += *from == '-' || *from == '+' ? 1 : 0;
    from += strspn(from, "0");
    memmove(to, from, strlen(from) + 1);
}

void number_text(double value, char text[NUMBER_TEXT_BYTES])
{
    // 15 digits always survive from text to number and back to text, 17 from number to text and
    // back; %g leaves out zeros at the end.
    for (int digits = 15; digits <= 17; digits++) {
        double again;
        snprintf(text, NUMBER_TEXT_BYTES, "%.*g", digits, value);
        shorten_exponent(text);
        if (number_read(text, &again) && again == value) {
            return;
        }
    }
}
