// Sections of packets: reading and writing.
//
// A payload is any number of sections to its end, each from a whole byte on, its kind in the first.
// What is read is read twice: once to see that all of it is sound, once to take it; so a payload
// with a fault in it has no effect at all.

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

// STATE: an entity's state blob.                                 spec/WIRE.md section 7.6
//
//   bits  field    unit   valid
//   8     kind     -      3
//   16    number   -      the entity's
//   8     epoch    -      low bits
//   16    version  -      1..65535, on a circle without 0
//   8     length   -      bytes follow

// WELCOME: you are in.                                           spec/WIRE.md section 7.4
//
//   bits  field      unit   valid
//   8     kind       -      5
//   64    offset     ns     session time minus the host's link clock, two's complement
//   16    self       -      your number
//   16    members    -      how many numbers there are, at least 2
//   16    host       -      the host's number
//   8     topology   -      0 star, 1 mesh, 2 hybrid, 3 crowd
//   32    share      -      entity numbers per member: member m gives m * share and on

// MAPPING: how I place what arrives here.                        spec/WIRE.md section 7.7
//
//   bits  field    unit   valid
//   8     kind     -      6
//   8     count    -      1..4 follow
//   per mapping:
//   32    serial   -      rising by one
//   40    from     0.25 ms   my link clock: from here on
//   64    offset   ns     session time is the link clock plus this, two's complement

// INPUTS (kind 4) is input.c's, REPORT (kind 7) view.c's, ATTENTION (kind 8) attention.c's, GUIDED
// and NEAR (kinds 9 and 10) guide.c's.
#include "private.h"

enum {
    KIND_MOTION = 1,
    KIND_MOTION_EPOCH = 2,
    KIND_STATE = 3,
    KIND_INPUTS = 4,
    KIND_WELCOME = 5,
    KIND_MAPPING = 6,
    KIND_REPORT = 7,
    KIND_ATTENTION = 8,
    KIND_GUIDED = 9,
    KIND_NEAR = 10,
};

#define MOTION_HEAD 2
#define UPDATES_AT_MOST 255
#define STATE_HEAD 7
#define WELCOME_EVERY FL_MS(100)
#define RELAYED_INPUTS_GATHER FL_MS(5)
#define MAPPING_BYTES 17
#define OFFSET_END (INT64_C(1) << 62) // 146 years, and as many to go

// ---------------------------------------------------------------- reading

typedef struct Reading {
    FlSession *session;
    int32_t line;
    const FlLinkPacket *packet;
    FlTime arrival;
    FlReader *r;
    bool take;
    bool timed; // `when` is known: after a WELCOME in the same packet, which says what time it is
    Moment when;
} Reading;

static const Moment *moment_of(Reading *in)
{
    if (in->take && !in->timed) {
        Line *line = &in->session->lines[in->line];
        in->when = fl__moment(in->session, line, in->packet, in->arrival);
        in->timed = true;
    }
    return &in->when;
}

static void read_motion(Reading *in, bool with_epoch)
{
    FlReader *r = in->r;
    if (in->session->lines[in->line].direct && !fl__time_known(in->session)) {
        fl_reader_fail(r); // we have not said that we could place it
    }
    const Moment *when = moment_of(in);
    uint64_t count = fl_reader_take(r, 8);
    if (count == 0) {
        fl_reader_fail(r);
    }
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        uint8_t epoch = with_epoch ? (uint8_t)fl_reader_take(r, 8) : 0;
        const uint8_t *packed = r->bytes + r->bit_count / 8;
        FlUpdate update;
        FlUpdateFault fault = fl_update_decode(r, &in->session->world, when->near, &update);
        if (fault != FL_UPDATE_OK || !in->take) {
            continue;
        }
        int32_t bytes = (int32_t)(r->bytes + r->bit_count / 8 - packed);
        uint16_t near = in->session->number_epoch[update.entity];
        uint16_t full = with_epoch ? fl_epoch_unwrap(near, epoch) : 0;
        fl__update_take(in->session, in->line, &update, full, packed, bytes, when);
    }
}

static void read_state(const Reading *in)
{
    StateMessage m;
    m.number = (uint32_t)fl_reader_take(in->r, 16);
    m.epoch_low = (uint8_t)fl_reader_take(in->r, 8);
    m.version = (uint16_t)fl_reader_take(in->r, 16);
    m.count = (int32_t)fl_reader_take(in->r, 8);
    m.bytes = fl_reader_bytes(in->r, m.count);
    if (m.version == 0 || m.number >= (uint32_t)in->session->world.def.entity_capacity) {
        fl_reader_fail(in->r);
    }
    if (in->take && !in->r->failed) {
        fl__state_take(in->session, in->line, &m);
    }
}

static void welcomed(const Reading *in, const Welcome *w)
{
    FlSession *session = in->session;
    int32_t index = in->line;
    Line *line = &session->lines[index];
    if (session->state != FL_SESSION_JOINING) {
        fl__succession_heard(session, index, w, in->packet->stamp);
        return;
    }
    line->offset = w->offset;
    Mapping host = {INT64_MIN, w->offset, 0};
    fl__mapping_heard(&line->heard_map, &host);
    fl__welcome_take(session, index, w);
}

static void read_welcome(const Reading *in)
{
    FlReader *r = in->r;
    Welcome w;
    w.offset = (FlTime)fl_reader_take(r, 64);
    w.self = (int32_t)fl_reader_take(r, 16);
    w.members = (int32_t)fl_reader_take(r, 16);
    w.host = (int32_t)fl_reader_take(r, 16);
    uint64_t topology = fl_reader_take(r, 8);
    w.share = (uint32_t)fl_reader_take(r, 32);
    w.topology = topology <= FL_TOPOLOGY_CROWD ? (FlTopology)topology : FL_TOPOLOGY_STAR;
    uint64_t numbers = (uint64_t)in->session->world.def.entity_capacity;
    bool good = w.members >= 2 && w.self < w.members && w.host < w.members && w.self != w.host &&
                topology <= FL_TOPOLOGY_CROWD && w.share >= 1 &&
                (uint64_t)w.share * (uint64_t)w.members <= numbers && w.offset < OFFSET_END &&
                w.offset > -OFFSET_END;
    if (!good || (fl__is_host(in->session) && !in->session->took_over)) {
        fl_reader_fail(r);
    }
    if (in->take && !r->failed) {
        welcomed(in, &w);
    }
}

// With its first mapping an introduced peer says that it can place what we tell.
static void mapping_heard(const Reading *in, const Mapping *mapping)
{
    Line *line = &in->session->lines[in->line];
    bool first = line->heard_map.count == 0;
    fl__mapping_heard(&line->heard_map, mapping);
    if (first && line->direct) {
        fl__line_watch(in->session, in->line, fl_session_time(in->session, in->arrival));
    }
}

static void read_mapping(const Reading *in)
{
    FlReader *r = in->r;
    uint64_t count = fl_reader_take(r, 8);
    if (count == 0 || count > MAPPINGS) {
        fl_reader_fail(r);
    }
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        Mapping mapping;
        mapping.serial = (uint32_t)fl_reader_take(r, 32);
        mapping.from = (FlTime)fl_reader_take(r, 40) * FL_LINK_STEP_NS;
        mapping.offset = (FlTime)fl_reader_take(r, 64);
        if (mapping.offset >= OFFSET_END || mapping.offset <= -OFFSET_END ||
            mapping.serial == UINT32_MAX) {
            fl_reader_fail(r);
        }
        if (in->take && !r->failed) {
            mapping_heard(in, &mapping);
        }
    }
}

static bool read_telling(const Reading *in, Telling telling)
{
    return fl__telling_read(in->session, &telling, in->line, in->r, in->take);
}

static void read_section(Reading *in)
{
    uint64_t kind = fl_reader_take(in->r, 8);
    bool sound = true;
    bool take = in->take;
    in->take = take && (in->session->self != FL__NONE || kind == KIND_WELCOME);
    switch (kind) {
    case KIND_MOTION:
    case KIND_MOTION_EPOCH:
        read_motion(in, kind == KIND_MOTION_EPOCH);
        break;
    case KIND_STATE:
        read_state(in);
        break;
    case KIND_INPUTS:
        sound = fl__input_read(in->session, in->line, in->r, in->take);
        break;
    case KIND_WELCOME:
        read_welcome(in);
        break;
    case KIND_MAPPING:
        read_mapping(in);
        break;
    case KIND_REPORT:
        sound = fl__report_read(in->session, in->line, in->r, in->take);
        break;
    case KIND_ATTENTION:
        sound = read_telling(in, fl__attention_telling(in->session));
        break;
    case KIND_GUIDED:
        sound = fl__guided_read(in->session, in->line, in->r, moment_of(in), in->take);
        break;
    case KIND_NEAR:
        sound = read_telling(in, fl__near_telling(in->session));
        break;
    default:
        sound = false;
        break;
    }
    if (!sound) {
        fl_reader_fail(in->r);
    }
    in->take = take;
}

static bool read_payload(FlSession *session, int32_t line, const FlLinkPacket *packet,
                         FlTime arrival, bool take)
{
    FlReader r;
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    Reading in = {session, line, packet, arrival, &r, take, false, {0, 0, 0}};
    while (!r.failed && fl_reader_left(&r) > 0 && session->lines[line].used) {
        read_section(&in);
    }
    return !r.failed;
}

void fl__payload_read(FlSession *session, int32_t line, const FlLinkPacket *packet, FlTime arrival)
{
    if (packet->payload_bytes == 0) {
        return;
    }
    if (!read_payload(session, line, packet, arrival, false)) {
        session->count[FL_SESSION_MALFORMED]++;
        return;
    }
    (void)read_payload(session, line, packet, arrival, true);
}

// ---------------------------------------------------------------- writing

/// A payload being written.
typedef struct Writing {
    FlSession *session;
    int32_t index;
    Line *line;
    FlWriter *w;
    int32_t left; // bytes
    FlTime now;   // caller's
    FlTime time;  // session's
} Writing;

static uint32_t untold(const Mappings *m)
{
    return m->count - m->told;
}

static int32_t next_state(const FlSession *session, int32_t index, int32_t from)
{
    return fl__bit_next(&session->state_due[index * session->entity_words], session->entity_words,
                        from);
}

#define TOO_OLD FL_SEC(5) // leaves ten for the way

// Whether what is due lies packed, and what it is. What travels of a time goes back 15 s only, so
// an older motion is told from a later time.
static bool is_packed(const FlSession *session, FlDue due, const FlPiece *piece, FlTime time)
{
    const Entity *entity = &session->entities[due.entity];
    return piece->motion.time == entity->packed_time && piece->life == entity->packed_life &&
           fl_span(time, piece->motion.time) <= TOO_OLD;
}

// At most so many bytes. What comes first is whose turn it is: with less, everything that is
// shorter would go before it for ever.
static int32_t motion_needs(const FlSession *session, int32_t index, FlTime now)
{
    FlDue due;
    if (!fl_ledger_due(session->ledger, index, session->lines[index].turn, &due) &&
        !fl_ledger_due(session->ledger, index, 0, &due)) {
        return 0;
    }
    const Entity *entity = &session->entities[due.entity];
    const FlPiece *piece = fl_ledger_exported(session->ledger, due.entity, due.serial);
    bool packed = piece == NULL || is_packed(session, due, piece, fl_session_time(session, now));
    int32_t update = MOTION_HEAD + 1 + (packed ? entity->packed_bytes : FL_UPDATE_BYTES_MAX);
    int32_t guidance = entity->guided ? fl__guide_bytes(session, due.entity) : 0;
    return guidance > update ? guidance : update;
}

// What waits without haste: it may wait a little longer for company.
static int32_t patient_needs(const FlSession *session, int32_t index, FlTime now)
{
    if (fl__manifest_is_full(&session->lines[index].manifest)) {
        return 0; // what is heard of it wakes the line
    }
    int32_t needs = motion_needs(session, index, now);
    if (needs > 0) {
        return needs;
    }
    int32_t slot = next_state(session, index, session->lines[index].state_turn);
    slot = slot != FL__NONE ? slot : next_state(session, index, 0);
    return slot != FL__NONE ? STATE_HEAD + session->entities[slot].state_bytes : 0;
}

static bool gathers(Line *line, FlTime span, FlTime now)
{
    if (span == 0) {
        return false;
    }
    FlTime until = fl_time_add(now, span);
    if (until < line->gather_until) { // FL_FOREVER: the first that waits
        line->gather_until = until;
    }
    return now < line->gather_until;
}

int32_t fl__payload_needs(FlSession *session, int32_t index, FlTime now)
{
    Line *line = &session->lines[index];
    if (fl__line_owes_words(line) && now >= line->welcome_next) {
        return line->welcome_owed ? FL__WELCOME_BYTES : fl__payload_rides(line);
    }
    bool urgent;
    int32_t needs = fl__input_needs(session, index, &urgent);
    if (needs > 0) {
        return !urgent && gathers(line, RELAYED_INPUTS_GATHER, now) ? 0 : needs;
    }
    needs = patient_needs(session, index, now);
    if (needs > 0) {
        return gathers(line, session->def.gather_ns, now) ? 0 : needs;
    }
    return fl__report_needs(session, index, now);
}

int32_t fl__payload_rides(const Line *line)
{
    int32_t count = (int32_t)untold(&line->own_map);
    return count > 0 ? 2 + MAPPING_BYTES * count : 0;
}

static void carry(Writing *out, ItemKind kind, int32_t index, uint32_t value)
{
    Item item = {(uint8_t)kind, (uint16_t)index, value};
    if (!fl__manifest_add(&out->line->manifest, item)) {
        out->session->count[FL_SESSION_UNTRACKED]++;
    }
}

static void write_welcome(Writing *out)
{
    const FlSession *session = out->session;
    if (!out->line->welcome_owed || out->left < FL__WELCOME_BYTES) {
        return;
    }
    FlWriter *w = out->w;
    fl_writer_put(w, KIND_WELCOME, 8);
    fl_writer_put(w, (uint64_t)out->line->offset, 64);
    fl_writer_put(w, (uint64_t)out->line->member, 16);
    fl_writer_put(w, (uint64_t)session->seat_count, 16);
    fl_writer_put(w, (uint64_t)session->host, 16);
    fl_writer_put(w, (uint64_t)session->topology, 8);
    fl_writer_put(w, session->share, 32);
    out->left -= FL__WELCOME_BYTES;
    out->line->welcome_next = fl_time_add(out->now, WELCOME_EVERY);
    carry(out, ITEM_WELCOME, 0, (uint32_t)session->host);
}

static void write_mapping(Writing *out)
{
    Mappings *m = &out->line->own_map;
    int32_t bytes = fl__payload_rides(out->line);
    if (bytes == 0 || out->left < bytes) {
        return;
    }
    fl_writer_put(out->w, KIND_MAPPING, 8);
    fl_writer_put(out->w, untold(m), 8);
    for (uint32_t serial = m->told; serial < m->count; serial++) {
        const Mapping *mapping = &m->entry[serial % MAPPINGS];
        fl_writer_put(out->w, serial, 32);
        fl_writer_put(out->w, (uint64_t)(mapping->from / FL_LINK_STEP_NS), 40);
        fl_writer_put(out->w, (uint64_t)mapping->offset, 64);
    }
    out->left -= bytes;
    out->line->welcome_next = fl_time_add(out->now, WELCOME_EVERY);
    carry(out, ITEM_MAPPING, 0, m->count - 1);
}

static void write_state(Writing *out, int32_t slot)
{
    const Entity *entity = &out->session->entities[slot];
    fl_writer_put(out->w, KIND_STATE, 8);
    fl_writer_put(out->w, entity->number, 16);
    fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    fl_writer_put(out->w, entity->state_version, 16);
    fl_writer_put(out->w, (uint64_t)entity->state_bytes, 8);
    fl_writer_bytes(out->w, entity->state, entity->state_bytes);
    out->left -= STATE_HEAD + entity->state_bytes;
    carry(out, ITEM_STATE, slot, entity->state_version);
    if (out->line->state_again == FL_FOREVER) {
        FlTime acks = 2 * out->session->def.link.ack_delay_ns; // reports of arrivals may rest
        out->line->state_again =
            fl_time_add(out->now, acks > FL__STATE_AGAIN ? acks : FL__STATE_AGAIN);
    }
    out->session->count[FL_SESSION_STATES_SENT]++;
}

// States take turns: each packet goes on where the last one ended.
static void write_states(Writing *out)
{
    FlSession *session = out->session;
    uint64_t *due = &session->state_due[out->index * session->entity_words];
    int32_t start = out->line->state_turn;
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? session->def.entity_capacity : start;
        int32_t slot = next_state(session, out->index, pass == 0 ? start : 0);
        for (; slot != FL__NONE && slot < end; slot = next_state(session, out->index, slot + 1)) {
            const Entity *entity = &session->entities[slot];
            if (fl__entity_live(entity) && fl__entity_goes(session, entity, out->index)) {
                if (out->left < STATE_HEAD + entity->state_bytes ||
                    fl__manifest_is_full(&out->line->manifest)) {
                    out->line->state_turn = slot;
                    return;
                }
                write_state(out, slot);
            }
            fl__bit_clear(due, slot);
        }
    }
}

/// A MOTION being written: where its head is, and how many it has.
typedef struct Section {
    int32_t head_at, count;
    bool epoch;
} Section;

// The bytes of an update that is due: as they are kept, or made now.
static int32_t due_bytes(const Writing *out, FlDue due, const uint8_t **bytes, uint8_t *made)
{
    const FlSession *session = out->session;
    const Entity *entity = &session->entities[due.entity];
    const FlPiece *piece = fl_ledger_exported(session->ledger, due.entity, due.serial);
    if (piece == NULL) {
        return 0;
    }
    if (is_packed(session, due, piece, out->time)) {
        *bytes = entity->packed;
        return entity->packed_bytes;
    }
    *bytes = made;
    bool old = fl_span(out->time, piece->motion.time) > TOO_OLD;
    FlMotion motion = old ? fl_motion_rebase(&piece->motion, out->time - TOO_OLD) : piece->motion;
    return fl__entity_pack(session, entity, &motion, piece->life, made);
}

// Guidance in an update's place: a section of its own, so the next update begins another.
static bool write_guided(Writing *out, Section *section, FlDue due)
{
    FlSession *session = out->session;
    if (fl__guide_bytes(session, due.entity) > out->left) {
        return false;
    }
    fl__guide_learn(session, out->index, due.entity, out->time);
    fl_ledger_sent(session->ledger, out->index, due, out->time);
    out->left -= fl__guide_write(session, due.entity, out->w, false);
    section->count = 0;
    session->upload.update_count++;
    carry(out, ITEM_MOTION, due.entity, due.serial);
    return true;
}

static bool write_update(Writing *out, Section *section, FlDue due)
{
    FlSession *session = out->session;
    if (fl__manifest_is_full(&out->line->manifest)) {
        return false;
    }
    GuideWay way = fl__guide_way(session, out->index, due.entity, out->time);
    if (way == GUIDE_INSTEAD) {
        return write_guided(out, section, due);
    }
    const Entity *entity = &session->entities[due.entity];
    uint8_t made[FL_UPDATE_BYTES_MAX];
    const uint8_t *bytes = made;
    int32_t count = due_bytes(out, due, &bytes, made);
    bool epoch = entity->epoch != 0;
    bool fresh =
        section->count == 0 || section->count == UPDATES_AT_MOST || section->epoch != epoch;
    int32_t takes = count + (epoch ? 1 : 0) + (fresh ? MOTION_HEAD : 0);
    if (takes > out->left) {
        return false;
    }
    fl__guide_learn(session, out->index, due.entity, out->time);
    fl_ledger_sent(session->ledger, out->index, due, out->time);
    if (count == 0) {
        return true; // forgotten meanwhile
    }
    if (fresh) {
        Section next = {fl_writer_size(out->w), 0, epoch};
        *section = next;
        fl_writer_put(out->w, epoch ? KIND_MOTION_EPOCH : KIND_MOTION, 8);
        fl_writer_put(out->w, 0, 8);
    }
    if (epoch) {
        fl_writer_put(out->w, entity->epoch & 0xffu, 8);
    }
    fl_writer_bytes(out->w, bytes, count);
    out->w->bytes[section->head_at + 1] = (uint8_t)++section->count;
    out->left -= takes;
    session->upload.update_count++;
    carry(out, ITEM_MOTION, due.entity, due.serial);
    session->count[entity->ours ? FL_SESSION_UPDATES_SENT : FL_SESSION_UPDATES_RELAYED]++;
    if (way == GUIDE_BESIDE && fl__guide_bytes(session, due.entity) <= out->left) {
        out->left -= fl__guide_write(session, due.entity, out->w, true);
        section->count = 0;
    }
    return true;
}

// Entities take turns, so that a small budget is everybody's: each packet goes on where the last
// one over this line ended; what is passed over for being too long begins the next.
static void write_motion(Writing *out)
{
    Section section = {0, 0, false};
    int32_t capacity = out->session->def.entity_capacity;
    int32_t start = out->line->turn;
    int32_t turn = FL__NONE; // passed over
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? capacity : start;
        int32_t from = pass == 0 ? start : 0;
        FlDue due;
        while (fl_ledger_due(out->session->ledger, out->index, from, &due) && due.entity < end) {
            if (write_update(out, &section, due)) {
                out->line->turn = (due.entity + 1) % capacity;
            } else if (turn == FL__NONE) {
                turn = due.entity;
            }
            from = due.entity + 1;
        }
    }
    out->line->turn = turn == FL__NONE ? out->line->turn : turn;
}

enum { TELLINGS = 2 };

static void write_tellings(Writing *out, const Telling tellings[TELLINGS])
{
    for (int32_t i = 0; i < TELLINGS; i++) {
        out->left -= fl__telling_write(out->session, &tellings[i], out->index, out->w, out->left);
    }
}

void fl__payload_write(FlSession *session, int32_t index, FlWriter *writer, int32_t room,
                       FlTime now)
{
    int32_t fits = (writer->capacity_bits - writer->bit_count) / 8;
    int32_t rides = fl__payload_rides(&session->lines[index]);
    const Telling tellings[TELLINGS] = {fl__attention_telling(session), fl__near_telling(session)};
    int32_t left = room + rides;
    for (int32_t i = 0; i < TELLINGS; i++) {
        left += fl__telling_bytes(session, &tellings[i], index);
    }
    Writing out = {session,
                   index,
                   &session->lines[index],
                   writer,
                   left < fits ? left : fits,
                   now,
                   fl_session_time(session, now)};
    if (room == 0) { // reports go in every packet, and with them by what clock to read them
        if (out.line->promoted) { // who does not know yet that we host does not understand the rest
            out.left += FL__WELCOME_BYTES < fits - out.left ? FL__WELCOME_BYTES : 0;
            write_welcome(&out);
        }
        write_mapping(&out);
        write_tellings(&out, tellings);
        return;
    }
    out.line->gather_until = FL_FOREVER;
    write_welcome(&out);
    write_mapping(&out);
    write_tellings(&out, tellings);
    out.left -= fl__input_write(session, index, writer, out.left, out.now);
    write_motion(&out);
    write_states(&out);
    fl__report_write(session, index, writer, out.left, now);
}
