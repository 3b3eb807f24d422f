// The racing demo: two players, each with a car and a screen. What its processes share.
//
// Player 0 hosts and is near; player 1 joins through the network that is set. Each steps its own
// car among the others as it sees them, tells of it, and shows both cars by the same scheme. Row p
// of a look is player p's: the two cars as its screen shows them, and its own car as it truly is.
#ifndef APP_DEMO_RACING_H
#define APP_DEMO_RACING_H

#include "app/demo/demo_looks.h"
#include "app/demo/demo_stage.h"
#include "fairlead/impair.h"
#include "fairlead/net.h"
#include "fairlead/session.h"
#include "lab/experiments/racing/racing.h"
#include "racing/racing.h"

enum {
    RACING_PLAYERS = 2,
    RACING_TRUTH = RACING_PLAYERS, ///< The thing of a row that is the own car, truly.
    RACING_OVER_TICK = 60 * RACING_TICK_HZ,
};

/// What is set at the page. Sent whole to both processes whenever something changes.
typedef struct RacingOrder {
    RaceScheme scheme;
    uint32_t schemes; ///< Raised with every other scheme.
    FlTime delay_ns;  ///< Each way.
    FlTime jitter_ns; ///< Standard deviation.
    int32_t loss_ppm;
    bool driven; ///< Player 0 by hand: `input` counts.
    RacingInput input;
    uint32_t restarts; ///< Raised: a new race, and all counts begin again.
} RacingOrder;

typedef struct RacingPlayer {
    _Atomic uint32_t number1;  ///< Its car's entity plus one; 0: none yet.
    _Atomic uint32_t told;     ///< Updates so far.
    _Atomic int64_t delta_ns;  ///< By how much its picture is behind.
    _Atomic int32_t half_laps; ///< Its car's progress in halves of a lap, rounded down.
    _Atomic int32_t tick;      ///< Of its race: 0 on the grid, RACING_OVER_TICK once it is over.
    _Atomic bool in;           ///< In the session, and its time known.
} RacingPlayer;

typedef struct RacingBoard {
    _Atomic int64_t start; ///< Session time at which the race starts; 0: none yet. The host's.
    _Atomic uint32_t race; ///< Raised with every start.
    RacingPlayer player[RACING_PLAYERS];
    DemoLooks looks;
} RacingBoard;

/// What a process reads of what others write on the board.
typedef struct RacingNews {
    int64_t start;
    uint32_t race;
    uint32_t number1[RACING_PLAYERS];
    uint32_t in[RACING_PLAYERS];
    int32_t half_laps[RACING_PLAYERS];
} RacingNews;

/// What never changes while it runs.
typedef struct RacingSetup {
    RacingGame *game;
    uint64_t seed;
    FlNet *host_net;
    FlAddress host;
    RacingOrder first;
    RacingBoard *board;
} RacingSetup;

/// The news as they are now; `last` keeps them for the next time.
RacingNews demo_racing_news(const RacingSetup *setup, const DemoActor *actor, RacingNews *last);

/// One player's process. Answers its exit status.
int demo_racing_play(const RacingSetup *setup, const DemoActor *actor);

#endif
