// Where there is no libsodium: sessions that keep nobody out, and nothing else.
#include "private.h"

FlResult fl__sealed_create(FlSession *session, const FlSessionDef *def, FlTime now)
{
    (void)session;
    (void)now;
    return def->seal_server == NULL && def->token == NULL ? FL_OK : FL_SYSTEM;
}

void fl__sealed_destroy(FlSession *session)
{
    (void)session;
}

FlResult fl_session_invite(FlSession *session, FlTime now, FlAddress address, uint32_t uses,
                           uint64_t expire_s, char text[FL_SEAL_INVITE_TEXT])
{
    (void)session;
    (void)now;
    (void)address;
    (void)uses;
    (void)expire_s;
    text[0] = '\0';
    return FL_NOT_FOUND;
}

uint64_t fl_session_seal_drops(const FlSession *session, FlSealDrop drop)
{
    (void)session;
    (void)drop;
    return 0;
}

Opened fl__sealed_receive(FlSession *session, FlAddress from, uint8_t *bytes, int32_t count,
                          FlTime arrival)
{
    (void)session;
    (void)from;
    (void)bytes;
    (void)count;
    (void)arrival;
    Opened none = {FL__NONE, NULL, 0, 0};
    return none;
}

bool fl__sealed_next(FlSession *session, FlTime now, FlOutgoing *out)
{
    (void)session;
    (void)now;
    (void)out;
    return false;
}

FlTime fl__sealed_deadline(const FlSession *session)
{
    (void)session;
    return FL_FOREVER;
}

SealedServer fl__sealed_server(const FlSession *session)
{
    (void)session;
    SealedServer nobody = {.asked = false};
    return nobody;
}

bool fl__sealed_ready(const FlSession *session, const Line *line)
{
    (void)session;
    (void)line;
    return true;
}

uint64_t fl__sealed_sequence(const FlSession *session, const Line *line)
{
    (void)session;
    (void)line;
    return 0;
}

bool fl__sealed_seal(FlSession *session, Line *line, FlTime now, uint64_t sequence, int32_t bytes,
                     FlOutgoing *out)
{
    (void)session;
    (void)line;
    (void)now;
    (void)sequence;
    (void)bytes;
    (void)out;
    return false;
}

void fl__sealed_leave(FlSession *session, Line *line, FlTime now)
{
    (void)session;
    (void)line;
    (void)now;
}

bool fl__sealed_away(FlSession *session, Line *line, uint8_t word, FlTime now, FlOutgoing *out)
{
    (void)session;
    (void)line;
    (void)word;
    (void)now;
    (void)out;
    return false;
}

void fl__sealed_part(FlSession *session, Line *line)
{
    (void)session;
    (void)line;
}

void fl__sealed_introduce(FlSession *session, int32_t one, int32_t other, FlTime now,
                          FlMeetMessage *to_one, FlMeetMessage *to_other)
{
    (void)session;
    (void)one;
    (void)other;
    (void)now;
    (void)to_one;
    (void)to_other;
}

bool fl__sealed_meet(FlSession *session, Line *line, const FlMeetMessage *meet, FlTime now)
{
    (void)session;
    (void)line;
    (void)meet;
    (void)now;
    return false;
}

FlSealPair *fl__lane_pair(FlSession *session, const FlMeetMessage *meet, FlTime now)
{
    (void)session;
    (void)meet;
    (void)now;
    return NULL;
}

void fl__lane_part(FlSealPair *pair, FlTime now)
{
    (void)pair;
    (void)now;
}

bool fl__lane_ready(const FlSealPair *pair)
{
    (void)pair;
    return false;
}

bool fl__lane_open(FlSession *session, FlSealPair *pair, FlAddress from, int32_t count,
                   FlTime arrival, bool blame, Opened *opened, FlAddress *at)
{
    (void)session;
    (void)pair;
    (void)from;
    (void)count;
    (void)arrival;
    (void)blame;
    (void)opened;
    (void)at;
    return false;
}

bool fl__lane_seal(FlSealPair *pair, FlTime now, uint8_t *packet, int32_t count, FlOutgoing *out)
{
    (void)pair;
    (void)now;
    (void)packet;
    (void)count;
    (void)out;
    return false;
}

bool fl__lane_says(FlSealPair *pair, FlTime now, FlOutgoing *out)
{
    (void)pair;
    (void)now;
    (void)out;
    return false;
}

FlTime fl__lane_deadline(const FlSealPair *pair)
{
    (void)pair;
    return FL_FOREVER;
}
