// Forking, socket pairs, shared memory.
#define _GNU_SOURCE // MAP_ANONYMOUS
#include "app/demo/demo_stage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

#include "fairlead/net.h"

bool demo_stage_open(DemoStage *stage, size_t board_bytes)
{
    memset(stage, 0, sizeof *stage);
    void *memory =
        mmap(NULL, board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    stage->board = memory;
    stage->board_bytes = board_bytes;
    return true;
}

// ---------------------------------------------------------------- recordings

enum { PATH_BYTES = 4096 };

static bool path_of(const DemoRecord *record, int32_t number, char path[PATH_BYTES])
{
    int count = snprintf(path, PATH_BYTES, "%s.%d", record->path, (int)number);
    return count > 0 && count < PATH_BYTES;
}

int demo_record_check(const DemoRecord *record, int32_t count)
{
    for (int32_t i = 0; record->path != NULL && i < count; i++) {
        char path[PATH_BYTES];
        errno = ENAMETOOLONG;
        FILE *file =
            path_of(record, i, path) ? fopen(path, "a") : NULL; // what is there stays, as yet
        if (file == NULL) {
            return command_fail(EXIT_BAD_INPUT, record->who, "--record: cannot write %s.%d: %s",
                                record->path, (int)i, strerror(errno));
        }
        fclose(file);
    }
    return OPTIONS_GO_ON;
}

/// The command with one argument more, which says who of them it was.
static int open_tape(const DemoRecord *record, int32_t number, PlayTape **tape)
{
    static char path[PATH_BYTES]; // one to a process; the tape points to it
    char word[] = "--actor";
    char value[16];
    char *argv[PLAY_TAPE_ARGS + 1];
    *tape = NULL;
    if (record->path == NULL) {
        return OPTIONS_GO_ON;
    }
    if (record->argc + 2 > PLAY_TAPE_ARGS || !path_of(record, number, path)) {
        return EXIT_BAD_INPUT;
    }
    snprintf(value, sizeof value, "%d", (int)number);
    memcpy(argv, record->argv, (size_t)record->argc * sizeof *argv);
    argv[record->argc] = word;
    argv[record->argc + 1] = value;
    return play_tape_record(record->who, path, record->argc + 2, argv, tape);
}

/// Never returns: a child must not run its parent's ends. Ctrl-C reaches all processes of a
/// terminal; the parent takes it, and children follow the parent.
static _Noreturn void live(const DemoStage *stage, DemoActor *actor, pid_t parent,
                           DemoActorFn actor_fn, void *ctx)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1); // it ended before we could ask to be told
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    for (int32_t i = 0; i <= actor->number; i++) { // a rope held by a sibling never ends
        close(stage->orders[i]);
    }
    int status = open_tape(&stage->record, actor->number, &actor->tape);
    status = status == OPTIONS_GO_ON ? actor_fn(ctx, actor) : status;
    _exit(play_tape_finish(actor->tape, status));
}

bool demo_stage_start(DemoStage *stage, int32_t count, DemoActorFn actor_fn, void *ctx)
{
    pid_t parent = getpid();
    for (int32_t i = 0; i < count; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
            return false;
        }
        stage->orders[i] = pair[0];
        DemoActor actor = {.number = i, .orders = pair[1]};
        stage->child[i] = fork();
        if (stage->child[i] == 0) {
            live(stage, &actor, parent, actor_fn, ctx);
        }
        close(pair[1]);
        if (stage->child[i] < 0) {
            close(pair[0]);
            return false;
        }
        stage->count++;
    }
    return true;
}

void demo_stage_order(DemoStage *stage, const void *order, size_t bytes)
{
    for (int32_t i = 0; i < stage->count; i++) {
        // A full pipe belongs to a child that does not listen; it ends soon, or reads the next.
        ssize_t sent = send(stage->orders[i], order, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)sent;
    }
}

bool demo_stage_alive(DemoStage *stage)
{
    for (int32_t i = 0; i < stage->count; i++) {
        int status = 0;
        if (stage->child[i] > 0 && waitpid(stage->child[i], &status, WNOHANG) != 0) {
            stage->child[i] = 0; // it is no more: nobody to end, nobody to wait for
        }
        if (stage->child[i] == 0) {
            return false;
        }
    }
    return true;
}

void demo_stage_close(DemoStage *stage)
{
    for (int32_t i = 0; i < stage->count; i++) {
        close(stage->orders[i]); // asks it to leave
    }
    for (int32_t i = 0; i < stage->count; i++) {
        for (int32_t tries = 0; stage->child[i] > 0; tries++) {
            int status = 0;
            pid_t ended = waitpid(stage->child[i], &status, WNOHANG);
            if (ended != 0 && !(ended < 0 && errno == EINTR)) {
                break;
            }
            if (tries == 100) {
                kill(stage->child[i], SIGKILL); // half a second is enough for a goodbye
            }
            usleep(5000);
        }
    }
    if (stage->board != NULL) {
        munmap(stage->board, stage->board_bytes);
    }
    memset(stage, 0, sizeof *stage);
}

// ---------------------------------------------------------------- in a child

enum { NEWS_ORDER = 1, NEWS_BOARD = 2 };

static DemoNews poll_orders(const DemoActor *actor, void *order, size_t bytes)
{
    DemoNews news = DEMO_NEWS_NONE;
    for (;;) {
        ssize_t got = recv(actor->orders, order, bytes, MSG_DONTWAIT);
        if (got == (ssize_t)bytes) {
            news = DEMO_NEWS_ORDER;
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            return news;
        } else {
            return DEMO_NEWS_END;
        }
    }
}

DemoNews demo_actor_poll(const DemoActor *actor, void *order, size_t bytes)
{
    bool live = !play_tape_replays(actor->tape);
    play_tape_ready(actor->tape, NULL, 0); // a round begins
    DemoNews news = live ? poll_orders(actor, order, bytes) : DEMO_NEWS_NONE;
    if (play_tape_stopped(actor->tape, news == DEMO_NEWS_END) || play_tape_over(actor->tape)) {
        return DEMO_NEWS_END;
    }
    return play_tape_news(actor->tape, NEWS_ORDER, news == DEMO_NEWS_ORDER, order, (int32_t)bytes)
               ? DEMO_NEWS_ORDER
               : DEMO_NEWS_NONE;
}

void demo_actor_begin(const DemoActor *actor, const char *game, FlAddress *host, FlTime *begin)
{
    FlTime now = *begin;
    FlTime none = 0;
    *host = play_tape_address(actor->tape, *host);
    demo_actor_board(actor, &now, &none, (int32_t)sizeof now);
    if (play_tape_replays(actor->tape)) {
        *begin = now; // otherwise it is everybody's
    }
    play_tape_begin(actor->tape, game);
}

void demo_actor_end(const DemoActor *actor)
{
    play_tape_end(actor->tape, "over");
}

FlTime demo_actor_now(const DemoActor *actor)
{
    return play_tape_now(actor->tape);
}

void demo_actor_board(const DemoActor *actor, void *now, void *last, int32_t bytes)
{
    bool other = memcmp(now, last, (size_t)bytes) != 0;
    if (play_tape_news(actor->tape, NEWS_BOARD, other, now, bytes)) {
        memcpy(last, now, (size_t)bytes);
    } else {
        memcpy(now, last, (size_t)bytes);
    }
}

static bool take(void *ctx, FlNet *net, FlDatagram *in)
{
    DemoWay *way = ctx;
    way->port.net = net;
    return play_port_take(&way->port, way->room, in);
}

static void put(void *ctx, FlNet *net, const FlDatagram *out)
{
    DemoWay *way = ctx;
    way->port.net = net;
    play_port_put(&way->port, out);
}

DistantWire demo_actor_wire(const DemoActor *actor, DemoWay *way)
{
    DistantWire wire = {0};
    if (actor->tape != NULL) {
        way->port = play_port_make(actor->tape, NULL);
        wire = (DistantWire){.ctx = way,
                             .no_net = play_tape_replays(actor->tape),
                             .receive_fn = take,
                             .send_fn = put};
    }
    return wire;
}

void demo_actor_wait(const DemoActor *actor, FlNet *net, FlTime deadline)
{
    if (!play_tape_replays(actor->tape)) {
        (void)fl_net_wait(&net, 1, deadline, NULL);
    }
}

void demo_actor_rest(const DemoActor *actor)
{
    struct pollfd orders = {.fd = actor->orders, .events = POLLIN};
    if (!play_tape_replays(actor->tape)) {
        (void)poll(&orders, 1, 10);
    }
}
