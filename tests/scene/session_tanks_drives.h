// Where the tanks of a session's scene really are: functions of time alone.
#ifndef TESTS_SCENE_SESSION_TANKS_DRIVES_H
#define TESTS_SCENE_SESSION_TANKS_DRIVES_H

#include "fairlead/motion.h"

/// Where a tank is at a time of the world, and in which life. `state.time` is the scene's business.
typedef struct SceneTruth {
    FlState state;
    uint32_t life;
} SceneTruth;

typedef SceneTruth (*SceneDrive)(FlTime time);

/// No tank of a scene is faster, m/s.
#define SCENE_TOP_SPEED 20.0

static inline SceneTruth drive_straight(FlTime time)
{
    double s = fl_span_seconds(time);
    SceneTruth truth = {.state.facing = fl_facing_yaw(0.0, 0.0)};
    truth.state.position = fl_vec3(-400.0 + 20.0 * s, 50.0, 0.0);
    truth.state.velocity = fl_vec3(20.0, 0.0, 0.0);
    return truth;
}

static inline SceneTruth drive_circle(FlTime time)
{
    double angle = 0.5 * fl_span_seconds(time);
    double sine;
    double cosine;
    fl_sincos(angle, &sine, &cosine);
    SceneTruth truth = {.state.turn_rate = 0.5, .state.facing = fl_facing_yaw(angle, 0.5)};
    truth.state.position = fl_vec3(40.0 * sine, -40.0 * cosine, 0.0);
    truth.state.velocity = fl_vec3(20.0 * cosine, 20.0 * sine, 0.0);
    truth.state.acceleration = fl_vec3(-10.0 * sine, 10.0 * cosine, 0.0);
    return truth;
}

/// A second each of speeding up to 10 m/s, driving, braking and standing: 20 m every four seconds.
static inline SceneTruth drive_stop_and_go(FlTime time)
{
    double round = (double)(time / FL_SEC(4));
    double s = fl_span_seconds(time % FL_SEC(4));
    double x = s < 1.0   ? 5.0 * s * s
               : s < 2.0 ? 5.0 + 10.0 * (s - 1.0)
               : s < 3.0 ? 15.0 + 10.0 * (s - 2.0) - 5.0 * (s - 2.0) * (s - 2.0)
                         : 20.0;
    double v = s < 1.0 ? 10.0 * s : s < 2.0 ? 10.0 : s < 3.0 ? 10.0 - 10.0 * (s - 2.0) : 0.0;
    double a = s < 1.0 ? 10.0 : s < 2.0 ? 0.0 : s < 3.0 ? -10.0 : 0.0;
    SceneTruth truth = {.state.facing = fl_facing_none()};
    truth.state.position = fl_vec3(-300.0 + 20.0 * round + x, -20.0, 0.0);
    truth.state.velocity = fl_vec3(v, 0.0, 0.0);
    truth.state.acceleration = fl_vec3(a, 0.0, 0.0);
    return truth;
}

/// Dies every 2.5 seconds, and starts again somewhere else.
static inline SceneTruth drive_respawn(FlTime time)
{
    int64_t life = time / FL_MS(2500);
    double s = fl_span_seconds(time % FL_MS(2500));
    SceneTruth truth = {.state.facing = fl_facing_yaw(1.0, 0.0), .life = (uint32_t)life};
    double from = (double)(life * 37 % 200) - 100.0;
    truth.state.position = fl_vec3(from, from + 15.0 * s, 3.0);
    truth.state.velocity = fl_vec3(0.0, 15.0, 0.0);
    return truth;
}

static inline SceneTruth drive_nowhere(FlTime time)
{
    (void)time;
    SceneTruth truth = {.state.facing = fl_facing_yaw(0.5, 0.0)};
    truth.state.position = fl_vec3(12.0, 34.0, 5.0);
    return truth;
}

#endif
