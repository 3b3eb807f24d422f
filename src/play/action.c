// Actions: what players do, played at the same time and in the same order everywhere.
//
// Module `agree` has the algorithm (FlLags, FlOrder); here its messages and the actions get their
// carrier. They are routed messages (route.c), sent over direct connections where there are any and
// through the host otherwise: what the probes measure is what actions will meet. The delivery is
// the quickest, while few are in flight: each of those rides in every packet until it is
// acknowledged, and many of them would fill the connection and delay each other.
//
// Messages go to members that have *joined* the lags: those that have sent such a message, and the
// host. A newcomer is sent announcements first; messages that ride in every packet would leave no
// room for those on a long way. Once it knows everything it greets all others by its first message,
// and again every second those that it has not received one from. The host relays these messages
// only to members that it has received one from itself.
//
// A message goes to all that have joined or waits: an action has one play time, so it cannot be
// half sent and then tried again. So there is an outbox; a message that a full connection holds up
// stays in it, with a bit for each member that has not been sent it. Later ones do not wait behind
// it, since other members' connections are free; when the outbox is full, nothing can be sent.
//
// No member's actions block the others: what cannot be taken is dropped and counted, and the
// messages behind it go on. Every sender has its share of the order, and an action that is to be
// played later than lags allow is not kept at all.
#include "private.h"

#include "agree/agree.h"

#include <string.h>

enum { OUTBOX = 8, LIST_MOST = 24 };

#define QUICKEST_MOST 48.0 // messages a second in all, if all members sent as many as we do
#define GREET_EVERY FL_SEC(1)

_Static_assert(FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES <= FL_EVENT_SHORT_BYTES,
               "an action goes by the quickest delivery");
_Static_assert(FL_LAGS_MESSAGE_BYTES <= FL_EVENT_BYTES, "a vector goes by the ordered one");

/// A message in the outbox.
typedef struct QueuedMessage {
    uint64_t left; // members that have not been sent it, by bits
    uint8_t kind;
    FlDelivery delivery;
    int32_t count;
    uint8_t bytes[FL_LAGS_MESSAGE_BYTES];
} QueuedMessage;

struct Actions {
    FlLags *lags;
    FlOrder *order;
    bool started;     // with our own number
    uint64_t members; // as the lags know them,
    uint32_t incarnation[FL_LAGS_PEERS];
    uint32_t joined[FL_LAGS_PEERS]; // the incarnation that a message came from; 0: none
    FlTime greet_next;
    uint32_t sequence;
    uint32_t trimmed;                  // the order, by the lags of this round
    uint32_t part[FL_LAGS_PEERS];      // host: what each sent last of a round that waits for it,
    FlTime waits_since[FL_LAGS_PEERS]; // and since when; FL_FOREVER: none waits
    double pace;                       // messages a second, about
    FlTime paced_at;
    uint32_t first, next; // of the outbox, on a ring
    QueuedMessage outbox[OUTBOX];
};

// ---------------------------------------------------------------- making and ending

static FlOrderDef order_def(const FlSessionDef *def)
{
    FlOrderDef order = fl__order_def_default();
    order.capacity = def->action_capacity;
    order.alloc = def->alloc;
    return order;
}

size_t fl__actions_bytes(const FlSessionDef *def)
{
    FlOrderDef order = order_def(def);
    return def->action_capacity > 0 ? sizeof(Actions) + fl__lags_memory() + fl__order_memory(&order)
                                    : 0;
}

/// Which session time of an owner's motions is shown.
static bool lag_times(const FlSession *session, int32_t owner, FlTime now, ByLags *shown)
{
    FlLagsShown by;
    bool known = fl__lags_shown(session->play->actions->lags, owner, now, &by);
    ByLags found = {by.time, by.rate, by.version};
    *shown = found;
    return known;
}

FlResult fl__actions_create(FlSession *session, FlTime now)
{
    if (session->def.action_capacity == 0) {
        return FL_OK;
    }
    const FlAlloc *alloc = &session->def.alloc;
    Actions *actions = (Actions *)fl_alloc(alloc, sizeof *actions, _Alignof(Actions));
    if (actions == NULL) {
        return FL_NO_MEMORY;
    }
    session->play->actions = actions;
    FlLagsDef lags = session->def.tuning.lags;
    lags.self = 0; // until we know
    lags.alloc = *alloc;
    FlOrderDef order = order_def(&session->def);
    fl__entities_set_lags(session, lag_times);
    FlResult result = fl__lags_create(&lags, now, &actions->lags);
    return result == FL_OK ? fl__order_create(&order, &actions->order) : result;
}

void fl__actions_destroy(FlSession *session)
{
    Actions *actions = session->play->actions;
    if (actions != NULL) {
        fl__lags_destroy(actions->lags);
        fl__order_destroy(actions->order);
        fl_free(&session->def.alloc, actions, sizeof *actions);
        session->play->actions = NULL;
    }
}

// ---------------------------------------------------------------- members that have joined

static bool has_joined(const FlSession *session, int32_t number)
{
    bool received =
        session->play->actions->joined[number] == fl__member_incarnation(session, number);
    return fl__member_present(session, number) && number != session->self &&
           (received || number == session->host);
}

bool fl__actions_reach(const FlSession *session, int32_t number)
{
    return session->play->actions == NULL || has_joined(session, number);
}

/// Reports members that came and went since the last time to the lags.
static void follow_members(FlSession *session, FlTime now)
{
    Actions *actions = session->play->actions;
    if (!actions->started && session->complete && session->self != FL__NONE) {
        actions->started = true;
        actions->members = 0;
        actions->greet_next = now;
        fl__lags_restart(actions->lags, session->self, now);
    }
    for (int32_t i = 0; i < session->member_count && actions->started; i++) {
        uint32_t incarnation = fl__member_incarnation(session, i);
        bool was = (actions->members >> i & 1u) != 0;
        bool is = has_joined(session, i);
        if (was == is && (!was || actions->incarnation[i] == incarnation)) {
            continue;
        }
        fl__lags_member(actions->lags, i, is, now);
        if (is && actions->incarnation[i] != incarnation) {
            fl__order_writer(actions->order, i);
        }
        uint64_t bit = UINT64_C(1) << i;
        actions->members = is ? actions->members | bit : actions->members & ~bit;
        actions->incarnation[i] = incarnation;
    }
}

/// Host: a member that has joined and gives no part of rounds keeps everybody from new lags, and
/// newcomers from sending anything. After a time-out it is sent away.
static void remove_unanswering(FlSession *session, FlTime now)
{
    Actions *actions = session->play->actions;
    bool star = session->topology == FL_TOPOLOGY_STAR;
    for (int32_t i = 0; i < session->member_count && fl__is_host(session); i++) {
        uint32_t part;
        bool waits =
            (actions->members >> i & 1u) != 0 && fl__lags_waits_for(actions->lags, i, star, &part);
        if (!waits || part != actions->part[i] || actions->waits_since[i] == FL_FOREVER) {
            actions->part[i] = waits ? part : 0;
            actions->waits_since[i] = waits ? now : FL_FOREVER;
        }
        int32_t connection = fl__member_connection(session, i);
        if (waits && connection != FL__NONE &&
            fl_span(now, actions->waits_since[i]) > session->def.timeout_ns) {
            actions->waits_since[i] = FL_FOREVER;
            fl__count(session, FL_SESSION_STALLED);
            fl__connection_lost(session, connection, FL_LEFT_UNANSWERED, now);
        }
    }
}

static int32_t sender_count(const Actions *actions)
{
    int32_t count = 1;
    for (uint64_t left = actions->members; left != 0; left &= left - 1) {
        count++;
    }
    return count;
}

// ---------------------------------------------------------------- shares of the order

/// How many actions of one sender may wait here.
static int32_t share_of(const FlSession *session)
{
    int32_t share = session->def.action_capacity / sender_count(session->play->actions);
    return share > 1 ? share : 1;
}

/// We keep to half of our share: a member that plays later than we do has more of ours waiting.
static bool may_send(const FlSession *session)
{
    const Actions *actions = session->play->actions;
    int32_t half = share_of(session) / 2;
    int32_t most = actions->members == 0 ? session->def.action_capacity : half > 1 ? half : 1;
    return fl__order_room(actions->order) > 0 &&
           fl__order_waiting(actions->order, session->self) < most;
}

/// No play time is later than this. No member waits longer than the limit for its own action, and
/// no delay from one to another is below zero: A_p + B_i is at most twice the limit.
static FlTime last_play(const FlSession *session, FlTime now)
{
    FlTime limit = session->def.tuning.lags.limit_ns;
    FlTime play = fl__lags_play_time(session->play->actions->lags, now);
    return play != INT64_MIN ? fl_time_add(fl_time_add(play, limit), limit) : INT64_MAX;
}

/// Drops what came before we knew how far ahead it can be.
static void trim_order(FlSession *session, FlTime now)
{
    Actions *actions = session->play->actions;
    FlLagsStatus status = fl__lags_status(actions->lags, now);
    if (status.plays && status.round != actions->trimmed) {
        actions->trimmed = status.round;
        int32_t lost = fl__order_trim(actions->order, last_play(session, now));
        session->count[FL_SESSION_ACTIONS_LOST] += (uint64_t)lost;
    }
}

/// Nothing was played here, and perhaps never will be: actions of members that have left make room
/// for others.
static void drop_leavers(FlSession *session)
{
    FlOrder *order = session->play->actions->order;
    for (int32_t i = 0; i < session->member_count && fl__order_room(order) == 0; i++) {
        bool gone = i != session->self && (session->play->actions->members >> i & 1u) == 0;
        session->count[FL_SESSION_ACTIONS_LOST] += gone && fl__order_drop(order, i) ? 1 : 0;
    }
}

/// Puts an action into the order, if there is room for it. As long as nothing was played here, the
/// newest are those that will be; and shares get smaller as other members join.
static void keep_action(FlSession *session, const FlOrdered *action, FlTime now)
{
    FlOrder *order = session->play->actions->order;
    FlTime last = last_play(session, now);
    int32_t share = share_of(session);
    bool fresh = last == INT64_MAX || fl__order_stats(order).given == 0;
    bool sound = action->play <= last;
    while (sound && fresh && fl__order_waiting(order, action->writer) >= share &&
           fl__order_drop(order, action->writer)) {
        fl__count(session, FL_SESSION_ACTIONS_LOST);
    }
    if (sound && fresh) {
        drop_leavers(session);
    }
    bool kept = sound && fl__order_waiting(order, action->writer) < share &&
                fl__order_put(order, action) == FL_OK;
    session->count[FL_SESSION_ACTIONS_LOST] += kept ? 0 : 1;
}

// ---------------------------------------------------------------- the outbox

static QueuedMessage *message_of(Actions *actions, uint32_t number)
{
    return &actions->outbox[number % OUTBOX];
}

/// Members that can be reached without the host's help.
static uint64_t direct_members(const FlSession *session)
{
    uint64_t direct = 0;
    for (int32_t i = 0; i < session->member_count; i++) {
        int32_t connection = fl__member_connection(session, i);
        bool connected = connection != FL__NONE && fl__connection_received(session, connection);
        direct |= connected ? UINT64_C(1) << i : 0;
    }
    return direct;
}

/// Sends a message over one connection; one that stays full is ended. False: it is full.
static bool send_over(FlSession *session, int32_t connection, const RouteHead *head,
                      const QueuedMessage *message)
{
    bool full = fl__routed_send_over(session, connection, head, message->bytes, message->count) ==
                FL_WOULD_BLOCK;
    fl__queue_set_full(session, connection, full);
    return !full;
}

static uint64_t bit_of(int32_t member)
{
    FL_ASSERT(member >= 0 && member < FL_LAGS_PEERS);
    return UINT64_C(1) << member;
}

/// To members with a connection of their own; those whose connection is full keep their bits.
static void send_direct(FlSession *session, QueuedMessage *message, const RouteHead *front)
{
    uint64_t direct = direct_members(session);
    if ((message->left & ~direct) != 0) {
        direct &= ~(bit_of(session->host)); // the host takes it when it relays it
    }
    for (int32_t i = 0; i < session->member_count; i++) {
        if ((message->left & direct & UINT64_C(1) << i) == 0) {
            continue;
        }
        RouteHead head = *front;
        head.to_count = 1;
        head.to[0] = (uint16_t)i;
        bool sent = send_over(session, fl__member_connection(session, i), &head, message);
        message->left &= sent ? ~(UINT64_C(1) << i) : ~UINT64_C(0);
    }
}

/// To the others, through the host; they keep their bits if its connection is full, or there is
/// none.
static void send_through_host(FlSession *session, QueuedMessage *message, const RouteHead *front)
{
    int32_t connection = fl__member_connection(session, session->host);
    uint64_t direct = direct_members(session) & ~(bit_of(session->host));
    uint64_t left = message->left & ~direct;
    while (left != 0) {
        RouteHead head = *front;
        bool to_all = (session->play->actions->members & ~left) == 0;
        uint64_t private_scope = to_all ? left : 0;
        head.to_count = ROUTE_TO_ALL;
        for (int32_t i = 0; i < session->member_count && head.to_count < LIST_MOST && !to_all;
             i++) {
            if ((left >> i & 1u) != 0) {
                head.to[head.to_count++] = (uint16_t)i;
                private_scope |= UINT64_C(1) << i;
            }
        }
        if (connection == FL__NONE || !send_over(session, connection, &head, message)) {
            return;
        }
        left &= ~private_scope;
        message->left &= ~private_scope;
    }
}

/// As the host, to all at once: for a slow one it waits in the log of routed messages, not here.
static void send_as_host(FlSession *session, QueuedMessage *message, const RouteHead *front)
{
    RouteHead head = *front;
    for (int32_t i = 0; i < session->member_count; i++) {
        if ((message->left >> i & 1u) != 0) {
            head.to[head.to_count++] = (uint16_t)i;
        }
    }
    if (head.to_count == 0 ||
        fl__routed_send_as_host(session, &head, message->bytes, message->count) == FL_OK) {
        message->left = 0;
    }
}

static void send_message(FlSession *session, QueuedMessage *message)
{
    RouteHead front = {.kind = message->kind, .from = (uint16_t)session->self};
    front.delivery = (uint8_t)message->delivery;
    for (int32_t i = 0; i < session->member_count; i++) {
        message->left &= fl__member_present(session, i) ? ~UINT64_C(0) : ~(UINT64_C(1) << i);
    }
    if (fl__is_host(session)) {
        send_as_host(session, message, &front);
    } else {
        send_direct(session, message, &front);
        send_through_host(session, message, &front);
    }
}

static void flush_outbox(FlSession *session)
{
    Actions *actions = session->play->actions;
    for (uint32_t number = actions->first; number != actions->next; number++) {
        send_message(session, message_of(actions, number));
    }
    while (actions->first != actions->next && message_of(actions, actions->first)->left == 0) {
        actions->first++;
    }
}

static bool outbox_has_room(const Actions *actions)
{
    return actions->next - actions->first < OUTBOX;
}

/// By which delivery the next message goes.
static FlDelivery delivery_for(Actions *actions, int32_t bytes, FlTime now)
{
    double gone = fl_span_seconds(fl_span(now, actions->paced_at));
    actions->pace *= gone > 1.0 ? 0.0 : gone > 0.0 ? 1.0 - gone : 1.0;
    actions->pace += 1.0;
    actions->paced_at = now;
    if (bytes > FL_EVENT_SHORT_BYTES) {
        return FL_DELIVERY_ORDERED; // a vector of many
    }
    return actions->pace * sender_count(actions) <= QUICKEST_MOST ? FL_DELIVERY_QUICKEST
                                                                  : FL_DELIVERY_UNORDERED;
}

/// Members that the next message greets: all others, since some may not know that we have joined. A
/// host sends no greetings: newcomers greet it.
static uint64_t greeted(FlSession *session, FlTime now)
{
    Actions *actions = session->play->actions;
    uint64_t present = 0;
    if (fl__is_host(session) || now < actions->greet_next) {
        return 0;
    }
    for (int32_t i = 0; i < session->member_count; i++) {
        bool other = fl__member_present(session, i) && i != session->self;
        present |= other ? UINT64_C(1) << i : 0;
    }
    actions->greet_next = fl_time_add(now, GREET_EVERY);
    return present;
}

static void queue_message(FlSession *session, uint8_t kind, const uint8_t *bytes, int32_t count,
                          FlTime now)
{
    Actions *actions = session->play->actions;
    FlDelivery delivery = delivery_for(actions, count, now);
    QueuedMessage *message = message_of(actions, actions->next++);
    message->kind = kind;
    message->delivery = delivery;
    message->left = actions->members;
    message->left |= kind == MESSAGE_LAGS ? greeted(session, now) : 0;
    message->count = count;
    memcpy(message->bytes, bytes, (size_t)count);
    flush_outbox(session);
}

/// How long after its time an update goes out at the latest: its time is rounded down, it waits for
/// company, and so it does again at a host that relays it.
static FlTime motion_wait(const FlSession *session)
{
    bool relayed = session->topology != FL_TOPOLOGY_MESH && !fl__is_host(session);
    FlTime gather = session->def.tuning.gather_ns;
    return fl_time_add(FL_UPDATE_STEP_NS, relayed ? fl_time_add(gather, gather) : gather);
}

/// Where motions are shown by lags, or a timeline settles by them.
static void follow_motions(FlSession *session, FlTime now)
{
    FlLags *lags = session->play->actions->lags;
    if (fl__entities_by_lags(session) || session->play->agreed.by_lags) {
        fl__lags_show_motions(lags);
    }
    if (fl__time_known(session)) {
        fl__lags_own_time(lags, now, fl_session_time(session, now), motion_wait(session));
    }
}

// Sends what is due.
static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Actions *actions = session->play->actions;
    if (actions == NULL || session->state != FL_SESSION_RUNNING) {
        return;
    }
    follow_members(session, now);
    remove_unanswering(session, now);
    trim_order(session, now);
    follow_motions(session, now);
    flush_outbox(session);
    FlLagsMessage message;
    while (actions->started && outbox_has_room(actions) &&
           fl__lags_next(actions->lags, now, &message) == FL_OK) {
        queue_message(session, MESSAGE_LAGS, message.bytes, message.count, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Actions *actions = session->play->actions;
    if (actions == NULL || !actions->started || session->state != FL_SESSION_RUNNING) {
        return FL_FOREVER;
    }
    FlTime lags = outbox_has_room(actions) ? fl__lags_deadline(actions->lags, now) : FL_FOREVER;
    FlTime due = fl__action_deadline(session); // what is due already waits for the game, not for us
    return due > now && due < lags ? due : lags;
}

const Feature fl__feature_action = {
    .name = "action",
    .messages = {MESSAGE_LAGS, 2},
    .advance = advance,
    .deadline = deadline,
    .message = fl__routed_message,
};

// ---------------------------------------------------------------- receiving

bool fl__actions_received(FlSession *session, const RoutedIn *in)
{
    Actions *actions = session->play->actions;
    if (actions == NULL) {
        return false;
    }
    actions->joined[in->from] = fl__member_incarnation(session, in->from);
    follow_members(session, in->now);
    if (!actions->started) {
        return true; // the lags do not count us yet
    }
    if (in->kind == MESSAGE_LAGS) {
        fl__lags_receive(actions->lags, in->from, in->bytes, in->count, in->now);
        return true;
    }
    FlReader reader;
    FlOrdered action;
    fl_reader_init(&reader, in->bytes, in->count);
    if (!fl__action_read(&reader, &action)) {
        return false;
    }
    action.writer = in->from;
    fl__lags_arrived(actions->lags, action.writer, action.stamp, action.play, in->now);
    keep_action(session, &action, in->now);
    return true;
}

// ---------------------------------------------------------------- the game's side

FlResult fl_action_send(FlSession *session, FlTime now, uint16_t type, const void *bytes,
                        int32_t count)
{
    Actions *actions = session->play->actions;
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (actions == NULL || count < 0 || count > FL_ACTION_BYTES) {
        return FL_BAD_VALUE;
    }
    if (session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    follow_members(session, now);
    FlOrdered action = {.stamp = now, .type = type, .bytes = (const uint8_t *)bytes};
    action.count = count;
    if (!actions->started || !outbox_has_room(actions) || !may_send(session) ||
        fl__lags_stamp(actions->lags, now, &action.play) != FL_OK) {
        return FL_WOULD_BLOCK;
    }
    action.writer = session->self;
    action.sequence = ++actions->sequence;
    uint8_t message[FL_ACTION_HEAD_BYTES + FL_ACTION_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, message, sizeof message);
    fl__action_write(&writer, &action);
    FlResult result = fl__order_put(actions->order, &action);
    queue_message(session, MESSAGE_ACTION, message, fl_writer_size(&writer), now);
    fl__count(session, FL_SESSION_ACTIONS_SENT);
    return result;
}

FlResult fl_action_take(FlSession *session, FlTime now, FlAction *action)
{
    FlAction none = {0};
    *action = none;
    Actions *actions = session->play->actions;
    if (actions == NULL) {
        return FL_NOT_FOUND;
    }
    FlOrdered out;
    FlTime play = fl__lags_play_time(actions->lags, now);
    if (fl__order_take(actions->order, play, &out) != FL_OK) {
        return FL_NOT_FOUND;
    }
    fl__count(session, FL_SESSION_ACTIONS_TAKEN);
    session->count[FL_SESSION_ACTIONS_LATE] += out.late ? 1 : 0;
    action->from = fl__peer_id(session, out.writer);
    action->number = out.writer;
    action->type = out.type;
    action->late = out.late;
    action->play = out.play;
    action->at = fl__lags_when(actions->lags, out.play);
    action->bytes = out.bytes;
    action->count = out.count;
    return FL_OK;
}

FlTime fl__action_deadline(const FlSession *session)
{
    const Actions *actions = session->play->actions;
    FlTime next = actions != NULL ? fl__order_next(actions->order) : FL_FOREVER;
    return next != FL_FOREVER ? fl__lags_when(actions->lags, next) : FL_FOREVER;
}

const FlLags *fl__session_lags(const FlSession *session)
{
    return session->play->actions != NULL ? session->play->actions->lags : NULL;
}

FlResult fl_session_lags(const FlSession *session, FlTime now, FlLagsStatus *status)
{
    const FlLags *lags = fl__session_lags(session);
    FlLagsStatus none = {0};
    *status = lags != NULL ? fl__lags_status(lags, now) : none;
    return lags != NULL ? FL_OK : FL_NOT_FOUND;
}
