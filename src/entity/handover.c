// Entities whose owner is gone: who has what of them, and who gets them.
//
// Only its owner decides about an entity, and what it had decided last may be known to a
// single peer: the one it answered. So before an orphan gets a new owner the host asks everybody
// who is left (ASK), again if a member leaves meanwhile; they report the newest state that they
// have (CLAIM, one for each orphan, then CLAIMED), and from then on take nothing more of the old
// owner. The newest of all is what goes on, under the next epoch; calls of before are gone
// (call_floor). Whoever does not answer for two time-outs is not left.
//
// A host that has just taken over asks for everything (and which numbers have ended): what was
// being given away when the old host died may have no owner at all, or one we do not know of. By
// the time all have claimed they have also announced what is theirs (both go in order). No member
// is believed who announces what another was known to own: only the last owner we know of can say
// that it gave it away, and to whom; if that one is gone, another member must have received the
// same. What has no owner then is an orphan, too.
//
// Who gets it: the host, if it stays; else whoever gave it away to the one who is gone; else
// none.
#include "handover.h"
#include "fields.h"
#include "private.h"

#include "link/link.h"
#include "wire/wire.h"

#include <string.h>

#define CLAIM_UNKNOWN 0xffff  // as an owner
#define ASK_EVERY FL_MS(500)  // some may not know yet that we host
#define CLAIM_EVERY FL_MS(20) // while a queue is full
#define EPOCHS_MISSED 1024    // at most, by a new host; more could be half a circle, or a lie

static Entity *next_live(const FlSession *session, int32_t *slot)
{
    for (; *slot < session->def.entity_capacity; (*slot)++) {
        if (fl__is_live(fl__entity(session, *slot))) {
            return fl__entity(session, *slot);
        }
    }
    return NULL;
}

static bool is_there(const FlSession *session, int32_t member)
{
    return member != FL__NONE && fl__member_present(session, member);
}

static bool has_orphans(const void *self, int32_t owner)
{
    const FlSession *session = (const FlSession *)self;
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        if (entity->orphan && entity->owner == owner) {
            return true;
        }
    }
    return false;
}

static void make_orphans(FlSession *session, int32_t owner)
{
    bool host = fl__is_host(session);
    bool decide = host || owner == session->host || !fl__member_present(session, owner);
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        if (host && entity->giver == owner) {
            entity->giver = FL__NONE;
        }
        if (entity->owner != owner || entity->orphan) {
            continue;
        }
        bool back = host && is_there(session, entity->giver);
        if (decide && !(entity->announced && (entity->def->survives_owner || back))) {
            fl__entity_remove(session, entity);
        } else {
            entity->orphan = true;
        }
    }
}

// ---------------------------------------------------------------- the host asks

static void set_due(FlSession *session, int32_t member, bool due)
{
    if (due) {
        fl__bit_set(session->entities->claims_due, member);
    } else {
        fl__bit_clear(session->entities->claims_due, member);
    }
}

// A member's entities are to be given to others: asks what is known of them. `all`: we are the host
// since now.
static void ask_all(FlSession *session, bool all, FlTime now)
{
    session->entities->claim_all =
        all || (session->entities->claiming && session->entities->claim_all);
    session->entities->claiming = true;
    session->entities->claim_round++;
    session->entities->claim_since = now;
    session->entities->claim_again = now;
    for (int32_t i = 0; i < session->member_count; i++) {
        int32_t connection = fl__member_connection(session, i);
        bool asked = fl__member_present(session, i) && i != session->self &&
                     connection != FL__NONE && !fl__connection_unproven(session, connection);
        set_due(session, i, asked);
        if (asked) {
            fl__bit_set(session->entities->claims_asked, i);
        }
    }
}

static void ask(FlSession *session, int32_t connection)
{
    AskMessage m = {session->entities->claim_round, session->entities->claim_all};
    uint8_t bytes[8];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__ask_message_write(&w, &m);
    // Leavers are announced before; blocked: the next time.
    (void)fl__message_send(session, connection, FL_DELIVERY_ORDERED, &w);
}

static bool is_near(uint16_t epoch, uint16_t before)
{
    uint16_t ahead = (uint16_t)(epoch - before);
    return ahead > 0 && ahead <= EPOCHS_MISSED;
}

// A number that is nothing here: it has ended, or we never knew it and so it has now. Who is
// there knows best how often it has used its numbers: no other member can use them up.
static void end_number(FlSession *session, int32_t from, const ClaimMessage *m)
{
    uint32_t seat = m->number / session->id_range;
    bool theirs = seat == (uint32_t)from || (seat < (uint32_t)session->seat_count &&
                                             !fl__member_present(session, (int32_t)seat));
    bool known = session->entities->number_known[m->number];
    uint16_t before = session->entities->number_epoch[m->number];
    bool newer = !known || fl__seq_newer(m->epoch, before);
    bool believed = theirs && (!known || is_near(m->epoch, before));
    session->count[FL_SESSION_FOREIGN] += newer && !believed ? 1 : 0;
    if (believed) {
        session->entities->number_epoch[m->number] = m->epoch;
        session->entities->number_known[m->number] = true;
    }
    if (!m->ended && believed) {
        fl__entity_announce(session, m->number,
                            FL__NONE); // others may have it, and not be its maker
    } else if (!m->ended) {
        fl__entity_announce_to(session, m->number, from);
    }
}

static Testimony *testimony_of(const FlSession *session, const Entity *entity, int32_t member)
{
    int64_t first = (int64_t)fl__slot(session, entity) * session->member_count;
    return &session->entities->testimony[first + member];
}

void fl__testimony_own(FlSession *session, const Entity *entity, int32_t from, uint16_t epoch)
{
    Testimony report = {.given = true, .own = true, .owner = (uint16_t)from, .epoch = epoch};
    *testimony_of(session, entity, from) = report;
}

static bool claim_received(FlSession *session, const MessageIn *in)
{
    ClaimMessage m;
    if (!fl__claim_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity) {
        return false;
    }
    int32_t from = in->from;
    if (!session->entities->claiming || !fl__bit_get(session->entities->claims_due, from)) {
        return true; // asked twice, it says it twice
    }
    int32_t slot = session->entities->by_number[m.number];
    if (slot == FL__NONE) {
        if (!m.ended || session->entities->claim_all) {
            end_number(session, from, &m);
        }
        return true;
    }
    Entity *entity = fl__entity(session, slot);
    bool all = session->entities->claim_all && !entity->confirmed;
    if (entity->ours || !(entity->orphan || all)) {
        return true;
    }
    if (m.ended) { // by its owner: the word of it was lost with the host before us
        if (entity->owner == from && !fl__seq_newer(entity->epoch, m.epoch)) {
            fl__entity_remove(session, entity);
        }
        return true;
    }
    if (all) {
        Testimony report = {.given = true, .owner = m.owner, .epoch = m.epoch};
        *testimony_of(session, entity, from) = report;
    }
    if (entity->orphan && is_near(m.epoch, entity->epoch)) {
        entity->epoch = m.epoch;
        session->entities->number_epoch[m.number] = m.epoch;
    }
    uint16_t latest = (uint16_t)(entity->epoch + (entity->owner == from ? 1 : 0)); // it gave it
    bool sound = !fl__seq_newer(m.epoch, latest);
    if (m.version != 0 && sound && (entity->orphan || entity->owner == from)) {
        fl__state_keep(session, slot, m.epoch, m.version, m.state, m.count);
    }
    return true;
}

static bool claimed_received(FlSession *session, const MessageIn *in)
{
    ClaimedMessage m;
    if (!fl__claimed_message_read(in->r, &m)) {
        return false;
    }
    if (session->entities->claiming && m.round == session->entities->claim_round) {
        set_due(session, in->from, false);
        fl__succession_followed(session, in->connection);
    }
    return true;
}

// ---------------------------------------------------------------- whose it is, when we are new

// From the last owner we know of, each owner is believed about whom it gave it to, until one says
// that it has it. FL__NONE: none does.
static int32_t holder_of(const FlSession *session, const Entity *entity, uint16_t *epoch)
{
    int32_t holder = entity->owner;
    for (int32_t i = 0; i < session->member_count && is_there(session, holder); i++) {
        const Testimony *report = testimony_of(session, entity, holder);
        if (!report->given || !is_near((uint16_t)(report->epoch + 1), *epoch)) {
            return FL__NONE;
        }
        *epoch = report->epoch;
        if (report->own) {
            return holder;
        }
        bool on = report->owner != holder && report->owner < session->member_count;
        holder = on ? report->owner : FL__NONE;
    }
    return FL__NONE;
}

// Its last owner is gone: a member has it of which another says so, too.
static int32_t witnessed(const FlSession *session, const Entity *entity, uint16_t *epoch)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        const Testimony *own = testimony_of(session, entity, i);
        bool newer = own->own && is_near(own->epoch, *epoch) && is_there(session, i);
        for (int32_t w = 0; newer && w < session->member_count; w++) {
            const Testimony *report = testimony_of(session, entity, w);
            if (report->given && !report->own && report->owner == i &&
                report->epoch == own->epoch) {
                *epoch = own->epoch;
                return i;
            }
        }
    }
    return FL__NONE;
}

// True: a member has it, and is announced.
static bool found_holder(FlSession *session, Entity *entity, FlTime time)
{
    uint16_t epoch = entity->epoch;
    int32_t holder = is_there(session, entity->owner) && !entity->orphan
                         ? holder_of(session, entity, &epoch)
                         : witnessed(session, entity, &epoch);
    if (holder == FL__NONE || !entity->announced) {
        return false;
    }
    fl__entity_pass(session, entity, holder, epoch, time);
    entity->handing = false; // it says itself that it has it
    entity->giver = FL__NONE;
    entity->confirmed = true;
    fl__entity_announce(session, entity->number, FL__NONE);
    return true;
}

// Whatever epoch a member believes it to be in ends.
static void pass_epochs(FlSession *session, Entity *entity)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        const Testimony *report = testimony_of(session, entity, i);
        if (report->given && is_near(report->epoch, entity->epoch)) {
            entity->epoch = report->epoch;
        }
    }
}

// ---------------------------------------------------------------- giving them away

static int32_t heir_of(const FlSession *session, const Entity *entity)
{
    if (entity->def->survives_owner) {
        return session->self;
    }
    if (is_there(session, entity->giver)) {
        return entity->giver;
    }
    return entity->orphan ? FL__NONE : entity->owner; // who gave it, and no member got it
}

static void settle(FlSession *session, Entity *entity, FlTime time)
{
    int32_t heir = entity->announced ? heir_of(session, entity) : FL__NONE;
    if (heir == FL__NONE) {
        fl__entity_remove(session, entity);
        return;
    }
    uint16_t epoch = (uint16_t)(entity->epoch + 1);
    entity->call_floor = epoch;
    if (entity->detail != NULL &&
        entity->detail->state_version != 0) { // so that it is newer than what anybody has
        entity->detail->state_version = fl__state_after(entity->detail->state_version);
        entity->detail->state_epoch = epoch;
        fl__fields_restamp(session, entity);
    }
    fl__entity_pass(session, entity, heir, epoch, time);
    entity->giver = FL__NONE;
    entity->confirmed = true;
    fl__entity_announce(session, entity->number, FL__NONE);
    if (entity->detail != NULL && entity->detail->state_version != 0) {
        fl__state_due(session, entity);
    }
}

static void settle_all(FlSession *session, FlTime now)
{
    FlTime time = fl_session_time(session, now);
    bool all = session->entities->claim_all;
    session->entities->claiming = false;
    session->entities->claim_all = false;
    memset(session->entities->claims_asked, 0, (size_t)session->member_words * sizeof(uint64_t));
    for (int32_t i = 0; i < session->connection_count && all; i++) {
        fl__connection_wake(session, i); // ends may have waited
    }
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        bool unconfirmed = all && !entity->ours && !entity->confirmed;
        if (unconfirmed && found_holder(session, entity, time)) {
            continue;
        }
        if (unconfirmed) {
            pass_epochs(session, entity);
        }
        if (entity->orphan || unconfirmed) {
            settle(session, entity, time);
        }
    }
}

// All at once: with each of them the others are asked anew.
static void send_late_away(FlSession *session, FlTime now)
{
    uint64_t *late = session->entities->claims_late;
    int32_t i = fl__bit_next(late, session->member_words, 0);
    for (; i != FL__NONE; i = fl__bit_next(late, session->member_words, i + 1)) {
        int32_t connection = fl__member_connection(session, i);
        fl__bit_clear(late, i);
        if (fl__member_present(session, i) && connection != FL__NONE) {
            fl__connection_lost(session, connection, FL_LEFT_TIMED_OUT, now);
        }
    }
}

#define CLAIM_WITHIN FL_SEC(2) // a lossy path takes some round trips, whatever the time-out

// Some may need a whole time-out to notice that the host before us is gone, or be silent for as
// long; whoever answers everything else need not think about this.
static FlTime claim_limit(const FlSession *session, int32_t connection, FlTime now)
{
    FlTime timeout = session->def.timeout_ns;
    bool silent = fl__link_silence(fl__connection_link(session, connection), now).silent;
    FlTime answers = fl__time_max(timeout / 4, CLAIM_WITHIN);
    return session->entities->claim_all || silent ? 2 * timeout : answers;
}

static void host_update(FlSession *session, FlTime now)
{
    Entities *e = session->entities;
    bool waiting = false;
    bool again = now >= e->claim_again;
    FlTime waited = fl_span(now, e->claim_since);
    bool over = false;
    int32_t i = fl__bit_next(e->claims_due, session->member_words, 0);
    for (; i != FL__NONE; i = fl__bit_next(e->claims_due, session->member_words, i + 1)) {
        int32_t connection = fl__member_connection(session, i);
        if (!fl__member_present(session, i) || connection == FL__NONE) {
            set_due(session, i, false);
            continue;
        }
        waiting = true;
        if (waited > claim_limit(session, connection, now)) {
            fl__bit_set(e->claims_late, i);
            over = true;
        }
        if (again) {
            ask(session, connection);
        }
    }
    e->claim_again = again ? fl_time_add(now, ASK_EVERY) : e->claim_again;
    if (!waiting) {
        settle_all(session, now);
    } else if (over) {
        send_late_away(session, now);
    }
}

// ---------------------------------------------------------------- the others claim

static bool ask_received(FlSession *session, const MessageIn *in)
{
    AskMessage m;
    if (!fl__ask_message_read(in->r, &m)) {
        return false;
    }
    if (m.all) { // what is ours we may have announced before it knew that it hosts
        fl__connection_changed(session, CHANGE_ANNOUNCE_ALL, in->connection, in->now);
        fl__reach_announce(session);
    }
    session->entities->claim_turn = 0;
    session->entities->claim_round = m.round;
    session->entities->claim_all = m.all;
    session->entities->claim_again = in->now;
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        if (entity->orphan) { // from here on nothing of its last owner counts
            entity->call_floor = (uint16_t)(entity->epoch + 1);
        }
    }
    return true;
}

static bool send_claim(FlSession *session, const ClaimMessage *m)
{
    uint8_t bytes[FL_CALL_STATE_BYTES + 16];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__claim_message_write(&w, m);
    return fl__host_send(session, &w) == FL_OK;
}

// One for every version that groups of it are of.
static bool claim_fields(FlSession *session, const Entity *entity, ClaimMessage *m)
{
    const FieldsOf *fields = fl__fields_of(session, entity);
    uint32_t left = fl__layout_groups(fields->layout);
    bool sent = true;
    while (left != 0 && sent) {
        uint32_t groups = fl__fields_alike(fields, left);
        uint32_t stamp = fields->stamp[fl__bit_lowest(groups)];
        left &= ~groups;
        m->version = (uint16_t)stamp;
        if (stamp != 0) {
            FlWriter w;
            fl_writer_init(&w, m->state, sizeof m->state);
            fl__groups_write(fields->layout, entity->detail->state, groups, &w);
            m->count = fl_writer_size(&w);
            sent = send_claim(session, m);
        }
    }
    return sent;
}

static bool claim_entity(FlSession *session, const Entity *entity)
{
    bool stated = entity->detail != NULL && entity->detail->state_version != 0;
    bool moved = stated || entity->epoch != entity->born || entity->giving;
    bool known = fl__is_live(entity) && !entity->ours &&
                 (entity->orphan || (session->entities->claim_all && moved));
    if (!known) {
        return true;
    }
    bool giving = entity->giving && entity->detail != NULL;
    int32_t owner = giving ? entity->detail->given : entity->owner;
    ClaimMessage m = {.number = (uint16_t)entity->number,
                      .epoch = (uint16_t)(entity->epoch + (giving ? 1 : 0)),
                      .owner = (uint16_t)(owner != FL__NONE ? owner : CLAIM_UNKNOWN)};
    if (stated && fl__fields_of(session, entity)->layout != NULL) {
        return claim_fields(session, entity, &m);
    }
    if (stated) {
        m.version = entity->detail->state_version;
        m.count = entity->detail->state_bytes;
        memcpy(m.state, entity->detail->state, (size_t)m.count);
    }
    return send_claim(session, &m);
}

// Numbers that ended, of ours and of those that newcomers will give again: the host before us may
// have died before it announced it.
static bool claim_number(FlSession *session, uint32_t number)
{
    uint32_t seat = number / session->id_range;
    bool known = session->entities->claim_all && session->entities->number_known[number] &&
                 session->entities->by_number[number] == FL__NONE &&
                 seat < (uint32_t)session->seat_count &&
                 (!fl__member_present(session, (int32_t)seat) || seat == (uint32_t)session->self);
    ClaimMessage m = {.number = (uint16_t)number,
                      .epoch = session->entities->number_epoch[number],
                      .ended = true};
    return !known || send_claim(session, &m);
}

static bool claimed(FlSession *session)
{
    ClaimedMessage m = {session->entities->claim_round};
    uint8_t bytes[8];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__claimed_message_write(&w, &m);
    return fl__host_send(session, &w) == FL_OK;
}

static void client_update(FlSession *session, FlTime now)
{
    session->entities->claim_again = fl_time_add(now, CLAIM_EVERY);
    int32_t entities = session->def.entity_capacity;
    int32_t all = entities + session->world.def.entity_capacity;
    for (; session->entities->claim_turn < all; session->entities->claim_turn++) {
        int32_t i = session->entities->claim_turn;
        if (i < entities ? !claim_entity(session, fl__entity(session, i))
                         : !claim_number(session, (uint32_t)(i - entities))) {
            return;
        }
    }
    if (claimed(session)) {
        session->entities->claim_turn = FL__NONE;
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->state != FL_SESSION_RUNNING) {
        return;
    }
    bool host = fl__is_host(session);
    if (host && session->entities->claiming) {
        host_update(session, now);
    } else if (!host && session->entities->claim_turn != FL__NONE &&
               now >= session->entities->claim_again) {
        client_update(session, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    (void)now;
    bool busy = fl__is_host(session) ? session->entities->claiming
                                     : session->entities->claim_turn != FL__NONE;
    return busy ? session->entities->claim_again : FL_FOREVER;
}

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    switch (in->kind) {
    case MESSAGE_ASK:
        return ask_received(session, in);
    case MESSAGE_CLAIM:
        return claim_received(session, in);
    default:
        return claimed_received(session, in);
    }
}

// The announcement that a member left may have got lost with the host.
static void host_lost(FlSession *session)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        if (!fl__member_present(session, i)) {
            make_orphans(session, i);
        }
    }
}

static void host_self(FlSession *session, FlTime now)
{
    memset(session->entities->testimony, 0,
           (size_t)session->def.entity_capacity * (size_t)session->member_count *
               sizeof(Testimony));
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        fl__entity(session, i)->confirmed = fl__entity(session, i)->ours;
    }
    ask_all(session, true, now);
}

static void host_other(FlSession *session)
{
    session->entities->claim_turn = FL__NONE; // of the old host's asking
    session->entities->claiming = false;
    session->entities->claim_all = false;
}

static void member_left(FlSession *session, int32_t member, FlTime now)
{
    // What it sent others last may have come after they claimed: they do so again.
    if (fl__is_host(session) && (has_orphans(session, member) || session->entities->claiming)) {
        ask_all(session, false, now);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    switch (change->kind) {
    case CHANGE_MEMBER_LEAVES:
        make_orphans(session, change->member);
        break;
    case CHANGE_MEMBER_LEFT:
        member_left(session, change->member, change->now);
        break;
    case CHANGE_HOST_LOST:
        host_lost(session);
        break;
    case CHANGE_HOST_SELF:
        host_self(session, change->now);
        break;
    case CHANGE_HOST_OTHER:
        host_other(session);
        break;
    default:
        break;
    }
}

const Feature fl__feature_handover = {
    .name = "handover",
    .messages = {MESSAGE_ASK, 3},
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
    .holds = has_orphans,
};
