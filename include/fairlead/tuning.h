// fairlead/tuning.h: settings of a session that experiments vary, and few games do.
#ifndef FAIRLEAD_TUNING_H
#define FAIRLEAD_TUNING_H

#include "fairlead/agree.h"
#include "fairlead/base.h"
#include "fairlead/call.h"
#include "fairlead/clock.h"
#include "fairlead/crowd.h"
#include "fairlead/link.h"
#include "fairlead/motion.h"
#include "fairlead/seal.h"
#include "fairlead/send.h"
#include "fairlead/show.h"
#include "fairlead/timeline.h"
#include "fairlead/wire.h"

/// The defaults, which fl_session_def_default() sets, are right for games of a few dozen players.
typedef struct FlSessionTuning {
    FlLinkDef link;          ///< Of every connection. Its timeout is FlSessionDef.timeout_ns.
    FlShowDef show;          ///< How others' entities are shown here, until fl_entity_show.
    FlCallsDef calls;        ///< How many calls may be open at once, and for how long.
    FlLagsDef lags;          ///< When actions are played; the same at all. `self` is filled in.
    FlFocusDef focus;        ///< How policies `focus` and `focus+equal` spend the upload.
    FlCrowdDef crowd;        ///< Crowds: how. Who is who and what may go out is filled in.
    FlTimeMode time_mode;    ///< By which clock others' updates are placed here.
    int32_t direct_capacity; ///< Client: peers that it talks to directly, the host included. 0: as
                             ///< its own `topology` needs, all of them in a mesh or hybrid, 1 else.
                             ///< In a crowd, peer_capacity: it may take over from the host. Host:
                             ///< all, always.
    int32_t item_capacity;   ///< Per connection: updates, states and inputs under way whose arrival
                             ///< is awaited; with more under way, updates and states wait. A power
                             ///< of two.
    int32_t path_capacity;   ///< Per entity: updates remembered, for what receivers saw when.
    FlTime gather_ns;        ///< An update waits this long for others to share its packet.
    FlTime guide_from_ns;    ///< Receivers at best effort are guided once their updates come less
                             ///< often than this; more often, updates serve them better. 0: always.
    FlTime join_every_ns;    ///< Client: asks this often until the host answers.
    int32_t update_least_bytes; ///< A datagram with updates counts in the upload as so much at
                                ///< least, to measure what longer ones would do; at most 256.
} FlSessionTuning;

#endif
