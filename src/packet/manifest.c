// What each packet carried, until its fate is known.
//
// Two rings: packets by tag, items by serial; a packet's items lie together. Updates and states
// wait while the ring is full: a peer that reports nothing gets no more of them. When items run out
// all the same the oldest packet is given up: what became of it will not be known, which is
// counted.
#include "private.h"

#include <string.h>

static int32_t packets_of(const FlSessionDef *def)
{
    return 2 * def->tuning.link.sent_capacity; // fates that wait to be polled are at most as many
}

size_t fl__manifest_bytes(const FlSessionDef *def)
{
    return (size_t)packets_of(def) * sizeof(Packet) +
           (size_t)def->tuning.item_capacity * sizeof(Item);
}

bool fl__manifest_create(FlSession *session, Manifest *m)
{
    memset(m, 0, sizeof *m);
    size_t bytes = fl__manifest_bytes(&session->def);
    m->packets = (Packet *)fl_alloc(&session->def.alloc, bytes, _Alignof(max_align_t));
    if (m->packets == NULL) {
        return false;
    }
    m->packet_capacity = packets_of(&session->def);
    m->item_capacity = session->def.tuning.item_capacity;
    m->items = (Item *)(void *)(m->packets + m->packet_capacity);
    return true;
}

void fl__manifest_destroy(const FlSession *session, Manifest *m)
{
    fl_free(&session->def.alloc, m->packets, fl__manifest_bytes(&session->def));
    memset(m, 0, sizeof *m);
}

static Packet *packet_of(const Manifest *m, uint64_t tag)
{
    return &m->packets[tag & (uint64_t)(m->packet_capacity - 1)];
}

static void forget_oldest(Manifest *m)
{
    const Packet *oldest = packet_of(m, m->packet_first);
    m->item_first = oldest->first + oldest->count;
    m->packet_first++;
}

uint64_t fl__manifest_begin(Manifest *m)
{
    if (m->packet_next - m->packet_first == (uint64_t)m->packet_capacity) {
        forget_oldest(m);
    }
    Packet fresh = {m->item_next, 0, true};
    *packet_of(m, m->packet_next) = fresh;
    return m->packet_next++;
}

#define OTHERS_SHARE 8 // of the items: for what is not an update or a state

int32_t fl__manifest_left(const FlSession *session, int32_t connection)
{
    const Manifest *m = &fl__outbox(session, connection)->manifest;
    int32_t used = (int32_t)(m->item_next - m->item_first);
    return m->item_capacity - m->item_capacity / OTHERS_SHARE - used;
}

static bool is_full(const Manifest *m)
{
    return m->item_next - m->item_first == (uint32_t)m->item_capacity;
}

static void put(Manifest *m, Item item)
{
    m->items[m->item_next++ & (uint32_t)(m->item_capacity - 1)] = item;
    packet_of(m, m->packet_next - 1)->count++;
}

// Gives up the oldest packets; false if one of them waited, or this packet alone has more than
// fits.
FL__APART
static bool put_full(Manifest *m, Item item)
{
    bool kept = true;
    while (is_full(m)) {
        if (m->packet_first + 1 == m->packet_next) {
            return false;
        }
        kept = kept && !packet_of(m, m->packet_first)->waits;
        forget_oldest(m);
    }
    put(m, item);
    return kept;
}

static bool add(Manifest *m, Item item)
{
    if (is_full(m)) {
        return put_full(m, item);
    }
    put(m, item);
    return true;
}

void fl__packet_note(PacketOut *out, int32_t index, uint32_t value)
{
    Item item = {out->row, (uint16_t)index, value};
    out->items_left--;
    if (!add(out->manifest, item)) {
        fl__count(out->session, FL_SESSION_UNTRACKED);
    }
}

// ---------------------------------------------------------------- fates

static void settle(FlSession *session, int32_t connection, const Item *items, int32_t count,
                   const Fate *fate)
{
    const Features *f = &session->packets->features;
    f->row[items->row]->outcome(f->self[items->row], connection, items, count, fate);
}

// All items of a packet; those of one row that lie together at once.
static void settle_all(FlSession *session, int32_t connection, const Packet *packet,
                       const Fate *fate)
{
    const Manifest *m = &fl__outbox(session, connection)->manifest;
    for (uint32_t i = 0; i < packet->count;) {
        uint32_t at = (packet->first + i) & (uint32_t)(m->item_capacity - 1);
        uint32_t most =
            (uint32_t)fl__int_min((int32_t)(packet->count - i), m->item_capacity - (int32_t)at);
        uint32_t run = 1;
        while (run < most && m->items[at + run].row == m->items[at].row) {
            run++;
        }
        settle(session, connection, &m->items[at], (int32_t)run, fate);
        i += run;
    }
}

// Every item of a packet whose fate is not known that `row` (FL__NONE: any that is sent again) sent
// is taken for lost.
static void lose(FlSession *session, int32_t connection, uint64_t tag, int32_t row)
{
    const Manifest *m = &fl__outbox(session, connection)->manifest;
    const Packet *packet = packet_of(m, tag);
    Fate lost = {.delivered = false};
    for (uint32_t i = 0; packet->waits && i < packet->count; i++) {
        const Item *item = &m->items[(packet->first + i) & (uint32_t)(m->item_capacity - 1)];
        if (row == FL__NONE ? session->packets->features.row[item->row]->repeats
                            : item->row == row) {
            settle(session, connection, item, 1, &lost);
        }
    }
}

#define OVERTAKEN_BY 3

// Whether a packet is lost for certain shows late, since it may still come. What must arrive is
// sent again as soon as a few later ones are known to have arrived.
static void suspect(FlSession *session, int32_t connection, uint64_t delivered)
{
    Manifest *m = &fl__outbox(session, connection)->manifest;
    m->suspected = m->suspected > m->packet_first ? m->suspected : m->packet_first;
    for (; m->suspected + OVERTAKEN_BY <= delivered; m->suspected++) {
        lose(session, connection, m->suspected, FL__NONE);
    }
}

void fl__manifest_give_up(FlSession *session, int32_t connection, uint8_t row)
{
    const Manifest *m = &fl__outbox(session, connection)->manifest;
    for (uint64_t tag = m->packet_first; tag < m->packet_next; tag++) {
        lose(session, connection, tag, row);
    }
}

void fl__manifest_settle(FlSession *session, int32_t connection, FlTime now)
{
    Manifest *m = &fl__outbox(session, connection)->manifest;
    FlLink *link = fl__connection_link(session, connection);
    FlFateEvent event;
    while (fl_link_take_fate(link, &event) == FL_OK) {
        if (event.tag < m->packet_first) {
            continue; // given up
        }
        Packet *packet = packet_of(m, event.tag);
        Fate fate = {.delivered = event.fate == FL_FATE_DELIVERED,
                     .arrived_remote = event.arrived_remote};
        if (packet->count > 0) {
            fate.sent = fl__stamp_of(session, connection, event.sent);
            fate.arrived = fl__arrival_time(session, connection, event.sent, event.arrived_remote);
            fate.now = fl_session_time(session, now);
        }
        settle_all(session, connection, packet, &fate);
        packet->waits = false;
        if (fate.delivered) {
            suspect(session, connection, event.tag);
        }
        while (m->packet_first < m->packet_next && !packet_of(m, m->packet_first)->waits) {
            forget_oldest(m);
        }
    }
}
