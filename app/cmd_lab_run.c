// fairlead lab run: one experiment, its options from its own table, its results to files.
#define _POSIX_C_SOURCE 200809L // mkdir
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/command.h"
#include "app/json_output.h"
#include "app/options.h"
#include "app/output.h"
#include "app/progress.h"
#include "lab/experiment.h"

enum { OPTIONS_MAX = 40, COMMON_OPTIONS = 6 };

/// The command line as given.
typedef struct Request {
    char who[64];
    const Experiment *experiment;
    _Alignas(max_align_t) unsigned char settings[LAB_SETTINGS_BYTES];
    NumberList lists[OPTIONS_MAX]; ///< Of the settings that are lists, by their index.
    int64_t runs;
    int64_t seed;
    const char *out;
    const char *svg;
    bool plain;
    bool json;
} Request;

// ---------------------------------------------------------------- options

static void *field_of(Request *request, const Setting *setting)
{
    return request->settings + setting->offset;
}

/// The option of an experiment's setting.
static Option option_of(Request *request, int32_t index)
{
    const Setting *setting = &request->experiment->settings[index];
    void *field = field_of(request, setting);
    Option option = {.name = setting->name,
                     .value = setting->value,
                     .help = setting->help,
                     .min = setting->min,
                     .max = setting->max};
    switch (setting->kind) {
    case SETTING_NUMBER:
        option.number = (double *)field;
        break;
    case SETTING_INTEGER:
        option.integer = (int64_t *)field;
        break;
    case SETTING_TEXT:
        option.text = (const char **)field;
        break;
    case SETTING_FLAG:
        option.flag = (bool *)field;
        break;
    case SETTING_NUMBERS:
        option.numbers = &request->lists[index];
        break;
    }
    return option;
}

_Static_assert(LAB_NUMBERS_CAPACITY == NUMBER_LIST_CAPACITY, "lists are copied whole");

/// Lists have a type of their own on either side. `out`: into the settings.
static void copy_lists(Request *request, bool out)
{
    for (int32_t i = 0; i < request->experiment->setting_count; i++) {
        const Setting *setting = &request->experiment->settings[i];
        if (setting->kind != SETTING_NUMBERS) {
            continue;
        }
        LabNumbers *numbers = (LabNumbers *)field_of(request, setting);
        NumberList *list = &request->lists[i];
        if (out) {
            memcpy(numbers->values, list->values, sizeof numbers->values);
            numbers->count = list->count;
        } else {
            memcpy(list->values, numbers->values, sizeof list->values);
            list->count = numbers->count;
        }
    }
}

static int parse(Request *request, int argc, char **argv)
{
    const Experiment *experiment = request->experiment;
    Option options[OPTIONS_MAX + COMMON_OPTIONS] = {{0}};
    int32_t count = 0;
    FL_ASSERT(experiment->setting_count <= OPTIONS_MAX);
    for (; count < experiment->setting_count; count++) {
        options[count] = option_of(request, count);
    }
    const Option common[COMMON_OPTIONS] = {
        {.name = "runs",
         .value = "N",
         .integer = &request->runs,
         .min = 1,
         .max = 10000,
         .help = "repeat with N seeds, for 95 % intervals (1)"},
        {.name = "seed",
         .value = "S",
         .integer = &request->seed,
         .min = 0,
         .max = 9007199254740992.0,
         .help = "of all chance; the same seed gives the same bytes (1)"},
        {.name = "out",
         .value = "DIR",
         .text = &request->out,
         .help = "write results.json and series.csv there"},
        {.name = "svg",
         .value = "FILE",
         .text = &request->svg,
         .help = "write the picture there, if the experiment draws one"},
        {.name = "plain", .flag = &request->plain, .help = "sessions without sealing"},
        {.name = "json", .flag = &request->json, .help = "print results.json instead of a table"},
    };
    memcpy(options + count, common, sizeof common);
    experiment->defaults_fn(request->settings);
    copy_lists(request, false);
    const CommandLine line = {request->who, experiment->summary, options,
                              (size_t)count + COMMON_OPTIONS};
    int status = options_parse(&line, argc, argv);
    copy_lists(request, true);
    return status;
}

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
static bool write_file(const Request *request, const char *path, const json_t *document,
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

static bool write_in_folder(const Request *request, const char *name, const json_t *document,
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

static int write_results(const Request *request, const json_t *document, const LabResult *result)
{
    if (mkdir(request->out, 0777) != 0 && errno != EEXIST) {
        return command_fail(EXIT_FAILED, request->who, "cannot make %s: %s", request->out,
                            strerror(errno));
    }
    bool ok = write_in_folder(request, "results.json", document, NULL);
    if (ok && result->series.count > 0) {
        ok = write_in_folder(request, "series.csv", NULL, text_of(&result->series));
    }
    return ok ? 0 : EXIT_FAILED;
}

static int write_picture(const Request *request, const LabResult *result)
{
    if (result->picture.count == 0) {
        return command_fail(EXIT_BAD_INPUT, request->who, "--svg: this experiment draws none");
    }
    return write_file(request, request->svg, NULL, text_of(&result->picture)) ? 0 : EXIT_FAILED;
}

// ---------------------------------------------------------------- the command

static void show_progress(void *ctx, int64_t done, int64_t of)
{
    progress_step(ctx, done, of);
}

static int report(const Request *request, const LabRun *run, const LabResult *result)
{
    json_t *document = experiment_document(request->experiment, run, request->settings, result);
    if (document == NULL) {
        return command_fail(EXIT_FAILED, request->who, "out of memory");
    }
    int status = request->out != NULL ? write_results(request, document, result) : 0;
    if (status == 0 && request->svg != NULL) {
        status = write_picture(request, result);
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

static int run_experiment(Request *request)
{
    Progress progress;
    progress_begin(&progress, request->experiment->name);
    const LabRun run = {
        .seed = (uint64_t)request->seed,
        .runs = (int32_t)request->runs,
        .plain = request->plain,
        .progress_fn = show_progress,
        .progress_ctx = &progress,
    };
    LabResult result;
    LabError error;
    LabStatus status =
        experiment_run(request->experiment, &run, request->settings, &result, &error);
    progress_end(&progress);
    if (status != LAB_OK) {
        return command_fail(status == LAB_BAD_INPUT ? EXIT_BAD_INPUT : EXIT_FAILED, request->who,
                            "%s", error.text);
    }
    int exit_status = report(request, &run, &result);
    lab_result_free(&result);
    return exit_status;
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
    Request *request = (Request *)calloc(1, sizeof *request);
    if (request == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    request->experiment = experiment_find(argv[1]);
    request->runs = 1;
    request->seed = 1;
    int status;
    if (request->experiment == NULL) {
        status = command_fail(EXIT_BAD_INPUT, who, "unknown experiment '%s'; see fairlead lab list",
                              argv[1]);
    } else {
        snprintf(request->who, sizeof request->who, "%s %s", who, argv[1]);
        status = parse(request, argc - 1, argv + 1);
        status = status == OPTIONS_GO_ON ? run_experiment(request) : status;
    }
    free(request);
    return status;
}
