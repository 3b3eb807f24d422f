// Section OWN as it travels, for predict.c and its vectors.
#ifndef FAIRLEAD_PLAY_OWN_H
#define FAIRLEAD_PLAY_OWN_H

#include "fairlead/wire.h"

/// OWN after its kind, as it travels: spec/WIRE.md section 7.15.
typedef struct OwnSection {
    uint64_t low; // of the tick
    uint8_t missed;
    int16_t late_tick, late;
    int32_t count;
    const uint8_t *bytes;
} OwnSection;

void fl__own_write(FlWriter *w, const OwnSection *own);

/// False: no host writes that.
bool fl__own_read(FlReader *r, OwnSection *own);

#endif
