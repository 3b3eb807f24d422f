// What stands where in a crowd's tables. All other files ask here; this one asks none of them.
#include "private.h"

#define LIGHTS_KEPT 12

// ---------------------------------------------------------------- entities

int32_t fl__crowd_owner(const FlCrowd *crowd, int32_t of)
{
    int32_t owner = crowd->known[of].owner;
    return owner != FL__NOBODY && crowd->present[owner] ? owner : FL__NOBODY;
}

int32_t fl__crowd_owned(const FlCrowd *crowd, int32_t member, int32_t of)
{
    return of == FL__NOBODY ? crowd->owned[member] : crowd->known[of].next;
}

FlCrowdOwn *fl__crowd_own(const FlCrowd *crowd, int32_t of)
{
    for (int32_t i = 0; i < crowd->def.detail_capacity; i++) {
        if (crowd->own[i].of == of) {
            return &crowd->own[i];
        }
    }
    return NULL;
}

int32_t fl__crowd_source_places(const FlCrowdDef *def)
{
    return def->shared ? 2 * def->focus_count : def->focus_count;
}

FlCrowdSource *fl__crowd_source(const FlCrowd *crowd, int32_t of)
{
    int32_t at = crowd->known[of].source;
    return at != FL__NOBODY ? &crowd->sources[at] : NULL;
}

// ---------------------------------------------------------------- light connections

FlCrowdLight *fl__crowd_light(const FlCrowd *crowd, int32_t member)
{
    int32_t light = crowd->light_of[member];
    return light != FL__NOBODY ? &crowd->lights[light] : NULL;
}

#define LINE 64

void fl__crowd_light_soon(const FlCrowd *crowd, int32_t member)
{
    const FlCrowdLight *light = fl__crowd_light(crowd, member);
    for (size_t at = 0; light != NULL && at < sizeof *light; at += LINE) {
        __builtin_prefetch((const uint8_t *)light + at);
    }
}

bool fl__crowd_light_planned(const FlCrowd *crowd, int32_t member)
{
    const FlCrowdLight *light = fl__crowd_light(crowd, member);
    return light != NULL && light->planned;
}

int32_t fl__crowd_lights_left(const FlCrowd *crowd)
{
    int32_t others = crowd->stats.lights - crowd->stats.planned;
    return crowd->def.light_capacity - crowd->neighbour_count - others;
}

int32_t fl__crowd_lights_kept(const FlCrowd *crowd)
{
    int32_t share = crowd->def.light_capacity / 5;
    return share < LIGHTS_KEPT ? share : LIGHTS_KEPT;
}

bool fl__crowd_lights_short(const FlCrowd *crowd)
{
    return fl__crowd_lights_left(crowd) < fl__crowd_lights_kept(crowd);
}

void fl__crowd_light_over(FlCrowd *crowd, int32_t index)
{
    crowd->lights[index].over = true;
    crowd->due[index] = FL_FOREVER;
    crowd->some_over = true;
}
