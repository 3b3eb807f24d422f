// What the files of the racing game share. See racing.h.
#ifndef RACING_PRIVATE_H
#define RACING_PRIVATE_H

#include "racing.h"

#include "picture/numbers.h"

#define RACING_TICK_SECONDS (1.0 / RACING_TICK_HZ)

/// Stations along a course. A power of two, so that wrapping is a mask.
#define RACING_STATION_COUNT 512

/// How hard tyres can push, braking and sideways together. That of an arcade kart: bends of 20 m at
/// 23 m/s.
#define RACING_GRIP_M_S2 30.0

/// What wheels and engine can do.
#define RACING_ENGINE_M_S2 18.0
#define RACING_BRAKE_M_S2 20.0
#define RACING_STEER_PER_M 0.15 // the tightest curvature, at low speed

#define RACING_THROTTLE_FULL 15
#define RACING_STEER_FULL 63
#define RACING_BRAKE_FULL 15

/// Bit in RacingCar.touching.
#define RACING_TOUCHING_BORDER (UINT32_C(1) << RACING_CAR_CAPACITY)

/// One point of the centre line. The line runs straight from one to the next; its direction turns
/// linearly from one to the next, so places change continuously over the joints.
typedef struct RacingStation {
    double x, y;
    double tx, ty;    // unit, where the course goes
    double curvature; // 1/m, positive: to the left
    double speed_m_s; // how fast a careful driver is here, with the bends ahead in mind
} RacingStation;

struct RacingGame {
    RacingDef def;
    double length_m, half_width_m;
    double spacing_m; // between stations
    double car_radius_m;
    double drag_per_m; // air: this times speed squared
    RacingStation station[RACING_STATION_COUNT];
};

/// Fills length, width, spacing and stations for def.course.
void racing__course_build(RacingGame *game);

/// Fills every station's speed_m_s.
void racing__course_pace(RacingGame *game);

/// The station at or before a progress.
int64_t racing__station_before(const RacingGame *game, double progress);

static inline const RacingStation *racing__station(const RacingGame *game, int64_t number)
{
    return &game->station[(uint64_t)number & (RACING_STATION_COUNT - 1)];
}

/// Moves one car by one tick among the cars of `before`, of which it is car `self`.
void racing__car_step(const RacingGame *game, const RacingState *before, int32_t self,
                      RacingInput input, RacingCar *car);

/// The tightest curvature that wheels can ask for at a speed: a little more than the grip can hold,
/// so that a slide is possible and a spin is not.
static inline double racing__steer_most(double speed_m_s)
{
    double held = 1.2 * RACING_GRIP_M_S2 / (speed_m_s * speed_m_s + 1.0);
    return held < RACING_STEER_PER_M ? held : RACING_STEER_PER_M;
}

#endif
