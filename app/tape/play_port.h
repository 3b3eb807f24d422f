// A node's way to the others: a socket, or what came through one when it was recorded.
#ifndef APP_PLAY_PORT_H
#define APP_PLAY_PORT_H

#include "app/tape/play_tape.h"

#include "fairlead/net.h"

typedef struct PlayPort {
    PlayTape *tape;
    FlNet *net;         ///< NULL when replaying.
    int32_t number;     ///< Of the process's nodes.
    FlNetStats counted; ///< When replaying.
} PlayPort;

PlayPort play_port_make(PlayTape *tape, FlNet *net);

/// As fl_run_receive and fl_run_send.
void play_port_receive(PlayPort *port, FlSession *session);
void play_port_send(PlayPort *port, FlSession *session, FlTime now);

/// One datagram at a time, recorded or replayed, for who does more with it than hand it to a
/// session. `room` holds what `in` points to when replaying. False: there is none.
bool play_port_take(PlayPort *port, uint8_t room[TAPE_ENTRY_BYTES], FlDatagram *in);
void play_port_put(PlayPort *port, const FlDatagram *out);

FlNetStats play_port_stats(const PlayPort *port);

#endif
