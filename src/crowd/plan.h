// Private to module `crowd`: who sits where, who stands in for whom, who carries what to whom
// (plan.c).
#ifndef FAIRLEAD_CROWD_PLAN_H
#define FAIRLEAD_CROWD_PLAN_H

#include "crowd/engine.h"

/// Those who stand in for one empty seat.
#define FL__DUTIES 3

/// Who sits where.
typedef struct FlCrowdPlan {
    int32_t order, seats;
    int16_t *seat_of;   // per member who is there
    int16_t *sits_next; // and who shares its seat; FL__NOBODY: no more
    int16_t *holder;    // per seat: the first who sits there; FL__NOBODY: none
    int16_t *stand_in;  // per duty: whose it is, at empty seats
    int16_t *duty_next; // and the next one of the same member
    int16_t *duty_of;   // per member: the first of its duties; FL__NOBODY: none
    int32_t seats_left; // empty ones
    bool stale;
    FlTime again; // not to be made anew before
} FlCrowdPlan;

/// Works the plan out anew, if it is stale, and says whether it was.
bool fl__crowd_plan_renew(FlCrowd *crowd, FlTime now);

/// Whether two members are neighbours.
bool fl__crowd_linked(const FlCrowd *crowd, int32_t a, int32_t b);

/// Who carries between two members that are no neighbours; FL__NOBODY: none can.
int32_t fl__crowd_carrier(const FlCrowd *crowd, int32_t a, int32_t b);

#endif
