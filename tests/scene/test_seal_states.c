// The server's states for one address: the table in spec/WIRE.md section 9.4 is read, and every
// event is played in every state. What the table does not name must change nothing and get no
// answer.
//
// The events are packets of an earlier connection with the same token, by the standard alone, where
// a token may serve its address again: so a genuine packet of every kind is at hand in every state.
// Only a RESPONSE must be to a challenge of this handshake.
#include "unit/test_seal_support.h"

#define AT address_v4(9, 7000)

typedef enum State { NOBODY, PENDING, UNCONFIRMED, CONFIRMED, STATES } State;
typedef enum Event { REQUEST, RESPONSE, PACKET, GOODBYE, SILENCE, KICK, EVENTS } Event;

static const char *const state_names[STATES] = {"NOBODY", "PENDING", "UNCONFIRMED", "CONFIRMED"};
static const char *const event_names[EVENTS] = {"REQUEST", "RESPONSE", "PACKET",
                                                "GOODBYE", "SILENCE",  "KICK"};
// By kind of packet; 0: nothing is sent.
static const char *const answer_names[] = {"nothing",    "DENIED", "CHALLENGE", "",
                                           "KEEP ALIVE", "",       "DISCONNECT"};
#define ANSWERS (int32_t)(sizeof answer_names / sizeof answer_names[0])

typedef struct Recorded {
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
    int32_t count;
} Recorded;

typedef struct Scene {
    FlTime now;
    FlRandom stream;
    FlSealServer *server;
    FlSealClient *client;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    Recorded packet[EVENTS];
    Recorded first_packet; // PACKET, to come from UNCONFIRMED to CONFIRMED
} Scene;

static FlSealDrop give(Scene *s, const Recorded *recorded)
{
    uint8_t copy[FL_SEAL_PACKET_BYTES];
    memcpy(copy, recorded->bytes, (size_t)recorded->count);
    FlSealPeer peer;
    FlSealPayload payload;
    return fl_seal_server_receive(s->server, s->now, AT, copy, recorded->count, &peer, &payload);
}

static void keep(Recorded *recorded, const FlSealed *out)
{
    assert_true(out->count > 0);
    memcpy(recorded->bytes, out->bytes, (size_t)out->count);
    recorded->count = out->count;
}

static void keep_next(Scene *s, Recorded *recorded)
{
    FlSealed out;
    assert_int_equal(fl_seal_client_next(s->client, s->now, &out), FL_OK);
    keep(recorded, &out);
}

/// What the server sends now: its kind, 0 if nothing. The client hears it too.
static int32_t answer(Scene *s)
{
    int32_t kind = 0;
    FlSealed out;
    while (fl_seal_server_next(s->server, s->now, &out) == FL_OK) {
        uint8_t copy[FL_SEAL_PACKET_BYTES];
        memcpy(copy, out.bytes, (size_t)out.count);
        kind = copy[0] & 15;
        FlSealPayload payload;
        (void)fl_seal_client_receive(s->client, s->now, SERVER_ADDRESS, copy, out.count, &payload);
    }
    return kind;
}

static void kick(Scene *s)
{
    fl_seal_server_disconnect(s->server, s->now, fl__seal_server_at(s->server, AT));
}

static void scene_open(Scene *s, FlSealServerDef *def)
{
    memset(s, 0, sizeof *s);
    s->stream.seed = 11;
    def->random = fl__seal_random_seeded(&s->stream);
    s->server = server_make(def);
    s->client = client_make(&s->stream, true);
    FlSealTokenDef token = token_def(77);
    token_make(&token, &s->stream, s->token);
    assert_int_equal(fl_seal_client_connect(s->client, s->now, UNIX_NOW, s->token), FL_OK);
}

/// One whole connection, of which a packet of every kind is kept; then nobody is there.
static void record(Scene *s)
{
    keep_next(s, &s->packet[REQUEST]);
    assert_int_equal(give(s, &s->packet[REQUEST]), FL_SEAL_DROP_NONE);
    assert_int_equal(answer(s), 2);
    keep_next(s, &s->packet[RESPONSE]);
    assert_int_equal(give(s, &s->packet[RESPONSE]), FL_SEAL_DROP_NONE);
    assert_int_equal(answer(s), 4);
    keep_next(s, &s->first_packet); // a keep-alive
    uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
    FlSealed out;
    uint64_t sequence = fl_seal_client_sequence(s->client);
    assert_int_equal(fl_seal_client_seal(s->client, s->now, sequence, buffer, 9, &out), FL_OK);
    keep(&s->packet[PACKET], &out);
    fl_seal_client_disconnect(s->client, s->now);
    keep_next(s, &s->packet[GOODBYE]);
    kick(s);
    assert_int_equal(answer(s), 6);
}

static State state_of(const Scene *s)
{
    FlSealPeerStatus status;
    FlSealPeer peer = fl__seal_server_at(s->server, AT);
    if (fl_seal_server_status(s->server, peer, &status) == FL_OK) {
        return status.confirmed ? CONFIRMED : UNCONFIRMED;
    }
    return fl__seal_server_stats(s->server).pending > 0 ? PENDING : NOBODY;
}

/// With the same token once more, which the standard allows.
static void reach(Scene *s, State state)
{
    const Recorded *steps[] = {&s->packet[REQUEST], &s->packet[RESPONSE], &s->first_packet};
    assert_int_equal(fl_seal_client_connect(s->client, s->now, UNIX_NOW, s->token), FL_OK);
    for (State i = NOBODY; i < state; i++) {
        assert_int_equal(give(s, steps[i]), FL_SEAL_DROP_NONE);
        (void)answer(s);
        if (client_state(s->client) == FL_SEAL_RESPONDING) {
            keep_next(s, &s->packet[RESPONSE]);
        }
    }
    assert_int_equal(state_of(s), state);
}

static void play(Scene *s, Event event)
{
    if (event == SILENCE) {
        s->now += FL_SEC(5);
    } else if (event == KICK) {
        kick(s);
    } else {
        (void)give(s, &s->packet[event]);
    }
}

static void scene_close(Scene *s)
{
    fl_seal_client_destroy(s->client);
    fl_seal_server_destroy(s->server);
}

// ---------------------------------------------------------------- the table

typedef struct Row {
    bool there;
    State to;
    int32_t answer;
} Row;

static int32_t index_of(const char *word, const char *const *words, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/// Reads | `state` | `event` | `leads to` | answer |; returns how many rows there are.
static int32_t read_table(Row table[STATES][EVENTS])
{
    FILE *file = fopen("spec/WIRE.md", "r");
    assert_non_null(file);
    int32_t count = 0;
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        char from[32], event[32], to[32], said[32];
        if (sscanf(line, "| `%31[A-Z_]` | `%31[A-Z_]` | `%31[A-Z_]` | %31[A-Za-z ] |", from, event,
                   to, said) != 4) {
            continue;
        }
        said[strlen(said) - 1] = '\0'; // the blank before the bar
        int32_t f = index_of(from, state_names, STATES);
        int32_t e = index_of(event, event_names, EVENTS);
        int32_t t = index_of(to, state_names, STATES);
        int32_t a = index_of(said, answer_names, ANSWERS);
        if (f < 0 || e < 0 || t < 0 || a < 0) {
            print_error("no such row can be: %s", line);
            fail();
        }
        assert_false(table[f][e].there);
        table[f][e] = (Row){true, (State)t, a};
        count++;
    }
    fclose(file);
    return count;
}

static void every_event_in_every_state_does_what_the_specification_says(void **state)
{
    (void)state;
    Row table[STATES][EVENTS] = {0};
    assert_int_equal(read_table(table), 11);
    for (State from = NOBODY; from < STATES; from++) {
        for (Event event = REQUEST; event < EVENTS; event++) {
            Row want = {true, from, 0};
            if (table[from][event].there) {
                want = table[from][event];
            }
            FlRandom stream = {.seed = 1};
            FlSealServerDef def = server_def(&stream, true);
            Scene s;
            scene_open(&s, &def);
            record(&s);
            reach(&s, from);
            play(&s, event);
            int32_t said = answer(&s);
            State to = state_of(&s);
            if (to != want.to || said != want.answer) {
                print_error("%s in %s: %s with %s, not %s with %s\n", event_names[event],
                            state_names[from], state_names[to], answer_names[said],
                            state_names[want.to], answer_names[want.answer]);
                fail();
            }
            scene_close(&s);
        }
    }
}

// ---------------------------------------------------------------- what follows from it

static void a_full_server_denies_also_who_has_answered_its_challenge(void **state)
{
    (void)state;
    FlRandom stream = {.seed = 1};
    FlSealServerDef def = server_def(&stream, true);
    def.slot_capacity = 1;
    Scene s;
    scene_open(&s, &def);
    record(&s);
    reach(&s, PENDING);
    FlSealClient *other = client_make(&s.stream, true);
    FlSealTokenDef token = token_def(78);
    client_start(other, s.now, &token, &s.stream);
    exchange(other, s.server, s.now, address_v4(10, 7000)); // it is faster
    assert_int_equal(client_state(other), FL_SEAL_CONNECTED);
    assert_int_equal(give(&s, &s.packet[RESPONSE]), FL_SEAL_DROP_FULL);
    assert_int_equal(answer(&s), 1);
    assert_int_equal(state_of(&s), PENDING); // a slot may become free
    fl_seal_client_destroy(other);
    scene_close(&s);
}

// By the standard a token serves its address again until it expires. Who recorded a session and can
// send in its address's name must not get in with that: his RESPONSE answers an old challenge, and
// the new one goes to where he is not.
static void a_recorded_session_lets_nobody_in(void **state)
{
    (void)state;
    for (int32_t spend = 0; spend < 2; spend++) {
        FlRandom stream = {.seed = 1};
        FlSealServerDef def = server_def(&stream, true);
        def.spend = spend == 1;
        Scene s;
        scene_open(&s, &def);
        record(&s);
        FlSealDrop drop = give(&s, &s.packet[REQUEST]);
        assert_int_equal(drop, spend == 1 ? FL_SEAL_DROP_SPENT : FL_SEAL_DROP_NONE);
        (void)answer(&s);
        drop = give(&s, &s.packet[RESPONSE]);
        assert_int_equal(drop, spend == 1 ? FL_SEAL_DROP_STRANGER : FL_SEAL_DROP_CHALLENGE);
        assert_int_equal(give(&s, &s.packet[PACKET]), FL_SEAL_DROP_STRANGER);
        assert_int_equal(state_of(&s), spend == 1 ? NOBODY : PENDING);
        scene_close(&s);
    }
}

// A request that is repeated draws another challenge; an answer to either is good.
static void any_challenge_of_a_handshake_may_be_answered(void **state)
{
    (void)state;
    for (int32_t late = 0; late < 2; late++) {
        FlRandom stream = {.seed = 1};
        FlSealServerDef def = server_def(&stream, true);
        Scene s;
        scene_open(&s, &def);
        keep_next(&s, &s.packet[REQUEST]);
        FlSealed out;
        Recorded challenge = {.count = 0};
        for (int32_t i = 0; i < 2; i++) {
            assert_int_equal(give(&s, &s.packet[REQUEST]), FL_SEAL_DROP_NONE);
            assert_int_equal(fl_seal_server_next(s.server, s.now, &out), FL_OK);
            if (i == late) {
                keep(&challenge, &out);
            }
        }
        FlSealPayload payload;
        assert_int_equal(fl_seal_client_receive(s.client, s.now, SERVER_ADDRESS, challenge.bytes,
                                                challenge.count, &payload),
                         FL_SEAL_DROP_NONE);
        keep_next(&s, &s.packet[RESPONSE]);
        assert_int_equal(give(&s, &s.packet[RESPONSE]), FL_SEAL_DROP_NONE);
        assert_int_equal(state_of(&s), UNCONFIRMED);
        scene_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state_does_what_the_specification_says),
        cmocka_unit_test(a_full_server_denies_also_who_has_answered_its_challenge),
        cmocka_unit_test(a_recorded_session_lets_nobody_in),
        cmocka_unit_test(any_challenge_of_a_handshake_may_be_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
