// Serving those who watch, as long as our upload bears it; the others are sent on.
//
// An owner, or whoever passes its updates on, serves who asks. Beyond that it names others: those
// whom it serves and who have upload to spare. They do the same, so a tree grows from the owner,
// wide where uploads are.
#include "private.h"

#include <math.h>

#define STREAM_BYTES 17 // of a packet with one update, besides overhead
#define BATCH_UPDATE_BYTES 13
#define BATCH_HEAD_BYTES 16
#define PROMOTE_EVERY FL_MS(300)
#define PROMOTE_AGAIN FL_SEC(3)
#define PROMOTE_MORE 6
#define SPARE_ABOVE 2
#define OTHERS_OVER_S 2.0
#define ASKED_WITHIN FL_MS(500)
#define ASKED_AT_MOST 16  // in so long, over one light connection; who asks more often asks in vain
#define UPLOAD_SHARE 0.99 // the rest is for what comes at once, and the host

// ---------------------------------------------------------------- what we can bear

void fl__crowd_sent(FlCrowd *crowd, int32_t bytes, int32_t streams)
{
    crowd->other_bytes += bytes - streams * (crowd->def.overhead_bytes + STREAM_BYTES);
}

// What was sent beside streams, over two seconds or so. Heartbeats, looks and light connections
// that open are a tenth of an upload; an upload that is planned without them starves its batches.
static void count_others(FlCrowd *crowd, FlTime now)
{
    double passed = fl_span_seconds(fl_span(now, crowd->counted_at));
    if (passed > 0.0) {
        double weight = fmin(passed / OTHERS_OVER_S, 1.0);
        crowd->other_bytes_s += weight * (crowd->other_bytes / passed - crowd->other_bytes_s);
    }
    crowd->counted_at = now;
    crowd->other_bytes = 0.0;
}

void fl__crowd_count_batches(FlCrowd *crowd, FlTime now)
{
    count_others(crowd, now);
    double bytes = 0.0;
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        const FlCrowdLight *light = &crowd->lights[i];
        if (light->member != FL__NOBODY) {
            int32_t updates = light->planned ? crowd->owned_count[crowd->def.self] : 0;
            for (uint64_t bits = light->carries; light->planned && bits != 0; bits &= bits - 1) {
                updates += crowd->owned_count[crowd->light_member[fl__bit_lowest(bits)]];
            }
            bytes += crowd->def.overhead_bytes + BATCH_HEAD_BYTES + BATCH_UPDATE_BYTES * updates;
        }
    }
    crowd->batch_bytes_s = bytes / fl_span_seconds(crowd->def.batch_ns);
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
    if (def->upload_bytes_s > 0.0 && def->shared) { // otherwise no other could, anyway
        double others = fmax(crowd->batch_bytes_s, crowd->other_bytes_s);
        double left = def->upload_bytes_s * UPLOAD_SHARE - others;
        int32_t stay = crowd->stats.watchers - crowd->leaving;
        double streams = left / stream_bytes_s(crowd) - stay;
        more = streams < more ? (int32_t)floor(streams) : more;
    }
    return more;
}

// Light connections by which we serve others, beyond those we have for it: some stay free, for
// sending newcomers to where they can ask.
static int32_t lights_beyond(const FlCrowd *crowd)
{
    int32_t serving = 0;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        const FlCrowdWatcher *watcher = &crowd->watchers[i];
        bool stays = watcher->of != FL__NOBODY && watcher->leaves == FL_FOREVER;
        serving += stays && !crowd->lights[watcher->light].planned ? 1 : 0;
    }
    int32_t lights = crowd->def.light_capacity - crowd->neighbour_count;
    return serving + fl__crowd_lights_kept(crowd) - lights;
}

// Light connections that linger make room.
int32_t fl__crowd_spare(const FlCrowd *crowd)
{
    int32_t more = bearable(crowd);
    int32_t lights = -lights_beyond(crowd);
    int32_t spare = more < lights ? more : lights;
    return spare > 0 ? spare : 0;
}

// ---------------------------------------------------------------- sending on

static void queue_redirect(FlCrowd *crowd, const FlCrowdRedirect *redirect)
{
    FlCrowdRedirect *place = NULL; // the one that it replaces, or the first that is free
    for (int32_t i = FL__REDIRECTS - 1; i >= 0; i--) {
        FlCrowdRedirect *at = &crowd->redirects[i];
        if (at->light == redirect->light && at->of == redirect->of) {
            place = at;
            break;
        }
        place = at->light == FL__NOBODY ? at : place;
    }
    if (place != NULL) { // otherwise it notices, and asks again
        crowd->redirect_count += place->light == FL__NOBODY ? 1 : 0;
        *place = *redirect;
        fl__crowd_wake(crowd, redirect->light);
        crowd->stats.redirects++;
    }
}

// Back to the owner, who knows others.
static void send_away(FlCrowd *crowd, int32_t of, int32_t light)
{
    FlCrowdRedirect redirect = {.of = of, .light = light};
    queue_redirect(crowd, &redirect);
}

static void watcher_end(FlCrowd *crowd, FlCrowdWatcher *watcher)
{
    crowd->stats.passed_on -= watcher->forwarded ? 1 : 0;
    crowd->leaving -= watcher->leaves != FL_FOREVER ? 1 : 0;
    watcher->of = FL__NOBODY;
    crowd->stats.watchers--;
    while (crowd->watcher_end > 0 && crowd->watchers[crowd->watcher_end - 1].of == FL__NOBODY) {
        crowd->watcher_end--;
    }
}

// ---------------------------------------------------------------- watchers

static FlCrowdWatcher *find_watcher(const FlCrowd *crowd, int32_t of, int32_t light)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        if (crowd->watchers[i].of == of && crowd->watchers[i].light == light) {
            return &crowd->watchers[i];
        }
    }
    return NULL;
}

static FlCrowdWatcher *watcher_begin(FlCrowd *crowd, int32_t of, int32_t light)
{
    int32_t at = 0;
    while (at < crowd->watcher_end && crowd->watchers[at].of != FL__NOBODY) {
        at++;
    }
    FL_ASSERT(at < crowd->def.stream_capacity);
    crowd->watcher_end = at == crowd->watcher_end ? at + 1 : crowd->watcher_end;
    FlCrowdWatcher fresh = {.of = of, .light = light, .sent = INT64_MIN, .next = INT64_MIN};
    fresh.guided = INT64_MIN;
    fresh.leaves = FL_FOREVER;
    fresh.forwarded = crowd->known[of].owner != crowd->def.self;
    crowd->watchers[at] = fresh;
    crowd->stats.watchers++;
    crowd->stats.passed_on += fresh.forwarded ? 1 : 0;
    return &crowd->watchers[at];
}

void fl__crowd_watchers_end(FlCrowd *crowd, int32_t light)
{
    for (int32_t i = crowd->watcher_end - 1; i >= 0; i--) {
        if (crowd->watchers[i].of != FL__NOBODY && crowd->watchers[i].light == light) {
            watcher_end(crowd, &crowd->watchers[i]);
        }
    }
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        if (crowd->redirects[i].light == light) {
            crowd->redirects[i].light = FL__NOBODY;
            crowd->redirect_count--;
        }
    }
    for (int32_t i = 0; i < FL__MESSAGES; i++) {
        if (crowd->messages[i].light == light) {
            crowd->messages[i].light = FL__NOBODY;
            crowd->message_count--;
        }
    }
}

bool fl__crowd_light_serves(const FlCrowd *crowd, int32_t light)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        if (crowd->watchers[i].of != FL__NOBODY && crowd->watchers[i].light == light) {
            return true;
        }
    }
    return false;
}

static int32_t left_of(const FlCrowd *crowd, const FlCrowdWatcher *watcher)
{
    const FlCrowdLight *light = &crowd->lights[watcher->light];
    return light->spare - light->lent;
}

/// Who is to be sent on, from whom, and not to whom.
typedef struct Errand {
    int32_t of, member, avoid;
} Errand;

// Not too far away, and not the one who asks.
static bool can_help(const FlCrowd *crowd, const FlCrowdWatcher *watcher, const Errand *errand)
{
    if (watcher->of != errand->of || watcher->leaves != FL_FOREVER) {
        return false;
    }
    const FlCrowdLight *light = &crowd->lights[watcher->light];
    bool near = light->way_ns >= 0 && light->way_ns <= crowd->def.extra_ns;
    return near && light->member != errand->member && light->member != errand->avoid;
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

// None has: one after the other, who then sends on to its own.
static FlCrowdWatcher *find_any(FlCrowd *crowd, const Errand *errand)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        crowd->helper_turn = (crowd->helper_turn + 1) % crowd->watcher_end;
        FlCrowdWatcher *watcher = &crowd->watchers[crowd->helper_turn];
        bool passes = watcher->of != FL__NOBODY && crowd->lights[watcher->light].passes > 0;
        if (passes && can_help(crowd, watcher, errand)) {
            return watcher;
        }
    }
    return NULL;
}

// Sends a watcher on: to up to two of those we serve, or to none.
static void send_on(FlCrowd *crowd, int32_t of, int32_t light, int32_t avoid)
{
    FlCrowdRedirect redirect = {.of = of, .light = light};
    Errand errand = {of, crowd->lights[light].member, avoid};
    const FlCrowdWatcher *first = find_spare(crowd, &errand, NULL);
    const FlCrowdWatcher *second = first != NULL ? find_spare(crowd, &errand, first) : NULL;
    first = first != NULL ? first : find_any(crowd, &errand);
    if (first != NULL) {
        redirect.to[redirect.count++] = crowd->lights[first->light].member;
        crowd->lights[first->light].lent++;
    }
    if (second != NULL) {
        redirect.to[redirect.count++] = crowd->lights[second->light].member;
    }
    queue_redirect(crowd, &redirect);
}

// What a watcher does for others, or could.
static int32_t help_of(const FlCrowd *crowd, int32_t light)
{
    return crowd->lights[light].spare + crowd->lights[light].passes;
}

// Who is served, and can do least for others; `of` FL__NOBODY: with whatever.
static FlCrowdWatcher *find_least(const FlCrowd *crowd, int32_t of)
{
    FlCrowdWatcher *least = NULL;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == FL__NOBODY || (of != FL__NOBODY && watcher->of != of) ||
            watcher->leaves != FL_FOREVER) {
            continue;
        }
        bool less = least == NULL || help_of(crowd, watcher->light) < help_of(crowd, least->light);
        least = less ? watcher : least;
    }
    return least;
}

// It is sent on, and served until it has another source: no update is missed.
static void leave(FlCrowd *crowd, FlCrowdWatcher *watcher, FlTime now)
{
    if (watcher->leaves == FL_FOREVER) {
        watcher->leaves = fl_time_add(now, FL__LEAVES_NS);
        crowd->leaving++;
    }
}

// Batches have grown, or light connections are needed elsewhere: one watcher has to ask another
// member.
static void shed(FlCrowd *crowd, FlTime now)
{
    bool fine = bearable(crowd) >= -1 && lights_beyond(crowd) <= 0; // one too many is within bounds
    FlCrowdWatcher *least = find_least(crowd, FL__NOBODY);
    if (crowd->def.extra_ns == 0 || least == NULL || fine) {
        return;
    }
    leave(crowd, least, now);
    send_on(crowd, least->of, least->light, FL__NOBODY);
}

// It makes room for a member who can do more.
static bool make_room(FlCrowd *crowd, int32_t of, int32_t light, FlTime now)
{
    FlCrowdWatcher *least = find_least(crowd, of);
    if (least == NULL || help_of(crowd, least->light) >= help_of(crowd, light)) {
        return false;
    }
    int32_t gone = least->light;
    if (crowd->stats.watchers < crowd->def.stream_capacity) {
        leave(crowd, least, now);
    } else {
        watcher_end(crowd, least);
    }
    FlCrowdWatcher *fresh = watcher_begin(crowd, of, light);
    fresh->looked = now;
    send_on(crowd, of, gone, FL__NOBODY);
    return true;
}

// Whoever can do more for others than we is nearer to the owner than we, and so is everybody whom
// our own source has upload for: then the tree is shallow.
static bool goes_up(const FlCrowd *crowd, const FlCrowdWatcher *watcher, int32_t own, FlTime now)
{
    bool lately = watcher->sent_up != 0 && fl_span(now, watcher->sent_up) < PROMOTE_AGAIN;
    if (watcher->of == FL__NOBODY || !watcher->forwarded || lately ||
        watcher->leaves != FL_FOREVER) {
        return false;
    }
    const FlCrowdSource *source = fl__crowd_source(crowd, watcher->of);
    if (source == NULL || source->received == INT64_MIN ||
        source->via == crowd->lights[watcher->light].member) {
        return false;
    }
    const FlCrowdLight *above = fl__crowd_light(crowd, source->via);
    int32_t help = help_of(crowd, watcher->light);
    bool room = above != NULL && above->spare - above->lent > SPARE_ABOVE;
    return room || (help > own + PROMOTE_MORE && 2 * help > 3 * own);
}

// It is served until its next source sends.
static void promote(FlCrowd *crowd, FlTime now)
{
    if (crowd->def.extra_ns == 0 || crowd->stats.passed_on == 0 || now < crowd->promote_due) {
        return;
    }
    crowd->promote_due = fl_time_add(now, PROMOTE_EVERY);
    int32_t own = fl__crowd_spare(crowd) + crowd->stats.passed_on;
    FlCrowdWatcher *best = NULL;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        bool more = goes_up(crowd, watcher, own, now) &&
                    (best == NULL || help_of(crowd, watcher->light) > help_of(crowd, best->light));
        best = more ? watcher : best;
    }
    if (best != NULL) {
        FlCrowdRedirect up = {.of = best->of, .light = best->light, .count = 1};
        up.to[0] = fl__crowd_source(crowd, best->of)->via;
        queue_redirect(crowd, &up);
        FlCrowdLight *above = fl__crowd_light(crowd, up.to[0]);
        if (above != NULL) {
            above->lent++;
        }
        best->sent_up = now;
    }
}

// Whether we have its updates to give. Whoever waits for them itself says so at once: the other
// finds another one sooner.
static bool have(const FlCrowd *crowd, int32_t of, FlTime now)
{
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    return crowd->known[of].owner == crowd->def.self ||
           (source != NULL && source->ends == FL_FOREVER && source->came != INT64_MIN &&
            fl_span(now, source->came) < crowd->def.silence_ns);
}

// A member was no good to who asks now: it gets no more work until it says that it can bear some.
static void distrust(FlCrowd *crowd, int32_t member)
{
    bool known = member >= crowd->def.first && member < crowd->def.member_capacity;
    FlCrowdLight *light = known ? fl__crowd_light(crowd, member) : NULL;
    if (light != NULL) {
        light->spare = 0;
        light->passes = 0;
    }
}

// Answers cost upload, and the few places for them are everybody's.
static bool may_ask(FlCrowdLight *light, FlTime now)
{
    if (fl_span(now, light->asked_at) >= ASKED_WITHIN) {
        light->asked_at = now;
        light->asked = 0;
    }
    light->asked++;
    return light->asked <= ASKED_AT_MOST;
}

// Who was sent on found none.
static void keep_or_send_on(FlCrowd *crowd, FlCrowdWatcher *watcher, FlTime now)
{
    if (have(crowd, watcher->of, now) && bearable(crowd) > 0) {
        watcher->leaves = FL_FOREVER;
        crowd->leaving--;
    } else {
        send_on(crowd, watcher->of, watcher->light, FL__NOBODY);
    }
}

void fl__crowd_looked(FlCrowd *crowd, int32_t light, int32_t of, uint8_t attention, int32_t avoid,
                      FlTime now)
{
    FlCrowdWatcher *watcher = find_watcher(crowd, of, light);
    if (attention == 0) {
        if (watcher != NULL) {
            watcher_end(crowd, watcher);
        }
        return;
    }
    if (watcher != NULL) {
        watcher->looked = now;
        watcher->attention = attention;
    }
    bool stays = watcher != NULL && watcher->leaves == FL_FOREVER;
    if (stays || !may_ask(&crowd->lights[light], now)) {
        return;
    }
    if (watcher != NULL) { // it came back
        keep_or_send_on(crowd, watcher, now);
        return;
    }
    if (crowd->lights[light].asked == 1) {
        distrust(crowd, avoid); // one at a time: who says so of everybody is not believed
    }
    int32_t member = crowd->lights[light].member;
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    bool circle = source != NULL && source->via == member;
    if (!have(crowd, of, now) || circle) {
        send_away(crowd, of, light);
        return;
    }
    bool room = crowd->lights[light].planned || lights_beyond(crowd) < 0;
    bool bears = bearable(crowd) > 0 && (room || crowd->def.extra_ns == 0);
    if (!bears && crowd->def.extra_ns > 0) {
        if (!make_room(crowd, of, light, now)) {
            send_on(crowd, of, light, avoid);
        }
        return;
    }
    if (bears) {
        watcher = watcher_begin(crowd, of, light);
        watcher->looked = now;
        watcher->attention = attention;
        fl__crowd_wake(crowd, light);
    }
}

bool fl__crowd_is_served(const FlCrowd *crowd, int32_t of)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        if (crowd->watchers[i].of == of) {
            return true;
        }
    }
    return false;
}

// The one who can do most for others asks our own source, in our place; the others ask that one, or
// our source as well.
bool fl__crowd_hand_on(FlCrowd *crowd, int32_t of, FlTime now)
{
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    FlCrowdWatcher *best = NULL;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        bool more = watcher->of == of && watcher->leaves == FL_FOREVER &&
                    (best == NULL || help_of(crowd, watcher->light) > help_of(crowd, best->light));
        best = more ? watcher : best;
    }
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of != of || watcher->leaves != FL_FOREVER) {
            continue;
        }
        FlCrowdRedirect redirect = {.of = of, .light = watcher->light, .count = 1};
        redirect.to[0] = source->via;
        if (watcher != best && left_of(crowd, best) > 0) {
            redirect.to[redirect.count++] = source->via;
            redirect.to[0] = crowd->lights[best->light].member;
            crowd->lights[best->light].lent++;
        }
        queue_redirect(crowd, &redirect);
        leave(crowd, watcher, now);
    }
    return fl__crowd_is_served(crowd, of);
}

void fl__crowd_serve_no_more(FlCrowd *crowd, int32_t of)
{
    for (int32_t i = crowd->watcher_end - 1; i >= 0; i--) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == of) {
            send_away(crowd, watcher->of, watcher->light);
            watcher_end(crowd, watcher);
        }
    }
}

void fl__crowd_serve_heartbeat(FlCrowd *crowd, int32_t of)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        const FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == of) {
            crowd->lights[watcher->light].heartbeat_due = INT64_MIN;
            fl__crowd_wake(crowd, watcher->light);
        }
    }
}

void fl__crowd_serve(FlCrowd *crowd, FlTime now)
{
    shed(crowd, now);
    promote(crowd, now);
    for (int32_t i = crowd->watcher_end - 1; i >= 0; i--) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == FL__NOBODY) {
            continue;
        }
        if (now >= watcher->leaves) {
            send_away(crowd, watcher->of, watcher->light); // if it came back
            watcher_end(crowd, watcher);
        } else if (fl_span(now, watcher->looked) > FL__WATCHER_NS) {
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
            fl__crowd_wake(crowd, watcher->light);
        }
    }
}

int32_t fl__crowd_newest(const FlCrowd *crowd, int32_t of, const uint8_t **packed, FlTime *stamp,
                         int32_t *hops)
{
    if (crowd->known[of].owner == crowd->def.self) {
        const FlCrowdOwn *own = fl__crowd_own(crowd, of);
        *packed = own != NULL ? own->packed : NULL;
        *stamp = own != NULL ? own->stamp : INT64_MIN;
        *hops = 0;
        return own != NULL ? own->packed_bytes : 0;
    }
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    if (source == NULL || source->epoch != crowd->known[of].epoch) {
        return 0;
    }
    *packed = source->packed;
    *stamp = source->stamp;
    *hops = source->hops;
    return source->packed_bytes;
}
