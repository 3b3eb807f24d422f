// One network of sessions whose players move: taking pictures, comparing them.
#include "lab/experiments/simultaneity/simultaneity_media.h"

#include <stdlib.h>
#include <string.h>

#include "agree/lags.h"
#include "entity/entity.h"
#include "lab/experiments/simultaneity/simultaneity_net.h"
#include "lab/world/world.h"
#include "play/play.h"

#define EVERY FL_MS(20)   // frames, and pictures
#define JOINED FL_SEC(6)  // everybody is in
#define SETTLED FL_SEC(6) // and lags have come to rest
#define PATIENCE FL_SEC(30)
#define SPEED 20.0     // m/s along x,
#define TURN_SPEED 5.0 // and along y, back and forth
#define APART_M 0.001
#define LOOK_EVERY FL_MS(1)
#define ROUNDING 4 // ns

typedef struct Media Media;

typedef struct Player {
    Media *media;
    int32_t node;
    FlEntityId thing;
    uint32_t number;
    int32_t next; // picture
} Player;

struct Media {
    const TrialDef *def;
    NetDef net;
    World *world;
    bool by_lags;
    FlTime base; // of the first picture; INT64_MIN: not yet
    int32_t count;
    Player player[FL_LAGS_PEERS];
    FlTime *at;    // [peer][picture], true time; FL_FOREVER: not taken
    FlVec3 *place; // [peer][picture][owner]
    bool *known;   // likewise
};

// ---------------------------------------------------------------- what is true

static FlState truth_at(FlTime time, int32_t of)
{
    FlTime turn = FL_MS(600) + FL_MS(37) * (of % 16);
    double into = fl_span_seconds(time % turn);
    bool back = time / turn % 2 == 1;
    double y = back ? fl_span_seconds(turn) - into : into;
    FlState state = {.facing = fl_facing_none()};
    state.position =
        fl_vec3(SPEED * fl_span_seconds(time) - 490.0, 10.0 * of + TURN_SPEED * y - 200.0, 0.0);
    state.velocity = fl_vec3(SPEED, back ? -TURN_SPEED : TURN_SPEED, 0.0);
    return state;
}

static FlTime time_of(FlVec3 place)
{
    return fl_span_from_seconds((place.x + 490.0) / SPEED);
}

// ---------------------------------------------------------------- playing

static FlTime move(void *ctx, World *world, FlTime now)
{
    Player *player = (Player *)ctx;
    FlSession *session = world_session(world, player->node);
    if (fl_session_state(session) != FL_SESSION_RUNNING) {
        return now + EVERY;
    }
    if (player->thing.index1 == 0) {
        FlEntityStatus status;
        player->thing = fl_entity_create(session, NULL);
        player->number =
            fl_entity_status(session, player->thing, &status) == FL_OK ? status.number : UINT32_MAX;
        FlShowDef own = fl_show_def_default();
        own.hold = FL_HOLD_LAGS;
        if (player->media->by_lags && fl_entity_show(session, player->thing, &own) != FL_OK) {
            return FL_FOREVER;
        }
    }
    FlState state = truth_at(now, player->node);
    state.time = world_local(world, player->node, now);
    (void)fl_entity_set(session, player->thing, &state);
    world_touch(world, player->node);
    return now + EVERY;
}

/// When a picture is taken, on a peer's clock; FL_FOREVER: not known.
static FlTime when(const Player *player, int32_t picture)
{
    const Media *media = player->media;
    FlSession *session = world_session(media->world, player->node);
    FlTime time = media->base + EVERY * picture;
    return media->by_lags ? fl__lags_when(fl__session_lags(session), time)
                          : fl_session_local_time(session, time);
}

static void take(Player *player, int32_t picture, FlTime local)
{
    Media *media = player->media;
    FlSession *session = world_session(media->world, player->node);
    int64_t row = (int64_t)player->node * media->count + picture;
    media->at[row] = world_time_of(media->world, player->node, local);
    for (int32_t of = 0; of < media->def->peers; of++) {
        FlPose pose;
        FlEntityId id = fl_entity_of_number(session, media->player[of].number);
        int64_t cell = row * media->def->peers + of;
        media->known[cell] =
            (of != player->node || media->by_lags) && fl_entity_pose_at(session, local, id, &pose);
        media->place[cell] = pose.position;
    }
}

/// Takes pictures at their moments. Where lags change their mind at that very moment there is none.
static FlTime look(void *ctx, World *world, FlTime now)
{
    Player *player = (Player *)ctx;
    const Media *media = player->media;
    FlTime local = world_local(world, player->node, now);
    for (; player->next < media->count && media->base != INT64_MIN; player->next++) {
        FlTime at = when(player, player->next);
        if (at > local) {
            FlTime then = world_time_of(world, player->node, at);
            return then > now ? fl_time_min(then, now + LOOK_EVERY) : now + 1;
        }
        if (local - at <= ROUNDING) {
            take(player, player->next, local);
        }
    }
    return now + LOOK_EVERY;
}

// ---------------------------------------------------------------- making it

static FlShowDef show_of(const TrialDef *def)
{
    FlShowDef show = fl_show_def_default();
    FlTime constant = trial_control_constant(def->control);
    show.hold = trial_is_perceptive(def->control) ? FL_HOLD_LAGS
                : constant > 0                    ? FL_HOLD_RECKONED
                                                  : FL_HOLD_AT_ONCE;
    show.delta_ns = constant;
    return show;
}

static FlResult add_node(Media *media, int32_t node, FlTopology topology)
{
    const TrialDef *trial = media->def;
    WorldNodeDef def = world_node_def_default();
    def.session.role = node == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.session.topology = topology;
    def.session.peer_capacity = trial->peers;
    def.session.tuning.direct_capacity = trial->peers;
    def.session.entity_capacity = trial->peers;
    def.session.tuning.item_capacity = 512;
    def.session.action_capacity = 64;
    def.session.tuning.lags = media->net.lags;
    def.session.tuning.show = show_of(trial);
    def.session.join_timeout_ns = PATIENCE;
    def.clock_offset = media->net.clock[node];
    def.clock_drift_ppm = (double)media->net.drift_ppb[node] / 1000.0;
    Player player = {.media = media, .node = node};
    media->player[node] = player;
    int32_t index;
    FlResult result = world_node_add(media->world, &def, &index);
    for (int32_t to = 0; to < node && result == FL_OK; to++) {
        FlImpairSettings way = media->net.way;
        way.delay_ns = media->net.delay[node][to];
        result = world_way_set(media->world, node, to, &way,
                               fl_impair_link((uint16_t)node, (uint16_t)to));
        way.delay_ns = media->net.delay[to][node];
        result = result == FL_OK ? world_way_set(media->world, to, node, &way,
                                                 fl_impair_link((uint16_t)to, (uint16_t)node))
                                 : result;
    }
    result = result == FL_OK ? world_actor_add(media->world, WORLD_MOVER, FL_US(600) * node, move,
                                               &media->player[node])
                             : result;
    return result == FL_OK
               ? world_actor_add(media->world, WORLD_LOOKER, FL_MS(1), look, &media->player[node])
               : result;
}

static FlResult make(Media *media, FlTopology topology)
{
    int32_t peers = media->def->peers;
    WorldDef def = world_def_default();
    def.seed = media->def->seed;
    def.node_capacity = peers;
    def.actor_capacity = 2 * peers;
    def.flight_capacity = 4096 + 256 * peers * peers;
    def.sealed = media->def->sealed;
    size_t pictures = (size_t)peers * (size_t)media->count;
    media->at = (FlTime *)calloc(pictures, sizeof *media->at);
    media->place = (FlVec3 *)calloc(pictures * (size_t)peers, sizeof *media->place);
    media->known = (bool *)calloc(pictures * (size_t)peers, sizeof *media->known);
    if (media->at == NULL || media->place == NULL || media->known == NULL) {
        return FL_NO_MEMORY;
    }
    for (size_t i = 0; i < pictures; i++) {
        media->at[i] = FL_FOREVER;
    }
    FlResult result = world_create(&def, &media->world);
    for (int32_t i = 0; i < peers && result == FL_OK; i++) {
        result = add_node(media, i, topology);
    }
    return result;
}

// ---------------------------------------------------------------- running

static bool is_ready(const Media *media)
{
    uint64_t all = (UINT64_C(1) << media->def->peers) - 1;
    bool ready = world_all_in(media->world);
    for (int32_t i = 0; i < media->def->peers && ready; i++) {
        FlLagsStatus status;
        FlTime local = world_local(media->world, i, world_now(media->world));
        (void)fl_session_lags(world_session(media->world, i), local, &status);
        ready = status.plays && status.members == all;
    }
    return ready;
}

static int64_t late_updates(const Media *media)
{
    int64_t late = 0;
    for (int32_t at = 0; at < media->def->peers; at++) {
        for (int32_t of = 0; of < media->def->peers; of++) {
            FlSession *session = world_session(media->world, at);
            int32_t slot = fl__entity_slot_of(session, media->player[of].number);
            const FlShow *show = of != at && slot >= 0 ? fl__entity_screen(session, slot) : NULL;
            late += show != NULL ? show->late : 0;
        }
    }
    return late;
}

static LabStatus play(Media *media, int64_t *late, LabError *error)
{
    FlTime until = JOINED;
    world_run(media->world, until);
    while (!is_ready(media) && until < PATIENCE) {
        until += FL_SEC(1);
        world_run(media->world, until);
    }
    if (!is_ready(media)) {
        return lab_fail(error, LAB_FAILED, "lags are not agreed on before %.0f s (seed %llu)",
                        fl_span_seconds(until), (unsigned long long)media->def->seed);
    }
    until += SETTLED;
    world_run(media->world, until);
    FlSession *host = world_session(media->world, 0);
    FlTime local = world_local(media->world, 0, until);
    media->base = media->by_lags ? fl__lags_play_time(fl__session_lags(host), local)
                                 : fl_session_time(host, local);
    media->base += FL_SEC(1); // it may have passed elsewhere
    *late = late_updates(media);
    world_run(media->world, until + FL_SEC(3) + EVERY * media->count);
    *late = late_updates(media) - *late;
    return LAB_OK;
}

// ---------------------------------------------------------------- comparing

static void compare(const Media *media, int32_t a, int32_t b, MediaFigures *figures)
{
    int32_t peers = media->def->peers;
    FlTime least = INT64_MAX, most = INT64_MIN;
    for (int32_t k = 0; k < media->count; k++) {
        int64_t one = (int64_t)a * media->count + k;
        int64_t other = (int64_t)b * media->count + k;
        if (media->at[one] == FL_FOREVER || media->at[other] == FL_FOREVER) {
            continue;
        }
        FlTime apart = media->at[one] - media->at[other];
        least = apart < least ? apart : least;
        most = apart > most ? apart : most;
        for (int32_t of = 0; of < peers; of++) {
            if (media->known[one * peers + of] && media->known[other * peers + of]) {
                double off = fl_vec3_distance(media->place[one * peers + of],
                                              media->place[other * peers + of]);
                figures->compared++;
                figures->differing += off > APART_M ? 1 : 0;
                figures->worst_m = off > figures->worst_m ? off : figures->worst_m;
            }
        }
    }
    FlTime longest = most > -least ? most : -least;
    figures->spread = longest > figures->spread ? longest : figures->spread;
    figures->error = most - least > figures->error ? most - least : figures->error;
}

static void measure(const Media *media, MediaFigures *figures, Tally *ages)
{
    int32_t peers = media->def->peers;
    for (int32_t a = 0; a < peers; a++) {
        for (int32_t b = 0; b < a; b++) {
            compare(media, a, b, figures);
        }
        for (int32_t k = 0; k < media->count; k++) {
            int64_t row = (int64_t)a * media->count + k;
            for (int32_t of = 0; of < peers && media->at[row] != FL_FOREVER; of++) {
                if (media->known[row * peers + of]) {
                    FlTime age = media->at[row] - time_of(media->place[row * peers + of]);
                    tally_add(ages, 1e3 * fl_span_seconds(age > 0 ? age : 0));
                }
            }
        }
    }
}

LabStatus media_run(const TrialDef *def, FlTopology topology, MediaFigures *figures, Tally *ages,
                    LabError *error)
{
    memset(figures, 0, sizeof *figures);
    Media media = {.def = def, .by_lags = trial_is_perceptive(def->control), .base = INT64_MIN};
    media.count = (int32_t)(def->length / EVERY);
    trial_network(def, &media.net);
    FlResult result = make(&media, topology);
    LabStatus status = result == FL_OK ? play(&media, &figures->late, error)
                                       : lab_fail_result(error, result, "making a network");
    if (status == LAB_OK) {
        measure(&media, figures, ages);
        figures->bound = trial_drift_bound(def, &media.net);
    }
    world_destroy(media.world);
    free(media.at);
    free(media.place);
    free(media.known);
    return status;
}
