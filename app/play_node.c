// A node: its session, its socket, and the order in which things happen.
#include "app/play_node.h"

#include <stdlib.h>
#include <string.h>

#include "app/command.h"

// ---------------------------------------------------------------- making and ending

static bool make(PlayNode *node, const PlayNodeDef *def, FlResult *result)
{
    TanksRules rules = tanks_rules_default();
    *result = tanks_world_init(&rules, &node->world);
    node->net = def->net;
    node->policy = def->policy;
    node->seed = def->seed;
    node->tick = -1;
    node->own_count = def->tank_count;
    for (int32_t i = 0; i < def->tank_count; i++) {
        node->own[i].keys = def->keys && i == 0;
    }
    node->created = fl_net_now();
    node->join_timeout = def->session.join_timeout_ns;
    node->frame_ns = FL_SEC(1) / def->frame_hz;
    node->next_frame = node->created;
    if (*result == FL_OK) {
        *result = fl_session_create(&def->session, node->created, &node->session);
    }
    return *result == FL_OK;
}

FlResult play_node_create(const PlayNodeDef *def, PlayNode **out)
{
    FL_ASSERT(def->tank_count >= 0 && def->tank_count <= PLAY_OWN_MAX);
    FL_ASSERT(def->frame_hz >= 1);
    *out = NULL;
    PlayNode *node = calloc(1, sizeof *node);
    if (node == NULL) {
        fl_net_destroy(def->net);
        return FL_NO_MEMORY;
    }
    FlResult result;
    if (!make(node, def, &result)) {
        play_node_destroy(node);
        return result;
    }
    *out = node;
    return FL_OK;
}

void play_node_destroy(PlayNode *node)
{
    if (node != NULL) {
        fl_session_destroy(node->session);
        fl_net_destroy(node->net);
        free(node);
    }
}

void play_node_leave(PlayNode *node)
{
    if (!node->left) {
        FlTime now = fl_net_now();
        node->left = true;
        fl_session_leave(node->session, now);
        fl_run_send(node->net, node->session, now);
    }
}

int play_node_status(const PlayNode *node)
{
    if (node->left || fl_session_state(node->session) != FL_SESSION_ENDED) {
        return 0;
    }
    // Silence ends an attempt when its time is over, and nothing else does.
    bool silence = fl_span(fl_net_now(), node->created) >= node->join_timeout;
    return node->joined || silence ? EXIT_FAILED : EXIT_BAD_INPUT;
}

// ---------------------------------------------------------------- going on

static void poll_notices(PlayNode *node)
{
    FlNotice notice;
    while (fl_session_poll(node->session, &notice) == FL_OK) {
        node->peers_joined += notice.kind == FL_NOTICE_PEER_JOINED ? 1 : 0;
        node->peers_left += notice.kind == FL_NOTICE_PEER_LEFT ? 1 : 0;
        if (notice.kind == FL_NOTICE_HOST_CHANGED) {
            node->host_changes++;
            play_look_forgive(node);
        }
    }
    int32_t peers = fl_peer_count(node->session);
    node->peers_peak = peers > node->peers_peak ? peers : node->peers_peak;
}

static void check_time(PlayNode *node, FlTime now)
{
    FlTime time = fl_session_time(node->session, now);
    node->checks.time_backwards += time < node->time_last ? 1 : 0;
    node->time_last = time;
}

static void play_frame(PlayNode *node, FlTime now)
{
    node->next_frame += node->frame_ns;
    if (node->next_frame <= now) { // we were held up: no frames are made up for
        node->next_frame = now + node->frame_ns;
    }
    if (fl_session_time_error(node->session) != FL_FOREVER) {
        play_look(node, now);
        play_game_step(node, now);
    }
}

void play_node_step(PlayNode *node)
{
    fl_run_receive(node->net, node->session);
    FlTime now = fl_net_now();
    FlSessionState state = fl_session_state(node->session);
    if (state == FL_SESSION_RUNNING) {
        node->joined = true;
        check_time(node, now);
        poll_notices(node);
        play_game_hear(node);
        if (now >= node->next_frame) {
            play_frame(node, now);
        }
        play_game_tell(node);
    }
    fl_run_send(node->net, node->session, now);
}

FlTime play_node_deadline(PlayNode *node, FlTime now)
{
    FlTime deadline = fl_session_deadline(node->session, now);
    bool playing = fl_session_state(node->session) == FL_SESSION_RUNNING;
    return playing && node->next_frame < deadline ? node->next_frame : deadline;
}

// ---------------------------------------------------------------- looking

TanksView play_node_view(const PlayNode *node, TanksSeen *dense, TanksTank *own)
{
    TanksView view = {.world = &node->world,
                      .tick = node->tick,
                      .tanks = dense,
                      .shots = node->shots,
                      .shot_count = node->shot_count};
    bool drives = node->own_count > 0 && node->own[0].keys && node->own[0].entity.index1 != 0;
    for (int32_t i = 0; i < node->tank_count; i++) {
        bool ours = drives && i == node->own[0].tank.id;
        if (ours) {
            *own = node->own[0].tank;
            own->id = view.tank_count; // its place among the letters
            view.own = own;
        }
        if (ours || node->seen[i].life != 0) {
            dense[view.tank_count++] = node->seen[i];
        }
    }
    if (view.tick < 0 || view.own == NULL) {
        view.tick = tanks_tick_at(&node->world, node->time_last);
    }
    return view;
}

// ---------------------------------------------------------------- checks

uint64_t play_checks_faults(const PlayChecks *checks)
{
    uint64_t faults = 0;
#define PLAY_FAULT_SUM(name, meaning) faults += checks->name;
    PLAY_FAULT_TABLE(PLAY_FAULT_SUM)
#undef PLAY_FAULT_SUM
    return faults;
}

void play_checks_add(PlayChecks *sum, const PlayChecks *more)
{
#define PLAY_FAULT_ADD(name, meaning) sum->name += more->name;
    PLAY_FAULT_TABLE(PLAY_FAULT_ADD)
#undef PLAY_FAULT_ADD
    sum->deaths_applied += more->deaths_applied;
    sum->kills_told += more->kills_told;
    sum->kills_heard += more->kills_heard;
    sum->shots_told += more->shots_told;
    sum->shots_heard += more->shots_heard;
    sum->shots_dropped += more->shots_dropped;
    sum->events_rejected += more->events_rejected;
    sum->looks += more->looks;
    sum->ticks += more->ticks;
    sum->ticks_skipped += more->ticks_skipped;
    sum->outside_worst =
        more->outside_worst > sum->outside_worst ? more->outside_worst : sum->outside_worst;
}
