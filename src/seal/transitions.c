// The client's states: all that can happen, in one table, by which the client moves.
//
// tests/unit/test_seal_client.c plays every event in every state and compares; the same rows
// stand in spec/WIRE.md section 9.4.
#include "private.h"

#include <string.h>

// X(event, from, leads to with another server to try, leads to without)
#define EACH_STATE(X, event, to)                                                                   \
    X(event, TOKEN_EXPIRED, to, to)                                                                \
    X(event, INVALID_TOKEN, to, to)                                                                \
    X(event, TIMED_OUT, to, to)                                                                    \
    X(event, RESPONSE_TIMED_OUT, to, to)                                                           \
    X(event, REQUEST_TIMED_OUT, to, to)                                                            \
    X(event, DENIED, to, to)                                                                       \
    X(event, DISCONNECTED, to, to)                                                                 \
    X(event, REQUESTING, to, to)                                                                   \
    X(event, RESPONDING, to, to)                                                                   \
    X(event, CONNECTED, to, to)

#define TRANSITIONS(X)                                                                             \
    EACH_STATE(X, CONNECT, REQUESTING)                                                             \
    EACH_STATE(X, BAD_TOKEN, INVALID_TOKEN)                                                        \
    EACH_STATE(X, LEAVE, DISCONNECTED)                                                             \
    X(CHALLENGE, REQUESTING, RESPONDING, RESPONDING)                                               \
    X(DENIED, REQUESTING, REQUESTING, DENIED)                                                      \
    X(SILENCE, REQUESTING, REQUESTING, REQUEST_TIMED_OUT)                                          \
    X(EXPIRY, REQUESTING, TOKEN_EXPIRED, TOKEN_EXPIRED)                                            \
    X(KEEP_ALIVE, RESPONDING, CONNECTED, CONNECTED)                                                \
    X(DENIED, RESPONDING, REQUESTING, DENIED)                                                      \
    X(SILENCE, RESPONDING, REQUESTING, RESPONSE_TIMED_OUT)                                         \
    X(EXPIRY, RESPONDING, TOKEN_EXPIRED, TOKEN_EXPIRED)                                            \
    X(SILENCE, CONNECTED, TIMED_OUT, TIMED_OUT)                                                    \
    X(GOODBYE, CONNECTED, DISCONNECTED, DISCONNECTED)

#define ROW(event, from, next, last) {FL_SEAL_##from, #event, FL_SEAL_##next, FL_SEAL_##last},
static const FlSealTransition rows[] = {TRANSITIONS(ROW)};
#undef ROW

#define ROW(event, from, next, last) CLIENT_##event,
static const ClientEvent row_event[] = {TRANSITIONS(ROW)};
#undef ROW

#define ROW_COUNT ((int32_t)(sizeof rows / sizeof rows[0]))

const FlSealTransition *fl__seal_transitions(int32_t *count)
{
    *count = ROW_COUNT;
    return rows;
}

const FlSealTransition *fl__transition(FlSealState from, ClientEvent event)
{
    for (int32_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].from == from && row_event[i] == event) {
            return &rows[i];
        }
    }
    return NULL;
}
