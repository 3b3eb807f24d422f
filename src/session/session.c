// Making and ending a session, datagrams in and out, counters.
#include "private.h"

#include <string.h>

#define SESSION_COOKIE 0x53455332u
#define EVENT_RING_BYTES (32 * 1024)
#define UPLOAD_AT_LEAST 1000.0
#define UPLOAD_AT_MOST 1e9    // what a second's bytes are counted in

// ---------------------------------------------------------------- definition

FlSessionDef fl_session_def_default(void)
{
    FlSessionDef def = {
        .role = FL_ROLE_CLIENT,
        .topology = FL_TOPOLOGY_STAR,
        .world = fl_world_def_default(),
        .link = fl_link_def_default(),
        .peer_capacity = 16,
        .line_capacity = 1,
        .entity_capacity = 64,
        .item_capacity = 2048,
        .path_capacity = 64,
        .input_ticks = 1024,
        .calls = fl_calls_def_default(),
        .focus = fl_focus_def_default(),
        .crowd = fl_crowd_def_default(),
        .guide_from_ns = FL_MS(600),
        .lags = fl_lags_def_default(),
        .time_mode = FL_TIME_GLOBAL,
        .show = fl_show_def_default(),
        .join_every_ns = FL_MS(250),
        .join_timeout_ns = FL_SEC(5),
        .cookie = SESSION_COOKIE,
    };
    def.link.eager_count = 16; // playing starts when the time is known
    def.link.keep_alive_ns = FL_MS(2500);
    return def;
}

static bool is_power_of_two(int32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static bool def_is_good(const FlSessionDef *def)
{
    bool role = def->role == FL_ROLE_HOST || def->role == FL_ROLE_CLIENT;
    bool topology = def->topology >= FL_TOPOLOGY_STAR && def->topology <= FL_TOPOLOGY_CROWD;
    // Every member gets the same share of the entity numbers: at least one.
    bool counts = def->peer_capacity >= 1 && def->peer_capacity <= 4096 &&
                  def->peer_capacity < def->world.entity_capacity && def->line_capacity >= 1 &&
                  def->line_capacity <= def->peer_capacity && def->entity_capacity >= 1 &&
                  def->entity_capacity <= def->world.entity_capacity &&
                  is_power_of_two(def->item_capacity) && is_power_of_two(def->path_capacity);
    bool inputs = def->input_bytes >= 0 && def->input_bytes <= 64 &&
                  is_power_of_two(def->input_ticks) && def->input_ticks <= 4096;
    bool times = def->join_every_ns > 0 && def->join_timeout_ns > 0 && def->gather_ns >= 0 &&
                 def->time_mode >= FL_TIME_GLOBAL && def->time_mode <= FL_TIME_ONE_WAY;
    bool guides = def->guide_from_ns >= 0;
    bool upload = def->upload_bytes_s == 0.0 ||
                  (def->upload_bytes_s >= UPLOAD_AT_LEAST && def->upload_bytes_s < UPLOAD_AT_MOST &&
                   def->link.common == NULL);
    upload = upload && def->update_least_bytes >= 0 && def->update_least_bytes <= 256;
    bool actions =
        def->action_capacity == 0 || (def->action_capacity > 0 && def->action_capacity <= 65536 &&
                                      def->peer_capacity < FL_LAGS_PEERS);
    return role && topology && counts && inputs && times && upload && guides && actions &&
           !def->link.numbered_below;
}

// A definition from which no link can be made would show only when somebody joins: make one now.
static FlResult try_link(const FlSessionDef *def, FlTime now)
{
    FlLinkDef link_def = def->link;
    link_def.alloc = def->alloc;
    FlLink *link;
    FlResult result = fl_link_create(&link_def, now, &link);
    fl_link_destroy(link);
    return result;
}

// ---------------------------------------------------------------- memory

/// One table of a session: where its pointer is, and how long it is.
typedef struct Table {
    void **pointer;
    size_t bytes;
} Table;

#define TABLES 25

static int32_t words_for(int32_t bits)
{
    return (bits + 63) / 64;
}

static int32_t lines_of(const FlSessionDef *def)
{
    return def->role == FL_ROLE_HOST || def->line_capacity > def->peer_capacity
               ? def->peer_capacity
               : def->line_capacity;
}

static int32_t address_size(int32_t lines)
{
    int32_t size = 8;
    while (size < 2 * lines) {
        size *= 2;
    }
    return size;
}

static int32_t list_tables(FlSession *s, Table tables[TABLES])
{
    const FlSessionDef *def = &s->def;
    size_t lines = (size_t)s->line_count;
    size_t members = (size_t)s->member_count;
    size_t entities = (size_t)def->entity_capacity;
    size_t numbers = (size_t)s->world.def.entity_capacity;
    size_t word = sizeof(uint64_t);
    size_t member_words = (size_t)s->member_words * word;
    size_t inputs = def->input_bytes > 0 ? members * (size_t)def->input_ticks : 1;
    size_t input_bytes = def->input_bytes > 0 ? (size_t)def->input_bytes : 1;
    Table all[TABLES] = {
        {(void **)&s->members, members * sizeof(Member)},
        {(void **)&s->lines, lines * sizeof(Line)},
        {(void **)&s->wake, lines * sizeof(FlTime)},
        {(void **)&s->by_address, (size_t)s->by_address_size * sizeof(int32_t)},
        {(void **)&s->entities, entities * sizeof(Entity)},
        {(void **)&s->by_number, numbers * sizeof(int32_t)},
        {(void **)&s->number_epoch, numbers * sizeof(uint16_t)},
        {(void **)&s->number_known, numbers * sizeof(bool)},
        {(void **)&s->state_due, lines * (size_t)s->entity_words * word},
        {(void **)&s->attention_due.words, (size_t)s->entity_words * word},
        {(void **)&s->near_due.words, (size_t)s->entity_words * word},
        {(void **)&s->near, lines * (size_t)s->entity_words * word},
        {(void **)&s->entity_news, lines * (size_t)s->number_words * word},
        {(void **)&s->member_news, lines * member_words},
        {(void **)&s->scope, entities * member_words},
        {(void **)&s->direct, members * member_words},
        {(void **)&s->reach_due, members * member_words},
        {(void **)&s->unmet, members * member_words},
        {(void **)&s->inputs, members * sizeof(Inputs)},
        {(void **)&s->input_bytes, inputs * input_bytes},
        {(void **)&s->input_way, lines * members * sizeof(InputWay)},
        {(void **)&s->events.bytes, EVENT_RING_BYTES},
        {(void **)&s->held.bytes, MESSAGE_ROOM},
        {(void **)&s->notices.nodes, fl__notice_bytes(s)},
        {(void **)&s->goodbyes, lines * sizeof(Goodbye)},
    };
    memcpy(tables, all, sizeof all);
    return TABLES;
}

static size_t reported_bytes(const FlSession *s)
{
    return (size_t)s->def.entity_capacity * (size_t)s->member_count * sizeof(float);
}

static void set_sizes(FlSession *s)
{
    s->line_count = lines_of(&s->def);
    s->member_count = s->def.peer_capacity + 1;
    s->seat_count = s->member_count;
    s->by_address_size = address_size(s->line_count);
    s->entity_words = words_for(s->def.entity_capacity);
    s->number_words = words_for(s->world.def.entity_capacity);
    s->member_words = words_for(s->member_count);
}

static FlLedgerDef ledger_def(const FlSession *s)
{
    FlLedgerDef def = fl_ledger_def_default();
    def.entity_capacity = s->def.entity_capacity;
    def.receiver_capacity = s->line_count;
    def.path_capacity = s->def.path_capacity;
    def.seed = s->def.seed;
    def.alloc = s->def.alloc;
    return def;
}

static FlResult reserve(FlSession *s)
{
    Table tables[TABLES];
    int32_t count = list_tables(s, tables);
    for (int32_t i = 0; i < count; i++) {
        *tables[i].pointer = fl_alloc(&s->def.alloc, tables[i].bytes, _Alignof(max_align_t));
        if (*tables[i].pointer == NULL) {
            return FL_NO_MEMORY;
        }
    }
    s->reported = (float *)fl_alloc(&s->def.alloc, reported_bytes(s), _Alignof(float));
    if (s->reported == NULL) {
        return FL_NO_MEMORY;
    }
    FlLedgerDef ledger = ledger_def(s);
    FlCallsDef calls = s->def.calls;
    calls.alloc = s->def.alloc;
    calls.serial = (uint32_t)fl_random_at(s->def.seed, 1, 0);
    FlResult result = fl_calls_create(&calls, &s->calls);
    result = result == FL_OK ? fl_ledger_create(&ledger, &s->ledger) : result;
    return result == FL_OK ? fl_ledger_focus(s->ledger, &s->def.focus) : result;
}

static void release(FlSession *s)
{
    Table tables[TABLES];
    int32_t count = list_tables(s, tables);
    fl_calls_destroy(s->calls);
    fl_ledger_destroy(s->ledger);
    fl_free(&s->def.alloc, s->reported, reported_bytes(s));
    for (int32_t i = 0; i < count; i++) {
        fl_free(&s->def.alloc, *tables[i].pointer, tables[i].bytes);
    }
}

FlSessionMemory fl_session_memory(const FlSessionDef *def)
{
    FlSession like = {.def = *def};
    like.world.def.entity_capacity = def->world.entity_capacity;
    set_sizes(&like);
    FlLedgerDef ledger = ledger_def(&like);
    FlLedgerMemory each = fl_ledger_memory(&ledger);
    size_t members = (size_t)like.member_count;
    FlSessionMemory memory = {
        .line = fl__line_bytes(def) + each.receiver + members * sizeof(InputWay) +
                (size_t)(like.entity_words + like.number_words + like.member_words) * 8,
        .entity =
            sizeof(Entity) + each.entity + members * sizeof(float) + (size_t)like.member_words * 8,
        .pair = each.pair,
    };
    size_t meetings = 3 * members * (size_t)like.member_words * sizeof(uint64_t);
    memory.all =
        sizeof(FlSession) + fl_calls_memory(&def->calls) + fl__actions_bytes(def) + meetings +
        members * (sizeof(Member) + sizeof(Inputs)) + fl__lanes_bytes(def) +
        memory.line * (size_t)like.line_count +
        (memory.entity + memory.pair * (size_t)like.line_count) * (size_t)def->entity_capacity;
    return memory;
}

// ---------------------------------------------------------------- making and ending

static void start(FlSession *s, FlTime now)
{
    for (int32_t i = 0; i < s->world.def.entity_capacity; i++) {
        s->by_number[i] = FL__NONE;
    }
    for (int32_t i = 0; i < s->member_count; i++) {
        s->members[i].line = FL__NONE;
        s->inputs[i].newest = -1;
    }
    for (int32_t i = 0; i < s->line_count; i++) {
        s->wake[i] = FL_FOREVER;
    }
    for (int32_t i = 0; i < s->by_address_size; i++) {
        s->by_address[i] = FL__NONE;
    }
    s->time_told = INT64_MIN;
    s->reach_next = INT64_MIN;
    s->events.capacity = EVENT_RING_BYTES;
    fl__notice_start(s);
    s->random.seed = s->def.seed;
    s->nonce = fl_random_next(&s->random);
    fl_session_clock_init(&s->clock);
    s->state = FL_SESSION_JOINING;
    s->join_next = now;
    s->join_until = fl_time_add(now, s->def.join_timeout_ns);
    s->refusals.left = FL__REFUSALS;
    s->refusals.filled_at = now;
    s->self = FL__NONE;
    s->agreed.joiner.member = FL__NONE;
    s->claim_turn = FL__NONE;
    s->lead_at = FL_FOREVER;
    if (s->def.role == FL_ROLE_HOST) {
        s->topology = s->def.topology;
        s->share = (uint32_t)(s->world.def.entity_capacity / s->member_count);
        s->state = FL_SESSION_RUNNING;
        s->self = 0;
        s->host = 0;
        s->complete = true;
        s->in = true;
        s->members[0].present = true;
        s->members[0].incarnation = 1;
        fl_session_clock_lead(&s->clock, now, 0);
        s->told_at = now;
    }
}

FlResult fl_session_create(const FlSessionDef *def, FlTime now, FlSession **out)
{
    *out = NULL;
    FL_ASSERT(def->cookie == SESSION_COOKIE);
    FlWorld world;
    if (fl_world_init(&def->world, &world) != FL_OK || !def_is_good(def)) {
        return FL_BAD_VALUE;
    }
    FlResult result = try_link(def, now);
    if (result != FL_OK) {
        return result;
    }
    FlSession *session = (FlSession *)fl_alloc(&def->alloc, sizeof *session, _Alignof(FlSession));
    if (session == NULL) {
        return FL_NO_MEMORY;
    }
    session->def = *def;
    session->world = world;
    set_sizes(session);
    fl__features_start(session);
    result = reserve(session);
    if (result == FL_OK) {
        start(session, now);
        result = fl__sealed_create(session, def, now);
        fl__upload_start(session, now);
        result = result == FL_OK ? fl__actions_create(session, now) : result;
    }
    session->def.seal_server = NULL; // read, and not ours to keep
    session->def.token = NULL;
    if (result != FL_OK) {
        fl_session_destroy(session);
        return result;
    }
    *out = session;
    return FL_OK;
}

void fl_session_destroy(FlSession *session)
{
    if (session == NULL) {
        return;
    }
    for (int32_t i = 0;
         session->lines != NULL && session->ledger != NULL && i < session->line_count; i++) {
        fl__line_close(session, i);
    }
    fl__lanes_destroy(session);
    fl__sealed_destroy(session);
    fl__actions_destroy(session);
    fl__agreed_destroy(session);
    release(session);
    FlAlloc alloc = session->def.alloc;
    fl_free(&alloc, session, sizeof *session);
}

bool fl__is_host(const FlSession *session)
{
    return session->self != FL__NONE && session->self == session->host;
}

void fl__session_end(FlSession *session, const char *why)
{
    session->state = FL_SESSION_ENDED;
    session->trouble = why;
}

void fl_session_leave(FlSession *session, FlTime now)
{
    if (session->state == FL_SESSION_ENDED || fl__replaying(session)) {
        return;
    }
    for (int32_t i = 0; i < session->line_count; i++) {
        Line *line = &session->lines[i];
        if (line->used) {
            fl__sealed_leave(session, line, now);
            fl__join_goodbye(session, line);
            fl__line_close(session, i);
        }
    }
    fl__session_end(session, "We have left.");
}

FlSessionState fl_session_state(const FlSession *session)
{
    bool joining = session->state == FL_SESSION_RUNNING && !session->in;
    return joining ? FL_SESSION_JOINING : session->state;
}

// Welcomed, with our number and the time: only then can a game do everything.
static void look_whether_in(FlSession *session)
{
    session->in = session->in || (session->complete && fl__time_known(session));
}

FlTopology fl_session_topology(const FlSession *session)
{
    return session->topology;
}

const char *fl_session_trouble(const FlSession *session)
{
    return session->trouble != NULL ? session->trouble : "";
}

// ---------------------------------------------------------------- datagrams in

static void take_packet(FlSession *session, int32_t index, const Opened *in, FlAddress from,
                        FlTime arrival)
{
    Line *line = &session->lines[index];
    FlLinkPacket packet;
    if (fl__join_away_heard(session, index, in->bytes, in->count, arrival)) {
        return;
    }
    FlLinkDrop drop =
        fl_link_receive(line->link, arrival, in->sequence, in->bytes, in->count, &packet);
    if (drop != FL_LINK_DROP_NONE) {
        return; // counted there
    }
    if (session->sealed == NULL && !fl_address_equal(line->address, from)) {
        fl__line_moved(session, index, from);
    }
    fl__line_wake(session, index);
    line->unproven = false;
    fl__join_heard(session, arrival);
    if (!line->heard) {
        fl__mesh_reached(session, index, arrival);
    }
    fl__packet_read(session, index, &packet, arrival);
    if (line->used) {
        fl__mapping_keep(session, line, &packet, arrival);
        fl__messages_take(session, index, arrival);
    }
}

static Opened take_plain(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                         FlTime arrival)
{
    Opened opened = {FL__NONE, bytes, count, 0};
    if (fl__lanes_receive(session, from, bytes, count, arrival) ||
        fl__join_receive(session, from, bytes, count, arrival) ||
        fl__refuse_sealed(session, from, bytes, count, arrival)) {
        return opened;
    }
    opened.line = fl__line_at(session, from);
    if (opened.line == FL__NONE) {
        opened.line = fl__line_moving(session, from, bytes, count, arrival);
    }
    session->count[FL_SESSION_STRANGER] += opened.line == FL__NONE ? 1 : 0;
    return opened;
}

static Opened take_sealed(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                          FlTime arrival)
{
    Opened none = {.line = FL__NONE};
    if (fl__lanes_receive(session, from, bytes, count, arrival) ||
        fl__join_receive(session, from, bytes, count, arrival)) {
        return none;
    }
    memcpy(session->opening, bytes, (size_t)count); // it is opened in place
    return fl__sealed_receive(session, from, session->opening, count, arrival);
}

void fl_session_receive(FlSession *session, FlAddress from, const void *bytes, int32_t count,
                        FlTime arrival)
{
    session->heard_count++;
    session->heard_at = arrival;
    if (count <= 0 || count > FL_SESSION_DATAGRAM_BYTES) {
        session->count[FL_SESSION_MALFORMED]++;
        return;
    }
    Opened in = session->sealed != NULL
                    ? take_sealed(session, from, (const uint8_t *)bytes, count, arrival)
                    : take_plain(session, from, (const uint8_t *)bytes, count, arrival);
    if (in.line != FL__NONE) {
        take_packet(session, in.line, &in, from, arrival);
    }
    look_whether_in(session);
}

// ---------------------------------------------------------------- datagrams out

static bool line_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    bool limited = session->def.upload_bytes_s > 0.0;
    for (; session->line_next < session->line_count; session->line_next++) {
        int32_t i = (session->line_turn + session->line_next) % session->line_count;
        bool waits = limited && session->lines[i].short_of_bytes; // whoever wakes, it comes before
        if ((session->wake[i] > now && !waits) || !session->lines[i].used) {
            continue;
        }
        // A line may have more to say: stay with it until it has not; or for a packet, if others
        // wait for the same bytes.
        if (fl__line_next(session, i, now, out)) {
            session->line_next += limited ? 1 : 0;
            return true;
        }
    }
    session->line_next = 0;
    session->line_turn = fl__upload_turn(session);
    return false;
}

static bool next_of_all(FlSession *session, FlTime now, FlOutgoing *out)
{
    bool other = fl__goodbye_next(session, out) ||
                 (session->sealed != NULL && fl__sealed_next(session, now, out)) ||
                 fl__join_next(session, now, out);
    if (other) {
        fl__upload_sent(session, now, out->count, 0);
        return true;
    }
    if (session->line_next == 0) {
        fl__features_advance(session, now);
    }
    return line_next(session, now, out) || fl__lanes_next(session, now, out);
}

// Whether a line that timed out left something to say to those that were looked at before it.
static bool is_awake(const FlSession *session, FlTime now)
{
    bool awake = session->goodbye_count > 0;
    for (int32_t i = 0; i < session->line_count && !awake; i++) {
        awake = session->lines[i].used && session->wake[i] <= now;
    }
    return awake;
}

#define ROUNDS_AT_MOST 3 // what is left then waits for the next call

FlResult fl_session_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    FlOutgoing none = {0};
    *out = none;
    fl__time_update(session, now);
    look_whether_in(session);
    for (int32_t round = 0; round < ROUNDS_AT_MOST; round++) {
        if (next_of_all(session, now, out)) {
            return FL_OK;
        }
        if (!is_awake(session, now)) {
            break;
        }
    }
    return FL_NOT_FOUND;
}

#define ENDED_EVERY FL_MS(100)
#define CLOCK_EVERY FL_SEC(1) // session time is bent, and believed no longer than two

static FlTime earliest_wake(const FlSession *session, FlTime deadline)
{
    for (int32_t i = 0; i < session->line_count; i++) {
        deadline = session->wake[i] < deadline ? session->wake[i] : deadline;
    }
    return deadline;
}

FlTime fl_session_deadline(FlSession *session, FlTime now)
{
    FlTime deadline = fl__join_deadline(session, now);
    FlTime sealed = session->sealed != NULL ? fl__sealed_deadline(session) : FL_FOREVER;
    deadline = sealed < deadline ? sealed : deadline;
    if (session->state == FL_SESSION_ENDED) {
        // Nothing will happen any more, and whoever waits for something has to see that.
        FlTime look = session->end_told ? fl_time_add(now, ENDED_EVERY) : now;
        session->end_told = true;
        deadline = look < deadline ? look : deadline;
        return deadline > now ? deadline : now;
    }
    if (session->state == FL_SESSION_JOINING) { // a client speaks first over its new line
        deadline = earliest_wake(session, deadline);
        return deadline > now ? deadline : now;
    }
    FlTime told = fl_time_add(session->told_at, session->epoch);
    FlTime clock = fl_time_add(told, CLOCK_EVERY);
    deadline = clock < deadline ? clock : deadline;
    FlTime features = fl__features_deadline(session, now);
    deadline = features < deadline ? features : deadline;
    fl__motion_wake(session);
    deadline = earliest_wake(session, deadline);
    return deadline > now ? deadline : now;
}

// ---------------------------------------------------------------- counters

uint64_t fl_session_count(const FlSession *session, FlSessionCount which)
{
    FL_ASSERT(which < FL_SESSION_COUNTS);
    return session->count[which];
}

const char *fl_session_count_name(FlSessionCount which)
{
    switch (which) {
#define ROW(name, word, meaning)                                                                   \
    case FL_SESSION_##name:                                                                        \
        return word;
        FL_SESSION_COUNT_TABLE(ROW)
#undef ROW
    case FL_SESSION_COUNTS:
        break;
    }
    return "unknown";
}
