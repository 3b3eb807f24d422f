// One play of the shots experiment: clients draw, log and shoot; the host judges what reaches it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead/rewind.h"
#include "lab/actors/puppet.h"
#include "lab/experiments/quality/quality.h"
#include "lab/experiments/shots/shots.h"
#include "lab/world/play.h"

#define FRAME_HZ 60
#define WARM_UP FL_SEC(10)
#define SETTLE FL_SEC(3) // of the motion, before the first shot
#define BEHIND FL_MS(100)
#define NO_VICTIM (-1)

enum { WAITS = 256 };

const char *const shots_judge_words[SHOTS_JUDGES] = {"rewind", "ping", "stamp"};

const ShotsView shots_views[SHOTS_VIEWS] = {
    {"placed", 0.0, 1, false, FL_HOLD_AT_ONCE, FL_CONVERGENCE_AT_ONCE},
    {"smoothed", 0.0, 1, false, FL_HOLD_AT_ONCE, FL_CONVERGENCE_SMOOTH},
    {"held", 0.0, 1, false, FL_HOLD_RECKONED, FL_CONVERGENCE_SMOOTH},
    {"interpolated", 20.0, SHOTS_JUDGES, true, FL_HOLD_RECKONED, FL_CONVERGENCE_AT_ONCE},
};

/// What travels.
typedef struct ShotMessage {
    FlTime time; // of its frame
    FlVec3 from, along;
    int32_t number; // in the log
} ShotMessage;

/// A shot as its client has it in the log.
typedef struct ShotLog {
    int32_t victim; // on the screen
    FlPose *drawn;  // [entity]
    bool *there;
} ShotLog;

typedef struct Client {
    struct Play *play;
    int32_t index, node;
    FlRandom random;
    FlEntityId *ids; // [entity], 0: not known yet
    ShotLog *log;
    int32_t log_count, log_capacity;
    ShotMessage waiting[WAITS]; // at the host
    int32_t wait_count;
} Client;

typedef struct Play {
    const ShotsPlay *def;
    ShotsFigures (*figures)[SHOTS_CLIENTS];
    World *world;
    Puppet *puppets;
    QualityFilter *filters;
    Client clients[SHOTS_CLIENTS];
    FlTime begin, end;
    bool failed; // out of memory
} Play;

// ---------------------------------------------------------------- rays

static FlVec3 random_way(FlRandom *random)
{
    double angle = fl_random_between(random, 0.0, 6.283185307179586);
    return fl_vec3(cos(angle), sin(angle), 0.0);
}

/// How far along a ray it meets a ball; negative: it does not.
static double ray_meets(const ShotMessage *shot, FlVec3 centre, double radius)
{
    FlVec3 way = fl_vec3_sub(centre, shot->from);
    double along = fl_vec3_dot(way, shot->along);
    FlVec3 off = fl_vec3_add_scaled(way, shot->along, -along);
    return along > 0.0 && fl_vec3_length(off) <= radius ? along : -1.0;
}

/// The nearest that it meets so far.
static void meet(const ShotMessage *shot, const FlPose *pose, double radius, int32_t entity,
                 int32_t *victim, double *nearest)
{
    double along = ray_meets(shot, pose->position, radius);
    if (along >= 0.0 && along < *nearest) {
        *nearest = along;
        *victim = entity;
    }
}

// ---------------------------------------------------------------- clients

static FlTime behind_of(const Play *play, int32_t client)
{
    return play->def->delay[client] + BEHIND;
}

static ShotLog *log_new(Play *play, Client *client)
{
    if (client->log_count == client->log_capacity) {
        int32_t grown = client->log_capacity == 0 ? 256 : 2 * client->log_capacity;
        ShotLog *log = (ShotLog *)realloc(client->log, (size_t)grown * sizeof *log);
        if (log == NULL) {
            play->failed = true;
            return NULL;
        }
        client->log = log;
        client->log_capacity = grown;
    }
    size_t entities = (size_t)play->def->material->run_count;
    ShotLog *fresh = &client->log[client->log_count++];
    fresh->drawn = (FlPose *)calloc(entities, sizeof *fresh->drawn);
    fresh->there = (bool *)calloc(entities, sizeof *fresh->there);
    play->failed = play->failed || fresh->drawn == NULL || fresh->there == NULL;
    return play->failed ? NULL : fresh;
}

/// In one life for the last second: what is dead, or has just come back, is not shot at, and no
/// judge looks at it. The usual ways would take a respawn for a hit at the other end of the field.
static bool is_alive(const Play *play, int32_t entity, FlTime now)
{
    const Source *source = &play->def->material->runs[entity].source;
    FlTime time = now - play->begin;
    Truth is, was;
    return source->truth_fn(source->ctx, time, &is) &&
           source->truth_fn(source->ctx, time - FL_SEC(1), &was) && is.life == was.life;
}

/// Draws everything: what is seen, by number. Returns how many.
static int32_t draw(Play *play, Client *client, FlTime now, ShotLog *log)
{
    FlSession *session = world_session(play->world, client->node);
    FlTime local = world_local(play->world, client->node, now);
    int32_t count = 0;
    for (int32_t e = 0; e < play->def->material->run_count; e++) {
        FlEntityId id = fl_entity_of_number(session, play->puppets[e].number);
        bool other = play->puppets[e].node != client->node && play->puppets[e].id.index1 != 0;
        log->there[e] = other && is_alive(play, e, now) &&
                        fl_entity_pose_at(session, local, id, &log->drawn[e]);
        count += log->there[e] ? 1 : 0;
    }
    return count;
}

/// At one of those seen, off by about its size.
static void aim(Client *client, const ShotLog *log, int32_t seen, double radius, ShotMessage *shot)
{
    int32_t pick = (int32_t)fl_random_below(&client->random, (uint64_t)seen);
    int32_t e = 0;
    for (int32_t left = pick; !log->there[e] || left > 0; e++) {
        left -= log->there[e] ? 1 : 0;
    }
    FlVec3 target = log->drawn[e].position;
    FlVec3 side = random_way(&client->random);
    FlVec3 across = fl_vec3(-side.y, side.x, 0.0);
    double off = fl_random_between(&client->random, -2.0, 2.0) * radius;
    double up = fl_random_between(&client->random, -0.5, 0.5) * radius;
    FlVec3 at = fl_vec3_add_scaled(target, across, off);
    at.z += up;
    shot->from = fl_vec3_add_scaled(target, side, -20.0 * radius);
    FlVec3 way = fl_vec3_sub(at, shot->from);
    shot->along = fl_vec3_scale(way, 1.0 / fl_vec3_length(way));
}

static void shoot(Play *play, Client *client, FlTime now)
{
    FlSession *session = world_session(play->world, client->node);
    ShotLog *log = log_new(play, client);
    int32_t seen = log != NULL ? draw(play, client, now, log) : 0;
    if (seen == 0) {
        return;
    }
    ShotMessage shot = {.number = client->log_count - 1};
    shot.time = fl_session_time(session, world_local(play->world, client->node, now));
    aim(client, log, seen, play->def->radius, &shot);
    log->victim = NO_VICTIM;
    double nearest = (double)INFINITY;
    for (int32_t e = 0; e < play->def->material->run_count; e++) {
        if (log->there[e]) {
            meet(&shot, &log->drawn[e], play->def->radius, e, &log->victim, &nearest);
        }
    }
    FlEvent event = {.type = 1,
                     .delivery = FL_DELIVERY_QUICKEST,
                     .bytes = (const uint8_t *)&shot,
                     .count = (int32_t)sizeof shot};
    (void)fl_event_send(session, fl_peer_host(session), &event);
    world_touch(play->world, client->node);
}

/// Shows new things the view's way.
static void show_new(Play *play, Client *client)
{
    FlSession *session = world_session(play->world, client->node);
    for (int32_t e = 0; e < play->def->material->run_count; e++) {
        FlEntityId id = fl_entity_of_number(session, play->puppets[e].number);
        bool known =
            play->puppets[e].id.index1 != 0 && id.index1 != 0 && !fl_entity_is_ours(session, id);
        if (known && memcmp(&client->ids[e], &id, sizeof id) != 0) {
            FlShowDef def = fl_show_def_default();
            def.convergence = FL_CONVERGENCE_AT_ONCE;
            def.hold = FL_HOLD_RECKONED;
            def.placement = FL_PLACEMENT_INTERPOLATED;
            def.delta_ns = behind_of(play, client->index);
            client->ids[e] = fl_entity_show(session, id, &def) == FL_OK ? id : client->ids[e];
        }
    }
}

static FlTime draw_frame(void *ctx, World *world, FlTime now)
{
    Client *client = (Client *)ctx;
    Play *play = client->play;
    (void)world;
    if (play->def->view->behind) {
        show_new(play, client);
    }
    double chance = fl_random_between(&client->random, 0.0, 1.0);
    if (now >= play->begin + SETTLE && chance < play->def->rate_hz / FRAME_HZ) {
        shoot(play, client, now);
    }
    FlTime next = now + FL_SEC(1) / FRAME_HZ;
    return next <= play->end && !play->failed ? next : FL_FOREVER;
}

// ---------------------------------------------------------------- the judge

/// Where things were, by one judge, and whom the ray met.
typedef struct Found {
    int32_t victim;
    double nearest;
    ShotsFigures *figures;
} Found;

static void find(const Play *play, const ShotMessage *shot, const ShotLog *log, int32_t entity,
                 const FlPose *pose, Found *found)
{
    if (log->there[entity]) {
        meet(shot, pose, play->def->radius, entity, &found->victim, &found->nearest);
        double off = fl_vec3_distance(pose->position, log->drawn[entity].position);
        tally_add(&found->figures->error, off);
        found->figures->poses++;
        found->figures->exact += off == 0.0 ? 1 : 0;
    }
}

static void conclude(const ShotLog *log, const Found *found)
{
    found->figures->shots++;
    found->figures->hits += log->victim != NO_VICTIM ? 1 : 0;
    found->figures->differ += log->victim != found->victim ? 1 : 0;
}

static int32_t puppet_of(const Play *play, FlEntityId id)
{
    FlEntityStatus status;
    FlResult result = fl_entity_status(world_session(play->world, 0), id, &status);
    int32_t e = 0;
    while (result == FL_OK && e < play->def->material->run_count &&
           play->puppets[e].number != status.number) {
        e++;
    }
    return e;
}

/// A client by the host's name for it.
static FlPeerId peer_of(const Play *play, const Client *client)
{
    const FlSession *theirs = world_session(play->world, client->node);
    int32_t number = (int32_t)fl_peer_self(theirs).index1 - 1;
    return fl_peer_of_number(world_session(play->world, 0), number);
}

/// By what was on its screen. False: not known yet.
static bool judge_rewound(Play *play, Client *client, const ShotMessage *shot, FlTime now)
{
    FlSession *session = world_session(play->world, 0);
    const ShotLog *log = &client->log[shot->number];
    ShotsFigures *figures = &play->figures[SHOTS_REWIND][client->index];
    Found found = {NO_VICTIM, (double)INFINITY, figures};
    FlRewind frame;
    FlResult result = fl_rewind_to(session, world_local(play->world, 0, now), peer_of(play, client),
                                   shot->time, &frame);
    if (result == FL_WOULD_BLOCK) {
        return false;
    }
    figures->refused += result != FL_OK ? 1 : 0;
    int64_t before = figures->poses;
    FlPose pose;
    FlEntityId id = {0, 0};
    while (result == FL_OK && fl_rewind_next(session, &frame, &id, &pose)) {
        find(play, shot, log, puppet_of(play, id), &pose, &found);
    }
    for (int32_t e = 0; result == FL_OK && e < play->def->material->run_count; e++) {
        figures->behind += log->there[e] ? 1 : 0;
    }
    figures->behind -= result == FL_OK ? figures->poses - before : 0;
    conclude(log, &found);
    return true;
}

/// By the true path, as of some time ago.
static void judge_truth(Play *play, const Client *client, const ShotMessage *shot, ShotsJudge judge,
                        FlTime then)
{
    const ShotLog *log = &client->log[shot->number];
    Found found = {NO_VICTIM, (double)INFINITY, &play->figures[judge][client->index]};
    for (int32_t e = 0; e < play->def->material->run_count; e++) {
        const Source *source = &play->def->material->runs[e].source;
        Truth truth;
        if (play->puppets[e].node != client->node &&
            source->truth_fn(source->ctx, then - play->begin, &truth)) {
            FlPose pose = {.position = truth.state.position};
            find(play, shot, log, e, &pose, &found);
        }
    }
    conclude(log, &found);
}

static void judge_usual(Play *play, const Client *client, const ShotMessage *shot, FlTime now)
{
    FlSession *session = world_session(play->world, 0);
    FlLinkStats stats = {0};
    FlResult known =
        fl_peer_stats(session, world_local(play->world, 0, now), peer_of(play, client), &stats);
    FL_ASSERT(known == FL_OK);
    (void)known;
    judge_truth(play, client, shot, SHOTS_PING, now - stats.rtt_average_ns - BEHIND);
    FlTime local = fl_session_local_time(session, shot->time - behind_of(play, client->index));
    judge_truth(play, client, shot, SHOTS_STAMP, world_time_of(play->world, 0, local));
}

static void take_shots(Play *play, FlTime now)
{
    FlSession *session = world_session(play->world, 0);
    FlEvent event;
    while (fl_event_take(session, &event) == FL_OK) {
        ShotMessage shot;
        FL_ASSERT(event.count == (int32_t)sizeof shot);
        memcpy(&shot, event.bytes, sizeof shot);
        Client *client = NULL;
        for (int32_t c = 0; c < play->def->client_count; c++) {
            FlPeerId self = fl_peer_self(world_session(play->world, play->clients[c].node));
            client = (int32_t)self.index1 - 1 == event.number ? &play->clients[c] : client;
        }
        if (client == NULL || client->wait_count == WAITS) {
            play->failed = true;
            return;
        }
        if (play->def->view->judge_count > 1) {
            judge_usual(play, client, &shot, now);
        }
        if (!judge_rewound(play, client, &shot, now)) {
            play->figures[SHOTS_REWIND][client->index].waited++;
            client->waiting[client->wait_count++] = shot;
        }
    }
}

static FlTime judge_all(void *ctx, World *world, FlTime now)
{
    Play *play = (Play *)ctx;
    (void)world;
    for (int32_t c = 0; c < play->def->client_count; c++) {
        Client *client = &play->clients[c];
        int32_t kept = 0;
        for (int32_t i = 0; i < client->wait_count; i++) {
            if (!judge_rewound(play, client, &client->waiting[i], now)) {
                client->waiting[kept++] = client->waiting[i];
            }
        }
        client->wait_count = kept;
    }
    take_shots(play, now);
    FlTime next = now + FL_SEC(1) / FRAME_HZ;
    return next <= play->end + FL_SEC(2) && !play->failed ? next : FL_FOREVER;
}

// ---------------------------------------------------------------- the world

static FlResult add_node(Play *play, FlRole role, int32_t *node)
{
    const ShotsPlay *def = play->def;
    FlRandom random = {.seed = def->seed, .stream = 31 + (uint64_t)world_node_count(play->world)};
    WorldNodeDef each = world_node_def_default();
    each.session.role = role;
    each.session.world = def->material->world;
    each.session.peer_capacity = SHOTS_CLIENTS;
    each.session.entity_capacity = def->material->run_count;
    each.session.member_entities = def->material->run_count;
    each.session.rewind_ns = def->rewind_ns;
    each.session.join_timeout_ns = FL_SEC(60);
    if (!def->view->behind) {
        each.session.tuning.show = fl_show_def_scheme(FL_SHOW_SCHEME_BEST);
        each.session.tuning.show.hold = def->view->hold;
        each.session.tuning.show.convergence = def->view->convergence;
        each.session.tuning.show.speed_limit = 1.05 * def->material->top_speed;
        each.session.tuning.show.catch_up = 0.2 * def->material->top_speed;
        each.session.tuning.show.snap_distance = 0.5 * def->material->top_speed;
    }
    each.clock_offset = (FlTime)fl_random_below(&random, (uint64_t)FL_SEC(1000));
    each.clock_drift_ppm = fl_random_between(&random, -50.0, 50.0);
    return world_node_add(play->world, &each, node);
}

static FlResult add_nodes(Play *play)
{
    const ShotsPlay *def = play->def;
    int32_t host;
    FlResult result = add_node(play, FL_ROLE_HOST, &host);
    for (int32_t c = 0; c < def->client_count && result == FL_OK; c++) {
        Client *client = &play->clients[c];
        client->play = play;
        client->index = c;
        client->random = (FlRandom){.seed = def->seed, .stream = 100 + (uint64_t)c};
        result = add_node(play, FL_ROLE_CLIENT, &client->node);
        FlImpairSettings way =
            play_way(def->delay[c], fl_time_min(def->jitter, def->delay[c]), def->loss);
        result = result == FL_OK ? world_ways_set(play->world, host, client->node, &way) : result;
    }
    return result;
}

static FlResult add_puppets(Play *play)
{
    const ShotsPlay *def = play->def;
    FlResult result = FL_OK;
    for (int32_t e = 0; e < def->material->run_count && result == FL_OK; e++) {
        Puppet *puppet = &play->puppets[e];
        puppet->source = def->material->runs[e].source;
        puppet->begin = play->begin;
        puppet->node = def->relayed ? play->clients[e % def->client_count].node : 0;
        puppet->def = fl_entity_def_default();
        puppet->def.trigger.distance = 0.004 * def->material->top_speed; // tanks: 0.1 units
        if (def->view->snapshots_hz > 0.0) {
            puppet->def.model = FL_MODEL_LINEAR;
            puppet->def.trigger.angle = puppet->def.trigger.distance = (double)INFINITY;
            puppet->def.trigger.silence_ns = 1;
            result = quality_filter_make(&play->filters[e], &def->material->runs[e].source,
                                         QUALITY_RATE, def->view->snapshots_hz, def->length);
            puppet->source = quality_filter_source(&play->filters[e]);
        }
        puppet->source.length = fl_time_min(puppet->source.length, def->length);
        result = result == FL_OK ? puppet_enter(puppet, play->world) : result;
    }
    return result;
}

static FlResult set_up(Play *play)
{
    const ShotsPlay *def = play->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = SHOTS_CLIENTS + 1;
    world.actor_capacity = def->material->run_count + SHOTS_CLIENTS + 1;
    FlResult result = world_create(&world, &play->world);
    result = result == FL_OK ? add_nodes(play) : result;
    if (result != FL_OK) {
        return result;
    }
    world_run(play->world, WARM_UP);
    play->begin = world_now(play->world) + FL_SEC(1);
    play->end = play->begin + def->length;
    result = add_puppets(play);
    for (int32_t c = 0; c < def->client_count && result == FL_OK; c++) {
        FlTime first = play->begin + FL_MS(1) * c + FL_US(137); // frames are not the host's
        result = world_actor_add(play->world, WORLD_LOOKER, first, draw_frame, &play->clients[c]);
    }
    return result != FL_OK
               ? result
               : world_actor_add(play->world, WORLD_LOOKER, play->begin, judge_all, play);
}

static bool reserve(Play *play)
{
    size_t entities = (size_t)play->def->material->run_count;
    play->puppets = (Puppet *)calloc(entities, sizeof *play->puppets);
    play->filters = (QualityFilter *)calloc(entities, sizeof *play->filters);
    bool good = play->puppets != NULL && play->filters != NULL;
    for (int32_t c = 0; c < play->def->client_count && good; c++) {
        play->clients[c].ids = (FlEntityId *)calloc(entities, sizeof(FlEntityId));
        good = play->clients[c].ids != NULL;
    }
    return good;
}

static void release(Play *play)
{
    for (int32_t c = 0; c < play->def->client_count; c++) {
        Client *client = &play->clients[c];
        for (int32_t i = 0; i < client->log_count; i++) {
            free(client->log[i].drawn);
            free(client->log[i].there);
        }
        free(client->log);
        free(client->ids);
    }
    for (int32_t e = 0; play->filters != NULL && e < play->def->material->run_count; e++) {
        quality_filter_free(&play->filters[e]);
    }
    free(play->filters);
    free(play->puppets);
}

LabStatus shots_play(const ShotsPlay *def, ShotsFigures (*figures)[SHOTS_CLIENTS], LabError *error)
{
    FL_ASSERT(def->client_count >= 1 && def->client_count <= SHOTS_CLIENTS);
    Play *play = (Play *)calloc(1, sizeof *play);
    if (play == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    play->def = def;
    play->figures = figures;
    LabStatus status = LAB_OK;
    if (!reserve(play)) {
        status = lab_fail(error, LAB_FAILED, "out of memory");
    } else {
        FlResult result = set_up(play);
        status = result != FL_OK ? lab_fail_result(error, result, "setting up the world") : LAB_OK;
    }
    if (status == LAB_OK) {
        world_run(play->world, play->end + FL_SEC(2));
        status = play->failed ? lab_fail(error, LAB_FAILED, "out of memory, or a shot got lost")
                              : play_check(play->world, error);
    }
    world_destroy(play->world);
    release(play);
    free(play);
    return status;
}
