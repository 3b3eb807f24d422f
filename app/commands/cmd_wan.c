// fairlead wan: a bad network in front of any UDP game.
//
// Listens where the game's clients connect to, and gives each of them a socket of its own to the
// server. Both directions pass the network model of the lab (module `impair`), in real time.
#define _GNU_SOURCE // sigaction, isatty, prctl
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/commands/commands.h"
#include "app/wan/wan_proxy.h"
#include "app/wan/wan_report.h"
#include "impair/impair.h"

static const char who[] = "fairlead wan";

static const char summary[] =
    "A proxy that puts a wide-area network between the players and the server of any UDP game.\n"
    "Let clients connect to --listen instead of the server. What is set holds each way, for each\n"
    "client; --up-NAME and --down-NAME set one way only (up: client to server). Ctrl-C ends it\n"
    "with a summary. docs/guide/impair.md defines every setting.";

// ---------------------------------------------------------------- settings

typedef struct SettingOption {
    const char *word; ///< As in schedules.
    const char *value;
    const char *help;
} SettingOption;

static const SettingOption setting_options[] = {
    {"delay", "MS", "mean delay (0)"},
    {"jitter", "MS", "its standard deviation; the half-width for uniform (0)"},
    {"distribution", "NAME", "constant, uniform, normal, pareto or paretonormal (normal)"},
    {"correlation", "X", "of delays one lag apart, below 1 (0: each packet for itself)"},
    {"correlation-lag", "MS", "that lag (20)"},
    {"loss", "PERCENT", "lost, each packet by itself (0)"},
    {"burst-gap", "MS", "mean good time between loss bursts (0: none)"},
    {"burst-length", "MS", "mean length of a burst (50)"},
    {"burst-loss", "PERCENT", "lost in a burst (100)"},
    {"duplicate", "PERCENT", "arriving twice (0)"},
    {"rate", "KBPS", "limit in kbit/s, headers counted (0: none)"},
    {"queue", "MS", "longest wait at that limit, what would wait longer is dropped (200)"},
    {"extra", "BYTES", "headers counted with each packet (28)"},
};

#define SETTING_COUNT (sizeof setting_options / sizeof *setting_options)

// Both ways, up, down.
#define WAY_COUNT 3
static const char *const way_prefix[WAY_COUNT] = {"", "up-", "down-"};

typedef struct Choices {
    const char *listen;
    const char *server;
    const char *schedule;
    const char *settings[WAY_COUNT][SETTING_COUNT];
    bool keep_order[WAY_COUNT];
    int64_t seed;
    int64_t clients;
    int64_t in_flight;
    double idle;
    double duration;
    bool json;
} Choices;

#define NAME_BYTES 32
#define OTHER_OPTION_COUNT 12
#define OPTION_COUNT (WAY_COUNT * (SETTING_COUNT + 1) + OTHER_OPTION_COUNT)

// The option table: named settings for both ways and each way, then the rest. Only those for both
// ways are in the help.
typedef struct OptionTable {
    char names[WAY_COUNT][SETTING_COUNT + 1][NAME_BYTES];
    Option options[OPTION_COUNT];
    size_t count;
} OptionTable;

static void add(OptionTable *table, Option option)
{
    table->options[table->count++] = option;
}

static void add_settings(OptionTable *table, Choices *choices, int32_t way)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const SettingOption *setting = &setting_options[i];
        char *name = table->names[way][i];
        snprintf(name, NAME_BYTES, "%s%s", way_prefix[way], setting->word);
        add(table, (Option){.name = name,
                            .value = setting->value,
                            .text = &choices->settings[way][i],
                            .help = way == 0 ? setting->help : NULL});
    }
    char *name = table->names[way][SETTING_COUNT];
    snprintf(name, NAME_BYTES, "%skeep-order", way_prefix[way]);
    add(table, (Option){.name = name,
                        .flag = &choices->keep_order[way],
                        .help = way == 0 ? "no packet overtakes an earlier one" : NULL});
}

static void make_options(OptionTable *table, Choices *c)
{
    table->count = 0;
    add(table, (Option){.name = "listen",
                        .value = "HOST:PORT",
                        .text = &c->listen,
                        .help = "where clients connect to; port 0: any free one. Needed"});
    add(table,
        (Option){
            .name = "to", .value = "HOST:PORT", .text = &c->server, .help = "the server. Needed"});
    for (int32_t way = 0; way < WAY_COUNT; way++) {
        add_settings(table, c, way);
    }
    add(table, (Option){.name = "schedule",
                        .value = "FILE",
                        .text = &c->schedule,
                        .help = "changes over time: lines such as\nat 12.5 up delay 200 loss 5"});
    add(table, (Option){.name = "seed",
                        .value = "N",
                        .integer = &c->seed,
                        .max = 9007199254740992.0,
                        .help = "the same seed loses the same packets of a client (1)"});
    add(table, (Option){.name = "clients",
                        .value = "N",
                        .integer = &c->clients,
                        .min = 1,
                        .max = WAN_CLIENT_CAPACITY,
                        .help = "at most so many (64)"});
    add(table, (Option){.name = "in-flight",
                        .value = "N",
                        .integer = &c->in_flight,
                        .min = 1,
                        .max = 10000000,
                        .help = "packets under way at most, 2 KiB each (65536)"});
    add(table, (Option){.name = "idle",
                        .value = "S",
                        .number = &c->idle,
                        .min = 0.1,
                        .max = 1e6,
                        .help = "forget a client after so long a silence (60)"});
    add(table, (Option){.name = "duration",
                        .value = "S",
                        .number = &c->duration,
                        .min = 0.01,
                        .max = 1e8,
                        .help = "end after so long (never)"});
    add(table, (Option){.name = "json", .flag = &c->json, .help = "print JSON"});
}

// "--up-delay: reason", as one line.
static int refuse_setting(int32_t way, const char *word, const FlImpairError *error)
{
    return command_fail(EXIT_BAD_INPUT, who, "--%s%s: %s", way_prefix[way], word, error->text);
}

// Puts the choices for `way` into both directions or one.
static int apply_way(const Choices *choices, int32_t way, FlImpairSettings settings[2])
{
    for (int32_t direction = WAN_UP; direction <= WAN_DOWN; direction++) {
        if (way != 0 && way != direction + 1) {
            continue;
        }
        for (size_t i = 0; i < SETTING_COUNT; i++) {
            FlImpairError error = {0, ""};
            const char *word = setting_options[i].word;
            const char *value = choices->settings[way][i];
            if (value != NULL &&
                fl__impair_settings_set(&settings[direction], word, value, &error) != FL_OK) {
                return refuse_setting(way, word, &error);
            }
        }
        settings[direction].keep_order |= choices->keep_order[way];
    }
    return OPTIONS_GO_ON;
}

static int make_settings(const Choices *choices, FlImpairSettings settings[2])
{
    settings[WAN_UP] = fl_impair_def_default().settings;
    settings[WAN_DOWN] = fl_impair_def_default().settings;
    for (int32_t way = 0; way < WAY_COUNT; way++) {
        int status = apply_way(choices, way, settings);
        if (status != OPTIONS_GO_ON) {
            return status;
        }
    }
    for (int32_t direction = WAN_UP; direction <= WAN_DOWN; direction++) {
        FlImpairError error;
        if (fl__impair_settings_check(&settings[direction], &error) != FL_OK) {
            return command_fail(EXIT_BAD_INPUT, who, "%s", error.text);
        }
    }
    return OPTIONS_GO_ON;
}

// ---------------------------------------------------------------- the schedule's file

#define SCHEDULE_BYTES (1 << 20)
#define CHANGE_CAPACITY 10000

// The whole file, at most SCHEDULE_BYTES. NULL: the reason has been printed and is in *status.
static char *read_file(const char *path, size_t *bytes, int *status)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        *status = command_fail(EXIT_BAD_INPUT, who, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = malloc(SCHEDULE_BYTES);
    *bytes = text != NULL ? fread(text, 1, SCHEDULE_BYTES, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (text == NULL) {
        *status = command_fail(EXIT_FAILED, who, "out of memory");
        return NULL;
    }
    if (failed || *bytes == SCHEDULE_BYTES) {
        *status = command_fail(EXIT_BAD_INPUT, who, "%s: %s", path,
                               failed ? "cannot be read" : "larger than a schedule may be (1 MiB)");
        free(text);
        return NULL;
    }
    return text;
}

// Runs the schedule once for every pair it names, before anybody waits for its last line.
static int check_schedule(const char *path, const WanNetwork *network)
{
    for (int32_t i = -1; i < network->change_count; i++) {
        int32_t pair = i < 0 ? -1 : network->changes[i].pair;
        for (int32_t way = WAN_UP; way <= WAN_DOWN && (i < 0 || pair >= 0); way++) {
            FlImpairSettings settings = network->settings[way];
            FlImpairError error;
            if (fl__impair_schedule_apply(network->changes, network->change_count, -1, FL_FOREVER,
                                          pair, wan_direction((WanWay)way), &settings,
                                          &error) != FL_OK) {
                return command_fail(EXIT_BAD_INPUT, who, "%s:%d: %s", path, error.line, error.text);
            }
        }
    }
    return OPTIONS_GO_ON;
}

// Reads the schedule into `network`; the changes are malloc's, and the caller's to free.
static int load_schedule(const char *path, WanNetwork *network, FlImpairChange **out)
{
    int status = OPTIONS_GO_ON;
    size_t bytes = 0;
    char *text = read_file(path, &bytes, &status);
    if (text == NULL) {
        return status;
    }
    FlImpairChange *changes = malloc(CHANGE_CAPACITY * sizeof *changes);
    if (changes == NULL) {
        free(text);
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    FlImpairError error = {0, ""};
    network->changes = changes;
    *out = changes;
    if (fl__impair_schedule_parse(text, bytes, changes, CHANGE_CAPACITY, &network->change_count,
                                  &error) != FL_OK) {
        status = command_fail(EXIT_BAD_INPUT, who, "%s:%d: %s", path, error.line, error.text);
    }
    free(text);
    return status == OPTIONS_GO_ON ? check_schedule(path, network) : status;
}

// ---------------------------------------------------------------- addresses

static int resolve(const char *option, const char *text, FlAddress *out)
{
    if (text == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--%s HOST:PORT is needed; try --help", option);
    }
    FlResult result = fl_address_resolve(text, FL_FAMILY_NONE, out);
    if (result == FL_BAD_VALUE) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--%s: '%s' is not HOST:PORT, such as 127.0.0.1:4000 or [::1]:4000",
                            option, text);
    }
    if (result != FL_OK) {
        return command_fail(EXIT_BAD_INPUT, who, "--%s: there is no host '%s'", option, text);
    }
    return OPTIONS_GO_ON;
}

static int resolve_both(const Choices *choices, WanProxyDef *def)
{
    int status = resolve("listen", choices->listen, &def->listen);
    if (status == OPTIONS_GO_ON) {
        status = resolve("to", choices->server, &def->network.server);
    }
    if (status == OPTIONS_GO_ON && def->network.server.port == 0) {
        status = command_fail(EXIT_BAD_INPUT, who, "--to: port 0 is nobody's");
    }
    if (status == OPTIONS_GO_ON && fl_address_equal(def->listen, def->network.server)) {
        status = command_fail(EXIT_BAD_INPUT, who,
                              "--listen and --to are the same: packets would go "
                              "in circles");
    }
    return status;
}

// ---------------------------------------------------------------- running

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void set_up_process(void)
{
    struct sigaction action = {.sa_handler = on_signal}; // no SA_RESTART: a wait must end
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL,
          0UL); // wake within 1 us of the deadline, not within 50
#endif
}

static void announce(const WanProxyDef *def, FlAddress listen, bool json)
{
    char listen_text[FL_ADDRESS_TEXT_BYTES];
    char server_text[FL_ADDRESS_TEXT_BYTES];
    fl_address_format(listen, listen_text);
    fl_address_format(def->network.server, server_text);
    printf(json ? "{\"listening\": \"%s\", \"to\": \"%s\"}\n"
                : "listening on %s, forwarding to %s\n",
           listen_text, server_text);
    fflush(stdout);
}

static void run(WanProxy *proxy, FlTime end)
{
    bool live = isatty(STDERR_FILENO) == 1;
    WanStats before;
    WanStats stats;
    wan_proxy_stats(proxy, &before);
    FlTime next_second = FL_SEC(1);
    for (FlTime now = 0; now < end && !stopped; now = wan_proxy_time(proxy)) {
        if (now >= next_second) {
            next_second += FL_SEC(1);
            wan_proxy_tidy(proxy);
            if (live) {
                wan_proxy_stats(proxy, &stats);
                wan_report_status(now, &before, &stats);
                before = stats;
            }
        }
        FlTime deadline = next_second < end ? next_second : end;
        wan_proxy_step(proxy, deadline);
    }
    if (live) {
        wan_report_status_end();
    }
}

static int open_and_run(const WanProxyDef *def, const Choices *choices)
{
    WanProxy *proxy = NULL;
    FlResult result = wan_proxy_create(def, &proxy);
    if (result == FL_SYSTEM) {
        return command_fail(EXIT_FAILED, who, "%s: %s", choices->listen, strerror(errno));
    }
    if (result != FL_OK) {
        return command_fail(EXIT_FAILED, who, "%s: %s", choices->listen, fl_result_text(result));
    }
    set_up_process();
    FlAddress listen = wan_proxy_address(proxy);
    announce(def, listen, choices->json);
    FlTime end = choices->duration > 0.0 ? fl_span_from_seconds(choices->duration) : FL_FOREVER;
    run(proxy, end);
    WanStats stats;
    wan_proxy_stats(proxy, &stats);
    int status = 0;
    if (choices->json) {
        status = wan_report_json(who, def, listen, wan_proxy_time(proxy), &stats);
    } else {
        wan_report_text(wan_proxy_time(proxy), &stats);
    }
    wan_proxy_destroy(proxy);
    return status;
}

int cmd_wan(int argc, char **argv)
{
    Choices choices = {.seed = 1, .clients = 64, .in_flight = 65536, .idle = 60.0};
    OptionTable table;
    make_options(&table, &choices);
    const CommandLine line = {who, summary, table.options, table.count};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FlImpairChange *changes = NULL;
    WanProxyDef def = {
        .network = {.seed = (uint64_t)choices.seed},
        .client_capacity = (int32_t)choices.clients,
        .flight_capacity = (int32_t)choices.in_flight,
        .idle_ns = fl_span_from_seconds(choices.idle),
    };
    status = make_settings(&choices, def.network.settings);
    if (status == OPTIONS_GO_ON) {
        status = resolve_both(&choices, &def);
    }
    if (status == OPTIONS_GO_ON && choices.schedule != NULL) {
        status = load_schedule(choices.schedule, &def.network, &changes);
    }
    if (status == OPTIONS_GO_ON) {
        status = open_and_run(&def, &choices);
    }
    free(changes);
    return status;
}
