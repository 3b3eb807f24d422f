// Packets in flight: a bounded queue by delivery time.
//
// A heap with four children per node over (time, order of arrival), each entry naming the place
// where the packet's bytes lie; places not in use form a stack, so a place just emptied is filled
// next, while it is still in the cache. Everything is reserved at creation.
//
// Invariant: entry i is not after its children 4i+1 .. 4i+4; entries[0..count) and the stack hold
// every place once.
#include "impair/impair.h"
#include "private.h"

#include <string.h>

#define DEF_COOKIE UINT32_C(0x1a9a1202)
#define WIDTH 4

typedef struct Entry {
    FlTime at;
    uint64_t order; ///< Rises with every push: equal times leave in the order in which they came.
    int32_t place;
} Entry;

typedef struct Place {
    uint64_t tag;
    int32_t bytes;
    int32_t next_free; ///< -1 ends the stack.
} Place;

struct FlFlight {
    FlFlightDef def;
    Entry *entries;
    Place *places;
    uint8_t *data;
    uint64_t next_order;
    int32_t first_free;
    FlFlightStats stats;
};

FlFlightDef fl__flight_def_default(void)
{
    FlFlightDef def = {.capacity = 4096, .packet_bytes = 1500, .cookie = DEF_COOKIE};
    return def;
}

size_t fl__flight_bytes(const FlFlightDef *def)
{
    size_t each = sizeof(Entry) + sizeof(Place) + (size_t)def->packet_bytes;
    return sizeof(FlFlight) + each * (size_t)def->capacity;
}

// One block of memory: the object, then its arrays in the order of their alignment.
FlResult fl__flight_create(const FlFlightDef *def, FlFlight **out)
{
    FL_ASSERT(def->cookie == DEF_COOKIE);
    FL_ASSERT(def->capacity > 0 && def->packet_bytes > 0);
    *out = NULL;
    FlFlight *flight = fl_alloc(&def->alloc, fl__flight_bytes(def), _Alignof(FlFlight));
    if (flight == NULL) {
        return FL_NO_MEMORY;
    }
    flight->def = *def;
    flight->entries = (Entry *)(void *)(flight + 1);
    flight->places = (Place *)(void *)(flight->entries + def->capacity);
    flight->data = (uint8_t *)(flight->places + def->capacity);
    for (int32_t i = 0; i < def->capacity; i++) {
        flight->places[i].next_free = i + 1 < def->capacity ? i + 1 : -1;
    }
    *out = flight;
    return FL_OK;
}

void fl__flight_destroy(FlFlight *flight)
{
    if (flight != NULL) {
        FlFlightDef def = flight->def;
        fl_free(&def.alloc, flight, fl__flight_bytes(&def));
    }
}

static bool before(const Entry *a, const Entry *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void sift_up(Entry *entries, int32_t i, Entry entry)
{
    while (i > 0) {
        int32_t parent = (i - 1) / WIDTH;
        if (!before(&entry, &entries[parent])) {
            break;
        }
        entries[i] = entries[parent];
        i = parent;
    }
    entries[i] = entry;
}

static void sift_down(Entry *entries, int32_t count, Entry entry)
{
    int32_t i = 0;
    for (;;) {
        int32_t first = WIDTH * i + 1;
        int32_t last = first + WIDTH < count ? first + WIDTH : count;
        int32_t least = first;
        for (int32_t child = first + 1; child < last; child++) {
            if (before(&entries[child], &entries[least])) {
                least = child;
            }
        }
        if (first >= count || !before(&entries[least], &entry)) {
            break;
        }
        entries[i] = entries[least];
        i = least;
    }
    entries[i] = entry;
}

static uint8_t *data_of(const FlFlight *flight, int32_t place)
{
    return flight->data + (size_t)place * (size_t)flight->def.packet_bytes;
}

FlResult fl__flight_push(FlFlight *flight, FlTime at, uint64_t tag, const void *data, int32_t bytes)
{
    if (bytes < 0 || bytes > flight->def.packet_bytes) {
        flight->stats.too_big_count++;
        return FL_BAD_VALUE;
    }
    int32_t place = flight->first_free;
    if (place < 0) {
        flight->stats.full_count++;
        return FL_WOULD_BLOCK;
    }
    flight->first_free = flight->places[place].next_free;
    flight->places[place] = (Place){tag, bytes, -1};
    if (bytes > 0) {
        memcpy(data_of(flight, place), data, (size_t)bytes);
    }
    Entry entry = {at, flight->next_order++, place};
    sift_up(flight->entries, flight->stats.count, entry);
    flight->stats.count++;
    if (flight->stats.count > flight->stats.peak_count) {
        flight->stats.peak_count = flight->stats.count;
    }
    return FL_OK;
}

static FlFlightPacket take_first(FlFlight *flight)
{
    Entry first = flight->entries[0];
    flight->stats.count--;
    if (flight->stats.count > 0) {
        sift_down(flight->entries, flight->stats.count, flight->entries[flight->stats.count]);
    }
    Place *place = &flight->places[first.place];
    FlFlightPacket packet = {first.at, place->tag, data_of(flight, first.place), place->bytes};
    place->next_free = flight->first_free;
    flight->first_free = first.place;
    return packet;
}

int32_t fl__flight_take(FlFlight *flight, FlTime now, FlFlightPacket *out, int32_t capacity)
{
    int32_t count = 0;
    while (count < capacity && flight->stats.count > 0 && flight->entries[0].at <= now) {
        out[count++] = take_first(flight);
    }
    return count;
}

FlTime fl__flight_next(const FlFlight *flight)
{
    return flight->stats.count > 0 ? flight->entries[0].at : FL_FOREVER;
}

FlFlightStats fl__flight_stats(const FlFlight *flight)
{
    return flight->stats;
}
