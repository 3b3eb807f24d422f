// A session on a socket of its own, as far away as one likes: for runs outside virtual time.
//
// What comes and goes, whoever it is from or for, passes module `impair`, as in `fairlead wan`, so
// that a process on the same machine is as far away as in the virtual world; and it has a clock of
// its own (the machine's, shifted), so that nobody gains by sharing one.
//
// Threads: no shared state.
#ifndef LAB_DISTANT_H
#define LAB_DISTANT_H

#include "fairlead/impair.h"
#include "fairlead/net.h"
#include "fairlead/session.h"
#include "impair/impair.h"

/// Somebody between a node and its socket, who may note what passes, or be all the network there
/// is. One datagram at a time.
typedef struct DistantWire {
    void *ctx;
    bool no_net; ///< There is no socket: `net` is NULL below.
    /// False: nothing has come. What `in` points to stays until the next call.
    bool (*receive_fn)(void *ctx, FlNet *net, FlDatagram *in);
    void (*send_fn)(void *ctx, FlNet *net, const FlDatagram *out);
} DistantWire;

typedef struct DistantDef {
    FlSessionDef session;
    FlNet *net;              ///< A host's socket, which stays the caller's; NULL: one of its own.
    FlTime clock_shift;      ///< Of its clock from the machine's.
    bool near;               ///< Nothing is impaired: the host.
    FlImpairSettings way;    ///< Each way.
    uint64_t seed;           ///< Of the network.
    uint16_t number;         ///< Which node it is; the host is 0.
    int32_t flight_capacity; ///< Packets under way at once; more are lost.
    DistantWire wire;        ///< Zeroed: nobody.
} DistantDef;

typedef struct Distant {
    FlNet *net;
    FlSession *session;
    FlTime clock_shift;
    FlImpair *in, *out; ///< NULL if near.
    FlFlight *arriving, *leaving;
    DistantWire wire;
    bool owns_net;
} Distant;

/// A socket on loopback, at a port of the system's choice.
FL_NODISCARD FlResult distant_net_open(FlNet **net);

/// Errors: as fl_session_create, fl_net_create and fl_impair_create; nothing is left open then.
FL_NODISCARD FlResult distant_open(const DistantDef *def, FlTime now, Distant *node);
void distant_close(Distant *node);

/// The node's own time at the machine's `time`.
static inline FlTime distant_time(const Distant *node, FlTime time)
{
    return time + node->clock_shift;
}

/// Other ways from `now` on. Errors: FL_BAD_VALUE.
FL_NODISCARD FlResult distant_set(Distant *node, FlTime now, const FlImpairSettings *way);

/// Takes in what has come. Times are the machine's, here and below.
void distant_receive(Distant *node, FlTime now);

/// Lets out what is to go.
void distant_send(Distant *node, FlTime now);

/// When one of the two must be called again at the latest.
FlTime distant_deadline(const Distant *node, FlTime now);

#endif
