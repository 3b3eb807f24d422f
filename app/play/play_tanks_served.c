// Tanks where the host decides: it owns all tanks, players send what they want to do, predict their
// own tank and are corrected (fairlead/predict.h). `serve tanks --authority host`.
//
// At the host a player's tank is one of its own (play_tanks.c): others see it, shots meet it, and
// all that is judged as ever. What drives it is the library: a tick of all players, before the tick
// of everything else. What a judgement changes (an end, a score) goes back into the player's state.
//
// A guest asks to play with an event, and gets a tank; whoever does not ask looks on. Its own tank
// is the predicted one. It tells of nothing: events of guests count for nothing at all.
//
// Invariant: at the host, own thing i is a player's iff match->own[i].driven; its state in the
// session and match->own[i].tank are equal after every tick.
#include "app/play/play_tanks.h"

#include <stdlib.h>
#include <string.h>

#include "fairlead/predict.h"
#include "fairlead/session.h"

#define EVENT_PLAY 100 // a guest wants a tank
#define SEND_HZ 20

/// A match, and what belongs to prediction.
typedef struct Served {
    PlayTanks tanks; // first: play_tanks_of
    TanksStepper stepper;
    int32_t bots;   // host: own things below this are no player's
    bool asked;     // guest: to play
    bool has_input; // guest: of a tick to come
    uint8_t input[TANKS_INPUT_BYTES];
} Served;

static Served *served_of(const PlayNode *node)
{
    return node->match;
}

static bool is_host(const PlayNode *node)
{
    FlPeerId self = fl_peer_self(node->session);
    return self.index1 != 0 && self.index1 == fl_peer_host(node->session).index1;
}

// ---------------------------------------------------------------- the host's players

// Its state in the session is what the game says.
static void give_state(PlayNode *node, int32_t own)
{
    const PlayTank *of = &play_tanks_of(node)->own[own];
    FlResult result = fl_predict_player(node->session, of->player, &of->tank);
    play_expect(node, PLAY_SET_REFUSED, result == FL_OK);
}

static int32_t player_slot(PlayNode *node, FlPeerId peer)
{
    PlayTanks *match = play_tanks_of(node);
    for (int32_t i = served_of(node)->bots; i < node->own_count; i++) {
        if (match->own[i].driven && match->own[i].player.index1 == peer.index1) {
            return i;
        }
    }
    return -1;
}

static int32_t free_slot(PlayNode *node)
{
    for (int32_t i = served_of(node)->bots; i < node->own_count; i++) {
        if (!play_own_there(node, i)) {
            return i;
        }
    }
    return node->own_count < PLAY_OWN_MAX ? node->own_count++ : -1;
}

static void let_play(PlayNode *node, FlPeerId peer)
{
    if (node->tick < 0 || player_slot(node, peer) >= 0) {
        return; // it asks twice
    }
    int32_t own = free_slot(node);
    if (own < 0 || !play_tanks_make(node, own)) {
        return; // no room: it looks on
    }
    PlayTank *made = &play_tanks_of(node)->own[own];
    made->driven = true;
    made->player = peer;
    made->told = 0;
    give_state(node, own);
}

static void end_player(PlayNode *node, FlPeerId peer)
{
    int32_t own = player_slot(node, peer);
    if (own < 0) {
        return;
    }
    PlayTank *gone = &play_tanks_of(node)->own[own];
    (void)fl_entity_destroy(node->session, node->own[own].entity);
    node->own[own].entity = (FlEntityId){0};
    *gone = (PlayTank){0};
}

static void notice_host(PlayNode *node, const FlNotice *notice)
{
    if (notice->kind == FL_NOTICE_PEER_LEFT && is_host(node)) {
        end_player(node, notice->peer);
    }
}

// Every player's tick, and what came of it.
static void step_players(PlayNode *node)
{
    Served *served = served_of(node);
    PlayTanks *match = &served->tanks;
    served->stepper.fired_count = 0;
    (void)fl_predict_tick(node->session, node->now, NULL);
    for (int32_t i = 0; i < served->stepper.fired_count; i++) {
        play_tanks_fired(node, &served->stepper.fired[i]);
    }
    for (int32_t i = served->bots; i < node->own_count; i++) {
        PlayTank *own = &match->own[i];
        int64_t tick;
        const void *state =
            own->driven ? fl_predict_state(node->session, own->player, &tick) : NULL;
        if (state == NULL) {
            continue;
        }
        memcpy(&own->tank, state, sizeof own->tank);
        if (own->tank.life != own->told) { // it has appeared: every spawn is a cut
            own->told = own->tank.life;
            FlResult cut = fl_entity_cut(node->session, node->own[i].entity);
            play_expect(node, PLAY_SET_REFUSED, cut == FL_OK);
        }
    }
}

static void host_tick(PlayNode *node)
{
    PlayTanks *match = play_tanks_of(node);
    step_players(node);
    play_tanks_tick(node);
    for (int32_t i = served_of(node)->bots; i < node->own_count; i++) {
        const PlayTank *own = &match->own[i];
        int64_t tick;
        const void *state =
            own->driven ? fl_predict_state(node->session, own->player, &tick) : NULL;
        // Both are written whole by the same step, padding included.
        const void *tank = &own->tank;
        if (state != NULL && memcmp(state, tank, sizeof own->tank) != 0) {
            give_state(node, i);
        }
    }
}

// ---------------------------------------------------------------- a guest's own tank

static void ask_to_play(PlayNode *node)
{
    Served *served = served_of(node);
    FlEvent event = {.type = EVENT_PLAY};
    served->asked =
        served->asked || fl_event_send(node->session, fl_peer_host(node->session), &event) == FL_OK;
}

// The tank as it is predicted; which one it is, its first state says.
static bool take_own(PlayNode *node)
{
    PlayTanks *match = play_tanks_of(node);
    PlayTank *own = &match->own[0];
    int64_t tick;
    const void *state = fl_predict_state(node->session, fl_peer_self(node->session), &tick);
    if (state == NULL) {
        return false;
    }
    memcpy(&own->tank, state, sizeof own->tank);
    if (!play_own_there(node, 0)) {
        tanks_bot_init(&own->bot, node->seed, own->tank.id);
        node->own[0].entity = fl_entity_of_number(node->session, (uint32_t)own->tank.id);
        node->own[0].born = node->time_last;
    }
    return true;
}

static void choose_input(PlayNode *node)
{
    Served *served = served_of(node);
    TanksInput input = {0};
    bool alive = play_own_there(node, 0) && served->tanks.own[0].tank.alive;
    if (alive && (node->own[0].keys || !served->has_input)) {
        input = play_tanks_decide(node, 0);
        tanks_input_encode(input, served->input);
    } else if (!alive) {
        memset(served->input, 0, sizeof served->input);
    }
    served->has_input = true;
}

// What we do shows in this frame: our ticks are played before anything else.
static void guest_look(PlayNode *node, FlTime now)
{
    Served *served = served_of(node);
    play_tanks_look(node, now);
    if (node->own_count == 0) {
        return;
    }
    ask_to_play(node);
    bool played = true;
    while (played) {
        choose_input(node);
        served->stepper.fired_count = 0;
        played = fl_predict_tick(node->session, now, served->input);
        served->has_input = !played;
        for (int32_t i = 0; i < served->stepper.fired_count; i++) {
            play_tanks_add_shot(node, &served->stepper.fired[i]);
        }
        if (take_own(node)) {
            served->tanks.seen[served->tanks.own[0].tank.id] =
                tanks_tank_seen(&served->tanks.own[0].tank);
        }
    }
}

// ---------------------------------------------------------------- the table

static FlWorldDef served_world(void)
{
    FlWorldDef world = play_tanks.world();
    world.entity_capacity = 1024; // the host has a share of the numbers, and all tanks
    world.application_version ^= UINT64_C(0x686f7374);
    return world;
}

static void served_session(FlSessionDef *def)
{
    def->entity_capacity = 128;
    def->input_bytes = TANKS_INPUT_BYTES;
    def->inputs_to_host = true;
    def->input_ticks = 256;
}

static FlResult served_open(PlayNode *node, const PlayRules *rules)
{
    (void)rules;
    Served *served = calloc(1, sizeof *served);
    node->match = served;
    TanksRules defaults = tanks_rules_default();
    if (served == NULL) {
        return FL_NO_MEMORY;
    }
    served->bots = node->own_count;
    served->stepper.world = &served->tanks.world;
    return tanks_world_init(&defaults, &served->tanks.world);
}

static FlResult served_ready(PlayNode *node)
{
    Served *served = served_of(node);
    FlPredictDef def = fl_predict_def_default();
    def.step_fn = tanks_step;
    def.pose_fn = tanks_step_pose;
    def.ctx = &served->stepper;
    def.state_bytes = sizeof(TanksTank);
    def.tick_hz = play_tanks_host.tick_hz;
    def.send_hz = SEND_HZ;
    fl_session_host_kind(node->session, TANKS_KIND, true);
    FlResult result = play_tanks_ready(node);
    return result == FL_OK ? fl_session_predict(node->session, &def) : result;
}

static bool served_make(PlayNode *node, int32_t own)
{
    return is_host(node) && own < served_of(node)->bots && play_tanks_make(node, own);
}

static void served_look(PlayNode *node, FlTime now)
{
    if (is_host(node)) {
        play_tanks_look(node, now);
    } else {
        guest_look(node, now);
    }
}

static void served_tick(PlayNode *node)
{
    if (is_host(node)) {
        host_tick(node);
    } else {
        node->tick++;
        play_tanks_fly(node);
    }
}

static void served_skip(PlayNode *node)
{
    if (is_host(node)) {
        while (fl_predict_tick(node->session, node->now, NULL)) {
        }
        play_tanks_skip(node);
    }
}

static void served_hear(PlayNode *node, const FlEvent *event)
{
    if (event->type == EVENT_PLAY && event->count == 0 && is_host(node)) {
        let_play(node, event->from);
    } else {
        play_tanks_hear(node, event);
    }
}

static void served_json(const PlayNode *node, json_t *object)
{
    FlPredictStats s = fl_predict_stats(node->session, fl_peer_self(node->session));
    if (s.confirmed == 0) {
        return; // the host, and who looks on
    }
    json_object_set_new(object, "prediction",
                        json_pack("{s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f}", "lead_ms",
                                  (double)s.lead_ns / 1e6, "early_ms", (double)s.early_ns / 1e6,
                                  "ticks", (json_int_t)s.ticks, "replayed", (json_int_t)s.replayed,
                                  "missed", (json_int_t)s.missed, "confirmed",
                                  (json_int_t)s.confirmed, "differing", (json_int_t)s.differing,
                                  "corrections", (json_int_t)s.corrections, "decided",
                                  (json_int_t)s.decided, "correction_sum", s.correction_sum,
                                  "correction_max", s.correction_max));
}

const PlayGame play_tanks_host = {
    .name = "tanks_host",
    .thing = "tank",
    .played = &play_tanks,
    .keys = "w a s d or arrows: drive and turn; space: fire; q: quit",
    .topology = FL_TOPOLOGY_STAR,
    .tick_hz = 60,
    .own_max = PLAY_OWN_MAX,
    .counts = play_tanks_counts,
    .count_count = PLAY_TANKS_END - PLAY_COUNT_COMMON,
    .check = play_rules_none,
    .world = served_world,
    .session = served_session,
    .open = served_open,
    .ready = served_ready,
    .close = play_tanks_close,
    .make = served_make,
    .look = served_look,
    .tick = served_tick,
    .skip = served_skip,
    .notice = notice_host,
    .hear = served_hear,
    .tell = play_tanks_tell,
    .forgive = play_tanks_forgive,
    .differs = play_tanks_differs,
    .seen = play_tanks_seen,
    .draw = play_tanks_draw,
    .page_map = play_tanks_map,
    .page_state = play_tanks_state,
    .page_dots = play_tanks_dots,
    .thing_json = play_tanks_json,
    .node_json = served_json,
    .sum_json = play_tanks_sum_json,
    .sum_line = play_tanks_sum_line,
};
