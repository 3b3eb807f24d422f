// Announcements of members and entities: the present truth, sent reliably to whoever has not got
// it.
//
// Per line there is a bit for every member and every entity number: "not told since it changed".
// Flushing turns bits into messages while the link's queue has room. So nothing is ever lost or
// queued twice, what changes faster than the line carries is told as it is now, and a late joiner
// is one whose bits are all set. A newcomer's own membership is told last: then it knows
// everything.
#include "private.h"

#include <string.h>

// TRAITS: what an entity is, in ENTITY.                          spec/WIRE.md section 8.3
//
//   bits  field     unit   valid
//   8     kind      -      the game's own
//   8     listed    -      0 or 1
//   8     stays     -      bit 0: it stays; bits 1 to 3: share_cap, longest, patience are there
//   8     model     -      as in UPDATE; 5: automatic
//   64    distance  -      threshold, a double above 0
//   64    angle     rad    likewise
//   64    silence   ns     above 0
//   64    share_cap -      0 to 1, a double; this and the next two only if the name says another
//   64    longest   ns     above 0
//   64    patience  ns     above 0
//   rest  policy    -      its name, ASCII

// ---------------------------------------------------------------- what is to be told

static uint64_t *entity_bits(const FlSession *session, int32_t line)
{
    return &session->entity_news[line * session->number_words];
}

static uint64_t *member_bits(const FlSession *session, int32_t line)
{
    return &session->member_news[line * session->member_words];
}

void fl__news_member(FlSession *session, int32_t number)
{
    for (int32_t line = 0; line < session->line_count; line++) {
        if (session->lines[line].used && !session->lines[line].direct) {
            fl__bit_set(member_bits(session, line), number);
            fl__line_wake(session, line);
        }
    }
}

void fl__news_entity(FlSession *session, uint32_t number, int32_t except_line)
{
    for (int32_t line = 0; line < session->line_count; line++) {
        if (session->lines[line].used && !session->lines[line].direct && line != except_line) {
            fl__bit_set(entity_bits(session, line), (int32_t)number);
            fl__line_wake(session, line);
        }
    }
}

void fl__news_entity_to(FlSession *session, uint32_t number, int32_t member)
{
    int32_t line = session->members[member].line;
    if (line != FL__NONE) {
        fl__bit_set(entity_bits(session, line), (int32_t)number);
        fl__line_wake(session, line);
    }
}

// Ends that a newcomer must know of: those of the numbers that are its to give; and of all, if it
// may host one day and let in others.
static void news_of_ends(FlSession *session, int32_t line)
{
    bool star = session->topology == FL_TOPOLOGY_STAR;
    uint32_t first = star ? session->share * (uint32_t)session->lines[line].member : 0;
    uint32_t end = star ? first + session->share : (uint32_t)session->world.def.entity_capacity;
    for (uint32_t n = first; n < end; n++) {
        if (session->number_known[n] && (star || session->by_number[n] == FL__NONE)) {
            fl__bit_set(entity_bits(session, line), (int32_t)n);
        }
    }
}

void fl__news_all(FlSession *session, int32_t line)
{
    bool host = fl__is_host(session);
    // A host before us may have told some of a member's end, and died before it told all.
    bool ends = session->lines[line].promoted;
    for (int32_t i = 0; host && i < session->member_count; i++) {
        const Member *member = &session->members[i];
        if (member->present || (ends && member->incarnation != 0)) {
            fl__bit_set(member_bits(session, line), i);
        }
    }
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        const Entity *entity = &session->entities[i];
        // What is somebody's it knows itself; if not, it is nobody's, and for us to find out.
        bool others = host && entity->announced && !entity->orphan &&
                      entity->owner != session->lines[line].member;
        bool tell = fl__entity_live(entity) && (entity->ours || others);
        if (tell) {
            fl__bit_set(entity_bits(session, line), (int32_t)entity->number);
        }
    }
    if (host) {
        news_of_ends(session, line);
    }
}

void fl__news_none(FlSession *session, int32_t line)
{
    memset(member_bits(session, line), 0, (size_t)session->member_words * sizeof(uint64_t));
    memset(entity_bits(session, line), 0, (size_t)session->number_words * sizeof(uint64_t));
}

// ---------------------------------------------------------------- telling

static bool tell(FlSession *session, int32_t line, const FlWriter *writer)
{
    FL_ASSERT(!writer->failed);
    return fl_link_send(session->lines[line].link, FL_DELIVERY_ORDERED, writer->bytes,
                        fl_writer_size(writer)) == FL_OK;
}

FlResult fl__tell_host(FlSession *session, const FlWriter *writer)
{
    FL_ASSERT(!writer->failed);
    int32_t line = session->self != FL__NONE ? session->members[session->host].line : FL__NONE;
    if (line == FL__NONE) {
        return session->lead_at != FL_FOREVER ? FL_WOULD_BLOCK : FL_STALE_ID;
    }
    return fl__message_send(session, line, FL_DELIVERY_ORDERED, writer);
}

static bool tell_member(FlSession *session, int32_t line, int32_t number)
{
    const Member *member = &session->members[number];
    FlMemberMessage message = {.number = (uint16_t)number,
                               .incarnation = member->incarnation,
                               .present = member->present,
                               .left = member->left,
                               .client_id = member->client_id};
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl_member_message_write(&writer, &message);
    return tell(session, line, &writer);
}

static void put_double(FlWriter *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    fl_writer_put(w, bits, 64);
}

enum { STAYS = 1, SET_SHARE_CAP = 2, SET_LONGEST = 4, SET_PATIENCE = 8, ALL_FLAGS = 15 };

// Which settings a policy's name does not say.
static uint64_t settings_of(const FlSend *send, const FlSend *named)
{
    return (send->share_cap != named->share_cap ? SET_SHARE_CAP : 0u) |
           (send->longest_ns != named->longest_ns ? SET_LONGEST : 0u) |
           (send->patience_ns != named->patience_ns ? SET_PATIENCE : 0u);
}

// The policy that its name alone means.
static FlSend named_policy(const char *name)
{
    FlSend named = fl_send_base();
    FlResult parsed = fl_send_parse(name, &named);
    FL_ASSERT(parsed == FL_OK);
    (void)parsed;
    return named;
}

static void write_settings(FlWriter *w, const FlSend *send, uint64_t settings)
{
    if ((settings & SET_SHARE_CAP) != 0) {
        put_double(w, send->share_cap);
    }
    if ((settings & SET_LONGEST) != 0) {
        fl_writer_put(w, (uint64_t)send->longest_ns, 64);
    }
    if ((settings & SET_PATIENCE) != 0) {
        fl_writer_put(w, (uint64_t)send->patience_ns, 64);
    }
}

int32_t fl__traits_write(const FlEntityDef *def, uint8_t bytes[FL_GROUP_TRAIT_BYTES])
{
    char policy[FL_SEND_TEXT_BYTES];
    fl_send_text(&def->send, policy);
    FlWriter w;
    fl_writer_init(&w, bytes, FL_GROUP_TRAIT_BYTES);
    fl_writer_put(&w, def->kind, 8);
    fl_writer_put(&w, def->listed ? 1 : 0, 8);
    FlSend named = named_policy(policy);
    uint64_t settings = settings_of(&def->send, &named);
    fl_writer_put(&w, (def->stays ? STAYS : 0u) | settings, 8);
    fl_writer_put(&w, (uint64_t)def->model, 8);
    put_double(&w, def->trigger.distance);
    put_double(&w, def->trigger.angle);
    fl_writer_put(&w, (uint64_t)def->trigger.silence_ns, 64);
    write_settings(&w, &def->send, settings);
    fl_writer_bytes(&w, policy, (int32_t)strlen(policy));
    FL_ASSERT(!w.failed);
    return fl_writer_size(&w);
}

static bool may_know(const FlSession *session, const Entity *entity, int32_t member)
{
    int32_t slot = fl__entity_slot(session, entity);
    return !entity->def.listed || entity->owner == member ||
           fl__bit_get(&session->scope[slot * session->member_words], member);
}

// To the new owner of an entity: what goes along with it, before the word that it is so.
static bool tell_estate(FlSession *session, int32_t line, Entity *entity)
{
    uint8_t bytes[FL_CALLS_MESSAGE_BYTES + 1];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    fl__estate_write(session, entity, entity->epoch, &writer);
    entity->handing = !tell(session, line, &writer);
    return !entity->handing;
}

static bool tell_entity(FlSession *session, int32_t line, uint32_t number)
{
    int32_t slot = session->by_number[number];
    Entity *entity = slot != FL__NONE ? &session->entities[slot] : NULL;
    bool host = fl__is_host(session);
    if (host && entity != NULL && entity->orphan) {
        return true; // told when it has an owner
    }
    bool hands = entity != NULL && entity->handing && entity->owner == session->lines[line].member;
    if (hands && !tell_estate(session, line, entity)) {
        return false;
    }
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter writer;
    fl_writer_init(&writer, bytes, sizeof bytes);
    bool shown = entity != NULL && (!host || !entity->def.listed ||
                                    may_know(session, entity, session->lines[line].member));
    if (shown && entity->owner != FL__NONE) {
        FlEntityMessage message = {.number = (uint16_t)number,
                                   .epoch = entity->epoch,
                                   .born = entity->born,
                                   .owner = (uint16_t)entity->owner};
        message.trait_bytes = fl__traits_write(&entity->def, message.traits);
        fl_entity_message_write(&writer, &message);
    } else {
        FlEntityEndMessage message = {(uint16_t)number, session->number_epoch[number]};
        fl_entity_end_message_write(&writer, &message);
    }
    return tell(session, line, &writer);
}

bool fl__news_flush(FlSession *session, int32_t line)
{
    int32_t own = session->lines[line].member;
    uint64_t *members = member_bits(session, line);
    uint64_t *numbers = entity_bits(session, line);
    int32_t next = fl__bit_next(members, session->member_words, 0);
    for (; next != FL__NONE; next = fl__bit_next(members, session->member_words, next + 1)) {
        if (next == own) {
            continue;
        }
        if (!tell_member(session, line, next)) {
            return false;
        }
        fl__bit_clear(members, next);
    }
    next = fl__bit_next(numbers, session->number_words, 0);
    for (; next != FL__NONE; next = fl__bit_next(numbers, session->number_words, next + 1)) {
        if (!tell_entity(session, line, (uint32_t)next)) {
            return false;
        }
        fl__bit_clear(numbers, next);
    }
    if (!fl__lanes_tell_plan(session, line)) {
        return false;
    }
    if (own < session->member_count && fl__bit_get(members, own)) {
        if (!tell_member(session, line, own)) {
            return false;
        }
        fl__bit_clear(members, own);
    }
    return true;
}

// ---------------------------------------------------------------- hearing

static double take_double(FlReader *r)
{
    uint64_t bits = fl_reader_take(r, 64);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Into `send`, the rest of which the name says when it has been read.
static void read_settings(FlReader *r, uint64_t settings, FlSend *send)
{
    if ((settings & SET_SHARE_CAP) != 0) {
        send->share_cap = take_double(r);
    }
    if ((settings & SET_LONGEST) != 0) {
        send->longest_ns = (FlTime)fl_reader_take(r, 64);
    }
    if ((settings & SET_PATIENCE) != 0) {
        send->patience_ns = (FlTime)fl_reader_take(r, 64);
    }
}

// A policy by its name and its settings. False: no sender writes that.
static bool policy_of(const char *name, uint64_t settings, const FlSend *set, FlSend *send)
{
    if (fl_send_parse(name, send) != FL_OK) {
        return false;
    }
    FlSend named = *send;
    send->share_cap = (settings & SET_SHARE_CAP) != 0 ? set->share_cap : named.share_cap;
    send->longest_ns = (settings & SET_LONGEST) != 0 ? set->longest_ns : named.longest_ns;
    send->patience_ns = (settings & SET_PATIENCE) != 0 ? set->patience_ns : named.patience_ns;
    return fl_send_valid(send) && settings_of(send, &named) == settings;
}

bool fl__traits_read(const FlEntityMessage *m, FlEntityDef *def)
{
    FlReader r;
    fl_reader_init(&r, m->traits, m->trait_bytes);
    *def = fl_entity_def_default();
    def->kind = (uint8_t)fl_reader_take(&r, 8);
    uint64_t listed = fl_reader_take(&r, 8);
    uint64_t flags = fl_reader_take(&r, 8);
    uint64_t model = fl_reader_take(&r, 8);
    def->trigger.distance = take_double(&r);
    def->trigger.angle = take_double(&r);
    def->trigger.silence_ns = (FlTime)fl_reader_take(&r, 64);
    FlSend set = fl_send_base();
    uint64_t settings = flags & ~(uint64_t)STAYS;
    read_settings(&r, settings, &set);
    char policy[FL_SEND_TEXT_BYTES] = {0};
    int32_t left = fl_reader_left(&r);
    if (r.failed || left >= FL_SEND_TEXT_BYTES || listed > 1 || flags > ALL_FLAGS ||
        model > FL_MODEL_AUTO || model == FL_MODEL_CUBIC || !(def->trigger.distance > 0.0) ||
        !(def->trigger.angle > 0.0) || def->trigger.silence_ns <= 0) {
        return false;
    }
    memcpy(policy, fl_reader_bytes(&r, left), (size_t)left);
    def->listed = listed == 1;
    def->stays = (flags & STAYS) != 0;
    def->model = (FlModel)model;
    return policy_of(policy, settings, &set, &def->send);
}

// May the sender say this? The host may say anything but what we know better; a client, only of its
// own.
static bool entity_is_theirs(const MessageIn *in, const FlEntityMessage *m, const Entity *entity)
{
    if (in->from_host) {
        return m->owner < in->session->member_count;
    }
    if (!fl__is_host(in->session) || m->owner != in->from) {
        return false;
    }
    bool open = entity == NULL || (entity->owner == in->from && !entity->orphan);
    bool same = entity != NULL && open && entity->epoch == m->epoch;
    bool made = m->number / in->session->share == (uint32_t)in->from && m->born == m->epoch && open;
    // It was given to them by the host before us, who told them but not us. Somebody else may have
    // claimed before them: then we know the epoch already, and not whose it is.
    bool got = entity != NULL && in->session->claiming && in->session->claim_all &&
               !entity->confirmed && entity->born == m->born &&
               !fl_epoch_newer(entity->epoch, m->epoch);
    return same || made || got;
}

static void entity_heard(const MessageIn *in, const FlEntityMessage *m, Entity *entity,
                         const FlEntityDef *def)
{
    FlSession *session = in->session;
    bool fresh = entity == NULL;
    if (fresh) {
        entity = fl__entity_take(session, m->number, m->epoch, m->owner);
        if (entity == NULL) {
            return;
        }
    }
    entity->born = m->born;
    session->number_epoch[m->number] = m->epoch;
    if (fresh && m->owner != session->self) {
        FlNotice notice = {.kind = FL_NOTICE_ENTITY_NEW,
                           .entity = fl__entity_id(session, entity),
                           .peer = fl__peer_id(session, m->owner)};
        fl__notice(session, &notice);
    }
    bool orphan = entity->orphan;
    entity->orphan = orphan && entity->epoch == m->epoch && entity->owner == m->owner;
    // Somebody else may have its last owner's number by now.
    bool inherited = orphan && !entity->orphan && entity->owner == m->owner;
    entity->epoch = m->epoch;
    if (entity->owner != m->owner || m->owner == session->self) {
        bool unknown = entity->owner == FL__NONE && m->owner != session->self && !entity->ours;
        if (unknown) {
            entity->owner = m->owner;
            if (entity->announced) { // it had an owner before
                fl__entity_theirs(session, entity);
            }
        } else {
            fl__entity_pass(session, entity, m->owner, m->epoch, in->time);
        }
    }
    if (inherited && !entity->ours) {
        fl__entity_theirs(session, entity);
    }
    fl__entity_define(session, entity, def, in->time);
    fl__state_early(session, entity);
    if (fl__is_host(session)) {
        entity->confirmed = true;
        entity->handing = false; // it says itself that it has it
        fl__news_entity(session, m->number, in->line);
    }
}

static bool hear_entity(const MessageIn *in)
{
    FlSession *session = in->session;
    FlEntityMessage m;
    FlEntityDef def;
    bool sound = fl_entity_message_read(in->r, &m) && fl__traits_read(&m, &def) &&
                 m.number < session->world.def.entity_capacity;
    if (!sound) {
        return false;
    }
    int32_t slot = session->by_number[m.number];
    Entity *entity = slot != FL__NONE ? &session->entities[slot] : NULL;
    if (!entity_is_theirs(in, &m, entity)) {
        fl__count_foreign(session, &session->lines[in->line]);
        return true;
    }
    if (session->number_known[m.number] &&
        fl_epoch_newer(session->number_epoch[m.number], m.epoch)) {
        session->count[FL_SESSION_OLD_EPOCH]++;
        return true; // a later word is under way
    }
    bool another = entity != NULL && entity->announced && entity->born != m.born;
    if (another) {
        fl__entity_remove(session, entity);
        entity = NULL;
    }
    entity_heard(in, &m, entity, &def);
    return true;
}

static bool hear_entity_end(const MessageIn *in)
{
    FlSession *session = in->session;
    FlEntityEndMessage m;
    if (!fl_entity_end_message_read(in->r, &m) || m.number >= session->world.def.entity_capacity) {
        return false;
    }
    int32_t slot = session->by_number[m.number];
    Entity *entity = slot != FL__NONE ? &session->entities[slot] : NULL;
    bool theirs =
        in->from_host || (fl__is_host(session) && entity != NULL && entity->owner == in->from);
    if (!theirs) {
        fl__count_foreign(session, &session->lines[in->line]);
        return true;
    }
    bool later =
        session->number_known[m.number] && fl_epoch_newer(session->number_epoch[m.number], m.epoch);
    if (later) {
        return true;
    }
    session->number_known[m.number] = true;
    session->number_epoch[m.number] = m.epoch;
    if (entity != NULL && !(entity->ours && in->from_host && entity->owner == session->self)) {
        fl__entity_remove(session, entity);
    }
    return true;
}

static bool hear_give(const MessageIn *in)
{
    FlSession *session = in->session;
    FlGiveMessage m;
    if (!fl_give_message_read(in->r, &m) || !fl__is_host(session) ||
        m.number >= session->world.def.entity_capacity) {
        return false;
    }
    int32_t slot = session->by_number[m.number];
    Entity *entity = slot != FL__NONE ? &session->entities[slot] : NULL;
    if (entity == NULL || entity->owner != in->from || entity->epoch != m.epoch) {
        fl__count_foreign(session, &session->lines[in->line]);
        return true;
    }
    bool there = m.to < session->member_count && session->members[m.to].present;
    int32_t to = there ? m.to : in->from;
    fl__entity_pass(session, entity, to, (uint16_t)(m.epoch + 1), in->time);
    entity->confirmed = true;
    fl__news_entity(session, m.number, FL__NONE);
    return true;
}

static bool hear_scope(const MessageIn *in)
{
    FlSession *session = in->session;
    FlScopeMessage m;
    if (!fl_scope_message_read(in->r, &m) || !fl__is_host(session) ||
        m.number >= session->world.def.entity_capacity || m.member >= session->member_count) {
        return false;
    }
    int32_t slot = session->by_number[m.number];
    Entity *entity = slot != FL__NONE ? &session->entities[slot] : NULL;
    if (entity == NULL || entity->owner != in->from || entity->epoch != m.epoch) {
        fl__count_foreign(session, &session->lines[in->line]);
        return true;
    }
    fl__entity_scope(session, entity, m.member, m.sees, in->time);
    return true;
}

// ---------------------------------------------------------------- the feature

static bool message(void *self, MessageIn *in)
{
    (void)self;
    switch (in->kind) {
    case FL_GROUP_ENTITY:
        return hear_entity(in);
    case FL_GROUP_ENTITY_END:
        return hear_entity_end(in);
    case FL_GROUP_GIVE:
        return hear_give(in);
    default:
        return hear_scope(in);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    switch (change->kind) {
    case CHANGE_LINE_OPENED:
        memset(entity_bits(session, change->line), 0,
               (size_t)session->number_words * sizeof(uint64_t));
        memset(member_bits(session, change->line), 0,
               (size_t)session->member_words * sizeof(uint64_t));
        break;
    case CHANGE_MEMBER_CAME:
    case CHANGE_MEMBER_LEFT:
        for (int32_t i = 0; change->kind == CHANGE_MEMBER_LEFT && i < session->def.entity_capacity;
             i++) {
            fl__bit_clear(&session->scope[i * session->member_words], change->member);
        }
        if (fl__is_host(session)) {
            fl__news_member(session, change->member);
        }
        break;
    default:
        break;
    }
}

const Feature fl__feature_news = {
    .name = "entity",
    .messages = {FL_GROUP_ENTITY, 4},
    .hosts = true,
    .message = message,
    .changed = changed,
};
