// One tick of one tank from the bytes of an input: the same at a server that decides and at the
// player who does not wait for it.
//
// Layout of an input: drive and turn as signed bytes, 127 is 1; then flags, of which bit 0 is fire.
// Every value of every byte means something, so there is nothing to refuse: a tank does what a tank
// can do, whatever its player sends.
#include "private.h"

#include <string.h>

#define FULL 127.0
#define FLAG_FIRE 1u

static uint8_t byte_of(double x)
{
    double held = isnan(x) ? 0.0 : number_clamp(x, -1.0, 1.0);
    return (uint8_t)(int8_t)(held * FULL + (held < 0.0 ? -0.5 : 0.5));
}

static double share_of(uint8_t byte)
{
    return number_clamp((double)(int8_t)byte / FULL, -1.0, 1.0);
}

void tanks_input_encode(TanksInput input, uint8_t bytes[TANKS_INPUT_BYTES])
{
    bytes[0] = byte_of(input.drive);
    bytes[1] = byte_of(input.turn);
    bytes[2] = input.fire ? FLAG_FIRE : 0;
}

TanksInput tanks_input_decode(const uint8_t bytes[TANKS_INPUT_BYTES])
{
    TanksInput input = {share_of(bytes[0]), share_of(bytes[1]), (bytes[2] & FLAG_FIRE) != 0};
    return input;
}

void tanks_step(void *ctx, void *state, int64_t tick, const FlTimelineInputs *inputs)
{
    TanksStepper *stepper = (TanksStepper *)ctx;
    TanksTank *tank = (TanksTank *)state;
    TanksInput input = tanks_input_decode(inputs->of[0]);
    TanksEvent shot;
    tank->tick = tick; // a server that was away has left some out
    if (!tank->alive && tick >= tank->respawn_at) {
        tanks_tank_spawn(stepper->world, tank);
    }
    if (tanks_tank_fire(stepper->world, tank, input, &shot) &&
        stepper->fired_count < TANKS_FIRED_MAX) {
        stepper->fired[stepper->fired_count++] = shot;
    }
    tanks_tank_step(stepper->world, tank, input);
}

void tanks_step_pose(void *ctx, const void *state, FlPose *pose)
{
    (void)ctx;
    const TanksTank *tank = (const TanksTank *)state;
    FlMotion there =
        fl_motion_make(FL_MODEL_STILL, &(FlState){.position = fl_vec3(tank->x, tank->y, 0.0),
                                                  .facing = fl_facing_yaw(tank->yaw, 0.0)});
    *pose = fl_motion_pose(&there, 0);
    pose->velocity = fl_vec3(tank->vx, tank->vy, 0.0);
}
