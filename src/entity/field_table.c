// What states and fields have in common with everything else of an entity: their memory, what is
// due of them, and those that came too early.
#include "fields.h"
#include "private.h"

#include <string.h>

static Fields *fields_at(const FlSession *session)
{
    return session->entities->fields;
}

// ---------------------------------------------------------------- making

enum { TABLES = 6 };

static void list_tables(const FlSession *session, Fields *f, Fl__Table tables[TABLES])
{
    size_t details = (size_t)session->entities->detail_count;
    size_t connections = (size_t)session->connection_count;
    size_t words = (size_t)session->entity_words * sizeof(uint64_t);
    Fl__Table all[TABLES] = {
        {(void **)&f->of, details * sizeof(FieldsOf)},
        {(void **)&f->scope, details * (size_t)session->member_words * sizeof(uint64_t)},
        {(void **)&f->due, connections * details * sizeof(uint32_t)},
        {(void **)&f->due_slots, connections * words},
        {(void **)&f->stream, connections * sizeof(FieldStream)},
        {(void **)&f->dirty, words},
    };
    memcpy(tables, all, sizeof all);
}

FlResult fl__fields_create(FlSession *session)
{
    Fields *f = (Fields *)fl_alloc(&session->def.alloc, sizeof *f, _Alignof(Fields));
    session->entities->fields = f;
    if (f == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table tables[TABLES];
    list_tables(session, f, tables);
    return fl__tables_reserve(&session->def.alloc, tables, TABLES) ? FL_OK : FL_NO_MEMORY;
}

void fl__fields_destroy(FlSession *session)
{
    Fields *f = fields_at(session);
    if (f == NULL) {
        return;
    }
    for (int32_t i = 0; i < KINDS; i++) {
        fl_free(&session->def.alloc, f->kind[i], sizeof *f->kind[i]);
    }
    Fl__Table tables[TABLES];
    list_tables(session, f, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
    fl_free(&session->def.alloc, f, sizeof *f);
    session->entities->fields = NULL;
}

void fl__fields_prepare(FlSession *session, Entity *entity, const FieldLayout *layout)
{
    FieldsOf *fields = entity->detail != NULL ? fl__fields_of(session, entity) : NULL;
    if (fields == NULL || fields->layout == layout) {
        return;
    }
    memset(fields, 0, sizeof *fields);
    fields->layout = layout;
    entity->detail->state_version = 0;
    entity->detail->state_bytes = layout != NULL ? layout->bytes : 0;
    if (layout != NULL) {
        fl__fields_clear(layout, entity->detail->state);
    }
}

// ---------------------------------------------------------------- stamps

uint16_t fl__state_after(uint16_t version)
{
    return (uint16_t)(version == UINT16_MAX ? 1 : version + 1);
}

void fl__fields_restamp(const FlSession *session, const Entity *entity)
{
    FieldsOf *fields = fl__fields_of(session, entity);
    uint32_t stamp = (uint32_t)entity->detail->state_epoch << 16 | entity->detail->state_version;
    for (int32_t g = 0; fields->layout != NULL && g < fields->layout->group_count; g++) {
        fields->stamp[g] = stamp;
    }
}

uint32_t fl__fields_alike(const FieldsOf *fields, uint32_t groups)
{
    uint32_t alike = 0;
    uint32_t stamp = fields->stamp[fl__bit_lowest(groups)];
    for (uint32_t left = groups; left != 0; left &= left - 1) {
        int32_t g = fl__bit_lowest(left);
        alike |= fields->stamp[g] == stamp ? 1u << g : 0;
    }
    return alike;
}

// ---------------------------------------------------------------- what is due

void fl__fields_due_over(FlSession *session, const Entity *entity, int32_t connection,
                         uint32_t groups)
{
    *fl__groups_due(session, connection, entity) |= groups;
    fl__bit_set(&fields_at(session)->due_slots[connection * session->entity_words],
                fl__slot(session, entity));
    fl__connection_wake(session, connection);
}

void fl__state_due_over(FlSession *session, const Entity *entity, int32_t connection)
{
    if (entity->detail == NULL || entity->detail->state_version == 0) {
        return;
    }
    const FieldsOf *fields = fl__fields_of(session, entity);
    if (fields->layout != NULL) {
        fl__fields_due_over(session, entity, connection, fl__layout_groups(fields->layout));
    } else {
        int32_t slot = fl__slot(session, entity);
        fl__bit_set(&session->entities->state_due[connection * session->entity_words], slot);
        fl__connection_wake(session, connection);
    }
}

// ---------------------------------------------------------------- too early

// Who has just got an entity sends its state directly, and may be faster than the host's
// announcement. A state is not sent again once it has arrived, so it is kept until then; few of
// them for each sender, who can displace only its own.
EarlyState *fl__early_state(FlSession *session, int32_t connection, uint32_t number,
                            uint8_t epoch_low)
{
    int32_t slot = session->entities->by_number[number];
    const Entity *entity = slot != FL__NONE ? fl__entity(session, slot) : NULL;
    if (entity == NULL || entity->ours || session->entities->ledger == NULL ||
        !fl__connection_direct(session, connection)) {
        return NULL;
    }
    EarlyState *all = &session->entities->early[(int64_t)connection * EARLY_STATES];
    EarlyState *early = NULL;
    for (int32_t i = 0; i < EARLY_STATES; i++) {
        early = all[i].version != 0 && all[i].number == number ? &all[i] : early;
    }
    uint16_t epoch = fl__epoch_unwrap(entity->epoch, epoch_low);
    if (!fl__seq_newer(epoch, entity->epoch) ||
        (early != NULL && fl__seq_newer(early->epoch, epoch))) {
        return NULL;
    }
    if (early == NULL) {
        int32_t *next = &fl__stream(session, connection)->early_next;
        early = &all[*next];
        *next = (*next + 1) % EARLY_STATES;
        early->groups = 0;
    }
    early->groups = early->epoch == epoch ? early->groups : 0;
    early->number = (uint16_t)number;
    early->epoch = epoch;
    return early;
}
