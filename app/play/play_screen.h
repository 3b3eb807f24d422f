// The terminal: a picture of the game ten times a second, and keys.
//
// A terminal tells of keys going down and repeating, never of their going up. So a key counts for a
// while after it was last heard: long enough for the repetition to begin.
#ifndef APP_PLAY_SCREEN_H
#define APP_PLAY_SCREEN_H

#include <stdbool.h>

#include "app/play/play_figures.h"

typedef struct PlayScreen {
    bool drawing;                                  ///< Standard output is a terminal, and is ours.
    bool keys;                                     ///< Standard input is one, too.
    FlTime forwards, backwards, left, right, fire; ///< The key counts until then.
    PlayPicture picture;
} PlayScreen;

/// Takes the terminal over, if there is one. It is given back by play_screen_close, at exit, and
/// when an assertion fails.
void play_screen_open(PlayScreen *screen);
void play_screen_close(PlayScreen *screen);

/// Reads the keys, of the terminal or of a recording. True: the player wants to quit.
bool play_screen_keys(PlayScreen *screen, PlayTape *tape, FlTime now, PlayKeys *keys);

/// Draws what the node sees, with its figures below. `hint` is the last line.
void play_screen_draw(PlayScreen *screen, const PlayNode *node, PlayMeter *meter, const char *hint,
                      FlTime now);

#endif
