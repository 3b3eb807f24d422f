// Two introduced peers: they agree on keys, and find a way to each other by trying.
//
// Both send a HELLO to every candidate address of the other until one authenticates. That is also
// the hole punch: each one's packets open its own router for the other's. The smaller id is the
// client. A HELLO is sealed with the introduction's key for its direction:
//
//   bytes  field   in the body of a HELLO                           spec/WIRE.md section 9.6
//   32     public  the sender's half of the keys, the same in every HELLO of an introduction
//   16     proof   that the sender has the receiver's half; zeros: it has not
//
// Whoever gets a right proof uses the new keys from then on, and so does whoever opens a packet
// with them. A keep-alive of a pair says how far its sender is:
//
//   4      role    0 client, 1 server
//   4      stage   1 uses the new keys, 2 has opened a packet with them
//
// Stage 1 and every HELLO are answered at once, so the two cannot stop at different stages. When a
// packet came under the new keys, all that led to them is wiped.
//
// A renewal (fl__seal_pair_renew) is the same again, beside the traffic: packets go on under the
// old keys until the peer has proved that it has the new ones. Old packets are opened for a while.
//
// Any genuine packet is a sign of life, and a keep-alive goes out after a quarter of the time-out
// without other traffic, jittered so that a mesh does not speak in chorus. A packet from a new
// address is answered with a path challenge (as in path.c), never with more bytes than came from
// there; when it is answered, the peer has moved. Whoever sends payloads and hears nothing asks
// with a MOVE whether its own address has changed.
#include "private.h"
#include "server.h"

#include <string.h>

#define COOKIE 0x5ea19a18u
#define GOODBYES 10

#define OLD_KEYS_FOR FL_SEC(2) // packets that were on their way when the keys changed
#define MOVE_RARELY FL_SEC(30) // once no answer came for long

enum { STAGE_ONE = 1, STAGE_BOTH = 2 };

// What every packet needs comes first (fl__seal_pair_soon).
struct FlSealPair {
    FlSealPairState state;
    bool keyed;     // keys are agreed
    bool reply_due; // the peer is not as far as we are
    bool received;
    FlAddress address; // where the peer is
    FlTime received_at;
    FlTime say_at;   // the next keep-alive
    FlTime asked_at; // the first payload since something came; FL_FOREVER: none
    FlTime move_at;  // the next MOVE, while nothing comes back,
    FlTime move_wait;
    uint64_t next; // sequence number
    PairKeys keys;
    Replay replay;
    FlSealPairDef def;
    bool client; // the smaller id
    FlTime started_at;
    FlTime hello_at; // the next round of hellos
    int32_t round;   // candidate of this round that comes next; -1: none
    Path path;
    bool challenge_due;
    bool answer_due;
    uint8_t answer[PATH_BYTES];
    int32_t goodbyes_left;
    uint64_t hello_next;        // above the newest of the peer's hellos
    uint32_t hint_out, hint_in; // in clear in MOVE and ANSWER
    Agreement agreement;
    uint8_t old_in[FL_SEAL_KEY_BYTES]; // of the keys before,
    FlTime old_until;                  // good until then
    uint64_t drops[FL_SEAL_DROPS];
    uint8_t packet[CONTROL_BYTES];
};

// ---------------------------------------------------------------- making one

FlSealPairDef fl__seal_pair_def_default(void)
{
    FlSealPairDef def = {.reach_ns = FL_MS(200), .rebind_ns = FL_FOREVER, .cookie = COOKIE};
    return def;
}

// A first introduction, or another one.
static void begin_agreement(FlSealPair *pair, const FlSealIntroduction *m, uint64_t unix_s,
                            FlTime now)
{
    pair->def.introduction = *m;
    pair->def.unix_s = unix_s;
    sodium_memzero(pair->def.introduction.key, FL_SEAL_KEY_BYTES); // the agreement's from now on
    fl__agreement_begin(&pair->agreement, m, &pair->def.random);
    pair->started_at = now;
    pair->hello_at = now;
    pair->round = -1;
}

FlResult fl__seal_pair_create(const FlSealPairDef *def, FlTime now, FlSealPair **pair)
{
    FL_ASSERT(def->cookie == COOKIE);
    *pair = NULL;
    if (!fl__introduction_good(&def->introduction) || def->reach_ns <= 0 || def->rebind_ns <= 0) {
        return FL_BAD_VALUE;
    }
    if (!fl__sodium_ready()) {
        return FL_SYSTEM;
    }
    FlSealPair *made = fl_alloc(&def->alloc, sizeof *made, _Alignof(FlSealPair));
    if (made == NULL) {
        return FL_NO_MEMORY;
    }
    made->def = *def;
    made->client = def->introduction.own_id < def->introduction.peer_id;
    made->say_at = now;
    made->old_until = NEVER;
    made->asked_at = FL_FOREVER;
    begin_agreement(made, &def->introduction, def->unix_s, now);
    made->hint_in = made->agreement.hint_in;
    made->hint_out = made->agreement.hint_out;
    *pair = made;
    return FL_OK;
}

FlResult fl__seal_pair_renew(FlSealPair *pair, FlTime now, uint64_t unix_s,
                             const FlSealIntroduction *introduction)
{
    const FlSealIntroduction *m = &pair->def.introduction;
    if (pair->state != FL_SEAL_PAIR_CONNECTED) {
        return FL_STALE_ID;
    }
    if (!fl__introduction_good(introduction) || introduction->own_id != m->own_id ||
        introduction->peer_id != m->peer_id || introduction->protocol_id != m->protocol_id) {
        return FL_BAD_VALUE;
    }
    begin_agreement(pair, introduction, unix_s, now);
    pair->hello_next = 0;
    return FL_OK;
}

void fl__seal_pair_destroy(FlSealPair *pair)
{
    if (pair == NULL) {
        return;
    }
    FlAlloc alloc = pair->def.alloc;
    fl_free(&alloc, pair, sizeof *pair);
}

// ---------------------------------------------------------------- small things

static const uint8_t *key_out(const FlSealPair *pair)
{
    return pair->keyed ? pair->keys.out : pair->agreement.fresh.out;
}

// Hellos go out: the peer has not proved yet that it has the keys that are being agreed on.
static bool greets(const FlSealPair *pair)
{
    return pair->agreement.open && !pair->agreement.adopted;
}

static bool over(const FlSealPair *pair)
{
    return pair->state != FL_SEAL_PAIR_REACHING && pair->state != FL_SEAL_PAIR_CONNECTED;
}

static FlTime expires_at(const FlSealPair *pair)
{
    uint64_t until = pair->def.introduction.expire_s;
    uint64_t left_s = until > pair->def.unix_s ? until - pair->def.unix_s : 0;
    return left_s < UINT64_C(1) << 33 ? fl_time_add(pair->started_at, FL_SEC((int64_t)left_s))
                                      : FL_FOREVER;
}

// Nine to eleven tenths of a span.
static FlTime jittered(FlSealPair *pair, FlTime span)
{
    uint8_t draw[4];
    fl__random_fill(&pair->def.random, draw, sizeof draw);
    double share = (double)fl__load_u32(draw) / 4294967296.0;
    return (FlTime)((double)span * (0.9 + 0.2 * share));
}

static void plan(FlSealPair *pair, FlTime now)
{
    FlTime quarter = FL_SEC(pair->def.introduction.timeout_s) / 4;
    pair->say_at = fl_time_add(now, jittered(pair, quarter));
}

// The peer seems to be at an address that it has not proved. It gets no more bytes than came from
// there.
static void note_path(FlSealPair *pair, FlAddress from, int32_t count)
{
    Path *path = &pair->path;
    if (!fl_address_equal(path->address, from)) {
        path->address = from;
        path->credit_bytes = 0;
        fl__random_fill(&pair->def.random, path->token, sizeof path->token);
    }
    path->credit_bytes += count;
    int32_t longest = FL_SEAL_HEAD_BYTES + PATH_BYTES + FL_SEAL_TAIL_BYTES;
    pair->challenge_due = pair->keyed && path->credit_bytes >= longest;
}

// ---------------------------------------------------------------- keys

// The peer has the new keys: they are in use from now on.
static void adopt(FlSealPair *pair, FlTime now)
{
    Agreement *a = &pair->agreement;
    if (pair->keyed) {
        memcpy(pair->old_in, pair->keys.in, sizeof pair->old_in);
        pair->old_until = fl_time_add(now, OLD_KEYS_FOR);
    }
    pair->keys = a->fresh;
    pair->keyed = true;
    pair->hint_in = a->hint_in;
    pair->hint_out = a->hint_out;
    a->adopted = true;
    sodium_memzero(&a->fresh, sizeof a->fresh);
    pair->round = -1;
    pair->reply_due = true;
    if (pair->state == FL_SEAL_PAIR_REACHING) {
        pair->state = FL_SEAL_PAIR_CONNECTED;
        note_path(pair, pair->path.address, 0);
        if (pair->address.family == FL_FAMILY_NONE) {
            pair->address = pair->def.introduction.candidate[0];
        }
        plan(pair, now);
    }
}

// The peer uses the new keys: what led to them has served.
static void settle_keys(FlSealPair *pair)
{
    if (pair->agreement.adopted) {
        sodium_memzero(&pair->agreement, sizeof pair->agreement);
    }
}

static FlSealDrop open_packet(FlSealPair *pair, FlTime now, const Packet *packet)
{
    uint64_t protocol_id = pair->def.introduction.protocol_id;
    const Agreement *a = &pair->agreement;
    if (!fl__replay_check(&pair->replay, packet->sequence)) {
        return FL_SEAL_DROP_REPLAY;
    }
    if (!pair->keyed && !a->met) {
        return FL_SEAL_DROP_STATE;
    }
    if (pair->keyed && fl__packet_open(protocol_id, pair->keys.in, packet)) {
        settle_keys(pair);
    } else if (greets(pair) && a->met && fl__packet_open(protocol_id, a->fresh.in, packet)) {
        adopt(pair, now);
        settle_keys(pair);
    } else if (now >= pair->old_until || !fl__packet_open(protocol_id, pair->old_in, packet)) {
        return FL_SEAL_DROP_TAMPERED;
    }
    fl__replay_note(&pair->replay, packet->sequence);
    return FL_SEAL_DROP_NONE;
}

// ---------------------------------------------------------------- packets in

static bool is_candidate(const FlSealPair *pair, FlAddress address)
{
    const FlSealIntroduction *m = &pair->def.introduction;
    for (int32_t i = 0; i < m->candidate_count; i++) {
        if (fl_address_equal(m->candidate[i], address)) {
            return true;
        }
    }
    return false;
}

// The host vouches for candidates; from elsewhere (a router gave it another port) the peer is
// reached, too, and has to prove its address once there are keys.
static void reach_from(FlSealPair *pair, FlAddress from, int32_t count)
{
    if (pair->keyed) {
        return;
    }
    if (is_candidate(pair, from)) {
        pair->address = from;
    } else {
        note_path(pair, from, count);
    }
}

static void note_received(FlSealPair *pair, FlTime now)
{
    pair->received = true;
    pair->received_at = now;
    pair->asked_at = FL_FOREVER;
}

static FlSealDrop take_hello(FlSealPair *pair, FlTime now, FlAddress from, int32_t count,
                             const Packet *packet)
{
    Agreement *a = &pair->agreement;
    const FlSealIntroduction *m = &pair->def.introduction;
    const uint8_t *proof = packet->body + FL_SEAL_KEY_BYTES;
    if (!a->open) {
        return FL_SEAL_DROP_STATE;
    }
    if (!fl__packet_open(m->protocol_id, a->hello_in, packet) ||
        (!a->met && !fl__agreement_meet(a, m, pair->keys.root, packet->body))) {
        return FL_SEAL_DROP_TAMPERED;
    }
    if (sodium_memcmp(a->peer_public, packet->body, FL_SEAL_KEY_BYTES) != 0) {
        return FL_SEAL_DROP_STATE; // the first one counts
    }
    note_received(pair, now);
    if (packet->sequence >= pair->hello_next) { // an old one does not say where the peer is now
        pair->hello_next = packet->sequence + 1;
        pair->reply_due = true;
        reach_from(pair, from, count);
    }
    if (!greets(pair) || sodium_is_zero(proof, PROOF_BYTES)) {
        return FL_SEAL_DROP_NONE;
    }
    if (sodium_memcmp(proof, a->proof_in, PROOF_BYTES) == 0) {
        adopt(pair, now);
    } else {
        pair->state = FL_SEAL_PAIR_EXPIRED; // other keys before: it is not the peer we know
    }
    return FL_SEAL_DROP_NONE;
}

// A packet of the peer came from an address: it is there, or has moved there, or has to prove it.
static void received_from(FlSealPair *pair, FlAddress from, int32_t count, const Packet *packet)
{
    bool newest = packet->sequence == pair->replay.newest;
    if (fl_address_equal(pair->address, from) || !newest) {
        return; // an old packet does not say where the peer is now
    }
    note_path(pair, from, count);
}

static FlSealDrop take_answer(FlSealPair *pair, FlAddress from, const Packet *packet)
{
    if (!fl_address_equal(pair->path.address, from) ||
        sodium_memcmp(pair->path.token, packet->body, PATH_BYTES) != 0) {
        return FL_SEAL_DROP_PATH;
    }
    pair->address = from;
    memset(&pair->path, 0, sizeof pair->path);
    pair->challenge_due = false;
    return FL_SEAL_DROP_NONE;
}

static FlSealDrop take_packet(FlSealPair *pair, FlAddress from, const Packet *packet,
                              FlSealPayload *payload)
{
    switch (packet->kind) {
    case KIND_KEEP_ALIVE:
        pair->reply_due = pair->reply_due || fl__load_u32(packet->body + 4) < STAGE_BOTH;
        return FL_SEAL_DROP_NONE;
    case KIND_MOVE:
        pair->reply_due = fl_address_equal(from, pair->address);
        return FL_SEAL_DROP_NONE;
    case KIND_PAYLOAD:
        payload->bytes = packet->body;
        payload->count = packet->body_bytes;
        payload->sequence = packet->sequence;
        return FL_SEAL_DROP_NONE;
    case KIND_DISCONNECT:
        pair->state = FL_SEAL_PAIR_LEFT;
        return FL_SEAL_DROP_NONE;
    case KIND_PATH:
        memcpy(pair->answer, packet->body, PATH_BYTES);
        pair->answer_due = true; // to where the peer is known to be, whoever carried this
        return FL_SEAL_DROP_NONE;
    case KIND_ANSWER:
        return take_answer(pair, from, packet);
    default:
        return FL_SEAL_DROP_KIND;
    }
}

static FlSealDrop receive(FlSealPair *pair, FlTime now, FlAddress from, uint8_t *bytes,
                          int32_t count, FlSealPayload *payload)
{
    const uint32_t kinds = KIND_BIT(KIND_KEEP_ALIVE) | KIND_BIT(KIND_PAYLOAD) |
                           KIND_BIT(KIND_DISCONNECT) | KIND_BIT(KIND_MOVE) | KIND_BIT(KIND_PATH) |
                           KIND_BIT(KIND_ANSWER) | KIND_BIT(KIND_HELLO);
    Packet packet;
    FlSealDrop drop = fl__packet_parse(bytes, count, kinds, &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (over(pair)) {
        return FL_SEAL_DROP_STATE;
    }
    if (packet.kind == KIND_HELLO) {
        return take_hello(pair, now, from, count, &packet);
    }
    drop = open_packet(pair, now, &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    note_received(pair, now);
    if (packet.kind != KIND_ANSWER) {
        received_from(pair, from, count, &packet);
    }
    return take_packet(pair, from, &packet, payload);
}

FlSealDrop fl__seal_pair_receive(FlSealPair *pair, FlTime now, FlAddress from, uint8_t *bytes,
                                 int32_t count, FlSealPayload *payload)
{
    memset(payload, 0, sizeof *payload);
    FlSealDrop drop = receive(pair, now, from, bytes, count, payload);
    pair->drops[drop]++;
    return drop;
}

bool fl__seal_pair_hinted(const FlSealPair *pair, const uint8_t *bytes, int32_t count)
{
    int32_t number_bytes = count > 0 ? bytes[0] >> 4 : 0;
    uint32_t kind = count > 0 ? bytes[0] & 0x0fu : 0;
    if (kind < KIND_MOVE || count < 1 + number_bytes + HINT_BYTES) {
        return false;
    }
    uint32_t hint = fl__load_u32(bytes + 1 + number_bytes);
    return hint == pair->hint_in || (pair->agreement.open && hint == pair->agreement.hint_in);
}

// ---------------------------------------------------------------- packets out

static FlResult give_sealed(FlSealPair *pair, FlAddress to, Kind kind, const uint8_t *key,
                            uint32_t hint, const void *body, int32_t body_bytes, FlSealed *out)
{
    uint64_t sequence = pair->next;
    if (fl__sequence_take(&pair->next, LAST_SEQUENCE, sequence) != FL_OK) {
        return FL_NOT_FOUND;
    }
    out->to = to;
    out->count = fl__packet_control(pair->def.introduction.protocol_id, key, kind, sequence, hint,
                                    body, body_bytes, pair->packet, &out->bytes);
    return FL_OK;
}

static FlResult give(FlSealPair *pair, FlAddress to, Kind kind, const void *body,
                     int32_t body_bytes, FlSealed *out)
{
    return give_sealed(pair, to, kind, key_out(pair), pair->hint_out, body, body_bytes, out);
}

static FlResult give_hello(FlSealPair *pair, FlAddress to, FlSealed *out)
{
    const Agreement *a = &pair->agreement;
    uint8_t body[HELLO_BYTES];
    memcpy(body, a->own_public, FL_SEAL_KEY_BYTES);
    memcpy(body + FL_SEAL_KEY_BYTES, a->proof_out, PROOF_BYTES);
    return give_sealed(pair, to, KIND_HELLO, a->hello_out, a->hint_out, body, sizeof body, out);
}

static FlResult give_keep_alive(FlSealPair *pair, FlSealed *out)
{
    uint8_t body[8];
    fl__store_u32(body, pair->client ? 0 : 1);
    fl__store_u32(body + 4, pair->agreement.adopted ? STAGE_ONE : STAGE_BOTH);
    return give(pair, pair->address, KIND_KEEP_ALIVE, body, sizeof body, out);
}

// To all candidates, and to where the peer is or seems to be if that is none of them.
static FlResult greet(FlSealPair *pair, FlTime now, FlSealed *out)
{
    const FlSealIntroduction *m = &pair->def.introduction;
    if (pair->round < 0 && (now >= pair->hello_at || pair->reply_due)) {
        pair->round = 0;
        pair->reply_due = false;
        pair->hello_at = fl_time_add(now, jittered(pair, pair->def.reach_ns));
    }
    if (pair->round < 0) {
        return FL_NOT_FOUND;
    }
    if (pair->round < m->candidate_count) {
        return give_hello(pair, m->candidate[pair->round++], out);
    }
    pair->round = -1;
    if (pair->keyed && !is_candidate(pair, pair->address)) {
        return give_hello(pair, pair->address, out);
    }
    Path *path = &pair->path;
    int32_t bytes = fl__packet_size(KIND_HELLO, pair->next, HELLO_BYTES);
    if (pair->keyed || path->credit_bytes < bytes) {
        return FL_NOT_FOUND;
    }
    path->credit_bytes -= bytes;
    return give_hello(pair, path->address, out);
}

static FlResult give_challenge(FlSealPair *pair, FlSealed *out)
{
    pair->challenge_due = false;
    pair->path.credit_bytes = 0;
    return give(pair, pair->path.address, KIND_PATH, pair->path.token, PATH_BYTES, out);
}

static FlTime move_due(const FlSealPair *pair)
{
    return pair->asked_at == FL_FOREVER ? FL_FOREVER : pair->move_at;
}

// Nothing comes back: our address may have changed. Rarer and rarer: the peer may be gone.
static FlResult give_move(FlSealPair *pair, FlTime now, FlSealed *out)
{
    uint8_t body[MOVE_BYTES];
    fl__random_fill(&pair->def.random, body, sizeof body);
    pair->move_at = fl_time_add(now, pair->move_wait);
    pair->move_wait = fl_time_min(2 * pair->move_wait, MOVE_RARELY);
    return give(pair, pair->address, KIND_MOVE, body, sizeof body, out);
}

static FlResult keep_up(FlSealPair *pair, FlTime now, FlSealed *out)
{
    if (pair->answer_due) {
        pair->answer_due = false;
        return give(pair, pair->address, KIND_ANSWER, pair->answer, PATH_BYTES, out);
    }
    if (pair->challenge_due) {
        return give_challenge(pair, out);
    }
    if (greets(pair) && greet(pair, now, out) == FL_OK) {
        return FL_OK;
    }
    if (pair->reply_due || now >= pair->say_at) {
        pair->reply_due = false;
        plan(pair, now);
        return give_keep_alive(pair, out);
    }
    return now >= move_due(pair) ? give_move(pair, now, out) : FL_NOT_FOUND;
}

static void notice_times(FlSealPair *pair, FlTime now)
{
    if (greets(pair) && now >= expires_at(pair)) {
        pair->state = FL_SEAL_PAIR_EXPIRED;
    }
    if (now >= pair->old_until && pair->old_until != NEVER) {
        sodium_memzero(pair->old_in, sizeof pair->old_in);
        pair->old_until = NEVER;
    }
    if (pair->state == FL_SEAL_PAIR_CONNECTED &&
        fl__silent_for(now, pair->received_at, pair->def.introduction.timeout_s)) {
        pair->state = FL_SEAL_PAIR_TIMED_OUT;
    }
}

FlResult fl__seal_pair_next(FlSealPair *pair, FlTime now, FlSealed *out)
{
    memset(out, 0, sizeof *out);
    if (pair->goodbyes_left > 0) {
        pair->goodbyes_left--;
        return give(pair, pair->address, KIND_DISCONNECT, NULL, 0, out);
    }
    notice_times(pair, now);
    if (over(pair)) {
        return FL_NOT_FOUND;
    }
    return pair->state == FL_SEAL_PAIR_CONNECTED ? keep_up(pair, now, out) : greet(pair, now, out);
}

FlTime fl__seal_pair_deadline(const FlSealPair *pair)
{
    bool waiting = pair->reply_due || pair->challenge_due || pair->answer_due || pair->round >= 0;
    if (pair->goodbyes_left > 0 || (!over(pair) && waiting)) {
        return NEVER;
    }
    if (over(pair)) {
        return FL_FOREVER;
    }
    FlTime hello = greets(pair) ? fl_time_min(pair->hello_at, expires_at(pair)) : FL_FOREVER;
    if (pair->state != FL_SEAL_PAIR_CONNECTED) {
        return hello;
    }
    FlTime silent = fl__silent_at(pair->received_at, pair->def.introduction.timeout_s);
    FlTime own = fl_time_min(fl_time_min(pair->say_at, silent), move_due(pair));
    return fl_time_min(own, hello);
}

uint64_t fl__seal_pair_sequence(const FlSealPair *pair)
{
    return pair->next;
}

FlResult fl__seal_pair_seal(FlSealPair *pair, FlTime now, uint64_t sequence, uint8_t *buffer,
                            int32_t payload_bytes, FlSealed *out)
{
    memset(out, 0, sizeof *out);
    if (pair->state != FL_SEAL_PAIR_CONNECTED) {
        return FL_STALE_ID;
    }
    const PayloadWay way = {pair->def.introduction.protocol_id, key_out(pair), pair->address,
                            LAST_SEQUENCE};
    FlResult result = fl__payload_seal(&way, &pair->next, sequence, buffer, payload_bytes, out);
    if (result == FL_OK) {
        plan(pair, now); // any packet is a keep-alive
        if (pair->asked_at == FL_FOREVER && pair->def.rebind_ns != FL_FOREVER) {
            pair->asked_at = now;
            pair->move_at = fl_time_add(now, pair->def.rebind_ns);
            pair->move_wait = pair->def.rebind_ns;
        }
    }
    return result;
}

void fl__seal_pair_expect(FlSealPair *pair, FlTime rebind_ns)
{
    pair->def.rebind_ns = rebind_ns;
}

void fl__seal_pair_disconnect(FlSealPair *pair, FlTime now)
{
    (void)now;
    if (!over(pair)) {
        pair->goodbyes_left = pair->keyed || pair->agreement.met ? GOODBYES : 0;
        pair->state = FL_SEAL_PAIR_LEFT;
    }
}

FlSealPairStatus fl__seal_pair_status(const FlSealPair *pair)
{
    FlSealPairStatus status = {.state = pair->state, .address = pair->address};
    memcpy(status.drops, pair->drops, sizeof status.drops);
    return status;
}

#define LINE 64
#define SOON_BYTES 512

void fl__seal_pair_soon(const FlSealPair *pair)
{
    for (int32_t at = 0; at < SOON_BYTES; at += LINE) {
        __builtin_prefetch((const uint8_t *)pair + at);
    }
}

bool fl__seal_pair_connected(const FlSealPair *pair)
{
    return pair->state == FL_SEAL_PAIR_CONNECTED;
}

FlAddress fl__seal_pair_address(const FlSealPair *pair)
{
    return pair->address;
}

FlResult fl__seal_pair_binding(const FlSealPair *pair, uint8_t binding[FL_SEAL_BINDING_BYTES])
{
    memset(binding, 0, FL_SEAL_BINDING_BYTES);
    if (!pair->keyed) {
        return FL_STALE_ID;
    }
    fl__keys_binding(&pair->keys, binding);
    return FL_OK;
}
