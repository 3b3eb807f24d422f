// Light connections of a crowd: introduced by the host, sealed where the session is, carried as
// datagrams. FlCrowd decides what goes over them, and to whom there are any.
//
// They have no link, no clock of its own, nothing repeated. What it brings is placed by
// session time, which the connection to the host gives.

// LIGHT: a crowd's packet, where sessions are not sealed.         spec/WIRE.md section 11.1
//
//   bits  field         unit      valid
//   16    zero          -         no conversation of a link
//   8     kind          -         5
//   16    conversation  -         1..65535, the light connection's
//   rest  packet        -         as in section 11.2
#include "crowd/light.h"

#include "connection/sealed.h"
#include "crowd/engine.h"
#include "wire/wire.h"

#include <string.h>

#define KIND_LIGHT 5
#define LIGHT_HEAD 5
#define RESERVE 320           // as upload.c: always there when a packet is begun
#define SEAL_BYTES 18         // of a sealed packet
#define PLAN_EVERY FL_MS(500) // while many come at once
#define PLAN_SHRINKS_BELOW 80 // percent of the seats taken
#define BUDGET_LOOK_EVERY FL_MS(1)
#define FIRST_PLAYER 1 // number 0 is the first host's, who does not play

typedef struct LightConnection {
    bool used;
    int32_t member;
    FlAddress address;
    uint16_t conversation; // not sealed
    FlSealPair *pair;      // sealed
} LightConnection;

struct LightConnections {
    FlCrowd *crowd; // NULL: there is none, or we are not in yet
    LightConnection *lights;
    Fl__Addresses at;   // by address
    int16_t *by_member; // light connection or FL__NONE
    int32_t members;
    int32_t capacity;
    int32_t plan_order;     // of the crowd's plane,
    FlTime plan_next;       // host: thought of again then,
    int32_t *plan_sent;     // and announced: [connection] the order plus one; 0: none yet
    int32_t overhead_bytes; // of a datagram, besides its packet
    FlTime seal_due;        // no seal has anything to say before
    bool seals_turn;        // to speak first
    bool some_early;        // light connections that the crowd has to be given
    uint8_t packet[FL_SEAL_HEAD_BYTES + FL_CROWD_PACKET_BYTES + FL_SEAL_PACKET_BYTES];
};

FlCrowd *fl__light_crowd(const FlSession *session)
{
    return session->lights->crowd;
}

FlResult fl_session_crowd_stats(const FlSession *session, FlCrowdStats *stats)
{
    FlCrowdStats none = {0};
    const FlCrowd *crowd = session->lights->crowd;
    *stats = crowd != NULL ? fl__crowd_stats(crowd) : none;
    return crowd != NULL ? FL_OK : FL_NOT_FOUND;
}

// ---------------------------------------------------------------- by address

// Light connections come and go rarely: making the table anew is simpler than mending it.
static void rebuild(LightConnections *lights)
{
    fl__addresses_clear(&lights->at);
    for (int32_t i = 0; i < lights->members; i++) {
        lights->by_member[i] = FL__NONE;
    }
    for (int32_t i = 0; i < lights->capacity; i++) {
        if (lights->lights[i].used) {
            *fl__addresses_place(&lights->at, lights->lights[i].address) = i;
            lights->by_member[lights->lights[i].member] = (int16_t)i;
        }
    }
}

static LightConnection *light_of(const LightConnections *lights, int32_t member)
{
    int32_t light = lights->by_member[member];
    return light != FL__NONE ? &lights->lights[light] : NULL;
}

// Seals put off what they have to say with every packet, so the time that is kept is a bound, made
// anew when it has come.
static void seal_changed(LightConnections *lights, const LightConnection *light)
{
    FlTime due = light->pair != NULL ? fl__sealed_pair_deadline(light->pair) : FL_FOREVER;
    lights->seal_due = fl_time_min(due, lights->seal_due);
}

static void release(LightConnections *lights, LightConnection *light, FlTime now)
{
    fl__sealed_pair_leave(light->pair, now);
    LightConnection none = {0};
    *light = none;
    rebuild(lights);
}

// ---------------------------------------------------------------- beginning and ending

static FlCrowdDef crowd_def(const FlSession *session)
{
    FlCrowdDef def = session->def.tuning.crowd;
    def.self = session->self;
    def.first = FIRST_PLAYER;
    def.member_capacity = session->seat_count;
    def.upload_bytes_s = session->def.upload_bytes_s;
    def.overhead_bytes = session->def.tuning.link.overhead_bytes +
                         (fl__is_sealed(session) ? SEAL_BYTES : LIGHT_HEAD);
    def.alloc = session->def.alloc;
    def.entity_capacity = session->world.def.entity_capacity;
    def.detail_capacity = fl__int_min(def.detail_capacity, def.entity_capacity);
    int32_t others = def.member_capacity - 1;
    def.focus_count = def.focus_count < others ? def.focus_count : others;
    return def;
}

enum { TABLES = 3 };

// What is there only while there is a crowd.
static void list_tables(LightConnections *lights, Fl__Table tables[TABLES])
{
    Fl__Table all[TABLES] = {
        {(void **)&lights->lights, (size_t)lights->capacity * sizeof(LightConnection)},
        {(void **)&lights->at.places, (size_t)lights->at.size * sizeof(int32_t)},
        {(void **)&lights->by_member, (size_t)lights->members * sizeof(int16_t)},
    };
    memcpy(tables, all, sizeof all);
}

static bool reserve(FlSession *session, LightConnections *lights)
{
    lights->capacity = session->def.tuning.crowd.light_capacity;
    lights->members = session->seat_count;
    lights->at.size = fl__addresses_size(lights->capacity);
    lights->at.stride = sizeof(LightConnection);
    Fl__Table tables[TABLES];
    list_tables(lights, tables);
    bool good = fl__tables_reserve(&session->def.alloc, tables, TABLES);
    lights->at.first = good ? &lights->lights[0].address : NULL;
    return good;
}

static void end_crowd(FlSession *session)
{
    LightConnections *lights = session->lights;
    for (int32_t i = 0; lights->lights != NULL && i < lights->capacity; i++) {
        fl__sealed_pair_leave(lights->lights[i].pair, fl__datagram_came_at(session));
    }
    if (session->entities != NULL) {
        fl__entities_set_carrier(session, NULL);
    }
    fl__crowd_destroy(lights->crowd);
    lights->crowd = NULL;
    Fl__Table tables[TABLES];
    list_tables(lights, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
}

FlResult fl__light_create(FlSession *session)
{
    LightConnections *lights = (LightConnections *)fl_alloc(&session->def.alloc, sizeof *lights,
                                                            _Alignof(LightConnections));
    session->lights = lights;
    if (lights == NULL) {
        return FL_NO_MEMORY;
    }
    Fl__Table sent = {(void **)&lights->plan_sent,
                      (size_t)session->connection_count * sizeof(int32_t)};
    return fl__tables_reserve(&session->def.alloc, &sent, 1) ? FL_OK : FL_NO_MEMORY;
}

void fl__light_destroy(FlSession *session)
{
    LightConnections *lights = session->lights;
    if (lights != NULL) {
        end_crowd(session);
        Fl__Table sent = {(void **)&lights->plan_sent,
                          (size_t)session->connection_count * sizeof(int32_t)};
        fl__tables_release(&session->def.alloc, &sent, 1);
        fl_free(&session->def.alloc, lights, sizeof *lights);
        session->lights = NULL;
    }
}

size_t fl__light_bytes(const FlSessionDef *def)
{
    if (def->topology != FL_TOPOLOGY_CROWD || def->role == FL_ROLE_HOST) { // it does not play
        return sizeof(LightConnections);
    }
    FlCrowdDef crowd = def->tuning.crowd;
    crowd.member_capacity = def->peer_capacity + 1;
    crowd.entity_capacity = def->world.entity_capacity;
    crowd.detail_capacity = fl__int_min(crowd.detail_capacity, crowd.entity_capacity);
    return fl__crowd_memory(&crowd) + sizeof(LightConnections) +
           (size_t)crowd.member_capacity * sizeof(int16_t) +
           (size_t)crowd.light_capacity * (sizeof(LightConnection) + 4 * sizeof(int32_t));
}

static void follow_member(FlSession *session, int32_t member)
{
    FlCrowd *crowd = session->lights->crowd;
    if (crowd != NULL && member < session->seat_count) {
        fl__crowd_member(crowd, member, fl__member_present(session, member));
    }
}

// ---------------------------------------------------------------- entities

// The first host plays no part in it: of its own entities there are states only.
static void follow_entity(FlSession *session, int32_t slot, bool there)
{
    FlCrowd *crowd = session->lights->crowd;
    if (crowd == NULL) {
        return;
    }
    EntityInfo entity = fl__entity_info(session, slot);
    bool plays = there && entity.owner >= FIRST_PLAYER && entity.owner < session->seat_count;
    fl__crowd_entity(crowd, entity.number, plays ? entity.owner : FL__NONE, entity.epoch);
}

static void look_at(FlSession *session, int32_t slot)
{
    double attention = fl__attention_of(session, slot);
    if (session->lights->crowd == NULL) {
        return;
    }
    if (fl__entity_owner(session, slot) < FIRST_PLAYER) {
        fl__attention_watch(session, slot, fl__entity_watched(session, slot, attention > 0.0));
    } else {
        fl__crowd_look(session->lights->crowd, fl__entity_number(session, slot), attention);
    }
}

static bool carried_newest(const FlSession *session, uint32_t number, FlMotion *motion,
                           Carried *carried)
{
    FlCrowdView view;
    if (fl__crowd_view(session->lights->crowd, number, motion != NULL, &view) != FL_OK) {
        return false;
    }
    if (motion != NULL) {
        *motion = view.motion;
    }
    carried->stamp = view.stamp;
    carried->life = view.life;
    carried->arrived = view.arrived;
    carried->via = view.via;
    carried->hops = view.hops;
    carried->watched = view.watched;
    return true;
}

static int32_t carried_positions(const FlSession *session, FlTime time, FlVec3 *positions)
{
    return fl__crowd_positions(session->lights->crowd, time, positions);
}

static void carry_own(FlSession *session, int32_t slot, const uint8_t *packed, int32_t bytes,
                      FlTime stamp)
{
    FlResult result = fl__crowd_export(session->lights->crowd, fl__entity_number(session, slot),
                                       packed, bytes, stamp);
    session->count[FL_SESSION_NO_ROOM] += result != FL_OK ? 1 : 0;
}

static uint32_t carried_contradictions(const FlSession *session, int32_t member)
{
    bool plays = member < session->lights->members;
    return plays ? fl__crowd_contradictions(session->lights->crowd, member) : 0;
}

static bool carry_message(FlSession *session, int32_t member, const uint8_t *bytes, int32_t count)
{
    const LightConnections *lights = session->lights;
    return member < lights->members && fl__crowd_message(lights->crowd, member, bytes, count);
}

static FlResult carry_guidance(FlSession *session, const FlGuidance *guidance)
{
    return fl__crowd_guide(session->lights->crowd, guidance);
}

// What is carried has waited for a batch when it comes, and lasts until the next.
static FlTime guide_ahead(const FlSession *session)
{
    return session->def.tuning.crowd.batch_ns * 3 / 2;
}

static const Carrier CARRIER = {
    .newest = carried_newest,
    .positions = carried_positions,
    .exported = carry_own,
    .contradictions = carried_contradictions,
    .guide = carry_guidance,
    .guide_ahead = guide_ahead,
    .message = carry_message,
};

static void on_guided(void *ctx, const FlGuidance *guidance, bool carried, FlTime time)
{
    FlSession *session = (FlSession *)ctx;
    int32_t slot = fl__entity_slot_of(session, guidance->entity);
    if (slot != FL__NONE) {
        fl__entity_guided(session, slot, guidance, carried, time);
    }
}

static void on_message(void *ctx, int32_t from, const uint8_t *bytes, int32_t count, FlTime time)
{
    FlSession *session = (FlSession *)ctx;
    fl__message_direct(session, from, bytes, count, fl_session_local_time(session, time));
}

static void on_watched(void *ctx, uint32_t number, bool watched)
{
    FlSession *session = (FlSession *)ctx;
    int32_t slot = fl__entity_slot_of(session, number);
    if (slot != FL__NONE) {
        bool detail = fl__entity_watched(session, slot, watched);
        fl__attention_watch(session, slot, watched && detail);
    }
}

// The crowd begins with the welcome: others may be introduced to us before we know of everything.
static void begin(FlSession *session, FlTime now)
{
    LightConnections *lights = session->lights;
    if (session->topology != FL_TOPOLOGY_CROWD || lights->crowd != NULL ||
        session->state != FL_SESSION_RUNNING || fl__is_host(session)) {
        return;
    }
    FlCrowdDef def = crowd_def(session);
    FlTime time = fl_session_time(session, now);
    if (!reserve(session, lights) ||
        fl__crowd_create(&def, &session->world, time, &lights->crowd) != FL_OK) {
        end_crowd(session); // all or nothing
        fl__session_end(session, FL_END_NO_MEMORY, "No memory for a crowd of this size.");
        return;
    }
    lights->overhead_bytes = def.overhead_bytes;
    lights->seal_due = FL_FOREVER;
    rebuild(lights);
    fl__crowd_on_watched(lights->crowd, on_watched, session);
    fl__crowd_on_message(lights->crowd, on_message, session);
    fl__crowd_on_guided(lights->crowd, on_guided, session);
    fl__entities_set_carrier(session, &CARRIER);
    for (int32_t i = 0; i < session->seat_count; i++) {
        follow_member(session, i);
    }
    int32_t slot = fl__entity_after(session, 0);
    for (; slot != FL__NONE; slot = fl__entity_after(session, slot + 1)) {
        follow_entity(session, slot, true);
    }
    fl__crowd_plan(lights->crowd, lights->plan_order);
}

// What was reserved for a crowd is too little for anything else: there is no ledger.
static void refuse_other(FlSession *session)
{
    if (session->def.topology == FL_TOPOLOGY_CROWD && session->topology != FL_TOPOLOGY_CROWD) {
        fl__session_end(session, FL_END_OTHER_WORLD,
                        "The host has no crowd, and this client is made for one.\n"
                        "Join with FlSessionDef.topology as the host has it.");
    }
}

// ---------------------------------------------------------------- introduced

static LightConnection *light_free(const LightConnections *lights)
{
    for (int32_t i = 0; i < lights->capacity; i++) {
        if (!lights->lights[i].used) {
            return &lights->lights[i];
        }
    }
    return NULL;
}

static void open_in_crowd(FlSession *session, LightConnection *light, FlTime now)
{
    LightConnections *lights = session->lights;
    FlTime time = fl_session_time(session, now);
    if (fl__crowd_light_open(lights->crowd, light->member, time) != FL_OK) {
        release(lights, light, now);
    }
}

// Who comes is introduced before it knows what time it is, by which light connections grow old.
static void open_early(FlSession *session, FlTime now)
{
    LightConnections *lights = session->lights;
    for (int32_t i = 0; lights->some_early && i < lights->capacity; i++) {
        if (lights->lights[i].used) {
            open_in_crowd(session, &lights->lights[i], now);
        }
    }
    lights->some_early = false;
}

// A watcher waits for what comes over it. Nothing is answered, but a neighbour that is there sends
// more often than that; others do not, and were asked every other second whether we had moved.
#define REBIND_NS FL_MS(1300)
#define REBIND_OTHERS_NS FL_SEC(9)
static const SealedPace light_pace = {.reach_ns = FL_MS(60), .rebind_ns = REBIND_NS};

// A host does not know its own address, and we do.
static FlAddress where(const FlSession *session, const MeetMessage *meet)
{
    int32_t connection = fl__member_connection(session, meet->member);
    bool host = meet->member == session->host && connection != FL__NONE;
    return host ? fl__connection_address(session, connection) : meet->address;
}

static FlSealPair *pair_of(FlSession *session, const MeetMessage *meet, FlTime now)
{
    SealedKeys keys = {.at = where(session, meet), .count = meet->key_bytes};
    memcpy(keys.bytes, meet->keys, (size_t)meet->key_bytes);
    FlSealPair *pair = fl__sealed_pair_create(session, &keys, &light_pace, now);
    fl_wipe(&keys, sizeof keys);
    return pair;
}

static void introduced(FlSession *session, const MeetMessage *meet, FlTime now)
{
    LightConnections *lights = session->lights;
    begin(session, now);
    if (lights->crowd == NULL || meet->member >= lights->members) {
        return;
    }
    int32_t before = lights->by_member[meet->member];
    if (before != FL__NONE) {
        fl__crowd_light_close(lights->crowd, meet->member); // introduced anew
        release(lights, &lights->lights[before], now);
    }
    LightConnection *light = light_free(lights);
    if (light == NULL) {
        return; // no room
    }
    FlSealPair *pair = fl__is_sealed(session) ? pair_of(session, meet, now) : NULL;
    if (fl__is_sealed(session) && pair == NULL) {
        return;
    }
    LightConnection fresh = {true, meet->member, where(session, meet), meet->conversation, pair};
    *light = fresh;
    rebuild(lights);
    seal_changed(lights, light);
    lights->some_early = lights->some_early || !fl__time_known(session);
    if (!lights->some_early) {
        open_in_crowd(session, light, now);
    }
}

static void ask_host(FlSession *session, FlTime time)
{
    int32_t member;
    while (fl__crowd_next_to_open(session->lights->crowd, time, &member)) {
        if (fl__is_host(session)) {
            fl__introduce_to_us(session, member);
            continue;
        }
        uint8_t bytes[MESSAGE_SHORT];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl__want_message_write(&w, (uint16_t)member);
        if (fl__host_send(session, &w) != FL_OK) {
            return; // asked for again
        }
    }
}

static void close_parted(FlSession *session, FlTime now, FlTime time)
{
    LightConnections *lights = session->lights;
    int32_t member;
    while (fl__crowd_next_to_close(lights->crowd, time, &member)) {
        fl__crowd_light_close(lights->crowd, member);
        LightConnection *light = light_of(lights, member);
        if (light != NULL) {
            release(lights, light, now);
        }
    }
}

static bool is_running(const FlSession *session)
{
    return session->lights->crowd != NULL && session->state == FL_SESSION_RUNNING &&
           fl__time_known(session);
}

// ---------------------------------------------------------------- in

static bool take_plain(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime time)
{
    LightConnections *lights = session->lights;
    bool ours = count > LIGHT_HEAD && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == KIND_LIGHT;
    if (!ours) {
        return false;
    }
    int32_t index = *fl__addresses_place(&lights->at, from);
    uint16_t conversation = fl__load_u16(bytes + 3);
    if (index == FL__NONE || lights->lights[index].conversation != conversation) {
        fl__count(session, FL_SESSION_STRANGER);
        return true;
    }
    fl__crowd_receive(lights->crowd, lights->lights[index].member, bytes + LIGHT_HEAD,
                      count - LIGHT_HEAD, time);
    return true;
}

// `shared`: there is a connection at the same address, and it may be meant.
static bool open_light(FlSession *session, LightConnection *light, FlAddress from,
                       const uint8_t *bytes, int32_t count, FlTime arrival, bool shared)
{
    Opened opened = {0};
    FlAddress at;
    LightConnections *lights = session->lights;
    fl__sealed_pair_soon(light->pair);
    fl__crowd_light_soon(lights->crowd, light->member);
    bool ready = fl__sealed_pair_ready(light->pair);
    if (!fl__sealed_pair_open(session, light->pair, from, bytes, count, arrival, &opened, &at)) {
        if (!shared) {
            fl__sealed_dropped(session, opened.drop);
        }
        return false;
    }
    if (!ready && fl__sealed_pair_ready(light->pair)) {
        fl__crowd_light_greet(lights->crowd, light->member);
    }
    seal_changed(lights, light);
    if (at.family != FL_FAMILY_NONE && !fl_address_equal(at, light->address)) {
        light->address = at;
        rebuild(lights);
    }
    if (opened.bytes != NULL) {
        FlTime time = fl_session_time(session, arrival);
        fl__crowd_receive(lights->crowd, light->member, opened.bytes, opened.count, time);
    }
    return true;
}

// From an address that is not known: a light connection being reached, or whose other end has
// moved, says in clear whose it is. Nothing else is opened, so that strangers cost little.
static bool take_sealed(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                        FlTime arrival)
{
    LightConnections *lights = session->lights;
    int32_t index = *fl__addresses_place(&lights->at, from);
    bool shared = fl__connection_at(session, from) != FL__NONE;
    if (index != FL__NONE) {
        bool opened =
            open_light(session, &lights->lights[index], from, bytes, count, arrival, shared);
        return opened || !shared;
    }
    if (shared) {
        return false; // the host's, or of whoever may take over
    }
    for (int32_t i = 0; i < lights->capacity; i++) {
        LightConnection *light = &lights->lights[i];
        if (light->used && fl__sealed_pair_hinted(light->pair, bytes, count) &&
            fl__sealed_may_open(session, arrival)) {
            return open_light(session, light, from, bytes, count, arrival, false);
        }
    }
    return false;
}

bool fl__light_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime arrival)
{
    if (!is_running(session)) {
        return false;
    }
    return fl__is_sealed(session)
               ? take_sealed(session, from, bytes, count, arrival)
               : take_plain(session, from, bytes, count, fl_session_time(session, arrival));
}

// ---------------------------------------------------------------- out

// What seals have to say for themselves.
static bool seals_next(LightConnections *lights, FlTime now, FlOutgoing *out)
{
    if (now < lights->seal_due) {
        return false;
    }
    bool says = false;
    for (int32_t i = 0; i < lights->capacity && !says; i++) {
        says = lights->lights[i].used && fl__sealed_pair_next(lights->lights[i].pair, now, out);
    }
    lights->seal_due = says ? now : FL_FOREVER; // perhaps there is more
    for (int32_t i = 0; i < lights->capacity && !says; i++) {
        if (lights->lights[i].used) {
            seal_changed(lights, &lights->lights[i]);
        }
    }
    return says;
}

static bool give_plain(LightConnections *lights, const LightConnection *light, int32_t count,
                       FlOutgoing *out)
{
    uint8_t *bytes = lights->packet + FL_SEAL_HEAD_BYTES - LIGHT_HEAD;
    bytes[0] = 0;
    bytes[1] = 0;
    bytes[2] = KIND_LIGHT;
    bytes[3] = (uint8_t)(light->conversation & 0xffu);
    bytes[4] = (uint8_t)(light->conversation >> 8);
    out->to = light->address;
    out->bytes = bytes;
    out->count = count + LIGHT_HEAD;
    return true;
}

// False: it is as good as lost; there are more.
static bool give(FlSession *session, int32_t member, int32_t count, FlTime now, FlOutgoing *out)
{
    LightConnections *lights = session->lights;
    LightConnection *light = light_of(lights, member);
    if (light == NULL) {
        return false;
    }
    if (light->pair == NULL) {
        return give_plain(lights, light, count, out);
    }
    fl__sealed_pair_soon(light->pair);
    bool planned = fl__crowd_light_planned(lights->crowd, member);
    fl__sealed_pair_expect(light->pair, planned ? REBIND_NS : REBIND_OTHERS_NS);
    return fl__sealed_pair_seal(light->pair, now, lights->packet, count, out);
}

#define HOST_FIRST 300.0 // bytes that are left to the connection to the host while it waits

// The connection to the host waits for the upload: without it we would be taken for gone.
static bool host_waits(const FlSession *session, FlTime now)
{
    int32_t connection = fl__member_connection(session, session->host);
    return connection != FL__NONE &&
           fl__connection_due(session, connection) <= fl_time_add(now, BUDGET_LOOK_EVERY);
}

// Bytes that a light connection's packet may have now; 0: too few for any.
static int32_t room_left(FlSession *session, FlTime now)
{
    double left = fl__upload_left(session, now) - (host_waits(session, now) ? HOST_FIRST : 0.0);
    double space = left + RESERVE - session->lights->overhead_bytes;
    if (left < 0.0 || space < FL_CROWD_ROOM_BYTES) {
        return 0;
    }
    return space < FL_CROWD_PACKET_BYTES ? (int32_t)space : FL_CROWD_PACKET_BYTES;
}

static void seals_sent(FlSession *session, FlTime now, const FlOutgoing *out)
{
    fl__upload_sent(session, now, out->count, 0);
    int32_t headers = session->def.tuning.link.overhead_bytes;
    fl__crowd_sent(session->lights->crowd, out->count + headers, 0);
}

bool fl__light_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    LightConnections *lights = session->lights;
    if (!is_running(session)) {
        return false;
    }
    FlTime time = fl_session_time(session, now);
    open_early(session, now);
    ask_host(session, time);
    close_parted(session, now, time);
    int32_t room = room_left(session, now);
    lights->seals_turn = !lights->seals_turn; // neither starves the other
    if (lights->seals_turn && room > 0 && fl__is_sealed(session) && seals_next(lights, now, out)) {
        seals_sent(session, now, out);
        return true;
    }
    int32_t count;
    int32_t member;
    while (room > 0) {
        if (!fl__crowd_next(lights->crowd, time, lights->packet + FL_SEAL_HEAD_BYTES, room, &count,
                            &member)) {
            bool says = fl__is_sealed(session) && seals_next(lights, now, out);
            if (says) {
                seals_sent(session, now, out);
            }
            return says;
        }
        if (give(session, member, count, now, out)) {
            fl__upload_sent(session, now, out->count, 0);
            return true;
        }
    }
    return false;
}

static FlTime deadline(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    LightConnections *lights = session->lights;
    if (!is_running(session)) {
        return FL_FOREVER;
    }
    if (room_left(session, now) == 0) {
        return fl_time_add(now, BUDGET_LOOK_EVERY);
    }
    FlTime seals = fl__is_sealed(session) ? lights->seal_due : FL_FOREVER;
    FlTime time = fl_session_time(session, now);
    FlTime due = fl__crowd_deadline(lights->crowd, time);
    // A bent clock's inverse is off by a nanosecond or so; never a moment too early.
    FlTime when = due <= time ? now : fl_time_add(fl_session_local_time(session, due), FL_US(1));
    return fl_time_min(when, seals);
}

// ---------------------------------------------------------------- the host

// PLAN: kind 8 = 2, order 8.                                      spec/WIRE.md section 8
void fl__plan_message_write(FlWriter *w, uint8_t order)
{
    fl_writer_put(w, MESSAGE_PLAN, 8);
    fl_writer_put(w, order, 8);
}

bool fl__plan_message_read(FlReader *r, uint8_t *order)
{
    *order = (uint8_t)fl_reader_take(r, 8);
    return fl__reader_whole(r);
}

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->topology != FL_TOPOLOGY_CROWD || !fl__is_host(session) ||
        now < session->lights->plan_next) {
        return;
    }
    session->lights->plan_next = fl_time_add(now, PLAN_EVERY);
    bool plays = session->lights->crowd != NULL; // we took over
    int32_t players = fl_peer_count(session) + (plays ? 1 : 0);
    int32_t order = fl__plane_order_for(players);
    bool grows = order > session->lights->plan_order;
    bool shrinks =
        players * 100 < fl__plane_seats(session->lights->plan_order) * PLAN_SHRINKS_BELOW;
    if (!grows && !shrinks) {
        return;
    }
    session->lights->plan_order = order;
    if (plays) {
        fl__crowd_plan(session->lights->crowd, order);
    }
    for (int32_t i = 0; i < session->connection_count; i++) {
        fl__connection_wake(session, i);
    }
}

// Which plane is right for those who are there.
static bool announce(void *self, int32_t connection)
{
    FlSession *session = (FlSession *)self;
    LightConnections *lights = session->lights;
    if (session->topology != FL_TOPOLOGY_CROWD || !fl__is_host(session) ||
        lights->plan_sent[connection] == lights->plan_order + 1) {
        return true;
    }
    uint8_t bytes[MESSAGE_SHORT];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl__plan_message_write(&w, (uint8_t)lights->plan_order);
    if (!fl__announcement_send(session, connection, &w)) {
        return false;
    }
    lights->plan_sent[connection] = lights->plan_order + 1;
    return true;
}

// ---------------------------------------------------------------- the feature

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    uint8_t order;
    if (!fl__plan_message_read(in->r, &order)) {
        return false;
    }
    session->lights->plan_order = order;
    if (session->lights->crowd != NULL) {
        fl__crowd_plan(session->lights->crowd, order);
    }
    return true;
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    switch (change->kind) {
    case CHANGE_CONNECTION_OPENED:
        session->lights->plan_sent[change->connection] = 0;
        break;
    case CHANGE_MEMBER_CAME:
    case CHANGE_MEMBER_LEFT:
        follow_member(session, change->member);
        break;
    case CHANGE_ENTITY_DEFINED:
    case CHANGE_ENTITY_MOVED:
        follow_entity(session, change->slot, true);
        break;
    case CHANGE_ENTITY_GONE:
        follow_entity(session, change->slot, false);
        break;
    case CHANGE_ATTENTION:
        look_at(session, change->slot);
        break;
    case CHANGE_COMPLETE:
        begin(session, change->now);
        refuse_other(session);
        break;
    case CHANGE_HOST_SELF:
        memset(session->lights->plan_sent, 0, (size_t)session->connection_count * sizeof(int32_t));
        break;
    case CHANGE_INTRODUCED:
        introduced(session, change->meet, change->now);
        break;
    default:
        break;
    }
}

const Feature fl__feature_crowd = {
    .name = "crowd",
    .messages = {MESSAGE_PLAN, 1},
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
    .announce = announce,
};
