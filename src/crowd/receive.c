// Packets in. As in sessions, what is read is read twice: once to see that all of it is sound, once
// to take it; so a packet with a fault in it has no effect at all. send.c has the layouts.
#include "private.h"

#include <string.h>

#define WAY_LEARNS 8
#define OVERTAKEN_AT_MOST 3 // packets; who is later is lost

/// An update as the first reading found it, so that the second need not unpack it again.
typedef struct Unpacked {
    FlUpdate update;
    int32_t bytes;
} Unpacked;

#define UNPACKED_AT_MOST 48 // parcels are rarely longer; what is beyond is unpacked twice

typedef struct Reading {
    FlCrowd *crowd;
    FlCrowdLane *lane;
    int32_t index;
    FlReader r;
    FlTime now;
    bool take;
    Unpacked *unpacked; // UNPACKED_AT_MOST
    int32_t unpacked_count, unpacked_next;
} Reading;

// What the other end says of our packets.
static void learn_arrivals(FlCrowd *crowd, FlCrowdLane *lane, uint16_t newest, uint32_t before)
{
    if (!lane->parcel_waits) {
        return;
    }
    uint16_t back = (uint16_t)(newest - lane->parcel_number);
    bool came = back == 0 || (back <= 32 && (before >> (back - 1) & 1u) != 0);
    size_t lanes = (size_t)crowd->def.lane_capacity;
    size_t row = (size_t)(lane - crowd->lanes) * lanes;
    for (size_t i = row; came && crowd->def.shared && i < row + lanes; i++) {
        crowd->arrived[i] = crowd->pending[i] != INT64_MIN ? crowd->pending[i] : crowd->arrived[i];
    }
    // Said before it can have come, or overtaken: it may come yet.
    lane->parcel_waits = !came && (back >= 0x8000u || back <= OVERTAKEN_AT_MOST);
}

static void read_pulse(Reading *in)
{
    uint16_t stamp = (uint16_t)fl_reader_take(&in->r, 16);
    int32_t spare = (int32_t)fl_reader_take(&in->r, 8);
    int32_t passes = (int32_t)fl_reader_take(&in->r, 8);
    uint16_t newest = (uint16_t)fl_reader_take(&in->r, 16);
    uint32_t before = (uint32_t)fl_reader_take(&in->r, 32);
    if (!in->take || in->r.failed) {
        return;
    }
    FlTime sent = fl_unwrap(in->now / PULSE_STEP, stamp, 16) * PULSE_STEP;
    FlTime way = fl_span(in->now, sent);
    FlCrowdLane *lane = in->lane;
    way = way < 0 ? 0 : way;
    lane->way_ns = lane->way_ns < 0 ? way : lane->way_ns + (way - lane->way_ns) / WAY_LEARNS;
    lane->spare = spare;
    lane->passes = passes;
    lane->lent = 0; // whom we sent there is counted by now, more or less
    learn_arrivals(in->crowd, lane, newest, before);
}

// The next update; NULL: it is none. `spare` is for those beyond what is kept.
static const Unpacked *unpack(Reading *in, Unpacked *spare)
{
    if (in->take && in->unpacked_next < in->unpacked_count) {
        const Unpacked *known = &in->unpacked[in->unpacked_next++];
        in->r.bit_count += 8 * known->bytes;
        return known;
    }
    bool keeps = !in->take && in->unpacked_count < UNPACKED_AT_MOST;
    Unpacked *made = keeps ? &in->unpacked[in->unpacked_count++] : spare;
    int32_t from = in->r.bit_count;
    bool good = fl_update_decode(&in->r, &in->crowd->world, in->now, &made->update) == FL_UPDATE_OK;
    made->bytes = (in->r.bit_count - from) / 8;
    return good ? made : NULL;
}

static void keep_packed(FlCrowdLane *lane, const FlUpdate *update, const uint8_t *packed,
                        int32_t bytes)
{
    if (update->motion.time > lane->stamp) {
        memcpy(lane->packed, packed, (size_t)bytes);
        lane->packed_bytes = bytes;
        lane->stamp = update->motion.time;
    }
}

// Who could say anything about somebody is not heard while its owner, or whom we asked for it,
// tells us.
static bool is_believed(const Reading *in, int32_t of, bool stream)
{
    const FlCrowd *crowd = in->crowd;
    const FlCrowdLane *own = fl__crowd_lane(crowd, of);
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    int32_t from = in->lane->member;
    bool asked = source != NULL && source->via == from;
    if (stream) { // or from whom we left, until the next one is heard
        return asked || (source != NULL && source->before == from && source->heard == INT64_MIN);
    }
    FlTime told = crowd->more[of].told;
    FlTime every = own != NULL && own->planned ? 2 * crowd->def.parcel_ns : crowd->def.silence_ns;
    bool owner = told != INT64_MIN && fl_span(in->now, told) < every;
    bool watched = source != NULL && source->heard != INT64_MIN && !asked &&
                   fl_span(in->now, source->heard) < crowd->def.silence_ns;
    return !owner && !watched;
}

static void read_update(Reading *in, int32_t hops, bool stream)
{
    Unpacked spare;
    const uint8_t *packed = in->r.bytes + in->r.bit_count / 8;
    const Unpacked *unpacked = unpack(in, &spare);
    if (unpacked == NULL) {
        return;
    }
    const FlUpdate *update = &unpacked->update;
    bool straight =
        update->motion.model == FL_MODEL_LINEAR || update->motion.model == FL_MODEL_STILL;
    if (!straight) {
        fl_reader_fail(&in->r); // avatars travel so, and no other way
    }
    int32_t bytes = unpacked->bytes;
    bool direct = (int32_t)update->entity == in->lane->member;
    if (stream && direct != (hops == 0)) {
        fl_reader_fail(&in->r); // nobody speaks as somebody else
    }
    if (!in->take || in->r.failed || !fl__crowd_admit(in->crowd, update, in->now)) {
        return;
    }
    if (!stream && !direct && !in->lane->planned && !in->crowd->plan.stale) {
        in->crowd->stats.strangers++; // only neighbours carry
        return;
    }
    int32_t way = direct ? 0 : hops;
    if (direct || is_believed(in, (int32_t)update->entity, stream)) {
        (void)fl__crowd_take(in->crowd, in->lane, update, way, in->now);
    } else {
        in->crowd->stats.overtaken++;
    }
    if (direct) {
        keep_packed(in->lane, update, packed, bytes);
    }
    if (stream) {
        fl__crowd_streamed(in->crowd, in->index, update, way, packed, bytes, in->now);
    }
}

static void read_stream(Reading *in)
{
    int32_t hops = (int32_t)fl_reader_take(&in->r, 8);
    if (hops > HOPS_AT_MOST) {
        fl_reader_fail(&in->r);
    }
    read_update(in, hops, true);
}

static void read_parcel(Reading *in)
{
    uint64_t count = fl_reader_take(&in->r, 8);
    if (count == 0) {
        fl_reader_fail(&in->r);
    }
    for (uint64_t i = 0; i < count && !in->r.failed; i++) {
        read_update(in, 1, false);
    }
}

static bool is_player(const FlCrowd *crowd, uint64_t member)
{
    return member >= (uint64_t)crowd->def.first && member < (uint64_t)crowd->def.member_capacity;
}

static void read_look(Reading *in)
{
    uint64_t of = fl_reader_take(&in->r, 16);
    uint8_t attention = (uint8_t)fl_reader_take(&in->r, 8);
    uint64_t avoid = fl_reader_take(&in->r, 16);
    if (!is_player(in->crowd, of) || of == (uint64_t)in->lane->member) {
        fl_reader_fail(&in->r);
    }
    if (in->take && !in->r.failed) {
        int32_t not_him = avoid == NO_ONE ? FL__NOBODY : (int32_t)avoid;
        fl__crowd_looked(in->crowd, in->index, (int32_t)of, attention, not_him, in->now);
    }
}

static void read_redirect(Reading *in)
{
    FlCrowdRedirect redirect = {.of = (int32_t)fl_reader_take(&in->r, 16)};
    redirect.count = (int32_t)fl_reader_take(&in->r, 8);
    if (redirect.count > 2 || !is_player(in->crowd, (uint64_t)redirect.of)) {
        fl_reader_fail(&in->r);
        return;
    }
    for (int32_t i = 0; i < redirect.count; i++) {
        redirect.to[i] = (int32_t)fl_reader_take(&in->r, 16);
    }
    if (in->take && !in->r.failed) {
        fl__crowd_redirected(in->crowd, in->lane->member, &redirect, in->now);
    }
}

static void read_section(Reading *in)
{
    switch (fl_reader_take(&in->r, 8)) {
    case KIND_PULSE:
        read_pulse(in);
        break;
    case KIND_STREAM:
        read_stream(in);
        break;
    case KIND_PARCEL:
        read_parcel(in);
        break;
    case KIND_LOOK:
        read_look(in);
        break;
    case KIND_REDIRECT:
        read_redirect(in);
        break;
    case KIND_PART:
        if (in->take) {
            fl__crowd_lane_over(in->crowd, in->index);
        }
        break;
    default:
        fl_reader_fail(&in->r);
        break;
    }
}

// True: it is sound.
static bool read_packet(Reading *in, const void *bytes, int32_t count, bool take)
{
    fl_reader_init(&in->r, bytes, count);
    (void)fl_reader_take(&in->r, 16);
    in->take = take;
    bool any = false;
    while (!in->r.failed && fl_reader_left(&in->r) > 0 && in->lane->member != FL__NOBODY) {
        read_section(in);
        any = true;
    }
    return any && !in->r.failed;
}

static void note_number(FlCrowdLane *lane, uint16_t number)
{
    uint16_t ahead = (uint16_t)(number - lane->newest);
    if (!lane->heard) {
        lane->newest = number;
        lane->before = 0;
    } else if (ahead != 0 && ahead < 0x8000u) {
        lane->before = ahead < 32 ? lane->before << ahead : 0;
        lane->before |= ahead <= 32 ? UINT32_C(1) << (ahead - 1) : 0;
        lane->newest = number;
    } else if (ahead != 0 && (uint16_t)-ahead <= 32) {
        lane->before |= UINT32_C(1) << ((uint16_t)-ahead - 1);
    }
}

void fl_crowd_receive(FlCrowd *crowd, int32_t from, const void *bytes, int32_t count, FlTime now)
{
    int32_t index = from >= 0 && from < crowd->def.member_capacity ? crowd->lane_of[from] : -1;
    if (index < 0 || count <= NUMBER_BYTES || count > FL_CROWD_PACKET_BYTES) {
        crowd->stats.malformed++;
        return;
    }
    Unpacked unpacked[UNPACKED_AT_MOST];
    Reading in = {.crowd = crowd, .lane = &crowd->lanes[index], .index = index, .now = now};
    in.unpacked = unpacked;
    if (!read_packet(&in, bytes, count, false)) {
        crowd->stats.malformed++;
        return;
    }
    const uint8_t *head = (const uint8_t *)bytes;
    note_number(in.lane, (uint16_t)(head[0] | head[1] << 8));
    if (!in.lane->heard) {
        in.lane->heard = true;
        fl__crowd_wake(crowd, index);
    }
    in.lane->heard_at = now;
    (void)read_packet(&in, bytes, count, true);
}
