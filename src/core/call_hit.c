// Hits: whether what a shooter says it saw can be, by what we showed it.
//
// The owner alone decides a call, this one as any other, and only once: so a hit that comes again
// is not looked at again there. A host that passes hits on keeps nothing of them, and what it
// thinks of one changes with time (it gets old; reports come in; a new host has shown nothing yet).
// So it answers none itself: it takes the arguments away from one that cannot be, and an owner
// refuses what has none, unless it has that call already.
#include "private.h"

// Where an entity was at a time, as it is known here.
static bool pose_at(const Entity *entity, FlTime time, FlPose *pose)
{
    if (entity->ours && entity->exporter.started) {
        *pose = fl_motion_pose(&entity->exporter.exported, time);
        return true;
    }
    const FlPiece *piece = fl_path_at(&entity->show.placed, time);
    if (piece != NULL) {
        *pose = fl_motion_pose(&piece->motion, time);
    }
    return piece != NULL;
}

FlResult fl_call_verify_hit(FlSession *session, FlEntityId target, FlPeerId shooter,
                            const FlHitCall *hit, const FlHitRules *rules, FlTime now,
                            FlHitVerdict *verdict)
{
    *verdict = FL_HIT_UNSEEN;
    const Entity *entity = fl__entity_find(session, target);
    int32_t member = fl__member_of(session, shooter);
    if (entity == NULL || member == FL__NONE) {
        return FL_STALE_ID;
    }
    int32_t line = session->members[member].line;
    int32_t slot = fl__entity_slot(session, entity);
    if (line == FL__NONE || !fl_ledger_watches(session->ledger, slot, line)) {
        return FL_NOT_FOUND;
    }
    fl__manifest_settle(session, line, now); // the call's own packet says what has arrived
    FlPose seen;
    bool known = fl_entity_seen(session, target, shooter, hit->time, &seen) == FL_OK;
    const Entity *gun = fl__entity_find(session, fl_entity_of_number(session, hit->shooter));
    FlPose from;
    // Who shoots is who calls. Its avatar is its own, or the host's who plays for everybody; which
    // of the host's it is the game knows alone.
    bool armed = gun != NULL && (gun->owner == member || gun->owner == session->host) &&
                 pose_at(gun, hit->time, &from);
    if (armed) {
        *verdict = fl_hit_verify(rules, hit, known ? &seen : NULL, from.position,
                                 fl_session_time(session, now));
    }
    return FL_OK;
}

bool fl__call_impossible(FlSession *session, const Entity *entity, const FlCallMessage *m,
                         FlTime now)
{
    if (m->kind != FL_CALL_DAMAGE || m->key.from == session->self) {
        return false;
    }
    FlReader r;
    FlHitCall hit;
    fl_reader_init(&r, m->bytes, m->count);
    bool impossible = !fl_hit_call_read(&r, &session->world, &hit);
    if (!impossible && session->has_hit_rules) {
        FlHitVerdict verdict;
        FlResult result = fl_call_verify_hit(session, fl__entity_id(session, entity),
                                             fl__peer_id(session, m->key.from), &hit,
                                             &session->hit_rules, now, &verdict);
        impossible = result == FL_OK && verdict != FL_HIT_POSSIBLE;
    }
    fl_calls_note(session->calls, FL_CALLS_IMPOSSIBLE, impossible ? 1 : 0);
    return impossible;
}

void fl_call_hit_rules(FlSession *session, const FlHitRules *rules)
{
    session->has_hit_rules = rules != NULL;
    if (rules != NULL) {
        session->hit_rules = *rules;
    }
}
