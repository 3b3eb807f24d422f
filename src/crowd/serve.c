// Serving those who watch, as long as our upload bears it; the others are sent on.
//
// An owner, or whoever passes its updates on, serves who asks. Beyond that it names others: those
// whom it serves and who have upload to spare. They do the same, so a tree grows from the owner,
// wide where uploads are.
#include "private.h"

#include <math.h>

#define STREAM_BYTES 16 // of a packet with one update, besides overhead
#define PARCEL_UPDATE_BYTES 13
#define PARCEL_HEAD_BYTES 16
#define ASKED_WITHIN FL_MS(500)
#define ASKED_AT_MOST 16  // in so long, over one lane; who asks more often asks in vain
#define UPLOAD_SHARE 0.97 // the rest is for lanes that come and go, and the host

// ---------------------------------------------------------------- what we can bear

void fl__crowd_count_parcels(FlCrowd *crowd)
{
    double bytes = 0.0;
    for (int32_t i = 0; i < crowd->def.lane_capacity; i++) {
        const FlCrowdLane *lane = &crowd->lanes[i];
        if (lane->member != FL__NOBODY) {
            int32_t updates = lane->planned ? 1 + __builtin_popcountll(lane->carries) : 0;
            bytes += crowd->def.overhead_bytes + PARCEL_HEAD_BYTES + PARCEL_UPDATE_BYTES * updates;
        }
    }
    crowd->parcel_bytes_s = bytes / fl_span_seconds(crowd->def.parcel_ns);
}

static double stream_bytes_s(const FlCrowd *crowd)
{
    return (crowd->def.overhead_bytes + STREAM_BYTES) / fl_span_seconds(crowd->def.frame_ns);
}

// Watchers that our upload would bear on top; below 0: too many already.
static int32_t bearable(const FlCrowd *crowd)
{
    const FlCrowdDef *def = &crowd->def;
    int32_t more = def->stream_capacity - crowd->stats.watchers;
    if (def->upload_bytes_s > 0.0 && def->shared) { // otherwise nobody else could, anyway
        double left = def->upload_bytes_s * UPLOAD_SHARE - crowd->parcel_bytes_s;
        double streams = left / stream_bytes_s(crowd) - crowd->stats.watchers;
        more = streams < more ? (int32_t)floor(streams) : more;
    }
    return more;
}

int32_t fl__crowd_spare(const FlCrowd *crowd)
{
    int32_t more = bearable(crowd);
    int32_t lanes = fl__crowd_lanes_left(crowd) - fl__crowd_lanes_kept(crowd);
    int32_t spare = more < lanes ? more : lanes;
    return spare > 0 ? spare : 0;
}

// ---------------------------------------------------------------- sending on

static void queue_redirect(FlCrowd *crowd, const FlCrowdRedirect *redirect)
{
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        FlCrowdRedirect *at = &crowd->redirects[i];
        bool same = at->lane == redirect->lane && at->of == redirect->of;
        if (at->lane == FL__NOBODY || same) {
            *at = *redirect;
            fl__crowd_wake(crowd, redirect->lane);
            crowd->stats.redirects++;
            return;
        }
    } // no room to say so: it notices, and asks again
}

// Back to the owner, who knows others.
static void send_away(FlCrowd *crowd, int32_t of, int32_t lane)
{
    FlCrowdRedirect redirect = {.of = of, .lane = lane};
    queue_redirect(crowd, &redirect);
}

static void watcher_end(FlCrowd *crowd, FlCrowdWatcher *watcher)
{
    crowd->stats.passed_on -= watcher->of != crowd->def.self ? 1 : 0;
    watcher->of = FL__NOBODY;
    crowd->stats.watchers--;
    while (crowd->watcher_end > 0 && crowd->watchers[crowd->watcher_end - 1].of == FL__NOBODY) {
        crowd->watcher_end--;
    }
}

// ---------------------------------------------------------------- watchers

static FlCrowdWatcher *find_watcher(const FlCrowd *crowd, int32_t of, int32_t lane)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        if (crowd->watchers[i].of == of && crowd->watchers[i].lane == lane) {
            return &crowd->watchers[i];
        }
    }
    return NULL;
}

static FlCrowdWatcher *watcher_begin(FlCrowd *crowd, int32_t of, int32_t lane)
{
    int32_t at = 0;
    while (at < crowd->watcher_end && crowd->watchers[at].of != FL__NOBODY) {
        at++;
    }
    FL_ASSERT(at < crowd->def.stream_capacity);
    crowd->watcher_end = at == crowd->watcher_end ? at + 1 : crowd->watcher_end;
    FlCrowdWatcher fresh = {.of = of, .lane = lane, .sent = INT64_MIN, .next = INT64_MIN};
    crowd->watchers[at] = fresh;
    crowd->stats.watchers++;
    crowd->stats.passed_on += of != crowd->def.self ? 1 : 0;
    return &crowd->watchers[at];
}

void fl__crowd_watchers_end(FlCrowd *crowd, int32_t lane)
{
    for (int32_t i = crowd->watcher_end - 1; i >= 0; i--) {
        if (crowd->watchers[i].of != FL__NOBODY && crowd->watchers[i].lane == lane) {
            watcher_end(crowd, &crowd->watchers[i]);
        }
    }
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        if (crowd->redirects[i].lane == lane) {
            crowd->redirects[i].lane = FL__NOBODY;
        }
    }
}

bool fl__crowd_lane_serves(const FlCrowd *crowd, int32_t lane)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        if (crowd->watchers[i].of != FL__NOBODY && crowd->watchers[i].lane == lane) {
            return true;
        }
    }
    return false;
}

static int32_t left_of(const FlCrowd *crowd, const FlCrowdWatcher *watcher)
{
    const FlCrowdLane *lane = &crowd->lanes[watcher->lane];
    return lane->spare - lane->lent;
}

/// Who is to be sent on, from whom, and not to whom.
typedef struct Errand {
    int32_t of, member, avoid;
} Errand;

// Not too far away, and not the one who asks.
static bool can_help(const FlCrowd *crowd, const FlCrowdWatcher *watcher, const Errand *errand)
{
    if (watcher->of != errand->of) {
        return false;
    }
    const FlCrowdLane *lane = &crowd->lanes[watcher->lane];
    bool near = lane->way_ns >= 0 && lane->way_ns <= crowd->def.extra_ns;
    return near && lane->member != errand->member && lane->member != errand->avoid;
}

// The one with most to spare.
static FlCrowdWatcher *find_spare(const FlCrowd *crowd, const Errand *errand,
                                  const FlCrowdWatcher *but)
{
    FlCrowdWatcher *best = NULL;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher == but || !can_help(crowd, watcher, errand)) {
            continue;
        }
        bool more = left_of(crowd, watcher) > (best != NULL ? left_of(crowd, best) : 0);
        best = more ? watcher : best;
    }
    return best;
}

// Nobody has: one after the other, who then sends on to its own.
static FlCrowdWatcher *find_any(FlCrowd *crowd, const Errand *errand)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        crowd->helper_turn = (crowd->helper_turn + 1) % crowd->watcher_end;
        FlCrowdWatcher *watcher = &crowd->watchers[crowd->helper_turn];
        bool passes = watcher->of != FL__NOBODY && crowd->lanes[watcher->lane].passes > 0;
        if (passes && can_help(crowd, watcher, errand)) {
            return watcher;
        }
    }
    return NULL;
}

// Sends a watcher on: to up to two of those we serve, or to nobody.
static void send_on(FlCrowd *crowd, int32_t of, int32_t lane, int32_t avoid)
{
    FlCrowdRedirect redirect = {.of = of, .lane = lane};
    Errand errand = {of, crowd->lanes[lane].member, avoid};
    const FlCrowdWatcher *first = find_spare(crowd, &errand, NULL);
    const FlCrowdWatcher *second = first != NULL ? find_spare(crowd, &errand, first) : NULL;
    first = first != NULL ? first : find_any(crowd, &errand);
    if (first != NULL) {
        redirect.to[redirect.count++] = crowd->lanes[first->lane].member;
        crowd->lanes[first->lane].lent++;
    }
    if (second != NULL) {
        redirect.to[redirect.count++] = crowd->lanes[second->lane].member;
    }
    queue_redirect(crowd, &redirect);
}

// What a watcher does for others, or could.
static int32_t help_of(const FlCrowd *crowd, int32_t lane)
{
    return crowd->lanes[lane].spare + crowd->lanes[lane].passes;
}

// Who is served, and can do least for others; `of` FL__NOBODY: with whatever.
static FlCrowdWatcher *find_least(const FlCrowd *crowd, int32_t of)
{
    FlCrowdWatcher *least = NULL;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == FL__NOBODY || (of != FL__NOBODY && watcher->of != of)) {
            continue;
        }
        bool less = least == NULL || help_of(crowd, watcher->lane) < help_of(crowd, least->lane);
        least = less ? watcher : least;
    }
    return least;
}

// Lanes by which we serve somebody, beyond those we have for it: some stay free, for telling those
// who come where else to ask.
static int32_t lanes_beyond(const FlCrowd *crowd)
{
    int32_t serving = 0;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        const FlCrowdWatcher *watcher = &crowd->watchers[i];
        serving += watcher->of != FL__NOBODY && !crowd->lanes[watcher->lane].planned ? 1 : 0;
    }
    int32_t lanes = crowd->def.lane_capacity - crowd->neighbour_count;
    return serving + fl__crowd_lanes_kept(crowd) - lanes;
}

// Parcels have grown, or lanes are needed elsewhere: somebody has to ask somebody else.
static void shed(FlCrowd *crowd)
{
    bool fine = bearable(crowd) >= -1 && lanes_beyond(crowd) <= 0; // one too many is within bounds
    FlCrowdWatcher *least = find_least(crowd, FL__NOBODY);
    if (crowd->def.extra_ns == 0 || least == NULL || fine) {
        return;
    }
    int32_t of = least->of;
    int32_t lane = least->lane;
    watcher_end(crowd, least);
    send_on(crowd, of, lane, FL__NOBODY);
}

// It makes room for somebody who can do much more.
static bool make_room(FlCrowd *crowd, int32_t of, int32_t lane)
{
    FlCrowdWatcher *least = find_least(crowd, of);
    if (least == NULL || help_of(crowd, least->lane) + 2 > help_of(crowd, lane)) {
        return false;
    }
    int32_t gone = least->lane;
    watcher_end(crowd, least);
    FlCrowdWatcher *fresh = watcher_begin(crowd, of, lane);
    fresh->heard = crowd->lanes[lane].heard_at;
    send_on(crowd, of, gone, FL__NOBODY);
    return true;
}

// Whether we have its updates to give.
static bool have(const FlCrowd *crowd, int32_t of)
{
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    return of == crowd->def.self || (source != NULL && source->heard != INT64_MIN);
}

// Somebody was no good to who asks now: it gets no more work until it says that it can bear some.
static void distrust(FlCrowd *crowd, int32_t member)
{
    bool known = member >= crowd->def.first && member < crowd->def.member_capacity;
    FlCrowdLane *lane = known ? fl__crowd_lane(crowd, member) : NULL;
    if (lane != NULL) {
        lane->spare = 0;
        lane->passes = 0;
    }
}

// Answers cost upload, and the few places for them are everybody's.
static bool may_ask(FlCrowdLane *lane, FlTime now)
{
    if (fl_span(now, lane->asked_at) >= ASKED_WITHIN) {
        lane->asked_at = now;
        lane->asked = 0;
    }
    lane->asked++;
    return lane->asked <= ASKED_AT_MOST;
}

void fl__crowd_looked(FlCrowd *crowd, int32_t lane, int32_t of, uint8_t attention, int32_t avoid,
                      FlTime now)
{
    FlCrowdWatcher *watcher = find_watcher(crowd, of, lane);
    if (attention == 0) {
        if (watcher != NULL) {
            watcher_end(crowd, watcher);
        }
        return;
    }
    if (watcher != NULL) {
        watcher->heard = now;
        watcher->attention = attention;
        return;
    }
    if (!may_ask(&crowd->lanes[lane], now)) {
        return;
    }
    if (crowd->lanes[lane].asked == 1) {
        distrust(crowd, avoid); // one at a time: who says so of everybody is not believed
    }
    int32_t member = crowd->lanes[lane].member;
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    bool circle = source != NULL && source->via == member;
    if (!have(crowd, of) || circle) {
        send_away(crowd, of, lane);
        return;
    }
    bool room = crowd->lanes[lane].planned || lanes_beyond(crowd) < 0;
    bool bears = bearable(crowd) > 0 && (room || crowd->def.extra_ns == 0);
    if (!bears && crowd->def.extra_ns > 0) {
        if (!make_room(crowd, of, lane)) {
            send_on(crowd, of, lane, avoid);
        }
        return;
    }
    if (bears) {
        watcher = watcher_begin(crowd, of, lane);
        watcher->heard = now;
        watcher->attention = attention;
        fl__crowd_wake(crowd, lane);
    }
}

void fl__crowd_serve_no_more(FlCrowd *crowd, int32_t of)
{
    for (int32_t i = crowd->watcher_end - 1; i >= 0; i--) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == of) {
            send_away(crowd, watcher->of, watcher->lane);
            watcher_end(crowd, watcher);
        }
    }
}

void fl__crowd_serve(FlCrowd *crowd, FlTime now)
{
    shed(crowd);
    for (int32_t i = crowd->watcher_end - 1; i >= 0; i--) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of != FL__NOBODY && fl_span(now, watcher->heard) > FL__WATCHER_NS) {
            watcher_end(crowd, watcher);
        }
    }
}

// ---------------------------------------------------------------- what they get

void fl__crowd_served(FlCrowd *crowd, int32_t of, FlTime now)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        const FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == of && watcher->next <= now) {
            fl__crowd_wake(crowd, watcher->lane);
        }
    }
}

void fl__crowd_own(FlCrowd *crowd)
{
    fl__crowd_served(crowd, crowd->def.self, crowd->stamp);
}

int32_t fl__crowd_newest(const FlCrowd *crowd, int32_t of, const uint8_t **packed, FlTime *stamp,
                         int32_t *hops)
{
    if (of == crowd->def.self) {
        *packed = crowd->packed;
        *stamp = crowd->stamp;
        *hops = 0;
        return crowd->packed_bytes;
    }
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    if (source == NULL) {
        return 0;
    }
    *packed = source->packed;
    *stamp = source->stamp;
    *hops = source->hops;
    return source->packed_bytes;
}
