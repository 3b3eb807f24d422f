// Who may reach the page, and what is counted about those who may not.
//
// A browser can be made to ask this machine by any page it has open. Two headers tell on it: `Host`
// is the name by which it came, and a name that is not ours was bent to our address (DNS
// rebinding); `Origin` is the page that asks, and it must be our own. An address in digits cannot
// be bent, so a server that listens on all addresses takes any of them.
#ifndef APP_WEB_GUARD_H
#define APP_WEB_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// X(NAME, word, meaning): what was refused, or given up.
#define WEB_COUNT_TABLE(X)                                                                         \
    X(CROWDED, "crowded", "connections beyond the most there may be")                              \
    X(FOREIGN, "foreign", "requests by another name than ours, or from another page")              \
    X(BAD_REQUEST, "bad_request", "requests for what there is not, or by another method")          \
    X(BAD_MESSAGE, "bad_message", "messages that are no JSON object")                              \
    X(TOO_LONG, "too_long", "messages longer than any command")                                    \
    X(WRONG_TOKEN, "wrong_token", "tokens that are not ours")                                      \
    X(NO_TOKEN, "no_token", "commands of somebody who has not shown the token")                    \
    X(SENT_AWAY, "sent_away", "connections ended after too many of these")

typedef enum WebCount {
#define WEB_COUNT_ROW(name, word, meaning) WEB_##name,
    WEB_COUNT_TABLE(WEB_COUNT_ROW)
#undef WEB_COUNT_ROW
        WEB_COUNTS
} WebCount;

const char *web_count_name(WebCount which);

/// By which names this machine is asked for besides its own for itself. Borrowed.
typedef struct WebNames {
    const char *address; ///< In digits, where we listen; "0.0.0.0": everywhere.
    const char *name;    ///< One more; NULL: none.
} WebNames;

/// "127.0.0.1:8080", "localhost", "[::1]:8080", and what `names` adds.
bool web_host_is_ours(const WebNames *names, const char *host);

/// Is `origin` the page that `host` serves? Programs have no origin, and could say anything.
bool web_origin_is_ours(const char *origin, const char *host);

/// Takes as long whatever is wrong with it.
bool web_token_matches(const char *token, const char *shown);

/// Is the port to be had at this address, in digits? False: errno says why not, which libwebsockets
/// would not.
bool web_port_is_free(const char *where, uint16_t port);

/// Letters, digits and - _ . only, at most 64: it stands in an address as it is.
bool web_token_good(const char *token);
#define WEB_TOKEN_RULE "letters, digits and - _ . only, at most 64 of them"

enum { WEB_TOKEN_BYTES = 12, WEB_TOKEN_TEXT = 2 * WEB_TOKEN_BYTES + 1 };

/// A token that nobody guesses. False: errno says why.
bool web_token_make(char text[WEB_TOKEN_TEXT]);

#endif
