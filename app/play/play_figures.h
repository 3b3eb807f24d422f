// What a node can say about its game and its network: live, and at the end.
#ifndef APP_PLAY_FIGURES_H
#define APP_PLAY_FIGURES_H

#include "app/play/play_node.h"

/// The line's figures, over the last second and over all peers that we talk to.
typedef struct PlayFigures {
    int32_t players; ///< Ourselves included.
    int32_t missed;  ///< Others that should be reached directly and are not.
    bool relayed;    ///< The host passes on what they tell, and tells them of us.
    int32_t links;
    double rtt_ms, rtt_worst_ms;     ///< Mean over links; the worst. NaN: not known yet.
    double loss_out, loss_in;        ///< Shares, mean over links.
    double clock_error_ms;           ///< Bound of session time's error; NaN: not known yet.
    double up_bytes_s, down_bytes_s; ///< UDP payloads.
    double held_back_s;              ///< Updates that our upload had no bytes for.
    double behind;                   ///< Frames missed, of those due: 0 to 1.
} PlayFigures;

/// For the rates: what was last counted, and when.
typedef struct PlayMeter {
    FlTime at;
    uint64_t sent, received, held_back;
    PlayChecks checks;
    PlayFigures figures;
} PlayMeter;

void play_meter_begin(PlayMeter *meter, FlTime now);

/// New figures if half a second has passed; otherwise the last ones.
const PlayFigures *play_meter_read(PlayMeter *meter, const PlayNode *node, FlTime now);

/// "players 5, rtt 41.0 ms (worst 80.2), loss 1.9/2.1 %, clock 0.3 ms, 4.1/9.0 KiB/s": of pairs the
/// first is out, the second in. If so: ", upload too small: 120 updates/s held back", ", behind: 30
/// % of frames missed". Without a line end.
void play_figures_line(const PlayFigures *figures, char *out, size_t size);

/// How each own thing is seen by the others: "tank 3 off by 0.310, spread 0.020, for 4": distance
/// on average over time and receivers, and its deviation between them (FlEntityReport, divided by
/// the seconds since it was made).
void play_figures_errors(const PlayNode *node, FlTime now, char *out, size_t size);

/// "drops: 3 duplicate, 1 stranger" or "drops: none".
void play_figures_drops(const PlayNode *node, FlTime now, char *out, size_t size);

/// Everything about a node, for machines. NULL: out of memory.
json_t *play_node_json(const PlayNode *node, FlTime now);

json_t *play_checks_json(const PlayGame *game, const PlayChecks *checks);

/// Resident memory of this process in KiB; 0 if the system does not say.
int64_t play_resident_kib(void);

#endif
