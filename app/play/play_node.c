// A node: its session, its socket, and the order in which things happen.
#include "app/play/play_node.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/cli/command.h"

#include "fairlead/net.h"
#include "fairlead/session.h"

#define CATCH_UP_S 1

// ---------------------------------------------------------------- making and ending

static bool make(PlayNode *node, const PlayNodeDef *def, FlResult *result)
{
    node->game = def->game;
    node->kin = def->kin;
    node->port = def->port;
    node->policy = def->policy;
    node->seed = def->seed;
    node->tick = -1;
    node->own_count = def->own_count;
    for (int32_t i = 0; i < def->own_count; i++) {
        node->own[i].keys = def->keys && i == 0;
    }
    node->created = play_tape_now(node->port.tape);
    node->now = node->created;
    node->host = def->session.host;
    node->join_timeout = def->session.join_timeout_ns;
    node->frame_ns = FL_SEC(1) / def->frame_hz;
    node->next_frame = node->created;
    *result = node->game->open(node, def->rules);
    if (*result == FL_OK) {
        *result = fl_session_create(&def->session, node->created, &node->session);
    }
    if (*result == FL_OK && node->game->ready != NULL) {
        *result = node->game->ready(node);
    }
    return *result == FL_OK;
}

FlResult play_node_create(const PlayNodeDef *def, PlayNode **out)
{
    FL_ASSERT(def->own_count >= 0 && def->own_count <= PLAY_OWN_MAX);
    FL_ASSERT(def->frame_hz >= 1);
    *out = NULL;
    PlayNode *node = calloc(1, sizeof *node);
    if (node == NULL) {
        fl_net_destroy(def->port.net);
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
        node->game->close(node);
        fl_session_close(node->session);
        fl_net_destroy(node->port.net);
        free(node);
    }
}

void play_node_leave(PlayNode *node)
{
    if (!node->left) {
        FlTime now = play_tape_now(node->port.tape);
        node->left = true;
        fl_session_leave(node->session, now);
        play_port_send(&node->port, node->session, now);
    }
}

int play_node_status(const PlayNode *node)
{
    if (node->left || fl_session_state(node->session) != FL_SESSION_ENDED) {
        return 0;
    }
    // Silence ends an attempt when its time is over, and nothing else does.
    bool silence = fl_span(node->now, node->created) >= node->join_timeout;
    return node->joined || silence ? EXIT_FAILED : EXIT_BAD_INPUT;
}

// ---------------------------------------------------------------- ticks and own things

FlTime play_tick_time(const PlayNode *node, int64_t tick)
{
    return tick * FL_SEC(1) / node->game->tick_hz;
}

int64_t play_tick_at(const PlayNode *node, FlTime time)
{
    int64_t hz = node->game->tick_hz;
    int64_t tick = time / FL_SEC(1) * hz + time % FL_SEC(1) * hz / FL_SEC(1);
    return play_tick_time(node, tick + 1) <= time ? tick + 1 : tick; // a tick's time is rounded
}

int32_t play_own_make(PlayNode *node, int32_t own, FlEntityDef def)
{
    PlayOwn *made = &node->own[own];
    FlEntityStatus status;
    def.send = node->policy;
    if (fl_session_state(node->session) != FL_SESSION_RUNNING) {
        return -1; // it would have no number yet: with the next frame
    }
    made->entity = fl_entity_create(node->session, &def);
    if (fl_entity_status(node->session, made->entity, &status) != FL_OK) {
        return -1;
    }
    made->born = node->time_last;
    snprintf(made->name, sizeof made->name, "%u", (unsigned)status.number);
    PlayWitness witness = play_tape_witness(node->port.tape);
    if (witness.made != NULL) {
        witness.made(witness.ctx, node, own, &def);
    }
    return (int32_t)status.number;
}

void play_own_set(PlayNode *node, int32_t own, FlState state)
{
    state.time = fl_session_local_time(node->session, play_tick_time(node, node->tick));
    FlResult result = fl_entity_set(node->session, node->own[own].entity, &state);
    play_expect(node, PLAY_SET_REFUSED, result == FL_OK);
    PlayWitness witness = play_tape_witness(node->port.tape);
    if (witness.moved != NULL) {
        witness.moved(witness.ctx, node, own, &state);
    }
}

void play_blob_set(PlayNode *node, FlEntityId id, const FlWriter *writer)
{
    bool told = !writer->failed && fl_entity_state_set(node->session, id, writer->bytes,
                                                       fl_writer_size(writer)) == FL_OK;
    play_expect(node, PLAY_SET_REFUSED, told);
}

// ---------------------------------------------------------------- going on

// Who is not reached directly, and never was. One that left so was never met, unless it broke down:
// then nobody could have.
static void note_ways(PlayNode *node, const FlNotice *notice)
{
    bool *never_reached = &node->never_reached[notice->peer.index1 - 1];
    FlPeerStatus status;
    bool there = fl_peer_status(node->session, notice->peer, &status) == FL_OK;
    if (notice->kind == FL_NOTICE_PEER_INDIRECT && there && !status.met) {
        node->never_met += *never_reached ? 0 : 1;
        *never_reached = true;
    } else if (notice->kind == FL_NOTICE_PEER_DIRECT ||
               (notice->kind == FL_NOTICE_PEER_LEFT && notice->left != FL_LEFT_GOODBYE)) {
        node->never_met -= *never_reached ? 1 : 0;
        *never_reached = false;
    } else if (notice->kind == FL_NOTICE_PEER_LEFT) {
        *never_reached = false;
    }
}

static void poll_notices(PlayNode *node)
{
    FlNotice notice;
    while (fl_notice_take(node->session, &notice) == FL_OK) {
        if (node->game->notice != NULL) {
            node->game->notice(node, &notice);
        }
        node->peers_joined += notice.kind == FL_NOTICE_PEER_JOINED ? 1 : 0;
        node->peers_left += notice.kind == FL_NOTICE_PEER_LEFT ? 1 : 0;
        if (notice.peer.index1 != 0) {
            note_ways(node, &notice);
        }
        if (notice.kind == FL_NOTICE_HOST_CHANGED) {
            node->host_changes++;
            node->game->forgive(node);
        }
    }
    int32_t peers = fl_peer_count(node->session);
    node->peers_peak = peers > node->peers_peak ? peers : node->peers_peak;
}

static void check_time(PlayNode *node, FlTime now)
{
    FlTime time = fl_session_time(node->session, now);
    play_expect(node, PLAY_TIME_BACKWARDS, time >= node->time_last);
    node->time_last = time;
}

static void hear(PlayNode *node)
{
    FlEvent event;
    while (fl_event_take(node->session, &event) == FL_OK) {
        node->game->hear(node, &event);
    }
}

// All ticks up to `now`. A node that was held up makes up for up to a second of them; beyond that
// its things stood still.
static void play_ticks(PlayNode *node, FlTime now)
{
    int64_t target = play_tick_at(node, fl_session_time(node->session, now));
    if (node->tick < 0) {
        node->tick = target;
    }
    if (target - node->tick > CATCH_UP_S * node->game->tick_hz) {
        node->checks.count[PLAY_TICKS_SKIPPED] += (uint64_t)(target - 1 - node->tick);
        node->tick = target - 1;
        node->game->skip(node);
    }
    for (int32_t i = 0; i < node->own_count; i++) {
        if (!play_own_there(node, i) && !node->game->make(node, i)) {
            break; // in order: the player's first
        }
    }
    while (node->tick < target) {
        node->game->tick(node);
        play_tally(node, PLAY_TICKS);
    }
}

static void play_frame(PlayNode *node, FlTime now)
{
    FlTime late = fl_span(now, node->next_frame);
    node->next_frame += node->frame_ns;
    if (node->next_frame <= now) { // we were held up: no frames are made up for
        node->next_frame = now + node->frame_ns;
    }
    if (node->tick >= 0) { // it has played before
        PlayChecks *checks = &node->checks;
        checks->count[PLAY_FRAMES]++;
        checks->count[PLAY_FRAMES_MISSED] += (uint64_t)(late / node->frame_ns);
        checks->late_worst = late > checks->late_worst ? late : checks->late_worst;
    }
    if (fl_session_time_error(node->session) != FL_FOREVER) {
        node->game->look(node, now);
        play_ticks(node, now);
    }
}

void play_node_step(PlayNode *node)
{
    play_port_receive(&node->port, node->session);
    FlTime now = play_tape_now(node->port.tape);
    node->now = now;
    FlSessionState state = fl_session_state(node->session);
    if (state == FL_SESSION_RUNNING) {
        node->joined = true;
        check_time(node, now);
        poll_notices(node);
        hear(node);
        if (now >= node->next_frame) {
            play_frame(node, now);
        }
        node->game->tell(node);
    }
    play_port_send(&node->port, node->session, now);
    PlayWitness witness = play_tape_witness(node->port.tape);
    if (witness.stepped != NULL) {
        witness.stepped(witness.ctx, node, now);
    }
}

void play_node_policy(PlayNode *node, const FlSend *policy)
{
    node->policy = *policy;
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i)) {
            // Where the host passes it on there is nothing to change: it keeps the first one.
            (void)(fl_entity_policy(node->session, node->now, node->own[i].entity, policy) ==
                   FL_OK);
        }
    }
}

FlTime play_node_deadline(PlayNode *node, FlTime now)
{
    FlTime deadline = fl_session_deadline(node->session, now);
    bool playing = fl_session_state(node->session) == FL_SESSION_RUNNING;
    return playing && node->next_frame < deadline ? node->next_frame : deadline;
}
