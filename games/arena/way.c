// Finding the way: for bots, and for replicas that are guided.
//
// The map is a grid of ARENA_GRID^2 cells. For every pair of cells the game knows how many steps
// they are apart (one breadth-first search per goal, when the game is made). Walking asks this only
// where the straight line is blocked: it goes down the steps and heads for the furthest of the next
// few cells that can be reached in a straight line, so ways are not made of grid steps.
//
// Crates can be jumped on and doors can be opened, so neither is an obstacle here.
#include <string.h>

#include "private.h"

#define LOOK_CELLS 8      // how far along the way a straight line is tried
#define NEAR 4.0          // close enough
#define CLEARANCE 14.9    // a player may slide along a wall
#define LEAP_SECONDS 0.16 // before a crate, a jump begins so early
#define NEIGHBOUR_COUNT 8

static const int8_t STEP_X[NEIGHBOUR_COUNT] = {1, 0, -1, 0, 1, -1, -1, 1};
static const int8_t STEP_Y[NEIGHBOUR_COUNT] = {0, 1, 0, -1, 1, 1, -1, -1};

// ---------------------------------------------------------------- the grid

static double cell_width(const ArenaGame *game)
{
    return 2.0 * game->half / ARENA_GRID;
}

static int32_t cell_along(const ArenaGame *game, double place)
{
    double cell = floor((place + game->half) / cell_width(game));
    return (int32_t)number_clamp(cell, 0.0, ARENA_GRID - 1);
}

static int32_t cell_of(const ArenaGame *game, double x, double y)
{
    return cell_along(game, y) * ARENA_GRID + cell_along(game, x);
}

static FlVec3 cell_middle(const ArenaGame *game, int32_t cell)
{
    double width = cell_width(game);
    int32_t column = cell % ARENA_GRID, row = cell / ARENA_GRID;
    return fl_vec3((column + 0.5) * width - game->half, (row + 0.5) * width - game->half,
                   ARENA_FEET);
}

static bool cell_free(const ArenaGame *game, int32_t cell)
{
    FlVec3 at = cell_middle(game, cell);
    double margin = ARENA_HALF_WIDTH + 1.0;
    for (int32_t i = 0; i < game->box_count; i++) {
        const ArenaBox *b = &game->box[i];
        if (b->top > ARENA_JUMP_UP && at.x > b->low_x - margin && at.x < b->high_x + margin &&
            at.y > b->low_y - margin && at.y < b->high_y + margin) {
            return false;
        }
    }
    return true;
}

// The neighbour in a direction, or -1: out of the map.
static int32_t neighbour(int32_t cell, int32_t step)
{
    int32_t x = cell % ARENA_GRID + STEP_X[step], y = cell / ARENA_GRID + STEP_Y[step];
    bool inside = x >= 0 && x < ARENA_GRID && y >= 0 && y < ARENA_GRID;
    return inside ? y * ARENA_GRID + x : -1;
}

// Which neighbours of a free cell can be walked to: free ones, but not around a blocked corner.
static uint8_t links_of(const bool *open, int32_t cell)
{
    uint8_t links = 0;
    for (int32_t s = 0; open[cell] && s < NEIGHBOUR_COUNT; s++) {
        int32_t to = neighbour(cell, s);
        if (to < 0 || !open[to]) {
            continue;
        }
        bool corners = open[cell + STEP_X[s]] && open[cell + STEP_Y[s] * ARENA_GRID];
        links = (uint8_t)(links | (corners ? 1u << s : 0u));
    }
    return links;
}

static void steps_to(ArenaGame *game, int32_t goal)
{
    int16_t queue[ARENA_CELL_COUNT];
    int32_t head = 0, tail = 0;
    uint8_t *steps = game->steps[goal];
    memset(steps, ARENA_NO_WAY, ARENA_CELL_COUNT);
    steps[goal] = 0;
    queue[tail++] = (int16_t)goal;
    while (head < tail) {
        int32_t at = queue[head++];
        int32_t next = arena__least(steps[at] + 1, ARENA_NO_WAY - 1);
        for (int32_t s = 0; s < NEIGHBOUR_COUNT; s++) {
            int32_t to = at + STEP_Y[s] * ARENA_GRID + STEP_X[s];
            if ((game->links[at] >> s & 1u) != 0 && steps[to] == ARENA_NO_WAY) {
                steps[to] = (uint8_t)next;
                queue[tail++] = (int16_t)to;
            }
        }
    }
}

void arena__ways_build(ArenaGame *game)
{
    bool open[ARENA_CELL_COUNT];
    for (int32_t cell = 0; cell < ARENA_CELL_COUNT; cell++) {
        open[cell] = cell_free(game, cell);
    }
    for (int32_t cell = 0; cell < ARENA_CELL_COUNT; cell++) {
        game->links[cell] = links_of(open, cell);
    }
    for (int32_t cell = 0; cell < ARENA_CELL_COUNT; cell++) {
        steps_to(game, cell);
    }
}

// ---------------------------------------------------------------- walking

// Can one walk straight from one place to another, over what is no higher than `over`?
static bool straight(const ArenaGame *game, FlVec3 from, FlVec3 to, double over)
{
    double dx = to.x - from.x, dy = to.y - from.y;
    for (int32_t i = 0; i < game->box_count; i++) {
        const ArenaBox *b = &game->box[i];
        if (b->top <= over) {
            continue;
        }
        double low_x = b->low_x - CLEARANCE, high_x = b->high_x + CLEARANCE;
        double low_y = b->low_y - CLEARANCE, high_y = b->high_y + CLEARANCE;
        bool beside = (from.x <= low_x && to.x <= low_x) || (from.x >= high_x && to.x >= high_x) ||
                      (from.y <= low_y && to.y <= low_y) || (from.y >= high_y && to.y >= high_y);
        if (beside) {
            continue;
        }
        // All corners on one side of the line: it passes by.
        double a = dx * (low_y - from.y), b1 = dx * (high_y - from.y);
        double c = dy * (low_x - from.x), d = dy * (high_x - from.x);
        bool left = a > c && a > d && b1 > c && b1 > d;
        bool right = a < c && a < d && b1 < c && b1 < d;
        if (!left && !right) {
            return false;
        }
    }
    return true;
}

// A free cell near a point, from which one can walk straight to it; -1: none. Of several the one
// with the fewest steps to go, or, without `steps`, the nearest. A point beside a wall may lie in a
// cell whose middle is inside the wall or beyond it, which is why its own cell will not do.
static int32_t cell_beside(const ArenaGame *game, FlVec3 point, double over, const uint8_t *steps)
{
    int32_t own = cell_of(game, point.x, point.y), best = -1;
    double best_cost = 1e12;
    for (int32_t s = -1; s < NEIGHBOUR_COUNT; s++) {
        int32_t cell = s < 0 ? own : neighbour(own, s);
        if (cell < 0 || game->links[cell] == 0 || (steps != NULL && steps[cell] == ARENA_NO_WAY)) {
            continue;
        }
        FlVec3 middle = cell_middle(game, cell);
        double dx = middle.x - point.x, dy = middle.y - point.y;
        double cost = dx * dx + dy * dy + (steps != NULL ? 1e6 * steps[cell] : 0.0);
        if (cost < best_cost && straight(game, point, middle, over)) {
            best = cell;
            best_cost = cost;
        }
    }
    return best;
}

static int32_t cell_after(const ArenaGame *game, int32_t cell, const uint8_t *steps)
{
    int32_t best = cell;
    for (int32_t s = 0; s < NEIGHBOUR_COUNT; s++) {
        int32_t to = cell + STEP_Y[s] * ARENA_GRID + STEP_X[s];
        if ((game->links[cell] >> s & 1u) != 0 && steps[to] < steps[best]) {
            best = to;
        }
    }
    return best;
}

FlVec3 arena__way(const ArenaGame *game, FlVec3 from, FlVec3 to, double over)
{
    if (straight(game, from, to, over)) {
        return to;
    }
    int32_t goal = cell_beside(game, to, ARENA_JUMP_UP, NULL);
    if (goal < 0) {
        return to;
    }
    const uint8_t *steps = game->steps[goal];
    int32_t cell = cell_beside(game, from, over, steps);
    if (cell < 0) {
        return to;
    }
    FlVec3 best = cell_middle(game, cell);
    for (int32_t i = 0; i < LOOK_CELLS && cell != goal; i++) {
        cell = cell_after(game, cell, steps);
        FlVec3 next = cell_middle(game, cell);
        if (!straight(game, from, next, over)) {
            break;
        }
        best = next;
    }
    return best;
}

// Is there a crate so close ahead that it is time to jump?
static bool crate_ahead(const ArenaGame *game, const ArenaPlayer *player, double dx, double dy)
{
    double feet = player->z - ARENA_FEET;
    double ahead = 2.0 + LEAP_SECONDS * sqrt(player->vx * player->vx + player->vy * player->vy);
    double x = player->x + dx * ahead, y = player->y + dy * ahead;
    for (int32_t i = 0; i < game->box_count; i++) {
        const ArenaBox *b = &game->box[i];
        if (b->top > feet + ARENA_STEP_UP && b->top <= feet + ARENA_JUMP_UP + 4.0 &&
            x > b->low_x - ARENA_HALF_WIDTH && x < b->high_x + ARENA_HALF_WIDTH &&
            y > b->low_y - ARENA_HALF_WIDTH && y < b->high_y + ARENA_HALF_WIDTH) {
            return true;
        }
    }
    return false;
}

static int8_t level(double share)
{
    return (int8_t)floor(number_clamp(share, -1.0, 1.0) * 127.0 + 0.5);
}

ArenaInput arena_walk_to(const ArenaGame *game, const ArenaState *view, int32_t player,
                         const ArenaWalk *walk)
{
    FL_ASSERT(player >= 0 && player < view->player_count);
    const ArenaPlayer *me = &view->player[player];
    ArenaInput input = {.yaw = arena_angle_steps(walk->yaw),
                        .pitch = arena_angle_steps(walk->pitch),
                        .weapon = (uint8_t)me->weapon};
    FlVec3 from = arena__position(me);
    if (!fl_vec3_finite(walk->to)) {
        return input;
    }
    FlVec3 next = arena__way(game, from, walk->to, me->z - ARENA_FEET + ARENA_JUMP_UP);
    double dx = next.x - from.x, dy = next.y - from.y;
    double distance = sqrt(dx * dx + dy * dy);
    if (!(distance > NEAR)) {
        return input;
    }
    dx /= distance;
    dy /= distance;
    double rest_x = walk->to.x - from.x, rest_y = walk->to.y - from.y;
    double rest = sqrt(rest_x * rest_x + rest_y * rest_y);
    double seconds = walk->seconds > ARENA_TICK_SECONDS ? walk->seconds : ARENA_TICK_SECONDS;
    double share = number_clamp(rest / (seconds * ARENA_RUN_SPEED), 0.0, 1.0);
    double sin_yaw, cos_yaw;
    fl_sincos(arena_angle(input.yaw), &sin_yaw, &cos_yaw);
    input.forward = level(share * (dx * cos_yaw + dy * sin_yaw));
    input.right = level(share * (dx * sin_yaw - dy * cos_yaw));
    input.up = me->grounded != 0 && crate_ahead(game, me, dx, dy) ? 127 : 0;
    input.buttons = game->door_count > 0 ? ARENA_BUTTON_USE : 0;
    return input;
}
