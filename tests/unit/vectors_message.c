// spec/vectors/message.json: messages of lags, actions, timelines, calls, guidance and events, in
// bytes and in what they say, for decoders in other languages.
//
// The Python test test_wire_messages.py reads the file with decoders written from spec/WIRE.md
// alone. Of every message there are some with random values and some with the largest there are;
// and bytes that must be refused.
#include "vectors.h"

#include "agree/private.h"
#include "entity/private.h"
#include "fairlead/show.h"
#include "member/private.h"
#include "play/private.h"
#include "show/show.h"
#include "wire/wire.h"

enum { BYTES = 1400, INPUT_BYTES = 3, SELF = 2, EACH = 5 };

/// X(name, kind before it): 0: none.
#define MESSAGES(X)                                                                                \
    X(PROBE, 0)                                                                                    \
    X(VECTOR, 0)                                                                                   \
    X(READY, 0)                                                                                    \
    X(ACTION, 0)                                                                                   \
    X(HASHES, 0)                                                                                   \
    X(TICK_RANGE, 0)                                                                               \
    X(ENTER, 0)                                                                                    \
    X(SNAPSHOT, 0)                                                                                 \
    X(CALL, MESSAGE_CALL)                                                                          \
    X(ANSWER, MESSAGE_ANSWER)                                                                      \
    X(HANDOVER, MESSAGE_HANDOVER)                                                                  \
    X(ASK, MESSAGE_ASK)                                                                            \
    X(CLAIM, MESSAGE_CLAIM)                                                                        \
    X(CLAIMED, MESSAGE_CLAIMED)                                                                    \
    X(DAMAGE, 0)                                                                                   \
    X(DEATH, 0)                                                                                    \
    X(PICKUP, 0)                                                                                   \
    X(DOOR, 0)                                                                                     \
    X(MISSILE, 0)                                                                                  \
    X(GUIDANCE, 0)                                                                                 \
    X(EVENT, MESSAGE_EVENT)                                                                        \
    X(OFFSET, 0)

typedef enum Message {
#define ROW(name, kind) VECTOR_##name,
    MESSAGES(ROW)
#undef ROW
        VECTOR_COUNT
} Message;

static const char *name_of(Message message)
{
    static const char *const names[] = {
#define ROW(name, kind) #name,
        MESSAGES(ROW)
#undef ROW
    };
    return names[message];
}

static uint64_t kind_of(Message message)
{
    static const uint64_t kinds[] = {
#define ROW(name, kind) kind,
        MESSAGES(ROW)
#undef ROW
    };
    return kinds[message];
}

// Its writer puts its kind.
static bool puts_kind(Message message)
{
    return message == VECTOR_ASK || message == VECTOR_CLAIM || message == VECTOR_CLAIMED;
}

/// A message being made: its bytes, what it says, and whether its values are the largest.
typedef struct Making {
    FlRandom random;
    bool most;
    FlWorld world;
    FlWriter writer;
    uint8_t bytes[BYTES];
    Text *text;
} Making;

static uint64_t draw(Making *m, uint64_t most)
{
    uint64_t value =
        most == UINT64_MAX ? fl_random_next(&m->random) : fl_random_below(&m->random, most + 1);
    return m->most ? most : value;
}

static FlTime draw_time(Making *m, FlTime most)
{
    FlTime value = random_time(&m->random, -(most / 2), most / 2);
    return m->most ? most : value;
}

static FlTime draw_step(Making *m)
{
    return (FlTime)draw(m, (UINT64_C(1) << 40) - 1) * FL__CALL_STEP;
}

static void draw_bytes(Making *m, uint8_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)draw(m, 255);
    }
}

static FlVec3 draw_vec3(Making *m, int32_t first)
{
    double x[3];
    for (int32_t i = 0; i < 3; i++) {
        const FlQuantiser *q = &m->world.quantiser[first + i];
        x[i] = fl__dequantise(q, (uint32_t)draw(m, q->last));
    }
    return fl_vec3(x[0], x[1], x[2]);
}

static void says(Making *m, const char *name, int64_t value)
{
    say(m->text, ", \"%s\": %lld", name, (long long)value);
}

static void says_hex(Making *m, const char *name, const uint8_t *bytes, int32_t count)
{
    say(m->text, ", ");
    say_hex(m->text, name, bytes, count);
}

// ---------------------------------------------------------------- routed

static void make_event(Making *m)
{
    RouteHead head = {.kind = MESSAGE_EVENT, .from = (uint16_t)draw(m, UINT16_MAX)};
    head.delivery = (uint8_t)draw(m, ROUTE_CHANNEL);
    head.to_count = (int32_t)draw(m, m->most ? ROUTE_TO_AT_MOST : 3);
    says(m, "from", head.from);
    says(m, "delivery", head.delivery);
    if (head.delivery == ROUTE_CHANNEL) {
        head.channel = (uint8_t)(1 + draw(m, FL_EVENT_CHANNELS - 2));
        head.priority = (uint8_t)draw(m, UINT8_MAX);
        says(m, "channel", head.channel);
        says(m, "priority", head.priority);
    }
    say(m->text, ", \"to\": [");
    for (int32_t i = 0; i < head.to_count; i++) {
        head.to[i] = (uint16_t)draw(m, UINT16_MAX);
        say(m->text, "%s%u", i == 0 ? "" : ", ", head.to[i]);
    }
    say(m->text, "]");
    uint16_t type = (uint16_t)draw(m, UINT16_MAX);
    uint8_t bytes[64];
    int32_t count = (int32_t)draw(m, m->most ? 64 : 8);
    draw_bytes(m, bytes, count);
    says(m, "type", type);
    says_hex(m, "rest", bytes, count);
    fl_writer_init(&m->writer, m->bytes, BYTES); // the head writes the kind itself
    fl__route_head_write(&m->writer, &head);
    fl_writer_put(&m->writer, type, 16);
    fl_writer_bytes(&m->writer, bytes, count);
}

// ---------------------------------------------------------------- lags and actions

static void make_lags(Making *m, Message message)
{
    Fl__LagsBody said = {.kind = message == VECTOR_PROBE    ? FL__LAGS_PROBE
                                 : message == VECTOR_VECTOR ? FL__LAGS_VECTOR
                                                            : FL__LAGS_READY};
    if (message == VECTOR_VECTOR) {
        said.vector.round = 1 + (uint32_t)draw(m, UINT32_MAX - 1);
        said.vector.asks = draw(m, 1) == 1;
        said.vector.members = (draw(m, 255) & 0xffu) | UINT64_C(1) << SELF;
        said.vector.members |= m->most ? UINT64_C(1) << 63 : 0;
        said.vector.plays = (Fl__LagsPlays)draw(m, 2);
        bool plays = said.vector.plays != FL__LAGS_NOT;
        said.vector.a = plays ? draw_time(m, INT64_C(1) << 61) : 0;
        says(m, "round", said.vector.round);
        says(m, "asks", said.vector.asks);
        say(m->text, ", \"members\": %llu", (unsigned long long)said.vector.members);
        says(m, "plays", said.vector.plays);
        if (plays) {
            says(m, "a", said.vector.a);
        }
        for (int32_t i = 0; i < FL_LAGS_PEERS; i++) {
            if (i != SELF && fl__lags_has(said.vector.members, i)) {
                said.vector.v[i] = draw_time(m, INT64_C(1) << 60);
                say(m->text, ", \"v%d\": %lld", i, (long long)said.vector.v[i]);
            }
        }
    } else {
        said.stamp = draw_time(m, INT64_MAX);
        says(m, "stamp", said.stamp);
    }
    if (message == VECTOR_READY) {
        said.round = 1 + (uint32_t)draw(m, UINT32_MAX - 1);
        said.asks = draw(m, 1) == 1;
        says(m, "round", said.round);
        says(m, "asks", said.asks);
    }
    fl__lags_write(&m->writer, SELF, &said);
}

static void make_offset(Making *m)
{
    const FlTime apart = INT64_C(1) << 31;
    Fl__LagsBody said = {.kind = FL__LAGS_OFFSET};
    said.offset.ramp.at = draw_time(m, INT64_C(1) << 61);
    said.offset.ramp.from = m->most ? -(INT64_C(1) << 61) : draw_time(m, INT64_C(1) << 60);
    said.offset.ramp.to = said.offset.ramp.from + draw_time(m, apart);
    said.offset.slew_ppm = m->most ? FL__SLEW_MOST : FL__SLEW_LEAST + (int32_t)draw(m, 100000);
    says(m, "at", said.offset.ramp.at);
    says(m, "from", said.offset.ramp.from);
    says(m, "to", said.offset.ramp.to);
    says(m, "slew", said.offset.slew_ppm);
    fl__lags_write(&m->writer, SELF, &said);
}

static void make_action(Making *m)
{
    uint8_t bytes[FL_ACTION_BYTES];
    FlOrdered action = {.bytes = bytes};
    action.sequence = (uint32_t)draw(m, UINT32_MAX);
    action.play = draw_time(m, INT64_MAX);
    action.stamp = draw_time(m, INT64_MAX);
    action.type = (uint16_t)draw(m, UINT16_MAX);
    action.count = (int32_t)draw(m, m->most ? FL_ACTION_BYTES : 8);
    draw_bytes(m, bytes, action.count);
    says(m, "sequence", action.sequence);
    says(m, "play", action.play);
    says(m, "stamp", action.stamp);
    says(m, "type", action.type);
    says_hex(m, "rest", bytes, action.count);
    fl__action_write(&m->writer, &action);
}

// ---------------------------------------------------------------- timelines

static void make_hashes(Making *m)
{
    FlHashesMessage message = {.first = (int64_t)draw(m, UINT32_MAX)};
    message.count = 1 + (int32_t)draw(m, m->most ? FL_HASHES_AT_MOST - 1 : 6);
    says(m, "first", message.first);
    say(m->text, ", \"hashes\": [");
    for (int32_t i = 0; i < message.count; i++) {
        message.hash[i] = (uint16_t)draw(m, UINT16_MAX);
        say(m->text, "%s%u", i == 0 ? "" : ", ", message.hash[i]);
    }
    say(m->text, "]");
    fl__hashes_message_write(&m->writer, &message);
}

static void make_tick_range(Making *m)
{
    uint8_t bytes[INPUT_BYTES * 32];
    FlTickRangeMessage message = {.bytes = bytes};
    message.player = (int32_t)draw(m, FL_TIMELINE_PLAYERS - 1);
    message.of = (uint8_t)draw(m, 255);
    message.final = draw(m, 1) == 1;
    message.more = draw(m, 1) == 1;
    message.first = (int64_t)draw(m, 1000000000);
    message.count = (int32_t)draw(m, m->most ? 32 : 5);
    message.newest = message.first + message.count - 1 + (int64_t)draw(m, 100);
    draw_bytes(m, bytes, message.count * INPUT_BYTES);
    says(m, "player", message.player);
    says(m, "of", message.of);
    says(m, "flags", (message.final ? 1 : 0) + (message.more ? 2 : 0));
    says(m, "newest", message.newest);
    says(m, "first", message.first);
    says(m, "count", message.count);
    says_hex(m, "rest", bytes, message.count * INPUT_BYTES);
    fl__tick_range_message_write(&m->writer, INPUT_BYTES, &message);
}

static void make_enter(Making *m)
{
    FlEnterMessage message = {0};
    message.player = (int32_t)draw(m, FL_TIMELINE_PLAYERS - 1);
    message.of = (uint8_t)draw(m, 255);
    message.tick = (int64_t)draw(m, UINT32_MAX);
    says(m, "player", message.player);
    says(m, "of", message.of);
    says(m, "tick", message.tick);
    fl__enter_message_write(&m->writer, &message);
}

static void make_snapshot(Making *m)
{
    uint8_t bytes[960];
    FlSnapshotMessage message = {.bytes = bytes};
    message.tick = (int64_t)draw(m, INT64_MAX / 2);
    message.offset = (int32_t)draw(m, 1 << 30);
    message.count = 1 + (int32_t)draw(m, m->most ? 959 : 8);
    draw_bytes(m, bytes, message.count);
    says(m, "tick", message.tick);
    says(m, "offset", message.offset);
    says_hex(m, "rest", bytes, message.count);
    fl__snapshot_message_write(&m->writer, &message);
}

// ---------------------------------------------------------------- calls

static FlCallKey make_key(Making *m)
{
    FlCallKey key = {0};
    key.from = (uint16_t)draw(m, UINT16_MAX);
    key.of = (uint8_t)draw(m, 255);
    key.serial = (uint32_t)draw(m, UINT32_MAX);
    return key;
}

static void says_key(Making *m, FlCallKey key)
{
    says(m, "from", key.from);
    says(m, "of", key.of);
    says(m, "serial", key.serial);
}

static void make_call(Making *m)
{
    FlCallMessage call = {.key = make_key(m)};
    call.number = (uint16_t)draw(m, UINT16_MAX);
    call.epoch = (uint16_t)draw(m, UINT16_MAX);
    call.kind = (uint16_t)draw(m, UINT16_MAX);
    call.until = draw_step(m);
    call.predicted = draw(m, 1) == 1;
    call.hash = (uint16_t)draw(m, call.predicted ? UINT16_MAX : 0);
    call.count = (int32_t)draw(m, m->most ? FL_CALL_BYTES : 8);
    draw_bytes(m, call.bytes, call.count);
    says_key(m, call.key);
    says(m, "number", call.number);
    says(m, "epoch", call.epoch);
    says(m, "call", call.kind);
    says(m, "until_ns", call.until);
    says(m, "predicted", call.predicted);
    if (call.predicted) {
        says(m, "hash", call.hash);
    }
    says_hex(m, "rest", call.bytes, call.count);
    fl__call_message_write(&m->writer, &call);
}

static void make_answer(Making *m)
{
    FlAnswerMessage answer = {.key = make_key(m)};
    answer.number = (uint16_t)draw(m, UINT16_MAX);
    answer.epoch = (uint16_t)draw(m, UINT16_MAX);
    answer.answer = (FlAnswer)draw(m, 2);
    answer.version = (uint16_t)(draw(m, UINT16_MAX) | 1u);
    answer.count = (int32_t)draw(m, m->most ? FL_CALL_STATE_BYTES : 8);
    draw_bytes(m, answer.state, answer.count);
    says_key(m, answer.key);
    says(m, "number", answer.number);
    says(m, "epoch", answer.epoch);
    says(m, "answer", answer.answer);
    says(m, "version", answer.version);
    says_hex(m, "state", answer.state, answer.count);
    fl__answer_message_write(&m->writer, &answer);
}

static void make_estate(Making *m)
{
    static FlHandoverMessage estate;
    memset(&estate, 0, sizeof estate);
    estate.number = (uint16_t)draw(m, UINT16_MAX);
    estate.epoch = (uint16_t)draw(m, 1000);
    estate.floor = (uint16_t)draw(m, estate.epoch);
    estate.version = (uint16_t)(draw(m, UINT16_MAX) | 1u);
    estate.state_count = (int32_t)draw(m, m->most ? FL_CALL_STATE_BYTES : 4);
    draw_bytes(m, estate.state, estate.state_count);
    estate.decided_count = (int32_t)draw(m, m->most ? FL_HANDOVER_CALLS : 3);
    says(m, "number", estate.number);
    says(m, "epoch", estate.epoch);
    says(m, "floor", estate.floor);
    says(m, "version", estate.version);
    says_hex(m, "state", estate.state, estate.state_count);
    say(m->text, ", \"decided\": [");
    for (int32_t i = 0; i < estate.decided_count; i++) {
        FlCallDecided *decided = &estate.decided[i];
        decided->key = make_key(m);
        decided->applied = draw(m, 1) == 1;
        decided->until = draw_step(m);
        say(m->text, "%s[%u, %u, %u, %d, %lld]", i == 0 ? "" : ", ", decided->key.from,
            decided->key.of, decided->key.serial, decided->applied, (long long)decided->until);
    }
    say(m->text, "]");
    fl__handover_message_write(&m->writer, &estate);
}

static void make_claim(Making *m)
{
    ClaimMessage claim = {0};
    claim.number = (uint16_t)draw(m, UINT16_MAX);
    claim.epoch = (uint16_t)draw(m, UINT16_MAX);
    claim.ended = draw(m, 1) == 1 && !m->most;
    claim.owner = (uint16_t)(claim.ended ? 0 : draw(m, UINT16_MAX));
    claim.version = (uint16_t)(claim.ended ? 0 : draw(m, UINT16_MAX) | 1u);
    claim.count = (int32_t)draw(m, claim.ended ? 0 : m->most ? FL_CALL_STATE_BYTES : 8);
    draw_bytes(m, claim.state, claim.count);
    says(m, "number", claim.number);
    says(m, "epoch", claim.epoch);
    says(m, "owner", claim.owner);
    says(m, "ended", claim.ended);
    says(m, "version", claim.version);
    says_hex(m, "state", claim.state, claim.count);
    fl__claim_message_write(&m->writer, &claim);
}

static void make_asked(Making *m, Message message)
{
    uint16_t round = (uint16_t)draw(m, UINT16_MAX);
    bool all = draw(m, 1) == 1;
    says(m, "round", round);
    if (message == VECTOR_ASK) {
        AskMessage ask = {round, all};
        says(m, "all", all);
        fl__ask_message_write(&m->writer, &ask);
    } else {
        ClaimedMessage claimed = {round};
        fl__claimed_message_write(&m->writer, &claimed);
    }
}

// ---------------------------------------------------------------- arguments of calls

static void make_damage(Making *m)
{
    FlHitCall hit = {.shooter = (uint16_t)draw(m, UINT16_MAX)};
    hit.weapon = (uint8_t)draw(m, 255);
    hit.damage = (uint16_t)draw(m, UINT16_MAX);
    hit.time = draw_step(m);
    hit.target = draw_vec3(m, FL_QUANTISER_POSITION);
    says(m, "shooter", hit.shooter);
    says(m, "weapon", hit.weapon);
    says(m, "damage", hit.damage);
    says(m, "time_ns", hit.time);
    say_vec3(m->text, "position", hit.target);
    assert_true(fl_hit_call_write(&m->writer, &m->world, &hit));
}

static void make_missile(Making *m)
{
    FlMissileCall missile = {.shooter = (uint16_t)draw(m, UINT16_MAX)};
    missile.weapon = (uint8_t)draw(m, 255);
    missile.time = draw_step(m);
    missile.position = draw_vec3(m, FL_QUANTISER_POSITION);
    missile.velocity = draw_vec3(m, FL_QUANTISER_VELOCITY);
    says(m, "shooter", missile.shooter);
    says(m, "weapon", missile.weapon);
    says(m, "time_ns", missile.time);
    say_vec3(m->text, "position", missile.position);
    say_vec3(m->text, "velocity", missile.velocity);
    assert_true(fl__missile_call_write(&m->writer, &m->world, &missile));
}

static void make_small_call(Making *m, Message message)
{
    uint16_t who = (uint16_t)draw(m, UINT16_MAX);
    uint8_t weapon = (uint8_t)draw(m, 255);
    bool open = draw(m, 1) == 1;
    FlTime time = draw_step(m);
    says(m, message == VECTOR_DEATH ? "victim" : message == VECTOR_DOOR ? "by" : "taker", who);
    says(m, "time_ns", time);
    if (message == VECTOR_DEATH) {
        FlDeathCall death = {who, weapon, time};
        says(m, "weapon", weapon);
        assert_true(fl__death_call_write(&m->writer, &death));
    } else if (message == VECTOR_DOOR) {
        FlDoorCall door = {who, open, time};
        says(m, "open", open);
        assert_true(fl__door_call_write(&m->writer, &door));
    } else {
        FlPickupCall pickup = {who, time};
        assert_true(fl__pickup_call_write(&m->writer, &pickup));
    }
}

// ---------------------------------------------------------------- guidance

static void make_guidance(Making *m)
{
    uint64_t last = (uint64_t)m->world.def.entity_capacity - 1;
    FlGuidance g = {.entity = (uint32_t)draw(m, last)};
    g.life = (uint32_t)draw(m, 3);
    g.time = (FlTime)draw(m, 60000) * FL_UPDATE_STEP_NS;
    g.ahead_ns = (FlTime)draw(m, 255) * FL_MS(16);
    g.position = draw_vec3(m, FL_QUANTISER_POSITION);
    g.point_count = (int32_t)draw(m, FL_GUIDANCE_POINTS);
    for (int32_t i = 0; i < g.point_count; i++) {
        g.points[i] = draw_vec3(m, FL_QUANTISER_POSITION);
    }
    g.aimed = draw(m, 1) == 1;
    g.target = g.aimed ? (uint32_t)draw(m, last) : 0;
    g.yaw = fl_random_between(&m->random, -3.0, 3.0);
    g.pitch = fl_random_between(&m->random, -1.5, 1.5);
    g.actions[0] = (uint8_t)draw(m, 15);
    g.actions[1] = (uint8_t)draw(m, 15);
    FlGuidance sent;
    assert_int_equal(fl__guidance_round(&m->world, &g, &sent), FL_OK);
    says(m, "stamp_ns", g.time + FL_MS(70));
    says(m, "entity", sent.entity);
    says(m, "life", sent.life);
    says(m, "time_ns", sent.time);
    says(m, "ahead_ns", sent.ahead_ns);
    say_vec3(m->text, "position", sent.position);
    says(m, "points", sent.point_count);
    for (int32_t i = 0; i < sent.point_count; i++) {
        static const char *const names[FL_GUIDANCE_POINTS] = {"point_0", "point_1", "point_2"};
        say_vec3(m->text, names[i], sent.points[i]);
    }
    says(m, "aimed", sent.aimed);
    if (sent.aimed) {
        says(m, "target", sent.target);
    }
    say_named(m->text, "yaw", sent.yaw);
    say_named(m->text, "pitch", sent.pitch);
    says(m, "actions_0", sent.actions[0]);
    says(m, "actions_1", sent.actions[1]);
    assert_true(fl__guidance_encode(&m->writer, &m->world, &g));
}

// ---------------------------------------------------------------- all of them

static void make(Making *m, Message message)
{
    switch (message) {
    case VECTOR_PROBE:
    case VECTOR_VECTOR:
    case VECTOR_READY:
        make_lags(m, message);
        break;
    case VECTOR_OFFSET:
        make_offset(m);
        break;
    case VECTOR_ACTION:
        make_action(m);
        break;
    case VECTOR_HASHES:
        make_hashes(m);
        break;
    case VECTOR_TICK_RANGE:
        make_tick_range(m);
        break;
    case VECTOR_ENTER:
        make_enter(m);
        break;
    case VECTOR_SNAPSHOT:
        make_snapshot(m);
        break;
    case VECTOR_CALL:
        make_call(m);
        break;
    case VECTOR_ANSWER:
        make_answer(m);
        break;
    case VECTOR_HANDOVER:
        make_estate(m);
        break;
    case VECTOR_CLAIM:
        make_claim(m);
        break;
    case VECTOR_ASK:
    case VECTOR_CLAIMED:
        make_asked(m, message);
        break;
    case VECTOR_DAMAGE:
        make_damage(m);
        break;
    case VECTOR_MISSILE:
        make_missile(m);
        break;
    case VECTOR_GUIDANCE:
        make_guidance(m);
        break;
    case VECTOR_EVENT:
        make_event(m);
        break;
    default:
        make_small_call(m, message);
        break;
    }
}

typedef union Read {
    Fl__LagsBody said;
    FlOrdered action;
    FlHashesMessage hashes;
    FlTickRangeMessage tick_range;
    FlEnterMessage enter;
    FlSnapshotMessage snapshot;
    FlCallMessage call;
    FlAnswerMessage answer;
    FlHandoverMessage estate;
    AskMessage ask;
    ClaimMessage claim;
    ClaimedMessage claimed;
    FlHitCall hit;
    FlDeathCall death;
    FlPickupCall pickup;
    FlDoorCall door;
    FlMissileCall missile;
    FlGuidance guidance;
    RouteHead route;
} Read;

/// Whether the library takes these bytes for such a message.
static bool is_read(const FlWorld *world, Message message, const uint8_t *bytes, int32_t count)
{
    static Read to;
    FlReader r;
    fl_reader_init(&r, bytes, count);
    if (kind_of(message) != 0 && fl_reader_take(&r, 8) != kind_of(message)) {
        return false;
    }
    switch (message) {
    case VECTOR_PROBE:
        return fl__lags_read(&r, SELF, &to.said) && to.said.kind == FL__LAGS_PROBE;
    case VECTOR_VECTOR:
        return fl__lags_read(&r, SELF, &to.said) && to.said.kind == FL__LAGS_VECTOR;
    case VECTOR_READY:
        return fl__lags_read(&r, SELF, &to.said) && to.said.kind == FL__LAGS_READY;
    case VECTOR_OFFSET:
        return fl__lags_read(&r, SELF, &to.said) && to.said.kind == FL__LAGS_OFFSET;
    case VECTOR_ACTION:
        return fl__action_read(&r, &to.action);
    case VECTOR_HASHES:
        return fl__hashes_message_read(&r, INT64_C(1) << 31, &to.hashes);
    case VECTOR_TICK_RANGE:
        return fl__tick_range_message_read(&r, 500000000, INPUT_BYTES, &to.tick_range);
    case VECTOR_ENTER:
        return fl__enter_message_read(&r, INT64_C(1) << 31, &to.enter);
    case VECTOR_SNAPSHOT:
        return fl__snapshot_message_read(&r, &to.snapshot);
    case VECTOR_CALL:
        return fl__call_message_read(&r, &to.call);
    case VECTOR_ANSWER:
        return fl__answer_message_read(&r, &to.answer);
    case VECTOR_HANDOVER:
        return fl__handover_message_read(&r, &to.estate);
    case VECTOR_ASK:
        return fl__ask_message_read(&r, &to.ask);
    case VECTOR_CLAIM:
        return fl__claim_message_read(&r, &to.claim);
    case VECTOR_CLAIMED:
        return fl__claimed_message_read(&r, &to.claimed);
    case VECTOR_DAMAGE:
        return fl__hit_call_read(&r, world, &to.hit);
    case VECTOR_DEATH:
        return fl__death_call_read(&r, &to.death);
    case VECTOR_PICKUP:
        return fl__pickup_call_read(&r, &to.pickup);
    case VECTOR_DOOR:
        return fl__door_call_read(&r, &to.door);
    case VECTOR_MISSILE:
        return fl__missile_call_read(&r, world, &to.missile);
    case VECTOR_EVENT:
        return fl__route_head_read(&r, MESSAGE_EVENT, &to.route) && fl_reader_left(&r) >= 2;
    default:
        return fl__guidance_decode(&r, world, FL_SEC(1), &to.guidance) && fl_reader_left(&r) == 0;
    }
}

static int32_t begin(Making *m, Message message, int32_t which)
{
    m->random = random_stream(9000 + (uint64_t)message * 100 + (uint64_t)which);
    m->most = which == EACH - 1;
    fl_writer_init(&m->writer, m->bytes, BYTES);
    if (kind_of(message) != 0 && !puts_kind(message)) {
        fl_writer_put(&m->writer, kind_of(message), 8);
    }
    make(m, message);
    assert_false(m->writer.failed);
    return fl_writer_size(&m->writer);
}

static void say_message(Making *m, Message message, int32_t which)
{
    say(m->text, "{\"message\": \"%s\"", name_of(message));
    int32_t count = begin(m, message, which);
    assert_true(is_read(&m->world, message, m->bytes, count));
    says_hex(m, "bytes", m->bytes, count);
    say(m->text, "}");
}

// ---------------------------------------------------------------- what must be refused

/// One byte of the first vector of a message, and another in its place.
typedef struct Bent {
    Message message;
    int32_t at;
    uint8_t value;
    const char *why;
} Bent;

static const Bent BENT[] = {
    {VECTOR_PROBE, 0, 0, "no such kind"},
    {VECTOR_VECTOR, 5, 2, "asks is 0 or 1"},
    {VECTOR_VECTOR, 6, 0x01, "its own bit is not set"},
    {VECTOR_VECTOR, 14, 3, "plays is at most 2"},
    {VECTOR_READY, 5, 2, "asks is 0 or 1"},
    {VECTOR_OFFSET, 8, 0x3f, "later than any time"},
    {VECTOR_OFFSET, 21, 0xff, "further than a ramp goes"},
    {VECTOR_OFFSET, 28, 0x7f, "faster than pictures may run"},
    {VECTOR_ACTION, 0, 5, "no such kind"},
    {VECTOR_HASHES, 4, 0, "no hashes"},
    {VECTOR_TICK_RANGE, 0, 64, "no such player"},
    {VECTOR_TICK_RANGE, 2, 4, "no such flag"},
    {VECTOR_TICK_RANGE, 11, 200, "more than follow"},
    {VECTOR_ENTER, 0, 64, "no such player"},
    {VECTOR_CALL, 0, MESSAGE_ANSWER, "another kind"},
    {VECTOR_CALL, 19, 0x02, "predicted neither 0 nor 1"},
    {VECTOR_ANSWER, 12, 3, "no such answer"},
    {VECTOR_ASK, 3, 2, "all is 0 or 1"},
    {VECTOR_CLAIM, 7, 2, "ended is 0 or 1"},
    {VECTOR_DOOR, 7, 0xff, "bits set in the padding"},
    {VECTOR_EVENT, 3, 4, "no such delivery"},
    {VECTOR_EVENT, 4, 65, "more recipients than can be"},
};

static void say_refused(Making *m, Message message, int32_t count, const char *why)
{
    assert_false(is_read(&m->world, message, m->bytes, count));
    say(m->text, "%s{\"message\": \"%s\", ", m->text->at[-1] == '[' ? "" : ",\n ",
        name_of(message));
    say_hex(m->text, "bytes", m->bytes, count);
    say(m->text, ", \"why\": \"%s\"}", why);
}

/// Makes a message without saying what it says.
static int32_t begin_silently(Making *m, Message message)
{
    static char nothing[TEXT_MAX];
    Text *text = m->text;
    Text silent = {nothing, sizeof nothing};
    m->text = &silent;
    int32_t count = begin(m, message, 0);
    m->text = text;
    return count;
}

/// What follows to the end may be of any length.
static bool is_open(Message message)
{
    return message == VECTOR_ACTION || message == VECTOR_SNAPSHOT || message == VECTOR_CALL ||
           message == VECTOR_EVENT;
}

static void say_all_refused(Making *m)
{
    for (size_t i = 0; i < sizeof BENT / sizeof *BENT; i++) {
        int32_t count = begin_silently(m, BENT[i].message);
        assert_true(BENT[i].at < count);
        m->bytes[BENT[i].at] = BENT[i].value;
        say_refused(m, BENT[i].message, count, BENT[i].why);
    }
    for (int32_t i = 0; i < VECTOR_COUNT; i++) {
        Message message = (Message)i;
        int32_t count = begin_silently(m, message);
        if (!is_open(message)) {
            say_refused(m, message, count - 1, "ends too early");
            m->bytes[count] = 0;
            say_refused(m, message, count + 1, "a byte too many");
        }
        say_refused(m, message, 1, "ends at once");
    }
}

void vectors_message(Text *text)
{
    static Making making;
    FlWorldDef def = fl_world_def_default();
    making.text = text;
    assert_int_equal(fl_world_init(&def, &making.world), FL_OK);
    say(text, "{\"about\": \"Bytes of messages and what they say; see spec/WIRE.md sections 7.11, "
              "8.1, and 8.8 to 8.12. Positions are in the default world of update.json.\",\n");
    say(text, "\"wire_version\": %u, \"input_bytes\": %d, \"sender\": %d,\n\"messages\": [",
        FL_WIRE_VERSION, INPUT_BYTES, SELF);
    for (int32_t i = 0; i < VECTOR_COUNT * EACH; i++) {
        say(text, "%s", i == 0 ? "" : ",\n ");
        say_message(&making, (Message)(i / EACH), i % EACH);
    }
    say(text, "],\n\"refused\": [");
    say_all_refused(&making);
    say(text, "]}\n");
}
