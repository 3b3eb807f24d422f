// What a receiver showed is what its distributor knows of it: through the whole stack, to the bit.
//
// Random networks (loss, reordering, duplicates, drifting clocks), sealed or not, entities of the
// host and of clients (relayed), somebody who joins late, an entity that is given away. Every 10 ms
// each receiver's pose of each entity is noted with its session time; once acknowledgements must be
// back, the host is asked where that receiver saw the entity at that session time.
#include "../unit/support.h"

#include "lab/actors/bots.h"
#include "lab/actors/puppet.h"

enum { NODES = 4, LATE = 3, NOTES = 512 };

#define LOOK_EVERY FL_MS(10)

typedef struct Note {
    FlTime taken; ///< World time.
    FlTime session_time;
    FlVec3 position;
} Note;

typedef struct Pair {
    Note notes[NOTES]; ///< A ring.
    int64_t count, asked;
} Pair;

/// An answer that was wrong at first: an acknowledgement may have been lost, and come later.
typedef struct Doubt {
    int32_t entity, receiver;
    Note note;
} Doubt;

enum { DOUBTS = 256 };

typedef struct Scene {
    World *world;
    Puppet puppets[NODES];
    Pair pairs[NODES][NODES]; ///< [entity][receiver]
    FlTime patience;          ///< After this everything is acknowledged.
    Doubt doubts[DOUBTS];
    int32_t doubt_count;
    int64_t known, unknown, late, wrong;
    double worst;
} Scene;

static void take_note(Scene *scene, int32_t entity, int32_t receiver, FlTime now)
{
    FlSession *session = world_session(scene->world, receiver);
    // An arrival is rounded down to a step of the wire, so the newest moment may still be
    // rewritten.
    FlTime local = world_local(scene->world, receiver, now) - FL_MS(1);
    FlEntityId id = fl_entity_of_number(session, scene->puppets[entity].number);
    FlPose pose;
    if (scene->puppets[entity].id.index1 != 0 && fl_entity_pose_at(session, local, id, &pose)) {
        Pair *pair = &scene->pairs[entity][receiver];
        Note note = {now, fl_session_time(session, local), pose.position};
        pair->notes[pair->count++ % NOTES] = note;
    }
}

/// The host's answer about one old note: how far off, or negative if it does not know.
static double answer(const Scene *scene, int32_t entity, int32_t receiver, const Note *note)
{
    FlSession *host = world_session(scene->world, 0);
    FlPeerId self = fl_peer_self(world_session(scene->world, receiver));
    FlPeerId peer = fl_peer_of_number(host, (int32_t)self.index1 - 1);
    FlEntityId id = fl_entity_of_number(host, scene->puppets[entity].number);
    FlPose pose;
    if (fl_entity_seen(host, id, peer, note->session_time, &pose) != FL_OK) {
        return -1.0;
    }
    return fl_vec3_distance(pose.position, note->position);
}

static void ask(Scene *scene, int32_t entity, int32_t receiver, const Note *note)
{
    double off = answer(scene, entity, receiver, note);
    scene->known += off >= 0.0 ? 1 : 0;
    scene->unknown += off < 0.0 ? 1 : 0;
    if (off > 1e-9) {
        assert_true(scene->doubt_count < DOUBTS);
        scene->doubts[scene->doubt_count++] = (Doubt){entity, receiver, *note};
    }
}

/// Asks again until the answer is right. What is forgotten before that was wrong.
static void ask_again(Scene *scene)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < scene->doubt_count; i++) {
        const Doubt doubt = scene->doubts[i];
        double off = answer(scene, doubt.entity, doubt.receiver, &doubt.note);
        if (off > 1e-9) {
            scene->worst = fmax(scene->worst, off);
            scene->doubts[kept++] = doubt;
        } else if (off >= 0.0) {
            scene->late++;
        } else {
            scene->wrong++;
        }
    }
    scene->doubt_count = kept;
}

/// Client 1 gives its entity to client 2, whose game drives it on from there.
static void give(Scene *scene, FlTime now)
{
    enum { FROM = 1, TO = 2 };
    Puppet *puppet = &scene->puppets[FROM];
    if (puppet->node == FROM && fl_entity_is_ours(world_session(scene->world, FROM), puppet->id)) {
        FlSession *session = world_session(scene->world, FROM);
        FlPeerId self = fl_peer_self(world_session(scene->world, TO));
        FlPeerId to = fl_peer_of_number(session, (int32_t)self.index1 - 1);
        FlTime local = world_local(scene->world, FROM, now);
        FlResult given = fl_entity_give(session, local, puppet->id, to);
        assert_true(given == FL_OK || given == FL_WOULD_BLOCK);
        world_touch(scene->world, FROM);
    }
    FlSession *session = world_session(scene->world, TO);
    FlEntityId id = fl_entity_of_number(session, puppet->number);
    if (puppet->node == FROM && fl_entity_is_ours(session, id)) {
        puppet->node = TO;
        puppet->id = id;
    }
}

static FlTime look(void *ctx, World *world, FlTime now)
{
    Scene *scene = (Scene *)ctx;
    if (now >= FL_SEC(30)) {
        give(scene, now);
    }
    ask_again(scene);
    for (int32_t e = 0; e < NODES; e++) {
        for (int32_t r = 1; r < world_node_count(world); r++) {
            if (r == scene->puppets[e].node) {
                continue;
            }
            if (now < FL_SEC(43)) { // late answers have time to come
                take_note(scene, e, r, now);
            }
            Pair *pair = &scene->pairs[e][r];
            while (pair->asked < pair->count &&
                   pair->notes[pair->asked % NOTES].taken + scene->patience <= now) {
                ask(scene, e, r, &pair->notes[pair->asked++ % NOTES]);
            }
        }
    }
    return now + LOOK_EVERY;
}

static void add_node(Scene *scene, FlRandom *r, const FlImpairSettings *way)
{
    WorldNodeDef def = world_node_def_default();
    int32_t node = world_node_count(scene->world);
    def.session.role = node == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.clock_offset = random_time(r, -FL_SEC(500), FL_SEC(500));
    def.clock_drift_ppm = fl_random_between(r, -100.0, 100.0);
    assert_int_equal(world_node_add(scene->world, &def, &node), FL_OK);
    if (node > 0) {
        assert_int_equal(world_ways_set(scene->world, 0, node, way), FL_OK);
    }
}

static FlImpairSettings random_way(FlRandom *r)
{
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = random_time(r, FL_MS(5), FL_MS(150));
    way.jitter_ns = random_time(r, 0, way.delay_ns);
    way.shape = FL_SHAPE_UNIFORM;
    way.loss_ppm = (int32_t)fl_random_below(r, 100000);
    way.duplicate_ppm = (int32_t)fl_random_below(r, 50000);
    return way;
}

static void run_scene(Scene *scene, uint64_t seed, bool sealed, Recording *recordings)
{
    FlRandom r = random_stream(seed);
    memset(scene, 0, sizeof *scene);
    WorldDef def = world_def_default();
    def.seed = seed;
    def.sealed = sealed;
    assert_int_equal(world_create(&def, &scene->world), FL_OK);
    FlImpairSettings ways[NODES];
    for (int32_t i = 0; i < NODES; i++) {
        ways[i] = random_way(&r);
        FlTime needed = 4 * (ways[i].delay_ns + ways[i].jitter_ns) + FL_MS(300);
        scene->patience = needed > scene->patience ? needed : scene->patience;
    }
    for (int32_t i = 0; i < LATE; i++) {
        add_node(scene, &r, &ways[i]);
    }
    for (int32_t i = 0; i < NODES; i++) {
        scene->puppets[i] = (Puppet){.source = source_recording(&recordings[i]),
                                     .begin = i == LATE ? FL_SEC(22) : FL_SEC(5),
                                     .node = i,
                                     .def = fl_entity_def_default()};
        if (i < LATE) {
            assert_int_equal(puppet_enter(&scene->puppets[i], scene->world), FL_OK);
        }
    }
    assert_int_equal(world_actor_add(scene->world, WORLD_LOOKER, FL_SEC(6), look, scene), FL_OK);
    world_run(scene->world, FL_SEC(15));
    add_node(scene, &r, &ways[LATE]);
    assert_int_equal(puppet_enter(&scene->puppets[LATE], scene->world), FL_OK);
    world_run(scene->world, FL_SEC(46));
    assert_true(world_all_in(scene->world));
    assert_int_equal(scene->puppets[1].node, 2); // it was given away
    scene->wrong += scene->doubt_count;
    world_destroy(scene->world);
}

static void what_was_shown_is_what_the_host_knows(void **state)
{
    (void)state;
    static Scene scene;
    Recording recordings[NODES];
    int64_t known = 0;
    int64_t unknown = 0;
    int64_t late = 0;
    for (int32_t i = 0; i < NODES; i++) {
        assert_int_equal(bots_record(100 + (uint64_t)i, FL_SEC(40), &recordings[i]), FL_OK);
    }
    for (int32_t i = 0; i < CASES(12); i++) {
        run_scene(&scene, (uint64_t)i, i % 2 == 0, recordings);
        if (scene.wrong > 0) {
            print_error("network %d: %lld of %lld wrong, by %g at worst\n", (int)i,
                        (long long)scene.wrong, (long long)scene.known, scene.worst);
        }
        assert_int_equal(scene.wrong, 0);
        known += scene.known;
        unknown += scene.unknown;
        late += scene.late;
    }
    print_message(
        "             %lld views right (%lld at the second asking), %lld forgotten or not "
        "known yet\n",
        (long long)known, (long long)late, (long long)unknown);
    assert_true(late < known / 1000);
    assert_true(known > unknown);
    for (int32_t i = 0; i < NODES; i++) {
        recording_free(&recordings[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_shown_is_what_the_host_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
