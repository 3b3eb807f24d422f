// What rides in packets: updates.

// MOTION: where entities are.                                    spec/WIRE.md section 7.4
//
//   bits  field    unit   valid
//   8     kind     -      1
//   8     count    -      1..255 UPDATEs follow, each from a whole byte on

// A payload is any number of these to its end. An UPDATE's time is unwrapped against the host's
// session time: a client takes that of the packet's stamp (stamp + WELCOME's offset), the host that
// of its arrival. A payload with a fault in it has no effect at all.
#include "private.h"

enum { KIND_MOTION = 1 };

#define HEAD_BYTES 2
#define UPDATES_AT_MOST 255

// ---------------------------------------------------------------- reading

// When a packet came, in session time.
typedef struct Moment {
    FlTime arrived; // rounded as it was reported: so the sender can know exactly what is shown here
    FlTime near;    // what updates' times are unwrapped against
} Moment;

// A client need not know what time it is to say when the host sent a packet by the host's time, and
// that is the session's. So what there was when it joined is not lost on it, nor what arrived while
// it had paused and its own time was behind.
static Moment moment_of(const FlSession *session, int32_t peer, const FlLinkPacket *packet,
                        FlTime arrival)
{
    FlTime rounding = fl_link_clock(session->peers[peer].link, arrival) - packet->arrived;
    FlTime arrived = fl_session_time(session, arrival - rounding);
    Moment moment = {arrived, arrived};
    if (session->def.role == FL_ROLE_CLIENT) {
        moment.near = fl_time_add(packet->stamp, fl_session_clock_offset(&session->clock));
        bool unset = fl_session_clock_state(&session->clock) == FL_SESSION_CLOCK_UNSET;
        moment.arrived = unset ? moment.near : arrived;
    }
    return moment;
}

static FlTime one_way_delay(const FlSession *session, int32_t peer)
{
    FlClockDelays delays = fl_clock_delays(fl_link_peer_clock(session->peers[peer].link));
    return delays.known ? delays.in.average_ns : 0;
}

static bool is_in(uint32_t number, uint32_t first, uint32_t count)
{
    return number >= first && number - first < count;
}

static void take_update(FlSession *session, int32_t peer, FlUpdate *update, FlTime arrival)
{
    const Peer *from = &session->peers[peer];
    if (!is_in(update->entity, from->first_entity, from->entity_count) ||
        is_in(update->entity, session->own_first, session->own_count)) {
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

static void read_motion(FlSession *session, int32_t peer, FlReader *r, Moment when, bool take)
{
    uint64_t count = fl_reader_take(r, 8);
    if (count == 0) {
        fl_reader_fail(r);
    }
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        FlUpdate update;
        if (fl_update_decode(r, &session->world, when.near, &update) == FL_UPDATE_OK && take) {
            take_update(session, peer, &update, when.arrived);
        }
    }
}

// Reads all of a payload; `take` or only look whether it is one. False: it is not.
static bool read_payload(FlSession *session, int32_t peer, const FlLinkPacket *packet, Moment when,
                         bool take)
{
    FlReader r;
    fl_reader_init(&r, packet->payload, packet->payload_bytes);
    while (!r.failed && fl_reader_left(&r) > 0) {
        if (fl_reader_take(&r, 8) == KIND_MOTION) {
            read_motion(session, peer, &r, when, take);
        } else {
            fl_reader_fail(&r);
        }
    }
    return !r.failed;
}

void fl__payload_read(FlSession *session, int32_t peer, const FlLinkPacket *packet, FlTime arrival)
{
    if (packet->payload_bytes == 0) {
        return;
    }
    Moment when = moment_of(session, peer, packet, arrival);
    if (!read_payload(session, peer, packet, when, false)) {
        session->count[FL_SESSION_MALFORMED]++;
        return;
    }
    (void)read_payload(session, peer, packet, when, true);
}

// ---------------------------------------------------------------- writing

static bool is_due(const FlSession *session, const Entity *entity, int32_t peer)
{
    return fl__entity_is_ours(entity) && entity->packed_bytes > 0 &&
           *fl__entity_due(session, entity, peer);
}

// Entities take turns, so that a small budget is everybody's: each packet goes on where the last
// one for this peer ended.
static int32_t in_turn(const FlSession *session, int32_t peer, int32_t nth)
{
    return (session->peers[peer].entity_next + nth) % session->def.entity_capacity;
}

int32_t fl__payload_needs(const FlSession *session, int32_t peer)
{
    for (int32_t n = 0; n < session->def.entity_capacity; n++) {
        const Entity *entity = &session->entities[in_turn(session, peer, n)];
        if (is_due(session, entity, peer)) {
            return HEAD_BYTES + entity->packed_bytes;
        }
    }
    return 0;
}

// Appends one update to the MOTION at `head_at`, and begins that if there is none yet.
static void write_update(FlWriter *writer, int32_t head_at, int32_t count, const Entity *entity)
{
    if (count == 0) {
        fl_writer_put(writer, KIND_MOTION, 8);
        fl_writer_put(writer, 0, 8);
    }
    fl_writer_bytes(writer, entity->packed, entity->packed_bytes);
    writer->bytes[head_at + 1] = (uint8_t)(count + 1);
}

void fl__payload_write(FlSession *session, int32_t peer, FlWriter *writer, int32_t room, FlTime now)
{
    int32_t left = (writer->capacity_bits - writer->bit_count) / 8;
    left = (room < left ? room : left) - HEAD_BYTES;
    int32_t head_at = fl_writer_size(writer);
    int32_t count = 0;
    int32_t turn_next = session->peers[peer].entity_next;
    bool passed_over = false;
    for (int32_t n = 0; n < session->def.entity_capacity && count < UPDATES_AT_MOST; n++) {
        int32_t slot = in_turn(session, peer, n);
        Entity *entity = &session->entities[slot];
        if (!is_due(session, entity, peer)) {
            continue;
        }
        fl__entity_refresh(session, entity, now);
        if (entity->packed_bytes > left) { // the first of these begins the next packet
            turn_next = passed_over ? turn_next : slot;
            passed_over = true;
            continue;
        }
        write_update(writer, head_at, count++, entity);
        left -= entity->packed_bytes;
        *fl__entity_due(session, entity, peer) = false;
        turn_next = passed_over ? turn_next : (slot + 1) % session->def.entity_capacity;
    }
    session->peers[peer].entity_next = turn_next;
    session->count[FL_SESSION_UPDATES_SENT] += (uint64_t)count;
}
