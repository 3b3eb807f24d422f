// A small network of whole sessions in virtual time: the one harness of the session's scenes.
//
// Every node is a real session with a clock of its own (days off, drifting), every direction
// between two nodes an FlImpair of its own, and packets wait in one FlFlight. Time steps at
// deliveries, deadlines and frames, nowhere else. A node's number here is where it is found (its
// address); its number in the session is the host's business. Node 0 opens the session.
//
// session_net_make.h makes the nodes, session_net_run.h runs them, session_net_ask.h asks them and
// has the set-ups that scenes share, session_walk.h has things that move. On top of these, by the
// hooks of a Net: session_tanks.h compares every pose of every frame with the truth.
// session_inside.h is the one place that looks into a session.
//
// Layout: `way[from][to]` is NULL where nothing gets through (net_cut). A node whose session is
// NULL is not there; what is on the way to it is lost.
#ifndef TESTS_SCENE_SESSION_NET_H
#define TESTS_SCENE_SESSION_NET_H

#include "session_walk.h"

#endif
