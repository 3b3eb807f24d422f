// Private to module `member`.
//
//   member.c      the table, and who is in it
//   datagram.c    datagrams that belong to no connection
//   messages.c    what host and members say to each other reliably; announce.c: of members
//   refuse.c      answers to those who may not come in (REFUSE), plain or sealed
//   goodbye.c     the last words over a connection (BYE, AWAY); what follows from a loss
//   rule.c        whom a host lets in, refuses, sends away and bans
//   join.c        getting in where anybody may (JOIN, ACCEPT); join_sealed.c by token or invite
//   welcome.c     WELCOME: the host's first words
//   mesh.c        introduced peers: meeting and reaching each other
//   succession.c  who leads when the host is gone
//   features.c    the rows: members, and clock offsets (CLOCK_OFFSET)
#ifndef FAIRLEAD_MEMBER_PRIVATE_H
#define FAIRLEAD_MEMBER_PRIVATE_H

#include "member/member.h"

#define TOKEN_NONCE_AT 53 // of the last 8 bytes of the nonce in a connect token

typedef struct Member {
    bool present;
    FlLeft left;          // how, when not present
    uint32_t incarnation; // counts those who had the number, from 1
    uint64_t client_id;
    char name[FL_NAME_BYTES]; // as shown to all; "": none
    int32_t connection;       // or FL__NONE
    bool met;                 // it was reached directly
    bool leads;               // host of a crowd: it said that it may take over
    bool unreached;           // an introduced peer: no direct connection, and the game knows,
    FlTime missed_since;      // since when not,
    FlTime want_next;         // and when the host is asked again; at a crowd's: is introduced again
    int32_t want_count;
} Member;

/// What a host sends a newcomer first.
typedef struct Welcome {
    FlTime offset;
    int32_t self, members, host;
    FlTopology topology;
    uint32_t id_range;
    uint16_t term;
} Welcome;

/// Whether a newcomer is let in.
typedef enum Admission {
    ADMISSION_GIVEN,
    ADMISSION_ASKED, // the game decides
    ADMISSION_REFUSED,
} Admission;

/// What host and member say to each other first, over one connection.
typedef struct Handshake {
    SealedClient client;     // host: who it is
    Admission admission;     // host
    FlTime asked_at;         // when it came
    char text[FL_AWAY_TEXT]; // why it is sent away; "": it is not, or for no reason
    uint64_t nonce;          // not sealed: the client's, by which a repeated JOIN is known
    bool accept_due;         // host: say ACCEPT (again)
    bool welcome_due;        // host: every packet says WELCOME until one has arrived,
    FlTime welcome_next;     // and there is one at least this often
    bool successor;          // its member may take over from a crowd's host
    bool promoted;           // it led to an introduced peer before
    bool followed;           // host: since then its member has answered us as the host
    Welcome early;        // from an introduced peer that hosts now, before we knew; members 0: none
    FlTime welcome_stamp; // of the newest one, by the sender's link clock
    FlBudget wants;       // host: how many introductions its member may ask for
    FlPeerStatus about;   // host: its player's name, and what it says about itself
    FlTime meet_again;    // host: its queue was full; until then it gets no introductions
} Handshake;

#define FL__FULL_TEXT "The host is full. Try again when a player has left."

/// Why a client may not come in, as it travels (spec/WIRE.md section 7.3).
typedef enum Refused {
    FL__REFUSED_NOT,
    FL__REFUSED_FULL,
    FL__REFUSED_PROTOCOL,
    FL__REFUSED_PLAIN,  // a plain client, where all are sealed
    FL__REFUSED_SEALED, // a sealed client, where none is
    FL__REFUSED_UNKNOWN,
    FL__REFUSED_USED_UP,
    FL__REFUSED_EXPIRED,
    FL__REFUSED_IN_USE,
    FL__REFUSED_ADDRESS,
    FL__REFUSED_COUNT,
} Refused;

/// An answer to a client that is not let in.
typedef struct Refusal {
    FlAddress to;
    uint64_t nonce;
    uint8_t reason;
} Refusal;

#define FL__REFUSALS 32

/// Refusals to be sent, and how many more may be.
typedef struct Refusals {
    int32_t count;
    double left;
    FlTime filled_at;
    Refusal noted; // the last one in the log: who is refused asks again and again
    Refusal due[FL__REFUSALS];
} Refusals;

#define AWAY_HEAD 16 // bytes before AWAY's text, at most

/// The last words over a connection: without a seal that it is left, or why a host sends it away.
typedef struct Goodbye {
    FlAddress to;
    int32_t copies; // still to go: what is not acknowledged is said more than once
    int32_t count;
    uint8_t bytes[FL_SEAL_HEAD_BYTES + AWAY_HEAD + FL_AWAY_TEXT + FL_SEAL_TAIL_BYTES];
} Goodbye;

#define BANS 64

struct Members {
    Member *all;                 // [member_count]
    Handshake *handshakes;       // [connection]
    uint64_t *due;               // [connection][member_words]: whose announcement is due
    uint64_t *direct;            // host: [member][member_words]: who reaches whom without us
                                 // (NULL, as the next three, where we never will be),
    uint64_t *reach_due;         // and of what owner that has changed, for whom (reach_next),
    uint64_t *introductions_due; // and who is to be introduced to whom,
    uint64_t *renewals_due;      // if only for new keys
    FlTime missed_next;          // when members are looked at next for such that are not reached
    FlTime reach_next;           // host: not before this are changes of who reaches whom looked at
    FlTime successors_next;      // host of a crowd: when it looks who reaches those who may lead
    FlTime lead_at; // the host is gone, and we lead then, if no other member does; FL_FOREVER else
    FlTime join_next, join_until;
    uint64_t nonce;
    Refusals refusals;         // host
    Refused refused;           // client: what a host said last,
    uint8_t refused_fields[8]; // with FL__REFUSED_PROTOCOL: hashes of the host's world
    FlAddress refused_by;
    FlTime refused_at; // and when it said so first
    Goodbye *goodbyes; // one per connection
    int32_t goodbye_count;
    bool has_introductions_due; // two members are to be introduced
    bool has_reach_due;
    bool said_leads;  // client of a crowd: the host knows that we may take over
    bool took_over;   // host: from another one,
    bool unfollowed;  // and no member has answered us as the host yet
    bool accepts;     // host: some connection may owe an ACCEPT
    FlBan bans[BANS]; // host; nothing set: free
};

static inline Member *fl__member(const FlSession *session, int32_t number)
{
    return &session->members->all[number];
}

static inline Handshake *fl__handshake(const FlSession *session, int32_t connection)
{
    return &session->members->handshakes[connection];
}

// ---------------------------------------------------------------- member.c

void fl__member_enter(FlSession *session, int32_t number, uint32_t incarnation, uint64_t client_id,
                      const char *name);
void fl__member_leave(FlSession *session, int32_t number, FlLeft left, FlTime now);

/// Host: the connection of one who waits to be let in; FL__NONE: it does not.
int32_t fl__newcomer_of(const FlSession *session, FlPeerId peer);

/// No member is reached any more.
void fl__member_leave_all(FlSession *session, FlLeft host, FlTime now);
bool fl__member_message(void *self, MessageIn *in); // MEMBER

// ---------------------------------------------------------------- messages.c

/// A member is in the session, or no longer.
typedef struct MemberMessage {
    uint16_t number;
    uint32_t incarnation; ///< Counts those who had the number.
    bool present;
    FlLeft left;              ///< When not present.
    uint64_t client_id;       ///< When present,
    char name[FL_NAME_BYTES]; ///< and so is this: UTF-8 that can be shown.
} MemberMessage;

// Writers put the kind first; readers start after it.
void fl__member_message_write(FlWriter *w, const MemberMessage *m);
bool fl__member_message_read(FlReader *r, MemberMessage *m);
void fl__meet_message_write(FlWriter *w, const MeetMessage *m);
bool fl__meet_message_read(FlReader *r, MeetMessage *m);
void fl__reach_message_write(FlWriter *w, const ReachMessage *m);
bool fl__reach_message_read(FlReader *r, ReachMessage *m);
bool fl__want_message_read(FlReader *r, uint16_t *member);

// ---------------------------------------------------------------- announce.c

/// Feature `member`'s.
bool fl__members_send_due(void *self, int32_t connection);

// ---------------------------------------------------------------- refuse.c

/// Answers a request that echoes as `nonce`, if the ration of refusals allows it.
void fl__refuse(FlSession *session, FlAddress to, uint64_t nonce, Refused reason, FlTime now);
bool fl__refusal_next(FlSession *session, FlOutgoing *out);

/// Sealed host: refuses a request that the seal dropped, if that is to be said.
void fl__refuse_request(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                        FlSealDrop drop, FlTime now);

/// Client: a REFUSE came from where we asked, its kind is read. False: it is not for us.
bool fl__refusal_receive(FlSession *session, FlAddress from, FlReader *r, FlTime now);

/// Sealed client: when the refusal that came ends the attempt; FL_FOREVER: there is none, or the
/// host has answered, or there is another server to ask.
FlTime fl__refusal_believed(const FlSession *session);

/// Ends the session with what the host said why we may not come in. False: it said nothing.
bool fl__refused_end(FlSession *session);

// ---------------------------------------------------------------- goodbye.c

void fl__goodbye_say(FlSession *session, int32_t index);

/// Not sealed: BYE and AWAY came; their kind is read. False: no sender writes that.
bool fl__bye_read(FlSession *session, FlReader *r, FlAddress from, FlTime now);
bool fl__away_read(FlSession *session, FlReader *r, FlAddress from, FlTime now);

// ---------------------------------------------------------------- join.c

/// The kinds of its datagrams. 5 is a light connection's.
enum { JOIN_JOIN = 1, JOIN_ACCEPT, JOIN_REFUSE, JOIN_BYE, JOIN_AWAY = 6 };

void fl__join_begin(FlWriter *w, FlSession *session, uint64_t kind);
void fl__join_give(const FlWriter *w, FlAddress to, FlOutgoing *out);
uint16_t fl__fresh_conversation(FlSession *session);
void fl__join_extend(FlSession *session, FlTime now); // client: something came from the host

/// Host: gives whoever comes a number and opens the connection. False: no memory, or full.
bool fl__admit(FlSession *session, int32_t index, ConnectionDef *def, const SealedClient *client,
               FlTime now);

/// Host: it is a member from now on.
void fl__admit_finish(FlSession *session, int32_t index, FlTime now);

// ---------------------------------------------------------------- rule.c

/// Host: decides on a newcomer, or asks the game.
void fl__rule_newcomer(FlSession *session, int32_t index, FlTime now);

/// Host, at a connection's turn: sends away who is refused, or breaks the rules.
void fl__rule_look(void *self, int32_t index, FlTime now);

// ---------------------------------------------------------------- welcome.c

#define FL__WELCOME_BYTES 22
#define WELCOME_EVERY FL_MS(100)

/// WELCOME is due, until it has arrived.
void fl__welcome_set_due(FlSession *session, int32_t connection, FlTime now);

/// Feature `member`'s. Reading: false if no sender writes that.
Want fl__welcome_want(const void *self, int32_t connection, FlTime now);
void fl__welcome_write(void *self, PacketOut *out);
void fl__welcome_outcome(void *self, int32_t index, const Item *items, int32_t count,
                         const Fate *fate);
bool fl__welcome_read(const FlSession *session, FlReader *r, Welcome *w);
bool fl__welcome_skip(const void *self, PacketIn *in);

/// Client: the host's first words; and those of one who took over.
void fl__welcome_take(FlSession *session, int32_t index, const Welcome *w);
void fl__welcome_again(FlSession *session, int32_t index, const Welcome *w);

// ---------------------------------------------------------------- mesh.c

/// Host: a newcomer is to be introduced to all who are there, and they to it.
void fl__mesh_introduce(FlSession *session, int32_t number);

/// Host that took over: all who have met agree on new keys, introduced by us.
void fl__mesh_renew(FlSession *session);

/// An introduced peer knows how we place what arrives: its things come directly from now on.
void fl__mesh_understood(FlSession *session, int32_t index);

/// The connection to an introduced peer is gone: it is reached through the host again, if at all.
void fl__mesh_parted(FlSession *session, int32_t number, FlTime now);

/// For all we know, no two members reach each other without us.
void fl__reach_forget(FlSession *session);

// ---------------------------------------------------------------- succession.c

/// The host is gone. True: the session may go on without it.
bool fl__succession_begin(FlSession *session, FlLeft left, FlTime now);

/// A WELCOME came, sent at `stamp` by the sender's link clock, and we are in already.
void fl__succession_welcome(FlSession *session, int32_t index, const Welcome *w, FlTime stamp);

/// Host: a member was lost. If no member has followed us and none is left, the session ends.
void fl__succession_parted(FlSession *session, FlLeft left, FlTime now);

#endif
