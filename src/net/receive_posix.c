// Receiving in batches, each datagram with the time at which the kernel got it.
//
// The kernel stamps with the wall clock, which people and NTP may set at any moment. A stamp is
// moved to the monotonic clock by the difference of both clocks now, and believed only if it then
// lies between the last time this socket was seen empty and the end of the call. A clock set in
// between shows as a stamp outside and falls back to the time of the call; a clock set by less than
// the slack shows as nothing worse than that slack. A thread that is held up between reading one
// clock and the other would move stamps by half of that, to before their datagrams were sent: both
// are read anew then, and no stamp is believed if that goes on.
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <string.h>

#define BEFORE_SLACK FL_MS(10) // a datagram is stamped before it reaches the socket's queue
#define AFTER_SLACK FL_MS(1)   // the two clocks are not read in the same instant
#define TOGETHER FL_US(200)    // but within this,
#define TRIES 4                // at one of so many tries

static FlTime nanoseconds(struct timespec time)
{
    return FL_SEC(time.tv_sec) + time.tv_nsec;
}

// Both clocks, read as nearly together as can be: what to add to wall-clock time.
typedef struct Clocks {
    FlTime now;
    FlTime offset;
    bool known;
} Clocks;

bool fl__clocks_pair(FlTime before, FlTime wall, FlTime after, FlTime *offset)
{
    *offset = before + (after - before) / 2 - wall;
    return after - before <= TOGETHER;
}

static Clocks read_clocks(void)
{
    Clocks clocks = {0};
    for (int32_t i = 0; i < TRIES && !clocks.known; i++) {
        FlTime before = fl_net_now();
        struct timespec wall;
        (void)clock_gettime(CLOCK_REALTIME, &wall);
        clocks.now = fl_net_now();
        clocks.known = fl__clocks_pair(before, nanoseconds(wall), clocks.now, &clocks.offset);
    }
    return clocks;
}

bool fl__stamp_plausible(FlTime stamp, FlTime empty_at, FlTime now)
{
    return stamp >= empty_at - BEFORE_SLACK && stamp <= now + AFTER_SLACK;
}

static FlTime arrival_of(FlNet *net, FlTime wall_stamp, const Clocks *clocks)
{
    FlTime stamp = wall_stamp + clocks->offset;
    if (!clocks->known || !fl__stamp_plausible(stamp, net->empty_at, clocks->now)) {
        net->stats.stamp_rejected_count++;
        return clocks->now;
    }
    return fl_time_min(stamp, clocks->now);
}

static void count_drops(FlNet *net, uint32_t kernel_drops)
{
    net->stats.kernel_dropped_count += kernel_drops - net->kernel_drops; // on a circle of 2^32
    net->kernel_drops = kernel_drops;
}

// What the kernel tells beside a datagram: its arrival, and how many had to be dropped before it.
static FlTime read_control(FlNet *net, struct msghdr *header, const Clocks *clocks)
{
    bool missing = net->stamped;
    FlTime arrival = clocks->now;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
            arrival = arrival_of(net, nanoseconds(stamp), clocks);
            missing = false;
        } else if (c->cmsg_type == SO_RXQ_OVFL) {
            uint32_t drops;
            memcpy(&drops, CMSG_DATA(c), sizeof drops);
            count_drops(net, drops);
        }
    }
    net->stats.stamp_missing_count += missing;
    return arrival;
}

static void reset(FlNet *net, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        struct msghdr *header = &net->messages[i].msg_hdr;
        header->msg_namelen = sizeof net->addresses[i];
        header->msg_controllen = sizeof net->controls[i].bytes;
        header->msg_flags = 0;
    }
}

// An error that waited at the socket is not the socket's end: count it and ask again.
static int32_t receive(FlNet *net, int32_t count)
{
    for (int32_t attempt = 0; attempt < 2 * FL_NET_BATCH; attempt++) {
        int got = recvmmsg(net->descriptor, net->messages, (unsigned)count, 0, NULL);
        if (got >= 0) {
            return got;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        }
        if (errno == ECONNREFUSED) {
            net->stats.refused_count++;
        } else if (errno != EINTR) {
            net->stats.receive_failed_count++;
        }
    }
    return 0;
}

int32_t fl_net_receive_batch(FlNet *net, FlDatagram *out, int32_t capacity)
{
    int32_t wanted = capacity < net->batch ? capacity : net->batch;
    if (wanted <= 0) {
        return 0;
    }
    FlTime start = fl_net_now();
    reset(net, wanted);
    int32_t got = receive(net, wanted);
    Clocks clocks = got > 0 ? read_clocks() : (Clocks){0};
    int32_t count = 0;
    for (int32_t i = 0; i < got; i++) {
        struct msghdr *header = &net->messages[i].msg_hdr;
        FlTime arrival = read_control(net, header, &clocks);
        if ((header->msg_flags & MSG_TRUNC) != 0) {
            net->stats.truncated_count++;
            continue;
        }
        int32_t bytes = (int32_t)net->messages[i].msg_len;
        out[count++] = (FlDatagram){fl__address_from_system(&net->addresses[i]),
                                    net->vectors[i].iov_base, bytes, arrival};
        net->stats.received_count++;
        net->stats.received_bytes += (uint64_t)bytes;
    }
    if (got < wanted) {
        net->empty_at = start;
    }
    return count;
}
