// What must be so at every honest member, whatever the hostile one says.
#include "member_scene.h"

// The hostile one leads somebody, or has ended up alone with its own session: a host rules.
static bool is_led_by_hostile(const Scene *scene)
{
    for (int32_t i = 0; i < HOSTILE; i++) {
        if (member_is_honest(scene, i) && scene->node[HOST].session == NULL &&
            inside_host(scene->node[i].session) == scene->node[HOSTILE].member) {
            return true;
        }
    }
    return false;
}

// What an honest member knows of another's entity.
static void check_entity(const Scene *scene, int32_t at, int32_t of, bool settled)
{
    FlSession *session = scene->node[at].session;
    const Node *owner = &scene->node[of];
    FlEntityId id = fl_entity_of_number(session, owner->number);
    bool crowd = session->topology == FL_TOPOLOGY_CROWD;
    CHECK(!settled || crowd || id.index1 != 0);
    if (id.index1 == 0 || crowd) {
        return;
    }
    int32_t number = inside_owner(session, id);
    CHECK(number == owner->member || (number == FL__NONE && !settled));
    CHECK(fl_entity_is_ours(session, id) == (at == of));
    const uint8_t *blob;
    int32_t count;
    if (fl_entity_state_get(session, id, &blob, &count) == FL_OK && count > 0) {
        CHECK(count == 2 && blob[0] == (uint8_t)(0xa0 + of));
        CHECK((uint8_t)(owner->counter - blob[1]) < (settled ? 1 : 200));
    }
    FlPose pose;
    if (at != of && fl_entity_pose_at(session, scene->now, id, &pose)) {
        FlState state = member_truth(scene, of);
        CHECK(fl_vec3_length(fl_vec3_sub(pose.position, state.position)) < (settled ? 2.0 : 60.0));
    }
}

// The fields of another's tank are what it set, together.
static void check_tank(const Scene *scene, int32_t at, int32_t of, bool settled)
{
    FlSession *session = scene->node[at].session;
    const Node *owner = &scene->node[of];
    FlEntityId id = fl_entity_of_number(session, owner->tank_number);
    FlValue kills, thrice;
    if (session->topology == FL_TOPOLOGY_CROWD || owner->tank.index1 == 0 || id.index1 == 0 ||
        fl_field_get(session, id, 0, &kills) != FL_OK) {
        return;
    }
    CHECK(fl_field_get(session, id, 1, &thrice) == FL_OK);
    CHECK(kills.integer <= owner->kills && thrice.integer == 3 * kills.integer % 100);
    CHECK(!settled || kills.integer == owner->kills);
}

// A timeline goes on; whom the host lets play plays every tick once.
static void check_play(const Scene *scene, int32_t at, bool settled)
{
    const Node *n = &scene->node[at];
    bool star = n->session->topology == FL_TOPOLOGY_STAR;
    if (scene->plays && settled && star) {
        int64_t tick;
        (void)fl_timeline_settled(n->timeline, &tick);
        CHECK(tick > scene->tick - 100);
    }
    int64_t tick;
    for (int32_t k = 0; k < NODES && scene->predicts && at == HOST; k++) {
        FlPeerId peer = k == at ? fl_peer_self(n->session) : fl_peer_of_number(n->session, k);
        const uint32_t *words = (const uint32_t *)fl_predict_state(n->session, peer, &tick);
        CHECK(words == NULL || (int64_t)words[0] <= scene->tick + 2);
    }
}

void member_check(const Scene *scene, bool settled)
{
    for (int32_t i = 0; i < HOSTILE; i++) {
        const Node *n = &scene->node[i];
        if (!member_is_honest(scene, i)) {
            continue;
        }
        CHECK(n->live_bytes <= n->base_bytes + MEMORY_SLACK);
        CHECK(inside_lines_agree(n->session));
        member_ask_all(scene, i);
        if (scene->was_parted || is_led_by_hostile(scene)) {
            continue;
        }
        CHECK(fl_session_state(n->session) == FL_SESSION_RUNNING);
        check_play(scene, i, settled);
        for (int32_t k = 0; k < HOSTILE; k++) {
            if (member_is_honest(scene, k)) {
                check_entity(scene, i, k, settled);
                check_tank(scene, i, k, settled);
                CHECK(!settled || k == i || n->received[k] == scene->node[k].sent[i]);
            }
        }
    }
}
