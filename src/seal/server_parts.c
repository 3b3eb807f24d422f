// What the parts of a server share: its time, rations, short packets on their way out, and events.
#include "private.h"
#include "server.h"

#include <string.h>

uint64_t fl__server_unix(const FlSealServer *server, FlTime now)
{
    FlTime span = fl_span(now, server->started_at);
    return server->def.unix_s + (span > 0 ? (uint64_t)span / UINT64_C(1000000000) : 0);
}

bool fl__bucket_take(Bucket *bucket, FlTime now, double rate_s, double burst)
{
    if (now > bucket->filled_at) {
        bucket->tokens += rate_s * fl_span_seconds(fl_span(now, bucket->filled_at));
        bucket->tokens = bucket->tokens < burst ? bucket->tokens : burst;
        bucket->filled_at = now;
    }
    if (bucket->tokens < 1.0) {
        return false;
    }
    bucket->tokens -= 1.0;
    return true;
}

static int32_t ring_push(Ring *ring) // -1: full
{
    if (ring->count == ring->capacity) {
        return -1;
    }
    return (ring->first + ring->count++) % ring->capacity;
}

Note *fl__server_note(FlSealServer *server)
{
    int32_t at = ring_push(&server->note_ring);
    if (at < 0) {
        server->stats.answers_lost++;
        return NULL;
    }
    return &server->notes[at];
}

void fl__server_event(FlSealServer *server, const FlSealEvent *event)
{
    int32_t at = ring_push(&server->event_ring);
    if (at < 0) {
        server->stats.events_lost++;
        return;
    }
    server->events[at] = *event;
}

void fl__server_wake(FlSealServer *server, FlTime at)
{
    server->sweep_at = fl_time_min(at, server->sweep_at);
    server->sweep_next = fl_time_min(at, server->sweep_next);
}
