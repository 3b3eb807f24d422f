// Packets from members of a crowd who say anything.
//
// The bytes are a script: members come, go and are introduced, time passes, we look at some and
// move; and others send packets, raw ones and such as they might send (sections with the script's
// numbers). Whatever they say, the tables of the crowd agree with each other, nothing is known from
// the future, what we send fits, and an honest member to whom it goes finds nothing wrong with it.
#include "fuzz.h"

#include "crowd/guided.h"
#include "crowd/packets.h"
#include "show/show.h"

#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : fl_assert_failed(#condition, __FILE__, __LINE__))

enum { SELF = 1, PEER = 2, MEMBERS = 14, LIGHTS = 24, FEW_LIGHTS = 8, EARLY_MS = 250 };

typedef struct Scene {
    FlWorld world;
    FlCrowd *crowd;
    FlCrowd *peer; // member 2, to whom nothing else happens
    FlTime now;
    uint16_t number;
} Scene;

// ---------------------------------------------------------------- what must hold

static void check_lights(const FlCrowd *c)
{
    int32_t open = 0;
    int32_t planned = 0;
    for (int32_t i = 0; i < c->def.light_capacity; i++) {
        const FlCrowdLight *light = &c->lights[i];
        if (light->member != FL__NOBODY) {
            CHECK(light->member > 0 && light->member < MEMBERS && light->member != SELF);
            CHECK(c->light_of[light->member] == i);
            open++;
            planned += light->planned ? 1 : 0;
        }
    }
    CHECK(open == c->stats.lights && planned == c->stats.planned);
}

static void check_watching(const FlCrowd *c)
{
    int32_t watchers = 0;
    int32_t passed_on = 0;
    int32_t leaving = 0;
    for (int32_t i = 0; i < c->def.stream_capacity; i++) {
        const FlCrowdWatcher *watcher = &c->watchers[i];
        if (watcher->of != FL__NOBODY) {
            CHECK(i < c->watcher_end);
            CHECK(c->lights[watcher->light].member != FL__NOBODY);
            watchers++;
            passed_on += watcher->forwarded ? 1 : 0;
            leaving += watcher->leaves != FL_FOREVER ? 1 : 0;
        }
    }
    CHECK(watchers == c->stats.watchers && passed_on == c->stats.passed_on);
    CHECK(leaving == c->leaving);
    int32_t sources = 0; // besides those that are passed on for a moment
    for (int32_t i = 0; i < fl__crowd_source_places(&c->def); i++) {
        const FlCrowdSource *source = &c->sources[i];
        if (source->of != FL__NOBODY) {
            CHECK(c->known[source->of].source == i);
            CHECK(source->via > 0 && source->via < MEMBERS && source->via != SELF);
            sources += source->ends == FL_FOREVER ? 1 : 0;
        }
    }
    CHECK(sources == c->stats.sources && sources <= c->def.focus_count);
    for (int32_t i = 0; i < FL__REDIRECTS; i++) {
        const FlCrowdRedirect *redirect = &c->redirects[i];
        CHECK(redirect->light == FL__NOBODY || c->lights[redirect->light].member != FL__NOBODY);
    }
}

static void check_guided(const FlCrowd *c, FlTime now)
{
    int32_t used = 0;
    for (int32_t n = 0; n < c->def.entity_capacity; n++) {
        int32_t at = c->looks[n].guided;
        CHECK(at >= 0 && at <= c->def.guide_capacity);
        if (at > 0) {
            const FlCrowdGuided *guided = &c->guided[at - 1];
            CHECK(guided->of == n && c->known[n].owner != FL__NOBODY);
            CHECK(guided->carried == (guided->via != c->known[n].owner));
            CHECK(guided->stamp <= now + FL_MS(EARLY_MS) && guided->bytes > 0);
            used++;
        }
    }
    for (int32_t i = 0; i < c->def.guide_capacity; i++) {
        used -= c->guided[i].of != FL__NOBODY ? 1 : 0;
    }
    CHECK(used == 0);
}

static void check(const Scene *scene)
{
    const FlCrowd *c = scene->crowd;
    check_lights(c);
    check_watching(c);
    check_guided(c, scene->now);
    for (int32_t m = 0; m < MEMBERS; m++) {
        FlCrowdView view;
        if (fl__crowd_view(c, (uint32_t)m, true, &view) == FL_OK) {
            CHECK(m > 0 && m != SELF && c->present[m]);
            CHECK(view.stamp <= scene->now + FL_MS(EARLY_MS) && view.arrived <= scene->now);
            CHECK(view.via > 0 && view.via < MEMBERS && view.hops >= 0 && view.hops <= 15);
            CHECK((view.via == m) == (view.hops == 0));
        }
    }
    CHECK(fl__crowd_deadline(c, scene->now) >= scene->now);
}

// ---------------------------------------------------------------- what others say

static void put_update(FlWriter *w, Script *script, const Scene *scene)
{
    FlState state = {.time = scene->now + FL_MS(4) * ((int32_t)script_take(script) - 200)};
    state.position =
        fl_vec3((double)script_take(script) * 9.0 - 1000.0, (double)script_take(script), 0.0);
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, &state);
    FlUpdate update = {(uint32_t)(script_take(script) % (MEMBERS + 2)), script_take(script) & 3u,
                       motion};
    bool wide;
    if (fl_update_round(&scene->world, &motion, &update.motion, &wide) == FL_OK) {
        CHECK(fl_update_encode(w, &scene->world, &update));
    }
}

static void put_guidance(FlWriter *w, Script *script, const Scene *scene)
{
    FlTime step = FL_UPDATE_STEP_NS;
    FlGuidance guidance = {.entity = script_take(script) % (MEMBERS + 2u)};
    FlGuidance rounded;
    guidance.time = scene->now + FL_MS(4) * ((int32_t)script_take(script) - 200);
    guidance.time -= guidance.time % step;
    guidance.ahead_ns = FL_MS(4) * script_take(script);
    guidance.position = fl_vec3((double)script_take(script), (double)script_take(script), 0.0);
    guidance.point_count = script_take(script) % 3;
    if (fl__guidance_round(&scene->world, &guidance, &rounded) == FL_OK) {
        CHECK(fl__guidance_encode(w, &scene->world, &rounded));
    }
}

static void put_section(FlWriter *w, Script *script, const Scene *scene)
{
    uint8_t which = script_take(script); // the newer kinds come last
    uint8_t newer = which >= 248 ? KIND_GUIDED : KIND_MISSED;
    uint8_t kind = which >= 240 ? newer : (uint8_t)(1 + which % 6);
    fl_writer_put(w, kind, 8);
    int32_t plain = 0; // bytes that are the script's
    if (kind == 2 || kind == 3) {
        uint8_t head = (uint8_t)(script_take(script) % 4);
        fl_writer_put(w, head, 8);
        for (int32_t i = 0; i < (kind == 2 ? 1 : head); i++) {
            put_update(w, script, scene);
        }
    } else if (kind == KIND_GUIDED) {
        uint8_t count = (uint8_t)(1 + script_take(script) % 3);
        fl_writer_put(w, count, 8);
        for (int32_t i = 0; i < count; i++) {
            fl_writer_put(w, script_take(script) % 2, 8);
            put_guidance(w, script, scene);
        }
    } else if (kind == KIND_MISSED) {
        uint8_t count = (uint8_t)(1 + script_take(script) % 4);
        fl_writer_put(w, count, 8);
        for (int32_t i = 0; i < count; i++) {
            fl_writer_put(w, 1u + script_take(script) % (MEMBERS - 1u), 16);
        }
    } else if (kind == 1) {
        plain = 10;
    } else if (kind != 6) {
        fl_writer_put(w, script_take(script) % (MEMBERS + 1), 16);
        uint8_t count = (uint8_t)(script_take(script) % 4);
        fl_writer_put(w, count, 8);
        plain = kind == 4 ? 2 : 0;
        for (int32_t i = 0; kind == 5 && i < count; i++) {
            fl_writer_put(w, script_take(script) % (MEMBERS + 1), 16);
        }
    }
    for (int32_t i = 0; i < plain; i++) {
        fl_writer_put(w, script_take(script), 8);
    }
}

static void say(Scene *scene, Script *script)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    int32_t from = script_take(script) % MEMBERS;
    uint8_t how = script_take(script);
    if (how % 4 == 0) {
        for (int32_t i = script_take(script); i > 0; i--) {
            fl_writer_put(&w, script_take(script), 8);
        }
    } else {
        scene->number = (uint16_t)(scene->number + how % 5);
        fl_writer_put(&w, scene->number, 16);
        for (int32_t i = 0; i < how % 4; i++) {
            put_section(&w, script, scene);
        }
    }
    fl__crowd_receive(scene->crowd, from, bytes, fl_writer_size(&w), scene->now);
}

// ---------------------------------------------------------------- what we do

static void send_all(Scene *scene, int32_t room)
{
    uint8_t bytes[FL_CROWD_PACKET_BYTES];
    int32_t count;
    int32_t to;
    for (int32_t i = 0; fl__crowd_next(scene->crowd, scene->now, bytes, room, &count, &to); i++) {
        CHECK(i < 4 * LIGHTS && count > 2 && count <= room);
        CHECK(scene->crowd->light_of[to] != FL__NOBODY);
        if (to == PEER) {
            fl__crowd_receive(scene->peer, SELF, bytes, count, scene->now);
            CHECK(scene->peer->stats.malformed == 0);
        }
    }
    int32_t member;
    while (fl__crowd_next_to_close(scene->crowd, scene->now, &member)) {
        fl__crowd_light_close(scene->crowd, member);
    }
}

static void introduce(Scene *scene, int32_t member)
{
    if (member > SELF && scene->crowd->present[member] &&
        fl__crowd_light_open(scene->crowd, member, scene->now) == FL_OK && member == PEER) {
        CHECK(fl__crowd_light_open(scene->peer, SELF, scene->now) == FL_OK);
    }
}

// A member comes or goes, and its entity of the same number.
static void crowd_member(FlCrowd *crowd, int32_t member, bool present)
{
    fl__crowd_member(crowd, member, present);
    if (member > 0) {
        fl__crowd_entity(crowd, (uint32_t)member, present ? member : FL__NOBODY, 0);
    }
}

static void crowd_set(FlCrowd *crowd, const FlState *state)
{
    FlMotion motion = fl_motion_make(FL_MODEL_LINEAR, state);
    FlUpdate update = {SELF, 0, motion};
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    bool wide;
    FlWriter w;
    fl_writer_init(&w, packed, sizeof packed);
    CHECK(fl_update_round(&crowd->world, &motion, &update.motion, &wide) == FL_OK);
    CHECK(fl_update_encode(&w, &crowd->world, &update));
    fl__crowd_entity(crowd, SELF, SELF, 0);
    CHECK(fl__crowd_export(crowd, SELF, packed, fl_writer_size(&w), update.motion.time) == FL_OK);
}

static void step(Scene *scene, Script *script)
{
    static const int32_t orders[] = {0, 2, 3, 5};
    FlCrowd *crowd = scene->crowd;
    int32_t member;
    FlState state = {.time = scene->now};
    FlGuidance guidance = {.entity = SELF, .time = scene->now - scene->now % FL_UPDATE_STEP_NS};
    switch (script_take(script) % 11) {
    case 0:
        scene->now += FL_MS(script_take(script)) * 2;
        break;
    case 1:
        member = script_take(script);
        crowd_member(crowd, member / 2 % MEMBERS, member % 2 == 0);
        break;
    case 2:
        introduce(scene, script_take(script) % MEMBERS);
        break;
    case 3:
        member = script_take(script) % MEMBERS;
        fl__crowd_look(crowd, (uint32_t)member, (double)script_take(script) / 64.0);
        break;
    case 4:
        state.position.x = script_take(script);
        crowd_set(crowd, &state);
        if (script_take(script) % 2 == 0) {
            CHECK(fl__crowd_guide(crowd, &guidance) != FL_BAD_VALUE);
        }
        break;
    case 5:
        fl__crowd_plan(crowd, orders[script_take(script) % 4]);
        break;
    case 6:
        send_all(scene, FL_CROWD_ROOM_BYTES + script_take(script) * 3);
        break;
    case 7:
        while (fl__crowd_next_to_open(crowd, scene->now, &member)) {
            CHECK(member > SELF && member < MEMBERS && crowd->present[member]);
            introduce(scene, member);
        }
        break;
    case 8: // given away, or made again
        member = script_take(script) % MEMBERS;
        fl__crowd_entity(crowd, 16u + script_take(script) % 8u, member > 0 ? member : FL__NOBODY,
                         script_take(script));
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
    FlCrowdDef def = fl__crowd_def_default();
    uint8_t how = script_take(script);
    def.self = SELF;
    def.member_capacity = MEMBERS;
    def.light_capacity = how % 32 < 16 ? LIGHTS : FEW_LIGHTS;
    def.stream_capacity = 4;
    def.guide_capacity = 5;
    def.focus_count = 1 + how % 3;
    def.entity_capacity = world.entity_capacity;
    def.shared = how % 8 != 0;
    def.upload_bytes_s = how % 2 == 0 ? 0.0 : 4000.0;
    CHECK(fl__crowd_create(&def, &scene->world, scene->now, &scene->crowd) == FL_OK);
    def.self = PEER;
    CHECK(fl__crowd_create(&def, &scene->world, scene->now, &scene->peer) == FL_OK);
    for (int32_t m = 1; m < MEMBERS; m++) {
        crowd_member(scene->crowd, m, true);
        crowd_member(scene->peer, m, true);
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
    fl__crowd_destroy(scene.crowd);
    fl__crowd_destroy(scene.peer);
    return 0;
}
