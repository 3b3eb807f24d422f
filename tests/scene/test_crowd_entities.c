// Entities in a crowd: what fl_entity_* promises elsewhere holds there, too.
#include "scene/crowd_world.h"

#include "entity/private.h"

enum { PLAYERS = 20, EACH = 3 };

// They walk in circles of 20 m at 10 m a second: straight on for two seconds is 10 m off.
#define OFF_AT_MOST 12.0

/// Every player has some entities: numbers EACH * player and up.
typedef struct Owners {
    CrowdScene scene;
    FlEntityId own[PLAYERS + 1][EACH];
} Owners;

static FlState truth_of(int32_t player, int32_t k, FlTime time)
{
    FlState state = crowd_truth(player, time);
    state.position.y += 3.0 * k;
    return state;
}

static void open_owners(Owners *owners, bool sealed)
{
    memset(owners->own, 0, sizeof owners->own);
    crowd_open(&owners->scene, PLAYERS);
    if (sealed) {
        crowd_seal(&owners->scene);
    }
    owners->scene.each = EACH;
    crowd_start_all(&owners->scene);
}

static FlSession *session_of(const Owners *owners, int32_t node)
{
    return owners->scene.nodes[node].session;
}

static bool is_in(const Owners *owners, int32_t node)
{
    return fl_session_state(session_of(owners, node)) == FL_SESSION_RUNNING;
}

static void move_all(Owners *owners)
{
    for (int32_t i = 1; i <= PLAYERS; i++) {
        for (int32_t k = 0; k < EACH && is_in(owners, i); k++) {
            FlSession *session = session_of(owners, i);
            FlEntityId *id = &owners->own[i][k];
            if (id->index1 == 0) {
                FlEntityDef def = fl_entity_def_default();
                def.kind = (uint8_t)(10 + k);
                *id = fl_entity_create(session, &def);
                assert_true(id->index1 != 0);
            }
            FlState state = truth_of(crowd_number(&owners->scene, i), k, owners->scene.now);
            if (fl_entity_is_ours(session, *id)) {
                assert_int_equal(fl_entity_set(session, *id, &state), FL_OK);
            }
        }
    }
}

static void run_owners(Owners *owners, FlTime span)
{
    FlTime until = owners->scene.now + span;
    owners->scene.frames_elsewhere = true;
    while (owners->scene.now < until) {
        if (owners->scene.now % CROWD_FRAME == 0) {
            move_all(owners);
        }
        crowd_step(&owners->scene);
    }
}

static FlEntityId entity_at(const Owners *owners, int32_t node, int32_t player, int32_t k)
{
    return fl_entity_of_number(session_of(owners, node), (uint32_t)(EACH * player + k));
}

static double off(Owners *owners, int32_t node, int32_t player, int32_t k)
{
    FlPose pose;
    FlTime now = owners->scene.now;
    FlEntityId id = entity_at(owners, node, player, k);
    assert_true(fl_entity_pose_at(session_of(owners, node), now, id, &pose));
    return fl_vec3_distance(pose.position, truth_of(player, k, now).position);
}

// ---------------------------------------------------------------- tests

static void all_entities_of_all_are_known_and_what_they_are(void **state)
{
    (void)state;
    for (int32_t sealed = 0; sealed < 2; sealed++) {
        static Owners owners;
        open_owners(&owners, sealed == 1);
        run_owners(&owners, FL_SEC(8));
        for (int32_t i = 1; i <= PLAYERS; i++) {
            int32_t self = crowd_number(&owners.scene, i);
            for (int32_t p = 1; p <= PLAYERS; p++) {
                for (int32_t k = 0; k < EACH; k++) {
                    FlEntityStatus status;
                    FlEntityId id = entity_at(&owners, i, p, k);
                    assert_int_equal(fl_entity_status(session_of(&owners, i), id, &status), FL_OK);
                    assert_int_equal(status.kind, 10 + k);
                    assert_int_equal(status.ours, p == self);
                    assert_true(p == self || off(&owners, i, p, k) < OFF_AT_MOST);
                }
            }
            assert_int_equal(fl_session_count(session_of(&owners, i), FL_SESSION_MALFORMED), 0);
        }
        crowd_close(&owners.scene);
    }
}

// Of what it looks at a player has the state and a smooth picture; of nothing else a state.
static void what_is_watched_has_a_state(void **state)
{
    (void)state;
    static Owners owners;
    open_owners(&owners, true);
    run_owners(&owners, FL_SEC(5));
    int32_t star = crowd_number(&owners.scene, 3);
    FlEntityId own = owners.own[3][1];
    assert_int_equal(fl_entity_state_set(session_of(&owners, 3), own, "armed", 5), FL_OK);
    for (int32_t i = 4; i <= 8; i++) {
        FlEntityId id = entity_at(&owners, i, star, 1);
        assert_int_equal(fl_entity_attention(session_of(&owners, i), id, 0.5), FL_OK);
    }
    run_owners(&owners, FL_SEC(6));
    for (int32_t i = 1; i <= PLAYERS; i++) {
        const uint8_t *bytes;
        int32_t count;
        FlEntityStatus status;
        FlEntityId id = entity_at(&owners, i, star, 1);
        bool watches = i >= 4 && i <= 8;
        assert_int_equal(fl_entity_state_get(session_of(&owners, i), id, &bytes, &count), FL_OK);
        assert_int_equal(count, watches || i == 3 ? 5 : 0);
        assert_int_equal(fl_entity_status(session_of(&owners, i), id, &status), FL_OK);
        assert_int_equal(status.watched, watches);
        assert_true(!watches || off(&owners, i, star, 1) < 0.5);
    }
    assert_int_equal(fl_entity_state_set(session_of(&owners, 3), own, "hit", 3), FL_OK);
    assert_int_equal(
        fl_entity_attention(session_of(&owners, 4), entity_at(&owners, 4, star, 1), 0.0), FL_OK);
    run_owners(&owners, FL_SEC(6));
    for (int32_t i = 4; i <= 8; i++) {
        const uint8_t *bytes;
        int32_t count;
        FlEntityId id = entity_at(&owners, i, star, 1);
        assert_int_equal(fl_entity_state_get(session_of(&owners, i), id, &bytes, &count), FL_OK);
        assert_int_equal(count, i == 4 ? 0 : 3); // who looks no more keeps nothing of it
    }
    crowd_close(&owners.scene);
}

// All see it go on under its new owner, whoever carries it; nobody is blamed, and what the old
// owner still has under way counts no more.
static void an_entity_that_is_given_away_goes_on(void **state)
{
    (void)state;
    static Owners owners;
    open_owners(&owners, true);
    run_owners(&owners, FL_SEC(5));
    int32_t giver = crowd_number(&owners.scene, 2);
    FlSession *from = session_of(&owners, 2);
    FlEntityId given = owners.own[2][0];
    int32_t taker = crowd_number(&owners.scene, 9);
    assert_int_equal(fl_entity_give(from, owners.scene.now, given, fl_peer_of_number(from, taker)),
                     FL_OK);
    for (int32_t frame = 0; frame < 120; frame++) {
        FlSession *to = session_of(&owners, 9);
        FlEntityId id = entity_at(&owners, 9, giver, 0);
        if (fl_entity_is_ours(to, id)) {
            FlState there = truth_of(giver, 0, owners.scene.now);
            assert_int_equal(fl_entity_set(to, id, &there), FL_OK);
        }
        run_owners(&owners, CROWD_FRAME);
    }
    for (int32_t i = 1; i <= PLAYERS; i++) {
        FlEntityStatus status;
        FlEntityId id = entity_at(&owners, i, giver, 0);
        assert_int_equal(fl_entity_status(session_of(&owners, i), id, &status), FL_OK);
        assert_int_equal(status.owner.index1, taker + 1);
        assert_int_equal(status.epoch, 1);
        assert_true(i == 9 || off(&owners, i, giver, 0) < OFF_AT_MOST);
        FlPeerStatus peer;
        FlPeerId of = fl_peer_of_number(session_of(&owners, i), taker);
        assert_int_equal(fl_peer_status(session_of(&owners, i), of, &peer), FL_OK);
        assert_int_equal(peer.contradictions, 0);
    }
    crowd_close(&owners.scene);
}

// The number goes on with another epoch: of the one before nothing is left anywhere.
static void a_number_that_is_used_again_is_another_entity(void **state)
{
    (void)state;
    static Owners owners;
    open_owners(&owners, false);
    run_owners(&owners, FL_SEC(5));
    int32_t player = crowd_number(&owners.scene, 6);
    FlSession *session = session_of(&owners, 6);
    assert_int_equal(fl_entity_destroy(session, owners.own[6][2]), FL_OK);
    run_owners(&owners, FL_SEC(1));
    owners.own[6][2].index1 = 0; // made again by move_all: its number is the only free one
    run_owners(&owners, FL_SEC(5));
    for (int32_t i = 1; i <= PLAYERS; i++) {
        FlEntityStatus status;
        FlEntityId id = entity_at(&owners, i, player, 2);
        assert_int_equal(fl_entity_status(session_of(&owners, i), id, &status), FL_OK);
        assert_int_equal(status.epoch, 1);
        assert_true(i == 6 || off(&owners, i, player, 2) < OFF_AT_MOST);
    }
    crowd_close(&owners.scene);
}

// Calls go to the owner through the host, and are answered.
static void a_call_reaches_an_owner_and_its_answer_comes_back(void **state)
{
    (void)state;
    static Owners owners;
    open_owners(&owners, true);
    run_owners(&owners, FL_SEC(5));
    int32_t player = crowd_number(&owners.scene, 7);
    FlSession *asks = session_of(&owners, 12);
    FlCallDef def = {.kind = 200, .bytes = "open", .count = 4};
    FlEntityId door = entity_at(&owners, 12, player, 1);
    uint32_t serial;
    assert_int_equal(fl_call_send(asks, owners.scene.now, door, &def, &serial), FL_OK);
    bool asked = false;
    FlCallDone done = {.id = UINT32_MAX};
    for (int32_t frame = 0; frame < 40 && done.id != serial; frame++) {
        FlCall call;
        FlSession *owner = session_of(&owners, 7);
        if (fl_call_take(owner, &call) == FL_OK) {
            asked = true;
            assert_int_equal(fl_call_answer(owner, owners.scene.now, &call, true, "yes", 3), FL_OK);
        }
        run_owners(&owners, CROWD_FRAME);
        (void)fl_call_take_done(asks, owners.scene.now, &done);
    }
    assert_true(asked);
    assert_int_equal(done.verdict, FL_CALL_APPLIED);
    crowd_close(&owners.scene);
}

// A thousand players know a thousand.
static void an_entity_known_at_best_effort_takes_192_bytes_at_most(void **state)
{
    (void)state;
    FlCrowdDef one = fl__crowd_def_default();
    one.member_capacity = 1001;
    one.entity_capacity = 1001;
    FlCrowdDef more = one;
    more.entity_capacity = 1002;
    size_t carried = fl__crowd_memory(&more) - fl__crowd_memory(&one);
    assert_true(sizeof(Entity) + carried <= 192);
}

// It has no ledger to send by.
static void a_client_made_for_a_crowd_does_not_stay_in_a_star(void **state)
{
    (void)state;
    CrowdScene scene;
    crowd_open(&scene, 2);
    for (int32_t i = 0; i < scene.count; i++) {
        FlSessionDef def = crowd_session_def(&scene, i);
        def.topology = i == 1 ? FL_TOPOLOGY_CROWD : FL_TOPOLOGY_STAR;
        crowd_start(&scene, i, &def);
    }
    crowd_run(&scene, FL_SEC(2));
    assert_int_equal(fl_session_state(scene.nodes[1].session), FL_SESSION_ENDED);
    assert_non_null(strstr(fl_session_end_text(scene.nodes[1].session), "crowd"));
    assert_int_equal(fl_session_state(scene.nodes[2].session), FL_SESSION_RUNNING);
    crowd_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_entities_of_all_are_known_and_what_they_are),
        cmocka_unit_test(what_is_watched_has_a_state),
        cmocka_unit_test(an_entity_that_is_given_away_goes_on),
        cmocka_unit_test(a_number_that_is_used_again_is_another_entity),
        cmocka_unit_test(a_call_reaches_an_owner_and_its_answer_comes_back),
        cmocka_unit_test(an_entity_known_at_best_effort_takes_192_bytes_at_most),
        cmocka_unit_test(a_client_made_for_a_crowd_does_not_stay_in_a_star),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
