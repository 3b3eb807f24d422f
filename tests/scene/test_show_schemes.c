// What each scheme shows of a race: the same car over the same network, by every hold, placement
// and convergence. Compared by visible jumps (steps that the car's top speed does not allow) and by
// how far the picture is from where the car really was at the shown time.
#include "fairlead/show.h"

#include "lab/figures/jumps.h"
#include "show/show.h"
#include "unit/support.h"

#define TOP_SPEED 20.0
#define FRAME FL_MS(16)
#define SECONDS 60
#define DELTA FL_MS(100)

// A car on a winding course, faster on the straights: twice differentiable, top speed respected.
static FlState truth_at(FlTime time)
{
    FlState state = {.time = time};
    double t = fl_span_seconds(time);
    double s1, c1, s2, c2;
    fl_sincos(0.6 * t, &s1, &c1);
    fl_sincos(1.7 * t, &s2, &c2);
    state.position = fl_vec3(22.0 * c1 + 2.4 * s2, 15.0 * s1 + 2.0 * c2, 0.0);
    state.velocity = fl_vec3(-13.2 * s1 + 4.08 * c2, 9.0 * c1 - 3.4 * s2, 0.0);
    return state;
}

typedef struct Scheme {
    FlHold hold;
    FlPlacement placement;
    FlConvergence convergence;
    bool recipe; // the guide's few lines, and nothing else is set
} Scheme;

typedef struct Score {
    double jumps_per_minute;
    double error; // mean distance to the truth as of the shown time
    double worst;
} Score;

#define QUEUE 4096

typedef struct Parcel {
    FlTime arrival, stamp;
    FlUpdate update;
} Parcel;

// The owner's side: sends when those who predict as the scheme does would be off by a tenth of the
// car; then 75 ± 10 ms, 5 % lost.
static int32_t send_all(const Scheme *scheme, Parcel *queue)
{
    FlRandom random = random_stream(7700);
    FlShow guess; // what a receiver without a network would show
    FlShowDef def = fl_show_def_default();
    def.placement = scheme->placement;
    fl_show_init(&guess, &def);
    int32_t count = 0;
    for (FlTime now = 0; now < FL_SEC(SECONDS); now += FL_MS(33)) {
        FlState truth = truth_at(now);
        FlPose pose;
        bool known = fl_show_placed(&guess, now, &pose) == FL_OK;
        bool lost = random_chance(&random, 20);
        double delay_ms = 75.0 + 10.0 * fl_random_normal(&random);
        bool still = scheme->placement == FL_PLACEMENT_SNAP; // no prediction: every sample
        if (known && !still && fl_vec3_distance(pose.position, truth.position) <= 0.16) {
            continue;
        }
        (void)fl_show_own(&guess, FL_MODEL_LINEAR, &truth, 0);
        FlUpdate update = {1, 0, fl_motion_make(FL_MODEL_LINEAR, &truth)};
        Parcel parcel = {now + (FlTime)(delay_ms * 1e6), now, update};
        int32_t i = count;
        while (!lost && i > 0 && queue[i - 1].arrival > parcel.arrival) {
            queue[i] = queue[i - 1];
            i--;
        }
        if (!lost) {
            queue[i] = parcel;
            count++;
        }
    }
    return count;
}

static Score play(const Scheme *scheme)
{
    static Parcel queue[QUEUE];
    int32_t count = send_all(scheme, queue);
    FlShow show;
    Jumps jumps;
    FlShowDef def = fl_show_def_default();
    def.hold = scheme->hold;
    def.placement = scheme->placement;
    def.convergence = scheme->convergence;
    def.delta_ns = DELTA;
    def.speed_limit = scheme->recipe ? 1.05 * TOP_SPEED : 1.08 * TOP_SPEED;
    def.catch_up = scheme->recipe ? def.catch_up : 0.02 * TOP_SPEED;
    fl_show_init(&show, &def);
    jumps_init(&jumps, TOP_SPEED);
    Score score = {0};
    int32_t frames = 0;
    int32_t next = 0;
    for (FlTime now = 0; now < FL_SEC(SECONDS); now += FRAME) {
        for (; next < count && queue[next].arrival <= now; next++) {
            (void)fl_show_arrive(&show, &queue[next].update, queue[next].stamp,
                                 queue[next].arrival);
        }
        FlPose pose;
        if (now < FL_SEC(2) || fl_show_pose(&show, now, &pose) != FL_OK) {
            continue;
        }
        frames++;
        (void)jumps_see(&jumps, now, pose.position, 0);
        FlState then = truth_at(fl_show_time(&show, now));
        double error = fl_vec3_distance(pose.position, then.position);
        score.error += error;
        score.worst = error > score.worst ? error : score.worst;
    }
    assert_true(frames > 3000);
    score.error /= frames;
    score.jumps_per_minute = (double)jumps.jump_count * 60.0 / (SECONDS - 2);
    return score;
}

static Score score_of(FlHold hold, FlPlacement placement, FlConvergence convergence)
{
    Scheme scheme = {hold, placement, convergence, false};
    return play(&scheme);
}

#define WORD(name, word) word,
static const char *const hold_words[] = {FL_HOLD_TABLE(WORD)};
static const char *const placement_words[] = {FL_PLACEMENT_TABLE(WORD)};
static const char *const convergence_words[] = {FL_CONVERGENCE_TABLE(WORD)};
#undef WORD

static void the_schemes_side_by_side(void **state)
{
    (void)state;
    print_message(
        "             hold        placement     convergence  jumps/min  error m  worst m\n");
    for (int32_t h = 0; h < FL_HOLD_ADAPTIVE; h++) {
        for (int32_t p = 0; p < FL_PLACEMENT_COUNT; p++) {
            for (int32_t c = 0; c < FL_CONVERGENCE_COUNT; c++) {
                Score s = score_of((FlHold)h, (FlPlacement)p, (FlConvergence)c);
                print_message("             %-11s %-13s %-12s %9.1f %8.4f %8.4f\n", hold_words[h],
                              placement_words[p], convergence_words[c], s.jumps_per_minute, s.error,
                              s.worst);
                assert_true(isfinite(s.error));
            }
        }
    }
}

static void smooth_convergence_leaves_no_visible_jump(void **state)
{
    (void)state;
    const FlPlacement placements[] = {FL_PLACEMENT_TIMESTAMPED, FL_PLACEMENT_FIRST_ORDER,
                                      FL_PLACEMENT_INTERPOLATED};
    for (int32_t h = 0; h < FL_HOLD_ADAPTIVE; h++) {
        for (int32_t p = 0; p < 3; p++) {
            Score at_once = score_of((FlHold)h, placements[p], FL_CONVERGENCE_AT_ONCE);
            Score smooth = score_of((FlHold)h, placements[p], FL_CONVERGENCE_SMOOTH);
            assert_true(smooth.jumps_per_minute <= at_once.jumps_per_minute);
            check_near(smooth.jumps_per_minute, 0.0, 0.0);
        }
    }
    Score raw = score_of(FL_HOLD_AT_ONCE, FL_PLACEMENT_FIRST_ORDER, FL_CONVERGENCE_AT_ONCE);
    assert_true(raw.jumps_per_minute > 30.0);
}

// A speed limit is one, whatever the default of `catch_up` is.
static void the_guides_recipe_leaves_no_visible_jump(void **state)
{
    (void)state;
    const FlPlacement placements[] = {FL_PLACEMENT_TIMESTAMPED, FL_PLACEMENT_FIRST_ORDER,
                                      FL_PLACEMENT_INTERPOLATED};
    for (int32_t h = 0; h < FL_HOLD_ADAPTIVE; h++) {
        for (int32_t p = 0; p < 3; p++) {
            Scheme scheme = {(FlHold)h, placements[p], FL_CONVERGENCE_SMOOTH, true};
            check_near(play(&scheme).jumps_per_minute, 0.0, 0.0);
        }
    }
}

static void holding_back_makes_the_picture_truer_to_its_time(void **state)
{
    (void)state;
    for (int32_t p = 0; p < FL_PLACEMENT_COUNT; p++) {
        if (p == FL_PLACEMENT_SNAP) {
            continue;
        }
        Score now = score_of(FL_HOLD_AT_ONCE, (FlPlacement)p, FL_CONVERGENCE_AT_ONCE);
        Score held = score_of(FL_HOLD_RECKONED, (FlPlacement)p, FL_CONVERGENCE_AT_ONCE);
        assert_true(held.error < now.error);
    }
    // Late ones are worth having: without them the same hold is worse.
    Score with = score_of(FL_HOLD_RECKONED, FL_PLACEMENT_TIMESTAMPED, FL_CONVERGENCE_AT_ONCE);
    Score without = score_of(FL_HOLD_CAUSALITY, FL_PLACEMENT_TIMESTAMPED, FL_CONVERGENCE_AT_ONCE);
    assert_true(with.error <= without.error);
    // A picture between two known positions is the truest.
    Score between = score_of(FL_HOLD_RECKONED, FL_PLACEMENT_INTERPOLATED, FL_CONVERGENCE_AT_ONCE);
    assert_true(between.error < with.error);
}

// The racing paper's best is dead reckoning with Δ-causality: first-order prediction, corrected at
// once. With the same Δ, so with own actions shown as late, there is better.
static void interpolated_and_smooth_beats_the_papers_best_without_a_jump(void **state)
{
    (void)state;
    Score paper = score_of(FL_HOLD_RECKONED, FL_PLACEMENT_FIRST_ORDER, FL_CONVERGENCE_AT_ONCE);
    Score ours = score_of(FL_HOLD_RECKONED, FL_PLACEMENT_INTERPOLATED, FL_CONVERGENCE_SMOOTH);
    print_message("             error %.4f against %.4f m, jumps a minute %.1f against %.1f\n",
                  ours.error, paper.error, ours.jumps_per_minute, paper.jumps_per_minute);
    assert_true(ours.error < 0.95 * paper.error);
    check_near(ours.jumps_per_minute, 0.0, 0.0);
    assert_true(paper.jumps_per_minute > 30.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schemes_side_by_side),
        cmocka_unit_test(smooth_convergence_leaves_no_visible_jump),
        cmocka_unit_test(the_guides_recipe_leaves_no_visible_jump),
        cmocka_unit_test(holding_back_makes_the_picture_truer_to_its_time),
        cmocka_unit_test(interpolated_and_smooth_beats_the_papers_best_without_a_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
