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
    return 2 * def->link.sent_capacity; // fates that wait to be polled are at most as many
}

size_t fl__manifest_bytes(const FlSessionDef *def)
{
    return (size_t)packets_of(def) * sizeof(Packet) + (size_t)def->item_capacity * sizeof(Item);
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
    m->item_capacity = session->def.item_capacity;
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

bool fl__manifest_is_full(const Manifest *m)
{
    uint32_t used = m->item_next - m->item_first;
    return used >= (uint32_t)(m->item_capacity - m->item_capacity / OTHERS_SHARE);
}

bool fl__manifest_add(Manifest *m, Item item)
{
    bool kept = true;
    while (m->item_next - m->item_first == (uint32_t)m->item_capacity) {
        if (m->packet_first + 1 == m->packet_next) {
            return false; // this packet alone has more than fits
        }
        kept = kept && !packet_of(m, m->packet_first)->waits;
        forget_oldest(m);
    }
    m->items[m->item_next++ & (uint32_t)(m->item_capacity - 1)] = item;
    packet_of(m, m->packet_next - 1)->count++;
    return kept;
}

// ---------------------------------------------------------------- fates

typedef struct Fate {
    bool delivered;
    FlTime sent, arrived, now; // session time
    FlTime arrived_remote;     // the other end's link clock
} Fate;

static void settle_motion(FlSession *session, int32_t line, const Item *item, const Fate *fate)
{
    FlDue due = {item->index, item->value};
    if (fate->delivered) {
        fl_ledger_arrived(session->ledger, line, due, fate->sent, fate->arrived, fate->now);
    } else {
        fl_ledger_lost(session->ledger, line, due, fate->now);
        // What is due again is due over this line, which is being looked at.
    }
}

static void settle_state(FlSession *session, int32_t line, const Item *item, bool delivered)
{
    const Entity *entity = &session->entities[item->index];
    bool current = fl__entity_live(entity) && entity->state_version == item->value;
    if (!delivered && current) {
        fl__bit_set(&session->state_due[line * session->entity_words], item->index);
    }
}

static void settle(FlSession *session, int32_t index, const Item *item, const Fate *fate)
{
    Line *line = &session->lines[index];
    switch ((ItemKind)item->kind) {
    case ITEM_MOTION:
        settle_motion(session, index, item, fate);
        break;
    case ITEM_STATE:
        settle_state(session, index, item, fate->delivered);
        break;
    case ITEM_INPUT:
        fl__input_fate(session, index, item, fate->delivered, fate->arrived_remote);
        break;
    case ITEM_ATTENTION:
        fl__attention_fate(session, index, item->index, item->value, fate->delivered);
        break;
    case ITEM_NEAR:
        if (!fate->delivered) {
            fl__near_lost(session, index, item->index, item->value);
        }
        break;
    case ITEM_WELCOME:
        if (fate->delivered && item->value == (uint32_t)session->host) {
            line->welcome_owed = false;
        }
        break;
    case ITEM_MAPPING:
        if (fate->delivered && item->value + 1 > line->own_map.told) {
            bool first = line->own_map.told == 0;
            line->own_map.told = item->value + 1;
            if (first && line->direct) {
                fl__mesh_understood(session, index);
            }
        }
        break;
    }
}

#define OVERTAKEN_BY 3

// Whether a packet is lost for certain shows late, since it may still come. What must arrive is
// sent again as soon as a few later ones have been heard of.
static void suspect(FlSession *session, int32_t index, uint64_t delivered)
{
    Manifest *m = &session->lines[index].manifest;
    Fate lost = {.delivered = false};
    m->suspected = m->suspected > m->packet_first ? m->suspected : m->packet_first;
    for (; m->suspected + OVERTAKEN_BY <= delivered; m->suspected++) {
        const Packet *packet = packet_of(m, m->suspected);
        for (uint32_t i = 0; packet->waits && i < packet->count; i++) {
            const Item *item = &m->items[(packet->first + i) & (uint32_t)(m->item_capacity - 1)];
            if (item->kind != ITEM_MOTION) { // of which the next is worth more than the last
                settle(session, index, item, &lost);
            }
        }
    }
}

#define DOUBT_EVERY FL_SEC(1)
#define DOUBT_AT_LEAST FL_MS(10)
#define DOUBT_UNKNOWN FL_SEC(10)

// How far the other end's word on arrival times may be from what we can tell ourselves: our bound
// on its clock, and as much again for its session time, which may still be on its way.
static void tell_doubt(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    if (now < line->doubt_next) {
        return;
    }
    line->doubt_next = fl_time_add(now, DOUBT_EVERY);
    FlClockReading reading =
        fl_clock_read(fl_link_peer_clock(line->link), fl_link_clock(line->link, now));
    FlTime bound = reading.known && reading.bound_ns < DOUBT_UNKNOWN / 4 ? reading.bound_ns
                                                                         : DOUBT_UNKNOWN / 4;
    fl_ledger_clock_error(session->ledger, index, 2 * bound + DOUBT_AT_LEAST);
}

// States that have not arrived for long are due again, whatever became of them.
static void hurry_states(FlSession *session, int32_t index)
{
    const Manifest *m = &session->lines[index].manifest;
    for (uint64_t tag = m->packet_first; tag < m->packet_next; tag++) {
        const Packet *packet = packet_of(m, tag);
        for (uint32_t i = 0; packet->waits && i < packet->count; i++) {
            const Item *item = &m->items[(packet->first + i) & (uint32_t)(m->item_capacity - 1)];
            if (item->kind == ITEM_STATE) {
                settle_state(session, index, item, false);
            }
        }
    }
}

void fl__manifest_settle(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    Manifest *m = &line->manifest;
    tell_doubt(session, index, now);
    FlFateEvent event;
    while (fl_link_poll_fate(line->link, &event) == FL_OK) {
        if (event.tag < m->packet_first) {
            continue; // given up
        }
        Packet *packet = packet_of(m, event.tag);
        Fate fate = {.delivered = event.fate == FL_FATE_DELIVERED,
                     .arrived_remote = event.arrived_remote};
        if (packet->count > 0) {
            fate.sent = fl__stamp_of(session, line, event.sent);
            fate.arrived = fl__moment_remote(session, line, event.sent, event.arrived_remote);
            fate.now = fl_session_time(session, now);
        }
        for (uint32_t i = 0; i < packet->count; i++) {
            uint32_t at = (packet->first + i) & (uint32_t)(m->item_capacity - 1);
            settle(session, index, &m->items[at], &fate);
        }
        packet->waits = false;
        if (fate.delivered) {
            suspect(session, index, event.tag);
        }
        while (m->packet_first < m->packet_next && !packet_of(m, m->packet_first)->waits) {
            forget_oldest(m);
        }
    }
    if (now >= line->state_again) {
        line->state_again = FL_FOREVER;
        hurry_states(session, index);
    }
}
