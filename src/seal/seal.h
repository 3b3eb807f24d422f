// Module `seal`, for the modules above it.
#ifndef FAIRLEAD_SEAL_SEAL_INNER_H
#define FAIRLEAD_SEAL_SEAL_INNER_H

#include "fairlead/seal.h"

/// What a client can read of its token.
typedef struct FlSealToken {
    uint64_t protocol_id;
    uint64_t create_s, expire_s;
    int32_t timeout_s;
    int32_t address_count;
    FlAddress address[FL_SEAL_ADDRESSES];
    uint8_t to_server_key[FL_SEAL_KEY_BYTES];
    uint8_t to_client_key[FL_SEAL_KEY_BYTES];
} FlSealToken;

/// Errors: FL_BAD_VALUE (not a token of this standard, or with a field outside its range).
FL_NODISCARD FlResult fl__seal_token_read(const uint8_t token[FL_SEAL_TOKEN_BYTES],
                                          FlSealToken *out);

const char *fl__seal_state_name(FlSealState state);

/// The standard and nothing else: for servers that are not ours. Keep-alive 10 times a second.
FlSealClientDef fl__seal_client_def_standard(void);

/// A row of the client's table of transitions, which a test compares with what the client does.
typedef struct FlSealTransition {
    FlSealState from;
    const char *event;
    FlSealState next_server; ///< Where it leads when the token names another server to try,
    FlSealState last_server; ///< and when it does not.
} FlSealTransition;

/// All that can happen to a client, in each state. Pairs that are not in the table change nothing.
const FlSealTransition *fl__seal_transitions(int32_t *count);

/// The standard and nothing else: keep-alive 10 times a second, nothing of ours.
FlSealServerDef fl__seal_server_def_standard(void);

/// Bytes reserved for such a server: altogether, for one more slot, pending handshake, token
/// remembered.
typedef struct FlSealMemory {
    size_t all, slot, pending, token;
} FlSealMemory;

FlSealMemory fl__seal_server_memory(const FlSealServerDef *def);

/// The connection of an address or a client; {0} if there is none.
FlSealPeer fl__seal_server_at(const FlSealServer *server, FlAddress address);

FlSealPeer fl__seal_server_client(const FlSealServer *server, uint64_t client_id);

/// Ends a peer's connection without a word: for those who got the reason in a payload.
void fl__seal_server_drop(FlSealServer *server, FlSealPeer peer);

/// The client id that such a token has.
uint64_t fl__seal_invite_client(const FlSealInvite *invite, uint32_t number);

#define FL_SEAL_CANDIDATES 8

/// What a host that knows both sends to each of two peers, over its own sealed link to it. By its
/// key, fresh for every introduction, the two recognise each other; what they seal with they agree
/// on themselves (X25519), so that the host knows it only if it puts itself between them then.
typedef struct FlSealIntroduction {
    uint64_t protocol_id;
    uint64_t own_id, peer_id;                ///< Differ. The smaller one is the client.
    uint64_t expire_s;                       ///< Unix time until which the two must have met.
    int32_t timeout_s;                       ///< 1 to 3600.
    int32_t candidate_count;                 ///< 1 to FL_SEAL_CANDIDATES.
    FlAddress candidate[FL_SEAL_CANDIDATES]; ///< Where the peer may be reached.
    uint8_t key[FL_SEAL_KEY_BYTES];
} FlSealIntroduction;

/// Draws the key of a new pair into both ends' introductions, which are otherwise filled in.
void fl__seal_introduce(const FlSealRandom *random, FlSealIntroduction *one,
                        FlSealIntroduction *other);

#define FL_SEAL_INTRODUCTION_BYTES 219 ///< At most.

/// spec/WIRE.md section 9.6. The writer fails if a field is outside its range.
void fl__seal_introduction_write(FlWriter *writer, const FlSealIntroduction *introduction);
FL_NODISCARD bool fl__seal_introduction_read(FlReader *reader, FlSealIntroduction *introduction);

typedef enum FlSealPairState {
    FL_SEAL_PAIR_REACHING,  ///< Sending to all candidates.
    FL_SEAL_PAIR_CONNECTED, ///< Packets came both ways, and agreed on keys.
    FL_SEAL_PAIR_EXPIRED,   ///< They never met, or did not agree on the keys of a renewal.
    FL_SEAL_PAIR_TIMED_OUT,
    FL_SEAL_PAIR_LEFT, ///< Either said goodbye.
} FlSealPairState;

typedef struct FlSealPairDef {
    FlSealIntroduction introduction;
    uint64_t unix_s;  ///< Unix time at creation; it goes on with `now`.
    FlTime reach_ns;  ///< Between attempts while reaching.
    FlTime rebind_ns; ///< Payloads sent and nothing received for this long: asks whether our own
                      ///< address has changed. FL_FOREVER: never.
    FlSealRandom random;
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl__seal_pair_def_default(); leave alone.
} FlSealPairDef;

/// Attempts every 200 ms, never asks. Set introduction and unix_s.
FlSealPairDef fl__seal_pair_def_default(void);

typedef struct FlSealPair FlSealPair;

/// Errors: FL_NO_MEMORY, FL_BAD_VALUE, FL_SYSTEM (libsodium does not start).
FL_NODISCARD FlResult fl__seal_pair_create(const FlSealPairDef *def, FlTime now, FlSealPair **pair);
void fl__seal_pair_destroy(FlSealPair *pair);

/// Agrees on new keys by another introduction of the same two, while packets go on. The old keys
/// are mixed into the new ones: if the two do not have the same, the pair ends (EXPIRED).
/// Errors: FL_STALE_ID (not connected), FL_BAD_VALUE (of others, or a field outside its range).
FL_NODISCARD FlResult fl__seal_pair_renew(FlSealPair *pair, FlTime now, uint64_t unix_s,
                                          const FlSealIntroduction *introduction);

/// True: the datagram says in clear that it is for this pair. From an address that is not known,
/// only such a datagram is worth opening; to know costs no cryptography.
bool fl__seal_pair_hinted(const FlSealPair *pair, const uint8_t *bytes, int32_t count);

/// As for clients. A packet that does not authenticate is not this pair's, and `bytes` stay as they
/// were.
FlSealDrop fl__seal_pair_receive(FlSealPair *pair, FlTime now, FlAddress from, uint8_t *bytes,
                                 int32_t count, FlSealPayload *payload);
FL_NODISCARD FlResult fl__seal_pair_next(FlSealPair *pair, FlTime now, FlSealed *out);
FlTime fl__seal_pair_deadline(const FlSealPair *pair);
uint64_t fl__seal_pair_sequence(const FlSealPair *pair);
FL_NODISCARD FlResult fl__seal_pair_seal(FlSealPair *pair, FlTime now, uint64_t sequence,
                                         uint8_t *buffer, int32_t payload_bytes, FlSealed *out);

/// An answer to what is sent from now on is expected within `rebind_ns` (as in the definition).
void fl__seal_pair_expect(FlSealPair *pair, FlTime rebind_ns);
void fl__seal_pair_disconnect(FlSealPair *pair, FlTime now);

typedef struct FlSealPairStatus {
    FlSealPairState state;
    FlAddress address; ///< Where the peer is; family NONE until a packet came.
    uint64_t drops[FL_SEAL_DROPS];
} FlSealPairStatus;

FlSealPairStatus fl__seal_pair_status(const FlSealPair *pair);

/// A packet is received or sent in a moment. With many pairs none of them is in the cache.
void fl__seal_pair_soon(const FlSealPair *pair);

/// What every packet asks of it: whether it is connected, and where the peer is.
bool fl__seal_pair_connected(const FlSealPair *pair);
FlAddress fl__seal_pair_address(const FlSealPair *pair);

/// A value that both ends have in common, and secret to all others, other for every agreement: sign
/// or compare it, by an identity that your game has, to exclude a man in the middle. A renewal
/// changes it. Errors: FL_STALE_ID (no keys yet).
FL_NODISCARD FlResult fl__seal_pair_binding(const FlSealPair *pair,
                                            uint8_t binding[FL_SEAL_BINDING_BYTES]);

const char *fl__seal_drop_name(FlSealDrop drop);

/// Makes an invite with fresh key and id, good from now on. `address` is where the guest reaches
/// us: it is one of ours from now on, up to eight. Errors: FL_FULL, FL_BAD_VALUE (no uses, expired,
/// a ninth address, or one with a scope).
FL_NODISCARD FlResult fl__seal_server_invite(FlSealServer *server, FlTime now, FlAddress address,
                                             uint32_t uses, uint64_t expire_s,
                                             FlSealInvite *invite);

/// Whoever has this connection cannot come back with its invite of one use.
void fl__seal_server_no_return(FlSealServer *server, FlSealPeer peer);

/// Takes an invite back. Connections made with it stay. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult fl__seal_server_revoke(FlSealServer *server, uint64_t invite_id);

/// As text: a-z, A-Z, digits, - and _ behind "fairlead:".
void fl__seal_invite_text(const FlSealInvite *invite, char text[FL_SEAL_INVITE_TEXT]);

/// Ours: asks the server at once to follow us to a new address (after a change of network).
void fl__seal_client_moved(FlSealClient *client, FlTime now);

/// One sentence for people.
const char *fl__seal_state_text(FlSealState state);

/// Foreseeable bytes from a stream, for the lab and for tests: every run the same. The stream must
/// outlive what uses it.
FlSealRandom fl__seal_random_seeded(FlRandom *stream);

/// Counts since creation.
FlSealServerStats fl__seal_server_stats(const FlSealServer *server);

#endif
