// What the owners of a scene's tanks tell, and the datagrams that carry it: who said what, and who
// has heard it.
#ifndef TESTS_SCENE_SESSION_WORLD_TRAFFIC_H
#define TESTS_SCENE_SESSION_WORLD_TRAFFIC_H

#include "session_world_state.h"

// ---------------------------------------------------------------- tanks

/// The newest that was told is what the owner compares the truth with now.
static inline void scene_note_good(const Scene *scene, int32_t i, SceneTank *tank)
{
    SceneTold *told = &tank->told[tank->told_count - 1];
    told->good_until = scene->now;
    told->good_session = fl_session_time(scene->node[i].session, scene_clock(scene, i, scene->now));
}

/// Notes what the owner has told, if it is new.
static inline void scene_note_told(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        SceneTank *tank = &node->tank[t];
        const Entity *entity = fl__entity_find(node->session, tank->id);
        if (entity == NULL || !entity->exporter.started) {
            continue;
        }
        const FlMotion *now = &entity->exporter.exported;
        SceneTold *last = tank->told_count > 0 ? &tank->told[tank->told_count - 1] : NULL;
        if (last != NULL && last->life == tank->life &&
            memcmp(&last->motion, now, sizeof *now) == 0) {
            continue;
        }
        if (tank->told_count == tank->told_capacity) {
            tank->told_capacity = tank->told_capacity * 2 + 64;
            tank->told =
                (SceneTold *)realloc(tank->told, (size_t)tank->told_capacity * sizeof *tank->told);
            assert_non_null(tank->told);
        }
        SceneTold told = {*now, tank->life, entity->life, 0, 0};
        if (last != NULL) { // another life travels as another life
            last = &tank->told[tank->told_count - 1];
            assert_int_equal(last->life != told.life, last->life_sent % 4 != told.life_sent % 4);
        }
        tank->told[tank->told_count++] = told;
        scene_note_good(scene, i, tank);
    }
}

static inline void scene_drive_tank(Scene *scene, int32_t i, SceneTank *tank)
{
    SceneNode *node = &scene->node[i];
    SceneTruth truth = tank->drive(scene->now);
    if (tank->id.index1 == 0) {
        if (fl_entity_create(node->session, &tank->def, &tank->id) != FL_OK) {
            return; // not in yet
        }
        FlEntityStatus status;
        assert_int_equal(fl_entity_status(node->session, tank->id, &status), FL_OK);
        tank->number = status.number;
        tank->life = truth.life;
    }
    if (tank->life != truth.life) {
        assert_int_equal(fl_entity_cut(node->session, tank->id), FL_OK);
        tank->life = truth.life;
    }
    truth.state.time = scene_clock(scene, i, scene->now);
    FlResult result = fl_entity_set(node->session, tank->id, &truth.state);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
    scene_note_told(scene, i);
    if (tank->told_count > 0) {
        scene_note_good(scene, i, tank);
    }
}

static inline void scene_drive(Scene *scene, int32_t i)
{
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        if (scene->node[i].tank[t].drive != NULL) {
            scene_drive_tank(scene, i, &scene->node[i].tank[t]);
        }
    }
}

// ---------------------------------------------------------------- datagrams

static inline void scene_hash(Scene *scene, const void *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        scene->hash = (scene->hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

static inline int32_t scene_node_of(const Scene *scene, FlAddress address)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (fl_address_equal(address, scene_address(i))) {
            return i;
        }
    }
    return -1;
}

static inline bool scene_tank_of(const Scene *scene, uint32_t number, int32_t *owner, int32_t *t)
{
    for (*owner = 0; *owner < scene->node_count; (*owner)++) {
        for (*t = 0; *t < SCENE_TANKS; (*t)++) {
            const SceneTank *tank = &scene->node[*owner].tank[*t];
            if (tank->id.index1 != 0 && tank->number == number) {
                return true;
            }
        }
    }
    return false;
}

/// Which of what was told of a tank this is, plus one; 0: none of it.
static inline int32_t scene_told_of(const SceneTank *tank, const FlPiece *piece)
{
    int32_t i = tank->told_count;
    while (i > 0 && (tank->told[i - 1].motion.time != piece->motion.time ||
                     tank->told[i - 1].life_sent % 4 != piece->life % 4)) {
        i--;
    }
    return i;
}

/// A motion as it travels at a time of the session: what is older than 5 s is told from a later
/// time, and rounded again.
static inline FlMotion scene_as_it_travels(const FlSession *session, const FlMotion *motion,
                                           FlTime time)
{
    FlMotion travels = *motion;
    if (time - motion->time > FL_SEC(5)) {
        FlMotion later = fl_motion_rebase(motion, time - FL_SEC(5));
        bool wide;
        assert_int_equal(fl_update_round(&session->world, &later, &travels, &wide), FL_OK);
    }
    return travels;
}

static inline void scene_add_carried(Scene *scene, const SceneCarried *carried)
{
    if (scene->carried_count == scene->carried_capacity) {
        scene->carried_capacity = scene->carried_capacity * 2 + 256;
        scene->carried = (SceneCarried *)realloc(scene->carried, (size_t)scene->carried_capacity *
                                                                     sizeof *scene->carried);
        assert_non_null(scene->carried);
    }
    scene->carried[scene->carried_count++] = *carried;
}

/// Notes that the datagram carries this piece of that entity's path.
static inline void scene_note_carried(Scene *scene, int32_t from, const Entity *entity,
                                      const FlPiece *piece)
{
    const SceneNode *node = &scene->node[from];
    SceneCarried carried;
    if (!scene_tank_of(scene, entity->number, &carried.owner, &carried.tank)) {
        return; // a test's own
    }
    const SceneTank *tank = &scene->node[carried.owner].tank[carried.tank];
    const SceneHeard *heard = &node->heard[carried.owner][carried.tank];
    carried.incarnation = scene->node[carried.owner].incarnation;
    carried.told1 = scene_told_of(tank, piece);
    if (carried.owner != from) {
        // Passed on is what was heard. It may be of a process that has been started again since.
        if (heard->incarnation != carried.incarnation || heard->newest1 == 0) {
            return;
        }
        bool heard_so = heard->motion.time == piece->motion.time;
        carried.told1 = heard_so ? heard->newest1 : carried.told1;
    }
    assert_true(scene->unexplained || carried.told1 > 0);
    FlTime time = fl_session_time(node->session, scene_clock(scene, from, scene->now));
    carried.motion = scene_as_it_travels(node->session, &piece->motion, time);
    if (carried.told1 > 0) {
        scene_add_carried(scene, &carried);
    }
}

/// Packets that were begun so far, per line.
static inline void scene_begun(const FlSession *session, uint64_t begun[SCENE_LINES])
{
    assert_true(session->line_count <= SCENE_LINES);
    for (int32_t i = 0; i < session->line_count; i++) {
        begun[i] = session->lines[i].used ? session->lines[i].manifest.packet_next : 0;
    }
}

/// What the session has noted of the packet that it has just made for `to`. False: it made none.
static inline bool scene_note_packet(Scene *scene, int32_t from, int32_t to,
                                     const uint64_t *begun_before)
{
    const FlSession *session = scene->node[from].session;
    bool begun = false;
    for (int32_t i = 0; i < session->line_count; i++) {
        const Line *line = &session->lines[i];
        if (!line->used || !fl_address_equal(line->address, scene_address(to)) ||
            line->manifest.packet_next == begun_before[i]) {
            continue;
        }
        begun = true;
        const Manifest *m = &line->manifest;
        const Packet *packet =
            &m->packets[(m->packet_next - 1) & (uint64_t)(m->packet_capacity - 1)];
        for (uint32_t n = 0; n < packet->count; n++) {
            const Item *item = &m->items[(packet->first + n) & (uint32_t)(m->item_capacity - 1)];
            if (item->row == fl__feature_row(session, &fl__feature_motion)) {
                scene_note_carried(scene, from, &session->entities[item->index],
                                   fl_ledger_exported(session->ledger, item->index, item->value));
            }
        }
    }
    return begun;
}

static inline SceneDatagram *scene_new_datagram(Scene *scene)
{
    if (scene->datagram_count == scene->datagram_capacity) {
        scene->datagram_capacity = scene->datagram_capacity * 2 + 256;
        scene->datagram = (SceneDatagram *)realloc(
            scene->datagram, (size_t)scene->datagram_capacity * sizeof *scene->datagram);
        assert_non_null(scene->datagram);
    }
    SceneDatagram *datagram = &scene->datagram[scene->datagram_count++];
    memset(datagram, 0, sizeof *datagram);
    datagram->arrived = -1;
    return datagram;
}

/// The way of a datagram between two nodes. All go through the host's.
static inline FlImpair *scene_way_of(Scene *scene, int32_t from, int32_t to)
{
    assert_true(from == 0 || to == 0);
    return from == 0 ? scene->node[to].way[1] : scene->node[from].way[0];
}

/// Gives a datagram to the network.
static inline void scene_send(Scene *scene, int32_t from, const FlOutgoing *out,
                              const uint64_t *begun_before)
{
    SceneNode *node = &scene->node[from];
    int32_t to = scene_node_of(scene, out->to);
    assert_true(to >= 0 && out->count > 0 && out->count <= FL_SESSION_DATAGRAM_BYTES);
    scene_hash(scene, &from, sizeof from);
    scene_hash(scene, &to, sizeof to);
    scene_hash(scene, &out->count, sizeof out->count);
    scene_hash(scene, out->bytes, out->count);
    SceneDatagram *datagram = scene_new_datagram(scene);
    datagram->from = from;
    datagram->to = to;
    datagram->carried_first = scene->carried_count;
    bool begun = scene_note_packet(scene, from, to, begun_before);
    datagram->carried_count = (int32_t)(scene->carried_count - datagram->carried_first);
    if (scene->sealed && !begun && scene->datagram_count > 1) {
        // The seal may have put a packet of its own before the one that was made.
        const SceneDatagram *last = &scene->datagram[scene->datagram_count - 2];
        if (last->from == from && last->to == to) {
            datagram->carried_first = last->carried_first;
            datagram->carried_count = last->carried_count;
        }
    }
    FlFate fate = fl_impair_send(scene_way_of(scene, from, to), scene->now, out->count);
    bool lost = node->cut_out || scene->node[to].cut_in;
    for (int32_t c = 0; c < fate.copy_count && !lost; c++) {
        assert_int_equal(fl_flight_push(scene->flight, fate.deliver_at[c],
                                        (uint64_t)scene->datagram_count - 1, out->bytes,
                                        out->count),
                         FL_OK);
    }
}

static inline void scene_look_at_clock(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    FlTime time = fl_session_time(node->session, scene_clock(scene, i, scene->now));
    assert_true(time >= node->time_last);
    node->time_last = time;
}

/// Lets a node's session say what it has to say now, and asks it for its next deadline.
static inline void scene_pump(Scene *scene, int32_t i)
{
    SceneNode *node = &scene->node[i];
    FlTime now = scene_clock(scene, i, scene->now);
    if (scene->visit != NULL) {
        scene->visit(scene, i);
    }
    FlOutgoing out;
    uint64_t begun[SCENE_LINES];
    scene_begun(node->session, begun);
    int32_t count = 0;
    while (fl_session_next(node->session, now, &out) == FL_OK) {
        scene_send(scene, i, &out, begun);
        scene_begun(node->session, begun);
        assert_true(++count < SCENE_PUMPS); // one that never has enough would spin
    }
    assert_null(out.bytes);
    scene_look_at_clock(scene, i);
    if (node->running_at < 0 && fl_session_state(node->session) == FL_SESSION_RUNNING) {
        node->running_at = scene->now;
    }
    FlTime deadline = fl_session_deadline(node->session, now);
    if (deadline == FL_FOREVER) {
        node->due = FL_FOREVER;
        return;
    }
    bool ended = fl_session_state(node->session) == FL_SESSION_ENDED; // that is seen at once
    assert_true(deadline > now || ended); // otherwise a loop that waits for it would spin
    double ahead = (double)(deadline - now) / (1.0 + node->clock_drift);
    node->due = scene->now + (FlTime)ahead + 1;
}

/// The newest is shown: a later stamp, be it the same motion told from then.
static inline void scene_hear(SceneNode *node, const SceneCarried *carried)
{
    SceneHeard *heard = &node->heard[carried->owner][carried->tank];
    if (heard->incarnation != carried->incarnation) {
        SceneHeard fresh = {.incarnation = carried->incarnation, .before = INT64_MIN};
        *heard = fresh;
    }
    bool later = carried->told1 > heard->newest1 ||
                 (carried->told1 == heard->newest1 && carried->motion.time > heard->motion.time);
    if (later) {
        heard->before = heard->newest1 > 0 ? heard->motion.time : INT64_MIN;
        heard->newest1 = carried->told1;
        heard->motion = carried->motion;
    }
}

/// A datagram arrives; notes what the node must be showing from now on.
static inline void scene_deliver(Scene *scene, const FlFlightPacket *packet)
{
    SceneDatagram *datagram = &scene->datagram[packet->tag];
    SceneNode *node = &scene->node[datagram->to];
    if (node->session == NULL) {
        return;
    }
    if (datagram->arrived < 0) {
        datagram->arrived = scene->now;
    }
    if (node->asleep) { // waits at the socket
        uint8_t copy[FL_SESSION_DATAGRAM_BYTES];
        memcpy(copy, packet->data, (size_t)packet->bytes);
        FlTime later = (scene->now / FL_MS(1) + 1) * FL_MS(1); // all at once, when it wakes
        assert_int_equal(fl_flight_push(scene->flight, later, packet->tag, copy, packet->bytes),
                         FL_OK);
        return;
    }
    uint64_t before = fl_session_count(node->session, FL_SESSION_UPDATES_TAKEN) +
                      fl_session_count(node->session, FL_SESSION_UPDATES_OVERTAKEN);
    fl_session_receive(node->session, scene_address(datagram->from), packet->data, packet->bytes,
                       scene_clock(scene, datagram->to, datagram->arrived));
    uint64_t after = fl_session_count(node->session, FL_SESSION_UPDATES_TAKEN) +
                     fl_session_count(node->session, FL_SESSION_UPDATES_OVERTAKEN);
    node->due = scene->now;
    bool read = after != before; // and not a duplicate, or from another conversation
    for (int32_t n = 0; n < datagram->carried_count && read; n++) {
        scene_hear(node, &scene->carried[datagram->carried_first + n]);
    }
}

#endif
