// A relay by real sessions: sealed, each client with one vehicle whose every tick is news, the host
// passing updates on by policy `base`. What is measured is everything a game's server would pay:
// ledgers, policies, arrival reports.
//
// Messages are the sessions' own updates, counted by their counters; what a session takes has been
// authenticated, so nothing is compared here.
#include "bench/relay.h"

#include "fairlead/net.h"
#include "fairlead/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOKEN_LIFE_S 600

static const uint8_t PRIVATE_KEY[FL_SEAL_KEY_BYTES] = {8, 7, 6, 5, 4, 3, 2, 1};

static FlSessionDef session_def(int32_t client_count)
{
    FlSessionDef def = fl_session_def_default();
    def.world.low.z = def.world.high.z = 0.0; // on the ground
    def.peer_capacity = client_count;
    def.entity_capacity = client_count + 1;
    def.tuning.item_capacity = 1024;
    def.tuning.link.rate_bytes_s = def.tuning.link.rate_max_bytes_s = 10e6; // the loopback's
    def.unix_s = (uint64_t)time(NULL);
    def.seed = (uint64_t)fl_net_now();
    return def;
}

static void session_hear(FlSession *session, FlNet *net)
{
    FlDatagram in[FL_NET_BATCH];
    int32_t count = 1;
    while (count > 0) {
        count = fl_net_receive_batch(net, in, FL_NET_BATCH);
        for (int32_t i = 0; i < count; i++) {
            fl_session_receive(session, in[i].address, in[i].data, in[i].bytes, in[i].arrival);
        }
        count = count < FL_NET_BATCH ? 0 : count;
    }
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
    }
}

/// Datagrams of a session on their way out.
typedef struct Batch {
    int32_t count;
    FlDatagram out[FL_NET_BATCH];
    uint8_t bytes[FL_NET_BATCH][FL_SESSION_DATAGRAM_BYTES];
} Batch;

static void batch_flush(Batch *batch, FlNet *net)
{
    int32_t done = 0;
    FlResult result = FL_OK;
    while (done < batch->count && result == FL_OK) {
        int32_t count = 0;
        result = fl_net_send_batch(net, batch->out + done, batch->count - done, &count);
        done += count;
    }
    batch->count = 0; // what the kernel has no room for is lost
}

static void session_say(FlSession *session, FlNet *net, Batch *batch, FlTime now)
{
    FlOutgoing out;
    while (fl_session_next(session, now, &out) == FL_OK) {
        memcpy(batch->bytes[batch->count], out.bytes, (size_t)out.count);
        FlDatagram datagram = {
            .address = out.to, .data = batch->bytes[batch->count], .bytes = out.count};
        batch->out[batch->count++] = datagram;
        if (batch->count == FL_NET_BATCH) {
            batch_flush(batch, net);
        }
    }
    batch_flush(batch, net);
}

// ---------------------------------------------------------------- server

typedef struct Server {
    FlNet *net;
    FlSession *session;
    int32_t client_count;
    Batch batch;
} Server;

static void server_destroy(void *context)
{
    Server *server = (Server *)context;
    fl_session_close(server->session);
    fl_net_destroy(server->net);
    free(server);
}

static void *server_create(int32_t client_count, uint16_t *port)
{
    Server *server = (Server *)calloc(1, sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    FlAddress nowhere = {0};
    server->client_count = client_count;
    bool good = relay_socket(nowhere, FL_NET_BATCH, &server->net) == FL_OK;
    if (good) {
        FlSessionDef def = session_def(client_count);
        FlSealServerDef seal = fl_seal_server_def_default();
        memcpy(seal.private_key, PRIVATE_KEY, sizeof PRIVATE_KEY);
        seal.address[0] = fl_net_address(server->net);
        seal.address_count = 1;
        seal.unix_s = def.unix_s;
        *port = seal.address[0].port;
        def.role = FL_ROLE_HOST;
        def.seal_server = &seal;
        good = fl_session_create(&def, fl_net_now(), &server->session) == FL_OK;
    }
    if (!good) {
        server_destroy(server);
        return NULL;
    }
    return server;
}

// Everybody is in, and everybody's vehicle is known.
static bool server_ready(const void *context)
{
    const Server *server = (const Server *)context;
    int32_t vehicles = 0;
    FlEntityId id = {0};
    while (fl_entity_next(server->session, &id)) {
        vehicles++;
    }
    return vehicles == server->client_count;
}

// A host cannot help passing on what it hears: `pass` is not asked.
static void server_tick(void *context, bool pass)
{
    (void)pass;
    Server *server = (Server *)context;
    session_hear(server->session, server->net);
    session_say(server->session, server->net, &server->batch, fl_net_now());
}

static RelaySaid server_said(const void *context)
{
    const Server *server = (const Server *)context;
    FlNetStats stats = fl_net_stats(server->net);
    RelaySaid said = {fl_session_count(server->session, FL_SESSION_UPDATES_RELAYED),
                      stats.sent_count, stats.sent_bytes};
    return said;
}

// ---------------------------------------------------------------- clients

typedef struct Client {
    FlNet *net;
    FlSession *session;
    FlEntityId vehicle;
    FlState state;
    uint64_t taken;
} Client;

typedef struct Clients {
    int32_t count;
    FlRandom random;
    Batch batch;
    Client client[RELAY_CLIENTS];
} Clients;

static void clients_destroy(void *context)
{
    Clients *clients = (Clients *)context;
    for (int32_t i = 0; i < clients->count; i++) {
        fl_session_close(clients->client[i].session);
        fl_net_destroy(clients->client[i].net);
    }
    free(clients);
}

static bool client_open(Client *client, int32_t number, int32_t count, uint16_t port)
{
    FlSessionDef def = session_def(count);
    FlWorld world;
    if (fl_world_init(&def.world, &world) != FL_OK) {
        return false;
    }
    FlSealTokenDef token_def = {
        .protocol_id = world.protocol_id,
        .client_id = (uint64_t)number + 1,
        .create_s = def.unix_s,
        .expire_s = def.unix_s + TOKEN_LIFE_S,
        .timeout_s = 10,
        .address_count = 1,
    };
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    if (fl_address_parse("127.0.0.1:1", &token_def.address[0]) != FL_OK) {
        return false;
    }
    token_def.address[0].port = port;
    def.role = FL_ROLE_CLIENT;
    def.host = token_def.address[0];
    def.token = token;
    def.seed += (uint64_t)number + 1;
    return fl_seal_token_make(&token_def, PRIVATE_KEY, &def.random, token) == FL_OK &&
           relay_socket(token_def.address[0], 16, &client->net) == FL_OK &&
           fl_session_create(&def, fl_net_now(), &client->session) == FL_OK;
}

static void *clients_create(int32_t count, uint16_t port, const RelayMessages *messages)
{
    (void)messages;
    Clients *clients = (Clients *)calloc(1, sizeof *clients);
    if (clients == NULL) {
        return NULL;
    }
    clients->count = count;
    clients->random.seed = 6;
    for (int32_t i = 0; i < count; i++) {
        if (!client_open(&clients->client[i], i, count, port)) {
            clients_destroy(clients);
            return NULL;
        }
    }
    return clients;
}

// Another direction every tick: so each has to be told.
static void drive(Client *client, FlRandom *random, FlTime now)
{
    FlState *s = &client->state;
    s->time = now;
    s->position.x = fl_random_between(random, -400.0, 400.0);
    s->position.y = fl_random_between(random, -400.0, 400.0);
    s->velocity.x = fl_random_between(random, -30.0, 30.0);
    s->velocity.y = fl_random_between(random, -30.0, 30.0);
    s->facing = fl_facing_yaw(fl_random_between(random, -3.0, 3.0), 0.0);
    s->turn_rate = fl_random_between(random, 0.1, 1.0);
    fl_entity_set(client->session, client->vehicle, s);
}

static void client_start(Client *client, int32_t number)
{
    FlEntityDef def = fl_entity_def_default();
    def.model = number % 2 == 0 ? FL_MODEL_LINEAR : FL_MODEL_CIRCULAR;
    client->vehicle = fl_entity_create(client->session, &def);
}

static void clients_say(void *context, int32_t tick)
{
    (void)tick;
    Clients *clients = (Clients *)context;
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < clients->count; i++) {
        Client *client = &clients->client[i];
        if (client->vehicle.index1 == 0) {
            client_start(client, i);
        } else {
            drive(client, &clients->random, now);
        }
        session_say(client->session, client->net, &clients->batch, now);
    }
}

static void clients_hear(void *context, RelayHeard *heard)
{
    Clients *clients = (Clients *)context;
    FlTime now = fl_net_now();
    for (int32_t i = 0; i < clients->count; i++) {
        Client *client = &clients->client[i];
        session_hear(client->session, client->net);
        if (client->vehicle.index1 == 0) {
            session_say(client->session, client->net, &clients->batch, now); // joining
        }
        uint64_t taken = fl_session_count(client->session, FL_SESSION_UPDATES_TAKEN) +
                         fl_session_count(client->session, FL_SESSION_UPDATES_OVERTAKEN);
        atomic_fetch_add(&heard->intact, taken - client->taken);
        client->taken = taken;
    }
}

const RelayKind relay_session = {
    .name = "Fairlead sessions",
    .server_create = server_create,
    .server_ready = server_ready,
    .server_tick = server_tick,
    .server_said = server_said,
    .server_destroy = server_destroy,
    .clients_create = clients_create,
    .clients_say = clients_say,
    .clients_hear = clients_hear,
    .clients_destroy = clients_destroy,
};
