// Private to module `seal`: a server, and what its files share.
#ifndef FAIRLEAD_SEAL_SERVER_PRIVATE_H
#define FAIRLEAD_SEAL_SERVER_PRIVATE_H

#include "private.h"

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
    FlTime received_at, said_at;
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
    bool single; // for one player, who may come back with it
    uint32_t uses_left;
    int32_t pending_count; // handshakes under way with its tokens
    uint64_t id;
    uint64_t guest; // single: the client that came in with it; 0: none yet, or sent away
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

/// Whether it lets that client in: one more, or the one it is for once again.
bool fl__invite_admits(const ServerInvite *invite, uint64_t client_id);
void fl__invite_spend(ServerInvite *invite, uint64_t client_id);

/// True for the ids that holders of that invite may take.
bool fl__invite_owns(uint64_t invite_id, uint64_t client_id);

#endif
