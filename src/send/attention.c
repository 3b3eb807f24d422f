// Attention: how much each player looks at each other. The formula is in the header, its loop in
// attention_look.c.
//
// Layout: players in parallel arrays of floats, made anew from their exact positions for every
// look; a row per observer with the average angle to every player (negative: none yet) and the
// value. Interactions are few, so they are kept as short lists and added after the loop.
//
// Invariant: whoever is not there is in no list, and has a value of 0 everywhere.
#include "look.h"
#include "private.h"

#include "base/maths.h"

#include <float.h>

#define COOKIE 0x4154544eu
#define PARTNERS 16
#define RECENT_NS FL_SEC(3)
#define FADE_SECONDS 1.0
#define PLAYERS_MAX 16384
#define LINE_BYTES 64
#define LINE ((int32_t)(LINE_BYTES / sizeof(float)))

typedef struct Partner {
    int32_t player; // -1: none
    FlTime when;
} Partner;

typedef struct Player {
    FlVec3 position;
    FlVec3 forward; // of length 1
    FlAttentionWeights weights;
    Partner partner[PARTNERS];
    FlTime looked; // FL_FOREVER: not yet
    bool here;
} Player;

struct FlAttention {
    FlAttentionDef def;
    size_t bytes;
    Player *players;
    float *x, *y, *z, *present;
    float *angle, *value; // [row][player]
    int32_t stride;       // of rows: whole cache lines, so that the loop has no rest
    int32_t observer;     // where one observes at a time: who did; -1: none yet
};

FlAttentionWeights fl__attention_weights(FlStance stance)
{
    FlAttentionWeights plain = {1.0 / 3.5, 1.0 / 3.5, 1.5 / 3.5};
    FlAttentionWeights close = {2.0 / 4.5, 1.0 / 4.5, 1.5 / 4.5};
    FlAttentionWeights distant = {1.0 / 4.5, 2.0 / 4.5, 1.5 / 4.5};
    return stance == FL_STANCE_CLOSE ? close : stance == FL_STANCE_DISTANT ? distant : plain;
}

// ---------------------------------------------------------------- creation

FlAttentionDef fl_attention_def_default(void)
{
    FlAttentionDef def = {
        .player_capacity = 64,
        .metre = 1.0,
        .reach = 100.0,
        .aim_average_ns = FL_MS(250),
        .cookie = COOKIE,
    };
    return def;
}

FlResult fl_attention_def_problem(const FlAttentionDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlAttentionDef, "fl_attention_def_default", COOKIE),
        FL__WHOLE(FlAttentionDef, player_capacity, 1, PLAYERS_MAX),
        FL__ABOVE(FlAttentionDef, metre, 0.0, DBL_MAX),
        FL__ABOVE(FlAttentionDef, reach, 0.0, DBL_MAX),
        FL__WHOLE(FlAttentionDef, aim_average_ns, 0, FL_FOREVER),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

static void forget_rows(FlAttention *a, int32_t first, int32_t count)
{
    size_t stride = (size_t)a->stride;
    for (size_t i = (size_t)first * stride; i < (size_t)(first + count) * stride; i++) {
        a->angle[i] = -1.0f;
        a->value[i] = 0.0f;
    }
}

static void forget_partners(Player *player)
{
    for (int32_t i = 0; i < PARTNERS; i++) {
        player->partner[i].player = -1;
    }
}

static int32_t row_count(const FlAttentionDef *def)
{
    return def->everybody ? def->player_capacity : 1;
}

FlResult fl_attention_create(const FlAttentionDef *def, FlAttention **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == COOKIE);
    FlError error;
    if (fl_attention_def_problem(def, &error) != FL_OK) {
        return error.code;
    }
    size_t players = (size_t)def->player_capacity;
    int32_t stride = (def->player_capacity + LINE - 1) / LINE * LINE;
    size_t pairs = (size_t)stride * (size_t)row_count(def);
    size_t bytes = sizeof(FlAttention) + players * sizeof(Player) + LINE_BYTES +
                   (4 * (size_t)stride + 2 * pairs) * sizeof(float);
    FlAttention *a = (FlAttention *)fl_alloc(&def->alloc, bytes, _Alignof(max_align_t));
    if (a == NULL) {
        return FL_NO_MEMORY;
    }
    a->def = *def;
    a->bytes = bytes;
    a->stride = stride;
    a->observer = -1;
    a->players = (Player *)(void *)(a + 1);
    char *rows = (char *)(a->players + players);
    rows += (LINE_BYTES - (uintptr_t)rows % LINE_BYTES) % LINE_BYTES;
    a->x = (float *)(void *)rows;
    a->y = a->x + stride;
    a->z = a->y + stride;
    a->present = a->z + stride;
    a->angle = a->present + stride;
    a->value = a->angle + pairs;
    for (int32_t i = 0; i < def->player_capacity; i++) {
        a->players[i].looked = FL_FOREVER;
        a->players[i].weights = fl__attention_weights(FL_STANCE_PLAIN);
        forget_partners(&a->players[i]);
    }
    forget_rows(a, 0, row_count(def));
    *out = a;
    return FL_OK;
}

void fl_attention_destroy(FlAttention *a)
{
    if (a != NULL) {
        FlAlloc alloc = a->def.alloc;
        fl_free(&alloc, a, a->bytes);
    }
}

// ---------------------------------------------------------------- players

static Player *player_at(const FlAttention *a, int32_t player)
{
    FL_ASSERT(player >= 0 && player < a->def.player_capacity);
    return &a->players[player];
}

// The loop writes angles for whoever was not there, too: a newcomer has none.
static void forget_player(FlAttention *a, int32_t player)
{
    size_t stride = (size_t)a->stride;
    for (size_t row = 0; row < (size_t)row_count(&a->def); row++) {
        a->angle[row * stride + (size_t)player] = -1.0f;
        a->value[row * stride + (size_t)player] = 0.0f;
    }
    if (a->def.everybody || a->observer == player) {
        forget_rows(a, a->def.everybody ? player : 0, 1);
    }
}

void fl_attention_place(FlAttention *a, int32_t player, FlVec3 position, FlVec3 forward)
{
    Player *p = player_at(a, player);
    double length = fl_vec3_length(forward);
    if (!fl_vec3_finite(position) || !isfinite(length) || !(length > 0.0)) {
        return;
    }
    if (!p->here) {
        forget_player(a, player);
    }
    p->here = true;
    p->position = position;
    p->forward = fl_vec3_scale(forward, 1.0 / length);
}

void fl_attention_remove(FlAttention *a, int32_t player)
{
    Player *p = player_at(a, player);
    p->here = false;
    p->looked = FL_FOREVER;
    p->weights = fl__attention_weights(FL_STANCE_PLAIN);
    forget_partners(p);
    forget_player(a, player);
    for (int32_t i = 0; i < a->def.player_capacity; i++) {
        for (int32_t k = 0; k < PARTNERS; k++) {
            Partner *partner = &a->players[i].partner[k];
            partner->player = partner->player == player ? -1 : partner->player;
        }
    }
}

void fl_attention_stance(FlAttention *a, int32_t player, FlStance stance)
{
    player_at(a, player)->weights = fl__attention_weights(stance);
}

// The place of the same partner, else a free one, else the oldest.
static Partner *partner_place(Player *p, int32_t other)
{
    Partner *best = &p->partner[0];
    for (int32_t i = 0; i < PARTNERS; i++) {
        Partner *at = &p->partner[i];
        if (at->player == other) {
            return at;
        }
        if (best->player >= 0 && (at->player < 0 || at->when < best->when)) {
            best = at;
        }
    }
    return best;
}

void fl_attention_interact(FlAttention *a, int32_t one, int32_t other, FlTime now)
{
    Partner of_one = {other, now};
    Partner of_other = {one, now};
    if (one != other && player_at(a, one)->here && player_at(a, other)->here) {
        *partner_place(player_at(a, one), other) = of_one;
        *partner_place(player_at(a, other), one) = of_other;
    }
}

// ---------------------------------------------------------------- looking

// Players as the loop wants them. Their middle moves, so this is done for every look;
// beside the loop it costs nothing.
static void gather(FlAttention *a)
{
    FlVec3 low = fl_vec3(DBL_MAX, DBL_MAX, DBL_MAX);
    FlVec3 high = fl_vec3(-DBL_MAX, -DBL_MAX, -DBL_MAX);
    for (int32_t i = 0; i < a->def.player_capacity; i++) {
        const Player *p = &a->players[i];
        if (p->here) {
            low = fl_vec3(fmin(low.x, p->position.x), fmin(low.y, p->position.y),
                          fmin(low.z, p->position.z));
            high = fl_vec3(fmax(high.x, p->position.x), fmax(high.y, p->position.y),
                           fmax(high.z, p->position.z));
        }
    }
    FlVec3 middle = fl_vec3_scale(fl_vec3_add(low, high), 0.5);
    for (int32_t i = 0; i < a->def.player_capacity; i++) {
        const Player *p = &a->players[i];
        FlVec3 at = p->here ? fl_vec3_sub(p->position, middle) : fl_vec3(0.0, 0.0, 0.0);
        a->x[i] = (float)at.x;
        a->y[i] = (float)at.y;
        a->z[i] = (float)at.z;
        a->present[i] = p->here ? 1.0f : 0.0f;
    }
}

static float blend_of(const FlAttention *a, const Player *p, FlTime now)
{
    double constant = fl_span_seconds(a->def.aim_average_ns);
    double since = p->looked == FL_FOREVER ? 0.0 : fl_span_seconds(fl_span(now, p->looked));
    if (!(constant > 0.0)) {
        return 1.0f;
    }
    return since > 0.0 ? (float)(1.0 - fl__exp(-since / constant)) : 0.0f;
}

static FlAttentionView view_of(const FlAttention *a, int32_t observer, FlTime now)
{
    const Player *p = &a->players[observer];
    double metre = a->def.metre;
    FlAttentionView view = {
        .eye = {a->x[observer], a->y[observer], a->z[observer]},
        .forward = {(float)p->forward.x, (float)p->forward.y, (float)p->forward.z},
        .reach_inverse = (float)(1.0 / a->def.reach),
        .metre2_inverse = (float)(1.0 / (metre * metre)),
        .blend = blend_of(a, p, now),
        .proximity = (float)p->weights.proximity,
        .aim = (float)p->weights.aim,
    };
    return view;
}

static void add_interactions(const Player *p, FlTime now, float *value)
{
    for (int32_t i = 0; i < PARTNERS; i++) {
        const Partner *partner = &p->partner[i];
        FlTime age = fl_span(now, partner->when);
        if (partner->player >= 0 && age >= 0 && age <= RECENT_NS) {
            double recent = fl__exp(-fl_span_seconds(age) / FADE_SECONDS);
            value[partner->player] += (float)(p->weights.interaction * recent);
        }
    }
}

static void add_metric(const FlAttention *a, int32_t observer, float *value)
{
    for (int32_t i = 0; a->def.metric_fn != NULL && i < a->def.player_capacity; i++) {
        if (a->players[i].here && i != observer) {
            value[i] += (float)a->def.metric_fn(a->def.metric_ctx, observer, i);
        }
    }
}

// One row, the players gathered.
static void look(FlAttention *a, int32_t row, int32_t observer, FlTime now)
{
    Player *p = &a->players[observer];
    size_t start = (size_t)row * (size_t)a->stride;
    float *value = a->value + start;
    FlAttentionRow players = {a->x, a->y, a->z, a->present};
    FlAttentionView view = view_of(a, observer, now);
    fl__attention_look(a->stride, &players, &view, a->angle + start, value);
    p->looked = now;
    add_interactions(p, now, value);
    add_metric(a, observer, value);
    value[observer] = 0.0f;
}

static void look_all(FlAttention *a, FlTime now)
{
    FL_ASSERT(a->def.everybody);
    gather(a);
    for (int32_t i = 0; i < a->def.player_capacity; i++) {
        if (a->players[i].here) {
            look(a, i, i, now);
        }
    }
}

void fl_attention_look(FlAttention *a, int32_t observer, FlTime now)
{
    if (observer == FL_ATTENTION_ALL) {
        look_all(a, now);
        return;
    }
    if (!player_at(a, observer)->here) {
        return;
    }
    gather(a);
    if (!a->def.everybody && a->observer != observer) {
        forget_rows(a, 0, 1);
        a->observer = observer;
        a->players[observer].looked = FL_FOREVER;
    }
    look(a, a->def.everybody ? observer : 0, observer, now);
}

const float *fl_attention_of(const FlAttention *a, int32_t observer)
{
    (void)player_at(a, observer);
    FL_ASSERT(a->def.everybody || a->observer == observer || a->observer == -1);
    return a->value + (a->def.everybody ? (size_t)observer * (size_t)a->stride : 0);
}

#define STAYS 1.1f // times as much as its value counts one that was chosen before

void fl_attention_choose(const FlAttention *a, int32_t observer, int32_t count, float *reported)
{
    const float *value = fl_attention_of(a, observer);
    int32_t players = a->def.player_capacity;
    for (int32_t i = 0; i < players; i++) {
        reported[i] = reported[i] >= 0.5f ? STAYS * value[i] : value[i];
    }
    for (int32_t k = 0; k < count; k++) {
        int32_t best = -1;
        for (int32_t i = 0; i < players; i++) {
            best = reported[i] > 0.0f && (best < 0 || reported[i] > reported[best]) ? i : best;
        }
        if (best < 0) {
            break;
        }
        reported[best] = -1.0f; // chosen
    }
    for (int32_t i = 0; i < players; i++) {
        reported[i] = 0.5f * value[i] + (reported[i] < 0.0f ? 0.5f : 0.0f);
    }
}
