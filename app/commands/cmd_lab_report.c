// fairlead lab report: a page about a run, or about several side by side.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/commands/commands.h"
#include "app/lab/run_store.h"
#include "lab/report/report.h"

enum { RUNS_MAX = 64, PATH_BYTES = 4096 };

static const char who[] = "fairlead lab report";

/// DIR/results.json, and when it was written. NULL: the error has been printed.
static json_t *read_folder(const char *folder, char made[REPORT_DATE_BYTES])
{
    char path[PATH_BYTES];
    json_error_t error;
    if (snprintf(path, sizeof path, "%s/results.json", folder) >= PATH_BYTES) {
        command_fail(EXIT_BAD_INPUT, who, "%.60s...: the name is too long", folder);
        return NULL;
    }
    json_t *document = json_load_file(path, 0, &error);
    if (document == NULL) {
        command_fail(EXIT_BAD_INPUT, who, "%s: %s", path, error.text);
    }
    struct stat status;
    if (stat(path, &status) == 0) {
        report_date(status.st_mtime, made);
    }
    return document;
}

static json_t *read_stored(const char *db, const char *number, char made[REPORT_DATE_BYTES])
{
    char *end;
    long long value = strtoll(number, &end, 10);
    if (*end != '\0' || value <= 0) {
        command_fail(EXIT_BAD_INPUT, who, "with --db runs are named by number, not '%s'", number);
        return NULL;
    }
    char kept[REPORT_DATE_BYTES] = "";
    json_t *document = run_store_read(db, who, value, kept, sizeof kept);
    snprintf(made, REPORT_DATE_BYTES, "%.16s UTC", kept); // without seconds
    return document;
}

/// False: the error has been printed.
static bool read_run(const char *db, const char *name, char made[REPORT_DATE_BYTES], ReportRun *run)
{
    json_t *document = db != NULL ? read_stored(db, name, made) : read_folder(name, made);
    const char *problem = document != NULL ? report_problem(document) : NULL;
    if (problem != NULL) {
        command_fail(EXIT_BAD_INPUT, who, "%s is no result of an experiment: %s", name, problem);
        json_decref(document);
        document = NULL;
    }
    *run = (ReportRun){.name = name, .document = document, .made = made};
    return document != NULL;
}

static int write_page(const ReportRun *runs, int32_t count, const char *path)
{
    Text page = {0};
    report_page(runs, count, &page);
    Output output;
    bool ok = !page.failed && output_open(&output, who, path);
    if (ok) {
        fputs(text_of(&page), output.stream);
        ok = output_close(&output, who);
    } else if (page.failed) {
        command_fail(EXIT_FAILED, who, "out of memory");
    }
    text_free(&page);
    return ok ? 0 : EXIT_FAILED;
}

int cmd_lab_report(int argc, char **argv)
{
    const char *items[RUNS_MAX];
    TextList names = {items, RUNS_MAX, 0};
    const char *db = NULL;
    const char *path = "report.html";
    const Option options[] = {
        {.value = "DIR...",
         .texts = &names,
         .required = true,
         .help = "folders of lab run --out; with --db: numbers of runs. At most 64"},
        {.name = "db", .value = "FILE", .text = &db, .help = "a file of lab run --db"},
        {.name = "to", .value = "FILE", .text = &path, .help = "the page (report.html)"},
    };
    const CommandLine line = {who, "One page that needs nothing else: charts, tables, settings.",
                              options, 3};
    int status = options_parse(&line, argc, argv);
    status = status == OPTIONS_GO_ON ? output_check(who, "--to", path) : status;
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    ReportRun runs[RUNS_MAX] = {{0}};
    char made[RUNS_MAX][REPORT_DATE_BYTES] = {{0}};
    int32_t count = 0;
    while (count < names.count && read_run(db, items[count], made[count], &runs[count])) {
        count++;
    }
    status = count == names.count ? write_page(runs, count, path) : EXIT_BAD_INPUT;
    for (int32_t i = 0; i < count; i++) {
        json_decref((json_t *)(uintptr_t)runs[i].document);
    }
    return status;
}
