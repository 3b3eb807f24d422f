// The server: a client by hand (no line of ours on its side) connects to it, and every reason for
// dropping a packet is reached and counted apart.
#include "test_seal_support.h"

#include "test_seal_hand.h"

typedef struct World {
    FlRandom stream;
    FlSealServer *server;
    HandToken hand;
    uint64_t hand_next; // the hand client's sequence number
    FlAddress at;
} World;

static void world_init(World *w, const FlSealServerDef *changed, bool standard)
{
    memset(w, 0, sizeof *w);
    w->stream.seed = 7;
    FlSealServerDef def = changed != NULL ? *changed : server_def(&w->stream, standard);
    def.random = fl__seal_random_seeded(&w->stream);
    w->server = server_make(&def);
    w->at = address_v4(50, 5000);
    w->hand = (HandToken){.protocol = PROTOCOL,
                          .create = UNIX_NOW,
                          .expire = UNIX_NOW + 60,
                          .client = 42,
                          .timeout = 5,
                          .ip = {192, 0, 2, 1},
                          .port = 40000};
    memset(w->hand.nonce, 3, sizeof w->hand.nonce);
    memset(w->hand.up, 4, sizeof w->hand.up);
    memset(w->hand.down, 5, sizeof w->hand.down);
    memset(w->hand.user, 6, sizeof w->hand.user);
}

static void world_end(World *w)
{
    fl_seal_server_destroy(w->server);
}

static FlSealDrop give(World *w, FlTime now, FlAddress from, const void *bytes, int32_t count)
{
    // Exactly as long as the packet, so that a sanitizer sees a byte too far.
    uint8_t *copy = malloc(count > 0 ? (size_t)count : 1);
    assert_non_null(copy);
    if (count > 0) {
        memcpy(copy, bytes, (size_t)count);
    }
    FlSealPeer peer;
    FlSealPayload payload;
    FlSealDrop drop = fl_seal_server_receive(w->server, now, from, copy, count, &peer, &payload);
    free(copy);
    return drop;
}

static FlSealDrop request(World *w, FlTime now, FlAddress from)
{
    uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    hand_request(&w->hand, server_key, bytes);
    return give(w, now, from, bytes, sizeof bytes);
}

static FlSealDrop packet(World *w, FlTime now, FlAddress from, int32_t kind, const void *body,
                         int32_t count)
{
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
    int32_t size = hand_packet(PROTOCOL, w->hand.up, kind, w->hand_next++, body, count, bytes);
    return give(w, now, from, bytes, size);
}

// What the server says next, opened by hand.
static bool hear(World *w, FlTime now, HandOpened *opened)
{
    FlSealed out;
    if (fl_seal_server_next(w->server, now, &out) != FL_OK) {
        return false;
    }
    *opened = hand_open(PROTOCOL, w->hand.down, out.bytes, out.count);
    return true;
}

static void handshake(World *w, FlTime now)
{
    assert_int_equal(request(w, now, w->at), FL_SEAL_DROP_NONE);
    HandOpened opened;
    assert_true(hear(w, now, &opened));
    assert_true(opened.genuine);
    assert_int_equal(opened.kind, 2);
    assert_int_equal(packet(w, now, w->at, 3, opened.body, 308), FL_SEAL_DROP_NONE);
    assert_true(hear(w, now, &opened));
    assert_int_equal(opened.kind, 4);
}

// ---------------------------------------------------------------- by hand

static void a_client_by_hand_connects_and_talks(void **state)
{
    (void)state;
    for (int32_t standard = 0; standard < 2; standard++) {
        World w;
        world_init(&w, NULL, standard != 0);
        assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE);
        HandOpened opened;
        assert_true(hear(&w, 0, &opened));
        assert_true(opened.genuine);
        assert_int_equal(opened.kind, 2);
        assert_int_equal(opened.count, 308);
        assert_true(opened.sequence >> 63 == 1); // the upper half: no connection's number
        assert_int_equal(hand_get(opened.body, 8), 0);
        assert_false(hear(&w, 0, &opened));
        assert_int_equal(fl__seal_server_stats(w.server).connected, 0); // no slot yet

        assert_int_equal(packet(&w, 0, w.at, 3, opened.body, 308), FL_SEAL_DROP_NONE);
        assert_true(hear(&w, 0, &opened));
        assert_true(opened.genuine);
        assert_int_equal(opened.kind, 4);
        assert_true(opened.sequence == (standard != 0 ? 0 : (3600 - 60) * 1024));
        assert_int_equal(hand_get(opened.body, 4), 0);
        assert_int_equal(hand_get(opened.body + 4, 4), 64);

        FlSealEvent event;
        assert_int_equal(fl_seal_server_take_event(w.server, &event), FL_OK);
        assert_int_equal(event.kind, FL_SEAL_EVENT_CONNECTED);
        assert_int_equal(event.client_id, 42);
        FlSealPeerStatus status;
        assert_int_equal(fl_seal_server_status(w.server, event.peer, &status), FL_OK);
        assert_memory_equal(status.user_data, w.hand.user, 256);
        assert_false(status.confirmed);

        // A payload for somebody unconfirmed has a keep-alive before it.
        uint8_t buffer[FL_SEAL_PACKET_BYTES];
        memset(buffer, 0xab, sizeof buffer);
        FlSealed out[2];
        int32_t count;
        uint64_t number = fl_seal_server_sequence(w.server, event.peer);
        assert_int_equal(
            fl_seal_server_seal(w.server, event.peer, 1, number, buffer, 100, out, &count), FL_OK);
        assert_int_equal(count, 2);
        HandOpened first = hand_open(PROTOCOL, w.hand.down, out[0].bytes, out[0].count);
        HandOpened second = hand_open(PROTOCOL, w.hand.down, out[1].bytes, out[1].count);
        assert_true(first.genuine && first.kind == 4 && first.sequence == number - 1);
        assert_true(second.genuine && second.kind == 5 && second.sequence == number);
        assert_int_equal(second.count, 100);
        assert_int_equal(second.body[99], 0xab);

        // A payload from the client arrives in place, and confirms it.
        uint8_t bytes[64];
        int32_t size = hand_packet(PROTOCOL, w.hand.up, 5, w.hand_next++, "hello", 5, bytes);
        FlSealPeer peer;
        FlSealPayload payload;
        assert_int_equal(fl_seal_server_receive(w.server, 2, w.at, bytes, size, &peer, &payload),
                         FL_SEAL_DROP_NONE);
        assert_int_equal(payload.count, 5);
        assert_memory_equal(payload.bytes, "hello", 5);
        assert_int_equal(payload.sequence, w.hand_next - 1);
        assert_int_equal(peer.index1, event.peer.index1);
        number = fl_seal_server_sequence(w.server, event.peer);
        assert_int_equal(
            fl_seal_server_seal(w.server, event.peer, 3, number, buffer, 100, out, &count), FL_OK);
        assert_int_equal(count, 1);

        // A goodbye from the client.
        assert_int_equal(packet(&w, 4, w.at, 6, NULL, 0), FL_SEAL_DROP_NONE);
        assert_int_equal(fl_seal_server_take_event(w.server, &event), FL_OK);
        assert_int_equal(event.kind, FL_SEAL_EVENT_GONE);
        assert_int_equal(event.gone, FL_SEAL_GONE_LEFT);
        assert_int_equal(fl__seal_server_stats(w.server).connected, 0);
        assert_int_equal(fl_seal_server_status(w.server, event.peer, &status), FL_STALE_ID);
        world_end(&w);
    }
}

static void a_kicked_client_hears_ten_goodbyes(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    handshake(&w, 0);
    FlSealPeer peer = fl__seal_server_at(w.server, w.at);
    assert_int_equal(peer.index1, 1);
    assert_int_equal(fl__seal_server_client(w.server, 42).index1, 1);
    fl_seal_server_disconnect(w.server, 1, peer);
    fl_seal_server_disconnect(w.server, 1, peer); // stale by now: ignored
    assert_int_equal(fl__seal_server_at(w.server, w.at).index1, 0);
    HandOpened opened = {0};
    for (uint64_t i = 0; i < 10; i++) {
        assert_true(hear(&w, 1, &opened));
        assert_true(opened.genuine && opened.kind == 6 && opened.sequence == 1 + i);
    }
    assert_false(hear(&w, 1, &opened));
    world_end(&w);
}

static void silence_ends_a_connection_and_keep_alives_come_ten_times_a_second(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    handshake(&w, 0);
    int32_t heard = 0;
    FlTime now = 0;
    while (fl__seal_server_stats(w.server).connected == 1) {
        now = fl_seal_server_deadline(w.server);
        HandOpened opened;
        while (hear(&w, now, &opened)) {
            assert_true(opened.genuine && opened.kind == 4);
            heard++;
        }
    }
    assert_int_equal(now, FL_SEC(5));
    assert_int_equal(heard, 49); // one every 100 ms between 0 and 5 s, both ends apart
    assert_int_equal(fl_seal_server_deadline(w.server), FL_FOREVER);
    world_end(&w);
}

// ---------------------------------------------------------------- every reason

static void requests_are_refused_for_each_reason_apart(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, false);
    uint8_t good[FL_SEAL_REQUEST_BYTES + 8] = {0};
    hand_request(&w.hand, server_key, good);
    const HandToken hand = w.hand;
    for (int32_t count = 1; count < FL_SEAL_REQUEST_BYTES; count++) {
        assert_int_equal(give(&w, 0, w.at, good, count), FL_SEAL_DROP_SHORT);
    }
    assert_int_equal(drops_of(w.server, FL_SEAL_DROP_SHORT), 1077);
    assert_int_equal(give(&w, 0, w.at, good, FL_SEAL_REQUEST_BYTES + 1), FL_SEAL_DROP_LARGE);
    assert_int_equal(give(&w, 0, w.at, good, 0), FL_SEAL_DROP_SHORT);

    w.hand.protocol++;
    assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_PROTOCOL);
    w.hand = hand;
    w.hand.expire = UNIX_NOW; // not later than now
    assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_EXPIRED);
    w.hand.expire = UNIX_NOW + 1;
    assert_int_equal(request(&w, FL_SEC(1), w.at), FL_SEAL_DROP_EXPIRED);
    w.hand.expire = UNIX_NOW + 3602; // the server's clock is a second on
    assert_int_equal(request(&w, FL_SEC(1), w.at), FL_SEAL_DROP_LIFE);
    w.hand = hand;
    w.hand.port++;
    assert_int_equal(request(&w, FL_SEC(1), w.at), FL_SEAL_DROP_ADDRESS);
    w.hand = hand;

    uint8_t other_key[32] = {99};
    uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    hand_request(&w.hand, other_key, bytes);
    assert_int_equal(give(&w, FL_SEC(1), w.at, bytes, sizeof bytes), FL_SEAL_DROP_KEY);
    assert_int_equal(fl__seal_server_stats(w.server).pending, 0);
    assert_int_equal(fl_seal_server_deadline(w.server),
                     FL_FOREVER); // nothing to say to any of them
    world_end(&w);
}

static void a_flipped_bit_in_a_request_is_counted_by_what_it_hit(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, true);
    def.burst = 1e6;
    World w;
    world_init(&w, &def, true);
    uint8_t good[FL_SEAL_REQUEST_BYTES];
    hand_request(&w.hand, server_key, good);
    uint64_t want[FL_SEAL_DROPS] = {0};
    for (int32_t bit = 0; bit < FL_SEAL_REQUEST_BYTES * 8; bit++) {
        int32_t at = bit / 8;
        good[at] ^= (uint8_t)(1 << bit % 8);
        FlSealDrop drop = give(&w, 0, w.at, good, sizeof good);
        good[at] ^= (uint8_t)(1 << bit % 8);
        FlSealDrop expect = FL_SEAL_DROP_KEY;
        if (at == 0) { // now a sealed packet of a wrong size, or of no kind at all
            expect = drop;
            assert_true(drop == FL_SEAL_DROP_KIND || drop == FL_SEAL_DROP_SEQUENCE ||
                        drop == FL_SEAL_DROP_LARGE || drop == FL_SEAL_DROP_STRANGER);
        } else if (at < 14) {
            expect = FL_SEAL_DROP_VERSION;
        } else if (at < 22) {
            expect = FL_SEAL_DROP_PROTOCOL;
        } else if (at < 30) { // sooner: expired; later: a proof that does not fit
            expect = drop == FL_SEAL_DROP_EXPIRED ? FL_SEAL_DROP_EXPIRED : FL_SEAL_DROP_KEY;
        }
        assert_int_equal(drop, expect);
        want[drop]++;
    }
    for (int32_t i = 0; i < FL_SEAL_DROPS; i++) {
        assert_int_equal(drops_of(w.server, (FlSealDrop)i), want[i]);
    }
    assert_int_equal(want[FL_SEAL_DROP_NONE], 0);
    assert_int_equal(want[FL_SEAL_DROP_VERSION], 13 * 8);
    assert_int_equal(want[FL_SEAL_DROP_PROTOCOL], 8 * 8);
    assert_true(want[FL_SEAL_DROP_EXPIRED] > 0);
    world_end(&w);
}

static void a_genuine_token_that_says_nonsense_is_refused(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    // A private part whose address count is 33, properly sealed.
    uint8_t plain[1008] = {0};
    plain[12] = 33;
    Hand covered = {.count = 0};
    hand_version(&covered);
    hand_number(&covered, PROTOCOL, 8);
    hand_number(&covered, w.hand.expire, 8);
    uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    hand_request(&w.hand, server_key, bytes);
    unsigned long long size;
    crypto_aead_xchacha20poly1305_ietf_encrypt(bytes + 54, &size, plain, sizeof plain,
                                               covered.bytes, (unsigned long long)covered.count,
                                               NULL, w.hand.nonce, server_key);
    assert_int_equal(give(&w, 0, w.at, bytes, sizeof bytes), FL_SEAL_DROP_TOKEN);
    world_end(&w);
}

static void who_is_in_is_not_let_in_again(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    handshake(&w, 0);
    assert_int_equal(request(&w, 1, w.at), FL_SEAL_DROP_CONNECTED);           // same address
    assert_int_equal(request(&w, 1, address_v4(51, 1)), FL_SEAL_DROP_CLIENT); // same client
    uint8_t body[308] = {0};
    assert_int_equal(packet(&w, 1, w.at, 3, body, 308), FL_SEAL_DROP_CONNECTED); // a late response
    assert_int_equal(packet(&w, 1, address_v4(52, 1), 3, body, 308), FL_SEAL_DROP_STRANGER);
    world_end(&w);
}

static void a_token_serves_one_address_and_one_connection(void **state)
{
    (void)state;
    for (int32_t standard = 0; standard < 2; standard++) {
        World w;
        world_init(&w, NULL, standard != 0);
        assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE);
        assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE); // asks again: fine
        assert_int_equal(request(&w, 0, address_v4(51, 1)), FL_SEAL_DROP_REUSED);
        HandOpened opened;
        assert_true(hear(&w, 0, &opened));
        assert_int_equal(packet(&w, 0, w.at, 3, opened.body, 308), FL_SEAL_DROP_NONE);
        assert_true(hear(&w, 0, &opened));
        uint64_t last = opened.sequence;
        assert_int_equal(packet(&w, 0, w.at, 6, NULL, 0), FL_SEAL_DROP_NONE);
        assert_int_equal(request(&w, 1, address_v4(51, 1)), FL_SEAL_DROP_REUSED);
        if (standard == 0) {
            assert_int_equal(request(&w, 1, w.at), FL_SEAL_DROP_SPENT);
        } else { // the standard allows it; our numbers go on all the same, so no nonce repeats
            handshake(&w, 1);
            FlSealPeer peer = fl__seal_server_at(w.server, w.at);
            assert_true(fl_seal_server_sequence(w.server, peer) > last + 1);
        }
        world_end(&w);
    }
}

static void a_full_server_denies_and_a_crowded_one_ignores(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, true);
    def.slot_capacity = 1;
    def.pending_capacity = 2;
    World w;
    world_init(&w, &def, true);
    const FlAddress second = address_v4(51, 1);
    const FlAddress third = address_v4(52, 1);
    const FlAddress fourth = address_v4(53, 1);
    const HandToken first_token = w.hand;
    HandOpened mine;
    assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE);
    assert_true(hear(&w, 0, &mine));

    w.hand.client = 43;
    w.hand.nonce[0] = 43;
    HandOpened theirs;
    assert_int_equal(request(&w, 0, second), FL_SEAL_DROP_NONE);
    assert_true(hear(&w, 0, &theirs));
    const HandToken second_token = w.hand;
    w.hand.client = 44;
    w.hand.nonce[0] = 44;
    assert_int_equal(request(&w, 0, third), FL_SEAL_DROP_CROWDED); // two handshakes already

    w.hand = first_token;
    assert_int_equal(packet(&w, 0, w.at, 3, mine.body, 308), FL_SEAL_DROP_NONE);
    assert_true(hear(&w, 0, &mine));
    w.hand = second_token;
    assert_int_equal(packet(&w, 0, second, 3, theirs.body, 308), FL_SEAL_DROP_FULL);
    assert_true(hear(&w, 0, &theirs));
    assert_true(theirs.genuine && theirs.kind == 1 && theirs.count == 0);
    w.hand.client = 45;
    w.hand.nonce[0] = 45;
    assert_int_equal(request(&w, 0, fourth), FL_SEAL_DROP_FULL);
    assert_true(hear(&w, 0, &theirs));
    assert_true(theirs.genuine && theirs.kind == 1);
    assert_true(theirs.sequence >> 63 == 1);
    assert_int_equal(fl__seal_server_stats(w.server).denials, 2);
    world_end(&w);
}

static void responses_answer_their_own_challenge(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE);
    HandOpened mine;
    assert_true(hear(&w, 0, &mine));
    const FlAddress second = address_v4(51, 1);
    const HandToken first_token = w.hand;
    w.hand.client = 43;
    w.hand.nonce[0] = 43;
    assert_int_equal(request(&w, 0, second), FL_SEAL_DROP_NONE);
    assert_int_equal(packet(&w, 0, second, 3, mine.body, 308), FL_SEAL_DROP_CHALLENGE); // another's
    mine.body[100] ^= 1;
    w.hand = first_token;
    assert_int_equal(packet(&w, 0, w.at, 3, mine.body, 308), FL_SEAL_DROP_CHALLENGE); // changed
    mine.body[100] ^= 1;
    mine.body[0] ^= 1; // another number
    assert_int_equal(packet(&w, 0, w.at, 3, mine.body, 308), FL_SEAL_DROP_CHALLENGE);
    mine.body[0] ^= 1;
    w.hand.up[0] ^= 1; // sealed with a wrong key
    assert_int_equal(packet(&w, 0, w.at, 3, mine.body, 308), FL_SEAL_DROP_TAMPERED);
    w.hand.up[0] ^= 1;
    assert_int_equal(packet(&w, FL_SEC(5), w.at, 3, mine.body, 308), FL_SEAL_DROP_STRANGER); // late
    assert_int_equal(packet(&w, FL_SEC(4), w.at, 3, mine.body, 308), FL_SEAL_DROP_NONE);
    world_end(&w);
}

static void sealed_packets_are_refused_for_each_reason_apart(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    handshake(&w, 0);
    assert_int_equal(packet(&w, 1, address_v4(60, 1), 5, "x", 1), FL_SEAL_DROP_STRANGER);
    uint8_t bytes[64];
    int32_t size = hand_packet(PROTOCOL, w.hand.up, 5, 100, "once", 4, bytes);
    assert_int_equal(give(&w, 1, w.at, bytes, size), FL_SEAL_DROP_NONE);
    assert_int_equal(give(&w, 1, w.at, bytes, size), FL_SEAL_DROP_REPLAY);
    for (int32_t bit = 16; bit < size * 8; bit++) { // behind prefix and number
        size = hand_packet(PROTOCOL, w.hand.up, 5, 101, "once", 4, bytes);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(give(&w, 1, w.at, bytes, size), FL_SEAL_DROP_TAMPERED);
    }
    assert_int_equal(drops_of(w.server, FL_SEAL_DROP_TAMPERED), 20 * 8);
    // Kinds that a server never takes, and those of ours in conformance.
    for (int32_t kind = 1; kind < 16; kind++) {
        bool taken = kind == 3 || kind == 4 || kind == 5 || kind == 6;
        uint8_t any[330] = {(uint8_t)(1 << 4 | kind)};
        if (!taken) {
            assert_int_equal(give(&w, 1, w.at, any, 60), FL_SEAL_DROP_KIND);
        }
    }
    uint8_t endless[40] = {9 << 4 | 5};
    assert_int_equal(give(&w, 1, w.at, endless, 40), FL_SEAL_DROP_SEQUENCE);
    uint8_t zero[40] = {5};
    assert_int_equal(give(&w, 1, w.at, zero, 40), FL_SEAL_DROP_SEQUENCE);
    assert_int_equal(fl__seal_server_stats(w.server).connected, 1);
    world_end(&w);
}

static void requests_are_rationed_and_known_ones_have_their_own_ration(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, true);
    def.strangers_s = 10.0;
    def.known_s = 10.0;
    def.burst = 5.0;
    World w;
    world_init(&w, &def, true);
    assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE);
    const HandToken known = w.hand;
    w.hand.client = 50;
    int32_t looked_at = 0;
    for (int32_t i = 0; i < 100; i++) {
        w.hand.nonce[0] = (uint8_t)i;
        uint8_t bytes[FL_SEAL_REQUEST_BYTES];
        uint8_t wrong_key[32] = {1};
        hand_request(&w.hand, wrong_key, bytes);
        looked_at +=
            give(&w, 0, address_v4((uint8_t)i, 9), bytes, sizeof bytes) == FL_SEAL_DROP_KEY;
    }
    assert_int_equal(looked_at, 4);
    assert_int_equal(drops_of(w.server, FL_SEAL_DROP_RATE), 96);
    w.hand = known;
    assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE); // known: served all the same
    w.hand.nonce[0] = 200;
    assert_int_equal(request(&w, 0, address_v4(99, 9)), FL_SEAL_DROP_RATE);
    assert_int_equal(request(&w, FL_MS(100), address_v4(99, 9)), FL_SEAL_DROP_NONE); // refilled
    world_end(&w);
}

static void forgotten_tokens_are_counted(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, true);
    def.token_capacity = 4;
    World w;
    world_init(&w, &def, true);
    for (int32_t i = 0; i < 10; i++) {
        w.hand.client = (uint64_t)i + 1;
        w.hand.nonce[0] = (uint8_t)i;
        assert_int_equal(request(&w, 0, address_v4((uint8_t)i, 9)), FL_SEAL_DROP_NONE);
    }
    assert_int_equal(fl__seal_server_stats(w.server).tokens_forgotten, 6);
    world_end(&w);
}

static void events_and_goodbyes_beyond_their_room_are_counted(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, true);
    def.slot_capacity = 1;
    World w;
    world_init(&w, &def, true);
    for (int32_t i = 0; i < 100; i++) {
        w.hand.nonce[0] = (uint8_t)i;
        w.hand.client = (uint64_t)i + 1;
        w.hand_next = 0;
        assert_int_equal(request(&w, 0, w.at), FL_SEAL_DROP_NONE);
        HandOpened opened = {.kind = 0};
        while (opened.kind != 2) { // after the goodbyes of the one before
            assert_true(hear(&w, 0, &opened));
        }
        assert_int_equal(packet(&w, 0, w.at, 3, opened.body, 308), FL_SEAL_DROP_NONE);
        fl_seal_server_disconnect(w.server, 0, fl__seal_server_at(w.server, w.at));
    }
    assert_int_equal(fl__seal_server_stats(w.server).events_lost, 200 - 4);
    HandOpened opened;
    while (hear(&w, 0, &opened)) {
    }
    // Denials: 65 wait, the rest is dropped.
    w.hand.client = 1000;
    w.hand.nonce[1] = 1;
    handshake(&w, 0);
    for (int32_t i = 0; i < 70; i++) {
        w.hand.client = 2000 + (uint64_t)i;
        w.hand.nonce[0] = (uint8_t)(100 + i);
        assert_int_equal(request(&w, 0, address_v4((uint8_t)(100 + i), 9)), FL_SEAL_DROP_FULL);
    }
    assert_int_equal(fl__seal_server_stats(w.server).answers_lost, 5);
    assert_int_equal(fl__seal_server_stats(w.server).denials, 65);
    world_end(&w);
}

static void a_payload_needs_a_peer_a_size_and_a_new_number(void **state)
{
    (void)state;
    World w;
    world_init(&w, NULL, true);
    handshake(&w, 0);
    FlSealPeer peer = fl__seal_server_at(w.server, w.at);
    uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
    FlSealed out[2];
    int32_t count;
    uint64_t n = fl_seal_server_sequence(w.server, peer);
    FlSealPeer nobody = {0};
    FlSealPeer wrong = {peer.index1, peer.generation + 2};
    FlSealPeer far = {1000, 1};
    FlSealServer *s = w.server;
    assert_int_equal(fl_seal_server_seal(s, nobody, 0, n, buffer, 1, out, &count), FL_STALE_ID);
    assert_int_equal(fl_seal_server_seal(s, wrong, 0, n, buffer, 1, out, &count), FL_STALE_ID);
    assert_int_equal(fl_seal_server_seal(s, far, 0, n, buffer, 1, out, &count), FL_STALE_ID);
    assert_int_equal(fl_seal_server_seal(s, peer, 0, n, buffer, 0, out, &count), FL_BAD_VALUE);
    assert_int_equal(fl_seal_server_seal(s, peer, 0, n, buffer, 1201, out, &count), FL_BAD_VALUE);
    assert_int_equal(fl_seal_server_seal(s, peer, 0, n - 1, buffer, 1, out, &count),
                     FL_OUT_OF_ORDER);
    assert_int_equal(fl_seal_server_seal(s, peer, 0, UINT64_MAX, buffer, 1, out, &count), FL_FULL);
    assert_int_equal(count, 0);
    assert_int_equal(fl_seal_server_seal(s, peer, 0, UINT64_MAX - 1, buffer, 1, out, &count),
                     FL_OK);
    assert_int_equal(fl_seal_server_seal(s, peer, 0, UINT64_MAX, buffer, 1, out, &count), FL_FULL);
    FlSealed none;
    assert_int_equal(fl_seal_server_next(s, FL_SEC(2), &none),
                     FL_NOT_FOUND); // silent, not repeating
    assert_int_equal(fl_seal_server_sequence(s, nobody), 0);
    world_end(&w);
}

static void definitions_are_checked(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServer *server;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        FlSealServerDef def = server_def(&stream, true);                                           \
        def.change;                                                                                \
        assert_int_equal(fl_seal_server_create(&def, 0, &server), FL_BAD_VALUE);                   \
        assert_null(server);                                                                       \
    } while (0)
    REFUSED(address_count = 0);
    REFUSED(address_count = 9);
    REFUSED(address[0].port = 0);
    REFUSED(slot_capacity = 0);
    REFUSED(slot_capacity = 65537);
    REFUSED(pending_capacity = 0);
    REFUSED(token_capacity = 0);
    REFUSED(invite_capacity = -1);
    REFUSED(strangers_s = 0.0);
    REFUSED(known_s = -1.0);
    REFUSED(burst = 0.5);
    REFUSED(keep_alive_ns = 0);
    REFUSED(disconnect_count = -1);
#undef REFUSED
    fl_seal_server_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_by_hand_connects_and_talks),
        cmocka_unit_test(a_kicked_client_hears_ten_goodbyes),
        cmocka_unit_test(silence_ends_a_connection_and_keep_alives_come_ten_times_a_second),
        cmocka_unit_test(requests_are_refused_for_each_reason_apart),
        cmocka_unit_test(a_flipped_bit_in_a_request_is_counted_by_what_it_hit),
        cmocka_unit_test(a_genuine_token_that_says_nonsense_is_refused),
        cmocka_unit_test(who_is_in_is_not_let_in_again),
        cmocka_unit_test(a_token_serves_one_address_and_one_connection),
        cmocka_unit_test(a_full_server_denies_and_a_crowded_one_ignores),
        cmocka_unit_test(responses_answer_their_own_challenge),
        cmocka_unit_test(sealed_packets_are_refused_for_each_reason_apart),
        cmocka_unit_test(requests_are_rationed_and_known_ones_have_their_own_ration),
        cmocka_unit_test(forgotten_tokens_are_counted),
        cmocka_unit_test(events_and_goodbyes_beyond_their_room_are_counted),
        cmocka_unit_test(a_payload_needs_a_peer_a_size_and_a_new_number),
        cmocka_unit_test(definitions_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
