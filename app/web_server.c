// HTTP and WebSocket by libwebsockets: one callback, one function for each thing it is called for.
#define _GNU_SOURCE
#include "app/web_server.h"

#include <errno.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/web_files.h"

#define TICK_US (LWS_US_PER_SEC / 60)
#define IDLE_US (LWS_US_PER_SEC / 10)

enum { CHUNK_BYTES = 16384, COMMAND_BYTES = 2048, HEADER_BYTES = 2048, HOST_BYTES = 128 };

/// Nothing but our own files: no other host, no script or style in the page itself.
static const char security[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                               "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'";

typedef struct Topic {
    unsigned char *buffer; ///< LWS_PRE bytes, then the text.
    size_t bytes, capacity;
    uint64_t serial; ///< Of its newest text; 0: none yet.
} Topic;

struct WebServer {
    WebDef def;
    struct lws_context *context;
    lws_sorted_usec_list_t timer;
    uint16_t port;
    int32_t client_count;
    bool over;
    Topic topics[WEB_TOPIC_COUNT];
};

/// One connection: first HTTP, and perhaps a WebSocket later.
typedef struct Client {
    const WebFile *file; ///< Being sent.
    size_t sent;
    uint64_t seen[WEB_TOPIC_COUNT];
    bool control;
    bool answer_due; ///< It is to be told whether it may control.
    size_t command_bytes;
    char command[COMMAND_BYTES];
} Client;

// ---------------------------------------------------------------- who may

/// "127.0.0.1:8080", "localhost", "[::1]:8080": this machine as it calls itself.
static bool is_local_name(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 &&
            (host[length] == '\0' || host[length] == ':')) {
            return true;
        }
    }
    return false;
}

static bool host_is_ours(struct lws *wsi)
{
    char host[HOST_BYTES];
    return lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && is_local_name(host);
}

/// A browser says which page asks. Programs do not; they could say anything.
static bool origin_is_ours(struct lws *wsi)
{
    static const char scheme[] = "http://";
    char origin[HOST_BYTES];
    char host[HOST_BYTES];
    int length = lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN);
    if (length == 0) {
        return true;
    }
    return length > 0 && lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 &&
           strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcmp(origin + sizeof scheme - 1, host) == 0;
}

/// Takes as long whatever is wrong with it.
static bool token_matches(const WebServer *server, const char *token)
{
    size_t length = strlen(server->def.token);
    unsigned char differs = strlen(token) != length;
    for (size_t i = 0; i < length && token[i] != '\0'; i++) {
        differs |= (unsigned char)(token[i] ^ server->def.token[i]);
    }
    return !differs;
}

// ---------------------------------------------------------------- files

static const WebFile *file_of(const char *path)
{
    const char *wanted = strcmp(path, "/") == 0 ? "/index.html" : path;
    for (size_t i = 0; i < web_file_count; i++) {
        if (strcmp(web_files[i].path, wanted) == 0) {
            return &web_files[i];
        }
    }
    return NULL;
}

static bool add_header(struct lws *wsi, const char *name, const char *value, unsigned char **at,
                       unsigned char *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
                                       (const unsigned char *)value, (int)strlen(value), at,
                                       end) == 0;
}

static bool write_headers(struct lws *wsi, unsigned int status, const WebFile *file)
{
    unsigned char buffer[LWS_PRE + HEADER_BYTES];
    unsigned char *start = buffer + LWS_PRE;
    unsigned char *at = start;
    unsigned char *end = buffer + sizeof buffer;
    lws_filepos_t length = status == HTTP_STATUS_OK ? file->count : 0;
    return lws_add_http_common_headers(wsi, status, file->type, length, &at, end) == 0 &&
           add_header(wsi, "etag:", file->etag, &at, end) &&
           add_header(wsi, "cache-control:", "no-cache", &at, end) &&
           add_header(wsi, "content-security-policy:", security, &at, end) &&
           add_header(wsi, "x-content-type-options:", "nosniff", &at, end) &&
           add_header(wsi, "referrer-policy:", "no-referrer", &at, end) &&
           lws_finalize_write_http_header(wsi, start, &at, end) == 0;
}

/// Answers what lws wants: 0 go on, -1 close.
static int finish(struct lws *wsi)
{
    return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}

static int refuse(struct lws *wsi, unsigned int status)
{
    return lws_return_http_status(wsi, status, NULL) < 0 ? -1 : finish(wsi);
}

static int serve_file(struct lws *wsi, Client *client, const char *path)
{
    char known[HOST_BYTES];
    if (!host_is_ours(wsi)) {
        return refuse(wsi, HTTP_STATUS_FORBIDDEN);
    }
    bool get = lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0;
    if (!get && lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) == 0) {
        return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED);
    }
    const WebFile *file = file_of(path);
    if (file == NULL) {
        return refuse(wsi, HTTP_STATUS_NOT_FOUND);
    }
    bool same = lws_hdr_copy(wsi, known, sizeof known, WSI_TOKEN_HTTP_IF_NONE_MATCH) > 0 &&
                strcmp(known, file->etag) == 0;
    if (!write_headers(wsi, same ? HTTP_STATUS_NOT_MODIFIED : HTTP_STATUS_OK, file)) {
        return -1;
    }
    if (same || !get) {
        return finish(wsi);
    }
    client->file = file;
    client->sent = 0;
    lws_callback_on_writable(wsi);
    return 0;
}

static int serve_chunk(struct lws *wsi, Client *client)
{
    unsigned char buffer[LWS_PRE + CHUNK_BYTES];
    const WebFile *file = client->file;
    if (file == NULL) {
        return 0;
    }
    size_t left = file->count - client->sent;
    size_t count = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    bool last = count == left;
    memcpy(buffer + LWS_PRE, file->bytes + client->sent, count);
    if (lws_write(wsi, buffer + LWS_PRE, count, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0) {
        return -1;
    }
    client->sent += count;
    if (last) {
        client->file = NULL;
        return finish(wsi);
    }
    lws_callback_on_writable(wsi);
    return 0;
}

// ---------------------------------------------------------------- the WebSocket

static int send_answer(struct lws *wsi, Client *client)
{
    unsigned char buffer[LWS_PRE + 64];
    int count = lws_snprintf((char *)buffer + LWS_PRE, 64, "{\"type\":\"control\",\"control\":%s}",
                             client->control ? "true" : "false");
    client->answer_due = false;
    return lws_write(wsi, buffer + LWS_PRE, (size_t)count, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

/// One message at a time: the socket says when it is ready for the next.
static int send_news(struct lws *wsi, const WebServer *server, Client *client)
{
    if (client->answer_due) {
        lws_callback_on_writable(wsi);
        return send_answer(wsi, client);
    }
    for (int32_t t = 0; t < WEB_TOPIC_COUNT; t++) {
        const Topic *topic = &server->topics[t];
        if (topic->serial > client->seen[t]) {
            client->seen[t] = topic->serial;
            lws_callback_on_writable(wsi);
            return lws_write(wsi, topic->buffer + LWS_PRE, topic->bytes, LWS_WRITE_TEXT) < 0 ? -1
                                                                                             : 0;
        }
    }
    return 0;
}

static void obey(struct lws *wsi, WebServer *server, Client *client, const json_t *command)
{
    const char *token = json_string_value(json_object_get(command, "token"));
    if (token != NULL) {
        client->control = token_matches(server, token);
        client->answer_due = true;
        lws_callback_on_writable(wsi);
    } else if (client->control) {
        server->def.command_fn(server->def.ctx, command);
    }
}

/// Pieces of a message add up; one that is too long ends the connection.
static int hear(struct lws *wsi, WebServer *server, Client *client, const void *bytes, size_t count)
{
    if (client->command_bytes + count > sizeof client->command) {
        return -1;
    }
    memcpy(client->command + client->command_bytes, bytes, count);
    client->command_bytes += count;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) > 0) {
        return 0;
    }
    json_t *command = json_loadb(client->command, client->command_bytes, 0, NULL);
    client->command_bytes = 0;
    if (json_is_object(command)) {
        obey(wsi, server, client, command);
    }
    json_decref(command);
    return 0;
}

// ---------------------------------------------------------------- libwebsockets' one callback

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t count)
{
    WebServer *server = lws_context_user(lws_get_context(wsi));
    Client *client = user;
    switch (reason) { // NOLINT(clang-diagnostic-switch-enum): it has a hundred reasons
    case LWS_CALLBACK_HTTP:
        return serve_file(wsi, client, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return serve_chunk(wsi, client);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return host_is_ours(wsi) && origin_is_ours(wsi) ? 0 : -1;
    case LWS_CALLBACK_ESTABLISHED:
        memset(client, 0, sizeof *client);
        server->client_count++;
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return send_news(wsi, server, client);
    case LWS_CALLBACK_RECEIVE:
        return hear(wsi, server, client, in, count);
    case LWS_CALLBACK_CLOSED:
        server->client_count--;
        return 0;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, count);
    }
}

static const struct lws_protocols protocols[] = {
    {"fairlead", on_event, sizeof(Client), COMMAND_BYTES, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

// ---------------------------------------------------------------- making

/// Is the port to be had? libwebsockets would only say that something did not work.
static bool port_is_free(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int one = 1;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return false;
    }
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bool free = bind(probe, (const struct sockaddr *)&address, sizeof address) == 0 &&
                listen(probe, 1) == 0;
    int why = errno;
    close(probe);
    errno = why;
    return free;
}

static void on_tick(lws_sorted_usec_list_t *timer)
{
    WebServer *server = lws_container_of(timer, WebServer, timer);
    server->over = server->over || !server->def.tick_fn(server->def.ctx);
    lws_sul_schedule(server->context, 0, &server->timer, on_tick,
                     server->client_count > 0 ? TICK_US : IDLE_US);
}

WebServer *web_open(const WebDef *def)
{
    WebServer *server = calloc(1, sizeof *server);
    if (server == NULL || !port_is_free(def->port)) {
        free(server);
        return NULL;
    }
    server->def = *def;
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = def->port;
    info.iface = "127.0.0.1";
    info.protocols = protocols;
    info.user = server;
    info.gid = -1;
    info.uid = -1;
    info.options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_DISABLE_IPV6;
    lws_set_log_level(0, NULL);
    errno = 0;
    server->context = lws_create_context(&info);
    if (server->context == NULL) {
        errno = errno != 0 ? errno : EADDRINUSE;
        free(server);
        return NULL;
    }
    struct lws_vhost *vhost = lws_get_vhost_by_name(server->context, "default");
    server->port =
        def->port != 0 || vhost == NULL ? def->port : (uint16_t)lws_get_vhost_listen_port(vhost);
    lws_sul_schedule(server->context, 0, &server->timer, on_tick, 1);
    return server;
}

void web_close(WebServer *server)
{
    if (server != NULL) {
        lws_context_destroy(server->context);
        for (int32_t t = 0; t < WEB_TOPIC_COUNT; t++) {
            free(server->topics[t].buffer);
        }
        free(server);
    }
}

uint16_t web_port(const WebServer *server)
{
    return server->port;
}

void web_publish(WebServer *server, WebTopic topic, json_t *news)
{
    Topic *t = &server->topics[topic];
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(7);
    size_t room = t->capacity > LWS_PRE ? t->capacity - LWS_PRE : 0;
    size_t bytes = room > 0 ? json_dumpb(news, (char *)t->buffer + LWS_PRE, room, flags)
                            : json_dumpb(news, NULL, 0, flags);
    if (bytes > room) {
        unsigned char *larger = realloc(t->buffer, LWS_PRE + 2 * bytes);
        if (larger == NULL) {
            t->serial = 0; // what was written of it is not whole
            json_decref(news);
            return;
        }
        t->buffer = larger;
        t->capacity = LWS_PRE + 2 * bytes;
        bytes = json_dumpb(news, (char *)t->buffer + LWS_PRE, 2 * bytes, flags);
    }
    t->bytes = bytes;
    t->serial += bytes > 0 ? 1 : 0;
    json_decref(news);
    lws_callback_on_writable_all_protocol(server->context, &protocols[0]);
}

void web_serve(WebServer *server)
{
    while (!server->over && lws_service(server->context, 0) >= 0) {
    }
}
