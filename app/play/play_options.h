// The command lines of `serve`, `join`, `bots` and `watch`: options that they share, which game is
// meant, and for the three that join somebody the whole run.
#ifndef APP_PLAY_OPTIONS_H
#define APP_PLAY_OPTIONS_H

#include "app/cli/options.h"
#include "app/play/play_run.h"
#include "app/play/play_setup.h"

/// Everything that can be asked for; each command offers some of it.
typedef struct PlayChoices {
    const char *plain[2]; ///< A game, and whom to join: either may be missing.
    const char *policy;
    const char *authority; ///< Who decides: owner or host; NULL: the owner, or as the invite says.
    const char *address, *topology, *key;
    const char *record;
    const char *name, *secret_file;
    PlayWebDef web;
    PlayRules rules;
    int64_t port, players, bots, upload_kbps, invites;
    int64_t count, frames, direct;
    int64_t seed;
    double seconds, timeout;
    bool play, sealed, open;
    bool bot;
    bool headless, json;
} PlayChoices;

/// What holds if nothing is said.
PlayChoices play_choices_default(void);

#define PLAY_OPTIONS_MAX 32

typedef struct PlayOptions {
    Option options[PLAY_OPTIONS_MAX];
    size_t count;
} PlayOptions;

void play_options_add(PlayOptions *table, Option option);

/// [GAME] [INVITE|ADDRESS]
void play_options_join(PlayOptions *table, PlayChoices *choices);

/// --policy, --seed: for those with things of their own.
void play_options_drive(PlayOptions *table, PlayChoices *choices);

/// --authority, and what it makes of a game: OPTIONS_GO_ON, or the exit status after one line.
void play_options_authority(PlayOptions *table, PlayChoices *choices);
int play_authority_game(const char *who, const char *authority, const PlayGame **game);

/// --seconds, --timeout, --headless, --json, --record, --web and what belongs to it
void play_options_run(PlayOptions *table, PlayChoices *choices);

/// A command that joins.
typedef struct PlayGuests {
    const char *who;     ///< "fairlead join"
    const char *command; ///< "join"
    const char *summary; ///< For the help.
    int32_t own_count;   ///< Things of each node.
    bool keys;           ///< The first node's is the player's, unless --bot is given.
    bool headless;       ///< Even on a terminal.
} PlayGuests;

/// All of such a command: reads its options from the table into `choices`, opens choices->count
/// nodes, plays, and ends. `tape` is what is replayed; NULL: it is played. Answers the exit status.
int play_guests_run(const PlayGuests *guests, const PlayOptions *table, PlayChoices *choices,
                    PlayTape *tape, int argc, char **argv);

// ---------------------------------------------------------------- the commands, once more

/// X(name): commands that can be recorded. Each is cmd_<name>, which plays, and play_<name>_again,
/// which does what `tape` says.
#define PLAY_COMMAND_TABLE(X)                                                                      \
    X(serve)                                                                                       \
    X(join)                                                                                        \
    X(bots)                                                                                        \
    X(watch)                                                                                       \
    X(demo)

#define PLAY_COMMAND_EXTERN(name) int play_##name##_again(PlayTape *tape, int argc, char **argv);
PLAY_COMMAND_TABLE(PLAY_COMMAND_EXTERN)
#undef PLAY_COMMAND_EXTERN

#endif
