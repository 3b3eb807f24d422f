// One crowd in one mode; and the search for the largest.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lab/experiments/scale/scale.h"
#include "motion/motion.h"

#define FOCUS 4
#define FOCUS_HZ 20.0
#define PUBLISHED_BYTES 126
#define RECEIVED_MOST 64 // senders that may have one in their focus at once
#define CLOSE 32         // the search ends when two numbers are closer than one in so many

// Of a datagram with one update, beside the update: the seal's, and the packet's number and head.
#define SEAL_BYTES 19
#define PLAIN_BYTES 5
#define PACKET_BYTES 4
#define HEARTBEAT_BYTES                                                                            \
    6 // and what heartbeats and looks add, per update: the published number has all

static const double least[SCALE_LIMITS] = {
#define SCALE_LIMIT_ROW(name, number, unit, what) [SCALE_##name##_LEAST] = number,
    SCALE_LIMIT_TABLE(SCALE_LIMIT_ROW)
#undef SCALE_LIMIT_ROW
};

const char *scale_mode_name(ScaleMode mode)
{
#define SCALE_MODE_ROW(name, word) word,
    static const char *const words[SCALE_MODES] = {SCALE_MODE_TABLE(SCALE_MODE_ROW)};
#undef SCALE_MODE_ROW
    FL_ASSERT(mode >= 0 && mode < SCALE_MODES);
    return words[mode];
}

// ---------------------------------------------------------------- one crowd

/// What our datagrams with one update must count more so that they are as long as published.
static int32_t published_overhead(const ScalePlay *play)
{
    FlWorldDef def = crowd_motion_world(play->motion, play->players);
    FlWorld world;
    if (fl_world_init(&def, &world) != FL_OK) {
        return CROWD_HEADER_BYTES;
    }
    int32_t update = fl__update_bytes(&world, FL_MODEL_LINEAR, FL_FACING_YAW, false, false);
    int32_t ours =
        update + PACKET_BYTES + HEARTBEAT_BYTES + (play->sealed ? SEAL_BYTES : PLAIN_BYTES);
    return PUBLISHED_BYTES - ours;
}

static CrowdGameDef game_def(const ScalePlay *play)
{
    CrowdGameDef def = crowd_game_def_default();
    def.players = play->players;
    def.motion = play->motion;
    def.kbps = play->kbps;
    def.loop_ns = (FlTime)(play->loop_ms * 1e6);
    def.seed = play->seed;
    def.sealed = play->sealed;
    if (play->mode == SCALE_OURS) {
        def.crowd.focus_count = FOCUS;
        return def;
    }
    // Light connections to everybody, and nobody passes anything on.
    bool broadcast = play->mode == SCALE_BROADCAST;
    int32_t others = play->players - 1;
    def.crowd.shared = false;
    def.crowd.extra_ns = 0;
    def.crowd.light_capacity = others;
    def.crowd.stream_capacity = broadcast ? others : FOCUS + 2; // some leave while others come
    def.crowd.focus_count = broadcast || others < RECEIVED_MOST ? others : RECEIVED_MOST;
    def.everybody = broadcast;
    def.sender_focus = broadcast ? 0 : FOCUS;
    def.overhead_bytes = published_overhead(play);
    return def;
}

bool scale_held(const ScalePlay *play, const CrowdFigures *f)
{
    bool broadcast = play->mode == SCALE_BROADCAST;
    double wanted = broadcast || play->players <= FOCUS ? play->players - 1 : FOCUS;
    bool focus = f->focus_hz >= least[SCALE_FOCUS_HZ_LEAST] &&
                 f->focus_size >= least[SCALE_FOCUS_SHARE_LEAST] * wanted;
    bool rest = broadcast || isnan(f->best_effort_hz) ||
                (f->best_effort_hz >= least[SCALE_REST_HZ_LEAST] &&
                 f->best_effort_low_hz >= least[SCALE_REST_LOW_HZ_LEAST]);
    return focus && rest && f->peak_share <= 1.0;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// What the process holds now; NaN where the system does not say.
static double rss_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0;
    unsigned long pages = 0;
    if (file == NULL) {
        return (double)NAN;
    }
    int read = fscanf(file, "%lu %lu", &size, &pages);
    (void)fclose(file);
    return read == 2 ? (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576.0 : (double)NAN;
}

/// Where far more is asked of an upload than it bears, somebody may lose the lobby.
static bool all_are_there(const CrowdGame *game)
{
    bool there = true;
    for (int32_t i = 0; i < game->def.players && there; i++) {
        there = fl_session_state(game->nodes[i].player.session) == FL_SESSION_RUNNING;
    }
    return there;
}

static LabStatus run(CrowdGame *game, const ScalePlay *play, ScaleFigures *figures, LabError *error)
{
    CrowdViews *views;
    LabStatus status = crowd_views_create(game, &views, error);
    if (status != LAB_OK) {
        return status;
    }
    double begun = cpu_seconds();
    FlTime end = world_now(game->world) + (FlTime)(play->seconds * 1e9);
    world_run(game->world, end);
    figures->sim_speed = play->seconds / (cpu_seconds() - begun);
    figures->rss_mib = rss_mib();
    figures->crowd = crowd_views_figures(views);
    figures->held = scale_held(play, &figures->crowd) && all_are_there(game);
    crowd_views_destroy(views);
    bool crowded = world_stats(game->world).crowded > 0;
    return crowded ? lab_fail(error, LAB_FAILED, "too many datagrams under way") : LAB_OK;
}

/// With so many players an upload does not even carry their coming in.
static void nobody_played(ScaleFigures *figures)
{
    const double none = (double)NAN;
    figures->absent = true;
    figures->sim_speed = none;
    figures->rss_mib = rss_mib();
    figures->crowd = (CrowdFigures){
        none, none,
        none, none,
        none, none,
        none, none,
        none, none,
        none, none,
        none, {none, none, none, none, none, none, none, none, none, none},
        none, none,
        none, none,
        none, none,
    };
}

LabStatus scale_play(const ScalePlay *play, ScaleFigures *figures, LabError *error)
{
    memset(figures, 0, sizeof *figures);
    CrowdGame game;
    CrowdGameDef def = game_def(play);
    double begun = cpu_seconds();
    LabStatus status = crowd_game_create(&game, &def, 1, error);
    figures->join_cpu_s = cpu_seconds() - begun;
    if (status == LAB_OK) {
        status = run(&game, play, figures, error);
    } else if (game.absent) {
        nobody_played(figures);
        status = LAB_OK;
    }
    crowd_game_destroy(&game);
    return status;
}

// ---------------------------------------------------------------- searching

/// Where to begin, by what datagrams weigh. Only the number of steps hangs on it.
static int32_t first_guess(const ScalePlay *play, int32_t limit)
{
    double bytes = play->kbps * 125.0;
    double players = 0.0;
    switch (play->mode) {
    case SCALE_BROADCAST:
        players = 1.0 + bytes / (FOCUS_HZ * PUBLISHED_BYTES);
        break;
    case SCALE_DONNY:
        players = 5.0 + bytes / PUBLISHED_BYTES - FOCUS * FOCUS_HZ;
        break;
    case SCALE_OURS:
        players = (bytes - 65.0 * FOCUS * FOCUS_HZ) / 17.0;
        break;
    case SCALE_MODES:
        break;
    }
    return (int32_t)fmin(fmax(players, SCALE_PLAYERS_LEAST), limit);
}

static LabStatus try(const ScalePlay *play, int32_t players, ScaleFound *found, LabError *error)
{
    ScalePlay one = *play;
    ScaleFigures figures;
    one.players = players;
    LabStatus status = scale_play(&one, &figures, error);
    if (status != LAB_OK) {
        return status;
    }
    if (figures.held) {
        found->most = players;
        found->at_most = figures;
    } else {
        found->more = players;
        found->at_more = figures;
    }
    return LAB_OK;
}

static bool is_close(const ScaleFound *found)
{
    int32_t gap = found->most / CLOSE;
    return found->more - found->most <= (gap > 1 ? gap : 1);
}

LabStatus scale_search(const ScalePlay *play, int32_t limit, ScaleFound *found, LabError *error)
{
    memset(found, 0, sizeof *found);
    int32_t next = first_guess(play, limit);
    for (;;) {
        LabStatus status = try(play, next, found, error);
        if (status != LAB_OK) {
            return status;
        }
        bool ends = found->more == 0 ? found->most >= limit : found->more <= SCALE_PLAYERS_LEAST;
        if (ends || (found->more > 0 && found->most > 0 && is_close(found))) {
            return LAB_OK;
        }
        if (found->more == 0) {
            next = found->most + found->most / 5 + 1;
            next = next < limit ? next : limit;
        } else if (found->most == 0) {
            next = found->more - found->more / 6 - 1;
            next = next > SCALE_PLAYERS_LEAST ? next : SCALE_PLAYERS_LEAST;
        } else {
            next = (found->most + found->more) / 2;
        }
    }
}
