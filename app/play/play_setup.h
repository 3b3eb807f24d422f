// What `serve`, `join`, `bots` and `watch` have in common before anybody plays: addresses, invites,
// session definitions, and what goes wrong there, said in one line.
#ifndef APP_PLAY_SETUP_H
#define APP_PLAY_SETUP_H

#include "app/play/play_node.h"

#define PLAY_PORT 4600         ///< Unless another one is asked for.
#define PLAY_PLAYERS_MAX 4095  ///< Besides the host: as many as a session takes.
#define PLAY_PLAYERS_USUAL 255 ///< A guest is ready for so many unless told otherwise.
#define PLAY_COUNT_MAX 255     ///< Nodes of a process.
#define PLAY_DIRECT_USUAL 127

/// A node's part in the game, whoever hosts it.
typedef struct PlayPart {
    const char *who; ///< "fairlead serve", for messages.
    const PlayGame *game;
    const PlayNode *kin; ///< As PlayNodeDef's.
    int32_t own_count;   ///< Things of its own.
    bool keys;           ///< The first is the player's.
    const char *policy;  ///< NULL: the game's usual one.
    uint64_t seed;
    double timeout_s;
    int32_t players; ///< The session's world has room for so many besides the host.
    PlayTape *tape;  ///< NULL: nothing is recorded.
} PlayPart;

// ---------------------------------------------------------------- hosting

typedef struct PlayHostDef {
    PlayPart part;
    PlayRules rules;
    int64_t port;        ///< 0: any free one.
    const char *address; ///< HOST or HOST:PORT under which others reach us; NULL: this machine's.
    FlTopology topology;
    double upload_bytes_s; ///< What may go out in all; 0: not limited.
    bool open;             ///< Anybody may join.
    int32_t invites;       ///< So many, one for each player; 0: one for all.
    bool keyed;            ///< `key` is kept, and invites follow from it: they outlive us.
    uint8_t key[FL_SEAL_KEY_BYTES];
} PlayHostDef;

/// How others get in.
typedef struct PlayDoor {
    FlAddress bound;   ///< The socket's.
    FlAddress address; ///< As others reach us.
    FlAddress lan;     ///< This machine's in its network, if no address was given; nowhere: none.
    char invite[FL_SEAL_INVITE_TEXT]; ///< Sealed: for `address`; "" else.
    char lan_invite[FL_SEAL_INVITE_TEXT];
} PlayDoor;

/// Writes one more invite for a player alone, for `address` or `lan`. Answers OPTIONS_GO_ON, or the
/// exit status.
int play_host_invite(const PlayHostDef *def, PlayNode *node, FlAddress address,
                     char text[FL_SEAL_INVITE_TEXT]);

/// Answers OPTIONS_GO_ON, or the exit status: the reason has been printed.
int play_host_open(const PlayHostDef *def, PlayNode **node, PlayDoor *door);

// ---------------------------------------------------------------- joining

typedef struct PlayGuestDef {
    PlayPart part;     ///< No game: that of the invite, else the first of all.
    const char *where; ///< An invite, or HOST[:PORT] of an open host; NULL: this machine's.
    const char *name;  ///< What we are called; NULL: nothing.
    int32_t direct;    ///< Talk to at most so many peers directly, the host included.
    bool crowd;        ///< Reserve for a crowd only, which takes less; others are not joined.
    int32_t frame_hz;
} PlayGuestDef;

/// Opens a socket and starts to join. Answers as play_host_open.
int play_guest_open(const PlayGuestDef *def, PlayNode **node);

/// Finds a topology by its word ("star", "mesh", "hybrid", "crowd").
bool play_topology_find(const char *word, FlTopology *topology);

#endif
