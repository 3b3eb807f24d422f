// Light connections: wanted, open, over.
//
// A light connection is wanted to every neighbour, and to whoever is asked for another's updates.
// It is open once the host has introduced the two; both ends then send until each receives the
// other. One that has not been needed for a while is closed, with a word to the other end.
//
// Invariant: light connections[light_of[m]].member == m for every open light connection.
#include "private.h"

#include <string.h>

#define ASK_EVERY FL_SEC(2)
#define REACH_WITHIN FL_SEC(3)       // a light connection that nothing comes over
#define SILENT_AFTER FL_SEC(10)      // or nothing any more,
#define SILENT_IDLE_AFTER FL_SEC(20) // where it is not needed
#define LINGER_SHORT FL_MS(500)
#define LINGER FL_SEC(20) // light connections that are not needed
#define SWEEP_EVERY FL_MS(250)
#define GREET_EVERY FL_MS(100) // until the other end answers

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
    const FlCrowdLight *light = fl__crowd_light(crowd, member);
    bool planned = light != NULL ? light->planned : is_planned(crowd, member);
    bool asked = false;
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def) && !asked; i++) {
        const FlCrowdSource *source = &crowd->sources[i];
        asked = source->of != FL__NOBODY && source->via == member;
    }
    return planned || asked ||
           (light != NULL && fl__crowd_light_serves(crowd, crowd->light_of[member]));
}

static bool ask(FlCrowd *crowd, int32_t member, FlTime now)
{
    bool due = crowd->asked[member] == INT64_MIN || fl_span(now, crowd->asked[member]) >= ASK_EVERY;
    if (!due || !crowd->present[member] || crowd->light_of[member] != FL__NOBODY) {
        return false;
    }
    crowd->asked[member] = now;
    return true;
}

// Whom we ask for updates comes first: there is haste.
static bool want_source(FlCrowd *crowd, FlTime now, int32_t *member)
{
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def); i++) {
        const FlCrowdSource *source = &crowd->sources[i];
        int32_t owner = source->of != FL__NOBODY ? fl__crowd_owner(crowd, source->of) : FL__NOBODY;
        if (owner == FL__NOBODY) {
            continue;
        }
        // Who lost its source may have to go back to the owner: then there is a light connection.
        bool unfed = source->lost && crowd->def.shared;
        if (ask(crowd, source->via, now)) {
            *member = source->via;
            return true;
        }
        if (unfed && ask(crowd, owner, now)) {
            *member = owner;
            return true;
        }
    }
    return false;
}

bool fl__crowd_next_to_open(FlCrowd *crowd, FlTime now, int32_t *member)
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
    return (FlTime)(luck % (uint64_t)crowd->def.batch_ns);
}

static void plan_light(FlCrowd *crowd, FlCrowdLight *light, FlTime now)
{
    bool planned = is_planned(crowd, light->member);
    if (planned && !light->planned) {
        light->batch_due = fl_time_add(now, phase(crowd, light->member));
        crowd->stats.planned++;
    } else if (!planned && light->planned) {
        light->batch_due = FL_FOREVER;
        crowd->stats.planned--;
    }
    light->planned = planned;
    fl__crowd_wake(crowd, (int32_t)(light - crowd->lights));
}

// Which light connections' members' updates go over this one.
static uint64_t carries(const FlCrowd *crowd, const FlCrowdLight *to)
{
    uint64_t bits = 0;
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        const FlCrowdLight *from = &crowd->lights[i];
        bool both = from != to && from->member != FL__NOBODY && from->planned && to->planned;
        if (both && !fl__crowd_linked(crowd, from->member, to->member) &&
            fl__crowd_carrier(crowd, from->member, to->member) == crowd->def.self) {
            bits |= UINT64_C(1) << i;
        }
    }
    return bits;
}

static void find_neighbours(FlCrowd *crowd, FlTime now)
{
    crowd->neighbour_count = 0;
    for (int32_t m = crowd->def.first; m < crowd->def.member_capacity; m++) {
        bool near = m != crowd->def.self && crowd->present[m] &&
                    fl__crowd_linked(crowd, crowd->def.self, m);
        if (near && !crowd->is_neighbour[m]) { // it may take a while until it knows
            crowd->carried_at[m] = fl_time_add(now, REACH_WITHIN);
        }
        crowd->is_neighbour[m] = near;
        if (near) {
            crowd->neighbours[crowd->neighbour_count++] = (int16_t)m;
        }
    }
}

void fl__crowd_replan(FlCrowd *crowd, FlTime now)
{
    if (!fl__crowd_plan_renew(crowd, now)) {
        return;
    }
    find_neighbours(crowd, now);
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        if (crowd->lights[i].member != FL__NOBODY) {
            plan_light(crowd, &crowd->lights[i], now);
        }
    }
    for (int32_t i = 0; crowd->def.shared && i < crowd->def.light_capacity; i++) {
        FlCrowdLight *light = &crowd->lights[i];
        light->carries = light->member != FL__NOBODY ? carries(crowd, light) : 0;
    }
    want_again(crowd);
}

bool fl__crowd_light_needed(const FlCrowd *crowd, int32_t light)
{
    return is_needed(crowd, crowd->lights[light].member);
}

static int32_t light_free(const FlCrowd *crowd)
{
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        if (crowd->lights[i].member == FL__NOBODY) {
            return i;
        }
    }
    return FL__NOBODY;
}

FlResult fl__crowd_light_open(FlCrowd *crowd, int32_t member, FlTime now)
{
    FL_ASSERT(member >= 0 && member < crowd->def.member_capacity && member != crowd->def.self);
    if (crowd->light_of[member] != FL__NOBODY) {
        fl__crowd_light_close(crowd, member); // introduced anew
    }
    int32_t index = light_free(crowd);
    bool room = is_planned(crowd, member) || fl__crowd_lights_left(crowd) > 0;
    if (index == FL__NOBODY || !room) { // neighbours' places are kept for them
        return FL_FULL;
    }
    FlCrowdLight *light = &crowd->lights[index];
    memset(light, 0, sizeof *light);
    light->member = member;
    crowd->light_member[index] = (int16_t)member;
    light->opened = now;
    light->received_at = now;
    light->needed_at = now;
    fl__crowd_wake(crowd, index);
    light->heartbeat_due = now;
    light->batch_due = FL_FOREVER;
    light->way_ns = -1;
    light->number = 1; // whoever has received nothing yet reports that 0 came
    light->look_end = FL__NOBODY;
    crowd->light_of[member] = (int16_t)index;
    crowd->stats.lights++;
    crowd->stats.opened++;
    plan_light(crowd, light, now);
    if (light->planned && crowd->def.shared) {
        crowd->plan.stale = true; // who carries what
    }
    return FL_OK;
}

// What went to a member before did not arrive: LOOKs go again at once.
static void look_again(FlCrowd *crowd, int32_t via)
{
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def); i++) {
        FlCrowdSource *source = &crowd->sources[i];
        if (source->of != FL__NOBODY && source->via == via && source->asked == FL_FOREVER) {
            source->look_due = INT64_MIN;
        }
    }
}

void fl__crowd_light_greet(FlCrowd *crowd, int32_t member)
{
    FlCrowdLight *light = fl__crowd_light(crowd, member);
    if (light != NULL) {
        light->heartbeat_due = INT64_MIN;
        look_again(crowd, member);
        fl__crowd_wake(crowd, crowd->light_of[member]);
    }
}

void fl__crowd_light_close(FlCrowd *crowd, int32_t member)
{
    FlCrowdLight *light = fl__crowd_light(crowd, member);
    if (light == NULL) {
        return;
    }
    int32_t index = crowd->light_of[member];
    fl__crowd_watchers_end(crowd, index);
    crowd->stats.planned -= light->planned ? 1 : 0;
    crowd->stats.lights--;
    crowd->light_of[member] = FL__NOBODY;
    crowd->asked[member] = INT64_MIN;
    want_again(crowd);
    memset(light, 0, sizeof *light);
    light->member = FL__NOBODY;
    crowd->due[index] = FL_FOREVER;
    for (int32_t i = 0; crowd->def.shared && i < crowd->def.light_capacity; i++) {
        crowd->lights[i].carries &= ~(UINT64_C(1) << index);
        int32_t from = i * crowd->def.light_capacity + index;
        int32_t to = index * crowd->def.light_capacity + i;
        crowd->arrived[from] = crowd->arrived[to] = INT64_MIN;
        crowd->pending[from] = crowd->pending[to] = INT64_MIN;
    }
}

// ---------------------------------------------------------------- over

static void sweep(FlCrowd *crowd, int32_t index, FlTime now)
{
    FlCrowdLight *light = &crowd->lights[index];
    if (is_needed(crowd, light->member)) {
        light->needed_at = now;
    }
    bool unheard = !light->reached && fl_span(now, light->opened) > REACH_WITHIN;
    FlTime longest = light->needed_at == now ? SILENT_AFTER : SILENT_IDLE_AFTER;
    bool silent = light->reached && fl_span(now, light->received_at) > longest;
    bool idle = fl_span(now, light->needed_at) > LINGER;
    if (unheard || silent || !crowd->present[light->member]) {
        fl__crowd_light_over(crowd, index);
    } else if (idle && !light->part_due) {
        light->part_due = true;
        fl__crowd_wake(crowd, index);
    } else if (!light->reached && crowd->due[index] > fl_time_add(now, GREET_EVERY)) {
        light->heartbeat_due = now;
        fl__crowd_wake(crowd, index);
    }
}

// Whom a player looked at it looks at again, as a rule: light connections that are not needed stay.
// Where others find no room those go first that were not needed for longest.
static void make_room_for_lights(FlCrowd *crowd, FlTime now)
{
    int32_t parting = 0;
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        const FlCrowdLight *light = &crowd->lights[i];
        parting += light->member != FL__NOBODY && (light->over || light->part_due) ? 1 : 0;
    }
    int32_t missing = fl__crowd_lights_kept(crowd) - fl__crowd_lights_left(crowd) - parting;
    for (; missing > 0; missing--) {
        int32_t longest = FL__NOBODY;
        for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
            const FlCrowdLight *light = &crowd->lights[i];
            bool idle = light->member != FL__NOBODY && !light->over && !light->part_due &&
                        fl_span(now, light->needed_at) > LINGER_SHORT;
            bool longer = idle && (longest == FL__NOBODY ||
                                   light->needed_at < crowd->lights[longest].needed_at);
            longest = longer ? i : longest;
        }
        if (longest == FL__NOBODY) {
            return;
        }
        crowd->lights[longest].part_due = true;
        fl__crowd_wake(crowd, longest);
    }
}

void fl__crowd_lights_sweep(FlCrowd *crowd, FlTime now)
{
    if (now < crowd->sweep_due) {
        return;
    }
    crowd->sweep_due = fl_time_add(now, SWEEP_EVERY);
    want_again(crowd);
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        if (crowd->lights[i].member != FL__NOBODY && !crowd->lights[i].over) {
            sweep(crowd, i, now);
        }
    }
    make_room_for_lights(crowd, now);
    fl__crowd_count_batches(crowd, now);
}

bool fl__crowd_next_to_close(FlCrowd *crowd, FlTime now, int32_t *member)
{
    fl__crowd_lights_sweep(crowd, now);
    for (int32_t i = 0; crowd->some_over && i < crowd->def.light_capacity; i++) {
        const FlCrowdLight *light = &crowd->lights[i];
        if (light->member != FL__NOBODY && light->over) {
            *member = light->member;
            return true;
        }
    }
    crowd->some_over = false;
    return false;
}
