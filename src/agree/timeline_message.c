// Messages between timelines. The carrier knows the kind and the sender.

// HASHES: what my settled states hash to.                        spec/WIRE.md section 8.9
//
//   bits  field    unit   valid
//   32    first    tick   low bits
//   8     count    -      1..64 follow, of one tick after another
//   per tick: 16 its hash

// TICK_RANGE: inputs of a player who has left.                   spec/WIRE.md section 8.9
//
//   bits  field    unit   valid
//   8     player   -      0..63
//   8     of       -      low bits of its incarnation
//   8     flags    -      1: these count, and none after the newest; 2: another part follows
//   32    newest   tick   low bits of its last tick
//   32    first    tick   low bits of the first tick of this part
//   16    count    -      ticks follow, up to the newest at most
//   per tick: the session's input bytes

// ENTER: a member's inputs count from a tick on.                 spec/WIRE.md section 8.9
//
//   bits  field    unit   valid
//   8     player   -      0..63
//   8     of       -      low bits of its incarnation
//   32    tick     tick   low bits

// SNAPSHOT: a part of a settled state.                           spec/WIRE.md section 8.9
//
//   bits  field    unit   valid
//   64    tick     tick   of the state
//   32    offset   byte   of this part
//   rest  bytes    -      at least one
#include "private.h"

#include "wire/wire.h"

#include <string.h>

enum { FLAG_FINAL = 1, FLAG_MORE = 2 };

static void put_tick(FlWriter *w, int64_t tick)
{
    fl_writer_put(w, (uint64_t)tick & 0xffffffffu, 32);
}

static int64_t take_tick(FlReader *r, int64_t near)
{
    return fl__unwrap(near, fl_reader_take(r, 32), 32);
}

static int32_t take_player(FlReader *r)
{
    uint64_t player = fl_reader_take(r, 8);
    if (player >= FL_TIMELINE_PLAYERS) {
        fl__reader_fail(r);
        player = 0;
    }
    return (int32_t)player;
}

void fl__hashes_message_write(FlWriter *writer, const FlHashesMessage *message)
{
    FL_ASSERT(message->count >= 1 && message->count <= FL_HASHES_AT_MOST);
    put_tick(writer, message->first);
    fl_writer_put(writer, (uint64_t)message->count, 8);
    for (int32_t i = 0; i < message->count; i++) {
        fl_writer_put(writer, message->hash[i], 16);
    }
}

bool fl__hashes_message_read(FlReader *reader, int64_t near, FlHashesMessage *message)
{
    memset(message, 0, sizeof *message);
    message->first = take_tick(reader, near);
    uint64_t count = fl_reader_take(reader, 8);
    if (count < 1 || count > FL_HASHES_AT_MOST || message->first < 0) {
        return false;
    }
    message->count = (int32_t)count;
    for (int32_t i = 0; i < message->count; i++) {
        message->hash[i] = (uint16_t)fl_reader_take(reader, 16);
    }
    return fl__reader_whole(reader);
}

void fl__tick_range_message_write(FlWriter *writer, int32_t input_bytes,
                                  const FlTickRangeMessage *message)
{
    FL_ASSERT(message->player >= 0 && message->player < FL_TIMELINE_PLAYERS &&
              message->count >= 0 && message->first + message->count <= message->newest + 1);
    uint64_t flags = (message->final ? FLAG_FINAL : 0u) | (message->more ? FLAG_MORE : 0u);
    fl_writer_put(writer, (uint64_t)message->player, 8);
    fl_writer_put(writer, message->of, 8);
    fl_writer_put(writer, flags, 8);
    put_tick(writer, message->newest);
    put_tick(writer, message->first);
    fl_writer_put(writer, (uint64_t)message->count, 16);
    fl_writer_bytes(writer, message->bytes, message->count * input_bytes);
}

bool fl__tick_range_message_read(FlReader *reader, int64_t near, int32_t input_bytes,
                                 FlTickRangeMessage *message)
{
    memset(message, 0, sizeof *message);
    message->player = take_player(reader);
    message->of = (uint8_t)fl_reader_take(reader, 8);
    uint64_t flags = fl_reader_take(reader, 8);
    message->newest = take_tick(reader, near);
    message->first = take_tick(reader, near);
    message->count = (int32_t)fl_reader_take(reader, 16);
    message->final = (flags & FLAG_FINAL) != 0;
    message->more = (flags & FLAG_MORE) != 0;
    if (flags > (FLAG_FINAL | FLAG_MORE) || message->first < 0 || message->newest < -1 ||
        message->first + message->count > message->newest + 1 ||
        message->count > fl_reader_left(reader) / input_bytes) {
        return false;
    }
    message->bytes = fl_reader_bytes(reader, message->count * input_bytes);
    return fl__reader_whole(reader);
}

void fl__enter_message_write(FlWriter *writer, const FlEnterMessage *message)
{
    FL_ASSERT(message->player >= 0 && message->player < FL_TIMELINE_PLAYERS);
    fl_writer_put(writer, (uint64_t)message->player, 8);
    fl_writer_put(writer, message->of, 8);
    put_tick(writer, message->tick);
}

bool fl__enter_message_read(FlReader *reader, int64_t near, FlEnterMessage *message)
{
    memset(message, 0, sizeof *message);
    message->player = take_player(reader);
    message->of = (uint8_t)fl_reader_take(reader, 8);
    message->tick = take_tick(reader, near);
    return fl__reader_whole(reader) && message->tick >= 0;
}

void fl__snapshot_message_write(FlWriter *writer, const FlSnapshotMessage *message)
{
    FL_ASSERT(message->count > 0 && message->tick >= 0);
    fl_writer_put(writer, (uint64_t)message->tick, 64);
    fl_writer_put(writer, (uint64_t)message->offset, 32);
    fl_writer_bytes(writer, message->bytes, message->count);
}

bool fl__snapshot_message_read(FlReader *reader, FlSnapshotMessage *message)
{
    memset(message, 0, sizeof *message);
    message->tick = (int64_t)fl_reader_take(reader, 64);
    uint64_t offset = fl_reader_take(reader, 32);
    message->offset = (int32_t)(offset & INT32_MAX);
    message->count = fl_reader_left(reader);
    message->bytes = fl_reader_bytes(reader, message->count);
    return fl__reader_whole(reader) && message->count > 0 && message->tick >= 0 &&
           offset <= INT32_MAX;
}
