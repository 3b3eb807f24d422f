// The keys of introduced members: whoever made the introduction is not in on what they say, then or
// later; strangers cost little; and nothing secret is left behind.
#define NET_NODES 18
#include "session_net.h"

#include "seal/private.h"

enum { MEMBERS = 5 };

// ---------------------------------------------------------------- a host that has left

// What two members know in common.
static void binding_of(const Net *net, int32_t at, int32_t whom,
                       uint8_t binding[FL_SEAL_BINDING_BYTES])
{
    assert_int_equal(fl_peer_binding(net->node[at].session, net_peer(net, at, whom), binding),
                     FL_OK);
}

// A mesh whose host has introduced everybody, and left.
static void lose_host(Net *net, FlTopology topology)
{
    net_open(net, 5, topology, true);
    net_start_together(net, MEMBERS);
    net_frames(net, 200);
    net_leave(net, 0);
    net_frames(net, 200);
    assert_int_equal(net_alive(net), MEMBERS - 1);
    assert_true(net_together(net));
    for (int32_t i = 1; i < MEMBERS; i++) {
        net_drop_notices(net->node[i].session);
    }
}

// One packet that ends a connection, to everybody, as if from everywhere.
static void forge_goodbye(Net *net, const uint8_t key[FL_SEAL_KEY_BYTES])
{
    uint8_t buffer[CONTROL_BYTES];
    const uint8_t *bytes;
    uint64_t protocol = protocol_of(&net->def.world);
    int32_t count = fl__packet_control(protocol, key, KIND_DISCONNECT, UINT64_C(1) << 30, 0, NULL,
                                       0, buffer, &bytes);
    for (int32_t to = 1; to < MEMBERS; to++) {
        for (int32_t from = 1; from < MEMBERS; from++) {
            FlAddress where = from == to ? net_address(99, 666) : net->node[from].address;
            fl_session_receive(net->node[to].session, where, bytes, count, net_local(net, to));
        }
    }
}

// The ex-host has every random byte that it ever drew, and so every key that it ever sent, and all
// that follows from such keys.
static void an_ex_host_ends_nothing(void **state)
{
    static Net net;
    lose_host(&net, net_topology(state));
    FlRandom drawn = {.seed = net.node[0].keys.seed};
    uint8_t words[8 * 600];
    for (int32_t i = 0; i < 600; i++) {
        fl__store_u64(words + 8 * i, fl_random_next(&drawn));
    }
    for (int32_t i = 0; i + 4 <= 600; i++) {
        forge_goodbye(&net, words + 8 * i);
        for (uint64_t id = 1; id <= 8; id++) {
            uint8_t derived[FL_SEAL_KEY_BYTES];
            crypto_kdf_derive_from_key(derived, sizeof derived, id, "fairlead", words + 8 * i);
            forge_goodbye(&net, derived);
        }
    }
    net_frames(&net, 100);
    assert_true(net_together(&net));
    for (int32_t i = 1; i < MEMBERS; i++) {
        FlNotice notice;
        while (fl_notice_take(net.node[i].session, &notice) == FL_OK) {
            assert_int_not_equal(notice.kind, FL_NOTICE_PEER_LEFT);
            assert_int_not_equal(notice.kind, FL_NOTICE_PEER_INDIRECT);
            assert_int_not_equal(notice.kind, FL_NOTICE_HOST_CHANGED);
        }
    }
    net_close(&net);
}

// Introduced members renew their keys after a change of host, but for those with the new host
// itself, whom nobody introduces. No packet is lost, nobody is missed meanwhile.
static void keys_are_renewed_when_the_host_changes(void **state)
{
    static Net net;
    net_open(&net, 6, net_topology(state), true);
    net_start_together(&net, MEMBERS);
    net_frames(&net, 200);
    static uint8_t before[MEMBERS][MEMBERS][FL_SEAL_BINDING_BYTES];
    for (int32_t a = 1; a < MEMBERS; a++) {
        for (int32_t b = 1; b < MEMBERS; b++) {
            if (a != b) {
                binding_of(&net, a, b, before[a][b]);
            }
        }
    }
    net_leave(&net, 0);
    net_frames(&net, 300);
    int32_t host = (int32_t)fl_peer_host(net.node[1].session).index1 - 1;
    for (int32_t a = 1; a < MEMBERS; a++) {
        for (int32_t b = 1; b < MEMBERS; b++) {
            uint8_t there[FL_SEAL_BINDING_BYTES];
            uint8_t here[FL_SEAL_BINDING_BYTES];
            if (a == b) {
                continue;
            }
            binding_of(&net, a, b, here);
            binding_of(&net, b, a, there);
            assert_memory_equal(here, there, sizeof here);
            assert_memory_equal(before[a][b], before[b][a], sizeof here);
            bool renewed = memcmp(here, before[a][b], sizeof here) != 0;
            assert_int_equal(renewed, net_number(&net, a) != host && net_number(&net, b) != host);
        }
        FlNotice notice;
        while (fl_notice_take(net.node[a].session, &notice) == FL_OK) {
            assert_int_not_equal(notice.kind, FL_NOTICE_PEER_INDIRECT);
        }
        assert_int_equal(fl_session_seal_drops(net.node[a].session, FL_SEAL_DROP_TAMPERED), 0);
    }
    net_close(&net);
}

// ---------------------------------------------------------------- strangers

static int64_t openings; // that were tried

int __wrap_crypto_aead_chacha20poly1305_ietf_decrypt_detached(
    unsigned char *m, unsigned char *nsec, const unsigned char *c, unsigned long long clen,
    const unsigned char *mac, const unsigned char *ad, unsigned long long adlen,
    const unsigned char *npub, const unsigned char *k);
int __real_crypto_aead_chacha20poly1305_ietf_decrypt_detached(
    unsigned char *m, unsigned char *nsec, const unsigned char *c, unsigned long long clen,
    const unsigned char *mac, const unsigned char *ad, unsigned long long adlen,
    const unsigned char *npub, const unsigned char *k);

// The linker puts it between the library and libsodium (tests/CMakeLists.txt).
int __wrap_crypto_aead_chacha20poly1305_ietf_decrypt_detached(
    unsigned char *m, unsigned char *nsec, const unsigned char *c, unsigned long long clen,
    const unsigned char *mac, const unsigned char *ad, unsigned long long adlen,
    const unsigned char *npub, const unsigned char *k)
{
    openings++;
    return __real_crypto_aead_chacha20poly1305_ietf_decrypt_detached(m, nsec, c, clen, mac, ad,
                                                                     adlen, npub, k);
}

// Datagrams of every kind, size and hint, from addresses of strangers.
static void flood(Net *net, int32_t to, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        uint8_t bytes[FL_SESSION_DATAGRAM_BYTES];
        int32_t size = 1 + (int32_t)fl_random_below(&net->random, sizeof bytes);
        for (int32_t k = 0; k < size && k < 24; k++) {
            bytes[k] = (uint8_t)fl_random_next(&net->random);
        }
        bytes[0] = (uint8_t)(0x10 | i % 11);
        fl_session_receive(net->node[to].session, net_address(200 + i % 50, (uint16_t)(1 + i)),
                           bytes, size, net_local(net, to));
    }
}

// A member of 17 connections tries no more keys on strangers' datagrams than its ration: at first
// 64 by trying and 64 by hints, then 64 each in a second.
static void strangers_make_nobody_work(void **state)
{
    static Net net;
    net_open(&net, 7, net_topology(state), true);
    net_start_together(&net, NET_NODES);
    net_frames(&net, 300);
    for (int32_t node = 0; node < 3; node++) {
        openings = 0;
        flood(&net, node, 20000);
        assert_true(openings <= 128);
    }
    net_close(&net);
}

// While strangers use up the ration, whoever moves is followed all the same: it asks by its hint.
static void who_moves_is_followed_through_a_flood(void **state)
{
    static Net net;
    net_open(&net, 8, net_topology(state), true);
    net_start_together(&net, MEMBERS);
    NetWalk walk[MEMBERS];
    for (int32_t i = 0; i < MEMBERS; i++) {
        FlEntityDef def = fl_entity_def_default();
        assert_int_equal(net_walk_begin(&net, &walk[i], i, &def), FL_OK);
    }
    for (int32_t f = 0; f < 400; f++) {
        for (int32_t i = 0; i < MEMBERS; i++) {
            if (f % 10 == 0) {
                net_walk_turn(&net, &walk[i]);
            }
            assert_int_equal(net_walk_step(&net, &walk[i]), FL_OK);
            flood(&net, i, 20);
        }
        if (f == 200) {
            net.node[3].address.port++;
        }
        net_frame(&net);
    }
    for (int32_t i = 1; i < MEMBERS; i++) {
        FlPeerStatus status;
        if (i != 3) {
            assert_int_equal(fl_peer_status(net.node[i].session, net_peer(&net, i, 3), &status),
                             FL_OK);
            assert_true(fl_address_equal(status.address, net.node[3].address));
        }
    }
    net_close(&net);
}

// ---------------------------------------------------------------- nothing is left

static int64_t given_back;

static void is_wiped(const void *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    assert_true(at[0] == 0 && memcmp(at, at + 1, size - 1) == 0);
    given_back += (int64_t)size;
}

// Keys travel through queues, packets and tables of many modules: all of it is zeros when it is
// given back, whether a member leaves, is lost, or its host is.
static void nothing_secret_is_left_in_memory_that_is_given_back(void **state)
{
    static Net net;
    net_open(&net, 9, net_topology(state), true);
    for (int32_t i = 0; i < MEMBERS; i++) {
        net.node[i].memory.on_free = is_wiped;
    }
    net_start_together(&net, MEMBERS);
    net_frames(&net, 100);
    net_leave(&net, 0);
    net_frames(&net, 200);
    net_crash(&net, 2);
    net_frames(&net, 50);
    net_close(&net);
    assert_true(given_back > 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TOPOLOGY(an_ex_host_ends_nothing, "mesh"),
        NET_TOPOLOGY(an_ex_host_ends_nothing, "hybrid"),
        NET_TOPOLOGY(keys_are_renewed_when_the_host_changes, "mesh"),
        NET_TOPOLOGY(keys_are_renewed_when_the_host_changes, "hybrid"),
        NET_TOPOLOGY(strangers_make_nobody_work, "mesh"),
        NET_TOPOLOGY(strangers_make_nobody_work, "crowd"),
        NET_TOPOLOGY(who_moves_is_followed_through_a_flood, "mesh"),
        NET_TOPOLOGY(nothing_secret_is_left_in_memory_that_is_given_back, "mesh"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
