// Duels over sessions: sixteen peers in a mesh, each with a bot of its own.
#include <stdlib.h>

#include "lab/actors/arena_mesh.h"
#include "lab/experiments/duels/duels.h"
#include "lab/world/play.h"

#define RTT_MS 20.0
#define SETTLE FL_SEC(5) // everybody is seen by then

typedef struct Game {
    const DuelsPlay *play;
    ArenaMesh mesh;
    int32_t before[DUELS_PLAYERS]; ///< Scores when the stretch began.
} Game;

static ArenaMode mode_of(DuelsMode mode)
{
    FL_ASSERT(mode != DUELS_EXACT);
    switch (mode) {
    case DUELS_LOBW:
        return ARENA_MODE_LOBW;
    case DUELS_DONNY:
        return ARENA_MODE_DONNY;
    case DUELS_OURS:
        return ARENA_MODE_OURS;
    default:
        return ARENA_MODE_HIBW;
    }
}

static void cast_player(void *ctx, int32_t player, int32_t *character, int32_t *skill)
{
    const Game *game = (const Game *)ctx;
    *character = game->play->cast->character[player];
    *skill = game->play->cast->skill[player];
}

/// What each scored since the last call, by the player's own word. `scores` NULL: not asked.
static void count_scores(Game *game, DuelsScores *scores)
{
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        const ArenaNode *node = &game->mesh.nodes[i];
        int32_t me = node->player;
        int32_t score = node->view.player[me].score;
        if (scores != NULL) {
            scores->score[me] = score - game->before[me];
        }
        game->before[me] = score;
    }
}

static double bytes_of_all(const Game *game)
{
    double bytes = 0.0;
    for (int32_t i = 0; i < DUELS_PLAYERS; i++) {
        bytes += (double)arena_mesh_sent_bytes(&game->mesh, i);
    }
    return bytes;
}

static LabStatus play_stretches(Game *game, DuelsScores *scores, DuelsTraffic *traffic,
                                LabError *error)
{
    const DuelsPlay *play = game->play;
    World *world = game->mesh.world;
    FlTime from = game->mesh.begin + SETTLE;
    world_run(world, from);
    count_scores(game, NULL);
    double bytes = bytes_of_all(game);
    for (int32_t s = 0; s < play->stretches; s++) {
        world_run(world, from + (s + 1) * play->stretch_ns);
        count_scores(game, &scores[s]);
        if (play->progress_fn != NULL) {
            play->progress_fn(play->progress_ctx);
        }
    }
    double seconds = play->stretches * fl_span_seconds(play->stretch_ns);
    traffic->kbps_used = 8e-3 * (bytes_of_all(game) - bytes) / (seconds * DUELS_PLAYERS);
    return play_check(world, error);
}

LabStatus duels_play_sessions(const DuelsPlay *play, DuelsScores *scores, DuelsTraffic *traffic,
                              LabError *error)
{
    Game *game = (Game *)calloc(1, sizeof *game);
    if (game == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    game->play = play;
    ArenaMeshDef def = {
        .mode = mode_of(play->mode),
        .map = ARENA_MAP_YARD,
        .players = DUELS_PLAYERS,
        .kbps = play->kbps,
        .focus_share = DUELS_FOCUS_SHARE,
        .rtt_ms = RTT_MS,
        .top_speed = ARENA_SPEED_BOUND,
        .seed = play->seed,
        .sealed = play->sealed,
        .cast_fn = cast_player,
        .ctx = game,
    };
    LabStatus status = arena_mesh_create(&game->mesh, &def, 0, error);
    if (status == LAB_OK) {
        status = play_stretches(game, scores, traffic, error);
    }
    arena_mesh_destroy(&game->mesh);
    free(game);
    return status;
}
