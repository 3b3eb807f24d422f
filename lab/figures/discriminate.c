// Three classifiers, each a score per sample; and the area under the curve of scores.
#include "lab/figures/discriminate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIGURES DISCRIMINATE_FIGURES
#define EPOCHS 40
#define STEP 0.02
#define SHRINKS 1e-4
#define ROUNDS 40
#define CUTS 15 // thresholds tried per figure, evenly from -1.75 to 1.75 deviations

enum { BEST, LOGISTIC, STUMPS, CLASSIFIERS };

typedef struct Scored {
    double score;
    bool label;
} Scored;

typedef struct Work {
    const DiscriminateSample *samples;
    int32_t count;
    bool *learns;         ///< Else it is asked about.
    double (*z)[FIGURES]; ///< Figures as deviations, by those that are learnt from.
    double *weight;
    double *score[CLASSIFIERS];
    Scored *sorted;
} Work;

// ---------------------------------------------------------------- the area under the curve

static int by_score(const void *a, const void *b)
{
    double x = ((const Scored *)a)->score;
    double y = ((const Scored *)b)->score;
    return (x > y) - (x < y);
}

// Of those that are learnt from, or of the others; equals count half.
static double area(const Work *w, const double *score, bool learns)
{
    int32_t n = 0;
    double ones = 0.0;
    for (int32_t i = 0; i < w->count; i++) {
        if (w->learns[i] == learns) {
            w->sorted[n++] = (Scored){score[i], w->samples[i].label};
            ones += w->samples[i].label ? 1.0 : 0.0;
        }
    }
    qsort(w->sorted, (size_t)n, sizeof *w->sorted, by_score);
    double sum = 0.0; // of the ranks of ones
    for (int32_t i = 0; i < n;) {
        int32_t end = i;
        double here = 0.0;
        while (end < n && !(w->sorted[end].score > w->sorted[i].score)) {
            here += w->sorted[end++].label ? 1.0 : 0.0;
        }
        sum += here * 0.5 * (i + 1 + end);
        i = end;
    }
    double others = n - ones;
    return ones > 0.0 && others > 0.0 ? (sum - 0.5 * ones * (ones + 1.0)) / (ones * others)
                                      : (double)NAN;
}

// ---------------------------------------------------------------- classifiers

static void standardise(Work *w)
{
    for (int32_t f = 0; f < FIGURES; f++) {
        double n = 0.0;
        double sum = 0.0;
        double squares = 0.0;
        for (int32_t i = 0; i < w->count; i++) {
            double x = w->learns[i] ? w->samples[i].figures[f] : 0.0;
            n += w->learns[i] ? 1.0 : 0.0;
            sum += x;
            squares += x * x;
        }
        double mean = sum / n;
        double deviation = sqrt(fmax(squares / n - mean * mean, 1e-18));
        for (int32_t i = 0; i < w->count; i++) {
            double z = (w->samples[i].figures[f] - mean) / deviation;
            w->z[i][f] = fmin(fmax(z, -4.0), 4.0);
        }
    }
}

static void learn_best(Work *w)
{
    double most = -1.0;
    int32_t best = 0;
    double *score = w->score[BEST];
    for (int32_t f = 0; f < FIGURES; f++) {
        for (int32_t i = 0; i < w->count; i++) {
            score[i] = w->z[i][f];
        }
        double off = fabs(area(w, score, true) - 0.5);
        best = off > most ? f : best;
        most = off > most ? off : most;
    }
    for (int32_t i = 0; i < w->count; i++) {
        score[i] = w->z[i][best];
    }
    double sign = area(w, score, true) < 0.5 ? -1.0 : 1.0;
    for (int32_t i = 0; i < w->count; i++) {
        score[i] *= sign;
    }
}

static void learn_logistic(Work *w)
{
    double weights[2 * FIGURES + 1] = {0};
    double *score = w->score[LOGISTIC];
    for (int32_t e = 0; e <= EPOCHS; e++) {
        double step = STEP / (1.0 + 0.1 * e);
        for (int32_t i = 0; i < w->count; i++) {
            const double *z = w->z[i];
            score[i] = weights[2 * FIGURES];
            for (int32_t f = 0; f < FIGURES; f++) {
                score[i] += weights[f] * z[f] + weights[FIGURES + f] * (z[f] * z[f] - 1.0);
            }
            if (!w->learns[i] || e == EPOCHS) {
                continue;
            }
            double push = step * ((w->samples[i].label ? 1.0 : 0.0) - 1.0 / (1.0 + exp(-score[i])));
            weights[2 * FIGURES] += push;
            for (int32_t f = 0; f < FIGURES; f++) {
                weights[f] += push * z[f] - SHRINKS * weights[f];
                weights[FIGURES + f] += push * (z[f] * z[f] - 1.0) - SHRINKS * weights[FIGURES + f];
            }
        }
    }
}

static double cut_at(int32_t cut)
{
    return 0.25 * cut - 1.75;
}

// The share of weight by which figure > cut says "one" and is wrong, for each cut.
static void stump_errors(const Work *w, int32_t figure, double errors[CUTS])
{
    memset(errors, 0, CUTS * sizeof errors[0]);
    for (int32_t i = 0; i < w->count; i++) {
        for (int32_t c = 0; w->learns[i] && c < CUTS; c++) {
            bool says = w->z[i][figure] > cut_at(c);
            errors[c] += says != w->samples[i].label ? w->weight[i] : 0.0;
        }
    }
}

static void learn_stump(Work *w)
{
    double best = 0.0;
    int32_t figure = 0;
    int32_t cut = 0;
    double error = 0.5;
    for (int32_t f = 0; f < FIGURES; f++) {
        double errors[CUTS];
        stump_errors(w, f, errors);
        for (int32_t c = 0; c < CUTS; c++) {
            if (fabs(errors[c] - 0.5) > best) {
                best = fabs(errors[c] - 0.5);
                figure = f;
                cut = c;
                error = errors[c];
            }
        }
    }
    error = fmin(fmax(error, 1e-6), 1.0 - 1e-6);
    double says = 0.5 * log((1.0 - error) / error);
    double sum = 0.0;
    for (int32_t i = 0; i < w->count; i++) {
        double vote = w->z[i][figure] > cut_at(cut) ? says : -says;
        w->score[STUMPS][i] += vote;
        w->weight[i] *= w->learns[i] ? exp(w->samples[i].label ? -vote : vote) : 0.0;
        sum += w->weight[i];
    }
    for (int32_t i = 0; i < w->count; i++) {
        w->weight[i] /= sum;
    }
}

static void learn_stumps(Work *w)
{
    double learnt = 0.0;
    for (int32_t i = 0; i < w->count; i++) {
        learnt += w->learns[i] ? 1.0 : 0.0;
    }
    for (int32_t i = 0; i < w->count; i++) {
        w->weight[i] = w->learns[i] ? 1.0 / learnt : 0.0;
        w->score[STUMPS][i] = 0.0;
    }
    for (int32_t r = 0; r < ROUNDS; r++) {
        learn_stump(w);
    }
}

// ---------------------------------------------------------------- both ways

static double worst(Work *w, int32_t parity)
{
    for (int32_t i = 0; i < w->count; i++) {
        w->learns[i] = w->samples[i].match % 2 == parity;
    }
    standardise(w);
    learn_best(w);
    learn_logistic(w);
    learn_stumps(w);
    double most = area(w, w->score[BEST], false);
    for (int32_t c = LOGISTIC; c < CLASSIFIERS; c++) {
        double one = area(w, w->score[c], false);
        most = one > most ? one : most;
    }
    return most;
}

static bool reserve(Work *w)
{
    size_t n = (size_t)w->count;
    w->learns = (bool *)calloc(n, sizeof *w->learns);
    w->z = (double(*)[FIGURES])calloc(n, sizeof *w->z);
    w->weight = (double *)calloc(n, sizeof *w->weight);
    w->sorted = (Scored *)calloc(n, sizeof *w->sorted);
    bool made = w->learns != NULL && w->z != NULL && w->weight != NULL && w->sorted != NULL;
    for (int32_t c = 0; c < CLASSIFIERS; c++) {
        w->score[c] = (double *)calloc(n, sizeof **w->score);
        made = made && w->score[c] != NULL;
    }
    return made;
}

static void release(Work *w)
{
    free(w->learns);
    free(w->z);
    free(w->weight);
    free(w->sorted);
    for (int32_t c = 0; c < CLASSIFIERS; c++) {
        free(w->score[c]);
    }
}

double discriminate(const DiscriminateSample *samples, int32_t count)
{
    Work work = {.samples = samples, .count = count};
    double result = (double)NAN;
    bool kinds[2][2] = {{false}};
    for (int32_t i = 0; i < count; i++) {
        kinds[samples[i].match % 2][samples[i].label ? 1 : 0] = true;
    }
    if (!(kinds[0][0] && kinds[0][1] && kinds[1][0] && kinds[1][1])) {
        return result;
    }
    if (reserve(&work)) {
        result = 0.5 * (worst(&work, 0) + worst(&work, 1));
    }
    release(&work);
    return result;
}
