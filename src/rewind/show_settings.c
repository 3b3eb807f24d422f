// How members show what they are sent: said to whoever distributes it to them, so that their
// screens can be replayed.
//
// Most show everything by the default settings and say nothing. Others say so once per connection,
// and once for each entity that the game shows another way (fl_entity_show) or whose Δ changes
// (fl_entity_delta): in a section that rides in the next packet, and again if that is lost or the
// entity comes another way. What is said is a claim; what it can gain is bounded where it is used
// (rewind.c).

// SHOWN: how I show entities.                                    spec/WIRE.md section 7.14
//
//   bits  field         unit   valid
//   8     kind          -      11
//   8     one           -      1: the entity `number`; 0: all of which nothing else was said
//   16    number        -      the entity's; 0 with all
//   64    from          ns     session time since which it is so; 0: always
//   8     hold          -      0..4: at_once, causality, reckoned, adaptive, lags
//   8     placement     -      0..4: timestamped, snap, first_order, higher_order, interpolated
//   8     convergence   -      0..2: at_once, steps, smooth
//   64    delta         ns     0..2 s; before the first change
//   64    warp          -      a double, as all without a unit of time: above 0, at most 0.5
//   32    step_count    -      1..2^31 - 1
//   64    step          ns     above 0
//   64    smooth        ns     above 0
//   64    speed_limit   -      not negative
//   64    catch_up      -      above 0
//   64    snap_distance -      not negative
//   8     count         -      0..4 changes of Δ follow; above 0 with hold 3 only
//   per change, the times rising: 64 from (ns), 64 delta (ns, 0..2 s)
#include "private.h"

#include "show/show.h"

#define SHOWN_BYTES 76
#define CHANGE_BYTES 16
#define ALL_ENTITIES UINT16_MAX // as an item

// ---------------------------------------------------------------- encoding

static void put_double(FlWriter *w, double value)
{
    fl_writer_put(w, fl__bits_of(value), 64);
}

static void put_time(FlWriter *w, FlTime value)
{
    fl_writer_put(w, (uint64_t)value, 64);
}

static double take_double(FlReader *r)
{
    return fl__double_of(fl_reader_take(r, 64));
}

static FlTime take_time(FlReader *r)
{
    return (FlTime)fl_reader_take(r, 64);
}

void fl__shown_write(FlWriter *w, const ShownMessage *m)
{
    const FlShowDef *def = &m->settings.def;
    fl_writer_put(w, SECTION_SHOWN, 8);
    fl_writer_put(w, m->one, 8);
    fl_writer_put(w, m->number, 16);
    put_time(w, m->settings.from);
    fl_writer_put(w, (uint64_t)def->hold, 8);
    fl_writer_put(w, (uint64_t)def->placement, 8);
    fl_writer_put(w, (uint64_t)def->convergence, 8);
    put_time(w, def->delta_ns);
    put_double(w, def->warp);
    fl_writer_put(w, (uint64_t)def->step_count, 32);
    put_time(w, def->step_ns);
    put_time(w, def->smooth_ns);
    put_double(w, def->speed_limit);
    put_double(w, def->catch_up);
    put_double(w, def->snap_distance);
    fl_writer_put(w, (uint64_t)m->settings.change_count, 8);
    for (int32_t i = 0; i < m->settings.change_count; i++) {
        put_time(w, m->settings.changes[i].from);
        put_time(w, m->settings.changes[i].delta_ns);
    }
}

static bool decode_changes(FlReader *r, ShowSettings *settings)
{
    uint64_t count = fl_reader_take(r, 8);
    if (count > FL_SHOW_CHANGES || (count > 0 && settings->def.hold != FL_HOLD_ADAPTIVE)) {
        return false;
    }
    bool sound = true;
    FlTime last = INT64_MIN;
    for (uint64_t i = 0; i < count; i++) {
        FlDeltaChange *change = &settings->changes[i];
        change->from = take_time(r);
        change->delta_ns = take_time(r);
        sound = sound && fl__offset_is_sound(change->from) && change->from > last &&
                change->delta_ns >= 0 && change->delta_ns <= FL_SHOW_DELTA_MAX_NS;
        last = change->from;
    }
    settings->change_count = (int32_t)count;
    return sound;
}

bool fl__shown_read(FlReader *r, const FlWorld *world, ShownMessage *m)
{
    FlShowDef def = fl_show_def_default();
    uint64_t one = fl_reader_take(r, 8);
    m->one = one == 1;
    m->number = (uint16_t)fl_reader_take(r, 16);
    m->settings.known = true;
    m->settings.from = take_time(r);
    def.hold = (FlHold)fl_reader_take(r, 8);
    def.placement = (FlPlacement)fl_reader_take(r, 8);
    def.convergence = (FlConvergence)fl_reader_take(r, 8);
    def.delta_ns = take_time(r);
    def.warp = take_double(r);
    uint64_t steps = fl_reader_take(r, 32);
    def.step_count = steps <= INT32_MAX ? (int32_t)steps : 0;
    def.step_ns = take_time(r);
    def.smooth_ns = take_time(r);
    def.speed_limit = take_double(r);
    def.catch_up = take_double(r);
    def.snap_distance = take_double(r);
    m->settings.def = def;
    bool sound =
        one <= 1 && (m->one ? m->number < (uint32_t)world->def.entity_capacity : m->number == 0);
    return decode_changes(r, &m->settings) && !r->failed && sound &&
           fl__offset_is_sound(m->settings.from) && fl__show_def_valid(&def);
}

// ---------------------------------------------------------------- ours

static bool is_default(const FlShowDef *def)
{
    FlShowDef usual = fl_show_def_default();
    return def->hold == usual.hold && def->placement == usual.placement &&
           def->convergence == usual.convergence && def->smooth_ns == usual.smooth_ns &&
           def->speed_limit == usual.speed_limit && def->catch_up == usual.catch_up &&
           def->snap_distance == usual.snap_distance;
}

static ShowSettings settings_of(const FlShow *show, FlTime from)
{
    ShowSettings settings = {.known = true, .from = from, .def = show->def};
    settings.change_count = show->change_count;
    for (int32_t i = 0; i < show->change_count; i++) {
        settings.changes[i].from = show->changes[i].from;
        settings.changes[i].delta_ns = show->changes[i].after_ns;
    }
    settings.def.delta_ns =
        show->change_count > 0 ? show->changes[0].before_ns : show->def.delta_ns;
    return settings;
}

static bool goes(const FlSession *session, int32_t slot, int32_t connection)
{
    return fl__entity_there(session, slot) && fl__entity_screen(session, slot) != NULL &&
           fl__route(session, fl__entity_owner(session, slot)) == connection;
}

// What is to be said next over a connection. False: nothing.
static bool next_due(const FlSession *session, int32_t connection, ShownMessage *m, int32_t *item)
{
    const Rewind *rewind = session->rewind;
    if (rewind == NULL || session->self == FL__NONE || !fl__time_known(session)) {
        return false;
    }
    if (fl__bit_get(rewind->all_due, connection)) {
        ShowSettings all = {.known = true, .from = 0, .def = session->def.tuning.show};
        *m = (ShownMessage){.one = false, .settings = all};
        *item = ALL_ENTITIES;
        return true;
    }
    int32_t slot = fl__bit_next(rewind->due, session->entity_words, 0);
    while (slot != FL__NONE && !goes(session, slot, connection)) {
        slot = fl__bit_next(rewind->due, session->entity_words, slot + 1);
    }
    if (slot == FL__NONE) {
        return false;
    }
    *m = (ShownMessage){.one = true,
                        .number = (uint16_t)fl__entity_number(session, slot),
                        .settings =
                            settings_of(fl__entity_screen(session, slot), rewind->since[slot])};
    *item = slot;
    return true;
}

static Want want(const void *self, int32_t connection, FlTime now)
{
    (void)now;
    Want want = fl__want_none();
    ShownMessage m;
    int32_t item;
    if (next_due((const FlSession *)self, connection, &m, &item)) {
        want.rides = SHOWN_BYTES + CHANGE_BYTES * m.settings.change_count;
    }
    return want;
}

// One a packet: it is rare, and long.
static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    ShownMessage m;
    int32_t item;
    if (!next_due(session, out->connection, &m, &item) ||
        SHOWN_BYTES + CHANGE_BYTES * m.settings.change_count > out->left) {
        return;
    }
    fl__shown_write(out->w, &m);
    fl__bit_clear(m.one ? session->rewind->due : session->rewind->all_due,
                  m.one ? item : out->connection);
    fl__packet_note(out, item, 0);
}

static void outcome(void *self, int32_t connection, const Item *items, int32_t count,
                    const Fate *fate)
{
    const FlSession *session = (const FlSession *)self;
    for (int32_t i = 0; i < count && !fate->delivered && session->rewind != NULL; i++) {
        if (items[i].index == ALL_ENTITIES) {
            fl__bit_set(session->rewind->all_due, connection);
        } else {
            fl__bit_set(session->rewind->due, items[i].index);
        }
    }
}

// ---------------------------------------------------------------- theirs

const ShowSettings *fl__show_settings_of(const FlSession *session, int32_t connection, int32_t slot)
{
    const Rewind *rewind = session->rewind;
    size_t entities = (size_t)session->def.entity_capacity;
    const ShowSettings *own = &rewind->views[(size_t)connection * entities + (size_t)slot];
    return own->known ? own : &rewind->all[connection];
}

static bool skip(const void *self, PacketIn *in)
{
    ShownMessage m;
    return fl__shown_read(in->r, &((const FlSession *)self)->world, &m);
}

static FlTime last_change(const ShowSettings *settings)
{
    int32_t count = settings->change_count;
    return count > 0 ? settings->changes[count - 1].from : INT64_MIN;
}

// A newer one may have overtaken it.
static bool is_older(const ShowSettings *a, const ShowSettings *b)
{
    return a->from < b->from || (a->from == b->from && last_change(a) < last_change(b));
}

static void take(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    ShownMessage m;
    bool sound = fl__shown_read(in->r, &session->world, &m);
    int32_t slot = m.one ? fl__entity_slot_of(session, m.number) : FL__NONE;
    if (!sound || session->rewind == NULL || (m.one && slot == FL__NONE)) {
        return; // gone meanwhile, or we judge nothing
    }
    ShowSettings *kept = &session->rewind->all[in->connection];
    if (m.one) {
        size_t entities = (size_t)session->def.entity_capacity;
        kept = &session->rewind->views[(size_t)in->connection * entities + (size_t)slot];
    }
    if (!kept->known || !is_older(&m.settings, kept)) {
        *kept = m.settings;
    }
}

// ---------------------------------------------------------------- what changes

static void opened(FlSession *session, int32_t connection)
{
    Rewind *rewind = session->rewind;
    ShowSettings usual = {.known = false, .from = 0, .def = fl_show_def_default()};
    rewind->all[connection] = usual;
    size_t entities = (size_t)session->def.entity_capacity;
    for (size_t i = 0; i < entities; i++) {
        rewind->views[(size_t)connection * entities + i].known = false;
    }
    if (!is_default(&session->def.tuning.show)) {
        fl__bit_set(rewind->all_due, connection);
    }
}

static void made(FlSession *session, int32_t slot)
{
    size_t entities = (size_t)session->def.entity_capacity;
    for (int32_t i = 0; i < session->connection_count; i++) {
        session->rewind->views[(size_t)i * entities + (size_t)slot].known = false;
    }
    fl__bit_clear(session->rewind->due, slot);
    fl__bit_clear(session->rewind->otherwise, slot);
    session->rewind->since[slot] = 0;
}

// Whoever distributes it now may not know how we show it.
static void say_again(FlSession *session, int32_t slot)
{
    if (fl__bit_get(session->rewind->otherwise, slot)) {
        fl__bit_set(session->rewind->due, slot);
    }
}

// By fl_entity_show it begins anew; a change of Δ goes on.
static void shown(FlSession *session, int32_t slot)
{
    const FlShow *show = fl__entity_screen(session, slot);
    if (show != NULL && show->change_count == 0) {
        session->rewind->since[slot] = fl_session_time(session, session->now);
    }
    fl__bit_set(session->rewind->otherwise, slot);
    say_again(session, slot);
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (session->rewind == NULL) {
        return;
    }
    if (change->kind == CHANGE_CONNECTION_OPENED) {
        opened(session, change->connection);
    } else if (change->kind == CHANGE_ENTITY_MADE) {
        made(session, change->slot);
    } else if (change->kind == CHANGE_ENTITY_SHOWN) {
        shown(session, change->slot);
    } else if (change->kind == CHANGE_ENTITY_MOVED) {
        say_again(session, change->slot);
    } else if (change->kind == CHANGE_ROUTE || change->kind == CHANGE_CONNECTION_READY) {
        int32_t slot = fl__entity_after(session, 0);
        for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
            say_again(session, slot);
        }
    }
}

const Feature fl__feature_rewind = {
    .name = "rewind",
    .sections = {SECTION_SHOWN, 1},
    .rides = true,
    .repeats = true,
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .outcome = outcome,
    .changed = changed,
};
