// fairlead/net.h: UDP sockets, the system's clock, waiting. The only room that touches the world.
//
// An FlNet is one socket. Datagrams come in and go out in batches (one system call for up to 64),
// each that comes in with the time at which the kernel received it, on the same clock as
// fl_net_now(). Nothing here blocks but fl_net_wait() and fl_address_resolve().
//
// What the network does wrong (a refused port, a datagram too large, an implausible stamp) is
// counted and never an error: see FlNetStats. See docs/guide/net.md.
//
// Systems: Linux. Elsewhere bring your own sockets, the rest of the library does not need this
// room; on Windows the functions are not declared, so that a program that uses them says so when it
// is compiled.
//
// Threads: objects share nothing; use each from one thread at a time.
#ifndef FAIRLEAD_NET_H
#define FAIRLEAD_NET_H

#include "fairlead/base.h"

// ---------------------------------------------------------------- addresses (FlAddress is in
// base.h)

/// Enough for any address as text, its end included.
#define FL_ADDRESS_TEXT_BYTES 80

/// One datagram: received, or to be sent.
typedef struct FlDatagram {
    FlAddress address; ///< From whom, or to whom. Sending to nowhere means the connected peer.
    const void *data;
    int32_t bytes;
    FlTime arrival; ///< When the kernel received it. Not used for sending.
} FlDatagram;

// ---------------------------------------------------------------- sockets

typedef struct FlNet FlNet;

/// The most datagrams that one system call moves.
#define FL_NET_BATCH 64

typedef struct FlNetDef {
    FlAddress bind;       ///< Where to receive; port 0: the system chooses.
    FlAddress peer;       ///< Talk to this address alone; nowhere: to everybody.
    int32_t packet_bytes; ///< Largest datagram received; larger ones are dropped and counted.
    int32_t batch;        ///< Datagrams received at once, 1 to FL_NET_BATCH.
    int32_t buffer_bytes; ///< Asked of the kernel for each direction; it may give less.
    bool kernel_stamps;   ///< False: arrival is the time of the call that received.
    bool both_families;   ///< An IPv6 socket bound to [::] serves IPv4 too.
    FlAlloc alloc;
    uint32_t cookie; ///< Set by fl_net_def_default(); leave alone.
} FlNetDef;

/// Counts since creation, one for every reason.
typedef struct FlNetStats {
    uint64_t received_count;
    uint64_t received_bytes;
    uint64_t sent_count;
    uint64_t sent_bytes;
    uint64_t truncated_count;      ///< Received but larger than packet_bytes, dropped.
    uint64_t kernel_dropped_count; ///< Dropped by the kernel because its receive buffer was full.
    uint64_t refused_count;        ///< The peer's machine said that nothing listens there.
    uint64_t receive_failed_count; ///< Other errors while receiving.
    uint64_t would_block_count;    ///< Sends put off because the kernel's buffer was full.
    uint64_t too_large_count;      ///< Sends refused for their size, dropped.
    uint64_t unreachable_count;    ///< Sends with no way there, dropped.
    uint64_t send_failed_count;    ///< Other errors while sending, dropped.
    uint64_t stamp_missing_count;  ///< Received without a kernel stamp: arrival is the call's time.
    uint64_t stamp_rejected_count; ///< With an implausible one (the wall clock was set); the same.
} FlNetStats;

#if !defined(_WIN32)

/// Reads "127.0.0.1:4000" or "[::1]:4000" (a link-local one with its scope: "[fe80::1%2]:4000").
/// Asks no network.
///
/// Errors: FL_BAD_VALUE; *out is nowhere then.
FL_API FL_NODISCARD FlResult fl_address_parse(const char *text, FlAddress *out);

/// The same, and names too: "localhost:4000". Takes the first address of `family`, or with
/// FL_FAMILY_NONE the first IPv4 one and failing that the first IPv6 one. May take seconds: it asks
/// the network.
///
/// Errors: FL_BAD_VALUE (not HOST:PORT), FL_NO_ADDRESS (unknown name); *out is nowhere then.
FL_API FL_NODISCARD FlResult fl_address_resolve(const char *text, FlFamily family, FlAddress *out);

/// Writes the address as fl_address_parse() reads it, ended by a zero byte; nowhere is "nowhere".
/// Returns `out`.
FL_API const char *fl_address_format(FlAddress address, char out[FL_ADDRESS_TEXT_BYTES]);

/// A monotonic clock in nanoseconds. Starts anywhere, never runs back.
FL_API FlTime fl_net_now(void);

/// Any IPv4 address, a port of the system's choice, datagrams up to 2048 bytes, 4 MiB of kernel
/// buffer: right for a client and for a server of hundreds of players.
FL_API FlNetDef fl_net_def_default(void);

/// Whether a definition is sound; `error` says which field, its value and its range. Errors:
/// FL_BAD_VALUE.
FL_API FL_NODISCARD FlResult fl_net_def_problem(const FlNetDef *def, FlError *error);

/// Opens a socket. Allocates here and never again.
///
/// Errors: FL_ADDRESS_IN_USE, FL_NO_ADDRESS (not an address of this machine, or no such family
/// here), FL_BAD_VALUE (bind and peer of different families), FL_NO_MEMORY, FL_SYSTEM (errno says
/// why). *out is NULL then.
FL_API FL_NODISCARD FlResult fl_net_create(const FlNetDef *def, FlNet **out);

/// NULL is ignored.
FL_API void fl_net_destroy(FlNet *net);

/// Where the socket is bound: with the port the system chose.
FL_API FlAddress fl_net_address(const FlNet *net);

/// The socket itself, for a loop of your own (poll, epoll). It stays ours.
FL_API int fl_net_descriptor(const FlNet *net);

/// What is there now, at most `capacity` and at most a batch, oldest first. Returns how many; 0
/// when nothing waits. Data is valid until the next call.
FL_API int32_t fl_net_receive_batch(FlNet *net, FlDatagram *out, int32_t capacity);

/// Sends in order. What cannot be sent for its own fault is dropped and counted.
///
/// Errors: FL_WOULD_BLOCK: the kernel's buffer is full; *done_count of them are dealt with.
FL_API FL_NODISCARD FlResult fl_net_send_batch(FlNet *net, const FlDatagram *datagrams,
                                               int32_t count, int32_t *done_count);

/// The most sockets that fl_net_wait() takes.
#define FL_NET_WAIT_CAPACITY 1024

/// Sleeps until a datagram waits at one of these sockets (true) or `deadline` has come (false),
/// FL_FOREVER being never. A signal ends it early, with false. Uses no processor time. ready[i]
/// says which; NULL: whichever.
FL_API bool fl_net_wait(FlNet *const *nets, int32_t count, FlTime deadline, bool *ready);

/// Counts since creation.
FL_API FlNetStats fl_net_stats(const FlNet *net);

#endif

#endif
