// Notices: what happened, until the game asks.
//
// They wait in a list, the oldest first, in fixed memory that cannot run out however long the game
// does not look: what would pile up replaces what it makes pointless.
//   - a newer state of an entity is told by the notice that waits already;
//   - a newer owner (ours, theirs) takes the place of an older one, at the end of the list;
//   - an entity that the game has not heard of yet and that is gone again is not told at all;
//   - a newer host takes the place of an older one, and how a member is reached that of how it was;
//   - members' comings and goings are all told, in order. Only when more than MEMBER_EACH a number
//     wait, the oldest who came and went meanwhile is left out, and counted.
//
// So an entity slot has at most one notice each of NEW, of OURS or THEIRS, of STATE, and one GONE
// of the entity that was there before. A game that makes entities, gives them away and never looks
// can have more GONEs: the oldest is left out, and counted.
//
// Invariant: entity->notice[c] is the node of its pending notice of class c, or FL__NONE.
#include "private.h"

#include <string.h>

#define MEMBER_EACH 4

struct NoticeNode {
    FlNotice notice;
    int32_t before, after; // FL__NONE: it is the first, or last; `after` also of free ones
};

// ---------------------------------------------------------------- the list

static int32_t node_capacity(const FlSession *session)
{
    return 4 * session->def.entity_capacity + (MEMBER_EACH + 1) * session->member_count + 1;
}

size_t fl__notice_bytes(const FlSession *session)
{
    return (size_t)node_capacity(session) * sizeof(NoticeNode);
}

void fl__notice_start(FlSession *session)
{
    Notices *n = &session->notices;
    n->first = n->last = n->host = FL__NONE;
    int32_t count = node_capacity(session);
    for (int32_t i = 0; i < count; i++) {
        n->nodes[i].after = i + 1 < count ? i + 1 : FL__NONE;
    }
    n->free = 0;
}

static bool is_of_member(FlNoticeKind kind)
{
    return kind == FL_NOTICE_PEER_JOINED || kind == FL_NOTICE_PEER_LEFT;
}

static void count_kind(Notices *n, FlNoticeKind kind, int32_t change)
{
    n->member_count += is_of_member(kind) ? change : 0;
    n->gone_count += kind == FL_NOTICE_ENTITY_GONE ? change : 0;
}

static int32_t append(Notices *n, const FlNotice *notice)
{
    int32_t i = n->free;
    FL_ASSERT(i != FL__NONE);
    NoticeNode *node = &n->nodes[i];
    n->free = node->after;
    node->notice = *notice;
    node->before = n->last;
    node->after = FL__NONE;
    *(n->last != FL__NONE ? &n->nodes[n->last].after : &n->first) = i;
    n->last = i;
    count_kind(n, notice->kind, 1);
    return i;
}

static void take_out(Notices *n, int32_t i)
{
    NoticeNode *node = &n->nodes[i];
    *(node->before != FL__NONE ? &n->nodes[node->before].after : &n->first) = node->after;
    *(node->after != FL__NONE ? &n->nodes[node->after].before : &n->last) = node->before;
    node->after = n->free;
    n->free = i;
    count_kind(n, node->notice.kind, -1);
}

// ---------------------------------------------------------------- entities

static NoticeClass class_of(FlNoticeKind kind)
{
    return kind == FL_NOTICE_ENTITY_NEW     ? NOTICE_NEW
           : kind == FL_NOTICE_ENTITY_STATE ? NOTICE_STATE
                                            : NOTICE_OWNER;
}

static void of_entity(FlSession *session, const FlNotice *notice)
{
    Notices *n = &session->notices;
    Entity *entity = fl__entity_find(session, notice->entity);
    FL_ASSERT(entity != NULL);
    int32_t *pending = &entity->notice[class_of(notice->kind)];
    if (*pending != FL__NONE && notice->kind == FL_NOTICE_ENTITY_STATE) {
        n->nodes[*pending].notice = *notice;
        return;
    }
    if (*pending != FL__NONE) { // who it is may have joined since: told after that
        take_out(n, *pending);
    }
    *pending = append(n, notice);
}

static void gone(FlSession *session, const FlNotice *notice)
{
    Notices *n = &session->notices;
    if (n->gone_count == session->def.entity_capacity) {
        int32_t i = n->first;
        while (n->nodes[i].notice.kind != FL_NOTICE_ENTITY_GONE) {
            i = n->nodes[i].after;
        }
        take_out(n, i);
        session->count[FL_SESSION_NOTICES_LOST]++;
    }
    append(n, notice);
}

void fl__notice_begin(Entity *entity)
{
    for (int32_t c = 0; c < NOTICE_CLASSES; c++) {
        entity->notice[c] = FL__NONE;
    }
}

bool fl__notice_forget(FlSession *session, Entity *entity)
{
    bool known = entity->notice[NOTICE_NEW] == FL__NONE;
    for (int32_t c = 0; c < NOTICE_CLASSES; c++) {
        if (entity->notice[c] != FL__NONE) {
            take_out(&session->notices, entity->notice[c]);
        }
    }
    fl__notice_begin(entity);
    return known;
}

// ---------------------------------------------------------------- members

static int32_t next_of_member(const Notices *n, int32_t i, uint32_t index1)
{
    for (; i != FL__NONE; i = n->nodes[i].after) {
        const FlNotice *notice = &n->nodes[i].notice;
        if (is_of_member(notice->kind) && notice->peer.index1 == index1) {
            return i;
        }
    }
    return FL__NONE;
}

// The oldest who came and went while nobody looked. There is one: of each number a going and a
// coming need not be such a pair, all between them are.
static void forget_visitor(FlSession *session)
{
    Notices *n = &session->notices;
    for (int32_t i = n->first; i != FL__NONE; i = n->nodes[i].after) {
        if (n->nodes[i].notice.kind != FL_NOTICE_PEER_JOINED) {
            continue;
        }
        int32_t left = next_of_member(n, n->nodes[i].after, n->nodes[i].notice.peer.index1);
        if (left != FL__NONE) {
            take_out(n, left);
            take_out(n, i);
            session->count[FL_SESSION_NOTICES_LOST] += 2;
            return;
        }
    }
}

// How a member is reached: the last word of it counts.
static void of_reach(Notices *n, const FlNotice *notice)
{
    for (int32_t i = n->first; i != FL__NONE; i = n->nodes[i].after) {
        const FlNotice *before = &n->nodes[i].notice;
        bool reach =
            before->kind == FL_NOTICE_PEER_DIRECT || before->kind == FL_NOTICE_PEER_INDIRECT;
        if (reach && before->peer.index1 == notice->peer.index1) {
            take_out(n, i);
            break;
        }
    }
    append(n, notice);
}

// ---------------------------------------------------------------- telling

void fl__notice(FlSession *session, const FlNotice *notice)
{
    Notices *n = &session->notices;
    switch (notice->kind) {
    case FL_NOTICE_PEER_JOINED:
    case FL_NOTICE_PEER_LEFT:
        if (n->member_count == MEMBER_EACH * session->member_count) {
            forget_visitor(session);
        }
        append(n, notice);
        break;
    case FL_NOTICE_HOST_CHANGED:
        if (n->host != FL__NONE) {
            take_out(n, n->host);
        }
        n->host = append(n, notice);
        break;
    case FL_NOTICE_PEER_DIRECT:
    case FL_NOTICE_PEER_INDIRECT:
        of_reach(n, notice);
        break;
    case FL_NOTICE_ENTITY_GONE:
        gone(session, notice);
        break;
    default:
        of_entity(session, notice);
    }
}

FlResult fl_session_poll(FlSession *session, FlNotice *notice)
{
    FlNotice none = {0};
    *notice = none;
    Notices *n = &session->notices;
    int32_t i = n->first;
    if (i == FL__NONE) {
        return FL_NOT_FOUND;
    }
    *notice = n->nodes[i].notice;
    take_out(n, i);
    n->host = n->host == i ? FL__NONE : n->host;
    Entity *entity = fl__entity_find(session, notice->entity);
    if (entity != NULL) {
        entity->notice[class_of(notice->kind)] = FL__NONE;
    }
    return FL_OK;
}
