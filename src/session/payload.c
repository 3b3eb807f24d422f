// What rides in packets: updates.
//
// MOTION: where entities are.                                    spec/WIRE.md section 5.4
//
//   bits  field    unit   valid
//   8     kind     -      1
//   8     count    -      1..255 UPDATEs follow, each from a whole byte on
//
// A payload is any number of these to its end. An UPDATE's time is unwrapped against the receiver's
// session time at the packet's arrival.
#include "private.h"

enum { KIND_MOTION = 1 };

#define HEAD_BYTES 2
#define UPDATES_AT_MOST 255

// ---------------------------------------------------------------- reading

// The arrival in session time, rounded as it was reported: so the sender can know exactly what is
// shown here.
static FlTime arrival_in_session(const FlSession *session, int32_t peer, const FlLinkPacket *packet,
                                 FlTime arrival)
{
    FlTime rounding = fl_link_clock(session->peers[peer].link, arrival) - packet->arrived;
    return fl_session_time(session, arrival - rounding);
}

static FlTime one_way_delay(const FlSession *session, int32_t peer)
{
    FlClockDelays delays = fl_clock_delays(fl_link_peer_clock(session->peers[peer].link));
    return delays.known ? delays.in.average_ns : 0;
}

static void take_update(FlSession *session, int32_t peer, FlUpdate *update, FlTime arrival)
{
    const Peer *from = &session->peers[peer];
    if (update->entity < from->first_entity ||
        update->entity - from->first_entity >= from->entity_count) {
        session->count[FL_SESSION_FOREIGN]++;
        return;
    }
    Entity *entity = fl__entity_remote(session, peer, update->entity);
    if (entity == NULL) {
        session->count[FL_SESSION_NO_ROOM]++;
        return;
    }
    FlTime stamp = update->motion.time;
    update->motion.time =
        fl_time_place(session->def.time_mode, stamp, arrival, one_way_delay(session, peer));
    bool shown = fl_show_arrive(&entity->show, update, stamp, arrival);
    session->count[shown ? FL_SESSION_UPDATES_TAKEN : FL_SESSION_UPDATES_OVERTAKEN]++;
}

static void read_motion(FlSession *session, int32_t peer, FlReader *r, FlTime arrival)
{
    uint64_t count = fl_reader_take(r, 8);
    if (count == 0) {
        fl_reader_fail(r);
    }
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        FlUpdate update;
        if (fl_update_decode(r, &session->world, arrival, &update) == FL_UPDATE_OK) {
            take_update(session, peer, &update, arrival);
        }
    }
}

void fl__payload_read(FlSession *session, int32_t peer, const FlLinkPacket *packet, FlTime arrival)
{
    if (packet->payload_bytes == 0) {
        return;
    }
    if (fl_session_clock_state(&session->clock) == FL_SESSION_CLOCK_UNSET) {
        session->count[FL_SESSION_NO_TIME]++;
        return;
    }
    FlTime arrived = arrival_in_session(session, peer, packet, arrival);
    FlReader r;
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    while (!r.failed && fl_reader_left(&r) > 0) {
        if (fl_reader_take(&r, 8) == KIND_MOTION) {
            read_motion(session, peer, &r, arrived);
        } else {
            fl_reader_fail(&r);
        }
    }
    session->count[FL_SESSION_MALFORMED] += r.failed ? 1 : 0;
}

// ---------------------------------------------------------------- writing

static bool is_due(const FlSession *session, const Entity *entity, int32_t peer)
{
    bool ours = (entity->generation & 1u) != 0 && entity->owner == FL__PEER_NONE;
    return ours && entity->packed_bytes > 0 && *fl__entity_due(session, entity, peer);
}

bool fl__payload_waits(const FlSession *session, int32_t peer)
{
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        if (is_due(session, &session->entities[i], peer)) {
            return true;
        }
    }
    return false;
}

void fl__payload_write(FlSession *session, int32_t peer, FlWriter *writer, int32_t room, FlTime now)
{
    int32_t left = (writer->capacity_bits - writer->bit_count) / 8;
    left = room < left ? room : left;
    int32_t count_at = fl_writer_size(writer) + 1;
    int32_t count = 0;
    left -= HEAD_BYTES;
    for (int32_t i = 0; i < session->def.entity_capacity && count < UPDATES_AT_MOST; i++) {
        Entity *entity = &session->entities[i];
        if (!is_due(session, entity, peer)) {
            continue;
        }
        fl__entity_refresh(session, entity, now);
        if (entity->packed_bytes > left) {
            continue;
        }
        if (count == 0) {
            fl_writer_put(writer, KIND_MOTION, 8);
            fl_writer_put(writer, 0, 8);
        }
        fl_writer_bytes(writer, entity->packed, entity->packed_bytes);
        left -= entity->packed_bytes;
        *fl__entity_due(session, entity, peer) = false;
        count++;
    }
    if (count > 0) {
        writer->bytes[count_at] = (uint8_t)count;
        session->count[FL_SESSION_UPDATES_SENT] += (uint64_t)count;
    }
}
