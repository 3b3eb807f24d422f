// The arena over a session: what the files of this game share. See play_arena.c.
#ifndef APP_PLAY_ARENA_H
#define APP_PLAY_ARENA_H

#include "app/play/play_node.h"
#include "arena/node.h"

/// X(NAME, word, fault, meaning)
#define PLAY_ARENA_TABLE(X)                                                                        \
    X(OUTSIDE_MAP, "outside_map", true, "shown further outside than its speed explains")           \
    X(DEEDS_ASKED, "deeds_asked", false, "of others: hits, pickups, scores")                       \
    X(DEEDS_APPLIED, "deeds_applied", false, "of these")                                           \
    X(DEEDS_REFUSED, "deeds_refused", false, "the same")                                           \
    X(DEEDS_UNKNOWN, "deeds_unknown", false, "whose owner left")                                   \
    X(DEEDS_BLOCKED, "deeds_blocked", false, "that could not be asked")

enum {
    PLAY_ARENA_BEFORE = PLAY_COUNT_COMMON - 1,
#define PLAY_ARENA_ROW(name, word, fault, meaning) PLAY_##name,
    PLAY_ARENA_TABLE(PLAY_ARENA_ROW)
#undef PLAY_ARENA_ROW
};

/// A node's match.
typedef struct PlayArena {
    ArenaGame *game; ///< One for all nodes of a process: it takes a while to make.
    ArenaNode node;
    bool started; ///< `node` is there.
} PlayArena;

static inline PlayArena *play_arena_of(const PlayNode *node)
{
    return node->match;
}

// ---------------------------------------------------------------- play_arena_report.c: for people

int32_t play_arena_waiting(const PlayNode *node); ///< Deeds without an answer yet.
int32_t play_arena_seen(const PlayNode *node);
bool play_arena_draw(const PlayNode *node, PlayPicture *picture);
json_t *play_arena_json(const PlayNode *node, int32_t own);
void play_arena_sum_json(PlayNode *const *nodes, int32_t count, json_t *object);
void play_arena_sum_line(PlayNode *const *nodes, int32_t count, const PlayChecks *sum, char *out,
                         size_t size);
json_t *play_arena_map(const PlayNode *node);
int32_t play_arena_state(const PlayNode *node, uint32_t number);
json_t *play_arena_dots(const PlayNode *node, FlTime now);

#endif
