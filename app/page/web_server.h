// The page's server: the embedded files over HTTP, live news over a WebSocket.
//
// News are *topics*, each with a newest text. A client gets the newest of every topic when it
// connects, and again whenever there is a newer one and its connection is ready for it: a slow
// client skips what it could not take, and nobody waits for it.
//
// Everybody on this machine may look on; from elsewhere (`address`) only who shows the token. Who
// shows it may also send commands. Only browsers that came by this machine's own names are answered
// (web_guard.h). Whatever somebody does at the other end, what they cost is bounded: so many
// connections, so long a message, so many mistakes; all are counted and none is fatal.
//
// Threads: one; nothing here blocks but web_serve.
#ifndef APP_WEB_SERVER_H
#define APP_WEB_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "app/page/web_guard.h"

enum {
    WEB_CLIENTS_MAX = 64,  ///< Connections at once, files and news.
    WEB_COMMAND_MAX = 2048 ///< Bytes of a message to us.
};

typedef enum WebTopic {
    WEB_TOPIC_HELLO,    ///< What never changes.
    WEB_TOPIC_SETTINGS, ///< What is set now.
    WEB_TOPIC_FRAME,    ///< The picture.
    WEB_TOPIC_COUNT
} WebTopic;

typedef struct WebServer WebServer;

typedef struct WebDef {
    uint16_t port;       ///< 0: of the system's choice.
    const char *address; ///< Where to listen, IPv4 in digits; NULL: on loopback. Borrowed.
    const char *name;    ///< By which others come, besides; NULL: none. Borrowed.
    const char *token;   ///< Borrowed.
    void *ctx;

    /// A command of a client that showed the token. Borrowed.
    void (*command_fn)(void *ctx, const json_t *command);

    /// Called 60 times a second while somebody looks on, else 10 times. False ends web_serve.
    /// NULL: nobody needs it.
    bool (*tick_fn)(void *ctx);
} WebDef;

/// Answers NULL if the port cannot be had: errno says why.
WebServer *web_open(const WebDef *def);
void web_close(WebServer *server);

uint16_t web_port(const WebServer *server);

/// Takes over the reference.
void web_publish(WebServer *server, WebTopic topic, json_t *news);

/// Serves until tick_fn says no.
void web_serve(WebServer *server);

/// Does what there is to do now, without waiting: for loops that wait for something else.
void web_step(WebServer *server);

/// How many look on.
int32_t web_clients(const WebServer *server);

uint64_t web_count(const WebServer *server, WebCount which);

/// All counts by name. A new reference.
json_t *web_counts_json(const WebServer *server);

#endif
