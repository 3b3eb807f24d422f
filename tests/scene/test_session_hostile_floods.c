// A member that says what it may say, as much as it can of it, or with numbers that nobody would
// use: the others see and hear each other as they do without it.
//
// Node 0 hosts, the last one is hostile. Each flood is played against the same match in peace: how
// wrong the others see each other, how late events come, and what the host sends to one of them.
#define NET_FLIGHT 65536
#include "session_hostile.h"

#include "entity/fields.h"
#include "fairlead/fields.h"
#include "rewind/private.h"

enum {
    MEMBERS = 5,
    ATTACKER = MEMBERS - 1,
    FRAMES = 300,
    SETTLES = 100,
    OWN = 30,
    KIND = 5,
    TITLE = 200
};

typedef struct Match Match;
typedef void (*Flood)(Match *match);

typedef struct Limits {
    double upload_bytes_s; // 0: none
    const char *send;      // how the others' entities are distributed
} Limits;

struct Match {
    Net net;
    Hostile hostile;
    NetWalk walk[MEMBERS];
    FlEntityId own[OWN]; // the hostile one's
    int32_t frame;
    double error, delay; // sums
    int64_t looks, events;
    Flood always; // at each look at what it has to send, not only once a frame
};

// ---------------------------------------------------------------- a match

static void define_kind(FlSession *session)
{
    static const FlFieldDef fields[] = {
        {.name = "kills", .type = FL_FIELD_INT, .high = 60000},
        {.name = "title", .type = FL_FIELD_BYTES, .size = TITLE, .group = 1},
    };
    FlKindDef def = {.name = "tank", .fields = fields, .field_count = 2};
    FlError error;
    assert_int_equal(fl_kind_define(session, KIND, &def, &error), FL_OK);
}

static void open_match(Match *match, FlTopology topology, const Limits *limits, int32_t entities)
{
    memset(match, 0, sizeof *match);
    net_open(&match->net, 9, topology, false);
    match->net.def.input_bytes = 2;
    match->net.def.rewind_ns = FL_MS(300);
    match->net.def.member_entities = entities;
    match->net.def.upload_bytes_s = limits->upload_bytes_s;
    net_start_together(&match->net, MEMBERS);
    FlEntityDef def = fl_entity_def_default();
    def.kind = KIND;
    assert_int_equal(fl_send_parse(limits->send, &def.send), FL_OK);
    for (int32_t i = 0; i < MEMBERS; i++) {
        define_kind(match->net.node[i].session);
        assert_int_equal(net_walk_begin(&match->net, &match->walk[i], i, &def), FL_OK);
    }
    net_run(&match->net, match->net.now + FL_SEC(3));
    hostile_begin(&match->hostile, match->net.node[ATTACKER].session);
}

static void listen(Match *match, int32_t node)
{
    FlEvent event;
    FlCall call;
    FlSession *session = match->net.node[node].session;
    while (fl_event_take(session, &event) == FL_OK) {
        FlTime said;
        if (event.type == 1 && match->frame >= SETTLES) {
            memcpy(&said, event.bytes, sizeof said);
            match->delay += fl_span_seconds(match->net.now - said);
            match->events++;
        }
    }
    while (fl_call_take(session, &call) == FL_OK) {
    }
    net_drop_notices(session);
}

static void listen_at_once(Net *net, int32_t node)
{
    Match *match = (Match *)(void *)net; // whose first member it is
    if (node < ATTACKER) {
        listen(match, node);
    } else if (match->always != NULL && net_is_member(net, node)) {
        match->always(match);
    }
}

static void talk(Match *match, int32_t node)
{
    FlPeerId all = {0};
    uint8_t bytes[8];
    memcpy(bytes, &match->net.now, sizeof bytes);
    FlEvent event = {.type = 1, .delivery = FL_DELIVERY_ORDERED, .bytes = bytes, .count = 8};
    assert_int_equal(fl_event_send(match->net.node[node].session, all, &event), FL_OK);
}

static void look(Match *match, int32_t node)
{
    Net *net = &match->net;
    for (int32_t i = 0; i < ATTACKER; i++) {
        FlPose pose;
        FlEntityId id = net_entity(net, node, match->walk[i].number);
        if (i != node &&
            fl_entity_pose_at(net->node[node].session, net_local(net, node), id, &pose)) {
            FlVec3 truth = net_walk_at(&match->walk[i], net->now);
            match->error += hypot(pose.position.x - truth.x, pose.position.y - truth.y);
            match->looks++;
        }
    }
}

typedef struct Quality {
    double error_m, delay_s;
    double bytes_s; // that the host sends
    int64_t spins;
} Quality;

static Quality play(Match *match, Flood flood)
{
    Net *net = &match->net;
    int64_t bytes = net->bytes[0];
    int64_t spins = net->spins;
    net->before_pump = listen_at_once;
    for (match->frame = 0; match->frame < FRAMES; match->frame++) {
        int32_t f = match->frame;
        for (int32_t i = 0; i < ATTACKER; i++) {
            if ((f + 7 * i) % 20 == 0) {
                double angle = 0.37 * (f + 11 * i);
                match->walk[i].velocity = fl_vec3(8.0 * cos(angle), 8.0 * sin(angle), 0.0);
            }
            assert_int_equal(net_walk_step(net, &match->walk[i]), FL_OK);
            FlEntityId id = net_entity(net, i, match->walk[i].number);
            FlEntityId next = net_entity(net, i, match->walk[(i + 1) % ATTACKER].number);
            (void)!fl_entity_attention(net->node[i].session, next, 0.6);
            if ((f + i) % 25 == 0) {
                talk(match, i);
                (void)!fl_field_set_int(net->node[i].session, id, 0, f);
            }
        }
        if (flood != NULL && net_is_member(net, ATTACKER)) {
            flood(match);
        }
        net_frame(net);
        for (int32_t i = 0; i < ATTACKER && f >= SETTLES; i++) {
            look(match, i);
        }
    }
    Quality q = {match->error / (double)match->looks, match->delay / (double)match->events,
                 (double)(net->bytes[0] - bytes) / (FRAMES * NET_FRAME_MS * 1e-3),
                 net->spins - spins};
    return q;
}

// ---------------------------------------------------------------- floods

static void make_own(Match *match, const FlEntityDef *def)
{
    FlSession *session = match->net.node[ATTACKER].session;
    for (int32_t i = 0; i < OWN; i++) {
        if (match->own[i].index1 == 0) {
            match->own[i] = fl_entity_create(session, def);
        }
    }
}

static void move_own(Match *match)
{
    FlSession *session = match->net.node[ATTACKER].session;
    for (int32_t i = 0; i < OWN; i++) {
        FlState state = {.time = net_local(&match->net, ATTACKER)};
        state.position = fl_vec3(100.0 + i + match->frame % 7, match->frame % 5, 0.0);
        (void)!fl_entity_set(session, match->own[i], &state);
    }
}

// Thresholds that make every change worth an update, and silences of a nanosecond.
static void odd_traits(Match *match)
{
    FlEntityDef def = fl_entity_def_default();
    def.trigger.distance = 1e-300;
    def.trigger.angle = 1e-300;
    def.trigger.silence_ns = 1;
    make_own(match, &def);
    move_own(match);
}

// All it has jumps at each look, each time with a cut, which nobody may miss; distributed as
// `send`.
static void jumps(Match *match, const char *send)
{
    FlEntityDef def = fl_entity_def_default();
    FlSession *session = match->net.node[ATTACKER].session;
    assert_int_equal(fl_send_parse(send, &def.send), FL_OK);
    make_own(match, &def);
    for (int32_t i = 0; i < OWN; i++) {
        (void)!fl_entity_cut(session, match->own[i]);
    }
    move_own(match);
}

static void jumps_by_base(Match *match)
{
    jumps(match, "base");
}

static void jumps_by_equal(Match *match)
{
    jumps(match, "equal/3-50");
}

static void jumps_by_focus(Match *match)
{
    jumps(match, "focus");
}

static void jumps_by_focus_equal(Match *match)
{
    jumps(match, "focus+equal");
}

// Its states change all the time, and are as long as can be.
static void states(Match *match)
{
    FlEntityDef def = fl_entity_def_default();
    uint8_t bytes[FL_ENTITY_STATE_BYTES];
    memset(bytes, match->frame, sizeof bytes);
    make_own(match, &def);
    for (int32_t i = 0; i < OWN; i++) {
        (void)!fl_entity_state_set(match->net.node[ATTACKER].session, match->own[i], bytes,
                                   (int32_t)sizeof bytes);
    }
}

static void fields(Match *match)
{
    FlEntityDef def = fl_entity_def_default();
    uint8_t bytes[TITLE];
    memset(bytes, match->frame, sizeof bytes);
    def.kind = KIND;
    make_own(match, &def);
    for (int32_t i = 0; i < OWN; i++) {
        (void)!fl_field_set_bytes(match->net.node[ATTACKER].session, match->own[i], 1, bytes,
                                  TITLE);
    }
}

static void say_to_all(Match *match, const FlWriter *w)
{
    for (int32_t i = 0; i < ATTACKER; i++) {
        hostile_message(match->net.node[ATTACKER].session, net_number(&match->net, i), w);
    }
}

static void refreshes(Match *match)
{
    for (int32_t n = 0; n < 20; n++) {
        uint8_t bytes[8];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, MESSAGE_REFRESH, 8);
        fl_writer_put(&w, match->walk[n % ATTACKER].number, 16);
        say_to_all(match, &w);
    }
}

// A kind that is defined otherwise, and then as it was: all fields are due again.
static void kinds(Match *match)
{
    Fields *table = match->net.node[ATTACKER].session->entities->fields;
    FieldLayout other = *table->kind[KIND];
    for (int32_t n = 0; n < 10; n++) {
        uint8_t bytes[MESSAGE_SHORT];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        other.hash = table->kind[KIND]->hash + (n % 2 == 0 ? 1 : 0);
        fl__kind_message_write(&w, KIND, false, &other);
        say_to_all(match, &w);
    }
}

static void sections(Match *match, uint8_t *bytes, const FlWriter *w)
{
    assert_false(w->failed);
    for (int32_t i = 0; i < ATTACKER; i++) {
        hostile_section(&match->hostile, net_number(&match->net, i), bytes, fl_writer_size(w));
        net_pump(&match->net, ATTACKER);
    }
}

static void shown(Match *match)
{
    uint8_t bytes[HOSTILE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    for (int32_t n = 0; n < 4; n++) {
        ShownMessage m = {.one = true, .settings = {.def = fl_show_def_default()}};
        m.number = (uint16_t)match->walk[n % ATTACKER].number;
        m.settings.from = net_time(&match->net, ATTACKER);
        fl__shown_write(&w, &m);
    }
    sections(match, bytes, &w);
}

static void unreliable(Match *match)
{
    FlPeerId all = {0};
    uint8_t bytes[100] = {0};
    FlEvent event = {.type = 9, .delivery = FL_DELIVERY_UNRELIABLE, .bytes = bytes, .count = 100};
    event.priority = 255;
    for (int32_t n = 0; n < 25; n++) {
        (void)!fl_event_send(match->net.node[ATTACKER].session, all, &event);
        net_pump(&match->net, ATTACKER);
    }
}

// Reliable events of no bytes, as fast as its near host takes them: what is far from the host can
// have fewer of them under way.
static void send_small(Match *match, uint8_t channels)
{
    FlPeerId all = {0};
    FlEvent event = {.type = 9, .delivery = FL_DELIVERY_UNORDERED, .priority = 255};
    FlSession *session = match->net.node[ATTACKER].session;
    FlResult result = FL_OK;
    for (int32_t n = 0; n < 64 && result == FL_OK; n++) {
        event.channel = channels > 0 ? (uint8_t)(1 + n % channels) : 0;
        event.delivery = channels > 0 ? FL_DELIVERY_ORDERED : FL_DELIVERY_UNORDERED;
        result = fl_event_send(session, all, &event);
    }
}

static void small(Match *match)
{
    send_small(match, 0);
}

static void channels(Match *match)
{
    send_small(match, FL_EVENT_CHANNELS - 1);
}

// As much as it may in two seconds, at once; then nothing, and again.
static void bursts(Match *match)
{
    static const uint8_t bytes[FL_EVENT_BYTES];
    FlPeerId all = {0};
    FlEvent event = {.type = 9, .delivery = FL_DELIVERY_ORDERED, .bytes = bytes};
    event.count = FL_EVENT_BYTES;
    for (int32_t n = 0; n < 32 && match->frame % 110 == 0; n++) {
        (void)!fl_event_send(match->net.node[ATTACKER].session, all, &event);
    }
}

// Calls on all that others have, and answers to calls that nobody made.
static void calls(Match *match)
{
    FlSession *session = match->net.node[ATTACKER].session;
    uint16_t self = (uint16_t)inside_self(session);
    FlTime until = net_time(&match->net, ATTACKER) + FL_SEC(2);
    for (int32_t i = 0; i < ATTACKER; i++) {
        uint8_t bytes[128];
        FlWriter w;
        FlCallMessage call = {.key = {(uint32_t)match->net.datagrams, self,
                                      (uint8_t)inside_incarnation(session, self)},
                              .number = (uint16_t)match->walk[i].number,
                              .kind = 700,
                              .until = until - until % FL_US(250)};
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, MESSAGE_CALL, 8);
        fl__call_message_write(&w, &call);
        hostile_message(session, net_number(&match->net, 0), &w);
        uint16_t to = (uint16_t)net_number(&match->net, i);
        FlAnswerMessage answer = {
            .key = {(uint32_t)match->net.datagrams, to, (uint8_t)inside_incarnation(session, to)},
            .number = (uint16_t)match->walk[ATTACKER].number};
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, MESSAGE_ANSWER, 8);
        fl__answer_message_write(&w, &answer);
        hostile_message(session, net_number(&match->net, 0), &w);
    }
}

// Many inputs, and of ticks that nobody is at.
static void inputs(Match *match)
{
    static const uint8_t idle[400];
    uint8_t bytes[HOSTILE_BYTES] = {0};
    FlWriter w;
    FlSession *session = match->net.node[ATTACKER].session;
    int32_t self = inside_self(session);
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, SECTION_INPUTS, 8);
    fl_writer_put(&w, (uint64_t)self, 16);
    fl_writer_put(&w, inside_incarnation(session, self) & 0xffu, 8);
    fl_writer_put(&w, 200u * (uint32_t)match->frame + 0x70000000u * (uint32_t)(match->frame % 2),
                  32);
    fl_writer_put(&w, 200, 8);
    fl_writer_bytes(&w, idle, sizeof idle);
    sections(match, bytes, &w);
}

static void reaches(Match *match)
{
    for (int32_t n = 0; n < 20; n++) {
        FlSession *session = match->net.node[ATTACKER].session;
        int32_t member = net_number(&match->net, 1 + n % (ATTACKER - 1));
        ReachMessage m = {.member = (uint16_t)member,
                          .incarnation = inside_incarnation(session, member),
                          .direct = n / 3 % 2 == 0};
        uint8_t bytes[16];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__reach_message_write(&w, &m);
        hostile_message(session, net_number(&match->net, 0), &w);
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__want_message_write(&w, (uint16_t)member);
        hostile_message(session, net_number(&match->net, 0), &w);
    }
}

// An entity that some see, and then not.
static void scopes(Match *match)
{
    FlEntityDef def = fl_entity_def_default();
    def.private_scope = true;
    make_own(match, &def);
    for (int32_t i = 0; i < OWN; i++) {
        for (int32_t to = 0; to < ATTACKER; to++) {
            (void)!fl_entity_scope(match->net.node[ATTACKER].session,
                                   net_local(&match->net, ATTACKER), match->own[i],
                                   net_peer(&match->net, ATTACKER, to), match->frame % 2 == 0);
        }
    }
    move_own(match);
}

// Gifts to everybody, and new ones for what was given away.
static void gifts(Match *match)
{
    FlEntityDef def = fl_entity_def_default();
    FlSession *session = match->net.node[ATTACKER].session;
    for (int32_t i = 0; i < OWN; i++) {
        int32_t to = (match->frame + i) % ATTACKER;
        if (!fl_entity_is_ours(session, match->own[i])) {
            match->own[i] = fl_entity_create(session, &def);
        }
        (void)!fl_entity_give(session, net_local(&match->net, ATTACKER), match->own[i],
                              net_peer(&match->net, ATTACKER, to));
    }
}

static void welcomes(Match *match)
{
    const FlSession *session = match->net.node[ATTACKER].session;
    for (int32_t i = 0; i < ATTACKER; i++) {
        uint8_t bytes[64];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_writer_put(&w, SECTION_WELCOME, 8);
        fl_writer_put(&w, (uint64_t)match->frame * 1000000u, 64);
        fl_writer_put(&w, (uint64_t)net_number(&match->net, i), 16);
        fl_writer_put(&w, (uint64_t)session->seat_count, 16);
        fl_writer_put(&w, (uint64_t)inside_self(session), 16);
        fl_writer_put(&w, (uint64_t)session->topology, 8);
        fl_writer_put(&w, session->id_range, 32);
        fl_writer_put(&w, (uint64_t)(session->term + match->frame) & 0xffffu, 16);
        hostile_section(&match->hostile, net_number(&match->net, i), bytes, fl_writer_size(&w));
        net_pump(&match->net, ATTACKER);
    }
}

// It comes and goes: as soon as it is in it leaves, and joins again.
static void comes_and_goes(Match *match)
{
    Net *net = &match->net;
    if (net_in(net, ATTACKER)) {
        fl_session_leave(net->node[ATTACKER].session, net_local(net, ATTACKER));
        net_pump(net, ATTACKER);
        assert_int_equal(net_begin(net, ATTACKER, 0), FL_OK);
    }
}

// ---------------------------------------------------------------- all of them

typedef struct Case {
    const char *name;
    Flood flood;
    int32_t entities; // that a member may have at most
    bool near;        // it is near the host, and acts at each look
    double most;      // where bytes are short: others' error and delays, of those in peace
} Case;

static const Case FLOODS[] = {
    {"traits", odd_traits, 64, false, 1.1},
    {"jumps", jumps_by_base, 64, true, 1.1},
    {"jumps by equal", jumps_by_equal, 64, true, 1.1},
    {"jumps by focus", jumps_by_focus, 64, true, 1.1},
    {"jumps by focus+equal", jumps_by_focus_equal, 64, true, 1.1},
    {"states", states, 64, false, 1.1},
    {"fields", fields, 64, false, 1.1},
    {"refresh", refreshes, 64, false, 1.1},
    {"kinds", kinds, 64, false, 1.1},
    {"shown", shown, 64, false, 1.1},
    {"unreliable", unreliable, 64, false, 1.1},
    {"small events", small, 64, true, 1.1},
    {"channels", channels, 64, true, 1.1},
    {"calls", calls, 64, true, 1.1},
    {"bursts", bursts, 64, true, 1.4},
    {"inputs", inputs, 64, false, 1.1},
    {"reach", reaches, 64, false, 1.1},
    {"scopes", scopes, 64, false, 1.1},
    {"gifts", gifts, 64, false, 1.1},
    {"welcomes", welcomes, 64, false, 1.1},
    {"coming and going", comes_and_goes, 64, false, 1.1},
};

static Quality play_match(FlTopology topology, const Limits *limits, const Case *one, bool *good)
{
    static Match match;
    open_match(&match, topology, limits, one->entities);
    if (one->near) {
        FlImpairSettings near = net_fair();
        near.delay_ns = FL_MS(1);
        net_ways(&match.net, 0, ATTACKER, &near);
        match.always = one->flood;
        match.hostile.session->def.upload_bytes_s = 0.0; // which it does not keep to
    }
    Quality q = play(&match, one->flood);
    print_message("             %s: %.4f m, %.1f ms, the host sends %.0f bytes/s%s\n", one->name,
                  q.error_m, 1e3 * q.delay_s, q.bytes_s,
                  net_is_member(&match.net, ATTACKER) ? "" : ", sent away");
    *good = *good && q.spins == 0;
    for (int32_t i = 0; i < ATTACKER; i++) {
        *good = *good && net_is_member(&match.net, i) &&
                fl_peer_count(match.net.node[i].session) >= ATTACKER - 1;
    }
    net_close(&match.net);
    return q;
}

// Those whose names begin so.
static void play_all(FlTopology topology, const Limits *limits, const char *names, double error)
{
    static const Case none = {"in peace", NULL, 64, false, 1.0};
    bool good = true;
    Quality peace = play_match(topology, limits, &none, &good);
    for (size_t i = 0; i < sizeof FLOODS / sizeof FLOODS[0]; i++) {
        if (strncmp(FLOODS[i].name, names, strlen(names)) == 0) {
            Quality war = play_match(topology, limits, &FLOODS[i], &good);
            double most = limits->upload_bytes_s > 0.0 ? FLOODS[i].most : 1.1;
            good = good && war.error_m < fmax(error, most) * peace.error_m;
            good = good && war.delay_s < most * peace.delay_s;
        }
    }
    assert_true(good);
}

static void no_flood_disturbs_the_others(void **state)
{
    static const Limits none = {0.0, "base"};
    play_all(net_topology(state), &none, "", 1.1);
}

// An upload of three times what is needed in peace. A kilobyte to all takes a third of a second of
// it: what comes behind it in order waits for it, and it may come once a second.
static void no_flood_disturbs_the_others_where_bytes_are_short(void **state)
{
    static const Limits tight = {15000.0, "base"};
    play_all(net_topology(state), &tight, "", 1.1);
}

// Frames begin when something is new: with others' updates they are a moment too early for one's
// own.
static void no_motion_takes_the_bytes_of_frames(void **state)
{
    static const Limits focus = {15000.0, "focus"};
    static const Limits focus_equal = {15000.0, "focus+equal"};
    play_all(net_topology(state), &focus, "jumps", 1.2);
    play_all(net_topology(state), &focus_equal, "jumps", 1.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGY(no_flood_disturbs_the_others, "star"),
        NET_TOPOLOGY(no_flood_disturbs_the_others, "mesh"),
        NET_TOPOLOGY(no_flood_disturbs_the_others_where_bytes_are_short, "star"),
        NET_TOPOLOGY(no_motion_takes_the_bytes_of_frames, "star"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
