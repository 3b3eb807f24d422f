// A link as a whole: its memory, its clock, its end, and what it tells about itself.
//
// receive.c takes packets apart and send.c puts them together; each names the parts that do the
// work. A link's buffers are one block, reserved when it is made.
#include "private.h"

#include <string.h>

#define LINK_COOKIE 0x4c494e4bu

const char *fl_link_drop_name(FlLinkDrop drop)
{
    switch (drop) {
#define ROW(name, word, meaning)                                                                   \
    case FL_LINK_DROP_##name:                                                                      \
        return word;
        FL_LINK_DROP_TABLE(ROW)
#undef ROW
    case FL_LINK_DROPS:
        break;
    }
    return "unknown";
}

// ---------------------------------------------------------------- making and ending

FlLinkDef fl_link_def_default(void)
{
    FlLinkDef def = {
        .ack_delay_ns = FL_MS(25),
        .keep_alive_ns = FL_MS(1500),
        .timeout_ns = FL_SEC(10),
        .reorder_ns = FL_SEC(1),
        .overhead_bytes = 28,
        .rate_bytes_s = 64.0 * 1024,
        .rate_min_bytes_s = 8.0 * 1024,
        .rate_max_bytes_s = 128.0 * 1024,
        .sent_capacity = 256,
        .send_bytes = 16 * 1024,
        .receive_bytes = 16 * 1024,
        .cookie = LINK_COOKIE,
    };
    return def;
}

static bool is_power_of_two(int32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

// Stamps travel by low bits that come round after 70 minutes: nobody may be silent for half of
// that.
#define TIMEOUT_AT_MOST FL_SEC(1800)
#define ACK_DELAY_AT_MOST FL_SEC(10)

static bool def_is_good(const FlLinkDef *def)
{
    bool times = def->eager_count >= 0 && def->ack_delay_ns >= 0 &&
                 def->ack_delay_ns <= ACK_DELAY_AT_MOST && def->keep_alive_ns > 0 &&
                 def->timeout_ns > 0 && def->timeout_ns <= TIMEOUT_AT_MOST && def->reorder_ns > 0;
    bool rates = def->rate_min_bytes_s > 0.0 && def->rate_bytes_s >= def->rate_min_bytes_s &&
                 def->rate_max_bytes_s >= def->rate_bytes_s && isfinite(def->rate_max_bytes_s);
    bool sizes = is_power_of_two(def->sent_capacity) && def->sent_capacity >= 16 &&
                 def->sent_capacity <= 4096 && def->send_bytes >= FL_LINK_FRAGMENT_BYTES &&
                 def->receive_bytes >= FL_LINK_FRAGMENT_BYTES && def->overhead_bytes >= 0 &&
                 def->overhead_bytes <= FL_LINK_PACKET_BYTES &&
                 def->send_bytes <= 2 * FL_LINK_MESSAGE_BYTES &&
                 def->receive_bytes <= 2 * FL_LINK_MESSAGE_BYTES;
    return times && rates && sizes;
}

// The buffers of a link, one after another in a single block.
typedef struct Layout {
    size_t sending, reports, ring, keys, refs, fates, slots_out, slots_in, ring_out, ring_in, total;
} Layout;

static size_t place(size_t *at, size_t size)
{
    size_t here = *at;
    *at += (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    return here;
}

static Layout layout_of(const FlLinkDef *def)
{
    size_t at = 0;
    size_t n = (size_t)def->sent_capacity;
    Layout l;
    l.sending = place(&at, sizeof(Sending));
    l.reports = place(&at, n * sizeof(Report));
    l.ring = place(&at, n * sizeof(Sent));
    l.keys = place(&at, 2 * n * sizeof(SentKey));
    l.refs = place(&at, n * FRAGMENTS_PER_PACKET * sizeof(FragmentRef));
    l.fates = place(&at, 2 * n * sizeof(FlFateEvent));
    l.slots_out = place(&at, STREAM_COUNT * FL_LINK_WINDOW * sizeof(OutSlot));
    l.slots_in = place(&at, STREAM_COUNT * FL_LINK_WINDOW * sizeof(InSlot));
    l.ring_out = place(&at, (size_t)def->send_bytes);
    l.ring_in = place(&at, (size_t)def->receive_bytes);
    l.total = at;
    return l;
}

void fl_link_memory(const FlLinkDef *def, size_t *link_bytes, size_t *buffer_bytes)
{
    *link_bytes = sizeof(FlLink);
    *buffer_bytes = layout_of(def).total;
}

static void streams_init(FlLink *link, uint8_t *block, const Layout *l)
{
    OutSlot *out = (OutSlot *)(void *)(block + l->slots_out);
    InSlot *in = (InSlot *)(void *)(block + l->slots_in);
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        link->out->stream[i].out = out + (size_t)i * FL_LINK_WINDOW;
        link->out->stream[i].in = in + (size_t)i * FL_LINK_WINDOW;
    }
    Stream *ordered = &link->out->stream[STREAM_ORDERED];
    ordered->ordered = true;
    ordered->out_ring.bytes = block + l->ring_out;
    ordered->out_ring.capacity = link->def.send_bytes;
    ordered->in_ring.bytes = block + l->ring_in;
    ordered->in_ring.capacity = link->def.receive_bytes;
}

static void link_init(FlLink *link, const FlLinkDef *def, FlTime now, uint8_t *block)
{
    Layout l = layout_of(def);
    link->def = *def;
    link->alive = true;
    link->out = (Sending *)(void *)(block + l.sending);
    link->out->epoch = now;
    link->out->asked_at = FL_FOREVER;
    link->out->delivered_after = NEVER;
    link->out->peer_stamp = NEVER;
    fl__arrivals_init(&link->arrivals, (Report *)(void *)(block + l.reports), def->sent_capacity);
    link->arrivals.has_gaps = def->numbered_below;
    link->out->outbox.ring = (Sent *)(void *)(block + l.ring);
    link->out->outbox.keys = (SentKey *)(void *)(block + l.keys);
    link->out->outbox.refs = (FragmentRef *)(void *)(block + l.refs);
    link->out->outbox.fates = (FlFateEvent *)(void *)(block + l.fates);
    link->out->outbox.capacity = def->sent_capacity;
    link->out->outbox.reported = -1;
    streams_init(link, block, &l);
    fl_budget_init(&link->out->budget, def->rate_bytes_s, 4.0 * FL_LINK_PACKET_BYTES, 0);
    FlClockDef clock = fl_clock_def_default();
    fl_clock_init(&link->clock, &clock);
}

FlResult fl_link_create(const FlLinkDef *def, FlTime now, FlLink **link)
{
    *link = NULL;
    FL_ASSERT(def->cookie == LINK_COOKIE);
    if (!def_is_good(def)) {
        return FL_BAD_VALUE;
    }
    FlLink *fresh = (FlLink *)fl_alloc(&def->alloc, sizeof *fresh, _Alignof(FlLink));
    if (fresh == NULL) {
        return FL_NO_MEMORY;
    }
    size_t bytes = layout_of(def).total;
    uint8_t *block = (uint8_t *)fl_alloc(&def->alloc, bytes, _Alignof(max_align_t));
    if (block == NULL) {
        fl_free(&def->alloc, fresh, sizeof *fresh);
        return FL_NO_MEMORY;
    }
    link_init(fresh, def, now, block);
    *link = fresh;
    return FL_OK;
}

void fl_link_destroy(FlLink *link)
{
    if (link == NULL) {
        return;
    }
    FlAlloc alloc = link->def.alloc;
    fl_free(&alloc, link->out, layout_of(&link->def).total);
    fl_free(&alloc, link, sizeof *link);
}

void fl_link_close(FlLink *link)
{
    if (link->alive) {
        link->alive = false;
        fl__outbox_abandon(&link->out->outbox);
    }
}

void fl_link_patience(FlLink *link, FlTime now, FlTime keep_alive_ns, FlTime timeout_ns)
{
    FL_ASSERT(keep_alive_ns > 0 && timeout_ns > 0 && timeout_ns <= TIMEOUT_AT_MOST);
    // It may have been silent for longer than it may be from now on.
    link->out->heard_at = fl__link_tell_time(link, now);
    link->out->asked_at = FL_FOREVER;
    link->def.keep_alive_ns = keep_alive_ns;
    link->def.timeout_ns = timeout_ns;
}

bool fl_link_alive(const FlLink *link)
{
    return link->alive;
}

// ---------------------------------------------------------------- time

FlTime fl_link_clock(const FlLink *link, FlTime now)
{
    return fl_span(now, link->out->epoch);
}

// The link clock at the caller's `now`. A caller's clock that goes back a little stands still here;
// one that was set back goes on from where it was, or the link would sleep until it had caught up.
FlTime fl__link_tell_time(FlLink *link, FlTime now)
{
    FlTime clock = fl_link_clock(link, now);
    if (fl_span(link->now, clock) > SET_BACK_NS) {
        link->out->epoch = fl_span(now, link->now);
        clock = link->now;
    }
    link->now = clock > link->now ? clock : link->now;
    return link->now;
}

// ---------------------------------------------------------------- what time brings

void fl_link_update(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_tell_time(link, now);
    if (!link->alive) {
        return;
    }
    if (clock >= link->out->adaptation.next) {
        FlClockDelays delays = fl_clock_delays(&link->clock);
        fl__budget_adapt(&link->out->budget, &link->out->adaptation, &link->def, &link->out->outbox,
                         &delays, clock);
    }
    if (fl_span(clock, link->out->heard_at) >= link->def.timeout_ns) {
        fl_link_close(link);
    }
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        fl__stream_update(&link->out->stream[i], clock);
    }
}

// ---------------------------------------------------------------- telling

FlResult fl_link_poll_fate(FlLink *link, FlFateEvent *event)
{
    FlFateEvent none = {0};
    *event = none;
    if (!fl__outbox_next_fate(&link->out->outbox, event)) {
        return FL_NOT_FOUND;
    }
    event->sent = fl_time_add(link->out->epoch, event->sent);
    return FL_OK;
}

FlLinkSilence fl_link_silence(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_tell_time(link, now);
    FlTime asked = link->out->asked_at;
    FlTime probe = fl__link_probe_due(link);
    FlLinkSilence silence = {
        .unheard_ns = fl_span(clock, link->out->heard_at),
        .unanswered_ns = asked == FL_FOREVER ? 0 : fl_span(clock, asked),
        .silent = fl__link_silent(link),
        .payload_at = now,
    };
    if (silence.silent && probe > clock) {
        silence.payload_at = fl_time_add(now, fl_span(probe, clock));
    }
    return silence;
}

const FlClock *fl_link_peer_clock(const FlLink *link)
{
    return &link->clock;
}

void fl_link_stats(const FlLink *link, FlTime now, FlLinkStats *stats)
{
    FlTime clock = fl_link_clock(link, now);
    FlClockReading reading = fl_clock_read(&link->clock, clock);
    FlTime ordered = fl__stream_waiting(&link->out->stream[STREAM_ORDERED], clock);
    FlTime unordered = fl__stream_waiting(&link->out->stream[STREAM_UNORDERED], clock);
    FlLinkStats fresh = {
        .rtt_min_ns = link->out->trips.min_ns,
        .rtt_average_ns = link->out->trips.average_ns,
        .rtt_p95_ns = fl__trips_percentile(&link->out->trips, 0.95),
        .jitter_ns = link->out->trips.deviation_ns,
        .delays = fl_clock_delays(&link->clock),
        .uncertainty_ns = reading.known ? reading.bound_ns : FL_FOREVER,
        .loss_out = link->out->outbox.loss,
        .loss_in = link->arrivals.loss,
        .packets_out = link->out->packets,
        .packets_in = link->out->packets_in,
        .bytes_out = link->out->bytes,
        .bytes_in = link->out->bytes_in,
        .delivered = link->out->outbox.delivered,
        .lost = link->out->outbox.lost,
        .unknown = link->out->outbox.unknown,
        .rate_bytes_s = link->out->budget.rate_bytes_s,
        .slowed = link->out->adaptation.slowed,
        .sped_up = link->out->adaptation.sped_up,
        .refused = link->out->refused,
        .waiting_ns = ordered > unordered ? ordered : unordered,
    };
    memcpy(fresh.drops, link->drops, sizeof fresh.drops);
    *stats = fresh;
}
