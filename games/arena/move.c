// How a player moves in a tick: legs, gravity, blocks.
//
// On the ground the velocity follows the legs quickly, in the air slowly. A tick is one step:
// gravity is integrated exactly, and each axis is swept from where the player was to where it
// would be, so nobody gets through a wall however fast a rocket threw him.
//
// A block that a player already overlaps does not hold it: who is shown inside something, or stood
// in a closing door, walks out.
//
// Invariant: no faster than ARENA_SPEED_BOUND (SIDE_MOST and RISE_MOST together).
#include <string.h>

#include "private.h"

#define GRAVITY 800.0
#define JUMP 270.0
#define GROUND_PUSH 2400.0 // u/s^2
#define AIR_PUSH 1000.0
#define SIDE_MOST 640.0
#define RISE_MOST 500.0
#define SKIN 1e-6 // two things that touch do not overlap

// ---------------------------------------------------------------- blocks in the way

static bool overlaps(const ArenaBox *b, double x, double y)
{
    return x > b->low_x - ARENA_HALF_WIDTH + SKIN && x < b->high_x + ARENA_HALF_WIDTH - SKIN &&
           y > b->low_y - ARENA_HALF_WIDTH + SKIN && y < b->high_y + ARENA_HALF_WIDTH - SKIN;
}

bool arena_is_inside(const ArenaGame *game, FlVec3 position, double depth)
{
    double wide = ARENA_HALF_WIDTH - depth;
    double feet = position.z - ARENA_FEET;
    bool inside = false;
    for (int32_t i = 0; i < game->box_count; i++) {
        const ArenaBox *b = &game->box[i];
        inside = inside || (feet + depth < b->top && position.x + wide > b->low_x &&
                            position.x - wide < b->high_x && position.y + wide > b->low_y &&
                            position.y - wide < b->high_y);
    }
    return inside;
}

// One block against a step along one axis: `at` to `*to`, the block from `low` to `high` on it.
static bool stops(double at, double *to, double low, double high)
{
    double near = low - ARENA_HALF_WIDTH, far = high + ARENA_HALF_WIDTH;
    if (at <= near + SKIN && *to > near) {
        *to = near;
        return true;
    }
    if (at >= far - SKIN && *to < far) {
        *to = far;
        return true;
    }
    return false;
}

// Blocks and shut doors, one after the other; NULL at the end.
static const ArenaBox *box_at(const ArenaGame *game, const ArenaState *view, int32_t *index)
{
    while (*index < game->box_count + game->door_count) {
        int32_t i = (*index)++;
        if (i < game->box_count) {
            return &game->box[i];
        }
        if (!arena_door_open(view, i - game->box_count)) {
            return &game->door[i - game->box_count];
        }
    }
    return NULL;
}

// A step along x or y. Low edges are climbed, at once, by who stands.
static void slide(const ArenaGame *game, const ArenaState *view, ArenaPlayer *p, bool along_x,
                  double way)
{
    double at = along_x ? p->x : p->y;
    double across = along_x ? p->y : p->x;
    double to =
        number_clamp(at + way, -game->half + ARENA_HALF_WIDTH, game->half - ARENA_HALF_WIDTH);
    bool held = to != at + way;
    double feet = p->z - ARENA_FEET;
    const ArenaBox *b;
    for (int32_t i = 0; (b = box_at(game, view, &i)) != NULL;) {
        double low = along_x ? b->low_x : b->low_y, high = along_x ? b->high_x : b->high_y;
        double low_side = along_x ? b->low_y : b->low_x,
               high_side = along_x ? b->high_y : b->high_x;
        bool beside = across <= low_side - ARENA_HALF_WIDTH + SKIN ||
                      across >= high_side + ARENA_HALF_WIDTH - SKIN;
        double reach = p->grounded != 0 ? ARENA_STEP_UP : SKIN;
        if (!beside && b->top > feet + reach) {
            held |= stops(at, &to, low, high);
        }
    }
    if (held) {
        *(along_x ? &p->vx : &p->vy) = 0.0;
    }
    *(along_x ? &p->x : &p->y) = to;
}

// The height of what the player stands on or is above; what it is inside of does not count.
static double floor_under(const ArenaGame *game, const ArenaState *view, const ArenaPlayer *p)
{
    double feet = p->z - ARENA_FEET;
    double reach = feet + (p->grounded != 0 ? ARENA_STEP_UP : SKIN);
    double top = feet < -SKIN ? -1e9 : 0.0;
    const ArenaBox *b;
    for (int32_t i = 0; (b = box_at(game, view, &i)) != NULL;) {
        if (b->top > top && b->top <= reach && overlaps(b, p->x, p->y)) {
            top = b->top;
        }
    }
    return top;
}

// ---------------------------------------------------------------- legs and gravity

// What the legs want, on the ground plane.
static void wish(const ArenaPlayer *p, ArenaInput input, double *wx, double *wy)
{
    double sin_yaw, cos_yaw;
    fl_sincos(p->yaw, &sin_yaw, &cos_yaw);
    double forward = input.forward / 127.0, right = input.right / 127.0;
    double size = sqrt(forward * forward + right * right);
    double speed = size > 1.0 ? ARENA_RUN_SPEED / size : ARENA_RUN_SPEED;
    *wx = speed * (forward * cos_yaw + right * sin_yaw);
    *wy = speed * (forward * sin_yaw - right * cos_yaw);
}

static void push_legs(ArenaPlayer *p, ArenaInput input, double seconds)
{
    double wx, wy;
    wish(p, input, &wx, &wy);
    double dx = wx - p->vx, dy = wy - p->vy;
    double missing = sqrt(dx * dx + dy * dy);
    double most = (p->grounded != 0 ? GROUND_PUSH : AIR_PUSH) * seconds;
    double share = missing > most ? most / missing : 1.0;
    p->vx += share * dx;
    p->vy += share * dy;
}

void arena__hold_speed(ArenaPlayer *p)
{
    double side = sqrt(p->vx * p->vx + p->vy * p->vy);
    if (side > SIDE_MOST) {
        p->vx *= SIDE_MOST / side;
        p->vy *= SIDE_MOST / side;
    }
    p->vz = number_clamp(p->vz, -RISE_MOST, RISE_MOST);
}

static void rise_or_fall(const ArenaGame *game, const ArenaState *view, ArenaPlayer *p,
                         double seconds)
{
    double ground = floor_under(game, view, p) + ARENA_FEET;
    bool leaves = p->vz > 0.0;
    if (p->grounded != 0 && !leaves && p->z - ground <= ARENA_STEP_UP) {
        p->z = ground; // also up and down low steps
        p->vz = 0.0;
        return;
    }
    p->z += (p->vz - 0.5 * GRAVITY * seconds) * seconds;
    p->vz -= GRAVITY * seconds;
    p->grounded = 0;
    if (p->z <= ground) {
        p->z = ground;
        p->vz = 0.0;
        p->grounded = 1;
    }
    arena__hold_speed(p);
}

void arena__move(const ArenaGame *game, const ArenaState *view, ArenaPlayer *player,
                 ArenaInput input, double seconds)
{
    player->yaw = arena_angle(input.yaw);
    player->pitch = number_clamp(arena_angle(input.pitch), -0.5 * FL_PI, 0.5 * FL_PI);
    push_legs(player, input, seconds);
    arena__hold_speed(player);
    if (input.up > 0 && player->grounded != 0) {
        player->vz = JUMP;
        player->jumps++;
    }
    if (player->vx != 0.0) {
        slide(game, view, player, true, player->vx * seconds);
    }
    if (player->vy != 0.0) {
        slide(game, view, player, false, player->vy * seconds);
    }
    rise_or_fall(game, view, player, seconds);
}

void arena_step_shown(const ArenaGame *game, ArenaState *view, int32_t player, FlVec3 to)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    ArenaPlayer *p = &view->player[player];
    double low = p->z < to.z ? p->z : to.z;
    double high = p->z < to.z ? to.z : p->z;
    p->z = high; // who goes up onto something is above it first, who comes down leaves it last
    slide(game, view, p, true, to.x - p->x);
    slide(game, view, p, false, to.y - p->y);
    p->z = high;
    double ground = floor_under(game, view, p) + ARENA_FEET;
    p->z = to.z < high ? low : high;
    p->z = p->z < ground ? ground : p->z;
}

FlVec3 arena_spawn_near(const ArenaGame *game, FlVec3 point)
{
    FlVec3 best = point;
    double least = 1e300;
    for (int32_t i = 0; i < game->spawn_count; i++) {
        double far = fl_vec3_distance(game->spawn[i], point);
        if (far < least) {
            least = far;
            best = game->spawn[i];
        }
    }
    return best;
}

void arena_step_replica(const ArenaGame *game, ArenaState *view, int32_t player, ArenaInput input)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    if (view->player[player].alive != 0) {
        arena__move(game, view, &view->player[player], input, ARENA_TICK_SECONDS);
    }
}

FlPose arena_predict(const ArenaGame *game, const ArenaState *view, int32_t player,
                     ArenaInput input, double seconds)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    ArenaPlayer p = view->player[player];
    double left = seconds > 0.0 ? number_clamp(seconds, 0.0, 10.0) : 0.0; // NaN: now
    while (left > SKIN && p.alive != 0) {
        double step = left < ARENA_TICK_SECONDS ? left : ARENA_TICK_SECONDS;
        arena__move(game, view, &p, input, step);
        left -= step;
    }
    double s, c;
    fl_sincos(0.5 * p.yaw, &s, &c);
    FlPose pose = {
        .position = arena__position(&p),
        .velocity = fl_vec3(p.vx, p.vy, p.vz),
        .yaw = p.yaw,
        .rotation = {c, 0.0, 0.0, s},
    };
    return pose;
}
