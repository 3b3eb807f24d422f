// What one peer sees of the others: put where they are told to be, or walked there as replicas; and
// whom it looks at.
#include "arena/node.h"

#include <math.h>

#define TICK_SECONDS (1.0 / ARENA_TICK_HZ)
#define NEARING_STEPS 2 // of legs in a tick, for a replica that has to catch up
#define PROMPT FL_MS(500)
#define OVERDUE_TICKS 15

static ArenaStatus status_of(const ArenaNode *node, FlEntityId id)
{
    // Until it has died once nothing is told: its first life, or nobody could hit it.
    ArenaStatus status = {
        .life = 1, .health = 100, .weapon = ARENA_WEAPON_GUN, .carries = ARENA_TEAM_COUNT};
    const uint8_t *bytes;
    int32_t count;
    FlReader r;
    if (fl_entity_state(node->session, id, &bytes, &count) == FL_OK && count > 0) {
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

// Guidance that is overdue: the player most likely goes on as it went.
static FlVec3 goal_now(ArenaSeen *seen, const ArenaPlayer *p, const FlGuideView *guide,
                       double speed)
{
    const FlGuideGoal *goal = &guide->goal;
    if (guide->mode == FL_GUIDE_NEARING) {
        return goal->position;
    }
    if (fl_vec3_distance(goal->position, seen->goal) > 0.0) {
        double seconds = goal->seconds > TICK_SECONDS ? goal->seconds : TICK_SECONDS;
        FlVec3 way = fl_vec3(goal->position.x - p->x, goal->position.y - p->y, 0.0);
        double pace = sqrt(way.x * way.x + way.y * way.y) / seconds;
        double share = pace > speed ? speed / pace : 1.0;
        seen->goal = goal->position;
        seen->pace = fl_vec3_scale(way, share / seconds);
        seen->overdue = 0;
    }
    if (goal->seconds <= 0.0 && seen->overdue < OVERDUE_TICKS) {
        seen->overdue++;
    }
    return fl_vec3_add(goal->position, fl_vec3_scale(seen->pace, seen->overdue * TICK_SECONDS));
}

static void walk(ArenaNode *node, int32_t other, const FlGuideView *guide, double yaw)
{
    ArenaPlayer *p = &node->view.player[other];
    FlVec3 goal = goal_now(&node->seen[other], p, guide, node->def.run_speed);
    if (node->def.recorded) {
        slide(p, goal, guide->goal.seconds, node->def.run_speed);
        p->yaw = yaw;
        return;
    }
    // Legs alone never catch up with one who runs away: until it is near, it runs twice as fast. It
    // does not fall twice as fast.
    int32_t steps = guide->mode == FL_GUIDE_NEARING ? NEARING_STEPS : 1;
    for (int32_t i = 0; i < steps && (i == 0 || p->grounded != 0); i++) {
        ArenaWalk to = {goal, yaw, -guide->goal.pitch, guide->goal.seconds};
        arena_step_replica(node->def.game, &node->view, other,
                           arena_walk_to(node->def.game, &node->view, other, &to));
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
    FlResult result = fl_entity_guide_view(node->session, seen->entity, &replica, now, &guide);
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
        pose = (FlPose){.position = placed ? guide.goal.position : replica.position,
                        .velocity = {p->vx, p->vy, p->vz},
                        .yaw = yaw};
    }
    int32_t grounded = p->grounded;
    (void)arena_player_show(node->def.game, &node->view, other, &pose, &status);
    if (!node->def.recorded && p->z < ARENA_FEET) { // predicted through the floor: it would fall on
        p->z = ARENA_FEET;
        p->vz = 0.0;
    }
    if (!placed) {
        p->grounded = grounded;
        walk(node, other, &guide, yaw);
    }
    seen->blanks += guide.blanks[0] + guide.blanks[1];
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
    fl_attention_weigh(node->attention, node->player, fl_attention_weights(stance));
    fl_attention_look(node->attention, node->player, now);
    const float *looks = fl_attention_of(node->attention, node->player);
    for (int32_t i = 0; i < node->view.player_count; i++) {
        ArenaSeen *seen = &node->seen[i];
        seen->attention = (double)looks[i];
        if (node->def.attentive && seen->entity.index1 != 0) {
            (void)!fl_entity_attention(node->session, seen->entity, seen->attention);
        }
    }
}
