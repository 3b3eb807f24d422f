// Calls: asking, deciding, answering, passing on. Module `agree` keeps the tables; here is who is
// meant, by which way, and what state goes along.
//
// A call goes to the owner directly where there is a connection, else through the host, which knows
// who made it. No one else passes one on: whoever is not the owner any more drops it, and the
// caller repeats it. A crowd's direct connections are light: what goes there may be lost, so what
// is repeated goes through the host. Short messages go by the quickest delivery; where a call must
// not overtake the announcement of a new owner it goes in order.
#include "private.h"

#include "wire/wire.h"

#include <string.h>

// ---------------------------------------------------------------- carrying

static void carry(FlSession *session, int32_t connection, FlDelivery delivery, const FlWriter *w)
{
    FL_ASSERT(!w->failed);
    int32_t bytes = fl_writer_size(w);
    bool ordered = delivery == FL_DELIVERY_ORDERED || bytes > FL_LINK_FRAGMENT_BYTES;
    FlResult result = FL_WOULD_BLOCK;
    if (connection != FL__NONE && ordered) {
        result = fl__message_send(session, connection, FL_DELIVERY_ORDERED, w);
    } else if (connection != FL__NONE) { // it need not wait for announcements
        FlLink *link = fl__connection_link(session, connection);
        result = fl_link_send(link, delivery, w->bytes, bytes);
        fl__connection_wake(session, connection);
    }
    if (result == FL_OK) {
        fl__calls_note(session->calls->table, FL_CALLS_BYTES_OUT, (uint64_t)bytes);
    } else {
        fl__calls_note(session->calls->table, FL_CALLS_BLOCKED, 1);
    }
}

// Over a light connection, the first time. False: there is none.
static bool carry_light(FlSession *session, int32_t slot, int32_t member, const FlWriter *w)
{
    bool carried = fl__entity_message(session, slot, member, w);
    fl__calls_note(session->calls->table, FL_CALLS_BYTES_OUT,
                   carried ? (uint64_t)fl_writer_size(w) : 0);
    return carried;
}

static void write_call(FlWriter *w, uint8_t *bytes, int32_t count, const FlCallMessage *m)
{
    fl_writer_init(w, bytes, count);
    fl_writer_put(w, MESSAGE_CALL, 8);
    fl__call_message_write(w, m);
}

static void write_answer(FlWriter *w, uint8_t *bytes, int32_t count, const FlAnswerMessage *m)
{
    fl_writer_init(w, bytes, count);
    fl_writer_put(w, MESSAGE_ANSWER, 8);
    fl__answer_message_write(w, m);
}

// On to whoever owns the entity, as far as we know. Dropped where no owner is known.
static void pass_call(FlSession *session, const EntityInfo *entity, const FlCallMessage *m)
{
    if (entity->owner == FL__NONE || entity->owner == session->self || entity->orphan) {
        fl__calls_note(session->calls->table, FL_CALLS_ASTRAY, 1);
        return;
    }
    bool fresh = fl__is_host(session) && entity->fresh;
    uint8_t bytes[FL_LINK_FRAGMENT_BYTES];
    FlWriter w;
    write_call(&w, bytes, sizeof bytes, m);
    int32_t slot = fl__entity_slot_of(session, m->number);
    if (!m->direct || !carry_light(session, slot, entity->owner, &w)) {
        carry(session, fl__route(session, entity->owner),
              fresh ? FL_DELIVERY_ORDERED : FL_DELIVERY_QUICKEST, &w);
    }
}

// ---------------------------------------------------------------- answering

static void take_answer(FlSession *session, int32_t slot, const FlAnswerMessage *m, FlTime time)
{
    if (m->version != 0 && !fl__entity_info(session, slot).ours) {
        fl__state_keep(session, slot, m->epoch, m->version, m->state, m->count);
    }
    session->wakes = true;
    (void)fl__calls_answered(session->calls->table, m, time);
}

static void answer(FlSession *session, int32_t slot, FlCallKey key, FlAnswer what, bool direct)
{
    EntityInfo entity = fl__entity_info(session, slot);
    FlAnswerMessage m = {.key = key,
                         .answer = what,
                         .number = (uint16_t)entity.number,
                         .epoch = entity.epoch,
                         .version = entity.state_version};
    m.count = fl__state_copy(session, slot, key.from, m.state);
    if (key.from == session->self) {
        take_answer(session, slot, &m, fl__time_latest(session));
        return;
    }
    uint8_t bytes[FL_CALL_STATE_BYTES + 32];
    FlWriter w;
    write_answer(&w, bytes, sizeof bytes, &m);
    if (!direct || !carry_light(session, slot, key.from, &w)) {
        carry(session, fl__route(session, key.from), FL_DELIVERY_QUICKEST, &w);
    }
}

static bool receive_answer(FlSession *session, const MessageIn *in)
{
    FlAnswerMessage m;
    if (!fl__answer_message_read(in->r, &m) || m.key.from >= session->member_count) {
        return false;
    }
    fl__calls_note(session->calls->table, FL_CALLS_BYTES_IN, (uint64_t)in->bytes);
    int32_t slot = fl__entity_slot_of(session, m.number);
    Answering may = slot != FL__NONE ? fl__may_answer(session, slot, in, m.epoch) : ANSWERS_NOT;
    if (may == ANSWERS_NOT) {
        fl__calls_note(session->calls->table, FL_CALLS_STRAY, 1);
        return true;
    }
    if (may == ANSWERS_WITHOUT_STATE) {
        m.version = 0;
        m.count = 0;
    }
    bool self = m.key.from == session->self &&
                m.key.of == (uint8_t)fl__member_incarnation(session, session->self);
    if (self) {
        take_answer(session, slot, &m, in->time);
    } else if (fl__is_host(session)) {
        if (m.version != 0) {
            fl__state_keep(session, slot, m.epoch, m.version, m.state, m.count);
        }
        if (!fl__route_allows_answer(session, in->connection, in->bytes)) {
            fl__calls_note(session->calls->table, FL_CALLS_BLOCKED, 1);
            return true; // the caller asks again
        }
        fl__calls_note(session->calls->table, FL_CALLS_PASSED_ON, 1);
        uint8_t bytes[FL_CALL_STATE_BYTES + 32];
        FlWriter w;
        write_answer(&w, bytes, sizeof bytes, &m);
        carry(session, fl__member_connection(session, m.key.from), FL_DELIVERY_QUICKEST, &w);
    }
    return true;
}

// ---------------------------------------------------------------- calls that come in

// A call on an entity of ours. False: no caller makes such a one.
static bool take_call(FlSession *session, int32_t slot, const FlCallMessage *m, FlTime now)
{
    EntityInfo entity = fl__entity_info(session, slot);
    if (fl__seq_newer(entity.call_floor, m->epoch)) {
        fl__calls_note(session->calls->table, FL_CALLS_GONE, 1);
        answer(session, slot, m->key, FL_ANSWER_GONE, m->direct);
        return true;
    }
    if (fl__seq_newer(m->epoch, entity.epoch)) { // the caller knows that it is not ours
        fl__calls_note(session->calls->table, FL_CALLS_ASTRAY, 1);
        return true;
    }
    session->wakes = true;
    switch (fl__calls_receive(session->calls->table, m, fl_session_time(session, now))) {
    case FL_RECEIVED_NEW:
        if (fl__call_impossible(session, slot, m, now) &&
            fl__calls_decide(session->calls->table, m->key, false) == FL_OK) {
            answer(session, slot, m->key, FL_ANSWER_REFUSED, m->direct);
        }
        return true;
    case FL_RECEIVED_REFUSED:
        answer(session, slot, m->key, FL_ANSWER_REFUSED, m->direct);
        return true;
    case FL_RECEIVED_APPLIED:
        answer(session, slot, m->key, FL_ANSWER_APPLIED, m->direct);
        return true;
    case FL_RECEIVED_WAITING:
    case FL_RECEIVED_LATE:
    case FL_RECEIVED_CROWDED:
        return true;
    case FL_RECEIVED_BAD:
        break;
    }
    return false;
}

static bool receive_call(FlSession *session, const MessageIn *in)
{
    FlCallMessage m;
    if (!fl__call_message_read(in->r, &m) || m.key.from >= session->member_count) {
        return false;
    }
    fl__calls_note(session->calls->table, FL_CALLS_BYTES_IN, (uint64_t)in->bytes);
    m.direct = in->connection == FL__NONE;
    bool host = fl__is_host(session);
    int32_t slot = fl__entity_slot_of(session, m.number);
    EntityInfo entity = {0};
    if (slot != FL__NONE) {
        entity = fl__entity_info(session, slot);
    }
    bool self =
        m.key.from == in->from && m.key.of == (uint8_t)fl__member_incarnation(session, in->from);
    if (!self && in->speaker != FROM_HOST) {
        fl__connection_foreign(session, in->connection);
        return true;
    }
    if (slot == FL__NONE || m.key.from == session->self) {
        fl__calls_note(session->calls->table, FL_CALLS_ASTRAY, 1);
        return true;
    }
    // Over a light connection little gets here.
    if (in->speaker != FROM_HOST && in->connection != FL__NONE &&
        !fl__route_allows_call(session, in->connection, in->bytes)) {
        fl__calls_note(session->calls->table, FL_CALLS_BLOCKED, 1);
        return true; // the caller asks again
    }
    if (entity.ours) {
        return take_call(session, slot, &m, in->now);
    }
    if (!host) {
        fl__calls_note(session->calls->table, FL_CALLS_ASTRAY, 1);
        return true;
    }
    if (fl__call_impossible(session, slot, &m, in->now)) {
        m.count = 0; // the owner refuses it, if it has not decided it before
    }
    fl__calls_note(session->calls->table, FL_CALLS_PASSED_ON, 1);
    pass_call(session, &entity, &m);
    return true;
}

// ---------------------------------------------------------------- the game's side

static void send_due(FlSession *session, FlTime now)
{
    if (!fl__time_known(session) || session->state != FL_SESSION_RUNNING) {
        return;
    }
    FlCallMessage m;
    while (fl__calls_due(session->calls->table, fl_session_time(session, now), &m)) {
        int32_t slot = fl__entity_slot_of(session, m.number);
        if (slot == FL__NONE) {
            continue;
        }
        EntityInfo entity = fl__entity_info(session, slot);
        if (entity.ours) {
            (void)take_call(session, slot, &m, now);
        } else {
            pass_call(session, &entity, &m);
        }
    }
}

FlResult fl_call_send(FlSession *session, FlTime now, FlEntityId id, const FlCallDef *call,
                      uint32_t *serial)
{
    *serial = 0;
    int32_t slot = fl__entity_slot(session, id);
    bool early = session->state != FL_SESSION_ENDED && !session->complete;
    if ((slot == FL__NONE && !early) || session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (early || !fl__time_known(session)) {
        return FL_WOULD_BLOCK;
    }
    EntityInfo entity = fl__entity_info(session, slot);
    FlCallKey self = {0, (uint16_t)session->self,
                      (uint8_t)fl__member_incarnation(session, session->self)};
    FlResult result =
        fl__calls_ask(session->calls->table, call, self, (uint16_t)entity.number, entity.epoch,
                      entity.state_version, fl_session_time(session, now), serial);
    if (result == FL_OK) {
        send_due(session, now);
    }
    return result;
}

FlResult fl_call_take(FlSession *session, FlCall *call)
{
    FlCallMessage m;
    while (fl__calls_take(session->calls->table, &m) == FL_OK) {
        FlEntityId id = fl_entity_of_number(session, m.number);
        if (!fl_entity_is_ours(session, id)) {
            fl__calls_forget(session->calls->table, m.key); // it comes again, to whoever has it now
            continue;
        }
        FlCall taken = {.entity = id,
                        .from = fl__peer_id(session, m.key.from),
                        .kind = m.kind,
                        .count = m.count,
                        .until = m.until,
                        .key = m.key,
                        .number = m.number,
                        .version =
                            fl__entity_info(session, fl__entity_slot(session, id)).state_version,
                        .hash = m.hash,
                        .predicted = m.predicted,
                        .direct = m.direct};
        memcpy(taken.bytes, m.bytes, (size_t)m.count);
        *call = taken;
        return FL_OK;
    }
    memset(call, 0, sizeof *call);
    return FL_NOT_FOUND;
}

// The state that is on its way to everybody says it all.
static bool is_elided(const EntityInfo *entity, const FlCall *call)
{
    return call->predicted && entity->state_version != call->version &&
           !entity->def->private_scope &&
           fl__call_hash(entity->state, entity->state_bytes) == call->hash;
}

FlResult fl_call_answer(FlSession *session, FlTime now, const FlCall *call, bool applied,
                        const void *state, int32_t state_count)
{
    (void)now;
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (state != NULL && (state_count < 0 || state_count > FL_ENTITY_STATE_BYTES)) {
        return FL_BAD_VALUE;
    }
    int32_t slot = fl__entity_slot(session, call->entity);
    if (slot == FL__NONE || !fl_entity_is_ours(session, call->entity)) {
        fl__calls_forget(session->calls->table, call->key);
        return FL_STALE_ID;
    }
    if (fl__calls_decide(session->calls->table, call->key, applied) != FL_OK) {
        return FL_STALE_ID;
    }
    if (applied && state != NULL) {
        FlResult result = fl_entity_state_set(session, call->entity, state, state_count);
        FL_ASSERT(result == FL_OK);
    }
    EntityInfo entity = fl__entity_info(session, slot);
    bool self = call->key.from == session->self;
    if (applied && !self && is_elided(&entity, call)) {
        fl__calls_note(session->calls->table, FL_CALLS_ELIDED, 1);
    } else {
        answer(session, slot, call->key, applied ? FL_ANSWER_APPLIED : FL_ANSWER_REFUSED,
               call->direct);
    }
    return FL_OK;
}

FlResult fl_call_take_done(FlSession *session, FlTime now, FlCallDone *done)
{
    memset(done, 0, sizeof *done);
    FlCallResult result;
    FlResult found = fl__calls_done(session->calls->table, fl_session_time(session, now), &result);
    if (found != FL_OK) {
        return found;
    }
    FlCallDone known = {.id = result.serial,
                        .entity = fl_entity_of_number(session, result.number),
                        .kind = result.kind,
                        .verdict = result.verdict,
                        .why = result.why,
                        .latency_ns = result.latency_ns};
    *done = known;
    return FL_OK;
}

FlCallStats fl__call_stats(const FlSession *session)
{
    return fl__calls_stats(session->calls->table);
}

// ---------------------------------------------------------------- time and changes

// An entity was given away: calls that wait at a host go after it; others' callers repeat theirs.
static void follow(FlSession *session, int32_t slot)
{
    EntityInfo entity = fl__entity_info(session, slot);
    FlCallMessage m;
    while (fl__calls_unreceived(session->calls->table, (uint16_t)entity.number, &m)) {
        bool ours = m.key.from == session->self; // which we send again ourselves
        if (!ours && fl__is_host(session)) {
            fl__calls_note(session->calls->table, FL_CALLS_PASSED_ON, 1);
            pass_call(session, &entity, &m);
        }
    }
}

// ---------------------------------------------------------------- what goes along

static void write_handover(void *self, int32_t slot, uint16_t epoch, FlWriter *w)
{
    FlSession *session = (FlSession *)self;
    EntityInfo entity = fl__entity_info(session, slot);
    FlHandoverMessage m = {.number = (uint16_t)entity.number,
                           .epoch = epoch,
                           .floor = entity.call_floor,
                           .version = entity.state_version};
    m.state_count = fl__state_copy(session, slot, FL__NONE, m.state);
    if (!fl__calls_leave(session->calls->table, m.number, fl__time_latest(session), &m)) {
        m.floor = epoch;
    }
    fl_writer_put(w, MESSAGE_HANDOVER, 8);
    fl__handover_message_write(w, &m);
}

static void inherit(FlSession *session, int32_t slot, const FlHandoverMessage *m, FlTime time)
{
    bool all = fl__calls_inherit(session->calls->table, m, time);
    fl__entity_raise_floor(session, slot, all ? m->floor : m->epoch);
    if (m->version != 0) {
        fl__state_keep(session, slot, m->epoch, m->version, m->state, m->state_count);
    }
}

static void host_inherits(FlSession *session, const MessageIn *in, const FlHandoverMessage *m)
{
    int32_t slot = fl__entity_slot_of(session, m->number);
    EntityInfo entity = {0};
    if (slot != FL__NONE) {
        entity = fl__entity_info(session, slot);
    }
    bool theirs = slot != FL__NONE && entity.owner == in->from && !entity.orphan &&
                  m->epoch == (uint16_t)(entity.epoch + 1);
    if (theirs) {
        inherit(session, slot, m, in->time);
    } else { // it may have been the owner until now
        bool was = slot == FL__NONE || !fl__seq_newer(m->epoch, entity.epoch);
        fl__connection_refused(session, in->connection, was);
    }
}

// To the host by the owner that gives an entity away, and by the host to the one who gets it; in
// order, before the word that it is so.
static bool receive_handover(FlSession *session, const MessageIn *in)
{
    FlHandoverMessage m;
    if (!fl__handover_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity) {
        return false;
    }
    if (fl__is_host(session)) {
        host_inherits(session, in, &m);
        return true;
    }
    int32_t slot = fl__entity_slot_of(session, m.number);
    if (slot == FL__NONE) {
        slot = fl__entity_make(session, m.number, (uint16_t)(m.epoch - 1));
    }
    if (slot != FL__NONE && fl__seq_newer(m.epoch, fl__entity_info(session, slot).epoch)) {
        inherit(session, slot, &m, in->time);
    }
    return true;
}

// ---------------------------------------------------------------- the feature

static void advance(void *self, FlTime now)
{
    send_due((FlSession *)self, now);
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    (void)now;
    FlTime asked = fl__calls_deadline(session->calls->table);
    if (asked == FL_FOREVER || !fl__time_known(session)) {
        return FL_FOREVER;
    }
    return fl_time_add(fl_session_local_time(session, asked), FL_US(1));
}

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    switch (in->kind) {
    case MESSAGE_CALL:
        return receive_call(session, in);
    case MESSAGE_ANSWER:
        return receive_answer(session, in);
    default:
        return receive_handover(session, in);
    }
}

static void gone(FlSession *session, uint16_t number)
{
    FlCallMessage m;
    fl__calls_drop(session->calls->table, number, fl__time_latest(session));
    while (fl__calls_unreceived(session->calls->table, number, &m)) {
        fl__calls_note(session->calls->table, FL_CALLS_ASTRAY, 1);
    }
}

static void state_came(FlSession *session, int32_t slot)
{
    EntityInfo entity = fl__entity_info(session, slot);
    fl__calls_state(session->calls->table, (uint16_t)entity.number, entity.state_version,
                    entity.state, entity.state_bytes,
                    fl_session_time(session, fl__datagram_came_at(session)));
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    switch (change->kind) {
    case CHANGE_ENTITY_MOVED:
        fl__calls_again(session->calls->table, (uint16_t)fl__entity_number(session, change->slot),
                        fl__time_latest(session));
        break;
    case CHANGE_ENTITY_GIVEN:
        follow(session, change->slot);
        break;
    case CHANGE_ENTITY_STATE:
        state_came(session, change->slot);
        break;
    case CHANGE_ENTITY_GONE:
        gone(session, (uint16_t)fl__entity_number(session, change->slot));
        break;
    default:
        break;
    }
}

// A call was taken and not answered: who would?
static bool keeps(const void *self, int32_t slot)
{
    const FlSession *session = (const FlSession *)self;
    return fl__calls_open(session->calls->table, (uint16_t)fl__entity_number(session, slot));
}

const Feature fl__feature_call = {
    .name = "call",
    .messages = {MESSAGE_CALL, 3},
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
    .keeps = keeps,
    .handover = write_handover,
};

// ---------------------------------------------------------------- making

FlResult fl__play_calls_create(FlSession *session)
{
    session->calls = (Calls *)fl_alloc(&session->def.alloc, sizeof(Calls), _Alignof(Calls));
    if (session->calls == NULL) {
        return FL_NO_MEMORY;
    }
    FlCallsDef def = session->def.tuning.calls;
    def.alloc = session->def.alloc;
    def.serial = (uint32_t)fl_random_at(session->def.seed, 1, 0);
    return fl__calls_create(&def, &session->calls->table);
}

void fl__play_calls_destroy(FlSession *session)
{
    if (session->calls != NULL) {
        fl__calls_destroy(session->calls->table);
        fl_free(&session->def.alloc, session->calls, sizeof(Calls));
        session->calls = NULL;
    }
}
