// Hints: a byte about each of some entities, sent to the other end of a connection.
//
// Attention and "near" are such. What is due has a bit; it rides in packets that go anyway, as many
// as a section takes, or is a reason for one if it is urgent. What the byte means, over which
// connection it goes, and sending it again when its packet is lost, is up to the feature that uses
// it.
//
// Layout of a section, below its kind:
//
//   bits  field    unit   valid
//   8     kind     -      the section's
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   8     value    -      the feature's
#include "private.h"

#define HEAD 2
#define EACH 3
#define AT_MOST 16

void fl__hint_due(HintsDue *due, int32_t slot)
{
    fl__bit_set(due->words, slot);
    due->any = true;
}

// The next entity at or after slot `from` of which the byte is to go over this connection.
static int32_t next_due(const FlSession *session, const Hint *hint, const HintsDue *due,
                        int32_t connection, int32_t from)
{
    int32_t slot = fl__bit_next(due->words, session->entity_words, from);
    while (slot != FL__NONE && !hint->goes(session, slot, connection)) {
        slot = fl__bit_next(due->words, session->entity_words, slot + 1);
    }
    return slot;
}

static int32_t count_due(const FlSession *session, const Hint *hint, const HintsDue *due,
                         int32_t connection)
{
    if (!due->any || session->self == FL__NONE) {
        return 0;
    }
    int32_t count = 0;
    for (int32_t slot = next_due(session, hint, due, connection, 0);
         slot != FL__NONE && count < AT_MOST;
         slot = next_due(session, hint, due, connection, slot + 1)) {
        count++;
    }
    return count;
}

Want fl__hint_want(const FlSession *session, const Hint *hint, const HintsDue *due,
                   int32_t connection, FlTime now)
{
    int32_t count = 0;
    bool urgent = false;
    int32_t slot = due->any && session->self != FL__NONE
                       ? next_due(session, hint, due, connection, 0)
                       : FL__NONE;
    for (; slot != FL__NONE && count < AT_MOST; count++) {
        urgent = urgent || (hint->urgent != NULL && hint->urgent(session, slot));
        slot = next_due(session, hint, due, connection, slot + 1);
    }
    Want want = fl__want_none();
    want.rides = count > 0 ? HEAD + EACH * count : 0;
    if (urgent) {
        want.at = now;
        want.bytes = 1 + want.rides;
    }
    return want;
}

void fl__hint_write(const Hint *hint, HintsDue *due, PacketOut *out)
{
    FlSession *session = out->session;
    int32_t count = count_due(session, hint, due, out->connection);
    if (count == 0 || HEAD + EACH * count > out->left) {
        return;
    }
    fl_writer_put(out->w, hint->section, 8);
    fl_writer_put(out->w, (uint64_t)count, 8);
    int32_t slot = -1;
    for (int32_t i = 0; i < count; i++) {
        slot = next_due(session, hint, due, out->connection, slot + 1);
        uint8_t value = hint->send(session, slot);
        fl_writer_put(out->w, fl__entity(session, slot)->number, 16);
        fl_writer_put(out->w, value, 8);
        fl__bit_clear(due->words, slot);
        fl__packet_note(out, slot, value);
    }
    due->any = fl__bit_next(due->words, session->entity_words, 0) != FL__NONE;
}

bool fl__hint_skip(const FlSession *session, const Hint *hint, FlReader *r)
{
    uint64_t count = fl_reader_take(r, 8);
    bool sound = count >= 1 && count <= AT_MOST;
    for (uint64_t i = 0; i < count && sound; i++) {
        uint32_t number = (uint32_t)fl_reader_take(r, 16);
        uint8_t value = (uint8_t)fl_reader_take(r, 8);
        sound = !r->failed && value <= hint->most &&
                number < (uint32_t)session->world.def.entity_capacity;
    }
    return sound;
}

void fl__hint_take(const Hint *hint, PacketIn *in)
{
    uint64_t count = fl_reader_take(in->r, 8);
    for (uint64_t i = 0; i < count && !in->r->failed; i++) {
        uint32_t number = (uint32_t)fl_reader_take(in->r, 16);
        uint8_t value = (uint8_t)fl_reader_take(in->r, 8);
        hint->receive(in->session, in->connection, fl__entity_slot_of(in->session, number), value);
    }
}
