// Bytes by attention, on a recorded game: sixteen players in an arena, each telling the other
// fifteen where it is, with upload for four of them at every frame and the rest once a second. Each
// has a ledger of its own, as in a mesh; packets take 10 ms. No session: the policies alone.
//
// What counts is the error on the screen, weighted by how much the player there looks:
// sum of attention times error over sum of attention, from the true positions.
#include "fairlead/link.h"
#include "fairlead/send.h"
#include "lab/trace/trace.h"

#include "link/link.h"
#include "send/send.h"
#include "unit/support.h"

enum { PLAYERS = 16, FRAME_MS = 50, FLIGHTS = 4096 };

#define UNITS_PER_METRE 32.0
#define HEADERS 44.0
#define UPDATE 20

typedef struct Flight {
    FlDue due;
    int32_t from, to;
    FlTime sent, arrives;
    bool arrived;
} Flight;

/// One player: what it tells, and what it shows of the others.
typedef struct Peer {
    FlLedger *ledger;
    FlExporter exporter;
    FlBudget budget;
    bool here;
    FlVec3 position;
    int64_t life;
    uint32_t shown[PLAYERS]; // serial of each other's update that is shown; 0: none
    int64_t sent_bytes;
} Peer;

typedef struct Arena {
    const Trace *trace;
    Peer peer[PLAYERS];
    FlAttention *attention;
    Flight flight[FLIGHTS];
    int32_t flight_count;
    FlTime now;
    double error, weight; // sums
    double error_all;
    int64_t shown_count;
    double bytes_s;
} Arena;

typedef struct Result {
    double weighted, mean, bytes_s;
} Result;

static void open_arena(Arena *a, const Trace *trace, const FlSend *send, double bytes_s,
                       double distance)
{
    memset(a, 0, sizeof *a);
    a->trace = trace;
    a->bytes_s = bytes_s;
    FlAttentionDef attention = fl_attention_def_default();
    attention.player_capacity = PLAYERS;
    attention.everybody = true;
    attention.metre = UNITS_PER_METRE;
    attention.reach = 1500.0;
    assert_int_equal(fl_attention_create(&attention, &a->attention), FL_OK);
    FlExporterDef exporter = fl_exporter_def_default();
    exporter.model = FL_MODEL_LINEAR;
    exporter.trigger.distance = distance;
    exporter.trigger.angle = (double)INFINITY;
    FlLedgerDef ledger = fl_ledger_def_default();
    ledger.entity_capacity = 1;
    for (int32_t i = 0; i < PLAYERS; i++) {
        Peer *peer = &a->peer[i];
        assert_int_equal(fl_ledger_create(&ledger, &peer->ledger), FL_OK);
        fl_exporter_init(&peer->exporter, &exporter);
        fl__budget_init(&peer->budget, bytes_s, bytes_s * 0.1, 0);
        peer->life = -1;
        fl_ledger_entity_begin(peer->ledger, 0, send);
        fl__ledger_update_bytes(peer->ledger, 0, UPDATE);
        for (int32_t r = 0; r < PLAYERS; r++) {
            if (r != i) {
                fl_ledger_watch(peer->ledger, 0, r, true, 0);
            }
        }
    }
}

static void close_arena(Arena *a)
{
    for (int32_t i = 0; i < PLAYERS; i++) {
        fl_ledger_destroy(a->peer[i].ledger);
    }
    fl_attention_destroy(a->attention);
}

// ---------------------------------------------------------------- playing

static void place(Arena *a, int32_t id, const FlState *state, int32_t sample)
{
    double sine;
    double cosine;
    fl_sincos(a->trace->column[TRACE_YAW][sample], &sine, &cosine);
    a->peer[id].here = true;
    a->peer[id].position = state->position;
    fl_attention_place(a->attention, id, state->position, fl_vec3(cosine, sine, 0.0));
}

static void tell(Arena *a, int32_t id, const FlState *state, int64_t life)
{
    Peer *peer = &a->peer[id];
    if (life != peer->life) {
        fl_exporter_cut(&peer->exporter);
        peer->life = life;
    }
    FlMotion motion;
    FlTrigger trigger = fl_exporter_feed(&peer->exporter, state, &motion);
    if (trigger != FL_TRIGGER_NONE && trigger != FL_TRIGGER_REFUSED) {
        fl_exporter_commit(&peer->exporter, &motion);
        fl_ledger_export(peer->ledger, 0, &motion, (uint32_t)life + 1, state->time);
    }
}

static void send(Arena *a, int32_t id)
{
    Peer *peer = &a->peer[id];
    double bytes = fl__budget_available(&peer->budget, a->now);
    fl__ledger_allow(peer->ledger, bytes, HEADERS);
    fl_ledger_update(peer->ledger, a->now);
    FlDue due;
    for (int32_t r = 0; r < PLAYERS; r++) {
        if (!fl_ledger_due(peer->ledger, r, 0, &due)) {
            continue;
        }
        fl_ledger_sent(peer->ledger, r, due, a->now);
        fl__budget_spend(&peer->budget, a->now, UPDATE + HEADERS);
        assert_true(peer->budget.tokens >= -1e-6); // a frame never plans more than there is
        peer->sent_bytes += UPDATE + (int64_t)HEADERS;
        assert_true(a->flight_count < FLIGHTS);
        Flight flight = {due, id, r, a->now, a->now + FL_MS(10), false};
        a->flight[a->flight_count++] = flight;
    }
}

static void deliver(Arena *a)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < a->flight_count; i++) {
        Flight f = a->flight[i];
        if (!f.arrived && f.arrives <= a->now) {
            uint32_t *shown = &a->peer[f.to].shown[f.from];
            *shown = f.due.serial > *shown ? f.due.serial : *shown;
            f.arrived = true;
        }
        if (f.arrived && f.arrives + FL_MS(10) <= a->now) {
            fl_ledger_arrived(a->peer[f.from].ledger, f.to, f.due, f.sent, f.arrives, a->now);
            continue;
        }
        a->flight[kept++] = f;
    }
    a->flight_count = kept;
}

// ---------------------------------------------------------------- looking

static void look(Arena *a, bool told)
{
    fl_attention_look(a->attention, FL_ATTENTION_ALL, a->now);
    for (int32_t at = 0; at < PLAYERS; at++) {
        const float *value = fl_attention_of(a->attention, at);
        for (int32_t of = 0; of < PLAYERS; of++) {
            if (of != at && told) {
                fl__ledger_attention(a->peer[of].ledger, 0, at, (double)value[of]);
            }
        }
    }
}

static void measure(Arena *a)
{
    for (int32_t at = 0; at < PLAYERS; at++) {
        const float *value = fl_attention_of(a->attention, at);
        for (int32_t of = 0; of < PLAYERS; of++) {
            const FlPiece *piece = fl_ledger_exported(a->peer[of].ledger, 0, a->peer[at].shown[of]);
            bool both = a->peer[at].here && a->peer[of].here && of != at && piece != NULL;
            if (!both || piece->life != (uint32_t)a->peer[of].life + 1) {
                continue;
            }
            double error =
                fl_vec3_distance(fl_motion_position(&piece->motion, a->now), a->peer[of].position);
            a->error += (double)value[of] * error;
            a->weight += (double)value[of];
            a->error_all += error;
            a->shown_count++;
        }
    }
}

static Result play(const Trace *trace, const FlSend *policy, double bytes_s, double distance,
                   bool told)
{
    static Arena arena;
    Arena *a = &arena;
    open_arena(a, trace, policy, bytes_s, distance);
    int32_t at[64] = {0}; // per track, the next sample
    FlSampler sampler[64];
    memset(sampler, 0, sizeof sampler);
    assert_true(trace->track_count <= 64);
    for (a->now = trace->start; a->now <= trace->end; a->now += FL_MS(10)) {
        deliver(a);
        for (int32_t i = 0; i < PLAYERS; i++) {
            a->peer[i].here = a->peer[i].here && a->now % FL_MS(20) != 0;
        }
        for (int32_t t = 0; t < trace->track_count; t++) {
            const TraceTrack *track = &trace->tracks[t];
            while (at[t] < track->count && trace->time[track->first + at[t]] <= a->now) {
                int32_t sample = track->first + at[t]++;
                FlState state = trace_state(trace, sample, &sampler[t]);
                place(a, (int32_t)track->id, &state, sample);
                tell(a, (int32_t)track->id, &state, track->life);
            }
        }
        if (a->now % FL_MS(FRAME_MS) == 0) {
            look(a, told);
        }
        for (int32_t i = 0; i < PLAYERS; i++) {
            send(a, i);
        }
        measure(a);
    }
    Result result = {a->error / a->weight, a->error_all / (double)a->shown_count, 0.0};
    for (int32_t i = 0; i < PLAYERS; i++) {
        result.bytes_s +=
            (double)a->peer[i].sent_bytes / PLAYERS / fl_span_seconds(trace->end - trace->start);
    }
    close_arena(a);
    return result;
}

static Trace load(void)
{
    Trace trace;
    TraceError error;
    assert_true(trace_load("data/arena/ffa16_20s.csv.gz", &trace, &error));
    return trace;
}

// With updates at every frame, as published, and with those that a threshold lets through.
static void weighing_error_by_attention_beats_attention_alone(void **state)
{
    (void)state;
    const struct {
        double distance, bytes_s, at_most; // of focus's weighted error
    } rows[] = {{0.1, 3000.0, 0.4}, {0.1, 5800.0, 0.5}, {0.1, 10000.0, 0.9},
                {8.0, 3000.0, 0.8}, {8.0, 5800.0, 0.9}, {8.0, 10000.0, 1.0}};
    Trace trace = load();
    FlSend focus = fl_send_make(FL_SEND_FOCUS);
    FlSend equal = fl_send_make(FL_SEND_FOCUS_EQUAL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Result plain = play(&trace, &focus, rows[i].bytes_s, rows[i].distance, true);
        Result ours = play(&trace, &equal, rows[i].bytes_s, rows[i].distance, true);
        print_message("             %5.0f bytes/s, threshold %.1f: weighted error %.2f and %.2f, "
                      "mean %.2f and %.2f\n",
                      plain.bytes_s, rows[i].distance, plain.weighted, ours.weighted, plain.mean,
                      ours.mean);
        assert_true(ours.bytes_s <= plain.bytes_s * 1.001);
        assert_true(ours.weighted < plain.weighted * rows[i].at_most);
    }
    trace_free(&trace);
}

// Nobody known to look: all take turns, as without the policy.
static void knowing_who_looks_beats_taking_turns(void **state)
{
    (void)state;
    Trace trace = load();
    FlSend focus = fl_send_make(FL_SEND_FOCUS);
    Result turns = play(&trace, &focus, 5800.0, 8.0, false);
    Result knows = play(&trace, &focus, 5800.0, 8.0, true);
    print_message("             weighted error %.2f, in turn %.2f\n", knows.weighted,
                  turns.weighted);
    assert_true(knows.weighted < turns.weighted);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighing_error_by_attention_beats_attention_alone),
        cmocka_unit_test(knowing_who_looks_beats_taking_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
