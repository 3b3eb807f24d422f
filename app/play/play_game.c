// The games there are, and what can be said of any.
#include "app/play/play_game.h"

#include <stdlib.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/cli/options.h"

static const PlayGame *const games[] = {
#define PLAY_GAME_ROW(name) &play_##name,
    PLAY_GAME_TABLE(PLAY_GAME_ROW)
#undef PLAY_GAME_ROW
};

enum {
#define PLAY_GAME_NUMBER(name) NUMBER_##name,
    PLAY_GAME_TABLE(PLAY_GAME_NUMBER)
#undef PLAY_GAME_NUMBER
        GAME_COUNT
};

const PlayGame *play_game_at(int32_t index)
{
    return index >= 0 && index < GAME_COUNT ? games[index] : NULL;
}

const PlayGame *play_game_find(const char *name)
{
    for (int32_t i = 0; i < GAME_COUNT; i++) {
        if (strcmp(games[i]->name, name) == 0) {
            return games[i];
        }
    }
    return NULL;
}

const char *play_game_names(void)
{
#define PLAY_GAME_NAME(name) ", " #name
    static const char names[] = PLAY_GAME_TABLE(PLAY_GAME_NAME);
#undef PLAY_GAME_NAME
    return names + 2; // without the first comma
}

int play_rules_none(const char *who, const PlayRules *rules)
{
    bool told = rules->course != NULL || rules->show != NULL || rules->laps >= 0 ||
                rules->cars >= 0 || rules->races >= 0;
    return told ? command_fail(EXIT_BAD_INPUT, who,
                               "--course, --laps, --cars, --races and --show are for racing")
                : OPTIONS_GO_ON;
}

// ---------------------------------------------------------------- counts

static const PlayCount common[] = {
#define PLAY_COUNT_ROW(name, word, fault, meaning) {word, fault},
    PLAY_COUNT_TABLE(PLAY_COUNT_ROW)
#undef PLAY_COUNT_ROW
};

int32_t play_count_total(const PlayGame *game)
{
    FL_ASSERT(PLAY_COUNT_COMMON + game->count_count <= PLAY_COUNTS_MAX);
    return PLAY_COUNT_COMMON + game->count_count;
}

PlayCount play_count_at(const PlayGame *game, int32_t index)
{
    return index < PLAY_COUNT_COMMON ? common[index] : game->counts[index - PLAY_COUNT_COMMON];
}

uint64_t play_checks_faults(const PlayGame *game, const PlayChecks *checks)
{
    uint64_t faults = 0;
    for (int32_t i = 0; i < play_count_total(game); i++) {
        faults += play_count_at(game, i).fault ? checks->count[i] : 0;
    }
    return faults;
}

double play_checks_behind(const PlayChecks *checks)
{
    double missed = (double)checks->count[PLAY_FRAMES_MISSED];
    double due = missed + (double)checks->count[PLAY_FRAMES];
    return due > 0.0 ? missed / due : 0.0;
}

void play_checks_add(PlayChecks *sum, const PlayChecks *more)
{
    for (int32_t i = 0; i < PLAY_COUNTS_MAX; i++) {
        sum->count[i] += more->count[i];
    }
    sum->outside_worst =
        more->outside_worst > sum->outside_worst ? more->outside_worst : sum->outside_worst;
    sum->late_worst = more->late_worst > sum->late_worst ? more->late_worst : sum->late_worst;
}

// ---------------------------------------------------------------- pictures

bool play_picture_reserve(PlayPicture *picture, size_t size)
{
    if (size <= picture->size) {
        return true;
    }
    char *text = realloc(picture->text, size);
    if (text == NULL) {
        return false;
    }
    picture->text = text;
    picture->size = size;
    return true;
}
