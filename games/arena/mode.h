// Four *modes* of telling others where players are: everything to everybody, in turn, by attention
// as published, and ours. What each asks of a session and of a node; who compares them (an
// experiment, a page) makes both from here, so that a mode means one thing.
#ifndef ARENA_MODE_H
#define ARENA_MODE_H

#include "arena/node.h"

/// X(name, word, meaning)
#define ARENA_MODE_TABLE(X)                                                                        \
    X(HIBW, "hibw", "every frame's update to everybody, without a limit")                          \
    X(LOBW, "lobw", "in turn, least recently updated; as long on the wire as published")           \
    X(DONNY, "donny", "focus and guidance, as long on the wire as published")                      \
    X(OURS, "ours", "focus+equal and guidance, as long on the wire as ours are")

typedef enum ArenaMode {
#define ARENA_MODE_ROW(name, word, meaning) ARENA_MODE_##name,
    ARENA_MODE_TABLE(ARENA_MODE_ROW)
#undef ARENA_MODE_ROW
        ARENA_MODES
} ArenaMode;

const char *arena_mode_name(ArenaMode mode);
const char *arena_mode_meaning(ArenaMode mode);

/// Bytes of an update on the wire, as published.
#define ARENA_PUBLISHED_BYTES 126

typedef struct ArenaModeDef {
    ArenaMode mode;
    int32_t players;
    double kbps;        ///< Upload of each, all headers included; not of HIBW.
    double focus_share; ///< Of it, for the focus set.
    double top_speed;   ///< Nobody is shown to move faster, where corrections glide.
} ArenaModeDef;

/// A session of a mesh of so many; its role, host and seed are the caller's.
FlSessionDef arena_mode_session(const ArenaGame *game, const ArenaModeDef *def);

/// How its player is told. Bots of character 0 and the least skill; who is to play is the caller's.
ArenaNodeDef arena_mode_node(const ArenaGame *game, ArenaMode mode);

#endif
