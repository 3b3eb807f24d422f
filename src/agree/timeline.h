// Module `agree`, for the modules above it.
#ifndef FAIRLEAD_AGREE_TIMELINE_INNER_H
#define FAIRLEAD_AGREE_TIMELINE_INNER_H

#include "fairlead/timeline.h"

const char *fl__control_name(FlControl control);

/// Bytes that fl_timeline_create takes.
size_t fl__timeline_memory(const FlTimelineDef *def);

/// The same in parts, as a state travels: `count` bytes from byte `offset` on, each once and in
/// order; it begins with the last. Not while a repair is on. Errors: FL_WOULD_BLOCK (more parts
/// are needed); FL_BAD_VALUE (no such part is next: begin with the first again).
FL_NODISCARD FlResult fl__timeline_begin_part(FlTimeline *timeline, int64_t tick, int32_t offset,
                                              const void *bytes, int32_t count);

/// The definition it was made from.
const FlTimelineDef *fl__timeline_def(const FlTimeline *timeline);

/// A player's first tick; FL_TIMELINE_NEVER: does not play.
int64_t fl__timeline_first(const FlTimeline *timeline, int32_t player);

/// Does the player's input of this tick count?
bool fl__timeline_plays(const FlTimeline *timeline, int32_t player, int64_t tick);

/// The newest tick up to which all of a player's inputs are here; one less than its first: none.
/// INT64_MIN: does not play.
int64_t fl__timeline_known(const FlTimeline *timeline, int32_t player);

/// A player's input, if it is known and remembered: valid until the next call on the timeline; NULL
/// else. Those that are settled may be asked for, up to history_ticks before the newest.
const uint8_t *fl__timeline_input_at(const FlTimeline *timeline, int32_t player, int64_t tick);

/// From now on it follows a server: what is final is what fl__timeline_confirm says, and nothing
/// settles by itself. Every tick is saved.
void fl__timeline_follow(FlTimeline *timeline);

/// The server's state `tick`. It is settled, and if it is not what was played here (not *same) the
/// ticks since are played again by the next advance.
/// Errors: FL_OUT_OF_ORDER (one as new has come); FL_NOT_FOUND (not played here yet: begin anew).
FL_NODISCARD FlResult fl__timeline_confirm(FlTimeline *timeline, int64_t tick, const void *state,
                                           bool *same);

/// A state that was played through, not before the settled one; NULL: not kept, or the present.
const void *fl__timeline_saved(const FlTimeline *timeline, int64_t tick);

/// The game's functions are being called: nothing that happens in them has happened for good.
bool fl__timeline_playing(const FlTimeline *timeline);

#define FL_HASHES_AT_MOST 64

/// What my settled states hash to.
typedef struct FlHashesMessage {
    int64_t first; ///< Tick. Read: its low 32 bits, next to `near`.
    int32_t count;
    uint16_t hash[FL_HASHES_AT_MOST];
} FlHashesMessage;

/// Inputs of a player that has left: what the sender has (to the host), or what counts (from it).
/// To a newcomer: those of any player, since the state that it got.
typedef struct FlTickRangeMessage {
    int32_t player;
    uint8_t of;           ///< Low bits of the player's incarnation.
    bool final;           ///< From the host: these, and none after `newest`.
    bool more;            ///< Another part follows.
    int64_t newest;       ///< The player's last tick; before its first: none.
    int64_t first;        ///< Of this part.
    int32_t count;        ///< Ticks in it; 0 is fine.
    const uint8_t *bytes; ///< count * input_bytes.
} FlTickRangeMessage;

/// A player's inputs count from a tick on.
typedef struct FlEnterMessage {
    int32_t player;
    uint8_t of;
    int64_t tick;
} FlEnterMessage;

/// A part of a settled state, for a newcomer.
typedef struct FlSnapshotMessage {
    int64_t tick;
    int32_t offset; ///< Of this part, in bytes.
    int32_t count;
    const uint8_t *bytes;
} FlSnapshotMessage;

// Readers fail on anything that a writer would not write. Ticks travel as their low 32 bits; `near`
// is a tick near them. spec/WIRE.md section 8.
void fl__hashes_message_write(FlWriter *writer, const FlHashesMessage *message);

FL_NODISCARD bool fl__hashes_message_read(FlReader *reader, int64_t near, FlHashesMessage *message);

void fl__tick_range_message_write(FlWriter *writer, int32_t input_bytes,
                                  const FlTickRangeMessage *message);

FL_NODISCARD bool fl__tick_range_message_read(FlReader *reader, int64_t near, int32_t input_bytes,
                                              FlTickRangeMessage *message);

void fl__enter_message_write(FlWriter *writer, const FlEnterMessage *message);

FL_NODISCARD bool fl__enter_message_read(FlReader *reader, int64_t near, FlEnterMessage *message);

void fl__snapshot_message_write(FlWriter *writer, const FlSnapshotMessage *message);

FL_NODISCARD bool fl__snapshot_message_read(FlReader *reader, FlSnapshotMessage *message);

/// Hash of settled state `tick`. Errors: FL_NOT_FOUND (not settled yet, or forgotten).
FL_NODISCARD FlResult fl__timeline_hash(const FlTimeline *timeline, int64_t tick, uint16_t *hash);

/// A player's hash of its settled state `tick`: compared at once, or when it is settled here.
void fl__timeline_hash_received(FlTimeline *timeline, int32_t player, int64_t tick, uint16_t hash);

#endif
