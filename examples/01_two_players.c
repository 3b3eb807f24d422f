// 01_two_players: a tank here, seen there. Two processes, real UDP.        difficulty: **
//
//     01_two_players host 0.0.0.0:4000        one player,
//     01_two_players join 127.0.0.1:4000      and another (through `fairlead wan`, if you like)
//     01_two_players                          both in one process for three seconds, as a test
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Player {
    FlNet *net;
    FlSession *session;
    FlEntityId tank;
    double worst; // how far off the other's tank was shown
} Player;

// Every tank drives the same circle, by session time: so everybody knows where the others' tanks
// really are.
static FlState tank_at(FlTime time, FlTime session_time)
{
    double angle = 0.5 * fl_span_seconds(session_time);
    FlState state = {.time = time, .turn_rate = 0.5, .facing = fl_facing_yaw(angle, 0.5)};
    state.position = fl_vec3(40.0 * fl_sin(angle), -40.0 * fl_cos(angle), 0.0);
    state.velocity = fl_vec3(20.0 * fl_cos(angle), 20.0 * fl_sin(angle), 0.0);
    return state;
}

static void open_player(Player *player, FlRole role, const char *address)
{
    FlNetDef net = fl_net_def_default();
    FlSessionDef def = fl_session_def_default();
    FlAddress *where = role == FL_ROLE_HOST ? &net.bind : &def.host;
    memset(player, 0, sizeof *player);
    if (fl_address_resolve(address, FL_FAMILY_NONE, where) != FL_OK) {
        fprintf(stderr, "%s is not an address like 127.0.0.1:4000\n", address);
        exit(2);
    }
    def.role = role;
    def.seed = (uint64_t)fl_net_now() + (uint64_t)role;
    FlResult result = fl_net_create(&net, &player->net);
    if (result == FL_OK) {
        result = fl_session_create(&def, fl_net_now(), &player->session);
    }
    if (result != FL_OK) {
        fprintf(stderr, "cannot start: %s\n", fl_result_text(result));
        exit(2);
    }
}

static void look_at_others(Player *player, FlTime now)
{
    FlEntityId id = fl_entity_next(player->session, (FlEntityId){0});
    for (; id.index1 != 0; id = fl_entity_next(player->session, id)) {
        FlPose pose;
        if (!fl_entity_is_ours(player->session, id) &&
            fl_entity_pose(player->session, id, now, &pose) == FL_OK) {
            FlState truth = tank_at(now, fl_session_time(player->session, now));
            double off = fl_vec3_distance(pose.position, truth.position);
            player->worst = off > player->worst ? off : player->worst;
        }
    }
}

// Before we are in and know the time there is nothing to say: FL_WOULD_BLOCK.
static void check(FlResult result)
{
    if (result != FL_OK && result != FL_WOULD_BLOCK) {
        fprintf(stderr, "%s\n", fl_result_text(result));
        exit(1);
    }
}

static void frame(Player *player, FlTime now)
{
    fl_run_receive(player->net, player->session);
    if (player->tank.index1 == 0) {
        FlEntityDef def = fl_entity_def_default();
        check(fl_entity_create(player->session, &def, &player->tank));
    }
    if (player->tank.index1 != 0) {
        FlState state = tank_at(now, fl_session_time(player->session, now));
        check(fl_entity_set(player->session, player->tank, &state));
    }
    fl_run_send(player->net, player->session, now);
    look_at_others(player, now);
}

static void play(Player *players, int count, FlTime until)
{
    while (fl_net_now() < until) {
        FlTime now = fl_net_now();
        for (int i = 0; i < count; i++) {
            frame(&players[i], now);
            if (fl_session_state(players[i].session) == FL_SESSION_ENDED) {
                fprintf(stderr, "%s\n", fl_session_trouble(players[i].session));
                exit(1);
            }
        }
        fl_net_wait(players[0].net, now + FL_MS(10));
    }
}

static int report(const Player *player, const char *name)
{
    int heard = (int)fl_session_count(player->session, FL_SESSION_UPDATES_TAKEN);
    int sent = (int)fl_session_count(player->session, FL_SESSION_UPDATES_SENT);
    FlTime clock = fl_session_time_error(player->session);
    printf("%s: heard %d updates, sent %d; ", name, heard, sent);
    if (clock == FL_FOREVER) {
        printf("clock not known yet\n");
    } else {
        printf("the other's tank at worst %.3f m off; clock good to %.3f ms\n", player->worst,
               fl_span_seconds(clock) * 1e3);
    }
    return heard > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    Player players[2];
    if (argc == 3) {
        open_player(&players[0], strcmp(argv[1], "host") == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT,
                    argv[2]);
        for (;;) {
            play(players, 1, fl_net_now() + FL_SEC(1));
            (void)report(&players[0], argv[1]);
            players[0].worst = 0.0;
        }
    }
    char address[FL_ADDRESS_TEXT_BYTES];
    open_player(&players[0], FL_ROLE_HOST, "127.0.0.1:0");
    open_player(&players[1], FL_ROLE_CLIENT,
                fl_address_format(fl_net_address(players[0].net), address));
    play(players, 2, fl_net_now() + FL_SEC(3));
    int failed = report(&players[0], "host") + report(&players[1], "client");
    for (int i = 0; i < 2; i++) {
        fl_session_destroy(players[i].session);
        fl_net_destroy(players[i].net);
    }
    return failed;
}
