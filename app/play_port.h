// A node's way to the others: a socket, or what came through one when it was recorded.
#ifndef APP_PLAY_PORT_H
#define APP_PLAY_PORT_H

#include "app/play_tape.h"

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

FlNetStats play_port_stats(const PlayPort *port);

#endif
