// A game of the arena in a mesh of real sessions, in one of four *modes* of telling where players
// are. Makes the world, its sessions and its nodes, and drives them; what comes of it is for the
// experiment to say.
//
// All nodes tick at the same moments. What is asked of a node is answered every 10 ms, as a program
// that waits for datagrams would.
#ifndef LAB_ARENA_MESH_H
#define LAB_ARENA_MESH_H

#include "arena/mode.h"
#include "lab/world/lab_run.h"
#include "lab/world/world.h"

typedef struct ArenaMeshDef {
    ArenaMode mode;
    ArenaMap map;
    int32_t players;
    double kbps;        ///< Upload of each, all headers included; not of HIBW.
    double focus_share; ///< Of it, for the focus set.
    ArenaJudge judge;
    double rtt_ms;
    double far_ms;          ///< Added to it by each of a pair that is far: every second node.
    double jitter_ms, loss; ///< Of each way; a share of datagrams.
    FlTime rewind_ns;       ///< Above 0: shots are checked by what was on the shooter's screen.
    double top_speed;       ///< Nobody is shown to move faster, where corrections glide.
    uint64_t seed;
    bool sealed;
    int32_t ticks; ///< After so many nobody does anything any more but answer; 0: for ever.
    /// Where a recording has a player at a tick; NULL: it is not there. Without this bots play.
    const ArenaRow *(*row_fn)(void *ctx, int32_t player, int32_t tick);
    /// Who plays; NULL: a character and a skill by the player's number.
    void (*cast_fn)(void *ctx, int32_t player, int32_t *character, int32_t *skill);
    /// As ArenaNodeDef's, of all nodes; or NULL.
    void (*verdict_fn)(void *ctx, const ArenaDeed *deed, bool applied, bool decided);
    void *ctx;
} ArenaMeshDef;

typedef struct ArenaMesh ArenaMesh;

/// A node at work: an actor of the world.
typedef struct ArenaDriver {
    ArenaMesh *mesh;
    int32_t node;
    int32_t tick, part;
} ArenaDriver;

/// Read what you like.
struct ArenaMesh {
    ArenaMeshDef def;
    ArenaGame *game;
    World *world;
    FlTime begin;     ///< World time of the first tick.
    ArenaNode *nodes; ///< Player i is not always node i's: nodes[i].player says whose.
    ArenaDriver *drivers;
};

/// Makes everything, and runs the world until all have met and the first tick is a second away.
/// `lookers` more actors will find room. Destroy it in any case.
LabStatus arena_mesh_create(ArenaMesh *mesh, const ArenaMeshDef *def, int32_t lookers,
                            LabError *error);
void arena_mesh_destroy(ArenaMesh *mesh);

/// What a node has sent so far, headers included.
uint64_t arena_mesh_sent_bytes(const ArenaMesh *mesh, int32_t node);

#endif
