// A step of one peer: what came in, what we do, what is told. What is seen is in node_see.c, deeds
// and things in node_deeds.c.
#include "arena/node.h"

#include <string.h>

enum { KIND_PLAYER = 1, KIND_THINGS = 2 };
enum { EVENT_MISSILE = 1 };

void arena_node_capacities(FlSessionDef *def)
{
    def->tuning.item_capacity = 256;
    def->tuning.path_capacity = 128; // who waits for seconds is not forgotten
    def->tuning.calls.asked_capacity = ARENA_NODE_ASKED;
}

FlSessionDef arena_node_session(const ArenaGame *game, int32_t players)
{
    FlSessionDef def = fl_session_def_default();
    def.topology = FL_TOPOLOGY_MESH;
    def.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // as published; modes may glide
    def.world = arena_wire_world(game, 2 * players);
    def.peer_capacity = players - 1;
    def.tuning.direct_capacity = players - 1;
    def.entity_capacity = 2 * players;
    arena_node_capacities(&def);
    def.tuning.link.ack_delay_ns = FL_SEC(3);
    def.join_timeout_ns = FL_SEC(60);
    return def;
}

// ---------------------------------------------------------------- what comes in

static void things_heard(ArenaNode *node, int32_t owner, FlEntityId id)
{
    if (node->def.open) {
        node->things = id;
    } else {
        node->seen[owner].things = id;
    }
    arena_things_read(node, owner, id);
}

static void entity_heard(ArenaNode *node, FlEntityId id)
{
    FlEntityStatus status;
    FlPeerStatus owner;
    if (fl_entity_status(node->session, id, &status) != FL_OK || status.ours ||
        fl_peer_status(node->session, status.owner, &owner) != FL_OK) {
        return;
    }
    bool plays = owner.number < node->view.player_count;
    if (status.kind == KIND_PLAYER && plays) {
        node->seen[owner.number].entity = id;
    } else if (status.kind == KIND_THINGS && (plays || node->def.open)) {
        things_heard(node, owner.number, id);
    }
}

// The host is gone, and what it kept is ours: we go on from what we were told of it.
static void things_inherit(ArenaNode *node, FlEntityId id)
{
    FlEntityStatus status;
    if (fl_entity_status(node->session, id, &status) == FL_OK && status.kind == KIND_THINGS) {
        node->things = id;
    }
}

// Whose an entity is and what, may be told after the first that is heard of it.
static void find_all(ArenaNode *node)
{
    bool complete = !node->def.open || node->things.index1 != 0;
    for (int32_t i = 0; i < node->view.player_count; i++) {
        const ArenaSeen *seen = &node->seen[i];
        bool things = node->def.open || seen->things.index1 != 0;
        complete = complete && (i == node->player || (seen->entity.index1 != 0 && things));
    }
    for (FlEntityId id = {0}; fl_entity_next(node->session, &id) && !complete;) {
        entity_heard(node, id);
    }
}

void arena_node_notice(ArenaNode *node, const FlNotice *notice)
{
    if (notice->kind == FL_NOTICE_ENTITY_NEW || notice->kind == FL_NOTICE_ENTITY_STATE ||
        notice->kind == FL_NOTICE_ENTITY_THEIRS) {
        entity_heard(node, notice->entity);
    } else if (notice->kind == FL_NOTICE_ENTITY_OURS) {
        things_inherit(node, notice->entity);
    }
}

bool arena_node_event(ArenaNode *node, const FlEvent *event)
{
    FlReader r;
    ArenaMissile missile;
    fl_reader_init(&r, event->bytes, event->count);
    if (event->type != EVENT_MISSILE || !arena_missile_decode(&r, &missile)) {
        return false;
    }
    FlPeerStatus from;
    if (fl_peer_status(node->session, event->from, &from) == FL_OK &&
        from.number == missile.owner) { // else: not its own to tell of, or it has left
        (void)arena_missile_show(node->def.game, &node->view, &missile);
    }
    return true;
}

static void take_all(ArenaNode *node, FlTime now)
{
    FlNotice notice;
    while (fl_notice_take(node->session, &notice) == FL_OK) {
        arena_node_notice(node, &notice);
    }
    FlEvent event;
    while (fl_event_take(node->session, &event) == FL_OK) {
        (void)arena_node_event(node, &event);
    }
    arena_calls_learn(node, now);
    arena_calls_decide(node, now);
}

// ---------------------------------------------------------------- what is told

// In a crowd those look at us, more or less, at whom we look.
static bool is_watched(const ArenaNode *node, FlPeerId peer)
{
    FlPeerStatus of;
    FlEntityStatus status;
    return fl_peer_status(node->session, peer, &of) == FL_OK &&
           of.number < node->view.player_count &&
           fl_entity_status(node->session, node->seen[of.number].entity, &status) == FL_OK &&
           status.watched;
}

static int32_t lookers(const ArenaNode *node, FlPeerId to[ARENA_PLAYER_CAPACITY])
{
    // A target cannot judge what it does not know of: then all are told.
    bool all = arena_def(node->def.game)->judge == ARENA_JUDGE_TARGET;
    int32_t count = 0;
    for (FlPeerId peer = {0};
         fl_peer_next(node->session, &peer) && count < ARENA_PLAYER_CAPACITY;) {
        double attention;
        FlSendClass send_class;
        FlResult result =
            fl_entity_interest(node->session, node->entity, peer, &attention, &send_class);
        bool looks = result == FL_OK && send_class == FL_CLASS_FOCUS;
        if (fl_session_topology(node->session) == FL_TOPOLOGY_CROWD) {
            looks = all = is_watched(node, peer); // who looks at whom only they know
        }
        if (looks || all ||
            (node->def.open && result == FL_NOT_FOUND &&
             fl_session_topology(node->session) != FL_TOPOLOGY_CROWD)) { // the host passes it on
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
    ArenaInput input = node->input;
    if (node->born) { // its keys are still those of the dead; nobody stays where a life begins
        input = (ArenaInput){.forward = 127, .yaw = arena_angle_steps(p->yaw)};
    }
    return arena_predict(node->def.game, &node->view, node->player, input, seconds).position;
}

static void guide(ArenaNode *node, FlTime now)
{
    const ArenaPlayer *p = &node->view.player[node->player];
    FlTime ahead = fl_entity_guide_ahead(node->session, node->entity);
    FlGuidance guidance = {
        .ahead_ns = ahead,
        .position = predicted(node, ahead),
        .point_count = node->def.points,
        .yaw = p->yaw,
        .pitch = -p->pitch,
        .actions = {(uint8_t)(p->shots & 15u), (uint8_t)(p->jumps & 15u)},
    };
    for (int32_t i = 0; i < guidance.point_count; i++) {
        guidance.points[i] = predicted(node, ahead * i / guidance.point_count);
    }
    int32_t target = arena_player_follows(&node->view, node->player, node->aim);
    FlEntityStatus status;
    if (target >= 0 && node->seen[target].entity.index1 != 0 &&
        fl_entity_status(node->session, node->seen[target].entity, &status) == FL_OK) {
        const ArenaPlayer *t = &node->view.player[target];
        guidance.aimed = true;
        guidance.target = status.number;
        guidance.yaw = fl_angle_wrap(p->yaw - fl_atan2(t->y - p->y, t->x - p->x));
    }
    (void)!fl_entity_guide(node->session, now, node->entity, &guidance);
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
        node->born = true;
        node->cuts++;
        (void)!fl_entity_cut(node->session, node->entity);
    }
    FlState state = arena_player_state(p, now);
    if (node->def.recorded) {
        state.acceleration = fl_vec3(0.0, 0.0, 0.0);
    }
    if (fl_entity_set(node->session, node->entity, &state) == FL_OK && node->def.told_fn != NULL) {
        node->def.told_fn(node->def.ctx, &state);
    }
    if (p->alive == 0 && !node->dead) {
        death_tell(node, p);
    }
    node->dead = p->alive == 0;
    if (node->def.guided) {
        guide(node, now);
    }
    node->born = node->born && p->alive == 0;
}

// ---------------------------------------------------------------- making, and a step

FlEntityDef arena_node_entity(const ArenaNodeDef *def)
{
    FlEntityDef entity = fl_entity_def_default();
    entity.kind = KIND_PLAYER;
    entity.send = def->send;
    entity.trigger = def->trigger;
    entity.model = def->model;
    entity.guided = def->guided;
    return entity;
}

// Of an open game the host alone makes them, and they outlive it.
static FlResult things_make(ArenaNode *node)
{
    const FlSession *session = node->session;
    if (node->def.open && fl_peer_host(session).index1 != fl_peer_self(session).index1) {
        return FL_OK;
    }
    FlEntityDef things = fl_entity_def_default();
    things.kind = KIND_THINGS;
    things.survives_owner = node->def.open;
    node->things = fl_entity_create(node->session, &things);
    if (node->things.index1 == 0) {
        return FL_FULL;
    }
    arena_things_tell(node);
    return FL_OK;
}

static FlResult entities_make(ArenaNode *node)
{
    node->entity = node->def.entity;
    if (!node->def.watches && node->entity.index1 == 0) {
        FlEntityDef def = arena_node_entity(&node->def);
        node->entity = fl_entity_create(node->session, &def);
        if (node->entity.index1 == 0) {
            return FL_FULL;
        }
    }
    return things_make(node);
}

static void seen_start(ArenaNode *node)
{
    for (int32_t i = 0; i < ARENA_PLAYER_CAPACITY; i++) {
        node->seen[i].nearing = FL_FOREVER;
        node->seen[i].mode = FL_GUIDE_NEAR;
        node->aim[i] = FL_PI;
        if (node->def.open && i != node->player) {
            arena_unsee(node, i);
        }
    }
}

FlResult arena_node_start(ArenaNode *node, const ArenaNodeDef *def, FlSession *session)
{
    FL_ASSERT(!arena_def(def->game)->flags && (def->open || !def->watches));
    memset(node, 0, sizeof *node);
    node->def = *def;
    node->session = session;
    FlPeerStatus self;
    FlResult result = fl_peer_status(session, fl_peer_self(session), &self);
    if (result != FL_OK) {
        return result;
    }
    arena_start(def->game, &node->view);
    node->player = def->watches ? -1 : self.number;
    if (node->player >= node->view.player_count) {
        return FL_FULL;
    }
    seen_start(node);
    if (!def->watches) {
        node->life = node->view.player[node->player].life;
        arena_bot_init(&node->bot, def->seed, node->player, def->character, def->skill);
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

void arena_node_skip(ArenaNode *node, int32_t tick)
{
    node->view.tick = tick;
}

static void act(ArenaNode *node, const ArenaRow *row)
{
    const ArenaGame *game = node->def.game;
    if (node->def.recorded) {
        node->view.tick++;
        if (row != NULL) {
            (void)arena_player_put(&node->view, node->player, row);
        }
    } else if (node->def.watches) {
        arena_step_idle(game, &node->view);
    } else {
        node->input = arena_bot_decide(game, &node->bot, &node->view, node->player);
        if (node->driven) {
            node->input = arena_keys_input(game, &node->view, node->player, node->keys);
        }
        arena_step_one(game, &node->view, node->player, node->input, &node->deeds);
    }
}

void arena_node_step(ArenaNode *node, const ArenaRow *row, FlTime now)
{
    take_all(node, now);
    find_all(node);
    for (int32_t i = 0; i < node->view.player_count; i++) {
        if (i != node->player) {
            arena_see(node, i, now);
        }
    }
    act(node, row);
    arena_deeds_go(node, &node->deeds, now);
    if (!node->def.watches) {
        arena_look(node, now);
        tell(node, now);
        missiles_tell(node);
    }
}
