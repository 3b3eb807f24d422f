// A random process in time that can be asked about any slot, in any order, and always gives the
// same answer.
//
// Walking such a process slot by slot would cost an hour's steps after an hour of silence, and
// restarting it after a silence would make the network depend on the traffic. A process without
// further memory (the future depends on the present alone) can instead be filled in from coarse to
// fine: anchors so far apart that they are independent, then the middle between two known values,
// drawn from its distribution given both, and so on by halves.
//
//     slot    0           4           8          12          16
//     anchor  x                                               x      level 4: 16 slots
//     middle                          x                              level 3: from 0 and 16
//     middle              x                                          level 2: from 0 and 8
//
// The value at a slot is then a function of (seed, link, slot), with exactly the process's own
// correlation, and any slot takes at most `top` draws. The last way down is cached, so a walk from
// slot to slot takes about one draw each.
//
// Invariant: level k, when known, holds the true values at slots cell << k and (cell + 1) << k,
// whatever was asked for before; the cache is never visible.
//
// Source: Lévy's construction of Brownian motion, here for stationary processes.
#include "private.h"

#define INDEPENDENT 1e-9 // anchors correlate by less than this

int32_t fl__lattice_top(double memory)
{
    for (int32_t top = 0; top < LATTICE_LEVELS; top++) {
        if (memory < INDEPENDENT) {
            return top;
        }
        memory *= memory;
    }
    return -1;
}

void fl__lattice_reset(Lattice *lattice, int32_t top)
{
    FL_ASSERT(top >= 0 && top < LATTICE_LEVELS);
    lattice->top = top;
    lattice->known = 0;
}

static void put(Lattice *lattice, int32_t level, uint64_t slot, double left, double right)
{
    lattice->cell[level] = slot >> level;
    lattice->left[level] = left;
    lattice->right[level] = right;
    lattice->known |= UINT32_C(1) << level;
}

static bool holds(const Lattice *lattice, int32_t level, uint64_t slot)
{
    return (lattice->known >> level & 1u) != 0 && lattice->cell[level] == slot >> level;
}

// The finest level whose cell contains the slot; the anchors' if none does.
static int32_t start_level(Lattice *lattice, const LatticeRule *rule, const void *process,
                           uint64_t slot)
{
    for (int32_t level = 0; level <= lattice->top; level++) {
        if (holds(lattice, level, slot)) {
            return level;
        }
    }
    uint64_t first = slot >> lattice->top << lattice->top;
    uint64_t second = first + (UINT64_C(1) << lattice->top);
    put(lattice, lattice->top, slot, rule->anchor(process, first), rule->anchor(process, second));
    return lattice->top;
}

double fl__lattice_at(Lattice *lattice, const LatticeRule *rule, const void *process, uint64_t slot)
{
    int32_t level = start_level(lattice, rule, process, slot);
    while (level > 0) {
        uint64_t first = lattice->cell[level] << level;
        double left = lattice->left[level];
        double right = lattice->right[level];
        if (slot == first) {
            return left;
        }
        level--;
        uint64_t centre = first + (UINT64_C(1) << level);
        double middle = rule->middle(process, level, centre, left, right);
        if (slot < centre) {
            put(lattice, level, slot, left, middle);
        } else {
            put(lattice, level, slot, middle, right);
        }
    }
    return lattice->left[0];
}
