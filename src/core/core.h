// What modules above ask of `core`: who is here, connections, the time, counters. Its structs are
// its own.
#ifndef FAIRLEAD_CORE_H
#define FAIRLEAD_CORE_H

#include "core/feature.h"

#define FL__NONE (-1)
#define MESSAGE_ROOM (FL_EVENT_BYTES + 256) // any reliable message

typedef struct FlPlay FlPlay;

// ---------------------------------------------------------------- making and ending

FlResult fl__core_create(const FlSessionDef *def, FlTime now, FlSession **out);
void fl__core_destroy(FlSession *session);
FlSessionMemory fl__core_memory(const FlSessionDef *def);

/// Closes all connections, of which features are told.
void fl__core_hang_up(FlSession *session);

/// How many connections there can be.
int32_t fl__core_lines(const FlSessionDef *def);
const FlSessionDef *fl__def(const FlSession *session);

/// Module `play`'s own, which it sets once.
FlPlay *fl__play(const FlSession *session);
void fl__play_set(FlSession *session, FlPlay *play);

/// The game's timeline: nothing may be changed while it plays. NULL: there is none.
void fl__timeline_set(FlSession *session, const FlTimeline *timeline);

/// It is playing, so nothing may be changed; counted.
bool fl__replaying(FlSession *session);
void fl__count(FlSession *session, FlSessionCount which, uint64_t more);

// ---------------------------------------------------------------- features

void fl__feature_add(FlSession *session, const Feature *feature, void *self);
uint8_t fl__feature_row(const FlSession *session, const Feature *feature);

extern const Feature fl__feature_crowd, fl__feature_member, fl__feature_succession,
    fl__feature_mesh, fl__feature_clock, fl__feature_attention, fl__feature_near,
    fl__feature_orphan, fl__feature_call, fl__feature_motion, fl__feature_state, fl__feature_news,
    fl__feature_report;

/// When the packet came, in session time.
const Moment *fl__packet_when(PacketIn *in);

/// The packet carries this, and whoever writes wants to know what becomes of it.
void fl__packet_note(PacketOut *out, int32_t index, uint32_t value);

/// Queues a reliable message behind the announcements that are due. Errors: as fl_link_send.
FlResult fl__message_send(FlSession *session, int32_t index, FlDelivery delivery,
                          const FlWriter *writer);

/// Takes reliable messages that came over a connection, as long as features have room.
void fl__messages_take(FlSession *session, int32_t index, FlTime now);

// ---------------------------------------------------------------- members

int32_t fl__self(const FlSession *session); // FL__NONE until we are told
int32_t fl__host(const FlSession *session);
bool fl__is_host(const FlSession *session);
int32_t fl__member_count(const FlSession *session);
int32_t fl__seat_count(const FlSession *session); // numbers that may be given
FlTopology fl__topology(const FlSession *session);
FlSessionState fl__state(const FlSession *session);
bool fl__is_complete(const FlSession *session); // everything that was there when we joined is known
bool fl__member_present(const FlSession *session, int32_t number);
uint32_t fl__member_incarnation(const FlSession *session, int32_t number);
int32_t fl__member_line(const FlSession *session, int32_t number);                   // or FL__NONE
bool fl__member_without_us(const FlSession *session, int32_t owner, int32_t member); // reaches it
FlPeerId fl__peer_id(const FlSession *session, int32_t number);

/// The member's number, or FL__NONE for an id that is stale.
int32_t fl__member_of(const FlSession *session, FlPeerId peer);

/// The line that leads to a member: its own, else the host's. FL__NONE: none does.
int32_t fl__route(const FlSession *session, int32_t number);

// ---------------------------------------------------------------- connections

int32_t fl__line_count(const FlSession *session);
bool fl__line_used(const FlSession *session, int32_t line);
bool fl__line_heard(const FlSession *session, int32_t line);
bool fl__line_answers(const FlSession *session, int32_t line); // it reaches its member
int32_t fl__line_member(const FlSession *session, int32_t line);
FlLink *fl__line_link(const FlSession *session, int32_t line);
void fl__line_set_full(FlSession *session, int32_t line, bool full); // an event for it waits
void fl__line_look(FlSession *session, int32_t line);                // at the next chance
void fl__line_lost(FlSession *session, int32_t index, FlLeft left, FlTime now);

/// Something of another's came over a line from somebody who may not say it: counted.
void fl__line_foreign(FlSession *session, int32_t line);

/// Queues the announcements that are due. False: something is left, and goes first.
bool fl__news_flush(FlSession *session, int32_t line);

bool fl__time_known(const FlSession *session);
FlTime fl__heard_at(const FlSession *session); // when the last datagram came, on the caller's clock

#endif
