// Private to module `net`, POSIX side: the socket and its buffers.
//
// A port to another system is a second set of files beside *_posix.c with the functions of net.h
// and a struct FlNet of its own; nothing outside this folder would change.
#ifndef FAIRLEAD_NET_PRIVATE_H
#define FAIRLEAD_NET_PRIVATE_H

#include "fairlead/net.h"

#include "base/private.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

/// An address as the system wants it.
typedef union SocketAddress {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} SocketAddress;

/// For a socket of `socket_family` (AF_INET or AF_INET6); an IPv4 address becomes a mapped one for
/// the latter. Returns the length, 0 if the socket cannot reach such an address.
socklen_t fl__address_to_system(FlAddress address, int socket_family, SocketAddress *out);

/// Mapped IPv4 addresses come back as plain ones.
FlAddress fl__address_from_system(const SocketAddress *address);

/// Can a datagram have arrived at `stamp` if the socket was empty at `empty_at` and it is `now`?
/// All on the monotonic clock.
bool fl__stamp_plausible(FlTime stamp, FlTime empty_at, FlTime now);

/// What to add to the wall clock's time for the monotonic clock's, which was read before and after.
/// False: too long between them to say.
bool fl__clocks_pair(FlTime before, FlTime wall, FlTime after, FlTime *offset);

/// Room for what the kernel tells beside a datagram: its stamp and the count of drops.
#define CONTROL_BYTES (CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(uint32_t)))

typedef struct ControlBuffer {
    _Alignas(struct cmsghdr) uint8_t bytes[CONTROL_BYTES];
} ControlBuffer;

struct FlNet {
    int descriptor;
    int family; ///< AF_INET or AF_INET6.
    int32_t batch;
    int32_t packet_bytes;
    FlAddress address;
    bool connected;
    bool stamped;    ///< Kernel stamps were asked for.
    FlTime empty_at; ///< The socket was seen empty then: no datagram that came later has an earlier
                     ///< stamp.
    uint32_t kernel_drops; ///< The kernel's own count, which wraps.
    FlNetStats stats;
    FlAlloc alloc;
    struct mmsghdr *messages; ///< All arrays below have `batch` entries.
    struct iovec *vectors;
    SocketAddress *addresses;
    ControlBuffer *controls;
    uint8_t *data;
    size_t memory_bytes; ///< Of the whole object.
};

#endif
