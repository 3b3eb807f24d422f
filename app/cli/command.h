// What the commands of the program `fairlead` share.
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

#endif
