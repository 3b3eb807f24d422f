// Plays traces to the library's exporter, placement and distance integral. See reckon.h for what is
// counted.
#include "lab/trace/reckon.h"

#include <stdlib.h>

#include "motion/motion.h"

/// A track is one life, so within it no cut happens and any one number will do.
#define ONE_LIFE 0
#define FIRST_UPDATES 64
#define SHORTEST FL_MS(20) // no receiver is taken to be nearer

static bool is_update(FlTrigger trigger)
{
    return trigger != FL_TRIGGER_NONE && trigger != FL_TRIGGER_REFUSED;
}

static FlResult add_update(Reckoning *reckoning, const FlMotion *update)
{
    if (reckoning->update_count == reckoning->update_capacity) {
        int32_t capacity = reckoning->update_capacity;
        capacity = capacity == 0              ? FIRST_UPDATES
                   : capacity > INT32_MAX / 2 ? INT32_MAX
                                              : capacity * 2;
        FlMotion *grown = realloc(reckoning->updates, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return FL_NO_MEMORY;
        }
        reckoning->updates = grown;
        reckoning->update_capacity = capacity;
    }
    reckoning->updates[reckoning->update_count++] = *update;
    return FL_OK;
}

/// Room for both paths, each with a piece per update.
static FlResult reserve_pieces(Reckoning *reckoning)
{
    int32_t capacity = reckoning->update_capacity > 0 ? reckoning->update_capacity : FIRST_UPDATES;
    if (reckoning->piece_capacity >= capacity) {
        return FL_OK;
    }
    free(reckoning->storage);
    reckoning->piece_capacity = 0;
    reckoning->storage = malloc(2 * (size_t)capacity * sizeof *reckoning->storage);
    if (reckoning->storage == NULL) {
        return FL_NO_MEMORY;
    }
    reckoning->piece_capacity = capacity;
    return FL_OK;
}

/// The updates as a receiver with that delay shows them. The owner itself is a receiver without
/// delay.
static void place(const Reckoning *reckoning, FlTime delay_ns, FlPath *path)
{
    for (int32_t i = 0; i < reckoning->update_count; i++) {
        const FlMotion *update = &reckoning->updates[i];
        FlPiece piece = fl_piece_placed(update, ONE_LIFE, fl_time_add(update->time, delay_ns));
        FlResult result = fl_path_add(path, &piece);
        FL_ASSERT(result == FL_OK); // the exporter's motions are finite and in order
        (void)result;
    }
}

// A new entity starts afresh; a new life of the same one is a cut, across which only experience is
// kept.
static FlExporter *exporter_for(Reckoning *reckoning, const TraceTrack *track,
                                const FlExporterDef *def)
{
    if (reckoning->exporting && reckoning->entity == track->id) {
        fl_exporter_cut(&reckoning->exporter);
    } else {
        FlExporterDef own = *def;
        reckoning->experience = (FlExperience){0};
        own.experience = reckoning->unfaded ? NULL : &reckoning->experience;
        fl_exporter_init(&reckoning->exporter, &own);
        if (reckoning->longest_ns > 0) {
            FlTime shortest = fl_time_min(reckoning->shortest_ns, reckoning->longest_ns);
            fl__exporter_receivers(&reckoning->exporter, shortest, reckoning->longest_ns);
        }
    }
    reckoning->exporting = true;
    reckoning->entity = track->id;
    return &reckoning->exporter;
}

FlResult reckoning_export(Reckoning *reckoning, const Trace *trace, const TraceTrack *track,
                          const FlExporterDef *def)
{
    FlExporter *exporter = exporter_for(reckoning, track, def);
    FlSampler sampler = {0};
    reckoning->update_count = 0;
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        FlState state = trace_state(trace, i, &sampler);
        FlMotion update;
        if (!is_update(fl_exporter_feed(exporter, &state, &update))) {
            continue;
        }
        fl_exporter_commit(exporter, &update);
        FlResult result = add_update(reckoning, &update);
        if (result != FL_OK) {
            return result;
        }
    }
    FlResult result = reserve_pieces(reckoning);
    if (result == FL_OK) {
        fl_path_init(&reckoning->exported, reckoning->storage, reckoning->piece_capacity);
        place(reckoning, 0, &reckoning->exported);
    }
    return result;
}

void reckoning_place(Reckoning *reckoning, FlTime delay_ns)
{
    fl_path_init(&reckoning->placed, reckoning->storage + reckoning->piece_capacity,
                 reckoning->piece_capacity);
    place(reckoning, delay_ns, &reckoning->placed);
}

ReckonView reckoning_view(const Reckoning *reckoning, const Trace *trace, const TraceTrack *track)
{
    ReckonView view = {0};
    FlTime end = trace->time[track->first + track->count - 1];
    double sum = 0.0;
    for (int32_t i = track->first; i < track->first + track->count; i++) {
        const FlPiece *piece = fl_path_at(&reckoning->placed, trace->time[i]);
        if (piece == NULL) {
            continue; // before the first arrival
        }
        FlVec3 placed = fl_motion_position(&piece->motion, trace->time[i]);
        double error = fl_vec3_distance(trace_position(trace, i), placed);
        sum += error;
        view.max_error = error > view.max_error ? error : view.max_error;
        view.samples++;
    }
    if (view.samples > 0) {
        view.mean_error = sum / view.samples;
        view.export_error = fl_path_distance_integral(&reckoning->exported, &reckoning->placed,
                                                      trace->time[track->first], end);
    }
    return view;
}

void reckoning_free(Reckoning *reckoning)
{
    free(reckoning->updates);
    free(reckoning->storage);
    *reckoning = (Reckoning){0};
}

static FlResult run_track(Reckoning *reckoning, const Trace *trace, const ReckonDef *def, int32_t t,
                          ReckonResult *result)
{
    const TraceTrack *track = &trace->tracks[t];
    FlResult exported = reckoning_export(reckoning, trace, track, &def->exporter);
    if (exported != FL_OK) {
        return exported;
    }
    result->update_count[t] = reckoning->update_count;
    result->update_total += reckoning->update_count;
    FlTime span = trace_track_span(trace, track);
    result->span_total_ns = fl_time_add(result->span_total_ns, span);
    for (int32_t d = 0; d < def->delay_count; d++) {
        reckoning_place(reckoning, def->delays_ns[d]);
        size_t at = (size_t)t * (size_t)def->delay_count + (size_t)d;
        result->views[at] = reckoning_view(reckoning, trace, track);
    }
    return FL_OK;
}

FlResult reckon_run(const Trace *trace, const ReckonDef *def, ReckonResult *result)
{
    size_t tracks = (size_t)trace->track_count;
    size_t views = tracks * (size_t)def->delay_count;
    *result = (ReckonResult){0};
    result->update_count = calloc(tracks, sizeof *result->update_count);
    result->views = calloc(views > 0 ? views : 1, sizeof *result->views);
    FlResult status = result->update_count != NULL && result->views != NULL ? FL_OK : FL_NO_MEMORY;
    Reckoning reckoning = {.shortest_ns = FL_FOREVER, .unfaded = def->unfaded};
    for (int32_t d = 0; d < def->delay_count; d++) { // as an owner knows from its ledger
        FlTime delay = def->delays_ns[d] > SHORTEST ? def->delays_ns[d] : SHORTEST;
        reckoning.shortest_ns = fl_time_min(reckoning.shortest_ns, delay);
        reckoning.longest_ns = delay > reckoning.longest_ns ? delay : reckoning.longest_ns;
    }
    for (int32_t t = 0; t < trace->track_count && status == FL_OK; t++) {
        status = run_track(&reckoning, trace, def, t, result);
        if (def->progress_fn != NULL) {
            def->progress_fn(def->progress_ctx, t + 1, trace->track_count);
        }
    }
    reckoning_free(&reckoning);
    if (status != FL_OK) {
        reckon_free(result);
    }
    return status;
}

void reckon_free(ReckonResult *result)
{
    free(result->update_count);
    free(result->views);
    *result = (ReckonResult){0};
}
