// Attention: how much we look at others' entities, sent to whoever distributes them to us.
//
// A value is sent when it has changed enough, in packets that go anyway, over the connection by
// which the entity comes to us; at once when it rises to a half, since no peer serves a choice that
// it does not know; again when the packet is lost or the entity comes another way. What others send
// goes into the ledger, where the focus policies read it.

// ATTENTION: how much I look at entities.                        spec/WIRE.md section 7.12
//
//   bits  field    unit   valid
//   8     kind     -      8
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   8     value    1/255  0: not at all, 255: at nothing else
#include "private.h"

#include "send/send.h"

#include <math.h>
#include <string.h>

#define ENOUGH 8   // steps of 1/255
#define CHOSEN 128 // steps: it is looked at more than at others (fl_attention_choose)

// ---------------------------------------------------------------- making

enum { TABLES = 2 };

static void list_tables(Attention *a, const FlSession *session, Fl__Table tables[TABLES])
{
    Fl__Table all[TABLES] = {
        {(void **)&a->looks, (size_t)session->def.entity_capacity * sizeof(Look)},
        {(void **)&a->due.words, (size_t)session->entity_words * sizeof(uint64_t)},
    };
    memcpy(tables, all, sizeof all);
}

FlResult fl__attention_create(FlSession *session)
{
    Attention *a = (Attention *)fl_alloc(&session->def.alloc, sizeof *a, _Alignof(Attention));
    session->attention = a;
    if (a == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table tables[TABLES];
    list_tables(a, session, tables);
    bool reserved = fl__tables_reserve(&session->def.alloc, tables, TABLES);
    return reserved ? fl__overlay_create(session) : FL_NO_MEMORY;
}

void fl__attention_destroy(FlSession *session)
{
    if (session->attention != NULL) {
        fl__overlay_destroy(session);
        Fl__Table tables[TABLES];
        list_tables(session->attention, session, tables);
        fl__tables_release(&session->def.alloc, tables, TABLES);
        fl_free(&session->def.alloc, session->attention, sizeof *session->attention);
        session->attention = NULL;
    }
}

size_t fl__attention_entity_bytes(const FlSessionDef *def)
{
    return sizeof(Look) + (fl__overlay_has_sources(def) ? sizeof(Source) : 0);
}

// ---------------------------------------------------------------- ours

static bool is_news(const Look *look)
{
    int32_t sent = look->sent;
    int32_t change = look->value > sent ? look->value - sent : sent - look->value;
    if (sent == UNSENT) {
        return look->value > 0; // who says nothing does not look
    }
    return change >= ENOUGH || (look->value == 0) != (sent == 0);
}

// Whoever is chosen anew is not served until that is known, so it does not wait for a packet.
static bool is_urgent(const FlSession *session, int32_t slot)
{
    const Look *look = &session->attention->looks[slot];
    return look->value >= CHOSEN && look->sent < CHOSEN;
}

static void note_news(FlSession *session, int32_t slot)
{
    Look *look = &session->attention->looks[slot];
    if (is_news(look)) {
        fl__hint_due(&session->attention->due, slot);
        if (is_urgent(session, slot) && look->connection != FL__NONE) {
            fl__connection_wake(session, look->connection);
        }
    }
}

// A new entity: it has no attention yet.
static void begin(FlSession *session, int32_t slot)
{
    Look none = {FL__NONE, UNSENT, 0, 0.0f};
    session->attention->looks[slot] = none;
    fl__bit_clear(session->attention->due.words, slot);
    int32_t receivers = fl__ledger(session) != NULL ? session->connection_count : 0;
    for (int32_t i = 0; i < receivers; i++) {
        fl__ledger_attention(fl__ledger(session), slot, i, 0.0);
    }
}

// How much those look at it to whom we forward it, or a hybrid's host relays it.
static uint8_t relayed_value(const FlSession *session, int32_t slot)
{
    uint8_t most = fl__overlay_forwarded_value(session, slot);
    bool relays = fl__is_host(session) && session->topology == FL_TOPOLOGY_HYBRID;
    for (int32_t i = 0; relays && i < session->connection_count; i++) {
        if (fl__ledger_watches(fl__ledger(session), slot, i)) {
            double value = fl__ledger_attention_of(fl__ledger(session), slot, i);
            most = value * 255.0 > (double)most ? (uint8_t)floor(value * 255.0 + 0.5) : most;
        }
    }
    return most;
}

static void set_value(FlSession *session, int32_t slot, uint8_t value)
{
    Look *look = &session->attention->looks[slot];
    uint8_t relayed = relayed_value(session, slot);
    look->value = relayed > value                       ? relayed
                  : fl__overlay_delivers(session, slot) ? 0 // it comes from another member
                                                        : value;
    int32_t owner = fl__entity_owner(session, slot);
    int32_t connection = fl__route(session, owner);
    bool relayed_here =
        session->topology != FL_TOPOLOGY_MESH ||
        (connection != FL__NONE && fl__connection_member(session, connection) == owner);
    connection = relayed_here ? connection : FL__NONE; // a mesh's host relays nothing
    if (connection != look->connection) {              // what we sent elsewhere is not known there
        look->connection = connection;
        look->sent = UNSENT;
    }
    note_news(session, slot);
}

void fl__attention_refresh(FlSession *session, int32_t slot)
{
    double own = (double)session->attention->looks[slot].attention;
    set_value(session, slot, (uint8_t)(own * 255.0 + 0.5));
}

FlResult fl_entity_attention(FlSession *session, FlEntityId id, double value)
{
    int32_t slot = fl__entity_slot(session, id);
    if (slot == FL__NONE) {
        return FL_STALE_ID;
    }
    if (fl_entity_is_ours(session, id) || !(value >= 0.0 && value <= 1.0)) {
        return FL_BAD_VALUE;
    }
    session->attention->looks[slot].attention = (float)value;
    if (session->topology == FL_TOPOLOGY_CROWD) { // whom we watch is for the crowd to say
        fl__entity_changed(session, CHANGE_ATTENTION, slot);
    } else {
        fl__attention_refresh(session, slot);
    }
    return FL_OK;
}

double fl__attention_of(const FlSession *session, int32_t slot)
{
    return (double)session->attention->looks[slot].attention;
}

void fl__attention_watch(FlSession *session, int32_t slot, bool watched)
{
    set_value(session, slot, watched ? UINT8_MAX : 0);
}

// Whoever is at the other end now knows nothing of what we look at.
static void opened(FlSession *session, int32_t connection)
{
    int32_t slot = fl__entity_after(session, 0);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        Look *look = &session->attention->looks[slot];
        if (look->connection == connection) {
            look->sent = UNSENT;
            note_news(session, slot);
        }
    }
}

// What came by the old host comes by the new one, who knows nothing of what we look at.
static void host_changed(FlSession *session)
{
    int32_t slot = fl__entity_after(session, 0);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        uint8_t value = session->attention->looks[slot].value;
        if (value > 0) {
            set_value(session, slot, value);
        }
    }
}

static void settle(FlSession *session, int32_t connection, const Item *item, const Fate *fate)
{
    Look *look = &session->attention->looks[item->index];
    bool current = fl__entity_there(session, item->index) && look->connection == connection &&
                   look->sent == (int32_t)item->value;
    if (!fate->delivered && current) {
        look->sent = UNSENT;
        // UNSENT is as good as 0 only to a receiver that never got a value.
        fl__hint_due(&session->attention->due, item->index);
    }
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    for (int32_t i = 0; i < count; i++) {
        settle((FlSession *)self, connection, &items[i], fate);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        opened(session, change->connection);
    } else if (change->kind == CHANGE_HOST_OTHER) {
        host_changed(session);
    } else if (change->kind == CHANGE_ENTITY_MADE) {
        begin(session, change->slot);
    }
}

// ---------------------------------------------------------------- theirs

// What we distribute, by the word of a member at the other end of a connection.
static void receive(FlSession *session, int32_t connection, int32_t slot, uint8_t value)
{
    bool known = slot != FL__NONE &&
                 fl__entity_owner(session, slot) != fl__connection_member(session, connection);
    if (!known) { // gone meanwhile, or its own
        fl__count(session, FL_SESSION_ATTENTION_STRAY);
        return;
    }
    if (session->topology == FL_TOPOLOGY_CROWD) {
        fl__entity_set_interest(session, slot, connection, value > 0);
    } else if (fl_entity_is_ours(session, fl__entity_id(session, slot))) {
        fl__ledger_attention(fl__ledger(session), slot, connection, value / 255.0);
    } else { // a host relays it; another member may forward it
        (void)fl__overlay_asked(session, slot, connection, value);
        fl__ledger_attention(fl__ledger(session), slot, connection, value / 255.0);
        fl__attention_refresh(session, slot);
    }
    fl__count(session, FL_SESSION_ATTENTION_TAKEN);
}

static bool goes(const FlSession *session, int32_t slot, int32_t connection)
{
    return session->attention->looks[slot].connection == connection;
}

static uint8_t send(FlSession *session, int32_t slot)
{
    Look *look = &session->attention->looks[slot];
    look->sent = look->value;
    return look->value;
}

static const Hint HINT = {SECTION_ATTENTION, 255, goes, send, receive, is_urgent};

static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    return fl__hint_want(session, &HINT, &session->attention->due, connection, now);
}

static void write(void *self, PacketOut *out)
{
    fl__hint_write(&HINT, &((FlSession *)self)->attention->due, out);
}

static bool skip(const void *self, PacketIn *in)
{
    return fl__hint_skip((const FlSession *)self, &HINT, in->r);
}

static void take(void *self, PacketIn *in)
{
    (void)self;
    fl__hint_take(&HINT, in);
}

const Feature fl__feature_attention = {
    .name = "attention",
    .sections = {SECTION_ATTENTION, 1},
    .rides = true,
    .repeats = true,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .changed = changed,
};

// ---------------------------------------------------------------- asking

// The slot and connection of a pair that we serve.
static FlResult pair_of(const FlSession *session, FlEntityId id, FlPeerId peer, int32_t *slot,
                        int32_t *connection)
{
    *slot = fl__entity_slot(session, id);
    int32_t member = fl__member_of(session, peer);
    if (*slot == FL__NONE || member == FL__NONE) {
        return FL_STALE_ID;
    }
    *connection = fl__member_connection(session, member);
    return *connection == FL__NONE || fl__ledger(session) == NULL ? FL_NOT_FOUND : FL_OK;
}

FlResult fl_peer_attention(FlSession *session, FlPeerId peer, FlEntityId id, double value)
{
    int32_t slot;
    int32_t connection;
    FlResult result = pair_of(session, id, peer, &slot, &connection);
    if (result == FL_OK) {
        fl__ledger_attention(fl__ledger(session), slot, connection, value);
    }
    return result;
}

FlResult fl_entity_interest(const FlSession *session, FlEntityId id, FlPeerId peer,
                            double *attention, FlSendClass *send_class)
{
    *attention = 0.0;
    *send_class = FL_CLASS_FOCUS;
    int32_t slot;
    int32_t connection;
    FlResult result = pair_of(session, id, peer, &slot, &connection);
    if (result == FL_OK) {
        *attention = fl__ledger_attention_of(fl__ledger(session), slot, connection);
        *send_class = fl__ledger_class(fl__ledger(session), slot, connection);
    }
    return result;
}
