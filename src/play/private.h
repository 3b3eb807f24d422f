// Private to module `play`: what games say to each other.
//
//   play.c            making and ending it
//   route.c           messages that a host relays: events and those of the rest of this module
//   event.c           events: sending; unreliable.c: those that may be lost; event_ring.c: those
//   that
//                     wait for the game
//   input.c           inputs
//   action.c          actions: played in one order and at one time everywhere
//   agreed.c          a timeline's inputs, and comparing it; agreed_players.c: which members play
//   predict.c         prediction: the host's side; predict_own.c: a client's
//   call.c            calls: asking, deciding, answering, passing on; call_hit.c: hits
#ifndef FAIRLEAD_PLAY_PRIVATE_H
#define FAIRLEAD_PLAY_PRIVATE_H

#include "agree/call.h"
#include "base/private.h"
#include "entity/entity.h"
#include "play/play.h"
#include "routes.h"

#define ROUTED_KINDS (MESSAGE_SNAPSHOT - MESSAGE_EVENT + 1)

/// Routed messages: to whom. ROUTE_TO_ALL, or a list of members' numbers.
#define ROUTE_TO_ALL 0
#define ROUTE_TO_AT_MOST 64

/// In the order of a channel: a delivery of routed messages, and of no others.
#define ROUTE_CHANNEL 3

/// What precedes the body of a routed message: a host relays it by this to everybody it is for.
typedef struct RouteHead {
    uint8_t kind;     ///< MESSAGE_EVENT to MESSAGE_SNAPSHOT.
    uint16_t from;    ///< Members' numbers.
    uint8_t delivery; ///< As it is to be relayed: 0 ordered, 1 unordered, 2 quickest, 3 channel.
    uint8_t channel;  ///< ROUTE_CHANNEL: 1 to 15,
    uint8_t priority; ///< and how important it is there.
    int32_t to_count; ///< ROUTE_TO_ALL: all others.
    uint16_t to[ROUTE_TO_AT_MOST];
} RouteHead;

/// Followed by the body, to the end. Writing puts the kind first; reading starts after it.
void fl__route_head_write(FlWriter *w, const RouteHead *m);
bool fl__route_head_read(FlReader *r, uint8_t kind, RouteHead *m);

typedef struct RoutedIn RoutedIn;

/// One kind of routed message.
struct RoutedKind {
    bool (*take)(FlSession *session, const RoutedIn *in);      // false: no sender writes that
    bool (*reaches)(const FlSession *session, int32_t member); // host: relay there? NULL: always
    int32_t least;                                             // bytes of a body
    uint8_t kind;
    bool ordered_if_full; // a full window of unordered messages does not stop it
    bool agreed;          // all must get the same: in a star the host relays it to all
};

/// One member's inputs.
typedef struct Inputs {
    int64_t oldest, newest; // what is here; newest -1: nothing yet
    FlTime ring_at;         // when the last whole ring of them had come,
    FlTime ring_before;     // and the one before
    uint8_t of;             // low bits of the incarnation whose these are
} Inputs;

/// How far one member's inputs have got over one connection.
typedef struct InputWay {
    int64_t acked;   // ticks up to here have arrived,
    int64_t sent;    // up to here are in flight; what was lost is not
    FlTime since;    // since when ticks are in flight and none has arrived; FL_FOREVER: none are
    FlTime acked_at; // when `acked` arrived, by the other end's link clock
} InputWay;

/// Host: the newcomer that is being sent a state, and how far that is. Sending takes as many frames
/// as it needs, so the state is a copy.
typedef struct Joiner {
    int32_t member;  // FL__NONE: there is none
    int32_t offset;  // of the part of the state that goes next; FL__NONE: it is not copied yet
    int32_t player;  // after the state: the player whose inputs go next,
    int64_t next;    // from which tick on; INT64_MIN: its ENTER goes first
    int64_t settled; // the tick of the state
    int64_t tick;    // the first one that the newcomer plays at the earliest,
    int64_t lead;    // and so many ticks after everything has been sent
    uint8_t *state;
    int32_t state_bytes;
} Joiner;

/// What concerns the game's timeline. Players are members, by number; masks have a bit for each.
/// A player on whose inputs the others wait.
typedef struct Held {
    int64_t known;   // its newest input, as it was when we last looked,
    FlTime since;    // since when,
    int64_t present; // and the present then
    FlTime behind;   // since when it is far behind; FL_FOREVER: it is not
} Held;

typedef struct Agreed {
    FlTimeline *timeline; // the game's; NULL: none
    bool has_state;       // the timeline has a state to begin with,
    bool begun;           // and knows which members play
    bool by_lags;         // it settles at play times
    int32_t host;         // as it was when we last looked
    int64_t present;
    int64_t hashes_next;  // the settled state whose hash is sent next
    uint64_t gone;        // players that have left, and whose last tick is not known yet,
    uint64_t resolved;    // or is
    uint64_t inherited;   // of these, those that had left when the host changed
    uint64_t reports_due; // leavers whose inputs we have to send: to the host, or as the host
    int64_t report_again; // the tick at which a client sends what it has of leavers again
    int64_t fed[FL_TIMELINE_PLAYERS];       // the next tick of each
    uint8_t of[FL_TIMELINE_PLAYERS];        // low bits of the incarnation that plays
    uint64_t reported[FL_TIMELINE_PLAYERS]; // host, of each leaver: members that have sent theirs,
    FlTime since[FL_TIMELINE_PLAYERS];      // and since when it waits for them; FL_FOREVER: not yet
    int64_t next[FL_TIMELINE_PLAYERS];      // of each leaver: the next tick to send; INT64_MIN: all
    Held held[FL_TIMELINE_PLAYERS];         // host, of each player
    Joiner joiner;
} Agreed;

typedef struct Actions Actions; // action.c's own
typedef struct Predict Predict; // predicted.h

/// Events that were received and wait for the game: bytes in a ring, each with its length before
/// it.
typedef struct Events {
    Fl__Ring ring;
    uint8_t taken[MESSAGE_ROOM]; // the event last given to the game
} Events;

#define UNRELIABLE_POOL 64

typedef struct Waiting Waiting; // unreliable.c's own

/// Unreliable events that wait for packets with room for them.
typedef struct Unreliable {
    Waiting *entry;                   // UNRELIABLE_POOL of them
    uint64_t *due;                    // [entry][connection words]
    int32_t left;                     // bits set in it
    uint16_t next[FL_EVENT_CHANNELS]; // our own sequences
    uint16_t *newest;                 // [member][FL_EVENT_CHANNELS] that came,
    uint16_t *known;                  // [member] if any did: a bit for each channel
} Unreliable;

/// How far inputs have got over one connection.
typedef struct InputTurn {
    int32_t member; // whose inputs found no room last time
    FlTime again;   // inputs went out, and have arrived by then or go again; else FL_FOREVER
} InputTurn;

/// The inputs of all members.
typedef struct InputStore {
    Inputs *of;      // [member]
    uint8_t *bytes;  // [member][tick % input_ticks][input_bytes]
    InputWay *way;   // [connection][member]
    InputTurn *turn; // [connection]
} InputStore;

struct FlPlay {
    Routes routes;
    Events events;
    Unreliable unreliable;
    InputStore inputs;
    Agreed agreed;
    Actions *actions; // NULL: none in this session
    Predict *predict; // NULL: the host does not decide
};

struct Calls {
    FlCalls *table;
    FlHitRules rules;
    bool has_rules;
};

// ---------------------------------------------------------------- call.c, call_hit.c

FlResult fl__play_calls_create(FlSession *session);
void fl__play_calls_destroy(FlSession *session);

/// A hit that cannot be: it has no sound arguments, or is not what we showed the shooter. What
/// others show it they look at. Any other call can be.
bool fl__call_impossible(FlSession *session, int32_t slot, const FlCallMessage *m, FlTime now);

// ---------------------------------------------------------------- route.c

#define EVENT_TYPE_BYTES 2
#define ROUTED_BYTES (EVENT_TYPE_BYTES + FL_EVENT_BYTES) // the longest body

/// A routed message that is for us.
struct RoutedIn {
    uint8_t kind;
    int32_t from; // the member's number
    uint8_t delivery, channel;
    const uint8_t *bytes; // its body
    int32_t count;
    FlTime now;
};

/// Takes a routed message if it is for us and, as the host, relays it: `message` of every feature
/// whose messages are routed.
bool fl__routed_message(void *self, MessageIn *in);

/// Sends one as its head says: as the host to all it is for, else to the host, or directly if it is
/// unordered and for one. Errors: FL_WOULD_BLOCK.
FlResult fl__routed_send(FlSession *session, const RouteHead *head, const uint8_t *body,
                         int32_t count);

/// The host's part of that, not counted as an event. No slow receiver makes it wait: see the log.
FlResult fl__routed_send_as_host(FlSession *session, const RouteHead *head, const uint8_t *body,
                                 int32_t count);

/// The same, ordered, to a member or (FL__NONE) to all others.
FlResult fl__routed_send_ordered(FlSession *session, int32_t to, uint8_t kind, const uint8_t *body,
                                 int32_t count);

/// One over one connection. Errors: as fl_link_send.
FlResult fl__routed_send_over(FlSession *session, int32_t connection, const RouteHead *head,
                              const uint8_t *body, int32_t count);

/// Resumes relays, and messages that waited for room.
void fl__routes_advance(FlSession *session, FlTime now);
FlTime fl__routes_deadline(const FlSession *session);
bool fl__route_is_free(const FlSession *session, int32_t connection); // messages are taken from it

/// Relays so many bytes more for whoever is at its other end; or a call, or an answer to one.
/// False: it has had its quota.
bool fl__route_allows(FlSession *session, int32_t connection, int32_t bytes);
bool fl__route_allows_call(FlSession *session, int32_t connection, int32_t bytes);
bool fl__route_allows_answer(FlSession *session, int32_t connection, int32_t bytes);
void fl__route_opened(FlSession *session, int32_t connection);

// ---------------------------------------------------------------- event.c

bool fl__event_received(FlSession *session, const RoutedIn *in);
void fl__event_received_unreliably(FlSession *session, const RoutedIn *in); // or dropped

// ---------------------------------------------------------------- unreliable.c

size_t fl__unreliable_entry_bytes(void);
void fl__unreliable_send(FlSession *session, const RouteHead *head, const FlEvent *event);

// ---------------------------------------------------------------- action.c

/// Only where FlSessionDef asks for actions; otherwise the functions below do nothing.
FlResult fl__actions_create(FlSession *session, FlTime now);
size_t fl__actions_bytes(const FlSessionDef *def);
void fl__actions_destroy(FlSession *session);

/// A routed message of its kinds. False: no sender writes that.
bool fl__actions_received(FlSession *session, const RoutedIn *in);

/// Host: messages of these kinds are relayed to this member, since it has joined the lags.
bool fl__actions_reach(const FlSession *session, int32_t number);

// ---------------------------------------------------------------- input.c

/// A member's input that has been received.
const uint8_t *fl__input_bytes(const FlSession *session, int32_t member, int64_t tick);

// ---------------------------------------------------------------- predict.c, predict_late.c

void fl__predict_destroy(FlSession *session);

/// Host: a member's input for a tick, and maybe newer ones, came for the first time.
void fl__predict_input_came(FlSession *session, int32_t member, int64_t tick);

// ---------------------------------------------------------------- agreed.c, agreed_players.c

void fl__agreed_feed(FlSession *session, int32_t member);
void fl__agreed_destroy(FlSession *session);

/// Sends what is due about players that come and go, as far as queues have room.
void fl__agreed_send(FlSession *session);
void fl__agreed_follow_host(FlSession *session);

/// A routed message of its kinds. False: no sender writes that.
bool fl__agreed_received(FlSession *session, const RoutedIn *in);
bool fl__agreed_tick_range(FlSession *session, int32_t from, FlReader *r);
bool fl__agreed_enter(FlSession *session, int32_t from, FlReader *r);
bool fl__agreed_snapshot(FlSession *session, int32_t from, FlReader *r);

#endif
