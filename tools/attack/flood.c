// The attacker: packets at a steady rate, in the name of addresses that are not his.
//
// A socket bound to every address may name any address of this machine as its source, and all of
// 127/8 is this machine: so every packet comes from another address, without any privilege, and
// answers to all of them come back to one socket, where they are weighed.
#define _GNU_SOURCE
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS 32 // source ports
#define BATCH 20

int spoof_open(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in any = {.sin_family = AF_INET};
    int bytes = 4 << 20;
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof any) != 0) {
        perror("attack: socket");
        exit(1);
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

/// One datagram with its made-up source, ready for the kernel.
typedef struct Spoof {
    struct sockaddr_in to;
    struct iovec part;
    uint8_t bytes[DATAGRAM];
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in_pktinfo))];
} Spoof;

static void spoof_fill(Spoof *spoof, struct msghdr *head, uint32_t source, uint16_t to_port,
                       int32_t count)
{
    spoof->to = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_port = htons(to_port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    spoof->part = (struct iovec){spoof->bytes, (size_t)count};
    memset(head, 0, sizeof *head);
    head->msg_name = &spoof->to;
    head->msg_namelen = sizeof spoof->to;
    head->msg_iov = &spoof->part;
    head->msg_iovlen = 1;
    if (source == 0) {
        return; // the socket's own
    }
    head->msg_control = spoof->control;
    head->msg_controllen = sizeof spoof->control;
    struct cmsghdr *c = CMSG_FIRSTHDR(head);
    c->cmsg_level = IPPROTO_IP;
    c->cmsg_type = IP_PKTINFO;
    c->cmsg_len = CMSG_LEN(sizeof(struct in_pktinfo));
    struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(source)};
    memcpy(CMSG_DATA(c), &info, sizeof info);
}

bool spoof_send(int fd, uint32_t source, uint16_t to_port, const void *bytes, int32_t count)
{
    static Spoof spoof;
    struct msghdr head;
    memcpy(spoof.bytes, bytes, (size_t)count);
    spoof_fill(&spoof, &head, source, to_port, count);
    return sendmsg(fd, &head, 0) == count;
}

uint64_t spoof_heard(int fd)
{
    uint64_t bytes = 0;
    uint8_t byte[DATAGRAM];
    ssize_t count;
    while ((count = recv(fd, byte, sizeof byte, MSG_DONTWAIT | MSG_TRUNC)) >= 0) {
        bytes += (uint64_t)count;
    }
    return bytes;
}

// ---------------------------------------------------------------- the flood

typedef struct Flood {
    Shared *shared;
    const Subject *subject;
    FloodKind kind;
    FlRandom random;
    int fds[SOCKETS];
    const int *player_fds;
    int32_t fd_count, fd_next;
    Spoof spoof[BATCH];
    struct mmsghdr heads[BATCH];
} Flood;

/// Any of 127/8 but the first 256, where players are.
static uint32_t some_source(FlRandom *random)
{
    uint32_t low = (uint32_t)fl_random_below(random, (1u << 24) - 512);
    return (uint32_t)127 << 24 | (low + 256);
}

static void send_batch(Flood *flood, int32_t count)
{
    bool names = flood->kind == FLOOD_NAMES;
    uint16_t port = (uint16_t)atomic_load(&flood->shared->port);
    for (int32_t i = 0; i < count; i++) {
        Spoof *spoof = &flood->spoof[i];
        int32_t bytes = flood->kind == FLOOD_REQUESTS
                            ? flood->subject->request(spoof->bytes, &flood->random)
                            : flood->subject->garbage(spoof->bytes, &flood->random);
        uint32_t source = names ? 0 : some_source(&flood->random);
        spoof_fill(spoof, &flood->heads[i].msg_hdr, source, port, bytes);
    }
    int fd = names ? flood->player_fds[flood->fd_next++ % flood->fd_count]
                   : flood->fds[flood->fd_next++ % SOCKETS];
    int sent = sendmmsg(fd, flood->heads, (unsigned)count, 0);
    for (int i = 0; i < sent; i++) {
        flood->shared->flood_sent++;
        flood->shared->flood_bytes += flood->heads[i].msg_len;
    }
}

static void hear(Flood *flood)
{
    for (int32_t i = 0; i < SOCKETS; i++) {
        flood->shared->answer_bytes += spoof_heard(flood->fds[i]);
    }
}

static void nap(FlTime until)
{
    FlTime left = until - fl_net_now();
    if (left > 0) {
        struct timespec t = {left / FL_SEC(1), left % FL_SEC(1)};
        nanosleep(&t, NULL);
    }
}

void flood_run(Shared *shared, const Subject *subject, FloodKind kind, int32_t rate_hz,
               const int *player_fds, int32_t fd_count)
{
    static Flood flood;
    flood = (Flood){.shared = shared, .subject = subject, .kind = kind, .random = {.seed = 7}};
    flood.player_fds = player_fds;
    flood.fd_count = fd_count;
    (void)!setpriority(PRIO_PROCESS, 0, 5); // a real one would not use this machine's processor
    for (int32_t i = 0; i < SOCKETS; i++) {
        flood.fds[i] = spoof_open();
    }
    FlTime begin = fl_net_now();
    FlTime every = FL_SEC(1) * BATCH / rate_hz;
    FlTime due = begin;
    for (int64_t n = 0; !atomic_load(&shared->flood_stop); n++) {
        send_batch(&flood, BATCH);
        due += every;
        due = fl_net_now() - due > FL_MS(20) ? fl_net_now() : due; // no bursts to catch up
        if (n % 20 == 0) {
            hear(&flood);
        }
        nap(due);
    }
    shared->flood_ns = fl_net_now() - begin;
    nap(fl_net_now() + FL_MS(300)); // what is on its way
    hear(&flood);
}
