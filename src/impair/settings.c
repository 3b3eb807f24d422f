// The settings of one direction: whether they make sense.
#include "private.h"

static bool within(int64_t value, int64_t low, int64_t high)
{
    return value >= low && value <= high;
}

static const char *delay_problem(const FlImpairSettings *s)
{
    if (!within(s->delay_ns, 0, FL_SEC(3600))) {
        return "delay is 0 to 3600000 ms";
    }
    if (!within(s->jitter_ns, 0, FL_SEC(600))) {
        return "jitter is 0 to 600000 ms";
    }
    if (!within((int64_t)s->shape, FL_SHAPE_CONSTANT, FL_SHAPE_PARETO_NORMAL)) {
        return "the distribution is constant, uniform, normal, pareto or paretonormal";
    }
    if (!within(s->correlation_ppm, 0, 999999)) {
        return "correlation is 0 or more and below 1";
    }
    if (!within(s->correlation_lag_ns, FL_MS(1), FL_SEC(60))) {
        return "correlation-lag is 1 to 60000 ms";
    }
    return NULL;
}

static const char *loss_problem(const FlImpairSettings *s)
{
    if (!within(s->loss_ppm, 0, 1000000) || !within(s->burst_loss_ppm, 0, 1000000)) {
        return "loss and burst-loss are 0 to 100 percent";
    }
    if (!within(s->duplicate_ppm, 0, 1000000)) {
        return "duplicate is 0 to 100 percent";
    }
    if (!within(s->burst_length_ns, FL_MS(1), FL_SEC(3600))) {
        return "burst-length is 1 to 3600000 ms";
    }
    if (s->burst_gap_ns != 0 && !within(s->burst_gap_ns, FL_MS(1), FL_SEC(86400))) {
        return "burst-gap is 1 to 86400000 ms, or 0 for no bursts";
    }
    return NULL;
}

static const char *rate_problem(const FlImpairSettings *s)
{
    if (!within(s->rate_bytes_s, 0, INT64_C(100000000000))) {
        return "rate is 0 to 800000000 kbit/s";
    }
    if (!within(s->queue_ns, 0, FL_SEC(600))) {
        return "queue is 0 to 600000 ms";
    }
    if (!within(s->packet_extra_bytes, 0, 1000)) {
        return "extra is 0 to 1000 bytes a packet";
    }
    return NULL;
}

const char *fl__settings_range_problem(const FlImpairSettings *settings)
{
    const char *problem = delay_problem(settings);
    if (problem == NULL) {
        problem = loss_problem(settings);
    }
    if (problem == NULL) {
        problem = rate_problem(settings);
    }
    return problem;
}

// Settings that are each in range may still not fit together: a process must not be faster than the
// slots, nor so slow that its anchors would lie hours apart.
static const char *fit_problem(const FlImpairSettings *s)
{
    if (fl__lattice_top(fl__sway_memory(s->correlation_ppm, s->correlation_lag_ns)) < 0) {
        return "that correlation lasts for minutes: lower correlation or correlation-lag";
    }
    if (s->burst_gap_ns == 0) {
        return NULL;
    }
    double memory = fl__burst_memory(s->burst_gap_ns, s->burst_length_ns);
    if (memory < 0.0) {
        return "bursts change state faster than every millisecond: raise burst-gap or burst-length";
    }
    if (fl__lattice_top(memory) < 0) {
        return "bursts change state too slowly: bring burst-gap or burst-length below 3 minutes";
    }
    return NULL;
}

FlResult fl__impair_settings_check(const FlImpairSettings *settings, FlImpairError *error)
{
    const char *problem = fl__settings_range_problem(settings);
    if (problem == NULL) {
        problem = fit_problem(settings);
    }
    return problem == NULL ? FL_OK : fl__impair_wrong(error, problem);
}
