// Where this library has neither sockets nor keys: sessions over the game's own transport, plain.
#include "private.h"

bool fl__run_open(const FlSessionDef *def, FlFamily family, Run *run, FlError *error)
{
    (void)def;
    (void)family;
    (void)run;
    fl__error_set(error, FL_SYSTEM, "There are no sockets in this build: set `transport`.");
    return false;
}

bool fl__run_keys(FlSessionDef *def, const Run *run, FlSealServerDef *server, FlError *error)
{
    (void)def;
    (void)run;
    (void)server;
    fl__error_set(error, FL_SYSTEM, "There are no keys in this build: set `plain`.");
    return false;
}

bool fl__run_invited(FlSessionDef *def, const char *invite, uint8_t *token, FlError *error)
{
    (void)def;
    (void)invite;
    (void)token;
    fl__error_set(error, FL_SYSTEM, "There are no invites in this build: set `plain` and `host`.");
    return false;
}

bool fl__run_start(FlSessionDef *def, FlError *error)
{
    if (def->seed == 0) {
        fl__error_set(error, FL_BAD_VALUE, "seed is 0: draw one, new for every session.");
    }
    return def->seed != 0;
}

FlResult fl__run_reached_at(const Run *run, const char *text, FlAddress *address)
{
    (void)text;
    *address = run->transport.self;
    return FL_NOT_FOUND;
}
