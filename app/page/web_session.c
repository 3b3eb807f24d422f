// Sessions as JSON.
#include "app/page/web_session.h"

#include <math.h>

static void append(json_t *list, double value)
{
    json_array_append_new(list, json_integer((json_int_t)(value + (value < 0.0 ? -0.5 : 0.5))));
}

static int32_t number_of(const FlSession *session, FlPeerId peer)
{
    FlPeerStatus status;
    return fl_peer_status(session, peer, &status) == FL_OK ? status.number : -1;
}

json_t *web_session_things(FlSession *session, FlTime now, WebStateFn state_fn, const void *ctx)
{
    json_t *list = json_array();
    FlEntityId id = {0};
    while (fl_entity_next(session, &id)) {
        FlEntityStatus status;
        FlPose pose;
        if (fl_entity_status(session, id, &status) != FL_OK ||
            !fl_entity_pose_at(session, now, id, &pose) || !isfinite(pose.position.x) ||
            !isfinite(pose.position.y)) {
            continue; // nothing is known of it yet
        }
        int32_t state = state_fn != NULL ? state_fn(ctx, status.number) : 2;
        if (state > 0) {
            append(list, status.number);
            append(list, number_of(session, status.owner));
            append(list, 100.0 * pose.position.x);
            append(list, 100.0 * pose.position.y);
            append(list, 1000.0 * pose.yaw);
            append(list, state);
        }
    }
    return list;
}

// ---------------------------------------------------------------- peers

/// What one peer suffers of all things that we tell it of.
typedef struct Suffered {
    int32_t pairs;
    uint32_t sent;
    double accumulated;
} Suffered;

static Suffered ask_ledger(const FlSession *session, FlPeerId peer, FlTime now, int32_t *left)
{
    Suffered sum = {0};
    FlEntityId id = {0};
    while (fl_entity_next(session, &id) && *left > 0) {
        FlLedgerView view;
        (*left)--;
        if (fl_entity_view(session, now, id, peer, &view) == FL_OK) {
            sum.pairs++;
            sum.sent += view.sent;
            sum.accumulated += view.accumulated;
        }
    }
    return sum;
}

static json_t *milliseconds(FlTime span)
{
    return span > 0 ? json_real((double)span / 1e6) : json_null();
}

static json_t *peer_json(const FlSession *session, FlPeerId peer, FlTime now, int32_t *left)
{
    FlPeerStatus status = {.number = -1};
    FlLinkStats stats = {0};
    (void)(fl_peer_status(session, peer, &status) == FL_OK); // it is of fl_peer_next
    bool linked = fl_peer_stats(session, now, peer, &stats) == FL_OK;
    Suffered sum = ask_ledger(session, peer, now, left);
    return json_pack("{s:i,s:b,s:o,s:o,s:I,s:I,s:i,s:I,s:f}", "number", status.number, "direct",
                     (int)linked, "rtt_ms", milliseconds(stats.rtt_average_ns), "loss",
                     linked ? json_real(stats.loss_out) : json_null(), "bytes_out",
                     (json_int_t)stats.bytes_out, "bytes_in", (json_int_t)stats.bytes_in, "pairs",
                     sum.pairs, "sent", (json_int_t)sum.sent, "aee", sum.accumulated);
}

json_t *web_session_peers(const FlSession *session, FlTime now)
{
    json_t *list = json_array();
    int32_t left = WEB_SESSION_PAIRS;
    FlPeerId peer = {0};
    while (fl_peer_next(session, &peer) && json_array_size(list) < WEB_SESSION_PEERS) {
        json_array_append_new(list, peer_json(session, peer, now, &left));
    }
    return list;
}
