// 01_two_players: a tank here, seen there; how far off, and what it cost.  difficulty: **
//     01_two_players host 127.0.0.1:4000      one player, who prints an invite,
//     01_two_players join 'fairlead:...'      and another, who got it
//     01_two_players                          both in one process for three seconds, as a test
// Only the holder of the invite gets in, and no third party reads or forges their packets.
#include <fairlead/fairlead.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Player {
    FlSession *session;
    FlEntityId tank;
    double worst; // how far off the other's tank was shown
} Player;

// Every tank drives one circle by session time: so everybody knows where the others truly are.
static FlState tank_at(FlTime time, FlTime session_time)
{
    double angle = 0.5 * fl_span_seconds(session_time);
    FlState state = {.time = time, .turn_rate = 0.5, .facing = fl_facing_yaw(angle, 0.5)};
    state.position = fl_vec3(40.0 * sin(angle), -40.0 * cos(angle), 0.0);
    state.velocity = fl_vec3(20.0 * cos(angle), 20.0 * sin(angle), 0.0);
    return state;
}

static void open_player(Player *player, const char *address, const char *invite)
{
    FlSessionDef def = fl_session_def_default();
    FlError error;
    def.address = address;
    def.name = invite == NULL ? "host" : "guest";
    player->session =
        invite == NULL ? fl_session_host(&def, &error) : fl_session_join(&def, invite, &error);
    if (player->session == NULL) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    player->tank = fl_entity_create(player->session, NULL);
}

static void frame(Player *player, FlTime wait)
{
    FlTime now = fl_session_pump(player->session, wait);
    FlState state = tank_at(now, fl_session_time(player->session, now));
    fl_entity_set(player->session, player->tank, &state);
    for (FlEntityId id = {0}; fl_entity_next(player->session, &id);) {
        FlPose pose;
        if (!fl_entity_is_ours(player->session, id) &&
            fl_entity_pose_at(player->session, now, id, &pose)) {
            double off = fl_vec3_distance(pose.position, state.position);
            player->worst = off > player->worst ? off : player->worst;
        }
    }
    if (!fl_session_running(player->session)) {
        fprintf(stderr, "%s\n", fl_session_end_text(player->session));
        exit(1);
    }
}

static int report(const Player *player, const char *name)
{
    int received = (int)fl_session_count(player->session, FL_SESSION_UPDATES_TAKEN);
    int sent = (int)fl_session_count(player->session, FL_SESSION_UPDATES_SENT);
    printf("%s: received %d updates, sent %d; the other's tank at worst %.3f m off\n", name,
           received, sent, player->worst);
    return received > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    Player players[2] = {0};
    char invite[FL_INVITE_TEXT] = "";
    bool alone = argc == 3;
    bool joins = alone && strcmp(argv[1], "join") == 0;
    open_player(&players[0],
                joins   ? NULL
                : alone ? argv[2]
                        : "127.0.0.1:0",
                joins ? argv[2] : NULL);
    if (!joins && fl_session_invite(players[0].session, NULL, invite) == FL_OK) {
        printf("%s\n", invite);
        fflush(stdout);
    }
    for (int i = 1; alone && fl_session_running(players[0].session); i++) {
        frame(&players[0], FL_MS(10));
        if (i % 100 == 0) {
            (void)report(&players[0], argv[1]);
        }
    }
    if (alone) {
        puts(fl_session_end_text(players[0].session));
        return 0;
    }
    open_player(&players[1], NULL, invite);
    for (int i = 0; i < 300; i++) {
        frame(&players[0], FL_MS(5));
        frame(&players[1], FL_MS(5));
    }
    int failed = report(&players[0], "host") + report(&players[1], "guest");
    fl_session_close(players[1].session);
    fl_session_close(players[0].session);
    return failed;
}
