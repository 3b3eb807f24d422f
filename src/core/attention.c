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
        fl__telling_due(&session->attention_due, fl__entity_slot(session, entity));
    }
}

// A new entity: nobody looks at it yet.
static void begin(FlSession *session, Entity *entity)
{
    int32_t slot = fl__entity_slot(session, entity);
    entity->attention_told = UNTOLD;
    entity->attention_line = FL__NONE;
    fl__bit_clear(session->attention_due.words, slot);
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

// Whoever is at the other end now knows nothing of what we look at.
static void line_opened(FlSession *session, int32_t line)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if (fl__entity_live(entity) && entity->attention_line == line) {
            entity->attention_told = UNTOLD;
            note_news(session, entity);
        }
    }
}

static void outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    Entity *entity = &session->entities[item->index];
    bool current = fl__entity_live(entity) && entity->attention_line == line &&
                   entity->attention_told == (int32_t)item->value;
    if (!fate->delivered && current) {
        entity->attention_told = UNTOLD;
        // UNTOLD is as good as 0 only to who never heard of it.
        fl__telling_due(&session->attention_due, item->index);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_LINE_OPENED) {
        line_opened(session, change->line);
    } else if (change->kind == CHANGE_ENTITY_MADE) {
        begin(session, change->entity);
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

static const Telling TELLING = {SECTION_ATTENTION, 255, goes, tell, heard};

static Want want(const void *self, int32_t index, FlTime now)
{
    (void)now;
    const FlSession *session = (const FlSession *)self;
    return fl__telling_want(session, &TELLING, &session->attention_due, index);
}

static void write(void *self, PacketOut *out)
{
    fl__telling_write(&TELLING, &((FlSession *)self)->attention_due, out);
}

static bool skip(const void *self, PacketIn *in)
{
    return fl__telling_skip((const FlSession *)self, &TELLING, in->r);
}

static void take(void *self, PacketIn *in)
{
    (void)self;
    fl__telling_take(&TELLING, in);
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
