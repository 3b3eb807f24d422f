// News of a node for the page, and back.
#define _GNU_SOURCE
#include "app/play/play_web.h"

#include "app/cli/command.h"
#include "app/cli/options.h"

#if defined(APP_WEB)

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/page/web_choices.h"
#include "app/page/web_server.h"
#include "app/page/web_session.h"

#include "fairlead/net.h"

#define SERVE_APART FL_MS(4) // however many datagrams come in between
#define FRAME_EVERY FL_MS(33)
#define PEERS_EVERY FL_MS(250)
#define IDLE_EVERY FL_MS(50) // until somebody comes

struct PlayWeb {
    WebServer *server;
    bool told;                       ///< Hello was.
    char policy[FL_SEND_TEXT_BYTES]; ///< As told last; "": to be told.
    json_t *refused;                 ///< A policy that was asked for, and is none; NULL: none was.
    FlTime next_serve, next_frame, next_peers;
    json_t *peers;
    char words[PLAY_WEB_WORDS]; ///< A policy that was asked for; "": none.
    char random[WEB_TOKEN_TEXT];
    char digits[FL_ADDRESS_TEXT_BYTES];
    char address[FL_ADDRESS_TEXT_BYTES + 128];
};

// ---------------------------------------------------------------- making

static void on_command(void *ctx, const json_t *command)
{
    PlayWeb *web = ctx;
    const json_t *settings = json_object_get(command, "set");
    const char *policy = json_string_value(json_object_get(settings, "policy"));
    FlSend send;
    bool known = policy != NULL && strlen(policy) < sizeof web->words &&
                 fl_send_parse(policy, &send) == FL_OK;
    if (known) {
        memcpy(web->words, policy, strlen(policy) + 1); // the newest counts
    }
    web_choices_refuse(&web->refused, json_object_get(settings, "policy"), known);
    web->policy[0] = '\0'; // said again, with what was refused
}

/// In digits, for the system; false: there is no such address.
static bool find_address(const char *text, char out[FL_ADDRESS_TEXT_BYTES])
{
    char full[300];
    FlAddress address;
    int count = snprintf(full, sizeof full, "%s:1", text);
    if (count < 0 || count >= (int)sizeof full ||
        fl_address_resolve(full, FL_FAMILY_IPV4, &address) != FL_OK) {
        return false;
    }
    snprintf(out, FL_ADDRESS_TEXT_BYTES, "%u.%u.%u.%u", address.ip[0], address.ip[1], address.ip[2],
             address.ip[3]);
    return true;
}

static int open_server(const char *who, const PlayWebDef *def, PlayWeb *web)
{
    const char *token = def->token != NULL ? def->token : web->random;
    if (!web_token_good(token) && def->token != NULL) {
        return command_fail(EXIT_BAD_INPUT, who, "--web-token: %s", WEB_TOKEN_RULE);
    }
    if (def->token == NULL && !web_token_make(web->random)) {
        return command_fail(EXIT_FAILED, who, "no random numbers: %s", strerror(errno));
    }
    if (def->address != NULL && !find_address(def->address, web->digits)) {
        return command_fail(EXIT_BAD_INPUT, who, "--web-address: there is no address '%s' here",
                            def->address);
    }
    WebDef server = {.port = (uint16_t)def->port,
                     .address = def->address != NULL ? web->digits : NULL,
                     .name = def->address,
                     .token = token,
                     .ctx = web,
                     .command_fn = on_command};
    web->server = web_open(&server);
    if (web->server == NULL) {
        bool ours = errno == EADDRINUSE || errno == EADDRNOTAVAIL || errno == EACCES;
        return command_fail(ours ? EXIT_BAD_INPUT : EXIT_FAILED, who,
                            "cannot serve the page at port %d: %s; choose another one with "
                            "--web PORT, or another --web-address",
                            (int)def->port, strerror(errno));
    }
    const char *name = def->address != NULL ? def->address : "127.0.0.1";
    snprintf(web->address, sizeof web->address, "http://%.100s:%u/#%.100s", name,
             (unsigned)web_port(web->server), token);
    return OPTIONS_GO_ON;
}

int play_web_open(const char *who, const PlayWebDef *def, const PlayTape *tape, PlayWeb **web)
{
    *web = NULL;
    if (!def->wanted || play_tape_replays(tape)) {
        return OPTIONS_GO_ON;
    }
    PlayWeb *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return command_fail(EXIT_FAILED, who, "out of memory");
    }
    int status = open_server(who, def, made);
    if (status != OPTIONS_GO_ON) {
        free(made);
        return status;
    }
    *web = made;
    return OPTIONS_GO_ON;
}

void play_web_close(PlayWeb *web)
{
    if (web != NULL) {
        web_close(web->server);
        json_decref(web->peers);
        json_decref(web->refused);
        free(web);
    }
}

const char *play_web_address(const PlayWeb *web)
{
    return web != NULL ? web->address : "";
}

json_t *play_web_json(const PlayWeb *web)
{
    return web != NULL ? web_counts_json(web->server) : NULL;
}

int32_t play_web_take(PlayWeb *web, char words[PLAY_WEB_WORDS])
{
    size_t length = web != NULL ? strlen(web->words) : 0;
    if (length > 0) {
        memcpy(words, web->words, length + 1);
        web->words[0] = '\0';
    }
    return (int32_t)length;
}

// ---------------------------------------------------------------- news

static void tell_hello(PlayWeb *web, const PlayNode *node)
{
    const PlayGame *game = node->game;
    json_t *map = game->page_map != NULL ? game->page_map(node) : NULL;
    json_t *hello =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:o}", "type", "hello", "demo", "session", "version",
                  FL_VERSION, "game", game->name, "thing", game->thing, "policies",
                  node->own_count > 0 ? web_choices_policies() : json_array());
    if (map != NULL) {
        json_object_set_new(hello, "map", map);
    }
    web_publish(web->server, WEB_TOPIC_HELLO, hello);
    web->told = map != NULL || game->page_map == NULL; // a guest learns its course later
}

static void tell_settings(PlayWeb *web, const PlayNode *node)
{
    char policy[FL_SEND_TEXT_BYTES];
    fl_send_text(&node->policy, policy);
    if (strcmp(policy, web->policy) == 0) {
        return;
    }
    memcpy(web->policy, policy, sizeof policy);
    web_publish(
        web->server, WEB_TOPIC_SETTINGS,
        json_pack("{s:s,s:s,s:O?}", "type", "settings", "policy", policy, "refused", web->refused));
}

static int32_t state_of(const void *ctx, uint32_t number)
{
    const PlayNode *node = ctx;
    return node->game->page_state(node, number);
}

static uint64_t refusals(const PlayWeb *web)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < WEB_COUNTS; i++) {
        sum += web_count(web->server, (WebCount)i);
    }
    return sum;
}

static void tell_frame(PlayWeb *web, const PlayNode *node, FlTime now)
{
    FlSession *session = node->session;
    if (now >= web->next_peers || web->peers == NULL) {
        web->next_peers = now + PEERS_EVERY;
        json_decref(web->peers);
        web->peers = web_session_peers(session, now);
    }
    FlPeerStatus self = {.number = -1};
    (void)(fl_peer_status(session, fl_peer_self(session), &self) == FL_OK); // not in yet: -1
    FlTime error = fl_session_time_error(session);
    WebStateFn state_fn = node->game->page_state != NULL ? state_of : NULL;
    json_t *frame =
        json_pack("{s:s,s:I,s:i,s:o,s:O,s:o,s:i,s:I}", "type", "frame", "t",
                  (json_int_t)(fl_session_time(session, now) / FL_MS(1)), "self", self.number,
                  "things", web_session_things(session, now, state_fn, node), "peers", web->peers,
                  "clock_ms", error == FL_FOREVER ? json_null() : json_real((double)error / 1e6),
                  "viewers", (int)web_clients(web->server), "refused", (json_int_t)refusals(web));
    if (node->game->page_dots != NULL) {
        json_object_set_new(frame, "dots", node->game->page_dots(node, now));
    }
    web_publish(web->server, WEB_TOPIC_FRAME, frame);
}

static void tell(PlayWeb *web, const PlayNode *node, FlTime now)
{
    if (!web->told) {
        tell_hello(web, node);
    }
    tell_settings(web, node);
    tell_frame(web, node, now);
}

FlTime play_web_step(PlayWeb *web, const PlayNode *node, FlTime now)
{
    if (web == NULL) {
        return FL_FOREVER;
    }
    if (now < web->next_serve) {
        return web->next_serve;
    }
    bool looked_at = web_clients(web->server) > 0;
    if (looked_at && now >= web->next_frame && node->joined) {
        web->next_frame = now + FRAME_EVERY;
        tell(web, node, now);
    }
    web_step(web->server);
    web->next_serve = now + SERVE_APART;
    return now + (looked_at ? FRAME_EVERY / 2 : IDLE_EVERY);
}

#else

int play_web_open(const char *who, const PlayWebDef *def, const PlayTape *tape, PlayWeb **web)
{
    *web = NULL;
    return !def->wanted || play_tape_replays(tape)
               ? OPTIONS_GO_ON
               : command_fail(EXIT_FAILED, who,
                              "this program was built without pages: libwebsockets and npm are "
                              "needed");
}

void play_web_close(PlayWeb *web)
{
    (void)web;
}

const char *play_web_address(const PlayWeb *web)
{
    (void)web;
    return "";
}

FlTime play_web_step(PlayWeb *web, const PlayNode *node, FlTime now)
{
    (void)web;
    (void)node;
    (void)now;
    return FL_FOREVER;
}

int32_t play_web_take(PlayWeb *web, char words[PLAY_WEB_WORDS])
{
    (void)web;
    (void)words;
    return 0;
}

json_t *play_web_json(const PlayWeb *web)
{
    (void)web;
    return NULL;
}

#endif
