// Prediction, the host's side: every player's state, one tick at a time, and the states on their
// way to the players. predict_own.c is a client's; predict_late.c measures when inputs come.
//
// A tick is played once, when session time says so, with the input that is here for exactly this
// tick. So it does not matter how many inputs a player sends, how early, or for which ticks: it
// gets one step per tick. A missing input is the last one again, for a while; then zeros.
//
// The host notes how late the inputs of the last second were, measured when each came first, and
// says so with every state: by that a client chooses how far it plays ahead.

// OWN: the state of what the receiver plays.                     spec/WIRE.md section 7.15
//
//   bits  field      unit     valid
//   8     kind       -        12
//   32    tick       tick     low bits of the state's number
//   8     missed     tick     low bits of how many ticks were played without their input
//   16    late_tick  tick     signed: of which tick the next is, counted from `tick`
//   16    late       0.25 ms  signed: how long after its tick was due the latest input of the last
//                             second came; -32768: none came
//   16    count      byte     1..1000 of state follow
//   count bytes
#include "predicted.h"

#include "wire/wire.h"

#include <string.h>

#define PREDICT_COOKIE 0x50524431u
#define OWN_HEAD 12
#define LATE_STEP FL_US(250)
#define LATE_NONE INT16_MIN

// ---------------------------------------------------------------- making and ending

FlPredictDef fl_predict_def_default(void)
{
    FlPredictDef def = {
        .tick_hz = 60,
        .send_hz = 20,
        .history_ticks = 256,
        .repeat_ticks = 12,
        .lead_max_ns = FL_MS(500),
        .blend_ns = FL_MS(200),
        .snap = 5.0,
        .correction = 0.01,
        .cookie = PREDICT_COOKIE,
    };
    return def;
}

FlResult fl_predict_def_problem(const FlPredictDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlPredictDef, "fl_predict_def_default", PREDICT_COOKIE),
        FL__WHOLE(FlPredictDef, tick_hz, 1, 1000),
        FL__WHOLE(FlPredictDef, send_hz, 1, 1000),
        FL__WHOLE(FlPredictDef, state_bytes, 1, FL_PREDICT_STATE_BYTES),
        FL__POWER(FlPredictDef, history_ticks, 16, 4096),
        FL__WHOLE(FlPredictDef, repeat_ticks, 0, INT32_MAX),
        FL__WHOLE(FlPredictDef, lead_max_ns, 0, FL_SEC(10)),
        FL__WHOLE(FlPredictDef, blend_ns, 1, FL_FOREVER),
        FL__REAL(FlPredictDef, snap, 0.0, (double)INFINITY),
        FL__REAL(FlPredictDef, correction, 0.0, (double)INFINITY),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    (void)fl__def_wrong(error, def->send_hz > def->tick_hz, "send_hz is above tick_hz.");
    return fl__def_wrong(error, def->step_fn == NULL,
                         "step_fn is NULL: it must be the game's step function.");
}

enum { TABLES = 2 };

static void list_tables(Predict *p, int32_t member_count, Fl__Table tables[TABLES])
{
    size_t members = (size_t)member_count;
    tables[0] = (Fl__Table){(void **)&p->players, members * sizeof(PredictPlayer)};
    tables[1] = (Fl__Table){(void **)&p->states, members * p->state_room};
}

void fl__predict_destroy(FlSession *session)
{
    Predict *p = session->play->predict;
    if (p == NULL) {
        return;
    }
    session->timeline = session->timeline == p->own.timeline ? NULL : session->timeline;
    fl__predict_own_destroy(session, p);
    Fl__Table tables[TABLES];
    list_tables(p, session->member_count, tables);
    fl__tables_release(&session->def.alloc, tables, TABLES);
    fl_free(&session->def.alloc, p, sizeof *p);
    session->play->predict = NULL;
}

static FlResult make(FlSession *session, const FlPredictDef *def)
{
    const FlAlloc *alloc = &session->def.alloc;
    Predict *p = (Predict *)fl_alloc(alloc, sizeof *p, _Alignof(Predict));
    if (p == NULL) {
        return FL_NO_MEMORY;
    }
    session->play->predict = p;
    p->def = *def;
    p->tick = -1;
    p->state_room = ((size_t)def->state_bytes + 15) & ~(size_t)15; // aligned for anything
    Fl__Table tables[TABLES];
    list_tables(p, session->member_count, tables);
    bool reserved = fl__tables_reserve(alloc, tables, TABLES);
    FlResult result = reserved ? fl__predict_own_create(session, p) : FL_NO_MEMORY;
    if (result != FL_OK) {
        fl__predict_destroy(session);
        return result;
    }
    session->timeline = p->own.timeline; // nothing is written to the session while it plays
    return FL_OK;
}

FlResult fl_session_predict(FlSession *session, const FlPredictDef *def)
{
    const FlSessionDef *own = &session->def;
    if (def == NULL) {
        fl__predict_destroy(session);
        return FL_OK;
    }
    FL_ASSERT(def->cookie == PREDICT_COOKIE);
    FlError error;
    if (fl_predict_def_problem(def, &error) != FL_OK || own->input_bytes == 0 ||
        !own->inputs_to_host || session->play->agreed.timeline != NULL ||
        def->history_ticks > own->input_ticks) {
        return FL_BAD_VALUE;
    }
    fl__predict_destroy(session);
    return make(session, def);
}

// ---------------------------------------------------------------- players

static uint8_t *state_of(const Predict *p, int32_t member)
{
    return p->states + (size_t)member * p->state_room;
}

// One state goes out once, however often the game changes it.
static bool is_due(const Predict *p, const PredictPlayer *player)
{
    int64_t every = player->urgent || player->sent < 0 ? 1 : p->def.tick_hz / p->def.send_hz;
    return player->plays && p->tick >= 0 && p->tick - player->sent >= every;
}

FlResult fl_predict_player(FlSession *session, FlPeerId peer, const void *state)
{
    Predict *p = session->play->predict;
    if (p == NULL) {
        return FL_NOT_FOUND;
    }
    int32_t member = fl__member_of(session, peer);
    if (member == FL__NONE) {
        return FL_STALE_ID;
    }
    if (!fl__is_host(session)) {
        return FL_BAD_VALUE;
    }
    PredictPlayer *player = &p->players[member];
    if (state != NULL && !player->plays) {
        PredictPlayer fresh = {.plays = true, .sent = -1};
        *player = fresh;
        fl__worst_clear(&player->late);
        player->stats.early_ns = FL_FOREVER;
    }
    player->plays = state != NULL;
    player->urgent = true; // its player shall know soon
    if (state != NULL) {
        memcpy(state_of(p, member), state, (size_t)p->def.state_bytes);
    }
    return FL_OK;
}

// ---------------------------------------------------------------- a tick

static void play_player(FlSession *session, Predict *p, int32_t member, const void *own)
{
    PredictPlayer *player = &p->players[member];
    size_t bytes = (size_t)session->def.input_bytes;
    const Inputs *in = &session->play->inputs.of[member];
    const void *input = own;
    if (member != session->self) {
        bool here = in->newest >= p->tick && in->oldest <= p->tick;
        input = here ? fl__input_bytes(session, member, p->tick) : NULL;
    }
    if (input != NULL) {
        memcpy(player->last, input, bytes);
        player->missing = 0;
        player->started = true;
    } else {
        player->missing++;
        player->stats.missed += player->started && member != session->self ? 1 : 0;
        if (player->missing > p->def.repeat_ticks) {
            memset(player->last, 0, bytes);
        }
    }
    FlTimelineInputs inputs = {.of = {player->last}};
    p->def.step_fn(p->def.ctx, state_of(p, member), p->tick, &inputs);
    player->stats.ticks++;
}

static bool host_tick(FlSession *session, Predict *p, FlTime now, const void *input)
{
    FlTime time = fl_session_time(session, now);
    int64_t due = fl__predict_tick_at(p, time); // this state is to be reached
    p->tick = p->tick < 0 ? due : p->tick;
    if (p->tick >= due) {
        return false;
    }
    if (due - p->tick > p->def.history_ticks) {
        p->tick = due - 1; // we were away, and our players stood still
    }
    for (int32_t member = 0; member < session->member_count; member++) {
        if (p->players[member].plays) {
            play_player(session, p, member, input);
        }
    }
    p->tick++;
    for (int32_t member = 0; member < session->member_count; member++) {
        int32_t connection =
            is_due(p, &p->players[member]) ? fl__member_connection(session, member) : FL__NONE;
        if (connection != FL__NONE) {
            fl__connection_wake(session, connection);
        }
    }
    return true;
}

bool fl_predict_tick(FlSession *session, FlTime now, const void *input)
{
    Predict *p = session->play->predict;
    if (p == NULL || !session->in || session->state != FL_SESSION_RUNNING) {
        return false;
    }
    return fl__is_host(session) ? host_tick(session, p, now, input)
                                : fl__predict_own_tick(session, p, now, input);
}

const void *fl_predict_state(const FlSession *session, FlPeerId peer, int64_t *tick)
{
    const Predict *p = session->play->predict;
    int32_t member = fl__member_of(session, peer);
    int64_t unasked = -1;
    tick = tick != NULL ? tick : &unasked;
    *tick = -1;
    if (p == NULL || member == FL__NONE) {
        return NULL;
    }
    if (fl__is_host(session)) {
        *tick = p->tick;
        return p->players[member].plays ? state_of(p, member) : NULL;
    }
    bool own = member == session->self && p->own.begun;
    return own ? fl_timeline_present(p->own.timeline, tick) : NULL;
}

bool fl_predict_pose(const FlSession *session, FlTime now, FlPose *pose)
{
    const Predict *p = session->play->predict;
    int64_t tick;
    memset(pose, 0, sizeof *pose);
    const void *state = fl_predict_state(session, fl_peer_self(session), &tick);
    if (state == NULL || p->def.pose_fn == NULL) {
        return false;
    }
    p->def.pose_fn(p->def.ctx, state, pose);
    if (!fl__is_host(session)) {
        fl__predict_own_pose(session, p, now, pose);
    }
    return true;
}

FlPredictStats fl_predict_stats(const FlSession *session, FlPeerId peer)
{
    const Predict *p = session->play->predict;
    int32_t member = fl__member_of(session, peer);
    FlPredictStats none = {.early_ns = FL_FOREVER};
    if (p == NULL || member == FL__NONE) {
        return none;
    }
    if (fl__is_host(session)) {
        return p->players[member].plays ? p->players[member].stats : none;
    }
    return member == session->self ? p->own.stats : none;
}

bool fl_predict_entity(const FlSession *session, int64_t tick, FlEntityId id, FlPose *pose)
{
    const Predict *p = session->play->predict;
    memset(pose, 0, sizeof *pose);
    return p != NULL && fl__entity_stood(session, id, fl__predict_time(p, tick), pose);
}

// ---------------------------------------------------------------- states on their way

static const PredictPlayer *due_over(const FlSession *session, int32_t connection)
{
    const Predict *p = session->play->predict;
    int32_t member = fl__connection_member(session, connection);
    if (p == NULL || !fl__is_host(session) || member == FL__NONE) {
        return NULL;
    }
    const PredictPlayer *player = &p->players[member];
    return is_due(p, player) ? player : NULL;
}

static Want want(const void *self, int32_t connection, FlTime now)
{
    const FlSession *session = (const FlSession *)self;
    if (due_over(session, connection) == NULL) {
        return fl__want_none();
    }
    Want want = {now, 0, OWN_HEAD + session->play->predict->def.state_bytes, 0, 0};
    return want;
}

static int64_t clamped(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

void fl__own_write(FlWriter *w, const OwnSection *own)
{
    fl_writer_put(w, own->low, 32);
    fl_writer_put(w, own->missed, 8);
    fl_writer_put(w, (uint16_t)own->late_tick, 16);
    fl_writer_put(w, (uint16_t)own->late, 16);
    fl_writer_put(w, (uint64_t)own->count, 16);
    fl_writer_bytes(w, own->bytes, own->count);
}

static void write(void *self, PacketOut *out)
{
    FlSession *session = (FlSession *)self;
    Predict *p = session->play->predict;
    const PredictPlayer *due = due_over(session, out->connection);
    if (due == NULL || OWN_HEAD + p->def.state_bytes > out->left) {
        return;
    }
    int32_t member = fl__connection_member(session, out->connection);
    FlTime late;
    int64_t late_tick;
    bool came = fl__worst_get(&due->late, out->time / LATE_PERIOD, &late, &late_tick);
    int64_t steps = came ? clamped(late / LATE_STEP, -INT16_MAX, INT16_MAX) : LATE_NONE;
    int64_t back = came ? clamped(late_tick - p->tick, -INT16_MAX, INT16_MAX) : 0;
    OwnSection own = {.low = (uint64_t)p->tick & 0xffffffffu,
                      .missed = (uint8_t)(due->stats.missed & 0xffu),
                      .late_tick = (int16_t)back,
                      .late = (int16_t)steps,
                      .count = p->def.state_bytes,
                      .bytes = state_of(p, member)};
    fl_writer_put(out->w, SECTION_OWN, 8);
    fl__own_write(out->w, &own);
    p->players[member].sent = p->tick;
    p->players[member].urgent = false;
}

bool fl__own_read(FlReader *r, OwnSection *in)
{
    in->low = fl_reader_take(r, 32);
    in->missed = (uint8_t)fl_reader_take(r, 8);
    in->late_tick = (int16_t)(uint16_t)fl_reader_take(r, 16);
    in->late = (int16_t)(uint16_t)fl_reader_take(r, 16);
    in->count = (int32_t)fl_reader_take(r, 16);
    if (in->count < 1 || in->count > FL_PREDICT_STATE_BYTES ||
        (in->late == LATE_NONE && in->late_tick != 0)) {
        return false;
    }
    in->bytes = fl_reader_bytes(r, in->count);
    return in->bytes != NULL;
}

static bool skip(const void *self, PacketIn *packet)
{
    (void)self;
    OwnSection in;
    return fl__own_read(packet->r, &in);
}

static void take(void *self, PacketIn *packet)
{
    FlSession *session = (FlSession *)self;
    Predict *p = session->play->predict;
    OwnSection in;
    if (!fl__own_read(packet->r, &in) || p == NULL) {
        return; // this game predicts nothing, or not yet
    }
    if (in.count != p->def.state_bytes) {
        fl__connection_malformed(session, packet->connection);
        return;
    }
    int64_t near = fl__predict_tick_at(p, fl_session_time(session, packet->arrival));
    PredictCame came = {
        .tick = fl__unwrap(near, in.low, 32), .missed = in.missed, .state = in.bytes};
    came.has_late = in.late != LATE_NONE;
    came.late_tick = came.tick + in.late_tick;
    came.late = (FlTime)in.late * LATE_STEP;
    fl__predict_own_came(session, p, &came);
}

static void changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    const Predict *p = session->play->predict;
    if (p != NULL && (change->kind == CHANGE_MEMBER_LEFT || change->kind == CHANGE_MEMBER_CAME)) {
        p->players[change->member].plays = false;
    }
}

const Feature fl__feature_predict = {
    .name = "predict",
    .sections = {SECTION_OWN, 1},
    .want = want,
    .write = write,
    .skip = skip,
    .take = take,
    .changed = changed,
};
