// Sessions on real sockets; and that what they do there is what they do in virtual time: a
// session's inputs are recorded, a fresh session is given the recording, and says the same bytes:
// plain, and sealed with keys from a seeded stream.
#include "fairlead/fairlead.h"
#include "fairlead/net.h"
#include "fairlead/run.h"

#include "base/maths.h"
#include "seal/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants some of the above first
#include <cmocka.h>

// ---------------------------------------------------------------- a player

typedef struct Player {
    FlNet *net;
    FlSession *session;
    FlSessionDef def;
    FlTime created;
    FlEntityId tank;
    FlRandom stream; // of its keys
    FlSealServerDef seal;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
} Player;

#define UNIX_S 1700000000u

static FlState tank_at(FlTime time, FlTime session_time)
{
    double angle = 0.8 * fl_span_seconds(session_time);
    FlState state = {.time = time, .turn_rate = 0.8, .facing = fl_facing_yaw(angle, 0.8)};
    state.position = fl_vec3(20.0 * fl__sin(angle), -20.0 * fl__cos(angle), 0.0);
    state.velocity = fl_vec3(16.0 * fl__cos(angle), 16.0 * fl__sin(angle), 0.0);
    return state;
}

/// Tells a circle in straight lines, so that there is much to tell.
static FlEntityDef tank_def(void)
{
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    def.trigger.distance = 0.02;
    return def;
}

/// Lets in whom its key admits, or is admitted by the host's.
static void seal_player(Player *player, const Player *host)
{
    FlRandom other = {.seed = player->def.seed, .stream = 1};
    FlSealRandom random = fl__seal_random_seeded(&other);
    player->stream.seed = player->def.seed;
    player->stream.stream = 2;
    player->def.unix_s = UNIX_S;
    player->def.random = fl__seal_random_seeded(&player->stream);
    if (host == NULL) {
        player->seal = fl_seal_server_def_default();
        fl_seal_key(&random, player->seal.private_key);
        player->seal.address[0] = fl_net_address(player->net);
        player->seal.address_count = 1;
        player->def.seal_server = &player->seal;
        return;
    }
    FlWorld world;
    assert_int_equal(fl_world_init(&player->def.world, &world), FL_OK);
    FlSealTokenDef token = {.protocol_id = world.protocol_id,
                            .client_id = player->def.seed,
                            .create_s = UNIX_S,
                            .expire_s = UNIX_S + 60,
                            .timeout_s = 10,
                            .address_count = 1,
                            .address = {fl_net_address(host->net)}};
    assert_int_equal(fl_seal_token_make(&token, host->seal.private_key, &random, player->token),
                     FL_OK);
    player->def.token = player->token;
}

static void open_player(Player *player, const Player *host, uint64_t seed, bool sealed)
{
    memset(player, 0, sizeof *player);
    FlNetDef net = fl_net_def_default();
    assert_int_equal(fl_address_parse("127.0.0.1:0", &net.bind), FL_OK);
    assert_int_equal(fl_net_create(&net, &player->net), FL_OK);
    assert_int_not_equal(fl_net_address(player->net).port, 0);
    player->def = fl_session_def_default();
    player->def.seed = seed;
    player->def.role = host == NULL ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    if (host != NULL) {
        player->def.host = fl_net_address(host->net);
    }
    if (sealed) {
        seal_player(player, host);
    }
    player->created = fl_net_now();
    assert_int_equal(fl_session_create(&player->def, player->created, &player->session), FL_OK);
}

static void close_player(Player *player)
{
    fl_session_close(player->session);
    fl_net_destroy(player->net);
}

/// The first tank of somebody else's that is seen; -1: none. How far it is from where it should be.
static double other_tank_off(const Player *player, FlTime now)
{
    FlEntityId id = {0};
    while (fl_entity_next(player->session, &id)) {
        FlPose pose;
        if (!fl_entity_is_ours(player->session, id) &&
            fl_entity_pose_at(player->session, now, id, &pose)) {
            FlState truth = tank_at(now, fl_session_time(player->session, now));
            return fl_vec3_distance(pose.position, truth.position);
        }
    }
    return -1.0;
}

static void drive(Player *player, FlTime now)
{
    FlEntityDef def = tank_def();
    if (player->tank.index1 == 0) {
        player->tank = fl_entity_create(player->session, &def);
    }
    FlState state = tank_at(now, fl_session_time(player->session, now));
    assert_int_equal(fl_entity_set(player->session, player->tank, &state), FL_OK);
}

// ---------------------------------------------------------------- recording

typedef enum Kind { GOT, CREATED, SET, TOLD, TOOK, NEXT, SAID, DEADLINE, POSED } Kind;

/// One call on the session, with what it was given and what it answered.
typedef struct Event {
    Kind kind;
    FlTime time;
    FlResult result;
    bool posed;
    FlAddress address;
    FlEntityId id;
    FlState state;
    FlPose pose;
    int32_t size;
    uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
} Event;

typedef struct Tape {
    Event *event;
    int32_t count, capacity;
    int32_t said_count; // datagrams
    int32_t took_count; // messages
} Tape;

static Event *tape_add(Tape *tape, Kind kind, FlTime time)
{
    if (tape->count == tape->capacity) {
        tape->capacity = tape->capacity * 2 + 64;
        tape->event = (Event *)realloc(tape->event, (size_t)tape->capacity * sizeof(Event));
        assert_non_null(tape->event);
    }
    Event *event = &tape->event[tape->count++];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    event->time = time;
    return event;
}

static void record_receive(Player *player, Tape *tape)
{
    FlDatagram in[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(player->net, in, FL_NET_BATCH);
    for (int32_t i = 0; i < count; i++) {
        Event *event = tape_add(tape, GOT, in[i].arrival);
        assert_true(in[i].bytes <= FL_SESSION_DATAGRAM_BYTES);
        event->address = in[i].address;
        event->size = in[i].bytes;
        memcpy(event->bytes, in[i].data, (size_t)in[i].bytes);
        fl_session_receive(player->session, in[i].address, in[i].data, in[i].bytes, in[i].arrival);
    }
}

static void record_drive(Player *player, Tape *tape, FlTime now)
{
    FlEntityDef def = tank_def();
    if (player->tank.index1 == 0) {
        Event *event = tape_add(tape, CREATED, now);
        player->tank = fl_entity_create(player->session, &def);
        event->id = player->tank;
    }
    if (player->tank.index1 != 0) {
        Event *event = tape_add(tape, SET, now);
        event->state = tank_at(now, fl_session_time(player->session, now));
        event->id = player->tank;
        event->result = fl_entity_set(player->session, player->tank, &event->state);
    }
}

static FlResult tell(FlSession *session, const void *bytes, int32_t count)
{
    FlPeerId all = {0};
    FlEvent event = {.type = 7, .bytes = (const uint8_t *)bytes, .count = count};
    return fl_event_send(session, all, &event);
}

/// A reliable message to the other, and all that it said.
static void record_talk(Player *player, Tape *tape, FlTime now)
{
    Event *event = tape_add(tape, TOLD, now);
    event->size = 40;
    memset(event->bytes, tape->count & 255, (size_t)event->size);
    event->result = tell(player->session, event->bytes, event->size);
    do {
        FlEvent took;
        event = tape_add(tape, TOOK, now);
        event->result = fl_event_take(player->session, &took);
        event->size = took.count;
        if (took.count > 0) {
            memcpy(event->bytes, took.bytes, (size_t)took.count);
        }
        tape->took_count += event->result == FL_OK ? 1 : 0;
    } while (event->result == FL_OK);
}

static void record_send(Player *player, Tape *tape, FlTime now)
{
    FlOutgoing out;
    FlResult result = fl_session_next(player->session, now, &out);
    while (result == FL_OK) {
        Event *event = tape_add(tape, SAID, now);
        event->address = out.to;
        event->size = out.count;
        memcpy(event->bytes, out.bytes, (size_t)out.count);
        tape->said_count++;
        FlDatagram datagram = {out.to, out.bytes, out.count, 0};
        int32_t done;
        assert_int_equal(fl_net_send_batch(player->net, &datagram, 1, &done), FL_OK);
        result = fl_session_next(player->session, now, &out);
    }
    (void)tape_add(tape, NEXT, now);
}

static void record_look(Player *player, Tape *tape, FlTime now)
{
    FlEntityId id = {0};
    while (fl_entity_next(player->session, &id)) {
        Event *event = tape_add(tape, POSED, now);
        event->id = id;
        event->posed = fl_entity_pose_at(player->session, now, id, &event->pose);
    }
}

// ---------------------------------------------------------------- replay

static void replay(const Tape *tape, const Player *player)
{
    FlSession *session;
    FlSessionDef again = player->def;
    FlRandom stream = player->stream;
    stream.index = 0; // the same keys once more
    if (again.random.fill_fn != NULL) {
        again.random = fl__seal_random_seeded(&stream);
    }
    assert_int_equal(fl_session_create(&again, player->created, &session), FL_OK);
    FlEntityDef def = tank_def();
    for (int32_t i = 0; i < tape->count; i++) {
        const Event *event = &tape->event[i];
        FlOutgoing out;
        FlEntityId id;
        FlPose pose;
        FlEvent took;
        switch (event->kind) {
        case GOT:
            fl_session_receive(session, event->address, event->bytes, event->size, event->time);
            break;
        case CREATED:
            id = fl_entity_create(session, &def);
            assert_memory_equal(&id, &event->id, sizeof id);
            break;
        case SET:
            assert_int_equal(fl_entity_set(session, event->id, &event->state), event->result);
            break;
        case TOLD:
            assert_int_equal(tell(session, event->bytes, event->size), event->result);
            break;
        case TOOK:
            assert_int_equal(fl_event_take(session, &took), event->result);
            assert_int_equal(took.count, event->size);
            if (took.count > 0) {
                assert_memory_equal(took.bytes, event->bytes, (size_t)took.count);
            }
            break;
        case SAID:
            assert_int_equal(fl_session_next(session, event->time, &out), FL_OK);
            assert_true(fl_address_equal(out.to, event->address));
            assert_int_equal(out.count, event->size);
            assert_memory_equal(out.bytes, event->bytes, (size_t)out.count);
            break;
        case NEXT:
            assert_int_equal(fl_session_next(session, event->time, &out), FL_NOT_FOUND);
            break;
        case DEADLINE:
            assert_int_equal(fl_session_deadline(session, event->time), event->state.time);
            break;
        case POSED:
            assert_int_equal(fl_entity_pose_at(session, event->time, event->id, &pose),
                             event->posed);
            assert_memory_equal(&pose, &event->pose, sizeof pose);
            break;
        }
    }
    for (int32_t i = 0; i < FL_SESSION_COUNTS; i++) {
        assert_int_equal(fl_session_count(session, (FlSessionCount)i),
                         fl_session_count(player->session, (FlSessionCount)i));
    }
    fl_session_close(session);
}

static void play_recording(int32_t recorded, Tape *tape, Player *players, bool sealed)
{
    open_player(&players[0], NULL, 17, sealed);
    open_player(&players[1], &players[0], 18, sealed);
    FlNet *nets[2] = {players[0].net, players[1].net};
    FlTime end = fl_net_now() + FL_MS(1500);
    FlTime frame = 0;
    FlTime now;
    while ((now = fl_net_now()) < end) {
        Player *other = &players[1 - recorded];
        fl_run_receive(other->net, other->session);
        record_receive(&players[recorded], tape);
        if (now >= frame) {
            frame = now + FL_MS(10);
            drive(other, now);
            record_drive(&players[recorded], tape, now);
            record_talk(&players[recorded], tape, now);
            FlResult sent = tell(other->session, "and you?", 8);
            assert_true(sent == FL_OK || sent == FL_WOULD_BLOCK); // not in yet
        }
        fl_run_send(other->net, other->session, now);
        record_send(&players[recorded], tape, now);
        record_look(&players[recorded], tape, now);
        FlTime wake = fl_session_deadline(players[recorded].session, now);
        tape_add(tape, DEADLINE, now)->state.time = wake;
        FlTime other_wake = fl_session_deadline(other->session, now);
        wake = other_wake < wake ? other_wake : wake;
        bool ready[2];
        (void)fl_net_wait(nets, 2, frame < wake ? frame : wake, ready);
    }
}

static void check_recording(int32_t recorded, bool sealed)
{
    Player players[2];
    Tape tape = {0};
    play_recording(recorded, &tape, players, sealed);
    double off = other_tank_off(&players[recorded], fl_net_now());
    print_message("             %d calls, %d datagrams said, %d messages heard; the other's tank "
                  "%.3f m off\n",
                  tape.count, tape.said_count, tape.took_count, off);
    assert_true(tape.said_count > 50 && tape.took_count > 50);
    assert_true(off >= 0.0 && off < 0.5);
    replay(&tape, &players[recorded]);
    free(tape.event);
    close_player(&players[0]);
    close_player(&players[1]);
}

static void a_client_says_again_from_its_recording_what_it_said_on_the_socket(void **state)
{
    check_recording(1, *state != NULL);
}

static void a_host_says_again_from_its_recording_what_it_said_on_the_socket(void **state)
{
    check_recording(0, *state != NULL);
}

// ---------------------------------------------------------------- several

static int32_t entity_count(const FlSession *session)
{
    int32_t count = 0;
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        count++;
    }
    return count;
}

static void two_clients_join_a_host_whose_port_the_system_chose(void **state)
{
    bool sealed = *state != NULL;
    Player players[3];
    open_player(&players[0], NULL, 1, sealed);
    open_player(&players[1], &players[0], 2, sealed);
    open_player(&players[2], &players[0], 3, sealed);
    int32_t heard[3] = {0};
    FlNet *nets[3] = {players[0].net, players[1].net, players[2].net};
    FlTime end = fl_net_now() + FL_SEC(1);
    FlTime now;
    while ((now = fl_net_now()) < end) {
        for (int32_t i = 0; i < 3; i++) {
            Player *player = &players[i];
            fl_run_receive(player->net, player->session);
            drive(player, now);
            fl_run_send(player->net, player->session, now);
            heard[i] += other_tank_off(player, now) >= 0.0 ? 1 : 0;
            assert_int_not_equal(fl_session_state(player->session), FL_SESSION_ENDED);
        }
        bool ready[3];
        (void)fl_net_wait(nets, 3, now + FL_MS(10), ready);
    }
    assert_int_equal(fl_session_count(players[0].session, FL_SESSION_STRANGER), 0);
    assert_int_equal(fl_session_count(players[0].session, FL_SESSION_SEALED_BADLY), 0);
    assert_true(fl_session_count(players[0].session, FL_SESSION_UPDATES_RELAYED) > 0);
    for (int32_t i = 0; i < 3; i++) {
        assert_true(heard[i] > 10);
        assert_int_equal(fl_peer_count(players[i].session), 2);
        assert_int_equal(entity_count(players[i].session), 3); // the fellow's by way of the host
        close_player(&players[i]);
    }
}

/// Plain, and sealed; the state says which.
// The loop at the top of fairlead/session.h, as it stands there: it ends by itself.
static void the_documented_loop_ends_by_itself(void **state)
{
    FlNetDef net_def = fl_net_def_default();
    assert_int_equal(fl_address_parse("127.0.0.1:0", &net_def.bind), FL_OK);
    FlNet *silent; // nobody answers here
    assert_int_equal(fl_net_create(&net_def, &silent), FL_OK);
    Player host = {.net = silent};
    Player player;
    (void)state;
    open_player(&player, &host, 5, false);
    fl_session_close(player.session);
    player.def.join_timeout_ns = FL_MS(300);
    FlNet *net = player.net;
    FlSession *session;
    assert_int_equal(fl_session_create(&player.def, fl_net_now(), &session), FL_OK);
    int32_t turns = 0;
    while (fl_session_state(session) != FL_SESSION_ENDED) {
        fl_run_receive(net, session);
        FlTime now = fl_net_now();
        fl_run_send(net, session, now);
        FlTime deadline = fl_session_deadline(session, now);
        assert_true(deadline < now + FL_SEC(10)); // and not FL_FOREVER
        (void)fl_net_wait(&net, 1, deadline, NULL);
        assert_true(++turns < 1000);
    }
    assert_non_null(strstr(fl_session_end_text(session), "No answer"));
    player.session = session;
    close_player(&player);
    fl_net_destroy(silent);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test(test),                                                                        \
    {                                                                                              \
        "sealed_" #test, test, NULL, NULL, (void *)"sealed"                                        \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_client_says_again_from_its_recording_what_it_said_on_the_socket),
        BOTH(a_host_says_again_from_its_recording_what_it_said_on_the_socket),
        BOTH(two_clients_join_a_host_whose_port_the_system_chose),
        cmocka_unit_test(the_documented_loop_ends_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
