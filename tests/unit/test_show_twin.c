// Every hold with every placement and every convergence, against a twin that knows nothing of
// rings, chains or shortcuts: it keeps all that ever arrived and, for each question, starts from
// nothing.
//
// The networks delay, jitter, lose, repeat and reorder; updates are cut, two at one time now and
// then; some receivers go by another clock, so that motions begin out of order.
#include "fairlead/show.h"

#include "motion/motion.h"

#include "support.h"

#define HISTORY 160

typedef struct Heard {
    FlTime stamp;
    FlTime at; // shown time of its arrival
    uint32_t life;
    FlMotion motion;
} Heard;

typedef struct Twin {
    const FlShow *show; // for its settings and its shown time only
    int32_t count;
    Heard heard[HISTORY];
    FlTime last_at;
} Twin;

static void twin_arrive(Twin *twin, const FlUpdate *update, uint32_t life, FlTime arrival,
                        FlTime stamp)
{
    FlTime at = fl_show_time(twin->show, arrival);
    at = twin->count > 0 && at < twin->last_at ? twin->last_at : at;
    bool late = update->motion.time < at;
    if (twin->show->def.hold == FL_HOLD_CAUSALITY && late) {
        return;
    }
    for (int32_t i = 0; i < twin->count; i++) {
        if (twin->heard[i].stamp == stamp && twin->heard[i].life == life) {
            return;
        }
    }
    assert_true(twin->count < HISTORY);
    Heard heard = {stamp, at, life, update->motion};
    twin->heard[twin->count] = heard;
    twin->count++;
    twin->last_at = at;
}

static bool is_newer(const Heard *a, const Heard *b)
{
    return a->stamp > b->stamp || (a->stamp == b->stamp && a->life > b->life);
}

// What a placement looks at, by number; -1: nothing.
typedef struct Choice {
    int32_t used, second, third, next;
} Choice;

// The newest of the first `known` that is older than `than` (NULL: any) and, if asked, has begun.
static int32_t newest_of(const Twin *twin, int32_t known, const Heard *than, FlTime begun_by)
{
    int32_t best = -1;
    for (int32_t i = 0; i < known; i++) {
        const Heard *h = &twin->heard[i];
        if (h->motion.time <= begun_by && (than == NULL || is_newer(than, h)) &&
            (best < 0 || is_newer(h, &twin->heard[best]))) {
            best = i;
        }
    }
    return best;
}

static int32_t oldest_after(const Twin *twin, int32_t known, const Heard *than)
{
    int32_t best = -1;
    for (int32_t i = 0; i < known; i++) {
        const Heard *h = &twin->heard[i];
        if (is_newer(h, than) && (best < 0 || is_newer(&twin->heard[best], h))) {
            best = i;
        }
    }
    return best;
}

static int32_t same_life(const Twin *twin, int32_t i, int32_t as)
{
    return i >= 0 && twin->heard[i].life == twin->heard[as].life ? i : -1;
}

static Choice choose(const Twin *twin, int32_t known, FlTime at)
{
    Choice choice = {-1, -1, -1, -1};
    FlPlacement placement = twin->show->def.placement;
    int32_t used = newest_of(twin, known, NULL, at);
    choice.used = used;
    if (used < 0) {
        return choice;
    }
    if (placement == FL_PLACEMENT_INTERPOLATED) {
        int32_t next = oldest_after(twin, known, &twin->heard[used]);
        choice.next = same_life(twin, next, used);
    }
    if (placement == FL_PLACEMENT_FIRST_ORDER || placement == FL_PLACEMENT_HIGHER_ORDER) {
        int32_t second = newest_of(twin, known, &twin->heard[used], FL_FOREVER);
        choice.second = same_life(twin, second, used);
    }
    if (placement == FL_PLACEMENT_HIGHER_ORDER && choice.second >= 0) {
        int32_t third = newest_of(twin, known, &twin->heard[choice.second], FL_FOREVER);
        choice.third = same_life(twin, third, used);
    }
    return choice;
}

static bool same_choice(Choice a, Choice b)
{
    return a.used == b.used && a.second == b.second && a.third == b.third && a.next == b.next;
}

static double seconds_between(FlTime later, FlTime earlier)
{
    return (double)(later - earlier) * 1e-9;
}

// Lagrange's polynomial through two or three positions, and its slope, at the last one's time + s.
static void through(const Heard *const *points, int32_t count, double s, FlVec3 *position,
                    FlVec3 *velocity)
{
    *position = *velocity = fl_vec3(0.0, 0.0, 0.0);
    for (int32_t i = 0; i < count; i++) {
        double ti = seconds_between(points[i]->stamp, points[0]->stamp);
        double value = 1.0;
        double slope = 0.0;
        for (int32_t j = 0; j < count; j++) {
            double tj = seconds_between(points[j]->stamp, points[0]->stamp);
            if (j != i) {
                slope = (slope * (s - tj) + value) / (ti - tj);
                value *= (s - tj) / (ti - tj);
            }
        }
        *position = fl_vec3_add_scaled(*position, points[i]->motion.position, value);
        *velocity = fl_vec3_add_scaled(*velocity, points[i]->motion.position, slope);
    }
}

static void predicted(const Twin *twin, Choice c, FlTime at, FlVec3 *position, FlVec3 *velocity)
{
    const Heard *points[3] = {&twin->heard[c.used], NULL, NULL};
    int32_t count = 1;
    if (c.second >= 0) {
        points[count++] = &twin->heard[c.second];
    }
    if (c.third >= 0) {
        points[count++] = &twin->heard[c.third];
    }
    double s = seconds_between(at, points[0]->motion.time);
    double limit = count == 3 ? seconds_between(points[0]->stamp, points[2]->stamp) : s;
    through(points, count, s < limit ? s : limit, position, velocity);
    *position = fl_vec3_add_scaled(*position, *velocity, s > limit ? s - limit : 0.0);
}

// Hermite's curve by its four weights.
static void between(const FlMotion *a, const FlMotion *b, FlTime at, FlVec3 *position,
                    FlVec3 *velocity)
{
    double h = seconds_between(b->time, a->time);
    double x = seconds_between(at, a->time) / h;
    FlVec3 va = fl__motion_velocity(a, a->time);
    FlVec3 vb = fl__motion_velocity(b, b->time);
    *position = fl_vec3_scale(a->position, (1 + 2 * x) * (1 - x) * (1 - x));
    *position = fl_vec3_add_scaled(*position, va, h * x * (1 - x) * (1 - x));
    *position = fl_vec3_add_scaled(*position, b->position, x * x * (3 - 2 * x));
    *position = fl_vec3_add_scaled(*position, vb, h * x * x * (x - 1));
    FlVec3 way = fl_vec3_sub(b->position, a->position);
    *velocity = fl_vec3_scale(way, 6 * x * (1 - x) / h);
    *velocity = fl_vec3_add_scaled(*velocity, va, (1 - x) * (1 - 3 * x));
    *velocity = fl_vec3_add_scaled(*velocity, vb, x * (3 * x - 2));
}

static void placed_at(const Twin *twin, Choice c, FlTime at, FlVec3 *position, FlVec3 *velocity)
{
    const FlMotion *motion = &twin->heard[c.used].motion;
    *position = fl_motion_position(motion, at);
    *velocity = fl__motion_velocity(motion, at);
    switch (twin->show->def.placement) {
    case FL_PLACEMENT_SNAP:
        *position = motion->position;
        *velocity = fl_vec3(0.0, 0.0, 0.0);
        break;
    case FL_PLACEMENT_FIRST_ORDER:
    case FL_PLACEMENT_HIGHER_ORDER:
        predicted(twin, c, at, position, velocity);
        break;
    case FL_PLACEMENT_INTERPOLATED:
        if (c.next >= 0) {
            between(motion, &twin->heard[c.next].motion, at, position, velocity);
        }
        break;
    case FL_PLACEMENT_TIMESTAMPED:
    case FL_PLACEMENT_COUNT:
        break;
    }
}

// How the picture differs from what is placed, since `from`.
typedef struct Off {
    FlTime from;
    FlVec3 offset, velocity;
    double fade_s, ramp_s, whole_s; // smooth only
    FlVec3 way;
} Off;

static FlVec3 smooth_velocity(const Off *off, double s)
{
    FlVec3 v = {0.0, 0.0, 0.0};
    if (s < off->fade_s) {
        v = fl_vec3_scale(off->velocity, 1 - s / off->fade_s);
    }
    double weight = fmin(1.0, fmin(s, off->whole_s - s) / off->ramp_s);
    return fl_vec3_add_scaled(v, off->way, -fmax(weight, 0.0) / (off->whole_s - off->ramp_s));
}

// Trapezia are exact for what is straight, so they are if cut where the velocity has a break.
static FlVec3 smooth_way(const Off *off, double s)
{
    double breaks[5] = {0.0, off->fade_s, off->ramp_s, off->whole_s - off->ramp_s, off->whole_s};
    FlVec3 way = {0.0, 0.0, 0.0};
    for (int32_t i = 0; i < 4; i++) {
        double from = fmin(s, breaks[i]);
        double to = fmin(s, breaks[i + 1]);
        FlVec3 sum = fl_vec3_add(smooth_velocity(off, from), smooth_velocity(off, to));
        way = fl_vec3_add_scaled(way, sum, 0.5 * (to - from));
    }
    return way;
}

static void off_at(const Twin *twin, const Off *off, FlTime at, FlVec3 *offset, FlVec3 *velocity)
{
    const FlShowDef *def = &twin->show->def;
    *offset = *velocity = fl_vec3(0.0, 0.0, 0.0);
    if (def->convergence == FL_CONVERGENCE_STEPS) {
        *offset = off->offset;
        for (int32_t i = 0; i < def->step_count; i++) {
            if (off->from + i * def->step_ns <= at) {
                *offset = fl_vec3_add_scaled(*offset, off->offset, -1.0 / def->step_count);
            }
        }
    } else if (def->convergence == FL_CONVERGENCE_SMOOTH) {
        double s = seconds_between(at, off->from);
        *offset = fl_vec3_add(off->offset, smooth_way(off, s));
        *velocity = smooth_velocity(off, s);
    }
}

// By halves: the largest correction with which the sum is not above the limit. Where the way
// crosses the ball of allowed velocities, it leaves it last at the far side.
static double fastest(const FlShowDef *def, FlVec3 velocity, FlVec3 way)
{
    double low = fl_vec3_dot(velocity, way); // nearest to standing still
    FlVec3 nearest = fl_vec3_add_scaled(velocity, way, -low);
    if (fl_vec3_length(nearest) > def->speed_limit) {
        return def->catch_up;
    }
    double high = low + 2.0 * def->speed_limit;
    for (int32_t i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        FlVec3 sum = fl_vec3_add_scaled(velocity, way, -middle);
        *(fl_vec3_length(sum) <= def->speed_limit ? &low : &high) = middle;
    }
    bool limited = fl_vec3_length(velocity) < def->speed_limit;
    return fmax(low, def->catch_up * (limited ? 1e-3 : 1.0));
}

static void off_start(const Twin *twin, Off *off, FlTime at, FlVec3 offset, FlVec3 velocity,
                      FlVec3 placed_velocity)
{
    const FlShowDef *def = &twin->show->def;
    memset(off, 0, sizeof *off);
    off->from = at;
    off->ramp_s = 1.0; // of nothing
    off->whole_s = 2.0;
    double far = fl_vec3_length(offset);
    if (def->convergence == FL_CONVERGENCE_AT_ONCE || far > def->snap_distance) {
        return;
    }
    off->offset = offset;
    off->velocity = velocity;
    off->whole_s = seconds_between(def->smooth_ns, 0);
    off->fade_s = off->ramp_s = 0.5 * off->whole_s;
    double closing = far > 0.0 ? -fl_vec3_dot(offset, velocity) / far : 0.0;
    if (closing > 0.0 && far > 1e-6 * closing * off->ramp_s) {
        off->fade_s = fmin(off->fade_s, 2.0 * far / closing);
    }
    off->way = fl_vec3_add_scaled(offset, velocity, 0.5 * off->fade_s);
    double left = fl_vec3_length(off->way);
    if (left > 0.0) {
        double speed = fastest(def, placed_velocity, fl_vec3_scale(off->way, 1.0 / left));
        off->whole_s = fmax(off->whole_s, left / speed + off->ramp_s);
    }
}

typedef struct EntityHint {
    bool any;
    Choice choice;
    Off off;
} EntityHint;

static void picture_at(const Twin *twin, const EntityHint *telling, FlTime at, FlVec3 *position,
                       FlVec3 *velocity)
{
    FlVec3 offset, excess;
    placed_at(twin, telling->choice, at, position, velocity);
    off_at(twin, &telling->off, at, &offset, &excess);
    *position = fl_vec3_add(*position, offset);
    *velocity = fl_vec3_add(*velocity, excess);
}

static void retell(const Twin *twin, EntityHint *telling, int32_t known, FlTime at)
{
    Choice choice = choose(twin, known, at);
    if (choice.used < 0 || (telling->any && same_choice(choice, telling->choice))) {
        return;
    }
    EntityHint next = {.any = true, .choice = choice};
    next.off.from = at;
    next.off.ramp_s = 1.0; // of nothing
    next.off.whole_s = 2.0;
    uint32_t life = twin->heard[choice.used].life;
    if (telling->any && life == twin->heard[telling->choice.used].life) {
        FlVec3 position, velocity, placed, placed_velocity;
        picture_at(twin, telling, at, &position, &velocity);
        placed_at(twin, choice, at, &placed, &placed_velocity);
        off_start(twin, &next.off, at, fl_vec3_sub(position, placed),
                  fl_vec3_sub(velocity, placed_velocity), placed_velocity);
    }
    *telling = next;
}

// All beginnings of motions up to `until`, in order, among those known.
static void pass_time(const Twin *twin, EntityHint *telling, int32_t known, FlTime after,
                      FlTime until)
{
    for (;;) {
        FlTime next = FL_FOREVER;
        for (int32_t i = 0; i < known; i++) {
            FlTime begins = twin->heard[i].motion.time;
            next = begins > after && begins <= until && begins < next ? begins : next;
        }
        if (next == FL_FOREVER) {
            return;
        }
        retell(twin, telling, known, next);
        after = next;
    }
}

static bool twin_pose(const Twin *twin, FlTime at, FlVec3 *position, FlVec3 *velocity)
{
    EntityHint telling = {.any = false};
    FlTime now = INT64_MIN;
    int32_t known = 0;
    for (; known < twin->count && twin->heard[known].at <= at; known++) {
        pass_time(twin, &telling, known, now, twin->heard[known].at);
        now = twin->heard[known].at;
        retell(twin, &telling, known + 1, now);
    }
    pass_time(twin, &telling, known, now, at);
    if (telling.any) {
        picture_at(twin, &telling, at, position, velocity);
    }
    return telling.any;
}

// ---------------------------------------------------------------- networks

typedef struct Flight {
    FlTime arrival;
    FlTime stamp;
    uint32_t life;
    FlUpdate update;
} Flight;

typedef struct Network {
    FlTime delay, jitter;
    uint64_t lose_one_in, repeat_one_in, cut_one_in;
    FlTime clock_error; // of a receiver that goes by another clock, per update
} Network;

static Network random_network(FlRandom *r)
{
    Network n;
    n.delay = random_time(r, 0, FL_MS(150));
    n.jitter = random_time(r, 0, FL_MS(100));
    n.lose_one_in = 3 + fl_random_below(r, 20);
    n.repeat_one_in = 4 + fl_random_below(r, 20);
    n.cut_one_in = 14 + fl_random_below(r, 40);
    n.clock_error = random_chance(r, 3) ? FL_MS(30) : 0;
    return n;
}

static FlUpdate random_update(FlRandom *r, FlTime time, uint32_t life)
{
    FlState state = random_state(r, 2.0, 10.0);
    state.time = time;
    double yaw = fl_random_between(r, -3.0, 3.0);
    state.facing = fl_facing_yaw(yaw, 1.0);
    FlModel model = (FlModel)fl_random_below(r, FL_MODEL_CUBIC);
    FlUpdate update = {1, life & 3u, fl_motion_make(model, &state)};
    return update;
}

static int32_t put(Flight *flights, int32_t count, const Flight *flight)
{
    int32_t i = count;
    while (i > 0 && flights[i - 1].arrival > flight->arrival) {
        flights[i] = flights[i - 1];
        i--;
    }
    flights[i] = *flight;
    return count + 1;
}

// Sends some updates; what arrives, in order of arrival.
static int32_t send_some(FlRandom *r, const Network *n, Flight *flights)
{
    int32_t count = 0;
    uint32_t life = 0;
    bool before = false;
    FlTime stamp = FL_SEC(1);
    for (int32_t i = 0; i < 60; i++) {
        bool cut = random_chance(r, n->cut_one_in);
        bool at_once = random_chance(r, 4) && !before; // two bits tell three lives of a time apart
        FlTime pause = random_time(r, FL_MS(20), FL_MS(110));
        life += cut ? 1 : 0;
        before = cut && at_once;
        stamp += before ? 0 : pause;
        Flight flight = {.stamp = stamp, .life = life};
        FlTime error = random_time(r, 0, n->clock_error);
        flight.update = random_update(r, stamp + error, life);
        flight.arrival = stamp + n->delay + random_time(r, 0, n->jitter);
        bool lost = random_chance(r, n->lose_one_in);
        bool twice = random_chance(r, n->repeat_one_in);
        FlTime later = random_time(r, 0, FL_MS(60));
        if (!lost) {
            count = put(flights, count, &flight);
        }
        if (!lost && twice) {
            flight.arrival += later;
            count = put(flights, count, &flight);
        }
    }
    return count;
}

static FlShowDef random_def(FlRandom *r, int32_t combination)
{
    FlShowDef def = fl_show_def_default();
    def.hold = (FlHold)(combination % FL_HOLD_LAGS); // by lags: see test_show.c
    combination /= FL_HOLD_LAGS;
    def.placement = (FlPlacement)(combination % FL_PLACEMENT_COUNT);
    combination /= FL_PLACEMENT_COUNT;
    def.convergence = (FlConvergence)combination;
    def.delta_ns = random_time(r, 0, FL_MS(200));
    def.step_count = 1 + (int32_t)fl_random_below(r, 5);
    def.step_ns = random_time(r, FL_MS(5), FL_MS(50));
    def.smooth_ns = random_time(r, FL_MS(20), FL_MS(300));
    def.speed_limit = random_chance(r, 3) ? 0.0 : fl_random_between(r, 1.0, 30.0);
    def.catch_up = fl_random_between(r, 0.5, 20.0);
    def.snap_distance = random_chance(r, 2) ? fl_random_between(r, 0.5, 6.0) : (double)INFINITY;
    return def;
}

typedef struct Tally {
    Worst position, velocity;
    Hash hash; // of the first network of each combination
    bool hashing;
    int64_t asked, answered, past_asked, past_answered;
} Tally;

static void ask(const FlShow *show, const Twin *twin, FlTime time, bool past, Tally *tally)
{
    FlPose pose;
    FlVec3 position, velocity;
    FlResult result = fl_show_pose(show, time, &pose);
    bool there = twin_pose(twin, fl_show_time(show, time), &position, &velocity);
    tally->past_asked += past && there ? 1 : 0;
    if (past && result == FL_NOT_FOUND) {
        return; // forgotten, perhaps
    }
    tally->past_answered += past ? 1 : 0;
    tally->asked++;
    assert_int_equal(result, there ? FL_OK : FL_NOT_FOUND);
    if (there) {
        tally->answered++;
        if (tally->hashing) {
            hash_vec3(&tally->hash, pose.position);
            hash_vec3(&tally->hash, pose.velocity);
            hash_double(&tally->hash, pose.yaw);
        }
        worst_note(&tally->position, fl_vec3_distance(pose.position, position), tally->asked);
        if (show->change_count == 0) { // else shown time runs at another rate
            double apart = fl_vec3_distance(pose.velocity, velocity);
            worst_note(&tally->velocity, apart, tally->asked);
        }
    }
}

static void play(FlRandom *r, const FlShowDef *def, Tally *tally)
{
    static Flight flights[HISTORY];
    static Twin twin;
    FlShow show;
    Network network = random_network(r);
    int32_t count = send_some(r, &network, flights);
    fl_show_init(&show, def);
    memset(&twin, 0, sizeof twin);
    twin.show = &show;
    for (int32_t i = 0; i < count; i++) {
        const Flight *f = &flights[i];
        if (def->hold == FL_HOLD_ADAPTIVE && random_chance(r, 6)) {
            FlTime delta = random_time(r, 0, FL_MS(200));
            assert_true(fl_show_delta(&show, delta, f->arrival));
        }
        (void)fl_show_arrive(&show, &f->update, f->stamp, f->arrival);
        twin_arrive(&twin, &f->update, f->life, f->arrival, f->stamp);
        FlTime until = i + 1 < count ? flights[i + 1].arrival - 1 : f->arrival + FL_MS(900);
        for (int32_t k = 0; k < 3 && until >= f->arrival; k++) {
            FlTime when = random_time(r, f->arrival, until);
            ask(&show, &twin, when, false, tally);
        }
        FlTime before = random_time(r, f->arrival - FL_MS(500), f->arrival - 1);
        ask(&show, &twin, before, true, tally);
    }
    assert_int_equal(show.crowded, 0);
    assert_int_equal(show.refused, 0);
}

static void every_combination_shows_what_its_definition_says(void **state)
{
    (void)state;
    Tally tally = {.hash = hash_start()};
    int32_t combinations = FL_HOLD_LAGS * FL_PLACEMENT_COUNT * FL_CONVERGENCE_COUNT;
    int32_t networks = CASES(15) > 4 ? CASES(15) : 4; // fewer may have nothing to answer
    for (int32_t c = 0; c < combinations; c++) {
        FlRandom random = random_stream(7100 + (uint64_t)c);
        int64_t before = tally.answered;
        for (int32_t i = 0; i < networks; i++) {
            FlShowDef def = random_def(&random, c);
            tally.hashing = i == 0;
            play(&random, &def, &tally);
        }
        assert_true(tally.answered - before > 200);
    }
    check_worst(&tally.position, 1e-9, "positions");
    check_worst(&tally.velocity, 1e-8, "velocities");
    print_message("             %lld of %lld answered, %lld of %lld about the past\n",
                  (long long)tally.answered, (long long)tally.asked, (long long)tally.past_answered,
                  (long long)tally.past_asked);
    assert_true(tally.past_answered * 2 > tally.past_asked);
    check_hash(tally.hash, UINT64_C(0xfd195cb6212efd09)); // the same bits with every compiler
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_shows_what_its_definition_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
