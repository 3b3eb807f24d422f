// A host, its clients and the network between them, in virtual time. Shared by the session's
// scenes.
//
// The scene steps at nothing but frames, deliveries and the sessions' own deadlines. It knows where
// every tank really is, what its owner told of it and which datagram carried which update, be it
// the owner's or the host's that passes it on (from the senders' own notes of what packets carry:
// datagrams may be sealed); so at every frame it knows which update each node must be showing, and
// checks that
//
//   1. the pose is that update's motion, to the last bit, at the node's session time: what the
//      owner told, however many hands it went through, or the same told from a later time if it had
//      become too old to travel;
//   2. it is off from the truth by no more than explained: see scene_explained();
//   3. session time never goes back, and is wrong by no more than claimed.
//
// A scene is plain or sealed (scene_seal_as); a sealed one's keys come from seeded streams, so that
// it, too, is the same bytes every time. SCENE_BOTH(test) runs a test both ways.
#ifndef TESTS_SCENE_SESSION_WORLD_H
#define TESTS_SCENE_SESSION_WORLD_H

#include "session_world_seen.h"

/// Two tests: plain, and sealed; the state says which.
#define SCENE_BOTH(test)                                                                           \
    cmocka_unit_test(test),                                                                        \
    {                                                                                              \
        "sealed_" #test, test, NULL, NULL, (void *)"sealed"                                        \
    }

// ---------------------------------------------------------------- running

static inline FlTime scene_frame_time(int64_t frame)
{
    return frame * FL_SEC(1) / SCENE_FRAME_HZ;
}

static inline bool scene_is_awake(const Scene *scene, int32_t i)
{
    return scene->node[i].session != NULL && !scene->node[i].asleep;
}

static inline FlTime scene_next(const Scene *scene)
{
    FlTime next = scene_frame_time(scene->frame);
    FlTime delivery = fl_flight_next(scene->flight);
    next = delivery < next ? delivery : next;
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (scene_is_awake(scene, i) && scene->node[i].due < next) {
            next = scene->node[i].due;
        }
    }
    return next > scene->now ? next : scene->now;
}

static inline void scene_step(Scene *scene)
{
    FlFlightPacket packet;
    while (fl_flight_take(scene->flight, scene->now, &packet, 1) == 1) {
        scene_deliver(scene, &packet);
    }
    bool frame = scene->now >= scene_frame_time(scene->frame);
    for (int32_t i = 0; i < scene->node_count && frame; i++) {
        if (scene_is_awake(scene, i) && !scene->node[i].no_frames) {
            scene_drive(scene, i);
            scene->node[i].due = scene->now;
        }
    }
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (scene_is_awake(scene, i) && scene->node[i].due <= scene->now) {
            scene_pump(scene, i);
        }
    }
    for (int32_t i = 0; i < scene->node_count && frame; i++) {
        if (scene_is_awake(scene, i)) {
            scene_look(scene, i);
        }
    }
    scene->frame += frame ? 1 : 0;
}

/// Runs from event to event until `until`, or until `done` says so.
static inline void scene_run(Scene *scene, FlTime until, bool (*done)(const Scene *))
{
    while (scene->now < until && (done == NULL || !done(scene))) {
        FlTime next = scene_next(scene);
        scene->now = next < until ? next : until;
        scene_step(scene);
    }
}

static inline void scene_start_all(Scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        assert_int_equal(scene_start(scene, i), FL_OK);
    }
}

static inline bool scene_all_in(const Scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        if (scene->node[i].running_at < 0) {
            return false;
        }
    }
    return true;
}

static inline void scene_forget_seen(Scene *scene)
{
    memset(&scene->seen, 0, sizeof scene->seen);
}

static inline void scene_say_seen(const Scene *scene)
{
    const SceneSeen *s = &scene->seen;
    double n = s->poses > 0 ? (double)s->poses : 1.0;
    print_message(
        "             %lld poses (%lld relayed), %.1f %% of the newest update; off by %.3f m on "
        "average, %.3f m at worst (newest: %.3f m), at most %.0f %% of what is explained\n",
        (long long)s->poses, (long long)s->relayed, 100.0 * (double)s->newest / n, s->sum / n,
        s->worst, s->worst_newest, 100.0 * s->worst_share);
    print_message(
        "             an update waited %.1f ms at most; clocks off by %.3f ms at most, %lld "
        "of %lld times by more than claimed\n",
        1e3 * fl_span_seconds(s->longest_wait), 1e3 * fl_span_seconds(s->clock_worst),
        (long long)s->clock_wrong, (long long)s->clock_looks);
}

#endif
