// Datagrams in and out, and when to look again.
#include "private.h"

#include "connection/sealed.h"

// ---------------------------------------------------------------- in

static void take_packet(FlSession *session, const Opened *in, FlAddress from, FlTime arrival)
{
    FlLinkPacket packet;
    if (fl__away_receive(session, in->index, in->bytes, in->count, arrival) ||
        !fl__connection_receive(session, in->index, from, in->sequence, in->bytes, in->count,
                                arrival, &packet)) {
        return;
    }
    fl__member_came(session, in->index, arrival);
    fl__packet_read(session, in->index, &packet, arrival);
    if (fl__connection_used(session, in->index)) {
        fl__clock_offset_keep(session, in->index, &packet, arrival);
        fl__messages_take(session, in->index, arrival);
    }
}

static Opened open_plain(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                         FlTime arrival)
{
    Opened opened = {FL__NONE, bytes, count, 0, FL_SEAL_DROP_NONE};
    if (fl__refuse_sealed(session, from, bytes, count, arrival)) {
        return opened;
    }
    opened.index = fl__connection_at(session, from);
    if (opened.index == FL__NONE) {
        opened.index = fl__connection_moving(session, from, bytes, count, arrival);
    }
    session->count[FL_SESSION_STRANGER] += opened.index == FL__NONE ? 1 : 0;
    return opened;
}

void fl_session_receive(FlSession *session, FlAddress from, const void *datagram, int32_t count,
                        FlTime arrival)
{
    const uint8_t *bytes = (const uint8_t *)datagram;
    fl__datagram_came(session, arrival);
    if (count <= 0 || count > FL_SESSION_DATAGRAM_BYTES) {
        fl__count(session, FL_SESSION_MALFORMED);
        return;
    }
    if (!fl__light_receive(session, from, bytes, count, arrival) &&
        !fl__join_receive(session, from, bytes, count, arrival)) {
        Opened in = fl__is_sealed(session) ? fl__join_open(session, from, bytes, count, arrival)
                                           : open_plain(session, from, bytes, count, arrival);
        if (in.index != FL__NONE) {
            take_packet(session, &in, from, arrival);
        }
    }
    fl__member_look_whether_in(session);
}

// ---------------------------------------------------------------- out

// A connection may have more to say: it stays its turn until it has not; or for a packet, if others
// wait for the same bytes.
static bool packet_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    bool limited = session->def.upload_bytes_s > 0.0;
    for (;;) {
        int32_t index = fl__connection_turn(session, now);
        if (index == FL__NONE) {
            return false;
        }
        bool sends = fl__packet_next(session, index, now, out);
        if (limited || !sends) {
            fl__connection_pass(session);
        }
        if (sends) {
            return true;
        }
    }
}

static bool next_of_all(FlSession *session, FlTime now, FlOutgoing *out)
{
    bool other = fl__goodbye_next(session, out) || fl__join_sealed_next(session, now, out) ||
                 fl__join_next(session, now, out);
    if (other) {
        fl__upload_sent(session, now, out->count, 0);
        return true;
    }
    if (fl__connections_begin(session)) {
        fl__features_advance(session, now);
    }
    return packet_next(session, now, out) || fl__light_next(session, now, out);
}

#define ROUNDS_AT_MOST 3 // what is left then waits for the next call

FlResult fl_session_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    FlOutgoing none = {0};
    *out = none;
    session->now = now;
    fl__time_update(session, now);
    fl__member_look_whether_in(session);
    for (int32_t round = 0; round < ROUNDS_AT_MOST; round++) {
        if (next_of_all(session, now, out)) {
            return FL_OK;
        }
        // One that timed out may have left something to say to those that were looked at before it.
        if (!fl__goodbyes_wait(session) && fl__connections_due(session) > now) {
            break;
        }
    }
    return FL_NOT_FOUND;
}

// ---------------------------------------------------------------- when

#define ENDED_EVERY FL_MS(100)

FlTime fl_session_deadline(FlSession *session, FlTime now)
{
    FlTime deadline = fl__join_deadline(session, now);
    if (fl__is_sealed(session)) {
        deadline = fl_time_min(deadline, fl__sealed_deadline(session));
    }
    if (session->state == FL_SESSION_ENDED) {
        // Nothing will happen any more, and whoever waits for something has to see that.
        FlTime look = session->end_seen ? fl_time_add(now, ENDED_EVERY) : now;
        session->end_seen = true;
        return fl__time_max(fl_time_min(deadline, look), now);
    }
    if (session->state == FL_SESSION_RUNNING) { // else a client speaks first over its connection
        deadline = fl_time_min(deadline, fl__time_next(session));
        deadline = fl_time_min(deadline, fl__features_deadline(session, now));
        fl__motion_wake(session);
    }
    return fl__time_max(fl_time_min(deadline, fl__connections_due(session)), now);
}
