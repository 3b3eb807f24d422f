// focus and focus+equal: bytes by the frame, over all entities and receivers together.
//
// The other policies are asked at every update of an entity and count updates. These two are asked
// once a frame and count bytes: what may go in a frame is shared among all pairs of an entity and a
// receiver under them. The ledger stays the only record; a frame marks what is due, and what did
// not go by the next frame is decided anew.
//
// Both know a *focus set*: the n pairs with the highest attention, n being the updates that a frame
// has bytes for, by what they really take, times a share. What is too little for one more counts at
// the next frame: 3.6 are four in three frames of five. Who does not look at all is never in it. Of
// equals, those who were in it stay. It breathes with the bytes; a pair's *class* does not follow
// at once: who was in the set in the last LINGER frames is still served as if.
//
//   focus        The set gets every frame's update, as far as there is one; the rest of the bytes
//                goes to those updated least recently (Bharambe and others, 2007).
//   focus+equal  Ours. Attention says how much error matters. All bytes go where attention times
//                the distance between the newest motion and the one that the receiver will believe
//                is largest, per byte.
//
// Those who have never seen this life of the entity come first of all, with focus right after the
// set; with focus+equal then come those who waited for `starvation_ns`, and those who chose the
// entity and waited for `chosen_ns`.
#include "motion/motion.h"
#include "placed.h"
#include "policy.h"
#include "private.h"

#define BASE 0.02 // focus+equal: everybody looks at least this much
#define LOOK_AHEAD_NS FL_MS(150)
#define DELAY_SHARE 0.2 // of the delay, as equal.c
#define LOT_BITS 11
#define AGES (1 << 20)
#define CHOSEN 128                 // steps of attention
#define FOR_THE_CHOSEN 0xe0000000u // keys from here on: who chose it and has waited long enough,
#define FIRST 0xf0000000u          // from here on those who must get it,
#define FIRST_OF_ALL 0xf8000000u   // and from here on those who have nothing of this life
#define IN_FOCUS 0xfc000000u       // focus: and from here on the set
#define LINGER 10                  // frames
#define RARELY_NS FL_SEC(1)        // to whom another one serves
#define ATTENTION_STEPS 255.0

FlFocusDef fl__focus_def_default(void)
{
    FlFocusDef def = {.frame_ns = FL_MS(50), .share = FL_FOCUS_SHARE, .base = BASE};
    return def;
}

FlResult fl__focus_def_problem(const FlFocusDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__WHOLE(FlFocusDef, frame_ns, 1, FL_FOREVER),
        FL__REAL(FlFocusDef, share, 0.0, 1.0),
        FL__REAL(FlFocusDef, base, 0.0, 1.0),
        FL__REAL(FlFocusDef, radian, 0.0, (double)INFINITY),
        FL__REAL(FlFocusDef, second, 0.0, (double)INFINITY),
        FL__WHOLE(FlFocusDef, chosen_ns, 0, FL_FOREVER),
    };
    return fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
}

FlResult fl__ledger_focus(FlLedger *ledger, const FlFocusDef *def)
{
    FlError error;
    if (fl__focus_def_problem(def, &error) != FL_OK) {
        return FL_BAD_VALUE;
    }
    ledger->focus.def = *def;
    return FL_OK;
}

void fl__ledger_allow(FlLedger *ledger, double bytes, double header_bytes)
{
    FL_ASSERT(bytes >= 0.0 && header_bytes >= 0.0);
    ledger->focus.bytes = bytes;
    ledger->focus.header_bytes = header_bytes;
}

void fl__ledger_update_bytes(FlLedger *ledger, int32_t entity, int32_t bytes)
{
    FL_ASSERT(bytes > 0);
    fl__entity(ledger, entity)->update_bytes = bytes;
}

FlFocusFrame fl__ledger_frame(const FlLedger *ledger)
{
    return ledger->focus.frame;
}

// ---------------------------------------------------------------- attention

void fl__ledger_attention(FlLedger *ledger, int32_t entity, int32_t receiver, double value)
{
    double steps = value > 1.0 ? ATTENTION_STEPS : value > 0.0 ? value * ATTENTION_STEPS : 0.0;
    ledger->attention[fl__pair_number(ledger, entity, receiver)] = (uint8_t)(steps + 0.5);
}

void fl__ledger_rarely(FlLedger *ledger, int32_t entity, int32_t receiver, bool rarely)
{
    FlPair *pair = fl__pair(ledger, entity, receiver);
    pair->flags = (uint8_t)(rarely ? pair->flags | FL__RARELY : pair->flags & ~FL__RARELY);
}

double fl__ledger_attention_of(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    return ledger->attention[fl__pair_number(ledger, entity, receiver)] / ATTENTION_STEPS;
}

// ---------------------------------------------------------------- when

void fl__focus_trigger(FlLedger *ledger, int32_t entity, FlTime now)
{
    (void)entity;
    ledger->focus.fresh = true;
    if (ledger->focus.next == INT64_MIN) {
        ledger->focus.next = now;
    }
}

void fl__focus_sent(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    (void)now;
    fl__pair(ledger, entity, receiver)->flags &= (uint8_t)~FL__AGAIN;
}

// A game hands in a frame's states a moment after the clock says that it is time. Without anything
// new the frame waits for them a little, so that they need not wait for the one after.
FlTime fl__focus_deadline(const FlLedger *ledger)
{
    const FlFocus *focus = &ledger->focus;
    if (focus->fresh) {
        return focus->next;
    }
    return focus->frame.waiting_count > 0 ? fl_time_add(focus->next, focus->def.frame_ns / 2)
                                          : FL_FOREVER;
}

// ---------------------------------------------------------------- the focus set

#define RANKS 512 // attention, and whether it was in the set before

static int32_t rank_of(const FlLedger *ledger, int32_t number)
{
    bool before = (ledger->pairs[number].flags & FL__IN_FOCUS) != 0;
    return ledger->attention[number] * 2 + (before ? 1 : 0);
}

// How many of each rank there are; returns what a frame's update to one takes, on average.
static double count_ranks(const FlLedger *ledger, FlSendPolicy policy, int32_t ranks[RANKS])
{
    memset(ranks, 0, RANKS * sizeof ranks[0]);
    double cost = 0.0;
    int32_t count = 0;
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        ranks[rank_of(ledger, fl__pair_number(ledger, e, r))]++;
        cost += fl__update_cost(ledger, e);
        count++;
    }
    return count > 0 ? cost / count : 1.0;
}

static void choose_set(FlLedger *ledger, FlSendPolicy policy, double bytes)
{
    int32_t ranks[RANKS];
    double *credit = &ledger->focus.credit[policy == FL_SEND_FOCUS ? 0 : 1];
    double updates = floor(bytes / count_ranks(ledger, policy, ranks));
    double allowed = updates * ledger->focus.def.share + *credit;
    int32_t left = allowed < INT32_MAX ? (int32_t)allowed : INT32_MAX;
    *credit = allowed < INT32_MAX ? allowed - left : 0.0;
    int32_t lowest = RANKS - 1;
    while (lowest > 1 && ranks[lowest] <= left) { // ranks 0 and 1 do not look
        left -= ranks[lowest--];
    }
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        int32_t number = fl__pair_number(ledger, e, r);
        int32_t rank = rank_of(ledger, number);
        bool in = rank > lowest || (rank == lowest && rank > 1 && left-- > 0);
        FlPair *pair = &ledger->pairs[number];
        uint8_t flags = pair->flags & (uint8_t)~FL__IN_FOCUS;
        uint16_t lingers = pair->own.lingers;
        pair->flags = in ? flags | FL__IN_FOCUS : flags;
        pair->own.lingers = in ? LINGER : lingers > 0 ? (uint16_t)(lingers - 1) : 0;
        ledger->focus.frame.focus_count += in;
    }
}

// ---------------------------------------------------------------- who is urgent

typedef enum Need { NEED_NONE, NEED_UPDATE, NEED_LIFE } Need;

static Need need_of(const FlLedger *ledger, int32_t entity, const FlPair *pair, FlTime now)
{
    if ((pair->flags & FL__RARELY) != 0 && pair->sent > 0 &&
        fl_span(now, pair->last_sent) < RARELY_NS) {
        return NEED_NONE;
    }
    const FlEntity *e = fl__entity(ledger, entity);
    bool owed = pair->newest_sent != e->newest || (pair->flags & FL__AGAIN) != 0;
    if (!fl__remembered(e, e->newest) || (!owed && pair->sent > 0)) {
        return NEED_NONE;
    }
    bool old = e->newest - pair->newest_sent >= (uint32_t)ledger->def.path_capacity / 2;
    return !fl__believes(ledger, entity, pair) || old ? NEED_LIFE : NEED_UPDATE;
}

// Equals take turns by lot: in their order, the first would be served more often.
static uint32_t lot(const FlLedger *ledger, int32_t number)
{
    uint64_t draw = fl_random_at(ledger->def.seed, ledger->focus.frame.number, (uint64_t)number);
    return (uint32_t)(draw & ((1u << LOT_BITS) - 1));
}

// Least recently first, by the millisecond up to a quarter of an hour; below FIRST.
static uint32_t key_of_age(const FlPair *pair, FlTime now)
{
    FlTime age = pair->sent > 0 ? fl_span(now, pair->last_sent) / FL_MS(1) : AGES - 1;
    return (uint32_t)(age < 0 ? 1 : age < AGES - 1 ? age + 1 : AGES - 1) << LOT_BITS;
}

// A positive float's bits rise with it.
static uint32_t key_of_worth(double worth)
{
    float narrow = (float)(worth < 1e30 ? worth : 1e30);
    return narrow > 0.0f ? fl__float_bits(narrow) : 1;
}

// How far what the receiver will believe is off the newest motion, a little ahead.
static double off(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    const FlEntity *e = fl__entity(ledger, entity);
    FlMotion seen = fl__belief(ledger, entity, fl__pair(ledger, entity, receiver));
    const FlMotion *newest = &fl__piece(e, e->newest)->motion;
    FlTime lead = (FlTime)(DELAY_SHARE * (double)fl__delay(ledger, receiver));
    FlTime at = fl_time_add(now, lead + LOOK_AHEAD_NS);
    double distance =
        fl_vec3_distance(fl_motion_position(newest, at), fl_motion_position(&seen, at));
    if (ledger->focus.def.radian <= 0.0) {
        return distance;
    }
    FlFacing is = fl__motion_facing(newest, at);
    FlFacing believed = fl__motion_facing(&seen, at);
    return distance + ledger->focus.def.radian * fl__facing_angle(&is, &believed);
}

static uint32_t worth_key(const FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    const FlPair *pair = fl__pair(ledger, entity, receiver);
    const FlEntity *e = fl__entity(ledger, entity);
    if (fl_span(now, pair->last_sent) >= e->send.starvation_ns) {
        return FIRST + (key_of_age(pair, now) >> LOT_BITS);
    }
    FlTime waited = fl_span(now, pair->last_sent);
    uint8_t attention = ledger->attention[fl__pair_number(ledger, entity, receiver)];
    FlTime chosen_ns = ledger->focus.def.chosen_ns;
    if (chosen_ns > 0 && attention >= CHOSEN && waited >= chosen_ns) {
        return FOR_THE_CHOSEN + (key_of_age(pair, now) >> LOT_BITS);
    }
    double looks = ledger->focus.def.base + fl__ledger_attention_of(ledger, entity, receiver);
    double silence = fl_span_seconds(waited);
    double distance = off(ledger, entity, receiver, now) + ledger->focus.def.second * silence;
    return key_of_worth(looks * distance / fl__update_cost(ledger, entity));
}

// ---------------------------------------------------------------- a frame

// What is due was decided a frame ago; it is decided anew.
static void clear_due(FlLedger *ledger, FlSendPolicy policy)
{
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        *fl__due_word(ledger, e, r) &= ~fl__bit(e);
        ledger->keys[fl__pair_number(ledger, e, r)] = 0;
    }
}

// focus: the set first, who looks most before the others; then those with nothing of this life.
static void rank_all(FlLedger *ledger, FlTime now)
{
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, FL_SEND_FOCUS, &e, &r)) {
        const FlPair *pair = fl__pair(ledger, e, r);
        Need need = need_of(ledger, e, pair, now);
        if (need == NEED_NONE) {
            continue;
        }
        int32_t number = fl__pair_number(ledger, e, r);
        uint32_t key = need == NEED_LIFE ? FIRST_OF_ALL : key_of_age(pair, now);
        if ((pair->flags & FL__IN_FOCUS) != 0) {
            key = IN_FOCUS + ((uint32_t)ledger->attention[number] << LOT_BITS);
        }
        ledger->keys[number] = key + lot(ledger, number);
    }
}

static void weigh_all(FlLedger *ledger, FlTime now)
{
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, FL_SEND_FOCUS_EQUAL, &e, &r)) {
        Need need = need_of(ledger, e, fl__pair(ledger, e, r), now);
        if (need != NEED_NONE) {
            int32_t number = fl__pair_number(ledger, e, r);
            ledger->keys[number] = need == NEED_LIFE ? FIRST_OF_ALL + lot(ledger, number)
                                                     : worth_key(ledger, e, r, now);
        }
    }
}

// Pairs to which something is owed: others must not take bytes from those.
static int32_t pairs_in_need(const FlLedger *ledger, FlSendPolicy policy, FlTime now)
{
    int32_t count = 0;
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        count += need_of(ledger, e, fl__pair(ledger, e, r), now) != NEED_NONE ? 1 : 0;
    }
    return count;
}

static int32_t pair_count(const FlLedger *ledger, FlSendPolicy policy)
{
    int32_t count = 0;
    for (int32_t e = 0; e < ledger->def.entity_capacity; e++) {
        const FlEntity *entity = &ledger->entities[e];
        count += entity->live && entity->send.policy == policy ? entity->watcher_count : 0;
    }
    return count;
}

static void decide(FlLedger *ledger, FlSendPolicy policy, double part, FlTime now)
{
    clear_due(ledger, policy);
    choose_set(ledger, policy, ledger->focus.bytes * part);
    if (policy == FL_SEND_FOCUS) {
        rank_all(ledger, now);
    } else {
        weigh_all(ledger, now);
    }
    ledger->focus.frame.spent += fl__select(ledger, policy, ledger->focus.bytes * part);
}

static void count_frame(FlLedger *ledger, FlSendPolicy policy, FlTime now)
{
    FlFocusFrame *frame = &ledger->focus.frame;
    int32_t e = 0;
    int32_t r = -1;
    while (fl__pair_next(ledger, policy, &e, &r)) {
        const FlPair *pair = fl__pair(ledger, e, r);
        bool due = (*fl__due_word(ledger, e, r) & fl__bit(e)) != 0;
        bool in = (pair->flags & FL__IN_FOCUS) != 0;
        frame->focus_due += due && in;
        frame->effort_due += due && !in;
        frame->waiting_count += !due && need_of(ledger, e, pair, now) != NEED_NONE;
    }
}

void fl__focus_frame(FlLedger *ledger, FlTime now)
{
    FlFocus *focus = &ledger->focus;
    FlFocusFrame fresh = {.number = focus->frame.number + 1, .bytes = focus->bytes};
    focus->frame = fresh;
    focus->fresh = false;
    focus->next = fl_time_add(focus->next, focus->def.frame_ns);
    if (focus->next <= now) {
        focus->next = fl_time_add(now, focus->def.frame_ns);
    }
    int32_t plain = pair_count(ledger, FL_SEND_FOCUS);
    int32_t weighted = pair_count(ledger, FL_SEND_FOCUS_EQUAL);
    double part = plain > 0 ? 1.0 : 0.0; // of FL_SEND_FOCUS
    if (plain > 0 && weighted > 0) {     // pairs under the two have the same bytes each
        int32_t ours = pairs_in_need(ledger, FL_SEND_FOCUS, now);
        int32_t both = ours + pairs_in_need(ledger, FL_SEND_FOCUS_EQUAL, now);
        part = (double)ours / fl__int_max(both, 1);
    }
    if (plain > 0) {
        decide(ledger, FL_SEND_FOCUS, part, now);
        count_frame(ledger, FL_SEND_FOCUS, now);
    }
    if (weighted > 0) {
        decide(ledger, FL_SEND_FOCUS_EQUAL, 1.0 - part, now);
        count_frame(ledger, FL_SEND_FOCUS_EQUAL, now);
    }
}
