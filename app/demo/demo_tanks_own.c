// The owner's process of the tanks demo: it hosts, plays all tanks and tells of them.
#include "app/demo/demo_tanks.h"
#include "lab/world/distant.h"

#include "fairlead/session.h"

#define CATCH_UP_TICKS 30 // beyond that the tanks stood still

typedef struct Owner {
    const TanksDemoSetup *setup;
    const DemoActor *actor;
    TanksOrder order;
    Distant node;
    DemoWay way;
    TanksNews news, last;
    TanksGame *game;
    FlTime begin; // of tick 0
    int64_t look; // that comes next
    FlEntityId entity[TANKS_DEMO_PLAYERS_MAX];
    uint32_t life[TANKS_DEMO_PLAYERS_MAX];
    bool alive[TANKS_DEMO_PLAYERS_MAX];
} Owner;

// ---------------------------------------------------------------- making

static bool create_entities(Owner *owner)
{
    FlEntityDef def = fl_entity_def_default();
    def.kind = TANKS_KIND;
    def.model = FL_MODEL_LINEAR;
    def.send = owner->order.policy;
    for (int32_t i = 0; i < owner->setup->player_count; i++) {
        FlEntityStatus status;
        if ((owner->entity[i] = fl_entity_create(owner->node.session, &def)).index1 == 0 ||
            fl_entity_status(owner->node.session, owner->entity[i], &status) != FL_OK) {
            return false;
        }
        owner->alive[i] = false;
        atomic_store(&owner->setup->board->number1[i], status.number + 1);
    }
    return true;
}

static bool open_owner(Owner *owner)
{
    const TanksDemoSetup *setup = owner->setup;
    DistantDef def = {.session = demo_tanks_session(setup, 0, FL_TIME_GLOBAL),
                      .net = setup->host_net,
                      .near = true,
                      .flight_capacity = 1,
                      .wire = demo_actor_wire(owner->actor, &owner->way)};
    TanksGameDef game = tanks_game_def_default();
    game.rules = setup->world.rules;
    game.tank_count = setup->player_count;
    game.seed = setup->seed;
    owner->begin = demo_actor_now(owner->actor);
    return distant_open(&def, owner->begin, &owner->node) == FL_OK &&
           tanks_kind_define(owner->node.session) == FL_OK &&
           tanks_game_create(&game, &owner->game) == FL_OK && create_entities(owner);
}

// ---------------------------------------------------------------- orders

/// Everything begins again: new entities, so that nobody remembers what was.
static bool restart(Owner *owner)
{
    for (int32_t i = 0; i < owner->setup->player_count; i++) {
        FlResult gone = fl_entity_destroy(owner->node.session, owner->entity[i]);
        (void)gone;
    }
    return create_entities(owner);
}

/// False: it is time to leave.
static bool obey(Owner *owner, FlTime now)
{
    TanksOrder order;
    DemoNews news = demo_actor_poll(owner->actor, &order, sizeof order);
    if (news != DEMO_NEWS_ORDER) {
        return news == DEMO_NEWS_NONE;
    }
    bool again = order.restarts != owner->order.restarts;
    bool other = order.policies != owner->order.policies;
    owner->order = order;
    tanks_game_drive(owner->game, 0, order.driven ? &order.input : NULL);
    if (again) {
        return restart(owner);
    }
    for (int32_t i = 0; other && i < owner->setup->player_count; i++) {
        FlResult result = fl_entity_policy(owner->node.session, distant_time(&owner->node, now),
                                           owner->entity[i], &order.policy);
        FL_ASSERT(result == FL_OK);
    }
    return true;
}

// ---------------------------------------------------------------- playing

/// The truth about every tank, as of the tick just played.
static void tell_tanks(Owner *owner, FlTime tick_time)
{
    int32_t count;
    const TanksTank *tanks = tanks_game_tanks(owner->game, &count);
    for (int32_t i = 0; i < count; i++) {
        const TanksTank *tank = &tanks[i];
        FlState state = tanks_tank_state(&owner->setup->world, tank);
        state.time = distant_time(&owner->node, tick_time);
        FlResult result = FL_OK;
        if (tank->life != owner->life[i]) {
            result = fl_entity_cut(owner->node.session, owner->entity[i]);
        }
        result =
            result == FL_OK ? fl_entity_set(owner->node.session, owner->entity[i], &state) : result;
        (void)result; // a host knows the time at once
        if (tank->life != owner->life[i] || tank->alive != owner->alive[i]) {
            TanksStatus status = tanks_tank_status(tank);
            result = tanks_status_set(owner->node.session, owner->entity[i], &status);
            (void)result; // the next one says it again
        }
        owner->life[i] = tank->life;
        owner->alive[i] = tank->alive;
    }
}

/// Shots and kills, in session time, to all.
static void tell_events(Owner *owner)
{
    int32_t count;
    const TanksEvent *events = tanks_game_events(owner->game, &count);
    FlPeerId all = {0};
    for (int32_t i = 0; i < count; i++) {
        uint8_t bytes[TANKS_EVENT_BYTES_MAX];
        TanksEvent told = events[i];
        FlWriter writer;
        told.time = fl_session_time(owner->node.session,
                                    distant_time(&owner->node, owner->begin + told.time));
        fl_writer_init(&writer, bytes, sizeof bytes);
        if (tanks_event_encode(&writer, &told)) {
            FlEvent event = {.type = (uint16_t)told.kind,
                             .delivery = FL_DELIVERY_UNORDERED,
                             .bytes = bytes,
                             .count = fl_writer_size(&writer)};
            FlResult result = fl_event_send(owner->node.session, all, &event);
            (void)result; // a shot that nobody saw is soon over
        }
    }
}

static FlTime next_tick(const Owner *owner)
{
    return owner->begin + tanks_tick_time(&owner->setup->world, tanks_game_tick(owner->game) + 1);
}

static void play(Owner *owner, FlTime now)
{
    FlTime late = now - next_tick(owner);
    FlTime most = CATCH_UP_TICKS * FL_SEC(1) / owner->setup->world.rules.tick_hz;
    owner->begin += late > most ? late : 0;
    for (FlTime at; (at = next_tick(owner)) <= now;) {
        tanks_game_step(owner->game);
        tell_tanks(owner, at);
        tell_events(owner);
    }
}

// ---------------------------------------------------------------- noting

static void note_real(const Owner *owner, FlTime at, DemoRow *row)
{
    int32_t count;
    const TanksTank *tanks = tanks_game_tanks(owner->game, &count);
    FlTime ticked = next_tick(owner) - FL_SEC(1) / owner->setup->world.rules.tick_hz;
    double ahead = fl_span_seconds(at - ticked); // a tick at most, either way
    for (int32_t i = 0; i < count; i++) {
        const TanksTank *tank = &tanks[i];
        DemoThing thing = {.x = tank->x + tank->vx * ahead,
                           .y = tank->y + tank->vy * ahead,
                           .yaw = fl_angle_wrap(tank->yaw + tank->turn_rate * ahead),
                           .value = tank->kills,
                           .life = tank->life,
                           .there = true,
                           .alive = tank->alive};
        row->thing[i] = thing;
    }
    const TanksShot *shots = tanks_game_shots(owner->game, &count);
    for (int32_t i = 0; i < count && row->shot_count < DEMO_SHOTS_MAX; i++) {
        double x, y;
        if (tanks_shot_position(&owner->setup->world, &shots[i], at - owner->begin, &x, &y)) {
            row->shot[row->shot_count][0] = (float)x;
            row->shot[row->shot_count++][1] = (float)y;
        }
    }
}

static void note_exported(const Owner *owner, FlTime at, DemoRow *row)
{
    for (int32_t i = 0; i < owner->setup->player_count; i++) {
        FlPose pose;
        FlEntityStatus status;
        DemoThing thing = {.value = owner->order.restarts};
        FlTime local = distant_time(&owner->node, at);
        if (fl_entity_pose_at(owner->node.session, local, owner->entity[i], &pose) &&
            fl_entity_status(owner->node.session, owner->entity[i], &status) == FL_OK) {
            thing.x = pose.position.x;
            thing.y = pose.position.y;
            thing.yaw = pose.yaw;
            thing.life = status.life & 3u; // so much of it travels
            thing.there = true;
            thing.alive = owner->alive[i];
        }
        row->thing[i] = thing;
    }
}

/// What the ledger knows of tank 0 at every receiver.
static void note_ledger(const Owner *owner, FlTime now)
{
    for (int32_t r = 0; r < TANKS_DEMO_RECEIVERS; r++) {
        TanksReceiver *receiver = &owner->setup->board->receiver[r];
        int32_t peer1 = owner->news.peer1[r];
        FlLedgerView view;
        FlLinkStats stats;
        if (peer1 == 0) {
            continue;
        }
        FlPeerId peer = fl_peer_of_number(owner->node.session, peer1 - 1);
        FlTime here = distant_time(&owner->node, now);
        if (fl_entity_view(owner->node.session, here, owner->entity[0], peer, &view) == FL_OK) {
            atomic_store(&receiver->sent, view.sent);
            atomic_store(&receiver->ledger, view.accumulated);
        }
        if (fl_peer_stats(owner->node.session, here, peer, &stats) == FL_OK) {
            atomic_store(&receiver->delay_ns, stats.rtt_average_ns / 2);
        }
    }
}

static void note(Owner *owner, FlTime now)
{
    DemoLooks *looks = &owner->setup->board->looks;
    for (; demo_look_time(looks, owner->look) <= now; owner->look++) {
        FlTime at = demo_look_time(looks, owner->look);
        DemoRow *row = demo_look_begin(looks, TANKS_ROW_REAL, owner->look);
        note_real(owner, at, row);
        demo_look_done(row, owner->look);
        row = demo_look_begin(looks, TANKS_ROW_EXPORTED, owner->look);
        note_exported(owner, at, row);
        demo_look_done(row, owner->look);
        if (owner->look % 8 == 0) {
            note_ledger(owner, now);
        }
    }
}

// ---------------------------------------------------------------- the process

int demo_tanks_own(const TanksDemoSetup *setup, const DemoActor *actor)
{
    static Owner owner; // one to a process, and large
    owner.setup = setup;
    owner.actor = actor;
    owner.order = setup->first;
    if (!open_owner(&owner)) {
        return 1;
    }
    FlTime now = demo_actor_now(actor);
    while (obey(&owner, now)) {
        FlNotice notice;
        owner.news = demo_tanks_news(setup, actor, &owner.last);
        distant_receive(&owner.node, now);
        while (fl_notice_take(owner.node.session, &notice) == FL_OK) {
        }
        play(&owner, now);
        distant_send(&owner.node, now);
        note(&owner, now);
        FlTime next = fl_time_min(distant_deadline(&owner.node, now), next_tick(&owner));
        next = fl_time_min(next, demo_look_time(&setup->board->looks, owner.look));
        demo_actor_wait(actor, owner.node.net, next);
        now = demo_actor_now(actor);
    }
    fl_session_leave(owner.node.session, distant_time(&owner.node, now));
    distant_send(&owner.node, now);
    tanks_game_destroy(owner.game);
    distant_close(&owner.node);
    return 0;
}
