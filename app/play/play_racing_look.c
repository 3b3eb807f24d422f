// What a node sees of the others' cars: poses from the session, blobs, and what both must fulfil.
//
// A car is seen once its blob of this round is here and it has been heard of. Its progress follows
// from where it is shown; only where it appears or jumps (a new round) the blob says in which lap.
// What is checked while looking, for every other car:
//
//   - it is on the road, but for what it may have driven since its newest update;
//   - its progress as shown is what its owner tells, to a quarter of a lap and a few seconds;
//   - rounds, contacts and finishes in its blobs never go back, and no finish is too early.
//
// With an adaptive delay the nodes agree on it by events of FL_DELTA_BYTES (FlDeltaControl).
#include "app/play/play_racing.h"

#include "fairlead/session.h"
#include "lab/figures/jumps.h"

#include <math.h>
#include <string.h>

#define EVENT_DELTA 1
#define JUMP_M 10.0            // further than any car gets in a frame
#define MARGIN_S 0.5           // of driving: an update may have been told from a later time
#define MARGIN_M 3.0           // steps, and the trigger's distance
#define BLOB_S 2.0             // of driving: blobs may be so much older than poses
#define AGREE_WITHIN FL_SEC(5) // progress as shown and as told
#define AWAY_M 1e4             // where cars are that are not there

static double speed_bound(const PlayRacing *match)
{
    return RACING_SPEED_BOUND * racing_def(match->game)->top_speed_m_s;
}

// ---------------------------------------------------------------- blobs

static void check_status(PlayNode *node, const PlayCarStatus *old, const PlayCarStatus *status)
{
    const PlayRacing *match = play_racing_of(node);
    bool same = old->round == status->round;
    bool kept = old->finish_ns < 0 || old->finish_ns == status->finish_ns;
    bool grown = old->contacts <= status->contacts && old->borders <= status->borders;
    play_expect(node, PLAY_STATUS_BACK, status->round >= old->round && (!same || (kept && grown)));
    if (status->round == match->race.round && status->finish_ns >= 0) {
        double way = match->race.laps * racing_length_m(match->game);
        double seconds = fl_span_seconds(status->finish_ns);
        play_expect(node, PLAY_TOO_FAST, seconds * speed_bound(match) >= way);
    }
}

static void read_status(PlayNode *node, int32_t place)
{
    PlayRacing *match = play_racing_of(node);
    PlayRival *rival = &match->rivals[place];
    const uint8_t *bytes;
    int32_t count;
    if (fl_entity_state_get(node->session, rival->entity, &bytes, &count) != FL_OK || count == 0) {
        return; // not there yet
    }
    PlayCarStatus status;
    bool good = play_car_read(bytes, count, &status);
    play_expect(node, PLAY_BAD_STATUS, good);
    if (good) {
        check_status(node, &rival->status, &status);
        rival->status = status;
        if (status.round == match->race.round) {
            match->told[place] = status;
        }
    }
}

// Who has the place now, if it is somebody else.
static bool find_rival(PlayNode *node, int32_t place, FlEntityStatus *status)
{
    PlayRacing *match = play_racing_of(node);
    PlayRival *rival = &match->rivals[place];
    int32_t number = match->race.number[place];
    FlEntityId id = {0};
    if (number >= 0) {
        id = fl_entity_of_number(node->session, (uint32_t)number);
    }
    if (fl_entity_status(node->session, id, status) != FL_OK || status->ours ||
        status->kind != PLAY_KIND_CAR) {
        *rival = (PlayRival){.odd_since = FL_FOREVER};
        return false;
    }
    if (!play_same_entity(rival->entity, id)) { // somebody else's by now
        *rival = (PlayRival){.entity = id, .odd_since = FL_FOREVER};
        rival->status.finish_ns = -1;
        jumps_init(&rival->jumps, speed_bound(match));
        bool shown = fl_entity_show(node->session, id, &match->show) == FL_OK;
        play_expect(node, PLAY_SET_REFUSED, shown);
    }
    return true;
}

// ---------------------------------------------------------------- places

// Puts a car where it is shown. `shown`: it was somewhere before.
static bool put(PlayRacing *match, int32_t place, const FlPose *pose, const PlayCarStatus *status,
                bool shown)
{
    RacingCar *car = &match->view.car[place];
    double away = hypot(pose->position.x - car->x, pose->position.y - car->y);
    bool cut = !shown || !(away < JUMP_M);
    if (cut) { // near the middle of the half that its owner tells
        car->progress = (status->half_laps + 0.5) * racing_length_m(match->game) / 2.0;
    }
    car->finish_ns = status->finish_ns;
    car->contact_count = status->contacts;
    car->border_count = status->borders;
    car->touching = 0;
    (void)racing_car_show(match->game, &match->view, place, pose, cut);
    return cut;
}

static void park(PlayRacing *match, int32_t place)
{
    RacingCar *car = &match->view.car[place];
    *car = (RacingCar){.x = AWAY_M,
                       .y = AWAY_M,
                       .lateral = AWAY_M,
                       .progress = 10.0 * PLAY_PARKED,
                       .finish_ns = -1};
}

static void show_own(PlayNode *node, int32_t own, FlTime time)
{
    PlayRacing *match = play_racing_of(node);
    PlayCar *car = &match->own[own];
    FlPose pose;
    PlayCarStatus status = play_racing_own_status(match, car);
    match->told[car->place] = status;
    bool held = match->show.hold != FL_HOLD_AT_ONCE &&
                fl_show_pose(&car->own, time, &pose) == FL_OK &&
                fl_show_life(&car->own, time) == car->life;
    if (held) {
        uint32_t touching = car->car.touching;
        bool there = match->view.car[car->place].progress > PLAY_PARKED;
        (void)put(match, car->place, &pose, &status, there);
        match->view.car[car->place].touching = touching;
    } else {
        match->view.car[car->place] = car->car;
    }
}

static void show_rival(PlayNode *node, int32_t place, FlTime time)
{
    PlayRacing *match = play_racing_of(node);
    PlayRival *rival = &match->rivals[place];
    FlTime now = fl_session_local_time(node->session, time);
    FlPose pose;
    bool there = rival->entity.index1 != 0 && rival->status.round == match->race.round &&
                 fl_entity_pose_at(node->session, now, rival->entity, &pose);
    if (there) {
        rival->cuts += put(match, place, &pose, &rival->status, rival->shown) ? 1 : 0;
    } else {
        park(match, place);
    }
    rival->shown = there;
}

void play_racing_show(PlayNode *node, FlTime time)
{
    PlayRacing *match = play_racing_of(node);
    for (int32_t p = 0; p < match->view.car_count; p++) {
        int32_t own = play_racing_own_at(node, p);
        if (own >= 0 && match->own[own].round == match->race.round) {
            show_own(node, own, time);
        } else {
            show_rival(node, p, time);
        }
    }
}

// ---------------------------------------------------------------- looking

static void check_lap(PlayNode *node, PlayRival *rival, const RacingCar *car, FlTime time)
{
    const PlayRacing *match = play_racing_of(node);
    double length = racing_length_m(match->game);
    double told = (rival->status.half_laps + 0.5) * length / 2.0;
    bool agree = fabs(car->progress - told) <= length / 4.0 + speed_bound(match) * BLOB_S;
    if (agree) {
        rival->odd_since = FL_FOREVER;
    } else if (rival->odd_since == FL_FOREVER) {
        rival->odd_since = time;
    } else if (fl_span(time, rival->odd_since) > AGREE_WITHIN) {
        play_tally(node, PLAY_WRONG_LAP);
        rival->shown = false; // once is enough: begin anew
        rival->odd_since = FL_FOREVER;
    }
}

static void check_place(PlayNode *node, PlayRival *rival, const RacingCar *car, FlTime time,
                        FlTime newest)
{
    const PlayRacing *match = play_racing_of(node);
    double outside = fabs(car->lateral) - racing_half_width_m(match->game);
    FlTime age = newest == FL_FOREVER ? 0 : fl_span(time, newest);
    double seconds = fl_span_seconds(age > 0 ? age : 0) + MARGIN_S;
    play_expect(node, PLAY_OFF_ROAD, outside <= MARGIN_M + speed_bound(match) * seconds);
    play_tally(node, PLAY_LOOKS);
    if (outside > node->checks.outside_worst) {
        node->checks.outside_worst = outside;
    }
    if (jumps_see(&rival->jumps, time, fl_vec3(car->x, car->y, 0.0), rival->cuts)) {
        play_tally(node, PLAY_JUMPS);
    }
}

void play_racing_look(PlayNode *node, FlTime now)
{
    PlayRacing *match = play_racing_of(node);
    FlTime time = fl_session_time(node->session, now);
    FlTime newest[PLAY_PLACES] = {0};
    for (int32_t p = 0; p < match->view.car_count; p++) {
        FlEntityStatus status;
        newest[p] = FL_FOREVER;
        if (find_rival(node, p, &status)) {
            read_status(node, p);
            newest[p] = status.newest;
        }
    }
    play_racing_show(node, time);
    for (int32_t p = 0; p < match->view.car_count; p++) {
        PlayRival *rival = &match->rivals[p];
        if (rival->shown) {
            check_place(node, rival, &match->view.car[p], time, newest[p]);
            if (match->show.hold != FL_HOLD_CAUSALITY) { // which may discard all there is
                check_lap(node, rival, &match->view.car[p], time);
            }
        }
    }
}

// ---------------------------------------------------------------- one delay for all

void play_racing_hear(PlayNode *node, const FlEvent *event)
{
    PlayRacing *match = play_racing_of(node);
    FlTime time = fl_session_time(node->session, node->now);
    bool sound = event->type == EVENT_DELTA && event->count == FL_DELTA_BYTES;
    if (sound && match->adaptive) {
        sound = fl_delta_control_receive(&match->control, event->bytes, event->count, time);
    }
    if (!sound) {
        play_tally(node, PLAY_BAD_EVENT);
    }
}

static void measure(PlayNode *node)
{
    PlayRacing *match = play_racing_of(node);
    for (int32_t p = 0; p < PLAY_PLACES; p++) {
        PlayRival *rival = &match->rivals[p];
        FlEntityStatus status;
        if (rival->entity.index1 != 0 &&
            fl_entity_status(node->session, rival->entity, &status) == FL_OK &&
            status.received_at != FL_FOREVER && status.received_at != rival->received_at) {
            rival->received_at = status.received_at;
            fl_delta_control_arrived(&match->control, p, status.received, status.received_at);
        }
    }
}

static void change_delta(PlayNode *node, const FlDeltaChange *change)
{
    PlayRacing *match = play_racing_of(node);
    play_tally(node, PLAY_DELTA_CHANGES);
    match->show.delta_ns = change->delta_ns; // for who comes later
    for (int32_t p = 0; p < PLAY_PLACES; p++) {
        // Who has just gone is no loss.
        (void)(fl_entity_delta(node->session, match->rivals[p].entity, change) == FL_OK);
    }
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i)) {
            (void)fl_show_delta(&match->own[i].own, change->delta_ns, change->from);
        }
    }
}

void play_racing_tell(PlayNode *node)
{
    PlayRacing *match = play_racing_of(node);
    if (!match->adaptive || fl_session_time_error(node->session) == FL_FOREVER) {
        return;
    }
    FlDeltaChange change;
    measure(node);
    if (fl_delta_control_update(&match->control, node->time_last, &change)) {
        change_delta(node, &change);
    }
    uint8_t bytes[FL_DELTA_BYTES];
    if (!fl_delta_control_next(&match->control, node->time_last, bytes)) {
        return;
    }
    FlEvent event = {.type = EVENT_DELTA,
                     .delivery = FL_DELIVERY_UNORDERED,
                     .bytes = bytes,
                     .count = FL_DELTA_BYTES};
    FlPeerId all = {0};
    (void)(fl_event_send(node->session, all, &event) == FL_OK); // if not now, then the next one
}
