// A hostile member with valid keys, in a real session of four: the host, an owner, a bystander and
// itself. All four are whole sessions in virtual time.
//
// The input is a script. Its first byte says what session it is (star, mesh, hybrid or crowd;
// sealed or not), then each byte picks a step, which takes its own bytes after it. The hostile one
// sends any message and any section, laid out as they should be with numbers that mean something,
// over any connection it has; repeats datagrams, changes its address, goes silent, leaves and comes
// back. Meanwhile the honest ones play: they move, set states, send events, call, act, give and
// take; a fifth comes and goes, the host kicks, bans and admits, and may leave.
//
// Checked: nothing crashes or leaks; at every honest member honest members' entities keep owner,
// state and place; nobody speaks in another's name; honest members' events arrive, each once and in
// order, and none waits for long; a session takes no more memory than it said. Not checked once the
// hostile one hosts: a host rules its session. member_scene.h has the parts.
#include "member_scene.h"

static void give_ball(Scene *scene, int32_t from, int32_t to)
{
    FlSession *session = scene->node[from].session;
    if (session != NULL && scene->node[to].session != NULL) {
        FlPeerId peer = fl_peer_of_number(session, scene->node[to].member);
        (void)!fl_entity_give(session, scene->now, fl_entity_of_number(session, scene->ball), peer);
    }
}

static void lose_host(Scene *scene, bool goodbye)
{
    Node *host = &scene->node[HOST];
    FlTopology topology = host->def.topology;
    if (host->session == NULL || topology == FL_TOPOLOGY_STAR || topology == FL_TOPOLOGY_CROWD) {
        return; // without it there is no session
    }
    if (goodbye) {
        fl_session_leave(host->session, scene->now);
        member_pump(scene, HOST);
    }
    fl_session_close(host->session);
    host->session = NULL;
    scene->host_lost = true;
    // Who waits for it hears nothing of it any more.
    for (int32_t i = 1; i < NODES; i++) {
        scene->node[i].blocked_since = FL_FOREVER;
    }
}

static bool is_in(const Node *n)
{
    return n->session != NULL && fl_session_state(n->session) == FL_SESSION_RUNNING &&
           fl_peer_self(n->session).index1 != 0;
}

static void end_node(Scene *scene, int32_t i, bool goodbye)
{
    Node *n = &scene->node[i];
    if (n->session != NULL && goodbye) {
        fl_session_leave(n->session, scene->now);
        member_pump(scene, i);
    }
    fl_session_close(n->session);
    fl_timeline_destroy(n->timeline);
    n->session = NULL;
    n->timeline = NULL;
}

// A fifth player comes, has an entity, and plays if the others do.
static void late_comes(Scene *scene)
{
    Node *n = &scene->node[LATE];
    FlSession *host = scene->node[HOST].session;
    if (n->session != NULL || host == NULL) {
        return;
    }
    member_open_node(scene, LATE, scene->how);
    if (scene->plays) {
        member_attach_timeline(scene, LATE, false);
    }
    n->own = fl_entity_create(n->session, NULL); // and says where it is before it is in
    FlState first = member_truth(scene, LATE);
    (void)!fl_entity_set(n->session, n->own, &first);
    (void)!fl_entity_state_set(n->session, n->own, "early", 5);
    for (int32_t i = 0; i < 60; i++) {
        FlPeerId peer = is_in(n) ? fl_peer_of_number(host, inside_self(n->session)) : (FlPeerId){0};
        member_advance(scene);
        if (scene->plays && i % 8 == 0 && peer.index1 != 0) {
            (void)!fl_session_player(host, peer, scene->tick + 40);
        }
    }
}

// Somebody with another game, or without a token: refused, whatever else happens.
static void stranger_comes(Scene *scene)
{
    if (scene->node[LATE].session != NULL || scene->node[HOST].session == NULL) {
        return;
    }
    scene->stranger = scene->tick % 2 == 0 ? STRANGER_PLAIN : STRANGER_OTHER;
    member_open_node(scene, LATE, scene->how);
    scene->stranger = STRANGER_NONE;
    for (int32_t i = 0; i < 60; i++) {
        member_advance(scene);
    }
    end_node(scene, LATE, false);
}

static void hostile_comes_back(Scene *scene)
{
    end_node(scene, HOSTILE, false);
    member_open_node(scene, HOSTILE, scene->how);
    fl__feature_add(scene->node[HOSTILE].session, &member_feature, scene);
    for (int32_t i = 0; i < 60 && !is_in(&scene->node[HOSTILE]); i++) {
        member_advance(scene);
    }
    if (is_in(&scene->node[HOSTILE])) {
        scene->node[HOSTILE].member = inside_self(scene->node[HOSTILE].session);
    }
}

// What a host may do to the hostile one.
static void rule(Scene *scene, uint8_t how)
{
    FlSession *host = scene->node[HOST].session;
    if (host == NULL) {
        return;
    }
    FlPeerId peer = fl_peer_of_number(host, scene->node[HOSTILE].member);
    FlBan ban = {.until = scene->now + FL_SEC(2), .text = "Enough of that."};
    char invite[FL_INVITE_TEXT];
    FlPeerStatus status;
    switch (how) {
    case 0:
        (void)!fl_peer_kick(host, scene->now, peer, "Go away, please.");
        break;
    case 1:
        ban.client_id = HOSTILE;
        ban.address = member_address_of(HOSTILE, 0);
        (void)!fl_session_ban(host, scene->now, &ban);
        break;
    case 2:
        (void)!fl_session_invite_at(host, scene->now, scene->node[HOST].def.host, 2, UNIX_NOW + 600,
                                    invite);
        if (fl_peer_status(host, peer, &status) == FL_OK) {
            (void)!fl_session_revoke(host, status.invite_id);
        }
        break;
    case 3:
        scene->refuses = !scene->refuses;
        break;
    case 4:
        fl_session_host_kind(host, 0, true);
        break;
    default:
        if (scene->tick % 2 == 0) {
            (void)!fl_entity_destroy(host, fl_entity_of_number(host, scene->ball));
        } else { // takes it
            (void)!fl_entity_give(host, scene->now, fl_entity_of_number(host, scene->ball),
                                  fl_peer_self(host));
        }
    }
}

static void rare_step(Scene *scene, uint8_t which)
{
    switch (which) {
    case 0:
    case 1:
        lose_host(scene, which == 0);
        break;
    case 2:
        end_node(scene, HOSTILE, true);
        break;
    case 3:
        late_comes(scene);
        break;
    case 4:
    case 5:
        end_node(scene, LATE, which == 4);
        break;
    case 6:
        hostile_comes_back(scene);
        break;
    case 8:
        stranger_comes(scene);
        break;
    case 9:
        scene->parted = !scene->parted;
        scene->was_parted = true;
        break;
    case 7:
        for (int32_t i = 0; i < HOSTILE; i++) {
            if (member_is_honest(scene, i)) {
                member_choose(scene, i, (uint8_t)(scene->tick + which));
            }
        }
        break;
    default:
        rule(scene, (uint8_t)(which - 10));
    }
}

static void do_step(Scene *scene, Script *script)
{
    uint8_t what = script_take(script);
    bool there = scene->node[HOSTILE].session != NULL;
    switch (what % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        if (there) {
            member_say_message(scene, script);
        }
        break;
    case 5:
    case 6:
    case 7:
        if (there) {
            member_say_section(scene, script);
        }
        break;
    case 8:
        if (there) {
            member_say_light(scene, script);
        }
        break;
    case 9:
        member_repeat(scene, script);
        break;
    case 10:
        scene->node[HOSTILE].port = (uint16_t)(4000 + what / 16);
        break;
    case 11:
        scene->silent = what / 16 % 2 == 0;
        break;
    case 12:
        give_ball(scene, what / 16 % 2 == 0 ? OWNER : BYSTANDER,
                  what / 16 % 2 == 0 ? BYSTANDER : OWNER);
        break;
    case 13:
        rare_step(scene, what / 16);
        break;
    default:
        for (int32_t n = 0; n <= what / 16; n++) {
            member_advance(scene);
            member_check(scene, false);
        }
        break;
    }
}

static void run_for(Scene *scene, int32_t ticks)
{
    for (int32_t i = 0; i < ticks; i++) {
        member_advance(scene);
    }
}

static void open_scene(Scene *scene, Script *script)
{
    Datagram *queue = scene->queue;
    memset(scene, 0, sizeof *scene);
    scene->queue = queue;
    scene->now = FL_SEC(1);
    uint8_t how = script_take(script);
    scene->how = how;
    scene->poor =
        how / 128 % 2 != 0 && (how % 4 == FL_TOPOLOGY_MESH || how % 4 == FL_TOPOLOGY_HYBRID);
    scene->rich = how / 16 % 2 != 0 || scene->poor;
    for (int32_t i = 0; i < NODES; i++) {
        member_open_node(scene, i, how);
        for (int32_t n = 0; n < 500 && !is_in(&scene->node[i]); n++) {
            member_advance(scene);
        }
        CHECK(is_in(&scene->node[i]));
        scene->node[i].member = (int32_t)fl_peer_self(scene->node[i].session).index1 - 1;
        CHECK(scene->node[i].member == i); // in the order in which they come
        member_define_tank(scene->node[i].session);
    }
    FlEntityDef def = fl_entity_def_default();
    bool crowd = how % 4 == FL_TOPOLOGY_CROWD;
    def.guided = scene->rich;
    if (scene->rich) {
        CHECK(fl_send_parse("focus", &def.send) == FL_OK);
    }
    for (int32_t i = crowd ? 1 : 0; i < NODES; i++) {
        Node *n = &scene->node[i];
        FlEntityStatus status;
        CHECK((n->own = fl_entity_create(n->session, &def)).index1 != 0);
        CHECK(fl_entity_status(n->session, n->own, &status) == FL_OK);
        n->number = status.number;
        FlHitRules rules = fl_hit_rules_default();
        fl_call_hit_rules(n->session, scene->rich ? &rules : NULL);
    }
    FlEntityId ball;
    FlEntityStatus status = {0};
    if (!crowd && (ball = fl_entity_create(scene->node[OWNER].session, &def)).index1 != 0) {
        CHECK(fl_entity_status(scene->node[OWNER].session, ball, &status) == FL_OK);
    }
    scene->ball = status.number;
    def.kind = SORT;
    for (int32_t i = 0; i < NODES && !crowd; i++) {
        Node *n = &scene->node[i];
        n->tank = fl_entity_create(n->session, &def);
        CHECK(fl_entity_status(n->session, n->tank, &status) == FL_OK);
        n->tank_number = status.number;
    }
    fl__feature_add(scene->node[HOSTILE].session, &member_feature, scene);
    scene->all_in = true;
    run_for(scene, 60);
    scene->plays = how / 8 % 2 != 0 && how / 64 % 2 == 0 && !crowd; // which needs all inputs
    for (int32_t i = 0; scene->plays && i < NODES; i++) {
        member_attach_timeline(scene, i, true);
    }
    scene->predicts = how / 8 % 2 != 0 && how / 64 % 2 != 0 && !crowd;
    for (int32_t i = 0; scene->predicts && i < NODES; i++) {
        static const uint32_t nothing[2];
        FlSession *host = scene->node[HOST].session;
        member_predict(scene, i);
        FlPeerId peer = i == HOST ? fl_peer_self(host) : fl_peer_of_number(host, i);
        (void)!fl_predict_player(host, peer, nothing);
    }
    for (int32_t i = 0; i < NODES; i++) {
        scene->node[i].base_bytes = scene->node[i].live_bytes;
    }
}

static void close_scene(Scene *scene)
{
    for (int32_t i = 0; i < PLACES; i++) {
        end_node(scene, i, false);
        CHECK(scene->node[i].live_bytes == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Scene scene; // large
    static Datagram queue[QUEUE];
    Script script = {data, size};
    scene.queue = queue;
    open_scene(&scene, &script);
    for (int32_t i = 0; i < STEPS_AT_MOST && script.left > 0; i++) {
        do_step(&scene, &script);
    }
    scene.section_count = 0;
    run_for(&scene, scene.host_lost ? 350 : 100); // time enough to find out who is gone
    scene.quiet = true;
    run_for(&scene, 80);
    member_check(&scene, !scene.poor); // whose last words may be late
    close_scene(&scene);
    return 0;
}
