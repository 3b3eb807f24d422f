// Which sequence numbers were here before.
//
// A bitmap over the newest 1024 numbers: bit n % 1024 stands for number n. Everything older counts
// as seen. The window moves only when a packet has authenticated; otherwise anybody could push it
// past the peer's real packets with one forged number.
//
// Comparisons subtract the smaller from the larger number, so nothing wraps at either end of 64
// bits.
#include "private.h"

#include <string.h>

static int32_t bit_of(uint64_t sequence)
{
    return (int32_t)(sequence % FL_SEAL_REPLAY_WINDOW);
}

bool fl__replay_check(const Replay *replay, uint64_t sequence)
{
    if (!replay->any || sequence > replay->newest) {
        return true;
    }
    if (replay->newest - sequence >= FL_SEAL_REPLAY_WINDOW) {
        return false;
    }
    return !fl__bit_get(replay->seen, bit_of(sequence));
}

void fl__replay_note(Replay *replay, uint64_t sequence)
{
    if (!replay->any) {
        replay->any = true;
        replay->newest = sequence;
    }
    if (sequence > replay->newest) {
        uint64_t ahead = sequence - replay->newest;
        if (ahead >= FL_SEAL_REPLAY_WINDOW) {
            memset(replay->seen, 0, sizeof replay->seen);
        } else {
            for (uint64_t n = replay->newest + 1; n != sequence; n++) {
                fl__bit_clear(replay->seen, bit_of(n));
            }
        }
        replay->newest = sequence;
    }
    fl__bit_set(replay->seen, bit_of(sequence));
}

FlSealDrop fl__packet_take(uint64_t protocol_id, const uint8_t *key, Replay *replay,
                           const Packet *packet)
{
    if (!fl__replay_check(replay, packet->sequence)) {
        return FL_SEAL_DROP_REPLAY;
    }
    if (!fl__packet_open(protocol_id, key, packet)) {
        return FL_SEAL_DROP_TAMPERED;
    }
    fl__replay_note(replay, packet->sequence);
    return FL_SEAL_DROP_NONE;
}
