// 08_page: your own session on the live page.                              difficulty: **
//     08_page 600 | fairlead page      for ten minutes; open the address that is printed
//     08_page                          for two seconds, as a test
// A host and two guests with a ship each, in one process on loopback. The host prints what the page
// needs as lines of JSON, ten times a second: docs/guide/page.md says what may be in them.
#include <fairlead/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAYERS = 3 };

typedef struct Player {
    FlSession *session;
    FlEntityId ship;
} Player;

static void open_player(Player *player, FlSession *host)
{
    FlSessionDef def = fl_session_def_default();
    FlError error;
    char invite[FL_INVITE_TEXT];
    def.address = "127.0.0.1:0";
    if (host != NULL && fl_session_invite(host, NULL, invite) != FL_OK) {
        exit(1);
    }
    player->session =
        host == NULL ? fl_session_host(&def, &error) : fl_session_join(&def, invite, &error);
    if (player->session == NULL) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    player->ship = fl_entity_create(player->session, NULL);
}

// Ships circle, each at its own pace.
static FlTime frame(Player *player, int number, FlTime wait)
{
    FlTime now = fl_session_pump(player->session, wait);
    double pace = 0.3 + 0.2 * number;
    double angle = pace * fl_span_seconds(fl_session_time(player->session, now));
    double radius = 20.0 + 10.0 * number;
    FlState state = {.time = now, .turn_rate = pace, .facing = fl_facing_yaw(angle, pace)};
    state.position = fl_vec3(radius * sin(angle), -radius * cos(angle), 0.0);
    state.velocity = fl_vec3(radius * pace * cos(angle), radius * pace * sin(angle), 0.0);
    fl_entity_set(player->session, player->ship, &state);
    return now;
}

// ---------------------------------------------------------------- what the page needs

// Six whole numbers each: number, owner, x and y in cm, yaw in mrad, 2 for alive.
static int print_things(FlSession *session, FlTime now)
{
    int count = 0;
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        FlEntityStatus status;
        FlPeerStatus owner;
        FlPose pose;
        if (fl_entity_status(session, id, &status) == FL_OK &&
            fl_entity_pose_at(session, now, id, &pose)) {
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
    while (fl_peer_next(player->session, &peer)) {
        FlPeerStatus status;
        FlLinkStats link;
        FlLedgerView view = {0};
        if (fl_peer_status(player->session, peer, &status) == FL_OK &&
            fl_peer_stats(player->session, now, peer, &link) == FL_OK) {
            bool sees = fl_entity_view(player->session, now, player->ship, peer, &view) == FL_OK;
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
    for (int i = 0; i < PLAYERS; i++) {
        open_player(&players[i], i == 0 ? NULL : players[0].session);
    }
    printf("{\"type\":\"hello\",\"game\":\"ships\",\"thing\":\"ship\"}\n");
    FlTime now = frame(&players[0], 0, 0);
    FlTime next = now, end = now + FL_SEC(argc > 1 ? atoi(argv[1]) : 2);
    int seen = 0;
    while (now < end) {
        for (int i = 1; i < PLAYERS; i++) {
            (void)frame(&players[i], i, 0);
        }
        now = frame(&players[0], 0, FL_MS(10));
        if (now >= next) {
            next = now + FL_MS(100);
            seen = print_frame(&players[0], now);
        }
    }
    for (int i = PLAYERS - 1; i >= 0; i--) {
        fl_session_close(players[i].session);
    }
    return seen == PLAYERS ? 0 : 1;
}
