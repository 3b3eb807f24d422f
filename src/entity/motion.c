// MOTION: updates out and in. What is due to whom is the ledger's to say; here it gets its bytes.

// MOTION: where entities are.                                    spec/WIRE.md section 7.5
//
//   bits  field    unit   valid
//   8     kind     -      1
//   8     count    -      1..255 UPDATEs follow, each from a whole byte on

// MOTION_EPOCH: the same, of entities whose epoch is not zero.   spec/WIRE.md section 7.5
//
//   bits  field    unit   valid
//   8     kind     -      2
//   8     count    -      1..255 follow: an epoch (8, low bits) and an UPDATE each

#include "export.h"
#include "priority.h"
#include "private.h"
#include "remote.h"

#include "link/link.h"
#include "motion/motion.h"
#include "send/send.h"

#define MOTION_HEAD 2
#define UPDATES_AT_MOST 255
#define UPLOAD_FOR_WORDS 0.02 // of a second's bytes: not for frames, so that calls need not wait

// ---------------------------------------------------------------- what is due

void fl__motion_wake(FlSession *session)
{
    if (!session->entities->exported || session->entities->ledger == NULL) {
        return;
    }
    session->entities->exported = false;
    for (int32_t i = 0; i < session->connection_count; i++) {
        FlDue due;
        if (fl__connection_used(session, i) &&
            fl_ledger_due(session->entities->ledger, i, 0, &due)) {
            fl__connection_wake(session, i);
        }
    }
}

// Lets the policies decide.
static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    fl__owner_set_first(session);
    FlTime time = fl_session_time(session, now);
    if (session->entities->ledger == NULL) {
        return;
    }
    fl__exporters_aim(session, now);
    fl__relay_moves(session, now);
    if (fl_ledger_deadline(session->entities->ledger) <= time) {
        double words = UPLOAD_FOR_WORDS * session->def.upload_bytes_s;
        double left = fl__upload_left(session, now) - words;
        fl__ledger_allow(session->entities->ledger, left > 0.0 ? left : 0.0,
                         fl__upload_header_bytes(session));
        uint64_t frame = fl__ledger_frame(session->entities->ledger).number;
        fl_ledger_update(session->entities->ledger, time);
        FlFocusFrame decided = fl__ledger_frame(session->entities->ledger);
        session->count[FL_SESSION_UPDATES_HELD_BACK] +=
            decided.number != frame ? (uint64_t)decided.waiting_count : 0;
        session->entities->exported = true;
    }
    fl__motion_wake(session);
}

static FlTime deadline(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    (void)now;
    const FlLedger *ledger = session->entities->ledger;
    FlTime asked = ledger != NULL ? fl_ledger_deadline(ledger) : FL_FOREVER;
    // A bent clock's inverse is off by a nanosecond or so; never a moment too early.
    FlTime local = asked != FL_FOREVER
                       ? fl_time_add(fl_session_local_time(session, asked), FL_US(1))
                       : FL_FOREVER;
    return fl_time_min(local, session->entities->moves.next);
}

#define TOO_OLD FL_SEC(5) // leaves ten for the way

// Whether what is due lies packed. What travels of a time goes back 15 s only, so an older motion
// is sent from a later time.
static bool is_packed(const Entity *entity, FlDue due, FlTime time)
{
    return entity->detail->packed_serial == due.serial &&
           fl_span(time, entity->detail->packed_time) <= TOO_OLD;
}

// At most so many bytes. What comes first is whose turn it is: with less, everything that is
// shorter would go before it for ever.
static Want want(const void *self, int32_t index, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    FlDue due;
    if (session->entities->ledger == NULL || fl__manifest_left(session, index) <= 0) {
        return fl__want_none(); // its next update wakes the connection
    }
    if (!fl_ledger_due(session->entities->ledger, index, fl__stream(session, index)->turn, &due) &&
        !fl_ledger_due(session->entities->ledger, index, 0, &due)) {
        return fl__want_none();
    }
    const Entity *entity = fl__entity(session, due.entity);
    bool packed = is_packed(entity, due, fl_session_time(session, now));
    int32_t update =
        MOTION_HEAD + 1 + (packed ? entity->detail->packed_bytes : FL_UPDATE_BYTES_MAX);
    int32_t rider =
        entity->detail->guided ? session->entities->rider->bytes(session, due.entity) : 0;
    Want want = {now, session->def.tuning.gather_ns, fl__int_max(rider, update), 0, 0};
    return want;
}

// ---------------------------------------------------------------- out

/// A MOTION, MOTION_EPOCH or CARRIED being written: where its head is, and how many it has.
typedef struct Section {
    int32_t head_at, count;
    uint8_t kind;
} Section;

static uint8_t section_of(const PacketOut *out, const Entity *entity)
{
    if (!entity->ours && entity->detail->forwards > 0 &&
        fl__entity_forwards(out->session, fl__slot(out->session, entity), out->connection)) {
        return SECTION_CARRIED;
    }
    return entity->epoch != 0 ? SECTION_MOTION_EPOCH : SECTION_MOTION;
}

// The bytes of an update that is due: as they are kept, or made now.
static int32_t due_bytes(const PacketOut *out, FlDue due, const Entity *entity,
                         const uint8_t **bytes, uint8_t *made)
{
    if (is_packed(entity, due, out->time)) {
        *bytes = entity->detail->packed;
        return entity->detail->packed_bytes;
    }
    const FlSession *session = out->session;
    const FlPiece *piece = fl_ledger_exported(session->entities->ledger, due.entity, due.serial);
    if (piece == NULL) {
        return 0;
    }
    *bytes = made;
    bool old = fl_span(out->time, piece->motion.time) > TOO_OLD;
    FlMotion motion = old ? fl__motion_rebase(&piece->motion, out->time - TOO_OLD) : piece->motion;
    return fl__entity_pack(session, entity, &motion, piece->life, made);
}

// Something else in an update's place: a section of its own, so the next update begins another.
static bool write_rider(PacketOut *out, Section *section, FlDue due)
{
    FlSession *session = out->session;
    const Rider *rider = session->entities->rider;
    int32_t bytes = rider->bytes(session, due.entity);
    if (bytes > out->left) {
        return false;
    }
    rider->before(session, out->connection, due.entity, out->time);
    fl_ledger_sent(session->entities->ledger, out->connection, due, out->time);
    out->left -= bytes;
    rider->write(session, out->connection, due.entity, out->w, false);
    section->count = 0;
    fl__packet_note(out, due.entity, due.serial);
    return true;
}

// And beside it, if there is room.
static void accompany(PacketOut *out, Section *section, int32_t slot)
{
    const Rider *rider = out->session->entities->rider;
    int32_t bytes = rider->bytes(out->session, slot);
    if (bytes <= out->left) {
        out->left -= bytes;
        rider->write(out->session, out->connection, slot, out->w, true);
        section->count = 0;
    }
}

static void put_update(PacketOut *out, Section *section, const Entity *entity, uint8_t kind,
                       const uint8_t *bytes, int32_t count)
{
    if (section->count == 0) {
        section->head_at = fl_writer_size(out->w);
        section->kind = kind;
        fl_writer_put(out->w, section->kind, 8);
        fl_writer_put(out->w, 0, 8);
    }
    if (section->kind != SECTION_MOTION) {
        fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    }
    fl_writer_bytes(out->w, bytes, count);
    out->w->bytes[section->head_at + 1] = (uint8_t)++section->count;
    fl__count(out->session, entity->ours ? FL_SESSION_UPDATES_SENT : FL_SESSION_UPDATES_RELAYED);
}

static bool write_update(PacketOut *out, Section *section, FlDue due)
{
    FlSession *session = out->session;
    if (out->items_left <= 0) {
        return false;
    }
    const Entity *entity = fl__entity(session, due.entity);
    const Rider *rider = entity->detail->guided ? session->entities->rider : NULL;
    UpdateWay way =
        rider != NULL ? rider->way(session, out->connection, due.entity, out->time) : UPDATE_ALONE;
    if (way == UPDATE_REPLACED) {
        return write_rider(out, section, due);
    }
    uint8_t made[FL_UPDATE_BYTES_MAX];
    const uint8_t *bytes = made;
    int32_t count = due_bytes(out, due, entity, &bytes, made);
    uint8_t kind = section_of(out, entity);
    bool fresh = section->count == 0 || section->count == UPDATES_AT_MOST || section->kind != kind;
    int32_t takes = count + (kind != SECTION_MOTION ? 1 : 0) + (fresh ? MOTION_HEAD : 0);
    if (takes > out->left) {
        return false;
    }
    if (rider != NULL) {
        rider->before(session, out->connection, due.entity, out->time);
    }
    fl_ledger_sent(session->entities->ledger, out->connection, due, out->time);
    if (count == 0) {
        return true; // forgotten meanwhile
    }
    section->count = fresh ? 0 : section->count;
    put_update(out, section, entity, kind, bytes, count);
    out->left -= takes;
    fl__packet_note(out, due.entity, due.serial);
    if (way == UPDATE_ACCOMPANIED) {
        accompany(out, section, due.entity);
    }
    return true;
}

// Bytes are short over this connection: the highest rank goes first.
static void write_by_rank(PacketOut *out)
{
    FlSession *session = out->session;
    Section section = {0, 0, SECTION_MOTION};
    int32_t slot =
        fl__rank_due(session, out->connection, out->time) ? fl__rank_take(session) : FL__NONE;
    for (; slot != FL__NONE && out->left > MOTION_HEAD; slot = fl__rank_take(session)) {
        FlDue due;
        bool is_due = fl_ledger_due(session->entities->ledger, out->connection, slot, &due) &&
                      due.entity == slot;
        if (is_due) {
            (void)write_update(out, &section, due); // what does not fit may be longer than the next
        }
    }
}

// Entities take turns, so that a small budget is everybody's: each packet goes on where the last
// one over this connection ended; what is passed over for being too long begins the next.
static void write_in_turn(PacketOut *out)
{
    Section section = {0, 0, SECTION_MOTION};
    int32_t capacity = out->session->def.entity_capacity;
    Stream *stream = fl__stream(out->session, out->connection);
    int32_t start = stream->turn;
    int32_t next = start;    // after the last that was written
    int32_t turn = FL__NONE; // passed over
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? capacity : start;
        int32_t from = pass == 0 ? start : 0;
        FlDue due;
        while (fl_ledger_due(out->session->entities->ledger, out->connection, from, &due) &&
               due.entity < end) {
            if (write_update(out, &section, due)) {
                next = due.entity + 1;
            } else if (turn == FL__NONE) {
                turn = due.entity;
            }
            from = due.entity + 1;
        }
    }
    stream->turn = turn != FL__NONE ? turn : next < capacity ? next : 0;
}

static void write(void *self, PacketOut *out)
{
    (void)self;
    if (out->session->entities->ledger == NULL) {
        return;
    }
    int32_t items = out->items_left;
    if (out->tight) {
        write_by_rank(out);
    } else {
        write_in_turn(out);
    }
    fl__upload_updates(out->session, items - out->items_left);
}

// ---------------------------------------------------------------- in

// Who has not said that it could place it is sent none.
static bool is_early(const PacketIn *in)
{
    return fl__connection_direct(in->session, in->connection) && !fl__time_known(in->session);
}

// The next update of a section, NULL: it is none. What skipping read lies ready for taking; what
// there was no room for is read again, each in the last place.
static ReadUpdate *next_update(const FlSession *session, PacketIn *in)
{
    int32_t at = fl__int_min(in->updates++, READ_AHEAD);
    ReadUpdate *read = &session->entities->read[at];
    bool with_epoch = in->kind != SECTION_MOTION;
    if (in->taking && at < READ_AHEAD) {
        in->r->bit_count += 8 * (read->bytes + (with_epoch ? 1 : 0)); // they are there
        return read;
    }
    read->epoch = with_epoch ? (uint8_t)fl_reader_take(in->r, 8) : 0;
    read->packed = in->r->bytes + in->r->bit_count / 8;
    bool good = fl__update_read(in->r, &session->world, &read->update, &read->time);
    read->bytes = (int32_t)(in->r->bytes + in->r->bit_count / 8 - read->packed);
    return good ? read : NULL;
}

bool fl__motion_skip(const FlSession *session, PacketIn *in)
{
    uint64_t count = fl_reader_take(in->r, 8);
    bool good = count > 0 && !is_early(in);
    for (uint64_t i = 0; i < count && good; i++) {
        good = next_update(session, in) != NULL;
    }
    return good;
}

void fl__motion_take(FlSession *session, PacketIn *in)
{
    const PacketTimes *when = fl__packet_in_times(in);
    uint64_t count = fl_reader_take(in->r, 8);
    for (uint64_t i = 0; i < count; i++) {
        ReadUpdate *read = next_update(session, in);
        if (read == NULL ||
            fl__update_time_find(read->time, when->near, &read->update.motion.time) != FL_OK) {
            continue; // such times are at the end of all days
        }
        uint16_t near = session->entities->number_epoch[read->update.entity];
        uint16_t full = in->kind != SECTION_MOTION ? fl__epoch_unwrap(near, read->epoch) : 0;
        if (in->kind == SECTION_CARRIED) {
            fl__carried_take(session, in->connection, &read->update, full, when);
        } else {
            fl__update_take(session, in->connection, read, full, when);
        }
    }
}

static bool skip(const void *self, PacketIn *in)
{
    return fl__motion_skip((const FlSession *)self, in);
}

static void take(void *self, PacketIn *in)
{
    fl__motion_take((FlSession *)self, in);
}

#define AT_ONCE 64

// What is due again is due over this connection, which is being looked at.
static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    FlLedger *ledger = ((FlSession *)self)->entities->ledger;
    FlDue due[AT_ONCE];
    for (int32_t done = 0; done < count; done += AT_ONCE) {
        int32_t part = fl__int_min(count - done, AT_ONCE);
        for (int32_t i = 0; i < part; i++) {
            due[i] = (FlDue){items[done + i].index, items[done + i].value};
        }
        if (fate->delivered) {
            fl__ledger_arrivals(ledger, connection, due, part, fate->sent, fate->arrived,
                                fate->now);
        }
        for (int32_t i = 0; i < part && !fate->delivered; i++) {
            fl_ledger_lost(ledger, connection, due[i], fate->now);
        }
    }
}

#define BOUND_EVERY FL_SEC(1)
#define BOUND_AT_LEAST FL_MS(10)
#define BOUND_UNKNOWN FL_SEC(10)

// How far the other end's reported arrival times may be from what we know ourselves: our bound
// on its clock, and as much again for its session time, which may still be on its way.
static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Stream *stream = fl__stream(session, index);
    if (now < stream->bound_next || session->entities->ledger == NULL) {
        return;
    }
    stream->bound_next = fl_time_add(now, BOUND_EVERY);
    FlLink *link = fl__connection_link(session, index);
    FlClockReading reading = fl_clock_read(fl__link_peer_clock(link), fl__link_clock(link, now));
    FlTime bound =
        reading.known ? fl_time_min(reading.bound_ns, BOUND_UNKNOWN / 4) : BOUND_UNKNOWN / 4;
    fl_ledger_clock_error(session->entities->ledger, index, 2 * bound + BOUND_AT_LEAST);
}

void fl__motion_set_rider(FlSession *session, const Rider *rider)
{
    session->entities->rider = rider;
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_CONNECTION_CLOSED && session->entities->ledger != NULL) {
        fl_ledger_receiver_end(session->entities->ledger, change->connection);
    } else if (change->kind == CHANGE_CONNECTION_OPENED) {
        Stream fresh = {.states.again = FL_FOREVER,
                        .report_next = fl_time_add(change->now, FL_SEC(1)),
                        .bound_next = change->now};
        *fl__stream(session, change->connection) = fresh;
    }
}

const Feature fl__feature_motion = {
    .name = "motion",
    .sections = {SECTION_MOTION, 2},
    .advance = advance,
    .deadline = deadline,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .look = look,
    .changed = changed,
};
