// Guided replicas in sessions: guidance out and in, and the word that a replica is near.
//
// The owner of a guided entity hands in, once a frame, what it will do. Where an update is due to a
// receiver at best effort, guidance goes in its place; to one in focus it goes beside the update,
// until that says that its replica is near. Who is told often although at best effort gets updates.
// So a receiver learns from what comes in how it is served: guidance alone means by guidance,
// guidance beside an update that snapshots follow.
//
// The ledger takes guidance for the update in whose place it went. That is approximate: it knows
// that the receiver was told of this moment, not where the game's bot code walks the replica.
//
// The word "near" is a value per entity, told to its owner in packets that go anyway, when it has
// changed, and again when the packet is lost.

// GUIDED: guidance of entities.                                  spec/WIRE.md section 7.13
//
//   bits  field    unit   valid
//   8     kind     -      9
//   8     count    -      1..255 follow
//   8     beside   -      1: updates of these are sent too; 0: in place of them
//   per entity: an epoch (8, low bits) and a GUIDANCE

// NEAR: whether my replicas are where your updates put them.     spec/WIRE.md section 7.13
//
//   bits  field    unit   valid
//   8     kind     -      10
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   8     near     -      1: no guidance is wanted beside updates; 0: it is
#include "private.h"

#include <string.h>

#define GUIDED_HEAD 3
#define UNTOLD (-1)

#define FRESH_NS FL_MS(200)    // older guidance is not sent: its owner has stopped handing it in
#define PATIENCE_NS FL_SEC(3)  // snapshots are expected for so long, unless guidance comes alone
#define AHEAD_FIRST FL_MS(500) // until it is known
#define AHEAD_LEAST FL_MS(50)
#define AHEAD_LEARNS 16

// ---------------------------------------------------------------- the owner

// A new entity: nothing is known of its replicas, nor of ours.
static void begin(FlSession *session, Entity *entity)
{
    int32_t slot = fl__entity_slot(session, entity);
    entity->guide_ahead = AHEAD_FIRST;
    entity->near_told = UNTOLD;
    fl__bit_clear(session->near_due.words, slot);
    for (int32_t line = 0; line < session->line_count; line++) {
        fl__bit_clear(&session->near[line * session->entity_words], slot);
    }
}

FlTime fl_entity_guide_ahead(const FlSession *session, FlEntityId id)
{
    const Entity *entity = fl__entity_find(session, id);
    return entity != NULL ? entity->guide_ahead : 0;
}

FlResult fl_entity_guide(FlSession *session, FlEntityId id, const FlGuidance *guidance, FlTime now)
{
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    entity->guided = false;
    if (!entity->ours || !entity->def.guided) {
        return FL_BAD_VALUE;
    }
    if (!fl__time_known(session)) {
        return FL_WOULD_BLOCK;
    }
    FlTime time = fl_session_time(session, now);
    FlGuidance full = *guidance;
    full.entity = entity->number;
    full.life = entity->life;
    full.time = time - time % FL_UPDATE_STEP_NS;
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        full.actions[i] = guidance->actions[i] & 15u;
    }
    FlResult result = fl_guidance_round(&session->world, &full, &entity->guidance);
    entity->guided = result == FL_OK;
    return result;
}

// Only who tells its receivers itself: what goes through a host must be updates.
static bool has_guidance(const FlSession *session, const Entity *entity, FlTime time)
{
    bool tells = session->topology == FL_TOPOLOGY_MESH || fl__is_host(session);
    return entity->guided && entity->ours && tells && entity->guidance.life == entity->life &&
           fl_span(time, entity->guidance.time) <= FRESH_NS;
}

static bool is_frame_policy(const Entity *entity)
{
    return entity->def.send.policy == FL_SEND_FOCUS ||
           entity->def.send.policy == FL_SEND_FOCUS_EQUAL;
}

GuideWay fl__guide_way(const FlSession *session, int32_t index, int32_t slot, FlTime time)
{
    const Entity *entity = &session->entities[slot];
    if (!entity->guided || !is_frame_policy(entity) || !has_guidance(session, entity, time)) {
        return GUIDE_NONE;
    }
    if (fl_ledger_class(session->ledger, slot, index) == FL_CLASS_BEST_EFFORT) {
        return entity->guide_ahead >= session->def.guide_from_ns ? GUIDE_INSTEAD : GUIDE_NONE;
    }
    bool near = fl__bit_get(&session->near[index * session->entity_words], slot);
    return near ? GUIDE_NONE : GUIDE_BESIDE;
}

int32_t fl__guide_bytes(const FlSession *session, int32_t slot)
{
    return GUIDED_HEAD + 1 +
           fl_guidance_bytes(&session->world, session->entities[slot].guidance.aimed);
}

void fl__guide_write(FlSession *session, int32_t slot, FlWriter *w, bool beside)
{
    const Entity *entity = &session->entities[slot];
    fl_writer_put(w, SECTION_GUIDED, 8);
    fl_writer_put(w, 1, 8);
    fl_writer_put(w, beside, 8);
    fl_writer_put(w, entity->epoch & 0xffu, 8);
    bool written = fl_guidance_encode(w, &session->world, &entity->guidance);
    FL_ASSERT(written); // it was rounded
    session->count[FL_SESSION_GUIDANCE_SENT]++;
}

void fl__guide_learn(FlSession *session, int32_t index, int32_t slot, FlTime time)
{
    Entity *entity = &session->entities[slot];
    FlLedgerView view;
    if (!entity->guided || fl_ledger_class(session->ledger, slot, index) == FL_CLASS_FOCUS ||
        !fl_ledger_read(session->ledger, slot, index, time, &view) ||
        view.last_sent == FL_FOREVER) {
        return;
    }
    FlTime gap = fl_span(time, view.last_sent);
    gap = gap > FL_GUIDANCE_AHEAD_MAX_NS ? FL_GUIDANCE_AHEAD_MAX_NS : gap;
    gap = gap < AHEAD_LEAST ? AHEAD_LEAST : gap;
    entity->guide_ahead += (gap - entity->guide_ahead) / AHEAD_LEARNS;
}

// ---------------------------------------------------------------- the receiver

static void heard(FlSession *session, int32_t index, const FlGuidance *guidance, uint16_t epoch,
                  bool beside, const Moment *when)
{
    Entity *entity = fl__entity_for(session, index, guidance->entity, epoch);
    if (entity == NULL) {
        return;
    }
    if (entity->guide.diameter <= 0.0) {
        fl_guide_init(&entity->guide, 1.0); // the game says how wide it is
        fl__guide_snapshots(entity, entity->heard_at);
    }
    bool newer = fl_guide_hear(&entity->guide, guidance, when->arrived);
    session->count[newer ? FL_SESSION_GUIDANCE_TAKEN : FL_SESSION_GUIDANCE_OVERTAKEN]++;
    if (!newer) {
        return;
    }
    entity->heard_at = when->arrived;
    if (beside) {
        fl_guide_snapshot(&entity->guide, when->arrived, PATIENCE_NS);
    } else {
        entity->guide.focus_until = when->arrived; // it comes in place of snapshots
    }
}

void fl__guide_snapshots(Entity *entity, FlTime arrived)
{
    if (entity->guide.diameter > 0.0 && arrived != FL_FOREVER) {
        fl_guide_snapshot(&entity->guide, arrived, PATIENCE_NS);
    }
}

static bool skip_guided(const FlSession *session, const PacketIn *in)
{
    uint64_t count = fl_reader_take(in->r, 8);
    uint64_t beside = fl_reader_take(in->r, 8);
    bool early = session->lines[in->line].direct && !fl__time_known(session);
    bool sound = count >= 1 && beside <= 1 && !early;
    for (uint64_t i = 0; i < count && sound; i++) {
        FlGuidance guidance;
        (void)fl_reader_take(in->r, 8);
        sound = fl_guidance_decode(in->r, &session->world, 0, &guidance);
    }
    return sound && !in->r->failed;
}

static void take_guided(FlSession *session, PacketIn *in)
{
    const Moment *when = fl__packet_when(in);
    uint64_t count = fl_reader_take(in->r, 8);
    bool beside = fl_reader_take(in->r, 8) == 1;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t epoch = (uint8_t)fl_reader_take(in->r, 8);
        FlGuidance guidance;
        if (!fl_guidance_decode(in->r, &session->world, when->near, &guidance)) {
            return; // its time is out of range
        }
        uint16_t near = session->number_epoch[guidance.entity];
        heard(session, in->line, &guidance, fl_epoch_unwrap(near, epoch), beside, when);
    }
}

// Tells the owner, if it is to be told: who never heard anything takes a replica for far.
static void say_near(FlSession *session, Entity *entity, bool near)
{
    entity->near = near;
    bool told = entity->near_told == 1;
    if (near != told || entity->near_told == UNTOLD) {
        fl__telling_due(&session->near_due, fl__entity_slot(session, entity));
    }
}

FlResult fl_entity_guide_view(FlSession *session, FlEntityId id, const FlReplica *replica,
                              FlTime now, FlGuideView *view)
{
    memset(view, 0, sizeof *view);
    Entity *entity = fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    FL_ASSERT(replica->diameter > 0.0);
    if (entity->ours) {
        return FL_BAD_VALUE;
    }
    FlTime time = fl_session_time(session, now);
    bool posed = fl_show_pose(&entity->show, time, &view->pose) == FL_OK;
    view->life = entity->show.life;
    FlGuide *guide = &entity->guide;
    if (guide->diameter <= 0.0) { // nobody guides it
        view->mode = FL_GUIDE_NEAR;
        return posed ? FL_OK : FL_NOT_FOUND;
    }
    guide->diameter = replica->diameter;
    const FlVec3 *snapshot = posed && time < guide->focus_until ? &view->pose.position : NULL;
    view->cut = fl_guide_take_cut(guide);
    FlVec3 at = replica->known && !view->cut ? replica->position
                : snapshot != NULL           ? *snapshot
                                             : guide->heard.position;
    view->mode = fl_guide_step(guide, time, at, snapshot);
    (void)fl_guide_goal(guide, time, snapshot, &view->goal);
    view->life = view->mode == FL_GUIDE_NEAR ? entity->show.life : guide->heard.life;
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        while (fl_guide_play(guide, i, time)) {
            view->blanks[i]++;
        }
    }
    say_near(session, entity, view->mode == FL_GUIDE_NEAR);
    return FL_OK;
}

// ---------------------------------------------------------------- near

static void line_opened(FlSession *session, int32_t line)
{
    int32_t member = session->lines[line].member;
    memset(&session->near[line * session->entity_words], 0,
           (size_t)session->entity_words * sizeof(uint64_t));
    for (int32_t i = 0; i < session->def.entity_capacity; i++) {
        Entity *entity = &session->entities[i];
        if (fl__entity_live(entity) && entity->owner == member) {
            entity->near_told = UNTOLD;
        }
    }
}

static void outcome(void *self, int32_t line, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    Entity *entity = &session->entities[item->index];
    if (!fate->delivered && fl__entity_live(entity) &&
        entity->owner == session->lines[line].member && entity->near_told == (int32_t)item->value) {
        entity->near_told = UNTOLD;
        fl__telling_due(&session->near_due, item->index);
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_LINE_OPENED) {
        line_opened(session, change->line);
    } else if (change->kind == CHANGE_ENTITY_MADE) {
        begin(session, change->entity);
    }
}

static bool near_goes(const FlSession *session, const Entity *entity, int32_t line)
{
    return entity->owner == session->lines[line].member;
}

static uint8_t tell_near(Entity *entity)
{
    entity->near_told = entity->near ? 1 : 0;
    return entity->near ? 1 : 0;
}

static void near_heard(FlSession *session, int32_t line, int32_t slot, uint8_t value)
{
    if (slot == FL__NONE || !session->entities[slot].ours) {
        return;
    }
    uint64_t *words = &session->near[line * session->entity_words];
    if (value != 0) {
        fl__bit_set(words, slot);
    } else {
        fl__bit_clear(words, slot);
    }
}

static const Telling TELLING = {SECTION_NEAR, 1, near_goes, tell_near, near_heard};

static Want want(const void *self, int32_t index, FlTime now)
{
    (void)now;
    const FlSession *session = (const FlSession *)self;
    return fl__telling_want(session, &TELLING, &session->near_due, index);
}

static void write(void *self, PacketOut *out)
{
    fl__telling_write(&TELLING, &((FlSession *)self)->near_due, out);
}

static bool skip(const void *self, PacketIn *in)
{
    const FlSession *session = (const FlSession *)self;
    return in->kind == SECTION_GUIDED ? skip_guided(session, in)
                                      : fl__telling_skip(session, &TELLING, in->r);
}

static void take(void *self, PacketIn *in)
{
    if (in->kind == SECTION_GUIDED) {
        take_guided((FlSession *)self, in);
    } else {
        fl__telling_take(&TELLING, in);
    }
}

// GUIDED is written by `motion`, in the place of updates or beside them.
const Feature fl__feature_near = {
    .name = "guidance",
    .sections = {SECTION_GUIDED, 2},
    .rides = true,
    .repeats = true,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .changed = changed,
};
