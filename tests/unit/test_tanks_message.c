// Events as bytes: round trips, every truncation, and bytes that nobody wrote. Status as fields.
#include "support.h"

#include "fairlead/session.h"
#include "tanks/tanks.h"

static TanksEvent random_event(FlRandom *r)
{
    TanksEvent event = {0};
    event.kind = (TanksEventKind)(1 + fl_random_below(r, 3));
    event.tank = (int32_t)fl_random_below(r, TANKS_CAPACITY);
    event.shot = (uint32_t)fl_random_next(r);
    event.time = (FlTime)(fl_random_next(r) >> (1 + fl_random_below(r, 60)));
    event.x = fl_random_between(r, -8000.0, 8000.0);
    event.y = fl_random_between(r, -8000.0, 8000.0);
    if (event.kind == TANKS_EVENT_SHOT) {
        event.yaw = fl_random_between(r, -FL_PI, FL_PI);
    } else {
        uint64_t ahead = 1 + fl_random_below(r, TANKS_CAPACITY - 1);
        event.victim = (int32_t)(((uint64_t)event.tank + ahead) % TANKS_CAPACITY);
        event.life = (uint32_t)fl_random_next(r);
    }
    return event;
}

static void check_same_event(const TanksEvent *a, const TanksEvent *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->tank, b->tank);
    assert_int_equal(a->shot, b->shot);
    assert_true(a->time == b->time);
    assert_true(a->x == b->x && a->y == b->y && a->yaw == b->yaw);
    assert_int_equal(a->victim, b->victim);
    assert_int_equal(a->life, b->life);
}

static bool is_empty(const TanksEvent *event)
{
    TanksEvent none;
    memset(&none, 0, sizeof none);
    return memcmp(event, &none, sizeof none) == 0;
}

static void an_event_arrives_as_it_was_rounded_and_no_beginning_of_it_does(void **state)
{
    (void)state;
    FlRandom r = random_stream(9300);
    for (int32_t n = 0; n < CASES(20000); n++) {
        TanksEvent event = random_event(&r);
        uint8_t bytes[TANKS_EVENT_BYTES_MAX];
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        assert_true(tanks_event_encode(&writer, &event));
        int32_t size = fl_writer_size(&writer);
        assert_int_equal(size, event.kind == TANKS_EVENT_SHOT ? 22 : 25);
        TanksEvent rounded = event;
        tanks_event_round(&rounded);
        assert_true(fabs(rounded.x - event.x) <= 0.5 / 1024.0);
        assert_true(fabs(fl_angle_wrap(rounded.yaw - event.yaw)) <= FL_PI / 65536.0 + 1e-12);
        TanksEvent got;
        for (int32_t cut = 0; cut <= size; cut++) {
            uint8_t *exact = malloc((size_t)cut + 1); // a sanitizer sees the first byte too many
            memcpy(exact, bytes, (size_t)cut);
            FlReader reader;
            fl_reader_init(&reader, exact, cut);
            assert_int_equal(tanks_event_decode(&reader, &got), cut == size);
            assert_int_equal(reader.failed, cut != size);
            assert_true(cut == size || is_empty(&got));
            free(exact);
        }
        check_same_event(&got, &rounded);
        tanks_event_round(&rounded);
        check_same_event(&got, &rounded); // rounding twice changes nothing
    }
}

static void whatever_decodes_encodes_to_the_same_bytes(void **state)
{
    (void)state;
    FlRandom r = random_stream(9301);
    int32_t taken = 0;
    for (int32_t n = 0; n < CASES(200000); n++) {
        uint8_t bytes[TANKS_EVENT_BYTES_MAX + 2], again[TANKS_EVENT_BYTES_MAX];
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)fl_random_next(&r);
        }
        if (!random_chance(&r, 4)) {
            bytes[0] = (uint8_t)fl_random_below(&r, 5); // or hardly any would get past the kind
        }
        FlReader reader;
        fl_reader_init(&reader, bytes, (int32_t)fl_random_below(&r, sizeof bytes + 1));
        TanksEvent event;
        if (!tanks_event_decode(&reader, &event)) {
            assert_true(reader.failed && is_empty(&event));
            continue;
        }
        taken++;
        FlWriter writer;
        fl_writer_init(&writer, again, sizeof again);
        assert_true(tanks_event_encode(&writer, &event));
        assert_int_equal(fl_writer_size(&writer), reader.bit_count / 8);
        assert_memory_equal(again, bytes, (size_t)fl_writer_size(&writer));
    }
    assert_true(taken > CASES(200000) / 100);
}

static void what_is_no_event_is_not_written(void **state)
{
    (void)state;
    FlRandom r = random_stream(9302);
    uint8_t bytes[TANKS_EVENT_BYTES_MAX];
    for (int32_t n = 0; n < 13; n++) {
        TanksEvent event = random_event(&r);
        event.kind = n < 6 ? TANKS_EVENT_SHOT : TANKS_EVENT_KILL;
        event.victim = (event.tank + 1) % TANKS_CAPACITY;
        FlWriter writer;
        fl_writer_init(&writer, bytes, sizeof bytes);
        assert_true(tanks_event_encode(&writer, &event));
        event.yaw = n == 0 ? (double)NAN : event.yaw;
        event.x = n == 1 ? (double)INFINITY : n == 2 ? 8001.0 : n == 6 ? (double)NAN : event.x;
        event.time = n == 3 ? -1 : event.time;
        event.tank = n == 4 ? -1 : n == 5 ? TANKS_CAPACITY : event.tank;
        event.y = n == 7 ? -8001.0 : event.y;
        event.victim = n == 8 ? event.tank : n == 9 ? -1 : n == 10 ? TANKS_CAPACITY : event.victim;
        event.kind = n == 11 ? TANKS_EVENT_NONE : n == 12 ? (TanksEventKind)4 : event.kind;
        fl_writer_init(&writer, bytes, sizeof bytes);
        assert_false(tanks_event_encode(&writer, &event));
        assert_int_equal(writer.bit_count, 0);
    }
    TanksEvent event = random_event(&r);
    FlWriter writer;
    fl_writer_init(&writer, bytes, 21);
    assert_false(tanks_event_encode(&writer, &event)); // no room
}

static void a_status_is_what_its_fields_say(void **state)
{
    (void)state;
    FlRandom r = random_stream(9303);
    FlSession *session;
    FlSessionDef def = fl_session_def_default();
    def.role = FL_ROLE_HOST;
    assert_int_equal(fl_session_create(&def, 0, &session), FL_OK);
    assert_int_equal(tanks_kind_define(session), FL_OK);
    FlEntityDef tank = fl_entity_def_default();
    tank.kind = TANKS_KIND;
    FlEntityId id = fl_entity_create(session, &tank);
    TanksStatus got;
    assert_false(tanks_status_get(session, id, &got)); // nothing was told
    for (int32_t n = 0; n < CASES(20000); n++) {
        TanksStatus status = {0};
        status.life = (uint32_t)fl_random_next(&r) | 1u;
        status.shots = (uint32_t)fl_random_next(&r);
        status.kills = (uint16_t)fl_random_next(&r);
        status.deaths = (uint16_t)fl_random_next(&r);
        status.alive = random_chance(&r, 2);
        assert_int_equal(tanks_status_set(session, id, &status), FL_OK);
        assert_true(tanks_status_get(session, id, &got));
        assert_int_equal(got.life, status.life);
        assert_int_equal(got.shots, status.shots);
        assert_int_equal(got.kills, status.kills);
        assert_int_equal(got.deaths, status.deaths);
        assert_int_equal(got.alive, status.alive);
    }
    fl_session_close(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_arrives_as_it_was_rounded_and_no_beginning_of_it_does),
        cmocka_unit_test(whatever_decodes_encodes_to_the_same_bytes),
        cmocka_unit_test(what_is_no_event_is_not_written),
        cmocka_unit_test(a_status_is_what_its_fields_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
