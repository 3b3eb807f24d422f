// Whom a host lets in, refuses, sends away and bans.
//
// A newcomer on whom the game decides, or who is banned, has a connection but is no member: nothing
// but the link's own packets goes either way, so it learns nothing, and waits. Who is refused is
// sent away like a member (AWAY), once its first packet shows that it can read why.
#include "private.h"

#include <string.h>

#define ADMIT_WITHIN FL_SEC(60)
#define LINGERS FL_SEC(2)

// ---------------------------------------------------------------- bans

static bool same_host(FlAddress a, FlAddress b)
{
    a.port = b.port;
    return a.family != FL_FAMILY_NONE && fl_address_equal(a, b);
}

static bool is_set(const FlBan *ban)
{
    return ban->client_id != 0 || ban->invite_id != 0 || ban->address.family != FL_FAMILY_NONE;
}

static bool applies(const FlBan *ban, const SealedClient *client, FlAddress address)
{
    return (ban->client_id != 0 && ban->client_id == client->client_id) ||
           (ban->invite_id != 0 && ban->invite_id == client->invite_id) ||
           same_host(ban->address, address);
}

static const FlBan *ban_of(FlSession *session, int32_t index, FlTime now)
{
    for (int32_t i = 0; i < BANS; i++) {
        FlBan *ban = &session->members->bans[i];
        if (is_set(ban) && now >= ban->until) {
            memset(ban, 0, sizeof *ban);
        }
        if (is_set(ban) && applies(ban, &fl__handshake(session, index)->client,
                                   fl__connection_address(session, index))) {
            return ban;
        }
    }
    return NULL;
}

static bool same_ban(const FlBan *a, const FlBan *b)
{
    return a->client_id == b->client_id && a->invite_id == b->invite_id &&
           a->address.family == b->address.family &&
           (a->address.family == FL_FAMILY_NONE || same_host(a->address, b->address));
}

static void set_text(FlSession *session, int32_t index, const char *text)
{
    char *to = fl__handshake(session, index)->text;
    size_t count = text != NULL ? strlen(text) : 0;
    if (count > FL_AWAY_TEXT - 1) {
        count = FL_AWAY_TEXT - 1;
        while (count > 0 && ((uint8_t)text[count] & 0xc0u) == 0x80u) { // within a character
            count--;
        }
    }
    if (count > 0) {
        memcpy(to, text, count);
    }
    to[count] = '\0';
}

static void send_away(FlSession *session, int32_t index, const char *text, FlTime now)
{
    set_text(session, index, text);
    fl__connection_lost(session, index, FL_LEFT_REMOVED, now);
}

FlResult fl_session_ban(FlSession *session, FlTime now, const FlBan *ban)
{
    if (!fl__is_host(session) || !is_set(ban)) {
        return FL_BAD_VALUE;
    }
    FlBan *place = NULL;
    for (int32_t i = 0; i < BANS; i++) {
        FlBan *one = &session->members->bans[i];
        bool same = is_set(one) && same_ban(one, ban);
        bool free = !is_set(one) || now >= one->until;
        place = same || (free && place == NULL) ? one : place;
        if (same) {
            break;
        }
    }
    if (place == NULL) {
        return FL_FULL;
    }
    *place = *ban;
    place->text[FL_AWAY_TEXT - 1] = '\0';
    for (int32_t i = 0; i < session->connection_count && now < ban->until; i++) {
        if (fl__connection_used(session, i) &&
            applies(ban, &fl__handshake(session, i)->client, fl__connection_address(session, i))) {
            send_away(session, i, place->text, now);
        }
    }
    return FL_OK;
}

FlResult fl_session_revoke(FlSession *session, uint64_t invite_id)
{
    bool sealed = fl__is_sealed(session) && fl__is_host(session);
    return sealed && fl__sealed_revoke(session, invite_id) ? FL_OK : FL_NOT_FOUND;
}

// ---------------------------------------------------------------- newcomers

static void refuse(FlSession *session, int32_t index, const char *text, FlTime now)
{
    fl__handshake(session, index)->admission = ADMISSION_REFUSED;
    fl__handshake(session, index)->asked_at = now;
    set_text(session, index, text);
    fl__connection_set_waiting(session, index, true);
    fl__connection_wake(session, index);
}

void fl__rule_newcomer(FlSession *session, int32_t index, FlTime now)
{
    Handshake *h = fl__handshake(session, index);
    const FlBan *ban = ban_of(session, index, now);
    h->asked_at = now;
    if (ban != NULL) {
        refuse(session, index, ban->text, now);
    } else if (session->def.approve) {
        h->admission = ADMISSION_ASKED;
        fl__connection_set_waiting(session, index, true);
        int32_t number = fl__connection_member(session, index);
        FlNotice notice = {.kind = FL_NOTICE_PEER_ASKS};
        notice.peer.index1 = (uint32_t)number + 1;
        notice.peer.generation = fl__member(session, number)->incarnation + 1;
        fl__notice(session, &notice);
    }
}

FlResult fl_peer_admit(FlSession *session, FlTime now, FlPeerId peer, bool allow, const char *text)
{
    int32_t index = fl__newcomer_of(session, peer);
    if (index == FL__NONE) {
        return FL_STALE_ID;
    }
    if (!allow) {
        refuse(session, index, text, now);
        return FL_OK;
    }
    fl__handshake(session, index)->admission = ADMISSION_GIVEN;
    fl__connection_set_waiting(session, index, false);
    fl__admit_finish(session, index, now);
    return FL_OK;
}

// It has sent a packet, so it knows that it is connected.
static bool can_read(const FlSession *session, int32_t index, FlTime now)
{
    FlLinkStats stats;
    fl_link_stats(fl__connection_link(session, index), now, &stats);
    return stats.packets_in > 0;
}

// Who is refused keeps its seat until it can read why: one at a time, not for long, and not the
// last seat, or those who are banned would keep everybody else out.
static bool may_linger(const FlSession *session, int32_t index, FlTime now)
{
    const Handshake *h = fl__handshake(session, index);
    int32_t free = session->seat_count - 1;
    bool first = true;
    for (int32_t i = 0; i < session->connection_count; i++) {
        bool used = fl__connection_used(session, i);
        const Handshake *other = fl__handshake(session, i);
        free -= used ? 1 : 0;
        first = first &&
                !(used && other->admission == ADMISSION_REFUSED &&
                  (other->asked_at < h->asked_at || (other->asked_at == h->asked_at && i < index)));
    }
    return first && free > 0 && fl_span(now, h->asked_at) < LINGERS;
}

void fl__rule_look(void *self, int32_t index, FlTime now)
{
    FlSession *session = (FlSession *)self;
    const Handshake *h = fl__handshake(session, index);
    if (!fl__is_host(session)) {
        return;
    }
    if (fl__connection_hostile(session, index)) {
        fl__count(session, FL_SESSION_HOSTILE);
        fl__connection_lost(session, index, FL_LEFT_HOSTILE, now);
    } else if (h->admission == ADMISSION_ASKED && fl_span(now, h->asked_at) > ADMIT_WITHIN) {
        refuse(session, index, "The host did not decide in time whether to let us in.", now);
    } else if (h->admission == ADMISSION_REFUSED &&
               (can_read(session, index, now) || !may_linger(session, index, now))) {
        fl__connection_lost(session, index, FL_LEFT_REMOVED, now);
    }
}

// ---------------------------------------------------------------- members

FlResult fl_peer_kick(FlSession *session, FlTime now, FlPeerId peer, const char *text)
{
    int32_t number = fl__member_of(session, peer);
    if (number == FL__NONE) {
        return FL_STALE_ID;
    }
    if (fl__replaying(session)) {
        return FL_REPLAYING;
    }
    if (!fl__is_host(session) || number == session->self) {
        return FL_BAD_VALUE;
    }
    int32_t connection = fl__member(session, number)->connection;
    if (connection != FL__NONE) {
        fl__note(session, "Player %d is sent away. It reads: %s", number, text != NULL ? text : "");
        fl__sealed_no_return(session, connection);
        send_away(session, connection, text, now);
    }
    return FL_OK;
}

void fl__admit_finish(FlSession *session, int32_t index, FlTime now)
{
    int32_t number = fl__connection_member(session, index);
    uint64_t client_id = fl__handshake(session, index)->client.client_id;
    fl__welcome_set_due(session, index, now);
    fl__clock_offset_welcomes(session, index);
    fl__connection_changed(session, CHANGE_ANNOUNCE_ALL, index, now);
    fl__member_enter(session, number, fl__member(session, number)->incarnation + 1, client_id,
                     fl__handshake(session, index)->about.name);
    fl__connection_changed(session, CHANGE_CONNECTION_READY, index, now);
    fl__mesh_introduce(session, number);
}
