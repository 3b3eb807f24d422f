// Points of the sweeps compared, and put into words.
#include "lab/claims/claims_racing.h"

#include <math.h>
#include <string.h>

const char *const race_claim_schemes[CLAIM_SCHEMES] = {
    "nc",
    "causality",
    "dr",
    "dr+causality",
    "adaptive",
    "dr+causality@0.05",
    "reckoned/higher_order/at_once",
    "reckoned/first_order/steps",
};

double race_rate(const RaceFigures *f)
{
    return f->inconsistency;
}

double race_difference(const RaceFigures *f)
{
    return f->difference;
}

double race_lag(const RaceFigures *f)
{
    return f->own_lag_ms;
}

Estimate race_contrast(const RaceMeasured *m, RaceFigureFn fn, int32_t cell_a, int32_t a,
                       double factor, int32_t cell_b, int32_t b)
{
    double values[CLAIM_PAIRS];
    for (int32_t r = 0; r < m->races; r++) {
        values[r] = fn(&m->figures[(cell_a * m->races + r) * CLAIM_SCHEMES + a]);
        if (b >= 0) {
            values[r] -= factor * fn(&m->figures[(cell_b * m->races + r) * CLAIM_SCHEMES + b]);
        }
    }
    return estimate_mean(values, m->races);
}

Estimate race_figure(const RaceMeasured *m, RaceFigureFn fn, int32_t cell, int32_t scheme)
{
    return race_contrast(m, fn, cell, scheme, 0.0, -1, -1);
}

int32_t race_delay_cell(const RaceMeasured *m, double mean_ms, double sd_ms)
{
    int32_t cell = race_cell_find(m->cells, m->cell_count, "delay", mean_ms, sd_ms, 0.0);
    FL_ASSERT(cell >= 0);
    return cell;
}

int32_t race_loss_cell(const RaceMeasured *m, double loss)
{
    int32_t cell = race_cell_find(m->cells, m->cell_count, "loss", 75.0, 10.0, loss);
    FL_ASSERT(cell >= 0);
    return cell;
}

bool race_of_sweep(const RaceMeasured *m, int32_t cell, const char *sweep)
{
    return strcmp(m->cells[cell].sweep, sweep) == 0;
}

bool race_ratio(const RaceMeasured *m, int32_t cell_a, int32_t a, int32_t cell_b, int32_t b,
                Estimate *ratio)
{
    double above[CLAIM_PAIRS];
    double below[CLAIM_PAIRS];
    bool all = true;
    for (int32_t r = 0; r < m->races; r++) {
        above[r] = race_rate(&m->figures[(cell_a * m->races + r) * CLAIM_SCHEMES + a]);
        below[r] = race_rate(&m->figures[(cell_b * m->races + r) * CLAIM_SCHEMES + b]);
        all &= below[r] > 0.0;
    }
    *ratio = all ? estimate_ratio(above, below, m->races) : (Estimate){0, (double)NAN, 0.0};
    return all;
}

Verdict race_judge_times(const RaceMeasured *m, int32_t cell_a, int32_t a, int32_t cell_b,
                         int32_t b, double low, double high)
{
    Estimate ratio;
    bool all = race_ratio(m, cell_a, a, cell_b, b, &ratio);
    Verdict verdict = VERDICT_HOLDS;
    if (low > 0.0) {
        Estimate more = race_contrast(m, race_rate, cell_a, a, low, cell_b, b);
        verdict = all ? judge_above(ratio, low) : judge_above(more, 0.0);
    }
    if (isfinite(high)) {
        Estimate less = race_contrast(m, race_rate, cell_a, a, high, cell_b, b);
        verdict = verdict_worse(verdict, all ? judge_below(ratio, high) : judge_below(less, 0.0));
    }
    return verdict;
}

void race_say_times(Text *words, const RaceMeasured *m, int32_t cell_a, int32_t cell_b,
                    int32_t scheme)
{
    Estimate ratio;
    text_add(words, "%s%s ", words->count > 0 ? ", " : "", race_claim_schemes[scheme]);
    if (race_ratio(m, cell_a, scheme, cell_b, scheme, &ratio)) {
        text_add(words, "%.3g ± %.2g times", ratio.mean, ratio.ci95);
    } else {
        text_add(words, "%.3g times, of the means",
                 race_figure(m, race_rate, cell_a, scheme).mean /
                     race_figure(m, race_rate, cell_b, scheme).mean);
    }
}

// ---------------------------------------------------------------- words

void race_judge_point(RaceJudgement *j, Verdict verdict, const RaceMeasured *m, int32_t cell,
                      const char *what)
{
    const RaceWay *way = &m->cells[cell].first;
    j->verdict = verdict_worse(j->verdict, verdict);
    if (verdict != VERDICT_HOLDS && j->but.count < 160) {
        text_add(&j->but, "%s%s at %g±%g", j->but.count > 0 ? ", " : "", what, way->mean_ms,
                 way->sd_ms);
        if (race_of_sweep(m, cell, "loss")) {
            text_add(&j->but, ", %g %% lost", 100.0 * way->loss);
        }
    }
}

void race_conclude(RaceJudgement *j, Finding *finding, const Text *words)
{
    bool odd = j->but.count > 0;
    finding_add(finding, j->verdict, "%.300s%s%.200s", text_of(words), odd ? "; but " : "",
                text_of(&j->but));
    text_free(&j->but);
}

void race_say_range(Text *words, const RaceMeasured *m, const char *sweep, int32_t scheme)
{
    double low = (double)INFINITY;
    double high = 0.0;
    for (int32_t c = 0; c < m->cell_count; c++) {
        if (race_of_sweep(m, c, sweep)) {
            double mean = race_figure(m, race_rate, c, scheme).mean;
            low = fmin(low, mean);
            high = fmax(high, mean);
        }
    }
    text_add(words, "%s%s %.3g to %.3g %%", words->count > 0 ? ", " : "",
             race_claim_schemes[scheme], 100.0 * low, 100.0 * high);
}

void race_say_at(Text *words, const RaceMeasured *m, int32_t cell, int32_t scheme)
{
    Estimate e = race_figure(m, race_rate, cell, scheme);
    const RaceWay *way = &m->cells[cell].first;
    text_add(words, "%s%s at %g±%g: %.3g ± %.2g %%", words->count > 0 ? ", " : "",
             race_claim_schemes[scheme], way->mean_ms, way->sd_ms, 100.0 * e.mean, 100.0 * e.ci95);
}
