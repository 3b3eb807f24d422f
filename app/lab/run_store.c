// Every call opens the file, does one thing in one transaction, and closes it: two programs may
// keep runs in the same file at the same time.
#include "app/lab/run_store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"

#define BUSY_MS 10000

static const char schema[] = "CREATE TABLE IF NOT EXISTS runs("
                             "number INTEGER PRIMARY KEY,"
                             "made TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,"
                             "experiment TEXT NOT NULL,"
                             "version TEXT NOT NULL,"
                             "seed INTEGER NOT NULL,"
                             "config TEXT NOT NULL,"
                             "rows TEXT NOT NULL)";

static const char insertion[] =
    "INSERT INTO runs(experiment, version, seed, config, rows) VALUES(?, ?, ?, ?, ?)";

/// Prints what is wrong, closes, and answers false.
static bool fail(sqlite3 *db, const char *who, const char *path)
{
    command_fail(EXIT_FAILED, who, "%s: %s", path,
                 db != NULL ? sqlite3_errmsg(db) : "out of memory");
    sqlite3_close(db);
    return false;
}

/// NULL: the error has been printed.
static sqlite3 *open_store(const char *path, const char *who, bool make)
{
    sqlite3 *db = NULL;
    int flags = make ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    bool ok = sqlite3_open_v2(path, &db, flags, NULL) == SQLITE_OK &&
              sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
              (!make || sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK);
    return ok || fail(db, who, path) ? db : NULL;
}

/// Binds JSON as text; takes the text, which jansson made.
static bool bind_json(sqlite3_stmt *statement, int place, const json_t *value)
{
    char *text = json_text(value, JSON_COMPACT);
    bool ok = text != NULL &&
              sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT) == SQLITE_OK;
    free(text);
    return ok;
}

static bool bind_string(sqlite3_stmt *statement, int place, const json_t *value)
{
    return sqlite3_bind_text(statement, place, json_string_value(value), -1, SQLITE_TRANSIENT) ==
           SQLITE_OK;
}

bool run_store_check(const char *path, const char *who)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    bool ok = sqlite3_open_v2(path, &db, flags, NULL) == SQLITE_OK &&
              sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
              sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db, insertion, -1, &statement, NULL) == SQLITE_OK &&
              sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
    if (!ok) {
        command_fail(EXIT_BAD_INPUT, who,
                     "--db: %s: %s; name another file, or a new one in a "
                     "folder that may be written to",
                     path, db != NULL ? sqlite3_errmsg(db) : "out of memory");
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return ok;
}

bool run_store_add(const char *path, const char *who, const json_t *document, int64_t *number)
{
    *number = 0;
    sqlite3 *db = open_store(path, who, true);
    if (db == NULL) {
        return false;
    }
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 seed = json_integer_value(json_object_get(document, "seed"));
    bool ok = sqlite3_prepare_v2(db, insertion, -1, &statement, NULL) == SQLITE_OK &&
              bind_string(statement, 1, json_object_get(document, "experiment")) &&
              bind_string(statement, 2, json_object_get(document, "version")) &&
              sqlite3_bind_int64(statement, 3, seed) == SQLITE_OK &&
              bind_json(statement, 4, json_object_get(document, "config")) &&
              bind_json(statement, 5, json_object_get(document, "rows")) &&
              sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    if (!ok) {
        return fail(db, who, path);
    }
    *number = sqlite3_last_insert_rowid(db);
    sqlite3_close(db);
    return true;
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

bool run_store_list(const char *path, const char *who,
                    void (*see_fn)(void *ctx, const StoredRun *run), void *ctx)
{
    sqlite3 *db = open_store(path, who, false);
    if (db == NULL) {
        return false;
    }
    static const char words[] = "SELECT number, made, experiment, version, seed, config, "
                                "json_array_length(rows) FROM runs ORDER BY number";
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(db, words, -1, &statement, NULL);
    while (status == SQLITE_OK || status == SQLITE_ROW) {
        status = sqlite3_step(statement);
        if (status == SQLITE_ROW) {
            const StoredRun run = {
                .number = sqlite3_column_int64(statement, 0),
                .made = column_text(statement, 1),
                .experiment = column_text(statement, 2),
                .version = column_text(statement, 3),
                .seed = sqlite3_column_int64(statement, 4),
                .config = column_text(statement, 5),
                .row_count = sqlite3_column_int64(statement, 6),
            };
            see_fn(ctx, &run);
        }
    }
    sqlite3_finalize(statement);
    if (status != SQLITE_DONE) {
        return fail(db, who, path);
    }
    sqlite3_close(db);
    return true;
}

static json_t *document_of(sqlite3_stmt *statement)
{
    json_t *document = json_object();
    json_object_set_new(document, "experiment", json_string(column_text(statement, 0)));
    json_object_set_new(document, "version", json_string(column_text(statement, 1)));
    json_object_set_new(document, "seed", json_integer(sqlite3_column_int64(statement, 2)));
    json_object_set_new(document, "config", json_loads(column_text(statement, 3), 0, NULL));
    json_object_set_new(document, "rows", json_loads(column_text(statement, 4), 0, NULL));
    return document;
}

json_t *run_store_read(const char *path, const char *who, int64_t number, char *made,
                       size_t made_bytes)
{
    sqlite3 *db = open_store(path, who, false);
    if (db == NULL) {
        return NULL;
    }
    static const char words[] =
        "SELECT experiment, version, seed, config, rows, made FROM runs WHERE number = ?";
    sqlite3_stmt *statement = NULL;
    bool ok = sqlite3_prepare_v2(db, words, -1, &statement, NULL) == SQLITE_OK &&
              sqlite3_bind_int64(statement, 1, number) == SQLITE_OK;
    int status = ok ? sqlite3_step(statement) : SQLITE_ERROR;
    json_t *document = status == SQLITE_ROW ? document_of(statement) : NULL;
    snprintf(made, made_bytes, "%s", status == SQLITE_ROW ? column_text(statement, 5) : "");
    sqlite3_finalize(statement);
    if (status != SQLITE_ROW && status != SQLITE_DONE) {
        (void)fail(db, who, path);
        return NULL;
    }
    sqlite3_close(db);
    if (document == NULL) {
        command_fail(EXIT_BAD_INPUT, who, "%s: there is no run %lld", path, (long long)number);
    }
    return document;
}
