// The owner's side: calls to us, and what was decided about them.
//
// Invariant: a call that was decided here is remembered until FL_CALLS_KEPT after its end, and
// after its end none is taken for new. So none is decided twice, whatever comes again and however
// late. When there is no room left new calls are not taken: they come again.
//
// No caller has more places than are left for others: whoever calls without end has half of the
// table, and everybody who comes later still finds room. What is inherited leaves a quarter of it:
// who gives a thing away may name any callers.
//
// A call here is a name and a thing: who gives a thing away may say anything about calls to it, but
// nothing about calls to other things, whose names it can guess. Open is a name only once.
#include "private.h"

#include <string.h>

static bool is_open(const HeardKey *heard)
{
    return heard->state == HEARD_WAITING || heard->state == HEARD_TAKEN;
}

static int32_t find_open(const FlCalls *calls, FlCallKey key)
{
    for (int32_t i = 0; i < calls->def.heard_capacity; i++) {
        if (is_open(&calls->heard[i]) && fl__call_same(calls->heard[i].key, key)) {
            return i;
        }
    }
    return -1;
}

// The call itself, or one of that name that is open.
static int32_t find(const FlCalls *calls, FlCallKey key, uint16_t number)
{
    for (int32_t i = 0; i < calls->def.heard_capacity; i++) {
        const HeardKey *heard = &calls->heard[i];
        bool decided = heard->state != HEARD_FREE && heard->number == number;
        if ((decided || is_open(heard)) && fl__call_same(heard->key, key)) {
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

static bool is_over(const HeardKey *heard, FlTime now)
{
    bool decided = heard->state == HEARD_APPLIED || heard->state == HEARD_REFUSED;
    return decided && now > fl_time_add(heard->until, FL_CALLS_KEPT);
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
    for (int32_t i = 0; i < calls->def.heard_capacity; i++) {
        const HeardKey *heard = &calls->heard[i];
        if (heard->state == HEARD_FREE || is_over(heard, now)) {
            room.at = room.at < 0 ? i : room.at;
            room.free++;
        } else {
            room.theirs += heard->key.from == key.from ? 1 : 0;
        }
    }
    return room;
}

static FlCallHeard again(FlCalls *calls, int32_t at)
{
    calls->count[FL_CALLS_DUPLICATE]++;
    switch ((HeardState)calls->heard[at].state) {
    case HEARD_APPLIED:
        return FL_HEARD_APPLIED;
    case HEARD_REFUSED:
        return FL_HEARD_REFUSED;
    default:
        return FL_HEARD_WAITING;
    }
}

FlCallHeard fl_calls_hear(FlCalls *calls, const FlCallMessage *message, FlTime now)
{
    int32_t at = find(calls, message->key, message->number);
    if (at >= 0) {
        return again(calls, at);
    }
    if (is_too_long(message->until, now)) {
        return FL_HEARD_BAD;
    }
    if (message->until <= now) {
        calls->count[FL_CALLS_LATE]++;
        return FL_HEARD_LATE;
    }
    Room room = room_for(calls, message->key, now);
    if (room.theirs >= room.free) {
        calls->count[FL_CALLS_CROWDED]++;
        return FL_HEARD_CROWDED;
    }
    at = room.at;
    HeardKey heard = {message->key, HEARD_WAITING, message->number, message->until};
    calls->heard[at] = heard;
    calls->messages[at] = *message;
    calls->order[at] = calls->heard_order++;
    calls->count[FL_CALLS_HEARD]++;
    return FL_HEARD_NEW;
}

// The first that waits, of all things or of one.
static int32_t first_waiting(const FlCalls *calls, int32_t number)
{
    int32_t first = -1;
    for (int32_t i = 0; i < calls->def.heard_capacity; i++) {
        const HeardKey *heard = &calls->heard[i];
        bool waits =
            heard->state == HEARD_WAITING && (number < 0 || heard->number == (uint16_t)number);
        if (waits && (first < 0 || calls->order[i] < calls->order[first])) {
            first = i;
        }
    }
    return first;
}

FlResult fl_calls_take(FlCalls *calls, FlCallMessage *message)
{
    memset(message, 0, sizeof *message);
    int32_t at = first_waiting(calls, -1);
    if (at < 0) {
        return FL_NOT_FOUND;
    }
    calls->heard[at].state = HEARD_TAKEN;
    *message = calls->messages[at];
    return FL_OK;
}

FlResult fl_calls_decide(FlCalls *calls, FlCallKey key, bool applied)
{
    int32_t at = find_open(calls, key);
    if (at < 0) {
        return FL_NOT_FOUND;
    }
    calls->heard[at].state = applied ? HEARD_APPLIED : HEARD_REFUSED;
    calls->count[applied ? FL_CALLS_DECIDED_APPLIED : FL_CALLS_DECIDED_REFUSED]++;
    return FL_OK;
}

void fl_calls_forget(FlCalls *calls, FlCallKey key)
{
    int32_t at = find_open(calls, key);
    if (at >= 0 && calls->heard[at].state == HEARD_TAKEN) {
        calls->heard[at].state = HEARD_FREE;
    }
}

bool fl_calls_open(const FlCalls *calls, uint16_t number)
{
    for (int32_t i = 0; i < calls->def.heard_capacity; i++) {
        if (calls->heard[i].state == HEARD_TAKEN && calls->heard[i].number == number) {
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- changing hands

bool fl_calls_leave(const FlCalls *calls, uint16_t number, FlTime now, FlEstateMessage *estate)
{
    estate->decided_count = 0;
    for (int32_t i = 0; i < calls->def.heard_capacity; i++) {
        const HeardKey *heard = &calls->heard[i];
        bool decided = heard->state == HEARD_APPLIED || heard->state == HEARD_REFUSED;
        if (!decided || heard->number != number || is_over(heard, now)) {
            continue;
        }
        if (estate->decided_count == FL_ESTATE_CALLS) {
            estate->decided_count = 0;
            return false;
        }
        FlCallDecided entry = {heard->key, heard->state == HEARD_APPLIED, heard->until};
        estate->decided[estate->decided_count++] = entry;
    }
    return true;
}

bool fl_calls_unheard(FlCalls *calls, uint16_t number, FlCallMessage *message)
{
    int32_t at = first_waiting(calls, number);
    if (at >= 0) {
        *message = calls->messages[at];
        calls->heard[at].state = HEARD_FREE;
    }
    return at >= 0;
}

// What was decided here must stay, too: without room for all, the floor sees to it that nothing
// is decided again. So it does for calls that no caller makes, which would stay for ever.
bool fl_calls_inherit(FlCalls *calls, const FlEstateMessage *estate, FlTime now)
{
    for (int32_t i = 0; i < estate->decided_count; i++) {
        const FlCallDecided *decided = &estate->decided[i];
        HeardKey heard = {decided->key, (uint8_t)(decided->applied ? HEARD_APPLIED : HEARD_REFUSED),
                          estate->number, decided->until};
        if (is_too_long(heard.until, now)) {
            return false;
        }
        int32_t at = find(calls, heard.key, heard.number);
        bool ours = at >= 0 && (calls->heard[at].state != HEARD_WAITING ||
                                calls->heard[at].number != heard.number);
        if (ours || is_over(&heard, now)) {
            continue;
        }
        if (at < 0) {
            Room room = room_for(calls, heard.key, now);
            if (room.free <= calls->def.heard_capacity / 4) {
                return false;
            }
            at = room.at;
        }
        calls->heard[at] = heard;
    }
    return true;
}
