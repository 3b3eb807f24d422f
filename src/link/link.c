// A link as a whole: its memory, its clock, its end, and what it tells about itself.
//
// receive.c takes packets apart and send.c puts them together; each names the parts that do the
// work. A link's buffers are one block, reserved when it is made.
#include "private.h"

#include "clock/clock.h"

#include <float.h>
#include <string.h>

#define LINK_COOKIE 0x4c494e4bu

const char *fl__link_drop_name(FlLinkDrop drop)
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
        .packet_bytes = FL_LINK_PACKET_BYTES,
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

// Stamps travel by low bits that come round after 70 minutes: no peer may be silent for half of
// that.
#define TIMEOUT_AT_MOST FL_SEC(1800)
#define ACK_DELAY_AT_MOST FL_SEC(10)

FlResult fl_link_def_problem(const FlLinkDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlLinkDef, "fl_link_def_default", LINK_COOKIE),
        FL__WHOLE(FlLinkDef, ack_delay_ns, 0, ACK_DELAY_AT_MOST),
        FL__WHOLE(FlLinkDef, keep_alive_ns, 1, FL_FOREVER),
        FL__WHOLE(FlLinkDef, eager_count, 0, INT32_MAX),
        FL__WHOLE(FlLinkDef, packet_bytes, FL_LINK_PACKET_LEAST, FL_LINK_PACKET_BYTES),
        FL__WHOLE(FlLinkDef, timeout_ns, 1, TIMEOUT_AT_MOST),
        FL__WHOLE(FlLinkDef, reorder_ns, 1, FL_FOREVER),
        FL__WHOLE(FlLinkDef, overhead_bytes, 0, FL_LINK_PACKET_BYTES),
        FL__ABOVE(FlLinkDef, rate_min_bytes_s, 0.0, DBL_MAX),
        FL__ABOVE(FlLinkDef, rate_bytes_s, 0.0, DBL_MAX),
        FL__ABOVE(FlLinkDef, rate_max_bytes_s, 0.0, DBL_MAX),
        FL__POWER(FlLinkDef, sent_capacity, 16, 4096),
        FL__WHOLE(FlLinkDef, send_bytes, FL_LINK_FRAGMENT_BYTES, 2 * FL_LINK_MESSAGE_BYTES),
        FL__WHOLE(FlLinkDef, receive_bytes, FL_LINK_FRAGMENT_BYTES, 2 * FL_LINK_MESSAGE_BYTES),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    return fl__def_wrong(error,
                         def->rate_bytes_s < def->rate_min_bytes_s ||
                             def->rate_bytes_s > def->rate_max_bytes_s,
                         "rate_bytes_s must be from rate_min_bytes_s to rate_max_bytes_s.");
}

// The buffers of a link, one after another in a single block.
typedef struct Layout {
    Sending *sending;
    Report *reports;
    Sent *ring;
    SentKey *keys;
    FragmentRef *refs;
    FlFateEvent *fates;
    OutSlot *slots_out;
    InSlot *slots_in;
    uint8_t *ring_out, *ring_in;
    size_t total;
} Layout;

// With no memory they are only counted.
static Layout layout_of(const FlLinkDef *def, uint8_t *memory)
{
    Fl__Block block = {memory, 0};
    size_t n = (size_t)def->sent_capacity;
    size_t slots = STREAM_COUNT * FL_LINK_WINDOW;
    Layout l;
    l.sending = fl__block_take(&block, 1, sizeof *l.sending);
    l.reports = fl__block_take(&block, n, sizeof *l.reports);
    l.ring = fl__block_take(&block, n, sizeof *l.ring);
    l.keys = fl__block_take(&block, 2 * n, sizeof *l.keys);
    l.refs = fl__block_take(&block, n * FRAGMENTS_PER_PACKET, sizeof *l.refs);
    l.fates = fl__block_take(&block, 2 * n, sizeof *l.fates);
    l.slots_out = fl__block_take(&block, slots, sizeof *l.slots_out);
    l.slots_in = fl__block_take(&block, slots, sizeof *l.slots_in);
    l.ring_out = fl__block_take(&block, (size_t)def->send_bytes, 1);
    l.ring_in = fl__block_take(&block, (size_t)def->receive_bytes, 1);
    l.total = block.bytes;
    return l;
}

void fl__link_memory(const FlLinkDef *def, size_t *link_bytes, size_t *buffer_bytes)
{
    *link_bytes = sizeof(FlLink);
    *buffer_bytes = layout_of(def, NULL).total;
}

static void streams_init(FlLink *link, const Layout *l)
{
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        link->out->stream[i].packet_end = link->def.packet_bytes - PAYLOAD_RESERVE;
        link->out->stream[i].out = l->slots_out + (size_t)i * FL_LINK_WINDOW;
        link->out->stream[i].in = l->slots_in + (size_t)i * FL_LINK_WINDOW;
    }
    Stream *ordered = &link->out->stream[STREAM_ORDERED];
    ordered->ordered = true;
    ordered->out_ring.bytes = l->ring_out;
    ordered->out_ring.capacity = link->def.send_bytes;
    ordered->in_ring.bytes = l->ring_in;
    ordered->in_ring.capacity = link->def.receive_bytes;
}

static void link_init(FlLink *link, const FlLinkDef *def, FlTime now, uint8_t *block)
{
    Layout l = layout_of(def, block);
    link->def = *def;
    link->alive = true;
    link->out = l.sending;
    link->out->epoch = now;
    link->out->asked_at = FL_FOREVER;
    link->out->delivered_after = NEVER;
    link->out->peer_stamp = NEVER;
    fl__arrivals_init(&link->arrivals, l.reports, def->sent_capacity);
    link->arrivals.has_gaps = def->external_sequence;
    link->out->outbox.ring = l.ring;
    link->out->outbox.keys = l.keys;
    link->out->outbox.refs = l.refs;
    link->out->outbox.fates = l.fates;
    link->out->outbox.capacity = def->sent_capacity;
    link->out->outbox.reported = -1;
    streams_init(link, &l);
    fl__budget_init(&link->out->budget, def->rate_bytes_s, 4.0 * FL_LINK_PACKET_BYTES, 0);
    FlClockDef clock = fl_clock_def_default();
    fl_clock_init(&link->clock, &clock);
}

FlResult fl_link_create(const FlLinkDef *def, FlTime now, FlLink **link)
{
    *link = NULL;
    FL_ASSERT(def->cookie == LINK_COOKIE);
    FlError error;
    if (fl_link_def_problem(def, &error) != FL_OK) {
        return error.code;
    }
    FlLink *fresh = (FlLink *)fl_alloc(&def->alloc, sizeof *fresh, _Alignof(FlLink));
    if (fresh == NULL) {
        return FL_NO_MEMORY;
    }
    size_t bytes = layout_of(def, NULL).total;
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
    fl_free(&alloc, link->out, layout_of(&link->def, NULL).total);
    fl_free(&alloc, link, sizeof *link);
}

void fl__link_set_timeouts(FlLink *link, FlTime now, FlTime keep_alive_ns, FlTime timeout_ns)
{
    FL_ASSERT(keep_alive_ns > 0 && timeout_ns > 0 && timeout_ns <= TIMEOUT_AT_MOST);
    // It may have been silent for longer than it may be from now on.
    link->out->received_at = fl__link_tell_time(link, now);
    link->out->asked_at = FL_FOREVER;
    link->def.keep_alive_ns = keep_alive_ns;
    link->def.timeout_ns = timeout_ns;
}

bool fl__link_alive(const FlLink *link)
{
    return link->alive;
}

// ---------------------------------------------------------------- time

// ---------------------------------------------------------------- what time brings

void fl_link_update(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_tell_time(link, now);
    if (!link->alive) {
        return;
    }
    if (clock >= link->out->adaptation.next) {
        FlClockDelays delays = fl__clock_delays(&link->clock);
        fl__budget_adapt(&link->out->budget, &link->out->adaptation, &link->def, &link->out->outbox,
                         &delays, clock);
    }
    if (fl_span(clock, link->out->received_at) >= link->def.timeout_ns) {
        fl__link_close(link);
    }
    for (int32_t i = 0; i < STREAM_COUNT; i++) {
        fl__stream_update(&link->out->stream[i], clock);
    }
}

// ---------------------------------------------------------------- statistics

FlResult fl_link_take_fate(FlLink *link, FlFateEvent *event)
{
    FlFateEvent none = {0};
    *event = none;
    if (!fl__outbox_next_fate(&link->out->outbox, event)) {
        return FL_NOT_FOUND;
    }
    event->sent = fl_time_add(link->out->epoch, event->sent);
    return FL_OK;
}

FlLinkSilence fl__link_silence(FlLink *link, FlTime now)
{
    FlTime clock = fl__link_tell_time(link, now);
    FlTime asked = link->out->asked_at;
    FlTime probe = fl__link_probe_due(link);
    FlLinkSilence silence = {
        .silent_ns = fl_span(clock, link->out->received_at),
        .unanswered_ns = asked == FL_FOREVER ? 0 : fl_span(clock, asked),
        .silent = fl__link_silent(link),
        .payload_at = now,
    };
    if (silence.silent && probe > clock) {
        silence.payload_at = fl_time_add(now, fl_span(probe, clock));
    }
    return silence;
}

const FlClock *fl__link_peer_clock(const FlLink *link)
{
    return &link->clock;
}

void fl_link_stats(const FlLink *link, FlTime now, FlLinkStats *stats)
{
    FlTime clock = fl__link_clock(link, now);
    FlClockReading reading = fl_clock_read(&link->clock, clock);
    FlTime ordered = fl__stream_waiting(&link->out->stream[STREAM_ORDERED], clock);
    FlTime unordered = fl__stream_waiting(&link->out->stream[STREAM_UNORDERED], clock);
    FlLinkStats fresh = {
        .rtt_min_ns = link->out->trips.min_ns,
        .rtt_average_ns = link->out->trips.average_ns,
        .rtt_p95_ns = fl__trips_percentile(&link->out->trips, 0.95),
        .jitter_ns = link->out->trips.deviation_ns,
        .delays = fl__clock_delays(&link->clock),
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
        .waiting_ns = fl__time_max(ordered, unordered),
    };
    memcpy(fresh.drops, link->drops, sizeof fresh.drops);
    *stats = fresh;
}
