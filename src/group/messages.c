// What members of a session say to each other reliably.               spec/WIRE.md section 8
//
// Each message is one reliable message of a link; its first byte is the kind. Fields follow in the
// order and width in which they are written below; numbers of members and entities take 16 bits.
// One value, one encoding: a reader refuses what a writer would not write, and anything after it.
#include "private.h"

#include <string.h>

static void begin(FlWriter *w, FlGroupKind kind)
{
    fl_writer_put(w, (uint64_t)kind, 8);
}

static bool is_whole(const FlReader *r)
{
    return !r->failed && r->bit_count == r->size_bits;
}

static bool take_bool(FlReader *r)
{
    uint64_t value = fl_reader_take(r, 8);
    if (value > 1) {
        fl_reader_fail(r);
    }
    return value == 1;
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

// EVENT: kind 8 = 1, from 16, type 16, delivery 8 (0 ordered, 1 unordered, 2 quickest), to_count 8
// (0: all; at most 64), to 16 each, then the game's bytes.
void fl_event_head_write(FlWriter *w, const FlEventHead *m)
{
    FL_ASSERT(m->to_count >= 0 && m->to_count <= FL_EVENT_TO_AT_MOST);
    begin(w, FL_GROUP_EVENT);
    fl_writer_put(w, m->from, 16);
    fl_writer_put(w, m->type, 16);
    fl_writer_put(w, m->delivery, 8);
    fl_writer_put(w, (uint64_t)m->to_count, 8);
    for (int32_t i = 0; i < m->to_count; i++) {
        fl_writer_put(w, m->to[i], 16);
    }
}

bool fl_event_head_read(FlReader *r, FlEventHead *m)
{
    memset(m, 0, sizeof *m);
    m->from = take_16(r);
    m->type = take_16(r);
    m->delivery = (uint8_t)fl_reader_take(r, 8);
    m->to_count = (int32_t)fl_reader_take(r, 8);
    if (m->to_count > FL_EVENT_TO_AT_MOST || m->delivery > 2) {
        m->to_count = 0;
        fl_reader_fail(r);
    }
    for (int32_t i = 0; i < m->to_count; i++) {
        m->to[i] = take_16(r);
    }
    return !r->failed;
}

const char *fl_left_text(FlLeft left)
{
    static const char *const words[] = {
#define ROW(name, text) text,
        FL_LEFT_TABLE(ROW)
#undef ROW
    };
    return left >= 0 && left < FL_LEFT_COUNT ? words[left] : "unknown";
}

// MEMBER: kind 8 = 2, number 16, incarnation 32, present 8 (0 or 1); present: client_id 64; else:
// left 8 (FlLeft: 0 goodbye to 5 unanswered).
void fl_member_message_write(FlWriter *w, const FlMemberMessage *m)
{
    begin(w, FL_GROUP_MEMBER);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->incarnation, 32);
    fl_writer_put(w, m->present ? 1 : 0, 8);
    if (m->present) {
        fl_writer_put(w, m->client_id, 64);
    } else {
        fl_writer_put(w, (uint64_t)m->left, 8);
    }
}

bool fl_member_message_read(FlReader *r, FlMemberMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = take_16(r);
    m->incarnation = (uint32_t)fl_reader_take(r, 32);
    m->present = take_bool(r);
    if (m->present) {
        m->client_id = fl_reader_take(r, 64);
    } else {
        uint64_t left = fl_reader_take(r, 8);
        if (left >= FL_LEFT_COUNT) {
            fl_reader_fail(r);
            left = 0;
        }
        m->left = (FlLeft)left;
    }
    return is_whole(r);
}

// ENTITY: kind 8 = 3, number 16, epoch 16, born 16 (not after epoch), owner 16, trait_bytes 8 (at
// most 99), that many bytes.
void fl_entity_message_write(FlWriter *w, const FlEntityMessage *m)
{
    FL_ASSERT(m->trait_bytes >= 0 && m->trait_bytes <= FL_GROUP_TRAIT_BYTES);
    begin(w, FL_GROUP_ENTITY);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->born, 16);
    fl_writer_put(w, m->owner, 16);
    fl_writer_put(w, (uint64_t)m->trait_bytes, 8);
    fl_writer_bytes(w, m->traits, m->trait_bytes);
}

bool fl_entity_message_read(FlReader *r, FlEntityMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = take_16(r);
    m->epoch = take_16(r);
    m->born = take_16(r);
    m->owner = take_16(r);
    m->trait_bytes = (int32_t)fl_reader_take(r, 8);
    if (m->trait_bytes > FL_GROUP_TRAIT_BYTES || fl_epoch_newer(m->born, m->epoch)) {
        m->trait_bytes = 0;
        fl_reader_fail(r);
    }
    take_bytes(r, m->traits, m->trait_bytes);
    return is_whole(r);
}

// ENTITY_END: kind 8 = 4, number 16, epoch 16.
void fl_entity_end_message_write(FlWriter *w, const FlEntityEndMessage *m)
{
    begin(w, FL_GROUP_ENTITY_END);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
}

bool fl_entity_end_message_read(FlReader *r, FlEntityEndMessage *m)
{
    m->number = take_16(r);
    m->epoch = take_16(r);
    return is_whole(r);
}

// GIVE: kind 8 = 5, number 16, epoch 16, to 16.
void fl_give_message_write(FlWriter *w, const FlGiveMessage *m)
{
    begin(w, FL_GROUP_GIVE);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->to, 16);
}

bool fl_give_message_read(FlReader *r, FlGiveMessage *m)
{
    m->number = take_16(r);
    m->epoch = take_16(r);
    m->to = take_16(r);
    return is_whole(r);
}

// SCOPE: kind 8 = 6, number 16, epoch 16, member 16, sees 8 (0 or 1).
void fl_scope_message_write(FlWriter *w, const FlScopeMessage *m)
{
    begin(w, FL_GROUP_SCOPE);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->member, 16);
    fl_writer_put(w, m->sees ? 1 : 0, 8);
}

bool fl_scope_message_read(FlReader *r, FlScopeMessage *m)
{
    m->number = take_16(r);
    m->epoch = take_16(r);
    m->member = take_16(r);
    m->sees = take_bool(r);
    return is_whole(r);
}

// MEET: kind 8 = 7, member 16, incarnation 32, conversation 16 (0: with keys), family 8 (4 or 6),
// ip (4 or 16 bytes), port 16, then to the end the keys (1 to 256 bytes) if with keys.
void fl_meet_message_write(FlWriter *w, const FlMeetMessage *m)
{
    FL_ASSERT((m->conversation == 0) == (m->key_bytes > 0) && m->key_bytes <= FL_GROUP_KEY_BYTES);
    begin(w, FL_GROUP_MEET);
    fl_writer_put(w, m->member, 16);
    fl_writer_put(w, m->incarnation, 32);
    fl_writer_put(w, m->conversation, 16);
    fl_writer_put(w, m->address.family, 8);
    fl_writer_bytes(w, m->address.ip, m->address.family == FL_FAMILY_IPV4 ? 4 : 16);
    fl_writer_put(w, m->address.port, 16);
    fl_writer_bytes(w, m->keys, m->key_bytes);
}

bool fl_meet_message_read(FlReader *r, FlMeetMessage *m)
{
    memset(m, 0, sizeof *m);
    m->member = take_16(r);
    m->incarnation = (uint32_t)fl_reader_take(r, 32);
    m->conversation = take_16(r);
    m->address.family = (uint8_t)fl_reader_take(r, 8);
    if (m->address.family != FL_FAMILY_IPV4 && m->address.family != FL_FAMILY_IPV6) {
        fl_reader_fail(r);
        return false;
    }
    take_bytes(r, m->address.ip, m->address.family == FL_FAMILY_IPV4 ? 4 : 16);
    m->address.port = take_16(r);
    int32_t left = fl_reader_left(r);
    if (r->failed || left > FL_GROUP_KEY_BYTES || (m->conversation == 0) != (left > 0)) {
        return false;
    }
    m->key_bytes = left;
    take_bytes(r, m->keys, left);
    return is_whole(r);
}

// REACH: kind 8 = 8, member 16, incarnation 32, direct 8 (0 or 1).
void fl_reach_message_write(FlWriter *w, const FlReachMessage *m)
{
    begin(w, FL_GROUP_REACH);
    fl_writer_put(w, m->member, 16);
    fl_writer_put(w, m->incarnation, 32);
    fl_writer_put(w, m->direct ? 1 : 0, 8);
}

bool fl_reach_message_read(FlReader *r, FlReachMessage *m)
{
    m->member = take_16(r);
    m->incarnation = (uint32_t)fl_reader_take(r, 32);
    m->direct = take_bool(r);
    return is_whole(r);
}

// WANT: kind 8 = 9, member 16.
void fl_want_message_write(FlWriter *w, uint16_t member)
{
    begin(w, FL_GROUP_WANT);
    fl_writer_put(w, member, 16);
}

bool fl_want_message_read(FlReader *r, uint16_t *member)
{
    *member = take_16(r);
    return is_whole(r);
}

// PLAN: kind 8 = 10, order 8.
void fl_plan_message_write(FlWriter *w, uint8_t order)
{
    begin(w, FL_GROUP_PLAN);
    fl_writer_put(w, order, 8);
}

bool fl_plan_message_read(FlReader *r, uint8_t *order)
{
    *order = (uint8_t)fl_reader_take(r, 8);
    return is_whole(r);
}
