// Packets out: what goes in them, and when.
//
// A packet is a number and any number of sections to its end, each from a whole byte on.

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

#define PULSE_BYTES 11
#define STREAM_HEAD 2
#define PARCEL_HEAD 2
#define LOOK_BYTES 6
#define REDIRECT_BYTES 8
#define CARRY_WITHIN FL_SEC(10) // what is older is not carried
#define ROOM_ENOUGH 1000        // nobody waits for more
#define ROOM_LOOK_EVERY FL_MS(2)

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
