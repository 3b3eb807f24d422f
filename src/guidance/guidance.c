// Guided replicas in sessions: guidance out and in, and the word that a replica is near.
//
// The owner of a guided entity hands in, once a frame, what it will do. Where an update is due to a
// receiver at best effort, guidance goes in its place; to one in focus it goes beside the update,
// until that says that its replica is near. A receiver that is served often although at best effort
// gets updates. So a receiver learns from what comes in how it is served: guidance alone means by
// guidance, guidance beside an update that snapshots follow.
//
// Whoever relays an entity to others (a host) decides so for each of them, by its own ledger. It
// says to the owner how often they get guidance, and gets it beside the updates.
//
// The ledger takes guidance for the update in whose place it went. That is approximate: it knows
// that the receiver got of this moment, not where the game's bot code walks the replica.
//
// In a crowd a carrier brings it beside updates, to everybody: what is watched is shown by updates,
// all else by guidance while it comes. Most entities there have no detail, so those that are guided
// have places of their own, as many as FlCrowdDef.guide_capacity.
//
// "Near" is a value per entity, sent to whoever serves us with it in packets that go anyway, when
// it has changed, and again when the packet is lost.

// GUIDED: guidance of entities.                                  spec/WIRE.md section 7.13
//
//   bits  field    unit   valid
//   8     kind     -      9
//   8     count    -      1..255 follow
//   8     beside   -      1: updates of these are sent too; 0: in place of them; 2 more: carried
//   per entity: an epoch (8, low bits) and a GUIDANCE

// NEAR: whether my replicas are where your updates put them.     spec/WIRE.md section 7.13
//
//   bits  field    unit   valid
//   8     kind     -      10
//   8     count    -      1..16 follow
//   per entity:
//   16    number   -      the entity's
//   8     near     -      1: no guidance is wanted beside updates; 0: it is; from 2 on: it is
//                         wanted for others, who get one every so many times 16 ms on average
#include "private.h"

#include "send/send.h"

#include <stdlib.h>
#include <string.h>

#define GUIDED_HEAD 3
#define BESIDE 1u
#define CARRIED 2u

#define FRESH_NS FL_MS(200)    // older guidance is not sent: its owner has stopped handing it in
#define PATIENCE_NS FL_SEC(3)  // snapshots are expected for so long, unless guidance comes alone
#define AHEAD_FIRST FL_MS(500) // until it is known
#define AHEAD_LEAST FL_MS(50)
#define AHEAD_LEARNS 16
#define NEAR_STEP_NS FL_MS(16)

static bool in_crowd(const FlSessionDef *def)
{
    return def->topology == FL_TOPOLOGY_CROWD;
}

static int32_t place_count(const FlSessionDef *def)
{
    return in_crowd(def) ? def->tuning.crowd.guide_capacity : fl__detail_count(def);
}

// Where in `all` it is; FL__NONE: nowhere.
static int32_t place_of(const FlSession *session, int32_t slot)
{
    if (!in_crowd(&session->def)) {
        return fl__entity_detail(session, slot);
    }
    int32_t at = place_count(&session->def) - 1; // a few cache lines
    while (at >= 0 && session->guidance->slots[at] != slot) {
        at--;
    }
    return at >= 0 ? at : FL__NONE;
}

// It must be there.
static Guided *guided(const FlSession *session, int32_t slot)
{
    return &session->guidance->all[place_of(session, slot)];
}

static bool can_be_guided(const FlSession *session, int32_t slot)
{
    return slot != FL__NONE && place_of(session, slot) != FL__NONE;
}

static uint64_t *near_over(const FlSession *session, int32_t connection)
{
    return &session->guidance->near[connection * session->entity_words];
}

static uint64_t *relays_over(const FlSession *session, int32_t connection)
{
    return &session->guidance->relays[connection * session->entity_words];
}

// ---------------------------------------------------------------- the owner

// A crowd's: its place is free again.
static void release(FlSession *session, int32_t slot)
{
    if (can_be_guided(session, slot)) {
        session->guidance->slots[place_of(session, slot)] = FL__NONE;
    }
}

// Nothing is known of its replicas, nor of ours.
static Guided unguided(void)
{
    Guided none = {.ahead = AHEAD_FIRST, .near_to = FL__NONE, .near_sent = UNSENT};
    return none;
}

// A crowd's gets a place, at worst that of the one of which nothing came for longest: whose
// guidance is kept at all is the crowd's to say (crowd/guided.c). False: there are none.
static bool occupy(FlSession *session, int32_t slot, FlTime time)
{
    Guidance *g = session->guidance;
    if (can_be_guided(session, slot)) {
        return true;
    }
    int32_t oldest = FL__NONE;
    for (int32_t i = 0; i < place_count(&session->def); i++) {
        if (g->slots[i] == FL__NONE) {
            oldest = i;
            break;
        }
        bool older = oldest == FL__NONE || g->all[i].came_at < g->all[oldest].came_at;
        oldest = older ? i : oldest;
    }
    if (oldest == FL__NONE) {
        fl__count(session, FL_SESSION_NO_ROOM);
        return false;
    }
    g->all[oldest] = unguided();
    g->all[oldest].came_at = time;
    g->slots[oldest] = slot;
    return true;
}

// A new entity.
static void begin(FlSession *session, int32_t slot)
{
    if (in_crowd(&session->def)) {
        return; // it has a place when it is guided
    }
    if (!can_be_guided(session, slot)) {
        return;
    }
    *guided(session, slot) = unguided();
    fl__bit_clear(session->guidance->near_due.words, slot);
    for (int32_t i = 0; i < session->connection_count; i++) {
        fl__bit_clear(near_over(session, i), slot);
        fl__bit_clear(relays_over(session, i), slot);
    }
}

FlTime fl_entity_guide_ahead(const FlSession *session, FlEntityId id)
{
    int32_t slot = fl__entity_slot(session, id);
    const Carrier *carrier = fl__entities_carrier(session);
    if (slot != FL__NONE && carrier != NULL) {
        return carrier->guide_ahead(session);
    }
    if (!can_be_guided(session, slot)) {
        return 0;
    }
    const Guided *own = guided(session, slot);
    bool relayed = session->topology == FL_TOPOLOGY_STAR && own->relayed_ahead > 0;
    return relayed ? own->relayed_ahead : fl__time_max(own->ahead, own->relayed_ahead);
}

FlResult fl_entity_guide(FlSession *session, FlTime now, FlEntityId id, const FlGuidance *guidance)
{
    int32_t slot = fl__entity_slot(session, id);
    if (slot == FL__NONE) {
        return FL_STALE_ID;
    }
    EntityInfo entity = fl__entity_info(session, slot);
    if (!entity.ours || !entity.def->guided) {
        return FL_BAD_VALUE;
    }
    fl__entity_set_rider(session, slot, false);
    if (!fl__time_known(session)) {
        return FL_WOULD_BLOCK;
    }
    FlTime time = fl_session_time(session, now);
    FlGuidance full = *guidance;
    full.entity = entity.number;
    full.life = entity.life;
    full.time = time - time % FL_UPDATE_STEP_NS;
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        full.actions[i] = guidance->actions[i] & 15u;
    }
    const Carrier *carrier = fl__entities_carrier(session);
    if (in_crowd(&session->def)) {
        FlGuidance rounded;
        FlResult result = fl__guidance_round(&session->world, &full, &rounded);
        return result == FL_OK && carrier != NULL ? carrier->guide(session, &rounded) : result;
    }
    FlResult result = fl__guidance_round(&session->world, &full, &guided(session, slot)->guidance);
    fl__entity_set_rider(session, slot, result == FL_OK);
    return result;
}

// What goes out of it: ours, or what we relay.
static const FlGuidance *outgoing(const FlSession *session, int32_t slot, bool ours)
{
    const Guided *own = guided(session, slot);
    return ours ? &own->guidance : &own->guide.received;
}

static bool has_guidance(const FlSession *session, int32_t slot, FlTime time)
{
    EntityInfo entity = fl__entity_info(session, slot);
    const Guided *own = guided(session, slot);
    const FlGuidance *guidance = outgoing(session, slot, entity.ours);
    FlTime since = entity.ours ? guidance->time : own->came_at;
    bool there = entity.ours || own->guide.started;
    FlSendPolicy policy = entity.def->send.policy;
    bool frames = policy == FL_SEND_FOCUS || policy == FL_SEND_FOCUS_EQUAL;
    return frames && there && (guidance->life & 3u) == (entity.life & 3u) &&
           fl_span(time, since) <= FRESH_NS;
}

// Updates must come there as well: they are relayed to others.
static bool relays(const FlSession *session, int32_t connection, int32_t slot)
{
    bool host = !fl__is_host(session) && session->topology != FL_TOPOLOGY_MESH &&
                fl__connection_member(session, connection) == session->host;
    return host || fl__bit_get(relays_over(session, connection), slot);
}

static UpdateWay way(const FlSession *session, int32_t connection, int32_t slot, FlTime time)
{
    if (!has_guidance(session, slot, time) || fl__entity_elsewhere(session, slot, connection)) {
        return UPDATE_ALONE;
    }
    if (!relays(session, connection, slot) &&
        fl__ledger_class(fl__ledger(session), slot, connection) == FL_CLASS_BEST_EFFORT) {
        bool rare = guided(session, slot)->ahead >= session->def.tuning.guide_from_ns;
        return rare ? UPDATE_REPLACED : UPDATE_ALONE;
    }
    return fl__bit_get(near_over(session, connection), slot) ? UPDATE_ALONE : UPDATE_ACCOMPANIED;
}

static int32_t bytes_of(const FlSession *session, int32_t slot)
{
    bool ours = fl__entity_info(session, slot).ours;
    return GUIDED_HEAD + 1 + fl__guidance_bytes(&session->world, outgoing(session, slot, ours));
}

static void write_guided(FlSession *session, int32_t connection, int32_t slot, FlWriter *w,
                         bool beside)
{
    fl_writer_put(w, SECTION_GUIDED, 8);
    fl_writer_put(w, 1, 8);
    bool carried = fl__entity_forwards(session, slot, connection);
    fl_writer_put(w, (beside ? BESIDE : 0u) | (carried ? CARRIED : 0u), 8);
    EntityInfo entity = fl__entity_info(session, slot);
    fl_writer_put(w, entity.epoch & 0xffu, 8);
    bool written = fl__guidance_encode(w, &session->world, outgoing(session, slot, entity.ours));
    FL_ASSERT(written); // it was rounded
    fl__count(session, FL_SESSION_GUIDANCE_SENT);
}

// What whoever sends it to us should know. Those to whom we relay it come first.
static int32_t near_value(const FlSession *session, const Guided *theirs)
{
    bool rare = theirs->ahead >= session->def.tuning.guide_from_ns;
    if (theirs->relaying && rare) {
        return fl__int_max(2, (int32_t)(theirs->ahead / NEAR_STEP_NS));
    }
    return theirs->viewed && !theirs->near ? 0 : 1;
}

// Reports it when due. Whoever has no report takes a replica for far.
static void say_near(FlSession *session, int32_t slot)
{
    if (in_crowd(&session->def)) {
        return; // its carriers bring guidance to everybody
    }
    Guided *theirs = guided(session, slot);
    int32_t value = near_value(session, theirs);
    int32_t connection = fl__entity_route(session, slot);
    if (connection != theirs->near_to) { // what we sent elsewhere is not known there
        theirs->near_to = connection;
        theirs->near_sent = UNSENT;
    }
    int32_t sent = theirs->near_sent;
    bool much = value >= 2 && sent >= 2 ? 4 * abs(value - sent) > sent : value != sent;
    if (much || sent == UNSENT) {
        fl__hint_due(&session->guidance->near_due, slot);
    }
}

// Something is about to go to a receiver: learns how long after what went before.
static void learn(FlSession *session, int32_t connection, int32_t slot, FlTime time)
{
    const FlLedger *ledger = fl__ledger(session);
    FlLedgerView view;
    if (fl__ledger_class(ledger, slot, connection) == FL_CLASS_FOCUS ||
        !fl_ledger_read(ledger, slot, connection, time, &view) || view.last_sent == FL_FOREVER) {
        return;
    }
    Guided *own = guided(session, slot);
    own->relaying = true;
    FlTime gap = fl_time_min(fl_span(time, view.last_sent), FL_GUIDANCE_AHEAD_MAX_NS);
    own->ahead += (fl__time_max(gap, AHEAD_LEAST) - own->ahead) / AHEAD_LEARNS;
    if (!fl__entity_info(session, slot).ours) {
        say_near(session, slot);
    }
}

// ---------------------------------------------------------------- the receiver

static void updated(FlSession *session, int32_t slot, FlTime arrived)
{
    if (in_crowd(&session->def)) {
        return; // what is watched is (expect_snapshots)
    }
    FlGuide *guide = &guided(session, slot)->guide;
    if (guide->diameter > 0.0 && arrived != FL_FOREVER) {
        fl__guide_snapshot(guide, arrived, PATIENCE_NS);
    }
}

static void receive_guided(FlSession *session, int32_t connection, const FlGuidance *guidance,
                           uint16_t epoch, uint64_t how, FlTime arrived)
{
    bool beside = (how & BESIDE) != 0;
    int32_t slot = (how & CARRIED) != 0
                       ? fl__entity_carried_for(session, connection, guidance->entity, epoch)
                       : fl__entity_for(session, connection, guidance->entity, epoch);
    if (!can_be_guided(session, slot)) {
        return;
    }
    FlGuide *guide = &guided(session, slot)->guide;
    if (guide->diameter <= 0.0) {
        fl__guide_init(guide, 1.0); // the game says how wide it is
        updated(session, slot, fl__entity_info(session, slot).came_at);
    }
    bool newer = fl__guide_receive(guide, guidance, arrived);
    if (newer) {
        guided(session, slot)->came_at = arrived;
        fl__entity_set_rider(session, slot, true); // where we relay it
    }
    fl__count(session, newer ? FL_SESSION_GUIDANCE_TAKEN : FL_SESSION_GUIDANCE_OVERTAKEN);
    if (!newer) {
        return;
    }
    fl__entity_came(session, slot, arrived);
    if (beside) {
        fl__guide_snapshot(guide, arrived, PATIENCE_NS);
    } else {
        guide->focus_until = arrived; // it comes in place of snapshots
    }
}

// In a crowd, of another's entity. What its owner sends itself counts, however others stamped what
// they carried.
static void take_carried(FlSession *session, int32_t slot, const FlGuidance *guidance, bool carried,
                         FlTime arrived)
{
    if (!occupy(session, slot, arrived)) {
        return;
    }
    Guided *theirs = guided(session, slot);
    FlGuide *guide = &theirs->guide;
    if (guide->diameter <= 0.0) {
        fl__guide_init(guide, 1.0); // the game says how wide it is
    }
    if (theirs->carried && !carried) {
        guide->received.time = fl_time_min(guide->received.time, guidance->time - 1);
    }
    bool newer = fl__guide_receive(guide, guidance, arrived);
    fl__count(session, newer ? FL_SESSION_GUIDANCE_TAKEN : FL_SESSION_GUIDANCE_OVERTAKEN);
    if (newer) {
        theirs->came_at = arrived;
        theirs->carried = carried;
    }
}

// In a crowd: by updates while it is watched, and where guidance has ceased to come.
static void expect_snapshots(const FlSession *session, int32_t slot, FlTime time)
{
    const Carrier *carrier = fl__entities_carrier(session);
    Guided *theirs = guided(session, slot);
    Carried newest;
    bool watched = carrier != NULL &&
                   carrier->newest(session, fl__entity_number(session, slot), NULL, &newest) &&
                   newest.watched;
    bool ceased = fl_span(time, theirs->came_at) > PATIENCE_NS;
    theirs->guide.focus_until = watched || ceased ? FL_FOREVER : time;
}

static bool skip_guided(const FlSession *session, const PacketIn *in)
{
    uint64_t count = fl_reader_take(in->r, 8);
    uint64_t how = fl_reader_take(in->r, 8);
    bool early = fl__connection_direct(session, in->connection) && !fl__time_known(session);
    bool sound = count >= 1 && how <= (BESIDE | CARRIED) && !early;
    for (uint64_t i = 0; i < count && sound; i++) {
        FlGuidance guidance;
        (void)fl_reader_take(in->r, 8);
        sound = fl__guidance_decode(in->r, &session->world, 0, &guidance);
    }
    return sound && !in->r->failed;
}

static void take_guided(FlSession *session, PacketIn *in)
{
    const PacketTimes *when = fl__packet_in_times(in);
    uint64_t count = fl_reader_take(in->r, 8);
    uint64_t how = fl_reader_take(in->r, 8);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t epoch = (uint8_t)fl_reader_take(in->r, 8);
        FlGuidance guidance;
        if (!fl__guidance_decode(in->r, &session->world, when->near, &guidance)) {
            return; // its time is out of range
        }
        uint16_t near = fl__entity_epoch(session, guidance.entity);
        receive_guided(session, in->connection, &guidance, fl__epoch_unwrap(near, epoch), how,
                       when->arrived);
    }
}

FlResult fl_entity_guide_view(FlSession *session, FlTime now, FlEntityId id,
                              const FlReplica *replica, FlGuideView *view)
{
    memset(view, 0, sizeof *view);
    int32_t slot = fl__entity_slot(session, id);
    if (slot == FL__NONE) {
        return FL_STALE_ID;
    }
    FL_ASSERT(replica->diameter > 0.0);
    if (fl_entity_is_ours(session, id)) {
        return FL_BAD_VALUE;
    }
    FlTime time = fl_session_time(session, now);
    uint32_t life;
    bool posed = fl__entity_shown(session, slot, time, &view->pose, &life) == FL_OK;
    view->life = life;
    FlGuide *guide = can_be_guided(session, slot) ? &guided(session, slot)->guide : NULL;
    if (guide == NULL || guide->diameter <= 0.0) { // it is not guided
        view->mode = FL_GUIDE_NEAR;
        if (guide != NULL && posed) {
            guided(session, slot)->viewed_life = (uint8_t)(life & 3u);
        }
        return posed ? FL_OK : FL_NOT_FOUND;
    }
    guide->diameter = replica->diameter;
    if (in_crowd(&session->def)) {
        expect_snapshots(session, slot, time);
    }
    const FlVec3 *snapshot = posed && time < guide->focus_until ? &view->pose.position : NULL;
    const Guided *theirs = guided(session, slot);
    bool goes_on = replica->known && theirs->viewed_life == (guide->received.life & 3u);
    if (goes_on) { // this life was shown by updates before guidance of it came
        (void)fl__guide_take_cut(guide);
    }
    view->cut = guide->cut;
    FlVec3 at = replica->known && !view->cut ? replica->position
                : snapshot != NULL           ? *snapshot
                                             : guide->received.position;
    view->mode = fl__guide_step(guide, time, at, snapshot);
    (void)fl__guide_goal(guide, time, snapshot, &view->goal);
    (void)fl__guide_take_cut(guide); // the next view walks on from where the game has put it
    view->life = view->mode == FL_GUIDE_NEAR ? life : guide->received.life;
    for (int32_t i = 0; i < FL_GUIDANCE_ACTIONS; i++) {
        while (fl__guide_play(guide, i, time)) {
            view->replayed[i]++;
        }
    }
    guided(session, slot)->near = view->mode == FL_GUIDE_NEAR;
    guided(session, slot)->viewed = true;
    guided(session, slot)->viewed_life = (uint8_t)(view->life & 3u);
    say_near(session, slot);
    return FL_OK;
}

// ---------------------------------------------------------------- near

static bool goes(const FlSession *session, int32_t slot, int32_t connection)
{
    return can_be_guided(session, slot) && guided(session, slot)->near_to == connection;
}

static void opened(FlSession *session, int32_t connection)
{
    size_t bytes = (size_t)session->entity_words * sizeof(uint64_t);
    memset(near_over(session, connection), 0, bytes);
    memset(relays_over(session, connection), 0, bytes);
    int32_t slot = fl__entity_after(session, 0);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        if (goes(session, slot, connection)) {
            guided(session, slot)->near_sent = UNSENT;
        }
    }
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    for (int32_t i = 0; i < count && !fate->delivered; i++) {
        int32_t slot = items[i].index;
        bool there = fl__entity_there(session, slot) && can_be_guided(session, slot);
        if (there && goes(session, slot, connection) &&
            guided(session, slot)->near_sent == (int32_t)items[i].value) {
            guided(session, slot)->near_sent = UNSENT;
            fl__hint_due(&session->guidance->near_due, slot);
        }
    }
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        opened(session, change->connection);
    } else if (change->kind == CHANGE_ENTITY_MADE || change->kind == CHANGE_ENTITY_DETAIL) {
        begin(session, change->slot);
    } else if (change->kind == CHANGE_ENTITY_GONE && in_crowd(&session->def)) {
        release(session, change->slot);
    }
}

static uint8_t send_near(FlSession *session, int32_t slot)
{
    Guided *theirs = guided(session, slot);
    theirs->near_sent = (int16_t)near_value(session, theirs);
    return (uint8_t)theirs->near_sent;
}

static void set_bit(uint64_t *words, int32_t slot, bool set)
{
    if (set) {
        fl__bit_set(words, slot);
    } else {
        fl__bit_clear(words, slot);
    }
}

// Of what we serve there: ours, or what we relay.
static void receive_near(FlSession *session, int32_t connection, int32_t slot, uint8_t value)
{
    if (!can_be_guided(session, slot) || fl__ledger(session) == NULL ||
        !fl__ledger_watches(fl__ledger(session), slot, connection)) {
        return;
    }
    Guided *own = guided(session, slot);
    if (value >= 2 || fl__bit_get(relays_over(session, connection), slot)) {
        own->relayed_ahead = value >= 2 ? value * NEAR_STEP_NS : 0;
    }
    set_bit(near_over(session, connection), slot, value == 1);
    set_bit(relays_over(session, connection), slot, value >= 2);
}

static const Hint NEAR = {SECTION_NEAR, UINT8_MAX, goes, send_near, receive_near, NULL};

static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    return fl__hint_want(session, &NEAR, &session->guidance->near_due, connection, now);
}

static void write(void *self, PacketOut *out)
{
    fl__hint_write(&NEAR, &((FlSession *)self)->guidance->near_due, out);
}

static bool skip(const void *self, PacketIn *in)
{
    const FlSession *session = (const FlSession *)self;
    return in->kind == SECTION_GUIDED ? skip_guided(session, in)
                                      : fl__hint_skip(session, &NEAR, in->r);
}

static void take(void *self, PacketIn *in)
{
    if (in->kind == SECTION_GUIDED) {
        take_guided((FlSession *)self, in);
    } else {
        fl__hint_take(&NEAR, in);
    }
}

// GUIDED is written by `motion`, in the place of updates or beside them.
const Feature fl__feature_guidance = {
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

// ---------------------------------------------------------------- making

static const Rider RIDER = {way, bytes_of, write_guided, learn, updated, take_carried};

enum { TABLES = 5 };

static void list_tables(Guidance *g, const FlSession *session, Fl__Table tables[TABLES])
{
    size_t words = (size_t)session->entity_words * sizeof(uint64_t);
    size_t places = (size_t)place_count(&session->def);
    Fl__Table all[TABLES] = {
        {(void **)&g->all, (size_t)place_count(&session->def) * sizeof(Guided)},
        {(void **)&g->slots, in_crowd(&session->def) ? places * sizeof(int32_t) : 0},
        {(void **)&g->near_due.words, words},
        {(void **)&g->near, (size_t)session->connection_count * words},
        {(void **)&g->relays, (size_t)session->connection_count * words},
    };
    memcpy(tables, all, sizeof all);
}

FlResult fl__guidance_create(FlSession *session)
{
    Guidance *g = (Guidance *)fl_alloc(&session->def.alloc, sizeof *g, _Alignof(Guidance));
    session->guidance = g;
    if (g == NULL) {
        return FL_NO_MEMORY;
    }
    fl__motion_set_rider(session, &RIDER);
    Fl__Table tables[TABLES];
    list_tables(g, session, tables);
    if (!fl__tables_reserve(&session->def.alloc, tables, TABLES)) {
        return FL_NO_MEMORY;
    }
    for (int32_t i = 0; g->slots != NULL && i < place_count(&session->def); i++) {
        g->slots[i] = FL__NONE;
    }
    return FL_OK;
}

void fl__guidance_destroy(FlSession *session)
{
    if (session->guidance != NULL) {
        Fl__Table tables[TABLES];
        list_tables(session->guidance, session, tables);
        fl__tables_release(&session->def.alloc, tables, TABLES);
        fl_free(&session->def.alloc, session->guidance, sizeof *session->guidance);
        session->guidance = NULL;
    }
}

size_t fl__guidance_bytes_all(const FlSessionDef *def)
{
    size_t slots = in_crowd(def) ? sizeof(int32_t) : 0;
    return (size_t)place_count(def) * (sizeof(Guided) + slots);
}

size_t fl__guidance_connection_bytes(const FlSessionDef *def)
{
    return 2 * (size_t)fl__bit_words(def->entity_capacity) * sizeof(uint64_t);
}
