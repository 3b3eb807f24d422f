// 07_crowd: 40 players on 40 sockets, each with 64 kbps to send, all see all. difficulty: ***
//
// One host that introduces, and players that walk in circles and look at the four next to them by
// number. Those come every frame; the others about once a second, carried by each other in shared
// packets.
#include <fairlead/run.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAYERS = 40, NODES = PLAYERS + 1, FRAMES_PER_S = 20 };

typedef struct Node {
    FlNet *net;
    FlSession *session;
    FlEntityId avatar;
} Node;

static void must(FlResult result, const char *what)
{
    if (result != FL_OK) {
        fprintf(stderr, "%s: %s\n", what, fl_result_text(result));
        exit(1);
    }
}

static void open_node(Node *node, const Node *host)
{
    FlNetDef net = fl_net_def_default();
    must(fl_address_parse("127.0.0.1:0", &net.bind), "address");
    must(fl_net_create(&net, &node->net), "socket");
    FlSessionDef def = fl_session_def_default();
    def.role = host == NULL ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.topology = FL_TOPOLOGY_CROWD;
    def.world.low.z = 0.0; // a flat world
    def.world.high.z = 0.0;
    def.peer_capacity = PLAYERS;
    def.world.entity_capacity = NODES; // one avatar each, with its player's number
    def.entity_capacity = NODES;
    def.seed = (uint64_t)fl_net_now();
    if (host != NULL) {
        def.host = fl_net_address(host->net);
        def.upload_bytes_s = 64e3 / 8.0;
    }
    must(fl_session_create(&def, fl_net_now(), &node->session), "session");
}

static FlState avatar_at(int32_t number, FlTime time)
{
    double angle = fl_span_seconds(time) + number;
    FlState state = {.time = time, .facing = fl_facing_none()};
    state.position = fl_vec3(10.0 * number + 4.0 * cos(angle), 4.0 * sin(angle), 0.0);
    state.velocity = fl_vec3(-4.0 * sin(angle), 4.0 * cos(angle), 0.0);
    return state;
}

static void play(Node *node, FlTime now)
{
    FlSession *session = node->session;
    FlPeerStatus self;
    if (fl_session_state(session) != FL_SESSION_RUNNING ||
        fl_peer_status(session, fl_peer_self(session), &self) != FL_OK || self.number == 0) {
        return; // not in yet, or the host
    }
    if (!fl_entity_is_ours(session, node->avatar)) {
        FlEntityDef def = fl_entity_def_default();
        node->avatar = fl_entity_create(session, &def);
    }
    FlState state = avatar_at(self.number, fl_session_time(session, now));
    state.time = now;
    must(fl_entity_set(session, node->avatar, &state), "avatar");
    for (int32_t i = 1; i <= 4; i++) {
        uint32_t number = (uint32_t)(1 + (self.number - 1 + i) % PLAYERS);
        (void)fl_entity_attention(session, fl_entity_of_number(session, number), 1.0 / i);
    }
}

/// What one player knows of all others.
typedef struct Known {
    int32_t watched, others;
    double watched_off, others_off; // metres, the worst
    int32_t carried;                // by a third player
} Known;

static Known look(FlSession *session, FlTime now)
{
    Known known = {0};
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlEntityStatus status;
        FlPose pose;
        if (fl_entity_is_ours(session, id) || !fl_entity_pose_at(session, now, id, &pose) ||
            fl_entity_status(session, id, &status) != FL_OK) {
            continue;
        }
        FlState truth = avatar_at((int32_t)status.number, fl_session_time(session, now));
        double off = fl_vec3_distance(pose.position, truth.position);
        double *worst = status.watched ? &known.watched_off : &known.others_off;
        *worst = off > *worst ? off : *worst;
        *(status.watched ? &known.watched : &known.others) += 1;
        known.carried += status.hops > 0 ? 1 : 0;
    }
    return known;
}

static void run(Node *nodes, FlTime span)
{
    FlNet *nets[NODES];
    for (int i = 0; i < NODES; i++) {
        nets[i] = nodes[i].net;
    }
    FlTime now = fl_net_now();
    FlTime end = now + span;
    for (FlTime frame = now; now < end; now = fl_net_now()) {
        bool acts = now >= frame;
        FlTime wake = acts ? now + FL_SEC(1) / FRAMES_PER_S : frame;
        frame = wake;
        for (int i = 0; i < NODES; i++) {
            fl_run_receive(nodes[i].net, nodes[i].session);
            if (acts) {
                play(&nodes[i], now);
            }
            fl_run_send(nodes[i].net, nodes[i].session, now);
            FlTime deadline = fl_session_deadline(nodes[i].session, now);
            wake = deadline < wake ? deadline : wake;
        }
        bool ready[NODES];
        (void)fl_net_wait(nets, NODES, wake, ready);
    }
}

int main(void)
{
    Node nodes[NODES] = {0};
    for (int i = 0; i < NODES; i++) {
        open_node(&nodes[i], i == 0 ? NULL : &nodes[0]);
    }
    run(nodes, FL_SEC(6));
    Known known = look(nodes[1].session, fl_net_now());
    FlCrowdStats stats;
    must(fl_session_crowd_stats(nodes[1].session, &stats), "crowd");
    printf("one of %d players knows %d others over %d light connections\n", PLAYERS,
           known.watched + known.others, (int)stats.lights);
    printf("    watched: %d, at most %.2f m off\n", known.watched, known.watched_off);
    printf("    others:  %d, at most %.2f m off; %d of them carried\n", known.others,
           known.others_off, known.carried);
    for (int i = 0; i < NODES; i++) {
        fl_session_close(nodes[i].session);
        fl_net_destroy(nodes[i].net);
    }
    return known.watched + known.others == PLAYERS - 1 ? 0 : 1;
}
