// Pieces of SVG pictures. Coordinates go out with one decimal: a tenth of a pixel.
#include "app/reckon/svg.h"

#define CURVE_STEP_NS FL_MS(20)
#define SCALE_BAR_SHARE 0.22 ///< Of the box's width, at most.

SvgPoint svg_point(const SvgPlan *plan, FlVec3 position)
{
    SvgPoint point = {
        plan->box.width / 2.0 + (position.x - plan->centre_x) * plan->scale,
        plan->box.height / 2.0 - (position.y - plan->centre_y) * plan->scale,
    };
    return point;
}

double svg_round_step(double value)
{
    if (!(value > 1e-9 && value < 1e12)) {
        return 1.0;
    }
    double power = 1e-9;
    while (power * 10.0 <= value) {
        power *= 10.0;
    }
    double digit = value >= power * 5.0 ? 5.0 : value >= power * 2.0 ? 2.0 : 1.0;
    return digit * power;
}

void svg_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(*text < ' ' ? '?' : *text,
                  out); // bytes above ASCII are negative here, and go too
        }
    }
}

void svg_plan_begin(FILE *out, const SvgPlan *plan)
{
    const SvgBox *box = &plan->box;
    fprintf(out,
            "<rect class=\"panel\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"6\"/>\n"
            "<svg x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\">\n",
            box->x, box->y, box->width, box->height, box->x, box->y, box->width, box->height);
}

void svg_plan_end(FILE *out, const SvgPlan *plan)
{
    double units = svg_round_step(plan->box.width * SCALE_BAR_SHARE / plan->scale);
    double length = units * plan->scale;
    double right = plan->box.width - 14.0;
    double y = plan->box.height - 14.0;
    fprintf(out,
            "<path class=\"bar\" d=\"M%.1f %.1fv-5M%.1f %.1fv-5M%.1f %.1fH%.1f\"/>\n"
            "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g unit%s</text>\n"
            "</svg>\n",
            right - length, y, right, y, right - length, y, right, right - length / 2.0, y - 8.0,
            units, units == 1.0 ? "" : "s");
}

/// When the path's piece ends: at the next one, or at `limit`.
static FlTime piece_until(const FlPath *path, int32_t piece, FlTime limit)
{
    if (piece + 1 == path->count || path->pieces[piece + 1].from > limit) {
        return limit;
    }
    return path->pieces[piece + 1].from;
}

static void draw_piece(FILE *out, const SvgPlan *plan, const FlMotion *motion, FlTime from,
                       FlTime to)
{
    SvgPoint point = svg_point(plan, fl_motion_position(motion, from));
    fprintf(out, "M%.1f %.1f", point.x, point.y);
    bool straight = motion->model == FL_MODEL_LINEAR || motion->model == FL_MODEL_STILL;
    while (from < to) {
        from = straight || to - from < CURVE_STEP_NS ? to : from + CURVE_STEP_NS;
        point = svg_point(plan, fl_motion_position(motion, from));
        fprintf(out, "L%.1f %.1f", point.x, point.y);
    }
}

static void draw_jump(FILE *out, const SvgPlan *plan, const FlPiece *piece, const FlPiece *next)
{
    SvgPoint before = svg_point(plan, fl_motion_position(&piece->motion, next->from));
    SvgPoint after = svg_point(plan, fl_motion_position(&next->motion, next->from));
    fprintf(out, "M%.1f %.1fL%.1f %.1f", before.x, before.y, after.x, after.y);
}

void svg_path(FILE *out, const SvgPlan *plan, const FlPath *path, FlTime from, FlTime to,
              const char *line_class, const char *jump_class)
{
    FL_ASSERT(path->first == 0); // a path that never dropped a piece starts at its storage's front
    fprintf(out, "<path class=\"%s\" d=\"", line_class);
    for (int32_t i = 0; i < path->count; i++) {
        FlTime start = path->pieces[i].from > from ? path->pieces[i].from : from;
        FlTime end = piece_until(path, i, to);
        if (start < end) {
            draw_piece(out, plan, &path->pieces[i].motion, start, end);
        }
    }
    fputs("\"/>\n", out);
    if (jump_class == NULL) {
        return;
    }
    fprintf(out, "<path class=\"%s\" d=\"", jump_class);
    for (int32_t i = 0; i + 1 < path->count; i++) {
        if (path->pieces[i + 1].from >= from && path->pieces[i + 1].from <= to) {
            draw_jump(out, plan, &path->pieces[i], &path->pieces[i + 1]);
        }
    }
    fputs("\"/>\n", out);
}
