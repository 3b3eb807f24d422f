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

#include "private.h"

#define MOTION_HEAD 2
#define UPDATES_AT_MOST 255
#define UPLOAD_FOR_WORDS 0.02 // of a second's bytes: not for frames, so that calls need not wait

// ---------------------------------------------------------------- what is due

void fl__motion_wake(FlSession *session)
{
    if (!session->exported) {
        return;
    }
    session->exported = false;
    for (int32_t i = 0; i < session->line_count; i++) {
        FlDue due;
        if (session->lines[i].used && fl_ledger_due(session->ledger, i, 0, &due)) {
            fl__line_wake(session, i);
        }
    }
}

// Lets the policies decide.
static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    FlTime time = fl_session_time(session, now);
    if (fl_ledger_deadline(session->ledger) <= time) {
        double words = UPLOAD_FOR_WORDS * session->def.upload_bytes_s;
        double left = fl__upload_left(session, now) - words;
        fl_ledger_allow(session->ledger, left > 0.0 ? left : 0.0, session->upload.header_bytes);
        uint64_t frame = fl_session_frame(session).number;
        fl_ledger_update(session->ledger, time);
        FlFocusFrame decided = fl_session_frame(session);
        session->count[FL_SESSION_UPDATES_HELD_BACK] +=
            decided.number != frame ? (uint64_t)decided.waiting_count : 0;
        session->exported = true;
    }
    fl__motion_wake(session);
}

static FlTime deadline(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    (void)now;
    FlTime asked = fl_ledger_deadline(session->ledger);
    // A bent clock's inverse is off by a nanosecond or so; never a moment too early.
    return asked != FL_FOREVER ? fl_time_add(fl_session_when(session, asked), FL_US(1))
                               : FL_FOREVER;
}

#define TOO_OLD FL_SEC(5) // leaves ten for the way

// Whether what is due lies packed, and what it is. What travels of a time goes back 15 s only, so
// an older motion is told from a later time.
static bool is_packed(const Entity *entity, const FlPiece *piece, FlTime time)
{
    return piece->motion.time == entity->packed_time && piece->life == entity->packed_life &&
           fl_span(time, piece->motion.time) <= TOO_OLD;
}

// At most so many bytes. What comes first is whose turn it is: with less, everything that is
// shorter would go before it for ever.
static Want want(const void *self, int32_t index, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    FlDue due;
    if (fl__manifest_is_full(&session->lines[index].manifest)) {
        return fl__want_none(); // what is heard of it wakes the line
    }
    if (!fl_ledger_due(session->ledger, index, session->lines[index].turn, &due) &&
        !fl_ledger_due(session->ledger, index, 0, &due)) {
        return fl__want_none();
    }
    const Entity *entity = &session->entities[due.entity];
    const FlPiece *piece = fl_ledger_exported(session->ledger, due.entity, due.serial);
    bool packed = piece == NULL || is_packed(entity, piece, fl_session_time(session, now));
    int32_t update = MOTION_HEAD + 1 + (packed ? entity->packed_bytes : FL_UPDATE_BYTES_MAX);
    int32_t guidance = entity->guided ? fl__guide_bytes(session, due.entity) : 0;
    Want want = {now, session->def.gather_ns, guidance > update ? guidance : update, 0};
    return want;
}

// ---------------------------------------------------------------- out

/// A MOTION being written: where its head is, and how many it has.
typedef struct Section {
    int32_t head_at, count;
    bool epoch;
} Section;

// The bytes of an update that is due: as they are kept, or made now.
static int32_t due_bytes(const PacketOut *out, FlDue due, const Entity *entity,
                         const uint8_t **bytes, uint8_t *made)
{
    const FlSession *session = out->session;
    const FlPiece *piece = fl_ledger_exported(session->ledger, due.entity, due.serial);
    if (piece == NULL) {
        return 0;
    }
    if (is_packed(entity, piece, out->time)) {
        *bytes = entity->packed;
        return entity->packed_bytes;
    }
    *bytes = made;
    bool old = fl_span(out->time, piece->motion.time) > TOO_OLD;
    FlMotion motion = old ? fl_motion_rebase(&piece->motion, out->time - TOO_OLD) : piece->motion;
    return fl__entity_pack(session, entity, &motion, piece->life, made);
}

// Guidance in an update's place: a section of its own, so the next update begins another.
static bool write_guided(PacketOut *out, Section *section, FlDue due)
{
    FlSession *session = out->session;
    if (fl__guide_bytes(session, due.entity) > out->left) {
        return false;
    }
    fl__guide_learn(session, out->index, due.entity, out->time);
    fl_ledger_sent(session->ledger, out->index, due, out->time);
    out->left -= fl__guide_bytes(session, due.entity);
    fl__guide_write(session, due.entity, out->w, false);
    section->count = 0;
    session->upload.update_count++;
    fl__packet_note(out, due.entity, due.serial);
    return true;
}

static bool write_update(PacketOut *out, Section *section, FlDue due)
{
    FlSession *session = out->session;
    if (fl__manifest_is_full(&out->line->manifest)) {
        return false;
    }
    const Entity *entity = &session->entities[due.entity];
    GuideWay way =
        entity->guided ? fl__guide_way(session, out->index, due.entity, out->time) : GUIDE_NONE;
    if (way == GUIDE_INSTEAD) {
        return write_guided(out, section, due);
    }
    uint8_t made[FL_UPDATE_BYTES_MAX];
    const uint8_t *bytes = made;
    int32_t count = due_bytes(out, due, entity, &bytes, made);
    bool epoch = entity->epoch != 0;
    bool fresh =
        section->count == 0 || section->count == UPDATES_AT_MOST || section->epoch != epoch;
    int32_t takes = count + (epoch ? 1 : 0) + (fresh ? MOTION_HEAD : 0);
    if (takes > out->left) {
        return false;
    }
    if (entity->guided) {
        fl__guide_learn(session, out->index, due.entity, out->time);
    }
    fl_ledger_sent(session->ledger, out->index, due, out->time);
    if (count == 0) {
        return true; // forgotten meanwhile
    }
    if (fresh) {
        Section next = {fl_writer_size(out->w), 0, epoch};
        *section = next;
        fl_writer_put(out->w, epoch ? SECTION_MOTION_EPOCH : SECTION_MOTION, 8);
        fl_writer_put(out->w, 0, 8);
    }
    if (epoch) {
        fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    }
    fl_writer_bytes(out->w, bytes, count);
    out->w->bytes[section->head_at + 1] = (uint8_t)++section->count;
    out->left -= takes;
    session->upload.update_count++;
    fl__packet_note(out, due.entity, due.serial);
    session->count[entity->ours ? FL_SESSION_UPDATES_SENT : FL_SESSION_UPDATES_RELAYED]++;
    if (way == GUIDE_BESIDE && fl__guide_bytes(session, due.entity) <= out->left) {
        out->left -= fl__guide_bytes(session, due.entity);
        fl__guide_write(session, due.entity, out->w, true);
        section->count = 0;
    }
    return true;
}

// Entities take turns, so that a small budget is everybody's: each packet goes on where the last
// one over this line ended; what is passed over for being too long begins the next.
static void write(void *self, PacketOut *out)
{
    (void)self;
    Section section = {0, 0, false};
    int32_t capacity = out->session->def.entity_capacity;
    int32_t start = out->line->turn;
    int32_t next = start;    // after the last that was written
    int32_t turn = FL__NONE; // passed over
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? capacity : start;
        int32_t from = pass == 0 ? start : 0;
        FlDue due;
        while (fl_ledger_due(out->session->ledger, out->index, from, &due) && due.entity < end) {
            if (write_update(out, &section, due)) {
                next = due.entity + 1;
            } else if (turn == FL__NONE) {
                turn = due.entity;
            }
            from = due.entity + 1;
        }
    }
    out->line->turn = turn != FL__NONE ? turn : next < capacity ? next : 0;
}

// ---------------------------------------------------------------- in

// Who has not said that it could place it is sent none.
static bool is_early(const PacketIn *in)
{
    return in->session->lines[in->line].direct && !fl__time_known(in->session);
}

static bool skip(const void *self, PacketIn *in)
{
    const FlSession *session = (const FlSession *)self;
    uint64_t count = fl_reader_take(in->r, 8);
    bool good = count > 0 && !is_early(in);
    for (uint64_t i = 0; i < count && good; i++) {
        if (in->kind == SECTION_MOTION_EPOCH) {
            (void)fl_reader_take(in->r, 8);
        }
        good = fl_update_skip(in->r, &session->world);
    }
    return good;
}

static void take(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    FlReader *r = in->r;
    const Moment *when = fl__packet_when(in);
    uint64_t count = fl_reader_take(r, 8);
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        bool with_epoch = in->kind == SECTION_MOTION_EPOCH;
        uint8_t epoch = with_epoch ? (uint8_t)fl_reader_take(r, 8) : 0;
        const uint8_t *packed = r->bytes + r->bit_count / 8;
        FlUpdate update;
        if (fl_update_decode(r, &session->world, when->near, &update) != FL_UPDATE_OK) {
            return; // its time is out of range
        }
        int32_t bytes = (int32_t)(r->bytes + r->bit_count / 8 - packed);
        uint16_t near = session->number_epoch[update.entity];
        uint16_t full = with_epoch ? fl_epoch_unwrap(near, epoch) : 0;
        fl__update_take(session, in->line, &update, full, packed, bytes, when);
    }
}

// What is due again is due over this line, which is being looked at.
static void outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    FlDue due = {item->index, item->value};
    if (fate->delivered) {
        fl_ledger_arrived(session->ledger, line, due, fate->sent, fate->arrived, fate->now);
    } else {
        fl_ledger_lost(session->ledger, line, due, fate->now);
    }
}

#define DOUBT_EVERY FL_SEC(1)
#define DOUBT_AT_LEAST FL_MS(10)
#define DOUBT_UNKNOWN FL_SEC(10)

// How far the other end's word on arrival times may be from what we can tell ourselves: our bound
// on its clock, and as much again for its session time, which may still be on its way.
static void look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Line *line = &session->lines[index];
    if (now < line->doubt_next) {
        return;
    }
    line->doubt_next = fl_time_add(now, DOUBT_EVERY);
    FlClockReading reading =
        fl_clock_read(fl_link_peer_clock(line->link), fl_link_clock(line->link, now));
    FlTime bound = reading.known && reading.bound_ns < DOUBT_UNKNOWN / 4 ? reading.bound_ns
                                                                         : DOUBT_UNKNOWN / 4;
    fl_ledger_clock_error(session->ledger, index, 2 * bound + DOUBT_AT_LEAST);
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_LINE_CLOSED) {
        fl_ledger_receiver_end(session->ledger, change->line);
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
