// Private to module `attention`.
//
//   attention.c        how much we look at others' entities, and others at what we serve
//   overlay.c          where many look at one: sections, and what we ask of whom
//   overlay_owner.c    whom an owner sends on to whom
//   overlay_forward.c  what we forward
//   overlay_base.c     what is kept of it, and how many our upload carries
#ifndef FAIRLEAD_ATTENTION_PRIVATE_H
#define FAIRLEAD_ATTENTION_PRIVATE_H

#include "attention/attention.h"

#define UNSENT (-1)

/// How much we look at one entity.
typedef struct Look {
    int32_t connection; // over which it is sent
    int16_t sent;       // in 1/255; UNSENT: nothing
    uint8_t value;
    float attention; // as the game said it
} Look;

/// A member that forwards another's entity to us.
typedef struct Source {
    int32_t via;   // the connection to it; FL__NONE: the entity comes from its owner only
    int32_t tell;  // over which it learns how much we look; after the end, too
    int16_t sent;  // what it knows; UNSENT: nothing
    bool delivers; // what it forwards comes
    FlTime asked;  // since then
    FlTime next;   // it is asked again
    int32_t avoid; // a connection to one that was no good,
    FlTime avoid_until;
} Source;

/// An entity of ours that another member forwards to a receiver; both are connections.
typedef struct SentOn {
    int32_t slot, receiver;
    int32_t forwarder; // FL__NONE: no more, and the receiver is still to learn so
    bool due;          // it is still to learn of this
    FlTime since;      // it has looked at us since then, although it was sent on
} SentOn;

/// An entity of another member that we forward to one that asked.
typedef struct Forwarded {
    int32_t slot, connection;
    FlTime asked; // last
} Forwarded;

/// What another member can do, as far as we know.
typedef struct Helper {
    uint8_t spare;      // receivers that it could forward to on top,
    uint8_t lent;       // of these, whom we have sent there since it said so
    FlTime rests;       // it was no good: not before this
    uint8_t spare_sent; // what it knows of our own
    FlTime tell_due;    // and is to learn again then; FL_FOREVER: we look at nothing of its own
    bool urgent;        // a packet is wanted
} Helper;

typedef struct Overlay {
    Source *sources; // [entity slot]; NULL: a crowd's
    HintsDue due;    // by slot: a source is to learn how much we look
    SentOn *sent_on; // [pairs]
    int32_t sent_on_count;
    Forwarded *forwarded; // [pairs]
    int32_t forwarded_count;
    int32_t pairs;
    Helper *helpers; // [connection]
    FlTime next;     // all is looked after again
    FlTime full_at;  // when our upload last carried hardly more
} Overlay;

struct Attention {
    Look *looks; // [entity slot]
    HintsDue due;
    Overlay overlay;
};

// ---------------------------------------------------------------- attention.c

/// What the owner learns of how much we look has to be thought of again.
void fl__attention_refresh(FlSession *session, int32_t slot);

// ---------------------------------------------------------------- overlay_base.c

/// Whoever looks at least so much, of 255, wants every frame.
#define LOOKS_MUCH 64

bool fl__overlay_is_active(const FlSession *session);
bool fl__overlay_has_sources(const FlSessionDef *def);
FlResult fl__overlay_create(FlSession *session);
void fl__overlay_destroy(FlSession *session);

/// Entities with policies that know who looks, which are not private.
bool fl__overlay_serves(const FlSession *session, int32_t slot);

/// The one at the other end looks much at what we serve it with.
bool fl__overlay_looks(const FlSession *session, int32_t slot, int32_t connection);

/// Receivers that our upload would carry on top, every frame; below 0: too many already.
int32_t fl__overlay_room(const FlSession *session);

/// Others' entity: what a forwarder sends of it comes, so its owner need not.
bool fl__overlay_delivers(const FlSession *session, int32_t slot);

/// Others' entity: the most that anybody looks, of 255, to whom we forward it.
uint8_t fl__overlay_forwarded_value(const FlSession *session, int32_t slot);

/// NULL: it was not sent on.
SentOn *fl__overlay_sent_on(const FlSession *session, int32_t slot, int32_t receiver);

// ---------------------------------------------------------------- overlay_forward.c

/// A member looks at another's entity, and would have us forward it. True: we do.
bool fl__overlay_asked(FlSession *session, int32_t slot, int32_t connection, uint8_t value);

/// Ends one; its place is another's.
void fl__overlay_forward_end(FlSession *session, Forwarded *at);

/// Ends the next that no member wants any more, or our upload does not carry. Returns its slot;
/// FL__NONE: there is none.
int32_t fl__overlay_forward_ended(FlSession *session, FlTime time);

// ---------------------------------------------------------------- overlay_owner.c

void fl__overlay_own(FlSession *session, FlTime time);

/// Of this slot, or over this connection; FL__NONE: of none.
void fl__overlay_own_forget(FlSession *session, int32_t slot, int32_t connection);

#endif
