// 01_two_players: a tank here, seen there. Two processes, real UDP.        difficulty: **
//     01_two_players host 127.0.0.1:4000      one player, who prints an invite,
//     01_two_players join 'fairlead:...'      and another, who got it
//     01_two_players                          both in one process for three seconds, as a test
// Only who holds the invite gets in, and nobody else reads or forges what they say.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Player {
    FlNet *net;
    FlSession *session;
    FlEntityId tank;
    double worst; // how far off the other's tank was shown
} Player;

// Every tank drives one circle by session time: so everybody knows where the others really are.
static FlState tank_at(FlTime time, FlTime session_time)
{
    double angle = 0.5 * fl_span_seconds(session_time);
    FlState state = {.time = time, .turn_rate = 0.5, .facing = fl_facing_yaw(angle, 0.5)};
    state.position = fl_vec3(40.0 * fl_sin(angle), -40.0 * fl_cos(angle), 0.0);
    state.velocity = fl_vec3(20.0 * fl_cos(angle), 20.0 * fl_sin(angle), 0.0);
    return state;
}

// Before we are in and know the time there is nothing to say: FL_WOULD_BLOCK.
static void check(FlResult result)
{
    if (result != FL_OK && result != FL_WOULD_BLOCK) {
        fprintf(stderr, "%s\n", fl_result_text(result));
        exit(1);
    }
}

static void open_host(Player *player, const char *address, char invite[FL_SEAL_INVITE_TEXT])
{
    FlNetDef net = fl_net_def_default();
    FlSealServerDef seal = fl_seal_server_def_default();
    FlSessionDef def = fl_session_def_default();
    def.role = FL_ROLE_HOST;
    def.unix_s = (uint64_t)time(NULL);
    check(fl_address_resolve(address, FL_FAMILY_NONE, &net.bind));
    check(fl_net_create(&net, &player->net));
    fl_seal_key(&def.random, seal.private_key);
    seal.address[seal.address_count++] = fl_net_address(player->net);
    def.seal_server = &seal;
    check(fl_session_create(&def, fl_net_now(), &player->session));
    check(fl_session_invite(player->session, fl_net_now(), seal.address[0], 16, def.unix_s + 3600,
                            invite));
}

static void open_guest(Player *player, const char *text)
{
    FlNetDef net = fl_net_def_default();
    FlSealInvite invite;
    FlSessionDef def = fl_session_def_default(); // a client's
    def.unix_s = (uint64_t)time(NULL);
    uint8_t about_me[FL_SEAL_USER_BYTES] = {0}; // for the host's game
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    check(fl_net_create(&net, &player->net));
    check(fl_seal_invite_parse(text, &invite));
    uint32_t name = (uint32_t)fl_net_now();
    check(fl_seal_invite_token(&invite, name, def.unix_s, 10, about_me, &def.random, token));
    def.token = token;
    check(fl_session_create(&def, fl_net_now(), &player->session));
}

static void look_at_others(Player *player, FlTime now)
{
    FlEntityId id = {0};
    while ((id = fl_entity_next(player->session, id)).index1 != 0) {
        FlPose pose;
        if (!fl_entity_is_ours(player->session, id) &&
            fl_entity_pose(player->session, id, now, &pose) == FL_OK) {
            FlState truth = tank_at(now, fl_session_time(player->session, now));
            double off = fl_vec3_distance(pose.position, truth.position);
            player->worst = off > player->worst ? off : player->worst;
        }
    }
}

static void frame(Player *player, FlTime now)
{
    fl_run_receive(player->net, player->session);
    FlEntityDef def = fl_entity_def_default();
    if (player->tank.index1 == 0) {
        check(fl_entity_create(player->session, &def, &player->tank));
    } else {
        FlState state = tank_at(now, fl_session_time(player->session, now));
        check(fl_entity_set(player->session, player->tank, &state));
    }
    fl_run_send(player->net, player->session, now);
    look_at_others(player, now);
    if (fl_session_state(player->session) == FL_SESSION_ENDED) {
        fprintf(stderr, "%s\n", fl_session_trouble(player->session));
        exit(1);
    }
}

static void play(Player *players, int count, FlTime until)
{
    while (fl_net_now() < until) {
        FlTime now = fl_net_now();
        for (int i = 0; i < count; i++) {
            frame(&players[i], now);
        }
        fl_net_wait(players[0].net, now + FL_MS(10));
    }
}

static int report(const Player *player, const char *name)
{
    int heard = (int)fl_session_count(player->session, FL_SESSION_UPDATES_TAKEN);
    int sent = (int)fl_session_count(player->session, FL_SESSION_UPDATES_SENT);
    printf("%s: heard %d updates, sent %d; the other's tank at worst %.3f m off\n", name, heard,
           sent, player->worst);
    return heard > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    Player players[2] = {0};
    char invite[FL_SEAL_INVITE_TEXT];
    bool alone = argc == 3;
    if (alone && strcmp(argv[1], "join") == 0) {
        open_guest(&players[0], argv[2]);
    } else {
        open_host(&players[0], alone ? argv[2] : "127.0.0.1:0", invite);
        printf("%s\n", invite);
    }
    if (alone) {
        for (;;) {
            play(players, 1, fl_net_now() + FL_SEC(1));
            (void)report(&players[0], argv[1]);
            players[0].worst = 0.0;
        }
    }
    open_guest(&players[1], invite);
    play(players, 2, fl_net_now() + FL_SEC(3));
    int failed = report(&players[0], "host") + report(&players[1], "client");
    for (int i = 0; i < 2; i++) {
        fl_session_destroy(players[i].session);
        fl_net_destroy(players[i].net);
    }
    return failed;
}
