// Choosing the seconds to draw: try every stretch of every life, keep the one that shows most.
#include "app/reckon/reckon_window.h"

#define WINDOW_NS FL_SEC(10)
#define STEP_NS FL_SEC(1)   ///< From one stretch tried to the next, in a life of ordinary length.
#define STRETCHES_TRIED 300 ///< Of a longer life, about as many.

/// The track's first sample at or after `time`. A search by halves.
static int32_t first_sample(const Trace *trace, const TraceTrack *track, FlTime time)
{
    int32_t low = track->first;
    int32_t high = track->first + track->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (trace->time[middle] < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/// How much ground is covered: the longer side of the box around the samples in [from, to].
static double extent_of(const Trace *trace, const TraceTrack *track, FlTime from, FlTime to)
{
    double low[2] = {HUGE_VAL, HUGE_VAL};
    double high[2] = {-HUGE_VAL, -HUGE_VAL};
    int32_t end = track->first + track->count;
    for (int32_t i = first_sample(trace, track, from); i < end && trace->time[i] <= to; i++) {
        const double at[2] = {trace->column[TRACE_X][i], trace->column[TRACE_Y][i]};
        for (int32_t axis = 0; axis < 2; axis++) {
            low[axis] = at[axis] < low[axis] ? at[axis] : low[axis];
            high[axis] = at[axis] > high[axis] ? at[axis] : high[axis];
        }
    }
    return fmax(high[0] - low[0], high[1] - low[1]);
}

/// How far apart exported and placed are on the ground; a plan shows no heights.
static double gap_at(const Reckoning *reckoning, FlTime time)
{
    const FlPiece *exported = fl_path_at(&reckoning->exported, time);
    const FlPiece *placed = fl_path_at(&reckoning->placed, time);
    if (exported == NULL || placed == NULL) {
        return 0.0;
    }
    FlVec3 gap = fl_vec3_sub(fl_motion_position(&exported->motion, time),
                             fl_motion_position(&placed->motion, time));
    gap.z = 0.0;
    return fl_vec3_length(gap);
}

/// How much there is to see in [from, to]. Roots of gaps are added up, not gaps: many that can be
/// seen show more than one that is enormous, and one that leaves the picture spoils it. What covers
/// little ground is magnified by the plan, but standing still shows nothing.
static double score_of(const ReckonPicture *picture, const TraceTrack *track,
                       const Reckoning *reckoning, FlTime from, FlTime to, double ground)
{
    const Trace *trace = picture->trace;
    int32_t end = track->first + track->count;
    double sum = 0.0;
    double widest = 0.0;
    for (int32_t i = first_sample(trace, track, from); i < end && trace->time[i] <= to; i++) {
        double gap = gap_at(reckoning, trace->time[i]);
        sum += sqrt(gap);
        widest = gap > widest ? gap : widest;
    }
    double extent = extent_of(trace, track, from, to);
    if (!(extent > 0.0)) {
        return 0.0;
    }
    double spoilt = widest * 5.0 > extent ? extent / (widest * 5.0) : 1.0;
    return spoilt * spoilt * sum * sum * extent / (extent * extent + ground * ground);
}

/// The stretches tried in a track: their first, and how far the last may start.
static FlTime stretch_start(const ReckonPicture *picture, const TraceTrack *track)
{
    return fl_time_add(picture->trace->time[track->first], picture->delay_ns);
}

static FlTime track_end(const ReckonPicture *picture, const TraceTrack *track)
{
    return picture->trace->time[track->first + track->count - 1];
}

/// Keeps the best stretch of one track. Lives too short for a whole one are tried once, and lose by
/// their fewer samples.
static void search_track(const ReckonPicture *picture, const TraceTrack *track, double ground,
                         double *best, ReckonWindow *window)
{
    FlTime start = stretch_start(picture, track);
    FlTime end = track_end(picture, track);
    FlTime step =
        (end - start) / STRETCHES_TRIED > STEP_NS ? (end - start) / STRETCHES_TRIED : STEP_NS;
    for (FlTime from = start; from < end && (from == start || end - from >= WINDOW_NS);
         from += step) {
        FlTime to = end - from < WINDOW_NS ? end : from + WINDOW_NS;
        double score = score_of(picture, track, &window->reckoning, from, to, ground);
        if (window->track == NULL || score > *best) {
            *best = score;
            window->track = track;
            window->from = from;
            window->to = to;
        }
    }
}

static FlResult prepare(Reckoning *reckoning, const ReckonPicture *picture, const TraceTrack *track)
{
    FlResult result = reckoning_export(reckoning, picture->trace, track, picture->exporter);
    if (result == FL_OK) {
        reckoning_place(reckoning, picture->delay_ns);
    }
    return result;
}

/// The largest gap that a close-up can show well: a twelfth of the ground. If all are larger, the
/// largest.
static void find_worst(const ReckonPicture *picture, ReckonWindow *window)
{
    double limit = extent_of(picture->trace, window->track, window->from, window->to) / 12.0;
    double worst = -1.0;
    for (FlTime t = window->from; t <= window->to; t += FL_MS(2)) {
        double gap = gap_at(&window->reckoning, t);
        bool better = gap <= limit ? gap > worst || worst > limit : gap > worst && worst <= 0.0;
        if (better) {
            worst = gap;
            window->worst = t;
        }
    }
}

static bool is_asked_for(const ReckonPicture *picture, const TraceTrack *track)
{
    return !picture->one_entity || track->id == picture->entity;
}

static bool is_wanted(const ReckonPicture *picture, const TraceTrack *track)
{
    return is_asked_for(picture, track) &&
           stretch_start(picture, track) < track_end(picture, track);
}

/// A seventh of the most ground that any life covers: less than that is close to standing still.
static double little_ground(const ReckonPicture *picture)
{
    double most = 0.0;
    for (int32_t t = 0; t < picture->trace->track_count; t++) {
        const TraceTrack *track = &picture->trace->tracks[t];
        if (is_wanted(picture, track)) {
            FlTime start = stretch_start(picture, track);
            double extent = extent_of(picture->trace, track, start, fl_time_add(start, WINDOW_NS));
            most = extent > most ? extent : most;
        }
    }
    return most / 7.0;
}

/// The chosen life once more, after its entity's earlier ones, as the search came to it.
static FlResult prepare_again(const ReckonPicture *picture, ReckonWindow *window)
{
    FlResult result = FL_OK;
    window->reckoning.exporting = false;
    const TraceTrack *first = picture->trace->tracks;
    for (const TraceTrack *track = first; track <= window->track && result == FL_OK; track++) {
        if (track->id == window->track->id) {
            result = prepare(&window->reckoning, picture, track);
        }
    }
    return result;
}

FlResult reckon_window_find(const ReckonPicture *picture, ReckonWindow *window)
{
    *window = (ReckonWindow){0};
    double best = 0.0;
    double ground = little_ground(picture);
    FlResult result = FL_OK;
    for (int32_t t = 0; t < picture->trace->track_count && result == FL_OK; t++) {
        const TraceTrack *track = &picture->trace->tracks[t];
        if (is_asked_for(picture, track)) {
            result = prepare(&window->reckoning, picture, track);
        }
        if (result == FL_OK && is_wanted(picture, track)) {
            search_track(picture, track, ground, &best, window);
        }
    }
    if (result == FL_OK) {
        result = window->track == NULL ? FL_NOT_FOUND : prepare_again(picture, window);
    }
    if (result == FL_OK) {
        find_worst(picture, window);
    } else {
        reckon_window_free(window);
    }
    return result;
}

void reckon_window_free(ReckonWindow *window)
{
    reckoning_free(&window->reckoning);
    *window = (ReckonWindow){0};
}
