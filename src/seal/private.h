// Private to module `seal`.
//
//   token.c         connect tokens: the public part, and the private part under the server's key
//   challenge.c     challenge tokens
//   packet.c        packets: sealing, parsing, opening
//   replay.c        which numbers were here before
//   random.c        where random bytes come from
//   map.c           finding things by address, client id or token, without scanning
//   words.c         names and sentences
//   transitions.c   the client's table of states
//   client.c        the client
//   server.c        the server: memory, events, what goes out when
//   request.c       the server: from a request to a slot
//   slot.c          the server: one connection
//   path.c          the server: a connection that moves to another address
//   invite.c        invites
//   introduction.c  what a host tells two peers about each other
//   pair.c          two introduced peers
//   pair_keys.c     the keys that they agree on
#ifndef FAIRLEAD_SEAL_PRIVATE_H
#define FAIRLEAD_SEAL_PRIVATE_H

#include "base/private.h"
#include "fairlead/seal.h"
#include "seal/seal.h"

#include <sodium.h>

#define NEVER INT64_MIN
#define VERSION_BYTES 13
#define PRIVATE_BYTES 1024
#define NONCE_BYTES 24
#define PROOF_BYTES 16
#define CHALLENGE_BYTES 300
#define PATH_BYTES 8

extern const uint8_t fl__version[VERSION_BYTES]; // "NETCODE 1.02" and a zero

// ---------------------------------------------------------------- random.c

/// False: libsodium does not start.
bool fl__sodium_ready(void);
void fl__random_fill(const FlSealRandom *random, void *bytes, size_t count);

// ---------------------------------------------------------------- token.c

/// The part of a connect token that only backend and server can read.
typedef struct PrivateToken {
    uint64_t client_id;
    int32_t timeout_s;
    int32_t address_count;
    FlAddress address[FL_SEAL_ADDRESSES];
    uint8_t to_server_key[FL_SEAL_KEY_BYTES];
    uint8_t to_client_key[FL_SEAL_KEY_BYTES];
    uint8_t user_data[FL_SEAL_USER_BYTES];
} PrivateToken;

/// What a sealed private part depends on besides the key.
typedef struct TokenSeal {
    uint64_t protocol_id;
    uint64_t expire_s;
    uint8_t nonce[NONCE_BYTES];
} TokenSeal;

void fl__private_write(const PrivateToken *token, uint8_t bytes[PRIVATE_BYTES]);
bool fl__private_read(const uint8_t bytes[PRIVATE_BYTES], PrivateToken *token);
void fl__private_seal(uint8_t bytes[PRIVATE_BYTES], const TokenSeal *seal,
                      const uint8_t key[FL_SEAL_KEY_BYTES]);
bool fl__private_open(uint8_t bytes[PRIVATE_BYTES], const TokenSeal *seal,
                      const uint8_t key[FL_SEAL_KEY_BYTES]);

/// fl_seal_token_make with a nonce of the caller's.
FlResult fl__token_make(const FlSealTokenDef *def, const uint8_t key[FL_SEAL_KEY_BYTES],
                        const uint8_t nonce[NONCE_BYTES], const FlSealRandom *random,
                        uint8_t token[FL_SEAL_TOKEN_BYTES]);

/// The request packet that a token makes.
void fl__request_write(const uint8_t token[FL_SEAL_TOKEN_BYTES],
                       uint8_t request[FL_SEAL_REQUEST_BYTES]);

/// Addresses as the standard has them; family, type 1 or 2, no scope.
bool fl__address_writable(FlAddress address);
void fl__address_write(FlWriter *w, FlAddress address);
FlAddress fl__address_read(FlReader *r);

/// The first sequence number of a connection made with a token of that age.
uint64_t fl__first_sequence(uint64_t age_s);

// ---------------------------------------------------------------- challenge.c

typedef struct Challenge {
    uint64_t client_id;
    uint8_t user_data[FL_SEAL_USER_BYTES];
} Challenge;

void fl__challenge_seal(const Challenge *challenge, uint64_t sequence,
                        const uint8_t key[FL_SEAL_KEY_BYTES], uint8_t bytes[CHALLENGE_BYTES]);
bool fl__challenge_open(const uint8_t bytes[CHALLENGE_BYTES], uint64_t sequence,
                        const uint8_t key[FL_SEAL_KEY_BYTES], Challenge *challenge);

// ---------------------------------------------------------------- packet.c

typedef enum Kind {
    KIND_REQUEST = 0,
    KIND_DENIED = 1,
    KIND_CHALLENGE = 2,
    KIND_RESPONSE = 3,
    KIND_KEEP_ALIVE = 4,
    KIND_PAYLOAD = 5,
    KIND_DISCONNECT = 6,
    KIND_MOVE = 7,   // ours, client to server: is my address still the one you send to?
    KIND_PATH = 8,   // ours, to a new address: prove that you are there
    KIND_ANSWER = 9, // ours, from there: I am
    KIND_HELLO = 10, // ours, between introduced peers: my half of our keys
    KINDS,
} Kind;

#define KIND_BIT(kind) (1u << (kind))
#define KINDS_REPLAYED                                                                             \
    (KIND_BIT(KIND_KEEP_ALIVE) | KIND_BIT(KIND_PAYLOAD) | KIND_BIT(KIND_DISCONNECT) |              \
     KIND_BIT(KIND_MOVE) | KIND_BIT(KIND_PATH) | KIND_BIT(KIND_ANSWER))

#define MOVE_BYTES 16 // random, so that no MOVE is shorter than the PATH that answers it
#define HINT_BYTES 4  // MOVE, ANSWER and HELLO say in clear whose they are: the address may be new
#define CONTROL_BYTES (FL_SEAL_HEAD_BYTES + HINT_BYTES + 8 + CHALLENGE_BYTES + FL_SEAL_TAIL_BYTES)

typedef struct Packet {
    uint8_t prefix;
    Kind kind;
    uint64_t sequence;
    uint32_t hint;
    uint8_t *body;
    int32_t body_bytes; // without the proof
} Packet;

/// Seals `body_bytes` at `body`, before which FL_SEAL_HEAD_BYTES and behind which
/// FL_SEAL_TAIL_BYTES are free. Returns the packet's size, and its start in *start.
int32_t fl__packet_seal(uint64_t protocol_id, const uint8_t *key, Kind kind, uint64_t sequence,
                        uint8_t *body, int32_t body_bytes, uint8_t **start);

/// A short packet into `buffer` of CONTROL_BYTES; `hint` is used for the kinds that have one.
int32_t fl__packet_control(uint64_t protocol_id, const uint8_t *key, Kind kind, uint64_t sequence,
                           uint32_t hint, const void *body, int32_t body_bytes, uint8_t *buffer,
                           const uint8_t **start);

/// The size of such a packet.
int32_t fl__packet_size(Kind kind, uint64_t sequence, int32_t body_bytes);

/// Everything that can be known without a key; `kinds` are those that this side takes.
FlSealDrop fl__packet_parse(uint8_t *bytes, int32_t count, uint32_t kinds, Packet *packet);

/// Opens the body in place. False: not sealed with this key, or changed.
bool fl__packet_open(uint64_t protocol_id, const uint8_t *key, const Packet *packet);

/// The 12-byte nonce of a number.
void fl__nonce(uint64_t sequence, uint8_t nonce[12]);

// ---------------------------------------------------------------- replay.c

/// All zero: nothing was here.
typedef struct Replay {
    uint64_t seen[FL_SEAL_REPLAY_WINDOW / 64];
    uint64_t newest;
    bool any;
} Replay;

bool fl__replay_check(const Replay *replay, uint64_t sequence);

/// Only for packets that authenticated.
void fl__replay_note(Replay *replay, uint64_t sequence);

/// Parse, replay test, opening, note: for kinds that are protected against replay.
FlSealDrop fl__packet_take(uint64_t protocol_id, const uint8_t *key, Replay *replay,
                           const Packet *packet);

// ---------------------------------------------------------------- numbers, shared

#define LAST_SEQUENCE (UINT64_MAX - 1)

// Numbers of connections that start from the token's age. Each server on a token's list has a range
// of its own, so it matters to none what another's clock says; a connection starts in the first
// half of it, and has years of numbers left.
#define RANGE_BITS 36
#define RANGE_MASK ((UINT64_C(1) << RANGE_BITS) - 1)
#define FIRST_NUMBERS (UINT64_C(1) << (RANGE_BITS - 1))

/// Checks a caller's number and takes it; `last` is the last one that there is.
FlResult fl__sequence_take(uint64_t *next, uint64_t last, uint64_t sequence);

/// How a connection's payloads leave.
typedef struct PayloadWay {
    uint64_t protocol_id;
    const uint8_t *key;
    FlAddress to;
    uint64_t last; // number that may be used
} PayloadWay;

/// Seals `payload_bytes` at buffer + FL_SEAL_HEAD_BYTES with a number of the caller's.
FlResult fl__payload_seal(const PayloadWay *way, uint64_t *next, uint64_t sequence, uint8_t *buffer,
                          int32_t payload_bytes, FlSealed *out);

/// now >= since + seconds, where negative seconds are for ever.
bool fl__silent_for(FlTime now, FlTime since, int32_t seconds);

/// When that will be.
FlTime fl__silent_at(FlTime since, int32_t seconds);

// ---------------------------------------------------------------- map.c

typedef struct MapKey {
    uint64_t word[3];
} MapKey;

/// Indices 0 to capacity - 1 by their keys. Hashed with a secret, so that no attacker can choose
/// addresses that collide.
typedef struct Map {
    uint8_t secret[crypto_shorthash_KEYBYTES];
    int32_t *head;
    int32_t *next;
    MapKey *key;
    int32_t head_count; // a power of two
} Map;

int32_t fl__map_heads(int32_t capacity);
void fl__map_init(Map *map, int32_t capacity);    // storage and secret are set
int32_t fl__map_find(const Map *map, MapKey key); // -1: none
void fl__map_put(Map *map, MapKey key, int32_t index);
void fl__map_remove(Map *map, int32_t index);
MapKey fl__map_address(FlAddress address);
MapKey fl__map_number(uint64_t number);
MapKey fl__map_proof(const uint8_t proof[PROOF_BYTES]);

// ---------------------------------------------------------------- transitions.c

typedef enum ClientEvent {
    CLIENT_CONNECT,
    CLIENT_BAD_TOKEN,
    CLIENT_LEAVE,
    CLIENT_CHALLENGE,
    CLIENT_DENIED,
    CLIENT_KEEP_ALIVE,
    CLIENT_GOODBYE,
    CLIENT_SILENCE,
    CLIENT_EXPIRY,
    CLIENT_EVENTS,
} ClientEvent;

/// The row for an event in a state, or NULL: nothing happens.
const FlSealTransition *fl__transition(FlSealState from, ClientEvent event);

// ---------------------------------------------------------------- introduction.c

bool fl__introduction_good(const FlSealIntroduction *m);

// ---------------------------------------------------------------- pair_keys.c

#define HELLO_BYTES (FL_SEAL_KEY_BYTES + PROOF_BYTES)

/// What two introduced peers seal with; `root` is what the keys come of.
typedef struct PairKeys {
    uint8_t root[FL_SEAL_KEY_BYTES];
    uint8_t out[FL_SEAL_KEY_BYTES], in[FL_SEAL_KEY_BYTES];
} PairKeys;

/// Two introduced peers on their way to common keys.
typedef struct Agreement {
    bool open;    // hellos are taken
    bool met;     // the peer's half has come: fresh and proofs are set
    bool adopted; // the peer has proved that it has the same keys; ours are in use
    uint8_t introduction_key[FL_SEAL_KEY_BYTES];
    uint8_t hello_out[FL_SEAL_KEY_BYTES], hello_in[FL_SEAL_KEY_BYTES];
    uint32_t hint_out, hint_in;
    uint8_t secret[FL_SEAL_KEY_BYTES];
    uint8_t own_public[FL_SEAL_KEY_BYTES], peer_public[FL_SEAL_KEY_BYTES];
    uint8_t proof_out[PROOF_BYTES], proof_in[PROOF_BYTES];
    PairKeys fresh;
} Agreement;

/// Draws our half, for one introduction.
void fl__agreement_begin(Agreement *a, const FlSealIntroduction *m, const FlSealRandom *random);

/// The peer's half has come; `before` is the root of the keys in use, zeros if there are none.
/// False: no honest peer sends that.
bool fl__agreement_meet(Agreement *a, const FlSealIntroduction *m,
                        const uint8_t before[FL_SEAL_KEY_BYTES],
                        const uint8_t peer_public[FL_SEAL_KEY_BYTES]);
void fl__keys_binding(const PairKeys *keys, uint8_t binding[FL_SEAL_BINDING_BYTES]);

#endif
