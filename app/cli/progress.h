// A line on the terminal while something takes long.
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/// One task's line, with a bar. Shown only if standard error is a terminal and the task has taken a
/// second.
typedef struct Progress {
    const char *what; ///< "reckoning"
    int64_t begun_ms;
    int64_t shown_ms; ///< When the line was last written; 0: not yet.
    double to_go_s;   ///< Shown beside the bar; negative: not known.
    bool terminal;
} Progress;

#define PROGRESS_TIME_BYTES 48

/// ", about 3 min to go"; "" for negative ones.
void progress_time(double seconds, char text[PROGRESS_TIME_BYTES]);

void progress_begin(Progress *progress, const char *what);

/// The task goes on with something else; `what` stays the caller's.
void progress_rename(Progress *progress, const char *what);

/// How long it has taken, in seconds.
double progress_seconds(const Progress *progress);

/// Cheap enough for every step of a loop that does some work in each.
void progress_step(Progress *progress, int64_t done, int64_t of);

/// Wipes the line out.
void progress_end(Progress *progress);

#endif
