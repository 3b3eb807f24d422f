// A host, its clients and their tanks: a layer of session_net.h that knows the truth.
//
// It knows where every tank really is, what its owner told of it and which datagram carried which
// update, be it the owner's or the host's that passes it on (from the senders' own notes of what
// packets carry: datagrams may be sealed); so at every frame it knows which update each node must
// be showing, and checks that
//
//   1. the pose is that update's motion, to the last bit, at the node's session time: what the
//      owner told, however many hands it went through, or the same told from a later time if it had
//      become too old to travel;
//   2. it is off from the truth by no more than explained: see scene_explained();
//   3. session time never goes back, and is wrong by no more than claimed.
//
// A scene is plain or sealed, as the test's state says; a sealed one's keys come from seeded
// streams, so that it, too, is the same bytes every time. SCENE_BOTH(test) runs a test both ways.
#ifndef TESTS_SCENE_SESSION_TANKS_H
#define TESTS_SCENE_SESSION_TANKS_H

#include "session_tanks_seen.h"

/// Two tests: plain, and sealed; the state says which.
#define SCENE_BOTH(test)                                                                           \
    cmocka_unit_test(test),                                                                        \
    {                                                                                              \
        "sealed_" #test, test, NULL, NULL, (void *)"sealed"                                        \
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
