// yard: a top-down shooter, written from README.md and fairlead.h alone: a dedicated server, a
// pick-up, hits, chat, late joiners, leavers, a kick. difficulty: **
//
//   yard serve LISTEN REACH INVITES SECONDS    hosts, and prints so many invites to address REACH
//   yard join INVITE NAME [SECONDS]            plays, by itself
//
// tests/program/test_stranger.py plays it: six processes, 80 +- 20 ms each way, 3 % loss.
#include <fairlead/fairlead.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_TANK = 1, KIND_MEDKIT = 2 };
enum { CALL_TAKE = FL_CALL_OWN, CALL_HIT };
enum { EVENT_CHAT = 1, EVENT_SHOT };

typedef struct Tank {
    uint8_t health, kits, hits; // its state blob, byte by byte
} Tank;

typedef struct Kit {
    uint8_t taken; // how often
} Kit;

// ---------------------------------------------------------------- both

static void report(const char *who, FlSession *session, const FlNotice *notice)
{
    FlPeerStatus peer = {0};
    switch (notice->kind) {
    case FL_NOTICE_PEER_JOINED:
        if (fl_peer_status(session, notice->peer, &peer) == FL_OK) {
            printf("%s: player %d (%s) joined\n", who, peer.number, peer.name);
        }
        break;
    case FL_NOTICE_PEER_LEFT:
        printf("%s: player %d left: %s\n", who, notice->number, fl_left_text(notice->left));
        break;
    case FL_NOTICE_ENTITY_GONE:
        printf("%s: an entity is gone\n", who);
        break;
    default:
        break;
    }
}

static void say(FlSession *session, const char *text)
{
    FlEvent event = {
        .type = EVENT_CHAT, .bytes = (const uint8_t *)text, .count = (int32_t)strlen(text)};
    if (fl_event_send(session, (FlPeerId){0}, &event) != FL_OK) {
        printf("could not say it\n");
    }
}

static FlEntityId find(FlSession *session, uint8_t kind, bool ours)
{
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlEntityStatus status;
        if (fl_entity_status(session, id, &status) == FL_OK && status.kind == kind &&
            status.ours == ours) {
            return id;
        }
    }
    return (FlEntityId){0};
}

// ---------------------------------------------------------------- server

static int serve(const char *listen, const char *reach, int invites, double seconds)
{
    FlSessionDef def = fl_session_def_default();
    def.address = listen;
    def.name = "server";
    FlError error;
    FlSession *session = fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    for (int i = 0; i < invites; i++) {
        char invite[FL_INVITE_TEXT];
        FlResult result = fl_session_invite(session, reach, invite);
        if (result != FL_OK) {
            return puts(fl_result_text(result)), 1;
        }
        puts(invite);
    }
    fflush(stdout);
    FlEntityDef kit_def = fl_entity_def_default();
    kit_def.kind = KIND_MEDKIT;
    FlEntityId kit_id = fl_entity_create(session, &kit_def);
    Kit kit = {0};
    if (fl_entity_state_set(session, kit_id, &kit, sizeof kit) != FL_OK) {
        return puts("no kit"), 1;
    }
    FlTime now = fl_session_pump(session, 0), end = now + (FlTime)(seconds * 1e9);
    while (fl_session_running(session) && now < end) {
        now = fl_session_pump(session, FL_MS(10));
        FlState state = {.time = now, .position = {0, 0, 0}};
        fl_entity_set(session, kit_id, &state);
        FlNotice notice;
        while (fl_notice_take(session, &notice) == FL_OK) {
            report("server", session, &notice);
        }
        FlCall call;
        while (fl_call_take(session, &call) == FL_OK) {
            bool yes = call.kind == CALL_TAKE && kit.taken == 0;
            kit.taken = yes ? 1 : kit.taken;
            if (fl_call_answer(session, now, &call, yes, &kit, sizeof kit) != FL_OK) {
                printf("server: an answer came too late\n");
            }
            printf("server: pick-up %s\n", yes ? "granted" : "refused");
        }
        FlEvent event;
        while (fl_event_take(session, &event) == FL_OK) {
            if (event.type != EVENT_CHAT) {
                continue;
            }
            printf("server: chat from %d: %.*s\n", event.number, event.count,
                   (const char *)event.bytes);
            if (event.count == 4 && memcmp(event.bytes, "spam", 4) == 0 &&
                fl_peer_kick(session, now, event.from, "no spam here") == FL_OK) {
                printf("server: kicked %d\n", event.number);
            }
        }
        fflush(stdout);
    }
    printf("server: ends, kit taken %d times\n", kit.taken);
    fl_session_close(session);
    return 0;
}

// ---------------------------------------------------------------- client

typedef struct Player {
    FlSession *session;
    const char *name;
    FlEntityId tank;
    Tank own;
    bool asked;
    int shots, hits_made;
    double worst; // distance of any shown tank from the circle that all drive
    double jump;  // longest step of a shown tank in a frame, beyond what its speed allows
    FlVec3 last[64];
    FlTime last_at[64];
} Player;

static void drive(Player *player, FlTime now)
{
    double t = fl_span_seconds(fl_session_time(player->session, now));
    double angle = t * 0.5 + player->name[0];
    FlState state = {.time = now,
                     .position = {20 * cos(angle), 20 * sin(angle), 0},
                     .velocity = {-10 * sin(angle), 10 * cos(angle), 0},
                     .turn_rate = 0.5,
                     .facing = fl_facing_yaw(angle + FL_PI / 2, 0.5)};
    FlResult result = fl_entity_set(player->session, player->tank, &state);
    if (result != FL_OK) {
        printf("%s: set: %s\n", player->name, fl_result_text(result));
    }
}

static void look(Player *player, FlTime now)
{
    for (FlEntityId id = {0}; fl_entity_next(player->session, &id);) {
        FlEntityStatus status;
        FlPose pose;
        if (fl_entity_is_ours(player->session, id) || !fl_entity_pose(player->session, id, &pose) ||
            fl_entity_status(player->session, id, &status) != FL_OK || status.kind != KIND_TANK) {
            continue;
        }
        double off = fabs(hypot(pose.position.x, pose.position.y) - 20);
        player->worst = off > player->worst ? off : player->worst;
        uint32_t i = status.number % 64;
        if (player->last_at[i] != 0) {
            double step = fl_vec3_distance(pose.position, player->last[i]) -
                          1.1 * 10 * fl_span_seconds(now - player->last_at[i]);
            player->jump = step > player->jump ? step : player->jump;
        }
        player->last[i] = pose.position;
        player->last_at[i] = now;
    }
}

static void act(Player *player, FlTime now, double age)
{
    FlSession *session = player->session;
    uint32_t serial;
    FlEntityId kit = find(session, KIND_MEDKIT, false);
    if (!player->asked && age > 3 && kit.index1 != 0) {
        FlCallDef take = {.kind = CALL_TAKE};
        player->asked = fl_call_send(session, now, kit, &take, &serial) == FL_OK;
    }
    FlEntityId target = find(session, KIND_TANK, false);
    if (age > 2 + player->shots && target.index1 != 0) {
        FlCallDef hit = {.kind = CALL_HIT, .bytes = &(uint8_t){10}, .count = 1};
        FlEvent bang = {.type = EVENT_SHOT, .delivery = FL_DELIVERY_QUICKEST};
        if (fl_call_send(session, now, target, &hit, &serial) == FL_OK &&
            fl_event_send(session, (FlPeerId){0}, &bang) == FL_OK) {
            player->shots++;
        }
    }
}

static void take_all(Player *player, FlTime now)
{
    FlSession *session = player->session;
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
        report(player->name, session, &notice);
        const uint8_t *bytes;
        int32_t count;
        FlEntityStatus status;
        if (notice.kind == FL_NOTICE_ENTITY_STATE &&
            fl_entity_status(session, notice.entity, &status) == FL_OK &&
            status.kind == KIND_MEDKIT &&
            fl_entity_state_get(session, notice.entity, &bytes, &count) == FL_OK && count == 1) {
            printf("%s: kit taken: %d\n", player->name, bytes[0]);
        }
    }
    FlCall call;
    while (fl_call_take(session, &call) == FL_OK) {
        bool yes = call.kind == CALL_HIT && call.count == 1 && player->own.health >= call.bytes[0];
        if (yes) {
            player->own.health = (uint8_t)(player->own.health - call.bytes[0]);
            player->own.hits++;
        }
        if (fl_call_answer(session, now, &call, yes, &player->own, sizeof player->own) != FL_OK) {
            printf("%s: answer failed\n", player->name);
        }
    }
    FlCallDone done;
    while (fl_call_take_done(session, now, &done) == FL_OK) {
        bool applied = done.verdict == FL_CALL_APPLIED;
        if (done.kind == CALL_TAKE) {
            printf("%s: my pick-up was %s\n", player->name, applied ? "granted" : "refused");
            player->own.kits = applied ? 1 : 0;
            if (fl_entity_state_set(session, player->tank, &player->own, sizeof player->own) !=
                FL_OK) {
                printf("%s: state failed\n", player->name);
            }
        } else {
            player->hits_made += applied ? 1 : 0;
        }
    }
    FlEvent event;
    while (fl_event_take(session, &event) == FL_OK) {
        if (event.type == EVENT_CHAT) {
            printf("%s: chat from %d: %.*s\n", player->name, event.number, event.count,
                   (const char *)event.bytes);
        }
    }
}

static int join(const char *invite, const char *name, double seconds)
{
    FlSessionDef def = fl_session_def_default();
    def.name = name;
    FlError error;
    Player player = {.name = name, .own = {.health = 100}};
    player.session = fl_session_join(&def, invite, &error);
    if (player.session == NULL) {
        return puts(error.text), 1;
    }
    FlEntityDef tank_def = fl_entity_def_default();
    tank_def.kind = KIND_TANK;
    player.tank = fl_entity_create(player.session, &tank_def);
    if (fl_entity_state_set(player.session, player.tank, &player.own, sizeof player.own) != FL_OK) {
        return puts("no state"), 1;
    }
    bool said = false;
    FlTime in_at = 0, now = 0;
    while (fl_session_running(player.session) &&
           (in_at == 0 || now < in_at + (FlTime)(seconds * 1e9))) {
        now = fl_session_pump(player.session, FL_MS(16));
        if (fl_session_state(player.session) != FL_SESSION_RUNNING) {
            continue;
        }
        in_at = in_at == 0 ? now : in_at;
        double age = fl_span_seconds(now - in_at);
        drive(&player, now);
        take_all(&player, now);
        act(&player, now, age);
        look(&player, now);
        if (!said && age > 1) {
            said = true;
            say(player.session, strcmp(name, "eve") == 0 ? "spam" : "hello");
        }
        fflush(stdout);
    }
    printf("%s: health %d, hit %d times, made %d hits, %d shots; off by at most %.2f m, longest "
           "jump %.2f m\n",
           name, player.own.health, player.own.hits, player.hits_made, player.shots, player.worst,
           player.jump);
    printf("%s: %s\n", name, fl_session_end_text(player.session));
    fl_session_close(player.session);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "serve") == 0) {
        return serve(argv[2], argv[3], atoi(argv[4]), atof(argv[5]));
    }
    if (argc >= 4 && strcmp(argv[1], "join") == 0) {
        return join(argv[2], argv[3], argc > 4 ? atof(argv[4]) : 1e9);
    }
    return puts("yard serve LISTEN REACH INVITES SECONDS | yard join INVITE NAME [SECONDS]"), 2;
}
