// Shown against true paths, from above.
#include "lab/experiments/attention/attention_paths.h"

#include <math.h>

enum { ROWS = 2, PANEL = 224, GAP = 12, LEFT = 24, TOP = 76, HEAD = 48, MARGIN = 12, FOOT = 16 };

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}\n"
    ".title{font-size:20px;font-weight:600}.note{font-size:13px;fill:#59636e}\n"
    ".label{font-size:14px;font-weight:600}\n"
    ".page{fill:#ffffff}.panel{fill:#f6f8fa;stroke:#d1d9e0}\n"
    ".real{fill:none;stroke:#8c959f;stroke-width:5;stroke-linejoin:round;stroke-opacity:.6}\n"
    ".shown{fill:none;stroke:#0072b2;stroke-width:1.8;stroke-linejoin:round}\n"
    ".warp{stroke:#d55e00;stroke-width:1.4;stroke-dasharray:3 3}.dot{fill:#0072b2}\n"
    ".end{fill:#59636e}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}\n"
    ".page{fill:#0d1117}.panel{fill:#161b22;stroke:#3d444d}.real{stroke:#6e7681}\n"
    ".shown{stroke:#56b4e9}.dot{fill:#56b4e9}.warp{stroke:#e69f00}.end{fill:#9198a1}}\n"
    "</style>\n";

void paths_see(AttentionPaths *paths, ArenaMode mode, int32_t player, int32_t tick, FlVec3 shown,
               FlVec3 real, double attention)
{
    if (tick < 0 || tick >= PATHS_TICKS) {
        return;
    }
    PathsPoint point = {true, shown, real};
    paths->played[mode] = true;
    paths->attention[mode][player] += attention;
    paths->at[mode][player][tick] = point;
}

// ---------------------------------------------------------------- whom

static bool is_whole(const AttentionPaths *paths, int32_t player)
{
    bool whole = true;
    for (int32_t m = 0; m < PATHS_MODES; m++) {
        for (int32_t t = 0; t < PATHS_TICKS && paths->played[m]; t++) {
            whole = whole && paths->at[m][player][t].there;
        }
    }
    return whole;
}

// Who is looked at most, and least.
static bool choose(const AttentionPaths *paths, int32_t player[ROWS])
{
    int32_t first = 0;
    while (first < PATHS_MODES && !paths->played[first]) {
        first++;
    }
    player[0] = player[1] = -1;
    for (int32_t p = 0; p < ARENA_PLAYER_CAPACITY && first < PATHS_MODES; p++) {
        if (!is_whole(paths, p)) {
            continue;
        }
        const double *looks = paths->attention[first];
        player[0] = player[0] < 0 || looks[p] > looks[player[0]] ? p : player[0];
        player[1] = player[1] < 0 || looks[p] < looks[player[1]] ? p : player[1];
    }
    return player[0] >= 0 && player[0] != player[1];
}

// ---------------------------------------------------------------- drawing

/// Where a row's panels look, the same in all columns.
typedef struct Frame {
    double x, y, scale; ///< Middle in units; pixels a unit.
} Frame;

static Frame frame_of(const AttentionPaths *paths, int32_t player)
{
    double low_x = 1e12, low_y = 1e12, high_x = -1e12, high_y = -1e12;
    for (int32_t m = 0; m < PATHS_MODES; m++) {
        for (int32_t i = 0; i < 2 * PATHS_TICKS && paths->played[m]; i++) {
            const PathsPoint *at = &paths->at[m][player][i / 2];
            FlVec3 p = i % 2 == 0 ? at->shown : at->real;
            low_x = fmin(low_x, p.x);
            low_y = fmin(low_y, p.y);
            high_x = fmax(high_x, p.x);
            high_y = fmax(high_y, p.y);
        }
    }
    double span = fmax(fmax(high_x - low_x, high_y - low_y), 64.0);
    Frame frame = {0.5 * (low_x + high_x), 0.5 * (low_y + high_y), (PANEL - 2 * MARGIN) / span};
    return frame;
}

static double pixel_x(const Frame *f, double left, FlVec3 p)
{
    return left + 0.5 * PANEL + f->scale * (p.x - f->x);
}

static double pixel_y(const Frame *f, double top, FlVec3 p)
{
    return top + 0.5 * PANEL - f->scale * (p.y - f->y);
}

static void draw_panel(const PathsPoint at[PATHS_TICKS], const Frame *f, double left, double top,
                       double step, Text *svg)
{
    text_add(svg,
             "<rect class=\"panel\" x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n"
             "<path class=\"real\" d=\"",
             left, top, PANEL, PANEL);
    for (int32_t t = 0; t < PATHS_TICKS; t++) {
        text_add(svg, "%c%.1f %.1f", t == 0 ? 'M' : 'L', pixel_x(f, left, at[t].real),
                 pixel_y(f, top, at[t].real));
    }
    text_add(svg, "\"/>\n<path class=\"shown\" d=\"");
    for (int32_t t = 0; t < PATHS_TICKS; t++) {
        bool warps = t > 0 && fl_vec3_distance(at[t].shown, at[t - 1].shown) > step;
        text_add(svg, "%c%.1f %.1f", t == 0 || warps ? 'M' : 'L', pixel_x(f, left, at[t].shown),
                 pixel_y(f, top, at[t].shown));
    }
    text_add(svg, "\"/>\n");
    for (int32_t t = 0; t < PATHS_TICKS; t++) {
        double x = pixel_x(f, left, at[t].shown);
        double y = pixel_y(f, top, at[t].shown);
        if (t > 0 && fl_vec3_distance(at[t].shown, at[t - 1].shown) > step) {
            text_add(svg, "<path class=\"warp\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                     pixel_x(f, left, at[t - 1].shown), pixel_y(f, top, at[t - 1].shown), x, y);
        }
        text_add(svg, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.7\"/>\n", x, y);
    }
    text_add(svg, "<circle class=\"end\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
             pixel_x(f, left, at[PATHS_TICKS - 1].real), pixel_y(f, top, at[PATHS_TICKS - 1].real));
}

void paths_draw(const AttentionPaths *paths, double top_speed, Text *svg)
{
    static const char *const rows[ROWS] = {"Whom the viewer looks at most",
                                           "Whom the viewer looks at least"};
    int32_t player[ROWS];
    if (!choose(paths, player)) {
        return;
    }
    int32_t columns = 0;
    for (int32_t m = 0; m < PATHS_MODES; m++) {
        columns += paths->played[m] ? 1 : 0;
    }
    int32_t width = 2 * LEFT + columns * (PANEL + GAP) - GAP;
    width = width > 640 ? width : 640;
    int32_t height = TOP + ROWS * (HEAD + PANEL) + FOOT;
    text_add(svg,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
             "height=\"%d\" role=\"img\" aria-label=\"Shown and true paths of two players, by "
             "mode\">\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n"
             "<text class=\"title\" x=\"%d\" y=\"38\">Where players are, and where they are "
             "shown</text>\n<text class=\"note\" x=\"%d\" y=\"62\">From above, %g s, a dot every "
             "%d ms. Grey: the player. Blue: what is shown of it; dashed: a step that nobody can "
             "make.</text>\n",
             width, height, width, height, style, width, height, LEFT, LEFT,
             (double)PATHS_TICKS / ARENA_TICK_HZ, 1000 / ARENA_TICK_HZ);
    for (int32_t r = 0; r < ROWS; r++) {
        Frame frame = frame_of(paths, player[r]);
        double top = TOP + r * (HEAD + PANEL) + HEAD;
        double left = LEFT;
        for (int32_t m = 0; m < PATHS_MODES; m++) {
            if (paths->played[m]) {
                draw_panel(paths->at[m][player[r]], &frame, left, top, top_speed / ARENA_TICK_HZ,
                           svg);
                text_add(svg, "<text class=\"label\" x=\"%g\" y=\"%g\">%s</text>\n", left + 2.0,
                         top - 7.0, arena_mode_name((ArenaMode)m));
                left += PANEL + GAP;
            }
        }
        text_add(svg, "<text class=\"note\" x=\"%d\" y=\"%g\">%s: %.0f units wide</text>\n", LEFT,
                 top - 29.0, rows[r], PANEL / frame.scale);
    }
    text_add(svg, "</svg>\n");
}
