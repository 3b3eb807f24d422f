// Private to module `session`: the façade.
//
//   session.c    making and ending one: its modules, and the table of features
//   problem.c    what is wrong with a definition, in a sentence
//   datagrams.c  datagrams in and out, deadlines
#ifndef FAIRLEAD_SESSION_PRIVATE_H
#define FAIRLEAD_SESSION_PRIVATE_H

#include "attention/attention.h"
#include "crowd/light.h"
#include "guidance/guidance.h"
#include "play/play.h"
#include "rewind/rewind.h"

#define SESSION_COOKIE 0x53455332u

#endif
