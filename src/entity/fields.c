// FIELDS: groups of entities' fields, set, sent and received. Each connection has a mask of the
// groups that its receiver may not have: the newest value of those is sent until it has arrived.
//
// The owner gives its groups a new version with the first change after they were last sent. It
// sends every group with that version, since it knows that none has changed since. Whoever relays
// them knows that only of those that came together, and sends others in sections of their own.

// FIELDS: groups of an entity's fields.                          spec/WIRE.md section 7.16
//
//   bits  field    unit   valid
//   8     kind     -      13
//   16    number   -      the entity's
//   8     epoch    -      low bits
//   16    version  -      1..65535, on a circle without 0
//   8     sort     -      the entity's kind
//   then GROUPS, to a whole byte

#include "fields.h"
#include "private.h"

#include <string.h>

#define FIELDS_HEAD 7

// After so many versions everything is sent again: no stamp gets half a circle old.
#define REFRESH_EVERY 0x2000u

static Fields *fields_at(const FlSession *session)
{
    return session->entities->fields;
}

static FieldStream *stream_of(const FlSession *session, int32_t connection)
{
    return &fields_at(session)->stream[connection];
}

static uint64_t *slots_due(const FlSession *session, int32_t connection)
{
    return &fields_at(session)->due_slots[connection * session->entity_words];
}

bool fl__entity_fielded(const FlSession *session, int32_t slot)
{
    const Entity *entity = fl__entity(session, slot);
    return entity->detail != NULL && fl__fields_of(session, entity)->layout != NULL;
}

// ---------------------------------------------------------------- what is due

static void groups_due(FlSession *session, const Entity *entity, uint32_t groups)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__entity_goes(session, entity, i)) {
            fl__fields_due_over(session, entity, i, groups);
        }
    }
}

// What was set is due from now on, and the next change is another version.
static void spread(FlSession *session, const Entity *entity)
{
    FieldsOf *fields = fl__fields_of(session, entity);
    uint32_t dirty = fields->dirty;
    if (dirty != 0) {
        fields->dirty = 0;
        fl__bit_clear(fields_at(session)->dirty, fl__slot(session, entity));
        groups_due(session, entity, dirty);
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Fields *f = fields_at(session);
    (void)now;
    if (!f->any_dirty) {
        return;
    }
    f->any_dirty = false;
    int32_t slot = fl__bit_next(f->dirty, session->entity_words, 0);
    for (; slot != FL__NONE; slot = fl__bit_next(f->dirty, session->entity_words, slot + 1)) {
        spread(session, fl__entity(session, slot));
    }
}

static FlTime deadline(void *self, FlTime now)
{
    return fields_at((const FlSession *)self)->any_dirty ? now : FL_FOREVER;
}

// Which groups a member may have.
static uint32_t groups_for(const FlSession *session, const Entity *entity, int32_t member)
{
    const FieldLayout *layout = fl__fields_of(session, entity)->layout;
    const uint64_t *scope =
        &fields_at(session)->scope[fl__detail_index(session, entity) * session->member_words];
    bool all = member == session->host || member == entity->owner || fl__bit_get(scope, member);
    return fl__layout_groups(layout) & ~(all ? 0u : layout->private_groups);
}

void fl__fields_scope(FlSession *session, Entity *entity, int32_t member, bool sees)
{
    if (entity->detail == NULL) {
        return;
    }
    uint64_t *scope =
        &fields_at(session)->scope[fl__detail_index(session, entity) * session->member_words];
    int32_t connection = fl__member_connection(session, member);
    if (!sees) {
        fl__bit_clear(scope, member);
        return;
    }
    fl__bit_set(scope, member);
    const FieldsOf *fields = fl__fields_of(session, entity);
    bool goes = connection != FL__NONE && fields->layout != NULL &&
                entity->detail->state_version != 0 && fl__entity_goes(session, entity, connection);
    if (goes) {
        fl__fields_due_over(session, entity, connection, fields->layout->private_groups);
    }
}

// ---------------------------------------------------------------- the owner's

static void set_dirty(FlSession *session, Entity *entity, uint32_t groups)
{
    FieldsOf *fields = fl__fields_of(session, entity);
    if (fields->dirty == 0) {
        uint16_t version = fl__state_after(entity->detail->state_version);
        entity->detail->state_version = version;
        entity->detail->state_epoch = entity->epoch;
        fl__fields_restamp(session, entity);
        groups |= version % REFRESH_EVERY == 0 ? fl__layout_groups(fields->layout) : 0;
    }
    fields->dirty |= groups;
    if (!entity->unnumbered) {
        fl__bit_set(fields_at(session)->dirty, fl__slot(session, entity));
        fields_at(session)->any_dirty = true;
    }
}

void fl__fields_enter(FlSession *session, Entity *entity, const uint8_t *packed)
{
    const FieldLayout *layout = fl__fields_of(session, entity)->layout;
    memcpy(entity->detail->state, packed, FL_FIELDS_BYTES);
    set_dirty(session, entity, fl__layout_groups(layout));
}

static FlResult field_set(FlSession *session, FlEntityId id, int32_t field, uint32_t types,
                          const FlValue *value)
{
    Entity *entity;
    FlResult result = fl__entity_ours(session, id, &entity);
    if (result != FL_OK && !(result == FL_WOULD_BLOCK && entity->unnumbered)) {
        return result;
    }
    const FieldLayout *layout = fl__fields_of(session, entity)->layout;
    if (layout == NULL || field < 0 || field >= layout->field_count ||
        (types >> layout->field[field].type & 1u) == 0) {
        return FL_BAD_VALUE;
    }
    bool changed;
    if (!fl__field_set(layout, entity->detail->state, field, value, &changed)) {
        return FL_BAD_VALUE;
    }
    if (changed) {
        set_dirty(session, entity, 1u << layout->field[field].group);
    }
    return FL_OK;
}

FlResult fl_field_set_int(FlSession *session, FlEntityId id, int32_t field, int64_t value)
{
    FlValue set = {.integer = value};
    return field_set(session, id, field, 1u << FL_FIELD_INT | 1u << FL_FIELD_BITS, &set);
}

FlResult fl_field_set_real(FlSession *session, FlEntityId id, int32_t field, double value)
{
    FlValue set = {.real = value};
    return field_set(session, id, field, 1u << FL_FIELD_REAL | 1u << FL_FIELD_ANGLE, &set);
}

FlResult fl_field_set_bytes(FlSession *session, FlEntityId id, int32_t field, const void *bytes,
                            int32_t count)
{
    FlValue set = {.bytes = (const uint8_t *)bytes, .count = count};
    return field_set(session, id, field, 1u << FL_FIELD_BYTES, &set);
}

FlResult fl_field_get(const FlSession *session, FlEntityId id, int32_t field, FlValue *value)
{
    memset(value, 0, sizeof *value);
    const Entity *early = fl__entity_early(session, id);
    const Entity *entity = early != NULL ? early : fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    const FieldLayout *layout =
        entity->detail != NULL ? fl__fields_of(session, entity)->layout : NULL;
    if (layout == NULL) {
        return FL_NOT_FOUND;
    }
    if (field < 0 || field >= layout->field_count) {
        return FL_BAD_VALUE;
    }
    *value = fl__field_get(layout, entity->detail->state, field, fields_at(session)->taken);
    return FL_OK;
}

int32_t fl__fields_copy(FlSession *session, const Entity *entity, int32_t member,
                        uint8_t bytes[FL_ENTITY_STATE_BYTES])
{
    const FieldLayout *layout = fl__fields_of(session, entity)->layout;
    uint32_t groups =
        member == FL__NONE ? fl__layout_groups(layout) : groups_for(session, entity, member);
    FlWriter w;
    fl_writer_init(&w, bytes, FL_ENTITY_STATE_BYTES);
    spread(session, entity); // what follows is another version
    if (groups != 0) {
        fl__groups_write(layout, entity->detail->state, groups, &w);
    }
    FL_ASSERT(!w.failed);
    return fl_writer_size(&w);
}

// ---------------------------------------------------------------- out

// What is due of an entity and may go: to a member who defines its kind as we do.
static uint32_t groups_going(const FlSession *session, const Entity *entity, int32_t connection)
{
    bool fielded = fl__is_live(entity) && entity->detail != NULL &&
                   fl__fields_of(session, entity)->layout != NULL;
    bool goes = fielded && entity->announced &&
                fl__bit_get(stream_of(session, connection)->agreed, entity->def->kind) &&
                fl__entity_goes(session, entity, connection);
    return goes ? *fl__groups_due(session, connection, entity) &
                      groups_for(session, entity, fl__connection_member(session, connection))
                : 0;
}

static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Repeat *repeat = &stream_of(session, connection)->repeat;
    int32_t slot = fl__repeat_first(session, slots_due(session, connection), repeat);
    Want want = {.at = repeat->again};
    if (slot != FL__NONE && fl__manifest_left(session, connection) > 0) {
        const Entity *entity = fl__entity(session, slot);
        uint32_t groups = groups_going(session, entity, connection);
        want.at = now;
        want.gather_ns = session->def.tuning.gather_ns;
        want.bytes = FIELDS_HEAD;
        if (groups != 0) {
            want.bytes += fl__groups_bytes(fl__fields_of(session, entity)->layout,
                                           entity->detail->state, groups);
        }
    }
    return want;
}

static void write_groups(PacketOut *out, const Entity *entity, uint32_t groups)
{
    FlSession *session = out->session;
    const FieldsOf *fields = fl__fields_of(session, entity);
    uint16_t version = entity->ours ? entity->detail->state_version
                                    : (uint16_t)fields->stamp[fl__bit_lowest(groups)];
    fl_writer_put(out->w, SECTION_FIELDS, 8);
    fl_writer_put(out->w, entity->number, 16);
    fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    fl_writer_put(out->w, version, 16);
    fl_writer_put(out->w, entity->def->kind, 8);
    fl__groups_write(fields->layout, entity->detail->state, groups, out->w);
    fl__packet_note(out, fl__slot(session, entity), groups);
    fl__repeat_sent(out, &stream_of(session, out->connection)->repeat);
    fl__count(session, FL_SESSION_FIELDS_SENT);
}

// All that is due of an entity, as far as there is room. False: something is left.
static bool write_entity(PacketOut *out, const Entity *entity)
{
    FlSession *session = out->session;
    const FieldsOf *fields = fl__fields_of(session, entity);
    uint32_t *due = fl__groups_due(session, out->connection, entity);
    uint32_t left = groups_going(session, entity, out->connection);
    while (left != 0) {
        uint32_t groups = entity->ours ? left : fl__fields_alike(fields, left);
        if (fields->stamp[fl__bit_lowest(groups)] == 0 && !entity->ours) {
            left &= ~groups; // as it was made: the receiver has that
            continue;
        }
        int32_t bytes = fl__groups_bytes(fields->layout, entity->detail->state, groups);
        while (FIELDS_HEAD + bytes > out->left && (groups & (groups - 1)) != 0) {
            groups &= ~(1u << fl__bit_highest(groups)); // fewer at a time
            bytes = fl__groups_bytes(fields->layout, entity->detail->state, groups);
        }
        if (FIELDS_HEAD + bytes > out->left || out->items_left <= 0) {
            return false;
        }
        write_groups(out, entity, groups);
        out->left -= FIELDS_HEAD + bytes;
        left &= ~groups;
        *due &= ~groups;
    }
    *due = 0;
    return true;
}

static bool write_slot(PacketOut *out, int32_t slot)
{
    FlSession *session = out->session;
    const Entity *entity = fl__entity(session, slot);
    if (!fl__is_live(entity) || !fl__entity_fielded(session, slot)) {
        return true;
    }
    spread(session, entity); // what is written now is of this version
    return write_entity(out, entity);
}

static void write(void *self, PacketOut *out)
{
    const FlSession *session = (const FlSession *)self;
    fl__repeat_write(out, slots_due(session, out->connection),
                     &stream_of(session, out->connection)->repeat, write_slot);
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    const FlSession *session = (const FlSession *)self;
    for (int32_t i = 0; i < count && !fate->delivered; i++) {
        int32_t slot = items[i].index;
        if (fl__entity_there(session, slot) && fl__entity_fielded(session, slot)) {
            *fl__groups_due(session, connection, fl__entity(session, slot)) |= items[i].value;
            fl__bit_set(slots_due(session, connection), slot);
        }
    }
}

static void look(void *self, int32_t connection, FlTime now)
{
    FlSession *session = (FlSession *)self;
    fl__repeat_look(session, connection, &stream_of(session, connection)->repeat,
                    &fl__feature_fields, now);
}

// ---------------------------------------------------------------- in

typedef struct FieldsMessage {
    uint32_t number;
    uint8_t epoch_low;
    uint16_t version;
    const FieldLayout *layout;
    uint32_t groups; // in Fields.read
} FieldsMessage;

static bool read_fields(const FlSession *session, FlReader *r, FieldsMessage *m)
{
    m->number = (uint32_t)fl_reader_take(r, 16);
    m->epoch_low = (uint8_t)fl_reader_take(r, 8);
    m->version = (uint16_t)fl_reader_take(r, 16);
    m->layout = fields_at(session)->kind[fl_reader_take(r, 8)];
    return !r->failed && m->version != 0 &&
           m->number < (uint32_t)session->world.def.entity_capacity && m->layout != NULL &&
           fl__groups_read(m->layout, r, &m->groups, fields_at(session)->read);
}

static bool skip(const void *self, PacketIn *in)
{
    FieldsMessage m;
    return read_fields((const FlSession *)self, in->r, &m);
}

static bool is_newer(uint32_t stamp, uint16_t epoch, uint16_t version)
{
    uint16_t of = (uint16_t)(stamp >> 16);
    return stamp == 0 || fl__seq_newer(epoch, of) ||
           (epoch == of && fl__seq_newer(version, (uint16_t)stamp));
}

static void keep_early(FlSession *session, int32_t connection, const FieldsMessage *m)
{
    EarlyState *early = fl__early_state(session, connection, m->number, m->epoch_low);
    if (early == NULL) {
        return;
    }
    early->groups = early->layout == m->layout ? early->groups : 0;
    early->layout = m->layout;
    early->version = m->version;
    for (uint32_t left = m->groups; left != 0; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        if ((early->groups >> g & 1u) == 0 || fl__seq_newer(m->version, early->versions[g])) {
            early->versions[g] = m->version;
            fl__groups_copy(m->layout, 1u << g, fields_at(session)->read, early->bytes);
        }
    }
    early->groups |= m->groups;
}

static void take(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    FieldsMessage m;
    if (!read_fields(session, in->r, &m)) {
        return;
    }
    uint16_t epoch = fl__epoch_unwrap(fl__entity_epoch(session, m.number), m.epoch_low);
    int32_t slot = fl__entity_for(session, in->connection, m.number, epoch);
    if (slot == FL__NONE) {
        keep_early(session, in->connection, &m);
        return;
    }
    Entity *entity = fl__entity(session, slot);
    if (!entity->announced) { // the announcement is under way, and will say the same
        fl__fields_prepare(session, entity, m.layout);
    }
    if (entity->detail != NULL && fl__fields_of(session, entity)->layout == m.layout) {
        fl__fields_keep(session, slot, epoch, m.version, m.groups, fields_at(session)->read);
    }
}

void fl__fields_take(FlSession *session, int32_t slot, uint16_t epoch, uint16_t version,
                     const uint8_t *bytes, int32_t count)
{
    const FieldLayout *layout = fl__fields_of(session, fl__entity(session, slot))->layout;
    uint8_t *packed = fields_at(session)->read;
    FlReader r;
    fl_reader_init(&r, bytes, count);
    uint32_t groups;
    if (fl__groups_read(layout, &r, &groups, packed) && fl_reader_left(&r) == 0) {
        fl__fields_keep(session, slot, epoch, version, groups, packed);
    }
}

void fl__fields_keep(FlSession *session, int32_t slot, uint16_t epoch, uint16_t version,
                     uint32_t groups, const uint8_t *packed)
{
    Entity *entity = fl__entity(session, slot);
    Detail *detail = entity->detail;
    FieldsOf *fields = fl__fields_of(session, entity);
    uint32_t newer = 0;
    for (uint32_t left = groups; left != 0; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        newer |= is_newer(fields->stamp[g], epoch, version) ? 1u << g : 0;
    }
    if (newer == 0) {
        return;
    }
    for (uint32_t left = newer; left != 0; left &= left - 1) {
        fields->stamp[fl__bit_lowest(left)] = (uint32_t)epoch << 16 | version;
    }
    uint8_t before[FL_FIELDS_BYTES];
    memcpy(before, detail->state, sizeof before);
    fl__groups_copy(fields->layout, newer, packed, detail->state);
    entity->giver = FL__NONE;
    if (detail->state_version == 0 || fl__seq_newer(version, detail->state_version)) {
        detail->state_version = version;
    }
    detail->state_epoch = epoch;
    int32_t bytes = FIELDS_HEAD + fl__groups_bytes(fields->layout, detail->state, newer);
    if (fl__is_host(session) && fl__relay_now(session, entity, bytes)) {
        groups_due(session, entity, newer);
    }
    if (memcmp(before, detail->state, sizeof before) == 0) {
        return; // said again
    }
    fl__entity_changed(session, CHANGE_ENTITY_STATE, slot);
    fl__count(session, FL_SESSION_FIELDS_TAKEN);
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_STATE,
                       .entity = fl__id_of(session, entity),
                       .peer = fl__peer_id(session, entity->owner)};
    fl__notice(session, &notice);
}

// ---------------------------------------------------------------- the feature

static bool message(void *self, MessageIn *in)
{
    return fl__kind_message((FlSession *)self, in);
}

static bool announce(void *self, int32_t connection)
{
    return fl__kinds_announce((FlSession *)self, connection);
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    Fields *f = fields_at(session);
    size_t words = (size_t)session->entity_words * sizeof(uint64_t);
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        FieldStream *stream = stream_of(session, change->connection);
        memset(stream, 0, sizeof *stream);
        stream->repeat.again = FL_FOREVER;
        memset(slots_due(session, change->connection), 0, words);
        int32_t details = session->entities->detail_count;
        memset(&f->due[(int64_t)change->connection * details], 0,
               (size_t)details * sizeof(uint32_t));
        for (int32_t i = 0; i < KINDS; i++) {
            if (f->kind[i] != NULL) {
                fl__bit_set(stream->kinds_due, i);
            }
        }
    } else if (change->kind == CHANGE_ENTITY_GONE) {
        fl__bit_clear(f->dirty, change->slot);
        fl__repeat_gone(session, f->due_slots, change->slot);
    }
}

const Feature fl__feature_fields = {
    .name = "fields",
    .sections = {SECTION_FIELDS, 1},
    .messages = {MESSAGE_KIND, 1},
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
