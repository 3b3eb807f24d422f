// The ledger's tables: who exports what to whom, and what is owed. The layout is in private.h.
//
// Invariants: a due bit is set only for a watcher of a live entity that has exported something; a
// pair that does not watch has no bit and no time set, and waits for nothing. Serials of a slot
// only rise, so the fate of an update of an entity that ended, or of a watch that ended, finds
// nothing to change.
#include "placed.h"
#include "policy.h"
#include "private.h"

#include "motion/motion.h"

#define COOKIE 0x4c454447u
#define PATH_CAPACITY_MAX 16384 // half the range of a serial's low 16 bits, and then some
#define SHOWN_CAPACITY_MAX 128
#define HISTORY_CAPACITY_MAX 4096
#define UPDATE_BYTES 24 // until set

// ---------------------------------------------------------------- creation

FlLedgerDef fl_ledger_def_default(void)
{
    FlLedgerDef def = {
        .entity_capacity = 64,
        .receiver_capacity = 16,
        .path_capacity = 64,
        .shown_capacity = 4,
        .seed = 1,
        .cookie = COOKIE,
    };
    return def;
}

FlResult fl_ledger_def_problem(const FlLedgerDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlLedgerDef, "fl_ledger_def_default", COOKIE),
        FL__WHOLE(FlLedgerDef, entity_capacity, 1, INT32_MAX),
        FL__WHOLE(FlLedgerDef, receiver_capacity, 1, INT32_MAX),
        FL__POWER(FlLedgerDef, path_capacity, 8, PATH_CAPACITY_MAX),
        FL__POWER(FlLedgerDef, shown_capacity, 4, SHOWN_CAPACITY_MAX),
        FL__POWER(FlLedgerDef, history_capacity, 0, HISTORY_CAPACITY_MAX),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    int64_t pairs = (int64_t)def->entity_capacity * def->receiver_capacity;
    return fl__def_wrong(error, pairs > INT32_MAX / 2,
                         "entity_capacity times receiver_capacity must be below 2^30.");
}

// Lays the tables out in the block; with none, only counts its bytes.
static void lay_out(const FlLedgerDef *def, Fl__Block *block, FlLedger *ledger)
{
    size_t entities = (size_t)def->entity_capacity;
    size_t receivers = (size_t)def->receiver_capacity;
    size_t pairs = entities * receivers;
    size_t pieces = entities * (size_t)def->path_capacity;
    (void)fl__block_take(block, 1, sizeof *ledger);
    ledger->entities = fl__block_take(block, entities, sizeof *ledger->entities);
    ledger->receivers = fl__block_take(block, receivers, sizeof *ledger->receivers);
    ledger->scratch = fl__block_take(block, receivers * 2, sizeof *ledger->scratch);
    ledger->prospects = fl__block_take(block, receivers, sizeof *ledger->prospects);
    ledger->due = fl__block_take(block, (size_t)fl__bit_words(def->entity_capacity) * receivers,
                                 sizeof *ledger->due);
    ledger->watching = fl__block_take(
        block, entities * (size_t)fl__bit_words(def->receiver_capacity), sizeof *ledger->watching);
    ledger->attention = fl__block_take(block, pairs, sizeof *ledger->attention);
    ledger->keys = fl__block_take(block, pairs, sizeof *ledger->keys);
    ledger->times = fl__block_take(block, fl__schedule_size((int32_t)pairs), sizeof *ledger->times);
    ledger->pairs = fl__block_take(block, pairs, sizeof *ledger->pairs);
    ledger->shown =
        fl__block_take(block, pairs * (size_t)def->shown_capacity, sizeof *ledger->shown);
    size_t history = (size_t)def->history_capacity;
    ledger->history = fl__block_take(block, pairs * history, sizeof *ledger->history);
    ledger->history_count =
        fl__block_take(block, history > 0 ? pairs : 0, sizeof *ledger->history_count);
    ledger->pieces = fl__block_take(block, pieces, sizeof *ledger->pieces);
    ledger->leaps = fl__block_take(block, pieces, sizeof *ledger->leaps);
    ledger->curves = fl__block_take(block, entities * FL__CURVES, sizeof *ledger->curves);
}

static FlRings rings_of(const FlLedger *ledger, int32_t entity)
{
    size_t capacity = (size_t)ledger->def.path_capacity;
    FlRings rings = {
        .pieces = &ledger->pieces[(size_t)entity * capacity],
        .leaps = &ledger->leaps[(size_t)entity * capacity],
        .curves = &ledger->curves[(size_t)entity * FL__CURVES],
        .mask = (uint32_t)capacity - 1,
    };
    return rings;
}

FlResult fl_ledger_create(const FlLedgerDef *def, FlLedger **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == COOKIE);
    FlError error;
    if (fl_ledger_def_problem(def, &error) != FL_OK) {
        return error.code;
    }
    FlLedger planned;
    Fl__Block counted = {0};
    lay_out(def, &counted, &planned);
    FlLedger *ledger = fl_alloc(&def->alloc, counted.bytes, _Alignof(max_align_t));
    if (ledger == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Block block = {(uint8_t *)ledger, 0};
    lay_out(def, &block, ledger);
    ledger->def = *def;
    ledger->bytes = counted.bytes;
    ledger->receiver_words = fl__bit_words(def->receiver_capacity);
    ledger->random.seed = def->seed;
    ledger->focus.def = fl__focus_def_default();
    ledger->focus.next = INT64_MIN;
    ledger->focus.bytes = (double)INFINITY;
    fl__schedule_init(&ledger->schedule, ledger->times,
                      def->entity_capacity * def->receiver_capacity);
    for (int32_t r = 0; r < def->receiver_capacity; r++) {
        ledger->receivers[r].delay = -1.0;
    }
    for (int32_t e = 0; e < def->entity_capacity; e++) {
        ledger->entities[e].oldest = 1;
        ledger->entities[e].rings = rings_of(ledger, e);
    }
    *out = ledger;
    return FL_OK;
}

void fl_ledger_destroy(FlLedger *ledger)
{
    if (ledger == NULL) {
        return;
    }
    FlAlloc alloc = ledger->def.alloc;
    fl_free(&alloc, ledger, ledger->bytes);
}

FlLedgerMemory fl__ledger_memory(const FlLedgerDef *def)
{
    FlLedgerMemory memory = {
        .entity = sizeof(FlEntity) +
                  (sizeof(FlPiece) + sizeof(FlLeap)) * (size_t)def->path_capacity +
                  sizeof(FlCurve) * FL__CURVES,
        .receiver = sizeof(FlReceiver) + 2 * sizeof(double) + sizeof(FlProspect),
        // a time and its part of the groups above it; a bit each for due and watching; attention
        // and key
        .pair = sizeof(FlPair) + sizeof(FlShown) * (size_t)def->shown_capacity + sizeof(FlTime) +
                sizeof(FlTime) / 4 + 1 + sizeof(uint8_t) + sizeof(uint32_t),
    };
    if (def->history_capacity > 0) {
        memory.pair += sizeof(FlLedgerSent) * (size_t)def->history_capacity + sizeof(uint32_t);
    }
    return memory;
}

// ---------------------------------------------------------------- marking

void fl__mark_soon(FlLedger *ledger, int32_t entity, int32_t receiver, FlTime now)
{
    if (!fl__policy(fl__entity(ledger, entity)->send.policy)->frames) {
        fl__mark(ledger, entity, receiver);
        return;
    }
    fl__pair(ledger, entity, receiver)->flags |= FL__AGAIN;
    fl__focus_trigger(ledger, entity, now);
}

// ---------------------------------------------------------------- entities and receivers

void fl_ledger_entity_begin(FlLedger *ledger, int32_t entity, const FlSend *send)
{
    FlEntity *e = fl__entity(ledger, entity);
    FL_ASSERT(!e->live && fl__send_valid(send));
    FlEntity fresh = {.send = *send,
                      .live = true,
                      .newest = e->newest,
                      .oldest = e->newest + 1,
                      .update_bytes = UPDATE_BYTES,
                      .counted = INT64_MIN,
                      .rings = e->rings};
    *e = fresh;
}

static void stop_watching(FlLedger *ledger, int32_t entity, int32_t receiver)
{
    fl__pair(ledger, entity, receiver)->waiting = 0;
    fl__bit_clear(&ledger->watching[entity * ledger->receiver_words], receiver);
    *fl__due_word(ledger, entity, receiver) &= ~fl__bit(entity);
    fl__ask_at(ledger, entity, receiver, FL_FOREVER);
    fl__entity(ledger, entity)->watcher_count--;
}

void fl_ledger_entity_end(FlLedger *ledger, int32_t entity)
{
    FlEntity *e = fl__entity(ledger, entity);
    FL_ASSERT(e->live);
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        stop_watching(ledger, entity, r);
    }
    e->live = false;
    e->oldest = e->newest + 1; // nothing of it is remembered
}

void fl_ledger_receiver_end(FlLedger *ledger, int32_t receiver)
{
    FL_ASSERT(receiver >= 0 && receiver < ledger->def.receiver_capacity);
    for (int32_t e = 0; e < ledger->def.entity_capacity; e++) {
        if (fl__watches(ledger, e, receiver)) {
            stop_watching(ledger, e, receiver);
        }
    }
    size_t entities = (size_t)ledger->def.entity_capacity;
    memset(&ledger->attention[(size_t)receiver * entities], 0, entities);
    FlReceiver fresh = {.delay = -1.0};
    ledger->receivers[receiver] = fresh;
}

// What the others suffered on average: a newcomer that began at zero would, to a policy that
// compares, be the luckiest of all, and wait until it had caught up.
static double mean_suffered(const FlLedger *ledger, int32_t entity)
{
    double sum = 0.0;
    int32_t count = 0;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        const FlPair *pair = fl__pair(ledger, entity, r);
        sum += pair->error + (double)pair->baseline;
        count++;
    }
    return count > 0 ? sum / count : 0.0;
}

void fl_ledger_watch(FlLedger *ledger, int32_t entity, int32_t receiver, bool watches, FlTime now)
{
    FlEntity *e = fl__entity(ledger, entity);
    FL_ASSERT(e->live && receiver >= 0 && receiver < ledger->def.receiver_capacity);
    if (fl__watches(ledger, entity, receiver) == watches) {
        return;
    }
    if (!watches) {
        stop_watching(ledger, entity, receiver);
        return;
    }
    FlPair fresh = {.last_sent = FL_FOREVER, .newest_sent = e->newest};
    if (fl__policy(e->send.policy)->compares) {
        fresh.baseline = (float)mean_suffered(ledger, entity);
    }
    *fl__pair(ledger, entity, receiver) = fresh;
    if (fl__keeps_history(ledger)) {
        fl__history_begin(ledger, fl__pair_number(ledger, entity, receiver));
    }
    fl__bit_set(&ledger->watching[entity * ledger->receiver_words], receiver);
    e->watcher_count++;
    if (fl__policy(e->send.policy)->join != NULL) {
        fl__policy(e->send.policy)->join(ledger, entity, receiver, now);
    }
    if (fl__remembered(e, e->newest)) {
        fl__mark_soon(ledger, entity, receiver, now);
    }
}

// ---------------------------------------------------------------- exports

static bool export_is_sound(const FlLedger *ledger, int32_t entity, const FlMotion *motion,
                            uint32_t life)
{
    const FlEntity *e = fl__entity(ledger, entity);
    if (fl__remembered(e, e->newest) && motion->time < fl__piece(e, e->newest)->from) {
        return false;
    }
    return life == FL_LIFE_NONE || fl__motion_finite(motion);
}

static void mark_all(FlLedger *ledger, int32_t entity, FlTime now)
{
    const FlPolicy *policy = fl__policy(fl__entity(ledger, entity)->send.policy);
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        fl__mark_soon(ledger, entity, r, now);
        fl__ask_at(ledger, entity, r, FL_FOREVER);
        if (policy->join != NULL) {
            policy->join(ledger, entity, r, now);
        }
    }
}

void fl__ledger_policy(FlLedger *ledger, int32_t entity, const FlSend *send, FlTime now)
{
    FlEntity *e = fl__entity(ledger, entity);
    FL_ASSERT(e->live && fl__send_valid(send));
    FlEqual fresh = {.epoch = e->equal.epoch}; // errors are counted from there
    e->send = *send;
    e->equal = fresh;
    e->credit = 0.0;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        FlPair *pair = fl__pair(ledger, entity, r);
        pair->flags &= (uint8_t)~FL__OWES_OLDER;
        memset(&pair->owed, 0, sizeof pair->owed);
        memset(&pair->own, 0, sizeof pair->own);
        fl__ask_at(ledger, entity, r, FL_FOREVER);
    }
    if (fl__remembered(e, e->newest)) {
        mark_all(ledger, entity, now);
    }
}

// No receiver starves: whatever a policy decides, an update goes to those who waited too long, and
// to those whose last one is about to be forgotten.
static void mark_impatient(FlLedger *ledger, int32_t entity, FlTime now)
{
    const FlEntity *e = fl__entity(ledger, entity);
    uint32_t too_old = (uint32_t)ledger->def.path_capacity / 2;
    for (int32_t r = fl__watcher_next(ledger, entity, 0); r >= 0;
         r = fl__watcher_next(ledger, entity, r + 1)) {
        const FlPair *pair = fl__pair(ledger, entity, r);
        if (pair->sent == 0 || fl_span(now, pair->last_sent) >= e->send.starvation_ns ||
            e->newest - pair->newest_sent >= too_old) {
            fl__mark(ledger, entity, r);
        }
    }
}

uint32_t fl__ledger_add(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life,
                        FlTime now)
{
    FlEntity *e = fl__entity(ledger, entity);
    FL_ASSERT(e->live);
    if (!export_is_sound(ledger, entity, motion, life)) {
        ledger->counts.refused++;
        return e->oldest - 1; // of none that is remembered
    }
    if (!fl__remembered(e, e->newest)) {
        e->equal.epoch = now;
    }
    bool continues = fl__remembered(e, e->newest) && life != FL_LIFE_NONE &&
                     fl__piece(e, e->newest)->life == life;
    // Errors counted beyond its time, for want of memory, were counted against the one before.
    ledger->counts.forgotten += motion->time < e->counted;
    fl__path_add(ledger, entity, motion, life);
    e->trigger = continues ? e->trigger + 1 : 0;
    if (!continues && !(e->send.policy == FL_SEND_BASE)) {
        mark_all(ledger, entity, now);
        return e->newest;
    }
    const FlPolicy *policy = fl__policy(e->send.policy);
    policy->trigger(ledger, entity, now);
    if (!policy->frames && (e->send.policy != FL_SEND_BASE || e->send.every > 1)) {
        mark_impatient(ledger, entity, now);
    }
    return e->newest;
}

void fl_ledger_export(FlLedger *ledger, int32_t entity, const FlMotion *motion, uint32_t life,
                      FlTime now)
{
    (void)fl__ledger_add(ledger, entity, motion, life, now);
}

void fl_ledger_update(FlLedger *ledger, FlTime now)
{
    while (fl__schedule_earliest(&ledger->schedule) <= now) {
        int32_t pair = fl__schedule_first(&ledger->schedule);
        fl__schedule_set(&ledger->schedule, pair, FL_FOREVER);
        int32_t entity = pair % ledger->def.entity_capacity;
        int32_t receiver = pair / ledger->def.entity_capacity;
        fl__policy(fl__entity(ledger, entity)->send.policy)->wake(ledger, entity, receiver, now);
    }
    if (fl__focus_deadline(ledger) <= now) {
        fl__focus_frame(ledger, now);
    }
}

FlTime fl_ledger_deadline(const FlLedger *ledger)
{
    FlTime asked = fl__schedule_earliest(&ledger->schedule);
    FlTime frame = fl__focus_deadline(ledger);
    return fl_time_min(asked, frame);
}

// ---------------------------------------------------------------- what is due

// Which update of an entity that is due: only one policy owes older ones.
static uint32_t serial_due(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    const FlEntity *e = fl__entity(ledger, entity);
    if (e->send.policy != FL_SEND_SCHEDULE2) {
        return e->newest;
    }
    const FlPair *pair = fl__pair(ledger, entity, receiver);
    bool older = (pair->flags & FL__OWES_OLDER) != 0;
    return older && fl__remembered(e, pair->owed.serial) ? pair->owed.serial : e->newest;
}

void fl__ledger_urge(FlLedger *ledger, int32_t entity, int32_t receiver)
{
    if (fl__ledger_watches(ledger, entity, receiver)) {
        fl__mark(ledger, entity, receiver);
    }
}

bool fl_ledger_due(const FlLedger *ledger, int32_t receiver, int32_t from, FlDue *due)
{
    FL_ASSERT(receiver >= 0 && receiver < ledger->def.receiver_capacity && from >= 0);
    uint64_t mask = ~(uint64_t)0 << (from & 63);
    for (int32_t e = from & ~63; e < ledger->def.entity_capacity; e += 64) {
        uint64_t word = *fl__due_word(ledger, e, receiver) & mask;
        if (word != 0) {
            due->entity = e + fl__bit_lowest(word);
            due->serial = serial_due(ledger, due->entity, receiver);
            return true;
        }
        mask = ~(uint64_t)0;
    }
    FlDue none = {.entity = -1};
    *due = none;
    return false;
}

const FlPiece *fl__ledger_exported_at(const FlLedger *ledger, int32_t entity, FlTime time)
{
    const FlEntity *e = fl__entity(ledger, entity);
    uint32_t serial = e->newest;
    while (fl__remembered(e, serial) && fl__piece(e, serial)->from > time) {
        serial--;
    }
    return fl__remembered(e, serial) ? fl__piece(e, serial) : NULL;
}

FlSendClass fl__ledger_class(const FlLedger *ledger, int32_t entity, int32_t receiver)
{
    const FlPolicy *policy = fl__policy(fl__entity(ledger, entity)->send.policy);
    bool focus = fl__pair(ledger, entity, receiver)->own.lingers > 0;
    return !policy->frames || focus ? FL_CLASS_FOCUS : FL_CLASS_BEST_EFFORT;
}

FlLedgerCounts fl__ledger_counts(const FlLedger *ledger)
{
    return ledger->counts;
}
