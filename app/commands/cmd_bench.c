// fairlead bench: contenders against each other in one run.
#include <stdio.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/options.h"
#include "app/cli/progress.h"
#include "app/commands/commands.h"
#include "bench/bench.h"

static const char who[] = "fairlead bench";

static const char summary[] =
    "Times contenders against each other, in turns, in one run. Times are the processor's in the\n"
    "best round, ratios the median over rounds; on a busy machine trust the ratios. Scenes:\n"
    "  motion  distance integrals, many motions at once, trigger checks\n"
    "  link    a server that relays to all others what each client says 20 times a second, over\n"
    "          sealed links and over ENet, on loopback; packets one way; sealing\n"
    "  rollback  a timeline going back 30 ticks of a race of 16 cars, and its parts\n"
    "  attention  who looks at whom among 1000 players; a frame of the focus policies";

static const BenchScene *scene_find(const char *name)
{
    for (int32_t i = 0; i < bench_scene_count; i++) {
        if (strcmp(bench_scenes[i].name, name) == 0) {
            return &bench_scenes[i];
        }
    }
    return NULL;
}

static json_t *relay_to_json(const BenchRelayRow *row)
{
    return json_pack("{s:s,s:s,s:i,s:f,s:f,s:s,s:f,s:f,s:I,s:I,s:I}", "contest", row->contest,
                     "name", row->name, "clients", row->clients, "us", row->us, "ratio", row->ratio,
                     "against", row->against, "wire_bytes", row->wire_bytes, "message_bytes",
                     row->bytes, "delivered", (json_int_t)row->delivered, "lost",
                     (json_int_t)row->lost, "corrupt", (json_int_t)row->corrupt);
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
    json_t *relay = json_array();
    for (int32_t i = 0; i < report->relay_count; i++) {
        json_array_append_new(relay, relay_to_json(&report->relay[i]));
    }
    json_t *all = json_pack("{s:s,s:o}", "bench", scene, "rows", rows);
    if (report->relay_count > 0) {
        json_object_set_new(all, "relay", relay);
    } else {
        json_decref(relay);
    }
    if (report->note != NULL) {
        json_object_set_new(all, "note", json_string(report->note));
    }
    return all;
}

static void print_relay(const BenchReport *report)
{
    const char *contest = "";
    for (int32_t i = 0; i < report->relay_count; i++) {
        const BenchRelayRow *row = &report->relay[i];
        if (strcmp(contest, row->contest) != 0) {
            contest = row->contest;
            printf("relay of %-23s %7s %10s %6s %10s %12s %8s %8s\n", contest, "clients", "us each",
                   "ratio", "wire bytes", "delivered", "lost", "corrupt");
        }
        char name[64];
        snprintf(name, sizeof name, "%s, %.1f bytes", row->name, row->bytes);
        printf("  %-30s %7d %10.3f %6.2f %10.2f %12llu %8llu %8llu\n", name, (int)row->clients,
               row->us, row->ratio, row->wire_bytes, (unsigned long long)row->delivered,
               (unsigned long long)row->lost, (unsigned long long)row->corrupt);
    }
    if (report->note != NULL) {
        printf("%s\n", report->note);
    }
    if (report->relay_count > 0) {
        printf("\n");
    }
}

static void print_table(const BenchReport *report)
{
    print_relay(report);
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

static bool take_clients(const NumberList *list, BenchSettings *settings)
{
    int32_t capacity = (int32_t)(sizeof settings->clients / sizeof settings->clients[0]);
    if (list->count > capacity) {
        return false;
    }
    settings->clients_count = list->count;
    for (int32_t i = 0; i < list->count; i++) {
        settings->clients[i] = (int32_t)list->values[i];
        if (settings->clients[i] != list->values[i]) {
            return false;
        }
    }
    return true;
}

static void show_progress(void *ctx, int32_t done, int32_t of)
{
    progress_step((Progress *)ctx, done, of);
}

int cmd_bench(int argc, char **argv)
{
    const char *name = NULL;
    bool json = false;
    BenchSettings settings = bench_settings_default();
    NumberList clients = {.values = {16, 32, 64, 128}, .count = 4};
    int64_t rounds = settings.rounds;
    const Option options[] = {
        {.value = "SCENE",
         .help = "which contest to hold: motion, link, rollback, attention",
         .text = &name,
         .required = true},
        {.name = "clients",
         .value = "N[,N...]",
         .help = "link: how many clients (default: 16,32,64,128)",
         .numbers = &clients,
         .min = 2,
         .max = 128},
        {.name = "seconds",
         .value = "S",
         .help = "link: how long each relay is measured (default: 1)",
         .number = &settings.seconds,
         .min = 0.1,
         .max = 60},
        {.name = "rounds",
         .value = "N",
         .help = "link: how often the contenders take turns (default: 3)",
         .integer = &rounds,
         .min = 1,
         .max = BENCH_ROUNDS},
        {.name = "json", .help = "print JSON", .flag = &json},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    const BenchScene *scene = scene_find(name);
    if (scene == NULL) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "no scene '%s'; there are: motion, link, rollback, attention", name);
    }
    if (!take_clients(&clients, &settings)) {
        return command_fail(EXIT_BAD_INPUT, who, "--clients takes up to 8 whole numbers");
    }
    settings.rounds = (int32_t)rounds;
    static BenchReport report; // large
    Progress progress;
    progress_begin(&progress, "relaying");
    settings.progress_fn = show_progress;
    settings.progress_ctx = &progress;
    const char *problem = scene->run(&settings, &report);
    progress_end(&progress);
    if (problem != NULL) {
        return command_fail(EXIT_FAILED, who, "%s", problem);
    }
    if (json) {
        return json_print(to_json(name, &report), who);
    }
    print_table(&report);
    return 0;
}
