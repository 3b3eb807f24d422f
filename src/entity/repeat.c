// What is sent of entities until it has arrived: states and fields. The newest value goes out, once
// for each entity that is due over a connection, in turns; what is lost is due again.
#include "repeat.h"

#include "link/link.h"

// How long something may be under way before it is sent again, at least: on a connection that is
// silent otherwise nothing shows that it got lost. Where a round trip takes longer, that, since
// what was given up is not known to have arrived, and would be sent for ever.
#define REPEAT_AFTER FL_MS(400)

int32_t fl__repeat_first(const FlSession *session, const uint64_t *due, const Repeat *repeat)
{
    int32_t slot = fl__bit_next(due, session->entity_words, repeat->turn);
    return slot != FL__NONE ? slot : fl__bit_next(due, session->entity_words, 0);
}

// Each packet goes on where the last one ended.
void fl__repeat_write(PacketOut *out, uint64_t *due, Repeat *repeat,
                      bool (*write_slot)(PacketOut *out, int32_t slot))
{
    const FlSession *session = out->session;
    int32_t start = repeat->turn;
    for (int32_t pass = 0; pass < 2; pass++) {
        int32_t end = pass == 0 ? session->def.entity_capacity : start;
        int32_t slot = fl__bit_next(due, session->entity_words, pass == 0 ? start : 0);
        for (; slot != FL__NONE && slot < end;
             slot = fl__bit_next(due, session->entity_words, slot + 1)) {
            if (!write_slot(out, slot)) {
                repeat->turn = slot;
                return;
            }
            fl__bit_clear(due, slot);
        }
    }
}

void fl__repeat_sent(const PacketOut *out, Repeat *repeat)
{
    if (repeat->again == FL_FOREVER) {
        // Reports of arrivals may rest.
        FlTime acks = 2 * out->session->def.tuning.link.ack_delay_ns;
        FlTime trip = fl__link_answer_timeout(fl__connection_link(out->session, out->connection));
        FlTime wait = fl__time_max(fl__time_max(acks, trip), REPEAT_AFTER);
        repeat->again = fl_time_add(out->now, wait);
    }
}

void fl__repeat_look(FlSession *session, int32_t connection, Repeat *repeat, const Feature *feature,
                     FlTime now)
{
    if (now >= repeat->again) {
        repeat->again = FL_FOREVER;
        fl__manifest_give_up(session, connection, fl__feature_row(session, feature));
    }
}

void fl__repeat_gone(const FlSession *session, uint64_t *due, int32_t slot)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        fl__bit_clear(&due[i * session->entity_words], slot);
    }
}
