// A match among bots that see each other perfectly; one of them is recorded.
#include "lab/actors/bots.h"

#include "tanks/tanks.h"

enum { BOT_COUNT = 9 }; // as many as played in the recorded matches

static FlResult record(TanksGame *game, FlTime length, Recording *recording)
{
    const TanksWorld *world = tanks_game_world(game);
    FlTime begin = FL_FOREVER; // the recording starts when the tank first appears
    for (;;) {
        const TanksTank *tank = tanks_game_tanks(game, &(int32_t){0});
        FlState state = tanks_tank_state(world, tank);
        begin = tank->alive && begin == FL_FOREVER ? state.time : begin;
        if (begin != FL_FOREVER && state.time - begin > length) {
            return FL_OK;
        }
        if (tank->alive) {
            state.time -= begin;
            FlResult result = recording_add(recording, &state, tank->life);
            if (result != FL_OK) {
                return result;
            }
        }
        tanks_game_step(game);
    }
}

FlResult bots_record(uint64_t seed, FlTime length, Recording *recording)
{
    *recording = (Recording){0};
    TanksGameDef def = tanks_game_def_default();
    def.tank_count = BOT_COUNT;
    def.seed = seed;
    def.rules.map_seed = seed;
    TanksGame *game;
    FlResult result = tanks_game_create(&def, &game);
    if (result != FL_OK) {
        return result;
    }
    result = record(game, length, recording);
    if (result != FL_OK) {
        recording_free(recording);
    }
    tanks_game_destroy(game);
    return result;
}
