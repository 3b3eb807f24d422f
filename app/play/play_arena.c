// The arena over a session: an open game in which players come and go.
//
// How it travels is arena/node.h's: a player is an entity, its number that of its peer, so a node
// has one player, or watches. The host keeps all things; whoever hosts after it takes them over.
// Deeds are calls. The node's ticks are the game's.
#include "app/play/play_arena.h"

#include <math.h>
#include <stdlib.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

#define ENTITIES 256                 // of all: two for each of 128 peers
#define TICK_WRAP (INT64_C(1) << 30) // the game's ticks are 32 bits
#define UPLOAD_BYTES_S 32000.0       // a player's, in all; a host's is its own choice
#define MARGIN_S 1.5                 // of running: an update may have been told from a later time
#define MARGIN 64.0                  // units

// ---------------------------------------------------------------- making

static ArenaDef rules_of(void)
{
    ArenaDef def = arena_def_default();
    def.player_count = ARENA_PLAYER_CAPACITY;
    return def;
}

static FlWorldDef wire_world(void)
{
    ArenaDef def = rules_of();
    return arena_def_world(&def, ENTITIES);
}

static void session_settings(FlSessionDef *def)
{
    arena_node_capacities(def);
    def->upload_bytes_s = UPLOAD_BYTES_S;
}

static FlResult open_match(PlayNode *node, const PlayRules *rules)
{
    (void)rules; // there are none
    PlayArena *match = calloc(1, sizeof *match);
    node->match = match;
    if (match == NULL) {
        return FL_NO_MEMORY;
    }
    if (node->kin != NULL) {
        match->game = play_arena_of(node->kin)->game;
        return FL_OK;
    }
    ArenaDef def = rules_of();
    return arena_create(&def, &match->game);
}

static void close_match(PlayNode *node)
{
    PlayArena *match = play_arena_of(node);
    if (match != NULL) {
        arena_node_stop(&match->node);
        if (match->game != NULL && node->kin == NULL) {
            arena_destroy(match->game);
        }
    }
    free(match);
}

static void told(void *ctx, const FlState *state)
{
    const PlayNode *node = ctx;
    PlayWitness witness = play_tape_witness(node->port.tape);
    if (witness.moved != NULL) {
        witness.moved(witness.ctx, node, 0, state);
    }
}

static ArenaNodeDef node_def(PlayNode *node, int32_t number)
{
    int32_t skills = ARENA_SKILL_MAX - ARENA_SKILL_MIN + 1;
    ArenaNodeDef def = {.game = play_arena_of(node)->game,
                        .send = node->policy,
                        .trigger = {.distance = 4.0, .angle = 0.15, .silence_ns = FL_SEC(1)},
                        .model = FL_MODEL_AUTO,
                        .guided = true,
                        .attentive = true,
                        .open = true,
                        .run_speed = ARENA_RUN_SPEED,
                        .seed = node->seed,
                        .character = number % ARENA_CHARACTER_COUNT,
                        .skill = ARENA_SKILL_MIN + number % skills,
                        .told_fn = told,
                        .ctx = node};
    return def;
}

// Our number among the players; -1: not known yet.
static int32_t number_of(const PlayNode *node)
{
    FlPeerStatus self;
    bool known = fl_peer_status(node->session, fl_peer_self(node->session), &self) == FL_OK;
    return known ? self.number : -1;
}

static bool make(PlayNode *node, int32_t own)
{
    int32_t number = number_of(node);
    if (own > 0 || number < 0 || number >= ARENA_PLAYER_CAPACITY) {
        return false; // beyond that one looks on
    }
    ArenaNodeDef def = node_def(node, number);
    return play_own_make(node, own, arena_node_entity(&def)) >= 0;
}

static void start(PlayNode *node)
{
    PlayArena *match = play_arena_of(node);
    int32_t number = number_of(node);
    bool watches = node->own_count == 0 || number >= ARENA_PLAYER_CAPACITY;
    if (number < 0 || (!watches && !play_own_there(node, 0))) {
        return;
    }
    ArenaNodeDef def = node_def(node, number);
    def.watches = watches;
    if (!watches) {
        def.entity = node->own[0].entity;
    }
    match->started = arena_node_start(&match->node, &def, node->session) == FL_OK;
    if (!match->started) {
        arena_node_stop(&match->node); // with the next tick
    }
}

// ---------------------------------------------------------------- what is seen

static void check_place(PlayNode *node, int32_t other, FlTime now)
{
    const PlayArena *match = play_arena_of(node);
    const ArenaPlayer *p = &match->node.view.player[other];
    FlEntityStatus status;
    if (fl_entity_status(node->session, match->node.seen[other].entity, &status) != FL_OK ||
        status.newest == FL_FOREVER) {
        return;
    }
    double age = fl_span_seconds(fl_span(fl_session_time(node->session, now), status.newest));
    double may = MARGIN + (MARGIN_S + (age > 0.0 ? age : 0.0)) * ARENA_SPEED_BOUND;
    double far = fmax(fabs(p->x), fabs(p->y)) - arena_half_extent(match->game);
    PlayChecks *checks = &node->checks;
    checks->outside_worst = far > checks->outside_worst ? far : checks->outside_worst;
    play_tally(node, PLAY_LOOKS);
    play_expect(node, PLAY_OUTSIDE_MAP, far <= may);
}

static void look(PlayNode *node, FlTime now)
{
    const PlayArena *match = play_arena_of(node);
    for (int32_t i = 0; match->started && i < ARENA_PLAYER_CAPACITY; i++) {
        if (match->node.seen[i].known) {
            check_place(node, i, now);
        }
    }
}

static void notice(PlayNode *node, const FlNotice *told_of)
{
    PlayArena *match = play_arena_of(node);
    if (match->started) { // before: the node finds out by itself
        arena_node_notice(&match->node, told_of);
    }
}

static void hear(PlayNode *node, const FlEvent *event)
{
    PlayArena *match = play_arena_of(node);
    if (!match->started) {
        play_tally(node, PLAY_EVENTS_REJECTED);
    } else {
        play_expect(node, PLAY_BAD_EVENT, arena_node_event(&match->node, event));
    }
}

// ---------------------------------------------------------------- ticks

static void count_deeds(PlayNode *node)
{
    const ArenaNodeStats *stats = &play_arena_of(node)->node.stats;
    uint64_t *count = node->checks.count;
    count[PLAY_DEEDS_ASKED] = stats->deeds;
    count[PLAY_DEEDS_APPLIED] = stats->applied;
    count[PLAY_DEEDS_REFUSED] = stats->refused;
    count[PLAY_DEEDS_UNKNOWN] = stats->unknown;
    count[PLAY_DEEDS_BLOCKED] = stats->blocked;
}

static void tick(PlayNode *node)
{
    PlayArena *match = play_arena_of(node);
    node->tick++;
    if (!match->started) {
        start(node);
        return;
    }
    ArenaNode *arena = &match->node;
    arena->driven = node->own_count > 0 && node->own[0].keys;
    arena->keys = (ArenaKeys){node->keys.drive, node->keys.turn, node->keys.fire};
    arena_node_skip(arena, (int32_t)((node->tick - 1) % TICK_WRAP)); // all are at the same tick
    arena_node_step(arena, NULL,
                    fl_session_local_time(node->session, play_tick_time(node, node->tick)));
    count_deeds(node);
}

static void skip(PlayNode *node)
{
    (void)node; // the next tick says where it is
}

static void tell(PlayNode *node)
{
    PlayArena *match = play_arena_of(node);
    if (match->started) {
        arena_node_serve(&match->node, node->now);
        count_deeds(node);
    }
}

static void forgive(PlayNode *node)
{
    (void)node; // calls come back by themselves, as unknown
}

// ---------------------------------------------------------------- the table

static const PlayCount counts[] = {
#define PLAY_ARENA_COUNT(name, word, fault, meaning) {word, fault},
    PLAY_ARENA_TABLE(PLAY_ARENA_COUNT)
#undef PLAY_ARENA_COUNT
};

static uint64_t differs(const PlayNode *node)
{
    const ArenaNodeStats *stats = &play_arena_of(node)->node.stats;
    uint64_t known = stats->applied + stats->refused + stats->unknown;
    return stats->deeds == known + (uint64_t)play_arena_waiting(node) ? 0 : 1;
}

const PlayGame play_arena = {
    .name = "arena",
    .thing = "player",
    .keys = "w a s d or arrows: run and turn; space: fire; q: quit",
    .policy = "focus+equal",
    .topology = FL_TOPOLOGY_MESH,
    .tick_hz = ARENA_TICK_HZ,
    .own_max = 1,
    .host_entities = 1,
    .counts = counts,
    .count_count = sizeof counts / sizeof *counts,
    .check = play_rules_none,
    .world = wire_world,
    .session = session_settings,
    .open = open_match,
    .close = close_match,
    .make = make,
    .look = look,
    .tick = tick,
    .skip = skip,
    .notice = notice,
    .hear = hear,
    .tell = tell,
    .forgive = forgive,
    .differs = differs,
    .seen = play_arena_seen,
    .draw = play_arena_draw,
    .thing_json = play_arena_json,
    .sum_json = play_arena_sum_json,
    .sum_line = play_arena_sum_line,
    .page_map = play_arena_map,
    .page_state = play_arena_state,
    .page_dots = play_arena_dots,
};
