// Runs of experiments, kept in a SQLite file.
//
// One table, `runs`: what results.json says, its settings and rows as JSON, and when it was kept.
#ifndef APP_RUN_STORE_H
#define APP_RUN_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/// One run without its rows.
typedef struct StoredRun {
    int64_t number;
    const char *made; ///< UTC, as 2030-01-31 12:00:00.
    const char *experiment;
    const char *version;
    int64_t seed;
    const char *config; ///< JSON.
    int64_t row_count;
} StoredRun;

/// Before the work: can runs be kept in this file? It is made if it is not there. False: the error
/// has been printed as `who`.
bool run_store_check(const char *path, const char *who);

/// Keeps a results document; the file is made if it is not there. False: the error has been printed
/// as `who`, and nothing was kept.
bool run_store_add(const char *path, const char *who, const json_t *document, int64_t *number);

/// Calls once for each run, the oldest first. False: the error has been printed.
bool run_store_list(const char *path, const char *who,
                    void (*see_fn)(void *ctx, const StoredRun *run), void *ctx);

/// The results document of a run; the caller releases it. NULL: the error has been printed. `made`
/// gets when it was kept, as in StoredRun.
json_t *run_store_read(const char *path, const char *who, int64_t number, char *made,
                       size_t made_bytes);

#endif
