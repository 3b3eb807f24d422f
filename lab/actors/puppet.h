// An entity that a source moves, and what others see of it.
//
// A puppet belongs to a node of a world: at each frame of its source it hands the truth to the
// node's session, as a game would. puppet_look asks a receiver where it shows the entity, and puts
// it beside the truth and beside what the owner has exported.
#ifndef LAB_PUPPET_H
#define LAB_PUPPET_H

#include "lab/actors/source.h"
#include "lab/world/world.h"

typedef struct Puppet {
    Source source;
    FlTime begin; ///< World time of the source's beginning.
    int32_t node; ///< Whose it is.
    FlEntityDef def;
    // its own
    FlEntityId id;
    uint32_t number; ///< By which all know it, once `id` is set.
    bool there;      ///< Handed in at the last frame,
    uint32_t life;   ///< in this life of the source.
} Puppet;

/// Puts it into the world: from `puppet->begin` on it moves. It must outlive the world.
/// Errors: FL_FULL.
FL_NODISCARD FlResult puppet_enter(Puppet *puppet, World *world);

/// Whoever looks at a puppet with one receiver's eyes. `{.receiver = node}` has seen nothing yet.
typedef struct Eye {
    int32_t receiver;
    // its own
    FlEntityId id;
    uint32_t life;
    FlTime newest;
} Eye;

/// One receiver's view at one moment.
typedef struct Look {
    bool real_there;
    bool exported_there;
    bool placed_there;
    bool same_life; ///< The receiver shows the life that is real: only then is there an error.
    bool newest;    ///< It shows the newest update there is.
    Truth real;
    FlPose exported; ///< As the owner told it last.
    FlPose placed;
    double error;        ///< |real - placed|, if real_there, placed_there and same_life; else NaN.
    double export_error; ///< |exported - placed|, likewise.
    FlTime clock_error;  ///< The receiver's session time minus the owner's, at this true moment.
    /// |exported - placed| where both are asked about the same session time, which is true time if
    /// all clocks are exact. NaN unless `newest`.
    double session_error;
} Look;

/// Looks now. An update shows from its arrival on, rounded up to a step of the wire; so at the very
/// moment of an arrival the pose may still be the old one. The first look after an arrival
/// therefore says neither `newest` nor, after a cut, `same_life`.
void puppet_look(const Puppet *puppet, World *world, Eye *eye, Look *look);

#endif
