// One player of the arena demo in its process: a session far away, a node that plays in it, and
// where that has everybody at the last two ticks.
#ifndef APP_DEMO_ARENA_PEER_H
#define APP_DEMO_ARENA_PEER_H

#include "app/demo/demo_arena.h"
#include "lab/figures/jumps.h"
#include "lab/world/distant.h"

#define ARENA_PEER_TICK_NS (FL_SEC(1) / ARENA_TICK_HZ)

/// Where players are, a tick apart. What is noted in between is on the way from one to the other,
/// so everything is shown a tick late, the truth too.
typedef struct ArenaPast {
    FlTime at; ///< Of `after`, on the machine's clock.
    DemoThing before[ARENA_DEMO_PLAYERS_MAX], after[ARENA_DEMO_PLAYERS_MAX];
} ArenaPast;

typedef struct ArenaPeer {
    int32_t index; ///< Among all players of the demo; 0 is on the screen. Not its number.
    bool lobby;    ///< It hosts crowds, and does not play.
    int32_t first; ///< The number of the player at place 0.
    Distant far;
    DemoWay way;
    bool open;      ///< There is a session,
    bool plays;     ///< and a node in it.
    FlTime open_at; ///< Not before.
    FlTime opened_at;
    ArenaNode node;
    int64_t tick; ///< By session time.
    ArenaPast past;
    Jumps jumps[ARENA_DEMO_PLAYERS_MAX];
    uint64_t frame_seen;
} ArenaPeer;

/// What stands on the board: where all join, and where the screen's player does in a crowd.
typedef struct ArenaDoors {
    uint64_t door, lobby;
} ArenaDoors;

/// Joins the present game, if its door is open now, or makes it.
void arena_peer_join(ArenaPeer *peer, const ArenaSetup *setup, const DemoActor *actor,
                     const ArenaOrder *order, const ArenaDoors *doors, FlTime now);
void arena_peer_leave(ArenaPeer *peer, FlTime again_at);

/// The network is another one.
void arena_peer_way(ArenaPeer *peer, const ArenaOrder *order, FlTime now);

/// Everything that is due. Answers when it must be looked at again.
FlTime arena_peer_step(ArenaPeer *peer, const ArenaSetup *setup, const ArenaOrder *order,
                       FlTime now);

/// Which place its own player has.
int32_t arena_peer_place(const ArenaPeer *peer);

/// Where it has the player of a place at `at`.
DemoThing arena_peer_thing(const ArenaPeer *peer, int32_t player, FlTime at);

/// Tells the board; after a tick.
void arena_peer_figures(ArenaPeer *peer, const ArenaSetup *setup, FlTime now);

#endif
