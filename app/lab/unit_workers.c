// Processes that play units, and what they report.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "app/lab/unit_workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef struct Worker {
    pid_t process; ///< 0: it has ended.
    FILE *results;
    char playing[LAB_UNIT_NAME_BYTES]; ///< Empty: nothing now.
} Worker;

struct UnitWorkers {
    UnitWorkersDef def;
    atomic_uchar *begun; ///< Per unit; shared.
    size_t begun_bytes;
    Worker *workers; ///< def.jobs of them.
    struct pollfd *polled;
};

static void work(UnitWorkers *w, int end, pid_t parent)
{
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // a unit may take minutes that nobody will read
    if (getppid() != parent) {
        _exit(1);
    }
#else
    (void)parent;
#endif
    FILE *results = fdopen(end, "wb");
    if (results != NULL) {
        w->def.work_fn(w->def.ctx, w, results);
        (void)fclose(results);
    }
    _exit(results != NULL ? 0 : 1); // what the parent has buffered is its own to write
}

static bool start(UnitWorkers *w, Worker *worker)
{
    int ends[2];
    pid_t parent = getpid();
    *worker = (Worker){0};
    if (pipe(ends) != 0) {
        return false;
    }
    worker->process = fork();
    if (worker->process == 0) {
        (void)close(ends[0]);
        work(w, ends[1], parent);
    }
    (void)close(ends[1]);
    if (worker->process > 0) {
        worker->results = fdopen(ends[0], "rb");
    }
    if (worker->results == NULL) {
        (void)close(ends[0]);
        worker->process = worker->process < 0 ? 0 : worker->process; // stopped with the others
        return false;
    }
    (void)setvbuf(worker->results, NULL, _IONBF, 0); // poll sees all that has come
    return true;
}

UnitWorkers *unit_workers_start(const UnitWorkersDef *def)
{
    UnitWorkers *w = (UnitWorkers *)calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->def = *def;
    w->begun_bytes = (size_t)def->units + 1;
    w->workers = (Worker *)calloc((size_t)def->jobs, sizeof *w->workers);
    w->polled = (struct pollfd *)calloc((size_t)def->jobs, sizeof *w->polled);
    void *shared =
        mmap(NULL, w->begun_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    w->begun = shared != MAP_FAILED ? (atomic_uchar *)shared : NULL;
    bool ok = w->workers != NULL && w->polled != NULL && w->begun != NULL;
    for (int32_t i = 0; i < def->jobs && ok; i++) {
        ok = start(w, &w->workers[i]);
    }
    if (!ok) {
        int why = errno;
        unit_workers_stop(w);
        errno = why;
        return NULL;
    }
    return w;
}

bool unit_workers_begin(UnitWorkers *w, int32_t unit)
{
    FL_ASSERT(unit >= 0 && (size_t)unit < w->begun_bytes);
    return atomic_exchange(&w->begun[unit], 1) == 0;
}

/// It has closed its pipe. True: a unit failed with it, and *record says so.
static bool bury(UnitWorkers *w, Worker *worker, UnitRecord *record)
{
    int status = 0;
    (void)fclose(worker->results);
    worker->results = NULL;
    while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR) {
    }
    worker->process = 0;
    if (worker->playing[0] == '\0') {
        return false;
    }
    LabUnit unit = {.seconds = 0.0};
    LabError error;
    memcpy(unit.name, worker->playing, sizeof unit.name);
    LabStatus failed =
        WIFSIGNALED(status)
            ? lab_fail(&error, LAB_FAILED, "the process that played %s was ended by signal %d",
                       unit.name, WTERMSIG(status))
            : lab_fail(&error, LAB_FAILED, "the process that played %s ended with status %d",
                       unit.name, WEXITSTATUS(status));
    (void)start(w, worker); // another, for what is left; without it the others go on
    return unit_record_make(&unit, failed, &error, record);
}

/// One record of a worker that has something to say. True: it is a result.
static bool read_from(UnitWorkers *w, Worker *worker, UnitRecord *record)
{
    if (!unit_record_read(worker->results, record)) {
        return bury(w, worker, record);
    }
    bool begins = record->head.kind == UNIT_BEGUN;
    memset(worker->playing, 0, sizeof worker->playing);
    if (begins) {
        memcpy(worker->playing, record->head.name, sizeof worker->playing);
        free(record->packed);
        record->packed = NULL;
    }
    return !begins;
}

bool unit_workers_wait(UnitWorkers *w, UnitRecord *record)
{
    for (;;) {
        int32_t alive = 0;
        for (int32_t i = 0; i < w->def.jobs; i++) {
            bool open = w->workers[i].results != NULL;
            w->polled[i] = (struct pollfd){open ? fileno(w->workers[i].results) : -1, POLLIN, 0};
            alive += open ? 1 : 0;
        }
        if (alive == 0) {
            return false;
        }
        if (poll(w->polled, (nfds_t)w->def.jobs, -1) < 0 && errno != EINTR) {
            return false;
        }
        for (int32_t i = 0; i < w->def.jobs; i++) {
            if (w->polled[i].revents != 0 && read_from(w, &w->workers[i], record)) {
                return true;
            }
        }
    }
}

void unit_workers_stop(UnitWorkers *w)
{
    for (int32_t i = 0; w->workers != NULL && i < w->def.jobs; i++) {
        Worker *worker = &w->workers[i];
        if (worker->process > 0) {
            (void)kill(worker->process, SIGKILL);
            (void)waitpid(worker->process, NULL, 0);
        }
        if (worker->results != NULL) {
            (void)fclose(worker->results);
        }
    }
    if (w->begun != NULL) {
        (void)munmap((void *)(uintptr_t)w->begun, w->begun_bytes);
    }
    free(w->workers);
    free(w->polled);
    free(w);
}
