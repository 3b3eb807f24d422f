// The crowd's engine: who carries whose updates to whom, and who watches what. Packets go in and
// out, all times are session time; light.c has the datagrams, entities and members.
//
// Entities are known by their numbers. Of others' it keeps the newest update; what they are, and
// how they are shown, is module `entity`'s.
#ifndef FAIRLEAD_CROWD_ENGINE_H
#define FAIRLEAD_CROWD_ENGINE_H

#include "fairlead/crowd.h"
#include "fairlead/motion.h"
#include "fairlead/show.h"
#include "fairlead/wire.h"

#define FL__NOBODY (-1)

// ---------------------------------------------------------------- planes

/// A plane of order q has q * q + q + 1 seats, each with q or q + 1 neighbours. Orders are primes,
/// up to this; 0: no plane.
#define FL_PLANE_ORDER_MAX 61

/// The order with which `players` have the fewest neighbours; 0 for fewer than 7.
int32_t fl__plane_order_for(int32_t players);
int32_t fl__plane_seats(int32_t order);

/// So many seats at most has a plane for them: a tenth may be empty.
static inline int32_t fl__plane_seats_most(int32_t players)
{
    return players * 10 / 9;
}

/// Whether two seats are neighbours. A few seats (those on a curve) are neighbours of themselves.
bool fl__plane_linked(int32_t order, int32_t a, int32_t b);

/// The one seat that is a neighbour of both, for a != b. If a and b are neighbours, it may be one
/// of them.
int32_t fl__plane_common(int32_t order, int32_t a, int32_t b);

/// Neighbour `i` of a seat, 0 to order; itself included where it is one.
int32_t fl__plane_neighbour(int32_t order, int32_t seat, int32_t i);

// ---------------------------------------------------------------- making one

typedef struct FlCrowd FlCrowd;

/// Reserves everything it will ever use. `world` is copied.
/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (a setting out of its range).
FL_NODISCARD FlResult fl__crowd_create(const FlCrowdDef *def, const FlWorld *world, FlTime now,
                                       FlCrowd **crowd);
void fl__crowd_destroy(FlCrowd *crowd);
size_t fl__crowd_memory(const FlCrowdDef *def);

// ---------------------------------------------------------------- who is there

/// A member came or went.
void fl__crowd_member(FlCrowd *crowd, int32_t member, bool present);

/// The plane from now on, the same for all; one of fl__plane_order_for's.
void fl__crowd_plan(FlCrowd *crowd, int32_t order);

/// The next member to whom there should be a light connection: have us introduced. Asked for again
/// every two seconds while there is none. False: no member.
bool fl__crowd_next_to_open(FlCrowd *crowd, FlTime now, int32_t *member);

/// There is a light connection to a member; both ends learn so. Errors: FL_FULL.
FL_NODISCARD FlResult fl__crowd_light_open(FlCrowd *crowd, int32_t member, FlTime now);

/// What goes over it arrives from now on: a word goes at once.
void fl__crowd_light_greet(FlCrowd *crowd, int32_t member);

/// It is used in a moment.
void fl__crowd_light_soon(const FlCrowd *crowd, int32_t member);

/// Whether it is to a neighbour, who sends at least once a second.
bool fl__crowd_light_planned(const FlCrowd *crowd, int32_t member);

/// There is none any more.
void fl__crowd_light_close(FlCrowd *crowd, int32_t member);

/// The next light connection that is over and should be closed; the other end knows, or will find
/// out. False: none.
bool fl__crowd_next_to_close(FlCrowd *crowd, FlTime now, int32_t *member);

// ---------------------------------------------------------------- packets

/// No packet is longer.
#define FL_CROWD_PACKET_BYTES 1100

/// A packet came over a member's light connection. What is wrong with it is counted.
void fl__crowd_receive(FlCrowd *crowd, int32_t from, const void *bytes, int32_t count, FlTime now);

/// Less room than this is not worth a packet.
#define FL_CROWD_ROOM_BYTES 200

/// The next packet to go, into at most `room` bytes (FL_CROWD_ROOM_BYTES or more), and over whose
/// light connection. False: none now.
FL_NODISCARD bool fl__crowd_next(FlCrowd *crowd, FlTime now, uint8_t *bytes, int32_t room,
                                 int32_t *count, int32_t *to);

/// A datagram went out, with all headers, and so many STREAMs in it. Called for what the crowd did
/// not write itself, such as a seal's own packets: it takes of the same upload.
void fl__crowd_sent(FlCrowd *crowd, int32_t bytes, int32_t streams);

/// When there is something to do, if nothing else happens before.
FlTime fl__crowd_deadline(const FlCrowd *crowd, FlTime now);

/// No message is longer.
#define FL_CROWD_MESSAGE_BYTES 300

/// Sends a short message to a member over its light connection, once: it may be lost. False: there
/// is no light connection over which it is known to arrive, or no room.
bool fl__crowd_message(FlCrowd *crowd, int32_t member, const uint8_t *bytes, int32_t count);

/// To be called when one comes.
typedef void FlCrowdMessaged(void *ctx, int32_t from, const uint8_t *bytes, int32_t count,
                             FlTime now);

void fl__crowd_on_message(FlCrowd *crowd, FlCrowdMessaged *message_fn, void *ctx);

// ---------------------------------------------------------------- entities

/// An entity is there: whose it is, since which epoch. Owner FL__NOBODY: it is there no more.
void fl__crowd_entity(FlCrowd *crowd, uint32_t number, int32_t owner, uint16_t epoch);

/// An entity of ours has moved: the newest update, as it travels, and its stamp. Errors: FL_FULL
/// (more of ours than `detail_capacity`).
FL_NODISCARD FlResult fl__crowd_export(FlCrowd *crowd, uint32_t number, const uint8_t *packed,
                                       int32_t bytes, FlTime stamp);

/// What an entity of ours will do, beside its updates. Errors: FL_FULL (`guide_capacity`);
/// FL_BAD_VALUE (too long: it has no guidance then); FL_WOULD_BLOCK (none of ours yet).
FL_NODISCARD FlResult fl__crowd_guide(FlCrowd *crowd, const FlGuidance *guidance);

/// To be called when newer guidance of another's entity comes. `carried`: not from its owner.
typedef void FlCrowdGuidedFn(void *ctx, const FlGuidance *guidance, bool carried, FlTime now);

void fl__crowd_on_guided(FlCrowd *crowd, FlCrowdGuidedFn *guided_fn, void *ctx);

/// How much we look at an entity, 0 or more; the `focus_count` highest are watched.
void fl__crowd_look(FlCrowd *crowd, uint32_t number, double attention);

/// To be called when an entity is watched, or no more.
typedef void FlCrowdWatched(void *ctx, uint32_t number, bool watched);

void fl__crowd_on_watched(FlCrowd *crowd, FlCrowdWatched *watched_fn, void *ctx);

typedef struct FlCrowdView {
    bool watched;    ///< And coming.
    FlTime stamp;    ///< Of the newest update,
    FlTime arrived;  ///< and its arrival.
    int32_t via;     ///< Who sent it to us: its owner, or who carried it.
    int32_t hops;    ///< Between its owner and us.
    uint32_t life;   ///< Low bits.
    FlMotion motion; ///< What it does.
} FlCrowdView;

/// What we know of others' entities; `motion` only if asked for, since it is unpacked then. Errors:
/// FL_NOT_FOUND (nothing yet, or not there).
FL_NODISCARD FlResult fl__crowd_view(const FlCrowd *crowd, uint32_t number, bool motion,
                                     FlCrowdView *view);

/// Where others' entities are at a time: `entity_capacity` positions; those of which nothing is
/// known stay as they are. Returns how many were known.
int32_t fl__crowd_positions(const FlCrowd *crowd, FlTime time, FlVec3 *positions);

/// As distributor of what we carry: the stamp of the newest update of an entity of `owner` that is
/// known to have reached `to` by us at best effort. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult fl__crowd_carried(const FlCrowd *crowd, int32_t owner, int32_t to,
                                        FlTime *stamp);

// ---------------------------------------------------------------- what is kept of an entity

/// An entity of ours, as it travels.
typedef struct FlCrowdOwn {
    int32_t of; // FL__NOBODY: free
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    int32_t packed_bytes;
    FlTime stamp;
} FlCrowdOwn;

// A crowd knows thousands of entities. What it keeps of each is these three, in 136 bytes. An
// update that comes touches the first two, a cache line each.

/// Whose it is, and where.
typedef struct FlCrowdKnown {
    FlTime stamp; // of the newest update; INT64_MIN: nothing is known
    FlVec3 position;
    float velocity[3]; // for the few seconds to the next update
    int32_t next;      // the next of the same owner; FL__NOBODY: none
    int16_t owner;     // FL__NOBODY: there is no such entity
    int16_t source;    // which of `sources`; FL__NOBODY: not watched
    int16_t via;       // who sent us the newest
    uint16_t epoch;
    uint8_t hops;
    uint8_t life;
    bool carried; // it came not by its owner
} FlCrowdKnown;

/// How much we look at it.
typedef struct FlCrowdLook {
    float attention;
    bool chosen;    // while choosing what to watch
    int16_t guided; // place of its guidance plus one; 0: none
} FlCrowdLook;

#define FL__GUIDANCE_BYTES 64 // longer ones are not carried

typedef struct FlCrowdGuided FlCrowdGuided;

#define FL__KEPT_BYTES 39 // longer ones are not carried on at best effort

/// And the rest of it.
typedef struct FlCrowdMore {
    FlTime arrived;
    FlTime own_stamp; // stamp of what its owner sent itself; INT64_MIN: nothing
    FlTime kept;      // stamp of what is packed here; INT64_MIN: nothing
    uint8_t packed_bytes;
    uint8_t packed[FL__KEPT_BYTES]; // the newest of its owner, if that sends to us, or of a carrier
} FlCrowdMore;

// ---------------------------------------------------------------- counters

FlCrowdStats fl__crowd_stats(const FlCrowd *crowd);

/// How often what a member carried to us could not be true.
uint32_t fl__crowd_contradictions(const FlCrowd *crowd, int32_t member);

/// 64 light connections, 128 streams, focus 4 at 20 Hz, best effort every 950 ms, 300 ms of
/// silence, 100 ms for one hop more, no limit, 46 bytes of headers, shared.
FlCrowdDef fl__crowd_def_default(void);

/// Whether what a game may set is sound; `error` says which field. Errors: FL_BAD_VALUE.
FL_NODISCARD FlResult fl__crowd_def_problem(const FlCrowdDef *def, FlError *error);

#endif
