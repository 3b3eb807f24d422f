// Units and where their results are: in memory, in the folder's files, with the workers.
#define _DEFAULT_SOURCE // flock, ftruncate, opendir
#include "app/lab/unit_store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/output.h"
#include "app/lab/unit_workers.h"

typedef enum Phase { PHASE_PLAN, PHASE_WORK, PHASE_CONCLUDE } Phase;

/// A unit: planned, known, or both.
typedef struct Entry {
    UnitRecord record; ///< head.name always; packed NULL: not known yet.
    double seconds;
    int32_t order; ///< In the plan; -1: another command's.
    bool found;    ///< It was known at the beginning.
} Entry;

struct UnitStore {
    UnitStoreDef def;
    LabUnits units;
    Phase phase;
    Entry *entries;
    int32_t count, capacity;
    int32_t next; ///< Where the next entry is looked for first.
    int32_t planned;
    int32_t shard, shards; ///< From 1.
    char *header;
    FILE *file; ///< Ours, to append to; or NULL.
    UnitWorkers *workers;
    FILE *results; ///< In a worker.
    double begun_s;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---------------------------------------------------------------- entries

static Entry *find(UnitStore *store, const char *name)
{
    for (int32_t k = 0; k < store->count; k++) {
        int32_t i = (store->next + k) % store->count; // walks go in order
        if (strcmp(store->entries[i].record.head.name, name) == 0) {
            store->next = i + 1;
            return &store->entries[i];
        }
    }
    return NULL;
}

/// NULL: out of memory.
static Entry *add(UnitStore *store, const char *name)
{
    if (store->count == store->capacity) {
        int32_t capacity = store->capacity < 64 ? 64 : 2 * store->capacity;
        Entry *more = (Entry *)realloc(store->entries, (size_t)capacity * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        store->entries = more;
        store->capacity = capacity;
    }
    Entry *entry = &store->entries[store->count++];
    *entry = (Entry){.order = -1};
    memcpy(entry->record.head.name, name, strlen(name) + 1);
    return entry;
}

/// Takes a record; one that is known already stays. False: out of memory.
static bool take(UnitStore *store, UnitRecord *record, bool found)
{
    Entry *entry = find(store, record->head.name);
    entry = entry != NULL ? entry : add(store, record->head.name);
    if (entry == NULL || entry->record.packed != NULL) {
        free(record->packed);
        return entry != NULL;
    }
    entry->record = *record;
    entry->found = found;
    return true;
}

static bool is_ours(const UnitStore *store, const Entry *entry)
{
    return entry->order >= 0 && entry->order % store->shards == store->shard - 1;
}

// ---------------------------------------------------------------- files

/// What results depend on besides the command: the program. FNV-1a.
static uint64_t program_hash(void)
{
    uint64_t hash = 14695981039346656037u;
    FILE *file = fopen("/proc/self/exe", "rb");
    static const size_t piece = 1 << 16;
    unsigned char *bytes = file != NULL ? (unsigned char *)malloc(piece) : NULL;
    for (size_t count = 1; bytes != NULL && count > 0;) {
        count = fread(bytes, 1, piece, file);
        for (size_t i = 0; i < count; i++) {
            hash = (hash ^ bytes[i]) * 1099511628211u;
        }
    }
    free(bytes);
    if (file != NULL) {
        (void)fclose(file);
    }
    return hash;
}

/// How many words an option of ours takes: 2, as "--jobs 4", or 1, as "--jobs=4". 0: another's.
static int words_of_option(const char *word)
{
    static const char *const names[] = {"--state", "--shard", "--jobs"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t length = strlen(names[k]);
        if (strncmp(word, names[k], length) == 0 && (word[length] == '\0' || word[length] == '=')) {
            return word[length] == '=' ? 1 : 2;
        }
    }
    return 0;
}

/// Takes the identity.
static char *make_header(json_t *identity, int argc, char **argv)
{
    char program[32];
    json_t *command = json_array();
    for (int i = 0; i < argc; i++) {
        int own = words_of_option(argv[i]);
        if (own == 0) {
            json_array_append_new(command, json_string(argv[i]));
        }
        i += own == 2 ? 1 : 0;
    }
    json_t *header = json_object();
    snprintf(program, sizeof program, "%016llx", (unsigned long long)program_hash());
    json_object_set_new(header, "units", json_integer(1));
    json_object_set_new(header, "version", json_string(FL_VERSION));
    json_object_set_new(header, "program", json_string(program));
    json_object_set_new(header, "of", identity);
    json_object_set_new(header, "command", command);
    char *text = json_text(header, JSON_COMPACT);
    json_decref(header);
    return text;
}

/// The file's first line. NULL: it is none of units.
static json_t *read_header(FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    json_t *header = getline(&line, &room, file) > 0 ? json_loads(line, 0, NULL) : NULL;
    free(line);
    if (json_integer_value(json_object_get(header, "units")) != 1) {
        json_decref(header);
        return NULL;
    }
    return header;
}

/// Are they results of the same program and the same settings?
static bool same_work(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "version"), json_object_get(b, "version")) &&
           json_equal(json_object_get(a, "program"), json_object_get(b, "program")) &&
           json_equal(json_object_get(a, "of"), json_object_get(b, "of"));
}

/// Takes all whole records; *end: after the last of them. Answers OPTIONS_GO_ON or the exit status.
static int read_units(UnitStore *store, const char *path, FILE *file, long *end)
{
    json_t *ours = json_loads(store->header, 0, NULL);
    json_t *theirs = read_header(file);
    bool same = theirs != NULL && same_work(ours, theirs);
    json_decref(ours);
    json_decref(theirs);
    if (!same) {
        return command_fail(EXIT_BAD_INPUT, store->def.who,
                            "%s: not units of this program with these settings and this seed; "
                            "name another folder",
                            path);
    }
    UnitRecord record;
    *end = ftell(file);
    while (unit_record_read(file, &record)) {
        *end = ftell(file);
        if (!take(store, &record, true)) {
            return command_fail(EXIT_FAILED, store->def.who, "out of memory");
        }
    }
    return OPTIONS_GO_ON;
}

static char *path_of(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = (char *)malloc(bytes);
    if (path != NULL) {
        snprintf(path, bytes, "%s/%s", folder, name);
    }
    return path;
}

static void own_name(const UnitStore *store, char name[32])
{
    if (store->shards > 1) {
        snprintf(name, 32, "units.%dof%d", (int)store->shard, (int)store->shards);
    } else {
        snprintf(name, 32, "units");
    }
}

static int read_path(UnitStore *store, const char *path)
{
    FILE *file = fopen(path, "rb");
    long end;
    if (file == NULL) {
        return command_fail(EXIT_BAD_INPUT, store->def.who, "cannot read %s: %s", path,
                            strerror(errno));
    }
    int status = read_units(store, path, file, &end);
    (void)fclose(file);
    return status;
}

/// Reads all files of units in a folder but the one that we append to. *found: how many there are.
static int read_folder(UnitStore *store, const char *folder, const char *own, int32_t *found)
{
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return command_fail(EXIT_BAD_INPUT, store->def.who, "%s: %s", folder, strerror(errno));
    }
    int status = OPTIONS_GO_ON;
    for (struct dirent *entry; status == OPTIONS_GO_ON && (entry = readdir(listing)) != NULL;) {
        if (strncmp(entry->d_name, "units", 5) == 0 && strcmp(entry->d_name, own) != 0) {
            char *path = path_of(folder, entry->d_name);
            status = path != NULL ? read_path(store, path) : EXIT_FAILED;
            free(path);
            (*found)++;
        }
    }
    (void)closedir(listing);
    return status;
}

/// Opens our file, reads what it has, cuts off what is not whole, and leaves it ready to append.
static int open_own(UnitStore *store, const char *path)
{
    const char *who = store->def.who;
    store->file = fopen(path, "a+b");
    if (store->file == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--state: cannot write %s: %s", path,
                            strerror(errno));
    }
    if (flock(fileno(store->file), LOCK_EX | LOCK_NB) != 0) {
        return command_fail(EXIT_BAD_INPUT, who, "--state: %s: another process works on it", path);
    }
    long end = 0;
    if (fseek(store->file, 0, SEEK_END) == 0 && ftell(store->file) > 0) {
        rewind(store->file);
        int status = read_units(store, path, store->file, &end);
        if (status != OPTIONS_GO_ON) {
            return status;
        }
    }
    bool ok = ftruncate(fileno(store->file), end) == 0 && fseek(store->file, 0, SEEK_END) == 0;
    ok = ok &&
         (end > 0 || (fprintf(store->file, "%s\n", store->header) > 0 && fflush(store->file) == 0));
    return ok ? OPTIONS_GO_ON
              : command_fail(EXIT_FAILED, who, "cannot write %s: %s", path, strerror(errno));
}

static int open_folders(UnitStore *store)
{
    const UnitOptions *o = &store->def.options;
    int32_t found = 0;
    int status = OPTIONS_GO_ON;
    for (int32_t i = 0; i < o->merged_count && status == OPTIONS_GO_ON; i++) {
        status = read_folder(store, o->merged[i], "", &found);
    }
    if (o->state == NULL || status != OPTIONS_GO_ON) {
        return status;
    }
    char name[32];
    bool made;
    own_name(store, name);
    status = output_folder(store->def.who, "--state", o->state, &made);
    char *path = status == OPTIONS_GO_ON ? path_of(o->state, name) : NULL;
    status = status != OPTIONS_GO_ON || path != NULL
                 ? status
                 : command_fail(EXIT_FAILED, store->def.who, "out of memory");
    status = status == OPTIONS_GO_ON ? read_folder(store, o->state, name, &found) : status;
    status = status == OPTIONS_GO_ON ? open_own(store, path) : status;
    free(path);
    return status;
}

json_t *unit_store_command(const char *who, const char *folder)
{
    DIR *listing = opendir(folder);
    json_t *command = NULL;
    for (struct dirent *entry;
         listing != NULL && command == NULL && (entry = readdir(listing)) != NULL;) {
        char *path =
            strncmp(entry->d_name, "units", 5) == 0 ? path_of(folder, entry->d_name) : NULL;
        FILE *file = path != NULL ? fopen(path, "rb") : NULL;
        json_t *header = file != NULL ? read_header(file) : NULL;
        command = json_incref(json_object_get(header, "command"));
        json_decref(header);
        if (file != NULL) {
            (void)fclose(file);
        }
        free(path);
    }
    if (listing == NULL) {
        command_fail(EXIT_BAD_INPUT, who, "%s: %s", folder, strerror(errno));
    } else {
        (void)closedir(listing);
        if (command == NULL) {
            command_fail(EXIT_BAD_INPUT, who, "%s: no units there; it is for folders of --state",
                         folder);
        }
    }
    return command;
}

// ---------------------------------------------------------------- asking

static LabUnitAnswer ask_plan(UnitStore *store, const LabUnit *unit)
{
    Entry *entry = find(store, unit->name);
    entry = entry != NULL ? entry : add(store, unit->name);
    if (entry != NULL && entry->order < 0) {
        entry->order = store->planned++;
        entry->seconds = unit->seconds;
    }
    return LAB_UNIT_ELSEWHERE;
}

static LabUnitAnswer ask_work(UnitStore *store, const LabUnit *unit)
{
    Entry *entry = find(store, unit->name);
    if (entry == NULL || entry->record.packed != NULL || !is_ours(store, entry) ||
        !unit_workers_begin(store->workers, entry->order)) {
        return LAB_UNIT_ELSEWHERE;
    }
    UnitRecord record = {.head = {.kind = UNIT_BEGUN}};
    memcpy(record.head.name, unit->name, sizeof record.head.name);
    return unit_record_write(store->results, &record) ? LAB_UNIT_PLAY : LAB_UNIT_ELSEWHERE;
}

static void tick(const UnitStore *store)
{
    if (store->def.tick_fn != NULL) {
        store->def.tick_fn(store->def.ctx);
    }
}

/// Only results are kept: what failed is tried again the next time.
static bool write_down(const UnitStore *store, const UnitRecord *record)
{
    return store->file == NULL || record->head.status != LAB_OK ||
           unit_record_write(store->file, record);
}

static LabStatus cannot_write(LabError *error)
{
    return lab_fail(error, LAB_FAILED, "--state: cannot write: %s", strerror(errno));
}

/// Until the workers have this one. False: they never will.
static bool wait_for(UnitStore *store, const char *name, LabStatus *status, LabError *error)
{
    UnitRecord record;
    while (store->workers != NULL && unit_workers_wait(store->workers, &record)) {
        bool same = strcmp(record.head.name, name) == 0;
        if (!write_down(store, &record)) {
            *status = cannot_write(error);
        }
        if (!take(store, &record, false)) {
            *status = lab_fail(error, LAB_FAILED, "out of memory");
        }
        tick(store);
        if (same) {
            return true;
        }
    }
    return false;
}

static LabUnitAnswer ask_conclude(UnitStore *store, const LabUnit *unit, LabStatus *status,
                                  LabError *error)
{
    Entry *entry = find(store, unit->name);
    bool known = entry != NULL && entry->record.packed != NULL;
    if (!known && store->def.options.merged_count > 0) {
        *status = lab_fail(error, LAB_FAILED, "%s is in none of the folders", unit->name);
        return LAB_UNIT_KNOWN;
    }
    if (entry != NULL && !is_ours(store, entry)) {
        return LAB_UNIT_ELSEWHERE;
    }
    if (!known && (store->workers == NULL || !wait_for(store, unit->name, status, error))) {
        return LAB_UNIT_PLAY;
    }
    entry = find(store, unit->name);
    if (*status == LAB_OK && entry != NULL) {
        bool ok = entry->record.head.status == LAB_OK;
        Text words = {0};
        LabUnit failed = {.text = &words};
        if (!unit_record_open(&entry->record, ok ? unit : &failed)) {
            *status = lab_fail(error, LAB_FAILED, "%s: not as it was kept", unit->name);
        } else if (!ok) {
            *status = lab_fail(error, (LabStatus)entry->record.head.status, "%s", text_of(&words));
        }
        text_free(&words);
    }
    return LAB_UNIT_KNOWN;
}

static LabUnitAnswer ask(void *ctx, const LabUnit *unit, LabStatus *status, LabError *error)
{
    UnitStore *store = (UnitStore *)ctx;
    switch (store->phase) {
    case PHASE_PLAN:
        return ask_plan(store, unit);
    case PHASE_WORK:
        return ask_work(store, unit);
    default:
        return ask_conclude(store, unit, status, error);
    }
}

static LabStatus keep(void *ctx, const LabUnit *unit, LabStatus status, LabError *error)
{
    UnitStore *store = (UnitStore *)ctx;
    UnitRecord record;
    if (!unit_record_make(unit, status, error, &record)) {
        return lab_fail(error, LAB_FAILED, "out of memory");
    }
    if (store->phase == PHASE_WORK) {
        if (!unit_record_write(store->results, &record)) {
            _exit(1); // nobody reads it
        }
        free(record.packed);
        return status;
    }
    if (!write_down(store, &record)) {
        status = cannot_write(error);
    }
    (void)take(store, &record, false);
    tick(store);
    return status;
}

// ---------------------------------------------------------------- opening and closing

void unit_options(UnitOptions *options, Option rows[UNIT_OPTIONS])
{
    rows[0] = (Option){.name = "jobs",
                       .value = "N",
                       .integer = &options->jobs,
                       .min = 1,
                       .max = UNIT_JOBS,
                       .help = "processes that play at the same time (1)"};
    rows[1] = (Option){.name = "state",
                       .value = "DIR",
                       .text = &options->state,
                       .help = "keep every result there as it comes, and go on from what is there"};
    rows[2] = (Option){.name = "shard",
                       .value = "I/N",
                       .text = &options->shard,
                       .help = "with --state: only the I-th of N parts; lab merge joins them"};
}

static bool read_shard(UnitStore *store)
{
    const char *text = store->def.options.shard;
    int shard = 1;
    int shards = 1;
    char rest;
    bool ok = text == NULL || (sscanf(text, "%9d/%9d%c", &shard, &shards, &rest) == 2 &&
                               shard >= 1 && shard <= shards && shards <= 100000);
    store->shard = shard;
    store->shards = shards;
    return ok;
}

static void work(void *ctx, UnitWorkers *workers, FILE *results)
{
    UnitStore *store = (UnitStore *)ctx;
    store->phase = PHASE_WORK;
    store->workers = workers;
    store->results = results;
    store->def.walk_fn(store->def.ctx, &store->units);
}

/// Plans all, and starts workers if there is work for them.
static int begin(UnitStore *store)
{
    store->phase = PHASE_PLAN;
    store->def.walk_fn(store->def.ctx, &store->units);
    store->phase = PHASE_CONCLUDE;
    store->units.missing = false;
    store->begun_s = seconds_now();
    UnitCounts counts = unit_store_counts(store);
    int32_t left = counts.all - counts.known;
    int32_t jobs = (int32_t)store->def.options.jobs;
    jobs = jobs < left ? jobs : left;
    if (jobs < 2 || store->def.options.merged_count > 0) {
        return OPTIONS_GO_ON;
    }
    fflush(NULL);
    UnitWorkersDef workers = {jobs, store->planned, work, store};
    store->workers = unit_workers_start(&workers);
    return store->workers != NULL
               ? OPTIONS_GO_ON
               : command_fail(EXIT_FAILED, store->def.who, "--jobs: %s", strerror(errno));
}

int unit_store_open(const UnitStoreDef *def, UnitStore **made)
{
    UnitStore *store = (UnitStore *)calloc(1, sizeof *store);
    *made = NULL;
    if (store == NULL) {
        json_decref(def->identity);
        return command_fail(EXIT_FAILED, def->who, "out of memory");
    }
    store->def = *def;
    store->units = (LabUnits){.ask_fn = ask, .keep_fn = keep, .ctx = store};
    store->header = make_header(def->identity, def->argc, def->argv);
    int status = OPTIONS_GO_ON;
    if (store->header == NULL) {
        status = command_fail(EXIT_FAILED, def->who, "out of memory");
    } else if (!read_shard(store)) {
        status = command_fail(EXIT_BAD_INPUT, def->who, "--shard: '%s' is not I/N, as in 3/10",
                              def->options.shard);
    } else if (def->options.shard != NULL && def->options.state == NULL) {
        status = command_fail(EXIT_BAD_INPUT, def->who,
                              "--shard: its results are for lab merge, so name a --state DIR");
    }
    status = status == OPTIONS_GO_ON ? open_folders(store) : status;
    status = status == OPTIONS_GO_ON ? begin(store) : status;
    if (status != OPTIONS_GO_ON) {
        unit_store_close(store);
        return status;
    }
    *made = store;
    return OPTIONS_GO_ON;
}

LabUnits *unit_store_units(UnitStore *store)
{
    return &store->units;
}

UnitCounts unit_store_counts(const UnitStore *store)
{
    UnitCounts counts = {.to_go_s = -1.0};
    double all_s = 0.0;
    double known_s = 0.0;
    double played_s = 0.0;
    for (int32_t i = 0; i < store->count; i++) {
        const Entry *entry = &store->entries[i];
        if (!is_ours(store, entry)) {
            continue;
        }
        bool known = entry->record.packed != NULL;
        counts.all++;
        counts.known += known ? 1 : 0;
        counts.found += entry->found ? 1 : 0;
        counts.failed += known && entry->record.head.status != LAB_OK ? 1 : 0;
        all_s += entry->seconds;
        known_s += known ? entry->seconds : 0.0;
        played_s += known && !entry->found ? entry->seconds : 0.0;
    }
    counts.share = all_s > 0.0 ? known_s / all_s : 1.0;
    if (played_s > 0.0) {
        counts.to_go_s = (all_s - known_s) * (seconds_now() - store->begun_s) / played_s;
    }
    return counts;
}

int unit_store_conclude_shard(const UnitStore *store)
{
    UnitCounts counts = unit_store_counts(store);
    printf("shard %d of %d: %d units, %d of them known before, %d failed\n", (int)store->shard,
           (int)store->shards, (int)counts.all, (int)counts.found, (int)counts.failed);
    return counts.failed == 0 && counts.known == counts.all ? 0 : EXIT_FAILED;
}

void unit_store_close(UnitStore *store)
{
    if (store->workers != NULL) {
        unit_workers_stop(store->workers);
    }
    if (store->file != NULL) {
        (void)fclose(store->file);
    }
    for (int32_t i = 0; i < store->count; i++) {
        free(store->entries[i].record.packed);
    }
    free(store->entries);
    free(store->header);
    free(store);
}
