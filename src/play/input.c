// Inputs: a stream per player and tick, sent again with each newer one until it has arrived.
//
// Each member's newest `input_ticks` inputs are kept in a ring. Over a connection goes what its
// other end is not known to have, oldest first, so what is kept of a member is always a tick range
// without gaps: games that step the same inputs everywhere need every one. A member that falls
// behind by a whole ring can never catch up: it is removed (FL_LEFT_BEHIND), unless it does its
// part and the sender fills a ring in no time: then the sender is (FL_LEFT_TOO_FAST). The default
// ring is longer than the time-out at 60 ticks a second, so that a pause that a link survives is
// none for inputs.
//
// With `inputs_to_host` gaps are allowed: a server plays on without what is missing, so a member
// that was away goes on at a later tick, no one waits for it, and no one is sent away.
//
// A member's tick range goes into a packet when it has something new, or something got lost. Not
// all members fit into every packet: one that found no room comes first in the next one. What a
// host relays waits a moment for other members' inputs of the same tick, or every arrival would
// cost a packet to everybody.
//
// A range begins after what is known to have arrived, so every receiver can take it. What is in
// flight may be more than fits a packet, on a long way or after events have taken the room: then a
// range is *chained*, it begins after what is in flight and is worth something only to a receiver
// that has got that. The receiver does not report this, but arrival times do: it has taken a
// chained range that came after the one before it. If that is uncertain, everything is sent again
// that is not known to have arrived.

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

#include "wire/wire.h"

#include <string.h>

#define INPUTS_HEAD 9
#define TICKS_AT_MOST 255
#define TICK_BITS 24          // of an item's value; then the count of a chained range, else 0
#define STALLED_FOR FL_SEC(1) // nothing has arrived for so long: the receiver does not do its part
#define NO_TIME FL_MS(500)
#define RELAYED_GATHER FL_MS(5)
#define INPUTS_AGAIN FL_MS(500) // as STATE: on a silent connection nothing shows a loss
#define SENT_AT_MOST 128        // ticks from before it came, to a newcomer

static uint8_t *bytes_of(const FlSession *session, int32_t member, int64_t tick)
{
    int64_t ring = tick & (session->def.input_ticks - 1);
    int64_t at = (int64_t)member * session->def.input_ticks + ring;
    return &session->play->inputs.bytes[at * session->def.input_bytes];
}

const uint8_t *fl__input_bytes(const FlSession *session, int32_t member, int64_t tick)
{
    return bytes_of(session, member, tick);
}

static InputWay *way_of(const FlSession *session, int32_t connection, int32_t member)
{
    return &session->play->inputs.way[connection * session->member_count + member];
}

// A member's inputs go over this connection again: what the other end got by another way is not
// known, so the last half of what is kept is sent.
static void resume_inputs(FlSession *session, int32_t connection, int32_t member)
{
    const Inputs *in = &session->play->inputs.of[member];
    int64_t from = in->newest - session->def.input_ticks / 2;
    InputWay *way = way_of(session, connection, member);
    way->acked = from > way->acked ? from : way->acked;
    way->acked = in->newest < 0 ? -1 : way->acked;
    way->sent = way->acked;
}

static InputTurn *turn_of(const FlSession *session, int32_t connection)
{
    return &session->play->inputs.turn[connection];
}

static void connection_opened(FlSession *session, int32_t connection)
{
    turn_of(session, connection)->again = FL_FOREVER;
    for (int32_t member = 0; member < session->member_count; member++) {
        int64_t before = session->play->inputs.of[member].oldest - 1;
        InputWay fresh = {before, before, FL_FOREVER, INT64_MIN};
        *way_of(session, connection, member) = fresh;
        resume_inputs(session, connection, member); // half a ring is left for what comes meanwhile
        int64_t from = session->play->inputs.of[member].newest - SENT_AT_MOST;
        InputWay *way = way_of(session, connection, member);
        way->acked = way->sent = from > way->acked ? from : way->acked;
    }
}

// Do this member's inputs go over this connection?
static bool goes(const FlSession *session, int32_t member, int32_t connection)
{
    int32_t to = fl__connection_member(session, connection);
    if (member == to || session->play->inputs.of[member].newest < 0) {
        return false;
    }
    bool waits =
        session->topology == FL_TOPOLOGY_CROWD && fl__connection_direct(session, connection);
    if (waits || (session->def.inputs_to_host && to != session->host)) {
        return false;
    }
    if (member == session->self) {
        return fl__connection_reaches(session, connection);
    }
    return fl__is_host(session) && session->topology != FL_TOPOLOGY_MESH &&
           !fl__member_without_us(session, member, to);
}

// Is there something that was not sent over this connection, or that got lost?
static bool waits(const FlSession *session, int32_t member, int32_t connection)
{
    return session->play->inputs.of[member].newest > way_of(session, connection, member)->sent &&
           goes(session, member, connection);
}

// Our own are urgent; what a host relays waits for company.
static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    Want want = {now, 0, INPUTS_HEAD + session->def.input_bytes, 0, 0};
    if (session->def.input_bytes == 0) {
        return fl__want_none();
    }
    if (session->self != FL__NONE && waits(session, session->self, connection)) {
        return want;
    }
    want.gather_ns = RELAYED_GATHER;
    for (int32_t member = 0; member < session->member_count; member++) {
        if (waits(session, member, connection)) {
            return want;
        }
    }
    Want again = {.at = turn_of(session, connection)->again};
    return again;
}

// ---------------------------------------------------------------- out

/// What of a member's inputs goes into a packet next.
typedef struct TickRange {
    int64_t first, count;
    bool chained;
} TickRange;

static TickRange next_range(const FlSession *session, const Inputs *in, const InputWay *way,
                            int32_t room)
{
    int64_t fits = (room - INPUTS_HEAD) / session->def.input_bytes;
    fits = fits < TICKS_AT_MOST ? fits : TICKS_AT_MOST;
    int64_t known = way->acked + 1 > in->oldest ? way->acked + 1 : in->oldest;
    bool chained = in->newest - known + 1 > fits && way->sent >= known;
    int64_t first = chained ? way->sent + 1 : known;
    int64_t count = in->newest - first + 1;
    TickRange range = {first, count < fits ? count : fits, chained};
    return range;
}

static void write_member(FlSession *session, PacketOut *out, int32_t member)
{
    InputWay *way = way_of(session, out->connection, member);
    TickRange s = next_range(session, &session->play->inputs.of[member], way, out->left);
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
        fl_writer_bytes(w, bytes_of(session, member, tick), session->def.input_bytes);
    }
    way->sent = newest > way->sent ? newest : way->sent;
    way->since = way->since == FL_FOREVER ? out->now : way->since;
    uint32_t chain = s.chained ? (uint32_t)s.count << TICK_BITS : 0;
    fl__packet_note(out, member, ((uint32_t)newest & ((1u << TICK_BITS) - 1)) | chain);
    out->left -= INPUTS_HEAD + (int32_t)s.count * session->def.input_bytes;
    FlTime acks = 2 * session->def.tuning.link.ack_delay_ns; // reports of arrivals may rest
    turn_of(session, out->connection)->again =
        fl_time_add(out->now, fl__time_max(acks, INPUTS_AGAIN));
}

static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    if (session->def.input_bytes == 0) {
        return;
    }
    int32_t begin = turn_of(session, out->connection)->member;
    for (int32_t i = 0; i < session->member_count; i++) {
        int32_t member = (begin + i) % session->member_count;
        if (!waits(session, member, out->connection)) {
            continue;
        }
        write_member(session, out, member);
        if (waits(session, member, out->connection)) { // no room for all of it
            turn_of(session, out->connection)->member = member;
            break;
        }
    }
}

static void settle(FlSession *session, int32_t connection, const Item *item, const Fate *fate)
{
    FlTime arrived = fate->arrived_remote;
    int32_t member = item->index;
    InputWay *way = way_of(session, connection, member);
    int64_t tick = fl__unwrap(way->sent, item->value & ((1u << TICK_BITS) - 1), TICK_BITS);
    int64_t chain = item->value >> TICK_BITS;
    if (tick > session->play->inputs.of[member].newest) {
        return; // of a former member with this number
    }
    bool taken = chain == 0 || (tick - chain <= way->acked && arrived > way->acked_at);
    if (!fate->delivered || (!taken && tick > way->acked)) {
        way->sent = way->acked; // all of it again, with the next packet
    } else if (tick > way->acked) {
        way->acked = tick;
        way->acked_at = arrived;
        way->sent = tick > way->sent ? tick : way->sent;
        way->since = way->sent > tick ? fl__datagram_came_at(session) : FL_FOREVER;
    }
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    for (int32_t i = 0; i < count; i++) {
        settle((FlSession *)self, connection, &items[i], fate);
    }
}

// Inputs that are still in flight long after the last ones went are sent again.
static void look(void *self, int32_t connection, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (now >= turn_of(session, connection)->again) {
        turn_of(session, connection)->again = FL_FOREVER;
        fl__manifest_give_up(session, connection, fl__feature_row(session, &fl__feature_input));
    }
}

// ---------------------------------------------------------------- in

static void wake_all(FlSession *session)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i)) {
            fl__connection_wake(session, i);
        }
    }
}

// Makes room for one more tick of a member: a receiver that has not got the one that falls out
// never will. False: the sender is to blame, and has been removed.
static bool drop_oldest(FlSession *session, int32_t member, FlTime now)
{
    Inputs *in = &session->play->inputs.of[member];
    if (in->newest - in->oldest + 1 < session->def.input_ticks) {
        return true;
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        const InputWay *way = way_of(session, i, member);
        if (!fl__connection_used(session, i) || !goes(session, member, i) ||
            way->acked >= in->oldest) {
            continue;
        }
        bool stalled = way->since != FL_FOREVER && fl_span(now, way->since) > STALLED_FOR;
        bool blame_sender = fl_span(now, in->ring_before) < NO_TIME && !stalled;
        int32_t removed = blame_sender ? fl__member_connection(session, member) : i;
        fl__count(session, FL_SESSION_BEHIND);
        if (removed != FL__NONE) {
            FlLeft why = blame_sender ? FL_LEFT_TOO_FAST : FL_LEFT_BEHIND;
            fl__connection_lost(session, removed, why, now);
        }
        if (blame_sender) {
            return false;
        }
    }
    in->oldest++;
    return true;
}

// False: this was too much, and its sender has been removed.
static bool take_tick(FlSession *session, int32_t member, int64_t tick, const uint8_t *bytes,
                      FlTime now)
{
    Inputs *in = &session->play->inputs.of[member];
    if (in->newest < 0) {
        in->oldest = tick;
        in->newest = tick - 1;
        in->ring_at = now;
        in->ring_before = now;
        for (int32_t i = 0; i < session->connection_count; i++) {
            InputWay fresh = {tick - 1, tick - 1, FL_FOREVER, INT64_MIN};
            *way_of(session, i, member) = fresh;
        }
    }
    if (tick > in->newest + 1 && session->def.inputs_to_host) {
        in->oldest = tick; // a server has no use for what is missing: it comes too late
        in->newest = tick - 1;
    }
    if (tick != in->newest + 1) {
        return true; // received already, or a gap that the sender will fill
    }
    if (!drop_oldest(session, member, now)) {
        return false;
    }
    memcpy(bytes_of(session, member, tick), bytes, (size_t)session->def.input_bytes);
    in->newest = tick;
    if (tick % session->def.input_ticks == 0) {
        in->ring_before = in->ring_at;
        in->ring_at = now;
    }
    session->count[FL_SESSION_INPUTS_TAKEN] += member != session->self ? 1 : 0;
    return true;
}

// Inputs may come before the announcement of their player, and what has arrived once is not sent
// again: so they are kept for it.
static bool are_wanted(FlSession *session, int32_t member, uint8_t of)
{
    uint32_t incarnation = fl__member_incarnation(session, member);
    if (fl__member_present(session, member)) {
        return of == (uint8_t)incarnation;
    }
    if (incarnation != 0 && (uint8_t)(of - (uint8_t)incarnation - 1u) >= 0x80u) {
        return false; // of a member that has left
    }
    Inputs *in = &session->play->inputs.of[member];
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
    in->bytes = fl_reader_bytes(r, in->count * session->def.input_bytes);
    return in->bytes != NULL && in->count > 0 && session->def.input_bytes > 0 &&
           in->member < session->member_count;
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
        in.member == packet->from || (!fl__is_host(session) && packet->from == session->host);
    if (!theirs || in.member == session->self || !are_wanted(session, in.member, in.of)) {
        fl__connection_foreign(session, packet->connection);
        return;
    }
    int64_t known = session->play->inputs.of[in.member].newest;
    int64_t newest = known < 0 ? (int64_t)in.low : fl__unwrap(known, in.low, 32);
    int64_t first = newest - in.count + 1;
    bool going_on = true;
    for (int64_t tick = first > 0 ? first : 0; tick <= newest && going_on; tick++) {
        const uint8_t *input = in.bytes + (tick - first) * session->def.input_bytes;
        going_on = take_tick(session, in.member, tick, input, fl__datagram_came_at(session));
    }
    const Inputs *now = &session->play->inputs.of[in.member];
    if (now->newest > known && fl__is_host(session)) {
        int64_t oldest_new = known + 1 > now->oldest ? known + 1 : now->oldest;
        fl__predict_input_came(session, in.member, oldest_new);
        if (!session->def.inputs_to_host) {
            wake_all(session);
        }
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        connection_opened(session, change->connection);
    } else if (change->kind == CHANGE_ROUTE) {
        resume_inputs(session, change->connection, change->member);
    } else if (change->kind == CHANGE_MEMBER_CAME) {
        uint8_t of = (uint8_t)fl__member_incarnation(session, change->member);
        if (session->play->inputs.of[change->member].of != of) { // else they have come already
            Inputs none = {.newest = -1, .of = of};
            session->play->inputs.of[change->member] = none;
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
    .look = look,
    .changed = changed,
};

// ---------------------------------------------------------------- the game's side

// The other end of a connection has not acknowledged the oldest of our inputs, which the next one
// would replace. Whoever acknowledges none at all does not make us wait; but for the host we do.
static bool lacks_a_ring(FlSession *session, int32_t connection)
{
    const InputWay *way = way_of(session, connection, session->self);
    int64_t newest = session->play->inputs.of[session->self].newest;
    if (session->def.inputs_to_host || !fl__connection_used(session, connection) ||
        !goes(session, session->self, connection) ||
        newest - way->acked < session->def.input_ticks) {
        return false;
    }
    bool stalled = way->since != FL_FOREVER && fl_span(session->now, way->since) > STALLED_FOR;
    if (!stalled || fl__connection_member(session, connection) == session->host) {
        return true;
    }
    fl__count(session, FL_SESSION_BEHIND);
    fl__connection_lost(session, connection, FL_LEFT_BEHIND, session->now);
    return false;
}

FlResult fl_input_set(FlSession *session, int64_t tick, const void *bytes)
{
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (session->def.input_bytes == 0 || tick < 0) {
        return FL_BAD_VALUE;
    }
    if (session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    if (!session->complete) {
        return FL_WOULD_BLOCK;
    }
    int32_t self = session->self;
    Inputs *in = &session->play->inputs.of[self];
    bool gap = in->newest >= 0 && tick > in->newest + 1 && session->def.inputs_to_host;
    if (in->newest >= 0 && tick != in->newest + 1 && !gap) {
        return FL_OUT_OF_ORDER;
    }
    if (gap) {
        in->oldest = tick;
        in->newest = tick - 1;
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (gap) {
            InputWay fresh = {tick - 1, tick - 1, FL_FOREVER, INT64_MIN};
            *way_of(session, i, self) = fresh;
        }
        if (lacks_a_ring(session, i)) {
            return FL_WOULD_BLOCK;
        }
    }
    if (in->newest >= 0 && in->newest - in->oldest + 1 == session->def.input_ticks) {
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
    const Inputs *in = &session->play->inputs.of[member];
    if (in->newest < 0 || tick < in->oldest || tick > in->newest) {
        return FL_NOT_FOUND;
    }
    *bytes = bytes_of(session, member, tick);
    return FL_OK;
}

int64_t fl_input_newest(const FlSession *session, FlPeerId peer)
{
    int32_t member = fl__member_of(session, peer);
    return member == FL__NONE ? -1 : session->play->inputs.of[member].newest;
}
