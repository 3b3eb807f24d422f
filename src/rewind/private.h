// Private to module `rewind`.
//
//   rewind.c          a frame on another player's screen, replayed
//   show_settings.c   SHOWN: how members show entities, out and in
#ifndef FAIRLEAD_REWIND_PRIVATE_H
#define FAIRLEAD_REWIND_PRIVATE_H

#include "rewind/rewind.h"

#include "send/send.h"

/// How a member shows entities, as it says.
typedef struct ShowSettings {
    bool known;
    FlTime from; // session time at which it began to; 0: always
    FlShowDef def;
    int32_t change_count; // of Δ
    FlDeltaChange changes[FL_SHOW_CHANGES];
} ShowSettings;

struct Rewind {
    ShowSettings *all;   // [connection] what it shows unless it says otherwise,
    ShowSettings *views; // [connection][entity slot] and what it says otherwise
    uint64_t *all_due;   // [connection] ours are still to be sent over it
    uint64_t *due;       // [entity slot] how we show these is still to be sent
    uint64_t *otherwise; // [entity slot] the game shows these in a way of their own,
    FlTime *since;       // [entity slot] from this session time on
    FlLedgerSent *sent;  // room for one history
    int32_t sent_capacity;
    FlShow show; // the screen being replayed
};

/// SHOWN: how its sender shows one entity, or all.
typedef struct ShownMessage {
    bool one;
    uint16_t number;
    ShowSettings settings;
} ShownMessage;

/// Writes it with its kind; reads it behind that. False: no sender writes that.
void fl__shown_write(FlWriter *w, const ShownMessage *m);
FL_NODISCARD bool fl__shown_read(FlReader *r, const FlWorld *world, ShownMessage *m);

/// How the member at the other end of a connection shows an entity.
const ShowSettings *fl__show_settings_of(const FlSession *session, int32_t connection,
                                         int32_t slot);

#endif
