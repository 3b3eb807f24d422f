// How far a thing still gets that was last known to move like this: the table of times, and a
// motion beyond its horizon (fl__fade_reach has the slopes).
#include "private.h"

static const FlTime fade_times[FL_FADE_CODES] = {
    0,           FL_MS(25),   FL_MS(35),   FL_MS(50),  FL_MS(70),  FL_MS(100),
    FL_MS(140),  FL_MS(200),  FL_MS(280),  FL_MS(400), FL_MS(560), FL_MS(800),
    FL_MS(1100), FL_MS(1600), FL_MS(2200), FL_FOREVER,
};

FlTime fl__fade_ns(uint8_t code)
{
    FL_ASSERT(code < FL_FADE_CODES);
    return fade_times[code];
}

static const FlTime trust_times[FL_FADE_TRUSTS] = {0, FL_MS(1100), FL_MS(2200), FL_FOREVER};

FlTime fl__fade_trust_ns(uint8_t trust)
{
    return trust_times[trust];
}

uint8_t fl__fade_trust(FlTime silence)
{
    uint8_t trust = 1;
    while (trust_times[trust] < fl_time_add(silence, silence / 10)) {
        trust++;
    }
    return trust;
}

#define LONG_AGO ((FlTime)1 << 58) // quarters of it fit, and five times what fades

FlTime fl__fade_time(uint8_t code)
{
    return code == FL_FADE_NEVER ? LONG_AGO : fade_times[code];
}

double fl__fade_seconds(uint8_t code, FlTime beyond)
{
    return (double)fl__fade_reach(fl__fade_time(code), fl_time_min(beyond, LONG_AGO)) * 0.25e-9;
}

FlTime fl__fade_when(FlTime t, FlTime reach)
{
    if (reach <= t) {
        return reach;
    }
    return reach <= 2 * t ? 2 * reach - t : 2 * reach <= 5 * t ? 4 * reach - 5 * t : FL_FOREVER;
}

FlBeyond fl__beyond(const FlMotion *m, FlTime span)
{
    FlTime beyond = fl_time_min(fl_span(span, m->horizon_ns), LONG_AGO);
    FlBeyond b = {.beyond = beyond,
                  .level = fl__fade_time(m->fade.level),
                  .vertical = fl__fade_time(m->fade.vertical),
                  .curve = 4 * fl__fade_time(m->fade.curve)};
    b.reach = fl__fade_reach(b.level, beyond);
    b.rise = fl__fade_reach(b.vertical, beyond);
    b.rate = fl__fade_rate(b.level, beyond);
    b.rise_rate = fl__fade_rate(b.vertical, beyond);
    return b;
}
