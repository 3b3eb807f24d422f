// A member that takes part, but acknowledges nothing, lies about what it has received or looks at
// everything, makes no one else wait and takes no one else's updates.
//
// Node 0 hosts, the last one is hostile.
#include "link/link.h"
#include "session_hostile.h"

#include "link/link.h"

enum { MEMBERS = 5, ATTACKER = MEMBERS - 1, ACTIONS_EVERY = 1 /* frames */ };

// ---------------------------------------------------------------- acknowledging nothing

typedef struct Waits {
    Net net;
    int32_t sent, refused, taken, events_sent, events_refused;
    FlTime worst, event_worst; // how late an action or event came
} Waits;

static void act_and_talk(Waits *w, int32_t node)
{
    FlSession *session = w->net.node[node].session;
    FlResult result = fl_action_send(session, net_local(&w->net, node), 1, &w->net.now, 8);
    w->sent += result == FL_OK ? 1 : 0;
    w->refused += result == FL_OK ? 0 : 1;
    FlPeerId all = {0};
    FlEvent event = {.type = 1, .delivery = FL_DELIVERY_ORDERED, .bytes = (uint8_t *)&w->net.now};
    event.count = 8;
    result = fl_event_send(session, all, &event);
    w->events_sent += result == FL_OK ? 1 : 0;
    w->events_refused += result == FL_OK ? 0 : 1;
}

static void take_all(Waits *w, int32_t node)
{
    FlSession *session = w->net.node[node].session;
    FlAction action;
    FlEvent event;
    FlTime at;
    while (fl_action_take(session, net_local(&w->net, node), &action) == FL_OK) {
        memcpy(&at, action.bytes, sizeof at);
        w->taken++;
        w->worst = w->net.now - at > w->worst ? w->net.now - at : w->worst;
    }
    while (fl_event_take(session, &event) == FL_OK) {
        memcpy(&at, event.bytes, sizeof at);
        w->event_worst = w->net.now - at > w->event_worst ? w->net.now - at : w->event_worst;
    }
    net_drop_notices(session);
}

// Nothing gets to the hostile one any more, but what it sends arrives: it acknowledges nothing and
// is there.
static void who_acknowledges_nothing_holds_up_nobody(void **state)
{
    static Waits w;
    memset(&w, 0, sizeof w);
    net_open(&w.net, 31, net_topology(state), true);
    w.net.def.action_capacity = 256;
    net_start_together(&w.net, MEMBERS);
    net_run(&w.net, w.net.now + FL_SEC(6));
    for (int32_t f = 0; f < 900; f++) {
        for (int32_t i = 0; i < ATTACKER; i++) {
            if (f == 100) {
                net_way(&w.net, i, ATTACKER, NULL);
            }
            if ((f + i) % ACTIONS_EVERY == 0) {
                act_and_talk(&w, i);
            }
        }
        net_frame(&w.net);
        for (int32_t i = 0; i < ATTACKER; i++) {
            take_all(&w, i);
        }
    }
    print_message("             %d actions, %d refused, %d taken, at most %.0f ms late; %d events, "
                  "%d refused, at most %.0f ms late\n",
                  w.sent, w.refused, w.taken, 1e3 * fl_span_seconds(w.worst), w.events_sent,
                  w.events_refused, 1e3 * fl_span_seconds(w.event_worst));
    assert_int_equal(w.refused, 0);
    assert_int_equal(w.events_refused, 0);
    assert_true(w.worst < FL_MS(500) && w.event_worst < FL_MS(500));
    net_close(&w.net);
}

// ---------------------------------------------------------------- lies about what it sees

enum { FRAMES = 1500, SETTLES = 250 };

typedef enum Lie {
    LIE_NONE,
    LIE_ARRIVALS,  // by a clock offset that is wrong
    LIE_ATTENTION, // it looks at everything
    LIE_FLOOD,     // as many packets as it can send
    LIE_FAR,       // it pretends to be 700 ms away
} Lie;

typedef struct Shares {
    Net net;
    Hostile hostile;
    NetWalk walk[MEMBERS];
    Lie lie;
    double error;
    int64_t looks;
} Shares;

static void say_clock_offset(Shares *s, int32_t to, int32_t frame)
{
    uint8_t bytes[32];
    FlWriter w;
    int32_t connection = inside_line_of(s->hostile.session, to);
    if (connection == FL__NONE) {
        return;
    }
    FlTime clock = fl__link_clock(fl__connection_link(s->hostile.session, connection),
                                  net_local(&s->net, ATTACKER));
    FlTime offset = net_time(&s->net, ATTACKER) - clock + FL_MS(frame % 3 * 90 - 30);
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, SECTION_CLOCK_OFFSET, 8);
    fl_writer_put(&w, 1, 8);
    fl_writer_put(&w, 1000u + (uint32_t)frame, 32);
    fl_writer_put(&w, 0, 40);
    fl_writer_put(&w, (uint64_t)offset, 64);
    hostile_section(&s->hostile, to, bytes, fl_writer_size(&w));
}

static void say_attention(Shares *s, int32_t to, int32_t value)
{
    uint8_t bytes[8];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, SECTION_ATTENTION, 8);
    fl_writer_put(&w, 1, 8);
    fl_writer_put(&w, s->walk[0].number, 16);
    fl_writer_put(&w, (uint64_t)value, 8);
    hostile_section(&s->hostile, to, bytes, fl_writer_size(&w));
}

static void look_at(Shares *s, int32_t node)
{
    FlSession *session = s->net.node[node].session;
    for (int32_t i = 0; i < MEMBERS; i++) {
        FlEntityId id = net_entity(&s->net, node, s->walk[i].number);
        bool liar = node == ATTACKER && s->lie == LIE_ATTENTION;
        (void)!fl_entity_attention(session, id,
                                   liar                         ? 1.0
                                   : i == (node + 1) % ATTACKER ? 0.6
                                                                : 0.0);
    }
}

static void see(Shares *s, int32_t at)
{
    for (int32_t of = 0; of < ATTACKER; of++) {
        FlPose pose;
        FlEntityId id = net_entity(&s->net, at, s->walk[of].number);
        FlSession *session = s->net.node[at].session;
        if (of != at && fl_entity_pose_at(session, net_local(&s->net, at), id, &pose)) {
            FlVec3 truth = net_walk_at(&s->walk[of], s->net.now);
            s->error += hypot(pose.position.x - truth.x, pose.position.y - truth.y);
            s->looks++;
        }
    }
}

static void begin_shares(Shares *s, FlTopology topology, const char *policy, Lie lie)
{
    memset(s, 0, sizeof *s);
    s->lie = lie;
    net_open(&s->net, 32, topology, true);
    s->net.def.upload_bytes_s = 12000.0; // twice what it takes
    net_start_together(&s->net, MEMBERS);
    FlEntityDef def = fl_entity_def_default();
    assert_int_equal(fl_send_parse(policy, &def.send), FL_OK);
    def.send.share_cap = 1.0 / ATTACKER;
    for (int32_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(net_walk_begin(&s->net, &s->walk[i], i, &def), FL_OK);
    }
    net_run(&s->net, s->net.now + FL_SEC(3));
    hostile_begin(&s->hostile, s->net.node[ATTACKER].session);
    s->hostile.session->def.upload_bytes_s = 0.0; // which it does not keep to
    FlImpairSettings far = net_fair();
    far.delay_ns = FL_MS(700);
    for (int32_t i = 0; i < ATTACKER && lie == LIE_FAR; i++) {
        net_ways(&s->net, i, ATTACKER, &far);
    }
}

// What the others see of each other, m.
static double mean_error(FlTopology topology, const char *policy, Lie lie)
{
    static Shares s;
    begin_shares(&s, topology, policy, lie);
    int64_t before = s.net.sent[0][ATTACKER];
    for (int32_t f = 0; f < FRAMES; f++) {
        for (int32_t i = 0; i < MEMBERS; i++) {
            if ((f + 3 * i) % 12 == 0) {
                double angle = 0.7 * (f + 5 * i);
                s.walk[i].velocity = fl_vec3(9.0 * cos(angle), 9.0 * sin(angle), 0.0);
            }
            assert_int_equal(net_walk_step(&s.net, &s.walk[i]), FL_OK);
            look_at(&s, i);
        }
        if (lie == LIE_ARRIVALS) {
            say_clock_offset(&s, net_number(&s.net, f % ATTACKER), f);
        }
        for (int32_t n = 0; n < NET_FRAME_MS; n++) {
            if (lie == LIE_FLOOD) {
                say_attention(&s, net_number(&s.net, n % 2 == 0 ? 0 : n % ATTACKER), n % 200);
            }
            net_run(&s.net, s.net.now + FL_MS(1));
        }
        for (int32_t at = 0; at < ATTACKER && f > SETTLES; at++) {
            see(&s, at);
        }
    }
    // Whatever it sends, it gets no more than so many packets back.
    assert_true(s.net.sent[0][ATTACKER] - before < 60 * FRAMES * NET_FRAME_MS / 1000);
    net_close(&s.net);
    return s.error / (double)s.looks;
}

static void who_lies_about_what_it_sees_takes_little_from_the_others(void **state)
{
    static const char *const policies[] = {"base", "equal/3-50", "focus", "focus+equal"};
    FlTopology topology = net_topology(state);
    for (int32_t p = 0; p < 4; p++) {
        double honest = mean_error(topology, policies[p], LIE_NONE);
        double arrivals = mean_error(topology, policies[p], LIE_ARRIVALS);
        double attention = mean_error(topology, policies[p], LIE_ATTENTION);
        double flood = mean_error(topology, policies[p], LIE_FLOOD);
        double far = mean_error(topology, policies[p], LIE_FAR);
        print_message("             %-11s %.4f m; lies about arrivals %.4f, attention %.4f, floods "
                      "%.4f, seems far away %.4f\n",
                      policies[p], honest, arrivals, attention, flood, far);
        assert_true(arrivals < 1.1 * honest && attention < 1.1 * honest);
        assert_true(flood < 1.1 * honest && far < 1.15 * honest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(who_acknowledges_nothing_holds_up_nobody),
        NET_TOPOLOGY(who_lies_about_what_it_sees_takes_little_from_the_others, "star"),
        NET_TOPOLOGY(who_lies_about_what_it_sees_takes_little_from_the_others, "mesh"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
