// What others may send to a session when they join it or are unknown, byte by byte: what is taken,
// what is dropped and counted.
#include "session_stranger.h"

/// How many datagrams of joining the host says now, and the last of them.
static int32_t answers(Fixture *f, uint8_t answer[FL_SESSION_DATAGRAM_BYTES], int32_t *size)
{
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    int32_t answers = 0;
    int32_t count;
    while ((count = outgoing(f, bytes)) > 0) {
        if (get(bytes, 2) == 0) {
            answers++;
            *size = count;
            memcpy(answer, bytes, (size_t)count);
        }
    }
    return answers;
}

static void the_host_answers_each_request_once_and_never_at_greater_length(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_SESSION_DATAGRAM_BYTES], again[FL_SESSION_DATAGRAM_BYTES];
    int32_t size = 0;
    make_join(join, protocol_of(&f.def.world), 4711);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now); // it has something to say
    assert_int_equal(answers(&f, answer, &size), 1);
    assert_true(size == ACCEPT_SIZE && size <= JOIN_SIZE);
    uint64_t conversation = get(answer + 11, 2);
    uint8_t expected[ACCEPT_SIZE];
    make_accept(expected, 4711, conversation);
    assert_memory_equal(answer, expected, ACCEPT_SIZE);
    assert_true(conversation != 0);
    // Asked again it says the same.
    f.now += FL_MS(250);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(answers(&f, again, &size), 1);
    assert_memory_equal(answer, again, ACCEPT_SIZE);
    assert_int_equal(fl_peer_count(f.session), 1);
    // The same player with a new number is a new conversation in its old place.
    make_join(join, protocol_of(&f.def.world), 4712);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(answers(&f, again, &size), 1);
    assert_int_equal(size, ACCEPT_SIZE);
    assert_int_not_equal(get(again + 11, 2), conversation);
    assert_int_equal(fl_peer_count(f.session), 1);
    close_all(&f);
}

// Whoever names somebody else's address in a request must not have us send more there.
static void who_asked_and_never_spoke_gets_no_more_than_it_sent(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_SESSION_DATAGRAM_BYTES];
    int32_t size = 0;
    int32_t said = 0;
    make_join(join, protocol_of(&f.def.world), 4711);
    give(&f, join, JOIN_SIZE);
    for (FlTime end = f.now + 2 * f.def.timeout_ns; f.now < end; f.now += FL_MS(100)) {
        said += answers(&f, answer, &size);
    }
    assert_int_equal(fl_peer_count(f.session), 0);
    assert_int_equal(said, 1);
    assert_true(size == ACCEPT_SIZE);
    close_all(&f);
}

static void the_host_welcomes_as_it_is_written(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    const Words *w = &f.welcome;
    assert_int_equal(w->offset, fl_session_time(f.session, f.now)); // its link began just now
    assert_int_equal(w->members, f.def.peer_capacity + 1);
    assert_true(w->self == 1 && w->host == 0 && w->topology == 0);
    assert_true(w->share * w->members <= 1024 && (w->share + 1) * w->members > 1024);
    close_all(&f);
}

static void a_refusal_names_its_reason(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE], answer[FL_SESSION_DATAGRAM_BYTES];
    make_join(join, protocol_of(&f.def.world) + 1, 4711);
    give(&f, join, JOIN_SIZE);
    assert_int_equal(fl_session_deadline(f.session, f.now), f.now);
    assert_int_equal(outgoing(&f, answer), REFUSE_SIZE + 8); // and the world's fields
    const uint8_t expected[REFUSE_SIZE] = {0, 0, 3, 4711 & 255, 4711 >> 8, 0, 0, 0, 0, 0, 0, 2};
    assert_memory_equal(answer, expected, REFUSE_SIZE);
    assert_int_equal(outgoing(&f, answer), 0);
    close_all(&f);
    // And the reasons' numbers at the client; others there are not.
    for (uint8_t reason = 0; reason < 5; reason++) {
        open_session(&f, FL_ROLE_CLIENT);
        assert_int_equal(outgoing(&f, answer), JOIN_SIZE);
        uint8_t refuse[REFUSE_SIZE + 8] = {0, 0, 3};
        memcpy(refuse + 3, answer + 11, 8);
        refuse[11] = reason;
        give(&f, refuse, REFUSE_SIZE + (reason == 2 ? 8 : 0));
        bool real = reason >= 1 && reason <= 3; // 3: the host is sealed
        assert_int_equal(fl_session_state(f.session), real ? FL_SESSION_ENDED : FL_SESSION_JOINING);
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), real ? 0 : 1);
        close_all(&f);
    }
}

static void a_client_asks_as_it_is_written(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES], expected[JOIN_SIZE];
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    make_join(expected, protocol_of(&f.def.world), get(bytes + 11, 8));
    assert_memory_equal(bytes, expected, JOIN_SIZE);
    assert_int_equal(outgoing(&f, bytes), 0);
    f.now += f.def.tuning.join_every_ns;
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    assert_memory_equal(bytes, expected, JOIN_SIZE);
    close_all(&f);
}

static void what_is_not_exactly_a_request_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_HOST);
    uint8_t join[JOIN_SIZE + 1], answer[FL_SESSION_DATAGRAM_BYTES];
    uint64_t bad = 0;
    for (int32_t size = 3; size <= JOIN_SIZE + 1; size++) { // below 3 it is not even one of these
        memset(join, 0, sizeof join);
        make_join(join, protocol_of(&f.def.world), 4711);
        if (size != JOIN_SIZE) {
            give(&f, join, size);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
    }
    for (int32_t kind = 0; kind < 256; kind++) {
        make_join(join, protocol_of(&f.def.world), 4711);
        join[2] = (uint8_t)kind;
        if (kind != 1) {
            give(&f, join, JOIN_SIZE);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
    }
    assert_int_equal(outgoing(&f, answer), 0);
    assert_int_equal(fl_peer_count(f.session), 0);
    close_all(&f);
}

static void an_answer_that_no_host_would_give_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_session(&f, FL_ROLE_CLIENT);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE);
    uint64_t nonce = get(bytes + 11, 8);
    uint64_t dropped = 0;
    make_accept(bytes, nonce + 1, 0x1234);
    give(&f, bytes, ACCEPT_SIZE);
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    make_accept(bytes, nonce, 0);
    give(&f, bytes, ACCEPT_SIZE);
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    make_accept(bytes, nonce, 0x1234);
    bytes[ACCEPT_SIZE] = 0;
    for (int32_t size = 3; size <= ACCEPT_SIZE + 1; size++) {
        if (size != ACCEPT_SIZE) {
            give(&f, bytes, size);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
        }
    }
    fl_session_receive(f.session, net_address(2, NET_PORT), bytes, ACCEPT_SIZE,
                       f.now); // not our host
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++dropped);
    f.now += f.def.tuning.join_every_ns;
    assert_int_equal(outgoing(&f, bytes), JOIN_SIZE); // none of these was an answer
    make_accept(bytes, nonce, 0x1234);
    give(&f, bytes, ACCEPT_SIZE);
    give(&f, bytes, ACCEPT_SIZE); // said twice
    assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), dropped);
    f.now += f.def.tuning.join_every_ns;
    while (outgoing(&f, bytes) > 0) {
        assert_int_not_equal(get(bytes, 2), 0); // asks no more
    }
    close_all(&f);
}

static void a_welcome_that_no_host_would_say_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_accepted(&f);
    Words good = f.welcome;
    enum { BAD = 9 };
    Words bad[BAD];
    for (int32_t i = 0; i < BAD; i++) {
        bad[i] = good;
    }
    bad[0].members = 1;
    bad[1].self = 17;
    bad[2].host = 17;
    bad[3].self = 0; // the host's
    bad[4].topology = FL_TOPOLOGY_CROWD + 1;
    bad[5].share = 0;
    bad[6].share = 61; // 17 times that is more numbers than there are
    bad[7].offset = INT64_C(1) << 62;
    bad[8].offset = -(INT64_C(1) << 62);
    uint64_t dropped = 0;
    uint8_t bytes[WELCOME_SIZE];
    for (int32_t i = 0; i < BAD; i++) {
        make_welcome(bytes, &bad[i]);
        give_payload(&f, bytes, WELCOME_SIZE);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    }
    make_welcome(bytes, &good);
    for (int32_t size = 1; size < WELCOME_SIZE; size++) {
        give_payload(&f, bytes, size);
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), ++dropped);
    }
    assert_int_equal(fl_session_state(f.session), FL_SESSION_JOINING);
    give_payload(&f, bytes, WELCOME_SIZE);
    give_member(&f, 2); // taken from who has welcomed us only
    assert_true(fl_peer_self(f.session).index1 == 3);
    give_payload(&f, bytes, WELCOME_SIZE); // said twice
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), dropped);
    close_all(&f);

    open_host(&f); // whom nobody welcomes
    give_payload(&f, bytes, WELCOME_SIZE);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 1);
    close_all(&f);
}

static void a_welcome_to_more_players_than_we_have_room_for_ends_it_with_advice(void **state)
{
    (void)state;
    Fixture f;
    open_accepted(&f);
    f.welcome.members = 18;
    uint8_t bytes[WELCOME_SIZE];
    make_welcome(bytes, &f.welcome);
    give_payload(&f, bytes, WELCOME_SIZE);
    assert_int_equal(fl_session_state(f.session), FL_SESSION_ENDED);
    assert_non_null(strstr(fl_session_end_text(f.session), "peer_capacity"));
    close_all(&f);
}

static void a_goodbye_is_believed_only_with_nonce_and_conversation(void **state)
{
    (void)state;
    for (int32_t client = 0; client < 2; client++) {
        Fixture f;
        if (client == 1) {
            open_client(&f);
        } else {
            open_host(&f);
        }
        uint8_t bye[BYE_SIZE + 1];
        uint64_t bad = 0;
        for (int32_t bit = 24; bit < BYE_SIZE * 8; bit++) {
            make_accept(bye, f.nonce, f.conversation);
            bye[2] = 4;
            bye[bit / 8] ^= (uint8_t)(1 << bit % 8);
            give(&f, bye, BYE_SIZE);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
        }
        make_accept(bye, f.nonce, f.conversation);
        bye[2] = 4;
        bye[BYE_SIZE] = 0;
        fl_session_receive(f.session, net_address(2, NET_PORT), bye, BYE_SIZE,
                           f.now); // from elsewhere
        give(&f, bye, BYE_SIZE - 1);
        give(&f, bye, BYE_SIZE + 1);
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), bad + 3);
        assert_true(fl_session_state(f.session) != FL_SESSION_ENDED);
        assert_int_equal(fl_peer_count(f.session), 1);
        give(&f, bye, BYE_SIZE);
        assert_int_equal(fl_peer_count(f.session), 0);
        assert_true((fl_session_state(f.session) == FL_SESSION_ENDED) == (client == 1));
        close_all(&f);
    }
}

// AWAY: as BYE, a host's alone, with a reason that there is.
static void being_sent_away_is_believed_only_from_the_host_and_with_a_reason(void **state)
{
    (void)state;
    enum { AWAY_SIZE = BYE_SIZE + 1 };
    for (int32_t client = 0; client < 2; client++) {
        Fixture f;
        if (client == 1) {
            open_client(&f);
        } else {
            open_host(&f);
        }
        uint8_t away[AWAY_SIZE + FL_AWAY_TEXT] = {0};
        make_accept(away, f.nonce, f.conversation);
        away[2] = 6;
        uint64_t bad = 0;
        for (int32_t left = 0; left < 256; left++) {
            away[BYE_SIZE] = (uint8_t)left;
            if (client == 0 || left == FL_LEFT_GOODBYE || left >= FL_LEFT_COUNT) {
                give(&f, away, AWAY_SIZE);
                assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
            }
        }
        away[BYE_SIZE] = FL_LEFT_BEHIND;
        for (int32_t bit = 24; bit < BYE_SIZE * 8; bit++) {
            away[bit / 8] ^= (uint8_t)(1 << bit % 8);
            give(&f, away, AWAY_SIZE);
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), ++bad);
            away[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        give(&f, away, AWAY_SIZE - 1);
        give(&f, away, AWAY_SIZE + FL_AWAY_TEXT); // too long a text
        assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), bad + 2);
        assert_int_equal(fl_peer_count(f.session), 1);
        if (client == 1) {
            give(&f, away, AWAY_SIZE);
            give(&f, away, AWAY_SIZE); // it is said more than once
            assert_int_equal(count_of(&f, FL_SESSION_BAD_JOIN), bad + 2);
            assert_int_equal(fl_session_state(f.session), FL_SESSION_ENDED);
            const char *why = fl_session_end_text(f.session);
            assert_non_null(strstr(why, fl_left_text(FL_LEFT_BEHIND)));
        }
        close_all(&f);
    }
}

static void a_datagram_from_nobody_we_know_is_dropped_and_counted(void **state)
{
    (void)state;
    Fixture f;
    open_host(&f);
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES + 1];
    memset(bytes, 7, sizeof bytes);
    fl_session_receive(f.session, net_address(2, NET_PORT), bytes, 100, f.now);
    fl_session_receive(f.session, net_address(2, NET_PORT), bytes, 1, f.now);
    assert_int_equal(count_of(&f, FL_SESSION_STRANGER), 2);
    give(&f, bytes, FL_SESSION_DATAGRAM_BYTES + 1);
    give(&f, bytes, 0);
    assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 2);
    give(&f, bytes, 100); // from a peer, but of another conversation: the link's to count
    FlLinkStats stats;
    assert_int_equal(fl_peer_stats(f.session, f.now, fl_peer_of_number(f.session, 1), &stats),
                     FL_OK);
    assert_int_equal(stats.drops[FL_LINK_DROP_CONVERSATION], 1);
    assert_int_equal(entity_count(&f), 0);
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_answers_each_request_once_and_never_at_greater_length),
        cmocka_unit_test(who_asked_and_never_spoke_gets_no_more_than_it_sent),
        cmocka_unit_test(a_refusal_names_its_reason),
        cmocka_unit_test(a_client_asks_as_it_is_written),
        cmocka_unit_test(what_is_not_exactly_a_request_is_dropped_and_counted),
        cmocka_unit_test(the_host_welcomes_as_it_is_written),
        cmocka_unit_test(an_answer_that_no_host_would_give_is_dropped_and_counted),
        cmocka_unit_test(a_welcome_that_no_host_would_say_is_dropped_and_counted),
        cmocka_unit_test(a_welcome_to_more_players_than_we_have_room_for_ends_it_with_advice),
        cmocka_unit_test(a_goodbye_is_believed_only_with_nonce_and_conversation),
        cmocka_unit_test(being_sent_away_is_believed_only_from_the_host_and_with_a_reason),
        cmocka_unit_test(a_datagram_from_nobody_we_know_is_dropped_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
