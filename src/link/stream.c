// Reliable data: messages cut into fragments, a window of them under way, each repeated until
// acknowledged.
//
// The ordered stream is a stream of bytes: each message is its length (7 bits a byte, lowest first,
// the top bit saying that more follow) and its bytes; fragments cut it wherever a packet's room
// ends, so small messages share fragments and large ones span many. The unordered stream has one
// message per fragment. A fragment's fate is its packet's: when the packet is reported, its
// fragments are done.
//
// Channels: in the unordered stream a fragment may name an earlier one that must be taken before
// it, by how far back it is. So messages of one channel keep their order, and wait for no other's;
// the reader need not know channels. One further back than the window is here already, with all
// that it waits for, and lower serials are taken first.
//
// Invariant: out_first <= out_next <= out_first + FL_LINK_WINDOW, and out_first <= the receiver's
// in_next + FL_LINK_WINDOW, since all before out_first was accepted. So what the sender may send is
// inside the receiver's window, or at most one window beyond it: then the receiver's user does not
// take messages. The receiver takes the packet all the same (it may carry motion) but reports its
// reliable data as refused, and the sender sends it again, patiently. That is the back-pressure.
#include "private.h"

#include "wire/wire.h"

#include <string.h>

static OutSlot *out_at(const Stream *s, int64_t serial)
{
    return &s->out[serial % FL_LINK_WINDOW];
}

static InSlot *in_at(const Stream *s, int64_t serial)
{
    return &s->in[serial % FL_LINK_WINDOW];
}

// ---------------------------------------------------------------- sending

#define LENGTH_BYTES 3 // 21 bits hold FL_LINK_MESSAGE_BYTES

static int32_t length_encode(int32_t length, uint8_t out[LENGTH_BYTES])
{
    int32_t count = 0;
    while (length >= 0x80) {
        out[count++] = (uint8_t)(length & 0x7f) | 0x80u;
        length >>= 7;
    }
    out[count++] = (uint8_t)length;
    return count;
}

static FlResult ordered_send(Stream *s, const void *bytes, int32_t count)
{
    uint8_t length[LENGTH_BYTES];
    int32_t length_bytes = length_encode(count, length);
    if (count > FL_LINK_MESSAGE_BYTES || length_bytes + count > s->out_ring.capacity) {
        return FL_BAD_VALUE;
    }
    if (length_bytes + count > fl__ring_free(&s->out_ring)) {
        return FL_WOULD_BLOCK;
    }
    fl__ring_put(&s->out_ring, length, length_bytes);
    fl__ring_put(&s->out_ring, bytes, count);
    s->queued += length_bytes + count;
    return FL_OK;
}

static OutSlot *out_add(Stream *s, int32_t length)
{
    OutSlot *slot = out_at(s, s->out_next++);
    slot->sent_at = NEVER;
    slot->length = (uint16_t)length;
    slot->tries = 0;
    slot->acked = false;
    slot->quickest = false;
    slot->refused = false;
    slot->priority = slot->after = 0;
    slot->channel = 0;
    return slot;
}

static bool out_is_full(const Stream *s)
{
    return s->out_next - s->out_first >= FL_LINK_WINDOW;
}

FlResult fl__stream_send(Stream *s, const void *bytes, int32_t count, bool quickest)
{
    if (count <= 0) {
        return FL_BAD_VALUE;
    }
    if (s->ordered) {
        return ordered_send(s, bytes, count);
    }
    if (count > FL_LINK_FRAGMENT_BYTES) {
        return FL_BAD_VALUE;
    }
    if (out_is_full(s)) {
        return FL_WOULD_BLOCK;
    }
    OutSlot *slot = out_add(s, count);
    slot->quickest = quickest;
    s->queued++;
    memcpy(slot->bytes, bytes, (size_t)count);
    return FL_OK;
}

FlResult fl__stream_send_channel(Stream *s, const void *bytes, int32_t count, uint32_t channel,
                                 uint8_t priority)
{
    FL_ASSERT(!s->ordered && channel > 0);
    FlResult result = fl__stream_send(s, bytes, count, false);
    if (result != FL_OK) {
        return result;
    }
    int64_t serial = s->out_next - 1;
    int64_t before = serial - 1;
    while (before >= s->out_first && out_at(s, before)->channel != channel) {
        before--;
    }
    OutSlot *slot = out_at(s, serial);
    slot->channel = channel;
    slot->priority = priority;
    slot->after = (uint8_t)(before >= s->out_first ? serial - before : 0);
    s->ranked = priority > 0 ? serial + 1 : s->ranked;
    return FL_OK;
}

// Cuts waiting bytes into fragments while the window has room.
static void cut_fragments(Stream *s)
{
    while (s->ordered && !out_is_full(s) && fl__ring_used(&s->out_ring) > 0) {
        int32_t used = fl__ring_used(&s->out_ring);
        int32_t length = used < FL_LINK_FRAGMENT_BYTES ? used : FL_LINK_FRAGMENT_BYTES;
        OutSlot *slot = out_add(s, length);
        fl__ring_take(&s->out_ring, slot->bytes, length);
    }
}

#define BACKOFF_AT_MOST 4
#define REFUSED_BACKOFF_AT_MOST 8

// When it must be sent (again): then what is due soon goes along.
static FlTime slot_due(const OutSlot *slot, const Repeat *repeat)
{
    if (slot->acked) {
        return FL_FOREVER;
    }
    if (slot->sent_at == NEVER) {
        return NEVER;
    }
    bool overtaken = fl_time_add(slot->sent_at, repeat->margin_ns) < repeat->delivered_after;
    if (overtaken && !slot->refused) {
        return NEVER; // a later packet has arrived: this one is lost
    }
    int32_t most = slot->refused ? REFUSED_BACKOFF_AT_MOST : BACKOFF_AT_MOST;
    FlTime wait = repeat->timeout_ns * (slot->tries < most ? slot->tries : most);
    return fl_time_add(slot->sent_at, fl_time_min(wait, repeat->latest_ns));
}

static bool slot_goes(const OutSlot *slot, const Repeat *repeat, FlTime now)
{
    FlTime due = slot_due(slot, repeat);
    return due <= now || (due != FL_FOREVER && due <= now + repeat->timeout_ns / 4);
}

bool fl__stream_idle(const Stream *s)
{
    return s->out_first == s->out_next && fl__ring_used(&s->out_ring) == 0;
}

FlTime fl__stream_due(const Stream *s, const Repeat *repeat)
{
    FlTime due = FL_FOREVER;
    if (s->ordered && !out_is_full(s) && fl__ring_used(&s->out_ring) > 0) {
        return NEVER;
    }
    for (int64_t n = s->out_first; n < s->out_next; n++) {
        FlTime slot_time = slot_due(out_at(s, n), repeat);
        due = fl_time_min(slot_time, due);
    }
    return due;
}

// FRAGMENT: a piece of reliable data.                            spec/WIRE.md section 6.2
//
//   bits  field      unit      valid
//   1     more       -         1: another FRAGMENT follows this one; at most 16 in a packet
//   1     stream     -         0 ordered, 1 unordered
//   16    serial     -         low bits of the fragment's number in its stream, from 0
//   8     length     bytes     1..256, less one
//   6     after      -         unordered: so many back is what it waits for; 0: nothing
//   then `length` bytes
//
// Each starts at a whole byte. All are written as if more followed; the caller clears that in the
// last.
#define HEADER_BYTES 4

int32_t fl__stream_due_bytes(const Stream *s, const Repeat *repeat, FlTime now)
{
    int32_t bytes = 0;
    for (int64_t n = s->out_first; n < s->out_next && bytes < s->packet_end; n++) {
        const OutSlot *slot = out_at(s, n);
        bytes += slot_goes(slot, repeat, now) ? HEADER_BYTES + slot->length : 0;
    }
    if (s->ordered && !out_is_full(s) && bytes < s->packet_end) {
        int32_t waiting = fl__ring_used(&s->out_ring);
        int32_t headers = (waiting + FL_LINK_FRAGMENT_BYTES - 1) / FL_LINK_FRAGMENT_BYTES;
        bytes += waiting + headers * HEADER_BYTES;
    }
    return bytes < s->packet_end ? bytes : s->packet_end;
}

static void fragment_encode(const OutSlot *slot, uint8_t stream, uint16_t serial, FlWriter *w)
{
    fl_writer_put(w, 1, 1);
    fl_writer_put(w, stream, 1);
    fl_writer_put(w, serial, 16);
    fl_writer_put(w, (uint64_t)slot->length - 1, 8);
    fl_writer_put(w, slot->after, 6);
    fl_writer_bytes(w, slot->bytes, slot->length);
}

// What a packet can take of the quickest that are under way already: with many of them on a long
// way they would fill all packets, and what is new would wait until they are acknowledged.
typedef struct Spare {
    int32_t count, bytes;
} Spare;

static Spare spare_of(const Stream *s, const FlWriter *w, const Repeat *repeat, FlTime now,
                      const Fragments *fragments)
{
    Spare spare = {FRAGMENTS_PER_PACKET - fragments->count, s->packet_end - fl_writer_size(w)};
    for (int64_t n = s->out_first; n < s->out_next; n++) {
        const OutSlot *slot = out_at(s, n);
        bool due = slot_goes(slot, repeat, now);
        spare.count -= due ? 1 : 0;
        spare.bytes -= due ? HEADER_BYTES + slot->length : 0;
    }
    return spare;
}

static bool spare_take(Spare *spare, int32_t bytes)
{
    bool fits = spare->count > 0 && spare->bytes >= bytes;
    spare->count -= fits ? 1 : 0;
    spare->bytes -= fits ? bytes : 0;
    return fits;
}

static int32_t rank_of(const OutSlot *slot)
{
    return slot->quickest ? UINT8_MAX + 1 : slot->priority;
}

// What is under way, in the order in which it goes: by priority, then by age. Nothing waits for
// ever: what has not arrived holds up the window.
static int32_t rank_fragments(const Stream *s, int64_t order[FL_LINK_WINDOW])
{
    int32_t count = 0;
    bool ranked = s->ranked > s->out_first;
    for (int64_t n = s->out_first; n < s->out_next; n++) {
        int32_t at = count++;
        for (; ranked && at > 0 && rank_of(out_at(s, order[at - 1])) < rank_of(out_at(s, n));
             at--) {
            order[at] = order[at - 1];
        }
        order[at] = n;
    }
    return count;
}

void fl__stream_encode(Stream *s, uint8_t stream, FlWriter *w, double budget_bytes, FlTime now,
                       const Repeat *repeat, Fragments *fragments)
{
    cut_fragments(s);
    Spare spare = spare_of(s, w, repeat, now, fragments);
    int64_t order[FL_LINK_WINDOW];
    int32_t count = rank_fragments(s, order);
    for (int32_t i = 0; i < count && fragments->count < FRAGMENTS_PER_PACKET; i++) {
        int64_t n = order[i];
        const OutSlot *slot = out_at(s, n);
        int32_t bytes = HEADER_BYTES + slot->length;
        bool quickest = slot->quickest && !slot->refused && !slot->acked;
        bool due = slot_goes(slot, repeat, now);
        bool wanted = due ? quickest || budget_bytes > 0.0 : quickest && spare_take(&spare, bytes);
        if (!wanted || bytes > s->packet_end - fl_writer_size(w)) {
            continue;
        }
        budget_bytes -= bytes;
        fragments->last_at = fl_writer_size(w);
        fragment_encode(slot, stream, (uint16_t)n, w);
        FragmentRef ref = {(uint16_t)n, stream};
        fragments->refs[fragments->count++] = ref;
    }
}

// The slot under way with that serial, or NULL: another packet with the same fragment was reported
// before.
static OutSlot *under_way(const Stream *s, uint16_t serial)
{
    int64_t n = fl__unwrap(s->out_first, serial, 16);
    return n >= s->out_first && n < s->out_next ? out_at(s, n) : NULL;
}

void fl__stream_sent(Stream *s, uint16_t serial, FlTime now)
{
    OutSlot *slot = under_way(s, serial);
    if (slot != NULL) {
        slot->sent_at = now;
        slot->tries = slot->tries < 100 ? (uint8_t)(slot->tries + 1) : 100;
        slot->refused = false;
    }
}

void fl__stream_acked(Stream *s, uint16_t serial)
{
    OutSlot *slot = under_way(s, serial);
    if (slot == NULL) {
        return;
    }
    slot->acked = true;
    while (s->out_first < s->out_next && out_at(s, s->out_first)->acked) {
        s->accepted += s->ordered ? out_at(s, s->out_first)->length : 1;
        s->out_first++;
    }
}

// One mark at a time is enough: what is asked is how fast the peer takes them, not how old each
// message is.
void fl__stream_update(Stream *s, FlTime now)
{
    if (s->accepted >= s->mark) {
        int64_t window = s->ordered ? FL_LINK_WINDOW * FL_LINK_FRAGMENT_BYTES : FL_LINK_WINDOW;
        int64_t half = (window + s->out_ring.capacity) / 2;
        s->mark = s->queued < s->accepted + half ? s->queued : s->accepted + half;
        s->mark_at = now;
    }
}

FlTime fl__stream_waiting(const Stream *s, FlTime now)
{
    return s->accepted < s->mark ? fl_span(now, s->mark_at) : 0;
}

void fl__stream_refused(Stream *s, uint16_t serial)
{
    OutSlot *slot = under_way(s, serial);
    if (slot != NULL) {
        slot->refused = true;
    }
}

// ---------------------------------------------------------------- receiving

FlLinkDrop fl__fragment_decode(FlReader *r, FragmentMessage *m, bool *more)
{
    *more = fl_reader_take(r, 1) != 0;
    m->stream = (uint8_t)fl_reader_take(r, 1);
    m->serial = (uint16_t)fl_reader_take(r, 16);
    m->length = (int32_t)fl_reader_take(r, 8) + 1;
    m->after = (uint8_t)fl_reader_take(r, 6);
    if (r->failed) {
        return FL_LINK_DROP_SHORT;
    }
    if (m->stream == STREAM_ORDERED && m->after != 0) {
        return FL_LINK_DROP_MALFORMED;
    }
    m->bytes = fl_reader_bytes(r, m->length);
    return r->failed ? FL_LINK_DROP_SHORT : FL_LINK_DROP_NONE;
}

FlLinkDrop fl__stream_check(const Stream *s, const FragmentMessage *m, bool *room)
{
    int64_t n = fl__unwrap(s->in_next, m->serial, 16);
    *room = n < s->in_next + FL_LINK_WINDOW;
    bool possible = n >= m->after && n < s->in_next + 2 * FL_LINK_WINDOW;
    return possible ? FL_LINK_DROP_NONE : FL_LINK_DROP_WINDOW;
}

// Moves what it can of an ordered fragment to where messages are taken from; true if all of it. A
// part must do: the ring may be full of a message that this fragment's first bytes complete.
static bool ring_take_in(Stream *s, const InSlot *slot)
{
    int32_t left = slot->length - s->in_offset;
    int32_t part = left < fl__ring_free(&s->in_ring) ? left : fl__ring_free(&s->in_ring);
    fl__ring_put(&s->in_ring, slot->bytes + s->in_offset, part);
    s->in_offset = part == left ? 0 : s->in_offset + part;
    return part == left;
}

// Moves the window past fragments that are done with.
static void drain(Stream *s)
{
    for (;;) {
        InSlot *slot = in_at(s, s->in_next);
        bool done = s->ordered ? slot->present && ring_take_in(s, slot) : slot->taken;
        if (!done) {
            return;
        }
        slot->present = slot->taken = false;
        s->in_next++;
    }
}

void fl__stream_accept(Stream *s, const FragmentMessage *m)
{
    int64_t n = fl__unwrap(s->in_next, m->serial, 16);
    if (n < s->in_next || n >= s->in_next + FL_LINK_WINDOW) {
        return; // a repetition of what is here already, or no room for it
    }
    InSlot *slot = in_at(s, n);
    if (slot->present) {
        return;
    }
    slot->present = true;
    s->in_waiting += s->ordered ? 0 : 1;
    slot->after = m->after;
    slot->length = (uint16_t)m->length;
    memcpy(slot->bytes, m->bytes, (size_t)m->length);
    drain(s);
}

// The length at the head of the ordered stream: its own size in *length_bytes (0: not all here
// yet), or -1 if it is one that no sender writes or that can never fit.
static int32_t next_length(const Stream *s, int32_t *length_bytes)
{
    int32_t length = 0;
    int32_t here = fl__ring_used(&s->in_ring);
    *length_bytes = 0;
    for (int32_t i = 0; i < LENGTH_BYTES && i < here; i++) {
        uint8_t byte;
        fl__ring_peek(&s->in_ring, i, &byte, 1);
        length |= (byte & 0x7f) << (7 * i);
        if ((byte & 0x80u) == 0) {
            bool padded = i > 0 && byte == 0;
            bool fits = length > 0 && length <= FL_LINK_MESSAGE_BYTES &&
                        i + 1 + length <= s->in_ring.capacity;
            *length_bytes = i + 1;
            return fits && !padded ? length : -1;
        }
    }
    return here >= LENGTH_BYTES ? -1 : 0;
}

bool fl__stream_broken(const Stream *s)
{
    int32_t length_bytes;
    return s->ordered && next_length(s, &length_bytes) < 0;
}

static FlResult ordered_take(Stream *s, void *buffer, int32_t capacity, int32_t *count)
{
    int32_t length_bytes;
    int32_t length = next_length(s, &length_bytes);
    if (length <= 0 || length_bytes + length > fl__ring_used(&s->in_ring)) {
        return FL_NOT_FOUND;
    }
    *count = length;
    if (length > capacity) {
        return FL_FULL;
    }
    fl__ring_peek(&s->in_ring, length_bytes, buffer, length);
    s->in_ring.taken += length_bytes + length;
    drain(s);
    return FL_OK;
}

// An unordered fragment whose turn it is: it is here, and what it comes after has been taken.
static bool can_be_taken(const Stream *s, int64_t n)
{
    const InSlot *slot = in_at(s, n);
    int64_t before = n - slot->after;
    bool waits = slot->after > 0 && before >= s->in_next && !in_at(s, before)->taken;
    return slot->present && !slot->taken && !waits;
}

FlResult fl__stream_take(Stream *s, void *buffer, int32_t capacity, int32_t *count)
{
    *count = 0;
    if (s->ordered) {
        return ordered_take(s, buffer, capacity, count);
    }
    for (int64_t n = s->in_next; s->in_waiting > 0 && n < s->in_next + FL_LINK_WINDOW; n++) {
        InSlot *slot = in_at(s, n);
        if (!can_be_taken(s, n)) {
            continue;
        }
        *count = slot->length;
        if (slot->length > capacity) {
            return FL_FULL;
        }
        memcpy(buffer, slot->bytes, slot->length);
        slot->taken = true;
        s->in_waiting--;
        drain(s);
        return FL_OK;
    }
    return FL_NOT_FOUND;
}
