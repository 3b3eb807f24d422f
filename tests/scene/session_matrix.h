// The cells of test_session_matrix.c: a topology, sealed or plain, and a session of a host and
// seven players in it, each with one entity that walks.
#ifndef TESTS_SCENE_SESSION_MATRIX_H
#define TESTS_SCENE_SESSION_MATRIX_H

#include "session_inside.h"
#include "session_net.h"

enum { MATRIX_NODES = 8 }; // as few as have a plane in a crowd

/// Where a feature is tried.
typedef struct Cell {
    FlTopology topology;
    bool sealed;
} Cell;

static Cell CELLS[] = {
    {FL_TOPOLOGY_STAR, false},  {FL_TOPOLOGY_STAR, true},    {FL_TOPOLOGY_MESH, false},
    {FL_TOPOLOGY_MESH, true},   {FL_TOPOLOGY_HYBRID, false}, {FL_TOPOLOGY_HYBRID, true},
    {FL_TOPOLOGY_CROWD, false}, {FL_TOPOLOGY_CROWD, true},
};

#define CELL(test, where, at)                                                                      \
    {                                                                                              \
        .name = #test "_in_a_" where, .test_func = test, .initial_state = &CELLS[at]               \
    }

/// Eight tests, one a cell.
#define EVERYWHERE(test)                                                                           \
    CELL(test, "plain_star", 0), CELL(test, "sealed_star", 1), CELL(test, "plain_mesh", 2),        \
        CELL(test, "sealed_mesh", 3), CELL(test, "plain_hybrid", 4),                               \
        CELL(test, "sealed_hybrid", 5), CELL(test, "plain_crowd", 6),                              \
        CELL(test, "sealed_crowd", 7)

typedef struct Matrix {
    const Cell *cell;
    Net net;
    FlEntityDef def;                  // of everybody's entity
    NetWalk walk[MATRIX_NODES];       // of each player; the host has none
    void (*each_frame)(int32_t node); // NULL: nothing more
} Matrix;

static Matrix matrix;

static inline bool matrix_is_crowd(void)
{
    return matrix.cell->topology == FL_TOPOLOGY_CROWD;
}

static inline FlSession *matrix_session(int32_t node)
{
    return matrix.net.node[node].session;
}

/// The entity of node `of` as node `at` knows it.
static inline FlEntityId matrix_entity(int32_t at, int32_t of)
{
    return net_entity(&matrix.net, at, matrix.walk[of].number);
}

/// Settings to be changed before the session begins.
static inline void matrix_open(void **state)
{
    memset(&matrix, 0, sizeof matrix);
    matrix.cell = (const Cell *)*state;
    net_open(&matrix.net, 11, matrix.cell->topology, matrix.cell->sealed);
    matrix.net.def.timeout_ns = FL_SEC(3);
    matrix.def = fl_entity_def_default();
}

static inline void matrix_frames(int32_t count)
{
    for (int32_t f = 0; f < count; f++) {
        for (int32_t i = 0; i < MATRIX_NODES; i++) {
            bool there = matrix_session(i) != NULL;
            if (there && i > 0 && matrix.walk[i].number != 0) {
                (void)!net_walk_step(&matrix.net, &matrix.walk[i]);
            }
            if (there && matrix.each_frame != NULL) {
                matrix.each_frame(i);
            }
        }
        net_frame(&matrix.net);
    }
}

/// Everybody is in, has an entity, and knows the others'.
static inline void matrix_begin(void)
{
    net_start_together(&matrix.net, MATRIX_NODES);
    for (int32_t i = 1; i < MATRIX_NODES; i++) {
        assert_int_equal(net_walk_begin(&matrix.net, &matrix.walk[i], i, &matrix.def), FL_OK);
        matrix.walk[i].turn_rate = 0.3;
    }
    matrix_frames(150); // direct connections, too
}

static inline void matrix_close(void)
{
    assert_int_equal(net_count(&matrix.net, FL_SESSION_MALFORMED), 0);
    assert_int_equal(net_count(&matrix.net, FL_SESSION_FOREIGN), 0);
    net_close(&matrix.net);
}

/// How far off node `at` shows the entity of node `of`.
static inline double matrix_off(int32_t at, int32_t of)
{
    FlPose pose;
    FlSession *session = matrix_session(at);
    FlEntityId id = matrix_entity(at, of);
    assert_true(fl_entity_pose_at(session, net_local(&matrix.net, at), id, &pose));
    return fl_vec3_distance(pose.position, net_walk_at(&matrix.walk[of], matrix.net.now));
}

/// Node `at` looks at node `of`'s entity.
static inline void matrix_look(int32_t at, int32_t of, double attention)
{
    assert_int_equal(fl_entity_attention(matrix_session(at), matrix_entity(at, of), attention),
                     FL_OK);
}

#endif
