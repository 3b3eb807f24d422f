// 02_messages: events that arrive, beside a tank that moves, whatever the network does.
//                                                                         difficulty: **
//     02_messages host 127.0.0.1:4000 100000    one process, and how many messages each way,
//     02_messages join 127.0.0.1:5000 100000    another, and between them
//     fairlead wan --listen 127.0.0.1:5000 --to 127.0.0.1:4000 --loss 30 --delay 20
//     02_messages                               both in one process for a moment, as a test
// Processes of one machine share its clock, so each knows where the other's tank really is.
#include <fairlead/run.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Player {
    FlNet *net;
    FlSession *session;
    FlEntityId tank;
    uint32_t wanted, said, heard, wrong; // messages; one more says goodbye
    FlTime done, next_frame;
    double worst;                   // how far off the other's tank was shown
    FlTime ahead_least, ahead_most; // session time minus the machine's clock
} Player;

static FlState tank_at(FlTime time)
{
    double angle = 0.5 * fl_span_seconds(time % FL_SEC(100000));
    FlState state = {.time = time, .turn_rate = 0.5, .facing = fl_facing_yaw(angle, 0.5)};
    state.position = fl_vec3(40.0 * sin(angle), -40.0 * cos(angle), 0.0);
    state.velocity = fl_vec3(20.0 * cos(angle), 20.0 * sin(angle), 0.0);
    return state;
}

static void check(FlResult result)
{
    if (result != FL_OK) {
        fprintf(stderr, "%s\n", fl_result_text(result));
        exit(1);
    }
}

static void open_player(Player *player, FlRole role, const char *address, uint32_t wanted)
{
    FlNetDef net = fl_net_def_default();
    FlSessionDef def = fl_session_def_default();
    FlAddress *where = role == FL_ROLE_HOST ? &net.bind : &def.host;
    *player = (Player){.wanted = wanted};
    check(fl_address_resolve(address, FL_FAMILY_NONE, where));
    def.role = role;
    def.seed = (uint64_t)fl_net_now() + (uint64_t)role;
    check(fl_net_create(&net, &player->net));
    check(fl_session_create(&def, fl_net_now(), &player->session));
    player->done = player->ahead_least = FL_FOREVER;
    player->ahead_most = -FL_FOREVER;
}

// Message n is its number, and padding. Goodbye goes when all of the other's are here.
static void talk(Player *player, FlTime now)
{
    uint32_t message[6] = {player->said};
    uint32_t last = player->wanted + (player->heard >= player->wanted ? 1 : 0);
    FlPeerId other = {0};
    (void)fl_peer_next(player->session, &other);
    FlEvent event = {.type = 1, .bytes = (const uint8_t *)message, .count = sizeof message};
    while (player->said < last && other.index1 != 0 &&
           fl_event_send(player->session, other, &event) == FL_OK) {
        message[0] = ++player->said; // otherwise nobody is there yet, or the queue is full
    }
    while (fl_event_take(player->session, &event) == FL_OK) {
        player->wrong += event.count != 24 || memcmp(event.bytes, &player->heard, 4) != 0 ? 1 : 0;
        player->heard++;
        player->done = player->heard == player->wanted + 1 ? now : player->done;
    }
}

static void frame(Player *player, FlTime now)
{
    FlSession *session = player->session;
    FlState truth = tank_at(now);
    if (player->tank.index1 == 0) {
        player->tank = fl_entity_create(session, NULL);
    }
    check(fl_entity_set(session, player->tank, &truth));
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        FlPose pose;
        if (!fl_entity_is_ours(session, id) && fl_entity_pose_at(session, now, id, &pose)) {
            double off = fl_vec3_distance(pose.position, truth.position);
            player->worst = off > player->worst ? off : player->worst;
        }
    }
    if (fl_session_time_error(session) != FL_FOREVER) {
        FlTime ahead = fl_session_time(session, now) - now;
        player->ahead_least = ahead < player->ahead_least ? ahead : player->ahead_least;
        player->ahead_most = ahead > player->ahead_most ? ahead : player->ahead_most;
    }
    player->next_frame = now + FL_SEC(1) / 60;
}

// False when all is said and done, and the other has surely heard so.
static bool step(Player *player, FlTime *wake)
{
    fl_run_receive(player->net, player->session);
    FlTime now = fl_net_now();
    talk(player, now);
    if (now >= player->next_frame) {
        frame(player, now);
    }
    fl_run_send(player->net, player->session, now);
    FlTime deadline = fl_session_deadline(player->session, now);
    deadline = player->next_frame < deadline ? player->next_frame : deadline;
    *wake = deadline < *wake ? deadline : *wake;
    if (fl_session_state(player->session) == FL_SESSION_ENDED) {
        fprintf(stderr, "%s\n", fl_session_end_text(player->session));
        exit(1);
    }
    return now < fl_time_add(player->done, FL_SEC(1));
}

int main(int argc, char **argv)
{
    Player players[2];
    int count = argc == 4 ? 1 : 2;
    if (argc == 4) {
        FlRole role = strcmp(argv[1], "host") == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        open_player(&players[0], role, argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
    } else {
        char text[FL_ADDRESS_TEXT_BYTES];
        open_player(&players[0], FL_ROLE_HOST, "127.0.0.1:0", 2000);
        fl_address_format(fl_net_address(players[0].net), text);
        open_player(&players[1], FL_ROLE_CLIENT, text, 2000);
    }
    for (bool playing = true;
         playing;) { // two in one process look for each other's packets every millisecond
        FlTime wake = count == 2 ? fl_net_now() + FL_MS(1) : FL_FOREVER;
        playing = step(&players[0], &wake);
        playing = (count == 2 && step(&players[1], &wake)) || playing;
        (void)fl_net_wait(&players[0].net, 1, wake, NULL);
    }
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        Player *player = &players[i];
        printf("{\"heard\": %u, \"wrong\": %u, \"worst_m\": %.4f, \"ahead_ns\": [%lld, %lld]}\n",
               player->heard, player->wrong, player->worst, (long long)player->ahead_least,
               (long long)player->ahead_most);
        wrong += player->wrong > 0;
        fl_session_close(player->session);
        fl_net_destroy(player->net);
    }
    return wrong;
}
