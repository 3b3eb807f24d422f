// Module `connection`: what its seals do; all that there is of them where there is no libsodium.
#ifndef FAIRLEAD_CONNECTION_SEALED_H
#define FAIRLEAD_CONNECTION_SEALED_H

#include "connection/connection.h"

// ---------------------------------------------------------------- sealed.c

/// What the seal says of a connection.
typedef enum SealedKind {
    SEALED_CAME, // host: a client by token: `index`, `def`, `client`
    SEALED_LOST, // `index`, `left`
    SEALED_IN,   // client: the host let us in: `def`
    SEALED_OVER, // client: we did not get in: `text`, `answered`
} SealedKind;

/// Who came by token.
typedef struct SealedClient {
    uint64_t client_id, invite_id;
    const uint8_t *user_data; // as long as it is connected; NULL: not sealed
    const uint8_t *about;     // what it says about itself,
    int32_t about_count;      // if it is more than 0
} SealedClient;

typedef struct SealedEvent {
    SealedKind kind;
    int32_t index;
    ConnectionDef def;
    SealedClient client;
    FlLeft left;
    const char *text; // why; lives for ever
    bool answered;    // by the host
    bool full;        // which says that it is
} SealedEvent;

/// False: it is not wanted.
typedef bool SealedFn(FlSession *session, const SealedEvent *event, FlTime now);

/// What a datagram brought.
typedef struct Opened {
    int32_t index; // FL__NONE: nothing for a connection
    const uint8_t *bytes;
    int32_t count;
    uint64_t sequence;
    FlSealDrop drop; // sealed: why not
} Opened;

FlResult fl__sealed_create(FlSession *session, FlTime now);
void fl__sealed_destroy(FlSession *session);
bool fl__is_sealed(const FlSession *session); // else anybody may join
Opened fl__sealed_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                          FlTime arrival, SealedFn *fn);
bool fl__sealed_next(FlSession *session, FlTime now, SealedFn *fn, FlOutgoing *out);
FlTime fl__sealed_deadline(const FlSession *session);

/// A sealed client's server.
typedef struct SealedServer {
    FlAddress address;
    bool asked; // to let us in, and it has not answered yet
    bool last;  // of those that the token names
} SealedServer;

/// Nowhere, if we are no client.
SealedServer fl__sealed_server(const FlSession *session);
uint64_t fl__sealed_sequence(const FlSession *session, int32_t index);

/// The seal is ready for packets of this connection.
bool fl__sealed_ready(const FlSession *session, int32_t index);

/// Seals what lies at fl__packet_bytes. False: it cannot go (and is as good as lost).
bool fl__sealed_seal(FlSession *session, int32_t index, FlTime now, uint64_t sequence,
                     int32_t bytes, FlOutgoing *out);
void fl__sealed_leave(FlSession *session, int32_t index, FlTime now);

/// Host: ends a connection with a sealed payload instead of the seal's goodbyes, which would say no
/// reason and may overtake it. False: it cannot be said.
bool fl__sealed_away(FlSession *session, int32_t index, const uint8_t *bytes, int32_t count,
                     FlTime now, FlOutgoing *out);

/// Host: whoever has this connection cannot come back with its invite.
void fl__sealed_no_return(FlSession *session, int32_t index);

/// Host: takes an invite back. False: there is none.
bool fl__sealed_revoke(FlSession *session, uint64_t invite_id);

#define SEALED_KEY_BYTES 256

/// By what two introduced members recognise each other.
typedef struct SealedKeys {
    FlAddress at; // where the other one is, if the keys' own address is not it; else no family
    int32_t count;
    uint8_t bytes[SEALED_KEY_BYTES];
} SealedKeys;

/// One who is introduced.
typedef struct Introduced {
    int32_t member;
    FlAddress address;
} Introduced;

void fl__sealed_introduce(FlSession *session, Introduced one, Introduced other, FlTime now,
                          SealedKeys *to_one, SealedKeys *to_other);

/// How often a pair sends.
typedef struct SealedPace {
    FlTime reach_ns;  // between attempts to reach the other end
    FlTime rebind_ns; // without an answer, until it asks whether our own address has changed
} SealedPace;

/// A pair by such keys; NULL: it cannot be. `pace` NULL: as for connections.
FlSealPair *fl__sealed_pair_create(FlSession *session, const SealedKeys *keys,
                                   const SealedPace *pace, FlTime now);

/// The pair of a connection agrees on new keys. False: there is none that could.
bool fl__sealed_pair_renew(FlSession *session, int32_t index, const SealedKeys *keys, FlTime now);

/// False: the connection is not one of a pair, or has no keys yet.
bool fl__sealed_binding(const FlSession *session, int32_t index,
                        uint8_t binding[FL_SEAL_BINDING_BYTES]);

/// From an address that is not known: whether the datagram says that it is the pair's, and whether
/// the ration of such openings allows one more.
bool fl__sealed_pair_hinted(const FlSealPair *pair, const uint8_t *bytes, int32_t count);
bool fl__sealed_may_open(FlSession *session, FlTime now);
void fl__sealed_pair_destroy(FlSealPair *pair);           // NULL is fine
void fl__sealed_pair_leave(FlSealPair *pair, FlTime now); // and says so
bool fl__sealed_pair_ready(const FlSealPair *pair);
void fl__sealed_pair_soon(const FlSealPair *pair); // it is used in a moment

/// False: it is not the pair's; opened->drop says why, and is for the caller to count. Without a
/// payload opened->bytes is NULL. `at` is where the other end is.
bool fl__sealed_pair_open(FlSession *session, FlSealPair *pair, FlAddress from,
                          const uint8_t *bytes, int32_t count, FlTime arrival, Opened *opened,
                          FlAddress *at);
void fl__sealed_dropped(FlSession *session, FlSealDrop drop);

/// Seals the `count` bytes that follow FL_SEAL_HEAD_BYTES at `packet`.
bool fl__sealed_pair_seal(FlSealPair *pair, FlTime now, uint8_t *packet, int32_t count,
                          FlOutgoing *out);

/// An answer to what is sent from now on is expected within this (SealedPace).
void fl__sealed_pair_expect(FlSealPair *pair, FlTime rebind_ns);

/// What the pair sends by itself, and when.
bool fl__sealed_pair_next(FlSealPair *pair, FlTime now, FlOutgoing *out);
FlTime fl__sealed_pair_deadline(const FlSealPair *pair);

#endif
