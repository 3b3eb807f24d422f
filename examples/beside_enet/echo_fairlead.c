// Echo over Fairlead: `echo_fairlead` serves at port 4711 of this machine, `echo_fairlead TEXT`
// sends it and prints the answer.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FlSessionDef def = fl_session_def_default();
    FlError error;
    def.plain = true; // as ENet is; with an invite in place of the address it is sealed
    def.address = argc > 1 ? NULL : "127.0.0.1:4711";
    FlSession *session =
        argc > 1 ? fl_session_join(&def, "127.0.0.1:4711", &error) : fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    FlEvent event = {.type = 1};
    for (bool sent = argc == 1, done = false; fl_session_running(session) && !done;) {
        fl_session_pump(session, FL_SEC(100)); // returns as soon as there is something to take
        if (!sent && fl_session_state(session) == FL_SESSION_RUNNING) {
            event.bytes = (const uint8_t *)argv[1], event.count = (int32_t)strlen(argv[1]);
            sent = fl_event_send(session, fl_peer_host(session), &event) == FL_OK;
        }
        while (fl_event_take(session, &event) == FL_OK && !done) {
            done = argc > 1 ? printf("%.*s\n", event.count, (const char *)event.bytes) > 0
                            : fl_event_send(session, event.from, &event) != FL_OK;
        }
    }
    fl_session_close(session);
}
