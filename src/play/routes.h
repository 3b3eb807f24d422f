// Private to module `play`: relays in progress (route.c).
#ifndef FAIRLEAD_PLAY_ROUTES_PRIVATE_H
#define FAIRLEAD_PLAY_ROUTES_PRIVATE_H

#include "base/private.h"

typedef struct RoutedKind RoutedKind; // private.h

/// So much may still be relayed: it fills up as time goes on.
typedef struct QuotaBucket {
    double left;
    FlTime at; // then
} QuotaBucket;

/// What is relayed for one member.
typedef struct RouteQuota {
    QuotaBucket bytes;
    QuotaBucket places;  // in receivers' windows, of what is not ordered
    QuotaBucket answers; // to calls
    FlTime until;        // nothing more is taken before, but answers
} RouteQuota;

#define ROUTE_LOG_BYTES 65536u

/// Relays in progress. Places in the log count bytes and never go back.
typedef struct Routes {
    const RoutedKind *kinds; // of messages, from MESSAGE_EVENT on
    uint8_t *log;            // a ring
    uint64_t log_begin, log_end;
    uint64_t *cursor;      // [connection]: what its member gets next
    FlTime *behind_since;  // [connection]: since when that is not the end,
    uint64_t *behind_from; // and what it was then
    uint64_t *held;        // [1 + connection]: bytes in the log that came from there; 0: ours
    RouteQuota *quota;     // [connection]
    FlTime quota_next;     // when a sender's messages may be taken again
    bool retry_messages;   // messages may wait in links for room that there is now
} Routes;

#endif
