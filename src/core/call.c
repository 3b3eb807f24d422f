// Calls: asking, deciding, answering, passing on. Room `agree` keeps the tables; here is who is
// meant, by which way, and what state goes along.
//
// A call goes to the owner directly where there is a line, else through the host; an owner that has
// given the entity on sends it after it. Whoever cannot pass one on drops it: the caller repeats
// it. Short messages go by the quickest delivery; where a call must not overtake word of a new
// owner it goes in order.
#include "private.h"

#include <string.h>

// ---------------------------------------------------------------- carrying

static FlTime latest_time(const FlSession *session)
{
    return fl_session_clock_at(&session->clock, session->told_at);
}

static Entity *entity_of(const FlSession *session, uint32_t number)
{
    int32_t slot = number < (uint32_t)session->world.def.entity_capacity
                       ? session->by_number[number]
                       : FL__NONE;
    return slot != FL__NONE ? &session->entities[slot] : NULL;
}

static void carry(FlSession *session, int32_t line, FlDelivery delivery, const FlWriter *w)
{
    FL_ASSERT(!w->failed);
    int32_t bytes = fl_writer_size(w);
    bool ordered = delivery == FL_DELIVERY_ORDERED || bytes > FL_LINK_FRAGMENT_BYTES;
    FlResult result = FL_WOULD_BLOCK;
    if (line != FL__NONE && (!ordered || fl__news_flush(session, line))) {
        result = fl_link_send(session->lines[line].link, ordered ? FL_DELIVERY_ORDERED : delivery,
                              w->bytes, bytes);
        fl__line_wake(session, line);
    }
    if (result == FL_OK) {
        fl_calls_note(session->calls, FL_CALLS_BYTES_OUT, (uint64_t)bytes);
    } else {
        fl_calls_note(session->calls, FL_CALLS_BLOCKED, 1);
    }
}

static void carry_call(FlSession *session, int32_t line, FlDelivery delivery,
                       const FlCallMessage *m)
{
    uint8_t bytes[FL_LINK_FRAGMENT_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, FL_GROUP_CALL, 8);
    fl_call_message_write(&w, m);
    carry(session, line, delivery, &w);
}

static void carry_answer(FlSession *session, int32_t line, const FlAnswerMessage *m)
{
    uint8_t bytes[FL_CALL_STATE_BYTES + 32];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, FL_GROUP_ANSWER, 8);
    fl_answer_message_write(&w, m);
    carry(session, line, FL_DELIVERY_QUICKEST, &w);
}

// We had it, and somebody else has it now.
static bool was_ours(const FlSession *session, const Entity *entity)
{
    return entity->giving || entity->owner_before == session->self;
}

// On to whoever owns the entity, as far as we know. Dropped where nobody is known.
static void pass_call(FlSession *session, const Entity *entity, const FlCallMessage *m)
{
    bool host = fl__is_host(session);
    if (!host && was_ours(session, entity)) { // behind the word that it is given away
        carry_call(session, session->members[session->host].line, FL_DELIVERY_ORDERED, m);
        return;
    }
    if (entity->owner == FL__NONE || entity->owner == session->self || entity->orphan) {
        fl_calls_note(session->calls, FL_CALLS_ASTRAY, 1);
        return;
    }
    bool fresh = host && (entity->handing || entity->giver != FL__NONE);
    carry_call(session, fl__route(session, entity->owner),
               fresh ? FL_DELIVERY_ORDERED : FL_DELIVERY_QUICKEST, m);
}

// ---------------------------------------------------------------- answering

static void take_answer(FlSession *session, Entity *entity, const FlAnswerMessage *m, FlTime time)
{
    if (m->version != 0 && !entity->ours) {
        fl__state_keep(session, entity, m->version, m->state, m->count);
    }
    (void)fl_calls_answered(session->calls, m, time);
}

static void answer(FlSession *session, Entity *entity, FlCallKey key, FlAnswer what)
{
    FlAnswerMessage m = {.key = key,
                         .answer = what,
                         .number = (uint16_t)entity->number,
                         .epoch = entity->epoch,
                         .version = entity->state_version,
                         .count = entity->state_bytes};
    memcpy(m.state, entity->state, (size_t)entity->state_bytes);
    if (key.from == session->self) {
        take_answer(session, entity, &m, latest_time(session));
    } else {
        carry_answer(session, fl__route(session, key.from), &m);
    }
}

static bool answer_heard(FlSession *session, const MessageIn *in)
{
    FlAnswerMessage m;
    if (!fl_answer_message_read(in->r, &m) || m.key.from >= session->member_count) {
        return false;
    }
    fl_calls_note(session->calls, FL_CALLS_BYTES_IN, (uint64_t)in->bytes);
    const Line *line = &session->lines[in->line];
    bool host = fl__is_host(session);
    Entity *entity = entity_of(session, m.number);
    bool from_host = !host && !line->direct;
    bool theirs = entity != NULL && (from_host || line->member == entity->owner ||
                                     line->member == entity->owner_before);
    // An orphan's last owner has nothing more to say: what is known of it has been told.
    if (!theirs || fl_epoch_newer(entity->call_floor, m.epoch)) {
        fl_calls_note(session->calls, FL_CALLS_STRAY, 1);
        return true;
    }
    bool self = m.key.from == session->self &&
                m.key.of == (uint8_t)session->members[session->self].incarnation;
    if (self) {
        take_answer(session, entity, &m, in->time);
    } else if (host) {
        if (m.version != 0 && !entity->ours && m.epoch == entity->epoch) {
            fl__state_keep(session, entity, m.version, m.state, m.count);
        }
        fl_calls_note(session->calls, FL_CALLS_PASSED_ON, 1);
        carry_answer(session, session->members[m.key.from].line, &m);
    }
    return true;
}

// ---------------------------------------------------------------- calls that come in

// A call on an entity of ours. False: no caller makes such a one.
static bool take_call(FlSession *session, Entity *entity, const FlCallMessage *m, FlTime now)
{
    if (fl_epoch_newer(entity->call_floor, m->epoch)) {
        fl_calls_note(session->calls, FL_CALLS_GONE, 1);
        answer(session, entity, m->key, FL_ANSWER_GONE);
        return true;
    }
    if (fl_epoch_newer(m->epoch, entity->epoch)) { // the caller knows that it is not ours
        fl_calls_note(session->calls, FL_CALLS_ASTRAY, 1);
        return true;
    }
    switch (fl_calls_hear(session->calls, m, fl_session_time(session, now))) {
    case FL_HEARD_NEW:
        if (fl__call_impossible(session, entity, m, now) &&
            fl_calls_decide(session->calls, m->key, false) == FL_OK) {
            answer(session, entity, m->key, FL_ANSWER_REFUSED);
        }
        return true;
    case FL_HEARD_REFUSED:
        answer(session, entity, m->key, FL_ANSWER_REFUSED);
        return true;
    case FL_HEARD_APPLIED:
        answer(session, entity, m->key, FL_ANSWER_APPLIED);
        return true;
    case FL_HEARD_WAITING:
    case FL_HEARD_LATE:
    case FL_HEARD_CROWDED:
        return true;
    case FL_HEARD_BAD:
        break;
    }
    return false;
}

static bool call_heard(FlSession *session, const MessageIn *in)
{
    FlCallMessage m;
    if (!fl_call_message_read(in->r, &m) || m.key.from >= session->member_count) {
        return false;
    }
    fl_calls_note(session->calls, FL_CALLS_BYTES_IN, (uint64_t)in->bytes);
    const Line *line = &session->lines[in->line];
    bool host = fl__is_host(session);
    Entity *entity = entity_of(session, m.number);
    bool after = entity != NULL && m.hops > 0 && line->member == entity->owner_before;
    bool theirs = m.key.from == line->member || (!host && !line->direct) || after;
    if (entity == NULL || !theirs || m.key.from == session->self) {
        fl_calls_note(session->calls, FL_CALLS_ASTRAY, 1);
        return true;
    }
    if (entity->ours) {
        return take_call(session, entity, &m, in->now);
    }
    if (host && fl__call_impossible(session, entity, &m, in->now)) {
        m.count = 0; // the owner refuses it, if it has not decided it before
    }
    bool behind = !host && was_ours(session, entity);
    m.hops = (uint8_t)(m.hops + (behind ? 1 : 0));
    if ((!host && !behind) || m.hops > FL_CALL_HOPS) {
        fl_calls_note(session->calls, FL_CALLS_ASTRAY, 1);
        return true;
    }
    fl_calls_note(session->calls, FL_CALLS_PASSED_ON, 1);
    pass_call(session, entity, &m);
    return true;
}

// ---------------------------------------------------------------- the game's side

FlResult fl_call_send(FlSession *session, FlEntityId id, const FlCallDef *call, FlTime now,
                      uint32_t *serial)
{
    *serial = 0;
    const Entity *entity = fl__entity_find(session, id);
    if (entity == NULL || session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (!fl__time_known(session) || !session->complete) {
        return FL_WOULD_BLOCK;
    }
    FlCallKey self = {0, (uint16_t)session->self,
                      (uint8_t)session->members[session->self].incarnation};
    FlResult result =
        fl_calls_ask(session->calls, call, self, (uint16_t)entity->number, entity->epoch,
                     entity->state_version, fl_session_time(session, now), serial);
    if (result == FL_OK) {
        fl__call_update(session, now);
    }
    return result;
}

FlResult fl_call_take(FlSession *session, FlCall *call)
{
    FlCallMessage m;
    while (fl_calls_take(session->calls, &m) == FL_OK) {
        const Entity *entity = entity_of(session, m.number);
        if (entity == NULL || !entity->ours) {
            fl_calls_forget(session->calls, m.key); // it comes again, to whoever has it now
            continue;
        }
        FlCall taken = {.entity = fl__entity_id(session, entity),
                        .from = fl__peer_id(session, m.key.from),
                        .kind = m.kind,
                        .count = m.count,
                        .until = m.until,
                        .key = m.key,
                        .number = m.number,
                        .version = entity->state_version,
                        .hash = m.hash,
                        .predicted = m.predicted};
        memcpy(taken.bytes, m.bytes, (size_t)m.count);
        *call = taken;
        return FL_OK;
    }
    memset(call, 0, sizeof *call);
    return FL_NOT_FOUND;
}

// The state that is on its way to everybody says it all.
static bool is_elided(const Entity *entity, const FlCall *call)
{
    return call->predicted && entity->state_version != call->version && !entity->def.listed &&
           fl_call_hash(entity->state, entity->state_bytes) == call->hash;
}

FlResult fl_call_answer(FlSession *session, const FlCall *call, bool applied, const void *state,
                        int32_t state_count, FlTime now)
{
    (void)now;
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (state != NULL && (state_count < 0 || state_count > FL_ENTITY_STATE_BYTES)) {
        return FL_BAD_VALUE;
    }
    Entity *entity = fl__entity_find(session, call->entity);
    if (entity == NULL || !entity->ours) {
        fl_calls_forget(session->calls, call->key);
        return FL_STALE_ID;
    }
    if (fl_calls_decide(session->calls, call->key, applied) != FL_OK) {
        return FL_STALE_ID;
    }
    if (applied && state != NULL) {
        FlResult result = fl_entity_state_set(session, call->entity, state, state_count);
        FL_ASSERT(result == FL_OK);
    }
    bool self = call->key.from == session->self;
    if (applied && !self && is_elided(entity, call)) {
        fl_calls_note(session->calls, FL_CALLS_ELIDED, 1);
    } else {
        answer(session, entity, call->key, applied ? FL_ANSWER_APPLIED : FL_ANSWER_REFUSED);
    }
    return FL_OK;
}

FlResult fl_call_done(FlSession *session, FlTime now, FlCallDone *done)
{
    memset(done, 0, sizeof *done);
    FlCallResult result;
    FlResult found = fl_calls_done(session->calls, fl_session_time(session, now), &result);
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

FlCallStats fl_call_stats(const FlSession *session)
{
    return fl_calls_stats(session->calls);
}

// ---------------------------------------------------------------- time and changes

void fl__call_update(FlSession *session, FlTime now)
{
    if (!fl__time_known(session) || session->state != FL_SESSION_RUNNING) {
        return;
    }
    FlCallMessage m;
    while (fl_calls_due(session->calls, fl_session_time(session, now), &m)) {
        Entity *entity = entity_of(session, m.number);
        if (entity == NULL) {
            continue;
        }
        if (entity->ours) {
            (void)take_call(session, entity, &m, now);
        } else {
            pass_call(session, entity, &m);
        }
    }
}

void fl__call_follow(FlSession *session, const Entity *entity)
{
    FlCallMessage m;
    while (fl_calls_unheard(session->calls, (uint16_t)entity->number, &m)) {
        m.hops++;
        bool ours = m.key.from == session->self; // which we send again ourselves
        if (!ours && m.hops <= FL_CALL_HOPS) {
            fl_calls_note(session->calls, FL_CALLS_PASSED_ON, 1);
            pass_call(session, entity, &m);
        }
    }
}

// ---------------------------------------------------------------- what goes along

void fl__estate_write(const FlSession *session, const Entity *entity, uint16_t epoch, FlWriter *w)
{
    FlEstateMessage m = {.number = (uint16_t)entity->number,
                         .epoch = epoch,
                         .floor = entity->call_floor,
                         .version = entity->state_version,
                         .state_count = entity->state_bytes};
    memcpy(m.state, entity->state, (size_t)entity->state_bytes);
    if (!fl_calls_leave(session->calls, m.number, latest_time(session), &m)) {
        m.floor = epoch;
    }
    fl_writer_put(w, FL_GROUP_ESTATE, 8);
    fl_estate_message_write(w, &m);
}

static void inherit(FlSession *session, Entity *entity, const FlEstateMessage *m, FlTime time)
{
    bool all = fl_calls_inherit(session->calls, m, time);
    uint16_t floor = all ? m->floor : m->epoch;
    entity->call_floor = fl_epoch_newer(floor, entity->call_floor) ? floor : entity->call_floor;
    if (m->version != 0) {
        fl__state_keep(session, entity, m->version, m->state, m->state_count);
    }
}

// To the host by the owner that gives an entity away, and by the host to the one who gets it; in
// order, before the word that it is so.
static bool estate_heard(FlSession *session, const MessageIn *in)
{
    FlEstateMessage m;
    if (!fl_estate_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity) {
        return false;
    }
    bool host = fl__is_host(session);
    Entity *entity = entity_of(session, m.number);
    if (session->lines[in->line].direct) { // from one who hosts before we know it, or to such a one
        session->count[FL_SESSION_EARLY]++;
        return true;
    }
    if (host) {
        bool theirs = entity != NULL && entity->owner == in->from && !entity->orphan &&
                      m.epoch == (uint16_t)(entity->epoch + 1);
        if (theirs) {
            inherit(session, entity, &m, in->time);
        }
        session->count[FL_SESSION_FOREIGN] += theirs ? 0 : 1;
        return true;
    }
    if (entity == NULL) {
        entity = fl__entity_take(session, m.number, (uint16_t)(m.epoch - 1), FL__NONE);
    }
    if (entity != NULL && fl_epoch_newer(m.epoch, entity->epoch)) {
        inherit(session, entity, &m, in->time);
    }
    return true;
}

// ---------------------------------------------------------------- the feature

static void advance(void *self, FlTime now)
{
    fl__call_update((FlSession *)self, now);
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    (void)now;
    FlTime asked = fl_calls_deadline(session->calls);
    if (asked == FL_FOREVER || !fl__time_known(session)) {
        return FL_FOREVER;
    }
    return fl_time_add(fl_session_when(session, asked), FL_US(1));
}

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    switch (in->kind) {
    case FL_GROUP_CALL:
        return call_heard(session, in);
    case FL_GROUP_ANSWER:
        return answer_heard(session, in);
    default:
        return estate_heard(session, in);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_ENTITY_MOVED) {
        fl_calls_again(session->calls, (uint16_t)change->entity->number, latest_time(session));
    } else if (change->kind == CHANGE_ENTITY_GONE) {
        FlCallMessage m;
        fl_calls_drop(session->calls, (uint16_t)change->entity->number, latest_time(session));
        while (fl_calls_unheard(session->calls, (uint16_t)change->entity->number, &m)) {
            fl_calls_note(session->calls, FL_CALLS_ASTRAY, 1);
        }
    }
}

const Feature fl__feature_call = {
    .name = "call",
    .messages = {FL_GROUP_CALL, 3},
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
};
