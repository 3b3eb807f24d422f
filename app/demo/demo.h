// What `fairlead demo` shows: one DemoKind per game, each in a file of its own.
//
// A demo starts processes that play on real sockets (demo_stage.h), follows what they write into
// shared memory, and tells the page as JSON. It does not know how the page is served.
#ifndef APP_DEMO_H
#define APP_DEMO_H

#include <jansson.h>

#include "app/demo/demo_stage.h"
#include "fairlead/base.h"

/// From the command line.
typedef struct DemoDef {
    const char *who;    ///< For error messages.
    int32_t players;    ///< How many play; 0: the demo's own choice.
    const char *policy; ///< To begin with, who gets which update when; NULL: the demo's choice.
    const char *scheme; ///< To begin with, what is shown when; the same.
    uint64_t seed;
    DemoRecord record;
} DemoDef;

typedef struct Demo Demo;

typedef struct DemoKind {
    const char *name;
    const char *help; ///< One line.
    int32_t players_min, players_max;
    bool has_policy, has_scheme; ///< Which of the two it begins with; the other is refused.

    /// Starts everything. Answers OPTIONS_GO_ON, or an exit status after printing why.
    int (*open)(const DemoDef *def, Demo **demo);

    /// What never changes (world, screens, choices), and what is set now. New references.
    json_t *(*hello)(const Demo *demo);
    json_t *(*settings)(const Demo *demo);

    /// The picture as of a moment ago; NULL if there is none yet. A new reference.
    json_t *(*frame)(Demo *demo, FlTime now);

    /// Does what the page asks for. True: settings have changed.
    bool (*command)(Demo *demo, const json_t *command, FlTime now);

    /// False: a process has ended that should not have.
    bool (*alive)(Demo *demo);

    void (*close)(Demo *demo);

    /// What one of its processes did, once more, by its recording. Answers its exit status. NULL:
    /// it cannot be recorded.
    int (*again)(const DemoDef *def, const DemoActor *actor);
} DemoKind;

extern const DemoKind demo_tanks;
extern const DemoKind demo_racing;
extern const DemoKind demo_arena;

#endif
