// Peers that play each other's actions, with module `agree` alone: no sessions, messages through
// room `impair`.
//
// Each peer has a clock of its own, its lags and its order. The net steps at nothing but
// deliveries and the peers' own deadlines. Controls other than lags are for comparison: `none`
// plays what arrives when it arrives; `constant` plays it a fixed time after it was done, by clocks
// that are exactly synchronised, which is more than anybody has.
#ifndef LAB_SIMULTANEITY_NET_H
#define LAB_SIMULTANEITY_NET_H

#include "agree/lags.h"
#include "fairlead/agree.h"
#include "fairlead/impair.h"

typedef enum NetControl {
    NET_NONE,
    NET_CONSTANT,
    NET_LAGS,
} NetControl;

/// An action is played at a peer.
typedef struct NetPlay {
    int32_t peer;
    FlTime at;    ///< True time,
    FlTime local; ///< and the peer's clock.
    const FlOrdered *action;
} NetPlay;

typedef struct NetDef NetDef;

struct NetDef {
    uint64_t seed;
    int32_t peers; ///< At most FL_LAGS_PEERS.
    NetControl control;
    FlTime constant_ns; ///< With NET_CONSTANT.
    FlLagsDef lags;     ///< With NET_LAGS; the net fills in `self`.
    FlImpairSettings way;
    FlTime delay[FL_LAGS_PEERS][FL_LAGS_PEERS]; ///< [from][to]
    FlTime clock[FL_LAGS_PEERS];                ///< What each clock shows more than true time,
    int64_t drift_ppb[FL_LAGS_PEERS];           ///< and gains.
    bool absent[FL_LAGS_PEERS];                 ///< At first; see net_member.
    void (*play_fn)(void *ctx, const NetPlay *play);
    void *ctx;
};

typedef struct Net Net;

/// True time starts at 0. Errors: FL_NO_MEMORY, FL_BAD_VALUE.
FL_NODISCARD FlResult net_create(const NetDef *def, Net **net);
void net_destroy(Net *net);

FlTime net_now(const Net *net);

/// Everything up to `until`, and that included.
void net_run(Net *net, FlTime until);

/// A peer does something now, `count` bytes of it (at most 16). Errors: FL_WOULD_BLOCK (its first
/// round is not over).
FL_NODISCARD FlResult net_act(Net *net, int32_t index, const void *bytes, int32_t count);

/// Another delay from now on. What is under way arrives as it would have.
void net_delay(Net *net, int32_t from, int32_t to, FlTime delay);

/// A peer comes or goes; everybody knows at once. What is under way to or from it is lost.
void net_member(Net *net, int32_t index, bool present);

/// What a peer's clock shows now.
FlTime net_local(const Net *net, int32_t peer, FlTime time);
const FlLags *net_lags(const Net *net, int32_t peer);
const FlOrder *net_order(const Net *net, int32_t peer);

/// True once every peer that is there can act and plays.
bool net_is_ready(const Net *net);

#endif
