// What the adapter uses of BZFlag's PlayerState, so that it compiles without BZFlag's source. The
// real one is checked by the build.
#ifndef STANDIN_PLAYER_STATE_H
#define STANDIN_PLAYER_STATE_H

#include <stdint.h>

class PlayerState
{
  public:
    enum {
        Alive = 1 << 0,
        Paused = 1 << 1,
        Exploding = 1 << 2,
        UserInputs = 1 << 8,
        PlaySound = 1 << 10
    };
    enum { NoSounds = 0 };
    PlayerState()
        : order(0), status(0), pos(), velocity(), azimuth(0), angVel(0), phydrv(-1),
          jumpJetsScale(0), sounds(NoSounds)
    {
    }
    long order;
    short status;
    float pos[3], velocity[3], azimuth, angVel;
    int phydrv;
    float jumpJetsScale;
    uint8_t sounds;
};

#endif
