// One sender, some receivers, a network and a ledger in virtual time: what a policy does to the
// errors of a recorded game. No session, no packets: the ledger alone.
//
// The trigger stream is made once per entity and is the same for every policy. A packet's delay
// depends on (seed, receiver, its millisecond of sending), so that policies that send different
// numbers of packets meet the same network. The error is the true one, from all arrivals.
#ifndef FAIRLEAD_TESTS_SEND_WORLD_H
#define FAIRLEAD_TESTS_SEND_WORLD_H

#include "fairlead/send.h"
#include "lab/trace/trace.h"

#include "motion/motion.h"
#include "unit/support.h"

#define WORLD_RECEIVERS 1024
#define WORLD_FLIGHTS 65536

/// The updates of one entity, with all its lives.
typedef struct Source {
    FlPiece *piece;
    int32_t count;
    int32_t capacity;
    FlTime end;
} Source;

static inline void source_add(Source *source, const FlMotion *motion, FlTime from, uint32_t life)
{
    if (source->count == source->capacity) {
        source->capacity = source->capacity == 0 ? 1024 : source->capacity * 2;
        source->piece = realloc(source->piece, (size_t)source->capacity * sizeof(FlPiece));
        assert_non_null(source->piece);
    }
    FlPiece piece = {.from = from, .life = life, .motion = *motion};
    source->piece[source->count++] = piece;
    source->end = from;
}

/// Plays an entity of a trace through the exporter, several times over: each time with new lives.
static inline Source source_from_trace(const Trace *trace, int64_t id, double distance,
                                       int32_t times)
{
    Source source = {0};
    FlTime span = trace->end - trace->start + FL_SEC(1);
    FlExporterDef def = fl_exporter_def_default();
    def.model = FL_MODEL_LINEAR;
    def.trigger.distance = distance;
    def.trigger.angle = (double)INFINITY;
    def.trigger.silence_ns = FL_SEC(1);
    FlExporter exporter;
    fl_exporter_init(&exporter, &def);
    for (int32_t k = 0; k < trace->track_count * times; k++) {
        const TraceTrack *track = &trace->tracks[k % trace->track_count];
        uint32_t life = (uint32_t)track->life + (uint32_t)(k / trace->track_count) * 1000u;
        if (track->id != id) {
            continue;
        }
        FlSampler sampler = {0};
        FlState state = {0};
        fl_exporter_cut(&exporter);
        for (int32_t i = track->first; i < track->first + track->count; i++) {
            state = trace_state(trace, i, &sampler);
            state.time += k / trace->track_count * span;
            FlMotion motion;
            FlTrigger trigger = fl_exporter_feed(&exporter, &state, &motion);
            if (trigger != FL_TRIGGER_NONE && trigger != FL_TRIGGER_REFUSED) {
                fl_exporter_commit(&exporter, &motion);
                source_add(&source, &motion, state.time, life);
            }
        }
        FlMotion end = fl_motion_make(FL_MODEL_STILL, &state);
        source_add(&source, &end, state.time + 1, FL_LIFE_NONE);
    }
    return source;
}

typedef struct Flight {
    FlDue due;
    int32_t receiver;
    FlTime sent, arrives, reported;
    bool arrived, lost;
} Flight;

typedef struct WorldDef {
    int32_t receiver_count;
    FlTime delay[WORLD_RECEIVERS];
    FlTime jitter;
    int32_t loss_ppm;
    FlTime swap_at; ///< From then on the first receiver has the last one's delay and so on.
    uint64_t seed;
} WorldDef;

static inline WorldDef world_def_papers(FlTime jitter)
{
    WorldDef def = {.receiver_count = 3,
                    .delay = {FL_MS(800), FL_MS(500), FL_MS(200)},
                    .jitter = jitter,
                    .swap_at = FL_FOREVER,
                    .seed = 11};
    return def;
}

/// What a run came to.
typedef struct Outcome {
    double error[WORLD_RECEIVERS]; ///< Distance times seconds.
    int32_t sent_to[WORLD_RECEIVERS];
    int64_t sent;
    double mean, sd;
    FlTime longest_wait; ///< The longest a receiver went without an update while others were made.
} Outcome;

typedef struct World {
    const WorldDef *def;
    FlLedger *ledger;
    Flight flight[WORLD_FLIGHTS];
    int32_t flight_count;
    uint32_t shown[WORLD_RECEIVERS]; ///< Newest serial arrived.
    FlTime since[WORLD_RECEIVERS];   ///< From when its error is counted; FL_FOREVER: not yet.
    FlTime last_sent[WORLD_RECEIVERS];
    const Source *source;
    Outcome *outcome;
} World;

static inline double world_unit(const World *w, uint64_t what, int32_t receiver, FlTime time)
{
    uint64_t stream = what << 32 | (uint64_t)(uint32_t)receiver;
    uint64_t bits = fl_random_at(w->def->seed, stream, (uint64_t)(time / FL_MS(1)));
    return (double)(bits >> 11) / 9007199254740992.0;
}

static inline FlTime world_delay(const World *w, uint64_t what, int32_t receiver, FlTime time)
{
    double unit = world_unit(w, what, receiver, time);
    int32_t place = time < w->def->swap_at ? receiver : w->def->receiver_count - 1 - receiver;
    FlTime delay = w->def->delay[place] + (FlTime)((2.0 * unit - 1.0) * (double)w->def->jitter);
    return delay < 0 ? 0 : delay;
}

static inline void world_send(World *w, FlTime now)
{
    for (int32_t r = 0; r < w->def->receiver_count; r++) {
        FlDue due;
        for (int32_t from = 0; fl_ledger_due(w->ledger, r, from, &due); from = due.entity + 1) {
            fl_ledger_sent(w->ledger, r, due, now);
            assert_true(w->flight_count < WORLD_FLIGHTS);
            Flight *f = &w->flight[w->flight_count++];
            memset(f, 0, sizeof *f);
            f->due = due;
            f->receiver = r;
            f->sent = now;
            f->arrives = now + world_delay(w, 1, r, now);
            f->reported = f->arrives + world_delay(w, 2, r, f->arrives);
            f->lost = world_unit(w, 3, r, now) * 1e6 < w->def->loss_ppm;
            w->outcome->sent++;
            w->outcome->sent_to[r]++;
            w->last_sent[r] = now;
        }
    }
}

// The error of what is shown since it was last counted.
static inline void world_count(World *w, int32_t r, FlTime until)
{
    if (w->since[r] == FL_FOREVER) {
        return;
    }
    const FlPiece *seen = &w->source->piece[w->shown[r] - 1];
    FlTime from = w->since[r];
    // exported pieces from the shown one on; serials count from 1
    for (int32_t i = (int32_t)w->shown[r] - 1; i < w->source->count && from < until; i++) {
        FlTime end = i + 1 < w->source->count ? w->source->piece[i + 1].from : until;
        end = end < until ? end : until;
        if (end <= from) {
            continue;
        }
        const FlPiece *real = &w->source->piece[i];
        if (real->life == seen->life && seen->life != FL_LIFE_NONE) {
            w->outcome->error[r] += fl__distance_integral(&real->motion, &seen->motion, from, end);
        }
        from = end;
    }
    w->since[r] = until;
}

static inline void world_arrive(World *w, Flight *f)
{
    f->arrived = true;
    if (f->lost) {
        return;
    }
    if (w->since[f->receiver] == FL_FOREVER) {
        w->since[f->receiver] = f->arrives;
        w->shown[f->receiver] = f->due.serial;
    } else if (f->due.serial > w->shown[f->receiver]) {
        world_count(w, f->receiver, f->arrives);
        w->shown[f->receiver] = f->due.serial;
    }
}

static inline FlTime world_next(const World *w, int32_t *number)
{
    FlTime next = FL_FOREVER;
    *number = -1;
    for (int32_t i = 0; i < w->flight_count; i++) {
        FlTime time = w->flight[i].arrived ? w->flight[i].reported : w->flight[i].arrives;
        if (time < next) {
            next = time;
            *number = i;
        }
    }
    return next;
}

static inline void world_report(World *w, int32_t number)
{
    Flight f = w->flight[number];
    w->flight[number] = w->flight[--w->flight_count];
    if (f.lost) {
        fl_ledger_lost(w->ledger, f.receiver, f.due, f.reported);
    } else {
        fl_ledger_arrived(w->ledger, f.receiver, f.due, f.sent, f.arrives, f.reported);
    }
}

// Everything up to `until`, and at it if it is not an export's turn.
static inline void world_advance(World *w, FlTime until)
{
    for (;;) {
        int32_t number;
        FlTime packet = world_next(w, &number);
        FlTime asked = fl_ledger_deadline(w->ledger);
        FlTime now = packet < asked ? packet : asked;
        if (now > until || now == FL_FOREVER) {
            return;
        }
        if (packet <= asked) {
            if (w->flight[number].arrived) {
                world_report(w, number);
            } else {
                world_arrive(w, &w->flight[number]);
            }
        } else {
            fl_ledger_update(w->ledger, now);
        }
        world_send(w, now);
    }
}

static inline void outcome_finish(Outcome *outcome, int32_t count)
{
    double sum = 0.0;
    for (int32_t r = 0; r < count; r++) {
        sum += outcome->error[r];
    }
    outcome->mean = sum / count;
    double squares = 0.0;
    for (int32_t r = 0; r < count; r++) {
        double off = outcome->error[r] - outcome->mean;
        squares += off * off;
    }
    outcome->sd = sqrt(squares / count);
}

/// Plays one entity to all receivers under a policy.
static inline void world_run(const WorldDef *def, const FlSend *send, const Source *source,
                             Outcome *outcome)
{
    static World world;
    World *w = &world;
    memset(w, 0, sizeof *w);
    memset(outcome, 0, sizeof *outcome);
    w->def = def;
    w->source = source;
    w->outcome = outcome;
    FlLedgerDef ledger_def = fl_ledger_def_default();
    ledger_def.entity_capacity = 1;
    ledger_def.receiver_capacity = def->receiver_count;
    ledger_def.path_capacity = 1024;
    ledger_def.shown_capacity = 16;
    assert_int_equal(fl_ledger_create(&ledger_def, &w->ledger), FL_OK);
    fl_ledger_entity_begin(w->ledger, 0, send);
    for (int32_t r = 0; r < def->receiver_count; r++) {
        w->since[r] = FL_FOREVER;
        w->last_sent[r] = source->piece[0].from;
        fl_ledger_watch(w->ledger, 0, r, true, 0);
    }
    for (int32_t i = 0; i < source->count; i++) {
        const FlPiece *piece = &source->piece[i];
        world_advance(w, piece->from);
        fl_ledger_export(w->ledger, 0, &piece->motion, piece->life, piece->from);
        world_send(w, piece->from);
        for (int32_t r = 0; r < def->receiver_count; r++) {
            FlTime wait = piece->from - w->last_sent[r];
            outcome->longest_wait = wait > outcome->longest_wait ? wait : outcome->longest_wait;
        }
    }
    for (int32_t r = 0; r < def->receiver_count; r++) {
        world_count(w, r, source->end);
    }
    outcome_finish(outcome, def->receiver_count);
    fl_ledger_destroy(w->ledger);
}

#endif
