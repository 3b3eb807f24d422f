// One game in virtual time: a host without a tank, bots that send inputs. Nothing is judged here,
// so every correction is one of prediction: a hit is the host's decision, which none can foresee.
#include "lab/experiments/prediction/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead/predict.h"
#include "lab/world/play.h"
#include "lab/world/world.h"
#include "tanks/tanks.h"

enum { HZ = 60, HOST = 0 };

#define WARM_UP FL_SEC(10)

typedef struct Match Match;

/// A player: at the host, whose tank it is; at its own node, the rest.
typedef struct Driver {
    Match *match;
    int32_t node;
    FlTime next; // its next frame, on its own clock
    TanksStepper stepper;
    TanksBot bot;
    bool made, has_input, drawn;
    uint8_t input[TANKS_INPUT_BYTES];
    FlPose last;
    FlTime last_at;
    double jump;
    FlPredictStats before; // when counting began
    uint64_t sent_before;
} Driver;

struct Match {
    World *world;
    TanksWorld arena;
    bool counts;
    FlEntityId entity[PREDICTION_PLAYERS + 1]; // host's, by the player's number
    FlPeerId peer[PREDICTION_PLAYERS + 1];
    Driver driver[PREDICTION_PLAYERS + 1]; // by node; the host's is of no player
    uint64_t sent_before;                  // by the host
};

// ---------------------------------------------------------------- the host

static void let_in(Match *match, FlSession *session, FlPeerId peer)
{
    TanksTank tank;
    int32_t number = (int32_t)peer.index1 - 1;
    int64_t tick;
    (void)fl_predict_state(session, peer, &tick);
    tanks_tank_init(&tank, number, tick > 0 ? tick : 0);
    FlEntityDef def = fl_entity_def_default();
    def.kind = (uint8_t)number;
    match->entity[number] = fl_entity_create(session, &def);
    match->peer[number] = peer;
    FlResult result = fl_predict_player(session, peer, &tank);
    FL_ASSERT(result == FL_OK);
    (void)result;
}

static void publish(Match *match, FlSession *session, FlTime now)
{
    for (int32_t i = 1; i <= PREDICTION_PLAYERS; i++) {
        int64_t tick;
        const void *state =
            match->entity[i].index1 != 0 ? fl_predict_state(session, match->peer[i], &tick) : NULL;
        if (state != NULL) {
            FlState truth = tanks_tank_state(&match->arena, (const TanksTank *)state);
            truth.time = fl_session_local_time(session, truth.time);
            truth.time = truth.time < now ? truth.time : now;
            (void)fl_entity_set(session, match->entity[i], &truth);
        }
    }
}

static void host_frame(Match *match, FlTime now)
{
    FlSession *session = world_session(match->world, HOST);
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
        if (notice.kind == FL_NOTICE_PEER_JOINED) {
            let_in(match, session, notice.peer);
        }
    }
    while (fl_predict_tick(session, now, NULL)) {
        publish(match, session, now);
    }
}

// ---------------------------------------------------------------- a player

static TanksInput decide(Driver *driver, FlSession *session, FlTime now, const TanksTank *own)
{
    TanksSeen seen[PREDICTION_PLAYERS + 1] = {{0}};
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlEntityStatus status;
        FlPose pose;
        TanksStatus alive = {.life = 1, .alive = true};
        if (fl_entity_status(session, id, &status) == FL_OK && status.kind <= PREDICTION_PLAYERS &&
            fl_entity_pose_at(session, now, id, &pose)) {
            seen[status.kind] = tanks_seen_make(&pose, &alive);
        }
    }
    seen[own->id] = tanks_tank_seen(own);
    TanksView view = {.world = &driver->match->arena,
                      .tick = own->tick,
                      .own = own,
                      .tanks = seen,
                      .tank_count = PREDICTION_PLAYERS + 1};
    return tanks_bot_decide(&driver->bot, &view);
}

static void choose(Driver *driver, FlSession *session, FlTime now)
{
    int64_t tick;
    const void *state = fl_predict_state(session, fl_peer_self(session), &tick);
    if (state == NULL || driver->has_input) {
        return;
    }
    TanksTank own;
    memcpy(&own, state, sizeof own);
    if (!driver->made) {
        tanks_bot_init(&driver->bot, 1, own.id);
        driver->made = true;
    }
    TanksInput input = {0};
    if (own.alive) {
        input = decide(driver, session, now, &own);
    }
    tanks_input_encode(input, driver->input);
    driver->has_input = true;
}

static void look(Driver *driver, FlSession *session, FlTime now)
{
    FlPose pose;
    bool drawn = fl_predict_pose(session, now, &pose);
    if (drawn && driver->drawn && driver->match->counts) {
        double dx = pose.position.x - driver->last.position.x;
        double dy = pose.position.y - driver->last.position.y;
        double most = driver->match->arena.rules.top_speed * fl_span_seconds(now - driver->last_at);
        driver->jump = fmax(driver->jump, sqrt(dx * dx + dy * dy) - most);
    }
    driver->last = pose;
    driver->last_at = now;
    driver->drawn = drawn;
}

static void player_frame(Driver *driver, FlTime now)
{
    FlSession *session = world_session(driver->match->world, driver->node);
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
    }
    bool played = true;
    while (played) {
        choose(driver, session, now);
        driver->stepper.fired_count = 0;
        played = fl_predict_tick(session, now, driver->input);
        driver->has_input = driver->has_input && !played;
    }
    look(driver, session, now);
}

static FlTime act(void *ctx, World *world, FlTime now)
{
    Driver *driver = (Driver *)ctx;
    FlTime local = world_local(world, driver->node, now);
    if (fl_session_state(world_session(world, driver->node)) == FL_SESSION_RUNNING) {
        if (driver->node == HOST) {
            host_frame(driver->match, local);
        } else {
            player_frame(driver, local);
        }
        world_touch(world, driver->node);
    }
    driver->next = (driver->next > 0 ? driver->next : local) + FL_SEC(1) / HZ;
    FlTime next = world_time_of(world, driver->node, driver->next);
    return next > now ? next : now + 1;
}

// ---------------------------------------------------------------- a game

static FlResult add_node(Match *match, const PredictionPlay *play, int32_t i)
{
    Driver *driver = &match->driver[i];
    WorldNodeDef def = world_node_def_default();
    def.session.world = tanks_wire_world(&match->arena, 256);
    def.session.peer_capacity = PREDICTION_PLAYERS;
    def.session.entity_capacity = 32;
    def.session.input_bytes = TANKS_INPUT_BYTES;
    def.session.inputs_to_host = true;
    def.session.role = i == HOST ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.clock_offset = FL_SEC(1000) * (1 + i * 7 % 16);
    def.clock_drift_ppm = 5.0 * (i * 5 % 16) - 40.0;
    driver->match = match;
    driver->stepper.world = &match->arena;
    FlResult result = world_node_add(match->world, &def, &driver->node);
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = play->way_ns;
    way.jitter_ns = play->jitter_ns;
    way.shape = FL_SHAPE_NORMAL;
    way.loss_ppm = play->loss_ppm;
    if (play->burst_ns > 0) {
        way.burst_gap_ns = FL_SEC(5);
        way.burst_length_ns = play->burst_ns;
        way.burst_loss_ppm = 1000000;
    }
    if (result == FL_OK && i != HOST) {
        result = world_ways_set(match->world, HOST, driver->node, &way);
    }
    FlPredictDef predict = fl_predict_def_default();
    predict.step_fn = tanks_step;
    predict.pose_fn = tanks_step_pose;
    predict.ctx = &driver->stepper;
    predict.state_bytes = sizeof(TanksTank);
    predict.tick_hz = HZ;
    predict.send_hz = play->send_hz;
    if (result == FL_OK) {
        result = fl_session_predict(world_session(match->world, driver->node), &predict);
    }
    FlTime first = FL_MS(1) * (i * 7 % 16); // frames fall everywhere between ticks
    return result == FL_OK ? world_actor_add(match->world, WORLD_MOVER, first, act, driver)
                           : result;
}

static FlPredictStats stats_of(Match *match, int32_t i)
{
    FlSession *session = world_session(match->world, match->driver[i].node);
    return fl_predict_stats(session, fl_peer_self(session));
}

static void begin_counting(Match *match, int32_t players)
{
    match->counts = true;
    match->sent_before = world_node_sent(match->world, HOST).bytes;
    for (int32_t i = 1; i <= players; i++) {
        match->driver[i].before = stats_of(match, i);
        match->driver[i].sent_before = world_node_sent(match->world, i).bytes;
    }
}

static void count(Match *match, const PredictionPlay *play, PredictionFigures *f)
{
    double seconds = fl_span_seconds(play->span);
    double players = (double)play->players;
    f->minutes = players * seconds / 60.0;
    f->down_bytes = (double)(world_node_sent(match->world, HOST).bytes - match->sent_before);
    for (int32_t i = 1; i <= play->players; i++) {
        const FlPredictStats *before = &match->driver[i].before;
        FlPredictStats now = stats_of(match, i);
        f->corrections += (double)(now.corrections - before->corrections);
        f->correction_sum += now.correction_sum - before->correction_sum;
        bool longer = now.correction_max > before->correction_max;
        f->correction_max =
            longer ? fmax(f->correction_max, now.correction_max) : f->correction_max;
        f->missed += (double)(now.missed - before->missed);
        f->differing += (double)(now.differing - before->differing);
        f->replayed += (double)(now.replayed - before->replayed);
        f->ticks += (double)(now.ticks - before->ticks);
        f->lead_ms += (double)now.lead_ns / 1e6 / players;
        f->jump = fmax(f->jump, match->driver[i].jump);
        f->up_bytes +=
            (double)(world_node_sent(match->world, i).bytes - match->driver[i].sent_before);
    }
}

LabStatus prediction_play(const PredictionPlay *play, PredictionFigures *figures, LabError *error)
{
    Match *match = (Match *)calloc(1, sizeof *match);
    if (match == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    TanksRules rules = tanks_rules_default();
    rules.map_seed = play->seed;
    WorldDef def = world_def_default();
    def.seed = play->seed;
    def.node_capacity = PREDICTION_PLAYERS + 1;
    def.actor_capacity = PREDICTION_PLAYERS + 1;
    def.sealed = play->sealed;
    FlResult result = tanks_world_init(&rules, &match->arena);
    result = result == FL_OK ? world_create(&def, &match->world) : result;
    for (int32_t i = 0; i <= play->players && result == FL_OK; i++) {
        result = add_node(match, play, i);
    }
    LabStatus status = result == FL_OK ? LAB_OK : lab_fail_result(error, result, "making a game");
    if (status == LAB_OK) {
        world_run(match->world, WARM_UP);
        begin_counting(match, play->players);
        world_run(match->world, WARM_UP + play->span);
        count(match, play, figures);
        status = play_check(match->world, error);
    }
    world_destroy(match->world);
    free(match);
    return status;
}
