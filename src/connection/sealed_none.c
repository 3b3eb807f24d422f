// Where there is no libsodium: plain sessions only.
#include "private.h"

#include "connection/sealed.h"

FlResult fl__sealed_create(FlSession *session, FlTime now)
{
    (void)now;
    bool open = session->def.seal_server == NULL && session->def.token == NULL;
    return open ? FL_OK : FL_SYSTEM;
}

void fl__sealed_destroy(FlSession *session)
{
    (void)session;
}

FlResult fl_session_invite_at(FlSession *session, FlTime now, FlAddress address, uint32_t uses,
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

bool fl__is_sealed(const FlSession *session)
{
    (void)session;
    return false;
}

Opened fl__sealed_receive(FlSession *session, FlAddress from, const uint8_t *bytes, int32_t count,
                          FlTime arrival, SealedFn *fn)
{
    (void)session;
    (void)from;
    (void)bytes;
    (void)count;
    (void)arrival;
    (void)fn;
    Opened none = {.index = FL__NONE};
    return none;
}

bool fl__sealed_next(FlSession *session, FlTime now, SealedFn *fn, FlOutgoing *out)
{
    (void)session;
    (void)now;
    (void)fn;
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
    SealedServer none = {.asked = false};
    return none;
}

uint64_t fl__sealed_sequence(const FlSession *session, int32_t index)
{
    (void)session;
    (void)index;
    return 0;
}

bool fl__sealed_ready(const FlSession *session, int32_t index)
{
    (void)session;
    (void)index;
    return true;
}

bool fl__sealed_seal(FlSession *session, int32_t index, FlTime now, uint64_t sequence,
                     int32_t bytes, FlOutgoing *out)
{
    (void)session;
    (void)index;
    (void)now;
    (void)sequence;
    (void)bytes;
    (void)out;
    return false;
}

void fl__sealed_leave(FlSession *session, int32_t index, FlTime now)
{
    (void)session;
    (void)index;
    (void)now;
}

bool fl__sealed_away(FlSession *session, int32_t index, const uint8_t *bytes, int32_t count,
                     FlTime now, FlOutgoing *out)
{
    (void)session;
    (void)index;
    (void)bytes;
    (void)count;
    (void)now;
    (void)out;
    return false;
}

void fl__sealed_no_return(FlSession *session, int32_t index)
{
    (void)session;
    (void)index;
}

bool fl__sealed_revoke(FlSession *session, uint64_t invite_id)
{
    (void)session;
    (void)invite_id;
    return false;
}

void fl__sealed_introduce(FlSession *session, Introduced one, Introduced other, FlTime now,
                          SealedKeys *to_one, SealedKeys *to_other)
{
    (void)session;
    (void)one;
    (void)other;
    (void)now;
    (void)to_one;
    (void)to_other;
}

FlSealPair *fl__sealed_pair_create(FlSession *session, const SealedKeys *keys,
                                   const SealedPace *pace, FlTime now)
{
    (void)session;
    (void)keys;
    (void)pace;
    (void)now;
    return NULL;
}

bool fl__sealed_pair_renew(FlSession *session, int32_t index, const SealedKeys *keys, FlTime now)
{
    (void)session;
    (void)index;
    (void)keys;
    (void)now;
    return false;
}

bool fl__sealed_binding(const FlSession *session, int32_t index,
                        uint8_t binding[FL_SEAL_BINDING_BYTES])
{
    (void)session;
    (void)index;
    (void)binding;
    return false;
}

bool fl__sealed_pair_hinted(const FlSealPair *pair, const uint8_t *bytes, int32_t count)
{
    (void)pair;
    (void)bytes;
    (void)count;
    return false;
}

bool fl__sealed_may_open(FlSession *session, FlTime now)
{
    (void)session;
    (void)now;
    return false;
}

void fl__sealed_pair_destroy(FlSealPair *pair)
{
    (void)pair;
}

void fl__sealed_pair_leave(FlSealPair *pair, FlTime now)
{
    (void)pair;
    (void)now;
}

void fl__sealed_pair_soon(const FlSealPair *pair)
{
    (void)pair;
}

bool fl__sealed_pair_ready(const FlSealPair *pair)
{
    (void)pair;
    return false;
}

void fl__sealed_dropped(FlSession *session, FlSealDrop drop)
{
    (void)session;
    (void)drop;
}

bool fl__sealed_pair_open(FlSession *session, FlSealPair *pair, FlAddress from,
                          const uint8_t *bytes, int32_t count, FlTime arrival, Opened *opened,
                          FlAddress *at)
{
    (void)session;
    (void)pair;
    (void)from;
    (void)bytes;
    (void)count;
    (void)arrival;
    (void)opened;
    (void)at;
    return false;
}

bool fl__sealed_pair_seal(FlSealPair *pair, FlTime now, uint8_t *packet, int32_t count,
                          FlOutgoing *out)
{
    (void)pair;
    (void)now;
    (void)packet;
    (void)count;
    (void)out;
    return false;
}

void fl__sealed_pair_expect(FlSealPair *pair, FlTime rebind_ns)
{
    (void)pair;
    (void)rebind_ns;
}

bool fl__sealed_pair_next(FlSealPair *pair, FlTime now, FlOutgoing *out)
{
    (void)pair;
    (void)now;
    (void)out;
    return false;
}

FlTime fl__sealed_pair_deadline(const FlSealPair *pair)
{
    (void)pair;
    return FL_FOREVER;
}
