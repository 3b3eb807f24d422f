// A crowd outside virtual time: processes, sockets on loopback, the machine's clock, sealed.
//
// The lobby and every player are a process. The first player is in before the others come, so it is
// member 1, whom all watch. Everybody notes every 10 ms, into memory that all share, what it knows
// of that player and how many bytes went out of its socket. The parent only looks at the clock: it
// says who falls silent and who leaves.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "lab/experiments/crowd/crowd.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fairlead/fairlead.h"
#include "fairlead/net.h"
#include "fairlead/run.h"
#include "fairlead/session.h"
#include "lab/world/distant.h"

#define LIVE_PLAYERS 128
#define LIVE_FIRST FL_SEC(1) // the first player is in by then
#define LIVE_EVERY FL_MS(20) // then one after another
#define LIVE_WARM_UP FL_SEC(8)
#define LIVE_AFTER FL_SEC(4)
#define LIVE_STEP FL_MS(10)
#define SENT_MOST 4096 // datagrams of one process in a second
#define FRAME_HZ 20.0

enum { EXIT_LIVE_FAILED = 1, MISHAPS = 2 };

/// What a player tells the others of its process. It alone writes it.
typedef struct Seat {
    _Atomic int32_t member, via; ///< via: who tells it of the one; -1: nobody.
    FlTime gap[MISHAPS];
    uint64_t updates, steps, hops;
    double peak, limit; ///< Bytes in a second.
    Tally age;          ///< ms
} Seat;

typedef struct Board {
    _Atomic int32_t out[MISHAPS]; ///< Member who falls silent, and who leaves; 0: nobody yet.
    Seat seats[LIVE_PLAYERS];
} Board;

typedef struct Live {
    const CrowdPlay *play;
    CrowdGameDef def;
    Board *board;
    FlNet *lobby_net;
    FlAddress lobby;
    uint64_t unix_s;
    FlTime begin, measure, end; ///< On the machine's clock.
    uint8_t key[FL_SEAL_KEY_BYTES];
} Live;

typedef struct Sent {
    FlTime at;
    int32_t bytes;
} Sent;

/// One process; player -1 is the lobby.
typedef struct Node {
    const Live *live;
    int32_t index;
    FlNet *net;
    FlSession *session;
    CrowdPlayer player;
    CrowdEyes eyes;
    FlTime frame, step; ///< That come next.
    FlTime stamp, heard;
    Sent sent[SENT_MOST]; ///< Of the last second: [sent_first % SENT_MOST] and so on.
    uint64_t sent_first, sent_end;
    int64_t in_second; ///< Their bytes.
} Node;

// ---------------------------------------------------------------- making

static FlResult make_token(const Live *live, const FlSessionDef *def, int32_t player,
                           uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    FlWorld world;
    FlSealRandom random = {0};
    FlResult result = fl_world_init(&def->world, &world);
    FlSealTokenDef made = {.protocol_id = world.protocol_id,
                           .client_id = (uint64_t)player + 1,
                           .create_s = live->unix_s,
                           .expire_s = live->unix_s + 600,
                           .timeout_s = 10,
                           .address_count = 1,
                           .address = {live->lobby}};
    return result == FL_OK ? fl_seal_token_make(&made, live->key, &random, token) : result;
}

static FlResult open_session(Node *node)
{
    const Live *live = node->live;
    FlSessionDef def = crowd_game_session(&live->def);
    FlSealServerDef server = fl_seal_server_def_default();
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    bool lobby = node->index < 0;
    FlResult result = FL_OK;
    def.role = lobby ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.host = live->lobby;
    def.unix_s = live->unix_s;
    def.seed = fl_random_at(live->play->seed, 7300, (uint64_t)node->index + 1);
    def.upload_bytes_s = lobby ? 0.0 : live->board->seats[node->index].limit;
    if (lobby && live->play->sealed) {
        memcpy(server.private_key, live->key, sizeof server.private_key);
        server.address[0] = live->lobby;
        server.address_count = 1;
        server.unix_s = live->unix_s;
        def.seal_server = &server;
    } else if (live->play->sealed) {
        result = make_token(live, &def, node->index, token);
        def.token = token;
    }
    return result == FL_OK ? fl_session_create(&def, fl_net_now(), &node->session) : result;
}

static bool open_node(Node *node)
{
    const Live *live = node->live;
    LabError error;
    node->net = live->lobby_net;
    bool ok = node->index < 0 || distant_net_open(&node->net) == FL_OK;
    ok = ok && open_session(node) == FL_OK;
    ok =
        ok && crowd_eyes_create(&node->eyes, live->def.motion, live->def.players, &error) == LAB_OK;
    node->player = (CrowdPlayer){
        .motion = live->def.motion,
        .session = node->session,
        .member = -1,
        .idol = live->def.idol,
        .looks = (float *)calloc((size_t)live->def.players + 1, sizeof *node->player.looks)};
    node->frame = fl_net_now();
    node->step = live->measure;
    return ok && node->player.looks != NULL;
}

// ---------------------------------------------------------------- a player

static bool has_fallen_out(const Node *node, int32_t mishap)
{
    int32_t out = atomic_load(&node->live->board->out[mishap]);
    return out != 0 && out == node->player.member;
}

/// Exact: what went out in the second that ends with this datagram.
static void weigh(Node *node, FlTime now, int32_t bytes)
{
    while (node->sent_first < node->sent_end &&
           (now - node->sent[node->sent_first % SENT_MOST].at >= FL_SEC(1) ||
            node->sent_end - node->sent_first == SENT_MOST)) {
        node->in_second -= node->sent[node->sent_first++ % SENT_MOST].bytes;
    }
    node->sent[node->sent_end++ % SENT_MOST] = (Sent){now, bytes};
    node->in_second += bytes;
    if (node->index >= 0 && now >= node->live->measure) {
        Seat *seat = &node->live->board->seats[node->index];
        seat->peak = fmax(seat->peak, (double)node->in_second);
    }
}

/// To everybody, or once it is silent to the lobby alone.
static void send_out(Node *node, FlTime now)
{
    bool silent = has_fallen_out(node, 0);
    FlOutgoing out;
    while (fl_session_next(node->session, now, &out) == FL_OK) {
        FlDatagram datagram = {.address = out.to, .data = out.bytes, .bytes = out.count};
        int32_t done;
        weigh(node, now, out.count + CROWD_HEADER_BYTES);
        if (!silent || fl_address_equal(out.to, node->live->lobby)) {
            FlResult sent = fl_net_send_batch(node->net, &datagram, 1, &done);
            (void)sent; // a full buffer loses it, as networks do
        }
    }
}

/// Which mishap was the last: none yet (-1), the first, the second.
static int32_t last_mishap(const Live *live)
{
    return atomic_load(&live->board->out[1]) != 0   ? 1
           : atomic_load(&live->board->out[0]) != 0 ? 0
                                                    : -1;
}

static void note(Node *node, Seat *seat, FlTime now)
{
    FlEntityStatus view;
    atomic_store(&seat->member, node->player.member);
    if (node->player.member == 1 || !crowd_player_view(node->session, 1, &view)) {
        return;
    }
    bool fresh = view.newest != node->stamp;
    node->heard = fresh ? now : node->heard;
    node->stamp = view.newest;
    atomic_store(&seat->via, view.watched ? crowd_player_via(&view) : -1);
    int32_t mishap = last_mishap(node->live);
    if (mishap >= 0) {
        FlTime gap = now - node->heard;
        seat->gap[mishap] = gap > seat->gap[mishap] ? gap : seat->gap[mishap];
        return;
    }
    FlTime age = fl_span(fl_session_time(node->session, now), view.newest);
    seat->updates += fresh ? 1 : 0;
    seat->steps++;
    seat->hops += (uint64_t)view.hops;
    tally_add(&seat->age, age > 0 ? fl_span_seconds(age) * 1e3 : 0.0);
}

/// One turn of a player's loop. False: it has left.
static bool turn(Node *node, FlTime now)
{
    const Live *live = node->live;
    fl_run_receive(node->net, node->session);
    if (has_fallen_out(node, 1)) {
        fl_session_leave(node->session, now);
        send_out(node, now);
        return false;
    }
    if (node->index >= 0 && now >= node->frame) {
        (void)crowd_player_frame(&node->player, &node->eyes, now);
        node->frame += live->def.crowd.frame_ns;
    }
    send_out(node, now);
    FlTime next = fl_time_min(live->end, fl_session_deadline(node->session, now));
    if (node->index >= 0) {
        if (now >= node->step) {
            note(node, &live->board->seats[node->index], now);
            node->step += LIVE_STEP;
        }
        next = fl_time_min(next, fl_time_min(node->frame, node->step));
    }
    (void)fl_net_wait(&node->net, 1, next, NULL);
    return true;
}

static void wait_until(FlTime time)
{
    FlTime left = time - fl_net_now();
    if (left > 0) {
        struct timespec span = {.tv_sec = (time_t)(left / FL_SEC(1)), .tv_nsec = left % FL_SEC(1)};
        (void)nanosleep(&span, NULL);
    }
}

/// Never returns: a child must not run its parent's ends.
static _Noreturn void run_process(const Live *live, int32_t index)
{
    Node node = {.live = live, .index = index};
    wait_until(index <= 0 ? live->begin : live->begin + LIVE_FIRST + index * LIVE_EVERY);
    bool ok = open_node(&node);
    bool there = ok;
    while (there && fl_net_now() < live->end) {
        there = turn(&node, fl_net_now());
    }
    ok = ok && (!there || fl_session_state(node.session) == FL_SESSION_RUNNING);
    _exit(ok ? 0 : EXIT_LIVE_FAILED);
}

// ---------------------------------------------------------------- the parent

/// Who passes on to most, among those who are still there; 0: nobody does. To how many is added.
static int32_t busiest(const Live *live, int32_t *behind)
{
    int32_t served[LIVE_PLAYERS + 2] = {0};
    int32_t best = 0;
    for (int32_t i = 0; i < live->def.players; i++) {
        int32_t via = atomic_load(&live->board->seats[i].via);
        if (via > 1 && via <= live->def.players && via != atomic_load(&live->board->out[0])) {
            served[via]++;
            best = best == 0 || served[via] > served[best] ? via : best;
        }
    }
    *behind += served[best];
    return best;
}

static bool run_processes(const Live *live, int32_t *cut_off)
{
    pid_t children[LIVE_PLAYERS + 1];
    int32_t count = live->def.players + 1;
    bool ok = true;
    for (int32_t i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            run_process(live, i - 1);
        }
    }
    for (int32_t k = 0; k < MISHAPS && live->play->overlay; k++) {
        wait_until(live->end - (MISHAPS - k) * LIVE_AFTER);
        atomic_store(&live->board->out[k], busiest(live, cut_off));
    }
    for (int32_t i = 0; i < count; i++) {
        int status = 0;
        bool ended = children[i] > 0 && waitpid(children[i], &status, 0) == children[i];
        ok = ok && ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ok;
}

// ---------------------------------------------------------------- figures

static double recovery_ms(const Live *live, int32_t mishap)
{
    double longest = (double)NAN;
    for (int32_t i = 0; i < live->def.players; i++) {
        const Seat *seat = &live->board->seats[i];
        int32_t member = atomic_load(&live->board->seats[i].member);
        bool out = member == atomic_load(&live->board->out[0]) ||
                   member == atomic_load(&live->board->out[1]);
        if (member > 1 && !out && atomic_load(&live->board->out[mishap]) != 0) {
            longest = fmax(longest, fl_span_seconds(seat->gap[mishap]) * 1e3);
        }
    }
    return longest;
}

static void add_up(const Live *live, CrowdResult *result, Text *series)
{
    Tally *ages = (Tally *)calloc(1, sizeof *ages);
    double updates = 0.0;
    double steps = 0.0;
    double hops = 0.0;
    for (int32_t i = 0; i < live->def.players && ages != NULL; i++) {
        const Seat *seat = &live->board->seats[i];
        text_add(series, "%d,%d,%.1f,%.1f\n", (int)live->def.players, (int)i, seat->limit / 125.0,
                 8e-3 * seat->peak);
        tally_merge(ages, &seat->age);
        updates += (double)seat->updates;
        steps += (double)seat->steps;
        hops += (double)seat->hops;
        result->max_upload_kbps = fmax(result->max_upload_kbps, 8e-3 * seat->peak);
        result->upload_share = fmax(result->upload_share, seat->peak / seat->limit);
    }
    result->watchers = live->def.players - 1;
    result->delivered_share = updates / (steps * fl_span_seconds(LIVE_STEP) * FRAME_HZ);
    result->hops = hops / steps;
    result->idol_kbps = live->board->seats[0].limit / 125.0;
    result->recovery_silent_ms = recovery_ms(live, 0);
    result->recovery_leave_ms = recovery_ms(live, 1);
    if (ages != NULL) {
        result->age_p50_ms = tally_quantile(ages, 0.5);
        result->age_p95_ms = tally_quantile(ages, 0.95);
    }
    free(ages);
}

static void plan(Live *live)
{
    const CrowdPlay *play = live->play;
    FlSealRandom random = {0};
    fl_seal_key(&random, live->key);
    live->lobby = fl_net_address(live->lobby_net);
    live->unix_s = (uint64_t)time(NULL);
    live->def = crowd_game_def_default();
    live->def.players = play->players;
    live->def.motion = play->motion;
    live->def.idol = CROWD_FLAG_ATTENTION;
    live->def.crowd.extra_ns = play->overlay ? live->def.crowd.extra_ns : 0;
    live->begin = fl_net_now() + FL_MS(200);
    live->measure = live->begin + LIVE_WARM_UP;
    live->end = live->measure + (FlTime)(play->seconds * 1e9) + MISHAPS * LIVE_AFTER;
    for (int32_t i = 0; i < play->players; i++) {
        live->board->seats[i].limit = 125.0 * crowd_upload_kbps(play->seed, i);
        atomic_store(&live->board->seats[i].via, -1);
    }
}

LabStatus crowd_live(const CrowdPlay *play, CrowdResult *result, Text *series, LabError *error)
{
    memset(result, 0, sizeof *result);
    FL_ASSERT(play->players <= LIVE_PLAYERS);
    Live live = {.play = play};
    FlResult opened = distant_net_open(&live.lobby_net);
    if (opened != FL_OK) {
        return lab_fail_result(error, opened, "opening a socket");
    }
    LabStatus status = LAB_OK;
    void *memory =
        mmap(NULL, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        status = lab_fail(error, LAB_FAILED, "out of memory");
    } else {
        live.board = (Board *)memory;
        plan(&live);
        if (run_processes(&live, &result->cut_off)) {
            add_up(&live, result, series);
        } else {
            status = lab_fail(error, LAB_FAILED, "a process of the live crowd did not end well");
        }
        munmap(memory, sizeof(Board));
    }
    fl_net_destroy(live.lobby_net);
    return status;
}
