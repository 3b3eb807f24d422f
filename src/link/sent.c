// What went out, and what became of it.
//
// Sent packets wait in a ring, by sequence, until their fate is decided: delivered (the peer
// reported it), lost (the peer settled beyond it without reporting it), or unknown (the
// conversation ended before either, or there was no place in the ring to wait in). Decided fates
// queue up, each told exactly once.
//
// A packet whose place is taken by one still undecided is the one that goes unknown, not that
// other: with more under way than the ring holds, the old ones' reports are about to come, and with
// them reliable data gets through; the other way round every packet would be given up just before.
//
// Invariant: a fate's place in the queue is reserved as long as its packet is undecided.
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
    trips->min_ns = trip < trips->min_ns ? trip : trips->min_ns;
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

static Sent *place_of(const Outbox *o, int64_t sequence)
{
    return &o->ring[sequence & (o->capacity - 1)]; // a power of two
}

Sent *fl__outbox_find(const Outbox *o, int64_t sequence)
{
    Sent *sent = place_of(o, sequence);
    return sent->undecided && sent->sequence == sequence ? sent : NULL;
}

static void move_on(Outbox *o)
{
    while (o->undecided < o->next && fl__outbox_find(o, o->undecided) == NULL) {
        o->undecided++;
    }
}

static void tell(Outbox *o, const Sent *sent, FlPacketFate fate, FlTime arrived_remote)
{
    FL_ASSERT(o->fate_next - o->fate_first < 2 * o->capacity);
    FlFateEvent event = {
        .tag = sent->tag,
        .fate = fate,
        .sent = sent->sent,
        .arrived_remote = arrived_remote,
        .bytes = sent->bytes,
    };
    o->fates[o->fate_next++ % (2 * o->capacity)] = event;
    uint64_t *counter[] = {&o->delivered, &o->lost, &o->unknown};
    *counter[fate] += 1;
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

bool fl__outbox_crowded(const Outbox *o)
{
    return place_of(o, o->next)->undecided || o->undecided_count >= o->capacity / 4 * 3;
}

void fl__outbox_add(Outbox *o, const Sent *sent)
{
    if (o->undecided_count > 0 && o->next - o->undecided >= SEQUENCE_SPAN) {
        fl__outbox_decide(o, fl__outbox_find(o, o->undecided), FL_FATE_UNKNOWN, 0);
    }
    Sent *place = place_of(o, o->next);
    o->next++;
    if (place->undecided) {
        tell(o, sent, FL_FATE_UNKNOWN, 0);
        return;
    }
    *place = *sent;
    place->undecided = true;
    o->undecided_count++;
}

void fl__outbox_settle(Outbox *o, int64_t settled)
{
    for (int64_t s = o->undecided; s < settled && s < o->next; s++) {
        Sent *sent = fl__outbox_find(o, s);
        if (sent != NULL) {
            fl__outbox_decide(o, sent, FL_FATE_LOST, 0);
        }
    }
}

void fl__outbox_abandon(Outbox *o)
{
    for (int64_t s = o->undecided; s < o->next; s++) {
        Sent *sent = fl__outbox_find(o, s);
        if (sent != NULL) {
            fl__outbox_decide(o, sent, FL_FATE_UNKNOWN, 0);
        }
    }
}
