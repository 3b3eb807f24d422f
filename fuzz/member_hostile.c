// What the hostile one says: everything laid out as it should be, with numbers that mean something,
// and then perhaps spoilt.
#include "member_scene.h"

#include "agree/private.h"
#include "rewind/private.h"

// Layouts of messages after their kind, one letter a field:
//   m member, i incarnation, n entity, e epoch (16 bits), f epoch (8 bits), o octet, b 0 or 1,
//   w 16 bits, d 32, q 64, u session time in 0.25 ms (40 bits), s counted bytes, * bytes to the
//   end, r the rest of a routed head, T traits, A an address, D decided calls, K a kind of
//   entities, 1 one, 4 four, k a tick (32 bits), t local time in ns (64 bits), L lags, W a welcome,
//   S settings of a screen, B 0 to 3
static const char *const messages[] = {
    [MESSAGE_MEMBER] = "mibq",     [MESSAGE_PLAN] = "o",
    [MESSAGE_MEET] = "mibwA*",     [MESSAGE_REACH] = "mib",
    [MESSAGE_WANT] = "m",          [MESSAGE_ENTITY] = "neemT",
    [MESSAGE_ENTITY_END] = "ne",   [MESSAGE_GIVE] = "nem",
    [MESSAGE_SCOPE] = "nemB",      [MESSAGE_ASK] = "wb",
    [MESSAGE_CLAIM] = "nembws",    [MESSAGE_CLAIMED] = "w",
    [MESSAGE_CALL] = "modnewuo*",  [MESSAGE_ANSWER] = "modneows",
    [MESSAGE_HANDOVER] = "neewsD", [MESSAGE_EVENT] = "rw*",
    [MESSAGE_LAGS] = "rL",         [MESSAGE_ACTION] = "r4dttw*",
    [MESSAGE_HASHES] = "rko*",     [MESSAGE_TICK_RANGE] = "rooBkkw*",
    [MESSAGE_ENTER] = "rook",      [MESSAGE_SNAPSHOT] = "rqd*",
    [MESSAGE_KIND] = "Kbdws*",     [MESSAGE_REFRESH] = "n",
};

static const char *const sections[] = {
    [SECTION_STATE] = "nfws",          [SECTION_INPUTS] = "moko*",   [SECTION_WELCOME] = "W",
    [SECTION_CLOCK_OFFSET] = "oduoq",  [SECTION_REPORT] = "nwddwo*", [SECTION_ATTENTION] = "1no",
    [SECTION_GUIDED] = "on*",          [SECTION_NEAR] = "1no",       [SECTION_FIELDS] = "nfwK*",
    [SECTION_UNRELIABLE] = "moowwbms", [SECTION_SHOWN] = "S",        [SECTION_OWN] = "kowww*",
    [SECTION_FORWARD] = "1nm",         [SECTION_SPARE] = "o",
};

static uint32_t pick_number(const Scene *scene, Script *script)
{
    uint8_t which = script_take(script);
    return which < 160   ? scene->node[which % NODES].number
           : which < 200 ? scene->ball
           : which < 220 ? scene->node[which % NODES].tank_number
                         : which % NUMBERS;
}

static int32_t pick_member(const Scene *scene, Script *script)
{
    uint8_t which = script_take(script);
    return which < 240 ? scene->node[which % NODES].member : which;
}

static uint64_t epoch_of(const Scene *scene, uint32_t number, uint8_t how)
{
    FlEntityStatus status = {0};
    FlSession *session = scene->node[HOSTILE].session;
    (void)!fl_entity_status(session, fl_entity_of_number(session, number), &status);
    return (uint64_t)(status.epoch + how % 4);
}

static void put_bytes(Script *script, FlWriter *w, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        fl_writer_put(w, script_take(script), 8);
    }
}

// A number that no honest one would say, now and then.
static double odd_double(uint8_t how, double usual)
{
    static const double odd[] = {1e-300, 1e300, 0.0, -1.0};
    return how < 200 ? usual : how < 204 ? odd[how % 4] : how / 256.0;
}

static void put_traits(Script *script, FlWriter *w)
{
    FlEntityDef def = fl_entity_def_default();
    uint8_t how = script_take(script);
    static const char *const policies[] = {"base", "equal/2-50", "focus", "focus+equal"};
    def.private_scope = how % 4 == 1;
    def.survives_owner = how % 4 == 2;
    if (how >= 128) {
        (void)!fl_send_parse(policies[how / 8 % 4], &def.send);
        def.kind = how % 2 == 0 ? SORT : 0;
        def.trigger.distance = odd_double(script_take(script), def.trigger.distance);
        def.trigger.angle = odd_double(script_take(script), def.trigger.angle);
        uint8_t silence = script_take(script);
        def.trigger.silence_ns = silence < 128 ? def.trigger.silence_ns : silence - 128;
        def.send.longest_ns = silence % 8 == 0 ? 1 : def.send.longest_ns;
    }
    uint8_t traits[TRAIT_BYTES];
    int32_t count = fl__traits_write(&def, traits);
    fl_writer_put(w, how / 4 % 8, 8);
    fl_writer_put(w, (uint64_t)count, 8);
    fl_writer_bytes(w, traits, count);
}

// A probe, a vector or READY.
static void put_lags(const Scene *scene, Script *script, FlWriter *w)
{
    uint8_t how = script_take(script);
    FlLagsStatus status = {0};
    FlSession *session = scene->node[HOSTILE].session;
    (void)!fl_session_lags(session, scene->now, &status);
    int32_t self = inside_self(session) >= 0 ? inside_self(session) : HOSTILE;
    Fl__LagsBody body = {.kind = (Fl__LagsKind)(FL__LAGS_PROBE + how % 3), .asks = how % 2 == 1};
    body.stamp = scene->now + FL_MS(16) * (how - 128);
    body.round = body.vector.round = status.round + 1 + script_take(script) % 4;
    body.vector.members = status.members ^ (how >= 240 ? 1u << how % 8 : 0);
    body.vector.members |= UINT64_C(1) << self;
    body.vector.plays = (uint8_t)(how / 8 % 3);
    body.vector.asks = how % 2 == 1;
    for (int32_t i = 0; i < PLACES; i++) {
        body.vector.v[i] = FL_MS(8) * (script_take(script) - 16);
    }
    fl__lags_write(w, self, &body);
}

static void put_welcome(const Scene *scene, Script *script, FlWriter *w)
{
    const FlSession *session = scene->node[HOSTILE].session;
    fl_writer_put(w, (uint64_t)(FL_MS(1) * script_take(script)), 64);
    fl_writer_put(w, (uint64_t)pick_member(scene, script), 16);
    fl_writer_put(w, (uint64_t)session->seat_count, 16);
    fl_writer_put(w, (uint64_t)pick_member(scene, script), 16);
    fl_writer_put(w, (uint64_t)session->topology, 8);
    fl_writer_put(w, session->id_range, 32);
    fl_writer_put(w, (uint64_t)(session->term + script_take(script) % 4 - 1) & 0xffffu, 16);
}

// Without the kind, which fl__shown_write puts before.
static void put_shown(const Scene *scene, Script *script, FlWriter *w)
{
    uint8_t how = script_take(script);
    ShownMessage m = {.one = how % 2 == 1, .settings = {.def = fl_show_def_default()}};
    m.number = m.one ? (uint16_t)pick_number(scene, script) : 0;
    m.settings.from = fl_session_time(scene->node[HOSTILE].session, scene->now) - FL_MS(how);
    m.settings.def.hold = (FlHold)(how / 2 % 4);
    m.settings.def.placement = (FlPlacement)(how / 8 % 5);
    m.settings.def.delta_ns = FL_MS(8) * script_take(script);
    m.settings.change_count = m.settings.def.hold == FL_HOLD_ADAPTIVE ? how / 64 : 0;
    for (int32_t i = 0; i < m.settings.change_count; i++) {
        m.settings.changes[i].from = m.settings.from + FL_MS(40) * i;
        m.settings.changes[i].delta_ns = FL_MS(4) * script_take(script);
    }
    uint8_t bytes[256];
    FlWriter whole;
    fl_writer_init(&whole, bytes, sizeof bytes);
    fl__shown_write(&whole, &m);
    fl_writer_bytes(w, bytes + 1, fl_writer_size(&whole) - 1);
}

static void put_route(const Scene *scene, Script *script, FlWriter *w)
{
    uint8_t how = script_take(script);
    fl_writer_put(w, (uint64_t)pick_member(scene, script), 16);
    fl_writer_put(w, how % 4, 8);
    fl_writer_put(w, how / 4 % 3, 8);
    for (int32_t i = how / 4 % 3; i > 0; i--) {
        fl_writer_put(w, (uint64_t)pick_member(scene, script), 16);
    }
}

static void put_field(const Scene *scene, Script *script, FlWriter *w, char field, uint32_t *number)
{
    FlSession *session = scene->node[HOSTILE].session;
    static const int32_t widths[] = {['o'] = 8, ['w'] = 16, ['d'] = 32, ['q'] = 64};
    uint64_t time = (uint64_t)(fl_session_time(session, scene->now) / FL_US(250));
    switch (field) {
    case 'm':
        fl_writer_put(w, (uint64_t)pick_member(scene, script), 16);
        break;
    case 'i':
        fl_writer_put(w, 1 + script_take(script) % 3u, 32);
        break;
    case 'n':
        *number = pick_number(scene, script);
        fl_writer_put(w, *number, 16);
        break;
    case 'e':
    case 'f':
        fl_writer_put(w, epoch_of(scene, *number, script_take(script)), field == 'e' ? 16 : 8);
        break;
    case 'b':
        fl_writer_put(w, script_take(script) % 2, 8);
        break;
    case 'u':
        fl_writer_put(w, (time + 40u * script_take(script)) & 0xffffffffffu, 40);
        break;
    case 's': {
        int32_t count = script_take(script) % 8;
        fl_writer_put(w, (uint64_t)count, 8);
        put_bytes(script, w, count);
        break;
    }
    case '*':
        put_bytes(script, w, script_take(script) % 40);
        break;
    case 'K':
        fl_writer_put(w, script_take(script) % 8 == 0 ? 9 : SORT, 8);
        break;
    case 'r':
        put_route(scene, script, w);
        break;
    case 'T':
        put_traits(script, w);
        break;
    case 'L':
        put_lags(scene, script, w);
        break;
    case 'W':
        put_welcome(scene, script, w);
        break;
    case 'S':
        put_shown(scene, script, w);
        break;
    case '1':
    case '4':
        fl_writer_put(w, (uint64_t)(field - '0'), 8);
        break;
    case 'B':
        fl_writer_put(w, script_take(script) % 4, 8);
        break;
    case 'k':
        fl_writer_put(w, (uint64_t)(scene->tick + script_take(script) - 128) & UINT32_MAX, 32);
        break;
    case 't':
        fl_writer_put(w, (uint64_t)(scene->now + FL_MS(16) * (script_take(script) - 64)), 64);
        break;
    case 'A':
        fl_writer_put(w, 4, 8);
        fl_writer_put(w, 0x0100000au + ((uint64_t)(script_take(script) % NODES) << 24), 32);
        fl_writer_put(w, 4000, 16);
        break;
    case 'D':
        fl_writer_put(w, 1, 8);
        fl_writer_put(w, (uint64_t)pick_member(scene, script), 16);
        fl_writer_put(w, script_take(script), 40);
        fl_writer_put(w, script_take(script) % 2, 8);
        fl_writer_put(w, time + 400, 40);
        break;
    default: {
        uint64_t value = script_take(script);
        int32_t shift = value >= 240 ? script_take(script) % widths[(uint8_t)field] : 0;
        fl_writer_put(w, value << shift & UINT64_MAX >> (64 - widths[(uint8_t)field]),
                      widths[(uint8_t)field]);
        break;
    }
    }
}

static void put_fields(const Scene *scene, Script *script, FlWriter *w, const char *layout)
{
    uint32_t number = 0;
    for (; layout != NULL && *layout != 0; layout++) {
        put_field(scene, script, w, *layout, &number);
    }
}

static void spoil(Script *script, uint8_t *bytes, int32_t count)
{
    for (int32_t n = script_take(script) % 8 - 5; n > 0 && count > 0; n--) {
        int32_t at = (script_take(script) | script_take(script) << 8) % count;
        bytes[at] ^= script_take(script);
    }
}

void member_say_message(Scene *scene, Script *script)
{
    FlSession *session = scene->node[HOSTILE].session;
    uint8_t bytes[SECTION_BYTES];
    FlWriter w;
    int32_t to = pick_member(scene, script);
    uint8_t which =
        script_take(script); // the newer kinds come last: older scripts stay what they were
    uint8_t kind = which >= 250   ? MESSAGE_KIND
                   : which >= 244 ? MESSAGE_REFRESH
                                  : 1 + which % MESSAGE_SNAPSHOT;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, kind, 8);
    put_fields(scene, script, &w, messages[kind]);
    CHECK(!w.failed);
    spoil(script, bytes, fl_writer_size(&w));
    if (to < NODES && inside_line_of(session, to) != FL__NONE) {
        (void)!inside_say(session, to, &w);
    }
}

static void put_motion(const Scene *scene, Script *script, FlWriter *w, bool epochs)
{
    uint32_t number = pick_number(scene, script);
    fl_writer_put(w, 1, 8);
    if (epochs) {
        fl_writer_put(w, epoch_of(scene, number, script_take(script)) & 0xffu, 8);
    }
    FlState state = {.time = fl_session_time(scene->node[HOSTILE].session, scene->now)};
    state.time += ((FlTime)script_take(script) - 128) * FL_MS(4);
    state.position.x = ((double)script_take(script) - 128.0) * 8.0;
    FlUpdate update = {number, script_take(script) % 4u, fl_motion_make(FL_MODEL_LINEAR, &state)};
    (void)fl_update_encode(w, &scene->node[HOSTILE].session->world, &update);
}

void member_say_section(Scene *scene, Script *script)
{
    FlSession *session = scene->node[HOSTILE].session;
    FlWriter w;
    scene->section_to = pick_member(scene, script);
    fl_writer_init(&w, scene->section, sizeof scene->section);
    for (int32_t n = 1 + script_take(script) % 3; n > 0; n--) {
        uint8_t which = script_take(script); // the newer kinds come last
        uint8_t kind = which >= 240   ? SECTION_FIELDS
                       : which >= 230 ? SECTION_UNRELIABLE
                       : which >= 200 ? (uint8_t)(SECTION_SHOWN + which % 7)
                                      : 1 + which % SECTION_NEAR;
        fl_writer_put(&w, kind, 8);
        if (kind <= SECTION_MOTION_EPOCH || kind == SECTION_CARRIED) {
            put_motion(scene, script, &w, kind != SECTION_MOTION);
        } else {
            put_fields(scene, script, &w, sections[kind]);
        }
    }
    scene->section_count = w.failed ? 0 : fl_writer_size(&w);
    spoil(script, scene->section, scene->section_count);
    int32_t line =
        scene->section_to < NODES ? inside_line_of(session, scene->section_to) : FL__NONE;
    if (line != FL__NONE) {
        fl__connection_wake(session, line);
    }
}

// Over a light connection of a crowd that is not sealed: a packet with its next number.
void member_say_light(Scene *scene, Script *script)
{
    Datagram d = {.from = HOSTILE, .to = scene->light_to, .port = scene->node[HOSTILE].port};
    FlWriter w;
    fl_writer_init(&w, d.bytes, 400);
    fl_writer_put(&w, 5u << 16, 24);
    fl_writer_bytes(&w, scene->light, 2);
    fl_writer_put(&w, script_take(script) * 8u, 16);
    for (int32_t n = 1 + script_take(script) % 3; n > 0; n--) {
        uint8_t kind = 1 + script_take(script) % 6;
        static const char *const layouts[] = {"", "wooww", "o", "", "mom", "mom", ""};
        fl_writer_put(&w, kind, 8);
        if (kind == 2 || kind == 3) {
            put_motion(scene, script, &w, false);
        } else {
            put_fields(scene, script, &w, layouts[kind]);
        }
    }
    d.count = fl_writer_size(&w);
    spoil(script, d.bytes, d.count);
    if (!w.failed && scene->light[0] + scene->light[1] != 0 && scene->node[d.to].session != NULL) {
        member_push(scene, &d);
    }
}

void member_repeat(Scene *scene, Script *script)
{
    uint8_t which = script_take(script);
    Datagram d = scene->kept[which % KEPT];
    if (d.count > 0) {
        d.to = which / KEPT % 3;
        d.port = (uint16_t)(d.port + which / 64);
        spoil(script, d.bytes, d.count);
        if (scene->node[d.to].session != NULL) {
            member_push(scene, &d);
        }
    }
}
