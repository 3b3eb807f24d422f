// What went out and what became of it: src/link/sent.c.
#include "support.h"

#include "link/private.h"

// ---------------------------------------------------------------- round trips

static void round_trips_are_smoothed_as_tcp_does(void **state)
{
    (void)state;
    RoundTrips trips = {0};
    fl__trips_add(&trips, FL_MS(100));
    assert_true(trips.known);
    assert_int_equal(trips.average_ns, FL_MS(100));
    assert_int_equal(trips.deviation_ns, FL_MS(50));
    fl__trips_add(&trips, FL_MS(180));
    assert_int_equal(trips.average_ns, FL_MS(110));
    assert_int_equal(trips.deviation_ns, FL_MS(50) + FL_MS(30) / 4);
    fl__trips_add(&trips, -FL_US(100)); // rounding of stamps
    assert_int_equal(trips.min_ns, 0);
}

static void percentiles_are_off_by_a_few_percent_at_most(void **state)
{
    (void)state;
    FlRandom random = random_stream(301);
    RoundTrips trips = {0};
    assert_int_equal(fl__trips_percentile(&trips, 0.95), 0);
    for (double scale = 1.0; scale < 4000.0; scale *= 3.1) {
        memset(&trips, 0, sizeof trips);
        for (int32_t i = 0; i < 900; i++) {
            fl__trips_add(&trips, (FlTime)(1e6 * scale * (1.0 + (i * 7 % 900) / 900.0)));
        }
        double p50 = (double)fl__trips_percentile(&trips, 0.50) / 1e6 / scale;
        double p95 = (double)fl__trips_percentile(&trips, 0.95) / 1e6 / scale;
        check_near(p50, 1.50, 0.05);
        check_near(p95, 1.95, 0.07);
    }
    // Any trip is counted, and old ones are forgotten.
    memset(&trips, 0, sizeof trips);
    for (int32_t i = 0; i < 5000; i++) {
        fl__trips_add(&trips, random_span(&random, 0.0, 18.9));
    }
    for (int32_t i = 0; i < 5000; i++) {
        fl__trips_add(&trips, FL_MS(20));
    }
    check_near((double)fl__trips_percentile(&trips, 0.95), 20e6, 2e6);
}

// ---------------------------------------------------------------- fates

enum { CAPACITY = 16 };

typedef struct Case {
    Outbox outbox;
    Sent ring[CAPACITY];
    SentKey keys[2 * CAPACITY];
    FlFateEvent fates[2 * CAPACITY];
} Case;

static void case_init(Case *c)
{
    memset(c, 0, sizeof *c);
    c->outbox.ring = c->ring;
    c->outbox.keys = c->keys;
    c->outbox.fates = c->fates;
    c->outbox.capacity = CAPACITY;
    c->outbox.reported = -1;
}

/// Packet `next`, tagged with its sequence.
static void add(Case *c)
{
    assert_true(fl__outbox_has_room(&c->outbox));
    int64_t next = c->outbox.next;
    Sent *sent = fl__outbox_add(&c->outbox, (uint64_t)next, next * 10, 50);
    assert_true(sent == NULL || (sent->carried.mask == 0 && sent->fragment_count == 0));
}

static void expect_fate(Case *c, uint64_t tag, FlPacketFate fate)
{
    assert_true(c->outbox.fate_first < c->outbox.fate_next);
    const FlFateEvent *event = &c->fates[c->outbox.fate_first++ % (2 * CAPACITY)];
    assert_int_equal(event->tag, tag);
    assert_int_equal(event->fate, fate);
    assert_int_equal(event->sent, (int64_t)tag * 10);
    assert_int_equal(event->bytes, 50);
}

static void expect_no_fate(const Case *c)
{
    assert_int_equal(c->outbox.fate_first, c->outbox.fate_next);
}

static void a_packet_is_delivered_or_lost_once_settled_and_told_once(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int32_t i = 0; i < 6; i++) {
        add(&c);
    }
    Sent *third = fl__outbox_find(&c.outbox, 3);
    assert_non_null(third);
    fl__outbox_decide(&c.outbox, third, FL_FATE_DELIVERED, 777);
    assert_int_equal(c.fates[0].arrived_remote, 777);
    expect_fate(&c, 3, FL_FATE_DELIVERED);
    assert_null(fl__outbox_find(&c.outbox, 3));
    assert_null(fl__outbox_find(&c.outbox, 6));
    assert_int_equal(c.outbox.undecided, 0);
    fl__outbox_settle(&c.outbox, 0);
    expect_no_fate(&c);
    fl__outbox_settle(&c.outbox, 5);
    expect_fate(&c, 0, FL_FATE_LOST);
    expect_fate(&c, 1, FL_FATE_LOST);
    expect_fate(&c, 2, FL_FATE_LOST);
    expect_fate(&c, 4, FL_FATE_LOST);
    expect_no_fate(&c);
    assert_int_equal(c.outbox.undecided, 5);
    fl__outbox_settle(&c.outbox, 5);
    fl__outbox_settle(&c.outbox, 2); // older news
    expect_no_fate(&c);
    fl__outbox_abandon(&c.outbox);
    expect_fate(&c, 5, FL_FATE_UNKNOWN);
    expect_no_fate(&c);
    assert_int_equal(c.outbox.delivered, 1);
    assert_int_equal(c.outbox.lost, 4);
    assert_int_equal(c.outbox.unknown, 1);
    assert_int_equal(c.outbox.undecided_count, 0);
    assert_int_equal(c.outbox.undecided, c.outbox.next);
    // Settled beyond everything: no harm.
    fl__outbox_settle(&c.outbox, 1000);
    expect_no_fate(&c);
}

static void a_packet_without_a_place_is_unknown_at_once_and_the_old_ones_stay(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int32_t i = 0; i < CAPACITY; i++) {
        assert_int_equal(fl__outbox_crowded(&c.outbox), i >= CAPACITY / 4 * 3);
        add(&c);
    }
    expect_no_fate(&c);
    add(&c);
    add(&c);
    expect_fate(&c, CAPACITY, FL_FATE_UNKNOWN);
    expect_fate(&c, CAPACITY + 1, FL_FATE_UNKNOWN);
    assert_null(fl__outbox_find(&c.outbox, CAPACITY));
    for (int64_t s = 0; s < CAPACITY; s++) {
        assert_non_null(fl__outbox_find(&c.outbox, s));
    }
    fl__outbox_settle(&c.outbox, 4);
    for (uint64_t s = 0; s < 4; s++) {
        expect_fate(&c, s, FL_FATE_LOST);
    }
    add(&c); // 18 has the place of 2
    expect_no_fate(&c);
    assert_non_null(fl__outbox_find(&c.outbox, CAPACITY + 2));
    double loss = c.outbox.loss;
    assert_true(loss > 0.0);
    fl__outbox_abandon(&c.outbox);
    check_same(c.outbox.loss, loss); // what is unknown says nothing about the path
    for (uint64_t s = 4; s < CAPACITY; s++) {
        expect_fate(&c, s, FL_FATE_UNKNOWN);
    }
    expect_fate(&c, CAPACITY + 2, FL_FATE_UNKNOWN);
    expect_no_fate(&c);
}

static void fates_not_polled_stop_the_sender_and_none_is_lost(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    int32_t sent = 0;
    while (fl__outbox_has_room(&c.outbox)) {
        add(&c);
        sent++;
    }
    assert_int_equal(sent, 2 * CAPACITY);
    fl__outbox_abandon(&c.outbox);
    assert_int_equal(c.outbox.fate_next - c.outbox.fate_first, 2 * CAPACITY);
    for (int32_t i = 0; i < CAPACITY; i++) {
        expect_fate(&c, (uint64_t)(CAPACITY + i), FL_FATE_UNKNOWN);
    }
    assert_true(fl__outbox_has_room(&c.outbox));
}

static void nothing_is_awaited_for_longer_than_its_number_lasts(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    add(&c);
    for (int64_t s = 1; s <= SEQUENCE_SPAN; s++) {
        add(&c);
        // Everything else is reported, and told.
        Sent *sent = fl__outbox_find(&c.outbox, s);
        if (sent != NULL) {
            fl__outbox_decide(&c.outbox, sent, FL_FATE_DELIVERED, 0);
        }
        bool given_up = s == SEQUENCE_SPAN;
        assert_int_equal(fl__outbox_find(&c.outbox, 0) == NULL, given_up);
        if (given_up) {
            expect_fate(&c, 0, FL_FATE_UNKNOWN);
        }
        c.outbox.fate_first = c.outbox.fate_next;
    }
}

static void every_packet_has_one_fate_whatever_happens(void **state)
{
    (void)state;
    FlRandom random = random_stream(302);
    Case c;
    case_init(&c);
    enum { PACKETS = 20000 };
    static uint8_t told[PACKETS];
    memset(told, 0, sizeof told);
    int64_t settled = 0;
    while (c.outbox.next < PACKETS) {
        switch (fl_random_below(&random, 4)) {
        case 0:
        case 1:
            if (fl__outbox_has_room(&c.outbox)) {
                add(&c);
            }
            break;
        case 2: {
            int64_t s = c.outbox.next - 1 - (int64_t)fl_random_below(&random, 30);
            Sent *sent = s >= 0 ? fl__outbox_find(&c.outbox, s) : NULL;
            if (sent != NULL) {
                fl__outbox_decide(&c.outbox, sent, FL_FATE_DELIVERED, s);
            }
            break;
        }
        default:
            settled += (int64_t)fl_random_below(&random, 4);
            settled = settled < c.outbox.next ? settled : c.outbox.next;
            fl__outbox_settle(&c.outbox, settled);
            break;
        }
        int32_t undecided = 0;
        for (int32_t i = 0; i < CAPACITY; i++) {
            undecided += c.ring[i].undecided ? 1 : 0;
        }
        assert_int_equal(undecided, c.outbox.undecided_count);
        while (c.outbox.fate_first < c.outbox.fate_next && random_chance(&random, 2)) {
            assert_int_equal(told[c.fates[c.outbox.fate_first++ % (2 * CAPACITY)].tag]++, 0);
        }
    }
    fl__outbox_abandon(&c.outbox);
    while (c.outbox.fate_first < c.outbox.fate_next) {
        assert_int_equal(told[c.fates[c.outbox.fate_first++ % (2 * CAPACITY)].tag]++, 0);
    }
    for (int32_t i = 0; i < PACKETS; i++) {
        assert_int_equal(told[i], 1);
    }
    assert_int_equal(c.outbox.delivered + c.outbox.lost + c.outbox.unknown, PACKETS);
}

// ---------------------------------------------------------------- numbers with gaps

/// What is under way, kept in the plainest way: told[] by tag, numbers[] by tag.
typedef struct Ledger {
    int64_t numbers[20000];
    uint8_t told[20000];
    int32_t count;
} Ledger;

static void send_numbered(Case *c, Ledger *l, int64_t from)
{
    int64_t before = c->outbox.next;
    fl__outbox_skip_to(&c->outbox, from);
    assert_int_equal(c->outbox.next, from > before ? from : before);
    l->numbers[l->count] = c->outbox.next;
    (void)fl__outbox_add(&c->outbox, (uint64_t)l->count++, 0, 0);
}

static void check_against(Case *c, Ledger *l)
{
    int64_t oldest = c->outbox.next;
    for (; c->outbox.fate_first < c->outbox.fate_next; c->outbox.fate_first++) {
        assert_int_equal(l->told[c->fates[c->outbox.fate_first % (2 * CAPACITY)].tag]++, 0);
    }
    int32_t from = l->count > 200 ? l->count - 200 : 0; // nothing is undecided for longer here
    for (int32_t tag = l->count - 1; tag >= from; tag--) {
        const Sent *sent = fl__outbox_find(&c->outbox, l->numbers[tag]);
        assert_int_equal(sent == NULL, l->told[tag] != 0);
        assert_true(sent == NULL || sent->tag == (uint64_t)tag);
        oldest = sent != NULL ? l->numbers[tag] : oldest;
        bool gap = tag + 1 < l->count && l->numbers[tag] + 1 < l->numbers[tag + 1];
        assert_true(!gap || fl__outbox_find(&c->outbox, l->numbers[tag] + 1) == NULL);
    }
    assert_int_equal(c->outbox.undecided, oldest);
}

static void packets_are_found_by_number_whatever_the_carrier_skips(void **state)
{
    (void)state;
    static Ledger l;
    for (uint64_t seed = 0; seed < 20; seed++) {
        FlRandom random = random_stream(310 + seed);
        Case c;
        case_init(&c);
        memset(&l, 0, sizeof l);
        int64_t most = seed % 2 == 0 ? 3 : 100;
        fl__outbox_skip_to(&c.outbox, (int64_t)fl_random_below(&random, (uint64_t)1 << 61));
        assert_int_equal(c.outbox.reported, c.outbox.next - 1);
        while (l.count < CASES(2000)) {
            int64_t gap = (int64_t)fl_random_below(&random, (uint64_t)most);
            send_numbered(&c, &l, c.outbox.next + (random_chance(&random, 3) ? gap : -gap));
            int32_t decided = (int32_t)fl_random_below(&random, 3);
            for (int32_t i = 0; i < decided; i++) {
                int32_t back = 1 + (int32_t)fl_random_below(&random, 30);
                int32_t tag = l.count > back ? l.count - back : 0;
                Sent *sent = fl__outbox_find(&c.outbox, l.numbers[tag]);
                if (sent != NULL) {
                    fl__outbox_decide(&c.outbox, sent, FL_FATE_DELIVERED, 0);
                }
            }
            if (random_chance(&random, 9) && l.count > 60) {
                fl__outbox_settle(&c.outbox, l.numbers[l.count - 40]);
            }
            check_against(&c, &l);
        }
        fl__outbox_abandon(&c.outbox);
        check_against(&c, &l);
        assert_int_equal(c.outbox.delivered + c.outbox.lost + c.outbox.unknown, l.count);
    }
}

static void a_leap_leaves_nothing_undecided_that_could_be_mistaken(void **state)
{
    (void)state;
    Case c;
    case_init(&c);
    for (int32_t i = 0; i < 5; i++) {
        add(&c);
    }
    fl__outbox_skip_to(&c.outbox, SEQUENCE_SPAN + 2);
    assert_int_equal(fl__outbox_span(&c.outbox), 5); // packets, not numbers
    add(&c);
    expect_fate(&c, 0, FL_FATE_UNKNOWN);
    expect_fate(&c, 1, FL_FATE_UNKNOWN);
    expect_fate(&c, 2, FL_FATE_UNKNOWN);
    expect_no_fate(&c);
    assert_int_equal(c.outbox.undecided, 3);
    assert_int_equal(c.outbox.reported, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips_are_smoothed_as_tcp_does),
        cmocka_unit_test(percentiles_are_off_by_a_few_percent_at_most),
        cmocka_unit_test(a_packet_is_delivered_or_lost_once_settled_and_told_once),
        cmocka_unit_test(a_packet_without_a_place_is_unknown_at_once_and_the_old_ones_stay),
        cmocka_unit_test(fates_not_polled_stop_the_sender_and_none_is_lost),
        cmocka_unit_test(nothing_is_awaited_for_longer_than_its_number_lasts),
        cmocka_unit_test(every_packet_has_one_fate_whatever_happens),
        cmocka_unit_test(packets_are_found_by_number_whatever_the_carrier_skips),
        cmocka_unit_test(a_leap_leaves_nothing_undecided_that_could_be_mistaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
