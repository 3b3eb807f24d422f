// Sixteen players, one of them hostile: it plays every attack of test_session_hostile.c at up to
// 1 Mbit/s, with what the fuzzers have learnt among it; half of the time carefully (so that it is
// not sent away), half of it recklessly (it is, and joins again). The others move and talk as in a
// match without it: how wrong they see each other, and how late events come, stays within a tenth.
//
// In a crowd, where the host has nothing that moves, it also sends what it likes over its light
// connections. That crowd is not sealed, so that the test can write such packets in its name.
//
// SIEGE_SECONDS=600 in the environment plays ten minutes, SIEGE_ONLY='*crowd' one of the matches.
// SIEGE_SOCKETS=1: as soon as all are in, datagrams go over UDP sockets of this machine, in real
// time; what a busy machine adds to delays is in the figures of both matches.
#define NET_NODES 17
#define NET_FLIGHT 16384
#include "session_hostile.h"

#include "fairlead/net.h"

#include <dirent.h>

enum { CORPUS = 256, CORPUS_BYTES = 400 };
enum { PLAYERS = 16, HOSTILE_NODE = PLAYERS - 1, TALK_EVERY = 25 /* frames */, DELAYS = 400000 };

typedef struct Siege {
    Net net;
    Hostile hostile;
    bool attacks;
    int32_t first;             // who moves: all but a crowd's host
    uint8_t light[PLAYERS][7]; // how its last light packet to each began
    NetWalk walk[PLAYERS];
    FlRandom random;
    double error_sum, error_square;
    int64_t looks;
    float delays[DELAYS]; // of events, s
    int32_t delay_count;
    int32_t sent, sent_away;
    int64_t bytes;                        // that the hostile one has sent
    uint8_t corpus[CORPUS][CORPUS_BYTES]; // what the fuzzers have learnt
    int32_t corpus_count[CORPUS], inputs;
    FlNet *sockets[PLAYERS];
    FlTime began; // real time when the match's was 0
} Siege;

static bool is_there(const Siege *siege, int32_t node)
{
    const FlSession *session = siege->net.node[node].session;
    return session != NULL && fl_session_state(session) == FL_SESSION_RUNNING &&
           net_in(&siege->net, node);
}

// ---------------------------------------------------------------- the others

// Kind 0, 0, 5; conversation; number: the rest of a light packet is sections.
static void keep_light(Net *net, const NetHead *head, const FlOutgoing *out)
{
    static const uint8_t light[3] = {0, 0, 5};
    Siege *siege = (Siege *)(void *)net; // whose first member it is
    if (head->from == HOSTILE_NODE && out->count > 7 && memcmp(out->bytes, light, 3) == 0) {
        memcpy(siege->light[head->to], out->bytes, 7);
    }
}

// ---------------------------------------------------------------- sockets

static void send_by_socket(Net *net, const NetHead *head, const FlOutgoing *out)
{
    Siege *siege = (Siege *)(void *)net; // whose first member it is
    FlDatagram datagram = {.data = out->bytes, .bytes = out->count};
    datagram.address = fl_net_address(siege->sockets[head->to]);
    keep_light(net, head, out);
    int32_t done;
    if (out->to.port == net_port(net, head->to, head->from)) {
        (void)!fl_net_send_batch(siege->sockets[head->from], &datagram, 1, &done);
    }
}

static void cut_ways(Net *net)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        for (int32_t k = 0; k < PLAYERS; k++) {
            net_way(net, i, k, NULL);
        }
    }
}

static void open_sockets(Siege *siege)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        FlNetDef def = fl_net_def_default();
        assert_int_equal(fl_address_parse("127.0.0.1:0", &def.bind), FL_OK);
        assert_int_equal(fl_net_create(&def, &siege->sockets[i]), FL_OK);
    }
    siege->net.on_send = send_by_socket;
    cut_ways(&siege->net);
    siege->began = fl_net_now() - siege->net.now;
}

static void take_from_socket(Siege *siege, int32_t node)
{
    Net *net = &siege->net;
    FlDatagram batch[FL_NET_BATCH];
    int32_t count = fl_net_receive_batch(siege->sockets[node], batch, FL_NET_BATCH);
    for (int32_t i = 0; i < count && net->node[node].session != NULL; i++) {
        int32_t from = 0;
        while (from < PLAYERS &&
               fl_net_address(siege->sockets[from]).port != batch[i].address.port) {
            from++;
        }
        NetHead head = {.from = from, .to = node, .arrived = batch[i].arrival - siege->began};
        head.from_port = net_port(net, from, node);
        net_receive(net, &head, batch[i].data, batch[i].bytes);
    }
}

// A frame in real time: what comes is taken when it comes.
static void frame_by_sockets(Siege *siege)
{
    Net *net = &siege->net;
    FlTime end = net->now + FL_MS(NET_FRAME_MS);
    for (int32_t i = 0; i < PLAYERS; i++) {
        net_pump(net, i);
    }
    while (net->now < end) {
        bool ready[PLAYERS];
        FlTime until = fl_net_now() + FL_MS(2);
        (void)fl_net_wait(siege->sockets, PLAYERS, until, ready);
        for (int32_t i = 0; i < PLAYERS; i++) {
            if (ready[i]) {
                take_from_socket(siege, i);
            }
        }
        FlTime now = fl_net_now() - siege->began;
        net->now = now > net->now ? now : net->now;
        for (int32_t i = 0; i < PLAYERS; i++) {
            net_pump(net, i);
        }
    }
}

static void close_sockets(Siege *siege)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        fl_net_destroy(siege->sockets[i]);
        siege->sockets[i] = NULL;
    }
}

// ---------------------------------------------------------------- what fuzzers have learnt

static void read_corpus(Siege *siege, const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir); // tests start in the root
    for (const struct dirent *entry; siege->inputs < CORPUS && (entry = readdir(dir)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "rb") : NULL;
        if (file != NULL) {
            int32_t i = siege->inputs++;
            siege->corpus_count[i] = (int32_t)fread(siege->corpus[i], 1, CORPUS_BYTES, file);
            fclose(file);
        }
    }
    closedir(dir);
}

// ---------------------------------------------------------------- a match begins

static void open_siege(Siege *siege, FlTopology topology, bool attacks)
{
    memset(siege, 0, sizeof *siege);
    siege->attacks = attacks;
    siege->random.seed = 4;
    siege->first = topology == FL_TOPOLOGY_CROWD ? 1 : 0;
    net_open(&siege->net, 77, topology, topology != FL_TOPOLOGY_CROWD);
    siege->net.on_send = keep_light;
    siege->net.weather.jitter_ns = FL_MS(5);
    siege->net.weather.loss_ppm = 10000;
    net_start_together(&siege->net, PLAYERS);
    FlEntityDef def = fl_entity_def_default();
    for (int32_t i = siege->first; i < PLAYERS; i++) {
        assert_int_equal(net_walk_begin(&siege->net, &siege->walk[i], i, &def), FL_OK);
    }
    net_run(&siege->net, siege->net.now + FL_SEC(3));
    hostile_begin(&siege->hostile, siege->net.node[HOSTILE_NODE].session);
    read_corpus(siege, "fuzz/corpus/session");
    if (getenv("SIEGE_SOCKETS") != NULL) {
        open_sockets(siege);
    }
}

static void talk(Siege *siege, int32_t node)
{
    FlPeerId all = {0};
    uint8_t bytes[8];
    memcpy(bytes, &siege->net.now, sizeof bytes);
    FlEvent event = {.type = 1, .delivery = FL_DELIVERY_ORDERED, .bytes = bytes, .count = 8};
    siege->sent += fl_event_send(siege->net.node[node].session, all, &event) == FL_OK ? 1 : 0;
}

static void listen(Siege *siege, int32_t node)
{
    FlEvent event;
    FlCall call;
    FlSession *session = siege->net.node[node].session;
    while (fl_event_take(session, &event) == FL_OK) {
        FlTime said;
        if (event.type == 1 && event.count == 8 && siege->delay_count < DELAYS) {
            memcpy(&said, event.bytes, sizeof said);
            siege->delays[siege->delay_count++] = (float)fl_span_seconds(siege->net.now - said);
        }
    }
    while (fl_call_take(session, &call) == FL_OK) {
        (void)!fl_call_answer(session, net_local(&siege->net, node), &call, false, NULL, 0);
    }
    net_drop_notices(session);
}

// As soon as something came, so that delays are not counted in frames.
static void listen_at_once(Net *net, int32_t node)
{
    if (node < HOSTILE_NODE) {
        listen((Siege *)(void *)net, node); // whose first member it is
    }
}

static void look(Siege *siege, int32_t node)
{
    Net *net = &siege->net;
    for (int32_t i = siege->first; i < HOSTILE_NODE; i++) {
        FlPose pose;
        FlEntityId id = net_entity(net, node, siege->walk[i].number);
        if (i == node ||
            !fl_entity_pose_at(net->node[node].session, net_local(net, node), id, &pose)) {
            continue;
        }
        FlVec3 truth = net_walk_at(&siege->walk[i], net->now);
        double off = hypot(pose.position.x - truth.x, pose.position.y - truth.y);
        siege->error_sum += off;
        siege->error_square += off * off;
        siege->looks++;
    }
}

// ---------------------------------------------------------------- the hostile one

static int32_t any(Siege *siege, int32_t below)
{
    return (int32_t)fl_random_below(&siege->random, (uint64_t)below);
}

static void flood_events(Siege *siege, FlSession *session)
{
    static const uint8_t bytes[1000];
    FlPeerId all = {0};
    FlEvent event = {.type = 9, .delivery = FL_DELIVERY_ORDERED, .bytes = bytes, .count = 1000};
    event.delivery = any(siege, 2) == 0 ? FL_DELIVERY_ORDERED : FL_DELIVERY_UNORDERED;
    event.count = event.delivery == FL_DELIVERY_ORDERED ? 1000 : 100;
    while (fl_event_send(session, all, &event) == FL_OK) {
    }
}

static void flood_calls(Siege *siege, FlSession *session)
{
    FlCallDef call = {.kind = 700};
    uint32_t serial;
    FlCallDone done;
    FlEntityId id =
        net_entity(&siege->net, HOSTILE_NODE, siege->walk[any(siege, HOSTILE_NODE)].number);
    FlTime now = net_local(&siege->net, HOSTILE_NODE);
    (void)!fl_call_send(session, now, id, &call, &serial);
    (void)!fl_call_take_done(session, now, &done);
}

static void churn_entities(Siege *siege, FlSession *session)
{
    FlEntityDef def = fl_entity_def_default();
    FlEntityId id = {0};
    while (fl_entity_create(session, &def).index1 != 0) {
    }
    while (fl_entity_next(session, &id)) {
        if (fl_entity_is_ours(session, id) && any(siege, 2) == 0) {
            (void)fl_entity_destroy(session, id);
        }
    }
}

// What is not its to say: to the host, or to a peer that it reaches directly.
static void forge(Siege *siege, FlSession *session)
{
    int32_t victim = any(siege, HOSTILE_NODE);
    int32_t to = net_number(&siege->net, any(siege, 3) == 0 ? any(siege, HOSTILE_NODE) : 0);
    uint32_t number = siege->walk[victim].number;
    uint16_t epoch = (uint16_t)any(siege, 3);
    int32_t self = net_number(&siege->net, HOSTILE_NODE);
    uint8_t bytes[512];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    switch (any(siege, 9)) {
    case 0:
        hostile_entity(session, to, number, epoch, 0, self);
        return;
    case 1:
        hostile_motion(&siege->hostile, to, number, epoch, net_time(&siege->net, HOSTILE_NODE),
                       9.0);
        return;
    case 2:
        hostile_state(&siege->hostile, to, number, epoch, (uint16_t)(1 + any(siege, 40000)), 'x');
        return;
    case 3: {
        EntityEndMessage m = {(uint16_t)number, epoch};
        fl__entity_end_message_write(&w, &m);
        break;
    }
    case 4: {
        GiveMessage m = {(uint16_t)number, epoch, (uint16_t)self};
        fl__give_message_write(&w, &m);
        break;
    }
    case 5: {
        ClaimMessage m = {
            .number = (uint16_t)number, .epoch = epoch, .owner = (uint16_t)self, .version = 9000};
        fl__claim_message_write(&w, &m);
        break;
    }
    case 6: {
        FlCallMessage m = {.key = {7, (uint16_t)net_number(&siege->net, victim), 1},
                           .number = (uint16_t)number};
        m.kind = 700;
        fl_writer_put(&w, MESSAGE_CALL, 8);
        fl__call_message_write(&w, &m);
        break;
    }
    case 7: {
        MemberMessage m = {
            .number = (uint16_t)any(siege, PLAYERS), .left = FL_LEFT_REMOVED, .incarnation = 1};
        fl__member_message_write(&w, &m);
        break;
    }
    default: {
        FlAnswerMessage m = {.key = {1, (uint16_t)to, 1},
                             .number = (uint16_t)number,
                             .epoch = epoch,
                             .version = 30000};
        fl_writer_put(&w, MESSAGE_ANSWER, 8);
        fl__answer_message_write(&w, &m);
        break;
    }
    }
    hostile_message(session, to, &w);
}

static void rubbish(Siege *siege)
{
    uint8_t bytes[400];
    int32_t count = 1 + any(siege, 400);
    int32_t input = any(siege, siege->inputs);
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)any(siege, i == 0 ? 18 : 256);
    }
    if (any(siege, 2) == 0 && siege->corpus_count[input] > 0) {
        count = siege->corpus_count[input];
        memcpy(bytes, siege->corpus[input], (size_t)count);
    }
    hostile_section(&siege->hostile, net_number(&siege->net, any(siege, HOSTILE_NODE)), bytes,
                    count);
}

// A light packet in order, with its next number: others' updates, redirections, looks, anything.
static void rubbish_light(Siege *siege)
{
    int32_t to = any(siege, HOSTILE_NODE);
    uint8_t bytes[200];
    memcpy(bytes, siege->light[to], 7);
    int32_t count = 8 + any(siege, 190);
    for (int32_t i = 7; i < count; i++) {
        bytes[i] = (uint8_t)any(siege, i == 7 ? 8 : 256);
    }
    uint16_t number = (uint16_t)((bytes[5] | bytes[6] << 8) + 1 + any(siege, 3));
    bytes[5] = siege->light[to][5] = (uint8_t)number;
    bytes[6] = siege->light[to][6] = (uint8_t)(number >> 8);
    if (siege->light[to][2] == 5) {
        const Net *net = &siege->net;
        FlOutgoing out = {.to = net->node[to].address, .bytes = bytes, .count = count};
        net_carry(&siege->net, HOSTILE_NODE, &out);
    }
}

static void attack(Siege *siege, int32_t frame)
{
    Net *net = &siege->net;
    if (!is_there(siege, HOSTILE_NODE)) {
        const FlSession *session = net->node[HOSTILE_NODE].session;
        if (fl_session_state(session) == FL_SESSION_ENDED) { // and joins again at once
            siege->sent_away++;
            assert_int_equal(net_begin(net, HOSTILE_NODE, 0), FL_OK);
            hostile_begin(&siege->hostile, net->node[HOSTILE_NODE].session);
            if (siege->sockets[0] != NULL) {
                cut_ways(net);
            }
        }
        return;
    }
    FlSession *session = net->node[HOSTILE_NODE].session;
    bool careful = frame / 500 % 2 == 0;
    flood_events(siege, session);
    flood_calls(siege, session);
    if (frame % 10 == 0) {
        churn_entities(siege, session);
    }
    for (int32_t n = 0; n < 4 && (!careful || (frame % 10 == 0 && n == 0)); n++) {
        forge(siege, session);
        rubbish(siege);
        net_pump(net, HOSTILE_NODE);
    }
    for (int32_t n = 0; n < 4 && siege->first == 1; n++) {
        rubbish_light(siege);
    }
    net_drop_notices(session); // events it never takes
}

// ---------------------------------------------------------------- a match

static void play(Siege *siege, int32_t seconds)
{
    Net *net = &siege->net;
    int64_t before = net->bytes[HOSTILE_NODE];
    net->before_pump = listen_at_once;
    for (int32_t f = 0; f < seconds * 1000 / NET_FRAME_MS; f++) {
        for (int32_t i = 0; i < HOSTILE_NODE; i++) {
            if (i >= siege->first && (f + 7 * i) % 20 == 0) {
                double angle = 0.37 * (f + 11 * i);
                siege->walk[i].velocity = fl_vec3(8.0 * cos(angle), 8.0 * sin(angle), 0.0);
            }
            if (i >= siege->first) {
                FlEntityId next =
                    net_entity(net, i, siege->walk[1 + i % (HOSTILE_NODE - 1)].number);
                assert_int_equal(net_walk_step(net, &siege->walk[i]), FL_OK);
                (void)!fl_entity_attention(net->node[i].session, next, 1.0); // for a crowd
            }
            if ((f + i) % TALK_EVERY == 0) {
                talk(siege, i);
            }
        }
        if (siege->attacks) {
            attack(siege, f);
        } else if (is_there(siege, HOSTILE_NODE)) {
            listen(siege, HOSTILE_NODE);
        }
        if (siege->sockets[0] != NULL) {
            frame_by_sockets(siege);
        } else {
            net_frame(net);
        }
        for (int32_t i = 0; i < HOSTILE_NODE; i++) {
            look(siege, i);
        }
    }
    siege->bytes = net->bytes[HOSTILE_NODE] - before;
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a;
    float y = *(const float *)b;
    return x < y ? -1 : x > y;
}

typedef struct Quality {
    double error_m, rms_m, delay_s, delay_p95_s;
} Quality;

static Quality quality_of(Siege *siege, int32_t seconds)
{
    Quality q = {.error_m = siege->error_sum / (double)siege->looks,
                 .rms_m = sqrt(siege->error_square / (double)siege->looks)};
    qsort(siege->delays, (size_t)siege->delay_count, sizeof siege->delays[0], compare);
    for (int32_t i = 0; i < siege->delay_count; i++) {
        q.delay_s += (double)siege->delays[i] / siege->delay_count;
    }
    q.delay_p95_s = (double)siege->delays[siege->delay_count * 95 / 100];
    print_message("             %s: error %.4f m (rms %.4f), events %.1f ms late (95 %%: %.1f ms), "
                  "%d of them; "
                  "%.0f kbit/s from the hostile one, sent away %d times\n",
                  siege->attacks ? "attacked" : "in peace", q.error_m, q.rms_m, 1000.0 * q.delay_s,
                  1000.0 * q.delay_p95_s, siege->delay_count, (double)siege->bytes * 8e-3 / seconds,
                  siege->sent_away);
    return q;
}

static void a_hostile_player_disturbs_nobody(void **state)
{
    static Siege siege;
    const char *wish = getenv("SIEGE_SECONDS");
    int32_t seconds = wish != NULL ? atoi(wish) : 24;
    open_siege(&siege, net_topology(state), false);
    play(&siege, seconds);
    Quality peace = quality_of(&siege, seconds);
    close_sockets(&siege);
    net_close(&siege.net);
    open_siege(&siege, net_topology(state), true);
    play(&siege, seconds);
    Quality war = quality_of(&siege, seconds);
    assert_true(war.error_m < 1.1 * peace.error_m && war.rms_m < 1.1 * peace.rms_m);
    assert_true(war.delay_s < 1.1 * peace.delay_s && war.delay_p95_s < 1.1 * peace.delay_p95_s);
    assert_true(siege.sent_away > 0);
    // Everybody has what it had, and there is room.
    for (int32_t i = siege.first; i < HOSTILE_NODE; i++) {
        for (int32_t at = siege.first; at < HOSTILE_NODE; at++) {
            FlEntityId id = net_entity(&siege.net, at, siege.walk[i].number);
            assert_int_not_equal(id.index1, 0);
            assert_int_equal(inside_owner(siege.net.node[at].session, id),
                             net_number(&siege.net, i));
        }
        FlEntityId id;
        FlEntityDef def = fl_entity_def_default();
        if (siege.first == 0) { // in a crowd each has one
            (void)net_make(&siege.net, i, &def, &id);
        }
    }
    close_sockets(&siege);
    net_close(&siege.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(a_hostile_player_disturbs_nobody),
        NET_TOPOLOGY(a_hostile_player_disturbs_nobody, "crowd"),
    };
    cmocka_set_test_filter(getenv("SIEGE_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
