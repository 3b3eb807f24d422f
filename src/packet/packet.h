// Module `packet`: what packets carry. Loops over the table of features; messages; outcomes.
#ifndef FAIRLEAD_PACKET_H
#define FAIRLEAD_PACKET_H

#include "packet/feature.h"

#define MESSAGE_ROOM (FL_EVENT_BYTES + 256) // any reliable message
#define MESSAGE_SHORT 320                   // any that is not the game's

FlResult fl__packets_create(FlSession *session);
void fl__packets_destroy(FlSession *session);
size_t fl__packets_connection_bytes(const FlSessionDef *def);

// ---------------------------------------------------------------- feature.c

void fl__feature_add(FlSession *session, const Feature *feature, void *self);
uint8_t fl__feature_row(const FlSession *session, const Feature *feature);

/// Informs all features.
void fl__changed(FlSession *session, const Change *change);
void fl__connection_changed(FlSession *session, ChangeKind kind, int32_t connection, FlTime now);
void fl__entity_changed(FlSession *session, ChangeKind kind, int32_t slot);

/// A member's things go over this connection again, after another way.
void fl__route_changed(FlSession *session, int32_t connection, int32_t member);

void fl__features_advance(FlSession *session, FlTime now);
FlTime fl__features_deadline(FlSession *session, FlTime now);

/// Some feature has no room for messages from there.
bool fl__features_are_full(const FlSession *session, int32_t connection);
bool fl__features_hold(const FlSession *session, int32_t member);
bool fl__features_keep(const FlSession *session, int32_t slot);
void fl__features_hand_over(FlSession *session, int32_t slot, uint16_t epoch, FlWriter *w);

// ---------------------------------------------------------------- rights.c

/// Who speaks over a connection: FROM_HOST, FROM_MEMBER or FROM_PEER.
uint8_t fl__speaker(const FlSession *session, int32_t connection);

// ---------------------------------------------------------------- packet.c

void fl__packet_read(FlSession *session, int32_t connection, const FlLinkPacket *packet,
                     FlTime arrival);

/// When the packet came, in session time.
const PacketTimes *fl__packet_in_times(PacketIn *in);

// ---------------------------------------------------------------- outgoing.c

/// Opens a connection, and informs features. False: no memory.
bool fl__connect(FlSession *session, int32_t index, const ConnectionDef *def, FlTime now);

/// Nothing, if it is closed.
void fl__disconnect(FlSession *session, int32_t index);

/// Its member is not reached any more: features are informed, and it is closed.
void fl__connection_failed(FlSession *session, int32_t index, FlLeft left, FlTime now);

/// A packet over this connection, if there is anything to say and the budget allows; else it is
/// known when to look at it again.
bool fl__packet_next(FlSession *session, int32_t index, FlTime now, FlOutgoing *out);

/// Something for it waits elsewhere for room in its queue.
void fl__queue_set_full(FlSession *session, int32_t index, bool full);

// ---------------------------------------------------------------- manifest.c

/// The packet carries this, and whoever writes wants to know what becomes of it.
void fl__packet_note(PacketOut *out, int32_t index, uint32_t value);

/// How many updates and states more can be awaited; 0 or less: they wait until the outcome of some
/// that are under way is known.
int32_t fl__manifest_left(const FlSession *session, int32_t connection);

/// Learns what became of packets, and what that means for what they carried.
void fl__manifest_settle(FlSession *session, int32_t connection, FlTime now);

/// Every item of a feature whose packet's fate is not known is lost, for all it knows.
void fl__manifest_give_up(FlSession *session, int32_t connection, uint8_t row);

// ---------------------------------------------------------------- messages.c

/// Queues the announcements that are due. False: something is left, and goes first.
bool fl__announce(FlSession *session, int32_t connection);

/// Queues a reliable message behind the announcements that are due. Errors: as fl_link_send.
FlResult fl__message_send(FlSession *session, int32_t connection, FlDelivery delivery,
                          const FlWriter *writer);

/// An announcement itself. False: the queue is full.
bool fl__announcement_send(FlSession *session, int32_t connection, const FlWriter *writer);

/// Takes reliable messages that came over a connection, as long as features have room.
void fl__messages_take(FlSession *session, int32_t connection, FlTime now);

/// A message came from a member over a light connection: a call, or an answer. Others do not go
/// there.
void fl__message_direct(FlSession *session, int32_t from, const uint8_t *bytes, int32_t count,
                        FlTime now);

/// Room for a message being written: MESSAGE_ROOM bytes.
uint8_t *fl__message_bytes(const FlSession *session);

#endif
