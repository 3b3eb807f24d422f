// Sixteen players take the same thing at once, while the network loses and doubles packets and the
// owner, the host and the players crash. Whoever is left agrees that exactly one of those left has
// it, nobody was ever told wrongly that it had it, and no call was decided twice.
//
// The game is the plainest there is: the item's state says who holds it. Whoever sees it free and
// waits for no answer calls. The owner refuses if it is held, and frees it when the holder has left
// the session. Nothing in it knows of crashes, lost answers or owners that change.
//
// A trial: somebody makes an item; the sixteen others call in the same frame (whoever owns it keeps
// back for a second, or it would always win); things go wrong; in the end (a few
// quiet frames) all is checked, the item is taken away and whoever crashed joins again. Star, mesh
// and hybrid sessions take turns; in a star the host stays.
//
// `scene_session_pickup N SEED` runs N trials, from that seed on.
#define NET_NODES 17
#include "session_net.h"

#include "agree/call.h"

enum {
    PLAYERS = NET_NODES,
    TRIALS_PER_SESSION = 10,
    FREE = 0xffff,
    NOBODY = 1000, // holds it until all know of it
    ITEM = 7,      // an entity's kind
    SERIALS = 4096,
    LATENCIES = 1 << 20,
};

typedef struct Player {
    bool waits;        // for an answer
    bool told;         // that it has the item
    FlTime free_since; // as it knows; FL_FOREVER: it is not
} Player;

typedef struct Totals {
    int64_t trials, winners, doubles, asked, applied, refused, unknown, by_state, elided;
    int64_t crashes, owner_crashes, host_crashes, given, taken_over, freed;
    int64_t latency_count;
    double latency_ms[LATENCIES];
    double longest_s;
} Totals;

typedef struct Scene {
    Net net;
    uint32_t item;   // its number
    int32_t item_of; // node that made it
    Player player[PLAYERS];
    FlTime crash_at[PLAYERS];
    FlTime give_at; // the owner gives the item to somebody
    bool crash_winner;
    uint32_t first[PLAYERS];           // serial of its incarnation
    bool asked[PLAYERS];               // by it
    uint8_t decided[PLAYERS][SERIALS]; // by node and serial
} Scene;

static Totals totals;
static int64_t trial_count = 200;
static uint64_t first_seed = 1;

// ---------------------------------------------------------------- the game

static int32_t holder_at(const Scene *scene, int32_t node)
{
    FlSession *session = scene->net.node[node].session;
    const uint8_t *bytes;
    int32_t count;
    FlEntityId item = net_entity(&scene->net, node, scene->item);
    if (fl_entity_state_get(session, item, &bytes, &count) != FL_OK || count != 2) {
        return -1; // not known
    }
    return bytes[0] | bytes[1] << 8;
}

static void write_holder(int32_t holder, uint8_t bytes[2])
{
    bytes[0] = (uint8_t)holder;
    bytes[1] = (uint8_t)(holder >> 8);
}

static int32_t node_of_number(const Scene *scene, int32_t number)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        if (net_in(&scene->net, i) && net_number(&scene->net, i) == number) {
            return i;
        }
    }
    return -1;
}

static void decide(Scene *scene, int32_t node, const FlCall *call)
{
    Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    bool free = holder_at(scene, node) == FREE && call->from.index1 != 0;
    uint8_t state[2];
    write_holder(call->key.from, state);
    FlResult result =
        fl_call_answer(session, net_local(net, node), call, free, free ? state : NULL, 2);
    assert_int_equal(result, FL_OK);
    int32_t caller = node_of_number(scene, call->key.from);
    if (caller < 0 || !free) {
        return;
    }
    uint32_t serial = call->key.serial - scene->first[caller];
    assert_true(scene->asked[caller] && serial < SERIALS);
    totals.doubles += scene->decided[caller][serial];
    scene->decided[caller][serial]++;
    if (scene->crash_winner && caller != node) {
        scene->crash_at[caller] = net->now; // before it learns of it
        scene->crash_winner = false;
    }
}

static void free_item(Scene *scene, int32_t node)
{
    FlSession *session = scene->net.node[node].session;
    FlEntityId item = net_entity(&scene->net, node, scene->item);
    int32_t holder = holder_at(scene, node);
    bool gone = fl_entity_is_ours(session, item) && holder >= 0 && holder != FREE &&
                fl_peer_of_number(session, holder).index1 == 0;
    if (gone) {
        uint8_t state[2];
        write_holder(FREE, state);
        assert_int_equal(fl_entity_state_set(session, item, state, 2), FL_OK);
        totals.freed++;
    }
}

static void call_for_it(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    FlPickupCall pickup = {(uint16_t)net_number(net, node), net_time(net, node)};
    uint8_t bytes[FL_CALL_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(fl__pickup_call_write(&w, &pickup));
    uint8_t predicted[2];
    write_holder(net_number(net, node), predicted);
    FlCallDef call = {.kind = FL_CALL_PICKUP, .bytes = bytes, .count = fl_writer_size(&w)};
    if (node % 2 == 0) {
        call.predicted = predicted;
        call.predicted_count = 2;
    }
    uint32_t id;
    FlResult result = fl_call_send(net->node[node].session, net_local(net, node),
                                   net_entity(net, node, scene->item), &call, &id);
    scene->player[node].waits = result == FL_OK;
    if (result == FL_OK && !scene->asked[node]) {
        scene->first[node] = id;
        scene->asked[node] = true;
    }
    totals.asked += result == FL_OK ? 1 : 0;
}

static void learn(Scene *scene, int32_t node, const FlCallDone *done)
{
    scene->player[node].waits = false;
    totals.unknown += done->verdict == FL_CALL_UNKNOWN ? 1 : 0;
    totals.refused += done->verdict == FL_CALL_REFUSED ? 1 : 0;
    totals.by_state += done->why == FL_CALL_BY_STATE ? 1 : 0;
    if (done->verdict == FL_CALL_APPLIED) {
        totals.applied++;
        scene->player[node].told = true;
    }
    if (done->verdict != FL_CALL_UNKNOWN && totals.latency_count < LATENCIES) {
        totals.latency_ms[totals.latency_count++] = (double)done->latency_ns / 1e6;
    }
}

static void play(Scene *scene, int32_t node)
{
    Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
        totals.taken_over += notice.kind == FL_NOTICE_ENTITY_OURS ? 1 : 0;
    }
    FlCall call;
    while (fl_call_take(session, &call) == FL_OK) {
        decide(scene, node, &call);
    }
    free_item(scene, node);
    FlCallDone done;
    while (fl_call_take_done(session, net_local(net, node), &done) == FL_OK) {
        learn(scene, node, &done);
    }
    Player *player = &scene->player[node];
    bool free = holder_at(scene, node) == FREE;
    FlTime since = player->free_since < net->now ? player->free_since : net->now;
    player->free_since = free ? since : FL_FOREVER;
    bool ours = fl_entity_is_ours(session, net_entity(net, node, scene->item));
    if (free && !player->waits && (!ours || net->now - since > FL_SEC(1))) {
        call_for_it(scene, node);
    }
}

// ---------------------------------------------------------------- what goes wrong

static int32_t owner_node(const Scene *scene)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        if (net_in(&scene->net, i) && fl_entity_is_ours(scene->net.node[i].session,
                                                        net_entity(&scene->net, i, scene->item))) {
            return i;
        }
    }
    return -1;
}

static int32_t host_node(const Scene *scene)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        const FlSession *session = scene->net.node[i].session;
        if (net_in(&scene->net, i) &&
            fl_peer_self(session).index1 == fl_peer_host(session).index1) {
            return i;
        }
    }
    return -1;
}

static FlTime soon(Scene *scene)
{
    return scene->net.now + (FlTime)fl_random_below(&scene->net.random, (uint64_t)FL_MS(500));
}

static void plan(Scene *scene, FlTopology topology)
{
    FlRandom *random = &scene->net.random;
    for (int32_t i = 0; i < PLAYERS; i++) {
        scene->crash_at[i] = FL_FOREVER;
    }
    int32_t host = host_node(scene);
    uint64_t dice = fl_random_below(random, 8);
    if (dice == 1 || dice == 4 || dice == 6) {
        scene->crash_at[scene->item_of] = soon(scene);
    }
    if (dice == 2 || dice == 4) {
        scene->crash_at[host] = soon(scene);
    }
    if (dice == 3 || dice == 4 || dice == 5) {
        uint64_t count = 1 + fl_random_below(random, 5);
        for (uint64_t i = 0; i < count; i++) {
            int32_t who = (int32_t)fl_random_below(random, PLAYERS);
            scene->crash_at[who] = soon(scene);
        }
    }
    scene->crash_winner = fl_random_below(random, 3) == 0;
    scene->give_at = fl_random_below(random, 3) == 0 ? soon(scene) : FL_FOREVER;
    if (topology == FL_TOPOLOGY_STAR) {
        scene->crash_at[host] = FL_FOREVER;
    }
}

static void go_wrong(Scene *scene, FlTopology topology)
{
    Net *net = &scene->net;
    int32_t owner = owner_node(scene);
    if (net->now >= scene->give_at && owner >= 0) {
        int32_t to = (int32_t)fl_random_below(&net->random, PLAYERS);
        FlPeerId peer = {0};
        if (net_in(net, to) && to != owner) {
            peer = net_peer(net, owner, to);
        }
        FlEntityId item = net_entity(net, owner, scene->item);
        FlResult result =
            fl_entity_give(net->node[owner].session, net_local(net, owner), item, peer);
        totals.given += result == FL_OK ? 1 : 0;
        scene->give_at = FL_FOREVER;
    }
    int32_t host = host_node(scene);
    for (int32_t i = 0; i < PLAYERS; i++) {
        bool now = net->node[i].session != NULL && net->now >= scene->crash_at[i];
        bool spared = net_alive(net) <= 2 || (topology == FL_TOPOLOGY_STAR && i == host);
        scene->crash_at[i] = now ? FL_FOREVER : scene->crash_at[i];
        if (now && !spared) {
            totals.crashes++;
            totals.owner_crashes += i == owner ? 1 : 0;
            totals.host_crashes += i == host ? 1 : 0;
            net_crash(net, i);
        }
    }
}

// ---------------------------------------------------------------- looking

// At no time do two of those who are left have it.
static void look(const Scene *scene)
{
    int32_t count = 0;
    for (int32_t i = 0; i < PLAYERS; i++) {
        if (net_in(&scene->net, i)) {
            bool mine = holder_at(scene, i) == net_number(&scene->net, i);
            count += mine || scene->player[i].told ? 1 : 0;
        }
    }
    if (count > 1) {
        totals.doubles++;
    }
}

// All who are left say the same: one of them has it, and nobody waits.
static int32_t winner(const Scene *scene)
{
    int32_t holder = -1;
    for (int32_t i = 0; i < PLAYERS; i++) {
        if (scene->net.node[i].session == NULL) {
            continue;
        }
        int32_t says = net_in(&scene->net, i) ? holder_at(scene, i) : -1;
        if (says < 0 || (holder >= 0 && says != holder) || scene->player[i].waits) {
            return -1;
        }
        holder = says;
    }
    return holder == FREE ? -1 : node_of_number(scene, holder);
}

static void print_trouble(const Scene *scene)
{
    print_message("seed %llu at %.3f: item %u of node %d\n", (unsigned long long)scene->net.seed,
                  fl_span_seconds(scene->net.now), scene->item, scene->item_of);
    for (int32_t i = 0; i < PLAYERS; i++) {
        const FlSession *session = scene->net.node[i].session;
        if (session == NULL) {
            continue;
        }
        FlEntityStatus status;
        FlEntityId item = net_entity(&scene->net, i, scene->item);
        bool known = fl_entity_status(session, item, &status) == FL_OK;
        print_message("node %d: number %d, host %d, peers %d; item %s owner %d epoch %d holder %d; "
                      "waits %d told %d\n",
                      i, net_number(&scene->net, i), (int32_t)fl_peer_host(session).index1 - 1,
                      fl_peer_count(session), known ? "known" : "not known",
                      (int32_t)status.owner.index1 - 1, status.epoch, holder_at(scene, i),
                      scene->player[i].waits, scene->player[i].told);
    }
}

// ---------------------------------------------------------------- a trial

static void frame(Scene *scene)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        if (net_in(&scene->net, i)) {
            play(scene, i);
        }
    }
    net_frame(&scene->net);
    look(scene);
}

// Of the item, all there is to know.
static bool knows(const Scene *scene, int32_t node)
{
    FlEntityStatus status;
    FlEntityId item = net_entity(&scene->net, node, scene->item);
    return fl_entity_status(scene->net.node[node].session, item, &status) == FL_OK &&
           status.kind == ITEM && holder_at(scene, node) == NOBODY;
}

static void make_item(Scene *scene)
{
    Net *net = &scene->net;
    scene->item_of = (int32_t)fl_random_below(&net->random, PLAYERS);
    FlSession *session = net->node[scene->item_of].session;
    FlEntityDef def = fl_entity_def_default();
    def.survives_owner = true;
    def.kind = ITEM;
    FlEntityId item;
    scene->item = net_make(net, scene->item_of, &def, &item);
    uint8_t held[2];
    write_holder(NOBODY, held);
    assert_int_equal(fl_entity_state_set(session, item, held, 2), FL_OK);
    memset(scene->player, 0, sizeof scene->player);
    int32_t known = 0;
    for (int32_t f = 0; f < 1000 && known < PLAYERS; f++) {
        net_frame(net);
        known = 0;
        for (int32_t i = 0; i < PLAYERS; i++) {
            known += knows(scene, i) ? 1 : 0;
        }
    }
    if (known < PLAYERS) {
        print_trouble(scene);
    }
    assert_int_equal(known, PLAYERS);
}

// They all call in one frame, whoever has heard that it is free or not: the owner frees it then.
static void contest(Scene *scene)
{
    FlSession *session = scene->net.node[scene->item_of].session;
    uint8_t state[2];
    write_holder(FREE, state);
    FlEntityId item = net_entity(&scene->net, scene->item_of, scene->item);
    assert_int_equal(fl_entity_state_set(session, item, state, 2), FL_OK);
    for (int32_t i = 0; i < PLAYERS; i++) {
        scene->player[i].free_since = FL_FOREVER;
        if (i != scene->item_of) {
            call_for_it(scene, i);
        }
    }
}

static void end_trial(Scene *scene)
{
    Net *net = &scene->net;
    int32_t owner = owner_node(scene);
    assert_true(owner >= 0);
    FlEntityId item = net_entity(net, owner, scene->item);
    assert_int_equal(fl_entity_destroy(net->node[owner].session, item), FL_OK);
    int32_t host = host_node(scene);
    for (int32_t i = 0; i < PLAYERS; i++) {
        if (net->node[i].session == NULL) {
            memset(scene->decided[i], 0, sizeof scene->decided[i]); // serials begin anew
            scene->asked[i] = false;
            assert_int_equal(net_start_at(net, i, host), FL_OK);
        }
    }
    net_gather(net);
}

static void trial(Scene *scene, FlTopology topology)
{
    make_item(scene);
    plan(scene, topology);
    contest(scene);
    FlTime began = scene->net.now;
    int32_t quiet = 0;
    while (quiet < 10 && scene->net.now < began + FL_SEC(60)) {
        frame(scene);
        go_wrong(scene, topology);
        bool planned = false;
        for (int32_t i = 0; i < PLAYERS; i++) {
            planned =
                planned || (scene->net.node[i].session != NULL && scene->crash_at[i] != FL_FOREVER);
        }
        int32_t who = planned ? -1 : winner(scene);
        bool settled = who >= 0 && owner_node(scene) >= 0 && net_together(&scene->net);
        quiet = settled ? quiet + 1 : 0;
    }
    int32_t who = winner(scene);
    bool right = quiet >= 10 && who >= 0;
    for (int32_t i = 0; right && i < PLAYERS; i++) {
        bool wrong = scene->net.node[i].session != NULL && scene->player[i].told && i != who;
        right = !wrong;
    }
    if (!right) {
        print_trouble(scene);
    }
    double took = fl_span_seconds(scene->net.now - began);
    totals.longest_s = took > totals.longest_s ? took : totals.longest_s;
    totals.trials++;
    totals.winners += right ? 1 : 0;
    assert_true(right);
}

// ---------------------------------------------------------------- many of them

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a;
    double other = *(const double *)b;
    return one < other ? -1 : one > other ? 1 : 0;
}

static double quantile(double share)
{
    int64_t at = (int64_t)(share * (double)(totals.latency_count - 1));
    return totals.latency_count > 0 ? totals.latency_ms[at] : 0.0;
}

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology)
{
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, seed, topology, false);
    net->weather = net_storm(&net->random, 20);
    net->def.peer_capacity = PLAYERS;
    net->def.tuning.direct_capacity = PLAYERS;
    net->def.tuning.item_capacity = 256;
    net->def.entity_capacity = 16;
    net->def.timeout_ns = FL_SEC(2);
    net->def.tuning.link.keep_alive_ns = FL_MS(400);
    net_start_together(net, PLAYERS);
}

static void sixteen_players_take_one_thing_at_once_and_one_of_those_left_has_it(void **state)
{
    (void)state;
    static Scene scene;
    uint64_t seed = first_seed;
    while (totals.trials < trial_count) {
        FlTopology topology = (FlTopology)(seed % 3);
        open_scene(&scene, seed, topology);
        for (int32_t t = 0; t < TRIALS_PER_SESSION && totals.trials < trial_count; t++) {
            trial(&scene, topology);
            end_trial(&scene);
        }
        net_close(&scene.net);
        seed++;
    }
    qsort(totals.latency_ms, (size_t)totals.latency_count, sizeof(double), compare);
    print_message("             %lld trials: one winner in %lld, doubles %lld; %lld crashes (%lld "
                  "owners, %lld hosts), given %lld times, %lld adoptions, freed %lld times\n",
                  (long long)totals.trials, (long long)totals.winners, (long long)totals.doubles,
                  (long long)totals.crashes, (long long)totals.owner_crashes,
                  (long long)totals.host_crashes, (long long)totals.given,
                  (long long)totals.taken_over, (long long)totals.freed);
    print_message("             %lld calls: applied %lld (by state %lld), refused %lld, unknown "
                  "%lld; latency p50 %.0f ms, p95 %.0f ms; longest trial %.1f s\n",
                  (long long)totals.asked, (long long)totals.applied, (long long)totals.by_state,
                  (long long)totals.refused, (long long)totals.unknown, quantile(0.5),
                  quantile(0.95), totals.longest_s);
    assert_int_equal(totals.winners, totals.trials);
    assert_int_equal(totals.doubles, 0);
    assert_true(totals.owner_crashes > 0 && totals.host_crashes > 0 && totals.by_state > 0);
}

// The host gives it away and dies; to the next host somebody claims it before its owner speaks up.
static void an_owner_is_believed_although_somebody_else_claimed_before(void **state)
{
    (void)state;
    static Scene scene;
    const uint64_t seed = 1826; // where it was seen
    FlTopology topology = (FlTopology)(seed % 3);
    open_scene(&scene, seed, topology);
    trial(&scene, topology);
    end_trial(&scene);
    net_close(&scene.net);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_players_take_one_thing_at_once_and_one_of_those_left_has_it),
        cmocka_unit_test(an_owner_is_believed_although_somebody_else_claimed_before),
    };
    if (argc > 1) {
        trial_count = strtoll(argv[1], NULL, 10);
    }
    if (argc > 2) {
        first_seed = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
