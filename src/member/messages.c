// What host and members say to each other reliably.                  spec/WIRE.md section 8
//
// Each is one reliable message of a link; its first byte is the kind. Fields follow in the order
// and width in which they are written below; numbers of members and entities take 16 bits. One
// value, one encoding: a reader refuses what a writer would not write, and anything after it.
#include "private.h"

#include "connection/sealed.h"
#include "wire/wire.h"

#include <string.h>

static void begin(FlWriter *w, MessageKind kind)
{
    fl_writer_put(w, (uint64_t)kind, 8);
}

// MEMBER: kind 8 = 1, number 16, incarnation 32, present 8 (0 or 1); present: client_id 64, name to
// the end (0 to 31 bytes of UTF-8 that can be shown); else: left 8 (FlLeft: 0 goodbye to 7
// hostile).
void fl__member_message_write(FlWriter *w, const MemberMessage *m)
{
    begin(w, MESSAGE_MEMBER);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->incarnation, 32);
    fl_writer_put(w, m->present ? 1 : 0, 8);
    if (m->present) {
        fl_writer_put(w, m->client_id, 64);
        fl_writer_bytes(w, (const uint8_t *)m->name, (int32_t)strlen(m->name));
    } else {
        fl_writer_put(w, (uint64_t)m->left, 8);
    }
}

// Only what a host lets through: nothing that cannot be shown.
static bool name_read(FlReader *r, char name[FL_NAME_BYTES])
{
    int32_t count = fl_reader_left(r);
    if (r->failed || count >= FL_NAME_BYTES) {
        return false;
    }
    fl__reader_copy(r, (uint8_t *)name, count);
    name[count] = '\0';
    char clean[FL_NAME_BYTES];
    memcpy(clean, name, FL_NAME_BYTES);
    fl__text_clean(clean);
    return fl__reader_whole(r) && (int32_t)strlen(name) == count && strcmp(name, clean) == 0;
}

bool fl__member_message_read(FlReader *r, MemberMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = fl__reader_u16(r);
    m->incarnation = (uint32_t)fl_reader_take(r, 32);
    m->present = fl__reader_bool(r);
    if (m->present) {
        m->client_id = fl_reader_take(r, 64);
        return name_read(r, m->name);
    }
    uint64_t left = fl_reader_take(r, 8);
    if (left >= FL_LEFT_ENDED) { // which is never said
        fl__reader_fail(r);
        left = 0;
    }
    m->left = (FlLeft)left;
    return fl__reader_whole(r);
}

// MEET: kind 8 = 3, member 16, incarnation 32, purpose 8 (0 to 3), conversation 16 (0: with keys),
// family 8 (4 or 6), ip (4 or 16 bytes), port 16, then to the end the keys (1 to 256 bytes) if with
// keys.
void fl__meet_message_write(FlWriter *w, const MeetMessage *m)
{
    FL_ASSERT((m->conversation == 0) == (m->key_bytes > 0) && m->key_bytes <= SEALED_KEY_BYTES);
    begin(w, MESSAGE_MEET);
    fl_writer_put(w, m->member, 16);
    fl_writer_put(w, m->incarnation, 32);
    fl_writer_put(w, (uint64_t)m->purpose, 8);
    fl_writer_put(w, m->conversation, 16);
    fl_writer_put(w, m->address.family, 8);
    fl_writer_bytes(w, m->address.ip, m->address.family == FL_FAMILY_IPV4 ? 4 : 16);
    fl_writer_put(w, m->address.port, 16);
    fl_writer_bytes(w, m->keys, m->key_bytes);
}

bool fl__meet_message_read(FlReader *r, MeetMessage *m)
{
    memset(m, 0, sizeof *m);
    m->member = fl__reader_u16(r);
    m->incarnation = (uint32_t)fl_reader_take(r, 32);
    uint64_t purpose = fl_reader_take(r, 8);
    m->purpose = purpose < MEET_FORS ? (MeetFor)purpose : MEET_DIRECTLY;
    m->conversation = fl__reader_u16(r);
    m->address.family = (uint8_t)fl_reader_take(r, 8);
    if (purpose >= MEET_FORS ||
        (m->address.family != FL_FAMILY_IPV4 && m->address.family != FL_FAMILY_IPV6)) {
        fl__reader_fail(r);
        return false;
    }
    fl__reader_copy(r, m->address.ip, m->address.family == FL_FAMILY_IPV4 ? 4 : 16);
    m->address.port = fl__reader_u16(r);
    int32_t left = fl_reader_left(r);
    if (r->failed || left > SEALED_KEY_BYTES || (m->conversation == 0) != (left > 0)) {
        return false;
    }
    m->key_bytes = left;
    fl__reader_copy(r, m->keys, left);
    return fl__reader_whole(r);
}

// REACH: kind 8 = 4, member 16, incarnation 32, direct 8 (0 or 1).
void fl__reach_message_write(FlWriter *w, const ReachMessage *m)
{
    begin(w, MESSAGE_REACH);
    fl_writer_put(w, m->member, 16);
    fl_writer_put(w, m->incarnation, 32);
    fl_writer_put(w, m->direct ? 1 : 0, 8);
}

bool fl__reach_message_read(FlReader *r, ReachMessage *m)
{
    m->member = fl__reader_u16(r);
    m->incarnation = (uint32_t)fl_reader_take(r, 32);
    m->direct = fl__reader_bool(r);
    return fl__reader_whole(r);
}

// WANT: kind 8 = 5, member 16; the sender itself: it may take over from the host.
void fl__want_message_write(FlWriter *w, uint16_t member)
{
    begin(w, MESSAGE_WANT);
    fl_writer_put(w, member, 16);
}

bool fl__want_message_read(FlReader *r, uint16_t *member)
{
    *member = fl__reader_u16(r);
    return fl__reader_whole(r);
}
