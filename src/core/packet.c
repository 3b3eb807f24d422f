// What packets carry: loops over the table of features.
//
// A payload is any number of sections to its end, each from a whole byte on, its kind in the first.
// All of them are skipped once, which looks at lengths and ranges, before the first is taken; so a
// payload with a fault in it has no effect at all.
#include "private.h"

// ---------------------------------------------------------------- all features

static void claim_kinds(uint8_t by_kind[KINDS_AT_MOST], Kinds kinds, int32_t row)
{
    for (int32_t i = 0; i < kinds.count; i++) {
        FL_ASSERT(kinds.first + i < KINDS_AT_MOST && by_kind[kinds.first + i] == 0);
        by_kind[kinds.first + i] = (uint8_t)(row + 1);
    }
}

void fl__feature_add(FlSession *session, const Feature *feature, void *self)
{
    Features *f = &session->features;
    FL_ASSERT(f->count < FEATURES_AT_MOST);
    FL_ASSERT(feature->sections.count == 0 || (feature->skip != NULL && feature->take != NULL));
    FL_ASSERT(feature->messages.count == 0 || feature->message != NULL);
    claim_kinds(f->by_section, feature->sections, f->count);
    claim_kinds(f->by_message, feature->messages, f->count);
    f->row[f->count] = feature;
    f->self[f->count] = self;
    f->count++;
}

uint8_t fl__feature_row(const FlSession *session, const Feature *feature)
{
    const Features *f = &session->features;
    int32_t row = 0;
    while (row < f->count && f->row[row] != feature) {
        row++;
    }
    FL_ASSERT(row < f->count);
    return (uint8_t)row;
}

void fl__changed(FlSession *session, const Change *change)
{
    const Features *f = &session->features;
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->changed != NULL) {
            f->row[i]->changed(f->self[i], change);
        }
    }
}

void fl__way_changed(FlSession *session, int32_t line, int32_t member)
{
    Change way = {.kind = CHANGE_WAY, .line = line, .member = member};
    fl__changed(session, &way);
}

bool fl__features_have_room(const FlSession *session, int32_t line)
{
    const Features *f = &session->features;
    bool room = true;
    for (int32_t i = 0; i < f->count && room; i++) {
        room = f->row[i]->room == NULL || f->row[i]->room(f->self[i], line);
    }
    return room;
}

void fl__features_advance(FlSession *session, FlTime now)
{
    const Features *f = &session->features;
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->advance != NULL) {
            f->row[i]->advance(f->self[i], now);
        }
    }
}

void fl__features_look(FlSession *session, int32_t line, FlTime now)
{
    const Features *f = &session->features;
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->look != NULL) {
            f->row[i]->look(f->self[i], line, now);
        }
    }
}

FlTime fl__features_deadline(FlSession *session, FlTime now)
{
    const Features *f = &session->features;
    FlTime deadline = FL_FOREVER;
    for (int32_t i = 0; i < f->count; i++) {
        FlTime own =
            f->row[i]->deadline != NULL ? f->row[i]->deadline(f->self[i], now) : FL_FOREVER;
        deadline = own < deadline ? own : deadline;
    }
    return deadline;
}

// ---------------------------------------------------------------- reading

const Moment *fl__packet_when(PacketIn *in)
{
    if (!in->timed) {
        Line *line = &in->session->lines[in->line];
        in->when = fl__moment(in->session, line, in->packet, in->arrival);
        in->timed = true;
    }
    return &in->when;
}

// The row whose section comes next, or FL__NONE: nobody writes that.
static int32_t next_section(PacketIn *in)
{
    const Features *f = &in->session->features;
    in->kind = (uint8_t)fl_reader_take(in->r, 8);
    return in->kind < KINDS_AT_MOST ? (int32_t)f->by_section[in->kind] - 1 : FL__NONE;
}

static bool skip_all(PacketIn *in)
{
    const Features *f = &in->session->features;
    while (!in->r->failed && fl_reader_left(in->r) > 0) {
        int32_t row = next_section(in);
        if (row == FL__NONE || !f->row[row]->skip(f->self[row], in)) {
            return false;
        }
    }
    return !in->r->failed;
}

// A section may end the connection, or be the host's first words.
static void take_all(PacketIn *in)
{
    FlSession *session = in->session;
    const Features *f = &session->features;
    while (fl_reader_left(in->r) > 0 && session->lines[in->line].used) {
        int32_t row = next_section(in);
        bool taken = session->self != FL__NONE || f->row[row]->first;
        in->from = session->lines[in->line].member; // a WELCOME says who it is
        if (taken) {
            f->row[row]->take(f->self[row], in);
        } else {
            (void)f->row[row]->skip(f->self[row], in);
        }
    }
}

void fl__packet_read(FlSession *session, int32_t line, const FlLinkPacket *packet, FlTime arrival)
{
    if (packet->payload_bytes == 0) {
        return;
    }
    FlReader r;
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    PacketIn in = {.session = session,
                   .line = line,
                   .from = session->lines[line].member,
                   .r = &r,
                   .packet = packet,
                   .arrival = arrival};
    if (!skip_all(&in)) {
        session->count[FL_SESSION_MALFORMED]++;
        return;
    }
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    take_all(&in);
}

// ---------------------------------------------------------------- writing

Want fl__packet_want(const FlSession *session, int32_t index, FlTime now)
{
    const Features *f = &session->features;
    Want all = fl__want_none();
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->want == NULL) {
            continue;
        }
        Want one = f->row[i]->want(f->self[i], index, now);
        all.rides += one.rides;
        bool due = one.at <= now && all.at > now;
        if (due || (one.at < all.at && all.at > now)) {
            int32_t rides = all.rides;
            all = one;
            all.rides = rides;
        }
    }
    return all;
}

void fl__packet_write(FlSession *session, int32_t index, FlWriter *writer, int32_t room,
                      int32_t rides, FlTime now)
{
    const Features *f = &session->features;
    int32_t fits = (writer->capacity_bits - writer->bit_count) / 8;
    PacketOut out = {.session = session,
                     .index = index,
                     .line = &session->lines[index],
                     .w = writer,
                     .only_rides = room == 0,
                     .left = room + rides < fits ? room + rides : fits,
                     .now = now,
                     .time = fl_session_time(session, now)};
    for (int32_t i = 0; i < f->count; i++) {
        if (f->row[i]->write != NULL && (room > 0 || f->row[i]->rides)) {
            int32_t end = fl_writer_size(writer) + out.left;
            out.row = (uint8_t)i;
            f->row[i]->write(f->self[i], &out);
            out.left = end - fl_writer_size(writer);
        }
    }
}
