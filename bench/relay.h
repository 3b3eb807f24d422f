// A relay on loopback: one server, many clients, each of which says something 20 times a second
// that the server passes on to all others. The same for every kind of connection.
//
//     parent: server, its processor time measured        child: all clients, which check every byte
//        wait for the tick, take what came in       ◀──     each client: one message a tick
//        pass each message on to all others, once   ──▶     count what arrives intact
//
// The server sleeps between ticks and sends once per tick. What it did is counted by itself, what
// arrived is counted by the clients; the difference is what was lost.
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include "fairlead/fairlead.h"
#include "fairlead/net.h"

#include <stdatomic.h>

enum {
    RELAY_CLIENTS = 128,
    RELAY_HZ = 20,
    RELAY_VARIANTS = 64,      ///< Different messages of one client, one after another.
    RELAY_MESSAGE_BYTES = 32, ///< No message is longer.
    RELAY_HEADER_BYTES = 28,  ///< UDP and IPv4.
};

/// A socket on loopback, of any port. Errors: as fl_net_create's, and no socket.
FL_NODISCARD FlResult relay_socket(FlAddress peer, int32_t batch, FlNet **net);

/// What clients say. Every message tells whose it is and which.
typedef struct RelayMessages {
    const char *name;
    bool motion;
    FlWorld world;
    int32_t length[RELAY_CLIENTS]; ///< A client's messages are all as long.
    uint8_t bytes[RELAY_CLIENTS][RELAY_VARIANTS][RELAY_MESSAGE_BYTES];
} RelayMessages;

/// 30 bytes that mean nothing to anybody.
void relay_messages_opaque(RelayMessages *messages);

/// UPDATEs of vehicles with a heading, on the ground of the default world, half of them turning: 15
/// and 17 bytes. False: one could not be packed.
FL_NODISCARD bool relay_messages_motion(RelayMessages *messages);

/// How long the message is that begins here; 0 if none does, or one that was damaged.
int32_t relay_messages_check(const RelayMessages *messages, const uint8_t *bytes, int32_t left);

/// Mean length over the first so many clients.
double relay_messages_mean(const RelayMessages *messages, int32_t clients);

/// Counts of the two processes.
typedef struct RelayHeard {
    atomic_bool stop;
    atomic_uint_least64_t intact, corrupt;
} RelayHeard;

typedef struct RelaySaid {
    uint64_t messages; ///< Copies passed on: one for each receiver.
    uint64_t packets;
    uint64_t bytes; ///< Without headers below.
} RelaySaid;

/// A kind of connection. Errors: NULL from the two that make something.
typedef struct RelayKind {
    const char *name;
    void *(*server_create)(int32_t client_count, uint16_t *port);
    bool (*server_ready)(const void *server);     ///< Everybody is here.
    void (*server_tick)(void *server, bool pass); ///< Takes what came in and passes it on.
    RelaySaid (*server_said)(const void *server); ///< Since it was made.
    void (*server_destroy)(void *server);
    void *(*clients_create)(int32_t count, uint16_t port, const RelayMessages *messages);
    void (*clients_say)(void *clients, int32_t tick);
    void (*clients_hear)(void *clients, RelayHeard *heard);
    void (*clients_destroy)(void *clients);
} RelayKind;

extern const RelayKind relay_fairlead;
extern const RelayKind relay_session; ///< With updates of its own, whatever the messages.
#ifdef BENCH_ENET
extern const RelayKind relay_enet;
#endif

typedef struct RelayResult {
    double us;         ///< Per message delivered.
    double wire_bytes; ///< Likewise.
    uint64_t delivered, lost, corrupt;
} RelayResult;

/// Runs one relay for so long. NULL, or what went wrong.
const char *relay_run(const RelayKind *kind, const RelayMessages *messages, int32_t clients,
                      double seconds, RelayResult *result);

#endif
