// Who looks at whom: our sources.
//
// Watching is the watcher's business: it asks, repeats it, notices silence, and asks elsewhere, as
// it is told by whom it asked or at the owner's (serve.c). The tree has no circles: only updates
// newer than all before are passed on, so one that came round would find itself known, and who is
// fed by its own watchers hears nothing and asks the owner again.
#include "private.h"

#include <string.h>

#define WATCH_EVERY FL_MS(100)
#define LOOK_EVERY FL_SEC(2)
#define LOOK_EVERY_UNHEARD FL_MS(150)
#define STAY_FACTOR 1.25f // who is watched is left for one looked at so much more
#define STAY_AT_LEAST FL_SEC(1)
#define HUGE_WORTH 1e30f
#define OPEN_LEAST FL_MS(350) // for a lane to open, and as much again by chance: many may want it
#define TRY_AGAIN FL_SEC(2)   // nobody could serve us
#define MISSED_AT_MOST 2      // tries to reach the owner
#define NEIGHBOURS_ASKED 4    // where the owner cannot be reached

// ---------------------------------------------------------------- sources

FlCrowdSource *fl__crowd_source(const FlCrowd *crowd, int32_t member)
{
    int32_t at = crowd->source_of[member];
    return at != FL__NOBODY ? &crowd->sources[at] : NULL;
}

static void ask_via(FlCrowd *crowd, FlCrowdSource *source, int32_t via, FlTime now)
{
    source->before = source->via;
    source->via = via;
    source->since = now;
    source->asked = FL_FOREVER;
    source->heard = INT64_MIN;
    source->look_due = now;
    uint64_t luck = fl_random_at((uint64_t)crowd->def.self, (uint64_t)via, (uint64_t)now);
    source->patience = OPEN_LEAST + (FlTime)(luck % (uint64_t)OPEN_LEAST);
    const FlCrowdLane *lane = fl__crowd_lane(crowd, via);
    if (lane != NULL && !lane->heard && fl_span(now, lane->opened) > OPEN_LEAST) {
        fl__crowd_lane_over(crowd, crowd->lane_of[via]); // it had no place for us: again
    }
    crowd->asked[via] = INT64_MIN; // introduced at once, if need be
    crowd->some_wanted = true;
}

static void begin(FlCrowd *crowd, FlCrowdSource *source, int32_t member, FlTime now)
{
    FlCrowdSource fresh = {
        .member = member, .via = FL__NOBODY, .other = FL__NOBODY, .avoid = FL__NOBODY};
    fresh.stamp = INT64_MIN;
    fresh.begun = now;
    *source = fresh;
    crowd->source_of[member] = (int16_t)(source - crowd->sources);
    ask_via(crowd, source, member, now);
    crowd->stats.sources++;
}

static void end(FlCrowd *crowd, FlCrowdSource *source)
{
    FlCrowdLane *via = fl__crowd_lane(crowd, source->via);
    if (via != NULL) {
        via->look_end = (int16_t)source->member;
        fl__crowd_wake(crowd, crowd->lane_of[source->via]);
    }
    fl__crowd_serve_no_more(crowd, source->member);
    crowd->source_of[source->member] = FL__NOBODY;
    source->member = FL__NOBODY;
    crowd->stats.sources--;
}

// A glance costs an introduction: who is watched stays so for a while, and then unless somebody
// else is looked at clearly more.
static float worth(const FlCrowd *crowd, int32_t member, FlTime now)
{
    float value = crowd->attention[member];
    const FlCrowdSource *source = fl__crowd_source(crowd, member);
    if (source == NULL) {
        return value;
    }
    return fl_span(now, source->begun) < STAY_AT_LEAST ? HUGE_WORTH : value * STAY_FACTOR;
}

// Puts a member in its place among the best so far; at equal worth the lower number comes first.
static int32_t rank(FlCrowd *crowd, int32_t count, int32_t member, FlTime now)
{
    float value = worth(crowd, member, now);
    int32_t room = crowd->def.focus_count;
    int32_t at = count;
    while (at > 0 && worth(crowd, crowd->chosen[at - 1], now) < value) {
        at--;
    }
    if (at == room) {
        return count;
    }
    int32_t moved = (count < room ? count : room - 1) - at;
    memmove(&crowd->chosen[at + 1], &crowd->chosen[at], (size_t)moved * sizeof *crowd->chosen);
    crowd->chosen[at] = member;
    return count < room ? count + 1 : count;
}

static void choose(FlCrowd *crowd, FlTime now)
{
    int32_t count = 0;
    for (int32_t m = crowd->def.first; m < crowd->def.member_capacity; m++) {
        if (crowd->attention[m] > 0.0f && crowd->present[m] && m != crowd->def.self) {
            count = rank(crowd, count, m, now);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        crowd->is_chosen[crowd->chosen[i]] = true;
    }
    for (int32_t i = 0; i < crowd->def.focus_count; i++) {
        FlCrowdSource *source = &crowd->sources[i];
        if (source->member != FL__NOBODY && !crowd->is_chosen[source->member]) {
            end(crowd, source);
        }
    }
    int32_t free_at = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t member = crowd->chosen[i];
        crowd->is_chosen[member] = false;
        if (crowd->source_of[member] != FL__NOBODY) {
            continue;
        }
        while (crowd->sources[free_at].member != FL__NOBODY) {
            free_at++;
        }
        begin(crowd, &crowd->sources[free_at], member, now);
    }
}

// One whom we have a lane to already, another one every time, the owner if there is none. Where
// many look at somebody its own lanes are soon full, and those of whom we know most look at it,
// too.
static int32_t some_neighbour(const FlCrowd *crowd, const FlCrowdSource *source, FlTime now)
{
    int32_t capacity = crowd->def.lane_capacity;
    uint64_t luck =
        fl_random_at((uint64_t)crowd->def.self, (uint64_t)source->member, (uint64_t)now);
    int32_t first = (int32_t)(luck % (uint64_t)capacity);
    for (int32_t i = 0; i < capacity; i++) {
        const FlCrowdLane *lane = &crowd->lanes[(first + i) % capacity];
        bool fine = lane->member != FL__NOBODY && lane->heard && !lane->over &&
                    lane->member != source->via && lane->member != source->avoid &&
                    lane->member != source->member && lane->way_ns >= 0 &&
                    lane->way_ns <= crowd->def.extra_ns && lane->spare > 0;
        if (fine) {
            return lane->member;
        }
    }
    return source->member;
}

// Leaves a silent source: for the other one we were told of, else for the owner, who is told whom
// to avoid. If there is no way to the owner: for somebody near by.
static void leave_silent(FlCrowd *crowd, FlCrowdSource *source, FlTime now)
{
    crowd->stats.recoveries++;
    source->lost = source->lost || source->heard != INT64_MIN;
    int32_t via = source->via;
    int32_t other = source->other;
    source->other = FL__NOBODY;
    if (via != source->member) {
        source->avoid = via;
    }
    bool can = other != FL__NOBODY && other != via && crowd->present[other];
    const FlCrowdLane *lane = fl__crowd_lane(crowd, via);
    bool full = via == source->member && (lane == NULL || !lane->heard);
    source->missed += full ? 1 : 0;
    if (!can && full && source->missed > MISSED_AT_MOST && crowd->def.shared &&
        crowd->def.extra_ns > 0) {
        source->tries = NEIGHBOURS_ASKED;
        other = some_neighbour(crowd, source, now);
        can = true;
    }
    ask_via(crowd, source, can ? other : source->member, now);
}

static bool is_silent(const FlCrowd *crowd, const FlCrowdSource *source, FlTime now)
{
    const FlCrowdLane *lane = fl__crowd_lane(crowd, source->via);
    if (lane == NULL || !lane->heard) {
        return fl_span(now, source->since) > source->patience;
    }
    // Further down the tree one waits longer: who is above may just be finding another source.
    FlTime patience = source->hops > 1 ? 2 * crowd->def.silence_ns : crowd->def.silence_ns;
    FlTime last = source->heard > source->asked ? source->heard : source->asked;
    return source->asked != FL_FOREVER && fl_span(now, last) > patience;
}

// The way from there to here is too long for one hop more.
static bool is_far(const FlCrowd *crowd, const FlCrowdSource *source)
{
    const FlCrowdLane *lane = fl__crowd_lane(crowd, source->via);
    return source->via != source->member && lane != NULL && lane->way_ns > crowd->def.extra_ns;
}

static void look_after(FlCrowd *crowd, FlCrowdSource *source, FlTime now)
{
    bool gone = !crowd->present[source->via];
    if (!gone && source->resting > now) {
        return;
    }
    if (gone || is_silent(crowd, source, now) || is_far(crowd, source)) {
        leave_silent(crowd, source, now);
    }
    FlCrowdLane *lane = fl__crowd_lane(crowd, source->via);
    if (lane != NULL && lane->heard && now >= source->look_due) {
        fl__crowd_wake(crowd, crowd->lane_of[source->via]);
    }
}

void fl__crowd_look_said(FlCrowdSource *source, FlTime now)
{
    source->asked = source->asked == FL_FOREVER ? now : source->asked;
    source->look_due =
        fl_time_add(now, source->heard == INT64_MIN ? LOOK_EVERY_UNHEARD : LOOK_EVERY);
}

void fl__crowd_redirected(FlCrowd *crowd, int32_t from, const FlCrowdRedirect *redirect, FlTime now)
{
    FlCrowdSource *source = fl__crowd_source(crowd, redirect->of);
    if (source == NULL || source->via != from) {
        return;
    }
    for (int32_t i = 0; i < redirect->count; i++) {
        int32_t to = redirect->to[i];
        bool fine = to >= crowd->def.first && to < crowd->def.member_capacity &&
                    to != crowd->def.self && crowd->present[to] && to != redirect->of &&
                    to != source->avoid;
        if (fine) {
            int32_t next = i + 1 < redirect->count ? redirect->to[i + 1] : FL__NOBODY;
            bool other = next >= crowd->def.first && next < crowd->def.member_capacity &&
                         next != crowd->def.self;
            source->other = other ? next : FL__NOBODY;
            ask_via(crowd, source, to, now);
            return;
        }
    }
    if (from != redirect->of && source->tries > 0) {
        source->tries--;
        ask_via(crowd, source, some_neighbour(crowd, source, now), now);
        return;
    }
    source->avoid = FL__NOBODY; // nobody is left but whom we avoided
    ask_via(crowd, source, redirect->of, now);
    source->resting = fl_time_add(now, from == redirect->of ? TRY_AGAIN : 0);
    source->look_due = source->resting;
}

void fl__crowd_streamed(FlCrowd *crowd, int32_t lane, const FlUpdate *update, int32_t hops,
                        const uint8_t *packed, int32_t packed_bytes, FlTime now)
{
    int32_t of = (int32_t)update->entity;
    FlCrowdSource *source = fl__crowd_source(crowd, of);
    if (source == NULL || source->via != crowd->lanes[lane].member) {
        crowd->lanes[lane].look_end = (int16_t)of; // it has not heard that we look no more
        fl__crowd_wake(crowd, lane);
        return;
    }
    if (update->motion.time <= source->stamp) {
        return; // nothing new: as good as silence
    }
    source->heard = now;
    source->lost = false;
    source->avoid = FL__NOBODY;
    source->missed = 0;
    memcpy(source->packed, packed, (size_t)packed_bytes);
    source->packed_bytes = packed_bytes;
    source->stamp = update->motion.time;
    source->hops = hops;
    fl__crowd_served(crowd, of, now);
}

void fl__crowd_watch(FlCrowd *crowd, FlTime now)
{
    if (now < crowd->watch_due) {
        return;
    }
    crowd->watch_due = fl_time_add(now, WATCH_EVERY);
    if (crowd->looked) {
        crowd->looked = false;
        choose(crowd, now);
    }
    for (int32_t i = 0; i < crowd->def.focus_count; i++) {
        if (crowd->sources[i].member != FL__NOBODY) {
            look_after(crowd, &crowd->sources[i], now);
        }
    }
    fl__crowd_serve(crowd, now);
}
