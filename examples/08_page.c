// 08_page: your own session on the live page.                              difficulty: **
//     08_page 600 | fairlead page      for ten minutes; open the address that is printed
//     08_page                          for two seconds, as a test
// A host and two guests with a ship each, in one process on loopback. The host prints what the page
// needs as lines of JSON, ten times a second: docs/guide/page.md says what may be in them.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAYERS = 3 };

typedef struct Player {
    FlNet *net;
    FlSession *session;
    FlEntityId ship;
} Player;

static void check(FlResult result)
{
    if (result != FL_OK && result != FL_WOULD_BLOCK) {
        fprintf(stderr, "%s\n", fl_result_text(result));
        exit(1);
    }
}

static void open_player(Player *player, FlAddress host)
{
    FlNetDef net = fl_net_def_default();
    FlSessionDef def = fl_session_def_default();
    def.role = host.port == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.host = host;
    def.seed = (uint64_t)host.port + (uint64_t)fl_net_now();
    check(fl_address_parse("127.0.0.1:0", &net.bind));
    check(fl_net_create(&net, &player->net));
    check(fl_session_create(&def, fl_net_now(), &player->session));
}

// Ships circle, each at its own pace.
static void frame(Player *player, int number, FlTime now)
{
    fl_run_receive(player->net, player->session);
    FlEntityDef def = fl_entity_def_default();
    if (player->ship.index1 == 0) {
        check(fl_entity_create(player->session, &def, &player->ship));
    } else {
        double pace = 0.3 + 0.2 * number;
        double angle = pace * fl_span_seconds(fl_session_time(player->session, now));
        double radius = 20.0 + 10.0 * number;
        FlState state = {.time = now, .turn_rate = pace, .facing = fl_facing_yaw(angle, pace)};
        state.position = fl_vec3(radius * fl_sin(angle), -radius * fl_cos(angle), 0.0);
        state.velocity = fl_vec3(radius * pace * fl_cos(angle), radius * pace * fl_sin(angle), 0.0);
        check(fl_entity_set(player->session, player->ship, &state));
    }
    fl_run_send(player->net, player->session, now);
}

// ---------------------------------------------------------------- what the page needs

// Six whole numbers each: number, owner, x and y in cm, yaw in mrad, 2 for alive.
static int print_things(FlSession *session, FlTime now)
{
    int count = 0;
    FlEntityId id = {0};
    while ((id = fl_entity_next(session, id)).index1 != 0) {
        FlEntityStatus status;
        FlPeerStatus owner;
        FlPose pose;
        if (fl_entity_status(session, id, &status) == FL_OK &&
            fl_entity_pose(session, id, now, &pose) == FL_OK) {
            bool known = fl_peer_status(session, status.owner, &owner) == FL_OK;
            printf("%s%u,%d,%.0f,%.0f,%.0f,2", count++ > 0 ? "," : "", (unsigned)status.number,
                   known ? owner.number : -1, 100.0 * pose.position.x, 100.0 * pose.position.y,
                   1000.0 * pose.yaw);
        }
    }
    return count;
}

// Who is there, and how wrong they see our ship by now.
static void print_peers(const Player *player, FlTime now)
{
    const char *comma = "";
    FlPeerId peer = {0};
    while ((peer = fl_peer_next(player->session, peer)).index1 != 0) {
        FlPeerStatus status;
        FlLinkStats link;
        FlLedgerView view = {0};
        if (fl_peer_status(player->session, peer, &status) == FL_OK &&
            fl_peer_stats(player->session, peer, now, &link) == FL_OK) {
            bool sees = fl_entity_view(player->session, player->ship, peer, now, &view) == FL_OK;
            printf("%s{\"number\":%d,\"direct\":true,\"rtt_ms\":%.2f,\"loss\":%.4f,"
                   "\"bytes_out\":%llu,\"bytes_in\":%llu,\"pairs\":%d,\"sent\":%u,\"aee\":%.4f}",
                   comma, status.number, (double)link.rtt_average_ns / 1e6, link.loss_out,
                   (unsigned long long)link.bytes_out, (unsigned long long)link.bytes_in,
                   sees ? 1 : 0, (unsigned)view.sent, view.accumulated);
            comma = ",";
        }
    }
}

static int print_frame(const Player *host, FlTime now)
{
    printf("{\"type\":\"frame\",\"t\":%lld,\"self\":0,\"things\":[",
           (long long)(fl_session_time(host->session, now) / FL_MS(1)));
    int count = print_things(host->session, now);
    printf("],\"peers\":[");
    print_peers(host, now);
    printf("]}\n");
    fflush(stdout);
    return count;
}

int main(int argc, char **argv)
{
    Player players[PLAYERS] = {0};
    FlTime end = fl_net_now() + FL_SEC(argc > 1 ? atoi(argv[1]) : 2);
    FlTime next = 0;
    int seen = 0;
    for (int i = 0; i < PLAYERS; i++) {
        FlAddress nowhere = {0};
        open_player(&players[i], i == 0 ? nowhere : fl_net_address(players[0].net));
    }
    printf("{\"type\":\"hello\",\"game\":\"ships\",\"thing\":\"ship\"}\n");
    for (FlTime now = fl_net_now(); now < end; now = fl_net_now()) {
        for (int i = 0; i < PLAYERS; i++) {
            frame(&players[i], i, now);
        }
        if (now >= next) {
            next = now + FL_MS(100);
            seen = print_frame(&players[0], now);
        }
        (void)fl_net_wait(players[0].net, now + FL_MS(10));
    }
    for (int i = 0; i < PLAYERS; i++) {
        fl_session_destroy(players[i].session);
        fl_net_destroy(players[i].net);
    }
    return seen == PLAYERS ? 0 : 1;
}
