// What the commands that play (`serve`, `join`, `bots`, `watch`) need of a game: a small table of
// functions. Everything else (sessions, sockets, invites, the terminal, figures, the loop) is the
// same for all games.
//
//     play_run ──▶ play_node ──▶ PlayGame: look, make, tick, hear, tell ──▶ games/<name>
//
// A new game is a file app/play/play_<name>.c with one PlayGame in it, and a line in
// PLAY_GAME_TABLE.
//
// What a game finds wrong it counts, by kind (PlayChecks). Whatever a peer says is checked and
// counted, never asserted on.
#ifndef APP_PLAY_GAME_H
#define APP_PLAY_GAME_H

#include <jansson.h>

#include "fairlead/fairlead.h"

typedef struct PlayNode PlayNode;

// ---------------------------------------------------------------- what must hold

/// X(NAME, word, fault, meaning): what every game counts. Faults stay 0, or something is broken.
#define PLAY_COUNT_TABLE(X)                                                                        \
    X(TIME_BACKWARDS, "time_backwards", true, "session time went back")                            \
    X(BAD_EVENT, "bad_event", true, "an event that nobody encodes")                                \
    X(BAD_STATUS, "bad_status", true, "a blob that nobody encodes")                                \
    X(SET_REFUSED, "set_refused", true, "a state of ours that the session refused")                \
    X(EVENTS_REJECTED, "events_rejected", false, "not the sender's to tell, or late")              \
    X(LOOKS, "looks", false, "at others' things that are there, each checked")                     \
    X(TICKS, "ticks", false, "played")                                                             \
    X(TICKS_SKIPPED, "ticks_skipped", false, "because the processor was away")                     \
    X(FRAMES, "frames", false, "played, each with the ticks that were due")                        \
    X(FRAMES_MISSED, "frames_missed", false, "because the processor was away, or too slow")

enum {
#define PLAY_COUNT_ROW(name, word, fault, meaning) PLAY_##name,
    PLAY_COUNT_TABLE(PLAY_COUNT_ROW)
#undef PLAY_COUNT_ROW
        PLAY_COUNT_COMMON ///< A game's own counts begin here.
};

#define PLAY_COUNTS_MAX 32

/// One thing that is counted.
typedef struct PlayCount {
    const char *name;
    bool fault;
} PlayCount;

/// What a node found, by kind.
typedef struct PlayChecks {
    uint64_t count[PLAY_COUNTS_MAX]; ///< The common ones, then the game's.
    double outside_worst; ///< Distance at which something was shown where nothing can be; 0: never.
    FlTime late_worst;    ///< How late a frame began.
} PlayChecks;

/// Frames missed, of all that were due: 0 to 1.
double play_checks_behind(const PlayChecks *checks);

/// A process that misses more of its frames cannot keep up, and says so.
#define PLAY_BEHIND 0.1

/// Adds `more` to `sum`.
void play_checks_add(PlayChecks *sum, const PlayChecks *more);

// ---------------------------------------------------------------- rules and keys

/// What `serve` was told about the game. NULL and -1: not told.
typedef struct PlayRules {
    const char *course;
    const char *show;
    int64_t laps, cars, races;
} PlayRules;

/// What a player's keys say at the moment.
typedef struct PlayKeys {
    double drive; ///< -1 (backwards), 0 or 1.
    double turn;  ///< -1 (right), 0 or 1 (left).
    bool fire;
} PlayKeys;

/// Room for a picture in text.
typedef struct PlayPicture {
    int32_t columns, rows;
    char *text; ///< Zero-terminated.
    size_t size;
} PlayPicture;

/// False: out of memory.
bool play_picture_reserve(PlayPicture *picture, size_t size);

// ---------------------------------------------------------------- the table

typedef struct PlayGame {
    const char *name;
    const char *thing;             ///< What a player has: "tank".
    const char *keys;              ///< How it is driven, for people.
    const char *policy;            ///< Unless another is asked for; NULL: base.
    const struct PlayGame *served; ///< The same where the host decides; NULL: it never does.
    const struct PlayGame *played; ///< Where it does: the same where players decide. NULL else.
    FlTopology topology;           ///< Unless the host asks for another.
    int32_t tick_hz;               ///< Ticks follow session time, so all nodes are at the same one.
    int32_t own_max;               ///< Things of one node; at most PLAY_OWN_MAX.
    int32_t host_entities;         ///< Of the host, besides the things.
    const PlayCount *counts;       ///< Its own, after the common ones.
    int32_t count_count;           ///< Of these.

    /// Are these rules of this game? OPTIONS_GO_ON, or the exit status after one line.
    int (*check)(const char *who, const PlayRules *rules);
    /// The wire's world. Its application version tells games and their versions apart.
    FlWorldDef (*world)(void);
    /// What else the session needs; NULL: nothing.
    void (*session)(FlSessionDef *def);

    /// Makes node->match. `rules` is NULL for a guest: it learns them.
    FlResult (*open)(PlayNode *node, const PlayRules *rules);
    void (*close)(PlayNode *node); ///< Also after a failed open.
    /// The session is there, and has not begun; NULL: nothing to do.
    FlResult (*ready)(PlayNode *node);

    /// Makes the entity of own thing `own`. False: not yet, ask again.
    bool (*make)(PlayNode *node, int32_t own);
    /// Where everybody else is now, checked; before the ticks of a frame.
    void (*look)(PlayNode *node, FlTime now);
    /// Everything of own things from node->tick to the next one, which it raises.
    void (*tick)(PlayNode *node);
    /// node->tick was raised without playing.
    void (*skip)(PlayNode *node);

    /// Something happened in the session; NULL: not of interest.
    void (*notice)(PlayNode *node, const FlNotice *notice);
    /// An event came in; and what waits to go out.
    void (*hear)(PlayNode *node, const FlEvent *event);
    void (*tell)(PlayNode *node);
    /// The host changed: events under way through it are lost.
    void (*forgive)(PlayNode *node);

    /// It is over for everybody, and this node may go. NULL: never.
    bool (*over)(const PlayNode *node);
    /// At the end: how often something that must be equal is not.
    uint64_t (*differs)(const PlayNode *node);

    int32_t (*seen)(const PlayNode *node); ///< Things that are seen here, own ones included.
    bool (*draw)(const PlayNode *node, PlayPicture *picture);
    /// For the page (play_web.h). New references. All may be NULL: nothing to add.
    json_t *(*page_map)(const PlayNode *node); ///< What it is played on; NULL: not known yet.
    int32_t (*page_state)(const PlayNode *node, uint32_t number); ///< WebStateFn, web_session.h.
    json_t *(*page_dots)(const PlayNode *node, FlTime now);       ///< x and y in cm, each: shots.
    /// For machines: about an own thing, a node, and all nodes of this process.
    json_t *(*thing_json)(const PlayNode *node, int32_t own);
    void (*node_json)(const PlayNode *node, json_t *object); ///< NULL: nothing to add.
    void (*sum_json)(PlayNode *const *nodes, int32_t count, json_t *object);
    /// For people, at the end: a clause.
    void (*sum_line)(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                     size_t size);
} PlayGame;

/// X(name). The first is what is played if nobody says anything.
#define PLAY_GAME_TABLE(X)                                                                         \
    X(tanks)                                                                                       \
    X(racing)                                                                                      \
    X(arena)                                                                                       \
    X(tanks_host)

#define PLAY_GAME_EXTERN(name) extern const PlayGame play_##name;
PLAY_GAME_TABLE(PLAY_GAME_EXTERN)
#undef PLAY_GAME_EXTERN

/// All games; NULL after the last.
const PlayGame *play_game_at(int32_t index);

/// NULL: there is none of this name.
const PlayGame *play_game_find(const char *name);

/// "tanks, racing, arena", for messages.
const char *play_game_names(void);

/// The check of a game without rules of its own.
int play_rules_none(const char *who, const PlayRules *rules);

// ---------------------------------------------------------------- counts, by their game

int32_t play_count_total(const PlayGame *game);
PlayCount play_count_at(const PlayGame *game, int32_t index);

/// Faults altogether.
uint64_t play_checks_faults(const PlayGame *game, const PlayChecks *checks);

#endif
