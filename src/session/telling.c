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

void fl__telling_due(const Telling *t, int32_t slot)
{
    fl__bit_set(t->due, slot);
    *t->any = true;
}

// The next entity at or after slot `from` of which the byte is to go over this line.
static int32_t next_due(const FlSession *session, const Telling *t, int32_t index, int32_t from)
{
    int32_t slot = fl__bit_next(t->due, session->entity_words, from);
    while (slot != FL__NONE && !t->goes_fn(session, &session->entities[slot], index)) {
        slot = fl__bit_next(t->due, session->entity_words, slot + 1);
    }
    return slot;
}

int32_t fl__telling_bytes(const FlSession *session, const Telling *t, int32_t index)
{
    if (!*t->any || session->self == FL__NONE) {
        return 0;
    }
    int32_t count = 0;
    for (int32_t slot = next_due(session, t, index, 0); slot != FL__NONE && count < AT_MOST;
         slot = next_due(session, t, index, slot + 1)) {
        count++;
    }
    return count > 0 ? HEAD + EACH * count : 0;
}

int32_t fl__telling_write(FlSession *session, const Telling *t, int32_t index, FlWriter *w,
                          int32_t room)
{
    int32_t bytes = fl__telling_bytes(session, t, index);
    if (bytes == 0 || bytes > room) {
        return 0;
    }
    int32_t count = (bytes - HEAD) / EACH;
    fl_writer_put(w, t->section, 8);
    fl_writer_put(w, (uint64_t)count, 8);
    int32_t slot = -1;
    for (int32_t i = 0; i < count; i++) {
        slot = next_due(session, t, index, slot + 1);
        Entity *entity = &session->entities[slot];
        uint8_t value = t->tell_fn(entity);
        fl_writer_put(w, entity->number, 16);
        fl_writer_put(w, value, 8);
        fl__bit_clear(t->due, slot);
        Item item = {(uint8_t)t->item, (uint16_t)slot, value};
        if (!fl__manifest_add(&session->lines[index].manifest, item)) {
            session->count[FL_SESSION_UNTRACKED]++;
        }
    }
    *t->any = fl__bit_next(t->due, session->entity_words, 0) != FL__NONE;
    return bytes;
}

bool fl__telling_read(FlSession *session, const Telling *t, int32_t index, FlReader *r, bool take)
{
    uint64_t count = fl_reader_take(r, 8);
    bool sound = count >= 1 && count <= AT_MOST;
    for (uint64_t i = 0; i < count && sound; i++) {
        uint32_t number = (uint32_t)fl_reader_take(r, 16);
        uint8_t value = (uint8_t)fl_reader_take(r, 8);
        sound =
            !r->failed && value <= t->most && number < (uint32_t)session->world.def.entity_capacity;
        if (sound && take) {
            t->heard_fn(session, index, session->by_number[number], value);
        }
    }
    return sound && !r->failed;
}
