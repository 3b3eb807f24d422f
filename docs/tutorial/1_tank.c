// Step 1: a tank that moves. One process hosts, owns a tank and reads its own pose back.
#include <fairlead/fairlead.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    FlSessionDef def = fl_session_def_default();
    FlError error;
    FlSession *session = fl_session_host(&def, &error);
    if (session == NULL) {
        return puts(error.text), 1;
    }
    FlEntityId tank = fl_entity_create(session, NULL);
    FlTime now = fl_session_pump(session, 0), start = now;
    FlPose pose = {0};
    while (fl_session_running(session) && now < start + FL_SEC(1)) {
        now = fl_session_pump(session, FL_MS(16)); // one frame
        double t = fl_span_seconds(now - start);
        FlState state = {.time = now, .position = {20.0 * sin(t), 20.0 * cos(t), 0.0}};
        state.velocity = fl_vec3(20.0 * cos(t), -20.0 * sin(t), 0.0); // helps prediction
        fl_entity_set(session, tank, &state);
        if (fl_entity_pose(session, tank, &pose)) {
            printf("%4.0f ms: %6.2f %6.2f\n", 1000.0 * t, pose.position.x, pose.position.y);
        }
    }
    fl_session_close(session);
    return pose.position.x > 15.0 ? 0 : 1; // it got somewhere
}
