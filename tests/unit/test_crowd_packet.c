// A crowd's packets, one by one: what each section does, and that nothing unsound does anything.
//
// We are player 1 of eight, without a plane's help: light connections are opened by hand. Packets
// are made by hand too.
#include "crowd_support.h"

#include "show/show.h"

enum { SELF = 1, PLAYERS = 8 };

#define NOW FL_SEC(100)

static FlCrowd *with_lights(int32_t lights)
{
    FlCrowd *crowd = crowd_make(SELF, PLAYERS, NOW);
    for (int32_t m = 2; m < 2 + lights; m++) {
        assert_int_equal(fl__crowd_light_open(crowd, m, NOW), FL_OK);
    }
    return crowd;
}

static FlVec3 seen(const FlCrowd *crowd, int32_t member)
{
    FlCrowdView view;
    assert_int_equal(fl__crowd_view(crowd, (uint32_t)member, true, &view), FL_OK);
    return view.motion.position;
}

static bool is_seen(const FlCrowd *crowd, int32_t member)
{
    FlCrowdView view;
    return fl__crowd_view(crowd, (uint32_t)member, true, &view) == FL_OK;
}

// What goes out at a time, thrown away; true: something went to `to`.
static bool drain(FlCrowd *crowd, int32_t to, FlTime now, uint8_t *bytes, int32_t *count)
{
    uint8_t packet[FL_CROWD_PACKET_BYTES];
    int32_t size;
    int32_t member;
    bool any = false;
    while (fl__crowd_next(crowd, now, packet, sizeof packet, &size, &member)) {
        if (member == to) {
            memcpy(bytes, packet, (size_t)size);
            *count = size;
            any = true;
        }
    }
    return any;
}

// Looks at a player until it has asked it.
static void watch(FlCrowd *crowd, int32_t member, FlTime now)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    Craft hello;
    craft_begin(&hello, 1);
    craft_heartbeat(&hello, now, 0, 0, 0);
    craft_give(&hello, crowd, member, now);
    fl__crowd_look(crowd, (uint32_t)member, 1.0);
    assert_true(drain(crowd, member, now, bytes, &count));
    assert_non_null(fl__crowd_source(crowd, member));
}

/// What came last.
typedef struct Mail {
    int32_t from, count, times;
    uint8_t bytes[FL_CROWD_MESSAGE_BYTES];
} Mail;

static void note_mail(void *ctx, int32_t from, const uint8_t *bytes, int32_t count, FlTime now)
{
    Mail *mail = (Mail *)ctx;
    (void)now;
    mail->from = from;
    mail->count = count;
    mail->times++;
    memcpy(mail->bytes, bytes, (size_t)count);
}

// ---------------------------------------------------------------- what is sound

// All sections, from player 2; where each begins.
static int32_t whole(Craft *craft, int32_t begins[8])
{
    FlState two = crowd_state(2, NOW - FL_MS(20));
    FlState three = crowd_state(3, NOW - FL_MS(700));
    craft_begin(craft, 9);
    int32_t count = 0;
    begins[count++] = craft_size(craft);
    craft_heartbeat(craft, NOW - FL_MS(20), 7, 3, 5);
    begins[count++] = craft_size(craft);
    craft_stream(craft, 0, 2, &two);
    begins[count++] = craft_size(craft);
    craft_batch(craft, 3, &three);
    begins[count++] = craft_size(craft);
    craft_look(craft, SELF, 200);
    begins[count++] = craft_size(craft);
    craft_put(craft, REDIRECT, 8);
    craft_put(craft, 2, 16);
    craft_put(craft, 1, 8);
    craft_put(craft, 4, 16);
    begins[count++] = craft_size(craft);
    craft_put(craft, PART, 8);
    return count;
}

static void each_section_does_what_it_says(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    FlState own = crowd_state(SELF, NOW);
    assert_int_equal(crowd_set(crowd, &own), FL_OK);
    watch(crowd, 2, NOW);
    Craft craft;
    int32_t begins[8];
    int32_t sections = whole(&craft, begins);
    fl__crowd_light(crowd, 2)->planned = true;                           // only neighbours carry
    fl__crowd_receive(crowd, 2, craft.bytes, begins[sections - 1], NOW); // all but PART
    FlCrowdStats stats = fl__crowd_stats(crowd);
    assert_int_equal(stats.malformed, 0);
    const FlCrowdLight *light = fl__crowd_light(crowd, 2);
    assert_true(light->reached && !light->over && light->newest == 9 && light->spare == 7);
    assert_in_range(light->way_ns, FL_MS(0), FL_MS(20));
    assert_true(fabs(seen(crowd, 2).x - crowd_state(2, NOW - FL_MS(20)).position.x) < 0.02);
    assert_true(fabs(seen(crowd, 3).x - crowd_state(3, NOW - FL_MS(700)).position.x) < 0.02);
    FlCrowdView view;
    assert_int_equal(fl__crowd_view(crowd, 3, true, &view), FL_OK);
    assert_true(view.via == 2 && view.hops == 1 && !view.watched);
    assert_int_equal(stats.watchers, 1);
    assert_int_equal(fl__crowd_source(crowd, 2)->via, 4); // sent on
    int32_t parted;
    assert_false(fl__crowd_next_to_close(crowd, NOW, &parted));
    craft_give(&craft, crowd, 2, NOW);
    assert_true(fl__crowd_next_to_close(crowd, NOW, &parted) && parted == 2);
    fl__crowd_destroy(crowd);
}

static void a_message_goes_once_to_whom_it_is_for(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(2);
    uint8_t sent[FL_CROWD_MESSAGE_BYTES];
    for (int32_t i = 0; i < FL_CROWD_MESSAGE_BYTES; i++) {
        sent[i] = (uint8_t)(i * 7);
    }
    assert_false(fl__crowd_message(crowd, 2, sent, 5)); // nothing was heard from there yet
    assert_false(fl__crowd_message(crowd, 7, sent, 5)); // there is no light connection
    watch(crowd, 2, NOW);
    assert_false(fl__crowd_message(crowd, 2, sent, FL_CROWD_MESSAGE_BYTES + 1));
    assert_true(fl__crowd_message(crowd, 2, sent, FL_CROWD_MESSAGE_BYTES));
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count = 0;
    assert_true(drain(crowd, 2, NOW, bytes, &count));
    FlCrowd *other = crowd_make(2, PLAYERS, NOW);
    Mail mail = {0};
    fl__crowd_on_message(other, note_mail, &mail);
    assert_int_equal(fl__crowd_light_open(other, SELF, NOW), FL_OK);
    fl__crowd_receive(other, SELF, bytes, count, NOW);
    assert_true(mail.times == 1 && mail.from == SELF && mail.count == FL_CROWD_MESSAGE_BYTES);
    assert_memory_equal(mail.bytes, sent, sizeof sent);
    assert_false(drain(crowd, 2, NOW, bytes, &count));
    fl__crowd_destroy(other);
    fl__crowd_destroy(crowd);
}

static void who_is_no_neighbour_carries_nothing(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    crowd->plan.stale = false;
    FlState there = crowd_state(3, NOW);
    Craft craft;
    craft_begin(&craft, 1);
    craft_batch(&craft, 3, &there);
    FlCrowdView view;
    for (int32_t i = 0; i < 2; i++) {
        fl__crowd_light(crowd, 2)->planned = i == 1;
        craft_give(&craft, crowd, 2, NOW);
        assert_int_equal(fl__crowd_view(crowd, 3, true, &view), i == 1 ? FL_OK : FL_NOT_FOUND);
        assert_int_equal(fl__crowd_stats(crowd).strangers, 1);
    }
    fl__crowd_destroy(crowd);
}

static void a_watcher_is_served_every_frame_until_it_looks_no_more(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(1);
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count = 0;
    Craft craft;
    craft_begin(&craft, 1);
    craft_look(&craft, SELF, 255);
    craft_give(&craft, crowd, 2, NOW);
    for (int32_t i = 0; i < 20; i++) {
        FlTime now = NOW + i * FL_MS(50);
        FlState own = crowd_state(SELF, now);
        assert_int_equal(crowd_set(crowd, &own), FL_OK);
        assert_true(drain(crowd, 2, now, bytes, &count));
        assert_false(drain(crowd, 2, now, bytes, &count)); // once
    }
    assert_int_equal(fl__crowd_stats(crowd).streamed, 20);
    craft_begin(&craft, 2);
    craft_look(&craft, SELF, 0);
    craft_give(&craft, crowd, 2, NOW + FL_SEC(1));
    FlState own = crowd_state(SELF, NOW + FL_SEC(1));
    assert_int_equal(crowd_set(crowd, &own), FL_OK);
    (void)drain(crowd, 2, NOW + FL_SEC(1), bytes, &count);
    assert_int_equal(fl__crowd_stats(crowd).streamed, 20);
    assert_int_equal(fl__crowd_stats(crowd).watchers, 0);
    fl__crowd_destroy(crowd);
}

static void only_who_was_asked_may_send_us_on(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    watch(crowd, 2, NOW);
    const int32_t bad[] = {SELF, 2, 0, PLAYERS + 1, 65535};
    Craft craft;
    for (int32_t i = 0; i < 5; i++) { // from somebody else: never; to ourselves, the owner: nobody
        craft_begin(&craft, (uint16_t)(10 + i));
        craft_put(&craft, REDIRECT, 8);
        craft_put(&craft, 2, 16);
        craft_put(&craft, 1, 8);
        craft_put(&craft, i == 0 ? 4 : (uint64_t)bad[i], 16);
        craft_give(&craft, crowd, i == 0 ? 3 : 2, NOW);
        assert_int_equal(fl__crowd_source(crowd, 2)->via, 2);
    }
    assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- what is not

static void expect_no_effect(FlCrowd *crowd, int32_t from, const void *bytes, int32_t count)
{
    uint64_t before = crowd_fingerprint(crowd);
    FlCrowdStats stats = fl__crowd_stats(crowd);
    fl__crowd_receive(crowd, from, bytes, count, NOW);
    stats.malformed++;
    FlCrowdStats after = fl__crowd_stats(crowd);
    assert_memory_equal(&after, &stats, sizeof stats);
    assert_true(crowd_fingerprint(crowd) == before);
}

static void cut_anywhere_but_between_sections_it_has_no_effect(void **state)
{
    (void)state;
    Craft craft;
    int32_t begins[8];
    int32_t sections = whole(&craft, begins);
    for (int32_t size = 0; size < craft_size(&craft); size++) {
        bool between = false;
        for (int32_t i = 1; i < sections; i++) {
            between = between || begins[i] == size;
        }
        FlCrowd *crowd = with_lights(3);
        watch(crowd, 2, NOW);
        if (between) {
            fl__crowd_receive(crowd, 2, craft.bytes, size, NOW);
            assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
        } else {
            expect_no_effect(crowd, 2, craft.bytes, size);
        }
        fl__crowd_destroy(crowd);
    }
}

static void what_no_sender_writes_has_no_effect(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    watch(crowd, 2, NOW);
    FlState two = crowd_state(2, NOW);
    FlState three = crowd_state(3, NOW);
    Craft craft;
    for (int32_t kind = 0; kind < 19; kind++) {
        craft_begin(&craft, 20);
        craft_stream(&craft, 0, 2, &two); // sound, and not to be taken either
        switch (kind) {
        case 0: // no kind
        case 1:
        case 2:
        case 3:
            craft_put(&craft, (uint64_t[]){0, 10, 11, 255}[kind], 8);
            break;
        case 4: // no updates
            craft_put(&craft, BATCH, 8);
            craft_put(&craft, 0, 8);
            break;
        case 5: // fewer than it says
            craft_put(&craft, BATCH, 8);
            craft_put(&craft, 2, 8);
            craft_update(&craft, 3, 0, &three);
            break;
        case 6: // too far away
            craft_stream(&craft, 16, 3, &three);
            break;
        case 7: // an epoch that it does not have
            craft_stream(&craft, 128, 3, &three);
            break;
        case 8:
            craft_put(&craft, BATCH_EPOCH, 8);
            craft_put(&craft, 0, 8);
            break;
        case 9:
        case 10:
        case 11: // there is no such number
            craft_look(&craft, (int32_t[]){4096, 5000, 65535}[kind - 9], 1);
            break;
        case 12:
        case 13:
            craft_put(&craft, REDIRECT, 8);
            craft_put(&craft, 2, 16);
            craft_put(&craft, kind == 12 ? 3 : 255, 8);
            craft_put(&craft, 3, 16);
            craft_put(&craft, 4, 16);
            craft_put(&craft, 5, 16);
            break;
        case 14:
            craft_put(&craft, REDIRECT, 8);
            craft_put(&craft, 4096, 16);
            craft_put(&craft, 0, 8);
            break;
        case 15:
        case 16: // a message of nothing, or longer than any
            craft_put(&craft, MESSAGE, 8);
            craft_put(&craft, kind == 15 ? 0 : FL_CROWD_MESSAGE_BYTES + 1, 16);
            for (int32_t i = 0; i <= FL_CROWD_MESSAGE_BYTES; i++) {
                craft_put(&craft, PART, 8);
            }
            break;
        default: // too long: HEARTBEATs without end
            for (int32_t i = 0; i < (kind == 17 ? 99 : 104); i++) {
                craft_heartbeat(&craft, NOW, 0, 0, 0);
            }
            break;
        }
        expect_no_effect(crowd, 2, craft.bytes, craft_size(&craft));
    }
    fl__crowd_destroy(crowd);
}

// Everything but the counters, the numbers of packets and when they came stays as it is.
static void expect_stranger(FlCrowd *crowd, const Craft *craft)
{
    FlCrowdKnown known[PLAYERS + 1];
    memcpy(known, crowd->known, sizeof known);
    uint64_t strangers = fl__crowd_stats(crowd).strangers;
    int32_t watchers = fl__crowd_stats(crowd).watchers;
    craft_give(craft, crowd, 2, NOW);
    assert_int_equal(fl__crowd_stats(crowd).strangers, strangers + 1);
    assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
    assert_int_equal(fl__crowd_stats(crowd).watchers, watchers);
    assert_memory_equal(known, crowd->known, sizeof known);
}

static void nobody_speaks_as_somebody_else_or_of_another_epoch(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(4);
    watch(crowd, 3, NOW);
    FlState two = crowd_state(2, NOW);
    FlState three = crowd_state(3, NOW);
    Craft craft;
    craft_begin(&craft, 1);
    craft_stream(&craft, 0, 3, &three); // as its owner
    expect_stranger(crowd, &craft);
    craft_begin(&craft, 2);
    craft_stream(&craft, 1, 2, &two); // from afar as itself
    expect_stranger(crowd, &craft);
    craft_begin(&craft, 3);
    craft_put(&craft, BATCH_EPOCH, 8); // of an owner before or after this one
    craft_put(&craft, 1, 8);
    craft_put(&craft, 1, 8);
    craft_update(&craft, 2, 0, &two);
    expect_stranger(crowd, &craft);
    fl__crowd_entity(crowd, 2, 2, 256 + 7);
    craft_begin(&craft, 4);
    craft_batch(&craft, 2, &two);
    expect_stranger(crowd, &craft);
    craft_begin(&craft, 5);
    craft_put(&craft, BATCH_EPOCH, 8);
    craft_put(&craft, 1, 8);
    craft_put(&craft, 7, 8); // this is it
    craft_update(&craft, 2, 0, &two);
    craft_give(&craft, crowd, 2, NOW);
    assert_true(crowd->known[2].stamp != INT64_MIN);
    fl__crowd_destroy(crowd);
}

// Its owner's own, and what nobody has.
static void who_looks_at_what_it_owns_is_not_served(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(4);
    FlState own = crowd_state(SELF, NOW);
    assert_int_equal(crowd_set(crowd, &own), FL_OK);
    const int32_t of[] = {2, 0, PLAYERS + 1, SELF};
    for (int32_t i = 0; i < 4; i++) {
        Craft craft;
        craft_begin(&craft, (uint16_t)(1 + i));
        craft_look(&craft, of[i], 1);
        craft_give(&craft, crowd, 2, NOW);
        assert_int_equal(fl__crowd_stats(crowd).watchers, of[i] == SELF ? 1 : 0);
    }
    assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
    fl__crowd_destroy(crowd);
}

static void who_has_no_light_is_not_listened_to(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    Craft craft;
    craft_begin(&craft, 1);
    craft_heartbeat(&craft, NOW, 0, 0, 0);
    const int32_t strangers[] = {0, SELF, 6, PLAYERS, PLAYERS + 1, -1, INT32_MAX, INT32_MIN};
    for (int32_t i = 0; i < 8; i++) {
        expect_no_effect(crowd, strangers[i], craft.bytes, craft_size(&craft));
    }
    fl__crowd_destroy(crowd);
}

// Sound or not by luck; what is not sound has no effect, and what is breaks nothing.
static void whatever_bits_flip_nothing_breaks(void **state)
{
    (void)state;
    Craft craft;
    int32_t begins[8];
    (void)whole(&craft, begins);
    int32_t size = craft_size(&craft);
    int32_t sound = 0;
    for (int32_t bit = 0; bit < size * 8; bit++) {
        FlCrowd *crowd = with_lights(3);
        watch(crowd, 2, NOW);
        uint64_t before = crowd_fingerprint(crowd);
        uint8_t bytes[FL_CROWD_PACKET_BYTES];
        memcpy(bytes, craft.bytes, (size_t)size);
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
        fl__crowd_receive(crowd, 2, bytes, size, NOW);
        bool bad = fl__crowd_stats(crowd).malformed == 1;
        assert_true(!bad || crowd_fingerprint(crowd) == before);
        sound += bad ? 0 : 1;
        int32_t count;
        (void)drain(crowd, 2, NOW + FL_MS(100), bytes, &count);
        fl__crowd_destroy(crowd);
    }
    assert_in_range(sound, 1, size * 8 - 1);
}

static void random_bytes_are_counted_and_forgotten(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(4);
    watch(crowd, 2, NOW);
    FlRandom r = {.seed = 8};
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    for (int32_t i = 0; i < CASES(20000); i++) {
        int32_t count = (int32_t)fl_random_below(&r, i % 2 == 0 ? 40 : FL_CROWD_PACKET_BYTES);
        for (int32_t k = 0; k < count; k++) {
            bytes[k] = (uint8_t)fl_random_below(&r, 256);
        }
        if (count > 2 && i % 4 == 0) {
            bytes[2] = (uint8_t)(1 + fl_random_below(&r, 6)); // a kind that there is
        }
        int32_t from = 2 + (int32_t)fl_random_below(&r, 4);
        uint64_t before = crowd_fingerprint(crowd);
        uint64_t malformed = fl__crowd_stats(crowd).malformed;
        fl__crowd_receive(crowd, from, bytes, count, NOW);
        bool bad = fl__crowd_stats(crowd).malformed > malformed;
        assert_true(!bad || crowd_fingerprint(crowd) == before);
    }
    int32_t count;
    for (FlTime now = NOW; now < NOW + FL_SEC(2); now += FL_MS(50)) {
        (void)drain(crowd, 2, now, bytes, &count);
    }
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- whose updates

static void updates_of_nobody_there_are_counted_and_dropped(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    watch(crowd, 2, NOW);
    crowd_member(crowd, 8, false);
    const int32_t nobody[] = {0, SELF, 8, PLAYERS + 1, 1000, 4095};
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    for (int32_t i = 0; i < 12; i++) {
        FlState there = crowd_state(5, NOW);
        Craft craft;
        craft_begin(&craft, (uint16_t)(2 + i));
        if (i % 2 == 0) {
            craft_batch(&craft, nobody[i / 2], &there);
        } else {
            craft_stream(&craft, 1, nobody[i / 2], &there);
        }
        craft_give(&craft, crowd, 2, NOW);
        assert_int_equal(fl__crowd_stats(crowd).strangers, i + 1);
        (void)drain(crowd, 2, NOW + FL_MS(i), bytes, &count);
    }
    assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
    assert_false(is_seen(crowd, SELF) || is_seen(crowd, 8));
    assert_int_equal(fl__crowd_light(crowd, 2)->look_end, FL__NOBODY); // nothing to be said to that
    fl__crowd_destroy(crowd);
}

static void what_is_stamped_later_than_now_is_dropped(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    watch(crowd, 2, NOW);
    for (int32_t i = 0; i < 4; i++) { // by batch and by stream, the owner's and another's
        FlState late = crowd_state(i < 2 ? 2 : 3, NOW + FL_MS(300));
        Craft craft;
        craft_begin(&craft, (uint16_t)(2 + i));
        if (i % 2 == 0) {
            craft_batch(&craft, i < 2 ? 2 : 3, &late);
        } else {
            craft_stream(&craft, i < 2 ? 0 : 1, i < 2 ? 2 : 3, &late);
        }
        craft_give(&craft, crowd, 2, NOW);
        assert_int_equal(fl__crowd_stats(crowd).early, i + 1);
    }
    assert_false(is_seen(crowd, 2) || is_seen(crowd, 3));
    assert_int_equal(crowd->more[2].packed_bytes, 0); // nor carried, nor passed on
    assert_int_equal(fl__crowd_source(crowd, 2)->packed_bytes, 0);
    assert_true(fl__crowd_source(crowd, 2)->received == INT64_MIN);
    FlState now = crowd_state(2, NOW + FL_MS(200)); // clocks differ a little
    Craft craft;
    craft_begin(&craft, 9);
    craft_stream(&craft, 0, 2, &now);
    craft_give(&craft, crowd, 2, NOW);
    assert_true(is_seen(crowd, 2));
    assert_true(fl__crowd_source(crowd, 2)->packed_bytes > 0);
    fl__crowd_destroy(crowd);
}

// Who sends the same again and again, or nothing new, is as good as silent.
static void a_source_that_says_nothing_new_is_left(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    watch(crowd, 2, NOW);
    FlState two = crowd_state(2, NOW);
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    for (int32_t i = 0; i < 20; i++) {
        Craft craft;
        craft_begin(&craft, (uint16_t)(2 + i));
        craft_stream(&craft, 0, 2, &two);
        craft_give(&craft, crowd, 2, NOW + i * FL_MS(50));
        (void)drain(crowd, 2, NOW + i * FL_MS(50), bytes, &count);
    }
    assert_in_range(fl__crowd_stats(crowd).recoveries, 1, 3);
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- lies

static FlState elsewhere(int32_t player, FlTime time, double off)
{
    FlState state = crowd_state(player, time);
    state.position.y += off;
    return state;
}

static void the_newest_stamp_wins_in_whatever_order_they_come(void **state)
{
    (void)state;
    FlRandom r = {.seed = 9};
    for (int32_t round = 0; round < 50; round++) {
        FlCrowd *crowd = with_lights(3);
        bool direct = round % 2 == 0;
        FlTime newest = INT64_MIN;
        for (int32_t i = 0; i < 40; i++) {
            FlTime stamp = NOW - FL_MS(5) * (FlTime)fl_random_below(&r, 200);
            FlState there = crowd_state(3, stamp);
            Craft craft;
            craft_begin(&craft, (uint16_t)fl_random_below(&r, 30));
            if (direct && fl_random_below(&r, 2) == 0) {
                craft_stream(&craft, 0, 3, &there);
            } else {
                craft_batch(&craft, 3, &there);
            }
            uint64_t overtaken = fl__crowd_stats(crowd).overtaken;
            craft_give(&craft, crowd, direct ? 3 : 2, NOW);
            assert_int_equal(fl__crowd_stats(crowd).overtaken - overtaken, stamp <= newest ? 1 : 0);
            newest = stamp > newest ? stamp : newest;
            FlCrowdView view;
            assert_int_equal(fl__crowd_view(crowd, 3, true, &view), FL_OK);
            assert_true(view.stamp == newest);
        }
        assert_int_equal(fl__crowd_stats(crowd).contradictions, 0); // all of it was true
        fl__crowd_destroy(crowd);
    }
}

// Whoever else says something, with whatever stamp, is heard only when the owner is silent.
static void while_its_owner_speaks_nobody_else_is_believed(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    FlState truth = crowd_state(3, NOW);
    Craft craft;
    craft_begin(&craft, 1);
    craft_batch(&craft, 3, &truth);
    craft_give(&craft, crowd, 3, NOW);
    for (int32_t i = 1; i <= 20; i++) {
        FlTime now = NOW + FL_MS(100) * i;
        FlState lie = elsewhere(3, now + FL_MS(200), 250.0);
        craft_begin(&craft, (uint16_t)(1 + i));
        craft_stream(&craft, 2, 3, &lie); // nobody asked for it
        craft_batch(&craft, 3, &lie);
        craft_give(&craft, crowd, 2, now);
        FlCrowdView view;
        assert_int_equal(fl__crowd_view(crowd, 3, true, &view), FL_OK);
        assert_int_equal(view.via, i < 3 ? 3 : 2); // 300 ms
    }
    fl__crowd_destroy(crowd);
}

// What a HEARTBEAT says of packets that came is what came.
static void numbers_that_came_are_told(void **state)
{
    (void)state;
    FlRandom r = {.seed = 10};
    for (int32_t round = 0; round < 40; round++) {
        FlCrowd *crowd = with_lights(1);
        bool came[400] = {false};
        int32_t newest = -1;
        uint16_t base = (uint16_t)fl_random_below(&r, 65536);
        for (int32_t i = 0; i < 200; i++) {
            int32_t back = (int32_t)fl_random_below(&r, 30);
            int32_t number = i + 40 - back; // late, twice, never
            Craft craft;
            craft_begin(&craft, (uint16_t)(base + number));
            craft_heartbeat(&craft, NOW, 0, 0, 0);
            craft_give(&craft, crowd, 2, NOW);
            bool first = newest < 0;
            came[number] = first || number > newest - 33; // older ones are out of sight
            newest = number > newest ? number : newest;
            const FlCrowdLight *light = fl__crowd_light(crowd, 2);
            assert_int_equal(light->newest, (uint16_t)(base + newest));
            for (int32_t b = 0; b < 32 && newest - 1 - b >= 0; b++) {
                assert_true((light->before >> b & 1u) == (came[newest - 1 - b] ? 1u : 0u));
            }
        }
        fl__crowd_destroy(crowd);
    }
}

static void a_liar_is_counted_and_the_owner_is_believed(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    uint32_t lies = 0;
    for (int32_t i = 0; i < 20; i++) {
        FlTime now = NOW + i * FL_SEC(1);
        bool ahead = i % 2 == 0; // the lie bears the later stamp
        FlState lie = elsewhere(3, now + (ahead ? FL_MS(100) : -FL_MS(100)), 250.0);
        FlState truth = crowd_state(3, now);
        Craft craft;
        craft_begin(&craft, (uint16_t)(2 + i));
        craft_batch(&craft, 3, &lie);
        craft_give(&craft, crowd, 2, now);
        craft_begin(&craft, (uint16_t)(2 + i));
        craft_batch(&craft, 3, &truth);
        craft_give(&craft, crowd, 3, now);
        lies++;
        FlCrowdView view;
        assert_int_equal(fl__crowd_view(crowd, 3, true, &view), FL_OK);
        assert_true(fabs(view.motion.position.y - truth.position.y) < 0.02);
        assert_true(view.via == 3 && view.hops == 0);
        assert_int_equal(fl__crowd_contradictions(crowd, 2), lies);
        assert_int_equal(fl__crowd_stats(crowd).contradictions, lies);
    }
    assert_int_equal(fl__crowd_contradictions(crowd, 3), 0);
    fl__crowd_destroy(crowd);
}

// Whoever passes on what the owner said is never blamed, however fast the owner, and whatever a
// third one says; and nobody is blamed for a respawn.
static void who_tells_the_truth_is_never_blamed(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(4);
    FlRandom r = {.seed = 11};
    for (int32_t i = 0; i < 500; i++) {
        FlTime now = NOW + i * FL_MS(100);
        int32_t from = 2 + (int32_t)fl_random_below(&r, 2);
        FlState there = crowd_state(3, now - FL_MS((int64_t)fl_random_below(&r, 500)));
        bool moved = i % 100 >= 50; // respawns
        there.position.y += moved ? 300.0 : 0.0;
        Craft craft;
        craft_begin(&craft, (uint16_t)i);
        craft_put(&craft, BATCH, 8);
        craft_put(&craft, 1, 8);
        craft_update(&craft, 3, moved ? 1 : 0, &there);
        craft_give(&craft, crowd, from, now);
        craft_begin(&craft, (uint16_t)i); // says of itself that it is the owner
        craft_stream(&craft, 0, 3, &there);
        craft_give(&craft, crowd, 4, now);
    }
    assert_int_equal(fl__crowd_stats(crowd).contradictions, 0);
    assert_int_equal(fl__crowd_stats(crowd).strangers, 500);
    fl__crowd_destroy(crowd);
}

// ---------------------------------------------------------------- guidance

static void craft_guided(Craft *craft, int32_t of, FlTime time, double x)
{
    FlWorld world = crowd_world();
    FlGuidance guidance = {.entity = (uint32_t)of, .ahead_ns = FL_MS(800)};
    FlGuidance rounded;
    guidance.time = time - time % FL_UPDATE_STEP_NS;
    guidance.position = fl_vec3(x, 0.0, 0.0);
    assert_int_equal(fl__guidance_round(&world, &guidance, &rounded), FL_OK);
    craft_put(craft, GUIDED, 8);
    craft_put(craft, 1, 8);
    craft_put(craft, 0, 8); // the epoch
    assert_true(fl__guidance_encode(&craft->w, &world, &rounded));
}

/// What came last.
typedef struct Walks {
    int32_t times;
    double x;
    bool carried;
} Walks;

static void note_guided(void *ctx, const FlGuidance *guidance, bool carried, FlTime now)
{
    Walks *walks = (Walks *)ctx;
    (void)now;
    walks->times++;
    walks->x = guidance->position.x;
    walks->carried = carried;
}

static void give_guided(FlCrowd *crowd, int32_t from, int32_t of, FlTime time, double x, FlTime now)
{
    static uint16_t number = 100;
    Craft craft;
    craft_begin(&craft, number++);
    craft_guided(&craft, of, time, x);
    craft_give(&craft, crowd, from, now);
}

static void carried_guidance_counts_until_its_owner_speaks(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    Walks walks = {0};
    fl__crowd_on_guided(crowd, note_guided, &walks);
    fl__crowd_replan(crowd, NOW);
    fl__crowd_light(crowd, 3)->planned = false;
    fl__crowd_light(crowd, 4)->planned = true;
    give_guided(crowd, 3, 2, NOW - FL_MS(20), 5.0, NOW); // no neighbour, and not asked
    assert_int_equal(walks.times, 0);
    assert_int_equal(fl__crowd_stats(crowd).strangers, 1);
    give_guided(crowd, 4, 2, NOW + FL_MS(200), 400.0, NOW); // a lie, stamped ahead
    assert_true(walks.times == 1 && walks.carried && fabs(walks.x - 400.0) < 0.1);
    give_guided(crowd, 4, 2, NOW + FL_SEC(1), 5.0, NOW); // nothing is known of the future
    assert_int_equal(fl__crowd_stats(crowd).early, 1);
    assert_int_equal(fl__crowd_contradictions(crowd, 4), 0);
    give_guided(crowd, 2, 2, NOW - FL_MS(10), -400.0, NOW); // its owner
    assert_true(walks.times == 2 && !walks.carried && fabs(walks.x + 400.0) < 0.1);
    assert_int_equal(fl__crowd_contradictions(crowd, 4), 1); // nobody is that fast
    give_guided(crowd, 4, 2, NOW + FL_MS(100), 400.0, NOW);  // and speaks now
    assert_int_equal(walks.times, 2);
    give_guided(crowd, 2, 2, NOW - FL_MS(10), 0.0, NOW); // once each
    assert_int_equal(walks.times, 2);
    FlTime later = NOW + FL_SEC(3); // silent: who carries is believed again
    give_guided(crowd, 4, 2, later - FL_MS(50), -399.0, later);
    assert_true(walks.times == 3 && walks.carried);
    give_guided(crowd, 2, 2, later - FL_MS(50), -399.0, later); // the same from both: no lie
    assert_int_equal(fl__crowd_contradictions(crowd, 4), 1);
    give_guided(crowd, 2, 9, later, 0.0, later); // there is no such entity
    assert_int_equal(fl__crowd_stats(crowd).strangers, 2);
    assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
    fl__crowd_destroy(crowd);
}

static int32_t guided_in(const uint8_t *bytes, int32_t count, double *x)
{
    FlWorld world = crowd_world();
    FlReader r;
    FlUpdate update;
    FlGuidance guidance;
    fl_reader_init(&r, bytes, count);
    (void)fl_reader_take(&r, 16);
    if (fl_reader_take(&r, 8) != STREAM) {
        return 0;
    }
    (void)fl_reader_take(&r, 8);
    assert_int_equal(fl_update_decode(&r, &world, NOW, &update), FL_UPDATE_OK);
    if (fl_reader_take(&r, 8) != GUIDED) {
        return 0;
    }
    int32_t guided = (int32_t)fl_reader_take(&r, 8);
    (void)fl_reader_take(&r, 8);
    assert_true(fl__guidance_decode(&r, &world, NOW, &guidance));
    *x = guidance.position.x;
    return guided;
}

static void a_watcher_gets_guidance_from_whoever_serves_it(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(3);
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    int32_t sent = 0;
    int32_t guided = 0;
    double x = 0.0;
    watch(crowd, 2, NOW);
    for (int32_t i = 0; i < 40; i++) { // two seconds of frames
        FlTime now = NOW + FL_MS(50) * (i + 1);
        FlState two = crowd_state(2, now - FL_MS(10));
        Craft craft;
        craft_begin(&craft, (uint16_t)(20 + i));
        craft_stream(&craft, 0, 2, &two);
        craft_guided(&craft, 2, now - FL_MS(10), i); // its owner says so with every frame
        craft_give(&craft, crowd, 2, now);
        craft_begin(&craft, (uint16_t)(20 + i));
        craft_look(&craft, 2, 200);
        craft_give(&craft, crowd, 3, now);
        if (drain(crowd, 3, now, bytes, &count)) {
            sent++;
            guided += guided_in(bytes, count, &x);
        }
    }
    assert_true(sent >= 35);
    assert_in_range(guided, 2, 3); // as often as a batch
    assert_true(x >= 18.0);
    assert_int_equal(fl__crowd_stats(crowd).guided, guided);
    assert_int_equal(fl__crowd_stats(crowd).malformed, 0);
    fl__crowd_destroy(crowd);
}

static void guidance_has_so_many_places(void **state)
{
    (void)state;
    FlCrowd *crowd = with_lights(7);
    Walks walks = {0};
    fl__crowd_on_guided(crowd, note_guided, &walks);
    fl__crowd_replan(crowd, NOW);
    fl__crowd_light(crowd, 8)->planned = true;
    for (int32_t n = 0; n < crowd->def.guide_capacity + 3; n++) { // player 7 has many
        fl__crowd_entity(crowd, (uint32_t)(100 + n), 7, 0);
        give_guided(crowd, 8, 100 + n, NOW - FL_MS(20), 5.0, NOW);
    }
    assert_int_equal(walks.times, crowd->def.guide_capacity);
    give_guided(crowd, 2, 2, NOW, 5.0, NOW); // what we have to carry goes before what was carried
    assert_int_equal(walks.times, crowd->def.guide_capacity + 1);
    FlTime later = NOW + FL_SEC(6); // nothing came for a while: there is room again
    give_guided(crowd, 8, 101 + crowd->def.guide_capacity, later, 5.0, later);
    assert_int_equal(walks.times, crowd->def.guide_capacity + 2);
    fl__crowd_destroy(crowd);
}

// Neither who carries for many nor who has many takes the places of others.
static void nobody_takes_all_places_for_guidance(void **state)
{
    (void)state;
    for (int32_t owner = 0; owner < 2; owner++) {
        FlCrowd *crowd = with_lights(7);
        Walks walks = {0};
        fl__crowd_on_guided(crowd, note_guided, &walks);
        fl__crowd_replan(crowd, NOW);
        fl__crowd_light(crowd, 8)->planned = true;
        fl__crowd_light(crowd, 6)->planned = true;
        for (int32_t round = 0; round < 3; round++) {
            FlTime now = NOW + FL_MS(500) * round;
            for (int32_t n = 0; n < 2 * crowd->def.guide_capacity; n++) {
                int32_t whose = owner == 1 ? 7 : 2 + n % 4; // its own; or anybody's
                fl__crowd_entity(crowd, (uint32_t)(100 + n), whose, 0);
                give_guided(crowd, owner == 1 && n % 2 == 0 ? 7 : 8, 100 + n, now, 5.0, now);
            }
            for (int32_t n = 0; n < 4; n++) { // what others have, and carry
                fl__crowd_entity(crowd, (uint32_t)(900 + n), 3, 0);
                int32_t before = walks.times;
                give_guided(crowd, owner == 1 ? 8 : 6, 900 + n, now, 5.0, now);
                assert_int_equal(walks.times, before + 1);
            }
        }
        fl__crowd_destroy(crowd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_section_does_what_it_says),
        cmocka_unit_test(a_message_goes_once_to_whom_it_is_for),
        cmocka_unit_test(who_is_no_neighbour_carries_nothing),
        cmocka_unit_test(a_watcher_is_served_every_frame_until_it_looks_no_more),
        cmocka_unit_test(only_who_was_asked_may_send_us_on),
        cmocka_unit_test(cut_anywhere_but_between_sections_it_has_no_effect),
        cmocka_unit_test(what_no_sender_writes_has_no_effect),
        cmocka_unit_test(nobody_speaks_as_somebody_else_or_of_another_epoch),
        cmocka_unit_test(who_looks_at_what_it_owns_is_not_served),
        cmocka_unit_test(who_has_no_light_is_not_listened_to),
        cmocka_unit_test(whatever_bits_flip_nothing_breaks),
        cmocka_unit_test(random_bytes_are_counted_and_forgotten),
        cmocka_unit_test(updates_of_nobody_there_are_counted_and_dropped),
        cmocka_unit_test(what_is_stamped_later_than_now_is_dropped),
        cmocka_unit_test(a_source_that_says_nothing_new_is_left),
        cmocka_unit_test(the_newest_stamp_wins_in_whatever_order_they_come),
        cmocka_unit_test(while_its_owner_speaks_nobody_else_is_believed),
        cmocka_unit_test(numbers_that_came_are_told),
        cmocka_unit_test(a_liar_is_counted_and_the_owner_is_believed),
        cmocka_unit_test(who_tells_the_truth_is_never_blamed),
        cmocka_unit_test(carried_guidance_counts_until_its_owner_speaks),
        cmocka_unit_test(a_watcher_gets_guidance_from_whoever_serves_it),
        cmocka_unit_test(guidance_has_so_many_places),
        cmocka_unit_test(nobody_takes_all_places_for_guidance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
