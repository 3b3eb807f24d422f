// Handing in the truth, and looking at what became of it.
#include "lab/actors/puppet.h"

#include <string.h>

// ---------------------------------------------------------------- moving

/// True once the session has taken it in. A client has to be let in first.
static bool exists(Puppet *puppet, FlSession *session)
{
    if (puppet->id.index1 != 0) {
        return true;
    }
    if (fl_session_state(session) != FL_SESSION_RUNNING) {
        return false;
    }
    FlEntityStatus status;
    puppet->id = fl_entity_create(session, &puppet->def);
    if (fl_entity_status(session, puppet->id, &status) != FL_OK) {
        return false;
    }
    puppet->number = status.number;
    return true;
}

static void hand_in(Puppet *puppet, World *world, const Truth *truth)
{
    FlSession *session = world_session(world, puppet->node);
    if (!exists(puppet, session)) {
        return;
    }
    if (puppet->there && puppet->life != truth->life &&
        fl_entity_cut(session, puppet->id) != FL_OK) {
        return;
    }
    FlState state = truth->state;
    state.time = world_local(world, puppet->node, world_now(world));
    if (fl_entity_set(session, puppet->id, &state) != FL_OK) {
        return; // session time is not known yet: at the next frame then
    }
    puppet->there = true;
    puppet->life = truth->life;
    world_touch(world, puppet->node);
}

static FlTime puppet_act(void *ctx, World *world, FlTime now)
{
    Puppet *puppet = (Puppet *)ctx;
    FlTime time = now - puppet->begin;
    Truth truth;
    if (puppet->source.truth_fn(puppet->source.ctx, time, &truth)) {
        hand_in(puppet, world, &truth);
    }
    FlTime next = puppet->source.frame_fn(puppet->source.ctx, time + 1);
    return next < puppet->source.length ? puppet->begin + next : FL_FOREVER;
}

FlResult puppet_enter(Puppet *puppet, World *world)
{
    puppet->id = (FlEntityId){0};
    puppet->there = false;
    FlTime first = puppet->source.frame_fn(puppet->source.ctx, 0);
    return world_actor_add(world, WORLD_MOVER, fl_time_add(puppet->begin, first), puppet_act,
                           puppet);
}

// ---------------------------------------------------------------- looking

/// The same session time at both ends: what exact clocks would show.
static double session_error(World *world, const Puppet *puppet, int32_t receiver,
                            const FlPose *placed)
{
    FlSession *owner = world_session(world, puppet->node);
    FlSession *session = world_session(world, receiver);
    FlTime time = fl_session_time(session, world_local(world, receiver, world_now(world)));
    FlPose exported;
    if (!fl_entity_pose_at(owner, fl_session_local_time(owner, time), puppet->id, &exported)) {
        return (double)NAN;
    }
    return fl_vec3_distance(exported.position, placed->position);
}

/// What owner and receiver know of it beside its pose.
static void compare_status(const FlSession *owner, const Puppet *puppet, const FlSession *session,
                           Eye *eye, Look *look)
{
    FlEntityStatus told;
    FlEntityStatus heard;
    if (fl_entity_status(owner, puppet->id, &told) != FL_OK ||
        fl_entity_status(session, eye->id, &heard) != FL_OK) {
        return;
    }
    // two bits of a life travel
    look->same_life = look->placed_there && puppet->life == look->real.life &&
                      (told.life & 3u) == (heard.life & 3u) && eye->life == heard.life;
    look->newest = look->same_life && told.newest == heard.newest && eye->newest == heard.newest;
    eye->life = heard.life;
    eye->newest = heard.newest;
}

/// The entity as this receiver names it.
static bool find(const Puppet *puppet, const FlSession *session, Eye *eye)
{
    if (puppet->id.index1 == 0) {
        return false;
    }
    if (eye->id.index1 == 0) {
        eye->id = fl_entity_of_number(session, puppet->number);
        eye->life = UINT32_MAX;
        eye->newest = FL_FOREVER;
    }
    return eye->id.index1 != 0;
}

void puppet_look(const Puppet *puppet, World *world, Eye *eye, Look *look)
{
    *look = (Look){.error = (double)NAN, .export_error = (double)NAN, .session_error = (double)NAN};
    FlTime now = world_now(world);
    FlTime here = world_local(world, eye->receiver, now);
    FlTime there = world_local(world, puppet->node, now);
    FlSession *owner = world_session(world, puppet->node);
    FlSession *session = world_session(world, eye->receiver);
    look->real_there =
        puppet->source.truth_fn(puppet->source.ctx, now - puppet->begin, &look->real);
    look->clock_error = fl_session_time(session, here) - fl_session_time(owner, there);
    if (!find(puppet, session, eye)) {
        return;
    }
    look->exported_there = fl_entity_pose_at(owner, there, puppet->id, &look->exported);
    look->placed_there = fl_entity_pose_at(session, here, eye->id, &look->placed);
    FlEntityStatus status;
    if (fl_entity_status(session, eye->id, &status) == FL_STALE_ID) {
        eye->id = (FlEntityId){0}; // it went, and may come again
    }
    compare_status(owner, puppet, session, eye, look);
    if (!look->same_life || !look->real_there) {
        return;
    }
    look->error = fl_vec3_distance(look->real.state.position, look->placed.position);
    if (look->exported_there) {
        look->export_error = fl_vec3_distance(look->exported.position, look->placed.position);
    }
    if (look->newest) {
        look->session_error = session_error(world, puppet, eye->receiver, &look->placed);
    }
}
