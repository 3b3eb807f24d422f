// A player's session and its ticks.
//
// Ticks follow session time, so all players are at the same one: what one sees at a tick and where
// another truly is at it can be compared.
#include "app/demo/demo_arena_peer.h"
#include "lab/figures/jumps.h"

#include <string.h>

#define AGAIN_AFTER FL_SEC(1)        // a session that ended is joined again
#define CATCH_UP_TICKS 10            // beyond that the player stood still
#define TICK_WRAP (INT64_C(1) << 30) // the game's ticks are 32 bits
#define OWN_SKILL 3                  // of the bot whose screen is shown
#define FLIGHT_CAPACITY 512
#define WAIT_FOR_ALL FL_SEC(5)
#define CLOCKS_APART FL_SEC(100)

// ---------------------------------------------------------------- the session

// Each has a line of its own to everybody: the way out of one and into another are half of the way
// between them.
static FlImpairSettings way_of(const ArenaOrder *order)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = order->rtt_ns / 4;
    way.shape = FL_SHAPE_CONSTANT;
    way.loss_ppm = order->loss_ppm / 2;
    return way;
}

static bool is_host(const ArenaPeer *peer, const ArenaOrder *order)
{
    return order->crowd ? peer->lobby : peer->index == 0;
}

static const ArenaGame *game_of(const ArenaSetup *setup, const ArenaOrder *order)
{
    return order->crowd ? setup->crowd : setup->game;
}

// A lobby needs no limit: it is a server.
static void make_crowd(const ArenaPeer *peer, int32_t players, FlSessionDef *def)
{
    def->topology = FL_TOPOLOGY_CROWD;
    def->tuning.direct_capacity = 1;
    def->upload_bytes_s = peer->lobby ? 0.0 : def->upload_bytes_s;
    def->tuning.crowd.detail_capacity = 2 * players;
}

static FlSessionDef session_of(const ArenaPeer *peer, const ArenaSetup *setup,
                               const ArenaOrder *order)
{
    ArenaModeDef mode = {.mode = order->mode,
                         .players = setup->player_count + (order->crowd ? 1 : 0),
                         .kbps = order->kbps,
                         .focus_share = FL_FOCUS_SHARE,
                         .top_speed = ARENA_SPEED_BOUND};
    FlSessionDef def = arena_mode_session(game_of(setup, order), &mode);
    if (order->crowd) {
        make_crowd(peer, mode.players, &def);
    }
    def.role = is_host(peer, order) ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.seed = setup->seed + (uint64_t)order->games * DEMO_THINGS_MAX + (uint64_t)peer->index;
    return def;
}

static FlAddress loopback(uint16_t port)
{
    FlAddress address = {.ip = {127, 0, 0, 1}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

void arena_peer_join(ArenaPeer *peer, const ArenaSetup *setup, const DemoActor *actor,
                     const ArenaOrder *order, const ArenaDoors *doors, FlTime now)
{
    bool hosts = is_host(peer, order);
    uint64_t door = order->crowd && peer->index == 0 ? doors->lobby : doors->door;
    if (peer->open || now < peer->open_at || (!hosts && door >> 16 != order->games) ||
        (peer->lobby && !order->crowd)) {
        return;
    }
    peer->first = order->crowd ? 1 : 0;
    DistantDef def = {.session = session_of(peer, setup, order),
                      .clock_shift = CLOCKS_APART * peer->index, // everybody has its own clock
                      .way = way_of(order),
                      .seed = setup->seed,
                      .number = (uint16_t)(peer->index + 1),
                      .flight_capacity = FLIGHT_CAPACITY,
                      .wire = demo_actor_wire(actor, &peer->way)};
    def.session.host = loopback((uint16_t)(door & 0xffffu));
    peer->open = distant_open(&def, now, &peer->far) == FL_OK;
    peer->open_at = now + AGAIN_AFTER;
    peer->opened_at = now;
    if (hosts && peer->far.net != NULL) {
        atomic_store(order->crowd ? &setup->board->lobby : &setup->board->door,
                     (uint64_t)order->games << 16 | fl_net_address(peer->far.net).port);
    }
}

void arena_peer_leave(ArenaPeer *peer, FlTime again_at)
{
    if (peer->open) {
        arena_node_stop(&peer->node);
        distant_close(&peer->far);
    }
    peer->open = false;
    peer->plays = false;
    peer->open_at = again_at;
    memset(&peer->past, 0, sizeof peer->past);
}

void arena_peer_way(ArenaPeer *peer, const ArenaOrder *order, FlTime now)
{
    if (peer->open) {
        FlImpairSettings way = way_of(order);
        FlResult result = distant_set(&peer->far, now, &way);
        FL_ASSERT(result == FL_OK);
    }
}

// ---------------------------------------------------------------- playing

/// Is everybody here? What a host has to tell of newcomers goes faster while nobody plays.
static bool is_complete(const ArenaPeer *peer, int32_t players, FlTime now)
{
    const FlSession *session = peer->far.session;
    if (peer->first > 0) { // besides the lobby
        return fl_peer_count(session) >= players || now > peer->opened_at + WAIT_FOR_ALL;
    }
    int32_t direct = 1;
    for (FlPeerId id = {0}; fl_peer_next(session, &id);) {
        FlPeerStatus status;
        direct += fl_peer_status(session, id, &status) == FL_OK && status.direct ? 1 : 0;
    }
    return direct >= players || now > peer->opened_at + WAIT_FOR_ALL;
}

static void start(ArenaPeer *peer, const ArenaSetup *setup, const ArenaOrder *order, FlTime here)
{
    FlSession *session = peer->far.session;
    FlPeerStatus self;
    if (fl_session_time_error(session) == FL_FOREVER ||
        fl_peer_status(session, fl_peer_self(session), &self) != FL_OK ||
        self.number - peer->first >= setup->player_count) {
        return;
    }
    int32_t skills = ARENA_SKILL_MAX - ARENA_SKILL_MIN + 1;
    ArenaNodeDef def = arena_mode_node(game_of(setup, order), order->mode);
    def.open = order->crowd;
    def.watches = peer->lobby;
    def.seed = setup->seed + order->games;
    def.character = self.number % ARENA_CHARACTER_COUNT;
    def.skill = peer->index == 0 ? OWN_SKILL : ARENA_SKILL_MIN + self.number % skills;
    peer->plays = arena_node_start(&peer->node, &def, session) == FL_OK;
    if (!peer->plays) {
        arena_node_stop(&peer->node); // not all is known yet: again
        return;
    }
    peer->tick = fl_session_time(session, here) / ARENA_PEER_TICK_NS;
    arena_node_skip(&peer->node, (int32_t)(peer->tick % TICK_WRAP));
    peer->frame_seen = 0;
    for (int32_t i = 0; i < ARENA_DEMO_PLAYERS_MAX; i++) {
        jumps_init(&peer->jumps[i], ARENA_SPEED_BOUND);
    }
}

static DemoThing thing_of(const ArenaPeer *peer, int32_t player)
{
    const ArenaNode *node = &peer->node;
    const ArenaSeen *seen = &node->seen[player];
    const ArenaPlayer *p = &node->view.player[player];
    bool own = player == node->player;
    FL_ASSERT(player >= 0 && player < ARENA_PLAYER_CAPACITY);
    DemoThing thing = {.x = p->x,
                       .y = p->y,
                       .yaw = p->yaw,
                       .value = (double)(own ? FL_GUIDE_NEAR : seen->mode),
                       .life = (own ? node->cuts : seen->life) & 3u,
                       .there = own || seen->known,
                       .alive = p->alive != 0};
    return thing;
}

static void remember(ArenaPeer *peer, int32_t count, FlTime at)
{
    ArenaPast *past = &peer->past;
    past->at = at;
    memcpy(past->before, past->after, sizeof past->before);
    for (int32_t i = 0; i < count; i++) {
        past->after[i] = thing_of(peer, i + peer->first);
    }
}

static void count_jumps(ArenaPeer *peer, const ArenaSetup *setup, FlTime at)
{
    ArenaScreenFigures *figures = &setup->board->screen;
    for (int32_t i = 0; i < setup->player_count; i++) {
        const DemoThing *thing = &peer->past.after[i];
        const ArenaPlayer *p = &peer->node.view.player[i + peer->first];
        Jumps *jumps = &peer->jumps[i];
        if (i == arena_peer_place(peer) || !thing->there || !thing->alive) {
            jumps->started = false;
            continue;
        }
        atomic_fetch_add(&figures->replica_ticks, 1);
        if (jumps_see(jumps, at, fl_vec3(p->x, p->y, p->z), thing->life)) {
            atomic_fetch_add(&figures->jumps, 1);
        }
    }
}

static void play(ArenaPeer *peer, const ArenaSetup *setup, const ArenaOrder *order, FlTime here)
{
    FlSession *session = peer->far.session;
    ArenaNode *node = &peer->node;
    int64_t target = fl_session_time(session, here) / ARENA_PEER_TICK_NS;
    node->driven = peer->index == 0 && order->driven;
    node->keys = order->keys;
    if (target - peer->tick > CATCH_UP_TICKS) {
        peer->tick = target - 1;
        arena_node_skip(node, (int32_t)(peer->tick % TICK_WRAP));
    }
    arena_node_serve(node, here);
    while (peer->tick < target) {
        peer->tick++;
        FlTime at = fl_session_local_time(session, peer->tick * ARENA_PEER_TICK_NS);
        arena_node_step(node, NULL, at);
        remember(peer, setup->player_count, at - peer->far.clock_shift);
        if (peer->index == 0) {
            count_jumps(peer, setup, at);
        }
        if (!peer->lobby) {
            arena_peer_figures(peer, setup, at);
        }
    }
}

FlTime arena_peer_step(ArenaPeer *peer, const ArenaSetup *setup, const ArenaOrder *order,
                       FlTime now)
{
    if (!peer->open) {
        return peer->lobby && !order->crowd ? FL_FOREVER : now + FL_MS(5); // the door may open
    }
    FlSession *session = peer->far.session;
    FlTime here = distant_time(&peer->far, now);
    distant_receive(&peer->far, now);
    bool running = fl_session_state(session) == FL_SESSION_RUNNING;
    if (running && order->crowd && peer->index == 0) { // it was the first
        atomic_store(&setup->board->door, atomic_load(&setup->board->lobby));
    }
    if (running && !peer->plays && is_complete(peer, setup->player_count, now)) {
        start(peer, setup, order, here);
    }
    if (peer->plays) {
        play(peer, setup, order, here);
    }
    distant_send(&peer->far, now);
    if (fl_session_state(session) == FL_SESSION_ENDED) {
        arena_peer_leave(peer, now + AGAIN_AFTER);
        return peer->open_at;
    }
    FlTime next = distant_deadline(&peer->far, now);
    FlTime tick = peer->plays
                      ? fl_session_local_time(session, (peer->tick + 1) * ARENA_PEER_TICK_NS) -
                            peer->far.clock_shift
                      : now + FL_MS(10);
    return next < tick ? next : tick;
}

// ---------------------------------------------------------------- what is told of it

int32_t arena_peer_place(const ArenaPeer *peer)
{
    return peer->node.player - peer->first;
}

DemoThing arena_peer_thing(const ArenaPeer *peer, int32_t player, FlTime at)
{
    const DemoThing *before = &peer->past.before[player];
    DemoThing thing = peer->past.after[player];
    double share = fl_span_seconds(fl_span(at, peer->past.at)) * ARENA_TICK_HZ;
    share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    if (before->there && thing.there && before->life == thing.life &&
        before->alive == thing.alive) {
        thing.x = before->x + (thing.x - before->x) * share;
        thing.y = before->y + (thing.y - before->y) * share;
        thing.yaw = fl_angle_wrap(before->yaw + fl_angle_wrap(thing.yaw - before->yaw) * share);
    }
    return thing;
}

static int32_t serves(const ArenaPeer *peer, FlPeerId to)
{
    double attention;
    FlSendClass send_class;
    if (fl_entity_interest(peer->far.session, peer->node.entity, to, &attention, &send_class) !=
        FL_OK) {
        return ARENA_SERVES_NOT;
    }
    return send_class == FL_CLASS_FOCUS ? ARENA_SERVES_FOCUS : ARENA_SERVES_EFFORT;
}

static void note_frame(ArenaPeer *peer, ArenaScreenFigures *figures, int32_t players)
{
    FlFocusFrame frame = fl_session_frame(peer->far.session);
    if (frame.number == peer->frame_seen) {
        return;
    }
    peer->frame_seen = frame.number;
    atomic_fetch_add(&figures->frames, 1);
    atomic_fetch_add(&figures->focus_pairs, (uint64_t)frame.focus_count);
    atomic_fetch_add(&figures->effort_due, (uint64_t)frame.effort_due);
    atomic_fetch_add(&figures->pairs, (uint64_t)(players - 1));
}

// In a crowd those come every frame whom the screen's player watches.
static int32_t comes(const ArenaPeer *peer, int32_t number)
{
    FlEntityStatus status;
    FlEntityId id = peer->node.seen[number].entity;
    bool known = fl_entity_status(peer->far.session, id, &status) == FL_OK;
    return known && status.watched ? ARENA_SERVES_FOCUS : ARENA_SERVES_EFFORT;
}

static void note_screen(ArenaPeer *peer, const ArenaSetup *setup)
{
    const ArenaNode *node = &peer->node;
    const ArenaPlayer *p = &node->view.player[node->player];
    ArenaScreenFigures *figures = &setup->board->screen;
    uint32_t items = 0;
    for (int32_t i = 0; i < arena_item_count(node->def.game); i++) {
        items |= arena_item_there(&node->view, i) ? UINT32_C(1) << i : 0;
    }
    atomic_store(&figures->items, items);
    atomic_store(&figures->health, p->alive != 0 ? p->health : 0);
    atomic_store(&figures->armour, p->armour);
    atomic_store(&figures->score, p->score);
    atomic_store(&figures->deaths, (int32_t)p->deaths);
    atomic_store(&figures->weapon, p->weapon);
    atomic_store(&figures->peers, fl_peer_count(peer->far.session) - peer->first);
    for (int32_t i = 0; i < setup->player_count; i++) {
        atomic_store(&figures->attention[i],
                     (int32_t)(1000.0 * node->seen[i + peer->first].attention));
        if (peer->first > 0) {
            atomic_store(&setup->board->player[i].serves, comes(peer, i + peer->first));
        }
    }
    note_frame(peer, figures, setup->player_count);
}

void arena_peer_figures(ArenaPeer *peer, const ArenaSetup *setup, FlTime now)
{
    const FlSession *session = peer->far.session;
    ArenaPlayerFigures *own = &setup->board->player[arena_peer_place(peer)];
    ArenaScreenFigures *screen = &setup->board->screen;
    for (FlPeerId id = {0}; fl_peer_next(session, &id);) {
        FlPeerStatus status;
        FlLinkStats stats;
        if (fl_peer_status(session, id, &status) != FL_OK || status.number < peer->first ||
            status.number - peer->first >= setup->player_count ||
            fl_peer_stats(session, now, id, &stats) != FL_OK) {
            continue;
        }
        int32_t place = status.number - peer->first;
        if (peer->index == 0) {
            atomic_store(&screen->sent_to[place], stats.bytes_out);
            atomic_store(&screen->serves_to[place], serves(peer, id));
        } else if (place == 0) {
            atomic_store(&own->serves, serves(peer, id));
        }
    }
    atomic_store(&own->sent, fl_session_count(session, FL_SESSION_BYTES_COUNTED));
    atomic_store(&own->score, peer->node.view.player[peer->node.player].score);
    if (peer->index == 0) {
        note_screen(peer, setup);
    }
}
