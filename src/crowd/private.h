// Private to module `crowd`: what it keeps, and who does what.
//   plane.c   seats and their neighbours
//   table.c   what stands where: entities, sources, light connections
//   fade.c    how far entities at best effort still get
//   guided.c  guidance, as it travels
//   plan.c    who sits where, who stands in for whom, who carries what to whom
//   serve.c   our watchers: serving them, or sending them on
//   known.c   what we know of entities: ours, and others'
//   missed.c  carriers that carry nothing, and who helps
//   light_table.c light connections: next to open, open, closed
//   watch.c   who looks at whom: our sources
//   send.c    packets out: what goes in them, and when
//   receive.c packets in
//   crowd.c   making one, who is there
//   light.c   the feature: datagrams, entities, members
// Each calls only files above it.
#ifndef FAIRLEAD_CROWD_PRIVATE_H
#define FAIRLEAD_CROWD_PRIVATE_H

#include "crowd/engine.h"
#include "crowd/fade.h"
#include "crowd/plan.h"

#include "base/private.h"

#define FL__HEARTBEAT_NS FL_SEC(1) // between two words on how we are
#define FL__WATCHER_NS FL_SEC(7)   // a watcher that is silent for so long looks no more
#define FL__WATCH_EVERY FL_MS(100)
#define FL__LEAVES_NS FL_SEC(1) // whoever was sent on is served meanwhile
#define FL__MISSED 4            // carriers named in one MISSED

// ---------------------------------------------------------------- light connections

typedef struct FlCrowdLight {
    int32_t member; // FL__NOBODY: free
    bool reached;   // something came from the other end
    bool planned;   // to a neighbour
    bool over;      // one end has said so
    bool part_due;  // and the other end does not know yet
    FlTime opened, received_at, needed_at;
    FlTime batch_due; // FL_FOREVER: no batches
    FlTime heartbeat_due;
    FlTime way_ns;      // from there to here, smoothed; below 0: not known
    int32_t look_end;   // what we watch over it no more, to be said; FL__NOBODY: nothing
    int32_t passes;     // watchers whom the other end serves with others' updates,
    int32_t spare;      // and would serve on top, by its last word;
    int32_t lent;       // of these, whom we have sent there since
    int32_t asked;      // times that it asked to be served anew,
    FlTime asked_at;    // since then
    FlTime refused_at;  // it had nothing for us; 0: never
    uint16_t number;    // of the next packet
    uint16_t newest;    // received,
    uint32_t before;    // and which of the 32 before it
    uint64_t carries;   // shared: light connections whose members' updates go here,
    int32_t carry_next; // the first of them in the next batch
    // the batch under way
    uint16_t batch_number;
    bool batch_waits;
    uint32_t contradictions;
    int16_t missed[FL__MISSED]; // carriers by whom nothing comes to the other end,
    int32_t missed_count;
    FlTime missed_until; // as it said last,
    bool missed_now;     // and it has not got anything of that yet
} FlCrowdLight;

// ---------------------------------------------------------------- watching

/// An entity that we watch.
typedef struct FlCrowdSource {
    int32_t of;         // its number; FL__NOBODY: free
    uint16_t epoch;     // of what is packed here
    int32_t via;        // whom we ask
    int32_t before;     // whom we asked before, who serves us until `via` does; or FL__NOBODY
    int32_t other;      // whom we may ask instead, or FL__NOBODY
    int32_t avoid;      // who was no good, or FL__NOBODY
    FlTime asked;       // the first time that `via` could hear it; FL_FOREVER: not yet
    FlTime since;       // `via` is what it is since then
    FlTime open_within; // for a light connection to `via` that does not open
    FlTime begun;       // we watch it since then
    FlTime received;    // an update came by `via`; INT64_MIN: none yet
    FlTime came;        // or by whom we asked before; INT64_MIN: none lately
    FlTime ends;        // it is watched no more, and passed on until then; FL_FOREVER: watched
    FlTime look_due;
    bool lost;                           // it came, and then no more
    FlTime resting;                      // no member could serve us: until then we do not ask
    uint8_t packed[FL_UPDATE_BYTES_MAX]; // the newest, to be passed on
    int32_t packed_bytes;
    FlTime stamp;
    int32_t hops;
    int32_t missed; // times that there was no way to its owner
    int32_t tries;  // neighbours to ask before its owner is asked again
} FlCrowdSource;

/// A member who watches, at the other end of a light connection.
typedef struct FlCrowdWatcher {
    int32_t of; // which entity; FL__NOBODY: free
    int32_t light;
    FlTime looked;  // its last LOOK
    FlTime sent;    // the stamp of what it got last; INT64_MIN: nothing
    FlTime next;    // and not before
    FlTime sent_up; // to a better source, last; 0: never
    FlTime leaves;  // it was sent on, and is served until then; FL_FOREVER: it was not
    FlTime guided;  // the time of the guidance that it got last; INT64_MIN: none
    uint8_t attention;
    bool forwarded; // of others
} FlCrowdWatcher;

/// A watcher who is to be sent on.
typedef struct FlCrowdRedirect {
    int32_t of, light; // light connection FL__NOBODY: none
    int32_t count;
    int32_t to[2];
} FlCrowdRedirect;

#define FL__REDIRECTS 32

// ---------------------------------------------------------------- the crowd

/// A message that waits for the next packet over a light connection.
typedef struct FlCrowdMessage {
    int32_t light; // FL__NOBODY: none
    int32_t count;
    uint8_t bytes[FL_CROWD_MESSAGE_BYTES];
} FlCrowdMessage;

#define FL__MESSAGES 4

struct FlCrowd {
    FlCrowdDef def;
    FlWorld world;
    bool *present;
    int32_t present_count;        // ourselves included
    FlCrowdLook *looks;           // by number
    FlCrowdKnown *known;          // as `looks`
    FlCrowdMore *more;            // likewise
    int32_t *owned;               // per member: the first of its entities; FL__NOBODY: none
    uint16_t *owned_count;        // and how many they are
    FlCrowdOwn *own;              // [detail_capacity]
    struct FlCrowdGuided *guided; // [guide_capacity]
    FlCrowdGuidedFn *guided_fn;   // or NULL
    void *guided_ctx;
    FlCrowdWatched *watched_fn; // or NULL
    void *watched_ctx;
    int16_t *light_of;  // per member; FL__NOBODY: none
    FlTime *asked;      // per member: when a light connection was last asked for; INT64_MIN: never
    FlTime *carried_at; // per neighbour: when it last carried something to us, or was to from on
    int32_t withheld_next; // the entity that is looked at next for updates that do not come,
    FlTime withheld_due;   // and when
    FlCrowdLight *lights;
    int16_t *light_member; // as in `lights`: many are asked for at once
    FlTime
        *due; // per light connection: when there is something to say; FL_FOREVER: not open, or over
    FlTime *pending; // [light connection][light connection]: stamps in the batch under way,
    FlTime *arrived; // and in the last that arrived
    FlCrowdSource *sources;
    FlCrowdWatcher *watchers;
    FlCrowdRedirect redirects[FL__REDIRECTS];
    FlCrowdMessage messages[FL__MESSAGES];
    int32_t redirect_count, message_count; // most packets need not look at either
    FlCrowdMessaged *message_fn;           // or NULL
    void *message_ctx;
    FlCrowdPlan plan;
    int16_t *neighbours;
    bool *is_neighbour; // per member
    int32_t neighbour_count;
    bool some_over;       // a light connection may have to be closed
    bool some_wanted;     // and another opened
    FlTime due_earliest;  // at or before all of `due`
    int32_t light_next;   // where fl__crowd_next goes on
    int32_t wanted_next;  // and fl__crowd_next_to_open
    int32_t *chosen;      // space for choosing what to watch
    int32_t watcher_end;  // watchers from here on are free
    int32_t leaving;      // watchers that were sent on
    FlTime promote_due;   // a watcher may be sent up the tree then
    int32_t helper_turn;  // whose turn it is among watchers, when none has upload to spare
    bool looked;          // attention has changed
    FlTime watch_due;     // sources are chosen and looked after then
    FlTime sweep_due;     // light connections are looked after then
    double batch_bytes_s; // what batches take, as of the last look
    double other_bytes_s; // what everything but streams took lately,
    double other_bytes;   // and since the last look
    FlTime counted_at;
    FlCrowdFade fade;
    FlCrowdStats stats;
};

// ---------------------------------------------------------------- table.c

/// The member whose it is; FL__NOBODY: there is no such entity, or its owner is not there.
int32_t fl__crowd_owner(const FlCrowd *crowd, int32_t of);

/// The next of a member's entities after `of` (FL__NOBODY: the first); FL__NOBODY: no more.
int32_t fl__crowd_owned(const FlCrowd *crowd, int32_t member, int32_t of);

/// Ours, as it travels; NULL: nothing yet.
FlCrowdOwn *fl__crowd_own(const FlCrowd *crowd, int32_t of);

/// Places for those that we watch, and for as many that we watched, and pass on for a moment.
int32_t fl__crowd_source_places(const FlCrowdDef *def);

/// As whom we watch an entity, or NULL.
FlCrowdSource *fl__crowd_source(const FlCrowd *crowd, int32_t of);

FlCrowdLight *fl__crowd_light(const FlCrowd *crowd, int32_t member);

/// Light connections that there is still room for, besides neighbours'.
int32_t fl__crowd_lights_left(const FlCrowd *crowd);
bool fl__crowd_lights_short(const FlCrowd *crowd);

/// Light connections that stay free, for sending newcomers to where they can ask.
int32_t fl__crowd_lights_kept(const FlCrowd *crowd);

/// A light connection is to be closed.
void fl__crowd_light_over(FlCrowd *crowd, int32_t index);

static inline void fl__crowd_wake(FlCrowd *crowd, int32_t light)
{
    crowd->due[light] = INT64_MIN;
    crowd->due_earliest = INT64_MIN;
}

// ---------------------------------------------------------------- light_table.c

/// A member is reached over it who has to be.
bool fl__crowd_light_needed(const FlCrowd *crowd, int32_t light);

/// Works the plan out anew, if it is stale, and what each light connection carries by it.
void fl__crowd_replan(FlCrowd *crowd, FlTime now);

/// Looks after light connections: those that are not needed or not answered end.
void fl__crowd_lights_sweep(FlCrowd *crowd, FlTime now);

// ---------------------------------------------------------------- watch.c

/// Chooses whom to watch, leaves those who are silent.
void fl__crowd_watch(FlCrowd *crowd, FlTime now);

/// A member sends us on.
void fl__crowd_redirected(FlCrowd *crowd, int32_t from, const FlCrowdRedirect *redirect,
                          FlTime now);

/// An update came by a stream.
void fl__crowd_streamed(FlCrowd *crowd, int32_t light, const FlUpdate *update, int32_t hops,
                        const uint8_t *packed, int32_t packed_bytes, FlTime now);

/// Our LOOK went out, to who is known to be reached or not.
void fl__crowd_look_said(FlCrowdSource *source, bool reached, FlTime now);

// ---------------------------------------------------------------- serve.c

/// A member watches an entity (attention above 0) or no longer.
void fl__crowd_looked(FlCrowd *crowd, int32_t light, int32_t of, uint8_t attention, int32_t avoid,
                      FlTime now);

/// Ends those who look no more, and sends on those who are too many.
void fl__crowd_serve(FlCrowd *crowd, FlTime now);

/// We will have no more updates of `of` to pass on: its watchers are sent on. False: there are
/// none.
bool fl__crowd_hand_on(FlCrowd *crowd, int32_t of, FlTime now);

/// Whether any watcher gets its updates by us.
bool fl__crowd_is_served(const FlCrowd *crowd, int32_t of);

/// We have none any more.
void fl__crowd_serve_no_more(FlCrowd *crowd, int32_t of);

/// We have lost the source of `of`: its watchers learn that we are there.
void fl__crowd_serve_heartbeat(FlCrowd *crowd, int32_t of);

/// An entity moved on: its watchers get it.
void fl__crowd_served(FlCrowd *crowd, int32_t of, FlTime now);

/// A light connection is gone: so are those who watch over it.
void fl__crowd_watchers_end(FlCrowd *crowd, int32_t light);

/// A member watches over this light connection.
bool fl__crowd_light_serves(const FlCrowd *crowd, int32_t light);

/// Looks again what batches and the rest take of our upload.
void fl__crowd_count_batches(FlCrowd *crowd, FlTime now);

/// Watchers that our upload would bear on top.
int32_t fl__crowd_spare(const FlCrowd *crowd);

/// Bytes of an update of `of` as it travels now, and its stamp; 0: there is none.
int32_t fl__crowd_newest(const FlCrowd *crowd, int32_t of, const uint8_t **packed, FlTime *stamp,
                         int32_t *hops);

#endif
