// Kinds of entities that have fields: defining them, and agreeing on them with others.
//
// Both ends of a connection announce the kinds that they define. Fields of a kind are sent once
// the other end is known to define it alike; so nothing that cannot be read is ever sent, whenever
// a kind is defined. Whoever has a kind that is announced to it replies with its own.

// KIND: how the sender defines a kind of entities.               spec/WIRE.md section 8.14
//
//   bits  field    unit   valid
//   8     kind     -      23
//   8     sort     -      the kind's number
//   8     reply    -      0 or 1: to a KIND of the receiver's
//   32    hash     -      low bits, of the definition
//   16    version  -      the game's own
//   8     length   -      of the name: 1..31 bytes follow
//   8     fields   -      1..64
//   per field:
//   16    hash     -      low bits, of the field's definition

#include "fields.h"
#include "private.h"

#include "wire/wire.h"

#include <string.h>

static Fields *fields_at(const FlSession *session)
{
    return session->entities->fields;
}

// ---------------------------------------------------------------- defining

static void announce_to_all(FlSession *session, uint8_t kind)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            fl__bit_set(fields_at(session)->stream[i].kinds_due, kind);
            fl__connection_wake(session, i);
        }
    }
}

// A kind of which an entity of ours has a state blob keeps it.
static bool has_blob(const FlSession *session, uint8_t kind)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        const Entity *entity = fl__entity(session, i);
        bool own = entity->unnumbered || (fl__is_live(entity) && entity->ours);
        if (own && entity->def->kind == kind && entity->detail->state_version != 0) {
            return true;
        }
    }
    return false;
}

FlResult fl_kind_define(FlSession *session, uint8_t kind, const FlKindDef *def, FlError *error)
{
    Fields *f = fields_at(session);
    fl__error_clear(error);
    if (f->kind[kind] != NULL || has_blob(session, kind)) {
        fl__error_set(error, FL_BAD_VALUE, "kind %d is defined already, or has state blobs", kind);
        return FL_BAD_VALUE;
    }
    FieldLayout *layout =
        (FieldLayout *)fl_alloc(&session->def.alloc, sizeof *layout, _Alignof(FieldLayout));
    if (layout == NULL) {
        fl__error_set(error, FL_NO_MEMORY, "kind %d: no memory", kind);
        return FL_NO_MEMORY;
    }
    int32_t field;
    const char *problem = fl__layout_init(def, layout, &field);
    if (problem != NULL) {
        const char *name = field >= 0 && def->fields[field].name ? def->fields[field].name : "";
        fl__error_set(error, FL_BAD_VALUE, "kind %d%s%.24s: %s", kind, field >= 0 ? ", field " : "",
                      name, problem);
        fl_free(&session->def.alloc, layout, sizeof *layout);
        return FL_BAD_VALUE;
    }
    f->kind[kind] = layout;
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = fl__entity(session, i);
        bool known = entity->unnumbered || (fl__is_live(entity) && entity->announced);
        if (known && entity->def->kind == kind) {
            fl__fields_prepare(session, entity, layout);
        }
    }
    announce_to_all(session, kind);
    return FL_OK;
}

FlResult fl_kind_problem(const FlSession *session, FlError *error)
{
    *error = fields_at(session)->problem;
    return error->code;
}

// ---------------------------------------------------------------- records

// RECORD: the fields of a kind as arguments: 8 kind, 16 hash of its definition (low bits), GROUPS
// with all groups. spec/WIRE.md section 7.15
FlResult fl_record_write(const FlSession *session, uint8_t kind, const FlValue *values, void *bytes,
                         int32_t capacity, int32_t *count)
{
    const FieldLayout *layout = fields_at(session)->kind[kind];
    *count = 0;
    if (layout == NULL) {
        return FL_NOT_FOUND;
    }
    uint8_t packed[FL_FIELDS_BYTES];
    fl__fields_clear(layout, packed);
    for (int32_t i = 0; i < layout->field_count; i++) {
        bool changed;
        if (!fl__field_set(layout, packed, i, &values[i], &changed)) {
            return FL_BAD_VALUE;
        }
    }
    FlWriter w;
    fl_writer_init(&w, bytes, capacity);
    fl_writer_put(&w, kind, 8);
    fl_writer_put(&w, layout->hash & UINT16_MAX, 16);
    fl__groups_write(layout, packed, fl__layout_groups(layout), &w);
    *count = w.failed ? 0 : fl_writer_size(&w);
    return w.failed ? FL_BAD_VALUE : FL_OK;
}

FlResult fl_record_read(const FlSession *session, const void *bytes, int32_t count, uint8_t *kind,
                        FlValue values[FL_FIELDS])
{
    memset(values, 0, FL_FIELDS * sizeof values[0]);
    FlReader r;
    fl_reader_init(&r, bytes, count);
    *kind = (uint8_t)fl_reader_take(&r, 8);
    uint16_t hash = fl__reader_u16(&r);
    const FieldLayout *layout = fields_at(session)->kind[*kind];
    if (r.failed || layout == NULL || hash != (uint16_t)layout->hash) {
        return FL_NOT_FOUND;
    }
    uint8_t packed[FL_FIELDS_BYTES];
    uint32_t groups;
    fl__fields_clear(layout, packed);
    if (!fl__groups_read(layout, &r, &groups, packed) || groups != fl__layout_groups(layout) ||
        !fl__reader_whole(&r)) {
        return FL_BAD_VALUE;
    }
    uint8_t *to = fields_at(session)->taken;
    for (int32_t i = 0; i < layout->field_count; i++) {
        values[i] = fl__field_get(layout, packed, i, to);
        to += values[i].count;
    }
    return FL_OK;
}

// ---------------------------------------------------------------- announcing

void fl__kind_message_write(FlWriter *w, uint8_t kind, bool reply, const FieldLayout *layout)
{
    fl_writer_put(w, MESSAGE_KIND, 8);
    fl_writer_put(w, kind, 8);
    fl_writer_put(w, reply ? 1 : 0, 8);
    fl_writer_put(w, layout->hash & UINT32_MAX, 32);
    fl_writer_put(w, layout->version, 16);
    int32_t length = (int32_t)strlen(layout->name);
    fl_writer_put(w, (uint64_t)length, 8);
    fl_writer_bytes(w, layout->name, length);
    fl_writer_put(w, (uint64_t)layout->field_count, 8);
    for (int32_t i = 0; i < layout->field_count; i++) {
        fl_writer_put(w, layout->field[i].hash, 16);
    }
}

static bool send_kind(FlSession *session, int32_t connection, int32_t kind)
{
    const FieldStream *stream = &fields_at(session)->stream[connection];
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__kind_message_write(&w, (uint8_t)kind, fl__bit_get(stream->replies, kind),
                           fields_at(session)->kind[kind]);
    return fl__announcement_send(session, connection, &w);
}

bool fl__kinds_announce(FlSession *session, int32_t connection)
{
    FieldStream *stream = &fields_at(session)->stream[connection];
    int32_t kind = fl__bit_next(stream->kinds_due, KIND_WORDS, 0);
    for (; kind != FL__NONE; kind = fl__bit_next(stream->kinds_due, KIND_WORDS, kind + 1)) {
        if (!send_kind(session, connection, kind)) {
            return false;
        }
        fl__bit_clear(stream->kinds_due, kind);
        fl__bit_clear(stream->replies, kind);
    }
    return true;
}

// ---------------------------------------------------------------- receiving

bool fl__kind_message_read(FlReader *r, KindMessage *m)
{
    memset(m, 0, sizeof *m);
    m->kind = (uint8_t)fl_reader_take(r, 8);
    m->reply = fl__reader_bool(r);
    m->hash = (uint32_t)fl_reader_take(r, 32);
    m->version = fl__reader_u16(r);
    int32_t length = (int32_t)fl_reader_take(r, 8);
    if (length < 1 || length >= (int32_t)sizeof m->name) {
        return false;
    }
    fl__reader_copy(r, m->name, length);
    m->field_count = (int32_t)fl_reader_take(r, 8);
    if (m->field_count < 1 || m->field_count > FL_FIELDS ||
        memchr(m->name, 0, (size_t)length) != NULL) {
        return false;
    }
    for (int32_t i = 0; i < m->field_count; i++) {
        m->field[i] = fl__reader_u16(r);
    }
    return fl__reader_whole(r);
}

// In words; the first difference.
static void differs(FlSession *session, int32_t from, const FieldLayout *ours, const KindMessage *m)
{
    Fields *f = fields_at(session);
    int32_t i = 0;
    while (i < ours->field_count && i < m->field_count && ours->field[i].hash == m->field[i]) {
        i++;
    }
    if (strcmp(ours->name, m->name) != 0 || ours->version != m->version) {
        bool ascii = true; // whatever a peer calls it
        for (const char *c = m->name; *c != '\0'; c++) {
            ascii = ascii && *c >= ' ' && *c <= '~';
        }
        fl__error_set(&f->problem, FL_BAD_VALUE,
                      "kind %d is %s version %d here, and %s version %d at peer %d", m->kind,
                      ours->name, ours->version, ascii ? m->name : "?", m->version, from);
    } else if (i < ours->field_count && i < m->field_count) {
        fl__error_set(&f->problem, FL_BAD_VALUE, "kind %d, %s: field %d, %s, is another at peer %d",
                      m->kind, ours->name, i, ours->field[i].name, from);
    } else {
        fl__error_set(&f->problem, FL_BAD_VALUE, "kind %d, %s: %d fields here, %d at peer %d%s",
                      m->kind, ours->name, ours->field_count, m->field_count, from,
                      ours->field_count == m->field_count ? ", other private groups" : "");
    }
    fl__count(session, FL_SESSION_KINDS_DIFFER);
    if (session->count[FL_SESSION_KINDS_DIFFER] <= KINDS) {
        fl__note(session, "%s", f->problem.text);
    }
}

static void all_due(FlSession *session, int32_t connection, uint8_t kind)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        const Entity *entity = fl__entity(session, i);
        if (fl__is_live(entity) && entity->def->kind == kind && entity->detail != NULL &&
            fl__entity_goes(session, entity, connection)) {
            fl__state_due_over(session, entity, connection);
        }
    }
}

bool fl__kind_message(FlSession *session, MessageIn *in)
{
    KindMessage m;
    if (!fl__kind_message_read(in->r, &m)) {
        return false;
    }
    const FieldLayout *ours = fields_at(session)->kind[m.kind];
    FieldStream *stream = &fields_at(session)->stream[in->connection];
    if (ours == NULL) {
        return true; // we announce ours if we ever have one, and get a reply
    }
    if (!m.reply) {
        fl__bit_set(stream->kinds_due, m.kind);
        fl__bit_set(stream->replies, m.kind);
        fl__connection_wake(session, in->connection);
    }
    if ((uint32_t)ours->hash != m.hash) {
        fl__bit_clear(stream->agreed, m.kind);
        differs(session, in->from, ours, &m);
    } else if (!fl__bit_get(stream->agreed, m.kind)) {
        fl__bit_set(stream->agreed, m.kind);
        all_due(session, in->connection, m.kind);
    }
    return true;
}
