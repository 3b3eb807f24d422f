// What packets carry: payloads.
//
// A payload is any number of sections to its end, each from a whole byte on, its kind in the first.
// All of them are skipped once, which looks at lengths and ranges, before the first is taken; so a
// payload with a fault in it has no effect at all.
#include "private.h"

// ---------------------------------------------------------------- reading

const PacketTimes *fl__packet_in_times(PacketIn *in)
{
    if (!in->timed) {
        in->when = fl__packet_times(in->session, in->connection, in->packet, in->arrival);
        in->timed = true;
    }
    return &in->when;
}

// The row whose section comes next, or FL__NONE: no sender writes that.
static int32_t next_section(PacketIn *in)
{
    const Features *f = &in->session->packets->features;
    in->kind = (uint8_t)fl_reader_take(in->r, 8);
    return in->kind < KINDS_AT_MOST ? (int32_t)f->by_section[in->kind] - 1 : FL__NONE;
}

static bool skip_all(PacketIn *in)
{
    const Features *f = &in->session->packets->features;
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
    const Features *f = &session->packets->features;
    while (fl_reader_left(in->r) > 0 && fl__connection_used(session, in->connection)) {
        int32_t row = next_section(in);
        bool taken = session->self != FL__NONE || f->row[row]->first;
        in->from = fl__connection_member(session, in->connection); // a WELCOME says who it is
        if (!fl__may_send_section(in->kind, fl__speaker(session, in->connection))) {
            fl__connection_foreign(session, in->connection);
            taken = false;
        }
        if (taken) {
            f->row[row]->take(f->self[row], in);
        } else {
            (void)f->row[row]->skip(f->self[row], in);
        }
    }
}

void fl__packet_read(FlSession *session, int32_t connection, const FlLinkPacket *packet,
                     FlTime arrival)
{
    if (packet->payload_bytes == 0 || fl__connection_waiting(session, connection)) {
        return;
    }
    FlReader r;
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    PacketIn in = {.session = session,
                   .connection = connection,
                   .from = fl__connection_member(session, connection),
                   .r = &r,
                   .packet = packet,
                   .arrival = arrival};
    if (!skip_all(&in)) {
        fl__connection_malformed(session, connection);
        return;
    }
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    in.taking = true;
    in.updates = 0;
    take_all(&in);
}

// ---------------------------------------------------------------- writing

Want fl__packet_want(const FlSession *session, int32_t connection, FlTime now)
{
    const Features *f = &session->packets->features;
    Want all = fl__want_none();
    for (Rows rows = fl__connection_waiting(session, connection) ? 0 : f->wanting; rows != 0;) {
        int32_t i = fl__rows_take(&rows);
        Want one = f->row[i]->want(f->self[i], connection, now);
        all.rides += one.rides;
        all.first += one.first;
        bool due = one.at <= now && all.at > now;
        if (due || (one.at < all.at && all.at > now)) {
            one.rides = all.rides;
            one.first = all.first;
            all = one;
        }
    }
    return all;
}

void fl__packet_write(FlSession *session, int32_t connection, FlWriter *writer, int32_t room,
                      int32_t rides, FlTime now)
{
    const Features *f = &session->packets->features;
    int32_t fits = (writer->capacity_bits - writer->bit_count) / 8;
    PacketOut out = {.session = session,
                     .connection = connection,
                     .w = writer,
                     .only_rides = room == 0,
                     .tight = fl__outbox(session, connection)->tight,
                     .left = room + rides < fits ? room + rides : fits,
                     .items_left = fl__manifest_left(session, connection),
                     .manifest = &fl__outbox(session, connection)->manifest,
                     .now = now,
                     .time = fl_session_time(session, now)};
    for (Rows rows = f->writing; rows != 0 && !fl__connection_waiting(session, connection);) {
        int32_t i = fl__rows_take(&rows);
        if (room > 0 || f->row[i]->rides) {
            int32_t end = fl_writer_size(writer) + out.left;
            out.row = (uint8_t)i;
            f->row[i]->write(f->self[i], &out);
            out.left = end - fl_writer_size(writer);
        }
    }
}
