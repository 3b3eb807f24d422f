// Private to module `entity`: what is sent of entities until it has arrived (repeat.c).
#ifndef FAIRLEAD_ENTITY_REPEAT_PRIVATE_H
#define FAIRLEAD_ENTITY_REPEAT_PRIVATE_H

#include "packet/packet.h"

/// How a feature that has a set of entity slots due over each connection serves one of them.
typedef struct Repeat {
    int32_t turn; // the entity slot at which the next packet goes on
    FlTime again; // something went out, and has arrived by then or goes again; else FL_FOREVER
} Repeat;

/// The slot whose turn it is; FL__NONE: nothing is due.
int32_t fl__repeat_first(const FlSession *session, const uint64_t *due, const Repeat *repeat);

/// Writes what is due, one slot after the other. `write_slot`: false, if there was no room for it.
void fl__repeat_write(PacketOut *out, uint64_t *due, Repeat *repeat,
                      bool (*write_slot)(PacketOut *out, int32_t slot));

/// Something went out.
void fl__repeat_sent(const PacketOut *out, Repeat *repeat);

/// What has not arrived for long is due again, whatever became of it.
void fl__repeat_look(FlSession *session, int32_t connection, Repeat *repeat, const Feature *feature,
                     FlTime now);

/// An entity is gone. `due`: the sets of all connections.
void fl__repeat_gone(const FlSession *session, uint64_t *due, int32_t slot);

#endif
