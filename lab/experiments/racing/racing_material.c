// Races to be played: recorded ones, and the racing game's bots'.
#define _POSIX_C_SOURCE 200809L // opendir, strdup

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lab/experiments/racing/racing.h"
#include "lab/trace/trace.h"
#include "racing/racing.h"

/// Samples closer than this to the last are left out.
#define SAMPLE_MIN (RACE_SAMPLE - RACE_SAMPLE / 10)

/// How long bots race, and every how many ticks a sample is taken.
enum { BOT_SECONDS = 30, BOT_TICKS = 2 };

// ---------------------------------------------------------------- tracks

static bool reserve_track(RaceTrack *track, int32_t capacity)
{
    track->time = (FlTime *)calloc((size_t)capacity, sizeof *track->time);
    track->progress = (double *)calloc((size_t)capacity, sizeof *track->progress);
    return track->time != NULL && track->progress != NULL;
}

static void add_sample(RaceTrack *track, FlTime time, double progress)
{
    track->time[track->count] = time;
    track->progress[track->count++] = progress;
}

/// What follows from the samples. All progress counts from the first car's first.
static void finish_race(Race *race)
{
    double origin = race->cars[0].progress[0];
    race->low = (double)INFINITY;
    race->high = -(double)INFINITY;
    race->top_speed = 1.0;
    race->length = FL_FOREVER;
    for (int32_t c = 0; c < race->car_count; c++) {
        RaceTrack *track = &race->cars[c];
        for (int32_t i = 0; i < track->count; i++) {
            track->progress[i] -= origin;
            race->low = fmin(race->low, track->progress[i]);
            race->high = fmax(race->high, track->progress[i]);
            if (i > 0) {
                double span = fl_span_seconds(track->time[i] - track->time[i - 1]);
                double way = fabs(track->progress[i] - track->progress[i - 1]);
                race->top_speed = fmax(race->top_speed, way / span);
            }
        }
        FlTime end = track->time[track->count - 1];
        race->length = end < race->length ? end : race->length;
    }
}

static void free_race(Race *race)
{
    for (int32_t c = 0; c < RACE_CARS; c++) {
        free(race->cars[c].time);
        free(race->cars[c].progress);
    }
}

void race_material_free(RaceMaterial *material)
{
    for (int32_t i = 0; i < material->count; i++) {
        free_race(&material->races[i]);
    }
    free(material->races);
    *material = (RaceMaterial){0};
}

static Race *add_race(RaceMaterial *material, LabError *error)
{
    size_t count = (size_t)material->count + 1;
    Race *races = (Race *)realloc(material->races, count * sizeof *races);
    if (races == NULL) {
        (void)lab_fail(error, LAB_FAILED, "out of memory");
        return NULL;
    }
    material->races = races;
    races[material->count] = (Race){0};
    return &races[material->count++];
}

// ---------------------------------------------------------------- recorded

static LabStatus take_tracks(const Trace *trace, const char *path, Race *race, LabError *error)
{
    const double *progress = trace->column[TRACE_PROGRESS];
    for (int32_t t = 0; t < trace->track_count; t++) {
        const TraceTrack *from = &trace->tracks[t];
        RaceTrack *to = &race->cars[race->car_count++];
        if (!reserve_track(to, from->count)) {
            return lab_fail(error, LAB_FAILED, "out of memory");
        }
        for (int32_t i = from->first; i < from->first + from->count; i++) {
            FlTime time = trace->time[i] - trace->start;
            if (to->count == 0 || time - to->time[to->count - 1] >= SAMPLE_MIN) {
                add_sample(to, time, progress[i]);
            }
        }
    }
    finish_race(race);
    return race->length >= FL_SEC(3) ? LAB_OK
                                     : lab_fail(error, LAB_BAD_INPUT, "%s: shorter than 3 s", path);
}

/// Adds the race of a file if it has so many cars.
static LabStatus add_file(const char *path, int32_t cars, RaceMaterial *material, LabError *error)
{
    Trace trace;
    TraceError problem;
    if (!trace_load(path, &trace, &problem)) {
        return lab_fail(error, LAB_BAD_INPUT, "%s", problem.text);
    }
    LabStatus status = LAB_OK;
    if (trace.column[TRACE_PROGRESS] == NULL) {
        status = lab_fail(error, LAB_BAD_INPUT, "%s: no column progress: not a race", path);
    } else if (trace.track_count != trace.entity_count) {
        status = lab_fail(error, LAB_BAD_INPUT, "%s: a car has more than one life", path);
    } else if (trace.entity_count == cars) {
        Race *race = add_race(material, error);
        status = race != NULL ? take_tracks(&trace, path, race, error) : LAB_FAILED;
        if (status == LAB_OK) {
            const char *slash = strrchr(path, '/');
            snprintf(race->name, sizeof race->name, "%s", slash != NULL ? slash + 1 : path);
            race->name[strcspn(race->name, ".")] = '\0';
        }
    }
    trace_free(&trace);
    return status;
}

static bool is_trace(const char *name)
{
    const char end[] = ".csv.gz";
    size_t length = strlen(name);
    return length > sizeof end - 1 && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/// The names of the traces in a directory, sorted. NULL: it cannot be read.
static char **list_traces(const char *path, int32_t *count)
{
    *count = 0;
    DIR *directory = opendir(path);
    char **names = NULL;
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (!is_trace(entry->d_name)) {
            continue;
        }
        char **more = (char **)realloc((void *)names, ((size_t)*count + 1) * sizeof *names);
        char *name = strdup(entry->d_name);
        if (more == NULL || name == NULL) {
            free(name);
            names = more == NULL ? names : more;
            break;
        }
        names = more;
        names[(*count)++] = name;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    if (names != NULL) {
        qsort((void *)names, (size_t)*count, sizeof *names, by_name);
    }
    return names;
}

static LabStatus add_directory(const char *path, int32_t cars, RaceMaterial *material,
                               LabError *error)
{
    int32_t count;
    char **names = list_traces(path, &count);
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < count; i++) {
        Text file = {0};
        text_add(&file, "%s/%s", path, names[i]);
        status = status == LAB_OK ? add_file(text_of(&file), cars, material, error) : status;
        text_free(&file);
        free(names[i]);
    }
    free((void *)names);
    if (status == LAB_OK && count == 0) {
        status = lab_fail(error, LAB_BAD_INPUT, "%s: no *.csv.gz there", path);
    }
    return status;
}

LabStatus race_material_traces(const char *path, int32_t cars, RaceMaterial *material,
                               LabError *error)
{
    *material = (RaceMaterial){0};
    struct stat what;
    bool there = stat(path, &what) == 0;
    LabStatus status = there && S_ISDIR(what.st_mode) ? add_directory(path, cars, material, error)
                                                      : add_file(path, cars, material, error);
    if (status == LAB_OK && material->count == 0) {
        status = lab_fail(error, LAB_BAD_INPUT, "%s: no race of %d cars there", path, (int)cars);
    }
    if (status != LAB_OK) {
        race_material_free(material);
    }
    return status;
}

// ---------------------------------------------------------------- bots

static void record_bots(const RacingGame *game, uint64_t seed, Race *race)
{
    RacingState state;
    racing_start(game, &state);
    for (;;) {
        for (int32_t c = 0; c < race->car_count && state.tick % BOT_TICKS == 0; c++) {
            add_sample(&race->cars[c], racing_tick_time(state.tick), state.car[c].progress);
        }
        if (state.tick >= BOT_SECONDS * RACING_TICK_HZ) {
            break;
        }
        RacingInput inputs[RACING_CAR_CAPACITY] = {0};
        for (int32_t c = 0; c < race->car_count; c++) {
            inputs[c] = racing_bot_drive(game, seed, &state, c);
        }
        racing_step(game, &state, inputs);
    }
}

static LabStatus add_bots(uint64_t seed, int32_t cars, RaceMaterial *material, LabError *error)
{
    Race *race = add_race(material, error);
    if (race == NULL) {
        return LAB_FAILED;
    }
    RacingDef def = racing_def_default();
    def.car_count = cars;
    def.seed = seed;
    RacingGame *game;
    FlResult result = racing_create(&def, &game);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "starting the racing game");
    }
    bool room = true;
    for (int32_t c = 0; c < cars; c++) {
        room &= reserve_track(&race->cars[c], BOT_SECONDS * RACING_TICK_HZ / BOT_TICKS + 1);
    }
    if (room) {
        race->car_count = cars;
        record_bots(game, seed, race);
        finish_race(race);
        snprintf(race->name, sizeof race->name, "bots%llu", (unsigned long long)seed);
    }
    racing_destroy(game);
    return room ? LAB_OK : lab_fail(error, LAB_FAILED, "out of memory");
}

LabStatus race_material_bots(uint64_t seed, int32_t races, int32_t cars, RaceMaterial *material,
                             LabError *error)
{
    *material = (RaceMaterial){0};
    LabStatus status = LAB_OK;
    for (int32_t i = 0; i < races && status == LAB_OK; i++) {
        status = add_bots(seed + (uint64_t)i, cars, material, error);
    }
    if (status != LAB_OK) {
        race_material_free(material);
    }
    return status;
}
