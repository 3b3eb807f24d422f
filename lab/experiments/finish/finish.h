// Races that are decided by contacts and line crossings, played by every peer for itself.
//
// Sixteen karts on the short ring, everybody with a kart of its own. Every peer steps all of them
// from all inputs, in a timeline of its session; its driver is a bot that sees what this peer
// shows. Who has won is read in the settled state. Afterwards the results of all peers are put
// side by side: do they know the same winner?
//
// Races of a *batch* follow each other in one session, each in a slot of session time that all
// know. Between races nobody speaks.
#ifndef LAB_FINISH_H
#define LAB_FINISH_H

#include "fairlead/impair.h"
#include "fairlead/session.h"
#include "lab/experiments/experiment.h"
#include "racing/racing.h"

enum {
    FINISH_CARS = RACING_CAR_CAPACITY,
    FINISH_TICKS = 780,   ///< Of a race: 13 s; then cars roll on, so that its last inputs are
    FINISH_ROLL = 60,     ///< followed by others, as in a game,
    FINISH_PAUSE = 60,    ///< and all is quiet until the next.
    FINISH_LAG_MOST = 64, ///< Ticks; longer lags are counted as this.
};

#define FINISH_START FL_SEC(15) ///< Session time of the first race.

/// X(name, word, control, lag in ms). `inputs` settles as soon as all inputs are there, at another
/// time at every peer; `perceptive` at play times by measured lags.
#define FINISH_CONTROL_TABLE(X)                                                                    \
    X(NONE, "none", FL_CONTROL_NONE, 0)                                                            \
    X(CONSTANT_200, "constant-200", FL_CONTROL_CONSTANT, 200)                                      \
    X(CONSTANT_400, "constant-400", FL_CONTROL_CONSTANT, 400)                                      \
    X(INPUTS, "inputs", FL_CONTROL_LAGS, 0)                                                        \
    X(PERCEPTIVE, "perceptive", FL_CONTROL_LAGS, 0)

typedef enum FinishControl {
#define FINISH_CONTROL_ROW(name, word, control, lag) FINISH_##name,
    FINISH_CONTROL_TABLE(FINISH_CONTROL_ROW)
#undef FINISH_CONTROL_ROW
        FINISH_CONTROLS
} FinishControl;

const char *finish_control_name(FinishControl control);

/// What a batch is made of.
typedef struct FinishPlay {
    FinishControl control;
    int32_t cars;
    int32_t frame_ticks; ///< A peer looks, decides and sends once in so many ticks.
    FlImpairSettings way;
    uint64_t seed; ///< Of the batch's network; race r has the seed first_race + r.
    uint64_t first_race;
    int32_t races;
    bool sealed;
} FinishPlay;

/// How a race ended, as one peer knows it.
typedef struct FinishResult {
    bool decided; ///< The settled state has come to the end.
    uint8_t order[FINISH_CARS];
    int64_t finish_ns[FINISH_CARS];
    uint64_t hash;
    int32_t contacts;
    int64_t desync; ///< The first tick that somebody's hash differed at; FL_TIMELINE_NEVER: none.
    FlTimelineFigures figures;
    uint32_t lag[FINISH_LAG_MOST + 1];   ///< Frames with the settled state so many ticks behind.
    FlTime settled_at[FINISH_TICKS + 1]; ///< When each state was, by the peer's own clock.
} FinishResult;

typedef struct FinishPoint {
    float x, y;
} FinishPoint;

/// One race: what every peer has seen, and how it ended there.
typedef struct FinishRace {
    FinishResult result[FINISH_CARS];
    FinishPoint truth[FINISH_TICKS + 1][FINISH_CARS]; ///< As settled at the host.
    bool shown[FINISH_CARS][FINISH_TICKS + 1];        ///< [peer][tick]: there was a frame.
    FinishPoint screen[FINISH_CARS][FINISH_TICKS + 1][FINISH_CARS]; ///< [peer][tick][car]
} FinishRace;

// ---------------------------------------------------------------- one peer

typedef struct FinishPeer FinishPeer;

/// Right for all peers of a batch but role, host and topology's ends.
FlSessionDef finish_session_def(const FinishPlay *play);

/// Errors: FL_NO_MEMORY. `races` are written to: play->races of them.
FL_NODISCARD FlResult finish_peer_create(const FinishPlay *play, FlSession *session,
                                         FinishRace *races, FinishPeer **peer);
void finish_peer_destroy(FinishPeer *peer);

/// Does what is due at `now` (its session's clock) and answers when to call again.
FlTime finish_peer_frame(FinishPeer *peer, FlTime now);

/// Session time at which the batch is over.
FlTime finish_end(const FinishPlay *play);

// ---------------------------------------------------------------- a batch

/// In virtual time.
LabStatus finish_play(const FinishPlay *play, FinishRace *races, LabError *error);

/// Processes and sockets. `races` must be memory that processes share.
LabStatus finish_live(const FinishPlay *play, FinishRace *races, LabError *error);

// ---------------------------------------------------------------- putting results side by side

/// Of many races.
typedef struct FinishFigures {
    int32_t races;
    int32_t agreed;        ///< All peers have the same order and times.
    int32_t order_differs; ///< Some do not have the same order,
    int32_t hash_differs;  ///< or the same state at the end.
    int32_t undecided;     ///< Some have no result.
    int64_t contacts;      ///< Between cars, as the host has them.
    FlTimelineFigures sum; ///< Of all peers.
    uint64_t lag[FINISH_LAG_MOST + 1];
    double uneven_ms;     ///< Sum over pairs of peers: how far the time between the settling of two
    int64_t uneven_count; ///< ticks of a race differs between the two, at most.
    double error_m; ///< Sum over other cars, frames and peers: what was shown from what was true.
    int64_t error_count;
    double seconds; ///< Of peers' races.
} FinishFigures;

void finish_add(FinishFigures *figures, const FinishPlay *play, const FinishRace *race);

#endif
