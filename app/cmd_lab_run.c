// fairlead lab run: one experiment, its results to files.
#define _POSIX_C_SOURCE 200809L // mkdir
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/command.h"
#include "app/json_output.h"
#include "app/lab_request.h"
#include "app/output.h"
#include "app/run_store.h"
#include "lab/report.h"

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

/// One of the two: a document or a text. False: the error has been printed.
static bool write_file(const LabRequest *request, const char *path, const json_t *document,
                       const char *text)
{
    Output output;
    bool ok = output_open(&output, request->who, path);
    if (ok && document != NULL) {
        json_dumpf(document, output.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
        fputc('\n', output.stream);
    } else if (ok && text != NULL) {
        fputs(text, output.stream);
    }
    return ok && output_close(&output, request->who);
}

static bool write_in_folder(const LabRequest *request, const char *name, const json_t *document,
                            const char *text)
{
    char *path = path_in(request->out, name);
    if (path == NULL) {
        command_fail(EXIT_FAILED, request->who, "out of memory");
        return false;
    }
    bool ok = write_file(request, path, document, text);
    free(path);
    return ok;
}

static int write_results(const LabRequest *request, const json_t *document, const LabResult *result)
{
    if (mkdir(request->out, 0777) != 0 && errno != EEXIST) {
        return command_fail(EXIT_FAILED, request->who, "cannot make %s: %s", request->out,
                            strerror(errno));
    }
    bool ok = write_in_folder(request, "results.json", document, NULL);
    if (ok && result->series.count > 0) {
        ok = write_in_folder(request, "series.csv", NULL, text_of(&result->series));
    }
    if (ok) {
        Text page = {0};
        const ReportRun run = {request->out, document, text_of(&result->picture)};
        report_page(&run, 1, &page);
        ok = write_in_folder(request, "report.html", NULL, text_of(&page));
        text_free(&page);
    }
    return ok ? 0 : EXIT_FAILED;
}

static int write_picture(const LabRequest *request, const LabResult *result)
{
    if (result->picture.count == 0) {
        return command_fail(EXIT_BAD_INPUT, request->who, "--svg: this experiment draws none");
    }
    return write_file(request, request->svg, NULL, text_of(&result->picture)) ? 0 : EXIT_FAILED;
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
        status = write_picture(request, result);
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

static int run_experiment(LabRequest *request)
{
    LabRun run;
    LabResult result;
    int status = lab_request_run(request, &run, &result);
    if (status == 0) {
        status = report(request, &run, &result);
        lab_result_free(&result);
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
    int status = lab_request_parse(request, argc - 1, argv + 1);
    status = status == OPTIONS_GO_ON ? run_experiment(request) : status;
    free(request);
    return status;
}
