// What a node sees of the others' tanks: poses and fields from the session, and what both must
// fulfil.
//
// A tank is seen alive if its fields say so, no kill of that life was told, the pose is of the same
// life (fields and motion travel apart, and a respawn is a cut), and it was heard of lately. What
// is checked while looking, for every other tank:
//
//   - lives in its fields never go back;
//   - it is inside the arena, but for what it may have driven since its newest update;
//   - every life that ended was told to have ended, once; and what was told to have ended does not
//     go on. Blobs and kills travel apart, so they may disagree for a while.
#include "app/play/play_tanks.h"

#include <math.h>
#include <string.h>

#define SILENT FL_SEC(5)        // not heard of for so long: not shown
#define AGREE_WITHIN FL_SEC(20) // fields and kills, both reliable, of a peer that may lag
#define MARGIN_S 1.5            // of driving: an update may have been told from a later time
#define MARGIN 2.0              // units: steps, and the trigger's distance

// ---------------------------------------------------------------- lives

// Grows with every spawn and every end.
static uint64_t stage_of(const TanksStatus *status)
{
    return 2 * (uint64_t)status->life + (status->alive ? 0 : 1);
}

// How many ends must have been told by what the status says.
static uint32_t ends_expected(const PlayOther *other)
{
    uint32_t over = other->status.alive ? other->status.life - 1 : other->status.life;
    return other->status.life > other->first_life ? over - other->first_life : 0;
}

static void check_ends(PlayNode *node, PlayOther *other, FlTime time)
{
    uint32_t expected = ends_expected(other);
    if (expected == other->ends_heard) {
        other->odd_since = FL_FOREVER;
    } else if (other->odd_since == FL_FOREVER) {
        other->odd_since = time;
    } else if (fl_span(time, other->odd_since) > AGREE_WITHIN) {
        play_expect(node, PLAY_END_UNTOLD, expected <= other->ends_heard);
        play_expect(node, PLAY_END_UNSEEN, expected >= other->ends_heard);
        other->known = false; // once is enough: begin anew
    }
}

static void take_status(PlayNode *node, PlayOther *other, const TanksStatus *status, FlTime time)
{
    if (!other->known) {
        other->known = true;
        other->first_life = status->life;
        other->ends_heard = 0;
        other->odd_since = FL_FOREVER;
    } else {
        play_expect(node, PLAY_OLD_LIFE, stage_of(status) >= stage_of(&other->status));
    }
    other->status = *status;
    check_ends(node, other, time);
}

void play_tanks_kill(PlayNode *node, const TanksEvent *kill)
{
    PlayTanks *match = play_tanks_of(node);
    PlayOther *other = &match->others[kill->victim];
    if (kill->life <= other->ended) {
        play_expect(node, PLAY_KILLED_TWICE, !other->known);
        return;
    }
    other->ended = kill->life;
    other->ends_heard += other->known && kill->life > other->first_life ? 1 : 0;
}

void play_tanks_forgive(PlayNode *node)
{
    PlayTanks *match = play_tanks_of(node);
    for (int32_t i = 0; i < TANKS_CAPACITY; i++) {
        match->others[i].known = false;
    }
}

// ---------------------------------------------------------------- places

static void check_place(PlayNode *node, const TanksSeen *seen, FlTime age)
{
    PlayTanks *match = play_tanks_of(node);
    double x = fabs(seen->x);
    double y = fabs(seen->y);
    double outside = (x > y ? x : y) - match->world.rules.half_extent;
    double seconds = fl_span_seconds(age > 0 ? age : 0) + MARGIN_S;
    bool explained = outside <= MARGIN + match->world.rules.top_speed * seconds;
    bool there = isfinite(seen->x) && isfinite(seen->y) && isfinite(seen->yaw);
    play_expect(node, PLAY_OUTSIDE_ARENA, explained && there);
    play_tally(node, PLAY_LOOKS);
    if (outside > node->checks.outside_worst) {
        node->checks.outside_worst = outside;
    }
}

static void look_at(PlayNode *node, FlEntityId id, const FlEntityStatus *entity, FlTime now)
{
    PlayTanks *match = play_tanks_of(node);
    PlayOther *other = &match->others[entity->number];
    if (!play_same_entity(other->entity, id)) {
        *other = (PlayOther){.entity = id, .odd_since = FL_FOREVER}; // somebody else's by now
    }
    TanksStatus status;
    FlPose pose;
    FlTime time = fl_session_time(node->session, now);
    if (!tanks_status_get(node->session, id, &status)) {
        return;
    }
    take_status(node, other, &status, time);
    if (!fl_entity_pose_at(node->session, now, id, &pose)) {
        return;
    }
    FlTime age = fl_span(time, entity->newest);
    TanksSeen seen = tanks_seen_make(&pose, &status);
    bool same_life = ((entity->life ^ status.life) & 3u) == 0; // two bits travel with a motion
    seen.alive = status.alive && same_life && status.life > other->ended && age < SILENT;
    if (seen.alive) {
        check_place(node, &seen, age);
    }
    match->seen[entity->number] = seen;
}

void play_tanks_look(PlayNode *node, FlTime now)
{
    PlayTanks *match = play_tanks_of(node);
    memset(match->seen, 0, (size_t)match->tank_count * sizeof *match->seen);
    match->tank_count = 0;
    FlEntityId id = {0};
    while (fl_entity_next(node->session, &id)) {
        FlEntityStatus status;
        if (fl_entity_status(node->session, id, &status) != FL_OK || status.kind != TANKS_KIND ||
            status.number >= TANKS_CAPACITY) {
            continue;
        }
        int32_t above = (int32_t)status.number + 1;
        match->tank_count = above > match->tank_count ? above : match->tank_count;
        if (!status.ours) {
            look_at(node, id, &status, now);
        }
    }
    for (int32_t i = 0; i < node->own_count; i++) {
        if (play_own_there(node, i)) {
            match->seen[match->own[i].tank.id] = tanks_tank_seen(&match->own[i].tank);
        }
    }
}
