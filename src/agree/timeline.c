// A timeline's players and inputs, and queries. Playing is timeline_play.c's.
//
// Inputs lie twice in a ring by tick: as they were given, and as they were played with. The second
// shows what a repair has to repair, and what to guess next: the input played with a tick before.
//
// Invariants:
//   origin <= settled_tick <= at <= reached;  reached - settled_tick < history_ticks
//   a tick before `wrong` and `at` was played with everything that is known of it
//   `known` of a player: all its inputs up to there are known, and the next is not
#include "private.h"

#include <string.h>

#define TIMELINE_COOKIE 0x544c4e31u

// ---------------------------------------------------------------- names

const char *fl__control_name(FlControl control)
{
    switch (control) {
#define ROW(name, word)                                                                            \
    case FL_CONTROL_##name:                                                                        \
        return word;
        FL_CONTROL_TABLE(ROW)
#undef ROW
    case FL_CONTROLS:
        break;
    }
    return "unknown";
}

// ---------------------------------------------------------------- making and ending

FlTimelineDef fl_timeline_def_default(void)
{
    FlTimelineDef def = {
        .player_capacity = 16,
        .input_bytes = 2,
        .history_ticks = 1024,
        .save_every = 1,
        .budget_ticks = 1024,
        .control = FL_CONTROL_LAGS,
        .cookie = TIMELINE_COOKIE,
    };
    return def;
}

static bool needs(FlError *error, bool good, const char *sentence)
{
    if (!good) {
        fl__error_set(error, FL_BAD_VALUE, "%s", sentence);
    }
    return good;
}

static bool sizes_are_good(const FlTimelineDef *def, FlError *error)
{
    const FlTimelineGame *game = &def->game;
    return needs(error, game->step_fn != NULL, "game.step_fn is NULL: it must be set.") &&
           needs(error, (game->save_fn == NULL) == (game->load_fn == NULL),
                 "game.save_fn and game.load_fn: set both, or neither.") &&
           fl__whole_in(error, "player_capacity", def->player_capacity, 1, FL_TIMELINE_PLAYERS) &&
           fl__whole_in(error, "state_bytes", def->state_bytes, 1, 1 << 24) &&
           fl__whole_in(error, "input_bytes", def->input_bytes, 1, FL_TIMELINE_INPUT_BYTES);
}

#define FL__TICK_FROM FL_SEC(INT64_C(1000000000))

static bool ticks_are_good(const FlTimelineDef *def, FlError *error)
{
    int32_t ticks = def->history_ticks;
    return fl__whole_in(error, "history_ticks", ticks, 4, 1 << 16) &&
           fl__power_up_to(error, "history_ticks", ticks, 1 << 16) &&
           fl__power_up_to(error, "save_every", def->save_every, ticks / 4) &&
           fl__whole_in(error, "budget_ticks", def->budget_ticks, 1, INT32_MAX) &&
           fl__whole_in(error, "control", def->control, FL_CONTROL_NONE, FL_CONTROLS - 1) &&
           fl__whole_in(error, "lag_ticks", def->lag_ticks, 0, ticks / 2) &&
           fl__whole_in(error, "tick_hz", def->tick_hz, 0, 1000) &&
           fl__whole_in(error, "tick_from", def->tick_from, -FL__TICK_FROM, FL__TICK_FROM) &&
           fl__whole_in(error, "stress_ticks", def->stress_ticks, 0, ticks / 2) &&
           // Without control inputs are not kept as they were played, so nothing can be played
           // again.
           needs(error, def->stress_ticks == 0 || def->control != FL_CONTROL_NONE,
                 "stress_ticks is above 0: control must not be FL_CONTROL_NONE then.");
}

FlResult fl_timeline_def_problem(const FlTimelineDef *def, FlError *error)
{
    fl__error_clear(error);
    bool good = needs(error, def->cookie == TIMELINE_COOKIE,
                      "Begin with `FlTimelineDef def = fl_timeline_def_default();`, then change "
                      "fields.") &&
                sizes_are_good(def, error) && ticks_are_good(def, error);
    return good ? FL_OK : error->code;
}

#define TABLES 17

static void list_tables(FlTimeline *t, Fl__Table tables[TABLES])
{
    size_t ticks = (size_t)t->def.history_ticks;
    size_t players = (size_t)t->def.player_capacity;
    size_t inputs = ticks * players * (size_t)t->def.input_bytes;
    size_t state = (size_t)t->def.state_bytes;
    Fl__Table all[TABLES] = {
        {(void **)&t->players, players * sizeof(FlPlayer)},
        {(void **)&t->known_bits, ticks * sizeof(uint64_t)},
        {(void **)&t->used_bits, ticks * sizeof(uint64_t)},
        {(void **)&t->given, inputs},
        {(void **)&t->used, inputs},
        {(void **)&t->run_hash, ticks * sizeof(uint64_t)},
        {(void **)&t->shown_hash, ticks * sizeof(uint64_t)},
        {(void **)&t->shown_at, ticks * sizeof(int64_t)},
        {(void **)&t->hash, ticks * sizeof(uint16_t)},
        {(void **)&t->received_bits, ticks * sizeof(uint64_t)},
        {(void **)&t->received_hash, ticks * players * sizeof(uint16_t)},
        {(void **)&t->saves, ticks / (size_t)t->def.save_every * state},
        {(void **)&t->live, state},
        {(void **)&t->shown, state},
        {(void **)&t->settled, state},
        {(void **)&t->aside, state},
        {(void **)&t->repair, state},
    };
    memcpy(tables, all, sizeof all);
}

size_t fl__timeline_memory(const FlTimelineDef *def)
{
    FlTimeline like = {.def = *def};
    Fl__Table tables[TABLES];
    list_tables(&like, tables);
    return sizeof(FlTimeline) + fl__tables_bytes(tables, TABLES);
}

FlResult fl_timeline_create(const FlTimelineDef *def, FlTimeline **out)
{
    *out = NULL;
    FlError error;
    if (fl_timeline_def_problem(def, &error) != FL_OK) {
        return FL_BAD_VALUE;
    }
    FlTimeline *t = (FlTimeline *)fl_alloc(&def->alloc, sizeof *t, _Alignof(FlTimeline));
    if (t == NULL) {
        return FL_NO_MEMORY;
    }
    t->def = *def;
    t->lag_ticks = def->lag_ticks;
    Fl__Table tables[TABLES];
    list_tables(t, tables);
    if (!fl__tables_reserve(&def->alloc, tables, TABLES)) {
        fl_timeline_destroy(t);
        return FL_NO_MEMORY;
    }
    fl_timeline_begin(t, 0, t->live);
    *out = t;
    return FL_OK;
}

void fl_timeline_destroy(FlTimeline *timeline)
{
    if (timeline == NULL) {
        return;
    }
    Fl__Table tables[TABLES];
    list_tables(timeline, tables);
    fl__tables_release(&timeline->def.alloc, tables, TABLES);
    FlAlloc alloc = timeline->def.alloc;
    fl_free(&alloc, timeline, sizeof *timeline);
}

static void forget(FlTimeline *t)
{
    const FlPlayer none_yet = {FL_TIMELINE_NEVER, FL_TIMELINE_NEVER, INT64_MIN, FL_TIMELINE_NEVER,
                               INT64_MIN};
    for (int32_t p = 0; p < t->def.player_capacity; p++) {
        t->players[p] = none_yet;
    }
    for (int32_t i = 0; i < t->def.history_ticks; i++) {
        t->known_bits[i] = 0;
        t->used_bits[i] = 0;
        t->received_bits[i] = 0;
        t->shown_at[i] = INT64_MIN;
    }
    FlTimelineFigures none = {
        .unstable_at = FL_TIMELINE_NEVER, .desync_at = FL_TIMELINE_NEVER, .desync_player = -1};
    t->figures = none;
}

void fl_timeline_begin(FlTimeline *timeline, int64_t tick, const void *state)
{
    FlTimeline *t = timeline;
    size_t bytes = (size_t)t->def.state_bytes;
    FL_ASSERT(!t->playing && tick >= 0);
    forget(t);
    t->origin = t->at = t->reached = t->target = t->shown_tick = t->settled_tick = tick;
    t->wrong = FL_TIMELINE_NEVER;
    memcpy(t->settled, state, bytes);
    memcpy(t->shown, t->settled, bytes);
    memcpy(t->live, t->settled, bytes);
    // A state between two saves is where the save before it would be looked for.
    int64_t save = (tick & (t->def.history_ticks - 1)) / t->def.save_every;
    memcpy(t->saves + save * t->def.state_bytes, t->settled, bytes);
    if (t->def.game.load_fn != NULL) {
        t->def.game.load_fn(t->def.game.ctx, t->settled);
    }
    t->hash[fl__timeline_slot(t, tick)] = (uint16_t)fl__timeline_hash_of(t, t->settled);
}

FlResult fl__timeline_begin_part(FlTimeline *timeline, int64_t tick, int32_t offset,
                                 const void *bytes, int32_t count)
{
    FlTimeline *t = timeline;
    FL_ASSERT(t->at == t->reached); // the memory of a repair is used
    if (offset != 0 && offset != t->part_next) {
        return FL_BAD_VALUE;
    }
    bool begins = tick >= 0 && tick < INT64_MAX / 4; // and has room to go on
    if (!begins || offset < 0 || count <= 0 || count > t->def.state_bytes - offset) {
        return FL_BAD_VALUE;
    }
    memcpy(t->repair + offset, bytes, (size_t)count);
    t->part_next = offset + count;
    if (t->part_next < t->def.state_bytes) {
        return FL_WOULD_BLOCK;
    }
    t->part_next = 0;
    fl_timeline_begin(t, tick, t->repair);
    return FL_OK;
}

const FlTimelineDef *fl__timeline_def(const FlTimeline *timeline)
{
    return &timeline->def;
}

// ---------------------------------------------------------------- players

static FlPlayer *player_of(const FlTimeline *t, int32_t player)
{
    FL_ASSERT(player >= 0 && player < t->def.player_capacity);
    return &t->players[player];
}

static void played_otherwise(FlTimeline *t, int64_t tick)
{
    if (tick < t->at && tick < t->wrong) {
        t->wrong = tick;
    }
}

static bool plays(const FlPlayer *player, int64_t tick)
{
    return (tick >= player->from && tick < player->until) || tick >= player->next_from;
}

bool fl__timeline_plays(const FlTimeline *timeline, int32_t player, int64_t tick)
{
    return plays(player_of(timeline, player), tick);
}

int64_t fl__timeline_first(const FlTimeline *timeline, int32_t player)
{
    return player_of(timeline, player)->from;
}

FlResult fl_timeline_enter(FlTimeline *timeline, int32_t player, int64_t tick)
{
    FlPlayer *p = player_of(timeline, player);
    if (tick < timeline->settled_tick || tick == FL_TIMELINE_NEVER) {
        return FL_OUT_OF_ORDER;
    }
    bool taken = p->from != FL_TIMELINE_NEVER && p->until > timeline->settled_tick;
    if (taken && (p->until > tick || p->next_from != FL_TIMELINE_NEVER)) {
        return FL_FULL;
    }
    if (taken) {
        p->next_from = tick; // the former player of this number is still to be settled
    } else {
        p->from = tick;
        p->until = FL_TIMELINE_NEVER;
        p->known = tick - 1;
        p->counted = tick - 1;
    }
    played_otherwise(timeline, tick);
    return FL_OK;
}

// Inputs from a tick on do not count, and must not be taken for those of the number's next player.
static void forget_from(FlTimeline *t, int32_t player, int64_t tick)
{
    int64_t end = t->settled_tick + t->def.history_ticks;
    for (int64_t i = tick > t->settled_tick ? tick : t->settled_tick; i < end; i++) {
        t->known_bits[fl__timeline_slot(t, i)] &= ~(UINT64_C(1) << player);
    }
    FlPlayer *p = player_of(t, player);
    p->known = p->known < tick ? p->known : tick - 1;
}

FlResult fl_timeline_leave(FlTimeline *timeline, int32_t player, int64_t tick)
{
    FlPlayer *p = player_of(timeline, player);
    if (p->from == FL_TIMELINE_NEVER) {
        return FL_NOT_FOUND;
    }
    if (p->until == tick) {
        return FL_OK;
    }
    if (tick < timeline->settled_tick || tick < p->from || p->until != FL_TIMELINE_NEVER) {
        return FL_OUT_OF_ORDER;
    }
    p->until = tick;
    forget_from(timeline, player, tick);
    played_otherwise(timeline, tick);
    return FL_OK;
}

// ---------------------------------------------------------------- inputs

static void extend_known(FlTimeline *t, int32_t player, FlPlayer *p)
{
    uint64_t bit = UINT64_C(1) << player;
    int64_t end = t->settled_tick + t->def.history_ticks;
    if (p->known + 1 < t->settled_tick) {
        return; // it never came, and its place is a later tick's
    }
    while (p->known + 1 < end && (t->known_bits[fl__timeline_slot(t, p->known + 1)] & bit) != 0) {
        p->known++;
    }
}

// What comes late counts from now on, if nothing newer has come: the next guess is made from it.
static FlResult take_as_it_comes(FlTimeline *t, int32_t player, int64_t tick, const void *bytes)
{
    FlPlayer *p = player_of(t, player);
    if (tick <= p->counted) {
        t->figures.dropped++;
        return FL_OUT_OF_ORDER;
    }
    p->counted = p->known = tick;
    t->figures.inputs++;
    t->figures.late++;
    memcpy(fl__timeline_used(t, player, t->at - 1), bytes, (size_t)t->def.input_bytes);
    t->used_bits[fl__timeline_slot(t, t->at - 1)] |= UINT64_C(1) << player;
    return FL_OK;
}

static FlResult take_again(FlTimeline *t, int32_t player, int64_t tick, const void *bytes)
{
    bool same = memcmp(fl__timeline_given(t, player, tick), bytes, (size_t)t->def.input_bytes) == 0;
    t->figures.conflicts += same ? 0 : 1;
    return FL_OK;
}

static void take(FlTimeline *t, int32_t player, int64_t tick, const void *bytes)
{
    FlPlayer *p = player_of(t, player);
    size_t count = (size_t)t->def.input_bytes;
    int64_t slot = fl__timeline_slot(t, tick);
    memcpy(fl__timeline_given(t, player, tick), bytes, count);
    t->known_bits[slot] |= UINT64_C(1) << player;
    extend_known(t, player, p);
    p->counted = tick > p->counted ? tick : p->counted;
    t->figures.inputs++;
    if (tick < t->reached) {
        t->figures.late++;
    }
    if (tick < t->at && memcmp(fl__timeline_used(t, player, tick), bytes, count) != 0) {
        t->figures.wrong++;
        played_otherwise(t, tick);
    }
}

FlResult fl_timeline_input(FlTimeline *timeline, int32_t player, int64_t tick, const void *bytes)
{
    FlTimeline *t = timeline;
    const FlPlayer *p = player_of(t, player);
    FL_ASSERT(!t->playing);
    if (!plays(p, tick)) {
        return FL_NOT_FOUND;
    }
    if (t->def.control == FL_CONTROL_NONE && tick < t->at && t->at > t->origin) {
        return take_as_it_comes(t, player, tick, bytes);
    }
    if (tick < t->settled_tick) {
        t->figures.dropped += tick > p->known ? 1 : 0; // else it is a duplicate
        return tick > p->known ? FL_OUT_OF_ORDER : FL_OK;
    }
    if (tick >= t->settled_tick + t->def.history_ticks) {
        return FL_FULL;
    }
    if ((t->known_bits[fl__timeline_slot(t, tick)] >> player & 1u) != 0) {
        return take_again(t, player, tick, bytes);
    }
    take(t, player, tick, bytes);
    return FL_OK;
}

int64_t fl__timeline_known(const FlTimeline *timeline, int32_t player)
{
    return player_of(timeline, player)->known;
}

const uint8_t *fl__timeline_input_at(const FlTimeline *timeline, int32_t player, int64_t tick)
{
    const FlPlayer *p = player_of(timeline, player);
    bool here = tick >= p->from && tick < p->until && tick <= p->known &&
                tick > p->counted - timeline->def.history_ticks;
    return here ? fl__timeline_given(timeline, player, tick) : NULL;
}

// ---------------------------------------------------------------- queries

const void *fl_timeline_present(const FlTimeline *timeline, int64_t *tick)
{
    *tick = timeline->shown_tick;
    return timeline->shown;
}

const void *fl_timeline_settled(const FlTimeline *timeline, int64_t *tick)
{
    *tick = timeline->settled_tick;
    return timeline->settled;
}

void fl_timeline_lag(FlTimeline *timeline, int32_t ticks)
{
    int32_t most = timeline->def.history_ticks / 2;
    timeline->lag_ticks = ticks < 0 ? 0 : ticks > most ? most : ticks;
}

bool fl__timeline_playing(const FlTimeline *timeline)
{
    return timeline->playing;
}

FlTimelineFigures fl_timeline_figures(const FlTimeline *timeline)
{
    return timeline->figures;
}
