// Private to module `packet`.
//
//   feature.c   the table of features, and loops over it
//   manifest.c  what each packet carried, until its fate is known
//   rights.c    who may send which kind
//   packet.c    payloads: skipped, taken, written
//   messages.c  reliable messages: announcements, and to their feature
//   outgoing.c  connections opened and closed; when a packet goes, and what is in it
#ifndef FAIRLEAD_PACKET_PRIVATE_H
#define FAIRLEAD_PACKET_PRIVATE_H

#include "packet/packet.h"

#define FEATURES_AT_MOST 24
#define KINDS_AT_MOST 64

/// Rows of the table, one bit each.
typedef uint32_t Rows;

_Static_assert(FEATURES_AT_MOST <= 32, "a bit each");

/// A session's features, and who has which kinds.
typedef struct Features {
    const Feature *row[FEATURES_AT_MOST];
    void *self[FEATURES_AT_MOST];
    int32_t count;
    Rows wanting, writing, looking, announcing, limiting, changing; // those that have the function
    uint8_t by_section[KINDS_AT_MOST];                              // row plus one; 0: no feature's
    uint8_t by_message[KINDS_AT_MOST];
} Features;

/// The first of some rows, which are one fewer then; there must be one.
static inline int32_t fl__rows_take(Rows *rows)
{
    int32_t row = fl__bit_lowest(*rows);
    *rows &= *rows - 1;
    return row;
}

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

/// What goes out over one connection.
typedef struct Outbox {
    Manifest manifest;
    FlTime gather_until; // updates are waiting for others until then; FL_FOREVER: none is waiting
    bool blocked;        // something waits for room in its reliable queue,
    bool full;           // an event
    bool tight;          // bytes were short since all that was due went out
} Outbox;

struct Packets {
    Features features;
    Outbox *outboxes;              // [connection]
    uint8_t message[MESSAGE_ROOM]; // a reliable message being written or read
};

static inline Outbox *fl__outbox(const FlSession *session, int32_t connection)
{
    return &session->packets->outboxes[connection];
}

// ---------------------------------------------------------------- feature.c

void fl__features_look(FlSession *session, int32_t connection, FlTime now);

// ---------------------------------------------------------------- rights.c

/// Whether that speaker may send the kind, by kinds.h. Kinds that are not in its tables: yes.
bool fl__may_send_section(uint8_t kind, uint8_t speaker);
bool fl__may_send_message(uint8_t kind, uint8_t speaker);

// ---------------------------------------------------------------- packet.c

/// What is wanted over a connection: by whoever comes first, and the earliest of what is wanted
/// later. `rides` and `first` are everybody's.
Want fl__packet_want(const FlSession *session, int32_t connection, FlTime now);

/// Writes what waits, as much as fits into `room` bytes and `rides` more; room 0: only what rides.
void fl__packet_write(FlSession *session, int32_t connection, FlWriter *writer, int32_t room,
                      int32_t rides, FlTime now);

// ---------------------------------------------------------------- manifest.c

size_t fl__manifest_bytes(const FlSessionDef *def);
bool fl__manifest_create(FlSession *session, Manifest *m);
void fl__manifest_destroy(const FlSession *session, Manifest *m);

/// A packet begins; its tag.
uint64_t fl__manifest_begin(Manifest *m);

#endif
