// A crowd at play in virtual time: a lobby, and up to a thousand players who move as recorded.
//
// Node 0 is the lobby: it keeps the list, introduces players to each other and decides on the
// plane; it does not play, and its upload has no limit. All others are sessions with an upload of
// their own. Every player hands in where it is every frame, and works out four times a second, from
// its own view, how much it looks at everybody else.
#ifndef LAB_CROWD_GAME_H
#define LAB_CROWD_GAME_H

#include "lab/experiments/crowd/crowd_motion.h"
#include "lab/world/world.h"

/// What a datagram takes on a network, beside its own bytes: IPv4 and UDP.
#define CROWD_HEADER_BYTES 28

typedef struct CrowdGameDef {
    int32_t players;
    const CrowdMotion *motion; ///< Borrowed.
    FlCrowdDef crowd;          ///< As in FlSessionDef.
    double kbps;               ///< Upload of each, all headers included,
    /// or what this says of each; NULL: all alike.
    double (*kbps_fn)(void *ctx, int32_t player);
    void *ctx;
    int32_t overhead_bytes; ///< Counted for a datagram, beside its own bytes.
    FlImpairSettings way;   ///< Of all,
    FlTime side_ns;         ///< and as world_way_default.
    double idol;            ///< So much more all others look at player 0, who has the flag.
    bool everybody;         ///< Everybody looks at everybody.
    /// Above 0: a player looks only at those among whose so many most attentive it is. This is the
    /// published focus set, which the sender chooses; who looks how much it is told for nothing.
    int32_t sender_focus;
    FlTime loop_ns; ///< Everybody looks at its socket so often, as a game's loop does.
    uint64_t seed;
    bool sealed;
} CrowdGameDef;

/// 32 players, 108 kbit/s, round trips of 20 to 110 ms, 1 % lost, sealed. Motion is the caller's.
CrowdGameDef crowd_game_def_default(void);

/// A session of such a crowd; its role, host and upload are the caller's.
FlSessionDef crowd_game_session(const CrowdGameDef *def);

/// Who looks, and what it needs for it; one for all players of a process.
typedef struct CrowdEyes {
    FlAttention *attention;
    FlVec3 *positions; ///< By member.
    bool *seen;        ///< By member: somebody is within reach.
    double reach;
    int32_t member_capacity;
} CrowdEyes;

LabStatus crowd_eyes_create(CrowdEyes *eyes, const CrowdMotion *motion, int32_t players,
                            LabError *error);
void crowd_eyes_destroy(CrowdEyes *eyes);

/// One player, whatever carries its datagrams.
typedef struct CrowdPlayer {
    const CrowdMotion *motion;
    FlSession *session;
    int32_t member;      ///< Its number in the session; players count from 0, members from 1.
    double idol;         ///< So much more it looks at member 1.
    float *looks;        ///< [member]: how much it looks at each, averaged. Borrowed.
    const bool *allowed; ///< [member]: whom it may look at; NULL: anybody. Borrowed.
    bool everybody;      ///< It looks at everybody, a little at least.
    int32_t frame;
    FlEntityId avatar;
    uint32_t life;
    bool placed;
} CrowdPlayer;

/// What a session knows of a member's avatar, which has the member's number. False: nothing yet.
bool crowd_player_view(const FlSession *session, int32_t member, FlEntityStatus *view);

/// Who sent the newest of it.
int32_t crowd_player_via(const FlEntityStatus *view);

/// How much it looks at somebody: 0 to 1, and what the flag adds.
double crowd_player_attention(const CrowdPlayer *player, int32_t member);

/// One frame: where it is, and now and then whom it looks at. `now` is its own time. False: it is
/// not in the crowd yet.
bool crowd_player_frame(CrowdPlayer *player, CrowdEyes *eyes, FlTime now);

// ---------------------------------------------------------------- in virtual time

typedef struct CrowdGame CrowdGame;

typedef struct CrowdNode {
    CrowdGame *game;
    CrowdPlayer player;
    int32_t node; ///< Of the world.
    double limit; ///< Bytes a second.
    bool stopped; ///< Out of the game.
} CrowdNode;

/// Read what you like.
struct CrowdGame {
    CrowdGameDef def;
    World *world;
    CrowdNode *nodes;   ///< Players in the order in which they came; the first is member 1.
    int32_t *player_of; ///< [member]: which of them it is; -1: not known yet.
    CrowdEyes eyes;
    float *looks;  ///< [player * (players + 1) + member]
    bool *allowed; ///< The same; NULL: everybody may look at anybody.
    bool absent;   ///< Not all came to play: their uploads do not carry so many.
};

/// Makes everything, and runs the world until all play and have the light connections they want.
/// `lookers` more actors will find room. Destroy it in any case. LAB_FAILED with `absent`: nothing
/// is wrong but that some did not come in two minutes, or lost the lobby on the way.
LabStatus crowd_game_create(CrowdGame *game, const CrowdGameDef *def, int32_t lookers,
                            LabError *error);
void crowd_game_destroy(CrowdGame *game);

/// A player's figures; all 0 before it is in.
FlCrowdStats crowd_game_stats(const CrowdGame *game, int32_t player);

/// The time by which all move: that of the lobby.
FlTime crowd_game_time(const CrowdGame *game);

/// What a node of the world has sent so far, headers included.
uint64_t crowd_game_sent(const CrowdGame *game, int32_t node);

/// A player says goodbye; or it stops sending to anybody but the lobby, and still plays.
FL_NODISCARD FlResult crowd_game_leave(CrowdGame *game, int32_t player);
FL_NODISCARD FlResult crowd_game_silence(CrowdGame *game, int32_t player);

#endif
