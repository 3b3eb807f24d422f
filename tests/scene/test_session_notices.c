// Notices: whatever comes in while the game does not look, it learns who is there and who owns
// what, in order, from fixed memory.
#include "session_inside.h"
#include "session_stranger.h"

enum { PEER = 5, THING = 7 };

// ---------------------------------------------------------------- what a host says

static void hear(Fixture *f)
{
    hear_all(f);
    FlFateEvent fate;
    while (fl_link_take_fate(f->link, &fate) == FL_OK) {
    }
}

static void tell_member(Fixture *f, uint16_t number, uint32_t incarnation, bool present)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    MemberMessage m = {.number = number, .incarnation = incarnation, .present = present};
    fl__member_message_write(&w, &m);
    give_message(f, bytes, fl_writer_size(&w));
    hear(f);
}

static void tell_entity(Fixture *f, uint16_t number, uint16_t epoch, uint16_t born, uint16_t owner)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    EntityMessage m = {.number = number, .epoch = epoch, .born = born, .owner = owner};
    FlEntityDef def = fl_entity_def_default();
    m.definition = TRAITS_KEPT - 1; // which nothing else uses
    m.trait_bytes = fl__traits_write(&def, m.traits);
    fl__entity_message_write(&w, &m);
    give_message(f, bytes, fl_writer_size(&w));
    hear(f);
}

static void tell_end(Fixture *f, uint16_t number, uint16_t epoch)
{
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    EntityEndMessage m = {number, epoch};
    fl__entity_end_message_write(&w, &m);
    give_message(f, bytes, fl_writer_size(&w));
    hear(f);
}

// So many states of an entity, each without a byte in it, as many as go into a packet.
static void tell_states(Fixture *f, uint16_t number, uint8_t epoch, int32_t count,
                        uint16_t *version)
{
    enum { EACH = 7, IN_PACKET = 100 };
    while (count > 0) {
        uint8_t payload[IN_PACKET * EACH];
        int32_t n = count < IN_PACKET ? count : IN_PACKET;
        for (int32_t i = 0; i < n; i++) {
            uint8_t *at = payload + i * EACH;
            *version = *version == UINT16_MAX ? 1 : (uint16_t)(*version + 1);
            put(at, 3, 1);
            put(at + 1, number, 2);
            put(at + 3, epoch, 1);
            put(at + 4, *version, 2);
            put(at + 6, 0, 1);
        }
        give_payload(f, payload, n * EACH);
        hear(f);
        count -= n;
    }
}

static void open_quiet(Fixture *f)
{
    open_client(f);
    inside_complete(f->session); // that host has nothing more to say
    net_drop_notices(f->session);
}

static void next_is(Fixture *f, FlNoticeKind kind, uint32_t number, uint32_t incarnation)
{
    FlNotice notice;
    assert_int_equal(fl_notice_take(f->session, &notice), FL_OK);
    assert_int_equal(notice.kind, kind);
    assert_int_equal(notice.peer.index1, number + 1);
    assert_int_equal(notice.peer.generation, incarnation);
}

static void no_more(Fixture *f)
{
    FlNotice notice;
    assert_int_equal(fl_notice_take(f->session, &notice), FL_NOT_FOUND);
}

// ---------------------------------------------------------------- tests

static void ten_thousand_states_hide_nobodys_leaving(void **state)
{
    (void)state;
    Fixture f;
    open_quiet(&f);
    tell_member(&f, PEER, 1, true);
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 1);
    tell_entity(&f, THING, 0, 0, 0);
    next_is(&f, FL_NOTICE_ENTITY_NEW, 0, 1);
    tell_member(&f, PEER, 1, false);
    uint16_t version = 0;
    tell_states(&f, THING, 0, 10000, &version);
    next_is(&f, FL_NOTICE_PEER_LEFT, PEER, 1);
    next_is(&f, FL_NOTICE_ENTITY_STATE, 0, 1);
    no_more(&f);
    tell_states(&f, THING, 0, 1, &version); // and the next one is told again
    next_is(&f, FL_NOTICE_ENTITY_STATE, 0, 1);
    no_more(&f);
    assert_int_equal(count_of(&f, FL_SESSION_NOTICES_LOST), 0);
    assert_int_equal(count_of(&f, FL_SESSION_STATES_TAKEN), 10001);
    close_all(&f);
}

static void who_takes_a_number_anew_comes_after_who_had_it(void **state)
{
    (void)state;
    Fixture f;
    open_quiet(&f);
    tell_member(&f, PEER, 1, true);
    tell_member(&f, PEER, 1, false);
    tell_member(&f, PEER, 2, true);
    tell_member(&f, PEER, 3, true); // that the second has left was never said
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 1);
    next_is(&f, FL_NOTICE_PEER_LEFT, PEER, 1);
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 2);
    next_is(&f, FL_NOTICE_PEER_LEFT, PEER, 2);
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 3);
    no_more(&f);
    close_all(&f);
}

static void an_owner_who_has_its_predecessors_number_is_told(void **state)
{
    (void)state;
    Fixture f;
    open_quiet(&f);
    tell_member(&f, PEER, 1, true);
    tell_entity(&f, THING, 0, 0, PEER);
    tell_member(&f, PEER, 1, false);
    tell_member(&f, PEER, 2, true);
    tell_entity(&f, THING, 2, 0, PEER); // by way of the host, who had it meanwhile
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 1);
    next_is(&f, FL_NOTICE_ENTITY_NEW, PEER, 1);
    next_is(&f, FL_NOTICE_PEER_LEFT, PEER, 1);
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 2);
    next_is(&f, FL_NOTICE_ENTITY_THEIRS, PEER, 2);
    no_more(&f);
    close_all(&f);
}

static void thousands_who_come_and_go_hide_nobody_who_stays(void **state)
{
    (void)state;
    Fixture f;
    open_quiet(&f);
    tell_member(&f, 4, 1, true);
    tell_member(&f, PEER, 1, true);
    next_is(&f, FL_NOTICE_PEER_JOINED, 4, 1);
    next_is(&f, FL_NOTICE_PEER_JOINED, PEER, 1);
    tell_member(&f, 4, 1, false);
    enum { LAST = 1000 };
    for (uint32_t i = 2; i <= LAST; i++) {
        tell_member(&f, PEER, i, true);
    }
    next_is(&f, FL_NOTICE_PEER_LEFT, 4, 1);
    next_is(&f, FL_NOTICE_PEER_LEFT, PEER, 1);
    FlNotice notice;
    uint32_t last = 1;
    int32_t told = 0;
    while (fl_notice_take(f.session, &notice) == FL_OK) {
        bool joined = told++ % 2 == 0; // by turns, each the same as joined before
        assert_int_equal(notice.kind, joined ? FL_NOTICE_PEER_JOINED : FL_NOTICE_PEER_LEFT);
        assert_true(joined ? notice.peer.generation > last : notice.peer.generation == last);
        last = notice.peer.generation;
    }
    assert_int_equal(last, LAST);
    assert_int_equal((uint64_t)told + count_of(&f, FL_SESSION_NOTICES_LOST), 2 * (LAST - 1) - 1);
    close_all(&f);
}

// A game that believes what it is told, and looks when it likes.
typedef struct Picture {
    bool peer[17];
    FlEntityId thing[4]; // by number; {0}: not there
    uint32_t owner[4];
} Picture;

static void look(const Fixture *f, Picture *p)
{
    FlNotice notice;
    while (fl_notice_take(f->session, &notice) == FL_OK) {
        uint32_t who = notice.peer.index1;
        int32_t known = -1;
        for (int32_t i = 0; i < 4; i++) {
            known = notice.entity.index1 != 0 && p->thing[i].index1 == notice.entity.index1 &&
                            p->thing[i].generation == notice.entity.generation
                        ? i
                        : known;
        }
        FlEntityStatus status;
        switch (notice.kind) {
        case FL_NOTICE_PEER_JOINED:
            assert_false(p->peer[who - 1]);
            p->peer[who - 1] = true;
            break;
        case FL_NOTICE_PEER_LEFT:
            assert_true(p->peer[who - 1]);
            p->peer[who - 1] = false;
            break;
        case FL_NOTICE_ENTITY_NEW:
            assert_int_equal(fl_entity_status(f->session, notice.entity, &status), FL_OK);
            assert_int_equal(p->thing[status.number].index1, 0); // the one before is gone
            p->thing[status.number] = notice.entity;
            p->owner[status.number] = who;
            break;
        case FL_NOTICE_ENTITY_GONE:
            assert_true(known >= 0);
            p->thing[known].index1 = 0;
            break;
        default:
            assert_true(known >= 0);
            p->owner[known] = who;
            break;
        }
    }
}

static void compare(const Fixture *f, const Picture *p)
{
    for (int32_t i = 3; i < 17; i++) {
        assert_int_equal(p->peer[i], fl_peer_of_number(f->session, i).index1 != 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        FlEntityId id = fl_entity_of_number(f->session, i);
        assert_memory_equal(&id.index1, &p->thing[i].index1, sizeof id.index1);
        FlEntityStatus status;
        bool owned = fl_entity_status(f->session, id, &status) == FL_OK &&
                     !inside_is_orphan(f->session, id); // else the host's word is missing
        if (owned) {
            assert_int_equal(status.owner.index1, p->owner[i]);
        }
    }
}

static void one_change(Fixture *f, FlRandom *random, uint32_t incarnation[17], uint16_t epoch[4])
{
    uint16_t thing = (uint16_t)fl_random_below(random, 4);
    uint16_t peer = (uint16_t)(3 + fl_random_below(random, 3));
    bool there = fl_peer_of_number(f->session, peer).index1 != 0;
    bool live = fl_entity_of_number(f->session, thing).index1 != 0;
    uint16_t version = (uint16_t)fl_random_below(random, 1000);
    switch (fl_random_below(random, 4)) {
    case 0:
        incarnation[peer] += there ? 0 : 1;
        tell_member(f, peer, incarnation[peer], !there);
        break;
    case 1:
        if (live) {
            tell_end(f, thing, epoch[thing]);
        } else {
            epoch[thing]++;
            tell_entity(f, thing, epoch[thing], epoch[thing], there ? peer : 0);
        }
        break;
    case 2:
        if (live && there) { // another owner; it was born whenever
            FlEntityId id = fl_entity_of_number(f->session, thing);
            tell_entity(f, thing, ++epoch[thing], inside_born(f->session, id), peer);
        }
        break;
    default:
        if (live) {
            tell_states(f, thing, (uint8_t)epoch[thing], 5, &version);
        }
    }
}

static void a_game_that_looks_rarely_knows_what_is(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        Fixture f;
        FlRandom random = {.seed = seed};
        Picture picture = {0};
        uint32_t incarnation[17] = {0};
        uint16_t epoch[4] = {0};
        open_quiet(&f);
        for (int32_t round = 0; round < 30; round++) {
            int32_t changes = (int32_t)fl_random_below(&random, 40);
            for (int32_t i = 0; i < changes; i++) {
                one_change(&f, &random, incarnation, epoch);
            }
            look(&f, &picture);
            compare(&f, &picture);
        }
        assert_int_equal(count_of(&f, FL_SESSION_MALFORMED), 0);
        assert_int_equal(count_of(&f, FL_SESSION_NOTICES_LOST), 0);
        close_all(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_states_hide_nobodys_leaving),
        cmocka_unit_test(who_takes_a_number_anew_comes_after_who_had_it),
        cmocka_unit_test(an_owner_who_has_its_predecessors_number_is_told),
        cmocka_unit_test(thousands_who_come_and_go_hide_nobody_who_stays),
        cmocka_unit_test(a_game_that_looks_rarely_knows_what_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
