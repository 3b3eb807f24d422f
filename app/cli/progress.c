// A progress line: after a second, ten times a second, on a terminal only.
#define _POSIX_C_SOURCE 200809L // clock_gettime, isatty
#include "app/cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 1000
#define REFRESH_MS 100
#define BAR_MARKS 20

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void progress_begin(Progress *progress, const char *what)
{
    *progress = (Progress){.what = what, .to_go_s = -1.0, .terminal = isatty(STDERR_FILENO) == 1};
    progress->begun_ms = now_ms();
}

void progress_rename(Progress *progress, const char *what)
{
    progress->what = what;
}

double progress_seconds(const Progress *progress)
{
    return (double)(now_ms() - progress->begun_ms) / 1000.0;
}

void progress_time(double seconds, char text[PROGRESS_TIME_BYTES])
{
    double number = seconds < 90.0 ? seconds : seconds < 5400.0 ? seconds / 60.0 : seconds / 3600.0;
    const char *unit = seconds < 90.0 ? "s" : seconds < 5400.0 ? "min" : "h";
    text[0] = '\0';
    if (seconds >= 0.0) {
        snprintf(text, PROGRESS_TIME_BYTES, ", about %.0f %s to go", number, unit);
    }
}

void progress_step(Progress *progress, int64_t done, int64_t of)
{
    if (!progress->terminal || of <= 0) {
        return;
    }
    int64_t now = now_ms();
    if (now - progress->begun_ms < PATIENCE_MS || now - progress->shown_ms < REFRESH_MS) {
        return;
    }
    progress->shown_ms = now;
    static const char full[] = "####################";
    static const char empty[] = "--------------------";
    double share = (double)done / (double)of;
    int marks = share < 0.0 ? 0 : share > 1.0 ? BAR_MARKS : (int)(BAR_MARKS * share);
    char to_go[PROGRESS_TIME_BYTES];
    progress_time(progress->to_go_s, to_go);
    fprintf(stderr, "\r\033[K%s [%.*s%.*s] %3.0f %%%s", progress->what, marks, full,
            BAR_MARKS - marks, empty, 100.0 * share, to_go);
    fflush(stderr);
}

void progress_end(Progress *progress)
{
    if (progress->shown_ms != 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
