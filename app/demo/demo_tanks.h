// The tanks demo: one owner, three receivers far away. What its processes share.
//
//     parent    orders ──▶ owner, receivers; rows ◀── all of them; JSON for the page
//     owner     hosts the session, plays all tanks, tells the others by a policy
//     receiver  joins through a bad network and sees what it sees
//
// The owner writes two rows per look: the real tanks and the exported ones (whose value says after
// how many restarts). A receiver writes one: the tanks as they are placed there.
#ifndef APP_DEMO_TANKS_H
#define APP_DEMO_TANKS_H

#include "app/demo/demo_looks.h"
#include "app/demo/demo_stage.h"
#include "fairlead/impair.h"
#include "fairlead/net.h"
#include "fairlead/session.h"
#include "tanks/tanks.h"

enum {
    TANKS_DEMO_RECEIVERS = 3,
    TANKS_DEMO_PLAYERS_MAX = 32,
    TANKS_ROW_REAL = 0,
    TANKS_ROW_EXPORTED = 1,
    TANKS_ROW_SEEN = 2, ///< And one more for each receiver.
};

_Static_assert((int)TANKS_DEMO_PLAYERS_MAX <= (int)DEMO_THINGS_MAX, "rows hold all tanks");
_Static_assert(TANKS_ROW_SEEN + TANKS_DEMO_RECEIVERS <= (int)DEMO_ROWS_MAX, "one each");

/// What is set at the page. Sent whole to all processes whenever something changes.
typedef struct TanksOrder {
    FlSend policy;
    uint32_t policies; ///< Raised with every other policy.
    FlTime jitter_ns;
    int32_t loss_ppm;
    FlTimeMode clock;
    bool driven; ///< By hand: `input` counts.
    TanksInput input;
    uint32_t restarts; ///< Raised: all counts begin again.
} TanksOrder;

/// How a receiver fares, by itself and by the owner's ledger.
typedef struct TanksReceiver {
    _Atomic int32_t peer1; ///< Its peer's number plus one; 0: not in the session.
    _Atomic int64_t clock_error_ns;
    _Atomic uint32_t sent;    ///< Updates of tank 0 sent to it.
    _Atomic double ledger;    ///< AEE of tank 0, as the owner knows it.
    _Atomic int64_t delay_ns; ///< One way, as the owner's link measures it; half a round trip.
} TanksReceiver;

typedef struct TanksBoard {
    _Atomic uint32_t number1[TANKS_DEMO_PLAYERS_MAX]; ///< An entity's number plus one; 0: none.
    TanksReceiver receiver[TANKS_DEMO_RECEIVERS];
    DemoLooks looks;
} TanksBoard;

/// What a process reads of what others write on the board.
typedef struct TanksNews {
    uint32_t number1[TANKS_DEMO_PLAYERS_MAX];
    int32_t peer1[TANKS_DEMO_RECEIVERS];
} TanksNews;

/// What never changes while it runs.
typedef struct TanksDemoSetup {
    TanksWorld world;
    int32_t player_count;
    uint64_t seed;
    FlTime delay_ns[TANKS_DEMO_RECEIVERS];
    FlNet *host_net;
    FlAddress host;
    TanksOrder first;
    TanksBoard *board;
} TanksDemoSetup;

/// A process of the demo: actor 0 is the owner, actor r + 1 receiver r. Answers its exit status.
int demo_tanks_own(const TanksDemoSetup *setup, const DemoActor *actor);
int demo_tanks_receive(const TanksDemoSetup *setup, const DemoActor *actor);

/// The news as they are now; `last` keeps them for the next time.
TanksNews demo_tanks_news(const TanksDemoSetup *setup, const DemoActor *actor, TanksNews *last);

/// The session of one of them.
FlSessionDef demo_tanks_session(const TanksDemoSetup *setup, int32_t actor, FlTimeMode clock);

/// A receiver's network, each way.
FlImpairSettings demo_tanks_way(FlTime delay_ns, const TanksOrder *order);

#endif
