// Which time of an entity's is shown, where lags say so (FL_HOLD_LAGS).
//
// Its path lives in its owner's session time, which only numbers the points. When one is shown is
// by our own clock, our A, and the owner's offset (agree/lags_shown.c): our session time has no
// part in it.
//
// What lags say may step for an entity: it gets another owner, an offset came late, or lags get
// known (until then it is shown as of Δ ago by session time). The picture does not: it goes on from
// where it is, and gets there `warp` faster or slower.
#include "private.h"

void fl__entities_set_lags(FlSession *session, LagTimesFn *times)
{
    session->entities->lag_times = times;
    session->entities->by_lags = session->def.tuning.show.hold == FL_HOLD_LAGS;
}

bool fl__entities_by_lags(const FlSession *session)
{
    return session->entities->by_lags;
}

bool fl__shows_so(const FlSession *session, const FlShowDef *def)
{
    return def->hold != FL_HOLD_LAGS || (session->entities->lag_times != NULL &&
                                         session->def.tuning.time_mode == FL_TIME_GLOBAL);
}

static bool lags_say(const FlSession *session, const Entity *entity, FlTime now, ByLags *shown)
{
    ByLags none = {0};
    *shown = none;
    LagTimesFn *times = session->entities->lag_times;
    int32_t owner = entity->ours ? session->self : entity->owner;
    return owner != FL__NONE && times != NULL && times(session, owner, now, shown);
}

bool fl__entity_time_by_lags(const FlSession *session, int32_t slot, FlTime time, FlTime *shown)
{
    ByLags by;
    bool known =
        lags_say(session, fl__entity(session, slot), fl_session_local_time(session, time), &by);
    *shown = known ? by.time : time;
    return known;
}

/// What is left of a difference after `span`.
static FlTime left_of(FlTime apart, FlTime span, double warp)
{
    FlTime gone = span > 0 ? (FlTime)(warp * (double)span) : 0;
    return apart > gone ? apart - gone : apart < -gone ? apart + gone : 0;
}

static bool has_stepped(const LagView *view, const Entity *entity, const ByLags *by, bool known)
{
    return view->known != known || view->owner != entity->owner || view->version != by->version;
}

ShownTime fl__shown_time(FlSession *session, Entity *entity, FlTime time, FlTime now)
{
    ShownTime plain = {time, 1.0};
    const FlShowDef *def = &entity->detail->show.def;
    if (def->hold != FL_HOLD_LAGS) {
        return plain;
    }
    ByLags by;
    bool known = lags_say(session, entity, now, &by);
    by.time = known ? by.time : fl_time_add(time, -def->delta_ns);
    by.rate = known ? by.rate : 1.0;
    LagView *view = &entity->detail->by_lags;
    FlTime span = view->started ? fl_span(now, view->now) : 0;
    FlTime apart = view->started ? left_of(view->apart, span, def->warp) : 0;
    if (view->started && has_stepped(view, entity, &by, known)) {
        apart = fl_span(fl_time_add(view->shown, span), by.time);
        bool far = apart > FL_SHOW_DELTA_MAX_NS || apart < -FL_SHOW_DELTA_MAX_NS;
        apart = far ? 0 : apart;
    }
    ShownTime shown = {fl_time_add(by.time, apart), by.rate};
    shown.rate += apart > 0 ? -def->warp : apart < 0 ? def->warp : 0.0;
    if (!view->started || span >= 0) {
        LagView next = {now, shown.time, apart, entity->owner, by.version, true, known};
        *view = next;
    }
    return shown;
}

FlTime fl__shown_arrival(FlSession *session, Entity *entity, FlTime arrived)
{
    if (entity->detail->show.def.hold != FL_HOLD_LAGS) {
        return arrived;
    }
    FlTime now = fl_session_local_time(session, arrived);
    return fl__shown_time(session, entity, arrived, now).time;
}
