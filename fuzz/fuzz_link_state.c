// Two links and a network that does whatever the input says: delays, doubles, loses, reorders,
// damages, and sets clocks. Whatever it does, what the links tell each other's users is true:
// every packet has one fate, delivered if and only if it was taken, with the very time it was taken
// at, lost only if it never will be; messages arrive once, whole, the ordered ones in order.
//
// Byte 0: settings. Then operations, a byte each, some with a byte of their own: see `operate`.
// A damaged packet that is taken all the same (nothing here is sealed) ends the claim of truth, not
// the checks of the links' own invariants.
#include "fuzz.h"

#include "link/link.h"
#include "link/private.h"

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { PACKETS = 2048, MESSAGES = 1024, IN_FLIGHT = 64, KINDS = 3 };

typedef struct Truth {
    FlTime arrived;
    bool taken;
    uint8_t told;
    uint8_t fate;
} Truth;

typedef struct Flying {
    uint8_t bytes[FL_LINK_PACKET_BYTES];
    int32_t size;
    uint32_t tag;
} Flying;

typedef struct End {
    FlLink *link;
    FlTime clock; // set forwards and backwards by the input
    Truth truth[PACKETS];
    uint32_t packets;
    uint32_t said[KINDS], heard[KINDS];
    uint8_t seen[KINDS][MESSAGES];
    Flying flying[IN_FLIGHT]; // the way out
    int32_t flying_count;
} End;

typedef struct State {
    End end[2];
    const uint8_t *data;
    size_t size, at;
    bool tainted;
} State;

static uint8_t next_byte(State *s)
{
    return s->at < s->size ? s->data[s->at++] : 0;
}

// ---------------------------------------------------------------- messages

static int32_t make_message(int32_t from, int32_t kind, uint32_t n, uint8_t *bytes)
{
    uint32_t x = n * 2654435761u + (uint32_t)(from * 7 + kind);
    int32_t most = kind == FL_DELIVERY_ORDERED ? 640 : 250;
    int32_t size = 6 + (int32_t)((x >> 8) % (uint32_t)most);
    for (int32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(x >> (i % 3 * 8)) ^ (uint8_t)i;
    }
    bytes[0] = (uint8_t)(from << 4 | kind);
    memcpy(bytes + 1, &n, 4);
    return size;
}

static void say(State *s, int32_t i, int32_t kind)
{
    uint8_t bytes[1024];
    End *end = &s->end[i];
    if (end->said[kind] == MESSAGES) {
        return;
    }
    int32_t size = make_message(i, kind, end->said[kind], bytes);
    FlResult result = fl_link_send(end->link, (FlDelivery)kind, bytes, size);
    CHECK(result == FL_OK || result == FL_WOULD_BLOCK || result == FL_STALE_ID);
    end->said[kind] += result == FL_OK ? 1 : 0;
}

static void take(State *s, int32_t i)
{
    uint8_t got[1024], want[1024];
    int32_t count;
    while (fl_link_take(s->end[i].link, got, sizeof got, &count) == FL_OK) {
        if (s->tainted) {
            continue;
        }
        CHECK(count >= 6 && got[0] >> 4 == 1 - i && (got[0] & 15) < KINDS);
        int32_t kind = got[0] & 15;
        End *peer = &s->end[1 - i];
        uint32_t n;
        memcpy(&n, got + 1, 4);
        CHECK(n < peer->said[kind] && peer->seen[kind][n] == 0);
        CHECK(kind != FL_DELIVERY_ORDERED || n == peer->heard[kind]);
        peer->seen[kind][n] = 1;
        peer->heard[kind]++;
        CHECK(count == make_message(1 - i, kind, n, want));
        CHECK(memcmp(got, want, (size_t)count) == 0);
    }
}

// ---------------------------------------------------------------- packets and fates

static void poll_fates(State *s, int32_t i)
{
    FlFateEvent event;
    while (fl_link_take_fate(s->end[i].link, &event) == FL_OK) {
        CHECK(event.tag < s->end[i].packets);
        Truth *truth = &s->end[i].truth[event.tag];
        CHECK(truth->told == 0);
        truth->told = 1;
        truth->fate = (uint8_t)event.fate;
        if (s->tainted) {
            continue;
        }
        CHECK(event.fate != FL_FATE_DELIVERED ||
              (truth->taken && event.arrived_remote == truth->arrived));
        CHECK(event.fate != FL_FATE_LOST || !truth->taken);
    }
}

static void lose(End *end, int32_t which)
{
    memmove(&end->flying[which], &end->flying[which + 1],
            (size_t)(end->flying_count - which - 1) * sizeof end->flying[0]);
    end->flying_count--;
}

static void send(State *s, int32_t i, int32_t payload_bytes)
{
    End *end = &s->end[i];
    if (end->packets == PACKETS) {
        return;
    }
    if (end->flying_count == IN_FLIGHT) {
        lose(end, 0);
    }
    Flying *f = &end->flying[end->flying_count];
    FlWriter w;
    poll_fates(s, i);
    FlResult result = fl_link_begin(end->link, end->clock, f->bytes, &w);
    CHECK(result == FL_OK || result == FL_STALE_ID);
    if (result != FL_OK) {
        return;
    }
    for (int32_t k = 0; k < payload_bytes && w.capacity_bits - w.bit_count >= 8; k++) {
        fl_writer_put(&w, (uint64_t)k, 8);
    }
    uint64_t sequence;
    f->tag = end->packets;
    f->size = fl_link_finish(end->link, end->clock, &w, end->packets, &sequence);
    CHECK(sequence == end->packets);
    end->packets++;
    end->flying_count++;
}

static void deliver(State *s, int32_t from, int32_t which, uint8_t damage, bool keep)
{
    End *end = &s->end[from];
    if (end->flying_count == 0) {
        return;
    }
    which %= end->flying_count;
    Flying *f = &end->flying[which];
    uint8_t *exact = (uint8_t *)malloc((size_t)f->size);
    CHECK(exact != NULL);
    memcpy(exact, f->bytes, (size_t)f->size);
    exact[damage % f->size] ^= damage;
    End *to = &s->end[1 - from];
    FlLinkPacket packet;
    FlLinkDrop drop = fl_link_receive(to->link, to->clock, f->tag, exact, f->size, &packet);
    // What a crowded packet reports counts, too.
    bool believed = drop == FL_LINK_DROP_NONE || drop == FL_LINK_DROP_CROWDED;
    s->tainted = s->tainted || (believed && damage != 0);
    if (drop == FL_LINK_DROP_NONE) {
        Truth *truth = &end->truth[f->tag];
        if (!s->tainted) {
            CHECK(!truth->taken);
            CHECK(truth->told == 0 || truth->fate == FL_FATE_UNKNOWN);
        }
        truth->taken = true;
        truth->arrived = packet.arrived;
    }
    free(exact);
    if (!keep) {
        lose(end, which);
    }
}

// ---------------------------------------------------------------- the machine

static void check_invariants(const FlLink *link)
{
    const Arrivals *a = &link->arrivals;
    const Outbox *o = &link->out->outbox;
    CHECK(a->first_serial <= a->next_serial && a->next_serial - a->first_serial <= a->capacity);
    CHECK(a->horizon <= a->newest && a->horizon >= a->newest - IN_WINDOW);
    int32_t fresh = 0;
    for (int64_t n = a->first_serial; n < a->next_serial; n++) {
        const Report *r = &a->reports[n % a->capacity];
        fresh += r->owed && !r->confirmed && r->carried_at == NEVER ? 1 : 0;
    }
    CHECK(fresh == a->fresh_count);
    CHECK((fresh > 0) == (a->ack_due != FL_FOREVER));
    int32_t undecided = 0;
    for (int32_t n = 0; n < o->capacity; n++) {
        undecided += o->ring[n].undecided ? 1 : 0;
    }
    CHECK(undecided == o->undecided_count);
    CHECK(o->delivered + o->lost + o->unknown + (uint64_t)undecided == (uint64_t)o->next);
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        const Stream *t = &link->out->stream[i];
        CHECK(t->out_first <= t->out_next && t->out_next - t->out_first <= FL_LINK_WINDOW);
    }
}

static void step(State *s, int32_t i)
{
    End *end = &s->end[i];
    fl_link_update(end->link, end->clock);
    for (int32_t k = 0; k < 4 && fl__link_wants_to_send(end->link, end->clock); k++) {
        send(s, i, 0);
    }
    FlTime due = fl_link_deadline(end->link, end->clock);
    CHECK(due >= end->clock);
    poll_fates(s, i);
}

static void operate(State *s)
{
    uint8_t op = next_byte(s);
    int32_t i = op & 1;
    switch (op >> 1 & 15) {
    case 0:
    case 1: // time passes, for both
        for (int32_t k = 0; k < 2; k++) {
            s->end[k].clock += FL_US(500) << (op >> 5);
        }
        break;
    case 2:
        send(s, i, op >> 5);
        break;
    case 3:
    case 4:
        step(s, i);
        break;
    case 5: // the oldest under way arrives
    case 6:
        deliver(s, i, 0, 0, false);
        break;
    case 7: // any arrives, and may come again
        deliver(s, i, op >> 5, 0, true);
        break;
    case 8:
        if (s->end[i].flying_count > 0) {
            lose(&s->end[i], (op >> 5) % s->end[i].flying_count);
        }
        break;
    case 9:
    case 10:
        say(s, i, (op >> 5) % KINDS);
        break;
    case 11:
        take(s, i);
        break;
    case 12:
        deliver(s, i, 0, next_byte(s), op >> 5 != 0);
        break;
    case 13: // a clock is set
        s->end[i].clock += (FlTime)((int8_t)next_byte(s)) * FL_MS(50);
        break;
    case 14:
        for (int32_t k = 0; k < 2; k++) {
            s->end[k].clock += FL_MS(5) * next_byte(s);
        }
        break;
    default:
        if (op >> 5 == 7) {
            fl__link_close(s->end[i].link);
        }
        break;
    }
}

static void finish(State *s)
{
    for (int32_t i = 0; i < 2; i++) {
        End *end = &s->end[i];
        take(s, i);
        fl__link_close(end->link);
        poll_fates(s, i);
        for (uint32_t n = 0; n < end->packets; n++) {
            CHECK(end->truth[n].told == 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    State *s = (State *)calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->data = data;
    s->size = size;
    uint8_t settings = next_byte(s);
    for (int32_t i = 0; i < 2; i++) {
        FlLinkDef def = fl_link_def_default();
        def.sent_capacity = 16 << (settings & 3);
        def.send_bytes = def.receive_bytes = 700;
        def.external_sequence = (settings & 4) != 0;
        def.ack_delay_ns = (settings & 8) != 0 ? 0 : FL_MS(25);
        def.reorder_ns = (settings & 16) != 0 ? FL_MS(50) : FL_SEC(1);
        def.keep_alive_ns = (settings & 32 << i) != 0 ? FL_MS(300) : FL_FOREVER;
        s->end[i].clock = i == 0 ? -FL_SEC(1000) : FL_SEC(500000);
        CHECK(fl_link_create(&def, s->end[i].clock, &s->end[i].link) == FL_OK);
    }
    while (s->at < s->size) {
        operate(s);
        check_invariants(s->end[0].link);
        check_invariants(s->end[1].link);
    }
    finish(s);
    fl_link_destroy(s->end[0].link);
    fl_link_destroy(s->end[1].link);
    free(s);
    return 0;
}
