// Private to module `play`: what games say to each other.
//
//   play.c            making and ending it
//   event.c           events: sending, relaying, taking
//   input.c           inputs
//   action.c          actions: played in one order and at one time everywhere
//   agreed.c          a timeline's inputs, and comparing it; agreed_players.c: who plays
#ifndef FAIRLEAD_PLAY_PRIVATE_H
#define FAIRLEAD_PLAY_PRIVATE_H

#include "base/private.h"
#include "core/core.h"
#include "play/play.h"

/// An event that somebody's full queue holds up.
typedef struct Held {
    uint8_t *bytes; // MESSAGE_ROOM
    int32_t count;  // 0: none
    int32_t to;     // members from this number on have not got it
} Held;

/// Events that arrived and wait to be taken: bytes in a ring, each with its length before it.
typedef struct EventRing {
    uint8_t *bytes;
    int32_t capacity;
    int64_t head, tail; // bytes ever put in, and taken
} EventRing;

/// One member's inputs.
typedef struct Inputs {
    int64_t oldest, newest; // what is here; newest -1: nothing yet
    FlTime ring_at;         // when the last whole ring of them had come,
    FlTime ring_before;     // and the one before
    uint8_t of;             // low bits of the incarnation whose these are
} Inputs;

/// How far one member's inputs have got over one line.
typedef struct InputWay {
    int64_t acked;   // ticks up to here have arrived,
    int64_t sent;    // up to here are under way; what was lost is not
    FlTime since;    // something is under way, and nothing has arrived; FL_FOREVER: nothing is
    FlTime acked_at; // when `acked` was there, by the other end's link clock
} InputWay;

/// Host: whom a state is being given, and how far that is. It takes as many frames as it needs, so
/// the state is a copy.
typedef struct Joiner {
    int32_t member;  // FL__NONE: nobody
    int32_t offset;  // of the part of the state that goes next; FL__NONE: it is not copied yet
    int32_t player;  // after it: whose inputs go next,
    int64_t told;    // from which tick on; INT64_MIN: who it is goes first
    int64_t settled; // which state it is
    int64_t tick;    // the first one it plays at the earliest,
    int64_t lead;    // and so many after all has been told
    uint8_t *state;
    int32_t state_bytes;
} Joiner;

/// What concerns the game's timeline. Players are members, by number; masks have a bit for each.
typedef struct Agreed {
    FlTimeline *timeline; // the game's; NULL: none
    bool has_state;       // it has begun with one,
    bool begun;           // and knows who plays
    int32_t host;         // as it was when we last looked
    int64_t present;
    int64_t hashes_next; // the settled state to be told of next
    uint64_t gone;       // they have left, and their last tick is not known yet,
    uint64_t resolved;   // or is
    uint64_t inherited;  // they had left when the host changed, and the new one says so again
    uint64_t owed;       // what we have of them is to be told: to the host, or as the host
    int64_t tell_again;  // when what we have of those who are gone is told again
    int64_t fed[FL_TIMELINE_PLAYERS];    // the next tick of each
    uint8_t of[FL_TIMELINE_PLAYERS];     // low bits of the incarnation that plays
    uint64_t tails[FL_TIMELINE_PLAYERS]; // host: of each who is gone: who has told what it has,
    FlTime since[FL_TIMELINE_PLAYERS];   // and since when that is awaited; FL_FOREVER: not yet
    int64_t told[FL_TIMELINE_PLAYERS];   // the next tick to be told of each; INT64_MIN: the first
    Joiner joiner;
} Agreed;

typedef struct Actions Actions; // action.c's own

/// Events on their way: what arrived, and what somebody's full queue holds up.
typedef struct Events {
    EventRing ring;
    Held own;                    // a host's
    Held *from;                  // [line]: an event from there that waits to be passed on
    uint8_t *held;               // their bytes
    int32_t held_count;          // of all of them, those in use
    bool stuck;                  // messages may wait in links for room that there is now
    uint8_t taken[MESSAGE_ROOM]; // the event last given to the game
} Events;

/// Everybody's inputs.
typedef struct InputStore {
    Inputs *of;     // [member]
    uint8_t *bytes; // [member][tick % input_ticks][input_bytes]
    InputWay *way;  // [line][member]
    int32_t *turn;  // [line]: the member whose inputs found no room last time
} InputStore;

struct FlPlay {
    Events events;
    InputStore inputs;
    Agreed agreed;
    Actions *actions; // NULL: none in this session
};

// ---------------------------------------------------------------- event.c

/// Types of the session's own events, and sending one: ordered, to a member or (FL__NONE) to all
/// others.
enum {
    FL__OWN_HASHES = FL_EVENT_TYPES,
    FL__OWN_STRETCH,
    FL__OWN_ENTER,
    FL__OWN_SNAPSHOT,
    FL__OWN_LAGS = FL_EVENT_TYPES + 16, // action.c's
    FL__OWN_ACTION,
};
FlResult fl__event_own(FlSession *session, int32_t to, uint16_t type, const void *bytes,
                       int32_t count);

/// One event over one line, as its head says. Errors: as fl_link_send.
FlResult fl__event_over(FlSession *session, int32_t line, const FlEventHead *head,
                        const uint8_t *bytes, int32_t count);

// ---------------------------------------------------------------- action.c

/// Only where FlSessionDef says so; the others then do nothing.
FlResult fl__actions_create(FlSession *session, FlTime now);
size_t fl__actions_bytes(const FlSessionDef *def);
void fl__actions_destroy(FlSession *session);

/// An event of its types came. False: no sender writes that.
bool fl__actions_heard(FlSession *session, const FlEventHead *head, const uint8_t *bytes,
                       int32_t count, FlTime now);

/// Host: events of these types are passed on to this member: it knows what they are about.
bool fl__actions_reach(const FlSession *session, int32_t number);

// ---------------------------------------------------------------- input.c

/// A member's input that is here.
const uint8_t *fl__input_bytes(const FlSession *session, int32_t member, int64_t tick);

// ---------------------------------------------------------------- agreed.c, agreed_players.c

void fl__agreed_feed(FlSession *session, int32_t member);
void fl__agreed_destroy(FlSession *session);

/// Tells what is owed of who plays, as far as queues have room.
void fl__agreed_tell(FlSession *session);
void fl__agreed_host(FlSession *session);

/// An event of the session's own.
void fl__agreed_heard(FlSession *session, const FlEventHead *head, const uint8_t *bytes,
                      int32_t count);
bool fl__agreed_stretch(FlSession *session, int32_t from, FlReader *r);
bool fl__agreed_enter(FlSession *session, int32_t from, FlReader *r);
bool fl__agreed_snapshot(FlSession *session, int32_t from, FlReader *r);

#endif
