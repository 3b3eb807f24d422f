// Private to module `guidance`.
#ifndef FAIRLEAD_GUIDANCE_PRIVATE_H
#define FAIRLEAD_GUIDANCE_PRIVATE_H

#include "guidance/guidance.h"
#include "show/show.h"

#define UNSENT (-1)

/// Guidance of one entity: ours that goes out, theirs that came.
typedef struct Guided {
    FlGuidance guidance;  // as it travels
    FlTime ahead;         // between those at best effort that we serve, on average,
    FlTime relayed_ahead; // and those that others relay it to; 0: none
    FlGuide guide;        // diameter 0: it has no guidance
    FlTime came_at;       // when that came last
    int32_t near_to;      // the connection by which it comes to us
    int16_t near_sent;    // what is known there; UNSENT: nothing
    bool near;            // our replica is where it is shown
    bool viewed;          // the game has a replica,
    uint8_t viewed_life;  // of this life
    bool relaying;        // something went from us to one at best effort
    bool carried;         // in a crowd: what came last did not come from its owner
} Guided;

struct Guidance {
    Guided *all;    // [detail]; in a crowd [guide_capacity]
    int32_t *slots; // in a crowd, as `all`: of which entity; FL__NONE: free. Else NULL
    HintsDue near_due;
    uint64_t *near;   // [connection][entity_words]: of what we serve, whose replica is near there,
    uint64_t *relays; // or which the other end relays to others who want guidance
};

#endif
