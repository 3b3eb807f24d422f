// fairlead lab run: one experiment, its results to files.
#define _POSIX_C_SOURCE 200809L // rmdir
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/output.h"
#include "app/commands/commands.h"
#include "app/lab/lab_request.h"
#include "app/lab/run_store.h"
#include "lab/report/report.h"

// ---------------------------------------------------------------- files

/// NULL: out of memory.
static char *path_in(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = (char *)malloc(bytes);
    if (path != NULL) {
        snprintf(path, bytes, "%s/%s", folder, name);
    }
    return path;
}

/// False: the error has been printed.
static bool write_file(const LabRequest *request, const char *path, const char *text)
{
    Output output;
    if (text == NULL) {
        command_fail(EXIT_FAILED, request->who, "out of memory");
        return false;
    }
    if (!output_open(&output, request->who, path)) {
        return false;
    }
    fputs(text, output.stream);
    return output_close(&output, request->who);
}

static bool write_in_folder(const LabRequest *request, const char *name, const char *text)
{
    char *path = path_in(request->out, name);
    if (path == NULL) {
        command_fail(EXIT_FAILED, request->who, "out of memory");
        return false;
    }
    bool ok = write_file(request, path, text);
    free(path);
    return ok;
}

static int write_results(const LabRequest *request, const json_t *document, const LabResult *result)
{
    char *results = json_text(document, JSON_INDENT(1));
    bool ok = write_in_folder(request, "results.json", results);
    free(results);
    if (ok && result->series.count > 0) {
        ok = write_in_folder(request, "series.csv", text_of(&result->series));
    }
    if (ok) {
        Text page = {0};
        char made[REPORT_DATE_BYTES];
        report_date(time(NULL), made);
        const ReportRun run = {request->out, document, made, text_of(&result->picture)};
        report_page(&run, 1, &page);
        ok = write_in_folder(request, "report.html", text_of(&page));
        text_free(&page);
    }
    return ok ? 0 : EXIT_FAILED;
}

// ---------------------------------------------------------------- before the work

/// Makes the folder and looks at what would be written into it. *made: it was not there.
static int check_folder(const LabRequest *request, bool *made)
{
    static const char *const names[] = {"results.json", "series.csv", "report.html"};
    int status = output_folder(request->who, "--out", request->out, made);
    for (size_t i = 0; i < sizeof names / sizeof *names && status == OPTIONS_GO_ON; i++) {
        char *path = path_in(request->out, names[i]);
        status = path != NULL ? output_check(request->who, "--out", path)
                              : command_fail(EXIT_FAILED, request->who, "out of memory");
        free(path);
    }
    return status;
}

/// A run may take hours: what it could not keep is said now.
static int check_outputs(const LabRequest *request, bool *made)
{
    int status = OPTIONS_GO_ON;
    if (request->svg != NULL) {
        status = request->experiment->draws
                     ? output_check(request->who, "--svg", request->svg)
                     : command_fail(EXIT_BAD_INPUT, request->who,
                                    "--svg: %s draws no picture; --out DIR writes a page with its "
                                    "charts",
                                    request->experiment->name);
    }
    if (status == OPTIONS_GO_ON && request->db != NULL) {
        status = run_store_check(request->db, request->who) ? OPTIONS_GO_ON : EXIT_BAD_INPUT;
    }
    return status == OPTIONS_GO_ON && request->out != NULL ? check_folder(request, made) : status;
}

// ---------------------------------------------------------------- the command

static int report(const LabRequest *request, const LabRun *run, const LabResult *result)
{
    json_t *document = experiment_document(request->experiment, run, request->settings, result);
    if (document == NULL) {
        return command_fail(EXIT_FAILED, request->who, "out of memory");
    }
    int status = request->out != NULL ? write_results(request, document, result) : 0;
    if (status == 0 && request->svg != NULL) {
        const char *picture = text_of(&result->picture);
        status = write_file(request, request->svg, picture) ? 0 : EXIT_FAILED;
    }
    if (status == 0 && request->db != NULL) {
        int64_t number;
        status = run_store_add(request->db, request->who, document, &number) ? 0 : EXIT_FAILED;
    }
    if (status == 0 && request->json) {
        return json_print(document, request->who);
    }
    json_decref(document);
    if (status == 0) {
        Text table = {0};
        experiment_table(request->experiment, result, &table);
        fputs(text_of(&table), stdout);
        text_free(&table);
    }
    return status;
}

static int run_experiment(LabRequest *request, int argc, char **argv)
{
    LabRun run;
    LabResult result;
    bool made = false;
    int status = check_outputs(request, &made);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    status = lab_request_run(request, argc, argv, &run, &result);
    if (status == 0 && request->units.shard != NULL) {
        return 0; // its units are kept: lab merge reports
    }
    if (status == 0) {
        status = report(request, &run, &result);
        lab_result_free(&result);
    } else if (made) {
        (void)rmdir(request->out); // empty: the run came to nothing
    }
    return status;
}

static void print_help(void)
{
    printf("Usage: fairlead lab run EXPERIMENT [options]\n\n");
    for (int32_t i = 0; i < experiment_count; i++) {
        printf("  %-14s %s\n", experiments[i]->name, experiments[i]->help);
    }
    printf("\nfairlead lab run EXPERIMENT --help tells its options.\n");
}

int cmd_lab_run(int argc, char **argv)
{
    UnitOptions units = {.jobs = 1};
    return lab_run(argc, argv, &units);
}

int lab_run(int argc, char **argv, const UnitOptions *units)
{
    static const char who[] = "fairlead lab run";
    if (argc < 2) {
        return command_fail(EXIT_BAD_INPUT, who, "an experiment is needed; see fairlead lab list");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return 0;
    }
    LabRequest *request = (LabRequest *)calloc(1, sizeof *request);
    if (request == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    request->units = *units;
    int status = lab_request_parse(request, argc - 1, argv + 1);
    status = status == OPTIONS_GO_ON ? run_experiment(request, argc, argv) : status;
    free(request);
    return status;
}
