// How datagrams travel between the nodes of a world: module `impair`, one object per direction, and
// one shared by all pairs that have none of their own.
//
// Nodes lie in a square by chance. Where a way is the shared one, the distance between its ends is
// added to what it draws, so that round trips differ without any memory per pair.
#ifndef LAB_WAYS_H
#define LAB_WAYS_H

#include "fairlead/impair.h"

typedef struct Ways {
    int32_t node_capacity;
    uint64_t seed;
    FlImpair **own;     ///< [from * node_capacity + to]; NULL: none of its own.
    int32_t *own_count; ///< [from]: where there are none, nobody looks.
    double *x, *y;      ///< [node]: in a square of side 1.
    FlImpair *shared;   ///< NULL: none.
    double side_ns;
} Ways;

/// Errors: FL_NO_MEMORY (ways_free then, too).
FL_NODISCARD FlResult ways_init(Ways *ways, int32_t node_capacity, uint64_t seed);
void ways_free(Ways *ways);

/// One direction; `link` counts the first time. Errors: FL_BAD_VALUE, FL_NO_MEMORY.
FL_NODISCARD FlResult ways_set(Ways *ways, int32_t from, int32_t to, FlTime now,
                               const FlImpairSettings *settings, uint32_t link);

/// All others. Errors: FL_BAD_VALUE (also for what lasts longer than a datagram), FL_NO_MEMORY.
FL_NODISCARD FlResult ways_default(Ways *ways, FlTime now, const FlImpairSettings *settings,
                                   FlTime side_ns);

/// What the distance between two nodes takes on a shared way.
FlTime ways_length(const Ways *ways, int32_t from, int32_t to);

/// What becomes of a datagram. False: there is no way.
bool ways_send(const Ways *ways, int32_t from, int32_t to, FlTime now, int32_t bytes, FlFate *fate);

#endif
