// How many bytes may go: a token bucket, and its rate following what the path bears.
//
// Down when packets queue (the way out takes markedly longer than it can) or when more is lost than
// slowing down could ever cure; up again, gently, when neither is the case. A path that loses a
// share of everything whatever we do (radio) is not congested: the loss that stays is learnt as its
// floor.
#include "private.h"

void fl__budget_init(FlBudget *budget, double rate_bytes_s, double burst_bytes, FlTime now)
{
    FlBudget fresh = {rate_bytes_s, burst_bytes, burst_bytes, now};
    *budget = fresh;
}

static void fill(FlBudget *budget, FlTime now)
{
    FlTime span = fl_span(now, budget->filled_at);
    if (span <= 0) {
        budget->filled_at = span < -SET_BACK_NS ? now : budget->filled_at;
        return;
    }
    budget->filled_at = now;
    double tokens = budget->tokens + budget->rate_bytes_s * fl_span_seconds(span);
    budget->tokens = tokens < budget->burst_bytes ? tokens : budget->burst_bytes;
}

double fl__budget_available(FlBudget *budget, FlTime now)
{
    fill(budget, now);
    return budget->tokens > 0.0 ? budget->tokens : 0.0;
}

void fl__budget_spend(FlBudget *budget, FlTime now, double bytes)
{
    fill(budget, now);
    budget->tokens -= bytes;
}

FlTime fl__budget_when(FlBudget *budget, FlTime now, double bytes)
{
    fill(budget, now);
    double missing = (bytes < budget->burst_bytes ? bytes : budget->burst_bytes) - budget->tokens;
    if (!(missing > 0.0)) {
        return now;
    }
    if (!(budget->rate_bytes_s > 0.0)) {
        return FL_FOREVER;
    }
    return fl_time_add(now, fl_span_from_seconds(missing / budget->rate_bytes_s) + 1);
}

#define LOOK_EVERY_AT_LEAST FL_MS(200)
#define QUEUE_AT_LEAST FL_MS(50) // a queue shorter than this does no harm
#define LOSS_OVER_FLOOR 0.10
#define DECIDED_AT_LEAST 24
#define DOWN 0.8
#define UP 1.05

// Is more lost than the path loses anyway? `floor` is what it loses anyway: the average so far. A
// share measured on a few packets scatters, so two of its standard deviations are granted.
static bool lossy(Adaptation *a, const Outbox *o)
{
    double delivered = (double)(o->delivered - a->delivered_before);
    double lost = (double)(o->lost - a->lost_before);
    double decided = delivered + lost;
    if (decided < DECIDED_AT_LEAST) {
        return false;
    }
    a->delivered_before = o->delivered;
    a->lost_before = o->lost;
    double loss = lost / decided;
    double scatter = sqrt(loss * (1.0 - loss) / decided);
    bool over = loss > a->loss_floor + LOSS_OVER_FLOOR + 2.0 * scatter;
    a->loss_floor += 0.1 * (loss - a->loss_floor);
    return over;
}

static bool queueing(const FlClockDelays *delays)
{
    FlTime excess = delays->out.average_ns - delays->out.minimum_ns;
    FlTime usual = 3 * delays->out.deviation_ns;
    return delays->known && excess > fl__time_max(usual, QUEUE_AT_LEAST);
}

void fl__budget_adapt(FlBudget *budget, Adaptation *a, const FlLinkDef *def, const Outbox *o,
                      const FlClockDelays *delays, FlTime now)
{
    if (now < a->next) {
        return;
    }
    FlTime trip = delays->known ? delays->trip.average_ns : 0;
    a->next = now + fl__time_max(trip, LOOK_EVERY_AT_LEAST);
    bool lossy_now = lossy(a, o);
    if (queueing(delays) || lossy_now) {
        double slower = budget->rate_bytes_s * DOWN;
        a->slowed += slower >= def->rate_min_bytes_s ? 1 : 0;
        budget->rate_bytes_s = slower > def->rate_min_bytes_s ? slower : def->rate_min_bytes_s;
    } else if (budget->rate_bytes_s < def->rate_max_bytes_s) {
        double faster = budget->rate_bytes_s * UP;
        a->sped_up++;
        budget->rate_bytes_s = faster < def->rate_max_bytes_s ? faster : def->rate_max_bytes_s;
    }
}
