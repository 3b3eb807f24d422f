// The placed path of one remote entity.
#include "fairlead/show.h"

#include <string.h>

void fl_show_init(FlShow *show)
{
    memset(show, 0, sizeof *show);
    fl_path_init(&show->placed, show->storage, FL_SHOW_PIECES);
}

// The life nearest to the one shown whose two low bits are those that travelled; never backwards.
static uint32_t life_after(const FlShow *show, uint32_t bits)
{
    return show->started ? show->life + ((bits - show->life) & 3u) : bits & 3u;
}

// Two updates of one time differ by a cut between them; three lives ahead is one back.
static bool is_news(const FlShow *show, const FlUpdate *update, FlTime stamp)
{
    uint32_t ahead = (update->life - show->life) & 3u;
    return !show->started || stamp > show->newest ||
           (stamp == show->newest && (ahead == 1 || ahead == 2));
}

bool fl_show_arrive(FlShow *show, const FlUpdate *update, FlTime stamp, FlTime arrival)
{
    if (!is_news(show, update, stamp)) {
        show->overtaken += stamp < show->newest ? 1 : 0;
        return false;
    }
    uint32_t life = life_after(show, update->life);
    FlPiece piece = fl_piece_placed(&update->motion, life, arrival);
    // Arrivals are in order; a clock slewed back by rounding must not lose an update.
    const FlPiece *last = show->placed.count > 0 ? fl_path_at(&show->placed, FL_FOREVER) : NULL;
    if (last != NULL && piece.from < last->from) {
        piece.from = last->from;
    }
    if (fl_path_add(&show->placed, &piece) != FL_OK) {
        return false;
    }
    show->newest = stamp;
    show->life = life;
    show->started = true;
    return true;
}

FlResult fl_show_pose(const FlShow *show, FlTime time, FlPose *pose)
{
    memset(pose, 0, sizeof *pose);
    const FlPiece *piece = fl_path_at(&show->placed, time);
    if (piece == NULL) {
        return FL_NOT_FOUND;
    }
    *pose = fl_motion_pose(&piece->motion, time);
    return FL_OK;
}
