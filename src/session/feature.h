// What a feature is: something that packets carry between members.
#ifndef FAIRLEAD_SESSION_FEATURE_H
#define FAIRLEAD_SESSION_FEATURE_H

#include "fairlead/session.h"

typedef struct Line Line;
typedef struct Entity Entity;

/// When a packet came over a line, in session time.
typedef struct Moment {
    FlTime arrived; // as the sender will know it
    FlTime near;    // what updates' times are unwrapped against
    FlTime sent;    // by the sender's session time; INT64_MIN: not known
} Moment;

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
    int32_t line;
    int32_t from; // the member at its other end
    uint8_t kind; // of the section; the reader stands behind it
    FlReader *r;
    const FlLinkPacket *packet;
    FlTime arrival;
    bool timed; // `when` is known: after a WELCOME in the same packet, which says what time it is
    Moment when;
} PacketIn;

/// A payload being written.
typedef struct PacketOut {
    FlSession *session;
    int32_t index;
    Line *line;
    FlWriter *w;
    bool only_rides;
    int32_t left; // bytes
    FlTime now;   // caller's
    FlTime time;  // session's
    uint8_t row;  // who writes
} PacketOut;

/// What a feature wants to send over a connection.
typedef struct Want {
    FlTime at;        // a packet is wanted then; FL_FOREVER: none is
    FlTime gather_ns; // it may wait so much longer for company
    int32_t bytes;    // what comes first takes at most so many
    int32_t rides;    // bytes that go in every packet, whatever the budget, but are no reason for one
} Want;

static inline Want fl__want_none(void)
{
    Want none = {FL_FOREVER, 0, 0, 0};
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
    int32_t line;
    int32_t from; // the member's number
    bool from_host;
    uint8_t kind;
    int32_t bytes; // all of it, in session->message
    FlReader *r;
    FlTime now;
    FlTime time; // session's
} MessageIn;

/// What features need to know of each other's doings.
typedef enum ChangeKind {
    CHANGE_LINE_OPENED, // `line`
    CHANGE_LINE_CLOSED,
    CHANGE_MEMBER_CAME, // `member`
    CHANGE_MEMBER_LEAVES, // it is still there,
    CHANGE_MEMBER_LEFT,   // or no longer
    CHANGE_ENTITY_MADE, // `entity`
    CHANGE_ENTITY_MOVED, // to another owner
    CHANGE_ENTITY_GONE,
} ChangeKind;

typedef struct Change {
    ChangeKind kind;
    int32_t line;
    int32_t member;
    Entity *entity;
    FlTime now;
} Change;

/// Kinds of sections and messages: from `first` on, `count` of them.
typedef struct Kinds {
    uint8_t first, count;
} Kinds;

/// Something that packets carry between members. Every function may be NULL. `self` is the
/// feature's own state. Rows of the table are written in its order.
typedef struct Feature {
    const char *name;
    Kinds sections; // in packets
    Kinds messages; // reliable ones
    bool hosts;     // only hosts say its messages, or are told them
    bool first;     // its sections are taken before we are in
    bool rides;     // it goes in every packet, whatever the budget
    bool repeats;   // what it sends is sent again as soon as it seems lost
    void (*advance)(void *self, FlTime now); // decisions over all connections, time-outs
    FlTime (*deadline)(void *self, FlTime now); // when it wants to advance
    Want (*want)(const void *self, int32_t line, FlTime now); // changes nothing
    void (*write)(void *self, PacketOut *out); // as much as fits
    bool (*skip)(const void *self, PacketIn *in); // structure only. False: no sender writes that
    void (*take)(void *self, PacketIn *in);
    bool (*message)(void *self, MessageIn *in); // false: no sender writes that
    void (*outcome)(void *self, int32_t line, const Item *item, const Fate *fate);
    void (*look)(void *self, int32_t line, FlTime now); // a connection's turn has come
    void (*changed)(void *self, const Change *change);
} Feature;

/// Kinds of sections in packets. spec/WIRE.md section 7
enum {
    SECTION_MOTION = 1,
    SECTION_MOTION_EPOCH = 2,
    SECTION_STATE = 3,
    SECTION_INPUTS = 4,
    SECTION_WELCOME = 5,
    SECTION_MAPPING = 6,
    SECTION_REPORT = 7,
    SECTION_ATTENTION = 8,
    SECTION_GUIDED = 9,
    SECTION_NEAR = 10,
};

#define FEATURES_AT_MOST 24
#define KINDS_AT_MOST 64

/// A session's features, and who has which kinds.
typedef struct Features {
    const Feature *row[FEATURES_AT_MOST];
    void *self[FEATURES_AT_MOST];
    int32_t count;
    uint8_t by_section[KINDS_AT_MOST]; // row plus one; 0: nobody's
    uint8_t by_message[KINDS_AT_MOST];
} Features;

#endif
