// Module `agree`, for the modules above it.
#ifndef FAIRLEAD_AGREE_CALL_INNER_H
#define FAIRLEAD_AGREE_CALL_INNER_H

#include "fairlead/call.h"

/// Decided calls that a thing takes along to a new owner; with more, older calls are gone.
#define FL_HANDOVER_CALLS 64

/// A call on its way.
typedef struct FlCallMessage {
    FlCallKey key;
    uint16_t number; ///< Of the thing.
    uint16_t epoch;  ///< Of its ownership when the call was made; stays when it is passed on.
    uint16_t kind;   ///< FlCallKind, or the game's own.
    bool predicted;  ///< The caller knows what state follows if it is applied:
    uint16_t hash;   ///< fl__call_hash of that state. 0 without.
    FlTime until;    ///< Session time at which it ends.
    bool direct;     ///< It came over a light connection, or may go over one. Does not travel.
    int32_t count;
    uint8_t bytes[FL_CALL_BYTES];
} FlCallMessage;

/// What an owner answers.
typedef enum FlAnswer {
    FL_ANSWER_REFUSED,
    FL_ANSWER_APPLIED,
    FL_ANSWER_GONE, ///< It was made under an owner who is gone.
} FlAnswer;

typedef struct FlAnswerMessage {
    FlCallKey key;
    FlAnswer answer;
    uint16_t number;
    uint16_t epoch;   ///< Of the ownership that answers.
    uint16_t version; ///< Of the thing's state now; 0: it has none.
    int32_t count;
    uint8_t state[FL_CALL_STATE_BYTES];
} FlAnswerMessage;

/// A call that an owner has decided.
typedef struct FlCallDecided {
    FlCallKey key;
    bool applied;
    FlTime until;
} FlCallDecided;

/// What a thing takes along to its next owner.
typedef struct FlHandoverMessage {
    uint16_t number;
    uint16_t epoch;   ///< Of the ownership it is for.
    uint16_t floor;   ///< Calls made before this epoch are gone.
    uint16_t version; ///< Of the state; 0: it has none.
    int32_t state_count;
    uint8_t state[FL_CALL_STATE_BYTES];
    int32_t decided_count;
    FlCallDecided decided[FL_HANDOVER_CALLS];
} FlHandoverMessage;

/// No message of calls is longer.
#define FL_CALLS_MESSAGE_BYTES (12 + FL_CALL_STATE_BYTES + 13 * FL_HANDOVER_CALLS)

// A carrier puts its own kind before them. Readers fail on anything that a writer would not write,
// a byte too many included. spec/WIRE.md section 8.
void fl__call_message_write(FlWriter *writer, const FlCallMessage *message);

FL_NODISCARD bool fl__call_message_read(FlReader *reader, FlCallMessage *message);

void fl__answer_message_write(FlWriter *writer, const FlAnswerMessage *message);

FL_NODISCARD bool fl__answer_message_read(FlReader *reader, FlAnswerMessage *message);

void fl__handover_message_write(FlWriter *writer, const FlHandoverMessage *message);

FL_NODISCARD bool fl__handover_message_read(FlReader *reader, FlHandoverMessage *message);

/// Of a state, for predictions. If two states share one, an answer is left out that was needed, and
/// the caller asks again.
uint16_t fl__call_hash(const void *bytes, int32_t count);

/// How long after its end an owner remembers a call: more than two peers' session times differ.
#define FL_CALLS_KEPT FL_MS(500)

/// Right for a game of players: 32 calls asked and 256 received at once, ending after 2 s, sent
/// again every 400 ms.
FlCallsDef fl__calls_def_default(void);

/// Whether a definition is sound; `error` says which field. Errors: FL_BAD_VALUE.
FL_NODISCARD FlResult fl__calls_def_problem(const FlCallsDef *def, FlError *error);

typedef struct FlCalls FlCalls;

/// Errors: FL_NO_MEMORY; FL_BAD_VALUE (a setting out of its range).
FL_NODISCARD FlResult fl__calls_create(const FlCallsDef *def, FlCalls **calls);

void fl__calls_destroy(FlCalls *calls);

size_t fl__calls_memory(const FlCallsDef *def);

/// What became of a call of ours.
typedef struct FlCallResult {
    uint32_t serial;
    uint16_t kind;
    uint16_t number;
    FlCallVerdict verdict;
    FlCallWhy why;
    FlTime latency_ns; ///< From the call to knowing.
} FlCallResult;

/// Makes a call; fl__calls_due has it at once. `self` names us (serial unused), `version` is that
/// of the thing's state here. Errors: FL_BAD_VALUE (too long), FL_WOULD_BLOCK (all places are
/// taken: take results).
FL_NODISCARD FlResult fl__calls_ask(FlCalls *calls, const FlCallDef *call, FlCallKey self,
                                    uint16_t number, uint16_t epoch, uint16_t version, FlTime now,
                                    uint32_t *serial);

/// The next call to be sent now, for the first time or again. Time-outs are noticed here. False:
/// none.
bool fl__calls_due(FlCalls *calls, FlTime now, FlCallMessage *message);

/// The thing has another owner, or is reached another way: what waits is sent again at once.
void fl__calls_again(FlCalls *calls, uint16_t number, FlTime now);

/// An answer came. False: no call waits for it.
bool fl__calls_answered(FlCalls *calls, const FlAnswerMessage *message, FlTime now);

/// A thing's state is this now: what was predicted so has been applied.
void fl__calls_state(FlCalls *calls, uint16_t number, uint16_t version, const uint8_t *bytes,
                     int32_t count, FlTime now);

/// The thing is there no more: what waits for it is unknown.
void fl__calls_drop(FlCalls *calls, uint16_t number, FlTime now);

/// The next result. Time-outs are noticed here, too. Errors: FL_NOT_FOUND.
FL_NODISCARD FlResult fl__calls_done(FlCalls *calls, FlTime now, FlCallResult *result);

/// When fl__calls_due or fl__calls_done will have something, if nothing else happens.
FlTime fl__calls_deadline(const FlCalls *calls);

/// What a call that came in is.
typedef enum FlCallReceived {
    FL_RECEIVED_NEW,     ///< It waits for fl__calls_take.
    FL_RECEIVED_WAITING, ///< It is here already, and not decided.
    FL_RECEIVED_REFUSED, ///< It was decided: answer the same again.
    FL_RECEIVED_APPLIED,
    FL_RECEIVED_LATE,    ///< It has ended: it is not to be applied any more.
    FL_RECEIVED_CROWDED, ///< No room, or none for this caller: it will come again.
    FL_RECEIVED_BAD,     ///< No caller makes a call that ends so late.
} FlCallReceived;

FlCallReceived fl__calls_receive(FlCalls *calls, const FlCallMessage *message, FlTime now);

/// The next call to decide, in the order of arrival; it stays open until fl__calls_decide. Errors:
/// FL_NOT_FOUND.
FL_NODISCARD FlResult fl__calls_take(FlCalls *calls, FlCallMessage *message);

/// Decides the call of that name that is open, once. Errors: FL_NOT_FOUND (none is here, or it is
/// decided).
FL_NODISCARD FlResult fl__calls_decide(FlCalls *calls, FlCallKey key, bool applied);

/// Forgets a call that was taken and not decided: its thing is not ours any more.
void fl__calls_forget(FlCalls *calls, FlCallKey key);

/// A call to a thing is taken and not decided.
bool fl__calls_open(const FlCalls *calls, uint16_t number);

/// The thing goes to another owner: writes what was decided into `handover`. False: that is too
/// much to take along, so that the handover's floor must rise above calls of before.
bool fl__calls_leave(const FlCalls *calls, uint16_t number, FlTime now,
                     FlHandoverMessage *handover);

/// The next call to a thing that waits to be taken, which will be decided elsewhere: forgets it
/// here. False: none.
bool fl__calls_unreceived(FlCalls *calls, uint16_t number, FlCallMessage *message);

/// The thing is ours now, with this. Calls to other things, and what was decided here, stay as they
/// are. False: no room for all of it, or it speaks of calls that no caller makes (they end too
/// late), so that the thing's floor must rise above calls of before.
FL_NODISCARD bool fl__calls_inherit(FlCalls *calls, const FlHandoverMessage *handover, FlTime now);

const char *fl__calls_count_name(FlCallsCount which);

/// For whoever carries the messages: adds to a counter.
void fl__calls_note(FlCalls *calls, FlCallsCount which, uint64_t count);

FlCallStats fl__calls_stats(const FlCalls *calls);

/// You killed me.
typedef struct FlDeathCall {
    uint16_t victim;
    uint8_t weapon;
    FlTime time;
} FlDeathCall;

/// I take you.
typedef struct FlPickupCall {
    uint16_t taker;
    FlTime time;
} FlPickupCall;

/// I open you, or shut you.
typedef struct FlDoorCall {
    uint16_t by;
    bool open;
    FlTime time;
} FlDoorCall;

/// Something flies that may hit you: see for yourself.
typedef struct FlMissileCall {
    uint16_t shooter;
    uint8_t weapon;
    FlTime time;     ///< From here on,
    FlVec3 position; ///< from here
    FlVec3 velocity; ///< it flies straight.
} FlMissileCall;

FL_NODISCARD bool fl__death_call_write(FlWriter *writer, const FlDeathCall *call);

FL_NODISCARD bool fl__death_call_read(FlReader *reader, FlDeathCall *call);

FL_NODISCARD bool fl__pickup_call_write(FlWriter *writer, const FlPickupCall *call);

FL_NODISCARD bool fl__pickup_call_read(FlReader *reader, FlPickupCall *call);

FL_NODISCARD bool fl__door_call_write(FlWriter *writer, const FlDoorCall *call);

FL_NODISCARD bool fl__door_call_read(FlReader *reader, FlDoorCall *call);

FL_NODISCARD bool fl__missile_call_write(FlWriter *writer, const FlWorld *world,
                                         const FlMissileCall *call);

FL_NODISCARD bool fl__missile_call_read(FlReader *reader, const FlWorld *world,
                                        FlMissileCall *call);

const char *fl__hit_verdict_name(FlHitVerdict verdict);

/// Whether a hit can be. `seen`: the target as the shooter saw it at the shot, by the ledger of
/// whoever shows it to the shooter (fl_entity_seen); NULL: not known. `shooter`: where the shooter
/// was.
FlHitVerdict fl__hit_verify(const FlHitRules *rules, const FlHitCall *hit, const FlPose *seen,
                            FlVec3 shooter, FlTime now);

/// How near a missile comes to a target that moves by `target`, between two times; and when. For
/// the target's owner, by its own truth. Exact for straight motions; of curved ones, the nearest of
/// 64 chords.
double fl__missile_nearest(const FlMissileCall *missile, const FlMotion *target, FlTime from,
                           FlTime to, FlTime *when);

FL_NODISCARD bool fl__hit_call_read(FlReader *reader, const FlWorld *world, FlHitCall *call);

/// A state as messages carry it: version 16 (0: none, and no bytes), count 8, bytes.
void fl__call_put_state(FlWriter *w, uint16_t version, const uint8_t *state, int32_t count);
void fl__call_take_state(FlReader *r, uint16_t *version, uint8_t *state, int32_t *count);

#endif
