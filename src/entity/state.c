// STATE: state blobs out and in. The newest is sent until it has arrived.

// STATE: an entity's state blob.                                 spec/WIRE.md section 7.6
//
//   bits  field    unit   valid
//   8     kind     -      3
//   16    number   -      the entity's
//   8     epoch    -      low bits
//   16    version  -      1..65535, on a circle without 0
//   8     length   -      bytes follow

#include "fields.h"
#include "private.h"

#include "wire/wire.h"

#include <string.h>

#define STATE_HEAD 7

// ---------------------------------------------------------------- which is newer

// Versions count within an epoch: whatever an owner left behind, the next one goes on from there.
static bool is_newer(const Entity *entity, uint16_t epoch, uint16_t version)
{
    if (entity->detail->state_version == 0 || fl__seq_newer(epoch, entity->detail->state_epoch)) {
        return true;
    }
    return epoch == entity->detail->state_epoch &&
           fl__seq_newer(version, entity->detail->state_version);
}

static bool is_same(const Entity *entity, uint16_t version, const uint8_t *bytes, int32_t count)
{
    return entity->detail->state_version == version && entity->detail->state_bytes == count &&
           (count == 0 || memcmp(entity->detail->state, bytes, (size_t)count) == 0);
}

// ---------------------------------------------------------------- the owner's

void fl__state_due(FlSession *session, const Entity *entity)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__entity_goes(session, entity, i)) {
            fl__state_due_over(session, entity, i);
        }
    }
}

FlResult fl_entity_state_set(FlSession *session, FlEntityId id, const void *bytes, int32_t count)
{
    Entity *entity;
    FlResult result = fl__entity_ours(session, id, &entity);
    bool early = result == FL_WOULD_BLOCK;
    if (result != FL_OK && !early) {
        return result;
    }
    if (count < 0 || count > FL_ENTITY_STATE_BYTES || (bytes == NULL && count > 0) ||
        fl__fields_of(session, entity)->layout != NULL) {
        return FL_BAD_VALUE;
    }
    if (entity->detail->state_version != 0 &&
        is_same(entity, entity->detail->state_version, (const uint8_t *)bytes, count)) {
        return FL_OK;
    }
    if (count > 0) {
        memcpy(entity->detail->state, bytes, (size_t)count);
    }
    entity->detail->state_bytes = count;
    entity->detail->state_version = fl__state_after(entity->detail->state_version);
    entity->detail->state_epoch = entity->epoch;
    if (!early) {
        fl__state_due(session, entity);
    }
    return FL_OK;
}

FlResult fl_entity_state_get(const FlSession *session, FlEntityId id, const uint8_t **bytes,
                             int32_t *count)
{
    *bytes = NULL;
    *count = 0;
    const Entity *early = fl__entity_early(session, id);
    const Entity *entity = early != NULL ? early : fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->detail != NULL && fl__fields_of(session, entity)->layout == NULL) {
        *bytes = entity->detail->state;
        *count = entity->detail->state_bytes;
    }
    return FL_OK;
}

int32_t fl__state_copy(FlSession *session, int32_t slot, int32_t member,
                       uint8_t bytes[FL_ENTITY_STATE_BYTES])
{
    const Entity *entity = fl__entity(session, slot);
    if (entity->detail == NULL || entity->detail->state_version == 0) {
        return 0;
    }
    if (fl__fields_of(session, entity)->layout != NULL) {
        return fl__fields_copy(session, entity, member, bytes);
    }
    memcpy(bytes, entity->detail->state, (size_t)entity->detail->state_bytes);
    return entity->detail->state_bytes;
}

void fl__entity_set_interest(FlSession *session, int32_t slot, int32_t connection, bool watches)
{
    const Entity *entity = fl__entity(session, slot);
    uint64_t *interest = fl__interest(session, connection);
    bool before = fl__bit_get(interest, slot);
    if (watches && !before) {
        fl__bit_set(interest, slot);
        fl__state_due_over(session, entity, connection);
    } else if (!watches) {
        fl__bit_clear(interest, slot);
    }
}

// ---------------------------------------------------------------- out

static uint64_t *states_due(const FlSession *session, int32_t connection)
{
    return &session->entities->state_due[connection * session->entity_words];
}

static Want want(const void *self, int32_t index, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Repeat *repeat = &fl__stream(session, index)->states;
    int32_t slot = fl__repeat_first(session, states_due(session, index), repeat);
    Want want = {.at = repeat->again};
    if (slot != FL__NONE && fl__manifest_left(session, index) > 0) {
        want.at = now;
        want.gather_ns = session->def.tuning.gather_ns;
        want.bytes = STATE_HEAD + fl__entity(session, slot)->detail->state_bytes;
    }
    return want;
}

static void write_state(PacketOut *out, int32_t slot)
{
    const Entity *entity = &out->session->entities->all[slot];
    fl_writer_put(out->w, SECTION_STATE, 8);
    fl_writer_put(out->w, entity->number, 16);
    fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    fl_writer_put(out->w, entity->detail->state_version, 16);
    fl_writer_put(out->w, (uint64_t)entity->detail->state_bytes, 8);
    fl_writer_bytes(out->w, entity->detail->state, entity->detail->state_bytes);
    out->left -= STATE_HEAD + entity->detail->state_bytes;
    fl__packet_note(out, slot, entity->detail->state_version);
    fl__repeat_sent(out, &fl__stream(out->session, out->connection)->states);
    fl__count(out->session, FL_SESSION_STATES_SENT);
}

static bool write_slot(PacketOut *out, int32_t slot)
{
    const Entity *entity = fl__entity(out->session, slot);
    if (!fl__is_live(entity) || !fl__entity_goes(out->session, entity, out->connection)) {
        return true;
    }
    if (out->left < STATE_HEAD + entity->detail->state_bytes || out->items_left <= 0) {
        return false;
    }
    write_state(out, slot);
    return true;
}

static void write(void *self, PacketOut *out)
{
    const FlSession *session = (const FlSession *)self;
    fl__repeat_write(out, states_due(session, out->connection),
                     &fl__stream(session, out->connection)->states, write_slot);
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    const FlSession *session = (const FlSession *)self;
    uint64_t *due = states_due(session, connection);
    for (int32_t i = 0; i < count && !fate->delivered; i++) {
        const Entity *entity = fl__entity(session, items[i].index);
        if (fl__is_live(entity) && entity->detail != NULL &&
            entity->detail->state_version == items[i].value) {
            fl__bit_set(due, items[i].index);
        }
    }
}

static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    fl__repeat_look(session, index, &fl__stream(session, index)->states, &fl__feature_state, now);
}

// ---------------------------------------------------------------- in

typedef struct StateMessage {
    uint32_t number;
    uint8_t epoch_low;
    uint16_t version;
    int32_t count;
    const uint8_t *bytes;
} StateMessage;

static bool read_state(const FlSession *session, FlReader *r, StateMessage *m)
{
    m->number = (uint32_t)fl_reader_take(r, 16);
    m->epoch_low = (uint8_t)fl_reader_take(r, 8);
    m->version = (uint16_t)fl_reader_take(r, 16);
    m->count = (int32_t)fl_reader_take(r, 8);
    m->bytes = fl_reader_bytes(r, m->count);
    return !r->failed && m->version != 0 &&
           m->number < (uint32_t)session->world.def.entity_capacity;
}

static bool skip(const void *self, PacketIn *in)
{
    StateMessage m;
    return read_state((const FlSession *)self, in->r, &m);
}

static void keep_early(FlSession *session, int32_t connection, const StateMessage *m)
{
    EarlyState *early = fl__early_state(session, connection, m->number, m->epoch_low);
    if (early == NULL) {
        return;
    }
    early->version = m->version;
    early->layout = NULL;
    early->count = m->count;
    if (m->count > 0) {
        memcpy(early->bytes, m->bytes, (size_t)m->count);
    }
}

static void take_state(FlSession *session, int32_t connection, const StateMessage *m)
{
    uint16_t epoch = fl__epoch_unwrap(fl__entity_epoch(session, m->number), m->epoch_low);
    int32_t slot = fl__entity_for(session, connection, m->number, epoch);
    if (slot != FL__NONE && !fl__entity_fielded(session, slot)) {
        fl__state_keep(session, slot, epoch, m->version, m->bytes, m->count);
    } else if (slot == FL__NONE) {
        keep_early(session, connection, m);
    }
}

static void take_early(FlSession *session, Entity *entity, const EarlyState *early)
{
    int32_t slot = fl__slot(session, entity);
    bool fielded = fl__fields_of(session, entity)->layout != NULL;
    if (!fielded && early->layout == NULL) {
        fl__state_keep(session, slot, early->epoch, early->version, early->bytes, early->count);
    }
    for (int32_t g = 0; fielded && g < FL_FIELD_GROUPS; g++) {
        if (fl__fields_of(session, entity)->layout == early->layout && (early->groups >> g & 1u)) {
            fl__fields_keep(session, slot, early->epoch, early->versions[g], 1u << g, early->bytes);
        }
    }
}

void fl__state_early(FlSession *session, Entity *entity)
{
    bool kept = session->entities->ledger != NULL;
    int32_t connection = kept ? fl__member_connection(session, entity->owner) : FL__NONE;
    for (int32_t i = 0; i < EARLY_STATES && connection != FL__NONE; i++) {
        EarlyState *early = &session->entities->early[(int64_t)connection * EARLY_STATES + i];
        if (early->version != 0 && early->number == entity->number &&
            early->epoch == entity->epoch) {
            take_early(session, entity, early);
            early->version = 0;
        }
    }
}

void fl__state_keep(FlSession *session, int32_t slot, uint16_t epoch, uint16_t version,
                    const uint8_t *bytes, int32_t count)
{
    Entity *entity = fl__entity(session, slot);
    if (entity->detail != NULL && fl__fields_of(session, entity)->layout != NULL) {
        fl__fields_take(session, slot, epoch, version, bytes, count);
        return;
    }
    if (entity->detail == NULL || !is_newer(entity, epoch, version)) {
        return; // it is watched no more, or this is old
    }
    entity->giver = FL__NONE;
    entity->detail->state_epoch = epoch;
    if (is_same(entity, version, bytes, count)) {
        return; // said by its next owner
    }
    if (count > 0) {
        memcpy(entity->detail->state, bytes, (size_t)count);
    }
    entity->detail->state_bytes = count;
    entity->detail->state_version = version;
    fl__entity_changed(session, CHANGE_ENTITY_STATE, slot);
    fl__count(session, FL_SESSION_STATES_TAKEN);
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_STATE,
                       .entity = fl__id_of(session, entity),
                       .peer = fl__peer_id(session, entity->owner)};
    fl__notice(session, &notice);
    if (fl__is_host(session) && fl__relay_now(session, entity, STATE_HEAD + count)) {
        fl__state_due(session, entity);
    }
}

static void take(void *self, PacketIn *in)
{
    StateMessage m;
    if (read_state((const FlSession *)self, in->r, &m)) {
        take_state((FlSession *)self, in->connection, &m);
    }
}

// ---------------------------------------------------------------- shown again

static uint64_t *refreshes(const FlSession *session, int32_t connection)
{
    return &session->entities->refresh[connection * session->number_words];
}

// Its owner or the host sends it to us: whoever does not, sends nothing.
void fl__state_refresh(FlSession *session, const Entity *entity)
{
    int32_t from[2] = {fl__member_connection(session, entity->owner),
                       fl__member_connection(session, session->host)};
    for (int32_t i = 0; i < 2; i++) {
        if (from[i] != FL__NONE) {
            fl__bit_set(refreshes(session, from[i]), (int32_t)entity->number);
            fl__connection_wake(session, from[i]);
        }
    }
}

// REFRESH: kind 8 = 24, number 16.
static bool announce(void *self, int32_t connection)
{
    FlSession *session = (FlSession *)self;
    uint64_t *due = refreshes(session, connection);
    int32_t next = fl__bit_next(due, session->number_words, 0);
    for (; next != FL__NONE; next = fl__bit_next(due, session->number_words, next + 1)) {
        uint8_t bytes[4];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, MESSAGE_REFRESH, 8);
        fl_writer_put(&w, (uint64_t)next, 16);
        if (!fl__announcement_send(session, connection, &w)) {
            return false;
        }
        fl__bit_clear(due, next);
    }
    return true;
}

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    uint32_t number = fl__reader_u16(in->r);
    if (!fl__reader_whole(in->r) || number >= (uint32_t)session->world.def.entity_capacity) {
        return false;
    }
    const Entity *entity = fl__entity_numbered(session, number);
    if (entity != NULL && fl__entity_goes(session, entity, in->connection)) {
        fl__state_due_over(session, entity, in->connection);
    }
    return true;
}

// As a host: what was over a member's quota. States in turn, then messages of which there was no
// room for more.
static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    uint64_t *later = session->entities->relay_later;
    if (!fl__relay_is_due(session, now)) {
        return;
    }
    int32_t slot = fl__bit_next(later, session->entity_words, 0);
    for (; slot != FL__NONE; slot = fl__bit_next(later, session->entity_words, slot + 1)) {
        const Entity *entity = fl__entity(session, slot);
        fl__bit_clear(later, slot);
        bool relays = fl__is_live(entity) && entity->detail != NULL && fl__is_host(session);
        uint8_t all[FL_ENTITY_STATE_BYTES];
        int32_t bytes = relays ? STATE_HEAD + fl__state_copy(session, slot, FL__NONE, all) : 0;
        if (relays && fl__relay_now(session, entity, bytes)) {
            fl__state_due(session, entity);
        }
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            fl__messages_take(session, i, now);
        }
    }
}

static FlTime deadline(void *self, FlTime now)
{
    (void)now;
    return ((const FlSession *)self)->entities->relay_next;
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        size_t bytes = (size_t)session->entity_words * sizeof(uint64_t);
        for (int32_t i = 0; session->entities->ledger != NULL && i < EARLY_STATES; i++) {
            session->entities->early[(int64_t)change->connection * EARLY_STATES + i].version = 0;
        }
        memset(states_due(session, change->connection), 0, bytes);
        memset(fl__interest(session, change->connection), 0, bytes);
        memset(refreshes(session, change->connection), 0,
               (size_t)session->number_words * sizeof(uint64_t));
    } else if (change->kind == CHANGE_ENTITY_GONE) {
        fl__repeat_gone(session, session->entities->state_due, change->slot);
        fl__repeat_gone(session, session->entities->interest, change->slot);
    }
}

const Feature fl__feature_state = {
    .name = "state",
    .sections = {SECTION_STATE, 1},
    .messages = {MESSAGE_REFRESH, 1},
    .repeats = true,
    .advance = advance,
    .deadline = deadline,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .message = message,
    .outcome = outcome,
    .look = look,
    .changed = changed,
    .announce = announce,
};
