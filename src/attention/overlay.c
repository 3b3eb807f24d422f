// The overlay: where more look at an entity than its owner's upload carries, some of those who look
// forward it to others (docs/decisions/0024-overlay.md).
//
// An owner names a forwarder to a receiver (FORWARD). The receiver sends its attention there as
// well, which asks for the entity, and takes what comes as carried. As long as it comes, the owner
// learns that the receiver does not look; so it is the owner's again as soon as it does not.

// FORWARD: whom to ask for entities of mine.                     spec/WIRE.md section 7.18
//
//   bits  field    unit   valid
//   8     kind     -      16
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   16    member   -      whom to ask for it; 65535: the owner

// SPARE: how many more I could serve.                            spec/WIRE.md section 7.18
//
//   bits  field    unit   valid
//   8     kind     -      17
//   8     spare    -      receivers on top, every frame; 255: or more
#include "private.h"

#include <math.h>

#define FORWARD_HEAD 2
#define FORWARD_EACH 4
#define FORWARD_AT_MOST 16
#define FORWARD_ITEM 0x10000u // of a packet: FORWARD of an entity, not attention
#define SPARE_BYTES 2
#define NO_MEMBER 0xffffu
#define EVERY FL_MS(50)           // all is looked after
#define SPARE_EVERY FL_SEC(1)     // it is said again
#define ASK_EVERY FL_SEC(2)       // so is how much we look,
#define SILENCE_LEAST FL_MS(300)  // with a forwarder that sends nothing,
#define SILENCE_MOST FL_MS(700)   // if the entity may be silent itself
#define DELIVERS_WITHIN FL_SEC(1) // or it is left
#define AVOID_SILENT FL_SEC(5)
#define AVOID_LIAR FL_SEC(60)

// ---------------------------------------------------------------- the receiver

static void leave(FlSession *session, int32_t slot, FlTime time, FlTime avoid_ns)
{
    Source *source = &session->attention->overlay.sources[slot];
    source->avoid = source->via;
    source->avoid_until = fl_time_add(time, avoid_ns);
    source->via = FL__NONE;
    source->delivers = false;
    fl__entity_set_source(session, slot, FL__NONE);
    fl__hint_due(&session->attention->overlay.due, slot); // that we look no more
    fl__attention_refresh(session, slot);
    int32_t owner = fl__route(session, fl__entity_owner(session, slot));
    if (owner != FL__NONE) {
        session->attention->overlay.helpers[owner].urgent = true;
        fl__connection_wake(session, owner);
    }
}

static void ask(FlSession *session, int32_t slot, int32_t connection, FlTime time)
{
    Source *source = &session->attention->overlay.sources[slot];
    source->via = connection;
    source->tell = connection;
    source->sent = UNSENT;
    source->delivers = false;
    source->asked = time;
    source->next = fl_time_add(time, ASK_EVERY);
    fl__entity_set_source(session, slot, connection);
    fl__hint_due(&session->attention->overlay.due, slot);
    session->attention->overlay.helpers[connection].urgent = true;
    fl__connection_wake(session, connection);
    fl__attention_refresh(session, slot);
}

// An owner names another member, or itself.
static void sent_to(FlSession *session, int32_t connection, uint32_t number, uint32_t member)
{
    int32_t slot = fl__entity_slot_of(session, number);
    bool from_owner = slot != FL__NONE &&
                      fl__entity_owner(session, slot) == fl__connection_member(session, connection);
    if (!from_owner || !fl__overlay_is_active(session)) {
        return;
    }
    Source *source = &session->attention->overlay.sources[slot];
    FlTime time = fl__time_latest(session);
    int32_t to = member < (uint32_t)session->member_count
                     ? fl__member_connection(session, (int32_t)member)
                     : FL__NONE;
    bool avoided = to != FL__NONE && to == source->avoid && time < source->avoid_until;
    if (source->via != FL__NONE && to != source->via) {
        leave(session, slot, time, 0);
    }
    if (to != FL__NONE && to != connection && to != source->via && !avoided &&
        fl__connection_reaches(session, to) && session->attention->looks[slot].attention > 0.0f) {
        ask(session, slot, to, time);
    }
}

// An entity that hardly moves is silent for as long as its owner said.
static FlTime silence_limit(const FlSession *session, int32_t slot)
{
    FlTime silence = fl__entity_info(session, slot).def->trigger.silence_ns;
    FlTime long_enough = fl_time_add(fl_time_min(silence, SILENCE_MOST), FL_MS(150));
    return fl_time_min(fl__time_max(long_enough, SILENCE_LEAST), SILENCE_MOST);
}

static void look_after_source(FlSession *session, int32_t slot, FlTime time)
{
    Source *source = &session->attention->overlay.sources[slot];
    FlTime came = fl__entity_carried_at(session, slot);
    if (fl__entity_source(session, slot) != source->via) { // found to be a liar
        leave(session, slot, time, AVOID_LIAR);
        return;
    }
    bool reaches =
        fl__connection_used(session, source->via) && fl__connection_reaches(session, source->via);
    bool wanted = session->attention->looks[slot].attention > 0.0f;
    if (!reaches || !wanted || fl_span(time, fl__time_max(came, source->asked)) > DELIVERS_WITHIN) {
        leave(session, slot, time, AVOID_SILENT);
        return;
    }
    bool delivers = came != INT64_MIN && fl_span(time, came) <= silence_limit(session, slot);
    if (delivers != source->delivers) {
        int32_t owner = fl__route(session, fl__entity_owner(session, slot));
        source->delivers = delivers;
        fl__attention_refresh(session, slot);
        session->attention->overlay.helpers[owner].urgent = true;
        fl__connection_wake(session, owner);
    }
    if (time >= source->next) {
        source->next = fl_time_add(time, ASK_EVERY);
        fl__hint_due(&session->attention->overlay.due, slot);
    }
}

// ---------------------------------------------------------------- what we could do

// Owners of what we look at much learn it.
static void look_after_spare(FlSession *session, FlTime time)
{
    Overlay *o = &session->attention->overlay;
    int32_t room = fl__overlay_room(session);
    uint8_t spare = room <= 0 ? 0 : room < UINT8_MAX ? (uint8_t)room : UINT8_MAX;
    for (int32_t slot = fl__entity_after(session, 0); slot != FL__NONE;
         slot = fl__entity_after(session, slot + 1)) {
        double attention = (double)session->attention->looks[slot].attention;
        int32_t owner = fl__entity_owner(session, slot);
        int32_t connection = owner != FL__NONE ? fl__member_connection(session, owner) : FL__NONE;
        if (attention * 255.0 < LOOKS_MUCH - 0.5 || connection == FL__NONE ||
            !fl__overlay_serves(session, slot)) {
            continue;
        }
        Helper *helper = &o->helpers[connection];
        bool due_now = helper->tell_due == FL_FOREVER || helper->spare_sent != spare;
        helper->tell_due = due_now ? time : helper->tell_due;
        helper->spare_sent = spare;
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    Overlay *o = &session->attention->overlay;
    if (!fl__overlay_is_active(session) || !fl__time_known(session) || now < o->next) {
        return;
    }
    o->next = fl_time_add(now, EVERY);
    FlTime time = fl_session_time(session, now);
    for (int32_t slot = fl__entity_after(session, 0); slot != FL__NONE;
         slot = fl__entity_after(session, slot + 1)) {
        if (o->sources[slot].via != FL__NONE) {
            look_after_source(session, slot, time);
        }
    }
    for (int32_t slot = 0; slot != FL__NONE;) {
        slot = fl__overlay_forward_ended(session, time);
        if (slot != FL__NONE) {
            fl__attention_refresh(session, slot);
        }
    }
    fl__overlay_own(session, time);
    look_after_spare(session, time);
}

// Only where there is something to look after.
static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Overlay *o = &session->attention->overlay;
    if (!fl__overlay_is_active(session)) { // nor is it in a crowd, which knows many entities
        return FL_FOREVER;
    }
    bool busy = o->sent_on_count > 0 || o->forwarded_count > 0;
    for (int32_t slot = fl__entity_after(session, 0); !busy && slot != FL__NONE;
         slot = fl__entity_after(session, slot + 1)) {
        busy = o->sources[slot].via != FL__NONE;
    }
    return busy ? fl__time_max(o->next, now) : FL_FOREVER;
}

// ---------------------------------------------------------------- attention, to a forwarder

static bool goes(const FlSession *session, int32_t slot, int32_t connection)
{
    return session->attention->overlay.sources[slot].tell == connection;
}

static uint8_t send_look(FlSession *session, int32_t slot)
{
    Source *source = &session->attention->overlay.sources[slot];
    double attention = (double)session->attention->looks[slot].attention;
    source->sent = source->via == source->tell ? (int16_t)floor(attention * 255.0 + 0.5) : 0;
    return (uint8_t)source->sent;
}

static const Hint LOOK = {SECTION_ATTENTION, 255, goes, send_look, NULL, NULL};

// ---------------------------------------------------------------- packets out

static int32_t count_due(const FlSession *session, int32_t connection)
{
    const Overlay *o = &session->attention->overlay;
    int32_t count = 0;
    for (int32_t i = 0; i < o->sent_on_count; i++) {
        count += o->sent_on[i].receiver == connection && o->sent_on[i].due ? 1 : 0;
    }
    return fl__int_min(count, FORWARD_AT_MOST);
}

static bool is_spare_due(const FlSession *session, int32_t connection, FlTime now)
{
    return session->attention->overlay.helpers[connection].tell_due <=
           fl_session_time(session, now);
}

static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    const Overlay *o = &session->attention->overlay;
    if (!fl__overlay_is_active(session)) {
        return fl__want_none();
    }
    Want want = fl__hint_want(session, &LOOK, &o->due, connection, now);
    int32_t count = count_due(session, connection);
    want.rides += count > 0 ? FORWARD_HEAD + FORWARD_EACH * count : 0;
    want.rides += is_spare_due(session, connection, now) ? SPARE_BYTES : 0;
    if (count > 0 || o->helpers[connection].urgent) {
        want.at = now;
        want.bytes = want.rides;
    }
    return want;
}

static void write_forward(PacketOut *out)
{
    FlSession *session = out->session;
    Overlay *o = &session->attention->overlay;
    int32_t count = count_due(session, out->connection);
    if (count == 0 || FORWARD_HEAD + FORWARD_EACH * count > out->left) {
        return;
    }
    fl_writer_put(out->w, SECTION_FORWARD, 8);
    fl_writer_put(out->w, (uint64_t)count, 8);
    for (int32_t i = 0; i < o->sent_on_count && count > 0; i++) {
        SentOn *at = &o->sent_on[i];
        if (at->receiver != out->connection || !at->due) {
            continue;
        }
        uint32_t member = at->forwarder != FL__NONE
                              ? (uint32_t)fl__connection_member(session, at->forwarder)
                              : NO_MEMBER;
        fl_writer_put(out->w, fl__entity_number(session, at->slot), 16);
        fl_writer_put(out->w, member, 16);
        fl__packet_note(out, at->slot, FORWARD_ITEM | member);
        at->due = false;
        count--;
    }
}

static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    Helper *helper = &session->attention->overlay.helpers[out->connection];
    if (!fl__overlay_is_active(session)) {
        return;
    }
    helper->urgent = false;
    int32_t end = fl_writer_size(out->w) + out->left;
    fl__hint_write(&LOOK, &session->attention->overlay.due, out);
    out->left = end - fl_writer_size(out->w);
    write_forward(out);
    out->left = end - fl_writer_size(out->w);
    if (is_spare_due(session, out->connection, out->now) && out->left >= SPARE_BYTES) {
        fl_writer_put(out->w, SECTION_SPARE, 8);
        fl_writer_put(out->w, helper->spare_sent, 8);
        helper->tell_due = fl_time_add(out->time, SPARE_EVERY);
    }
}

static void settle(FlSession *session, int32_t connection, const Item *item, const Fate *fate)
{
    Overlay *o = &session->attention->overlay;
    if (item->value < FORWARD_ITEM) { // attention
        Source *source = &o->sources[item->index];
        if (!fate->delivered && source->tell == connection &&
            source->sent == (int32_t)item->value) {
            fl__hint_due(&o->due, item->index);
        }
        return;
    }
    SentOn *at = fl__overlay_sent_on(session, item->index, connection);
    if (at != NULL && !fate->delivered) {
        at->due = true;
    } else if (at != NULL && at->forwarder == FL__NONE && !at->due &&
               item->value == (FORWARD_ITEM | NO_MEMBER)) {
        *at = o->sent_on[--o->sent_on_count]; // it knows
    }
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    for (int32_t i = 0; i < count; i++) {
        settle((FlSession *)self, connection, &items[i], fate);
    }
}

// ---------------------------------------------------------------- packets in

static bool skip(const void *self, PacketIn *in)
{
    const FlSession *session = (const FlSession *)self;
    if (in->kind == SECTION_CARRIED) {
        return fl__motion_skip(session, in);
    }
    uint64_t count = fl_reader_take(in->r, 8);
    if (in->kind == SECTION_SPARE) {
        return !in->r->failed;
    }
    bool sound = count >= 1 && count <= FORWARD_AT_MOST;
    for (uint64_t i = 0; i < count && sound; i++) {
        uint64_t number = fl_reader_take(in->r, 16);
        (void)fl_reader_take(in->r, 16);
        sound = !in->r->failed && number < (uint64_t)session->world.def.entity_capacity;
    }
    return sound;
}

static void take(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    if (in->kind == SECTION_CARRIED) {
        fl__motion_take(session, in);
        return;
    }
    uint64_t count = fl_reader_take(in->r, 8);
    if (in->kind == SECTION_SPARE) {
        session->attention->overlay.helpers[in->connection].spare = (uint8_t)count;
        session->attention->overlay.helpers[in->connection].lent = 0;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint32_t number = (uint32_t)fl_reader_take(in->r, 16);
        uint32_t member = (uint32_t)fl_reader_take(in->r, 16);
        sent_to(session, in->connection, number, member);
    }
}

// ---------------------------------------------------------------- changes

static void forget_slot(FlSession *session, int32_t slot)
{
    Overlay *o = &session->attention->overlay;
    Source none = {.via = FL__NONE, .tell = FL__NONE, .sent = UNSENT, .avoid = FL__NONE};
    o->sources[slot] = none;
    fl__bit_clear(o->due.words, slot);
    if (fl__entity_source(session, slot) != FL__NONE) {
        fl__entity_set_source(session, slot, FL__NONE);
    }
    for (int32_t i = o->forwarded_count - 1; i >= 0; i--) {
        if (o->forwarded[i].slot == slot) {
            fl__overlay_forward_end(session, &o->forwarded[i]);
        }
    }
    fl__overlay_own_forget(session, slot, FL__NONE);
}

static void forget_connection(FlSession *session, int32_t connection)
{
    Overlay *o = &session->attention->overlay;
    for (int32_t slot = fl__entity_after(session, 0); slot != FL__NONE;
         slot = fl__entity_after(session, slot + 1)) {
        Source *source = &o->sources[slot];
        if (source->via == connection) {
            leave(session, slot, fl__time_latest(session), 0);
        }
        source->tell = source->tell == connection ? FL__NONE : source->tell;
        source->avoid = source->avoid == connection ? FL__NONE : source->avoid;
    }
    for (int32_t i = o->forwarded_count - 1; i >= 0; i--) {
        if (o->forwarded[i].connection == connection) {
            int32_t slot = o->forwarded[i].slot;
            fl__overlay_forward_end(session, &o->forwarded[i]);
            fl__attention_refresh(session, slot);
        }
    }
    fl__overlay_own_forget(session, FL__NONE, connection);
    Helper none = {.tell_due = FL_FOREVER};
    o->helpers[connection] = none;
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    switch (change->kind) {
    case CHANGE_ENTITY_MADE:
    case CHANGE_ENTITY_MOVED:
    case CHANGE_ENTITY_GIVEN:
    case CHANGE_ENTITY_GONE:
        if (fl__ledger(session) != NULL) {
            forget_slot(session, change->slot);
        }
        break;
    case CHANGE_CONNECTION_OPENED:
    case CHANGE_CONNECTION_CLOSED:
        if (fl__ledger(session) != NULL) {
            forget_connection(session, change->connection);
        }
        break;
    default:
        break;
    }
}

const Feature fl__feature_overlay = {
    .name = "overlay",
    .sections = {SECTION_CARRIED, 3},
    .rides = true,
    .repeats = true,
    .advance = advance,
    .deadline = deadline,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .changed = changed,
};
