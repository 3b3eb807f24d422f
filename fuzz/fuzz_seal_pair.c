// Two introduced peers, and somebody who owns the network between them and knows the keys of every
// introduction but the one that is being agreed on: an ex-host.
//
// The input is a script; each byte picks a step. Datagrams wait until a step delivers, loses,
// repeats, spoils or redirects them. The adversary also seals packets of any kind with what follows
// from the introductions' keys that it has.
//
// Checked: payloads arrive unchanged and at most once, and only what was sent; nobody is made to
// leave or to expire before its time; an address that has not proved itself gets no more than came
// from there; when the network is kind in the end, both are connected with the same keys.
#include "fuzz.h"

#include "seal/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

enum { KEPT = 64, PAYLOADS = 256, STALE = 4, STRANGERS = 4, STEPS_AT_MOST = 2000 };

#define UNIX_NOW UINT64_C(1700000000)
#define EXPIRE_S 1000

typedef struct Datagram {
    int32_t to;
    int32_t count;
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
} Datagram;

typedef struct Scene {
    FlTime now;
    FlRandom stream;
    FlSealIntroduction introduction[2]; // the last one
    FlSealPair *pair[2];
    Datagram kept[KEPT];
    uint32_t kept_next, first;               // those from `first` on have not been delivered
    uint8_t stale[STALE][FL_SEAL_KEY_BYTES]; // introductions' keys that the adversary has
    int32_t stale_count;
    int32_t sent[2];
    bool arrived[2][PAYLOADS]; // [sender]
    int64_t in[STRANGERS], out[STRANGERS];
} Scene;

static FlAddress address_of(int32_t end)
{
    FlAddress address = {
        .ip = {10, 0, 0, (uint8_t)(end + 1)}, .port = 4000, .family = FL_FAMILY_IPV4};
    return address;
}

// The ends are 0 and 1, strangers' addresses follow.
static int32_t end_of(FlAddress address)
{
    return address.ip[3] - 1;
}

static void send_all(Scene *scene)
{
    for (int32_t i = 0; i < 2; i++) {
        FlSealed out;
        for (int32_t n = 0; fl__seal_pair_next(scene->pair[i], scene->now, &out) == FL_OK; n++) {
            CHECK(n < 64 && out.count > 0 && out.count <= CONTROL_BYTES);
            int32_t to = end_of(out.to);
            if (to >= 2) {
                scene->out[to - 2] += out.count;
                CHECK(scene->out[to - 2] <= scene->in[to - 2]);
                continue;
            }
            Datagram *d = &scene->kept[scene->kept_next++ % KEPT];
            d->to = to;
            d->count = out.count;
            memcpy(d->bytes, out.bytes, (size_t)out.count);
        }
    }
}

static void deliver(Scene *scene, const Datagram *d, int32_t from)
{
    if (d->count == 0) {
        return;
    }
    uint8_t bytes[FL_SEAL_PACKET_BYTES];
    memcpy(bytes, d->bytes, (size_t)d->count);
    scene->in[from >= 2 ? from - 2 : 0] += from >= 2 ? d->count : 0;
    FlSealPayload payload;
    FlSealDrop drop = fl__seal_pair_receive(scene->pair[d->to], scene->now, address_of(from), bytes,
                                            d->count, &payload);
    CHECK(drop == FL_SEAL_DROP_NONE || payload.bytes == NULL);
    if (payload.bytes != NULL) {
        int32_t sender = 1 - d->to;
        CHECK(payload.count == 3 && payload.bytes[0] == sender && payload.bytes[2] == 77);
        int32_t n = payload.bytes[1];
        CHECK(n < scene->sent[sender] && !scene->arrived[sender][n]);
        scene->arrived[sender][n] = true;
    }
    send_all(scene);
}

static void send_payload(Scene *scene, int32_t from)
{
    uint8_t buffer[FL_SEAL_PACKET_BYTES] = {0};
    FlSealPair *pair = scene->pair[from];
    FlSealed out;
    buffer[FL_SEAL_HEAD_BYTES] = (uint8_t)from;
    buffer[FL_SEAL_HEAD_BYTES + 1] = (uint8_t)scene->sent[from];
    buffer[FL_SEAL_HEAD_BYTES + 2] = 77;
    if (scene->sent[from] == PAYLOADS - 1 ||
        fl__seal_pair_seal(pair, scene->now, fl__seal_pair_sequence(pair), buffer, 3, &out) !=
            FL_OK) {
        return;
    }
    scene->sent[from]++;
    Datagram *d = &scene->kept[scene->kept_next++ % KEPT];
    d->to = end_of(out.to) < 2 ? end_of(out.to) : 1 - from;
    d->count = out.count;
    memcpy(d->bytes, out.bytes, (size_t)out.count);
}

static bool are_connected(const Scene *scene)
{
    return fl__seal_pair_status(scene->pair[0]).state == FL_SEAL_PAIR_CONNECTED &&
           fl__seal_pair_status(scene->pair[1]).state == FL_SEAL_PAIR_CONNECTED;
}

static void introduce(Scene *scene)
{
    FlSealRandom random = fl__seal_random_seeded(&scene->stream);
    fl__seal_introduce(&random, &scene->introduction[0], &scene->introduction[1]);
    for (int32_t i = 0; i < 2; i++) {
        uint64_t unix_s = UNIX_NOW + (uint64_t)(scene->now / FL_SEC(1));
        scene->introduction[i].expire_s = unix_s + EXPIRE_S;
    }
}

// Whoever introduced them last is an ex-host from now on.
static void renew(Scene *scene)
{
    uint8_t bindings[2][FL_SEAL_BINDING_BYTES];
    if (!are_connected(scene) || scene->stale_count == STALE ||
        fl__seal_pair_binding(scene->pair[0], bindings[0]) != FL_OK ||
        fl__seal_pair_binding(scene->pair[1], bindings[1]) != FL_OK ||
        memcmp(bindings[0], bindings[1], sizeof bindings[0]) != 0) {
        return; // one is still at the keys before: they would not agree
    }
    memcpy(scene->stale[scene->stale_count++], scene->introduction[0].key, FL_SEAL_KEY_BYTES);
    introduce(scene);
    for (int32_t i = 0; i < 2; i++) {
        uint64_t unix_s = UNIX_NOW + (uint64_t)(scene->now / FL_SEC(1));
        CHECK(fl__seal_pair_renew(scene->pair[i], scene->now, unix_s, &scene->introduction[i]) ==
              FL_OK);
    }
    send_all(scene);
}

static void forge(Scene *scene, Script *script)
{
    uint8_t which = script_take(script);
    if (scene->stale_count == 0) {
        return;
    }
    uint8_t key[FL_SEAL_KEY_BYTES];
    uint8_t hints[16];
    memcpy(key, scene->stale[which % scene->stale_count], sizeof key);
    (void)crypto_kdf_derive_from_key(hints, sizeof hints, 3, "fairlead", key);
    if (which / 8 % 10 > 0) {
        (void)crypto_kdf_derive_from_key(key, sizeof key, which / 8 % 10, "fairlead", key);
    }
    static const int32_t sizes[KINDS] = {0, 0, 0, 0, 8, 3, 0, 16, 8, 8, 48};
    Kind kind = (Kind)(KIND_KEEP_ALIVE + script_take(script) % (KINDS - KIND_KEEP_ALIVE));
    uint8_t body[HELLO_BYTES];
    for (int32_t i = 0; i < sizes[kind]; i++) {
        body[i] = i < 4 ? script_take(script) : (uint8_t)i;
    }
    uint8_t buffer[CONTROL_BYTES];
    const uint8_t *start;
    Datagram d = {.to = which / 128};
    d.count = fl__packet_control(
        scene->introduction[0].protocol_id, key, kind, (uint64_t)script_take(script) * 8,
        fl__load_u32(hints + (d.to ? 0 : 4)), body, sizes[kind], buffer, &start);
    memcpy(d.bytes, start, (size_t)d.count);
    deliver(scene, &d, script_take(script) % (2 + STRANGERS));
}

static void spoil(Script *script, Datagram *d)
{
    if (d->count > 0) {
        d->bytes[script_take(script) % d->count] ^= (uint8_t)(1 + script_take(script) % 255);
    }
}

static void do_step(Scene *scene, Script *script)
{
    uint8_t what = script_take(script);
    Datagram d = scene->kept[(what / 16 + scene->kept_next) % KEPT]; // an older one
    switch (what % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        if (scene->first != scene->kept_next) {
            d = scene->kept[scene->first++ % KEPT];
            deliver(scene, &d, 1 - d.to);
        }
        break;
    case 5:
        scene->first += scene->first != scene->kept_next ? 1 : 0; // lost
        break;
    case 6:
        deliver(scene, &d, 1 - d.to);
        break;
    case 7:
        d = scene->kept[(scene->kept_next - 1) % KEPT];
        deliver(scene, &d, 2 + what / 16 % STRANGERS);
        break;
    case 8:
        spoil(script, &d);
        deliver(scene, &d, 1 - d.to);
        break;
    case 9:
    case 10:
        send_payload(scene, what / 16 % 2);
        break;
    case 11:
        renew(scene);
        break;
    case 12:
    case 13:
        forge(scene, script);
        break;
    default:
        scene->now += FL_MS(20) * (1 + what / 16);
        send_all(scene);
        break;
    }
    scene->first = scene->kept_next - scene->first > KEPT ? scene->kept_next - KEPT : scene->first;
}

static void check(const Scene *scene)
{
    for (int32_t i = 0; i < 2; i++) {
        FlSealPairState state = fl__seal_pair_status(scene->pair[i]).state;
        CHECK(state == FL_SEAL_PAIR_REACHING || state == FL_SEAL_PAIR_CONNECTED);
    }
}

static void open_scene(Scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->now = FL_SEC(1);
    scene->stream.seed = 9;
    for (int32_t i = 0; i < 2; i++) {
        FlSealIntroduction m = {.protocol_id = 5,
                                .own_id = (uint64_t)i,
                                .peer_id = (uint64_t)(1 - i),
                                .timeout_s = 3600,
                                .candidate_count = 1,
                                .candidate = {address_of(1 - i)}};
        scene->introduction[i] = m;
    }
    introduce(scene);
    for (int32_t i = 0; i < 2; i++) {
        FlSealPairDef def = fl__seal_pair_def_default();
        def.introduction = scene->introduction[i];
        def.unix_s = UNIX_NOW;
        def.rebind_ns = FL_MS(500);
        def.random = fl__seal_random_seeded(&scene->stream);
        CHECK(fl__seal_pair_create(&def, scene->now, &scene->pair[i]) == FL_OK);
    }
    send_all(scene);
}

// The network is kind: everything arrives from now on.
static void settle(Scene *scene)
{
    for (int32_t n = 0; n < 400; n++) {
        while (scene->first != scene->kept_next) {
            Datagram d = scene->kept[scene->first++ % KEPT];
            deliver(scene, &d, 1 - d.to);
        }
        scene->now += FL_MS(20);
        send_all(scene);
    }
    uint8_t bindings[2][FL_SEAL_BINDING_BYTES];
    CHECK(are_connected(scene));
    CHECK(fl__seal_pair_binding(scene->pair[0], bindings[0]) == FL_OK);
    CHECK(fl__seal_pair_binding(scene->pair[1], bindings[1]) == FL_OK);
    CHECK(memcmp(bindings[0], bindings[1], sizeof bindings[0]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Scene scene; // large
    Script script = {data, size};
    open_scene(&scene);
    for (int32_t i = 0; i < STEPS_AT_MOST && script.left > 0; i++) {
        do_step(&scene, &script);
        check(&scene);
    }
    settle(&scene);
    check(&scene);
    fl__seal_pair_destroy(scene.pair[0]);
    fl__seal_pair_destroy(scene.pair[1]);
    return 0;
}
