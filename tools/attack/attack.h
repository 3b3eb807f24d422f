// attack: what strangers can do to a server over real sockets, ours beside ENet. Shared by its
// files.
//
//   attack.c    the scenes, the tables
//   players.c   honest players: they send, the server answers, round trips are timed
//   flood.c     the attacker: many packets a second in the name of addresses that are not his
//   probes.c    single packets: repeated, changed, cut, wrong
//   ours.c      a server and clients of module `seal`
//   enet.c      the same of ENet
//
// Three processes: the server (a child, so that its processor time is its own), the players with
// the measuring (the parent), the attacker (a child). They share one page of memory. Everything
// happens on loopback, against servers that this program starts itself; it takes no address.
#ifndef TOOLS_ATTACK_ATTACK_H
#define TOOLS_ATTACK_ATTACK_H

#include "fairlead/net.h"
#include "fairlead/seal.h"

#include <stdatomic.h>
#include <stdio.h>

#define PLAYERS 17 // the last one is a newcomer, who comes during the attack
#define SEND_HZ 20 // of each player
#define SLOTS 32   // of the server
#define SAMPLES (1 << 16)
#define CAPTURES 256
#define DATAGRAM 2048

/// What players say. The server answers with the same bytes.
typedef struct Message {
    uint32_t player;
    uint32_t number; // from 1
    FlTime sent_at;
    uint64_t check; // of all before: says whether it was changed
    uint64_t unused;
} Message;

typedef struct Report { // by the server, of itself
    uint64_t payloads, altered, twice;
    uint64_t bytes_in, bytes_out;
    int32_t slots; // taken
    double cpu_s;
    FlTime at;
    FlSealServerStats seal; // ours only
} Report;

typedef struct Capture {
    uint8_t bytes[DATAGRAM];
    int32_t count;
    uint16_t port; // whose
} Capture;

/// What the three processes share.
typedef struct Shared {
    _Atomic int32_t port;    // of the server; 0: not ready
    _Atomic bool stop;       // the server ends
    _Atomic bool flood_stop; // the attacker ends
    _Atomic bool ask;        // the server writes a report when nothing waits
    _Atomic bool capture;    // the server keeps what comes in
    _Atomic int32_t slots;   // taken now
    _Atomic int32_t capture_count;
    Report report;
    Capture captures[CAPTURES];
    uint8_t heard[PLAYERS][1 << 14]; // by the server, by number: to notice what comes twice
    uint64_t flood_sent, flood_bytes, answer_bytes;
    FlTime flood_ns;
} Shared;

typedef struct Player {
    int32_t index;
    FlNet *net; // ours
    FlSealClient *client;
    void *host, *peer; // ENet's
    bool connected;
    uint32_t sent, back;
    FlTime send_at;
    FlTime opened_at, connected_at, back_at;
} Player;

typedef struct Players {
    Player player[PLAYERS];
    int32_t count;
    FlTime rtt[SAMPLES];
    int32_t rtt_count;
    bool timing; // false while connecting
    bool quiet;  // nobody says anything, so that what is on its way comes home
} Players;

/// A library under attack.
typedef struct Subject {
    const char *name;
    void (*serve)(Shared *shared); // until shared->stop
    bool (*open)(Player *player, const Shared *shared);
    void (*step)(Player *player, Players *players); // receives and sends what is due
    void (*say)(Player *player, const Message *message);
    void (*close)(Player *player);
    int (*descriptor)(const Player *player);
    // A stranger's best attempt at getting in, without a token; returns its size.
    int32_t (*request)(uint8_t *bytes, FlRandom *random);
    // Of a captured packet: is it what a player said?
    bool (*is_payload)(const uint8_t *bytes, int32_t count);
    // Makes it look like one that was not there yet, the n-th of these.
    void (*refresh)(uint8_t *bytes, int32_t count, uint32_t n);
    // Turns it into a goodbye; returns its size.
    int32_t (*goodbye)(uint8_t *bytes, int32_t count);
    // Bytes that look like a packet of a connection.
    int32_t (*garbage)(uint8_t *bytes, FlRandom *random);
} Subject;

extern const Subject subject_ours;
#ifdef ATTACK_ENET
extern const Subject subject_enet;
#endif

// players.c
uint64_t message_check(const Message *message);
void message_back(Players *players, Player *player, const void *bytes, int32_t count);
void players_open(Players *players, const Subject *subject, Shared *shared, int32_t count);
void players_run(Players *players, const Subject *subject, FlTime until);
void players_close(Players *players, const Subject *subject);
int32_t players_connected(const Players *players);

// For servers: counts what a player said.
void server_heard(Shared *shared, Report *report, const void *bytes, int32_t count);
void server_capture(Shared *shared, const void *bytes, int32_t count, uint16_t port);
double cpu_seconds(void);

// flood.c
typedef enum FloodKind { FLOOD_NONE, FLOOD_REQUESTS, FLOOD_GARBAGE, FLOOD_NAMES } FloodKind;

/// The attacker's process: until shared->flood_stop.
void flood_run(Shared *shared, const Subject *subject, FloodKind kind, int32_t rate_hz,
               const int *player_fds, int32_t fd_count);

/// Opens a socket that can send from any address of 127/8, and hears answers to all of them.
int spoof_open(void);
bool spoof_send(int fd, uint32_t source, uint16_t to_port, const void *bytes, int32_t count);
/// What came to it since the last call, in bytes.
uint64_t spoof_heard(int fd);

// probes.c
void probes_run(const Subject *subject, FILE *json);
Report report_now(Shared *shared, Players *players, const Subject *subject);

// attack.c
Shared *shared_make(void);
int server_start(const Subject *subject, Shared *shared); // its process
void server_stop(Shared *shared, int pid);

// ours.c
#define OUR_PROTOCOL UINT64_C(0xfa17)
void our_key(uint8_t key[FL_SEAL_KEY_BYTES]);
FlAddress our_address(const Shared *shared);
FlSealTokenDef our_token_def(const Shared *shared, uint64_t client_id);
void our_request(const FlSealTokenDef *def, const uint8_t *key, uint8_t *request);

#endif
