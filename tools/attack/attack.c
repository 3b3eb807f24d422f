// What strangers can do to a server over real sockets: ours beside ENet.
//
//   cmake --preset release && cmake --build --preset release
//   cc -std=c17 -O2 -Iinclude -DATTACK_ENET tools/attack/*.c build-release/src/libfairlead.a
//   -lsodium -lenet -lm -o attack
//   ./attack                  all of it, four minutes
//   ./attack --seconds 2 --rate 100000 --repeat 1 --json FILE --quick
//
// Without -DATTACK_ENET -lenet it measures ours alone. --quick leaves out waiting for ENet's slots.
// A flood is repeated: what was lost is added up; rate, times and processor are those of the
// calmest run that reached the rate (if none did, the fastest), because other work disturbs single
// runs. Three parts: floods while 16 players talk 20 times a second and are answered; 32 spoofed
// requests against 32 slots; single packets that are repeated, changed or wrong.
#define _GNU_SOURCE
#include "attack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Options {
    double seconds;
    int32_t rate_hz;
    int32_t repeat;
    bool quick;
    const char *json;
} Options;

// ---------------------------------------------------------------- processes

Shared *shared_make(void)
{
    void *memory =
        mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("attack: mmap");
        exit(1);
    }
    return memory;
}

int server_start(const Subject *subject, Shared *shared)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        subject->serve(shared);
        _exit(0);
    }
    for (int32_t i = 0; i < 1000 && atomic_load(&shared->port) == 0; i++) {
        struct timespec t = {0, 1000000};
        nanosleep(&t, NULL);
    }
    if (pid < 0 || atomic_load(&shared->port) == 0) {
        fprintf(stderr, "attack: the server does not start\n");
        exit(1);
    }
    return (int)pid;
}

void server_stop(Shared *shared, int pid)
{
    atomic_store(&shared->stop, true);
    (void)waitpid(pid, NULL, 0);
    munmap(shared, sizeof *shared);
}

/// The last number of a line.
static uint64_t last_number(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    size_t end = strlen(line);
    while (end > 0 && line[end - 1] == ' ') {
        line[--end] = '\0';
    }
    const char *blank = strrchr(line, ' ');
    return blank != NULL ? strtoull(blank, NULL, 10) : 0;
}

/// Datagrams that the kernel dropped because the server's buffer was full.
static uint64_t kernel_drops(int32_t port)
{
    FILE *file = fopen("/proc/net/udp", "r");
    char line[512];
    uint64_t drops = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned address = 0;
        unsigned at = 0;
        if (sscanf(line, " %*d: %8x:%4x", &address, &at) == 2 && (int32_t)at == port) {
            drops = last_number(line);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return drops;
}

// ---------------------------------------------------------------- floods

typedef struct Outcome {
    uint32_t sent, back;
    int32_t connected; // of 16: were answered in the last half second
    double p50_ms, p99_ms, max_ms;
    double cpu_share;
    double rate_hz;
    uint64_t flood_sent, flood_bytes, answer_bytes;
    uint64_t kernel_drops;
    int32_t slots;     // taken at the end, newcomer and all
    double newcomer_s; // until in; below 0: not in
} Outcome;

static int by_time(const void *a, const void *b)
{
    FlTime x = *(const FlTime *)a;
    FlTime y = *(const FlTime *)b;
    return (x > y) - (x < y);
}

static double sample_ms(Players *players, double share)
{
    if (players->rtt_count == 0) {
        return 0.0;
    }
    return (double)players->rtt[(int32_t)(share * (players->rtt_count - 1))] * 1e-6;
}

static int attacker_start(Shared *shared, const Subject *subject, FloodKind kind,
                          const Players *players, int32_t rate_hz)
{
    if (kind == FLOOD_NONE) {
        return -1;
    }
    int fds[PLAYERS];
    for (int32_t i = 0; i < players->count; i++) {
        fds[i] = subject->descriptor(&players->player[i]);
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        flood_run(shared, subject, kind, rate_hz, fds, players->count);
        _exit(0);
    }
    return (int)pid;
}

static void measure(Outcome *o, Players *players, const Shared *shared, const Report *a,
                    const Report *b, FlTime end)
{
    for (int32_t i = 0; i < PLAYERS - 1; i++) {
        o->sent += players->player[i].sent;
        o->back += players->player[i].back;
        o->connected += players->player[i].back_at > end - FL_MS(500);
    }
    qsort(players->rtt, (size_t)players->rtt_count, sizeof players->rtt[0], by_time);
    o->p50_ms = sample_ms(players, 0.5);
    o->p99_ms = sample_ms(players, 0.99);
    o->max_ms = sample_ms(players, 1.0);
    o->cpu_share = (b->cpu_s - a->cpu_s) / fl_span_seconds(b->at - a->at);
    o->flood_sent = shared->flood_sent;
    o->flood_bytes = shared->flood_bytes;
    o->answer_bytes = shared->answer_bytes;
    o->rate_hz =
        shared->flood_ns > 0 ? (double)shared->flood_sent / fl_span_seconds(shared->flood_ns) : 0.0;
    const Player *newcomer = &players->player[PLAYERS - 1];
    o->newcomer_s = newcomer->connected_at > 0
                        ? fl_span_seconds(newcomer->connected_at - newcomer->opened_at)
                        : -1.0;
}

static Outcome flood(const Subject *subject, FloodKind kind, const Options *options)
{
    static Players players;
    memset(&players, 0, sizeof players);
    Outcome o = {0};
    Shared *shared = shared_make();
    int server = server_start(subject, shared);
    players_open(&players, subject, shared, PLAYERS - 1);
    players_run(&players, subject, fl_net_now() + FL_SEC(1));
    players.timing = true;
    Report before = report_now(shared, &players, subject);
    int attacker = attacker_start(shared, subject, kind, &players, options->rate_hz);
    FlTime half = (FlTime)(options->seconds * 0.5e9);
    players_run(&players, subject, fl_net_now() + half);
    players_open(&players, subject, shared, PLAYERS);
    players_run(&players, subject, fl_net_now() + half);
    o.slots = atomic_load(&shared->slots);
    atomic_store(&shared->ask, true); // answered as soon as nothing waits
    atomic_store(&shared->flood_stop, true);
    players.quiet = true;
    FlTime end = fl_net_now();
    players_run(&players, subject, fl_net_now() + FL_MS(500));
    Report after = report_now(shared, &players, subject);
    if (attacker > 0) {
        (void)waitpid(attacker, NULL, 0);
    }
    o.kernel_drops = kernel_drops(atomic_load(&shared->port));
    measure(&o, &players, shared, &before, &after, end);
    players_close(&players, subject);
    server_stop(shared, server);
    return o;
}

/// Whether a tells more than b about what the flood alone does.
static bool calmer(const Outcome *a, const Outcome *b, double wanted_hz)
{
    bool a_full = a->rate_hz >= 0.95 * wanted_hz;
    bool b_full = b->rate_hz >= 0.95 * wanted_hz;
    if (a_full != b_full) {
        return a_full;
    }
    return a_full ? a->p99_ms < b->p99_ms : a->rate_hz > b->rate_hz;
}

/// Losses of all, times of the calmest.
static Outcome flood_repeated(const Subject *subject, FloodKind kind, const Options *options)
{
    double wanted_hz = kind == FLOOD_NONE ? 0.0 : options->rate_hz;
    Outcome best = flood(subject, kind, options);
    for (int32_t i = 1; i < options->repeat; i++) {
        Outcome one = flood(subject, kind, options);
        Outcome sum = calmer(&one, &best, wanted_hz) ? one : best;
        sum.sent = best.sent + one.sent;
        sum.back = best.back + one.back;
        sum.kernel_drops = best.kernel_drops + one.kernel_drops;
        sum.connected = one.connected < best.connected ? one.connected : best.connected;
        best = sum;
    }
    return best;
}

static void print_flood(const char *what, const Subject *subject, const Outcome *o, FILE *json,
                        bool first)
{
    uint32_t lost = o->sent - (o->back < o->sent ? o->back : o->sent);
    char newcomer[16] = "no";
    if (o->newcomer_s >= 0.0) {
        snprintf(newcomer, sizeof newcomer, "%.2f s", o->newcomer_s);
    }
    printf("  %-22s %-12s %7.0f %5u/%-5u %7llu %7.2f %7.2f %7.2f %5.1f%% %9llu %3d/16 %8s %3d\n",
           what, subject->name, o->rate_hz, lost, o->sent, (unsigned long long)o->kernel_drops,
           o->p50_ms, o->p99_ms, o->max_ms, 100.0 * o->cpu_share,
           (unsigned long long)o->answer_bytes, o->connected, newcomer, o->slots);
    if (json != NULL) {
        fprintf(json,
                "%s\n    {\"flood\": \"%s\", \"library\": \"%s\", \"rate_hz\": %.0f, \"sent\": %u, "
                "\"lost\": %u, \"kernel_drops\": %llu, \"rtt_p50_ms\": %.3f, \"rtt_p99_ms\": %.3f, "
                "\"rtt_max_ms\": %.3f, \"cpu_share\": %.4f, \"flood_bytes\": %llu, "
                "\"answer_bytes\": %llu, \"players_left\": %d, \"newcomer_s\": %.3f, "
                "\"slots_taken\": %d}",
                first ? "" : ",", what, subject->name, o->rate_hz, o->sent, lost,
                (unsigned long long)o->kernel_drops, o->p50_ms, o->p99_ms, o->max_ms, o->cpu_share,
                (unsigned long long)o->flood_bytes, (unsigned long long)o->answer_bytes,
                o->connected, o->newcomer_s, o->slots);
    }
}

static void floods(const Subject *const *subjects, int32_t count, const Options *options,
                   FILE *json)
{
    static const char *const names[] = {"calm", "spoofed requests", "spoofed garbage",
                                        "garbage in their name"};
    double load = 0.0;
    (void)!getloadavg(&load, 1);
    printf("Floods: 16 players, %d messages a second each, %d times %.0f s; round trips in ms; the "
           "machine's load before: %.1f\n"
           "  %-22s %-12s %7s %11s %7s %7s %7s %7s %6s %9s %6s %8s %s\n",
           SEND_HZ, options->repeat, options->seconds, load, "flood", "library", "rate/s", "lost",
           "kernel", "p50", "p99", "max", "cpu", "answered", "left", "newcomer", "slots");
    bool first = true;
    for (int32_t kind = FLOOD_NONE; kind <= FLOOD_NAMES; kind++) {
        for (int32_t s = 0; s < count; s++) {
            Outcome o = flood_repeated(subjects[s], (FloodKind)kind, options);
            print_flood(names[kind], subjects[s], &o, json, first);
            fflush(stdout);
            first = false;
        }
    }
}

// ---------------------------------------------------------------- slots

static void slots(const Subject *subject, const Options *options, FILE *json, bool first)
{
    static Players nobody;
    memset(&nobody, 0, sizeof nobody);
    Shared *shared = shared_make();
    int server = server_start(subject, shared);
    int fd = spoof_open();
    FlRandom random = {.seed = 3};
    uint64_t in = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint8_t bytes[DATAGRAM];
        int32_t count = subject->request(bytes, &random);
        in += spoof_send(fd, 0x7f050000u + i, (uint16_t)atomic_load(&shared->port), bytes, count)
                  ? (uint64_t)count
                  : 0;
    }
    FlTime begin = fl_net_now();
    FlTime longest = options->quick ? FL_SEC(2) : FL_SEC(60);
    int32_t most = 0;
    FlTime held = 0;
    uint64_t out = 0;
    do {
        players_run(&nobody, subject, fl_net_now() + FL_MS(20));
        int32_t taken = atomic_load(&shared->slots);
        most = taken > most ? taken : most;
        held = taken > 0 ? fl_net_now() - begin : held;
        out += spoof_heard(fd);
    } while (fl_net_now() - begin < FL_SEC(1) ||
             (atomic_load(&shared->slots) > 0 && fl_net_now() - begin < longest));
    printf("  %-12s %2d requests, %5llu bytes in: %2d of %d slots held for %.1f s%s, %llu bytes "
           "out, %.2f per byte in\n",
           subject->name, SLOTS, (unsigned long long)in, most, SLOTS, fl_span_seconds(held),
           held >= longest ? " and on" : "", (unsigned long long)out, (double)out / (double)in);
    if (json != NULL) {
        fprintf(json,
                "%s\n    {\"library\": \"%s\", \"bytes_in\": %llu, \"bytes_out\": %llu, "
                "\"slots_held\": %d, \"slots\": %d, \"held_s\": %.1f}",
                first ? "" : ",", subject->name, (unsigned long long)in, (unsigned long long)out,
                most, SLOTS, fl_span_seconds(held));
    }
    close(fd);
    server_stop(shared, server);
}

// ---------------------------------------------------------------- all of it

static bool read_options(int argc, char **argv, Options *options)
{
    *options = (Options){.seconds = 5.0, .rate_hz = 100000, .repeat = 3};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            options->quick = true;
            continue;
        }
        if (value == NULL) {
            return false;
        }
        if (strcmp(argv[i], "--seconds") == 0) {
            options->seconds = strtod(value, NULL);
        } else if (strcmp(argv[i], "--rate") == 0) {
            options->rate_hz = (int32_t)strtol(value, NULL, 10);
        } else if (strcmp(argv[i], "--repeat") == 0) {
            options->repeat = (int32_t)strtol(value, NULL, 10);
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = value;
        } else {
            return false;
        }
        i++;
    }
    return options->repeat >= 1 && options->repeat <= 100 && options->seconds > 0.0 &&
           options->seconds <= 600.0 && options->rate_hz >= 100 && options->rate_hz <= 10000000;
}

static void part(FILE *json, const char *words)
{
    if (json != NULL) {
        fprintf(json, "%s", words);
    }
}

int main(int argc, char **argv)
{
    static const Subject *const subjects[] = {
        &subject_ours,
#ifdef ATTACK_ENET
        &subject_enet,
#endif
    };
    const int32_t count = (int32_t)(sizeof subjects / sizeof subjects[0]);
    Options options;
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr,
                "usage: attack [--seconds S] [--rate HZ] [--repeat N] [--json FILE] [--quick]\n");
        return 2;
    }
    FILE *json = options.json != NULL ? fopen(options.json, "w") : NULL;
    if (options.json != NULL && json == NULL) {
        perror(options.json);
        return 2;
    }
    part(json, "{\"floods\": [");
    floods(subjects, count, &options, json);
    part(json, "],\n  \"slots\": [");
    printf("Slots: 32 spoofed requests against 32 slots\n");
    for (int32_t s = 0; s < count; s++) {
        slots(subjects[s], &options, json, s == 0);
    }
    part(json, "],\n  \"probes\": [");
    for (int32_t s = 0; s < count; s++) {
        probes_run(subjects[s], json);
    }
    part(json, "]}\n");
    return json != NULL && fclose(json) != 0 ? 1 : 0;
}
