// Things that move straight on or in circles, in a network of sessions.
#ifndef TESTS_SCENE_SESSION_WALK_H
#define TESTS_SCENE_SESSION_WALK_H

#include "session_net_ask.h"

/// One entity's truth: straight on, or turning, as a test wishes.
typedef struct NetWalk {
    int32_t owner; ///< Node; -1: nobody's.
    uint32_t number;
    FlTime at; ///< True time of what follows.
    FlVec3 position, velocity;
    double turn_rate;
} NetWalk;

/// Where a walk is at a true time, on a straight stretch.
static inline FlVec3 net_walk_at(const NetWalk *walk, FlTime now)
{
    double dt = fl_span_seconds(now - walk->at);
    return fl_vec3(walk->position.x + walk->velocity.x * dt,
                   walk->position.y + walk->velocity.y * dt, 0.0);
}

/// Another direction and speed (up to 10 m/s along each axis) from now on.
static inline void net_walk_turn(Net *net, NetWalk *walk)
{
    double x = fl_random_between(&net->random, -10.0, 10.0);
    double y = fl_random_between(&net->random, -10.0, 10.0);
    walk->velocity = fl_vec3(x, y, 0.0);
}

/// Brings the truth up to now and hands it in.
static inline FlResult net_walk_step(Net *net, NetWalk *walk)
{
    double angle = walk->turn_rate * fl_span_seconds(net->now - walk->at);
    walk->position = net_walk_at(walk, net->now);
    double x = walk->velocity.x * cos(angle) - walk->velocity.y * sin(angle);
    double y = walk->velocity.x * sin(angle) + walk->velocity.y * cos(angle);
    walk->velocity = fl_vec3(x, y, 0.0);
    walk->at = net->now;
    FlState state = {.time = net_local(net, walk->owner),
                     .position = walk->position,
                     .velocity = walk->velocity,
                     .turn_rate = walk->turn_rate,
                     .facing = fl_facing_none()};
    FlEntityId id = net_entity(net, walk->owner, walk->number);
    return fl_entity_set(net->node[walk->owner].session, id, &state);
}

/// A new entity of a node, somewhere within 100 m.
static inline FlResult net_walk_begin(Net *net, NetWalk *walk, int32_t owner,
                                      const FlEntityDef *def)
{
    FlEntityId id;
    FlSession *session = net->node[owner].session;
    if (fl_session_state(session) != FL_SESSION_RUNNING) {
        return FL_WOULD_BLOCK; // it would have no number yet
    }
    id = fl_entity_create(session, def);
    if (id.index1 == 0) {
        return FL_FULL;
    }
    FlEntityStatus status;
    assert_int_equal(fl_entity_status(session, id, &status), FL_OK);
    memset(walk, 0, sizeof *walk);
    walk->owner = owner;
    walk->number = status.number;
    walk->at = net->now;
    double x = fl_random_between(&net->random, -100.0, 100.0);
    double y = fl_random_between(&net->random, -100.0, 100.0);
    walk->position = fl_vec3(x, y, 0.0);
    net_walk_turn(net, walk);
    return FL_OK;
}

#endif
