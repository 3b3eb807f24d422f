// Step 2: a second player over a bad network. Host: `2_two_players LISTEN REACHED_AT`; guest:
// `2_two_players INVITE`. Put `fairlead wan` between them and watch how far off the other is shown.
#include <fairlead/fairlead.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Everybody drives the same circle by session time, so each knows where the other truly is.
static FlState tank_at(FlSession *session, FlTime now)
{
    double t = fl_span_seconds(fl_session_time(session, now));
    FlState state = {.time = now, .position = {20.0 * sin(t), 20.0 * cos(t), 0.0}};
    state.velocity = fl_vec3(20.0 * cos(t), -20.0 * sin(t), 0.0);
    return state;
}

static void look(FlSession *session, FlVec3 truth)
{
    for (FlEntityId id = {0}; fl_entity_next(session, &id);) {
        FlPose pose;
        if (!fl_entity_is_ours(session, id) && fl_entity_pose(session, id, &pose)) {
            printf("shown %.2f m from where it is\n", fl_vec3_distance(pose.position, truth));
        }
    }
}

int main(int argc, char **argv)
{
    bool guest = argc > 1 && strncmp(argv[1], "fairlead:", 9) == 0;
    FlSessionDef def = fl_session_def_default();
    FlError error;
    def.address = argc > 1 && !guest ? argv[1] : NULL;
    def.name = guest ? "guest" : "host";
    FlSession *session =
        guest ? fl_session_join(&def, argv[1], &error) : fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    char invite[FL_INVITE_TEXT];
    if (!guest && fl_session_invite(session, argc > 2 ? argv[2] : NULL, invite) == FL_OK) {
        puts(invite);
    }
    FlEntityId tank = fl_entity_create(session, NULL);
    while (fl_session_running(session)) {
        FlTime now = fl_session_pump(session, FL_MS(16));
        FlState state = tank_at(session, now);
        fl_entity_set(session, tank, &state);
        look(session, state.position);
        FlNotice notice; // who came, who left: take all, every frame
        while (fl_notice_take(session, &notice) == FL_OK) {
            if (notice.kind == FL_NOTICE_PEER_JOINED) {
                puts("a player came");
            } else if (notice.kind == FL_NOTICE_PEER_LEFT) {
                printf("a player left: %s\n", fl_left_text(notice.left));
            }
        }
    }
    puts(fl_session_end_text(session));
    fl_session_close(session);
    return 0;
}
