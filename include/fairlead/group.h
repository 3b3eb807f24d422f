// fairlead/group.h: who belongs to a session, and who owns what.
//
// The host is the authority on membership and ownership. What it knows travels as *announcements*:
// the present truth about one member or one entity number, sent reliably to whoever has not got it
// yet. A later announcement replaces an earlier one, so a peer that is behind skips what is past,
// and a late joiner gets everything by the same way.
//
// Ownership has *epochs*: a number that counts the owners (and reincarnations) of an entity number.
// Whatever carries an older epoch is dropped. Epochs live on a circle of 2^16.
//
// Threads: nothing here keeps state of its own.
#ifndef FAIRLEAD_GROUP_H
#define FAIRLEAD_GROUP_H

#include "fairlead/base.h"
#include "fairlead/wire.h"

/// Who talks to whom.
typedef enum FlTopology {
    FL_TOPOLOGY_STAR,   ///< Everybody with the host, which passes on.
    FL_TOPOLOGY_MESH,   ///< Introduced peers directly; who cannot reach each other does not meet.
    FL_TOPOLOGY_HYBRID, ///< Directly where it works, through the host where it does not.
    FL_TOPOLOGY_CROWD,  ///< Many players over few lanes (room `crowd`); the host introduces only.
} FlTopology;

/// How somebody left. All but the first are the host's doing, which says so to whom it sends away.
/// X(name, words)
#define FL_LEFT_TABLE(X)                                                                           \
    X(GOODBYE, "said goodbye")                                                                     \
    X(TIMED_OUT, "not heard from for longer than the time-out")                                    \
    X(REMOVED, "sent away by the host's game")                                                     \
    X(BEHIND, "too far behind with inputs: more than `input_ticks` of them did not arrive")        \
    X(TOO_FAST, "sent inputs faster than the others can take them")                                \
    X(UNANSWERED, "did not say what it has of a player who left")                                  \
    X(STALLED,                                                                                     \
      "did not take its messages, and held up others': call fl_event_take until it is empty")

typedef enum FlLeft {
#define FL_LEFT_ROW(name, words) FL_LEFT_##name,
    FL_LEFT_TABLE(FL_LEFT_ROW)
#undef FL_LEFT_ROW
        FL_LEFT_COUNT
} FlLeft;

/// In words, for people; lives for ever.
FL_API const char *fl_left_text(FlLeft left);

// ---------------------------------------------------------------- epochs

/// True if `a` is a later epoch than `b`, on the circle.
static inline bool fl_epoch_newer(uint16_t a, uint16_t b)
{
    uint16_t ahead = (uint16_t)(a - b);
    return ahead != 0 && ahead < 0x8000u;
}

/// The epoch nearest to `near` with these low eight bits.
FL_API uint16_t fl_epoch_unwrap(uint16_t near, uint8_t low);

// ---------------------------------------------------------------- messages

/// The kinds of reliable messages between sessions; the first byte of each.
typedef enum FlGroupKind {
    FL_GROUP_EVENT = 1,
    FL_GROUP_MEMBER = 2,
    FL_GROUP_ENTITY = 3,
    FL_GROUP_ENTITY_END = 4,
    FL_GROUP_GIVE = 5,
    FL_GROUP_SCOPE = 6,
    FL_GROUP_MEET = 7,
    FL_GROUP_REACH = 8,
    FL_GROUP_WANT = 9,
    FL_GROUP_PLAN = 10,
    FL_GROUP_CALL = 16, ///< These are room `agree`'s.
    FL_GROUP_ANSWER = 17,
    FL_GROUP_ESTATE = 18,
    FL_GROUP_ASK = 19,
    FL_GROUP_CLAIM = 20,
    FL_GROUP_CLAIMED = 21,
} FlGroupKind;

/// No message but an event is longer.
#define FL_GROUP_MESSAGE_BYTES 320

/// Events: to whom. FL_EVENT_TO_ALL, or a list of members' numbers.
#define FL_EVENT_TO_ALL 0
#define FL_EVENT_TO_AT_MOST 64

/// What precedes the game's bytes in an event.
typedef struct FlEventHead {
    uint16_t from; ///< Members' numbers.
    uint16_t type;
    uint8_t delivery; ///< As it is to be passed on: 0 ordered, 1 unordered, 2 quickest.
    int32_t to_count; ///< FL_EVENT_TO_ALL: all others.
    uint16_t to[FL_EVENT_TO_AT_MOST];
} FlEventHead;

/// Somebody is in the session, or no longer.
typedef struct FlMemberMessage {
    uint16_t number;
    uint32_t incarnation; ///< Counts those who had the number.
    bool present;
    FlLeft left;        ///< When not present.
    uint64_t client_id; ///< When present.
} FlMemberMessage;

/// What an entity is, in the words of those who make it; of no interest here.
#define FL_GROUP_TRAIT_BYTES 99

/// An entity is there, and whose it is.
typedef struct FlEntityMessage {
    uint16_t number; ///< Of the entity.
    uint16_t epoch;
    uint16_t born;  ///< The epoch it was made in: another one is another entity.
    uint16_t owner; ///< The member's number.
    int32_t trait_bytes;
    uint8_t traits[FL_GROUP_TRAIT_BYTES];
} FlEntityMessage;

/// An entity is there no longer.
typedef struct FlEntityEndMessage {
    uint16_t number;
    uint16_t epoch; ///< The last one.
} FlEntityEndMessage;

/// The owner hands an entity on: it is the host's to say so to everybody.
typedef struct FlGiveMessage {
    uint16_t number;
    uint16_t epoch; ///< The owner's, which ends.
    uint16_t to;
} FlGiveMessage;

/// Who may see a listed entity.
typedef struct FlScopeMessage {
    uint16_t number;
    uint16_t epoch;
    uint16_t member;
    bool sees;
} FlScopeMessage;

/// Room for the words by which two members recognise each other (room `seal` writes them).
#define FL_GROUP_KEY_BYTES 256

/// Two members should talk directly: with keys, or with a conversation number where there are none.
typedef struct FlMeetMessage {
    uint16_t member;
    uint32_t incarnation;
    uint16_t conversation; ///< 1 to 65535; 0: with keys.
    FlAddress address;     ///< Where it is, as the host sees it.
    int32_t key_bytes;     ///< 0: without keys.
    uint8_t keys[FL_GROUP_KEY_BYTES];
} FlMeetMessage;

/// Whether the sender reaches a member directly.
typedef struct FlReachMessage {
    uint16_t member;
    uint32_t incarnation;
    bool direct;
} FlReachMessage;

/// Followed by the game's bytes, to the end.
FL_API void fl_event_head_write(FlWriter *writer, const FlEventHead *head);
FL_API FL_NODISCARD bool fl_event_head_read(FlReader *reader, FlEventHead *head);

// Writers put the kind first. Readers start after it and fail on anything that a writer would not
// write, a byte too many included. spec/WIRE.md section 8.
FL_API void fl_member_message_write(FlWriter *writer, const FlMemberMessage *message);
FL_API FL_NODISCARD bool fl_member_message_read(FlReader *reader, FlMemberMessage *message);
FL_API void fl_entity_message_write(FlWriter *writer, const FlEntityMessage *message);
FL_API FL_NODISCARD bool fl_entity_message_read(FlReader *reader, FlEntityMessage *message);
FL_API void fl_entity_end_message_write(FlWriter *writer, const FlEntityEndMessage *message);
FL_API FL_NODISCARD bool fl_entity_end_message_read(FlReader *reader, FlEntityEndMessage *message);
FL_API void fl_give_message_write(FlWriter *writer, const FlGiveMessage *message);
FL_API FL_NODISCARD bool fl_give_message_read(FlReader *reader, FlGiveMessage *message);
FL_API void fl_scope_message_write(FlWriter *writer, const FlScopeMessage *message);
FL_API FL_NODISCARD bool fl_scope_message_read(FlReader *reader, FlScopeMessage *message);
FL_API void fl_meet_message_write(FlWriter *writer, const FlMeetMessage *message);
FL_API FL_NODISCARD bool fl_meet_message_read(FlReader *reader, FlMeetMessage *message);
FL_API void fl_reach_message_write(FlWriter *writer, const FlReachMessage *message);
FL_API FL_NODISCARD bool fl_reach_message_read(FlReader *reader, FlReachMessage *message);

/// Crowds: a member wants to be introduced to another,
FL_API void fl_want_message_write(FlWriter *writer, uint16_t member);
FL_API FL_NODISCARD bool fl_want_message_read(FlReader *reader, uint16_t *member);

/// and the host says by which plane they carry each other's updates.
FL_API void fl_plan_message_write(FlWriter *writer, uint8_t order);
FL_API FL_NODISCARD bool fl_plan_message_read(FlReader *reader, uint8_t *order);

#endif
