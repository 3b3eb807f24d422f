// What is ours and not the standard's: replacing, rebinding, invites, introductions. And that a
// standard server and client know nothing of it.
#include "test_seal_support.h"

#define HOME address_v4(50, 5000)
#define AWAY address_v4(77, 7000)

typedef struct World {
    FlRandom stream;
    FlSealServer *server;
    FlSealClient *client;
} World;

static void world_init(World *w, bool standard)
{
    memset(w, 0, sizeof *w);
    w->stream.seed = 21;
    FlSealServerDef def = server_def(&w->stream, standard);
    def.slot_capacity = 4;
    w->server = server_make(&def);
    w->client = client_make(&w->stream, standard);
    FlSealTokenDef token = token_def(9);
    client_start(w->client, 0, &token, &w->stream);
    exchange(w->client, w->server, 0, HOME);
    assert_int_equal(client_state(w->client), FL_SEAL_CONNECTED);
    FlSealEvent event;
    assert_int_equal(fl_seal_server_take_event(w->server, &event), FL_OK);
}

static void world_end(World *w)
{
    fl_seal_client_destroy(w->client);
    fl_seal_server_destroy(w->server);
}

// ---------------------------------------------------------------- replacing

static void a_newer_token_replaces_a_dead_connection(void **state)
{
    (void)state;
    for (int32_t same_port = 0; same_port < 2; same_port++) {
        World w;
        world_init(&w, false);
        FlSealClient *again = client_make(&w.stream, false);
        FlSealTokenDef token = token_def(9);
        token.expire_s += 1;
        FlAddress at = same_port != 0 ? HOME : AWAY;
        client_start(again, FL_SEC(1), &token, &w.stream);
        exchange(again, w.server, FL_SEC(1), at);
        assert_int_equal(client_state(again), FL_SEAL_CONNECTED);
        assert_int_equal(fl__seal_server_stats(w.server).connected, 1);
        FlSealEvent event;
        assert_int_equal(fl_seal_server_take_event(w.server, &event), FL_OK);
        assert_int_equal(event.kind, FL_SEAL_EVENT_GONE);
        assert_int_equal(event.gone, FL_SEAL_GONE_REPLACED);
        assert_int_equal(fl_seal_server_take_event(w.server, &event), FL_OK);
        assert_int_equal(event.kind, FL_SEAL_EVENT_CONNECTED);
        assert_true(fl_address_equal(event.address, at));
        fl_seal_client_destroy(again);
        world_end(&w);
    }
}

static void a_request_alone_replaces_nobody(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealClient *again = client_make(&w.stream, false);
    FlSealTokenDef token = token_def(9);
    client_start(again, FL_SEC(1), &token, &w.stream);
    assert_int_equal(to_server(again, w.server, FL_SEC(1), AWAY), FL_SEAL_DROP_NONE);
    assert_int_equal(fl__seal_server_at(w.server, HOME).index1, 1); // still there
    assert_int_equal(fl__seal_server_at(w.server, AWAY).index1, 0);
    fl_seal_client_destroy(again);
    world_end(&w);
}

static void an_older_token_or_a_standard_server_replaces_nobody(void **state)
{
    (void)state;
    for (int32_t standard = 0; standard < 2; standard++) {
        World w;
        world_init(&w, standard != 0);
        FlSealClient *again = client_make(&w.stream, true);
        FlSealTokenDef token = token_def(9);
        token.expire_s = standard != 0 ? token.expire_s + 1 : token.expire_s - 1;
        client_start(again, FL_SEC(1), &token, &w.stream);
        assert_int_equal(to_server(again, w.server, FL_SEC(1), AWAY), FL_SEAL_DROP_CLIENT);
        fl_seal_client_destroy(again);
        world_end(&w);
    }
}

static void a_full_server_still_lets_a_player_come_back(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealClient *others[3];
    for (uint8_t i = 0; i < 3; i++) {
        others[i] = client_make(&w.stream, false);
        FlSealTokenDef token = token_def(100 + i);
        client_start(others[i], 0, &token, &w.stream);
        exchange(others[i], w.server, 0, address_v4((uint8_t)(100 + i), 1));
        assert_int_equal(client_state(others[i]), FL_SEAL_CONNECTED);
    }
    assert_int_equal(fl__seal_server_stats(w.server).connected, 4);
    FlSealClient *again = client_make(&w.stream, false);
    FlSealTokenDef token = token_def(9);
    client_start(again, 1, &token, &w.stream);
    exchange(again, w.server, 1, AWAY);
    assert_int_equal(client_state(again), FL_SEAL_CONNECTED);
    assert_int_equal(fl__seal_server_stats(w.server).connected, 4);
    for (int32_t i = 0; i < 3; i++) {
        fl_seal_client_destroy(others[i]);
    }
    fl_seal_client_destroy(again);
    world_end(&w);
}

// ---------------------------------------------------------------- rebinding

static void a_client_that_moved_is_followed(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    // Its packets now come from elsewhere, and those to its old address are lost.
    FlTime now = FL_MS(500);
    fl__seal_client_moved(w.client, now);
    exchange(w.client, w.server, now, AWAY);
    assert_int_equal(fl__seal_server_at(w.server, AWAY).index1, 1);
    assert_int_equal(fl__seal_server_at(w.server, HOME).index1, 0);
    FlSealEvent event;
    assert_int_equal(fl_seal_server_take_event(w.server, &event), FL_OK);
    assert_int_equal(event.kind, FL_SEAL_EVENT_MOVED);
    assert_true(fl_address_equal(event.address, AWAY));
    FlSealServerStats stats = fl__seal_server_stats(w.server);
    assert_int_equal(stats.moved, 1);
    assert_int_equal(stats.connected, 1);
    world_end(&w);
}

static void silence_makes_a_client_ask(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlTime now = 0;
    while (now < FL_SEC(4) && fl__seal_server_at(w.server, AWAY).index1 == 0) {
        now += FL_MS(50);
        exchange(w.client, w.server, now, AWAY);
    }
    assert_in_range(now, FL_SEC(2), FL_SEC(2) + FL_MS(50)); // rebind_ns
    world_end(&w);
}

static void moving_nowhere_is_answered_with_a_keep_alive(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    fl__seal_client_moved(w.client, FL_MS(10));
    exchange(w.client, w.server, FL_MS(10), HOME);
    assert_int_equal(fl__seal_server_stats(w.server).moved, 0);
    assert_true(fl_seal_client_deadline(w.client) > FL_MS(900)); // no more asking
    world_end(&w);
}

static FlSealDrop raw(World *w, FlTime now, FlAddress from, const uint8_t *bytes, int32_t count)
{
    uint8_t copy[FL_SEAL_PACKET_BYTES];
    memcpy(copy, bytes, (size_t)count);
    FlSealPeer peer;
    FlSealPayload payload;
    return fl_seal_server_receive(w->server, now, from, copy, count, &peer, &payload);
}

static void a_move_is_good_once_and_an_answer_only_from_there(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlTime now = FL_MS(10);
    fl__seal_client_moved(w.client, now);
    FlSealed out;
    assert_int_equal(fl_seal_client_next(w.client, now, &out), FL_OK);
    uint8_t move[64];
    int32_t move_bytes = out.count;
    memcpy(move, out.bytes, (size_t)move_bytes);
    // Every flipped bit fails; behind the prefix by its proof, or because the slot is another's.
    for (int32_t bit = 8; bit < move_bytes * 8; bit++) {
        move[bit / 8] ^= (uint8_t)(1 << bit % 8);
        FlSealDrop drop = raw(&w, now + bit * FL_MS(1), AWAY, move, move_bytes);
        assert_true(drop == FL_SEAL_DROP_TAMPERED || drop == FL_SEAL_DROP_STRANGER);
        move[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    now += FL_MS(400);
    assert_int_equal(raw(&w, now, AWAY, move, move_bytes), FL_SEAL_DROP_NONE);
    assert_int_equal(raw(&w, now, address_v4(78, 1), move, move_bytes), FL_SEAL_DROP_REPLAY);
    assert_int_equal(fl__seal_server_at(w.server, HOME).index1, 1); // not moved by a MOVE alone

    FlSealed path;
    assert_int_equal(fl_seal_server_next(w.server, now, &path), FL_OK);
    assert_true(fl_address_equal(path.to, AWAY));
    assert_true(path.count <= move_bytes); // never more bytes than came from there
    uint8_t bytes[64];
    memcpy(bytes, path.bytes, (size_t)path.count);
    FlSealPayload payload;
    assert_int_equal(
        fl_seal_client_receive(w.client, now, SERVER_ADDRESS, bytes, path.count, &payload),
        FL_SEAL_DROP_NONE);
    assert_int_equal(fl_seal_client_next(w.client, now, &out), FL_OK);
    // The answer from a third address does not count, and is spoilt by that.
    assert_int_equal(raw(&w, now, address_v4(78, 1), out.bytes, out.count), FL_SEAL_DROP_PATH);
    assert_int_equal(raw(&w, now, AWAY, out.bytes, out.count), FL_SEAL_DROP_REPLAY);
    assert_int_equal(fl__seal_server_at(w.server, AWAY).index1, 0);
    world_end(&w);
}

static void moves_are_rationed_and_never_onto_somebody_else(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealClient *other = client_make(&w.stream, false);
    FlSealTokenDef token = token_def(10);
    client_start(other, 0, &token, &w.stream);
    exchange(other, w.server, 0, AWAY);
    fl__seal_client_moved(w.client, 1);
    FlSealed out;
    assert_int_equal(fl_seal_client_next(w.client, 1, &out), FL_OK);
    uint8_t move[64];
    memcpy(move, out.bytes, (size_t)out.count);
    assert_int_equal(raw(&w, 1, AWAY, move, out.count), FL_SEAL_DROP_CONNECTED);
    FlSealDrop drop = FL_SEAL_DROP_NONE;
    for (int32_t i = 0; i < 300 && drop != FL_SEAL_DROP_RATE; i++) {
        move[30] ^= 1;
        drop = raw(&w, 1, address_v4(90, (uint16_t)(i + 1)), move, out.count);
    }
    assert_int_equal(drop, FL_SEAL_DROP_RATE);
    assert_int_equal(raw(&w, 1, HOME, move, out.count), FL_SEAL_DROP_REPLAY); // known: looked at
    fl_seal_client_destroy(other);
    world_end(&w);
}

static void the_standard_knows_no_moving(void **state)
{
    (void)state;
    World w;
    world_init(&w, true);
    fl__seal_client_moved(w.client, 1);
    FlTime now = 0;
    for (int32_t i = 0; i < 200; i++) {
        now += FL_MS(50);
        exchange(w.client, w.server, now, AWAY);
    }
    assert_int_equal(client_state(w.client), FL_SEAL_TIMED_OUT);
    assert_int_equal(drops_of(w.server, FL_SEAL_DROP_KIND), 0); // nothing of ours was ever sent
    assert_true(drops_of(w.server, FL_SEAL_DROP_STRANGER) > 0);
    world_end(&w);
}

// ---------------------------------------------------------------- invites

static FlSealInvite invite_of(World *w, uint32_t uses, uint64_t expire_s)
{
    FlSealInvite invite;
    assert_int_equal(fl__seal_server_invite(w->server, 0, SERVER_ADDRESS, uses, expire_s, &invite),
                     FL_OK);
    return invite;
}

static FlSealDrop come(World *w, const FlSealInvite *invite, uint32_t number, FlTime now,
                       FlSealState *reached)
{
    static const uint8_t user[FL_SEAL_USER_BYTES] = {'m', 'e'};
    FlSealRandom random = fl__seal_random_seeded(&w->stream);
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    uint64_t unix_s = UNIX_NOW + (uint64_t)(now / FL_SEC(1));
    assert_int_equal(fl_seal_invite_token(invite, number, unix_s, 5, user, &random, token), FL_OK);
    FlSealClient *client = client_make(&w->stream, false);
    assert_int_equal(fl_seal_client_connect(client, now, unix_s, token), FL_OK);
    FlAddress at = address_v4(120, (uint16_t)(number + 1));
    FlSealDrop drop = to_server(client, w->server, now, at);
    to_client(w->server, client, now, at);
    exchange(client, w->server, now, at);
    *reached = client_state(client);
    fl_seal_client_destroy(client);
    return drop;
}

static void an_invite_travels_as_text(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealInvite invite = invite_of(&w, 3, UNIX_NOW + 1000);
    for (int32_t i = 0; i < 2; i++) {
        invite.address = i == 0 ? SERVER_ADDRESS : address_v6(3, 9999);
        char text[FL_SEAL_INVITE_TEXT];
        memset(text, 'x', sizeof text);
        fl__seal_invite_text(&invite, text);
        assert_true(strlen(text) < sizeof text);
        assert_memory_equal(text, "fairlead:", 9);
        FlSealInvite read;
        assert_int_equal(fl_seal_invite_parse(text, &read), FL_OK);
        assert_memory_equal(&read, &invite, sizeof read);
        // Cut off or mistyped anywhere: refused, and empty.
        size_t length = strlen(text);
        for (size_t k = 0; k < length; k++) {
            char wrong[FL_SEAL_INVITE_TEXT];
            memcpy(wrong, text, length + 1);
            wrong[k] = '\0';
            assert_int_equal(fl_seal_invite_parse(wrong, &read), FL_BAD_VALUE);
            memcpy(wrong, text, length + 1);
            wrong[k] = wrong[k] == 'A' ? 'B' : 'A';
            assert_int_equal(fl_seal_invite_parse(wrong, &read), FL_BAD_VALUE);
            assert_int_equal(read.uses, 0);
        }
        char longer[FL_SEAL_INVITE_TEXT + 8];
        snprintf(longer, sizeof longer, "%sAAAA", text);
        assert_int_equal(fl_seal_invite_parse(longer, &read), FL_BAD_VALUE);
    }
    world_end(&w);
}

static void an_invite_lets_in_as_many_as_it_says(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealInvite invite = invite_of(&w, 2, UNIX_NOW + 1000);
    FlSealState reached;
    assert_int_equal(come(&w, &invite, 1, 0, &reached), FL_SEAL_DROP_NONE);
    assert_int_equal(reached, FL_SEAL_CONNECTED);
    FlSealEvent event;
    assert_int_equal(fl_seal_server_take_event(w.server, &event), FL_OK);
    assert_true(event.invite_id == invite.invite_id);
    assert_true(event.client_id == fl__seal_invite_client(&invite, 1));
    assert_true(event.client_id >> 63 == 1);
    FlSealPeerStatus status;
    assert_int_equal(fl_seal_server_status(w.server, event.peer, &status), FL_OK);
    assert_memory_equal(status.user_data, "me", 3);
    come(&w, &invite, 2, 0, &reached);
    assert_int_equal(reached, FL_SEAL_CONNECTED);
    assert_int_equal(come(&w, &invite, 3, 0, &reached), FL_SEAL_DROP_INVITE);
    assert_int_equal(reached, FL_SEAL_REQUESTING);
    world_end(&w);
}

static void an_invite_ends_by_time_and_by_word(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealState reached;
    FlSealInvite invite = invite_of(&w, 9, UNIX_NOW + 10);
    static const uint8_t user[FL_SEAL_USER_BYTES];
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    assert_int_equal(fl_seal_invite_token(&invite, 1, UNIX_NOW + 10, 5, user, NULL, token),
                     FL_BAD_VALUE);
    FlSealInvite stretched = invite; // a holder who claims a later end
    stretched.expire_s += 1000;
    assert_int_equal(come(&w, &stretched, 1, FL_SEC(10), &reached), FL_SEAL_DROP_INVITE);
    assert_int_equal(come(&w, &stretched, 1, FL_SEC(9), &reached), FL_SEAL_DROP_NONE);
    assert_int_equal(fl__seal_server_revoke(w.server, invite.invite_id), FL_OK);
    assert_int_equal(fl__seal_server_revoke(w.server, invite.invite_id), FL_NOT_FOUND);
    assert_int_equal(come(&w, &stretched, 2, FL_SEC(9), &reached), FL_SEAL_DROP_KEY);
    world_end(&w);
}

/// The server of `w` started again, with its key or another.
static void start_again(World *w, uint8_t key_change, bool lasting)
{
    FlSealServerDef def = server_def(&w->stream, false);
    def.private_key[0] ^= key_change;
    def.lasting_invites = lasting;
    fl_seal_server_destroy(w->server);
    w->server = server_make(&def);
}

static void an_invite_of_a_kept_key_outlives_the_server(void **state)
{
    (void)state;
    World w;
    FlSealState reached;
    world_init(&w, false);
    start_again(&w, 0, true);
    FlSealInvite first = invite_of(&w, 9, UNIX_NOW + 1000);
    FlSealInvite second = invite_of(&w, 9, UNIX_NOW + 1000); // the same again is another one
    FlSealInvite longer = invite_of(&w, 9, UNIX_NOW + 1001);
    assert_true(first.invite_id != second.invite_id && first.invite_id != longer.invite_id);
    assert_true(memcmp(first.key, second.key, sizeof first.key) != 0);

    start_again(&w, 0, true);
    assert_int_equal(come(&w, &first, 1, 0, &reached), FL_SEAL_DROP_KEY); // not written yet
    FlSealInvite again = invite_of(&w, 9, UNIX_NOW + 1000);
    assert_memory_equal(&again, &first, sizeof again);
    assert_int_equal(come(&w, &first, 1, 0, &reached), FL_SEAL_DROP_NONE);
    assert_int_equal(reached, FL_SEAL_CONNECTED);
    assert_int_equal(come(&w, &longer, 2, 0, &reached), FL_SEAL_DROP_KEY);

    start_again(&w, 1, true);
    (void)invite_of(&w, 9, UNIX_NOW + 1000);
    assert_int_equal(come(&w, &first, 1, 0, &reached), FL_SEAL_DROP_KEY);
    start_again(&w, 0, false);
    (void)invite_of(&w, 9, UNIX_NOW + 1000);
    assert_int_equal(come(&w, &first, 1, 0, &reached), FL_SEAL_DROP_KEY);
    world_end(&w);
}

static void an_invites_key_without_its_id_opens_nothing(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealInvite invite = invite_of(&w, 9, UNIX_NOW + 1000);
    FlSealInvite forged = invite;
    forged.invite_id ^= UINT64_C(1) << 40; // then client ids begin with other bits
    FlSealState reached;
    assert_int_equal(come(&w, &forged, 1, 0, &reached), FL_SEAL_DROP_KEY); // no such invite
    // Its key, but a nonce that names no invite.
    FlSealTokenDef def = token_def(9);
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    FlRandom stream = {.seed = 5};
    FlSealRandom random = fl__seal_random_seeded(&stream);
    assert_int_equal(fl_seal_token_make(&def, invite.key, &random, token), FL_OK);
    FlSealClient *client = client_make(&w.stream, false);
    assert_int_equal(fl_seal_client_connect(client, 0, UNIX_NOW, token), FL_OK);
    assert_int_equal(to_server(client, w.server, 0, AWAY), FL_SEAL_DROP_KEY);
    fl_seal_client_destroy(client);
    world_end(&w);
}

// A hook that begins with the invite's id: what a holder who forges a token would do.
typedef struct Forger {
    uint64_t invite_id;
    bool begun;
    FlRandom stream;
} Forger;

static void forge(void *ctx, void *bytes, size_t count)
{
    Forger *forger = ctx;
    FlSealRandom plain = fl__seal_random_seeded(&forger->stream);
    plain.fill_fn(plain.ctx, bytes, count);
    if (!forger->begun) {
        forger->begun = true;
        for (int32_t i = 0; i < 8; i++) {
            ((uint8_t *)bytes)[i] = (uint8_t)(forger->invite_id >> 8 * i);
        }
    }
}

static void a_holder_cannot_take_the_name_of_somebody_admitted(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealInvite invite = invite_of(&w, 9, UNIX_NOW + 1000);
    Forger forger = {.invite_id = invite.invite_id};
    FlSealRandom random = {forge, &forger};
    FlSealTokenDef def = token_def(9);
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    assert_int_equal(fl_seal_token_make(&def, invite.key, &random, token), FL_OK);
    FlSealClient *client = client_make(&w.stream, false);
    assert_int_equal(fl_seal_client_connect(client, 0, UNIX_NOW, token), FL_OK);
    assert_int_equal(to_server(client, w.server, 0, AWAY), FL_SEAL_DROP_TOKEN);
    fl_seal_client_destroy(client);
    world_end(&w);
}

static void invites_have_limits(void **state)
{
    (void)state;
    World w;
    world_init(&w, false);
    FlSealInvite invite;
    FlSealServer *s = w.server;
    uint64_t later = UNIX_NOW + 10;
    assert_int_equal(fl__seal_server_invite(s, 0, SERVER_ADDRESS, 0, later, &invite), FL_BAD_VALUE);
    FlAddress scoped = AWAY;
    scoped.scope = 3; // tokens have no place for it
    assert_int_equal(fl__seal_server_invite(s, 0, scoped, 1, later, &invite), FL_BAD_VALUE);
    assert_int_equal(fl__seal_server_invite(s, 0, SERVER_ADDRESS, 1, UNIX_NOW, &invite),
                     FL_BAD_VALUE);
    for (int32_t i = 0; i < 16; i++) {
        invite_of(&w, 1, later);
    }
    assert_int_equal(fl__seal_server_invite(s, 0, SERVER_ADDRESS, 1, later, &invite), FL_FULL);
    assert_int_equal(fl__seal_server_invite(s, FL_SEC(10), SERVER_ADDRESS, 1, later + 10, &invite),
                     FL_OK);
    world_end(&w);

    World standard;
    world_init(&standard, true);
    assert_int_equal(fl__seal_server_invite(standard.server, 0, SERVER_ADDRESS, 1, later, &invite),
                     FL_FULL);
    world_end(&standard);
}

// ---------------------------------------------------------------- introductions

static FlSealIntroduction introduction_of(int32_t candidates)
{
    FlSealIntroduction m = {.protocol_id = PROTOCOL,
                            .own_id = 3,
                            .peer_id = 8,
                            .expire_s = UNIX_NOW + 30,
                            .timeout_s = 60,
                            .candidate_count = candidates};
    for (int32_t i = 0; i < candidates && i < FL_SEAL_CANDIDATES; i++) {
        m.candidate[i] = i % 2 == 0 ? address_v6((uint8_t)i, 1) : address_v4((uint8_t)i, 2);
    }
    FlRandom stream = {.seed = 1};
    FlSealRandom random = fl__seal_random_seeded(&stream);
    FlSealIntroduction other = m;
    fl__seal_introduce(&random, &m, &other);
    assert_memory_equal(m.key, other.key, FL_SEAL_KEY_BYTES);
    return m;
}

static void an_introduction_reads_as_it_was_written(void **state)
{
    (void)state;
    for (int32_t count = 1; count <= FL_SEAL_CANDIDATES; count++) {
        FlSealIntroduction m = introduction_of(count);
        uint8_t bytes[FL_SEAL_INTRODUCTION_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__seal_introduction_write(&w, &m);
        assert_false(w.failed);
        FlSealIntroduction read;
        FlReader r;
        fl_reader_init(&r, bytes, fl_writer_size(&w));
        assert_true(fl__seal_introduction_read(&r, &read));
        assert_memory_equal(&read, &m, sizeof read);
        assert_int_equal(fl_reader_left(&r), 0);
        for (int32_t size = 0; size < fl_writer_size(&w); size++) {
            fl_reader_init(&r, bytes, size);
            assert_false(fl__seal_introduction_read(&r, &read));
            assert_int_equal(read.candidate_count, 0);
        }
    }
}

static void an_introduction_out_of_range_is_neither_written_nor_read(void **state)
{
    (void)state;
    FlSealIntroduction good = introduction_of(2);
    uint8_t bytes[FL_SEAL_INTRODUCTION_BYTES];
    FlWriter w;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        FlSealIntroduction m = good;                                                               \
        m.change;                                                                                  \
        fl_writer_init(&w, bytes, sizeof bytes);                                                   \
        fl__seal_introduction_write(&w, &m);                                                       \
        assert_true(w.failed);                                                                     \
    } while (0)
    REFUSED(peer_id = 3);
    REFUSED(timeout_s = 0);
    REFUSED(timeout_s = 3601);
    REFUSED(candidate_count = 0);
    REFUSED(candidate_count = 9);
    REFUSED(candidate[1].port = 0);
#undef REFUSED
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__seal_introduction_write(&w, &good);
    const struct {
        int32_t at;
        uint8_t value;
    } wrong[] = {{16, 3}, {32, 0}, {33, 0x0f}, {34, 0}, {34, 9}, {35, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t changed[FL_SEAL_INTRODUCTION_BYTES];
        memcpy(changed, bytes, sizeof changed);
        changed[wrong[i].at] = wrong[i].value;
        FlReader r;
        fl_reader_init(&r, changed, fl_writer_size(&w));
        FlSealIntroduction read;
        assert_false(fl__seal_introduction_read(&r, &read));
    }
}

// ---------------------------------------------------------------- a token presented again

enum { PRESENTED_PACKETS = 500, NUMBERS = 2 * PRESENTED_PACKETS + 100 };

#define SECOND_ADDRESS address_v4(2, 40000)

typedef struct Numbers {
    uint64_t number[NUMBERS];
    int32_t count;
} Numbers;

static void note_number(Numbers *n, const FlSealed *out)
{
    assert_true(n->count < NUMBERS);
    int32_t bytes = out->bytes[0] >> 4;
    uint64_t number = 0;
    for (int32_t i = bytes; i > 0; i--) {
        number = number << 8 | out->bytes[i];
    }
    if (number >> 63 == 0) { // not those from before there is a slot
        n->number[n->count++] = number;
    }
}

static int32_t repeats(const Numbers *n)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n->count; i++) {
        for (int32_t k = 0; k < i; k++) {
            count += n->number[i] == n->number[k] ? 1 : 0;
        }
    }
    return count;
}

typedef struct Presented {
    FlSealClient *client;
    FlSealServer *server;
    FlAddress at; // the server's
    Numbers *to_server, *to_client;
} Presented;

static void carry_all(const Presented *p, FlTime now)
{
    FlSealed out;
    FlSealPeer peer;
    FlSealPayload payload;
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
    while (fl_seal_client_next(p->client, now, &out) == FL_OK) {
        if (out.bytes[0] != 0) {
            note_number(p->to_server, &out);
        }
        memcpy(bytes, out.bytes, (size_t)out.count);
        if (fl_address_equal(out.to, p->at)) {
            (void)fl_seal_server_receive(p->server, now, HOME, bytes, out.count, &peer, &payload);
        }
    }
    while (fl_seal_server_next(p->server, now, &out) == FL_OK) {
        note_number(p->to_client, &out);
        memcpy(bytes, out.bytes, (size_t)out.count);
        (void)fl_seal_client_receive(p->client, now, p->at, bytes, out.count, &payload);
    }
}

// Connects, and sends as many packets as there are in a few seconds of a game. Bytes of the last.
static int32_t present(const Presented *p, FlTime *now)
{
    FlTime until = *now + FL_SEC(20);
    while (client_state(p->client) != FL_SEAL_CONNECTED && *now < until) {
        carry_all(p, *now);
        *now += FL_MS(50);
    }
    assert_int_equal(client_state(p->client), FL_SEAL_CONNECTED);
    carry_all(p, *now); // the server knows, too
    FlSealPeer peer = fl__seal_server_at(p->server, HOME);
    int32_t size = 0;
    for (int32_t i = 0; i < PRESENTED_PACKETS; i++) {
        uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
        FlSealed out[2];
        int32_t count;
        uint64_t sequence = fl_seal_server_sequence(p->server, peer);
        assert_int_equal(
            fl_seal_server_seal(p->server, peer, *now, sequence, buffer, 20, out, &count), FL_OK);
        for (int32_t k = 0; k < count; k++) {
            note_number(p->to_client, &out[k]);
            size = out[k].count;
        }
    }
    return size;
}

// A server, and another one that is asked nine seconds later and whose clock is that far behind:
// the next of the token's list, or the same one started again.
static int32_t present_twice(bool standard_client, bool same_address, Numbers *to_server,
                             Numbers *to_client, int32_t sizes[2])
{
    FlRandom stream = {.seed = 90};
    FlSealServerDef def = server_def(&stream, false);
    FlSealTokenDef token = token_def(9);
    token.address_count = same_address ? 1 : 2;
    token.address[1] = SECOND_ADDRESS;
    uint8_t bytes[FL_SEAL_TOKEN_BYTES];
    token_make(&token, &stream, bytes);
    memset(to_server, 0, sizeof *to_server);
    memset(to_client, 0, sizeof *to_client);
    Presented p = {client_make(&stream, standard_client), server_make(&def), SERVER_ADDRESS,
                   to_server, to_client};
    FlTime now = 0;
    assert_int_equal(fl_seal_client_connect(p.client, now, UNIX_NOW, bytes), FL_OK);
    sizes[0] = present(&p, &now);
    fl_seal_server_destroy(p.server);

    p.at = same_address ? SERVER_ADDRESS : SECOND_ADDRESS;
    def.address[0] = p.at;
    int32_t first_s = same_address ? 0 : 5; // the client tries the first of the list for so long
    def.unix_s = UNIX_NOW - (uint64_t)first_s;
    now = FL_SEC(9 - first_s);
    assert_int_equal(fl_seal_server_create(&def, now, &p.server), FL_OK);
    assert_int_equal(fl_seal_client_connect(p.client, now, UNIX_NOW + 9 - (uint64_t)first_s, bytes),
                     FL_OK);
    sizes[1] = present(&p, &now);
    fl_seal_server_destroy(p.server);
    fl_seal_client_destroy(p.client);
    return repeats(to_client);
}

static void no_number_repeats_where_a_token_is_presented_again(void **state)
{
    (void)state;
    static Numbers to_server;
    static Numbers to_client;
    int32_t sizes[2];
    assert_int_equal(present_twice(false, false, &to_server, &to_client, sizes), 0);
    assert_int_equal(repeats(&to_server), 0);
    assert_int_equal(sizes[0], 20 + 16 + 1 + 3); // as ever
    assert_int_equal(sizes[1], 20 + 16 + 1 + 5); // at the second server of the list
    assert_int_equal(present_twice(false, true, &to_server, &to_client, sizes), 0);
    assert_int_equal(repeats(&to_server), 0);
    assert_int_equal(sizes[1], 20 + 16 + 1 + 3);
    // A client that follows the standard tells us nothing, but the list says which server we are.
    assert_int_equal(present_twice(true, false, &to_server, &to_client, sizes), 0);
}

// A client whose clock is behind its backend's cannot tell how old the token is.
static void a_slow_clock_repeats_no_number(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 91};
    FlSealTokenDef token = token_def(9);
    uint8_t bytes[FL_SEAL_TOKEN_BYTES];
    token_make(&token, &stream, bytes);
    uint64_t first[2];
    for (int32_t i = 0; i < 2; i++) { // started twice
        FlSealClient *client = client_make(&stream, false);
        assert_int_equal(
            fl_seal_client_connect(client, 0, UNIX_NOW - 300 + (uint64_t)i * 10, bytes), FL_OK);
        first[i] = fl_seal_client_sequence(client);
        fl_seal_client_destroy(client);
    }
    uint64_t apart = first[0] > first[1] ? first[0] - first[1] : first[1] - first[0];
    assert_true(apart > 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_token_replaces_a_dead_connection),
        cmocka_unit_test(a_request_alone_replaces_nobody),
        cmocka_unit_test(an_older_token_or_a_standard_server_replaces_nobody),
        cmocka_unit_test(a_full_server_still_lets_a_player_come_back),
        cmocka_unit_test(a_client_that_moved_is_followed),
        cmocka_unit_test(silence_makes_a_client_ask),
        cmocka_unit_test(moving_nowhere_is_answered_with_a_keep_alive),
        cmocka_unit_test(a_move_is_good_once_and_an_answer_only_from_there),
        cmocka_unit_test(moves_are_rationed_and_never_onto_somebody_else),
        cmocka_unit_test(the_standard_knows_no_moving),
        cmocka_unit_test(an_invite_travels_as_text),
        cmocka_unit_test(an_invite_lets_in_as_many_as_it_says),
        cmocka_unit_test(an_invite_ends_by_time_and_by_word),
        cmocka_unit_test(an_invite_of_a_kept_key_outlives_the_server),
        cmocka_unit_test(an_invites_key_without_its_id_opens_nothing),
        cmocka_unit_test(a_holder_cannot_take_the_name_of_somebody_admitted),
        cmocka_unit_test(invites_have_limits),
        cmocka_unit_test(an_introduction_reads_as_it_was_written),
        cmocka_unit_test(an_introduction_out_of_range_is_neither_written_nor_read),
        cmocka_unit_test(no_number_repeats_where_a_token_is_presented_again),
        cmocka_unit_test(a_slow_clock_repeats_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
