// Motions over whole sessions: does everybody see the same picture, and how old is it?
//
// Every peer has a thing that runs along x, so that its place tells of which moment it is, and
// turns along y again and again. Pictures are taken at each peer at the same times of what its
// screen goes by: play time by lags, or session time.
#ifndef LAB_SIMULTANEITY_MEDIA_H
#define LAB_SIMULTANEITY_MEDIA_H

#include "fairlead/session.h"
#include "lab/experiments/simultaneity/simultaneity.h"

typedef struct MediaFigures {
    int64_t compared;  ///< Things in pictures that two peers took at one time,
    int64_t differing; ///< and those more than 1 mm apart: one peer decides otherwise than another.
    double worst_m;    ///< The furthest.
    int64_t late;      ///< Updates that came after their time.
    FlTime error;      ///< How far the time between two pictures differs between two peers.
    FlTime bound;      ///< What drift can make of it.
    FlTime spread;     ///< From the first peer that shows a picture to the last, in true time.
} MediaFigures;

/// Adds a sample for each thing in each picture to `ages` (ms): how old it is, in true time.
LabStatus media_run(const TrialDef *def, FlTopology topology, MediaFigures *figures, Tally *ages,
                    LabError *error);

#endif
