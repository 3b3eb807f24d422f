// The game of one node: its tanks tick by tick, shots, kills.
//
// Ticks follow session time, so all nodes are at the same one. A node that was held up makes up for
// up to a second of ticks; beyond that its tanks stood still.
//
// Invariant: every own tank that is there is at `node->tick`; past[t % PLAY_HISTORY] is where it
// was at tick t, if that entry says t. deaths_applied = kills_told + kills in the outbox.
#include "app/play_node.h"

#include <string.h>

#define CATCH_UP_TICKS 60
#define TELL_LATE FL_SEC(5)  // an event older than this is nothing any more
#define TELL_EARLY FL_SEC(1) // clocks may differ

// ---------------------------------------------------------------- telling

static void enqueue(PlayNode *node, const TanksEvent *event)
{
    bool kill = event->kind == TANKS_EVENT_KILL;
    // Kills matter and shots pass: these keep half of the room free.
    if (node->outbox_count >= (kill ? PLAY_OUTBOX : PLAY_OUTBOX / 2)) {
        node->checks.kill_lost += kill ? 1 : 0;
        node->checks.shots_dropped += kill ? 0 : 1;
        return;
    }
    PlayMessage *message = &node->outbox[(node->outbox_first + node->outbox_count) % PLAY_OUTBOX];
    FlWriter writer;
    fl_writer_init(&writer, message->bytes, sizeof message->bytes);
    if (!tanks_event_encode(&writer, event)) {
        node->checks.bad_event++;
        return;
    }
    message->count = fl_writer_size(&writer);
    message->kind = event->kind;
    node->outbox_count++;
}

void play_game_tell(PlayNode *node)
{
    FlPeerId all = {0};
    while (node->outbox_count > 0) {
        const PlayMessage *message = &node->outbox[node->outbox_first];
        bool kill = message->kind == TANKS_EVENT_KILL;
        FlEvent event = {.type = (uint16_t)message->kind,
                         .delivery = kill ? FL_DELIVERY_ORDERED : FL_DELIVERY_UNORDERED,
                         .bytes = message->bytes,
                         .count = message->count};
        if (fl_event_send(node->session, all, &event) != FL_OK) {
            return; // the queue is full: with the next step
        }
        node->checks.kills_told += kill ? 1 : 0;
        node->checks.shots_told += kill ? 0 : 1;
        node->outbox_first = (node->outbox_first + 1) % PLAY_OUTBOX;
        node->outbox_count--;
    }
}

// ---------------------------------------------------------------- shots

static void add_shot(PlayNode *node, const TanksEvent *event)
{
    if (node->shot_count == PLAY_SHOTS) {
        node->checks.shots_dropped++;
        return;
    }
    tanks_shot_start(&node->world, event, &node->shots[node->shot_count]);
    node->judged[node->shot_count] = tanks_tick_at(&node->world, event->time);
    node->shot_count++;
}

static void remove_shot(PlayNode *node, int32_t at)
{
    node->shot_count--;
    node->shots[at] = node->shots[node->shot_count];
    node->judged[at] = node->judged[node->shot_count];
}

static const TanksSeen *past_of(const PlayOwn *own, int64_t tick)
{
    const PlayPast *past = &own->past[tick % PLAY_HISTORY];
    return tick > 0 && past->tick == tick ? &past->seen : NULL;
}

// Whom of ours the shot met first between tick and tick + 1.
static PlayOwn *victim_of(PlayNode *node, const TanksShot *shot, int64_t tick, FlTime *when)
{
    FlTime from = tanks_tick_time(&node->world, tick);
    FlTime to = tanks_tick_time(&node->world, tick + 1);
    PlayOwn *victim = NULL;
    *when = FL_FOREVER;
    for (int32_t i = 0; i < node->own_count; i++) {
        PlayOwn *own = &node->own[i];
        const TanksSeen *before = past_of(own, tick);
        const TanksSeen *after = past_of(own, tick + 1);
        FlTime moment;
        // A life that is over ends no second time, however late the shot is heard of.
        if (own->tank.alive && own->tank.id != shot->event.tank && before != NULL &&
            after != NULL && after->life == own->tank.life &&
            tanks_shot_hits(&node->world, shot, from, to, before, after, &moment) &&
            moment < *when) {
            victim = own;
            *when = moment;
        }
    }
    return victim;
}

static void score(PlayNode *node, const TanksEvent *kill)
{
    for (int32_t i = 0; i < node->own_count; i++) {
        PlayOwn *own = &node->own[i];
        bool ours = own->entity.index1 != 0 && own->tank.id == kill->tank &&
                    kill->time >= own->born && kill->shot >= 1 && kill->shot <= own->tank.shots;
        own->tank.kills += ours ? 1 : 0;
    }
}

static void kill_own(PlayNode *node, PlayOwn *own, const TanksShot *shot, FlTime when)
{
    TanksSeen seen = tanks_tank_seen(&own->tank);
    TanksEvent kill = tanks_event_make(TANKS_EVENT_KILL, &shot->event, own->tank.id, &seen, when);
    tanks_tank_kill(&node->world, &own->tank);
    node->checks.deaths_applied++;
    enqueue(node, &kill);
    score(node, &kill);
}

// Judges a shot up to the present tick. True: it flies on.
static bool fly(PlayNode *node, int32_t at)
{
    const TanksShot shot = node->shots[at];
    int64_t oldest = node->tick - PLAY_HISTORY + 1;
    int64_t tick = node->judged[at] > oldest ? node->judged[at] : oldest;
    for (; tick < node->tick; tick++) {
        FlTime when;
        PlayOwn *victim = victim_of(node, &shot, tick, &when);
        if (victim != NULL) {
            kill_own(node, victim, &shot, when);
            return false;
        }
    }
    node->judged[at] = tick > node->judged[at] ? tick : node->judged[at];
    return shot.ends > tanks_tick_time(&node->world, node->tick);
}

static void fly_all(PlayNode *node)
{
    for (int32_t i = node->shot_count - 1; i >= 0; i--) {
        if (!fly(node, i)) {
            remove_shot(node, i);
        }
    }
}

// ---------------------------------------------------------------- hearing

static bool is_theirs(const PlayNode *node, int32_t tank, FlPeerId from)
{
    FlEntityStatus status;
    FlEntityId id = fl_entity_of_number(node->session, (uint32_t)tank);
    return fl_entity_status(node->session, id, &status) == FL_OK && !status.ours &&
           status.owner.index1 == from.index1 && status.owner.generation == from.generation;
}

static bool is_timely(const PlayNode *node, FlTime time)
{
    FlTime ago = fl_span(node->time_last, time);
    return ago < TELL_LATE && ago > -TELL_EARLY;
}

static void hear_shot(PlayNode *node, const TanksEvent *event, FlPeerId from)
{
    if (!is_theirs(node, event->tank, from) || !is_timely(node, event->time)) {
        node->checks.events_rejected++;
        return;
    }
    node->checks.shots_heard++;
    add_shot(node, event);
}

static void hear_kill(PlayNode *node, const TanksEvent *event, FlPeerId from)
{
    if (!is_theirs(node, event->victim, from)) {
        node->checks.events_rejected++; // its tank has left before the news came
        return;
    }
    node->checks.kills_heard++;
    play_look_kill(node, event);
    score(node, event);
    for (int32_t i = 0; i < node->shot_count; i++) {
        const TanksEvent *shot = &node->shots[i].event;
        if (shot->tank == event->tank && shot->shot == event->shot) {
            remove_shot(node, i);
            break;
        }
    }
}

void play_game_hear(PlayNode *node)
{
    FlEvent event;
    while (fl_event_take(node->session, &event) == FL_OK) {
        FlReader reader;
        TanksEvent told;
        fl_reader_init(&reader, event.bytes, event.count);
        bool good = tanks_event_decode(&reader, &told) && fl_reader_left(&reader) == 0 &&
                    event.type == (uint16_t)told.kind;
        if (!good) {
            node->checks.bad_event++;
        } else if (told.kind == TANKS_EVENT_SHOT) {
            hear_shot(node, &told, event.from);
        } else if (told.kind == TANKS_EVENT_KILL) {
            hear_kill(node, &told, event.from);
        } else {
            node->checks.events_rejected++; // nobody asks us to judge
        }
    }
}

// ---------------------------------------------------------------- own tanks

static void remember(const PlayNode *node, PlayOwn *own)
{
    PlayPast *past = &own->past[node->tick % PLAY_HISTORY];
    past->tick = node->tick;
    past->seen = tanks_tank_seen(&own->tank);
}

static bool create_own(PlayNode *node, PlayOwn *own)
{
    FlEntityDef def = fl_entity_def_default();
    def.kind = PLAY_KIND_TANK;
    def.send = node->policy;
    FlEntityStatus status;
    if (fl_entity_create(node->session, &def, &own->entity) != FL_OK) {
        return false; // not all is known yet: with the next frame
    }
    if (fl_entity_status(node->session, own->entity, &status) != FL_OK) {
        return false;
    }
    tanks_tank_init(&own->tank, (int32_t)status.number, node->tick);
    tanks_bot_init(&own->bot, node->seed, own->tank.id);
    own->born = node->time_last;
    return true;
}

static void spawn(PlayNode *node, PlayOwn *own)
{
    tanks_tank_spawn(&node->world, &own->tank);
    // Every spawn, the first too: so the entity's life and the tank's are the same number.
    FlResult result = fl_entity_cut(node->session, own->entity);
    node->checks.set_refused += result == FL_OK ? 0 : 1;
}

static TanksInput decide(PlayNode *node, PlayOwn *own)
{
    if (own->keys) {
        return node->input;
    }
    TanksView view = {.world = &node->world,
                      .tick = own->tank.tick,
                      .own = &own->tank,
                      .tanks = node->seen,
                      .tank_count = node->tank_count,
                      .shots = node->shots,
                      .shot_count = node->shot_count};
    return tanks_bot_decide(&own->bot, &view);
}

static void drive(PlayNode *node, PlayOwn *own)
{
    TanksInput input = {0};
    if (own->tank.alive) {
        input = decide(node, own);
    }
    TanksEvent shot;
    if (tanks_tank_fire(&node->world, &own->tank, input, &shot)) {
        add_shot(node, &shot);
        enqueue(node, &shot);
    }
    tanks_tank_step(&node->world, &own->tank, input);
}

static void publish(PlayNode *node, PlayOwn *own)
{
    if (!own->tank.alive && own->tank.tick >= own->tank.respawn_at) {
        spawn(node, own);
    }
    remember(node, own);
    node->seen[own->tank.id] = tanks_tank_seen(&own->tank);
    FlState state = tanks_tank_state(&node->world, &own->tank);
    state.time = fl_session_when(node->session, state.time);
    FlResult result = fl_entity_set(node->session, own->entity, &state);
    TanksStatus status = tanks_tank_status(&own->tank);
    uint8_t bytes[TANKS_STATUS_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    bool told = tanks_status_encode(&writer, &status) &&
                fl_entity_state_set(node->session, own->entity, bytes, sizeof bytes) == FL_OK;
    node->checks.set_refused += result == FL_OK && told ? 0 : 1;
}

// ---------------------------------------------------------------- ticks

static void tick_once(PlayNode *node)
{
    for (int32_t i = 0; i < node->own_count; i++) {
        if (node->own[i].entity.index1 != 0) {
            drive(node, &node->own[i]);
        }
    }
    node->tick++;
    node->checks.ticks++;
    for (int32_t i = 0; i < node->own_count; i++) {
        if (node->own[i].entity.index1 != 0) {
            remember(node, &node->own[i]);
        }
    }
    fly_all(node);
    for (int32_t i = 0; i < node->own_count; i++) {
        if (node->own[i].entity.index1 != 0) {
            publish(node, &node->own[i]);
        }
    }
}

static void skip_to(PlayNode *node, int64_t tick)
{
    node->checks.ticks_skipped += (uint64_t)(tick - node->tick);
    node->tick = tick;
    for (int32_t i = 0; i < node->own_count; i++) {
        node->own[i].tank.tick = tick;
    }
}

void play_game_step(PlayNode *node, FlTime now)
{
    int64_t target = tanks_tick_at(&node->world, fl_session_time(node->session, now));
    if (node->tick < 0) {
        node->tick = target;
    }
    if (target - node->tick > CATCH_UP_TICKS) {
        skip_to(node, target - 1);
    }
    for (int32_t i = 0; i < node->own_count; i++) {
        PlayOwn *own = &node->own[i];
        if (own->entity.index1 == 0 && !create_own(node, own)) {
            break; // in order: the player's first
        }
    }
    while (node->tick < target) {
        tick_once(node);
    }
}
