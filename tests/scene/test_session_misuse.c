// What a session answers to its own program's mistakes, and the names of what it counts.
#include "session_stranger.h"

#include "fairlead/predict.h"

static void entities_answer_what_is_wrong_with_a_call(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id = {5, 5};
    FlPose pose;
    FlState here = {.time = f.now};
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_STALE_ID);
    assert_int_equal(fl_entity_cut(f.session, id), FL_STALE_ID);
    assert_false(fl_entity_pose_at(f.session, f.now, id, &pose));
    assert_false(fl_entity_is_ours(f.session, id));
    FlEntityId wild = {UINT32_MAX, 1};
    assert_int_equal(fl_entity_set(f.session, wild, &here), FL_STALE_ID);
    FlEntityId after = wild;
    assert_false(fl_entity_next(f.session, &after));
    assert_int_equal(fl_session_time(f.session, f.now), 0);
    assert_int_equal(fl_session_time_error(f.session), FL_FOREVER);
    close_all(&f);

    open_client(&f);
    here.time = f.now;
    id = fl_entity_create(f.session, &def);
    assert_int_not_equal(id.index1, 0);
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_OK); // waits until the time is known
    assert_int_equal(fl_session_time_error(f.session), FL_FOREVER);
    assert_false(fl_entity_pose_at(f.session, f.now, id, &pose));
    for (int32_t i = 1; i < f.def.member_entities; i++) {
        id = fl_entity_create(f.session, &def);
        assert_int_not_equal(id.index1, 0);
    }
    assert_int_equal(fl_entity_create(f.session, &def).index1, 0);
    close_all(&f);

    open_host(&f);
    id = fl_entity_create(f.session, &def);
    assert_int_not_equal(id.index1, 0);
    assert_true(fl_entity_is_ours(f.session, id));
    hear_all(&f); // of its announcement
    assert_false(fl_entity_pose_at(f.session, f.now, id, &pose));
    here.time = f.now;
    here.position.x = (double)NAN;
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_BAD_VALUE);
    here.position.x = 3.0;
    assert_int_not_equal(fl_session_deadline(f.session, f.now), f.now);
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_OK);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now); // it has something to say
    assert_true(fl_entity_pose_at(f.session, f.now, id, &pose));
    assert_true(fabs(pose.position.x - 3.0) < 0.01);
    here.time = f.now - 1;
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_BAD_VALUE);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_WIDE), 0);
    here.time = f.now + 1;
    here.position.x = 1e6;
    assert_int_equal(fl_entity_set(f.session, id, &here), FL_OK); // outside the world
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_WIDE), 1);
    assert_int_equal(fl_entity_cut(f.session, id), FL_OK);
    assert_false(fl_entity_pose_at(f.session, f.now, id, &pose));
    FlEntityId older = id;
    older.generation -= 2;
    assert_int_equal(fl_entity_set(f.session, older, &here), FL_STALE_ID);
    give_update(&f, (uint32_t)f.first, 0, host_time(&f), 1.0);
    FlEntityId theirs = id;
    (void)fl_entity_next(f.session, &theirs);
    assert_true(theirs.index1 != 0 && !fl_entity_is_ours(f.session, theirs));
    assert_int_equal(fl_entity_set(f.session, theirs, &here), FL_BAD_VALUE);
    assert_int_equal(fl_entity_cut(f.session, theirs), FL_BAD_VALUE);
    close_all(&f);
}

static void a_definition_that_cannot_work_is_refused_at_once(void **state)
{
    (void)state;
    enum { BAD = 22 };
    for (int32_t i = 0; i <= BAD; i++) {
        FlSessionDef def = fl_session_def_default();
        def.role = FL_ROLE_HOST;
        switch (i) {
        case 0:
            def.world.precision = 0.0;
            break;
        case 1:
            def.role = (FlRole)7;
            break;
        case 2:
            def.peer_capacity = 0;
            break;
        case 3:
            def.peer_capacity = 5000;
            break;
        case 4:
            def.entity_capacity = 0;
            break;
        case 5:
            def.entity_capacity = def.world.entity_capacity + 1;
            break;
        case 6:
            def.world.entity_capacity = def.peer_capacity;
            def.entity_capacity = 1;
            break;
        case 7:
            def.tuning.join_every_ns = 0;
            break;
        case 8:
            def.join_timeout_ns = 0;
            break;
        case 9:
            def.tuning.time_mode = (FlTimeMode)3;
            break;
        case 10:
            def.tuning.link.sent_capacity = 100;
            break;
        case 11:
            def.tuning.link.external_sequence = true;
            break;
        case 12:
            def.tuning.link.rate_min_bytes_s = 0.0;
            break;
        case 13:
            def.topology = (FlTopology)(FL_TOPOLOGY_CROWD + 1);
            break;
        case 14:
            def.tuning.direct_capacity = -1;
            break;
        case 15:
            def.tuning.direct_capacity = def.peer_capacity + 1;
            break;
        case 16:
            def.tuning.item_capacity = 1000;
            break;
        case 17:
            def.tuning.path_capacity = 7;
            break;
        case 18:
            def.input_bytes = 65;
            break;
        case 19:
            def.input_ticks = 3;
            break;
        case 20:
            def.input_ticks = 8192;
            break;
        case 21:
            def.tuning.gather_ns = -1;
            break;
        default:
            break; // nothing wrong
        }
        FlSession *session;
        FlResult expected = i < BAD ? FL_BAD_VALUE : FL_OK;
        assert_int_equal(fl_session_create(&def, 0, &session), expected);
        assert_int_equal(session == NULL, i < BAD);
        fl_session_close(session);
    }
}

// What a game hands in without its bytes, or without a place.
static void nothing_where_bytes_belong_is_refused(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    FlEvent event = {.type = 1, .count = 4};
    FlPeerId all = {0};
    FlVec3 nowhere = {(double)NAN, 0.0, 0.0};
    assert_int_equal(fl_event_send(f.session, all, &event), FL_BAD_VALUE);
    event.count = 0;
    assert_int_equal(fl_event_send(f.session, all, &event), FL_OK);
    assert_int_equal(fl_event_send_near(f.session, nowhere, 5.0, &event), FL_BAD_VALUE);
    FlEntityId id = fl_entity_create(f.session, NULL);
    assert_int_equal(fl_entity_state_set(f.session, id, NULL, 3), FL_BAD_VALUE);
    assert_int_equal(fl_entity_state_set(f.session, id, NULL, 0), FL_OK);
    FlCallDef call = {.kind = FL_CALL_OWN, .count = 3};
    uint32_t serial;
    assert_int_equal(fl_call_send(f.session, f.now, id, &call, &serial), FL_BAD_VALUE);
    call.count = 0;
    call.predicted_count = 3;
    assert_int_equal(fl_call_send(f.session, f.now, id, &call, &serial), FL_OK); // not known
    assert_null(fl_predict_state(f.session, fl_peer_self(f.session), NULL));
    assert_null(fl_predict_confirmed(f.session, NULL));
    close_all(&f);
}

static void kinds_say_field_value_and_range(void **state)
{
    (void)state;
    Fixture f;
    FlError error;
    open_host(&f);
    FlFieldDef fields[2] = {{.name = "a", .type = FL_FIELD_INT, .high = 9},
                            {.name = "b", .type = FL_FIELD_BYTES, .size = 201, .group = 1}};
    FlKindDef kind = {.name = "k", .field_count = 2};
    assert_int_equal(fl_kind_define(f.session, 3, &kind, &error), FL_BAD_VALUE);
    assert_string_equal(error.text, "kind 3: fields is NULL, and field_count is above 0");
    kind.fields = fields;
    assert_int_equal(fl_kind_define(f.session, 3, &kind, &error), FL_BAD_VALUE);
    assert_string_equal(error.text, "kind 3, field b: its size must be 1 to 200");
    fields[1].type = FL_FIELD_ANGLE;
    assert_int_equal(fl_kind_define(f.session, 3, &kind, &error), FL_BAD_VALUE);
    assert_string_equal(error.text, "kind 3, field b: its size must be 1 to 30");
    fields[1].size = 10;
    kind.private_groups = 1u << 2;
    assert_int_equal(fl_kind_define(f.session, 3, &kind, &error), FL_BAD_VALUE);
    assert_string_equal(error.text, "kind 3: private_groups names a group that no field is in");
    kind.private_groups = 1u << 1;
    assert_int_equal(fl_kind_define(f.session, 3, &kind, &error), FL_OK);
    close_all(&f);
}

static void every_counter_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int32_t i = 0; i < FL_SESSION_COUNTS; i++) {
        const char *name = fl__session_count_name((FlSessionCount)i);
        assert_true(strlen(name) > 3);
        assert_string_not_equal(name, "unknown");
        for (int32_t j = 0; j < i; j++) {
            assert_string_not_equal(name, fl__session_count_name((FlSessionCount)j));
        }
    }
    assert_string_equal(fl__session_count_name(FL_SESSION_COUNTS), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_answer_what_is_wrong_with_a_call),
        cmocka_unit_test(a_definition_that_cannot_work_is_refused_at_once),
        cmocka_unit_test(nothing_where_bytes_belong_is_refused),
        cmocka_unit_test(kinds_say_field_value_and_range),
        cmocka_unit_test(every_counter_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
