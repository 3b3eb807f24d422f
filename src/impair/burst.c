// Loss bursts: Gilbert and Elliott's chain of a good and a bad state, as a process in time.
//
// From one slot to the next a good network turns bad with probability p = 1 ms / gap and a bad one
// good with r = 1 ms / length, so gaps and bursts have those mean lengths (geometric). In the long
// run the share p/(p + r) of time is bad, and the state n slots later still remembers memory^n of
// today's, memory = 1 - p - r:
//
//     P(bad in n slots | state a) = share + (a - share) * memory^n,   a = 1 when bad, 0 when good.
//
// Why in time and not by packet: a burst is the network's, not the sender's; who sends more meets
// more of it. Filled in by halves (lattice.c): the middle of a span with ends l, r is bad with
// probability P(l -> bad) * P(bad -> r) / P(l -> r), each over its number of slots.
#include "private.h"

static double chance_per_slot(FlTime mean)
{
    return (double)SLOT_NS / (double)mean;
}

double fl__burst_memory(FlTime gap, FlTime length)
{
    return 1.0 - chance_per_slot(gap) - chance_per_slot(length);
}

// Probability to go from state `from` to state `to` while memory shrinks to `memory`.
static double passage(const Burst *burst, double from, double to, double memory)
{
    double bad = burst->share + (from - burst->share) * memory;
    return to > 0.5 ? bad : 1.0 - bad;
}

static double draw(const Burst *burst, uint64_t slot, double chance)
{
    return open_unit(fl_random_at(burst->seed, burst->stream, slot)) < chance ? 1.0 : 0.0;
}

static double anchor(const void *process, uint64_t slot)
{
    const Burst *burst = process;
    return draw(burst, slot, burst->share);
}

static double middle(const void *process, int32_t level, uint64_t slot, double left, double right)
{
    const Burst *burst = process;
    double half = burst->memory[level];
    double via_bad = passage(burst, left, 1.0, half) * passage(burst, 1.0, right, half);
    double direct = passage(burst, left, right, half * half);
    return draw(burst, slot, via_bad / direct);
}

void fl__burst_setup(Burst *burst, uint64_t seed, uint32_t link, FlTime gap, FlTime length)
{
    double begin = chance_per_slot(gap);
    double memory = fl__burst_memory(gap, length);
    burst->seed = seed;
    burst->stream = stream_of(link, PURPOSE_BURST);
    burst->share = begin / (begin + chance_per_slot(length));
    int32_t top = fl__lattice_top(memory);
    fl__lattice_reset(&burst->lattice, top);
    for (int32_t level = 0; level < top; level++) {
        burst->memory[level] = memory;
        memory *= memory;
    }
}

bool fl__burst_at(Burst *burst, uint64_t slot)
{
    static const LatticeRule rule = {anchor, middle};
    return fl__lattice_at(&burst->lattice, &rule, burst, slot) > 0.5;
}
