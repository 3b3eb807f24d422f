// Seconds to nanoseconds, with defined answers for every double.
#include "fairlead/base.h"

FlTime fl_span_from_seconds(double seconds)
{
    if (isnan(seconds)) {
        return 0;
    }
    double ns = seconds * 1e9;
    if (ns >= 9223372036854775807.0) {
        return INT64_MAX;
    }
    if (ns <= -9223372036854775808.0) {
        return INT64_MIN;
    }
    return (FlTime)llround(ns);
}
