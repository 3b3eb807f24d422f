// fairlead/run.h: a session over a socket that you opened yourself (module `net`): a few lines
// between fairlead/session.h and fairlead/net.h. fl_session_host and fl_session_join open one.
#ifndef FAIRLEAD_RUN_H
#define FAIRLEAD_RUN_H

#include "fairlead/net.h"
#include "fairlead/session.h"

#include <string.h>

#if !defined(_WIN32)

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

/// Datagrams that fl_run_send hands to the system at once.
#define FL_RUN_BATCH 16

/// Sends what is due. What the socket does not take is lost like any other datagram, and counted.
static inline void fl_run_send(FlNet *net, FlSession *session, FlTime now)
{
    uint8_t bytes[FL_RUN_BATCH][FL_SESSION_DATAGRAM_BYTES];
    FlDatagram datagrams[FL_RUN_BATCH];
    int32_t count;
    do {
        FlOutgoing out;
        for (count = 0; count < FL_RUN_BATCH; count++) {
            if (fl_session_next(session, now, &out) != FL_OK) {
                break;
            }
            memcpy(bytes[count], out.bytes, (size_t)out.count);
            FlDatagram datagram = {out.to, bytes[count], out.count, 0};
            datagrams[count] = datagram;
        }
        int32_t done;
        if (count > 0 && fl_net_send_batch(net, datagrams, count, &done) != FL_OK) {
            continue; // full: what is left of these is lost
        }
    } while (count == FL_RUN_BATCH);
}

#endif

#endif
