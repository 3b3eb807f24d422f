// The transport that is there if the game brings none: a UDP socket. And what only a machine knows:
// keys by chance, the date, its own address.
#include "private.h"

#include "fairlead/net.h"

#include <string.h>
#include <time.h>

#define BATCH 16
#define INVITES 256
#define TOKEN_TIMEOUT_S 60 // the connection's own time-out is shorter

typedef struct Udp {
    FlNet *net;
    FlAlloc alloc;
    FlDatagram in[FL_NET_BATCH];
    int32_t in_count, in_next;
    FlDatagram out[BATCH];
    uint8_t bytes[BATCH][FL_SESSION_DATAGRAM_BYTES];
    int32_t out_count;
} Udp;

static void udp_flush(Udp *udp)
{
    int32_t done;
    if (udp->out_count > 0) { // what the socket does not take is lost like any other datagram
        (void)!fl_net_send_batch(udp->net, udp->out, udp->out_count, &done);
    }
    udp->out_count = 0;
}

static void udp_send(void *ctx, const FlOutgoing *datagram)
{
    Udp *udp = (Udp *)ctx;
    int32_t i = udp->out_count++;
    memcpy(udp->bytes[i], datagram->bytes, (size_t)datagram->count);
    FlDatagram out = {datagram->to, udp->bytes[i], datagram->count, 0};
    udp->out[i] = out;
    if (udp->out_count == BATCH) {
        udp_flush(udp);
    }
}

static bool udp_receive(void *ctx, FlIncoming *datagram)
{
    Udp *udp = (Udp *)ctx;
    if (udp->in_next == udp->in_count) {
        udp->in_count = fl_net_receive_batch(udp->net, udp->in, FL_NET_BATCH);
        udp->in_next = 0;
    }
    if (udp->in_count == 0) {
        return false;
    }
    const FlDatagram *in = &udp->in[udp->in_next++];
    FlIncoming got = {in->address, (const uint8_t *)in->data, in->bytes, in->arrival};
    *datagram = got;
    return true;
}

static FlTime udp_wait(void *ctx, FlTime until)
{
    Udp *udp = (Udp *)ctx;
    udp_flush(udp);
    FlTime now = fl_net_now();
    if (until > now) {
        (void)fl_net_wait(&udp->net, 1, until, NULL);
        now = fl_net_now();
    }
    return now;
}

static void udp_close(void *ctx)
{
    Udp *udp = (Udp *)ctx;
    fl_net_destroy(udp->net);
    FlAlloc alloc = udp->alloc;
    fl_free(&alloc, udp, sizeof *udp);
}

bool fl__run_open(const FlSessionDef *def, FlFamily family, Run *run, FlError *error)
{
    FlNetDef socket = fl_net_def_default();
    socket.alloc = def->alloc;
    const char *any = family == FL_FAMILY_IPV6 ? "[::]:0" : "0.0.0.0:0";
    const char *text = def->address != NULL ? def->address : any;
    if (fl_address_parse(text, &socket.bind) != FL_OK) {
        fl__error_set(error, FL_BAD_VALUE,
                      "address is \"%s\": it must be IP:PORT, as 0.0.0.0:4000.", text);
        return false;
    }
    Udp *udp = (Udp *)fl_alloc(&def->alloc, sizeof *udp, _Alignof(Udp));
    FlResult result = udp == NULL ? FL_NO_MEMORY : fl_net_create(&socket, &udp->net);
    if (result != FL_OK) {
        fl_free(&def->alloc, udp, sizeof *udp);
        fl__error_set(error, result, "address is \"%s\": %s.", text, fl_result_text(result));
        return false;
    }
    udp->alloc = def->alloc;
    FlTransport transport = {udp_send, udp_receive, udp_wait, udp, fl_net_address(udp->net)};
    run->transport = transport;
    run->close_fn = udp_close;
    return true;
}

// The address from which this machine would send to others. Asks the routing table: connecting a
// UDP socket sends nothing.
static FlAddress own_address(FlAddress bound)
{
    static const uint8_t zero[16];
    if (memcmp(bound.ip, zero, sizeof zero) != 0) {
        return bound;
    }
    bool six = bound.family == FL_FAMILY_IPV6;
    FlNetDef probe = fl_net_def_default();
    FlNet *net = NULL;
    FlAddress own = {0};
    if (fl_address_parse(six ? "[::]:0" : "0.0.0.0:0", &probe.bind) == FL_OK &&
        fl_address_parse(six ? "[2001:db8::1]:9" : "192.0.2.1:9", &probe.peer) == FL_OK &&
        fl_net_create(&probe, &net) == FL_OK) {
        own = fl_net_address(net);
    } else {
        (void)!fl_address_parse(six ? "[::1]:0" : "127.0.0.1:0", &own);
    }
    fl_net_destroy(net);
    own.port = bound.port;
    own.scope = 0;
    return own;
}

FlResult fl__run_reached_at(const Run *run, const char *text, FlAddress *address)
{
    if (text != NULL) {
        return fl_address_resolve(text, FL_FAMILY_NONE, address);
    }
    *address = own_address(run->transport.self);
    return FL_OK;
}

bool fl__run_start(FlSessionDef *def, FlError *error)
{
    uint8_t drawn[FL_SEAL_KEY_BYTES];
    (void)error;
    if (def->unix_s == 0) {
        def->unix_s = (uint64_t)time(NULL);
    }
    if (def->seed == 0) {
        fl_seal_key(&def->random, drawn);
        memcpy(&def->seed, drawn, sizeof def->seed);
    }
    return true;
}

bool fl__run_keys(FlSessionDef *def, const Run *run, FlSealServerDef *server, FlError *error)
{
    (void)error;
    if (def->seal_server != NULL) {
        return true;
    }
    *server = fl_seal_server_def_default();
    fl_seal_key(&def->random, server->private_key);
    server->address[server->address_count++] = own_address(run->transport.self);
    server->invite_capacity = INVITES;
    def->seal_server = server;
    return true;
}

static bool invite_token(FlSessionDef *def, const FlSealInvite *invite, uint8_t *token,
                         FlError *error)
{
    uint8_t user[FL_SEAL_USER_BYTES] = {0};
    (void)fl__about_write(def, user);
    uint32_t number = (uint32_t)fl_random_at(def->seed, 0, 0);
    FlResult result = fl_seal_invite_token(invite, number, def->unix_s, TOKEN_TIMEOUT_S, user,
                                           &def->random, token);
    if (result != FL_OK) {
        fl__error_set(error, result,
                      "The invite has expired, by this machine's clock. Ask for a new one.");
        return false;
    }
    def->token = token;
    def->host = invite->address;
    return true;
}

bool fl__run_invited(FlSessionDef *def, const char *text, uint8_t *token, FlError *error)
{
    FlSealInvite invite;
    if (fl_seal_invite_parse(text, &invite) == FL_OK) {
        FlWorld world;
        if (fl_world_init(&def->world, &world) == FL_OK &&
            world.protocol_id != invite.protocol_id) {
            fl__error_set(error, FL_BAD_VALUE,
                          "The invite is for another world: its world definition, application "
                          "version or Fairlead version differs from ours.");
            return false;
        }
        return invite_token(def, &invite, token, error);
    }
    if (strncmp(text, "fairlead:", 9) == 0) {
        fl__error_set(error, FL_BAD_VALUE,
                      "The invite is mistyped or cut off: copy all of it, from \"fairlead:\" on.");
        return false;
    }
    if (!def->plain) {
        fl__error_set(error, FL_BAD_VALUE,
                      "\"%.80s\" is no invite. To join an open host by its address, set `plain`.",
                      text);
        return false;
    }
    FlResult result = fl_address_resolve(text, FL_FAMILY_NONE, &def->host);
    if (result != FL_OK) {
        fl__error_set(error, result, "\"%.80s\" is no HOST:PORT, or its name is unknown.", text);
    }
    return result == FL_OK;
}
