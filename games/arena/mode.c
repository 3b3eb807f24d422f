// The modes, as settings of sessions and nodes.
#include "arena/mode.h"

#include <math.h>

#define CHOSEN 5             // one more than are looked at: the next is served when it comes in
#define POINTS 2             // of guidance: where it is, and half-way
#define GUIDE_FROM FL_SEC(1) // more often than that, updates are better

const char *arena_mode_name(ArenaMode mode)
{
#define ARENA_MODE_ROW(name, word, meaning) word,
    static const char *const words[ARENA_MODES] = {ARENA_MODE_TABLE(ARENA_MODE_ROW)};
#undef ARENA_MODE_ROW
    FL_ASSERT(mode >= 0 && mode < ARENA_MODES);
    return words[mode];
}

const char *arena_mode_meaning(ArenaMode mode)
{
#define ARENA_MODE_ROW(name, word, meaning) meaning,
    static const char *const meanings[ARENA_MODES] = {ARENA_MODE_TABLE(ARENA_MODE_ROW)};
#undef ARENA_MODE_ROW
    FL_ASSERT(mode >= 0 && mode < ARENA_MODES);
    return meanings[mode];
}

FlSessionDef arena_mode_session(const ArenaGame *game, const ArenaModeDef *def)
{
    FlSessionDef session = arena_node_session(game, def->players);
    bool published = def->mode == ARENA_MODE_DONNY || def->mode == ARENA_MODE_LOBW;
    session.tuning.update_least_bytes = published ? ARENA_PUBLISHED_BYTES : 0;
    session.tuning.focus.share = def->focus_share;
    session.upload_bytes_s = def->mode == ARENA_MODE_HIBW ? 0.0 : def->kbps * 125.0;
    session.tuning.guide_from_ns = def->mode == ARENA_MODE_DONNY ? 0 : GUIDE_FROM;
    if (def->mode == ARENA_MODE_OURS || def->mode == ARENA_MODE_DONNY) {
        // Corrections glide, no faster than players move.
        session.tuning.show.convergence = FL_CONVERGENCE_SMOOTH;
        session.tuning.show.smooth_ns = FL_MS(1);
        session.tuning.show.speed_limit = def->top_speed;
        session.tuning.show.catch_up = ARENA_RUN_SPEED;
        session.tuning.show.snap_distance = (double)INFINITY;
    }
    if (def->mode == ARENA_MODE_OURS) {
        session.tuning.focus.base = 0.4;
        session.tuning.focus.radian = 40.0;
        session.tuning.focus.second = 100.0;
        session.tuning.focus.chosen_ns = FL_MS(90); // every second frame
    }
    return session;
}

ArenaNodeDef arena_mode_node(const ArenaGame *game, ArenaMode mode)
{
    bool guided = mode == ARENA_MODE_DONNY || mode == ARENA_MODE_OURS;
    ArenaNodeDef node = {
        .game = game,
        .model = FL_MODEL_AUTO,
        .send = mode == ARENA_MODE_OURS ? fl_send_make(FL_SEND_FOCUS_EQUAL)
                                        : fl_send_make(FL_SEND_FOCUS),
        .trigger = {.distance = 0.125,
                    .angle = 0.01,
                    .silence_ns = FL_SEC(1) / ARENA_TICK_HZ}, // every frame
        .guided = guided,
        .points = mode == ARENA_MODE_OURS ? POINTS : 0,
        .attentive = guided,
        .run_speed = ARENA_RUN_SPEED,
        .skill = ARENA_SKILL_MIN,
    };
    if (mode == ARENA_MODE_OURS) { // what is said is said because it matters
        node.chosen = CHOSEN;
        node.model =
            FL_MODEL_LINEAR; // who runs and turns within frames: others are longer, no better
        node.trigger = (FlTriggerDef){.distance = 1.0, .angle = 0.05, .silence_ns = FL_SEC(1)};
    }
    return node;
}
