// Stalls, walls, facing, and those that are wanted.
#include "lab/experiments/attention/attention_viewer.h"

#include <math.h>
#include <string.h>

#define STANDS 16.0     // units in half a second: half a player's width
#define RUNS 64.0       // likewise
#define IN_WALL 4.0     // units deep
#define LATE FL_MS(150) // three frames

// ---------------------------------------------------------------- motion

static FlVec3 position_of(const ArenaPlayer *p)
{
    return fl_vec3(p->x, p->y, p->z);
}

static void see_stall(ViewerPair *pair, ViewerSums *sums, FlVec3 shown, FlVec3 real)
{
    int32_t at = pair->count % VIEWER_TICKS;
    bool stalls = pair->count >= VIEWER_TICKS &&
                  fl_vec3_distance(shown, pair->shown[at]) < STANDS &&
                  fl_vec3_distance(real, pair->real[at]) > RUNS;
    sums->stalls += stalls && !pair->stalls ? 1 : 0;
    sums->stall_ticks += stalls ? 1 : 0;
    pair->stalls = stalls;
    pair->shown[at] = shown;
    pair->real[at] = real;
    pair->count++;
}

// ---------------------------------------------------------------- facing

static double direction(const ArenaPlayer *from, const ArenaPlayer *to)
{
    return fl_atan2(to->y - from->y, to->x - from->x);
}

static double facing_error(const ArenaNode *viewer, const ArenaNode *owner)
{
    int32_t player = owner->player;
    const ArenaPlayer *shown = &viewer->view.player[player];
    const ArenaPlayer *real = &owner->view.player[player];
    int32_t target = arena_player_aims_at(&owner->view, player, NULL);
    double turn = shown->yaw - real->yaw;
    if (target >= 0 && viewer->view.player[target].alive != 0) {
        turn -= direction(shown, &viewer->view.player[target]) -
                direction(real, &owner->view.player[target]);
    }
    return fabs(fl_angle_wrap(turn));
}

// ---------------------------------------------------------------- those that are wanted

// Is what the viewer has of it as new as can be?
static bool is_served(const ArenaNode *viewer, const ArenaNode *owner)
{
    FlEntityStatus here, there;
    return fl_entity_status(viewer->session, viewer->seen[owner->player].entity, &here) == FL_OK &&
           fl_entity_status(owner->session, owner->entity, &there) == FL_OK &&
           here.newest != FL_FOREVER && fl_span(there.newest, here.newest) <= LATE;
}

static void leave(ViewerPair *pair, ViewerSums *sums)
{
    sums->never += pair->wanted >= VIEWER_TICKS && !pair->entered ? 1 : 0;
    pair->wanted = 0;
    pair->entered = false;
}

static void see_wanted(ViewerPair *pair, ViewerSums *sums, bool served, bool settled, double error)
{
    sums->wanted++;
    sums->served += served ? 1 : 0;
    if (served && settled) {
        if (!pair->entered) {
            tally_add(&sums->enter, (double)pair->wanted / ARENA_TICK_HZ);
        }
        pair->entered = true;
        sums->settled_error += error;
        sums->settled++;
    }
    pair->wanted++;
}

// ---------------------------------------------------------------- a tick

void viewer_see(ViewerPair *pair, ViewerSums *sums, const ArenaNode *viewer, const ArenaNode *owner,
                bool wanted)
{
    int32_t player = owner->player;
    FlVec3 shown = position_of(&viewer->view.player[player]);
    FlVec3 real = position_of(&owner->view.player[player]);
    sums->ticks++;
    see_stall(pair, sums, shown, real);
    bool inside = arena_is_inside(viewer->def.game, shown, IN_WALL);
    sums->walls += inside && !pair->inside ? 1 : 0;
    pair->inside = inside;
    sums->facing += facing_error(viewer, owner);
    if (wanted) {
        bool settled = viewer->seen[player].mode == FL_GUIDE_NEAR;
        see_wanted(pair, sums, is_served(viewer, owner), settled, fl_vec3_distance(shown, real));
    } else {
        leave(pair, sums);
    }
}

void viewer_pause(ViewerPair *pair, ViewerSums *sums)
{
    leave(pair, sums);
    ViewerPair none = {0};
    *pair = none;
}
