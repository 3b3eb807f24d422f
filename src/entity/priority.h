// Private to module `entity`: how important an entity is to a viewer, and what goes first.
#ifndef FAIRLEAD_ENTITY_PRIORITY_PRIVATE_H
#define FAIRLEAD_ENTITY_PRIORITY_PRIVATE_H

#include "private.h"

#define PRIORITY_FULL 255 // what every pair begins with

struct Priorities {
    uint8_t *of;  // [detail][member]; 0: nothing of it goes there
    double *rank; // [entity slot]: of what is due, while a packet is written
};

static inline uint8_t *fl__priority_of(const FlSession *session, const Entity *entity,
                                       int32_t member)
{
    return &session->entities->priorities
                ->of[(int64_t)fl__detail_index(session, entity) * session->member_count + member];
}

FlResult fl__priorities_create(FlSession *session);
void fl__priorities_destroy(FlSession *session);

/// Ranks what is due over a connection: its rank by slot, 0 for what is not. False: nothing is.
bool fl__rank_due(FlSession *session, int32_t connection, FlTime time);

/// The slot of the highest rank, which it has no longer; FL__NONE: none is left.
int32_t fl__rank_take(FlSession *session);

#endif
