// Rows in order of time become tracks, in time linear in the rows.
//
// While reading, a row is appended to growing columns and marked with its track: the one its entity
// is in, or a new one at a new life. At the end the tracks are sorted and each column is scattered
// to its place, one column at a time, so that at most one is held twice.
#include "lab/trace/trace_build.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 4096
#define FIRST_TRACKS 64
#define FIRST_ENTITIES 64

/// Doubles *array to hold `capacity` items. False: out of memory, and the old array stays.
static bool regrow(void **array, int32_t capacity, size_t item_bytes)
{
    if ((size_t)capacity > SIZE_MAX / item_bytes) {
        return false;
    }
    void *grown = realloc(*array, (size_t)capacity * item_bytes);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    return true;
}

static int32_t doubled(int32_t capacity, int32_t first)
{
    return capacity == 0 ? first : capacity > INT32_MAX / 2 ? INT32_MAX : capacity * 2;
}

static bool grow_rows(TraceBuild *build)
{
    int32_t capacity = doubled(build->capacity, FIRST_ROWS);
    void *time = build->time;
    void *track = build->track;
    bool ok = regrow(&time, capacity, sizeof *build->time);
    build->time = time;
    ok = ok && regrow(&track, capacity, sizeof *build->track);
    build->track = track;
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT && ok; c++) {
        void *column = build->column[c];
        ok = !build->has[c] || regrow(&column, capacity, sizeof(double));
        build->column[c] = column;
    }
    if (ok) {
        build->capacity = capacity;
    }
    return ok;
}

// ---------------------------------------------------------------- entities

/// Spreads neighbouring ids over the table (the finaliser of SplitMix64).
static uint64_t mixed(int64_t id)
{
    uint64_t x = (uint64_t)id;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// The entity's slot, or the empty one where it belongs.
static BuildEntity *slot_of(BuildEntity *entities, int32_t capacity, int64_t id)
{
    uint64_t mask = (uint64_t)capacity - 1;
    uint64_t slot = mixed(id) & mask;
    while (entities[slot].track1 != 0 && entities[slot].id != id) {
        slot = (slot + 1) & mask;
    }
    return &entities[slot];
}

static bool grow_entities(TraceBuild *build)
{
    if (build->entity_capacity > INT32_MAX / 2) {
        return false;
    }
    int32_t capacity = doubled(build->entity_capacity, FIRST_ENTITIES);
    BuildEntity *grown = calloc((size_t)capacity, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    for (int32_t i = 0; i < build->entity_capacity; i++) {
        if (build->entities[i].track1 != 0) {
            *slot_of(grown, capacity, build->entities[i].id) = build->entities[i];
        }
    }
    free(build->entities);
    build->entities = grown;
    build->entity_capacity = capacity;
    return true;
}

static bool add_track(TraceBuild *build, int64_t id, int64_t life)
{
    if (build->track_count == build->track_capacity) {
        int32_t capacity = doubled(build->track_capacity, FIRST_TRACKS);
        void *tracks = build->tracks;
        if (!regrow(&tracks, capacity, sizeof *build->tracks)) {
            return false;
        }
        build->tracks = tracks;
        build->track_capacity = capacity;
    }
    build->tracks[build->track_count] =
        (TraceTrack){.id = id, .life = life, .first = build->track_count};
    build->track_count++;
    return true;
}

/// Finds or makes the entity's current track.
static BuildResult enter(TraceBuild *build, FlTime time, int64_t id, int64_t life, int32_t *track)
{
    if (build->entity_count >= build->entity_capacity / 2 && !grow_entities(build)) {
        return BUILD_NO_MEMORY;
    }
    BuildEntity *entity = slot_of(build->entities, build->entity_capacity, id);
    bool known = entity->track1 != 0;
    if (known && entity->last == time) {
        return BUILD_DUPLICATE;
    }
    if (!known || build->tracks[entity->track1 - 1].life != life) {
        if (!add_track(build, id, life)) {
            return BUILD_NO_MEMORY;
        }
        entity->id = id;
        entity->track1 = build->track_count;
        build->entity_count += known ? 0 : 1;
    }
    entity->last = time;
    *track = entity->track1 - 1;
    return BUILD_OK;
}

BuildResult trace_build_add(TraceBuild *build, FlTime time, int64_t id, int64_t life,
                            const double *values)
{
    if (build->count == INT32_MAX) {
        return BUILD_TOO_MANY;
    }
    if (build->count == build->capacity && !grow_rows(build)) {
        return BUILD_NO_MEMORY;
    }
    int32_t track = 0;
    BuildResult result = enter(build, time, id, life, &track);
    if (result != BUILD_OK) {
        return result;
    }
    build->tracks[track].count++;
    build->time[build->count] = time;
    build->track[build->count] = track;
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT; c++) {
        if (build->has[c]) {
            build->column[c][build->count] = values[c];
        }
    }
    build->count++;
    return BUILD_OK;
}

// ---------------------------------------------------------------- finish

/// By id, then as they began (`first` still holds the order of creation).
static int compare_tracks(const void *a, const void *b)
{
    const TraceTrack *left = a;
    const TraceTrack *right = b;
    if (left->id != right->id) {
        return left->id < right->id ? -1 : 1;
    }
    return left->first < right->first ? -1 : left->first > right->first ? 1 : 0;
}

/// Sorts the tracks, gives them their places, and turns build->track into each row's place. False:
/// no memory.
static bool assign_places(TraceBuild *build)
{
    int32_t *next = malloc((size_t)build->track_count * sizeof *next); // by order of creation
    if (next == NULL) {
        return false;
    }
    qsort(build->tracks, (size_t)build->track_count, sizeof *build->tracks, compare_tracks);
    int32_t place = 0;
    for (int32_t t = 0; t < build->track_count; t++) {
        TraceTrack *track = &build->tracks[t];
        next[track->first] = place;
        track->first = place;
        place += track->count;
    }
    for (int32_t row = 0; row < build->count; row++) {
        build->track[row] = next[build->track[row]]++;
    }
    free(next);
    return true;
}

static bool scatter(const TraceBuild *build, double **column)
{
    double *placed = malloc((size_t)build->count * sizeof *placed);
    if (placed == NULL) {
        return false;
    }
    for (int32_t row = 0; row < build->count; row++) {
        placed[build->track[row]] = (*column)[row];
    }
    free(*column);
    *column = placed;
    return true;
}

static bool scatter_times(TraceBuild *build)
{
    FlTime *placed = malloc((size_t)build->count * sizeof *placed);
    if (placed == NULL) {
        return false;
    }
    for (int32_t row = 0; row < build->count; row++) {
        placed[build->track[row]] = build->time[row];
    }
    free(build->time);
    build->time = placed;
    return true;
}

bool trace_build_finish(TraceBuild *build, Trace *trace)
{
    FL_ASSERT(build->count > 0);
    trace->start = build->time[0];
    trace->end = build->time[build->count - 1];
    bool ok = assign_places(build) && scatter_times(build);
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT && ok; c++) {
        ok = !build->has[c] || scatter(build, &build->column[c]);
    }
    if (!ok) {
        return false;
    }
    trace->sample_count = build->count;
    trace->track_count = build->track_count;
    trace->entity_count = build->entity_count;
    trace->tracks = build->tracks;
    trace->time = build->time;
    memcpy(trace->column, build->column, sizeof trace->column);
    build->tracks = NULL;
    build->time = NULL;
    memset(build->column, 0, sizeof build->column);
    return true;
}

void trace_build_free(TraceBuild *build)
{
    free(build->time);
    free(build->track);
    free(build->tracks);
    free(build->entities);
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT; c++) {
        free(build->column[c]);
    }
    memset(build, 0, sizeof *build);
}
