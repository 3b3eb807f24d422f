// The courses: a closed smooth curve as a table of stations, and places on it.
//
// A course is a few control points; the curve is their closed uniform cubic B-spline, whose
// direction and curvature are continuous. It is walked in small steps once, at creation, and cut
// into stations of equal distance.
//
// Between stations i and i + 1 the centre line is the chord C(t) and its direction the blend T(t).
// The place of a point P is the t with (P - C(t)) . T(t) = 0, a quadratic; at a joint both sides
// ask the same question, so progress and lateral are continuous there, and racing_position undoes
// racing_project exactly. This holds as long as P is nearer than the centre of the bend.
//
// Invariant: radius of every bend > half width + a car (checked by tests over all courses).
#include <float.h>
#include <string.h>

#include "private.h"

typedef struct Control {
    double x, y;
} Control;

typedef struct Sketch {
    const char *name;
    double length_m, half_width_m;
} Sketch;

static const Sketch sketch[] = {
#define RACING_COURSE_ROW(name, word, length, half_width) {word, length, half_width},
    RACING_COURSE_TABLE(RACING_COURSE_ROW)
#undef RACING_COURSE_ROW
};

// Drawn by hand on squared paper; the scale comes from the length.
static const Control ring[] = {{0, 0}, {4, -1}, {8, 0}, {9, 3}, {8, 6}, {4, 7}, {0, 6}, {-1, 3}};
static const Control bean[] = {{0, 0}, {5, -1}, {10, 0}, {12, 4}, {9, 7},
                               {6, 6}, {4, 5},  {1, 8},  {-3, 8}, {-4, 4}};
static const Control serpent[] = {{0, 0},  {6, 0},   {12, 0}, {17, 1},  {19, 5},  {15, 8},
                                  {10, 7}, {6, 9},   {7, 13}, {11, 15}, {10, 19}, {5, 20},
                                  {1, 17}, {-3, 14}, {-5, 9}, {-4, 3}};

typedef struct Spline {
    const Control *control;
    int32_t count;
} Spline;

#define SPLINE(points) ((Spline){points, (int32_t)(sizeof(points) / sizeof(points)[0])})

static Spline spline_of(RacingCourse course)
{
    switch (course) {
    case RACING_COURSE_BEAN:
        return SPLINE(bean);
    case RACING_COURSE_SERPENT:
        return SPLINE(serpent);
    case RACING_COURSE_RING:
    case RACING_COURSE_COUNT:
        break;
    }
    return SPLINE(ring);
}

const char *racing_course_name(RacingCourse course)
{
    FL_ASSERT(course >= 0 && course < RACING_COURSE_COUNT);
    return sketch[course].name;
}

FlResult racing_course_find(const char *name, RacingCourse *course)
{
    *course = RACING_COURSE_RING;
    for (int32_t i = 0; i < RACING_COURSE_COUNT; i++) {
        if (strcmp(name, sketch[i].name) == 0) {
            *course = (RacingCourse)i;
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}

// ---------------------------------------------------------------- building the table

// The curve and its derivative at parameter u in [0, count].
static void spline_at(Spline s, double u, Control *point, Control *slope)
{
    int32_t first = (int32_t)u;
    double t = u - first, r = 1.0 - t;
    const double weight[4] = {r * r * r / 6.0, (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
                              (3.0 * r * r * r - 6.0 * r * r + 4.0) / 6.0, t * t * t / 6.0};
    const double rate[4] = {-r * r / 2.0, (3.0 * t * t - 4.0 * t) / 2.0,
                            (4.0 * r - 3.0 * r * r) / 2.0, t * t / 2.0};
    *point = *slope = (Control){0.0, 0.0};
    for (int32_t i = 0; i < 4; i++) {
        const Control *c = &s.control[(first + i) % s.count];
        point->x += weight[i] * c->x;
        point->y += weight[i] * c->y;
        slope->x += rate[i] * c->x;
        slope->y += rate[i] * c->y;
    }
}

#define WALK_STEPS 8192

// Length of the curve's part [u, u + du], as a chord.
static double chord(Spline s, double u, double du)
{
    Control a, b, slope;
    spline_at(s, u, &a, &slope);
    spline_at(s, u + du, &b, &slope);
    return sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
}

// Walks once around and calls a halt at every equal share of the way.
static void stations_place(RacingGame *game, Spline s, double total, double scale)
{
    double du = (double)s.count / WALK_STEPS;
    double share = total / RACING_STATION_COUNT;
    double walked = 0.0;
    int32_t placed = 0;
    for (int32_t i = 0; i < WALK_STEPS && placed < RACING_STATION_COUNT; i++) {
        double step = chord(s, i * du, du);
        while (placed < RACING_STATION_COUNT && placed * share <= walked + step) {
            RacingStation *station = &game->station[placed];
            Control point, slope;
            spline_at(s, i * du + du * (placed * share - walked) / step, &point, &slope);
            double norm = sqrt(slope.x * slope.x + slope.y * slope.y);
            station->x = point.x * scale;
            station->y = point.y * scale;
            station->tx = slope.x / norm;
            station->ty = slope.y / norm;
            placed++;
        }
        walked += step;
    }
    FL_ASSERT(placed == RACING_STATION_COUNT);
}

void racing__course_build(RacingGame *game)
{
    const Sketch *plan = &sketch[game->def.course];
    Spline s = spline_of(game->def.course);
    double total = 0.0;
    for (int32_t i = 0; i < WALK_STEPS; i++) {
        total += chord(s, (double)s.count * i / WALK_STEPS, (double)s.count / WALK_STEPS);
    }
    game->length_m = plan->length_m;
    game->half_width_m = plan->half_width_m;
    game->spacing_m = plan->length_m / RACING_STATION_COUNT;
    stations_place(game, s, total, plan->length_m / total);
    for (int32_t i = 0; i < RACING_STATION_COUNT; i++) {
        const RacingStation *a = racing__station(game, i - 1);
        const RacingStation *b = racing__station(game, i + 1);
        double turn = a->tx * b->ty - a->ty * b->tx; // sine of the angle between them
        game->station[i].curvature = turn / (2.0 * game->spacing_m);
    }
}

// In a bend as fast as most of the grip allows; before it no faster than what braking can undo.
// Going round backwards twice closes the circle.
void racing__course_pace(RacingGame *game)
{
    for (int32_t i = 0; i < RACING_STATION_COUNT; i++) {
        RacingStation *station = &game->station[i];
        double bend = fabs(station->curvature) + 1e-4; // a straight is a wide bend
        station->speed_m_s = sqrt(0.85 * RACING_GRIP_M_S2 / bend);
    }
    for (int64_t i = 2 * RACING_STATION_COUNT; i > 0; i--) {
        double ahead = racing__station(game, i)->speed_m_s;
        RacingStation *station = &game->station[(i - 1) & (RACING_STATION_COUNT - 1)];
        double limit = sqrt(ahead * ahead + RACING_BRAKE_M_S2 * game->spacing_m);
        station->speed_m_s = station->speed_m_s < limit ? station->speed_m_s : limit;
    }
}

// ---------------------------------------------------------------- places

// Past this the unwrapped progress has no digits left for metres; a peer's nonsense ends here.
#define PROGRESS_BOUND_M 1e9

int64_t racing__station_before(const RacingGame *game, double progress)
{
    return (int64_t)floor(progress / game->spacing_m);
}

// How far past a station's cross-line a point is (negative: before it).
static double past(const RacingStation *s, double x, double y)
{
    return (x - s->x) * s->tx + (y - s->y) * s->ty;
}

// The cross-line between two stations that goes through the point: t in [0, 1].
static double share_between(const RacingStation *a, const RacingStation *b, double x, double y)
{
    double px = x - a->x, py = y - a->y;
    double ex = b->x - a->x, ey = b->y - a->y;
    double wx = b->tx - a->tx, wy = b->ty - a->ty;
    // (p - t e) . (T + t w) = c + b1 t + a2 t^2
    double c = px * a->tx + py * a->ty;
    double b1 = px * wx + py * wy - (ex * a->tx + ey * a->ty);
    double a2 = -(ex * wx + ey * wy);
    double root = b1 * b1 - 4.0 * a2 * c;
    double below = -b1 + sqrt(root > 0.0 ? root : 0.0);
    double t = 2.0 * c / below;
    return t > 0.0 ? (t < 1.0 ? t : 1.0) : 0.0; // 0 also for what is no number
}

typedef struct Frame {
    double x, y;   // on the centre line
    double tx, ty; // unit
} Frame;

static Frame frame_at(const RacingGame *game, int64_t number, double t)
{
    const RacingStation *a = racing__station(game, number);
    const RacingStation *b = racing__station(game, number + 1);
    double tx = a->tx + (b->tx - a->tx) * t, ty = a->ty + (b->ty - a->ty) * t;
    double norm = sqrt(tx * tx + ty * ty);
    Frame frame = {a->x + (b->x - a->x) * t, a->y + (b->y - a->y) * t, tx / norm, ty / norm};
    return frame;
}

RacingPlace racing_project(const RacingGame *game, FlVec3 position, double near)
{
    double start = isfinite(near) ? number_clamp(near, -PROGRESS_BOUND_M, PROGRESS_BOUND_M) : 0.0;
    if (!isfinite(position.x) || !isfinite(position.y)) {
        return (RacingPlace){start, 0.0};
    }
    int64_t number = racing__station_before(game, start);
    int32_t walk = RACING_STATION_COUNT;
    while (walk > 0 && past(racing__station(game, number), position.x, position.y) < 0.0) {
        number--;
        walk--;
    }
    while (walk > 0 && past(racing__station(game, number + 1), position.x, position.y) >= 0.0) {
        number++;
        walk--;
    }
    double t = share_between(racing__station(game, number), racing__station(game, number + 1),
                             position.x, position.y);
    Frame f = frame_at(game, number, t);
    return (RacingPlace){((double)number + t) * game->spacing_m,
                         (position.y - f.y) * f.tx - (position.x - f.x) * f.ty};
}

RacingPlace racing_locate(const RacingGame *game, FlVec3 position)
{
    int32_t nearest = 0;
    double least = DBL_MAX;
    for (int32_t i = 0; i < RACING_STATION_COUNT; i++) {
        double dx = position.x - game->station[i].x, dy = position.y - game->station[i].y;
        double square = dx * dx + dy * dy;
        if (square < least) {
            least = square;
            nearest = i;
        }
    }
    RacingPlace place = racing_project(game, position, nearest * game->spacing_m);
    place.progress -= floor(place.progress / game->length_m) * game->length_m;
    return place;
}

FlVec3 racing_position(const RacingGame *game, RacingPlace place, double *yaw)
{
    FL_ASSERT(fabs(place.progress) <= PROGRESS_BOUND_M);
    int64_t number = racing__station_before(game, place.progress);
    Frame f = frame_at(game, number, place.progress / game->spacing_m - (double)number);
    if (yaw != NULL) {
        *yaw = fl_atan2(f.ty, f.tx);
    }
    return fl_vec3(f.x - place.lateral * f.ty, f.y + place.lateral * f.tx, 0.0);
}
