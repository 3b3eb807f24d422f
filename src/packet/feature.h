// What a feature is: something that packets carry between members.
#ifndef FAIRLEAD_PACKET_FEATURE_H
#define FAIRLEAD_PACKET_FEATURE_H

#include "connection/connection.h"
#include "packet/kinds.h"

/// One thing that a packet carried, until it is known what became of it.
typedef struct Item {
    uint8_t row;    // of the feature that it belongs to
    uint16_t index; // entity slot, or member
    uint32_t value; // serial, version, low bits of a tick, attention, or near
} Item;

/// A payload being read, at a section. All sections are skipped once before any is taken, so a
/// payload with a fault in it has no effect at all.
typedef struct PacketIn {
    FlSession *session;
    int32_t connection;
    int32_t from; // the member at its other end
    uint8_t kind; // of the section; the reader stands behind it
    FlReader *r;
    const FlLinkPacket *packet;
    FlTime arrival;
    bool timed; // `when` is known: after a WELCOME in the same packet, which says what time it is
    PacketTimes when;
    bool taking;     // all were skipped
    int32_t updates; // so many of the payload's were passed
} PacketIn;

/// A payload being written.
typedef struct PacketOut {
    FlSession *session;
    int32_t connection;
    FlWriter *w;
    bool only_rides;
    bool tight;   // the budget is too small for all that is due: the most important goes first
    int32_t left; // bytes
    int32_t items_left; // updates and states are noted only while it is above 0
    FlTime now;         // caller's
    FlTime time;        // session's
    uint8_t row;        // who writes
    struct Manifest *manifest;
} PacketOut;

/// What a feature wants to send over a connection.
typedef struct Want {
    FlTime at;        // a packet is wanted then; FL_FOREVER: none is
    FlTime gather_ns; // it may wait so much longer for company
    int32_t bytes;    // what comes first takes at most so many
    int32_t rides; // bytes that go in every packet, whatever the budget, but are no reason for one
    int32_t first; // bytes that go before all others: nothing is understood without them
} Want;

static inline Want fl__want_none(void)
{
    Want none = {FL_FOREVER, 0, 0, 0, 0};
    return none;
}

/// What became of a packet.
typedef struct Fate {
    bool delivered;
    FlTime sent, arrived, now; // session time
    FlTime arrived_remote;     // the other end's link clock
} Fate;

/// A reliable message as it came; its kind has been read.
typedef struct MessageIn {
    FlSession *session;
    int32_t connection;
    int32_t from;    // the member's number
    uint8_t speaker; // FROM_HOST, FROM_MEMBER or FROM_PEER: the kind may come from it
    uint8_t kind;
    int32_t bytes; // all of it
    FlReader *r;
    FlTime now;
    FlTime time; // session's
} MessageIn;

/// What features need to know of each other's doings.
typedef enum ChangeKind {
    CHANGE_CONNECTION_OPENED, // `connection`
    CHANGE_CONNECTION_CLOSED,
    CHANGE_CONNECTION_FAILED, // its member is not reached any more: `left`
    CHANGE_CONNECTION_READY,  // what goes over it has to be looked at again
    CHANGE_ANNOUNCE_ALL,      // over it: the other end may know nothing of what is there,
    CHANGE_ANNOUNCE_NOTHING,  // or it is not for us to say any more
    CHANGE_MEMBER_CAME,       // `member`
    CHANGE_MEMBER_LEAVES,     // it is still there,
    CHANGE_MEMBER_LEFT,       // or no longer
    CHANGE_ROUTE,             // `member`'s things go over `connection` again, after another way
    CHANGE_REACH,             // whom members reach without us (fl__reach_changed)
    CHANGE_INTRODUCED,        // `meet`, where members have light connections
    CHANGE_COMPLETE,          // everything that was there when we joined is known
    CHANGE_HOST_LOST,         // the session goes on without it:
    CHANGE_HOST_SELF,         // we lead,
    CHANGE_HOST_OTHER,        // or another one does
    CHANGE_ENTITY_MADE,       // `slot`
    CHANGE_ENTITY_DEFINED,    // or defined anew
    CHANGE_ENTITY_DETAIL,     // it is watched now, and has a detail
    CHANGE_ENTITY_MOVED,      // to another owner
    CHANGE_ENTITY_GIVEN,      // by us
    CHANGE_ENTITY_STATE,      // others' has a newer state
    CHANGE_ENTITY_SHOWN,      // another way, by the game
    CHANGE_ENTITY_GONE,
    CHANGE_ATTENTION, // `slot`: we look at it more or less
} ChangeKind;

typedef struct Change {
    ChangeKind kind;
    int32_t connection;
    int32_t member;
    int32_t slot; // of an entity
    FlLeft left;
    const struct MeetMessage *meet;
    FlTime now;
} Change;

/// Kinds of sections or of messages: from `first` on, `count` of them.
typedef struct Kinds {
    uint8_t first, count;
} Kinds;

/// Something that packets carry between members. Every function may be NULL. `self` is the
/// feature's own state. Rows of the table are written in its order.
typedef struct Feature {
    const char *name;
    Kinds sections;                          // in packets
    Kinds messages;                          // reliable ones
    bool first;                              // its sections are taken before we are in
    bool rides;                              // it goes in every packet, whatever the budget
    bool repeats;                            // what it sends is sent again as soon as it seems lost
    void (*advance)(void *self, FlTime now); // decisions over all connections, time-outs
    FlTime (*deadline)(void *self, FlTime now);                     // when it wants to advance
    Want (*want)(const void *self, int32_t connection, FlTime now); // changes nothing
    void (*write)(void *self, PacketOut *out);                      // as much as fits
    bool (*skip)(const void *self, PacketIn *in); // structure only. False: no sender writes that
    void (*take)(void *self, PacketIn *in);
    bool (*room)(const void *self, int32_t connection); // false: no message is taken from there
    bool (*message)(void *self, MessageIn *in);         // false: no sender writes that
    void (*outcome)(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate); // of what a packet carried, or a part of it
    void (*look)(void *self, int32_t connection, FlTime now); // its turn has come
    void (*changed)(void *self, const Change *change);
    bool (*announce)(void *self, int32_t connection); // queues it. False: something is left
    bool (*holds)(const void *self, int32_t member);  // of a leaver: its number is not given again
    bool (*keeps)(const void *self, int32_t slot);    // an entity, which cannot be given away now
    void (*handover)(void *self, int32_t slot, uint16_t epoch,
                     FlWriter *w); // goes to its next owner
} Feature;

#endif
