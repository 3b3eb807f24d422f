// Packets in and out.
//
// A packet is a number and any number of sections to its end, each from a whole byte on. As in
// sessions, what is read is read twice: once to see that all of it is sound, once to take it.

// LANE PACKET: what two players tell each other.                 spec/WIRE.md section 11.2
//
//   bits  field    unit   valid
//   16    number   -      rising by one on each lane
//   rest  sections -      at least one

// PULSE: how I am.                                               spec/WIRE.md section 11.3
//
//   bits  field    unit   valid
//   8     kind     -      1
//   16    stamp    ms     session time, low bits
//   8     spare    -      watchers that I could serve on top
//   8     passes   -      watchers that I serve with others' updates
//   16    newest   -      number of the newest packet that came
//   32    before   -      bit i: number newest - 1 - i came

// STREAM: where somebody is that you watch.                      spec/WIRE.md section 11.4
//
//   bits  field    unit   valid
//   8     kind     -      2
//   8     hops     -      players between the owner and you, 0..15; 0: exactly the sender's own
//   rest  update   -      an UPDATE

// PARCEL: where the others are.                                  spec/WIRE.md section 11.5
//
//   bits  field    unit   valid
//   8     kind     -      3
//   8     count    -      1..255 UPDATEs follow, each from a whole byte on

// LOOK: I watch somebody, by you.                                spec/WIRE.md section 11.6
//
//   bits  field    unit   valid
//   8     kind     -      4
//   16    of       -      whom
//   8     attention -     0: no longer
//   16    avoid    -      who was no good; 65535: nobody

// REDIRECT: ask them instead.                                    spec/WIRE.md section 11.7
//
//   bits  field    unit   valid
//   8     kind     -      5
//   16    of       -      for whom
//   8     count    -      0..2; 0: its owner, or later
//   16    to       -      per one

// PART: I need this lane no more.                                spec/WIRE.md section 11.8
//
//   bits  field    unit   valid
//   8     kind     -      6
#include "private.h"

#include <string.h>

enum {
    KIND_PULSE = 1,
    KIND_STREAM = 2,
    KIND_PARCEL = 3,
    KIND_LOOK = 4,
    KIND_REDIRECT = 5,
    KIND_PART = 6,
};

#define NUMBER_BYTES 2
#define PULSE_BYTES 11
#define STREAM_HEAD 2
#define PARCEL_HEAD 2
#define LOOK_BYTES 6
#define REDIRECT_BYTES 8
#define HOPS_AT_MOST 15
#define NO_ONE 0xffffu
#define CARRY_WITHIN FL_SEC(10) // what is older is not carried
#define WAY_LEARNS 8
#define OVERTAKEN_AT_MOST 3 // packets; who is later is lost
#define PULSE_STEP FL_MS(1)
#define ROOM_ENOUGH 1000 // nobody waits for more
#define ROOM_LOOK_EVERY FL_MS(2)

// ---------------------------------------------------------------- reading

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

// ---------------------------------------------------------------- writing

typedef struct Writing {
    FlCrowd *crowd;
    FlCrowdLane *lane;
    int32_t index;
    FlWriter w;
    FlTime now;
    bool short_of_room; // something waits for more
} Writing;

static int32_t room(const Writing *out)
{
    return (out->w.capacity_bits - out->w.bit_count) / 8;
}

static void write_look(Writing *out, int32_t of, uint8_t attention, int32_t avoid)
{
    fl_writer_put(&out->w, KIND_LOOK, 8);
    fl_writer_put(&out->w, (uint64_t)of, 16);
    fl_writer_put(&out->w, attention, 8);
    fl_writer_put(&out->w, avoid == FL__NOBODY ? NO_ONE : (uint64_t)avoid, 16);
}

static uint8_t attention_steps(float attention)
{
    float steps = attention * 254.0f;
    return (uint8_t)(1.0f + (steps < 254.0f ? steps : 254.0f));
}

static void write_looks(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    int32_t ended = out->lane->look_end;
    if (ended != FL__NOBODY && room(out) >= LOOK_BYTES) {
        const FlCrowdSource *again = fl__crowd_source(crowd, ended);
        if (again == NULL || again->via != out->lane->member) {
            write_look(out, ended, 0, FL__NOBODY);
        }
        out->lane->look_end = FL__NOBODY;
    }
    for (int32_t i = 0; i < crowd->def.focus_count && out->lane->heard; i++) {
        FlCrowdSource *source = &crowd->sources[i];
        bool due = source->member != FL__NOBODY && source->via == out->lane->member &&
                   out->now >= source->look_due;
        if (due && room(out) >= LOOK_BYTES + PULSE_BYTES) {
            write_look(out, source->member, attention_steps(crowd->attention[source->member]),
                       source->avoid);
            fl__crowd_look_said(source, out->now);
            out->lane->pulse_due = INT64_MIN; // with what we have to spare
        }
    }
}

static void write_redirects(Writing *out)
{
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        FlCrowdRedirect *redirect = &out->crowd->redirects[i];
        if (redirect->lane != out->index || room(out) < REDIRECT_BYTES) {
            continue;
        }
        fl_writer_put(&out->w, KIND_REDIRECT, 8);
        fl_writer_put(&out->w, (uint64_t)redirect->of, 16);
        fl_writer_put(&out->w, (uint64_t)redirect->count, 8);
        for (int32_t k = 0; k < redirect->count; k++) {
            fl_writer_put(&out->w, (uint64_t)redirect->to[k], 16);
        }
        redirect->lane = FL__NOBODY;
        if (fl__crowd_lanes_short(out->crowd) && !fl__crowd_lane_needed(out->crowd, out->index)) {
            out->lane->part_due = true; // others wait for the place
        }
    }
}

// Frames come when the game has them: a little early is on time.
static FlTime next_frame(const FlCrowd *crowd, FlTime now)
{
    return fl_time_add(now, crowd->def.frame_ns * 3 / 4);
}

static void write_streams(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == FL__NOBODY || watcher->lane != out->index || out->now < watcher->next) {
            continue;
        }
        const uint8_t *packed;
        FlTime stamp;
        int32_t hops;
        int32_t bytes = fl__crowd_newest(crowd, watcher->of, &packed, &stamp, &hops);
        bool own = watcher->of == crowd->def.self;
        if (bytes == 0 || stamp <= watcher->sent || room(out) < STREAM_HEAD + bytes ||
            hops >= HOPS_AT_MOST) {
            continue;
        }
        fl_writer_put(&out->w, KIND_STREAM, 8);
        fl_writer_put(&out->w, (uint64_t)(own ? 0 : hops + 1), 8);
        fl_writer_bytes(&out->w, packed, bytes);
        watcher->sent = stamp;
        watcher->next = next_frame(crowd, out->now);
        crowd->stats.streamed++;
        crowd->stats.forwarded += own ? 0 : 1;
    }
}

static bool put_update(Writing *out, const uint8_t *packed, int32_t bytes, int32_t head_at)
{
    int32_t count = out->w.bytes[head_at + 1];
    if (bytes == 0 || room(out) < bytes + PULSE_BYTES || count == 255) {
        return false;
    }
    fl_writer_bytes(&out->w, packed, bytes);
    out->w.bytes[head_at + 1] = (uint8_t)(count + 1);
    out->crowd->stats.parcel_updates++;
    return true;
}

static int32_t parcel_bytes(const FlCrowd *crowd, const FlCrowdLane *lane)
{
    int32_t bytes = PARCEL_HEAD + crowd->packed_bytes + PULSE_BYTES;
    for (uint64_t bits = lane->carries; bits != 0; bits &= bits - 1) {
        bytes += crowd->lanes[__builtin_ctzll(bits)].packed_bytes;
    }
    return bytes;
}

// What other lanes' members told us. What does not fit comes first the next time. Whether it
// arrives is asked of one parcel at a time: where the way is long, not of every one.
static void write_carried(Writing *out, int32_t head_at)
{
    FlCrowd *crowd = out->crowd;
    FlCrowdLane *lane = out->lane;
    int32_t capacity = crowd->def.lane_capacity;
    bool ask = crowd->def.shared && !lane->parcel_waits;
    FlTime *pending = &crowd->pending[ask ? out->index * capacity : 0];
    for (int32_t i = 0; ask && i < capacity; i++) {
        pending[i] = INT64_MIN;
    }
    lane->parcel_number = ask ? lane->number : lane->parcel_number;
    lane->parcel_waits = lane->parcel_waits || ask;
    uint64_t first = lane->carries & UINT64_MAX << lane->carry_next;
    uint64_t then = lane->carries & ~first;
    bool all = true;
    while ((first | then) != 0) {
        int32_t i = __builtin_ctzll(first != 0 ? first : then);
        then &= first != 0 ? then : then - 1;
        first &= first != 0 ? first - 1 : 0;
        const FlCrowdLane *from = &crowd->lanes[i];
        bool fresh = from->packed_bytes > 0 && fl_span(out->now, from->stamp) < CARRY_WITHIN;
        if (fresh && put_update(out, from->packed, from->packed_bytes, head_at)) {
            pending[i] = ask ? from->stamp : pending[i];
        } else if (fresh && all) {
            lane->carry_next = i;
            all = false;
        }
    }
}

// Our own, and what we carry.
static void write_parcel(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    FlCrowdLane *lane = out->lane;
    if (!lane->heard || out->now < lane->parcel_due || crowd->packed_bytes == 0) {
        return;
    }
    if (room(out) < parcel_bytes(crowd, lane) && room(out) < ROOM_ENOUGH) {
        out->short_of_room = true; // better whole and a little later
        return;
    }
    int32_t head_at = fl_writer_size(&out->w);
    fl_writer_put(&out->w, KIND_PARCEL, 8);
    fl_writer_put(&out->w, 0, 8);
    (void)put_update(out, crowd->packed, crowd->packed_bytes, head_at);
    write_carried(out, head_at);
    lane->pulse_due = INT64_MIN;
    // Every interval once, late or not: what waited for the upload does not shift the rest.
    FlTime next = fl_time_add(lane->parcel_due, crowd->def.parcel_ns);
    lane->parcel_due = next > out->now ? next : fl_time_add(out->now, crowd->def.parcel_ns);
    crowd->stats.parcels++;
}

// Often until the other end is heard; rarely where nobody listens.
static FlTime pulse_interval(const Writing *out)
{
    if (!out->lane->heard) {
        return FL__PULSE_NS / 8;
    }
    bool used = out->lane->planned || fl__crowd_lane_serves(out->crowd, out->index);
    return used ? FL__PULSE_NS : 3 * FL__PULSE_NS;
}

static void write_pulse(Writing *out)
{
    if (out->now < out->lane->pulse_due || room(out) < PULSE_BYTES) {
        return;
    }
    const FlCrowdLane *lane = out->lane;
    int32_t spare = fl__crowd_spare(out->crowd);
    fl_writer_put(&out->w, KIND_PULSE, 8);
    fl_writer_put(&out->w, (uint64_t)(out->now / PULSE_STEP) & 0xffffu, 16);
    fl_writer_put(&out->w, (uint64_t)(spare < 255 ? spare : 255), 8);
    int32_t passes = out->crowd->stats.passed_on;
    fl_writer_put(&out->w, (uint64_t)(passes < 255 ? passes : 255), 8);
    fl_writer_put(&out->w, lane->newest, 16);
    fl_writer_put(&out->w, lane->before, 32);
    out->lane->pulse_due = fl_time_add(out->now, pulse_interval(out));
}

static void write_part(Writing *out)
{
    if (out->lane->part_due && room(out) >= 1) {
        fl_writer_put(&out->w, KIND_PART, 8);
        out->lane->part_due = false;
        fl__crowd_lane_over(out->crowd, out->index);
    }
}

static FlTime lane_due(const FlCrowd *crowd, const FlCrowdLane *lane, FlTime now)
{
    if (lane->over) {
        return FL_FOREVER;
    }
    FlTime due = lane->pulse_due;
    FlTime parcel = lane->heard && crowd->packed_bytes > 0 ? lane->parcel_due : FL_FOREVER;
    due = parcel < due ? parcel : due;
    for (int32_t i = 0; i < crowd->def.focus_count && lane->heard; i++) {
        const FlCrowdSource *source = &crowd->sources[i];
        if (source->member != FL__NOBODY && source->via == lane->member) {
            due = source->look_due < due ? source->look_due : due;
        }
    }
    return due > now ? due : now + 1;
}

// Nothing to say: 0.
static int32_t write_packet(FlCrowd *crowd, int32_t index, uint8_t *bytes, int32_t room_bytes,
                            FlTime now)
{
    Writing out = {.crowd = crowd, .lane = &crowd->lanes[index], .index = index, .now = now};
    fl_writer_init(&out.w, bytes, room_bytes);
    fl_writer_put(&out.w, out.lane->number, 16);
    write_looks(&out);
    write_redirects(&out);
    write_streams(&out);
    write_parcel(&out);
    write_pulse(&out);
    write_part(&out);
    FL_ASSERT(!out.w.failed);
    int32_t count = fl_writer_size(&out.w);
    crowd->due[index] =
        out.short_of_room ? fl_time_add(now, ROOM_LOOK_EVERY) : lane_due(crowd, out.lane, now);
    if (count == NUMBER_BYTES) {
        return 0;
    }
    out.lane->number++;
    return count;
}

static void find_earliest(FlCrowd *crowd, FlTime now)
{
    if (now < crowd->due_earliest) {
        return;
    }
    FlTime earliest = FL_FOREVER;
    for (int32_t i = 0; i < crowd->def.lane_capacity; i++) {
        earliest = crowd->due[i] < earliest ? crowd->due[i] : earliest;
    }
    crowd->due_earliest = earliest;
}

// Where more is to be said than the upload bears, those who watch come first: a stream that stops
// sends everybody behind it looking elsewhere.
static int32_t urgent_lane(const FlCrowd *crowd, FlTime now)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        const FlCrowdWatcher *watcher = &crowd->watchers[i];
        const uint8_t *packed;
        FlTime stamp;
        int32_t hops;
        if (watcher->of != FL__NOBODY && watcher->next <= now &&
            fl__crowd_newest(crowd, watcher->of, &packed, &stamp, &hops) > 0 &&
            stamp > watcher->sent && hops < HOPS_AT_MOST) {
            return watcher->lane;
        }
    }
    return FL__NOBODY;
}

bool fl_crowd_next(FlCrowd *crowd, FlTime now, uint8_t *bytes, int32_t room_bytes, int32_t *count,
                   int32_t *to)
{
    FL_ASSERT(room_bytes >= FL_CROWD_ROOM_BYTES);
    room_bytes = room_bytes < FL_CROWD_PACKET_BYTES ? room_bytes : FL_CROWD_PACKET_BYTES;
    fl__crowd_replan(crowd, now);
    fl__crowd_watch(crowd, now);
    int32_t urgent = crowd->def.shared ? urgent_lane(crowd, now) : FL__NOBODY; // those are few
    if (urgent != FL__NOBODY) {
        *count = write_packet(crowd, urgent, bytes, room_bytes, now);
        if (*count > 0) {
            *to = crowd->lanes[urgent].member;
            return true;
        }
    }
    for (; now >= crowd->due_earliest && crowd->lane_next < crowd->def.lane_capacity;
         crowd->lane_next++) {
        if (crowd->due[crowd->lane_next] > now) {
            continue;
        }
        *count = write_packet(crowd, crowd->lane_next, bytes, room_bytes, now);
        if (*count > 0) {
            *to = crowd->lanes[crowd->lane_next].member;
            return true;
        }
    }
    crowd->lane_next = 0;
    find_earliest(crowd, now);
    return false;
}

FlTime fl_crowd_deadline(const FlCrowd *crowd, FlTime now)
{
    FlTime deadline = crowd->watch_due < crowd->sweep_due ? crowd->watch_due : crowd->sweep_due;
    deadline = crowd->due_earliest < deadline ? crowd->due_earliest : deadline;
    return deadline > now ? deadline : now;
}
