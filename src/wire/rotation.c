// Rotations as their smallest three components.
//
// A unit quaternion's largest component follows from the others, and q and -q turn alike, so its
// sign does not matter: 2 bits say which one is left out (made positive), and the other three lie
// within 1/sqrt(2) of zero. They are whole numbers of steps of 1/K, so that all comparisons here
// are between integers and exact.
//
// One rotation, one encoding: where two components are almost equal, rounding can make a part
// larger than what is left for the component that was left out. Such a code would decode to a
// rotation whose largest component is another, and be packed differently the next time. The packer
// takes a step off instead, the reader refuses it.
//
// Error: parts are half a step off at most, or a step and a half where one was taken off (then the
// others make up for it): in the worst case, all four near 1/2, the quaternion is sqrt(3) steps
// off, and the turn twice that angle: 3.47/K. fl_world_init asks for 3.5/K.
#include "private.h"

#include "base/maths.h"

typedef struct Parts {
    int64_t scale;
    int32_t largest; ///< Which component is left out: 0 to 3 for w, x, y, z.
    int64_t part[3]; ///< The others in order, in steps of 1/scale.
} Parts;

// Which component part i is.
static int32_t component_of(const Parts *parts, int32_t i)
{
    return i < parts->largest ? i : i + 1;
}

// The square of the component left out, in steps squared.
static int64_t square_left(const Parts *parts)
{
    int64_t left = parts->scale * parts->scale;
    for (int32_t i = 0; i < 3; i++) {
        left -= parts->part[i] * parts->part[i];
    }
    return left;
}

// The part that is larger than the component left out (of equals, the first counts as larger), the
// largest of such; -1 if all is in order.
static int32_t offender(const Parts *parts)
{
    int64_t left = square_left(parts);
    int64_t worst = -1;
    int32_t found = -1;
    for (int32_t i = 0; i < 3; i++) {
        int64_t square = parts->part[i] * parts->part[i];
        bool allowed = component_of(parts, i) < parts->largest ? square < left : square <= left;
        if (!allowed && square > worst) {
            worst = square;
            found = i;
        }
    }
    return found;
}

// Of unit length; what is already (what games and decoders give) is left alone.
static FlQuat unit_of(FlQuat q)
{
    double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (fabs(square - 1.0) < 1e-12) {
        return q;
    }
    // Once by size, so that squaring neither overflows nor vanishes.
    double size = fmax(fmax(fabs(q.w), fabs(q.x)), fmax(fabs(q.y), fabs(q.z)));
    if (!(size > 1e-300)) {
        return fl__quat_identity();
    }
    FlQuat sized = {q.w / size, q.x / size, q.y / size, q.z / size};
    return fl__quat_normalise(sized);
}

static Parts parts_of(FlQuat rotation, int32_t part_width)
{
    FlQuat unit = unit_of(rotation);
    double component[4] = {unit.w, unit.x, unit.y, unit.z};
    Parts parts = {.scale = fl__rotation_scale(part_width)};
    for (int32_t i = 1; i < 4; i++) {
        if (fabs(component[i]) > fabs(component[parts.largest])) {
            parts.largest = i;
        }
    }
    double scale = component[parts.largest] < 0.0 ? -(double)parts.scale : (double)parts.scale;
    for (int32_t i = 0; i < 3; i++) {
        parts.part[i] = fl__round_away(component[component_of(&parts, i)] * scale);
    }
    for (int32_t i = offender(&parts); i >= 0; i = offender(&parts)) {
        parts.part[i] += parts.part[i] > 0 ? -1 : 1;
    }
    return parts;
}

uint64_t fl__rotation_index(FlQuat rotation, int32_t part_width)
{
    FL_ASSERT(part_width >= 3 && part_width <= 20 && fl__quat_finite(rotation));
    Parts parts = parts_of(rotation, part_width);
    int64_t zero = ((int64_t)1 << (part_width - 1)) - 1;
    uint64_t index = (uint64_t)parts.largest;
    for (int32_t i = 0; i < 3; i++) {
        index |= (uint64_t)(parts.part[i] + zero) << (2 + i * part_width);
    }
    return index;
}

bool fl__rotation_from_index(uint64_t index, int32_t part_width, FlQuat *rotation)
{
    FL_ASSERT(part_width >= 3 && part_width <= 20);
    *rotation = fl__quat_identity();
    int64_t zero = ((int64_t)1 << (part_width - 1)) - 1;
    uint64_t mask = ((uint64_t)1 << part_width) - 1;
    Parts parts = {.scale = fl__rotation_scale(part_width), .largest = (int32_t)(index & 3)};
    for (int32_t i = 0; i < 3; i++) {
        parts.part[i] = (int64_t)(index >> (2 + i * part_width) & mask) - zero;
    }
    if (index >> (2 + 3 * part_width) != 0 || offender(&parts) >= 0) {
        return false;
    }
    double scale = (double)parts.scale;
    double component[4];
    component[parts.largest] = sqrt((double)square_left(&parts)) / scale;
    for (int32_t i = 0; i < 3; i++) {
        component[component_of(&parts, i)] = (double)parts.part[i] / scale;
    }
    FlQuat unit = {component[0], component[1], component[2], component[3]};
    *rotation = unit;
    return true;
}
