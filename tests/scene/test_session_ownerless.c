// An entity's next owner may be known late, or not at all: its updates come directly, and the
// host's announcement comes over a slower way, or gets lost. Until then it is its last owner's:
// nobody else says that he has it. Whatever a game asks or hears meanwhile is answered, and in the
// end everybody knows the owner.
#include "session_inside.h"
#include "session_net.h"
#include "session_stranger.h"

enum { SEER = 1, MAKER = 2, OTHER = 3, NODES = 4 };

/// The number of an entity's owner; -1: it is not known.
static int32_t owner_of(const FlSession *session, uint32_t number)
{
    FlEntityStatus status;
    FlEntityId id = fl_entity_of_number(session, number);
    assert_int_equal(fl_entity_status(session, id, &status), FL_OK);
    return (int32_t)status.owner.index1 - 1;
}

static void frame(Net *net, NetWalk *walk)
{
    FlSession *owner = net->node[walk->owner].session;
    if (fl_entity_is_ours(owner, net_entity(net, walk->owner, walk->number))) {
        net_walk_turn(net, walk); // so that there is always something to tell
        assert_int_equal(net_walk_step(net, walk), FL_OK);
    }
    net_frame(net);
}

static void run(Net *net, NetWalk *walk, int32_t frames)
{
    for (int32_t f = 0; f < frames; f++) {
        frame(net, walk);
    }
}

static void give_to(Net *net, NetWalk *walk, int32_t to)
{
    FlEntityId id = net_entity(net, walk->owner, walk->number);
    assert_int_equal(fl_entity_give(net->node[walk->owner].session, net_local(net, walk->owner), id,
                                    net_peer(net, walk->owner, to)),
                     FL_OK);
    walk->owner = to;
}

// A thing of MAKER's that OTHER has and everybody knows.
static void open_net(Net *net, NetWalk *walk, FlTopology topology)
{
    net_open(net, 5, topology, false);
    for (int32_t i = 0; i < NODES; i++) {
        net_start(net, i);
        net_gather(net);
    }
    FlEntityDef def = fl_entity_def_default();
    def.survives_owner = true;
    assert_int_equal(net_walk_begin(net, walk, MAKER, &def), FL_OK);
    run(net, walk, 100);
    give_to(net, walk, OTHER);
    run(net, walk, 100);
    assert_int_equal(owner_of(net->node[SEER].session, walk->number), net_number(net, OTHER));
}

static void all_know_the_owner(const Net *net, const NetWalk *walk)
{
    for (int32_t i = 0; i < NODES; i++) {
        if (net->node[i].session != NULL) {
            assert_int_equal(owner_of(net->node[i].session, walk->number), net_number(net, MAKER));
        }
    }
}

static int32_t notices_of_owner(Net *net, int32_t node, FlPeerId peer)
{
    FlNotice notice;
    int32_t count = 0;
    while (fl_notice_take(net->node[node].session, &notice) == FL_OK) {
        count += notice.kind == FL_NOTICE_ENTITY_THEIRS && notice.peer.index1 == peer.index1;
    }
    return count;
}

static void it_returns_to_its_maker_over_a_slower_way(FlTopology topology)
{
    static Net net;
    NetWalk walk;
    open_net(&net, &walk, topology);
    FlPeerId maker = net_peer(&net, SEER, MAKER);
    (void)notices_of_owner(&net, SEER, maker);
    FlImpairSettings slow = net_fair();
    slow.delay_ns = FL_MS(400);
    net_way(&net, 0, SEER, &slow);
    give_to(&net, &walk, MAKER);
    int32_t before = 0;
    for (int32_t f = 0; f < 100; f++) {
        frame(&net, &walk);
        FlEntityId id = net_entity(&net, SEER, walk.number);
        before += owner_of(net.node[SEER].session, walk.number) == net_number(&net, OTHER) ? 1 : 0;
        FlSession *session = net.node[SEER].session;
        assert_int_equal(fl_entity_attention(session, id, f % 2 == 0 ? 1.0 : 0.5), FL_OK);
    }
    assert_in_range(before, 11, 99); // or there was nothing to be seen here
    all_know_the_owner(&net, &walk);
    assert_int_equal(notices_of_owner(&net, SEER, maker), 1);
    run(&net, &walk, 50);
    double attention;
    FlSendClass send_class;
    assert_int_equal(fl_entity_interest(net.node[MAKER].session,
                                        net_entity(&net, MAKER, walk.number),
                                        net_peer(&net, MAKER, SEER), &attention, &send_class),
                     FL_OK);
    assert_true(fabs(attention - 0.5) < 0.01); // who serves it has been told
    net_close(&net);
}

static void attention_follows_to_the_next_owner_in_a_mesh(void **state)
{
    (void)state;
    it_returns_to_its_maker_over_a_slower_way(FL_TOPOLOGY_MESH);
}

static void attention_follows_to_the_next_owner_in_a_hybrid(void **state)
{
    (void)state;
    it_returns_to_its_maker_over_a_slower_way(FL_TOPOLOGY_HYBRID);
}

static void who_takes_over_finds_out_the_owner(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        static Net net;
        NetWalk walk;
        open_net(&net, &walk, i == 0 ? FL_TOPOLOGY_HYBRID : FL_TOPOLOGY_MESH);
        net_cut(&net, 0, SEER, true);
        give_to(&net, &walk, MAKER);
        run(&net, &walk, 50);
        assert_int_equal(owner_of(net.node[SEER].session, walk.number), net_number(&net, OTHER));
        net_crash(&net, 0);
        run(&net, &walk, 1500);
        assert_true(fl__is_host(net.node[SEER].session));
        all_know_the_owner(&net, &walk);
        net_close(&net);
    }
}

// ---------------------------------------------------------------- on purpose

static void give_epoch(Fixture *f, uint32_t number, uint8_t epoch)
{
    uint8_t payload[3 + FL_UPDATE_BYTES_MAX] = {2, 1, epoch};
    int32_t size = make_update(f, payload + 3, number, 0, host_time(f), 1.0);
    give_payload(f, payload, 3 + size);
}

static void one_packet_that_takes_an_owner_away_breaks_nothing(void **state)
{
    (void)state;
    Fixture f;
    open_client(&f);
    hear_all(&f);
    give_update(&f, 7, 0, host_time(&f), 1.0);
    FlEntityId id = fl_entity_of_number(f.session, 7);
    assert_int_equal(owner_of(f.session, 7), 0);
    assert_int_equal(fl_entity_attention(f.session, id, 1.0), FL_OK);
    give_epoch(&f, 7, 1);
    assert_int_equal(owner_of(f.session, 7), -1);
    assert_int_equal(fl_entity_attention(f.session, id, 0.5), FL_OK);
    hear_all(&f);
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(f.session, id, &status), FL_OK);
    assert_int_equal(status.owner.index1, 0);
    close_all(&f);
}

// What we own we give away ourselves, or the host says so: nobody else takes it from us.
static void its_maker_cannot_take_back_what_it_gave_to_us(void **state)
{
    (void)state;
    static Net net;
    NetWalk walk;
    open_net(&net, &walk, FL_TOPOLOGY_MESH);
    give_to(&net, &walk, SEER);
    run(&net, &walk, 100);
    FlSession *seer = net.node[SEER].session;
    FlEntityId id = net_entity(&net, SEER, walk.number);
    assert_true(fl_entity_is_ours(seer, id));
    uint64_t foreign = fl_session_count(seer, FL_SESSION_FOREIGN);
    int32_t line = inside_line_of(seer, net_number(&net, MAKER));
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(seer, id, &status), FL_OK);
    assert_int_equal(fl__entity_for(seer, line, walk.number, (uint16_t)(status.epoch + 1)),
                     FL__NONE);
    assert_int_equal(fl_session_count(seer, FL_SESSION_FOREIGN), foreign + 1);
    assert_true(fl_entity_is_ours(seer, id));
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_follows_to_the_next_owner_in_a_mesh),
        cmocka_unit_test(attention_follows_to_the_next_owner_in_a_hybrid),
        cmocka_unit_test(who_takes_over_finds_out_the_owner),
        cmocka_unit_test(one_packet_that_takes_an_owner_away_breaks_nothing),
        cmocka_unit_test(its_maker_cannot_take_back_what_it_gave_to_us),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
