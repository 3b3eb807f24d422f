// Getting in by token or invite: what follows from what the seal says.
#include "private.h"

#include "connection/sealed.h"

static bool lets_in(FlSession *session, const SealedEvent *event, FlTime now)
{
    ConnectionDef def = event->def;
    bool in = session->state != FL_SESSION_ENDED &&
              fl__admit(session, event->index, &def, &event->client, now);
    if (in) {
        fl__rule_look(session, event->index, now); // who may not stay leaves before the next comes
    }
    return in;
}

static void let_in(FlSession *session, const SealedEvent *event, FlTime now)
{
    fl__time_begin(session, now);
    (void)fl__connect(session, 0, &event->def, now);
}

static void not_let_in(FlSession *session, const SealedEvent *event)
{
    if (event->answered || !fl__refused_end(session)) {
        fl__session_end(session, event->full ? FL_END_FULL : FL_END_NO_ANSWER, "%s",
                        event->full ? FL__FULL_TEXT : event->text);
    }
}

static bool sealed(FlSession *session, const SealedEvent *event, FlTime now)
{
    switch (event->kind) {
    case SEALED_CAME:
        return lets_in(session, event, now);
    case SEALED_LOST:
        fl__connection_lost(session, event->index, event->left, now);
        break;
    case SEALED_IN:
        let_in(session, event, now);
        break;
    case SEALED_OVER:
        not_let_in(session, event);
        break;
    }
    return true;
}

Opened fl__join_open(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                     FlTime arrival)
{
    Opened opened = fl__sealed_receive(session, from, bytes, count, arrival, sealed);
    if (session->def.role == FL_ROLE_HOST) {
        fl__refuse_request(session, from, bytes, count, opened.drop, arrival);
    }
    return opened;
}

bool fl__join_sealed_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    return fl__is_sealed(session) && fl__sealed_next(session, now, sealed, out);
}
