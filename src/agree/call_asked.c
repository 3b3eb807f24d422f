// The caller's side: calls of ours, until their results are taken.
//
// A call waits until it is answered, the entity's state becomes what it predicted, or it has ended
// and FL_CALLS_KEPT more have passed. It keeps its place until the game has taken the result, so a
// game that takes none cannot lose one; it cannot make new ones either.
#include "private.h"

#include "wire/wire.h"

#include <string.h>

static Asked *waiting(const FlCalls *calls, FlCallKey key)
{
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        if (asked->state == ASKED_WAITING && fl__call_same(asked->message.key, key)) {
            return asked;
        }
    }
    return NULL;
}

static Asked *place(const FlCalls *calls)
{
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        if (calls->asked[i].state == ASKED_FREE) {
            return &calls->asked[i];
        }
    }
    return NULL;
}

FlResult fl__calls_ask(FlCalls *calls, const FlCallDef *call, FlCallKey self, uint16_t number,
                       uint16_t epoch, uint16_t version, FlTime now, uint32_t *serial)
{
    *serial = 0;
    bool predicts = call->predicted != NULL;
    if (call->count < 0 || call->count > FL_CALL_BYTES || call->predicted_count < 0 ||
        call->predicted_count > FL_CALL_BYTES || (call->bytes == NULL && call->count > 0)) {
        return FL_BAD_VALUE;
    }
    Asked *asked = place(calls);
    if (asked == NULL) {
        return FL_WOULD_BLOCK;
    }
    memset(asked, 0, sizeof *asked);
    asked->state = ASKED_WAITING;
    calls->asked_waiting++;
    asked->version = version;
    asked->made = now;
    asked->next = now;
    FlCallMessage *m = &asked->message;
    m->key = self;
    m->key.serial = ++calls->serial;
    m->number = number;
    m->epoch = epoch;
    m->kind = call->kind;
    m->direct = true;
    FlTime until = fl_time_add(now, calls->def.life_ns);
    m->until = until - until % FL__CALL_STEP; // as it travels
    m->count = call->count;
    if (call->count > 0) {
        memcpy(m->bytes, call->bytes, (size_t)call->count);
    }
    m->predicted = predicts;
    if (predicts) {
        asked->predicted_count = call->predicted_count;
        memcpy(asked->predicted, call->predicted, (size_t)call->predicted_count);
        m->hash = fl__call_hash(call->predicted, call->predicted_count);
    }
    calls->count[FL_CALLS_ASKED]++;
    *serial = m->key.serial;
    return FL_OK;
}

static void finish(FlCalls *calls, Asked *asked, FlCallVerdict verdict, FlCallWhy why, FlTime now)
{
    FlCallResult result = {.serial = asked->message.key.serial,
                           .kind = asked->message.kind,
                           .number = asked->message.number,
                           .verdict = verdict,
                           .why = why,
                           .latency_ns = fl_span(now, asked->made)};
    asked->result = result;
    asked->state = ASKED_DONE;
    calls->asked_waiting--;
    asked->order = calls->asked_order++;
    if (verdict != FL_CALL_UNKNOWN) {
        fl__calls_latency(calls, result.latency_ns);
    }
    calls->count[FL_CALLS_APPLIED] += verdict == FL_CALL_APPLIED ? 1 : 0;
    calls->count[FL_CALLS_REFUSED] += verdict == FL_CALL_REFUSED ? 1 : 0;
    calls->count[FL_CALLS_BY_STATE] += why == FL_CALL_BY_STATE ? 1 : 0;
    calls->count[FL_CALLS_OWNER_GONE] += why == FL_CALL_OWNER_GONE ? 1 : 0;
    calls->count[FL_CALLS_TIMED_OUT] += why == FL_CALL_TIMED_OUT ? 1 : 0;
}

static void expire(FlCalls *calls, FlTime now)
{
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        FlTime end = fl_time_add(asked->message.until, FL_CALLS_KEPT);
        if (asked->state == ASKED_WAITING && now >= end) {
            finish(calls, asked, FL_CALL_UNKNOWN, FL_CALL_TIMED_OUT, now);
        }
    }
}

bool fl__calls_due(FlCalls *calls, FlTime now, FlCallMessage *message)
{
    if (calls->asked_waiting == 0) {
        return false; // most of the time, and asked for with every packet
    }
    expire(calls, now);
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        if (asked->state == ASKED_WAITING && asked->next <= now && now < asked->message.until) {
            asked->next = fl_time_add(now, calls->def.again_ns);
            *message = asked->message;
            asked->message.direct = false; // there it may get lost: the first time only
            calls->count[FL_CALLS_SENT]++;
            return true;
        }
    }
    return false;
}

void fl__calls_again(FlCalls *calls, uint16_t number, FlTime now)
{
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        if (asked->state == ASKED_WAITING && asked->message.number == number) {
            asked->next = now;
        }
    }
}

// ---------------------------------------------------------------- results

bool fl__calls_answered(FlCalls *calls, const FlAnswerMessage *message, FlTime now)
{
    Asked *asked = waiting(calls, message->key);
    if (asked == NULL || asked->message.number != message->number) {
        calls->count[FL_CALLS_STRAY]++;
        return false;
    }
    switch (message->answer) {
    case FL_ANSWER_APPLIED:
        finish(calls, asked, FL_CALL_APPLIED, FL_CALL_ANSWERED, now);
        break;
    case FL_ANSWER_REFUSED:
        finish(calls, asked, FL_CALL_REFUSED, FL_CALL_ANSWERED, now);
        break;
    case FL_ANSWER_GONE:
        finish(calls, asked, FL_CALL_UNKNOWN, FL_CALL_OWNER_GONE, now);
        break;
    }
    return true;
}

void fl__calls_state(FlCalls *calls, uint16_t number, uint16_t version, const uint8_t *bytes,
                     int32_t count, FlTime now)
{
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        if (asked->state != ASKED_WAITING || asked->message.number != number ||
            !asked->message.predicted) {
            continue;
        }
        bool newer = asked->version == 0 || fl__seq_newer(version, asked->version);
        bool same = count == asked->predicted_count &&
                    (count == 0 || memcmp(bytes, asked->predicted, (size_t)count) == 0);
        if (newer && same) {
            finish(calls, asked, FL_CALL_APPLIED, FL_CALL_BY_STATE, now);
        }
    }
}

void fl__calls_drop(FlCalls *calls, uint16_t number, FlTime now)
{
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        if (asked->state == ASKED_WAITING && asked->message.number == number) {
            finish(calls, asked, FL_CALL_UNKNOWN, FL_CALL_OWNER_GONE, now);
        }
    }
}

FlResult fl__calls_done(FlCalls *calls, FlTime now, FlCallResult *result)
{
    memset(result, 0, sizeof *result);
    expire(calls, now);
    Asked *first = NULL;
    for (int32_t i = 0; i < calls->def.asked_capacity; i++) {
        Asked *asked = &calls->asked[i];
        bool earlier = asked->state == ASKED_DONE && (first == NULL || asked->order < first->order);
        first = earlier ? asked : first;
    }
    if (first == NULL) {
        return FL_NOT_FOUND;
    }
    *result = first->result;
    first->state = ASKED_FREE;
    return FL_OK;
}

FlTime fl__calls_deadline(const FlCalls *calls)
{
    FlTime deadline = FL_FOREVER;
    for (int32_t i = 0; calls->asked_waiting > 0 && i < calls->def.asked_capacity; i++) {
        const Asked *asked = &calls->asked[i];
        if (asked->state == ASKED_WAITING) {
            FlTime end = fl_time_add(asked->message.until, FL_CALLS_KEPT);
            FlTime next = asked->next < asked->message.until ? asked->next : end;
            deadline = fl_time_min(next, deadline);
        }
    }
    return deadline;
}
