// fairlead lab runs: what `lab run --db` kept.
#include <stdio.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/options.h"
#include "app/commands/commands.h"
#include "app/lab/run_store.h"

static void print_run(void *ctx, const StoredRun *run)
{
    int64_t *count = (int64_t *)ctx;
    if ((*count)++ == 0) {
        printf("%6s  %-19s  %-12s  %-8s  %6s  %5s\n", "run", "kept (UTC)", "experiment", "version",
               "seed", "rows");
    }
    printf("%6lld  %-19s  %-12s  %-8s  %6lld  %5lld\n", (long long)run->number, run->made,
           run->experiment, run->version, (long long)run->seed, (long long)run->row_count);
}

static void add_run(void *ctx, const StoredRun *run)
{
    json_t *one = json_object();
    json_object_set_new(one, "run", json_integer(run->number));
    json_object_set_new(one, "made", json_string(run->made));
    json_object_set_new(one, "experiment", json_string(run->experiment));
    json_object_set_new(one, "version", json_string(run->version));
    json_object_set_new(one, "seed", json_integer(run->seed));
    json_object_set_new(one, "config", json_loads(run->config, 0, NULL));
    json_object_set_new(one, "rows", json_integer(run->row_count));
    json_array_append_new((json_t *)ctx, one);
}

int cmd_lab_runs(int argc, char **argv)
{
    static const char who[] = "fairlead lab runs";
    const char *path = NULL;
    bool json = false;
    const Option options[] = {
        {.value = "FILE", .text = &path, .required = true, .help = "a file of lab run --db"},
        {.name = "json", .flag = &json, .help = "print JSON"},
    };
    const CommandLine line = {who, "Runs kept in a SQLite file.", options, 2};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (json) {
        json_t *list = json_array();
        if (run_store_list(path, who, add_run, list)) {
            return json_print(list, who);
        }
        json_decref(list);
        return EXIT_FAILED;
    }
    int64_t count = 0;
    return run_store_list(path, who, print_run, &count) ? 0 : EXIT_FAILED;
}
