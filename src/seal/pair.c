// Two introduced peers: keys from the host, so no handshake; a way to each other, found by trying.
//
// Both send keep-alives to every candidate address of the other until one authenticates. That is
// also the hole punch: each one's packets open its own router for the other's. The smaller id uses
// the keys as the client does. A keep-alive of a pair says how far its sender is:
//
//   bytes  field   in the body of a keep-alive                      spec/WIRE.md section 9.6
//   4      role    0 client, 1 server
//   4      stage   0 has not heard the peer, 1 has heard it, 2 knows that both have
//
// A side is connected when it hears stage 1 or more, or a payload: then packets go both ways. It
// answers every lower stage at once, so the two cannot stop at different stages.
//
// Afterwards any genuine packet counts as a sign of life, and a keep-alive goes out after a quarter
// of the time-out without other traffic, jittered so that a mesh does not speak in chorus. A packet
// from a new address is answered with a path challenge (as in path.c), never with more bytes than
// came from there; when it is answered, the peer has moved.
#include "private.h"

#include <string.h>

#define COOKIE 0x5ea19a18u
#define GOODBYES 10

enum { STAGE_DEAF = 0, STAGE_HEARD = 1, STAGE_BOTH = 2 };

struct FlSealPair {
    FlSealPairDef def;
    FlSealPairState state;
    bool client; // the smaller id
    FlTime started_at;
    FlAddress address; // where the peer is
    bool heard;
    FlTime heard_at;
    FlTime say_at;  // the next keep-alive
    int32_t round;  // candidate of this round that comes next; -1: none
    bool reply_due; // the peer is not as far as we are
    Path path;
    bool challenge_due;
    bool answer_due;
    FlAddress answer_to;
    uint8_t answer[PATH_BYTES];
    int32_t goodbyes_left;
    uint64_t next; // sequence number
    Replay replay;
    uint64_t drops[FL_SEAL_DROPS];
    uint8_t packet[CONTROL_BYTES];
};

// ---------------------------------------------------------------- making one

FlSealPairDef fl_seal_pair_def_default(void)
{
    FlSealPairDef def = {.reach_ns = FL_MS(200), .cookie = COOKIE};
    return def;
}

FlResult fl_seal_pair_create(const FlSealPairDef *def, FlTime now, FlSealPair **pair)
{
    FL_ASSERT(def->cookie == COOKIE);
    *pair = NULL;
    if (!fl__introduction_good(&def->introduction) || def->reach_ns <= 0) {
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
    made->started_at = now;
    made->say_at = now;
    made->round = -1;
    *pair = made;
    return FL_OK;
}

void fl_seal_pair_destroy(FlSealPair *pair)
{
    if (pair == NULL) {
        return;
    }
    FlAlloc alloc = pair->def.alloc;
    sodium_memzero(pair, sizeof *pair);
    fl_free(&alloc, pair, sizeof *pair);
}

// ---------------------------------------------------------------- small things

static const uint8_t *key_out(const FlSealPair *pair)
{
    const FlSealIntroduction *m = &pair->def.introduction;
    return pair->client ? m->to_server_key : m->to_client_key;
}

static const uint8_t *key_in(const FlSealPair *pair)
{
    const FlSealIntroduction *m = &pair->def.introduction;
    return pair->client ? m->to_client_key : m->to_server_key;
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
    FlTime span = pair->state == FL_SEAL_PAIR_CONNECTED ? quarter : pair->def.reach_ns;
    pair->say_at = fl_time_add(now, jittered(pair, span));
}

// ---------------------------------------------------------------- packets in

static void connect(FlSealPair *pair, FlTime now)
{
    if (pair->state == FL_SEAL_PAIR_REACHING) {
        pair->state = FL_SEAL_PAIR_CONNECTED;
        pair->round = -1;
        plan(pair, now);
    }
}

// The peer was heard from an address: it is there, or has moved there, or has to prove it.
static void heard_from(FlSealPair *pair, FlAddress from, int32_t count, const Packet *packet)
{
    bool newest = packet->sequence == pair->replay.newest;
    if (fl_address_equal(pair->address, from) || !newest) {
        return; // an old packet does not say where the peer is now
    }
    if (pair->state == FL_SEAL_PAIR_REACHING) {
        pair->address = from; // nothing goes there yet but what goes to all candidates
        return;
    }
    Path *path = &pair->path;
    if (!fl_address_equal(path->address, from)) {
        path->address = from;
        path->credit_bytes = 0;
        fl__random_fill(&pair->def.random, path->token, sizeof path->token);
    }
    path->credit_bytes += count;
    int32_t longest = FL_SEAL_HEAD_BYTES + PATH_BYTES + FL_SEAL_TAIL_BYTES;
    pair->challenge_due = path->credit_bytes >= longest;
}

static void take_keep_alive(FlSealPair *pair, FlTime now, const Packet *packet)
{
    uint32_t stage = fl__load_u32(packet->body + 4);
    if (stage >= STAGE_HEARD) {
        connect(pair, now);
    }
    pair->reply_due = stage < STAGE_BOTH;
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

static FlSealDrop take_packet(FlSealPair *pair, FlTime now, FlAddress from, const Packet *packet,
                              FlSealPayload *payload)
{
    switch (packet->kind) {
    case KIND_KEEP_ALIVE:
        take_keep_alive(pair, now, packet);
        return FL_SEAL_DROP_NONE;
    case KIND_PAYLOAD:
        connect(pair, now); // only who is connected sends payloads
        payload->bytes = packet->body;
        payload->count = packet->body_bytes;
        payload->sequence = packet->sequence;
        return FL_SEAL_DROP_NONE;
    case KIND_DISCONNECT:
        pair->state = FL_SEAL_PAIR_LEFT;
        return FL_SEAL_DROP_NONE;
    case KIND_PATH:
        memcpy(pair->answer, packet->body, PATH_BYTES);
        pair->answer_due = true;
        pair->answer_to = from;
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
                           KIND_BIT(KIND_DISCONNECT) | KIND_BIT(KIND_PATH) | KIND_BIT(KIND_ANSWER);
    Packet packet;
    FlSealDrop drop = fl__packet_parse(bytes, count, kinds, &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    if (over(pair)) {
        return FL_SEAL_DROP_STATE;
    }
    drop =
        fl__packet_take(pair->def.introduction.protocol_id, key_in(pair), &pair->replay, &packet);
    if (drop != FL_SEAL_DROP_NONE) {
        return drop;
    }
    pair->heard = true;
    pair->heard_at = now;
    if (packet.kind != KIND_ANSWER) {
        heard_from(pair, from, count, &packet);
    }
    return take_packet(pair, now, from, &packet, payload);
}

FlSealDrop fl_seal_pair_receive(FlSealPair *pair, FlTime now, FlAddress from, uint8_t *bytes,
                                int32_t count, FlSealPayload *payload)
{
    memset(payload, 0, sizeof *payload);
    FlSealDrop drop = receive(pair, now, from, bytes, count, payload);
    pair->drops[drop]++;
    return drop;
}

// ---------------------------------------------------------------- packets out

static FlResult give(FlSealPair *pair, FlAddress to, Kind kind, const void *body,
                     int32_t body_bytes, FlSealed *out)
{
    uint64_t sequence = pair->next;
    if (fl__sequence_take(&pair->next, sequence) != FL_OK) {
        return FL_NOT_FOUND;
    }
    out->to = to;
    out->count = fl__packet_control(pair->def.introduction.protocol_id, key_out(pair), kind,
                                    sequence, 0, body, body_bytes, pair->packet, &out->bytes);
    return FL_OK;
}

static FlResult give_keep_alive(FlSealPair *pair, FlAddress to, FlSealed *out)
{
    uint32_t stage = pair->state == FL_SEAL_PAIR_CONNECTED ? STAGE_BOTH
                     : pair->heard                         ? STAGE_HEARD
                                                           : STAGE_DEAF;
    uint8_t body[8];
    fl__store_u32(body, pair->client ? 0 : 1);
    fl__store_u32(body + 4, stage);
    return give(pair, to, KIND_KEEP_ALIVE, body, sizeof body, out);
}

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

// To all candidates, and to where the peer was heard from if that is none of them (a router gave it
// another port).
static FlResult reach(FlSealPair *pair, FlTime now, FlSealed *out)
{
    const FlSealIntroduction *m = &pair->def.introduction;
    if (pair->round < 0 && (now >= pair->say_at || pair->reply_due)) {
        pair->round = 0;
        pair->reply_due = false;
        plan(pair, now);
    }
    if (pair->round < 0) {
        return FL_NOT_FOUND;
    }
    if (pair->round < m->candidate_count) {
        return give_keep_alive(pair, m->candidate[pair->round++], out);
    }
    pair->round = -1;
    if (pair->heard && !is_candidate(pair, pair->address)) {
        return give_keep_alive(pair, pair->address, out);
    }
    return FL_NOT_FOUND;
}

static FlResult give_challenge(FlSealPair *pair, FlSealed *out)
{
    pair->challenge_due = false;
    pair->path.credit_bytes = 0;
    return give(pair, pair->path.address, KIND_PATH, pair->path.token, PATH_BYTES, out);
}

static FlResult keep_up(FlSealPair *pair, FlTime now, FlSealed *out)
{
    if (pair->answer_due) {
        pair->answer_due = false;
        return give(pair, pair->answer_to, KIND_ANSWER, pair->answer, PATH_BYTES, out);
    }
    if (pair->challenge_due) {
        return give_challenge(pair, out);
    }
    if (pair->reply_due || now >= pair->say_at) {
        pair->reply_due = false;
        plan(pair, now);
        return give_keep_alive(pair, pair->address, out);
    }
    return FL_NOT_FOUND;
}

static void notice_times(FlSealPair *pair, FlTime now)
{
    if (pair->state == FL_SEAL_PAIR_REACHING && now >= expires_at(pair)) {
        pair->state = FL_SEAL_PAIR_EXPIRED;
    }
    if (pair->state == FL_SEAL_PAIR_CONNECTED &&
        fl__silent_for(now, pair->heard_at, pair->def.introduction.timeout_s)) {
        pair->state = FL_SEAL_PAIR_TIMED_OUT;
    }
}

FlResult fl_seal_pair_next(FlSealPair *pair, FlTime now, FlSealed *out)
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
    return pair->state == FL_SEAL_PAIR_CONNECTED ? keep_up(pair, now, out) : reach(pair, now, out);
}

FlTime fl_seal_pair_deadline(const FlSealPair *pair)
{
    bool waiting = pair->reply_due || pair->challenge_due || pair->answer_due || pair->round >= 0;
    if (pair->goodbyes_left > 0 || (!over(pair) && waiting)) {
        return NEVER;
    }
    if (over(pair)) {
        return FL_FOREVER;
    }
    FlTime end = pair->state == FL_SEAL_PAIR_CONNECTED
                     ? fl__silent_at(pair->heard_at, pair->def.introduction.timeout_s)
                     : expires_at(pair);
    return pair->say_at < end ? pair->say_at : end;
}

uint64_t fl_seal_pair_sequence(const FlSealPair *pair)
{
    return pair->next;
}

FlResult fl_seal_pair_seal(FlSealPair *pair, FlTime now, uint64_t sequence, uint8_t *buffer,
                           int32_t payload_bytes, FlSealed *out)
{
    memset(out, 0, sizeof *out);
    if (pair->state != FL_SEAL_PAIR_CONNECTED) {
        return FL_STALE_ID;
    }
    if (payload_bytes < 1 || payload_bytes > FL_SEAL_PAYLOAD_BYTES) {
        return FL_BAD_VALUE;
    }
    FlResult taken = fl__sequence_take(&pair->next, sequence);
    if (taken != FL_OK) {
        return taken;
    }
    uint8_t *start;
    out->count = fl__packet_seal(pair->def.introduction.protocol_id, key_out(pair), KIND_PAYLOAD,
                                 sequence, buffer + FL_SEAL_HEAD_BYTES, payload_bytes, &start);
    out->bytes = start;
    out->to = pair->address;
    plan(pair, now); // any packet is a keep-alive
    return FL_OK;
}

void fl_seal_pair_disconnect(FlSealPair *pair, FlTime now)
{
    (void)now;
    if (!over(pair)) {
        pair->goodbyes_left = pair->heard ? GOODBYES : 0;
        pair->state = FL_SEAL_PAIR_LEFT;
    }
}

FlSealPairStatus fl_seal_pair_status(const FlSealPair *pair)
{
    FlSealPairStatus status = {.state = pair->state, .address = pair->address};
    memcpy(status.drops, pair->drops, sizeof status.drops);
    return status;
}
