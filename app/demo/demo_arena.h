// The arena demo: one player's screen in a match of many. What its processes share.
//
//     parent      orders ──▶ all; rows and figures ◀── all of them; JSON for the page
//     process 0   the player on the screen: it hosts the session
//     others      the rest of the players, some to each process, each with a session of its own
//
// All talk to all directly, over sockets of their own, from as far away as is set. In a crowd a
// session more, the lobby of process 0, hosts and does not play, and all pass on for all. A mode is
// part of a session's definition, so another one is another *game*: everybody meets again, in a new
// session of the host's, whose door (its port) stands on the board.
//
// Rows go by *places*: 0 is the player on the screen, who is the first to come. In a mesh that is a
// player's number; in a crowd, whose lobby has number 0, one less.
//
// Row 0 of a look is what the screen shows. Row 1 + p is the truth about the players of process p,
// by number; the others are not there.
#ifndef APP_DEMO_ARENA_H
#define APP_DEMO_ARENA_H

#include "app/demo/demo_looks.h"
#include "app/demo/demo_stage.h"
#include "arena/mode.h"
#include "fairlead/impair.h"
#include "fairlead/net.h"

enum {
    ARENA_DEMO_PLAYERS_MAX = 32,
    ARENA_DEMO_PROCESSES = 4,
    ARENA_ROW_SEEN = 0,
    ARENA_ROW_TRUE = 1, ///< And one more for each process.
};

_Static_assert((int)ARENA_DEMO_PLAYERS_MAX <= (int)DEMO_THINGS_MAX, "rows hold all players");
_Static_assert(ARENA_ROW_TRUE + ARENA_DEMO_PROCESSES <= (int)DEMO_ROWS_MAX, "one each");

/// What is set at the page. Sent whole to all processes whenever something changes.
typedef struct ArenaOrder {
    ArenaMode mode;
    bool crowd;       ///< Not a mesh.
    double kbps;      ///< Upload of each.
    uint32_t games;   ///< Raised by whatever needs a new session.
    FlTime rtt_ns;    ///< Between any two.
    int32_t loss_ppm; ///< Each way.
    bool driven;      ///< By hand: `keys` count.
    ArenaKeys keys;
} ArenaOrder;

/// How a player tells the one on the screen of itself.
typedef enum ArenaServes {
    ARENA_SERVES_NOT, ///< Not known.
    ARENA_SERVES_FOCUS,
    ARENA_SERVES_EFFORT,
} ArenaServes;

/// By its process; players are known by their numbers in the session.
typedef struct ArenaPlayerFigures {
    _Atomic int32_t serves; ///< An ArenaServes.
    _Atomic uint64_t sent;  ///< Bytes to everybody in this game, as budgets count them.
    _Atomic int32_t score;
} ArenaPlayerFigures;

/// Of the player on the screen, in this game.
typedef struct ArenaScreenFigures {
    _Atomic int32_t peers;                                   ///< Others in the session.
    _Atomic uint64_t sent_to[ARENA_DEMO_PLAYERS_MAX];        ///< Bytes to each.
    _Atomic int32_t serves_to[ARENA_DEMO_PLAYERS_MAX];       ///< How it serves each.
    _Atomic int32_t attention[ARENA_DEMO_PLAYERS_MAX];       ///< That it pays to each, of 1000.
    _Atomic uint64_t frames, focus_pairs, effort_due, pairs; ///< Sums over frames of the policy.
    _Atomic uint64_t jumps, replica_ticks; ///< Steps that nobody can make; ticks of all replicas.
    _Atomic uint32_t items;                ///< Bit i: item i lies there.
    _Atomic int32_t health, armour, score, deaths, weapon;
} ArenaScreenFigures;

typedef struct ArenaBoard {
    _Atomic uint64_t door;  ///< The game's number above 16 bits of the host's port; 0: none yet.
    _Atomic uint64_t lobby; ///< Likewise a crowd's: the door once the screen's player is in.
    ArenaPlayerFigures player[ARENA_DEMO_PLAYERS_MAX];
    ArenaScreenFigures screen;
    DemoLooks looks;
} ArenaBoard;

/// What never changes while it runs.
typedef struct ArenaSetup {
    ArenaGame *game;  ///< Of a mesh,
    ArenaGame *crowd; ///< and with a number more, the lobby's.
    int32_t player_count;
    uint64_t seed;
    ArenaOrder first;
    ArenaBoard *board;
} ArenaSetup;

/// A process. Answers its exit status.
int demo_arena_play(const ArenaSetup *setup, const DemoActor *actor);

#endif
