// What an entity is travels whole: the host that passes it on runs the owner's policy with the
// owner's settings, and takes nothing that no sender writes.
#include "core/private.h"
#include "session_net.h"

static bool same_send(const FlSend *a, const FlSend *b)
{
    char one[FL_SEND_TEXT_BYTES];
    char other[FL_SEND_TEXT_BYTES];
    fl_send_text(a, one);
    fl_send_text(b, other);
    return strcmp(one, other) == 0 && a->share_cap == b->share_cap &&
           a->longest_ns == b->longest_ns && a->patience_ns == b->patience_ns;
}

static FlSend send_with(int32_t settings)
{
    FlSend send = fl_send_equal(50);
    send.share_cap = (settings & 1) != 0 ? 0.4 : send.share_cap;
    send.longest_ns = (settings & 2) != 0 ? FL_MS(700) : send.longest_ns;
    send.patience_ns = (settings & 4) != 0 ? FL_SEC(3) : send.patience_ns;
    return send;
}

static void settings_arrive_at_the_host(void **state)
{
    (void)state;
    for (int32_t settings = 0; settings < 8; settings++) {
        static Net net;
        net_open(&net, 4, FL_TOPOLOGY_STAR, false);
        for (int32_t i = 0; i < 3; i++) {
            net_start(&net, i);
        }
        net_gather(&net);
        NetWalk walk = {0};
        FlEntityDef def = fl_entity_def_default();
        def.send = send_with(settings);
        assert_int_equal(net_walk_begin(&net, &walk, 1, &def), FL_OK);
        for (int32_t f = 0; f < 20; f++) {
            net_frame(&net);
        }
        FlSession *host = net.node[0].session;
        int32_t slot = host->by_number[walk.number];
        assert_true(same_send(&host->entities[slot].def.send, &def.send));
        assert_int_equal(net_count(&net, FL_SESSION_MALFORMED), 0);
        net_close(&net);
    }
}

// One update of a thousand, and the next one to whoever got none for 300 ms.
static void the_host_passes_on_by_the_owners_settings(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 6, FL_TOPOLOGY_STAR, false);
    for (int32_t i = 0; i < 3; i++) {
        net_start(&net, i);
    }
    net_gather(&net);
    NetWalk walk = {0};
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_base_every(1000);
    def.send.patience_ns = FL_MS(300);
    assert_int_equal(net_walk_begin(&net, &walk, 1, &def), FL_OK);
    for (int32_t f = 0; f < 500; f++) { // ten seconds
        net_walk_turn(&net, &walk);
        assert_int_equal(net_walk_step(&net, &walk), FL_OK);
        net_frame(&net);
    }
    uint64_t taken = fl_session_count(net.node[2].session, FL_SESSION_UPDATES_TAKEN);
    assert_true(taken > 25 && taken < 40);
    net_close(&net);
}

static FlEntityMessage traits_of(const FlEntityDef *def)
{
    FlEntityMessage m = {0};
    m.trait_bytes = fl__traits_write(def, m.traits);
    return m;
}

static void every_setting_costs_its_bytes_only(void **state)
{
    (void)state;
    for (int32_t settings = 0; settings < 8; settings++) {
        FlEntityDef def = fl_entity_def_default();
        def.send = send_with(settings);
        FlEntityMessage m = traits_of(&def);
        int32_t count = (settings & 1) + (settings >> 1 & 1) + (settings >> 2 & 1);
        assert_int_equal(m.trait_bytes, 28 + 8 * count + (int32_t)strlen("equal-50"));
        FlEntityDef got;
        assert_true(fl__traits_read(&m, &got));
        assert_true(same_send(&got.send, &def.send));
    }
}

enum { FLAGS_AT = 2, SETTINGS_AT = 28 };

static void what_no_sender_writes_is_refused(void **state)
{
    (void)state;
    FlEntityDef got;
    FlEntityDef def = fl_entity_def_default();
    def.send = send_with(7);
    FlEntityMessage good = traits_of(&def);
    FlEntityMessage bad = good;
    bad.traits[FLAGS_AT] |= 16; // there is no such setting
    assert_false(fl__traits_read(&bad, &got));
    const double caps[] = {-0.1, 1.5, (double)NAN,
                           1.0}; // out of range; and what the name says anyway
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        bad = good;
        memcpy(bad.traits + SETTINGS_AT, &caps[i], 8); // as this machine has it: lowest first
        assert_false(fl__traits_read(&bad, &got));
    }
    const FlTime longest[] = {0, -1, FL_SEC(1)};
    const FlTime patience[] = {0, INT64_MIN, FL_SEC(10)};
    for (size_t i = 0; i < 3; i++) {
        bad = good;
        memcpy(bad.traits + SETTINGS_AT + 8, &longest[i], 8);
        assert_false(fl__traits_read(&bad, &got));
        bad = good;
        memcpy(bad.traits + SETTINGS_AT + 16, &patience[i], 8);
        assert_false(fl__traits_read(&bad, &got));
    }
    for (int32_t bytes = 0; bytes < SETTINGS_AT + 24; bytes++) { // cut short
        bad = good;
        bad.trait_bytes = bytes;
        assert_false(fl__traits_read(&bad, &got));
    }
    assert_true(fl__traits_read(&good, &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_arrive_at_the_host),
        cmocka_unit_test(the_host_passes_on_by_the_owners_settings),
        cmocka_unit_test(every_setting_costs_its_bytes_only),
        cmocka_unit_test(what_no_sender_writes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
