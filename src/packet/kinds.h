// The kinds of everything that sessions send to each other, numbered in one place.
//
// A packet's payload is sections, a link's reliable data is messages; the first byte of each is its
// kind. spec/WIRE.md has the same two tables (sections 7 and 8); tools/check_kinds.py compares
// them. A new kind is one row here and one there, and the feature that has it
// (docs/architecture.md).
#ifndef FAIRLEAD_PACKET_KINDS_H
#define FAIRLEAD_PACKET_KINDS_H

/// Who may send a kind at all, as the receiver sees it: its host, a member to us as its host, or an
/// introduced peer. What else proves a statement is asked where it is taken
/// (docs/decisions/0021-who-may-say-what.md).
enum {
    FROM_HOST = 1,
    FROM_MEMBER = 2,
    FROM_PEER = 4,
    FROM_BOTH = FROM_HOST | FROM_MEMBER, // not introduced peers
    FROM_ALL = FROM_BOTH | FROM_PEER,
};

/// Kinds of sections: X(name, number, who may send it, what it is).
#define SECTION_TABLE(X)                                                                           \
    X(MOTION, 1, ALL, "where entities are")                                                        \
    X(MOTION_EPOCH, 2, ALL, "the same, of entities whose epoch is not zero")                       \
    X(STATE, 3, ALL, "an entity's state blob")                                                     \
    X(INPUTS, 4, ALL, "what a player did")                                                         \
    X(WELCOME, 5, ALL, "the host's first words: the time, your number, who hosts")                 \
    X(CLOCK_OFFSET, 6, ALL, "by what clock offset a receiver places arrivals")                     \
    X(REPORT, 7, HOST, "how an entity of yours is seen")                                           \
    X(ATTENTION, 8, ALL, "how much the sender looks at entities")                                  \
    X(GUIDED, 9, ALL, "where entities will be, in place of updates or beside them")                \
    X(NEAR, 10, ALL, "whether guidance is wanted beside updates")                                  \
    X(SHOWN, 11, ALL, "how the sender shows entities, for judging its shots")                      \
    X(OWN, 12, HOST, "the state of what the receiver plays")                                       \
    X(FIELDS, 13, ALL, "groups of an entity's fields")                                             \
    X(UNRELIABLE, 14, ALL, "an event that may be lost")                                            \
    X(CARRIED, 15, ALL, "where entities of others are, forwarded to one that asked")               \
    X(FORWARD, 16, ALL, "whom to ask for an entity of the sender's")                               \
    X(SPARE, 17, ALL, "how many receivers the sender could forward to on top")

/// Kinds of reliable messages: X(name, number, who may send it, what it is). Those from EVENT
/// to SNAPSHOT are routed: a host relays them.
#define MESSAGE_TABLE(X)                                                                           \
    X(MEMBER, 1, HOST, "a member is in the session, or has left")                                  \
    X(PLAN, 2, HOST, "a crowd's plane")                                                            \
    X(MEET, 3, HOST, "two members should talk directly")                                           \
    X(REACH, 4, MEMBER, "whether the sender reaches a member directly")                            \
    X(WANT, 5, MEMBER, "asks to be introduced to a member")                                        \
    X(ENTITY, 6, BOTH, "an entity is there, and whose it is")                                      \
    X(ENTITY_END, 7, BOTH, "an entity is there no longer")                                         \
    X(GIVE, 8, MEMBER, "the owner hands an entity on")                                             \
    X(SCOPE, 9, MEMBER, "whether a member may see an entity")                                      \
    X(ASK, 10, HOST, "asks for claims to entities without owner")                                  \
    X(CLAIM, 11, MEMBER, "what a member knows of an entity")                                       \
    X(CLAIMED, 12, MEMBER, "the member has sent all its claims")                                   \
    X(CALL, 13, ALL, "asks an owner for a change")                                                 \
    X(ANSWER, 14, ALL, "the owner's decision on a call")                                           \
    X(HANDOVER, 15, BOTH, "what a new owner must know")                                            \
    X(EVENT, 16, ALL, "routed: a message of the game")                                             \
    X(LAGS, 17, ALL, "routed: measures and agrees on local lags")                                  \
    X(ACTION, 18, ALL, "routed: something that a player did")                                      \
    X(HASHES, 19, ALL, "routed: hashes of settled states")                                         \
    X(TICK_RANGE, 20, ALL, "routed: inputs of one player for some ticks")                          \
    X(ENTER, 21, ALL, "routed: a member plays from a tick on")                                     \
    X(SNAPSHOT, 22, ALL, "routed: a part of a settled state")                                      \
    X(KIND, 23, ALL, "how the sender defines a kind of entities")                                  \
    X(REFRESH, 24, ALL, "asks for an entity's state or fields again")

typedef enum SectionKind {
#define SECTION_ROW(name, number, who, what) SECTION_##name = (number),
    SECTION_TABLE(SECTION_ROW)
#undef SECTION_ROW
} SectionKind;

typedef enum MessageKind {
#define MESSAGE_ROW(name, number, who, what) MESSAGE_##name = (number),
    MESSAGE_TABLE(MESSAGE_ROW)
#undef MESSAGE_ROW
} MessageKind;

#endif
