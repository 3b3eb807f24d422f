// fairlead/fairlead.h: everything public, in the order in which it builds up.
//
// The way of one update:
//
//   game - state -> motion - trigger -> send - to whom, when -> link -> net ==> net -> link -> show
//   - pose -> game
//
// docs/architecture.md draws it with the rooms around it.
#ifndef FAIRLEAD_FAIRLEAD_H
#define FAIRLEAD_FAIRLEAD_H

#include "fairlead/base.h"
#include "fairlead/clock.h"
#include "fairlead/impair.h"
#include "fairlead/link.h"
#include "fairlead/motion.h"
#include "fairlead/net.h"
#include "fairlead/seal.h"
#include "fairlead/send.h"
#include "fairlead/session.h"
#include "fairlead/show.h"
#include "fairlead/wire.h"

#if !defined(_WIN32)

// ---------------------------------------------------------------- a session on a socket
//
// The two rooms know nothing of each other; these few lines introduce them. A game with a transport
// of its own writes its own.

/// Hands everything that waits at the socket to the session.
static inline void fl_run_receive(FlNet *net, FlSession *session)
{
    FlDatagram datagrams[FL_NET_BATCH];
    int32_t count;
    do {
        count = fl_net_receive_batch(net, datagrams, FL_NET_BATCH);
        for (int32_t i = 0; i < count; i++) {
            fl_session_receive(session, datagrams[i].address, datagrams[i].data, datagrams[i].bytes,
                               datagrams[i].arrival);
        }
    } while (count == FL_NET_BATCH);
}

/// Sends what the session has to say. What the socket does not take is lost like any other
/// datagram, and counted.
static inline void fl_run_send(FlNet *net, FlSession *session, FlTime now)
{
    FlOutgoing out;
    while (fl_session_next(session, now, &out) == FL_OK) {
        FlDatagram datagram = {out.to, out.bytes, out.count, 0};
        int32_t done;
        if (fl_net_send_batch(net, &datagram, 1, &done) != FL_OK) {
            return;
        }
    }
}

#endif

#endif
