// A small game in which the host decides, on the network of session_net.h: players with inertia and
// drag, two bytes of input. Every state of the host is written down, and compared with what clients
// have.
#ifndef TESTS_SCENE_SESSION_PREDICT_H
#define TESTS_SCENE_SESSION_PREDICT_H

#include "session_net.h"

#include "fairlead/predict.h"

enum {
    GAME_HZ = 60,
    GAME_TICKS = 8192, // written down
    GAME_INPUT = 2,
    HOST = 0,
};

#define TOP_SPEED 10.0
#define PUSH 40.0 // m/s^2

typedef struct Body {
    double x, y, vx, vy;
    int64_t ticks;  // played
    uint64_t trace; // of all inputs
} Body;

typedef struct Game Game;

typedef struct GameNode {
    Game *game;
    int32_t node;
    FlPredictDef def;
    int8_t input[GAME_INPUT];
    bool idle;      // plays nothing
    bool steady;    // its input stays as it is
    bool drawn;     // `last` is
    FlPose last;    // as it was drawn
    double longest; // between two pictures
    FlEntityId platform;
    uint64_t compared; // states of the host's, with what it has written down
} GameNode;

struct Game {
    Net net;
    FlRandom random;
    GameNode node[NET_NODES];
    Body log[NET_NODES][GAME_TICKS]; // [player][tick], by node
    int64_t logged[NET_NODES];       // the newest
    bool platforms;                  // players are carried by a platform of the host's
};

static inline double game_held(double x)
{
    return x > TOP_SPEED ? TOP_SPEED : x < -TOP_SPEED ? -TOP_SPEED : x;
}

static inline void game_step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    const GameNode *node = (const GameNode *)ctx;
    Body *body = (Body *)state;
    const uint8_t *input = inputs->of[0];
    double dt = 1.0 / GAME_HZ;
    int8_t push_x = (int8_t)input[0];
    int8_t push_y = (int8_t)input[1];
    body->vx = game_held((body->vx + push_x / 128.0 * PUSH * dt) * 0.97);
    body->vy = game_held((body->vy + push_y / 128.0 * PUSH * dt) * 0.97);
    body->x += body->vx * dt;
    body->y += body->vy * dt;
    FlPose pose;
    if (node->game->platforms &&
        fl_predict_entity(node->game->net.node[node->node].session, tick, node->platform, &pose)) {
        body->x += pose.velocity.x * dt;
    }
    body->ticks++;
    body->trace =
        (body->trace ^ (uint64_t)(input[0] | input[1] << 8)) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline void game_pose(void *ctx, const void *state, FlPose *pose)
{
    (void)ctx;
    const Body *body = (const Body *)state;
    pose->position = fl_vec3(body->x, body->y, 0.0);
    pose->velocity = fl_vec3(body->vx, body->vy, 0.0);
}

// ---------------------------------------------------------------- frames

// By its address: a client may not know its own number yet.
static inline int32_t game_node_of(FlSession *host, FlPeerId peer)
{
    FlPeerStatus status;
    assert_int_equal(fl_peer_status(host, peer, &status), FL_OK);
    return status.address.ip[3] - 1;
}

static inline void game_log(Game *game)
{
    FlSession *host = game->net.node[HOST].session;
    for (FlPeerId peer = {0}; fl_peer_next(host, &peer);) {
        int64_t tick;
        const void *state = fl_predict_state(host, peer, &tick);
        int32_t node = game_node_of(host, peer);
        if (state != NULL) {
            memcpy(&game->log[node][tick % GAME_TICKS], state, sizeof(Body));
            game->logged[node] = tick;
        }
    }
}

static inline void game_serve(Game *game, FlTime now)
{
    FlSession *host = game->net.node[HOST].session;
    FlNotice notice;
    while (fl_notice_take(host, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_PEER_JOINED) {
            Body body = {.x = notice.peer.index1};
            assert_int_equal(fl_predict_player(host, notice.peer, &body), FL_OK);
        }
    }
    while (fl_predict_tick(host, now, NULL)) {
        game_log(game);
    }
}

static inline void game_compare(Game *game, int32_t node)
{
    int64_t tick;
    const void *state = fl_predict_confirmed(game->net.node[node].session, &tick);
    if (state != NULL && tick <= game->logged[node] && tick > game->logged[node] - GAME_TICKS) {
        assert_memory_equal(state, &game->log[node][tick % GAME_TICKS], sizeof(Body));
        game->node[node].compared++;
    }
}

static inline void game_drive(Net *net, int32_t node)
{
    Game *game = (Game *)net; // its first field
    GameNode *n = &game->node[node];
    FlSession *session = net->node[node].session;
    FlTime now = net_local(net, node);
    net->node[node].due = net->now; // it sends with its frame
    if (n->idle) {
        return;
    }
    if (node == HOST) {
        game_serve(game, now);
        return;
    }
    if (!n->steady && fl_random_below(&game->random, 8) == 0) {
        n->input[0] = (int8_t)(fl_random_below(&game->random, 256) - 128);
        n->input[1] = (int8_t)(fl_random_below(&game->random, 256) - 128);
    }
    while (fl_predict_tick(session, now, n->input)) {
    }
    game_compare(game, node);
    FlPose pose;
    bool drawn = fl_predict_pose(session, now, &pose);
    if (drawn && n->drawn) {
        double dx = pose.position.x - n->last.position.x;
        double dy = pose.position.y - n->last.position.y;
        n->longest = fmax(n->longest, sqrt(dx * dx + dy * dy));
    }
    n->last = pose;
    n->drawn = drawn;
}

// ---------------------------------------------------------------- making and ending

static inline void game_attach(Game *game, int32_t node)
{
    GameNode *n = &game->node[node];
    GameNode fresh = {.game = game, .node = node, .def = fl_predict_def_default()};
    *n = fresh;
    n->def.step_fn = game_step;
    n->def.pose_fn = game_pose;
    n->def.ctx = n;
    n->def.state_bytes = sizeof(Body);
    assert_int_equal(fl_session_predict(game->net.node[node].session, &n->def), FL_OK);
}

static inline void game_join(Game *game, int32_t node)
{
    net_start(&game->net, node);
    game_attach(game, node);
    game->logged[node] = -1;
}

static inline void game_open(Game *game, uint64_t seed, const FlImpairSettings *weather)
{
    memset(game, 0, sizeof *game);
    net_open(&game->net, seed, FL_TOPOLOGY_STAR, seed % 2 == 0);
    game->random.seed = seed;
    game->random.stream = 5;
    game->net.def.input_bytes = GAME_INPUT;
    game->net.def.inputs_to_host = true;
    game->net.weather = *weather;
    game->net.frame_hz = GAME_HZ;
    game->net.drive = game_drive;
}

static inline void game_start(Game *game, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        game_join(game, i);
    }
}

static inline void game_run(Game *game, FlTime span)
{
    net_run_until(&game->net, game->net.now + span, NULL);
}

static inline FlPredictStats game_stats(Game *game, int32_t node)
{
    FlSession *session = game->net.node[node].session;
    return fl_predict_stats(session, fl_peer_self(session));
}

static inline FlPredictStats game_host_stats(Game *game, int32_t node)
{
    return fl_predict_stats(game->net.node[HOST].session, net_peer(&game->net, HOST, node));
}

static inline const Body *game_body(Game *game, int32_t node)
{
    int64_t tick;
    const void *state =
        fl_predict_state(game->net.node[HOST].session, net_peer(&game->net, HOST, node), &tick);
    assert_non_null(state);
    return (const Body *)state;
}

#endif
