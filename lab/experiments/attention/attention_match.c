// Recorded matches by ticks.
//
// A row is the newest sample at its tick, if that is recent and of a life that goes on; keys,
// weapons and health are not read: who is recorded is alive.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/experiments/attention/attention.h"

#define TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)
#define RECENT FL_MS(60)
#define SLOW_SHARE 0.999

static void put_row(const Trace *trace, int32_t sample, const TraceTrack *track, ArenaRow *row)
{
    *row = (ArenaRow){
        .position = trace_position(trace, sample),
        .velocity = trace_velocity(trace, sample),
        .yaw = trace->column[TRACE_YAW][sample],
        .health = 100,
        .weapon = 2,
        .life = (uint32_t)track->life,
    };
}

static void put_track(const Trace *trace, const TraceTrack *track, FlTime from, int32_t player,
                      AttentionMatch *match)
{
    int32_t sample = track->first;
    int32_t last = track->first + track->count - 1;
    for (int32_t tick = 0; tick < match->ticks; tick++) {
        FlTime time = from + tick * TICK_NS;
        while (sample < last && trace->time[sample + 1] <= time) {
            sample++;
        }
        FlTime age = fl_span(time, trace->time[sample]);
        if (age >= 0 && age <= RECENT) {
            int32_t at = tick * match->players + player;
            put_row(trace, sample, track, &match->rows[at]);
            match->there[at] = true;
        }
    }
}

static LabStatus measure_speed(AttentionMatch *match, LabError *error)
{
    Tally *tally = (Tally *)calloc(1, sizeof *tally);
    if (tally == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    for (int32_t at = match->players; at < match->ticks * match->players; at++) {
        const ArenaRow *row = &match->rows[at];
        const ArenaRow *before = row - match->players;
        if (match->there[at] && match->there[at - match->players] && row->life == before->life) {
            tally_add(tally, fl_vec3_distance(row->position, before->position) * ARENA_TICK_HZ);
        }
    }
    match->top_speed = tally_quantile(tally, SLOW_SHARE);
    bool moves = tally->count > 0;
    free(tally);
    return moves ? LAB_OK : lab_fail(error, LAB_BAD_INPUT, "nobody moves in this recording");
}

static LabStatus convert(const Trace *trace, double from, double seconds, AttentionMatch *match,
                         LabError *error)
{
    FlTime start = trace->start + (FlTime)(from * 1e9);
    FlTime end = start + (FlTime)(seconds * 1e9);
    end = end < trace->end ? end : trace->end;
    bool whole = trace_has_velocity(trace) && trace->column[TRACE_YAW] != NULL;
    if (!whole || trace->entity_count > ARENA_PLAYER_CAPACITY || trace->entity_count < 2 ||
        end <= start) {
        return lab_fail(error, LAB_BAD_INPUT,
                        "a recording of 2 to %d players with velocity and yaw is needed",
                        ARENA_PLAYER_CAPACITY);
    }
    match->players = trace->entity_count;
    match->ticks = (int32_t)(fl_span(end, start) / TICK_NS);
    size_t count = (size_t)match->players * (size_t)match->ticks;
    match->rows = (ArenaRow *)calloc(count, sizeof *match->rows);
    match->there = (bool *)calloc(count, sizeof *match->there);
    if (match->rows == NULL || match->there == NULL) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    int32_t player = -1;
    for (int32_t t = 0; t < trace->track_count; t++) {
        player += t == 0 || trace->tracks[t].id != trace->tracks[t - 1].id ? 1 : 0;
        put_track(trace, &trace->tracks[t], start, player, match);
    }
    return measure_speed(match, error);
}

LabStatus attention_match_load(const char *path, double from, double seconds, AttentionMatch *match,
                               LabError *error)
{
    memset(match, 0, sizeof *match);
    Trace trace;
    TraceError fault;
    if (!trace_load(path, &trace, &fault)) {
        return lab_fail(error, LAB_BAD_INPUT, "%s", fault.text);
    }
    LabStatus status = convert(&trace, from, seconds, match, error);
    trace_free(&trace);
    if (status != LAB_OK) {
        attention_match_free(match);
    }
    return status;
}

void attention_match_free(AttentionMatch *match)
{
    free(match->rows);
    free(match->there);
    memset(match, 0, sizeof *match);
}
