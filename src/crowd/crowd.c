// Making a crowd, our avatar, what we know of others.
#include "private.h"

#include <math.h>
#include <string.h>

#define CROWD_COOKIE 0x43525731u
#define MEMBERS_AT_MOST 4096
#define SHARED_LANES_AT_MOST 64
#define EARLY_AT_MOST FL_MS(250) // clocks differ a little

FlCrowdDef fl_crowd_def_default(void)
{
    FlCrowdDef def = {
        .first = 1,
        .lane_capacity = 64,
        .stream_capacity = 128,
        .focus_count = 4,
        .frame_ns = FL_MS(50),
        .parcel_ns = FL_MS(950),
        .silence_ns = FL_MS(300),
        .extra_ns = FL_MS(100),
        .overhead_bytes = 46,
        .shared = true,
        .cookie = CROWD_COOKIE,
    };
    return def;
}

static bool def_is_good(const FlCrowdDef *def)
{
    bool members = def->member_capacity >= 2 && def->member_capacity <= MEMBERS_AT_MOST &&
                   def->first >= 0 && def->self >= def->first && def->self < def->member_capacity;
    bool counts = def->lane_capacity >= 1 && def->lane_capacity <= MEMBERS_AT_MOST &&
                  def->stream_capacity >= 1 && def->stream_capacity <= 65536 &&
                  def->focus_count >= 1 && def->focus_count <= def->member_capacity &&
                  (!def->shared || def->lane_capacity <= SHARED_LANES_AT_MOST);
    bool times = def->frame_ns >= FL_MS(1) && def->parcel_ns >= def->frame_ns &&
                 def->parcel_ns <= FL_SEC(10) && def->silence_ns > 0 && def->extra_ns >= 0;
    return members && counts && times && def->upload_bytes_s >= 0.0 && def->upload_bytes_s < 1e12 &&
           def->overhead_bytes >= 0 && def->overhead_bytes <= 1000;
}

// ---------------------------------------------------------------- memory

typedef struct Table {
    void **pointer;
    size_t bytes;
} Table;

#define TABLES 23

static void list_tables(FlCrowd *c, Table tables[TABLES])
{
    const FlCrowdDef *def = &c->def;
    size_t members = (size_t)def->member_capacity;
    size_t lanes = (size_t)def->lane_capacity;
    size_t pairs = def->shared ? lanes * lanes : lanes;
    Table all[TABLES] = {
        {(void **)&c->present, members * sizeof(bool)},
        {(void **)&c->attention, members * sizeof(float)},
        {(void **)&c->known, members * sizeof(FlCrowdKnown)},
        {(void **)&c->more, members * sizeof(FlCrowdMore)},
        {(void **)&c->lane_of, members * sizeof(int16_t)},
        {(void **)&c->source_of, members * sizeof(int16_t)},
        {(void **)&c->is_chosen, members * sizeof(bool)},
        {(void **)&c->asked, members * sizeof(FlTime)},
        {(void **)&c->neighbours, members * sizeof(int16_t)},
        {(void **)&c->is_neighbour, members * sizeof(bool)},
        {(void **)&c->lanes, lanes * sizeof(FlCrowdLane)},
        {(void **)&c->due, lanes * sizeof(FlTime)},
        {(void **)&c->pending, pairs * sizeof(FlTime)},
        {(void **)&c->arrived, pairs * sizeof(FlTime)},
        {(void **)&c->sources, (size_t)def->focus_count * sizeof(FlCrowdSource)},
        {(void **)&c->chosen, (size_t)def->focus_count * sizeof(int32_t)},
        {(void **)&c->watchers, (size_t)def->stream_capacity * sizeof(FlCrowdWatcher)},
        {(void **)&c->plan.seat_of, members * sizeof(int16_t)},
        {(void **)&c->plan.sits_next, members * sizeof(int16_t)},
        {(void **)&c->plan.holder, members * sizeof(int16_t)},
        {(void **)&c->plan.stand_in, members * FL__DUTIES * sizeof(int16_t)},
        {(void **)&c->plan.duty_next, members * FL__DUTIES * sizeof(int16_t)},
        {(void **)&c->plan.duty_of, members * sizeof(int16_t)},
    };
    memcpy(tables, all, sizeof all);
}

size_t fl_crowd_memory(const FlCrowdDef *def)
{
    FlCrowd like = {.def = *def};
    Table tables[TABLES];
    list_tables(&like, tables);
    size_t bytes = sizeof like;
    for (int32_t i = 0; i < TABLES; i++) {
        bytes += tables[i].bytes;
    }
    return bytes;
}

static void start(FlCrowd *c, FlTime now)
{
    for (int32_t m = 0; m < c->def.member_capacity; m++) {
        c->lane_of[m] = FL__NOBODY;
        c->source_of[m] = FL__NOBODY;
        c->asked[m] = INT64_MIN;
        c->known[m].stamp = INT64_MIN;
        c->more[m].told = INT64_MIN;
    }
    for (int32_t i = 0; i < c->def.lane_capacity; i++) {
        c->lanes[i].member = FL__NOBODY;
        c->due[i] = FL_FOREVER;
    }
    for (int32_t i = 0; c->def.shared && i < c->def.lane_capacity * c->def.lane_capacity; i++) {
        c->pending[i] = INT64_MIN;
        c->arrived[i] = INT64_MIN;
    }
    for (int32_t i = 0; i < c->def.focus_count; i++) {
        c->sources[i].member = FL__NOBODY;
    }
    for (int32_t i = 0; i < c->def.stream_capacity; i++) {
        c->watchers[i].of = FL__NOBODY;
    }
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        c->redirects[i].lane = FL__NOBODY;
    }
    c->present[c->def.self] = true;
    c->present_count = 1;
    c->watch_due = now;
    c->sweep_due = now;
    c->plan.again = now;
    c->plan.stale = true;
}

FlResult fl_crowd_create(const FlCrowdDef *def, const FlWorld *world, FlTime now, FlCrowd **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == CROWD_COOKIE);
    if (!def_is_good(def) || world->def.entity_capacity < def->member_capacity) {
        return FL_BAD_VALUE;
    }
    FlCrowd *crowd = (FlCrowd *)fl_alloc(&def->alloc, sizeof *crowd, _Alignof(FlCrowd));
    if (crowd == NULL) {
        return FL_NO_MEMORY;
    }
    crowd->def = *def;
    crowd->world = *world;
    Table tables[TABLES];
    list_tables(crowd, tables);
    for (int32_t i = 0; i < TABLES; i++) {
        *tables[i].pointer = fl_alloc(&def->alloc, tables[i].bytes, _Alignof(max_align_t));
        if (*tables[i].pointer == NULL) {
            fl_crowd_destroy(crowd);
            return FL_NO_MEMORY;
        }
    }
    start(crowd, now);
    *out = crowd;
    return FL_OK;
}

void fl_crowd_destroy(FlCrowd *crowd)
{
    if (crowd == NULL) {
        return;
    }
    Table tables[TABLES];
    list_tables(crowd, tables);
    for (int32_t i = 0; i < TABLES; i++) {
        fl_free(&crowd->def.alloc, *tables[i].pointer, tables[i].bytes);
    }
    FlAlloc alloc = crowd->def.alloc;
    fl_free(&alloc, crowd, sizeof *crowd);
}

// ---------------------------------------------------------------- members

void fl_crowd_member(FlCrowd *crowd, int32_t member, bool present)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity);
    if (member < crowd->def.first || member == crowd->def.self ||
        crowd->present[member] == present) {
        return;
    }
    crowd->present[member] = present;
    crowd->present_count += present ? 1 : -1;
    crowd->plan.stale = true;
    crowd->attention[member] = 0.0f;
    crowd->looked = true;
    FlCrowdKnown nothing = {.stamp = INT64_MIN};
    crowd->known[member] = nothing;
    crowd->more[member].told = INT64_MIN;
    if (!present && crowd->lane_of[member] != FL__NOBODY) {
        fl__crowd_lane_over(crowd, crowd->lane_of[member]);
    }
}

// ---------------------------------------------------------------- our avatar

FlResult fl_crowd_set(FlCrowd *crowd, const FlState *state)
{
    if (!fl_state_finite(state)) {
        return FL_BAD_VALUE;
    }
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, state);
    FlUpdate update = {(uint32_t)crowd->def.self, crowd->life & 3u, motion};
    bool wide;
    FlWriter w;
    fl_writer_init(&w, crowd->packed, sizeof crowd->packed);
    if (fl_update_round(&crowd->world, &motion, &update.motion, &wide) != FL_OK ||
        !fl_update_encode(&w, &crowd->world, &update)) {
        crowd->packed_bytes = 0;
        return FL_BAD_VALUE;
    }
    crowd->packed_bytes = fl_writer_size(&w);
    crowd->stamp = update.motion.time;
    fl__crowd_own(crowd);
    return FL_OK;
}

void fl_crowd_cut(FlCrowd *crowd)
{
    crowd->life++;
}

void fl_crowd_look(FlCrowd *crowd, int32_t member, double attention)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity);
    crowd->attention[member] = attention > 0.0 ? (float)attention : 0.0f;
    crowd->looked = true;
}

// ---------------------------------------------------------------- the others

// What was carried to us and what its owner says itself cannot both be true: nobody is that fast.
static bool contradicts(const FlCrowd *crowd, const FlCrowdKnown *known, const FlMotion *told)
{
    double reach = crowd->world.def.top_speed * 1.7320508 *
                       fabs(fl_span_seconds(fl_span(told->time, known->stamp))) +
                   2.0 * crowd->world.def.precision;
    return fl_vec3_distance(known->position, told->position) > reach;
}

static void blame(FlCrowd *crowd, int32_t member)
{
    crowd->stats.contradictions++;
    FlCrowdLane *lane = fl__crowd_lane(crowd, member);
    if (lane != NULL) {
        lane->contradictions++;
    }
}

bool fl__crowd_admit(FlCrowd *crowd, const FlUpdate *update, FlTime now)
{
    int32_t member = (int32_t)update->entity;
    bool player = member >= crowd->def.first && member < crowd->def.member_capacity &&
                  member != crowd->def.self && crowd->present[member];
    if (!player) {
        crowd->stats.strangers++;
        return false;
    }
    if (update->motion.time > fl_time_add(now, EARLY_AT_MOST)) {
        crowd->stats.early++;
        return false;
    }
    return true;
}

bool fl__crowd_take(FlCrowd *crowd, FlCrowdLane *lane, const FlUpdate *update, int32_t hops,
                    FlTime now)
{
    FlTime stamp = update->motion.time;
    FlCrowdKnown *known = &crowd->known[update->entity];
    FlCrowdMore *more = &crowd->more[update->entity];
    bool direct = hops == 0;
    if (direct && known->carried && known->life == update->life &&
        contradicts(crowd, known, &update->motion)) {
        blame(crowd, known->via);
    }
    // What its owner says itself counts, whatever others said and however they stamped it.
    bool owner = direct && known->carried && stamp > more->told;
    if (stamp <= known->stamp && !owner) {
        crowd->stats.overtaken++;
        return false;
    }
    known->stamp = stamp;
    known->via = (int16_t)lane->member;
    known->hops = (uint8_t)hops;
    known->life = (uint8_t)update->life;
    known->carried = !direct;
    known->model = (uint8_t)update->motion.model;
    known->position = update->motion.position;
    known->velocity = update->motion.velocity;
    more->arrived = now;
    more->told = direct ? stamp : more->told;
    more->facing = update->motion.facing;
    return true;
}

static bool is_known(const FlCrowd *crowd, int32_t member)
{
    return crowd->present[member] && crowd->known[member].stamp != INT64_MIN;
}

FlResult fl_crowd_view(const FlCrowd *crowd, int32_t member, FlCrowdView *view)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity);
    memset(view, 0, sizeof *view);
    if (!is_known(crowd, member)) {
        return FL_NOT_FOUND;
    }
    const FlCrowdKnown *known = &crowd->known[member];
    const FlCrowdSource *source = fl__crowd_source(crowd, member);
    view->watched = source != NULL && source->heard != INT64_MIN;
    view->stamp = known->stamp;
    view->arrived = crowd->more[member].arrived;
    view->via = known->via;
    view->hops = known->hops;
    view->life = known->life;
    FlState state = {.time = known->stamp,
                     .position = known->position,
                     .velocity = known->velocity,
                     .facing = crowd->more[member].facing};
    view->motion = fl_motion_make((FlModel)known->model, &state);
    return FL_OK;
}

int32_t fl_crowd_positions(const FlCrowd *crowd, FlTime time, FlVec3 *positions)
{
    int32_t count = 0;
    for (int32_t m = crowd->def.first; m < crowd->def.member_capacity; m++) {
        if (is_known(crowd, m)) {
            const FlCrowdKnown *known = &crowd->known[m];
            double ahead = fl_span_seconds(fl_span(time, known->stamp));
            positions[m] = fl_vec3_add_scaled(known->position, known->velocity, ahead);
            count++;
        }
    }
    return count;
}

FlResult fl_crowd_carried(const FlCrowd *crowd, int32_t owner, int32_t to, FlTime *stamp)
{
    FL_ASSERT(owner >= 0 && owner < crowd->def.member_capacity && to >= 0 &&
              to < crowd->def.member_capacity);
    int32_t from_lane = crowd->lane_of[owner];
    int32_t to_lane = crowd->lane_of[to];
    *stamp = INT64_MIN;
    if (!crowd->def.shared || from_lane == FL__NOBODY || to_lane == FL__NOBODY) {
        return FL_NOT_FOUND;
    }
    *stamp = crowd->arrived[to_lane * crowd->def.lane_capacity + from_lane];
    return *stamp != INT64_MIN ? FL_OK : FL_NOT_FOUND;
}

// ---------------------------------------------------------------- counters

FlCrowdStats fl_crowd_stats(const FlCrowd *crowd)
{
    FlCrowdStats stats = crowd->stats;
    stats.spare = fl__crowd_spare(crowd);
    return stats;
}

uint32_t fl_crowd_contradictions(const FlCrowd *crowd, int32_t member)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity);
    const FlCrowdLane *lane = fl__crowd_lane(crowd, member);
    return lane != NULL ? lane->contradictions : 0;
}
