// One race over one network: the world, the comparisons, the figures.
#include "lab/experiments/racing/racing_play.h"

#include <math.h>
#include <stdlib.h>

#include "lab/figures/jumps.h"
#include "lab/world/play.h"

/// Everybody joins, learns the time and reaches the others; then the race begins, not before this,
#define WARM_UP FL_SEC(8)
#define JOIN_LIMIT FL_SEC(60)

/// and the comparisons when the first updates are long there.
#define SETTLE FL_SEC(1)

/// Comparisons come this long after a sample, so that no update is due at just that moment: Δ is
/// about three samples, and clocks are not exact.
#define LOOK_AFTER FL_MS(8)

/// From the referee to anybody.
#define REFEREE_DELAY FL_US(500)

// ---------------------------------------------------------------- the network

static FlImpairSettings settings_of(const RaceWay *way)
{
    FlImpairSettings settings = fl_impair_def_default().settings;
    settings.delay_ns = (FlTime)(way->mean_ms * 1e6 + 0.5);
    settings.jitter_ns = (FlTime)(way->sd_ms * 1e6 + 0.5);
    settings.shape = way->sd_ms > 0.0 ? FL_SHAPE_PARETO_NORMAL : FL_SHAPE_CONSTANT;
    settings.loss_ppm = (int32_t)(way->loss * 1e6 + 0.5);
    return settings;
}

/// One of two equal parts that a way is made of.
static RaceWay half_of(const RaceWay *way)
{
    RaceWay half = {way->mean_ms / 2.0, way->sd_ms / sqrt(2.0), 1.0 - sqrt(1.0 - way->loss)};
    return half;
}

static FlResult set_way(RaceGame *game, int32_t from, int32_t to, const RaceWay *way)
{
    FlImpairSettings settings = settings_of(way);
    return world_way_set(game->world, from, to, &settings,
                         fl_impair_link((uint16_t)from, (uint16_t)to));
}

/// Through the server: half the way up, half the way down. The first player's uplink and the
/// others' downlinks make the first car's way.
static FlResult set_star(RaceGame *game)
{
    RaceWay first = half_of(&game->def->first);
    RaceWay others = half_of(&game->def->others);
    FlResult result = FL_OK;
    for (int32_t p = 0; p < game->def->race->car_count && result == FL_OK; p++) {
        int32_t node = race_node(game, p);
        result = set_way(game, node, 0, p == 0 ? &first : &others);
        result = result == FL_OK ? set_way(game, 0, node, p == 0 ? &others : &first) : result;
    }
    return result;
}

static FlResult set_mesh(RaceGame *game)
{
    int32_t cars = game->def->race->car_count;
    FlResult result = FL_OK;
    for (int32_t p = 0; p < cars && result == FL_OK; p++) {
        int32_t node = race_node(game, p);
        if (game->def->referee) {
            FlImpairSettings near = play_way(REFEREE_DELAY, 0, 0.0);
            result = world_ways_set(game->world, 0, node, &near);
        }
        for (int32_t q = 0; q < cars && result == FL_OK; q++) {
            if (q != p) {
                const RaceWay *way = p == 0 ? &game->def->first : &game->def->others;
                result = set_way(game, node, race_node(game, q), way);
            }
        }
    }
    return result;
}

static FlWorldDef geometry_of(const RacePlay *def)
{
    FlWorldDef world = fl_world_def_default();
    world.low = fl_vec3(def->race->low - 100.0, 0.0, 0.0);
    world.high = fl_vec3(def->race->high + 100.0, 0.0, 0.0);
    world.precision = 0.001;
    world.top_speed = 2.0 * def->race->top_speed;
    world.entity_capacity = (RACE_CARS + 1) * RACE_SCHEMES;
    return world;
}

static FlResult add_nodes(RaceGame *game)
{
    const RacePlay *def = game->def;
    FlRandom random = {.seed = def->seed, .stream = 11};
    int32_t cars = def->race->car_count;
    int32_t count = cars + (def->referee ? 1 : 0);
    FlResult result = FL_OK;
    for (int32_t i = 0; i < count && result == FL_OK; i++) {
        WorldNodeDef node_def = world_node_def_default();
        FlSessionDef *session = &node_def.session;
        session->role = i == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
        session->topology = def->topology;
        session->world = geometry_of(def);
        session->peer_capacity = count;
        session->tuning.direct_capacity = count;
        session->entity_capacity = count * def->scheme_count; // each has an even share of them
        session->tuning.path_capacity = 16;
        session->tuning.item_capacity = 4096;
        session->join_timeout_ns = JOIN_LIMIT;
        double offset = fl_random_between(&random, -1000.0, 1000.0);
        double drift = fl_random_between(&random, -20.0, 20.0);
        node_def.clock_offset = fl_span_from_seconds(offset);
        node_def.clock_drift_ppm = drift;
        int32_t node;
        result = world_node_add(game->world, &node_def, &node);
    }
    return result;
}

// ---------------------------------------------------------------- comparing

/// Where a player sees a car: on the grid until there is something to show.
static double shown_at(RaceGame *game, int32_t player, int32_t c, int32_t s, FlTime now)
{
    int32_t node = race_node(game, player);
    FlSession *session = world_session(game->world, node);
    FlTime local = world_local(game->world, node, now);
    RaceView *view = race_view(game, player, c, s);
    FlPose pose = {0};
    bool shown = false;
    if (c == player) {
        FlTime time = fl_session_time(session, local);
        const FlShow *own = &race_car(game, c, s)->own;
        shown = fl_show_pose(own, time, &pose) == FL_OK;
        game->sums[s].lag += (double)(time - fl_show_time(own, time));
        game->sums[s].looks++;
    } else if (view->id.index1 != 0) {
        shown = fl_entity_pose_at(session, local, view->id, &pose);
    }
    if (!shown) {
        pose.position.x = game->def->race->cars[c].progress[0];
    }
    (void)jumps_see(&view->jumps, now, pose.position, 0);
    return pose.position.x;
}

/// Two players, each with its car and the other's.
static void compare_pair(RaceSums *sums, bool with_first, double a_at_a, double b_at_a,
                         double a_at_b, double b_at_b)
{
    sums->comparisons++;
    sums->disagreements += (a_at_a > b_at_a) != (a_at_b > b_at_b) ? 1 : 0;
    if (with_first) {
        sums->pairs++;
        sums->first += a_at_a - a_at_b;
        sums->others += b_at_b - b_at_a;
    }
}

static void compare_scheme(RaceGame *game, int32_t s, FlTime now)
{
    int32_t cars = game->def->race->car_count;
    double at[RACE_CARS][RACE_CARS]; // by player, then by car
    for (int32_t p = 0; p < cars; p++) {
        for (int32_t c = 0; c < cars; c++) {
            at[p][c] = shown_at(game, p, c, s, now);
        }
    }
    for (int32_t a = 0; a < cars; a++) {
        for (int32_t b = a + 1; b < cars; b++) {
            compare_pair(&game->sums[s], a == 0, at[a][a], at[a][b], at[b][a], at[b][b]);
        }
    }
}

static void watch_clocks(RaceGame *game, FlTime now)
{
    FlTime host = fl_session_time(world_session(game->world, 0), world_local(game->world, 0, now));
    for (int32_t p = 0; p < game->def->race->car_count; p++) {
        int32_t node = race_node(game, p);
        const FlSession *session = world_session(game->world, node);
        FlTime time = fl_session_time(session, world_local(game->world, node, now));
        game->clock_sum += fabs((double)(time - host));
        game->clock_count += node != 0 ? 1 : 0;
    }
}

FlTime race_compare(void *ctx, World *world, FlTime now)
{
    (void)world;
    RaceGame *game = (RaceGame *)ctx;
    const RaceTrack *track = &game->def->race->cars[0];
    for (int32_t s = 0; s < game->def->scheme_count; s++) {
        compare_scheme(game, s, now);
    }
    watch_clocks(game, now);
    game->look++;
    return game->look < track->count && track->time[game->look] <= game->def->race->length
               ? game->begin + track->time[game->look] + LOOK_AFTER
               : FL_FOREVER;
}

// ---------------------------------------------------------------- a run

/// Does everybody talk directly with everybody?
static bool all_met(const RaceGame *game)
{
    if (!world_all_in(game->world)) {
        return false;
    }
    for (int32_t p = 0; p < game->def->race->car_count; p++) {
        const FlSession *session = world_session(game->world, race_node(game, p));
        int32_t direct = 0;
        for (FlPeerId id = {0}; fl_peer_next(session, &id);) {
            FlPeerStatus status;
            direct += fl_peer_status(session, id, &status) == FL_OK && status.direct ? 1 : 0;
        }
        if (game->def->topology == FL_TOPOLOGY_MESH && direct + 1 < world_node_count(game->world)) {
            return false;
        }
    }
    return true;
}

static FlTime gather(RaceGame *game)
{
    for (FlTime t = FL_SEC(1); t <= JOIN_LIMIT && !all_met(game); t += FL_SEC(1)) {
        world_run(game->world, t);
    }
    FlTime begin = world_now(game->world) + FL_SEC(3);
    begin = begin > WARM_UP ? begin : WARM_UP;
    world_run(game->world, begin);
    return begin;
}

static FlResult enter(RaceGame *game)
{
    const Race *race = game->def->race;
    FlResult result = race_cars_start(game);
    for (int32_t c = 0; c < race->car_count && result == FL_OK; c++) {
        game->drivers[c] = (RaceDriver){game, c, 0};
        result = world_actor_add(game->world, WORLD_MOVER, game->begin + race->cars[c].time[0],
                                 race_drive, &game->drivers[c]);
    }
    const RaceTrack *track = &race->cars[0];
    while (game->look < track->count - 1 && track->time[game->look] < SETTLE) {
        game->look++;
    }
    FlTime first = game->begin + track->time[game->look] + LOOK_AFTER;
    return result == FL_OK ? world_actor_add(game->world, WORLD_LOOKER, first, race_compare, game)
                           : result;
}

static LabStatus run_race(RaceGame *game, LabError *error)
{
    const RacePlay *def = game->def;
    WorldDef world = world_def_default();
    world.seed = def->seed;
    world.sealed = def->sealed;
    world.node_capacity = RACE_CARS + 1;
    world.actor_capacity = RACE_CARS + 1;
    FlResult result = world_create(&world, &game->world);
    result = result == FL_OK ? add_nodes(game) : result;
    if (result == FL_OK) {
        result = def->topology == FL_TOPOLOGY_STAR ? set_star(game) : set_mesh(game);
    }
    if (result != FL_OK) {
        return lab_fail_result(error, result, "setting up the world");
    }
    game->begin = gather(game);
    if (!all_met(game)) {
        return lab_fail(error, LAB_FAILED, "%s: the players do not reach each other",
                        def->race->name);
    }
    result = enter(game);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "starting the race");
    }
    world_run(game->world, game->begin + def->race->length + LOOK_AFTER);
    uint64_t relayed = fl_session_count(world_session(game->world, 0), FL_SESSION_UPDATES_RELAYED);
    if (def->topology == FL_TOPOLOGY_MESH && relayed > 0) {
        return lab_fail(error, LAB_FAILED, "%s: an update took a short cut through the host",
                        def->race->name);
    }
    return play_check(game->world, error);
}

static RaceFigures figures_of(const RaceGame *game, int32_t s)
{
    const RaceSums *sums = &game->sums[s];
    int32_t cars = game->def->race->car_count;
    uint64_t jumps = 0;
    int64_t told = 0;
    for (int32_t c = 0; c < cars; c++) {
        told += race_car(game, c, s)->sent;
        for (int32_t p = 0; p < cars; p++) {
            jumps += race_view(game, p, c, s)->jumps.jump_count;
        }
    }
    double seconds = fl_span_seconds(game->def->race->length);
    double watched = seconds - fl_span_seconds(SETTLE);
    RaceFigures figures = {
        .comparisons = sums->comparisons,
        .inconsistency = (double)sums->disagreements / (double)sums->comparisons,
        .first = sums->first / (double)sums->pairs / RACE_CAR_LENGTH,
        .others = sums->others / (double)sums->pairs / RACE_CAR_LENGTH,
        .updates_per_second = (double)told / cars / seconds,
        .own_lag_ms = sums->lag / (double)sums->looks * 1e-6,
        .jumps_per_minute = (double)jumps / cars / (watched / 60.0),
        .clock_ms = game->clock_sum / (double)game->clock_count * 1e-6,
    };
    figures.difference = figures.first - figures.others;
    return figures;
}

LabStatus race_play(const RacePlay *play, RaceFigures *figures, LabError *error)
{
    size_t cars = (size_t)play->race->car_count;
    size_t schemes = (size_t)play->scheme_count;
    RaceGame game = {.def = play};
    game.cars = (RaceCar *)calloc(cars * schemes, sizeof *game.cars);
    game.views = (RaceView *)calloc(cars * cars * schemes, sizeof *game.views);
    game.sums = (RaceSums *)calloc(schemes, sizeof *game.sums);
    LabStatus status = game.cars != NULL && game.views != NULL && game.sums != NULL
                           ? run_race(&game, error)
                           : lab_fail(error, LAB_FAILED, "out of memory");
    for (int32_t s = 0; s < play->scheme_count && status == LAB_OK; s++) {
        figures[s] = figures_of(&game, s);
        if (figures[s].comparisons == 0) {
            status = lab_fail(error, LAB_FAILED, "%s: nothing was compared", play->race->name);
        }
    }
    world_destroy(game.world);
    free(game.cars);
    free(game.views);
    free(game.sums);
    return status;
}
