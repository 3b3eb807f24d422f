// Any session as the page shows it: what is there, who is there, and how well they see. Made from
// public calls alone, so it works for every game; what is drawn under it (a map) and over it
// (shots) the game adds.
//
//     hello     {"type", "demo": "session", "version", "game", "thing", "map"?, "policies"}
//     settings  {"type", "policy"}
//     frame     {"type", "t", "self", "things", "dots"?, "peers", "clock_ms", "viewers", "refused"}
//
// `t` is session time in ms. `things` has six whole numbers for each: its number, its owner's (-1:
// unknown), x and y in cm, yaw in mrad, and 1 dead or 2 alive. `peers` is made four times a second:
// the ledger is asked about every pair of a thing and a peer.
#ifndef APP_WEB_SESSION_H
#define APP_WEB_SESSION_H

#include <jansson.h>

#include "fairlead/session.h"

enum {
    WEB_SESSION_PEERS = 32,  ///< Told of at most: the first ones.
    WEB_SESSION_PAIRS = 2048 ///< Asked about at most, so that a game is not held up.
};

/// What a game knows of a thing: 0 not to be shown, 1 dead, 2 alive.
typedef int32_t (*WebStateFn)(const void *ctx, uint32_t number);

/// All things that are somewhere. `state_fn` may be NULL: all are alive. A new reference.
json_t *web_session_things(FlSession *session, FlTime now, WebStateFn state_fn, const void *ctx);

/// A list of {"number", "direct", "rtt_ms", "loss", "bytes_out", "bytes_in", "pairs", "sent",
/// "aee"}: the link's figures (null: no link, or not known yet), and over all things that we tell
/// it of, how many there are, updates sent and the accumulated error, distance times seconds. A new
/// reference.
json_t *web_session_peers(const FlSession *session, FlTime now);

#endif
