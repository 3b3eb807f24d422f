// Ways of their own, and the shared one.
#include "lab/world/ways.h"
#include "impair/impair.h"

#include <math.h>
#include <stdlib.h>

/// A stream of the world's seed that is nobody else's.
#define STREAM_PLACE 3u

/// The luck of all pairs without a way of their own: no pair's number.
#define LINK_SHARED UINT32_MAX

FlResult ways_init(Ways *ways, int32_t node_capacity, uint64_t seed)
{
    size_t nodes = (size_t)node_capacity;
    *ways = (Ways){.node_capacity = node_capacity, .seed = seed};
    ways->own = (FlImpair **)calloc(nodes * nodes, sizeof(void *));
    ways->own_count = (int32_t *)calloc(nodes, sizeof *ways->own_count);
    ways->x = (double *)calloc(nodes, sizeof *ways->x);
    ways->y = (double *)calloc(nodes, sizeof *ways->y);
    if (ways->own == NULL || ways->own_count == NULL || ways->x == NULL || ways->y == NULL) {
        return FL_NO_MEMORY;
    }
    FlRandom place = {.seed = seed, .stream = STREAM_PLACE};
    for (int32_t i = 0; i < node_capacity; i++) {
        ways->x[i] = fl_random_between(&place, 0.0, 1.0);
        ways->y[i] = fl_random_between(&place, 0.0, 1.0);
    }
    return FL_OK;
}

void ways_free(Ways *ways)
{
    size_t count =
        ways->own != NULL ? (size_t)ways->node_capacity * (size_t)ways->node_capacity : 0;
    for (size_t i = 0; i < count; i++) {
        fl_impair_destroy(ways->own[i]);
    }
    fl_impair_destroy(ways->shared);
    free((void *)ways->own);
    free(ways->own_count);
    free(ways->x);
    free(ways->y);
    *ways = (Ways){0};
}

static FlResult make(const Ways *ways, const FlImpairSettings *settings, uint32_t link,
                     FlImpair **impair)
{
    FlImpairDef def = fl_impair_def_default();
    def.settings = *settings;
    def.seed = ways->seed;
    def.link = link;
    return fl_impair_create(&def, impair);
}

static size_t place_of(const Ways *ways, int32_t from, int32_t to)
{
    return (size_t)from * (size_t)ways->node_capacity + (size_t)to;
}

FlResult ways_set(Ways *ways, int32_t from, int32_t to, FlTime now,
                  const FlImpairSettings *settings, uint32_t link)
{
    FL_ASSERT(from >= 0 && from < ways->node_capacity && to >= 0 && to < ways->node_capacity);
    FlImpair **way = &ways->own[place_of(ways, from, to)];
    if (*way != NULL) {
        return fl__impair_set(*way, now, settings);
    }
    FlResult result = make(ways, settings, link, way);
    ways->own_count[from] += result == FL_OK ? 1 : 0;
    return result;
}

FlResult ways_default(Ways *ways, FlTime now, const FlImpairSettings *settings, FlTime side_ns)
{
    bool lasting = settings->correlation_ppm != 0 || settings->burst_gap_ns != 0 ||
                   settings->rate_bytes_s != 0 || settings->keep_order;
    if (lasting || side_ns < 0) {
        return FL_BAD_VALUE;
    }
    ways->side_ns = (double)side_ns;
    return ways->shared != NULL ? fl__impair_set(ways->shared, now, settings)
                                : make(ways, settings, LINK_SHARED, &ways->shared);
}

FlTime ways_length(const Ways *ways, int32_t from, int32_t to)
{
    double x = ways->x[from] - ways->x[to];
    double y = ways->y[from] - ways->y[to];
    return (FlTime)(ways->side_ns * sqrt(x * x + y * y));
}

bool ways_send(const Ways *ways, int32_t from, int32_t to, FlTime now, int32_t bytes, FlFate *fate)
{
    FlImpair *own = ways->own_count[from] > 0 ? ways->own[place_of(ways, from, to)] : NULL;
    if (own == NULL && ways->shared == NULL) {
        return false;
    }
    *fate = fl_impair_send(own != NULL ? own : ways->shared, now, bytes);
    FlTime longer = own == NULL ? ways_length(ways, from, to) : 0;
    for (int32_t i = 0; i < fate->copy_count; i++) {
        fate->deliver_at[i] += longer;
    }
    return true;
}
