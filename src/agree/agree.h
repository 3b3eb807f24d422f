// Module `agree`, for the modules above it.
#ifndef FAIRLEAD_AGREE_AGREE_INNER_H
#define FAIRLEAD_AGREE_AGREE_INNER_H

#include "agree/lags.h"
#include "fairlead/agree.h"

const char *fl__lags_choice_name(FlLagsChoice choice);

/// Errors: FL_NOT_FOUND (and the first choice).
FL_NODISCARD FlResult fl__lags_choice_find(const char *name, FlLagsChoice *choice);

/// Bytes that one takes.
size_t fl__lags_memory(void);

/// From a peer's stamp (its clock) to the moment at which it is played here (our clock): stamp +
/// offset. Of ourselves: how long our own action takes to be decided here. FL_FOREVER: not known.
FlTime fl__lags_offset(const FlLags *lags, int32_t writer);

const char *fl__lags_count_name(FlLagsCount which);

/// Bytes that one takes.
size_t fl__order_memory(const FlOrderDef *def);

/// Drops the earliest that waits of a writer. It looks through all. False: none does.
bool fl__order_drop(FlOrder *order, int32_t writer);

/// Drops all with a play time after `last`; answers how many.
int32_t fl__order_trim(FlOrder *order, FlTime last);

/// Room for so many more.
int32_t fl__order_room(const FlOrder *order);

/// So many of a writer's wait.
int32_t fl__order_waiting(const FlOrder *order, int32_t writer);

typedef struct FlOrderStats {
    int32_t count;      ///< Waiting now.
    int32_t peak_count; ///< Most at once.
    uint64_t given;
    uint64_t late; ///< Given out after something later.
    uint64_t duplicates;
    uint64_t full; ///< Refused.
} FlOrderStats;

FlOrderStats fl__order_stats(const FlOrder *order);

/// As if made anew, as peer `self`: for peers that learn their number after they reserved memory.
void fl__lags_restart(FlLags *lags, int32_t self, FlTime now);

#endif
