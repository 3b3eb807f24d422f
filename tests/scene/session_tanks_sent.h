// What the owners of a scene's tanks tell, and the datagrams that carry it: who said what, and who
// has heard it.
#ifndef TESTS_SCENE_SESSION_TANKS_SENT_H
#define TESTS_SCENE_SESSION_TANKS_SENT_H

#include "kernel/kernel.h"
#include "session_tanks_make.h"

#include "motion/motion.h"

// ---------------------------------------------------------------- tanks

/// The newest that was told is what the owner compares the truth with now.
static inline void scene_note_good(const Scene *scene, int32_t i, SceneTank *tank)
{
    SceneTold *told = &tank->told[tank->told_count - 1];
    told->good_until = scene->net.now;
    told->good_session = net_time(&scene->net, i);
}

/// Room for one more at the end of an array that grows.
static inline void *scene_grow(void *array, int64_t count, int64_t *capacity, size_t each)
{
    if (count == *capacity) {
        *capacity = *capacity * 2 + 256;
        array = realloc(array, (size_t)*capacity * each);
        assert_non_null(array);
    }
    return array;
}

/// Notes what the owner has told, if it is new.
static inline void scene_note_told(Scene *scene, int32_t i)
{
    FlSession *session = scene->net.node[i].session;
    for (int32_t t = 0; t < SCENE_TANKS; t++) {
        SceneTank *tank = &scene->node[i].tank[t];
        const FlMotion *now = inside_sent(session, tank->id);
        const SceneTold *last = tank->told_count > 0 ? &tank->told[tank->told_count - 1] : NULL;
        if (now == NULL || (last != NULL && last->life == tank->life &&
                            memcmp(&last->motion, now, sizeof *now) == 0)) {
            continue;
        }
        FlEntityStatus status;
        assert_int_equal(fl_entity_status(session, tank->id, &status), FL_OK);
        SceneTold told = {*now, tank->life, status.life, 0, 0};
        if (last != NULL) { // another life travels as another life
            assert_int_equal(last->life != told.life, last->life_sent % 4 != told.life_sent % 4);
        }
        tank->told = (SceneTold *)scene_grow(tank->told, tank->told_count, &tank->told_capacity,
                                             sizeof *tank->told);
        tank->told[tank->told_count++] = told;
        scene_note_good(scene, i, tank);
    }
}

static inline void scene_drive_tank(Scene *scene, int32_t i, SceneTank *tank)
{
    FlSession *session = scene->net.node[i].session;
    SceneTruth truth = tank->drive(scene->net.now);
    if (tank->id.index1 == 0) {
        if (!session->complete) { // it would have no number yet
            return;
        }
        tank->id = fl_entity_create(session, &tank->def);
        FlEntityStatus status;
        assert_int_equal(fl_entity_status(session, tank->id, &status), FL_OK);
        tank->number = status.number;
        tank->life = truth.life;
    }
    if (fl_session_state(session) != FL_SESSION_RUNNING) {
        return; // what is handed in now goes out later, and could not be explained
    }
    if (tank->life != truth.life) {
        assert_int_equal(fl_entity_cut(session, tank->id), FL_OK);
        tank->life = truth.life;
    }
    truth.state.time = net_local(&scene->net, i);
    FlResult result = fl_entity_set(session, tank->id, &truth.state);
    assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
    scene_note_told(scene, i);
    if (tank->told_count > 0) {
        scene_note_good(scene, i, tank);
    }
}

static inline void scene_drive(Net *net, int32_t i)
{
    Scene *scene = (Scene *)net;
    SceneNode *node = &scene->node[i];
    for (int32_t t = 0; t < SCENE_TANKS && !node->no_frames; t++) {
        if (node->tank[t].drive != NULL) {
            scene_drive_tank(scene, i, &node->tank[t]);
        }
    }
    net->node[i].due = node->no_frames ? net->node[i].due : net->now;
}

// ---------------------------------------------------------------- datagrams

static inline void scene_hash(Scene *scene, const void *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        scene->hash = (scene->hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

static inline bool scene_tank_of(const Scene *scene, uint32_t number, int32_t *owner, int32_t *t)
{
    for (*owner = 0; *owner < scene->net.count; (*owner)++) {
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
static inline FlMotion scene_as_it_travels(const Scene *scene, const FlMotion *motion, FlTime time)
{
    FlMotion travels = *motion;
    if (time - motion->time > FL_SEC(5)) {
        FlMotion later = fl__motion_rebase(motion, time - FL_SEC(5));
        FlWorld world;
        bool wide;
        assert_int_equal(fl_world_init(&scene->net.def.world, &world), FL_OK);
        assert_int_equal(fl_update_round(&world, &later, &travels, &wide), FL_OK);
    }
    return travels;
}

typedef struct SceneSender {
    Scene *scene;
    int32_t node;
} SceneSender;

/// Notes that the datagram carries this piece of that entity's path.
static inline void scene_note_carried(void *ctx, uint32_t number, const FlPiece *piece)
{
    Scene *scene = ((const SceneSender *)ctx)->scene;
    int32_t from = ((const SceneSender *)ctx)->node;
    SceneCarried carried;
    if (!scene_tank_of(scene, number, &carried.owner, &carried.tank)) {
        return; // a test's own
    }
    const SceneTank *tank = &scene->node[carried.owner].tank[carried.tank];
    const SceneHeard *heard = &scene->node[from].heard[carried.owner][carried.tank];
    carried.incarnation = scene->net.node[carried.owner].incarnation;
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
    carried.motion = scene_as_it_travels(scene, &piece->motion, net_time(&scene->net, from));
    if (carried.told1 > 0) {
        scene->carried = (SceneCarried *)scene_grow(scene->carried, scene->carried_count,
                                                    &scene->carried_capacity, sizeof carried);
        scene->carried[scene->carried_count++] = carried;
    }
}

static inline void scene_before_pump(Net *net, int32_t i)
{
    Scene *scene = (Scene *)net;
    if (scene->visit != NULL) {
        scene->visit(scene, i);
    }
    inside_begun(net->node[i].session, scene->node[i].begun);
}

/// A datagram is given to the network.
static inline void scene_on_send(Net *net, const NetHead *head, const FlOutgoing *out)
{
    Scene *scene = (Scene *)net;
    const FlSession *session = net->node[head->from].session;
    uint64_t *begun_before = scene->node[head->from].begun;
    scene_hash(scene, &head->from, sizeof head->from);
    scene_hash(scene, &head->to, sizeof head->to);
    scene_hash(scene, &out->count, sizeof out->count);
    scene_hash(scene, out->bytes, out->count);
    SceneSender sender = {scene, head->from};
    SceneDatagram datagram = {head->from, head->to, scene->carried_count, 0};
    bool begun = inside_updates(session, out->to, begun_before, scene_note_carried, &sender);
    datagram.carried_count = (int32_t)(scene->carried_count - datagram.carried_first);
    if (net->sealed && !begun && scene->datagram_count > 0) {
        // The seal may have put a packet of its own before the one that was made.
        const SceneDatagram *last = &scene->datagram[scene->datagram_count - 1];
        datagram = last->from == head->from && last->to == head->to ? *last : datagram;
    }
    scene->datagram = (SceneDatagram *)scene_grow(scene->datagram, scene->datagram_count,
                                                  &scene->datagram_capacity, sizeof datagram);
    assert_int_equal(scene->datagram_count, head->serial);
    scene->datagram[scene->datagram_count++] = datagram;
    inside_begun(session, begun_before);
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

static inline uint64_t scene_updates_read(const FlSession *session)
{
    return fl_session_count(session, FL_SESSION_UPDATES_TAKEN) +
           fl_session_count(session, FL_SESSION_UPDATES_OVERTAKEN);
}

/// A datagram arrives; notes what the node must be showing from now on.
static inline void scene_on_receive(Net *net, const NetHead *head, const void *bytes, int32_t count)
{
    Scene *scene = (Scene *)net;
    const FlSession *session = net->node[head->to].session;
    const SceneDatagram *datagram = &scene->datagram[head->serial];
    uint64_t before = scene_updates_read(session);
    net_receive(net, head, bytes, count);
    bool read = scene_updates_read(session) != before; // no duplicate, nor another conversation's
    for (int32_t n = 0; n < datagram->carried_count && read; n++) {
        scene_hear(&scene->node[head->to], &scene->carried[datagram->carried_first + n]);
    }
}

#endif
