// The client: from a connect token to a connection, by the standard.
//
// States and what moves between them are in transitions.c; here is what each state does. Each
// server of the token gets the token's time-out for its challenge and again for its keep-alive; the
// whole may take no longer than the token's life. Sequence numbers go on from server to server,
// because the keys stay the same.
#include "private.h"

#include <string.h>

#define COOKIE 0x5ea1c11eu
#define MOVE_EVERY_NS FL_MS(250)
#define MOVES 8 // at most, without waiting for silence

struct FlSealClient {
    FlSealClientDef def;
    FlSealState state;
    FlSealToken token;
    uint8_t request[FL_SEAL_REQUEST_BYTES];
    int32_t server;
    FlTime connect_at; // the whole attempt began
    FlTime state_at;   // this state began
    FlTime received_at, said_at;
    FlTime ask_at;        // the next request or response
    uint64_t first, next; // sequence numbers with the token's keys
    Replay replay;
    uint8_t response[8 + CHALLENGE_BYTES]; // the challenge as it goes back
    uint32_t index, slot_count;
    int32_t goodbyes_left;
    FlTime move_at;     // not before this,
    int32_t moves_left; // these without waiting for silence
    bool answer_due;
    uint8_t answer[PATH_BYTES];
    uint64_t drops[FL_SEAL_DROPS];
    uint8_t packet[CONTROL_BYTES];
};

// ---------------------------------------------------------------- making one

FlSealClientDef fl_seal_client_def_default(void)
{
    FlSealClientDef def = fl__seal_client_def_standard();
    def.keep_alive_ns = FL_SEC(1);
    def.rebind_ns = FL_SEC(2);
    def.numbers_by_age = true;
    return def;
}

FlSealClientDef fl__seal_client_def_standard(void)
{
    FlSealClientDef def = {
        .ask_ns = FL_MS(100),
        .keep_alive_ns = FL_MS(100),
        .rebind_ns = FL_FOREVER,
        .disconnect_count = 10,
        .cookie = COOKIE,
    };
    return def;
}

FlResult fl_seal_client_def_problem(const FlSealClientDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlSealClientDef, "fl_seal_client_def_default", COOKIE),
        FL__WHOLE(FlSealClientDef, ask_ns, 1, FL_FOREVER),
        FL__WHOLE(FlSealClientDef, keep_alive_ns, 1, FL_FOREVER),
        FL__WHOLE(FlSealClientDef, rebind_ns, 1, FL_FOREVER),
        FL__WHOLE(FlSealClientDef, disconnect_count, 0, 100),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

FlResult fl_seal_client_create(const FlSealClientDef *def, FlSealClient **client)
{
    FL_ASSERT(def->cookie == COOKIE);
    *client = NULL;
    FlError error;
    if (fl_seal_client_def_problem(def, &error) != FL_OK) {
        return error.code;
    }
    if (!fl__sodium_ready()) {
        return FL_SYSTEM;
    }
    FlSealClient *made = fl_alloc(&def->alloc, sizeof *made, _Alignof(FlSealClient));
    if (made == NULL) {
        return FL_NO_MEMORY;
    }
    made->def = *def;
    *client = made;
    return FL_OK;
}

void fl_seal_client_destroy(FlSealClient *client)
{
    if (client == NULL) {
        return;
    }
    FlAlloc alloc = client->def.alloc;
    fl_free(&alloc, client, sizeof *client);
}

// ---------------------------------------------------------------- moving between states

#define UNSEEN (UINT64_C(1) << 20) // packets that a server may have sent and we did not get

// The keys were used before: the next server starts from our number (slot.c), if not beyond it. So
// that lies beyond all that another server has used, and needs no clock.
static void skip_numbers(FlSealClient *client)
{
    bool used = client->next > client->first || client->replay.any;
    if (!client->def.numbers_by_age || !used) {
        return;
    }
    uint64_t theirs = client->replay.any ? client->replay.newest & RANGE_MASK : 0;
    uint64_t past = theirs > client->next ? theirs : client->next;
    client->next = past < FIRST_NUMBERS ? past + UNSEEN : client->next;
}

static void try_server(FlSealClient *client, FlTime now, int32_t server)
{
    skip_numbers(client);
    client->server = server;
    client->ask_at = now;
    memset(&client->replay, 0, sizeof client->replay); // another server, other numbers
}

static bool another_server(const FlSealClient *client)
{
    return client->server + 1 < client->token.address_count;
}

// True if the event means something now.
static bool happen(FlSealClient *client, FlTime now, ClientEvent event)
{
    const FlSealTransition *row = fl__transition(client->state, event);
    if (row == NULL) {
        return false;
    }
    bool more = event != CLIENT_CONNECT && another_server(client);
    FlSealState to = more ? row->next_server : row->last_server;
    if (to == FL_SEAL_REQUESTING) {
        try_server(client, now, more ? client->server + 1 : 0);
    }
    client->state = to;
    client->state_at = now;
    client->answer_due = false;
    client->moves_left = 0;
    return true;
}

static FlTime life_of(const FlSealToken *token)
{
    uint64_t seconds = token->expire_s - token->create_s;
    return seconds < UINT64_C(1) << 33 ? FL_SEC((int64_t)seconds) : FL_FOREVER;
}

// By the token's age; and by chance where our clock says that the token is not made yet.
static uint64_t first_number(const FlSealClient *client, const FlSealToken *token, uint64_t unix_s)
{
    if (!client->def.numbers_by_age) {
        return 0;
    }
    if (unix_s >= token->create_s) {
        return fl__first_sequence(unix_s - token->create_s);
    }
    uint8_t draw[8];
    fl__random_fill(&client->def.random, draw, sizeof draw);
    return fl__load_u64(draw) % FIRST_NUMBERS;
}

FlResult fl_seal_client_connect(FlSealClient *client, FlTime now, uint64_t unix_s,
                                const uint8_t token[FL_SEAL_TOKEN_BYTES])
{
    client->goodbyes_left = 0;
    FlSealToken read;
    if (fl__seal_token_read(token, &read) != FL_OK) {
        happen(client, now, CLIENT_BAD_TOKEN);
        return FL_BAD_VALUE;
    }
    bool same_keys =
        memcmp(read.to_server_key, client->token.to_server_key, sizeof read.to_server_key) == 0;
    uint64_t first = first_number(client, &read, unix_s);
    if (!same_keys) {
        client->first = first;
        client->next = first;
        memset(&client->replay, 0, sizeof client->replay);
    } else if (first > client->next) { // once more: its numbers go on, else nonces would repeat
        client->next = first;
    }
    client->token = read;
    sodium_memzero(&read, sizeof read);
    fl__request_write(token, client->request);
    client->connect_at = now;
    happen(client, now, CLIENT_CONNECT);
    return FL_OK;
}

void fl_seal_client_disconnect(FlSealClient *client, FlTime now)
{
    // Only who is connected is missed; a handshake is simply dropped.
    client->goodbyes_left = client->state == FL_SEAL_CONNECTED ? client->def.disconnect_count : 0;
    happen(client, now, CLIENT_LEAVE);
}

// ---------------------------------------------------------------- packets in

static uint32_t kinds_taken(const FlSealClient *client)
{
    uint32_t kinds = KIND_BIT(KIND_DENIED) | KIND_BIT(KIND_CHALLENGE) | KIND_BIT(KIND_KEEP_ALIVE) |
                     KIND_BIT(KIND_PAYLOAD) | KIND_BIT(KIND_DISCONNECT);
    return client->def.rebind_ns == FL_FOREVER ? kinds : kinds | KIND_BIT(KIND_PATH);
}

static FlSealDrop open_packet(FlSealClient *client, const Packet *packet)
{
    const FlSealToken *token = &client->token;
    if ((KIND_BIT(packet->kind) & KINDS_REPLAYED) != 0) {
        return fl__packet_take(token->protocol_id, token->to_client_key, &client->replay, packet);
    }
    // Challenges and denials come from another series of numbers, of the server as a whole.
    bool genuine = fl__packet_open(token->protocol_id, token->to_client_key, packet);
    return genuine ? FL_SEAL_DROP_NONE : FL_SEAL_DROP_TAMPERED;
}

static bool take_challenge(FlSealClient *client, FlTime now, const Packet *packet)
{
    if (!happen(client, now, CLIENT_CHALLENGE)) {
        return false;
    }
    memcpy(client->response, packet->body, sizeof client->response);
    client->ask_at = now;
    return true;
}

static bool take_keep_alive(FlSealClient *client, FlTime now, const Packet *packet)
{
    if (client->state == FL_SEAL_CONNECTED) {
        client->moves_left = 0; // both directions work: the address is right
        return true;
    }
    if (!happen(client, now, CLIENT_KEEP_ALIVE)) {
        return false;
    }
    client->index = fl__load_u32(packet->body);
    client->slot_count = fl__load_u32(packet->body + 4);
    client->said_at = NEVER; // answer at once, so that the server knows that we know
    client->move_at = fl_time_add(now, client->def.rebind_ns);
    return true;
}

static bool take_payload(FlSealClient *client, const Packet *packet, FlSealPayload *payload)
{
    if (client->state != FL_SEAL_CONNECTED) {
        return false;
    }
    payload->bytes = packet->body;
    payload->count = packet->body_bytes;
    payload->sequence = packet->sequence;
    return true;
}

// The answer may get lost: until a keep-alive confirms it, we go on saying MOVE.
static bool take_path(FlSealClient *client, FlTime now, const Packet *packet)
{
    if (client->state != FL_SEAL_CONNECTED) {
        return false;
    }
    memcpy(client->answer, packet->body, PATH_BYTES);
    client->answer_due = true;
    client->moves_left = MOVES;
    client->move_at = fl_time_add(now, MOVE_EVERY_NS);
    return true;
}

static bool take_packet(FlSealClient *client, FlTime now, const Packet *packet,
                        FlSealPayload *payload)
{
    switch (packet->kind) {
    case KIND_CHALLENGE:
        return take_challenge(client, now, packet);
    case KIND_DENIED:
        return happen(client, now, CLIENT_DENIED);
    case KIND_KEEP_ALIVE:
        return take_keep_alive(client, now, packet);
    case KIND_PAYLOAD:
        return take_payload(client, packet, payload);
    case KIND_DISCONNECT:
        return happen(client, now, CLIENT_GOODBYE);
    case KIND_PATH:
        return take_path(client, now, packet);
    default:
        return false;
    }
}

static FlSealDrop receive(FlSealClient *client, FlTime now, FlAddress from, uint8_t *bytes,
                          int32_t count, FlSealPayload *payload)
{
    Packet packet;
    FlSealDrop drop = fl__packet_parse(bytes, count, kinds_taken(client), &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (client->state <= FL_SEAL_DISCONNECTED) {
        return FL_SEAL_DROP_STATE;
    }
    if (!fl_address_equal(from, client->token.address[client->server])) {
        return FL_SEAL_DROP_STRANGER;
    }
    drop = open_packet(client, &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (!take_packet(client, now, &packet, payload)) {
        return FL_SEAL_DROP_STATE;
    }
    client->received_at = now;
    return FL_SEAL_DROP_NONE;
}

FlSealDrop fl_seal_client_receive(FlSealClient *client, FlTime now, FlAddress from, uint8_t *bytes,
                                  int32_t count, FlSealPayload *payload)
{
    memset(payload, 0, sizeof *payload);
    FlSealDrop drop = receive(client, now, from, bytes, count, payload);
    client->drops[drop]++;
    return drop;
}

// ---------------------------------------------------------------- packets out

static FlResult give(FlSealClient *client, Kind kind, const void *body, int32_t body_bytes,
                     FlSealed *out)
{
    uint64_t sequence = client->next;
    FlResult taken = fl__sequence_take(&client->next, LAST_SEQUENCE, sequence);
    if (taken != FL_OK) { // after 2^64 packets: fall silent rather than repeat a nonce
        return FL_NOT_FOUND;
    }
    out->to = client->token.address[client->server];
    out->count =
        fl__packet_control(client->token.protocol_id, client->token.to_server_key, kind, sequence,
                           client->index, body, body_bytes, client->packet, &out->bytes);
    return FL_OK;
}

static void notice_times(FlSealClient *client, FlTime now)
{
    bool asking = client->state == FL_SEAL_REQUESTING || client->state == FL_SEAL_RESPONDING;
    FlTime life = life_of(&client->token);
    if (asking && life != FL_FOREVER && fl_span(now, client->connect_at) >= life) {
        happen(client, now, CLIENT_EXPIRY);
        return;
    }
    FlTime since = asking ? client->state_at : client->received_at;
    if (client->state > FL_SEAL_DISCONNECTED &&
        fl__silent_for(now, since, client->token.timeout_s)) {
        happen(client, now, CLIENT_SILENCE);
    }
}

static FlResult ask(FlSealClient *client, FlTime now, FlSealed *out)
{
    if (now < client->ask_at) {
        return FL_NOT_FOUND;
    }
    client->ask_at = fl_time_add(now, client->def.ask_ns);
    if (client->state == FL_SEAL_RESPONDING) {
        return give(client, KIND_RESPONSE, client->response, sizeof client->response, out);
    }
    out->to = client->token.address[client->server];
    out->bytes = client->request;
    out->count = FL_SEAL_REQUEST_BYTES;
    return FL_OK;
}

static FlResult give_move(FlSealClient *client, FlTime now, FlSealed *out)
{
    uint8_t body[MOVE_BYTES];
    fl__random_fill(&client->def.random, body, sizeof body);
    client->move_at = fl_time_add(now, MOVE_EVERY_NS);
    client->moves_left -= client->moves_left > 0 ? 1 : 0;
    client->said_at = now;
    return give(client, KIND_MOVE, body, sizeof body, out);
}

static FlTime move_due(const FlSealClient *client)
{
    if (client->def.rebind_ns == FL_FOREVER) {
        return FL_FOREVER;
    }
    if (client->moves_left > 0) {
        return client->move_at;
    }
    FlTime silent = fl_time_add(client->received_at, client->def.rebind_ns);
    return fl__time_max(silent, client->move_at);
}

static FlTime keep_alive_due(const FlSealClient *client)
{
    return client->said_at == NEVER ? NEVER
                                    : fl_time_add(client->said_at, client->def.keep_alive_ns);
}

static FlResult keep_up(FlSealClient *client, FlTime now, FlSealed *out)
{
    if (client->answer_due) {
        client->answer_due = false;
        client->said_at = now;
        return give(client, KIND_ANSWER, client->answer, PATH_BYTES, out);
    }
    if (now >= move_due(client)) {
        return give_move(client, now, out);
    }
    if (now >= keep_alive_due(client)) {
        uint8_t body[8];
        fl__store_u32(body, client->index);
        fl__store_u32(body + 4, client->slot_count);
        client->said_at = now;
        return give(client, KIND_KEEP_ALIVE, body, sizeof body, out);
    }
    return FL_NOT_FOUND;
}

FlResult fl_seal_client_next(FlSealClient *client, FlTime now, FlSealed *out)
{
    memset(out, 0, sizeof *out);
    if (client->goodbyes_left > 0) {
        client->goodbyes_left--;
        return give(client, KIND_DISCONNECT, NULL, 0, out);
    }
    notice_times(client, now);
    if (client->state == FL_SEAL_REQUESTING || client->state == FL_SEAL_RESPONDING) {
        return ask(client, now, out);
    }
    return client->state == FL_SEAL_CONNECTED ? keep_up(client, now, out) : FL_NOT_FOUND;
}

FlTime fl_seal_client_deadline(const FlSealClient *client)
{
    if (client->goodbyes_left > 0 || (client->state == FL_SEAL_CONNECTED && client->answer_due)) {
        return NEVER;
    }
    int32_t timeout_s = client->token.timeout_s;
    if (client->state == FL_SEAL_CONNECTED) {
        FlTime due = fl_time_min(keep_alive_due(client), move_due(client));
        return fl_time_min(due, fl__silent_at(client->received_at, timeout_s));
    }
    if (client->state <= FL_SEAL_DISCONNECTED) {
        return FL_FOREVER;
    }
    FlTime expiry = fl_time_add(client->connect_at, life_of(&client->token));
    FlTime end = fl_time_min(expiry, fl__silent_at(client->state_at, timeout_s));
    return fl_time_min(client->ask_at, end);
}

uint64_t fl_seal_client_sequence(const FlSealClient *client)
{
    return client->next;
}

FlResult fl_seal_client_seal(FlSealClient *client, FlTime now, uint64_t sequence, uint8_t *buffer,
                             int32_t payload_bytes, FlSealed *out)
{
    memset(out, 0, sizeof *out);
    if (client->state != FL_SEAL_CONNECTED) {
        return FL_STALE_ID;
    }
    const PayloadWay way = {client->token.protocol_id, client->token.to_server_key,
                            client->token.address[client->server], LAST_SEQUENCE};
    FlResult result = fl__payload_seal(&way, &client->next, sequence, buffer, payload_bytes, out);
    client->said_at = result == FL_OK ? now : client->said_at;
    return result;
}

void fl__seal_client_moved(FlSealClient *client, FlTime now)
{
    if (client->state == FL_SEAL_CONNECTED && client->def.rebind_ns != FL_FOREVER) {
        // As if the silence had lasted long enough already; time-outs still count from the truth.
        client->move_at = now;
        client->moves_left = MOVES;
    }
}

FlSealClientStatus fl_seal_client_status(const FlSealClient *client)
{
    FlSealClientStatus status = {
        .state = client->state,
        .server = client->server,
        .address = client->token.address[client->server],
        .index = client->index,
        .slot_count = client->slot_count,
    };
    memcpy(status.drops, client->drops, sizeof status.drops);
    return status;
}
