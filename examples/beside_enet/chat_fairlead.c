// Chat over Fairlead: `chat_fairlead` serves at port 4712 of this machine, `chat_fairlead TEXT`
// says it and prints what the others say for two seconds.
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FlSessionDef def = fl_session_def_default();
    FlError error;
    def.plain = true; // as ENet is; with an invite in place of the address it is sealed
    def.address = argc > 1 ? NULL : "127.0.0.1:4712";
    FlSession *session =
        argc > 1 ? fl_session_join(&def, "127.0.0.1:4712", &error) : fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    FlPeerId everybody = {0}; // all others: the host relays by itself
    FlTime now = fl_session_pump(session, 0), end = now + (argc > 1 ? FL_MS(2500) : FL_SEC(100));
    for (bool said = argc == 1; fl_session_running(session) && now < end;) {
        now = fl_session_pump(session, FL_MS(50));
        if (!said && fl_session_state(session) == FL_SESSION_RUNNING && now + FL_MS(1500) > end) {
            FlEvent line = {.bytes = (const uint8_t *)argv[1], .count = (int32_t)strlen(argv[1])};
            said = fl_event_send(session, everybody, &line) == FL_OK;
        }
        FlEvent event;
        while (fl_event_take(session, &event) == FL_OK) {
            printf("%.*s\n", event.count, (const char *)event.bytes);
        }
    }
    fl_session_close(session);
}
