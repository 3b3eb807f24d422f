// A session is the sum of its modules. This is what they share: who we are, the parts by name, the
// counters, and the notices that wait for the game.
//
//   session      puts it together, datagrams in and out
//   play         what games say to each other: events, inputs, actions, timelines, calls
//   crowd        who relays for whom, over light connections
//   attention, guidance, rewind
//   entity       replicated things
//   member       who is here
//   packet       what packets carry: the table of features
//   connection   how to reach one member
//
// A module's struct is defined in its private header, which no other module includes. Calls go
// down this list; what must go up goes through the table of features (packet/feature.h).
#ifndef FAIRLEAD_KERNEL_H
#define FAIRLEAD_KERNEL_H

#include "base/private.h"
#include "fairlead/session.h"

typedef struct Connections Connections;
typedef struct Packets Packets;
typedef struct Members Members;
typedef struct Entities Entities;
typedef struct Attention Attention;
typedef struct Guidance Guidance;
typedef struct Rewind Rewind;
typedef struct LightConnections LightConnections;
typedef struct Calls Calls;
typedef struct FlPlay FlPlay;
typedef struct Notices Notices;
typedef struct Run Run;

/// What players say about themselves, as it travels: in a token of an invite, or in JOIN.
#define FL__ABOUT (1 + FL_NAME_BYTES + 1 + FL_ABOUT_BYTES)

struct FlSession {
    FlSessionDef def;
    FlWorld world;
    FlRandom random;
    FlTime created; // the caller's clock at creation
    FlTime now;     // and the latest time on it that came with a call

    // Sizes, which stay.
    int32_t connection_count; // connections that there can be
    int32_t member_count;     // numbers of members that there can be
    int32_t member_words;     // of a set of members,
    int32_t entity_words;     // of entity slots,
    int32_t number_words;     // and of entity numbers

    // Who we are. Module `member` changes it.
    FlSessionState state;
    FlTopology topology;
    int32_t self;       // our number; FL__NONE until the host has said it
    int32_t host;       // the host's
    uint16_t term;      // counts hosts, on a circle
    int32_t seat_count; // members of the session, as its first host says; at most member_count
    uint32_t id_range;  // entity numbers per member
    bool complete;      // everything that was there when we joined is known here
    bool in;            // and the time: for the game the session runs
    bool end_seen;      // a deadline has made the game look
    bool wakes;         // something has come that the game can take: pumping returns
    FlEnd end;          // why it ended,
    char end_text[512]; // and in words

    uint8_t about[FL__ABOUT]; // our name and what we say about ourselves, as it travels

    Connections *connections;
    Packets *packets;
    Members *members;
    Entities *entities;
    Attention *attention;
    Guidance *guidance;
    Rewind *rewind; // NULL: nothing is kept for it
    LightConnections *lights;
    FlPlay *play;
    Calls *calls;
    Notices *notices;
    Run *run;                   // its transport; NULL: the game drives it
    const FlTimeline *timeline; // the game's, while there is one: nothing changes while it plays
    uint64_t count[FL_SESSION_COUNTS];
};

static inline bool fl__is_host(const FlSession *session)
{
    return session->self == session->host && session->self != FL__NONE;
}

static inline void fl__count(FlSession *session, FlSessionCount which)
{
    session->count[which]++;
}

/// The game's timeline is playing, so nothing may be changed; counted.
bool fl__replaying(FlSession *session);

/// Ends it, once: the first reason stands. The sentence is for people.
void fl__session_end(FlSession *session, FlEnd why, const char *format, ...) FL__PRINTF(3, 4);

/// A player's name and what it says about itself, as it travels; returns its bytes. Reading: false
/// if no sender writes that. spec/WIRE.md section 7.1
int32_t fl__about_write(const FlSessionDef *def, uint8_t bytes[FL__ABOUT]);
bool fl__about_read(const uint8_t *bytes, int32_t count, FlPeerStatus *status);

/// Another's words for people: whatever is not UTF-8, or a control character, becomes '?'.
void fl__text_clean(char *text);

/// Something happened that is worth a line in a log. Not for what a peer can make happen often.
void fl__note(const FlSession *session, const char *format, ...) FL__PRINTF(2, 3);

/// A counter's word; "unknown" for a number that is none.
const char *fl__session_count_name(FlSessionCount which);

/// Unix time; 0 where the session was made without.
static inline uint64_t fl__unix_s(const FlSession *session, FlTime now)
{
    return session->def.unix_s + (uint64_t)(fl_span(now, session->created) / FL_SEC(1));
}

// ---------------------------------------------------------------- notice.c

FlResult fl__notices_create(FlSession *session);
void fl__notices_destroy(FlSession *session);
size_t fl__notices_bytes(const FlSessionDef *def);
void fl__notice(FlSession *session, const FlNotice *notice);

/// An entity begins: nothing waits.
void fl__notice_begin(FlSession *session, int32_t slot);

/// An entity ends: what waits of it is pointless. False: the game does not know it.
bool fl__notice_forget(FlSession *session, int32_t slot);

#endif
