// The page's server: the embedded files over HTTP, live news over a WebSocket.
//
// News are *topics*, each with a newest text. A client gets the newest of every topic when it
// connects, and again whenever there is a newer one and its connection is ready for it: a slow
// client skips what it could not take, and nobody waits for it.
//
// Everybody who reaches the port may look on. Who shows the token may also send commands. Only
// browsers that came by this machine's own names are answered, so that no page from elsewhere can
// reach it through them.
//
// Threads: one; nothing here blocks but web_serve.
#ifndef APP_WEB_SERVER_H
#define APP_WEB_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum WebTopic {
    WEB_TOPIC_HELLO,    ///< What never changes.
    WEB_TOPIC_SETTINGS, ///< What is set now.
    WEB_TOPIC_FRAME,    ///< The picture.
    WEB_TOPIC_COUNT
} WebTopic;

typedef struct WebServer WebServer;

typedef struct WebDef {
    uint16_t port;     ///< On loopback; 0: of the system's choice.
    const char *token; ///< Borrowed.
    void *ctx;

    /// A command of a client that showed the token. Borrowed.
    void (*command_fn)(void *ctx, const json_t *command);

    /// Called 60 times a second while somebody looks on, else 10 times. False ends web_serve.
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

#endif
