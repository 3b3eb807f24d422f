// What we know of entities: whose they are, ours as they travel, the newest update of others'.
//
// What an owner sends itself wins over what others carry, whatever the stamps; what cannot be true
// by what the owner sends next counts against the carrier.
#include "known.h"

#include "guided.h"

#include <math.h>
#include <string.h>

#include "motion/motion.h"

#define EARLY_AT_MOST FL_MS(250) // clocks differ a little
#define CARRY_WITHIN FL_SEC(10)  // what is older is not carried

// ---------------------------------------------------------------- whose they are

static void unlist(FlCrowd *crowd, int32_t of)
{
    int32_t owner = crowd->known[of].owner;
    if (owner == FL__NOBODY) {
        return;
    }
    int32_t *at = &crowd->owned[owner];
    while (*at != of) {
        at = &crowd->known[*at].next;
    }
    *at = crowd->known[of].next;
    crowd->owned_count[owner]--;
}

void fl__crowd_entity(FlCrowd *crowd, uint32_t number, int32_t owner, uint16_t epoch)
{
    FL_ASSERT(number < (uint32_t)crowd->def.entity_capacity);
    FL_ASSERT(owner < crowd->def.member_capacity);
    int32_t of = (int32_t)number;
    FlCrowdKnown *known = &crowd->known[of];
    bool fresh = known->owner == FL__NOBODY;
    if (known->owner == owner && known->epoch == epoch) {
        return;
    }
    FlCrowdOwn *own = fl__crowd_own(crowd, of);
    if (own != NULL) {
        own->of = FL__NOBODY;
    }
    fl__crowd_guided_end(crowd, of);
    unlist(crowd, of);
    known->owner = (int16_t)owner;
    known->epoch = epoch;
    crowd->looked = true;
    if (owner != FL__NOBODY) {
        crowd->known[of].next = crowd->owned[owner];
        crowd->owned[owner] = of;
        crowd->owned_count[owner]++;
    }
    if (fresh || owner == FL__NOBODY) { // not so when it changes its owner: it goes on where it is
        crowd->looks[of].attention = 0.0f;
        known->stamp = INT64_MIN;
        known->carried = false;
    }
    crowd->more[of].own_stamp = INT64_MIN;
    crowd->more[of].kept = INT64_MIN;
}

void fl__crowd_look(FlCrowd *crowd, uint32_t number, double attention)
{
    FL_ASSERT(number < (uint32_t)crowd->def.entity_capacity);
    crowd->looks[number].attention = attention > 0.0 ? (float)attention : 0.0f;
    crowd->looked = true;
}

void fl__crowd_on_watched(FlCrowd *crowd, FlCrowdWatched *watched_fn, void *ctx)
{
    crowd->watched_fn = watched_fn;
    crowd->watched_ctx = ctx;
}

void fl__crowd_on_guided(FlCrowd *crowd, FlCrowdGuidedFn *guided_fn, void *ctx)
{
    crowd->guided_fn = guided_fn;
    crowd->guided_ctx = ctx;
}

void fl__crowd_on_message(FlCrowd *crowd, FlCrowdMessaged *message_fn, void *ctx)
{
    crowd->message_fn = message_fn;
    crowd->message_ctx = ctx;
}

// ---------------------------------------------------------------- ours

FlResult fl__crowd_export(FlCrowd *crowd, uint32_t number, const uint8_t *packed, int32_t bytes,
                          FlTime stamp)
{
    int32_t of = (int32_t)number;
    FL_ASSERT(crowd->known[of].owner == crowd->def.self);
    FlCrowdOwn *own = fl__crowd_own(crowd, of);
    own = own != NULL ? own : fl__crowd_own(crowd, FL__NOBODY);
    if (own == NULL) {
        return FL_FULL;
    }
    own->of = of;
    own->packed_bytes = bytes;
    own->stamp = stamp;
    memcpy(own->packed, packed, (size_t)bytes);
    fl__crowd_served(crowd, of, stamp);
    return FL_OK;
}

// ---------------------------------------------------------------- the others'

// What was carried to us and what its owner sends itself cannot both be true: nothing is that fast.
static bool contradicts(const FlCrowd *crowd, const FlCrowdKnown *known, const FlMotion *own)
{
    double reach = crowd->world.def.top_speed * 1.7320508 *
                       fabs(fl_span_seconds(fl_span(own->time, known->stamp))) +
                   2.0 * crowd->world.def.precision;
    return fl_vec3_distance(known->position, own->position) > reach;
}

void fl__crowd_blame(FlCrowd *crowd, int32_t member)
{
    crowd->stats.contradictions++;
    FlCrowdLight *light = fl__crowd_light(crowd, member);
    if (light != NULL) {
        light->contradictions++;
    }
}

bool fl__crowd_admit(FlCrowd *crowd, const FlUpdate *update, uint8_t epoch, FlTime now)
{
    int32_t of = (int32_t)update->entity;
    int32_t owner = of < crowd->def.entity_capacity ? fl__crowd_owner(crowd, of) : FL__NOBODY;
    bool theirs =
        owner != FL__NOBODY && owner != crowd->def.self && (uint8_t)crowd->known[of].epoch == epoch;
    if (!theirs) {
        crowd->stats.strangers++;
        return false;
    }
    if (update->motion.time > fl_time_add(now, EARLY_AT_MOST)) {
        crowd->stats.early++;
        return false;
    }
    return true;
}

bool fl__crowd_take(FlCrowd *crowd, const FlCrowdLight *light, const FlUpdate *update, int32_t hops,
                    FlTime now)
{
    FlTime stamp = update->motion.time;
    FlCrowdKnown *known = &crowd->known[update->entity];
    FlCrowdMore *more = &crowd->more[update->entity];
    bool direct = hops == 0;
    if (direct && known->carried && known->life == update->life &&
        contradicts(crowd, known, &update->motion)) {
        fl__crowd_blame(crowd, known->via);
    }
    // What its owner sends itself counts, whatever others sent and however they stamped it.
    bool owner = direct && known->carried && stamp > more->own_stamp;
    if (stamp <= known->stamp && !owner) {
        crowd->stats.overtaken++;
        return false;
    }
    if (known->source == FL__NOBODY && known->life == (uint8_t)update->life) {
        fl__crowd_fade_learn(crowd, known, &update->motion);
    }
    known->stamp = stamp;
    known->via = (int16_t)light->member;
    known->hops = (uint8_t)hops;
    known->life = (uint8_t)update->life;
    known->carried = !direct;
    known->position = update->motion.position;
    known->velocity[0] = (float)update->motion.velocity.x;
    known->velocity[1] = (float)update->motion.velocity.y;
    known->velocity[2] = (float)update->motion.velocity.z;
    more->arrived = now;
    more->own_stamp = direct ? stamp : more->own_stamp;
    return true;
}

void fl__crowd_keep(FlCrowd *crowd, int32_t of, FlTime stamp, const uint8_t *packed, int32_t bytes)
{
    FlCrowdMore *more = &crowd->more[of];
    if (bytes <= FL__KEPT_BYTES) {
        memcpy(more->packed, packed, (size_t)bytes);
        more->packed_bytes = (uint8_t)bytes;
        more->kept = stamp;
    }
}

const FlCrowdMore *fl__crowd_carriable(const FlCrowd *crowd, int32_t of, FlTime now)
{
    const FlCrowdMore *more = &crowd->more[of];
    bool own_word = more->kept != INT64_MIN && more->kept == more->own_stamp;
    return own_word && fl_span(now, more->kept) < CARRY_WITHIN ? more : NULL;
}

const FlCrowdMore *fl__crowd_kept(const FlCrowd *crowd, int32_t of, FlTime now)
{
    const FlCrowdMore *more = &crowd->more[of];
    return more->kept != INT64_MIN && fl_span(now, more->kept) < CARRY_WITHIN ? more : NULL;
}

// ---------------------------------------------------------------- asking

static bool is_known(const FlCrowd *crowd, int32_t of)
{
    return crowd->known[of].stamp != INT64_MIN && crowd->known[of].owner != crowd->def.self &&
           fl__crowd_owner(crowd, of) != FL__NOBODY;
}

static FlVec3 velocity_of(const FlCrowdKnown *known)
{
    return fl_vec3((double)known->velocity[0], (double)known->velocity[1],
                   (double)known->velocity[2]);
}

// All of the newest update, if it is still there; else straight on.
static FlMotion motion_of(const FlCrowd *crowd, int32_t of)
{
    const FlCrowdKnown *known = &crowd->known[of];
    const FlCrowdMore *more = &crowd->more[of];
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    FlReader r;
    FlUpdate update;
    if (source != NULL && source->packed_bytes > 0 && source->stamp == known->stamp) {
        fl_reader_init(&r, source->packed, source->packed_bytes);
    } else {
        fl_reader_init(&r, more->packed, more->kept == known->stamp ? more->packed_bytes : 0);
    }
    if (fl_update_decode(&r, &crowd->world, known->stamp, &update) == FL_UPDATE_OK) {
        return update.motion;
    }
    FlState state = {
        .time = known->stamp, .position = known->position, .velocity = velocity_of(known)};
    return fl_motion_make(FL_MODEL_LINEAR, &state);
}

FlResult fl__crowd_view(const FlCrowd *crowd, uint32_t number, bool motion, FlCrowdView *view)
{
    FL_ASSERT(number < (uint32_t)crowd->def.entity_capacity);
    int32_t of = (int32_t)number;
    memset(view, 0, sizeof *view);
    if (crowd->known[of].owner == FL__NOBODY || !is_known(crowd, of)) {
        return FL_NOT_FOUND;
    }
    const FlCrowdKnown *known = &crowd->known[of];
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    view->watched = source != NULL && source->ends == FL_FOREVER && source->came != INT64_MIN;
    view->stamp = known->stamp;
    view->arrived = crowd->more[of].arrived;
    view->via = known->via;
    view->hops = known->hops;
    view->life = known->life;
    if (motion) {
        view->motion = motion_of(crowd, of);
        if (source == NULL) {
            fl__crowd_fade(crowd, &view->motion);
        }
    }
    return FL_OK;
}

int32_t fl__crowd_positions(const FlCrowd *crowd, FlTime time, FlVec3 *positions)
{
    int32_t count = 0;
    for (int32_t n = 0; n < crowd->def.entity_capacity; n++) {
        if (crowd->known[n].owner != FL__NOBODY && is_known(crowd, n)) {
            const FlCrowdKnown *known = &crowd->known[n];
            positions[n] = fl__crowd_fade_position(crowd, known, time);
            count++;
        }
    }
    return count;
}
