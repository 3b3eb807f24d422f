// The clock, and sleeping until a packet or a time.
#define _GNU_SOURCE
#include "private.h"

#include <poll.h>

FlTime fl_net_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return FL_SEC(time.tv_sec) + time.tv_nsec;
}

// How long to sleep, NULL for ever. A deadline in the past only looks.
static const struct timespec *time_until(FlTime deadline, struct timespec *out)
{
    if (deadline == FL_FOREVER) {
        return NULL;
    }
    FlTime span = fl_span(deadline, fl_net_now());
    span = span > 0 ? span : 0;
    out->tv_sec = (time_t)(span / FL_SEC(1));
    out->tv_nsec = (long)(span % FL_SEC(1));
    return out;
}

bool fl_net_wait(FlNet *const *nets, int32_t count, FlTime deadline, bool *ready)
{
    FL_ASSERT(count >= 0 && count <= FL_NET_WAIT_CAPACITY);
    struct pollfd polled[FL_NET_WAIT_CAPACITY];
    for (int32_t i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = nets[i]->descriptor, .events = POLLIN};
    }
    struct timespec span;
    int found = ppoll(polled, (nfds_t)count, time_until(deadline, &span), NULL);
    for (int32_t i = 0; i < count && ready != NULL; i++) {
        ready[i] = found > 0 && polled[i].revents != 0; // an error that waits is read off, too
    }
    return found > 0;
}
