// Entities whose owner is gone: who has what of them, and who gets them.
//
// Nobody but its owner decides about an entity, and what it had decided last may be known to a
// single peer: the one it answered. So before an orphan gets a new owner the host asks everybody
// who is left (ASK), again if somebody leaves meanwhile; they tell the newest state that they have
// (CLAIM, one for each orphan, then CLAIMED), and from then on take nothing more of the old owner.
// The newest of all is what goes on, under the next epoch; calls of before are gone (call_floor).
// Whoever does not answer for two time-outs is not left.
//
// A host that has just taken over asks for everything (and which numbers have ended): what was
// being given away when the old host died may have no owner at all. By the time all have claimed
// they have also announced what is theirs (both go in order); what nobody announced is an orphan,
// too.
//
// Who gets it: the host, if it stays; else whoever gave it away to the one who is gone; else
// nobody.
#include "private.h"

#include <string.h>

#define ASK_EVERY FL_MS(500)  // some may not know yet that we host
#define CLAIM_EVERY FL_MS(20) // while a queue is full
#define EPOCHS_MISSED 1024    // at most, by a new host; more could be half a circle, or a lie

static Entity *next_live(const FlSession *session, int32_t *slot)
{
    for (; *slot < session->def.entity_capacity; (*slot)++) {
        if (fl__entity_live(&session->entities[*slot])) {
            return &session->entities[*slot];
        }
    }
    return NULL;
}

static bool is_there(const FlSession *session, int32_t member)
{
    return member != FL__NONE && session->members[member].present;
}

bool fl__orphans_of(const FlSession *session, int32_t owner)
{
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        if (entity->orphan && entity->owner == owner) {
            return true;
        }
    }
    return false;
}

void fl__orphans_make(FlSession *session, int32_t owner)
{
    bool host = fl__is_host(session);
    bool decide = host || owner == session->host || session->members[owner].present == false;
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        if (host && entity->giver == owner) {
            entity->giver = FL__NONE;
        }
        if (entity->owner != owner || entity->orphan) {
            continue;
        }
        bool back = host && is_there(session, entity->giver);
        if (decide && !(entity->announced && (entity->def.stays || back))) {
            fl__entity_remove(session, entity);
        } else {
            entity->orphan = true;
        }
    }
}

// ---------------------------------------------------------------- the host asks

void fl__orphans_ask(FlSession *session, bool all, FlTime now)
{
    session->claim_all = all || (session->claiming && session->claim_all);
    session->claiming = true;
    session->claim_round++;
    session->claim_since = now;
    session->claim_again = now;
    for (int32_t i = 0; i < session->member_count; i++) {
        Member *member = &session->members[i];
        member->claims_due = member->present && i != session->self && member->line != FL__NONE &&
                             !session->lines[member->line].unproven;
    }
}

static void ask(FlSession *session, int32_t line)
{
    FlAskMessage m = {session->claim_round, session->claim_all};
    uint8_t bytes[8];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, FL_GROUP_ASK, 8);
    fl_ask_message_write(&w, &m);
    FL_ASSERT(!w.failed);
    if (fl__news_flush(session, line)) { // who is gone is told before; blocked: the next time
        (void)(fl_link_send(session->lines[line].link, FL_DELIVERY_ORDERED, bytes,
                            fl_writer_size(&w)) == FL_OK);
        fl__line_wake(session, line);
    }
}

static bool is_near(uint16_t epoch, uint16_t before)
{
    uint16_t ahead = (uint16_t)(epoch - before);
    return ahead > 0 && ahead <= EPOCHS_MISSED;
}

// A number that is nothing here: it has ended, or we never heard of it and so it has now. Who is
// there knows best how often it has used its numbers: nobody else can use them up.
static void end_number(FlSession *session, int32_t from, const FlClaimMessage *m)
{
    uint32_t seat = m->number / session->share;
    bool theirs = seat == (uint32_t)from ||
                  (seat < (uint32_t)session->seat_count && !session->members[seat].present);
    bool known = session->number_known[m->number];
    uint16_t before = session->number_epoch[m->number];
    bool newer = !known || fl_epoch_newer(m->epoch, before);
    bool believed = theirs && (!known || is_near(m->epoch, before));
    session->count[FL_SESSION_FOREIGN] += newer && !believed ? 1 : 0;
    if (believed) {
        session->number_epoch[m->number] = m->epoch;
        session->number_known[m->number] = true;
    }
    if (!m->ended && believed) {
        fl__news_entity(session, m->number, FL__NONE); // others may have it, and not be its maker
    } else if (!m->ended) {
        fl__news_entity_to(session, m->number, from);
    }
}

static bool claim_heard(FlSession *session, const MessageIn *in)
{
    FlClaimMessage m;
    if (!fl_claim_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity ||
        !fl__is_host(session)) {
        return false;
    }
    int32_t from = in->from;
    if (!session->claiming || !session->members[from].claims_due) {
        return true; // asked twice, it says it twice
    }
    int32_t slot = session->by_number[m.number];
    if (slot == FL__NONE) {
        if (!m.ended || session->claim_all) {
            end_number(session, from, &m);
        }
        return true;
    }
    Entity *entity = &session->entities[slot];
    bool open = !entity->ours && (entity->orphan || (session->claim_all && !entity->confirmed));
    if (!open) {
        return true;
    }
    if (m.ended) { // by who made it: the word of it was lost with the host before us
        bool made = m.number / session->share == (uint32_t)from;
        if (made && !fl_epoch_newer(entity->epoch, m.epoch)) {
            fl__entity_remove(session, entity);
        }
        return true;
    }
    if (is_near(m.epoch, entity->epoch)) {
        entity->epoch = m.epoch;
        session->number_epoch[m.number] = m.epoch;
    }
    if (m.version != 0) {
        fl__state_keep(session, entity, m.version, m.state, m.count);
    }
    return true;
}

static bool claimed_heard(FlSession *session, const MessageIn *in)
{
    FlClaimedMessage m;
    if (!fl_claimed_message_read(in->r, &m)) {
        return false;
    }
    if (session->claiming && fl__is_host(session) && m.round == session->claim_round) {
        session->members[in->from].claims_due = false;
        session->unfollowed = false;
        session->lines[in->line].followed = true;
    }
    return true;
}

// ---------------------------------------------------------------- giving them away

static int32_t heir_of(const FlSession *session, const Entity *entity)
{
    if (entity->def.stays) {
        return session->self;
    }
    if (is_there(session, entity->giver)) {
        return entity->giver;
    }
    return entity->orphan ? FL__NONE : entity->owner; // who gave it, and nobody got it
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
    if (entity->state_version != 0) { // so that it is newer than what anybody has
        entity->state_version = (uint16_t)(entity->state_version + 1);
        entity->state_version = entity->state_version == 0 ? 1 : entity->state_version;
    }
    fl__entity_pass(session, entity, heir, epoch, time);
    entity->giver = FL__NONE;
    entity->confirmed = true;
    fl__news_entity(session, entity->number, FL__NONE);
    if (entity->state_version != 0) {
        fl__entity_state_news(session, entity);
    }
}

static void settle_all(FlSession *session, FlTime now)
{
    FlTime time = fl_session_time(session, now);
    bool all = session->claim_all;
    session->claiming = false;
    session->claim_all = false;
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        bool nobodys = all && !entity->ours && !entity->confirmed;
        if (entity->orphan || nobodys) {
            settle(session, entity, time);
        }
    }
}

// All at once: with each of them the others are asked anew.
static void send_late_away(FlSession *session, FlTime now)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        Member *member = &session->members[i];
        bool late = member->claims_late && member->present && member->line != FL__NONE;
        member->claims_late = false;
        if (late) {
            fl__line_lost(session, member->line, FL_LEFT_TIMED_OUT, now);
        }
    }
}

static void host_update(FlSession *session, FlTime now)
{
    bool waiting = false;
    bool again = now >= session->claim_again;
    // Some may need a whole time-out to notice that the host before us is gone.
    bool over = fl_span(now, session->claim_since) > 2 * session->def.link.timeout_ns;
    for (int32_t i = 0; i < session->member_count; i++) {
        Member *member = &session->members[i];
        member->claims_due = member->claims_due && member->present && member->line != FL__NONE;
        if (!member->claims_due) {
            continue;
        }
        member->claims_late = over;
        waiting = true;
        if (again) {
            ask(session, member->line);
        }
    }
    session->claim_again = again ? fl_time_add(now, ASK_EVERY) : session->claim_again;
    if (!waiting) {
        settle_all(session, now);
    } else if (over) {
        send_late_away(session, now);
    }
}

// ---------------------------------------------------------------- the others claim

static bool ask_heard(FlSession *session, const MessageIn *in)
{
    FlAskMessage m;
    if (!fl_ask_message_read(in->r, &m)) {
        return false;
    }
    if (!in->from_host) {
        return true; // another who leads
    }
    if (m.all) { // what is ours we may have told before it knew that it hosts
        fl__news_all(session, in->line);
        fl__mesh_tell_reached(session);
    }
    session->claim_turn = 0;
    session->claim_round = m.round;
    session->claim_all = m.all;
    session->claim_again = in->now;
    Entity *entity;
    for (int32_t i = 0; (entity = next_live(session, &i)) != NULL; i++) {
        if (entity->orphan) { // from here on nothing of its last owner counts
            entity->call_floor = (uint16_t)(entity->epoch + 1);
        }
    }
    return true;
}

static bool tell_claim(FlSession *session, const FlClaimMessage *m)
{
    uint8_t bytes[FL_CALL_STATE_BYTES + 16];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, FL_GROUP_CLAIM, 8);
    fl_claim_message_write(&w, m);
    return fl__tell_host(session, &w) == FL_OK;
}

static bool claim_entity(FlSession *session, const Entity *entity)
{
    bool told = fl__entity_live(entity) && !entity->ours &&
                (entity->orphan || (session->claim_all && entity->state_version != 0));
    if (!told) {
        return true;
    }
    FlClaimMessage m = {.number = (uint16_t)entity->number,
                        .epoch = entity->epoch,
                        .version = entity->state_version,
                        .count = entity->state_bytes};
    memcpy(m.state, entity->state, (size_t)entity->state_bytes);
    return tell_claim(session, &m);
}

// Numbers that ended, of ours and of those that newcomers will give again: the host before us may
// have died before it told.
static bool claim_number(FlSession *session, uint32_t number)
{
    uint32_t seat = number / session->share;
    bool told = session->claim_all && session->number_known[number] &&
                session->by_number[number] == FL__NONE && seat < (uint32_t)session->seat_count &&
                (!session->members[seat].present || seat == (uint32_t)session->self);
    FlClaimMessage m = {
        .number = (uint16_t)number, .epoch = session->number_epoch[number], .ended = true};
    return !told || tell_claim(session, &m);
}

static bool claimed(FlSession *session)
{
    FlClaimedMessage m = {session->claim_round};
    uint8_t bytes[8];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_writer_put(&w, FL_GROUP_CLAIMED, 8);
    fl_claimed_message_write(&w, &m);
    return fl__tell_host(session, &w) == FL_OK;
}

static void client_update(FlSession *session, FlTime now)
{
    session->claim_again = fl_time_add(now, CLAIM_EVERY);
    int32_t entities = session->def.entity_capacity;
    int32_t all = entities + session->world.def.entity_capacity;
    for (; session->claim_turn < all; session->claim_turn++) {
        int32_t i = session->claim_turn;
        if (i < entities ? !claim_entity(session, &session->entities[i])
                         : !claim_number(session, (uint32_t)(i - entities))) {
            return;
        }
    }
    if (claimed(session)) {
        session->claim_turn = FL__NONE;
    }
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->state != FL_SESSION_RUNNING) {
        return;
    }
    bool host = fl__is_host(session);
    if (host && session->claiming) {
        host_update(session, now);
    } else if (!host && session->claim_turn != FL__NONE && now >= session->claim_again) {
        client_update(session, now);
    }
}

static FlTime deadline(void *self, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    (void)now;
    bool busy = fl__is_host(session) ? session->claiming : session->claim_turn != FL__NONE;
    return busy ? session->claim_again : FL_FOREVER;
}

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    switch (in->kind) {
    case FL_GROUP_ASK:
        return ask_heard(session, in);
    case FL_GROUP_CLAIM:
        return claim_heard(session, in);
    default:
        return claimed_heard(session, in);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_MEMBER_LEAVES) {
        fl__orphans_make(session, change->member);
    } else if (change->kind == CHANGE_MEMBER_LEFT && fl__is_host(session)) {
        // What it told others last may have come after they claimed: they do so again.
        if (fl__orphans_of(session, change->member) || session->claiming) {
            fl__orphans_ask(session, false, change->now);
        }
    }
}

const Feature fl__feature_orphan = {
    .name = "handover",
    .messages = {FL_GROUP_ASK, 3},
    .hosts = true,
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
};
