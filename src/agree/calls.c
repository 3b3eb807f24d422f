// Both ends' tables of calls: making them, and figures.
//
// Layout: calls of ours (`asked`) are few, and searched. Of calls to us what is searched for every
// one that comes (`received`) lies apart from what is needed once (`messages`, `order`).
#include "private.h"

#include "base/maths.h"

#define CALLS_COOKIE 0x43414c4cu

FlCallsDef fl__calls_def_default(void)
{
    FlCallsDef def = {
        .asked_capacity = 32,
        .received_capacity = 256,
        .life_ns = FL_SEC(2),
        .again_ns = FL_MS(400),
        .cookie = CALLS_COOKIE,
    };
    return def;
}

FlResult fl__calls_def_problem(const FlCallsDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlCallsDef, "fl_session_def_default", CALLS_COOKIE),
        FL__WHOLE(FlCallsDef, asked_capacity, 1, 4096),
        FL__WHOLE(FlCallsDef, received_capacity, 1, 65536),
        FL__WHOLE(FlCallsDef, life_ns, 1, FL_CALL_LIFE_MOST),
        FL__WHOLE(FlCallsDef, again_ns, FL_MS(1), FL_FOREVER),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

size_t fl__calls_memory(const FlCallsDef *def)
{
    size_t received = (size_t)def->received_capacity;
    return sizeof(FlCalls) + (size_t)def->asked_capacity * sizeof(Asked) +
           received * (sizeof(ReceivedKey) + sizeof(FlCallMessage) + sizeof(int64_t));
}

FlResult fl__calls_create(const FlCallsDef *def, FlCalls **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == CALLS_COOKIE);
    FlError error;
    if (fl__calls_def_problem(def, &error) != FL_OK) {
        return FL_BAD_VALUE;
    }
    FlCalls *calls = (FlCalls *)fl_alloc(&def->alloc, fl__calls_memory(def), _Alignof(max_align_t));
    if (calls == NULL) {
        return FL_NO_MEMORY;
    }
    calls->def = *def;
    calls->serial = def->serial;
    calls->asked = (Asked *)(void *)(calls + 1);
    calls->received = (ReceivedKey *)(void *)(calls->asked + def->asked_capacity);
    calls->messages = (FlCallMessage *)(void *)(calls->received + def->received_capacity);
    calls->order = (int64_t *)(void *)(calls->messages + def->received_capacity);
    *out = calls;
    return FL_OK;
}

void fl__calls_destroy(FlCalls *calls)
{
    if (calls != NULL) {
        FlAlloc alloc = calls->def.alloc;
        fl_free(&alloc, calls, fl__calls_memory(&calls->def));
    }
}

// ---------------------------------------------------------------- figures

const char *fl__calls_count_name(FlCallsCount which)
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

void fl__calls_note(FlCalls *calls, FlCallsCount which, uint64_t count)
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
        doublings = fl__log((double)latency / (double)LATENCY_LEAST) / LN_2;
    }
    int32_t bucket = (int32_t)(doublings * BUCKETS_PER_DOUBLING);
    calls->latency[bucket < CALLS_BUCKETS ? bucket : CALLS_BUCKETS - 1]++;
    calls->latency_max = fl__time_max(latency, calls->latency_max);
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
            FlTime about = (FlTime)((double)LATENCY_LEAST * fl__exp(middle));
            return fl_time_min(about, calls->latency_max);
        }
    }
    return 0;
}

FlCallStats fl__calls_stats(const FlCalls *calls)
{
    FlCallStats stats = {.latency_p50_ns = quantile(calls, 0.5),
                         .latency_p95_ns = quantile(calls, 0.95),
                         .latency_max_ns = calls->latency_max};
    for (int32_t i = 0; i < FL_CALLS_COUNTS; i++) {
        stats.count[i] = calls->count[i];
    }
    return stats;
}
