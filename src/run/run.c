// Host, join, pump, close: the only place where a session and its transport meet. A session without
// a run (fl_session_create) is driven by its game.
#include "private.h"
#include "session/session.h"

#include <string.h>

#define INVITE_LIFE_S 86400
#define NOW INT64_MIN // waiting until then is not waiting

// ---------------------------------------------------------------- making

static FlSession *fail(FlError *error, FlResult code)
{
    fl__error_set(error, code, "%s.", fl_result_text(code));
    return NULL;
}

static void run_close(const FlAlloc *alloc, Run *run)
{
    if (run->close_fn != NULL) {
        run->close_fn(run->transport.ctx);
    }
    fl_free(alloc, run, sizeof *run);
}

static FlSession *start(const FlSessionDef *def, Run *run, FlError *error)
{
    FlSession *session;
    FlTime now = run->transport.wait_fn(run->transport.ctx, NOW);
    FlResult result = fl_session_create(def, now, &session);
    if (result != FL_OK) {
        return fail(error, result);
    }
    session->run = run;
    session->now = now;
    return session;
}

// Takes the game's transport, or opens a socket.
static Run *open_run(const FlSessionDef *def, FlFamily family, FlError *error)
{
    Run *run = (Run *)fl_alloc(&def->alloc, sizeof *run, _Alignof(Run));
    if (run == NULL) {
        (void)fail(error, FL_NO_MEMORY);
        return NULL;
    }
    if (def->transport != NULL) {
        run->transport = *def->transport;
    } else if (!fl__run_open(def, family, run, error)) {
        run_close(&def->alloc, run);
        return NULL;
    }
    return run;
}

FlSession *fl_session_host(const FlSessionDef *given, FlError *error)
{
    fl__error_clear(error);
    FlSessionDef def = *given;
    def.role = FL_ROLE_HOST;
    if (fl_session_def_problem(&def, error) != FL_OK || !fl__run_start(&def, error)) {
        return NULL;
    }
    Run *run = open_run(&def, FL_FAMILY_NONE, error);
    if (run == NULL) {
        return NULL;
    }
    FlSealServerDef server;
    bool good = def.plain || fl__run_keys(&def, run, &server, error);
    FlSession *session = good ? start(&def, run, error) : NULL;
    if (session == NULL) {
        run_close(&def.alloc, run);
    }
    return session;
}

FlSession *fl_session_join(const FlSessionDef *given, const char *invite, FlError *error)
{
    fl__error_clear(error);
    FlSessionDef def = *given;
    def.role = FL_ROLE_CLIENT;
    uint8_t token[FL_SEAL_TOKEN_BYTES];
    if (fl_session_def_problem(&def, error) != FL_OK || !fl__run_start(&def, error) ||
        (invite != NULL && !fl__run_invited(&def, invite, token, error))) {
        return NULL;
    }
    if (def.token == NULL && def.host.family == FL_FAMILY_NONE) {
        fl__error_set(error, FL_BAD_VALUE,
                      "Whom to join: pass an invite, or set `token` or `host`.");
        return NULL;
    }
    Run *run = open_run(&def, (FlFamily)def.host.family, error);
    FlSession *session = run != NULL ? start(&def, run, error) : NULL;
    if (session == NULL && run != NULL) {
        run_close(&def.alloc, run);
    }
    return session;
}

FlResult fl_session_invite(FlSession *session, const char *address, char text[FL_INVITE_TEXT])
{
    text[0] = '\0';
    FlAddress at;
    if (session->run == NULL) {
        return FL_NOT_FOUND;
    }
    FlResult result = fl__run_reached_at(session->run, address, &at);
    if (result != FL_OK) {
        return result;
    }
    uint64_t expire_s = fl__unix_s(session, session->now) + INVITE_LIFE_S;
    return fl_session_invite_at(session, session->now, at, 1, expire_s, text);
}

// ---------------------------------------------------------------- running

static void send_due(FlSession *session, FlTime now)
{
    const FlTransport *transport = &session->run->transport;
    FlOutgoing out;
    while (fl_session_next(session, now, &out) == FL_OK) {
        transport->send_fn(transport->ctx, &out);
    }
}

static void receive_waiting(FlSession *session)
{
    const FlTransport *transport = &session->run->transport;
    FlIncoming in;
    while (transport->receive_fn(transport->ctx, &in)) {
        fl_session_receive(session, in.from, in.bytes, in.count, in.arrival);
    }
}

// Datagrams are served for as long as the game has time to wait, so that a host relays at once
// however slowly its game ticks.
FlTime fl_session_pump(FlSession *session, FlTime wait)
{
    FL_ASSERT(session->run != NULL); // made by fl_session_create: its game drives it
    const FlTransport *transport = &session->run->transport;
    FlTime now = transport->wait_fn(transport->ctx, NOW);
    FlTime end = fl_time_add(now, fl__time_max(wait, 0));
    session->wakes = false;
    for (;;) {
        send_due(session, now);
        now = transport->wait_fn(transport->ctx, NOW); // what a transport gathered goes out, too
        receive_waiting(session);
        bool due = session->wakes || fl__action_deadline(session) <= now;
        if (now >= end || due || session->state == FL_SESSION_ENDED) {
            break;
        }
        FlTime until = fl_time_min(end, fl_session_deadline(session, now));
        now = transport->wait_fn(transport->ctx, fl_time_min(until, fl__action_deadline(session)));
        receive_waiting(session);
    }
    send_due(session, now);
    return transport->wait_fn(transport->ctx, NOW);
}

void fl_session_close(FlSession *session)
{
    if (session == NULL) {
        return;
    }
    Run *run = session->run;
    FlAlloc alloc = session->def.alloc;
    if (run != NULL) {
        fl_session_leave(session, session->now);
        send_due(session, run->transport.wait_fn(run->transport.ctx, NOW));
        (void)run->transport.wait_fn(run->transport.ctx, NOW);
        run_close(&alloc, run);
    }
    fl__session_destroy(session);
}
