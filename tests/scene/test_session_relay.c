// Through the host everybody ends up seeing everybody's things, as they were told and not
// otherwise: over random networks with loss up to 30 %, reordering and duplicates, with clocks days
// off and drifting, with late joiners, plain and sealed.
//
// What an owner told is noted as it tells it. At every frame, whatever anybody shows must be one of
// these, at that receiver's session time. Where it is the newest, it is no further from the truth
// than can be explained: the threshold, what is rounded, and the way that the thing goes in the
// time by which the two clocks differ.
#include "session_net.h"

enum { NODES = 5, THINGS = 8, TOLD = 2048 };

#define SOON FL_MS(1) // what arrives counts from its stamp on, which may be a step later

typedef struct Told {
    FlTime stamp;
    FlTime at; // session time of:
    FlVec3 position, velocity;
} Told;

typedef struct Thing {
    NetWalk walk;
    Told told[TOLD];
    int32_t told_count;
    int32_t version; // of its state
} Thing;

typedef struct Scene {
    Net net;
    Thing thing[THINGS];
    int32_t things;
    int64_t looked, newest, retold;
    double worst_share; // of what is explained
} Scene;

static double away(FlVec3 a, FlVec3 b)
{
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y));
}

// ---------------------------------------------------------------- telling

static void note_told(Scene *scene, Thing *thing)
{
    Net *net = &scene->net;
    int32_t owner = thing->walk.owner;
    FlEntityId id = net_entity(net, owner, thing->walk.number);
    FlEntityStatus status;
    FlPose pose;
    assert_int_equal(fl_entity_status(net->node[owner].session, id, &status), FL_OK);
    int32_t count = thing->told_count;
    if (status.newest == FL_FOREVER ||
        (count > 0 && thing->told[count - 1].stamp == status.newest)) {
        return;
    }
    assert_true(count < TOLD);
    assert_true(fl_entity_pose_at(net->node[owner].session, net_local(net, owner), id, &pose));
    Told told = {status.newest, net_time(net, owner), pose.position, pose.velocity};
    thing->told[thing->told_count++] = told;
}

static void step_thing(Scene *scene, Thing *thing)
{
    Net *net = &scene->net;
    uint64_t chance = fl_random_below(&net->random, 100);
    if (chance < 5) {
        net_walk_turn(net, &thing->walk);
    }
    if (chance < 3) {
        char text[32];
        int32_t count = snprintf(text, sizeof text, "%u.%d", thing->walk.number, ++thing->version);
        FlEntityId id = net_entity(net, thing->walk.owner, thing->walk.number);
        FlSession *session = net->node[thing->walk.owner].session;
        assert_int_equal(fl_entity_state_set(session, id, text, count + 1), FL_OK);
    }
    assert_int_equal(net_walk_step(net, &thing->walk), FL_OK);
    note_told(scene, thing);
}

// ---------------------------------------------------------------- looking

static const Told *told_at(const Thing *thing, FlTime stamp)
{
    for (int32_t i = thing->told_count - 1; i >= 0; i--) {
        if (thing->told[i].stamp == stamp) {
            return &thing->told[i];
        }
    }
    return NULL;
}

static FlVec3 told_position(const Told *told, FlTime time)
{
    double dt = fl_span_seconds(time - told->at);
    return fl_vec3(told->position.x + told->velocity.x * dt,
                   told->position.y + told->velocity.y * dt, 0.0);
}

// How far from the truth the newest update may be at this node.
static double explained(const Net *net, const Thing *thing, const Told *told, int32_t node)
{
    double step = net->def.world.precision;
    double age = fl_span_seconds(net_time(net, node) - told->stamp);
    double apart = fabs(fl_span_seconds(net_time(net, node) - net_time(net, thing->walk.owner)));
    double speed = fl_vec3_length(told->velocity);
    double rounded = step + step * fabs(age);
    return 0.1 + rounded + speed * (apart + fl_span_seconds(FL_LINK_STEP_NS));
}

static void look(Scene *scene, const Thing *thing, int32_t node)
{
    Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    FlEntityId id = net_entity(net, node, thing->walk.number);
    FlEntityStatus status;
    FlPose pose;
    FlTime soon = net_local(net, node) + SOON;
    FlTime time = fl_session_time(session, soon);
    if (fl_entity_status(session, id, &status) != FL_OK || status.newest == FL_FOREVER ||
        status.newest > time || fl_session_time_error(session) == FL_FOREVER ||
        !fl_entity_pose_at(session, soon, id, &pose)) {
        return;
    }
    scene->looked++;
    const Told *told = told_at(thing, status.newest);
    if (told == NULL) { // told again when it was old, from a later time
        scene->retold++;
        return;
    }
    double off = away(pose.position, told_position(told, time));
    if (off > 1e-6) {
        print_message("seed %llu thing %u node %d: off by %g from what was told\n",
                      (unsigned long long)net->seed, thing->walk.number, node, off);
    }
    assert_true(off <= 1e-6);
    if (told == &thing->told[thing->told_count - 1]) {
        FlVec3 shown = told_position(told, net_time(net, node));
        double share = away(shown, thing->walk.position) / explained(net, thing, told, node);
        scene->worst_share = share > scene->worst_share ? share : scene->worst_share;
        scene->newest++;
    }
}

// Thresholds are looked at when the truth is handed in: so here, then.
static void look_all(Scene *scene)
{
    for (int32_t t = 0; t < scene->things; t++) {
        const NetWalk *walk = &scene->thing[t].walk;
        for (int32_t node = 0; node < scene->net.count; node++) {
            if (node != walk->owner && scene->net.node[node].session != NULL) {
                look(scene, &scene->thing[t], node);
            }
        }
    }
}

// ---------------------------------------------------------------- in the end

static bool agrees(const Scene *scene, const Thing *thing, int32_t node)
{
    const Net *net = &scene->net;
    FlSession *session = net->node[node].session;
    FlSession *owner = net->node[thing->walk.owner].session;
    FlEntityId id = net_entity(net, node, thing->walk.number);
    FlEntityStatus status;
    const uint8_t *state;
    const uint8_t *truth;
    int32_t count;
    int32_t truth_count;
    FlEntityId own = net_entity(net, thing->walk.owner, thing->walk.number);
    assert_int_equal(fl_entity_state_get(owner, own, &truth, &truth_count), FL_OK);
    return fl_entity_status(session, id, &status) == FL_OK && status.newest != FL_FOREVER &&
           status.newest >= thing->told[thing->told_count - 1].stamp &&
           fl_entity_state_get(session, id, &state, &count) == FL_OK && count == truth_count &&
           (count == 0 || memcmp(state, truth, (size_t)count) == 0) &&
           status.owner.index1 == (uint32_t)net_number(net, thing->walk.owner) + 1;
}

static bool all_agree(const Scene *scene)
{
    for (int32_t t = 0; t < scene->things; t++) {
        for (int32_t node = 0; node < scene->net.count; node++) {
            if (node != scene->thing[t].walk.owner && !agrees(scene, &scene->thing[t], node)) {
                return false;
            }
        }
    }
    return true;
}

// ---------------------------------------------------------------- the scene

static void play(Scene *scene, FlTime until)
{
    while (scene->net.now < until) {
        for (int32_t t = 0; t < scene->things; t++) {
            step_thing(scene, &scene->thing[t]);
        }
        look_all(scene);
        net_frame(&scene->net);
    }
}

static void add_thing(Scene *scene, int32_t node)
{
    FlEntityDef def = fl_entity_def_default();
    def.model = FL_MODEL_LINEAR;
    Thing *thing = &scene->thing[scene->things];
    scene->things += net_walk_begin(&scene->net, &thing->walk, node, &def) == FL_OK ? 1 : 0;
}

static void run(Scene *scene, uint64_t seed)
{
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, seed, FL_TOPOLOGY_STAR, seed % 2 == 0);
    net->weather = net_storm(&net->random, 30);
    for (int32_t i = 0; i < NODES; i++) { // some are there from the start, others come late
        net_start(net, i);
        play(scene, net->now + (i < 3 ? FL_MS(100) : FL_SEC(2)));
        for (int32_t t = 0; t < 2; t++) {
            if (scene->things < THINGS && net_in(net, i)) {
                add_thing(scene, i);
            }
        }
    }
    FlTime until = net->now + FL_SEC(30);
    while (!net_together(net) && net->now < until) {
        play(scene, net->now + FL_MS(100));
    }
    assert_true(net_together(net));
    play(scene, net->now + FL_SEC(8));
    for (int32_t f = 0; f < 1500 && !all_agree(scene); f++) { // nobody moves any more
        net_frame(net);
    }
    assert_true(all_agree(scene));
    assert_int_equal(net_count(net, FL_SESSION_MALFORMED), 0);
    assert_int_equal(net_count(net, FL_SESSION_FOREIGN), 0);
    assert_int_equal(net_count(net, FL_SESSION_UNTRACKED), 0);
    net_close(net);
}

static void everybody_sees_what_everybody_told_and_ends_with_the_newest(void **state)
{
    (void)state;
    static Scene scene;
    int64_t looked = 0;
    int64_t retold = 0;
    double worst = 0.0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        run(&scene, seed);
        looked += scene.looked;
        retold += scene.retold;
        worst = scene.worst_share > worst ? scene.worst_share : worst;
        assert_true(scene.newest > scene.looked / 4);
    }
    print_message("             %lld poses, %lld of them retold; worst error %.2f of what is "
                  "explained\n",
                  (long long)looked, (long long)retold, worst);
    assert_true(looked > 50000 && retold < looked / 100);
    assert_true(worst <= 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_sees_what_everybody_told_and_ends_with_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
