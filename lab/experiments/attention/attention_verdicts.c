// A table of deeds, by their bytes; a deed that happens twice counts twice.
#include "lab/experiments/attention/attention_verdicts.h"

#include <stdlib.h>

enum { SLOTS = 1 << 18 };

typedef struct Slot {
    uint64_t deed;   ///< Hash of its bytes; 0: free.
    int32_t balance; ///< Times applied there minus times known to be applied here.
} Slot;

struct AttentionVerdicts {
    int32_t count;
    Slot slots[SLOTS];
};

AttentionVerdicts *attention_verdicts_create(void)
{
    return (AttentionVerdicts *)calloc(1, sizeof(AttentionVerdicts));
}

void attention_verdicts_destroy(AttentionVerdicts *verdicts)
{
    free(verdicts);
}

static uint64_t hash_of(const ArenaDeed *deed)
{
    uint8_t bytes[ARENA_DEED_BYTES];
    FlWriter w;
    fl_writer_init(&w, bytes, sizeof bytes);
    bool fits = arena_deed_encode(&w, deed);
    FL_ASSERT(fits);
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < sizeof bytes; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    return hash | 1u;
}

void attention_verdicts_note(AttentionVerdicts *verdicts, const ArenaDeed *deed, bool applied,
                             bool decided)
{
    uint64_t hash = hash_of(deed);
    uint32_t at = (uint32_t)(hash >> 32) % SLOTS;
    while (verdicts->slots[at].deed != 0 && verdicts->slots[at].deed != hash) {
        at = (at + 1) % SLOTS;
    }
    if (verdicts->slots[at].deed == 0) {
        verdicts->count++;
        FL_ASSERT(verdicts->count < SLOTS / 2); // a run of hours would need more
        verdicts->slots[at].deed = hash;
    }
    verdicts->slots[at].balance += applied ? (decided ? 1 : -1) : 0;
}

int64_t attention_verdicts_apart(const AttentionVerdicts *verdicts)
{
    int64_t apart = 0;
    for (int32_t i = 0; i < SLOTS; i++) {
        apart += llabs((long long)verdicts->slots[i].balance);
    }
    return apart;
}
