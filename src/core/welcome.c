// The host's first words, and by what clock to read arrivals. Both are said often until they have
// arrived; without them neither end tells the other anything.

// WELCOME: you are in.                                           spec/WIRE.md section 7.4
//
//   bits  field      unit   valid
//   8     kind       -      5
//   64    offset     ns     session time minus the host's link clock, two's complement
//   16    self       -      your number
//   16    members    -      how many numbers there are, at least 2
//   16    host       -      the host's number
//   8     topology   -      0 star, 1 mesh, 2 hybrid, 3 crowd
//   32    share      -      entity numbers per member: member m gives m * share and on

// MAPPING: how I place what arrives here.                        spec/WIRE.md section 7.7
//
//   bits  field    unit   valid
//   8     kind     -      6
//   8     count    -      1..4 follow
//   per mapping:
//   32    serial   -      rising by one
//   40    from     0.25 ms   my link clock: from here on
//   64    offset   ns     session time is the link clock plus this, two's complement

#include "private.h"

#define WELCOME_EVERY FL_MS(100)
#define MAPPING_BYTES 17
#define OFFSET_END (INT64_C(1) << 62) // 146 years, and as many to go

static bool offset_is_sound(FlTime offset)
{
    return offset < OFFSET_END && offset > -OFFSET_END;
}

// ---------------------------------------------------------------- WELCOME

static Want want_welcome(const void *self, int32_t index, FlTime now)
{
    (void)now;
    const Line *line = &((const FlSession *)self)->lines[index];
    // Who does not know yet that we host does not understand the rest.
    Want want = {line->welcome_next, 0, FL__WELCOME_BYTES, line->promoted ? FL__WELCOME_BYTES : 0};
    return line->welcome_owed ? want : fl__want_none();
}

static void write_welcome(void *self, PacketOut *out)
{
    const FlSession *session = (const FlSession *)self;
    bool goes = out->line->welcome_owed && (!out->only_rides || out->line->promoted);
    if (!goes || out->left < FL__WELCOME_BYTES) {
        return;
    }
    FlWriter *w = out->w;
    fl_writer_put(w, SECTION_WELCOME, 8);
    fl_writer_put(w, (uint64_t)out->line->offset, 64);
    fl_writer_put(w, (uint64_t)out->line->member, 16);
    fl_writer_put(w, (uint64_t)session->seat_count, 16);
    fl_writer_put(w, (uint64_t)session->host, 16);
    fl_writer_put(w, (uint64_t)session->topology, 8);
    fl_writer_put(w, session->share, 32);
    out->line->welcome_next = fl_time_add(out->now, WELCOME_EVERY);
    fl__packet_note(out, 0, (uint32_t)session->host);
}

static void welcome_outcome(void *self, int32_t index, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    if (fate->delivered && item->value == (uint32_t)session->host) {
        session->lines[index].welcome_owed = false;
    }
}

static bool read_welcome(const FlSession *session, FlReader *r, Welcome *w)
{
    w->offset = (FlTime)fl_reader_take(r, 64);
    w->self = (int32_t)fl_reader_take(r, 16);
    w->members = (int32_t)fl_reader_take(r, 16);
    w->host = (int32_t)fl_reader_take(r, 16);
    uint64_t topology = fl_reader_take(r, 8);
    w->share = (uint32_t)fl_reader_take(r, 32);
    w->topology = topology <= FL_TOPOLOGY_CROWD ? (FlTopology)topology : FL_TOPOLOGY_STAR;
    uint64_t numbers = (uint64_t)session->world.def.entity_capacity;
    bool good = w->members >= 2 && w->self < w->members && w->host < w->members &&
                w->self != w->host && topology <= FL_TOPOLOGY_CROWD && w->share >= 1 &&
                (uint64_t)w->share * (uint64_t)w->members <= numbers && offset_is_sound(w->offset);
    return good && !r->failed && (!fl__is_host(session) || session->took_over);
}

static bool skip_welcome(const void *self, PacketIn *in)
{
    Welcome w;
    return read_welcome((const FlSession *)self, in->r, &w);
}

static void take_welcome(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    Line *line = &session->lines[in->line];
    Welcome w;
    if (!read_welcome(session, in->r, &w)) {
        return;
    }
    if (session->state != FL_SESSION_JOINING) {
        fl__succession_heard(session, in->line, &w, in->packet->stamp);
        return;
    }
    line->offset = w.offset;
    Mapping host = {INT64_MIN, w.offset, 0};
    fl__mapping_heard(&line->heard_map, &host);
    fl__welcome_take(session, in->line, &w);
}

const Feature fl__feature_member = {
    .name = "member",
    .sections = {SECTION_WELCOME, 1},
    .messages = {FL_GROUP_MEMBER, 1},
    .hosts = true,
    .first = true,
    .rides = true,
    .repeats = true,
    .want = want_welcome,
    .write = write_welcome,
    .skip = skip_welcome,
    .take = take_welcome,
    .message = fl__member_message,
    .outcome = welcome_outcome,
    .changed = fl__member_changed,
};

// ---------------------------------------------------------------- MAPPING

static uint32_t untold(const Mappings *m)
{
    return m->count - m->told;
}

static Want want_mapping(const void *self, int32_t index, FlTime now)
{
    (void)now;
    const Line *line = &((const FlSession *)self)->lines[index];
    int32_t count = (int32_t)untold(&line->own_map);
    Want want = fl__want_none();
    want.rides = count > 0 ? 2 + MAPPING_BYTES * count : 0;
    if (line->direct && line->own_map.count > 0 && line->own_map.told == 0) { // the first words
        want.at = line->welcome_next;
        want.bytes = want.rides;
    }
    return want;
}

static void write_mapping(void *self, PacketOut *out)
{
    (void)self;
    Mappings *m = &out->line->own_map;
    int32_t bytes = 2 + MAPPING_BYTES * (int32_t)untold(m);
    if (untold(m) == 0 || out->left < bytes) {
        return;
    }
    fl_writer_put(out->w, SECTION_MAPPING, 8);
    fl_writer_put(out->w, untold(m), 8);
    for (uint32_t serial = m->told; serial < m->count; serial++) {
        const Mapping *mapping = &m->entry[serial % MAPPINGS];
        fl_writer_put(out->w, serial, 32);
        fl_writer_put(out->w, (uint64_t)(mapping->from / FL_LINK_STEP_NS), 40);
        fl_writer_put(out->w, (uint64_t)mapping->offset, 64);
    }
    out->line->welcome_next = fl_time_add(out->now, WELCOME_EVERY);
    fl__packet_note(out, 0, m->count - 1);
}

static void mapping_outcome(void *self, int32_t index, const Item *item, const Fate *fate)
{
    FlSession *session = (FlSession *)self;
    Line *line = &session->lines[index];
    if (fate->delivered && item->value + 1 > line->own_map.told) {
        bool first = line->own_map.told == 0;
        line->own_map.told = item->value + 1;
        if (first && line->direct) {
            fl__mesh_understood(session, index);
        }
    }
}

static bool read_mapping(FlReader *r, Mapping *mapping)
{
    mapping->serial = (uint32_t)fl_reader_take(r, 32);
    mapping->from = (FlTime)fl_reader_take(r, 40) * FL_LINK_STEP_NS;
    mapping->offset = (FlTime)fl_reader_take(r, 64);
    return !r->failed && offset_is_sound(mapping->offset) && mapping->serial != UINT32_MAX;
}

static bool skip_mapping(const void *self, PacketIn *in)
{
    (void)self;
    uint64_t count = fl_reader_take(in->r, 8);
    bool good = count > 0 && count <= MAPPINGS;
    for (uint64_t i = 0; i < count && good; i++) {
        Mapping mapping;
        good = read_mapping(in->r, &mapping);
    }
    return good;
}

// With its first mapping an introduced peer says that it can place what we tell.
static void take_mapping(void *self, PacketIn *in)
{
    FlSession *session = (FlSession *)self;
    Line *line = &session->lines[in->line];
    bool first = line->heard_map.count == 0;
    uint64_t count = fl_reader_take(in->r, 8);
    Mapping mapping;
    for (uint64_t i = 0; i < count && read_mapping(in->r, &mapping); i++) {
        fl__mapping_heard(&line->heard_map, &mapping);
    }
    if (first && line->direct) {
        fl__line_watch(session, in->line, fl_session_time(session, in->arrival));
    }
}

const Feature fl__feature_clock = {
    .name = "clock",
    .sections = {SECTION_MAPPING, 1},
    .rides = true,
    .repeats = true,
    .want = want_mapping,
    .write = write_mapping,
    .skip = skip_mapping,
    .take = take_mapping,
    .outcome = mapping_outcome,
};
