// Peers, time, and the loop over them.
#include "private.h"

#include <string.h>

#define SESSION_COOKIE 0x53455331u

// ---------------------------------------------------------------- making and ending

FlSessionDef fl_session_def_default(void)
{
    FlSessionDef def = {
        .role = FL_ROLE_CLIENT,
        .world = fl_world_def_default(),
        .link = fl_link_def_default(),
        .peer_capacity = 16,
        .entity_capacity = 64,
        .time_mode = FL_TIME_GLOBAL,
        .join_every_ns = FL_MS(250),
        .join_timeout_ns = FL_SEC(5),
        .cookie = SESSION_COOKIE,
    };
    def.link.eager_count = 16; // playing starts when the time is known
    return def;
}

static bool def_is_good(const FlSessionDef *def)
{
    bool role = def->role == FL_ROLE_HOST || def->role == FL_ROLE_CLIENT;
    int32_t peers = def->role == FL_ROLE_HOST ? def->peer_capacity : 1;
    // Every peer, the host included, gets the same share of the entity numbers: at least one.
    return role && peers >= 1 && peers <= 4096 && def->entity_capacity >= 1 &&
           def->entity_capacity <= def->world.entity_capacity &&
           peers < def->world.entity_capacity && def->join_every_ns > 0 &&
           def->join_timeout_ns > 0 && def->time_mode >= FL_TIME_GLOBAL &&
           def->time_mode <= FL_TIME_ONE_WAY && !def->link.numbered_below;
}

// A definition from which no link can be made would show only when somebody joins: make one now.
static FlResult try_link(const FlSessionDef *def, FlTime now)
{
    FlLinkDef link_def = def->link;
    link_def.alloc = def->alloc;
    FlLink *link;
    FlResult result = fl_link_create(&link_def, now, &link);
    fl_link_destroy(link);
    return result;
}

static void *reserve(FlSession *session, size_t count, size_t size)
{
    return fl_alloc(&session->def.alloc, count * size, _Alignof(max_align_t));
}

static bool reserve_tables(FlSession *session)
{
    size_t peers = (size_t)session->def.peer_capacity;
    size_t entities = (size_t)session->def.entity_capacity;
    size_t numbers = (size_t)session->world.def.entity_capacity;
    session->peers = (Peer *)reserve(session, peers, sizeof(Peer));
    session->entities = (Entity *)reserve(session, entities, sizeof(Entity));
    session->due = (bool *)reserve(session, entities * peers, sizeof(bool));
    session->by_number = (int32_t *)reserve(session, numbers, sizeof(int32_t));
    if (session->peers == NULL || session->entities == NULL || session->due == NULL ||
        session->by_number == NULL) {
        return false;
    }
    for (size_t i = 0; i < numbers; i++) {
        session->by_number[i] = -1;
    }
    return true;
}

static void release_tables(FlSession *session)
{
    size_t peers = (size_t)session->def.peer_capacity;
    size_t entities = (size_t)session->def.entity_capacity;
    size_t numbers = (size_t)session->world.def.entity_capacity;
    const FlAlloc *alloc = &session->def.alloc;
    fl_free(alloc, session->peers, peers * sizeof(Peer));
    fl_free(alloc, session->entities, entities * sizeof(Entity));
    fl_free(alloc, session->due, entities * peers * sizeof(bool));
    fl_free(alloc, session->by_number, numbers * sizeof(int32_t));
}

static void start(FlSession *session, FlTime now)
{
    session->random.seed = session->def.seed;
    session->nonce = fl_random_next(&session->random);
    fl_session_clock_init(&session->clock);
    session->state = FL_SESSION_JOINING;
    session->join_next = now;
    session->join_until = fl_time_add(now, session->def.join_timeout_ns);
    if (session->def.role == FL_ROLE_HOST) {
        int32_t shares = session->def.peer_capacity + 1;
        session->own_count = (uint32_t)(session->world.def.entity_capacity / shares);
        session->state = FL_SESSION_RUNNING;
        fl_session_clock_lead(&session->clock, now, 0);
        session->told_at = now;
    }
}

FlResult fl_session_create(const FlSessionDef *def, FlTime now, FlSession **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == SESSION_COOKIE);
    FlWorld world;
    if (fl_world_init(&def->world, &world) != FL_OK || !def_is_good(def)) {
        return FL_BAD_VALUE;
    }
    FlResult result = try_link(def, now);
    if (result != FL_OK) {
        return result;
    }
    FlSession *session = (FlSession *)fl_alloc(&def->alloc, sizeof *session, _Alignof(FlSession));
    if (session == NULL) {
        return FL_NO_MEMORY;
    }
    session->def = *def;
    session->def.peer_capacity = def->role == FL_ROLE_HOST ? def->peer_capacity : 1;
    session->world = world;
    if (!reserve_tables(session)) {
        fl_session_destroy(session);
        return FL_NO_MEMORY;
    }
    start(session, now);
    *out = session;
    return FL_OK;
}

void fl_session_destroy(FlSession *session)
{
    if (session == NULL) {
        return;
    }
    for (int32_t i = 0; session->peers != NULL && i < session->def.peer_capacity; i++) {
        fl_link_destroy(session->peers[i].link);
    }
    release_tables(session);
    FlAlloc alloc = session->def.alloc;
    fl_free(&alloc, session, sizeof *session);
}

void fl__session_end(FlSession *session, const char *why)
{
    session->state = FL_SESSION_ENDED;
    session->trouble = why;
}

FlSessionState fl_session_state(const FlSession *session)
{
    return session->state;
}

const char *fl_session_trouble(const FlSession *session)
{
    return session->trouble != NULL ? session->trouble : "";
}

// ---------------------------------------------------------------- peers

// Whose numbers the peer's entities have: at the host, the peer's share; at a client, everybody's.
// (Our own are never a peer's: see take_update.)
static void set_entity_share(const FlSession *session, Peer *peer)
{
    if (session->def.role == FL_ROLE_HOST) {
        uint32_t share = session->own_count;
        peer->first_entity = share * (uint32_t)(peer - session->peers + 1);
        peer->entity_count = share;
    } else {
        peer->first_entity = 0;
        peer->entity_count = (uint32_t)session->world.def.entity_capacity;
    }
}

bool fl__peer_open(FlSession *session, Peer *peer, FlTime now)
{
    FlLinkDef def = session->def.link;
    def.conversation = peer->conversation;
    def.alloc = session->def.alloc;
    if (session->def.role == FL_ROLE_HOST) {
        def.keep_alive_ns = FL_FOREVER; // the client keeps it alive, and we answer
        def.eager_count = 0;
    }
    if (fl_link_create(&def, now, &peer->link) != FL_OK) {
        return false;
    }
    set_entity_share(session, peer);
    peer->used = true;
    fl__peer_owe_all(session, peer, now);
    return true;
}

void fl__peer_owe_all(FlSession *session, const Peer *peer, FlTime now)
{
    int32_t index = (int32_t)(peer - session->peers);
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if (fl__entity_is_ours(entity)) {
            fl__entity_refresh(session, entity, fl_session_time(session, now));
            *fl__entity_due(session, entity, index) = true;
        }
    }
}

void fl__peer_drop(FlSession *session, int32_t index)
{
    Peer *peer = &session->peers[index];
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if ((entity->generation & 1u) != 0 && entity->owner == index) {
            fl__entity_remove(session, entity);
        }
    }
    fl_link_destroy(peer->link);
    Peer none = {0};
    *peer = none;
    if (session->def.role == FL_ROLE_CLIENT) {
        fl__session_end(session,
                        "The host has not been heard from for longer than the time-out: it "
                        "ended, or the line broke. Join again.");
    }
}

static int32_t peer_slot(const FlSession *session, int32_t nth)
{
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        if (session->peers[i].used && nth-- == 0) {
            return i;
        }
    }
    return FL__PEER_NONE;
}

int32_t fl_session_peer_count(const FlSession *session)
{
    int32_t count = 0;
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        count += session->peers[i].used ? 1 : 0;
    }
    return count;
}

FlResult fl_session_peer_stats(const FlSession *session, int32_t peer, FlTime now,
                               FlLinkStats *stats)
{
    memset(stats, 0, sizeof *stats);
    int32_t slot = peer_slot(session, peer);
    if (slot == FL__PEER_NONE) {
        return FL_NOT_FOUND;
    }
    fl_link_stats(session->peers[slot].link, now, stats);
    return FL_OK;
}

FlResult fl_session_send(FlSession *session, int32_t peer, FlDelivery delivery, const void *bytes,
                         int32_t count)
{
    int32_t slot = peer_slot(session, peer);
    return slot == FL__PEER_NONE ? FL_NOT_FOUND
                                 : fl_link_send(session->peers[slot].link, delivery, bytes, count);
}

FlResult fl_session_take(FlSession *session, void *buffer, int32_t capacity, int32_t *count,
                         int32_t *peer)
{
    *count = 0;
    *peer = 0;
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        if (!session->peers[i].used) {
            continue;
        }
        FlResult result = fl_link_take(session->peers[i].link, buffer, capacity, count);
        if (result != FL_NOT_FOUND) {
            return result;
        }
        (*peer)++;
    }
    return FL_NOT_FOUND;
}

// ---------------------------------------------------------------- time

FlTime fl__session_local(const FlSession *session, FlTime now)
{
    return fl_span(now, session->epoch);
}

FlTime fl_session_time(const FlSession *session, FlTime now)
{
    FlTime local = fl__session_local(session, now);
    if (session->def.role == FL_ROLE_HOST) { // its clock is the session's, also over a pause
        FlTime then = fl_session_clock_at(&session->clock, session->told_at);
        return fl_time_add(then, fl_span(local, session->told_at));
    }
    return fl_session_clock_at(&session->clock, local);
}

FlTime fl_session_time_error(const FlSession *session)
{
    bool known = fl_session_clock_state(&session->clock) != FL_SESSION_CLOCK_UNSET;
    return known ? fl_session_clock_error(&session->clock) : FL_FOREVER;
}

// A pause in which the host did nothing is no break in its clock: the others' time went on, by the
// offset that they were told when they joined.
static void lead_over_pause(FlSession *session, FlTime now)
{
    FlTime local = fl__session_local(session, now);
    if (fl_span(local, session->told_at) > FL_SESSION_CLOCK_GAP_NS) {
        FlTime time = fl_session_time(session, now);
        fl_session_clock_init(&session->clock);
        fl_session_clock_lead(&session->clock, local, time);
    }
}

static void update_time(FlSession *session, FlTime now)
{
    const FlClock *reference = NULL;
    if (session->def.role == FL_ROLE_HOST) {
        lead_over_pause(session, now);
    } else if (session->peers[0].used) {
        reference = fl_link_peer_clock(session->peers[0].link);
    }
    session->told_at = fl__session_local(session, now);
    fl_session_clock_update(&session->clock, reference, session->told_at);
}

// ---------------------------------------------------------------- datagrams

static int32_t sender_of(const FlSession *session, FlAddress from)
{
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        if (session->peers[i].used && fl_address_equal(session->peers[i].address, from)) {
            return i;
        }
    }
    return FL__PEER_NONE;
}

void fl_session_receive(FlSession *session, FlAddress from, const void *bytes, int32_t count,
                        FlTime arrival)
{
    session->heard_count++;
    if (count <= 0 || count > FL_LINK_PACKET_BYTES) {
        session->count[FL_SESSION_MALFORMED]++;
        return;
    }
    if (fl__join_receive(session, from, (const uint8_t *)bytes, count, arrival)) {
        return;
    }
    int32_t peer = sender_of(session, from);
    if (peer == FL__PEER_NONE) {
        session->count[FL_SESSION_STRANGER]++;
        return;
    }
    FlLinkPacket packet;
    FlLink *link = session->peers[peer].link;
    if (fl_link_receive(link, arrival, 0, bytes, count, &packet) == FL_LINK_DROP_NONE) {
        fl__payload_read(session, peer, &packet, arrival);
    }
}

#define ROOM_AT_LEAST 32 // below this a packet would be mostly headers: wait for the budget

// Bytes of payload that may go to this peer now; 0 if nothing waits or the budget is too small for
// the update whose turn it is.
static int32_t payload_room(FlSession *session, int32_t index, FlTime now)
{
    int32_t needs = fl__payload_needs(session, index);
    if (needs == 0) {
        return 0;
    }
    int32_t room = fl_link_payload_budget(session->peers[index].link, now);
    return room >= needs && room >= ROOM_AT_LEAST ? room : 0;
}

// A packet to this peer, if there is anything to say and the budget allows.
static bool packet_to(FlSession *session, int32_t index, FlTime now, FlOutgoing *out)
{
    Peer *peer = &session->peers[index];
    fl_link_update(peer->link, now);
    FlFateEvent fate;
    while (fl_link_poll_fate(peer->link, &fate) == FL_OK) {
        // Nothing is owed for a lost update: the next trigger or the silence threshold repeats it.
    }
    if (!fl_link_alive(peer->link)) {
        fl__peer_drop(session, index);
        return false;
    }
    int32_t room = payload_room(session, index, now);
    if (room == 0 && !fl_link_wants_to_send(peer->link, now)) {
        return false;
    }
    FlWriter writer;
    if (fl_link_begin(peer->link, now, session->packet, &writer) != FL_OK) {
        return false;
    }
    if (room > 0) {
        fl__payload_write(session, index, &writer, room, fl_session_time(session, now));
    }
    uint64_t sequence;
    out->count = fl_link_finish(peer->link, now, &writer, 0, &sequence);
    out->bytes = session->packet;
    out->to = peer->address;
    return true;
}

FlResult fl_session_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    FlOutgoing none = {0};
    *out = none;
    update_time(session, now);
    if (fl__join_next(session, now, out)) {
        return FL_OK;
    }
    for (; session->peer_next < session->def.peer_capacity; session->peer_next++) {
        // A peer may have more to say: stay with it until it has not.
        if (session->peers[session->peer_next].used &&
            packet_to(session, session->peer_next, now, out)) {
            return FL_OK;
        }
    }
    session->peer_next = 0;
    return FL_NOT_FOUND;
}

#define CLOCK_EVERY FL_SEC(1)      // session time is bent, and believed no longer than two
#define BUDGET_LOOK_EVERY FL_MS(1) // while an update waits for the budget

FlTime fl_session_deadline(FlSession *session, FlTime now)
{
    FlTime deadline = fl__join_deadline(session, now);
    if (session->state == FL_SESSION_RUNNING) {
        FlTime passed = fl_span(fl__session_local(session, now), session->told_at);
        FlTime due = passed < CLOCK_EVERY ? fl_time_add(now, fl_span(CLOCK_EVERY, passed)) : now;
        deadline = due < deadline ? due : deadline;
    }
    for (int32_t i = 0; i < session->def.peer_capacity; i++) {
        if (!session->peers[i].used) {
            continue;
        }
        FlTime due = fl_link_deadline(session->peers[i].link, now);
        deadline = due < deadline ? due : deadline;
        if (fl__payload_needs(session, i) > 0) {
            due = payload_room(session, i, now) > 0 ? now : fl_time_add(now, BUDGET_LOOK_EVERY);
            deadline = due < deadline ? due : deadline;
        }
    }
    return deadline;
}

// ---------------------------------------------------------------- counters

uint64_t fl_session_count(const FlSession *session, FlSessionCount which)
{
    FL_ASSERT(which < FL_SESSION_COUNTS);
    return session->count[which];
}

const char *fl_session_count_name(FlSessionCount which)
{
    switch (which) {
#define ROW(name, word, meaning)                                                                   \
    case FL_SESSION_##name:                                                                        \
        return word;
        FL_SESSION_COUNT_TABLE(ROW)
#undef ROW
    case FL_SESSION_COUNTS:
        break;
    }
    return "unknown";
}
