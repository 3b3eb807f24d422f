// When does the distance integral reach a goal? Its inverse, bracketed and safe.
#include "private.h"

// The goal is reached in (low, high]: `missing` of it is not yet there at low, `within` lies
// between the two.
typedef struct Bracket {
    FlTime low, high;
    double missing;
    double within;
} Bracket;

static void bracket_narrow(Bracket *bracket, const FlMotion *a, const FlMotion *b, FlTime guess)
{
    double part = fl__distance_integral(a, b, bracket->low, guess);
    if (part >= bracket->missing) {
        bracket->high = guess;
        bracket->within = part;
    } else {
        bracket->low = guess;
        bracket->missing -= part;
        bracket->within -= part;
    }
}

// Strides out from `low`, doubling, until the goal lies within the last stride. False if it does
// not by `latest`.
static bool bracket_find(Bracket *bracket, const FlMotion *a, const FlMotion *b, FlTime latest)
{
    FlTime stride = FL_MS(1);
    while (bracket->low < latest) {
        FlTime end = fl_time_add(bracket->low, stride);
        bracket->high = fl_time_min(end, latest);
        bracket->within = fl__distance_integral(a, b, bracket->low, bracket->high);
        if (bracket->within >= bracket->missing) {
            return true;
        }
        bracket->missing -= bracket->within;
        bracket->low = bracket->high;
        stride = stride < FL_FOREVER / 2 ? stride * 2 : FL_FOREVER;
    }
    return false;
}

// Newton's step from the end that is nearer to the goal (the integrand is the slope), held inside
// the bracket.
static FlTime newton_guess(const Bracket *bracket, const FlMotion *a, const FlMotion *b)
{
    double beyond = bracket->within - bracket->missing;
    bool from_low = bracket->missing < beyond;
    FlTime end = from_low ? bracket->low : bracket->high;
    FlVec3 gap = fl_vec3_sub(fl_motion_position(a, end), fl_motion_position(b, end));
    double left = from_low ? bracket->missing : -beyond;
    FlTime guess = fl_time_add(end, fl_span_from_seconds(left / fl_vec3_length(gap)));
    if (guess <= bracket->low) {
        return bracket->low + 1;
    }
    return guess < bracket->high ? guess : bracket->high - 1;
}

FlResult fl__distance_integral_reaches(const FlMotion *a, const FlMotion *b, FlTime from,
                                       FlTime latest, double goal, FlTime *when)
{
    *when = latest;
    if (!isfinite(goal) || !fl__motion_finite(a) || !fl__motion_finite(b)) {
        return FL_BAD_VALUE;
    }
    if (goal <= 0.0) {
        *when = from;
        return FL_OK;
    }
    Bracket bracket = {.low = from, .high = from, .missing = goal};
    if (!bracket_find(&bracket, a, b, latest)) {
        return FL_NOT_FOUND;
    }
    // Every third round halves, so that a slope that misleads Newton costs a logarithm, not the
    // interval's length.
    for (int32_t round = 1; bracket.high - bracket.low > 1; round++) {
        FlTime middle = bracket.low + (bracket.high - bracket.low) / 2;
        bracket_narrow(&bracket, a, b, round % 3 == 0 ? middle : newton_guess(&bracket, a, b));
    }
    bool high_is_nearer = bracket.within - bracket.missing <= bracket.missing;
    *when = high_is_nearer ? bracket.high : bracket.low;
    return FL_OK;
}
