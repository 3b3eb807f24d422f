// The loop of `serve`, `join`, `bots` and `watch`: nodes, a terminal, an end.
#ifndef APP_PLAY_RUN_H
#define APP_PLAY_RUN_H

#include "app/play/play_console.h"
#include "app/play/play_web.h"

typedef struct PlayRun {
    const char *who;     ///< "fairlead serve"
    const char *command; ///< "serve", for machines.
    PlayNode *const *nodes;
    int32_t node_count;
    double seconds;   ///< End after so long; 0: never.
    bool headless;    ///< No picture even on a terminal.
    bool json;        ///< A summary for machines at the end, and nothing else.
    bool keys;        ///< The first node's player is at this terminal.
    const char *hint; ///< The last line of the picture.
    uint64_t seed;
    PlayTape *tape;       ///< NULL: nothing is recorded.
    PlayWeb *web;         ///< NULL: no page.
    PlayConsole *console; ///< Serve: what is typed; NULL: nothing is read.
} PlayRun;

/// Catches Ctrl-C and its like: before the first node is opened, so that none is left behind.
void play_run_prepare(void);

/// Plays until the time is over, the player quits, a signal comes or a session ends; then says
/// goodbye, and prints the summary. The nodes stay the caller's. Answers the exit status: 0;
/// EXIT_BAD_INPUT if a host refused us; EXIT_FAILED if it is gone, or something that must hold did
/// not (PlayChecks). The reason has been printed.
int play_run(const PlayRun *run);

#endif
