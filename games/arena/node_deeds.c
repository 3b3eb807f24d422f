// Deeds of one peer and on what it owns; its share of the things.
//
// Checked, a deed's call says in which frame it was done (64 bits, session time) and where its
// target was drawn (3 x 32 bits, 1/8 units). That place counts only if the target is guided: then
// no peer but the shooter knows where its replica stood.
//
// Things have no motion, so their entity is made known by its state alone. A thing's blob: for each
// of its owner's items and doors, in order, 32 bits when it is back (or shuts) and 16 bits how
// often it was taken (or used).
#include "arena/node.h"

enum { CALL_DEED = FL_CALL_OWN, FRAME_BYTES = 20 };

#define MARGIN 16.0 // what an actor moves in a tick, its trigger, and half of that again
#define CLAIM_WITHIN (4.0 * ARENA_NODE_DIAMETER) // a replica that is walked, from its updates

// ---------------------------------------------------------------- things

// Which things a blob tells of: all, or every n-th.
static int32_t things_step(const ArenaNode *node)
{
    return node->def.open ? 1 : node->view.player_count;
}

static int32_t things_first(const ArenaNode *node, int32_t owner)
{
    return node->def.open ? 0 : owner;
}

static int32_t things_write(const ArenaNode *node, uint8_t *bytes)
{
    FlWriter w;
    fl_writer_init(&w, bytes, FL_ENTITY_STATE_BYTES);
    int32_t step = things_step(node);
    int32_t first = things_first(node, node->player);
    for (int32_t i = first; i < arena_item_count(node->def.game); i += step) {
        fl_writer_put(&w, (uint32_t)node->view.item[i].back_at, 32);
        fl_writer_put(&w, node->view.item[i].taken & 0xffffu, 16);
    }
    for (int32_t i = first; i < arena_door_count(node->def.game); i += step) {
        fl_writer_put(&w, (uint32_t)node->view.door[i].open_until, 32);
        fl_writer_put(&w, node->view.door[i].uses & 0xffffu, 16);
    }
    return fl_writer_size(&w);
}

void arena_things_tell(ArenaNode *node)
{
    uint8_t bytes[FL_ENTITY_STATE_BYTES];
    int32_t count = things_write(node, bytes);
    (void)!fl_entity_state_set(node->session, node->things, bytes, count);
}

void arena_things_read(ArenaNode *node, int32_t owner, FlEntityId id)
{
    const uint8_t *bytes;
    int32_t count;
    FlReader r;
    if (fl_entity_state_get(node->session, id, &bytes, &count) != FL_OK || count == 0) {
        return;
    }
    fl_reader_init(&r, bytes, count);
    int32_t step = things_step(node);
    int32_t first = things_first(node, owner);
    for (int32_t i = first; i < arena_item_count(node->def.game) && !r.failed; i += step) {
        node->view.item[i].back_at = (int32_t)fl_reader_take(&r, 32);
        node->view.item[i].taken = (uint32_t)fl_reader_take(&r, 16);
    }
    for (int32_t i = first; i < arena_door_count(node->def.game) && !r.failed; i += step) {
        node->view.door[i].open_until = (int32_t)fl_reader_take(&r, 32);
        node->view.door[i].uses = (uint32_t)fl_reader_take(&r, 16);
    }
}

// ---------------------------------------------------------------- deeds

// Is it ours to decide?
static bool deed_ours(const ArenaNode *node, const ArenaDeed *deed)
{
    if (!arena_deed_at_thing(deed->kind)) {
        return deed->target == node->player;
    }
    return node->def.open ? fl_entity_is_ours(node->session, node->things)
                          : deed->target % node->view.player_count == node->player;
}

/// What it is done to, if that is somebody else's; {0}: not heard of.
static FlEntityId deed_entity(const ArenaNode *node, const ArenaDeed *deed)
{
    if (!arena_deed_at_thing(deed->kind)) {
        return node->seen[deed->target].entity;
    }
    return node->def.open ? node->things
                          : node->seen[deed->target % node->view.player_count].things;
}

static int32_t asked_free(const ArenaNode *node)
{
    for (int32_t i = 0; i < ARENA_NODE_ASKED; i++) {
        if (node->asked[i].id == 0) {
            return i;
        }
    }
    return -1;
}

static void frame_put(const ArenaNode *node, const ArenaDeed *deed, FlTime now, FlWriter *w)
{
    bool player = !arena_deed_at_thing(deed->kind);
    FlVec3 at = player ? arena_node_shown(node, deed->target) : fl_vec3(0.0, 0.0, 0.0);
    const double place[3] = {at.x, at.y, at.z};
    fl_writer_put(w, (uint64_t)fl_session_time(node->session, now), 64);
    for (int32_t i = 0; i < 3; i++) {
        fl_writer_put(w, (uint32_t)(int32_t)(place[i] * 8.0), 32);
    }
}

static void deed_ask(ArenaNode *node, const ArenaDeed *deed, FlTime now)
{
    FlEntityId id = deed_entity(node, deed);
    uint8_t bytes[ARENA_DEED_BYTES + FRAME_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    int32_t slot = asked_free(node);
    bool encoded = arena_deed_encode(&w, deed);
    if (encoded && node->def.checked) {
        frame_put(node, deed, now, &w);
    }
    FlCallDef call = {.kind = CALL_DEED, .bytes = bytes, .count = fl_writer_size(&w)};
    uint32_t serial = 0;
    if (slot < 0 || id.index1 == 0 || !encoded ||
        fl_call_send(node->session, now, id, &call, &serial) != FL_OK) {
        node->stats.blocked++;
        return;
    }
    node->asked[slot].id = serial + 1;
    node->asked[slot].deed = *deed;
    node->stats.deeds++;
}

static void deal_with(ArenaNode *node, int32_t other, FlTime now)
{
    if (other != node->player) {
        fl_attention_interact(node->attention, node->player, other, now);
    }
}

// What is ours is decided here; what follows from it goes on.
static ArenaVerdict deed_decide(ArenaNode *node, const ArenaDeed *deed, ArenaDeeds *more)
{
    ArenaVerdict verdict = arena_deed_apply(node->def.game, &node->view, deed, more);
    if (verdict == ARENA_APPLIED && arena_deed_at_thing(deed->kind)) {
        arena_things_tell(node);
    }
    return verdict;
}

void arena_deeds_go(ArenaNode *node, ArenaDeeds *deeds, FlTime now)
{
    for (int32_t i = 0; i < deeds->count; i++) { // it may grow meanwhile
        ArenaDeed deed = deeds->deed[i];
        if (!deed_ours(node, &deed)) {
            deed_ask(node, &deed, now);
        } else if (deed_decide(node, &deed, deeds) == ARENA_APPLIED) {
            arena_deed_learn(node->def.game, &node->view, &deed, ARENA_APPLIED, NULL);
            if (node->def.verdict_fn != NULL) { // both sides are here
                node->def.verdict_fn(node->def.ctx, &deed, true, true);
                node->def.verdict_fn(node->def.ctx, &deed, true, false);
            }
        }
    }
    deeds->count = 0;
}

// Nobody acts for somebody else.
static bool is_from(const ArenaNode *node, const FlCall *call, int32_t actor)
{
    FlPeerStatus caller;
    return fl_peer_status(node->session, call->from, &caller) == FL_OK && caller.number == actor;
}

// Where its shooter saw us, and where it was itself, in the frame that a call names.
static FlResult frame_take(ArenaNode *node, const FlCall *call, const ArenaDeed *deed, FlReader *r,
                           FlTime now, FlVec3 *actor, FlVec3 *target)
{
    FlTime time = (FlTime)fl_reader_take(r, 64);
    double place[3];
    for (int32_t i = 0; i < 3; i++) {
        place[i] = (double)(int32_t)(uint32_t)fl_reader_take(r, 32) / 8.0;
    }
    FlRewind frame;
    FlPose seen, own;
    FlResult result = fl_rewind_to(node->session, now, call->from, time, &frame);
    if (result == FL_OK && node->def.guided) {
        result = fl_rewind_claim(node->session, &frame, node->entity,
                                 fl_vec3(place[0], place[1], place[2]), CLAIM_WITHIN, &seen);
    } else if (result == FL_OK) {
        result = fl_rewind_pose(node->session, &frame, node->entity, &seen);
    }
    if (result == FL_OK) {
        result = fl_rewind_pose(node->session, &frame, node->seen[deed->actor].entity, &own);
    }
    *actor = result == FL_OK ? own.position : fl_vec3(0.0, 0.0, 0.0);
    *target = result == FL_OK ? seen.position : *actor;
    return result;
}

// Whether a shot met us on its shooter's screen. True where that cannot be known.
static bool is_seen(ArenaNode *node, const FlCall *call, const ArenaDeed *deed, FlReader *r,
                    FlTime now)
{
    if (!node->def.checked || deed->kind != ARENA_DEED_DAMAGE ||
        deed->weapon == ARENA_WEAPON_ROCKET) {
        return true;
    }
    FlVec3 actor, target;
    FlResult result = frame_take(node, call, deed, r, now, &actor, &target);
    if (result == FL_WOULD_BLOCK || result == FL_NOT_FOUND || result == FL_STALE_ID) {
        node->stats.unchecked++;
        return true;
    }
    bool met = result == FL_OK && arena_deed_meets(node->def.game, deed, actor, target, MARGIN);
    node->stats.checked++;
    node->stats.impossible += met ? 0 : 1;
    return met;
}

void arena_calls_decide(ArenaNode *node, FlTime now)
{
    FlCall call;
    while (fl_call_take(node->session, &call) == FL_OK) {
        ArenaDeed deed;
        FlReader r;
        fl_reader_init(&r, call.bytes, call.count);
        int32_t length = ARENA_DEED_BYTES + (node->def.checked ? FRAME_BYTES : 0);
        bool sound = call.kind == CALL_DEED && call.count == length &&
                     arena_deed_decode(&r, &deed) && deed_ours(node, &deed);
        if (sound && !is_from(node, &call, deed.actor)) {
            node->stats.forged++;
            sound = false;
        }
        sound = sound && is_seen(node, &call, &deed, &r, now);
        bool applied = sound && deed_decide(node, &deed, &node->deeds) == ARENA_APPLIED;
        if (applied && deed.kind == ARENA_DEED_DAMAGE) {
            deal_with(node, deed.actor, now);
        }
        (void)!fl_call_answer(node->session, now, &call, applied, NULL, 0);
        if (sound && node->def.verdict_fn != NULL) {
            node->def.verdict_fn(node->def.ctx, &deed, applied, true);
        }
    }
}

static void answer_take(ArenaNode *node, const ArenaDeed *deed, const FlCallDone *done, FlTime now)
{
    ArenaNodeStats *stats = &node->stats;
    stats->applied += done->verdict == FL_CALL_APPLIED ? 1 : 0;
    stats->refused += done->verdict == FL_CALL_REFUSED ? 1 : 0;
    stats->unknown += done->verdict == FL_CALL_UNKNOWN ? 1 : 0;
    if (done->verdict == FL_CALL_UNKNOWN) {
        return;
    }
    bool applied = done->verdict == FL_CALL_APPLIED;
    if (node->def.verdict_fn != NULL) {
        node->def.verdict_fn(node->def.ctx, deed, applied, false);
    }
    arena_deed_learn(node->def.game, &node->view, deed, applied ? ARENA_APPLIED : ARENA_REFUSED,
                     NULL);
    if (deed->kind == ARENA_DEED_DAMAGE) {
        stats->hits++;
        stats->hit_seconds += fl_span_seconds(done->latency_ns);
        if (applied) {
            deal_with(node, deed->target, now);
        }
    }
}

void arena_calls_learn(ArenaNode *node, FlTime now)
{
    FlCallDone done;
    while (fl_call_take_done(node->session, now, &done) == FL_OK) {
        for (int32_t i = 0; i < ARENA_NODE_ASKED; i++) {
            if (node->asked[i].id == done.id + 1) {
                node->asked[i].id = 0;
                answer_take(node, &node->asked[i].deed, &done, now);
                break;
            }
        }
    }
}
