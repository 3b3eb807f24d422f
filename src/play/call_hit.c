// Hits: whether what a shooter says it saw can be, by what we showed it.
//
// The owner alone decides a call, this one as any other, and only once: so a hit that comes again
// is not looked at again there. A host that passes hits on keeps nothing of them, and what it
// thinks of one changes with time (it gets old; reports come in; a new host has shown nothing yet).
// So it answers none itself: it takes the arguments away from one that cannot be, and an owner
// refuses what has none, unless it has that call already.
#include "private.h"

#include "rewind/rewind.h"
#include "send/send.h"

// Where the shooter saw it: by its own screen where that can be replayed, else as it was placed
// there, before smoothing.
static bool was_seen(FlSession *session, FlEntityId target, FlPeerId shooter, FlTime time,
                     FlTime now, FlPose *pose)
{
    FlRewind frame;
    return fl_rewind_to(session, now, shooter, time, &frame) == FL_OK
               ? fl_rewind_pose(session, &frame, target, pose) == FL_OK
               : fl_entity_seen(session, target, shooter, time, pose) == FL_OK;
}

static FlResult verify_hit(FlSession *session, FlEntityId target, FlPeerId shooter,
                           const FlHitCall *hit, const FlHitRules *rules, FlTime now,
                           FlHitVerdict *verdict)
{
    *verdict = FL_HIT_UNSEEN;
    int32_t slot = fl__entity_slot(session, target);
    int32_t member = fl__member_of(session, shooter);
    if (slot == FL__NONE || member == FL__NONE) {
        return FL_STALE_ID;
    }
    int32_t connection = fl__member_connection(session, member);
    if (connection == FL__NONE || fl__ledger(session) == NULL ||
        !fl__ledger_watches(fl__ledger(session), slot, connection) ||
        fl__entity_elsewhere(session, slot, connection)) {
        return FL_NOT_FOUND;
    }
    fl__manifest_settle(session, connection, now); // the call's own packet says what has arrived
    FlPose seen;
    bool known = was_seen(session, target, shooter, hit->time, now, &seen);
    int32_t gun = fl__entity_slot_of(session, hit->shooter);
    int32_t owner = gun != FL__NONE ? fl__entity_owner(session, gun) : FL__NONE;
    FlPose from;
    // Who shoots is who calls. Its avatar is its own, or the host's who plays for everybody; which
    // of the host's it is the game knows alone.
    bool armed = gun != FL__NONE && (owner == member || owner == session->host) &&
                 fl__entity_was(session, gun, hit->time, &from);
    if (armed) {
        *verdict = fl__hit_verify(rules, hit, known ? &seen : NULL, from.position,
                                  fl_session_time(session, now));
    }
    return FL_OK;
}

bool fl__call_impossible(FlSession *session, int32_t slot, const FlCallMessage *m, FlTime now)
{
    if (m->kind != FL_CALL_DAMAGE || m->key.from == session->self) {
        return false;
    }
    FlReader r;
    FlHitCall hit;
    fl_reader_init(&r, m->bytes, m->count);
    bool impossible = !fl__hit_call_read(&r, &session->world, &hit);
    if (!impossible && session->calls->has_rules) {
        FlHitVerdict verdict;
        FlResult result =
            verify_hit(session, fl__entity_id(session, slot), fl__peer_id(session, m->key.from),
                       &hit, &session->calls->rules, now, &verdict);
        impossible = result == FL_OK && verdict != FL_HIT_POSSIBLE;
    }
    fl__calls_note(session->calls->table, FL_CALLS_IMPOSSIBLE, impossible ? 1 : 0);
    return impossible;
}

void fl_call_hit_rules(FlSession *session, const FlHitRules *rules)
{
    session->calls->has_rules = rules != NULL;
    if (rules != NULL) {
        session->calls->rules = *rules;
    }
}
