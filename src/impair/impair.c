// One direction between one pair: what becomes of a packet.
//
// A packet first waits for the bottleneck (or finds its queue full), then may be lost on the way,
// then takes its delay, then may arrive a second time. Only the bottleneck and `keep_order` look at
// other packets; all else is addressed:
//
//   draw    (0, 1) two uniform numbers: loss | burst loss (32 bits each), delay
//           (2, 3) two more: duplication, delay of the second copy
//   address seed, link, slot (44 bits), index in the slot (18 bits), draw (2 bits)
//
// so leaving a draw out changes no other draw.
//
// Invariant: newest is the latest time passed in, slot its slot, and index the number of packets
// seen in that slot.
#include "private.h"

#define DEF_COOKIE UINT32_C(0x1a9a1201)
#define PPM 1000000

struct FlImpair {
    FlImpairSettings settings;
    uint64_t seed;
    uint64_t stream; ///< Of the packets' independent luck.
    uint32_t link;
    bool luck_by_count;
    FlTime newest;
    uint64_t slot;
    uint64_t index;
    bool sway_known; ///< sway_variate belongs to `slot`.
    double sway_variate;
    FlTime busy_until;     ///< When the bottleneck will have sent all it has accepted.
    int64_t busy_fraction; ///< Of a nanosecond more, in 1/rate_bytes_s.
    FlTime last_delivery;  ///< Latest delivery promised so far.
    FlImpairStats stats;
    FlAlloc alloc;
    Sway sway;
    Burst burst;
};

FlImpairDef fl_impair_def_default(void)
{
    FlImpairDef def = {
        .settings = {.shape = FL_SHAPE_NORMAL,
                     .correlation_lag_ns = FL_MS(20),
                     .burst_length_ns = FL_MS(50),
                     .burst_loss_ppm = 1000000,
                     .queue_ns = FL_MS(200),
                     .packet_extra_bytes = 28},
        .seed = 1,
        .cookie = DEF_COOKIE,
    };
    return def;
}

static bool sways(const FlImpairSettings *settings)
{
    return settings->correlation_ppm > 0;
}

static bool bursts(const FlImpairSettings *settings)
{
    return settings->burst_gap_ns > 0 && settings->burst_loss_ppm > 0;
}

static void set_up_processes(FlImpair *impair)
{
    const FlImpairSettings *s = &impair->settings;
    impair->sway_known = false;
    if (sways(s)) {
        double memory = fl__sway_memory(s->correlation_ppm, s->correlation_lag_ns);
        fl__sway_setup(&impair->sway, impair->seed, impair->link, memory);
    }
    if (bursts(s)) {
        fl__burst_setup(&impair->burst, impair->seed, impair->link, s->burst_gap_ns,
                        s->burst_length_ns);
    }
}

FlResult fl_impair_def_problem(const FlImpairDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlImpairDef, "fl_impair_def_default", DEF_COOKIE),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    FlImpairError problem;
    if (error->code == FL_OK && fl__impair_settings_check(&def->settings, &problem) != FL_OK) {
        fl__error_set(error, FL_BAD_VALUE, "settings: %s.", problem.text);
    }
    return error->code;
}

FlResult fl_impair_create(const FlImpairDef *def, FlImpair **out)
{
    FL_ASSERT(def->cookie == DEF_COOKIE);
    *out = NULL;
    FlResult result = fl__impair_settings_check(&def->settings, NULL);
    if (result != FL_OK) {
        return result;
    }
    FlImpair *impair = fl_alloc(&def->alloc, sizeof *impair, _Alignof(FlImpair));
    if (impair == NULL) {
        return FL_NO_MEMORY;
    }
    impair->settings = def->settings;
    impair->seed = def->seed;
    impair->stream = stream_of(def->link, PURPOSE_PACKET);
    impair->link = def->link;
    impair->luck_by_count = def->luck_by_count;
    impair->newest = INT64_MIN;
    impair->busy_until = INT64_MIN;
    impair->last_delivery = INT64_MIN;
    impair->alloc = def->alloc;
    set_up_processes(impair);
    *out = impair;
    return FL_OK;
}

void fl_impair_destroy(FlImpair *impair)
{
    if (impair != NULL) {
        FlAlloc alloc = impair->alloc;
        fl_free(&alloc, impair, sizeof *impair);
    }
}

FlImpairStats fl__impair_stats(const FlImpair *impair)
{
    return impair->stats;
}

// ---------------------------------------------------------------- luck

static uint64_t draw(const FlImpair *impair, uint64_t number)
{
    uint64_t slot = impair->luck_by_count ? impair->stats.packet_count : impair->slot;
    uint64_t index = impair->luck_by_count ? 0 : impair->index & 0x3ffffu;
    return fl_random_at(impair->seed, impair->stream, slot << 20 | index << 2 | number);
}

static bool happens(uint32_t luck, int32_t ppm)
{
    return ((uint64_t)luck * PPM) >> 32 < (uint64_t)ppm;
}

static FlOutcome loss(FlImpair *impair)
{
    const FlImpairSettings *s = &impair->settings;
    if (s->loss_ppm == 0 && !bursts(s)) {
        return FL_OUTCOME_DELIVERED;
    }
    uint64_t luck = draw(impair, 0);
    if (happens((uint32_t)luck, s->loss_ppm)) {
        return FL_OUTCOME_LOST_RANDOM;
    }
    if (bursts(s) && happens((uint32_t)(luck >> 32), s->burst_loss_ppm) &&
        fl__burst_at(&impair->burst, impair->slot)) {
        return FL_OUTCOME_LOST_BURST;
    }
    return FL_OUTCOME_DELIVERED;
}

// The jitter in units of its deviation: the slot's when it is slow, else the packet's own.
static double variate(FlImpair *impair, uint64_t number)
{
    const FlImpairSettings *s = &impair->settings;
    if (!sways(s)) {
        return fl__shape_from_unit(s->shape, open_unit(draw(impair, number)));
    }
    if (!impair->sway_known) {
        impair->sway_variate =
            fl__shape_from_normal(s->shape, fl__sway_at(&impair->sway, impair->slot));
        impair->sway_known = true;
    }
    return impair->sway_variate;
}

static FlTime delay(FlImpair *impair, uint64_t number)
{
    const FlImpairSettings *s = &impair->settings;
    if (s->jitter_ns == 0 || s->shape == FL_SHAPE_CONSTANT) {
        return s->delay_ns;
    }
    double jitter = (double)s->jitter_ns * variate(impair, number);
    FlTime total = s->delay_ns + (FlTime)floor(jitter + 0.5);
    if (total < 0) {
        impair->stats.clamped_count++;
        return 0;
    }
    return total;
}

// ---------------------------------------------------------------- the bottleneck

// Takes a packet into the bottleneck's queue: when has its last byte left? False when the queue is
// full.
static bool pass_bottleneck(FlImpair *impair, FlTime now, int32_t bytes, FlTime *left_at)
{
    const FlImpairSettings *s = &impair->settings;
    *left_at = now;
    if (s->rate_bytes_s == 0) {
        return true;
    }
    if (impair->busy_until < now) {
        impair->busy_until = now;
        impair->busy_fraction = 0;
    }
    if (fl_span(impair->busy_until, now) > s->queue_ns) {
        return false;
    }
    int64_t work = ((int64_t)bytes + s->packet_extra_bytes) * FL_SEC(1) + impair->busy_fraction;
    impair->busy_until = fl_time_add(impair->busy_until, work / s->rate_bytes_s);
    impair->busy_fraction = work % s->rate_bytes_s;
    *left_at = impair->busy_until;
    return true;
}

// The bytes that wait now need another time at another rate.
static void change_rate(FlImpair *impair, FlTime now, int64_t old_rate, int64_t new_rate)
{
    impair->busy_fraction = 0;
    if (old_rate == 0 || new_rate == 0 || impair->busy_until <= now) {
        impair->busy_until = now;
        return;
    }
    double bytes = fl_span_seconds(fl_span(impair->busy_until, now)) * (double)old_rate;
    impair->busy_until = fl_time_add(now, fl_span_from_seconds(bytes / (double)new_rate));
}

// ---------------------------------------------------------------- a packet's way

static void move_to(FlImpair *impair, FlTime now)
{
    uint64_t slot = slot_of(now);
    if (slot != impair->slot || impair->newest == INT64_MIN) {
        impair->slot = slot;
        impair->index = 0;
        impair->sway_known = false;
    }
    impair->newest = now;
}

static void add_copy(FlImpair *impair, FlFate *fate, FlTime at)
{
    if (at < impair->last_delivery && impair->settings.keep_order) {
        at = impair->last_delivery;
        impair->stats.held_count++;
    } else if (at < impair->last_delivery) {
        impair->stats.overtaken_count++;
    }
    if (at > impair->last_delivery) {
        impair->last_delivery = at;
    }
    fate->deliver_at[fate->copy_count++] = at;
}

static void deliver(FlImpair *impair, FlTime now, FlTime left_at, FlFate *fate)
{
    add_copy(impair, fate, fl_time_add(left_at, delay(impair, 1)));
    FlTime total = fl_span(fate->deliver_at[0], now);
    impair->stats.delay_sum_ns = fl_time_add(impair->stats.delay_sum_ns, total);
    int32_t duplicate_ppm = impair->settings.duplicate_ppm;
    if (duplicate_ppm > 0 && happens((uint32_t)draw(impair, 2), duplicate_ppm)) {
        add_copy(impair, fate, fl_time_add(left_at, delay(impair, 3)));
        impair->stats.duplicated_count++;
    }
}

static void count(FlImpairStats *stats, FlOutcome outcome, int32_t bytes)
{
    stats->packet_count++;
    stats->byte_count += (uint64_t)bytes;
    switch (outcome) {
    case FL_OUTCOME_DELIVERED:
        stats->delivered_count++;
        stats->delivered_bytes += (uint64_t)bytes;
        break;
    case FL_OUTCOME_LOST_RANDOM:
        stats->lost_random_count++;
        break;
    case FL_OUTCOME_LOST_BURST:
        stats->lost_burst_count++;
        break;
    case FL_OUTCOME_QUEUE_FULL:
        stats->queue_full_count++;
        break;
    }
}

FlFate fl_impair_send(FlImpair *impair, FlTime now, int32_t bytes)
{
    FL_ASSERT(bytes >= 0 && bytes <= 65535);
    now = fl__time_max(impair->newest, now);
    move_to(impair, now);
    FlFate fate = {FL_OUTCOME_QUEUE_FULL, 0, {0, 0}};
    FlTime left_at;
    if (pass_bottleneck(impair, now, bytes, &left_at)) {
        fate.outcome = loss(impair);
    }
    if (fate.outcome == FL_OUTCOME_DELIVERED) {
        deliver(impair, now, left_at, &fate);
    }
    count(&impair->stats, fate.outcome, bytes);
    impair->index++;
    return fate;
}

FlResult fl__impair_set(FlImpair *impair, FlTime now, const FlImpairSettings *settings)
{
    FlResult result = fl__impair_settings_check(settings, NULL);
    if (result != FL_OK) {
        return result;
    }
    now = fl__time_max(impair->newest, now);
    if (settings->rate_bytes_s != impair->settings.rate_bytes_s) {
        change_rate(impair, now, impair->settings.rate_bytes_s, settings->rate_bytes_s);
    }
    impair->settings = *settings;
    set_up_processes(impair);
    return FL_OK;
}
