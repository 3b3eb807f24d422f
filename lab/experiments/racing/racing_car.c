// A player at the wheel: takes a sample, tells the others if need be, keeps the own picture, and
// agrees with the others on Δ.
#include <math.h>

#include "lab/experiments/racing/racing_play.h"
#include "lab/figures/jumps.h"

/// No longer than the fixed Δ, so that adaptive schemes pay for nothing but with consistency.
static FlDeltaDef delta_def(const FlShowDef *show)
{
    FlDeltaDef def = fl_delta_def_default();
    def.initial_ns = show->delta_ns;
    def.high_ns = show->delta_ns;
    return def;
}

static FlShowDef show_of(const RaceGame *game, const RaceScheme *scheme)
{
    FlShowDef def = scheme->show;
    def.speed_limit = (1.0 + 0.5 * JUMP_TOLERANCE) * game->def->race->top_speed;
    return def;
}

static FlResult start_car(RaceGame *game, int32_t c, int32_t s)
{
    const RaceScheme *scheme = &game->def->schemes[s];
    RaceCar *car = race_car(game, c, s);
    FlSession *session = world_session(game->world, race_node(game, c));
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    def.trigger = (FlTriggerDef){(double)INFINITY, (double)INFINITY, 1}; // whenever it is handed in
    car->id = fl_entity_create(session, &def);
    FlEntityStatus status;
    FlResult result = fl_entity_status(session, car->id, &status);
    if (result != FL_OK) {
        return result;
    }
    car->number = status.number;
    FlShowDef show = show_of(game, scheme);
    fl_show_init(&car->own, &show);
    FlShowDef guess = fl_show_def_default();
    guess.placement = scheme->show.placement;
    guess.convergence = FL_CONVERGENCE_AT_ONCE; // where others place it
    fl_show_init(&car->guess, &guess);
    FlDeltaDef delta = delta_def(&scheme->show);
    fl_delta_control_init(&car->control, &delta);
    for (int32_t p = 0; p < game->def->race->car_count; p++) {
        jumps_init(&race_view(game, p, c, s)->jumps, game->def->race->top_speed);
    }
    return FL_OK;
}

FlResult race_cars_start(RaceGame *game)
{
    FlResult result = FL_OK;
    for (int32_t c = 0; c < game->def->race->car_count && result == FL_OK; c++) {
        for (int32_t s = 0; s < game->def->scheme_count && result == FL_OK; s++) {
            result = start_car(game, c, s);
        }
    }
    return result;
}

// ---------------------------------------------------------------- telling

/// The sample as an owner knows it: velocity from the last two.
static FlState sample_at(const RaceTrack *track, int32_t i)
{
    FlState state = {.position = fl_vec3(track->progress[i], 0.0, 0.0)};
    int32_t from = i > 0 ? i - 1 : i;
    int32_t to = i > 0 ? i : i + 1;
    double span = fl_span_seconds(track->time[to] - track->time[from]);
    double way = track->progress[to] - track->progress[from];
    state.velocity = fl_vec3(way / span, 0.0, 0.0);
    return state;
}

/// So many samples are sent in any case: a prediction needs two or three to start from, and one may
/// get lost.
#define FIRST_SENT 5

/// Would those who predict be too far off?
static bool must_tell(const RaceScheme *scheme, const RaceCar *car, const FlState *truth)
{
    FlPose pose;
    if (scheme->show.placement == FL_PLACEMENT_SNAP || car->sent < FIRST_SENT ||
        fl_show_placed(&car->guess, truth->time, &pose) != FL_OK) {
        return true;
    }
    double off = fabs(pose.position.x - truth->position.x);
    return off > scheme->threshold * RACE_CAR_LENGTH;
}

/// `truth` is by session time, `local` the same moment on the player's own clock.
static void tell(const RaceScheme *scheme, RaceCar *car, FlSession *session, const FlState *truth,
                 FlTime local)
{
    if (!scheme->sent) {
        (void)fl_show_own(&car->own, FL_MODEL_LINEAR, truth, 0);
    }
    if (!must_tell(scheme, car, truth)) {
        return;
    }
    FlState handed = *truth;
    handed.time = local;
    FlPose sent;
    if (fl_entity_set(session, car->id, &handed) != FL_OK ||
        !fl_entity_pose_at(session, local, car->id, &sent)) {
        return;
    }
    car->sent++;
    FlState exported = *truth; // what travelled, rounded
    exported.position = sent.position;
    exported.velocity = sent.velocity;
    (void)fl_show_own(&car->guess, FL_MODEL_LINEAR, &exported, 0);
    if (scheme->sent) {
        (void)fl_show_own(&car->own, FL_MODEL_LINEAR, &exported, 0);
    }
}

// ---------------------------------------------------------------- others' cars

/// Finds the others' cars that were heard of meanwhile, and shows them by their schemes.
static void notice_others(RaceGame *game, int32_t player, FlSession *session)
{
    for (int32_t c = 0; c < game->def->race->car_count; c++) {
        for (int32_t s = 0; s < game->def->scheme_count && c != player; s++) {
            RaceView *view = race_view(game, player, c, s);
            FlEntityId id = view->id;
            if (id.index1 == 0) {
                id = fl_entity_of_number(session, race_car(game, c, s)->number);
                FlShowDef show = show_of(game, &game->def->schemes[s]);
                bool shown = id.index1 != 0 && fl_entity_show(session, id, &show) == FL_OK;
                view->id = shown ? id : view->id;
            }
        }
    }
}

// ---------------------------------------------------------------- one Δ for all

static void measure(RaceGame *game, int32_t player, int32_t scheme, FlSession *session)
{
    for (int32_t c = 0; c < game->def->race->car_count; c++) {
        RaceView *view = race_view(game, player, c, scheme);
        FlEntityStatus status;
        if (c == player || fl_entity_status(session, view->id, &status) != FL_OK ||
            status.received_at == FL_FOREVER || status.received_at == view->received_at) {
            continue;
        }
        view->received_at = status.received_at;
        fl_delta_control_arrived(&race_car(game, player, scheme)->control, c, status.received,
                                 status.received_at);
    }
}

/// Messages of an adaptive scheme are events of its number.
static void hear(RaceGame *game, int32_t player, FlSession *session, FlTime time)
{
    FlEvent event;
    while (fl_event_take(session, &event) == FL_OK) {
        if (event.type < game->def->scheme_count) {
            (void)fl_delta_control_receive(&race_car(game, player, event.type)->control,
                                           event.bytes, event.count, time);
        }
    }
}

static void change_delta(RaceGame *game, int32_t player, int32_t scheme, FlSession *session,
                         const FlDeltaChange *change)
{
    (void)fl_show_delta(&race_car(game, player, scheme)->own, change->delta_ns, change->from);
    for (int32_t c = 0; c < game->def->race->car_count; c++) {
        if (c != player) { // who is not heard of yet begins with the first Δ
            FlEntityId id = race_view(game, player, c, scheme)->id;
            FlResult changed = fl_entity_delta(session, id, change);
            (void)changed;
        }
    }
}

static void speak(RaceCar *car, int32_t scheme, FlSession *session, FlTime time)
{
    uint8_t bytes[FL_DELTA_BYTES];
    if (!fl_delta_control_next(&car->control, time, bytes)) {
        return;
    }
    FlEvent event = {.type = (uint16_t)scheme,
                     .delivery = FL_DELIVERY_UNORDERED,
                     .bytes = bytes,
                     .count = FL_DELTA_BYTES};
    FlResult sent = fl_event_send(session, (FlPeerId){0}, &event); // if not now, then the next one
    (void)sent;
}

static void agree(RaceGame *game, int32_t player, FlSession *session, FlTime time)
{
    hear(game, player, session, time);
    for (int32_t s = 0; s < game->def->scheme_count; s++) {
        if (game->def->schemes[s].show.hold != FL_HOLD_ADAPTIVE) {
            continue;
        }
        RaceCar *car = race_car(game, player, s);
        FlDeltaChange change;
        measure(game, player, s, session);
        if (fl_delta_control_update(&car->control, time, &change)) {
            change_delta(game, player, s, session, &change);
        }
        speak(car, s, session, time);
    }
}

FlTime race_drive(void *ctx, World *world, FlTime now)
{
    RaceDriver *driver = (RaceDriver *)ctx;
    RaceGame *game = driver->game;
    const RaceTrack *track = &game->def->race->cars[driver->car];
    int32_t node = race_node(game, driver->car);
    FlSession *session = world_session(world, node);
    FlTime local = world_local(world, node, now);
    FlState truth = sample_at(track, driver->next);
    truth.time = fl_session_time(session, local);
    notice_others(game, driver->car, session);
    agree(game, driver->car, session, truth.time);
    for (int32_t s = 0; s < game->def->scheme_count; s++) {
        tell(&game->def->schemes[s], race_car(game, driver->car, s), session, &truth, local);
    }
    world_touch(world, node);
    driver->next++;
    return driver->next < track->count ? game->begin + track->time[driver->next] : FL_FOREVER;
}
