// The proxy itself: datagrams in, a wait in flight, datagrams out.
#ifndef APP_WAN_PROXY_H
#define APP_WAN_PROXY_H

#include "app/wan/wan_clients.h"

typedef struct WanProxyDef {
    FlAddress listen;
    WanNetwork network;
    int32_t client_capacity;
    int32_t flight_capacity; ///< Packets under way at once.
    FlTime idle_ns;          ///< A client silent for this long is forgotten.
} WanProxyDef;

/// Everything a report needs.
typedef struct WanStats {
    WanTotals totals;
    FlNetStats listener;
    FlFlightStats flight;
    uint64_t gone_count;    ///< Packets whose client had left before they were due.
    uint64_t blocked_count; ///< Packets dropped because the kernel would not take them.
    /// How much later than due packets were sent, in us: half and 99 % at most this, and the worst.
    double late_p50_us;
    double late_p99_us;
    double late_max_us;
} WanStats;

typedef struct WanProxy WanProxy;

/// Errors: as fl_net_create() for the listening socket. `def` is borrowed.
FL_NODISCARD FlResult wan_proxy_create(const WanProxyDef *def, WanProxy **out);
void wan_proxy_destroy(WanProxy *proxy);

FlAddress wan_proxy_address(const WanProxy *proxy);

/// Since the start.
FlTime wan_proxy_time(const WanProxy *proxy);

/// Sleeps until there is something to do, at most until `deadline` (since the start), and does it.
void wan_proxy_step(WanProxy *proxy, FlTime deadline);

/// Once a second or so: forgets idle clients.
void wan_proxy_tidy(WanProxy *proxy);

void wan_proxy_stats(const WanProxy *proxy, WanStats *out);

#endif
