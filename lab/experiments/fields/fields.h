// What `lab run fields` is made of: the three games as sources of states, and one play of one.
#ifndef LAB_FIELDS_H
#define LAB_FIELDS_H

#include "arena/arena.h"
#include "lab/world/lab_run.h"
#include "racing/racing.h"
#include "tanks/tanks.h"

#define FIELDS_MOST 16     ///< Of a game's kind.
#define FIELDS_PLAYERS 16  ///< At most.
#define FIELDS_ENTITIES 64 ///< Of a session: everybody has a share.
#define FIELDS_GAME_COUNT 3

/// A match of bots in one process, in whichever game.
typedef struct FieldsMatch {
    TanksGame *tanks;
    RacingGame *racing;
    RacingState race;
    uint64_t seed;
    ArenaGame *arena;
    ArenaState view;
    ArenaBot bots[FIELDS_PLAYERS];
    ArenaDeeds deeds;
} FieldsMatch;

/// What a player is at a tick.
typedef struct FieldsTold {
    FlState motion;
    uint32_t life;              ///< Another one than before: a cut.
    int64_t value[FIELDS_MOST]; ///< Of its fields.
} FieldsTold;

typedef struct FieldsGame {
    const char *name;
    const FlFieldDef *fields; ///< With the ranges of the game's blob; FL_FIELD_INT and _BITS.
    int32_t field_count;
    int32_t tick_hz;
    FlResult (*open)(FieldsMatch *match, int32_t players, uint64_t seed, FlWorldDef *world);
    void (*step)(FieldsMatch *match);
    FieldsTold (*tell)(const FieldsMatch *match, int32_t player);
} FieldsGame;

extern const FieldsGame fields_games[FIELDS_GAME_COUNT];

void fields_match_close(FieldsMatch *match);

/// The values as the game's blob has them: bit by bit, to a whole byte. Its bytes.
int32_t fields_blob(const FieldsGame *game, const int64_t *values, uint8_t bytes[64]);

/// How states travel.
typedef enum FieldsWay {
    FIELDS_NONE, ///< Not at all: motion alone.
    FIELDS_BLOB,
    FIELDS_FIELDS,
    FIELDS_WAYS,
} FieldsWay;

typedef struct FieldsPlay {
    const FieldsGame *game;
    FieldsWay way;
    int32_t players;
    double seconds, rtt_ms, loss;
    uint64_t seed;
    bool sealed;
} FieldsPlay;

typedef struct FieldsFigures {
    double bytes;   ///< Sent by all, headers below not counted.
    double changes; ///< Of states.
} FieldsFigures;

/// Everybody owns a player, and the first hosts. Fails unless all end with everybody's last state.
LabStatus fields_play(const FieldsPlay *def, FieldsFigures *figures, LabError *error);

#endif
