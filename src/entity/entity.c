// The table of entities: fixed slots, ids that outlive their entities, numbers that all peers
// share; and what other modules see of it.
//
// Invariant: slot s is live  <=>  generation[s] is odd; by_number[n] is the live slot with number
// n, or FL__NONE. A live entity has begun in the ledger.
#include "fields.h"
#include "priority.h"
#include "private.h"
#include "remote.h"

#include "motion/motion.h"
#include "send/send.h"
#include "wire/wire.h"

#include <string.h>

// ---------------------------------------------------------------- making

enum { TABLES = 23 };

// A crowd's updates go over light connections, without a ledger.
static bool is_distributed(const FlSessionDef *def)
{
    return def->topology != FL_TOPOLOGY_CROWD;
}

// It may take over from a host, and then asks all what they know.
static bool takes_over(const FlSessionDef *def)
{
    return is_distributed(def) || fl__may_lead(def);
}

static void list_tables(Entities *e, const FlSession *session, Fl__Table tables[TABLES])
{
    size_t connections = (size_t)session->connection_count;
    size_t entities = (size_t)session->def.entity_capacity;
    size_t numbers = (size_t)session->world.def.entity_capacity;
    size_t members = (size_t)session->member_count;
    size_t word = sizeof(uint64_t);
    size_t member_words = (size_t)session->member_words * word;
    size_t details = (size_t)fl__detail_count(&session->def);
    size_t definitions = (size_t)fl__definition_count(&session->def);
    size_t distributed = is_distributed(&session->def) ? 1 : 0;
    size_t claimed = takes_over(&session->def) ? 1 : 0;
    Fl__Table all[TABLES] = {
        {(void **)&e->all, entities * sizeof(Entity)},
        {(void **)&e->details, details * sizeof(Detail)},
        {(void **)&e->definitions, definitions * sizeof(Definition)},
        {(void **)&e->streams, connections * sizeof(Stream)},
        {(void **)&e->by_number, numbers * sizeof(int32_t)},
        {(void **)&e->number_epoch, numbers * sizeof(uint16_t)},
        {(void **)&e->number_known, numbers * sizeof(bool)},
        {(void **)&e->state_due, connections * (size_t)session->entity_words * word},
        {(void **)&e->relay_later, (size_t)session->entity_words * word},
        {(void **)&e->moves.slots, (size_t)session->entity_words * word},
        {(void **)&e->interest, connections * (size_t)session->entity_words * word},
        {(void **)&e->elsewhere, distributed * connections * (size_t)session->entity_words * word},
        {(void **)&e->due, connections * (size_t)session->number_words * word},
        {(void **)&e->refresh, connections * (size_t)session->number_words * word},
        {(void **)&e->scope, details * member_words},
        {(void **)&e->reported, details * members * sizeof(float)},
        {(void **)&e->owned, members * sizeof(int32_t)},
        {(void **)&e->testimony, claimed * entities * members * sizeof(Testimony)},
        {(void **)&e->early, distributed * connections * EARLY_STATES * sizeof(EarlyState)},
        {(void **)&e->read, (READ_AHEAD + 1) * sizeof(ReadUpdate)},
        {(void **)&e->claims_due, member_words},
        {(void **)&e->claims_late, member_words},
        {(void **)&e->claims_asked, member_words},
    };
    memcpy(tables, all, sizeof all);
}

#define HISTORY_A_SECOND 64    // updates of an entity to one receiver, at most
#define HISTORY_MORE FL_SEC(1) // than rewinding goes back: what smoothing depends on

int32_t fl__entity_history(const FlSessionDef *def)
{
    FlTime span = def->rewind_ns > 0 ? 2 * def->rewind_ns + HISTORY_MORE : 0; // and Δ
    int32_t capacity = span > 0 ? HISTORY_A_SECOND : 0;
    while ((FlTime)capacity * FL_SEC(1) < span * HISTORY_A_SECOND) {
        capacity *= 2;
    }
    return capacity;
}

static FlLedgerDef ledger_def(const FlSessionDef *given, int32_t connections)
{
    FlLedgerDef def = fl_ledger_def_default();
    def.history_capacity = fl__entity_history(given);
    def.entity_capacity = given->entity_capacity;
    def.receiver_capacity = connections;
    def.path_capacity = fl__int_max(given->tuning.path_capacity, def.history_capacity);
    def.seed = given->seed;
    def.alloc = given->alloc;
    return def;
}

FlResult fl__entities_create(FlSession *session)
{
    Entities *e = (Entities *)fl_alloc(&session->def.alloc, sizeof *e, _Alignof(Entities));
    session->entities = e;
    if (e == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table tables[TABLES];
    list_tables(e, session, tables);
    if (!fl__tables_reserve(&session->def.alloc, tables, TABLES)) {
        return FL_NO_MEMORY;
    }
    for (int32_t i = 0; i < session->world.def.entity_capacity; i++) {
        e->by_number[i] = FL__NONE;
    }
    e->claim_turn = FL__NONE;
    e->relay_next = FL_FOREVER;
    e->moves.next = FL_FOREVER;
    e->moves.short_at = INT64_MIN;
    e->detail_count = fl__detail_count(&session->def);
    for (int32_t i = 0; i < e->detail_count; i++) {
        e->details[i].slot = FL__NONE;
    }
    e->definition_count = fl__definition_count(&session->def);
    FlEntityDef plain = fl_entity_def_default();
    fl__definition_make(&e->definitions[0], &plain);
    e->definitions[0].uses = 1;
    FlResult made = fl__fields_create(session);
    if (made != FL_OK) {
        return made;
    }
    if (!is_distributed(&session->def)) {
        return FL_OK;
    }
    made = fl__priorities_create(session);
    if (made != FL_OK) {
        return made;
    }
    FlLedgerDef ledger = ledger_def(&session->def, session->connection_count);
    FlResult result = fl_ledger_create(&ledger, &e->ledger);
    return result == FL_OK ? fl__ledger_focus(e->ledger, &session->def.tuning.focus) : result;
}

void fl__entities_destroy(FlSession *session)
{
    Entities *e = session->entities;
    if (e == NULL) {
        return;
    }
    fl_ledger_destroy(e->ledger);
    fl__fields_destroy(session);
    fl__priorities_destroy(session);
    Fl__Table tables[TABLES];
    list_tables(e, session, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
    fl_free(&session->def.alloc, e, sizeof *e);
    session->entities = NULL;
}

EntityMemory fl__entities_memory(const FlSessionDef *def)
{
    size_t members = (size_t)def->peer_capacity + 1;
    size_t member_words = (size_t)fl__bit_words((int32_t)members) * sizeof(uint64_t);
    size_t numbers = (size_t)def->world.entity_capacity;
    size_t words = 3 * (size_t)fl__bit_words(def->entity_capacity) +
                   2 * (size_t)fl__bit_words(def->world.entity_capacity);
    size_t detail = sizeof(Detail) + sizeof(FieldsOf) + members * sizeof(float) + 2 * member_words;
    size_t definitions = (size_t)fl__definition_count(def) * sizeof(Definition);
    EntityMemory memory = {
        .all = sizeof(Entities) + sizeof(Fields) + sizeof(Priorities) + 3 * member_words +
               members * sizeof(int32_t) +
               numbers * (sizeof(int32_t) + sizeof(uint16_t) + sizeof(bool)) + definitions,
        .entity = sizeof(Entity),
        .connection = sizeof(Stream) + sizeof(FieldStream) + words * sizeof(uint64_t) +
                      (size_t)fl__detail_count(def) * sizeof(uint32_t),
    };
    if (fl__detail_count(def) == def->entity_capacity) {
        memory.entity += detail;
    } else {
        memory.all += (size_t)fl__detail_count(def) * detail;
    }
    memory.entity += takes_over(def) ? members * sizeof(Testimony) : 0;
    if (is_distributed(def)) {
        FlLedgerDef ledger = ledger_def(def, fl__connections_most(def));
        FlLedgerMemory each = fl__ledger_memory(&ledger);
        memory.entity += each.entity + members + sizeof(double);
        memory.connection += sizeof(bool) + each.receiver + EARLY_STATES * sizeof(EarlyState) +
                             (size_t)fl__bit_words(def->entity_capacity) * sizeof(uint64_t);
        memory.pair = each.pair;
    }
    return memory;
}

// ---------------------------------------------------------------- announcements that are due

uint64_t *fl__announcements(const FlSession *session, int32_t connection)
{
    return &session->entities->due[connection * session->number_words];
}

void fl__entity_announce(FlSession *session, uint32_t number, int32_t except_connection)
{
    for (int32_t i = 0; i < session->connection_count; i++) {
        if (fl__connection_used(session, i) && !fl__connection_direct(session, i) &&
            i != except_connection) {
            fl__bit_set(fl__announcements(session, i), (int32_t)number);
            fl__connection_wake(session, i);
        }
    }
}

void fl__entity_announce_to(FlSession *session, uint32_t number, int32_t member)
{
    int32_t connection = fl__member_connection(session, member);
    if (connection != FL__NONE) {
        fl__bit_set(fl__announcements(session, connection), (int32_t)number);
        fl__connection_wake(session, connection);
    }
}

// ---------------------------------------------------------------- the table

Entity *fl__entity_find(const FlSession *session, FlEntityId id)
{
    int32_t slot = fl__entity_slot(session, id);
    return slot != FL__NONE ? fl__entity(session, slot) : NULL;
}

Entity *fl__entity_numbered(const FlSession *session, uint32_t number)
{
    int32_t slot = session->entities->by_number[number];
    return slot != FL__NONE ? fl__entity(session, slot) : NULL;
}

Entity *fl__entity_early(const FlSession *session, FlEntityId id)
{
    if (id.index1 == 0 || id.index1 > (uint32_t)session->def.entity_capacity) {
        return NULL;
    }
    Entity *entity = fl__entity(session, (int32_t)id.index1 - 1);
    return entity->unnumbered && entity->generation + 1 == id.generation ? entity : NULL;
}

FlEntityId fl__id_of(const FlSession *session, const Entity *entity)
{
    return fl__entity_id(session, fl__slot(session, entity));
}

static Entity *slot_free(const FlSession *session)
{
    int32_t *from = &session->entities->free_from;
    for (; *from < session->def.entity_capacity; (*from)++) {
        const Entity *entity = fl__entity(session, *from);
        if (!fl__is_live(entity) && !entity->unnumbered) {
            return fl__entity(session, *from);
        }
    }
    return NULL;
}

Entity *fl__entity_free(FlSession *session)
{
    Entity *entity = slot_free(session);
    session->count[FL_SESSION_NO_ROOM] += entity == NULL ? 1 : 0;
    return entity;
}

bool fl__entity_begin(FlSession *session, Entity *entity, uint32_t number, uint16_t epoch,
                      int32_t owner)
{
    uint32_t generation = entity->generation + 1;
    memset(entity, 0, sizeof *entity);
    entity->generation = generation;
    entity->number = number;
    entity->epoch = epoch;
    entity->born = epoch;
    entity->owner = owner;
    FlEntityDef unknown = fl_entity_def_default();
    fl__definition_set(session, entity, &unknown);
    entity->giver = FL__NONE;
    entity->owner_before = FL__NONE;
    entity->call_floor = epoch;
    bool wanted =
        owner == session->self || session->entities->detail_count == session->def.entity_capacity;
    if (wanted && !fl__detail_take(session, entity)) {
        fl__definition_release(session, entity);
        entity->generation--;
        fl__count(session, FL_SESSION_NO_ROOM);
        return false;
    }
    int32_t slot = fl__slot(session, entity);
    fl__notice_begin(session, slot);
    session->entities->by_number[number] = slot;
    session->entities->number_epoch[number] = epoch;
    session->entities->number_known[number] = true;
    if (session->entities->testimony != NULL) {
        memset(&session->entities->testimony[(int64_t)slot * session->member_count], 0,
               (size_t)session->member_count * sizeof(Testimony));
    }
    if (session->entities->ledger != NULL) {
        fl_ledger_entity_begin(session->entities->ledger, slot, &entity->def->send);
    }
    fl__entity_changed(session, CHANGE_ENTITY_MADE, slot);
    return true;
}

Entity *fl__entity_take(FlSession *session, uint32_t number, uint16_t epoch, int32_t owner)
{
    Entity *entity = fl__entity_free(session);
    bool begun = entity != NULL && fl__entity_begin(session, entity, number, epoch, owner);
    return begun ? entity : NULL;
}

void fl__entity_remove(FlSession *session, Entity *entity)
{
    int32_t slot = fl__slot(session, entity);
    FlNotice notice = {.kind = FL_NOTICE_ENTITY_GONE,
                       .entity = fl__id_of(session, entity),
                       .peer = fl__peer_id(session, entity->owner)};
    fl__entity_changed(session, CHANGE_ENTITY_GONE, slot);
    if (session->entities->ledger != NULL) {
        fl_ledger_entity_end(session->entities->ledger, slot);
    }
    fl__detail_release(entity);
    fl__definition_release(session, entity);
    session->entities->by_number[entity->number] = FL__NONE;
    bool known = fl__notice_forget(session, slot);
    entity->generation++;
    int32_t *from = &session->entities->free_from;
    *from = slot < *from ? slot : *from;
    if (fl__is_host(session) || entity->ours) {
        fl__entity_announce(session, entity->number, FL__NONE);
    }
    if (!entity->ours && known) {
        fl__notice(session, &notice);
    }
}

bool fl_entity_next(const FlSession *session, FlEntityId *id)
{
    FlEntityId none = {0};
    for (uint32_t i = id->index1; i < (uint32_t)session->def.entity_capacity; i++) {
        const Entity *entity = fl__entity(session, (int32_t)i);
        if (fl__is_live(entity) || entity->unnumbered) {
            *id = fl__entity_id(session, (int32_t)i);
            return true;
        }
    }
    *id = none;
    return false;
}

FlEntityId fl_entity_of_number(const FlSession *session, uint32_t number)
{
    FlEntityId none = {0};
    int32_t slot = fl__entity_slot_of(session, number);
    return slot != FL__NONE ? fl__entity_id(session, slot) : none;
}

bool fl_entity_is_ours(const FlSession *session, FlEntityId id)
{
    const Entity *entity = fl__entity_find(session, id);
    return (entity != NULL && entity->ours) || fl__entity_early(session, id) != NULL;
}

static FlTime newest_of(const Entity *entity)
{
    const Detail *detail = entity->detail;
    if (entity->ours && detail->exporter.started) {
        return detail->exporter.exported.time;
    }
    return detail->show.started ? detail->show.newest : FL_FOREVER;
}

FlResult fl_entity_status(const FlSession *session, FlEntityId id, FlEntityStatus *status)
{
    memset(status, 0, sizeof *status);
    const Entity *early = fl__entity_early(session, id);
    const Entity *entity = early != NULL ? early : fl__entity_find(session, id);
    if (entity == NULL) {
        return FL_STALE_ID;
    }
    status->number = early != NULL ? UINT32_MAX : entity->number;
    status->owner = fl__peer_id(session, entity->owner);
    status->ours = early != NULL || entity->ours;
    status->kind = entity->def->kind;
    status->epoch = entity->epoch;
    status->newest = FL_FOREVER;
    status->received = FL_FOREVER;
    status->received_at = FL_FOREVER;
    Carried carried;
    const Carrier *carrier = session->entities->carrier;
    if (!entity->ours && carrier != NULL &&
        carrier->newest(session, entity->number, NULL, &carried)) {
        status->life = carried.life;
        status->newest = carried.stamp;
        status->received = carried.stamp;
        status->received_at = carried.arrived;
        status->via = fl__peer_id(session, carried.via);
        status->hops = carried.hops;
        status->watched = carried.watched;
    } else if (entity->detail != NULL) {
        status->life = entity->ours ? entity->detail->life : entity->detail->show.life;
        status->newest = newest_of(entity);
        status->received = entity->detail->received;
        status->received_at = entity->detail->received_at;
    }
    return FL_OK;
}

// Live and ours, or why not.
FlResult fl__entity_ours(FlSession *session, FlEntityId id, Entity **entity)
{
    *entity = fl__entity_find(session, id);
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (*entity == NULL) {
        *entity = fl__entity_early(session, id);
    }
    if (*entity == NULL || session->state == FL_SESSION_ENDED) {
        return FL_STALE_ID;
    }
    if ((*entity)->unnumbered) {
        return FL_WOULD_BLOCK;
    }
    return (*entity)->ours ? FL_OK : FL_BAD_VALUE;
}

FlResult fl__entity_ruled(FlSession *session, FlEntityId id, Entity **entity)
{
    FlResult result = fl__entity_ours(session, id, entity);
    bool rules = fl__is_host(session) && result == FL_BAD_VALUE;
    if (rules && ((*entity)->orphan || session->entities->claiming)) {
        return FL_WOULD_BLOCK; // whose it is is being found out
    }
    return rules ? FL_OK : result;
}

// ---------------------------------------------------------------- for other modules

int32_t fl__entity_slot(const FlSession *session, FlEntityId id)
{
    if (id.index1 == 0 || id.index1 > (uint32_t)session->def.entity_capacity) {
        return FL__NONE;
    }
    int32_t slot = (int32_t)id.index1 - 1;
    const Entity *entity = fl__entity(session, slot);
    return fl__is_live(entity) && entity->generation == id.generation ? slot : FL__NONE;
}

int32_t fl__entity_slot_of(const FlSession *session, uint32_t number)
{
    bool sound = number < (uint32_t)session->world.def.entity_capacity;
    return sound ? session->entities->by_number[number] : FL__NONE;
}

FlEntityId fl__entity_id(const FlSession *session, int32_t slot)
{
    const Entity *entity = fl__entity(session, slot);
    FlEntityId id = {(uint32_t)slot + 1, entity->generation + (entity->unnumbered ? 1 : 0)};
    return id;
}

int32_t fl__entity_after(const FlSession *session, int32_t from)
{
    for (int32_t i = from; i < session->def.entity_capacity; i++) {
        if (fl__is_live(fl__entity(session, i))) {
            return i;
        }
    }
    return FL__NONE;
}

bool fl__entity_there(const FlSession *session, int32_t slot)
{
    return fl__is_live(fl__entity(session, slot));
}

int32_t fl__entity_owner(const FlSession *session, int32_t slot)
{
    return fl__entity(session, slot)->owner;
}

uint32_t fl__entity_number(const FlSession *session, int32_t slot)
{
    return fl__entity(session, slot)->number;
}

uint16_t fl__entity_epoch(const FlSession *session, uint32_t number)
{
    return session->entities->number_epoch[number];
}

EntityInfo fl__entity_info(const FlSession *session, int32_t slot)
{
    const Entity *entity = fl__entity(session, slot);
    const Detail *detail = entity->detail;
    EntityInfo info = {
        .number = entity->number,
        .epoch = entity->epoch,
        .call_floor = entity->call_floor,
        .owner = entity->owner,
        .owner_before = entity->owner_before,
        .ours = entity->ours,
        .was_ours = entity->giving || entity->owner_before == session->self,
        .orphan = entity->orphan,
        .fresh = entity->handing || entity->giver != FL__NONE,
        .def = entity->def,
        .came_at = FL_FOREVER,
    };
    if (detail != NULL) {
        info.life = entity->ours ? detail->life : detail->show.life;
        info.state_version = detail->state_version;
        info.state = detail->state;
        info.state_bytes = detail->state_bytes;
        info.came_at = detail->received_at;
    }
    return info;
}

int32_t fl__entity_make(FlSession *session, uint32_t number, uint16_t epoch)
{
    const Entity *entity = fl__entity_take(session, number, epoch, FL__NONE);
    return entity != NULL ? fl__slot(session, entity) : FL__NONE;
}

void fl__entity_raise_floor(FlSession *session, int32_t slot, uint16_t floor)
{
    Entity *entity = fl__entity(session, slot);
    entity->call_floor = fl__seq_newer(floor, entity->call_floor) ? floor : entity->call_floor;
}

void fl__entity_came(FlSession *session, int32_t slot, FlTime arrived)
{
    fl__entity(session, slot)->detail->received_at = arrived;
}

void fl__entity_set_rider(FlSession *session, int32_t slot, bool has)
{
    fl__entity(session, slot)->detail->guided = has;
}

FlLedger *fl__ledger(const FlSession *session)
{
    return session->entities->ledger;
}

bool fl__claims_all(const FlSession *session)
{
    return session->entities->claiming && session->entities->claim_all;
}
