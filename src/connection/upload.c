// How much may go out in all: one budget over all connections, never more than so much in any
// second.
//
// A token bucket (which the links know as their common budget) keeps the flow even; a count of the
// bytes of the last second, in slots of 8 ms, keeps the promise. What a packet will take with all
// its headers is known when it is made, so both hold RESERVE back: a packet is begun only if there
// is more, and its payload is cut to what there is.
//
// A slot counts until the last of its bytes is a second old, to the nanosecond: what goes by frames
// of 50 ms has twenty of them in a second, and not a part of the twenty-first.
//
// Invariant: bytes sent in any second, the moment at its end included and that at its beginning
// not, are at most upload_bytes_s. Joining and saying goodbye are counted, but do not wait.
#include "private.h"

#include "link/link.h"

#define RESERVE 320.0
#define RESERVE_SEAL 64.0 // and for what a seal adds
#define BURST_SECONDS 0.1
#define BURST_AT_LEAST 1024.0
#define SLOT_NS FL_MS(8)
#define SLOTS_INSIDE 125 // fewer slots ago is less than a second ago
#define HEADER_LEARNS 16.0
#define HEADER_SEAL 18.0 // at least
#define HEADER_LINK 10.0 // and the section's head

static bool is_limited(const FlSession *session)
{
    return session->def.upload_bytes_s > 0.0;
}

FlBudget *fl__upload_budget(FlSession *session)
{
    return is_limited(session) ? &session->connections->upload.budget
                               : session->def.tuning.link.common;
}

double fl__upload_packet_bytes(const FlSession *session)
{
    return session->def.tuning.link.overhead_bytes + HEADER_LINK +
           (session->connections->sealed != NULL ? HEADER_SEAL : 0.0);
}

void fl__upload_start(FlSession *session, FlTime now)
{
    Upload *upload = &session->connections->upload;
    double rate = session->def.upload_bytes_s;
    double burst = rate * BURST_SECONDS;
    fl__budget_init(&upload->budget, rate, burst > BURST_AT_LEAST ? burst : BURST_AT_LEAST, now);
    upload->slot = now / SLOT_NS;
    upload->header_bytes = fl__upload_packet_bytes(session);
}

static void clear_slot(Upload *upload, FlTime slot)
{
    int32_t *bytes = &upload->sent[(uint64_t)slot % UPLOAD_SLOTS];
    upload->in_window -= *bytes;
    *bytes = 0;
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
        clear_slot(upload, upload->slot);
    }
    for (FlTime old = upload->slot - UPLOAD_SLOTS + 1; old <= upload->slot - SLOTS_INSIDE; old++) {
        if (fl_span(now, upload->last[(uint64_t)old % UPLOAD_SLOTS]) >= FL_SEC(1)) {
            clear_slot(upload, old);
        }
    }
}

double fl__upload_window(FlSession *session, FlTime now)
{
    Upload *upload = &session->connections->upload;
    if (!is_limited(session)) {
        return (double)INFINITY;
    }
    advance(upload, now);
    double reserve = RESERVE + (session->connections->sealed != NULL ? RESERVE_SEAL : 0.0);
    return session->def.upload_bytes_s - reserve - (double)upload->in_window;
}

double fl__upload_left(FlSession *session, FlTime now)
{
    Upload *upload = &session->connections->upload;
    double window = fl__upload_window(session, now);
    if (!is_limited(session)) {
        return window;
    }
    FlBudget *budget = &upload->budget;
    budget->tokens += upload->held;
    (void)fl__budget_available(budget, now);
    // Links look at the tokens alone, so those that the window has no room for are held back.
    upload->held = budget->tokens > window ? budget->tokens - window : 0.0;
    budget->tokens -= upload->held;
    return budget->tokens < window ? budget->tokens : window;
}

// Bytes that are too few for all go round: who got none in this round begins the next one.
// Otherwise the first connections would have them all, and the last would not even be welcomed.
int32_t fl__upload_turn(const FlSession *session)
{
    for (int32_t k = 0; is_limited(session) && k < session->connection_count; k++) {
        int32_t i = (session->connections->turn + k) % session->connection_count;
        if (session->connections->all[i].used && session->connections->all[i].short_of_bytes) {
            return i;
        }
    }
    return 0;
}

static int32_t counted(const FlSession *session, int32_t datagram_bytes)
{
    int32_t bytes = datagram_bytes + session->def.tuning.link.overhead_bytes;
    bool updates = session->connections->upload.update_count > 0;
    int32_t least = updates ? session->def.tuning.update_least_bytes : 0;
    return bytes > least ? bytes : least;
}

bool fl__upload_fits(FlSession *session, FlTime now, int32_t datagram_bytes)
{
    Upload *upload = &session->connections->upload;
    if (!is_limited(session)) {
        return true;
    }
    advance(upload, now);
    double all = (double)upload->in_window + counted(session, datagram_bytes);
    return all <= session->def.upload_bytes_s;
}

void fl__upload_sent(FlSession *session, FlTime now, int32_t datagram_bytes, int32_t counted_bytes)
{
    Upload *upload = &session->connections->upload;
    int32_t bytes = counted(session, datagram_bytes);
    session->count[FL_SESSION_BYTES_COUNTED] += (uint64_t)bytes;
    if (!is_limited(session)) {
        return;
    }
    advance(upload, now);
    uint64_t at = (uint64_t)upload->slot % UPLOAD_SLOTS;
    upload->sent[at] += bytes;
    upload->last[at] = now;
    upload->in_window += bytes;
    fl__budget_spend(&upload->budget, now, bytes - counted_bytes);
}

void fl__upload_learn(FlSession *session, int32_t packet_bytes, int32_t payload_bytes)
{
    Upload *upload = &session->connections->upload;
    if (upload->update_count > 0) {
        double headers =
            (double)(counted(session, packet_bytes) - payload_bytes + 2) / upload->update_count;
        upload->header_bytes += (headers - upload->header_bytes) / HEADER_LEARNS;
    }
    upload->update_count = 0;
}

void fl__upload_updates(FlSession *session, int32_t count)
{
    session->connections->upload.update_count += count;
}

double fl__upload_header_bytes(const FlSession *session)
{
    return session->connections->upload.header_bytes;
}
