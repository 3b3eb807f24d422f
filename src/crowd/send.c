// Packets out: what goes in them, and when.
//
// A packet is a number and any number of sections to its end, each from a whole byte on.

// LIGHT PACKET: what two players tell each other.                 spec/WIRE.md section 11.2
//
//   bits  field    unit   valid
//   16    number   -      rising by one on each light connection
//   rest  sections -      at least one

// HEARTBEAT: how I am.                                               spec/WIRE.md section 11.3
//
//   bits  field    unit   valid
//   8     kind     -      1
//   16    stamp    ms     session time, low bits
//   8     spare    -      watchers that I could serve on top
//   8     passes   -      watchers that I serve with others' updates
//   16    newest   -      number of the newest packet that came
//   32    before   -      bit i: number newest - 1 - i came

// STREAM: where an entity is that you watch.                     spec/WIRE.md section 11.4
//
//   bits  field    unit   valid
//   8     kind     -      2
//   8     hops     -      players between the owner and you, 0..15; 0: exactly the sender's own;
//                         128 more: an epoch follows
//   8     epoch    -      low bits; only then, and only where the epoch is not zero
//   rest  update   -      an UPDATE

// BATCH: where the others are.                                  spec/WIRE.md section 11.5
//
//   bits  field    unit   valid
//   8     kind     -      3
//   8     count    -      1..255 UPDATEs follow, each from a whole byte on

// BATCH_EPOCH: the same, of entities whose epoch is not zero.   spec/WIRE.md section 11.5
//
//   bits  field    unit   valid
//   8     kind     -      7
//   8     count    -      1..255 follow: an epoch (8, low bits) and an UPDATE each

// GUIDED: what entities will do.                                 spec/WIRE.md section 11.5
//
//   bits  field    unit   valid
//   8     kind     -      10
//   8     count    -      1..255 follow: an epoch (8, low bits) and a GUIDANCE each

// LOOK: I watch an entity, by you.                               spec/WIRE.md section 11.6
//
//   bits  field    unit   valid
//   8     kind     -      4
//   16    of       -      its number
//   8     attention -     0: no longer
//   16    avoid    -      who was no good; 65535: none

// REDIRECT: ask them instead.                                    spec/WIRE.md section 11.7
//
//   bits  field    unit   valid
//   8     kind     -      5
//   16    of       -      for which entity
//   8     count    -      0..2; 0: its owner, or later
//   16    to       -      per one

// MISSED: nothing comes to me by them; what do you know?          spec/WIRE.md section 11.9
//
//   bits  field    unit   valid
//   8     kind     -      8
//   8     count    -      1..4
//   16    carrier  -      per one, a player

// PART: I need this light connection no more.                    spec/WIRE.md section 11.8
//
//   bits  field    unit   valid
//   8     kind     -      6

// MESSAGE: a call on an entity of yours, or the answer to one.    spec/WIRE.md section 11.8
//
//   bits  field    unit   valid
//   8     kind     -      9
//   16    count    bytes  1..300 follow: CALL or ANSWER
#include "guided.h"
#include "known.h"
#include "missed.h"
#include "packets.h"

#include <string.h>

#define HEARTBEAT_BYTES 11
#define STREAM_HEAD 2
#define BATCH_HEAD 2
#define GUIDED_HEAD 2
#define LOOK_BYTES 6
#define REDIRECT_BYTES 8
#define MESSAGE_HEAD 3
#define MISSED_BYTES (2 + 2 * FL__MISSED)
#define CHARGES_AT_MOST 128 // players that are missed; more do not fit into a packet
#define ROOM_ENOUGH 1000    // no one waits for more
#define ROOM_LOOK_EVERY FL_MS(2)
#define IDLE_HEARTBEAT_NS FL_SEC(8) // one may be lost (SILENT_IDLE_AFTER)

typedef struct Writing {
    FlCrowd *crowd;
    FlCrowdLight *light;
    int32_t index;
    FlWriter w;
    FlTime now;
    bool short_of_room; // something waits for more
    int32_t head_at;    // of the BATCH being written; 0: none
    bool epochs;        // it is of entities whose epoch is not zero
    int32_t guided_at;  // likewise, of the GUIDED
    int32_t streams;    // STREAMs in it
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
    int32_t ended = out->light->look_end;
    if (ended != FL__NOBODY && room(out) >= LOOK_BYTES) {
        const FlCrowdSource *again = fl__crowd_source(crowd, ended);
        if (again == NULL || again->via != out->light->member) {
            write_look(out, ended, 0, FL__NOBODY);
        }
        out->light->look_end = FL__NOBODY;
    }
    // The first one goes with the greeting: it saves a way where the other end is ready.
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def); i++) {
        FlCrowdSource *source = &crowd->sources[i];
        bool due = source->of != FL__NOBODY && source->via == out->light->member &&
                   out->now >= source->look_due;
        if (due && room(out) >= LOOK_BYTES + HEARTBEAT_BYTES) {
            write_look(out, source->of, attention_steps(crowd->looks[source->of].attention),
                       source->avoid);
            fl__crowd_look_said(source, out->light->reached, out->now);
            out->light->heartbeat_due = INT64_MIN; // with what we have to spare
        }
    }
}

static void write_redirects(Writing *out)
{
    for (int32_t i = 0; i < FL__REDIRECTS && out->crowd->redirect_count > 0; i++) {
        FlCrowdRedirect *redirect = &out->crowd->redirects[i];
        if (redirect->light != out->index || room(out) < REDIRECT_BYTES) {
            continue;
        }
        fl_writer_put(&out->w, KIND_REDIRECT, 8);
        fl_writer_put(&out->w, (uint64_t)redirect->of, 16);
        fl_writer_put(&out->w, (uint64_t)redirect->count, 8);
        for (int32_t k = 0; k < redirect->count; k++) {
            fl_writer_put(&out->w, (uint64_t)redirect->to[k], 16);
        }
        redirect->light = FL__NOBODY;
        out->crowd->redirect_count--;
        if (fl__crowd_lights_short(out->crowd) && !fl__crowd_light_needed(out->crowd, out->index)) {
            out->light->part_due = true; // others wait for the place
        }
    }
}

bool fl__crowd_message(FlCrowd *crowd, int32_t member, const uint8_t *bytes, int32_t count)
{
    const FlCrowdLight *light = fl__crowd_light(crowd, member);
    if (light == NULL || !light->reached || light->over || count > FL_CROWD_MESSAGE_BYTES) {
        return false;
    }
    for (int32_t i = 0; i < FL__MESSAGES; i++) {
        FlCrowdMessage *message = &crowd->messages[i];
        if (message->light == FL__NOBODY) {
            crowd->message_count++;
            message->light = crowd->light_of[member];
            message->count = count;
            memcpy(message->bytes, bytes, (size_t)count);
            fl__crowd_wake(crowd, message->light);
            return true;
        }
    }
    return false;
}

static void write_messages(Writing *out)
{
    for (int32_t i = 0; i < FL__MESSAGES && out->crowd->message_count > 0; i++) {
        FlCrowdMessage *message = &out->crowd->messages[i];
        if (message->light != out->index) {
            continue;
        }
        if (room(out) < MESSAGE_HEAD + message->count) {
            out->short_of_room = true;
            continue;
        }
        fl_writer_put(&out->w, KIND_MESSAGE, 8);
        fl_writer_put(&out->w, (uint64_t)message->count, 16);
        fl_writer_bytes(&out->w, message->bytes, message->count);
        message->light = FL__NOBODY;
        out->crowd->message_count--;
    }
}

// Frames come when the game has them: a little early is on time. On the way they come closer
// together and further apart; one that is held back is overtaken by the next.
static FlTime next_frame(const FlCrowd *crowd, bool own, FlTime now)
{
    return fl_time_add(now, own ? crowd->def.frame_ns * 3 / 4 : crowd->def.frame_ns / 4);
}

// Into a GUIDED, which begins with the first. What does not fit comes the next time.
static void put_guided(Writing *out, int32_t of, const FlCrowdGuided *guided)
{
    int32_t count = out->guided_at != 0 ? out->w.bytes[out->guided_at + 1] : 0;
    bool begins = out->guided_at == 0 || count == 255;
    if (room(out) < guided->bytes + 1 + (begins ? GUIDED_HEAD : 0) + HEARTBEAT_BYTES) {
        return;
    }
    if (begins) {
        out->guided_at = fl_writer_size(&out->w);
        count = 0;
        fl_writer_put(&out->w, KIND_GUIDED, 8);
        fl_writer_put(&out->w, 0, 8);
    }
    fl_writer_put(&out->w, out->crowd->known[of].epoch & 0xffu, 8);
    fl_writer_bytes(&out->w, guided->packed, guided->bytes);
    out->w.bytes[out->guided_at + 1] = (uint8_t)(count + 1);
    out->crowd->stats.guided++;
}

// As often as batches go: a watcher is served by updates.
static void write_guided_stream(Writing *out, FlCrowdWatcher *watcher)
{
    const FlCrowdGuided *guided = fl__crowd_guided(out->crowd, watcher->of, out->now);
    if (guided != NULL && (watcher->guided == INT64_MIN ||
                           fl_span(guided->stamp, watcher->guided) >= out->crowd->def.batch_ns)) {
        out->guided_at = 0;
        put_guided(out, watcher->of, guided);
        out->guided_at = 0;
        watcher->guided = guided->stamp;
    }
}

static void write_streams(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        FlCrowdWatcher *watcher = &crowd->watchers[i];
        if (watcher->of == FL__NOBODY || watcher->light != out->index || out->now < watcher->next) {
            continue;
        }
        const uint8_t *packed;
        FlTime stamp;
        int32_t hops;
        int32_t bytes = fl__crowd_newest(crowd, watcher->of, &packed, &stamp, &hops);
        bool own = !watcher->forwarded;
        uint16_t epoch = crowd->known[watcher->of].epoch;
        if (bytes == 0 || stamp <= watcher->sent || room(out) < STREAM_HEAD + 1 + bytes ||
            hops >= HOPS_AT_MOST) {
            continue;
        }
        fl_writer_put(&out->w, KIND_STREAM, 8);
        uint64_t flag = epoch != 0 ? STREAM_EPOCH : 0;
        fl_writer_put(&out->w, (uint64_t)(own ? 0 : hops + 1) | flag, 8);
        if (epoch != 0) {
            fl_writer_put(&out->w, epoch & 0xffu, 8);
        }
        fl_writer_bytes(&out->w, packed, bytes);
        watcher->sent = stamp;
        watcher->next = next_frame(crowd, own, out->now);
        out->streams++;
        write_guided_stream(out, watcher);
        crowd->stats.streamed++;
        crowd->stats.forwarded += own ? 0 : 1;
    }
}

// Into a BATCH, which begins with its first update; another begins where epochs do, or end. False:
// it does not fit.
static bool put_update(Writing *out, int32_t of, const uint8_t *packed, int32_t bytes)
{
    uint16_t epoch = out->crowd->known[of].epoch;
    int32_t count = out->head_at != 0 ? out->w.bytes[out->head_at + 1] : 0;
    bool begins = out->head_at == 0 || out->epochs != (epoch != 0) || count == 255;
    int32_t takes = bytes + (epoch != 0 ? 1 : 0) + (begins ? BATCH_HEAD : 0);
    if (room(out) < takes + HEARTBEAT_BYTES) {
        return false;
    }
    if (begins) {
        out->head_at = fl_writer_size(&out->w);
        out->epochs = epoch != 0;
        count = 0;
        fl_writer_put(&out->w, out->epochs ? KIND_BATCH_EPOCH : KIND_BATCH, 8);
        fl_writer_put(&out->w, 0, 8);
    }
    if (out->epochs) {
        fl_writer_put(&out->w, epoch & 0xffu, 8);
    }
    fl_writer_bytes(&out->w, packed, bytes);
    out->w.bytes[out->head_at + 1] = (uint8_t)(count + 1);
    out->crowd->stats.batch_updates++;
    return true;
}

static int32_t guided_bytes(const FlCrowd *crowd, int32_t of, FlTime now)
{
    const FlCrowdGuided *guided = fl__crowd_guided(crowd, of, now);
    return guided != NULL && !guided->carried ? 1 + guided->bytes : 0;
}

// With a head where it is another than that of the one before.
static int32_t epoch_bytes(const FlCrowd *crowd, int32_t of)
{
    return crowd->known[of].epoch != 0 ? 1 + 2 * BATCH_HEAD : 0;
}

// What everything would take at most.
static int32_t batch_bytes(const Writing *out)
{
    const FlCrowd *crowd = out->crowd;
    int32_t bytes = BATCH_HEAD + GUIDED_HEAD + HEARTBEAT_BYTES;
    int32_t self = crowd->def.self;
    for (int32_t n = fl__crowd_owned(crowd, self, FL__NOBODY); n != FL__NOBODY;
         n = fl__crowd_owned(crowd, self, n)) {
        const FlCrowdOwn *own = fl__crowd_own(crowd, n);
        bytes += own != NULL ? own->packed_bytes + epoch_bytes(crowd, n) : 0;
        bytes += guided_bytes(crowd, n, out->now);
    }
    for (uint64_t bits = out->light->carries; bits != 0; bits &= bits - 1) {
        int32_t from = crowd->light_member[fl__bit_lowest(bits)];
        for (int32_t n = fl__crowd_owned(crowd, from, FL__NOBODY); n != FL__NOBODY;
             n = fl__crowd_owned(crowd, from, n)) {
            const FlCrowdMore *more = fl__crowd_carriable(crowd, n, out->now);
            bytes += more != NULL ? more->packed_bytes + epoch_bytes(crowd, n) : 0;
            bytes += guided_bytes(crowd, n, out->now);
        }
    }
    return bytes;
}

static void write_own(Writing *out)
{
    const FlCrowd *crowd = out->crowd;
    int32_t self = crowd->def.self;
    for (int32_t n = fl__crowd_owned(crowd, self, FL__NOBODY); n != FL__NOBODY;
         n = fl__crowd_owned(crowd, self, n)) {
        const FlCrowdOwn *own = fl__crowd_own(crowd, n);
        if (own != NULL) {
            (void)put_update(out, n, own->packed, own->packed_bytes);
        }
    }
}

// What a light connection's member sent us of its own. False: it does not all fit.
static bool write_of_member(Writing *out, int32_t from, FlTime *stamp)
{
    const FlCrowd *crowd = out->crowd;
    bool all = true;
    int32_t n = fl__crowd_owned(crowd, from, FL__NOBODY);
    for (; n != FL__NOBODY; n = fl__crowd_owned(crowd, from, n)) {
        const FlCrowdMore *more = fl__crowd_carriable(crowd, n, out->now);
        if (more == NULL) {
            continue;
        }
        bool fits = put_update(out, n, more->packed, more->packed_bytes);
        *stamp = fits ? fl__time_max(more->kept, *stamp) : *stamp;
        all = all && fits;
    }
    return all;
}

// What other light connections' members sent us. What does not fit comes first the next time.
static void write_carried(Writing *out, FlTime *pending)
{
    FlCrowd *crowd = out->crowd;
    FlCrowdLight *light = out->light;
    uint64_t first = light->carries & UINT64_MAX << light->carry_next;
    uint64_t then = light->carries & ~first;
    bool all = true;
    while ((first | then) != 0) {
        int32_t i = fl__bit_lowest(first != 0 ? first : then);
        then &= first != 0 ? then : then - 1;
        first &= first != 0 ? first - 1 : 0;
        FlTime stamp = INT64_MIN;
        bool fits = write_of_member(out, crowd->light_member[i], &stamp);
        if (pending != NULL && stamp != INT64_MIN) {
            pending[i] = stamp;
        }
        if (!fits && all) {
            light->carry_next = i;
            all = false;
        }
    }
}

// What others should have carried there, as far as we know it.
static void write_missed(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    int16_t members[CHARGES_AT_MOST];
    out->light->missed_now = false;
    int32_t count = fl__crowd_charges(crowd, out->light, out->now, members, CHARGES_AT_MOST);
    for (int32_t i = 0; i < count; i++) {
        int32_t n = fl__crowd_owned(crowd, members[i], FL__NOBODY);
        for (; n != FL__NOBODY; n = fl__crowd_owned(crowd, members[i], n)) {
            const FlCrowdMore *more = fl__crowd_kept(crowd, n, out->now);
            if (more != NULL) {
                (void)put_update(out, n, more->packed, more->packed_bytes);
            }
        }
    }
}

// What a member's entities will do; `own_word`: only as it said so itself.
static void write_guided_of(Writing *out, int32_t member, bool own_word)
{
    const FlCrowd *crowd = out->crowd;
    int32_t n = fl__crowd_owned(crowd, member, FL__NOBODY);
    for (; n != FL__NOBODY; n = fl__crowd_owned(crowd, member, n)) {
        const FlCrowdGuided *guided = fl__crowd_guided(crowd, n, out->now);
        if (guided != NULL && !(own_word && guided->carried)) {
            put_guided(out, n, guided);
        }
    }
}

// Of all whose updates the batch has.
static void write_guided(Writing *out)
{
    const FlCrowd *crowd = out->crowd;
    if (crowd->guided == NULL) {
        return;
    }
    write_guided_of(out, crowd->def.self, true);
    for (uint64_t bits = out->light->carries; bits != 0; bits &= bits - 1) {
        write_guided_of(out, crowd->light_member[fl__bit_lowest(bits)], true);
    }
    int16_t members[CHARGES_AT_MOST];
    int32_t count = fl__crowd_charges(crowd, out->light, out->now, members, CHARGES_AT_MOST);
    for (int32_t i = 0; i < count; i++) {
        write_guided_of(out, members[i], false);
    }
}

// Whether it arrives is asked of one batch at a time: where the way is long, not of every one.
static FlTime *ask_arrival(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    FlCrowdLight *light = out->light;
    if (!crowd->def.shared || light->batch_waits) {
        return NULL;
    }
    int32_t capacity = crowd->def.light_capacity;
    FlTime *pending = &crowd->pending[out->index * capacity];
    for (int32_t i = 0; i < capacity; i++) {
        pending[i] = INT64_MIN;
    }
    light->batch_number = light->number;
    light->batch_waits = true;
    return pending;
}

static void prefetch_carried(const Writing *out)
{
    const FlCrowd *crowd = out->crowd;
    for (uint64_t bits = out->light->carries; bits != 0; bits &= bits - 1) {
        int32_t first = crowd->owned[crowd->light_member[fl__bit_lowest(bits)]];
        if (first != FL__NOBODY) {
            fl__crowd_prefetch(crowd, first);
        }
    }
}

// Our own, and what we carry.
static void write_batch(Writing *out)
{
    FlCrowd *crowd = out->crowd;
    FlCrowdLight *light = out->light;
    if (light->missed_now && light->reached) { // at once
        write_missed(out);
    }
    if (!light->reached || out->now < light->batch_due) {
        return;
    }
    prefetch_carried(out);
    if (room(out) < ROOM_ENOUGH && room(out) < batch_bytes(out)) {
        out->short_of_room = true; // better whole and a little later
        return;
    }
    FlTime *pending = ask_arrival(out);
    write_own(out);
    write_carried(out, pending);
    write_missed(out);
    write_guided(out);
    // Every interval once, late or not: what waited for the upload does not shift the rest.
    FlTime next = fl_time_add(light->batch_due, crowd->def.batch_ns);
    light->batch_due = next > out->now ? next : fl_time_add(out->now, crowd->def.batch_ns);
    if (out->head_at != 0) {
        light->heartbeat_due = INT64_MIN;
        crowd->stats.batches++;
    }
}

// Often until the other end answers; rarely where none listens.
static FlTime heartbeat_interval(const Writing *out)
{
    if (!out->light->reached) {
        return FL__HEARTBEAT_NS / 8;
    }
    bool used = out->light->planned || fl__crowd_light_serves(out->crowd, out->index);
    return used ? FL__HEARTBEAT_NS : IDLE_HEARTBEAT_NS;
}

static void write_misses(Writing *out)
{
    int32_t missed[FL__MISSED];
    int32_t count =
        room(out) >= MISSED_BYTES ? fl__crowd_missed(out->crowd, out->index, out->now, missed) : 0;
    if (count > 0) {
        fl_writer_put(&out->w, KIND_MISSED, 8);
        fl_writer_put(&out->w, (uint64_t)count, 8);
    }
    for (int32_t i = 0; i < count; i++) {
        fl_writer_put(&out->w, (uint64_t)missed[i], 16);
    }
}

static void write_heartbeat(Writing *out)
{
    if (out->now < out->light->heartbeat_due || room(out) < HEARTBEAT_BYTES) {
        return;
    }
    const FlCrowdLight *light = out->light;
    int32_t spare = fl__crowd_spare(out->crowd);
    fl_writer_put(&out->w, KIND_HEARTBEAT, 8);
    fl_writer_put(&out->w, (uint64_t)(out->now / HEARTBEAT_STEP) & 0xffffu, 16);
    fl_writer_put(&out->w, (uint64_t)(spare < 255 ? spare : 255), 8);
    int32_t passes = out->crowd->stats.passed_on;
    fl_writer_put(&out->w, (uint64_t)(passes < 255 ? passes : 255), 8);
    fl_writer_put(&out->w, light->newest, 16);
    fl_writer_put(&out->w, light->before, 32);
    out->light->heartbeat_due = fl_time_add(out->now, heartbeat_interval(out));
    write_misses(out);
}

static void write_part(Writing *out)
{
    if (out->light->part_due && room(out) >= 1) {
        fl_writer_put(&out->w, KIND_PART, 8);
        out->light->part_due = false;
        fl__crowd_light_over(out->crowd, out->index);
    }
}

static FlTime light_due(const FlCrowd *crowd, const FlCrowdLight *light, FlTime now)
{
    if (light->over) {
        return FL_FOREVER;
    }
    // Where streams go every frame, what is said every second or so rides along.
    bool rides = light->reached && fl__crowd_light_serves(crowd, (int32_t)(light - crowd->lights));
    FlTime ride = rides ? 2 * crowd->def.frame_ns : 0;
    FlTime due = fl_time_add(light->heartbeat_due, ride);
    FlTime batch = light->reached ? light->batch_due : FL_FOREVER;
    due = fl_time_min(batch, due);
    for (int32_t i = 0; i < fl__crowd_source_places(&crowd->def) && light->reached; i++) {
        const FlCrowdSource *source = &crowd->sources[i];
        if (source->of != FL__NOBODY && source->via == light->member) {
            FlTime wait = source->received != INT64_MIN ? ride : 0;
            due = fl_time_min(fl_time_add(source->look_due, wait), due);
        }
    }
    return due > now ? due : now + 1;
}

// Nothing to say: 0.
static int32_t write_packet(FlCrowd *crowd, int32_t index, uint8_t *bytes, int32_t room_bytes,
                            FlTime now)
{
    Writing out = {.crowd = crowd, .light = &crowd->lights[index], .index = index, .now = now};
    fl_writer_init(&out.w, bytes, room_bytes);
    fl_writer_put(&out.w, out.light->number, 16);
    write_looks(&out);
    write_redirects(&out);
    write_messages(&out);
    write_streams(&out);
    write_batch(&out);
    write_heartbeat(&out);
    write_part(&out);
    FL_ASSERT(!out.w.failed);
    int32_t count = fl_writer_size(&out.w);
    crowd->due[index] =
        out.short_of_room ? fl_time_add(now, ROOM_LOOK_EVERY) : light_due(crowd, out.light, now);
    if (count == NUMBER_BYTES) {
        return 0;
    }
    out.light->number++;
    fl__crowd_sent(crowd, count + crowd->def.overhead_bytes, out.streams);
    return count;
}

static void find_earliest(FlCrowd *crowd, FlTime now)
{
    if (now < crowd->due_earliest) {
        return;
    }
    FlTime earliest = FL_FOREVER;
    for (int32_t i = 0; i < crowd->def.light_capacity; i++) {
        earliest = fl_time_min(crowd->due[i], earliest);
    }
    crowd->due_earliest = earliest;
}

// Where more is to be said than the upload bears, those who watch come first: a stream that stops
// sends everybody behind it looking elsewhere.
static int32_t urgent_light(const FlCrowd *crowd, FlTime now)
{
    for (int32_t i = 0; i < crowd->watcher_end; i++) {
        const FlCrowdWatcher *watcher = &crowd->watchers[i];
        const uint8_t *packed;
        FlTime stamp;
        int32_t hops;
        if (watcher->of != FL__NOBODY && watcher->next <= now &&
            fl__crowd_newest(crowd, watcher->of, &packed, &stamp, &hops) > 0 &&
            stamp > watcher->sent && hops < HOPS_AT_MOST) {
            return watcher->light;
        }
    }
    return FL__NOBODY;
}

// Whoever waits to be sent on waits for nothing else, and asks again and again: it comes next.
static int32_t redirected_light(const FlCrowd *crowd)
{
    for (int32_t i = 0; i < FL__REDIRECTS && crowd->redirect_count > 0; i++) {
        if (crowd->redirects[i].light != FL__NOBODY) {
            return crowd->redirects[i].light;
        }
    }
    return FL__NOBODY;
}

static int32_t first_light(const FlCrowd *crowd, FlTime now)
{
    int32_t light = urgent_light(crowd, now);
    return light != FL__NOBODY ? light : redirected_light(crowd);
}

bool fl__crowd_next(FlCrowd *crowd, FlTime now, uint8_t *bytes, int32_t room_bytes, int32_t *count,
                    int32_t *to)
{
    FL_ASSERT(room_bytes >= FL_CROWD_ROOM_BYTES);
    room_bytes = room_bytes < FL_CROWD_PACKET_BYTES ? room_bytes : FL_CROWD_PACKET_BYTES;
    fl__crowd_replan(crowd, now);
    fl__crowd_watch(crowd, now);
    int32_t urgent = crowd->def.shared ? first_light(crowd, now) : FL__NOBODY; // those are few
    if (urgent != FL__NOBODY) {
        *count = write_packet(crowd, urgent, bytes, room_bytes, now);
        if (*count > 0) {
            *to = crowd->lights[urgent].member;
            return true;
        }
    }
    for (; now >= crowd->due_earliest && crowd->light_next < crowd->def.light_capacity;
         crowd->light_next++) {
        if (crowd->due[crowd->light_next] > now) {
            continue;
        }
        *count = write_packet(crowd, crowd->light_next, bytes, room_bytes, now);
        if (*count > 0) {
            *to = crowd->lights[crowd->light_next].member;
            return true;
        }
    }
    crowd->light_next = 0;
    find_earliest(crowd, now);
    return false;
}

FlTime fl__crowd_deadline(const FlCrowd *crowd, FlTime now)
{
    FlTime deadline = fl_time_min(crowd->watch_due, crowd->sweep_due);
    deadline = fl_time_min(crowd->due_earliest, deadline);
    return fl__time_max(deadline, now);
}
