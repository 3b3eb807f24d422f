// Getting into a session, out of it, and in again, in virtual time: plain and sealed.
#include "session_tanks.h"

static const char *trouble(const Scene *scene, int32_t node)
{
    return fl_session_end_text(scene->net.node[node].session);
}

static bool says(const Scene *scene, int32_t node, const char *word)
{
    return strstr(trouble(scene, node), word) != NULL;
}

static FlSessionState state_of(const Scene *scene, int32_t node)
{
    return fl_session_state(scene->net.node[node].session);
}

static uint64_t count_of(const Scene *scene, int32_t node, FlSessionCount which)
{
    return fl_session_count(scene->net.node[node].session, which);
}

/// The entity by which `node` knows that tank; {0} if it does not.
static FlEntityId known_as(const Scene *scene, int32_t node, const SceneTank *tank)
{
    FlEntityId none = {0};
    return tank->id.index1 == 0 ? none
                                : fl_entity_of_number(scene->net.node[node].session, tank->number);
}

static bool sees(const Scene *scene, int32_t node, const SceneTank *tank)
{
    FlPose pose;
    FlEntityId id = known_as(scene, node, tank);
    FlTime now = net_local(&scene->net, node);
    return fl_entity_pose_at(scene->net.node[node].session, now, id, &pose);
}

// ---------------------------------------------------------------- in

static bool everybody_is_known(const Net *net)
{
    bool all = true;
    for (int32_t i = 0; i < net->count; i++) {
        all = all && fl_peer_count(net->node[i].session) == net->count - 1;
    }
    return all;
}

static void joining_succeeds_although_half_of_all_datagrams_get_lost(void **state)
{
    FlTime longest = 0;
    FlTime known = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        Scene scene;
        scene_open(&scene, 3, seed, state);
        for (int32_t i = 1; i < 4; i++) {
            scene_network(&scene, i, FL_MS(40 * i), FL_MS(40), 500000);
            scene.net.def.join_timeout_ns = FL_SEC(15);
        }
        scene_start_all(&scene);
        net_run_until(&scene.net, FL_SEC(16), net_all_running);
        assert_true(net_all_running(&scene.net));
        FlTime longest_here = scene.net.now;
        longest = scene.net.now > longest ? scene.net.now : longest;
        // And however often they had to ask, each is in once, and known to everybody.
        net_run_until(&scene.net, scene.net.now + FL_SEC(30), everybody_is_known);
        known = scene.net.now - longest_here > known ? scene.net.now - longest_here : known;
        net_run(&scene.net, scene.net.now + FL_SEC(1));
        assert_int_equal(fl_peer_count(scene.net.node[0].session), 3);
        for (int32_t i = 1; i < 4; i++) {
            assert_int_equal(state_of(&scene, i), FL_SESSION_RUNNING);
            assert_int_equal(fl_peer_count(scene.net.node[i].session), 3); // the others, too
            assert_string_equal(trouble(&scene, i), "");
        }
        scene_close(&scene);
    }
    print_message("             longest of 90: %.1f s, and %.1f s more to know all others\n",
                  fl_span_seconds(longest), fl_span_seconds(known));
}

static bool has_number(const Net *net)
{
    return fl_peer_self(net->node[1].session).index1 != 0;
}

// It is welcomed after two round trips, and it takes two more at most until it knows the time.
static void a_client_that_asks_on_a_good_line_is_in_after_four_round_trips(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 1, state);
    scene_network(&scene, 1, FL_MS(60), 0, 0);
    scene_start_all(&scene);
    net_run_until(&scene.net, FL_SEC(1), has_number);
    // The host makes sure of the client's address first. Plain, it waits for a packet of the link.
    FlTime wait = scene.net.sealed ? FL_MS(1) : FL_MS(101);
    assert_true(scene.net.now >= FL_MS(240) && scene.net.now < FL_MS(240) + wait);
    net_run_until(&scene.net, FL_SEC(1), net_all_running);
    assert_true(scene.net.now < FL_MS(480) + FL_MS(101));
    scene_close(&scene);
}

static void who_comes_late_gets_everything_with_the_first_packet(void **state)
{
    Scene scene;
    scene_open(&scene, 2, 5, state);
    for (int32_t t = 0; t < SCENE_TANKS; t++) { // told once, and then never again
        scene.node[0].tank[t].drive = drive_nowhere;
        scene.node[0].tank[t].def.trigger.silence_ns = FL_FOREVER;
    }
    scene_network(&scene, 1, FL_MS(30), 0, 0);
    scene_network(&scene, 2, FL_MS(30), 0, 0);
    scene_start(&scene, 0);
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(40));
    scene_start(&scene, 2);
    net_run(&scene.net, FL_SEC(43));
    for (int32_t i = 1; i < 3; i++) {
        for (int32_t t = 0; t < SCENE_TANKS; t++) {
            assert_true(sees(&scene, i, &scene.node[0].tank[t]));
        }
    }
    assert_int_equal(scene.node[2].heard[0][0].newest1, scene.node[0].tank[0].told_count);
    scene_close(&scene);
}

static void who_missed_the_first_welcome_gets_everything_after_the_second(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 5, state);
    scene.node[0].tank[0].drive = drive_nowhere;
    scene.node[0].tank[0].def.trigger.silence_ns = FL_FOREVER;
    scene_network(&scene, 1, FL_MS(30), 0, 0);
    scene_start(&scene, 0);
    net_run(&scene.net, FL_SEC(1));
    scene_start(&scene, 1);
    net_way(&scene.net, 0, 1, NULL);
    net_run(&scene.net, FL_MS(1200));
    assert_int_equal(fl_peer_count(scene.net.node[0].session), scene.net.sealed ? 0 : 1);
    scene_network(&scene, 1, FL_MS(30), 0, 0);
    net_run(&scene.net, FL_SEC(4));
    assert_int_equal(state_of(&scene, 1), FL_SESSION_RUNNING);
    assert_true(sees(&scene, 1, &scene.node[0].tank[0]));
    scene_close(&scene);
}

static void what_there_is_when_one_joins_is_placed_by_the_local_clock_too(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 5, state);
    scene.node[0].tank[0].drive = drive_straight;
    scene.node[0].tank[0].def.trigger.silence_ns = FL_FOREVER; // told once
    scene.unexplained = true;
    scene_network(&scene, 1, FL_MS(30), 0, 0);
    scene_start(&scene, 0);
    scene.net.def.tuning.time_mode = FL_TIME_LOCAL;
    net_run(&scene.net, FL_SEC(3));
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(6));
    assert_true(scene.seen.poses > 60);
    // It was told at frame 0, so that is as old as the session; local time knows nothing of that.
    double joining = 0.25; // and less, until the host let it in
    assert_true(scene.seen.worst > 3.0 * SCENE_TOP_SPEED - 1.0);
    assert_true(scene.seen.worst < (3.0 + joining) * SCENE_TOP_SPEED + 1.0);
    scene_close(&scene);
}

// ---------------------------------------------------------------- not in

static void a_host_that_is_full_says_so(void **state)
{
    Scene scene;
    scene_open(&scene, 3, 2, state);
    scene.net.def.peer_capacity = 2;
    scene_start(&scene, 0);
    scene_start(&scene, 1);
    scene_start(&scene, 2);
    net_run(&scene.net, FL_SEC(1));
    scene_start(&scene, 3);
    net_run(&scene.net, FL_SEC(2));
    assert_int_equal(state_of(&scene, 3), FL_SESSION_ENDED);
    assert_true(says(&scene, 3, "full"));
    assert_int_equal(scene.net.sealed
                         ? fl_session_seal_drops(scene.net.node[0].session, FL_SEAL_DROP_FULL)
                         : count_of(&scene, 0, FL_SESSION_REFUSED),
                     1);
    FlEntityDef def = fl_entity_def_default();
    assert_int_equal(fl_entity_create(scene.net.node[3].session, &def).index1, 0);
    // One leaves without a word, is missed in time, and there is room.
    net_cut(&scene.net, 0, 1, true);
    net_run(&scene.net, FL_SEC(14));
    scene_start(&scene, 3);
    net_run(&scene.net, FL_SEC(15));
    assert_int_equal(state_of(&scene, 3), FL_SESSION_RUNNING);
    scene_close(&scene);
}

static void a_host_of_another_world_says_so(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 2, state);
    scene_start(&scene, 0);
    scene.net.def.world.application_version = 7;
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(1));
    assert_int_equal(state_of(&scene, 1), FL_SESSION_ENDED);
    assert_true(says(&scene, 1, "another world"));
    assert_int_equal(count_of(&scene, 0, FL_SESSION_REFUSED), 1);
    assert_int_equal(fl_peer_count(scene.net.node[0].session), 0);
    scene_close(&scene);
}

static bool has_ended(const Net *net)
{
    return fl_session_state(net->node[1].session) == FL_SESSION_ENDED;
}

static void without_an_answer_the_possible_causes_are_listed(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 2, state);
    scene.net.def.tuning.join_every_ns = FL_MS(300);
    scene.net.def.join_timeout_ns = FL_MS(4000); // no multiple of the other
    scene_start(&scene, 1);
    net_run_until(&scene.net, FL_SEC(10), has_ended);
    assert_true(scene.net.now >= FL_MS(3999) && scene.net.now <= FL_MS(4001));
    assert_true(says(&scene, 1, "No answer from the host"));
    assert_int_equal(count_of(&scene, 1, FL_SESSION_JOINS_SENT), 14);
    int32_t causes = 0;
    for (const char *at = trouble(&scene, 1); (at = strstr(at, "\n- ")) != NULL; at++) {
        causes++;
    }
    assert_int_equal(causes, 4);
    assert_true(says(&scene, 1, "not running") && says(&scene, 1, "firewall"));
    assert_true(says(&scene, 1, "Nothing at all came in"));
    FlOutgoing out;
    FlTime now = net_local(&scene.net, 1);
    assert_int_equal(fl_session_next(scene.net.node[1].session, now, &out), FL_NOT_FOUND);
    // Nothing is to be done any more but to see that it has ended.
    assert_true(fl_session_deadline(scene.net.node[1].session, now) >= now + FL_MS(50));
    scene_close(&scene);
}

static void an_answer_that_is_not_ours_is_told_among_the_causes(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 2, state);
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(1));
    fl_session_receive(scene.net.node[1].session, net_address(0, NET_PORT), "what?", 5,
                       net_local(&scene.net, 1));
    net_run_until(&scene.net, FL_SEC(10), has_ended);
    assert_true(says(&scene, 1, "Something did come in"));
    assert_int_equal(count_of(&scene, 1, FL_SESSION_STRANGER), 1);
    scene_close(&scene);
}

static void a_client_without_memory_for_the_link_says_so(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 2, state);
    scene_start_all(&scene);
    scene.net.node[1].memory.none_left = true;
    net_run_until(&scene.net, FL_SEC(10), has_ended);
    assert_true(has_ended(&scene.net));
    assert_true(count_of(&scene, 1, FL_SESSION_OUT_OF_MEMORY) > 0);
    assert_true(says(&scene, 1, "memory"));
    scene_close(&scene);
}

// ---------------------------------------------------------------- out, and in again

static void a_peer_not_heard_from_is_gone_with_its_entities(void **state)
{
    Scene scene;
    scene_open(&scene, 2, 3, state);
    scene.node[0].tank[0].drive = drive_circle;
    scene.node[1].tank[0].drive = drive_straight;
    scene.node[1].tank[1].drive = drive_circle;
    scene.node[2].tank[0].drive = drive_circle;
    scene.net.node[1].offset = -FL_SEC(86400);
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(4));
    FlEntityId lost = known_as(&scene, 0, &scene.node[1].tank[1]);
    FlEntityId kept = known_as(&scene, 0, &scene.node[2].tank[0]);
    FlEntityId hosts = known_as(&scene, 1, &scene.node[0].tank[0]);
    assert_true(lost.index1 != 0 && kept.index1 != 0 && hosts.index1 != 0);
    FlTime time_before = net_time(&scene.net, 1);
    net_cut(&scene.net, 0, 1, true);
    net_run(&scene.net, FL_SEC(13)); // 9 s: within the time-out
    assert_int_equal(fl_peer_count(scene.net.node[0].session), 2);
    net_run(&scene.net, FL_SEC(15));
    assert_int_equal(fl_peer_count(scene.net.node[0].session), 1);

    FlPose pose;
    FlEntityStatus status = {.number = 1};
    FlTime now = net_local(&scene.net, 0);
    assert_false(fl_entity_pose_at(scene.net.node[0].session, now, lost, &pose));
    assert_int_equal(fl_entity_status(scene.net.node[0].session, lost, &status), FL_STALE_ID);
    assert_int_equal(status.number, 0);
    assert_true(fl_entity_pose_at(scene.net.node[0].session, now, kept, &pose));
    assert_int_equal(known_as(&scene, 0, &scene.node[1].tank[0]).index1, 0);
    // Its fellow has heard of it from the host.
    assert_int_equal(known_as(&scene, 2, &scene.node[1].tank[0]).index1, 0);
    assert_int_equal(fl_peer_count(scene.net.node[2].session), 1);

    assert_int_equal(state_of(&scene, 1), FL_SESSION_ENDED);
    assert_true(says(&scene, 1, "Nothing came from the host"));
    now = net_local(&scene.net, 1);
    assert_false(fl_entity_pose_at(scene.net.node[1].session, now, hosts, &pose));
    assert_int_equal(fl_peer_count(scene.net.node[1].session), 0);
    assert_int_equal(fl_session_time_error(scene.net.node[1].session), FL_FOREVER);
    // Its own time goes on as it did.
    FlTime passed = fl_session_time(scene.net.node[1].session, now) - time_before;
    assert_true(passed > FL_MS(10950) && passed < FL_MS(11050));
    scene_close(&scene);
}

static void who_was_cut_off_is_in_again_at_once(void **state)
{
    Scene scene;
    scene_open(&scene, 2, 3, state);
    scene_network(&scene, 1, FL_MS(20), 0, 0);
    scene.node[0].tank[0].drive = drive_circle;
    scene.node[1].tank[0].drive = drive_straight;
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(2));
    net_cut(&scene.net, 0, 1, true);
    net_run(&scene.net, FL_SEC(14));
    scene_network(&scene, 1, FL_MS(20), 0, 0);
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(14) + (scene.net.sealed ? FL_MS(81) : FL_MS(182)));
    assert_true(has_number(&scene.net));
    net_run(&scene.net, FL_SEC(16));
    assert_int_equal(state_of(&scene, 1), FL_SESSION_RUNNING);
    assert_true(sees(&scene, 1, &scene.node[0].tank[0]));
    assert_true(sees(&scene, 0, &scene.node[1].tank[0]));
    scene_close(&scene);
}

static void who_starts_anew_need_not_wait_for_its_old_self_to_time_out(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 3, state);
    scene.node[0].tank[0].drive = drive_circle;
    scene.node[1].tank[0].drive = drive_straight;
    scene.net.def.peer_capacity = 1;
    scene_start(&scene, 0);
    scene.net.def.peer_capacity = fl_session_def_default().peer_capacity;
    scene_start(&scene, 1);
    net_run(&scene.net, FL_SEC(3));
    FlEntityId old = known_as(&scene, 0, &scene.node[1].tank[0]);
    assert_true(old.index1 != 0);
    scene_start(&scene, 1); // the process crashed and starts again
    net_run(&scene.net, FL_MS(3100));
    assert_int_equal(state_of(&scene, 1), FL_SESSION_RUNNING);
    net_run(&scene.net, FL_SEC(6));
    FlEntityId fresh = known_as(&scene, 0, &scene.node[1].tank[0]);
    assert_true(fresh.index1 != 0 && fresh.generation != old.generation);
    FlPose pose;
    FlTime now = net_local(&scene.net, 0);
    assert_false(fl_entity_pose_at(scene.net.node[0].session, now, old, &pose));
    assert_true(sees(&scene, 1, &scene.node[0].tank[0]));
    assert_int_equal(fl_peer_count(scene.net.node[0].session), 1);
    scene_close(&scene);
}

static void who_starts_anew_is_seen_anew_by_everybody_whatever_gets_lost(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Scene scene; // which checks that what has arrived is shown
        scene_open(&scene, 3, seed, state);
        for (int32_t i = 1; i < 4; i++) { // told once, and then never again
            scene.node[i].tank[0].drive = drive_nowhere;
            scene.node[i].tank[0].def.trigger.silence_ns = FL_FOREVER;
            scene.net.def.join_timeout_ns = FL_SEC(20);
            scene_network(&scene, i, FL_MS(30), FL_MS(25), 300000);
        }
        scene_start_all(&scene);
        net_run(&scene.net, FL_SEC(20));
        scene_start(&scene, 1);
        net_run(&scene.net, FL_SEC(50));
        for (int32_t i = 0; i < 4; i++) {
            for (int32_t owner = 1; owner < 4; owner++) {
                assert_true(i == owner || sees(&scene, i, &scene.node[owner].tank[0]));
            }
        }
        scene_close(&scene);
    }
}

// ---------------------------------------------------------------- idle

static void an_idle_session_lives_on_deadlines_alone_and_costs_little(void **state)
{
    Scene scene;
    scene_open(&scene, 1, 4, state);
    scene_network(&scene, 1, FL_MS(80), FL_MS(30), 0);
    scene.node[0].no_frames = scene.node[1].no_frames = true;
    scene_start_all(&scene);
    net_run(&scene.net, FL_SEC(100));
    FlLinkStats before;
    FlLinkStats after;
    FlPeerId host = fl_peer_host(scene.net.node[1].session);
    FlTime now = net_local(&scene.net, 1);
    assert_int_equal(fl_peer_stats(scene.net.node[1].session, now, host, &before), FL_OK);
    net_run(&scene.net, FL_SEC(700));
    assert_int_equal(state_of(&scene, 1), FL_SESSION_RUNNING);
    now = net_local(&scene.net, 1);
    assert_int_equal(fl_peer_stats(scene.net.node[1].session, now, host, &after), FL_OK);
    double bytes_s = (double)(after.bytes_out - before.bytes_out) / 600.0;
    bytes_s += (double)(after.bytes_in - before.bytes_in) / 600.0;
    print_message("             %.1f bytes/s, both ways together\n", bytes_s);
    assert_true(bytes_s <= 60.0);
    assert_true(scene.seen.clock_looks > 40000);
    assert_true(scene.seen.clock_wrong * 1000 <= scene.seen.clock_looks);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_BOTH(joining_succeeds_although_half_of_all_datagrams_get_lost),
        SCENE_BOTH(a_client_that_asks_on_a_good_line_is_in_after_four_round_trips),
        SCENE_BOTH(who_comes_late_gets_everything_with_the_first_packet),
        SCENE_BOTH(who_missed_the_first_welcome_gets_everything_after_the_second),
        SCENE_BOTH(what_there_is_when_one_joins_is_placed_by_the_local_clock_too),
        SCENE_BOTH(a_host_that_is_full_says_so),
        cmocka_unit_test(a_host_of_another_world_says_so),
        cmocka_unit_test(without_an_answer_the_possible_causes_are_listed),
        cmocka_unit_test(an_answer_that_is_not_ours_is_told_among_the_causes),
        SCENE_BOTH(a_client_without_memory_for_the_link_says_so),
        SCENE_BOTH(a_peer_not_heard_from_is_gone_with_its_entities),
        SCENE_BOTH(who_was_cut_off_is_in_again_at_once),
        SCENE_BOTH(who_starts_anew_need_not_wait_for_its_old_self_to_time_out),
        SCENE_BOTH(who_starts_anew_is_seen_anew_by_everybody_whatever_gets_lost),
        SCENE_BOTH(an_idle_session_lives_on_deadlines_alone_and_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
