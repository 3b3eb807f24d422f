// Single packets: repeated, changed, cut, too long, from elsewhere, wrong. Each sort is sent while
// players play; then the server's counters and the players are asked what came of it.
#define _GNU_SOURCE
#include "attack.h"

#include "seal/seal.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct Probing {
    const Subject *subject;
    bool ours;
    Shared *shared;
    Players players;
    int stranger; // a socket
    uint64_t sent;
    uint64_t answer_bytes;
    FILE *json;
} Probing;

Report report_now(Shared *shared, Players *players, const Subject *subject)
{
    atomic_store(&shared->ask, true);
    for (int32_t i = 0; i < 500 && atomic_load(&shared->ask); i++) {
        players_run(players, subject, fl_net_now() + FL_MS(10));
    }
    return shared->report;
}

// ---------------------------------------------------------------- sending

static void from_stranger(Probing *p, uint32_t source, const uint8_t *bytes, int32_t count)
{
    p->sent +=
        spoof_send(p->stranger, source, (uint16_t)atomic_load(&p->shared->port), bytes, count);
}

/// In the name of who sent the capture: over its own socket, which is the same to the server.
static void from_owner(Probing *p, const Capture *capture, const uint8_t *bytes, int32_t count)
{
    for (int32_t i = 0; i < p->players.count; i++) {
        int fd = p->subject->descriptor(&p->players.player[i]);
        struct sockaddr_storage at;
        socklen_t size = sizeof at;
        uint16_t port = 0;
        if (getsockname(fd, (struct sockaddr *)&at, &size) == 0) {
            memcpy(&port, (uint8_t *)&at + 2, 2);
        }
        if ((uint16_t)(port >> 8 | port << 8) == capture->port) {
            p->sent += spoof_send(fd, 0, (uint16_t)atomic_load(&p->shared->port), bytes, count);
            return;
        }
    }
}

/// The last of a player's messages that was captured.
static const Capture *last_payload(const Probing *p)
{
    const Capture *c = &p->shared->captures[atomic_load(&p->shared->capture_count) - 1];
    while (c > p->shared->captures && !p->subject->is_payload(c->bytes, c->count)) {
        c--;
    }
    return c;
}

// ---------------------------------------------------------------- the sorts

static void replay(Probing *p)
{
    for (int32_t i = 0; i < atomic_load(&p->shared->capture_count); i++) {
        const Capture *c = &p->shared->captures[i];
        from_owner(p, c, c->bytes, c->count);
    }
}

static void replay_elsewhere(Probing *p)
{
    for (int32_t i = 0; i < atomic_load(&p->shared->capture_count); i++) {
        from_stranger(p, 0x7f010203, p->shared->captures[i].bytes, p->shared->captures[i].count);
    }
}

/// Renumbered, so that it does not fall for being old; then one bit changed.
static void flip_bits(Probing *p)
{
    const Capture *c = last_payload(p);
    for (int32_t i = c->count - 1; i >= 0; i--) { // numbers last: ENet's window follows them away
        uint8_t bytes[DATAGRAM];
        memcpy(bytes, c->bytes, (size_t)c->count);
        p->subject->refresh(bytes, c->count, (uint32_t)(c->count - i));
        bytes[i] ^= (uint8_t)(1 << i % 8);
        from_owner(p, c, bytes, c->count);
    }
}

static void cut(Probing *p)
{
    const Capture *c = last_payload(p);
    for (int32_t count = 1; count < c->count; count++) {
        uint8_t bytes[DATAGRAM];
        memcpy(bytes, c->bytes, (size_t)c->count);
        p->subject->refresh(bytes, c->count, 100 + (uint32_t)count);
        from_owner(p, c, bytes, count);
    }
}

static void lengthen(Probing *p)
{
    const Capture *c = last_payload(p);
    uint8_t bytes[DATAGRAM] = {0};
    for (int32_t count = 1300; count < DATAGRAM; count += 8) {
        memcpy(bytes, c->bytes, (size_t)c->count);
        p->subject->refresh(bytes, c->count, 200 + (uint32_t)count / 8);
        from_owner(p, c, bytes, count);
    }
}

/// Ten goodbyes in the name of ten players.
static void forge_goodbyes(Probing *p)
{
    int32_t players = 0;
    for (int32_t i = atomic_load(&p->shared->capture_count) - 1; i >= 0 && players < 10; i--) {
        const Capture *c = &p->shared->captures[i];
        if (p->subject->is_payload(c->bytes, c->count)) {
            uint8_t bytes[DATAGRAM];
            memcpy(bytes, c->bytes, (size_t)c->count);
            p->subject->refresh(bytes, c->count, 1000);
            int32_t count = p->subject->goodbye(bytes, c->count);
            from_owner(p, c, bytes, count);
            players++;
        }
    }
}

#define REQUESTS 50 // of each wrong sort

typedef enum Wrong { PROTOCOL, KEY, ADDRESS, EXPIRED, LIFE, VERSION, CLIENT } Wrong;

static void wrong_requests(Probing *p, Wrong wrong)
{
    for (uint64_t i = 0; i < REQUESTS; i++) {
        uint8_t key[FL_SEAL_KEY_BYTES];
        uint8_t bytes[FL_SEAL_REQUEST_BYTES];
        our_key(key);
        FlSealTokenDef def = our_token_def(p->shared, wrong == CLIENT ? 1 : 1000 + i);
        def.protocol_id += wrong == PROTOCOL;
        key[5] ^= wrong == KEY;
        def.address[0].port ^= wrong == ADDRESS ? 1 : 0;
        def.create_s -= wrong == EXPIRED ? 1000 : 0;
        def.expire_s = wrong == EXPIRED ? def.create_s + 1 : def.expire_s;
        def.expire_s += wrong == LIFE ? 100000 : 0;
        def.expire_s -= wrong == CLIENT ? 100 : 0; // older than the one it plays with
        our_request(&def, key, bytes);
        bytes[5] ^= wrong == VERSION;
        from_stranger(p, 0x7f020000u + (uint32_t)i, bytes, sizeof bytes);
    }
}

static void wrong_protocol(Probing *p)
{
    wrong_requests(p, PROTOCOL);
}

static void wrong_key(Probing *p)
{
    wrong_requests(p, KEY);
}

static void wrong_address(Probing *p)
{
    wrong_requests(p, ADDRESS);
}

static void wrong_expiry(Probing *p)
{
    wrong_requests(p, EXPIRED);
}

static void wrong_life(Probing *p)
{
    wrong_requests(p, LIFE);
}

static void wrong_version(Probing *p)
{
    wrong_requests(p, VERSION);
}

static void wrong_client(Probing *p)
{
    wrong_requests(p, CLIENT);
}

/// One genuine token, used once, then from other addresses.
static void reuse_token(Probing *p)
{
    uint8_t key[FL_SEAL_KEY_BYTES];
    uint8_t bytes[FL_SEAL_REQUEST_BYTES];
    our_key(key);
    FlSealTokenDef def = our_token_def(p->shared, 5000);
    our_request(&def, key, bytes);
    for (uint32_t i = 0; i <= REQUESTS; i++) {
        from_stranger(p, 0x7f030000u + i, bytes, sizeof bytes);
    }
}

/// Genuine tokens, each in the name of somebody else, who gets the challenge.
static void genuine_for_victims(Probing *p)
{
    uint8_t key[FL_SEAL_KEY_BYTES];
    our_key(key);
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint8_t bytes[FL_SEAL_REQUEST_BYTES];
        FlSealTokenDef def = our_token_def(p->shared, 6000 + i);
        our_request(&def, key, bytes);
        from_stranger(p, 0x7f040000u + i, bytes, sizeof bytes);
    }
}

static const struct {
    const char *name;
    void (*run)(Probing *p);
    bool both; // ENet knows it too
} sorts[] = {
    {"captured packets again", replay, true},
    {"the same from elsewhere", replay_elsewhere, true},
    {"a bit flipped, every byte", flip_bits, true},
    {"cut to every length", cut, true},
    {"lengthened, to 2047 bytes", lengthen, true},
    {"forged goodbyes", forge_goodbyes, true},
    {"token used from elsewhere", reuse_token, false},
    {"genuine tokens, spoofed", genuine_for_victims, false},
    {"wrong protocol", wrong_protocol, false},
    {"wrong key", wrong_key, false},
    {"wrong address", wrong_address, false},
    {"expired", wrong_expiry, false},
    {"lasts too long", wrong_life, false},
    {"wrong version", wrong_version, false},
    {"older token of a player", wrong_client, false},
};

// ---------------------------------------------------------------- what came of it

static uint32_t lost(const Players *players)
{
    uint32_t lost_count = 0;
    for (int32_t i = 0; i < players->count; i++) {
        const Player *player = &players->player[i];
        lost_count += player->sent - (player->back < player->sent ? player->back : player->sent);
    }
    return lost_count;
}

static void print_drops(const Probing *p, const Report *a, const Report *b)
{
    const char *comma = "";
    printf("  ");
    for (int32_t d = 1; p->ours && d < FL_SEAL_DROPS; d++) {
        uint64_t count = b->seal.drops[d] - a->seal.drops[d];
        if (count != 0) {
            printf("%s%s %llu", comma, fl__seal_drop_name((FlSealDrop)d),
                   (unsigned long long)count);
            comma = ", ";
        }
    }
    printf("\n");
    if (p->json != NULL && p->ours) {
        fprintf(p->json, ", \"drops\": {");
        comma = "";
        for (int32_t d = 1; d < FL_SEAL_DROPS; d++) {
            uint64_t count = b->seal.drops[d] - a->seal.drops[d];
            if (count != 0) {
                fprintf(p->json, "%s\"%s\": %llu", comma, fl__seal_drop_name((FlSealDrop)d),
                        (unsigned long long)count);
                comma = ", ";
            }
        }
        fprintf(p->json, "}");
    }
}

static void come_home(Probing *p)
{
    p->players.quiet = true;
    players_run(&p->players, p->subject, fl_net_now() + FL_MS(60));
}

static void probe(Probing *p, int32_t sort)
{
    come_home(p);
    Report before = report_now(p->shared, &p->players, p->subject);
    uint32_t lost_before = lost(&p->players);
    (void)spoof_heard(p->stranger);
    p->sent = 0;
    p->players.quiet = false;
    sorts[sort].run(p);
    players_run(&p->players, p->subject, fl_net_now() + FL_MS(200));
    come_home(p);
    Report after = report_now(p->shared, &p->players, p->subject);
    uint64_t answered = spoof_heard(p->stranger);
    int32_t gone = before.slots - after.slots; // thrown out by the server
    uint64_t altered = after.altered - before.altered;
    uint64_t twice = after.twice - before.twice;
    uint32_t lost_now = lost(&p->players) - lost_before;
    printf("  %-26s %5llu %8llu %6llu %6d %6u %6llu", sorts[sort].name, (unsigned long long)p->sent,
           (unsigned long long)altered, (unsigned long long)twice, gone, lost_now,
           (unsigned long long)answered);
    if (p->json != NULL) {
        fprintf(p->json,
                "%s\n    {\"library\": \"%s\", \"attack\": \"%s\", \"sent\": %llu, \"altered\": "
                "%llu, \"twice\": %llu, \"players_gone\": %d, \"lost\": %u, \"answer_bytes\": %llu",
                sort == 0 && p->ours ? "" : ",", p->subject->name, sorts[sort].name,
                (unsigned long long)p->sent, (unsigned long long)altered, (unsigned long long)twice,
                gone, lost_now, (unsigned long long)answered);
    }
    print_drops(p, &before, &after);
    if (p->json != NULL) {
        fprintf(p->json, "}");
    }
}

/// Each sort against a fresh server and fresh players, so that what one breaks spoils no other.
static void probe_alone(const Subject *subject, int32_t sort, FILE *json)
{
    static Probing p;
    p = (Probing){.subject = subject, .ours = subject == &subject_ours, .json = json};
    p.shared = shared_make();
    int pid = server_start(subject, p.shared);
    p.stranger = spoof_open();
    players_open(&p.players, subject, p.shared, PLAYERS - 1);
    FlTime patience = fl_net_now() + FL_SEC(5);
    while (players_connected(&p.players) < PLAYERS - 1 && fl_net_now() < patience) {
        players_run(&p.players, subject, fl_net_now() + FL_MS(50));
    }
    p.players.timing = true;
    players_run(&p.players, subject, fl_net_now() + FL_MS(100));
    atomic_store(&p.shared->capture, true);
    players_run(&p.players, subject, fl_net_now() + FL_MS(500));
    atomic_store(&p.shared->capture, false);
    probe(&p, sort);
    players_close(&p.players, subject);
    server_stop(p.shared, pid);
    close(p.stranger);
}

void probes_run(const Subject *subject, FILE *json)
{
    printf("Single packets: %s, %d players\n  %-26s %5s %8s %6s %6s %6s %6s  %s\n", subject->name,
           PLAYERS - 1, "attack", "sent", "altered", "twice", "gone", "lost", "bytes",
           subject == &subject_ours ? "counted as" : "");
    for (int32_t i = 0; i < (int32_t)(sizeof sorts / sizeof sorts[0]); i++) {
        if (subject == &subject_ours || sorts[i].both) {
            probe_alone(subject, i, json);
            fflush(stdout);
        }
    }
}
