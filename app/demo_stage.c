// Forking, socket pairs, shared memory.
#define _GNU_SOURCE // MAP_ANONYMOUS
#include "app/demo_stage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// Never returns: a child must not run its parent's ends. Ctrl-C reaches all processes of a
/// terminal; the parent takes it, and children follow the parent.
static _Noreturn void live(const DemoStage *stage, const DemoActor *actor, pid_t parent,
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
    _exit(actor_fn(ctx, actor));
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

DemoNews demo_actor_poll(const DemoActor *actor, void *order, size_t bytes)
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

void demo_actor_rest(const DemoActor *actor)
{
    struct pollfd orders = {.fd = actor->orders, .events = POLLIN};
    (void)poll(&orders, 1, 10);
}
