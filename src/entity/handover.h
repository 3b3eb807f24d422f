// Private to module `entity`: changes of owner, and who may say what.
#ifndef FAIRLEAD_ENTITY_HANDOVER_PRIVATE_H
#define FAIRLEAD_ENTITY_HANDOVER_PRIVATE_H

#include "private.h"

// ---------------------------------------------------------------- give.c

/// It is ours from now on.
void fl__entity_adopt(FlSession *session, Entity *entity);

/// It is ours no more: shown as others' are, going on from what we sent.
void fl__entity_disown(FlSession *session, Entity *entity, FlTime time);

/// Notifies the game that it has another owner.
void fl__entity_theirs(FlSession *session, const Entity *entity);

/// It is `to`'s from now on, by the host's word.
void fl__entity_pass(FlSession *session, Entity *entity, int32_t to, uint16_t epoch, FlTime time);
void fl__entity_scope(FlSession *session, Entity *entity, int32_t member, bool sees, FlTime time);

// ---------------------------------------------------------------- rights.c

/// The owner of this epoch: it gives it away, ends it, says who sees it.
bool fl__may_decide(const Entity *entity, int32_t from, uint16_t epoch);

/// The host announces everybody's; a member what it owns, as the host knows, or makes.
bool fl__may_announce(const MessageIn *in, const EntityMessage *m, const Entity *entity);

/// Updates and states: the owner's; the host's for all others.
bool fl__may_move(const FlSession *session, int32_t connection, uint32_t number,
                  const Entity *entity, uint16_t epoch);

/// Forwarded to us by a member that we asked, of an entity that another one owns.
bool fl__may_carry(int32_t connection, const Entity *entity, uint16_t epoch);

/// A member has fewer than it may, and leaves the others their share.
bool fl__may_create(const FlSession *session, int32_t owner);
bool fl__may_create_kind(const FlSession *session, uint8_t kind); // not only hosts

// ---------------------------------------------------------------- handover.c

/// New host: a member says that it owns an entity, which is another's as far as we know.
void fl__testimony_own(FlSession *session, const Entity *entity, int32_t from, uint16_t epoch);

#endif
