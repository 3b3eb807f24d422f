// A picture of dead reckoning at work: one entity's real, exported and placed path for some
// seconds.
#ifndef APP_RECKON_PICTURE_H
#define APP_RECKON_PICTURE_H

#include "lab/trace/reckon.h"

typedef struct ReckonPicture {
    const char *title; ///< The trace's name.
    const Trace *trace;
    const FlExporterDef *exporter;
    FlTime delay_ns; ///< Of the receiver shown.
    bool one_entity; ///< Draw `entity`; otherwise whoever shows the difference best.
    int64_t entity;
} ReckonPicture;

/// Writes the picture as SVG. Answers the exit status; an error has been printed as `who`.
int reckon_picture_write(const ReckonPicture *picture, const char *path, const char *who);

#endif
