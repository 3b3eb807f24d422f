// Opening and closing a socket, and all the memory it will ever use.
//
// One block holds the object and the arrays for a batch, laid out once with every pointer in place,
// so that receiving and sending only reset lengths.
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define DEF_COOKIE UINT32_C(0x1a9a1301)

FlNetDef fl_net_def_default(void)
{
    FlNetDef def = {
        .bind = {.family = FL_FAMILY_IPV4},
        .packet_bytes = 2048,
        .batch = FL_NET_BATCH,
        .buffer_bytes = 4 << 20,
        .kernel_stamps = true,
        .both_families = true,
        .cookie = DEF_COOKIE,
    };
    return def;
}

// ---------------------------------------------------------------- memory

static size_t room_for(const FlNetDef *def)
{
    size_t each = sizeof(struct mmsghdr) + sizeof(struct iovec) + sizeof(SocketAddress) +
                  sizeof(ControlBuffer) + (size_t)def->packet_bytes;
    return sizeof(FlNet) + each * (size_t)def->batch;
}

// Arrays follow the object in the order of their alignment; bytes come last.
static void lay_out(FlNet *net)
{
    size_t count = (size_t)net->batch;
    net->messages = (struct mmsghdr *)(void *)(net + 1);
    net->vectors = (struct iovec *)(void *)(net->messages + count);
    net->controls = (ControlBuffer *)(void *)(net->vectors + count);
    net->addresses = (SocketAddress *)(void *)(net->controls + count);
    net->data = (uint8_t *)(void *)(net->addresses + count);
    for (size_t i = 0; i < count; i++) {
        net->vectors[i].iov_base = net->data + i * (size_t)net->packet_bytes;
        net->vectors[i].iov_len = (size_t)net->packet_bytes;
        net->messages[i].msg_hdr.msg_iov = &net->vectors[i];
        net->messages[i].msg_hdr.msg_iovlen = 1;
        net->messages[i].msg_hdr.msg_name = &net->addresses[i];
        net->messages[i].msg_hdr.msg_control = &net->controls[i];
    }
}

// ---------------------------------------------------------------- the socket

static FlResult result_of(int error)
{
    switch (error) {
    case EADDRINUSE:
        return FL_ADDRESS_IN_USE;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENETUNREACH:
    case EHOSTUNREACH:
        return FL_NO_ADDRESS;
    case ENOMEM:
    case ENOBUFS:
        return FL_NO_MEMORY;
    default:
        return FL_SYSTEM;
    }
}

// Wishes, not needs: a kernel that lacks one leaves its counter at zero.
static void ask_for(int descriptor, int level, int name, int value)
{
    (void)setsockopt(descriptor, level, name, &value, sizeof value);
}

static void set_options(const FlNet *net, const FlNetDef *def)
{
    ask_for(net->descriptor, SOL_SOCKET, SO_RCVBUF, def->buffer_bytes);
    ask_for(net->descriptor, SOL_SOCKET, SO_SNDBUF, def->buffer_bytes);
    ask_for(net->descriptor, SOL_SOCKET, SO_RXQ_OVFL, 1);
    ask_for(net->descriptor, SOL_SOCKET, SO_TIMESTAMPNS, def->kernel_stamps);
    if (net->family == AF_INET6) {
        ask_for(net->descriptor, IPPROTO_IPV6, IPV6_V6ONLY, !def->both_families);
    }
}

static FlResult open_socket(FlNet *net, const FlNetDef *def)
{
    SocketAddress address = {.any = {0}};
    net->descriptor = socket(net->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (net->descriptor < 0) {
        return result_of(errno);
    }
    set_options(net, def);
    socklen_t length = fl__address_to_system(def->bind, net->family, &address);
    if (bind(net->descriptor, &address.any, length) != 0) {
        return result_of(errno);
    }
    if (def->peer.family != FL_FAMILY_NONE) {
        length = fl__address_to_system(def->peer, net->family, &address);
        if (length == 0) {
            return FL_BAD_VALUE;
        }
        if (connect(net->descriptor, &address.any, length) != 0) {
            return result_of(errno);
        }
        net->connected = true;
    }
    length = sizeof address;
    if (getsockname(net->descriptor, &address.any, &length) != 0) {
        return result_of(errno);
    }
    net->address = fl__address_from_system(&address);
    return FL_OK;
}

FlResult fl_net_def_problem(const FlNetDef *def, FlError *error)
{
    static const Fl__Rule rules[] = {
        FL__COOKIE(FlNetDef, "fl_net_def_default", DEF_COOKIE),
        FL__WHOLE(FlNetDef, packet_bytes, 1, INT32_MAX),
        FL__WHOLE(FlNetDef, batch, 1, FL_NET_BATCH),
        FL__WHOLE(FlNetDef, buffer_bytes, 1, INT32_MAX),
    };
    (void)fl__def_problem(def, rules, sizeof rules / sizeof rules[0], error);
    return fl__def_wrong(error,
                         def->bind.family != FL_FAMILY_IPV4 && def->bind.family != FL_FAMILY_IPV6,
                         "bind.family must be FL_FAMILY_IPV4 or FL_FAMILY_IPV6.");
}

FlResult fl_net_create(const FlNetDef *def, FlNet **out)
{
    FL_ASSERT(def->cookie == DEF_COOKIE);
    *out = NULL;
    FlError error;
    if (fl_net_def_problem(def, &error) != FL_OK) {
        return error.code;
    }
    size_t bytes = room_for(def);
    FlNet *net = fl_alloc(&def->alloc, bytes, _Alignof(FlNet));
    if (net == NULL) {
        return FL_NO_MEMORY;
    }
    net->memory_bytes = bytes;
    net->alloc = def->alloc;
    net->batch = def->batch;
    net->packet_bytes = def->packet_bytes;
    net->family = def->bind.family == FL_FAMILY_IPV4 ? AF_INET : AF_INET6;
    net->stamped = def->kernel_stamps;
    net->empty_at = fl_net_now();
    lay_out(net);
    FlResult result = open_socket(net, def);
    if (result != FL_OK) {
        int why = errno;
        fl_net_destroy(net);
        errno = why;
        return result;
    }
    *out = net;
    return FL_OK;
}

void fl_net_destroy(FlNet *net)
{
    if (net == NULL) {
        return;
    }
    if (net->descriptor >= 0) {
        close(net->descriptor);
    }
    FlAlloc alloc = net->alloc;
    fl_free(&alloc, net, net->memory_bytes);
}

FlAddress fl_net_address(const FlNet *net)
{
    return net->address;
}

int fl_net_descriptor(const FlNet *net)
{
    return net->descriptor;
}

FlNetStats fl_net_stats(const FlNet *net)
{
    return net->stats;
}
