// A host rules its session: whom it lets in, sends away and bans, and what it does with entities.
#include "session_hostile.h"

#include "fairlead/session.h"

enum { HOST, GUEST, OTHER, MEMBERS };

static void wait_ms(Net *net, int32_t ms)
{
    net_run(net, net->now + FL_MS(ms));
}

static bool next_notice(FlSession *session, FlNoticeKind kind, FlNotice *notice)
{
    while (fl_notice_take(session, notice) == FL_OK) {
        if (notice->kind == kind) {
            return true;
        }
    }
    return false;
}

static void assert_ended_with(const FlSession *session, const char *text)
{
    assert_int_equal(fl_session_state(session), FL_SESSION_ENDED);
    assert_non_null(strstr(fl_session_end_text(session), text));
}

// ---------------------------------------------------------------- sending away

static void who_is_kicked_reads_why(void **state)
{
    bool sealed = *state != NULL;
    static Net net;
    net_open(&net, 1, FL_TOPOLOGY_STAR, sealed);
    net_start_together(&net, MEMBERS);
    FlSession *host = net.node[HOST].session;
    assert_int_equal(fl_peer_kick(host, net_local(&net, HOST), net_peer(&net, HOST, GUEST),
                                  "No shouting, please."),
                     FL_OK);
    wait_ms(&net, 500);
    assert_ended_with(net.node[GUEST].session, "The host has sent us away: No shouting, please.");
    assert_int_equal(fl_peer_count(host), 1);
    FlNotice notice;
    assert_true(next_notice(net.node[OTHER].session, FL_NOTICE_PEER_LEFT, &notice));
    assert_int_equal(notice.left, FL_LEFT_REMOVED);
    // Only a host does that, and a text that is too long is cut between two characters.
    assert_int_equal(fl_peer_kick(net.node[OTHER].session, net_local(&net, OTHER),
                                  net_peer(&net, OTHER, HOST), "no"),
                     FL_BAD_VALUE);
    char text[200] = "";
    for (int32_t i = 0; i < 80; i++) {
        strcat(text, "\xc3\xa4");
    }
    assert_int_equal(fl_peer_kick(host, net_local(&net, HOST), net_peer(&net, HOST, OTHER), text),
                     FL_OK);
    wait_ms(&net, 500);
    text[118] = '\0';
    const char *end = fl_session_end_text(net.node[OTHER].session);
    assert_string_equal(end + strlen("The host has sent us away: "), text);
    net_close(&net);
}

// In a mesh the next host can say it as well.
// Neither a player's name nor a host's text moves a reader's cursor or breaks its JSON.
static void what_others_say_can_be_shown(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 1, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 1);
    // A newline, an escape, half a character, a control of two bytes, one too long, a half pair.
    net.def.name = "a\nb\x1b[2J\xc3 \xc2\x9b\xc0\xaf\xed\xa0\x80\xc3\xa4\xf0\x9f\x8e\xae";
    net_start(&net, GUEST);
    net_gather(&net);
    FlPeerStatus status;
    FlSession *host = net.node[HOST].session;
    assert_int_equal(fl_peer_status(host, net_peer(&net, HOST, GUEST), &status), FL_OK);
    assert_string_equal(status.name, "a?b?[2J? ???????\xc3\xa4\xf0\x9f\x8e\xae");
    assert_int_equal(fl_peer_kick(host, net_local(&net, HOST), net_peer(&net, HOST, GUEST),
                                  "Go\x1b[2J away\x9b, \xc2\x85 please."),
                     FL_OK);
    wait_ms(&net, 500);
    assert_ended_with(net.node[GUEST].session, "Go?[2J away?, ?? please.");
    net_close(&net);
}

static void a_host_that_took_over_sends_away_too(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 2, FL_TOPOLOGY_MESH, true);
    net_start_together(&net, MEMBERS);
    wait_ms(&net, 2000);
    net_leave(&net, HOST);
    wait_ms(&net, 3000);
    FlSession *host = net.node[GUEST].session;
    assert_true(fl__is_host(host));
    assert_int_equal(
        fl_peer_kick(host, net_local(&net, GUEST), net_peer(&net, GUEST, OTHER), "Good night."),
        FL_OK);
    wait_ms(&net, 500);
    assert_ended_with(net.node[OTHER].session, "Good night.");
    net_close(&net);
}

// ---------------------------------------------------------------- bans

// Joins again as the same client, from the same address.
static void join_again(Net *net, int32_t node)
{
    assert_int_equal(net_begin(net, node, HOST), FL_OK);
    wait_ms(net, 3000);
}

static void who_is_banned_stays_out_until_the_end(void **state)
{
    bool sealed = *state != NULL;
    static Net net;
    net_open(&net, 3, FL_TOPOLOGY_STAR, sealed);
    net_start_together(&net, MEMBERS);
    FlSession *host = net.node[HOST].session;
    FlPeerStatus status;
    assert_int_equal(fl_peer_status(host, net_peer(&net, HOST, GUEST), &status), FL_OK);
    FlBan ban = {.until = net_local(&net, HOST) + FL_SEC(30), .text = "Come back in a minute."};
    if (sealed) {
        ban.client_id = status.client_id;
    } else {
        ban.address = status.address;
    }
    assert_int_equal(fl_session_ban(host, net_local(&net, HOST), &ban), FL_OK);
    wait_ms(&net, 500);
    assert_ended_with(net.node[GUEST].session, "Come back in a minute.");
    for (int32_t i = 0; i < 3; i++) {
        join_again(&net, GUEST);
        assert_ended_with(net.node[GUEST].session, "Come back in a minute.");
        assert_int_equal(fl_peer_count(host), 1);
        assert_int_equal(fl_peer_count(net.node[OTHER].session), 1); // and learns nothing of it
    }
    net_run(&net, net.now + FL_SEC(30));
    join_again(&net, GUEST);
    assert_true(net_in(&net, GUEST));
    net_close(&net);
}

static void a_ban_is_lifted_and_the_table_has_an_end(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 4, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    FlSession *host = net.node[HOST].session;
    FlTime now = net_local(&net, HOST);
    FlBan ban = {.until = FL_FOREVER};
    assert_int_equal(fl_session_ban(host, now, &ban), FL_BAD_VALUE);
    assert_int_equal(fl_session_ban(net.node[GUEST].session, now, &ban), FL_BAD_VALUE);
    for (uint64_t i = 1; i <= 64; i++) {
        ban.client_id = i;
        assert_int_equal(fl_session_ban(host, now, &ban), FL_OK);
        assert_int_equal(fl_session_ban(host, now, &ban), FL_OK); // the same one
    }
    ban.client_id = 65;
    assert_int_equal(fl_session_ban(host, now, &ban), FL_FULL);
    FlBan lift = {.client_id = 7, .until = now};
    assert_int_equal(fl_session_ban(host, now, &lift), FL_OK);
    assert_int_equal(fl_session_ban(host, now, &ban), FL_OK);
    net_close(&net);
}

// ---------------------------------------------------------------- approval

static void newcomers_wait_for_approval(void **state)
{
    bool sealed = *state != NULL;
    static Net net;
    net_open(&net, 5, FL_TOPOLOGY_STAR, sealed);
    net.def.approve = true;
    net_start(&net, HOST);
    FlSession *host = net.node[HOST].session;
    FlEntityDef def = fl_entity_def_default();
    FlEntityId secret;
    (void)net_make(&net, HOST, &def, &secret);
    net_start(&net, GUEST);
    wait_ms(&net, 2000);
    FlNotice asks;
    assert_true(next_notice(host, FL_NOTICE_PEER_ASKS, &asks));
    FlPeerStatus status;
    assert_int_equal(fl_peer_status(host, asks.peer, &status), FL_OK);
    assert_true(status.waits && (status.user_data != NULL) == sealed);
    assert_int_equal(status.client_id, sealed ? 101 : 0);
    wait_ms(&net, 20000); // as long as the host's player needs
    FlEntityId none = {0};
    assert_int_equal(fl_session_state(net.node[GUEST].session), FL_SESSION_JOINING);
    assert_false(fl_entity_next(net.node[GUEST].session, &none));
    assert_true(inside_self(net.node[GUEST].session) < 0 && fl_peer_count(host) == 0);
    assert_int_equal(fl_peer_admit(host, net_local(&net, HOST), asks.peer, true, ""), FL_OK);
    wait_ms(&net, 2000);
    assert_true(net_in(&net, GUEST));
    assert_true(fl_entity_next(net.node[GUEST].session, &none));
    assert_int_equal(fl_peer_admit(host, net_local(&net, HOST), asks.peer, true, ""), FL_STALE_ID);
    // Another one is refused, and a third does not wait for ever.
    net_start(&net, OTHER);
    wait_ms(&net, 2000);
    assert_true(next_notice(host, FL_NOTICE_PEER_ASKS, &asks));
    assert_int_equal(fl_peer_admit(host, net_local(&net, HOST), asks.peer, false, "Friends only."),
                     FL_OK);
    wait_ms(&net, 1000);
    assert_ended_with(net.node[OTHER].session, "Friends only.");
    net_start(&net, OTHER);
    net_run(&net, net.now + FL_SEC(65));
    assert_ended_with(net.node[OTHER].session, "The host did not decide in time");
    assert_int_equal(fl_peer_count(host), 1);
    net_close(&net);
}

// Whoever waits is in nobody's way, and says nothing to anybody.
static void who_waits_cannot_send(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 6, FL_TOPOLOGY_STAR, true);
    net.def.approve = true;
    net_start(&net, HOST);
    net_start(&net, GUEST);
    wait_ms(&net, 2000);
    FlSession *guest = net.node[GUEST].session;
    guest->self = 1; // it helps itself to a number
    guest->complete = true;
    FlEntityId id;
    FlEntityDef def = fl_entity_def_default();
    guest->id_range = net.node[HOST].session->id_range;
    id = fl_entity_create(guest, &def);
    assert_int_not_equal(id.index1, 0);
    wait_ms(&net, 1000);
    FlEntityId none = {0};
    assert_false(fl_entity_next(net.node[HOST].session, &none));
    net_close(&net);
}

// ---------------------------------------------------------------- invites

static FlSealInvite make_invite(Net *net)
{
    char text[FL_SEAL_INVITE_TEXT];
    FlSealInvite invite;
    assert_int_equal(fl_session_invite_at(net->node[HOST].session, net_local(net, HOST),
                                          net->node[HOST].address, 8, NET_UNIX + 1000, text),
                     FL_OK);
    assert_int_equal(fl_seal_invite_parse(text, &invite), FL_OK);
    return invite;
}

// Node GUEST joins with that invite, as one of its holders.
static void join_at(Net *net, int32_t node, const FlSealInvite *invite, uint32_t number)
{
    net_start(net, node); // for its clock and address
    net_crash(net, node);
    NetNode *n = &net->node[node];
    FlSessionDef def = net->def;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    uint8_t user_data[FL_SEAL_USER_BYTES] = {0};
    FlAlloc alloc = {net_alloc, net_free, &n->memory};
    def.alloc = alloc;
    def.role = FL_ROLE_CLIENT;
    def.seed = n->seed;
    def.random = fl__seal_random_seeded(&n->keys);
    def.unix_s = net_unix(net);
    def.token = token;
    assert_int_equal(
        fl_seal_invite_token(invite, number, def.unix_s, 10, user_data, &def.random, token), FL_OK);
    assert_int_equal(fl_session_create(&def, net_local(net, node), &n->session), FL_OK);
    wait_ms(net, 3000);
}

static void join_by_invite(Net *net, const FlSealInvite *invite, uint32_t number)
{
    join_at(net, GUEST, invite, number);
}

// Whoever is in with an invite of one use stays, as long as something comes from it.
static void an_invite_is_for_one_player(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 21, FL_TOPOLOGY_STAR, true);
    net_start(&net, HOST);
    char text[FL_SEAL_INVITE_TEXT];
    FlSealInvite invite;
    assert_int_equal(fl_session_invite_at(net.node[HOST].session, net_local(&net, HOST),
                                          net.node[HOST].address, 1, net_unix(&net) + 600, text),
                     FL_OK);
    assert_int_equal(fl_seal_invite_parse(text, &invite), FL_OK);
    join_by_invite(&net, &invite, 1);
    assert_true(net_in(&net, GUEST));
    join_at(&net, OTHER, &invite, 2);
    wait_ms(&net, 5000);
    assert_ended_with(net.node[OTHER].session, "Already in use");
    assert_true(net_in(&net, GUEST));
    net_close(&net);
}

static void a_revoked_invite_lets_nobody_in(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 7, FL_TOPOLOGY_STAR, true);
    net_start(&net, HOST);
    FlSession *host = net.node[HOST].session;
    FlSealInvite invite = make_invite(&net);
    join_by_invite(&net, &invite, 1);
    assert_true(net_in(&net, GUEST));
    assert_int_equal(fl_session_revoke(host, invite.invite_id), FL_OK);
    assert_int_equal(fl_session_revoke(host, invite.invite_id), FL_NOT_FOUND);
    wait_ms(&net, 1000);
    assert_true(net_in(&net, GUEST)); // who came in with it stays
    join_by_invite(&net, &invite, 2);
    assert_ended_with(net.node[GUEST].session, "Unknown invite");
    net_close(&net);
}

// Whatever number its holder takes.
static void a_banned_invite_lets_nobody_in(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 12, FL_TOPOLOGY_STAR, true);
    net_start(&net, HOST);
    FlSession *host = net.node[HOST].session;
    FlSealInvite invite = make_invite(&net);
    FlSealInvite another = make_invite(&net);
    join_by_invite(&net, &invite, 1);
    FlPeerStatus status;
    assert_int_equal(fl_peer_status(host, net_peer(&net, HOST, GUEST), &status), FL_OK);
    assert_int_equal(status.invite_id, invite.invite_id);
    FlBan ban = {.invite_id = status.invite_id, .until = FL_FOREVER, .text = "Not with this one."};
    assert_int_equal(fl_session_ban(host, net_local(&net, HOST), &ban), FL_OK);
    for (uint32_t number = 1; number < 4; number++) {
        join_by_invite(&net, &invite, number);
        assert_ended_with(net.node[GUEST].session, "Not with this one.");
    }
    join_by_invite(&net, &another, 1);
    assert_true(net_in(&net, GUEST));
    net_close(&net);
}

// A request with a fresh token of that invite, from somewhere.
static void request_by_invite(Net *net, const FlSealInvite *invite, uint32_t number)
{
    FlRandom bits = {.seed = number, .stream = 5};
    FlSealRandom random = fl__seal_random_seeded(&bits);
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    uint8_t user_data[FL_SEAL_USER_BYTES] = {0};
    uint64_t unix_s = net_unix(net);
    assert_int_equal(fl_seal_invite_token(invite, number, unix_s, 10, user_data, &random, token),
                     FL_OK);
    FlSealClientDef def = fl_seal_client_def_default();
    def.random = random;
    FlSealClient *client;
    FlSealed packet;
    assert_int_equal(fl_seal_client_create(&def, &client), FL_OK);
    assert_int_equal(fl_seal_client_connect(client, net->now, unix_s, token), FL_OK);
    assert_int_equal(fl_seal_client_next(client, net->now, &packet), FL_OK);
    fl_session_receive(net->node[HOST].session, net_address(100, (uint16_t)(1000 + number)),
                       packet.bytes, packet.count, net_local(net, HOST));
    fl_seal_client_destroy(client);
}

// Who holds an invite can keep its handshakes busy, but nobody else's.
static void an_invite_of_ones_own_is_never_busy(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 13, FL_TOPOLOGY_STAR, true);
    net_start(&net, HOST);
    FlSealInvite hostile = make_invite(&net);
    FlSealInvite honest = make_invite(&net);
    join_by_invite(&net, &honest, 1); // once without, for its clock and address
    net_crash(&net, GUEST);
    for (uint32_t i = 0; i < 400; i++) { // 20 a second
        request_by_invite(&net, &hostile, i);
        for (FlOutgoing out;
             fl_session_next(net.node[HOST].session, net_local(&net, HOST), &out) == FL_OK;) {
        }
        net_run(&net, net.now + FL_MS(50));
    }
    join_by_invite(&net, &honest, 2);
    assert_true(net_in(&net, GUEST));
    net_close(&net);
}

// ---------------------------------------------------------------- entities

static void a_host_takes_and_destroys_what_it_wants(void **state)
{
    static Net net;
    net_open(&net, 8, net_topology(state), false);
    net_start_together(&net, MEMBERS);
    wait_ms(&net, 2000);
    FlSession *host = net.node[HOST].session;
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id;
    uint32_t number = net_make(&net, GUEST, &def, &id);
    set_state(&net, GUEST, number, 'a');
    wait_ms(&net, 1000);
    FlEntityId there = net_entity(&net, HOST, number);
    assert_int_equal(fl_entity_give(host, net_local(&net, HOST), there, fl_peer_self(host)), FL_OK);
    set_state(&net, HOST, number, 'b');
    wait_ms(&net, 1000);
    assert_owner(&net, number, HOST);
    assert_state(&net, number, 'b', -1);
    give_to(&net, HOST, number, OTHER);
    wait_ms(&net, 1000);
    give_to(&net, HOST, number, GUEST); // from somebody else to another
    wait_ms(&net, 1000);
    assert_owner(&net, number, GUEST);
    set_state(&net, GUEST, number, 'c');
    wait_ms(&net, 1000);
    assert_state(&net, number, 'c', -1);
    net_drop_notices(net.node[GUEST].session);
    assert_int_equal(fl_entity_destroy(host, net_entity(&net, HOST, number)), FL_OK);
    wait_ms(&net, 1000);
    for (int32_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(net_entity(&net, i, number).index1, 0);
    }
    FlNotice notice;
    assert_true(next_notice(net.node[GUEST].session, FL_NOTICE_ENTITY_GONE, &notice));
    assert_int_equal(net_count(&net, FL_SESSION_FOREIGN), 0);
    // A member rules nothing.
    number = net_make(&net, HOST, &def, &id);
    wait_ms(&net, 1000);
    FlSession *guest = net.node[GUEST].session;
    there = net_entity(&net, GUEST, number);
    assert_int_equal(fl_entity_destroy(guest, there), FL_BAD_VALUE);
    net_close(&net);
}

static void some_kinds_only_hosts_make(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 9, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, MEMBERS);
    FlSession *host = net.node[HOST].session;
    fl_session_host_kind(host, 5, true);
    FlEntityDef def = fl_entity_def_default();
    def.kind = 5;
    FlEntityId id;
    uint32_t flag = net_make(&net, HOST, &def, &id);
    uint32_t forged = net_make(&net, GUEST, &def, &id);
    wait_ms(&net, 1000);
    assert_int_not_equal(net_entity(&net, OTHER, flag).index1, 0);
    assert_int_equal(net_entity(&net, OTHER, forged).index1, 0);
    assert_int_equal(net_entity(&net, GUEST, forged).index1, 0); // it has been told
    // Given to a member it stays what it is; a member's own does not become such a one.
    give_to(&net, HOST, flag, GUEST);
    wait_ms(&net, 1000);
    assert_owner(&net, flag, GUEST);
    def.kind = 0;
    uint32_t plain = net_make(&net, GUEST, &def, &id);
    wait_ms(&net, 1000);
    FlSession *guest = net.node[GUEST].session;
    EntityMessage m = {.number = (uint16_t)plain, .owner = (uint16_t)net_number(&net, GUEST)};
    def.kind = 5;
    m.definition = TRAITS_KEPT - 1; // which nothing else uses
    m.trait_bytes = fl__traits_write(&def, m.traits);
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__entity_message_write(&w, &m);
    hostile_message(guest, net_number(&net, HOST), &w);
    wait_ms(&net, 1000);
    FlEntityId there = net_entity(&net, OTHER, plain);
    assert_true(there.index1 == 0 || inside_def(net.node[OTHER].session, there)->kind == 0);
    net_close(&net);
}

// ---------------------------------------------------------------- inputs

static void inputs_go_to_the_host_only_if_asked(void **state)
{
    static Net net;
    net_open(&net, 10, net_topology(state), false);
    net.def.input_bytes = 1;
    net.def.inputs_to_host = true;
    net_start_together(&net, MEMBERS);
    wait_ms(&net, 2000);
    for (int64_t tick = 0; tick < 100; tick++) {
        for (int32_t i = 0; i < MEMBERS; i++) {
            uint8_t input = (uint8_t)i;
            assert_int_equal(fl_input_set(net.node[i].session, tick, &input), FL_OK);
        }
        net_frame(&net);
    }
    wait_ms(&net, 500);
    for (int32_t i = GUEST; i < MEMBERS; i++) {
        assert_int_equal(fl_input_newest(net.node[HOST].session, net_peer(&net, HOST, i)), 99);
        int32_t other = i == GUEST ? OTHER : GUEST;
        assert_int_equal(fl_input_newest(net.node[i].session, net_peer(&net, i, other)), -1);
        assert_int_equal(fl_input_newest(net.node[i].session, net_peer(&net, i, HOST)), -1);
    }
    net_close(&net);
}

// ---------------------------------------------------------------- nonsense

// A hundred payloads that nobody writes, or statements that are not its to make.
static void who_sends_nonsense_is_sent_away(void **state)
{
    bool malformed = *state != NULL;
    static Net net;
    net_open(&net, 11, FL_TOPOLOGY_STAR, true);
    net_start_together(&net, MEMBERS);
    Hostile hostile;
    hostile_begin(&hostile, net.node[GUEST].session);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id;
    uint32_t number = net_make(&net, OTHER, &def, &id);
    wait_ms(&net, 500);
    const uint8_t rubbish[4] = {63, 1, 2, 3};
    for (int32_t f = 0; f < 200; f++) {
        if (malformed) {
            hostile_section(&hostile, net_number(&net, HOST), rubbish, 4);
        } else {
            hostile_motion(&hostile, net_number(&net, HOST), number, 0, net_time(&net, GUEST), 9.0);
        }
        wait_ms(&net, 20);
        bool there = fl_session_state(net.node[GUEST].session) == FL_SESSION_RUNNING;
        assert_true(there || f >= 99);
        if (!there) {
            break;
        }
    }
    assert_ended_with(net.node[GUEST].session, "sent what no member may send");
    assert_int_equal(fl_session_count(net.node[HOST].session, FL_SESSION_HOSTILE), 1);
    assert_true(net_was_told(net.node[OTHER].session, FL_LEFT_HOSTILE));
    net_close(&net);
}

int main(void)
{
    static char sealed[] = "sealed";
    const struct CMUnitTest tests[] = {
        {.name = "who_is_kicked_reads_why", .test_func = who_is_kicked_reads_why},
        {.name = "who_is_kicked_reads_why_sealed",
         .test_func = who_is_kicked_reads_why,
         .initial_state = sealed},
        cmocka_unit_test(what_others_say_can_be_shown),
        cmocka_unit_test(a_host_that_took_over_sends_away_too),
        {.name = "who_is_banned_stays_out", .test_func = who_is_banned_stays_out_until_the_end},
        {.name = "who_is_banned_stays_out_sealed",
         .test_func = who_is_banned_stays_out_until_the_end,
         .initial_state = sealed},
        cmocka_unit_test(a_ban_is_lifted_and_the_table_has_an_end),
        {.name = "newcomers_wait_for_approval", .test_func = newcomers_wait_for_approval},
        {.name = "newcomers_wait_for_approval_sealed",
         .test_func = newcomers_wait_for_approval,
         .initial_state = sealed},
        cmocka_unit_test(who_waits_cannot_send),
        cmocka_unit_test(an_invite_is_for_one_player),
        cmocka_unit_test(a_revoked_invite_lets_nobody_in),
        cmocka_unit_test(a_banned_invite_lets_nobody_in),
        cmocka_unit_test(an_invite_of_ones_own_is_never_busy),
        NET_TOPOLOGIES(a_host_takes_and_destroys_what_it_wants),
        cmocka_unit_test(some_kinds_only_hosts_make),
        NET_TOPOLOGIES(inputs_go_to_the_host_only_if_asked),
        {.name = "who_sends_rubbish_is_sent_away",
         .test_func = who_sends_nonsense_is_sent_away,
         .initial_state = sealed},
        {.name = "who_says_what_is_not_its_to_say_is_sent_away",
         .test_func = who_sends_nonsense_is_sent_away},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
