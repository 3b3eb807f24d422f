// A crowd's lanes: introduced by the host, sealed where the session is, carried as datagrams. Room
// `crowd` decides what goes over them, and to whom there are any.
//
// A lane is not a line: no link, no clock of its own, nothing repeated. What it brings is placed by
// session time, which the line to the host gives.

// LANE: a crowd's packet, where sessions are not sealed.         spec/WIRE.md section 11.1
//
//   bits  field         unit      valid
//   16    zero          -         no conversation of a link
//   8     kind          -         5
//   16    conversation  -         1..65535, the lane's
//   rest  packet        -         as in section 11.2
#include "private.h"

#include <string.h>

#define KIND_LANE 5
#define LANE_HEAD 5
#define RESERVE 320           // as upload.c: always there when a packet is begun
#define SEAL_BYTES 18         // of a sealed packet
#define PLAN_EVERY FL_MS(500) // while many come at once
#define PLAN_SHRINKS_BELOW 80 // percent of the seats taken
#define BUDGET_LOOK_EVERY FL_MS(1)
#define MOVED_AFTER FL_MS(1200) // of silence

typedef struct Lane {
    bool used;
    int32_t member;
    FlAddress address;
    uint16_t conversation; // not sealed
    FlSealPair *pair;      // sealed
    FlTime heard_at;       // from that address
} Lane;

struct Lanes {
    FlCrowd *crowd;
    Lane *lanes;
    int32_t *by_address; // open addressing: lane or FL__NONE
    int16_t *by_member;  // lane or FL__NONE
    int32_t members;
    int32_t capacity, size;
    int32_t overhead_bytes; // of a datagram, besides its packet
    FlTime seal_due;        // no seal has anything to say before
    bool seals_turn;        // to speak first
    bool some_early;        // the crowd is still to be told of lanes
    uint8_t packet[FL_SEAL_HEAD_BYTES + FL_CROWD_PACKET_BYTES + FL_SEAL_PACKET_BYTES];
};

FlCrowd *fl_session_crowd(FlSession *session)
{
    return session->lanes_of_crowd != NULL ? session->lanes_of_crowd->crowd : NULL;
}

// ---------------------------------------------------------------- by address

static int32_t *place_of(const Lanes *lanes, FlAddress address)
{
    int32_t at = (int32_t)(fl_address_hash(address) & (uint64_t)(lanes->size - 1));
    while (lanes->by_address[at] != FL__NONE &&
           !fl_address_equal(lanes->lanes[lanes->by_address[at]].address, address)) {
        at = (at + 1) & (lanes->size - 1);
    }
    return &lanes->by_address[at];
}

// Lanes come and go rarely: making the table anew is simpler than mending it.
static void rebuild(Lanes *lanes)
{
    for (int32_t i = 0; i < lanes->size; i++) {
        lanes->by_address[i] = FL__NONE;
    }
    for (int32_t i = 0; i < lanes->members; i++) {
        lanes->by_member[i] = FL__NONE;
    }
    for (int32_t i = 0; i < lanes->capacity; i++) {
        if (lanes->lanes[i].used) {
            *place_of(lanes, lanes->lanes[i].address) = i;
            lanes->by_member[lanes->lanes[i].member] = (int16_t)i;
        }
    }
}

static Lane *lane_of(const Lanes *lanes, int32_t member)
{
    int32_t lane = lanes->by_member[member];
    return lane != FL__NONE ? &lanes->lanes[lane] : NULL;
}

// Seals put off what they have to say with every packet, so the time that is kept is a bound, made
// anew when it has come.
static void seal_changed(Lanes *lanes, const Lane *lane)
{
    FlTime due = lane->pair != NULL ? fl__lane_deadline(lane->pair) : FL_FOREVER;
    lanes->seal_due = due < lanes->seal_due ? due : lanes->seal_due;
}

static void release(Lanes *lanes, Lane *lane, FlTime now)
{
    fl__lane_part(lane->pair, now);
    Lane none = {0};
    *lane = none;
    rebuild(lanes);
}

// ---------------------------------------------------------------- beginning and ending

static FlCrowdDef crowd_def(const FlSession *session)
{
    FlCrowdDef def = session->def.crowd;
    def.self = session->self;
    def.first = session->host + 1;
    def.member_capacity = session->seat_count;
    def.upload_bytes_s = session->def.upload_bytes_s;
    def.overhead_bytes =
        session->def.link.overhead_bytes + (session->sealed != NULL ? SEAL_BYTES : LANE_HEAD);
    def.alloc = session->def.alloc;
    int32_t others = def.member_capacity - 1;
    def.focus_count = def.focus_count < others ? def.focus_count : others;
    return def;
}

static bool reserve(FlSession *session, Lanes *lanes)
{
    const FlAlloc *alloc = &session->def.alloc;
    lanes->capacity = session->def.crowd.lane_capacity;
    lanes->size = 8;
    while (lanes->size < 2 * lanes->capacity) {
        lanes->size *= 2;
    }
    lanes->lanes = (Lane *)fl_alloc(alloc, (size_t)lanes->capacity * sizeof(Lane), _Alignof(Lane));
    lanes->by_address =
        (int32_t *)fl_alloc(alloc, (size_t)lanes->size * sizeof(int32_t), _Alignof(int32_t));
    lanes->members = session->seat_count;
    lanes->by_member =
        (int16_t *)fl_alloc(alloc, (size_t)lanes->members * sizeof(int16_t), _Alignof(int16_t));
    return lanes->lanes != NULL && lanes->by_address != NULL && lanes->by_member != NULL;
}

size_t fl__lanes_bytes(const FlSessionDef *def)
{
    if (def->topology != FL_TOPOLOGY_CROWD || def->role == FL_ROLE_HOST) {
        return 0;
    }
    FlCrowdDef crowd = def->crowd;
    crowd.member_capacity = def->peer_capacity + 1;
    return fl_crowd_memory(&crowd) + sizeof(Lanes) +
           (size_t)crowd.member_capacity * sizeof(int16_t) +
           (size_t)crowd.lane_capacity * (sizeof(Lane) + 4 * sizeof(int32_t));
}

static void follow_member(FlSession *session, int32_t member)
{
    Lanes *lanes = session->lanes_of_crowd;
    if (lanes != NULL && lanes->crowd != NULL && member < session->seat_count) {
        fl_crowd_member(lanes->crowd, member, session->members[member].present);
    }
}

bool fl__lanes_begin(FlSession *session, FlTime now)
{
    if (session->topology != FL_TOPOLOGY_CROWD || session->lanes_of_crowd != NULL) {
        return true;
    }
    Lanes *lanes = (Lanes *)fl_alloc(&session->def.alloc, sizeof *lanes, _Alignof(Lanes));
    session->lanes_of_crowd = lanes;
    FlCrowdDef def = crowd_def(session);
    FlTime time = fl_session_time(session, now);
    if (lanes == NULL || !reserve(session, lanes) ||
        fl_crowd_create(&def, &session->world, time, &lanes->crowd) != FL_OK) {
        fl__lanes_destroy(session); // all or nothing
        return false;
    }
    lanes->overhead_bytes = def.overhead_bytes;
    lanes->seal_due = FL_FOREVER;
    rebuild(lanes);
    for (int32_t i = 0; i < session->seat_count; i++) {
        follow_member(session, i);
    }
    fl_crowd_plan(lanes->crowd, session->plan_order);
    return true;
}

void fl__lanes_destroy(FlSession *session)
{
    Lanes *lanes = session->lanes_of_crowd;
    if (lanes == NULL) {
        return;
    }
    const FlAlloc *alloc = &session->def.alloc;
    for (int32_t i = 0; lanes->lanes != NULL && i < lanes->capacity; i++) {
        fl__lane_part(lanes->lanes[i].pair, session->heard_at);
    }
    fl_crowd_destroy(lanes->crowd);
    fl_free(alloc, lanes->lanes, (size_t)lanes->capacity * sizeof(Lane));
    fl_free(alloc, lanes->by_address, (size_t)lanes->size * sizeof(int32_t));
    fl_free(alloc, lanes->by_member, (size_t)lanes->members * sizeof(int16_t));
    fl_free(alloc, lanes, sizeof *lanes);
    session->lanes_of_crowd = NULL;
}

// ---------------------------------------------------------------- introduced

static Lane *lane_free(const Lanes *lanes)
{
    for (int32_t i = 0; i < lanes->capacity; i++) {
        if (!lanes->lanes[i].used) {
            return &lanes->lanes[i];
        }
    }
    return NULL;
}

static void open_in_crowd(FlSession *session, Lane *lane, FlTime now)
{
    Lanes *lanes = session->lanes_of_crowd;
    FlTime time = fl_session_time(session, now);
    if (fl_crowd_lane_open(lanes->crowd, lane->member, time) != FL_OK) {
        release(lanes, lane, now);
    }
}

// Who comes is introduced before it knows what time it is, by which lanes grow old.
static void open_early(FlSession *session, FlTime now)
{
    Lanes *lanes = session->lanes_of_crowd;
    for (int32_t i = 0; lanes->some_early && i < lanes->capacity; i++) {
        if (lanes->lanes[i].used) {
            open_in_crowd(session, &lanes->lanes[i], now);
        }
    }
    lanes->some_early = false;
}

void fl__lanes_meet(FlSession *session, const FlMeetMessage *meet, FlTime now)
{
    Lanes *lanes = session->lanes_of_crowd;
    const Member *member = &session->members[meet->member];
    bool wanted = lanes != NULL && meet->member < lanes->members && member->present &&
                  member->incarnation == meet->incarnation && meet->member != session->self &&
                  meet->member != session->host &&
                  (meet->conversation == 0) == (session->sealed != NULL);
    if (!wanted) {
        return;
    }
    int32_t before = lanes->by_member[meet->member];
    if (before != FL__NONE) {
        fl_crowd_lane_close(lanes->crowd, meet->member); // introduced anew
        release(lanes, &lanes->lanes[before], now);
    }
    Lane *lane = lane_free(lanes);
    if (lane == NULL) {
        return; // no room
    }
    FlSealPair *pair = session->sealed != NULL ? fl__lane_pair(session, meet, now) : NULL;
    if (session->sealed != NULL && pair == NULL) {
        return;
    }
    Lane fresh = {true, meet->member, meet->address, meet->conversation, pair, now};
    *lane = fresh;
    rebuild(lanes);
    seal_changed(lanes, lane);
    lanes->some_early = lanes->some_early || !fl__time_known(session);
    if (!lanes->some_early) {
        open_in_crowd(session, lane, now);
    }
}

static void ask_host(FlSession *session, FlTime time)
{
    int32_t member;
    while (fl_crowd_wanted(session->lanes_of_crowd->crowd, time, &member)) {
        uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
        FlWriter w;
        fl_writer_init(&w, bytes, sizeof bytes);
        fl_want_message_write(&w, (uint16_t)member);
        if (fl__tell_host(session, &w) != FL_OK) {
            return; // asked for again
        }
    }
}

static void close_parted(FlSession *session, FlTime now, FlTime time)
{
    Lanes *lanes = session->lanes_of_crowd;
    int32_t member;
    while (fl_crowd_parted(lanes->crowd, time, &member)) {
        fl_crowd_lane_close(lanes->crowd, member);
        Lane *lane = lane_of(lanes, member);
        if (lane != NULL) {
            release(lanes, lane, now);
        }
    }
}

// ---------------------------------------------------------------- in

static bool take_plain(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime time)
{
    Lanes *lanes = session->lanes_of_crowd;
    bool ours = count > LANE_HEAD && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == KIND_LANE;
    if (!ours) {
        return false;
    }
    int32_t index = *place_of(lanes, from);
    uint16_t conversation = (uint16_t)(bytes[3] | bytes[4] << 8);
    if (index == FL__NONE || lanes->lanes[index].conversation != conversation) {
        session->count[FL_SESSION_STRANGER]++;
        return true;
    }
    fl_crowd_receive(lanes->crowd, lanes->lanes[index].member, bytes + LANE_HEAD, count - LANE_HEAD,
                     time);
    return true;
}

static bool open_lane(FlSession *session, Lane *lane, FlAddress from, const uint8_t *bytes,
                      int32_t count, FlTime arrival, bool blame)
{
    memcpy(session->opening, bytes, (size_t)count); // it is opened in place
    Opened opened = {0};
    FlAddress at;
    Lanes *lanes = session->lanes_of_crowd;
    bool ready = fl__lane_ready(lane->pair);
    if (!fl__lane_open(session, lane->pair, from, count, arrival, blame, &opened, &at)) {
        return false;
    }
    if (!ready && fl__lane_ready(lane->pair)) {
        fl_crowd_lane_greet(lanes->crowd, lane->member);
    }
    seal_changed(lanes, lane);
    if (at.family != FL_FAMILY_NONE && !fl_address_equal(at, lane->address)) {
        lane->address = at;
        rebuild(lanes);
    }
    if (opened.bytes != NULL) {
        FlTime time = fl_session_time(session, arrival);
        fl_crowd_receive(lanes->crowd, lane->member, opened.bytes, opened.count, time);
    }
    return true;
}

// Whoever has an open lane speaks at least so often, or is somewhere else by now.
static bool may_have_moved(const Lane *lane, FlTime arrival)
{
    return !fl__lane_ready(lane->pair) || fl_span(arrival, lane->heard_at) > MOVED_AFTER;
}

// From where nobody is known: perhaps one who is still being reached, or whose address has changed.
// The others are not tried, so that strangers cost little.
static bool take_sealed(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                        FlTime arrival)
{
    Lanes *lanes = session->lanes_of_crowd;
    int32_t index = *place_of(lanes, from);
    if (index != FL__NONE) {
        Lane *known = &lanes->lanes[index];
        bool good = open_lane(session, known, from, bytes, count, arrival, true);
        known->heard_at = good ? arrival : known->heard_at;
        return true;
    }
    bool opened = fl__line_at(session, from) != FL__NONE;
    if (opened) {
        return false; // the host's
    }
    for (int32_t i = 0; i < lanes->capacity && !opened; i++) {
        Lane *lane = &lanes->lanes[i];
        opened = lane->used && may_have_moved(lane, arrival) &&
                 open_lane(session, lane, from, bytes, count, arrival, false);
    }
    return opened;
}

bool fl__lanes_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                       FlTime arrival)
{
    Lanes *lanes = session->lanes_of_crowd;
    if (lanes == NULL || session->state != FL_SESSION_RUNNING || !fl__time_known(session)) {
        return false;
    }
    return session->sealed != NULL
               ? take_sealed(session, from, bytes, count, arrival)
               : take_plain(session, from, bytes, count, fl_session_time(session, arrival));
}

// ---------------------------------------------------------------- out

// What seals have to say for themselves.
static bool seals_next(Lanes *lanes, FlTime now, FlOutgoing *out)
{
    if (now < lanes->seal_due) {
        return false;
    }
    bool says = false;
    for (int32_t i = 0; i < lanes->capacity && !says; i++) {
        says = lanes->lanes[i].used && fl__lane_says(lanes->lanes[i].pair, now, out);
    }
    lanes->seal_due = says ? now : FL_FOREVER; // perhaps there is more
    for (int32_t i = 0; i < lanes->capacity && !says; i++) {
        if (lanes->lanes[i].used) {
            seal_changed(lanes, &lanes->lanes[i]);
        }
    }
    return says;
}

static bool give_plain(Lanes *lanes, const Lane *lane, int32_t count, FlOutgoing *out)
{
    uint8_t *bytes = lanes->packet + FL_SEAL_HEAD_BYTES - LANE_HEAD;
    bytes[0] = 0;
    bytes[1] = 0;
    bytes[2] = KIND_LANE;
    bytes[3] = (uint8_t)(lane->conversation & 0xffu);
    bytes[4] = (uint8_t)(lane->conversation >> 8);
    out->to = lane->address;
    out->bytes = bytes;
    out->count = count + LANE_HEAD;
    return true;
}

// False: it is as good as lost; there are more.
static bool give(FlSession *session, int32_t member, int32_t count, FlTime now, FlOutgoing *out)
{
    Lanes *lanes = session->lanes_of_crowd;
    Lane *lane = lane_of(lanes, member);
    if (lane == NULL) {
        return false;
    }
    if (lane->pair == NULL) {
        return give_plain(lanes, lane, count, out);
    }
    return fl__lane_seal(lane->pair, now, lanes->packet, count, out);
}

#define LINE_FIRST 300.0 // bytes that lanes leave to the host's line while it waits

// The line to the host waits for the upload: without it we would be taken for gone.
static bool line_waits(const FlSession *session, FlTime now)
{
    int32_t line = session->members[session->host].line;
    return line != FL__NONE && session->wake[line] <= fl_time_add(now, BUDGET_LOOK_EVERY);
}

// Bytes that a lane's packet may have now; 0: too few for any.
static int32_t room_left(FlSession *session, FlTime now)
{
    double left = fl__upload_left(session, now) - (line_waits(session, now) ? LINE_FIRST : 0.0);
    double space = left + RESERVE - session->lanes_of_crowd->overhead_bytes;
    if (left < 0.0 || space < FL_CROWD_ROOM_BYTES) {
        return 0;
    }
    return space < FL_CROWD_PACKET_BYTES ? (int32_t)space : FL_CROWD_PACKET_BYTES;
}

bool fl__lanes_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    Lanes *lanes = session->lanes_of_crowd;
    if (lanes == NULL || session->state != FL_SESSION_RUNNING || !fl__time_known(session)) {
        return false;
    }
    FlTime time = fl_session_time(session, now);
    open_early(session, now);
    ask_host(session, time);
    close_parted(session, now, time);
    int32_t room = room_left(session, now);
    lanes->seals_turn = !lanes->seals_turn; // neither starves the other
    if (lanes->seals_turn && room > 0 && session->sealed != NULL && seals_next(lanes, now, out)) {
        fl__upload_sent(session, now, out->count, 0);
        return true;
    }
    int32_t count;
    int32_t member;
    while (room > 0) {
        if (!fl_crowd_next(lanes->crowd, time, lanes->packet + FL_SEAL_HEAD_BYTES, room, &count,
                           &member)) {
            bool says = session->sealed != NULL && seals_next(lanes, now, out);
            if (says) {
                fl__upload_sent(session, now, out->count, 0);
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
    Lanes *lanes = session->lanes_of_crowd;
    if (lanes == NULL || session->state != FL_SESSION_RUNNING || !fl__time_known(session)) {
        return FL_FOREVER;
    }
    if (room_left(session, now) == 0) {
        return fl_time_add(now, BUDGET_LOOK_EVERY);
    }
    FlTime seals = session->sealed != NULL ? lanes->seal_due : FL_FOREVER;
    FlTime time = fl_session_time(session, now);
    FlTime due = fl_crowd_deadline(lanes->crowd, time);
    // A bent clock's inverse is off by a nanosecond or so; never a moment too early.
    FlTime when = due <= time ? now : fl_time_add(fl_session_when(session, due), FL_US(1));
    return when < seals ? when : seals;
}

// ---------------------------------------------------------------- the host

static void advance(void *self, FlTime now)
{
    FlSession *session = (FlSession *)self;
    if (session->topology != FL_TOPOLOGY_CROWD || !fl__is_host(session) ||
        now < session->plan_next) {
        return;
    }
    session->plan_next = fl_time_add(now, PLAN_EVERY);
    int32_t players = fl_peer_count(session);
    int32_t order = fl_plane_order_for(players);
    bool grows = order > session->plan_order;
    bool shrinks = players * 100 < fl_plane_seats(session->plan_order) * PLAN_SHRINKS_BELOW;
    if (!grows && !shrinks) {
        return;
    }
    session->plan_order = order;
    for (int32_t i = 0; i < session->line_count; i++) {
        if (session->lines[i].used) {
            fl__line_wake(session, i);
        }
    }
}

bool fl__lanes_tell_plan(FlSession *session, int32_t index)
{
    Line *line = &session->lines[index];
    if (session->topology != FL_TOPOLOGY_CROWD || !fl__is_host(session) ||
        line->plan_told == session->plan_order + 1) {
        return true;
    }
    uint8_t bytes[FL_GROUP_MESSAGE_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    fl_plan_message_write(&w, (uint8_t)session->plan_order);
    if (fl_link_send(line->link, FL_DELIVERY_ORDERED, bytes, fl_writer_size(&w)) != FL_OK) {
        return false;
    }
    line->plan_told = session->plan_order + 1;
    return true;
}

// ---------------------------------------------------------------- the feature

static bool message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    uint8_t order;
    if (!fl_plan_message_read(in->r, &order) || !in->from_host) {
        return false;
    }
    session->plan_order = order;
    if (session->lanes_of_crowd != NULL) {
        fl_crowd_plan(session->lanes_of_crowd->crowd, order);
    }
    return true;
}

static void changed(void *self, const Change *change)
{
    if (change->kind == CHANGE_MEMBER_CAME || change->kind == CHANGE_MEMBER_LEFT) {
        follow_member((FlSession *)self, change->member);
    }
}

const Feature fl__feature_crowd = {
    .name = "crowd",
    .messages = {FL_GROUP_PLAN, 1},
    .advance = advance,
    .deadline = deadline,
    .message = message,
    .changed = changed,
};
