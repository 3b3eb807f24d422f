// Inputs: a stream per player and tick, sent again with each newer one until it has arrived.
//
// Each member's newest `input_ticks` inputs are kept in a ring. A line is sent what its end is not
// known to have, oldest first, so what is here of a member is always a stretch without gaps: games
// that step the same inputs everywhere need every one. A line whose end falls behind by a whole
// ring can never catch up: its end is sent away (FL_LEFT_BEHIND), unless it does its part and the
// sender fills a ring in no time: then that one is (FL_LEFT_TOO_FAST). The default ring is longer
// than the time-out at 60 ticks a second, so that a pause that a link survives is none for inputs.
//
// A member's stretch goes into a packet when there is something new in it, or something got lost.
// Not all members fit into every packet: who found no room comes first in the next one. What a host
// passes on waits a moment for others' inputs of the same tick, or every arrival would cost a
// packet to everybody.
//
// A stretch begins after what is known to have arrived, so whoever gets it can take it. What is
// under way may be more than fits a packet, on a long way or after events have taken the room: then
// a stretch is *chained*, it begins after what is under way and is worth something only to who has
// got that. The receiver does not say so, but arrival times do: it has taken a chained stretch that
// came after the one before it. If that cannot be told, all is sent again that is not known to be
// there.

// INPUTS: what a player did.                                     spec/WIRE.md section 7.8
//
//   bits  field    unit   valid
//   8     kind     -      4
//   16    member   -      whose
//   8     of       -      low bits of its incarnation
//   32    newest   tick   low bits of the newest tick
//   8     count    -      1..255 ticks follow, up to the newest, oldest first
//   per tick: the session's input bytes
#include "private.h"

#include <string.h>

#define INPUTS_HEAD 9
#define TICKS_AT_MOST 255
#define TICK_BITS 24          // of an item's value; then the count of a chained stretch, else 0
#define STALLED_FOR FL_SEC(1) // nothing has arrived for so long: does not do its part
#define NO_TIME FL_MS(500)
#define RELAYED_GATHER FL_MS(5)
#define TOLD_AT_MOST 128 // ticks from before it came, to a newcomer

static uint8_t *bytes_of(const FlSession *session, int32_t member, int64_t tick)
{
    int64_t ring = tick & (fl__def(session)->input_ticks - 1);
    int64_t at = (int64_t)member * fl__def(session)->input_ticks + ring;
    return &fl__play(session)->inputs.bytes[at * fl__def(session)->input_bytes];
}

const uint8_t *fl__input_bytes(const FlSession *session, int32_t member, int64_t tick)
{
    return bytes_of(session, member, tick);
}

static InputWay *way_of(const FlSession *session, int32_t line, int32_t member)
{
    return &fl__play(session)->inputs.way[line * fl__member_count(session) + member];
}

// A member's inputs go over this line again: what it got by another way is not known, so the last
// half of what is here is told.
static void resume(FlSession *session, int32_t line, int32_t member)
{
    const Inputs *in = &fl__play(session)->inputs.of[member];
    int64_t from = in->newest - fl__def(session)->input_ticks / 2;
    InputWay *way = way_of(session, line, member);
    way->acked = from > way->acked ? from : way->acked;
    way->acked = in->newest < 0 ? -1 : way->acked;
    way->sent = way->acked;
}

static void line_opened(FlSession *session, int32_t line)
{
    for (int32_t member = 0; member < fl__member_count(session); member++) {
        int64_t before = fl__play(session)->inputs.of[member].oldest - 1;
        InputWay fresh = {before, before, FL_FOREVER, INT64_MIN};
        *way_of(session, line, member) = fresh;
        resume(session, line, member); // half a ring is left for what comes meanwhile
        int64_t from = fl__play(session)->inputs.of[member].newest - TOLD_AT_MOST;
        InputWay *way = way_of(session, line, member);
        way->acked = way->sent = from > way->acked ? from : way->acked;
    }
}

// Do this member's inputs go over this line?
static bool goes(const FlSession *session, int32_t member, int32_t line)
{
    int32_t to = fl__line_member(session, line);
    if (member == to || fl__play(session)->inputs.of[member].newest < 0) {
        return false;
    }
    if (member == fl__self(session)) {
        return fl__line_answers(session, line);
    }
    return fl__is_host(session) && fl__topology(session) != FL_TOPOLOGY_MESH &&
           !fl__member_without_us(session, member, to);
}

// Is there something that this line was not sent, or that got lost?
static bool waits(const FlSession *session, int32_t member, int32_t index)
{
    return fl__play(session)->inputs.of[member].newest > way_of(session, index, member)->sent &&
           goes(session, member, index);
}

// Our own are urgent; what a host passes on waits for company.
static Want want(const void *self, int32_t index, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    Want want = {now, 0, INPUTS_HEAD + fl__def(session)->input_bytes, 0};
    if (fl__def(session)->input_bytes == 0) {
        return fl__want_none();
    }
    if (fl__self(session) != FL__NONE && waits(session, fl__self(session), index)) {
        return want;
    }
    want.gather_ns = RELAYED_GATHER;
    for (int32_t member = 0; member < fl__member_count(session); member++) {
        if (waits(session, member, index)) {
            return want;
        }
    }
    return fl__want_none();
}

// ---------------------------------------------------------------- out

/// What of a member's inputs goes into a packet next.
typedef struct Stretch {
    int64_t first, count;
    bool chained;
} Stretch;

static Stretch next_stretch(const FlSession *session, const Inputs *in, const InputWay *way,
                            int32_t room)
{
    int64_t fits = (room - INPUTS_HEAD) / fl__def(session)->input_bytes;
    fits = fits < TICKS_AT_MOST ? fits : TICKS_AT_MOST;
    int64_t known = way->acked + 1 > in->oldest ? way->acked + 1 : in->oldest;
    bool chained = in->newest - known + 1 > fits && way->sent >= known;
    int64_t first = chained ? way->sent + 1 : known;
    int64_t count = in->newest - first + 1;
    Stretch stretch = {first, count < fits ? count : fits, chained};
    return stretch;
}

static void write_member(FlSession *session, PacketOut *out, int32_t member)
{
    InputWay *way = way_of(session, out->index, member);
    Stretch s = next_stretch(session, &fl__play(session)->inputs.of[member], way, out->left);
    if (s.count <= 0) {
        return;
    }
    int64_t newest = s.first + s.count - 1;
    FlWriter *w = out->w;
    fl_writer_put(w, SECTION_INPUTS, 8);
    fl_writer_put(w, (uint64_t)member, 16);
    fl_writer_put(w, fl__member_incarnation(session, member) & 0xffu, 8);
    fl_writer_put(w, (uint64_t)newest & 0xffffffffu, 32);
    fl_writer_put(w, (uint64_t)s.count, 8);
    for (int64_t tick = s.first; tick <= newest; tick++) {
        fl_writer_bytes(w, bytes_of(session, member, tick), fl__def(session)->input_bytes);
    }
    way->sent = newest > way->sent ? newest : way->sent;
    way->since = way->since == FL_FOREVER ? out->now : way->since;
    uint32_t chain = s.chained ? (uint32_t)s.count << TICK_BITS : 0;
    fl__packet_note(out, member, ((uint32_t)newest & ((1u << TICK_BITS) - 1)) | chain);
    out->left -= INPUTS_HEAD + (int32_t)s.count * fl__def(session)->input_bytes;
}

static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    if (fl__def(session)->input_bytes == 0) {
        return;
    }
    int32_t begin = fl__play(session)->inputs.turn[out->index];
    for (int32_t i = 0; i < fl__member_count(session); i++) {
        int32_t member = (begin + i) % fl__member_count(session);
        if (!waits(session, member, out->index)) {
            continue;
        }
        write_member(session, out, member);
        if (waits(session, member, out->index)) { // no room for all of it
            fl__play(session)->inputs.turn[out->index] = member;
            break;
        }
    }
}

static void outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    FlTime arrived = fate->arrived_remote;
    int32_t member = item->index;
    InputWay *way = way_of(session, line, member);
    int64_t tick = fl_unwrap(way->sent, item->value & ((1u << TICK_BITS) - 1), TICK_BITS);
    int64_t chain = item->value >> TICK_BITS;
    if (tick > fl__play(session)->inputs.of[member].newest) {
        return; // of somebody who had the number before
    }
    bool taken = chain == 0 || (tick - chain <= way->acked && arrived > way->acked_at);
    if (!fate->delivered || (!taken && tick > way->acked)) {
        way->sent = way->acked; // all of it again, with the next packet
    } else if (tick > way->acked) {
        way->acked = tick;
        way->acked_at = arrived;
        way->sent = tick > way->sent ? tick : way->sent;
        way->since = way->sent > tick ? fl__heard_at(session) : FL_FOREVER;
    }
}

// ---------------------------------------------------------------- in

static void wake_all(FlSession *session)
{
    for (int32_t i = 0; i < fl__line_count(session); i++) {
        if (fl__line_used(session, i)) {
            fl__line_look(session, i);
        }
    }
}

// Makes room for one more tick of a member: whoever has not got the one that falls out never will.
// False: its sender is to blame, and has been sent away.
static bool push_out(FlSession *session, int32_t member, FlTime now)
{
    Inputs *in = &fl__play(session)->inputs.of[member];
    if (in->newest - in->oldest + 1 < fl__def(session)->input_ticks) {
        return true;
    }
    for (int32_t i = 0; i < fl__line_count(session); i++) {
        const InputWay *way = way_of(session, i, member);
        if (!fl__line_used(session, i) || !goes(session, member, i) || way->acked >= in->oldest) {
            continue;
        }
        bool stalled = way->since != FL_FOREVER && fl_span(now, way->since) > STALLED_FOR;
        bool blame_sender = fl_span(now, in->ring_before) < NO_TIME && !stalled;
        int32_t out = blame_sender ? fl__member_line(session, member) : i;
        fl__count(session, FL_SESSION_BEHIND, 1);
        if (out != FL__NONE) {
            FlLeft why = blame_sender ? FL_LEFT_TOO_FAST : FL_LEFT_BEHIND;
            fl__line_lost(session, out, why, now);
        }
        if (blame_sender) {
            return false;
        }
    }
    in->oldest++;
    return true;
}

// False: this was too much, and its sender is gone.
static bool take_tick(FlSession *session, int32_t member, int64_t tick, const uint8_t *bytes,
                      FlTime now)
{
    Inputs *in = &fl__play(session)->inputs.of[member];
    if (in->newest < 0) {
        in->oldest = tick;
        in->newest = tick - 1;
        in->ring_at = now;
        in->ring_before = now;
        for (int32_t i = 0; i < fl__line_count(session); i++) {
            InputWay fresh = {tick - 1, tick - 1, FL_FOREVER, INT64_MIN};
            *way_of(session, i, member) = fresh;
        }
    }
    if (tick != in->newest + 1) {
        return true; // here already, or a gap that the sender will fill
    }
    if (!push_out(session, member, now)) {
        return false;
    }
    memcpy(bytes_of(session, member, tick), bytes, (size_t)fl__def(session)->input_bytes);
    in->newest = tick;
    if (tick % fl__def(session)->input_ticks == 0) {
        in->ring_before = in->ring_at;
        in->ring_at = now;
    }
    fl__count(session, FL_SESSION_INPUTS_TAKEN, member != fl__self(session) ? 1 : 0);
    return true;
}

// Inputs may come before the word that their player is there, and what has arrived once is not said
// again: so they are kept for it.
static bool are_wanted(FlSession *session, int32_t member, uint8_t of)
{
    uint32_t incarnation = fl__member_incarnation(session, member);
    if (fl__member_present(session, member)) {
        return of == (uint8_t)incarnation;
    }
    if (incarnation != 0 && (uint8_t)(of - (uint8_t)incarnation - 1u) >= 0x80u) {
        return false; // of somebody who has left
    }
    Inputs *in = &fl__play(session)->inputs.of[member];
    if (in->of != of) {
        Inputs fresh = {.newest = -1, .of = of};
        *in = fresh;
    }
    return true;
}

/// A section as it came.
typedef struct InputsIn {
    int32_t member;
    uint8_t of;
    uint64_t low; // of the newest tick
    int32_t count;
    const uint8_t *bytes;
} InputsIn;

static bool read_inputs(const FlSession *session, FlReader *r, InputsIn *in)
{
    in->member = (int32_t)fl_reader_take(r, 16);
    in->of = (uint8_t)fl_reader_take(r, 8);
    in->low = fl_reader_take(r, 32);
    in->count = (int32_t)fl_reader_take(r, 8);
    in->bytes = fl_reader_bytes(r, in->count * fl__def(session)->input_bytes);
    return in->bytes != NULL && in->count > 0 && fl__def(session)->input_bytes > 0 &&
           in->member < fl__member_count(session);
}

static bool skip(const void *self, PacketIn *packet)
{
    InputsIn in;
    return read_inputs((const FlSession *)self, packet->r, &in);
}

static void take(void *self, PacketIn *packet)
{
    FlSession *session = (FlSession *)self;
    InputsIn in;
    if (!read_inputs(session, packet->r, &in)) {
        return;
    }
    bool theirs =
        in.member == packet->from || (!fl__is_host(session) && packet->from == fl__host(session));
    if (!theirs || in.member == fl__self(session) || !are_wanted(session, in.member, in.of)) {
        fl__line_foreign(session, packet->line);
        return;
    }
    int64_t known = fl__play(session)->inputs.of[in.member].newest;
    int64_t newest = known < 0 ? (int64_t)in.low : fl_unwrap(known, in.low, 32);
    int64_t first = newest - in.count + 1;
    bool going_on = true;
    for (int64_t tick = first > 0 ? first : 0; tick <= newest && going_on; tick++) {
        const uint8_t *input = in.bytes + (tick - first) * fl__def(session)->input_bytes;
        going_on = take_tick(session, in.member, tick, input, fl__heard_at(session));
    }
    if (fl__play(session)->inputs.of[in.member].newest > known && fl__is_host(session)) {
        wake_all(session);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_LINE_OPENED) {
        line_opened(session, change->line);
    } else if (change->kind == CHANGE_WAY) {
        resume(session, change->line, change->member);
    } else if (change->kind == CHANGE_MEMBER_CAME) {
        uint8_t of = (uint8_t)fl__member_incarnation(session, change->member);
        if (fl__play(session)->inputs.of[change->member].of != of) { // else they have come already
            Inputs none = {.newest = -1, .of = of};
            fl__play(session)->inputs.of[change->member] = none;
        }
    }
}

const Feature fl__feature_input = {
    .name = "inputs",
    .sections = {SECTION_INPUTS, 1},
    .repeats = true,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .changed = changed,
};

// ---------------------------------------------------------------- the game's side

FlResult fl_input_set(FlSession *session, int64_t tick, const void *bytes)
{
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (fl__def(session)->input_bytes == 0 || tick < 0) {
        return FL_BAD_VALUE;
    }
    if (!fl__is_complete(session)) {
        return FL_WOULD_BLOCK;
    }
    int32_t self = fl__self(session);
    Inputs *in = &fl__play(session)->inputs.of[self];
    if (in->newest >= 0 && tick != in->newest + 1) {
        return FL_OUT_OF_ORDER;
    }
    for (int32_t i = 0; i < fl__line_count(session); i++) {
        bool slow = fl__line_used(session, i) && goes(session, self, i) &&
                    in->newest - way_of(session, i, self)->acked >= fl__def(session)->input_ticks;
        if (slow) {
            return FL_WOULD_BLOCK;
        }
    }
    if (in->newest >= 0 && in->newest - in->oldest + 1 == fl__def(session)->input_ticks) {
        in->oldest++;
    }
    (void)take_tick(session, self, tick, (const uint8_t *)bytes, 0); // room was made above
    wake_all(session);
    return FL_OK;
}

FlResult fl_input_get(const FlSession *session, FlPeerId peer, int64_t tick, const uint8_t **bytes)
{
    *bytes = NULL;
    int32_t member = fl__member_of(session, peer);
    if (member == FL__NONE) {
        return FL_STALE_ID;
    }
    const Inputs *in = &fl__play(session)->inputs.of[member];
    if (in->newest < 0 || tick < in->oldest || tick > in->newest) {
        return FL_NOT_FOUND;
    }
    *bytes = bytes_of(session, member, tick);
    return FL_OK;
}

int64_t fl_input_newest(const FlSession *session, FlPeerId peer)
{
    int32_t member = fl__member_of(session, peer);
    return member == FL__NONE ? -1 : fl__play(session)->inputs.of[member].newest;
}
