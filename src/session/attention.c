// Attention: how much we look at others' entities, told to whoever distributes them to us.
//
// A value is told when it has changed enough, in packets that go anyway, over the line by which the
// entity comes to us; again when the packet is lost or the entity comes another way. What others
// tell goes into the ledger, where the focus policies read it.

// ATTENTION: how much I look at entities.                        spec/WIRE.md section 7.12
//
//   bits  field    unit   valid
//   8     kind     -      8
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   8     value    1/255  0: not at all, 255: at nothing else
#include "private.h"

#define KIND_ATTENTION 8
#define ENOUGH 8 // steps of 1/255
#define UNTOLD (-1)

// ---------------------------------------------------------------- ours

static bool is_news(const Entity *entity)
{
    int32_t told = entity->attention_told;
    int32_t change = entity->attention > told ? entity->attention - told : told - entity->attention;
    if (told == UNTOLD) {
        return entity->attention > 0; // who says nothing does not look
    }
    return change >= ENOUGH || (entity->attention == 0) != (told == 0);
}

static void note_news(FlSession *session, const Entity *entity)
{
    if (is_news(entity)) {
        Telling attention = fl__attention_telling(session);
        fl__telling_due(&attention, fl__entity_slot(session, entity));
    }
}

void fl__attention_begin(FlSession *session, Entity *entity)
{
    int32_t slot = fl__entity_slot(session, entity);
    entity->attention_told = UNTOLD;
    entity->attention_line = FL__NONE;
    fl__bit_clear(session->attention_due, slot);
    for (int32_t line = 0; line < session->line_count; line++) {
        fl_ledger_attention(session->ledger, slot, line, 0.0);
    }
}

FlResult fl_entity_attention(FlSession *session, FlEntityId id, double value)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    if (entity->ours || !(value >= 0.0 && value <= 1.0)) {
        return FL_BAD_VALUE;
    }
    entity->attention = (uint8_t)(value * 255.0 + 0.5);
    int32_t line = fl__route(session, entity->owner);
    if (line != entity->attention_line) { // nobody there knows what we told elsewhere
        entity->attention_line = line;
        entity->attention_told = UNTOLD;
    }
    note_news(session, entity);
    return FL_OK;
}

void fl__attention_line_open(FlSession *session, int32_t line)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if (fl__entity_live(entity) && entity->attention_line == line) {
            entity->attention_told = UNTOLD;
            note_news(session, entity);
        }
    }
}

void fl__attention_fate(FlSession *session, int32_t line, int32_t slot, uint32_t value,
                        bool delivered)
{
    Entity *entity = &session->entities[slot];
    bool current = fl__entity_live(entity) && entity->attention_line == line &&
                   entity->attention_told == (int32_t)value;
    if (!delivered && current) {
        entity->attention_told = UNTOLD;
        // UNTOLD is as good as 0 only to who never heard of it.
        Telling attention = fl__attention_telling(session);
        fl__telling_due(&attention, slot);
    }
}

// ---------------------------------------------------------------- theirs

// What we distribute, by the word of a member at the other end of a line.
static void heard(FlSession *session, int32_t index, int32_t slot, uint8_t value)
{
    bool known = slot != FL__NONE && session->entities[slot].owner != session->lines[index].member;
    if (!known) { // gone meanwhile, or its own
        session->count[FL_SESSION_ATTENTION_STRAY]++;
        return;
    }
    fl_ledger_attention(session->ledger, slot, index, value / 255.0);
    session->count[FL_SESSION_ATTENTION_TAKEN]++;
}

static bool goes(const FlSession *session, const Entity *entity, int32_t line)
{
    (void)session;
    return entity->attention_line == line;
}

static uint8_t tell(Entity *entity)
{
    entity->attention_told = entity->attention;
    return entity->attention;
}

Telling fl__attention_telling(FlSession *session)
{
    Telling telling = {session->attention_due,
                       &session->attentive,
                       ITEM_ATTENTION,
                       KIND_ATTENTION,
                       255,
                       goes,
                       tell,
                       heard};
    return telling;
}

// ---------------------------------------------------------------- asking

// The slot and line of a pair that we serve.
static FlResult pair_of(const FlSession *session, FlEntityId id, FlPeerId peer, int32_t *slot,
                        int32_t *line)
{
    const Entity *entity = fl__entity_find(session, id);
    int32_t member = fl__member_of(session, peer);
    if (entity == NULL || member == FL__NONE) {
        return FL_STALE_ID;
    }
    *slot = fl__entity_slot(session, entity);
    *line = session->members[member].line;
    return *line == FL__NONE ? FL_NOT_FOUND : FL_OK;
}

FlResult fl_peer_attention(FlSession *session, FlPeerId peer, FlEntityId id, double value)
{
    int32_t slot;
    int32_t line;
    FlResult result = pair_of(session, id, peer, &slot, &line);
    if (result == FL_OK) {
        fl_ledger_attention(session->ledger, slot, line, value);
    }
    return result;
}

FlResult fl_entity_looks(const FlSession *session, FlEntityId id, FlPeerId peer, double *attention,
                         FlSendClass *send_class)
{
    *attention = 0.0;
    *send_class = FL_CLASS_FOCUS;
    int32_t slot;
    int32_t line;
    FlResult result = pair_of(session, id, peer, &slot, &line);
    if (result == FL_OK) {
        *attention = fl_ledger_attention_of(session->ledger, slot, line);
        *send_class = fl_ledger_class(session->ledger, slot, line);
    }
    return result;
}
