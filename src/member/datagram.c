// Datagrams of joining and leaving, which belong to no connection.
#include "private.h"

void fl__join_begin(FlWriter *w, FlSession *session, uint64_t kind)
{
    fl_writer_init(w, fl__packet_bytes(session), FL_SEAL_PACKET_BYTES);
    fl_writer_put(w, 0, 16);
    fl_writer_put(w, kind, 8);
}

void fl__join_give(const FlWriter *w, FlAddress to, FlOutgoing *out)
{
    FL_ASSERT(!w->failed);
    out->to = to;
    out->bytes = w->bytes;
    out->count = fl_writer_size(w);
}

uint16_t fl__fresh_conversation(FlSession *session)
{
    return (uint16_t)(1 + fl_random_below(&session->random, 65535));
}
