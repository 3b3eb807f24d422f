// Who sits where, who stands in for whom, who carries what to whom.
//
// Members take their seats one after the other along parabolas, and so round and round; where there
// are more members than seats, some fill the gaps, and the others share one, and its work. No line
// crosses a parabola more than twice, so those who sit double are spread over everybody's
// neighbours. For an empty seat, three others stand in, each for two thirds of its
// neighbours, so that no member has twice as many neighbours as the rest, and no two duties while
// others have none. All that follows from the members and the order, so everybody comes to the same
// answer without a word.
//
// Layout: a duty is 3 * seat + k, k below 3, and is for the neighbours of that seat in all thirds
// but number k. So any two of them have a duty in common.
//
// Invariant: what a member receives directly it passes on at most once, and who receives it from a
// carrier passes nothing on; so a batch's update goes one hop more than its owner's, and never two.
#include "private.h"

#define FEWEST_FOR_A_PLANE 7
#define DUTIES FL__DUTIES

// Where a member would sit, if it were free.
static int32_t own_seat(const FlCrowd *crowd, int32_t member)
{
    int32_t q = crowd->plan.order;
    int32_t i = (member - crowd->def.first) % crowd->plan.seats;
    int32_t x = i % q;
    return i < q * q ? x * q + (x * x + i / q) % q : i;
}

static void sit(FlCrowdPlan *plan, int32_t member, int32_t seat)
{
    plan->seat_of[member] = (int16_t)seat;
    plan->sits_next[member] = FL__NOBODY;
    int16_t *last = &plan->holder[seat];
    while (*last != FL__NOBODY) {
        last = &plan->sits_next[*last];
    }
    *last = (int16_t)member;
}

// The lower number has its own seat. Who finds it taken sits at the next free one, and if there is
// none shares it.
static void find_seats(FlCrowd *crowd)
{
    FlCrowdPlan *plan = &crowd->plan;
    const FlCrowdDef *def = &crowd->def;
    int32_t left = plan->seats;
    for (int32_t seat = 0; seat < plan->seats; seat++) {
        plan->holder[seat] = FL__NOBODY;
    }
    for (int32_t m = def->first; m < def->member_capacity; m++) {
        plan->duty_of[m] = FL__NOBODY;
        plan->seat_of[m] = FL__NOBODY;
        if (crowd->present[m] && plan->holder[own_seat(crowd, m)] == FL__NOBODY) {
            sit(plan, m, own_seat(crowd, m));
            left--;
        }
    }
    for (int32_t m = def->first; m < def->member_capacity; m++) {
        if (crowd->present[m] && plan->seat_of[m] == FL__NOBODY) {
            int32_t seat = own_seat(crowd, m);
            while (left > 0 && plan->holder[seat] != FL__NOBODY) {
                seat = seat + 1 < plan->seats ? seat + 1 : 0;
            }
            sit(plan, m, seat);
            left -= left > 0 ? 1 : 0;
        }
    }
    plan->seats_left = left;
}

// The next taken seat after `seat`, round and round, whose holder has no duty; `any`: or has.
static int32_t next_seat(const FlCrowdPlan *plan, int32_t seat, bool any)
{
    bool fits = false;
    while (!fits) {
        seat = seat + 1 < plan->seats ? seat + 1 : 0;
        int32_t holder = plan->holder[seat];
        fits = holder != FL__NOBODY && (any || plan->duty_of[holder] == FL__NOBODY);
    }
    return seat;
}

static void find_stand_ins(FlCrowd *crowd)
{
    FlCrowdPlan *plan = &crowd->plan;
    int32_t idle = plan->seats - plan->seats_left;
    for (int32_t seat = 0; seat < plan->seats && plan->seats_left > 0; seat++) {
        int32_t at = seat;
        for (int32_t k = 0; k < DUTIES && plan->holder[seat] == FL__NOBODY; k++) {
            at = next_seat(plan, at, idle == 0);
            idle -= idle > 0 ? 1 : 0;
            int32_t duty = DUTIES * seat + k;
            int32_t holder = plan->holder[at];
            plan->stand_in[duty] = (int16_t)holder;
            plan->duty_next[duty] = plan->duty_of[holder];
            plan->duty_of[holder] = (int16_t)duty;
        }
    }
}

// In which third of an empty seat's neighbours a seat is. A line is crossed at each second
// coordinate once; or, if that is always the same, at each third one.
static int32_t third_of(const FlCrowdPlan *plan, int32_t empty, int32_t seat)
{
    int32_t q = plan->order;
    bool crossed = empty % q != 0 || empty == q * q + q;
    return (crossed ? seat / q : seat % q) % DUTIES;
}

// Whether `a` stands in at a neighbour of `seat`, for it.
static bool stands_in_near(const FlCrowd *crowd, int32_t a, int32_t seat)
{
    const FlCrowdPlan *plan = &crowd->plan;
    bool near = false;
    for (int32_t d = plan->duty_of[a]; d != FL__NOBODY && !near; d = plan->duty_next[d]) {
        near = fl__plane_linked(plan->order, d / DUTIES, seat) &&
               third_of(plan, d / DUTIES, seat) != d % DUTIES;
    }
    return near;
}

bool fl__crowd_linked(const FlCrowd *crowd, int32_t a, int32_t b)
{
    if (!crowd->def.shared) {
        return true;
    }
    if (crowd->plan.order == 0) { // too few for a plane, or it is not known yet
        return crowd->present_count < FEWEST_FOR_A_PLANE;
    }
    int32_t seat_a = crowd->plan.seat_of[a];
    int32_t seat_b = crowd->plan.seat_of[b];
    return seat_a == seat_b || fl__plane_linked(crowd->plan.order, seat_a, seat_b) ||
           stands_in_near(crowd, a, seat_b) || stands_in_near(crowd, b, seat_a);
}

static int32_t sitters(const FlCrowdPlan *plan, int32_t seat)
{
    int32_t count = 0;
    for (int32_t m = plan->holder[seat]; m != FL__NOBODY; m = plan->sits_next[m]) {
        count++;
    }
    return count;
}

int32_t fl__crowd_carrier(const FlCrowd *crowd, int32_t a, int32_t b)
{
    const FlCrowdPlan *plan = &crowd->plan;
    int32_t seat_a = plan->seat_of[a];
    int32_t seat_b = plan->seat_of[b];
    int32_t seat = fl__plane_common(plan->order, seat_a, seat_b);
    int32_t count = sitters(plan, seat);
    if (count == 0) { // the duty that is for both
        int32_t not_a = third_of(plan, seat, seat_a);
        int32_t not_b = third_of(plan, seat, seat_b);
        int32_t k = not_a != not_b ? DUTIES - not_a - not_b : (not_a + 1) % DUTIES;
        return plan->stand_in[DUTIES * seat + k];
    }
    // Those who share a seat share its work, by lot: sums of numbers would favour some.
    uint64_t pair = (uint64_t)(a < b ? a : b) << 16 | (uint64_t)(a < b ? b : a);
    uint64_t lot = pair * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    int32_t carrier = plan->holder[seat];
    for (uint64_t turn = lot % (uint64_t)count; turn > 0; turn--) {
        carrier = plan->sits_next[carrier];
    }
    return carrier;
}

void fl__crowd_plan(FlCrowd *crowd, int32_t order)
{
    bool known = order >= 0 && order <= FL_PLANE_ORDER_MAX &&
                 fl__plane_order_for(fl__plane_seats(order)) == order &&
                 fl__plane_seats(order) <= fl__plane_seats_most(crowd->def.member_capacity);
    if (known && order != crowd->plan.order) {
        crowd->plan.order = order;
        crowd->plan.seats = fl__plane_seats(order);
        crowd->plan.stale = true;
    }
}

#define REPLAN_EVERY FL_MS(200) // while many come at once

bool fl__crowd_plan_renew(FlCrowd *crowd, FlTime now)
{
    if (!crowd->plan.stale || now < crowd->plan.again) {
        return false;
    }
    crowd->plan.stale = false;
    crowd->plan.again = fl_time_add(now, REPLAN_EVERY);
    if (crowd->plan.order > 0) {
        find_seats(crowd);
        find_stand_ins(crowd);
    }
    return true;
}
