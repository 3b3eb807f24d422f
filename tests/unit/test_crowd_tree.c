// The tree of watchers, seen from one of them: who is sent on, and who is served meanwhile.
//
// We are player 1 of eight and watch player 2; light connections are opened by hand, and so are
// packets made.
#include "crowd_support.h"

enum { SELF = 1, IDOL = 2, OTHER = 3, PLAYERS = 8 };

#define NOW FL_SEC(100)
#define FRAME FL_MS(50)

/// The sections of a kind that went to a member; `to`: what the last REDIRECT names, 0: none.
typedef struct Sent {
    int32_t redirects, looks_ended;
    int32_t to;
} Sent;

static void note_packet(Sent *sent, const uint8_t *bytes, int32_t count)
{
    FlReader r;
    fl_reader_init(&r, bytes, count);
    (void)fl_reader_take(&r, 16);
    uint64_t kind = fl_reader_take(&r, 8);
    if (kind == LOOK) { // comes first, where there is one
        (void)fl_reader_take(&r, 16);
        sent->looks_ended += fl_reader_take(&r, 8) == 0 ? 1 : 0;
        (void)fl_reader_take(&r, 16);
        kind = fl_reader_left(&r) > 0 ? fl_reader_take(&r, 8) : 0;
    }
    if (kind == REDIRECT) {
        (void)fl_reader_take(&r, 16);
        sent->redirects++;
        sent->to = fl_reader_take(&r, 8) > 0 ? (int32_t)fl_reader_take(&r, 16) : 0;
    }
}

static Sent drain(FlCrowd *crowd, int32_t to, FlTime now)
{
    Sent sent = {0};
    uint8_t packet[FL_CROWD_PACKET_BYTES];
    int32_t size;
    int32_t member;
    while (fl__crowd_next(crowd, now, packet, sizeof packet, &size, &member)) {
        if (member == to) {
            note_packet(&sent, packet, size);
        }
    }
    return sent;
}

static void greet(FlCrowd *crowd, int32_t from, int32_t spare, FlTime now)
{
    Craft craft;
    craft_begin(&craft, (uint16_t)(now / FL_MS(1)));
    craft_heartbeat(&craft, now, spare, 0, 0);
    craft_give(&craft, crowd, from, now);
}

static void stream(FlCrowd *crowd, int32_t from, FlTime now)
{
    FlState state = crowd_state(IDOL, now);
    Craft craft;
    craft_begin(&craft, (uint16_t)(now / FL_MS(1)));
    craft_stream(&craft, from == IDOL ? 0 : 1, IDOL, &state);
    craft_give(&craft, crowd, from, now);
}

static void look(FlCrowd *crowd, int32_t from, FlTime now)
{
    Craft craft;
    craft_begin(&craft, (uint16_t)(now / FL_MS(1)));
    craft_look(&craft, IDOL, 200);
    craft_give(&craft, crowd, from, now);
}

static void look_no_more(FlCrowd *crowd, int32_t from, FlTime now)
{
    Craft craft;
    craft_begin(&craft, (uint16_t)(now / FL_MS(1)));
    craft_look(&craft, IDOL, 0);
    craft_give(&craft, crowd, from, now);
}

static void send_on(FlCrowd *crowd, int32_t from, int32_t to, FlTime now)
{
    Craft craft;
    craft_begin(&craft, (uint16_t)(now / FL_MS(1)));
    craft_put(&craft, REDIRECT, 8);
    craft_put(&craft, IDOL, 16);
    craft_put(&craft, to != 0 ? 1 : 0, 8);
    if (to != 0) {
        craft_put(&craft, (uint64_t)to, 16);
    }
    craft_give(&craft, crowd, from, now);
}

/// We watch player 2, by itself, and it sends.
static FlCrowd *watching(void)
{
    FlCrowd *crowd = crowd_make(SELF, PLAYERS, NOW);
    for (int32_t m = 2; m <= 4; m++) {
        assert_int_equal(fl__crowd_light_open(crowd, m, NOW), FL_OK);
        greet(crowd, m, 0, NOW);
    }
    fl__crowd_look(crowd, IDOL, 1.0);
    (void)drain(crowd, IDOL, NOW);
    assert_int_equal(fl__crowd_source(crowd, IDOL)->via, IDOL);
    stream(crowd, IDOL, NOW + FRAME);
    return crowd;
}

static bool comes(const FlCrowd *crowd, FlTime stamp)
{
    FlCrowdView view;
    assert_int_equal(fl__crowd_view(crowd, IDOL, false, &view), FL_OK);
    return view.watched && view.stamp == stamp - stamp % FL_UPDATE_STEP_NS;
}

// ----------------------------------------------------------------

static void who_is_sent_on_is_served_until_the_next_one_sends(void **state)
{
    (void)state;
    FlCrowd *crowd = watching();
    FlTime now = NOW + 2 * FRAME;
    send_on(crowd, IDOL, OTHER, now);
    assert_int_equal(fl__crowd_source(crowd, IDOL)->via, OTHER);
    now += 2 * FRAME;
    stream(crowd, IDOL, now); // still, and nothing asks it to stop
    assert_true(comes(crowd, now));
    assert_int_equal(drain(crowd, IDOL, now).looks_ended, 0);
    stream(crowd, OTHER, now + FRAME);
    assert_true(comes(crowd, now + FRAME));
    stream(crowd, IDOL, now + 2 * FRAME);
    assert_int_equal(drain(crowd, IDOL, now + 2 * FRAME).looks_ended, 1);
    fl__crowd_destroy(crowd);
}

// Whom the next one names it asks as well; who names none is left for the one that still sends.
static void who_is_refused_asks_others_and_then_whoever_still_serves_it(void **state)
{
    (void)state;
    FlCrowd *crowd = watching();
    FlTime now = NOW + 2 * FRAME;
    send_on(crowd, IDOL, OTHER, now);
    stream(crowd, IDOL, now + FRAME);
    send_on(crowd, OTHER, 4, now + FRAME);
    assert_int_equal(fl__crowd_source(crowd, IDOL)->via, 4);
    assert_true(comes(crowd, now + FRAME));
    stream(crowd, IDOL, now + 2 * FRAME);
    assert_true(comes(crowd, now + 2 * FRAME));
    send_on(crowd, 4, 0, now + 2 * FRAME);
    assert_int_equal(fl__crowd_source(crowd, IDOL)->via, IDOL);
    fl__crowd_destroy(crowd);
}

// It is sent to our own source, and has updates of us until it looks no more.
static void who_watches_by_us_is_served_when_we_watch_no_more(void **state)
{
    (void)state;
    for (int32_t leaves = 0; leaves < 2; leaves++) {
        FlCrowd *crowd = watching();
        FlTime now = NOW + FL_SEC(2);
        stream(crowd, IDOL, now - FRAME);
        look(crowd, OTHER, now);
        (void)drain(crowd, OTHER, now);
        fl__crowd_look(crowd, IDOL, 0.0);
        Sent sent = drain(crowd, OTHER, now + 2 * FRAME);
        assert_int_equal(sent.redirects, 1);
        assert_int_equal(sent.to, IDOL);
        FlCrowdView view;
        assert_int_equal(fl__crowd_view(crowd, IDOL, false, &view), FL_OK);
        assert_false(view.watched);
        assert_int_equal(fl__crowd_stats(crowd).sources, 0);
        uint64_t before = fl__crowd_stats(crowd).streamed;
        stream(crowd, IDOL, now + 3 * FRAME);
        (void)drain(crowd, OTHER, now + 3 * FRAME);
        assert_int_equal(fl__crowd_stats(crowd).streamed - before, 1);
        if (leaves == 1) {
            look_no_more(crowd, OTHER, now + 4 * FRAME);
        }
        (void)drain(crowd, OTHER, now + (leaves == 1 ? 6 * FRAME : 2 * FL__LEAVES_NS));
        assert_int_equal(fl__crowd_stats(crowd).watchers, 0);
        assert_null(fl__crowd_source(crowd, IDOL));
        fl__crowd_destroy(crowd);
    }
}

// Those above us have upload to spare: then there is no need for one hop more.
static void a_watcher_rises_to_a_source_with_upload_to_spare(void **state)
{
    (void)state;
    for (int32_t spare = 0; spare <= 8; spare += 8) {
        FlCrowd *crowd = watching();
        look(crowd, OTHER, NOW + 2 * FRAME);
        greet(crowd, IDOL, spare, NOW + 2 * FRAME);
        Sent all = {0};
        for (int32_t i = 3; i < 10; i++) {
            stream(crowd, IDOL, NOW + i * FRAME);
            Sent sent = drain(crowd, OTHER, NOW + i * FRAME);
            all.redirects += sent.redirects;
            all.to = sent.redirects > 0 ? sent.to : all.to;
        }
        assert_int_equal(all.redirects, spare > 0 ? 1 : 0);
        assert_int_equal(all.to, spare > 0 ? IDOL : 0);
        fl__crowd_destroy(crowd);
    }
}

static void who_has_lost_its_source_says_so_at_once(void **state)
{
    (void)state;
    FlCrowd *crowd = watching();
    look(crowd, OTHER, NOW + 2 * FRAME);
    assert_int_equal(drain(crowd, OTHER, NOW + 2 * FRAME).redirects, 0);
    assert_int_equal(fl__crowd_stats(crowd).watchers, 1);
    FlTime later = NOW + FRAME + crowd->def.silence_ns + FL_MS(1);
    look(crowd, 4, later);
    Sent sent = drain(crowd, 4, later);
    assert_int_equal(sent.redirects, 1);
    assert_int_equal(sent.to, 0);
    assert_int_equal(fl__crowd_stats(crowd).watchers, 1);
    fl__crowd_destroy(crowd);
}

// With 255 that it could serve it should be nearer to the owner than we.
static void whoever_can_do_more_than_we_is_sent_to_our_source(void **state)
{
    (void)state;
    for (int32_t spare = 0; spare <= 255; spare += 255) {
        FlCrowd *crowd = watching();
        look(crowd, OTHER, NOW + 2 * FRAME);
        greet(crowd, OTHER, spare, NOW + 2 * FRAME);
        Sent all = {0};
        for (int32_t i = 3; i < 10; i++) {
            stream(crowd, IDOL, NOW + i * FRAME);
            Sent sent = drain(crowd, OTHER, NOW + i * FRAME);
            all.redirects += sent.redirects;
            all.to = sent.redirects > 0 ? sent.to : all.to;
        }
        assert_int_equal(all.redirects, spare > 0 ? 1 : 0); // and not again and again
        assert_int_equal(all.to, spare > 0 ? IDOL : 0);
        assert_int_equal(fl__crowd_stats(crowd).watchers, 1); // it is served on
        fl__crowd_destroy(crowd);
    }
}

static void what_else_is_sent_is_not_left_for_watchers(void **state)
{
    (void)state;
    FlCrowd *crowd = watching();
    crowd->def.upload_bytes_s = 13500.0;
    int32_t before = fl__crowd_spare(crowd);
    FlTime now = NOW;
    for (int32_t i = 0; i < 40; i++) { // 6 kB a second for ten seconds
        now += FL_MS(250);
        fl__crowd_sent(crowd, 1500, 0);
        fl__crowd_lights_sweep(crowd, now);
    }
    int32_t after = fl__crowd_spare(crowd);
    print_message("             %d watchers, and %d with 6 kB a second of something else\n", before,
                  after);
    assert_true(after > 0 && after <= before - 4); // a watcher is 1.3 kB a second
    fl__crowd_destroy(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_sent_on_is_served_until_the_next_one_sends),
        cmocka_unit_test(who_is_refused_asks_others_and_then_whoever_still_serves_it),
        cmocka_unit_test(who_watches_by_us_is_served_when_we_watch_no_more),
        cmocka_unit_test(a_watcher_rises_to_a_source_with_upload_to_spare),
        cmocka_unit_test(who_has_lost_its_source_says_so_at_once),
        cmocka_unit_test(whoever_can_do_more_than_we_is_sent_to_our_source),
        cmocka_unit_test(what_else_is_sent_is_not_left_for_watchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
