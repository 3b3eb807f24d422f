// Whether a conversation goes on, and what time it is in it.
#include "private.h"

void fl__link_close(FlLink *link)
{
    if (link->alive) {
        link->alive = false;
        fl__outbox_abandon(&link->out->outbox);
    }
}

FlTime fl__link_clock(const FlLink *link, FlTime now)
{
    return fl_span(now, link->out->epoch);
}

// The link clock at the caller's `now`. A caller's clock that goes back a little stands still here;
// one that was set back goes on from where it was, or the link would sleep until it had caught up.
FlTime fl__link_tell_time(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_clock(link, now);
    if (fl_span(link->now, clock) > SET_BACK_NS) {
        link->out->epoch = fl_span(now, link->now);
        clock = link->now;
    }
    link->now = fl__time_max(clock, link->now);
    return link->now;
}
