// What went out, and what became of it.
//
// Sent packets wait in a ring until their fate is decided: delivered (the peer reported it), lost
// (the peer settled beyond it without reporting it), or unknown (the conversation ended before
// either, or there was no place in the ring to wait in). Decided fates queue up, each reported
// exactly once.
//
// A packet has two numbers. Its *sequence* is the one that travels; a carrier's series has gaps, so
// it rises by one or more. Its *serial* counts packets, and serial % capacity is its place in the
// ring. `keys` lead from the one to the other: one for each packet that waits, in rising order,
// some for packets decided since. Between two keys lie at least as many sequences as keys, so two
// differences bound where to look; without gaps the bounds meet and nothing is searched.
//
// A packet whose place is taken by one still undecided is the one that goes unknown, not that
// other: with more under way than the ring holds, the old ones' reports are about to come, and with
// them reliable data gets through; the other way round every packet would be given up just before.
//
// Invariant: a fate's place in the queue is reserved as long as its packet is undecided;
// keys[first] is the oldest undecided packet, `undecided` its sequence, or there are no keys.
#include "private.h"

// ---------------------------------------------------------------- round trips

// A histogram that forgets: halved when full. Its classes are 0.125 ms wide up to 1 ms, then eight
// to an octave up to 32 s, so that a percentile is off by a few percent at most.
#define CLASS_UNIT_NS FL_US(125)
#define FORGET_AT 1024

static int32_t class_of(FlTime trip)
{
    int64_t units = trip / CLASS_UNIT_NS;
    int32_t octave = 0;
    for (; units >= 16; units /= 2) {
        octave++;
    }
    int32_t i = 8 * octave + (int32_t)units; // the first class of octave n is the 8 + 8 n th
    return i < TRIP_CLASSES ? i : TRIP_CLASSES - 1;
}

// The lower edge of a class; of the one after it, its upper edge.
static FlTime class_edge(int32_t i)
{
    int32_t octave = i < 8 ? 0 : i / 8 - 1;
    return ((int64_t)(i - 8 * octave) << octave) * CLASS_UNIT_NS;
}

static void histogram_add(RoundTrips *trips, FlTime trip)
{
    trips->histogram[class_of(trip)]++;
    if (++trips->total < FORGET_AT) {
        return;
    }
    trips->total = 0;
    for (int32_t i = 0; i < TRIP_CLASSES; i++) {
        trips->histogram[i] /= 2;
        trips->total = (uint16_t)(trips->total + trips->histogram[i]);
    }
}

void fl__trips_add(RoundTrips *trips, FlTime trip)
{
    trip = trip > 0 ? trip : 0;
    histogram_add(trips, trip);
    if (!trips->known) {
        trips->known = true;
        trips->min_ns = trips->average_ns = trip;
        trips->deviation_ns = trip / 2;
        return;
    }
    // RFC 6298: deviation first, with the average as it was.
    FlTime off = trip > trips->average_ns ? trip - trips->average_ns : trips->average_ns - trip;
    trips->deviation_ns += (off - trips->deviation_ns) / 4;
    trips->average_ns += (trip - trips->average_ns) / 8;
    trips->min_ns = fl_time_min(trip, trips->min_ns);
}

FlTime fl__trips_percentile(const RoundTrips *trips, double share)
{
    double below = share * trips->total;
    for (int32_t i = 0; i < TRIP_CLASSES; i++) {
        double here = trips->histogram[i];
        if (here > 0.0 && below <= here) {
            double width = (double)(class_edge(i + 1) - class_edge(i));
            return class_edge(i) + (FlTime)(width * (below / here));
        }
        below -= here;
    }
    return 0;
}

// ---------------------------------------------------------------- fates

static Sent *place_of(const Outbox *o, int64_t serial)
{
    return &o->ring[serial & (o->capacity - 1)]; // a power of two
}

static Sent *waiting_at(const Outbox *o, int64_t serial)
{
    Sent *sent = place_of(o, serial);
    return sent->undecided && sent->serial == serial ? sent : NULL;
}

Sent *fl__outbox_find(const Outbox *o, int64_t sequence)
{
    if (o->key_first == o->key_end || sequence < o->keys[o->key_first].sequence ||
        sequence > o->keys[o->key_end - 1].sequence) {
        return NULL;
    }
    int64_t ahead = sequence - o->keys[o->key_first].sequence;
    int64_t behind = o->keys[o->key_end - 1].sequence - sequence;
    int32_t last = o->key_end - 1;
    int32_t high = ahead < last - o->key_first ? o->key_first + (int32_t)ahead : last;
    int32_t low = behind < last - o->key_first ? last - (int32_t)behind : o->key_first;
    while (low < high) { // the first key that is not below
        int32_t middle = low + (high - low) / 2;
        if (o->keys[middle].sequence < sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return o->keys[low].sequence == sequence ? waiting_at(o, o->keys[low].serial) : NULL;
}

static void move_on(Outbox *o)
{
    while (o->key_first < o->key_end && waiting_at(o, o->keys[o->key_first].serial) == NULL) {
        o->key_first++;
    }
    if (o->key_first == o->key_end) {
        o->key_first = o->key_end = 0;
        o->undecided = o->next;
    } else {
        o->undecided = o->keys[o->key_first].sequence;
    }
}

// There are twice as many keys as places, so that closing the gaps is rarely needed, and always
// makes room.
static void add_key(Outbox *o, const SentKey *key)
{
    if (o->key_end == 2 * o->capacity) {
        int32_t kept = 0;
        for (int32_t i = o->key_first; i < o->key_end; i++) {
            if (waiting_at(o, o->keys[i].serial) != NULL) {
                o->keys[kept++] = o->keys[i];
            }
        }
        o->key_first = 0;
        o->key_end = kept;
    }
    o->keys[o->key_end++] = *key;
}

static void tell(Outbox *o, const Sent *sent, FlPacketFate fate, FlTime arrived_remote)
{
    FL_ASSERT(o->fate_next - o->fate_first < 2 * o->capacity);
    FlFateEvent *event = &o->fates[o->fate_next++ & (2 * o->capacity - 1)]; // a power of two
    event->tag = sent->tag;
    event->fate = fate;
    event->sent = sent->sent;
    event->arrived_remote = arrived_remote;
    event->bytes = sent->bytes;
    o->delivered += fate == FL_FATE_DELIVERED ? 1 : 0;
    o->lost += fate == FL_FATE_LOST ? 1 : 0;
    o->unknown += fate == FL_FATE_UNKNOWN ? 1 : 0;
    if (fate != FL_FATE_UNKNOWN) {
        o->loss += ((fate == FL_FATE_LOST ? 1.0 : 0.0) - o->loss) / 64.0;
    }
}

void fl__outbox_decide(Outbox *o, Sent *sent, FlPacketFate fate, FlTime arrived_remote)
{
    sent->undecided = false;
    o->undecided_count--;
    tell(o, sent, fate, arrived_remote);
    move_on(o);
}

bool fl__outbox_has_room(const Outbox *o)
{
    // The queue is twice the ring, so only a caller who does not poll can fill it.
    return o->fate_next - o->fate_first + o->undecided_count < 2 * o->capacity;
}

FragmentRef *fl__outbox_refs(const Outbox *o, const Sent *sent)
{
    return o->refs + (sent - o->ring) * FRAGMENTS_PER_PACKET;
}

bool fl__outbox_next_fate(Outbox *o, FlFateEvent *event)
{
    if (o->fate_first == o->fate_next) {
        return false;
    }
    *event = o->fates[o->fate_first++ & (2 * o->capacity - 1)];
    if (o->fate_first == o->fate_next) {
        o->fate_first = o->fate_next = 0; // the same few places again: they are in the cache
    }
    return true;
}

bool fl__outbox_crowded(const Outbox *o)
{
    return place_of(o, o->next_serial)->undecided || o->undecided_count >= o->capacity / 4 * 3;
}

int64_t fl__outbox_span(const Outbox *o)
{
    return o->key_first == o->key_end ? 0 : o->next_serial - o->keys[o->key_first].serial;
}

void fl__outbox_skip_to(Outbox *o, int64_t sequence)
{
    if (sequence <= o->next) {
        return;
    }
    o->next = sequence;
    o->undecided = o->undecided_count == 0 ? o->next : o->undecided;
    if (o->next_serial == 0) {
        o->reported = o->next - 1; // nothing was sent before that could be reported
    }
}

Sent *fl__outbox_add(Outbox *o, uint64_t tag, FlTime now, int32_t bytes)
{
    while (o->undecided_count > 0 && o->next - o->undecided >= SEQUENCE_SPAN) {
        fl__outbox_decide(o, fl__outbox_find(o, o->undecided), FL_FATE_UNKNOWN, 0);
    }
    SentKey key = {o->next++, o->next_serial++};
    Sent *place = place_of(o, key.serial);
    if (place->undecided) {
        Sent sent = {.tag = tag, .sent = now, .bytes = bytes};
        tell(o, &sent, FL_FATE_UNKNOWN, 0);
        return NULL;
    }
    place->sequence = key.sequence;
    place->serial = key.serial;
    place->tag = tag;
    place->sent = now;
    place->bytes = bytes;
    place->undecided = true;
    place->carried.mask = 0;
    place->fragment_count = 0;
    if (o->undecided_count++ == 0) {
        o->undecided = key.sequence;
    }
    add_key(o, &key);
    return place;
}

// Decides every undecided packet below `end`, the oldest first.
static void decide_below(Outbox *o, int64_t end, FlPacketFate fate)
{
    while (o->undecided_count > 0 && o->undecided < end) {
        fl__outbox_decide(o, fl__outbox_find(o, o->undecided), fate, 0);
    }
}

void fl__outbox_settle(Outbox *o, int64_t settled)
{
    decide_below(o, settled, FL_FATE_LOST);
}

void fl__outbox_abandon(Outbox *o)
{
    decide_below(o, o->next, FL_FATE_UNKNOWN);
}
