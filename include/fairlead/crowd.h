// fairlead/crowd.h: settings and figures of a crowd: a thousand players, each with a home
// connection.
//
// A crowd is a session whose updates take another way (FL_TOPOLOGY_CROWD). What one player sees of
// an entity comes one of two ways:
//
// - *watched*: the few with most attention (fl_entity_attention). The watcher asks the owner
// (LOOK),
//   who sends every frame. An owner with more watchers than its upload bears sends some of them on
//   (REDIRECT) to watchers with spare upload, who forward its updates at once: a tree that grows
//   from the owner. A watcher that receives nothing for `silence_ns` asks again, elsewhere.
// - *best effort*: all others, about once a second. One update alone would be mostly headers, so
//   players carry each other's: every player sends to its neighbours, and each neighbour forwards
//   what it got to its own, all in one packet (BATCH). One hop more, and never two.
//
// Who is whose neighbour is a finite projective plane (docs/decisions/0018-crowd.md): with about n
// players each has about sqrt(n) neighbours, and any two that are none have exactly one neighbour
// in common, who carries between them. Every player works that out from the list of members alone.
//
// A *light connection* is a direct way to another player. It needs no clock, no repetition and no
// order: all that travels on it is stamped with session time and overtaken by the next. The host
// introduces the two ends. A call on what one watches goes over it to the owner, and the answer
// back; what gets lost is repeated through the host. States, events and ownership never do.
#ifndef FAIRLEAD_CROWD_H
#define FAIRLEAD_CROWD_H

#include "fairlead/base.h"

typedef struct FlCrowdDef {
    int32_t self;            ///< Our number.
    int32_t first;           ///< Numbers from here on play; those before are not in the crowd.
    int32_t member_capacity; ///< Numbers are below this; at most 4096.
    int32_t light_capacity;  ///< Light connections at once; with `shared` at most 64.
    int32_t entity_capacity; ///< Entities' numbers are below this.
    int32_t detail_capacity; ///< Entities with state, history and smoothing at once: ours, and
                             ///< those we watch. All others are known by their newest update.
    int32_t guide_capacity;  ///< Entities whose guidance is kept and carried at once, ours included
                             ///< (about 700 bytes each). Others are shown by their updates.
    int32_t stream_capacity; ///< Watchers at once that we serve, of whomever.
    int32_t focus_count;     ///< How many we watch.
    FlTime frame_ns;         ///< Between two updates to a watcher.
    FlTime batch_ns;         ///< Between two updates at best effort.
    FlTime silence_ns;       ///< A source that is silent for so long is left for another.
    FlTime extra_ns;         ///< One hop more may cost so much.
    double upload_bytes_s;   ///< What we plan with; 0: no limit.
    int32_t overhead_bytes;  ///< Of every datagram, below us.
    bool shared; ///< False: light connections to everybody, and no member carries anything.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_session_def_default(); leave alone.
} FlCrowdDef;

typedef struct FlCrowdStats {
    int32_t lights;         ///< Open.
    int32_t planned;        ///< Of these, to neighbours,
    int32_t neighbours;     ///< of so many.
    uint32_t opened;        ///< Light connections that were ever opened.
    int32_t watchers;       ///< That we serve,
    int32_t passed_on;      ///< of these, with other members' updates.
    int32_t sources;        ///< Whom we watch.
    int32_t spare;          ///< Watchers that our upload would bear on top.
    uint64_t batches;       ///< Sent,
    uint64_t batch_updates; ///< and updates in them.
    uint64_t streamed;      ///< Updates sent to watchers,
    uint64_t forwarded;     ///< of these, other members'.
    uint64_t guided;        ///< Guidance sent, ours and other members'.
    uint64_t redirects;     ///< Watchers that we sent on.
    uint64_t recoveries;    ///< Sources that we left because they were silent.
    uint64_t malformed;     ///< Packets dropped: no sender writes that.
    uint64_t overtaken;     ///< Updates received again, or after a newer one.
    uint64_t early;         ///< Updates dropped: stamped later than now.
    uint64_t
        contradictions; ///< What was carried to us cannot be true, by what its owner said next.
    uint64_t
        strangers; ///< Updates dropped: of no member who is there, or from one who carries none.
} FlCrowdStats;

#endif
