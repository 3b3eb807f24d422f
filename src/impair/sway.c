// Slow delay: packets sent close together are delayed alike, because they meet the same queues.
//
// A standard normal value per slot with correlation memory^n between slots n apart (Ornstein and
// Uhlenbeck's process at whole milliseconds), filled in by halves (lattice.c). Given its values l
// and r at the ends of a span of 2h slots, the middle is normal with mean m/(1 + m^2) * (l + r) and
// variance (1 - m^2)/(1 + m^2), m = memory^h.
//
// Each slot has one random number of its own, whatever the memory: changing the correlation keeps
// the luck.
#include "private.h"

#include "base/maths.h"

double fl__sway_memory(int32_t ppm, FlTime lag)
{
    if (ppm <= 0) {
        return 0.0;
    }
    double lag_slots = (double)lag / (double)SLOT_NS;
    return fl__exp(fl__log((double)ppm * 1e-6) / lag_slots);
}

static double own_number(const Sway *sway, uint64_t slot)
{
    return fl__normal_quantile(open_unit(fl_random_at(sway->seed, sway->stream, slot)));
}

static double anchor(const void *process, uint64_t slot)
{
    return own_number(process, slot);
}

static double middle(const void *process, int32_t level, uint64_t slot, double left, double right)
{
    const Sway *sway = process;
    return sway->pull[level] * (left + right) + sway->spread[level] * own_number(sway, slot);
}

void fl__sway_setup(Sway *sway, uint64_t seed, uint32_t link, double memory)
{
    sway->seed = seed;
    sway->stream = stream_of(link, PURPOSE_SWAY);
    int32_t top = fl__lattice_top(memory);
    fl__lattice_reset(&sway->lattice, top);
    for (int32_t level = 0; level < top; level++) {
        double square = memory * memory;
        sway->pull[level] = memory / (1.0 + square);
        sway->spread[level] = sqrt((1.0 - square) / (1.0 + square));
        memory = square;
    }
}

double fl__sway_at(Sway *sway, uint64_t slot)
{
    static const LatticeRule rule = {anchor, middle};
    return fl__lattice_at(&sway->lattice, &rule, sway, slot);
}
