// Fields of entities: whoever sees them ends with every field exactly as its owner last set it,
// late joiners too, over networks with loss up to 30 %, reordering and duplicates, through changes
// of who sees what, of owners and of hosts.
//
// The twin is brute force: every group has a counter, all other fields of the group follow from
// it, and the scene remembers the counters that were set. So a group that is torn, old after it was
// new, or seen by whom it is not for shows at once, in any frame.
#include "session_net.h"

enum { NODES = 5, THINGS = 4, NEVER = 4, GROUPS = 4, SECRET = 3, SORT = 7 };

// Fields by index: the counters first.
enum { HEAT = GROUPS, FLAGS, TURRET, TITLE, CASH, FIELDS };

static const FlFieldDef TANK[FIELDS] = {
    {.name = "n0", .type = FL_FIELD_INT, .high = 1000000, .group = 0},
    {.name = "n1", .type = FL_FIELD_INT, .high = 1000000, .group = 1},
    {.name = "n2", .type = FL_FIELD_INT, .high = 1000000, .group = 2},
    {.name = "n3", .type = FL_FIELD_INT, .high = 1000000, .group = SECRET},
    {.name = "heat", .type = FL_FIELD_REAL, .low = -1, .high = 1, .step = 0.125, .group = 0},
    {.name = "flags", .type = FL_FIELD_BITS, .size = 9, .group = 1},
    {.name = "turret", .type = FL_FIELD_ANGLE, .size = 4, .group = 1},
    {.name = "title", .type = FL_FIELD_BYTES, .size = 12, .group = 2},
    {.name = "cash", .type = FL_FIELD_INT, .low = -50, .high = 50, .group = SECRET},
};

typedef struct Thing {
    NetWalk walk;
    bool private_scope;
    int64_t count[GROUPS];           // as last set
    bool may[NET_NODES];             // see it, by its owner's last word,
    bool secret[NET_NODES];          // and its private group
    int64_t last[NET_NODES][GROUPS]; // seen there,
    uint32_t generation[NET_NODES];  // of the entity there: shown again it is a new one
} Thing;

typedef struct Scene {
    Net net;
    Thing thing[THINGS];
    int64_t looked, changes, gifts;
    bool gives;
    bool hosted[NET_NODES]; // a host sees everything
} Scene;

static FlKindDef tank_kind(void)
{
    FlKindDef def = {.name = "tank",
                     .version = 3,
                     .fields = TANK,
                     .field_count = FIELDS,
                     .private_groups = 1u << SECRET};
    return def;
}

static void define(Net *net, int32_t node)
{
    FlKindDef def = tank_kind();
    FlError error;
    assert_int_equal(fl_kind_define(net->node[node].session, SORT, &def, &error), FL_OK);
}

static void start(Scene *scene, int32_t node)
{
    net_start(&scene->net, node);
    define(&scene->net, node);
}

// ---------------------------------------------------------------- setting

static void set_group(FlSession *session, FlEntityId id, int32_t group, int64_t n)
{
    char title[16];
    int32_t length = snprintf(title, sizeof title, "%0*d", (int)(n % 8 + 1), (int)(n % 10));
    assert_int_equal(fl_field_set_int(session, id, group, n), FL_OK);
    switch (group) {
    case 0:
        assert_int_equal(fl_field_set_real(session, id, HEAT, (double)(n % 17 - 8) * 0.125), FL_OK);
        break;
    case 1:
        assert_int_equal(fl_field_set_int(session, id, FLAGS, n % 512), FL_OK);
        assert_int_equal(
            fl_field_set_real(session, id, TURRET, fl_circle_angle((uint32_t)(n % 16), 4)), FL_OK);
        break;
    case 2:
        assert_int_equal(fl_field_set_bytes(session, id, TITLE, title, length), FL_OK);
        break;
    default:
        assert_int_equal(fl_field_set_int(session, id, CASH, n % 101 - 50), FL_OK);
        break;
    }
}

static int64_t int_at(const FlSession *session, FlEntityId id, int32_t field)
{
    FlValue value;
    assert_int_equal(fl_field_get(session, id, field, &value), FL_OK);
    return value.integer;
}

static double real_at(const FlSession *session, FlEntityId id, int32_t field)
{
    FlValue value;
    assert_int_equal(fl_field_get(session, id, field, &value), FL_OK);
    return value.real;
}

// A group's counter; the rest of the group goes with it.
static int64_t group_at(const FlSession *session, FlEntityId id, int32_t group)
{
    int64_t n = int_at(session, id, group);
    if (n == 0) {
        return 0;
    }
    char title[16];
    int32_t length = snprintf(title, sizeof title, "%0*d", (int)(n % 8 + 1), (int)(n % 10));
    FlValue value;
    switch (group) {
    case 0:
        assert_true(real_at(session, id, HEAT) == (double)(n % 17 - 8) * 0.125);
        break;
    case 1:
        assert_int_equal(int_at(session, id, FLAGS), n % 512);
        assert_true(real_at(session, id, TURRET) == fl_circle_angle((uint32_t)(n % 16), 4));
        break;
    case 2:
        assert_int_equal(fl_field_get(session, id, TITLE, &value), FL_OK);
        assert_int_equal(value.count, length);
        assert_memory_equal(value.bytes, title, (size_t)length);
        break;
    default:
        assert_int_equal(int_at(session, id, CASH), n % 101 - 50);
        break;
    }
    return n;
}

static bool set_some(Scene *scene, Thing *thing)
{
    Net *net = &scene->net;
    FlSession *session = net->node[thing->walk.owner].session;
    FlEntityId id = net_entity(net, thing->walk.owner, thing->walk.number);
    if (session == NULL || !fl_entity_is_ours(session, id)) {
        return false; // under way
    }
    uint64_t groups = 1 + fl_random_below(&net->random, (1u << GROUPS) - 1);
    for (int32_t g = 0; g < GROUPS; g++) {
        if ((groups >> g & 1u) != 0) {
            set_group(session, id, g, ++thing->count[g]);
        }
    }
    return true;
}

static void set_scope(Scene *scene, Thing *thing, int32_t node, bool sees, bool fields)
{
    Net *net = &scene->net;
    int32_t owner = thing->walk.owner;
    FlSession *session = net->node[owner].session;
    FlEntityId id = net_entity(net, owner, thing->walk.number);
    FlPeerId peer = net_peer(net, owner, node);
    FlResult result = fields ? fl_field_scope(session, id, peer, sees)
                             : fl_entity_scope(session, net_local(net, owner), id, peer, sees);
    bool *now = fields ? &thing->secret[node] : &thing->may[node];
    if (result == FL_OK) {
        scene->changes += *now != sees ? 1 : 0;
        *now = sees;
    }
}

// ---------------------------------------------------------------- looking

static bool sees_entity(const Thing *thing, int32_t node)
{
    return !thing->private_scope || thing->may[node] || node == thing->walk.owner;
}

static bool sees_group(const Thing *thing, int32_t node, int32_t group)
{
    return group != SECRET || thing->secret[node] || node == thing->walk.owner;
}

static void look(Scene *scene, Thing *thing, int32_t node)
{
    const FlSession *session = scene->net.node[node].session;
    FlEntityId id = net_entity(&scene->net, node, thing->walk.number);
    FlValue value;
    scene->hosted[node] =
        scene->hosted[node] || fl_peer_host(session).index1 == fl_peer_self(session).index1;
    if (id.generation != thing->generation[node]) {
        thing->generation[node] = id.generation;
        memset(thing->last[node], 0, sizeof thing->last[node]);
    }
    if (id.index1 == 0 || fl_field_get(session, id, 0, &value) != FL_OK) {
        return;
    }
    for (int32_t g = 0; g < GROUPS; g++) {
        int64_t n = group_at(session, id, g);
        assert_true(n >= thing->last[node][g] && n <= thing->count[g]);
        assert_true(g != SECRET || node != NEVER || n == 0 || scene->hosted[node]);
        thing->last[node][g] = n;
    }
    scene->looked++;
}

static void frame(Scene *scene)
{
    for (int32_t t = 0; t < THINGS; t++) {
        if (scene->net.node[scene->thing[t].walk.owner].session != NULL) {
            (void)net_walk_step(&scene->net, &scene->thing[t].walk);
        }
    }
    net_frame(&scene->net);
    for (int32_t t = 0; t < THINGS; t++) {
        for (int32_t node = 0; node < scene->net.count; node++) {
            if (net_in(&scene->net, node)) {
                look(scene, &scene->thing[t], node);
            }
        }
    }
}

static bool is_right(const Scene *scene, const Thing *thing, int32_t node)
{
    const FlSession *session = scene->net.node[node].session;
    if (session == NULL || !sees_entity(thing, node)) {
        return true;
    }
    FlEntityId id = net_entity(&scene->net, node, thing->walk.number);
    bool right = id.index1 != 0;
    for (int32_t g = 0; g < GROUPS && right; g++) {
        FlValue value;
        right = !sees_group(thing, node, g) ||
                (fl_field_get(session, id, g, &value) == FL_OK && value.integer == thing->count[g]);
    }
    return right;
}

static int32_t wrong(const Scene *scene, bool print)
{
    int32_t count = 0;
    for (int32_t t = 0; t < THINGS; t++) {
        for (int32_t node = 0; node < scene->net.count; node++) {
            bool right = is_right(scene, &scene->thing[t], node);
            count += right ? 0 : 1;
            if (!right && print) {
                const FlSession *session = scene->net.node[node].session;
                FlEntityId id = net_entity(&scene->net, node, scene->thing[t].walk.number);
                print_message("thing %d of node %d at node %d (known %d):", t,
                              scene->thing[t].walk.owner, node, id.index1 != 0);
                for (int32_t g = 0; g < GROUPS; g++) {
                    FlValue value;
                    (void)fl_field_get(session, id, g, &value);
                    print_message(" %d/%d", (int)value.integer, (int)scene->thing[t].count[g]);
                }
                print_message("\n");
            }
        }
    }
    return count;
}

static void all_get_right(Scene *scene)
{
    for (int32_t f = 0; f < 3000 && (wrong(scene, false) > 0 || !net_together(&scene->net)); f++) {
        frame(scene);
    }
    assert_true(net_together(&scene->net));
    assert_int_equal(wrong(scene, true), 0);
    for (int32_t f = 0; f < 100; f++) { // and so it stays
        frame(scene);
        assert_int_equal(wrong(scene, false), 0);
    }
    assert_int_equal(net_count(&scene->net, FL_SESSION_MALFORMED), 0);
    assert_int_equal(net_count(&scene->net, FL_SESSION_KINDS_DIFFER), 0);
}

// ---------------------------------------------------------------- the scene

static void give(Scene *scene, Thing *thing, int32_t to)
{
    Net *net = &scene->net;
    int32_t owner = thing->walk.owner;
    FlSession *session = net->node[owner].session;
    FlEntityId id = net_entity(net, owner, thing->walk.number);
    if (session == NULL || !fl_entity_is_ours(session, id) || thing->private_scope) {
        return;
    }
    if (fl_entity_give(session, net_local(net, owner), id, net_peer(net, owner, to)) == FL_OK) {
        thing->walk.owner = to;
        memset(thing->secret, 0, sizeof thing->secret); // its next owner has no list
        scene->gifts++;
    }
}

static void change_something(Scene *scene)
{
    FlRandom *random = &scene->net.random;
    Thing *thing = &scene->thing[fl_random_below(random, THINGS)];
    int32_t node = (int32_t)fl_random_below(random, NEVER);
    bool sees = fl_random_below(random, 2) == 0;
    uint64_t what = fl_random_below(random, 10);
    bool there = scene->net.node[node].session != NULL && node != thing->walk.owner;
    if (what < 5) {
        (void)set_some(scene, thing);
    } else if (what < 6 && thing->private_scope && there) {
        set_scope(scene, thing, node, sees, false);
    } else if (what < 7 && there) {
        set_scope(scene, thing, node, sees, true);
    } else if (what < 8 && there && scene->gives && fl_random_below(random, 2) == 0) {
        give(scene, thing, node);
    }
}

static void make_things(Scene *scene, bool stays)
{
    for (int32_t t = 0; t < THINGS; t++) {
        FlEntityDef def = fl_entity_def_default();
        def.kind = SORT;
        def.survives_owner = stays;
        def.private_scope = t % 2 == 1;
        scene->thing[t].private_scope = def.private_scope;
        FlResult result = net_walk_begin(&scene->net, &scene->thing[t].walk, t / 2, &def);
        assert_int_equal(result, FL_OK);
        assert_true(set_some(scene, &scene->thing[t]));
    }
}

static void open_scene(Scene *scene, uint64_t seed, FlTopology topology, int32_t late)
{
    memset(scene, 0, sizeof *scene);
    Net *net = &scene->net;
    net_open(net, seed, topology, seed % 2 == 0);
    net->weather = net_storm(&net->random, 30);
    for (int32_t i = 0; i < NODES; i++) {
        if (i != late) {
            start(scene, i);
        }
    }
    net_gather(net);
}

static void everybody_who_may_ends_with_every_field_as_last_set(void **state)
{
    const char *name = (const char *)*state;
    static Scene scene;
    int64_t looked = 0;
    int64_t changes = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        open_scene(&scene, seed, net_topology(state), 3);
        scene.net.node[3].address = net_address(3, 4000);
        make_things(&scene, false);
        for (int32_t f = 0; f < 600; f++) {
            if (f == 200) {
                start(&scene, 3);
            }
            if (f < 200 || net_together(&scene.net)) { // whom to list must be known
                change_something(&scene);
            }
            frame(&scene);
        }
        all_get_right(&scene);
        looked += scene.looked;
        changes += scene.changes;
        net_close(&scene.net);
    }
    print_message("             %s: looked %lld times, %lld changes of who sees what\n", name,
                  (long long)looked, (long long)changes);
    assert_true(changes > 60);
}

static void a_new_owner_goes_on_from_every_field_as_last_set(void **state)
{
    const char *name = (const char *)*state;
    static Scene scene;
    int64_t gifts = 0;
    for (uint64_t seed = 11; seed <= 18; seed++) {
        open_scene(&scene, seed, net_topology(state), -1);
        make_things(&scene, false);
        scene.gives = true;
        for (int32_t f = 0; f < 800; f++) {
            change_something(&scene);
            frame(&scene);
        }
        all_get_right(&scene);
        gifts += scene.gifts;
        net_close(&scene.net);
    }
    print_message("             %s: %lld gifts\n", name, (long long)gifts);
    assert_true(gifts > 40);
}

// ---------------------------------------------------------------- hosts and owners that are gone

static void crash(Scene *scene, int32_t node)
{
    net_crash(&scene->net, node);
    for (int32_t t = 0; t < THINGS; t++) {
        scene->thing[t].may[node] = false;
        scene->thing[t].secret[node] = false;
    }
}

static void fields_go_on_under_the_next_host(void **state)
{
    static Scene scene;
    for (uint64_t seed = 21; seed <= 26; seed++) {
        open_scene(&scene, seed, net_topology(state), -1);
        make_things(&scene, false);
        for (int32_t t = 0; t < 2; t++) { // those of node 0 end with it
            scene.thing[t].walk.owner = 2;
        }
        for (int32_t t = 0; t < 2; t++) {
            FlEntityDef def = fl_entity_def_default();
            def.kind = SORT;
            Thing *thing = &scene.thing[t];
            memset(thing, 0, sizeof *thing);
            assert_int_equal(net_walk_begin(&scene.net, &thing->walk, 2, &def), FL_OK);
        }
        for (int32_t f = 0; f < 800; f++) {
            if (f == 300) {
                crash(&scene, 0);
            }
            if (f < 300 || net_together(&scene.net)) {
                change_something(&scene);
            } else { // owners go on meanwhile
                (void)set_some(&scene, &scene.thing[f % THINGS]);
            }
            frame(&scene);
        }
        all_get_right(&scene);
        net_close(&scene.net);
    }
}

// The newest that anybody who is left has of each group.
static void newest_left(const Scene *scene, const Thing *thing, int64_t newest[GROUPS])
{
    memset(newest, 0, GROUPS * sizeof newest[0]);
    for (int32_t node = 0; node < NODES; node++) {
        for (int32_t g = 0; g < GROUPS && scene->net.node[node].session != NULL; g++) {
            newest[g] = thing->last[node][g] > newest[g] ? thing->last[node][g] : newest[g];
        }
    }
}

static void what_an_owner_leaves_behind_goes_on_from_the_newest_of_each_group(void **state)
{
    static Scene scene;
    for (uint64_t seed = 31; seed <= 38; seed++) {
        open_scene(&scene, seed, net_topology(state), -1);
        make_things(&scene, true);
        Thing *thing = &scene.thing[2]; // of node 1, seen by all
        for (int32_t f = 0; f < 300; f++) {
            change_something(&scene);
            frame(&scene);
        }
        for (int32_t g = 0; g < 3; g++) { // not everybody has this when it goes
            FlEntityId id = net_entity(&scene.net, 1, thing->walk.number);
            set_group(scene.net.node[1].session, id, g, ++thing->count[g]);
            frame(&scene);
        }
        int64_t newest[GROUPS];
        crash(&scene, 1);
        newest_left(&scene, thing, newest);
        FlSession *host = scene.net.node[0].session;
        FlEntityId id = net_entity(&scene.net, 0, thing->walk.number);
        for (int32_t f = 0; f < 3000 && !fl_entity_is_ours(host, id); f++) {
            net_frame(&scene.net); // whose it was is not there to step it
            for (int32_t node = 0; node < NODES; node++) {
                if (net_in(&scene.net, node)) {
                    look(&scene, thing, node);
                }
            }
            newest_left(&scene, thing, newest); // some is still under way
        }
        assert_true(fl_entity_is_ours(host, id));
        for (int32_t t = 2; t < THINGS; t++) {
            scene.thing[t].walk.owner = 0;
            memset(scene.thing[t].may, 0, sizeof scene.thing[t].may);
            memset(scene.thing[t].secret, 0, sizeof scene.thing[t].secret);
            for (int32_t g = 0; g < GROUPS; g++) {
                int64_t now =
                    group_at(host, net_entity(&scene.net, 0, scene.thing[t].walk.number), g);
                assert_true(t != 2 || g == SECRET || now >= newest[g]);
                scene.thing[t].count[g] = now;
            }
        }
        all_get_right(&scene);
        net_close(&scene.net);
    }
}

// ---------------------------------------------------------------- defining

static void a_kind_may_be_defined_at_any_time(void **state)
{
    static Scene scene;
    memset(&scene, 0, sizeof scene);
    Net *net = &scene.net;
    net_open(net, 41, net_topology(state), false);
    net_start(net, 0);
    net_start(net, 1);
    net_start(net, 2);
    FlEntityDef def = fl_entity_def_default();
    def.kind = SORT;
    // Before it is in, and set before that, too.
    define(net, 1);
    FlEntityId early = fl_entity_create(net->node[1].session, &def);
    set_group(net->node[1].session, early, 2, 77);
    assert_int_equal(group_at(net->node[1].session, early, 2), 77);
    net_gather(net);
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(net->node[1].session, early, &status), FL_OK);
    net_frames(net, 50);
    FlValue value;
    FlEntityId there = net_entity(net, 2, status.number);
    assert_int_not_equal(there.index1, 0);
    assert_int_equal(fl_field_get(net->node[2].session, there, 2, &value), FL_NOT_FOUND);
    define(net, 0);
    net_frames(net, 50);
    assert_int_equal(group_at(net->node[0].session, net_entity(net, 0, status.number), 2), 77);
    set_group(net->node[1].session, early, 0, 78);
    net_frames(net, 50);
    define(net, 2); // the last of all
    assert_int_equal(group_at(net->node[2].session, there, 2), 0);
    net_frames(net, 50);
    assert_int_equal(group_at(net->node[2].session, there, 2), 77);
    assert_int_equal(group_at(net->node[2].session, there, 0), 78);
    assert_int_equal(group_at(net->node[2].session, there, SECRET), 0);
    assert_int_equal(net_count(net, FL_SESSION_MALFORMED), 0);
    FlError error;
    assert_int_equal(fl_kind_problem(net->node[2].session, &error), FL_OK);
    net_close(net);
}

static void expect_problem(const Net *net, int32_t node, const char *text)
{
    FlError error;
    assert_int_equal(fl_kind_problem(net->node[node].session, &error), FL_BAD_VALUE);
    assert_string_equal(error.text, text);
}

static void a_kind_that_differs_is_named_with_its_field(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 42, FL_TOPOLOGY_STAR, false);
    net_start(&net, 0);
    net_start(&net, 1);
    define(&net, 0);
    FlFieldDef fields[FIELDS];
    memcpy(fields, TANK, sizeof fields);
    fields[HEAT].step = 0.25;
    FlKindDef other = tank_kind();
    other.fields = fields;
    FlError error;
    assert_int_equal(fl_kind_define(net.node[1].session, SORT, &other, &error), FL_OK);
    assert_int_equal(fl_kind_define(net.node[1].session, SORT, &other, &error), FL_BAD_VALUE);
    FlKindDef tank = {.name = "tank", .version = 1, .fields = TANK, .field_count = 1};
    FlKindDef car = {.name = "car", .version = 2, .fields = TANK, .field_count = 1};
    net_gather(&net);
    net_frames(&net, 20);
    expect_problem(&net, 0, "kind 7, tank: field 4, heat, is another at peer 1");
    expect_problem(&net, 1, "kind 7, tank: field 4, heat, is another at peer 0");
    assert_int_equal(fl_kind_define(net.node[0].session, 8, &tank, &error), FL_OK);
    assert_int_equal(fl_kind_define(net.node[1].session, 8, &car, &error), FL_OK);
    net_frames(&net, 20);
    expect_problem(&net, 0, "kind 8 is tank version 1 here, and car version 2 at peer 1");
    FlEntityDef def = fl_entity_def_default();
    def.kind = SORT;
    FlEntityId id;
    uint32_t number = net_make(&net, 0, &def, &id);
    set_group(net.node[0].session, id, 1, 5);
    net_frames(&net, 50);
    assert_int_equal(int_at(net.node[1].session, net_entity(&net, 1, number), 1), 0);
    assert_int_equal(net_count(&net, FL_SESSION_FIELDS_SENT), 0);
    assert_int_equal(net_count(&net, FL_SESSION_MALFORMED), 0);
    net_close(&net);
}

static void misuse_is_answered_and_changes_nothing(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 43, FL_TOPOLOGY_STAR, false);
    net_start(&net, 0);
    net_start(&net, 1);
    define(&net, 0);
    define(&net, 1);
    net_gather(&net);
    FlEntityDef def = fl_entity_def_default();
    FlEntityId blob, id;
    (void)net_make(&net, 0, &def, &blob);
    def.kind = SORT;
    uint32_t number = net_make(&net, 0, &def, &id);
    FlSession *session = net.node[0].session;
    FlValue value;
    assert_int_equal(fl_field_set_int(session, blob, 0, 1), FL_BAD_VALUE);
    assert_int_equal(fl_field_get(session, blob, 0, &value), FL_NOT_FOUND);
    assert_int_equal(fl_entity_state_set(session, id, "x", 1), FL_BAD_VALUE);
    assert_int_equal(fl_field_set_int(session, id, FIELDS, 1), FL_BAD_VALUE);
    assert_int_equal(fl_field_set_int(session, id, -1, 1), FL_BAD_VALUE);
    assert_int_equal(fl_field_set_int(session, id, HEAT, 1), FL_BAD_VALUE);
    assert_int_equal(fl_field_set_real(session, id, 0, 1.0), FL_BAD_VALUE);
    assert_int_equal(fl_field_set_bytes(session, id, TITLE, "0123456789abc", 13), FL_BAD_VALUE);
    assert_int_equal(fl_field_set_int(session, id, 0, -1), FL_BAD_VALUE);
    assert_int_equal(fl_field_get(session, id, FIELDS, &value), FL_BAD_VALUE);
    net_frames(&net, 20);
    assert_int_equal(net_count(&net, FL_SESSION_FIELDS_SENT), 0);
    FlEntityId there = net_entity(&net, 1, number);
    assert_int_equal(fl_field_set_int(net.node[1].session, there, 0, 1), FL_BAD_VALUE);
    FlEntityId none = {0};
    assert_int_equal(fl_field_set_int(session, none, 0, 1), FL_STALE_ID);
    FlError error;
    assert_int_equal(fl_entity_state_set(session, blob, "x", 1), FL_OK);
    FlKindDef kind = tank_kind();
    assert_int_equal(fl_kind_define(session, 0, &kind, &error), FL_BAD_VALUE);
    assert_true(strlen(error.text) > 0);
    kind.field_count = 0;
    assert_int_equal(fl_kind_define(session, 9, &kind, &error), FL_BAD_VALUE);
    net_close(&net);
}

static void setting_and_sending_fields_allocates_nothing(void **state)
{
    static Scene scene;
    open_scene(&scene, 44, net_topology(state), -1);
    make_things(&scene, false);
    all_get_right(&scene);
    int32_t before = 0;
    int32_t after = 0;
    for (int32_t i = 0; i < NODES; i++) {
        before += scene.net.node[i].memory.calls;
    }
    for (int32_t f = 0; f < 300; f++) {
        change_something(&scene);
        frame(&scene);
    }
    for (int32_t i = 0; i < NODES; i++) {
        after += scene.net.node[i].memory.calls;
    }
    assert_int_equal(after, before);
    net_close(&scene.net);
}

static void only_the_group_that_changed_is_sent(void **state)
{
    (void)state;
    static Net net;
    net_open(&net, 45, FL_TOPOLOGY_STAR, false);
    net_start(&net, 0);
    net_start(&net, 1);
    define(&net, 0);
    define(&net, 1);
    net_gather(&net);
    FlEntityDef def = fl_entity_def_default();
    def.kind = SORT;
    FlEntityId id;
    (void)net_make(&net, 0, &def, &id);
    for (int32_t g = 0; g < GROUPS; g++) {
        set_group(net.node[0].session, id, g, 4);
    }
    net_frames(&net, 50);
    uint64_t sent = net_count(&net, FL_SESSION_FIELDS_SENT);
    int64_t bytes[2];
    for (int32_t n = 0; n < 2; n++) { // with and without a change
        bytes[n] = net.bytes[0];
        for (int32_t f = 0; f < 20; f++) {
            if (n == 0) {
                set_group(net.node[0].session, id, 0, 5 + f);
            }
            net_frame(&net);
        }
        bytes[n] = net.bytes[0] - bytes[n];
    }
    // Head 7, mask 4 bits, a counter of 20, a real of 5: 11 bytes, and a packet's own.
    assert_true(net_count(&net, FL_SESSION_FIELDS_SENT) - sent <= 22); // the last is repeated
    assert_true(bytes[0] - bytes[1] < 20 * (11 + 28 + 40));
    net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGIES(everybody_who_may_ends_with_every_field_as_last_set),
        NET_TOPOLOGIES(a_new_owner_goes_on_from_every_field_as_last_set),
        NET_TOPOLOGY(fields_go_on_under_the_next_host, "mesh"),
        NET_TOPOLOGY(fields_go_on_under_the_next_host, "hybrid"),
        NET_TOPOLOGIES(what_an_owner_leaves_behind_goes_on_from_the_newest_of_each_group),
        NET_TOPOLOGIES(a_kind_may_be_defined_at_any_time),
        cmocka_unit_test(a_kind_that_differs_is_named_with_its_field),
        cmocka_unit_test(misuse_is_answered_and_changes_nothing),
        NET_TOPOLOGIES(setting_and_sending_fields_allocates_nothing),
        cmocka_unit_test(only_the_group_that_changed_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
