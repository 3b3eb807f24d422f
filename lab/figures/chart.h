// Charts of an experiment's rows, as SVG that stands alone.
//
// An experiment says what belongs on which axis (ChartSpec); reports and figures draw from that and
// the rows alone. Every chart names its axes with units and shows 95 % intervals where rows have
// them. Series differ by colour (Okabe and Ito's), dash and mark, so that no two are told apart by
// colour only; pictures read in light and dark.
#ifndef LAB_CHART_H
#define LAB_CHART_H

#include <jansson.h>
#include <stdint.h>

#include "lab/figures/text.h"

typedef enum ChartKind {
    CHART_LINES, ///< Numbers on both axes, a line per series.
    CHART_DOTS,  ///< A line of the page per value of `x`, numbers to the right, a mark per series.
} ChartKind;

/// Which fields of the rows go where, in the order in which experiments write them.
typedef struct ChartSpec { // NOLINT(clang-analyzer-optin.performance.Padding)
    ChartKind kind;
    const char *title;
    const char *x; ///< Field; of dots: the one that names the lines of the page.
    const char *x_title;
    const char *y;
    const char *y_title;
    const char *interval;     ///< Field of half a 95 % interval of y; NULL: none.
    const char *series;       ///< Field that tells the series apart; NULL: one series.
    const char *series_title; ///< What that is, above the legend. NULL: speaks for itself.
    const char
        *where; ///< Only rows with these: "field=value", more of them after commas. NULL: all.
    bool log_x, log_y;
} ChartSpec;

#define CHART_SERIES_CAPACITY 12

/// Draws one. Rows without its fields are left out. False, and nothing is added, if none is left.
bool chart_draw(const ChartSpec *spec, const json_t *rows, Text *svg);

/// What charts look like: for the head of a page that has several, or inside each.
extern const char chart_style[];

/// Where a 95 % interval begins. Deviations, errors and rates, which fields name, are never below
/// 0.
double chart_interval_low(const char *field, double value, double half);

/// 1, 2 or 5 times a power of ten, so that `span` has about six of it.
double chart_round_step(double span);

#endif
