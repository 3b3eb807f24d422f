// 05_relay: a server passes one player's tank on to another, and says how fair it was. difficulty:
// ***
//
// Three sessions in one process on loopback: a server without a tank, a driver, and a watcher. The
// watcher has no connection to the driver: what it sees came through the server, which decides what
// goes to whom when, keeps a ledger of what each receiver saw, and tells the owner once a second.
#include <fairlead/run.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER, DRIVER, WATCHER, PLAYERS };

typedef struct Player {
    FlNet *net;
    FlSession *session;
} Player;

static void must(FlResult result, const char *what)
{
    if (result != FL_OK) {
        fprintf(stderr, "%s: %s\n", what, fl_result_text(result));
        exit(1);
    }
}

static void open_player(Player *player, const Player *server)
{
    FlNetDef net = fl_net_def_default();
    FlSessionDef def = fl_session_def_default(); // a star: everything through the host
    must(fl_address_parse("127.0.0.1:0", &net.bind), "address");
    must(fl_net_create(&net, &player->net), "socket");
    def.role = server == NULL ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.seed = (uint64_t)fl_net_now();
    if (server != NULL) {
        def.host = fl_net_address(server->net);
    }
    must(fl_session_create(&def, fl_net_now(), &player->session), "session");
}

// A slalom, by session time: so the watcher knows where the tank really is.
static FlState tank_at(FlTime time, FlTime session_time)
{
    double t = fl_span_seconds(session_time);
    FlState state = {.time = time, .facing = fl_facing_none()};
    state.position = fl_vec3(12.0 * t, 4.0 * sin(1.5 * t), 0.0);
    state.velocity = fl_vec3(12.0, 6.0 * cos(1.5 * t), 0.0);
    state.acceleration = fl_vec3(0.0, -9.0 * sin(1.5 * t), 0.0);
    return state;
}

static void drive(FlSession *session, FlEntityId *tank, FlTime now)
{
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_EQUAL); // whoever passes it on: half accurate, half fair
    def.send.every = 1;                     // spending no less than everything
    if (tank->index1 == 0) {
        *tank = fl_entity_create(session, &def);
    }
    FlState state = tank_at(now, fl_session_time(session, now));
    must(fl_entity_set(session, *tank, &state), "tank");
}

/// How far off the watcher sees it; -1: not at all.
static double watch(FlSession *session, FlTime now)
{
    FlEntityId tank = {0};
    FlPose pose;
    if (!fl_entity_next(session, &tank) || !fl_entity_pose_at(session, now, tank, &pose)) {
        return -1.0;
    }
    FlState truth = tank_at(now, fl_session_time(session, now));
    return fl_vec3_distance(pose.position, truth.position);
}

static void report(const Player *player, const char *who, FlTime now)
{
    FlEntityId tank = {0};
    (void)fl_entity_next(player->session, &tank);
    FlEntityReport all;
    if (fl_entity_report(player->session, now, tank, &all) != FL_OK) {
        printf("%s: nobody sees it\n", who);
        return;
    }
    printf("%s: %d receivers, error %.4f m s on average, %.4f m s standard deviation\n", who,
           all.receiver_count, all.mean, all.sd);
    FlPeerId peer = {0};
    while (fl_peer_next(player->session, &peer)) {
        FlLedgerView view;
        if (fl_entity_view(player->session, now, tank, peer, &view) == FL_OK) {
            printf("    peer %u: %.4f m s\n", peer.index1 - 1, view.accumulated);
        }
    }
}

int main(void)
{
    Player players[PLAYERS];
    FlNet *nets[PLAYERS];
    for (int i = 0; i < PLAYERS; i++) {
        open_player(&players[i], i == SERVER ? NULL : &players[SERVER]);
        nets[i] = players[i].net;
    }
    FlEntityId tank = {0};
    FlTime now = fl_net_now();
    FlTime start = now;
    double worst = -1.0;
    for (FlTime frame = now; now < start + FL_SEC(4); now = fl_net_now()) {
        for (int i = 0; i < PLAYERS; i++) {
            fl_run_receive(players[i].net, players[i].session);
        }
        if (now >= frame) {
            frame = now + FL_SEC(1) / 60;
            drive(players[DRIVER].session, &tank, now);
            double off = watch(players[WATCHER].session, now);
            worst = now > start + FL_SEC(2) && off > worst ? off : worst;
        }
        FlTime wake = frame;
        for (int i = 0; i < PLAYERS; i++) {
            fl_run_send(players[i].net, players[i].session, now);
            FlTime deadline = fl_session_deadline(players[i].session, now);
            wake = deadline < wake ? deadline : wake;
        }
        bool ready[PLAYERS];
        (void)fl_net_wait(nets, PLAYERS, wake, ready);
    }
    uint64_t relayed = fl_session_count(players[SERVER].session, FL_SESSION_UPDATES_RELAYED);
    printf("the watcher sees the tank at most %.3f m off, by %llu updates through the server\n",
           worst, (unsigned long long)relayed);
    report(&players[SERVER], "server", now);
    report(&players[DRIVER], "owner", now);
    for (int i = 0; i < PLAYERS; i++) {
        fl_session_close(players[i].session);
        fl_net_destroy(players[i].net);
    }
    return relayed > 0 && worst >= 0.0 ? 0 : 1; // how far off depends on how busy this machine is
}
