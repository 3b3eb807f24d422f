// Which model to send: learnt online, per entity, by trying all of them in thought.
//
// Every now and then, when an update goes out, and at first in between, a *trial* starts: all
// models are set off from the same state and watched, frame by frame, until each has missed the
// truth by more than the distance threshold. How long each held is booked under the *context* in
// which the trial began: is the speed changing, is the heading, and is the acceleration the same as
// a frame ago? The pick for an update is the model with the longest mean time in that context,
// where a context seen rarely leans on the average over all of them, and the last pick keeps its
// place unless another is better by a margin (so it does not flap). Old evidence fades, so a player
// who changes style is followed.
//
// Why this and not the model that best fits the last few samples: an update is due exactly when the
// motion has just changed, so the past says little about what comes; measured on the bundled traces
// such a fit costs 12 % more updates than the best single model where this one saves 3 %
// (docs/decisions/0003).
#include "private.h"

static const FlModel candidate[FL_CHOOSER_MODELS] = {FL_MODEL_LINEAR, FL_MODEL_CIRCULAR,
                                                     FL_MODEL_QUADRATIC};

#define FIRST_PICK 1            // circular: what most vehicles do, and linear when they do not turn
#define LOOKAHEAD_S 0.5         // a change counts if it leads off by the threshold within this time
#define STEADY 0.3              // relative change of acceleration between two frames
#define FADING 0.98             // per trial
#define LEANING 5.0             // trials in a context that weigh as much as the average over all
#define MARGIN 1.03             // a newcomer's lead over the current pick
#define FIRST_WORTH 0.7         // trials that count for the first pick before any was made
#define EAGER_UNTIL 20.0        // trials: up to these they start between updates, too,
#define EAGER 2                 // if fewer than so many run
#define TRIAL_AT_MOST FL_SEC(1) // an update is rarely older

static int32_t context_of(const FlChooser *chooser, double distance, const FlState *real)
{
    double speed = fl_vec3_length(real->velocity);
    double size = fl_vec3_length(real->acceleration);
    double along = speed > 0.0 ? fl_vec3_dot(real->acceleration, real->velocity) / speed : size;
    double reach = 0.5 * LOOKAHEAD_S * LOOKAHEAD_S;
    bool accelerating = fabs(along) * reach > distance;
    bool turning = fabs(real->turn_rate) * speed * reach > distance;
    bool steady =
        fl_vec3_distance(real->acceleration, chooser->acceleration_before) < STEADY * size;
    return (accelerating ? 1 : 0) + (turning ? 2 : 0) + (steady ? 4 : 0);
}

static void trial_start(FlChooser *chooser, int32_t context, const FlState *real)
{
    for (int32_t i = 0; i < FL_CHOOSER_TRIALS; i++) {
        if (!chooser->trial[i].running) {
            FlChooserTrial fresh = {.running = true, .context = context, .state = *real};
            chooser->trial[i] = fresh;
            return;
        }
    }
}

// Carries one trial on to `real`; true when every model has failed or the time is up.
static bool trial_advance(FlChooserTrial *trial, const FlTriggerDef *trigger, const FlState *real)
{
    FlTime limit = fl_time_min(trigger->silence_ns, TRIAL_AT_MOST);
    FlTime age = fl_span(real->time, trial->state.time);
    bool over = true;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        if (trial->failed[m]) {
            continue;
        }
        trial->held_ns[m] = fl_time_min(age, limit);
        FlMotion motion = fl_motion_make(candidate[m], &trial->state);
        FlVec3 predicted = fl_motion_position(&motion, real->time);
        trial->failed[m] =
            age >= limit || fl_vec3_distance(predicted, real->position) > trigger->distance;
        over = over && trial->failed[m];
    }
    return over;
}

static void book(FlChooser *chooser, const FlChooserTrial *trial)
{
    double *sum = chooser->held_sum[trial->context];
    double *weight = &chooser->weight[trial->context];
    *weight = *weight * FADING + 1.0;
    chooser->weight_all = chooser->weight_all * FADING + 1.0;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        double held = fl_span_seconds(trial->held_ns[m]);
        sum[m] = sum[m] * FADING + held;
        chooser->held_sum_all[m] = chooser->held_sum_all[m] * FADING + held;
    }
}

void fl__chooser_observe(FlChooser *chooser, const FlTriggerDef *trigger, const FlState *real)
{
    chooser->acceleration_before = chooser->acceleration;
    chooser->acceleration = real->acceleration;
    int32_t running = 0;
    for (int32_t i = 0; i < FL_CHOOSER_TRIALS; i++) {
        FlChooserTrial *trial = &chooser->trial[i];
        if (trial->running && trial_advance(trial, trigger, real)) {
            trial->running = false;
            book(chooser, trial);
        }
        running += trial->running ? 1 : 0;
    }
    if (running < EAGER && chooser->weight_all < EAGER_UNTIL) {
        trial_start(chooser, context_of(chooser, trigger->distance, real), real);
    }
}

static int32_t best_in(const FlChooser *chooser, int32_t context)
{
    if (!(chooser->weight_all > 0.0)) {
        return FIRST_PICK;
    }
    int32_t best = chooser->current;
    double best_held = -1.0;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        double usual = chooser->held_sum_all[m] / chooser->weight_all;
        double held = (chooser->held_sum[context][m] + LEANING * usual) /
                      (chooser->weight[context] + LEANING);
        held *= m == chooser->current ? MARGIN : 1.0;
        held *= m == FIRST_PICK ? 1.0 + FIRST_WORTH / chooser->weight_all : 1.0;
        if (held > best_held) {
            best_held = held;
            best = m;
        }
    }
    return best;
}

FlModel fl__chooser_pick(FlChooser *chooser, const FlTriggerDef *trigger, const FlState *real)
{
    int32_t context = context_of(chooser, trigger->distance, real);
    chooser->current = best_in(chooser, context);
    trial_start(chooser, context, real);
    return candidate[chooser->current];
}

void fl__chooser_cut(FlChooser *chooser)
{
    for (int32_t i = 0; i < FL_CHOOSER_TRIALS; i++) {
        chooser->trial[i].running = false;
    }
    chooser->acceleration = fl_vec3(0.0, 0.0, 0.0);
}
