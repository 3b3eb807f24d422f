// How much may go out in all: one budget over all lines, never more than so much in any second.
//
// A token bucket (which the links know as their common budget) keeps the flow even; a count of the
// bytes of the last second, in slots of 8 ms, keeps the promise. What a packet will take with all
// its headers is known when it is made, so both hold RESERVE back: a packet is begun only if there
// is more, and its payload is cut to what there is.
//
// Invariant: bytes sent in the current slot and the 126 before, which are more than a second, are
// at most upload_bytes_s. Joining and saying goodbye are counted, but do not wait.
#include "private.h"

#define RESERVE 320.0
#define BURST_SECONDS 0.1
#define BURST_AT_LEAST 1024.0
#define SLOT_NS FL_MS(8)
#define HEADER_LEARNS 16.0
#define HEADER_SEAL 18.0 // at least
#define HEADER_LINK 10.0 // and the section's head

static bool is_limited(const FlSession *session)
{
    return session->def.upload_bytes_s > 0.0;
}

FlBudget *fl__upload_budget(FlSession *session)
{
    return is_limited(session) ? &session->upload.budget : session->def.link.common;
}

void fl__upload_start(FlSession *session, FlTime now)
{
    Upload *upload = &session->upload;
    double rate = session->def.upload_bytes_s;
    double burst = rate * BURST_SECONDS;
    fl_budget_init(&upload->budget, rate, burst > BURST_AT_LEAST ? burst : BURST_AT_LEAST, now);
    upload->slot = now / SLOT_NS;
    upload->header_bytes = session->def.link.overhead_bytes + HEADER_LINK +
                           (session->sealed != NULL ? HEADER_SEAL : 0.0);
}

// Slots that time has left behind are empty again.
static void advance(Upload *upload, FlTime now)
{
    FlTime slot = now / SLOT_NS;
    if (slot - upload->slot > UPLOAD_SLOTS) {
        upload->slot = slot - UPLOAD_SLOTS;
    }
    while (upload->slot < slot) {
        upload->slot++;
        int32_t *bytes = &upload->sent[(uint64_t)upload->slot % UPLOAD_SLOTS];
        upload->in_window -= *bytes;
        *bytes = 0;
    }
}

double fl__upload_left(FlSession *session, FlTime now)
{
    Upload *upload = &session->upload;
    if (!is_limited(session)) {
        return (double)INFINITY;
    }
    advance(upload, now);
    double window = session->def.upload_bytes_s - RESERVE - (double)upload->in_window;
    double tokens = fl_budget_available(&upload->budget, now);
    if (upload->budget.tokens > window) {
        upload->budget.tokens = window;
    }
    return tokens < window ? tokens : window;
}

void fl__upload_sent(FlSession *session, FlTime now, int32_t datagram_bytes, int32_t counted_bytes)
{
    Upload *upload = &session->upload;
    if (!is_limited(session)) {
        return;
    }
    advance(upload, now);
    int32_t bytes = datagram_bytes + session->def.link.overhead_bytes;
    upload->sent[(uint64_t)upload->slot % UPLOAD_SLOTS] += bytes;
    upload->in_window += bytes;
    fl_budget_spend(&upload->budget, now, bytes - counted_bytes);
}

void fl__upload_learn(FlSession *session, int32_t packet_bytes, int32_t payload_bytes)
{
    Upload *upload = &session->upload;
    if (upload->update_count > 0) {
        double headers =
            (double)(packet_bytes + session->def.link.overhead_bytes - payload_bytes + 2) /
            upload->update_count;
        upload->header_bytes += (headers - upload->header_bytes) / HEADER_LEARNS;
    }
    upload->update_count = 0;
}

FlFocusFrame fl_session_frame(const FlSession *session)
{
    return fl_ledger_frame(session->ledger);
}
