// What came in and how it is told: src/link/arrivals.c, and ARRIVALS on the wire.
#include "support.h"

#include "link/private.h"

enum { CAPACITY = 64, BYTES = 160 };

typedef struct Case {
    Arrivals arrivals;
    Report storage[CAPACITY];
    FlLinkDef def;
} Case;

static void case_init(Case *c)
{
    memset(c, 0, sizeof *c);
    c->def = fl_link_def_default();
    fl__arrivals_init(&c->arrivals, c->storage, CAPACITY);
}

static void note(Case *c, int64_t sequence, FlTime arrived)
{
    Report report = {.sequence = sequence, .arrived = arrived, .owed = true, .insist = true};
    fl__arrivals_note(&c->arrivals, &c->def, &report);
}

/// One packet's reports: bytes written (0: none), as bytes and as read again by their subject.
typedef struct Told {
    uint8_t bytes[BYTES];
    int32_t size;
    Carried carried;
    ArrivalsMessage message;
} Told;

static Told tell(Case *c, FlTime now, FlTime repeat_ns, int64_t next_sequence)
{
    Told told;
    memset(&told, 0, sizeof told);
    FlWriter w;
    fl_writer_init(&w, told.bytes, BYTES);
    if (fl__arrivals_encode(&c->arrivals, &w, now, repeat_ns, false, &told.carried)) {
        fl_writer_align(&w);
        assert_false(w.failed);
        told.size = fl_writer_size(&w);
        FlReader r;
        fl_reader_init(&r, told.bytes, told.size);
        FlLinkDrop drop =
            fl__arrivals_decode(&r, next_sequence, now / FL_LINK_STEP_NS, &told.message);
        assert_int_equal(drop, FL_LINK_DROP_NONE);
        fl_reader_align(&r);
        assert_false(r.failed);
        assert_int_equal(fl_reader_left(&r), 0);
    }
    fl__arrivals_carried(&c->arrivals, &told.carried, now);
    return told;
}

static int32_t bit_count(uint64_t mask)
{
    int32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

// ---------------------------------------------------------------- the codec

/// Some packets, with gaps, reordered, at random times before *now; sequences and times may be
/// anywhere on their circles.
static int32_t note_at_random(Case *c, FlRandom *r, FlTime *now)
{
    int64_t base = (int64_t)fl_random_below(r, 4) * 65536 + 65500 - (int64_t)fl_random_below(r, 99);
    FlTime start = random_chance(r, 2) ? random_time(r, 0, FL_SEC(20))
                                       : FL_LINK_STEP_NS * ((FlTime)3 << 24) - FL_MS(100);
    FlTime spread = random_chance(r, 3) ? FL_SEC(20) : FL_MS(400);
    int32_t count = 1 + (int32_t)fl_random_below(r, CAPACITY);
    int64_t gap = random_chance(r, 4) ? 600 : 3;
    int64_t sequence = base;
    for (int32_t i = 0; i < count; i++) {
        sequence += 1 + (int64_t)fl_random_below(r, (uint64_t)gap);
        int64_t back = random_chance(r, 3) ? (int64_t)fl_random_below(r, 8) : 0;
        int64_t late = sequence - back;
        if (fl__arrivals_check(&c->arrivals, late) == FL_LINK_DROP_NONE) {
            Report report = {
                .sequence = late,
                .arrived = (start + random_time(r, 0, spread)) / FL_LINK_STEP_NS * FL_LINK_STEP_NS,
                .owed = random_chance(r, 2),
                .refused = random_chance(r, 8),
            };
            fl__arrivals_note(&c->arrivals, &c->def, &report);
        }
    }
    *now = start + spread;
    int32_t waiting = 0; // all but those too old for their numbers
    for (int64_t i = 0; i < c->arrivals.next_serial; i++) {
        waiting += c->storage[i].confirmed ? 0 : 1;
    }
    return waiting;
}

static const Report *report_of(const Case *c, int64_t sequence)
{
    for (int32_t i = 0; i < CAPACITY; i++) {
        if (i < c->arrivals.next_serial && c->storage[i].sequence == sequence) {
            return &c->storage[i];
        }
    }
    return NULL;
}

static void reports_come_out_as_they_went_in(void **state)
{
    (void)state;
    FlRandom random = random_stream(101);
    for (int32_t n = 0; n < CASES(3000); n++) {
        Case c;
        case_init(&c);
        FlTime now;
        int32_t count = note_at_random(&c, &random, &now);
        int32_t told_count = 0;
        int64_t next_sequence = c.arrivals.newest + 1 + (int64_t)fl_random_below(&random, 1000);
        for (int32_t packet = 0; told_count < count; packet++) {
            assert_true(packet < count); // every packet tells at least one
            Told told = tell(&c, now, FL_FOREVER, next_sequence);
            const ArrivalsMessage *m = &told.message;
            assert_true(told.size > 0);
            assert_int_equal(bit_count(told.carried.mask), m->count);
            for (int32_t i = 0; i < m->count; i++) {
                const Report *report = report_of(&c, m->sequence[i]);
                assert_non_null(report);
                assert_int_equal(report->arrived, m->arrived_steps[i] * FL_LINK_STEP_NS);
                assert_int_equal(report->refused, m->refused[i]);
                assert_int_equal(report->tries, 1);
                assert_true(m->settled <= m->sequence[i]);
            }
            told_count += m->count;
        }
        assert_int_equal(tell(&c, now, FL_FOREVER, next_sequence).size, 0);
        assert_int_equal(c.arrivals.ack_due, FL_FOREVER);
    }
}

static void every_truncation_is_short(void **state)
{
    (void)state;
    FlRandom random = random_stream(102);
    for (int32_t n = 0; n < CASES(300); n++) {
        Case c;
        case_init(&c);
        FlTime now;
        (void)note_at_random(&c, &random, &now);
        Told told = tell(&c, now, FL_FOREVER, c.arrivals.newest + 1);
        for (int32_t size = 0; size < told.size; size++) {
            uint8_t *exact = (uint8_t *)malloc((size_t)size + 1); // so that a sanitizer sees more
            assert_non_null(exact);
            memcpy(exact, told.bytes, (size_t)size);
            FlReader r;
            ArrivalsMessage m;
            fl_reader_init(&r, exact, size);
            assert_int_equal(
                fl__arrivals_decode(&r, c.arrivals.newest + 1, now / FL_LINK_STEP_NS, &m),
                FL_LINK_DROP_SHORT);
            free(exact);
        }
    }
}

/// Writes a message as the specification says, from nothing but its meaning.
static int32_t write_message(const ArrivalsMessage *m, uint8_t *bytes, int32_t *bits)
{
    FlWriter w;
    fl_writer_init(&w, bytes, BYTES);
    bool refusals = false;
    for (int32_t i = 0; i < m->count; i++) {
        refusals = refusals || m->refused[i];
    }
    fl_writer_put(&w, (uint64_t)m->sequence[0] & 0xffffu, 16);
    fl_writer_put(&w, (uint64_t)m->settled & 0xffffu, 16);
    fl_writer_put(&w, (uint64_t)m->count, 5);
    fl_writer_put(&w, refusals, 1);
    fl_writer_put(&w, (uint64_t)m->arrived_steps[0] & 0xffffffu, 24);
    for (int32_t i = 0; i < m->count; i++) {
        if (i > 0) {
            int64_t back = m->sequence[i - 1] - m->sequence[i];
            fl_writer_put(&w, back > 1, 1);
            fl_writer_put(&w, back > 1 ? (uint64_t)back - 2 : 0, back > 1 ? 8 : 0);
            int64_t change = m->arrived_steps[i - 1] - m->arrived_steps[i];
            uint64_t code = change < 0 ? (uint64_t)(-2 * change - 1) : (uint64_t)(2 * change);
            fl_writer_put(&w, code > 255, 1);
            fl_writer_put(&w, code, code > 255 ? 16 : 8);
        }
        fl_writer_put(&w, m->refused[i], refusals ? 1 : 0);
    }
    *bits = w.bit_count;
    fl_writer_align(&w);
    assert_false(w.failed);
    return fl_writer_size(&w);
}

static void what_is_accepted_has_one_encoding_and_makes_sense(void **state)
{
    (void)state;
    FlRandom random = random_stream(103);
    int32_t accepted = 0;
    int32_t drops[FL_LINK_DROPS] = {0};
    for (int32_t n = 0; n < CASES(300000); n++) {
        int64_t next = (int64_t)fl_random_below(&random, 200000);
        int64_t stamp = (int64_t)fl_random_below(&random, (uint64_t)1 << 26);
        uint8_t bytes[BYTES];
        for (int32_t i = 0; i < BYTES; i++) {
            bytes[i] = (uint8_t)fl_random_next(&random);
        }
        // Mostly near the truth, or nothing would ever be accepted.
        uint64_t newest = (uint64_t)(next - (int64_t)fl_random_below(&random, 40));
        uint64_t settled = newest - fl_random_below(&random, 400);
        uint64_t arrived = (uint64_t)(stamp - (int64_t)fl_random_below(&random, 4000));
        FlWriter w;
        fl_writer_init(&w, bytes, BYTES);
        fl_writer_put(&w, newest & 0xffffu, 16);
        fl_writer_put(&w, settled & 0xffffu, 16);
        fl_writer_put(&w, fl_random_below(&random, 6), 5);
        fl_writer_put(&w, random_chance(&random, 4), 1);
        fl_writer_put(&w, arrived & 0xffffffu, 24);
        bytes[8] = (uint8_t)fl_random_next(&random);
        FlReader r;
        fl_reader_init(&r, bytes, BYTES);
        ArrivalsMessage m;
        memset(&m, 0, sizeof m);
        FlLinkDrop drop = fl__arrivals_decode(&r, next, stamp, &m);
        drops[drop]++;
        if (drop != FL_LINK_DROP_NONE) {
            continue;
        }
        accepted++;
        assert_true(m.count >= 1 && m.sequence[0] < next && m.settled >= 0);
        for (int32_t i = 0; i < m.count; i++) {
            assert_true(m.settled <= m.sequence[i]);
            assert_true(m.arrived_steps[i] >= 0 && m.arrived_steps[i] <= stamp);
        }
        uint8_t again[BYTES];
        int32_t bits;
        (void)write_message(&m, again, &bits);
        assert_int_equal(bits, r.bit_count);
        FlReader r1;
        FlReader r2;
        fl_reader_init(&r1, bytes, BYTES);
        fl_reader_init(&r2, again, BYTES);
        for (int32_t i = 0; i < bits; i++) {
            assert_int_equal(fl_reader_take(&r1, 1), fl_reader_take(&r2, 1));
        }
    }
    assert_true(accepted > CASES(300000) / 20);
    assert_true(drops[FL_LINK_DROP_MALFORMED] > 0 && drops[FL_LINK_DROP_UNSENT] > 0);
}

static FlLinkDrop read_back(const ArrivalsMessage *m, int64_t next, int64_t stamp)
{
    uint8_t bytes[BYTES];
    int32_t bits;
    int32_t size = write_message(m, bytes, &bits);
    FlReader r;
    fl_reader_init(&r, bytes, size);
    ArrivalsMessage got;
    return fl__arrivals_decode(&r, next, stamp, &got);
}

static void what_no_sender_says_is_refused_with_its_reason(void **state)
{
    (void)state;
    ArrivalsMessage good = {
        .count = 3,
        .settled = 90,
        .sequence = {100, 99, 90},
        .arrived_steps = {5000, 4990, 5010},
    };
    assert_int_equal(read_back(&good, 101, 5010), FL_LINK_DROP_NONE);
    assert_int_equal(read_back(&good, 100, 5010), FL_LINK_DROP_UNSENT);
    assert_int_equal(read_back(&good, 101, 5009), FL_LINK_DROP_MALFORMED); // after the stamp
    ArrivalsMessage bad = good;
    bad.settled = 91; // something is said about 90, so nothing is settled beyond
    assert_int_equal(read_back(&bad, 101, 5010), FL_LINK_DROP_MALFORMED);
    bad = good;
    bad.count = 0;
    assert_int_equal(read_back(&bad, 101, 5010), FL_LINK_DROP_MALFORMED);
    bad = good;
    bad.settled = -1;
    assert_int_equal(read_back(&bad, 101, 5010), FL_LINK_DROP_MALFORMED);
    bad = good;
    bad.sequence[2] = -3; // before the first packet
    bad.settled = -3;
    assert_int_equal(read_back(&bad, 101, 5010), FL_LINK_DROP_MALFORMED);
    bad = good;
    bad.arrived_steps[0] = 20;
    bad.arrived_steps[1] = -1; // before the clock began
    bad.arrived_steps[2] = 5;
    assert_int_equal(read_back(&bad, 101, 5010), FL_LINK_DROP_MALFORMED);
}

static void a_long_change_where_a_short_one_does_is_refused(void **state)
{
    (void)state;
    for (int32_t wide = 0; wide < 2; wide++) {
        for (uint64_t change = 250; change < 262; change++) {
            uint8_t bytes[BYTES] = {0};
            FlWriter w;
            fl_writer_init(&w, bytes, BYTES);
            fl_writer_put(&w, 10, 16);
            fl_writer_put(&w, 9, 16);
            fl_writer_put(&w, 2, 5);
            fl_writer_put(&w, 0, 1);
            fl_writer_put(&w, 5000, 24);
            fl_writer_put(&w, 0, 1);
            fl_writer_put(&w, (uint64_t)wide, 1);
            fl_writer_put(&w, wide != 0 ? change : change & 0xffu, wide != 0 ? 16 : 8);
            FlReader r;
            fl_reader_init(&r, bytes, BYTES);
            ArrivalsMessage m;
            FlLinkDrop want =
                wide != 0 && change < 256 ? FL_LINK_DROP_MALFORMED : FL_LINK_DROP_NONE;
            assert_int_equal(fl__arrivals_decode(&r, 11, 6000, &m), want);
        }
    }
}

static void a_refusal_bit_for_nothing_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[BYTES] = {0};
    for (uint64_t refused = 0; refused < 2; refused++) {
        FlWriter w;
        fl_writer_init(&w, bytes, BYTES);
        fl_writer_put(&w, 10, 16);
        fl_writer_put(&w, 10, 16);
        fl_writer_put(&w, 1, 5);
        fl_writer_put(&w, 1, 1);
        fl_writer_put(&w, 5000, 24);
        fl_writer_put(&w, refused, 1);
        FlReader r;
        fl_reader_init(&r, bytes, BYTES);
        ArrivalsMessage m;
        assert_int_equal(fl__arrivals_decode(&r, 11, 6000, &m),
                         refused != 0 ? FL_LINK_DROP_NONE : FL_LINK_DROP_MALFORMED);
    }
}

static void times_come_round_and_are_the_last_before_the_stamp(void **state)
{
    (void)state;
    int64_t circle = (int64_t)1 << 24;
    int64_t stamps[] = {0, 1, circle - 1, circle, circle + 1, 5 * circle + 77};
    for (int32_t k = 0; k < 6; k++) {
        for (int64_t back = 0; back < 3 * circle; back += circle / 3) {
            int64_t arrived = stamps[k] - back;
            ArrivalsMessage m = {.count = 1, .sequence = {7}, .arrived_steps = {arrived}};
            uint8_t bytes[BYTES];
            int32_t bits;
            int32_t size = write_message(&m, bytes, &bits);
            FlReader r;
            fl_reader_init(&r, bytes, size);
            ArrivalsMessage got;
            FlLinkDrop drop = fl__arrivals_decode(&r, 8, stamps[k], &got);
            int64_t want = stamps[k] - back % circle;
            assert_int_equal(drop, want < 0 ? FL_LINK_DROP_MALFORMED : FL_LINK_DROP_NONE);
            assert_true(want < 0 || got.arrived_steps[0] == want);
        }
    }
}

// ---------------------------------------------------------------- what is taken

static void packets_are_taken_once_and_not_after_they_were_given_up(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    const Arrivals *a = &c.arrivals;
    assert_int_equal(fl__arrivals_check(a, -1), FL_LINK_DROP_MALFORMED);
    assert_int_equal(fl__arrivals_check(a, INT64_MAX), FL_LINK_DROP_MALFORMED);
    assert_int_equal(fl__arrivals_check(a, 0), FL_LINK_DROP_NONE);
    note(&c, 5, 0);
    assert_int_equal(fl__arrivals_check(a, 5), FL_LINK_DROP_DUPLICATE);
    assert_int_equal(fl__arrivals_check(a, 4), FL_LINK_DROP_NONE);
    // 5 came at 0: the checkpoint that says so ripens a second after it was made.
    fl__arrivals_settle(&c.arrivals, &c.def, FL_MS(1));
    fl__arrivals_settle(&c.arrivals, &c.def, FL_SEC(1));
    assert_int_equal(fl__arrivals_check(a, 4), FL_LINK_DROP_NONE);
    fl__arrivals_settle(&c.arrivals, &c.def, FL_SEC(1) + FL_MS(1));
    assert_int_equal(fl__arrivals_check(a, 4), FL_LINK_DROP_LATE);
    assert_int_equal(fl__arrivals_check(a, 5), FL_LINK_DROP_DUPLICATE);
    assert_int_equal(fl__arrivals_check(a, 6), FL_LINK_DROP_NONE);
    // Overtaken by a whole window.
    note(&c, 5 + IN_WINDOW + 1, FL_SEC(2));
    assert_int_equal(fl__arrivals_check(a, 6), FL_LINK_DROP_LATE);
    assert_int_equal(fl__arrivals_check(a, 7), FL_LINK_DROP_NONE);
    assert_int_equal(fl__arrivals_check(a, 5 + IN_WINDOW + 1), FL_LINK_DROP_DUPLICATE);
}

static void the_horizon_follows_every_packet_a_second_later_and_never_earlier(void **state)
{
    (void)state;
    FlRandom random = random_stream(104);
    for (int32_t n = 0; n < CASES(200); n++) {
        Case c;
        case_init(&c);
        c.def.reorder_ns = random_time(&random, FL_MS(10), FL_SEC(2));
        enum { PACKETS = 400 };
        FlTime arrived[PACKETS];
        FlTime now = 0;
        int64_t sequence = 0;
        for (int32_t i = 0; i < PACKETS; i++) {
            now += (FlTime)fl_random_below(&random, (uint64_t)FL_MS(40));
            bool lost = random_chance(&random, 3);
            arrived[sequence] = lost ? FL_FOREVER : now;
            if (!lost) {
                note(&c, sequence, now);
                fl__arrivals_confirmed(&c.arrivals, &(Carried){c.arrivals.next_serial - 1, 1, 0});
            }
            sequence++;
            fl__arrivals_settle(&c.arrivals, &c.def, now);
            // Everything up to the horizon was overtaken by one that came at least reorder ago,
            int64_t horizon = c.arrivals.horizon;
            assert_true(horizon < 0 || arrived[horizon] <= now - c.def.reorder_ns);
            // and what was overtaken by half as much again is beyond doubt.
            for (int64_t s = horizon + 1; s < sequence; s++) {
                assert_true(arrived[s] == FL_FOREVER ||
                            arrived[s] > now - c.def.reorder_ns / 2 * 3 - FL_MS(80));
            }
        }
    }
}

static void settled_waits_for_every_report_that_is_not_confirmed(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    note(&c, 3, FL_MS(1));
    note(&c, 7, FL_MS(2));
    fl__arrivals_settle(&c.arrivals, &c.def, FL_MS(3));
    Told first = tell(&c, FL_MS(3), FL_MS(100), 20);
    assert_int_equal(first.message.settled, 0); // 0 to 2 may still come
    fl__arrivals_settle(&c.arrivals, &c.def, FL_SEC(2));
    note(&c, 9, FL_SEC(2));
    Told second = tell(&c, FL_SEC(2), FL_SEC(10), 20);
    assert_int_equal(second.message.count, 1);
    assert_int_equal(second.message.settled, 3); // not confirmed yet
    fl__arrivals_confirmed(&c.arrivals, &first.carried);
    note(&c, 10, FL_SEC(2));
    Told third = tell(&c, FL_SEC(2), FL_SEC(10), 20);
    assert_int_equal(third.message.count, 1);
    assert_int_equal(third.message.settled, 8); // 8 may still come
    fl__arrivals_confirmed(&c.arrivals, &second.carried);
    fl__arrivals_confirmed(&c.arrivals, &third.carried);
    assert_int_equal(c.arrivals.first_serial, c.arrivals.next_serial);
}

static void loss_counts_what_never_came_even_across_a_leap(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int64_t s = 0; s < 3000; s++) {
        note(&c, s, 0);
        fl__arrivals_confirmed(&c.arrivals, &(Carried){c.arrivals.next_serial - 1, 1, 0});
    }
    assert_true(c.arrivals.loss == 0.0);
    // 1500 are missing; the ring's old bits must not pass for them.
    note(&c, 3000 + 1500, 0);
    assert_true(c.arrivals.loss > 0.999);
    // A carrier's numbers may leap by billions, in no time.
    double before = processor_seconds();
    c.arrivals.loss = 0.0;
    note(&c, INT64_MAX / 2, 0);
    assert_true(c.arrivals.loss > 0.999);
    assert_true(processor_seconds() - before < 0.1);
    assert_int_equal(c.arrivals.horizon, INT64_MAX / 2 - IN_WINDOW);
}

static void confirm_last(Case *c)
{
    fl__arrivals_confirmed(&c->arrivals, &(Carried){c->arrivals.next_serial - 1, 1, 0});
}

static void a_carriers_series_begins_where_it_likes_and_nothing_before_it_is_lost(void **state)
{
    (void)state;
    int64_t starts[] = {0, 1, 700, 1500, 3000, 5000000, (int64_t)1 << 60};
    for (int32_t i = 0; i < 7; i++) {
        Case c;
        case_init(&c);
        c.arrivals.has_gaps = true;
        note(&c, starts[i] + 3, 0); // the first ones were overtaken
        note(&c, starts[i], 0);
        Told told = tell(&c, 0, FL_SEC(1), starts[i] + 4);
        assert_int_equal(told.message.count, 2);
        assert_int_equal(told.message.sequence[0], starts[i] + 3);
        assert_int_equal(told.message.sequence[1], starts[i]);
        confirm_last(&c);
        for (int64_t s = 4; s < 3000; s++) {
            note(&c, starts[i] + s, 0);
            confirm_last(&c);
        }
        // Two are missing, long ago; of what was before them nobody knows anything.
        check_near(c.arrivals.loss, 0.0, 1e-9);
        assert_int_equal(c.arrivals.horizon, starts[i] + 2999 - IN_WINDOW);
    }
}

static void a_carriers_own_packets_are_not_missing(void **state)
{
    (void)state;
    Case told;
    Case untold;
    case_init(&told);
    case_init(&untold);
    told.arrivals.has_gaps = untold.arrivals.has_gaps = true;
    for (int64_t s = 1000; s < 6000; s += 2) {
        note(&told, s, 0);
        confirm_last(&told);
        fl__arrivals_skip(&told.arrivals, s + 1);
        fl__arrivals_skip(&told.arrivals, s + 1); // twice says no more
        note(&untold, s, 0);
        confirm_last(&untold);
    }
    assert_true(told.arrivals.loss == 0.0);
    check_near(untold.arrivals.loss, 0.5, 0.01);
    assert_int_equal(told.arrivals.first_serial, told.arrivals.next_serial);
    // A leap beyond the window is the carrier's doing.
    note(&told, 9000000, 0);
    assert_true(told.arrivals.loss == 0.0);
    // What cannot be is ignored.
    fl__arrivals_skip(&told.arrivals, -5);
    fl__arrivals_skip(&told.arrivals, INT64_MAX);
    fl__arrivals_skip(&told.arrivals, 17);
    assert_int_equal(told.arrivals.newest, 9000000);
}

// ---------------------------------------------------------------- what is told, and when

static void an_answer_waits_for_the_ack_delay_and_sixteen_do_not_wait(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_FOREVER);
    Report unasked = {.sequence = 0, .arrived = FL_MS(1)};
    fl__arrivals_note(&c.arrivals, &c.def, &unasked);
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_FOREVER);
    note(&c, 1, FL_MS(10));
    note(&c, 2, FL_MS(20));
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_MS(35));
    for (int64_t s = 3; s <= 16; s++) {
        assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_MS(35));
        note(&c, s, FL_MS(22));
    }
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_MS(22));
    Told told = tell(&c, FL_MS(22), FL_MS(100), 20);
    assert_int_equal(told.message.count, 17);
    assert_false(told.carried.repeats);
}

static void only_answers_about_something_are_repeated_unasked(void **state)
{
    (void)state;
    for (int32_t insist = 0; insist < 2; insist++) {
        Case c;
        case_init(&c);
        Report report = {.sequence = 0, .owed = true, .insist = insist != 0};
        fl__arrivals_note(&c.arrivals, &c.def, &report);
        FlTime now = FL_MS(25);
        FlTime last_wait = 0;
        for (int32_t tries = 1; tries <= 12; tries++) {
            Told told = tell(&c, now, FL_MS(100), 1);
            assert_int_equal(told.message.count, 1);
            assert_int_equal(told.carried.repeats, insist != 0 && tries > 1);
            FlTime due = fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1));
            if (insist == 0) {
                assert_int_equal(due, FL_FOREVER);
                now += FL_MS(100);
                continue;
            }
            FlTime wait = due - now;
            assert_true(wait >= last_wait && wait >= FL_MS(100) && wait <= FL_SEC(1));
            last_wait = wait;
            now = due;
        }
        assert_true(insist == 0 || last_wait == FL_SEC(1));
    }
}

static void a_report_rides_again_only_after_the_repeat_time(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    note(&c, 0, 0);
    assert_int_equal(tell(&c, FL_MS(10), FL_MS(100), 1).size, 8);
    assert_int_equal(tell(&c, FL_MS(109), FL_MS(100), 1).size, 0);
    assert_int_equal(tell(&c, FL_MS(110), FL_MS(100), 1).size, 8);
}

static void neighbours_too_far_apart_go_in_two_packets(void **state)
{
    (void)state;
    struct {
        int64_t gap;
        FlTime steps;
        int32_t first_count;
    } cases[] = {
        {1, 32767, 2}, {1, 32768, 1}, {1, -32768, 2}, {1, -32769, 1}, {257, 0, 2}, {258, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Case c;
        case_init(&c);
        FlTime arrived = FL_LINK_STEP_NS * 100000;
        note(&c, 10, arrived);
        note(&c, 10 + cases[i].gap, arrived + FL_LINK_STEP_NS * cases[i].steps);
        FlTime now = FL_SEC(100);
        assert_int_equal(tell(&c, now, FL_SEC(1), 300).message.count, cases[i].first_count);
        assert_int_equal(tell(&c, now, FL_SEC(1), 300).message.count, 2 - cases[i].first_count);
    }
}

// However far apart in sequence or time: the oldest is in the next packet, whatever else is due.
static void the_oldest_report_is_never_left_behind(void **state)
{
    (void)state;
    for (int32_t k = 0; k < 2; k++) {
        Case c;
        case_init(&c);
        FlTime now = FL_SEC(100);
        note(&c, 0, FL_SEC(80));
        for (int64_t i = 1; i < 20; i++) {
            // Each packet has fresh reports that do not fit together with the old one.
            note(&c, k == 0 ? i : 400 + i, k == 0 ? now : FL_SEC(80));
            Told told = tell(&c, now, FL_MS(100), 500);
            int64_t oldest = told.message.sequence[told.message.count - 1];
            assert_true(i > 1 || oldest == 0);
            now += FL_MS(60);
        }
        assert_true(c.storage[0].tries >= 5);
    }
}

static void a_packet_tells_at_most_31_of_the_oldest_and_spans_64_serials(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int64_t s = 0; s < CAPACITY; s++) {
        note(&c, s, FL_MS(s));
    }
    assert_true(fl__arrivals_full(&c.arrivals));
    Told told = tell(&c, FL_MS(100), FL_MS(100), CAPACITY);
    assert_int_equal(told.message.count, 31);
    assert_int_equal(told.message.sequence[30], 0);
    assert_int_equal(tell(&c, FL_MS(100), FL_MS(100), CAPACITY).message.count, 31);
    assert_int_equal(tell(&c, FL_MS(100), FL_MS(100), CAPACITY).message.count, 2);
    fl__arrivals_confirmed(&c.arrivals, &told.carried);
    assert_int_equal(c.arrivals.first_serial, 31);
    assert_false(fl__arrivals_full(&c.arrivals));
}

static void a_full_ring_presses_for_confirmation(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int64_t s = 0; s < CAPACITY; s++) {
        Report report = {.sequence = s};
        fl__arrivals_note(&c.arrivals, &c.def, &report);
    }
    for (int32_t i = 0; i < 3; i++) {
        (void)tell(&c, FL_MS(10), FL_MS(100), CAPACITY);
    }
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_MS(110));
    Told told = tell(&c, FL_MS(110), FL_MS(100), CAPACITY);
    assert_true(told.carried.repeats);
    fl__arrivals_confirmed(&c.arrivals, &told.carried);
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_FOREVER);
}

static void what_the_peer_does_not_wait_for_is_forgotten(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    note(&c, 4, 0);
    note(&c, 2, 0);
    note(&c, 9, 0);
    fl__arrivals_forget(&c.arrivals, 4);
    Told told = tell(&c, FL_MS(1), FL_MS(100), 10);
    assert_int_equal(told.message.count, 2);
    assert_int_equal(told.message.sequence[1], 4);
    fl__arrivals_forget(&c.arrivals, 10);
    assert_int_equal(c.arrivals.first_serial, 3);
    assert_int_equal(c.arrivals.fresh_count, 0);
    // Owed, not told yet, and not wanted any more: no packet for its sake.
    note(&c, 11, FL_MS(2));
    fl__arrivals_forget(&c.arrivals, 12);
    assert_int_equal(c.arrivals.fresh_count, 0);
    assert_int_equal(fl__arrivals_due(&c.arrivals, FL_MS(100), FL_SEC(1)), FL_FOREVER);
}

static void reports_too_old_for_their_numbers_are_forgotten(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    note(&c, 0, 0);
    note(&c, SEQUENCE_SPAN, 0);
    assert_int_equal(c.arrivals.first_serial, 0);
    note(&c, SEQUENCE_SPAN + 1, 0);
    assert_int_equal(c.arrivals.first_serial, 1);
}

// Between fl_link_begin and fl_link_finish reports may be confirmed, and their places reused.
static void reports_confirmed_while_a_packet_was_made_stay_confirmed(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    note(&c, 0, 0);
    uint8_t bytes[BYTES];
    FlWriter w;
    Carried carried;
    fl_writer_init(&w, bytes, BYTES);
    assert_true(fl__arrivals_encode(&c.arrivals, &w, FL_MS(1), FL_MS(100), false, &carried));
    fl__arrivals_forget(&c.arrivals, 1);
    for (int64_t s = 1; s <= CAPACITY; s++) {
        note(&c, s, 0);
    }
    fl__arrivals_carried(&c.arrivals, &carried, FL_MS(1));
    assert_int_equal(c.storage[0].tries, 0);
    assert_int_equal(c.arrivals.fresh_count, CAPACITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_come_out_as_they_went_in),
        cmocka_unit_test(every_truncation_is_short),
        cmocka_unit_test(what_is_accepted_has_one_encoding_and_makes_sense),
        cmocka_unit_test(what_no_sender_says_is_refused_with_its_reason),
        cmocka_unit_test(a_long_change_where_a_short_one_does_is_refused),
        cmocka_unit_test(a_refusal_bit_for_nothing_is_refused),
        cmocka_unit_test(times_come_round_and_are_the_last_before_the_stamp),
        cmocka_unit_test(packets_are_taken_once_and_not_after_they_were_given_up),
        cmocka_unit_test(the_horizon_follows_every_packet_a_second_later_and_never_earlier),
        cmocka_unit_test(settled_waits_for_every_report_that_is_not_confirmed),
        cmocka_unit_test(loss_counts_what_never_came_even_across_a_leap),
        cmocka_unit_test(a_carriers_series_begins_where_it_likes_and_nothing_before_it_is_lost),
        cmocka_unit_test(a_carriers_own_packets_are_not_missing),
        cmocka_unit_test(an_answer_waits_for_the_ack_delay_and_sixteen_do_not_wait),
        cmocka_unit_test(only_answers_about_something_are_repeated_unasked),
        cmocka_unit_test(a_report_rides_again_only_after_the_repeat_time),
        cmocka_unit_test(neighbours_too_far_apart_go_in_two_packets),
        cmocka_unit_test(the_oldest_report_is_never_left_behind),
        cmocka_unit_test(a_packet_tells_at_most_31_of_the_oldest_and_spans_64_serials),
        cmocka_unit_test(a_full_ring_presses_for_confirmation),
        cmocka_unit_test(what_the_peer_does_not_wait_for_is_forgotten),
        cmocka_unit_test(reports_too_old_for_their_numbers_are_forgotten),
        cmocka_unit_test(reports_confirmed_while_a_packet_was_made_stay_confirmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
