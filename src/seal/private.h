// Private to room `seal`.
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
#ifndef FAIRLEAD_SEAL_PRIVATE_H
#define FAIRLEAD_SEAL_PRIVATE_H

#include "fairlead/seal.h"

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
    KINDS,
} Kind;

#define KIND_BIT(kind) (1u << (kind))
#define KINDS_REPLAYED                                                                             \
    (KIND_BIT(KIND_KEEP_ALIVE) | KIND_BIT(KIND_PAYLOAD) | KIND_BIT(KIND_DISCONNECT) |              \
     KIND_BIT(KIND_MOVE) | KIND_BIT(KIND_PATH) | KIND_BIT(KIND_ANSWER))

#define MOVE_BYTES 16 // random, so that no MOVE is shorter than the PATH that answers it
#define HINT_BYTES 4  // MOVE and ANSWER carry the slot in clear: their address is not known
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

/// Everything that can be told without a key; `kinds` are those that this side takes.
FlSealDrop fl__packet_parse(uint8_t *bytes, int32_t count, uint32_t kinds, Packet *packet);

/// Opens the body in place. False: not sealed with this key, or changed.
bool fl__packet_open(uint64_t protocol_id, const uint8_t *key, const Packet *packet);

/// The 12-byte nonce of a number.
void fl__nonce(uint64_t sequence, uint8_t nonce[12]);

uint64_t fl__load_u64(const uint8_t *bytes);
uint32_t fl__load_u32(const uint8_t *bytes);
void fl__store_u64(uint8_t *bytes, uint64_t value);
void fl__store_u32(uint8_t *bytes, uint32_t value);

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

/// Checks a caller's number and takes it.
FlResult fl__sequence_take(uint64_t *next, uint64_t sequence);

/// now >= since + seconds, where negative seconds are for ever.
bool fl__silent_for(FlTime now, FlTime since, int32_t seconds);

/// When that will be.
FlTime fl__silent_at(FlTime since, int32_t seconds);

// ---------------------------------------------------------------- map.c

typedef struct MapKey {
    uint64_t word[3];
} MapKey;

/// Indices 0 to capacity - 1 by their keys. Hashed with a secret, so that nobody can choose
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

// ---------------------------------------------------------------- the server

typedef struct Bucket {
    double tokens;
    FlTime filled_at;
} Bucket;

/// A new address that has not proved itself yet.
typedef struct Path {
    FlAddress address; // family NONE: no path is being tried
    uint8_t token[PATH_BYTES];
    int32_t credit_bytes; // what it sent minus what it got
} Path;

typedef struct Slot {
    uint32_t generation; // odd while connected
    int32_t token;       // in the history,
    uint64_t serial;     // if that still has this serial
    FlAddress address;
    uint64_t client_id;
    uint64_t invite_id;
    uint64_t expire_s; // of its token: a later one is newer
    int32_t timeout_s;
    bool confirmed;
    uint64_t next; // sequence number
    uint64_t last; // that may be used
    FlTime heard_at, said_at;
    Path path;
    Replay replay;
    uint8_t to_server_key[FL_SEAL_KEY_BYTES];
    uint8_t to_client_key[FL_SEAL_KEY_BYTES];
    uint8_t user_data[FL_SEAL_USER_BYTES];
} Slot;

/// An address whose token was genuine and which has not answered its challenge yet.
typedef struct Pending {
    bool used;
    bool due;    // a challenge
    bool queued; // its index is in the queue of challenges
    int32_t token;
    uint64_t serial;
    FlAddress address;
    uint64_t client_id;
    uint64_t invite_id;
    uint64_t expire_s;
    int32_t timeout_s;
    int32_t place;  // of this server in the token's list
    uint64_t floor; // the client says that no server has used numbers from here on in its range
    FlTime until;
    uint64_t challenge_from; // the number of its first challenge, at least
    uint8_t to_server_key[FL_SEAL_KEY_BYTES];
    uint8_t to_client_key[FL_SEAL_KEY_BYTES];
    uint8_t user_data[FL_SEAL_USER_BYTES];
} Pending;

/// A token that was used.
typedef struct Seen {
    uint64_t serial; // 0: none
    uint64_t expire_s;
    uint64_t next; // sequence number with its key that was not used yet
    FlAddress address;
    bool spent;
} Seen;

typedef struct ServerInvite {
    bool used;
    uint32_t uses_left;
    int32_t pending_count; // handshakes under way with its tokens
    uint64_t id;
    uint64_t expire_s;
    uint8_t key[FL_SEAL_KEY_BYTES];
} ServerInvite;

/// A short packet on its way out: denials, goodbyes, path challenges, first keep-alives.
typedef struct Note {
    Kind kind;
    int32_t left; // how many times, each with the next number
    FlAddress to;
    uint64_t sequence;
    int32_t body_bytes;
    uint8_t body[8];
    uint8_t key[FL_SEAL_KEY_BYTES];
} Note;

/// Indices of a ring: first to next - 1, modulo capacity.
typedef struct Ring {
    int32_t capacity, first, count;
} Ring;

struct FlSealServer {
    FlSealServerDef def;
    FlTime started_at;
    void *memory;
    size_t memory_bytes;

    Slot *slots;
    int32_t *free_slots;
    int32_t free_count, free_pending_count;
    Map slot_by_address, slot_by_client;

    Pending *pendings;
    int32_t *free_pendings;
    Map pending_by_address;
    int32_t *challenge_queue;

    Seen *seen;
    int32_t seen_next;   // the oldest, overwritten next
    int32_t sweep_index; // of the sweep under way; -1: none is
    uint64_t serial;
    Map seen_by_proof;

    ServerInvite *invites;
    Map invite_by_id;

    Note *notes;
    FlSealEvent *events;
    Ring challenge_ring, note_ring, event_ring;

    uint8_t challenge_key[FL_SEAL_KEY_BYTES];
    uint64_t challenge_sequence;
    uint64_t global_sequence; // of packets to addresses without a slot
    Bucket strangers, known;

    FlTime sweep_at;   // when slots and handshakes must be looked through
    FlTime sweep_next; // the same for the next time, while a sweep is under way
    FlSealServerStats stats;
    uint8_t packet[CONTROL_BYTES];
};

// server.c
uint64_t fl__server_unix(const FlSealServer *server, FlTime now);
Note *fl__server_note(FlSealServer *server); // NULL: no room, counted
void fl__server_event(FlSealServer *server, const FlSealEvent *event);
void fl__server_wake(FlSealServer *server, FlTime at);
bool fl__bucket_take(Bucket *bucket, FlTime now, double rate_s, double burst);

// request.c
FlSealDrop fl__request_take(FlSealServer *server, FlTime now, FlAddress from, uint8_t *bytes,
                            int32_t count);
FlSealDrop fl__response_take(FlSealServer *server, FlTime now, FlAddress from,
                             const Packet *packet);
void fl__pending_remove(FlSealServer *server, int32_t index);
bool fl__challenge_next(FlSealServer *server, FlSealed *out);

// slot.c
Slot *fl__slot_of(const FlSealServer *server, FlSealPeer peer); // NULL: stale
FlSealPeer fl__slot_peer(const FlSealServer *server, const Slot *slot);
Slot *fl__slot_open(FlSealServer *server, FlTime now, const Pending *pending);
void fl__slot_close(FlSealServer *server, Slot *slot, FlSealGone gone);
FlSealDrop fl__slot_take(FlSealServer *server, FlTime now, Slot *slot, const Packet *packet,
                         FlSealPayload *payload);
void fl__slot_keep_alive(const FlSealServer *server, const Slot *slot, uint8_t body[8]);
FlTime fl__slot_deadline(const FlSealServer *server, const Slot *slot);
bool fl__slot_due(const FlSealServer *server, const Slot *slot, FlTime now);

// path.c
FlSealDrop fl__path_take(FlSealServer *server, FlTime now, FlAddress from, int32_t count,
                         const Packet *packet);

// invite.c
ServerInvite *fl__invite_find(const FlSealServer *server, uint64_t invite_id);
bool fl__invite_good(const ServerInvite *invite, uint64_t unix_s);

/// True for the ids that holders of that invite may take.
bool fl__invite_owns(uint64_t invite_id, uint64_t client_id);

#endif
