// Module `guidance`: guided replicas.
#ifndef FAIRLEAD_GUIDANCE_H
#define FAIRLEAD_GUIDANCE_H

#include "entity/entity.h"

extern const Feature fl__feature_guidance;

FlResult fl__guidance_create(FlSession *session);
void fl__guidance_destroy(FlSession *session);
size_t fl__guidance_bytes_all(const FlSessionDef *def);
size_t fl__guidance_connection_bytes(const FlSessionDef *def);

#endif
