// A step of one peer: what came in, what is seen, what we do, what is told.
// Things have no motion, so their entity is made known by its state alone. A thing's blob: for each
// of its owner's items and doors, in order, 32 bits when it is back (or shuts) and 16 bits how
// often it was taken (or used).
#include "lab/arena_node.h"

#include <math.h>
#include <string.h>

enum { KIND_PLAYER = 1, KIND_THINGS = 2 };
enum { EVENT_MISSILE = 1 };

#define TICK_SECONDS (1.0 / ARENA_TICK_HZ)
#define NEARING_BOOST 0.25 // a replica that has to catch up is so much faster than legs
#define PROMPT FL_MS(500)
#define OVERDUE_TICKS 15

FlSessionDef arena_node_session(const ArenaGame *game, int32_t players)
{
    FlSessionDef def = fl_session_def_default();
    def.topology = FL_TOPOLOGY_MESH;
    def.world = arena_wire_world(game, 2 * players);
    def.peer_capacity = players - 1;
    def.line_capacity = players - 1;
    def.entity_capacity = 2 * players;
    def.item_capacity = 256;
    def.path_capacity = 128; // who waits for seconds is not forgotten
    def.calls.asked_capacity = ARENA_NODE_ASKED;
    def.link.ack_delay_ns = FL_SEC(3);
    def.join_timeout_ns = FL_SEC(60);
    return def;
}

// ---------------------------------------------------------------- what comes in

static void entity_heard(ArenaNode *node, FlEntityId id)
{
    FlEntityStatus status;
    FlPeerStatus owner;
    if (fl_entity_status(node->session, id, &status) != FL_OK || status.ours ||
        fl_peer_status(node->session, status.owner, &owner) != FL_OK ||
        owner.number >= node->view.player_count) {
        return;
    }
    if (status.kind == KIND_PLAYER) {
        node->seen[owner.number].entity = id;
    } else if (status.kind == KIND_THINGS) {
        node->seen[owner.number].things = id;
        arena_things_read(node, owner.number, id);
    }
}

// Whose an entity is and what, may be told after the first that is heard of it.
static void find_all(ArenaNode *node)
{
    bool complete = true;
    for (int32_t i = 0; i < node->view.player_count; i++) {
        const ArenaSeen *seen = &node->seen[i];
        complete = complete &&
                   (i == node->player || (seen->entity.index1 != 0 && seen->things.index1 != 0));
    }
    for (FlEntityId id = fl_entity_next(node->session, (FlEntityId){0});
         id.index1 != 0 && !complete; id = fl_entity_next(node->session, id)) {
        entity_heard(node, id);
    }
}

static void take_all(ArenaNode *node, FlTime now)
{
    FlNotice notice;
    while (fl_session_poll(node->session, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_ENTITY_NEW || notice.kind == FL_NOTICE_ENTITY_STATE) {
            entity_heard(node, notice.entity);
        }
    }
    FlEvent event;
    while (fl_event_take(node->session, &event) == FL_OK) {
        FlReader r;
        ArenaMissile missile;
        fl_reader_init(&r, event.bytes, event.count);
        if (event.type == EVENT_MISSILE && arena_missile_decode(&r, &missile)) {
            (void)arena_missile_show(node->def.game, &node->view, &missile);
        }
    }
    arena_calls_learn(node, now);
    arena_calls_decide(node, now);
}

// ---------------------------------------------------------------- what is seen

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
    ArenaWalk to = {goal, yaw, -guide->goal.pitch, guide->goal.seconds};
    arena_step_replica(node->def.game, &node->view, other,
                       arena_walk_to(node->def.game, &node->view, other, &to));
    if (guide->mode == FL_GUIDE_NEARING) { // legs alone never catch up with one who runs away
        double vx = p->vx;
        double vy = p->vy;
        double vz = p->vz;
        slide(p, goal, 0.0, ARENA_RUN_SPEED * NEARING_BOOST);
        p->vx += vx;
        p->vy += vy;
        p->vz = vz;
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

static void see(ArenaNode *node, int32_t other, FlTime now)
{
    ArenaSeen *seen = &node->seen[other];
    ArenaPlayer *p = &node->view.player[other];
    FlReplica replica = {ARENA_NODE_DIAMETER, seen->known, fl_vec3(p->x, p->y, p->z)};
    FlGuideView guide;
    if (seen->entity.index1 == 0 ||
        fl_entity_guide_view(node->session, seen->entity, &replica, now, &guide) != FL_OK) {
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

static void look(ArenaNode *node, FlTime now)
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

// ---------------------------------------------------------------- what is told

static int32_t lookers(const ArenaNode *node, FlPeerId to[ARENA_PLAYER_CAPACITY])
{
    int32_t count = 0;
    for (FlPeerId peer = fl_peer_next(node->session, (FlPeerId){0});
         peer.index1 != 0 && count < ARENA_PLAYER_CAPACITY;
         peer = fl_peer_next(node->session, peer)) {
        double attention;
        FlSendClass send_class;
        FlResult result =
            fl_entity_looks(node->session, node->entity, peer, &attention, &send_class);
        if (result == FL_OK && send_class == FL_CLASS_FOCUS) {
            to[count++] = peer;
        }
    }
    return count;
}

// Who looks sees missiles; the others see blanks.
static void missiles_tell(ArenaNode *node)
{
    for (int32_t m = 0; m < node->view.missile_count; m++) {
        const ArenaMissile *missile = &node->view.missile[m];
        if (missile->owner != node->player || missile->number <= node->missile_told) {
            continue;
        }
        node->missile_told = missile->number;
        uint8_t bytes[ARENA_MISSILE_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        FlPeerId to[ARENA_PLAYER_CAPACITY];
        int32_t count = lookers(node, to);
        FlEvent event = {.type = EVENT_MISSILE, .delivery = FL_DELIVERY_UNORDERED};
        event.bytes = bytes;
        event.count = sizeof bytes;
        if (count > 0 && arena_missile_encode(&w, missile)) {
            (void)!fl_event_send_some(node->session, to, count, &event);
        }
    }
}

static FlVec3 predicted(const ArenaNode *node, FlTime ahead)
{
    const ArenaPlayer *p = &node->view.player[node->player];
    double seconds = fl_span_seconds(ahead);
    if (node->def.recorded) { // keys are not known: the pace is held
        return fl_vec3(p->x + p->vx * seconds, p->y + p->vy * seconds, p->z);
    }
    return arena_predict(node->def.game, &node->view, node->player, node->input, seconds).position;
}

static void guide(const ArenaNode *node, FlTime now)
{
    const ArenaPlayer *p = &node->view.player[node->player];
    FlTime ahead = fl_entity_guide_ahead(node->session, node->entity);
    FlGuidance guidance = {
        .ahead_ns = ahead,
        .position = predicted(node, ahead),
        .yaw = p->yaw,
        .pitch = -p->pitch,
        .actions = {(uint8_t)(p->shots & 15u), (uint8_t)(p->jumps & 15u)},
    };
    int32_t target = arena_player_aims_at(&node->view, node->player, NULL);
    FlEntityStatus status;
    if (target >= 0 && node->seen[target].entity.index1 != 0 &&
        fl_entity_status(node->session, node->seen[target].entity, &status) == FL_OK) {
        const ArenaPlayer *t = &node->view.player[target];
        guidance.aimed = true;
        guidance.target = status.number;
        guidance.yaw = fl_angle_wrap(p->yaw - fl_atan2(t->y - p->y, t->x - p->x));
    }
    (void)!fl_entity_guide(node->session, node->entity, &guidance, now);
}

// Told when it dies: which life has ended, by the player's count and (in `deaths`) by ours of cuts;
// an update of a later life shows that it lives again. Health, armour, weapon, shots and score
// change too often to be told to all: a hit's answer says so to whom it concerns, and guidance
// counts actions.
static void death_tell(const ArenaNode *node, const ArenaPlayer *p)
{
    ArenaStatus status = arena_player_status(p);
    status.shots = 0;
    status.jumps = 0;
    status.score = 0;
    status.armour = 0;
    status.health = 0;
    status.weapon = ARENA_WEAPON_GUN;
    status.deaths = (uint16_t)(node->cuts & 0xffffu);
    uint8_t bytes[ARENA_STATUS_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    if (arena_status_encode(&w, &status)) {
        (void)!fl_entity_state_set(node->session, node->entity, bytes, sizeof bytes);
    }
}

static void tell(ArenaNode *node, FlTime now)
{
    const ArenaPlayer *p = &node->view.player[node->player];
    if (p->life != node->life || (node->dead && p->alive != 0)) {
        node->life = p->life;
        node->cuts++;
        (void)!fl_entity_cut(node->session, node->entity);
    }
    FlState state = arena_player_state(p, now);
    if (node->def.recorded) {
        state.acceleration = fl_vec3(0.0, 0.0, 0.0);
    }
    (void)!fl_entity_set(node->session, node->entity, &state);
    if (p->alive == 0 && !node->dead) {
        death_tell(node, p);
    }
    node->dead = p->alive == 0;
    if (node->def.guided) {
        guide(node, now);
    }
}

// ---------------------------------------------------------------- making, and a step

static FlResult entities_make(ArenaNode *node)
{
    FlEntityDef def = fl_entity_def_default();
    def.kind = KIND_PLAYER;
    def.send = node->def.send;
    def.trigger = node->def.trigger;
    def.guided = node->def.guided;
    FlResult result = fl_entity_create(node->session, &def, &node->entity);
    if (result != FL_OK) {
        return result;
    }
    FlEntityDef things = fl_entity_def_default();
    things.kind = KIND_THINGS;
    result = fl_entity_create(node->session, &things, &node->things);
    if (result == FL_OK) {
        arena_things_tell(node);
    }
    return result;
}

FlResult arena_node_start(ArenaNode *node, const ArenaNodeDef *def, FlSession *session)
{
    FL_ASSERT(!arena_def(def->game)->flags);
    memset(node, 0, sizeof *node);
    node->def = *def;
    node->session = session;
    FlPeerStatus self;
    FlResult result = fl_peer_status(session, fl_peer_self(session), &self);
    if (result != FL_OK) {
        return result;
    }
    node->player = self.number;
    arena_start(def->game, &node->view);
    node->life = node->view.player[node->player].life;
    arena_bot_init(&node->bot, def->seed, node->player, def->character, def->skill);
    for (int32_t i = 0; i < ARENA_PLAYER_CAPACITY; i++) {
        node->seen[i].nearing = FL_FOREVER;
        node->seen[i].mode = FL_GUIDE_NEAR;
    }
    FlAttentionDef attention = fl_attention_def_default();
    attention.player_capacity = node->view.player_count;
    attention.metre = 32.0;
    attention.reach =
        arena_def(def->game)->map == ARENA_MAP_PLAIN ? 1500.0 : arena_half_extent(def->game);
    result = fl_attention_create(&attention, &node->attention);
    return result == FL_OK ? entities_make(node) : result;
}

void arena_node_stop(ArenaNode *node)
{
    if (node->attention != NULL) {
        fl_attention_destroy(node->attention);
        node->attention = NULL;
    }
}

void arena_node_serve(ArenaNode *node, FlTime now)
{
    take_all(node, now);
    arena_deeds_go(node, &node->deeds, now);
}

void arena_node_step(ArenaNode *node, const ArenaRow *row, FlTime now)
{
    take_all(node, now);
    find_all(node);
    for (int32_t i = 0; i < node->view.player_count; i++) {
        if (i != node->player) {
            see(node, i, now);
        }
    }
    if (node->def.recorded) {
        node->view.tick++;
        if (row != NULL) {
            (void)arena_player_put(&node->view, node->player, row);
        }
    } else {
        const ArenaGame *game = node->def.game;
        node->input = arena_bot_decide(game, &node->bot, &node->view, node->player);
        arena_step_one(game, &node->view, node->player, node->input, &node->deeds);
    }
    arena_deeds_go(node, &node->deeds, now);
    look(node, now);
    tell(node, now);
    missiles_tell(node);
}
