// How far a thing gets after it was last known of: learnt online, per kind, from the owner's truth.
//
// A *trial* remembers a state, and when it is as old as receivers' knowledge is, compares the truth
// with where each code would have had it: of the level velocity, of the vertical one, and of how
// long a curve goes on, for each model by itself (whatever circles need not slow down because
// straight lines mislead). Errors are added up under the *context* of the state: is it slow (for
// this thing), is it braking, is its acceleration the same as a frame ago? An update gets the codes
// with the least error in its context, where a context seen rarely leans on all of them. Old
// evidence fades.
//
// Whoever is sent updates by threshold knows a course, not the state a delay ago; so every other
// trial of such a stream starts from the course, and speaks for its model only.
//
// Sums of distances, not of squares: one respawn or rocket jump must not outvote a second of
// running. An error counts as a share of the mean that going straight on has at that age, times
// that mean's fourth root: so great ages count for more, as they do on the screen, and do not
// outvote the others.
#include "private.h"

#include <float.h>

#define FIRST_CODE 3
#define FADING 0.999f    // per comparison
#define LEANING 50.0f    // comparisons in a context that weigh as much as the average over all
#define LEVEL_GUESS 9    // 1.1 s, as cars and tanks have it; things on foot take less
#define VERTICAL_GUESS 7 // 560 ms
#define CURVE_GUESS 5    // 280 ms
#define WORTH_IT 0.97f   // an update that fades is about so much longer, with its share of headers
#define ARCS_STAY 0.97f  // of their error: for less they do not give way where updates are paced
#define SURE_ENOUGH 4.0f // comparisons: before these nothing fades,
#define SURE_BY_THRESHOLD 30.0f // or before these, where silence says that a course holds
#define MEAN_OVER 256.0f        // comparisons make the means by age
#define FAST_UNTIL 2000.0f      // comparisons: after these a quarter as many will do
#define EVERY_AT_LEAST FL_MS(50)
#define LEAST_MISS 0.001 // of the way: less is noise
#define SLOW 0.5         // of its top speed
#define BRAKING 0.2      // of its speed, per second
#define STEADY 0.3       // relative change of acceleration between two frames
#define FORGETTING 0.999 // of its top speed, per trial

static uint8_t code_at(int32_t i)
{
    return (uint8_t)(FIRST_CODE + i);
}

void fl__fader_ages(FlFader *fader, FlTime shortest, FlTime longest)
{
    double middle = sqrt((double)shortest * (double)longest);
    fader->age_ns[0] = shortest;
    fader->age_ns[1] = (FlTime)sqrt((double)shortest * middle);
    fader->age_ns[2] = (FlTime)sqrt(middle * (double)longest);
    fader->age_ns[3] = longest;
}

static int32_t context_of(const FlFader *fader, const FlState *real)
{
    double speed = fl_vec3_length(real->velocity);
    double size = fl_vec3_length(real->acceleration);
    double along = fl_vec3_dot(real->acceleration, real->velocity); // times the speed
    bool slow = speed < SLOW * fader->top_speed;
    bool braking = along < -BRAKING * speed * speed;
    bool steady = fl_vec3_distance(real->acceleration, fader->acceleration_before) < STEADY * size;
    return (slow ? 1 : 0) + (braking ? 2 : 0) + (steady ? 4 : 0);
}

// ---------------------------------------------------------------- picking

enum { STRAIGHT, PUSHED, TURNED };

static int32_t index_of(FlModel model)
{
    return model == FL_MODEL_QUADRATIC ? PUSHED : model == FL_MODEL_CIRCULAR ? TURNED : STRAIGHT;
}

// How one model fades in one context.
typedef struct Codes {
    int32_t level, vertical, curve;
    float error, unfaded;
} Codes;

static float error_at(const FlFaderErrors *in, const FlFaderErrors *all, float here, float anywhere)
{
    return (here + LEANING * anywhere / all->weight) / (in->weight + LEANING);
}

// The code with the least error; the first guess, unless another is better.
static int32_t best_of(const FlFaderErrors *in, const FlFaderErrors *all, const float *here,
                       const float *anywhere, int32_t guess, float *error)
{
    int32_t best = guess;
    *error = error_at(in, all, here[best], anywhere[best]);
    float least = *error;
    for (int32_t i = 0; i < FL_FADER_CODES; i++) {
        float now = error_at(in, all, here[i], anywhere[i]);
        if (now < least) {
            least = *error = now;
            best = i;
        }
    }
    return best;
}

static Codes codes_in(const FlExperience *x, int32_t context, int32_t model)
{
    const FlFaderErrors *in = &x->in[context][model];
    const FlFaderErrors *all = &x->all[model];
    Codes codes = {LEVEL_GUESS, VERTICAL_GUESS, CURVE_GUESS, 1.0f, 1.0f};
    if (all->weight > 0.0f) {
        float error;
        codes.vertical = best_of(in, all, in->vertical, all->vertical, VERTICAL_GUESS, &error);
        codes.curve = best_of(in, all, in->curve, all->curve, CURVE_GUESS, &error);
        codes.level = best_of(in, all, in->level, all->level, LEVEL_GUESS, &codes.error);
        codes.unfaded = error_at(in, all, in->unfaded, all->unfaded);
    }
    return codes;
}

// Whether receivers would show the same without it.
static bool is_idle(const FlFader *fader, const FlFade *fade, FlModel model)
{
    FlTime longest = fader->age_ns[FL_FADER_AGES - 1];
    return fl__fade_ns(fade->level) >= longest && fl__fade_ns(fade->vertical) >= longest &&
           (model == FL_MODEL_LINEAR || fl__fade_ns(fade->curve) >= longest);
}

FlModel fl__fader_model(const FlFader *fader, const FlState *real)
{
    static const FlModel models[] = {FL_MODEL_CIRCULAR, FL_MODEL_QUADRATIC, FL_MODEL_LINEAR};
    FL_ASSERT(fader->experience != NULL);
    int32_t context = context_of(fader, real);
    FlModel best = FL_MODEL_CIRCULAR;
    float least = FLT_MAX;
    for (int32_t i = 0; i < FL_FADER_MODELS; i++) {
        Codes codes = codes_in(fader->experience, context, index_of(models[i]));
        float error = codes.error * (i == 0 ? ARCS_STAY : 1.0f);
        if (error < least) {
            least = error;
            best = models[i];
        }
    }
    return best;
}

FlFade fl__fader_pick(FlFader *fader, const FlState *real, FlModel model, uint8_t trust)
{
    const FlExperience *x = fader->experience;
    if (x == NULL) {
        return (FlFade){0};
    }
    fader->context = context_of(fader, real);
    int32_t m = index_of(model);
    if (x->all[m].weight < (trust == 0 ? SURE_ENOUGH : SURE_BY_THRESHOLD)) {
        return (FlFade){0};
    }
    Codes codes = codes_in(x, fader->context, m);
    FlFade fade = {
        .trust = trust,
        .level = code_at(codes.level),
        .vertical = code_at(codes.vertical),
        .curve = codes.curve == 0 ? 0 : code_at(codes.curve),
    };
    if (codes.error >= WORTH_IT * codes.unfaded || is_idle(fader, &fade, model)) {
        return (FlFade){0};
    }
    return fade;
}

// ---------------------------------------------------------------- learning

static double reach_s(int32_t i, FlTime age)
{
    uint8_t code = code_at(i);
    return code == FL_FADE_NEVER ? fl_span_seconds(age)
                                 : fl__quarters_seconds(fl__fade_reach(fl__fade_ns(code), age));
}

// How long a curve lasts: not at all, or by its code, but no longer than the way.
static double curve_s(int32_t i, double way)
{
    uint8_t code = code_at(i);
    double s = i == 0 ? 0.0 : code == FL_FADE_NEVER ? way : fl_span_seconds(fl__fade_ns(code));
    return s < way ? s : way;
}

// How far a trial's thing gets by a model and its codes.
static FlVec3 way_of(const FlFaderTrial *t, FlTime age, int32_t model, int32_t level,
                     int32_t vertical, int32_t curve)
{
    double s = reach_s(level, age);
    double z = reach_s(vertical, age);
    FlVec3 way = fl_vec3(t->velocity.x * s, t->velocity.y * s, t->velocity.z * z);
    double bends = model == STRAIGHT ? 0.0 : curve_s(curve, s);
    if (model == PUSHED) {
        double rise = curve_s(curve, z);
        double gain = bends * (s - 0.5 * bends);
        way.x += gain * t->acceleration.x;
        way.y += gain * t->acceleration.y;
        way.z += rise * (z - 0.5 * rise) * t->acceleration.z;
    } else if (model == TURNED) {
        double phi = t->turn_rate * bends;
        FlVec3 arc = fl_vec3_scale(fl__arc_lead(fl__arc(phi), t->velocity), bends);
        FlVec3 turned = fl_vec3_add_scaled(arc, fl__turned(t->velocity, phi), s - bends);
        way.x = turned.x;
        way.y = turned.y;
    }
    return way;
}

// What a comparison is booked with.
typedef struct Verdict {
    const FlFaderTrial *trial;
    FlTime age;
    FlVec3 went;
    float least; ///< A miss below it is none.
    float share; ///< What one unit of distance counts.
    FlFaderErrors *in, *all;
} Verdict;

static void book(const Verdict *v, float *in, float *all, FlVec3 way)
{
    float error = v->share * fmaxf((float)fl_vec3_distance(way, v->went), v->least);
    *in = *in * FADING + error;
    *all = *all * FADING + error;
}

static void judge_model(const Verdict *v, int32_t model, const Codes *c)
{
    const FlFaderTrial *t = v->trial;
    enum { NEVER = FL_FADER_CODES - 1 };
    for (int32_t i = 0; i < FL_FADER_CODES; i++) {
        book(v, &v->in->level[i], &v->all->level[i],
             way_of(t, v->age, model, i, c->vertical, c->curve));
        book(v, &v->in->vertical[i], &v->all->vertical[i],
             way_of(t, v->age, model, c->level, i, c->curve));
        if (model != STRAIGHT) {
            book(v, &v->in->curve[i], &v->all->curve[i],
                 way_of(t, v->age, model, c->level, c->vertical, i));
        }
    }
    book(v, &v->in->unfaded, &v->all->unfaded, way_of(t, v->age, model, NEVER, NEVER, NEVER));
    v->in->weight = v->in->weight * FADING + 1.0f;
    v->all->weight = v->all->weight * FADING + 1.0f;
}

static void judge(FlFader *fader, const FlFaderTrial *trial, const FlState *real)
{
    FlExperience *x = fader->experience;
    FlTime age = fl_span(real->time, trial->time);
    FlVec3 went = fl_vec3_sub(real->position, trial->position);
    FlVec3 on = fl_vec3_scale(trial->velocity, fl_span_seconds(age));
    float *mean = &x->straight[trial->next];
    float missed = (float)fl_vec3_distance(on, went);
    x->compared = x->compared < FAST_UNTIL ? x->compared + 1.0f : FAST_UNTIL;
    float n = fminf(x->compared, MEAN_OVER) / FL_FADER_AGES;
    *mean += (missed - *mean) / (n > 1.0f ? n : 1.0f);
    float least = (float)(LEAST_MISS * fl_vec3_length(on));
    float scale = fmaxf(*mean, least);
    if (!(scale > 0.0f) || !isfinite(scale)) {
        *mean = 0.0f;
        return; // it stands still, and nothing is to be learnt
    }
    float share = sqrtf(sqrtf(scale)) / scale;
    for (int32_t m = 0; m < FL_FADER_MODELS; m++) {
        if ((trial->models & 1 << m) != 0) {
            Codes codes = codes_in(x, trial->context, m);
            Verdict verdict = {trial,     age, went, least, share, &x->in[trial->context][m],
                               &x->all[m]};
            judge_model(&verdict, m, &codes);
        }
    }
}

static bool is_due(const FlFader *fader, FlTime time)
{
    bool fast = fader->experience->compared < FAST_UNTIL;
    FlTime longest = fader->age_ns[FL_FADER_AGES - 1];
    FlTime every = longest / (fast ? FL_FADER_TRIALS : FL_FADER_TRIALS / 4);
    return fl_span(time, fader->started) >= (every > EVERY_AT_LEAST ? every : EVERY_AT_LEAST);
}

static void start(FlFader *fader, const FlFaderTrial *trial)
{
    for (int32_t i = 0; i < FL_FADER_TRIALS; i++) {
        if (!fader->trial[i].running) {
            fader->trial[i] = *trial;
            fader->started = trial->time;
            fader->course_next = !fader->course_next;
            fader->top_speed *= FORGETTING;
            return;
        }
    }
}

void fl__fader_try(FlFader *fader, const FlState *real)
{
    if (fader->experience != NULL && is_due(fader, real->time)) {
        FlFaderTrial trial = {
            .time = real->time,
            .position = real->position,
            .velocity = real->velocity,
            .acceleration = real->acceleration,
            .turn_rate = real->turn_rate,
            .context = context_of(fader, real),
            .running = true,
            .models = 1 << STRAIGHT | 1 << PUSHED | 1 << TURNED,
        };
        start(fader, &trial);
    }
}

void fl__fader_try_course(FlFader *fader, const FlMotion *course, FlTime time)
{
    if (fader->experience != NULL && course->model != FL_MODEL_STILL && is_due(fader, time)) {
        FlFaderTrial trial = {
            .time = time,
            .position = fl_motion_position(course, time),
            .velocity = fl__motion_velocity(course, time),
            .acceleration = course->acceleration,
            .turn_rate = course->turn_rate,
            .context = fader->context,
            .running = true,
            .models = (uint8_t)(1 << index_of(course->model)),
        };
        start(fader, &trial);
    }
}

void fl__fader_observe(FlFader *fader, const FlState *real)
{
    if (fader->experience == NULL) {
        return;
    }
    double speed = fl_vec3_length(real->velocity);
    fader->top_speed = speed > fader->top_speed ? speed : fader->top_speed;
    fader->acceleration_before = fader->acceleration;
    fader->acceleration = real->acceleration;
    for (int32_t i = 0; i < FL_FADER_TRIALS; i++) {
        FlFaderTrial *trial = &fader->trial[i];
        if (trial->running && fl_span(real->time, trial->time) >= fader->age_ns[trial->next]) {
            judge(fader, trial, real);
            trial->running = ++trial->next < FL_FADER_AGES;
        }
    }
}

void fl__fader_cut(FlFader *fader)
{
    for (int32_t i = 0; i < FL_FADER_TRIALS; i++) {
        fader->trial[i].running = false;
    }
    fader->acceleration = fl_vec3(0.0, 0.0, 0.0);
}
