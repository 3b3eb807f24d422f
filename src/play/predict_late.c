// When ticks are, and how late inputs come: the largest of the last two periods.
#include "predicted.h"

// ---------------------------------------------------------------- ticks

FlTime fl__predict_time(const Predict *predict, int64_t tick)
{
    return tick * FL_SEC(1) / predict->def.tick_hz;
}

int64_t fl__predict_tick_at(const Predict *predict, FlTime time)
{
    int64_t hz = predict->def.tick_hz;
    int64_t tick = time / FL_SEC(1) * hz + time % FL_SEC(1) * hz / FL_SEC(1);
    return fl__predict_time(predict, tick + 1) <= time ? tick + 1
                                                       : tick; // a tick's time is rounded
}

void fl__worst_clear(Worst *worst)
{
    Worst none = {0, INT64_MIN, INT64_MIN, 0, 0};
    *worst = none;
}

static void worst_turn(Worst *worst, int64_t period)
{
    if (period == worst->period) {
        return;
    }
    bool next = period == worst->period + 1;
    worst->before = next ? worst->value : INT64_MIN;
    worst->before_tick = worst->tick;
    worst->value = INT64_MIN;
    worst->period = period;
}

void fl__worst_note(Worst *worst, int64_t period, FlTime value, int64_t tick)
{
    worst_turn(worst, period);
    if (value >= worst->value) {
        worst->value = value;
        worst->tick = tick;
    }
}

bool fl__worst_get(const Worst *worst, int64_t period, FlTime *value, int64_t *tick)
{
    Worst now = *worst;
    worst_turn(&now, period);
    bool before = now.before > now.value;
    *value = before ? now.before : now.value;
    *tick = before ? now.before_tick : now.tick;
    return *value != INT64_MIN;
}

// ---------------------------------------------------------------- inputs

void fl__predict_input_came(FlSession *session, int32_t member, int64_t tick)
{
    const Predict *p = session->play->predict;
    if (p == NULL || !p->players[member].plays) {
        return;
    }
    FlTime came = fl_session_time(session, fl__datagram_came_at(session));
    PredictPlayer *player = &p->players[member];
    FlTime late = fl_span(came, fl__predict_time(p, tick + 1));
    late =
        tick >= p->tick && late > 0 ? 0 : late; // it is we who are late: its tick is to be played
    fl__worst_note(&player->late, came / LATE_PERIOD, late, tick);
    int64_t latest;
    (void)fl__worst_get(&player->late, came / LATE_PERIOD, &late, &latest);
    player->stats.early_ns = -late;
}
