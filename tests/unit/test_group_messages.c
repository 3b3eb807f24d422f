// What members say to each other: round trips, every truncation, a byte too many, and bytes that
// nobody wrote. Each message is seen here as bytes in, a structure, bytes out; so that one value
// has one encoding is a question about all of them alike.
#include "support.h"

#include "fairlead/group.h"

/// Room for the longest message and a byte too many.
#define ROOM (FL_GROUP_MESSAGE_BYTES + 8)

/// Any of the messages.
typedef union Message {
    FlEventHead event;
    FlMemberMessage member;
    FlEntityMessage entity;
    FlEntityEndMessage end;
    FlGiveMessage give;
    FlScopeMessage scope;
    FlMeetMessage meet;
    FlReachMessage reach;
    uint16_t want;
    uint8_t plan;
} Message;

static uint16_t random_16(FlRandom *r)
{
    return (uint16_t)fl_random_below(r, 65536);
}

static void random_bytes(FlRandom *r, uint8_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)fl_random_below(r, 256);
    }
}

// ---------------------------------------------------------------- one of each

static void make_event(FlRandom *r, Message *m)
{
    m->event.from = random_16(r);
    m->event.type = random_16(r);
    m->event.delivery = (uint8_t)fl_random_below(r, 3);
    m->event.to_count = (int32_t)fl_random_below(r, FL_EVENT_TO_AT_MOST + 1);
    for (int32_t i = 0; i < m->event.to_count; i++) {
        m->event.to[i] = random_16(r);
    }
}

static void make_member(FlRandom *r, Message *m)
{
    m->member.number = random_16(r);
    m->member.incarnation = (uint32_t)fl_random_next(r);
    m->member.present = random_chance(r, 2);
    if (m->member.present) {
        m->member.client_id = fl_random_next(r);
    } else {
        m->member.left = (FlLeft)fl_random_below(r, 4);
    }
}

static void make_entity(FlRandom *r, Message *m)
{
    m->entity.number = random_16(r);
    m->entity.epoch = random_16(r);
    m->entity.born = (uint16_t)(m->entity.epoch - fl_random_below(r, 0x8000));
    m->entity.owner = random_16(r);
    m->entity.trait_bytes = (int32_t)fl_random_below(r, FL_GROUP_TRAIT_BYTES + 1);
    random_bytes(r, m->entity.traits, m->entity.trait_bytes);
}

static void make_end(FlRandom *r, Message *m)
{
    m->end.number = random_16(r);
    m->end.epoch = random_16(r);
}

static void make_give(FlRandom *r, Message *m)
{
    m->give.number = random_16(r);
    m->give.epoch = random_16(r);
    m->give.to = random_16(r);
}

static void make_scope(FlRandom *r, Message *m)
{
    m->scope.number = random_16(r);
    m->scope.epoch = random_16(r);
    m->scope.member = random_16(r);
    m->scope.sees = random_chance(r, 2);
}

static void make_meet(FlRandom *r, Message *m)
{
    m->meet.member = random_16(r);
    m->meet.incarnation = (uint32_t)fl_random_next(r);
    bool six = random_chance(r, 2);
    m->meet.address.family = six ? FL_FAMILY_IPV6 : FL_FAMILY_IPV4;
    random_bytes(r, m->meet.address.ip, six ? 16 : 4);
    m->meet.address.port = random_16(r);
    if (random_chance(r, 2)) {
        m->meet.conversation = (uint16_t)(1 + fl_random_below(r, 65535));
    } else {
        m->meet.key_bytes = 1 + (int32_t)fl_random_below(r, FL_GROUP_KEY_BYTES);
        random_bytes(r, m->meet.keys, m->meet.key_bytes);
    }
}

static void make_reach(FlRandom *r, Message *m)
{
    m->reach.member = random_16(r);
    m->reach.incarnation = (uint32_t)fl_random_next(r);
    m->reach.direct = random_chance(r, 2);
}

static void make_want(FlRandom *r, Message *m)
{
    m->want = random_16(r);
}

static void make_plan(FlRandom *r, Message *m)
{
    m->plan = (uint8_t)fl_random_below(r, 256);
}

// ---------------------------------------------------------------- all alike

#define AS_ONE(name, Type, prefix)                                                                 \
    static void write_##name(FlWriter *w, const Message *m)                                        \
    {                                                                                              \
        prefix##_write(w, &m->name);                                                               \
    }                                                                                              \
    static bool read_##name(FlReader *reader, Message *m)                                          \
    {                                                                                              \
        return prefix##_read(reader, &m->name);                                                    \
    }
AS_ONE(event, FlEventHead, fl_event_head)
AS_ONE(member, FlMemberMessage, fl_member_message)
AS_ONE(entity, FlEntityMessage, fl_entity_message)
AS_ONE(end, FlEntityEndMessage, fl_entity_end_message)
AS_ONE(give, FlGiveMessage, fl_give_message)
AS_ONE(scope, FlScopeMessage, fl_scope_message)
AS_ONE(meet, FlMeetMessage, fl_meet_message)
AS_ONE(reach, FlReachMessage, fl_reach_message)
#undef AS_ONE

static void write_want(FlWriter *w, const Message *m)
{
    fl_want_message_write(w, m->want);
}

static bool read_want(FlReader *reader, Message *m)
{
    return fl_want_message_read(reader, &m->want);
}

static void write_plan(FlWriter *w, const Message *m)
{
    fl_plan_message_write(w, m->plan);
}

static bool read_plan(FlReader *reader, Message *m)
{
    return fl_plan_message_read(reader, &m->plan);
}

typedef struct Kind {
    FlGroupKind kind;
    void (*make)(FlRandom *r, Message *m);
    void (*write)(FlWriter *w, const Message *m);
    bool (*read)(FlReader *r, Message *m);
} Kind;

static const Kind kinds[] = {
    {FL_GROUP_EVENT, make_event, write_event, read_event},
    {FL_GROUP_MEMBER, make_member, write_member, read_member},
    {FL_GROUP_ENTITY, make_entity, write_entity, read_entity},
    {FL_GROUP_ENTITY_END, make_end, write_end, read_end},
    {FL_GROUP_GIVE, make_give, write_give, read_give},
    {FL_GROUP_SCOPE, make_scope, write_scope, read_scope},
    {FL_GROUP_MEET, make_meet, write_meet, read_meet},
    {FL_GROUP_REACH, make_reach, write_reach, read_reach},
    {FL_GROUP_WANT, make_want, write_want, read_want},
    {FL_GROUP_PLAN, make_plan, write_plan, read_plan},
};

enum { KINDS = (int32_t)(sizeof kinds / sizeof kinds[0]) };

static int32_t write(const Kind *kind, const Message *m, uint8_t bytes[ROOM])
{
    FlWriter writer;
    fl_writer_init(&writer, bytes, ROOM);
    kind->write(&writer, m);
    assert_false(writer.failed);
    assert_int_equal(bytes[0], kind->kind);
    return fl_writer_size(&writer);
}

/// Reads what comes after the kind; *left is what a reader has not touched.
static bool read(const Kind *kind, const uint8_t *bytes, int32_t size, Message *m, int32_t *left)
{
    // In memory of its own, so that a sanitizer sees a step over the end.
    uint8_t *copy = (uint8_t *)malloc((size_t)size + 1);
    assert_non_null(copy);
    uint8_t *exact = (uint8_t *)realloc(copy, size > 0 ? (size_t)size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, (size_t)size);
    FlReader reader;
    fl_reader_init(&reader, exact, size);
    (void)fl_reader_take(&reader, 8);
    memset(m, 0xee, sizeof *m); // whatever was there before
    bool good = kind->read(&reader, m);
    *left = fl_reader_left(&reader);
    free(exact);
    return good;
}

static void every_message_arrives_as_it_was_sent(void **state)
{
    (void)state;
    FlRandom r = random_stream(8100);
    for (int32_t n = 0; n < CASES(20000); n++) {
        const Kind *kind = &kinds[n % KINDS];
        Message message;
        memset(&message, 0, sizeof message);
        kind->make(&r, &message);
        uint8_t bytes[ROOM];
        uint8_t again[ROOM];
        int32_t size = write(kind, &message, bytes);
        assert_true(size <= FL_GROUP_MESSAGE_BYTES);
        Message got;
        int32_t left;
        assert_true(read(kind, bytes, size, &got, &left));
        assert_int_equal(left, 0);
        assert_int_equal(write(kind, &got, again), size);
        assert_memory_equal(bytes, again, (size_t)size);
    }
}

static void what_was_read_is_what_was_meant(void **state)
{
    (void)state;
    uint8_t bytes[ROOM];
    int32_t left;
    Message m;
    Message got;
    memset(&m, 0, sizeof m);
    FlMemberMessage member = {7, 9, false, FL_LEFT_REMOVED, 0};
    m.member = member;
    assert_true(read(&kinds[1], bytes, write(&kinds[1], &m, bytes), &got, &left));
    assert_int_equal(got.member.number, 7);
    assert_int_equal(got.member.incarnation, 9);
    assert_false(got.member.present);
    assert_int_equal(got.member.left, FL_LEFT_REMOVED);
    FlGiveMessage give = {1, 2, 3};
    m.give = give;
    const uint8_t expected[] = {FL_GROUP_GIVE, 1, 0, 2, 0, 3, 0};
    assert_int_equal(write(&kinds[4], &m, bytes), (int32_t)sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    FlScopeMessage scope = {0x1234, 0x5678, 0x9abc, true};
    m.scope = scope;
    const uint8_t spelt[] = {FL_GROUP_SCOPE, 0x34, 0x12, 0x78, 0x56, 0xbc, 0x9a, 1};
    assert_int_equal(write(&kinds[5], &m, bytes), (int32_t)sizeof spelt);
    assert_memory_equal(bytes, spelt, sizeof spelt);
}

static void no_beginning_of_a_message_is_one_and_nothing_may_follow(void **state)
{
    (void)state;
    FlRandom r = random_stream(8101);
    for (int32_t n = 0; n < CASES(1600); n++) {
        const Kind *kind = &kinds[n % KINDS];
        Message message;
        memset(&message, 0, sizeof message);
        kind->make(&r, &message);
        uint8_t bytes[ROOM] = {0};
        int32_t size = write(kind, &message, bytes);
        Message got;
        int32_t left;
        for (int32_t cut = 1; cut < size; cut++) {
            bool good = read(kind, bytes, cut, &got, &left);
            bool keys = kind->kind == FL_GROUP_MEET && message.meet.key_bytes > 0;
            if (keys && cut > size - message.meet.key_bytes) {
                assert_true(good); // fewer keys are for room `seal` to refuse
            } else {
                assert_false(good);
            }
        }
        bool longer = read(kind, bytes, size + 1, &got, &left);
        bool open = kind->kind == FL_GROUP_EVENT || // the game's bytes
                    (kind->kind == FL_GROUP_MEET && message.meet.key_bytes > 0 &&
                     message.meet.key_bytes < FL_GROUP_KEY_BYTES);
        assert_int_equal(longer, open);
    }
}

// Bytes that nobody wrote are refused, or are the one encoding of what they say.
static void one_value_has_one_encoding(void **state)
{
    (void)state;
    FlRandom r = random_stream(8102);
    int32_t taken[KINDS] = {0};
    for (int32_t n = 0; n < CASES(200000); n++) {
        int32_t k = (int32_t)fl_random_below(&r, KINDS);
        uint8_t bytes[ROOM];
        Message message;
        memset(&message, 0, sizeof message);
        kinds[k].make(&r, &message);
        int32_t size = write(&kinds[k], &message, bytes);
        for (uint64_t flips = fl_random_below(&r, 4); flips > 0; flips--) {
            uint64_t at = fl_random_below(&r, (uint64_t)size);
            bytes[at] = (uint8_t)fl_random_below(&r, 256);
        }
        if (random_chance(&r, 8)) {
            size = 1 + (int32_t)fl_random_below(&r, ROOM - 1);
            random_bytes(&r, bytes + 1, size - 1);
        }
        bytes[0] = (uint8_t)kinds[k].kind;
        Message got;
        int32_t left;
        if (!read(&kinds[k], bytes, size, &got, &left)) {
            continue;
        }
        taken[k]++;
        uint8_t again[ROOM];
        assert_int_equal(write(&kinds[k], &got, again), size - left);
        assert_memory_equal(bytes, again, (size_t)(size - left));
        assert_true(left == 0 || kinds[k].kind == FL_GROUP_EVENT);
    }
    for (int32_t k = 0; k < KINDS; k++) {
        assert_true(taken[k] > 100);
    }
}

// ---------------------------------------------------------------- epochs, and who hosts next

static void epochs_live_on_a_circle(void **state)
{
    (void)state;
    assert_true(fl_epoch_newer(1, 0) && !fl_epoch_newer(0, 1) && !fl_epoch_newer(5, 5));
    assert_true(fl_epoch_newer(0, 65535) && !fl_epoch_newer(65535, 0));
    assert_true(fl_epoch_newer(0x7fff, 0) && !fl_epoch_newer(0x8000, 0)); // half is neither
    assert_false(fl_epoch_newer(0, 0x8000));
    FlRandom r = random_stream(8103);
    for (int32_t n = 0; n < CASES(20000); n++) {
        uint16_t epoch = random_16(&r);
        uint16_t ahead = (uint16_t)(1 + fl_random_below(&r, 0x7fff));
        assert_true(fl_epoch_newer((uint16_t)(epoch + ahead), epoch));
        assert_false(fl_epoch_newer(epoch, (uint16_t)(epoch + ahead)));
    }
}

static void an_epoch_is_known_from_its_low_bits_while_it_is_near(void **state)
{
    (void)state;
    for (int32_t near = 0; near < 65536; near += 13) {
        for (int32_t off = -128; off < 128; off++) {
            uint16_t epoch = (uint16_t)(near + off);
            assert_int_equal(fl_epoch_unwrap((uint16_t)near, (uint8_t)epoch), epoch);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_arrives_as_it_was_sent),
        cmocka_unit_test(what_was_read_is_what_was_meant),
        cmocka_unit_test(no_beginning_of_a_message_is_one_and_nothing_may_follow),
        cmocka_unit_test(one_value_has_one_encoding),
        cmocka_unit_test(epochs_live_on_a_circle),
        cmocka_unit_test(an_epoch_is_known_from_its_low_bits_while_it_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
