// One thread, any number of nodes: sleep until a datagram or a deadline, step who has something to
// do. With many nodes rounds are kept apart, so that a wake-up serves several of them: arrival
// times are the kernel's, and do not suffer.
#define _GNU_SOURCE // sigaction, prctl
#include "app/play_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "app/command.h"
#include "app/json_output.h"
#include "app/play_figures.h"
#include "app/play_screen.h"

#define PICTURE_EVERY FL_MS(100)
#define LINE_EVERY FL_SEC(1)
#define ROUND_APART FL_MS(2)
#define FEW_NODES 2

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

void play_run_prepare(void)
{
    struct sigaction action = {.sa_handler = on_signal}; // no SA_RESTART: a wait must end
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL); // who reads our lines may leave before us
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); // wake when asked, not 50 us later
#endif
}

// ---------------------------------------------------------------- state of a run

typedef struct Loop {
    const PlayRun *run;
    FlTime began, end;
    FlTime next_show; // picture or line
    PlayScreen screen;
    PlayMeter meter;
    int64_t resident_kib; // to begin with
    int32_t ended;        // the node whose session ended; -1: none
    const char *why;      // it is over
    FlNet *nets[FL_NET_WAIT_CAPACITY];
    FlTime due[FL_NET_WAIT_CAPACITY];
    bool ready[FL_NET_WAIT_CAPACITY];
} Loop;

// ---------------------------------------------------------------- showing

static void print_line(Loop *loop, FlTime now)
{
    const PlayNode *node = loop->run->nodes[0];
    char line[512];
    play_figures_line(play_meter_read(&loop->meter, node, now), line, sizeof line);
    printf("%6.1f s  %s", fl_span_seconds(fl_span(now, loop->began)), line);
    if (node->own_count > 0) {
        play_figures_errors(node, now, line, sizeof line);
        printf("; %s", line);
    }
    play_figures_drops(node, now, line, sizeof line);
    printf("; %s\n", line);
    fflush(stdout);
}

static void show(Loop *loop, FlTime now)
{
    if (now < loop->next_show) {
        return;
    }
    bool picture = loop->screen.drawing;
    loop->next_show = now + (picture ? PICTURE_EVERY : LINE_EVERY);
    if (picture) {
        play_screen_draw(&loop->screen, loop->run->nodes[0], &loop->meter, loop->run->hint, now);
    } else if (!loop->run->json) {
        print_line(loop, now);
    }
}

// ---------------------------------------------------------------- rounds

static void step_nodes(Loop *loop, FlTime now)
{
    for (int32_t i = 0; i < loop->run->node_count; i++) {
        PlayNode *node = loop->run->nodes[i];
        if (!loop->ready[i] && loop->due[i] > now) {
            continue;
        }
        play_node_step(node);
        if (play_node_status(node) != 0) {
            loop->ended = i;
            loop->why = "session ended";
            return;
        }
        loop->due[i] = play_node_deadline(node, fl_net_now());
    }
}

static bool goes_on(Loop *loop, FlTime now)
{
    TanksInput input;
    bool quit = play_screen_keys(&loop->screen, now, &input);
    if (loop->run->keys) {
        loop->run->nodes[0]->input = input;
    }
    if (quit) {
        loop->why = "quit";
    } else if (stopped) {
        loop->why = "signal";
    } else if (now >= loop->end) {
        loop->why = "time";
    }
    return loop->why == NULL;
}

static void wait_for_something(Loop *loop, FlTime round_began)
{
    int32_t count = loop->run->node_count;
    FlTime deadline = loop->next_show < loop->end ? loop->next_show : loop->end;
    for (int32_t i = 0; i < count; i++) {
        deadline = loop->due[i] < deadline ? loop->due[i] : deadline;
    }
    if (count > FEW_NODES) {
        (void)fl_net_wait_any(NULL, 0, round_began + ROUND_APART, NULL);
    }
    (void)fl_net_wait_any(loop->nets, count, deadline, loop->ready);
}

static void loop_begin(Loop *loop, const PlayRun *run)
{
    loop->run = run;
    loop->ended = -1;
    loop->began = fl_net_now();
    loop->next_show = loop->began;
    loop->end = run->seconds > 0.0 ? loop->began + fl_span_from_seconds(run->seconds) : FL_FOREVER;
    loop->resident_kib = play_resident_kib();
    play_meter_begin(&loop->meter, loop->began);
    for (int32_t i = 0; i < run->node_count; i++) {
        loop->nets[i] = run->nodes[i]->net;
        loop->due[i] = loop->began;
    }
    if (!run->headless && !run->json) {
        play_screen_open(&loop->screen);
    }
    loop->next_show += loop->screen.drawing ? 0 : LINE_EVERY; // no line before there is anything
}

// ---------------------------------------------------------------- the end

// Malformed payloads come from no sender of ours, whatever the network does to them.
static uint64_t malformed_of(const PlayNode *node)
{
    return fl_session_count(node->session, FL_SESSION_MALFORMED) +
           fl_session_count(node->session, FL_SESSION_FOREIGN);
}

static PlayChecks all_checks(const PlayRun *run, uint64_t *malformed, int32_t *untold)
{
    PlayChecks sum = {0};
    *malformed = 0;
    *untold = 0;
    for (int32_t i = 0; i < run->node_count; i++) {
        const PlayNode *node = run->nodes[i];
        play_checks_add(&sum, &node->checks);
        *malformed += malformed_of(node);
        for (int32_t m = 0; m < node->outbox_count; m++) {
            const PlayMessage *message = &node->outbox[(node->outbox_first + m) % PLAY_OUTBOX];
            *untold += message->kind == TANKS_EVENT_KILL ? 1 : 0;
        }
    }
    return sum;
}

static json_t *summary_json(const Loop *loop, FlTime now)
{
    const PlayRun *run = loop->run;
    uint64_t malformed;
    int32_t untold;
    PlayChecks checks = all_checks(run, &malformed, &untold);
    json_t *nodes = json_array();
    for (int32_t i = 0; i < run->node_count; i++) {
        json_array_append_new(nodes, play_node_json(run->nodes[i], now));
    }
    const char *trouble =
        loop->ended >= 0 ? fl_session_trouble(run->nodes[loop->ended]->session) : "";
    return json_pack("{s:s,s:s,s:I,s:f,s:s,s:s,s:o,s:I,s:i,s:{s:I,s:I},s:o}", "version", FL_VERSION,
                     "command", run->command, "seed", (json_int_t)run->seed, "seconds",
                     fl_span_seconds(fl_span(now, loop->began)), "ended", loop->why, "trouble",
                     trouble, "checks", play_checks_json(&checks), "malformed",
                     (json_int_t)malformed, "kills_waiting", untold, "resident_kib", "start",
                     (json_int_t)loop->resident_kib, "end", (json_int_t)play_resident_kib(),
                     "nodes", nodes);
}

static int complain(const Loop *loop)
{
    const PlayRun *run = loop->run;
    if (loop->ended >= 0) {
        const PlayNode *node = run->nodes[loop->ended];
        return command_fail(play_node_status(node), run->who, "%s",
                            fl_session_trouble(node->session));
    }
    uint64_t malformed;
    int32_t untold;
    PlayChecks checks = all_checks(run, &malformed, &untold);
    uint64_t faults = play_checks_faults(&checks) + malformed;
    bool told = checks.deaths_applied == checks.kills_told + (uint64_t)untold;
    if (faults > 0 || !told) {
        return command_fail(EXIT_FAILED, run->who,
                            "something that must hold did not, %llu times; --json says what",
                            (unsigned long long)faults + (told ? 0 : 1));
    }
    return 0;
}

static void print_end(const Loop *loop, FlTime now)
{
    uint64_t malformed;
    int32_t untold;
    PlayChecks checks = all_checks(loop->run, &malformed, &untold);
    printf("%.1f s played: %llu shots, %llu of our tanks' lives ended, %llu of others' were told; "
           "nothing wrong in %llu looks\n",
           fl_span_seconds(fl_span(now, loop->began)), (unsigned long long)checks.shots_told,
           (unsigned long long)checks.deaths_applied, (unsigned long long)checks.kills_heard,
           (unsigned long long)checks.looks);
}

// The summary is made before the goodbye, while there is something to tell of, and printed after
// the terminal is given back.
static int loop_end(Loop *loop)
{
    const PlayRun *run = loop->run;
    FlTime now = fl_net_now();
    json_t *summary = run->json ? summary_json(loop, now) : NULL;
    int status = complain(loop);
    for (int32_t i = 0; i < run->node_count; i++) {
        play_node_leave(run->nodes[i]);
    }
    if (run->json) {
        int printed = json_print(summary, run->who);
        status = status != 0 ? status : printed;
    } else if (status == 0) {
        print_end(loop, now);
    }
    return status;
}

int play_run(const PlayRun *run)
{
    FL_ASSERT(run->node_count >= 1 && run->node_count <= FL_NET_WAIT_CAPACITY);
    Loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) {
        return command_fail(EXIT_FAILED, run->who, "out of memory");
    }
    loop_begin(loop, run);
    FlTime now = loop->began;
    while (goes_on(loop, now)) {
        step_nodes(loop, now);
        if (loop->why != NULL) {
            break;
        }
        show(loop, now);
        wait_for_something(loop, now);
        now = fl_net_now();
    }
    play_screen_close(&loop->screen);
    int status = loop_end(loop);
    free(loop);
    return status;
}
