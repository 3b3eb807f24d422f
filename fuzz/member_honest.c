// What the honest ones do, and what their games may ask.
#include "member_scene.h"

#include "agree/timeline.h"

bool member_is_honest(const Scene *scene, int32_t i)
{
    return i != HOSTILE && scene->node[i].session != NULL;
}

// A node's entity, as everybody should see it: a metre a second along y.
FlState member_truth(const Scene *scene, int32_t i)
{
    FlState state = {.time = scene->now,
                     .position = fl_vec3(20.0 * i, fl_span_seconds(scene->now), 0.0),
                     .velocity = fl_vec3(0.0, 1.0, 0.0)};
    return state;
}

static void talk(Scene *scene, int32_t from, int32_t to)
{
    Node *n = &scene->node[from];
    uint8_t bytes[2] = {(uint8_t)from, n->sent[to]};
    FlEvent event = {.type = 1, .bytes = bytes, .count = 2, .delivery = FL_DELIVERY_ORDERED};
    FlPeerId peer = fl_peer_of_number(n->session, scene->node[to].member);
    FlResult result = peer.index1 != 0 ? fl_event_send(n->session, peer, &event) : FL_STALE_ID;
    n->sent[to] = (uint8_t)(n->sent[to] + (result == FL_OK ? 1 : 0));
    if (result == FL_WOULD_BLOCK) {
        n->blocked_since = fl_time_min(n->blocked_since, scene->now);
    } else {
        n->blocked_since = FL_FOREVER;
    }
    CHECK(scene->was_parted || n->blocked_since == FL_FOREVER ||
          scene->now - n->blocked_since < FL_SEC(8));
}

static void listen(Scene *scene, int32_t at)
{
    Node *n = &scene->node[at];
    FlEvent event;
    while (fl_event_take(n->session, &event) == FL_OK) {
        int32_t from = event.number;
        if (from >= HOSTILE ||
            scene->was_parted) { // the hostile one, whatever number it got when it came back
            continue;
        }
        if (event.delivery == FL_DELIVERY_UNRELIABLE) {
            CHECK(event.type == 3 && event.count == 4);
            continue;
        }
        if (event.delivery == FL_DELIVERY_NEWEST) {
            CHECK(event.type == 2 && event.count == 2 && event.bytes[0] == (uint8_t)(0xa0 + from));
            continue;
        }
        // Whoever it is from, it is what that one sent next.
        CHECK(from >= 0 && event.type == 1 && event.count == 2);
        uint8_t ahead = (uint8_t)(event.bytes[1] - n->received[from]);
        CHECK(event.bytes[0] == (uint8_t)from && (ahead == 0 || (scene->host_lost && ahead < 100)));
        n->received[from] = (uint8_t)(event.bytes[1] + 1);
    }
    FlAction action;
    while (fl_action_take(n->session, scene->now, &action) == FL_OK) {
        CHECK(action.number >= HOSTILE || scene->was_parted ||
              (action.count == 1 && action.bytes[0] == (uint8_t)action.number));
    }
    FlCall call;
    while (fl_call_take(n->session, &call) == FL_OK) {
        bool bystander = fl__member_of(n->session, call.from) == scene->node[BYSTANDER].member;
        CHECK(!bystander || scene->was_parted || call.kind == FL_CALL_DAMAGE ||
              (call.kind == 300 && call.count == 1));
        (void)!fl_call_answer(n->session, scene->now, &call, bystander, NULL, 0);
    }
    FlCallDone done;
    while (fl_call_take_done(n->session, scene->now, &done) == FL_OK) {
    }
    FlNotice notice;
    while (fl_notice_take(n->session, &notice) == FL_OK) {
    }
}

// Attention, guidance, and a shot now and then.
static void look_about(const Scene *scene, int32_t i, const FlState *state)
{
    const Node *n = &scene->node[i];
    FlGuidance guidance = {.ahead_ns = FL_MS(200), .position = state->position};
    guidance.position.y += 0.2;
    (void)!fl_entity_guide(n->session, scene->now, n->own, &guidance);
    int32_t whom = scene->poor && i != OWNER ? OWNER : (i + 1) % NODES;
    FlEntityId other = fl_entity_of_number(n->session, scene->node[whom].number);
    (void)!fl_entity_attention(n->session, other,
                               scene->poor || scene->tick / 16 % 2 == 0 ? 1.0 : 0.1);
    if (scene->tick % 32 == i) {
        uint8_t bytes[FL_CALL_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        FlHitCall hit = {.shooter = (uint16_t)n->number,
                         .damage = 5,
                         .time = fl_session_time(n->session, scene->now),
                         .target = member_truth(scene, (i + 1) % NODES).position};
        FlCallDef call = {.kind = FL_CALL_DAMAGE, .bytes = bytes};
        uint32_t serial;
        if (fl_hit_call_write(&w, &n->session->world, &hit)) {
            call.count = fl_writer_size(&w);
            (void)!fl_call_send(n->session, scene->now, other, &call, &serial);
        }
    }
}

static void play(Scene *scene, int32_t i)
{
    Node *n = &scene->node[i];
    FlState state = member_truth(scene, i);
    (void)!fl_entity_set(n->session, n->own, &state); // a crowd's host has none
    if (scene->rich) {
        look_about(scene, i, &state);
    }
    if (scene->tick % 5 == 0 && !scene->quiet) {
        for (int32_t to = 0; to < HOSTILE; to++) {
            if (to != i && scene->node[to].session != NULL) {
                talk(scene, i, to);
            }
        }
    }
    if (scene->tick % 16 == i && !scene->quiet) {
        uint8_t blob[2] = {(uint8_t)(0xa0 + i), ++n->counter};
        (void)!fl_entity_state_set(n->session, n->own, blob, 2);
        n->kills++;
        (void)!fl_field_set_int(n->session, n->tank, 0, n->kills);
        (void)!fl_field_set_int(n->session, n->tank, 1, 3 * n->kills % 100);
        (void)!fl_field_set_bytes(n->session, n->tank, 2, "title", n->kills % 6);
        FlEvent event = {.type = 2, .delivery = FL_DELIVERY_NEWEST, .bytes = blob, .count = 2};
        (void)!fl_event_send(n->session, (FlPeerId){0}, &event);
    }
    if (scene->tick % 32 == i) {
        uint8_t me = (uint8_t)n->member;
        (void)!fl_action_send(n->session, scene->now, 5, &me, 1);
    }
    if (i == BYSTANDER && scene->tick % 16 == 9) {
        FlCallDef call = {.kind = 300, .bytes = "x", .count = 1};
        uint32_t serial;
        const Node *owner = &scene->node[OWNER];
        FlEntityId id = fl_entity_of_number(n->session, scene->tick % 32 == 9 ? owner->number
                                                                              : owner->tank_number);
        (void)!fl_call_send(n->session, scene->now, id, &call, &serial);
    }
    if (i == OWNER && scene->rich && !scene->poor && !scene->quiet && scene->tick % 64 < 24) {
        uint8_t much[200]; // more than is relayed at once
        memset(much, (int)scene->tick, sizeof much);
        (void)!fl_entity_state_set(n->session, fl_entity_of_number(n->session, scene->ball), much,
                                   (int32_t)sizeof much);
    }
    listen(scene, i);
}

// Whoever asks the host is let in, or refused.
static void admit(Scene *scene)
{
    FlSession *host = scene->node[HOST].session;
    FlNotice notice;
    while (host != NULL && fl_notice_take(host, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_PEER_ASKS) {
            (void)!fl_peer_admit(host, scene->now, notice.peer, !scene->refuses, "Not today.");
        }
    }
}

// Its inputs up to now, and the timeline's step.
static void hand_in(Scene *scene, int32_t i)
{
    Node *n = &scene->node[i];
    int32_t self = inside_self(n->session);
    if (n->input_next == 0 && self >= 0 && self < PLACES) {
        int64_t first = fl__timeline_first(n->timeline, self);
        n->input_next = first != FL_TIMELINE_NEVER ? first : 0;
    }
    FlResult result = FL_OK;
    while (n->input_next != 0 && n->input_next <= scene->tick && result == FL_OK) {
        uint8_t input[INPUT_BYTES] = {(uint8_t)n->input_next, (uint8_t)i};
        result = fl_input_set(n->session, n->input_next, input);
        n->input_next += result == FL_OK ? 1 : 0;
    }
    (void)!fl_session_advance(n->session, scene->tick);
}

void member_advance(Scene *scene)
{
    scene->now += FL_MS(TICK_MS);
    scene->tick++;
    member_deliver(scene);
    admit(scene);
    for (int32_t i = 0; i < PLACES; i++) {
        Node *n = &scene->node[i];
        if (n->session == NULL) {
            continue;
        }
        if (i < HOSTILE && scene->all_in) {
            play(scene, i);
        } else if (i == HOSTILE && scene->poor) {
            FlEntityId owner = fl_entity_of_number(n->session, scene->node[OWNER].number);
            (void)!fl_entity_attention(n->session, owner, 1.0);
        }
        if (scene->plays && n->timeline != NULL) {
            hand_in(scene, i);
        }
        uint8_t input[INPUT_BYTES] = {(uint8_t)scene->tick, (uint8_t)i};
        for (int32_t k = 0;
             k < 8 && scene->predicts && fl_predict_tick(n->session, scene->now, input); k++) {
        }
        member_pump(scene, i);
    }
}

// ---------------------------------------------------------------- what games ask and choose

// Everything that a game may ask, whatever was said before.
void member_ask_all(const Scene *scene, int32_t at)
{
    FlSession *session = scene->node[at].session;
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlPose pose;
        FlEntityReport report;
        FlLedgerView view;
        double attention;
        FlSendClass send_class;
        (void)!fl_entity_report(session, scene->now, id, &report);
        for (int32_t k = 0; k < NODES; k++) {
            FlPeerId peer = fl_peer_of_number(session, k);
            (void)!fl_entity_view(session, scene->now, id, peer, &view);
            (void)!fl_entity_seen(session, id, peer, fl_session_time(session, scene->now), &pose);
            (void)!fl_entity_interest(session, id, peer, &attention, &send_class);
        }
    }
    for (int32_t k = 0; k < NODES; k++) {
        FlRewind frame;
        FlPose pose;
        FlPeerId peer = fl_peer_of_number(session, k);
        FlTime time = fl_session_time(session, scene->now) - FL_MS(100);
        if (scene->rich && fl_rewind_to(session, scene->now, peer, time, &frame) == FL_OK) {
            for (FlEntityId id = {0}; fl_rewind_next(session, &frame, &id, &pose);) {
                (void)!fl_rewind_claim(session, &frame, id, pose.position, 1.0, &pose);
            }
        }
    }
    uint8_t binding[FL_SEAL_BINDING_BYTES];
    const uint8_t *input;
    for (FlPeerId peer = {0}; fl_peer_next(session, &peer);) {
        FlPeerStatus status;
        FlLinkStats stats;
        (void)!fl_peer_status(session, peer, &status);
        (void)!fl_peer_stats(session, scene->now, peer, &stats);
        (void)!fl_peer_binding(session, peer, binding);
        (void)!fl_input_get(session, peer, fl_input_newest(session, peer) - 1, &input);
    }
    FlPose pose;
    int64_t tick;
    (void)fl_predict_pose(session, scene->now, &pose);
    (void)fl_predict_confirmed(session, &tick);
    (void)fl_predict_stats(session, fl_peer_self(session));
    (void)fl_predict_entity(session, scene->tick, scene->node[at].own, &pose);
    FlVec3 positions[NUMBERS];
    FlCrowdStats crowd;
    (void)fl_entity_positions(session, scene->now, positions);
    (void)!fl_session_crowd_stats(session, &crowd);
    (void)fl_session_frame(session);
    (void)fl__call_stats(session);
    (void)fl_session_time_error(session);
    (void)fl_session_deadline(session, scene->now);
}

// What a game may do with fields, priorities, scopes and events nearby.
static void use_more(const Scene *scene, int32_t at, uint8_t which)
{
    const Node *n = &scene->node[at];
    FlPeerId other = fl_peer_of_number(n->session, which % NODES);
    static const uint8_t near[4];
    FlEvent event = {.type = 3, .delivery = FL_DELIVERY_UNRELIABLE, .bytes = near, .count = 4};
    (void)!fl_event_send_near(n->session, member_truth(scene, at).position, 25.0, &event);
    (void)!fl_entity_priority(n->session, n->own, other, (1 + which % 4) * 0.25);
    (void)!fl_field_scope(n->session, n->tank, other, which % 2 == 0);
    (void)!fl_field_set_real(n->session, n->tank, 3, which / 256.0);
    FlError error;
    FlKindDef bad = {.name = "bad", .field_count = 1 + which % 80};
    static const FlFieldDef wrong[1] = {{.name = "wrong", .type = FL_FIELD_INT, .low = 2.0}};
    bad.fields = wrong;
    CHECK(which % 80 != 0 || fl_kind_define(n->session, 77, &bad, &error) != FL_OK);
    CHECK(fl_kind_define(n->session, SORT, &bad, &error) != FL_OK); // it is there
    FlValue values[FL_FIELDS] = {{0}};
    uint8_t bytes[FL_FIELDS_BYTES];
    int32_t count;
    uint8_t kind;
    if (fl_record_write(n->session, SORT, values, bytes, sizeof bytes, &count) == FL_OK) {
        CHECK(fl_record_read(n->session, bytes, count, &kind, values) == FL_OK && kind == SORT);
        (void)!fl_record_read(n->session, bytes, count - which % 3, &kind, values);
    }
    for (FlEntityId id = {0}; fl_entity_next(n->session, &id);) {
        FlDeltaChange change = {.from = fl_session_time(n->session, scene->now) + FL_MS(100),
                                .delta_ns = FL_MS(which % 64)};
        (void)!fl_entity_delta(n->session, id, &change);
        FlMotion newest;
        (void)!fl_entity_newest(n->session, id, &newest);
        for (int32_t f = 0; f < 6; f++) {
            FlValue value;
            (void)!fl_field_get(n->session, id, f, &value);
        }
    }
}

// What a game may choose while it runs, for what is another's and for its own.
void member_choose(const Scene *scene, int32_t at, uint8_t which)
{
    FlSession *session = scene->node[at].session;
    static const char *const policies[] = {"base", "equal/2-50", "focus", "focus+equal"};
    FlSend send = fl_send_make(FL_SEND_BASE);
    CHECK(fl_send_parse(policies[which % 4], &send) == FL_OK);
    (void)!fl_entity_policy(session, scene->now, scene->node[at].own, &send);
    fl_session_time_mode(session, (FlTimeMode)(which % 2));
    use_more(scene, at, which);
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlReplica replica = {.diameter = 1.0, .known = which % 4 > 1};
        FlGuideView view;
        FlShowDef show = fl_show_def_default();
        show.hold = (FlHold)(which / 4 % 4);
        if (which % 8 == 3) {
            (void)!fl_entity_show(session, id, &show);
        }
        (void)!fl_entity_guide_view(session, scene->now, id, &replica, &view);
        (void)fl_entity_guide_ahead(session, id);
        (void)!fl_peer_attention(session, fl_peer_of_number(session, which % NODES), id, 0.7);
    }
}
