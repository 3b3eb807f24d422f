// Private to module `run`: a session that carries its own datagrams.
//
//   run.c              host, join, pump, close: over any transport
//   run_udp_posix.c    the transport that is there if the game brings none; keys, tokens, addresses
//   run_none.c         where there are neither sockets nor keys
#ifndef FAIRLEAD_RUN_PRIVATE_H
#define FAIRLEAD_RUN_PRIVATE_H

#include "fairlead/session.h"
#include "kernel/kernel.h"
#include "play/play.h"

struct Run {
    FlTransport transport;
    void (*close_fn)(void *ctx); // NULL: the transport is the game's
};

/// Opens a socket for `family` (NONE: whichever) where the definition says. False: `error` says
/// why.
bool fl__run_open(const FlSessionDef *def, FlFamily family, Run *run, FlError *error);

/// Host: fresh keys, unless the definition has some. `server` must live until the session is made.
bool fl__run_keys(FlSessionDef *def, const Run *run, FlSealServerDef *server, FlError *error);

/// What an invite's text, or with `plain` an address, says: whom to join, and how. `token` must
/// live until the session is made.
bool fl__run_invited(FlSessionDef *def, const char *invite, uint8_t *token, FlError *error);

/// What is the machine's business: Unix time, and a seed.
bool fl__run_start(FlSessionDef *def, FlError *error);

/// Where guests reach us: an address as text, or NULL for our own.
FlResult fl__run_reached_at(const Run *run, const char *text, FlAddress *address);

#endif
