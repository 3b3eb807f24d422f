// Private to module `agree`: what the files about lags share.
#ifndef FAIRLEAD_AGREE_LAGS_PRIVATE_H
#define FAIRLEAD_AGREE_LAGS_PRIVATE_H

#include "agree/agree.h"

// ---------------------------------------------------------------- lags.c, lags_round.c

#define FL__LAGS_BUCKETS 8

/// The longest of the last `window_ns`, in an eighth of it each.
typedef struct Fl__LagsWindow {
    int64_t bucket[FL__LAGS_BUCKETS]; // which eighth, counted from the clock's zero
    FlTime longest[FL__LAGS_BUCKETS];
    int64_t newest; // bucket
    uint64_t count; // of measurements; 0: none yet
} Fl__LagsWindow;

/// Whether a peer plays actions already.
typedef enum Fl__LagsPlays {
    FL__LAGS_NOT = 0,
    FL__LAGS_TOGETHER = 1,
    FL__LAGS_ALONE = 2, // its own
} Fl__LagsPlays;

/// What a peer sends in a round.
typedef struct Fl__LagsVector {
    uint32_t round; // 0: nothing yet
    bool asks;      // sent again, since something of the round has not come
    Fl__LagsPlays plays;
    uint64_t members;
    FlTime a;                // if it plays
    FlTime v[FL_LAGS_PEERS]; // by number
} Fl__LagsVector;

/// A value that moves to another.
typedef struct Fl__LagsRamp {
    FlTime from, to;
    FlTime at; // when it was `from`
} Fl__LagsRamp;

#define FL__LAGS_OFFSETS 8

/// From a peer's own time to play time: what is added, from `ramp.at` (its own time) on.
typedef struct Fl__LagsOffset {
    Fl__LagsRamp ramp;
    int32_t slew_ppm;
} Fl__LagsOffset;

/// By which a peer's motions are played.
typedef struct Fl__LagsMotions {
    Fl__LagsOffset offsets[FL__LAGS_OFFSETS]; // by rising times
    int32_t count;
    uint32_t version; // another one: what was shown was of other times than it now seems
} Fl__LagsMotions;

typedef struct Fl__LagsPeer {
    FlTime since; // when it came
    Fl__LagsWindow window;
    uint32_t ready_round;
    FlTime ready_stamp; // on its clock: from here on its values are those of the round, or above
    Fl__LagsMotions motions;
} Fl__LagsPeer;

struct FlLags {
    FlLagsDef def;
    uint64_t members; // bits, our own included
    Fl__LagsPeer peers[FL_LAGS_PEERS];
    Fl__LagsVector vectors[FL_LAGS_PEERS]; // the newest of each, ours included

    uint32_t round_newest;  // the newest that any peer has sent
    uint32_t round_solved;  // 0: none
    uint32_t round_settled; // all have sent READY
    FlTime begun_at;        // our newest vector
    FlTime solved_at;
    uint64_t solved_members; // of the newest round solved, with
    FlTime solved_a;         // our A, and
    FlTime solved_b[FL_LAGS_PEERS];
    FlTime solved_mean, solved_longest;
    int32_t solved_reference;

    Fl__LagsRamp a, b; // in force
    FlTime fall_at;    // when what was sent before the last READY has arrived; FL_FOREVER: no fall
    FlTime probe_next;
    FlTime again_at;    // when our part of the round is sent again
    FlTime stamped;     // the last play time given
    FlTime offset_next; // when our newest offset is sent again,
    FlTime offset_b;    // the B that it leads to
    uint32_t version;   // the last one given
    // flags
    bool sends, plays;
    bool together; // the lags in force are not ours alone
    bool need;     // a round is needed: something came close to its time, or a peer left
    bool vector_due, ready_due;
    bool shows; // motions are shown by lags, here or elsewhere
    bool offset_due;
    bool repeats; // what is due was sent before
    bool asked;   // by a peer that lacks something of the round

    uint64_t count[FL_LAGS_COUNTS];
    uint8_t message[FL_LAGS_MESSAGE_BYTES];
};

static inline bool fl__lags_has(uint64_t members, int32_t peer)
{
    return (members >> peer & 1u) != 0;
}

/// What a value is at a time.
FlTime fl__lags_ramp_at(const Fl__LagsRamp *ramp, FlTime now, int32_t slew_ppm);

#define MILLION 1000000
#define FL__SLEW_LEAST 1000
#define FL__SLEW_MOST 500000

/// The eighth of the window that a time falls into.
int64_t fl__lags_bucket(const FlLags *lags, FlTime time);

/// Notes a measurement, and the longest within the window. The latter: there is one.
void fl__lags_measure(FlLags *lags, int32_t peer, FlTime took, FlTime arrival);
FlTime fl__lags_longest(const FlLags *lags, int32_t peer, FlTime now);

/// Does what is due in rounds. And when something will be.
void fl__lags_update(FlLags *lags, FlTime now);
FlTime fl__lags_begin_due(const FlLags *lags);

// ---------------------------------------------------------------- lags_shown.c

/// An offset of a peer's.
void fl__lags_take_offset(FlLags *lags, int32_t from, const Fl__LagsOffset *offset, FlTime arrival);

/// Nothing is known of a peer's motions.
void fl__lags_forget_motions(FlLags *lags, int32_t peer);

/// When our newest offset is to be sent; FL_FOREVER: not at all.
FlTime fl__lags_offset_due(const FlLags *lags);

/// It is sent now.
void fl__lags_send_offset(FlLags *lags, FlTime now, Fl__LagsOffset *offset);

// ---------------------------------------------------------------- lags_message.c

typedef enum Fl__LagsKind {
    FL__LAGS_PROBE = 1,
    FL__LAGS_VECTOR = 2,
    FL__LAGS_READY = 3,
    FL__LAGS_OFFSET = 5, // 4 is an action
} Fl__LagsKind;

typedef struct Fl__LagsBody {
    Fl__LagsKind kind;
    bool asks;             // READY: as in a vector
    uint32_t round;        // READY
    FlTime stamp;          // PROBE, READY
    Fl__LagsVector vector; // VECTOR
    Fl__LagsOffset offset; // OFFSET
} Fl__LagsBody;

void fl__lags_write(FlWriter *writer, int32_t self, const Fl__LagsBody *body);

/// False: no sender writes that.
bool fl__lags_read(FlReader *reader, int32_t from, Fl__LagsBody *body);

#endif
