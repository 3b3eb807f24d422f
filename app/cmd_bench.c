// fairlead bench: contenders against each other in one run.
#include <stdio.h>
#include <string.h>

#include "app/command.h"
#include "app/json_output.h"
#include "app/options.h"
#include "bench/bench.h"

static const char who[] = "fairlead bench";

static const char summary[] =
    "Times contenders against each other, in turns, in one run. Times are the best round's, "
    "ratios\n"
    "the median over rounds; on a busy machine trust the ratios. Scenes: motion.";

static const BenchScene *scene_find(const char *name)
{
    for (int32_t i = 0; i < bench_scene_count; i++) {
        if (strcmp(bench_scenes[i].name, name) == 0) {
            return &bench_scenes[i];
        }
    }
    return NULL;
}

static json_t *to_json(const char *scene, const BenchReport *report)
{
    json_t *rows = json_array();
    for (int32_t i = 0; i < report->count; i++) {
        const BenchRow *row = &report->rows[i];
        json_array_append_new(rows, json_pack("{s:s,s:s,s:f,s:f,s:s}", "contest", row->contest,
                                              "name", row->name, "ns", row->ns, "ratio", row->ratio,
                                              "against", row->against));
    }
    return json_pack("{s:s,s:o}", "bench", scene, "rows", rows);
}

static void print_table(const BenchReport *report)
{
    const char *contest = "";
    for (int32_t i = 0; i < report->count; i++) {
        const BenchRow *row = &report->rows[i];
        if (strcmp(contest, row->contest) != 0) {
            contest = row->contest;
            printf("%s%-40s %12s %8s\n", i > 0 ? "\n" : "", contest, "ns each", "ratio");
        }
        printf("  %-38s %12.2f %8.2f\n", row->name, row->ns, row->ratio);
    }
}

int cmd_bench(int argc, char **argv)
{
    const char *name = NULL;
    bool json = false;
    const Option options[] = {
        {.value = "SCENE",
         .help = "which contest to hold: motion",
         .text = &name,
         .required = true},
        {.name = "json", .help = "print JSON", .flag = &json},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    const BenchScene *scene = scene_find(name);
    if (scene == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "no scene '%s'; there is: motion", name);
    }
    BenchReport report = {.count = 0};
    if (!scene->run(&report)) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    if (json) {
        return json_print(to_json(name, &report), who);
    }
    print_table(&report);
    return 0;
}
