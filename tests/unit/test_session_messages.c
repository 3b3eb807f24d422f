// What members say to each other: round trips, every truncation, a byte too many, and bytes that
// nobody wrote. Each message is seen here as bytes in, a structure, bytes out; so that one value
// has one encoding is a question about all of them alike.
#include "support.h"

#include "connection/sealed.h"
#include "crowd/light.h"
#include "entity/private.h"
#include "member/private.h"
#include "play/private.h"
#include "wire/wire.h"

/// Room for the longest message and a byte too many.
#define ROOM (MESSAGE_SHORT + 8)

/// Any of the messages.
typedef union Message {
    RouteHead route;
    MemberMessage member;
    EntityMessage entity;
    EntityEndMessage end;
    GiveMessage give;
    ScopeMessage scope;
    MeetMessage meet;
    ReachMessage reach;
    AskMessage ask;
    ClaimMessage claim;
    ClaimedMessage claimed;
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

static void make_route(FlRandom *r, Message *m)
{
    m->route.from = random_16(r);
    m->route.kind = MESSAGE_EVENT;
    m->route.delivery = (uint8_t)fl_random_below(r, 3);
    m->route.to_count = (int32_t)fl_random_below(r, ROUTE_TO_AT_MOST + 1);
    for (int32_t i = 0; i < m->route.to_count; i++) {
        m->route.to[i] = random_16(r);
    }
}

static void make_member(FlRandom *r, Message *m)
{
    m->member.number = random_16(r);
    m->member.incarnation = (uint32_t)fl_random_next(r);
    m->member.present = random_chance(r, 2);
    if (m->member.present) {
        m->member.client_id = fl_random_next(r);
        int32_t count = (int32_t)fl_random_below(r, FL_NAME_BYTES);
        for (int32_t i = 0; i < count; i++) {
            m->member.name[i] = (char)('a' + (int32_t)fl_random_below(r, 26));
        }
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
    m->entity.definition = (uint8_t)fl_random_below(r, TRAITS_KEPT);
    m->entity.trait_bytes = (int32_t)fl_random_below(r, TRAIT_BYTES + 1);
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
        m->meet.key_bytes = 1 + (int32_t)fl_random_below(r, SEALED_KEY_BYTES);
        random_bytes(r, m->meet.keys, m->meet.key_bytes);
    }
}

static void make_reach(FlRandom *r, Message *m)
{
    m->reach.member = random_16(r);
    m->reach.incarnation = (uint32_t)fl_random_next(r);
    m->reach.direct = random_chance(r, 2);
}

static void make_ask(FlRandom *r, Message *m)
{
    m->ask.round = random_16(r);
    m->ask.all = random_chance(r, 2);
}

static void make_claim(FlRandom *r, Message *m)
{
    m->claim.number = random_16(r);
    m->claim.epoch = random_16(r);
    m->claim.ended = random_chance(r, 2);
    if (!m->claim.ended && random_chance(r, 2)) {
        m->claim.version = (uint16_t)(1 + fl_random_below(r, 65535));
        m->claim.count = (int32_t)fl_random_below(r, FL_CALL_STATE_BYTES + 1);
        random_bytes(r, m->claim.state, m->claim.count);
    }
}

static void make_claimed(FlRandom *r, Message *m)
{
    m->claimed.round = random_16(r);
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
static void write_route(FlWriter *w, const Message *m)
{
    fl__route_head_write(w, &m->route);
}

static bool read_route(FlReader *reader, Message *m)
{
    return fl__route_head_read(reader, MESSAGE_EVENT, &m->route);
}

AS_ONE(member, MemberMessage, fl__member_message)
AS_ONE(entity, EntityMessage, fl__entity_message)
AS_ONE(end, EntityEndMessage, fl__entity_end_message)
AS_ONE(give, GiveMessage, fl__give_message)
AS_ONE(scope, ScopeMessage, fl__scope_message)
AS_ONE(meet, MeetMessage, fl__meet_message)
AS_ONE(reach, ReachMessage, fl__reach_message)
AS_ONE(ask, AskMessage, fl__ask_message)
AS_ONE(claim, ClaimMessage, fl__claim_message)
AS_ONE(claimed, ClaimedMessage, fl__claimed_message)
#undef AS_ONE

static void write_want(FlWriter *w, const Message *m)
{
    fl__want_message_write(w, m->want);
}

static bool read_want(FlReader *reader, Message *m)
{
    return fl__want_message_read(reader, &m->want);
}

static void write_plan(FlWriter *w, const Message *m)
{
    fl__plan_message_write(w, m->plan);
}

static bool read_plan(FlReader *reader, Message *m)
{
    return fl__plan_message_read(reader, &m->plan);
}

typedef struct Kind {
    MessageKind kind;
    void (*make)(FlRandom *r, Message *m);
    void (*write)(FlWriter *w, const Message *m);
    bool (*read)(FlReader *r, Message *m);
} Kind;

static const Kind kinds[] = {
    {MESSAGE_EVENT, make_route, write_route, read_route},
    {MESSAGE_MEMBER, make_member, write_member, read_member},
    {MESSAGE_ENTITY, make_entity, write_entity, read_entity},
    {MESSAGE_ENTITY_END, make_end, write_end, read_end},
    {MESSAGE_GIVE, make_give, write_give, read_give},
    {MESSAGE_SCOPE, make_scope, write_scope, read_scope},
    {MESSAGE_MEET, make_meet, write_meet, read_meet},
    {MESSAGE_REACH, make_reach, write_reach, read_reach},
    {MESSAGE_WANT, make_want, write_want, read_want},
    {MESSAGE_PLAN, make_plan, write_plan, read_plan},
    {MESSAGE_ASK, make_ask, write_ask, read_ask},
    {MESSAGE_CLAIM, make_claim, write_claim, read_claim},
    {MESSAGE_CLAIMED, make_claimed, write_claimed, read_claimed},
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
        assert_true(size <= MESSAGE_SHORT);
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
    MemberMessage member = {.number = 7, .incarnation = 9, .left = FL_LEFT_REMOVED};
    m.member = member;
    assert_true(read(&kinds[1], bytes, write(&kinds[1], &m, bytes), &got, &left));
    assert_int_equal(got.member.number, 7);
    assert_int_equal(got.member.incarnation, 9);
    assert_false(got.member.present);
    assert_int_equal(got.member.left, FL_LEFT_REMOVED);
    GiveMessage give = {1, 2, 3};
    m.give = give;
    const uint8_t expected[] = {MESSAGE_GIVE, 1, 0, 2, 0, 3, 0};
    assert_int_equal(write(&kinds[4], &m, bytes), (int32_t)sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    ScopeMessage scope = {0x1234, 0x5678, 0x9abc, true, false};
    m.scope = scope;
    const uint8_t spelt[] = {MESSAGE_SCOPE, 0x34, 0x12, 0x78, 0x56, 0xbc, 0x9a, 1};
    assert_int_equal(write(&kinds[5], &m, bytes), (int32_t)sizeof spelt);
    assert_memory_equal(bytes, spelt, sizeof spelt);
    RouteHead route = {.kind = MESSAGE_SNAPSHOT, .from = 2, .delivery = 1, .to_count = 1};
    route.to[0] = 0x0304;
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__route_head_write(&w, &route);
    const uint8_t routed[] = {MESSAGE_SNAPSHOT, 2, 0, 1, 1, 4, 3};
    assert_int_equal(fl_writer_size(&w), (int32_t)sizeof routed);
    assert_memory_equal(bytes, routed, sizeof routed);
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
            bool keys = kind->kind == MESSAGE_MEET && message.meet.key_bytes > 0;
            int32_t name = kind->kind == MESSAGE_MEMBER ? (int32_t)strlen(message.member.name) : 0;
            if (keys && cut > size - message.meet.key_bytes) {
                assert_true(good); // fewer keys are for module `seal` to refuse
            } else if (cut >= size - name && name > 0) {
                assert_true(good); // a shorter name
            } else {
                assert_false(good);
            }
        }
        bool longer = read(kind, bytes, size + 1, &got, &left);
        bool open = kind->kind == MESSAGE_EVENT || // its body
                    (kind->kind == MESSAGE_MEET && message.meet.key_bytes > 0 &&
                     message.meet.key_bytes < SEALED_KEY_BYTES);
        assert_int_equal(longer, open);
    }
}

static void a_name_that_cannot_be_shown_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"a\nb", "\x1b[2J", "\xff", "half \xc3", "\xc2\x9b"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        Message message;
        Message got;
        int32_t left;
        uint8_t bytes[ROOM] = {0};
        memset(&message, 0, sizeof message);
        message.member.present = true;
        strcpy(message.member.name, "\xc3\xa4 good one");
        assert_true(read(&kinds[1], bytes, write(&kinds[1], &message, bytes), &got, &left));
        assert_string_equal(got.member.name, message.member.name);
        strcpy(message.member.name, wrong[i]);
        assert_false(read(&kinds[1], bytes, write(&kinds[1], &message, bytes), &got, &left));
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
        assert_true(left == 0 || kinds[k].kind == MESSAGE_EVENT);
    }
    for (int32_t k = 0; k < KINDS; k++) {
        assert_true(taken[k] > 100);
    }
}

// ---------------------------------------------------------------- epochs, and who hosts next

static void epochs_live_on_a_circle(void **state)
{
    (void)state;
    assert_true(fl__seq_newer(1, 0) && !fl__seq_newer(0, 1) && !fl__seq_newer(5, 5));
    assert_true(fl__seq_newer(0, 65535) && !fl__seq_newer(65535, 0));
    assert_true(fl__seq_newer(0x7fff, 0) && !fl__seq_newer(0x8000, 0)); // half is neither
    assert_false(fl__seq_newer(0, 0x8000));
    FlRandom r = random_stream(8103);
    for (int32_t n = 0; n < CASES(20000); n++) {
        uint16_t epoch = random_16(&r);
        uint16_t ahead = (uint16_t)(1 + fl_random_below(&r, 0x7fff));
        assert_true(fl__seq_newer((uint16_t)(epoch + ahead), epoch));
        assert_false(fl__seq_newer(epoch, (uint16_t)(epoch + ahead)));
    }
}

static void an_epoch_is_known_from_its_low_bits_while_it_is_near(void **state)
{
    (void)state;
    for (int32_t near = 0; near < 65536; near += 13) {
        for (int32_t off = -128; off < 128; off++) {
            uint16_t epoch = (uint16_t)(near + off);
            assert_int_equal(fl__epoch_unwrap((uint16_t)near, (uint8_t)epoch), epoch);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_arrives_as_it_was_sent),
        cmocka_unit_test(what_was_read_is_what_was_meant),
        cmocka_unit_test(no_beginning_of_a_message_is_one_and_nothing_may_follow),
        cmocka_unit_test(a_name_that_cannot_be_shown_is_refused),
        cmocka_unit_test(one_value_has_one_encoding),
        cmocka_unit_test(epochs_live_on_a_circle),
        cmocka_unit_test(an_epoch_is_known_from_its_low_bits_while_it_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
