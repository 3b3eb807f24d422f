// Packets one way, as fast as they go, and what sealing adds. Part of fairlead bench link.
//
// A second process takes the packets in, so that the kernel does all of its work; the sender's side
// is timed.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "bench/bench.h"

#include "fairlead/net.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PACKETS 4096 // a round; a link may send 16 383 without an answer
#define SMALL_BYTES 64
#define LARGE_BYTES FL_SEAL_PAYLOAD_BYTES
#define SEALS 1024 // a round
#define ROUNDS 15
#define PROTOCOL_ID 77

typedef struct Sender {
    FlNet *net;
    FlAddress to;
    FlAddress own; // as the seal's server knows us
    FlSealServer *server;
    FlSealClient *client;
    uint8_t payload[LARGE_BYTES];
    uint8_t buffer[FL_NET_BATCH][FL_SEAL_PACKET_BYTES];
    FlDatagram out[FL_NET_BATCH];
} Sender;

// ---------------------------------------------------------------- a sealed connection

// Both ends here: datagrams are handed over.
static bool shake_hands(Sender *s, FlTime now)
{
    FlSealed sealed;
    uint8_t bytes[2048];
    FlSealPeer peer;
    FlSealPayload payload;
    while (fl_seal_client_next(s->client, now, &sealed) == FL_OK) {
        memcpy(bytes, sealed.bytes, (size_t)sealed.count);
        (void)fl_seal_server_receive(s->server, now, s->own, bytes, sealed.count, &peer, &payload);
    }
    while (fl_seal_server_next(s->server, now, &sealed) == FL_OK) {
        memcpy(bytes, sealed.bytes, (size_t)sealed.count);
        (void)fl_seal_client_receive(s->client, now, s->to, bytes, sealed.count, &payload);
    }
    return fl_seal_client_status(s->client).state == FL_SEAL_CONNECTED;
}

static bool connect_sealed(Sender *s)
{
    FlTime now = fl_net_now();
    FlSealServerDef server = fl_seal_server_def_default();
    server.protocol_id = PROTOCOL_ID;
    server.address[0] = s->to;
    server.address_count = 1;
    server.unix_s = 1000;
    FlSealTokenDef token_def = {.protocol_id = PROTOCOL_ID,
                                .client_id = 1,
                                .create_s = 1000,
                                .expire_s = 1300,
                                .timeout_s = 10,
                                .address_count = 1};
    token_def.address[0] = s->to;
    FlSealClientDef client = fl_seal_client_def_default();
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    bool good =
        fl_seal_server_create(&server, now, &s->server) == FL_OK &&
        fl_seal_client_create(&client, &s->client) == FL_OK &&
        fl_seal_token_make(&token_def, server.private_key, &client.random, token) == FL_OK &&
        fl_seal_client_connect(s->client, now, token_def.create_s, token) == FL_OK;
    for (int32_t i = 0; i < 10 && good; i++) {
        if (shake_hands(s, now + i * FL_MS(200))) {
            return true;
        }
    }
    return false;
}

static bool sender_open(Sender *s, FlAddress to)
{
    FlNetDef def = fl_net_def_default();
    s->to = to;
    memset(s->payload, 7, sizeof s->payload);
    if (fl_address_parse("127.0.0.1:0", &def.bind) != FL_OK ||
        fl_net_create(&def, &s->net) != FL_OK) {
        return false;
    }
    s->own = fl_net_address(s->net);
    return connect_sealed(s);
}

static void sender_close(Sender *s)
{
    fl_seal_client_destroy(s->client);
    fl_seal_server_destroy(s->server);
    fl_net_destroy(s->net);
    free(s);
}

// ---------------------------------------------------------------- one way

static double send_singly(void *ctx)
{
    Sender *s = (Sender *)ctx;
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons(s->to.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket = fl_net_descriptor(s->net);
    double sent = 0.0;
    for (int32_t i = 0; i < PACKETS; i++) {
        ssize_t bytes =
            sendto(socket, s->payload, SMALL_BYTES, 0, (const struct sockaddr *)&to, sizeof to);
        sent += (double)bytes;
    }
    return sent;
}

static void flush(Sender *s, int32_t count)
{
    int32_t at = 0;
    FlResult result = FL_OK;
    while (at < count && result == FL_OK) {
        int32_t done = 0;
        result = fl_net_send_batch(s->net, s->out + at, count - at, &done);
        at += done;
    }
}

static double send_batched(void *ctx)
{
    Sender *s = (Sender *)ctx;
    for (int32_t i = 0; i < PACKETS; i++) {
        FlDatagram datagram = {.address = s->to, .data = s->payload, .bytes = SMALL_BYTES};
        s->out[i % FL_NET_BATCH] = datagram;
        if (i % FL_NET_BATCH == FL_NET_BATCH - 1) {
            flush(s, FL_NET_BATCH);
        }
    }
    return 1.0;
}

static double send_sealed(void *ctx)
{
    Sender *s = (Sender *)ctx;
    FlTime now = fl_net_now();
    FlSealed sealed = {0};
    for (int32_t i = 0; i < PACKETS; i++) {
        uint8_t *buffer = s->buffer[i % FL_NET_BATCH];
        memcpy(buffer + FL_SEAL_HEAD_BYTES, s->payload, SMALL_BYTES);
        if (fl_seal_client_seal(s->client, now, fl_seal_client_sequence(s->client), buffer,
                                SMALL_BYTES, &sealed) != FL_OK) {
            return 0.0;
        }
        FlDatagram datagram = {.address = s->to, .data = sealed.bytes, .bytes = sealed.count};
        s->out[i % FL_NET_BATCH] = datagram;
        if (i % FL_NET_BATCH == FL_NET_BATCH - 1) {
            flush(s, FL_NET_BATCH);
        }
    }
    return sealed.count;
}

// A link of its own for each round: nobody answers, and it would end after 16 383.
static double send_linked(void *ctx)
{
    Sender *s = (Sender *)ctx;
    FlTime now = fl_net_now();
    FlLinkDef def = fl_link_def_default();
    def.external_sequence = true;
    FlLink *link;
    if (fl_link_create(&def, now, &link) != FL_OK) {
        return 0.0;
    }
    bool good = true;
    for (int32_t i = 0; i < PACKETS && good; i++) {
        uint8_t *buffer = s->buffer[i % FL_NET_BATCH];
        FlWriter writer;
        uint64_t sequence;
        FlSealed sealed;
        FlFateEvent fate;
        fl_link_number_from(link, fl_seal_client_sequence(s->client));
        good = fl_link_begin(link, now, buffer + FL_SEAL_HEAD_BYTES, &writer) == FL_OK;
        if (!good) {
            break;
        }
        fl_writer_bytes(&writer, s->payload, SMALL_BYTES);
        int32_t bytes = fl_link_finish(link, now, &writer, 0, &sequence);
        good = fl_seal_client_seal(s->client, now, sequence, buffer, bytes, &sealed) == FL_OK;
        FlDatagram datagram = {.address = s->to, .data = sealed.bytes, .bytes = sealed.count};
        s->out[i % FL_NET_BATCH] = datagram;
        if (i % FL_NET_BATCH == FL_NET_BATCH - 1) {
            flush(s, FL_NET_BATCH);
            while (fl_link_take_fate(link, &fate) == FL_OK) {
            }
        }
    }
    fl_link_destroy(link);
    return good ? 1.0 : 0.0;
}

// ---------------------------------------------------------------- sealing alone

static double seal_many(Sender *s, int32_t bytes)
{
    FlTime now = fl_net_now();
    FlSealed sealed = {0};
    for (int32_t i = 0; i < SEALS; i++) {
        if (fl_seal_client_seal(s->client, now, fl_seal_client_sequence(s->client),
                                s->buffer[i % FL_NET_BATCH], bytes, &sealed) != FL_OK) {
            return 0.0;
        }
    }
    return sealed.bytes[0];
}

static double seal_small(void *ctx)
{
    return seal_many((Sender *)ctx, SMALL_BYTES);
}

static double seal_large(void *ctx)
{
    return seal_many((Sender *)ctx, LARGE_BYTES);
}

// ---------------------------------------------------------------- both processes

static void drain(FlNet *net, const atomic_bool *stop)
{
    FlDatagram in[FL_NET_BATCH];
    while (!atomic_load(stop)) {
        if (fl_net_wait(&net, 1, fl_net_now() + FL_MS(20), NULL)) {
            while (fl_net_receive_batch(net, in, FL_NET_BATCH) > 0) {
            }
        }
    }
}

static const char *contests(FlAddress to, BenchReport *report)
{
    static const BenchContender one_way[] = {
        {"sendto", send_singly},
        {"64 at a time (sendmmsg)", send_batched},
        {"64 at a time, sealed", send_sealed},
        {"64 at a time, sealed link packets", send_linked},
    };
    static const BenchContender sealing[] = {
        {"64 bytes", seal_small},
        {"1200 bytes", seal_large},
    };
    Sender *sender = (Sender *)calloc(1, sizeof *sender);
    if (sender == NULL) {
        return "out of memory";
    }
    const char *problem = NULL;
    if (sender_open(sender, to)) {
        bench_contest(report, "64 bytes one way", one_way, 4, sender, PACKETS, ROUNDS);
        bench_contest(report, "sealing alone", sealing, 2, sender, SEALS, ROUNDS);
    } else {
        problem = "no sealed connection could be made";
    }
    sender_close(sender);
    return problem;
}

static const char *with_receiver(FlNet *net, atomic_bool *stop, BenchReport *report)
{
    pid_t child = fork();
    if (child < 0) {
        return "no second process for the receiver";
    }
    if (child == 0) {
        drain(net, stop);
        _exit(0);
    }
    const char *problem = contests(fl_net_address(net), report);
    atomic_store(stop, true);
    (void)waitpid(child, NULL, 0);
    return problem;
}

const char *bench_packets(BenchReport *report)
{
    FlNetDef def = fl_net_def_default();
    FlNet *net = NULL;
    atomic_bool *stop = (atomic_bool *)mmap(NULL, sizeof *stop, PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stop == MAP_FAILED) {
        return "out of memory";
    }
    bool good =
        fl_address_parse("127.0.0.1:0", &def.bind) == FL_OK && fl_net_create(&def, &net) == FL_OK;
    const char *problem = good ? with_receiver(net, stop, report) : "no socket";
    fl_net_destroy(net);
    (void)munmap(stop, sizeof *stop);
    return problem;
}
