// The updates that a placement works on: those in use, and those that wait for their time.
//
// Layout: an array in the order of (stamp, life), which is the order in which the owner spoke. It
// begins behind those that were forgotten last, so that the others are not moved for each. All
// of them have arrived. At a shown time `at` the one *in use* is the last in the array whose motion
// has begun by then; those after it wait. A stamp and the motion's time are the same unless the
// receiver goes by another clock, so motions may begin out of order; then the newer one is used and
// the older one never was.
//
// Invariant: at most two are kept before the one in use (higher-order prediction looks that far
// back), so at least FL_SHOW_UPDATES - 3 may wait.
#include "private.h"

#include <string.h>

#define KEPT_BEFORE 2
#define FORGOTTEN_AT_MOST 4 // more would spread the few that are kept over more of the cache

static void to_front(FlShow *show)
{
    size_t bytes = (size_t)show->update_count * sizeof show->updates[0];
    memmove(show->update_storage, show->updates, bytes);
    show->updates = show->update_storage;
}

int32_t fl__updates_in_use(const FlShow *show, FlTime at)
{
    int32_t i = show->update_count - 1;
    while (i >= 0 && show->updates[i].motion.time > at) {
        i--;
    }
    return i;
}

bool fl__updates_next(const FlShow *show, int32_t used, FlTime limit, FlTime *when)
{
    bool found = false;
    *when = limit;
    for (int32_t i = used + 1; i < show->update_count; i++) {
        if (show->updates[i].motion.time <= *when) {
            *when = show->updates[i].motion.time;
            found = true;
        }
    }
    return found;
}

// Was this said after that? Two of one time differ by a cut between them; three lives ahead is one
// back.
static bool follows(FlTime stamp, uint32_t life, const FlShowUpdate *that)
{
    uint32_t ahead = (life - that->life) & 3u;
    return stamp > that->stamp || (stamp == that->stamp && (ahead == 1 || ahead == 2));
}

static bool is_same(FlTime stamp, uint32_t life, const FlShowUpdate *that)
{
    return stamp == that->stamp && ((life - that->life) & 3u) == 0;
}

static int32_t place_of(const FlShow *show, FlTime stamp, uint32_t life)
{
    int32_t i = show->update_count;
    while (i > 0 && !follows(stamp, life, &show->updates[i - 1])) {
        i--;
    }
    return i;
}

// The life with these two low bits that fits at `index`: not before that of the update before it,
// nor after that of the one behind it. What was said after everything received so far (shown or
// discarded) goes on from there. False: there is none.
static bool life_at(const FlShow *show, int32_t index, FlTime stamp, uint32_t bits, uint32_t *life)
{
    *life = bits & 3u;
    if (!show->started) {
        return true;
    }
    bool is_last = index == show->update_count;
    FlShowUpdate newest = {.stamp = show->newest, .life = show->life};
    if (is_last && (follows(stamp, bits, &newest) || is_same(stamp, bits, &newest))) {
        *life = show->life + ((bits - show->life) & 3u);
        return true;
    }
    uint32_t behind = is_last ? show->life : show->updates[index].life;
    if (index > 0) {
        uint32_t before = show->updates[index - 1].life;
        *life = before + ((bits - before) & 3u);
        return *life <= behind;
    }
    uint32_t back = (behind - bits) & 3u;
    *life = behind - back;
    return behind >= back; // the first life ever seen has no number before it
}

void fl__updates_note(FlShow *show, FlTime stamp, uint32_t life)
{
    FlShowUpdate newest = {.stamp = show->newest, .life = show->life};
    if (!show->started) {
        show->life = life & 3u;
    } else if (follows(stamp, life, &newest)) {
        show->life += (life - show->life) & 3u;
    } else {
        return;
    }
    show->newest = stamp;
    show->started = true;
}

// Something older than what is in use can still sharpen a prediction made from several updates.
static bool is_of_use(const FlShow *show, int32_t index, int32_t used, uint32_t life)
{
    return index > used || (used - index < fl__placement_order(show->def.placement) &&
                            life == show->updates[used].life);
}

static void remove_at(FlShow *show, int32_t index)
{
    size_t behind = (size_t)(show->update_count - index - 1);
    memmove(&show->updates[index], &show->updates[index + 1], behind * sizeof show->updates[0]);
    show->update_count--;
}

// Too many wait: gives up the one whose neighbours are closest together. Not the next one, towards
// which the picture may already be moving, and not the newest.
static int32_t thin_out(FlShow *show, int32_t used)
{
    int32_t victim = used + 2;
    FlTime smallest = FL_FOREVER;
    for (int32_t i = used + 2; i + 1 < show->update_count; i++) {
        FlTime gap = fl_span(show->updates[i + 1].stamp, show->updates[i - 1].stamp);
        if (gap < smallest) {
            smallest = gap;
            victim = i;
        }
    }
    remove_at(show, victim);
    show->crowded++;
    return victim;
}

int32_t fl__updates_insert(FlShow *show, const FlUpdate *update, FlTime stamp, int32_t used)
{
    int32_t index = place_of(show, stamp, update->life);
    if (index < show->update_count && is_same(stamp, update->life, &show->updates[index])) {
        return -1;
    }
    uint32_t life;
    if (!life_at(show, index, stamp, update->life, &life)) {
        show->refused++;
        return -1;
    }
    if (!is_of_use(show, index, used, life)) {
        show->overtaken++;
        return -1;
    }
    if (show->update_count == FL_SHOW_UPDATES && used > KEPT_BEFORE) { // shown while nothing came
        fl__updates_forget(show, used);
        index -= used - KEPT_BEFORE;
    } else if (show->update_count == FL_SHOW_UPDATES) {
        int32_t gone = thin_out(show, used);
        index -= gone < index ? 1 : 0;
    }
    if (show->updates + show->update_count == show->update_storage + FL_SHOW_UPDATES) {
        to_front(show);
    }
    size_t behind = (size_t)(show->update_count - index);
    if (behind > 0) {
        memmove(&show->updates[index + 1], &show->updates[index], behind * sizeof show->updates[0]);
    }
    FlShowUpdate *fresh = &show->updates[index];
    fresh->stamp = stamp;
    fresh->life = life;
    fresh->motion = update->motion;
    show->update_count++;
    fl__updates_note(show, stamp, life);
    return index;
}

void fl__updates_forget(FlShow *show, int32_t used)
{
    int32_t extra = used - KEPT_BEFORE;
    if (extra > 0) {
        show->updates += extra;
        show->update_count -= extra;
        if (show->updates - show->update_storage >= FORGOTTEN_AT_MOST) {
            to_front(show);
        }
    }
}
