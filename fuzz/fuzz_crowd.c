// Packets from members of a crowd who say anything.
//
// The bytes are a script: members come, go and are introduced, time passes, we look at some and
// move; and others send packets, raw ones and such as they might send (sections with the script's
// numbers). Whatever they say, the tables of the crowd agree with each other, nothing is known from
// the future, what we send fits, and an honest member to whom it goes finds nothing wrong with it.
#include "fuzz.h"

#include "crowd/private.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { SELF = 1, PEER = 2, MEMBERS = 14, LANES = 24, FEW_LANES = 8, EARLY_MS = 250 };

typedef struct Script {
    const uint8_t *at;
    size_t left;
} Script;

static uint8_t take(Script *script)
{
    if (script->left == 0) {
        return 0;
    }
    script->left--;
    return *script->at++;
}

typedef struct Scene {
    FlWorld world;
    FlCrowd *crowd;
    FlCrowd *peer; // member 2, to whom nothing else happens
    FlTime now;
    uint16_t number;
} Scene;

// ---------------------------------------------------------------- what must hold

static void check_lanes(const FlCrowd *c)
{
    int32_t open = 0;
    int32_t planned = 0;
    for (int32_t i = 0; i < c->def.lane_capacity; i++) {
        const FlCrowdLane *lane = &c->lanes[i];
        if (lane->member != FL__NOBODY) {
            CHECK(lane->member > 0 && lane->member < MEMBERS && lane->member != SELF);
            CHECK(c->lane_of[lane->member] == i);
            CHECK(lane->packed_bytes >= 0 && lane->packed_bytes <= FL_UPDATE_BYTES_MAX);
            open++;
            planned += lane->planned ? 1 : 0;
        }
    }
    CHECK(open == c->stats.lanes && planned == c->stats.planned);
}

static void check_watching(const FlCrowd *c)
{
    int32_t watchers = 0;
    int32_t passed_on = 0;
    for (int32_t i = 0; i < c->def.stream_capacity; i++) {
        const FlCrowdWatcher *watcher = &c->watchers[i];
        if (watcher->of != FL__NOBODY) {
            CHECK(i < c->watcher_end);
            CHECK(c->lanes[watcher->lane].member != FL__NOBODY);
            CHECK(c->lanes[watcher->lane].member != watcher->of);
            watchers++;
            passed_on += watcher->of != SELF ? 1 : 0;
        }
    }
    CHECK(watchers == c->stats.watchers && passed_on == c->stats.passed_on);
    int32_t sources = 0;
    for (int32_t i = 0; i < c->def.focus_count; i++) {
        const FlCrowdSource *source = &c->sources[i];
        if (source->member != FL__NOBODY) {
            CHECK(c->source_of[source->member] == i && source->member != SELF);
            CHECK(source->via > 0 && source->via < MEMBERS && source->via != SELF);
            sources++;
        }
    }
    CHECK(sources == c->stats.sources);
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        const FlCrowdRedirect *redirect = &c->redirects[i];
        CHECK(redirect->lane == FL__NOBODY || c->lanes[redirect->lane].member != FL__NOBODY);
    }
}

static void check(const Scene *scene)
{
    const FlCrowd *c = scene->crowd;
    check_lanes(c);
    check_watching(c);
    for (int32_t m = 0; m < MEMBERS; m++) {
        FlCrowdView view;
        if (fl_crowd_view(c, m, &view) == FL_OK) {
            CHECK(m > 0 && m != SELF && c->present[m]);
            CHECK(view.stamp <= scene->now + FL_MS(EARLY_MS) && view.arrived <= scene->now);
            CHECK(view.via > 0 && view.via < MEMBERS && view.hops >= 0 && view.hops <= 15);
            CHECK((view.via == m) == (view.hops == 0));
        }
    }
    CHECK(fl_crowd_deadline(c, scene->now) >= scene->now);
}

// ---------------------------------------------------------------- what others say

static void put_update(FlWriter *w, Script *script, const Scene *scene)
{
    FlState state = {.time = scene->now + FL_MS(4) * ((int32_t)take(script) - 200)};
    state.position = fl_vec3((double)take(script) * 9.0 - 1000.0, (double)take(script), 0.0);
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state);
    FlUpdate update = {(uint32_t)(take(script) % (MEMBERS + 2)), take(script) & 3u, motion};
    bool wide;
    if (fl_update_round(&scene->world, &motion, &update.motion, &wide) == FL_OK) {
        CHECK(fl_update_encode(w, &scene->world, &update));
    }
}

static void put_section(FlWriter *w, Script *script, const Scene *scene)
{
    uint8_t kind = (uint8_t)(1 + take(script) % 6);
    fl_writer_put(w, kind, 8);
    int32_t plain = 0; // bytes that are the script's
    if (kind == 2 || kind == 3) {
        uint8_t head = (uint8_t)(take(script) % 4);
        fl_writer_put(w, head, 8);
        for (int32_t i = 0; i < (kind == 2 ? 1 : head); i++) {
            put_update(w, script, scene);
        }
    } else if (kind == 1) {
        plain = 10;
    } else if (kind != 6) {
        fl_writer_put(w, take(script) % (MEMBERS + 1), 16);
        uint8_t count = (uint8_t)(take(script) % 4);
        fl_writer_put(w, count, 8);
        plain = kind == 4 ? 2 : 0;
        for (int32_t i = 0; kind == 5 && i < count; i++) {
            fl_writer_put(w, take(script) % (MEMBERS + 1), 16);
        }
    }
    for (int32_t i = 0; i < plain; i++) {
        fl_writer_put(w, take(script), 8);
    }
}

static void say(Scene *scene, Script *script)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    int32_t from = take(script) % MEMBERS;
    uint8_t how = take(script);
    if (how % 4 == 0) {
        for (int32_t i = take(script); i > 0; i--) {
            fl_writer_put(&w, take(script), 8);
        }
    } else {
        scene->number = (uint16_t)(scene->number + how % 5);
        fl_writer_put(&w, scene->number, 16);
        for (int32_t i = 0; i < how % 4; i++) {
            put_section(&w, script, scene);
        }
    }
    fl_crowd_receive(scene->crowd, from, bytes, fl_writer_size(&w), scene->now);
}

// ---------------------------------------------------------------- what we do

static void send_all(Scene *scene, int32_t room)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    int32_t to;
    for (int32_t i = 0; fl_crowd_next(scene->crowd, scene->now, bytes, room, &count, &to); i++) {
        CHECK(i < 4 * LANES && count > 2 && count <= room);
        CHECK(scene->crowd->lane_of[to] != FL__NOBODY);
        if (to == PEER) {
            fl_crowd_receive(scene->peer, SELF, bytes, count, scene->now);
            CHECK(scene->peer->stats.malformed == 0);
        }
    }
    int32_t member;
    while (fl_crowd_parted(scene->crowd, scene->now, &member)) {
        fl_crowd_lane_close(scene->crowd, member);
    }
}

static void introduce(Scene *scene, int32_t member)
{
    if (member > SELF && scene->crowd->present[member] &&
        fl_crowd_lane_open(scene->crowd, member, scene->now) == FL_OK && member == PEER) {
        CHECK(fl_crowd_lane_open(scene->peer, SELF, scene->now) == FL_OK);
    }
}

static void step(Scene *scene, Script *script)
{
    static const int32_t orders[] = {0, 2, 3, 5};
    FlCrowd *crowd = scene->crowd;
    int32_t member;
    FlState state = {.time = scene->now};
    switch (take(script) % 10) {
    case 0:
        scene->now += FL_MS(take(script)) * 2;
        break;
    case 1:
        member = take(script);
        fl_crowd_member(crowd, member / 2 % MEMBERS, member % 2 == 0);
        break;
    case 2:
        introduce(scene, take(script) % MEMBERS);
        break;
    case 3:
        member = take(script) % MEMBERS;
        fl_crowd_look(crowd, member, (double)take(script) / 64.0);
        break;
    case 4:
        state.position.x = take(script);
        CHECK(fl_crowd_set(crowd, &state) == FL_OK);
        break;
    case 5:
        fl_crowd_plan(crowd, orders[take(script) % 4]);
        break;
    case 6:
        send_all(scene, FL_CROWD_ROOM_BYTES + take(script) * 3);
        break;
    case 7:
        while (fl_crowd_wanted(crowd, scene->now, &member)) {
            CHECK(member > SELF && member < MEMBERS && crowd->present[member]);
            introduce(scene, member);
        }
        break;
    default:
        say(scene, script);
        break;
    }
}

static void begin(Scene *scene, Script *script)
{
    FlWorldDef world = fl_world_def_default();
    world.entity_capacity = 64;
    CHECK(fl_world_init(&world, &scene->world) == FL_OK);
    FlCrowdDef def = fl_crowd_def_default();
    uint8_t how = take(script);
    def.self = SELF;
    def.member_capacity = MEMBERS;
    def.lane_capacity = how % 32 < 16 ? LANES : FEW_LANES;
    def.stream_capacity = 4;
    def.focus_count = 1 + how % 3;
    def.shared = how % 8 != 0;
    def.upload_bytes_s = how % 2 == 0 ? 0.0 : 4000.0;
    CHECK(fl_crowd_create(&def, &scene->world, scene->now, &scene->crowd) == FL_OK);
    def.self = PEER;
    CHECK(fl_crowd_create(&def, &scene->world, scene->now, &scene->peer) == FL_OK);
    for (int32_t m = 1; m < MEMBERS; m++) {
        fl_crowd_member(scene->crowd, m, true);
        fl_crowd_member(scene->peer, m, true);
    }
    for (int32_t m = 2; m < 7; m++) {
        introduce(scene, m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 4096) {
        return 0;
    }
    Script script = {data, size};
    Scene scene = {.now = FL_SEC(20)};
    begin(&scene, &script);
    while (script.left > 0) {
        step(&scene, &script);
        check(&scene);
    }
    fl_crowd_destroy(scene.crowd);
    fl_crowd_destroy(scene.peer);
    return 0;
}
