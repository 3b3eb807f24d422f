// The fairness experiment outside virtual time: processes, sockets, the machine's clock.
//
// The sender and every receiver are a process with a UDP socket on the loopback interface. Each
// receiver sends what comes and goes through module `impair`, as `fairlead wan` does, so that it is
// as far away as in the virtual world. Every process has a clock of its own (the machine's,
// shifted).
//
// Truth by common time: all processes note, at the same moments of the machine's clock, where they
// have every entity (exported, or placed) into memory they share; afterwards the distances are
// added up as in the virtual world.
#ifndef LAB_LIVE_H
#define LAB_LIVE_H

#include "lab/experiments/fairness/fairness.h"

/// Plays it in real time: as long as the source, and 12 s before it. Sessions are not sealed.
LabStatus fairness_live(const FairnessPlay *play, FairnessFigures *figures, LabError *error);

#endif
