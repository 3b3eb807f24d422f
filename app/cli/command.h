// The commands of the program `fairlead`, and what they share.
//
// A command is a function that gets its own name as argv[0] and answers the exit status. To add
// one: write app/cmd_<name>.c, declare its function here, and add one line to the table in main.c.
#ifndef APP_COMMAND_H
#define APP_COMMAND_H

#include <stddef.h>

/// Exit statuses: 0 is success.
enum {
    EXIT_FAILED = 1,    ///< The world's fault: disk full, out of memory, a socket refused.
    EXIT_BAD_INPUT = 2, ///< The caller's: unknown option, malformed file.
};

typedef struct Command {
    const char *name;
    const char *help; ///< One line.
    int (*run)(int argc, char **argv);
} Command;

/// Runs the command that argv[1] names; answers --help itself. `program` is how the user got here
/// ("fairlead trace").
int command_dispatch(const char *program, const char *summary, const Command *commands,
                     size_t command_count, int argc, char **argv);

/// Prints "<who>: <message>" as one line on standard error and answers `status`, to be returned.
__attribute__((format(printf, 3, 4))) int command_fail(int status, const char *who,
                                                       const char *format, ...);

int cmd_bench(int argc, char **argv);
int cmd_bots(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_join(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_lab_figures(int argc, char **argv);
int cmd_lab_report(int argc, char **argv);
int cmd_lab_run(int argc, char **argv);
int cmd_lab_runs(int argc, char **argv);
int cmd_lab_verify(int argc, char **argv);
int cmd_page(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_trace_info(int argc, char **argv);
int cmd_trace_reckon(int argc, char **argv);
int cmd_wan(int argc, char **argv);
int cmd_watch(int argc, char **argv);

#endif
