// Private to room `crowd`: what it keeps, and who does what.
//
//   plane.c   seats and their neighbours
//   plan.c    who sits where, who stands in for whom, who carries what to whom
//   lane.c    lanes: wanted, open, over
//   watch.c   who looks at whom: our sources
//   serve.c   our watchers: serving them, or sending them on
//   send.c    packets out: what goes in them, and when
//   receive.c packets in
//   crowd.c   making one, our avatar, what we know of others
#ifndef FAIRLEAD_CROWD_PRIVATE_H
#define FAIRLEAD_CROWD_PRIVATE_H

#include "fairlead/crowd.h"

#define FL__NOBODY (-1)
#define FL__PULSE_NS FL_SEC(1)   // between two words on how we are
#define FL__WATCHER_NS FL_SEC(7) // a watcher that is silent for so long looks no more

// ---------------------------------------------------------------- lanes

typedef struct FlCrowdLane {
    int32_t member; // FL__NOBODY: free
    bool heard;     // the other end is there
    bool planned;   // to a neighbour
    bool over;      // said so, or told so
    bool part_due;  // and the other end is still to be told
    FlTime opened, heard_at, needed_at;
    FlTime parcel_due; // FL_FOREVER: no parcels
    FlTime pulse_due;
    FlTime way_ns;    // from there to here, smoothed; below 0: not known
    int16_t look_end; // whom we watch over it no more, to be said; FL__NOBODY: nobody
    int32_t passes;   // watchers whom the other end serves with others' updates,
    int32_t spare;    // and would serve on top, by its last word;
    int32_t lent;     // of these, whom we have sent there since
    int32_t asked;    // times that it asked to be served anew,
    FlTime asked_at;  // since then
    uint16_t number;  // of the next packet
    uint16_t newest;  // received,
    uint32_t before;  // and which of the 32 before it
    // what its member told us directly, as it travels
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    int32_t packed_bytes; // 0: nothing yet
    FlTime stamp;
    uint64_t carries;   // shared: lanes whose members' updates go here,
    int32_t carry_next; // the first of them in the next parcel
    // the parcel under way
    uint16_t parcel_number;
    bool parcel_waits;
    uint32_t contradictions;
} FlCrowdLane;

// ---------------------------------------------------------------- watching

/// Somebody whom we watch.
typedef struct FlCrowdSource {
    int32_t member;  // FL__NOBODY: free
    int32_t via;     // whom we ask
    int32_t before;  // whom we asked before, or FL__NOBODY
    int32_t other;   // whom we may ask instead, or FL__NOBODY
    int32_t avoid;   // who was no good, or FL__NOBODY
    FlTime asked;    // the first time that `via` could hear it; FL_FOREVER: not yet
    FlTime since;    // `via` is what it is since then
    FlTime patience; // with a lane to `via` that does not open
    FlTime begun;    // we watch it since then
    FlTime heard;    // an update came by `via`; INT64_MIN: none yet
    FlTime look_due;
    bool lost;                           // it came, and then no more
    FlTime resting;                      // nobody could serve us: until then we do not ask
    uint8_t packed[FL_UPDATE_BYTES_MAX]; // the newest, to be passed on
    int32_t packed_bytes;
    FlTime stamp;
    int32_t hops;
    int32_t missed; // times that there was no way to its owner
    int32_t tries;  // neighbours to ask before its owner is asked again
} FlCrowdSource;

/// Somebody who watches, at the other end of a lane.
typedef struct FlCrowdWatcher {
    int32_t of; // whose avatar; FL__NOBODY: free
    int32_t lane;
    FlTime heard; // it said so last
    FlTime sent;  // the stamp of what it got last; INT64_MIN: nothing
    FlTime next;  // and not before
    uint8_t attention;
} FlCrowdWatcher;

/// Somebody who is to be sent on.
typedef struct FlCrowdRedirect {
    int32_t of, lane; // lane FL__NOBODY: none
    int32_t count;
    int32_t to[2];
} FlCrowdRedirect;

#define FL__REDIRECTS 32

// ---------------------------------------------------------------- the crowd

/// What we know of one player: where it is, in one line of cache, for whoever asks for everybody's.
typedef struct FlCrowdKnown {
    FlTime stamp; // INT64_MIN: nothing
    FlVec3 position, velocity;
    int16_t via;
    uint8_t hops;
    uint8_t life;
    bool carried; // it came in somebody's parcel
    uint8_t model;
} FlCrowdKnown;

/// And the rest of it.
typedef struct FlCrowdMore {
    FlTime arrived;
    FlTime told; // stamp of what its owner said itself; INT64_MIN: nothing
    FlFacing facing;
} FlCrowdMore;

/// Those who stand in for one empty seat.
#define FL__DUTIES 3

/// Who sits where.
typedef struct FlCrowdPlan {
    int32_t order, seats;
    int16_t *seat_of;   // per member who is there
    int16_t *sits_next; // and who shares its seat; FL__NOBODY: nobody more
    int16_t *holder;    // per seat: the first who sits there; FL__NOBODY: nobody
    int16_t *stand_in;  // per duty: whose it is, at seats where nobody sits
    int16_t *duty_next; // and the next one of the same member
    int16_t *duty_of;   // per member: the first of its duties; FL__NOBODY: none
    int32_t seats_left; // where nobody sits
    bool stale;
    FlTime again; // not to be made anew before
} FlCrowdPlan;

struct FlCrowd {
    FlCrowdDef def;
    FlWorld world;
    bool *present;
    int32_t present_count; // ourselves included
    float *attention;
    FlCrowdKnown *known;
    FlCrowdMore *more; // as `known`
    int16_t *lane_of;  // per member; FL__NOBODY: none
    FlTime *asked;     // per member: when a lane was last asked for; INT64_MIN: never
    FlCrowdLane *lanes;
    FlTime *due;     // per lane: when there is something to say; FL_FOREVER: not open, or over
    FlTime *pending; // [lane][lane]: stamps in the parcel under way,
    FlTime *arrived; // and in the last that arrived
    FlCrowdSource *sources;
    FlCrowdWatcher *watchers;
    FlCrowdRedirect redirects[FL__REDIRECTS];
    FlCrowdPlan plan;
    int16_t *neighbours;
    bool *is_neighbour; // per member
    int32_t neighbour_count;
    bool some_over;      // a lane may have to be closed
    bool some_wanted;    // and another opened
    FlTime due_earliest; // at or before all of `due`
    int32_t lane_next;   // where fl_crowd_next goes on
    int32_t wanted_next; // and fl_crowd_wanted
    int16_t *source_of;  // per member: which of `sources`; FL__NOBODY: none
    bool *is_chosen;     // per member: in `chosen`, while choosing
    int32_t *chosen;     // room for choosing whom to watch
    int32_t watcher_end; // watchers from here on are free
    int32_t helper_turn; // whose turn it is among watchers, when none has upload to spare
    bool looked;         // attention has changed
    FlTime watch_due;    // sources are chosen and looked after then
    FlTime sweep_due;    // lanes are looked after then
    // our avatar
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    int32_t packed_bytes; // 0: none yet
    FlTime stamp;
    uint32_t life;
    double parcel_bytes_s; // what parcels take, as of the last look
    FlCrowdStats stats;
};

// ---------------------------------------------------------------- packets: send.c, receive.c

/// What a packet's sections are, and numbers that both ends go by.
enum {
    KIND_PULSE = 1,
    KIND_STREAM = 2,
    KIND_PARCEL = 3,
    KIND_LOOK = 4,
    KIND_REDIRECT = 5,
    KIND_PART = 6,
};

#define NUMBER_BYTES 2
#define HOPS_AT_MOST 15
#define NO_ONE 0xffffu
#define PULSE_STEP FL_MS(1)

// ---------------------------------------------------------------- plan.c

/// Works the plan out anew, if it is stale.
void fl__crowd_replan(FlCrowd *crowd, FlTime now);

/// Whether two members are neighbours.
bool fl__crowd_linked(const FlCrowd *crowd, int32_t a, int32_t b);

/// Who carries between two members that are no neighbours; FL__NOBODY: nobody can.
int32_t fl__crowd_carrier(const FlCrowd *crowd, int32_t a, int32_t b);

// ---------------------------------------------------------------- lane.c

FlCrowdLane *fl__crowd_lane(const FlCrowd *crowd, int32_t member);

/// Lanes that there is still room for, besides neighbours'.
int32_t fl__crowd_lanes_left(const FlCrowd *crowd);
bool fl__crowd_lanes_short(const FlCrowd *crowd);

/// Lanes that stay free, for telling those who come where else to ask.
int32_t fl__crowd_lanes_kept(const FlCrowd *crowd);

/// Somebody is reached over it who has to be.
bool fl__crowd_lane_needed(const FlCrowd *crowd, int32_t lane);

/// What each lane carries is worked out anew.
void fl__crowd_lanes_replan(FlCrowd *crowd, FlTime now);

/// A lane is to be closed.
void fl__crowd_lane_over(FlCrowd *crowd, int32_t index);

/// Looks after lanes: those that nobody needs or answers end.
void fl__crowd_lanes_sweep(FlCrowd *crowd, FlTime now);

static inline void fl__crowd_wake(FlCrowd *crowd, int32_t lane)
{
    crowd->due[lane] = INT64_MIN;
    crowd->due_earliest = INT64_MIN;
}

// ---------------------------------------------------------------- watch.c

/// Chooses whom to watch, leaves those who are silent.
void fl__crowd_watch(FlCrowd *crowd, FlTime now);

/// Somebody sends us on.
void fl__crowd_redirected(FlCrowd *crowd, int32_t from, const FlCrowdRedirect *redirect,
                          FlTime now);

/// An update came by a stream.
void fl__crowd_streamed(FlCrowd *crowd, int32_t lane, const FlUpdate *update, int32_t hops,
                        const uint8_t *packed, int32_t packed_bytes, FlTime now);

/// We told somebody that we watch.
void fl__crowd_look_said(FlCrowdSource *source, FlTime now);

/// Whom we watch, or NULL.
FlCrowdSource *fl__crowd_source(const FlCrowd *crowd, int32_t member);

// ---------------------------------------------------------------- serve.c

/// Somebody looks at an avatar (attention above 0) or no longer.
void fl__crowd_looked(FlCrowd *crowd, int32_t lane, int32_t of, uint8_t attention, int32_t avoid,
                      FlTime now);

/// Ends those who look no more, and sends on those who are too many.
void fl__crowd_serve(FlCrowd *crowd, FlTime now);

/// We have no more updates of `of` to pass on.
void fl__crowd_serve_no_more(FlCrowd *crowd, int32_t of);

/// An avatar moved on: its watchers get it. Our own:
void fl__crowd_served(FlCrowd *crowd, int32_t of, FlTime now);
void fl__crowd_own(FlCrowd *crowd);

/// A lane is gone: so are those who watch over it.
void fl__crowd_watchers_end(FlCrowd *crowd, int32_t lane);

/// Somebody watches over this lane.
bool fl__crowd_lane_serves(const FlCrowd *crowd, int32_t lane);

/// Looks again what parcels take of our upload.
void fl__crowd_count_parcels(FlCrowd *crowd);

/// Watchers that our upload would bear on top.
int32_t fl__crowd_spare(const FlCrowd *crowd);

/// Bytes of an update of `of` as it travels now, and its stamp; 0: there is none.
int32_t fl__crowd_newest(const FlCrowd *crowd, int32_t of, const uint8_t **packed, FlTime *stamp,
                         int32_t *hops);

// ---------------------------------------------------------------- crowd.c

/// Whether an update is of somebody there, and not stamped later than now. If not, it is counted.
bool fl__crowd_admit(FlCrowd *crowd, const FlUpdate *update, FlTime now);

/// An admitted update came, `hops` from its owner. False: it was overtaken, and counted.
bool fl__crowd_take(FlCrowd *crowd, FlCrowdLane *lane, const FlUpdate *update, int32_t hops,
                    FlTime now);

#endif
