// What the host's player types: who is there, and who must go.
//
//   list                 who is there
//   kick NAME [TEXT]     sends a player away, with a text that it reads
//   ban NAME [SECONDS]   the same, and it stays out (for good, without seconds)
//
// A name is what a player calls itself (`join --name`), or its number, as `list` shows both.
#ifndef APP_PLAY_CONSOLE_H
#define APP_PLAY_CONSOLE_H

#include "fairlead/fairlead.h"

#define PLAY_CONSOLE_BYTES 256

typedef struct PlayConsole {
    bool own_invites; ///< Each player has one of its own.
    bool closed;
    int32_t count;
    char line[PLAY_CONSOLE_BYTES];
} PlayConsole;

/// The next whole line of standard input, without its end; 0: there is none now.
int32_t play_console_take(PlayConsole *console, char line[PLAY_CONSOLE_BYTES]);

/// Does what a line says, and writes an answer of one or more lines.
void play_console_obey(const PlayConsole *console, FlSession *session, const char *line, FlTime now,
                       char *answer, size_t size);

#endif
