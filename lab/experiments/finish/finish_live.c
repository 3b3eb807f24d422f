// A batch of races outside virtual time: processes, sockets, the machine's clock.
//
// Every peer is a process with a UDP socket on the loopback interface and a clock of its own (the
// machine's, shifted). What it sends goes through module `impair`, one way per receiver, as
// `fairlead wan` does. Results are written into memory that all share.
#include "lab/experiments/finish/finish.h"

#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fairlead/net.h"
#include "impair/impair.h"

enum { BATCH = 64, EXIT_RACE_FAILED = 1 };

typedef struct Live {
    const FinishPlay *play;
    FinishRace *races;
    FlTime begin; ///< On the machine's clock; session time begins a moment later.
    FlNet *net[FINISH_CARS];
    FlAddress address[FINISH_CARS];
} Live;

typedef struct Node {
    const Live *live;
    int32_t process;
    FlNet *net;
    FlSession *session;
    FinishPeer *peer;
    FlTime offset; // of its clock from the machine's
    FlFlight *leaving;
    FlImpair *way[FINISH_CARS];
    FlTime frame; // its own clock
} Node;

// ---------------------------------------------------------------- making

static FlResult open_nets(Live *live)
{
    FlResult result = FL_OK;
    for (int32_t i = 0; i < live->play->cars && result == FL_OK; i++) {
        FlNetDef def = fl_net_def_default();
        result = fl_address_parse("127.0.0.1:0", &def.bind);
        result = result == FL_OK ? fl_net_create(&def, &live->net[i]) : result;
        if (result == FL_OK) {
            live->address[i] = fl_net_address(live->net[i]);
        }
    }
    return result;
}

static FlResult open_ways(Node *node)
{
    const FinishPlay *play = node->live->play;
    FlFlightDef queue = fl__flight_def_default();
    queue.packet_bytes = FL_SESSION_DATAGRAM_BYTES;
    FlResult result = fl__flight_create(&queue, &node->leaving);
    for (int32_t i = 0; i < play->cars && result == FL_OK; i++) {
        FlImpairDef def = fl_impair_def_default();
        def.settings = play->way;
        def.seed = play->seed;
        def.link = fl_impair_link((uint16_t)node->process, (uint16_t)i);
        def.luck_by_count = true;
        result = fl_impair_create(&def, &node->way[i]);
    }
    return result;
}

static FlResult open_node(Node *node)
{
    const Live *live = node->live;
    FlSessionDef def = finish_session_def(live->play);
    def.role = node->process == 0 ? FL_ROLE_HOST : FL_ROLE_CLIENT;
    def.host = live->address[0];
    def.seed = live->play->seed * 100 + (uint64_t)node->process;
    node->net = live->net[node->process];
    node->offset = FL_SEC(100) * node->process;
    FlTime now = fl_net_now() + node->offset;
    node->frame = now;
    FlResult result = open_ways(node);
    result = result == FL_OK ? fl_session_create(&def, now, &node->session) : result;
    return result == FL_OK ? finish_peer_create(live->play, node->session, live->races, &node->peer)
                           : result;
}

// ---------------------------------------------------------------- datagrams

static void receive(Node *node, FlTime now)
{
    FlDatagram datagrams[BATCH];
    int32_t count;
    while ((count = fl_net_receive_batch(node->net, datagrams, BATCH)) > 0) {
        for (int32_t i = 0; i < count; i++) {
            const FlDatagram *d = &datagrams[i];
            fl_session_receive(node->session, d->address, d->data, d->bytes, now + node->offset);
        }
    }
}

static void send_out(Node *node, FlTime now)
{
    const Live *live = node->live;
    FlOutgoing out;
    while (fl_session_next(node->session, now + node->offset, &out) == FL_OK) {
        int32_t to = 0;
        while (to < live->play->cars && !fl_address_equal(live->address[to], out.to)) {
            to++;
        }
        FL_ASSERT(to < live->play->cars);
        FlFate fate = fl_impair_send(node->way[to], now, out.count);
        for (int32_t i = 0; i < fate.copy_count; i++) {
            FlResult pushed = fl__flight_push(node->leaving, fate.deliver_at[i], (uint64_t)to,
                                              out.bytes, out.count);
            FL_ASSERT(pushed == FL_OK);
        }
    }
    FlFlightPacket packet;
    while (fl__flight_take(node->leaving, now, &packet, 1) == 1) {
        FlDatagram datagram = {
            .address = live->address[packet.tag], .data = packet.data, .bytes = packet.bytes};
        int32_t done;
        FlResult sent = fl_net_send_batch(node->net, &datagram, 1, &done);
        (void)sent; // a full buffer loses it, as networks do
    }
}

// ---------------------------------------------------------------- a process

static FlTime next_time(Node *node, FlTime now)
{
    FlTime next = fl_session_deadline(node->session, now + node->offset);
    next = next < node->frame ? next : node->frame;
    next = next == FL_FOREVER ? next : next - node->offset;
    FlTime flight = fl__flight_next(node->leaving);
    return flight < next ? flight : next;
}

/// Never returns: a child must not run its parent's ends.
static _Noreturn void run_process(const Live *live, int32_t process)
{
    Node node = {.live = live, .process = process};
    bool ok = open_node(&node) == FL_OK;
    FlTime end = live->begin + finish_end(live->play) + FL_SEC(1);
    FlTime now = fl_net_now();
    while (ok && now < end) {
        receive(&node, now);
        if (node.frame <= now + node.offset) {
            node.frame = finish_peer_frame(node.peer, now + node.offset);
        }
        send_out(&node, now);
        (void)fl_net_wait(&node.net, 1, next_time(&node, now), NULL);
        now = fl_net_now();
    }
    ok = ok && fl_session_state(node.session) == FL_SESSION_RUNNING;
    _exit(ok ? 0 : EXIT_RACE_FAILED);
}

static bool run_processes(const Live *live)
{
    pid_t children[FINISH_CARS];
    bool ok = true;
    for (int32_t i = 0; i < live->play->cars; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            run_process(live, i);
        }
    }
    for (int32_t i = 0; i < live->play->cars; i++) {
        int status = 0;
        bool ended = children[i] > 0 && waitpid(children[i], &status, 0) == children[i];
        ok = ok && ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ok;
}

LabStatus finish_live(const FinishPlay *play, FinishRace *races, LabError *error)
{
    Live live = {.play = play, .races = races};
    FlResult result = open_nets(&live);
    LabStatus status = LAB_OK;
    if (result != FL_OK) {
        status = lab_fail_result(error, result, "opening a socket");
    } else {
        live.begin = fl_net_now();
        if (!run_processes(&live)) {
            status = lab_fail(error, LAB_FAILED, "a process of the live races did not end well");
        }
    }
    for (int32_t i = 0; i < play->cars; i++) {
        fl_net_destroy(live.net[i]);
    }
    return status;
}
