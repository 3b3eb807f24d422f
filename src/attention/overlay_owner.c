// Whom an owner sends on to whom, where more look at its entities than its upload carries.
//
// A receiver that was sent on reports attention 0 as long as what is forwarded comes. Until then,
// and whenever it does not come, it reports how much it looks, and is served by us as anybody else.
// So nothing here has to be right at once.
#include "private.h"

#define DELIVERS_WITHIN FL_SEC(1)  // or the forwarder is no good,
#define RESTS FL_SEC(5)            // and is not named for so long
#define TAKES_BACK_FROM 3          // receivers that there is room for,
#define TAKES_BACK_AFTER FL_SEC(2) // for so long
#define AT_ONCE 2                  // receivers that are sent on in one round

static bool is_sent_on(const FlSession *session, int32_t slot, int32_t receiver)
{
    const SentOn *sent_on = fl__overlay_sent_on(session, slot, receiver);
    return sent_on != NULL && sent_on->forwarder != FL__NONE;
}

static bool is_forwarder(const FlSession *session, int32_t slot, int32_t connection)
{
    const Overlay *o = &session->attention->overlay;
    for (int32_t i = 0; i < o->sent_on_count; i++) {
        if (o->sent_on[i].slot == slot && o->sent_on[i].forwarder == connection) {
            return true;
        }
    }
    return false;
}

// A hybrid's host needs everything, and has others to serve.
static bool takes_part(const FlSession *session, int32_t slot, int32_t connection)
{
    bool host = session->topology == FL_TOPOLOGY_HYBRID &&
                fl__connection_member(session, connection) == session->host;
    return fl__connection_used(session, connection) && !host &&
           fl__connection_reaches(session, connection) &&
           fl__overlay_looks(session, slot, connection) && !is_sent_on(session, slot, connection);
}

// ---------------------------------------------------------------- who

/// Who is sent on, and to whom.
typedef struct Choice {
    int32_t slot, receiver, forwarder;
} Choice;

static int32_t left_of(const FlSession *session, int32_t connection, FlTime time)
{
    const Helper *helper = &session->attention->overlay.helpers[connection];
    return time >= helper->rests ? helper->spare - helper->lent : 0;
}

// Of one entity: who can do least for others, to who can do most.
static bool choose_of(const FlSession *session, int32_t slot, FlTime time, Choice *choice)
{
    choice->slot = slot;
    choice->receiver = FL__NONE;
    choice->forwarder = FL__NONE;
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (!takes_part(session, slot, i)) {
            continue;
        }
        int32_t left = left_of(session, i, time);
        if (left > 0 &&
            (choice->forwarder == FL__NONE || left > left_of(session, choice->forwarder, time))) {
            choice->forwarder = i;
        }
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (i == choice->forwarder || !takes_part(session, slot, i) ||
            is_forwarder(session, slot, i)) {
            continue;
        }
        if (choice->receiver == FL__NONE ||
            left_of(session, i, time) < left_of(session, choice->receiver, time)) {
            choice->receiver = i;
        }
    }
    return choice->receiver != FL__NONE && choice->forwarder != FL__NONE;
}

static bool choose(const FlSession *session, FlTime time, Choice *choice)
{
    int32_t slot = fl__entity_after(session, 0);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        if (fl__entity_info(session, slot).ours && fl__overlay_serves(session, slot) &&
            choose_of(session, slot, time, choice)) {
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- sending on

static bool send_one_on(FlSession *session, FlTime time)
{
    Overlay *o = &session->attention->overlay;
    Choice choice;
    if (o->sent_on_count == o->pairs || !choose(session, time, &choice)) {
        return false;
    }
    SentOn *at = fl__overlay_sent_on(session, choice.slot, choice.receiver);
    at = at != NULL ? at : &o->sent_on[o->sent_on_count++];
    SentOn fresh = {choice.slot, choice.receiver, choice.forwarder, true, time};
    *at = fresh;
    o->helpers[choice.forwarder].lent++;
    fl__connection_wake(session, choice.receiver);
    return true;
}

// It is ours again; the receiver is still to learn so.
static void take_back(FlSession *session, SentOn *sent_on)
{
    sent_on->forwarder = FL__NONE;
    sent_on->due = true;
    fl__entity_set_elsewhere(session, sent_on->slot, sent_on->receiver, false);
    fl__connection_wake(session, sent_on->receiver);
}

static void look_after(FlSession *session, SentOn *sent_on, FlTime time)
{
    int32_t forwarder = sent_on->forwarder;
    bool looks = fl__overlay_looks(session, sent_on->slot, sent_on->receiver);
    sent_on->since = looks ? sent_on->since : time;
    fl__entity_set_elsewhere(session, sent_on->slot, sent_on->receiver, !looks);
    bool there = fl__connection_used(session, forwarder) &&
                 fl__connection_reaches(session, forwarder) &&
                 fl__overlay_looks(session, sent_on->slot, forwarder);
    if (there && fl_span(time, sent_on->since) <= DELIVERS_WITHIN) {
        return;
    }
    session->attention->overlay.helpers[forwarder].rests = fl_time_add(time, RESTS);
    take_back(session, sent_on);
}

void fl__overlay_own(FlSession *session, FlTime time)
{
    Overlay *o = &session->attention->overlay;
    for (int32_t i = 0; i < o->sent_on_count; i++) {
        if (o->sent_on[i].forwarder != FL__NONE) {
            look_after(session, &o->sent_on[i], time);
        }
    }
    int32_t room = fl__overlay_room(session);
    for (int32_t i = 0; i < AT_ONCE && room < 0 && send_one_on(session, time); i++) {
        room++;
    }
    // What an update takes is learnt from packets, and goes up and down: one at a time, and not at
    // once.
    o->full_at = room < TAKES_BACK_FROM ? time : o->full_at;
    bool relaxed = fl_span(time, o->full_at) > TAKES_BACK_AFTER;
    for (int32_t i = 0; i < o->sent_on_count && relaxed; i++) {
        if (o->sent_on[i].forwarder != FL__NONE) {
            take_back(session, &o->sent_on[i]);
            o->full_at = time;
            relaxed = false;
        }
    }
}

void fl__overlay_own_forget(FlSession *session, int32_t slot, int32_t connection)
{
    Overlay *o = &session->attention->overlay;
    for (int32_t i = o->sent_on_count - 1; i >= 0; i--) {
        SentOn *at = &o->sent_on[i];
        if (at->slot == slot || at->receiver == connection) {
            fl__entity_set_elsewhere(session, at->slot, at->receiver, false);
            *at = o->sent_on[--o->sent_on_count];
        } else if (at->forwarder == connection) {
            take_back(session, at);
        }
    }
}
