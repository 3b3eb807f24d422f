// A tank's status as fields of its entity. What changes together is a group: a life's end, a shot
// and a kill each send their own. None of them depends on another group: all only grow.
#include "private.h"

const FlFieldDef tanks_fields[TANKS_FIELD_COUNT] = {
    [TANKS_FIELD_LIFE] = {.name = "life", .type = FL_FIELD_INT, .high = UINT32_MAX},
    [TANKS_FIELD_DEATHS] = {.name = "deaths", .type = FL_FIELD_INT, .high = UINT16_MAX},
    [TANKS_FIELD_ALIVE] = {.name = "alive", .type = FL_FIELD_BITS, .size = 1},
    [TANKS_FIELD_SHOTS] = {.name = "shots", .type = FL_FIELD_INT, .high = UINT32_MAX, .group = 1},
    [TANKS_FIELD_KILLS] = {.name = "kills", .type = FL_FIELD_INT, .high = UINT16_MAX, .group = 2},
};

FlResult tanks_kind_define(FlSession *session)
{
    FlKindDef def = {.name = "tank", .fields = tanks_fields, .field_count = TANKS_FIELD_COUNT};
    FlError error;
    return fl_kind_define(session, TANKS_KIND, &def, &error);
}

FlResult tanks_status_set(FlSession *session, FlEntityId id, const TanksStatus *status)
{
    const int64_t values[TANKS_FIELD_COUNT] = {
        [TANKS_FIELD_LIFE] = status->life,   [TANKS_FIELD_DEATHS] = status->deaths,
        [TANKS_FIELD_ALIVE] = status->alive, [TANKS_FIELD_SHOTS] = status->shots,
        [TANKS_FIELD_KILLS] = status->kills,
    };
    FlResult result = FL_OK;
    for (int32_t i = 0; i < TANKS_FIELD_COUNT && result == FL_OK; i++) {
        result = fl_field_set_int(session, id, i, values[i]);
    }
    return result;
}

bool tanks_status_get(const FlSession *session, FlEntityId id, TanksStatus *status)
{
    int64_t value[TANKS_FIELD_COUNT];
    *status = (TanksStatus){0};
    for (int32_t i = 0; i < TANKS_FIELD_COUNT; i++) {
        FlValue field;
        if (fl_field_get(session, id, i, &field) != FL_OK) {
            return false;
        }
        value[i] = field.integer;
    }
    *status = (TanksStatus){.life = (uint32_t)value[TANKS_FIELD_LIFE],
                            .shots = (uint32_t)value[TANKS_FIELD_SHOTS],
                            .kills = (uint16_t)value[TANKS_FIELD_KILLS],
                            .deaths = (uint16_t)value[TANKS_FIELD_DEATHS],
                            .alive = value[TANKS_FIELD_ALIVE] != 0};
    return status->life != 0;
}
