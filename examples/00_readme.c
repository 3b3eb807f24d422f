// 00_readme: `00_readme` hosts and prints an invite, `00_readme INVITE` joins.     difficulty: *
#include <fairlead/fairlead.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    bool guest = argc > 1 && strncmp(argv[1], "fairlead:", 9) == 0;
    FlSessionDef def = fl_session_def_default();       // 16 players, sealed, its own UDP socket
    def.address = argc > 1 && !guest ? argv[1] : NULL; // hosts may say where to listen
    FlError error;                                     // a code and a sentence
    FlSession *session =
        guest ? fl_session_join(&def, argv[1], &error) : fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    char invite[FL_INVITE_TEXT]; // a line to send to a friend; one per player
    if (!guest && fl_session_invite(session, argc > 2 ? argv[2] : NULL, invite) == FL_OK) {
        puts(invite);
    }
    FlEntityId tank = fl_entity_create(session, NULL); // valid at once, announced when we are in
    while (fl_session_running(session)) {
        FlTime now = fl_session_pump(session, FL_MS(10)); // sends, waits, receives
        double t = fl_span_seconds(fl_session_time(session, now));
        FlState state = {.time = now, .position = {0, 5.0 * t, 0}, .velocity = {0, 5.0, 0}};
        fl_entity_set(session, tank, &state); // who gets an update, and when, is not your worry
        FlPose pose;
        for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
            if (!fl_entity_is_ours(session, id) && fl_entity_pose(session, id, &pose)) {
                printf("our tank is at %.2f m, the other's at %.2f m\n", 5.0 * t, pose.position.y);
            }
        }
    }
    puts(fl_session_end_text(session)), fl_session_close(session); // why it ended
}
