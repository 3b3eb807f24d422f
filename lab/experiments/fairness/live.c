// One live run: shared memory, processes, and the sum of what they noted.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "lab/experiments/fairness/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impair/impair.h"
#include "lab/world/distant.h"

#define LOOK_EVERY FL_MS(10)
#define LOOK_FIRST FL_US(2500)
#define WARM_UP FL_SEC(12)

enum { EXIT_LIVE_FAILED = 1 };

/// Where one process had one entity at one moment.
typedef struct Note {
    FlVec3 position;
    uint8_t life; ///< Two bits of it; they travel.
    bool there;
} Note;

/// What the processes share. Each writes its own parts; nobody reads before all have ended, but for
/// the numbers, which are there long before anything moves.
typedef struct Board {
    uint32_t number[FAIRNESS_POLICIES]; ///< By which all know the entities.
    FlPeerId peer[FAIRNESS_RECEIVERS];
    FairnessFigures figures[FAIRNESS_POLICIES]; ///< The sender's: updates and ledger.
    Note notes[]; ///< [(process * policy_count + policy) * look_count + look]
} Board;

typedef struct Live {
    const FairnessPlay *def;
    Board *board;
    size_t board_bytes;
    int32_t look_count;
    FlTime begin; ///< Of the motion, on the machine's clock.
    FlNet *host_net;
    FlAddress host;
} Live;

/// One process. Process 0 sends, process r + 1 is receiver r.
typedef struct Node {
    const Live *live;
    int32_t process;
    Distant distant;
    FlEntityId id[FAIRNESS_POLICIES];
    bool alive;
    uint32_t life;
    FlTime frame; // of the source, that comes next
    int32_t look; // that comes next
} Node;

static FlTime local(const Node *node, FlTime time)
{
    return distant_time(&node->distant, time);
}

// ---------------------------------------------------------------- making

static FlImpairSettings way_of(const FairnessPlay *def, int32_t receiver)
{
    FlTime delay = def->delay[receiver];
    FlImpairSettings way = fl_impair_def_default().settings;
    way.delay_ns = delay;
    way.jitter_ns = def->jitter < delay ? def->jitter : delay;
    way.shape = def->jitter > 0 ? FL_SHAPE_UNIFORM : FL_SHAPE_CONSTANT;
    return way;
}

static FlResult open_node(Node *node)
{
    const FairnessPlay *def = node->live->def;
    FlSessionDef session = fl_session_def_default();
    session.tuning.show.convergence = FL_CONVERGENCE_AT_ONCE; // measured as placed
    session.role = node->process == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    session.world = def->material->world;
    session.world.entity_capacity = (FAIRNESS_RECEIVERS + 2) * FAIRNESS_POLICIES;
    session.peer_capacity = def->receiver_count;
    session.entity_capacity = def->policy_count;
    session.tuning.path_capacity = 256;
    session.join_timeout_ns = WARM_UP;
    session.host = node->live->host;
    session.seed = def->seed + (uint64_t)node->process;
    DistantDef distant = {.session = session,
                          .clock_shift = FL_SEC(100) * node->process,
                          .near = node->process == 0,
                          .seed = def->seed,
                          .number = (uint16_t)node->process,
                          .flight_capacity = fl__flight_def_default().capacity};
    if (node->process == 0) {
        distant.net = node->live->host_net;
    } else {
        distant.way = way_of(def, node->process - 1);
    }
    node->frame = 0;
    return distant_open(&distant, fl_net_now(), &node->distant);
}

// ---------------------------------------------------------------- moving and noting

static bool create_entities(Node *node)
{
    const FairnessPlay *def = node->live->def;
    for (int32_t p = 0; p < def->policy_count; p++) {
        FlEntityStatus status;
        FlEntityDef entity = fl_entity_def_default();
        entity.model = def->model;
        entity.trigger = def->trigger;
        entity.send = def->policy[p];
        if ((node->id[p] = fl_entity_create(node->distant.session, &entity)).index1 == 0 ||
            fl_entity_status(node->distant.session, node->id[p], &status) != FL_OK) {
            return false;
        }
        node->live->board->number[p] = status.number;
    }
    return true;
}

/// Hands in every frame that has come.
static void move(Node *node, FlTime now)
{
    const FairnessPlay *def = node->live->def;
    const Source *source = &def->material->runs[def->run].source;
    for (; node->frame != FL_FOREVER && node->live->begin + node->frame <= now;
         node->frame = source->frame_fn(source->ctx, node->frame + 1)) {
        Truth truth;
        if (!source->truth_fn(source->ctx, node->frame, &truth)) {
            continue;
        }
        FlState state = truth.state;
        state.time = local(node, node->live->begin + node->frame);
        bool cut = node->alive && truth.life != node->life;
        for (int32_t p = 0; p < def->policy_count; p++) {
            FlResult result = cut ? fl_entity_cut(node->distant.session, node->id[p]) : FL_OK;
            result = result == FL_OK ? fl_entity_set(node->distant.session, node->id[p], &state)
                                     : result;
            (void)result; // a host knows the time at once
        }
        node->alive = true;
        node->life = truth.life;
    }
}

static Note *note_of(const Live *live, int32_t process, int32_t policy, int32_t look)
{
    int32_t row = process * live->def->policy_count + policy;
    return &live->board->notes[(size_t)row * (size_t)live->look_count + (size_t)look];
}

static FlTime look_time(const Live *live, int32_t look)
{
    return live->begin + LOOK_FIRST + look * LOOK_EVERY;
}

static void note(Node *node, FlTime now)
{
    const Live *live = node->live;
    for (; node->look < live->look_count && look_time(live, node->look) <= now; node->look++) {
        FlTime at = local(node, look_time(live, node->look));
        for (int32_t p = 0; p < live->def->policy_count; p++) {
            FlEntityId id = node->process == 0 ? node->id[p]
                                               : fl_entity_of_number(node->distant.session,
                                                                     live->board->number[p]);
            FlPose pose;
            FlEntityStatus status;
            Note *n = note_of(live, node->process, p, node->look);
            n->there = fl_entity_pose_at(node->distant.session, at, id, &pose) &&
                       fl_entity_status(node->distant.session, id, &status) == FL_OK;
            if (n->there) {
                n->position = pose.position;
                n->life = status.life & 3u;
            }
        }
    }
}

// ---------------------------------------------------------------- a process

static FlTime next_time(Node *node, FlTime now, FlTime end)
{
    const Live *live = node->live;
    FlTime next = fl_time_min(end, distant_deadline(&node->distant, now));
    if (node->look < live->look_count) {
        next = fl_time_min(next, look_time(live, node->look));
    }
    if (node->process == 0 && node->frame != FL_FOREVER) {
        next = fl_time_min(next, live->begin + node->frame);
    }
    return next;
}

/// What the sender's ledger says at the end.
static void collect(Node *node, FlTime now)
{
    const FairnessPlay *def = node->live->def;
    for (int32_t p = 0; p < def->policy_count; p++) {
        FairnessFigures *figures = &node->live->board->figures[p];
        for (int32_t r = 0; r < def->receiver_count; r++) {
            FlLedgerView view;
            if (fl_entity_view(node->distant.session, local(node, now), node->id[p],
                               node->live->board->peer[r], &view) == FL_OK) {
                figures->updates_sent += view.sent;
                figures->updates_to[r] = view.sent;
                figures->ledger[r] = view.accumulated;
            }
        }
    }
}

/// Never returns: a child must not run its parent's ends.
static _Noreturn void run_process(const Live *live, int32_t process)
{
    Node node = {.live = live, .process = process};
    const FairnessPlay *def = live->def;
    FlTime end = live->begin + def->material->runs[def->run].source.length;
    bool ok = open_node(&node) == FL_OK && (process > 0 || create_entities(&node));
    FlTime now = fl_net_now();
    while (ok && now < end) {
        distant_receive(&node.distant, now);
        if (process == 0) {
            move(&node, now);
        } else {
            live->board->peer[process - 1] = fl_peer_self(node.distant.session);
        }
        distant_send(&node.distant, now);
        note(&node, now);
        (void)fl_net_wait(&node.distant.net, 1, next_time(&node, now, end), NULL);
        now = fl_net_now();
    }
    ok = ok && fl_session_state(node.distant.session) == FL_SESSION_RUNNING;
    if (ok && process == 0) {
        collect(&node, end);
    }
    _exit(ok ? 0 : EXIT_LIVE_FAILED);
}

// ---------------------------------------------------------------- all of them

/// Starts everybody and waits for all. False: one could not start, or did not end well.
static bool run_processes(const Live *live)
{
    int32_t count = live->def->receiver_count + 1;
    pid_t children[FAIRNESS_RECEIVERS + 1];
    bool ok = true;
    for (int32_t i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            run_process(live, i);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        int status = 0;
        bool ended = children[i] > 0 && waitpid(children[i], &status, 0) == children[i];
        ok = ok && ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ok;
}

static void add_up(const Live *live, FairnessFigures *figures)
{
    const FairnessPlay *def = live->def;
    for (int32_t p = 0; p < def->policy_count; p++) {
        figures[p] = live->board->figures[p];
        for (int32_t r = 0; r < def->receiver_count; r++) {
            for (int32_t k = 0; k < live->look_count; k++) {
                const Note *exported = note_of(live, 0, p, k);
                const Note *placed = note_of(live, r + 1, p, k);
                if (exported->there && placed->there && exported->life == placed->life) {
                    figures[p].aee[r] += fl_vec3_distance(exported->position, placed->position) *
                                         fl_span_seconds(LOOK_EVERY);
                }
            }
        }
        fairness_spread(figures[p].aee, def->receiver_count, &figures[p].mean, &figures[p].sd);
    }
}

LabStatus fairness_live(const FairnessPlay *play, FairnessFigures *figures, LabError *error)
{
    Live live = {.def = play};
    FlTime length = play->material->runs[play->run].source.length;
    live.look_count = (int32_t)((length - LOOK_FIRST) / LOOK_EVERY);
    size_t rows = (size_t)(play->receiver_count + 1) * (size_t)play->policy_count;
    live.board_bytes = sizeof(Board) + rows * (size_t)live.look_count * sizeof(Note);
    FlResult result = distant_net_open(&live.host_net);
    if (result != FL_OK) {
        return lab_fail_result(error, result, "opening a socket");
    }
    live.host = fl_net_address(live.host_net);
    void *memory =
        mmap(NULL, live.board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    LabStatus status = LAB_OK;
    if (memory == MAP_FAILED) {
        status = lab_fail(error, LAB_FAILED, "out of memory");
    } else {
        live.board = (Board *)memory;
        live.begin = fl_net_now() + WARM_UP;
        if (run_processes(&live)) {
            add_up(&live, figures);
        } else {
            status = lab_fail(error, LAB_FAILED, "a process of the live run did not end well");
        }
        munmap(memory, live.board_bytes);
    }
    fl_net_destroy(live.host_net);
    return status;
}
