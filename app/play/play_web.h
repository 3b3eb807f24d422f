// The live page of a running `serve`, `join`, `bots` or `watch`: `--web`.
//
// The page shows what the first node sees, and changes nothing but what a client that showed the
// token asks for: another policy for the node's own things. It is served from the same thread,
// between the rounds of the game, never waiting for anybody.
//
// What a page asks for enters from outside, so it goes through the tape, as keys do; a replay has
// no page.
#ifndef APP_PLAY_WEB_H
#define APP_PLAY_WEB_H

#include "app/play/play_node.h"

/// What was asked for.
typedef struct PlayWebDef {
    bool wanted;
    int64_t port;        ///< 0: any free one.
    const char *address; ///< Where to listen; NULL: for this machine alone.
    const char *token;   ///< NULL: one that nobody guesses.
} PlayWebDef;

typedef struct PlayWeb PlayWeb;

/// Answers OPTIONS_GO_ON, or the exit status: the reason has been printed. *web is NULL if there is
/// none to be: it is not wanted, or `tape` is replayed.
int play_web_open(const char *who, const PlayWebDef *def, const PlayTape *tape, PlayWeb **web);

/// NULL is ignored.
void play_web_close(PlayWeb *web);

/// Where the page is, with the token; "" without a page.
const char *play_web_address(const PlayWeb *web);

/// Serves what there is to serve. Answers when to call again at the latest.
FlTime play_web_step(PlayWeb *web, const PlayNode *node, FlTime now);

#define PLAY_WEB_WORDS 64

/// The policy that somebody asked for since the last call; 0: nobody did. The answer is its length.
int32_t play_web_take(PlayWeb *web, char words[PLAY_WEB_WORDS]);

/// What was refused, by reason; NULL without a page. A new reference.
json_t *play_web_json(const PlayWeb *web);

#endif
