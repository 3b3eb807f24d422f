// Tanks over a session: own tanks tick by tick, shots, kills.
//
// How the game travels. A tank is an entity of kind TANKS_KIND, and its id is the entity's
// number: the host gives every member an equal share of the 256 numbers, so ids are unique without
// asking. Its fields are a TanksStatus; every spawn is a cut, so the entity's life and the tank's
// are the same number. A shot is told to all, unordered; every node lets it fly. The victim's node
// alone judges a hit, by the victim's true poses (also those of a moment ago: shots arrive late);
// it tells all of the kill, in order, and the killer's node counts it.
//
// Invariant: every own tank that is there is at `node->tick`; past[t % PLAY_HISTORY] is where it
// was at tick t, if that entry says t. deaths_applied = kills_told + kills in the outbox.
#include "app/play/play_tanks.h"

#include <stdlib.h>
#include <string.h>

#define TELL_LATE FL_SEC(5)  // an event older than this is nothing any more
#define TELL_EARLY FL_SEC(1) // clocks may differ

// ---------------------------------------------------------------- telling

static void enqueue(PlayNode *node, const TanksEvent *event)
{
    PlayTanks *match = play_tanks_of(node);
    bool kill = event->kind == TANKS_EVENT_KILL;
    // Kills matter and shots pass: these keep half of the room free.
    if (match->outbox_count >= (kill ? PLAY_OUTBOX : PLAY_OUTBOX / 2)) {
        play_tally(node, kill ? PLAY_KILL_LOST : PLAY_SHOTS_DROPPED);
        return;
    }
    PlayMessage *message =
        &match->outbox[(match->outbox_first + match->outbox_count) % PLAY_OUTBOX];
    FlWriter writer;
    fl_writer_init(&writer, message->bytes, sizeof message->bytes);
    if (!tanks_event_encode(&writer, event)) {
        play_tally(node, PLAY_BAD_EVENT);
        return;
    }
    message->count = fl_writer_size(&writer);
    message->kind = event->kind;
    match->outbox_count++;
}

void play_tanks_tell(PlayNode *node)
{
    PlayTanks *match = play_tanks_of(node);
    FlPeerId all = {0};
    while (match->outbox_count > 0) {
        const PlayMessage *message = &match->outbox[match->outbox_first];
        bool kill = message->kind == TANKS_EVENT_KILL;
        FlEvent event = {.type = (uint16_t)message->kind,
                         .delivery = kill ? FL_DELIVERY_ORDERED : FL_DELIVERY_UNORDERED,
                         .bytes = message->bytes,
                         .count = message->count};
        if (fl_event_send(node->session, all, &event) != FL_OK) {
            return; // the queue is full: with the next step
        }
        play_tally(node, kill ? PLAY_KILLS_TOLD : PLAY_SHOTS_TOLD);
        match->outbox_first = (match->outbox_first + 1) % PLAY_OUTBOX;
        match->outbox_count--;
    }
}

// ---------------------------------------------------------------- shots

static bool is_known(const PlayTanks *match, const TanksEvent *event)
{
    for (int32_t i = 0; i < match->shot_count; i++) {
        const TanksEvent *known = &match->shots[i].event;
        if (known->tank == event->tank && known->shot == event->shot) {
            return true;
        }
    }
    return false;
}

void play_tanks_add_shot(PlayNode *node, const TanksEvent *event)
{
    PlayTanks *match = play_tanks_of(node);
    if (is_known(match, event)) {
        return; // we fired it, and the host says so
    }
    if (match->shot_count == PLAY_SHOTS) {
        play_tally(node, PLAY_SHOTS_DROPPED);
        return;
    }
    tanks_shot_start(&match->world, event, &match->shots[match->shot_count]);
    match->judged[match->shot_count] = tanks_tick_at(&match->world, event->time);
    match->shot_count++;
}

void play_tanks_fired(PlayNode *node, const TanksEvent *shot)
{
    play_tanks_add_shot(node, shot);
    enqueue(node, shot);
}

static void remove_shot(PlayNode *node, int32_t at)
{
    PlayTanks *match = play_tanks_of(node);
    match->shot_count--;
    match->shots[at] = match->shots[match->shot_count];
    match->judged[at] = match->judged[match->shot_count];
}

static const TanksSeen *past_of(const PlayTank *own, int64_t tick)
{
    const PlayPast *past = &own->past[tick % PLAY_HISTORY];
    return tick > 0 && past->tick == tick ? &past->seen : NULL;
}

// Whom of ours the shot met first between tick and tick + 1.
static PlayTank *victim_of(PlayNode *node, const TanksShot *shot, int64_t tick, FlTime *when)
{
    PlayTanks *match = play_tanks_of(node);
    FlTime from = tanks_tick_time(&match->world, tick);
    FlTime to = tanks_tick_time(&match->world, tick + 1);
    PlayTank *victim = NULL;
    *when = FL_FOREVER;
    for (int32_t i = 0; i < node->own_count; i++) {
        PlayTank *own = &match->own[i];
        const TanksSeen *before = past_of(own, tick);
        const TanksSeen *after = past_of(own, tick + 1);
        FlTime moment;
        // A life that is over ends no second time, however late the shot is heard of.
        if (own->tank.alive && own->tank.id != shot->event.tank && before != NULL &&
            after != NULL && after->life == own->tank.life &&
            tanks_shot_hits(&match->world, shot, from, to, before, after, &moment) &&
            moment < *when) {
            victim = own;
            *when = moment;
        }
    }
    return victim;
}

static void score(PlayNode *node, const TanksEvent *kill)
{
    PlayTanks *match = play_tanks_of(node);
    for (int32_t i = 0; i < node->own_count; i++) {
        PlayTank *own = &match->own[i];
        bool ours = play_own_there(node, i) && own->tank.id == kill->tank &&
                    kill->time >= node->own[i].born && kill->shot >= 1 &&
                    kill->shot <= own->tank.shots;
        own->tank.kills += ours ? 1 : 0;
    }
}

static void kill_own(PlayNode *node, PlayTank *own, const TanksShot *shot, FlTime when)
{
    PlayTanks *match = play_tanks_of(node);
    TanksSeen seen = tanks_tank_seen(&own->tank);
    TanksEvent kill = tanks_event_make(TANKS_EVENT_KILL, &shot->event, own->tank.id, &seen, when);
    tanks_tank_kill(&match->world, &own->tank);
    play_tally(node, PLAY_DEATHS_APPLIED);
    enqueue(node, &kill);
    score(node, &kill);
}

// Judges a shot up to the present tick. True: it flies on.
static bool fly(PlayNode *node, int32_t at)
{
    PlayTanks *match = play_tanks_of(node);
    const TanksShot shot = match->shots[at];
    int64_t oldest = node->tick - PLAY_HISTORY + 1;
    int64_t tick = match->judged[at] > oldest ? match->judged[at] : oldest;
    for (; tick < node->tick; tick++) {
        FlTime when;
        PlayTank *victim = victim_of(node, &shot, tick, &when);
        if (victim != NULL) {
            kill_own(node, victim, &shot, when);
            return false;
        }
    }
    match->judged[at] = tick > match->judged[at] ? tick : match->judged[at];
    return shot.ends > tanks_tick_time(&match->world, node->tick);
}

void play_tanks_fly(PlayNode *node)
{
    PlayTanks *match = play_tanks_of(node);
    for (int32_t i = match->shot_count - 1; i >= 0; i--) {
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
        play_tally(node, PLAY_EVENTS_REJECTED);
        return;
    }
    play_tally(node, PLAY_SHOTS_HEARD);
    play_tanks_add_shot(node, event);
}

static void hear_kill(PlayNode *node, const TanksEvent *event, FlPeerId from)
{
    PlayTanks *match = play_tanks_of(node);
    if (!is_theirs(node, event->victim, from)) {
        play_tally(node, PLAY_EVENTS_REJECTED); // its tank has left before the news came
        return;
    }
    play_tally(node, PLAY_KILLS_HEARD);
    play_tanks_kill(node, event);
    score(node, event);
    for (int32_t i = 0; i < match->shot_count; i++) {
        const TanksEvent *shot = &match->shots[i].event;
        if (shot->tank == event->tank && shot->shot == event->shot) {
            remove_shot(node, i);
            break;
        }
    }
}

void play_tanks_hear(PlayNode *node, const FlEvent *event)
{
    FlReader reader;
    TanksEvent told;
    fl_reader_init(&reader, event->bytes, event->count);
    bool good = tanks_event_decode(&reader, &told) && fl_reader_left(&reader) == 0 &&
                event->type == (uint16_t)told.kind;
    if (!good) {
        play_tally(node, PLAY_BAD_EVENT);
    } else if (told.kind == TANKS_EVENT_SHOT) {
        hear_shot(node, &told, event->from);
    } else if (told.kind == TANKS_EVENT_KILL) {
        hear_kill(node, &told, event->from);
    } else {
        play_tally(node, PLAY_EVENTS_REJECTED); // nobody asks us to judge
    }
}

// ---------------------------------------------------------------- own tanks

static void remember(const PlayNode *node, PlayTank *own)
{
    PlayPast *past = &own->past[node->tick % PLAY_HISTORY];
    past->tick = node->tick;
    past->seen = tanks_tank_seen(&own->tank);
}

bool play_tanks_make(PlayNode *node, int32_t own)
{
    PlayTank *made = &play_tanks_of(node)->own[own];
    FlEntityDef def = fl_entity_def_default();
    def.kind = TANKS_KIND;
    FlPeerId self = fl_peer_self(node->session);
    if (self.index1 > TANKS_CAPACITY) {
        return false; // the game has numbers for so many: who comes later looks on
    }
    int32_t id = play_own_make(node, own, def);
    if (id < 0) {
        return false;
    }
    tanks_tank_init(&made->tank, id, node->tick);
    tanks_bot_init(&made->bot, node->seed, id);
    return true;
}

static void spawn(PlayNode *node, int32_t own)
{
    PlayTanks *match = play_tanks_of(node);
    tanks_tank_spawn(&match->world, &match->own[own].tank);
    // Every spawn, the first too: so the entity's life and the tank's are the same number.
    FlResult result = fl_entity_cut(node->session, node->own[own].entity);
    play_expect(node, PLAY_SET_REFUSED, result == FL_OK);
}

TanksInput play_tanks_decide(PlayNode *node, int32_t own)
{
    PlayTanks *match = play_tanks_of(node);
    if (node->own[own].keys) {
        return (TanksInput){node->keys.drive, node->keys.turn, node->keys.fire};
    }
    PlayTank *driven = &match->own[own];
    TanksView view = {.world = &match->world,
                      .tick = driven->tank.tick,
                      .own = &driven->tank,
                      .tanks = match->seen,
                      .tank_count = match->tank_count,
                      .shots = match->shots,
                      .shot_count = match->shot_count};
    return tanks_bot_decide(&driven->bot, &view);
}

static void drive(PlayNode *node, int32_t own)
{
    PlayTanks *match = play_tanks_of(node);
    TanksTank *tank = &match->own[own].tank;
    TanksInput input = {0};
    if (tank->alive) {
        input = play_tanks_decide(node, own);
    }
    TanksEvent shot;
    if (tanks_tank_fire(&match->world, tank, input, &shot)) {
        play_tanks_fired(node, &shot);
    }
    tanks_tank_step(&match->world, tank, input);
}

static void publish(PlayNode *node, int32_t own)
{
    PlayTanks *match = play_tanks_of(node);
    TanksTank *tank = &match->own[own].tank;
    if (!match->own[own].driven && !tank->alive && tank->tick >= tank->respawn_at) {
        spawn(node, own);
    }
    remember(node, &match->own[own]);
    match->seen[tank->id] = tanks_tank_seen(tank);
    TanksStatus status = tanks_tank_status(tank);
    play_own_set(node, own, tanks_tank_state(&match->world, tank));
    FlResult told = tanks_status_set(node->session, node->own[own].entity, &status);
    play_expect(node, PLAY_SET_REFUSED, told == FL_OK);
}

// ---------------------------------------------------------------- ticks

void play_tanks_tick(PlayNode *node)
{
    PlayTanks *match = play_tanks_of(node);
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i) && !match->own[i].driven) {
            drive(node, i);
        }
    }
    node->tick++;
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i)) {
            remember(node, &match->own[i]);
        }
    }
    play_tanks_fly(node);
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i)) {
            publish(node, i);
        }
    }
}

void play_tanks_skip(PlayNode *node)
{
    for (int32_t i = 0; i < node->own_count; i++) {
        play_tanks_of(node)->own[i].tank.tick = node->tick;
    }
}

// ---------------------------------------------------------------- the table

const PlayCount play_tanks_counts[] = {
#define PLAY_TANKS_COUNT(name, word, fault, meaning) {word, fault},
    PLAY_TANKS_TABLE(PLAY_TANKS_COUNT)
#undef PLAY_TANKS_COUNT
};

static FlWorldDef wire_world(void)
{
    TanksRules rules = tanks_rules_default();
    TanksWorld world;
    FlResult result = tanks_world_init(&rules, &world);
    FL_ASSERT(result == FL_OK); // the default rules are good
    return tanks_wire_world(&world, TANKS_CAPACITY);
}

FlResult play_tanks_open(PlayNode *node, const PlayRules *rules)
{
    (void)rules; // there are none
    PlayTanks *match = calloc(1, sizeof *match);
    node->match = match;
    TanksRules defaults = tanks_rules_default();
    return match == NULL ? FL_NO_MEMORY : tanks_world_init(&defaults, &match->world);
}

FlResult play_tanks_ready(PlayNode *node)
{
    return tanks_kind_define(node->session);
}

void play_tanks_close(PlayNode *node)
{
    free(node->match);
}

uint64_t play_tanks_differs(const PlayNode *node)
{
    const uint64_t *count = node->checks.count;
    uint64_t waiting = (uint64_t)play_tanks_waiting(node);
    return count[PLAY_DEATHS_APPLIED] == count[PLAY_KILLS_TOLD] + waiting ? 0 : 1;
}

const PlayGame play_tanks = {
    .name = "tanks",
    .thing = "tank",
    .keys = "w a s d or arrows: drive and turn; space: fire; q: quit",
    .topology = FL_TOPOLOGY_STAR,
    .tick_hz = 60,
    .own_max = PLAY_OWN_MAX,
    .counts = play_tanks_counts,
    .count_count = PLAY_TANKS_END - PLAY_COUNT_COMMON,
    .served = &play_tanks_host,
    .check = play_rules_none,
    .world = wire_world,
    .open = play_tanks_open,
    .ready = play_tanks_ready,
    .close = play_tanks_close,
    .make = play_tanks_make,
    .look = play_tanks_look,
    .tick = play_tanks_tick,
    .skip = play_tanks_skip,
    .hear = play_tanks_hear,
    .tell = play_tanks_tell,
    .forgive = play_tanks_forgive,
    .differs = play_tanks_differs,
    .seen = play_tanks_seen,
    .draw = play_tanks_draw,
    .page_map = play_tanks_map,
    .page_state = play_tanks_state,
    .page_dots = play_tanks_dots,
    .thing_json = play_tanks_json,
    .sum_json = play_tanks_sum_json,
    .sum_line = play_tanks_sum_line,
};
