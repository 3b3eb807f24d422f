// Sealing and opening, and what the seal says of connections. Module `seal` does it; this connects
// it.
//
// At a host, slot i of the seal's server is connection i. A client's connection to its host is the
// seal's client; introduced peers have a pair each.
#include "private.h"

#include "connection/sealed.h"
#include "link/link.h"

#include <string.h>

#define MEET_WITHIN_S 30       // introductions are good for this long
#define PAIR_TIMEOUT_S 60      // silence that ends a pair: a packet every 15 s keeps it
#define PAIR_REBIND FL_MS(500) // without an answer: has our own address changed?

// Openings of packets from addresses that are not known: burst, and per second.
#define UNKNOWN_BURST 64.0
#define UNKNOWN_PER_S 64.0

struct Sealed {
    FlSealServer *server; // host
    FlSealClient *client;
    int32_t server_count; // client: that its token names
    FlSealRandom random;
    uint64_t unix_s;   // at
    FlTime created;    // this time
    FlOutgoing second; // a datagram that must follow the one given out last
    bool second_waits;
    FlTime pairs_from; // the upload has no room for what pairs send by themselves before then
    FlBudget hinted;   // openings of packets from addresses that are not known: by their hints,
    FlBudget guessed;  // and by trying
    uint64_t pair_drops[FL_SEAL_DROPS];
};

static uint64_t unix_at(const Sealed *sealed, FlTime now)
{
    return sealed->unix_s + (uint64_t)(fl_span(now, sealed->created) / FL_SEC(1));
}

static FlResult create_server(FlSession *session, const FlSealServerDef *given, FlTime now)
{
    FlSealServerDef def = *given;
    def.protocol_id = session->world.protocol_id;
    def.slot_capacity = session->connection_count;
    def.unix_s = session->def.unix_s;
    def.random = session->def.random;
    def.alloc = session->def.alloc;
    // The link keeps it alive; this is for when the link has nothing to answer.
    def.keep_alive_ns = session->def.tuning.link.timeout_ns / 4 * 3;
    FlResult result = fl_seal_server_create(&def, now, &session->connections->sealed->server);
    fl_wipe(&def, sizeof def);
    return result;
}

static FlResult create_client(FlSession *session, const uint8_t *token, FlTime now)
{
    FlSealClientDef def = fl_seal_client_def_default();
    def.random = session->def.random;
    def.alloc = session->def.alloc;
    def.keep_alive_ns = session->def.tuning.link.timeout_ns / 4 * 3;
    def.rebind_ns =
        session->def.tuning.link.timeout_ns / 2; // the link has asked before, and got no answer
    FlResult result = fl_seal_client_create(&def, &session->connections->sealed->client);
    if (result != FL_OK) {
        return result;
    }
    FlSealToken readable;
    result = fl__seal_token_read(token, &readable);
    bool good = result == FL_OK && readable.protocol_id == session->world.protocol_id;
    session->connections->sealed->server_count = readable.address_count;
    fl_wipe(&readable, sizeof readable);
    if (!good) {
        return FL_BAD_VALUE;
    }
    return fl_seal_client_connect(session->connections->sealed->client, now, session->def.unix_s,
                                  token);
}

FlResult fl__sealed_create(FlSession *session, FlTime now)
{
    const FlSessionDef *def = &session->def;
    bool host = def->role == FL_ROLE_HOST;
    if (host ? def->seal_server == NULL : def->token == NULL) {
        return FL_OK;
    }
    session->connections->sealed =
        (Sealed *)fl_alloc(&def->alloc, sizeof *session->connections->sealed, _Alignof(Sealed));
    if (session->connections->sealed == NULL) {
        return FL_NO_MEMORY;
    }
    session->connections->sealed->random = def->random;
    session->connections->sealed->unix_s = def->unix_s;
    session->connections->sealed->created = now;
    session->connections->sealed->pairs_from = INT64_MIN;
    fl__budget_init(&session->connections->sealed->hinted, UNKNOWN_PER_S, UNKNOWN_BURST, now);
    fl__budget_init(&session->connections->sealed->guessed, UNKNOWN_PER_S, UNKNOWN_BURST, now);
    return host ? create_server(session, def->seal_server, now)
                : create_client(session, def->token, now);
}

void fl__sealed_destroy(FlSession *session)
{
    if (session->connections->sealed != NULL) {
        fl_seal_server_destroy(session->connections->sealed->server);
        fl_seal_client_destroy(session->connections->sealed->client);
        fl_free(&session->def.alloc, session->connections->sealed,
                sizeof *session->connections->sealed);
        session->connections->sealed = NULL;
    }
}

FlResult fl_session_invite_at(FlSession *session, FlTime now, FlAddress address, uint32_t uses,
                              uint64_t expire_s, char text[FL_SEAL_INVITE_TEXT])
{
    text[0] = '\0';
    if (session->connections->sealed == NULL || session->connections->sealed->server == NULL) {
        return FL_NOT_FOUND;
    }
    FlSealInvite invite;
    FlResult result = fl__seal_server_invite(session->connections->sealed->server, now, address,
                                             uses, expire_s, &invite);
    if (result == FL_OK) {
        fl__seal_invite_text(&invite, text);
    }
    fl_wipe(&invite, sizeof invite);
    return result;
}

uint64_t fl_session_seal_drops(const FlSession *session, FlSealDrop drop)
{
    FL_ASSERT(drop >= 0 && drop < FL_SEAL_DROPS);
    if (session->connections->sealed == NULL) {
        return 0;
    }
    uint64_t count = session->connections->sealed->pair_drops[drop];
    if (session->connections->sealed->server != NULL) {
        count += fl__seal_server_stats(session->connections->sealed->server).drops[drop];
    }
    if (session->connections->sealed->client != NULL) {
        count += fl_seal_client_status(session->connections->sealed->client).drops[drop];
    }
    return count;
}

bool fl__is_sealed(const FlSession *session)
{
    return session->connections->sealed != NULL;
}

// ---------------------------------------------------------------- coming and going

static void came(FlSession *session, const FlSealEvent *event, SealedFn *fn, FlTime now)
{
    SealedEvent came = {.kind = SEALED_CAME, .index = (int32_t)event->peer.index1 - 1};
    came.def.address = event->address;
    came.def.seal_peer = event->peer;
    came.client.client_id = event->client_id;
    came.client.invite_id = event->invite_id;
    FlSealPeerStatus status;
    if (fl_seal_server_status(session->connections->sealed->server, event->peer, &status) ==
        FL_OK) {
        came.client.user_data = status.user_data;
        came.client.about_count = event->invite_id != 0 ? FL_SEAL_USER_BYTES : 0;
        came.client.about = status.user_data; // a backend's token has its own bytes there
    }
    if (!fn(session, &came, now)) {
        fl_seal_server_disconnect(session->connections->sealed->server, now, event->peer);
    }
}

static void lost(FlSession *session, int32_t index, FlLeft left, SealedFn *fn, FlTime now)
{
    SealedEvent lost = {.kind = SEALED_LOST, .index = index, .left = left};
    (void)fn(session, &lost, now);
}

static FlLeft left_of(FlSealGone gone)
{
    switch (gone) {
    case FL_SEAL_GONE_LEFT:
    case FL_SEAL_GONE_REPLACED:
        return FL_LEFT_GOODBYE;
    case FL_SEAL_GONE_TIMED_OUT:
        return FL_LEFT_TIMED_OUT;
    case FL_SEAL_GONE_KICKED:
        break;
    }
    return FL_LEFT_REMOVED;
}

static bool is_connection_of(const FlSession *session, FlSealPeer peer)
{
    const Connection *c = fl__connection(session, (int32_t)peer.index1 - 1);
    return c->used && c->seal_peer.generation == peer.generation;
}

static void poll_server(FlSession *session, SealedFn *fn, FlTime now)
{
    FlSealEvent event;
    while (fl_seal_server_take_event(session->connections->sealed->server, &event) == FL_OK) {
        int32_t index = (int32_t)event.peer.index1 - 1;
        if (event.kind == FL_SEAL_EVENT_CONNECTED) {
            came(session, &event, fn, now);
        } else if (!is_connection_of(session, event.peer)) {
            continue;
        } else if (event.kind == FL_SEAL_EVENT_MOVED) {
            fl__connection_moved(session, index, event.address);
        } else {
            fl__connection(session, index)->seal_peer.index1 = 0; // no peer to say goodbye to
            lost(session, index, left_of(event.gone), fn, now);
        }
    }
}

static void poll_client(FlSession *session, SealedFn *fn, FlTime now)
{
    FlSealClientStatus status = fl_seal_client_status(session->connections->sealed->client);
    const Connection *host = fl__connection(session, 0);
    bool joining = session->state == FL_SESSION_JOINING;
    if (status.state == FL_SEAL_CONNECTED) {
        if (joining && !host->used) {
            SealedEvent in = {.kind = SEALED_IN, .def = {.address = status.address}};
            (void)fn(session, &in, now);
        }
        return;
    }
    bool over = status.state <= FL_SEAL_DISCONNECTED;
    if (over && host->used && !host->direct && host->pair == NULL) {
        FlLeft left = status.state == FL_SEAL_TIMED_OUT ? FL_LEFT_TIMED_OUT : FL_LEFT_GOODBYE;
        lost(session, 0, left, fn, now);
    } else if (over && joining) {
        SealedEvent ended = {.kind = SEALED_OVER, .text = fl__seal_state_text(status.state)};
        ended.full = status.state == FL_SEAL_DENIED;
        ended.answered =
            status.state >= FL_SEAL_DENIED || status.state == FL_SEAL_RESPONSE_TIMED_OUT;
        (void)fn(session, &ended, now);
    }
}

static void poll_pairs(FlSession *session, SealedFn *fn, FlTime now)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        const Connection *c = fl__connection(session, i);
        if (!c->used || c->pair == NULL) {
            continue;
        }
        FlSealPairStatus status = fl__seal_pair_status(c->pair);
        if (status.state > FL_SEAL_PAIR_CONNECTED) {
            bool left = status.state == FL_SEAL_PAIR_LEFT;
            lost(session, i, left ? FL_LEFT_GOODBYE : FL_LEFT_TIMED_OUT, fn, now);
        } else if (status.address.family != FL_FAMILY_NONE &&
                   !fl_address_equal(status.address, c->address)) {
            fl__connection_moved(session, i, status.address);
        }
        if (c->used && !c->received) {
            fl__connection_wake(session, i);
        }
    }
}

static void poll(FlSession *session, SealedFn *fn, FlTime now)
{
    if (session->connections->sealed->server != NULL) {
        poll_server(session, fn, now);
    }
    if (session->connections->sealed->client != NULL) {
        poll_client(session, fn, now);
    }
    if (session->connections->has_pairs) {
        poll_pairs(session, fn, now);
    }
}

// ---------------------------------------------------------------- in

/// A sealed datagram, and what opens it.
typedef struct Sealing {
    FlAddress from;
    uint8_t *bytes; // opened in place
    int32_t count;
    FlTime arrival;
    SealedFn *fn;
    FlSealPayload payload;
    int32_t index;
} Sealing;

static FlSealDrop open_server(FlSession *session, Sealing *in)
{
    FlSealPeer peer;
    FlSealDrop drop = fl_seal_server_receive(session->connections->sealed->server, in->arrival,
                                             in->from, in->bytes, in->count, &peer, &in->payload);
    poll(session, in->fn, in->arrival);
    bool ours = peer.index1 != 0 && is_connection_of(session, peer);
    in->index = ours ? (int32_t)peer.index1 - 1 : FL__NONE;
    return drop;
}

static bool spend(FlBudget *openings, FlTime now)
{
    if (fl__budget_available(openings, now) < 1.0) {
        return false;
    }
    fl__budget_spend(openings, now, 1.0);
    return true;
}

bool fl__sealed_may_open(FlSession *session, FlTime now)
{
    return spend(&session->connections->sealed->hinted, now);
}

static FlSealDrop open_pair(FlSession *session, int32_t index, Sealing *in)
{
    FlSealPair *pair = fl__connection(session, index)->pair;
    return fl__seal_pair_receive(pair, in->arrival, in->from, in->bytes, in->count, &in->payload);
}

// From an address that is not known. A pair being reached, and one that asks whether it has moved,
// say in clear whose they are: one key is tried. A pair that has moved and does not know it yet is
// found by trying all, while the ration lasts: strangers cannot make us work.
static FlSealDrop open_unknown(FlSession *session, Sealing *in)
{
    Sealed *sealed = session->connections->sealed;
    FlSealDrop drop = FL_SEAL_DROP_STRANGER;
    int32_t hinted = FL__NONE;
    for (int32_t i = 0; i < session->connection_count && hinted == FL__NONE; i++) {
        const FlSealPair *pair = fl__connection(session, i)->pair;
        hinted = pair != NULL && fl__seal_pair_hinted(pair, in->bytes, in->count) ? i : FL__NONE;
    }
    if (hinted != FL__NONE) {
        drop = spend(&sealed->hinted, in->arrival) ? open_pair(session, hinted, in)
                                                   : FL_SEAL_DROP_RATE;
        in->index = hinted;
    }
    for (int32_t i = 0; drop == FL_SEAL_DROP_STRANGER && i < session->connection_count; i++) {
        if (fl__connection(session, i)->pair != NULL) {
            if (!spend(&sealed->guessed, in->arrival)) {
                break;
            }
            bool opened = open_pair(session, i, in) == FL_SEAL_DROP_NONE;
            drop = opened ? FL_SEAL_DROP_NONE : drop;
            in->index = opened ? i : in->index;
        }
    }
    sealed->pair_drops[drop]++;
    return drop;
}

static FlSealDrop open_client(FlSession *session, Sealing *in)
{
    Sealed *sealed = session->connections->sealed;
    in->index = fl__connection_at(session, in->from);
    if (in->index != FL__NONE && fl__connection_paired(session, in->index)) {
        FlSealDrop known = open_pair(session, in->index, in);
        sealed->pair_drops[known]++;
        return known;
    }
    FlSealClientStatus status = fl_seal_client_status(sealed->client);
    if (!fl_address_equal(status.address, in->from) && session->connections->has_pairs) {
        return open_unknown(session, in);
    }
    FlSealDrop drop = fl_seal_client_receive(sealed->client, in->arrival, in->from, in->bytes,
                                             in->count, &in->payload);
    poll(session, in->fn, in->arrival);
    const Connection *host = fl__connection(session, 0);
    in->index = host->used && host->pair == NULL ? 0 : FL__NONE;
    return drop;
}

Opened fl__sealed_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                          FlTime arrival, SealedFn *fn)
{
    Connections *c = session->connections;
    memcpy(c->opening, bytes, (size_t)count);
    Sealing in = {.from = from,
                  .bytes = c->opening,
                  .count = count,
                  .arrival = arrival,
                  .fn = fn,
                  .index = FL__NONE};
    FlSealDrop drop =
        c->sealed->server != NULL ? open_server(session, &in) : open_client(session, &in);
    session->count[FL_SESSION_SEALED_BADLY] += drop != FL_SEAL_DROP_NONE ? 1 : 0;
    Opened opened = {FL__NONE, in.payload.bytes, in.payload.count, in.payload.sequence, drop};
    if (drop == FL_SEAL_DROP_NONE && in.payload.bytes != NULL && in.index != FL__NONE) {
        opened.index = in.index;
    } else if (c->has_pairs && drop != FL_SEAL_DROP_STRANGER && drop != FL_SEAL_DROP_RATE) {
        poll(session, fn, arrival);
    }
    return opened;
}

// ---------------------------------------------------------------- out

static void give(const FlSealed *sealed, FlOutgoing *out)
{
    out->to = sealed->to;
    out->bytes = sealed->bytes;
    out->count = sealed->count;
}

#define PAIR_LOOK_EVERY FL_MS(1)
#define PAIR_BYTES (FL_SEAL_HEAD_BYTES + 64 + FL_SEAL_TAIL_BYTES) // the longest: a key and a proof

static bool pairs_next(FlSession *session, FlTime now, FlSealed *packet)
{
    if (now < session->connections->sealed->pairs_from) {
        return false;
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        const Connection *c = fl__connection(session, i);
        bool due = c->used && c->pair != NULL && fl__seal_pair_deadline(c->pair) <= now;
        if (due && !fl__upload_fits(session, now, PAIR_BYTES)) {
            session->connections->sealed->pairs_from = fl_time_add(now, PAIR_LOOK_EVERY);
            return false;
        }
        if (due && fl__seal_pair_next(c->pair, now, packet) == FL_OK) {
            return true;
        }
    }
    return false;
}

bool fl__sealed_next(FlSession *session, FlTime now, SealedFn *fn, FlOutgoing *out)
{
    Sealed *sealed = session->connections->sealed;
    if (sealed->second_waits) {
        sealed->second_waits = false;
        *out = sealed->second;
        return true;
    }
    FlSealed packet;
    bool any = false;
    if (sealed->server != NULL && fl_seal_server_deadline(sealed->server) <= now) {
        any = fl_seal_server_next(sealed->server, now, &packet) == FL_OK;
    }
    if (!any && sealed->client != NULL && fl_seal_client_deadline(sealed->client) <= now) {
        any = fl_seal_client_next(sealed->client, now, &packet) == FL_OK;
    }
    any = any || (session->connections->has_pairs && pairs_next(session, now, &packet));
    if (any) {
        give(&packet, out);
    } else {
        poll(session, fn, now);
    }
    return any;
}

FlTime fl__sealed_deadline(const FlSession *session)
{
    const Sealed *sealed = session->connections->sealed;
    FlTime deadline = sealed->second_waits ? INT64_MIN : FL_FOREVER;
    if (sealed->server != NULL) {
        FlTime due = fl_seal_server_deadline(sealed->server);
        deadline = fl_time_min(due, deadline);
    }
    if (sealed->client != NULL) {
        FlTime due = fl_seal_client_deadline(sealed->client);
        deadline = fl_time_min(due, deadline);
    }
    for (int32_t i = 0; session->connections->has_pairs && i < session->connection_count; i++) {
        const Connection *c = fl__connection(session, i);
        if (c->used && c->pair != NULL) {
            FlTime due = fl__seal_pair_deadline(c->pair);
            deadline = fl_time_min(fl__time_max(due, sealed->pairs_from), deadline);
        }
    }
    return deadline;
}

SealedServer fl__sealed_server(const FlSession *session)
{
    SealedServer server = {.asked = false};
    if (session->connections->sealed->client != NULL) {
        FlSealClientStatus status = fl_seal_client_status(session->connections->sealed->client);
        server.address = status.address;
        server.asked = status.state == FL_SEAL_REQUESTING;
        server.last = status.server + 1 == session->connections->sealed->server_count;
    }
    return server;
}

bool fl__sealed_ready(const FlSession *session, int32_t index)
{
    const FlSealPair *pair = fl__connection(session, index)->pair;
    return pair == NULL || fl__sealed_pair_ready(pair);
}

uint64_t fl__sealed_sequence(const FlSession *session, int32_t index)
{
    const Connection *c = fl__connection(session, index);
    const Sealed *sealed = session->connections->sealed;
    if (c->pair != NULL) {
        return fl__seal_pair_sequence(c->pair);
    }
    if (sealed->server != NULL) {
        return fl_seal_server_sequence(sealed->server, c->seal_peer);
    }
    return fl_seal_client_sequence(sealed->client);
}

static bool seal_as_server(FlSession *session, FlSealPeer peer, FlTime now, uint64_t sequence,
                           int32_t bytes, FlOutgoing *out)
{
    Sealed *sealed = session->connections->sealed;
    FlSealed packet[2];
    int32_t count;
    if (fl_seal_server_seal(sealed->server, peer, now, sequence, session->connections->packet,
                            bytes, packet, &count) != FL_OK) {
        return false;
    }
    give(&packet[0], out);
    if (count == 2) {
        give(&packet[1], &sealed->second);
        sealed->second_waits = true;
    }
    return true;
}

bool fl__sealed_seal(FlSession *session, int32_t index, FlTime now, uint64_t sequence,
                     int32_t bytes, FlOutgoing *out)
{
    const Connection *c = fl__connection(session, index);
    const Sealed *sealed = session->connections->sealed;
    uint8_t *payload = session->connections->packet;
    if (c->pair == NULL && sealed->server != NULL) {
        return seal_as_server(session, c->seal_peer, now, sequence, bytes, out);
    }
    FlSealed packet;
    FlResult result =
        c->pair != NULL
            ? fl__seal_pair_seal(c->pair, now, sequence, payload, bytes, &packet)
            : fl_seal_client_seal(sealed->client, now, sequence, payload, bytes, &packet);
    if (result == FL_OK) {
        give(&packet, out);
    }
    return result == FL_OK;
}

void fl__sealed_leave(FlSession *session, int32_t index, FlTime now)
{
    Connection *c = fl__connection(session, index);
    const Sealed *sealed = session->connections->sealed;
    if (sealed == NULL) {
        return;
    }
    if (c->pair != NULL) {
        fl__seal_pair_disconnect(c->pair, now);
    } else if (sealed->server != NULL) {
        FlSealPeer peer = c->seal_peer;
        c->seal_peer.generation = 0; // so that the seal's own notice finds no connection
        fl_seal_server_disconnect(sealed->server, now, peer);
    } else {
        fl_seal_client_disconnect(sealed->client, now);
    }
}

void fl__sealed_no_return(FlSession *session, int32_t index)
{
    const Sealed *sealed = session->connections->sealed;
    if (sealed != NULL && sealed->server != NULL) {
        fl__seal_server_no_return(sealed->server, fl__connection(session, index)->seal_peer);
    }
}

bool fl__sealed_revoke(FlSession *session, uint64_t invite_id)
{
    FlSealServer *server = session->connections->sealed->server;
    return server != NULL && fl__seal_server_revoke(server, invite_id) == FL_OK;
}

bool fl__sealed_away(FlSession *session, int32_t index, const uint8_t *bytes, int32_t bytes_count,
                     FlTime now, FlOutgoing *out)
{
    Connection *c = fl__connection(session, index);
    FlSealServer *server = session->connections->sealed->server;
    FlSealPeer peer = c->seal_peer;
    uint8_t *payload = session->connections->packet;
    FlSealed packet[2];
    int32_t count;
    memcpy(payload + FL_SEAL_HEAD_BYTES, bytes, (size_t)bytes_count);
    if (c->pair != NULL) { // we took over
        return fl__sealed_pair_seal(c->pair, now, payload, bytes_count, out);
    }
    if (server == NULL || peer.index1 == 0) {
        return false; // the seal knows already that it is gone
    }
    if (fl_seal_server_seal(server, peer, now, fl_seal_server_sequence(server, peer), payload,
                            bytes_count, packet, &count) != FL_OK) {
        return false;
    }
    give(&packet[count - 1], out);
    c->seal_peer.generation = 0;
    fl__seal_server_drop(server, peer);
    return true;
}

// ---------------------------------------------------------------- introductions

static FlSealIntroduction introduction_to(const FlSession *session, Introduced own, Introduced peer,
                                          FlTime now)
{
    FlSealIntroduction in = {
        .protocol_id = session->world.protocol_id,
        .own_id = (uint64_t)own.member,
        .peer_id = (uint64_t)peer.member,
        .expire_s = unix_at(session->connections->sealed, now) + MEET_WITHIN_S,
        .timeout_s = PAIR_TIMEOUT_S,
        .candidate_count = 1,
    };
    in.candidate[0] = peer.address;
    return in;
}

static void put_keys(const FlSealIntroduction *in, SealedKeys *keys)
{
    FlWriter w;
    fl_writer_init(&w, keys->bytes, sizeof keys->bytes);
    fl__seal_introduction_write(&w, in);
    FL_ASSERT(!w.failed);
    keys->count = fl_writer_size(&w);
}

void fl__sealed_introduce(FlSession *session, Introduced one, Introduced other, FlTime now,
                          SealedKeys *to_one, SealedKeys *to_other)
{
    FlSealIntroduction first = introduction_to(session, one, other, now);
    FlSealIntroduction second = introduction_to(session, other, one, now);
    fl__seal_introduce(&session->connections->sealed->random, &first, &second);
    put_keys(&first, to_one);
    put_keys(&second, to_other);
    fl_wipe(&first, sizeof first);
    fl_wipe(&second, sizeof second);
}

// ---------------------------------------------------------------- pairs

static bool read_keys(const SealedKeys *keys, FlSealIntroduction *introduction)
{
    FlReader r;
    fl_reader_init(&r, keys->bytes, keys->count);
    return fl__seal_introduction_read(&r, introduction);
}

FlSealPair *fl__sealed_pair_create(FlSession *session, const SealedKeys *keys,
                                   const SealedPace *pace, FlTime now)
{
    const Sealed *sealed = session->connections->sealed;
    FlSealPairDef def = fl__seal_pair_def_default();
    FlSealPair *pair = NULL;
    if (read_keys(keys, &def.introduction)) {
        bool elsewhere = keys->at.family != FL_FAMILY_NONE;
        def.introduction.candidate[0] = elsewhere ? keys->at : def.introduction.candidate[0];
        def.unix_s = unix_at(sealed, now);
        def.random = sealed->random;
        def.alloc = session->def.alloc;
        def.rebind_ns = pace != NULL ? pace->rebind_ns : PAIR_REBIND;
        def.reach_ns = pace != NULL ? pace->reach_ns : def.reach_ns;
        if (fl__seal_pair_create(&def, now, &pair) != FL_OK) {
            pair = NULL;
        }
    }
    fl_wipe(&def, sizeof def);
    return pair;
}

bool fl__sealed_pair_renew(FlSession *session, int32_t index, const SealedKeys *keys, FlTime now)
{
    FlSealPair *pair = fl__connection(session, index)->pair;
    FlSealIntroduction introduction;
    uint64_t unix_s = unix_at(session->connections->sealed, now);
    bool renewed = pair != NULL && read_keys(keys, &introduction) &&
                   fl__seal_pair_renew(pair, now, unix_s, &introduction) == FL_OK;
    fl_wipe(&introduction, sizeof introduction);
    return renewed;
}

bool fl__sealed_binding(const FlSession *session, int32_t index,
                        uint8_t binding[FL_SEAL_BINDING_BYTES])
{
    const FlSealPair *pair = fl__connection(session, index)->pair;
    return pair != NULL && fl__seal_pair_binding(pair, binding) == FL_OK;
}

void fl__sealed_pair_destroy(FlSealPair *pair)
{
    fl__seal_pair_destroy(pair);
}

void fl__sealed_pair_leave(FlSealPair *pair, FlTime now)
{
    if (pair != NULL) {
        fl__seal_pair_disconnect(pair, now);
        fl__seal_pair_destroy(pair);
    }
}

void fl__sealed_pair_soon(const FlSealPair *pair)
{
    fl__seal_pair_soon(pair);
}

bool fl__sealed_pair_ready(const FlSealPair *pair)
{
    return fl__seal_pair_connected(pair);
}

bool fl__sealed_pair_open(FlSession *session, FlSealPair *pair, FlAddress from,
                          const uint8_t *bytes, int32_t count, FlTime arrival, Opened *opened,
                          FlAddress *at)
{
    Connections *c = session->connections;
    memcpy(c->opening, bytes, (size_t)count); // it is opened in place
    FlSealPayload payload = {0};
    FlSealDrop drop = fl__seal_pair_receive(pair, arrival, from, c->opening, count, &payload);
    opened->drop = drop;
    if (drop != FL_SEAL_DROP_NONE) {
        return false;
    }
    *at = fl__seal_pair_address(pair);
    opened->bytes = payload.bytes;
    opened->count = payload.count;
    opened->sequence = payload.sequence;
    return true;
}

void fl__sealed_dropped(FlSession *session, FlSealDrop drop)
{
    session->connections->sealed->pair_drops[drop]++;
    session->count[FL_SESSION_SEALED_BADLY]++;
}

bool fl__sealed_pair_seal(FlSealPair *pair, FlTime now, uint8_t *packet, int32_t count,
                          FlOutgoing *out)
{
    FlSealed sealed;
    bool good =
        fl__sealed_pair_ready(pair) && fl__seal_pair_seal(pair, now, fl__seal_pair_sequence(pair),
                                                          packet, count, &sealed) == FL_OK;
    if (good) {
        give(&sealed, out);
    }
    return good;
}

void fl__sealed_pair_expect(FlSealPair *pair, FlTime rebind_ns)
{
    fl__seal_pair_expect(pair, rebind_ns);
}

bool fl__sealed_pair_next(FlSealPair *pair, FlTime now, FlOutgoing *out)
{
    FlSealed sealed;
    bool any =
        fl__seal_pair_deadline(pair) <= now && fl__seal_pair_next(pair, now, &sealed) == FL_OK;
    if (any) {
        give(&sealed, out);
    }
    return any;
}

bool fl__sealed_pair_hinted(const FlSealPair *pair, const uint8_t *bytes, int32_t count)
{
    return fl__seal_pair_hinted(pair, bytes, count);
}

FlTime fl__sealed_pair_deadline(const FlSealPair *pair)
{
    return fl__seal_pair_deadline(pair);
}
