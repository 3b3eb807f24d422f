// Sending in batches.
//
// The kernel stops a batch at the first datagram it cannot take and says why on the next call. That
// datagram is dealt with by its reason: dropped and counted when the fault is its own, sent again
// when the error only reported an earlier one's fate (ECONNREFUSED), and left to the caller when
// the kernel is full.
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <string.h>

// A batch as the system wants it. On the stack: the receive buffers may hold what is being sent.
typedef struct Batch {
    struct mmsghdr messages[FL_NET_BATCH];
    struct iovec vectors[FL_NET_BATCH];
    SocketAddress addresses[FL_NET_BATCH];
} Batch;

// Fills in a batch up to the first datagram that cannot even be addressed. Returns how many.
static int32_t fill(const FlNet *net, Batch *batch, const FlDatagram *datagrams, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const FlDatagram *datagram = &datagrams[i];
        struct msghdr *header = &batch->messages[i].msg_hdr;
        *header = (struct msghdr){.msg_iov = &batch->vectors[i], .msg_iovlen = 1};
        memcpy(&batch->vectors[i].iov_base, &datagram->data,
               sizeof datagram->data); // sheds the const
        batch->vectors[i].iov_len = (size_t)datagram->bytes;
        if (net->connected && datagram->address.family == FL_FAMILY_NONE) {
            continue;
        }
        header->msg_name = &batch->addresses[i];
        header->msg_namelen =
            fl__address_to_system(datagram->address, net->family, &batch->addresses[i]);
        if (header->msg_namelen == 0) {
            return i;
        }
    }
    return count;
}

static void count_sent(FlNet *net, const FlDatagram *datagrams, int32_t count)
{
    net->stats.sent_count += (uint64_t)count;
    for (int32_t i = 0; i < count; i++) {
        net->stats.sent_bytes += (uint64_t)datagrams[i].bytes;
    }
}

typedef enum Verdict {
    TRY_AGAIN,
    DROP,
    WAIT,
} Verdict;

static Verdict judge(FlNet *net, int error)
{
    switch (error) {
    case EINTR:
        return TRY_AGAIN;
    case ECONNREFUSED: // the fate of an earlier datagram; this one has not been tried yet
        net->stats.refused_count++;
        return TRY_AGAIN;
    case EAGAIN:
    case ENOBUFS:
        net->stats.would_block_count++;
        return WAIT;
    case EMSGSIZE:
        net->stats.too_large_count++;
        return DROP;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EADDRNOTAVAIL:
        net->stats.unreachable_count++;
        return DROP;
    default:
        net->stats.send_failed_count++;
        return DROP;
    }
}

// Sends or drops at least one of them, unless the kernel is full. Returns how many are dealt with.
static int32_t send_some(FlNet *net, const FlDatagram *datagrams, int32_t count)
{
    Batch batch;
    int32_t filled = fill(net, &batch, datagrams, count < FL_NET_BATCH ? count : FL_NET_BATCH);
    if (filled == 0) {
        net->stats.unreachable_count++; // an IPv6 address on an IPv4 socket, or nowhere
        return 1;
    }
    for (int32_t attempt = 0; attempt < FL_NET_BATCH; attempt++) {
        int sent = sendmmsg(net->descriptor, batch.messages, (unsigned)filled, 0);
        if (sent > 0) {
            count_sent(net, datagrams, sent);
            return sent;
        }
        Verdict verdict = judge(net, errno);
        if (verdict != TRY_AGAIN) {
            return verdict == DROP ? 1 : 0;
        }
    }
    return 0;
}

FlResult fl_net_send_batch(FlNet *net, const FlDatagram *datagrams, int32_t count,
                           int32_t *done_count)
{
    *done_count = 0;
    while (*done_count < count) {
        int32_t done = send_some(net, datagrams + *done_count, count - *done_count);
        if (done == 0) {
            return FL_WOULD_BLOCK;
        }
        *done_count += done;
    }
    return FL_OK;
}
