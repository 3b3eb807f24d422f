// Lanes: wanted, open, over.
//
// A lane is wanted to every neighbour, and to whoever is asked for somebody's updates. It is open
// once somebody has introduced the two; both ends then speak until they hear each other. Who has
// not been needed for a while is told so and closed.
//
// Invariant: lanes[lane_of[m]].member == m for every open lane.
#include "private.h"

#include <string.h>

#define LANES_KEPT 12
#define ASK_EVERY FL_SEC(2)
#define REACH_WITHIN FL_SEC(3)  // a lane that nothing comes over
#define SILENT_AFTER FL_SEC(10) // or nothing any more
#define LINGER_SHORT FL_MS(500)
#define LINGER FL_SEC(5) // lanes that nobody needs
#define SWEEP_EVERY FL_MS(250)
#define GREET_EVERY FL_MS(100) // until the other end is heard

FlCrowdLane *fl__crowd_lane(const FlCrowd *crowd, int32_t member)
{
    int32_t lane = crowd->lane_of[member];
    return lane != FL__NOBODY ? &crowd->lanes[lane] : NULL;
}

static bool is_planned(const FlCrowd *crowd, int32_t member)
{
    return crowd->present[member] && crowd->is_neighbour[member];
}

// ---------------------------------------------------------------- wanted

static void want_again(FlCrowd *crowd)
{
    crowd->wanted_next = 0;
    crowd->some_wanted = true;
}

static bool is_needed(const FlCrowd *crowd, int32_t member)
{
    const FlCrowdLane *lane = fl__crowd_lane(crowd, member);
    bool planned = lane != NULL ? lane->planned : is_planned(crowd, member);
    bool asked = false;
    for (int32_t i = 0; i < crowd->def.focus_count && !asked; i++) {
        const FlCrowdSource *source = &crowd->sources[i];
        asked = source->member != FL__NOBODY && source->via == member;
    }
    return planned || asked ||
           (lane != NULL && fl__crowd_lane_serves(crowd, crowd->lane_of[member]));
}

static bool ask(FlCrowd *crowd, int32_t member, FlTime now)
{
    bool due = crowd->asked[member] == INT64_MIN || fl_span(now, crowd->asked[member]) >= ASK_EVERY;
    if (!due || !crowd->present[member] || crowd->lane_of[member] != FL__NOBODY) {
        return false;
    }
    crowd->asked[member] = now;
    return true;
}

// Whom we ask for updates comes first: there is haste.
static bool want_source(FlCrowd *crowd, FlTime now, int32_t *member)
{
    for (int32_t i = 0; i < crowd->def.focus_count; i++) {
        const FlCrowdSource *source = &crowd->sources[i];
        if (source->member == FL__NOBODY) {
            continue;
        }
        // Who lost its source may have to go back to the owner: then there is a lane.
        bool unfed = source->lost && crowd->def.shared;
        if (ask(crowd, source->via, now)) {
            *member = source->via;
            return true;
        }
        if (unfed && ask(crowd, source->member, now)) {
            *member = source->member;
            return true;
        }
    }
    return false;
}

bool fl_crowd_wanted(FlCrowd *crowd, FlTime now, int32_t *member)
{
    fl__crowd_replan(crowd, now);
    *member = FL__NOBODY;
    if (!crowd->some_wanted) {
        return false;
    }
    if (want_source(crowd, now, member)) {
        return true;
    }
    // Between neighbours the one with the smaller number asks.
    for (; crowd->wanted_next < crowd->neighbour_count; crowd->wanted_next++) {
        int32_t m = crowd->neighbours[crowd->wanted_next];
        if (m > crowd->def.self && ask(crowd, m, now)) {
            *member = m;
            return true;
        }
    }
    crowd->some_wanted = false;
    return false;
}

// ---------------------------------------------------------------- open

// The instants of packets are spread over the interval, differently for each pair.
static FlTime phase(const FlCrowd *crowd, int32_t member)
{
    uint64_t luck = fl_random_at((uint64_t)crowd->def.self, 1, (uint64_t)member);
    return (FlTime)(luck % (uint64_t)crowd->def.parcel_ns);
}

static void plan_lane(FlCrowd *crowd, FlCrowdLane *lane, FlTime now)
{
    bool planned = is_planned(crowd, lane->member);
    if (planned && !lane->planned) {
        lane->parcel_due = fl_time_add(now, phase(crowd, lane->member));
        crowd->stats.planned++;
    } else if (!planned && lane->planned) {
        lane->parcel_due = FL_FOREVER;
        crowd->stats.planned--;
    }
    lane->planned = planned;
    fl__crowd_wake(crowd, (int32_t)(lane - crowd->lanes));
}

// Which lanes' members' updates go over this one.
static uint64_t carries(const FlCrowd *crowd, const FlCrowdLane *to)
{
    uint64_t bits = 0;
    for (int32_t i = 0; i < crowd->def.lane_capacity; i++) {
        const FlCrowdLane *from = &crowd->lanes[i];
        bool both = from != to && from->member != FL__NOBODY && from->planned && to->planned;
        if (both && !fl__crowd_linked(crowd, from->member, to->member) &&
            fl__crowd_carrier(crowd, from->member, to->member) == crowd->def.self) {
            bits |= UINT64_C(1) << i;
        }
    }
    return bits;
}

static void find_neighbours(FlCrowd *crowd)
{
    crowd->neighbour_count = 0;
    for (int32_t m = crowd->def.first; m < crowd->def.member_capacity; m++) {
        bool near = m != crowd->def.self && crowd->present[m] &&
                    fl__crowd_linked(crowd, crowd->def.self, m);
        crowd->is_neighbour[m] = near;
        if (near) {
            crowd->neighbours[crowd->neighbour_count++] = (int16_t)m;
        }
    }
}

void fl__crowd_lanes_replan(FlCrowd *crowd, FlTime now)
{
    find_neighbours(crowd);
    for (int32_t i = 0; i < crowd->def.lane_capacity; i++) {
        if (crowd->lanes[i].member != FL__NOBODY) {
            plan_lane(crowd, &crowd->lanes[i], now);
        }
    }
    for (int32_t i = 0; crowd->def.shared && i < crowd->def.lane_capacity; i++) {
        FlCrowdLane *lane = &crowd->lanes[i];
        lane->carries = lane->member != FL__NOBODY ? carries(crowd, lane) : 0;
    }
    want_again(crowd);
}

int32_t fl__crowd_lanes_left(const FlCrowd *crowd)
{
    int32_t others = crowd->stats.lanes - crowd->stats.planned;
    return crowd->def.lane_capacity - crowd->neighbour_count - others;
}

bool fl__crowd_lanes_short(const FlCrowd *crowd)
{
    return fl__crowd_lanes_left(crowd) < fl__crowd_lanes_kept(crowd);
}

int32_t fl__crowd_lanes_kept(const FlCrowd *crowd)
{
    int32_t share = crowd->def.lane_capacity / 5;
    return share < LANES_KEPT ? share : LANES_KEPT;
}

bool fl__crowd_lane_needed(const FlCrowd *crowd, int32_t lane)
{
    return is_needed(crowd, crowd->lanes[lane].member);
}

static int32_t lane_free(const FlCrowd *crowd)
{
    for (int32_t i = 0; i < crowd->def.lane_capacity; i++) {
        if (crowd->lanes[i].member == FL__NOBODY) {
            return i;
        }
    }
    return FL__NOBODY;
}

FlResult fl_crowd_lane_open(FlCrowd *crowd, int32_t member, FlTime now)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity && member != crowd->def.self);
    if (crowd->lane_of[member] != FL__NOBODY) {
        fl_crowd_lane_close(crowd, member); // introduced anew
    }
    int32_t index = lane_free(crowd);
    bool room = is_planned(crowd, member) || fl__crowd_lanes_left(crowd) > 0;
    if (index == FL__NOBODY || !room) { // neighbours' places are kept for them
        return FL_FULL;
    }
    FlCrowdLane *lane = &crowd->lanes[index];
    memset(lane, 0, sizeof *lane);
    lane->member = member;
    lane->opened = now;
    lane->heard_at = now;
    lane->needed_at = now;
    fl__crowd_wake(crowd, index);
    lane->pulse_due = now;
    lane->parcel_due = FL_FOREVER;
    lane->way_ns = -1;
    lane->number = 1; // who has heard nothing yet says that 0 came
    lane->stamp = INT64_MIN;
    lane->look_end = FL__NOBODY;
    crowd->lane_of[member] = (int16_t)index;
    crowd->stats.lanes++;
    crowd->stats.opened++;
    plan_lane(crowd, lane, now);
    if (lane->planned && crowd->def.shared) {
        crowd->plan.stale = true; // who carries what
    }
    return FL_OK;
}

void fl_crowd_lane_greet(FlCrowd *crowd, int32_t member)
{
    FlCrowdLane *lane = fl__crowd_lane(crowd, member);
    if (lane != NULL) {
        lane->pulse_due = INT64_MIN;
        fl__crowd_wake(crowd, crowd->lane_of[member]);
    }
}

void fl_crowd_lane_close(FlCrowd *crowd, int32_t member)
{
    FlCrowdLane *lane = fl__crowd_lane(crowd, member);
    if (lane == NULL) {
        return;
    }
    int32_t index = crowd->lane_of[member];
    fl__crowd_watchers_end(crowd, index);
    crowd->stats.planned -= lane->planned ? 1 : 0;
    crowd->stats.lanes--;
    crowd->lane_of[member] = FL__NOBODY;
    crowd->asked[member] = INT64_MIN;
    want_again(crowd);
    memset(lane, 0, sizeof *lane);
    lane->member = FL__NOBODY;
    crowd->due[index] = FL_FOREVER;
    for (int32_t i = 0; crowd->def.shared && i < crowd->def.lane_capacity; i++) {
        crowd->lanes[i].carries &= ~(UINT64_C(1) << index);
        int32_t from = i * crowd->def.lane_capacity + index;
        int32_t to = index * crowd->def.lane_capacity + i;
        crowd->arrived[from] = crowd->arrived[to] = INT64_MIN;
        crowd->pending[from] = crowd->pending[to] = INT64_MIN;
    }
}

// ---------------------------------------------------------------- over

void fl__crowd_lane_over(FlCrowd *crowd, int32_t index)
{
    crowd->lanes[index].over = true;
    crowd->due[index] = FL_FOREVER;
    crowd->some_over = true;
}

static void sweep(FlCrowd *crowd, int32_t index, FlTime now)
{
    FlCrowdLane *lane = &crowd->lanes[index];
    if (is_needed(crowd, lane->member)) {
        lane->needed_at = now;
    }
    // They may be needed again soon; but not so soon as others' that find no room.
    FlTime linger = fl__crowd_lanes_short(crowd) ? LINGER_SHORT : LINGER;
    bool unheard = !lane->heard && fl_span(now, lane->opened) > REACH_WITHIN;
    bool silent = lane->heard && fl_span(now, lane->heard_at) > SILENT_AFTER;
    bool idle = fl_span(now, lane->needed_at) > linger;
    if (unheard || silent || !crowd->present[lane->member]) {
        fl__crowd_lane_over(crowd, index);
    } else if (idle && !lane->part_due) {
        lane->part_due = true;
        fl__crowd_wake(crowd, index);
    } else if (!lane->heard && crowd->due[index] > fl_time_add(now, GREET_EVERY)) {
        lane->pulse_due = now;
        fl__crowd_wake(crowd, index);
    }
}

void fl__crowd_lanes_sweep(FlCrowd *crowd, FlTime now)
{
    if (now < crowd->sweep_due) {
        return;
    }
    crowd->sweep_due = fl_time_add(now, SWEEP_EVERY);
    want_again(crowd);
    for (int32_t i = 0; i < crowd->def.lane_capacity; i++) {
        if (crowd->lanes[i].member != FL__NOBODY && !crowd->lanes[i].over) {
            sweep(crowd, i, now);
        }
    }
    fl__crowd_count_parcels(crowd);
}

bool fl_crowd_parted(FlCrowd *crowd, FlTime now, int32_t *member)
{
    fl__crowd_lanes_sweep(crowd, now);
    for (int32_t i = 0; crowd->some_over && i < crowd->def.lane_capacity; i++) {
        const FlCrowdLane *lane = &crowd->lanes[i];
        if (lane->member != FL__NOBODY && lane->over) {
            *member = lane->member;
            return true;
        }
    }
    crowd->some_over = false;
    return false;
}
