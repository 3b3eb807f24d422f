// HTTP and WebSocket by libwebsockets: one callback, one function for each thing it is called for.
#define _GNU_SOURCE
#include "app/page/web_server.h"

#include <errno.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "app/page/web_files.h"

#define TICK_US (LWS_US_PER_SEC / 60)
#define IDLE_US (LWS_US_PER_SEC / 10)

enum { CHUNK_BYTES = 16384, HEADER_BYTES = 2048, HOST_BYTES = 128 };
enum {
    STEP_ROUNDS = 4,
    MISTAKES_MAX = 16,
    HEADERS_S = 5,
    CHUNK_S = 10,
    PING_S = 30,
    SILENT_S = 45
};

/// Who answers no ping is gone, or reads nothing: its place is for others.
static const lws_retry_bo_t patience = {.secs_since_valid_ping = PING_S,
                                        .secs_since_valid_hangup = SILENT_S};

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
    char address[INET_ADDRSTRLEN];
    WebNames names;
    bool closed; ///< Looking on needs the token, too.
    int32_t client_count, connection_count;
    bool over;
    uint64_t counts[WEB_COUNTS];
    Topic topics[WEB_TOPIC_COUNT];
};

/// One connection: first HTTP, and perhaps a WebSocket later.
typedef struct Client {
    const WebFile *file; ///< Being sent.
    size_t sent;
    uint64_t seen[WEB_TOPIC_COUNT];
    bool live; ///< A WebSocket.
    bool control;
    bool answer_due; ///< It is to be told whether it may control.
    int32_t mistakes;
    size_t command_bytes;
    char command[WEB_COMMAND_MAX];
} Client;

// ---------------------------------------------------------------- who may

static WebServer *server_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

static bool host_is_ours(struct lws *wsi)
{
    char host[HOST_BYTES];
    return lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 &&
           web_host_is_ours(&server_of(wsi)->names, host);
}

static bool origin_is_ours(struct lws *wsi)
{
    char origin[HOST_BYTES];
    char host[HOST_BYTES];
    int length = lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN);
    if (length == 0) {
        return true; // no browser
    }
    return length > 0 && lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 &&
           web_origin_is_ours(origin, host);
}

/// Before anything is said. Answers what lws wants: 0 take it, -1 close.
static int admit(WebServer *server)
{
    bool room = server->connection_count < WEB_CLIENTS_MAX;
    server->counts[WEB_CROWDED] += room ? 0 : 1;
    return room ? 0 : -1;
}

/// Counts a mistake of a client. Answers what lws wants: whoever makes many is sent away.
static int blame(WebServer *server, Client *client, WebCount which)
{
    server->counts[which]++;
    client->mistakes++;
    if (client->mistakes < MISTAKES_MAX) {
        return 0;
    }
    server->counts[WEB_SENT_AWAY]++;
    return -1;
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
    server_of(wsi)->counts[status == HTTP_STATUS_FORBIDDEN ? WEB_FOREIGN : WEB_BAD_REQUEST]++;
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
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, CHUNK_S);
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
    enum { ANSWER_BYTES = 80 };
    unsigned char buffer[LWS_PRE + ANSWER_BYTES];
    bool looks = client->control || !server_of(wsi)->closed;
    int count = lws_snprintf((char *)buffer + LWS_PRE, ANSWER_BYTES,
                             "{\"type\":\"control\",\"control\":%s,\"looks\":%s}",
                             client->control ? "true" : "false", looks ? "true" : "false");
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
    bool sees = client->control || !server->closed;
    for (int32_t t = 0; sees && t < WEB_TOPIC_COUNT; t++) {
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

static int obey(struct lws *wsi, WebServer *server, Client *client, const json_t *command)
{
    const char *token = json_string_value(json_object_get(command, "token"));
    if (token != NULL) {
        client->control = web_token_matches(server->def.token, token);
        client->answer_due = true;
        lws_callback_on_writable(wsi);
        // A page that was opened without a token says "": it asks for nothing.
        return client->control || *token == '\0' ? 0 : blame(server, client, WEB_WRONG_TOKEN);
    }
    if (!client->control) {
        return blame(server, client, WEB_NO_TOKEN);
    }
    server->def.command_fn(server->def.ctx, command);
    return 0;
}

/// Pieces of a message add up; one that is too long ends the connection.
static int hear(struct lws *wsi, WebServer *server, Client *client, const void *bytes, size_t count)
{
    if (client->command_bytes + count > sizeof client->command) {
        server->counts[WEB_TOO_LONG]++;
        return -1;
    }
    if (count > 0) {
        memcpy(client->command + client->command_bytes, bytes, count);
    }
    client->command_bytes += count;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) > 0) {
        return 0;
    }
    json_t *command = json_loadb(client->command, client->command_bytes, 0, NULL);
    client->command_bytes = 0;
    int answer = json_is_object(command) ? obey(wsi, server, client, command)
                                         : blame(server, client, WEB_BAD_MESSAGE);
    json_decref(command);
    return answer;
}

// ---------------------------------------------------------------- libwebsockets' one callback

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t count)
{
    WebServer *server = server_of(wsi);
    Client *client = user;
    switch (reason) { // NOLINT(clang-diagnostic-switch-enum): it has a hundred reasons
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
        return admit(server);
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        lws_set_opaque_user_data(wsi, server); // counted: so its end is, too
        server->connection_count++;
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        server->connection_count -= lws_get_opaque_user_data(wsi) == server ? 1 : 0;
        return 0;
    case LWS_CALLBACK_HTTP:
        return serve_file(wsi, client, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return serve_chunk(wsi, client);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        if (host_is_ours(wsi) && origin_is_ours(wsi)) {
            return 0;
        }
        server->counts[WEB_FOREIGN]++;
        return -1;
    case LWS_CALLBACK_ESTABLISHED:
        memset(client, 0, sizeof *client);
        client->live = true;
        server->client_count++;
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return send_news(wsi, server, client);
    case LWS_CALLBACK_RECEIVE:
        return hear(wsi, server, client, in, count);
    case LWS_CALLBACK_CLOSED: // also of those that were refused
        server->client_count -= client->live ? 1 : 0;
        return 0;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, count);
    }
}

static const struct lws_protocols protocols[] = {
    {"fairlead", on_event, sizeof(Client), WEB_COMMAND_MAX, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

// ---------------------------------------------------------------- making

static void on_tick(lws_sorted_usec_list_t *timer)
{
    WebServer *server = lws_container_of(timer, WebServer, timer);
    server->over = server->over || !server->def.tick_fn(server->def.ctx);
    lws_sul_schedule(server->context, 0, &server->timer, on_tick,
                     server->client_count > 0 ? TICK_US : IDLE_US);
}

static struct lws_context *make_context(WebServer *server)
{
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    bool everywhere = strcmp(server->address, "0.0.0.0") == 0;
    info.port = server->def.port;
    info.iface = everywhere ? NULL : server->address;
    info.protocols = protocols;
    info.user = server;
    info.gid = -1;
    info.uid = -1;
    info.timeout_secs = HEADERS_S;
    info.timeout_secs_ah_idle = HEADERS_S;
    info.retry_and_idle_policy = &patience;
    info.options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_DISABLE_IPV6;
    lws_set_log_level(0, NULL);
    errno = 0;
    struct lws_context *context = lws_create_context(&info);
    if (context == NULL) {
        errno = errno != 0 ? errno : EADDRINUSE;
    }
    return context;
}

static void name_server(WebServer *server)
{
    const char *address = server->def.address != NULL ? server->def.address : "127.0.0.1";
    size_t length = strlen(address);
    if (length < sizeof server->address) {
        memcpy(server->address, address, length + 1);
    }
    server->names = (WebNames){.address = server->address, .name = server->def.name};
    server->closed = strncmp(server->address, "127.", 4) != 0;
}

WebServer *web_open(const WebDef *def)
{
    WebServer *server = calloc(1, sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    server->def = *def;
    name_server(server);
    server->context = web_port_is_free(server->address, def->port) ? make_context(server) : NULL;
    if (server->context == NULL) {
        int why = errno;
        free(server);
        errno = why;
        return NULL;
    }
    struct lws_vhost *vhost = lws_get_vhost_by_name(server->context, "default");
    server->port =
        def->port != 0 || vhost == NULL ? def->port : (uint16_t)lws_get_vhost_listen_port(vhost);
    if (def->tick_fn != NULL) {
        lws_sul_schedule(server->context, 0, &server->timer, on_tick, 1);
    }
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

void web_step(WebServer *server)
{
    for (int32_t i = 0; i < STEP_ROUNDS; i++) { // each accepts one connection at most
        (void)lws_service(server->context, -1); // less than 0: without waiting
    }
}

int32_t web_clients(const WebServer *server)
{
    return server->client_count;
}

uint64_t web_count(const WebServer *server, WebCount which)
{
    return server->counts[which];
}

json_t *web_counts_json(const WebServer *server)
{
    json_t *object = json_object();
    for (int32_t i = 0; i < WEB_COUNTS; i++) {
        json_object_set_new(object, web_count_name((WebCount)i),
                            json_integer((json_int_t)server->counts[i]));
    }
    return object;
}
