// The processes of a demo: started together, ordered about, ended together.
//
// Each gets its orders through a socket pair. That pair is also the rope: when the parent is gone,
// however it went, the child reads an end and leaves. What they show goes into memory that all
// share, which the caller lays out.
#ifndef APP_DEMO_STAGE_H
#define APP_DEMO_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/tape/play_port.h"
#include "lab/world/distant.h"

enum { DEMO_ACTORS_MAX = 8 };

/// Where processes are recorded: FILE.0, FILE.1, …, each as `fairlead replay` reads it.
typedef struct DemoRecord {
    const char *who;  ///< For error messages.
    const char *path; ///< NULL: nothing is recorded.
    int argc;         ///< Of the command, which is how it is played again.
    char **argv;
} DemoRecord;

/// Can all files be written? Answers OPTIONS_GO_ON, or the exit status: the reason has been
/// printed.
int demo_record_check(const DemoRecord *record, int32_t count);

typedef struct DemoStage {
    DemoRecord record; ///< To be set before the start.
    int32_t count;
    pid_t child[DEMO_ACTORS_MAX];
    int orders[DEMO_ACTORS_MAX]; ///< The parent's ends.
    void *board;
    size_t board_bytes;
} DemoStage;

/// What a child gets. Whatever enters it from outside goes through the functions below, so that it
/// can be recorded, and replayed without a parent, siblings or a socket.
typedef struct DemoActor {
    int32_t number;
    int orders;     ///< -1 when replaying.
    PlayTape *tape; ///< NULL: nothing is recorded.
} DemoActor;

/// A child's whole life; it ends when this returns, with this exit status.
typedef int (*DemoActorFn)(void *ctx, const DemoActor *actor);

/// Reserves the shared memory, zeroed. False: errno says why.
bool demo_stage_open(DemoStage *stage, size_t board_bytes);

/// Starts so many children. False: errno says why; close the stage then.
bool demo_stage_start(DemoStage *stage, int32_t count, DemoActorFn actor_fn, void *ctx);

/// Orders of a fixed size, to all children. Children read the newest.
void demo_stage_order(DemoStage *stage, const void *order, size_t bytes);

/// False: a child has ended.
bool demo_stage_alive(DemoStage *stage);

/// Ends all children, waits for them, and gives the memory back.
void demo_stage_close(DemoStage *stage);

typedef enum DemoNews {
    DEMO_NEWS_NONE,
    DEMO_NEWS_ORDER, ///< *order is the newest.
    DEMO_NEWS_END,   ///< The parent has ended, or wants us to.
} DemoNews;

// ---------------------------------------------------------------- in a child

/// To begin with: what the parent found out before. Then the game has begun.
void demo_actor_begin(const DemoActor *actor, const char *game, FlAddress *host, FlTime *begin);

/// The last goodbye was said.
void demo_actor_end(const DemoActor *actor);

/// The machine's clock.
FlTime demo_actor_now(const DemoActor *actor);

/// What siblings and parent have written for us, all of it: `now` is compared with what there was,
/// `last`, and both become what counts from here on. To be looked at once a round, and at nothing
/// else of the board that others write.
void demo_actor_board(const DemoActor *actor, void *now, void *last, int32_t bytes);

/// The way of a session's datagrams. `way` stays until the session is closed.
typedef struct DemoWay {
    PlayPort port;
    uint8_t room[TAPE_ENTRY_BYTES];
} DemoWay;

DistantWire demo_actor_wire(const DemoActor *actor, DemoWay *way);

/// Waits for a datagram, at most until `deadline`.
void demo_actor_wait(const DemoActor *actor, FlNet *net, FlTime deadline);

/// Is there something new? Never waits.
DemoNews demo_actor_poll(const DemoActor *actor, void *order, size_t bytes);

/// With nothing to do: rests for 10 ms, or until there is something new.
void demo_actor_rest(const DemoActor *actor);

#endif
