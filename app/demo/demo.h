// What `fairlead demo` shows: one DemoKind per game, each in a file of its own, in one shell.
//
// A demo starts processes that play on real sockets (demo_stage.h), follows what they write into
// shared memory, and tells the page as JSON. It does not know how the page is served. The shell
// (demo_shell.c) starts, follows, orders and ends them; what is a game's own is in its DemoKind.
#ifndef APP_DEMO_H
#define APP_DEMO_H

#include <jansson.h>

#include "app/demo/demo_looks.h"
#include "app/demo/demo_stage.h"
#include "fairlead/base.h"
#include "fairlead/net.h"

/// From the command line.
typedef struct DemoDef {
    const char *who;      ///< For error messages.
    int32_t players;      ///< How many play; 0: the demo's own choice.
    const char *policy;   ///< To begin with, who gets which update when; NULL: the demo's choice.
    const char *scheme;   ///< To begin with, what is shown when; the same.
    const char *topology; ///< To begin with, who talks to whom; the same.
    uint64_t seed;
    DemoRecord record;
} DemoDef;

/// What keys say: -1 to 1.
typedef struct DemoKeys {
    double drive, turn;
    bool fire;
} DemoKeys;

/// A game's own part. `self` is its struct, of which a Demo is the first member.
typedef struct DemoKind {
    const char *name;
    const char *help; ///< One line.
    int32_t players_min, players_max;
    bool has_policy, has_scheme; ///< Which of the two it begins with; the other is refused.
    bool has_topology;           ///< And this.
    int32_t process_count;
    bool has_host;      ///< The host's socket is opened before the processes start.
    size_t self_bytes;  ///< Zeroed to begin with.
    size_t board_bytes; ///< What the processes share. Zeroed, too.
    size_t looks_at;    ///< Where its DemoLooks are in that.
    size_t order_bytes;

    /// The settings that it begins with; sets the shell's `order` and `driven`. Answers
    /// OPTIONS_GO_ON, or an exit status after printing why.
    int (*choose)(void *self, const DemoDef *def);

    /// The world, on the shell's board. `unmake` (NULL: there is nothing to do) is called even if
    /// this was not, or failed.
    bool (*make)(void *self, const DemoDef *def);
    void (*unmake)(void *self);

    /// A process. Answers its exit status.
    int (*act)(void *self, const DemoActor *actor);

    /// Takes in a look. False: it was not written.
    bool (*follow)(void *self, int64_t look);

    /// What never changes (world, screens, choices), what is set now, the picture of the newest
    /// look. New references.
    json_t *(*hello)(const void *self);
    json_t *(*settings)(const void *self);
    json_t *(*frame)(const void *self);

    /// What the page asks for: changes of the order.
    void (*set)(void *self, const json_t *settings);
    void (*drive)(void *self, const DemoKeys *keys);
    void (*restart)(void *self);
} DemoKind;

/// The part of every demo that the shell keeps.
typedef struct Demo {
    const DemoKind *kind;
    DemoStage stage;
    FlNet *host_net;
    FlAddress host; ///< When replaying, from when a process has begun.
    void *board;
    DemoLooks *looks; ///< On the board.
    void *order;      ///< Sent whole to all processes whenever something changes.
    bool *driven;     ///< In the order: by hand.
    FlTime driven_at;
    int64_t look;     ///< The newest that was read.
    bool has_picture; ///< One was.
    json_t *refused;  ///< A name that was asked for, and is none; NULL: none was.
} Demo;

/// Starts everything. Answers OPTIONS_GO_ON, or an exit status after printing why.
int demo_open(const DemoKind *kind, const DemoDef *def, Demo **out);
void demo_close(Demo *demo);

/// What one of its processes did, once more, by its recording. Answers its exit status.
int demo_again(const DemoKind *kind, const DemoDef *def, const DemoActor *actor);

/// The picture as of a moment ago; NULL if there is none yet. A new reference.
json_t *demo_frame(Demo *demo, FlTime now);

/// When that was, in ms since the demo began.
int64_t demo_time_ms(const Demo *demo);

/// Does what the page asks for. True: settings have changed.
bool demo_command(Demo *demo, const json_t *command, FlTime now);

/// False: a process has ended that should not have.
bool demo_alive(Demo *demo);

extern const DemoKind demo_tanks;
extern const DemoKind demo_racing;
extern const DemoKind demo_arena;

#endif
