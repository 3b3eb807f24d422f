// Calls: messages and arguments come back as they went and refuse everything else; over a network
// that loses, doubles and turns round, nothing is decided twice and nobody is told wrongly; a thing
// that is given on takes along what was decided; hits that cannot be are told from those that can.
#include "fairlead/call.h"

#include "agree/call.h"

// cmocka wants these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static FlTime step_of(FlRandom *random, uint64_t bound)
{
    return (FlTime)fl_random_below(random, bound) * FL_US(250);
}

// ---------------------------------------------------------------- messages

static FlCallKey random_key(FlRandom *random)
{
    FlCallKey key;
    key.from = (uint16_t)fl_random_next(random);
    key.of = (uint8_t)fl_random_next(random);
    key.serial = (uint32_t)fl_random_next(random);
    return key;
}

static void random_bytes(FlRandom *random, uint8_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)fl_random_next(random);
    }
}

typedef union Message {
    FlCallMessage call;
    FlAnswerMessage answer;
    FlHandoverMessage estate;
} Message;

enum { CALL, ANSWER, ESTATE, KINDS };

static void random_state(FlRandom *random, uint16_t *version, uint8_t *state, int32_t *count)
{
    *version = (uint16_t)(1 + fl_random_below(random, 65535));
    *count = (int32_t)fl_random_below(random, FL_CALL_STATE_BYTES + 1);
    if (fl_random_below(random, 4) == 0) {
        *version = 0;
        *count = 0;
    }
    random_bytes(random, state, *count);
}

static void make_estate(FlRandom *random, FlHandoverMessage *m)
{
    m->number = (uint16_t)fl_random_next(random);
    m->epoch = (uint16_t)fl_random_next(random);
    m->floor = (uint16_t)(m->epoch - fl_random_below(random, 100));
    random_state(random, &m->version, m->state, &m->state_count);
    m->decided_count = (int32_t)fl_random_below(random, FL_HANDOVER_CALLS + 1);
    for (int32_t i = 0; i < m->decided_count; i++) {
        m->decided[i].key = random_key(random);
        m->decided[i].applied = fl_random_below(random, 2) == 1;
        m->decided[i].until = step_of(random, UINT64_C(1) << 40);
    }
}

static void make(FlRandom *random, int32_t kind, Message *m)
{
    memset(m, 0, sizeof *m);
    switch (kind) {
    case CALL:
        m->call.key = random_key(random);
        m->call.number = (uint16_t)fl_random_next(random);
        m->call.epoch = (uint16_t)fl_random_next(random);
        m->call.kind = (uint16_t)fl_random_next(random);
        m->call.predicted = fl_random_below(random, 2) == 1;
        m->call.hash = m->call.predicted ? (uint16_t)fl_random_next(random) : 0;
        m->call.until = step_of(random, UINT64_C(1) << 40);
        m->call.count = (int32_t)fl_random_below(random, FL_CALL_BYTES + 1);
        random_bytes(random, m->call.bytes, m->call.count);
        break;
    case ANSWER:
        m->answer.key = random_key(random);
        m->answer.answer = (FlAnswer)fl_random_below(random, 3);
        m->answer.number = (uint16_t)fl_random_next(random);
        m->answer.epoch = (uint16_t)fl_random_next(random);
        random_state(random, &m->answer.version, m->answer.state, &m->answer.count);
        break;
    default:
        make_estate(random, &m->estate);
        break;
    }
}

static int32_t write_message(int32_t kind, const Message *m, uint8_t *bytes, int32_t room)
{
    FlWriter w;
    fl_writer_init(&w, bytes, room);
    switch (kind) {
    case CALL:
        fl__call_message_write(&w, &m->call);
        break;
    case ANSWER:
        fl__answer_message_write(&w, &m->answer);
        break;
    default:
        fl__handover_message_write(&w, &m->estate);
        break;
    }
    assert_false(w.failed);
    return fl_writer_size(&w);
}

static bool read_message(int32_t kind, Message *m, const uint8_t *bytes, int32_t count)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    switch (kind) {
    case CALL:
        return fl__call_message_read(&r, &m->call);
    case ANSWER:
        return fl__answer_message_read(&r, &m->answer);
    default:
        return fl__handover_message_read(&r, &m->estate);
    }
}

// What is read writes the same bytes again; anything shorter, longer or spoilt is refused, or is
// another message that writes those bytes.
static void messages_come_back_as_they_went(void **state)
{
    (void)state;
    static Message m;
    static Message back;
    FlRandom random = {.seed = 1, .stream = 1};
    uint8_t bytes[FL_CALLS_MESSAGE_BYTES + 1];
    uint8_t again[FL_CALLS_MESSAGE_BYTES + 1];
    for (int32_t trial = 0; trial < 2000; trial++) {
        int32_t kind = trial % KINDS;
        make(&random, kind, &m);
        int32_t count = write_message(kind, &m, bytes, FL_CALLS_MESSAGE_BYTES);
        assert_true(read_message(kind, &back, bytes, count));
        assert_int_equal(write_message(kind, &back, again, FL_CALLS_MESSAGE_BYTES), count);
        assert_memory_equal(bytes, again, (size_t)count);
        int32_t cut = (int32_t)fl_random_below(&random, (uint64_t)count);
        bool shorter = read_message(kind, &back, bytes, cut);
        assert_true(!shorter || kind == CALL); // whose arguments reach to the end
        bytes[count] = 0;
        bool longer = count < FL_CALLS_MESSAGE_BYTES && read_message(kind, &back, bytes, count + 1);
        assert_true(!longer || kind == CALL);
        uint64_t bit = fl_random_below(&random, (uint64_t)count * 8);
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
        if (read_message(kind, &back, bytes, count)) {
            assert_int_equal(write_message(kind, &back, again, FL_CALLS_MESSAGE_BYTES), count);
            assert_memory_equal(bytes, again, (size_t)count);
        }
    }
}

static void the_longest_message_fits_what_is_said_of_it(void **state)
{
    (void)state;
    static FlHandoverMessage m;
    uint8_t bytes[FL_CALLS_MESSAGE_BYTES];
    m.version = 1;
    m.state_count = FL_CALL_STATE_BYTES;
    m.decided_count = FL_HANDOVER_CALLS;
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__handover_message_write(&w, &m);
    assert_false(w.failed);
}

// ---------------------------------------------------------------- arguments

static void arguments_come_back_rounded_and_take_24_bytes_at_most(void **state)
{
    (void)state;
    FlWorldDef def = fl_world_def_default();
    FlWorld world;
    assert_int_equal(fl_world_init(&def, &world), FL_OK);
    FlRandom random = {.seed = 2, .stream = 1};
    for (int32_t trial = 0; trial < 500; trial++) {
        FlMissileCall missile = {.shooter = (uint16_t)trial, .weapon = (uint8_t)trial};
        missile.time = step_of(&random, UINT64_C(1) << 40);
        double x = fl_random_between(&random, -490.0, 490.0);
        double y = fl_random_between(&random, -490.0, 490.0);
        double v = fl_random_between(&random, -150.0, 150.0);
        missile.position = fl_vec3(x, y, 1.0);
        missile.velocity = fl_vec3(v, -v, 0.0);
        FlHitCall hit = {.shooter = (uint16_t)trial, .weapon = 3, .damage = 999};
        hit.time = missile.time;
        hit.target = missile.position;
        uint8_t bytes[FL_CALL_BYTES];
        FlWriter w;
        FlReader r;
        FlMissileCall missile_back;
        FlHitCall hit_back;
        fl_writer_init(&w, bytes, sizeof bytes);
        assert_true(fl__missile_call_write(&w, &world, &missile));
        assert_true(fl_writer_size(&w) <= 24);
        fl_reader_init(&r, bytes, fl_writer_size(&w));
        assert_true(fl__missile_call_read(&r, &world, &missile_back));
        assert_int_equal(missile_back.time, missile.time);
        assert_true(fl_vec3_distance(missile_back.position, missile.position) <= 0.01);
        assert_true(fl_vec3_distance(missile_back.velocity, missile.velocity) <= 0.01);
        fl_writer_init(&w, bytes, sizeof bytes);
        assert_true(fl_hit_call_write(&w, &world, &hit));
        assert_true(fl_writer_size(&w) <= 24);
        fl_reader_init(&r, bytes, fl_writer_size(&w));
        assert_true(fl__hit_call_read(&r, &world, &hit_back));
        assert_int_equal(hit_back.damage, hit.damage);
        assert_true(fl_vec3_distance(hit_back.target, hit.target) <= 0.01);
        fl_reader_init(&r, bytes, fl_writer_size(&w) - 1);
        assert_false(fl__hit_call_read(&r, &world, &hit_back));
    }
    FlHitCall outside = {.target = fl_vec3(1e6, 0.0, 0.0)};
    uint8_t bytes[FL_CALL_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_false(fl_hit_call_write(&w, &world, &outside));
}

static void small_arguments_come_back(void **state)
{
    (void)state;
    uint8_t bytes[FL_CALL_BYTES];
    FlWriter w;
    FlReader r;
    FlDeathCall death = {7, 2, FL_MS(1500)};
    FlPickupCall pickup = {9, FL_SEC(3)};
    FlDoorCall door = {11, true, FL_SEC(4)};
    FlDeathCall death_back;
    FlPickupCall pickup_back;
    FlDoorCall door_back;
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(fl__death_call_write(&w, &death));
    fl_reader_init(&r, bytes, fl_writer_size(&w));
    assert_true(fl__death_call_read(&r, &death_back));
    assert_true(death_back.victim == 7 && death_back.weapon == 2 && death_back.time == death.time);
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(fl__pickup_call_write(&w, &pickup));
    fl_reader_init(&r, bytes, fl_writer_size(&w));
    assert_true(fl__pickup_call_read(&r, &pickup_back));
    assert_true(pickup_back.taker == 9 && pickup_back.time == pickup.time);
    fl_writer_init(&w, bytes, sizeof bytes);
    assert_true(fl__door_call_write(&w, &door));
    fl_reader_init(&r, bytes, fl_writer_size(&w));
    assert_true(fl__door_call_read(&r, &door_back));
    assert_true(door_back.by == 11 && door_back.open && door_back.time == door.time);
    bytes[fl_writer_size(&w) - 1] |= 0x80u; // padding
    fl_reader_init(&r, bytes, fl_writer_size(&w));
    assert_false(fl__door_call_read(&r, &door_back));
}

// ---------------------------------------------------------------- a bad network

enum { OWNERS = 2, FLYING = 4096, MOST = 2000 };

/// A message under way.
typedef struct Flying {
    FlTime at;
    int32_t to; // owner, or -1: the caller
    FlCallMessage call;
    FlAnswerMessage answer;
} Flying;

typedef struct Pair {
    FlRandom random;
    FlTime now;
    FlCalls *caller;
    FlCalls *owner[OWNERS];
    int32_t has; // which owner has the thing
    uint16_t epoch;
    Flying flying[FLYING];
    int32_t flying_count;
    uint8_t decided[MOST]; // 1 refused, 2 applied, 4: twice
    uint8_t told[MOST];    // 1 refused, 2 applied, 3 unknown
    bool down;             // nothing arrives
} Pair;

// Lost, once or twice, each at a time of its own up to a second later.
static void fly(Pair *pair, const Flying *what)
{
    uint64_t copies = fl_random_below(&pair->random, 4);
    for (uint64_t i = 0; i < (copies == 3 ? 1 : copies); i++) {
        FlTime delay = (FlTime)fl_random_below(&pair->random, (uint64_t)FL_SEC(1));
        assert_true(pair->flying_count < FLYING);
        pair->flying[pair->flying_count] = *what;
        pair->flying[pair->flying_count++].at = pair->now + delay;
    }
}

static void reply(Pair *pair, const FlCallMessage *call, FlAnswer answer)
{
    static Flying flying;
    flying.to = -1;
    flying.answer.key = call->key;
    flying.answer.number = call->number;
    flying.answer.answer = answer;
    fly(pair, &flying);
}

static void arrive(Pair *pair, const Flying *flying)
{
    if (flying->to < 0) {
        (void)fl__calls_answered(pair->caller, &flying->answer, pair->now);
        return;
    }
    if (flying->to != pair->has) { // passed on, late as it is
        static Flying on;
        on = *flying;
        on.to = pair->has;
        fly(pair, &on);
        return;
    }
    FlCallReceived heard = fl__calls_receive(pair->owner[pair->has], &flying->call, pair->now);
    if (heard == FL_RECEIVED_APPLIED || heard == FL_RECEIVED_REFUSED) {
        reply(pair, &flying->call,
              heard == FL_RECEIVED_APPLIED ? FL_ANSWER_APPLIED : FL_ANSWER_REFUSED);
    }
    assert_int_not_equal(heard, FL_RECEIVED_BAD);
}

static void arrive_all(Pair *pair)
{
    for (int32_t i = 0; i < pair->flying_count; i++) {
        if (pair->flying[i].at <= pair->now) {
            Flying flying = pair->flying[i];
            pair->flying[i--] = pair->flying[--pair->flying_count];
            if (!pair->down) {
                arrive(pair, &flying);
            }
        }
    }
}

static void decide_all(Pair *pair)
{
    FlCallMessage call;
    while (fl__calls_take(pair->owner[pair->has], &call) == FL_OK) {
        uint32_t n = call.key.serial - 1;
        bool applied = fl_random_below(&pair->random, 2) == 0;
        assert_int_equal(fl__calls_decide(pair->owner[pair->has], call.key, applied), FL_OK);
        assert_int_equal(fl__calls_decide(pair->owner[pair->has], call.key, applied), FL_NOT_FOUND);
        assert_int_equal(pair->decided[n], 0); // never twice
        pair->decided[n] = applied ? 2 : 1;
        reply(pair, &call, applied ? FL_ANSWER_APPLIED : FL_ANSWER_REFUSED);
    }
}

static void give_on(Pair *pair)
{
    static FlHandoverMessage estate;
    FlCalls *from = pair->owner[pair->has];
    FlCalls *to = pair->owner[1 - pair->has];
    estate.number = 5;
    assert_false(fl__calls_open(from, 5));
    if (!fl__calls_leave(from, 5, pair->now, &estate)) {
        return; // too much at once
    }
    FlCallMessage call;
    pair->has = 1 - pair->has;
    while (fl__calls_unreceived(from, 5, &call)) {
        static Flying on;
        on.to = pair->has;
        on.call = call;
        fly(pair, &on);
    }
    assert_true(fl__calls_inherit(to, &estate, pair->now));
}

static void learn_all(Pair *pair)
{
    FlCallResult result;
    while (fl__calls_done(pair->caller, pair->now, &result) == FL_OK) {
        uint32_t n = result.serial - 1;
        assert_int_equal(pair->told[n], 0); // one result each
        pair->told[n] = result.verdict == FL_CALL_APPLIED   ? 2
                        : result.verdict == FL_CALL_REFUSED ? 1
                                                            : 3;
        assert_true(result.latency_ns <= FL_SEC(2) + FL_CALLS_KEPT + FL_MS(20));
    }
}

static void frame(Pair *pair, bool ask)
{
    FlCallDef def = {.kind = FL_CALL_OWN, .bytes = "xyz", .count = 3};
    FlCallKey self = {0, 3, 1};
    uint32_t serial;
    if (ask) {
        FlResult result = fl__calls_ask(pair->caller, &def, self, 5, 0, 0, pair->now, &serial);
        assert_true(result == FL_OK || result == FL_WOULD_BLOCK);
    }
    static Flying flying;
    flying.to = pair->has;
    while (fl__calls_due(pair->caller, pair->now, &flying.call)) {
        fly(pair, &flying);
    }
    arrive_all(pair);
    decide_all(pair);
    learn_all(pair);
    pair->now += FL_MS(20);
}

static void over_any_network_nothing_is_decided_twice_and_nobody_told_wrongly(void **state)
{
    (void)state;
    static Pair pair;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        memset(&pair, 0, sizeof pair);
        pair.random.seed = seed;
        pair.now = FL_SEC(100);
        FlCallsDef def = fl__calls_def_default();
        assert_int_equal(fl__calls_create(&def, &pair.caller), FL_OK);
        for (int32_t i = 0; i < OWNERS; i++) {
            assert_int_equal(fl__calls_create(&def, &pair.owner[i]), FL_OK);
        }
        for (int32_t f = 0; f < 2000; f++) {
            bool ask = fl_random_below(&pair.random, 5) == 0 && f < 1700;
            if (fl_random_below(&pair.random, 40) == 0) {
                give_on(&pair);
            }
            pair.down = f % 500 > 400;
            frame(&pair, ask);
        }
        FlCallStats stats = fl__calls_stats(pair.caller);
        uint64_t asked = stats.count[FL_CALLS_ASKED];
        uint64_t known = 0;
        for (uint64_t n = 0; n < asked; n++) {
            assert_int_not_equal(pair.told[n], 0); // everybody learns something
            assert_true(pair.told[n] == 3 || pair.told[n] == pair.decided[n]);
            known += pair.told[n] != 3 ? 1 : 0;
        }
        assert_true(asked > 200 && known > asked / 2 && known < asked);
        assert_int_equal(fl__calls_deadline(pair.caller), FL_FOREVER);
        fl__calls_destroy(pair.caller);
        for (int32_t i = 0; i < OWNERS; i++) {
            fl__calls_destroy(pair.owner[i]);
        }
    }
}

// ---------------------------------------------------------------- tables

static FlCallMessage some_call(uint32_t serial, FlTime until)
{
    FlCallMessage m = {.key = {serial, 3, 1}, .number = 5, .until = until};
    return m;
}

static void a_full_table_takes_no_new_call_until_old_ones_have_ended(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    def.received_capacity = 8;
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlCallMessage m;
    for (uint32_t i = 0; i < 8; i++) {
        m = some_call(i, FL_SEC(1));
        m.key.from = (uint16_t)i;
        assert_int_equal(fl__calls_receive(calls, &m, 0), FL_RECEIVED_NEW);
        assert_int_equal(fl__calls_take(calls, &m), FL_OK);
        assert_int_equal(m.key.serial, i); // in the order of arrival
        assert_int_equal(fl__calls_decide(calls, m.key, true), FL_OK);
    }
    m = some_call(8, FL_SEC(2));
    assert_int_equal(fl__calls_receive(calls, &m, FL_MS(10)), FL_RECEIVED_CROWDED);
    FlCallMessage old = some_call(0, FL_SEC(1));
    old.key.from = 0;
    assert_int_equal(fl__calls_receive(calls, &old, FL_MS(10)), FL_RECEIVED_APPLIED);
    assert_int_equal(fl__calls_receive(calls, &m, FL_SEC(1) + FL_CALLS_KEPT + 1), FL_RECEIVED_NEW);
    assert_int_equal(fl__calls_receive(calls, &old, FL_SEC(1) + FL_CALLS_KEPT + 1),
                     FL_RECEIVED_LATE);
    m = some_call(9, FL_SEC(100));
    assert_int_equal(fl__calls_receive(calls, &m, FL_SEC(2)), FL_RECEIVED_BAD);
    fl__calls_destroy(calls);
}

/// Callers beyond number call as often as they can, in turn or one after the other.
static void no_caller_takes_the_room_of_others(void **state)
{
    (void)state;
    FlRandom r = {.seed = 7750};
    for (int32_t k = 0; k < 40; k++) {
        FlCallsDef def = fl__calls_def_default();
        FlCalls *calls;
        assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
        int32_t greedy = 1 + k % 4;
        int32_t taken[8] = {0};
        for (uint32_t i = 0; i < 4000; i++) {
            FlCallMessage m = some_call(i, FL_SEC(30));
            int32_t any = (int32_t)fl_random_below(&r, (uint64_t)greedy);
            int32_t next = (int32_t)i * greedy / 4000;
            m.key.from = (uint16_t)(k < 20 ? any : next);
            m.number = (uint16_t)fl_random_below(&r, 30);
            bool fresh = fl__calls_receive(calls, &m, 0) == FL_RECEIVED_NEW;
            taken[m.key.from] += fresh ? 1 : 0;
        }
        for (int32_t i = 0; i < greedy; i++) {
            assert_true(taken[i] >= def.received_capacity >> greedy);
            assert_true(taken[i] <= def.received_capacity / 2);
        }
        for (uint32_t i = 0; i < 8; i++) { // others, each once
            FlCallMessage m = some_call(i, FL_SEC(2));
            m.key.from = (uint16_t)(10 + i);
            assert_int_equal(fl__calls_receive(calls, &m, FL_SEC(1)), FL_RECEIVED_NEW);
        }
        FlCallMessage m = some_call(5000, FL_SEC(40));
        m.key.from = 0;
        FlTime later = FL_SEC(30) + FL_CALLS_KEPT + 1; // waits still: nothing was decided
        assert_int_equal(fl__calls_receive(calls, &m, FL_SEC(29)), FL_RECEIVED_CROWDED);
        while (fl__calls_take(calls, &m) == FL_OK) {
            assert_int_equal(fl__calls_decide(calls, m.key, false), FL_OK);
        }
        m = some_call(5000, later + FL_SEC(1));
        m.key.from = 0;
        assert_int_equal(fl__calls_receive(calls, &m, later), FL_RECEIVED_NEW);
        fl__calls_destroy(calls);
    }
}

static void a_predicted_state_is_the_answer(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlCallDef call = {.kind = FL_CALL_DOOR, .predicted = "open", .predicted_count = 4};
    FlCallKey self = {0, 3, 1};
    uint32_t serial;
    FlCallResult result;
    assert_int_equal(fl__calls_ask(calls, &call, self, 5, 0, 10, 0, &serial), FL_OK);
    fl__calls_state(calls, 5, 10, (const uint8_t *)"open", 4, 0); // that was before
    fl__calls_state(calls, 6, 11, (const uint8_t *)"open", 4, 0); // another door
    fl__calls_state(calls, 5, 11, (const uint8_t *)"shut", 4, 0);
    assert_int_equal(fl__calls_done(calls, 0, &result), FL_NOT_FOUND);
    fl__calls_state(calls, 5, 12, (const uint8_t *)"open", 4, FL_MS(70));
    assert_int_equal(fl__calls_done(calls, FL_MS(80), &result), FL_OK);
    assert_true(result.verdict == FL_CALL_APPLIED && result.why == FL_CALL_BY_STATE);
    assert_int_equal(result.latency_ns, FL_MS(70));
    fl__calls_destroy(calls);
}

static void figures_say_how_long_it_took(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlCallDef call = {.kind = FL_CALL_DOOR};
    FlCallKey self = {0, 3, 1};
    for (int32_t i = 1; i <= 1000; i++) {
        FlAnswerMessage answer = {.answer = FL_ANSWER_REFUSED, .number = 5, .key = self};
        FlCallResult result;
        FlTime start = FL_SEC(i * 10);
        assert_int_equal(fl__calls_ask(calls, &call, self, 5, 0, 0, start, &answer.key.serial),
                         FL_OK);
        assert_true(fl__calls_answered(calls, &answer, start + FL_MS(i)));
        assert_false(fl__calls_answered(calls, &answer, start + FL_MS(i)));
        assert_int_equal(fl__calls_done(calls, start + FL_MS(i), &result), FL_OK);
    }
    FlCallStats stats = fl__calls_stats(calls);
    assert_true(llabs(stats.latency_p50_ns - FL_MS(500)) < FL_MS(25));
    assert_true(llabs(stats.latency_p95_ns - FL_MS(950)) < FL_MS(48));
    assert_int_equal(stats.latency_max_ns, FL_MS(1000));
    assert_int_equal(stats.count[FL_CALLS_STRAY], 1000);
    for (int32_t i = 0; i < FL_CALLS_COUNTS; i++) {
        assert_string_not_equal(fl__calls_count_name((FlCallsCount)i), "unknown");
    }
    fl__calls_destroy(calls);
}

// ---------------------------------------------------------------- handovers

static FlHandoverMessage some_estate(uint16_t number, uint32_t first, int32_t count, FlTime until)
{
    FlHandoverMessage estate = {.number = number, .epoch = 1, .decided_count = count};
    for (int32_t i = 0; i < count; i++) {
        FlCallDecided decided = {{first + (uint32_t)i, 3, 1}, true, until};
        estate.decided[i] = decided;
    }
    return estate;
}

static void an_estate_fills_no_table_for_longer_than_calls_live(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlTime now = FL_SEC(100);
    FlTime longest = now + FL_CALL_LIFE_MOST + FL_CALLS_KEPT;
    for (uint32_t i = 0; i < (uint32_t)def.received_capacity; i += FL_HANDOVER_CALLS) {
        FlHandoverMessage estate = some_estate(7, i, FL_HANDOVER_CALLS, longest + 1 + FL_SEC(i));
        assert_false(fl__calls_inherit(calls, &estate, now)); // so that the floor rises
        estate = some_estate(7, i, FL_HANDOVER_CALLS, now - FL_CALLS_KEPT - 1);
        assert_true(fl__calls_inherit(calls, &estate, now)); // over: nobody asks for them again
    }
    for (uint32_t i = 0; i < (uint32_t)def.received_capacity; i += FL_HANDOVER_CALLS) {
        FlHandoverMessage estate = some_estate(7, i, FL_HANDOVER_CALLS, longest);
        bool last = i + FL_HANDOVER_CALLS == (uint32_t)def.received_capacity; // that is for callers
        assert_int_equal(fl__calls_inherit(calls, &estate, now), !last);
    }
    FlCallMessage m = some_call(1000, now + FL_SEC(1)); // those were its own
    assert_int_equal(fl__calls_receive(calls, &m, now), FL_RECEIVED_CROWDED);
    m.key.from = 4;
    assert_int_equal(fl__calls_receive(calls, &m, now), FL_RECEIVED_NEW);
    FlHandoverMessage over = some_estate(8, 2000, 1, now - FL_CALLS_KEPT - 1);
    assert_true(fl__calls_inherit(calls, &over, now)); // which needs no room
    FlTime later = longest + FL_CALLS_KEPT + 1;
    m = some_call(1000, later + FL_SEC(1));
    assert_int_equal(fl__calls_receive(calls, &m, later), FL_RECEIVED_NEW);
    fl__calls_destroy(calls);
}

static void an_estate_decides_nothing_about_other_things(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlTime now = FL_SEC(100);
    FlTime until = now + FL_SEC(1);
    FlCallMessage taken = some_call(1, until);
    FlCallMessage waiting = some_call(2, until);
    FlCallMessage coming = some_call(3, until);
    FlCallMessage out;
    assert_int_equal(fl__calls_receive(calls, &taken, now), FL_RECEIVED_NEW);
    assert_int_equal(fl__calls_take(calls, &out), FL_OK);
    assert_int_equal(fl__calls_receive(calls, &waiting, now), FL_RECEIVED_NEW);
    FlHandoverMessage estate =
        some_estate(7, 1, 3, until); // whoever gave 7 away has guessed all three
    assert_true(fl__calls_inherit(calls, &estate, now));
    assert_int_equal(fl__calls_receive(calls, &coming, now), FL_RECEIVED_NEW);
    assert_int_equal(fl__calls_receive(calls, &taken, now), FL_RECEIVED_WAITING);
    assert_int_equal(fl__calls_decide(calls, taken.key, false), FL_OK);
    assert_int_equal(fl__calls_receive(calls, &taken, now), FL_RECEIVED_REFUSED);
    for (uint32_t serial = 2; serial <= 3; serial++) {
        assert_int_equal(fl__calls_take(calls, &out), FL_OK);
        assert_true(out.key.serial == serial && out.number == 5);
        assert_int_equal(fl__calls_decide(calls, out.key, false), FL_OK);
        assert_int_equal(fl__calls_receive(calls, &out, now), FL_RECEIVED_REFUSED);
    }
    fl__calls_destroy(calls);
}

static void what_was_decided_here_stays_whatever_an_estate_says(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlTime now = FL_SEC(100);
    FlTime until = now + FL_SEC(1);
    FlCallMessage m[3];
    FlCallMessage out;
    for (uint32_t i = 0; i < 3; i++) { // refused, taken, waiting
        m[i] = some_call(i, until);
        assert_int_equal(fl__calls_receive(calls, &m[i], now), FL_RECEIVED_NEW);
        if (i < 2) {
            assert_int_equal(fl__calls_take(calls, &out), FL_OK);
        }
    }
    assert_int_equal(fl__calls_decide(calls, m[0].key, false), FL_OK);
    FlHandoverMessage estate = some_estate(5, 0, 3, until);
    assert_true(fl__calls_inherit(calls, &estate, now));
    assert_int_equal(fl__calls_receive(calls, &m[0], now), FL_RECEIVED_REFUSED);
    assert_int_equal(fl__calls_receive(calls, &m[1], now), FL_RECEIVED_WAITING);
    assert_int_equal(fl__calls_receive(calls, &m[2], now),
                     FL_RECEIVED_APPLIED); // by who had it before us
    assert_int_equal(fl__calls_take(calls, &out), FL_NOT_FOUND);
    fl__calls_destroy(calls);
}

// The same name for another thing is a cheat's: it is never open twice, so that no place is lost.
static void a_name_is_open_for_one_thing_only(void **state)
{
    (void)state;
    FlCallsDef def = fl__calls_def_default();
    FlCalls *calls;
    assert_int_equal(fl__calls_create(&def, &calls), FL_OK);
    FlCallMessage first = some_call(1, FL_SEC(1));
    FlCallMessage second = first;
    second.number = 6;
    FlCallMessage out;
    assert_int_equal(fl__calls_receive(calls, &first, 0), FL_RECEIVED_NEW);
    assert_int_equal(fl__calls_receive(calls, &second, 0), FL_RECEIVED_WAITING);
    assert_int_equal(fl__calls_take(calls, &out), FL_OK);
    assert_int_equal(fl__calls_receive(calls, &second, 0), FL_RECEIVED_WAITING);
    assert_int_equal(fl__calls_take(calls, &out), FL_NOT_FOUND);
    assert_int_equal(fl__calls_decide(calls, first.key, true), FL_OK);
    assert_int_equal(fl__calls_receive(calls, &second, 0), FL_RECEIVED_NEW);
    assert_int_equal(fl__calls_decide(calls, first.key, false), FL_OK);
    assert_int_equal(fl__calls_receive(calls, &first, 0), FL_RECEIVED_APPLIED);
    assert_int_equal(fl__calls_receive(calls, &second, 0), FL_RECEIVED_REFUSED);
    fl__calls_destroy(calls);
}

// ---------------------------------------------------------------- hits

static bool blocked(void *ctx, FlVec3 from, FlVec3 to)
{
    (void)ctx;
    return !(from.x < 5.0 && to.x > 5.0); // a wall at x = 5
}

static void hits_that_cannot_be_are_refused(void **state)
{
    (void)state;
    FlHitRules rules = fl_hit_rules_default();
    rules.range = 50.0;
    FlHitCall hit = {.time = FL_SEC(10), .target = fl_vec3(3.0, 0.0, 0.0)};
    FlPose seen = {.position = fl_vec3(3.3, 0.0, 0.0)};
    FlVec3 shooter = fl_vec3(0.0, 0.0, 0.0);
    FlTime now = FL_SEC(10) + FL_MS(100);
    assert_int_equal(fl__hit_verify(&rules, &hit, &seen, shooter, now), FL_HIT_POSSIBLE);
    assert_int_equal(fl__hit_verify(&rules, &hit, NULL, shooter, now), FL_HIT_UNSEEN);
    seen.position.x = 3.6;
    assert_int_equal(fl__hit_verify(&rules, &hit, &seen, shooter, now), FL_HIT_ELSEWHERE);
    assert_int_equal(fl__hit_verify(&rules, &hit, &seen, shooter, now + FL_SEC(1)),
                     FL_HIT_UNTIMELY);
    assert_int_equal(fl__hit_verify(&rules, &hit, &seen, shooter, FL_SEC(9)), FL_HIT_UNTIMELY);
    hit.target.x = 49.0;
    seen.position.x = 49.0;
    rules.clear_fn = blocked;
    assert_int_equal(fl__hit_verify(&rules, &hit, &seen, shooter, now), FL_HIT_NO_LINE);
    shooter.x = -2.0;
    assert_int_equal(fl__hit_verify(&rules, &hit, &seen, shooter, now), FL_HIT_OUT_OF_RANGE);
}

static void a_missile_comes_as_near_as_a_fine_search_finds(void **state)
{
    (void)state;
    FlRandom random = {.seed = 3, .stream = 1};
    for (int32_t trial = 0; trial < 200; trial++) {
        FlMotion target = {.model = FL_MODEL_LINEAR, .horizon_ns = FL_FOREVER};
        FlMissileCall missile = {.time = 0};
        double x = fl_random_between(&random, -20.0, 20.0);
        double y = fl_random_between(&random, -20.0, 20.0);
        double u = fl_random_between(&random, -10.0, 10.0);
        double v = fl_random_between(&random, -10.0, 10.0);
        target.position = fl_vec3(x, y, 0.0);
        target.velocity = fl_vec3(u, v, 0.0);
        missile.velocity = fl_vec3(v * 3.0, u * 2.0, 0.0);
        FlTime when;
        double nearest = fl__missile_nearest(&missile, &target, 0, FL_SEC(4), &when);
        double found = 1e9;
        for (int32_t i = 0; i <= 4000; i++) {
            FlTime at = FL_MS(i);
            FlVec3 m = fl_vec3_scale(missile.velocity, fl_span_seconds(at));
            double d = fl_vec3_distance(fl_motion_pose(&target, at).position, m);
            found = d < found ? d : found;
        }
        assert_true(nearest <= found + 1e-9 && nearest >= found - 0.03);
        FlVec3 m = fl_vec3_scale(missile.velocity, fl_span_seconds(when));
        double there = fl_vec3_distance(fl_motion_pose(&target, when).position, m);
        assert_true(there - nearest < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_back_as_they_went),
        cmocka_unit_test(the_longest_message_fits_what_is_said_of_it),
        cmocka_unit_test(arguments_come_back_rounded_and_take_24_bytes_at_most),
        cmocka_unit_test(small_arguments_come_back),
        cmocka_unit_test(over_any_network_nothing_is_decided_twice_and_nobody_told_wrongly),
        cmocka_unit_test(a_full_table_takes_no_new_call_until_old_ones_have_ended),
        cmocka_unit_test(no_caller_takes_the_room_of_others),
        cmocka_unit_test(a_predicted_state_is_the_answer),
        cmocka_unit_test(figures_say_how_long_it_took),
        cmocka_unit_test(an_estate_fills_no_table_for_longer_than_calls_live),
        cmocka_unit_test(an_estate_decides_nothing_about_other_things),
        cmocka_unit_test(what_was_decided_here_stays_whatever_an_estate_says),
        cmocka_unit_test(a_name_is_open_for_one_thing_only),
        cmocka_unit_test(hits_that_cannot_be_are_refused),
        cmocka_unit_test(a_missile_comes_as_near_as_a_fine_search_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
