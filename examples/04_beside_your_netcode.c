// 04_beside_your_netcode: your own netcode stays; Fairlead says when to send, and where things are.
//                                                                          difficulty: **
// Three rooms are all it takes: motion decides when an update is due, clock learns what time it is
// at the sender, show says where the thing is. Your packets carry what they always did, plus the
// time they were sent and when the last one of the other way arrived. Here the transport is a list
// of packets that are 70 ms under way, and the receiver's clock is 5 s ahead.
#include <fairlead/fairlead.h>
#include <math.h>
#include <stdio.h>

#define DELAY FL_MS(70)
#define AHEAD FL_SEC(5)
#define FRAMES 600

typedef struct Packet { // yours: to the receiver, and its answer at once
    FlTime sent;        // sender's clock
    FlUpdate update;
    bool has_update;
} Packet;

static FlState truth_at(FlTime time)
{
    double angle = 0.7 * fl_span_seconds(time);
    FlState state = {.time = time, .facing = fl_facing_yaw(angle, 0.7), .turn_rate = 0.7};
    state.position = fl_vec3(20.0 * sin(angle), -20.0 * cos(angle), 0.0);
    state.velocity = fl_vec3(14.0 * cos(angle), 14.0 * sin(angle), 0.0);
    return state;
}

int main(void)
{
    static Packet packets[FRAMES];
    FlExporterDef exporting = fl_exporter_def_default(); // 0.1 m off: time to speak
    FlExporter exporter;
    fl_exporter_init(&exporter, &exporting);
    FlClockDef about = fl_clock_def_default();
    FlClock clock; // the receiver's idea of the sender's
    fl_clock_init(&clock, &about);
    static FlShow show;
    fl_show_init(&show, NULL);
    int updates = 0;
    double worst = 0.0;
    for (int frame = 0; frame < FRAMES; frame++) {
        FlTime now = FL_SEC(frame) / 60; // sender's clock
        FlState truth = truth_at(now);
        Packet *out = &packets[frame]; // you send one a frame anyway
        out->sent = now;
        out->has_update =
            fl_exporter_feed(&exporter, &truth, &out->update.motion) != FL_TRIGGER_NONE;
        if (out->has_update) {
            fl_exporter_commit(&exporter, &out->update.motion);
            updates++;
        }
        FlTime here = now + AHEAD; // receiver's clock
        int arrived = frame - (int)(DELAY * 60 / FL_SEC(1)) - 1;
        if (arrived < 0) {
            continue;
        }
        const Packet *in = &packets[arrived]; // it arrived a moment ago
        FlTime arrival = in->sent + DELAY + AHEAD;
        (void)fl_clock_received(&clock, in->sent, arrival);
        FlTime asked = in->sent - 2 * DELAY + AHEAD;           // our packet that this one answers,
        (void)fl_clock_acked(&clock, asked + DELAY, in->sent); // and when it got there
        if (in->has_update) {
            FlTime stamp = in->update.motion.time; // all in the sender's time
            (void)fl_show_arrive(&show, &in->update, stamp, fl_clock_remote_at(&clock, arrival));
        }
        FlPose pose;
        if (fl_show_pose(&show, fl_clock_remote_at(&clock, here), &pose) == FL_OK && frame > 60) {
            double off = fl_vec3_distance(pose.position, truth.position);
            worst = off > worst ? off : worst;
        }
    }
    printf("%d updates in %d packets; shown 70 ms away at most %.3f m off\n", updates, FRAMES,
           worst);
    return updates > 1 && updates < FRAMES / 4 && worst < 0.2 ? 0 : 1;
}
