// Where a thing is now, at a receiver who hears of a new course only a delay after it was taken.
//
// On the old course a delay ago, by the owner's silence, and from there on as far as it gets in a
// delay. For a straight course that is the same course a little late; for arcs and parabolas it is
// again one of the kind. So what a receiver shows is a plain motion, made when the update arrives;
// nothing is bent but what is shown after the silence itself means nothing any more (`trust`).
//
// Why not fade by the age of the update: the owner speaks when its own prediction is off, so an old
// update of a stream that is sent by threshold is as good as a new one. Faded by age, arena players
// are shown 3 to 4 % further off at half a second than this (docs/decisions/0023-effective-age.md).
#include "private.h"

FlTime fl__fade_holds_ns(const FlMotion *m)
{
    bool bends = m->model == FL_MODEL_QUADRATIC || m->model == FL_MODEL_CIRCULAR;
    FlTime straight = fl_time_min(fl__fade_time(m->fade.level), fl__fade_time(m->fade.vertical));
    return bends ? fl_time_min(straight, fl__fade_time(m->fade.curve)) : straight;
}
