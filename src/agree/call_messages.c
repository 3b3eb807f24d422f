// Messages of callers, owners and hosts about calls.             spec/WIRE.md sections 8.10, 8.12
//
// The carrier puts a kind before. Fields follow in the order and width in which they are
// written below. One value, one encoding: a reader refuses what a writer would not write, and
// anything after it.
#include "private.h"

#include "wire/wire.h"

#include <string.h>

static void put_key(FlWriter *w, FlCallKey key)
{
    fl_writer_put(w, key.from, 16);
    fl_writer_put(w, key.of, 8);
    fl_writer_put(w, key.serial, 32);
}

static FlCallKey take_key(FlReader *r)
{
    FlCallKey key;
    key.from = fl__reader_u16(r);
    key.of = (uint8_t)fl_reader_take(r, 8);
    key.serial = (uint32_t)fl_reader_take(r, 32);
    return key;
}

void fl__call_put_state(FlWriter *w, uint16_t version, const uint8_t *state, int32_t count)
{
    FL_ASSERT(count >= 0 && count <= FL_CALL_STATE_BYTES && (version != 0 || count == 0));
    fl_writer_put(w, version, 16);
    fl_writer_put(w, (uint64_t)count, 8);
    fl_writer_bytes(w, state, count);
}

void fl__call_take_state(FlReader *r, uint16_t *version, uint8_t *state, int32_t *count)
{
    *version = fl__reader_u16(r);
    *count = (int32_t)fl_reader_take(r, 8);
    if (*version == 0 && *count > 0) {
        *count = 0;
        fl__reader_fail(r);
    }
    fl__reader_copy(r, state, *count);
}

// CALL: kind 8 = 13, from 16, of 8, serial 32, number 16, epoch 16, call 16 (what is wanted),
// until 40 (0.25 ms of session time), predicted 8 (0 or 1), hash 16 if predicted, then the
// arguments, at most 64 bytes.
void fl__call_message_write(FlWriter *w, const FlCallMessage *m)
{
    FL_ASSERT(m->count >= 0 && m->count <= FL_CALL_BYTES);
    put_key(w, m->key);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->kind, 16);
    fl__call_time_put(w, m->until);
    fl_writer_put(w, m->predicted ? 1 : 0, 8);
    if (m->predicted) {
        fl_writer_put(w, m->hash, 16);
    }
    fl_writer_bytes(w, m->bytes, m->count);
}

bool fl__call_message_read(FlReader *r, FlCallMessage *m)
{
    memset(m, 0, sizeof *m);
    m->key = take_key(r);
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    m->kind = fl__reader_u16(r);
    m->until = fl__call_time_take(r);
    m->predicted = fl__reader_bool(r);
    m->hash = m->predicted ? fl__reader_u16(r) : 0;
    int32_t left = fl_reader_left(r);
    if (r->failed || left > FL_CALL_BYTES) {
        fl__reader_fail(r);
        return false;
    }
    m->count = left;
    fl__reader_copy(r, m->bytes, left);
    return fl__reader_whole(r);
}

// ANSWER: kind 8 = 14, from 16, of 8, serial 32 (the call's), number 16, epoch 16, answer 8 (0
// refused, 1 applied, 2 gone), version 16, count 8, that many bytes of state.
void fl__answer_message_write(FlWriter *w, const FlAnswerMessage *m)
{
    put_key(w, m->key);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, (uint64_t)m->answer, 8);
    fl__call_put_state(w, m->version, m->state, m->count);
}

bool fl__answer_message_read(FlReader *r, FlAnswerMessage *m)
{
    memset(m, 0, sizeof *m);
    m->key = take_key(r);
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    uint64_t answer = fl_reader_take(r, 8);
    m->answer = answer <= FL_ANSWER_GONE ? (FlAnswer)answer : FL_ANSWER_REFUSED;
    fl__call_take_state(r, &m->version, m->state, &m->count);
    if (answer > FL_ANSWER_GONE) {
        fl__reader_fail(r);
    }
    return fl__reader_whole(r);
}

// HANDOVER: kind 8 = 15, number 16, epoch 16, floor 16 (not after epoch), version 16, count 8, that
// many bytes of state, decided 8 (at most 64), each: from 16, of 8, serial 32, applied 8 (0 or 1),
// until 40.
void fl__handover_message_write(FlWriter *w, const FlHandoverMessage *m)
{
    FL_ASSERT(m->decided_count >= 0 && m->decided_count <= FL_HANDOVER_CALLS);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->floor, 16);
    fl__call_put_state(w, m->version, m->state, m->state_count);
    fl_writer_put(w, (uint64_t)m->decided_count, 8);
    for (int32_t i = 0; i < m->decided_count; i++) {
        const FlCallDecided *decided = &m->decided[i];
        put_key(w, decided->key);
        fl_writer_put(w, decided->applied ? 1 : 0, 8);
        fl__call_time_put(w, decided->until);
    }
}

bool fl__handover_message_read(FlReader *r, FlHandoverMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    m->floor = fl__reader_u16(r);
    fl__call_take_state(r, &m->version, m->state, &m->state_count);
    m->decided_count = (int32_t)fl_reader_take(r, 8);
    if (m->decided_count > FL_HANDOVER_CALLS || fl__seq_newer(m->floor, m->epoch)) {
        m->decided_count = 0;
        fl__reader_fail(r);
    }
    for (int32_t i = 0; i < m->decided_count && !r->failed; i++) {
        FlCallDecided *decided = &m->decided[i];
        decided->key = take_key(r);
        uint64_t applied = fl_reader_take(r, 8);
        decided->applied = applied == 1;
        decided->until = fl__call_time_take(r);
        if (applied > 1) {
            fl__reader_fail(r);
        }
    }
    return fl__reader_whole(r);
}

// FNV-1a, folded.
uint16_t fl__call_hash(const void *bytes, int32_t count)
{
    const uint8_t *from = (const uint8_t *)bytes;
    uint32_t hash = 2166136261u;
    for (int32_t i = 0; i < count; i++) {
        hash = (hash ^ from[i]) * 16777619u;
    }
    return (uint16_t)(hash >> 16 ^ hash);
}
