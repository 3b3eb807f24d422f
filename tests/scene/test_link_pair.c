// Two links talk over bad networks, in virtual time.
#include "link_world.h"

static FlImpairSettings network(FlTime delay, FlTime jitter, int32_t loss_ppm)
{
    FlImpairSettings settings = fl_impair_settings_default();
    settings.delay_ns = delay;
    settings.jitter_ns = jitter;
    settings.shape = FL_SHAPE_UNIFORM;
    settings.loss_ppm = loss_ppm;
    settings.duplicate_ppm = 50000;
    return settings;
}

// ---------------------------------------------------------------- reliable messages

typedef struct Talk {
    int32_t wanted;
    int32_t queued[2];
    int32_t heard[2];
} Talk;

// Message n: its number, then as many bytes as its number says, so that fragments share and span
// packets.
static int32_t make_message(uint8_t *bytes, int32_t n)
{
    int32_t size = 4 + (n * 31) % 40 + (n % 1000 == 999 ? 5000 : 0);
    for (int32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i < 4 ? n >> (8 * i) : n + i);
    }
    return size;
}

static bool talk_on(World *world, void *ctx)
{
    Talk *talk = (Talk *)ctx;
    uint8_t bytes[8192], got[8192];
    for (int32_t i = 0; i < 2; i++) {
        FlLink *link = world->end[i].link;
        while (talk->queued[i] < talk->wanted) {
            int32_t size = make_message(bytes, talk->queued[i]);
            if (fl_link_send(link, FL_DELIVERY_ORDERED, bytes, size) != FL_OK) {
                break;
            }
            talk->queued[i]++;
        }
        int32_t count;
        while (fl_link_take(link, got, sizeof got, &count) == FL_OK) {
            int32_t size = make_message(bytes, talk->heard[i]++);
            assert_int_equal(count, size);
            assert_memory_equal(got, bytes, (size_t)size);
        }
    }
    return talk->heard[0] == talk->wanted && talk->heard[1] == talk->wanted;
}

static void talk_over(const FlImpairSettings *settings, int32_t messages, FlTime limit)
{
    World world;
    FlLinkDef def = fl_link_def_default();
    world_open(&world, &def, settings, 7);
    Talk talk = {.wanted = messages};
    (void)talk_on(&world, &talk);
    world_run(&world, limit, talk_on, &talk);
    print_message("%d+%d of %d messages in %.1f s, %d packets\n", talk.heard[0], talk.heard[1],
                  messages, fl_span_seconds(world.now),
                  (int)(world.end[0].next_tag + world.end[1].next_tag));
    assert_int_equal(talk.heard[0], messages);
    assert_int_equal(talk.heard[1], messages);
    world_close(&world);
}

static void ordered_messages_arrive_once_and_in_order(void **state)
{
    (void)state;
    FlImpairSettings bad = network(FL_MS(50), FL_MS(40), 300000);
    talk_over(&bad, 20000, FL_SEC(600));
}

static void half_of_all_packets_lost_only_makes_it_slower(void **state)
{
    (void)state;
    FlImpairSettings awful = network(FL_MS(100), FL_MS(90), 500000);
    talk_over(&awful, 3000, FL_SEC(600));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordered_messages_arrive_once_and_in_order),
        cmocka_unit_test(half_of_all_packets_lost_only_makes_it_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
