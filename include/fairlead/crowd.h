// fairlead/crowd.h: a thousand players, each with a home connection.
//
// Everybody has one *avatar*, and its number is its player's. What one player sees of another comes
// one of two ways:
//
// - *focus*: the few it looks at most. It asks their owner (LOOK), who sends every frame. An owner
//   with more watchers than its upload bears sends some of them on (REDIRECT) to watchers with
//   spare upload, who pass its updates on at once: a tree that grows from the owner. Who hears
//   nothing for `silence_ns` asks again, elsewhere.
// - *best effort*: all others, about once a second. One update alone would be mostly headers, so
//   players carry each other's: everybody tells its neighbours, and each neighbour passes on what
//   it was told to its own, all in one packet (PARCEL). One hop more, and never two.
//
// Who is whose neighbour is a finite projective plane (docs/decisions/0018-crowd.md): with about n
// players each has about sqrt(n) neighbours, and any two that are none have exactly one neighbour
// in common, who carries between them. Everybody works that out from the list of members alone.
//
// A *lane* is a direct way to another player. It needs no clock, no repetition and no order: all
// that travels on it is stamped with session time and overtaken by the next. Lanes are made by who
// can introduce two players (a session's host), and are few.
//
// Like all rooms it does no I/O: packets go in and out, all times are session time. Sessions have
// one ready (FL_TOPOLOGY_CROWD, fl_session_crowd).
//
// Threads: crowds share nothing; one thread at a time per crowd.
#ifndef FAIRLEAD_CROWD_H
#define FAIRLEAD_CROWD_H

#include "fairlead/base.h"
#include "fairlead/motion.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- planes

/// A plane of order q has q * q + q + 1 seats, each with q or q + 1 neighbours. Orders are primes,
/// up to this; 0: no plane.
#define FL_PLANE_ORDER_MAX 61

/// The largest order whose seats `players` can all fill; 0 for fewer than 7.
FL_API int32_t fl_plane_order_for(int32_t players);
FL_API int32_t fl_plane_seats(int32_t order);

/// Whether two seats are neighbours. A few seats (those on a curve) are neighbours of themselves.
FL_API bool fl_plane_linked(int32_t order, int32_t a, int32_t b);

/// The one seat that is a neighbour of both, for a != b. If a and b are neighbours, it may be one
/// of them.
FL_API int32_t fl_plane_common(int32_t order, int32_t a, int32_t b);

/// Neighbour `i` of a seat, 0 to order; itself included where it is one.
FL_API int32_t fl_plane_neighbour(int32_t order, int32_t seat, int32_t i);

// ---------------------------------------------------------------- making one

typedef struct FlCrowdDef {
    int32_t self;            ///< Our number.
    int32_t first;           ///< Numbers from here on play; those before are not in the crowd.
    int32_t member_capacity; ///< Numbers are below this; at most 4096.
    int32_t lane_capacity;   ///< Lanes at once; with `shared` at most 64.
    int32_t stream_capacity; ///< Watchers at once that we serve, of whomever.
    int32_t focus_count;     ///< How many we watch.
    FlTime frame_ns;         ///< Between two updates to a watcher.
    FlTime parcel_ns;        ///< Between two updates at best effort.
    FlTime silence_ns;       ///< A source not heard from for so long is left for another.
    FlTime extra_ns;         ///< One hop more may cost so much.
    double upload_bytes_s;   ///< What we plan with; 0: no limit.
    int32_t overhead_bytes;  ///< Of every datagram, below us.
    bool shared;             ///< False: lanes to everybody, and nobody carries anything.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_crowd_def_default(); leave alone.
} FlCrowdDef;

/// 64 lanes, 128 streams, focus 4 at 20 Hz, best effort every 950 ms, 300 ms of silence, 100 ms for
/// one hop more, no limit, 46 bytes of headers, shared.
FL_API FlCrowdDef fl_crowd_def_default(void);

typedef struct FlCrowd FlCrowd;

/// Reserves everything it will ever use. `world` is copied.
/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (a setting out of its range).
FL_API FL_NODISCARD FlResult fl_crowd_create(const FlCrowdDef *def, const FlWorld *world,
                                             FlTime now, FlCrowd **crowd);
FL_API void fl_crowd_destroy(FlCrowd *crowd);
FL_API size_t fl_crowd_memory(const FlCrowdDef *def);

// ---------------------------------------------------------------- who is there

/// Somebody came or went.
FL_API void fl_crowd_member(FlCrowd *crowd, int32_t member, bool present);

/// The plane from now on, the same for all; one of fl_plane_order_for's.
FL_API void fl_crowd_plan(FlCrowd *crowd, int32_t order);

/// The next member to whom there should be a lane: have us introduced. Asked for again every two
/// seconds while there is none. False: nobody.
FL_API bool fl_crowd_wanted(FlCrowd *crowd, FlTime now, int32_t *member);

/// There is a lane to a member; both ends learn so. Errors: FL_FULL.
FL_API FL_NODISCARD FlResult fl_crowd_lane_open(FlCrowd *crowd, int32_t member, FlTime now);

/// What goes over it arrives from now on: a word goes at once.
FL_API void fl_crowd_lane_greet(FlCrowd *crowd, int32_t member);

/// There is none any more.
FL_API void fl_crowd_lane_close(FlCrowd *crowd, int32_t member);

/// The next lane that is over and should be closed; the other end knows, or will find out. False:
/// none.
FL_API bool fl_crowd_parted(FlCrowd *crowd, FlTime now, int32_t *member);

// ---------------------------------------------------------------- packets

/// No packet is longer.
#define FL_CROWD_PACKET_BYTES 1100

/// A packet came over a member's lane. What is wrong with it is counted.
FL_API void fl_crowd_receive(FlCrowd *crowd, int32_t from, const void *bytes, int32_t count,
                             FlTime now);

/// Less room than this is not worth a packet.
#define FL_CROWD_ROOM_BYTES 200

/// The next packet to go, into at most `room` bytes (FL_CROWD_ROOM_BYTES or more), and over whose
/// lane. False: none now.
FL_API FL_NODISCARD bool fl_crowd_next(FlCrowd *crowd, FlTime now, uint8_t *bytes, int32_t room,
                                       int32_t *count, int32_t *to);

/// When there is something to do, if nothing else happens before.
FL_API FlTime fl_crowd_deadline(const FlCrowd *crowd, FlTime now);

// ---------------------------------------------------------------- playing

/// Our avatar, every frame; `state->time` is session time. It travels as a straight motion.
/// Errors: FL_BAD_VALUE (not finite).
FL_API FL_NODISCARD FlResult fl_crowd_set(FlCrowd *crowd, const FlState *state);

/// A respawn or teleport of our avatar.
FL_API void fl_crowd_cut(FlCrowd *crowd);

/// How much we look at somebody, 0 or more; the `focus_count` highest are watched. Call it as often
/// as you like.
FL_API void fl_crowd_look(FlCrowd *crowd, int32_t member, double attention);

typedef struct FlCrowdView {
    bool watched;    ///< In focus, and coming.
    FlTime stamp;    ///< Of the newest update,
    FlTime arrived;  ///< and its arrival.
    int32_t via;     ///< Who told us; the player itself: directly.
    int32_t hops;    ///< Between its owner and us.
    uint32_t life;   ///< Low bits.
    FlMotion motion; ///< What it does.
} FlCrowdView;

/// What we know of a player. Errors: FL_NOT_FOUND (nothing yet, or not there).
FL_API FL_NODISCARD FlResult fl_crowd_view(const FlCrowd *crowd, int32_t member, FlCrowdView *view);

/// Where everybody is at a time: `member_capacity` positions; those of whom nothing is known stay
/// as they are. Returns how many were known.
FL_API int32_t fl_crowd_positions(const FlCrowd *crowd, FlTime time, FlVec3 *positions);

/// As distributor of what we carry: the stamp of the newest update of `owner` that is known to have
/// reached `to` by us at best effort. Errors: FL_NOT_FOUND.
FL_API FL_NODISCARD FlResult fl_crowd_carried(const FlCrowd *crowd, int32_t owner, int32_t to,
                                              FlTime *stamp);

// ---------------------------------------------------------------- counters

typedef struct FlCrowdStats {
    int32_t lanes;           ///< Open.
    int32_t planned;         ///< Of these, to neighbours.
    uint64_t opened;         ///< Lanes that were ever opened.
    int32_t watchers;        ///< That we serve,
    int32_t passed_on;       ///< of these, with somebody else's updates.
    int32_t sources;         ///< Whom we watch.
    int32_t spare;           ///< Watchers that our upload would bear on top.
    uint64_t parcels;        ///< Sent,
    uint64_t parcel_updates; ///< and updates in them.
    uint64_t streamed;       ///< Updates sent to watchers,
    uint64_t forwarded;      ///< of these, somebody else's.
    uint64_t redirects;      ///< Watchers that we sent on.
    uint64_t recoveries;     ///< Sources that we left because they were silent.
    uint64_t malformed;      ///< Packets dropped: no sender writes that.
    uint64_t overtaken;      ///< Updates received again, or after a newer one.
    uint64_t early;          ///< Updates dropped: stamped later than now.
    uint64_t
        contradictions; ///< What was carried to us cannot be true, by what its owner said next.
    uint64_t strangers; ///< Updates dropped: of nobody who is there, or from who carries none.
} FlCrowdStats;

FL_API FlCrowdStats fl_crowd_stats(const FlCrowd *crowd);

/// How often what a member carried to us could not be true.
FL_API uint32_t fl_crowd_contradictions(const FlCrowd *crowd, int32_t member);

#endif
