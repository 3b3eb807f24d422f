// The network of the scene, and its sessions.
#include "member_scene.h"

#include "session/session.h"

// ---------------------------------------------------------------- the network

static void *counted_alloc(void *ctx, size_t size, size_t align)
{
    (void)align;
    *(int64_t *)ctx += (int64_t)size;
    return malloc(size);
}

static void counted_free(void *ctx, void *ptr, size_t size)
{
    *(int64_t *)ctx -= (int64_t)size;
    free(ptr);
}

FlAddress member_address_of(int32_t node, uint16_t port)
{
    FlAddress address = {
        .ip = {10, 0, 0, (uint8_t)(node + 1)}, .port = port, .family = FL_FAMILY_IPV4};
    return address;
}

// ---------------------------------------------------------------- the network

void member_push(Scene *scene, const Datagram *datagram)
{
    if (scene->next - scene->first == QUEUE) {
        return; // lost
    }
    Datagram *place = &scene->queue[scene->next++ % QUEUE];
    *place = *datagram;
    place->at = scene->now + WAY;
}

static void carry(Scene *scene, int32_t from, const FlOutgoing *out)
{
    Datagram datagram = {.from = from, .to = out->to.ip[3] - 1, .port = scene->node[from].port};
    bool there =
        datagram.to >= 0 && datagram.to < PLACES && scene->node[datagram.to].session != NULL;
    bool apart = scene->parted && (from % 2 != datagram.to % 2);
    if (!there || apart || out->to.port != scene->node[datagram.to].port) {
        return;
    }
    datagram.count = out->count;
    memcpy(datagram.bytes, out->bytes, (size_t)out->count);
    if (from == HOSTILE) {
        scene->kept[scene->kept_next++ % KEPT] = datagram;
        bool light =
            out->count > 5 && out->bytes[0] == 0 && out->bytes[1] == 0 && out->bytes[2] == 5;
        if (light) {
            memcpy(scene->light, out->bytes + 3, 2);
            scene->light_to = datagram.to;
        }
        if (scene->silent) {
            return;
        }
    }
    member_push(scene, &datagram);
}

void member_deliver(Scene *scene)
{
    while (scene->first != scene->next && scene->queue[scene->first % QUEUE].at <= scene->now) {
        const Datagram *d = &scene->queue[scene->first++ % QUEUE];
        if (scene->node[d->to].session != NULL) {
            fl_session_receive(scene->node[d->to].session, member_address_of(d->from, d->port),
                               d->bytes, d->count, scene->now);
        }
    }
}

void member_pump(Scene *scene, int32_t node)
{
    FlOutgoing out;
    int32_t count = 0;
    while (scene->node[node].session != NULL &&
           fl_session_next(scene->node[node].session, scene->now, &out) == FL_OK) {
        CHECK(++count < PUMP_AT_MOST);
        carry(scene, node, &out);
    }
}

// ---------------------------------------------------------------- the hostile one's sections

static Want section_want(const void *self, int32_t connection, FlTime now)
{
    const Scene *scene = (const Scene *)self;
    Want want = fl__want_none();
    if (scene->section_count > 0 &&
        fl__connection_member(scene->node[HOSTILE].session, connection) == scene->section_to) {
        want.at = now;
        want.bytes = want.first = scene->section_count;
    }
    return want;
}

static void section_write(void *self, PacketOut *out)
{
    Scene *scene = (Scene *)self;
    if (scene->section_count > 0 && out->left >= scene->section_count &&
        fl__connection_member(scene->node[HOSTILE].session, out->connection) == scene->section_to) {
        fl_writer_bytes(out->w, scene->section, scene->section_count);
        out->left -= scene->section_count;
        scene->section_count = 0;
    }
}

const Feature member_feature = {.name = "hostile", .want = section_want, .write = section_write};

// ---------------------------------------------------------------- making the session

void member_open_node(Scene *scene, int32_t i, uint8_t how)
{
    Node *n = &scene->node[i];
    static FlSealServerDef server;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    n->port = 4000;
    n->keys.seed = (uint64_t)i + 1;
    n->blocked_since = FL_FOREVER;
    n->def = fl_session_def_default();
    n->def.role = i == HOST ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    n->def.topology = (FlTopology)(how % 4);
    n->def.host = member_address_of(HOST, 4000);
    n->def.peer_capacity = PLACES - 1;
    n->def.tuning.direct_capacity = PLACES - 1;
    n->def.entity_capacity = 24;
    n->def.world.entity_capacity = NUMBERS;
    n->def.tuning.item_capacity = 64;
    n->def.tuning.path_capacity = 8;
    n->def.input_bytes = INPUT_BYTES;
    n->def.input_ticks = 1024;
    n->def.action_capacity = 16;
    n->def.timeout_ns = FL_SEC(3);
    n->def.tuning.link.keep_alive_ns = FL_MS(800);
    n->def.tuning.link.send_bytes = n->def.tuning.link.receive_bytes = 4096;
    n->def.upload_bytes_s = scene->poor ? 6000.0 : scene->rich ? 30000.0 : 0.0;
    n->def.rewind_ns = scene->rich ? FL_MS(300) : 0;
    n->def.seed = (uint64_t)i + 7;
    n->def.unix_s = UNIX_NOW;
    n->def.approve = how / 32 % 2 != 0;
    n->def.inputs_to_host = how / 64 % 2 != 0;
    n->def.random = fl__seal_random_seeded(&n->keys);
    n->def.world.application_version += scene->stranger == STRANGER_OTHER ? 1 : 0;
    FlAlloc alloc = {counted_alloc, counted_free, &n->live_bytes};
    n->def.alloc = alloc;
    if (how / 4 % 2 != 0 && i == HOST) {
        server = fl_seal_server_def_default();
        server.address[server.address_count++] = n->def.host;
        memset(server.private_key, 7, sizeof server.private_key);
        n->def.seal_server = &server;
    } else if (how / 4 % 2 != 0 && scene->stranger != STRANGER_PLAIN) {
        FlWorld world;
        CHECK(fl_world_init(&n->def.world, &world) == FL_OK);
        FlSealTokenDef def = {.protocol_id = world.protocol_id,
                              .client_id = (uint64_t)i,
                              .create_s = UNIX_NOW,
                              .expire_s = UNIX_NOW + 60,
                              .timeout_s = 5,
                              .address_count = 1,
                              .address = {n->def.host}};
        CHECK(fl_seal_token_make(&def, server.private_key, &n->def.random, token) == FL_OK);
        n->def.token = token;
    }
    CHECK(fl__session_memory(&n->def).all > 0);
    CHECK(fl_session_create(&n->def, scene->now, &n->session) == FL_OK);
}

static void step_game(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)ctx;
    (void)inputs;
    uint64_t *sum = (uint64_t *)state;
    *sum = *sum * 31 + (uint64_t)tick;
}

void member_attach_timeline(Scene *scene, int32_t i, bool begun)
{
    Node *n = &scene->node[i];
    FlTimelineDef def = fl_timeline_def_default();
    def.game.step_fn = step_game;
    def.state_bytes = 8;
    def.player_capacity = PLACES;
    def.input_bytes = INPUT_BYTES;
    def.alloc = n->def.alloc;
    CHECK(fl_timeline_create(&def, &n->timeline) == FL_OK);
    uint64_t zero = 0;
    if (begun) {
        fl_timeline_begin(n->timeline, scene->tick + 1, &zero);
    }
    for (int32_t k = 0; k < NODES && begun; k++) {
        CHECK(fl_timeline_enter(n->timeline, scene->node[k].member, scene->tick + 1) == FL_OK);
    }
    n->input_next = begun ? scene->tick + 1 : 0;
    CHECK(fl_session_timeline(n->session, n->timeline, begun) == FL_OK);
}

// Counts its ticks and keeps the last input.
static void step_player(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    (void)ctx;
    (void)tick;
    uint32_t *words = (uint32_t *)state;
    words[0]++;
    words[1] = inputs->of[0][0];
}

static void pose_player(void *ctx, const void *state, FlPose *pose)
{
    (void)ctx;
    memset(pose, 0, sizeof *pose);
    pose->position.x = (double)((const uint32_t *)state)[0];
}

void member_predict(Scene *scene, int32_t i)
{
    FlPredictDef def = fl_predict_def_default();
    def.step_fn = step_player;
    def.pose_fn = pose_player;
    def.state_bytes = 8;
    def.tick_hz = 1000 / TICK_MS;
    CHECK(fl_session_predict(scene->node[i].session, &def) == FL_OK);
}

void member_define_tank(FlSession *session)
{
    static const FlFieldDef FIELDS[] = {
        {.name = "kills", .type = FL_FIELD_INT, .high = 60000},
        {.name = "thrice", .type = FL_FIELD_INT, .high = 99},
        {.name = "title", .type = FL_FIELD_BYTES, .size = 5, .group = 1},
        {.name = "cash", .type = FL_FIELD_REAL, .high = 1.0, .step = 0.01, .group = 2},
        {.name = "flags", .type = FL_FIELD_BITS, .size = 12},
        {.name = "gun", .type = FL_FIELD_ANGLE, .size = 10, .group = 1},
    };
    FlKindDef def = {.name = "tank", .fields = FIELDS, .field_count = 6, .private_groups = 4};
    FlError error;
    CHECK(fl_kind_define(session, SORT, &def, &error) == FL_OK);
}
