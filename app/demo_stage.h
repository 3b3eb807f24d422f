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

enum { DEMO_ACTORS_MAX = 8 };

typedef struct DemoStage {
    int32_t count;
    pid_t child[DEMO_ACTORS_MAX];
    int orders[DEMO_ACTORS_MAX]; ///< The parent's ends.
    void *board;
    size_t board_bytes;
} DemoStage;

/// What a child gets.
typedef struct DemoActor {
    int32_t number;
    int orders;
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

/// In a child: is there something new? Never waits.
DemoNews demo_actor_poll(const DemoActor *actor, void *order, size_t bytes);

/// In a child that has nothing to do: rests for 10 ms, or until there is something new.
void demo_actor_rest(const DemoActor *actor);

#endif
