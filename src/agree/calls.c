// Both ends' tables of calls: making them, and figures.
//
// Layout: calls of ours (`asked`) are few and looked through. Of calls to us what is looked through
// for every one that comes (`heard`) lies apart from what is needed once (`messages`, `order`).
#include "private.h"

#define CALLS_COOKIE 0x43414c4cu

FlCallsDef fl_calls_def_default(void)
{
    FlCallsDef def = {
        .asked_capacity = 32,
        .heard_capacity = 256,
        .life_ns = FL_SEC(2),
        .again_ns = FL_MS(400),
        .cookie = CALLS_COOKIE,
    };
    return def;
}

static bool def_is_good(const FlCallsDef *def)
{
    return def->asked_capacity >= 1 && def->asked_capacity <= 4096 && def->heard_capacity >= 1 &&
           def->heard_capacity <= 65536 && def->life_ns > 0 && def->life_ns <= FL_CALL_LIFE_MOST &&
           def->again_ns >= FL_MS(1);
}

size_t fl_calls_memory(const FlCallsDef *def)
{
    size_t heard = (size_t)def->heard_capacity;
    return sizeof(FlCalls) + (size_t)def->asked_capacity * sizeof(Asked) +
           heard * (sizeof(HeardKey) + sizeof(FlCallMessage) + sizeof(int64_t));
}

FlResult fl_calls_create(const FlCallsDef *def, FlCalls **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == CALLS_COOKIE);
    if (!def_is_good(def)) {
        return FL_BAD_VALUE;
    }
    FlCalls *calls = (FlCalls *)fl_alloc(&def->alloc, fl_calls_memory(def), _Alignof(max_align_t));
    if (calls == NULL) {
        return FL_NO_MEMORY;
    }
    calls->def = *def;
    calls->serial = def->serial;
    calls->asked = (Asked *)(void *)(calls + 1);
    calls->heard = (HeardKey *)(void *)(calls->asked + def->asked_capacity);
    calls->messages = (FlCallMessage *)(void *)(calls->heard + def->heard_capacity);
    calls->order = (int64_t *)(void *)(calls->messages + def->heard_capacity);
    *out = calls;
    return FL_OK;
}

void fl_calls_destroy(FlCalls *calls)
{
    if (calls != NULL) {
        FlAlloc alloc = calls->def.alloc;
        fl_free(&alloc, calls, fl_calls_memory(&calls->def));
    }
}

// ---------------------------------------------------------------- figures

const char *fl_calls_count_name(FlCallsCount which)
{
    switch (which) {
#define ROW(name, word, meaning)                                                                   \
    case FL_CALLS_##name:                                                                          \
        return word;
        FL_CALLS_COUNT_TABLE(ROW)
#undef ROW
    case FL_CALLS_COUNTS:
        break;
    }
    return "unknown";
}

void fl_calls_note(FlCalls *calls, FlCallsCount which, uint64_t count)
{
    FL_ASSERT(which < FL_CALLS_COUNTS);
    calls->count[which] += count;
}

#define LATENCY_LEAST FL_US(250)
#define BUCKETS_PER_DOUBLING 8.0
#define LN_2 0.69314718055994530942

void fl__calls_latency(FlCalls *calls, FlTime latency)
{
    double doublings = 0.0;
    if (latency > LATENCY_LEAST) {
        doublings = fl_log((double)latency / (double)LATENCY_LEAST) / LN_2;
    }
    int32_t bucket = (int32_t)(doublings * BUCKETS_PER_DOUBLING);
    calls->latency[bucket < CALLS_BUCKETS ? bucket : CALLS_BUCKETS - 1]++;
    calls->latency_max = latency > calls->latency_max ? latency : calls->latency_max;
}

// The latency that `share` of all keep to.
static FlTime quantile(const FlCalls *calls, double share)
{
    uint64_t all = 0;
    for (int32_t i = 0; i < CALLS_BUCKETS; i++) {
        all += calls->latency[i];
    }
    double wanted = share * (double)all;
    uint64_t sum = 0;
    for (int32_t i = 0; i < CALLS_BUCKETS && all > 0; i++) {
        sum += calls->latency[i];
        if ((double)sum >= wanted && sum > 0) {
            double middle = ((double)i + 0.5) / BUCKETS_PER_DOUBLING * LN_2;
            FlTime about = (FlTime)((double)LATENCY_LEAST * fl_exp(middle));
            return about < calls->latency_max ? about : calls->latency_max;
        }
    }
    return 0;
}

FlCallStats fl_calls_stats(const FlCalls *calls)
{
    FlCallStats stats = {.latency_p50_ns = quantile(calls, 0.5),
                         .latency_p95_ns = quantile(calls, 0.95),
                         .latency_max_ns = calls->latency_max};
    for (int32_t i = 0; i < FL_CALLS_COUNTS; i++) {
        stats.count[i] = calls->count[i];
    }
    return stats;
}
