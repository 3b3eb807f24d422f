// Private to the racing experiment: a world with its players, their cars and what they see.
//
// Layout: things of a car by a scheme are at [car * scheme_count + scheme]; a player's view of a
// car by a scheme at [(player * car_count + car) * scheme_count + scheme]. Player p drives car p.
#ifndef LAB_RACING_PLAY_H
#define LAB_RACING_PLAY_H

#include "lab/experiments/racing/racing.h"
#include "lab/figures/jumps.h"

/// One car by one scheme, at its own player.
typedef struct RaceCar {
    FlEntityId id;
    uint32_t number; ///< By which all know it, once `id` is set.
    FlShow own;      ///< Its picture there.
    FlShow guess;    ///< What others predict, as far as the owner knows.
    FlDeltaControl control;
    int64_t sent;
} RaceCar;

/// What one player sees of one car by one scheme.
typedef struct RaceView {
    FlEntityId id; ///< Of others' cars, once heard of.
    FlTime received_at;
    Jumps jumps;
} RaceView;

/// What is added up over all comparisons of one scheme.
typedef struct RaceSums {
    int64_t comparisons, disagreements;
    int64_t pairs; ///< Of them: with the first car.
    double first, others;
    int64_t looks; ///< Of players at their own car,
    double lag;    ///< each so many ns late.
} RaceSums;

typedef struct RaceGame RaceGame;

/// A player at the wheel: an actor.
typedef struct RaceDriver {
    RaceGame *game;
    int32_t car;
    int32_t next; ///< The sample to come.
} RaceDriver;

struct RaceGame {
    const RacePlay *def;
    World *world;
    FlTime begin; ///< World time of the first sample.
    int32_t look; ///< The comparison to come: after this sample of the first car.
    RaceDriver drivers[RACE_CARS];
    RaceCar *cars;
    RaceView *views;
    RaceSums *sums;
    double clock_sum;
    int64_t clock_count;
};

static inline int32_t race_node(const RaceGame *game, int32_t player)
{
    return player + (game->def->referee ? 1 : 0);
}

static inline RaceCar *race_car(const RaceGame *game, int32_t car, int32_t scheme)
{
    return &game->cars[car * game->def->scheme_count + scheme];
}

static inline RaceView *race_view(const RaceGame *game, int32_t player, int32_t car, int32_t scheme)
{
    int32_t cars = game->def->race->car_count;
    return &game->views[(player * cars + car) * game->def->scheme_count + scheme];
}

/// Makes all cars ready: entities, pictures, agreements. Everybody is in.
/// Errors: FL_FULL and others of fl_entity_create.
FL_NODISCARD FlResult race_cars_start(RaceGame *game);

/// An actor: the next sample of a driver's car.
FlTime race_drive(void *ctx, World *world, FlTime now);

/// An actor: compares what everybody sees.
FlTime race_compare(void *ctx, World *world, FlTime now);

#endif
