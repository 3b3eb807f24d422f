// Making a crowd; who is there.
#include "guided.h"

#include "motion/motion.h"

#include <string.h>

#define CROWD_COOKIE 0x43525731u
#define MEMBERS_AT_MOST 4096
#define SHARED_LIGHTS_AT_MOST 64

FlCrowdDef fl__crowd_def_default(void)
{
    FlCrowdDef def = {
        .first = 1,
        .light_capacity = 64,
        .detail_capacity = 16,
        .guide_capacity = 64,
        .stream_capacity = 128,
        .focus_count = 4,
        .frame_ns = FL_MS(50),
        .batch_ns = FL_MS(950),
        .silence_ns = FL_MS(300),
        .extra_ns = FL_MS(100),
        .overhead_bytes = 46,
        .shared = true,
        .cookie = CROWD_COOKIE,
    };
    return def;
}

FlResult fl__crowd_def_problem(const FlCrowdDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlCrowdDef, "fl_session_def_default", CROWD_COOKIE),
        FL__WHOLE(FlCrowdDef, light_capacity, 1, MEMBERS_AT_MOST),
        FL__WHOLE(FlCrowdDef, detail_capacity, 1, 65536),
        FL__WHOLE(FlCrowdDef, guide_capacity, 0, INT16_MAX),
        FL__WHOLE(FlCrowdDef, stream_capacity, 1, 65536),
        FL__WHOLE(FlCrowdDef, focus_count, 1, MEMBERS_AT_MOST),
        FL__WHOLE(FlCrowdDef, frame_ns, FL_MS(1), FL_SEC(10)),
        FL__WHOLE(FlCrowdDef, batch_ns, FL_MS(1), FL_SEC(10)),
        FL__WHOLE(FlCrowdDef, silence_ns, 1, FL_FOREVER),
        FL__WHOLE(FlCrowdDef, extra_ns, 0, FL_FOREVER),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    (void)fl__def_wrong(error, def->batch_ns < def->frame_ns, "batch_ns is below frame_ns.");
    return fl__def_wrong(error, def->shared && def->light_capacity > SHARED_LIGHTS_AT_MOST,
                         "light_capacity is above 64: with shared it must be 1 to 64.");
}

static bool def_is_good(const FlCrowdDef *def)
{
    FlError error;
    bool members = def->member_capacity >= 2 && def->member_capacity <= MEMBERS_AT_MOST &&
                   def->first >= 0 && def->self >= def->first && def->self < def->member_capacity;
    bool counts = def->focus_count <= def->member_capacity && def->entity_capacity >= 1 &&
                  def->entity_capacity <= 65536 && def->detail_capacity <= def->entity_capacity;
    return fl__crowd_def_problem(def, &error) == FL_OK && members && counts &&
           def->upload_bytes_s >= 0.0 && def->upload_bytes_s < 1e12 && def->overhead_bytes >= 0 &&
           def->overhead_bytes <= 1000;
}

// ---------------------------------------------------------------- memory

#define TABLES 27

static void list_tables(FlCrowd *c, Fl__Table tables[TABLES])
{
    const FlCrowdDef *def = &c->def;
    size_t members = (size_t)def->member_capacity;
    size_t seats = (size_t)fl__plane_seats_most(def->member_capacity);
    size_t entities = (size_t)def->entity_capacity;
    size_t lights = (size_t)def->light_capacity;
    size_t pairs = def->shared ? lights * lights : lights;
    Fl__Table all[TABLES] = {
        {(void **)&c->present, members * sizeof(bool)},
        {(void **)&c->looks, entities * sizeof(FlCrowdLook)},
        {(void **)&c->known, entities * sizeof(FlCrowdKnown)},
        {(void **)&c->more, entities * sizeof(FlCrowdMore)},
        {(void **)&c->owned, members * sizeof(int32_t)},
        {(void **)&c->owned_count, members * sizeof(uint16_t)},
        {(void **)&c->own, (size_t)def->detail_capacity * sizeof(FlCrowdOwn)},
        {(void **)&c->guided, (size_t)def->guide_capacity * sizeof(FlCrowdGuided)},
        {(void **)&c->light_of, members * sizeof(int16_t)},
        {(void **)&c->asked, members * sizeof(FlTime)},
        {(void **)&c->carried_at, members * sizeof(FlTime)},
        {(void **)&c->neighbours, members * sizeof(int16_t)},
        {(void **)&c->is_neighbour, members * sizeof(bool)},
        {(void **)&c->light_member, lights * sizeof(int16_t)},
        {(void **)&c->lights, lights * sizeof(FlCrowdLight)},
        {(void **)&c->due, lights * sizeof(FlTime)},
        {(void **)&c->pending, pairs * sizeof(FlTime)},
        {(void **)&c->arrived, pairs * sizeof(FlTime)},
        {(void **)&c->sources, (size_t)fl__crowd_source_places(def) * sizeof(FlCrowdSource)},
        {(void **)&c->chosen, (size_t)def->focus_count * sizeof(int32_t)},
        {(void **)&c->watchers, (size_t)def->stream_capacity * sizeof(FlCrowdWatcher)},
        {(void **)&c->plan.seat_of, members * sizeof(int16_t)},
        {(void **)&c->plan.sits_next, members * sizeof(int16_t)},
        {(void **)&c->plan.holder, seats * sizeof(int16_t)},
        {(void **)&c->plan.stand_in, seats * FL__DUTIES * sizeof(int16_t)},
        {(void **)&c->plan.duty_next, seats * FL__DUTIES * sizeof(int16_t)},
        {(void **)&c->plan.duty_of, members * sizeof(int16_t)},
    };
    memcpy(tables, all, sizeof all);
}

size_t fl__crowd_memory(const FlCrowdDef *def)
{
    FlCrowd like = {.def = *def};
    Fl__Table tables[TABLES];
    list_tables(&like, tables);
    return sizeof like + fl__tables_bytes(tables, TABLES);
}

static void start(FlCrowd *c, FlTime now)
{
    for (int32_t m = 0; m < c->def.member_capacity; m++) {
        c->light_of[m] = FL__NOBODY;
        c->owned[m] = FL__NOBODY;
        c->asked[m] = INT64_MIN;
    }
    for (int32_t n = 0; n < c->def.entity_capacity; n++) {
        c->known[n].owner = FL__NOBODY;
        c->known[n].source = FL__NOBODY;
    }
    for (int32_t i = 0; i < c->def.detail_capacity; i++) {
        c->own[i].of = FL__NOBODY;
    }
    for (int32_t i = 0; i < c->def.guide_capacity; i++) {
        c->guided[i].of = FL__NOBODY;
    }
    for (int32_t i = 0; i < c->def.light_capacity; i++) {
        c->lights[i].member = FL__NOBODY;
        c->due[i] = FL_FOREVER;
    }
    for (int32_t i = 0; c->def.shared && i < c->def.light_capacity * c->def.light_capacity; i++) {
        c->pending[i] = INT64_MIN;
        c->arrived[i] = INT64_MIN;
    }
    for (int32_t i = 0; i < fl__crowd_source_places(&c->def); i++) {
        c->sources[i].of = FL__NOBODY;
    }
    for (int32_t i = 0; i < c->def.stream_capacity; i++) {
        c->watchers[i].of = FL__NOBODY;
    }
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        c->redirects[i].light = FL__NOBODY;
    }
    for (int32_t i = 0; i < FL__MESSAGES; i++) {
        c->messages[i].light = FL__NOBODY;
    }
    fl__crowd_fade_begin(c);
    c->present[c->def.self] = true;
    c->present_count = 1;
    c->watch_due = now;
    c->sweep_due = now;
    c->counted_at = now;
    c->plan.again = now;
    c->plan.stale = true;
}

FlResult fl__crowd_create(const FlCrowdDef *def, const FlWorld *world, FlTime now, FlCrowd **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == CROWD_COOKIE);
    if (!def_is_good(def) || world->def.entity_capacity != def->entity_capacity) {
        return FL_BAD_VALUE;
    }
    FlCrowd *crowd = (FlCrowd *)fl_alloc(&def->alloc, sizeof *crowd, _Alignof(FlCrowd));
    if (crowd == NULL) {
        return FL_NO_MEMORY;
    }
    crowd->def = *def;
    crowd->world = *world;
    Fl__Table tables[TABLES];
    list_tables(crowd, tables);
    if (!fl__tables_reserve(&def->alloc, tables, TABLES)) {
        fl__crowd_destroy(crowd);
        return FL_NO_MEMORY;
    }
    start(crowd, now);
    *out = crowd;
    return FL_OK;
}

void fl__crowd_destroy(FlCrowd *crowd)
{
    if (crowd == NULL) {
        return;
    }
    Fl__Table tables[TABLES];
    list_tables(crowd, tables);
    fl__tables_release(&crowd->def.alloc, tables, TABLES);
    FlAlloc alloc = crowd->def.alloc;
    fl_free(&alloc, crowd, sizeof *crowd);
}

// ---------------------------------------------------------------- members

void fl__crowd_member(FlCrowd *crowd, int32_t member, bool present)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity);
    if (member < crowd->def.first || member == crowd->def.self ||
        crowd->present[member] == present) {
        return;
    }
    crowd->present[member] = present;
    crowd->present_count += present ? 1 : -1;
    crowd->plan.stale = true;
    crowd->looked = true;
    if (!present && crowd->light_of[member] != FL__NOBODY) {
        fl__crowd_light_over(crowd, crowd->light_of[member]);
    }
}

// ---------------------------------------------------------------- what was carried

FlResult fl__crowd_carried(const FlCrowd *crowd, int32_t owner, int32_t to, FlTime *stamp)
{
    FL_ASSERT(owner >= 0 && owner < crowd->def.member_capacity && to >= 0 &&
              to < crowd->def.member_capacity);
    int32_t from_light = crowd->light_of[owner];
    int32_t to_light = crowd->light_of[to];
    *stamp = INT64_MIN;
    if (!crowd->def.shared || from_light == FL__NOBODY || to_light == FL__NOBODY) {
        return FL_NOT_FOUND;
    }
    *stamp = crowd->arrived[to_light * crowd->def.light_capacity + from_light];
    return *stamp != INT64_MIN ? FL_OK : FL_NOT_FOUND;
}

// ---------------------------------------------------------------- counters

FlCrowdStats fl__crowd_stats(const FlCrowd *crowd)
{
    FlCrowdStats stats = crowd->stats;
    stats.neighbours = crowd->neighbour_count;
    stats.spare = fl__crowd_spare(crowd);
    return stats;
}

uint32_t fl__crowd_contradictions(const FlCrowd *crowd, int32_t member)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity);
    const FlCrowdLight *light = fl__crowd_light(crowd, member);
    return light != NULL ? light->contradictions : 0;
}
