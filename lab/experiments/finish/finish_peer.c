// One peer of a race: its timeline, its driver, what it sees and how it ends.
#include "lab/experiments/finish/finish.h"

#include <stdlib.h>
#include <string.h>

struct FinishPeer {
    const FinishPlay *play;
    FlSession *session;
    FinishRace *races;
    FlTimeline *timeline;
    RacingGame *game; // of the race that is on
    FlTime now;
    int32_t race; // -1: none yet
    int32_t car;
    int64_t next;                      // the tick whose input is handed in next
    uint8_t input[RACING_INPUT_BYTES]; // what the driver decided last
};

static const char *const names[] = {
#define ROW(name, word, control, lag) word,
    FINISH_CONTROL_TABLE(ROW)
#undef ROW
};

static const FlControl controls[] = {
#define ROW(name, word, control, lag) control,
    FINISH_CONTROL_TABLE(ROW)
#undef ROW
};

static const int32_t lags_ms[] = {
#define ROW(name, word, control, lag) lag,
    FINISH_CONTROL_TABLE(ROW)
#undef ROW
};

const char *finish_control_name(FinishControl control)
{
    return names[control];
}

// ---------------------------------------------------------------- time

/// A slot of session time holds a race and a pause. Ticks are counted on from race to race.
static FlTime slot_span(void)
{
    return racing_tick_time(FINISH_TICKS + FINISH_ROLL + FINISH_PAUSE);
}

static int64_t first_tick(int32_t race)
{
    return (int64_t)race * (FINISH_TICKS + FINISH_ROLL);
}

FlTime finish_end(const FinishPlay *play)
{
    return FINISH_START + play->races * slot_span();
}

// ---------------------------------------------------------------- the game

static void step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    const FinishPeer *peer = (const FinishPeer *)ctx;
    RacingInput in[RACING_CAR_CAPACITY] = {{0}};
    (void)tick;
    for (int32_t i = 0; i < peer->play->cars; i++) {
        if (inputs->of[i] != NULL && !racing_input_decode(inputs->of[i], &in[i])) {
            in[i] = (RacingInput){0}; // no driver's
        }
    }
    racing_step(peer->game, (RacingState *)state, in);
}

static uint64_t hash(void *ctx, const void *bytes)
{
    (void)ctx;
    return racing_hash((const RacingState *)bytes);
}

static void put_points(FinishPoint *points, const RacingState *state)
{
    for (int32_t i = 0; i < state->car_count; i++) {
        points[i] = (FinishPoint){(float)state->car[i].x, (float)state->car[i].y};
    }
}

static void settled(void *ctx, int64_t tick, const void *bytes)
{
    FinishPeer *peer = (FinishPeer *)ctx;
    const RacingState *state = (const RacingState *)bytes;
    int64_t in_race = tick - first_tick(peer->race);
    if (in_race > FINISH_TICKS) {
        return;
    }
    FinishRace *race = &peer->races[peer->race];
    FinishResult *result = &race->result[peer->car];
    result->settled_at[in_race] = peer->now;
    if (peer->car == 0) {
        put_points(race->truth[in_race], state);
    }
    if (in_race == FINISH_TICKS) {
        result->decided = true;
        result->hash = racing_hash(state);
        result->contacts = racing_contact_count(state);
        racing_standings(state, result->order);
        for (int32_t i = 0; i < state->car_count; i++) {
            result->finish_ns[i] = state->car[i].finish_ns;
        }
    }
}

// ---------------------------------------------------------------- making

FlSessionDef finish_session_def(const FinishPlay *play)
{
    FlSessionDef def = fl_session_def_default();
    def.topology = FL_TOPOLOGY_MESH;
    def.world.entity_capacity = 64;
    def.peer_capacity = play->cars - 1;
    def.tuning.direct_capacity = play->cars - 1;
    def.entity_capacity = 1;
    def.tuning.item_capacity = 512;
    def.tuning.path_capacity = 16;
    def.input_bytes = RACING_INPUT_BYTES;
    def.input_ticks = 256;
    def.join_timeout_ns = FINISH_START;
    if (play->control == FINISH_PERCEPTIVE) {
        def.action_capacity = 64; // none are done; their lags are measured
    }
    return def;
}

/// A timeline for a race, in place of the one before.
static FlResult create_timeline(FinishPeer *peer, int32_t race)
{
    const FinishPlay *play = peer->play;
    FlTimelineDef def = fl_timeline_def_default();
    def.player_capacity = FINISH_CARS;
    def.state_bytes = sizeof(RacingState);
    def.input_bytes = RACING_INPUT_BYTES;
    def.control = controls[play->control];
    def.lag_ticks = (lags_ms[play->control] * RACING_TICK_HZ + 500) / 1000;
    if (play->control == FINISH_PERCEPTIVE) { // inputs are handed in before their ticks
        def.tick_hz = RACING_TICK_HZ;
        def.tick_from =
            FINISH_START + race * slot_span() - racing_tick_time((int32_t)first_tick(race));
    }
    def.game =
        (FlTimelineGame){.step_fn = step, .hash_fn = hash, .settled_fn = settled, .ctx = peer};
    FlTimeline *timeline;
    FlResult result = fl_timeline_create(&def, &timeline);
    if (result == FL_OK) {
        (void)!fl_session_timeline(peer->session, NULL, false);
        fl_timeline_destroy(peer->timeline);
        peer->timeline = timeline;
    }
    return result;
}

FlResult finish_peer_create(const FinishPlay *play, FlSession *session, FinishRace *races,
                            FinishPeer **out)
{
    *out = NULL;
    FinishPeer *peer = (FinishPeer *)calloc(1, sizeof *peer);
    if (peer == NULL) {
        return FL_NO_MEMORY;
    }
    *peer = (FinishPeer){.play = play, .session = session, .races = races, .race = -1};
    racing_input_encode((RacingInput){0}, peer->input);
    *out = peer;
    return FL_OK;
}

void finish_peer_destroy(FinishPeer *peer)
{
    if (peer != NULL) {
        fl_timeline_destroy(peer->timeline);
        racing_destroy(peer->game);
        free(peer);
    }
}

// ---------------------------------------------------------------- races

static void note_end(FinishPeer *peer)
{
    if (peer->race >= 0) {
        FinishResult *result = &peer->races[peer->race].result[peer->car];
        result->figures = fl_timeline_figures(peer->timeline);
        result->desync = fl_timeline_figures(peer->timeline).desync_at;
    }
}

static bool begin(FinishPeer *peer, int32_t race)
{
    RacingDef def = racing_def_default();
    def.course = RACING_COURSE_RING;
    def.car_count = peer->play->cars;
    def.lap_count = 1;
    def.time_limit = FINISH_TICKS;
    def.seed = peer->play->first_race + (uint64_t)race;
    racing_destroy(peer->game);
    peer->game = NULL;
    RacingState state;
    if (racing_create(&def, &peer->game) != FL_OK || create_timeline(peer, race) != FL_OK) {
        return false;
    }
    racing_start(peer->game, &state);
    peer->race = race;
    peer->car = (int32_t)fl_peer_self(peer->session).index1 - 1;
    fl_timeline_begin(peer->timeline, first_tick(race), &state);
    for (int32_t i = 0; i < peer->play->cars; i++) {
        if (fl_timeline_enter(peer->timeline, i, first_tick(race)) != FL_OK) {
            return false;
        }
    }
    return fl_session_timeline(peer->session, peer->timeline, true) == FL_OK;
}

// Hands in what the driver decided last, for all ticks before `until`: after a frame that came late
// for those it has missed, too, since everybody waits for them.
static void hand_in(FinishPeer *peer, int64_t until)
{
    int64_t end = first_tick(peer->race + 1);
    while (peer->next < until && peer->next < end &&
           fl_input_set(peer->session, peer->next, peer->input) == FL_OK) {
        peer->next++;
    }
}

static void look(FinishPeer *peer, int64_t tick)
{
    int64_t shown_tick, settled_tick;
    const RacingState *shown =
        (const RacingState *)fl_timeline_present(peer->timeline, &shown_tick);
    (void)fl_timeline_settled(peer->timeline, &settled_tick);
    FinishRace *race = &peer->races[peer->race];
    int64_t in_race = tick - first_tick(peer->race);
    if (in_race <= FINISH_TICKS) {
        int64_t lag = tick - settled_tick;
        race->result[peer->car].lag[lag < FINISH_LAG_MOST ? lag : FINISH_LAG_MOST]++;
        race->shown[peer->car][in_race] = shown_tick == tick;
        put_points(race->screen[peer->car][in_race], shown);
    }
    hand_in(peer, tick); // with what it had decided when it missed them
    uint64_t seed = peer->play->first_race + (uint64_t)peer->race;
    racing_input_encode(racing_bot_drive(peer->game, seed, shown, peer->car), peer->input);
    hand_in(peer, tick + peer->play->frame_ticks);
}

FlTime finish_peer_frame(FinishPeer *peer, FlTime now)
{
    const FinishPlay *play = peer->play;
    peer->now = now;
    FlTime time = fl_session_time(peer->session, now);
    FlTime frame = racing_tick_time(play->frame_ticks);
    if (fl_session_state(peer->session) != FL_SESSION_RUNNING || time < FINISH_START) {
        return now + FL_MS(50);
    }
    FlTime since = time - FINISH_START;
    int32_t race = (int32_t)(since / slot_span());
    if (race >= play->races) {
        note_end(peer);
        return FL_FOREVER;
    }
    int64_t in_race = (since - race * slot_span()) * RACING_TICK_HZ / FL_SEC(1);
    if (race != peer->race) {
        note_end(peer);
        hand_in(peer, first_tick(race)); // nothing, unless frames were missed
        if (!begin(peer, race)) {
            return FL_FOREVER;
        }
    }
    int64_t tick = first_tick(race) + in_race;
    int64_t last = first_tick(race + 1);
    bool advanced = fl_session_advance(peer->session, tick < last ? tick : last) == FL_OK;
    if (advanced && tick < last) {
        look(peer, tick);
    } else {
        hand_in(peer, last);
    }
    // The next frame begins with a tick, or a little after it.
    FlTime next = FINISH_START + race * slot_span() + racing_tick_time((int32_t)in_race) + frame;
    FlTime when = fl_session_local_time(peer->session, next + FL_US(10));
    return when > now ? when : now + FL_MS(1);
}

// ---------------------------------------------------------------- putting results side by side

static void add_errors(FinishFigures *f, const FinishPlay *play, const FinishRace *race)
{
    for (int32_t peer = 0; peer < play->cars; peer++) {
        for (int32_t tick = 0; tick <= FINISH_TICKS; tick++) {
            if (!race->shown[peer][tick]) {
                continue;
            }
            for (int32_t car = 0; car < play->cars; car++) {
                if (car != peer) {
                    const FinishPoint *a = &race->screen[peer][tick][car];
                    const FinishPoint *b = &race->truth[tick][car];
                    double dx = (double)a->x - (double)b->x;
                    double dy = (double)a->y - (double)b->y;
                    f->error_m += sqrt(dx * dx + dy * dy);
                    f->error_count++;
                }
            }
        }
    }
}

static void add_sums(FlTimelineFigures *sum, const FlTimelineFigures *one)
{
    sum->played += one->played;
    sum->replayed += one->replayed;
    sum->rollbacks += one->rollbacks;
    sum->deepest = one->deepest > sum->deepest ? one->deepest : sum->deepest;
    sum->inputs += one->inputs;
    sum->late += one->late;
    sum->wrong += one->wrong;
    sum->dropped += one->dropped;
    sum->shown += one->shown;
    sum->corrected += one->corrected;
    sum->stalls += one->stalls;
    sum->compared += one->compared;
    sum->differing += one->differing;
}

/// Settled at one time everywhere, it would be as long from one state to another at all peers.
static void add_uneven(FinishFigures *f, const FinishPlay *play, const FinishRace *race)
{
    for (int32_t a = 0; a < play->cars; a++) {
        for (int32_t b = 0; b < a; b++) {
            FlTime least = INT64_MAX, most = INT64_MIN;
            for (int32_t tick = 1; tick <= FINISH_TICKS; tick++) {
                FlTime apart = race->result[a].settled_at[tick] - race->result[b].settled_at[tick];
                least = apart < least ? apart : least;
                most = apart > most ? apart : most;
            }
            f->uneven_ms += 1e3 * fl_span_seconds(most - least);
            f->uneven_count++;
        }
    }
}

void finish_add(FinishFigures *figures, const FinishPlay *play, const FinishRace *race)
{
    bool decided = true, order = true, times = true, hashes = true;
    const FinishResult *first = &race->result[0];
    for (int32_t peer = 0; peer < play->cars; peer++) {
        const FinishResult *result = &race->result[peer];
        decided = decided && result->decided;
        order = order && memcmp(result->order, first->order, sizeof first->order) == 0;
        times = times && memcmp(result->finish_ns, first->finish_ns, sizeof first->finish_ns) == 0;
        hashes = hashes && result->hash == first->hash;
        add_sums(&figures->sum, &result->figures);
        for (int32_t i = 0; i <= FINISH_LAG_MOST; i++) {
            figures->lag[i] += result->lag[i];
        }
    }
    figures->races++;
    figures->agreed += decided && order && times ? 1 : 0;
    figures->undecided += decided ? 0 : 1;
    figures->order_differs += order ? 0 : 1;
    figures->hash_differs += hashes ? 0 : 1;
    figures->contacts += first->contacts;
    figures->seconds += play->cars * fl_span_seconds(racing_tick_time(FINISH_TICKS + FINISH_ROLL));
    add_errors(figures, play, race);
    if (decided) {
        add_uneven(figures, play, race);
    }
}
