// Epochs, and who hosts next.
#include "private.h"

uint16_t fl_epoch_unwrap(uint16_t near, uint8_t low)
{
    uint8_t ahead = (uint8_t)(low - (uint8_t)near);
    return (uint16_t)(near + (ahead < 0x80u ? ahead : ahead - 0x100));
}

int32_t fl_group_successor(const bool *present, int32_t count, int32_t gone)
{
    for (int32_t i = 0; i < count; i++) {
        if (present[i] && i != gone) {
            return i;
        }
    }
    return -1;
}
