// What the nodes of a scene see, compared with the truth at every frame. See session_tanks.h for
// what is checked.
#ifndef TESTS_SCENE_SESSION_TANKS_SEEN_H
#define TESTS_SCENE_SESSION_TANKS_SEEN_H

#include "session_tanks_sent.h"

/// How far off a pose may be, in metres. Let M be the update that the receiver shows.
///
/// At the frames until the owner told something newer, M was within the trigger's distance of the
/// truth: the owner compares with what it told, so M's rounding is in that. Since the last of those
/// frames (`good_until`) truth and M may have gone apart by both their speeds: that is the frame
/// with the trigger, the way of what was told then, and its repetition if it got lost. And receiver
/// and owner disagree about what time it is, during which M moves on. If M was told again from a
/// later time, there is its second rounding (`retold`), which is measured.
static inline double scene_explained(const Scene *scene, const SceneTank *tank,
                                     const SceneTold *shown, FlTime receiver_time)
{
    const FlMotion *m = &shown->motion;
    FlTime since = scene->net.now - shown->good_until;
    FlTime owner_time = shown->good_session + since;
    double speed_then = fl_vec3_length(fl__motion_velocity(m, shown->good_session));
    double speed_now = fl_vec3_length(fl__motion_velocity(m, owner_time));
    double speed_here = fl_vec3_length(fl__motion_velocity(m, receiver_time));
    // The fastest is at an end: models change speed steadily, if at all.
    double apart = (fmax(speed_then, speed_now) + SCENE_TOP_SPEED) * fl_span_seconds(since);
    double clocks = fabs(fl_span_seconds(receiver_time - owner_time));
    return tank->def.trigger.distance + apart + fmax(speed_now, speed_here) * clocks;
}

static inline bool scene_same_pose(const FlPose *a, const FlPose *b)
{
    return memcmp(&a->position, &b->position, sizeof a->position) == 0 &&
           memcmp(&a->velocity, &b->velocity, sizeof a->velocity) == 0 &&
           memcmp(&a->yaw, &b->yaw, sizeof a->yaw) == 0;
}

/// Whether a node does not place its newest update yet, by its session time: that one is from the
/// future, by the clocks' errors, or has arrived at a time that was rounded up.
static inline bool scene_is_early(const SceneHeard *heard, const FlShow *show, FlTime time)
{
    const FlPiece *newest = fl_path_at(&show->placed, FL_FOREVER);
    bool rounded = newest != NULL && newest->from > time && newest->from - time < FL_MS(1);
    return rounded || time < heard->motion.time || time < heard->before;
}

static inline void scene_compare(Scene *scene, const SceneTank *tank, const SceneHeard *heard,
                                 const FlPose *pose, FlTime time)
{
    SceneSeen *seen = &scene->seen;
    const SceneTold *shown = &tank->told[heard->newest1 - 1];
    SceneTruth truth = tank->drive(scene->net.now);
    bool newest = heard->newest1 == tank->told_count;
    seen->poses++;
    seen->newest += newest ? 1 : 0;
    FlTime wait = newest ? 0 : scene->net.now - shown->good_until;
    seen->longest_wait = wait > seen->longest_wait ? wait : seen->longest_wait;
    if (shown->life != truth.life) {
        seen->other_life++;
        return;
    }
    double off = fl_vec3_distance(pose->position, truth.state.position);
    double retold = 0.0;
    if (heard->motion.time != shown->motion.time) {
        retold = fl_vec3_distance(fl_motion_position(&heard->motion, time),
                                  fl_motion_position(&shown->motion, time));
        seen->worst_retold = retold > seen->worst_retold ? retold : seen->worst_retold;
    }
    // What fades is foreseen, not told; that it is foreseen by the rule was checked before.
    double foreseen = fl_vec3_distance(pose->position, fl_motion_position(&heard->motion, time));
    double explained = retold + foreseen + scene_explained(scene, tank, shown, time);
    assert_true(scene->unexplained || off <= explained + 1e-9);
    seen->worst = off > seen->worst ? off : seen->worst;
    seen->worst_newest = newest && off > seen->worst_newest ? off : seen->worst_newest;
    seen->worst_share = off / explained > seen->worst_share ? off / explained : seen->worst_share;
    seen->sum += off;
}

static inline void scene_look_at_tank(Scene *scene, int32_t i, FlEntityId id, int32_t owner,
                                      int32_t t)
{
    const SceneTank *tank = &scene->node[owner].tank[t];
    const SceneHeard *heard = &scene->node[i].heard[owner][t];
    FlSession *session = scene->net.node[i].session;
    const FlShow *show = inside_show(session, id);
    FlTime time = net_time(&scene->net, i);
    FlPose pose;
    bool posed = fl_entity_pose_at(session, net_local(&scene->net, i), id, &pose);
    if (heard->newest1 == 0) { // announced, and nothing told of it yet
        assert_false(posed);
        return;
    }
    if (scene_is_early(heard, show, time)) {
        scene->seen.early++;
        return;
    }
    if (!posed) { // the node's own time has not started
        assert_int_equal(fl_session_time_error(session), FL_FOREVER);
        return;
    }
    const FlPiece *piece = fl_path_at(&show->placed, time);
    FlTime from = piece != NULL ? piece->from : heard->motion.time; // it came before its time
    FlPiece placed = fl_piece_placed(&heard->motion, 0, from);
    FlPose expected = fl_motion_pose(&placed.motion, time);
    assert_true(scene->unexplained || scene_same_pose(&pose, &expected));
    assert_int_equal(show->life % 4, tank->told[heard->newest1 - 1].life_sent % 4);
    scene->seen.relayed += i != 0 && owner != 0 ? 1 : 0;
    scene_compare(scene, tank, heard, &pose, time);
}

static inline void scene_look_at_claim(Scene *scene, int32_t i)
{
    FlTime claim = fl_session_time_error(scene->net.node[i].session);
    if (i == 0 || claim == FL_FOREVER || !net_is_awake(&scene->net, 0)) {
        return;
    }
    FlTime off = llabs(net_time(&scene->net, i) - net_time(&scene->net, 0));
    scene->seen.clock_looks++;
    scene->seen.clock_wrong += off > claim + FL_LINK_STEP_NS / 2 ? 1 : 0;
    scene->seen.clock_worst = off > scene->seen.clock_worst ? off : scene->seen.clock_worst;
}

/// What node i sees of the others' tanks.
static inline void scene_look(Net *net, int32_t i)
{
    Scene *scene = (Scene *)net;
    FlSession *session = net->node[i].session;
    net_look_at_clock(net, i);
    scene_look_at_claim(scene, i);
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        FlEntityStatus status;
        int32_t owner;
        int32_t t;
        assert_int_equal(fl_entity_status(session, id, &status), FL_OK);
        bool known = scene_tank_of(scene, status.number, &owner, &t);
        if (known && owner != i &&
            net->node[owner].incarnation == scene->node[i].heard[owner][t].incarnation) {
            assert_false(status.ours);
            scene_look_at_tank(scene, i, id, owner, t);
        }
    }
}

static inline void scene_hook(Net *net)
{
    net->frame_hz = SCENE_FRAME_HZ;
    net->drive = scene_drive;
    net->look = scene_look;
    net->before_pump = scene_before_pump;
    net->on_send = scene_on_send;
    net->on_receive = scene_on_receive;
}

#endif
