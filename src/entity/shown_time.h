// Private to module `entity`: which time of an entity's is shown.
#ifndef FAIRLEAD_ENTITY_SHOWN_TIME_H
#define FAIRLEAD_ENTITY_SHOWN_TIME_H

#include "entity/entity.h"

struct Entity;

/// What was shown last by lags.
typedef struct LagView {
    FlTime now, shown; // our own clock; its owner's time
    FlTime apart;      // that is not yet what lags say: how much more it is
    int32_t owner;
    uint32_t version;
    bool started, known;
} LagView;

/// What a picture at session time `time` is of; `now` is the same on our own clock.
typedef struct ShownTime {
    FlTime time;
    double rate;
} ShownTime;

ShownTime fl__shown_time(FlSession *session, struct Entity *entity, FlTime time, FlTime now);

/// The time at which an arrival counts.
FlTime fl__shown_arrival(FlSession *session, struct Entity *entity, FlTime arrived);

/// Whether entities may be shown this way here.
bool fl__shows_so(const FlSession *session, const FlShowDef *def);

#endif
