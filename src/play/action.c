// Actions: what players do, played at the same time and in the same order everywhere.
//
// Room `agree` has the algorithm (FlLags, FlOrder); here its messages and the actions get their
// carrier. They travel as events of the session's own types, over direct lines where there are any
// and through the host otherwise: what the probes measure is what actions will meet. The delivery
// is the quickest, while few are under way: each of those rides in every packet until it is
// acknowledged, and many of them would fill the line and delay each other.
//
// Letters go to members that are *there*: those that have been heard from by a letter of their own,
// and the host. Who has just come is told about the session first; letters that ride in every
// packet would leave no room for that on a long way. Once it knows everything it greets all others
// by its first letter, and again every second whom it has not heard. The host passes letters on to
// those only that it has heard itself.
//
// A message goes to all who are there or waits: an action has one play time, so it cannot be half
// sent and then tried again. So there is an outbox; what a full line holds up stays in it, with a
// bit for each member that has not got it. Later ones do not wait behind it, other members' lines
// being free; when the outbox is full, nothing can be sent.
//
// Nobody's actions make us deaf: what cannot be taken is dropped and counted, and the messages
// behind it go on. Every sender has its share of the order, and what it says to be played later
// than lags allow is not kept at all.
#include "private.h"

#include <string.h>

enum { BOX = 8, LIST_MOST = 24 };

#define QUICKEST_MOST 48.0 // letters a second in all, if all members sent as many as we do
#define GREET_EVERY FL_SEC(1)

_Static_assert(FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES <= FL_EVENT_SHORT_BYTES,
               "an action goes by the quickest delivery");
_Static_assert(FL_LAGS_MESSAGE_BYTES <= FL_EVENT_BYTES, "a vector goes by the ordered one");

typedef struct Letter {
    uint64_t left; // members that have not got it, by bits
    uint16_t type;
    FlDelivery delivery;
    int32_t count;
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
} Letter;

struct Actions {
    FlLags *lags;
    FlOrder *order;
    bool started;     // with our own number
    uint64_t members; // as the lags know them,
    uint32_t incarnation[FL_LAGS_PEERS];
    uint32_t heard[FL_LAGS_PEERS]; // the incarnation that a letter came from; 0: none
    FlTime greet_next;
    uint32_t sequence;
    uint32_t trimmed; // the order, by the lags of this round
    double pace;      // letters a second, about
    FlTime paced_at;
    uint32_t first, next; // letters, on a ring
    Letter box[BOX];
};

// ---------------------------------------------------------------- making and ending

static FlOrderDef order_def(const FlSessionDef *def)
{
    FlOrderDef order = fl_order_def_default();
    order.capacity = def->action_capacity;
    order.alloc = def->alloc;
    return order;
}

size_t fl__actions_bytes(const FlSessionDef *def)
{
    FlOrderDef order = order_def(def);
    return def->action_capacity > 0 ? sizeof(Actions) + fl_lags_memory() + fl_order_memory(&order)
                                    : 0;
}

FlResult fl__actions_create(FlSession *session, FlTime now)
{
    if (fl__def(session)->action_capacity == 0) {
        return FL_OK;
    }
    const FlAlloc *alloc = &fl__def(session)->alloc;
    Actions *actions = (Actions *)fl_alloc(alloc, sizeof *actions, _Alignof(Actions));
    if (actions == NULL) {
        return FL_NO_MEMORY;
    }
    fl__play(session)->actions = actions;
    FlLagsDef lags = fl__def(session)->lags;
    lags.self = 0; // until we know
    lags.alloc = *alloc;
    FlOrderDef order = order_def(fl__def(session));
    FlResult result = fl_lags_create(&lags, now, &actions->lags);
    return result == FL_OK ? fl_order_create(&order, &actions->order) : result;
}

void fl__actions_destroy(FlSession *session)
{
    Actions *actions = fl__play(session)->actions;
    if (actions != NULL) {
        fl_lags_destroy(actions->lags);
        fl_order_destroy(actions->order);
        fl_free(&fl__def(session)->alloc, actions, sizeof *actions);
        fl__play(session)->actions = NULL;
    }
}

// ---------------------------------------------------------------- who is there

static bool is_there(const FlSession *session, int32_t number)
{
    bool heard =
        fl__play(session)->actions->heard[number] == fl__member_incarnation(session, number);
    return fl__member_present(session, number) && number != fl__self(session) &&
           (heard || number == fl__host(session));
}

bool fl__actions_reach(const FlSession *session, int32_t number)
{
    return fl__play(session)->actions == NULL || is_there(session, number);
}

/// Tells the lags who came and went since the last time.
static void follow_members(FlSession *session, FlTime now)
{
    Actions *actions = fl__play(session)->actions;
    if (!actions->started && fl__is_complete(session) && fl__self(session) != FL__NONE) {
        actions->started = true;
        actions->members = 0;
        actions->greet_next = now;
        fl_lags_restart(actions->lags, fl__self(session), now);
    }
    for (int32_t i = 0; i < fl__member_count(session) && actions->started; i++) {
        uint32_t incarnation = fl__member_incarnation(session, i);
        bool was = (actions->members >> i & 1u) != 0;
        bool is = is_there(session, i);
        if (was == is && (!was || actions->incarnation[i] == incarnation)) {
            continue;
        }
        fl_lags_member(actions->lags, i, is, now);
        if (is && actions->incarnation[i] != incarnation) {
            fl_order_writer(actions->order, i);
        }
        uint64_t bit = UINT64_C(1) << i;
        actions->members = is ? actions->members | bit : actions->members & ~bit;
        actions->incarnation[i] = incarnation;
    }
}

static int32_t senders(const Actions *actions)
{
    int32_t count = 1;
    for (uint64_t left = actions->members; left != 0; left &= left - 1) {
        count++;
    }
    return count;
}

// ---------------------------------------------------------------- whose room

/// How many of one sender's may wait here.
static int32_t share_of(const FlSession *session)
{
    int32_t share = fl__def(session)->action_capacity / senders(fl__play(session)->actions);
    return share > 1 ? share : 1;
}

/// We keep to half of our share: others may play later than we do, and have more of ours waiting.
static bool may_send(const FlSession *session)
{
    const Actions *actions = fl__play(session)->actions;
    int32_t half = share_of(session) / 2;
    int32_t most = actions->members == 0 ? fl__def(session)->action_capacity : half > 1 ? half : 1;
    return fl_order_room(actions->order) > 0 &&
           fl_order_waiting(actions->order, fl__self(session)) < most;
}

/// No play time is later than this. Nobody waits longer than the limit for its own action, and the
/// way from one to another is no shorter than nothing: A_p + B_i is at most twice the limit.
static FlTime last_play(const FlSession *session, FlTime now)
{
    FlTime limit = fl__def(session)->lags.limit_ns;
    FlTime play = fl_lags_play_time(fl__play(session)->actions->lags, now);
    return play != INT64_MIN ? fl_time_add(fl_time_add(play, limit), limit) : INT64_MAX;
}

/// What came before we knew how far ahead it can be.
static void trim(FlSession *session, FlTime now)
{
    Actions *actions = fl__play(session)->actions;
    FlLagsStatus status = fl_lags_status(actions->lags, now);
    if (status.plays && status.round != actions->trimmed) {
        actions->trimmed = status.round;
        int32_t lost = fl_order_trim(actions->order, last_play(session, now));
        fl__count(session, FL_SESSION_ACTIONS_LOST, (uint64_t)lost);
    }
}

/// Nothing was played here, so nothing may ever be: those who are gone leave their room to others.
static void make_room(FlSession *session)
{
    FlOrder *order = fl__play(session)->actions->order;
    for (int32_t i = 0; i < fl__member_count(session) && fl_order_room(order) == 0; i++) {
        bool gone = i != fl__self(session) && (fl__play(session)->actions->members >> i & 1u) == 0;
        fl__count(session, FL_SESSION_ACTIONS_LOST, gone && fl_order_drop(order, i) ? 1 : 0);
    }
}

/// Into the order, if there is room for it. As long as nothing was played here, the newest are
/// those that will be; and shares get smaller, as we hear of others.
static void keep(FlSession *session, const FlOrdered *action, FlTime now)
{
    FlOrder *order = fl__play(session)->actions->order;
    FlTime last = last_play(session, now);
    int32_t share = share_of(session);
    bool fresh = last == INT64_MAX || fl_order_stats(order).given == 0;
    bool sound = action->play <= last;
    while (sound && fresh && fl_order_waiting(order, action->writer) >= share &&
           fl_order_drop(order, action->writer)) {
        fl__count(session, FL_SESSION_ACTIONS_LOST, 1);
    }
    if (sound && fresh) {
        make_room(session);
    }
    bool kept = sound && fl_order_waiting(order, action->writer) < share &&
                fl_order_put(order, action) == FL_OK;
    fl__count(session, FL_SESSION_ACTIONS_LOST, kept ? 0 : 1);
}

// ---------------------------------------------------------------- the outbox

static Letter *letter_of(Actions *actions, uint32_t number)
{
    return &actions->box[number % BOX];
}

/// Members that can be reached without the host's help.
static uint64_t direct_ones(const FlSession *session)
{
    uint64_t direct = 0;
    for (int32_t i = 0; i < fl__member_count(session); i++) {
        int32_t line = fl__member_line(session, i);
        bool has_line = line != FL__NONE && (fl__is_host(session) || fl__line_heard(session, line));
        direct |= has_line ? UINT64_C(1) << i : 0;
    }
    return direct;
}

/// One letter over one line; a line that stays full is ended.
static bool send_over(FlSession *session, int32_t index, const FlEventHead *head,
                      const Letter *letter)
{
    bool full =
        fl__event_over(session, index, head, letter->bytes, letter->count) == FL_WOULD_BLOCK;
    fl__line_set_full(session, index, full);
    return !full;
}

/// To members that have a line of their own; whose is full keeps its bit.
static void send_direct(FlSession *session, Letter *letter, const FlEventHead *front)
{
    uint64_t direct = direct_ones(session);
    bool host = fl__is_host(session);
    if (host) {
        letter->left &= direct; // who has no line now is on its way out
    } else if ((letter->left & ~direct) != 0) {
        direct &= ~(UINT64_C(1) << fl__host(session)); // it gets it when it passes it on
    }
    for (int32_t i = 0; i < fl__member_count(session); i++) {
        if ((letter->left & direct & UINT64_C(1) << i) == 0) {
            continue;
        }
        FlEventHead head = *front;
        head.to_count = host ? FL_EVENT_TO_ALL : 1;
        head.to[0] = (uint16_t)i;
        bool sent = send_over(session, fl__member_line(session, i), &head, letter);
        letter->left &= sent ? ~(UINT64_C(1) << i) : ~UINT64_C(0);
    }
}

/// To the others, through the host; they keep their bits if its line is full, or there is none.
static void send_through_host(FlSession *session, Letter *letter, const FlEventHead *front)
{
    int32_t line = fl__member_line(session, fl__host(session));
    uint64_t direct = direct_ones(session) & ~(UINT64_C(1) << fl__host(session));
    uint64_t left = letter->left & ~direct;
    while (left != 0) {
        FlEventHead head = *front;
        bool to_all = (fl__play(session)->actions->members & ~left) == 0;
        uint64_t listed = to_all ? left : 0;
        head.to_count = FL_EVENT_TO_ALL;
        for (int32_t i = 0; i < fl__member_count(session) && head.to_count < LIST_MOST && !to_all;
             i++) {
            if ((left >> i & 1u) != 0) {
                head.to[head.to_count++] = (uint16_t)i;
                listed |= UINT64_C(1) << i;
            }
        }
        if (line == FL__NONE || !send_over(session, line, &head, letter)) {
            return;
        }
        left &= ~listed;
        letter->left &= ~listed;
    }
}

static void send_letter(FlSession *session, Letter *letter)
{
    FlEventHead front = {.from = (uint16_t)fl__self(session), .type = letter->type};
    front.delivery = (uint8_t)letter->delivery;
    for (int32_t i = 0; i < fl__member_count(session); i++) {
        letter->left &= fl__member_present(session, i) ? ~UINT64_C(0) : ~(UINT64_C(1) << i);
    }
    send_direct(session, letter, &front);
    if (!fl__is_host(session)) {
        send_through_host(session, letter, &front);
    }
}

static void flush(FlSession *session)
{
    Actions *actions = fl__play(session)->actions;
    for (uint32_t number = actions->first; number != actions->next; number++) {
        send_letter(session, letter_of(actions, number));
    }
    while (actions->first != actions->next && letter_of(actions, actions->first)->left == 0) {
        actions->first++;
    }
}

static bool has_room(const Actions *actions)
{
    return actions->next - actions->first < BOX;
}

/// By which delivery the next letter goes.
static FlDelivery delivery_for(Actions *actions, int32_t bytes, FlTime now)
{
    double gone = fl_span_seconds(fl_span(now, actions->paced_at));
    actions->pace *= gone > 1.0 ? 0.0 : gone > 0.0 ? 1.0 - gone : 1.0;
    actions->pace += 1.0;
    actions->paced_at = now;
    if (bytes > FL_EVENT_SHORT_BYTES) {
        return FL_DELIVERY_ORDERED; // a vector of many
    }
    return actions->pace * senders(actions) <= QUICKEST_MOST ? FL_DELIVERY_QUICKEST
                                                             : FL_DELIVERY_UNORDERED;
}

/// Whom the next letter greets: others who are in the session, and do not know that we are there.
/// To a host who is new says so itself.
static uint64_t greeted(FlSession *session, FlTime now)
{
    Actions *actions = fl__play(session)->actions;
    uint64_t present = 0;
    if (fl__is_host(session) || now < actions->greet_next) {
        return 0;
    }
    for (int32_t i = 0; i < fl__member_count(session); i++) {
        bool other = fl__member_present(session, i) && i != fl__self(session);
        present |= other ? UINT64_C(1) << i : 0;
    }
    actions->greet_next = fl_time_add(now, GREET_EVERY);
    return present;
}

static void put(FlSession *session, uint16_t type, const uint8_t *bytes, int32_t count, FlTime now)
{
    Actions *actions = fl__play(session)->actions;
    FlDelivery delivery = delivery_for(actions, count, now);
    Letter *letter = letter_of(actions, actions->next++);
    letter->type = type;
    letter->delivery = delivery;
    letter->left = actions->members;
    letter->left |= type == FL__OWN_LAGS ? greeted(session, now) : 0;
    letter->count = count;
    memcpy(letter->bytes, bytes, (size_t)count);
    flush(session);
}

// Sends what is due.
static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Actions *actions = fl__play(session)->actions;
    if (actions == NULL || fl__state(session) != FL_SESSION_RUNNING) {
        return;
    }
    follow_members(session, now);
    trim(session, now);
    flush(session);
    FlLagsMessage message;
    while (actions->started && has_room(actions) &&
           fl_lags_next(actions->lags, now, &message) == FL_OK) {
        put(session, FL__OWN_LAGS, message.bytes, message.count, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Actions *actions = fl__play(session)->actions;
    if (actions == NULL || !actions->started || fl__state(session) != FL_SESSION_RUNNING) {
        return FL_FOREVER;
    }
    FlTime lags = has_room(actions) ? fl_lags_deadline(actions->lags, now) : FL_FOREVER;
    FlTime due = fl_action_deadline(session); // what is due already waits for the game, not for us
    return due > now && due < lags ? due : lags;
}

// Its messages are events of the session's own types.
const Feature fl__feature_action = {
    .name = "action",
    .advance = advance,
    .deadline = deadline,
};

// ---------------------------------------------------------------- arriving

bool fl__actions_heard(FlSession *session, const FlEventHead *head, const uint8_t *bytes,
                       int32_t count, FlTime now)
{
    Actions *actions = fl__play(session)->actions;
    if (actions == NULL) {
        return false;
    }
    actions->heard[head->from] = fl__member_incarnation(session, head->from);
    follow_members(session, now);
    if (!actions->started) {
        return true; // it does not count us yet
    }
    if (head->type == FL__OWN_LAGS) {
        fl_lags_receive(actions->lags, head->from, bytes, count, now);
        return true;
    }
    FlReader reader;
    FlOrdered action;
    fl_reader_init(&reader, bytes, count);
    if (head->type != FL__OWN_ACTION || !fl_action_read(&reader, &action)) {
        return false;
    }
    action.writer = head->from;
    fl_lags_arrived(actions->lags, action.writer, action.stamp, action.play, now);
    keep(session, &action, now);
    return true;
}

// ---------------------------------------------------------------- the game's side

FlResult fl_action_send(FlSession *session, uint16_t type, const void *bytes, int32_t count,
                        FlTime now)
{
    Actions *actions = fl__play(session)->actions;
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (actions == NULL || count < 0 || count > FL_ACTION_BYTES) {
        return FL_BAD_VALUE;
    }
    if (fl__state(session) == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    follow_members(session, now);
    FlOrdered action = {.stamp = now, .type = type, .bytes = (const uint8_t *)bytes};
    action.count = count;
    if (!actions->started || !has_room(actions) || !may_send(session) ||
        fl_lags_stamp(actions->lags, now, &action.play) != FL_OK) {
        return FL_WOULD_BLOCK;
    }
    action.writer = fl__self(session);
    action.sequence = ++actions->sequence;
    uint8_t message[FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, message, sizeof message);
    fl_action_write(&writer, &action);
    FlResult result = fl_order_put(actions->order, &action);
    put(session, FL__OWN_ACTION, message, fl_writer_size(&writer), now);
    fl__count(session, FL_SESSION_ACTIONS_SENT, 1);
    return result;
}

FlResult fl_action_take(FlSession *session, FlTime now, FlAction *action)
{
    FlAction none = {0};
    *action = none;
    Actions *actions = fl__play(session)->actions;
    if (actions == NULL) {
        return FL_NOT_FOUND;
    }
    FlOrdered out;
    FlTime play = fl_lags_play_time(actions->lags, now);
    if (fl_order_take(actions->order, play, &out) != FL_OK) {
        return FL_NOT_FOUND;
    }
    fl__count(session, FL_SESSION_ACTIONS_TAKEN, 1);
    fl__count(session, FL_SESSION_ACTIONS_LATE, out.late ? 1 : 0);
    action->from = fl__peer_id(session, out.writer);
    action->number = out.writer;
    action->type = out.type;
    action->late = out.late;
    action->play = out.play;
    action->at = fl_lags_when(actions->lags, out.play);
    action->bytes = out.bytes;
    action->count = out.count;
    return FL_OK;
}

FlTime fl_action_deadline(const FlSession *session)
{
    const Actions *actions = fl__play(session)->actions;
    FlTime next = actions != NULL ? fl_order_next(actions->order) : FL_FOREVER;
    return next != FL_FOREVER ? fl_lags_when(actions->lags, next) : FL_FOREVER;
}

const FlLags *fl_session_lags(const FlSession *session)
{
    return fl__play(session)->actions != NULL ? fl__play(session)->actions->lags : NULL;
}
