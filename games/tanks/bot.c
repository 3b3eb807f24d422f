// Bots: drivers that decide by what they see, and nothing else.
//
// A bot wants something for a while (its mode), thinks a few times a second (where to face, how to
// drive, whether to shoot), and in between holds on to what it thought, like a player with keys.
// That makes the motion that recorded tanks show: straight runs, arcs at full turn, stops, and
// backing off.
//
// Way-finding is by feelers: of a fan of directions it takes the one that bends least from the goal
// and is clear for long enough. Buildings are convex and keep light connections open, so this
// seldom fails; where it does, the tank notices that it does not come along, backs off, and goes
// elsewhere.
//
// Aiming leads the target by its seen velocity. A bot that is shown wrong poses aims wrong, which
// is the point: its hits measure its view.
#include "private.h"

#include <string.h>

#define BOT_STREAM UINT64_C(0x626f7400)
#define FEELER 70.0       // How far it looks for obstacles.
#define FEELER_MARGIN 1.0 // Beyond the tank's reach.
#define AIM_ERROR 0.008   // rad, standard deviation of a bot's hand.
#define AIM_LOOSE 0.01    // rad: faces its heading.
#define STEER_LOOSE 0.08  // rad: no need to correct a course for less.
#define AIM_RANGE 0.5     // Of a shot's range: beyond it a tank has left before the shot is there.
#define SWERVE 0.2        // rad, at most.
#define SWERVE_CHANCE 0.7 // Of each thought.
#define DODGE_CHANCE 0.3  // Of each thought under fire.
#define NEAR 70.0         // An enemy this close makes it careful.
#define NO_TARGET (-1)

static double unit(TanksBot *bot)
{
    return fl_random_between(&bot->random, 0.0, 1.0);
}

static int64_t ticks_between(TanksBot *bot, const TanksWorld *world, double low_s, double high_s)
{
    double seconds = low_s + (high_s - low_s) * unit(bot);
    return (int64_t)(seconds * world->rules.tick_hz) + 1;
}

void tanks_bot_init(TanksBot *bot, uint64_t seed, int32_t id)
{
    memset(bot, 0, sizeof *bot);
    bot->random.seed = seed;
    bot->random.stream = BOT_STREAM + (uint64_t)id;
    bot->target = NO_TARGET;
}

// ---------------------------------------------------------------- eyes

static double distance_to(const TanksTank *own, double x, double y)
{
    double off_x = x - own->x;
    double off_y = y - own->y;
    return sqrt(off_x * off_x + off_y * off_y);
}

static const TanksSeen *enemy_of(const TanksBot *bot, const TanksView *view)
{
    if (bot->target < 0 || bot->target >= view->tank_count || !view->tanks[bot->target].alive) {
        return NULL;
    }
    return &view->tanks[bot->target];
}

// The nearest enemy; a new one must be clearly nearer than the one it is after.
static int32_t pick_target(const TanksBot *bot, const TanksView *view)
{
    int32_t best = NO_TARGET;
    double best_squared = (double)INFINITY;
    for (int32_t i = 0; i < view->tank_count; i++) {
        const TanksSeen *seen = &view->tanks[i];
        if (!seen->alive || i == view->own->id) {
            continue;
        }
        double x = seen->x - view->own->x;
        double y = seen->y - view->own->y;
        double squared = (x * x + y * y) * (i == bot->target ? 0.5 : 1.0);
        if (squared < best_squared) {
            best = i;
            best_squared = squared;
        }
    }
    return best;
}

static bool in_sight(const TanksView *view, const TanksSeen *seen)
{
    double way = distance_to(view->own, seen->x, seen->y);
    if (way < 1e-6) {
        return true;
    }
    double dx = (seen->x - view->own->x) / way;
    double dy = (seen->y - view->own->y) / way;
    return tanks_world_ray(view->world, view->own->x, view->own->y, dx, dy, way) >= way;
}

// The direction in which a shot meets the target if that goes straight on: |p + v t| = speed t.
static double lead_angle(const TanksView *view, const TanksSeen *seen)
{
    double speed = view->world->rules.shot_speed;
    double x = seen->x - view->own->x;
    double y = seen->y - view->own->y;
    double a = speed * speed - seen->vx * seen->vx - seen->vy * seen->vy;
    double b = x * seen->vx + y * seen->vy;
    if (!(a > 0.0)) { // shown faster than a shot: no tank, a glitch
        return fl_atan2(y, x);
    }
    double t = (b + sqrt(b * b + a * (x * x + y * y))) / a;
    return fl_atan2(y + seen->vy * t, x + seen->vx * t);
}

// True if a shot of somebody else's will pass close by within a second.
static bool under_fire(const TanksView *view)
{
    const TanksTank *own = view->own;
    FlTime now = tanks_tick_time(view->world, view->tick);
    for (int32_t i = 0; i < view->shot_count; i++) {
        const TanksShot *shot = &view->shots[i];
        double x, y;
        if (shot->event.tank == own->id || !tanks_shot_position(view->world, shot, now, &x, &y)) {
            continue;
        }
        double speed = view->world->rules.shot_speed;
        double vx = shot->dx * speed - own->vx;
        double vy = shot->dy * speed - own->vy;
        x -= own->x;
        y -= own->y;
        double t = -(x * vx + y * vy) / (vx * vx + vy * vy); // shots are faster than tanks
        double miss_x = x + vx * t;
        double miss_y = y + vy * t;
        if (t > 0.0 && t < 1.0 && miss_x * miss_x + miss_y * miss_y < 25.0) {
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- feelers

// How far the tank could go in this direction, at most FEELER. A box that it already touches with
// its margin counts only in directions that lead into it.
static double clear_way(const TanksView *view, double angle)
{
    const TanksWorld *world = view->world;
    const TanksTank *own = view->own;
    double margin = world->tank_reach + FEELER_MARGIN;
    double dx, dy;
    fl_sincos(angle, &dy, &dx);
    double free = FEELER;
    double extent = world->rules.half_extent - margin;
    double wall_x = dx > 0.0 ? (extent - own->x) / dx : dx < 0.0 ? (-extent - own->x) / dx : FEELER;
    double wall_y = dy > 0.0 ? (extent - own->y) / dy : dy < 0.0 ? (-extent - own->y) / dy : FEELER;
    free = wall_x < free ? wall_x : free;
    free = wall_y < free ? wall_y : free;
    for (int32_t i = 0; i < world->building_count; i++) {
        const TanksBox *box = &world->building[i];
        double way = tanks__ray_box(box, margin, own->x, own->y, dx, dy);
        if (way >= free) {
            continue;
        }
        if (way < 0.0) { // inside the margin: the way out is away from the nearest point
            double out_x = own->x - number_clamp(own->x, box->low_x, box->high_x);
            double out_y = own->y - number_clamp(own->y, box->low_y, box->high_y);
            if (out_x * dx + out_y * dy > 0.0) {
                continue;
            }
            way = 0.0;
        }
        free = way;
    }
    return free < 0.0 ? 0.0 : free;
}

// The direction to go in order to get to (x, y): straight, or past what is in between.
static double steer_angle(const TanksView *view, double x, double y)
{
    static const double bend[] = {0.0,  0.3, -0.3, 0.6, -0.6, 1.0,
                                  -1.0, 1.5, -1.5, 2.2, -2.2, FL_PI};
    double straight = fl_atan2(y - view->own->y, x - view->own->x);
    double goal = distance_to(view->own, x, y);
    double enough = goal < FEELER ? goal : FEELER;
    double best = straight;
    double best_cost = (double)INFINITY;
    for (size_t i = 0; i < sizeof bend / sizeof bend[0]; i++) {
        double angle = straight + bend[i];
        double free = clear_way(view, angle);
        if (free >= enough && i == 0) {
            return straight;
        }
        // Also mind where it faces now: flipping between left and right of a building leads
        // nowhere.
        double turn = fabs(fl_angle_wrap(angle - view->own->yaw));
        double cost =
            fabs(bend[i]) + 0.4 * turn + 3.0 * (1.0 - (free < enough ? free / enough : 1.0));
        if (cost < best_cost) {
            best = angle;
            best_cost = cost;
        }
    }
    return fl_angle_wrap(best);
}

// ---------------------------------------------------------------- wanting

static void roam_somewhere(TanksBot *bot, const TanksView *view)
{
    double extent = view->world->rules.half_extent * 0.9;
    bot->mode = TANKS_BOT_ROAM;
    bot->goal_x = fl_random_between(&bot->random, -extent, extent);
    bot->goal_y = fl_random_between(&bot->random, -extent, extent);
    bot->mode_until = view->tick + ticks_between(bot, view->world, 3.0, 8.0);
}

static void want(TanksBot *bot, const TanksView *view, TanksBotMode mode, double low_s,
                 double high_s)
{
    bot->mode = mode;
    bot->mode_until = view->tick + ticks_between(bot, view->world, low_s, high_s);
}

static void choose_mode(TanksBot *bot, const TanksView *view)
{
    bot->target = pick_target(bot, view);
    const TanksSeen *enemy = enemy_of(bot, view);
    double dice = unit(bot);
    if (enemy == NULL || dice < 0.17) {
        roam_somewhere(bot, view);
        return;
    }
    bool near = distance_to(view->own, enemy->x, enemy->y) < NEAR;
    if (dice < (near ? 0.6 : 0.34)) {
        want(bot, view, TANKS_BOT_BACK, 0.8, 2.2);
    } else if (dice < (near ? 0.7 : 0.44)) {
        want(bot, view, TANKS_BOT_STAND, 0.2, 1.2);
    } else {
        want(bot, view, TANKS_BOT_HUNT, 1.0, 4.0);
    }
}

// Has it come along since the last look? If not, whatever it wanted is in the way of something.
static bool is_stuck(TanksBot *bot, const TanksView *view)
{
    int64_t look_ticks = view->world->rules.tick_hz * 3 / 4;
    if (view->tick - bot->past_at < look_ticks) {
        return false;
    }
    double moved = distance_to(view->own, bot->past_x, bot->past_y);
    double seconds = (double)(view->tick - bot->past_at) * view->world->tick_s;
    bool stuck = bot->drive != 0.0 && view->own->sliding &&
                 moved < 0.2 * view->world->rules.top_speed * seconds;
    bot->past_at = view->tick;
    bot->past_x = view->own->x;
    bot->past_y = view->own->y;
    return stuck;
}

static void get_unstuck(TanksBot *bot, const TanksView *view)
{
    bool was_ahead = bot->drive > 0.0;
    double turn = fl_random_between(&bot->random, 0.6, 2.0);
    double side = unit(bot) < 0.5 ? -1.0 : 1.0;
    roam_somewhere(bot, view);
    bot->drive = was_ahead ? -1.0 : 1.0;
    bot->heading = fl_angle_wrap(view->own->yaw + side * turn);
    bot->aiming = false;
    bot->think_at = view->tick + ticks_between(bot, view->world, 0.7, 1.5);
}

// ---------------------------------------------------------------- thinking

// Faces where the enemy will be, if a shot could get there. False if there is no use in it.
static bool take_aim(TanksBot *bot, const TanksView *view)
{
    const TanksSeen *enemy = enemy_of(bot, view);
    double error = AIM_ERROR * fl_random_normal(&bot->random); // drawn always: no hidden branches
    if (enemy == NULL || !in_sight(view, enemy) ||
        distance_to(view->own, enemy->x, enemy->y) > view->world->rules.shot_range * AIM_RANGE) {
        return false;
    }
    bot->aim_error = error;
    bot->aiming = true;
    return true;
}

// Goes for (x, y), round what is in the way; turns on the spot where an arc has no room.
static void drive_to(TanksBot *bot, const TanksView *view, double x, double y)
{
    double heading = steer_angle(view, x, y);
    double swerve = unit(bot);
    double side = fl_random_between(&bot->random, -SWERVE, SWERVE);
    if (swerve < SWERVE_CHANCE && clear_way(view, heading + side) > 40.0) {
        heading = fl_angle_wrap(heading + side); // who drives straight is hit
    }
    if (fabs(fl_angle_wrap(heading - bot->heading)) > STEER_LOOSE) {
        bot->heading = heading;
    }
    double turn = fabs(fl_angle_wrap(bot->heading - view->own->yaw));
    double ahead = clear_way(view, view->own->yaw);
    bot->drive = turn > 0.25 && ahead < 30.0 * turn ? 0.0 : 1.0;
    if (bot->drive == 0.0 && clear_way(view, view->own->yaw + FL_PI) > 20.0 && unit(bot) < 0.6) {
        bot->drive = -1.0; // backing off while turning, as drivers do
    }
}

static void think_hunt(TanksBot *bot, const TanksView *view)
{
    const TanksSeen *enemy = enemy_of(bot, view);
    if (enemy == NULL) {
        choose_mode(bot, view);
        return;
    }
    bool loaded_soon = view->own->ready_at - view->tick < view->world->rules.tick_hz / 2;
    if (clear_way(view, view->own->yaw) > 35.0 && loaded_soon && take_aim(bot, view)) {
        bot->drive = 1.0;
        return;
    }
    drive_to(bot, view, enemy->x, enemy->y);
}

static void think_by_mode(TanksBot *bot, const TanksView *view)
{
    switch (bot->mode) {
    case TANKS_BOT_HUNT:
        think_hunt(bot, view);
        break;
    case TANKS_BOT_ROAM:
        drive_to(bot, view, bot->goal_x, bot->goal_y);
        if (distance_to(view->own, bot->goal_x, bot->goal_y) < 15.0) {
            bot->mode_until = view->tick;
        }
        break;
    case TANKS_BOT_BACK:
        take_aim(bot, view);
        bot->drive = clear_way(view, view->own->yaw + FL_PI) > 8.0 ? -1.0 : 0.0;
        if (bot->drive == 0.0) {
            bot->mode_until = view->tick; // the way back ends here
        }
        break;
    case TANKS_BOT_STAND:
    default:
        take_aim(bot, view);
        bot->drive = 0.0;
        break;
    }
}

static void think(TanksBot *bot, const TanksView *view)
{
    bot->think_at = view->tick + ticks_between(bot, view->world, 0.15, 0.4);
    bot->aiming = false;
    if (is_stuck(bot, view)) {
        get_unstuck(bot, view);
        return;
    }
    if (view->tick >= bot->mode_until) {
        choose_mode(bot, view);
    }
    think_by_mode(bot, view);
    if (view->tick >= bot->dodge_until && unit(bot) < DODGE_CHANCE && under_fire(view)) {
        bot->drive = bot->drive > 0.0 ? -1.0 : 1.0;
        bot->think_at = view->tick + ticks_between(bot, view->world, 0.5, 0.9);
        bot->dodge_until = bot->think_at + ticks_between(bot, view->world, 0.5, 1.5);
    }
}

// ---------------------------------------------------------------- hands

// As much turn as brings it to its heading: full, then the rest in one tick; with inertia no more
// than it can still brake.
static double turn_for(const TanksView *view, double error)
{
    const TanksRules *rules = &view->world->rules;
    double size = fabs(error);
    double rate = size / view->world->tick_s;
    if (isfinite(rules->turn_acceleration)) {
        double brake = sqrt(2.0 * rules->turn_acceleration * size);
        rate = brake < rate ? brake : rate;
    }
    double turn = number_clamp(rate / rules->top_turn_rate, 0.0, 1.0);
    return error < 0.0 ? -turn : turn;
}

static void start_life(TanksBot *bot, const TanksView *view)
{
    bot->life = view->own->life;
    bot->target = NO_TARGET;
    bot->mode_until = bot->think_at = bot->dodge_until = view->tick;
    bot->past_at = view->tick;
    bot->past_x = view->own->x;
    bot->past_y = view->own->y;
    bot->heading = view->own->yaw;
    bot->drive = 0.0;
    bot->aiming = false;
}

TanksInput tanks_bot_decide(TanksBot *bot, const TanksView *view)
{
    TanksInput input = {0};
    const TanksTank *own = view->own;
    FL_ASSERT(own != NULL);
    if (!own->alive) {
        return input;
    }
    if (own->life != bot->life) {
        start_life(bot, view);
    }
    if (view->tick >= bot->think_at) {
        think(bot, view);
    }
    const TanksSeen *enemy = enemy_of(bot, view);
    if (bot->aiming && enemy != NULL) { // eyes follow the target also between thoughts
        bot->heading = fl_angle_wrap(lead_angle(view, enemy) + bot->aim_error);
    }
    double error = fl_angle_wrap(bot->heading - own->yaw);
    input.drive = bot->drive;
    input.turn = turn_for(view, error);
    if (bot->aiming && fabs(error) < AIM_LOOSE && view->tick >= own->ready_at) {
        input.fire = true;
        bot->aiming = false;
    }
    return input;
}
