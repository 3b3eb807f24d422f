// A host's key in a file, so that its invites are good after it was started again.
#ifndef APP_PLAY_KEY_H
#define APP_PLAY_KEY_H

#include "fairlead/fairlead.h"

/// Reads the key, or makes the file with a new one if there is none. Answers OPTIONS_GO_ON, or the
/// exit status: the reason has been printed.
int play_key_read(const char *who, const char *path, uint8_t key[FL_SEAL_KEY_BYTES]);

#endif
