// One thread, any number of nodes: sleep until a datagram or a deadline, step who has something to
// do. With many nodes rounds are kept apart, so that a wake-up serves several of them: arrival
// times are the kernel's, and do not suffer.
#define _GNU_SOURCE // sigaction, prctl
#include "app/play/play_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/play/play_figures.h"
#include "app/play/play_screen.h"

#include "fairlead/net.h"
#include "fairlead/session.h"

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
    FlTime next_web;  // the page's
    PlayScreen screen;
    PlayMeter meter;
    int64_t resident_kib;            // to begin with
    int32_t ended;                   // the node whose session ended last; -1: none
    int32_t ended_count;             // the others go on
    const char *why;                 // it is over
    bool over[FL_NET_WAIT_CAPACITY]; // per node: its session ended
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
    if (now < loop->next_show || play_tape_replays(loop->run->tape)) {
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

// Others go on without it; when none is left it is over.
static void end_node(Loop *loop, int32_t i)
{
    loop->over[i] = true;
    loop->due[i] = FL_FOREVER;
    loop->ended = i;
    loop->ended_count++;
    if (loop->ended_count == loop->run->node_count) {
        loop->why = "session ended";
    }
}

static void step_nodes(Loop *loop, FlTime now)
{
    for (int32_t i = 0; i < loop->run->node_count; i++) {
        PlayNode *node = loop->run->nodes[i];
        if (!loop->ready[i] && loop->due[i] > now) {
            continue;
        }
        if (loop->over[i]) { // what still comes must not wake us again
            play_port_receive(&node->port, node->session);
            continue;
        }
        play_node_step(node);
        if (play_node_status(node) != 0) {
            end_node(loop, i);
            continue;
        }
        loop->due[i] = play_node_deadline(node, play_tape_now(loop->run->tape));
    }
}

static bool is_over(const Loop *loop)
{
    const PlayRun *run = loop->run;
    const PlayGame *game = run->nodes[0]->game;
    for (int32_t i = 0; i < run->node_count; i++) {
        if (game->over == NULL || (!loop->over[i] && !game->over(run->nodes[i]))) {
            return false;
        }
    }
    return true;
}

static void obey_console(const Loop *loop, const char *line, FlTime now)
{
    const PlayRun *run = loop->run;
    char answer[4096];
    play_console_obey(run->console, run->nodes[0]->session, line, now, answer, sizeof answer);
    if (!play_tape_replays(run->tape)) {
        FILE *to = run->json ? stderr : stdout; // which is for machines then
        fprintf(to, "%s\n", answer);
        fflush(to);
    }
}

// Somebody who may asked for another policy at the page, or typed a line.
static void obey(const Loop *loop, FlTime now)
{
    char words[PLAY_WEB_WORDS > PLAY_CONSOLE_BYTES ? PLAY_WEB_WORDS : PLAY_CONSOLE_BYTES];
    FlSend policy;
    const PlayRun *run = loop->run;
    int32_t count = play_web_take(run->web, words);
    if (count == 0 && run->console != NULL && !loop->screen.drawing &&
        !play_tape_replays(run->tape)) {
        count = play_console_take(run->console, words);
    }
    count = play_tape_page(run->tape, words, count, (int32_t)sizeof words - 1);
    words[count] = '\0';
    if (count > 0 && fl_send_parse(words, &policy) == FL_OK) {
        play_node_policy(run->nodes[0], &policy);
    } else if (count > 0 && run->console != NULL) {
        obey_console(loop, words, now);
    }
}

static bool goes_on(Loop *loop, FlTime now)
{
    PlayKeys keys;
    obey(loop, now);
    bool quit = play_screen_keys(&loop->screen, loop->run->tape, now, &keys);
    if (loop->run->keys) {
        loop->run->nodes[0]->keys = keys;
    }
    if (quit) {
        loop->why = "quit";
    } else if (play_tape_stopped(loop->run->tape, stopped != 0)) {
        loop->why = "signal";
    } else if (now >= loop->end) {
        loop->why = "time";
    } else if (is_over(loop)) {
        loop->why = "over";
    } else if (play_tape_over(loop->run->tape) || (stopped && play_tape_replays(loop->run->tape))) {
        loop->why = "recording ended";
    }
    return loop->why == NULL;
}

static void wait_for_something(Loop *loop, FlTime round_began)
{
    int32_t count = loop->run->node_count;
    FlTime deadline = loop->next_show < loop->end ? loop->next_show : loop->end;
    deadline = loop->next_web < deadline ? loop->next_web : deadline;
    for (int32_t i = 0; i < count; i++) {
        deadline = loop->due[i] < deadline ? loop->due[i] : deadline;
    }
    bool live = !play_tape_replays(loop->run->tape);
    if (live && count > FEW_NODES) {
        (void)fl_net_wait(NULL, 0, round_began + ROUND_APART, NULL);
    }
    if (live) {
        (void)fl_net_wait(loop->nets, count, deadline, loop->ready);
    }
    play_tape_ready(loop->run->tape, loop->ready, count);
}

static void loop_begin(Loop *loop, const PlayRun *run)
{
    loop->run = run;
    loop->ended = -1;
    loop->began = play_tape_now(run->tape);
    loop->next_show = loop->began;
    loop->end = run->seconds > 0.0 ? loop->began + fl_span_from_seconds(run->seconds) : FL_FOREVER;
    loop->resident_kib = play_resident_kib();
    play_meter_begin(&loop->meter, loop->began);
    for (int32_t i = 0; i < run->node_count; i++) {
        loop->nets[i] = run->nodes[i]->port.net;
        loop->due[i] = loop->began;
    }
    if (!run->headless && !run->json && !play_tape_replays(run->tape)) {
        play_screen_open(&loop->screen);
        play_tape_hush(run->tape, loop->screen.drawing);
    }
    loop->next_show += loop->screen.drawing ? 0 : LINE_EVERY; // no line before there is anything
}

// ---------------------------------------------------------------- the end

// Malformed payloads come from no sender of ours, whatever the network does to them. To a host they
// may come from a guest that is not ours.
static uint64_t malformed_of(const PlayNode *node)
{
    return fl_session_count(node->session, FL_SESSION_MALFORMED) +
           fl_session_count(node->session, FL_SESSION_FOREIGN);
}

static PlayChecks all_checks(const PlayRun *run, uint64_t *malformed)
{
    PlayChecks sum = {0};
    *malformed = 0;
    for (int32_t i = 0; i < run->node_count; i++) {
        play_checks_add(&sum, &run->nodes[i]->checks);
        *malformed += malformed_of(run->nodes[i]);
    }
    return sum;
}

static json_t *summary_json(const Loop *loop, FlTime now)
{
    const PlayRun *run = loop->run;
    const PlayGame *game = run->nodes[0]->game;
    uint64_t malformed;
    PlayChecks checks = all_checks(run, &malformed);
    json_t *nodes = json_array();
    for (int32_t i = 0; i < run->node_count; i++) {
        json_array_append_new(nodes, play_node_json(run->nodes[i], now));
    }
    const char *trouble =
        loop->ended >= 0 ? fl_session_end_text(run->nodes[loop->ended]->session) : "";
    json_t *summary =
        json_pack("{s:s,s:s,s:s,s:I,s:f,s:s,s:s,s:o,s:I,s:{s:I,s:I},s:o}", "version", FL_VERSION,
                  "command", run->command, "game", game->name, "seed", (json_int_t)run->seed,
                  "seconds", fl_span_seconds(fl_span(now, loop->began)), "ended", loop->why,
                  "trouble", trouble, "checks", play_checks_json(game, &checks), "malformed",
                  (json_int_t)malformed, "resident_kib", "start", (json_int_t)loop->resident_kib,
                  "end", (json_int_t)play_resident_kib(), "nodes", nodes);
    game->sum_json(run->nodes, run->node_count, summary);
    if (run->web != NULL) {
        json_object_set_new(summary, "page_refused", play_web_json(run->web));
    }
    return summary;
}

// Why a session ended, and what a player of ours can do about it.
static int complain_of(const char *who, const PlayNode *node)
{
    const char *trouble = fl_session_end_text(node->session);
    bool other = strstr(trouble, "another world") != NULL;
    bool uninvited = strstr(trouble, "by invite only") != NULL;
    return command_fail(play_node_status(node), who, "%s%s%s%s%s", trouble,
                        other ? " We came for " : "", other ? node->game->name : "",
                        other ? "; it may play another game." : "",
                        uninvited ? " `fairlead serve` prints the line to join with; with --open "
                                    "it lets in anybody."
                                  : "");
}

static int32_t joined_count(const PlayRun *run)
{
    int32_t count = 0;
    for (int32_t i = 0; i < run->node_count; i++) {
        const PlayNode *node = run->nodes[i]; // a host is in before its first frame
        count += node->joined || fl_session_state(node->session) == FL_SESSION_RUNNING ? 1 : 0;
    }
    return count;
}

static int32_t never_met_count(const PlayRun *run)
{
    int32_t count = 0;
    for (int32_t i = 0; i < run->node_count; i++) {
        bool mesh = fl_session_topology(run->nodes[i]->session) == FL_TOPOLOGY_MESH;
        count += mesh ? run->nodes[i]->never_met : 0;
    }
    return count;
}

// Who did not get in, or did not stay, while others played.
static void name_ended(const Loop *loop)
{
    const PlayRun *run = loop->run;
    if (loop->ended_count > 0) {
        fprintf(stderr, "%s: %d of %d did not play to the end; the last because: %s\n", run->who,
                loop->ended_count, run->node_count,
                fl_session_end_text(run->nodes[loop->ended]->session));
    }
}

static int complain(const Loop *loop, FlTime now)
{
    const PlayRun *run = loop->run;
    if (loop->ended_count == run->node_count) {
        return complain_of(run->who, run->nodes[loop->ended]);
    }
    if (joined_count(run) == 0) {
        char host[FL_ADDRESS_TEXT_BYTES];
        fl_address_format(run->nodes[0]->host, host);
        return command_fail(EXIT_FAILED, run->who,
                            "%s did not let us in within %.1f s: nothing was played", host,
                            fl_span_seconds(fl_span(now, loop->began)));
    }
    name_ended(loop);
    int32_t never_met = never_met_count(run);
    if (never_met > 0) {
        return command_fail(EXIT_FAILED, run->who,
                            "%d of the players could not be reached, so we did not see each other: "
                            "a NAT or a firewall is in the way, and in a mesh nobody passes things "
                            "on. `serve --topology hybrid` does.",
                            never_met);
    }
    uint64_t malformed;
    PlayChecks checks = all_checks(run, &malformed);
    bool host = run->console != NULL;
    uint64_t faults = play_checks_faults(run->nodes[0]->game, &checks) + (host ? 0 : malformed);
    for (int32_t i = 0; i < run->node_count; i++) {
        faults += run->nodes[i]->game->differs(run->nodes[i]);
    }
    if (faults > 0) {
        return command_fail(EXIT_FAILED, run->who,
                            "something that must hold did not, %llu times; --json says what",
                            (unsigned long long)faults);
    }
    return 0;
}

static void print_end(const Loop *loop, FlTime now)
{
    const PlayRun *run = loop->run;
    uint64_t malformed;
    PlayChecks checks = all_checks(run, &malformed);
    char clause[256];
    run->nodes[0]->game->sum_line(run->nodes, run->node_count, &checks, clause, sizeof clause);
    printf("%.1f s played: %s; nothing wrong in %llu looks\n",
           fl_span_seconds(fl_span(now, loop->began)), clause,
           (unsigned long long)checks.count[PLAY_LOOKS]);
    uint64_t held_back = 0;
    for (int32_t i = 0; i < run->node_count; i++) {
        held_back += fl_session_count(run->nodes[i]->session, FL_SESSION_UPDATES_HELD_BACK);
    }
    if (held_back > 0) {
        printf("upload too small: %llu updates held back, %.0f a second\n",
               (unsigned long long)held_back,
               (double)held_back / fl_span_seconds(fl_span(now, loop->began)));
    }
    if (play_checks_behind(&checks) > PLAY_BEHIND) {
        printf("behind: %.0f %% of frames missed, one was %.0f ms late; the processor is too slow "
               "or busy for so many players\n",
               100.0 * play_checks_behind(&checks), (double)checks.late_worst / 1e6);
    }
}

// The summary is made before the goodbye, while there is something to tell of, and printed after
// the terminal is given back.
static int loop_end(Loop *loop)
{
    const PlayRun *run = loop->run;
    FlTime now = play_tape_now(run->tape);
    bool live = !play_tape_replays(run->tape);
    json_t *summary = run->json || !live ? summary_json(loop, now) : NULL;
    int status = live ? complain(loop, now) : 0;
    if (!live) {
        PlayWitness witness = play_tape_witness(run->tape);
        witness.ended(witness.ctx, run->nodes, run->node_count, now, summary);
    }
    for (int32_t i = 0; i < run->node_count; i++) {
        play_node_leave(run->nodes[i]);
    }
    play_tape_end(run->tape, loop->why);
    if (!live) {
        return status; // whoever replays has its own words
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
        loop->next_web = play_web_step(run->web, run->nodes[0], now);
        wait_for_something(loop, now);
        now = play_tape_now(run->tape);
    }
    play_screen_close(&loop->screen);
    play_tape_hush(run->tape, false);
    int status = loop_end(loop);
    free(loop);
    return status;
}
