// What callers, owners and hosts say about calls.                spec/WIRE.md sections 8.10, 8.12
//
// Whoever carries them puts a kind before. Fields follow in the order and width in which they are
// written below. One value, one encoding: a reader refuses what a writer would not write, and
// anything after it.
#include "private.h"

#include <string.h>

static bool is_whole(const FlReader *r)
{
    return !r->failed && r->bit_count == r->size_bits;
}

static uint16_t take_16(FlReader *r)
{
    return (uint16_t)fl_reader_take(r, 16);
}

static void take_bytes(FlReader *r, uint8_t *bytes, int32_t count)
{
    const uint8_t *from = fl_reader_bytes(r, count);
    if (from != NULL && count > 0) {
        memcpy(bytes, from, (size_t)count);
    }
}

static void put_key(FlWriter *w, FlCallKey key)
{
    fl_writer_put(w, key.from, 16);
    fl_writer_put(w, key.of, 8);
    fl_writer_put(w, key.serial, 32);
}

static FlCallKey take_key(FlReader *r)
{
    FlCallKey key;
    key.from = take_16(r);
    key.of = (uint8_t)fl_reader_take(r, 8);
    key.serial = (uint32_t)fl_reader_take(r, 32);
    return key;
}

// A state: version 16 (0: none, and no bytes), count 8, bytes.
static void put_state(FlWriter *w, uint16_t version, const uint8_t *state, int32_t count)
{
    FL_ASSERT(count >= 0 && count <= FL_CALL_STATE_BYTES && (version != 0 || count == 0));
    fl_writer_put(w, version, 16);
    fl_writer_put(w, (uint64_t)count, 8);
    fl_writer_bytes(w, state, count);
}

static void take_state(FlReader *r, uint16_t *version, uint8_t *state, int32_t *count)
{
    *version = take_16(r);
    *count = (int32_t)fl_reader_take(r, 8);
    if (*version == 0 && *count > 0) {
        *count = 0;
        fl_reader_fail(r);
    }
    take_bytes(r, state, *count);
}

// CALL: kind 8 = 16, from 16, of 8, serial 32, number 16, epoch 16, call 16 (what is wanted),
// until 40 (0.25 ms of session time), hops 7, predicted 1, hash 16 if predicted, then the
// arguments, at most 64 bytes.
void fl_call_message_write(FlWriter *w, const FlCallMessage *m)
{
    FL_ASSERT(m->count >= 0 && m->count <= FL_CALL_BYTES && m->hops <= FL_CALL_HOPS);
    put_key(w, m->key);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->kind, 16);
    fl__call_time_put(w, m->until);
    fl_writer_put(w, m->hops, 7);
    fl_writer_put(w, m->predicted ? 1 : 0, 1);
    if (m->predicted) {
        fl_writer_put(w, m->hash, 16);
    }
    fl_writer_bytes(w, m->bytes, m->count);
}

bool fl_call_message_read(FlReader *r, FlCallMessage *m)
{
    memset(m, 0, sizeof *m);
    m->key = take_key(r);
    m->number = take_16(r);
    m->epoch = take_16(r);
    m->kind = take_16(r);
    m->until = fl__call_time_take(r);
    m->hops = (uint8_t)fl_reader_take(r, 7);
    m->predicted = fl_reader_take(r, 1) == 1;
    m->hash = m->predicted ? take_16(r) : 0;
    int32_t left = fl_reader_left(r);
    if (r->failed || left > FL_CALL_BYTES || m->hops > FL_CALL_HOPS) {
        fl_reader_fail(r);
        return false;
    }
    m->count = left;
    take_bytes(r, m->bytes, left);
    return is_whole(r);
}

// ANSWER: kind 8 = 17, from 16, of 8, serial 32 (the call's), number 16, epoch 16, answer 8 (0
// refused, 1 applied, 2 gone), version 16, count 8, that many bytes of state.
void fl_answer_message_write(FlWriter *w, const FlAnswerMessage *m)
{
    put_key(w, m->key);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, (uint64_t)m->answer, 8);
    put_state(w, m->version, m->state, m->count);
}

bool fl_answer_message_read(FlReader *r, FlAnswerMessage *m)
{
    memset(m, 0, sizeof *m);
    m->key = take_key(r);
    m->number = take_16(r);
    m->epoch = take_16(r);
    uint64_t answer = fl_reader_take(r, 8);
    m->answer = answer <= FL_ANSWER_GONE ? (FlAnswer)answer : FL_ANSWER_REFUSED;
    take_state(r, &m->version, m->state, &m->count);
    if (answer > FL_ANSWER_GONE) {
        fl_reader_fail(r);
    }
    return is_whole(r);
}

// ESTATE: kind 8 = 18, number 16, epoch 16, floor 16 (not after epoch), version 16, count 8, that
// many bytes of state, decided 8 (at most 64), each: from 16, of 8, serial 32, applied 8 (0 or 1),
// until 40.
void fl_estate_message_write(FlWriter *w, const FlEstateMessage *m)
{
    FL_ASSERT(m->decided_count >= 0 && m->decided_count <= FL_ESTATE_CALLS);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->floor, 16);
    put_state(w, m->version, m->state, m->state_count);
    fl_writer_put(w, (uint64_t)m->decided_count, 8);
    for (int32_t i = 0; i < m->decided_count; i++) {
        const FlCallDecided *decided = &m->decided[i];
        put_key(w, decided->key);
        fl_writer_put(w, decided->applied ? 1 : 0, 8);
        fl__call_time_put(w, decided->until);
    }
}

bool fl_estate_message_read(FlReader *r, FlEstateMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = take_16(r);
    m->epoch = take_16(r);
    m->floor = take_16(r);
    take_state(r, &m->version, m->state, &m->state_count);
    m->decided_count = (int32_t)fl_reader_take(r, 8);
    if (m->decided_count > FL_ESTATE_CALLS || fl_seq_newer(m->floor, m->epoch)) {
        m->decided_count = 0;
        fl_reader_fail(r);
    }
    for (int32_t i = 0; i < m->decided_count && !r->failed; i++) {
        FlCallDecided *decided = &m->decided[i];
        decided->key = take_key(r);
        uint64_t applied = fl_reader_take(r, 8);
        decided->applied = applied == 1;
        decided->until = fl__call_time_take(r);
        if (applied > 1) {
            fl_reader_fail(r);
        }
    }
    return is_whole(r);
}

// ASK: kind 8 = 19, round 16, all 8 (0 or 1).
void fl_ask_message_write(FlWriter *w, const FlAskMessage *m)
{
    fl_writer_put(w, m->round, 16);
    fl_writer_put(w, m->all ? 1 : 0, 8);
}

bool fl_ask_message_read(FlReader *r, FlAskMessage *m)
{
    m->round = take_16(r);
    uint64_t all = fl_reader_take(r, 8);
    m->all = all == 1;
    if (all > 1) {
        fl_reader_fail(r);
    }
    return is_whole(r);
}

// CLAIM: kind 8 = 20, number 16, epoch 16, ended 8 (0 or 1; then without a state), version 16,
// count 8, that many bytes of state.
void fl_claim_message_write(FlWriter *w, const FlClaimMessage *m)
{
    FL_ASSERT(!m->ended || m->version == 0);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->ended ? 1 : 0, 8);
    put_state(w, m->version, m->state, m->count);
}

bool fl_claim_message_read(FlReader *r, FlClaimMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = take_16(r);
    m->epoch = take_16(r);
    uint64_t ended = fl_reader_take(r, 8);
    m->ended = ended == 1;
    take_state(r, &m->version, m->state, &m->count);
    if (ended > 1 || (m->ended && m->version != 0)) {
        fl_reader_fail(r);
    }
    return is_whole(r);
}

// CLAIMED: kind 8 = 21, round 16.
void fl_claimed_message_write(FlWriter *w, const FlClaimedMessage *m)
{
    fl_writer_put(w, m->round, 16);
}

bool fl_claimed_message_read(FlReader *r, FlClaimedMessage *m)
{
    m->round = take_16(r);
    return is_whole(r);
}

// FNV-1a, folded.
uint16_t fl_call_hash(const void *bytes, int32_t count)
{
    const uint8_t *from = (const uint8_t *)bytes;
    uint32_t hash = 2166136261u;
    for (int32_t i = 0; i < count; i++) {
        hash = (hash ^ from[i]) * 16777619u;
    }
    return (uint16_t)(hash >> 16 ^ hash);
}
