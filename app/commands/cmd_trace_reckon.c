// fairlead trace reckon: what dead reckoning would cost on a recorded game, and what receivers
// would see.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/commands/commands.h"
#include "app/reckon/reckon_picture.h"
#include "app/reckon/reckon_report.h"
#include "lab/trace/number.h"
#include "lab/trace/reckon.h"
#include "motion/motion.h"

static const char who[] = "fairlead trace reckon";

static const char summary[] =
    "Plays a trace to an owner that sends an update when the truth is further than D from\n"
    "what it last told, or S after the last update; and to receivers that each hear every\n"
    "update late. Says what it costs (updates) and how wrong each receiver's view is.";

/// The command line as given.
typedef struct Request {
    const char *path;
    const char *model;
    double distance;
    double angle;
    double silence;
    NumberList delays_ms;
    bool json;
    const char *svg;
    const char *entity; ///< NULL: whoever shows most.
    int64_t entity_number;
} Request;

static int parse(Request *request, int argc, char **argv)
{
    const Option options[] = {
        {.value = "FILE",
         .text = &request->path,
         .required = true,
         .help = "the trace; - is standard input"},
        {.name = "model",
         .value = "NAME",
         .text = &request->model,
         .help = "still, linear, quadratic, circular, or auto, which picks\nper update (auto)"},
        {.name = "distance",
         .value = "D",
         .number = &request->distance,
         .max = 1e300,
         .help = "threshold in the trace's units (0.1)"},
        {.name = "angle",
         .value = "RAD",
         .number = &request->angle,
         .max = FL_PI,
         .help = "threshold of the heading, in radians; needs a yaw column\n(off)"},
        {.name = "silence",
         .value = "S",
         .number = &request->silence,
         .max = 4e9,
         .help = "an update at least this often, in seconds (1)"},
        {.name = "delay",
         .value = "MS[,MS...]",
         .numbers = &request->delays_ms,
         .max = 1e9,
         .help = "one receiver each, that hears updates so much later (100)"},
        {.name = "json", .flag = &request->json, .help = "print JSON, every life by itself"},
        {.name = "svg",
         .value = "FILE",
         .text = &request->svg,
         .help = "also draw one entity's real, exported and placed path,\nas the receiver with "
                 "the longest delay saw it"},
        {.name = "entity",
         .value = "ID",
         .text = &request->entity,
         .help = "whom to draw (whoever shows the difference best)"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    return options_parse(&line, argc, argv);
}

/// Turns the request into what the lab takes. Answers OPTIONS_GO_ON or an exit status.
static int prepare(Request *request, FlExporterDef *def)
{
    *def = fl_exporter_def_default();
    if (fl__model_find(request->model, &def->model) != FL_OK || def->model == FL_MODEL_CUBIC) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--model: '%s' is not still, linear, quadratic, circular or auto",
                            request->model);
    }
    def->trigger.distance = request->distance;
    def->trigger.angle = request->angle;
    def->trigger.silence_ns = fl_span_from_seconds(request->silence);
    if (request->entity != NULL && request->svg == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--entity says whom to draw: it needs --svg FILE");
    }
    if (request->entity != NULL &&
        !integer_read(request->entity, request->entity + strlen(request->entity),
                      &request->entity_number)) {
        return command_fail(EXIT_BAD_INPUT, who, "--entity: '%s' is not an integer",
                            request->entity);
    }
    return request->svg != NULL ? output_check(who, "--svg", request->svg) : OPTIONS_GO_ON;
}

static int draw(const Request *request, const Trace *trace, const ReckonDef *def)
{
    int32_t longest = 0;
    for (int32_t d = 1; d < def->delay_count; d++) {
        longest = def->delays_ns[d] > def->delays_ns[longest] ? d : longest;
    }
    const ReckonPicture picture = {
        .title = request->path,
        .trace = trace,
        .exporter = &def->exporter,
        .delay_ns = def->delays_ns[longest],
        .one_entity = request->entity != NULL,
        .entity = request->entity_number,
    };
    return reckon_picture_write(&picture, request->svg, who);
}

static void show_progress(void *ctx, int32_t done, int32_t of)
{
    progress_step(ctx, done, of);
}

static int report(const Request *request, const Trace *trace, const ReckonDef *def,
                  Progress *progress)
{
    ReckonResult result;
    FlResult ran = reckon_run(trace, def, &result);
    progress_end(progress);
    if (ran != FL_OK) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    const ReckonReport told = {request->path, trace, def, &result, &request->delays_ms};
    int status = 0;
    if (request->json) {
        status = json_print(reckon_report_json(&told), who);
    } else {
        reckon_report_print(&told);
    }
    reckon_free(&result);
    return status;
}

static int run(const Request *request, const Trace *trace, const FlExporterDef *exporter)
{
    if (isfinite(request->angle) && trace->column[TRACE_YAW] == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--angle needs a yaw column, which %s has not",
                            request->path);
    }
    FlTime delays_ns[NUMBER_LIST_CAPACITY];
    for (int32_t d = 0; d < request->delays_ms.count; d++) {
        delays_ns[d] = fl_span_from_seconds(request->delays_ms.values[d] / 1e3);
    }
    Progress progress;
    progress_begin(&progress, "reckoning");
    const ReckonDef def = {*exporter,     delays_ns, request->delays_ms.count,
                           show_progress, &progress, false};
    int status = request->svg != NULL ? draw(request, trace, &def) : 0;
    return status == 0 ? report(request, trace, &def, &progress) : status;
}

int cmd_trace_reckon(int argc, char **argv)
{
    Request request = {
        .model = "auto",
        .distance = 0.1,
        .angle = HUGE_VAL,
        .silence = 1.0,
        .delays_ms = {.values = {100.0}, .count = 1},
    };
    int status = parse(&request, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FlExporterDef exporter;
    status = prepare(&request, &exporter);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    Trace trace;
    TraceError error;
    if (!trace_load(request.path, &trace, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_BAD_INPUT;
    }
    status = run(&request, &trace, &exporter);
    trace_free(&trace);
    return status;
}
