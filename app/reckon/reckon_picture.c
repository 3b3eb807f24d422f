// The picture: a plan of some seconds, a close-up of the worst moment, and the distances over time.
#include "app/reckon/reckon_picture.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/reckon/reckon_window.h"
#include "app/reckon/svg.h"
#include "motion/motion.h"

#define WIDTH 960
#define HEIGHT 716
#define CLOSE_SPAN_NS FL_MS(1500) ///< Of the close-up, before and after its moment.

static const SvgBox plan_box = {24, 138, 556, 372};
static const SvgBox close_box = {600, 138, 336, 372};
static const SvgBox time_box = {64, 562, 872, 112};

/// Okabe and Ito's colours, apart for every kind of colour vision; line styles tell the same again.
static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}\n"
    ".title{font-size:20px;font-weight:600}.note{font-size:13px;fill:#59636e}\n"
    ".label{font-size:13px}.small{font-size:12px;fill:#59636e}\n"
    ".page{fill:#ffffff}.panel{fill:#f6f8fa;stroke:#d1d9e0}\n"
    "path,.lens,.link{fill:none}\n"
    ".real{stroke:#aeb6bf;stroke-width:7;stroke-linecap:round;stroke-linejoin:round}\n"
    ".exported{stroke:#0072b2;stroke-width:2;stroke-dasharray:7 4}\n"
    ".placed{stroke:#d55e00;stroke-width:2}\n"
    ".jump{stroke:#d55e00;stroke-width:1.2;stroke-dasharray:1.5 3}\n"
    ".update{fill:#0072b2;stroke:#f6f8fa;stroke-width:1}\n"
    ".bar{stroke:#1f2328;stroke-width:1.5}.grid{stroke:#d1d9e0}\n"
    ".lens,.link{stroke:#1f2328;stroke-width:1.2}\n"
    ".at-exported{fill:#0072b2}path.at-placed{fill:#d55e00}\n"
    ".at-exported,.at-placed{stroke:#f6f8fa}\n"
    "svg svg text{paint-order:stroke;stroke:#f6f8fa;stroke-width:4;stroke-linejoin:round}\n"
    ".limit{stroke:#59636e;stroke-dasharray:2 3}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note,.small{fill:#9198a1}\n"
    ".page{fill:#0d1117}.panel{fill:#161b22;stroke:#3d444d}.real{stroke:#565e68}\n"
    ".exported{stroke:#56b4e9}.placed,.jump{stroke:#e69f00}\n"
    ".update{fill:#56b4e9;stroke:#161b22}.bar,.lens,.link{stroke:#e6edf3}.grid{stroke:#3d444d}\n"
    ".at-exported{fill:#56b4e9}\n"
    "path.at-placed{fill:#e69f00}.at-exported,.at-placed,svg svg text{stroke:#161b22}\n"
    ".limit{stroke:#9198a1}}\n"
    "</style>\n";

// ---------------------------------------------------------------- plans

static void draw_real(FILE *out, const SvgPlan *plan, const ReckonPicture *picture,
                      const ReckonWindow *window, FlTime from, FlTime to)
{
    const TraceTrack *track = window->track;
    fputs("<path class=\"real\" d=\"", out);
    char step = 'M';
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        if (picture->trace->time[i] >= from && picture->trace->time[i] <= to) {
            SvgPoint point = svg_point(plan, trace_position(picture->trace, i));
            fprintf(out, "%c%.1f %.1f", step, point.x, point.y);
            step = 'L';
        }
    }
    fputs("\"/>\n", out);
}

static void draw_updates(FILE *out, const SvgPlan *plan, const Reckoning *reckoning, FlTime from,
                         FlTime to, double radius)
{
    for (int32_t i = 0; i < reckoning->update_count; i++) {
        const FlMotion *update = &reckoning->updates[i];
        if (update->time >= from && update->time <= to) {
            SvgPoint point = svg_point(plan, update->position);
            fprintf(out, "<circle class=\"update\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>\n", point.x,
                    point.y, radius);
        }
    }
}

static void draw_paths(FILE *out, const SvgPlan *plan, const ReckonPicture *picture,
                       const ReckonWindow *window, FlTime from, FlTime to, double radius)
{
    draw_real(out, plan, picture, window, from, to);
    svg_path(out, plan, &window->reckoning.placed, from, to, "placed", "jump");
    svg_path(out, plan, &window->reckoning.exported, from, to, "exported", NULL);
    draw_updates(out, plan, &window->reckoning, from, to, radius);
}

static FlVec3 path_position(const FlPath *path, FlTime time)
{
    const FlPiece *piece = fl_path_at(path, time);
    FL_ASSERT(piece != NULL); // the window starts at the first arrival
    return fl_motion_position(&piece->motion, time);
}

/// A box on the ground.
typedef struct Ground {
    double low_x, low_y, high_x, high_y;
} Ground;

static void include(Ground *ground, FlVec3 at)
{
    ground->low_x = fmin(ground->low_x, at.x);
    ground->low_y = fmin(ground->low_y, at.y);
    ground->high_x = fmax(ground->high_x, at.x);
    ground->high_y = fmax(ground->high_y, at.y);
}

/// The ground of the real path in the window, and of what was placed not further than `reach` from
/// it.
static Ground ground_of(const ReckonPicture *picture, const ReckonWindow *window, double reach)
{
    Ground ground = {HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    const TraceTrack *track = window->track;
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        FlTime time = picture->trace->time[i];
        if (time < window->from || time > window->to) {
            continue;
        }
        FlVec3 real = trace_position(picture->trace, i);
        FlVec3 placed = path_position(&window->reckoning.placed, time);
        include(&ground, real);
        if (fl_vec3_distance(real, placed) <= reach) {
            include(&ground, placed);
        }
    }
    return ground;
}

/// A plan that shows the window's paths, with a margin.
static SvgPlan fitted_plan(const ReckonPicture *picture, const ReckonWindow *window)
{
    Ground real = ground_of(picture, window, 0.0);
    double reach = 0.25 * fmax(real.high_x - real.low_x, real.high_y - real.low_y);
    Ground all = ground_of(picture, window, reach);
    double across = fmax((all.high_x - all.low_x) / (plan_box.width - 80.0), 1e-6);
    double along = fmax((all.high_y - all.low_y) / (plan_box.height - 80.0), 1e-6);
    SvgPlan plan = {
        .box = plan_box,
        .centre_x = (all.low_x + all.high_x) / 2.0,
        .centre_y = (all.low_y + all.high_y) / 2.0,
        .scale = 1.0 / fmax(across, along),
    };
    return plan;
}

/// A plan of the worst moment in which the gap is well visible.
static SvgPlan close_plan(const ReckonWindow *window, double plan_scale)
{
    FlVec3 told = path_position(&window->reckoning.exported, window->worst);
    FlVec3 seen = path_position(&window->reckoning.placed, window->worst);
    double gap = fl_vec3_distance(told, seen);
    double scale = gap > 0.0 ? close_box.width / (2.5 * gap) : plan_scale * 8.0;
    SvgPlan plan = {
        .box = close_box,
        .centre_x = (told.x + seen.x) / 2.0,
        .centre_y = (told.y + seen.y) / 2.0,
        .scale = fmin(fmax(scale, plan_scale * 2.0), plan_scale * 400.0),
    };
    return plan;
}

static void draw_whole(FILE *out, const SvgPlan *plan, const SvgPlan *close,
                       const ReckonPicture *picture, const ReckonWindow *window)
{
    svg_plan_begin(out, plan);
    draw_paths(out, plan, picture, window, window->from, window->to, 3.0);
    double width = close->box.width / close->scale * plan->scale;
    double height = close->box.height / close->scale * plan->scale;
    SvgPoint centre = svg_point(plan, fl_vec3(close->centre_x, close->centre_y, 0.0));
    fprintf(
        out,
        "<rect class=\"lens\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\"/>\n",
        centre.x - width / 2.0, centre.y - height / 2.0, width, height);
    SvgPoint start = svg_point(plan, path_position(&window->reckoning.exported, window->from));
    fprintf(out, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">start</text>\n", start.x + 9.0,
            start.y - 7.0);
    svg_plan_end(out, plan);
    fprintf(out, "<text class=\"label\" x=\"%g\" y=\"%g\">From above, %.1f s</text>\n", plan_box.x,
            plan_box.y - 8.0, fl_span_seconds(window->to - window->from));
}

static void draw_close(FILE *out, const SvgPlan *plan, const ReckonPicture *picture,
                       const ReckonWindow *window)
{
    FlVec3 told = path_position(&window->reckoning.exported, window->worst);
    FlVec3 seen = path_position(&window->reckoning.placed, window->worst);
    SvgPoint a = svg_point(plan, told);
    SvgPoint b = svg_point(plan, seen);
    svg_plan_begin(out, plan);
    draw_paths(out, plan, picture, window, window->worst - CLOSE_SPAN_NS,
               window->worst + CLOSE_SPAN_NS, 4.5);
    fprintf(out,
            "<path class=\"link\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n"
            "<rect class=\"at-exported\" x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\"/>\n"
            "<path class=\"at-placed\" d=\"M%.1f %.1fl7 7l-7 7l-7 -7z\"/>\n",
            a.x, a.y, b.x, b.y, a.x - 5.5, a.y - 5.5, b.x, b.y - 7.0);
    svg_plan_end(out, plan);
    fprintf(out,
            "<text class=\"label\" x=\"%g\" y=\"%g\">Close-up at %.2f s: shown %.3g units off"
            "</text>\n",
            close_box.x, close_box.y - 8.0, fl_span_seconds(window->worst),
            fl_vec3_distance(told, seen));
}

// ---------------------------------------------------------------- distances over time

/// Distance from the truth, of a path at a sample.
static double error_at(const ReckonPicture *picture, const FlPath *path, int32_t sample)
{
    FlVec3 position = path_position(path, picture->trace->time[sample]);
    return fl_vec3_distance(position, trace_position(picture->trace, sample));
}

static double largest_error(const ReckonPicture *picture, const ReckonWindow *window)
{
    double largest = 0.0;
    const TraceTrack *track = window->track;
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        if (picture->trace->time[i] >= window->from && picture->trace->time[i] <= window->to) {
            largest = fmax(largest, error_at(picture, &window->reckoning.placed, i));
        }
    }
    return largest;
}

static double time_x(const ReckonWindow *window, FlTime time)
{
    double share = (double)(time - window->from) / (double)(window->to - window->from);
    return time_box.x + share * time_box.width;
}

static void draw_errors(FILE *out, const ReckonPicture *picture, const ReckonWindow *window,
                        const FlPath *path, double top, const char *line_class)
{
    const TraceTrack *track = window->track;
    char step = 'M';
    fprintf(out, "<path class=\"%s\" d=\"", line_class);
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        FlTime time = picture->trace->time[i];
        if (time >= window->from && time <= window->to) {
            double y = time_box.y + time_box.height * (1.0 - error_at(picture, path, i) / top);
            fprintf(out, "%c%.1f %.1f", step, time_x(window, time), y);
            step = 'L';
        }
    }
    fputs("\"/>\n", out);
}

static void draw_axes(FILE *out, const ReckonWindow *window, double top)
{
    double step = svg_round_step(top / 2.0);
    for (int32_t i = 0; i * step <= top * 1.0001; i++) {
        double y = time_box.y + time_box.height * (1.0 - i * step / top);
        fprintf(out, "<path class=\"grid\" d=\"M%g %.1fh%g\"/>\n", time_box.x, y, time_box.width);
        fprintf(out, "<text class=\"small\" x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                time_box.x - 8.0, y + 4.0, i * step);
    }
    double seconds = fl_span_seconds(window->to - window->from);
    FlTime tick = fl_span_from_seconds(svg_round_step(fmax(seconds / 8.0, 1e-3)));
    FlTime first = window->from + tick - 1;
    for (FlTime t = first - (first % tick + tick) % tick; t <= window->to; t += tick) {
        fprintf(out,
                "<text class=\"small\" x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%g s</text>\n",
                time_x(window, t), time_box.y + time_box.height + 20.0, fl_span_seconds(t));
    }
}

static void draw_time(FILE *out, const ReckonPicture *picture, const ReckonWindow *window)
{
    double top = fmax(largest_error(picture, window) * 1.05, 1e-9);
    fprintf(out,
            "<text class=\"label\" x=\"24\" y=\"%g\">Distance from the real path, in units "
            "(dotted: the threshold at which an update is sent)</text>\n",
            time_box.y - 14.0);
    draw_axes(out, window, top);
    double limit = picture->exporter->trigger.distance / top;
    if (limit <= 1.0) {
        fprintf(out, "<path class=\"limit\" d=\"M%g %.1fh%g\"/>\n", time_box.x,
                time_box.y + time_box.height * (1.0 - limit), time_box.width);
    }
    draw_errors(out, picture, window, &window->reckoning.placed, top, "placed");
    draw_errors(out, picture, window, &window->reckoning.exported, top, "exported");
    for (int32_t i = 0; i < window->reckoning.update_count; i++) {
        FlTime time = window->reckoning.updates[i].time;
        if (time >= window->from && time <= window->to) {
            fprintf(out, "<circle class=\"update\" cx=\"%.1f\" cy=\"%g\" r=\"3.5\"/>\n",
                    time_x(window, time), time_box.y + time_box.height);
        }
    }
}

// ---------------------------------------------------------------- words

static int32_t updates_in(const ReckonWindow *window)
{
    int32_t count = 0;
    for (int32_t i = 0; i < window->reckoning.update_count; i++) {
        FlTime time = window->reckoning.updates[i].time;
        count += time >= window->from && time <= window->to ? 1 : 0;
    }
    return count;
}

static void draw_title(FILE *out, const ReckonPicture *picture, const ReckonWindow *window)
{
    const char *slash = strrchr(picture->title, '/');
    fprintf(out,
            "<text class=\"title\" x=\"24\" y=\"38\">Where entity %lld was, what it sent, and what "
            "a receiver showed</text>\n<text class=\"note\" x=\"24\" y=\"61\">",
            (long long)window->track->id);
    svg_text(out, slash != NULL ? slash + 1 : picture->title);
    fprintf(out, ", %.1f to %.1f s &#183; model %s, distance %g, silence %g s &#183; %d updates",
            fl_span_seconds(window->from), fl_span_seconds(window->to),
            fl__model_name(picture->exporter->model), picture->exporter->trigger.distance,
            fl_span_seconds(picture->exporter->trigger.silence_ns), updates_in(window));
    fprintf(out, " &#183; delay %g ms</text>\n", fl_span_seconds(picture->delay_ns) * 1e3);
}

static void draw_legend(FILE *out)
{
    static const struct {
        const char *line_class;
        const char *text;
        double x;
    } entries[] = {
        {"real", "real: the recorded game", 28},
        {"exported", "exported: what its updates say", 250},
        {"placed", "placed: the same, a delay later", 520},
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        fprintf(out,
                "<path class=\"%s\" d=\"M%g 88h34\"/><text class=\"label\" x=\"%g\" y=\"93\">%s"
                "</text>\n",
                entries[i].line_class, entries[i].x, entries[i].x + 44.0, entries[i].text);
    }
    fputs("<circle class=\"update\" cx=\"800\" cy=\"88\" r=\"4\"/>"
          "<text class=\"label\" x=\"812\" y=\"93\">an update</text>\n",
          out);
}

static void draw(FILE *out, const ReckonPicture *picture, const ReckonWindow *window)
{
    SvgPlan plan = fitted_plan(picture, window);
    SvgPlan close = close_plan(window, plan.scale);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>Dead reckoning of entity %lld: real, exported and "
            "placed path</title>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, (long long)window->track->id, style, WIDTH, HEIGHT);
    draw_title(out, picture, window);
    draw_legend(out);
    draw_whole(out, &plan, &close, picture, window);
    draw_close(out, &close, picture, window);
    draw_time(out, picture, window);
    fputs("</svg>\n", out);
}

int reckon_picture_write(const ReckonPicture *picture, const char *path, const char *who)
{
    ReckonWindow window;
    FlResult result = reckon_window_find(picture, &window);
    if (result == FL_NOT_FOUND && picture->one_entity) {
        return command_fail(EXIT_BAD_INPUT, who, "--entity: nothing to draw of %lld",
                            (long long)picture->entity);
    }
    if (result != FL_OK) {
        return command_fail(result == FL_NOT_FOUND ? EXIT_BAD_INPUT : EXIT_FAILED, who,
                            result == FL_NOT_FOUND
                                ? "nothing to draw: no update arrives in any life"
                                : "out of memory");
    }
    Output output;
    bool ok = output_open(&output, who, path);
    if (ok) {
        draw(output.stream, picture, &window);
        ok = output_close(&output, who);
    }
    reckon_window_free(&window);
    return ok ? 0 : EXIT_FAILED;
}
