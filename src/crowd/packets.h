// Private to module `crowd`: what both send.c and receive.c know of packets.
#ifndef FAIRLEAD_CROWD_PACKETS_H
#define FAIRLEAD_CROWD_PACKETS_H

#include "private.h"

/// What a packet's sections are, and numbers that both ends go by.
enum {
    KIND_HEARTBEAT = 1,
    KIND_STREAM = 2,
    KIND_BATCH = 3,
    KIND_LOOK = 4,
    KIND_REDIRECT = 5,
    KIND_PART = 6,
    KIND_BATCH_EPOCH = 7,
    KIND_MISSED = 8,
    KIND_MESSAGE = 9,
    KIND_GUIDED = 10,
};

#define STREAM_EPOCH 0x80u // with `hops`: an epoch follows

#define NUMBER_BYTES 2
#define HOPS_AT_MOST 15
#define NO_ONE 0xffffu
#define HEARTBEAT_STEP FL_MS(1)

#endif
