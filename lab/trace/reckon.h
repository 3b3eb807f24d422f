// Dead reckoning on a recorded game: what it would cost, and what each receiver would see.
//
// The owner's side is the library's exporter, the receiver's side its placement rule and its
// distance integral. Nothing is modelled here a second time; this only plays the trace to them and
// adds up.
//
// Meaning, per track (one entity, one life). *Updates*: at each sample the exporter decides.
// *Placed*, for a receiver with delay d: at time t the newest update with T + d <= t.
// `export_error`: the integral of |exported - placed| from the first arrival to the last sample.
// `mean_error`, `max_error`: |real - placed| over the samples from the first arrival on.
#ifndef LAB_RECKON_H
#define LAB_RECKON_H

#include "lab/trace/trace.h"

typedef struct ReckonDef {
    FlExporterDef exporter;
    const FlTime *delays_ns; ///< One receiver each.
    int32_t delay_count;
    void (*progress_fn)(void *ctx, int32_t done, int32_t of); ///< Told after each track; or NULL.
    void *progress_ctx;
    bool unfaded; ///< As if updates were never old: for comparison.
} ReckonDef;

/// What one receiver saw of one life.
typedef struct ReckonView {
    int32_t samples; ///< Compared; 0 means that nothing arrived, and the rest means nothing.
    double export_error;
    double mean_error;
    double max_error;
} ReckonView;

typedef struct ReckonResult {
    int32_t *update_count; ///< Per track.
    ReckonView *views;     ///< Per track and delay: [track * delay_count + delay].
    int64_t update_total;
    FlTime span_total_ns; ///< Of all lives together.
} ReckonResult;

/// Plays the whole trace. Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult reckon_run(const Trace *trace, const ReckonDef *def, ReckonResult *result);

void reckon_free(ReckonResult *result);

/// One track at work: its updates, and the two paths made of them. `{0}` is ready for use; memory
/// is kept from track to track, and so is what the exporter has learnt from the entity's earlier
/// lives.
typedef struct Reckoning {
    FlExporter exporter;
    FlExperience experience; ///< Its owner's, who has one entity.
    FlTime shortest_ns;      ///< The owner's receivers: the nearest,
    FlTime longest_ns;       ///< and the furthest; 0: it does not know.
    bool unfaded;            ///< Nothing is learnt, and nothing fades.
    bool exporting;          ///< The exporter is `entity`'s.
    int64_t entity;
    FlMotion *updates;
    int32_t update_count;
    int32_t update_capacity;
    FlPiece *storage; ///< Of both paths, piece_capacity each.
    int32_t piece_capacity;
    FlPath exported;
    FlPath placed;
} Reckoning;

/// Plays one track to its entity's exporter: fills in updates and the exported path. Tracks come in
/// the trace's order, an entity's lives one after another. Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult reckoning_export(Reckoning *reckoning, const Trace *trace,
                                       const TraceTrack *track, const FlExporterDef *def);

/// Makes the placed path of a receiver with that delay.
void reckoning_place(Reckoning *reckoning, FlTime delay_ns);

/// Compares the placed path with the exported one and with the truth.
ReckonView reckoning_view(const Reckoning *reckoning, const Trace *trace, const TraceTrack *track);

void reckoning_free(Reckoning *reckoning);

#endif
