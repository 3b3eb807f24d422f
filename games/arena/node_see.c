// What one peer sees of the others: put where they are told to be, or walked there as replicas; and
// whom it looks at.
#include "arena/node.h"

#include <math.h>

#define TICK_SECONDS (1.0 / ARENA_TICK_HZ)
#define NEARING_STEPS 2 // of legs in a tick, for a replica that has to catch up
#define PROMPT FL_MS(500)
#define BEHIND 1.2 // times what legs can: it has to catch up
#define MEETS_SECONDS 0.4
#define TURN 0.6      // rad in a tick: as fast as the best hand
#define STAYS 2.0     // units: nearer to where it was to be before than this, it stands
#define SLOW 160.0    // units a second: who walks slower seems to stand
#define ROUND 60.0    // units: so far around the place where it is to be,
#define PACE 280.0    // so many a second,
#define TURNS 0.8     // and rad at a time
#define THROUGH 400.0 // units: further off than this behind a wall, it is put where it is

static ArenaStatus status_of(const ArenaNode *node, FlEntityId id)
{
    // Until it has died once nothing is told: its first life, or nobody could hit it.
    ArenaStatus status = {
        .life = 1, .health = 100, .weapon = ARENA_WEAPON_GUN, .carries = ARENA_TEAM_COUNT};
    const uint8_t *bytes;
    int32_t count;
    FlReader r;
    if (fl_entity_state_get(node->session, id, &bytes, &count) == FL_OK && count > 0) {
        ArenaStatus told;
        fl_reader_init(&r, bytes, count);
        status = arena_status_decode(&r, &told) ? told : status;
    }
    return status;
}

// Where a goal's yaw points, for a replica that stands there.
static double goal_yaw(const ArenaNode *node, int32_t other, const FlGuideGoal *goal)
{
    if (!goal->aimed) {
        return goal->yaw;
    }
    const ArenaPlayer *target = NULL;
    FlEntityStatus status;
    for (int32_t i = 0; i < node->view.player_count && target == NULL; i++) {
        FlEntityId id = i == node->player ? node->entity : node->seen[i].entity;
        bool it = id.index1 != 0 && fl_entity_status(node->session, id, &status) == FL_OK &&
                  status.number == goal->target;
        target = it ? &node->view.player[i] : NULL;
    }
    const ArenaPlayer *self = &node->view.player[other];
    if (target == NULL || target == self) {
        return self->yaw;
    }
    return fl_angle_wrap(fl_atan2(target->y - self->y, target->x - self->x) + goal->yaw);
}

// Without a map: straight there.
static void slide(ArenaPlayer *p, FlVec3 to, double seconds, double speed)
{
    double dx = to.x - p->x;
    double dy = to.y - p->y;
    double dz = to.z - p->z;
    double far = sqrt(dx * dx + dy * dy + dz * dz);
    double pace = far / (seconds > TICK_SECONDS ? seconds : TICK_SECONDS);
    double step = (pace < speed ? pace : speed) * TICK_SECONDS;
    double share = far > 1e-9 ? step / far : 0.0;
    p->x += dx * share;
    p->y += dy * share;
    p->z += dz * share;
    p->vx = dx * share / TICK_SECONDS;
    p->vy = dy * share / TICK_SECONDS;
    p->vz = dz * share / TICK_SECONDS;
}

// Steps of legs in this tick. Legs alone never catch up with one who runs: a replica that is late
// takes three in two ticks, one that is to become the player itself two in each. It does not fall
// faster than others.
static int32_t steps_of(const ArenaNode *node, const ArenaPlayer *p, const FlGuideView *guide)
{
    double dx = guide->goal.position.x - p->x;
    double dy = guide->goal.position.y - p->y;
    double seconds = guide->goal.seconds > TICK_SECONDS ? guide->goal.seconds : TICK_SECONDS;
    bool late = sqrt(dx * dx + dy * dy) > BEHIND * ARENA_RUN_SPEED * seconds;
    bool twice = guide->mode == FL_GUIDE_NEARING || (late && node->view.tick % 2 == 0);
    return twice ? NEARING_STEPS : 1;
}

// Where to run: to meet a player that moves, ahead of it.
static FlVec3 meeting(const ArenaPlayer *p, const FlGuideView *guide)
{
    FlVec3 goal = guide->goal.position;
    if (guide->mode != FL_GUIDE_NEARING) {
        return goal;
    }
    double far = fl_vec3_distance(goal, fl_vec3(p->x, p->y, p->z));
    double seconds = far / (NEARING_STEPS * ARENA_RUN_SPEED);
    seconds = seconds < MEETS_SECONDS ? seconds : MEETS_SECONDS;
    FlVec3 pace = guide->pose.velocity;
    return fl_vec3_add(goal, fl_vec3(pace.x * seconds, pace.y * seconds, 0.0));
}

// Published guidance says where a player will be and nothing of its way. A replica that would be
// there early does not wait, it goes round the place as who fights does, until it is time; the
// other way round where it gets nowhere. One that is to be where it was to be before stands: so
// does its player.
static void go_round(const ArenaNode *node, ArenaSeen *seen, const ArenaPlayer *p,
                     FlGuideView *guide)
{
    FlGuideGoal *goal = &guide->goal;
    if (goal->time != seen->end_time) {
        seen->stays = seen->end_time != 0 && fl_vec3_distance(goal->position, seen->end) < STAYS;
        seen->end_time = goal->time;
        seen->end = goal->position;
    }
    double dx = p->x - goal->position.x;
    double dy = p->y - goal->position.y;
    bool early =
        sqrt(dx * dx + dy * dy) < SLOW * goal->seconds && goal->seconds > ROUND / ARENA_RUN_SPEED;
    if (guide->mode != FL_GUIDE_FAR || node->def.points > 0 || seen->stays || !early) {
        return;
    }
    bool held_up = sqrt(p->vx * p->vx + p->vy * p->vy) < SLOW / 2.0;
    int32_t first = node->view.tick % 2 == 0 ? 1 : -1;
    seen->turns = seen->turns == 0 ? first : held_up ? -seen->turns : seen->turns;
    double sin_at, cos_at;
    fl_sincos(fl_atan2(dy, dx) + TURNS * seen->turns, &sin_at, &cos_at);
    goal->position.x += ROUND * cos_at;
    goal->position.y += ROUND * sin_at;
    dx = goal->position.x - p->x;
    dy = goal->position.y - p->y;
    goal->seconds = sqrt(dx * dx + dy * dy) / PACE;
}

static void walk(ArenaNode *node, int32_t other, FlGuideView *guide, double yaw)
{
    ArenaPlayer *p = &node->view.player[other];
    ArenaSeen *seen = &node->seen[other];
    go_round(node, seen, p, guide);
    if (node->def.recorded) {
        slide(p, guide->goal.position, guide->goal.seconds, node->def.run_speed);
        p->yaw = yaw;
        return;
    }
    int32_t steps = steps_of(node, p, guide);
    FlVec3 goal = meeting(p, guide);
    for (int32_t i = 0; i < steps && (i == 0 || p->grounded != 0); i++) {
        ArenaWalk to = {goal, yaw, -guide->goal.pitch, guide->goal.seconds};
        ArenaInput input = arena_walk_to(node->def.game, &node->view, other, &to);
        if (seen->jumps_now && p->grounded != 0) {
            input.up = 127;
            seen->jumps_now = false;
        }
        arena_step_replica(node->def.game, &node->view, other, input);
    }
}

// No faster than a hand turns.
static double turned(double from, double to)
{
    double turn = fl_angle_wrap(to - from);
    turn = turn > TURN ? TURN : turn < -TURN ? -TURN : turn;
    return fl_angle_wrap(from + turn);
}

// Where a life is shown to begin. Guidance says where it will be, and nobody stands there and waits
// for it: a replica comes from where players start.
static FlVec3 place_of(const ArenaNode *node, const FlGuideView *guide)
{
    FlVec3 goal = guide->goal.position;
    FlVec3 start = arena_spawn_near(node->def.game, goal);
    double reach = BEHIND * ARENA_RUN_SPEED * guide->goal.seconds;
    bool comes = guide->cut && !node->def.recorded && fl_vec3_distance(start, goal) < reach;
    return comes ? start : goal;
}

// Snapshots are a guess between two of them, and one that knows no walls. A replica that a wall
// keeps from where they put it walks around.
static void keep_out(ArenaNode *node, int32_t other, const FlPose *pose, FlVec3 before)
{
    ArenaPlayer *p = &node->view.player[other];
    FlVec3 to = fl_vec3(p->x, p->y, p->z);
    double far = fl_vec3_distance(before, to);
    if (node->def.recorded || far > THROUGH) {
        return;
    }
    if (far > ARENA_SPEED_BOUND * TICK_SECONDS) { // it was held up before
        double share = ARENA_SPEED_BOUND * TICK_SECONDS / far;
        to = fl_vec3_add(before, fl_vec3_scale(fl_vec3_sub(to, before), share));
    }
    p->x = before.x;
    p->y = before.y;
    p->z = before.z;
    arena_step_shown(node->def.game, &node->view, other, to);
    FlVec3 now = fl_vec3(p->x, p->y, p->z);
    if (fl_vec3_distance(now, to) > ARENA_NODE_DIAMETER &&
        fl_vec3_distance(now, before) < ARENA_RUN_SPEED * TICK_SECONDS) {
        ArenaWalk walk = {to, pose->yaw, 0.0, 0.0};
        p->grounded = 1;
        arena_step_replica(node->def.game, &node->view, other,
                           arena_walk_to(node->def.game, &node->view, other, &walk));
    }
}

static void note_mode(ArenaNode *node, ArenaSeen *seen, FlGuideMode mode, FlTime now)
{
    ArenaNear *near = &node->stats.near;
    FlGuideMode before = seen->mode;
    seen->mode = mode;
    if (before == FL_GUIDE_FAR && mode != FL_GUIDE_FAR) {
        near->entered++;
        seen->nearing = now;
    }
    if (seen->nearing == FL_FOREVER || mode == FL_GUIDE_NEARING) {
        return;
    }
    FlTime span = fl_span(now, seen->nearing);
    seen->nearing = FL_FOREVER;
    if (mode == FL_GUIDE_FAR) {
        near->given_up++;
        return;
    }
    near->within += span <= PROMPT ? 1 : 0;
    near->seconds += fl_span_seconds(span);
    near->count++;
}

// It has left, or was never here.
void arena_unsee(ArenaNode *node, int32_t other)
{
    node->seen[other] = (ArenaSeen){.mode = FL_GUIDE_NEAR, .nearing = FL_FOREVER};
    node->view.player[other].alive = 0;
    node->view.player[other].health = 0;
}

void arena_see(ArenaNode *node, int32_t other, FlTime now)
{
    ArenaSeen *seen = &node->seen[other];
    ArenaPlayer *p = &node->view.player[other];
    FlReplica replica = {ARENA_NODE_DIAMETER, seen->known, fl_vec3(p->x, p->y, p->z)};
    FlGuideView guide;
    if (seen->entity.index1 == 0) {
        return;
    }
    FlResult result = fl_entity_guide_view(node->session, now, seen->entity, &replica, &guide);
    if (result == FL_STALE_ID) {
        arena_unsee(node, other);
    }
    if (result != FL_OK) {
        return;
    }
    ArenaStatus status = status_of(node, seen->entity);
    double yaw = guide.mode == FL_GUIDE_NEAR ? guide.pose.yaw : goal_yaw(node, other, &guide.goal);
    FlPose pose = guide.pose;
    uint32_t later =
        (guide.life - status.deaths) & 3u; // lives since the last death told; 3: before
    if (status.health == 0 && (later == 1 || later == 2)) {
        status.health = 100;
        status.life = (uint16_t)((status.life + later) & 0xffffu);
    }
    bool placed = guide.mode == FL_GUIDE_NEAR || guide.cut || !seen->known;
    if (guide.mode != FL_GUIDE_NEAR) {
        yaw = placed ? yaw : turned(p->yaw, yaw);
        pose = (FlPose){.position = placed ? place_of(node, &guide) : replica.position,
                        .velocity = {p->vx, p->vy, p->vz},
                        .yaw = yaw};
    }
    int32_t grounded = p->grounded;
    bool goes_on = seen->known && !guide.cut && seen->life == (guide.life & 3u);
    (void)arena_player_show(node->def.game, &node->view, other, &pose, &status);
    if (!node->def.recorded && p->z < ARENA_FEET) { // predicted through the floor: it would fall on
        p->z = ARENA_FEET;
        p->vz = 0.0;
    }
    seen->shots += guide.replayed[0];
    seen->jumps += guide.replayed[1];
    seen->jumps_now = guide.mode == FL_GUIDE_FAR && (seen->jumps_now || guide.replayed[1] > 0);
    seen->guided = guide.goal.time;
    if (!placed) {
        p->grounded = grounded;
        walk(node, other, &guide, yaw);
    } else if (guide.mode == FL_GUIDE_NEAR && node->def.guided && goes_on) {
        keep_out(node, other, &pose, replica.position);
    }
    p->shots += seen->shots; // whoever draws it sees the count rise
    p->jumps += seen->jumps;
    seen->known = true;
    seen->life = guide.life & 3u;
    note_mode(node, seen, guide.mode, now);
}

void arena_look(ArenaNode *node, FlTime now)
{
    for (int32_t i = 0; i < node->view.player_count; i++) {
        const ArenaPlayer *p = &node->view.player[i];
        fl_attention_place(node->attention, i, arena_player_eye(p),
                           arena_direction(p->yaw, p->pitch));
    }
    int32_t weapon = node->view.player[node->player].weapon;
    FlStance stance = weapon == ARENA_WEAPON_MELEE    ? FL_STANCE_CLOSE
                      : weapon == ARENA_WEAPON_SNIPER ? FL_STANCE_DISTANT
                                                      : FL_STANCE_PLAIN;
    fl_attention_stance(node->attention, node->player, stance);
    fl_attention_look(node->attention, node->player, now);
    const float *looks = fl_attention_of(node->attention, node->player);
    if (node->def.chosen > 0) {
        fl_attention_choose(node->attention, node->player, node->def.chosen, node->told);
    }
    for (int32_t i = 0; i < node->view.player_count; i++) {
        ArenaSeen *seen = &node->seen[i];
        seen->attention = (double)looks[i];
        if (node->def.attentive && seen->entity.index1 != 0) {
            double told = node->def.chosen > 0 ? (double)node->told[i] : seen->attention;
            (void)!fl_entity_attention(node->session, seen->entity, told);
        }
    }
}
