// The rows of module `member`: who is here, with the host's first words; and by what clock offset
// to read arrivals, which is sent often until it has arrived.

// CLOCK_OFFSET: how I place what arrives here.                        spec/WIRE.md section 7.7
//
//   bits  field    unit   valid
//   8     kind     -      6
//   8     count    -      1..4 follow
//   per clock offset:
//   32    serial   -      rising by one
//   40    from     0.25 ms   my link clock: from here on
//   64    offset   ns     session time is the link clock plus this, two's complement

#include "private.h"

#include <string.h>

// ---------------------------------------------------------------- member

static void take_welcome(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    Welcome w;
    if (!fl__welcome_read(session, in->r, &w)) {
        return;
    }
    if (session->state == FL_SESSION_JOINING) {
        fl__welcome_take(session, in->connection, &w);
    } else {
        fl__succession_welcome(session, in->connection, &w, in->packet->stamp);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        int32_t member = fl__connection_member(session, change->connection);
        fl__member(session, member)->connection = change->connection;
        Handshake fresh = {.meet_again = INT64_MIN};
        *fl__handshake(session, change->connection) = fresh;
    } else if (change->kind == CHANGE_CONNECTION_CLOSED) {
        int32_t number = fl__connection_member(session, change->connection);
        Member *member = fl__member(session, number);
        bool own = member->connection == change->connection;
        member->connection = own ? FL__NONE : member->connection;
        memset(fl__handshake(session, change->connection), 0, sizeof(Handshake));
    } else if (change->kind == CHANGE_CONNECTION_FAILED) {
        fl__connection_lost(session, change->connection, change->left, change->now);
    }
}

const Feature fl__feature_member = {
    .name = "member",
    .sections = {SECTION_WELCOME, 1},
    .messages = {MESSAGE_MEMBER, 1},
    .first = true,
    .rides = true,
    .repeats = true,
    .want = fl__welcome_want,
    .write = fl__welcome_write,
    .skip = fl__welcome_skip,
    .take = take_welcome,
    .message = fl__member_message,
    .outcome = fl__welcome_outcome,
    .look = fl__rule_look,
    .changed = changed,
    .announce = fl__members_send_due,
};

// ---------------------------------------------------------------- CLOCK_OFFSET

static Want want_clock_offset(const void *self, int32_t connection, FlTime now)
{
    (void)now;
    const FlSession *session = (const FlSession *)self;
    int32_t bytes = fl__clock_offset_bytes(session, connection);
    Want want = fl__want_none();
    want.rides = bytes > 0 ? 1 + bytes : 0;
    if (bytes > 0 && fl__clock_offset_first(session, connection)) {
        want.at = fl__handshake(session, connection)->welcome_next;
        want.bytes = want.rides;
    }
    return want;
}

static void write_clock_offset(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    int32_t bytes = fl__clock_offset_bytes(session, out->connection);
    if (bytes == 0 || out->left < 1 + bytes) {
        return;
    }
    fl_writer_put(out->w, SECTION_CLOCK_OFFSET, 8);
    uint32_t serial = fl__clock_offset_write(session, out->connection, out->w);
    fl__handshake(session, out->connection)->welcome_next = fl_time_add(out->now, WELCOME_EVERY);
    fl__packet_note(out, 0, serial);
}

static void clock_offset_outcome(void *self, int32_t connection, const Item *items, int32_t count,
                                 const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    for (int32_t i = 0; i < count; i++) {
        if (fate->delivered && fl__clock_offset_arrived(session, connection, items[i].value) &&
            fl__connection_direct(session, connection)) {
            fl__mesh_understood(session, connection);
        }
    }
}

static bool skip_clock_offset(const void *self, PacketIn *in)
{
    (void)self;
    return fl__clock_offset_skip(in->r);
}

// With its first clock offset an introduced peer says that it can place what we send.
static void take_clock_offset(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    if (fl__clock_offset_take(session, in->connection, in->r) &&
        fl__connection_direct(session, in->connection)) {
        fl__connection_changed(session, CHANGE_CONNECTION_READY, in->connection, in->arrival);
    }
}

const Feature fl__feature_clock = {
    .name = "clock",
    .sections = {SECTION_CLOCK_OFFSET, 1},
    .rides = true,
    .repeats = true,
    .want = want_clock_offset,
    .write = write_clock_offset,
    .skip = skip_clock_offset,
    .take = take_clock_offset,
    .outcome = clock_offset_outcome,
};
