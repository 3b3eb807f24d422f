// Which seconds of a trace to look at.
#ifndef APP_RECKON_WINDOW_H
#define APP_RECKON_WINDOW_H

#include "app/reckon/reckon_picture.h"

/// A stretch of one life, with its paths.
typedef struct ReckonWindow {
    const TraceTrack *track;
    Reckoning reckoning; ///< Of that track, for the picture's receiver.
    FlTime from;
    FlTime to;
    FlTime worst; ///< When exported and placed are furthest apart.
} ReckonWindow;

/// Finds the stretch where the receiver's view differs most visibly from what was told: the largest
/// export error for the ground it covers. Errors: FL_NOT_FOUND if there is no such entity, or
/// nothing arrived in any life of it; FL_NO_MEMORY.
FL_NODISCARD FlResult reckon_window_find(const ReckonPicture *picture, ReckonWindow *window);

void reckon_window_free(ReckonWindow *window);

#endif
