// fairlead trace info: what a recorded game holds.
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/options.h"
#include "app/commands/commands.h"
#include "lab/trace/trace_info.h"

static const char who[] = "fairlead trace info";

static const char summary[] =
    "Says what a trace holds: entities, lives, length, rate, speeds, columns.\n"
    "Speeds come from vx, vy, vz if the file has them, else from positions.";

// ---------------------------------------------------------------- JSON

static json_t *used_columns(const Trace *trace)
{
    json_t *used = json_pack("[s,s]", "t", "id");
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT; c++) {
        if (trace->column[c] != NULL) {
            json_array_append_new(used, json_string(trace_column_name((TraceColumn)c)));
        }
    }
    if (trace->has_life) {
        json_array_append_new(used, json_string("life"));
    }
    return used;
}

static json_t *ignored_columns(const Trace *trace)
{
    json_t *ignored = json_array();
    for (const char *at = trace->ignored; *at != '\0';) {
        size_t length = strcspn(at, ",");
        json_t *name = json_stringn(at, length);
        json_array_append_new(ignored, name != NULL ? name : json_string("(not UTF-8)"));
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return ignored;
}

static json_t *to_json(const Trace *trace, const TraceInfo *info)
{
    json_t *rate = json_pack("{s:f,s:f,s:f,s:f}", "samples_per_second", info->rate_hz, "gap_min_ms",
                             info->gap_min_s * 1e3, "gap_median_ms", info->gap_median_s * 1e3,
                             "gap_max_ms", info->gap_max_s * 1e3);
    json_t *speed =
        json_pack("{s:s,s:o,s:o,s:o}", "from", trace_has_velocity(trace) ? "columns" : "positions",
                  "mean", json_number(info->speed_mean), "p95", json_number(info->speed_p95), "max",
                  json_number(info->speed_max));
    return json_pack("{s:i,s:i,s:i,s:f,s:f,s:f,s:o,s:o,s:{s:o,s:o}}", "entities",
                     trace->entity_count, "lives", trace->track_count, "samples",
                     trace->sample_count, "start", fl_span_seconds(trace->start), "seconds",
                     info->length_s, "life_seconds", info->life_s, "rate", rate, "speed", speed,
                     "columns", "used", used_columns(trace), "ignored", ignored_columns(trace));
}

// ---------------------------------------------------------------- text

static void print_columns(const Trace *trace)
{
    printf("  columns    t id");
    for (int32_t c = 0; c < TRACE_COLUMN_COUNT; c++) {
        if (trace->column[c] != NULL) {
            printf(" %s", trace_column_name((TraceColumn)c));
        }
    }
    printf("%s\n", trace->has_life ? " life" : "");
    if (trace->ignored[0] == '\0') {
        return;
    }
    printf("  not used   ");
    for (const char *at = trace->ignored; *at != '\0'; at++) {
        bool control = (unsigned char)*at < ' ' || *at == 127;
        putchar(*at == ',' ? ' ' : control ? '?' : *at);
    }
    putchar('\n');
}

static void print_text(const char *path, const Trace *trace, const TraceInfo *info)
{
    printf("%s\n", path);
    printf("  entities   %d\n", trace->entity_count);
    printf("  lives      %d, together %.1f s\n", trace->track_count, info->life_s);
    printf("  samples    %d\n", trace->sample_count);
    printf("  length     %.3f s, from %.3f s to %.3f s\n", info->length_s,
           fl_span_seconds(trace->start), fl_span_seconds(trace->end));
    printf("  rate       %.1f samples/s in a life; gaps %.1f to %.1f ms, median %.1f ms\n",
           info->rate_hz, info->gap_min_s * 1e3, info->gap_max_s * 1e3, info->gap_median_s * 1e3);
    printf("  speed      mean %.4g, 95 %% below %.4g, highest %.4g units/s (from %s)\n",
           info->speed_mean, info->speed_p95, info->speed_max,
           trace_has_velocity(trace) ? "vx, vy, vz" : "positions");
    print_columns(trace);
}

int cmd_trace_info(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    const Option options[] = {
        {.value = "FILE",
         .text = &path,
         .required = true,
         .help = "the trace; - is standard input"},
        {.name = "json", .flag = &json, .help = "print JSON"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    Trace trace;
    TraceError error;
    if (!trace_load(path, &trace, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_BAD_INPUT;
    }
    TraceInfo info;
    status = 0;
    if (trace_info(&trace, &info) != FL_OK) {
        status = command_fail(EXIT_FAILED, who, "out of memory");
    } else if (json) {
        status = json_print(to_json(&trace, &info), who);
    } else {
        print_text(path, &trace, &info);
    }
    trace_free(&trace);
    return status;
}
