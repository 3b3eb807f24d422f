// fairlead demo: a live match on real sockets with far-away players, and a page to watch it.
#define _GNU_SOURCE // sigaction
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/commands/commands.h"
#include "app/play/play_options.h"

static const char who[] = "fairlead demo";

#if defined(APP_WEB)

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/demo/demo.h"
#include "app/page/web_server.h"
#include "fairlead/net.h"

static const char summary[] =
    "Plays live: processes with real sockets, far from each other by an emulated network, and a\n"
    "page on this machine that shows what each of them sees. The argument is the game.\n"
    "Ctrl-C ends everything. Who has the address without what follows the # can only look on.";

enum { KINDS = 3 };

static const DemoKind *const kinds[KINDS] = {&demo_tanks, &demo_racing, &demo_arena};

typedef struct Choices {
    const char *game, *policy, *scheme, *topology, *token, *record;
    int64_t port, players, seed;
    int64_t actor; ///< Replaying: which of the processes; -1: it is played.
    double seconds;
    bool no_browser;
} Choices;

/// One run of it.
typedef struct Show {
    const DemoKind *kind;
    Demo *demo;
    WebServer *server;
    FlTime end;
    bool failed; ///< A process ended.
} Show;

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static int parse(Choices *c, int argc, char **argv)
{
    const Option options[] = {
        {.value = "GAME", .text = &c->game, .help = "tanks, racing or arena (tanks)"},
        {.name = "port",
         .value = "N",
         .integer = &c->port,
         .max = 65535,
         .help = "of the page; 0: a free one (8080)"},
        {.name = "no-browser", .flag = &c->no_browser, .help = "do not open one"},
        {.name = "players",
         .value = "N",
         .integer = &c->players,
         .min = 1,
         .max = 32,
         .help = "so many: tanks (8), arena (16)"},
        {.name = "policy",
         .value = "NAME",
         .text = &c->policy,
         .help = "tanks: who gets which update when, to begin with (base)"},
        {.name = "scheme",
         .value = "NAME",
         .text = &c->scheme,
         .help =
             "to begin with; racing: how cars are shown (nc); arena: hibw,\nlobw, donny or ours"},
        {.name = "topology",
         .value = "NAME",
         .text = &c->topology,
         .help = "arena: mesh, all talk to all, or crowd, all pass on (mesh)"},
        {.name = "seed",
         .value = "S",
         .integer = &c->seed,
         .max = 9007199254740992.0,
         .help = "of the map, the bots and the network (1)"},
        {.name = "token",
         .value = "TEXT",
         .text = &c->token,
         .help = "who shows it may change things (a random one)"},
        {.name = "seconds",
         .value = "T",
         .number = &c->seconds,
         .min = 0.01,
         .max = 1e8,
         .help = "end after so long (never)"},
        {.name = "record",
         .value = "FILE",
         .text = &c->record,
         .help = "each process for `fairlead replay`: FILE.0, FILE.1, ..."},
        {.name = "actor", .value = "N", .integer = &c->actor, .max = DEMO_ACTORS_MAX - 1},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    return options_parse(&line, argc, argv);
}

static const DemoKind *kind_of(const char *name)
{
    for (int32_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

// ---------------------------------------------------------------- what the server asks

static void on_command(void *ctx, const json_t *command)
{
    Show *show = ctx;
    if (demo_command(show->demo, command, fl_net_now())) {
        web_publish(show->server, WEB_TOPIC_SETTINGS, show->kind->settings(show->demo));
    }
}

static bool on_tick(void *ctx)
{
    Show *show = ctx;
    FlTime now = fl_net_now();
    json_t *frame = demo_frame(show->demo, now);
    if (frame != NULL) {
        web_publish(show->server, WEB_TOPIC_FRAME, frame);
    }
    show->failed = !stopped && !demo_alive(show->demo);
    return !stopped && !show->failed && now < show->end;
}

// ---------------------------------------------------------------- a browser

static bool has_program(const char *name)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        char file[512];
        size_t length = strcspn(path, ":");
        int count = snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name);
        if (count > 0 && count < (int)sizeof file && access(file, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return false;
}

/// In a process of its own, whose end nobody has to await. False: there is none to open.
static bool open_browser(const char *address)
{
    static const char opener[] = "xdg-open";
    if ((getenv("DISPLAY") == NULL && getenv("WAYLAND_DISPLAY") == NULL) || !has_program(opener)) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);
        if (fork() != 0) {
            _exit(0);
        }
        setsid();
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execlp(opener, opener, address, (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, NULL, 0) == child;
}

// ---------------------------------------------------------------- the command

static void prepare(void)
{
    struct sigaction action = {.sa_handler = on_signal}; // no SA_RESTART: a wait must end
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

static void say(const Choices *c, const Show *show, const char *token)
{
    char address[160];
    snprintf(address, sizeof address, "http://127.0.0.1:%u/#%s", (unsigned)web_port(show->server),
             token);
    printf("%s: %s.\nThe page: %s\n", show->kind->name, show->kind->help, address);
    if (!c->no_browser) {
        puts(open_browser(address)
                 ? "A browser was asked to open it."
                 : "There is no browser to open here: open the address yourself.");
    }
    puts("Ctrl-C ends it.");
    fflush(stdout);
}

static int serve(const Choices *c, Show *show, const char *token)
{
    WebDef def = {.port = (uint16_t)c->port,
                  .token = token,
                  .ctx = show,
                  .command_fn = on_command,
                  .tick_fn = on_tick};
    show->server = web_open(&def);
    if (show->server == NULL) {
        return errno == EADDRINUSE
                   ? command_fail(EXIT_BAD_INPUT, who,
                                  "port %d is in use; choose another one with --port", (int)c->port)
                   : command_fail(EXIT_FAILED, who, "cannot serve the page at port %d: %s",
                                  (int)c->port, strerror(errno));
    }
    web_publish(show->server, WEB_TOPIC_HELLO, show->kind->hello(show->demo));
    web_publish(show->server, WEB_TOPIC_SETTINGS, show->kind->settings(show->demo));
    say(c, show, token);
    web_serve(show->server);
    web_close(show->server);
    return show->failed ? command_fail(EXIT_FAILED, who, "a process of the demo has ended") : 0;
}

static int check(const Choices *c, const DemoKind *kind)
{
    if (kind == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "no such game: %s; try --help", c->game);
    }
    if (c->players > kind->players_max || (c->players > 0 && c->players < kind->players_min)) {
        return command_fail(EXIT_BAD_INPUT, who, "--players: %d to %d in this game",
                            (int)kind->players_min, (int)kind->players_max);
    }
    if (c->policy != NULL && !kind->has_policy) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--policy: %s has none; choose what is shown or told by --scheme",
                            kind->name);
    }
    if (c->scheme != NULL && !kind->has_scheme) {
        return command_fail(EXIT_BAD_INPUT, who,
                            "--scheme: %s has none; choose who gets which update by --policy",
                            kind->name);
    }
    if (c->topology != NULL && !kind->has_topology) {
        return command_fail(EXIT_BAD_INPUT, who, "--topology: %s has but one", kind->name);
    }
    if (c->token != NULL && !web_token_good(c->token)) {
        return command_fail(EXIT_BAD_INPUT, who, "--token: %s", WEB_TOKEN_RULE);
    }
    return OPTIONS_GO_ON;
}

static int play(const Choices *c, const DemoDef *def, const DemoKind *kind)
{
    Show show = {.kind = kind, .end = FL_FOREVER};
    char random[WEB_TOKEN_TEXT] = "";
    if (c->token == NULL && !web_token_make(random)) {
        return command_fail(EXIT_FAILED, who, "no random numbers: %s", strerror(errno));
    }
    if (c->seconds > 0.0) {
        show.end = fl_net_now() + fl_span_from_seconds(c->seconds);
    }
    prepare();
    int status = demo_open(kind, def, &show.demo);
    if (status == OPTIONS_GO_ON) {
        status = serve(c, &show, c->token != NULL ? c->token : random);
        demo_close(show.demo);
    }
    return status;
}

int play_demo_again(PlayTape *tape, int argc, char **argv)
{
    Choices c = {.game = "tanks", .port = 8080, .seed = 1, .actor = -1};
    int status = parse(&c, argc, argv);
    const DemoKind *kind = status == OPTIONS_GO_ON ? kind_of(c.game) : NULL;
    status = status == OPTIONS_GO_ON ? check(&c, kind) : status;
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    FL_ASSERT(kind != NULL);
    DemoDef def = {.who = who,
                   .players = (int32_t)c.players,
                   .policy = c.policy,
                   .scheme = c.scheme,
                   .topology = c.topology,
                   .seed = (uint64_t)c.seed};
    if (tape != NULL) {
        DemoActor actor = {.number = (int32_t)c.actor, .orders = -1, .tape = tape};
        return c.actor >= 0 ? demo_again(kind, &def, &actor)
                            : command_fail(EXIT_BAD_INPUT, who, "this is no process of a demo");
    }
    def.record = (DemoRecord){who, c.record, argc, argv};
    return play(&c, &def, kind);
}

#else

int play_demo_again(PlayTape *tape, int argc, char **argv)
{
    (void)tape;
    (void)argc;
    (void)argv;
    return command_fail(EXIT_FAILED, who,
                        "this program was built without it: libwebsockets and npm are needed");
}

#endif

int cmd_demo(int argc, char **argv)
{
    return play_demo_again(NULL, argc, argv);
}
