// What an entity is travels whole: the host that passes it on runs the owner's policy with the
// owner's settings, and takes nothing that no sender writes.
#include "session_inside.h"
#include "session_net.h"

static bool same_send(const FlSend *a, const FlSend *b)
{
    char one[FL_SEND_TEXT_BYTES];
    char other[FL_SEND_TEXT_BYTES];
    fl_send_text(a, one);
    fl_send_text(b, other);
    return strcmp(one, other) == 0 && a->share_cap == b->share_cap &&
           a->longest_ns == b->longest_ns && a->starvation_ns == b->starvation_ns;
}

static FlSend send_with(int32_t settings)
{
    FlSend send = fl_send_make(FL_SEND_EQUAL);
    send.share_cap = (settings & 1) != 0 ? 0.4 : send.share_cap;
    send.longest_ns = (settings & 2) != 0 ? FL_MS(700) : send.longest_ns;
    send.starvation_ns = (settings & 4) != 0 ? FL_SEC(3) : send.starvation_ns;
    return send;
}

static void settings_arrive_at_the_host(void **state)
{
    (void)state;
    for (int32_t settings = 0; settings < 8; settings++) {
        static Net net;
        net_open(&net, 4, FL_TOPOLOGY_STAR, false);
        net_start_together(&net, 3);
        NetWalk walk = {0};
        FlEntityDef def = fl_entity_def_default();
        def.send = send_with(settings);
        assert_int_equal(net_walk_begin(&net, &walk, 1, &def), FL_OK);
        net_frames(&net, 20);
        FlSession *host = net.node[0].session;
        const FlEntityDef *got = inside_def(host, net_entity(&net, 0, walk.number));
        assert_true(same_send(&got->send, &def.send));
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
    net_start_together(&net, 3);
    NetWalk walk = {0};
    FlEntityDef def = fl_entity_def_default();
    def.send = fl_send_make(FL_SEND_BASE);
    def.send.every = 1000;
    def.send.starvation_ns = FL_MS(300);
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

static EntityMessage traits_of(const FlEntityDef *def)
{
    EntityMessage m = {0};
    m.trait_bytes = fl__traits_write(def, m.traits);
    return m;
}

static void every_setting_costs_its_bytes_only(void **state)
{
    (void)state;
    for (int32_t settings = 0; settings < 8; settings++) {
        FlEntityDef def = fl_entity_def_default();
        def.send = send_with(settings);
        EntityMessage m = traits_of(&def);
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
    EntityMessage good = traits_of(&def);
    EntityMessage bad = good;
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

static int32_t kept_traits(const FlSession *session, bool sent)
{
    const Stream *stream = fl__stream(session, inside_line_of(session, sent ? 1 : 0));
    const TraitCache *cache = sent ? &stream->traits_sent : &stream->traits_received;
    int32_t count = 0;
    for (int32_t i = 0; i < TRAITS_KEPT; i++) {
        count += cache->count[i] > 0 ? 1 : 0;
    }
    return count;
}

// Ten entities, of so many kinds: what they are arrives right, and goes once while there is space.
static void alike_entities_share_their_traits_on_the_way(void **state)
{
    (void)state;
    const int32_t kinds[] = {1, TRAITS_KEPT, TRAITS_KEPT + 3};
    for (int32_t i = 0; i < 3; i++) {
        static Net net;
        net_open(&net, 4, FL_TOPOLOGY_STAR, false);
        net_start_together(&net, 2);
        FlSession *host = net.node[0].session;
        FlSession *guest = net.node[1].session;
        uint32_t number[10];
        for (int32_t e = 0; e < 10; e++) {
            FlEntityDef def = fl_entity_def_default();
            def.kind = (uint8_t)(e % kinds[i]);
            FlEntityId id = fl_entity_create(host, &def);
            FlEntityStatus status;
            assert_int_equal(fl_entity_status(host, id, &status), FL_OK);
            number[e] = status.number;
            net_frames(&net, 2);
        }
        net_frames(&net, 20);
        for (int32_t e = 0; e < 10; e++) {
            FlEntityId id = fl_entity_of_number(guest, number[e]);
            assert_int_equal(inside_def(guest, id)->kind, e % kinds[i]);
        }
        int32_t most = kinds[i] < TRAITS_KEPT ? kinds[i] : TRAITS_KEPT;
        assert_int_equal(kept_traits(host, true), most);
        assert_int_equal(kept_traits(guest, false), most);
        assert_int_equal(net_count(&net, FL_SESSION_MALFORMED), 0);
        net_close(&net);
    }
}

static void traits_that_were_never_sent_cannot_be_named(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 4, FL_TOPOLOGY_STAR, false);
    net_start_together(&net, 2);
    FlSession *host = net.node[0].session;
    FlSession *guest = net.node[1].session;
    EntityMessage m = {.number = 3, .owner = 0, .definition = TRAITS_KEPT - 1};
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__entity_message_write(&w, &m);
    assert_int_equal(inside_say(host, 1, &w), FL_OK);
    net_frames(&net, 10);
    assert_int_equal(fl_session_count(guest, FL_SESSION_MALFORMED), 1);
    assert_int_equal(fl_entity_of_number(guest, 3).index1, 0);
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_arrive_at_the_host),
        cmocka_unit_test(the_host_passes_on_by_the_owners_settings),
        cmocka_unit_test(every_setting_costs_its_bytes_only),
        cmocka_unit_test(what_no_sender_writes_is_refused),
        cmocka_unit_test(alike_entities_share_their_traits_on_the_way),
        cmocka_unit_test(traits_that_were_never_sent_cannot_be_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
