// Motions shown by lags: all players see the same picture, by clocks that no one synchronised.
//
// Ways differ by direction, so session times are off by tens of milliseconds; clocks are days apart
// and drift. Neither matters. Every player has a thing that runs along x, so that its place tells
// of which moment it is, and turns again and again. Pictures are taken at one play time everywhere,
// whenever that is there, and compared; when they were taken is looked at in true time.
#include "session_inside.h"
#include "session_net.h"

#include "agree/private.h"

enum { NODES = 5, FAR = NODES - 1, PICTURES = 3000, TURN_MS = 700 };

#define SPEED 20.0
#define EVERY FL_MS(20) // play time between two pictures

typedef struct Picture {
    bool taken, known[NODES];
    FlTime at; // true time
    FlVec3 place[NODES];
} Picture;

typedef struct Media {
    Net net;
    FlEntityDef def;
    uint32_t number[NODES]; // of each player's thing; 0: none
    int32_t driver[NODES];  // who has it now
    FlTime begun;
    FlTime base; // play time of the first picture
    int32_t next[NODES];
    Picture picture[NODES][PICTURES];
} Media;

static Media media;

// ---------------------------------------------------------------- what is true

/// Straight on along x; along y back and forth.
static FlState truth_at(FlTime time, int32_t of)
{
    FlTime since = time - media.begun;
    FlTime turn = FL_MS(TURN_MS + 50 * of);
    double into = fl_span_seconds(since % turn);
    bool back = since / turn % 2 == 1;
    double y = back ? fl_span_seconds(turn) - into : into;
    FlState state = {.facing = fl_facing_none()};
    state.position = fl_vec3(-450.0 + SPEED * fl_span_seconds(since), 10.0 * of + 5.0 * y, 0.0);
    state.velocity = fl_vec3(SPEED, back ? -5.0 : 5.0, 0.0);
    return state;
}

/// Of which true time a place is.
static FlTime time_of(FlVec3 place)
{
    return media.begun + fl_span_from_seconds((place.x + 450.0) / SPEED);
}

// ---------------------------------------------------------------- running

static FlSession *session_of(int32_t node)
{
    return media.net.node[node].session;
}

static void drive(int32_t of)
{
    int32_t node = media.driver[of];
    if (media.number[of] == 0) {
        return;
    }
    FlEntityId id = net_entity(&media.net, node, media.number[of]);
    if (fl_entity_is_ours(session_of(node), id)) {
        FlState state = truth_at(media.net.now, of);
        state.time = net_local(&media.net, node);
        assert_int_equal(fl_entity_set(session_of(node), id, &state), FL_OK);
    }
}

static void take(int32_t node, int32_t k, FlTime local)
{
    Picture *picture = &media.picture[node][k];
    picture->taken = true;
    picture->at = net_true(&media.net, node, local);
    for (int32_t of = 0; of < NODES; of++) {
        FlPose pose = {0};
        FlEntityId id = net_entity(&media.net, node, media.number[of]);
        picture->known[of] =
            media.number[of] != 0 && fl_entity_pose_at(session_of(node), local, id, &pose);
        picture->place[of] = pose.position;
    }
}

static bool is_by_lags(void)
{
    return media.net.def.tuning.show.hold == FL_HOLD_LAGS;
}

/// When a picture is taken, on a node's clock: at a play time, or a session time.
static FlTime time_of_picture(int32_t node, int32_t k)
{
    FlTime time = media.base + EVERY * k;
    return is_by_lags() ? fl__lags_when(fl__session_lags(session_of(node)), time)
                        : fl_session_local_time(session_of(node), time);
}

/// Pictures whose time has come within this frame: what was shown then.
static void look(int32_t node)
{
    const FlLags *lags = fl__session_lags(session_of(node));
    FlTime now = net_local(&media.net, node);
    while (lags != NULL && media.next[node] < PICTURES) {
        FlTime when = time_of_picture(node, media.next[node]);
        if (when > now) {
            return;
        }
        // A that began to fall since then says nothing of when it was.
        if (when > now - FL_MS(NET_FRAME_MS) && (when >= lags->a.at || !is_by_lags())) {
            take(node, media.next[node], when);
        }
        media.next[node]++;
    }
}

static void run(FlTime span)
{
    for (FlTime until = media.net.now + span; media.net.now < until;) {
        for (int32_t of = 0; of < NODES; of++) {
            drive(of);
        }
        for (int32_t i = 0; i < NODES && media.base != 0; i++) {
            if (session_of(i) != NULL) {
                look(i);
            }
        }
        net_frame(&media.net);
    }
}

// ---------------------------------------------------------------- beginning

/// Everybody's own thing is shown to it as to the others.
static void begin_thing(int32_t node, const FlShowDef *own)
{
    FlEntityId id;
    media.number[node] = net_make(&media.net, node, &media.def, &id);
    media.driver[node] = node;
    assert_int_equal(fl_entity_show(session_of(node), id, own), FL_OK);
}

static void open_media(FlTopology topology, bool sealed, const FlShowDef *show)
{
    memset(&media, 0, sizeof media);
    net_open(&media.net, 31, topology, sealed);
    media.net.def.action_capacity = 64;
    media.net.def.tuning.show = *show;
    media.net.def.tuning.lags.window_ns = FL_SEC(3);
    media.net.def.tuning.lags.again_ns = FL_SEC(3);
    media.def = fl_entity_def_default();
    for (int32_t i = 0; i < NODES; i++) {
        for (int32_t j = 0; j < NODES; j++) {
            FlImpairSettings way = net_fair();
            way.delay_ns = FL_MS(15) + FL_MS(20) * ((3 * i + 5 * j) % 4);
            way.delay_ns += i == FAR || j == FAR ? FL_MS(100) : 0;
            if (i != j) {
                net_way(&media.net, i, j, &way);
            }
        }
    }
}

static FlShowDef by_lags(void)
{
    FlShowDef show = fl_show_def_default();
    show.hold = FL_HOLD_LAGS;
    show.convergence = FL_CONVERGENCE_AT_ONCE; // compared with the truth, turns included
    return show;
}

/// Four are in, and their lags are settled.
static void begin_media(void)
{
    FlShowDef own = by_lags();
    net_start_together(&media.net, FAR);
    media.begun = media.net.now;
    for (int32_t i = 0; i < FAR; i++) {
        begin_thing(i, &own);
    }
    run(FL_SEC(8));
    FlLagsStatus status;
    assert_int_equal(fl_session_lags(session_of(0), net_local(&media.net, 0), &status), FL_OK);
    assert_true(status.plays && status.members == 15);
    media.base = is_by_lags()
                     ? fl__lags_play_time(fl__session_lags(session_of(0)), net_local(&media.net, 0))
                     : net_time(&media.net, 0);
}

// ---------------------------------------------------------------- comparing

typedef struct Differences {
    int32_t compared, differing;
    double places; // m: between two players' pictures, at most
    FlTime lag_low, lag_high;
    double turned;           // m: a picture from what was true at its moment
    double slowest, fastest; // of what is shown, by true time
} Differences;

#define SAME 1e-5 // m: ns of play time, at 20 m/s

/// Two players' pictures of the first `nodes` players' things.
static void compare(Differences *d, int32_t k, int32_t a, int32_t b, int32_t nodes)
{
    const Picture *one = &media.picture[a][k];
    const Picture *other = &media.picture[b][k];
    for (int32_t of = 0; of < nodes && one->taken && other->taken; of++) {
        bool own = (of == a || of == b) && !is_by_lags();
        if (one->known[of] && other->known[of] && !own) {
            double off = fl_vec3_distance(one->place[of], other->place[of]);
            d->places = fmax(d->places, off);
            d->differing += off > SAME ? 1 : 0;
            d->compared++;
        }
    }
}

static void look_at(Differences *d, int32_t k, int32_t node)
{
    const Picture *picture = &media.picture[node][k];
    const Picture *before = &media.picture[node][k > 0 ? k - 1 : 0];
    for (int32_t of = 0; of < NODES && picture->taken; of++) {
        if (!picture->known[of] || (of == node && !is_by_lags())) {
            continue;
        }
        FlTime shown = time_of(picture->place[of]);
        FlTime lag = picture->at - shown;
        d->lag_low = lag < d->lag_low ? lag : d->lag_low;
        d->lag_high = lag > d->lag_high ? lag : d->lag_high;
        d->turned = fmax(d->turned, fabs(truth_at(shown, of).position.y - picture->place[of].y));
        if (before->taken && before->known[of] && before != picture) {
            double rate =
                (double)(shown - time_of(before->place[of])) / (double)(picture->at - before->at);
            d->slowest = fmin(d->slowest, rate);
            d->fastest = fmax(d->fastest, rate);
        }
    }
}

/// Pictures from `first` on.
static Differences differences(int32_t first, int32_t nodes)
{
    Differences d = {.lag_low = FL_FOREVER, .lag_high = -FL_FOREVER, .slowest = 1, .fastest = 1};
    for (int32_t k = first; k < PICTURES; k++) {
        for (int32_t a = 0; a < nodes; a++) {
            look_at(&d, k, a);
            for (int32_t b = 0; b < a; b++) {
                compare(&d, k, a, b, nodes);
            }
        }
    }
    return d;
}

static int32_t pictures(void)
{
    return media.next[0];
}

/// Updates that came after their play time, of all but node `but`'s.
static uint32_t late_ones(int32_t but)
{
    uint32_t late = 0;
    for (int32_t at = 0; at < NODES; at++) {
        for (int32_t of = 0; of < NODES && at != but; of++) {
            if (of == at || of == but || session_of(at) == NULL || media.number[of] == 0) {
                continue;
            }
            int32_t slot =
                fl__entity_slot(session_of(at), net_entity(&media.net, at, media.number[of]));
            late += fl__entity_screen(session_of(at), slot)->late;
        }
    }
    return late;
}

static void check_rest(int32_t first, int32_t nodes)
{
    Differences d = differences(first, nodes);
    assert_true(d.compared > 2000);
    assert_true(d.places < SAME);
    assert_true(d.lag_low > 0 && d.lag_high < FL_MS(700));
    assert_true(d.turned < 0.35); // the trigger's, and a frame's
}

// ---------------------------------------------------------------- scenes

static void everybody_sees_the_same_picture(void **state)
{
    FlShowDef show = by_lags();
    open_media(net_topology(state), false, &show);
    begin_media();
    uint32_t late = late_ones(-1);
    run(FL_SEC(5));
    check_rest(0, FAR);
    assert_int_equal(late_ones(-1), late); // nothing is shown before it has come
    Differences d = differences(0, FAR);
    assert_true(d.slowest > 0.80 && d.fastest < 1.3);
    net_close(&media.net);
}

static Differences by_session_time(FlTopology topology, FlTime delta)
{
    FlShowDef show = fl_show_def_default();
    show.hold = FL_HOLD_RECKONED;
    show.delta_ns = delta;
    open_media(topology, false, &show);
    begin_media();
    run(FL_SEC(5));
    Differences d = differences(0, FAR);
    net_close(&media.net);
    assert_true(d.compared > 1000);
    return d;
}

// A Δ that someone chose is too short for the longest way, and then pictures differ; or longer than
// the network needs. Lags are neither.
static void a_constant_is_too_short_or_too_long(void **state)
{
    FlShowDef show = by_lags();
    open_media(net_topology(state), false, &show);
    begin_media();
    run(FL_SEC(5));
    Differences lags = differences(0, FAR);
    net_close(&media.net);
    assert_int_equal(lags.differing, 0);
    Differences brief = by_session_time(net_topology(state), FL_MS(50));
    assert_true(brief.differing > 20);
    Differences full = by_session_time(net_topology(state), FL_MS(300));
    assert_int_equal(full.differing, 0);
    assert_true(lags.lag_high < full.lag_low);
}

// All others' lags get longer, and shorter when it is gone. No picture jumps meanwhile.
static void one_comes_from_far_away_and_leaves(void **state)
{
    FlShowDef show = by_lags();
    open_media(net_topology(state), true, &show);
    begin_media();
    uint32_t late = late_ones(-1);
    FlLagsStatus before, with, after;
    assert_int_equal(fl_session_lags(session_of(0), net_local(&media.net, 0), &before), FL_OK);
    net_start(&media.net, FAR);
    run(FL_SEC(3));
    assert_true(net_together(&media.net));
    begin_thing(FAR, &show);
    run(FL_SEC(7));
    assert_int_equal(fl_session_lags(session_of(0), net_local(&media.net, 0), &with), FL_OK);
    assert_true(with.members == 31 && with.mean_ns > before.mean_ns + FL_MS(20));
    Differences d = differences(0, FAR); // those who were here before, all the time
    assert_true(d.places < SAME);
    assert_true(d.slowest > 0.80 && d.fastest < 1.3);
    assert_int_equal(late_ones(FAR), late);
    int32_t first = pictures();
    run(FL_SEC(3));
    check_rest(first, NODES); // the newcomer, too
    media.number[FAR] = 0;
    net_leave(&media.net, FAR);
    first = pictures();
    run(FL_SEC(8));
    assert_int_equal(fl_session_lags(session_of(0), net_local(&media.net, 0), &after), FL_OK);
    assert_true(after.mean_ns < with.mean_ns - FL_MS(20));
    d = differences(first, FAR);
    assert_true(d.compared > 2000);
    assert_true(d.places < SAME);
    assert_true(d.slowest > 0.80 && d.fastest < 1.3);
    assert_int_equal(late_ones(FAR), late);
    net_close(&media.net);
}

// The new owner's lags are others: pictures get there without a jump.
static void a_thing_changes_its_owner_without_a_jump(void **state)
{
    FlShowDef show = by_lags();
    show.convergence = FL_CONVERGENCE_SMOOTH;
    show.speed_limit = 1.05 * SPEED;
    open_media(net_topology(state), false, &show);
    begin_media();
    run(FL_SEC(1));
    FlEntityId id = net_entity(&media.net, 1, media.number[1]);
    assert_int_equal(
        fl_entity_give(session_of(1), net_local(&media.net, 1), id, net_peer(&media.net, 1, 2)),
        FL_OK);
    media.driver[1] = 2;
    int32_t given = pictures();
    run(FL_SEC(4));
    int32_t rest = pictures();
    run(FL_SEC(3));
    assert_true(fl_entity_is_ours(session_of(2), net_entity(&media.net, 2, media.number[1])));
    double longest = 0.0;
    for (int32_t k = given; k < rest; k++) {
        for (int32_t at = 0; at < FAR; at += at == 0 ? 3 : 1) { // neither the old owner nor the new
            const Picture *one = &media.picture[at][k];
            const Picture *before = &media.picture[at][k - 1];
            if (one->taken && before->taken && one->known[1] && before->known[1]) {
                double step = fl_vec3_distance(one->place[1], before->place[1]);
                longest = fmax(longest, step / fl_span_seconds(one->at - before->at));
            }
        }
    }
    assert_true(longest > 0.0 && longest < 1.5 * SPEED);
    const Picture *one = &media.picture[0][pictures() - 40];
    const Picture *other = &media.picture[3][pictures() - 40];
    assert_true(one->taken && other->taken);
    assert_true(fl_vec3_distance(one->place[1], other->place[1]) < 0.01);
    net_close(&media.net);
}

// Where no lags are measured nothing can be shown by them, and that is said.
static void without_actions_it_is_refused(void **state)
{
    (void)state;
    FlShowDef show = by_lags();
    FlError error;
    FlSessionDef def = fl_session_def_default();
    def.tuning.show = show;
    assert_int_equal(fl_session_def_problem(&def, &error), FL_BAD_VALUE);
    assert_non_null(strstr(error.text, "action_capacity"));
    def.action_capacity = 16;
    def.tuning.time_mode = FL_TIME_ONE_WAY;
    assert_int_equal(fl_session_def_problem(&def, &error), FL_BAD_VALUE);
    assert_non_null(strstr(error.text, "time_mode"));
    memset(&media, 0, sizeof media);
    net_open(&media.net, 31, FL_TOPOLOGY_STAR, false);
    net_start_together(&media.net, 2);
    FlEntityId id;
    uint32_t number = net_make(&media.net, 0, NULL, &id);
    net_frames(&media.net, 20);
    FlEntityId theirs = net_entity(&media.net, 1, number);
    assert_int_equal(fl_entity_show(session_of(1), theirs, &show), FL_BAD_VALUE);
    assert_int_equal(fl_entity_show(session_of(0), id, &show), FL_BAD_VALUE);
    net_close(&media.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(everybody_sees_the_same_picture),
        NET_TOPOLOGY(a_constant_is_too_short_or_too_long, "mesh"),
        NET_TOPOLOGIES(one_comes_from_far_away_and_leaves),
        NET_TOPOLOGIES(a_thing_changes_its_owner_without_a_jump),
        cmocka_unit_test(without_actions_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
