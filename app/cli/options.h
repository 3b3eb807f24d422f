// Command lines: `--name VALUE`, `--name=VALUE`, flags and plain arguments, from one table that
// makes the help too.
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_LIST_CAPACITY 64

/// A list given as `1,2.5,3`.
typedef struct NumberList {
    double values[NUMBER_LIST_CAPACITY];
    int32_t count;
} NumberList;

/// Plain arguments, as many as there are.
typedef struct TextList {
    const char **items; ///< The caller's.
    int32_t capacity;
    int32_t count;
} TextList;

/// One option. Exactly one of the six targets is set, and says what kind it is; what the target
/// holds before parsing is the default. Numbers must be finite and in [min, max]. A flag with an
/// integer takes one if one follows: `--web`, `--web 9000`, `--web=9000`.
typedef struct Option {
    const char *name; ///< Without dashes. NULL: a plain argument.
    const char
        *value; ///< What stands for the value in the help: "D", "MS[,MS...]". NULL for a flag.
    const char *help; ///< Its default included; min and max are added. A new line goes to a new
                      ///< line. NULL: not listed.
    bool *flag;
    const char **text;
    double *number;
    int64_t *integer;
    NumberList *numbers;
    TextList *texts; ///< The last plain argument only: takes all that are left.
    double min;
    double max;
    bool required;
} Option;

typedef struct CommandLine {
    const char *command; ///< "fairlead trace reckon"
    const char *summary; ///< For the help; may be several lines.
    const Option *options;
    size_t option_count;
} CommandLine;

/// What options_parse answers when the command should go on.
#define OPTIONS_GO_ON (-1)

/// Fills in the targets. Answers OPTIONS_GO_ON, or the exit status: 0 after --help, EXIT_BAD_INPUT
/// after an error, which has been printed. `argv[0]` is skipped. "--" ends the options.
int options_parse(const CommandLine *line, int argc, char **argv);

#endif
