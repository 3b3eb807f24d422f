// The tank game's bots as a source of motion.
#ifndef LAB_BOTS_H
#define LAB_BOTS_H

#include "lab/actors/source.h"

/// Plays a match of bots and records one of them, all its lives. Errors: FL_NO_MEMORY.
FL_NODISCARD FlResult bots_record(uint64_t seed, FlTime length, Recording *recording);

#endif
