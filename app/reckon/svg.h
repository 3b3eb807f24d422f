// Pieces of SVG pictures: plans to scale, scale bars, styles that read in light and dark.
#ifndef APP_SVG_H
#define APP_SVG_H

#include <stdio.h>

#include "fairlead/motion.h"

/// A rectangle of the picture, in pixels.
typedef struct SvgBox {
    double x, y, width, height;
} SvgBox;

/// A plan of the ground (x right, y up) in a box, to scale.
typedef struct SvgPlan {
    SvgBox box;
    double centre_x, centre_y; ///< Of the ground, shown in the middle.
    double scale;              ///< Pixels per unit.
} SvgPlan;

/// A point in pixels, inside its plan's box (that is, from its corner).
typedef struct SvgPoint {
    double x, y;
} SvgPoint;

SvgPoint svg_point(const SvgPlan *plan, FlVec3 position);

/// 1, 2 or 5 times a power of ten: the largest that is not above `value`; 1 for nonsense.
double svg_round_step(double value);

/// Text with what XML needs escaped.
void svg_text(FILE *out, const char *text);

/// A plan's frame with a scale bar, opened so that what follows is drawn in it and cut off at its
/// edge.
void svg_plan_begin(FILE *out, const SvgPlan *plan);
void svg_plan_end(FILE *out, const SvgPlan *plan);

/// A path's pieces in [from, to] in the given class; its jumps between pieces in `jump_class`
/// (NULL: not drawn).
void svg_path(FILE *out, const SvgPlan *plan, const FlPath *path, FlTime from, FlTime to,
              const char *line_class, const char *jump_class);

#endif
