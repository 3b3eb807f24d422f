// The owner's side: calls to us, and what was decided about them.
//
// Invariant: a call that was decided here is remembered until FL_CALLS_KEPT after its end, and
// after its end none is taken for new. So none is decided twice, whatever comes again and however
// late. When there is no room left new calls are not taken: they come again.
//
// No caller has more places than are left for others: one that calls without end has half of the
// table, and every later caller still finds room. What a former owner hands over leaves a quarter
// of it free: it may name any callers.
//
// A call here is a key and an entity: a former owner may claim anything about calls to its entity,
// but nothing about calls to others, whose keys it can guess. A key is open only once.
#include "private.h"

#include <string.h>

static bool is_open(const ReceivedKey *received)
{
    return received->state == RECEIVED_WAITING || received->state == RECEIVED_TAKEN;
}

static int32_t find_open(const FlCalls *calls, FlCallKey key)
{
    for (int32_t i = 0; i < calls->def.received_capacity; i++) {
        if (is_open(&calls->received[i]) && fl__call_same(calls->received[i].key, key)) {
            return i;
        }
    }
    return -1;
}

// The call itself, or an open one with that key.
static int32_t find(const FlCalls *calls, FlCallKey key, uint16_t number)
{
    for (int32_t i = 0; i < calls->def.received_capacity; i++) {
        const ReceivedKey *received = &calls->received[i];
        bool decided = received->state != RECEIVED_FREE && received->number == number;
        if ((decided || is_open(received)) && fl__call_same(received->key, key)) {
            return i;
        }
    }
    return -1;
}

// No caller makes a call that ends so late.
static bool is_too_long(FlTime until, FlTime now)
{
    return until > fl_time_add(now, FL_CALL_LIFE_MOST + FL_CALLS_KEPT);
}

static bool is_over(const ReceivedKey *received, FlTime now)
{
    bool decided = received->state == RECEIVED_APPLIED || received->state == RECEIVED_REFUSED;
    return decided && now > fl_time_add(received->until, FL_CALLS_KEPT);
}

/// What the table has left.
typedef struct Room {
    int32_t at; // the first place that is free; -1: none
    int32_t free;
    int32_t theirs; // places of one caller
} Room;

static Room room_for(const FlCalls *calls, FlCallKey key, FlTime now)
{
    Room room = {.at = -1};
    for (int32_t i = 0; i < calls->def.received_capacity; i++) {
        const ReceivedKey *received = &calls->received[i];
        if (received->state == RECEIVED_FREE || is_over(received, now)) {
            room.at = room.at < 0 ? i : room.at;
            room.free++;
        } else {
            room.theirs += received->key.from == key.from ? 1 : 0;
        }
    }
    return room;
}

static FlCallReceived again(FlCalls *calls, int32_t at)
{
    calls->count[FL_CALLS_DUPLICATE]++;
    switch ((ReceivedState)calls->received[at].state) {
    case RECEIVED_APPLIED:
        return FL_RECEIVED_APPLIED;
    case RECEIVED_REFUSED:
        return FL_RECEIVED_REFUSED;
    default:
        return FL_RECEIVED_WAITING;
    }
}

FlCallReceived fl__calls_receive(FlCalls *calls, const FlCallMessage *message, FlTime now)
{
    int32_t at = find(calls, message->key, message->number);
    if (at >= 0) {
        return again(calls, at);
    }
    if (is_too_long(message->until, now)) {
        return FL_RECEIVED_BAD;
    }
    if (message->until <= now) {
        calls->count[FL_CALLS_LATE]++;
        return FL_RECEIVED_LATE;
    }
    Room room = room_for(calls, message->key, now);
    if (room.theirs >= room.free) {
        calls->count[FL_CALLS_CROWDED]++;
        return FL_RECEIVED_CROWDED;
    }
    at = room.at;
    ReceivedKey received = {message->key, RECEIVED_WAITING, message->number, message->until};
    calls->received[at] = received;
    calls->messages[at] = *message;
    calls->order[at] = calls->received_order++;
    calls->count[FL_CALLS_RECEIVED]++;
    return FL_RECEIVED_NEW;
}

// The first that waits, of all entities or of one.
static int32_t first_waiting(const FlCalls *calls, int32_t number)
{
    int32_t first = -1;
    for (int32_t i = 0; i < calls->def.received_capacity; i++) {
        const ReceivedKey *received = &calls->received[i];
        bool waits = received->state == RECEIVED_WAITING &&
                     (number < 0 || received->number == (uint16_t)number);
        if (waits && (first < 0 || calls->order[i] < calls->order[first])) {
            first = i;
        }
    }
    return first;
}

FlResult fl__calls_take(FlCalls *calls, FlCallMessage *message)
{
    memset(message, 0, sizeof *message);
    int32_t at = first_waiting(calls, -1);
    if (at < 0) {
        return FL_NOT_FOUND;
    }
    calls->received[at].state = RECEIVED_TAKEN;
    *message = calls->messages[at];
    return FL_OK;
}

FlResult fl__calls_decide(FlCalls *calls, FlCallKey key, bool applied)
{
    int32_t at = find_open(calls, key);
    if (at < 0) {
        return FL_NOT_FOUND;
    }
    calls->received[at].state = applied ? RECEIVED_APPLIED : RECEIVED_REFUSED;
    calls->count[applied ? FL_CALLS_DECIDED_APPLIED : FL_CALLS_DECIDED_REFUSED]++;
    return FL_OK;
}

void fl__calls_forget(FlCalls *calls, FlCallKey key)
{
    int32_t at = find_open(calls, key);
    if (at >= 0 && calls->received[at].state == RECEIVED_TAKEN) {
        calls->received[at].state = RECEIVED_FREE;
    }
}

bool fl__calls_open(const FlCalls *calls, uint16_t number)
{
    for (int32_t i = 0; i < calls->def.received_capacity; i++) {
        if (calls->received[i].state == RECEIVED_TAKEN && calls->received[i].number == number) {
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- changing hands

bool fl__calls_leave(const FlCalls *calls, uint16_t number, FlTime now, FlHandoverMessage *handover)
{
    handover->decided_count = 0;
    for (int32_t i = 0; i < calls->def.received_capacity; i++) {
        const ReceivedKey *received = &calls->received[i];
        bool decided = received->state == RECEIVED_APPLIED || received->state == RECEIVED_REFUSED;
        if (!decided || received->number != number || is_over(received, now)) {
            continue;
        }
        if (handover->decided_count == FL_HANDOVER_CALLS) {
            handover->decided_count = 0;
            return false;
        }
        FlCallDecided entry = {received->key, received->state == RECEIVED_APPLIED, received->until};
        handover->decided[handover->decided_count++] = entry;
    }
    return true;
}

bool fl__calls_unreceived(FlCalls *calls, uint16_t number, FlCallMessage *message)
{
    int32_t at = first_waiting(calls, number);
    if (at >= 0) {
        *message = calls->messages[at];
        calls->received[at].state = RECEIVED_FREE;
    }
    return at >= 0;
}

// What was decided here must stay, too: without room for all, the floor sees to it that nothing
// is decided again. So it does for calls that no caller makes, which would stay for ever.
bool fl__calls_inherit(FlCalls *calls, const FlHandoverMessage *handover, FlTime now)
{
    for (int32_t i = 0; i < handover->decided_count; i++) {
        const FlCallDecided *decided = &handover->decided[i];
        ReceivedKey received = {decided->key,
                                (uint8_t)(decided->applied ? RECEIVED_APPLIED : RECEIVED_REFUSED),
                                handover->number, decided->until};
        if (is_too_long(received.until, now)) {
            return false;
        }
        int32_t at = find(calls, received.key, received.number);
        bool ours = at >= 0 && (calls->received[at].state != RECEIVED_WAITING ||
                                calls->received[at].number != received.number);
        if (ours || is_over(&received, now)) {
            continue;
        }
        if (at < 0) {
            Room room = room_for(calls, received.key, now);
            if (room.free <= calls->def.received_capacity / 4) {
                return false;
            }
            at = room.at;
        }
        calls->received[at] = received;
    }
    return true;
}
