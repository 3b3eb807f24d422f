// What members may send to a session, byte by byte: what is taken, what is dropped and counted.
#include "session_inside.h"
#include "session_stranger.h"

static void a_peer_may_speak_of_its_own_entities_only(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t first = (uint32_t)f.first;
    uint32_t count = (uint32_t)f.count;
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    ours = fl_entity_create(f.session, &def);
    assert_int_not_equal(ours.index1, 0);
    const uint32_t foreign[] = {0, first - 1, first + count, 1023};
    for (uint64_t i = 0; i < 4; i++) {
        give_update(&f, foreign[i], 0, host_time(&f), 1.0);
        assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), i + 1);
    }
    assert_int_equal(entity_count(&f), 1);
    give_update(&f, first, 0, host_time(&f), 1.0);
    give_update(&f, first + count - 1, 0, host_time(&f), 1.0);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 2);
    assert_int_equal(entity_count(&f), 3);
    close_all(&f);
}

static void a_host_may_speak_of_everybodys_entities_but_not_of_ours(void **state)
{
    (void)state;
    Fixture f;
    open_client(&f);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    ours = fl_entity_create(f.session, &def);
    assert_int_not_equal(ours.index1, 0);
    give_update(&f, 100, 0, host_time(&f), 1.0);
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 1);
    assert_int_equal(entity_count(&f), 1);
    give_update(&f, 149, 0, host_time(&f), 1.0); // ours once, and given away before we were here
    give_update(&f, 99, 0, host_time(&f), 1.0);  // a fellow's
    give_update(&f, 0, 0, host_time(&f), 1.0);   // the host's own
    assert_int_equal(entity_count(&f), 4);
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 1);
    close_all(&f);
}

static void an_update_that_is_older_than_what_is_shown_is_ignored_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.first;
    FlTime told = host_time(&f);
    give_update(&f, number, 0, told + FL_MS(10), 5.0);
    give_update(&f, number, 0, told, 1.0);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_OVERTAKEN), 1);
    give_update(&f, number, 0, told + FL_MS(10), 2.0); // the same time is the same update
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_OVERTAKEN), 2);
    assert_true(fabs(first_x(&f) - 5.0) < 0.01);
    give_update(&f, number, 0, told + FL_MS(20), 6.0);
    assert_true(fabs(first_x(&f) - 6.0) < 0.01);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 2);
    close_all(&f);
}

static void an_update_is_placed_at_its_arrival_as_the_sender_will_hear_of_it(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    FlTime joined = f.now;
    for (int32_t i = 0; i < 20; i++) {
        f.now += FL_US(137) * i;
        FlTime told = host_time(&f);
        give_update(&f, (uint32_t)f.first, 0, told, 5.0);
        FlEntityId id = {0};
        (void)fl_entity_next(f.session, &id);
        const FlShow *show = inside_show(f.session, id);
        FlTime rounded = f.now - (f.now - joined) % FL_LINK_STEP_NS;
        assert_int_equal(fl_path_at(&show->placed, FL_FOREVER)->from,
                         fl_session_time(f.session, rounded));
    }
    close_all(&f);
}

static void a_payload_with_a_fault_has_no_effect_at_all(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.first;
    uint8_t payload[8 + 3 * FL_UPDATE_BYTES_MAX];
    memset(payload, 0, sizeof payload);
    payload[0] = 1;
    payload[1] = 2;
    int32_t one = make_update(&f, payload + 2, number, 0, host_time(&f), 1.0);
    int32_t size = 2 + one;
    size += make_update(&f, payload + size, number + 1, 0, host_time(&f), 2.0);
    uint64_t dropped = 0;
    for (int32_t cut = 1; cut < size; cut++) { // every truncation
        give_payload(&f, payload, cut);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    }
    give_payload(&f, payload, size + 1); // a kind that there is not
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    payload[0] = 99; // another one
    give_payload(&f, payload, size);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    payload[0] = 1;
    payload[size] = 1; // a second one, empty
    payload[size + 1] = 0;
    give_payload(&f, payload, size + 2);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    assert_int_equal(entity_count(&f), 0);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 0);
    // Two in a row are fine.
    payload[size + 1] = 1;
    int32_t more = make_update(&f, payload + size + 2, number + 2, 0, host_time(&f), 3.0);
    give_payload(&f, payload, size + 2 + more);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), dropped);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 3);
    close_all(&f);
}

// One section of each kind that a host may send, and its size. Entity 3 is the host's.
static int32_t make_section(uint8_t *bytes, int32_t kind)
{
    memset(bytes, 0, 64);
    bytes[0] = (uint8_t)kind;
    switch (kind) {
    case 3: // STATE
        put(bytes + 1, 3, 2);
        put(bytes + 4, 1, 2);
        bytes[6] = 5;
        return 7 + 5;
    case 4:           // INPUTS of two bytes
        bytes[3] = 1; // the host's incarnation
        put(bytes + 4, 10, 4);
        bytes[8] = 3;
        return 9 + 3 * 2;
    case 6: // CLOCK_OFFSET
        bytes[1] = 1;
        return 2 + 17;
    case 7: // REPORT
        put(bytes + 1, 3, 2);
        put(bytes + 3, 2, 2);
        bytes[15] = 1;
        return 16 + 6;
    default:
        return 0;
    }
}

static void every_truncation_of_every_section_is_dropped_and_counted(void **state)
{
    (void)state;
    static const int32_t kinds[] = {3, 4, 6, 7};
    for (int32_t k = 0; k < 4; k++) {
        Fixture f;
        open_client(&f);
        uint8_t bytes[65];
        int32_t size = make_section(bytes, kinds[k]);
        uint64_t dropped = 0;
        for (int32_t cut = 1; cut < size; cut++) {
            give_payload(&f, bytes, cut);
            assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
        }
        give_payload(&f, bytes, size + 1); // and a kind that there is not
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
        give_payload(&f, bytes, size);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), dropped);
        assert_int_equal(count_of(&f, FL_SESSION_STATES_TAKEN), kinds[k] == 3 ? 1 : 0);
        assert_int_equal(count_of(&f, FL_SESSION_INPUTS_TAKEN), kinds[k] == 4 ? 3 : 0);
        close_all(&f);
    }
}

// Random values in every field: whatever comes of it, nothing breaks, and what is not taken is
// counted.
static void sections_with_random_bytes_do_no_harm(void **state)
{
    (void)state;
    FlRandom random = {.seed = 5};
    for (int32_t round = 0; round < 40; round++) {
        Fixture f;
        if (round % 2 == 0) {
            open_client(&f);
        } else {
            open_host(&f);
        }
        for (int32_t i = 0; i < 100; i++) {
            uint8_t bytes[256];
            int32_t size = 1 + (int32_t)fl_random_below(&random, 120);
            for (int32_t b = 0; b < size; b++) {
                bytes[b] = (uint8_t)fl_random_below(&random, 256);
                uint64_t small = fl_random_below(&random, 2);
                bytes[b] = small == 0 ? bytes[b] % 4 : bytes[b];
            }
            bytes[0] = (uint8_t)(1 + fl_random_below(&random, 7));
            give_payload(&f, bytes, size);
            assert_true(entity_count(&f) <= f.def.entity_capacity);
        }
        assert_true(count_of(&f, FL_SESSION_MALFORMED) > 20);
        hear_all(&f);
        close_all(&f);
    }
}

static void what_is_the_hosts_to_say_a_client_may_not(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    MemberMessage member = {.number = 5, .incarnation = 1, .present = true};
    fl__member_message_write(&writer, &member);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 1);
    assert_int_equal(fl_peer_count(f.session), 1);
    fl_writer_init(&writer, bytes, sizeof bytes);
    MeetMessage meet = {.member = 1, .incarnation = 1, .conversation = 7};
    meet.address = net_address(3, NET_PORT);
    fl__meet_message_write(&writer, &meet);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 2);
    EntityEndMessage end = {0, 0}; // the host's entity
    FlEntityDef def = fl_entity_def_default();
    FlEntityId ours;
    ours = fl_entity_create(f.session, &def);
    assert_int_not_equal(ours.index1, 0);
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__entity_end_message_write(&writer, &end);
    give_message(&f, bytes, fl_writer_size(&writer));
    GiveMessage present = {0, 0, 1};
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__give_message_write(&writer, &present);
    give_message(&f, bytes, fl_writer_size(&writer));
    ScopeMessage scope = {0, 0, 1, true, false};
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__scope_message_write(&writer, &scope);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 5);
    assert_true(fl_entity_is_ours(f.session, ours));
    for (int32_t i = 0; i < ROUTED_KINDS; i++) { // in the host's name
        RouteHead head = {.kind = (uint8_t)(MESSAGE_EVENT + i), .from = 0, .to_count = 0};
        fl_writer_init(&writer, bytes, sizeof bytes);
        fl__route_head_write(&writer, &head);
        fl_writer_put(&writer, 9, 16);
        give_message(&f, bytes, fl_writer_size(&writer));
        assert_int_equal(count_of(&f, FL_SESSION_FOREIGN), 6 + i);
    }
    RouteHead short_one = {.kind = MESSAGE_EVENT, .from = 1}; // without a type
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__route_head_write(&writer, &short_one);
    give_message(&f, bytes, fl_writer_size(&writer));
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 1);
    FlEvent event;
    assert_int_equal(fl_event_take(f.session, &event), FL_NOT_FOUND);
    close_all(&f);
}

static void more_entities_than_there_is_room_for_are_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_client(&f);
    int32_t room = f.def.entity_capacity;
    for (int32_t i = 0; i < room + 5; i++) {
        give_update(&f, (uint32_t)(200 + i), 0, host_time(&f), 1.0);
    }
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), room);
    assert_int_equal(count_of(&f, FL_SESSION_NO_ROOM), 5);
    assert_int_equal(entity_count(&f), room);
    FlEntityDef def = fl_entity_def_default();
    assert_int_equal(fl_entity_create(f.session, &def).index1, 0);
    close_all(&f);
}

static void a_teleport_at_the_very_time_of_the_last_update_is_shown(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint32_t number = (uint32_t)f.first;
    FlTime told = host_time(&f);
    give_update(&f, number, 0, told, 1.0);
    give_update(&f, number, 1, told, 100.0);
    assert_true(fabs(first_x(&f) - 100.0) < 0.01);
    give_update(&f, number, 0, told, 1.0); // the former comes late
    assert_true(fabs(first_x(&f) - 100.0) < 0.01);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_TAKEN), 2);
    assert_int_equal(count_of(&f, FL_SESSION_UPDATES_OVERTAKEN), 1);
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_may_speak_of_its_own_entities_only),
        cmocka_unit_test(a_host_may_speak_of_everybodys_entities_but_not_of_ours),
        cmocka_unit_test(an_update_that_is_older_than_what_is_shown_is_ignored_and_counted),
        cmocka_unit_test(an_update_is_placed_at_its_arrival_as_the_sender_will_hear_of_it),
        cmocka_unit_test(a_payload_with_a_fault_has_no_effect_at_all),
        cmocka_unit_test(every_truncation_of_every_section_is_dropped_and_counted),
        cmocka_unit_test(sections_with_random_bytes_do_no_harm),
        cmocka_unit_test(what_is_the_hosts_to_say_a_client_may_not),
        cmocka_unit_test(more_entities_than_there_is_room_for_are_dropped_and_counted),
        cmocka_unit_test(a_teleport_at_the_very_time_of_the_last_update_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
