// What the nodes of session_net.h answer, and the set-ups that scenes share.
#ifndef TESTS_SCENE_SESSION_NET_ASK_H
#define TESTS_SCENE_SESSION_NET_ASK_H

#include "session_net_run.h"

// ---------------------------------------------------------------- asking

static inline bool net_in(const Net *net, int32_t node)
{
    const FlSession *session = net->node[node].session;
    return session != NULL && fl_session_state(session) == FL_SESSION_RUNNING &&
           fl_peer_self(session).index1 != 0 && fl_session_time_error(session) != FL_FOREVER;
}

/// Everybody has been seen running.
static inline bool net_all_running(const Net *net)
{
    for (int32_t i = 0; i < net->count; i++) {
        if (net->node[i].running_at < 0) {
            return false;
        }
    }
    return true;
}

static inline int32_t net_alive(const Net *net)
{
    int32_t count = 0;
    for (int32_t i = 0; i < net->count; i++) {
        count += net->node[i].session != NULL ? 1 : 0;
    }
    return count;
}

/// Everybody there is in, and knows everybody.
static inline bool net_together(const Net *net)
{
    int32_t alive = net_alive(net);
    for (int32_t i = 0; i < net->count; i++) {
        if (net->node[i].session != NULL &&
            (!net_in(net, i) || fl_peer_count(net->node[i].session) != alive - 1)) {
            return false;
        }
    }
    return true;
}

/// Runs frames until everybody is in.
static inline void net_gather(Net *net)
{
    FlTime until = net->now + FL_SEC(30);
    while (!net_together(net) && net->now < until) {
        net_frame(net);
    }
    assert_true(net_together(net));
}

/// Nodes 0 to `count` - 1 start: a host and those who join it,
static inline void net_start_all(Net *net, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        net_start(net, i);
    }
}

/// and all of them are in.
static inline void net_start_together(Net *net, int32_t count)
{
    net_start_all(net, count);
    net_gather(net);
}

static inline void net_frames(Net *net, int32_t count)
{
    for (int32_t f = 0; f < count; f++) {
        net_frame(net);
    }
}

/// A node's number in the session.
static inline int32_t net_number(const Net *net, int32_t node)
{
    return (int32_t)fl_peer_self(net->node[node].session).index1 - 1;
}

/// Node `whom` by the name that node `at` knows it by.
static inline FlPeerId net_peer(const Net *net, int32_t at, int32_t whom)
{
    return fl_peer_of_number(net->node[at].session, net_number(net, whom));
}

static inline FlEntityId net_entity(const Net *net, int32_t at, uint32_t number)
{
    return fl_entity_of_number(net->node[at].session, number);
}

/// A new entity of a node's. Its number is what everybody knows it by.
static inline uint32_t net_make(Net *net, int32_t node, const FlEntityDef *def, FlEntityId *id)
{
    FlEntityStatus status;
    *id = fl_entity_create(net->node[node].session, def);
    assert_int_not_equal(id->index1, 0);
    assert_int_equal(fl_entity_status(net->node[node].session, *id, &status), FL_OK);
    return status.number;
}

/// Takes the notices that wait; true if one says that a peer has left so.
static inline bool net_was_told(FlSession *session, FlLeft left)
{
    bool told = false;
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
        told = told || (notice.kind == FL_NOTICE_PEER_LEFT && notice.left == left);
    }
    return told;
}

/// Takes the notices that wait.
static inline void net_drop_notices(FlSession *session)
{
    FlNotice notice;
    while (fl_notice_take(session, &notice) == FL_OK) {
    }
}

#define NET_TOPOLOGY(test, topology)                                                               \
    {                                                                                              \
        .name = #test "_in_a_" topology, .test_func = test, .initial_state = (void *)topology      \
    }

/// Tests of a star, a mesh and a hybrid; the state is the topology's name.
#define NET_TOPOLOGIES(test)                                                                       \
    NET_TOPOLOGY(test, "star"), NET_TOPOLOGY(test, "mesh"), NET_TOPOLOGY(test, "hybrid")

static inline FlTopology net_topology(void **state)
{
    const char *name = (const char *)*state;
    return strcmp(name, "star") == 0    ? FL_TOPOLOGY_STAR
           : strcmp(name, "mesh") == 0  ? FL_TOPOLOGY_MESH
           : strcmp(name, "crowd") == 0 ? FL_TOPOLOGY_CROWD
                                        : FL_TOPOLOGY_HYBRID;
}

/// A sum of a counter over all nodes.
static inline uint64_t net_count(const Net *net, FlSessionCount which)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < net->count; i++) {
        sum += net->node[i].session != NULL ? fl_session_count(net->node[i].session, which) : 0;
    }
    return sum;
}

/// All counters of a node, for people.
static inline void net_print(const Net *net, int32_t node)
{
    const FlSession *session = net->node[node].session;
    if (session == NULL) {
        return;
    }
    print_message("             node %d:", node);
    for (int32_t i = 0; i < FL_SESSION_COUNTS; i++) {
        uint64_t count = fl_session_count(session, (FlSessionCount)i);
        if (count > 0) {
            print_message(" %s %llu", fl__session_count_name((FlSessionCount)i),
                          (unsigned long long)count);
        }
    }
    print_message(" %s\n", fl_session_end_text(session));
}

#endif
