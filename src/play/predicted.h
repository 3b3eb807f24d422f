// Private to module `play`: prediction. predict.c: the host's side, and what travels;
// predict_own.c: a client's own player.
#ifndef FAIRLEAD_PLAY_PREDICTED_H
#define FAIRLEAD_PLAY_PREDICTED_H

#include "own.h"
#include "private.h"

#include "fairlead/predict.h"

#define LATE_PERIOD FL_MS(500) // two of them are the last second

/// The largest of the last period and the running one, and the tick that it was of.
typedef struct Worst {
    int64_t period;       // that is running
    FlTime value, before; // INT64_MIN: none
    int64_t tick, before_tick;
} Worst;

void fl__worst_clear(Worst *worst);
void fl__worst_note(Worst *worst, int64_t period, FlTime value, int64_t tick);

/// False: nothing in either.
bool fl__worst_get(const Worst *worst, int64_t period, FlTime *value, int64_t *tick);

/// Host: one player.
typedef struct PredictPlayer {
    bool plays;
    bool started;    // an input of its was played
    int32_t missing; // ticks in a row without an input
    int64_t sent;    // the state that went out last; -1: none
    bool urgent;     // the game has changed it since
    Worst late;      // how late inputs came
    FlPredictStats stats;
    uint8_t last[FL_TIMELINE_INPUT_BYTES]; // input
} PredictPlayer;

/// Client: our own player.
typedef struct PredictOwn {
    FlTimeline *timeline; // of one player; follows the host
    int64_t next;         // the tick to play
    FlTime lead, lead_at; // and when it was last looked at, on the caller's clock
    FlTime *leads;        // [tick]: how long before its time it was played; NOT_PLAYED
    Worst need;           // the lead that inputs' way needed,
    double need_mean;     // and usually needs, in ns
    Worst frame;          // the longest between two calls
    // the newest state that came
    FlTime came_at, trust_at; // caller's clock; its reports count from the latter on
    int64_t came_tick;
    uint8_t *came;
    uint8_t came_missed, missed; // low bits of what the host counts: of it, and of the one before
    bool waits;                  // it was not looked at yet
    bool begun;                  // there is a state
    bool late;                   // inputs come too late, by the last report
    bool has_need;
    // how far the picture is from the present
    FlVec3 offset;
    double offset_yaw;
    FlTime offset_at;
    FlPredictStats stats;
} PredictOwn;

struct Predict {
    FlPredictDef def;
    PredictPlayer *players; // [member]
    uint8_t *states;        // [member][state_room]
    size_t state_room;
    int64_t tick; // host: state number of all; -1: not known yet
    PredictOwn own;
};

// ---------------------------------------------------------------- predict_late.c

FlTime fl__predict_time(const Predict *predict, int64_t tick);    // session time of a tick,
int64_t fl__predict_tick_at(const Predict *predict, FlTime time); // and the last one at a time

// ---------------------------------------------------------------- predict_own.c

/// What a client keeps. Errors: FL_NO_MEMORY; freed with fl__predict_own_destroy.
FlResult fl__predict_own_create(FlSession *session, Predict *predict);
void fl__predict_own_destroy(const FlSession *session, Predict *predict);

/// One state of the host, as it came.
typedef struct PredictCame {
    int64_t tick;
    uint8_t missed;
    bool has_late;
    int64_t late_tick;
    FlTime late;
    const uint8_t *state;
} PredictCame;

void fl__predict_own_came(FlSession *session, Predict *predict, const PredictCame *came);

/// The present's pose, as it is to be drawn.
void fl__predict_own_pose(const FlSession *session, const Predict *predict, FlTime now,
                          FlPose *pose);
bool fl__predict_own_tick(FlSession *session, Predict *predict, FlTime now, const void *input);

#endif
