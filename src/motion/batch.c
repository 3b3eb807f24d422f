// Many motions at one time: plain loops over arrays, which compilers turn into vector code.
//
// Each formula is the one of motion.c, operation by operation, so the results are the same bits.
// Limited by memory: `fairlead bench motion` holds it against a plain copy of the same bytes.
#include "private.h"

#include <string.h>

static void still_positions(int32_t count, const FlMotionArrays *m, FL__RESTRICT_OUT)
{
    size_t bytes = (size_t)count * sizeof(double);
    memcpy(x, m->position.x, bytes);
    memcpy(y, m->position.y, bytes);
    memcpy(z, m->position.z, bytes);
}

FL__WIDE
static void quadratic_positions(int32_t count, const FlMotionArrays *m, double now_ns,
                                FL__RESTRICT_OUT)
{
    const double *since = m->since_ns;
    FlVec3Arrays p = m->position;
    FlVec3Arrays v = m->velocity;
    FlVec3Arrays a = m->acceleration;
    for (int32_t i = 0; i < count; i++) {
        double s = (now_ns - since[i]) / 1e9;
        double half = 0.5 * s;
        x[i] = p.x[i] + (v.x[i] + a.x[i] * half) * s;
        y[i] = p.y[i] + (v.y[i] + a.y[i] * half) * s;
        z[i] = p.z[i] + (v.z[i] + a.z[i] * half) * s;
    }
}

FL__WIDE
static void circular_positions(int32_t count, const FlMotionArrays *m, double now_ns,
                               FL__RESTRICT_OUT)
{
    const FlReduction whole = {0.0, 0.0};
    const double *since = m->since_ns;
    FlVec3Arrays p = m->position;
    FlVec3Arrays v = m->velocity;
    for (int32_t i = 0; i < count; i++) {
        double s = (now_ns - since[i]) / 1e9;
        double phi = m->turn_rate[i] * s;
        bool turns = fabs(phi) >= 1e-150;
        double half = turns ? 0.5 * phi : 1.0;
        double sine, cosine;
        fl__sincos_moderate(half, whole, &sine, &cosine);
        double ratio = sine / half;
        double along = turns ? ratio * cosine : 1.0;
        double across = turns ? ratio * sine : 0.5 * phi;
        x[i] = p.x[i] + (v.x[i] * along - v.y[i] * across) * s;
        y[i] = p.y[i] + (v.y[i] * along + v.x[i] * across) * s;
        z[i] = p.z[i] + v.z[i] * s;
    }
}

// Turns beyond what the vector kernel takes; NaN and infinity too.
static bool turns_too_far(int32_t count, const FlMotionArrays *m, double now_ns)
{
    bool too_far = false;
    for (int32_t i = 0; i < count; i++) {
        double phi = m->turn_rate[i] * ((now_ns - m->since_ns[i]) / 1e9);
        too_far |= !(fabs(phi) <= 1e6);
    }
    return too_far;
}

static void circular_positions_far(int32_t count, const FlMotionArrays *m, double now_ns,
                                   FL__RESTRICT_OUT)
{
    for (int32_t i = 0; i < count; i++) {
        double s = (now_ns - m->since_ns[i]) / 1e9;
        FlVec3 v = fl_vec3(m->velocity.x[i], m->velocity.y[i], m->velocity.z[i]);
        FlVec3 lead = fl__arc_lead(fl__arc(m->turn_rate[i] * s), v);
        x[i] = m->position.x[i] + lead.x * s;
        y[i] = m->position.y[i] + lead.y * s;
        z[i] = m->position.z[i] + lead.z * s;
    }
}

void fl_motion_positions(FlModel model, int32_t count, const FlMotionArrays *motions, FlTime time,
                         double *x, double *y, double *z)
{
    if (count <= 0) {
        return; // the arrays may be NULL then
    }
    double now_ns = (double)fl_span(time, motions->epoch);
    switch (model) {
    case FL_MODEL_STILL:
        still_positions(count, motions, x, y, z);
        return;
    case FL_MODEL_LINEAR:
        fl__linear_positions(count, motions, now_ns, x, y, z);
        return;
    case FL_MODEL_QUADRATIC:
        quadratic_positions(count, motions, now_ns, x, y, z);
        return;
    case FL_MODEL_CIRCULAR:
        if (turns_too_far(count, motions, now_ns)) {
            circular_positions_far(count, motions, now_ns, x, y, z);
        } else {
            circular_positions(count, motions, now_ns, x, y, z);
        }
        return;
    case FL_MODEL_CUBIC:
    case FL_MODEL_AUTO:
        break;
    }
    FL_ASSERT(model != FL_MODEL_CUBIC && model != FL_MODEL_AUTO);
}
