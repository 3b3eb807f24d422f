// One peer of an arena game over a session: its own player, the others as it sees them.
//
// Every peer owns its player and a share of the map's things (thing k is peer k's, modulo the
// players). A player is an entity that moves; what it is (life, weapon, dead or alive) is its state
// blob. Things are an entity without motion whose blob says when each is back. Deeds travel as
// calls to the entity that they are done to, and are decided where that is owned. Missiles are told
// to those who look.
//
//     others:  fl_entity_guide_view ──▶ shown, or walked by the game's own legs ──▶ view
//     us:      bot or recording ── view ──▶ step ──▶ deeds ── fl_call_send ──▶ their owners
//              state, guidance, attention ──▶ session
//
// Free of any experiment and any program: who makes sessions, drives the clock and looks at the
// result is the caller. Flags are not played here.
//
// A game is *closed* (so many players, all there from the start, things shared out among them) or
// *open*: players come and go, who is not heard of is not there, and the host keeps all things; who
// hosts after it takes them over.
#ifndef ARENA_NODE_H
#define ARENA_NODE_H

#include "arena/arena.h"
#include "fairlead/rewind.h"
#include "fairlead/session.h"

/// A player's width: nearer than this, a replica is taken for the player.
#define ARENA_NODE_DIAMETER (2.0 * ARENA_HALF_WIDTH)

/// Deeds that wait for an answer at once.
#define ARENA_NODE_ASKED 64

/// How a player is told to the others.
typedef struct ArenaNodeDef {
    const ArenaGame *game; ///< Borrowed; the same rules at all.
    FlSend send;
    FlTriggerDef trigger;
    FlModel model;
    bool guided;    ///< Receivers at best effort get guidance,
    int32_t points; ///< with so many points of the way, as FlGuidance has them.
    bool attentive; ///< The others are told how much we look at them.
    int32_t chosen; ///< So many that we look at most are told that we want them; 0: as published.
    bool recorded;  ///< Moved by rows: no shots, no deeds, and nobody knows the map.
    bool open;      ///< Players come and go.
    bool checked;   ///< Shots must have met their target on the shooter's screen: whoever owns
                    ///< the target looks (FlSessionDef.rewind_ns is set). The same at all.
    bool watches;   ///< Open: we have no player.
    FlEntityId entity; ///< Our player's, made as arena_node_entity says; {0}: it is made here.
    /// The truth about our player was handed in; NULL: nobody wants to know.
    void (*told_fn)(void *ctx, const FlState *state);
    /// A deed was decided here, or what became of ours was learnt; NULL: as above.
    void (*verdict_fn)(void *ctx, const ArenaDeed *deed, bool applied, bool decided);
    void *ctx;
    double run_speed; ///< Recorded: how fast a replica may walk, units a second.
    uint64_t seed;    ///< Of the bot.
    int32_t character, skill;
} ArenaNodeDef;

/// What a session of this game needs, however many play.
void arena_node_capacities(FlSessionDef *def);

/// A session for a closed game of so many, in a mesh.
FlSessionDef arena_node_session(const ArenaGame *game, int32_t players);

/// What a peer sees of another player.
typedef struct ArenaSeen {
    FlEntityId entity, things; ///< {0}: not heard of.
    bool known;                ///< It is shown somewhere.
    FlGuideMode mode;
    uint32_t life;    ///< Low bits; a new one: it appeared anew.
    double attention; ///< That we pay to it.
    uint32_t shots;   ///< Of its replica that were played; they hit nobody,
    uint32_t jumps;   ///< and jumps;
    bool jumps_now;   ///< one is to come.
    FlTime guided;    ///< Session time of its newest guidance; 0: none.
    FlVec3 end;       ///< Where guidance says that it will be,
    FlTime end_time;  ///< and of when that is;
    bool stays;       ///< the one before said the same.
    int32_t turns;    ///< Which way it goes round its end: 1, -1; 0: not yet.
    FlTime nearing;   ///< Since when it walks to where snapshots put it; FL_FOREVER: it does not.
} ArenaSeen;

/// A moment at which a replica had come near, or was left to itself again.
typedef struct ArenaNear {
    uint64_t entered, within, given_up; ///< Entered focus; was near in half a second; never.
    double seconds;                     ///< Until near, in sum,
    uint64_t count;                     ///< over so many.
} ArenaNear;

typedef struct ArenaNodeStats {
    uint64_t deeds; ///< Asked of others.
    uint64_t applied, refused, unknown;
    uint64_t blocked;    ///< Deeds that found no room.
    uint64_t forged;     ///< Asked of us by another than their actor: refused.
    uint64_t checked;    ///< Shots at us that were looked at,
    uint64_t impossible; ///< that missed on the screen: refused,
    uint64_t unchecked;  ///< and where the screen is not known.
    uint64_t hits;       ///< Damage of ours that was answered,
    double hit_seconds;  ///< from the shot to knowing, in sum.
    ArenaNear near;
} ArenaNodeStats;

/// About 40 KB. Read what you like.
typedef struct ArenaNode {
    ArenaNodeDef def;
    FlSession *session;
    int32_t player; ///< Our number; -1: we watch.
    FlEntityId entity;
    FlEntityId things; ///< Ours; of an open game those there are, whoever keeps them.
    ArenaState view;
    ArenaBot bot;
    ArenaKeys keys; ///< By hand: set `driven`, and they count in place of the bot.
    bool driven;
    ArenaInput input; ///< Of the last step.
    FlAttention *attention;
    float told[ARENA_PLAYER_CAPACITY]; ///< Of it, if we choose.
    double aim[ARENA_PLAYER_CAPACITY]; ///< How far from each we aim, of late (rad).
    uint32_t life;
    bool born;             ///< It has just begun.
    bool dead;             ///< As told.
    uint32_t cuts;         ///< Lives of ours that were told.
    uint32_t missile_told; ///< The newest, by number.
    ArenaSeen seen[ARENA_PLAYER_CAPACITY];
    ArenaDeeds deeds;
    struct {
        uint32_t id; ///< Of the call; 0: free.
        ArenaDeed deed;
    } asked[ARENA_NODE_ASKED];
    ArenaNodeStats stats;
} ArenaNode;

/// The entity of a player that is told like this.
FlEntityDef arena_node_entity(const ArenaNodeDef *def);

/// A node of a session that runs. Errors: FL_NO_MEMORY; FL_FULL (our number is above what the game
/// has room for); as fl_entity_create.
FL_NODISCARD FlResult arena_node_start(ArenaNode *node, const ArenaNodeDef *def,
                                       FlSession *session);
void arena_node_stop(ArenaNode *node);

/// One tick at `now` (the node's clock). `row`: where a recording has our player; NULL: the bot
/// plays (or, recorded, it is not there).
void arena_node_step(ArenaNode *node, const ArenaRow *row, FlTime now);

/// The game is at another tick, because time went on without us: the next step makes tick + 1.
void arena_node_skip(ArenaNode *node, int32_t tick);

/// What came in, for callers who take notices and events themselves. An event that nobody encodes
/// is false, and nothing happens.
void arena_node_notice(ArenaNode *node, const FlNotice *notice);
bool arena_node_event(ArenaNode *node, const FlEvent *event);

/// Between steps: takes what has come in and decides what is asked, so that nobody waits for the
/// next tick.
void arena_node_serve(ArenaNode *node, FlTime now);

// Between the node's own files. node_see.c: one other player is seen, or is here no more; whom we
// look at.
void arena_see(ArenaNode *node, int32_t other, FlTime now);
void arena_unsee(ArenaNode *node, int32_t other);
void arena_look(ArenaNode *node, FlTime now);

// node_deeds.c: telling and hearing of things, sending deeds to their owners, deciding what is
// asked of us, learning what became of ours.
void arena_things_tell(ArenaNode *node);
void arena_things_read(ArenaNode *node, int32_t owner, FlEntityId id);
void arena_deeds_go(ArenaNode *node, ArenaDeeds *deeds, FlTime now);
void arena_calls_decide(ArenaNode *node, FlTime now);
void arena_calls_learn(ArenaNode *node, FlTime now);

/// Where the other is shown after the step.
static inline FlVec3 arena_node_shown(const ArenaNode *node, int32_t other)
{
    const ArenaPlayer *p = &node->view.player[other];
    return fl_vec3(p->x, p->y, p->z);
}

#endif
