// What owners, members and the host say to each other of entities, reliably.   spec/WIRE.md section
// 8
//
// Each is one reliable message of a link; its first byte is the kind. Fields follow in the order
// and width in which they are written below; numbers of members and entities take 16 bits. One
// value, one encoding: a reader refuses what a writer would not write, and anything after it.
#include "private.h"

#include "agree/call.h"
#include "wire/wire.h"

#include <string.h>

static void begin(FlWriter *w, MessageKind kind)
{
    fl_writer_put(w, (uint64_t)kind, 8);
}

// ENTITY: kind 8 = 6, number 16, epoch 16, born 16 (not after epoch), owner 16, definition 8 (below
// 8), trait_bytes 8 (at most 99; 0: the last ones with this definition), that many bytes.
void fl__entity_message_write(FlWriter *w, const EntityMessage *m)
{
    FL_ASSERT(m->trait_bytes >= 0 && m->trait_bytes <= TRAIT_BYTES);
    begin(w, MESSAGE_ENTITY);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->born, 16);
    fl_writer_put(w, m->owner, 16);
    fl_writer_put(w, m->definition, 8);
    fl_writer_put(w, (uint64_t)m->trait_bytes, 8);
    fl_writer_bytes(w, m->traits, m->trait_bytes);
}

bool fl__entity_message_read(FlReader *r, EntityMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    m->born = fl__reader_u16(r);
    m->owner = fl__reader_u16(r);
    m->definition = (uint8_t)fl_reader_take(r, 8);
    m->trait_bytes = (int32_t)fl_reader_take(r, 8);
    if (m->definition >= TRAITS_KEPT || m->trait_bytes > TRAIT_BYTES ||
        fl__seq_newer(m->born, m->epoch)) {
        m->trait_bytes = 0;
        fl__reader_fail(r);
    }
    fl__reader_copy(r, m->traits, m->trait_bytes);
    return fl__reader_whole(r);
}

// ENTITY_END: kind 8 = 7, number 16, epoch 16.
void fl__entity_end_message_write(FlWriter *w, const EntityEndMessage *m)
{
    begin(w, MESSAGE_ENTITY_END);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
}

bool fl__entity_end_message_read(FlReader *r, EntityEndMessage *m)
{
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    return fl__reader_whole(r);
}

// GIVE: kind 8 = 8, number 16, epoch 16, to 16.
void fl__give_message_write(FlWriter *w, const GiveMessage *m)
{
    begin(w, MESSAGE_GIVE);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->to, 16);
}

bool fl__give_message_read(FlReader *r, GiveMessage *m)
{
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    m->to = fl__reader_u16(r);
    return fl__reader_whole(r);
}

// SCOPE: kind 8 = 9, number 16, epoch 16, member 16, sees 8 (bit 0: it sees; bit 1: private
// fields).
void fl__scope_message_write(FlWriter *w, const ScopeMessage *m)
{
    begin(w, MESSAGE_SCOPE);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->member, 16);
    fl_writer_put(w, (m->sees ? 1u : 0u) | (m->fields ? 2u : 0u), 8);
}

bool fl__scope_message_read(FlReader *r, ScopeMessage *m)
{
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    m->member = fl__reader_u16(r);
    uint64_t what = fl_reader_take(r, 8);
    m->sees = (what & 1u) != 0;
    m->fields = (what & 2u) != 0;
    return fl__reader_whole(r) && what <= 3;
}

// ---------------------------------------------------------------- entities without owner

// ASK: kind 8 = 10, round 16, all 8 (0 or 1).
void fl__ask_message_write(FlWriter *w, const AskMessage *m)
{
    begin(w, MESSAGE_ASK);
    fl_writer_put(w, m->round, 16);
    fl_writer_put(w, m->all ? 1 : 0, 8);
}

bool fl__ask_message_read(FlReader *r, AskMessage *m)
{
    m->round = fl__reader_u16(r);
    uint64_t all = fl_reader_take(r, 8);
    m->all = all == 1;
    if (all > 1) {
        fl__reader_fail(r);
    }
    return fl__reader_whole(r);
}

// CLAIM: kind 8 = 11, number 16, epoch 16, owner 16 (65535: not known; 0 if ended), ended 8 (0 or
// 1; then without a state), version 16, count 8, that many bytes of state.
void fl__claim_message_write(FlWriter *w, const ClaimMessage *m)
{
    FL_ASSERT(!m->ended || (m->version == 0 && m->owner == 0));
    begin(w, MESSAGE_CLAIM);
    fl_writer_put(w, m->number, 16);
    fl_writer_put(w, m->epoch, 16);
    fl_writer_put(w, m->owner, 16);
    fl_writer_put(w, m->ended ? 1 : 0, 8);
    fl__call_put_state(w, m->version, m->state, m->count);
}

bool fl__claim_message_read(FlReader *r, ClaimMessage *m)
{
    memset(m, 0, sizeof *m);
    m->number = fl__reader_u16(r);
    m->epoch = fl__reader_u16(r);
    m->owner = fl__reader_u16(r);
    uint64_t ended = fl_reader_take(r, 8);
    m->ended = ended == 1;
    fl__call_take_state(r, &m->version, m->state, &m->count);
    if (ended > 1 || (m->ended && (m->version != 0 || m->owner != 0))) {
        fl__reader_fail(r);
    }
    return fl__reader_whole(r);
}

// CLAIMED: kind 8 = 12, round 16.
void fl__claimed_message_write(FlWriter *w, const ClaimedMessage *m)
{
    begin(w, MESSAGE_CLAIMED);
    fl_writer_put(w, m->round, 16);
}

bool fl__claimed_message_read(FlReader *r, ClaimedMessage *m)
{
    m->round = fl__reader_u16(r);
    return fl__reader_whole(r);
}
