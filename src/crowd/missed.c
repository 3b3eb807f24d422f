// Carriers that carry nothing to us, and who sends what they should have.
//
// At best effort there is one way between two players that are no neighbours: by the one that is
// both's. A carrier may be there for the host and silent for us, or withhold something. So what
// each neighbour should carry to us is looked for; where nothing came for too long, or an update of
// a player is too old, two other neighbours are asked (MISSED) for what they know of the players
// whose carrier it is. What they know came by other carriers, so it is one hop more, and older; and
// it is the only thing that is sent on by whoever did not get it from its owner.
//
// A lost packet looks like silence for a moment, and is mended the same way.
#include "missed.h"

#define HELPERS 2
#define WITHHELD_EVERY FL_SEC(1) // all entities are looked at once in so long
#define WITHHELD_PARTS 4
#define OLD_AT_MOST FL_SEC(10) // what is older is not there any more

// A neighbour that carried nothing for so long is missed; updates come every `batch_ns`.
static FlTime missed_after(const FlCrowd *crowd)
{
    return crowd->def.batch_ns + crowd->def.batch_ns * 2 / 5;
}

/// The players between whom and `to` a member carries; made from its seat, so that duties of
/// stand-ins are left out.
typedef struct Charges {
    int32_t carrier, to;
    int32_t i;      // neighbour of its seat
    int32_t member; // the one that comes next; FL__NOBODY: at the next seat
} Charges;

static Charges charges_of(int32_t carrier, int32_t to)
{
    Charges charges = {carrier, to, -1, FL__NOBODY};
    return charges;
}

// FL__NOBODY: no more.
static int32_t next_charge(const FlCrowd *crowd, Charges *at)
{
    const FlCrowdPlan *plan = &crowd->plan;
    for (;;) {
        while (at->member == FL__NOBODY) {
            if (++at->i > plan->order) {
                return FL__NOBODY;
            }
            int32_t seat = fl__plane_neighbour(plan->order, plan->seat_of[at->carrier], at->i);
            at->member = plan->holder[seat];
        }
        int32_t member = at->member;
        at->member = plan->sits_next[member];
        if (member != at->to && member != at->carrier && !fl__crowd_linked(crowd, member, at->to) &&
            fl__crowd_carrier(crowd, member, at->to) == at->carrier) {
            return member;
        }
    }
}

static bool is_missed(const FlCrowd *crowd, int32_t neighbour, FlTime now)
{
    return fl_span(now, crowd->carried_at[neighbour]) > missed_after(crowd);
}

// One of the two that are asked in its stead. Those whose upload is full are not: where uploads are
// full batches are late, and that is not mended by more of them.
static bool helps(const FlCrowd *crowd, int32_t index, int32_t missed, FlTime now)
{
    int32_t capacity = crowd->def.light_capacity;
    int32_t found = 0;
    for (int32_t i = 0; i < capacity && found < HELPERS; i++) {
        int32_t at = (missed + i) % capacity;
        const FlCrowdLight *light = &crowd->lights[at];
        bool fine = light->member != FL__NOBODY && light->planned && light->reached &&
                    !light->over && light->spare > 0 && light->member != missed &&
                    !is_missed(crowd, light->member, now);
        if (fine && at == index) {
            return true;
        }
        found += fine ? 1 : 0;
    }
    return false;
}

// ---------------------------------------------------------------- noticing

// Who carries from a member to us; FL__NOBODY: it is a neighbour, or not seated yet.
static int32_t carrier_to_us(const FlCrowd *crowd, int32_t member)
{
    bool seated = crowd->plan.order > 0 && !crowd->plan.stale && crowd->present[member] &&
                  member != crowd->def.self;
    return seated && !fl__crowd_linked(crowd, member, crowd->def.self)
               ? fl__crowd_carrier(crowd, member, crowd->def.self)
               : FL__NOBODY;
}

void fl__crowd_carried_by(FlCrowd *crowd, int32_t neighbour, int32_t owner, FlTime now)
{
    if (carrier_to_us(crowd, owner) == neighbour) {
        crowd->carried_at[neighbour] = now;
    }
}

static void ask_helpers(FlCrowd *crowd, int32_t missed, FlTime now)
{
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        if (helps(crowd, i, missed, now)) {
            crowd->lights[i].heartbeat_due = INT64_MIN;
            fl__crowd_wake(crowd, i);
        }
    }
}

// An update of a player that should have come, and did not, counts as silence of its carrier.
static void look_for_withheld(FlCrowd *crowd, FlTime now)
{
    FlTime longest = 2 * crowd->def.batch_ns + missed_after(crowd) / 2;
    int32_t count = crowd->def.entity_capacity / WITHHELD_PARTS + 1;
    for (int32_t k = 0; k < count; k++) {
        crowd->withheld_next = (crowd->withheld_next + 1) % crowd->def.entity_capacity;
        const FlCrowdKnown *known = &crowd->known[crowd->withheld_next];
        FlTime age = known->stamp != INT64_MIN ? fl_span(now, known->stamp) : 0;
        int32_t owner = known->owner;
        if (age <= longest || age > OLD_AT_MOST || owner == FL__NOBODY ||
            known->source != FL__NOBODY) {
            continue;
        }
        int32_t carrier = carrier_to_us(crowd, owner);
        if (carrier != FL__NOBODY && crowd->is_neighbour[carrier] &&
            !is_missed(crowd, carrier, now)) {
            crowd->carried_at[carrier] = now - missed_after(crowd) - 1;
            ask_helpers(crowd, carrier, now);
        }
    }
}

void fl__crowd_look_for_missed(FlCrowd *crowd, FlTime now)
{
    if (!crowd->def.shared || crowd->plan.order == 0 || crowd->plan.stale) {
        return;
    }
    for (int32_t i = 0; i < crowd->neighbour_count; i++) {
        int32_t neighbour = crowd->neighbours[i];
        FlTime silent = fl_span(now, crowd->carried_at[neighbour]);
        if (silent <= missed_after(crowd) || silent > missed_after(crowd) + FL__WATCH_EVERY) {
            continue; // asked for already, and again with every heartbeat
        }
        Charges charges = charges_of(neighbour, crowd->def.self);
        if (next_charge(crowd, &charges) == FL__NOBODY) {
            crowd->carried_at[neighbour] = now; // it carries nothing to us
        } else {
            ask_helpers(crowd, neighbour, now);
        }
    }
    if (now >= crowd->withheld_due) {
        crowd->withheld_due = fl_time_add(now, WITHHELD_EVERY / WITHHELD_PARTS);
        look_for_withheld(crowd, now);
    }
}

int32_t fl__crowd_missed(const FlCrowd *crowd, int32_t index, FlTime now,
                         int32_t missed[FL__MISSED])
{
    int32_t count = 0;
    bool asks = crowd->def.shared && crowd->plan.order > 0 && crowd->lights[index].planned;
    for (int32_t i = 0; asks && i < crowd->neighbour_count && count < FL__MISSED; i++) {
        int32_t neighbour = crowd->neighbours[i];
        if (is_missed(crowd, neighbour, now) && helps(crowd, index, neighbour, now)) {
            missed[count++] = neighbour;
        }
    }
    return count;
}

// ---------------------------------------------------------------- helping

void fl__crowd_missed_by(FlCrowd *crowd, int32_t index, const int32_t missed[FL__MISSED],
                         int32_t count, FlTime now)
{
    FlCrowdLight *light = &crowd->lights[index];
    if (!light->planned || fl__crowd_spare(crowd) == 0) {
        return; // only neighbours carry, and as their upload bears it
    }
    bool fresh = now >= light->missed_until;
    for (int32_t i = 0; i < count; i++) {
        fresh = fresh || i >= light->missed_count || light->missed[i] != missed[i];
        light->missed[i] = (int16_t)missed[i];
    }
    light->missed_count = count;
    light->missed_until =
        fl_time_add(now, FL__HEARTBEAT_NS * 5 / 4); // it is asked with every heartbeat
    light->missed_now = light->missed_now || fresh;
    if (fresh) {
        fl__crowd_wake(crowd, index);
    }
}

int32_t fl__crowd_charges(const FlCrowd *crowd, const FlCrowdLight *light, FlTime now,
                          int16_t *members, int32_t capacity)
{
    int32_t count = 0;
    bool asked = now < light->missed_until && light->planned && !crowd->plan.stale;
    for (int32_t i = 0; asked && i < light->missed_count; i++) {
        int32_t carrier = light->missed[i];
        if (!crowd->present[carrier] || crowd->plan.seat_of[carrier] == FL__NOBODY ||
            crowd->plan.order == 0) {
            continue;
        }
        Charges charges = charges_of(carrier, light->member);
        int32_t member = carrier; // of itself nothing comes, either
        while (member != FL__NOBODY && count < capacity) {
            members[count++] = (int16_t)member;
            member = next_charge(crowd, &charges);
        }
    }
    return count;
}
