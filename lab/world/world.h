// The virtual-time world: real sessions that exchange real datagrams over an emulated network.
//
// Nothing of the library is modelled a second time here. *Nodes* hold an FlSession each and a clock
// of their own; *ways* are module `impair`, one per direction; *actors* are whoever moves entities,
// plays a game or looks at the result, at times of their own; one way serves all pairs of a crowd
// (world_way_default). The world steps at nothing but
// deliveries, actors' times and the sessions' deadlines, so a quiet second costs nothing.
//
//     actor ── fl_entity_set ──▶ session ═ datagrams ═ way ═▶ session ── fl_entity_pose ──▶ actor
//
// The same seed gives the same bytes: keys, tokens and the network's luck come from it.
//
// Times are world time (the true time, from 0 on) unless they are called local: what a node's own
// clock shows.
#ifndef LAB_WORLD_H
#define LAB_WORLD_H

#include "fairlead/impair.h"
#include "fairlead/session.h"

typedef struct WorldDef {
    uint64_t seed;
    int32_t node_capacity;   ///< At most 4096.
    int32_t actor_capacity;  ///< Of both phases together.
    int32_t flight_capacity; ///< Datagrams under way at once.
    bool sealed;             ///< Every node proves who it is by a token, and packets are sealed.
    FlTime tick_ns; ///< Nodes look at what came in and what is due every so often, each at moments
                    ///< of its own, as a game's loop does; at most 1 s. 0: at once.
} WorldDef;

/// A small match: 16 nodes, 16 actors, 4096 datagrams under way, sealed, at once, seed 1.
WorldDef world_def_default(void);

typedef struct World World;

/// Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult world_create(const WorldDef *def, World **world);
void world_destroy(World *world);

FlTime world_now(const World *world);

// ---------------------------------------------------------------- nodes and ways

typedef struct WorldNodeDef {
    FlSessionDef session;   ///< The world fills in seed, unix_s, random, token, seal_server, host.
    int32_t host;           ///< Client: the node to join.
    FlTime clock_offset;    ///< Its clock shows this much more than world time,
    double clock_drift_ppm; ///< and gains this much.
} WorldNodeDef;

/// A client of node 0 with an exact clock and fl_session_def_default().
WorldNodeDef world_node_def_default(void);

/// Makes a node and starts its session now. *node counts from 0.
/// Errors: FL_FULL; as fl_session_create.
FL_NODISCARD FlResult world_node_add(World *world, const WorldNodeDef *def, int32_t *node);

/// How datagrams travel from one node to another from now on; without this they get lost, counted.
/// `link` is which luck the way has from its first setting on: ways of the same number treat equal
/// traffic alike.
/// Errors: FL_BAD_VALUE, FL_NO_MEMORY.
FL_NODISCARD FlResult world_way_set(World *world, int32_t from, int32_t to,
                                    const FlImpairSettings *settings, uint32_t link);

/// Both directions alike, each with a luck of its own, made from the two nodes' numbers.
FL_NODISCARD FlResult world_ways_set(World *world, int32_t a, int32_t b,
                                     const FlImpairSettings *settings);

/// How datagrams travel wherever no way of its own is set: as `settings` say, and longer the
/// further apart two nodes are. Nodes lie in a square by chance, and a side of it takes `side_ns`.
/// All such ways share one object, each datagram with a luck of its own, so a thousand nodes take
/// no memory per pair; what lasts longer than a datagram (slow delay, bursts, a bottleneck, order)
/// would be the same for all pairs at once, and is refused.
/// Errors: FL_BAD_VALUE, FL_NO_MEMORY.
FL_NODISCARD FlResult world_way_default(World *world, const FlImpairSettings *settings,
                                        FlTime side_ns);

/// What the distance between two nodes takes, one way, where no way of its own is set.
FlTime world_way_length(const World *world, int32_t from, int32_t to);

FlSession *world_session(World *world, int32_t node);
int32_t world_node_count(const World *world);
FlAddress world_address(int32_t node);

/// What the node's clock shows at a world time, and the first world time at which it shows `local`.
FlTime world_local(const World *world, int32_t node, FlTime time);
FlTime world_time_of(const World *world, int32_t node, FlTime local);

/// The first moment at or after `time` at which the node looks at things.
FlTime world_tick(const World *world, int32_t node, FlTime time);

/// Tell the world that something was done to a node's session other than by the world itself
/// (fl_entity_set, fl_event_send, ...), so that it looks at its deadline again.
void world_touch(World *world, int32_t node);

/// True when every node's session runs and knows the time.
bool world_all_in(World *world);

// ---------------------------------------------------------------- actors

/// At equal times: datagrams arrive, then movers act, then sessions send, then lookers look.
typedef enum WorldPhase {
    WORLD_MOVER,
    WORLD_LOOKER,
} WorldPhase;

/// Does its work at `now` and answers when it wants to be called again: later, or FL_FOREVER.
typedef FlTime (*WorldActFn)(void *ctx, World *world, FlTime now);

/// Errors: FL_FULL.
FL_NODISCARD FlResult world_actor_add(World *world, WorldPhase phase, FlTime first,
                                      WorldActFn act_fn, void *ctx);

/// Runs to `until`, everything at `until` included.
void world_run(World *world, FlTime until);

// ---------------------------------------------------------------- counters

typedef struct WorldStats {
    uint64_t datagrams, bytes; ///< Sent, headers below not counted.
    uint64_t delivered;        ///< Copies included.
    uint64_t lost;             ///< By the ways' settings.
    uint64_t unroutable;       ///< To an address that is no node, or where there is no way.
    uint64_t crowded;          ///< flight_capacity was too small: a result with these is worthless.
    uint64_t pumps;            ///< Times that a session was asked for datagrams,
    uint64_t hurried;          ///< and wanted to be asked again at once.
    uint64_t hash;             ///< Of all datagrams, their ends and times.
} WorldStats;

WorldStats world_stats(const World *world);

/// What a node has sent so far, headers below not counted.
typedef struct WorldSent {
    uint64_t datagrams, bytes;
} WorldSent;

WorldSent world_node_sent(const World *world, int32_t node);

#endif
