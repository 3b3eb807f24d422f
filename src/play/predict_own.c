// Prediction, a client's side: our own player, ahead of the host.
//
// The ring of inputs and states is a timeline of one player that follows a server
// (agree/timeline.h): inputs are known at once, the host's states settle it, and what was played
// otherwise is played again.
//
// How far ahead. Tick t is played when session time is its own minus the *lead*. With each state
// the host says how late the latest input of the last second was, and of which tick; with the lead
// that this tick was played with, that is the lead that it would have needed, whatever the lead is
// now. So there is no delay in the loop and it cannot swing. The lead goes to the largest need of
// the last 8 to 16 s, and half as much above it as that is above the usual one. It moves by letting
// time run a little faster or slower, never by a jump.
//
// What is shown. When playing again moves the present, the picture keeps the difference as an
// offset that goes to nothing within blend_ns.
#include "predicted.h"

#include "agree/timeline.h"
#include "base/maths.h"
#include "link/link.h"

#include <math.h>
#include <string.h>

#define NEED_PERIOD FL_SEC(8)
#define NEED_SPARE FL_MS(2)
#define NEED_WEIGHT 0.05 // of a report in the usual need
#define SLEW_UP_PERCENT 10
#define SLEW_LATE_PERCENT 25 // while inputs come too late
#define SLEW_DOWN_PERCENT 2
#define FRAME_MAX FL_MS(100) // a longer one is a pause
#define NOT_PLAYED INT64_MIN
#define SILENT_FOR FL_MS(500) // the host was away: what it says of arrivals then is no measure

// ---------------------------------------------------------------- making and ending

FlResult fl__predict_own_create(FlSession *session, Predict *predict)
{
    const FlAlloc *alloc = &session->def.alloc;
    PredictOwn *own = &predict->own;
    const FlPredictDef *def = &predict->def;
    FlTimelineDef line = fl_timeline_def_default();
    line.player_capacity = 1;
    line.state_bytes = def->state_bytes;
    line.input_bytes = session->def.input_bytes;
    line.history_ticks = def->history_ticks;
    line.budget_ticks = def->history_ticks;
    line.game.step_fn = def->step_fn;
    line.game.ctx = def->ctx;
    line.alloc = *alloc;
    FlResult result = fl_timeline_create(&line, &own->timeline);
    size_t leads = (size_t)def->history_ticks * sizeof *own->leads;
    if (result == FL_OK) {
        fl__timeline_follow(own->timeline);
        own->leads = (FlTime *)fl_alloc(alloc, leads, _Alignof(FlTime));
        own->came = (uint8_t *)fl_alloc(alloc, (size_t)def->state_bytes, 16);
        result = own->leads != NULL && own->came != NULL ? FL_OK : FL_NO_MEMORY;
    }
    fl__worst_clear(&own->need);
    fl__worst_clear(&own->frame);
    own->came_tick = -1;
    own->stats.early_ns = FL_FOREVER;
    return result;
}

void fl__predict_own_destroy(const FlSession *session, Predict *predict)
{
    const FlAlloc *alloc = &session->def.alloc;
    PredictOwn *own = &predict->own;
    fl_timeline_destroy(own->timeline);
    fl_free(alloc, own->leads, (size_t)predict->def.history_ticks * sizeof *own->leads);
    fl_free(alloc, own->came, (size_t)predict->def.state_bytes);
}

static FlTime *lead_of(const Predict *p, int64_t tick)
{
    return &p->own.leads[tick & (p->def.history_ticks - 1)];
}

// ---------------------------------------------------------------- what came

static void note_need(FlSession *session, Predict *p, const PredictCame *came)
{
    PredictOwn *own = &p->own;
    own->stats.early_ns = -came->late;
    if (session->now < own->trust_at) {
        return;
    }
    own->late = came->late > 0;
    bool kept = own->begun && came->late_tick < own->next &&
                came->late_tick >= own->next - p->def.history_ticks;
    FlTime before = kept ? *lead_of(p, came->late_tick) : NOT_PLAYED;
    if (before == NOT_PLAYED) {
        return;
    }
    FlTime need = before + came->late;
    int64_t period = fl_session_time(session, session->now) / NEED_PERIOD;
    fl__worst_note(&own->need, period, need, came->late_tick);
    own->need_mean = own->has_need ? own->need_mean : (double)need;
    own->need_mean += NEED_WEIGHT * ((double)need - own->need_mean);
    own->has_need = true;
}

void fl__predict_own_came(FlSession *session, Predict *predict, const PredictCame *came)
{
    PredictOwn *own = &predict->own;
    if (came->tick <= own->came_tick) {
        return; // overtaken
    }
    own->stats.confirmed++;
    own->stats.missed += own->came_tick < 0 ? 0 : (uint8_t)(came->missed - own->came_missed);
    if (own->came_tick >= 0 && fl_span(session->now, own->came_at) > SILENT_FOR) {
        own->trust_at = session->now + SILENT_FOR + FL_SEC(1);
    }
    own->came_at = session->now;
    own->waits = true;
    own->came_tick = came->tick;
    own->came_missed = came->missed;
    memcpy(own->came, came->state, (size_t)predict->def.state_bytes);
    if (came->has_late) {
        note_need(session, predict, came);
    }
}

// ---------------------------------------------------------------- how far ahead

static FlTime lead_wanted(const Predict *p, int64_t period)
{
    const PredictOwn *own = &p->own;
    FlTime need, frame;
    int64_t tick;
    if (!fl__worst_get(&own->need, period, &need, &tick)) {
        return own->lead;
    }
    frame = fl__worst_get(&own->frame, period, &frame, &tick) ? frame : 0;
    double above = (double)need - own->need_mean;
    need += frame + NEED_SPARE + (above > 0.0 ? (FlTime)(above / 2.0) : 0);
    return fl_time_min(fl__time_max(need, 0), p->def.lead_max_ns);
}

static void move_lead(const FlSession *session, Predict *p, FlTime now)
{
    PredictOwn *own = &p->own;
    int64_t period = fl_session_time(session, now) / NEED_PERIOD;
    FlTime elapsed = fl_span(now, own->lead_at);
    own->lead_at = now;
    if (elapsed <= 0 || elapsed > FRAME_MAX) {
        return;
    }
    fl__worst_note(&own->frame, period, elapsed, 0);
    FlTime away = lead_wanted(p, period) - own->lead;
    FlTime up = elapsed * (own->late ? SLEW_LATE_PERCENT : SLEW_UP_PERCENT) / 100;
    FlTime down = elapsed * SLEW_DOWN_PERCENT / 100;
    own->lead += away > up ? up : away < -down ? -down : away;
    own->stats.lead_ns = own->lead;
}

// Nothing was reported yet: half a round trip, and two ticks.
static FlTime first_lead(const FlSession *session, const Predict *p, FlTime now)
{
    int32_t connection = fl__member_connection(session, session->host);
    FlTime lead = 2 * FL_SEC(1) / p->def.tick_hz;
    if (connection != FL__NONE) {
        FlLinkStats stats;
        fl_link_stats(fl__connection_link(session, connection), now, &stats);
        lead += stats.rtt_p95_ns / 2;
    }
    return fl_time_min(lead, p->def.lead_max_ns);
}

// ---------------------------------------------------------------- blending

static double fade_of(const Predict *p, FlTime now)
{
    double past = (double)fl_span(now, p->own.offset_at) / (double)p->def.blend_ns;
    past = past < 0.0 ? 0.0 : past;
    return past < 1.0 ? (1.0 - past) * (1.0 - past) : 0.0;
}

static FlVec3 vec_plus(FlVec3 a, FlVec3 b, double factor)
{
    return fl_vec3(a.x + factor * b.x, a.y + factor * b.y, a.z + factor * b.z);
}

static double vec_apart(FlVec3 a, FlVec3 b)
{
    FlVec3 d = vec_plus(a, b, -1.0);
    return sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
}

// The present was `before`, and is another now.
static void correct(Predict *p, const FlPose *before, FlTime now)
{
    PredictOwn *own = &p->own;
    FlPose after = {0};
    int64_t tick;
    p->def.pose_fn(p->def.ctx, fl_timeline_present(own->timeline, &tick), &after);
    double apart = vec_apart(before->position, after.position);
    if (apart > p->def.correction) {
        own->stats.corrections++;
        own->stats.decided += own->missed == own->came_missed ? 1 : 0;
        own->stats.correction_sum += apart;
        own->stats.correction_max = fl__max(own->stats.correction_max, apart);
    }
    double left = apart > p->def.snap ? 0.0 : 1.0;
    double fade = left * fade_of(p, now);
    FlVec3 moved = vec_plus(before->position, after.position, -1.0);
    FlVec3 none = {0};
    own->offset = vec_plus(vec_plus(none, own->offset, fade), moved, left);
    double turned = left * fl_angle_wrap(before->yaw - after.yaw);
    own->offset_yaw = fl_angle_wrap(own->offset_yaw * fade + turned);
    own->offset_at = now;
}

// ---------------------------------------------------------------- the host's state

// With the host's state, as far ahead as we play. False: it is too old for that.
static bool begin(FlSession *session, Predict *p, FlTime now)
{
    PredictOwn *own = &p->own;
    if (!own->begun) {
        own->lead = first_lead(session, p, now);
        own->lead_at = now;
    }
    int64_t due = fl__predict_tick_at(p, fl_session_time(session, now) + own->lead);
    int64_t next = due > own->came_tick ? due : own->came_tick;
    if (next - own->came_tick > p->def.history_ticks / 2) {
        return false;
    }
    fl_timeline_begin(own->timeline, own->came_tick, own->came);
    FlResult entered = fl_timeline_enter(own->timeline, 0, own->came_tick);
    FL_ASSERT(entered == FL_OK); // it is new
    (void)entered;
    for (int64_t tick = next - p->def.history_ticks; tick < next; tick++) {
        *lead_of(p, tick) = NOT_PLAYED;
    }
    fl_timeline_advance(own->timeline, next);
    own->next = next;
    own->begun = true;
    return true;
}

static void reconcile(FlSession *session, Predict *p, FlTime now)
{
    PredictOwn *own = &p->own;
    int64_t present;
    FlPose before = {0};
    bool drawn = own->begun && p->def.pose_fn != NULL;
    const void *shown = fl_timeline_present(own->timeline, &present);
    if (drawn) {
        p->def.pose_fn(p->def.ctx, shown, &before);
    }
    own->waits = false;
    bool same = false;
    FlResult result = FL_NOT_FOUND;
    if (own->begun) {
        result = fl__timeline_confirm(own->timeline, own->came_tick, own->came, &same);
    }
    if (result == FL_NOT_FOUND) {
        own->begun = begin(session, p, now);
        drawn = drawn && own->begun;
    } else if (!same) {
        fl_timeline_advance(own->timeline, present);
    }
    if (result != FL_OUT_OF_ORDER && !same && present > 0) {
        own->stats.differing++;
        if (drawn) {
            correct(p, &before, now);
        }
    }
    own->missed = own->came_missed;
    own->stats.replayed = fl_timeline_figures(own->timeline).replayed;
}

// ---------------------------------------------------------------- a tick

bool fl__predict_own_tick(FlSession *session, Predict *predict, FlTime now, const void *input)
{
    Predict *p = predict;
    PredictOwn *own = &p->own;
    if (own->waits) {
        reconcile(session, p, now);
    }
    if (!own->begun || input == NULL) {
        return false;
    }
    move_lead(session, p, now);
    FlTime time = fl_session_time(session, now);
    int64_t due = fl__predict_tick_at(p, time + own->lead);
    if (own->next > due) {
        return false;
    }
    if (due - own->next > p->def.tick_hz) { // we were away: what we would have done is of no use
        for (; own->next < due; own->next++) {
            *lead_of(p, own->next) = NOT_PLAYED;
        }
    }
    int64_t settled;
    (void)fl_timeline_settled(own->timeline, &settled);
    if (own->next + 2 - settled > p->def.history_ticks) {
        own->stats.waits++;
        return false;
    }
    if (fl_input_set(session, own->next, input) != FL_OK) {
        return false;
    }
    FlResult taken = fl_timeline_input(own->timeline, 0, own->next, input);
    FL_ASSERT(taken == FL_OK); // it is the next, and there is room
    (void)taken;
    *lead_of(p, own->next) = fl_span(fl__predict_time(p, own->next), time);
    own->next++;
    fl_timeline_advance(own->timeline, own->next);
    own->stats.ticks++;
    return true;
}

// ---------------------------------------------------------------- asking

const void *fl_predict_confirmed(const FlSession *session, int64_t *tick)
{
    const Predict *p = session->play->predict;
    bool known = p != NULL && p->own.came_tick >= 0;
    if (tick != NULL) {
        *tick = known ? p->own.came_tick : -1;
    }
    if (!known) {
        return NULL;
    }
    return p->own.came;
}

// Between the last two states, where time is.
static void between(const Predict *p, FlTime time, FlPose *pose)
{
    const PredictOwn *own = &p->own;
    const void *last = fl__timeline_saved(own->timeline, own->next - 1);
    if (last == NULL) {
        return;
    }
    FlPose from = {0};
    p->def.pose_fn(p->def.ctx, last, &from);
    FlTime begins = fl__predict_time(p, own->next - 1);
    FlTime ends = fl__predict_time(p, own->next);
    double share = (double)fl_span(time, begins) / (double)fl_span(ends, begins);
    share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    if (vec_apart(from.position, pose->position) <= p->def.snap) {
        FlVec3 way = vec_plus(pose->position, from.position, -1.0);
        double turn = fl_angle_wrap(pose->yaw - from.yaw);
        pose->position = vec_plus(from.position, way, share);
        pose->yaw = fl_angle_wrap(from.yaw + share * turn);
    }
}

void fl__predict_own_pose(const FlSession *session, const Predict *predict, FlTime now,
                          FlPose *pose)
{
    double yaw = pose->yaw;
    between(predict, fl_session_time(session, now) + predict->own.lead, pose);
    double fade = fade_of(predict, now);
    pose->position = vec_plus(pose->position, predict->own.offset, fade);
    pose->yaw = fl_angle_wrap(pose->yaw + fade * predict->own.offset_yaw);
    FlQuat turn = fl__quat_from_yaw(fl_angle_wrap(pose->yaw - yaw));
    pose->rotation = fl__quat_multiply(turn, pose->rotation);
}
