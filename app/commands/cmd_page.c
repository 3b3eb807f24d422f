// fairlead page: shows the session of any program that tells of it, line by line.
//
//     mygame | fairlead page
//
// A line that is a JSON object of "type" hello, settings or frame (app/page/web_session.h says what
// is in them) is news for the page. Every other line passes to standard output. The game links
// nothing, and whoever attacks the page does not reach its process. News go one way: nothing can be
// changed.
#define _GNU_SOURCE // sigaction
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/options.h"
#include "app/commands/commands.h"

static const char who[] = "fairlead page";

#if defined(APP_WEB)

#include "app/page/web_server.h"
#include "fairlead/base.h"

static const char summary[] =
    "Shows a session of your own game: `yourgame | fairlead page`. Lines of JSON that are news\n"
    "(docs/guide/page.md) go to the page, other lines to standard output. It ends with its input.";

enum { LINE_BYTES = 1 << 18, READ_BYTES = 1 << 16, READS_MAX = 16 };

/// What is read, line by line.
typedef struct Feed {
    WebServer *server;
    uint64_t news, bad;
    bool too_long; ///< The rest of this line is skipped.
    size_t count;
    char line[LINE_BYTES];
} Feed;

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

// ---------------------------------------------------------------- news

/// Lists that the page counts on; false: what stands there is none.
static bool complete_list(json_t *news, const char *key)
{
    const json_t *list = json_object_get(news, key);
    if (list == NULL) {
        json_object_set_new(news, key, json_array());
    }
    return list == NULL || json_is_array(list);
}

/// Numbers only: a page draws them.
static bool has_things(const json_t *news)
{
    const json_t *things = json_object_get(news, "things");
    size_t count = json_array_size(things);
    bool good = json_is_array(things) && count % 6 == 0;
    for (size_t i = 0; good && i < count; i++) {
        good = json_is_number(json_array_get(things, i));
    }
    return good;
}

static bool complete(json_t *news, WebTopic topic)
{
    if (topic == WEB_TOPIC_HELLO) {
        json_object_set_new(news, "demo", json_string("session"));
        json_object_set_new(news, "version", json_string(FL_VERSION));
        return complete_list(news, "policies");
    }
    return topic != WEB_TOPIC_FRAME || (json_is_number(json_object_get(news, "t")) &&
                                        has_things(news) && complete_list(news, "peers"));
}

/// True: it is news. Otherwise it is for somebody else.
static bool take_news(Feed *feed)
{
    static const char *const types[WEB_TOPIC_COUNT] = {"hello", "settings", "frame"};
    json_t *news = feed->line[0] == '{' ? json_loadb(feed->line, feed->count, 0, NULL) : NULL;
    const char *type = json_string_value(json_object_get(news, "type"));
    for (int32_t t = 0; type != NULL && t < WEB_TOPIC_COUNT; t++) {
        if (strcmp(type, types[t]) == 0) {
            bool good = complete(news, (WebTopic)t);
            feed->news += good ? 1 : 0;
            feed->bad += good ? 0 : 1;
            if (good) {
                web_publish(feed->server, (WebTopic)t, json_incref(news));
            }
            json_decref(news);
            return true;
        }
    }
    json_decref(news);
    return false;
}

static void end_line(Feed *feed)
{
    if (feed->too_long) {
        feed->bad++;
    } else if (!take_news(feed)) {
        fwrite(feed->line, 1, feed->count, stdout);
        putchar('\n');
        fflush(stdout);
    }
    feed->count = 0;
    feed->too_long = false;
}

static void take(Feed *feed, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            end_line(feed);
        } else if (feed->count == LINE_BYTES) {
            feed->too_long = true;
        } else {
            feed->line[feed->count++] = bytes[i];
        }
    }
}

static bool on_tick(void *ctx)
{
    char bytes[READ_BYTES];
    ssize_t got = 1;
    for (int32_t i = 0; i < READS_MAX && got > 0; i++) { // whoever writes must not have to wait
        got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got > 0) {
            take(ctx, bytes, (size_t)got);
        }
    }
    bool waits = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return !stopped && (got > 0 || waits);
}

static void on_command(void *ctx, const json_t *command)
{
    (void)ctx; // there is nobody to tell
    (void)command;
}

// ---------------------------------------------------------------- the command

static void prepare(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    (void)fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK);
}

static int show(Feed *feed, const WebDef *def)
{
    feed->server = web_open(def);
    if (feed->server == NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "cannot serve the page at port %u: %s",
                            (unsigned)def->port, strerror(errno));
    }
    fprintf(stderr, "the page: http://%s:%u/#%s\n",
            def->address != NULL ? def->address : "127.0.0.1", (unsigned)web_port(feed->server),
            def->token);
    prepare();
    web_serve(feed->server);
    web_close(feed->server);
    fprintf(stderr, "%s: %llu news, %llu lines that were none but looked so\n", who,
            (unsigned long long)feed->news, (unsigned long long)feed->bad);
    return 0;
}

int cmd_page(int argc, char **argv)
{
    int64_t port = 8080;
    char random[WEB_TOKEN_TEXT] = "";
    WebDef def = {.token = NULL, .command_fn = on_command, .tick_fn = on_tick};
    const Option options[] = {
        {.name = "port",
         .value = "N",
         .integer = &port,
         .max = 65535,
         .help = "of the page; 0: a free one (8080)"},
        {.name = "address",
         .value = "IPV4",
         .text = &def.address,
         .help = "listen here, 0.0.0.0: everywhere; then looking on needs\nthe token (this machine "
                 "alone)"},
        {.name = "token", .value = "TEXT", .text = &def.token, .help = "for that (a random one)"},
    };
    const CommandLine line = {who, summary, options, sizeof options / sizeof *options};
    int status = options_parse(&line, argc, argv);
    if (status != OPTIONS_GO_ON) {
        return status;
    }
    if (def.token != NULL && !web_token_good(def.token)) {
        return command_fail(EXIT_BAD_INPUT, who, "--token: %s", WEB_TOKEN_RULE);
    }
    if (def.token == NULL && !web_token_make(random)) {
        return command_fail(EXIT_FAILED, who, "no random numbers: %s", strerror(errno));
    }
    Feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    def.port = (uint16_t)port;
    def.token = def.token != NULL ? def.token : random;
    def.ctx = feed;
    status = show(feed, &def);
    free(feed);
    return status;
}

#else

int cmd_page(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return command_fail(EXIT_FAILED, who,
                        "this program was built without it: libwebsockets and npm are needed");
}

#endif
