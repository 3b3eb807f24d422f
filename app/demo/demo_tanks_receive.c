// A receiver's process of the tanks demo: it joins from far away, and notes what it is shown.
#include <string.h>

#include "app/demo/demo_tanks.h"
#include "lab/world/distant.h"

#define AGAIN_AFTER FL_SEC(1) // a session that ended is joined again

typedef struct Receiver {
    const TanksDemoSetup *setup;
    const DemoActor *actor;
    TanksReceiver *figures;
    TanksOrder order;
    FlTime delay_ns;
    Distant node;
    DemoWay way;
    TanksNews news, last;
    bool open;
    FlTime open_at;
    int64_t look; // that comes next
    TanksShot shots[DEMO_SHOTS_MAX];
    int32_t shot_count;
} Receiver;

// ---------------------------------------------------------------- the session

static void join(Receiver *receiver, FlTime now)
{
    if (receiver->open || now < receiver->open_at) {
        return;
    }
    int32_t number = receiver->actor->number;
    DistantDef def = {.session = demo_tanks_session(receiver->setup, number, receiver->order.clock),
                      .clock_shift = FL_SEC(100) * number, // everybody has a clock of their own
                      .way = demo_tanks_way(receiver->delay_ns, &receiver->order),
                      .seed = receiver->setup->seed,
                      .number = (uint16_t)number,
                      .flight_capacity = 1024,
                      .wire = demo_actor_wire(receiver->actor, &receiver->way)};
    receiver->open = distant_open(&def, now, &receiver->node) == FL_OK;
    if (receiver->open && tanks_kind_define(receiver->node.session) != FL_OK) {
        distant_close(&receiver->node);
        receiver->open = false;
    }
    receiver->open_at = now + AGAIN_AFTER;
}

static void leave(Receiver *receiver, FlTime now)
{
    if (receiver->open) {
        distant_close(&receiver->node);
        receiver->open = false;
    }
    receiver->open_at = now + AGAIN_AFTER;
    receiver->shot_count = 0;
    atomic_store(&receiver->figures->peer1, 0);
}

/// False: it is time to leave.
static bool obey(Receiver *receiver, FlTime now)
{
    TanksOrder order;
    DemoNews news = demo_actor_poll(receiver->actor, &order, sizeof order);
    if (news != DEMO_NEWS_ORDER) {
        return news == DEMO_NEWS_NONE;
    }
    receiver->order = order;
    if (receiver->open) {
        FlImpairSettings way = demo_tanks_way(receiver->delay_ns, &order);
        FlResult result = distant_set(&receiver->node, now, &way);
        FL_ASSERT(result == FL_OK);
        fl_session_time_mode(receiver->node.session, order.clock);
    }
    return true;
}

// ---------------------------------------------------------------- shots

static void take_event(Receiver *receiver, const FlEvent *event)
{
    FlReader reader;
    TanksEvent told;
    fl_reader_init(&reader, event->bytes, event->count);
    if (!tanks_event_decode(&reader, &told)) {
        return;
    }
    if (told.kind == TANKS_EVENT_SHOT && receiver->shot_count < DEMO_SHOTS_MAX) {
        tanks_shot_start(&receiver->setup->world, &told, &receiver->shots[receiver->shot_count++]);
    }
    for (int32_t i = 0; told.kind == TANKS_EVENT_KILL && i < receiver->shot_count; i++) {
        const TanksEvent *shot = &receiver->shots[i].event;
        if (shot->tank == told.tank && shot->shot == told.shot) {
            receiver->shots[i] = receiver->shots[--receiver->shot_count];
        }
    }
}

static void note_shots(Receiver *receiver, FlTime time, DemoRow *row)
{
    for (int32_t i = 0; i < receiver->shot_count;) {
        const TanksShot *shot = &receiver->shots[i];
        double x, y;
        if (shot->ends < time) {
            receiver->shots[i] = receiver->shots[--receiver->shot_count];
            continue;
        }
        if (tanks_shot_position(&receiver->setup->world, shot, time, &x, &y)) {
            row->shot[row->shot_count][0] = (float)x;
            row->shot[row->shot_count++][1] = (float)y;
        }
        i++;
    }
}

// ---------------------------------------------------------------- noting

static bool is_alive(const Receiver *receiver, FlEntityId id)
{
    TanksStatus status;
    return !tanks_status_get(receiver->node.session, id, &status) || status.alive;
}

static DemoThing see(const Receiver *receiver, int32_t tank, FlTime at)
{
    DemoThing thing = {0};
    uint32_t number1 = receiver->news.number1[tank];
    FlPose pose;
    FlEntityStatus status;
    if (!receiver->open || number1 == 0) {
        return thing;
    }
    FlEntityId id = fl_entity_of_number(receiver->node.session, number1 - 1);
    if (fl_entity_pose_at(receiver->node.session, at, id, &pose) &&
        fl_entity_status(receiver->node.session, id, &status) == FL_OK) {
        thing.x = pose.position.x;
        thing.y = pose.position.y;
        thing.yaw = pose.yaw;
        thing.life = status.life & 3u;
        thing.there = true;
        thing.alive = is_alive(receiver, id);
    }
    return thing;
}

static void note(Receiver *receiver, FlTime now)
{
    DemoLooks *looks = &receiver->setup->board->looks;
    for (; demo_look_time(looks, receiver->look) <= now; receiver->look++) {
        FlTime at = demo_look_time(looks, receiver->look);
        int32_t number = TANKS_ROW_SEEN + receiver->actor->number - 1;
        DemoRow *row = demo_look_begin(looks, number, receiver->look);
        FlTime here = receiver->open ? distant_time(&receiver->node, at) : 0;
        for (int32_t i = 0; i < receiver->setup->player_count; i++) {
            row->thing[i] = see(receiver, i, here);
        }
        if (receiver->open) {
            note_shots(receiver, fl_session_time(receiver->node.session, here), row);
        }
        demo_look_done(row, receiver->look);
    }
}

static void note_self(Receiver *receiver)
{
    const FlSession *session = receiver->node.session;
    FlPeerStatus status;
    bool in = fl_peer_status(session, fl_peer_self(session), &status) == FL_OK;
    atomic_store(&receiver->figures->peer1, in ? status.number + 1 : 0);
    atomic_store(&receiver->figures->clock_error_ns, fl_session_time_error(session));
}

// ---------------------------------------------------------------- the process

/// Everything that a session has to do now. Answers when it must be looked at again.
static FlTime step(Receiver *receiver, FlTime now)
{
    FlNotice notice;
    FlEvent event;
    FlSession *session = receiver->node.session;
    distant_receive(&receiver->node, now);
    while (fl_notice_take(session, &notice) == FL_OK) {
    }
    while (fl_event_take(session, &event) == FL_OK) {
        take_event(receiver, &event);
    }
    distant_send(&receiver->node, now);
    note_self(receiver);
    if (fl_session_state(session) == FL_SESSION_ENDED) {
        leave(receiver, now);
        return receiver->open_at;
    }
    return distant_deadline(&receiver->node, now);
}

int demo_tanks_receive(const TanksDemoSetup *setup, const DemoActor *actor)
{
    static Receiver receiver; // one to a process, and large
    receiver.setup = setup;
    receiver.actor = actor;
    receiver.figures = &setup->board->receiver[actor->number - 1];
    receiver.order = setup->first;
    receiver.delay_ns = setup->delay_ns[actor->number - 1];
    FlTime now = demo_actor_now(actor);
    while (obey(&receiver, now)) {
        receiver.news = demo_tanks_news(setup, actor, &receiver.last);
        join(&receiver, now);
        FlTime next = receiver.open ? step(&receiver, now) : receiver.open_at;
        note(&receiver, now);
        FlTime look = demo_look_time(&setup->board->looks, receiver.look);
        next = next < look ? next : look;
        if (receiver.open) {
            demo_actor_wait(actor, receiver.node.net, next);
        } else {
            demo_actor_rest(actor);
        }
        now = demo_actor_now(actor);
    }
    leave(&receiver, now);
    return 0;
}
