#include "FairleadMeasure.h"

#include "FairleadTanks.h"
#include "PlayerState.h"

#include <fairlead/session.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now = 0;

static FILE *logFile()
{
    static const char *const name = getenv("FAIRLEAD_LOG");
    static FILE *const file = name != NULL ? fopen(name, "w") : NULL;
    return file;
}

void fairleadLogTick(long long now_ns)
{
    now = now_ns;
}

void fairleadLog(char kind, int player, const PlayerState &state)
{
    if (logFile() != NULL && (state.status & PlayerState::Alive) != 0) {
        fprintf(logFile(), "%c %lld %d %.3f %.3f %.3f\n", kind, now, player, (double)state.pos[0],
                (double)state.pos[1], (double)state.pos[2]);
    }
}

static bool newestOf(int player, FlMotion &motion)
{
    for (FlEntityId id = FlEntityId(); fl_entity_next(fairlead->session(), &id);) {
        FlEntityStatus status;
        if (fl_entity_status(fairlead->session(), id, &status) == FL_OK &&
            status.number == (uint32_t)player) {
            return fl_entity_newest(fairlead->session(), id, &motion) == FL_OK;
        }
    }
    return false;
}

void fairleadLogSent(int player)
{
    static FlTime last[256];
    FlMotion motion;
    if (logFile() == NULL || fairlead == NULL || !newestOf(player, motion)) {
        return;
    }
    FlTime time = fl_session_time(fairlead->session(), now);
    FlPose pose = fl_motion_pose(&motion, time);
    fprintf(logFile(), "%c %lld %d %.3f %.3f %.3f\n", motion.time != last[player] ? 'N' : 'E', now,
            player, pose.position.x, pose.position.y, pose.position.z);
    last[player] = motion.time;
}

void fairleadLogEvent(char kind, int player, int other)
{
    if (logFile() != NULL) {
        fprintf(logFile(), "%c %lld %d %d\n", kind, (long long)FairleadTanks::tick(), player,
                other);
    }
}

bool fairleadDrive(int player, float &speed, float &turn)
{
    static const char *const way = getenv("FAIRLEAD_DRIVE");
    if (way == NULL) {
        return false;
    }
    bool circular = way[0] == 'c';
    long long ms = (now / 1000000 + player * 1700) % 8000; // there, a stop, back, a stop
    speed = circular || ms < 3000 ? 1.0f : (ms >= 4000 && ms < 7000 ? -1.0f : 0.0f);
    turn = circular ? 0.5f : 0.0f;
    return true;
}

static void logViews(FlSession *session, FlPeerId peer, int player)
{
    for (FlEntityId id = FlEntityId(); fl_entity_next(session, &id);) {
        FlEntityStatus status;
        FlLedgerView view;
        if (fl_entity_status(session, id, &status) == FL_OK &&
            fl_entity_view(session, now, id, peer, &view) == FL_OK) {
            fprintf(logFile(), "R %lld %u %d %u %.4f\n", now, status.number, player, view.sent,
                    view.accumulated);
        }
    }
}

void fairleadLogServer()
{
    static long long last = 0;
    now = FairleadTanks::tick();
    if (logFile() == NULL || fairlead == NULL || now - last < FL_MS(100)) {
        return;
    }
    last = now;
    FlSession *session = fairlead->session();
    fprintf(logFile(), "B %lld %llu\n", now,
            (unsigned long long)fl_session_count(session, FL_SESSION_BYTES_COUNTED));
    for (FlPeerId peer = FlPeerId(); fl_peer_next(session, &peer);) {
        FlPeerStatus status;
        if (fl_peer_status(session, peer, &status) == FL_OK) {
            logViews(session, peer, status.address.ip[0]);
        }
    }
    fflush(logFile());
}

bool fairleadHeadless()
{
    static const bool is = getenv("FAIRLEAD_HEADLESS") != NULL;
    return is;
}

void fairleadSleep()
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    long long left = now + 16666667 - (at.tv_sec * 1000000000LL + at.tv_nsec);
    if (left > 0 && left < 1000000000) {
        struct timespec span = {0, (long)left};
        nanosleep(&span, NULL);
    }
}
