// The picture of `tradeoff`: mean error to the right, its deviation upwards; low and left is good.
//
// Colours are Okabe and Ito's; shapes and dashes say the same again. It reads in light and dark.
#include <math.h>

#include "lab/experiments/tradeoff/tradeoff.h"

enum { WIDTH = 960, HEIGHT = 600, CURVES = 5 };

/// Budgets nearer than this to the one before are left out: their curves would cover each other.
#define ALIKE 0.25

/// Where the plot is, in pixels.
static const double plot_x = 76.0, plot_y = 84.0, plot_width = 640.0, plot_height = 450.0;

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}\n"
    ".title{font-size:20px;font-weight:600}.note{font-size:13px;fill:#59636e}\n"
    ".label{font-size:13px}.small{font-size:12px;fill:#59636e}\n"
    ".halo{paint-order:stroke;stroke:#f6f8fa;stroke-width:4;stroke-linejoin:round}\n"
    ".page{fill:#ffffff}.panel{fill:#f6f8fa;stroke:#d1d9e0}.grid{stroke:#d1d9e0}\n"
    ".paper{fill:#d55e00;stroke:#f6f8fa}.minor{fill:none;stroke:#d55e00;stroke-width:1.5}\n"
    ".bound{fill:none;stroke:#1f2328;stroke-width:1.5;stroke-dasharray:6 4}\n"
    ".curve{fill:none;stroke-width:2}.dot{stroke:#f6f8fa}\n"
    ".c0{stroke:#0072b2}.c1{stroke:#009e73;stroke-dasharray:9 3}\n"
    ".c2{stroke:#cc79a7;stroke-dasharray:3 3}.c3{stroke:#56b4e9;stroke-dasharray:9 3 2 3}\n"
    ".c4{stroke:#8c6d00;stroke-dasharray:1 4;stroke-linecap:round}\n"
    ".d0{fill:#0072b2}.d1{fill:#009e73}.d2{fill:#cc79a7}.d3{fill:#56b4e9}.d4{fill:#8c6d00}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note,.small{fill:#9198a1}\n"
    ".page{fill:#0d1117}.panel{fill:#161b22;stroke:#3d444d}.grid{stroke:#3d444d}\n"
    ".halo{stroke:#161b22}.paper{fill:#e69f00;stroke:#161b22}.minor{stroke:#e69f00}\n"
    ".bound{stroke:#e6edf3}.dot{stroke:#161b22}\n"
    ".c0{stroke:#56b4e9}.c3{stroke:#4f8fd6}.c4{stroke:#f0e442}\n"
    ".d0{fill:#56b4e9}.d3{fill:#4f8fd6}.d4{fill:#f0e442}}\n"
    "</style>\n";

/// What is shown of the two axes.
typedef struct Axes {
    double low_x, high_x, high_y;
    double step_x, step_y;
} Axes;

// ---------------------------------------------------------------- axes

/// 1, 2 or 5 times a power of ten, so that `span` has about six of it.
static double round_step(double span)
{
    double raw = span / 6.0;
    double power = pow(10.0, floor(log10(raw)));
    double share = raw / power;
    return power * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

static Axes axes_for(const TradeoffPicture *picture)
{
    double low = (double)INFINITY;
    double high = 0.0;
    double sd = 0.0;
    for (int32_t i = 0; i < picture->point_count; i++) {
        low = fmin(low, picture->points[i].at.mean);
        high = fmax(high, picture->points[i].at.mean);
        sd = fmax(sd, picture->points[i].at.sd);
    }
    double span = fmax(high - low, 1e-9 + 1e-3 * high);
    Axes axes = {.step_x = round_step(span), .step_y = round_step(fmax(sd, 1e-9))};
    axes.low_x = fmax(0.0, floor((low - 0.05 * span) / axes.step_x) * axes.step_x);
    axes.high_x = high + 0.12 * span; // labels stand to the right of points
    axes.high_y = 1.08 * fmax(sd, 1e-9);
    return axes;
}

static double x_of(const Axes *axes, double mean)
{
    return plot_x + plot_width * (mean - axes->low_x) / (axes->high_x - axes->low_x);
}

static double y_of(const Axes *axes, double sd)
{
    return plot_y + plot_height * (1.0 - sd / axes->high_y);
}

static void draw_axes(const Axes *axes, Text *svg)
{
    double bottom = plot_y + plot_height;
    text_add(svg, "<rect class=\"panel\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", plot_x,
             plot_y, plot_width, plot_height);
    for (int32_t i = 0; axes->low_x + i * axes->step_x <= axes->high_x; i++) {
        double mean = axes->low_x + i * axes->step_x;
        double x = x_of(axes, mean);
        text_add(
            svg,
            "<path class=\"grid\" d=\"M%.1f %gV%g\"/><text class=\"small\" x=\"%.1f\" y=\"%g\" "
            "text-anchor=\"middle\">%g</text>\n",
            x, plot_y, bottom, x, bottom + 18.0, mean);
    }
    for (int32_t i = 0; i * axes->step_y <= axes->high_y; i++) {
        double y = y_of(axes, i * axes->step_y);
        text_add(
            svg,
            "<path class=\"grid\" d=\"M%g %.1fH%g\"/><text class=\"small\" x=\"%g\" y=\"%.1f\" "
            "text-anchor=\"end\">%g</text>\n",
            plot_x, y, plot_x + plot_width, plot_x - 8.0, y + 4.0, i * axes->step_y);
    }
    text_add(svg,
             "<text class=\"label\" x=\"%g\" y=\"%g\" text-anchor=\"middle\">mean accumulated "
             "error of the receivers, units × s (less is more accurate)</text>\n",
             plot_x + plot_width / 2.0, bottom + 42.0);
    text_add(svg,
             "<text class=\"label\" transform=\"translate(22 %g) rotate(-90)\" "
             "text-anchor=\"middle\">its standard deviation, units × s (less is fairer)</text>\n",
             plot_y + plot_height / 2.0);
}

// ---------------------------------------------------------------- marks

/// Filled and labelled for main forms, hollow for the others.
static void draw_mark(double x, double y, FlSendPolicy policy, bool main, Text *svg)
{
    const char *class = main ? "paper" : "minor";
    double r = main ? 6.0 : 4.0;
    if (policy == FL_SEND_BASE) {
        text_add(svg, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>", class, x, y, r);
    } else if (policy == FL_SEND_SCHEDULE1 || policy == FL_SEND_SCHEDULE2) {
        text_add(svg, "<path class=\"%s\" d=\"M%.1f %.1fh%gv%gh%gz\"/>", class, x - r, y - r,
                 2.0 * r, 2.0 * r, -2.0 * r);
    } else if (policy == FL_SEND_PROBABILISTIC) {
        text_add(svg, "<path class=\"%s\" d=\"M%.1f %.1fl%g %gh%gz\"/>", class, x, y - r, r,
                 2.0 * r, -2.0 * r);
    } else {
        text_add(svg, "<path class=\"%s\" d=\"M%.1f %.1fl%g %gl%g %gl%g %gz\"/>", class, x,
                 y - r - 1.0, r, r + 1.0, -r, r + 1.0, -r, -r - 1.0);
    }
}

static void draw_papers(const TradeoffPicture *picture, const Axes *axes, Text *svg)
{
    for (int32_t i = 0; i < picture->point_count; i++) {
        const TradeoffPoint *p = &picture->points[i];
        if (p->policy == FL_SEND_EQUAL) {
            continue;
        }
        double x = x_of(axes, p->at.mean);
        double y = y_of(axes, p->at.sd);
        text_add(svg, "<g><title>%s</title>", p->name);
        draw_mark(x, y, p->policy, p->main, svg);
        if (p->main) {
            bool right = x > plot_x + 0.8 * plot_width; // where there is no room behind it
            text_add(svg, "<text class=\"label halo\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>",
                     right ? x - 10.0 : x + 10.0, y - 5.0, right ? " text-anchor=\"end\"" : "",
                     p->name);
        }
        text_add(svg, "</g>\n");
    }
}

/// One budget: the points that follow each other in the list.
static int32_t draw_curve(const TradeoffPicture *picture, const Axes *axes, int32_t first,
                          int32_t number, Text *svg)
{
    int32_t end = first;
    text_add(svg, "<path class=\"curve c%d\" d=\"", (int)number);
    for (; end < picture->point_count && picture->points[end].every == picture->points[first].every;
         end++) {
        const Spread *at = &picture->points[end].at;
        text_add(svg, "%c%.1f %.1f", end == first ? 'M' : 'L', x_of(axes, at->mean),
                 y_of(axes, at->sd));
    }
    text_add(svg, "\"/>\n");
    for (int32_t i = first; i < end; i++) {
        const TradeoffPoint *p = &picture->points[i];
        text_add(svg,
                 "<circle class=\"dot d%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s</title>"
                 "</circle>\n",
                 (int)number, x_of(axes, p->at.mean), y_of(axes, p->at.sd), p->name);
    }
    return end;
}

static void draw_bound(const TradeoffPicture *picture, const Axes *axes, Text *svg)
{
    text_add(svg, "<path class=\"bound\" d=\"");
    for (int32_t i = 0; i < picture->bound_count; i++) {
        text_add(svg, "%c%.1f %.1f", i == 0 ? 'M' : 'L', x_of(axes, picture->bound[i].mean),
                 y_of(axes, picture->bound[i].sd));
    }
    text_add(svg, "\"/>\n");
}

// ---------------------------------------------------------------- the legend

static const double legend_x = 736.0;

static double draw_legend_line(double y, const char *mark, const char *words, Text *svg)
{
    text_add(svg, "%s<text class=\"label\" x=\"%g\" y=\"%g\">%s</text>\n", mark, legend_x + 34.0,
             y + 4.0, words);
    return y + 22.0;
}

static void draw_legend(const TradeoffPicture *picture, const int32_t *curves, int32_t curve_count,
                        Text *svg)
{
    static const struct {
        FlSendPolicy policy;
        const char *words;
    } kinds[] = {{FL_SEND_BASE, "base, base/k"},
                 {FL_SEND_SCHEDULE1, "schedules"},
                 {FL_SEND_PROBABILISTIC, "probabilistic"},
                 {FL_SEND_DETERMINISTIC, "deterministic"}};
    double y = plot_y + 10.0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        draw_mark(legend_x + 14.0, y, kinds[i].policy, true, svg);
        y = draw_legend_line(y, "", kinds[i].words, svg);
    }
    draw_mark(legend_x + 14.0, y, FL_SEND_DETERMINISTIC, false, svg);
    y = draw_legend_line(y, "", "hollow: other forms, weights", svg) + 12.0;
    for (int32_t c = 0; c < curve_count; c++) {
        const TradeoffPoint *p = &picture->points[curves[c]];
        Text words = {0};
        Text mark = {0};
        if (p->every > 1.0) {
            text_add(&words, "equal, 1/%g of base", p->every);
        } else {
            text_add(&words, "equal, as much as base");
        }
        text_add(&mark, "<path class=\"curve c%d\" d=\"M%g %gh28\"/>", (int)c, legend_x, y);
        y = draw_legend_line(y, text_of(&mark), text_of(&words), svg);
        text_free(&words);
        text_free(&mark);
    }
    text_add(svg, "<path class=\"bound\" d=\"M%g %gh28\"/>", legend_x, y);
    y = draw_legend_line(y, "", "bound", svg) + 12.0;
    static const char *const notes[] = {"A curve runs from knob 0 (upper",
                                        "left) to 100 (bottom), by tens.",
                                        "Nothing can lie left of the bound,", "whatever it sends."};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        text_add(svg, "<text class=\"small\" x=\"%g\" y=\"%g\">%s</text>\n", legend_x, y, notes[i]);
        y += 17.0;
    }
}

void tradeoff_draw(const TradeoffPicture *picture, Text *svg)
{
    Axes axes = axes_for(picture);
    int32_t curves[CURVES];
    int32_t curve_count = 0;
    text_add(svg,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
             "height=\"%d\" role=\"img\" aria-label=\"Mean error against its deviation, by "
             "policy\">\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
             WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
    text_add(svg,
             "<text class=\"title\" x=\"24\" y=\"38\">Fair or accurate: what each policy makes of "
             "its updates</text>\n<text class=\"note\" x=\"24\" y=\"62\">%s</text>\n",
             picture->what);
    draw_axes(&axes, svg);
    draw_bound(picture, &axes, svg);
    for (int32_t i = 0; i < picture->point_count && curve_count < CURVES;) {
        if (picture->points[i].policy != FL_SEND_EQUAL) {
            i++;
            continue;
        }
        bool like_before =
            curve_count > 0 &&
            fabs(picture->points[i].every - picture->points[curves[curve_count - 1]].every) < ALIKE;
        if (like_before) {
            i++;
            continue;
        }
        curves[curve_count] = i;
        i = draw_curve(picture, &axes, i, curve_count++, svg);
    }
    draw_papers(picture, &axes, svg);
    draw_legend(picture, curves, curve_count, svg);
    text_add(svg, "</svg>\n");
}
