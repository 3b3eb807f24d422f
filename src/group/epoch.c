// Epochs: eight bits travel, sixteen are meant.
#include "private.h"

uint16_t fl_epoch_unwrap(uint16_t near, uint8_t low)
{
    uint8_t ahead = (uint8_t)(low - (uint8_t)near);
    return (uint16_t)(near + (ahead < 0x80u ? ahead : ahead - 0x100));
}
