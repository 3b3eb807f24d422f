// Who looks at whom: our sources.
//
// Watching is the watcher's business: it asks, repeats it, notices silence, and asks elsewhere, as
// it learns from whom it asked, or at the owner's (serve.c). The tree has no circles: only updates
// newer than all before are passed on, so one that came round would find itself known, and who is
// fed by its own watchers hears nothing and asks the owner again.
#include "known.h"
#include "missed.h"

#include <string.h>

#define LOOK_EVERY FL_SEC(2)
#define LOOK_EVERY_UNHEARD FL_MS(150)
#define STAY_FACTOR 1.25f // who is watched is left for one looked at so much more
#define STAY_AT_LEAST FL_SEC(1)
#define HUGE_WORTH 1e30f
#define OPEN_LEAST                                                                                 \
    FL_MS(350) // for a light connection to open, and as much again by chance: many may want it
#define TRY_AGAIN FL_MS(600)   // no member could serve us
#define MISSED_AT_MOST 2       // tries to reach the owner
#define NEIGHBOURS_ASKED 8     // where the owner cannot be reached
#define REFUSED_FOR FL_MS(700) // whoever had nothing for us is not asked again

// ---------------------------------------------------------------- sources

static void ask_via(FlCrowd *crowd, FlCrowdSource *source, int32_t via, FlTime now)
{
    bool left = source->received != INT64_MIN || source->came == INT64_MIN;
    source->before = left ? source->via : source->before; // who serves us until `via` does
    source->via = via;
    source->since = now;
    source->asked = FL_FOREVER;
    source->received = INT64_MIN;
    source->look_due = now;
    uint64_t luck = fl_random_at((uint64_t)crowd->def.self, (uint64_t)via, (uint64_t)now);
    source->open_within = OPEN_LEAST + (FlTime)(luck % (uint64_t)OPEN_LEAST);
    const FlCrowdLight *light = fl__crowd_light(crowd, via);
    if (light != NULL && !light->reached && fl_span(now, light->opened) > OPEN_LEAST) {
        fl__crowd_light_over(crowd, crowd->light_of[via]); // it had no place for us: again
    }
    crowd->asked[via] = INT64_MIN; // introduced at once, if need be
    crowd->some_wanted = true;
}

static void begin(FlCrowd *crowd, FlCrowdSource *source, int32_t of, FlTime now)
{
    FlCrowdSource fresh = {.of = of, .via = FL__NOBODY, .other = FL__NOBODY, .avoid = FL__NOBODY};
    fresh.stamp = fresh.came = fresh.received = INT64_MIN;
    fresh.ends = FL_FOREVER;
    fresh.begun = now;
    *source = fresh;
    crowd->known[of].source = (int16_t)(source - crowd->sources);
    ask_via(crowd, source, fl__crowd_owner(crowd, of), now);
    crowd->stats.sources++;
    if (crowd->watched_fn != NULL) {
        crowd->watched_fn(crowd->watched_ctx, (uint32_t)of, true);
    }
}

static void end(FlCrowd *crowd, FlCrowdSource *source)
{
    FlCrowdLight *via = fl__crowd_light(crowd, source->via);
    if (via != NULL) {
        via->look_end = source->of;
        fl__crowd_wake(crowd, crowd->light_of[source->via]);
    }
    fl__crowd_serve_no_more(crowd, source->of);
    if (source->packed_bytes > 0 && crowd->known[source->of].stamp == source->stamp &&
        fl__crowd_carriable(crowd, source->of, source->stamp) == NULL) {
        fl__crowd_keep(crowd, source->of, source->stamp, source->packed, source->packed_bytes);
    }
    crowd->known[source->of].source = FL__NOBODY;
    source->of = FL__NOBODY;
}

// Those to whom we pass it on find another source first.
static void watch_no_more(FlCrowd *crowd, FlCrowdSource *source, FlTime now)
{
    if (crowd->watched_fn != NULL) {
        crowd->watched_fn(crowd->watched_ctx, (uint32_t)source->of, false);
    }
    crowd->stats.sources--;
    source->ends = fl_time_add(now, FL__LEAVES_NS);
    if (source->received == INT64_MIN || !fl__crowd_hand_on(crowd, source->of, now)) {
        end(crowd, source);
    }
}

static void watch_again(FlCrowd *crowd, FlCrowdSource *source, FlTime now)
{
    source->ends = FL_FOREVER;
    source->begun = now;
    crowd->stats.sources++;
    if (crowd->watched_fn != NULL) {
        crowd->watched_fn(crowd->watched_ctx, (uint32_t)source->of, true);
    }
}
// A glance costs an introduction: who is watched stays so for a while, and then unless another
// else is looked at clearly more.
static float worth(const FlCrowd *crowd, int32_t of, FlTime now)
{
    float value = crowd->looks[of].attention;
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    if (source == NULL || source->ends != FL_FOREVER) {
        return value;
    }
    return fl_span(now, source->begun) < STAY_AT_LEAST ? HUGE_WORTH : value * STAY_FACTOR;
}

// Puts an entity in its place among the best so far; at equal worth the lower number comes first.
static int32_t rank(FlCrowd *crowd, int32_t count, int32_t of, FlTime now)
{
    float value = worth(crowd, of, now);
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
    crowd->chosen[at] = of;
    return count < room ? count + 1 : count;
}

// A place for one more. Where none is free, whoever is passed on only makes room.
static FlCrowdSource *free_source(FlCrowd *crowd)
{
    FlCrowdSource *found = NULL;
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def); i++) {
        FlCrowdSource *source = &crowd->sources[i];
        if (source->of == FL__NOBODY) {
            return source;
        }
        found = source->ends != FL_FOREVER ? source : found;
    }
    FL_ASSERT(found != NULL);
    end(crowd, found);
    return found;
}

static void choose(FlCrowd *crowd, FlTime now)
{
    int32_t count = 0;
    for (int32_t n = 0; n < crowd->def.entity_capacity; n++) {
        if (crowd->looks[n].attention > 0.0f && crowd->known[n].owner != crowd->def.self &&
            fl__crowd_owner(crowd, n) != FL__NOBODY) {
            count = rank(crowd, count, n, now);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        crowd->looks[crowd->chosen[i]].chosen = true;
    }
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def); i++) {
        FlCrowdSource *source = &crowd->sources[i];
        if (source->of != FL__NOBODY && source->ends == FL_FOREVER &&
            !crowd->looks[source->of].chosen) {
            watch_no_more(crowd, source, now);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        crowd->looks[crowd->chosen[i]].chosen = false;
        FlCrowdSource *source = fl__crowd_source(crowd, crowd->chosen[i]);
        if (source == NULL) {
            begin(crowd, free_source(crowd), crowd->chosen[i], now);
        } else if (source->ends != FL_FOREVER) {
            watch_again(crowd, source, now);
        }
    }
}

static void refused(FlCrowd *crowd, int32_t member, FlTime now)
{
    FlCrowdLight *light = fl__crowd_light(crowd, member);
    if (light != NULL) {
        light->refused_at = now;
    }
}

static bool is_worth_asking(const FlCrowd *crowd, const FlCrowdSource *source,
                            const FlCrowdLight *light, FlTime now)
{
    int32_t owner = fl__crowd_owner(crowd, source->of);
    bool open = light->member != FL__NOBODY && light->reached && !light->over;
    bool near = open && light->way_ns >= 0 && light->way_ns <= crowd->def.extra_ns;
    bool other = near && light->member != source->via && light->member != source->avoid &&
                 light->member != owner;
    return other && (light->refused_at == 0 || fl_span(now, light->refused_at) > REFUSED_FOR);
}

// One whom we have a light connection to already, another one every time, the owner if there is
// none. Where many look at one member its own light connections are soon full, and those of whom we
// know most look at it, too. Who lost its source also asks those that bear no more, who name
// others.
static int32_t some_neighbour(const FlCrowd *crowd, const FlCrowdSource *source, FlTime now)
{
    int32_t capacity = crowd->def.light_capacity;
    uint64_t luck = fl_random_at((uint64_t)crowd->def.self, (uint64_t)source->of, (uint64_t)now);
    int32_t first = (int32_t)(luck % (uint64_t)capacity);
    int32_t found = fl__crowd_owner(crowd, source->of);
    bool any = false;
    for (int32_t i = 0; i < capacity; i++) {
        const FlCrowdLight *light = &crowd->lights[(first + i) % capacity];
        if (!is_worth_asking(crowd, source, light, now)) {
            continue;
        }
        if (light->spare > 0) {
            return light->member;
        }
        found = any || !source->lost ? found : light->member;
        any = true;
    }
    return found;
}

// Whom we left still sends, and the one that we asked instead does not.
static bool is_still_served(const FlCrowd *crowd, const FlCrowdSource *source, FlTime now)
{
    return source->received == INT64_MIN && source->came != INT64_MIN &&
           fl_span(now, source->came) < crowd->def.silence_ns && crowd->present[source->before];
}

// Leaves a silent source: for the other one we know of, else for the owner, who learns whom
// to avoid. If there is no way to the owner: for a member near by.
static void leave_silent(FlCrowd *crowd, FlCrowdSource *source, FlTime now)
{
    if (is_still_served(crowd, source, now)) {
        ask_via(crowd, source, source->before, now);
        return;
    }
    crowd->stats.recoveries++;
    bool came = source->received != INT64_MIN;
    source->lost = source->lost || came;
    int32_t via = source->via;
    int32_t owner = fl__crowd_owner(crowd, source->of);
    int32_t other = source->other;
    source->other = FL__NOBODY;
    if (via != owner) {
        source->avoid = via;
        refused(crowd, via, now);
    }
    bool can = other != FL__NOBODY && other != via && crowd->present[other];
    const FlCrowdLight *light = fl__crowd_light(crowd, via);
    const FlCrowdLight *there = can ? fl__crowd_light(crowd, other) : NULL;
    bool carries = crowd->def.shared && crowd->def.extra_ns > 0;
    bool dead = light == NULL || fl_span(now, light->received_at) >= crowd->def.silence_ns;
    if (came) {
        fl__crowd_serve_heartbeat(crowd, source->of);
    }
    if (came && dead && carries && (there == NULL || !there->reached)) {
        // A light connection takes a while to open: first those that there are.
        source->tries = NEIGHBOURS_ASKED;
        int32_t near = some_neighbour(crowd, source, now);
        can = can || near != owner;
        other = near != owner ? near : other;
    }
    bool full = via == owner && (light == NULL || !light->reached);
    source->missed += full ? 1 : 0;
    bool unreached = full && source->missed > MISSED_AT_MOST;
    if (!can && via == owner && carries && (source->lost || unreached)) {
        source->tries = NEIGHBOURS_ASKED;
        other = some_neighbour(crowd, source, now);
        can = true;
    }
    ask_via(crowd, source, can ? other : owner, now);
}

static bool is_silent(const FlCrowd *crowd, const FlCrowdSource *source, FlTime now)
{
    const FlCrowdLight *light = fl__crowd_light(crowd, source->via);
    if (light == NULL || !light->reached) {
        return fl_span(now, source->since) > source->open_within;
    }
    // Further down the tree one waits longer: who is above may just be finding another source.
    bool waits = source->hops > 1 && source->received != INT64_MIN;
    FlTime limit = waits ? 2 * crowd->def.silence_ns : crowd->def.silence_ns;
    FlTime last = fl__time_max(source->received, source->asked);
    return source->asked != FL_FOREVER && fl_span(now, last) > limit;
}

// The way from there to here is too long for one hop more.
static bool is_far(const FlCrowd *crowd, const FlCrowdSource *source)
{
    const FlCrowdLight *light = fl__crowd_light(crowd, source->via);
    return source->via != fl__crowd_owner(crowd, source->of) && light != NULL &&
           light->way_ns > crowd->def.extra_ns;
}

static void look_after(FlCrowd *crowd, FlCrowdSource *source, FlTime now)
{
    bool passed_on = source->ends != FL_FOREVER;
    if (passed_on && (now >= source->ends || !fl__crowd_is_served(crowd, source->of))) {
        end(crowd, source);
    }
    bool came = source->came != INT64_MIN && fl_span(now, source->came) < crowd->def.silence_ns;
    source->came = came ? source->came : INT64_MIN;
    if (passed_on) {
        return;
    }
    if (fl__crowd_owner(crowd, source->of) == FL__NOBODY) {
        return; // chosen no more the next time
    }
    bool gone = !crowd->present[source->via];
    if (!gone && source->resting > now) {
        return;
    }
    if (gone || is_silent(crowd, source, now) || is_far(crowd, source)) {
        leave_silent(crowd, source, now);
    }
    FlCrowdLight *light = fl__crowd_light(crowd, source->via);
    if (light != NULL && light->reached && source->received == INT64_MIN &&
        now >= source->look_due) {
        fl__crowd_wake(crowd, crowd->light_of[source->via]);
    }
}

void fl__crowd_look_said(FlCrowdSource *source, bool reached, FlTime now)
{
    source->asked = source->asked == FL_FOREVER && reached ? now : source->asked;
    source->look_due =
        fl_time_add(now, source->received == INT64_MIN ? LOOK_EVERY_UNHEARD : LOOK_EVERY);
}

static bool is_reached(const FlCrowd *crowd, int32_t member)
{
    const FlCrowdLight *light = member != FL__NOBODY ? fl__crowd_light(crowd, member) : NULL;
    return light != NULL && light->reached && !light->over;
}

void fl__crowd_redirected(FlCrowd *crowd, int32_t from, const FlCrowdRedirect *redirect, FlTime now)
{
    FlCrowdSource *source = fl__crowd_source(crowd, redirect->of);
    int32_t owner = fl__crowd_owner(crowd, redirect->of);
    if (source == NULL || source->via != from || owner == FL__NOBODY ||
        source->ends != FL_FOREVER) {
        return;
    }
    int32_t named[2] = {FL__NOBODY, FL__NOBODY};
    for (int32_t i = 0; i < redirect->count; i++) {
        int32_t to = redirect->to[i];
        bool fine = to >= crowd->def.first && to < crowd->def.member_capacity &&
                    to != crowd->def.self && crowd->present[to] && to != from &&
                    to != source->avoid;
        named[named[0] != FL__NOBODY ? 1 : 0] = fine ? to : FL__NOBODY;
    }
    if (named[0] != FL__NOBODY) { // in haste whom we reach already comes first
        bool second = is_reached(crowd, named[1]) && !is_reached(crowd, named[0]);
        int32_t first = source->lost && second ? 1 : 0;
        source->other = named[1 - first];
        ask_via(crowd, source, named[first], now);
        return;
    }
    if (is_still_served(crowd, source, now)) {
        ask_via(crowd, source, source->before, now);
        return;
    }
    source->came = INT64_MIN; // it has no more
    refused(crowd, from, now);
    if (from != owner && source->tries > 0) {
        source->tries--;
        ask_via(crowd, source, some_neighbour(crowd, source, now), now);
        return;
    }
    source->avoid = FL__NOBODY; // only those whom we avoided are left
    ask_via(crowd, source, owner, now);
    source->resting = fl_time_add(now, from == owner ? TRY_AGAIN : 0);
    source->look_due = source->resting;
}

void fl__crowd_streamed(FlCrowd *crowd, int32_t light, const FlUpdate *update, int32_t hops,
                        const uint8_t *packed, int32_t packed_bytes, FlTime now)
{
    int32_t of = (int32_t)update->entity;
    FlCrowdSource *source = fl__crowd_source(crowd, of);
    int32_t from = crowd->lights[light].member;
    bool still = source != NULL && source->via != from && source->before == from &&
                 source->received == INT64_MIN;
    if (source == NULL || (source->via != from && !still)) {
        crowd->lights[light].look_end = of; // it does not know yet that we look no more
        fl__crowd_wake(crowd, light);
        return;
    }
    if (update->motion.time <= source->stamp) {
        return; // nothing new: as good as silence
    }
    source->came = now;
    if (!still && source->received == INT64_MIN) { // it is served: no need to ask again at once
        source->asked = source->asked == FL_FOREVER ? now : source->asked;
        source->look_due = fl_time_add(now, LOOK_EVERY);
    }
    source->received = still ? INT64_MIN : now;
    source->lost = false;
    source->avoid = FL__NOBODY;
    source->missed = 0;
    memcpy(source->packed, packed, (size_t)packed_bytes);
    source->packed_bytes = packed_bytes;
    source->stamp = update->motion.time;
    source->epoch = crowd->known[of].epoch;
    source->hops = hops;
    fl__crowd_served(crowd, of, now);
}

void fl__crowd_watch(FlCrowd *crowd, FlTime now)
{
    if (now < crowd->watch_due) {
        return;
    }
    crowd->watch_due = fl_time_add(now, FL__WATCH_EVERY);
    if (crowd->looked) {
        crowd->looked = false;
        choose(crowd, now);
    }
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def); i++) {
        if (crowd->sources[i].of != FL__NOBODY) {
            look_after(crowd, &crowd->sources[i], now);
        }
    }
    fl__crowd_serve(crowd, now);
    fl__crowd_look_for_missed(crowd, now);
}
