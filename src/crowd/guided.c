// Guidance of entities in a crowd: ours, and what came of others', to be shown here and carried on.
//
// It travels beside updates, never in place of them: attention needs to know where everybody is. A
// batch has, after its updates, what their owners said that they will do; a watcher gets it beside
// a stream, as often as a batch goes, from whoever serves it.
//
// There are `guide_capacity` places for all that one knows. What its owner sends us itself is ours
// to carry, so it takes the place of something that was carried to us. No player fills them all:
// where there is no place left, whoever brings most, or has most of the entities, gives one up to
// who has fewer.
#include "guided.h"

#include "show/show.h"

#include <string.h>

#define OWN_WITHIN FL_MS(200)  // older: its owner has stopped handing it in
#define SENT_WITHIN FL_SEC(3)  // older: not sent on
#define UNUSED_AFTER FL_SEC(5) // older: its place is another's

static FlCrowdGuided *find(const FlCrowd *crowd, int32_t of)
{
    int32_t at = crowd->looks[of].guided;
    return at > 0 ? &crowd->guided[at - 1] : NULL;
}

const FlCrowdGuided *fl__crowd_guided(const FlCrowd *crowd, int32_t of, FlTime now)
{
    const FlCrowdGuided *guided = find(crowd, of);
    bool ours = crowd->known[of].owner == crowd->def.self;
    return guided != NULL && fl_span(now, guided->stamp) < (ours ? OWN_WITHIN : SENT_WITHIN)
               ? guided
               : NULL;
}

void fl__crowd_guided_end(FlCrowd *crowd, int32_t of)
{
    FlCrowdGuided *guided = find(crowd, of);
    if (guided != NULL) {
        guided->of = FL__NOBODY;
        crowd->looks[of].guided = 0;
    }
}

// Places of what came by that member, or (`owned`) is that member's.
static int32_t places_of(const FlCrowd *crowd, int32_t member, bool owned)
{
    int32_t count = 0;
    for (int32_t i = 0; i < crowd->def.guide_capacity; i++) {
        const FlCrowdGuided *at = &crowd->guided[i];
        int32_t whose = at->of == FL__NOBODY ? FL__NOBODY
                        : owned              ? crowd->known[at->of].owner
                                             : at->via;
        count += whose == member ? 1 : 0;
    }
    return count;
}

// All are taken: one of whoever has at least two more than who wants one. Ours we keep.
static FlCrowdGuided *place_of_most(FlCrowd *crowd, int32_t of, int32_t from)
{
    FlCrowdGuided *most = NULL;
    for (int32_t owned = 0; owned < 2 && most == NULL; owned++) {
        int32_t least =
            places_of(crowd, owned != 0 ? crowd->known[of].owner : from, owned != 0) + 2;
        for (int32_t i = 0; i < crowd->def.guide_capacity; i++) {
            FlCrowdGuided *at = &crowd->guided[i];
            int32_t whose = owned != 0 ? crowd->known[at->of].owner : at->via;
            int32_t count = at->via != crowd->def.self ? places_of(crowd, whose, owned != 0) : 0;
            if (count >= least) {
                most = at;
                least = count + 1;
            }
        }
    }
    return most;
}

// A place for it. `first`: it goes before what was carried to us. NULL: none.
static FlCrowdGuided *place_for(FlCrowd *crowd, int32_t of, int32_t from, bool first, FlTime now)
{
    FlCrowdGuided *place = find(crowd, of);
    if (crowd->guided == NULL) {
        return NULL;
    }
    for (int32_t i = 0; i < crowd->def.guide_capacity && place == NULL; i++) {
        FlCrowdGuided *at = &crowd->guided[i];
        bool unused = at->of == FL__NOBODY || fl_span(now, at->arrived) > UNUSED_AFTER;
        place = unused ? at : NULL;
    }
    for (int32_t i = 0; i < crowd->def.guide_capacity && place == NULL && first; i++) {
        place = crowd->guided[i].carried ? &crowd->guided[i] : NULL;
    }
    place = place != NULL ? place : place_of_most(crowd, of, from);
    if (place == NULL || place->of == of) {
        return place;
    }
    if (place->of != FL__NOBODY) {
        crowd->looks[place->of].guided = 0;
    }
    FlCrowdGuided fresh = {.of = of, .stamp = INT64_MIN, .own_stamp = INT64_MIN};
    *place = fresh;
    crowd->looks[of].guided = (int16_t)(place - crowd->guided + 1);
    return place;
}

FlResult fl__crowd_guide(FlCrowd *crowd, const FlGuidance *guidance)
{
    int32_t of = (int32_t)guidance->entity;
    if (crowd->known[of].owner != crowd->def.self) {
        return FL_WOULD_BLOCK;
    }
    FlCrowdGuided *place = place_for(crowd, of, crowd->def.self, true, guidance->time);
    FlWriter w;
    if (place == NULL) {
        return FL_FULL;
    }
    fl_writer_init(&w, place->packed, sizeof place->packed);
    if (!fl__guidance_encode(&w, &crowd->world, guidance)) {
        fl__crowd_guided_end(crowd, of);
        return FL_BAD_VALUE;
    }
    place->bytes = fl_writer_size(&w);
    place->stamp = guidance->time;
    place->arrived = guidance->time;
    place->via = (int16_t)crowd->def.self;
    return FL_OK;
}

// What was carried to us and what its owner says now of about the same time cannot both be true:
// nothing gets from one end to the other in the time that both leave.
static bool contradicts(const FlCrowd *crowd, const FlCrowdGuided *was, const FlGuidance *own,
                        const uint8_t *packed, int32_t bytes)
{
    if (was->stamp == own->time) {
        return was->bytes != bytes || memcmp(was->packed, packed, (size_t)bytes) != 0;
    }
    FlTime apart = fl_span(own->time, was->stamp);
    double seconds = fl_span_seconds((apart < 0 ? -apart : apart) + was->ahead_ns + own->ahead_ns);
    double reach =
        crowd->world.def.top_speed * 1.7320508 * seconds + 2.0 * crowd->world.def.precision;
    return fl_vec3_distance(was->position, own->position) > reach;
}

bool fl__crowd_guided_take(FlCrowd *crowd, int32_t from, const FlGuidance *guidance,
                           const uint8_t *packed, int32_t bytes, FlTime now, bool *lie)
{
    int32_t of = (int32_t)guidance->entity;
    bool direct = crowd->known[of].owner == from;
    const FlCrowdGuided *was = find(crowd, of);
    FlTime every = 2 * crowd->def.batch_ns;
    *lie = false;
    if (was != NULL) {
        bool own_word = was->own_stamp != INT64_MIN && fl_span(now, was->own_stamp) < every;
        bool newer = guidance->time > was->stamp || (direct && was->carried);
        if ((!direct && own_word) || (direct && guidance->time <= was->own_stamp) || !newer) {
            return false;
        }
        *lie = direct && was->carried && contradicts(crowd, was, guidance, packed, bytes);
    }
    FlCrowdGuided *place =
        bytes <= FL__GUIDANCE_BYTES ? place_for(crowd, of, from, direct, now) : NULL;
    if (place == NULL) {
        return false;
    }
    place->via = (int16_t)from;
    place->carried = !direct;
    place->stamp = guidance->time;
    place->own_stamp = direct ? guidance->time : place->own_stamp;
    place->arrived = now;
    place->ahead_ns = guidance->ahead_ns;
    place->position = guidance->position;
    place->bytes = bytes;
    memcpy(place->packed, packed, (size_t)bytes);
    return true;
}
