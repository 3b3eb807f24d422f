// Playing, rolling back, settling.
//
// A call of fl_timeline_advance reads: go back if something known now was played otherwise; play up
// to the present; show it; settle what is final. A repair that needs more ticks than the budget
// goes on in the next call, and does not begin anew for what comes meanwhile: that is repaired by
// the next one. Otherwise a budget below the usual depth would never show anything.
//
// The game is in one state at a time. Where it keeps that itself, it is brought back to the shown
// one before we return.
#include "private.h"

#include <string.h>

// ---------------------------------------------------------------- states

static uint8_t *save_of(const FlTimeline *t, int64_t tick)
{
    return t->saves + fl__timeline_slot(t, tick) / t->def.save_every * t->def.state_bytes;
}

static void save_to(FlTimeline *t, void *bytes)
{
    if (t->def.game.save_fn != NULL) {
        t->def.game.save_fn(t->def.game.ctx, bytes);
    } else {
        memcpy(bytes, t->live, (size_t)t->def.state_bytes);
    }
}

static void load_from(FlTimeline *t, const void *bytes)
{
    if (t->def.game.load_fn != NULL) {
        t->def.game.load_fn(t->def.game.ctx, bytes);
    } else {
        memcpy(t->live, bytes, (size_t)t->def.state_bytes);
    }
}

// ---------------------------------------------------------------- one tick

// By what was played a tick before, which is what is known or was guessed then.
static void guess(const FlTimeline *t, int32_t player, int64_t tick, uint8_t *out)
{
    uint8_t nothing[FL_TIMELINE_INPUT_BYTES] = {0};
    bool before =
        tick > t->origin && (t->used_bits[fl__timeline_slot(t, tick - 1)] >> player & 1u) != 0;
    const uint8_t *last = before ? fl__timeline_used(t, player, tick - 1) : nothing;
    if (t->def.game.guess_fn != NULL) {
        t->def.game.guess_fn(t->def.game.ctx, player, tick, last, out);
    } else {
        memcpy(out, last, (size_t)t->def.input_bytes);
    }
}

// Chooses everybody's input for a tick, as well as is known.
static void choose(FlTimeline *t, int64_t tick)
{
    int64_t slot = fl__timeline_slot(t, tick);
    uint64_t used = 0;
    for (int32_t p = 0; p < t->def.player_capacity; p++) {
        if (!fl__timeline_plays(t, p, tick)) {
            continue;
        }
        uint8_t *out = fl__timeline_used(t, p, tick);
        if ((t->known_bits[slot] >> p & 1u) != 0) {
            memcpy(out, fl__timeline_given(t, p, tick), (size_t)t->def.input_bytes);
        } else {
            guess(t, p, tick, out);
        }
        used |= UINT64_C(1) << p;
    }
    t->used_bits[slot] = used;
}

static void step(FlTimeline *t, int64_t tick)
{
    FlTimelineInputs inputs = {{NULL}};
    uint64_t used = t->used_bits[fl__timeline_slot(t, tick)];
    for (int32_t p = 0; p < t->def.player_capacity; p++) {
        inputs.of[p] = (used >> p & 1u) != 0 ? fl__timeline_used(t, p, tick) : NULL;
    }
    void *state = t->def.game.load_fn != NULL ? NULL : t->live;
    t->def.game.step_fn(t->def.game.ctx, state, tick, &inputs);
}

// Of the state that the game is in.
static uint64_t live_hash(FlTimeline *t)
{
    if (t->def.game.save_fn == NULL) {
        return fl__timeline_hash_of(t, t->live);
    }
    save_to(t, t->aside);
    return fl__timeline_hash_of(t, t->aside);
}

static void play(FlTimeline *t)
{
    int64_t tick = t->at;
    if (tick % t->def.save_every == 0) {
        save_to(t, save_of(t, tick));
    }
    if (tick >= t->settled_tick) { // before that all is as it was
        choose(t, tick);
    }
    step(t, tick);
    t->at = tick + 1;
    if (t->def.stress_ticks > 0) {
        t->run_hash[fl__timeline_slot(t, tick)] = live_hash(t);
    }
    if (tick < t->reached) {
        t->figures.replayed++;
    } else {
        t->figures.played++;
        t->reached = tick + 1;
    }
}

// ---------------------------------------------------------------- going back

// The last save at or before a tick; the state it began with stands in for the first.
static int64_t save_before(const FlTimeline *t, int64_t tick)
{
    int64_t save = tick - tick % t->def.save_every;
    return save > t->origin ? save : t->origin;
}

static void go_back(FlTimeline *t)
{
    int64_t depth = t->at - t->wrong;
    t->figures.rollbacks++;
    t->figures.deepest =
        (uint64_t)depth > t->figures.deepest ? (uint64_t)depth : t->figures.deepest;
    int64_t save = save_before(t, t->wrong);
    load_from(t, save_of(t, save));
    t->at = save;
    t->wrong = FL_TIMELINE_NEVER;
}

static void show(FlTimeline *t)
{
    int64_t slot = fl__timeline_slot(t, t->at);
    save_to(t, t->shown);
    t->shown_tick = t->at;
    t->shown_at[slot] = t->at;
    t->shown_hash[slot] = fl__timeline_hash_of(t, t->shown);
}

// Plays up to the target, as far as the budget goes.
static void play_on(FlTimeline *t)
{
    int64_t left = t->def.budget_ticks;
    while (left > 0) {
        if (t->at == t->reached && t->wrong < t->at) {
            go_back(t);
        }
        for (; t->at < t->reached && left > 0; left--) {
            play(t);
        }
        while (t->at >= t->reached && t->at < t->target) {
            play(t);
        }
        bool there = t->at == t->target;
        if (there) {
            show(t);
        }
        if (!there || t->wrong >= t->at) {
            break;
        }
    }
    t->figures.held += t->at < t->target || t->wrong < t->at ? 1 : 0;
}

// ---------------------------------------------------------------- settling

// States up to this one are final, as far as inputs go.
static int64_t complete_until(FlTimeline *t)
{
    int64_t end = FL_TIMELINE_NEVER;
    for (int32_t i = 0; i < t->def.player_capacity; i++) {
        const FlPlayer *p = &t->players[i];
        if (p->from == FL_TIMELINE_NEVER) {
            continue;
        }
        int64_t own = p->known + 1 < p->until ? p->known + 1 : p->next_from;
        end = own < end ? own : end;
    }
    return end;
}

static int64_t settle_until(FlTimeline *t)
{
    int64_t sound = fl__timeline_sound(t);
    if (t->follows) {
        return t->settled_tick; // its server says what is final
    }
    if (t->def.control == FL_CONTROL_NONE) {
        return sound;
    }
    int64_t goal = t->target - t->lag_ticks;
    if (t->def.control == FL_CONTROL_LAGS) {
        int64_t complete = complete_until(t);
        t->figures.waits += complete < goal ? 1 : 0;
        goal = complete < goal ? complete : goal;
    }
    return goal < sound ? goal : sound;
}

// A number whose holder's time is settled goes to the next one.
static void hand_on(FlTimeline *t)
{
    for (int32_t i = 0; i < t->def.player_capacity; i++) {
        FlPlayer *p = &t->players[i];
        if (p->next_from != FL_TIMELINE_NEVER && t->settled_tick >= p->until) {
            FlPlayer next = {p->next_from, FL_TIMELINE_NEVER, p->next_from - 1, FL_TIMELINE_NEVER,
                             p->next_from - 1};
            uint64_t bit = UINT64_C(1) << i;
            while ((t->known_bits[fl__timeline_slot(t, next.known + 1)] & bit) != 0 &&
                   next.known + 1 < t->settled_tick + t->def.history_ticks) {
                next.known++;
            }
            *p = next;
        }
    }
}

static void settle_one(FlTimeline *t)
{
    int64_t tick = t->settled_tick; // which is final
    if (t->def.save_every > 1) {
        step(t, tick);
        save_to(t, t->settled);
    } else {
        memcpy(t->settled, save_of(t, tick + 1), (size_t)t->def.state_bytes);
    }
    t->known_bits[fl__timeline_slot(t, tick)] = 0;
    t->settled_tick = tick + 1;
    fl__timeline_settled(t);
}

static void settle(FlTimeline *t)
{
    int64_t goal = settle_until(t);
    if (goal <= t->settled_tick) {
        return;
    }
    bool plays_itself = t->def.save_every > 1;
    if (plays_itself) {
        save_to(t, t->aside);
        load_from(t, t->settled);
    } else if (goal == t->at) {
        save_to(t, save_of(t, t->at));
    }
    while (t->settled_tick < goal) {
        settle_one(t);
    }
    if (plays_itself) {
        load_from(t, t->aside);
    }
    hand_on(t);
}

// ---------------------------------------------------------------- following a server

void fl__timeline_follow(FlTimeline *timeline)
{
    FL_ASSERT(timeline->def.save_every == 1);
    timeline->follows = true;
}

FlResult fl__timeline_confirm(FlTimeline *timeline, int64_t tick, const void *state, bool *same)
{
    FlTimeline *t = timeline;
    size_t bytes = (size_t)t->def.state_bytes;
    FL_ASSERT(t->follows && !t->playing && t->at == t->reached);
    *same = true;
    if (tick <= t->settled_tick) {
        return FL_OUT_OF_ORDER;
    }
    if (tick > t->at) {
        return FL_NOT_FOUND;
    }
    uint8_t *save = save_of(t, tick);
    if (tick == t->at) {
        save_to(t, save);
    }
    *same = memcmp(save, state, bytes) == 0;
    memcpy(save, state, bytes);
    for (int64_t i = t->settled_tick; i < tick; i++) {
        t->known_bits[fl__timeline_slot(t, i)] = 0;
    }
    memcpy(t->settled, state, bytes);
    t->settled_tick = tick;
    t->figures.settled++;
    t->wrong = t->wrong < tick ? FL_TIMELINE_NEVER : t->wrong; // it is decided, whatever came
    if (!*same && tick < t->at) {
        t->wrong = tick;
    } else if (!*same) {
        load_from(t, state);
        show(t);
    }
    return FL_OK;
}

const void *fl__timeline_saved(const FlTimeline *timeline, int64_t tick)
{
    bool here = tick >= timeline->settled_tick && tick < timeline->at;
    return here ? save_of(timeline, tick) : NULL;
}

// ---------------------------------------------------------------- stress

// Plays the last ticks once more with the same inputs: what comes out otherwise depends on
// something that is neither state nor input.
static void stress(FlTimeline *t)
{
    int64_t from = t->at - t->def.stress_ticks;
    from = from > t->origin ? save_before(t, from) : t->origin;
    int64_t oldest = t->reached - t->def.history_ticks;
    if (from <= oldest || from >= t->at) {
        return;
    }
    load_from(t, save_of(t, from));
    for (int64_t tick = from; tick < t->at; tick++) {
        step(t, tick);
        if (live_hash(t) != t->run_hash[fl__timeline_slot(t, tick)]) {
            t->figures.unstable++;
            t->figures.unstable_at = tick < t->figures.unstable_at ? tick : t->figures.unstable_at;
            break; // what follows from it is its consequence
        }
    }
    load_from(t, t->shown);
}

// ---------------------------------------------------------------- the call

void fl_timeline_advance(FlTimeline *timeline, int64_t present)
{
    FlTimeline *t = timeline;
    FL_ASSERT(!t->playing);
    t->playing = true;
    bool keeps_itself = t->def.game.load_fn != NULL;
    if (keeps_itself && t->at < t->reached) {
        load_from(t, t->repair);
    }
    int64_t most = t->settled_tick + t->def.history_ticks - t->def.save_every;
    t->figures.stalls += present > most ? 1 : 0;
    present = present > most ? most : present;
    t->target = present > t->target ? present : t->target;
    play_on(t);
    settle(t);
    if (t->def.stress_ticks > 0 && t->shown_tick == t->at) {
        stress(t);
    }
    if (keeps_itself && t->at < t->reached) {
        save_to(t, t->repair);
        load_from(t, t->shown);
    }
    t->playing = false;
}
