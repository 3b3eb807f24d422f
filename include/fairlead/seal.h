// fairlead/seal.h: who may talk. Sealed connections by the public standard netcode 1.02.
//
// Whoever may admit players (a backend, or a host that writes an invite) mints a *connect
// token*. With it a client proves to a server that it was admitted and that its address is its own;
// from then on both exchange packets that no one else can read, change or repeat.
//
//     backend ── connect token ──▶ client                      server
//                                    │ ── request (1078 bytes) ──▶ │  the token is genuine
//                                    │ ◀── challenge (333) ─────── │  nothing reserved but its keys
//                                    │ ── response ──────────────▶ │  the address is its own: a
//                                    slot │ ◀── keep-alive ──────────── │ │ ◀══ payloads, sealed
//                                    ═════▶ │
//
// The handshake is the standard's, byte for byte, so backends and implementations written elsewhere
// fit. Ours are four additions, each switched by a definition and absent from the *_standard()
// ones: a newer token replaces a dead connection, a client may change its address (rebinding),
// invites, and introduced pairs (peers of a mesh). docs/guide/seal.md explains, docs/decisions/0008
// gives reasons, spec/WIRE.md has every byte, SECURITY.md says what is and is not protected.
//
// Nothing here does I/O or reads a clock: bytes and times go in, bytes and events come out. Random
// bytes come through a hook. Memory is reserved at creation.
//
// Systems: wherever libsodium is. Our Windows build leaves this module out (see
// src/CMakeLists.txt).
//
// Threads: objects share nothing; one thread at a time per object.
#ifndef FAIRLEAD_SEAL_H
#define FAIRLEAD_SEAL_H

#include "fairlead/base.h"
#include "fairlead/wire.h"

// ---------------------------------------------------------------- sizes

#define FL_SEAL_KEY_BYTES 32
#define FL_SEAL_TOKEN_BYTES 2048   ///< A connect token.
#define FL_SEAL_USER_BYTES 256     ///< The game's own bytes in a token, for the server's eyes.
#define FL_SEAL_ADDRESSES 32       ///< Servers in a token, at most.
#define FL_SEAL_REQUEST_BYTES 1078 ///< A connection request: the only packet in clear.
#define FL_SEAL_PAYLOAD_BYTES 1200 ///< The largest payload.
#define FL_SEAL_HEAD_BYTES 9       ///< Before a payload: prefix and up to 8 bytes of sequence.
#define FL_SEAL_TAIL_BYTES 16      ///< After it: the proof.
#define FL_SEAL_PACKET_BYTES (FL_SEAL_HEAD_BYTES + FL_SEAL_PAYLOAD_BYTES + FL_SEAL_TAIL_BYTES)
#define FL_SEAL_REPLAY_WINDOW 1024 ///< Packets this much older than the newest are refused.

// ---------------------------------------------------------------- random bytes

/// Where keys and nonces come from. A NULL function: libsodium's generator, the only right one
/// outside tests.
typedef struct FlSealRandom {
    void (*fill_fn)(void *ctx, void *bytes, size_t count);
    void *ctx;
} FlSealRandom;

/// A fresh key, for a server and its backend.
FL_API void fl_seal_key(const FlSealRandom *random, uint8_t key[FL_SEAL_KEY_BYTES]);

// ---------------------------------------------------------------- connect tokens

/// What a token says.
typedef struct FlSealTokenDef {
    uint64_t protocol_id; ///< The world's (FlWorld.protocol_id).
    uint64_t client_id;   ///< Who is admitted. Below 2^63: the rest is for invites.
    uint64_t create_s;    ///< Unix time now,
    uint64_t expire_s;    ///< and when the token is no longer good for connecting; above create_s.
    int32_t timeout_s;    ///< Silence that ends the connection; negative: never (development only).
    int32_t address_count;                 ///< 1 to FL_SEAL_ADDRESSES,
    FlAddress address[FL_SEAL_ADDRESSES];  ///< tried in this order. No scopes: the format has none.
    uint8_t user_data[FL_SEAL_USER_BYTES]; ///< Sealed: the client cannot read or change it.
} FlSealTokenDef;

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_seal_token_def_problem(const FlSealTokenDef *def, FlError *error);

/// Makes a connect token under the server's private key. For backends and tests.
/// Errors: FL_BAD_VALUE (fl_seal_token_def_problem says what), FL_SYSTEM (libsodium does not
/// start).
FL_API FL_NODISCARD FlResult fl_seal_token_make(const FlSealTokenDef *def,
                                                const uint8_t private_key[FL_SEAL_KEY_BYTES],
                                                const FlSealRandom *random,
                                                uint8_t token[FL_SEAL_TOKEN_BYTES]);

// ---------------------------------------------------------------- why a packet was dropped

/// X(name, word, meaning). Requests are tested in the order of the first block.
#define FL_SEAL_DROP_TABLE(X)                                                                      \
    X(NONE, "none", "taken")                                                                       \
    X(SHORT, "short", "ended before it should")                                                    \
    X(LARGE, "large", "longer than its kind may be")                                               \
    X(VERSION, "version", "a request of another version of the standard")                          \
    X(PROTOCOL, "protocol", "a request for another game or world")                                 \
    X(EXPIRED, "expired", "the token's time is over")                                              \
    X(LIFE, "life", "the token lasts longer than any that is minted for this server")              \
    X(RATE, "rate", "too many requests now: not even looked at")                                   \
    X(KEY, "key", "the token was sealed with another key, or changed")                             \
    X(TOKEN, "token", "the token is genuine but says something that no backend says")              \
    X(ADDRESS, "address", "the token is for other servers")                                        \
    X(CONNECTED, "connected", "that address is connected already")                                 \
    X(CLIENT, "client", "that client is connected already")                                        \
    X(REUSED, "reused", "the token was used from another address before")                          \
    X(SPENT, "spent", "the token has made a connection before")                                    \
    X(INVITE, "invite", "the invite is used up or its time is over")                               \
    X(FULL, "full", "no slot is free: denied")                                                     \
    X(CROWDED, "crowded", "too many handshakes at once")                                           \
    X(KIND, "kind", "no such kind of packet, or not one for this side")                            \
    X(SEQUENCE, "sequence", "a sequence number of 0 or more than 8 bytes")                         \
    X(STRANGER, "stranger", "a sealed packet from an address that has no keys here")               \
    X(REPLAY, "replay", "was here before, or is too old to tell")                                  \
    X(TAMPERED, "tampered", "does not authenticate: changed, or sealed with another key")          \
    X(CHALLENGE, "challenge", "answers a challenge that was not this client's")                    \
    X(STATE, "state", "genuine, but not expected now")                                             \
    X(PATH, "path", "answers a path challenge that was not put to this address")

/// Why an incoming packet was dropped.
typedef enum FlSealDrop {
#define FL_SEAL_DROP_ROW(name, word, meaning) FL_SEAL_DROP_##name,
    FL_SEAL_DROP_TABLE(FL_SEAL_DROP_ROW)
#undef FL_SEAL_DROP_ROW
        FL_SEAL_DROPS
} FlSealDrop;

// ---------------------------------------------------------------- packets out

/// A datagram to send.
typedef struct FlSealed {
    FlAddress to;
    const uint8_t *bytes; ///< Valid until the next call on the object.
    int32_t count;
} FlSealed;

// Payloads are sealed in place: the caller writes a payload of up to FL_SEAL_PAYLOAD_BYTES at
// buffer + FL_SEAL_HEAD_BYTES, in a buffer of FL_SEAL_PACKET_BYTES; the packet then lies somewhere
// in that buffer.
//
// Sequence numbers are shared with module `link` (FlLinkDef.external_sequence): the number of a
// payload is the caller's, but never one that was used before. Ask fl_seal_*_sequence for the
// lowest that may come next; keep-alives and the like take numbers of the same series, so there are
// gaps.

// ---------------------------------------------------------------- client

/// The standard's states and numbers. X(name, value, meaning)
#define FL_SEAL_STATE_TABLE(X)                                                                     \
    X(TOKEN_EXPIRED, -6, "the token expired before any server let us in")                          \
    X(INVALID_TOKEN, -5, "the token cannot be read: get another one")                              \
    X(TIMED_OUT, -4, "the server was silent for too long")                                         \
    X(RESPONSE_TIMED_OUT, -3, "no server answered our response")                                   \
    X(REQUEST_TIMED_OUT, -2, "no server answered our request")                                     \
    X(DENIED, -1, "every server is full")                                                          \
    X(DISCONNECTED, 0, "not connected")                                                            \
    X(REQUESTING, 1, "sending requests")                                                           \
    X(RESPONDING, 2, "sending responses to a challenge")                                           \
    X(CONNECTED, 3, "connected")

typedef enum FlSealState {
#define FL_SEAL_STATE_ROW(name, value, meaning) FL_SEAL_##name = (value),
    FL_SEAL_STATE_TABLE(FL_SEAL_STATE_ROW)
#undef FL_SEAL_STATE_ROW
} FlSealState;

typedef struct FlSealClientDef {
    FlTime ask_ns;            ///< Between requests, and between responses.
    FlTime keep_alive_ns;     ///< Say something at least this often while connected.
    FlTime rebind_ns;         ///< Ours: after this much silence, ask whether our address changed.
                              ///< FL_FOREVER: never.
    bool numbers_by_age;      ///< Ours: first sequence number from the token's age, so that a
                              ///< client started again with the same token repeats no nonce; and
                              ///< numbers that another server may have used are skipped.
    int32_t disconnect_count; ///< Goodbyes, all at once, because none is acknowledged.
    FlSealRandom random;
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_seal_client_def_default(); leave alone.
} FlSealClientDef;

/// Right for our own servers: asks 10 times a second, keep-alive every second, rebinds after 2 s.
FL_API FlSealClientDef fl_seal_client_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_seal_client_def_problem(const FlSealClientDef *def, FlError *error);

typedef struct FlSealClient FlSealClient;

/// Errors: FL_NO_MEMORY, FL_BAD_VALUE, FL_SYSTEM (libsodium does not start).
FL_API FL_NODISCARD FlResult fl_seal_client_create(const FlSealClientDef *def,
                                                   FlSealClient **client);
FL_API void fl_seal_client_destroy(FlSealClient *client);

/// Starts connecting, from any state. `unix_s` is Unix time now; only numbers_by_age needs it: how
/// long a token is tried follows from its own two times, so a wrong clock shuts no player out.
/// Errors: FL_BAD_VALUE (then the state is INVALID_TOKEN).
FL_API FL_NODISCARD FlResult fl_seal_client_connect(FlSealClient *client, FlTime now,
                                                    uint64_t unix_s,
                                                    const uint8_t token[FL_SEAL_TOKEN_BYTES]);

/// Says goodbye (fl_seal_client_next has the packets) and is disconnected at once.
FL_API void fl_seal_client_disconnect(FlSealClient *client, FlTime now);

/// A payload that arrived.
typedef struct FlSealPayload {
    uint8_t *bytes; ///< In place, in the datagram; NULL when the packet brought none.
    int32_t count;
    uint64_t sequence;
} FlSealPayload;

/// Takes a datagram, which is opened in place (its bytes change). A dropped one changes nothing but
/// a counter.
FL_API FlSealDrop fl_seal_client_receive(FlSealClient *client, FlTime now, FlAddress from,
                                         uint8_t *bytes, int32_t count, FlSealPayload *payload);

/// The next datagram of the handshake, keep-alives and goodbyes that is due; call it until there
/// is none. Time-outs are noticed here. Errors: FL_NOT_FOUND (none is due).
FL_API FL_NODISCARD FlResult fl_seal_client_next(FlSealClient *client, FlTime now, FlSealed *out);

/// When fl_seal_client_next has something to do; in the past: now. FL_FOREVER: nothing ever, as
/// things are.
FL_API FlTime fl_seal_client_deadline(const FlSealClient *client);

/// The lowest number for the next payload.
FL_API uint64_t fl_seal_client_sequence(const FlSealClient *client);

/// Seals a payload in place, see above.
/// Errors: FL_STALE_ID (not connected), FL_BAD_VALUE (empty or too large), FL_OUT_OF_ORDER (the
/// number was used), FL_FULL (the numbers have run out: get another token).
FL_API FL_NODISCARD FlResult fl_seal_client_seal(FlSealClient *client, FlTime now,
                                                 uint64_t sequence, uint8_t *buffer,
                                                 int32_t payload_bytes, FlSealed *out);

typedef struct FlSealClientStatus {
    FlSealState state;
    int32_t server;      ///< Which of the token's addresses we are talking to,
    FlAddress address;   ///< and that address.
    uint32_t index;      ///< Our slot at the server, once connected,
    uint32_t slot_count; ///< of this many.
    uint64_t drops[FL_SEAL_DROPS];
} FlSealClientStatus;

/// Where it stands, and what it dropped.
FL_API FlSealClientStatus fl_seal_client_status(const FlSealClient *client);

// ---------------------------------------------------------------- server

typedef struct FlSealServerDef {
    uint64_t protocol_id;                   ///< The world's.
    uint8_t private_key[FL_SEAL_KEY_BYTES]; ///< Shared with the backend only.
    FlAddress address[8];                   ///< As clients reach us, and as tokens name us.
    int32_t address_count;
    uint64_t unix_s;          ///< Unix time at creation; it goes on with `now`.
    int32_t slot_capacity;    ///< Clients at once; 1 to 65536.
    int32_t pending_capacity; ///< Handshakes at once; none takes a slot before it is through.
    int32_t token_capacity;   ///< Tokens remembered. Beyond this the oldest is forgotten, and could
                              ///< be used once more from another address: counted.
    int32_t invite_capacity;  ///< Ours: invites at once; 0: none.
    double strangers_s;       ///< Requests decrypted per second, of tokens not seen before,
    double known_s;           ///< and of those seen before from the same address. Each has a burst
    double burst;             ///< of this many.
    uint32_t token_life_s; ///< Ours: no token lasts longer than this; sequence numbers start from
                           ///< its age, and from our place in its list, so that none repeats when
                           ///< the server starts again or a client tries the next one. 0: any
                           ///< token, numbers start at zero.
    FlTime keep_alive_ns;  ///< Say something to each client at least this often.
    bool replace;          ///< Ours: a newer token replaces its client's older connection.
    bool rebind;           ///< Ours: clients may change their address.
    bool spend;            ///< Ours: a token makes one connection only.
    bool lasting_invites;  ///< Ours: invites follow from private_key, address and expiry instead of
                           ///< chance. A server started again with the same key and protocol that
                           ///< writes them again, in the same order, knows those it wrote before;
                           ///< their uses count anew.
    int32_t disconnect_count; ///< Goodbyes, all at once.
    FlSealRandom random;
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_seal_server_def_default(); leave alone.
} FlSealServerDef;

/// Right for a game of up to 64: everything of ours switched on, tokens of up to an hour, 2000
/// requests/s. Set protocol_id, private_key, address, unix_s.
FL_API FlSealServerDef fl_seal_server_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_seal_server_def_problem(const FlSealServerDef *def, FlError *error);

typedef struct FlSealServer FlSealServer;

/// Errors: FL_NO_MEMORY, FL_BAD_VALUE, FL_SYSTEM (libsodium does not start).
FL_API FL_NODISCARD FlResult fl_seal_server_create(const FlSealServerDef *def, FlTime now,
                                                   FlSealServer **server);
FL_API void fl_seal_server_destroy(FlSealServer *server);

/// Names one connection. Pass by value; {0} names none.
typedef struct FlSealPeer {
    uint32_t index1; ///< Slot plus one.
    uint32_t generation;
} FlSealPeer;

/// Takes a datagram, which is opened in place (its bytes change). `peer` and `payload` say what it
/// brought. A dropped one changes nothing but a counter.
FL_API FlSealDrop fl_seal_server_receive(FlSealServer *server, FlTime now, FlAddress from,
                                         uint8_t *bytes, int32_t count, FlSealPeer *peer,
                                         FlSealPayload *payload);

/// The next challenge, keep-alive, denial or goodbye that is due; call it until there is none.
/// Time-outs are noticed here. Errors: FL_NOT_FOUND (none is due).
FL_API FL_NODISCARD FlResult fl_seal_server_next(FlSealServer *server, FlTime now, FlSealed *out);

/// When fl_seal_server_next has something to do; in the past: now.
FL_API FlTime fl_seal_server_deadline(const FlSealServer *server);

typedef enum FlSealEventKind {
    FL_SEAL_EVENT_CONNECTED,
    FL_SEAL_EVENT_MOVED, ///< Its address changed.
    FL_SEAL_EVENT_GONE,  ///< See `gone`.
} FlSealEventKind;

typedef enum FlSealGone {
    FL_SEAL_GONE_LEFT,      ///< It said goodbye.
    FL_SEAL_GONE_TIMED_OUT, ///< It was silent for too long.
    FL_SEAL_GONE_KICKED,    ///< fl_seal_server_disconnect.
    FL_SEAL_GONE_REPLACED,  ///< The same client connected with a newer token.
} FlSealGone;

typedef struct FlSealEvent {
    FlSealEventKind kind;
    FlSealGone gone;
    FlSealPeer peer;
    uint64_t client_id;
    uint64_t invite_id; ///< 0: admitted by the backend.
    FlAddress address;
} FlSealEvent;

/// What happened, each once. Errors: FL_NOT_FOUND. At most 4 events per slot wait; more are lost
/// and counted in FlSealServerStats.events_lost.
FL_API FL_NODISCARD FlResult fl_seal_server_take_event(FlSealServer *server, FlSealEvent *event);

/// What is known of a connection.
typedef struct FlSealPeerStatus {
    FlAddress address;
    uint64_t client_id;
    uint64_t invite_id;
    const uint8_t *user_data; ///< FL_SEAL_USER_BYTES of them; valid until the connection ends.
    bool confirmed;           ///< Its first packet has come: it knows that it is connected.
} FlSealPeerStatus;

/// Errors: FL_STALE_ID.
FL_API FL_NODISCARD FlResult fl_seal_server_status(const FlSealServer *server, FlSealPeer peer,
                                                   FlSealPeerStatus *status);

/// The lowest number for the next payload to a peer; 0 if there is no such peer.
FL_API uint64_t fl_seal_server_sequence(const FlSealServer *server, FlSealPeer peer);

/// Seals a payload in place, see above. Until the client is known to know that it is connected, the
/// standard wants a keep-alive before each payload: then there are two datagrams, else one.
/// Errors: FL_STALE_ID, FL_BAD_VALUE (empty or too large), FL_OUT_OF_ORDER (the number was used),
/// FL_FULL (the numbers have run out).
FL_API FL_NODISCARD FlResult fl_seal_server_seal(FlSealServer *server, FlSealPeer peer, FlTime now,
                                                 uint64_t sequence, uint8_t *buffer,
                                                 int32_t payload_bytes, FlSealed out[2],
                                                 int32_t *out_count);

/// Says goodbye to a peer. Stale peers are ignored.
FL_API void fl_seal_server_disconnect(FlSealServer *server, FlTime now, FlSealPeer peer);

typedef struct FlSealServerStats {
    int32_t connected, pending;
    uint64_t requests, requests_decrypted, challenges, denials, accepted, moved;
    uint64_t tokens_forgotten; ///< Before their time was over.
    uint64_t answers_lost;     ///< Denials and goodbyes for which there was no room.
    uint64_t events_lost;
    uint64_t bytes_in, bytes_out; ///< Without the headers of UDP and IP.
    uint64_t drops[FL_SEAL_DROPS];
} FlSealServerStats;

// ---------------------------------------------------------------- invites: ours

/// Lets a player in without a backend. Whoever holds it can mint tokens for this server, and
/// nothing else: it has a key of its own. Holders of one invite can take each other's names.
typedef struct FlSealInvite {
    uint64_t protocol_id;
    uint64_t invite_id;
    uint64_t expire_s; ///< Unix time.
    uint32_t uses;     ///< Connections that it is good for.
    FlAddress address;
    uint8_t key[FL_SEAL_KEY_BYTES];
} FlSealInvite;

/// Room for an invite as text, with its closing zero.
#define FL_SEAL_INVITE_TEXT 160

/// Errors: FL_BAD_VALUE (mistyped, cut off, or of another version).
FL_API FL_NODISCARD FlResult fl_seal_invite_parse(const char *text, FlSealInvite *invite);

/// Mints a token for ourselves. `number` tells holders of one invite apart, and names the client:
/// keep it for coming back under the same client id, or draw one.
/// Errors: FL_BAD_VALUE (expired), FL_SYSTEM.
FL_API FL_NODISCARD FlResult fl_seal_invite_token(const FlSealInvite *invite, uint32_t number,
                                                  uint64_t unix_s, int32_t timeout_s,
                                                  const uint8_t user_data[FL_SEAL_USER_BYTES],
                                                  const FlSealRandom *random,
                                                  uint8_t token[FL_SEAL_TOKEN_BYTES]);

#define FL_SEAL_BINDING_BYTES 32 ///< Of fl_peer_binding.

#endif
