// Getting in by token or invite; sealing and opening. Room `seal` does it; this connects it.
//
// At a host, slot i of the seal's server is line i. A client's line to its host is the seal's
// client; introduced peers have a pair each.
#include "private.h"

#include <string.h>

#define MEET_WITHIN_S 30     // introductions are good for this long
#define LANE_REACH FL_MS(60) // between attempts: somebody waits for what comes over it
#define PAIR_TIMEOUT_S 60    // silence that ends a pair: a packet every 15 s keeps it

struct Sealed {
    FlSealServer *server; // host
    FlSealClient *client;
    int32_t server_count; // client: that its token names
    FlSealRandom random;
    uint64_t unix_s;   // at
    FlTime created;    // this time
    FlOutgoing second; // a datagram that must follow the one given out last
    bool second_waits;
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
    def.slot_capacity = session->line_count;
    def.unix_s = session->def.unix_s;
    def.random = session->def.random;
    def.alloc = session->def.alloc;
    // The link keeps it alive; this is for when the link has nothing to answer.
    def.keep_alive_ns = session->def.link.timeout_ns / 4 * 3;
    return fl_seal_server_create(&def, now, &session->sealed->server);
}

static FlResult create_client(FlSession *session, const uint8_t *token, FlTime now)
{
    FlSealClientDef def = fl_seal_client_def_default();
    def.random = session->def.random;
    def.alloc = session->def.alloc;
    def.keep_alive_ns = session->def.link.timeout_ns / 4 * 3;
    def.rebind_ns =
        session->def.link.timeout_ns / 2; // the link has asked before, and got no answer
    FlResult result = fl_seal_client_create(&def, &session->sealed->client);
    if (result != FL_OK) {
        return result;
    }
    FlSealToken readable;
    result = fl_seal_token_read(token, &readable);
    if (result != FL_OK || readable.protocol_id != session->world.protocol_id) {
        return FL_BAD_VALUE;
    }
    session->sealed->server_count = readable.address_count;
    fl__refusal_expect(session, token);
    return fl_seal_client_connect(session->sealed->client, now, session->def.unix_s, token);
}

FlResult fl__sealed_create(FlSession *session, const FlSessionDef *def, FlTime now)
{
    bool host = def->role == FL_ROLE_HOST;
    if (host ? def->seal_server == NULL : def->token == NULL) {
        return FL_OK;
    }
    session->sealed = (Sealed *)fl_alloc(&def->alloc, sizeof *session->sealed, _Alignof(Sealed));
    if (session->sealed == NULL) {
        return FL_NO_MEMORY;
    }
    session->sealed->random = def->random;
    session->sealed->unix_s = def->unix_s;
    session->sealed->created = now;
    return host ? create_server(session, def->seal_server, now)
                : create_client(session, def->token, now);
}

void fl__sealed_destroy(FlSession *session)
{
    if (session->sealed != NULL) {
        fl_seal_server_destroy(session->sealed->server);
        fl_seal_client_destroy(session->sealed->client);
        fl_free(&session->def.alloc, session->sealed, sizeof *session->sealed);
        session->sealed = NULL;
    }
}

FlResult fl_session_invite(FlSession *session, FlTime now, FlAddress address, uint32_t uses,
                           uint64_t expire_s, char text[FL_SEAL_INVITE_TEXT])
{
    text[0] = '\0';
    if (session->sealed == NULL || session->sealed->server == NULL) {
        return FL_NOT_FOUND;
    }
    FlSealInvite invite;
    FlResult result =
        fl_seal_server_invite(session->sealed->server, now, address, uses, expire_s, &invite);
    if (result == FL_OK) {
        fl_seal_invite_text(&invite, text);
    }
    return result;
}

uint64_t fl_session_seal_drops(const FlSession *session, FlSealDrop drop)
{
    FL_ASSERT(drop >= 0 && drop < FL_SEAL_DROPS);
    if (session->sealed == NULL) {
        return 0;
    }
    uint64_t count = session->sealed->pair_drops[drop];
    if (session->sealed->server != NULL) {
        count += fl_seal_server_stats(session->sealed->server).drops[drop];
    }
    if (session->sealed->client != NULL) {
        count += fl_seal_client_status(session->sealed->client).drops[drop];
    }
    return count;
}

// ---------------------------------------------------------------- coming and going

static void connected(FlSession *session, const FlSealEvent *event, FlTime now)
{
    int32_t index = (int32_t)event->peer.index1 - 1;
    if (session->state == FL_SESSION_ENDED ||
        !fl__admit(session, index, event->address, event->client_id, now)) {
        fl_seal_server_disconnect(session->sealed->server, now, event->peer);
        return;
    }
    session->lines[index].seal_peer = event->peer;
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

static bool is_line_of(const FlSession *session, FlSealPeer peer)
{
    const Line *line = &session->lines[peer.index1 - 1];
    return line->used && line->seal_peer.generation == peer.generation;
}

static void poll_server(FlSession *session, FlTime now)
{
    FlSealEvent event;
    while (fl_seal_server_poll(session->sealed->server, &event) == FL_OK) {
        int32_t index = (int32_t)event.peer.index1 - 1;
        if (event.kind == FL_SEAL_EVENT_CONNECTED) {
            connected(session, &event, now);
        } else if (!is_line_of(session, event.peer)) {
            continue;
        } else if (event.kind == FL_SEAL_EVENT_MOVED) {
            fl__line_moved(session, index, event.address);
        } else {
            session->lines[index].seal_peer.index1 = 0; // nobody to say goodbye to
            fl__line_lost(session, index, left_of(event.gone), now);
        }
    }
}

static void poll_client(FlSession *session, FlTime now)
{
    FlSealClientStatus status = fl_seal_client_status(session->sealed->client);
    Line *host = &session->lines[0];
    bool joining = session->state == FL_SESSION_JOINING;
    if (status.state == FL_SEAL_CONNECTED) {
        if (joining && !host->used) {
            session->epoch = now;
            session->told_at = 0;
            (void)fl__line_open(session, 0, 0, status.address, now);
        }
        return;
    }
    bool over = status.state <= FL_SEAL_DISCONNECTED;
    if (over && host->used && !host->direct && host->pair == NULL) {
        FlLeft left = status.state == FL_SEAL_TIMED_OUT ? FL_LEFT_TIMED_OUT : FL_LEFT_GOODBYE;
        fl__line_lost(session, 0, left, now);
    } else if (over && joining) {
        bool unheard = status.state < FL_SEAL_DENIED && status.state != FL_SEAL_RESPONSE_TIMED_OUT;
        const char *refused = unheard ? fl__refusal_text(session) : NULL;
        fl__session_end(session, refused != NULL ? refused : fl_seal_state_text(status.state));
    }
}

static void poll_pairs(FlSession *session, FlTime now)
{
    for (int32_t i = 0; i < session->line_count; i++) {
        Line *line = &session->lines[i];
        if (!line->used || line->pair == NULL) {
            continue;
        }
        FlSealPairStatus status = fl_seal_pair_status(line->pair);
        if (status.state > FL_SEAL_PAIR_CONNECTED) {
            fl__line_lost(session, i,
                          status.state == FL_SEAL_PAIR_LEFT ? FL_LEFT_GOODBYE : FL_LEFT_TIMED_OUT,
                          now);
        } else if (status.address.family != FL_FAMILY_NONE &&
                   !fl_address_equal(status.address, line->address)) {
            fl__line_moved(session, i, status.address);
        }
        if (line->used && !line->heard) {
            fl__line_wake(session, i);
        }
    }
}

static void poll(FlSession *session, FlTime now)
{
    if (session->sealed->server != NULL) {
        poll_server(session, now);
    }
    if (session->sealed->client != NULL) {
        poll_client(session, now);
    }
    if (session->has_pairs) {
        poll_pairs(session, now);
    }
}

// ---------------------------------------------------------------- in

static FlSealDrop open_server(FlSession *session, FlAddress from, uint8_t *bytes, int32_t count,
                              FlTime arrival, FlSealPayload *payload, int32_t *line)
{
    FlSealPeer peer;
    FlSealDrop drop = fl_seal_server_receive(session->sealed->server, arrival, from, bytes, count,
                                             &peer, payload);
    poll(session, arrival);
    fl__refuse_request(session, from, bytes, count, drop, arrival);
    bool ours = peer.index1 != 0 && is_line_of(session, peer);
    *line = ours ? (int32_t)peer.index1 - 1 : FL__NONE;
    return drop;
}

static FlSealDrop open_pair(FlSession *session, int32_t index, FlAddress from, uint8_t *bytes,
                            int32_t count, FlTime arrival, FlSealPayload *payload)
{
    return fl_seal_pair_receive(session->lines[index].pair, arrival, from, bytes, count, payload);
}

// From an address that nobody is known at: one of those who are still being reached, perhaps.
static FlSealDrop open_unknown(FlSession *session, FlAddress from, uint8_t *bytes, int32_t count,
                               FlTime arrival, FlSealPayload *payload, int32_t *line)
{
    for (int32_t i = 0; session->has_pairs && i < session->line_count; i++) {
        if (!session->lines[i].used || session->lines[i].pair == NULL) {
            continue;
        }
        FlSealDrop drop = open_pair(session, i, from, bytes, count, arrival, payload);
        if (drop == FL_SEAL_DROP_NONE) {
            *line = i;
            return drop;
        }
    }
    session->sealed->pair_drops[FL_SEAL_DROP_STRANGER]++; // tried by all, and dropped once
    return FL_SEAL_DROP_STRANGER;
}

static FlSealDrop open_client(FlSession *session, FlAddress from, uint8_t *bytes, int32_t count,
                              FlTime arrival, FlSealPayload *payload, int32_t *line)
{
    Sealed *sealed = session->sealed;
    *line = fl__line_at(session, from);
    if (*line != FL__NONE && session->lines[*line].pair != NULL) {
        FlSealDrop known = open_pair(session, *line, from, bytes, count, arrival, payload);
        sealed->pair_drops[known]++;
        return known;
    }
    FlSealClientStatus status = fl_seal_client_status(sealed->client);
    if (!fl_address_equal(status.address, from) && session->has_pairs) {
        return open_unknown(session, from, bytes, count, arrival, payload, line);
    }
    FlSealDrop drop = fl_seal_client_receive(sealed->client, arrival, from, bytes, count, payload);
    poll(session, arrival);
    bool host = session->lines[0].used && session->lines[0].pair == NULL;
    *line = host ? 0 : FL__NONE;
    return drop;
}

Opened fl__sealed_receive(FlSession *session, FlAddress from, uint8_t *bytes, int32_t count,
                          FlTime arrival)
{
    FlSealPayload payload = {0};
    int32_t line = FL__NONE;
    FlSealDrop drop = session->sealed->server != NULL
                          ? open_server(session, from, bytes, count, arrival, &payload, &line)
                          : open_client(session, from, bytes, count, arrival, &payload, &line);
    session->count[FL_SESSION_SEALED_BADLY] += drop != FL_SEAL_DROP_NONE ? 1 : 0;
    Opened opened = {FL__NONE, payload.bytes, payload.count, payload.sequence};
    if (drop == FL_SEAL_DROP_NONE && payload.bytes != NULL && line != FL__NONE) {
        opened.line = line;
    } else if (session->has_pairs) {
        poll(session, arrival);
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

static bool pairs_next(FlSession *session, FlTime now, FlSealed *packet)
{
    for (int32_t i = 0; i < session->line_count; i++) {
        const Line *line = &session->lines[i];
        bool due = line->used && line->pair != NULL && fl_seal_pair_deadline(line->pair) <= now;
        if (due && fl_seal_pair_next(line->pair, now, packet) == FL_OK) {
            return true;
        }
    }
    return false;
}

bool fl__sealed_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    Sealed *sealed = session->sealed;
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
    any = any || (session->has_pairs && pairs_next(session, now, &packet));
    if (any) {
        give(&packet, out);
    } else {
        poll(session, now);
    }
    return any;
}

FlTime fl__sealed_deadline(const FlSession *session)
{
    const Sealed *sealed = session->sealed;
    FlTime deadline = sealed->second_waits ? INT64_MIN : FL_FOREVER;
    if (sealed->server != NULL) {
        FlTime due = fl_seal_server_deadline(sealed->server);
        deadline = due < deadline ? due : deadline;
    }
    if (sealed->client != NULL) {
        FlTime due = fl_seal_client_deadline(sealed->client);
        deadline = due < deadline ? due : deadline;
    }
    for (int32_t i = 0; session->has_pairs && i < session->line_count; i++) {
        const Line *line = &session->lines[i];
        if (line->used && line->pair != NULL) {
            FlTime due = fl_seal_pair_deadline(line->pair);
            deadline = due < deadline ? due : deadline;
        }
    }
    return deadline;
}

SealedServer fl__sealed_server(const FlSession *session)
{
    SealedServer server = {.asked = false};
    if (session->sealed->client != NULL) {
        FlSealClientStatus status = fl_seal_client_status(session->sealed->client);
        server.address = status.address;
        server.asked = status.state == FL_SEAL_REQUESTING;
        server.last = status.server + 1 == session->sealed->server_count;
    }
    return server;
}

bool fl__sealed_ready(const FlSession *session, const Line *line)
{
    (void)session;
    return line->pair == NULL || fl_seal_pair_status(line->pair).state == FL_SEAL_PAIR_CONNECTED;
}

uint64_t fl__sealed_sequence(const FlSession *session, const Line *line)
{
    if (line->pair != NULL) {
        return fl_seal_pair_sequence(line->pair);
    }
    if (session->sealed->server != NULL) {
        return fl_seal_server_sequence(session->sealed->server, line->seal_peer);
    }
    return fl_seal_client_sequence(session->sealed->client);
}

static bool seal_as_server(FlSession *session, const Line *line, FlTime now, uint64_t sequence,
                           int32_t bytes, FlOutgoing *out)
{
    FlSealed packet[2];
    int32_t count;
    if (fl_seal_server_seal(session->sealed->server, line->seal_peer, now, sequence,
                            session->packet, bytes, packet, &count) != FL_OK) {
        return false;
    }
    give(&packet[0], out);
    if (count == 2) {
        give(&packet[1], &session->sealed->second);
        session->sealed->second_waits = true;
    }
    return true;
}

bool fl__sealed_seal(FlSession *session, Line *line, FlTime now, uint64_t sequence, int32_t bytes,
                     FlOutgoing *out)
{
    if (line->pair == NULL && session->sealed->server != NULL) {
        return seal_as_server(session, line, now, sequence, bytes, out);
    }
    FlSealed packet;
    FlResult result =
        line->pair != NULL
            ? fl_seal_pair_seal(line->pair, now, sequence, session->packet, bytes, &packet)
            : fl_seal_client_seal(session->sealed->client, now, sequence, session->packet, bytes,
                                  &packet);
    if (result == FL_OK) {
        give(&packet, out);
    }
    return result == FL_OK;
}

void fl__sealed_leave(FlSession *session, Line *line, FlTime now)
{
    if (session->sealed == NULL) {
        return;
    }
    if (line->pair != NULL) {
        fl_seal_pair_disconnect(line->pair, now);
    } else if (session->sealed->server != NULL) {
        FlSealPeer peer = line->seal_peer;
        line->seal_peer.generation = 0; // so that the seal's own notice finds no line
        fl_seal_server_disconnect(session->sealed->server, now, peer);
    } else {
        fl_seal_client_disconnect(session->sealed->client, now);
    }
}

bool fl__sealed_away(FlSession *session, Line *line, uint8_t word, FlTime now, FlOutgoing *out)
{
    FlSealServer *server = session->sealed->server;
    FlSealPeer peer = line->seal_peer;
    FlSealed packet[2];
    int32_t count;
    if (server == NULL || line->pair != NULL || peer.index1 == 0) {
        return false; // a mesh's second host; or the seal knows already that it is gone
    }
    session->packet[FL_SEAL_HEAD_BYTES] = word;
    if (fl_seal_server_seal(server, peer, now, fl_seal_server_sequence(server, peer),
                            session->packet, 1, packet, &count) != FL_OK) {
        return false;
    }
    give(&packet[count - 1], out);
    line->seal_peer.generation = 0;
    fl_seal_server_drop(server, peer);
    return true;
}

void fl__sealed_part(FlSession *session, Line *line)
{
    if (line->pair == NULL) {
        return;
    }
    (void)session;
    fl_seal_pair_destroy(line->pair);
    line->pair = NULL;
}

// ---------------------------------------------------------------- introductions

static FlSealIntroduction introduction_to(const FlSession *session, int32_t own, int32_t peer,
                                          FlTime now)
{
    FlSealIntroduction in = {
        .protocol_id = session->world.protocol_id,
        .own_id = (uint64_t)own,
        .peer_id = (uint64_t)peer,
        .expire_s = unix_at(session->sealed, now) + MEET_WITHIN_S,
        .timeout_s = PAIR_TIMEOUT_S,
        .candidate_count = 1,
    };
    in.candidate[0] = session->lines[session->members[peer].line].address;
    return in;
}

static void put_keys(const FlSealIntroduction *in, FlMeetMessage *meet)
{
    FlWriter w;
    fl_writer_init(&w, meet->keys, sizeof meet->keys);
    fl_seal_introduction_write(&w, in);
    FL_ASSERT(!w.failed);
    meet->key_bytes = fl_writer_size(&w);
    meet->conversation = 0;
}

void fl__sealed_introduce(FlSession *session, int32_t one, int32_t other, FlTime now,
                          FlMeetMessage *to_one, FlMeetMessage *to_other)
{
    FlSealIntroduction first = introduction_to(session, one, other, now);
    FlSealIntroduction second = introduction_to(session, other, one, now);
    fl_seal_introduce(&session->sealed->random, &first, &second);
    put_keys(&first, to_one);
    put_keys(&second, to_other);
}

static FlSealPair *make_pair(FlSession *session, const FlMeetMessage *meet, FlTime reach_ns,
                             FlTime now)
{
    FlReader r;
    fl_reader_init(&r, meet->keys, meet->key_bytes);
    FlSealPairDef def = fl_seal_pair_def_default();
    if (!fl_seal_introduction_read(&r, &def.introduction)) {
        return NULL;
    }
    def.unix_s = unix_at(session->sealed, now);
    def.random = session->sealed->random;
    def.alloc = session->def.alloc;
    def.reach_ns = reach_ns > 0 ? reach_ns : def.reach_ns;
    FlSealPair *pair = NULL;
    return fl_seal_pair_create(&def, now, &pair) == FL_OK ? pair : NULL;
}

bool fl__sealed_meet(FlSession *session, Line *line, const FlMeetMessage *meet, FlTime now)
{
    line->pair = make_pair(session, meet, 0, now);
    session->has_pairs = session->has_pairs || line->pair != NULL;
    return line->pair != NULL;
}

// ---------------------------------------------------------------- lanes

FlSealPair *fl__lane_pair(FlSession *session, const FlMeetMessage *meet, FlTime now)
{
    return make_pair(session, meet, LANE_REACH, now);
}

void fl__lane_part(FlSealPair *pair, FlTime now)
{
    if (pair != NULL) {
        fl_seal_pair_disconnect(pair, now);
        fl_seal_pair_destroy(pair);
    }
}

bool fl__lane_ready(const FlSealPair *pair)
{
    return fl_seal_pair_status(pair).state == FL_SEAL_PAIR_CONNECTED;
}

bool fl__lane_open(FlSession *session, FlSealPair *pair, FlAddress from, int32_t count,
                   FlTime arrival, bool blame, Opened *opened, FlAddress *at)
{
    FlSealPayload payload = {0};
    FlSealDrop drop = fl_seal_pair_receive(pair, arrival, from, session->opening, count, &payload);
    if (drop != FL_SEAL_DROP_NONE) {
        session->sealed->pair_drops[drop] += blame ? 1 : 0;
        session->count[FL_SESSION_SEALED_BADLY] += blame ? 1 : 0;
        return false;
    }
    *at = fl_seal_pair_status(pair).address;
    opened->bytes = payload.bytes;
    opened->count = payload.count;
    opened->sequence = payload.sequence;
    return true;
}

bool fl__lane_seal(FlSealPair *pair, FlTime now, uint8_t *packet, int32_t count, FlOutgoing *out)
{
    FlSealed sealed;
    bool good = fl__lane_ready(pair) && fl_seal_pair_seal(pair, now, fl_seal_pair_sequence(pair),
                                                          packet, count, &sealed) == FL_OK;
    if (good) {
        give(&sealed, out);
    }
    return good;
}

bool fl__lane_says(FlSealPair *pair, FlTime now, FlOutgoing *out)
{
    FlSealed sealed;
    bool says =
        fl_seal_pair_deadline(pair) <= now && fl_seal_pair_next(pair, now, &sealed) == FL_OK;
    if (says) {
        give(&sealed, out);
    }
    return says;
}

FlTime fl__lane_deadline(const FlSealPair *pair)
{
    return fl_seal_pair_deadline(pair);
}
