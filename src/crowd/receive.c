// Packets in. As in sessions, what is read is read twice: once to see that all of it is sound, once
// to take it; so a packet with a fault in it has no effect at all. send.c has the layouts.
#include "guided.h"
#include "known.h"
#include "missed.h"
#include "packets.h"

#include "show/show.h"
#include "wire/wire.h"

#include <string.h>

#define WAY_LEARNS 8
#define OVERTAKEN_AT_MOST 3 // packets; who is later is lost

/// An update as the first reading found it, so that the second need not unpack it again.
typedef struct Unpacked {
    FlUpdate update;
    int32_t bytes;
} Unpacked;

#define UNPACKED_AT_MOST 48 // batches are rarely longer; what is beyond is unpacked twice

typedef struct Reading {
    FlCrowd *crowd;
    FlCrowdLight *light;
    int32_t index;
    FlReader r;
    FlTime now;
    bool take;
    bool carried;       // the first update of this batch that is not its sender's was looked at
    Unpacked *unpacked; // UNPACKED_AT_MOST
    int32_t unpacked_count, unpacked_next;
} Reading;

// What the other end says of our packets.
static void learn_arrivals(FlCrowd *crowd, FlCrowdLight *light, uint16_t newest, uint32_t before)
{
    if (!light->batch_waits) {
        return;
    }
    uint16_t back = (uint16_t)(newest - light->batch_number);
    bool came = back == 0 || (back <= 32 && (before >> (back - 1) & 1u) != 0);
    size_t lights = (size_t)crowd->def.light_capacity;
    size_t row = (size_t)(light - crowd->lights) * lights;
    for (size_t i = row; came && crowd->def.shared && i < row + lights; i++) {
        crowd->arrived[i] = crowd->pending[i] != INT64_MIN ? crowd->pending[i] : crowd->arrived[i];
    }
    // Said before it can have come, or overtaken: it may come yet.
    light->batch_waits = !came && (back >= 0x8000u || back <= OVERTAKEN_AT_MOST);
}

static void read_heartbeat(Reading *in)
{
    uint16_t stamp = (uint16_t)fl_reader_take(&in->r, 16);
    int32_t spare = (int32_t)fl_reader_take(&in->r, 8);
    int32_t passes = (int32_t)fl_reader_take(&in->r, 8);
    uint16_t newest = (uint16_t)fl_reader_take(&in->r, 16);
    uint32_t before = (uint32_t)fl_reader_take(&in->r, 32);
    if (!in->take || in->r.failed) {
        return;
    }
    FlTime sent = fl__unwrap(in->now / HEARTBEAT_STEP, stamp, 16) * HEARTBEAT_STEP;
    FlTime way = fl_span(in->now, sent);
    FlCrowdLight *light = in->light;
    way = way < 0 ? 0 : way;
    light->way_ns = light->way_ns < 0 ? way : light->way_ns + (way - light->way_ns) / WAY_LEARNS;
    light->spare = spare;
    light->passes = passes;
    light->lent = 0; // whom we sent there is counted by now, more or less
    learn_arrivals(in->crowd, light, newest, before);
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
    if (good && keeps && made->update.entity < (uint32_t)in->crowd->def.entity_capacity) {
        fl__crowd_prefetch(in->crowd, (int32_t)made->update.entity); // it is taken in a moment
    }
    return good ? made : NULL;
}

// Whoever could report anything of another is ignored while its owner, or whom we asked for it,
// tells us.
static bool is_believed(const Reading *in, int32_t of, bool stream)
{
    const FlCrowd *crowd = in->crowd;
    const FlCrowdLight *own = fl__crowd_light(crowd, crowd->known[of].owner);
    const FlCrowdSource *source = fl__crowd_source(crowd, of);
    int32_t from = in->light->member;
    bool asked = source != NULL && source->via == from;
    if (stream) { // or from whom we left, until the next one sends
        return asked || (source != NULL && source->before == from && source->received == INT64_MIN);
    }
    FlTime own_stamp = crowd->more[of].own_stamp;
    FlTime every = own != NULL && own->planned ? 2 * crowd->def.batch_ns : crowd->def.silence_ns;
    bool owner = own_stamp != INT64_MIN && fl_span(in->now, own_stamp) < every;
    bool watched = source != NULL && source->received != INT64_MIN && !asked &&
                   fl_span(in->now, source->received) < crowd->def.silence_ns;
    return !owner && !watched;
}

/// How an update came.
typedef struct Way {
    int32_t hops;
    bool stream;
    uint8_t epoch; // low bits
} Way;

static void take_update(Reading *in, const Way *way, const Unpacked *unpacked,
                        const uint8_t *packed)
{
    FlCrowd *crowd = in->crowd;
    const FlUpdate *update = &unpacked->update;
    if (!fl__crowd_admit(crowd, update, way->epoch, in->now)) {
        return;
    }
    int32_t of = (int32_t)update->entity;
    bool direct = crowd->known[of].owner == in->light->member;
    if (way->stream && direct != (way->hops == 0)) {
        crowd->stats.strangers++; // no member speaks as another
        return;
    }
    if (!way->stream && !direct && !in->light->planned && !crowd->plan.stale) {
        crowd->stats.strangers++; // only neighbours carry
        return;
    }
    if (!way->stream && !direct && !in->carried) {
        in->carried = true;
        fl__crowd_carried_by(crowd, in->light->member, crowd->known[of].owner, in->now);
    }
    int32_t hops = direct ? 0 : way->hops;
    bool believed = direct || is_believed(in, of, way->stream);
    crowd->stats.overtaken += believed ? 0 : 1;
    if (believed && fl__crowd_take(crowd, in->light, update, hops, in->now) &&
        (direct || !way->stream)) {
        fl__crowd_keep(crowd, of, update->motion.time, packed, unpacked->bytes);
    }
    if (way->stream) {
        fl__crowd_streamed(crowd, in->index, update, hops, packed, unpacked->bytes, in->now);
    }
}

static void read_update(Reading *in, const Way *way)
{
    Unpacked spare;
    const uint8_t *packed = in->r.bytes + in->r.bit_count / 8;
    const Unpacked *unpacked = unpack(in, &spare);
    if (unpacked != NULL && in->take && !in->r.failed) {
        take_update(in, way, unpacked, packed);
    }
}

// Where it is not zero, and only there, an epoch stands before the update.
static void read_epoch(Reading *in, Way *way)
{
    way->epoch = (uint8_t)fl_reader_take(&in->r, 8);
}

static void read_stream(Reading *in)
{
    uint32_t hops = (uint32_t)fl_reader_take(&in->r, 8);
    Way way = {.hops = (int32_t)(hops & ~STREAM_EPOCH), .stream = true};
    if (way.hops > HOPS_AT_MOST) {
        fl__reader_fail(&in->r);
    }
    if ((hops & STREAM_EPOCH) != 0) {
        read_epoch(in, &way);
    }
    read_update(in, &way);
}

static void read_batch(Reading *in, bool epochs)
{
    uint64_t count = fl_reader_take(&in->r, 8);
    Way way = {.hops = 1};
    if (count == 0) {
        fl__reader_fail(&in->r);
    }
    for (uint64_t i = 0; i < count && !in->r.failed; i++) {
        if (epochs) {
            read_epoch(in, &way);
        }
        read_update(in, &way);
    }
}

// Beside streams from whom we asked, beside batches from neighbours, and from its owner always.
static void take_guided(Reading *in, const FlGuidance *guidance, uint8_t epoch,
                        const uint8_t *packed, int32_t bytes)
{
    FlCrowd *crowd = in->crowd;
    FlUpdate like = {.entity = guidance->entity, .motion.time = guidance->time};
    if (!fl__crowd_admit(crowd, &like, epoch, in->now)) {
        return;
    }
    int32_t of = (int32_t)guidance->entity;
    bool direct = crowd->known[of].owner == in->light->member;
    bool asked = is_believed(in, of, true);
    bool carries = in->light->planned || crowd->plan.stale;
    if (!direct && !asked && !carries) {
        crowd->stats.strangers++;
        return;
    }
    bool lie = false;
    int32_t place = crowd->looks[of].guided - 1;
    int32_t before = place >= 0 ? crowd->guided[place].via : FL__NOBODY;
    bool newer =
        (direct || asked || is_believed(in, of, false)) &&
        fl__crowd_guided_take(crowd, in->light->member, guidance, packed, bytes, in->now, &lie);
    if (lie) {
        fl__crowd_blame(crowd, before);
    }
    if (newer && crowd->guided_fn != NULL) {
        crowd->guided_fn(crowd->guided_ctx, guidance, !direct, in->now);
    }
    crowd->stats.overtaken += newer ? 0 : 1;
}

static void read_guided(Reading *in)
{
    uint64_t count = fl_reader_take(&in->r, 8);
    if (count == 0) {
        fl__reader_fail(&in->r);
    }
    for (uint64_t i = 0; i < count && !in->r.failed; i++) {
        uint8_t epoch = (uint8_t)fl_reader_take(&in->r, 8);
        int32_t from = in->r.bit_count;
        FlGuidance guidance;
        if (fl__guidance_decode(&in->r, &in->crowd->world, in->now, &guidance) && in->take) {
            take_guided(in, &guidance, epoch, in->r.bytes + from / 8, (in->r.bit_count - from) / 8);
        }
    }
}

static void read_look(Reading *in)
{
    uint64_t of = fl_reader_take(&in->r, 16);
    uint8_t attention = (uint8_t)fl_reader_take(&in->r, 8);
    uint64_t avoid = fl_reader_take(&in->r, 16);
    if (of >= (uint64_t)in->crowd->def.entity_capacity) {
        fl__reader_fail(&in->r);
    }
    bool theirs = in->take && !in->r.failed && in->crowd->known[of].owner != in->light->member &&
                  in->crowd->known[of].owner != FL__NOBODY;
    if (theirs) {
        int32_t not_him = avoid == NO_ONE ? FL__NOBODY : (int32_t)avoid;
        fl__crowd_looked(in->crowd, in->index, (int32_t)of, attention, not_him, in->now);
    }
}

static void read_redirect(Reading *in)
{
    FlCrowdRedirect redirect = {.of = (int32_t)fl_reader_take(&in->r, 16)};
    redirect.count = (int32_t)fl_reader_take(&in->r, 8);
    if (redirect.count > 2 || redirect.of >= in->crowd->def.entity_capacity) {
        fl__reader_fail(&in->r);
        return;
    }
    for (int32_t i = 0; i < redirect.count; i++) {
        redirect.to[i] = (int32_t)fl_reader_take(&in->r, 16);
    }
    if (in->take && !in->r.failed) {
        fl__crowd_redirected(in->crowd, in->light->member, &redirect, in->now);
    }
}

static void read_message(Reading *in)
{
    int32_t count = (int32_t)fl_reader_take(&in->r, 16);
    if (count == 0 || count > FL_CROWD_MESSAGE_BYTES) {
        fl__reader_fail(&in->r);
        return;
    }
    const uint8_t *bytes = fl_reader_bytes(&in->r, count);
    if (bytes != NULL && in->take && in->crowd->message_fn != NULL) {
        in->crowd->message_fn(in->crowd->message_ctx, in->light->member, bytes, count, in->now);
    }
}

static void read_missed(Reading *in)
{
    int32_t missed[FL__MISSED];
    int32_t count = (int32_t)fl_reader_take(&in->r, 8);
    if (count < 1 || count > FL__MISSED) {
        fl__reader_fail(&in->r);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        missed[i] = (int32_t)fl_reader_take(&in->r, 16);
        if (missed[i] < in->crowd->def.first || missed[i] >= in->crowd->def.member_capacity) {
            fl__reader_fail(&in->r);
        }
    }
    if (in->take && !in->r.failed) {
        fl__crowd_missed_by(in->crowd, in->index, missed, count, in->now);
    }
}

static void read_section(Reading *in)
{
    switch (fl_reader_take(&in->r, 8)) {
    case KIND_HEARTBEAT:
        read_heartbeat(in);
        break;
    case KIND_STREAM:
        read_stream(in);
        break;
    case KIND_BATCH:
        read_batch(in, false);
        break;
    case KIND_BATCH_EPOCH:
        read_batch(in, true);
        break;
    case KIND_LOOK:
        read_look(in);
        break;
    case KIND_REDIRECT:
        read_redirect(in);
        break;
    case KIND_MESSAGE:
        read_message(in);
        break;
    case KIND_GUIDED:
        read_guided(in);
        break;
    case KIND_MISSED:
        read_missed(in);
        break;
    case KIND_PART:
        if (in->take) {
            fl__crowd_light_over(in->crowd, in->index);
        }
        break;
    default:
        fl__reader_fail(&in->r);
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
    while (!in->r.failed && fl_reader_left(&in->r) > 0 && in->light->member != FL__NOBODY) {
        read_section(in);
        any = true;
    }
    return any && !in->r.failed;
}

static void note_number(FlCrowdLight *light, uint16_t number)
{
    uint16_t ahead = (uint16_t)(number - light->newest);
    if (!light->reached) {
        light->newest = number;
        light->before = 0;
    } else if (fl__seq_newer(number, light->newest)) {
        light->before = ahead < 32 ? light->before << ahead : 0;
        light->before |= ahead <= 32 ? UINT32_C(1) << (ahead - 1) : 0;
        light->newest = number;
    } else if (ahead != 0 && (uint16_t)-ahead <= 32) {
        light->before |= UINT32_C(1) << ((uint16_t)-ahead - 1);
    }
}

void fl__crowd_receive(FlCrowd *crowd, int32_t from, const void *bytes, int32_t count, FlTime now)
{
    int32_t index = from >= 0 && from < crowd->def.member_capacity ? crowd->light_of[from] : -1;
    if (index < 0 || count <= NUMBER_BYTES || count > FL_CROWD_PACKET_BYTES) {
        crowd->stats.malformed++;
        return;
    }
    Unpacked unpacked[UNPACKED_AT_MOST];
    Reading in = {.crowd = crowd, .light = &crowd->lights[index], .index = index, .now = now};
    in.unpacked = unpacked;
    if (!read_packet(&in, bytes, count, false)) {
        crowd->stats.malformed++;
        return;
    }
    const uint8_t *head = (const uint8_t *)bytes;
    note_number(in.light, fl__load_u16(head));
    if (!in.light->reached) {
        in.light->reached = true;
        fl__crowd_wake(crowd, index);
    }
    in.light->received_at = now;
    (void)read_packet(&in, bytes, count, true);
}
