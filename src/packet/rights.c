// Who may send which kind of section or message: asked of every one before it is taken. The tables
// are in kinds.h; docs/decisions/0021-who-may-say-what.md has what else proves a statement.
#include "private.h"

static const uint8_t SECTIONS[KINDS_AT_MOST] = {
#define RIGHT_ROW(name, number, who, what) [number] = FROM_##who,
    SECTION_TABLE(RIGHT_ROW)};

static const uint8_t MESSAGES[KINDS_AT_MOST] = {MESSAGE_TABLE(RIGHT_ROW)
#undef RIGHT_ROW
};

static bool may_send(const uint8_t table[KINDS_AT_MOST], uint8_t kind, uint8_t speaker)
{
    FL_ASSERT(kind < KINDS_AT_MOST);
    return table[kind] == 0 || (table[kind] & speaker) != 0;
}

bool fl__may_send_section(uint8_t kind, uint8_t speaker)
{
    return may_send(SECTIONS, kind, speaker);
}

bool fl__may_send_message(uint8_t kind, uint8_t speaker)
{
    return may_send(MESSAGES, kind, speaker);
}

uint8_t fl__speaker(const FlSession *session, int32_t connection)
{
    if (fl__connection_direct(session, connection)) {
        return FROM_PEER;
    }
    return fl__is_host(session) ? FROM_MEMBER : FROM_HOST;
}
