// Who is in the session. Numbers are the host's to give, the same at all peers; an incarnation
// tells who had the number before from who has it now.
#include "private.h"

#include <string.h>

FlPeerId fl__peer_id(const FlSession *session, int32_t number)
{
    FlPeerId id = {0};
    if (number >= 0 && number < session->member_count && session->members[number].present) {
        id.index1 = (uint32_t)number + 1;
        id.generation = session->members[number].incarnation;
    }
    return id;
}

int32_t fl__member_of(const FlSession *session, FlPeerId peer)
{
    if (peer.index1 == 0 || peer.index1 > (uint32_t)session->member_count) {
        return FL__NONE;
    }
    int32_t number = (int32_t)peer.index1 - 1;
    const Member *member = &session->members[number];
    bool same = member->present && member->incarnation == peer.generation;
    return same ? number : FL__NONE;
}

FlPeerId fl_peer_next(const FlSession *session, FlPeerId after)
{
    for (int32_t i = (int32_t)after.index1; i < session->member_count; i++) {
        if (session->members[i].present && i != session->self) {
            return fl__peer_id(session, i);
        }
    }
    FlPeerId none = {0};
    return none;
}

int32_t fl_peer_count(const FlSession *session)
{
    int32_t count = 0;
    for (int32_t i = 0; i < session->member_count; i++) {
        count += session->members[i].present && i != session->self ? 1 : 0;
    }
    return count;
}

FlPeerId fl_peer_self(const FlSession *session)
{
    return fl__peer_id(session, session->self);
}

FlPeerId fl_peer_host(const FlSession *session)
{
    return fl__peer_id(session, session->self != FL__NONE ? session->host : FL__NONE);
}

FlPeerId fl_peer_of_number(const FlSession *session, int32_t number)
{
    return fl__peer_id(session, number);
}

FlResult fl_peer_status(const FlSession *session, FlPeerId peer, FlPeerStatus *status)
{
    memset(status, 0, sizeof *status);
    int32_t number = fl__member_of(session, peer);
    if (number == FL__NONE) {
        return FL_STALE_ID;
    }
    const Member *member = &session->members[number];
    status->number = number;
    status->client_id = member->client_id;
    status->missed = member->unreached;
    status->met = member->met;
    if (member->line != FL__NONE && fl__line_reaches(&session->lines[member->line])) {
        status->direct = true;
        status->met = true;
        status->address = session->lines[member->line].address;
        status->contradictions = fl_ledger_receiver(session->ledger, member->line).contradictions;
    }
    return FL_OK;
}

FlResult fl_peer_stats(const FlSession *session, FlPeerId peer, FlTime now, FlLinkStats *stats)
{
    memset(stats, 0, sizeof *stats);
    int32_t number = fl__member_of(session, peer);
    if (number == FL__NONE) {
        return FL_STALE_ID;
    }
    int32_t line = session->members[number].line;
    if (line == FL__NONE) {
        return FL_NOT_FOUND;
    }
    fl_link_stats(session->lines[line].link, now, stats);
    return FL_OK;
}

FlResult fl_peer_remove(FlSession *session, FlPeerId peer, FlTime now)
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
    int32_t line = session->members[number].line;
    if (line != FL__NONE) {
        fl__line_lost(session, line, FL_LEFT_REMOVED, now);
    }
    return FL_OK;
}

int32_t fl__route(const FlSession *session, int32_t number)
{
    int32_t line = number != FL__NONE ? session->members[number].line : FL__NONE;
    if (line != FL__NONE && fl__line_reaches(&session->lines[line])) {
        return line;
    }
    return session->members[session->host].line;
}

void fl__member_enter(FlSession *session, int32_t number, uint32_t incarnation, uint64_t client_id)
{
    Member *member = &session->members[number];
    if (member->present && member->incarnation == incarnation) {
        return;
    }
    member->present = true;
    member->incarnation = incarnation;
    member->client_id = client_id;
    member->met = false;
    member->unreached = false;
    member->missed_since = FL_FOREVER;
    member->want_count = 0;
    if (number != session->self) {
        FlNotice notice = {.kind = FL_NOTICE_PEER_JOINED, .peer = fl__peer_id(session, number)};
        fl__notice(session, &notice);
    }
    Change came = {.kind = CHANGE_MEMBER_CAME, .member = number};
    fl__changed(session, &came);
}

void fl__member_remove_orphans(FlSession *session)
{
    for (int32_t i = 0; i < session->member_count; i++) {
        if (!session->members[i].present) {
            fl__orphans_make(session, i);
        }
    }
}

void fl__member_leave(FlSession *session, int32_t number, FlLeft left, FlTime now)
{
    Member *member = &session->members[number];
    if (!member->present) {
        return;
    }
    FlNotice notice = {
        .kind = FL_NOTICE_PEER_LEFT, .peer = fl__peer_id(session, number), .left = left};
    fl__notice(session, &notice);
    Change change = {.kind = CHANGE_MEMBER_LEAVES, .member = number, .now = now};
    fl__changed(session, &change);
    member->present = false;
    member->left = left;
    change.kind = CHANGE_MEMBER_LEFT;
    fl__changed(session, &change);
}

bool fl__member_message(void *self, MessageIn *in)
{
    FlSession *session = (FlSession *)self;
    FlMemberMessage m;
    if (!fl_member_message_read(in->r, &m) || !in->from_host || m.number >= session->member_count) {
        return false;
    }
    Member *member = &session->members[m.number];
    if (m.number == session->self) {
        member->present = true;
        member->incarnation = m.incarnation;
        member->client_id = m.client_id;
        session->complete = true;
        if (!fl__lanes_begin(session, in->now)) {
            fl__session_end(session, "No memory for a crowd of this size.");
        }
        return m.present;
    }
    bool other = member->present && (!m.present || member->incarnation != m.incarnation);
    if (other) {
        if (member->line != FL__NONE && session->lines[member->line].direct) {
            fl__line_close(session, member->line);
        }
        fl__member_leave(session, m.number, m.present ? FL_LEFT_TIMED_OUT : m.left, in->now);
    }
    if (m.present) {
        fl__member_enter(session, m.number, m.incarnation, m.client_id);
    }
    return true;
}

void fl__member_changed(void *self, const Change *change)
{
    FlSession *session = (FlSession *)self;
    if (change->kind == CHANGE_LINE_CLOSED) {
        Member *member = &session->members[session->lines[change->line].member];
        member->line = member->line == change->line ? FL__NONE : member->line;
    } else if (change->kind == CHANGE_LINE_OPENED) {
        session->members[session->lines[change->line].member].line = change->line;
    }
}
