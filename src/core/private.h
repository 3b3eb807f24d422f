// Private to module `core`: what it keeps, and who does what. Other modules include core.h.
//
//   session.c   making and ending one, datagrams in and out, counters
//   core.c      what other modules ask of it
//   notice.c    what happened, until the game asks
//   time.c      session time; and when, in it, something arrived at the other end
//   member.c    who is in the session
//   line.c      direct connections: a link, and what is owed over it
//   join.c      getting in where anybody may (JOIN, ACCEPT, BYE)
//   refuse.c    who may not come in is told why (REFUSE), plain or sealed
//   sealed.c    getting in by token or invite; sealing and opening (sealed_none.c: no libsodium)
//   lanes.c     a crowd's lanes: introduced, sealed, carried (room `crowd` says what)
//   mesh.c      introduced peers: meeting and reaching each other
//   succession.c  who leads when the host is gone
//   packet.c    loops over the features: what packets carry
//   manifest.c  what each packet carried, until its fate is known
//   messages.c  reliable messages: to their feature
//   welcome.c   WELCOME and MAPPING: the host's first words, and by what clock to read arrivals
//   motion.c    MOTION: updates out and in
//   state.c     STATE: state blobs out and in
//   entity.c    the table of entities; the owner's side
//   remote.c    others' entities: updates and states in, poses out, relaying
//   news.c      announcements of members and entities
//   view.c      what others see
//   telling.c   a byte about each of some entities, told in packets that go anyway
//   attention.c how much everybody looks at what
//   guide.c     guided replicas: guidance out and in
//   upload.c    how much may go out in all
//   call.c      calls: asking, deciding, answering, passing on
//   orphan.c    entities whose owner is gone: who has what of them, and who gets them
//
// A *member* is anybody in the session, by number; a *line* is a direct connection to one of them.
// A client of a star has one line and many fellow members; a host has a line to each.
#ifndef FAIRLEAD_CORE_PRIVATE_H
#define FAIRLEAD_CORE_PRIVATE_H

#include "base/private.h"
#include "core.h"

// ---------------------------------------------------------------- members and lines

typedef struct Member {
    bool present;
    FlLeft left;          // how, when not present
    uint32_t incarnation; // counts those who had the number, from 1
    uint64_t client_id;
    int32_t line;     // or FL__NONE
    bool claims_due;  // host: it has not said yet what it knows of orphans,
    bool claims_late; // and for too long
    bool met;         // it was reached directly
    bool unreached;   // an introduced peer: no direct connection, as the game has been told,
    FlTime missed_since,
        want_next; // since when not, and when the host is asked again to introduce us
    int32_t want_count;
} Member;

/// From `from` (the receiver's link clock) on, session time there is the link clock plus `offset`.
typedef struct Mapping {
    FlTime from;
    FlTime offset;
    uint32_t serial;
} Mapping;

#define MAPPINGS 4

/// What one end tells the other about when things arrived, in session time. A receiver places by
/// this, not by its smoothly bent clock, so that the distributor knows to the bit what it placed.
typedef struct Mappings {
    Mapping entry[MAPPINGS]; // by serial
    uint32_t count;          // serials so far
    uint32_t told;           // serials below this are known to be known
} Mappings;

/// A packet under way.
typedef struct Packet {
    uint32_t first; // item serial
    uint16_t count;
    bool waits; // its fate is not known
} Packet;

/// Which items which packet carried: two rings. Packets are by tag, items by serial.
typedef struct Manifest {
    Packet *packets;
    Item *items;
    int32_t packet_capacity, item_capacity; // powers of two
    uint64_t packet_first, packet_next;     // tags
    uint64_t suspected;                     // those before this that still wait are taken for lost
    uint32_t item_first, item_next;
} Manifest;

/// What a host tells a newcomer first.
typedef struct Welcome {
    FlTime offset;
    int32_t self, members, host;
    FlTopology topology;
    uint32_t share;
} Welcome;

struct Line {
    bool used;
    bool heard;  // something came over it: the other end is there
    bool direct; // to an introduced peer, not between host and client
    bool silent; // direct: it does not answer any more
    int32_t member;
    FlAddress address;
    FlLink *link;
    Manifest manifest;
    uint64_t nonce;        // not sealed: the client's, by which a repeated JOIN is known,
    uint16_t conversation; // and the link's number
    bool accept_due;       // host: say ACCEPT (again)
    bool unproven;         // host, not sealed: nothing has come over it, so nothing goes out
    FlSealPeer seal_peer;  // sealed, at the host
    FlSealPair *pair;      // sealed, introduced
    bool welcome_owed;     // host: every packet says WELCOME until one has arrived,
    FlTime welcome_next;   // and there is one at least this often
    bool promoted;         // it led to an introduced peer before
    bool followed;         // host: since then its member has answered us as the host
    Welcome
        early_welcome;    // from an introduced peer that hosts now, before we knew; members 0: none
    FlTime welcome_stamp; // of the newest one, by the sender's link clock
    FlTime offset;        // session time minus the link clock of the end that leads
    Mappings own_map;     // how arrivals here are placed, for the other end to know
    Mappings heard_map;   // how the other end places them
    int32_t turn;         // the entity slot at which the next packet goes on
    int32_t state_turn;
    FlTime state_again;  // a state went out, and has arrived by then or goes again; else FL_FOREVER
    FlTime gather_until; // updates are waiting for others until then; FL_FOREVER: none is waiting
    FlTime report_next;  // host: when the owner's figures go out again,
    int32_t report_turn; // and the entity slot to go on with
    int32_t plan_told;   // host of a crowd: the order plus one; 0: none yet
    FlBudget wants;      // and how many introductions its member may ask for
    FlTime meet_again;   // host: its queue was full; until then its member is introduced to nobody
    FlTime doubt_next;   // when the ledger is told again how far the other end's clock is known
    bool blocked;        // something waits for room in its reliable queue,
    bool full;           // an event
    bool short_of_bytes; // something waits for the upload, or for the link's budget
};

// ---------------------------------------------------------------- entities

/// What the host told of one receiver's view, or of all of them.
typedef struct Reported {
    FlEntityReport all;
    bool known;
} Reported;

/// A state from an introduced peer who owns the entity, before the host's word that it does.
typedef struct EarlyState {
    int32_t from;
    uint16_t epoch;
    uint16_t version; // 0: none
    int32_t count;
    uint8_t bytes[FL_ENTITY_STATE_BYTES];
} EarlyState;

/// Notices of an entity of which one can wait; OURS and THEIRS are one class.
typedef enum NoticeClass { NOTICE_NEW, NOTICE_OWNER, NOTICE_STATE, NOTICE_CLASSES } NoticeClass;

struct Entity {
    uint32_t generation;            // odd while live
    int32_t notice[NOTICE_CLASSES]; // nodes in session->notices, or FL__NONE
    uint32_t number;
    uint16_t epoch;
    uint16_t born;  // the epoch it was made in
    int32_t owner;  // member number; FL__NONE: not known yet
    bool ours;      // we hand in its truth
    bool giving;    // it was ours; the host has not said yet whose it is
    int32_t giver;  // host: who gave it away, until its owner is known to have it; FL__NONE else
    bool announced; // its definition is known (others'), so that it can be passed on
    bool orphan;    // its owner is gone, and nobody has it yet
    bool confirmed; // host: its owner has said so to us, not to a host before us
    bool handing;   // host: its owner is still to get its estate
    int32_t owner_before; // FL__NONE: none
    uint16_t call_floor;  // calls made before this epoch are gone
    FlEntityDef def;
    uint32_t life;
    // the newest update, as it travels
    uint8_t packed[FL_UPDATE_BYTES_MAX];
    int32_t packed_bytes; // 0: none yet
    FlTime packed_time;
    uint32_t packed_life;
    // state
    uint8_t state[FL_ENTITY_STATE_BYTES];
    int32_t state_bytes;
    uint16_t state_version; // 0: none yet
    EarlyState early;
    // ours
    FlExporter exporter;
    FlGuidance guidance; // as it travels,
    bool guided;         // if there is one
    FlTime guide_ahead;  // between those at best effort, on average
    FlTime not_before;   // states up to here were told by an owner before us
    // others'
    int32_t attention_line; // over which ours is told
    int16_t attention_told; // in 1/255; negative: not at all
    uint8_t attention;
    FlGuide guide;    // diameter 0: nobody guides it
    int8_t near_told; // what its owner knows of `near`; negative: nothing
    bool near;        // our replica is where it is shown
    FlShow show;
    FlTime heard, heard_at; // the update that came in last: its stamp, its arrival
    Reported reported;
};

// ---------------------------------------------------------------- the session

/// Why somebody may not come in, as it travels (spec/WIRE.md section 7.3).
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

/// An answer to somebody who is not let in.
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
    Refusal due[FL__REFUSALS];
} Refusals;

/// The last words over a line: without a seal that it is left, and a host's to whom it sends away.
typedef struct Goodbye {
    FlAddress to;
    int32_t copies; // still to go: what is not acknowledged is said more than once
    int32_t count;
    uint8_t bytes[FL_SEAL_HEAD_BYTES + 1 + FL_SEAL_TAIL_BYTES];
} Goodbye;

typedef struct NoticeNode NoticeNode; // notice.c's own

/// Notices that the game has not asked for yet. Nodes by index; FL__NONE: none.
typedef struct Notices {
    NoticeNode *nodes;
    int32_t first, last, free;
    int32_t host; // the one of a new host
    int32_t member_count, gone_count;
} Notices;

typedef struct Sealed Sealed; // sealed.c's own

/// Entities of which a byte is to be told.
typedef struct TellingDue {
    uint64_t *words; // by slot
    bool any;        // one may be
} TellingDue;

#define UPLOAD_SLOTS 127

/// What has gone out, over all lines.
typedef struct Upload {
    FlBudget budget;
    FlTime slot;                // the newest, by number
    FlTime last[UPLOAD_SLOTS];  // when the last bytes of a slot went
    int32_t sent[UPLOAD_SLOTS]; // bytes, by slot
    double held;                // tokens that the window has no room for yet
    int32_t in_window;          // bytes of all slots
    int32_t update_count;       // in the packet being built
    double header_bytes;        // of packets, per update in them; learnt
} Upload;

typedef struct Lanes Lanes; // lanes.c's own

struct FlSession {
    FlSessionDef def;
    FlPlay *play;               // module `play`'s own
    const FlTimeline *timeline; // the game's, while there is one: nothing changes while it plays
    FlWorld world;
    FlRandom random;
    const char *trouble; // lives for ever; NULL while there is none

    FlSessionClock clock;
    FlTime epoch;        // what `clock` counts from: 0 at the host, a client's joining
    FlTime told_at;      // the last `now` that `clock` was told, less the epoch
    FlTime time_told;    // the same with it,
    uint32_t time_heard; // and how many datagrams had come

    FlSessionState state;
    FlTopology topology;
    int32_t self; // our number; FL__NONE until we are told
    int32_t host; // the host's

    Member *members; // peer_capacity + 1
    int32_t member_count;
    int32_t seat_count; // members of the session, as its first host says; at most member_count
    Line *lines;
    FlTime *wake; // per line: when it wants to be looked at
    int32_t line_count;
    int32_t line_next;   // where fl_session_next goes on, counted from
    int32_t line_turn;   // the line that a round begins with: it found no bytes in the last
    int32_t *by_address; // open addressing; line index or FL__NONE

    Entity *entities;
    int32_t *by_number;     // entity slot of a wire number, FL__NONE: none
    uint16_t *number_epoch; // the newest epoch heard of, per number,
    bool *number_known;     // if any was
    uint32_t share;         // numbers per member
    uint32_t own_next;
    FlLedger *ledger; // receivers are lines
    int32_t entity_words, number_words, member_words, by_address_size;
    uint64_t *state_due; // [line][entity_words]
    TellingDue attention_due;
    TellingDue near_due;
    uint64_t *near;        // [line][entity_words]: of ours, whose replica is near there
    uint64_t *entity_news; // [line][number_words]
    uint64_t *member_news; // [line][member_words]
    uint64_t *scope;       // [entity slot][member_words]: who sees it, of listed ones
    uint64_t *direct;      // host: [member][member_words]: who reaches whom without us,
    uint64_t *reach_due;   // and of what owner that has changed, for whom (reach_next),
    uint64_t *unmet;       // and who is to be introduced to whom

    Lanes *lanes_of_crowd; // NULL: no crowd, or not in yet
    int32_t plan_order;    // of a crowd's plane
    FlTime plan_next;      // host: thought of again then

    Upload upload;
    Notices notices;
    float *reported; // [entity slot][member]: accumulated error, by the host's reports

    FlCalls *calls;
    FlHitRules hit_rules;
    FlTime claim_since, claim_again; // host: when claims were asked for, and will be again
    int32_t claim_turn;              // the entity slot to claim next, or number after the last of
                                     // them; FL__NONE: none
    uint16_t claim_round;            // host: of what was asked; else: of what we were asked

    FlTime missed_next; // when members are looked at next for such that are not reached
    FlTime reach_next;  // host: not before this are changes of who reaches whom looked at
    FlTime lead_at;     // the host is gone, and we lead then, if nobody does; FL_FOREVER else
    FlTime join_next, join_until;
    FlTime heard_at; // when the last datagram of any kind came, on the caller's clock
    uint64_t nonce;
    Refusals refusals; // host
    Refused refused;   // client: what a host said last,
    FlAddress refused_by;
    FlTime refused_at; // and when it said so first
    Goodbye *goodbyes; // one per line
    Sealed *sealed;    // NULL: anybody may join

    int32_t goodbye_count;
    uint32_t heard_count; // datagrams of any kind
    // flags
    bool complete;  // everything that was there when we joined is known here
    bool in;        // and the time: for the game the session runs
    bool end_told;  // a deadline has told the game to look
    bool exported;  // since lines were last looked at for due updates
    bool has_unmet; // somebody is to be introduced to somebody
    bool has_reach_due;
    bool has_pairs; // sealed: there are or were introduced peers
    bool accepts;   // host: some line may owe an ACCEPT
    bool claiming;  // host: waits for claims
    bool claim_all; // of everything, since we are new
    bool has_hit_rules;
    bool took_over;  // host: from another one,
    bool unfollowed; // and nobody has answered us as the host yet

    Features features;
    uint64_t count[FL_SESSION_COUNTS];
    uint8_t packet[FL_SEAL_PACKET_BYTES];  // what is being built: a payload at FL_SEAL_HEAD_BYTES
    uint8_t opening[FL_SEAL_PACKET_BYTES]; // a sealed datagram being opened
    uint8_t message[MESSAGE_ROOM];         // a reliable message being written or read
};

// ---------------------------------------------------------------- session.c

/// `why` is text that lives for ever.
void fl__session_end(FlSession *session, const char *why);

// ---------------------------------------------------------------- notice.c

size_t fl__notice_bytes(const FlSession *session);
void fl__notice_start(FlSession *session);
void fl__notice(FlSession *session, const FlNotice *notice);

/// An entity begins: nothing waits.
void fl__notice_begin(Entity *entity);

/// An entity ends: what waits of it is pointless. False: the game has not heard of it.
bool fl__notice_forget(FlSession *session, Entity *entity);

// ---------------------------------------------------------------- time.c

/// Session time runs.
bool fl__time_known(const FlSession *session);
void fl__time_update(FlSession *session, FlTime now);

Moment fl__moment(FlSession *session, Line *line, const FlLinkPacket *packet, FlTime arrival);

/// The same moment, at the sender: a packet sent at `sent` arrived at `arrived_remote` (the peer's
/// link clock).
FlTime fl__moment_remote(const FlSession *session, const Line *line, FlTime sent,
                         FlTime arrived_remote);

/// Session time at which our packet of caller's time `sent` is stamped.
FlTime fl__stamp_of(const FlSession *session, const Line *line, FlTime sent);

void fl__mapping_heard(Mappings *m, const Mapping *mapping);

/// A packet came, whatever it brought: our mapping stays near session time.
void fl__mapping_keep(FlSession *session, Line *line, const FlLinkPacket *packet, FlTime arrival);

/// Makes the first mapping without a packet, if the time is known.
void fl__mapping_begin(const FlSession *session, Line *line, FlTime now);

/// An introduced peer is there, and waits for our first mapping until the time is known here.
static inline bool fl__mapping_wanted(const Line *line)
{
    return line->direct && line->heard && line->own_map.count == 0;
}

// ---------------------------------------------------------------- member.c

/// The member's number, or FL__NONE for an id that is stale.
int32_t fl__member_of(const FlSession *session, FlPeerId peer);
void fl__member_enter(FlSession *session, int32_t number, uint32_t incarnation, uint64_t client_id);
void fl__member_leave(FlSession *session, int32_t number, FlLeft left, FlTime now);

/// feature_member's.
bool fl__member_message(void *self, MessageIn *in);
void fl__member_changed(void *self, const Change *change);

/// Takes away what belonged to members who are not there any more.
void fl__member_remove_orphans(FlSession *session);

/// The line that leads to a member: its own, else the host's; also for an owner that is not known
/// (FL__NONE). FL__NONE: none does.
int32_t fl__route(const FlSession *session, int32_t number);

// ---------------------------------------------------------------- line.c

int32_t fl__line_at(const FlSession *session, FlAddress address);
int32_t fl__line_free(const FlSession *session);

/// Opens a line to a member: what it needs to know is owed over it. False: no memory.
bool fl__line_open(FlSession *session, int32_t index, int32_t member, FlAddress address,
                   FlTime now);
void fl__line_close(FlSession *session, int32_t index);
void fl__line_moved(FlSession *session, int32_t line, FlAddress address);

/// Not sealed: the line whose end may have moved to this address, by what came from there; else
/// FL__NONE.
int32_t fl__line_moving(const FlSession *session, FlAddress from, const uint8_t *bytes,
                        int32_t count, FlTime arrival);

/// Since we took over its member has not answered us as the host: it may believe that it leads,
/// too, and say what only hosts say.
static inline bool fl__line_rivals(const Line *line)
{
    return line->promoted && !line->followed;
}

/// Something came that is not the sender's to tell: a fault of its, unless it has taken over from a
/// host whose end we have not noticed yet.
static inline void fl__count_foreign(FlSession *session, const Line *line)
{
    bool early = (line->direct && line->early_welcome.members != 0) || fl__line_rivals(line);
    session->count[early ? FL_SESSION_EARLY : FL_SESSION_FOREIGN]++;
}

/// Its other end is there, as far as we know.
static inline bool fl__line_reaches(const Line *line)
{
    return line->heard && !(line->direct && line->silent);
}

/// First words are owed, and said often until they have arrived: the WELCOME, or between introduced
/// peers the first MAPPING, without which neither tells the other anything.
static inline bool fl__line_owes_words(const Line *line)
{
    return line->welcome_owed ||
           (line->direct && line->own_map.count > 0 && line->own_map.told == 0);
}

/// Whatever has come up with this line, look at it at the next chance.
static inline void fl__line_wake(FlSession *session, int32_t line)
{
    session->wake[line] = INT64_MIN;
}

/// A packet to this line, if there is anything to say and the budget allows; else it says in
/// `wake` when to look at it again.
bool fl__line_next(FlSession *session, int32_t index, FlTime now, FlOutgoing *out);

/// The line died or was left: its member is gone, or (introduced) goes through the host.
void fl__line_lost(FlSession *session, int32_t index, FlLeft left, FlTime now);

/// Nobody is reached any more.
void fl__session_alone(FlSession *session, FlLeft left, FlTime now);
size_t fl__line_bytes(const FlSessionDef *def);

/// A line is an introduced peer's again: how long it may be silent, and who keeps it alive.
void fl__line_patience(FlSession *session, int32_t index, FlTime now);

// ---------------------------------------------------------------- join.c

/// True if the datagram belongs to joining, taken or counted.
bool fl__join_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                      FlTime arrival);

/// The next datagram of joining or leaving. False if there is none.
bool fl__join_next(FlSession *session, FlTime now, FlOutgoing *out);

/// When fl__join_next will have something to do.
FlTime fl__join_deadline(const FlSession *session, FlTime now);
void fl__join_goodbye(FlSession *session, const Line *line);

/// Host: says goodbye to the other end, and why it is sent away.
void fl__join_away(FlSession *session, Line *line, FlLeft left, FlTime now);

/// Client, sealed: that came. True: it was nothing else.
bool fl__join_away_heard(FlSession *session, int32_t index, const uint8_t *bytes, int32_t count,
                         FlTime now);

/// Last words go before anything else does.
bool fl__goodbye_next(FlSession *session, FlOutgoing *out);
void fl__join_heard(FlSession *session, FlTime now); ///< Client: something came from the host.
void fl__join_explain_silence(FlSession *session);

// ---------------------------------------------------------------- refuse.c

#define FL__JOIN_REFUSE 3 // its kind among join.c's datagrams

/// Answers a request that echoes as `nonce`, if the ration of refusals allows it.
void fl__refuse(FlSession *session, FlAddress to, uint64_t nonce, Refused reason, FlTime now);
bool fl__refusal_next(FlSession *session, FlOutgoing *out);

/// Plain host: refuses a request for a sealed connection. False: it is none.
bool fl__refuse_sealed(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime now);

/// Sealed host: refuses a request that the seal dropped, if that is to be said.
void fl__refuse_request(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                        FlSealDrop drop, FlTime now);

/// Sealed client: sets the nonce that a refusal must echo.
void fl__refusal_expect(FlSession *session, const uint8_t token[FL_SEAL_TOKEN_BYTES]);

/// Client: a REFUSE came from where we asked, its kind is read. False: it is not for us.
bool fl__refusal_heard(FlSession *session, FlAddress from, FlReader *r, FlTime now);

/// Sealed client: when the refusal that came ends the attempt; FL_FOREVER: there is none, or the
/// host has answered, or there is another server to ask.
FlTime fl__refusal_believed(const FlSession *session);

/// Why we were refused; NULL: we were not.
const char *fl__refusal_text(const FlSession *session);

/// Client: the host's first words.
void fl__welcome_take(FlSession *session, int32_t index, const Welcome *w);

/// Client: the first words of one who took over.
void fl__welcome_again(FlSession *session, int32_t index, const Welcome *w);
uint16_t fl__fresh_conversation(FlSession *session);

/// Host: gives the line a number and opens it. False: no memory, or full.
bool fl__admit(FlSession *session, int32_t index, FlAddress address, uint64_t client_id,
               FlTime now);

// ---------------------------------------------------------------- sealed.c

/// What a sealed datagram brought.
typedef struct Opened {
    int32_t line; // FL__NONE: nothing for a line
    const uint8_t *bytes;
    int32_t count;
    uint64_t sequence;
} Opened;

FlResult fl__sealed_create(FlSession *session, const FlSessionDef *def, FlTime now);
void fl__sealed_destroy(FlSession *session);
Opened fl__sealed_receive(FlSession *session, FlAddress from, uint8_t *bytes, int32_t count,
                          FlTime arrival);
bool fl__sealed_next(FlSession *session, FlTime now, FlOutgoing *out);
FlTime fl__sealed_deadline(const FlSession *session);

/// A sealed client's server.
typedef struct SealedServer {
    FlAddress address;
    bool asked; // to let us in, and it has not answered yet
    bool last;  // of those that the token names
} SealedServer;

/// Nowhere, if we are no client.
SealedServer fl__sealed_server(const FlSession *session);
uint64_t fl__sealed_sequence(const FlSession *session, const Line *line);

/// Seals session->packet. False: it cannot go (and is as good as lost).
bool fl__sealed_seal(FlSession *session, Line *line, FlTime now, uint64_t sequence, int32_t bytes,
                     FlOutgoing *out);
void fl__sealed_leave(FlSession *session, Line *line, FlTime now);

/// Host: ends a line with one sealed byte instead of the seal's goodbyes, which would say no reason
/// and may overtake it. False: it cannot be said.
bool fl__sealed_away(FlSession *session, Line *line, uint8_t word, FlTime now, FlOutgoing *out);

/// The seal is ready for packets of this line.
bool fl__sealed_ready(const FlSession *session, const Line *line);

/// A lane's pair (lanes.c): made, NULL if it cannot be; left and ended (NULL is fine).
FlSealPair *fl__lane_pair(FlSession *session, const FlMeetMessage *meet, FlTime now);
void fl__lane_part(FlSealPair *pair, FlTime now);
bool fl__lane_ready(const FlSealPair *pair);

/// Opens session->opening. False: it is not the pair's; `blame`: counted. Without a payload
/// opened->bytes is NULL. `at` is where the other end is.
bool fl__lane_open(FlSession *session, FlSealPair *pair, FlAddress from, int32_t count,
                   FlTime arrival, bool blame, Opened *opened, FlAddress *at);

/// Seals the `count` bytes that follow FL_SEAL_HEAD_BYTES at `packet`.
bool fl__lane_seal(FlSealPair *pair, FlTime now, uint8_t *packet, int32_t count, FlOutgoing *out);

/// What the pair has to say for itself, and when.
bool fl__lane_says(FlSealPair *pair, FlTime now, FlOutgoing *out);
FlTime fl__lane_deadline(const FlSealPair *pair);

/// Sealed introductions (mesh.c).
void fl__sealed_introduce(FlSession *session, int32_t one, int32_t other, FlTime now,
                          FlMeetMessage *to_one, FlMeetMessage *to_other);
bool fl__sealed_meet(FlSession *session, Line *line, const FlMeetMessage *meet, FlTime now);
void fl__sealed_part(FlSession *session, Line *line);

// ---------------------------------------------------------------- mesh.c

/// Host: a newcomer is to be introduced to all who are there, and they to it; and doing so.
void fl__mesh_introduce(FlSession *session, int32_t number);

/// An introduced peer knows how we place what arrives: its things come directly from now on.
void fl__mesh_understood(FlSession *session, int32_t index);

/// Something came from an introduced peer for the first time: it is reached directly from now on.
void fl__mesh_reached(FlSession *session, int32_t index, FlTime now);

/// The line to an introduced peer is gone: it is reached through the host again, if at all.
void fl__mesh_parted(FlSession *session, int32_t number, FlTime now);

/// Tells the host whom we reach directly.
void fl__mesh_tell_reached(FlSession *session);

/// Sees whether an introduced peer answers, and tells the host. False: it has not for too long.
bool fl__mesh_listen(FlSession *session, int32_t index, FlTime now);

// ---------------------------------------------------------------- succession.c

/// The host is gone. True: the session may go on without it.
bool fl__succession_begin(FlSession *session, FlTime now);

/// A WELCOME came, sent at `stamp` by the sender's link clock, and we are in already.
void fl__succession_heard(FlSession *session, int32_t index, const Welcome *w, FlTime stamp);

/// Host: a member was lost. Where nobody has followed us, and nobody is left, the session ends.
void fl__succession_parted(FlSession *session, FlLeft left, FlTime now);

// ---------------------------------------------------------------- lanes.c

/// We are in: the crowd begins. False: no memory.
bool fl__lanes_begin(FlSession *session, FlTime now);
void fl__lanes_destroy(FlSession *session);
size_t fl__lanes_bytes(const FlSessionDef *def); // seals not counted
void fl__lanes_meet(FlSession *session, const FlMeetMessage *meet, FlTime now);

/// True: the datagram was a lane's, taken or counted.
bool fl__lanes_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime arrival);
bool fl__lanes_next(FlSession *session, FlTime now, FlOutgoing *out);

/// Host: tells which plane is right for those who are there.
bool fl__lanes_tell_plan(FlSession *session, int32_t line);

// ---------------------------------------------------------------- packet.c

/// Tells all features.
void fl__changed(FlSession *session, const Change *change);

/// A member's things go over this line again, after another way.
void fl__way_changed(FlSession *session, int32_t line, int32_t member);

/// Features have room for one more message from there.
bool fl__features_have_room(const FlSession *session, int32_t line);
void fl__features_advance(FlSession *session, FlTime now);
void fl__features_look(FlSession *session, int32_t line, FlTime now);
FlTime fl__features_deadline(FlSession *session, FlTime now);

void fl__packet_read(FlSession *session, int32_t line, const FlLinkPacket *packet, FlTime arrival);

/// What is wanted over a connection: by whoever comes first, and the earliest of what is wanted
/// later. `rides` is everybody's.
Want fl__packet_want(const FlSession *session, int32_t index, FlTime now);

/// Writes what waits, as much as fits into `room` bytes and `rides` more; room 0: only what rides.
void fl__packet_write(FlSession *session, int32_t index, FlWriter *writer, int32_t room,
                      int32_t rides, FlTime now);

// ---------------------------------------------------------------- manifest.c

size_t fl__manifest_bytes(const FlSessionDef *def);
bool fl__manifest_create(FlSession *session, Manifest *m);
void fl__manifest_destroy(const FlSession *session, Manifest *m);

/// A packet begins; its tag.
uint64_t fl__manifest_begin(Manifest *m);

/// As many updates and states are under way as can be awaited: others wait until some are heard of.
bool fl__manifest_is_full(const Manifest *m);

/// The packet begun carries this. False: no room, its arrival will not be known.
bool fl__manifest_add(Manifest *m, Item item);

/// Learns what became of packets, and what that means for what they carried.
void fl__manifest_settle(FlSession *session, int32_t index, FlTime now);

/// Every item of a feature whose packet's fate is not known is lost, for all it knows.
void fl__manifest_give_up(FlSession *session, int32_t index, uint8_t row);

// ---------------------------------------------------------------- messages.c

/// Reliable messages that came over a line.
void fl__messages_take(FlSession *session, int32_t index, FlTime now);

// ---------------------------------------------------------------- motion.c

/// Wakes the lines to which something has come due since they were last looked at.
void fl__motion_wake(FlSession *session);

// ---------------------------------------------------------------- welcome.c

#define FL__WELCOME_BYTES 20

// ---------------------------------------------------------------- entity.c

Entity *fl__entity_find(const FlSession *session, FlEntityId id);
FlEntityId fl__entity_id(const FlSession *session, const Entity *entity);
Entity *fl__entity_take(FlSession *session, uint32_t number, uint16_t epoch, int32_t owner);

/// Its definition is known, or another: the policy follows it.
void fl__entity_define(FlSession *session, Entity *entity, const FlEntityDef *def, FlTime time);

/// Takes it away here, and tells whom we tell such things.
void fl__entity_remove(FlSession *session, Entity *entity);

static inline bool fl__entity_live(const Entity *entity)
{
    return (entity->generation & 1u) != 0;
}

static inline int32_t fl__entity_slot(const FlSession *session, const Entity *entity)
{
    return (int32_t)(entity - session->entities);
}

/// Whether the entity goes over this line, as things are.
bool fl__entity_goes(const FlSession *session, const Entity *entity, int32_t index);

/// Brings the ledger's watches in line with that: of an entity over one line, over all, or of all
/// entities over one line.
void fl__entity_watch_line(FlSession *session, Entity *entity, int32_t line, FlTime time);
void fl__entity_watch(FlSession *session, Entity *entity, FlTime time);
void fl__line_watch(FlSession *session, int32_t line, FlTime time);

/// Puts an update into the ledger, to be distributed: ours, or one to be passed on.
void fl__entity_export(FlSession *session, Entity *entity, const FlMotion *motion, uint32_t life,
                       FlTime time);

/// Packs a motion of the entity as it travels. Returns its bytes, 0 if it cannot be packed.
int32_t fl__entity_pack(const FlSession *session, const Entity *entity, const FlMotion *motion,
                        uint32_t life, uint8_t *bytes);
void fl__entity_state_news(FlSession *session, const Entity *entity);

/// It is ours from now on.
void fl__entity_adopt(FlSession *session, Entity *entity);

/// It is ours no more: shown as others' are, going on from what we told.
void fl__entity_disown(FlSession *session, Entity *entity, FlTime time);

/// Notifies the game that it has another owner.
void fl__entity_theirs(FlSession *session, const Entity *entity);

/// It is `to`'s from now on, by the host's word.
void fl__entity_pass(FlSession *session, Entity *entity, int32_t to, uint16_t epoch, FlTime time);
void fl__entity_scope(FlSession *session, Entity *entity, int32_t member, bool sees, FlTime time);

// ---------------------------------------------------------------- remote.c

/// The entity that something of epoch `epoch` is about, made if it is new. NULL: it is not to be
/// taken, and counted.
Entity *fl__entity_for(FlSession *session, int32_t index, uint32_t number, uint16_t epoch);

/// An update came in, `bytes` long at `packed`.
void fl__update_take(FlSession *session, int32_t line, FlUpdate *update, uint16_t epoch,
                     const uint8_t *packed, int32_t bytes, const Moment *when);

typedef struct StateMessage {
    uint32_t number;
    uint8_t epoch_low;
    uint16_t version;
    int32_t count;
    const uint8_t *bytes;
} StateMessage;

void fl__state_take(FlSession *session, int32_t line, const StateMessage *m);

/// The host says whose it is: takes a state that came from that one before.
void fl__state_early(FlSession *session, Entity *entity);

/// Keeps a state, if it is newer than what is here.
void fl__state_keep(FlSession *session, Entity *entity, uint16_t version, const uint8_t *bytes,
                    int32_t count);

// ---------------------------------------------------------------- news.c

void fl__news_member(FlSession *session, int32_t number);
void fl__news_entity(FlSession *session, uint32_t number, int32_t except_line);
void fl__news_entity_to(FlSession *session, uint32_t number, int32_t member);

/// Everything that is there, for a line that begins.
void fl__news_all(FlSession *session, int32_t line);

/// Nothing is to be told over a line.
void fl__news_none(FlSession *session, int32_t line);

/// Queues what fits. False: something is left.
bool fl__news_flush(FlSession *session, int32_t line);

/// Queues a reliable message for the host. Errors: as fl_link_send.
FlResult fl__tell_host(FlSession *session, const FlWriter *writer);

/// What an entity is, as ENTITY carries it. Reading: false if no sender writes that.
int32_t fl__traits_write(const FlEntityDef *def, uint8_t bytes[FL_GROUP_TRAIT_BYTES]);
bool fl__traits_read(const FlEntityMessage *m, FlEntityDef *def);

// ---------------------------------------------------------------- call_hit.c

/// A hit that cannot be: it has no sound arguments, or is not what we showed the shooter. What
/// others show it they look at. Any other call can be.
bool fl__call_impossible(FlSession *session, const Entity *entity, const FlCallMessage *m,
                         FlTime now);

// ---------------------------------------------------------------- call.c

/// Sends what is due.
void fl__call_update(FlSession *session, FlTime now);

/// What goes with an entity to its next owner. Written with its kind.
void fl__estate_write(const FlSession *session, const Entity *entity, uint16_t epoch, FlWriter *w);

/// An entity was given away: calls that wait for us go after it.
void fl__call_follow(FlSession *session, const Entity *entity);

// ---------------------------------------------------------------- orphan.c

/// A member is gone: what it owned and is worth keeping is an orphan from now on, the rest goes.
void fl__orphans_make(FlSession *session, int32_t owner);

/// Host: somebody's things are to be given to others: asks what is known of them. `all`: we are the
/// host since now.
void fl__orphans_ask(FlSession *session, bool all, FlTime now);
bool fl__orphans_of(const FlSession *session, int32_t owner);

// ---------------------------------------------------------------- telling.c

/// What the bytes mean, and over which line they go.
typedef struct Telling {
    uint8_t section; // its kind
    uint8_t most;    // no byte is larger
    bool (*goes_fn)(const FlSession *session, const Entity *entity, int32_t line);
    uint8_t (*tell_fn)(Entity *entity); // the byte, which is told now
    /// Slot FL__NONE: of something that is not known here.
    void (*heard_fn)(FlSession *session, int32_t line, int32_t slot, uint8_t value);
} Telling;

void fl__telling_due(TellingDue *due, int32_t slot);

/// It rides in every packet, but is no reason for one.
Want fl__telling_want(const FlSession *session, const Telling *t, const TellingDue *due,
                      int32_t index);
void fl__telling_write(const Telling *t, TellingDue *due, PacketOut *out);
bool fl__telling_skip(const FlSession *session, const Telling *t, FlReader *r);
void fl__telling_take(const Telling *t, PacketIn *in);

// ---------------------------------------------------------------- guide.c

/// How an update that is due goes.
typedef enum GuideWay {
    GUIDE_NONE,    // as it is
    GUIDE_BESIDE,  // and guidance beside it
    GUIDE_INSTEAD, // guidance in its place
} GuideWay;

GuideWay fl__guide_way(const FlSession *session, int32_t index, int32_t slot, FlTime time);

/// Bytes of a section with an entity's guidance; and writing it.
int32_t fl__guide_bytes(const FlSession *session, int32_t slot);
void fl__guide_write(FlSession *session, int32_t slot, FlWriter *w, bool beside);

/// Something is about to go to a receiver: how long after what went before.
void fl__guide_learn(FlSession *session, int32_t index, int32_t slot, FlTime time);

/// An update arrived, where there is a replica.
void fl__guide_snapshots(Entity *entity, FlTime arrived);

// ---------------------------------------------------------------- upload.c

/// What links share; NULL: nothing.
FlBudget *fl__upload_budget(FlSession *session);
void fl__upload_start(FlSession *session, FlTime now);

/// Bytes that may go now, besides headers; below 0: nothing may. INFINITY without a limit.
double fl__upload_left(FlSession *session, FlTime now);

/// The line that the next round begins with.
int32_t fl__upload_turn(const FlSession *session);

/// An update takes the place of one that waited for bytes: counts whom it never went to.
void fl__upload_replaced(FlSession *session, int32_t slot);

/// A datagram goes out. `counted_bytes` of it the link has told the budget.
void fl__upload_sent(FlSession *session, FlTime now, int32_t datagram_bytes, int32_t counted_bytes);

/// A packet was made: what was in it besides payload is shared by its updates.
void fl__upload_learn(FlSession *session, int32_t packet_bytes, int32_t payload_bytes);

#endif
