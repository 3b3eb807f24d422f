// fairlead lab: experiments in virtual time.
#include <stdio.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/options.h"
#include "app/commands/commands.h"
#include "lab/experiments/experiment.h"

static const char summary[] =
    "Experiments: real sessions and packets over an emulated network, in virtual time.\n"
    "docs/guide/lab.md describes them and every figure.";

static int print_json(void)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < experiment_count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "experiment", json_string(experiments[i]->name));
        json_object_set_new(one, "what", json_string(experiments[i]->help));
        json_array_append_new(list, one);
    }
    return json_print(list, "fairlead lab list");
}

static int cmd_lab_list(int argc, char **argv)
{
    bool json = false;
    const Option options[] = {{.name = "json", .flag = &json, .help = "print JSON"}};
    const CommandLine line = {"fairlead lab list", "The experiments there are.", options, 1};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (json) {
        return print_json();
    }
    for (int32_t i = 0; i < experiment_count; i++) {
        printf("%-14s %s\n", experiments[i]->name, experiments[i]->help);
    }
    return 0;
}

static const Command commands[] = {
    {"list", "the experiments there are", cmd_lab_list},
    {"run", "run one", cmd_lab_run},
    {"figures", "the pictures of the documentation, made again", cmd_lab_figures},
    {"merge", "the result of shards that --shard has played", cmd_lab_merge},
    {"report", "a page about a run, or about several side by side", cmd_lab_report},
    {"runs", "those kept by run --db", cmd_lab_runs},
    {"verify", "the papers' claims, measured", cmd_lab_verify},
};

int cmd_lab(int argc, char **argv)
{
    return command_dispatch("fairlead lab", summary, commands, sizeof commands / sizeof *commands,
                            argc, argv);
}
