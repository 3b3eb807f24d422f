// Do both sides of every call know the same verdict?
//
// Sums over all calls would hide it: one that is applied there and refused here cancels another the
// other way round. So verdicts are held against each other deed by deed.
#ifndef LAB_ATTENTION_VERDICTS_H
#define LAB_ATTENTION_VERDICTS_H

#include "arena/arena.h"

typedef struct AttentionVerdicts AttentionVerdicts;

/// NULL: out of memory.
AttentionVerdicts *attention_verdicts_create(void);
void attention_verdicts_destroy(AttentionVerdicts *verdicts);

/// Its owner has decided a deed; or who asked has learnt of it.
void attention_verdicts_note(AttentionVerdicts *verdicts, const ArenaDeed *deed, bool applied,
                             bool decided);

/// Deeds that were applied by one side's word and not by the other's.
int64_t attention_verdicts_apart(const AttentionVerdicts *verdicts);

#endif
