// Running a relay: two processes, and the first one's processor time.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS, clock_nanosleep
#include "bench/relay.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS (FL_SEC(1) / RELAY_HZ)
#define STEP_NS FL_MS(5)      // how often clients look, and the server while they connect
#define CONNECT_NS FL_SEC(10) // so long may connecting take
#define SETTLE_TICKS 10       // before anything is measured
#define DRAIN_STEPS 40        // clients go on listening when the server has stopped

FlResult relay_socket(FlAddress peer, int32_t batch, FlNet **net)
{
    FlNetDef def = fl_net_def_default();
    def.peer = peer;
    def.batch = batch;
    *net = NULL;
    FlResult result = fl_address_parse("127.0.0.1:0", &def.bind);
    return result == FL_OK ? fl_net_create(&def, net) : result;
}

static FlTime now_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return FL_SEC(t.tv_sec) + t.tv_nsec;
}

static void sleep_until(FlTime when)
{
    struct timespec t = {.tv_sec = when / FL_SEC(1), .tv_nsec = (long)(when % FL_SEC(1))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

// ---------------------------------------------------------------- the child

static void run_clients(const RelayKind *kind, const RelayMessages *messages, int32_t count,
                        uint16_t port, RelayHeard *heard)
{
    void *clients = kind->clients_create(count, port, messages);
    if (clients == NULL) {
        return;
    }
    FlTime begun = now_of(CLOCK_MONOTONIC);
    pid_t parent = getppid(); // without it nobody would stop us
    int32_t left = DRAIN_STEPS;
    for (int32_t step = 0; left > 0 && getppid() == parent; step++) {
        bool stop = atomic_load(&heard->stop);
        kind->clients_hear(clients, heard);
        if (step % (TICK_NS / STEP_NS) == 0 && !stop) {
            kind->clients_say(clients, (int32_t)(step / (TICK_NS / STEP_NS)));
        }
        left -= stop ? 1 : 0;
        sleep_until(begun + (step + 1) * STEP_NS);
    }
    kind->clients_destroy(clients);
}

// ---------------------------------------------------------------- the parent

typedef struct Window {
    FlTime processor;
    RelaySaid said;
} Window;

static Window window_now(const RelayKind *kind, const void *server)
{
    Window window = {now_of(CLOCK_PROCESS_CPUTIME_ID), kind->server_said(server)};
    return window;
}

static bool connect_all(const RelayKind *kind, void *server)
{
    FlTime begun = now_of(CLOCK_MONOTONIC);
    for (FlTime at = begun; at < begun + CONNECT_NS; at += STEP_NS) {
        sleep_until(at);
        kind->server_tick(server, false);
        if (kind->server_ready(server)) {
            return true;
        }
    }
    return false;
}

static void run_ticks(const RelayKind *kind, void *server, int32_t count)
{
    FlTime begun = now_of(CLOCK_MONOTONIC);
    for (int32_t i = 0; i < count; i++) {
        kind->server_tick(server, true);
        sleep_until(begun + (i + 1) * TICK_NS);
    }
}

static const char *measure(const RelayKind *kind, void *server, double seconds, Window *from,
                           Window *to)
{
    if (!connect_all(kind, server)) {
        return "the clients of a relay did not get in within 10 s";
    }
    run_ticks(kind, server, SETTLE_TICKS);
    *from = window_now(kind, server);
    run_ticks(kind, server, (int32_t)(seconds * RELAY_HZ + 0.5));
    *to = window_now(kind, server);
    return NULL;
}

static RelayResult result_of(const Window *from, const Window *to, const RelaySaid *all,
                             RelayHeard *heard)
{
    uint64_t intact = atomic_load(&heard->intact);
    double share = all->messages > 0 ? (double)intact / (double)all->messages : 0.0;
    double delivered = share * (double)(to->said.messages - from->said.messages);
    double wire = (double)(to->said.bytes - from->said.bytes) +
                  RELAY_HEADER_BYTES * (double)(to->said.packets - from->said.packets);
    RelayResult result = {
        .us = (double)(to->processor - from->processor) / 1e3 / delivered,
        .wire_bytes = wire / delivered,
        .delivered = intact,
        .lost = all->messages > intact ? all->messages - intact : 0,
        .corrupt = atomic_load(&heard->corrupt),
    };
    return result;
}

static const char *run_both(const RelayKind *kind, const RelayMessages *messages, int32_t clients,
                            double seconds, RelayHeard *heard, RelayResult *result)
{
    uint16_t port;
    void *server = kind->server_create(clients, &port);
    if (server == NULL) {
        return "a relay's server could not be made";
    }
    pid_t child = fork();
    if (child == 0) {
        run_clients(kind, messages, clients, port, heard);
        _exit(0);
    }
    const char *problem = child < 0 ? "no second process for the clients" : NULL;
    Window from = {0}, to = {0};
    if (problem == NULL) {
        problem = measure(kind, server, seconds, &from, &to);
        RelaySaid all = kind->server_said(server);
        atomic_store(&heard->stop, true);
        (void)waitpid(child, NULL, 0);
        *result = result_of(&from, &to, &all, heard);
    }
    kind->server_destroy(server);
    return problem;
}

const char *relay_run(const RelayKind *kind, const RelayMessages *messages, int32_t clients,
                      double seconds, RelayResult *result)
{
    RelayHeard *heard = (RelayHeard *)mmap(NULL, sizeof *heard, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (heard == MAP_FAILED) {
        return "out of memory";
    }
    const char *problem = run_both(kind, messages, clients, seconds, heard, result);
    if (problem == NULL && result->delivered == 0) {
        problem = "nothing arrived at a relay's clients";
    }
    (void)munmap(heard, sizeof *heard);
    return problem;
}
