// Tellings: a byte about each of some entities, told to the other end of a line.
//
// Attention and "near" are such. What is due has a bit; it rides in packets that go anyway, as many
// as a section takes; it is due again when its packet is lost, which is its owner's business
// (manifest.c tells it). What the byte means, over which line it goes and what of it is known there
// is its owner's, too: attention.c, guide.c.
//
// Layout of a section, below its kind:
//
//   bits  field    unit   valid
//   8     kind     -      the section's
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   8     value    -      its owner's
#include "private.h"

#define HEAD 2
#define EACH 3
#define AT_MOST 16

void fl__telling_due(TellingDue *due, int32_t slot)
{
    fl__bit_set(due->words, slot);
    due->any = true;
}

// The next entity at or after slot `from` of which the byte is to go over this line.
static int32_t next_due(const FlSession *session, const Telling *t, const TellingDue *due,
                        int32_t index, int32_t from)
{
    int32_t slot = fl__bit_next(due->words, session->entity_words, from);
    while (slot != FL__NONE && !t->goes_fn(session, &session->entities[slot], index)) {
        slot = fl__bit_next(due->words, session->entity_words, slot + 1);
    }
    return slot;
}

static int32_t count_due(const FlSession *session, const Telling *t, const TellingDue *due,
                         int32_t index)
{
    if (!due->any || session->self == FL__NONE) {
        return 0;
    }
    int32_t count = 0;
    for (int32_t slot = next_due(session, t, due, index, 0); slot != FL__NONE && count < AT_MOST;
         slot = next_due(session, t, due, index, slot + 1)) {
        count++;
    }
    return count;
}

Want fl__telling_want(const FlSession *session, const Telling *t, const TellingDue *due,
                      int32_t index)
{
    int32_t count = count_due(session, t, due, index);
    Want want = fl__want_none();
    want.rides = count > 0 ? HEAD + EACH * count : 0;
    return want;
}

void fl__telling_write(const Telling *t, TellingDue *due, PacketOut *out)
{
    FlSession *session = out->session;
    int32_t count = count_due(session, t, due, out->index);
    if (count == 0 || HEAD + EACH * count > out->left) {
        return;
    }
    fl_writer_put(out->w, t->section, 8);
    fl_writer_put(out->w, (uint64_t)count, 8);
    int32_t slot = -1;
    for (int32_t i = 0; i < count; i++) {
        slot = next_due(session, t, due, out->index, slot + 1);
        Entity *entity = &session->entities[slot];
        uint8_t value = t->tell_fn(entity);
        fl_writer_put(out->w, entity->number, 16);
        fl_writer_put(out->w, value, 8);
        fl__bit_clear(due->words, slot);
        fl__packet_note(out, slot, value);
    }
    due->any = fl__bit_next(due->words, session->entity_words, 0) != FL__NONE;
}

bool fl__telling_skip(const FlSession *session, const Telling *t, FlReader *r)
{
    uint64_t count = fl_reader_take(r, 8);
    bool sound = count >= 1 && count <= AT_MOST;
    for (uint64_t i = 0; i < count && sound; i++) {
        uint32_t number = (uint32_t)fl_reader_take(r, 16);
        uint8_t value = (uint8_t)fl_reader_take(r, 8);
        sound = !r->failed && value <= t->most &&
                number < (uint32_t)session->world.def.entity_capacity;
    }
    return sound;
}

void fl__telling_take(const Telling *t, PacketIn *in)
{
    uint64_t count = fl_reader_take(in->r, 8);
    for (uint64_t i = 0; i < count && !in->r->failed; i++) {
        uint32_t number = (uint32_t)fl_reader_take(in->r, 16);
        uint8_t value = (uint8_t)fl_reader_take(in->r, 8);
        t->heard_fn(in->session, in->line, in->session->by_number[number], value);
    }
}
