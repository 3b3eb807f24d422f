// Lags that fall do so slowly: what holds at a time, and the longest of them.
#include "private.h"

int64_t fl__lags_bucket(const FlLags *lags, FlTime time)
{
    FlTime eighth = lags->def.window_ns / FL__LAGS_BUCKETS;
    return time >= 0 ? time / eighth : -((eighth - 1 - time) / eighth);
}

// What is older than the window counts as long as there is nothing newer.
FlTime fl__lags_longest(const FlLags *lags, int32_t peer, FlTime now)
{
    const Fl__LagsWindow *window = &lags->peers[peer].window;
    FL_ASSERT(window->count > 0);
    int64_t oldest = fl__lags_bucket(lags, now) - FL__LAGS_BUCKETS + 1;
    oldest = oldest > window->newest ? window->newest : oldest;
    FlTime longest = INT64_MIN;
    for (int32_t slot = 0; slot < FL__LAGS_BUCKETS; slot++) {
        if (window->bucket[slot] >= oldest && window->longest[slot] > longest) {
            longest = window->longest[slot];
        }
    }
    return longest;
}

FlTime fl__lags_ramp_at(const Fl__LagsRamp *ramp, FlTime now, int32_t slew_ppm)
{
    FlTime gone = fl_span(now, ramp->at);
    gone = gone < 0 ? 0 : gone > FL_SEC(86400) ? FL_SEC(86400) : gone;
    FlTime moved = gone / MILLION * slew_ppm + gone % MILLION * slew_ppm / MILLION;
    FlTime way = fl_span(ramp->to, ramp->from);
    if (way > moved) {
        return ramp->from + moved;
    }
    return -way > moved ? ramp->from - moved : ramp->to;
}
