// Light connections of a crowd, for the session.
#ifndef FAIRLEAD_CROWD_LIGHT_H
#define FAIRLEAD_CROWD_LIGHT_H

#include "attention/attention.h"

extern const Feature fl__feature_crowd;

struct FlCrowd *fl__light_crowd(const FlSession *session); // NULL: none, or not in yet
FlResult fl__light_create(FlSession *session);
void fl__light_destroy(FlSession *session);
size_t fl__light_bytes(const FlSessionDef *def); // seals not counted

/// By which plane members carry each other's updates. Writing puts the kind first.
void fl__plan_message_write(FlWriter *w, uint8_t order);
bool fl__plan_message_read(FlReader *r, uint8_t *order);

/// True: the datagram was a light connection's, taken or counted.
bool fl__light_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime arrival);
bool fl__light_next(FlSession *session, FlTime now, FlOutgoing *out);

#endif
