// 09_authoritative: the server decides, and players do not wait for it. difficulty: ***
//
// A server and two players in one process on loopback. Players send what they want (two bytes a
// tick) and nothing else; the server moves their carts and owns what others see of them. Each
// player plays its own inputs at once with the same step function, and is corrected if the server
// says otherwise. One of the two cheats: it sends ten times as many inputs as there are ticks. It
// gets no further than the honest one. Prints who got how far, and what was corrected.
#include <fairlead/net.h>
#include <fairlead/predict.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER, HONEST, CHEAT, NODES, TICK_HZ = 60, INPUT_BYTES = 2 };

#define TOP_SPEED 8.0
#define SECONDS 6.0

/// All that a cart is: the same bytes at the server and at its player.
typedef struct Cart {
    double x, y, vx, vy;
} Cart;

typedef struct Node {
    FlSession *session;
    FlEntityId cart[NODES + 1]; // the server's, by the player's number
    FlPeerId player[NODES + 1];
} Node;

static void must(FlResult result, const char *what)
{
    if (result != FL_OK) {
        fprintf(stderr, "%s: %s\n", what, fl_result_text(result));
        exit(1);
    }
}

// ---------------------------------------------------------------- the game, once for all

// One tick of one cart. Whatever the bytes are, it does what a cart can do.
static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)ctx;
    (void)tick;
    Cart *cart = (Cart *)state;
    const uint8_t *input = inputs->of[0];
    cart->vx = 0.9 * cart->vx + 0.1 * TOP_SPEED * (double)(int8_t)input[0] / 128.0;
    cart->vy = 0.9 * cart->vy + 0.1 * TOP_SPEED * (double)(int8_t)input[1] / 128.0;
    cart->x += cart->vx / TICK_HZ;
    cart->y += cart->vy / TICK_HZ;
}

static void pose_of(void *ctx, const void *state, FlPose *pose)
{
    (void)ctx;
    const Cart *cart = (const Cart *)state;
    pose->position = fl_vec3(cart->x, cart->y, 0.0);
    pose->velocity = fl_vec3(cart->vx, cart->vy, 0.0);
}

static FlSessionDef session_def(void)
{
    FlSessionDef def = fl_session_def_default();
    def.input_bytes = INPUT_BYTES;
    def.inputs_to_host = true; // players' keys are no one else's business
    return def;
}

static void attach(Node *node)
{
    FlPredictDef def = fl_predict_def_default();
    def.step_fn = step;
    def.pose_fn = pose_of;
    def.state_bytes = sizeof(Cart);
    must(fl_session_predict(node->session, &def), "predict");
}

// ---------------------------------------------------------------- the server

static void admit(Node *server, FlPeerId peer)
{
    Cart cart = {0};
    server->cart[peer.index1 - 1] = fl_entity_create(server->session, NULL);
    server->player[peer.index1 - 1] = peer;
    must(fl_predict_player(server->session, peer, &cart), "a player");
}

// What others see: ordinary entities, which are the server's.
static void publish(const Node *server)
{
    for (int32_t i = 1; i < NODES; i++) {
        int64_t tick;
        const Cart *cart =
            (const Cart *)fl_predict_state(server->session, server->player[i], &tick);
        if (cart != NULL) {
            // A state is of its tick, not of the frame in which it was played.
            FlTime at = fl_session_local_time(server->session, tick * FL_SEC(1) / TICK_HZ);
            FlState truth = {.time = at,
                             .position = fl_vec3(cart->x, cart->y, 0.0),
                             .velocity = fl_vec3(cart->vx, cart->vy, 0.0)};
            must(fl_entity_set(server->session, server->cart[i], &truth), "its entity");
        }
    }
}

static void serve(Node *server, FlTime now)
{
    FlNotice notice;
    while (fl_notice_take(server->session, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_PEER_JOINED) {
            admit(server, notice.peer);
        }
    }
    while (fl_predict_tick(server->session, now, NULL)) {
        // Here shots fly and hits are judged. A hit changes a state: fl_predict_player.
    }
    publish(server);
}

// ---------------------------------------------------------------- a player

static void play(Node *player, FlTime now)
{
    const uint8_t right[INPUT_BYTES] = {127, 0};
    while (fl_predict_tick(player->session, now, right)) {
    }
    FlPose own; // where to draw our own cart, now and without jumps
    (void)fl_predict_pose(player->session, now, &own);
}

// It hands in ten times as many inputs as there are ticks.
static void cheat(const Node *player, FlTime now)
{
    static const uint8_t right[INPUT_BYTES] = {127, 0};
    int64_t next = fl_input_newest(player->session, fl_peer_self(player->session)) + 1;
    if (next == 0) { // in time, to begin with
        next = fl_session_time(player->session, now) * TICK_HZ / FL_SEC(1) + 10;
    }
    for (int32_t i = 0; i < 10; i++) {
        (void)(fl_input_set(player->session, next + i, right) == FL_OK);
    }
}

int main(void)
{
    static Node nodes[NODES];
    FlError error;
    FlSessionDef def = session_def();
    nodes[SERVER].session = fl_session_host(&def, &error);
    for (int32_t i = HONEST; i < NODES && error.code == FL_OK; i++) {
        char invite[FL_INVITE_TEXT];
        must(fl_session_invite(nodes[SERVER].session, NULL, invite), "invite");
        nodes[i].session = fl_session_join(&def, invite, &error);
    }
    for (int32_t i = 0; i < NODES; i++) {
        must(error.code, "session");
        attach(&nodes[i]);
    }
    FlTime end = fl_net_now() + fl_span_from_seconds(SECONDS);
    while (fl_net_now() < end) {
        for (int32_t i = 0; i < NODES; i++) {
            FlTime now = fl_session_pump(nodes[i].session, FL_MS(3));
            if (fl_session_state(nodes[i].session) != FL_SESSION_RUNNING) {
                continue;
            }
            if (i == SERVER) {
                serve(&nodes[i], now);
            } else if (i == HONEST) {
                play(&nodes[i], now);
            } else {
                cheat(&nodes[i], now);
            }
        }
    }
    Cart carts[NODES] = {{0}};
    for (int32_t i = HONEST; i < NODES; i++) {
        int64_t tick;
        FlPeerId self = fl_peer_self(nodes[i].session);
        FlPeerId peer = fl_peer_of_number(nodes[SERVER].session, (int32_t)self.index1 - 1);
        const void *state = fl_predict_state(nodes[SERVER].session, peer, &tick);
        if (state != NULL) {
            memcpy(&carts[i], state, sizeof carts[i]);
        }
    }
    FlPredictStats stats =
        fl_predict_stats(nodes[HONEST].session, fl_peer_self(nodes[HONEST].session));
    printf("honest: %.1f m, %llu ticks, %.0f ms ahead, %llu corrections above 1 cm\n",
           carts[HONEST].x, (unsigned long long)stats.ticks, (double)stats.lead_ns / 1e6,
           (unsigned long long)stats.corrections);
    printf("cheat: %.1f m with ten times the inputs\n", carts[CHEAT].x);
    for (int32_t i = NODES - 1; i >= 0; i--) {
        fl_session_close(nodes[i].session);
    }
    bool fair = carts[HONEST].x > TOP_SPEED * 0.3 * SECONDS && carts[CHEAT].x < TOP_SPEED * SECONDS;
    return fair ? 0 : 1;
}
