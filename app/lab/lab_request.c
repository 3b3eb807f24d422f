// Options come from the experiment's own table, and from one that all share.
#include "app/lab/lab_request.h"

#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/progress.h"

enum { COMMON_OPTIONS = 7 };

// ---------------------------------------------------------------- options

static void *field_of(LabRequest *request, const Setting *setting)
{
    return request->settings + setting->offset;
}

/// The option of an experiment's setting.
static Option option_of(LabRequest *request, int32_t index)
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
static void copy_lists(LabRequest *request, bool out)
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

static int parse_options(LabRequest *request, int argc, char **argv)
{
    const Experiment *experiment = request->experiment;
    Option options[LAB_OPTIONS_MAX + COMMON_OPTIONS + UNIT_OPTIONS] = {{0}};
    int32_t count = 0;
    FL_ASSERT(experiment->setting_count <= LAB_OPTIONS_MAX);
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
         .help = "write results.json, series.csv and report.html there"},
        {.name = "db",
         .value = "FILE",
         .text = &request->db,
         .help = "keep the results in this SQLite file; see fairlead lab runs"},
        {.name = "svg",
         .value = "FILE",
         .text = &request->svg,
         .help = "write the picture there, if the experiment draws one"},
        {.name = "plain", .flag = &request->plain, .help = "sessions without sealing"},
        {.name = "json", .flag = &request->json, .help = "print results.json instead of a table"},
    };
    memcpy(options + count, common, sizeof common);
    unit_options(&request->units, options + count + COMMON_OPTIONS);
    experiment->defaults_fn(request->settings);
    copy_lists(request, false);
    const CommandLine line = {request->who, experiment->summary, options,
                              (size_t)count + COMMON_OPTIONS + UNIT_OPTIONS};
    int status = options_parse(&line, argc, argv);
    copy_lists(request, true);
    return status;
}

int lab_request_parse(LabRequest *request, int argc, char **argv)
{
    static const char who[] = "fairlead lab run";
    request->experiment = experiment_find(argv[0]);
    request->runs = 1;
    request->seed = 1;
    if (request->experiment == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "unknown experiment '%s'; see fairlead lab list",
                            argv[0]);
    }
    snprintf(request->who, sizeof request->who, "%s %s", who, argv[0]);
    return parse_options(request, argc, argv);
}

// ---------------------------------------------------------------- running

static void show_progress(void *ctx, int64_t done, int64_t of)
{
    progress_step(ctx, done, of);
}

static LabRun run_of(const LabRequest *request)
{
    return (LabRun){
        .seed = (uint64_t)request->seed, .runs = (int32_t)request->runs, .plain = request->plain};
}

/// Goes through all units, to plan or to work.
static void walk(void *ctx, LabUnits *units)
{
    LabRequest *request = (LabRequest *)ctx;
    LabRun run = run_of(request);
    LabResult result;
    LabError error;
    run.units = units;
    if (experiment_run(request->experiment, &run, request->settings, &result, &error) == LAB_OK) {
        lab_result_free(&result);
    }
}

/// Without options about units there is none: *store is NULL. Answers OPTIONS_GO_ON, or the exit
/// status.
static int open_store(LabRequest *request, int argc, char **argv, UnitStore **store)
{
    const UnitOptions *o = &request->units;
    *store = NULL;
    if (o->jobs < 2 && o->state == NULL && o->shard == NULL && o->merged_count == 0) {
        return OPTIONS_GO_ON;
    }
    LabRun run = run_of(request);
    json_t *identity = experiment_config(request->experiment, &run, request->settings);
    (void)json_object_set_new(identity, "experiment", json_string(request->experiment->name));
    (void)json_object_set_new(identity, "seed", json_integer((json_int_t)request->seed));
    UnitStoreDef def = {.who = request->who,
                        .options = *o,
                        .identity = identity,
                        .argc = argc,
                        .argv = argv,
                        .walk_fn = walk,
                        .ctx = request};
    return unit_store_open(&def, store);
}

int lab_request_run(LabRequest *request, int argc, char **argv, LabRun *run, LabResult *result)
{
    Progress progress;
    UnitStore *store;
    LabError error = {{0}};
    *result = (LabResult){0};
    *run = run_of(request);
    int opened = open_store(request, argc, argv, &store);
    if (opened != OPTIONS_GO_ON) {
        return opened;
    }
    progress_begin(&progress, request->experiment->name);
    run->progress_fn = show_progress;
    run->progress_ctx = &progress;
    run->units = store != NULL ? unit_store_units(store) : NULL;
    LabStatus status = experiment_run(request->experiment, run, request->settings, result, &error);
    progress_end(&progress);
    run->progress_fn = NULL;
    run->units = NULL;
    if (store != NULL) {
        int shard = status == LAB_PENDING || request->units.shard != NULL
                        ? unit_store_conclude_shard(store)
                        : 0;
        unit_store_close(store);
        if (request->units.shard != NULL) {
            lab_result_free(result);
            return shard;
        }
    }
    if (status == LAB_OK) {
        return 0;
    }
    return command_fail(status == LAB_BAD_INPUT ? EXIT_BAD_INPUT : EXIT_FAILED, request->who, "%s",
                        error.text);
}
