// Charts: rows to points, points to SVG.
//
// Layout, in pixels: the plot stands between the left and bottom axes, the legend to its right.
// Values keep an eighth of the plot free at the top, and the vertical axis begins at nothing unless
// it has to show less.
#include "lab/figures/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead/base.h"

enum { NAME_BYTES = 64, CATEGORIES = 64 };

const char chart_style[] =
    "<style>\n"
    ".chart text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "fill:#1f2328;font-size:13px}\n"
    ".chart .title{font-size:16px;font-weight:600}.chart .small{font-size:12px;fill:#59636e}\n"
    ".chart .page{fill:#fff}.chart .panel{fill:#f6f8fa;stroke:#d1d9e0}"
    ".chart .grid{stroke:#d1d9e0}.chart .zero{stroke:#59636e}\n"
    ".chart .line{fill:none;stroke-width:2}.chart .bar{fill:none;stroke-width:1.5}\n"
    ".chart .mark{stroke:#f6f8fa;stroke-width:1}\n"
    ".chart .s0{stroke:#0072b2}.chart .s1{stroke:#d55e00;stroke-dasharray:8 3}\n"
    ".chart .s2{stroke:#009e73;stroke-dasharray:3 3}"
    ".chart .s3{stroke:#cc79a7;stroke-dasharray:8 3 2 3}\n"
    ".chart .s4{stroke:#8c6d00}.chart .s5{stroke:#56b4e9;stroke-dasharray:5 5}\n"
    ".chart .s6{stroke:#555;stroke-dasharray:2 4}"
    ".chart .s7{stroke:#a5441a;stroke-dasharray:10 3 2 3 2 3}\n"
    ".chart .m0{fill:#0072b2}.chart .m1{fill:#d55e00}.chart .m2{fill:#009e73}"
    ".chart .m3{fill:#cc79a7}\n"
    ".chart .m4{fill:#8c6d00}.chart .m5{fill:#56b4e9}.chart .m6{fill:#555}.chart "
    ".m7{fill:#a5441a}\n"
    ".chart .bar{stroke-dasharray:none}\n"
    "@media (prefers-color-scheme:dark){.chart text{fill:#e6edf3}.chart .small{fill:#9198a1}\n"
    ".chart .page{fill:#0d1117}.chart .panel{fill:#161b22;stroke:#3d444d}"
    ".chart .grid{stroke:#3d444d}\n"
    ".chart .zero{stroke:#9198a1}.chart .mark{stroke:#161b22}\n"
    ".chart .s0{stroke:#56b4e9}.chart .s1{stroke:#e69f00}.chart .s4{stroke:#f0e442}"
    ".chart .s5{stroke:#4f8fd6}\n"
    ".chart .s6{stroke:#b8c0c8}.chart .s7{stroke:#e8815a}\n"
    ".chart .m0{fill:#56b4e9}.chart .m1{fill:#e69f00}.chart .m4{fill:#f0e442}"
    ".chart .m5{fill:#4f8fd6}\n"
    ".chart .m6{fill:#b8c0c8}.chart .m7{fill:#e8815a}}\n"
    "</style>\n";

enum { STYLES = 8, MARKS = 5 };

typedef struct Point {
    int32_t series;
    int32_t category; ///< Of dots.
    double x, y;
    double half; ///< Of the interval; 0: none.
} Point;

/// What is drawn.
typedef struct Chart {
    const ChartSpec *spec;
    Point *points;
    int32_t point_count;
    char series[CHART_SERIES_CAPACITY][NAME_BYTES];
    int32_t series_count;
    char categories[CATEGORIES][NAME_BYTES];
    int32_t category_count;
    double left, top, width, height; ///< The plot.
    double low_x, high_x, low_y, high_y;
} Chart;

// ---------------------------------------------------------------- rows to points

static bool field_text(const json_t *row, const char *field, char text[NAME_BYTES])
{
    const json_t *value = json_object_get(row, field);
    if (json_is_string(value)) {
        snprintf(text, NAME_BYTES, "%s", json_string_value(value));
    } else if (json_is_number(value)) {
        snprintf(text, NAME_BYTES, "%g", json_number_value(value));
    } else {
        text[0] = '\0';
        return false;
    }
    return true;
}

/// Has the row what `where` asks for?
static bool row_is_meant(const json_t *row, const char *where)
{
    while (where != NULL && *where != '\0') {
        const char *equals = strchr(where, '=');
        FL_ASSERT(equals != NULL);
        size_t length = strcspn(equals + 1, ",");
        char field[NAME_BYTES];
        char found[NAME_BYTES];
        snprintf(field, sizeof field, "%.*s", (int)(equals - where), where);
        if (!field_text(row, field, found) || strlen(found) != length ||
            strncmp(found, equals + 1, length) != 0) {
            return false;
        }
        where = equals + 1 + length;
        where += *where == ',' ? 1 : 0;
    }
    return true;
}

/// The place of a name in a list, to which it is added if there is room; else -1.
static int32_t place_of(char (*names)[NAME_BYTES], int32_t *count, int32_t capacity,
                        const char *name)
{
    for (int32_t i = 0; i < *count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    if (*count == capacity) {
        return -1;
    }
    snprintf(names[*count], NAME_BYTES, "%s", name);
    return (*count)++;
}

static double scaled(double value, bool log)
{
    return log ? log10(value) : value;
}

/// False: the row is not for this chart.
static bool point_of(Chart *chart, const json_t *row, Point *point)
{
    const ChartSpec *spec = chart->spec;
    const json_t *y = json_object_get(row, spec->y);
    char name[NAME_BYTES] = "";
    if (!json_is_number(y) || !row_is_meant(row, spec->where) ||
        (spec->series != NULL && !field_text(row, spec->series, name))) {
        return false;
    }
    *point = (Point){.y = json_number_value(y)};
    if (spec->interval != NULL) {
        point->half = json_number_value(json_object_get(row, spec->interval));
    }
    char x[NAME_BYTES];
    if (!field_text(row, spec->x, x) || (spec->log_y && point->y <= 0.0)) {
        return false;
    }
    if (spec->kind == CHART_DOTS) {
        point->category = place_of(chart->categories, &chart->category_count, CATEGORIES, x);
    } else {
        point->x = json_number_value(json_object_get(row, spec->x));
        if (spec->log_x && point->x <= 0.0) {
            return false;
        }
    }
    point->series = place_of(chart->series, &chart->series_count, CHART_SERIES_CAPACITY, name);
    return point->series >= 0 && point->category >= 0;
}

static bool collect(Chart *chart, const json_t *rows)
{
    size_t count = json_array_size(rows);
    chart->points = (Point *)calloc(count + 1, sizeof *chart->points);
    for (size_t i = 0; i < count && chart->points != NULL; i++) {
        Point *next = &chart->points[chart->point_count];
        chart->point_count += point_of(chart, json_array_get(rows, i), next) ? 1 : 0;
    }
    return chart->point_count > 0;
}

// ---------------------------------------------------------------- axes

double chart_round_step(double span)
{
    if (!(span > 1e-300 && span < 1e300)) {
        return 1.0;
    }
    double raw = span / 6.0;
    double power = pow(10.0, floor(log10(raw)));
    double share = raw / power;
    return power * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

/// Is it a word of the field's name, between underscores?
static bool has_word(const char *field, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = field; at != NULL; at = strchr(at, '_')) {
        at += *at == '_' ? 1 : 0;
        if (strncmp(at, word, length) == 0 && (at[length] == '_' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

double chart_interval_low(const char *field, double value, double half)
{
    static const char *const distances[] = {"sd", "aee", "error", "rate"};
    bool distance = false;
    for (size_t i = 0; i < sizeof distances / sizeof *distances && !distance; i++) {
        distance = has_word(field, distances[i]);
    }
    return distance && value >= 0.0 ? fmax(value - half, 0.0) : value - half;
}

/// Where a point's interval begins on the chart.
static double point_low(const ChartSpec *spec, const Point *p)
{
    double low = chart_interval_low(spec->y, p->y, p->half);
    return spec->log_y ? fmax(low, p->y / 10.0) : low;
}

/// Room around the values. Logarithms keep to whole powers of ten; other axes begin at 0.
static void widen(double *low, double *high, bool log)
{
    if (log) {
        *low = floor(*low);
        *high = fmax(ceil(*high), *low + 1.0);
        return;
    }
    *low = fmin(*low, 0.0);
    *high = fmax(*high, *low + 1e-9);
    *low -= *low < 0.0 ? 0.06 * (*high - *low) : 0.0;
    *high += 0.06 * (*high - *low);
}

static void find_ranges(Chart *chart)
{
    const ChartSpec *spec = chart->spec;
    chart->low_x = chart->low_y = (double)INFINITY;
    chart->high_x = chart->high_y = (double)-INFINITY;
    for (int32_t i = 0; i < chart->point_count; i++) {
        const Point *p = &chart->points[i];
        double x = scaled(p->x, spec->log_x);
        double below = scaled(point_low(spec, p), spec->log_y);
        chart->low_x = fmin(chart->low_x, x);
        chart->high_x = fmax(chart->high_x, x);
        chart->low_y = fmin(chart->low_y, below);
        chart->high_y = fmax(chart->high_y, scaled(p->y + p->half, spec->log_y));
    }
    widen(&chart->low_x, &chart->high_x, spec->log_x);
    widen(&chart->low_y, &chart->high_y, spec->log_y);
}

static double across(const Chart *chart, double value)
{
    double at = scaled(value, chart->spec->log_x) - chart->low_x;
    return chart->left + chart->width * at / (chart->high_x - chart->low_x);
}

static double upwards(const Chart *chart, double value)
{
    double at = scaled(value, chart->spec->log_y) - chart->low_y;
    return chart->top + chart->height * (1.0 - at / (chart->high_y - chart->low_y));
}

/// Dots have their values to the right.
static double along(const Chart *chart, double value)
{
    double at = scaled(value, chart->spec->log_y) - chart->low_y;
    return chart->left + chart->width * at / (chart->high_y - chart->low_y);
}

typedef double (*PlaceFn)(const Chart *chart, double value);

static void draw_tick(const Chart *chart, double value, double at, bool vertical, Text *svg)
{
    bool zero = value == 0.0;
    if (vertical) { // a line across the plot, its number to the left
        text_add(svg,
                 "<path class=\"%s\" d=\"M%.1f %.1fh%.1f\"/><text class=\"small\" x=\"%.1f\" "
                 "y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                 zero ? "zero" : "grid", chart->left, at, chart->width, chart->left - 8.0, at + 4.0,
                 value);
    } else {
        text_add(svg,
                 "<path class=\"%s\" d=\"M%.1f %.1fv%.1f\"/><text class=\"small\" x=\"%.1f\" "
                 "y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
                 zero ? "zero" : "grid", at, chart->top, chart->height, at,
                 chart->top + chart->height + 18.0, value);
    }
}

static void draw_ticks(const Chart *chart, double low, double high, bool log, PlaceFn place_fn,
                       bool vertical, Text *svg)
{
    if (log) {
        int32_t last = (int32_t)floor(high + 1e-9);
        for (int32_t power = (int32_t)ceil(low - 1e-9); power <= last; power++) {
            double value = pow(10.0, power);
            draw_tick(chart, value, place_fn(chart, value), vertical, svg);
        }
        return;
    }
    double step = chart_round_step(high - low);
    int64_t last = (int64_t)floor(high / step);
    for (int64_t n = (int64_t)ceil(low / step); n <= last; n++) {
        double value = (double)n * step;
        draw_tick(chart, value, place_fn(chart, value), vertical, svg);
    }
}

static void draw_axis_titles(const Chart *chart, Text *svg)
{
    const ChartSpec *spec = chart->spec;
    bool dots = spec->kind == CHART_DOTS;
    text_add(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
             chart->left + chart->width / 2.0, chart->top + chart->height + 42.0);
    text_add_escaped(svg, dots ? spec->y_title : spec->x_title);
    text_add(svg, "</text>\n");
    if (!dots) {
        text_add(svg, "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">",
                 chart->top + chart->height / 2.0);
        text_add_escaped(svg, spec->y_title);
        text_add(svg, "</text>\n");
    }
}

static double row_of(const Chart *chart, int32_t category)
{
    return chart->top + chart->height * (category + 0.5) / chart->category_count;
}

static void draw_axes(const Chart *chart, Text *svg)
{
    const ChartSpec *spec = chart->spec;
    text_add(svg, "<rect class=\"panel\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
             chart->left, chart->top, chart->width, chart->height);
    if (spec->kind == CHART_DOTS) {
        draw_ticks(chart, chart->low_y, chart->high_y, spec->log_y, along, false, svg);
        for (int32_t i = 0; i < chart->category_count; i++) {
            text_add(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", chart->left - 8.0,
                     row_of(chart, i) + 4.0);
            text_add_escaped(svg, chart->categories[i]);
            text_add(svg, "</text>\n");
        }
    } else {
        draw_ticks(chart, chart->low_x, chart->high_x, spec->log_x, across, false, svg);
        draw_ticks(chart, chart->low_y, chart->high_y, spec->log_y, upwards, true, svg);
    }
    draw_axis_titles(chart, svg);
}

// ---------------------------------------------------------------- marks and lines

static void draw_mark(int32_t series, double x, double y, Text *svg)
{
    int style = (int)(series % STYLES);
    switch (series % MARKS) {
    case 0:
        text_add(svg, "<circle class=\"mark m%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>", style, x,
                 y);
        break;
    case 1:
        text_add(svg, "<path class=\"mark m%d\" d=\"M%.1f %.1fh8v8h-8z\"/>", style, x - 4.0,
                 y - 4.0);
        break;
    case 2:
        text_add(svg, "<path class=\"mark m%d\" d=\"M%.1f %.1fl5 9h-10z\"/>", style, x, y - 5.5);
        break;
    case 3:
        text_add(svg, "<path class=\"mark m%d\" d=\"M%.1f %.1fl5 5.5l-5 5.5l-5 -5.5z\"/>", style, x,
                 y - 5.5);
        break;
    default:
        text_add(svg, "<path class=\"mark m%d\" d=\"M%.1f %.1fl5 -9h-10z\"/>", style, x, y + 5.5);
        break;
    }
}

static void draw_point(const Chart *chart, const Point *p, Text *svg)
{
    const ChartSpec *spec = chart->spec;
    bool dots = spec->kind == CHART_DOTS;
    PlaceFn place_fn = dots ? along : upwards;
    // Marks of several series share a line of the page: each a little lower than the last.
    double shift = dots ? (p->series - 0.5 * (chart->series_count - 1)) * 8.0 : 0.0;
    double x = dots ? along(chart, p->y) : across(chart, p->x);
    double y = dots ? row_of(chart, p->category) + shift : upwards(chart, p->y);
    double from = place_fn(chart, point_low(spec, p));
    double to = place_fn(chart, p->y + p->half);
    text_add(svg, "<g><title>");
    text_add_escaped(svg, spec->series != NULL ? chart->series[p->series] : spec->y_title);
    text_add(svg, ": %g", p->y);
    if (p->half > 0.0) {
        double low = chart_interval_low(spec->y, p->y, p->half);
        if (low > p->y - p->half) {
            text_add(svg, " (%.3g to %.3g)</title>", low, p->y + p->half);
        } else {
            text_add(svg, " ± %.3g</title>", p->half);
        }
        if (dots) {
            text_add(svg, "<path class=\"bar s%d\" d=\"M%.1f %.1fH%.1f\"/>",
                     (int)(p->series % STYLES), from, y, to);
        } else {
            text_add(svg, "<path class=\"bar s%d\" d=\"M%.1f %.1fV%.1fm-3 0h6M%.1f %.1fh6\"/>",
                     (int)(p->series % STYLES), x, from, to, x - 3.0, from);
        }
    } else {
        text_add(svg, "</title>");
    }
    draw_mark(p->series, x, y, svg);
    text_add(svg, "</g>\n");
}

static void draw_series(const Chart *chart, int32_t series, Text *svg)
{
    if (chart->spec->kind == CHART_LINES) {
        bool begun = false;
        text_add(svg, "<path class=\"line s%d\" d=\"", (int)(series % STYLES));
        for (int32_t i = 0; i < chart->point_count; i++) {
            const Point *p = &chart->points[i];
            if (p->series == series) {
                text_add(svg, "%c%.1f %.1f", begun ? 'L' : 'M', across(chart, p->x),
                         upwards(chart, p->y));
                begun = true;
            }
        }
        text_add(svg, "\"/>\n");
    }
    for (int32_t i = 0; i < chart->point_count; i++) {
        if (chart->points[i].series == series) {
            draw_point(chart, &chart->points[i], svg);
        }
    }
}

static void draw_legend(const Chart *chart, Text *svg)
{
    double x = chart->left + chart->width + 18.0;
    if (chart->spec->series_title != NULL) {
        text_add(svg, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">", x, chart->top - 8.0);
        text_add_escaped(svg, chart->spec->series_title);
        text_add(svg, "</text>\n");
    }
    for (int32_t i = 0; i < chart->series_count && chart->spec->series != NULL; i++) {
        double y = chart->top + 12.0 + 22.0 * i;
        if (chart->spec->kind == CHART_LINES) {
            text_add(svg, "<path class=\"line s%d\" d=\"M%.1f %.1fh28\"/>", (int)(i % STYLES), x,
                     y);
        }
        draw_mark(i, x + 14.0, y, svg);
        text_add(svg, "<text x=\"%.1f\" y=\"%.1f\">", x + 36.0, y + 4.0);
        text_add_escaped(svg, chart->series[i]);
        text_add(svg, "</text>\n");
    }
}

// ---------------------------------------------------------------- the whole

static int by_series_then_x(const void *a, const void *b)
{
    const Point *p = (const Point *)a;
    const Point *q = (const Point *)b;
    if (p->series != q->series) {
        return p->series < q->series ? -1 : 1;
    }
    return p->x < q->x ? -1 : p->x > q->x ? 1 : 0;
}

static void lay_out(Chart *chart)
{
    bool dots = chart->spec->kind == CHART_DOTS;
    chart->left = dots ? 190.0 : 76.0;
    chart->top = 56.0;
    chart->width = dots ? 470.0 : 584.0;
    double least = 12.0 + 8.0 * chart->series_count;
    chart->height = dots ? fmax(120.0, fmax(24.0, least) * chart->category_count) : 320.0;
}

bool chart_draw(const ChartSpec *spec, const json_t *rows, Text *svg)
{
    Chart *chart = (Chart *)calloc(1, sizeof *chart);
    bool drawn = chart != NULL;
    if (drawn) {
        chart->spec = spec;
        drawn = collect(chart, rows);
    }
    if (drawn) {
        if (spec->kind == CHART_LINES) {
            qsort(chart->points, (size_t)chart->point_count, sizeof *chart->points,
                  by_series_then_x);
        }
        find_ranges(chart);
        lay_out(chart);
        double high = chart->top + chart->height + 60.0;
        text_add(svg,
                 "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 "
                 "%.0f\" role=\"img\" aria-label=\"",
                 high);
        text_add_escaped(svg, spec->title);
        text_add(svg, "\">\n%s<rect class=\"page\" width=\"880\" height=\"%.0f\"/>\n", chart_style,
                 high);
        text_add(svg, "<text class=\"title\" x=\"18\" y=\"32\">");
        text_add_escaped(svg, spec->title);
        text_add(svg, "</text>\n");
        draw_axes(chart, svg);
        for (int32_t i = 0; i < chart->series_count; i++) {
            draw_series(chart, i, svg);
        }
        draw_legend(chart, svg);
        text_add(svg, "</svg>\n");
    }
    if (chart != NULL) {
        free(chart->points);
    }
    free(chart);
    return drawn;
}
