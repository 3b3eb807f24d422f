// Which model to send: learnt online, per entity, by trying all of them in thought.
//
// Every now and then, when an update goes out, and at first in between, a *trial* starts: all
// models are set off from the same state and watched, frame by frame, until each has missed the
// truth by more than the distance threshold. What a model is *worth* is how long it held, where a
// moment counts less the further it was off in it: so models that all hold until silence ends them
// differ as well. That is booked under the *context* in which the trial began: is the speed
// changing, is the heading, and is the acceleration the same as a frame ago? Old evidence fades, so
// a player who changes style is followed.
//
// All models are tried on the same motion, so what one was worth more than another has a spread of
// its own, and a lead must stand out from it: arcs give way to a model that was better all in all,
// and that one, in a context, to one that was better there. A clear difference is taken up after
// two or three trials, and one of luck is not. A trial that still runs counts as far as it got,
// once it tells models apart.
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
#define SURE 1.5                // how far a lead stands out over all trials: in its own spreads,
#define SURE_HERE 0.85          // and within a context
#define MARGIN 0.03             // of what the usual model is worth: it does not flap for less
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
    FlTime age = fl_time_min(fl_span(real->time, trial->state.time), limit);
    double passed = fl_span_seconds(age - trial->age_ns);
    trial->age_ns = age;
    bool over = true;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        if (trial->failed[m]) {
            continue;
        }
        FlMotion motion = fl_motion_make(candidate[m], &trial->state);
        FlVec3 predicted = fl_motion_position(&motion, real->time);
        double miss = fl_vec3_distance(predicted, real->position);
        trial->worth_s[m] +=
            miss < trigger->distance ? passed * (1.0 - miss / trigger->distance) : 0.0;
        trial->failed[m] = age >= limit || miss > trigger->distance;
        over = over && trial->failed[m];
    }
    return over;
}

static void add(FlChooserSums *sums, const FlChooserTrial *trial)
{
    const double *worth = trial->worth_s;
    sums->weight += 1.0;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        double lead = worth[m] - worth[(m + 1) % FL_CHOOSER_MODELS];
        sums->worth[m] += worth[m];
        sums->lead_squared[m] += lead * lead;
    }
}

static void fade(FlChooserSums *sums)
{
    sums->weight *= FADING;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        sums->worth[m] *= FADING;
        sums->lead_squared[m] *= FADING;
    }
}

static void book(FlChooser *chooser, const FlChooserTrial *trial)
{
    fade(&chooser->in[trial->context]);
    fade(&chooser->all);
    add(&chooser->in[trial->context], trial);
    add(&chooser->all, trial);
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
    if (running < EAGER && chooser->all.weight < EAGER_UNTIL) {
        trial_start(chooser, context_of(chooser, trigger->distance, real), real);
    }
}

// What is known, with the trials that run and already tell models apart.
static void known(const FlChooser *chooser, int32_t context, FlChooserSums *in, FlChooserSums *all)
{
    *in = chooser->in[context];
    *all = chooser->all;
    for (int32_t i = 0; i < FL_CHOOSER_TRIALS; i++) {
        const FlChooserTrial *trial = &chooser->trial[i];
        if (trial->running && (trial->failed[0] || trial->failed[1] || trial->failed[2])) {
            add(all, trial);
            if (trial->context == context) {
                add(in, trial);
            }
        }
    }
}

// The sum of squares of what the two were apart.
static double squared_between(const FlChooserSums *sums, int32_t a, int32_t b)
{
    return sums->lead_squared[(a + 1) % FL_CHOOSER_MODELS == b ? a : b];
}

// The best over all situations, if that is sure.
static int32_t usual_pick(const FlChooserSums *all)
{
    int32_t usual = FIRST_PICK;
    double most = 0.0;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        double lead = all->worth[m] - all->worth[FIRST_PICK];
        if (m != FIRST_PICK && lead > most &&
            lead > SURE * sqrt(squared_between(all, m, FIRST_PICK))) {
            most = lead;
            usual = m;
        }
    }
    return usual;
}

// The best in one context, if that is sure.
static int32_t best_in(const FlChooser *chooser, int32_t context)
{
    FlChooserSums in, all;
    known(chooser, context, &in, &all);
    int32_t usual = usual_pick(&all);
    if (!(in.weight > 0.0)) {
        return usual;
    }
    double margin = MARGIN * all.worth[usual] / all.weight;
    int32_t best = usual;
    double most = 0.0;
    for (int32_t m = 0; m < FL_CHOOSER_MODELS; m++) {
        double lead = (in.worth[m] - in.worth[usual] +
                       LEANING * (all.worth[m] - all.worth[usual]) / all.weight) /
                      (in.weight + LEANING);
        double spread = sqrt(squared_between(&all, m, usual) / all.weight / in.weight);
        double ahead = lead - SURE_HERE * spread + (m == chooser->current ? margin : -margin);
        if (m != usual && ahead > most) {
            most = ahead;
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
