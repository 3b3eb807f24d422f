// Actions in the order that all peers agree on.
//
// A binary heap of slots, the earliest first; the slots never move, and free ones form a list.
// Duplicates are recognised by their writer's sequence numbers: the newest one, and a bit for each
// of the 256 up to it.
//
// Invariant: what is given out rises in (play, writer, sequence), but for what is marked late.
#include "private.h"

#include <string.h>

#define ORDER_COOKIE 0x4f524452u
#define RECENT 256

typedef struct Writer {
    bool known;
    uint32_t newest;
    int32_t waiting;
    uint64_t bits[RECENT / 64]; // by sequence, on a circle
} Writer;

struct FlOrder {
    FlOrderDef def;
    FlOrdered *slots; // `bytes` stays unset: they are in `bytes` below
    uint8_t *bytes;
    int32_t *heap; // `count` slots in use, then the free ones
    Writer writers[FL_LAGS_PEERS];
    FlOrdered last; // given out
    bool given;
    FlOrderStats stats;
};

// ---------------------------------------------------------------- making one

FlOrderDef fl__order_def_default(void)
{
    FlOrderDef def = {.capacity = 1024, .action_bytes = FL_ACTION_BYTES, .cookie = ORDER_COOKIE};
    return def;
}

static size_t size_of(const FlOrderDef *def, size_t each)
{
    return (size_t)def->capacity * each;
}

size_t fl__order_memory(const FlOrderDef *def)
{
    return sizeof(FlOrder) +
           size_of(def, sizeof(FlOrdered) + (size_t)def->action_bytes + sizeof(int32_t));
}

FlResult fl__order_create(const FlOrderDef *def, FlOrder **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == ORDER_COOKIE);
    if (def->capacity < 1 || def->capacity > 1 << 20 || def->action_bytes < 1 ||
        def->action_bytes > 1 << 16) {
        return FL_BAD_VALUE;
    }
    FlOrder *order = (FlOrder *)fl_alloc(&def->alloc, sizeof *order, _Alignof(FlOrder));
    if (order == NULL) {
        return FL_NO_MEMORY;
    }
    order->def = *def;
    order->slots =
        (FlOrdered *)fl_alloc(&def->alloc, size_of(def, sizeof(FlOrdered)), _Alignof(FlOrdered));
    order->bytes = (uint8_t *)fl_alloc(&def->alloc, size_of(def, (size_t)def->action_bytes), 1);
    order->heap =
        (int32_t *)fl_alloc(&def->alloc, size_of(def, sizeof(int32_t)), _Alignof(int32_t));
    if (order->slots == NULL || order->bytes == NULL || order->heap == NULL) {
        fl__order_destroy(order);
        return FL_NO_MEMORY;
    }
    for (int32_t i = 0; i < def->capacity; i++) {
        order->heap[i] = i;
    }
    *out = order;
    return FL_OK;
}

void fl__order_destroy(FlOrder *order)
{
    if (order == NULL) {
        return;
    }
    FlOrderDef def = order->def;
    fl_free(&def.alloc, order->slots, size_of(&def, sizeof(FlOrdered)));
    fl_free(&def.alloc, order->bytes, size_of(&def, (size_t)def.action_bytes));
    fl_free(&def.alloc, order->heap, size_of(&def, sizeof(int32_t)));
    fl_free(&def.alloc, order, sizeof *order);
}

// ---------------------------------------------------------------- the heap

static bool is_before(const FlOrdered *a, const FlOrdered *b)
{
    if (a->play != b->play) {
        return a->play < b->play;
    }
    return a->writer != b->writer ? a->writer < b->writer : a->sequence < b->sequence;
}

static bool heap_before(const FlOrder *order, int32_t i, int32_t j)
{
    return is_before(&order->slots[order->heap[i]], &order->slots[order->heap[j]]);
}

static void heap_swap(FlOrder *order, int32_t i, int32_t j)
{
    int32_t slot = order->heap[i];
    order->heap[i] = order->heap[j];
    order->heap[j] = slot;
}

static void rise(FlOrder *order, int32_t i)
{
    while (i > 0 && heap_before(order, i, (i - 1) / 2)) {
        heap_swap(order, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static void sink(FlOrder *order, int32_t i)
{
    for (;;) {
        int32_t first = i;
        for (int32_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            if (child < order->stats.count && heap_before(order, child, first)) {
                first = child;
            }
        }
        if (first == i) {
            return;
        }
        heap_swap(order, i, first);
        i = first;
    }
}

/// Its slot is free, and lasts until the next is put in.
static void take_out(FlOrder *order, int32_t place)
{
    order->writers[order->slots[order->heap[place]].writer].waiting--;
    heap_swap(order, place, --order->stats.count);
    if (place < order->stats.count) { // another came there, from another branch
        rise(order, place);
        sink(order, place);
    }
}

// ---------------------------------------------------------------- in

/// Notes the number. False: a duplicate, or too old to know.
static bool is_new(Writer *writer, uint32_t sequence)
{
    if (!writer->known) {
        writer->known = true;
        writer->newest = sequence;
        memset(writer->bits, 0, sizeof writer->bits);
    }
    uint32_t ahead = sequence - writer->newest;
    if (fl__serial_newer(sequence, writer->newest)) {
        for (uint32_t k = 0; k < ahead && k < RECENT; k++) {
            fl__bit_clear(writer->bits, (int32_t)((sequence - k) % RECENT));
        }
        writer->newest = sequence;
    } else if (writer->newest - sequence >= RECENT) {
        return false;
    }
    int32_t bit = (int32_t)(sequence % RECENT);
    bool fresh = !fl__bit_get(writer->bits, bit);
    fl__bit_set(writer->bits, bit);
    return fresh;
}

void fl__order_writer(FlOrder *order, int32_t writer)
{
    FL_ASSERT(writer >= 0 && writer < FL_LAGS_PEERS);
    order->writers[writer].known = false;
}

FlResult fl__order_put(FlOrder *order, const FlOrdered *action)
{
    FL_ASSERT(action->writer >= 0 && action->writer < FL_LAGS_PEERS);
    if (action->count < 0 || action->count > order->def.action_bytes) {
        return FL_BAD_VALUE;
    }
    if (order->stats.count == order->def.capacity) {
        order->stats.full++;
        return FL_FULL;
    }
    if (!is_new(&order->writers[action->writer], action->sequence)) {
        order->stats.duplicates++;
        return FL_OK;
    }
    int32_t place = order->stats.count++;
    int32_t slot = order->heap[place];
    order->slots[slot] = *action;
    if (action->count > 0) {
        memcpy(&order->bytes[(size_t)slot * (size_t)order->def.action_bytes], action->bytes,
               (size_t)action->count);
    }
    order->writers[action->writer].waiting++;
    rise(order, place);
    if (order->stats.count > order->stats.peak_count) {
        order->stats.peak_count = order->stats.count;
    }
    return FL_OK;
}

// ---------------------------------------------------------------- out

FlResult fl__order_take(FlOrder *order, FlTime play, FlOrdered *action)
{
    FlOrdered none = {0};
    *action = none;
    if (play == INT64_MIN || fl__order_next(order) > play || order->stats.count == 0) {
        return FL_NOT_FOUND;
    }
    int32_t slot = order->heap[0];
    take_out(order, 0);
    *action = order->slots[slot];
    action->bytes = &order->bytes[(size_t)slot * (size_t)order->def.action_bytes];
    action->late = order->given && is_before(action, &order->last);
    order->stats.given++;
    order->stats.late += action->late ? 1 : 0;
    if (!action->late) {
        order->last = *action;
        order->given = true;
    }
    return FL_OK;
}

bool fl__order_drop(FlOrder *order, int32_t writer)
{
    int32_t earliest = -1;
    for (int32_t i = 0; i < order->stats.count && fl__order_waiting(order, writer) > 0; i++) {
        if (order->slots[order->heap[i]].writer == writer &&
            (earliest < 0 || heap_before(order, i, earliest))) {
            earliest = i;
        }
    }
    if (earliest >= 0) {
        take_out(order, earliest);
    }
    return earliest >= 0;
}

int32_t fl__order_trim(FlOrder *order, FlTime last)
{
    int32_t count = order->stats.count;
    order->stats.count = 0;
    for (int32_t i = 0; i < count; i++) { // a heap of what stays, from the first place on
        const FlOrdered *action = &order->slots[order->heap[i]];
        if (action->play > last) {
            order->writers[action->writer].waiting--;
            continue;
        }
        int32_t place = order->stats.count++;
        heap_swap(order, place, i);
        rise(order, place);
    }
    return count - order->stats.count;
}

FlTime fl__order_next(const FlOrder *order)
{
    return order->stats.count > 0 ? order->slots[order->heap[0]].play : FL_FOREVER;
}

int32_t fl__order_room(const FlOrder *order)
{
    return order->def.capacity - order->stats.count;
}

int32_t fl__order_waiting(const FlOrder *order, int32_t writer)
{
    FL_ASSERT(writer >= 0 && writer < FL_LAGS_PEERS);
    return order->writers[writer].waiting;
}

FlOrderStats fl__order_stats(const FlOrder *order)
{
    return order->stats;
}
