// STATE: state blobs out and in. The newest is sent until it has arrived.

// STATE: an entity's state blob.                                 spec/WIRE.md section 7.6
//
//   bits  field    unit   valid
//   8     kind     -      3
//   16    number   -      the entity's
//   8     epoch    -      low bits
//   16    version  -      1..65535, on a circle without 0
//   8     length   -      bytes follow

#include "private.h"

#include <string.h>

#define STATE_HEAD 7

// How long a state may be under way before it is sent again: on a line that is silent otherwise
// nothing shows that it got lost.
#define STATE_AGAIN FL_MS(400)

// ---------------------------------------------------------------- out

static int32_t next_state(const FlSession *session, int32_t index, int32_t from)
{
    return fl__bit_next(&session->state_due[index * session->entity_words], session->entity_words,
                        from);
}

static Want want(const void *self, int32_t index, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Line *line = &session->lines[index];
    int32_t slot = next_state(session, index, line->state_turn);
    slot = slot != FL__NONE ? slot : next_state(session, index, 0);
    Want want = {line->state_again, 0, 0, 0};
    if (slot != FL__NONE && !fl__manifest_is_full(&line->manifest)) {
        want.at = now;
        want.gather_ns = session->def.gather_ns;
        want.bytes = STATE_HEAD + session->entities[slot].state_bytes;
    }
    return want;
}

static void write_state(PacketOut *out, int32_t slot)
{
    const Entity *entity = &out->session->entities[slot];
    fl_writer_put(out->w, SECTION_STATE, 8);
    fl_writer_put(out->w, entity->number, 16);
    fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    fl_writer_put(out->w, entity->state_version, 16);
    fl_writer_put(out->w, (uint64_t)entity->state_bytes, 8);
    fl_writer_bytes(out->w, entity->state, entity->state_bytes);
    out->left -= STATE_HEAD + entity->state_bytes;
    fl__packet_note(out, slot, entity->state_version);
    if (out->line->state_again == FL_FOREVER) {
        FlTime acks = 2 * out->session->def.link.ack_delay_ns; // reports of arrivals may rest
        out->line->state_again =
            fl_time_add(out->now, acks > STATE_AGAIN ? acks : STATE_AGAIN);
    }
    out->session->count[FL_SESSION_STATES_SENT]++;
}

// States take turns: each packet goes on where the last one ended.
static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    uint64_t *due = &session->state_due[out->index * session->entity_words];
    int32_t start = out->line->state_turn;
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? session->def.entity_capacity : start;
        int32_t slot = next_state(session, out->index, pass == 0 ? start : 0);
        for (; slot != FL__NONE && slot < end; slot = next_state(session, out->index, slot + 1)) {
            const Entity *entity = &session->entities[slot];
            if (fl__entity_live(entity) && fl__entity_goes(session, entity, out->index)) {
                if (out->left < STATE_HEAD + entity->state_bytes ||
                    fl__manifest_is_full(&out->line->manifest)) {
                    out->line->state_turn = slot;
                    return;
                }
                write_state(out, slot);
            }
            fl__bit_clear(due, slot);
        }
    }
}

static void outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    const Entity *entity = &session->entities[item->index];
    bool current = fl__entity_live(entity) && entity->state_version == item->value;
    if (!fate->delivered && current) {
        fl__bit_set(&session->state_due[line * session->entity_words], item->index);
    }
}

// States that have not arrived for long are due again, whatever became of them.
static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Line *line = &session->lines[index];
    if (now >= line->state_again) {
        line->state_again = FL_FOREVER;
        fl__manifest_give_up(session, index, fl__feature_row(session, &fl__feature_state));
    }
}

// ---------------------------------------------------------------- in

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

static bool version_newer(uint16_t a, uint16_t b)
{
    return b == 0 || fl_seq_newer(a, b);
}

// Who has just got an entity tells its state directly, and may be faster than the host's word that
// it has it. A state is not told again once it has arrived, so it is kept until then.
static void keep_early(const FlSession *session, int32_t line, const StateMessage *m)
{
    int32_t slot = session->by_number[m->number];
    if (slot == FL__NONE || !session->lines[line].direct) {
        return;
    }
    Entity *entity = &session->entities[slot];
    uint16_t epoch = fl_epoch_unwrap(entity->epoch, m->epoch_low);
    bool later = fl_epoch_newer(epoch, entity->epoch) &&
                 (entity->early.version == 0 || !fl_epoch_newer(entity->early.epoch, epoch));
    if (later && !entity->ours) {
        EarlyState early = {
            .from = session->lines[line].member, .epoch = epoch, .version = m->version};
        early.count = m->count;
        if (m->count > 0) {
            memcpy(early.bytes, m->bytes, (size_t)m->count);
        }
        entity->early = early;
    }
}

void fl__state_take(FlSession *session, int32_t line, const StateMessage *m)
{
    uint16_t near = session->number_epoch[m->number];
    Entity *entity = fl__entity_for(session, line, m->number, fl_epoch_unwrap(near, m->epoch_low));
    if (entity != NULL) {
        fl__state_keep(session, entity, m->version, m->bytes, m->count);
    } else {
        keep_early(session, line, m);
    }
}

void fl__state_early(FlSession *session, Entity *entity)
{
    EarlyState *early = &entity->early;
    if (early->version != 0 && early->epoch == entity->epoch && early->from == entity->owner) {
        fl__state_keep(session, entity, early->version, early->bytes, early->count);
        early->version = 0;
    }
}

void fl__state_keep(FlSession *session, Entity *entity, uint16_t version, const uint8_t *bytes,
                    int32_t count)
{
    if (!version_newer(version, entity->state_version)) {
        return;
    }
    entity->giver = FL__NONE;
    if (count > 0) {
        memcpy(entity->state, bytes, (size_t)count);
    }
    entity->state_bytes = count;
    entity->state_version = version;
    FlTime time = fl_session_time(session, session->heard_at);
    fl_calls_state(session->calls, (uint16_t)entity->number, version, bytes, count, time);
    session->count[FL_SESSION_STATES_TAKEN]++;
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_STATE,
                       .entity = fl__entity_id(session, entity),
                       .peer = fl__peer_id(session, entity->owner)};
    fl__notice(session, &notice);
    if (fl__is_host(session)) {
        fl__entity_state_news(session, entity);
    }
}

static void take(void *self, PacketIn *in)
{
    StateMessage m;
    if (read_state((const FlSession *)self, in->r, &m)) {
        fl__state_take((FlSession *)self, in->line, &m);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    int32_t words = session->entity_words;
    if (change->kind == CHANGE_LINE_OPENED) {
        memset(&session->state_due[change->line * words], 0, (size_t)words * sizeof(uint64_t));
    } else if (change->kind == CHANGE_ENTITY_GONE) {
        for (int32_t line = 0; line < session->line_count; line++) {
            fl__bit_clear(&session->state_due[line * words],
                          fl__entity_slot(session, change->entity));
        }
    }
}

const Feature fl__feature_state = {
    .name = "state",
    .sections = {SECTION_STATE, 1},
    .repeats = true,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .look = look,
    .changed = changed,
};
