// Racing over a session: own cars tick by tick.
//
// How the game travels. The host's entity of kind PLAY_KIND_RACE carries the race in its blob:
// course, laps, who has which place on the grid, when it starts. A car is an entity of kind
// PLAY_KIND_CAR; its blob says what cannot be seen: finish, contacts, and roughly how far it is, so
// that who comes late counts the same laps. Every new round is a cut.
//
// Every node drives its own cars by racing_step_one among the others as it sees them. What a driver
// sees follows the scheme that the host chose (--show): in those that hold, everything is shown as
// of Δ ago, the own car too, and bots decide by that picture. Contacts are felt where the own car
// really is: others are carried on by Δ, straight.
//
// An owner tells of its car when those who predict it would be too far off; it asks an FlShow of
// the same placement. Where nobody predicts it tells 30 times a second.
//
// Invariant: an own car of round race.round is at `node->tick`.
#include "app/play/play_racing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

#define THRESHOLD_M 0.16        // a tenth of a car
#define SILENCE FL_MS(500)      // who missed the last update needs another
#define SAMPLE_TICKS 2          // between two updates where nobody predicts
#define KEY_STEER 40            // of 63: keys know no half way
#define APPLICATION 0x52433031u // raise it when physics, blobs or the world change

// ---------------------------------------------------------------- places

int32_t play_racing_own_at(const PlayNode *node, int32_t place)
{
    const PlayRacing *match = play_racing_of(node);
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i) && match->own[i].place == place) {
            return i;
        }
    }
    return -1;
}

PlayCarStatus play_racing_own_status(const PlayRacing *match, const PlayCar *own)
{
    double half = racing_length_m(match->game) / 2.0;
    FlTime finish = own->car.finish_ns;
    PlayCarStatus status = {.round = own->round,
                            .half_laps = (int32_t)floor(own->car.progress / half),
                            .finish_ns = finish < 0 ? -1 : finish / 1000 * 1000,
                            .contacts = own->car.contact_count,
                            .borders = own->car.border_count};
    return status;
}

bool play_racing_status(const PlayNode *node, int32_t place, PlayCarStatus *status)
{
    const PlayRacing *match = play_racing_of(node);
    *status = match->told[place];
    return status->round == match->race.round && match->race.round != 0 &&
           (match->race.number[place] >= 0 || status->finish_ns >= 0);
}

static bool make_car(PlayNode *node, int32_t own)
{
    PlayRacing *match = play_racing_of(node);
    if (match->race.round == 0) {
        return false; // the host's word is under way
    }
    FlEntityDef def = fl_entity_def_default();
    def.kind = PLAY_KIND_CAR;
    def.model = FL_MODEL_LINEAR;
    def.trigger = (FlTriggerDef){(double)INFINITY, (double)INFINITY, 1}; // we say when
    PlayCar *made = &match->own[own];
    made->number = play_own_make(node, own, def);
    made->place = -1;
    if (made->number < 0) {
        return false;
    }
    FlShowDef guess = fl_show_def_default();
    guess.placement = match->show.placement;
    guess.convergence = FL_CONVERGENCE_AT_ONCE; // where others place it
    fl_show_init(&made->guess, &guess);
    fl_show_init(&made->own, &match->show);
    return true;
}

// Puts own cars on the grid of a new round, or of a new place.
static void take_places(PlayNode *node)
{
    PlayRacing *match = play_racing_of(node);
    for (int32_t i = 0; i < node->own_count; i++) {
        PlayCar *own = &match->own[i];
        int32_t place = -1;
        for (int32_t p = 0; p < PLAY_PLACES && play_own_there(node, i); p++) {
            place = match->race.number[p] == own->number ? p : place;
        }
        bool moved = place != own->place || own->round != match->race.round;
        own->place = place;
        if (place < 0 || !moved) {
            continue;
        }
        RacingState grid;
        racing_start(match->game, &grid);
        own->car = grid.car[place];
        own->round = match->race.round;
        own->life++;
        snprintf(node->own[i].name, sizeof node->own[i].name, "%c", 'A' + place);
        FlResult result = fl_entity_cut(node->session, node->own[i].entity);
        play_expect(node, PLAY_SET_REFUSED, result == FL_OK);
    }
}

// ---------------------------------------------------------------- driving

static RacingInput keys_input(const PlayKeys *keys, const RacingCar *car)
{
    double sin_yaw, cos_yaw;
    fl_sincos(car->yaw, &sin_yaw, &cos_yaw);
    bool rolls = car->vx * cos_yaw + car->vy * sin_yaw > 1.0;
    RacingInput input = {.steer = (int8_t)(KEY_STEER * keys->turn)};
    if (keys->drive > 0.0) {
        input.throttle = 15;
    } else if (keys->drive < 0.0) {
        input.brake = rolls ? 15 : 0;
        input.throttle = rolls ? 0 : -15;
    }
    return input;
}

// Bots measure themselves against others. One that sees nobody has a rival as fast as itself, far
// aside.
static void add_company(RacingState *view, int32_t place)
{
    for (int32_t p = 0; p < view->car_count; p++) {
        if (p != place && view->car[p].progress > PLAY_PARKED) {
            return;
        }
    }
    RacingCar *company = &view->car[place == 0 ? 1 : 0];
    company->progress = view->car[place].progress;
    company->vx = view->car[place].vx;
    company->vy = view->car[place].vy;
}

static RacingInput decide(const PlayNode *node, int32_t own)
{
    const PlayRacing *match = play_racing_of(node);
    int32_t place = match->own[own].place;
    if (node->own[own].keys) {
        return keys_input(&node->keys, &match->own[own].car);
    }
    RacingState seen = match->view;
    add_company(&seen, place);
    return racing_bot_drive(match->game, node->seed, &seen, place);
}

// How old what is shown is.
static FlTime lag_of(const PlayRacing *match, const PlayCar *own, FlTime time)
{
    return match->show.hold == FL_HOLD_AT_ONCE ? 0 : fl_span(time, fl_show_time(&own->own, time));
}

// The cars among which an own one drives: own ones where they are, others carried on to now.
static RacingState road_at(const PlayNode *node, const PlayCar *me, FlTime time)
{
    const PlayRacing *match = play_racing_of(node);
    RacingState road = match->view;
    double lag_s = fl_span_seconds(lag_of(match, me, time));
    for (int32_t p = 0; p < road.car_count; p++) {
        RacingCar *car = &road.car[p];
        int32_t own = play_racing_own_at(node, p);
        if (own >= 0) {
            *car = match->own[own].car;
        } else {
            car->x += car->vx * lag_s;
            car->y += car->vy * lag_s;
        }
    }
    return road;
}

// All own cars start from the same moment, so that their order does not matter.
static void drive_all(PlayNode *node, FlTime time)
{
    PlayRacing *match = play_racing_of(node);
    RacingCar next[PLAY_PLACES];
    for (int32_t i = 0; i < node->own_count; i++) {
        const PlayCar *own = &match->own[i];
        if (own->place >= 0) {
            RacingState road = road_at(node, own, time);
            racing_step_one(match->game, &road, own->place, decide(node, i));
            next[i] = road.car[own->place];
        }
    }
    for (int32_t i = 0; i < node->own_count; i++) {
        if (match->own[i].place >= 0) {
            match->own[i].car = next[i];
        }
    }
}

// ---------------------------------------------------------------- telling

static bool must_tell(const PlayRacing *match, const PlayCar *own, const FlState *truth,
                      int64_t tick)
{
    FlPose pose;
    if (match->show.placement == FL_PLACEMENT_SNAP) {
        return tick % SAMPLE_TICKS == 0;
    }
    return fl_show_life(&own->guess, truth->time) != own->life ||
           fl_span(truth->time, own->told) >= SILENCE ||
           fl_show_placed(&own->guess, truth->time, &pose) != FL_OK ||
           fl_vec3_distance(pose.position, truth->position) > THRESHOLD_M;
}

static void publish(PlayNode *node, int32_t i)
{
    PlayRacing *match = play_racing_of(node);
    PlayCar *own = &match->own[i];
    FlEntityId id = node->own[i].entity;
    FlTime time = play_tick_time(node, node->tick);
    FlState truth = racing_car_state(&own->car, time);
    (void)fl_show_own(&own->own, FL_MODEL_LINEAR, &truth, own->life);
    if (must_tell(match, own, &truth, node->tick)) {
        play_own_set(node, i, truth);
        play_tally(node, PLAY_TOLD);
        own->told = time;
        FlPose told; // as it travels, rounded
        if (fl_entity_pose_at(node->session, fl_session_local_time(node->session, time), id,
                              &told)) {
            truth.position = told.position;
            truth.velocity = told.velocity;
        }
        (void)fl_show_own(&own->guess, FL_MODEL_LINEAR, &truth, own->life);
    }
    PlayCarStatus status = play_racing_own_status(match, own);
    uint8_t bytes[PLAY_CAR_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    play_car_write(&writer, &status);
    play_blob_set(node, id, &writer);
}

// ---------------------------------------------------------------- ticks

static void tick(PlayNode *node)
{
    PlayRacing *match = play_racing_of(node);
    const PlayRace *race = &match->race;
    if (match->game != NULL) {
        FlTime time = play_tick_time(node, node->tick);
        int64_t race_tick = node->tick - race->start;
        bool running = race->phase != PLAY_GATHERING && race_tick >= 0 && race_tick < INT32_MAX;
        take_places(node);
        match->view.tick = running ? (int32_t)race_tick : 0;
        if (running) {
            play_racing_show(node, time);
            drive_all(node, time);
        }
    }
    node->tick++;
    for (int32_t i = 0; i < node->own_count; i++) {
        if (match->game != NULL && play_own_there(node, i) && match->own[i].place >= 0) {
            publish(node, i);
        }
    }
}

static void skip(PlayNode *node)
{
    (void)node; // cars know no ticks
}

static void look(PlayNode *node, FlTime now)
{
    FlPeerId host = fl_peer_host(node->session);
    FlPeerId self = fl_peer_self(node->session);
    if (host.index1 == self.index1 && host.generation == self.generation) {
        play_race_direct(node, play_tick_at(node, fl_session_time(node->session, now)));
    } else {
        play_race_follow(node);
    }
    if (play_racing_of(node)->game != NULL) {
        play_racing_look(node, now);
    }
}

static void forgive(PlayNode *node)
{
    (void)node; // nothing hangs on events
}

// ---------------------------------------------------------------- the table

static const PlayCount counts[] = {
#define PLAY_RACING_COUNT(name, word, fault, meaning) {word, fault},
    PLAY_RACING_TABLE(PLAY_RACING_COUNT)
#undef PLAY_RACING_COUNT
};

const char *play_racing_scheme(FlShowScheme scheme)
{
    static const char *const words[] = {
#define ROW(name, word, hold, placement, convergence) word,
        FL_SHOW_SCHEME_TABLE(ROW)
#undef ROW
    };
    return words[scheme];
}

static bool find_scheme(const char *name, FlShowScheme *scheme)
{
    for (int32_t i = 0; i < FL_SHOW_SCHEME_COUNT; i++) {
        *scheme = (FlShowScheme)i;
        if (strcmp(play_racing_scheme(*scheme), name) == 0) {
            return true;
        }
    }
    return false;
}

static int check(const char *who, const PlayRules *rules)
{
    RacingCourse course;
    FlShowScheme scheme;
    if (rules->course != NULL && racing_course_find(rules->course, &course) != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, who, "--course: '%s' is none of ring, bean, serpent",
                            rules->course);
    }
    if (rules->show != NULL && !find_scheme(rules->show, &scheme)) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--show: '%s' is none of nc, causality, dr, dr+causality, adaptive, "
                            "best",
                            rules->show);
    }
    return OPTIONS_GO_ON;
}

// Room for all courses.
static FlWorldDef wire_world(void)
{
    RacingDef def = racing_def_default();
    FlWorldDef world = fl_world_def_default();
    world.low = fl_vec3(-50.0, -20.0, 0.0);
    world.high = fl_vec3(160.0, 170.0, 0.0);
    world.precision = 0.01;
    world.top_speed = RACING_SPEED_BOUND * def.top_speed_m_s;
    world.top_acceleration = 60.0;
    world.top_turn_rate = 10.0;
    world.angle_precision = 0.005;
    world.entity_capacity = 256;
    world.application_version = APPLICATION;
    return world;
}

static FlResult open_race(PlayNode *node, const PlayRules *rules)
{
    PlayRacing *match = calloc(1, sizeof *match);
    node->match = match;
    if (match == NULL) {
        return FL_NO_MEMORY;
    }
    PlayRace *plan = &match->plan;
    plan->course = racing_def_default().course;
    plan->show = FL_SHOW_SCHEME_BEST;
    plan->seed = node->seed;
    plan->laps = rules != NULL && rules->laps >= 0 ? (int32_t)rules->laps : 3;
    plan->cars = rules != NULL && rules->cars >= 0 ? (int32_t)rules->cars : PLAY_PLACES;
    plan->races = rules != NULL && rules->races >= 0 ? (int32_t)rules->races : 0;
    if (rules != NULL && rules->course != NULL) {
        FlResult found = racing_course_find(rules->course, &plan->course);
        FL_ASSERT(found == FL_OK); // check has seen it
    }
    if (rules != NULL && rules->show != NULL) {
        bool found = find_scheme(rules->show, &plan->show);
        FL_ASSERT(found);
    }
    for (int32_t p = 0; p < PLAY_PLACES; p++) {
        plan->number[p] = -1;
        match->race.number[p] = -1;
    }
    return FL_OK;
}

static void close_race(PlayNode *node)
{
    PlayRacing *match = play_racing_of(node);
    if (match != NULL) {
        racing_destroy(match->game);
        free(match);
    }
}

// The host stays until everybody has heard of it, or long enough.
static bool over(const PlayNode *node)
{
    const PlayRacing *match = play_racing_of(node);
    bool hosts = match->director.index1 != 0;
    int64_t patience = 5 * (int64_t)node->game->tick_hz;
    return match->race.phase == PLAY_CLOSED &&
           (!hosts || fl_peer_count(node->session) == 0 || node->tick > match->since + patience);
}

static uint64_t differs(const PlayNode *node)
{
    (void)node;
    return 0;
}

const PlayGame play_racing = {
    .name = "racing",
    .thing = "car",
    .keys = "w a s d or arrows: throttle, brake and steer; q: quit",
    .topology = FL_TOPOLOGY_MESH,
    .tick_hz = RACING_TICK_HZ,
    .own_max = PLAY_PLACES,
    .host_entities = 1,
    .counts = counts,
    .count_count = sizeof counts / sizeof *counts,
    .check = check,
    .world = wire_world,
    .open = open_race,
    .close = close_race,
    .make = make_car,
    .look = look,
    .tick = tick,
    .skip = skip,
    .hear = play_racing_hear,
    .tell = play_racing_tell,
    .forgive = forgive,
    .over = over,
    .differs = differs,
    .seen = play_racing_seen,
    .draw = play_racing_draw,
    .page_map = play_racing_map,
    .thing_json = play_racing_json,
    .node_json = play_racing_node_json,
    .sum_json = play_racing_sum_json,
    .sum_line = play_racing_sum_line,
};
